"""Notes on text that is read in another encoding than its bytes speak for, by the first part of each file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from slmtok.cli.output import again_with
from slmtok.corpus import STDIN, format_of
from slmtok.corpus.contents import head_of
from slmtok.corpus.encodings import Utf8Evidence, utf8_evidence
from slmtok.corpus.streams import UTF_8
from slmtok.file_content import is_utf_8
from slmtok.options import CountOptions, ReadOptions

_MAX_FILES = 256
_MAX_BYTES = 4 << 20
"""Of all files together: validating these takes a few milliseconds."""
_MIN_FILE_BYTES = 1 << 14
_MIN_CHARACTERS = 4
"""Characters of UTF-8 that a text in another encoding has by chance less often, without a byte that is not UTF-8."""


def notes_on_encoding(files: Sequence[str], read: ReadOptions) -> list[str]:
    """Notes on files that are not UTF-8 where that is read, and on UTF-8 where another encoding is named.

    A command without --encoding gets none. Counting itself finds each byte that is not UTF-8.
    """
    context = click.get_current_context(silent=True)
    if context is None or "encoding" not in {param.name for param in context.command.params}:
        return []
    if read.encoding == UTF_8:
        if isinstance(read, CountOptions):
            return []
        # Most files are UTF-8, which is known ten times as fast as what else their bytes are.
        path = next((path for path, head in _heads(files, read) if not is_utf_8(head)), None)
        if path is None:
            return []
        found = _evidence(files, read)
        kept = "" if format_of(path, read).records else ", and such bytes are kept"
        fact = f"{_shown(path)} is not UTF-8 (first: byte {found[path].first_invalid:,}){kept}"
        return [f"{fact}; {_remedy(path, found)}"]
    return [] if read.encoding.startswith("utf") else _notes_on_utf_8(_evidence(files, read), read.encoding)


def _notes_on_utf_8(found: dict[str, Utf8Evidence], encoding: str) -> list[str]:
    """The note on files that are valid UTF-8, read in an encoding in which each of their characters is several."""
    utf_8 = [path for path, each in found.items() if not each.invalid and each.characters >= _MIN_CHARACTERS]
    if not utf_8:
        return []
    several = f" and {len(utf_8) - 1:,} more files are UTF-8, and their" if len(utf_8) > 1 else " is UTF-8, and its"
    remedy = again_with("--encoding utf-8")
    if any(each.invalid for each in found.values()):
        remedy = "one --encoding reads all files: convert those that are not UTF-8, and leave it out"
    return [f"{_shown(utf_8[0])}{several} characters beyond ASCII are misread as {encoding}; {remedy}"]


def remedy_of_invalid(path: str | None, files: Sequence[str]) -> str:
    """What to do about a file of the corpus in which a byte is not UTF-8."""
    named = [] if path is None else [path, *files[:_MAX_FILES]]
    return _remedy(path, _evidence(list(dict.fromkeys(named)), ReadOptions()))


def _remedy(path: str | None, found: dict[str, Utf8Evidence]) -> str:
    """To name an encoding, unless what is UTF-8 in this file or in another one would be misread."""
    if path in found and found[path].is_mixed:
        return f"{_shown(path)} has UTF-8 as well, which another --encoding would misread: convert the part that is not"
    other = next((name for name, each in found.items() if name != path and each.characters >= _MIN_CHARACTERS), None)
    if other is not None and path is not None and not found[other].invalid:
        return f"{_shown(other)} is UTF-8, which another --encoding would misread: convert {_shown(path)} to UTF-8"
    return f"for text in Latin-1, for instance, {again_with('--encoding latin-1')}"


def _evidence(files: Sequence[str], read: ReadOptions) -> dict[str, Utf8Evidence]:
    return {path: utf8_evidence(head) for path, head in _heads(files, read)}


def _heads(files: Sequence[str], read: ReadOptions) -> Iterator[tuple[str, bytes]]:
    """The first files, each with its first bytes."""
    chosen = files[:_MAX_FILES]
    size = max(_MAX_BYTES // max(len(chosen), 1), _MIN_FILE_BYTES)
    return ((path, head_of(path, read, size)) for path in chosen)


def _shown(path: str) -> str:
    return "stdin" if path == STDIN else path
