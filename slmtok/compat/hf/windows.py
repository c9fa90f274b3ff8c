"""Which parts of a text, or of a pair of texts, become rows when they are cut to a length: `tokenizers`' rules.

The first row is what truncation keeps; the others are what it would lose, each overlapping the one before by `stride`.
Lengths are in ids, specials already taken off. Pure arithmetic: nothing here sees an id.
"""

from __future__ import annotations

from typing import TypeAlias

from slmtok.errors import InvalidOption

Span: TypeAlias = tuple[int, int]
"""Start and stop in the ids of a text."""
Window: TypeAlias = tuple[Span, Span | None]
"""The part of the first text and, in a pair, that of the second."""


def check_stride(stride: int, size: int) -> None:
    """Raises `InvalidOption` unless rows of `size` ids can overlap by `stride`."""
    if stride >= size:
        raise InvalidOption(
            f"stride={stride} leaves no step between rows of {size} ids",
            limit=f"below {size}, what max_length leaves beside specials",
            fix=f"stride={size // 2}",
            option="stride",
        )


def spans(length: int, size: int, stride: int, side: str) -> list[Span]:
    """The parts of a text of `length` ids in rows of `size`, the kept one first. Raises `InvalidOption`."""
    if size >= length:
        return [(0, length)]
    if size == 0:
        return [(0, 0), (0, length)]
    check_stride(stride, size)
    found: list[Span] = []
    for step in range(0, length, size - stride):
        if side == "right":
            span = (step, min(step + size, length))
            last = span[1] == length
        else:
            span = (max(length - step - size, 0), length - step)
            last = span[0] == 0
        found.append(span)
        if last:
            break
    return found


def windows(
    first: int, second: int | None, *, room: int, strategy: str, stride: int = 0, side: str = "right"
) -> list[Window]:
    """The rows of a text of `first` ids, or of a pair, cut to `room` ids together, one or more.

    Raises `InvalidOption` where the text that is to be cut is too short for it, or the stride too long.
    """
    excess = first + (second or 0) - room
    if excess <= 0:
        return [((0, first), None if second is None else (0, second))]
    keep_first, keep_second = _kept(first, second, room, excess, strategy)
    parts = spans(first, keep_first, stride, side)
    if second is None or keep_second is None:
        return [(part, None) for part in parts]
    others = spans(second, keep_second, stride, side)
    rows: list[Window] = [(parts[0], others[0])]
    rows.extend((part, other) for part in parts[1:] for other in others)
    rows.extend((parts[0], other) for other in others[1:])
    return rows


def _kept(first: int, second: int | None, room: int, excess: int, strategy: str) -> tuple[int, int | None]:
    """How many ids of each text stay in the first row."""
    if strategy == "longest_first":
        return (room, None) if second is None else _longest_first(first, second, room)
    cut_first = strategy == "only_first"
    length = first if cut_first else second
    if length is None:
        raise InvalidOption(
            "truncation='only_second' cuts the second text, and there is none",
            limit="pairs of texts",
            fix="truncation=True, or give text_pair=",
            option="truncation",
        )
    if length <= excess:
        raise InvalidOption(
            f"{excess} ids are too many, and truncation={strategy!r} may take from {length} only",
            limit=f"{room} ids for both texts, specials apart",
            fix="a larger max_length=, or truncation='longest_first'",
            option="truncation",
        )
    return (first - excess, second) if cut_first else (first, length - excess)


def _longest_first(first: int, second: int, room: int) -> tuple[int, int]:
    """The longer text is cut until both are equally long, then both."""
    short, long = sorted((first, second))
    long = max(short, room - short) if short <= room else short
    if short + long > room:
        short = room // 2
        long = short + room % 2
    return (short, long) if first <= second else (long, short)
