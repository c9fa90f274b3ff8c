"""Numbers with units, read and written: counts (`328M`, `1e15`), sizes (`2GB`), times (`130s`, `2h`); rounding up.

Counts and sizes are decimal (k, M, G, B for 10^9, T); with `i` they are binary (`1GiB` is 2^30). Times without a unit
are seconds. `Z95` is the half-width of 95 % intervals, `MAX_SEQ_LEN` the limit of all lengths of sequences.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

MAX_SEQ_LEN = 1 << 20
"""Positions: the limit of `seq_len`. Rotary tables and masks of longer sequences would fill the memory."""
Z95 = 1.959963984540054
"""Standard deviations on either side of its mean within which 95 % of a normal distribution lie."""
_DECIMAL = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9, "t": 10**12, "p": 10**15, "e": 10**18}
_SIZES = {
    **{unit: factor for unit, factor in _DECIMAL.items() if unit != "b"},
    "b": 1,
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgt", 1)},
    **{f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", 1)},
}
_TIMES = {"": 1.0, "s": 1.0, "sec": 1.0, "ms": 0.001, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_NUMBER = re.compile(r"(\d{1,400}(?:\.\d*)?(?:e[+-]?\d+)?)\s*([a-z]*)", re.ASCII)

_RANGE = re.compile(r"\s*(\d+)(k?)%?\s*(?:-|:|\.\.)\s*(\d+)(k?)%?\s*", re.ASCII | re.IGNORECASE)
_POINTED = re.compile(r"([1-9]\d{0,2})((?:\.\d{3})+)", re.ASCII)
"""A number with points between thousands, as much of Europe writes it."""
_THOUSANDS = re.compile(r"^\s*\d{1,3}(,\d{3})+(?![\d,])", re.ASCII)


def ceil_div(number: int, divisor: int) -> int:
    """The quotient, rounded up."""
    return -(-number // divisor)


def round_up(number: int, multiple: int) -> int:
    """The next multiple from `number` up."""
    return ceil_div(number, multiple) * multiple


def listed(text: str, *, k: int = 1000) -> str:
    """The list `1,2,4` that `1 2 4` or the range `1-4` means, which is doubled from its start; from 0 it is halved."""
    found = _RANGE.fullmatch(text)
    if found is None:
        return ",".join(text.replace(",", " ").split())
    low, high = (int(found[at]) * (k if found[at + 1] else 1) for at in (1, 3))
    numbers = [low << power for power in range(high.bit_length()) if 0 < low << power < high] or [low, high // 2]
    return ",".join(f"{number}{'%' * ('%' in text)}" for number in dict.fromkeys([*numbers, high]))


def counted(number: int, word: str) -> str:
    """`1 document`, `2,000 documents`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def pointed_numbers(text: str) -> list[int]:
    """The numbers that `1.000` may mean, 1000 and 1; the only one for `1.500`, and none for other text."""
    found = _POINTED.fullmatch(text)
    if found is None:
        return []
    return [int(text.replace(".", "")), *([int(found[1])] if found[2] == ".000" else [])]


def parse_count(text: str) -> int | None:
    """A count: `328M`, `1.6B`, `4k`, `1e15`; None for anything else, such as `1.5` and `1.000`."""
    number = None if pointed_numbers(text.strip()) else _parse(text, _DECIMAL)
    return None if number is None or abs(number - round(number)) > 1e-6 else round(number)


def parse_size(text: str) -> int | None:
    """Bytes: `5000`, `20MB` (10^6), `1.5GiB` (2^30); None for anything else."""
    number = None if pointed_numbers(text.strip()) else _parse(text, _SIZES)
    return None if number is None else round(number)


def parse_time(text: str) -> float | None:
    """Seconds: `130s`, `5min`, `2h`, `90`; None for anything else."""
    return _parse(text, _TIMES)


def parse_share(text: str) -> float | None:
    """A share: `5%`, `0.05`; None for anything else."""
    number, percent, rest = text.strip().partition("%")
    try:
        return None if rest else float(number) / (100 if percent else 1)
    except ValueError:
        return None


def _parse(text: str, units: Mapping[str, float]) -> float | None:
    """A number times its unit; whole numbers of whole units are exact."""
    # `1,2,3` is several numbers, `1,024` is one.
    grouped = text.replace(",", "") if _THOUSANDS.search(text) else text
    match = _NUMBER.fullmatch(grouped.replace("_", "").strip().lower())
    if match is None or match[2] not in units:
        return None
    number = int(match[1]) if match[1].isdigit() else float(match[1])
    return None if number == math.inf else number * units[match[2]]


def format_count(number: float) -> str:
    """A count in the largest unit it reaches: 935,296, 15.7 M, 1.60 B."""
    for unit, factor in (("T", 10**12), ("B", 10**9), ("M", 10**6)):
        if number >= factor:
            value = number / factor
            return f"{value:.{2 if value < 10 else 1}f} {unit}"
    return f"{number:,.0f}"


def format_bytes(number: float) -> str:
    """A size in the largest unit it reaches: 345 bytes, 20.0 MB."""
    if number < 1000:
        return f"{number:.0f} bytes"
    power = next((power for power in (1, 2, 3) if number < 999.95 * 1000**power), 4)
    return f"{number / 1000**power:.1f} {('kB', 'MB', 'GB', 'TB')[power - 1]}"


def format_clock(seconds: float) -> str:
    """0:07, 12:30, 1:02:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def format_time(seconds: float) -> str:
    """0.42 s, 12.3 s, 3 min 20 s, 2 h 05 min."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 100:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"
