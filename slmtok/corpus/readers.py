"""The registry of corpus formats. To add one, write its file with a `read` function and its line in `READERS`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeAlias

from slmtok.corpus import hugging_face, jsonl, lines, parquet, text, tsv
from slmtok.corpus.options import Document, ReadOptions
from slmtok.corpus.paths import HUGGING_FACE
from slmtok.corpus.selection import Skipped
from slmtok.corpus.streams import COMPRESSED, bare_suffix, open_bytes
from slmtok.errors import InvalidOption, unknown_name

__all__ = [
    "FORMATS",
    "READERS",
    "Document",
    "ReadOptions",
    "Reader",
    "Skipped",
    "check_fields",
    "check_format",
    "documents",
    "reader_for",
]

Open: TypeAlias = Callable[[str, ReadOptions], AbstractContextManager[Any]]
Read: TypeAlias = Callable[[Any, str, ReadOptions, Skipped], Iterator[bytes]]


def _stream(path: str, options: ReadOptions) -> AbstractContextManager[Any]:
    return open_bytes(path)


@dataclass(frozen=True)
class Reader:
    """One format: name, file suffixes, and how to read a stream of it, or whatever else `opens` gives for a source.

    `mapped` tells what a document is where the engine can map a plain file of this format itself. `records`: whether
    its documents are made of named fields.
    """

    name: str
    suffixes: tuple[str, ...]
    mapped: Document | None
    read: Read
    records: bool = False
    opens: Open = _stream


READERS: dict[str, Reader] = {
    reader.name: reader
    for reader in (
        Reader("text", (".txt", ".text", ".md"), "file", text.read),
        Reader("lines", (".lines",), "line", lines.read),
        Reader("jsonl", (".jsonl", ".ndjson"), None, jsonl.read, records=True),
        Reader("tsv", (".tsv",), None, tsv.read, records=True),
        Reader("parquet", (".parquet",), None, parquet.read, records=True, opens=parquet.opened),
        Reader("hugging_face", (), None, hugging_face.read, records=True, opens=hugging_face.opened),
    )
}
FORMATS = tuple(reader.name for reader in READERS.values() if reader.suffixes)
"""What `format` may be besides "auto"."""
_SEPARATED = Reader("text", (), None, text.read_separated)
"""Text files under `separator`: many documents a file, found by reading it."""

_NOT_TEXT = {".arrow": "arrow", ".zip": "zip", ".tar": "tar", ".bz2": "bz2"}


def check_format(name: object) -> None:
    """Raises `UnknownName` for what is neither "auto" nor in `FORMATS`."""
    if name not in ("auto", *FORMATS):
        raise unknown_name("format", name, ("auto", *FORMATS))


def reader_for(path: str, options: ReadOptions) -> Reader:
    """The reader of one file. A suffix that no reader claims is text. Raises `InvalidOption` for archives."""
    if path.startswith(HUGGING_FACE):
        return READERS["hugging_face"]
    if options.format != "auto":
        reader = READERS[options.format]
    else:
        suffix = bare_suffix(path)
        if suffix in _NOT_TEXT:
            raise InvalidOption(
                f"{path!r} is {_NOT_TEXT[suffix]}, which no reader here reads",
                limit=f"formats: {', '.join(FORMATS)}, each also as {', '.join(COMPRESSED)}",
                fix="format='text' to read its bytes as they are",
                option="format",
                path=path,
            )
        reader = next((known for known in READERS.values() if suffix in known.suffixes), READERS["text"])
    if reader.name == "text" and options.separator is not None:
        return _SEPARATED
    if reader.name == "text" and options.document == "line":
        return READERS["lines"]
    return reader


def check_fields(paths: Iterable[str], options: ReadOptions) -> None:
    """Raises `InvalidOption` for `text_key`, `text_template` or `separator` that no file has a use for."""
    found = [reader_for(path, options) for path in paths]
    records = any(reader.records for reader in found)
    if options.separator is not None and _SEPARATED not in found:
        raise InvalidOption(
            f"separator={options.separator!r} cuts text files, and the corpus has none",
            limit="text",
            fix="leave separator= out",
            option="separator",
        )
    if records or (options.text_key == ReadOptions.text_key and options.text_template is None):
        return
    name = "text_key" if options.text_template is None else "text_template"
    raise InvalidOption(
        f"{name}={getattr(options, name)!r} names a field, and no file of the corpus has records",
        limit=", ".join(name for name in FORMATS if READERS[name].records),
        fix=f"leave {name}= out, or format='jsonl'",
        option=name,
    )


def documents(paths: Iterable[str], options: ReadOptions, skipped: Skipped | None = None) -> Iterator[bytes]:
    """All documents of all files as they stand, in order: before sampling, caps and limits, which `read` applies.

    Raises `MissingInput`, `Unreadable`, `MalformedRecord`.
    """
    skipped = skipped or Skipped()
    for path in paths:
        reader = reader_for(path, options)
        with reader.opens(path, options) as stream:
            yield from reader.read(stream, path, options, skipped)
