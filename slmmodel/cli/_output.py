"""What a command hands back, and how it reaches the person or the program that asked.

Data and results go to stdout, everything else to stderr. With `--json` the result is one object, the envelope, also
when the command fails. Errors are printed in the house style: fact, where, limit, fix.
"""

from __future__ import annotations

import errno
import json
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

from slmmodel.errors import DiskFull, SlmmodelError, Unreadable

DONE, FAILED, USAGE, ANSWER_NO, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 130, 143
"""Exit statuses."""

_CONTROL = {code: f"\\x{code:02x}" for code in (*range(32), 127) if chr(code) not in "\n\t"}


@dataclass(frozen=True)
class Outcome:
    """What a command found out. `show` prints it for people; `result` is what `--json` prints instead."""

    result: Mapping[str, object]
    show: Callable[[], None] | None = None
    code: int = DONE
    warnings: tuple[str, ...] = ()


def envelope(
    command: str,
    *,
    result: Mapping[str, object] | None,
    warnings: Sequence[str] = (),
    error: SlmmodelError | None = None,
    ok: bool = True,
) -> str:
    """The one object of `--json`. `ok` is false for a failure and for a check whose answer is no."""
    from slmmodel.versions import versions

    content: dict[str, object] = {
        "schema": f"slm.{command}/1",
        "ok": ok and error is None,
        "result": None if result is None else _sayable(result),
    }
    if error is not None:
        content["error"] = error.to_dict()
    content["warnings"] = list(warnings)
    content["versions"] = versions()
    return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"


def _sayable(value: object) -> object:
    """The same value where JSON can hold it: infinities and NaN are null, for which JSON has no other word."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _sayable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_sayable(item) for item in value]
    return value


def colour(stream: TextIO) -> bool:
    """Whether to paint: on a terminal that understands it, unless NO_COLOR is set."""
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def printable(text: str) -> str:
    """Text whose control characters cannot move a terminal's cursor: they are spelled out."""
    return text.translate(_CONTROL)


def print_error(error: SlmmodelError) -> None:
    """The error on stderr in the house style, its first word red on a terminal."""
    text = printable(f"error: {error}") + "\n"
    if colour(sys.stderr):
        text = "\x1b[1;31merror:\x1b[0m" + text.removeprefix("error:")
    sys.stderr.write(text)
    sys.stderr.flush()


def stdout_failed(error: OSError) -> SlmmodelError:
    """The error for what could not be written to stdout."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(
            "no space left while writing to stdout", where="stdout", fix="free some space, or write to another disk"
        )
    return Unreadable(
        f"cannot write to stdout: {error.strerror or error}",
        where="stdout",
        fix="send stdout to a file or to another program, or to /dev/null",
    )


def note(text: str) -> None:
    """One remark on stderr."""
    sys.stderr.write(printable(f"note: {text}") + "\n")
    sys.stderr.flush()


def write_bytes(data: bytes) -> None:
    """Data on stdout, exactly these bytes."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)


def write_text(text: str) -> None:
    """Text on stdout as UTF-8, whatever the locale says."""
    write_bytes(text.encode("utf-8", "backslashreplace"))
