"""Notes on text that is read in another encoding than its bytes speak for, by the first part of each file."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from slmtok.cli.noted_kind import text_first
from slmtok.cli.output import again_with, with_force
from slmtok.corpus.contents import head_of
from slmtok.corpus.encodings import Utf8Evidence, misread_utf_8
from slmtok.corpus.kept_bytes import (
    MAX_FILES,
    MIN_CHARACTERS,
    conversion_of_others,
    evidence_of,
    fact_of_kept_bytes,
    first_heads,
    first_not_utf_8,
    in_utf_8,
    kind_first,
    remedy_without_encoding,
    shown_name,
)
from slmtok.corpus.streams import UTF_8, is_plain
from slmtok.errors import render
from slmtok.file_content import is_utf_8
from slmtok.files import free_name
from slmtok.options import CountOptions, ReadOptions, flag_of


def notes_on_encoding(files: Sequence[str], read: ReadOptions) -> list[str]:
    """Notes on files that are not UTF-8 where that is read, and on UTF-8 where another encoding is named.

    A command without --encoding gets none. Counting itself finds each byte that is not UTF-8.
    """
    context = click.get_current_context(silent=True)
    if context is None or "encoding" not in {param.name for param in context.command.params}:
        return []
    if read.encoding == UTF_8:
        if damaged := _encoded_twice(files, read) or _replaced(files, read):
            return damaged
        if isinstance(read, CountOptions):
            return []
        path = first_not_utf_8(files, read)
        if path is None:
            return []
        heads = dict(first_heads(files, read))
        found = evidence_of(heads)
        return [f"{fact_of_kept_bytes(path, read, found[path])}; {_remedy(path, heads, found, files)}"]
    if read.encoding.startswith("utf"):
        return []
    heads = dict(first_heads(files, read))
    found = evidence_of(heads)
    return [*_notes_on_utf_8(files, heads, found, read.encoding), *_notes_on_latin(heads, found, read.encoding)]


_MAX_TWICE_FILES, _TWICE_HEAD_BYTES = 8, 1 << 14
"""Files, and bytes of each, in which text that was encoded twice is looked for."""


def _encoded_twice(files: Sequence[str], read: ReadOptions) -> list[str]:
    """The note on the first file whose characters are the bytes of UTF-8, each read as a character and saved again."""
    for path in files[:_MAX_TWICE_FILES]:
        head = head_of(path, read, _TWICE_HEAD_BYTES)
        name = None if head.isascii() else misread_utf_8(head)
        if name is None:
            continue
        fact = f"{shown_name(path)} is UTF-8 that was misread as {name} and saved again"
        if not is_plain(path):
            return [f"{fact}; {with_force(f'convert it back: iconv -f UTF-8 -t {name.upper()}')}"]
        source = Path(path)
        target = shlex.quote(free_name(f"{source.stem}-clean{source.suffix}"))
        line = f"iconv -f UTF-8 -t {name.upper()} {shlex.quote(path)} > {target}"
        return [f"{fact}; {with_force(f'{line} # and name it')}"]
    return []


_REPLACEMENT, _MIN_REPLACED_SHARE = "\ufffd".encode(), 0.01
"""What stands for a character that was lost, and its share of a text from which on the text is damaged."""


def _replaced(files: Sequence[str], read: ReadOptions) -> list[str]:
    """The note on the first file in which another program put U+FFFD for many characters, which are lost."""
    for path in files[:_MAX_TWICE_FILES]:
        head = head_of(path, read, _TWICE_HEAD_BYTES)
        number = head.count(_REPLACEMENT)
        if number >= max(MIN_CHARACTERS, _MIN_REPLACED_SHARE * len(head.decode("utf-8", "ignore"))):
            fact = f"{shown_name(path)} has U+FFFD {number:,} times near its beginning, for characters that were lost"
            return [f"{fact} before; {with_force('make it again from its source, in the encoding of that')}"]
    return []


def _notes_on_utf_8(
    files: Sequence[str], heads: dict[str, bytes], found: dict[str, Utf8Evidence], encoding: str
) -> list[str]:
    """The note on files that are valid UTF-8, read in an encoding in which each of their characters is several."""
    utf_8 = in_utf_8(found)
    if not utf_8:
        return []
    several = f" and {len(utf_8) - 1:,} more files are UTF-8, and their" if len(utf_8) > 1 else " is UTF-8, and its"
    others = [path for path, each in found.items() if each.invalid]
    remedy = again_with("--encoding utf-8")
    if others:
        converted = conversion_of_others(heads, others, files)
        command = f": {with_force(f'{converted[1]} without --encoding')}" if converted else ", and leave it out"
        remedy = f"one --encoding reads all files: convert the files that are not UTF-8{command}"
    return [f"{shown_name(utf_8[0])}{several} characters beyond ASCII are misread as {encoding}; {remedy}"]


def _notes_on_latin(heads: dict[str, bytes], found: dict[str, Utf8Evidence], encoding: str) -> list[str]:
    """The note on text of another script that is read as Latin, in which its letters are accented ones.

    So of text of Windows, whose quotes and dashes are control characters in Latin-1.
    """
    from slmtok.corpus.likely_encodings import controls_of_cp1252, listed, misread_as

    for path, head in heads.items():
        if found[path].invalid and (number := controls_of_cp1252(head, encoding)):
            fact = f"{shown_name(path)} reads as words in cp1252, and near its beginning {number:,} bytes of it are"
            return [f"{fact} control characters in {encoding}; {again_with('--encoding cp1252')}"]
        if found[path].invalid and (names := misread_as(head, encoding)):
            fact = f"{shown_name(path)} reads as words in {listed(names)}, and as accented letters in {encoding}"
            return [f"{fact}; {again_with(f'--encoding {names[0]}')}"]
    return []


def encoding_meant(files: Sequence[str], read: ReadOptions) -> tuple[str, tuple[str, ...]] | None:
    """The first file that is not UTF-8, which is read, and the encodings in which all the files may be; else None."""
    if read.encoding != UTF_8:
        return None
    from slmtok.corpus.likely_encodings import likely_encodings

    heads = dict(first_heads(files, read))
    others = [path for path, head in heads.items() if not is_utf_8(head)]
    names = likely_encodings(heads[others[0]]) if others else ()
    if not names:
        return None
    for path, each in evidence_of(heads).items():
        if each.is_mixed if path in others else each.characters >= MIN_CHARACTERS:
            return None
    return shown_name(others[0]), names


def remedy_of_invalid(path: str | None, files: Sequence[str]) -> str:
    """What to do about a file of the corpus in which a byte is not UTF-8."""
    named = [] if path is None else [path, *files[:MAX_FILES]]
    heads = dict(first_heads(list(dict.fromkeys(named)), ReadOptions()))
    return _remedy(path, heads, evidence_of(heads), files)


def _remedy(path: str | None, heads: dict[str, bytes], found: dict[str, Utf8Evidence], files: Sequence[str]) -> str:
    """To name an encoding, unless what is UTF-8 in this file or in another one would be misread.

    A command that was noted before, for text of another kind than prose, may convert the file too.
    """
    if path is not None and text_first() and (first := kind_first(path, files, ReadOptions())):
        return first
    if path is not None and (remedy := remedy_without_encoding(path, heads, found, files)):
        text = render(remedy, lambda option: flag_of(option.name))
        return with_force(text) if " # and name " in text else text
    from slmtok.corpus.likely_encodings import likely_encodings, what_reads_in

    names = likely_encodings(heads.get(path or "", b""))
    first, *others = (f"--encoding {name}" for name in names or ("NAME",))
    return f"{what_reads_in(names)}{', or with '.join([again_with(first), *others])}"
