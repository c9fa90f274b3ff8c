"""The registry of corpus formats. To add one, write its file with a `read` function and its line in `READERS`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Literal, TypeAlias

from slmtok.corpus import jsonl, lines, text
from slmtok.corpus.streams import bare_suffix, open_bytes
from slmtok.errors import InvalidOption, WrongType, unknown_name

Document: TypeAlias = Literal["file", "line"]


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How to read a corpus. `format="auto"` goes by the name of each file; `document` concerns text files alone."""

    format: str = "auto"
    document: Document = "file"
    text_key: str = "text"
    skip_malformed: bool = False

    def __post_init__(self) -> None:
        """Raises `UnknownName`, `InvalidOption`, `WrongType`."""
        if self.format not in ("auto", *READERS):
            raise unknown_name("format", self.format, ("auto", *READERS))
        if self.document not in ("file", "line"):
            raise InvalidOption(
                f"document={self.document!r} is unknown",
                limit="file, line",
                fix="document='line' makes each line of a text file a document",
                option="document",
            )
        if not isinstance(self.text_key, str):
            raise WrongType(
                f"text_key= must be the name of a field, not {type(self.text_key).__name__}", fix="text_key='text'"
            )


@dataclass
class Skipped:
    """Counts what a reader left out because it was asked to."""

    records: int = 0


Read: TypeAlias = Callable[[BinaryIO, str, ReadOptions, Skipped], Iterator[bytes]]


@dataclass(frozen=True)
class Reader:
    """One format: name, file suffixes, and how to read a stream of it.

    `mapped` tells what a document is where the engine can map a plain file of this format itself.
    """

    name: str
    suffixes: tuple[str, ...]
    mapped: Document | None
    read: Read


READERS: dict[str, Reader] = {
    reader.name: reader
    for reader in (
        Reader("text", (".txt", ".text", ".md"), "file", text.read),
        Reader("lines", (".lines",), "line", lines.read),
        Reader("jsonl", (".jsonl", ".ndjson"), None, jsonl.read),
    )
}

_NOT_TEXT = {".parquet": "parquet", ".arrow": "arrow", ".zip": "zip", ".tar": "tar", ".xz": "xz", ".bz2": "bz2"}


def reader_for(path: str, options: ReadOptions) -> Reader:
    """The reader of one file. A suffix that no reader claims is text. Raises `InvalidOption` for archives."""
    if options.format != "auto":
        reader = READERS[options.format]
    else:
        suffix = bare_suffix(path)
        if suffix in _NOT_TEXT:
            raise InvalidOption(
                f"{path!r} is {_NOT_TEXT[suffix]}, which no reader here reads",
                limit=f"formats: {', '.join(READERS)}, each also as .gz and .zst",
                fix="format='text' to read its bytes as they are",
                option="format",
                path=path,
            )
        reader = next((known for known in READERS.values() if suffix in known.suffixes), READERS["text"])
    if reader.name == "text" and options.document == "line":
        return READERS["lines"]
    return reader


def check_text_key(paths: Iterable[str], options: ReadOptions) -> None:
    """Raises `InvalidOption` for a `text_key` that no file has a use for."""
    key = options.text_key
    if key == ReadOptions.text_key or any(reader_for(path, options).name == "jsonl" for path in paths):
        return
    raise InvalidOption(
        f"text_key={key!r} names a field, and no file of the corpus has records",
        limit="jsonl",
        fix="leave text_key= out, or format='jsonl'",
        option="text_key",
    )


def documents(paths: Iterable[str], options: ReadOptions, skipped: Skipped | None = None) -> Iterator[bytes]:
    """The documents of all files, in order. Raises `MissingInput`, `Unreadable`, `MalformedRecord`."""
    skipped = skipped or Skipped()
    for path in paths:
        reader = reader_for(path, options)
        with open_bytes(path) as stream:
            yield from reader.read(stream, path, options, skipped)
