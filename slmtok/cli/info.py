"""`slmtok info`: what a file is, and what is in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slmtok.cli import _counts_report, _kinds, _options, _output, _packed, _proofs
from slmtok.cli._numbers import grouped, in_bytes
from slmtok.cli._tables import Row, print_rows
from slmtok.cli._tokenizers import TIKTOKEN, open_tokenizer
from slmtok.errors import CorruptFile
from slmtok.token_text import escape_token

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer


_File = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="A tokenizer file, a vocab.json, a packed folder, or tiktoken:NAME.", show_default=False
    ),
]


def info(
    file: _File,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Say what a file is: sizes, specials, hashes, and how it was made."""
    if Path(file).is_dir():
        return _packed.info(file)
    kind = _kinds.TOKENIZER if file.startswith(TIKTOKEN) else _kinds.kind(_kinds.head(file))
    if kind == _kinds.METADATA:
        return _metadata(file)
    if kind == _kinds.COUNTS:
        return _counts_report.described(file)
    if kind == _kinds.LOCK:
        return _lock(file)
    if kind in (_kinds.RECEIPT, _kinds.AUDIT):
        return _proofs.info(file, kind)
    if kind == _kinds.UNKNOWN:
        if _packed.is_packed(file):
            return _packed.info(file)
        raise CorruptFile(
            f"{file} is no file of slmtok",
            limit="known: tokenizer files, locks, counts, vocab.json, packed folders, token files, tiktoken:NAME",
            fix="slmtok train makes a tokenizer file, slmtok vocab --metadata a vocab.json",
            path=file,
        )
    return _tokenizer(file, open_tokenizer(file, verify=False))


def _metadata(file: str) -> _output.Outcome:
    content = _kinds.metadata(file)
    lengths = content["byte_lengths"]
    rows: list[Row] = [
        ("what", "vocabulary metadata for a model (vocab.json)"),
        ("ids", f"{grouped(content['n_vocab'])}, padded {grouped(content['padded_vocab'])}"),
        ("specials", "  ".join(f"{id} {role}" for role, id in content["specials"].items())),
        ("longest token", f"{max(lengths, default=0)} bytes"),
        ("fingerprint", content["fingerprint"]),
    ]
    return _output.Outcome({"kind": _kinds.METADATA, "path": file, **content}, lambda: print_rows(rows, title=file))


def _lock(file: str) -> _output.Outcome:
    from slmtok.training.lock import load_lock

    content = load_lock(file).content
    tokenizer, counts, corpus = content["tokenizer"], content["counts"], content["corpus"]
    rows: list[Row] = [
        ("what", "the lock of a tokenizer: slmtok reproduce makes it again"),
        ("tokenizer", f"{tokenizer['file']}, {grouped(tokenizer['n_vocab'])} ids, sha256 {tokenizer['sha256']}"),
        ("corpus", f"{grouped(counts['documents'])} documents, {in_bytes(counts['bytes'])}"),
        ("files", grouped(len(corpus["files"]))),
        ("counts", counts["sha256"]),
        ("made by", content["package"]),
    ]
    return _output.Outcome({"kind": _kinds.LOCK, "path": file, **content}, lambda: print_rows(rows, title=file))


def _tokenizer(file: str, tokenizer: Tokenizer) -> _output.Outcome:
    vocabulary = tokenizer.vocabulary
    specials = [{"id": slot.id, "role": slot.role, "text": slot.text} for slot in tokenizer.specials.tokens]
    result: dict[str, object] = {
        "kind": _kinds.TOKENIZER,
        "path": file,
        "bytes": None if file.startswith(TIKTOKEN) else Path(file).stat().st_size,
        "scheme": tokenizer.scheme,
        "layout": vocabulary.layout,
        "pattern": {
            "name": tokenizer.pattern.name,
            "regex": tokenizer.pattern.regex,
            "unicode": tokenizer.pattern.unicode,
        },
        "n_vocab": tokenizer.n_vocab,
        "padded_vocab": tokenizer.padded_vocab,
        "merges": len(vocabulary.merges),
        "longest_token": max(vocabulary.byte_lengths.tolist(), default=0),
        "specials": specials,
        "options": tokenizer.options,
        "provenance": tokenizer.provenance,
        "fingerprint": tokenizer.fingerprint,
        "sha256": tokenizer.sha256,
    }
    return _output.Outcome(result, lambda: print_rows(_rows(tokenizer, result), title=file))


def _rows(tokenizer: Tokenizer, result: dict[str, object]) -> list[Row]:
    vocabulary, pattern = tokenizer.vocabulary, tokenizer.pattern
    longest = max((token for _, token in vocabulary.items()), key=len)
    named = [slot for slot in tokenizer.specials.tokens if slot.role is not None]
    learned = len(vocabulary.merges) or sum(token is not None for token in vocabulary.tokens)
    what = "merges" if vocabulary.merges else "tokens"
    size = result["bytes"]
    provenance = {key: value for key, value in tokenizer.provenance.items() if value is not None}
    return [
        (
            "what",
            f"tokenizer, scheme {tokenizer.scheme}" + (", foreign layout" if vocabulary.layout == "foreign" else ""),
        ),
        ("ids", f"{grouped(tokenizer.n_vocab)}, padded {grouped(tokenizer.padded_vocab)}; {grouped(learned)} {what}"),
        ("pattern", f"{pattern.name or 'custom'} (Unicode {pattern.unicode})\n{pattern.regex}"),
        ("specials", "  ".join(f"{slot.id} {slot.role} {slot.text}" for slot in named)),
        ("longest token", f"{len(longest)} bytes: {escape_token(longest)}"),
        ("options", _pairs(tokenizer.options)),
        ("provenance", _pairs(provenance)),
        ("file", in_bytes(size) if isinstance(size, int) else ""),
        ("fingerprint", tokenizer.fingerprint),
        ("sha256", tokenizer.sha256),
    ]


def _pairs(values: dict[str, object]) -> str:
    width = max(map(len, values), default=0)
    return "\n".join(
        f"{key:<{width}}  {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for key, value in values.items()
    )
