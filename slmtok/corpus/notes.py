"""Notes on a corpus that was read: commands print them, and calls of Python warn of them.

A note is a `Message`, whose options the command line writes as flags and Python as keywords.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from slmtok.errors import Message, Setting
from slmtok.option_values import parse_escapes
from slmtok.sizes import counted

MIN_BINARY_SHARE = 0.1
"""Invalid bytes of a corpus from which on it may be binary data."""


def invalid_note(
    numbers: tuple[int, int, int, int], first: tuple[str | None, int, int] | None, fix: Message
) -> Message:
    """The note on bytes that are not UTF-8.

    numbers: invalid bytes, documents with some, all documents, all bytes. first: the place of the first one, as (file,
    document, byte). fix: what to do.
    """
    n_bytes, with_some, documents, size = numbers
    share = n_bytes / max(size, 1)
    kind = f"{share:.2%} of the corpus is not UTF-8: binary data, or another encoding; "
    return (
        f"{counted(n_bytes, 'invalid byte')} in {with_some:,} of {counted(documents, 'document')} were kept as bytes"
        f"{_place(first)}; {kind if share >= MIN_BINARY_SHARE else ''}",
        *([fix] if isinstance(fix, str) else fix),
    )


def uncut_note(separator: str, name: str | None = None) -> Message:
    """The note on a separator that cuts no file. name: of the text, where a command reads several.

    Python takes a separator as it is, so that of a raw string has backslashes where line feeds may be meant.
    """
    meant = parse_escapes(separator)
    escapes: Message = ("; for the characters that its escapes stand for, ", Setting("separator", meant))
    return (
        Setting("separator", separator),
        f" occurs nowhere{f' in {name}' if name else ''}: each file is one document",
        *(escapes if meant != separator else ()),
    )


def skipped_note(records: int) -> str:
    """The note on malformed records that `skip_malformed` left out."""
    return f"{counted(records, 'malformed record')} skipped"


def skipped_by_option(records: int) -> Message:
    """The same with the option, for a call whose result does not show it."""
    return skipped_note(records), ", by ", Setting("skip_malformed", True)


def domain_note(name: str, globs: Sequence[str], files: Sequence[str], before: Sequence[str] = ()) -> Message:
    """The note on a domain without a document. before: globs of the domains that are named before it."""
    from slmtok.corpus.globs import matches

    if own := [path for path in files if any(matches(path, glob) for glob in globs)]:
        is_taken = all(any(matches(path, glob) for glob in before) for path in own)
        why = "belong to a domain that is named before it; name it first" if is_taken else "gave none"
        return f"domain {name!r} has no document: its files (first: {own[0]}) {why}"
    meant = domain_meant(name, globs, files)
    near = ("; ", Setting("domains", {name: meant[0]}), f" is for the files {meant[1]}") if meant else ()
    return *domain_fact(name, globs), *near


def domain_fact(name: str, globs: Sequence[str]) -> tuple[str | Setting, ...]:
    """What is said of a domain whose globs match no file."""
    given = Setting("domains", {name: (globs[0] if len(globs) == 1 else tuple(globs)) or "GLOB"})
    match = "matches" if len(globs) < 2 else "match"
    return f"domain {name!r} has no document: ", given, f" {match} no file of the corpus"


def domain_meant(name: str, globs: Sequence[str], files: Sequence[str]) -> tuple[str, str] | None:
    """A glob for a folder that a glob, or the domain, names, or for a suffix that a glob is; and its files; or None."""
    from slmtok.corpus.globs import glob_of_folder, glob_of_suffix

    given = [*filter(None, globs)]
    folders = ((glob_of_folder(each, files), "below it") for each in (*given, name))
    suffixes = ((glob_of_suffix(each, files), "of that suffix") for each in given)
    return next(((glob, whose) for glob, whose in chain(folders, suffixes) if glob), None)


def _place(first: tuple[str | None, int, int] | None) -> str:
    if first is None:
        return ""
    path, document, byte = first
    parts = [
        "stdin" if path == "-" else path or "",
        f"document {document:,}" if document or not path else "",
        f"byte {byte:,}",
    ]
    return f" (first: {', '.join(part for part in parts if part)})"
