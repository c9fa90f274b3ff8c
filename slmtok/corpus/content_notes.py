"""Notes on files that are more than prose, or divided otherwise than the options say, and were read as text."""

from __future__ import annotations

from collections.abc import Sequence

from slmtok.corpus.beside_records import beside_records
from slmtok.corpus.contents import json_lines_among, kind_among
from slmtok.corpus.document_marks import mark_among
from slmtok.corpus.kept_bytes import encoding_of
from slmtok.corpus.paths import STDIN
from slmtok.corpus.saved_data_set import unread_splits
from slmtok.errors import Message, Setting
from slmtok.options import ReadOptions


def content_notes(files: Sequence[str], options: ReadOptions) -> list[Message]:
    """The notes on JSON lines, files beside records, subtitles and their like, and marks; none for most files."""
    found: list[Message] = []
    if (path := json_lines_among(files, options)) is not None:
        fact = f"{'stdin' if path == STDIN else path} looks like JSON lines, and its JSON was read as text; "
        found.append((fact, Setting("format", "jsonl"), " for the text of its records"))
    if splits := unread_splits(files):
        found.append(f"{splits.fact}; {splits.remedy}")
    if beside := beside_records(files, options):
        found.append((f"{beside.fact}; ", beside.exclude, f" leaves {beside.them} out"))
    if kind := kind_among(files, options):
        found.append((f"{kind.fact}; ", *kind.remedy(files, encoding_of(kind.paths, options))))
    if not options.separator and (mark := mark_among(files, options)):
        found.append((f"{mark.fact}; ", Setting("separator", mark.spelling), " for the documents between them"))
    return found
