"""`slmtok decode`: ids to text. It reads whatever `slmtok encode` writes."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slmtok.cli import _files, _numbers, _options, _output, _packed, _read_ids, _usage
from slmtok.cli._ranges import chosen
from slmtok.cli._tokenizers import open_tokenizer
from slmtok.errors import InvalidOption, UnknownId
from slmtok.files import missing_input

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer

_ERRORS = ("replace", "strict", "ignore", "backslashreplace", "keep")
_BLOCK = 1 << 20
"""Bytes that are looked at at a time: as `str` they may take four times as much."""


_Source = Annotated[
    str, typer.Argument(metavar="[FILE|DATA|-]", help="The ids: a file, or a packed folder.", show_default="stdin")
]
_Tokenizer = Annotated[
    str | None,
    typer.Option(
        "--tokenizer",
        "-t",
        metavar="TOK",
        help=f"The tokenizer: {_options.TOKENIZER}.",
        show_default="that of a packed folder",
    ),
]
_Docs = Annotated[
    str | None,
    typer.Option(
        "--docs", metavar="A:B", help="Of a packed folder, documents A to B - 1, from 0.", show_default="all of them"
    ),
]
_Split = Annotated[
    str | None,
    typer.Option(
        "--split",
        metavar="train|val",
        parser=_options.choice("train", "val"),
        help="Of a packed folder.",
        show_default="train",
    ),
]
_Kind = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="auto|ids|npy|bin",
        parser=_options.choice("auto", "ids", "npy", "bin"),
        help="Lines of ids, a numpy array, or raw little-endian ids; auto goes by the name.",
    ),
]
_Errors = Annotated[
    str,
    typer.Option(
        "--errors",
        metavar="|".join(_ERRORS),
        parser=_options.choice(*_ERRORS),
        help="What becomes of bytes that are no UTF-8; keep writes them as they are.",
    ),
]
_SkipSpecial = Annotated[bool, typer.Option("--skip-special", help="Leave control ids out.")]
_Document = Annotated[
    str,
    typer.Option(
        "--document",
        metavar="file|line",
        parser=_options.choice("file", "line"),
        help="With line, a line feed follows each document, as encode --document line took it.",
    ),
]


def decode(
    source: _Source = "-",
    tokenizer: _Tokenizer = None,
    kind: _Kind = "auto",
    docs: _Docs = None,
    split: _Split = None,
    errors: _Errors = "replace",
    skip_special: _SkipSpecial = False,
    document: _Document = "file",
    output: _options.Output = None,
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Turn ids back into text, on stdout unless told otherwise. Specials give their spelling.

    slmtok decode DATA --docs 3:5 shows what was packed, with the tokenizer that lies in the folder.
    """
    name = _tokenizer(tokenizer, source, kind, docs=docs is not None, split=split is not None)
    target = output or _files.STDIO
    if output is not None:
        _files.not_with_json(target, as_json)
    _files.check_output(target, inputs=[source, source + ".offsets.npy", name], force=force)
    tok = open_tokenizer(name)
    totals = {"documents": 0, "tokens": 0, "bytes": 0, "invalid_documents": 0}
    texts: list[str] = []
    collect = as_json and output is None

    def documents() -> _read_ids.Texts:
        for row in _rows(source, kind, docs, split, tok):
            try:
                data = tok.decode_bytes(row.ids, skip_special=skip_special)
            except UnknownId as error:
                raise _read_ids.placed(error, row.where, tok) from error
            text = _as_text(data, errors, row.where)
            totals["invalid_documents"] += errors == "replace" and text != data
            totals["documents"] += 1
            totals["tokens"] += len(row.ids)
            totals["bytes"] += len(text)
            yield text + (b"\n" if document == "line" else b"")

    if collect:
        texts.extend(text.decode("utf-8", "surrogateescape") for text in documents())
    else:
        with _files.writing(target, force=force) as stream:
            for text in documents():
                stream.write(text)
    warnings = _replaced(totals["invalid_documents"])

    def show() -> None:
        for warning in () if quiet else warnings:
            _output.note(warning)
        if output not in (None, _files.STDIO) and not quiet:
            sys.stdout.write(f"{output}: {_numbers.in_bytes(totals['bytes'])}, {totals['documents']} documents\n")

    result = {"path": target, **totals, **({"texts": texts} if collect else {})}
    return _output.Outcome(result, show, warnings=warnings)


def _rows(source: str, kind: str, docs: str | None, split: str | None, tok: Tokenizer) -> Iterator[_read_ids.Row]:
    if _is_packed(source, kind):
        return _packed.documents(source, docs, split, tok)
    rows = _read_ids.read(source, kind, wide=tok.dtype.itemsize == 4)
    if docs is None:
        return rows
    held = list(rows)
    return (held[index] for index in chosen(len(held), docs, source))


def _is_packed(source: str, kind: str) -> bool:
    """Whether ids are in a layout of packed data, and not said to be bare, or known by offsets beside them."""
    return kind == "auto" and not _read_ids.has_offsets(source) and _packed.is_packed(source)


def _tokenizer(name: str | None, source: str, kind: str, *, docs: bool, split: bool) -> str:
    """The tokenizer to use. Raises `InvalidOption` where none is named, or where a range is asked of what has none, and
    `MissingInput` where it is asked of nothing.
    """
    packed = _is_packed(source, kind)
    if not packed and (split or (docs and not _read_ids.has_offsets(source))):
        if source != _files.STDIO and not Path(source).exists():
            raise missing_input(source)
        raise InvalidOption(
            f"--docs and --split are about packed data, and {source!r} is none",
            where="slmtok decode",
            limit="folders of slmtok pack; token files of nanoGPT, llama2.c, llm.c or numpy, named as those name them",
            fix="slmtok decode DATA --docs 3:5",
            option="docs",
        )
    found = name or (_packed.tokenizer_of(source) if packed else None)
    if found is None:
        raise InvalidOption(
            "--tokenizer is missing",
            where=f"{source}, which another program wrote" if packed else "slmtok decode",
            fix=f"slmtok decode {source} -t tok.json" if packed else _usage.EXAMPLES["decode"],
            option="--tokenizer",
        )
    return found


def _as_text(data: bytes, errors: str, where: str) -> bytes:
    """The bytes to write: unchanged where they are UTF-8, else as `errors` says."""
    if errors == "keep":
        return data
    blocks = codecs.getincrementaldecoder("utf-8")(errors)
    view = memoryview(data)
    try:
        parts = [blocks.decode(view[start : start + _BLOCK]).encode() for start in range(0, len(data), _BLOCK)]
        parts.append(blocks.decode(b"", final=True).encode())
        return b"".join(parts)
    except UnicodeDecodeError:
        pass
    try:
        return data.decode("utf-8", errors).encode()  # raises, with the position among all bytes
    except UnicodeDecodeError as error:
        raise _read_ids.not_utf8(error, where) from None


def _replaced(documents: int) -> tuple[str, ...]:
    if not documents:
        return ()
    holding = "1 document holds" if documents == 1 else f"{documents:,} documents hold"
    return (f"{holding} bytes that are no UTF-8, shown as U+FFFD; --errors keep writes them",)
