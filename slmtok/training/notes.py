"""Warnings on a corpus that a call of Python counted: what was read otherwise than the options may mean."""

from __future__ import annotations

from slmtok.calls import warn_caller
from slmtok.corpus import notes
from slmtok.corpus.content_notes import content_notes
from slmtok.corpus.contents import head_of
from slmtok.errors import Message, render
from slmtok.options import OTHER_DOMAIN, ReadOptions
from slmtok.training.counts import PretokenCounts
from slmtok.training.report import first_invalid

_HEAD_BYTES = 1 << 20
"""Of the first file with a byte that is not UTF-8, by which encodings are proposed."""


def invalid_note(counts: PretokenCounts, fix: Message) -> Message:
    """The note on bytes that are not UTF-8, of which there are some. fix: what to do."""
    totals = counts.totals
    numbers = (totals.invalid_bytes, totals.invalid_documents, totals.documents, counts.bytes)
    return notes.invalid_note(numbers, first_invalid(counts), fix)


def _remedy_of_invalid(counts: PretokenCounts) -> Message:
    """What to do about the first file with a byte that is not UTF-8, or the encodings in which it may be."""
    from slmtok.corpus.kept_bytes import MAX_FILES, evidence_of, first_heads, kind_first, remedy_without_encoding
    from slmtok.corpus.likely_encodings import encoding_remedy

    first = first_invalid(counts)
    path = None if first is None else first[0]
    if path is None:
        return encoding_remedy(b"")
    if counts.options.get("format") == "auto" and (first_of_all := kind_first(path, counts.stats.files, ReadOptions())):
        return first_of_all
    heads = dict(first_heads([*dict.fromkeys([path, *counts.stats.files[:MAX_FILES]])], ReadOptions()))
    found = remedy_without_encoding(path, heads, evidence_of(heads), counts.stats.files)
    return found or encoding_remedy(head_of(path, ReadOptions(), _HEAD_BYTES))


def uncut_note(counts: PretokenCounts) -> Message | None:
    """The note on a separator that cut no file; None where it cut one, and without one."""
    separator, documents = counts.options.get("separator"), counts.totals.documents
    return notes.uncut_note(separator) if separator and 0 < documents <= len(counts.stats.files) else None


def domain_notes(counts: PretokenCounts) -> dict[str, Message]:
    """A note on each domain without a document: usually a wrong glob."""
    empty = [part.name for part in counts.parts if not part.documents and part.name != OTHER_DOMAIN]
    given = counts.options.get("domains")
    globs: dict[str, list[str]] = {}
    for domain, _, glob in (each.partition("=") for each in (given if isinstance(given, list) else ())):
        globs.setdefault(domain, []).append(glob)
    names = [*globs]

    def before(name: str) -> list[str]:
        return [glob for other in names[: names.index(name)] for glob in globs[other]] if name in globs else []

    return {name: notes.domain_note(name, globs.get(name, []), counts.stats.files, before(name)) for name in empty}


def _content_notes(counts: PretokenCounts) -> list[Message]:
    """The notes on files that are more than prose, which were read as text."""
    names = ("format", "document", "separator", "encoding")
    options = ReadOptions(**{name: counts.options[name] for name in names if name in counts.options})
    return content_notes(counts.stats.files, options)


def warn_of_corpus(counts: PretokenCounts) -> None:
    """Warns of a separator that cuts no file, bytes that are not UTF-8, records left out and domains without text.

    Texts in memory are the program's own: their bytes are as it gave them.
    """
    found = [uncut_note(counts), *_content_notes(counts)]
    if counts.stats.files and counts.totals.invalid_bytes:
        found.append(invalid_note(counts, _remedy_of_invalid(counts)))
    if counts.totals.skipped_records:
        found.append(notes.skipped_by_option(counts.totals.skipped_records))
    for note in (*found, *domain_notes(counts).values()):
        if note is not None:
            warn_caller(render(note))
