"""The remedy for a tokenizer file that was edited by hand: the command that makes the change, or restores the file.

A file carries the sha256 of its bytes, so the original is known where it lies beside, or where the edited lines can be
undone: its digest proves it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from slmtok.errors import SlmtokError
from slmtok.files import MAX_FILE_BYTES, free_name, read_file
from slmtok.specials import Specials, SpecialToken, default_specials

_SHA256 = re.compile(rb'"sha256":\s*"([0-9a-f]{64})"\s*\}\s*$')
_DIGITS = 64
_MAX_TAIL_BYTES = 128
"""Bytes at the end of a file, formatted anew or not, that hold its sha256."""
_END = b'"}\n'
_SPECIAL = re.compile(rb'\{"id":(\d+),"role":[^\n]*\}(?=\]?,\n)')
"""The line of a special token."""
_COVERED = ("specials", "fingerprint", "sha256")
"""Keys that a change of special tokens changes."""


def editor_marks(data: bytes) -> str | None:
    """What an editor or git put into a tokenizer file, which is sound without it; None for another one."""
    plain = _without_marks(data)
    found = _SHA256.search(plain[-_MAX_TAIL_BYTES:])
    if plain == data or found is None or not _has_digest(plain, found[1].decode()):
        return None
    marks = ["it begins with a byte order mark"] * data.startswith(BOM_UTF8)
    marks += ["its lines end with CR LF, as git writes them with core.autocrlf"] * (b"\r\n" in data)
    return ", and ".join(marks)


def unmarked_fix(source: str) -> str:
    """The command that writes a file again, without the marks of an editor."""
    name = json.dumps(source, ensure_ascii=False)
    plain = r'p.read_bytes().removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")'
    return f"python -c {shlex.quote(f'import pathlib; p = pathlib.Path({name}); p.write_bytes({plain})')}"


def _without_marks(data: bytes) -> bytes:
    return data.removeprefix(BOM_UTF8).replace(b"\r\n", b"\n")


def edited_fix(data: bytes, source: str) -> str | None:
    """The remedy for the content of a tokenizer file that does not have its sha256; None where no original is known."""
    found = _SHA256.search(data[-_MAX_TAIL_BYTES:])
    if found is None or not os.path.isfile(source):  # noqa: PTH113
        return None
    stored = found[1].decode()
    if _has_digest(data, stored):
        # Written like this: no edit broke it.
        return None
    beside = _beside(source, stored)
    original = beside or free_name(f"{os.path.splitext(source)[0]}-original.json")  # noqa: PTH122
    before, script = (_content(beside), "") if beside else next(_undone(data, stored), (None, ""))
    if before is None:
        return None
    undo = f"sed {shlex.quote(script)} {shlex.quote(source)} > {shlex.quote(original)} && " if script else ""
    with suppress(SlmtokError, ValueError, TypeError, KeyError):
        pairs = _changed_specials(json.loads(before), json.loads(data))
        words = [f"{role}={text}" for role, text in pairs.items()]
        return undo + shlex.join(["slmtok", "set-special", original, *words, "-o", source, "--force"])
    return None if undo else shlex.join(["cp", original, source])


def _content(path: str) -> bytes | None:
    try:
        return read_file(path, MAX_FILE_BYTES["tokenizer file"])
    except SlmtokError:
        return None


def _has_digest(data: bytes, stored: str) -> bool:
    head = data[: -_DIGITS - len('"sha256":""}\n')]
    return data[len(head) :] == f'"sha256":"{stored}"}}\n'.encode() and hashlib.sha256(head).hexdigest() == stored


def _beside(source: str, stored: str) -> str | None:
    """The file in the same folder that has this sha256, whole; None without one."""
    for path in sorted(Path(source).parent.glob("*.json")):
        with suppress(OSError), path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - _DIGITS - len(_END)))
            is_named = path.is_file() and file.read() == stored.encode() + _END
            if is_named and _has_digest(_content(str(path)) or b"", stored):
                return str(path)
    return None


def _undone(data: bytes, stored: str) -> Iterator[tuple[bytes, str]]:
    """The content with standard special tokens in the place of one or all others, where it has this sha256 then.

    And the script of sed that replaces them.
    """
    standard = {token.id: token for token in default_specials().tokens}
    lines = [(each.span(), standard.get(int(each[1]))) for each in _SPECIAL.finditer(data)]
    edited = [(*span, _line(token)) for span, token in lines if token and data[slice(*span)] != _line(token)]
    for changes in (edited, *([each] for each in edited)):
        before, script = data, []
        for start, end, line in reversed(changes):
            before = before[:start] + line + before[end:]
            number = data.count(b"\n", 0, start) + 1
            script.append(f"{number}s#{{.*}}#{line.decode()}#")
        if _has_digest(before, stored):
            yield before, ";".join(script)


def _line(token: SpecialToken) -> bytes:
    content = {"id": token.id, "role": token.role, "text": token.text}
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def _changed_specials(before: dict[str, Any], after: dict[str, Any]) -> dict[str, str]:
    """Role to spelling of what was changed.

    Raises `ValueError` where other keys differ, or no call makes the change, and what specials raise.
    """
    if any(before.get(key) != after.get(key) for key in {*before, *after} - {*_COVERED}):
        raise ValueError
    old = {each["id"]: each for each in before["specials"]}
    pairs = {each["role"]: each["text"] for each in after["specials"] if each != old[each["id"]]}
    wanted = Specials(SpecialToken(**each) for each in after["specials"])
    named = Specials(SpecialToken(**each) for each in before["specials"]).respelled(pairs)
    if not pairs or named != wanted:
        raise ValueError
    return pairs
