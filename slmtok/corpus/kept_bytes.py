"""Whether the first part of each file of a corpus is UTF-8, and what to do about bytes that are not, which are kept."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from slmtok.corpus.contents import head_of, kind_among
from slmtok.corpus.encodings import Utf8Evidence, utf8_evidence
from slmtok.corpus.formats import format_of
from slmtok.corpus.paths import STDIN
from slmtok.corpus.streams import UTF_8, bare_suffix, is_plain
from slmtok.corpus.text_commands import UTF_8_ELSE, decoder, rewrite
from slmtok.errors import Message, Setting
from slmtok.file_content import is_utf_8
from slmtok.files import free_name
from slmtok.options import ReadOptions

MAX_FILES = 256
_MAX_BYTES = 4 << 20
"""Of all files together: validating these takes a few milliseconds."""
_MIN_FILE_BYTES = 1 << 14
_MAX_CHARACTER_BYTES = 4
_CONTINUATION = bytes(range(0x80, 0xC0))
MIN_CHARACTERS = 4
"""Characters of UTF-8 that a text in another encoding has by chance less often, without a byte that is not UTF-8."""


def kept_bytes_note(files: Sequence[str], read: ReadOptions) -> Message | None:
    """The note on files that are read as UTF-8 and are not; None where the first part of each file is UTF-8."""
    path = first_not_utf_8(files, read) if read.encoding == UTF_8 else None
    if path is None:
        return None
    from slmtok.corpus.likely_encodings import encoding_remedy

    heads = dict(first_heads(files, read))
    found = evidence_of(heads)
    remedy = kind_first(path, files, read) or remedy_without_encoding(path, heads, found, files)
    remedy = remedy or encoding_remedy(heads[path])
    fact = fact_of_kept_bytes(path, read, found[path])
    return f"{fact}; ", *((remedy,) if isinstance(remedy, str) else remedy)


def kind_first(path: str, files: Sequence[str], read: ReadOptions) -> str | None:
    """What to do about a file that the command for its kind of text makes UTF-8 of; None for another one."""
    kind = kind_among(files, read)
    if kind is None or path not in kind.paths or not kind.kind.program or kind.kind.in_utf_8 == "":
        return None
    is_converted = encoding_of(kind.paths, read) != UTF_8
    return kind.comes_first if is_converted else None


def first_not_utf_8(files: Sequence[str], read: ReadOptions) -> str | None:
    """The first file whose first part is not UTF-8, which is known ten times as fast as what else its bytes are."""
    return next((path for path, head in first_heads(files, read) if not is_utf_8(head)), None)


def fact_of_kept_bytes(path: str, read: ReadOptions, evidence: Utf8Evidence) -> str:
    """What is said of a file that is not UTF-8."""
    kept = "" if format_of(path, read).records else ", and such bytes are kept"
    return f"{shown_name(path)} is not UTF-8 (first: byte {evidence.first_invalid:,}){kept}"


def remedy_without_encoding(
    path: str, heads: Mapping[str, bytes], found: Mapping[str, Utf8Evidence], files: Sequence[str]
) -> Message | None:
    """What to do where naming an encoding would misread what is UTF-8 in this file or in another; else None.

    files: those of the corpus, of which `heads` and `found` have the first.
    """
    misread: Message = ("which another ", Setting("encoding"), " would misread: convert ")
    if path in found and not found[path].invalid and _ends_in_character(path, heads[path]):
        return _joined(path, heads) or f"{shown_name(path)} ends in the middle of a character: fetch it again"
    if remedy := _of_cesu_8(path, heads, files):
        return remedy
    if path in found and found[path].is_mixed:
        return (
            f"{shown_name(path)} has UTF-8 as well, ",
            *misread,
            f"the part that is not{_conversion(path, heads[path])}",
        )
    utf_8 = in_utf_8(found)
    if not utf_8 or path in utf_8:
        return None
    others = [name for name, each in found.items() if each.invalid]
    if len(others) > 1 and (converted := conversion_of_others(heads, others, files)):
        name, command = converted
        groups = f"{_counted_first(others)} not UTF-8 and read as words in {name}, and {_counted_first(utf_8)} UTF-8"
        return (f"{groups}, ", *misread[:-1], f" would misread: {command}")
    return (
        f"{shown_name(utf_8[0])} is UTF-8, ",
        *misread,
        f"{shown_name(path)} to UTF-8{_whole_conversion(path, heads.get(path, b''))}",
    )


_PAIR_OF_SURROGATES = re.compile(rb"\xed[\xa0-\xaf][\x80-\xbf]\xed[\xb0-\xbf][\x80-\xbf]")
_FROM_CESU_8 = (
    'import sys; text = sys.stdin.buffer.read().decode("utf-8", "surrogatepass"); '
    'sys.stdout.buffer.write(text.encode("utf-16", "surrogatepass").decode("utf-16").encode())'
)
"""A program that joins pairs of surrogates, and keeps UTF-8 as it is."""


def _of_cesu_8(path: str, heads: Mapping[str, bytes], files: Sequence[str]) -> str | None:
    """What to do about CESU-8, as databases and Java write it: characters beyond U+FFFF are pairs of surrogates."""
    are_pairs = {each: is_utf_8(_PAIR_OF_SURROGATES.sub(b"", head)) for each, head in heads.items()}
    if not are_pairs.get(path) or not _PAIR_OF_SURROGATES.search(heads[path]):
        return None
    paths = files if all(are_pairs.values()) else [path]
    program = f"python -c {shlex.quote(_FROM_CESU_8)}"
    fact = f"{shown_name(path)} is CESU-8, which has pairs of surrogates for characters beyond U+FFFF: "
    made = rewrite(paths, paths, program, f"-utf-8{bare_suffix(path)}")
    if made is None or made.more:
        made = rewrite([path], [path], program, f"-utf-8{bare_suffix(path)}")
    return fact + (f"{made.command} # and name {made.named}" if made else f"pipe it through {program}")


def in_utf_8(found: Mapping[str, Utf8Evidence]) -> list[str]:
    """The files whose first part is UTF-8 with characters beyond ASCII, which another encoding would misread."""
    return [path for path, each in found.items() if not each.invalid and each.characters >= MIN_CHARACTERS]


def conversion_of_others(
    heads: Mapping[str, bytes], others: Sequence[str], files: Sequence[str]
) -> tuple[str, str] | None:
    """The encoding of the files that are not UTF-8, and a command that writes all files of the corpus in UTF-8.

    None where these are likely in several encodings, and where one command does not write all files.
    """
    from slmtok.corpus.likely_encodings import likely_encodings

    names = {likely_encodings(heads[path]) for path in others[:_MAX_GUESSED]}
    if len(names) != 1 or len(name := names.pop()) != 1:
        return None
    program = decoder(f"{UTF_8_ELSE}{name[0]}")
    made = rewrite(files, files, program, f"-utf-8{bare_suffix(files[0])}")
    if made is None or made.more:
        return None
    return name[0], f"{made.command} # and name {made.named}"


_MAX_GUESSED = 8
"""Files whose encoding is looked for, at some milliseconds each."""


def encoding_of(paths: Sequence[str], read: ReadOptions) -> str:
    """The encoding of files: the one that was named, or the only one in which those are likely that are not UTF-8.

    UTF-8 where there is none. Behind `UTF_8_ELSE` where other files are UTF-8.
    """
    if read.encoding != UTF_8:
        return read.encoding
    heads = dict(first_heads(paths[:_MAX_GUESSED], read))
    if all(map(is_utf_8, heads.values())):
        return UTF_8
    from slmtok.corpus.likely_encodings import likely_encodings

    evidence = evidence_of(heads)
    names = {likely_encodings(heads[path]) for path, each in evidence.items() if each.invalid}
    (name, *others), *more = names
    is_mixed = any(each.is_mixed for each in evidence.values() if each.invalid)
    if others or more or is_mixed:
        return UTF_8
    return f"{UTF_8_ELSE}{name}" if in_utf_8(evidence) else name


def _counted_first(paths: Sequence[str]) -> str:
    """Files of a group, with the name of the first, as the subject of a sentence."""
    return f"{len(paths):,} files (first: {paths[0]}) are" if len(paths) > 1 else f"{shown_name(paths[0])} is"


def _whole_conversion(path: str, head: bytes) -> str:
    """The end of a remedy with the command that converts a plain file whose encoding is likely; else ""."""
    from slmtok.corpus.likely_encodings import likely_encodings

    names = likely_encodings(head)
    if len(names) != 1 or not (is_plain(path) and os.path.isfile(path)):  # noqa: PTH113
        return ""
    target = free_name(f"{path.removesuffix(Path(path).suffix)}-utf-8{Path(path).suffix}")
    read, written = (json.dumps(name, ensure_ascii=False) for name in (path, target))
    text = f'open({read}, encoding="{names[0]}", newline=str()).read()'
    program = f'open({written}, "w", encoding="utf-8", newline=str()).write({text})'
    return (
        f", as it reads as words in {names[0]}: python -c {shlex.quote(program)} # and name {shlex.quote(target)} "
        f"in its place; in a folder --exclude {shlex.quote(Path(path).name)}"
    )


def _conversion(path: str, head: bytes) -> str:
    """The end of a remedy with the command that converts, or removes, what is not UTF-8 in a plain file; else ""."""
    from slmtok.corpus.likely_encodings import likely_encodings

    if not (is_plain(path) and os.path.isfile(path)):  # noqa: PTH113
        return ""
    source = Path(path)
    target = free_name(f"{source.stem}-clean{source.suffix}")
    lines = [line for line in head.split(b"\n") if not is_utf_8(line)]
    names = likely_encodings(b"\n".join(lines))
    if len(names) == 1:
        read, written = (json.dumps(name, ensure_ascii=False) for name in (path, target))
        program = _CONVERT.format(path=read, target=written, encoding=names[0])
        convert = f"python -c {shlex.quote(program)} # and name {shlex.quote(target)}"
        return f", as its lines read as words in {names[0]}: {convert}"
    remove = f"iconv -f UTF-8 -t UTF-8 -c {shlex.quote(path)} > {shlex.quote(target)}"
    return f", or remove it: {remove} # and name {shlex.quote(target)}"


_CONVERT = (
    'import codecs; codecs.register_error("rest", lambda at: (at.object[at.start:].decode("{encoding}"), '
    'len(at.object))); lines = (line.decode("utf-8", "rest") for line in open({path}, "rb")); '
    'open({target}, "w", encoding="utf-8", newline=str()).writelines(lines)'
)
"""A program that reads a line from its first byte on that is not UTF-8 in another encoding."""


def _ends_in_character(path: str, head: bytes) -> bool:
    """Whether the last character of a file is not whole; of a compressed one, where its head is all of it."""
    end = b"" if path == STDIN else _end_of(path, head)
    return is_utf_8(end) and not is_utf_8(end, is_whole=True)


def _end_of(path: str, head: bytes) -> bytes:
    """The last bytes of a file, from the beginning of a character on; of a compressed one those of its head."""
    end = head
    if is_plain(path) and os.path.isfile(path):  # noqa: PTH113
        with open(path, "rb") as file:  # noqa: PTH123
            file.seek(-min(os.fstat(file.fileno()).st_size, _MAX_CHARACTER_BYTES), os.SEEK_END)
            end = file.read()
    # A byte that continues a character may stand at the beginning.
    return end.lstrip(_CONTINUATION)


_PIECE = re.compile(r"[a-z]{2,}\Z|[0-9]{2,}\Z")
"""How the name of a piece ends that `split` writes; it numbers them by as many letters, or digits."""
_MAX_PIECES = 8
"""Pieces up to which a command names each."""


def _joined(path: str, heads: Mapping[str, bytes]) -> str | None:
    """The command that joins the pieces of a file, where the next piece continues the last character of this one."""
    for width in (2, 3):
        base, mark = path[:-width], path[-width:]
        if not _PIECE.fullmatch(mark):
            continue
        pieces = sorted(each for each in heads if each[:-width] == base and _PIECE.fullmatch(each[-width:]))
        following = next((each for each in pieces if each > path), None)
        begin = heads[following][:_MAX_CHARACTER_BYTES] if following is not None and is_plain(path) else b""
        rest = begin[: len(begin) - len(begin.lstrip(_CONTINUATION))]
        if rest and is_utf_8(_end_of(path, heads[path]) + rest, is_whole=True):
            kind = "[a-z]" if mark.isalpha() else "[0-9]"
            named = shlex.join(pieces) if len(pieces) <= _MAX_PIECES else shlex.quote(base) + kind * width
            whole = base.rstrip("._-") or "joined"
            target = shlex.quote(free_name(whole if Path(whole).suffix else f"{whole}.txt"))
            return f"{following} continues the last character of {path}: cat {named} > {target} # and name {target}"
    return None


def evidence_of(heads: Mapping[str, bytes]) -> dict[str, Utf8Evidence]:
    """What the first part of each file holds beyond ASCII."""
    return {path: utf8_evidence(head) for path, head in heads.items()}


def first_heads(files: Sequence[str], read: ReadOptions) -> Iterator[tuple[str, bytes]]:
    """The first files, each with its first bytes."""
    chosen = files[:MAX_FILES]
    size = max(_MAX_BYTES // max(len(chosen), 1), _MIN_FILE_BYTES)
    return ((path, head_of(path, read, size)) for path in chosen)


def shown_name(path: str) -> str:
    """The name of a file in a message."""
    return "stdin" if path == STDIN else path
