"""The suffixes of files, by the format that they name; readers of formats use them in their errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slmtok.corpus.streams import bare_suffix
from slmtok.errors import Message, Setting

if TYPE_CHECKING:
    from slmtok.options import ReadOptions

SUFFIXES: dict[str, tuple[str, ...]] = {
    "text": (".txt", ".text", ".md"),
    "lines": (".lines",),
    "jsonl": (".jsonl", ".ndjson"),
    "json": (".json",),
    "tsv": (".tsv",),
    "csv": (".csv",),
    "parquet": (".parquet",),
}


def format_of_name(path: str, options: ReadOptions) -> Message | None:
    """The remedy for a file that is not of the format that was given, where its name says another one; else None."""
    suffix = bare_suffix(path)
    named = next((name for name, suffixes in SUFFIXES.items() if suffix in suffixes), None)
    if options.format == "auto" or named is None or named == options.format:
        return None
    return ("leave ", Setting("format"), f" out: the name says {named}")
