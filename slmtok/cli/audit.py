"""`slmtok audit`: proof that a tokenizer, or a packed folder, loses nothing of a text, as a certificate."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slmtok import atomic
from slmtok.cli import _corpus, _kinds, _options, _output
from slmtok.cli._corpus_options import with_corpus
from slmtok.cli._numbers import grouped, in_bytes
from slmtok.cli._progress import Progress
from slmtok.cli._tables import Row, print_rows
from slmtok.cli._tokenizers import TIKTOKEN, open_tokenizer
from slmtok.corpus import ReadOptions
from slmtok.errors import CorruptFile, GoldenMismatch, InvalidMerges, InvalidSpecials, InvalidTokens, SlmtokError

if TYPE_CHECKING:
    from slmtok.analysis.audit import Audit
    from slmtok.shards import Shards
    from slmtok.tokenizer import Tokenizer

_UNSOUND = (CorruptFile, GoldenMismatch, InvalidMerges, InvalidSpecials, InvalidTokens)

_Tok = Annotated[
    str,
    typer.Argument(metavar="TOK|DATA", help=f"{_options.TOKENIZER}; or a packed folder.", show_default=False),
]
_On = Annotated[
    list[str], typer.Option("--on", metavar="TEXT", help="The text. Repeat for several.", show_default=False)
]
_Metadata = Annotated[
    str | None,
    typer.Option(
        "--metadata",
        metavar="FILE",
        help="A vocab.json: its byte lengths are what must add up.",
        show_default="that of a packed folder",
    ),
]
_Leak = Annotated[
    str | None,
    typer.Option(
        "--leak",
        metavar="FILE",
        help="Digests from slmtok count --doc-digests: how many documents of the text are among them.",
        show_default=False,
    ),
]
_Baselines = Annotated[
    list[str] | None,
    typer.Option(
        "--baselines",
        metavar="TRAIN",
        help="Training text: bits per byte that n-grams and compressors reach with it. Repeat for several.",
        show_default=False,
    ),
]
_Output = Annotated[
    str,
    typer.Option("--output", "-o", metavar="FILE", help="The certificate.", rich_help_panel=_options.OUTPUT),
]


@with_corpus
def audit(
    tok: _Tok,
    on: _On,
    *,
    read: ReadOptions,
    metadata: _Metadata = None,
    leak: _Leak = None,
    baselines: _Baselines = None,
    threads: _options.Threads = 0,
    output: _Output = "audit.json",
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Prove that a tokenizer loses nothing of a text; status 3 where it does.

    Byte lengths of all ids must sum to the bytes of each document, every text must come back, specials must weigh
    nothing. Of a packed folder the documents, decoded, must be those of the text.
    """
    from slmtok.analysis.audit import audit as run
    from slmtok.training.doc_digests import load_digests

    sources = _corpus.text_files(on, read)
    atomic.check_outputs(output, inputs=[*sources, *([metadata] if metadata else [])], force=force)
    seen = None if leak is None else load_digests(leak)
    try:
        tokenizer, content, shards = _opened(tok, metadata)
    except _UNSOUND as error:
        return _unsound(tok, error)
    with Progress(quiet=quiet) as progress:
        found = run(
            tokenizer,
            _texts(sources, read),
            metadata=content,
            shards=shards,
            seen=seen,
            threads=threads,
            progress=progress,
        )
    certificate = _certificate(tokenizer, found, leak=leak is not None)
    if baselines:
        certificate["baselines"] = _baselines(sources, baselines, read)
    atomic.write(output, (json.dumps(certificate, ensure_ascii=False, indent=2) + "\n").encode(), force=force)
    code = _output.DONE if found.passed else _output.ANSWER_NO
    return _output.Outcome({"path": output, **certificate}, lambda: _show(output, certificate, quiet=quiet), code=code)


def _opened(tok: str, metadata: str | None) -> tuple[Tokenizer, dict[str, Any] | None, Shards | None]:
    """(tokenizer, content of vocab.json, packed folder)."""
    from slmtok.shards import open_shards

    folder = Path(tok)
    if tok.startswith(TIKTOKEN) or not folder.is_dir():
        return open_tokenizer(tok), None if metadata is None else _kinds.metadata(metadata), None
    shards = open_shards(folder)
    return open_tokenizer(str(folder / "tok.json")), _kinds.metadata(metadata or str(folder / "vocab.json")), shards


def _unsound(tok: str, error: SlmtokError) -> _output.Outcome:
    """The answer where the tokenizer or its metadata cannot even be loaded: no certificate."""

    def show() -> None:
        sys.stdout.write(_output.printable(f"{tok}: NOT SOUND: {error}\n"))

    return _output.Outcome({"verdict": False, "path": None, "error": error.to_dict()}, show, code=_output.ANSWER_NO)


def _texts(sources: Sequence[str], read: ReadOptions) -> Iterator[bytes]:
    from slmtok.corpus import read as read_corpus

    return (bytes(document.text) for document in read_corpus(sources, read))


def _baselines(sources: Sequence[str], train: Sequence[str], read: ReadOptions) -> dict[str, object]:
    from slmtok.analysis.baselines import MOST, baselines, first_bytes

    return baselines(_texts(_corpus.text_files(train, read), read), first_bytes(_texts(sources, read), MOST))


def _certificate(tokenizer: Tokenizer, found: Audit, *, leak: bool) -> dict[str, Any]:
    from slmtok import __version__

    lengths = tokenizer.byte_lengths()
    return {
        "verdict": found.passed,
        "format": "slmtok-audit",
        "version": 1,
        "package": f"slmtok {__version__}",
        "tokenizer": {
            "fingerprint": tokenizer.fingerprint,
            "sha256": tokenizer.sha256,
            "n_vocab": tokenizer.n_vocab,
            "pattern": tokenizer.pattern.name or tokenizer.pattern.regex,
            "normalizer": None,
        },
        "text": found.text.to_dict(),
        "ids": found.ids,
        "token_bytes": found.token_bytes,
        "bytes_per_token": round(found.text.bytes / found.ids, 6) if found.ids else None,
        "special_bytes": {role: int(lengths[tokenizer.specials[role]]) for role in tokenizer.specials},
        "control_ids": found.control_ids,
        "checks": {name: {"ok": fault is None, "fault": fault} for name, fault in found.checks.items()},
        "leak": {"documents": found.leaked, "of": found.text.documents} if leak else None,
        "baselines": None,
    }


def _show(path: str, certificate: dict[str, Any], *, quiet: bool) -> None:
    if quiet and certificate["verdict"]:
        return
    text, leak = certificate["text"], certificate["leak"]
    verdict = "nothing is lost" if certificate["verdict"] else "NOT PROVEN"
    lines = [
        f"{'ok ' if check['ok'] else 'NO '} {name.replace('_', ' ')}{'' if check['ok'] else ': ' + check['fault']}"
        for name, check in certificate["checks"].items()
    ]
    rows: list[Row] = [
        ("verdict", verdict),
        ("text", f"{grouped(text['documents'])} documents, {in_bytes(text['bytes'])}, {text['bytes']:,} bytes"),
        ("tokens", f"{grouped(certificate['ids'])}, {certificate['token_bytes']:,} bytes"),
        ("checks", "\n".join(lines)),
        ("leak", f"{grouped(leak['documents'])} of {grouped(leak['of'])} documents were counted" if leak else ""),
        ("baselines", _told(certificate["baselines"])),
    ]
    print_rows(rows, title=path, stream=sys.stdout)


def _told(found: dict[str, Any] | None) -> str:
    if not found:
        return ""
    lines = [f"{order}-gram  {bits:.3f} bits a byte" for order, bits in found["ngram"].items()]
    lines += [f"{name:<6}  {found[name]['after_train']:.3f} after the training text" for name in ("bz2", "xz")]
    return "\n".join(lines)
