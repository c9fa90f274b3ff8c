"""`slmtok audit`: a certificate that a tokenizer, or packed data, loses nothing of a text."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.cli.errors import error_dict, error_text
from slmtok.cli.files import JSON, check_is_file, check_output, read_texts, refuse_missing, require_bytes, text_files
from slmtok.cli.needed import NEVER
from slmtok.cli.options import (
    command,
    explain,
    option,
    options_of,
    output_options,
    threads_option,
    tokenizer_argument,
)
from slmtok.cli.output import ANSWER_NO, DONE, Outcome, flag_naming, print_rows, settings, write_line
from slmtok.cli.packed import not_packed
from slmtok.cli.progress import Progress
from slmtok.cli.reports import audit_rows
from slmtok.corpus.paths import expand
from slmtok.errors import (
    CorruptFile,
    GoldenMismatch,
    InvalidMerges,
    InvalidSpecials,
    InvalidTokens,
    OptionError,
    Setting,
    SlmtokError,
)
from slmtok.file_kinds import AUDIT, METADATA, NAMES, TOKENIZER, kind_of_file
from slmtok.files import free_name
from slmtok.opening import TIKTOKEN, TOKENIZER_FILES, load
from slmtok.options import ReadOptions, option_keys
from slmtok.sizes import counted
from slmtok.vocab_json import load_metadata

if TYPE_CHECKING:
    from slmtok.shards import Shards
    from slmtok.tokenizer import Tokenizer

_INVALID_TOKENIZER = (CorruptFile, GoldenMismatch, InvalidMerges, InvalidSpecials, InvalidTokens)


def _instead_of(tokenizer: str, subject: str) -> str:
    """The remedy for a tokenizer in the place of a vocab.json: how that is made; for another one, how both compare."""
    fix = f"leave it out, or {shlex.join(['slmtok', 'vocab', tokenizer, '--metadata', '-o', free_name('vocab.json')])}"
    compared = shlex.join(["slmtok", "diff", subject, tokenizer])
    is_other = os.path.abspath(tokenizer) != os.path.abspath(subject)  # noqa: PTH100
    return f"{fix}, and name that" + (f"; {compared} compares the two" if is_other else "")


@command("audit", example="slmtok audit tok.json --on text.txt")
@tokenizer_argument("subject", metavar="TOK|DATA", help="The tokenizer, or packed data.")
@option("--on", metavar="TEXT", multiple=True, required=True, help="The text. Repeat for several.")
@option("--metadata", metavar="FILE", show_default="that of packed data",
        help="A vocab.json whose byte lengths must add up.")  # fmt: skip
@option("--leak", metavar="FILE",
        help="Digests of slmtok count --doc-digests: count the documents of the text that are among them.")  # fmt: skip
@option("--baselines", metavar="TRAIN", multiple=True,
        help="Training text: bits per byte of n-grams and compressors after it. Repeat for several.")  # fmt: skip
@options_of(ReadOptions, into="read", needs={"domains": NEVER})
@threads_option()
@output_options(default="audit.json", help="The certificate.")
def audit(
    subject: str,
    on: tuple[str, ...],
    metadata: str | None,
    leak: str | None,
    baselines: tuple[str, ...],
    read: ReadOptions,
    threads: int,
    output: str,
    force: bool,
) -> Outcome:
    """Prove that a tokenizer loses nothing of a text; exit with status 3 where it does.

    The byte lengths of all ids must sum to the bytes of each document, every text must be restored by decoding, and
    special tokens must have length 0. For packed data, the decoded documents must be those of the text.
    """
    from slmtok.analysis.audit import audit as run
    from slmtok.training.doc_digests import load_digests

    if baselines:
        expand(baselines, read.exclude)
    refuse_missing([subject], [metadata, leak])
    sources = text_files(on, read)
    check_is_file(output)
    force = force or _is_negative(output)
    check_output(output, inputs=[*sources, subject, *filter(None, (metadata, leak))], force=force, content=JSON)
    seen = None if leak is None else load_digests(leak)
    if metadata is not None and (kind := kind_of_file(metadata)) in NAMES and kind != METADATA:
        raise OptionError(
            f"--metadata {metadata} is {NAMES[kind]}, not a vocab.json",
            where=metadata,
            fix=_instead_of(metadata, subject) if kind == TOKENIZER else "leave it out, or name a vocab.json",
            option="metadata",
        )
    try:
        tokenizer, content, shards = _open(subject, metadata)
    except _INVALID_TOKENIZER as error:
        explain(error)
        invalid = metadata if error.fields.get("path") == metadata else subject
        line = f"{invalid}: INVALID: {error_text(error)}"
        result = {"verdict": False, "path": None, "error": error_dict(error)}
        return Outcome(result, lambda: write_line(line), code=ANSWER_NO)
    with Progress() as progress:
        options: dict[str, Any] = {"metadata": content, "shards": shards, "train_digests": seen, "threads": threads}
        found = run(tokenizer, read_texts(sources, read), **options, progress=progress)
    require_bytes(found.text.bytes, on)
    certificate = found.certificate(tokenizer, _baselines(sources, baselines, read) if baselines else None)
    certificate.write(output, force=force)

    def show() -> None:
        if not (settings().quiet and found.passed):
            print_rows(audit_rows(certificate.payload), title=output)

    warnings = () if found.passed or shards is None else _other_reading(shards, read, output, found.text.bytes)
    warnings += _own_baselines(sources, text_files(baselines, read) if baselines else ())
    if seen is not None and found.leaked == 0:
        compared = f"{counted(found.text.documents, 'document')} with the {len(seen):,} that were counted"
        warnings += (f"whole documents are compared, {compared}: where they begin and end must be the same",)
    code = DONE if found.passed else ANSWER_NO
    return Outcome({"path": output, **certificate.payload}, show, code=code, warnings=warnings)


def _is_negative(path: str) -> bool:
    """Whether a file is a certificate that proves nothing, which another one may replace."""
    from slmtok.analysis.audit import load_certificate

    if kind_of_file(path) != AUDIT:
        return False
    try:
        return load_certificate(path)["verdict"] is False
    except SlmtokError:
        return False


def _open(subject: str, metadata: str | None) -> tuple[Tokenizer, dict[str, Any] | None, Shards | None]:
    """(tokenizer, content of vocab.json, packed data)."""
    from slmtok.shards import open_shards
    from slmtok.shards.check import packed_tokenizer
    from slmtok.shards.format import MANIFEST, TOKENIZER
    from slmtok.shards.token_files import TokenFiles, open_token_files

    folder = Path(subject)
    is_tokenizer = not (folder / MANIFEST).exists() and any((folder / name).is_file() for name in TOKENIZER_FILES)
    if is_tokenizer and folder.is_dir() and isinstance(data := open_token_files(folder), TokenFiles):
        error = not_packed(subject, data)
        error.fix = f"{error.fix}, which is audited in its place; or {folder / TOKENIZER}, the tokenizer alone"
        raise error
    if subject.startswith(TIKTOKEN) or not folder.is_dir() or is_tokenizer:
        return load(subject), None if metadata is None else load_metadata(metadata), None
    shards = open_shards(folder)
    return (
        packed_tokenizer(shards.folder, shards.fingerprint),
        load_metadata(metadata or str(folder / "vocab.json")),
        shards,
    )


_CUTS = {"sample", "seed", "max_doc_chars", "max_docs", "max_bytes", "max_chars"}
"""Options that leave out a part of a text."""
_LIMITS = ("max_tokens", "max_chunks")
"""Options of packing that leave out a part of a text."""
_SEPARATION = {"separator", "document"}
"""Options that leave separators out of a text, which are seldom as long as its documents."""


def _other_reading(shards: Shards, read: ReadOptions, output: str, n_bytes: int) -> tuple[str, ...]:
    """A warning about options of reading that are not those with which the data were packed, or about another text."""
    packed = shards.manifest["plan"]["options"]["read"]
    missing, extra = _differences(packed, read.read_record())
    names = {setting.name for setting in (*missing, *extra)}
    held = sum(entry["bytes"] for entry in shards.manifest["shards"])
    shown, left_out = (" ".join(map(flag_naming, settings)) for settings in (missing, extra))
    if n_bytes < held and extra and names <= _CUTS and not missing:
        return (f"{left_out} cut this text to {n_bytes:,} bytes, and the data hold {held:,}: leave {left_out} out",)
    limits = {name: value for name in _LIMITS if (value := shards.manifest["plan"]["options"].get(name)) is not None}
    if not names and limits and n_bytes > held:
        limit = " ".join(flag_naming(Setting(name, value)) for name, value in limits.items())
        fact = f"the data were packed with {limit}, and hold {held:,} bytes; this text has {n_bytes:,}"
        return (f"{fact}: only data that were packed without {limit} hold a whole text",)
    is_far = n_bytes > 2 * held + 64 or held > 2 * n_bytes + 64
    if (names <= _SEPARATION and is_far and not limits) if names else n_bytes != held:
        return (f"the data hold {held:,} bytes of text, this text {n_bytes:,}: it is not the one that was packed",)
    if not names:
        return ()
    how = " and ".join([*([f"with {shown}"] if shown else []), *([f"without {left_out}"] if left_out else [])])
    again = "the same way" if extra else "with that option" if len(missing) == 1 else "with those options"
    return (f"the data were packed {how}: run it again {again}, which replaces {output}",)


def _differences(packed: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[list[Setting], list[Setting]]:
    """The options of reading given only when the data were packed, and the options given only now."""
    plain = ReadOptions().read_record()
    missing: list[Setting] = []
    extra: list[Setting] = []
    for name, key in option_keys(ReadOptions).items():
        old, new = packed.get(key, plain.get(key)), given.get(key, plain.get(key))
        # Domains leave the documents as they are, and a seed without a sample does.
        if old == new or name == "domains" or (name == "seed" and "sample" not in packed):
            continue
        settings, value = (missing, old) if old != plain.get(key) else (extra, new)
        settings.append(Setting(name, tuple(value) if isinstance(value, list) else value))
    return missing, extra


def _own_baselines(sources: Sequence[str], train: Sequence[str]) -> tuple[str, ...]:
    """A warning about baselines that are trained on the text that they are scored on."""
    audited = {os.path.realpath(path) for path in sources}
    shared = [path for path in train if os.path.realpath(path) in audited]
    fact = "of --baselines is also text of --on: the baselines have read what they are scored on"
    return (f"{shared[0]} {fact}; name other text",) if shared else ()


def _baselines(sources: Sequence[str], train: Sequence[str], read: ReadOptions) -> dict[str, object]:
    from slmtok.analysis.baselines import baselines

    files = text_files(train, read)
    require_bytes(any(read_texts(files, read)), train)
    return baselines(read_texts(files, read), read_texts(sources, read))
