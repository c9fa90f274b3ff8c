"""What a command hands back, and how it reaches the person or the program that asked.

Data and results go to stdout, everything else to stderr. With `--json` the result is one object, the envelope, also
when the command fails. Errors are printed in the house style: fact, where, limit, fix.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

from slmtok.errors import DiskFull, SlmtokError, Unreadable

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
    error: SlmtokError | None = None,
    ok: bool = True,
) -> str:
    """The one object of `--json`. `ok` is false for a failure and for a check whose answer is no."""
    from slmtok import __version__
    from slmtok._engine import UNICODE_VERSION
    from slmtok.vocabulary import BEHAVIOUR

    content: dict[str, object] = {"schema": f"slmtok.{command}/1", "ok": ok and error is None, "result": result}
    if error is not None:
        content["error"] = error.to_dict()
    content["warnings"] = list(warnings)
    content["versions"] = {
        "slmtok": __version__,
        "behaviour": BEHAVIOUR,
        "unicode": UNICODE_VERSION,
        "python": ".".join(map(str, sys.version_info[:3])),
    }
    return json.dumps(content, ensure_ascii=False) + "\n"


def colour(stream: TextIO) -> bool:
    """Whether to paint: on a terminal that understands it, unless NO_COLOR is set."""
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def printable(text: str) -> str:
    """Text whose control characters cannot move a terminal's cursor: they are spelled out."""
    return text.translate(_CONTROL)


def error_text(error: SlmtokError) -> str:
    """An error in the house style, with its final newline."""
    return printable(f"error: {error}") + "\n"


def print_error(error: SlmtokError) -> None:
    """The error on stderr, its first word red on a terminal."""
    text = error_text(error)
    if colour(sys.stderr):
        text = "\x1b[1;31merror:\x1b[0m" + text.removeprefix("error:")
    sys.stderr.write(text)
    sys.stderr.flush()


def stdout_failed(error: OSError) -> SlmtokError:
    """The error for what could not be written to stdout."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(
            "no space left while writing to stdout", where="stdout", fix="free some space, or write to another disk"
        )
    return Unreadable(
        f"cannot write to stdout: {error.strerror or error}",
        where="stdout",
        fix="send stdout to a file or to another program, or to /dev/null",
        os_error=error.errno,
    )


def note(text: str) -> None:
    """One remark on stderr."""
    sys.stderr.write(printable(f"note: {text}") + "\n")


def write_bytes(data: bytes) -> None:
    """Data on stdout, exactly these bytes."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)


def write_text(text: str) -> None:
    """Text on stdout as UTF-8, whatever the locale says."""
    write_bytes(text.encode("utf-8", "backslashreplace"))
