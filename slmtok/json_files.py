"""Reading JSON files that slmtok wrote: regular files of a bounded size whose every value a schema allows.

Nothing in such a file is trusted. A refusal names the file, the field, its value and what belongs there.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from slmtok.errors import CorruptFile, Message, SlmtokError
from slmtok.file_kinds import kind_of_file, wrong_kind
from slmtok.files import MAX_FILE_BYTES, missing_input, read_at_most, unreadable
from slmtok.schema import Check
from slmtok.strict_json import FaultError, parse_object

MAX_DEPTH = 8
Parsed = TypeVar("Parsed")


def read_bounded(path: Path, kind: str) -> bytes:
    """The bytes of a regular file of `kind`, a key of `MAX_FILE_BYTES`. Raises `FaultError`, `OSError`."""
    limit = MAX_FILE_BYTES[kind]
    with open(path, "rb", opener=_open_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise FaultError("it is not a regular file")
        data = read_at_most(file, limit + 1)
    if len(data) > limit:
        raise FaultError(f"it has more than {limit:,} bytes, the limit of a {kind}")
    return data


def parse(data: bytes, check: Check, *, max_depth: int = MAX_DEPTH, allow_floats: bool = True) -> dict[str, Any]:
    """The JSON object in `data`, which `check` allows. Raises `FaultError`."""
    content = parse_object(data, max_depth, allow_floats=allow_floats)
    check(content, "")
    return content


def load(path: str | os.PathLike[str], kind: str, parse: Callable[[bytes], Parsed], *, fix: Message) -> Parsed:
    """What `parse` makes of a file of `kind`. Raises `CorruptFile` with `fix`, `MissingInput`, `Unreadable`."""
    name = os.fspath(path)
    try:
        return parse(read_bounded(Path(name), kind))
    except FaultError as fault:
        raise corrupt(name, kind, fault, fix) from None
    except SlmtokError:
        raise
    except FileNotFoundError:
        raise missing_input(name) from None
    except OSError as error:
        raise unreadable(name, error) from error


def corrupt(name: str, kind: str, fault: object, fix: Message) -> CorruptFile:
    """The error for a file of `kind` with a fault in its content, or for a file of another kind."""
    found, suffix = kind_of_file(name), ".lock" if kind == "lock" else ".json"
    if found != f"slmtok-{kind.removesuffix('.json')}" and (error := wrong_kind(name, found, kind, suffix)):
        return error
    return CorruptFile(f"{name} is not a valid {kind}: {fault}", where=name, fix=fix, path=name)


def _open_without_waiting(path: str, flags: int) -> int:
    """Opening a FIFO would wait for a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
