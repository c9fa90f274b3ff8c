"""Numbers as people write them on a command line, and as they like to read them."""

from __future__ import annotations

import re

_UNITS = {"": 1, "b": 1}
for _power, _letter in enumerate("kmgt", start=1):
    _UNITS |= {_letter: 1000**_power, f"{_letter}b": 1000**_power, f"{_letter}ib": 1024**_power}

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-zA-Z]*)")


def whole(value: object) -> int:
    """A whole number from 0 up; `8_192` and `8,192` are fine. Raises typer.BadParameter."""
    try:
        number = int(str(value).replace(",", "_"))
    except ValueError:
        number = -1
    if number < 0:
        raise _bad(f"takes a whole number from 0 up, not {str(value)!r}")
    return number


def size(value: object) -> int:
    """Bytes: `5000`, `20MB` (10^6), `1GiB` (2^30). Raises typer.BadParameter."""
    match = _SIZE.fullmatch(str(value).replace("_", "").strip())
    unit = match and _UNITS.get(match[2].lower())
    if not match or not unit:
        raise _bad(f"takes a size such as 5000, 20MB or 1GiB, not {str(value)!r}")
    number, _, fraction = match[1].partition(".")
    return int(number) * unit + (int(fraction) * unit // 10 ** len(fraction) if fraction else 0)


def _bad(message: str) -> Exception:
    import typer

    return typer.BadParameter(message)


def grouped(number: int) -> str:
    """12,345,678."""
    return f"{number:,}"


def in_bytes(number: int) -> str:
    """A size in the unit that fits: 345 bytes, 20.0 MB."""
    if number < 1000:
        return f"{number} bytes"
    power = next((power for power in (1, 2, 3) if number < 999.95 * 1000**power), 4)
    return f"{number / 1000**power:.1f} {('kB', 'MB', 'GB', 'TB')[power - 1]}"


def in_time(seconds: float) -> str:
    """0.42 s, 12.3 s, 3 min 20 s."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"
