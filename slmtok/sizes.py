"""Sizes as text: `20MB` is 20 million bytes, `1GiB` and `1Gi` are 2^30, `1e5` is 100,000."""

from __future__ import annotations

import re

_UNITS = {"": 1, "b": 1}
for _power, _letter in enumerate("kmgt", start=1):
    _UNITS |= dict.fromkeys((_letter, f"{_letter}b"), 1000**_power)
    _UNITS |= dict.fromkeys((f"{_letter}i", f"{_letter}ib"), 1024**_power)

_SIZE = re.compile(r"(\d{1,400})(?:\.(\d{1,30}))?(?:[eE]\+?(\d{1,2}))?\s*([a-zA-Z]*)", re.ASCII)


_GROUPED = re.compile(r"\s*\d{1,3}(,\d{3})+(?![\d,])", re.ASCII)
"""`1,024` is a number, `1,2` and `4096,8192` are two."""
_POINTED = re.compile(r"([1-9]\d{0,2})((?:\.\d{3})+)", re.ASCII)
"""A number with points between thousands, as much of Europe writes it."""


def pointed_numbers(text: str) -> list[int]:
    """The numbers that `1.000` may mean, 1000 and 1; the only one for `1.500`, and none for other text."""
    found = _POINTED.fullmatch(text)
    if found is None:
        return []
    return [int(text.replace(".", "")), *([int(found[1])] if found[2] == ".000" else [])]


def parse_size(text: str) -> int | None:
    """Bytes: `5000`, `100,000`, `1e5`, `20MB`, `1.5 GiB`; None for others: `2.5` and `1.000` lack a unit."""
    grouped = text.replace(",", "") if _GROUPED.match(text) else text
    match = _SIZE.fullmatch(grouped.replace("_", "").strip())
    unit = match and _UNITS.get(match[4].lower())
    if not match or not unit:
        return None
    fraction = match[2] or ""
    size, rest = divmod(int(match[1] + fraction) * 10 ** int(match[3] or 0) * unit, 10 ** len(fraction))
    return None if unit == 1 and (rest or pointed_numbers(text.strip())) else size


def format_bytes(number: int) -> str:
    """A size in the unit that fits: 345 bytes, 20.0 MB."""
    if number < 1000:
        return f"{number} bytes"
    power = next((power for power in (1, 2, 3) if number < 999.95 * 1000**power), 4)
    return f"{number / 1000**power:.1f} {('kB', 'MB', 'GB', 'TB')[power - 1]}"


def counted(number: int, word: str) -> str:
    """`1 document`, `2 documents`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"
