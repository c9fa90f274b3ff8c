"""Notes on text that is read in another encoding than its bytes speak for, by the first part of each file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import click

from slmtok.cli.output import again_with
from slmtok.corpus import STDIN, format_of
from slmtok.corpus.contents import head_of
from slmtok.corpus.encodings import Utf8Evidence, utf8_evidence
from slmtok.corpus.streams import UTF_8, is_plain
from slmtok.file_content import is_utf_8
from slmtok.options import CountOptions, ReadOptions

_MAX_FILES = 256
_MAX_BYTES = 4 << 20
"""Of all files together: validating these takes a few milliseconds."""
_MIN_FILE_BYTES = 1 << 14
_MAX_CHARACTER_BYTES = 4
_CONTINUATION = bytes(range(0x80, 0xC0))
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
        heads = dict(_heads(files, read))
        found = _evidence(heads)
        kept = "" if format_of(path, read).records else ", and such bytes are kept"
        fact = f"{_shown(path)} is not UTF-8 (first: byte {found[path].first_invalid:,}){kept}"
        return [f"{fact}; {_remedy(path, heads, found)}"]
    if read.encoding.startswith("utf"):
        return []
    heads = dict(_heads(files, read))
    found = _evidence(heads)
    return [*_notes_on_utf_8(found, read.encoding), *_notes_on_latin(heads, found, read.encoding)]


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


def _notes_on_latin(heads: dict[str, bytes], found: dict[str, Utf8Evidence], encoding: str) -> list[str]:
    """The note on text of another script that is read as Latin, in which its letters are accented ones.

    So of text of Windows, whose quotes and dashes are control characters in Latin-1.
    """
    from slmtok.corpus.likely_encodings import controls_of_cp1252, listed, misread_as

    for path, head in heads.items():
        if found[path].invalid and (number := controls_of_cp1252(head, encoding)):
            fact = f"{_shown(path)} reads as words in cp1252, and near its beginning {number:,} bytes of it are"
            return [f"{fact} control characters in {encoding}; {again_with('--encoding cp1252')}"]
        if found[path].invalid and (names := misread_as(head, encoding)):
            fact = f"{_shown(path)} reads as words in {listed(names)}, and as accented letters in {encoding}"
            return [f"{fact}; {again_with(f'--encoding {names[0]}')}"]
    return []


def encoding_meant(files: Sequence[str], read: ReadOptions) -> tuple[str, tuple[str, ...]] | None:
    """The first file that is not UTF-8, which is read, and the encodings in which all the files may be; else None."""
    if read.encoding != UTF_8:
        return None
    from slmtok.corpus.likely_encodings import likely_encodings

    heads = {path: head for path, head in _heads(files, read) if not is_utf_8(head)}
    names = next(map(likely_encodings, heads.values()), ())
    is_other = any(each.is_mixed for each in _evidence(heads).values()) or any(
        each.characters >= _MIN_CHARACTERS
        for each in _evidence({path: head for path, head in _heads(files, read) if path not in heads}).values()
    )
    return (_shown(next(iter(heads))), names) if names and not is_other else None


def remedy_of_invalid(path: str | None, files: Sequence[str]) -> str:
    """What to do about a file of the corpus in which a byte is not UTF-8."""
    named = [] if path is None else [path, *files[:_MAX_FILES]]
    heads = dict(_heads(list(dict.fromkeys(named)), ReadOptions()))
    return _remedy(path, heads, _evidence(heads))


def _remedy(path: str | None, heads: dict[str, bytes], found: dict[str, Utf8Evidence]) -> str:
    """To name an encoding, unless what is UTF-8 in this file or in another one would be misread."""
    if path in found and not found[path].invalid and _ends_in_character(path, heads[path]):
        return f"{_shown(path)} ends in the middle of a character: fetch it again"
    if path in found and found[path].is_mixed:
        return f"{_shown(path)} has UTF-8 as well, which another --encoding would misread: convert the part that is not"
    other = next((name for name, each in found.items() if name != path and each.characters >= _MIN_CHARACTERS), None)
    if other is not None and path is not None and not found[other].invalid:
        return f"{_shown(other)} is UTF-8, which another --encoding would misread: convert {_shown(path)} to UTF-8"
    from slmtok.corpus.likely_encodings import likely_encodings, what_reads_in

    names = likely_encodings(heads.get(path or "", b""))
    first, *others = (f"--encoding {name}" for name in names or ("NAME",))
    return f"{what_reads_in(names)}{', or with '.join([again_with(first), *others])}"


def _ends_in_character(path: str, head: bytes) -> bool:
    """Whether the last character of a file is not whole; of a compressed one, where its head is all of it."""
    end = head
    if is_plain(path) and os.path.isfile(path):  # noqa: PTH113
        with open(path, "rb") as file:  # noqa: PTH123
            file.seek(-min(os.fstat(file.fileno()).st_size, _MAX_CHARACTER_BYTES), os.SEEK_END)
            end = file.read()
    # A byte that continues a character may stand at the beginning.
    end = end.lstrip(_CONTINUATION)
    return is_utf_8(end) and not is_utf_8(end, is_whole=True)


def _evidence(heads: dict[str, bytes]) -> dict[str, Utf8Evidence]:
    return {path: utf8_evidence(head) for path, head in heads.items()}


def _heads(files: Sequence[str], read: ReadOptions) -> Iterator[tuple[str, bytes]]:
    """The first files, each with its first bytes."""
    chosen = files[:_MAX_FILES]
    size = max(_MAX_BYTES // max(len(chosen), 1), _MIN_FILE_BYTES)
    return ((path, head_of(path, read, size)) for path in chosen)


def _shown(path: str) -> str:
    return "stdin" if path == STDIN else path
