"""`slmtok info`: describe a file. `slmtok verify`: check that files are complete and unchanged."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok import file_kinds
from slmtok.cli import packed
from slmtok.cli.arguments import tokenizer_beside
from slmtok.cli.errors import error_dict
from slmtok.cli.files import names_tokenizer
from slmtok.cli.options import command, explain, option, tokenizer_argument
from slmtok.cli.output import ANSWER_NO, DONE, FAILED, Outcome, Row, counted, print_rows, settings, write_line
from slmtok.cli.reports import audit_rows, compared_ids, file_rows, pattern_text
from slmtok.corpus.formats import is_corpus_name
from slmtok.errors import CorruptFile, GoldenMismatch, MissingInput, OptionError, SlmtokError, Unreadable, WrongFormat
from slmtok.file_content import HEAD_BYTES, is_text
from slmtok.files import free_name, missing_input, read_file, read_limited
from slmtok.formats.foreign_files import foreign_file
from slmtok.formats.hf import looks_like
from slmtok.formats.id_files import has_offsets
from slmtok.opening import TIKTOKEN, load, missing_tokenizer, public_encoding
from slmtok.option_values import escape
from slmtok.sizes import format_bytes
from slmtok.token_text import escape_token
from slmtok.vocab_json import load_metadata

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer

_BY_SEVERITY = (DONE, ANSWER_NO, FAILED)
"""Statuses of files; the command has the last one that occurs. A file that is missing cannot be checked."""


@command("info", example="slmtok info tok.json")
@tokenizer_argument(
    "file", metavar="TOK|FILE", help="A tokenizer, lock, counts, vocab.json, packed folder, or tiktoken:NAME."
)
def info(file: str) -> Outcome:
    """Describe a file: what it is, sizes, specials, hashes, and how it was made."""
    if not Path(file).exists() and (name := public_encoding(file)) is not None:
        file = f"{TIKTOKEN}{name}"
    try:
        is_tokenizer = file.startswith(TIKTOKEN) or _is_foreign_tokenizer(file)
        kind = file_kinds.TOKENIZER if is_tokenizer else _kind_of(file)
    except MissingInput as error:
        raise error if Path(file).exists() else missing_tokenizer(error, file) from None
    if kind not in _KINDS:
        if kind in file_kinds.READERS:
            raise OptionError(
                f"{file} is {file_kinds.NAMES[kind]}, which slmtok info does not describe",
                fix=file_kinds.READERS[kind].format(shlex.quote(file)),
                option="file",
            )
        what, fix = guess(file)
        raise CorruptFile(
            f"{file} is {what}not a file that slmtok info describes",
            limit="known: tokenizer files, locks, counts, vocab.json, packed folders, token files, tiktoken:NAME",
            fix=fix,
            path=file,
        )
    describe, _ = _KINDS[kind]
    result, rows = describe(file)
    return Outcome({"kind": kind, "path": file, **result}, lambda: print_rows(rows, title=file))


def _is_foreign_tokenizer(file: str) -> bool:
    """Whether a path is a `tokenizer.json` of Hugging Face, or a folder with one and nothing of ours."""
    path = Path(file)
    if path.is_dir():
        if any((path / name).exists() for name in ("tok.json", "manifest.json", "meta.json", "config.yaml")):
            return False
        path /= "tokenizer.json"
    if path.suffix != ".json" or not path.is_file() or file_kinds.kind_of_file(str(path)) != file_kinds.UNKNOWN:
        return False
    return looks_like(read_limited(path, "tokenizer.json"))


_LISTING = re.compile(rb" +(\d+) +\d+  \S.*\n +\d+ +\d+  \S")
"""Two lines of `slmtok vocab`: id, bytes, token."""
_OF_LISTING = "slmtok info TOK describes the tokenizer; slmtok vocab TOK --metadata -o FILE writes its vocab.json"


def guess(file: str) -> tuple[str, str]:
    """What a file of an unknown kind is, as far as its beginning says, and the command that reads it."""
    head = read_file(file, HEAD_BYTES) if Path(file).is_file() else b""
    name = shlex.quote(file)
    run = file_kinds.run_of(file)
    of_run = f"slm info {'RUN' if run is None else shlex.quote(run)} describes the run that they belong to"
    is_losses = b"__metadata__" in head and b"slm-losses" in head
    for is_found, what, reader in (
        (has_offsets(file), "a file of ids, ", _text_of_ids(file)),
        (head.startswith(b"\x93NUMPY"), "a numpy array, ", f"slmtok decode {name} -t TOK, where it holds ids"),
        (head.startswith(b'{"ids": ['), "a list of ids, ", f"slmtok prune TOK --ids {name} -o FILE removes them"),
        (head.lstrip()[:9].lower() == b"<!doctype", "a page, ", "open it in a browser"),
        (_LISTING.match(head), "the list of tokens that slmtok vocab prints, ", _OF_LISTING),
        (is_losses, "losses of slm eval, ", f"slm compare {name} OTHER"),
        (file.endswith(".safetensors"), "weights of a model, ", of_run),
    ):
        if is_found:
            return what, reader
    fix = "slmtok train writes a tokenizer file, slmtok vocab --metadata a vocab.json"
    if run is not None:
        return f"of the run {run}, ", f"slm info {shlex.quote(run)}"
    if not Path(file).is_file():
        return "", fix
    data = read_limited(file, "tokenizer.json")
    if looks_like(data):
        return "a tokenizer of Hugging Face, ", f"slmtok import {name} -o {free_name('tok.json')}"
    counted = f"slmtok count {name} -o {shlex.quote(free_name(f'{Path(file).stem}.counts'))} counts its documents"
    if is_corpus_name(file):
        return "a corpus, ", f"{counted}, bytes and pretokens"
    if foreign := foreign_file(file, data):
        return f"{foreign.name}, ", foreign.fix
    if Path(file).suffix in (".yaml", ".yml"):
        return "a file of settings, ", f"slm config --check {name} checks one of slm train"
    if Path(file).suffix == ".json":
        # By its name it would be read as records.
        counted = counted.replace(" counts its", " --format text counts its")
    return ("text, ", f"{counted}, bytes and pretokens") if is_text(head) else ("", fix)


def _text_of_ids(file: str) -> str:
    """The command that writes the text of a file of ids, with the tokenizer in its folder if that has only one."""
    tokenizer = tokenizer_beside(file)
    is_only = tokenizer is not None and tokenizer_beside(tokenizer) is None
    return shlex.join(["slmtok", "decode", file, "-t", str(tokenizer) if is_only else "TOK"])


def _audited(value: str | None, arguments: Sequence[str]) -> str:
    """The command that checks a tokenizer on a text."""
    return shlex.join(["slmtok", "audit", *arguments])


def _compared(value: str | None, arguments: Sequence[str]) -> str:
    """The command that compares tokenizers, with the first two that are named."""
    named = [*filter(names_tokenizer, dict.fromkeys([*arguments, value or ""]))]
    return shlex.join(["slmtok", "diff", *[*named, "TOK", "TOK"][:2], "--expect-same"])


@command("verify", example="slmtok verify tok.json data/",
         habits={"--on": _audited, "--against": _compared})  # fmt: skip
@tokenizer_argument(
    "files", metavar="TOK|FILE...", nargs=-1, required=True, help="Tokenizer files, vocab.json, packed folders."
)
@option("--deep", is_flag=True, help="Also encode and decode every token or document, and count unreachable tokens.")
def verify(files: tuple[str, ...], deep: bool) -> Outcome:
    """Check that files are complete and unchanged, and that tokenizers still give the ids that they recorded."""
    tokenizer = next((file for file in files if _can_be_audited(file)), "TOK")
    findings = [_verify_file(path, deep, tokenizer) for path in files]
    code = max((finding.pop("code") for finding in findings), key=_BY_SEVERITY.index)

    def show() -> None:
        for finding in findings:
            if not finding["ok"]:
                answer = "INVALID" if finding["checked"] else "NOT CHECKED"
                write_line(f"{finding['path']}: {answer}: {finding['error']['message']}")
            elif not settings().quiet:
                write_line(f"{finding['path']}: valid; {finding['what']}")

    return Outcome({"deep": deep, "files": findings}, show, code=code)


def _verify_file(path: str, deep: bool, tokenizer: str) -> dict[str, Any]:
    """What was found; `tokenizer` is one to audit a text with, or packed data."""
    try:
        if not Path(path).exists():
            raise missing_input(path)
        kind = _kind_of(path)
        if kind not in _KINDS:
            _refuse_unchecked(path, tokenizer)
        _, check = _KINDS.get(kind, _KINDS[file_kinds.TOKENIZER])
        what = check(path, deep)
    except SlmtokError as error:
        # A file of another kind need not be damaged; within the file or folder that is checked it is a fault.
        is_other = isinstance(error, WrongFormat) and error.fields.get("path") == path
        checked = not is_other and not isinstance(error, (MissingInput, Unreadable))
        code = ANSWER_NO if checked else FAILED
        explain(error)
        return {"path": path, "ok": False, "checked": checked, "error": error_dict(error), "code": code}
    return {"path": path, "ok": True, "checked": True, "what": what, "code": DONE}


def _refuse_unchecked(path: str, tokenizer: str) -> None:
    """Raises `WrongFormat` for a file of a run, `Unreadable` for text and ids, which record nothing to check."""
    if run := file_kinds.run_of(path):
        fix = f"slm doctor {shlex.quote(run)}"
        fact = f"{path} is a file of the run {run}, whose files slm doctor checks together"
        raise WrongFormat(fact, where=path, limit=_CHECKED, fix=fix, path=path)
    if has_offsets(path):
        fact = f"{path} is a file of ids, which record nothing that can be checked"
        raise Unreadable(fact, where=path, limit=_CHECKED, fix=_text_of_ids(path), path=path)
    is_file = Path(path).is_file()
    are_documents = is_file and is_corpus_name(path)
    if are_documents or (is_file and Path(path).suffix != ".json" and is_text(read_file(path, HEAD_BYTES))):
        line = shlex.join(["slmtok", "audit", tokenizer, "--on", path])
        raise Unreadable(
            f"{path} is {'a corpus' if are_documents else 'text'}, which records nothing that can be checked",
            where=path,
            limit=_CHECKED,
            fix=f"{line} proves that nothing of it is lost",
            path=path,
        )


def _can_be_audited(path: str) -> bool:
    """Whether `slmtok audit` compares a text with it: a tokenizer, or packed data."""
    return names_tokenizer(path) or file_kinds.kind_of_file(str(Path(path, "manifest.json"))) == file_kinds.MANIFEST


_CHECKED = "tokenizer files, locks, counts, vocab.json, packed folders"
"""What slmtok verify checks."""


def _kind_of(path: str) -> str:
    """The kind of a file, a key of `_KINDS` where it is known. Raises `MissingInput`, `Unreadable`, `CorruptFile`."""
    if Path(path).is_dir():
        return packed.KIND
    kind = file_kinds.kind_of(file_kinds.read_head(path))
    if kind in ("slmtok-shards", "slmtok-layout"):
        raise WrongFormat(
            f"{path} is the manifest of packed data",
            limit="the manifest is read with the shards beside it",
            fix=f"name the folder: {Path(path).parent}",
            path=path,
        )
    return packed.KIND if kind not in _KINDS and packed.open_data(path) else kind


# Tokenizers.


def _describe_tokenizer(file: str) -> tuple[dict[str, object], list[Row]]:
    tokenizer = load(file, verify=False)
    vocabulary, pattern = tokenizer.vocabulary, tokenizer.pattern
    size = Path(file).stat().st_size if Path(file).is_file() else None
    longest = max((token for _, token in vocabulary.items()), key=len)
    slots = tokenizer.specials.tokens
    learned = len(vocabulary.merges) or sum(token is not None for token in vocabulary.tokens)
    noun = "merges" if vocabulary.merges else "tokens"
    foreign = ", foreign layout" if vocabulary.layout == "foreign" else ""
    rows = [
        ("kind", f"tokenizer, scheme {tokenizer.scheme}{foreign}"),
        ("ids", f"{tokenizer.n_vocab:,}, padded {tokenizer.padded_vocab:,}; {learned:,} {noun}"),
        ("pattern", f"{pattern.name or 'custom'} (Unicode {pattern.unicode})\n{pattern.regex}"),
        ("specials", "  ".join(f"{slot.id} {slot.role} {escape(slot.text or '')}" for slot in slots if slot.role)),
        ("longest", f"{len(longest)} bytes: {escape_token(longest)}"),
        ("options", _aligned(tokenizer.options)),
        ("provenance", _aligned({key: value for key, value in tokenizer.provenance.items() if value is not None})),
        ("file", "" if size is None else format_bytes(size)),
        ("fingerprint", tokenizer.fingerprint),
        ("sha256", tokenizer.sha256),
    ]
    result: dict[str, object] = {
        "kind": file_kinds.TOKENIZER,
        "bytes": size,
        "scheme": tokenizer.scheme,
        "layout": vocabulary.layout,
        "pattern": {"name": pattern.name, "regex": pattern.regex, "unicode": pattern.unicode},
        "n_vocab": tokenizer.n_vocab,
        "padded_vocab": tokenizer.padded_vocab,
        "merges": len(vocabulary.merges),
        "longest_token": len(longest),
        "specials": [{"id": slot.id, "role": slot.role, "text": slot.text} for slot in slots],
        "options": tokenizer.options,
        "provenance": tokenizer.provenance,
        "fingerprint": tokenizer.fingerprint,
        "sha256": tokenizer.sha256,
    }
    return result, rows


def _aligned(values: dict[str, object]) -> str:
    width = max(map(len, values), default=0)
    return "\n".join(
        f"{key:<{width}}  {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for key, value in values.items()
    )


def _verify_tokenizer(path: str, deep: bool) -> str:
    tokenizer = load(path)
    found = f"scheme {tokenizer.scheme}, {tokenizer.n_vocab:,} ids, fingerprint {tokenizer.fingerprint[:12]}"
    return f"{found}; {_check_every_token(tokenizer, path)}" if deep else found


def _check_every_token(tokenizer: Tokenizer, path: str) -> str:
    """Encodes and decodes the bytes of every token. Raises `GoldenMismatch` where they are not equal."""
    items = list(tokenizer.vocabulary.items())
    rows = tokenizer.encode_batch([token for _, token in items])
    unreachable = 0
    for (id, token), ids in zip(items, rows, strict=True):
        if tokenizer.decode_bytes(ids) != token:
            raise GoldenMismatch(
                f"token {id} {token!r} changes when it is encoded and decoded",
                where=path,
                fix="report it: this is a fault of slmtok",
                path=path,
                id=id,
            )
        unreachable += ids.tolist() != [id]
    found = f"; {unreachable:,} of them encode to other ids" if unreachable else ""
    return f"all {len(items):,} tokens decode to their bytes{found}"


# Counts.


def _describe_counts(path: str) -> tuple[dict[str, object], list[Row]]:
    from slmtok.training.counts import describe, open_counts

    file = open_counts(path)
    head, sums, layout = file.head, file.sums, file.layout
    rows = [
        ("kind", f"counts, scheme {head.scheme}, pattern {pattern_text(head.pattern)}"),
        *file_rows(head, sums, layout.digest),
        ("merged", f"of {len(layout.lineage):,} parts" if layout.lineage else ""),
        ("file", format_bytes(layout.size)),
    ]
    return {"bytes_on_disk": layout.size, "digest": layout.digest, **describe(head, sums)}, rows


def _verify_counts(path: str, deep: bool) -> str:
    from slmtok.training import PretokenCounts
    from slmtok.training.counts import open_counts

    file = open_counts(path)
    found = f"counts of {counted(file.head.totals.documents, 'document')}, digest {file.layout.digest[:12]}"
    return f"{found}; all {PretokenCounts.load(path).distinct:,} pretokens add up" if deep else found


# The small JSON files: vocab.json, lock, receipt, audit.


def _describe_metadata(path: str) -> tuple[dict[str, object], list[Row]]:
    content = load_metadata(path)
    rows = [
        ("kind", "vocabulary metadata for a model (vocab.json)"),
        ("ids", f"{content['n_vocab']:,}, padded {content['padded_vocab']:,}"),
        ("specials", "  ".join(f"{id} {role}" for role, id in content["specials"].items())),
        ("longest", f"{max(content['byte_lengths'], default=0)} bytes"),
        ("fingerprint", content["fingerprint"]),
    ]
    return content, rows


def _verify_metadata(path: str, deep: bool) -> str:
    content = load_metadata(path)
    return f"vocab.json of {content['n_vocab']} ids, fingerprint {content['fingerprint'][:12]}"


def _describe_lock(path: str) -> tuple[dict[str, object], list[Row]]:
    from slmtok.training.lock import load_lock

    lock = load_lock(path)
    tokenizer, counts, corpus = lock.content["tokenizer"], lock.content["counts"], lock.content["corpus"]
    rows = [
        ("kind", "the lock of a tokenizer: slmtok reproduce trains it again"),
        ("tokenizer", f"{tokenizer['file']}, {tokenizer['n_vocab']:,} ids, sha256 {tokenizer['sha256']}"),
        ("corpus", f"{counted(counts['documents'], 'document')}, {format_bytes(counts['bytes'])}"),
        ("files", f"{len(corpus['files']):,}"),
        ("counts", counts["sha256"]),
        ("made by", lock.tool),
    ]
    return {"tool": lock.tool, **lock.content}, rows


def _verify_lock(path: str, deep: bool) -> str:
    from slmtok.training.lock import load_lock

    lock = load_lock(path)
    name, locked = lock.content["tokenizer"]["file"], lock.content["tokenizer"]["sha256"]
    beside = lock.sibling(name)
    again = f"slmtok reproduce {shlex.quote(path)} trains it again"
    if not Path(beside).is_file():
        return f"lock of {name}, which is not beside it and was not compared; {again}"
    found = load(str(beside)).sha256
    if found != locked:
        raise CorruptFile(
            f"{path} is the lock of another tokenizer than {beside}",
            where=str(beside),
            limit=f"sha256 {locked[:16]}… in the lock, {found[:16]}… of the file",
            fix=f"{again}; restore the file that belongs to it",
            path=path,
        )
    return f"lock of {name}, which is unchanged; {again}"


def _describe_receipt(path: str) -> tuple[dict[str, object], list[Row]]:
    from slmtok.formats.verification import load_receipt

    content = load_receipt(path)
    rows = [
        ("kind", f"the receipt of an {content['direction']}, format {content['target']}"),
        ("ids", compared_ids(content)),
        ("fingerprint", content["tokenizer"]["fingerprint"]),
        ("files", "\n".join(content["files"])),
        ("note", "\n".join(content.get("notes", ()))),
    ]
    return content, rows


def _verify_receipt(path: str, deep: bool) -> str:
    from slmtok.formats.verification import check_receipt

    content = check_receipt(path)
    compared = f"{content['strings']:,} texts compared" if content["verified"] else "nothing compared"
    return f"receipt of an {content['direction']}, {compared}, {len(content['files'])} files"


def _describe_audit(path: str) -> tuple[dict[str, object], list[Row]]:
    from slmtok.analysis.audit import load_certificate

    content = load_certificate(path)
    rows = [
        ("kind", "the certificate of an audit"),
        *audit_rows(content),
        ("corpus", content["text"]["corpus_digest"]),
        ("fingerprint", content["tokenizer"]["fingerprint"]),
    ]
    return content, rows


def _verify_audit(path: str, deep: bool) -> str:
    from slmtok.analysis.audit import check_certificate

    text = check_certificate(path)["text"]
    return f"certificate over {counted(text['documents'], 'document')}, {text['bytes']:,} bytes: nothing is lost"


_KINDS: dict[str, tuple[Callable[[str], tuple[dict[str, Any], list[Row]]], Callable[[str, bool], str]]] = {
    file_kinds.TOKENIZER: (_describe_tokenizer, _verify_tokenizer),
    file_kinds.RANKS: (_describe_tokenizer, _verify_tokenizer),
    file_kinds.METADATA: (_describe_metadata, _verify_metadata),
    file_kinds.COUNTS: (_describe_counts, _verify_counts),
    file_kinds.LOCK: (_describe_lock, _verify_lock),
    file_kinds.RECEIPT: (_describe_receipt, _verify_receipt),
    file_kinds.AUDIT: (_describe_audit, _verify_audit),
    packed.KIND: (packed.describe_data, packed.verify_data),
}
"""Of each kind of file: from its path to (result, rows) for `info`, and from (path, deep) to one line for `verify`.

Both raise what is wrong with the file.
"""
