"""Numbers as people write them on a command line, and as they like to read them."""

from __future__ import annotations

import re

from slmtok.sizes import in_bytes, parse_size

__all__ = ["counted", "grouped", "in_bytes", "in_time", "memory", "size", "whole"]

_THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+", re.ASCII)


def whole(value: object) -> int:
    """A whole number from 0 up; `8_192` and `8,192` are fine, `4096,8192` is two. Raises typer.BadParameter."""
    text = str(value)
    try:
        number = int(text.replace(",", "") if _THOUSANDS.fullmatch(text) else text)
    except ValueError:
        number = -1
    if number < 0:
        raise _bad(f"takes a whole number from 0 up, not {str(value)!r}")
    return number


def size(value: object) -> int:
    """Bytes: `5000`, `20MB` (10^6), `1GiB` (2^30). Raises typer.BadParameter."""
    number = parse_size(str(value))
    if number is None:
        raise _bad(f"takes a size such as 5000, 20MB or 1GiB, not {str(value)!r}")
    return number


def memory(value: object) -> str:
    """A size, or a part of what is free such as `50%`, as it was given. Raises typer.BadParameter."""
    text = str(value)
    if not text.strip().endswith("%"):
        size(text)
    return text


def _bad(message: str) -> Exception:
    import typer

    return typer.BadParameter(message)


def grouped(number: int) -> str:
    """12,345,678."""
    return f"{number:,}"


def counted(number: int, word: str) -> str:
    """`1 document`, `2 documents`."""
    return f"{grouped(number)} {word}{'' if number == 1 else 's'}"


def in_time(seconds: float) -> str:
    """0.42 s, 12.3 s, 3 min 20 s."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"
