"""Notes on files that are more than prose, or divided otherwise than the options say, and were read as text."""

from __future__ import annotations

from collections.abc import Sequence

from slmtok.corpus.beside_records import beside_records
from slmtok.corpus.contents import kind_among, records_as_text
from slmtok.corpus.document_marks import mark_among
from slmtok.corpus.kept_bytes import encoding_of
from slmtok.corpus.saved_data_set import unread_splits
from slmtok.errors import Message, Setting
from slmtok.options import ReadOptions


def content_notes(files: Sequence[str], options: ReadOptions) -> list[Message]:
    """Notes on records of JSON, files beside records, subtitles and their like, and marks; none for most files."""
    found: list[Message] = []
    if records := records_as_text(files, options):
        found.append((f"{records.fact}; ", Setting("format", records.format), " for the text of its records"))
    if splits := unread_splits(files):
        found.append(f"{splits.fact}; {splits.remedy}")
    if beside := beside_records(files, options):
        found.append((f"{beside.fact}; ", beside.exclude, f" leaves {beside.them} out"))
    if kind := kind_among(files, options):
        found.append((f"{kind.fact}; ", *kind.remedy(files, encoding_of(kind.paths, options))))
    if not options.separator and (mark := mark_among(files, options)):
        found.append((f"{mark.fact}; ", Setting("separator", mark.spelling), " for the documents between them"))
    return found
