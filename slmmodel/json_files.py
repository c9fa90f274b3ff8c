"""Reading JSON files of unknown origin: regular files of a bounded size, unique keys, and values of one pydantic model.

A `FaultError` has a text that continues a sentence that begins with the name of the file; a refusal by `load` or
`validated` names file, field and limit.
"""

from __future__ import annotations

import json
import math
import os
import stat
from codecs import BOM_UTF8
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from slmmodel.errors import CorruptFile, UnsupportedFormat, first_fault

MAX_JSON_BYTES = 256 << 20
MAX_DEPTH = 32

Count = Annotated[int, Field(ge=0, lt=1 << 63)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Strict(BaseModel):
    """A table with exactly these keys, whose values are not converted."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class Open(BaseModel):
    """As `Strict`, but other keys are allowed."""

    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)


def exactly(number: int) -> AfterValidator:
    """An integer field that has one value, such as a version; true is not 1."""

    def check(value: int) -> int:
        if value != number:
            raise ValueError(str(number))
        return value

    return AfterValidator(check)


Kind = TypeVar("Kind", bound=BaseModel)


class FaultError(ValueError):
    """A fault in the content of a file, in this line and column where they are known, both from 1."""

    def __init__(self, text: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(text)
        self.line, self.column = line, column

    def place_in(self, path: Path | str) -> str:
        """The file, with the line and the column."""
        places = (("line", self.line), ("column", self.column))
        return str(path) + "".join(f", {name} {number}" for name, number in places if number is not None)


def read_bounded(path: Path, max_bytes: int = MAX_JSON_BYTES) -> bytes:
    """The bytes of a regular file. Raises `OSError`, and `FaultError` for a pipe, a device, or a larger file."""
    with open(path, "rb", opener=_open_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise FaultError("is not a regular file")
        # In parts, since one large read takes memory for the limit.
        parts, left = list[bytes](), max_bytes + 1
        while left > 0 and (part := file.read(min(left, 1 << 20))):
            parts.append(part)
            left -= len(part)
    data = b"".join(parts)
    if len(data) > max_bytes:
        raise FaultError(f"has more than {max_bytes:,} bytes")
    return data


def parse_object(data: bytes) -> dict[str, Any]:
    """The JSON object in `data`. Raises `FaultError`."""
    if not data:
        raise FaultError("is empty")
    if data.startswith(BOM_UTF8):
        raise FaultError("begins with a byte order mark")
    try:
        # Of bytes, `json` would take UTF-16 and UTF-32 as well.
        found = _DECODER.decode(data.decode("utf-8"))
    except RecursionError:
        raise FaultError(f"nests more than {MAX_DEPTH} deep") from None
    except FaultError:
        raise
    except ValueError as error:
        raise FaultError(f"is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise FaultError("is not a JSON object")
    _check_values(found)
    return found


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file. Raises what `read_bounded` and `parse_object` raise."""
    return parse_object(read_bounded(path))


def load(path: Path, kind: type[Kind], *, fix: str = "restore the file") -> Kind:
    """A JSON file as a model. Raises `CorruptFile`, and `UnsupportedFormat` for another version."""
    try:
        table = read_object(path)
    except OSError as error:
        raise _corrupt(path, f"cannot be read ({error.strerror})", fix) from None
    except FaultError as fault:
        raise _corrupt(path, str(fault), fix) from None
    return validated(table, kind, path, fix=fix)


def validated(table: object, kind: type[Kind], path: Path | str, *, fix: str = "restore the file") -> Kind:
    """A parsed table as a model; `path` is that of its file. Raises as `load`."""
    try:
        return kind.model_validate(table)
    except ValidationError as error:
        name, value, limit = first_fault(error)
        path = Path(path)
        if name == "version" and type(value) is int:
            raise UnsupportedFormat(
                f"{path.name} has version {value!r:.40}",
                where=str(path),
                limit=f"this package reads version {limit}",
                fix="update slmtok, or write the file again",
                path=str(path),
            ) from None
        kind_of_fault = error.errors()[0]["type"]
        if kind_of_fault in _KEY_FAULTS:
            raise _corrupt(path, f"{_KEY_FAULTS[kind_of_fault]} {name[:80]!r}", fix) from None
        fact = f"has {name[:80]} {value!r:.40}" if name else "contradicts itself"
        raise _corrupt(path, fact, fix, limit) from None


_KEY_FAULTS = {"missing": "lacks the key", "extra_forbidden": "has the unknown key"}


def _corrupt(path: Path, fact: str, fix: str, limit: str | None = None) -> CorruptFile:
    return CorruptFile(f"{path.name} {fact}", where=str(path), limit=limit, fix=fix, path=str(path))


def _open_without_waiting(path: str, flags: int) -> int:
    """Opening a FIFO would wait for a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _check_values(found: dict[str, Any]) -> None:
    """Raises `FaultError` for values that JSON cannot hold, half surrogate pairs and deep nesting, naming the key."""
    level: list[tuple[str, Any]] = list(found.items())
    for _ in range(MAX_DEPTH):
        if not level:
            return
        for name, value in level:
            _check_value(name, value)
        level = [
            (str(key) if isinstance(value, dict) else name, inner)
            for name, value in level
            if isinstance(value, (dict, list))
            for key, inner in (value.items() if isinstance(value, dict) else enumerate(_unlike(value)))
        ]
    if level:
        raise FaultError(f"has {level[0][0][:40]!r} nested more than {MAX_DEPTH} deep")


def _unlike(values: list[Any]) -> list[Any]:
    """A list without what needs no check: of integers the first, which stands for their depth."""
    return values[:1] if {*map(type, values)} == {int} else values


def _check_value(name: str, value: object) -> None:
    if not name.isascii() or (isinstance(value, str) and not value.isascii()):
        try:
            f"{name}{value}".encode()
        except UnicodeEncodeError:
            raise FaultError(f"has {name[:40]!r} with half of a surrogate pair") from None
    if isinstance(value, float) and not math.isfinite(value):
        raise FaultError(f"has {name[:40]} {value}, which is not a number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in pairs:
        if key in table:
            raise FaultError(f"has the key {key!r:.40} twice in one object")
        table[key] = value
    return table


_DECODER = json.JSONDecoder(object_pairs_hook=_unique)
"""One for all lines of a file: `json.loads` with a hook makes one a call, which takes as long as a short line."""
