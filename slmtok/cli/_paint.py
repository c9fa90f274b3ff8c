"""A text with its token boundaries drawn in: pure functions from bytes and boundaries to strings.

Plain, a boundary is `│`. In colour, tokens take turns with four backgrounds and spaces stay spaces. A character that
a boundary splits is drawn once, followed by its bytes with the boundaries between them: `é⟨c3│a9⟩`. Bytes that are no
UTF-8 stand as `⟨ff⟩`. A line feed is shown and then followed by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise

from slmtok.token_text import SPACE, escape_token

BOUNDARY, OPEN, CLOSE = "│", "⟨", "⟩"
_MARKS = {mark: f"\\u{ord(mark):04x}" for mark in (BOUNDARY, OPEN, CLOSE)}
_COLOURS = ("\x1b[30;48;5;223m", "\x1b[30;48;5;152m", "\x1b[30;48;5;182m", "\x1b[30;48;5;151m")
_OFF = "\x1b[0m"


@dataclass(frozen=True)
class _Glyph:
    """One character, or one byte that belongs to none, as it is drawn; `start` and `stop` are bytes of the text."""

    start: int
    stop: int
    data: bytes
    valid: bool


def draw(tokens: Sequence[bytes], *, colour: bool) -> str:
    """The text of these tokens with their boundaries."""
    ends = list(accumulate(map(len, tokens)))
    text = b"".join(tokens)
    return _draw_colour(text, ends) if colour else _draw_plain(text, ends)


def _glyphs(text: bytes) -> Iterator[_Glyph]:
    start = 0
    for char in text.decode("utf-8", "surrogateescape"):
        valid = not "\udc80" <= char <= "\udcff"
        data = char.encode("utf-8", "surrogateescape")
        yield _Glyph(start, start + len(data), data, valid)
        start += len(data)


def _spell(glyph: _Glyph, *, colour: bool) -> str:
    """What is drawn for a whole character."""
    word = escape_token(glyph.data)
    if colour and word == SPACE:
        return " "
    return _MARKS.get(word, word)


def _draw_plain(text: bytes, ends: Sequence[int]) -> str:
    bounds = set(ends[:-1])
    drawn: list[str] = []
    for glyph in _glyphs(text):
        if glyph.start in bounds:
            drawn.append(BOUNDARY)
        inner = [at for at in range(glyph.start + 1, glyph.stop) if at in bounds]
        if not glyph.valid:
            drawn.append(f"{OPEN}{glyph.data.hex()}{CLOSE}")
        elif inner:
            parts = BOUNDARY.join(part.hex() for part in _cut(glyph, inner))
            drawn.append(f"{_spell(glyph, colour=False)}{OPEN}{parts}{CLOSE}")
        else:
            drawn.append(_spell(glyph, colour=False))
        if glyph.data == b"\n":
            drawn.append("\n")
    return "".join(drawn)


def _cut(glyph: _Glyph, inner: Sequence[int]) -> list[bytes]:
    edges = [0, *(at - glyph.start for at in inner), len(glyph.data)]
    return [glyph.data[first:last] for first, last in pairwise(edges)]


def _draw_colour(text: bytes, ends: Sequence[int]) -> str:
    bounds = set(ends[:-1])
    spans: list[tuple[int, str]] = []
    token = 0
    for glyph in _glyphs(text):
        token += glyph.start in bounds
        inner = [at for at in range(glyph.start + 1, glyph.stop) if at in bounds]
        if not glyph.valid:
            spans.append((token, f"{OPEN}{glyph.data.hex()}{CLOSE}"))
        elif inner:
            spans.append((token, f"{_spell(glyph, colour=True)}{OPEN}"))
            spans.extend((token + index, part.hex()) for index, part in enumerate(_cut(glyph, inner)))
            token += len(inner)
            spans.append((token, CLOSE))
        else:
            spans.append((token, _spell(glyph, colour=True)))
        if glyph.data == b"\n":
            spans.append((-1, "\n"))
    return _painted(spans)


def _painted(spans: Sequence[tuple[int, str]]) -> str:
    """Stretches of (token, text) in the colours of their tokens; -1 is no token and has none."""
    drawn: list[str] = []
    for token, group in groupby(spans, key=lambda span: span[0]):
        words = "".join(word for _, word in group)
        drawn.append(words if token < 0 else f"{_COLOURS[token % len(_COLOURS)]}{words}{_OFF}")
    return "".join(drawn)


def grid(columns: Sequence[Sequence[str]], width: int) -> str:
    """Columns of equal height, side by side, wrapped at `width` characters of a terminal; rows align."""
    lines: list[str] = []
    block: list[Sequence[str]] = []
    used = 0
    for column in columns:
        size = max(map(cells, column)) + 2
        if block and used + size > width:
            lines.extend(_block(block))
            block, used = [], 0
        block.append(column)
        used += size
    if block:
        lines.extend(_block(block))
    return "\n".join(lines).rstrip("\n")


def _block(columns: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(cells, column)) for column in columns]
    rows = []
    for index in range(len(columns[0])):
        row = [
            column[index] + " " * (size - cells(column[index])) for column, size in zip(columns, widths, strict=True)
        ]
        rows.append("  ".join(row).rstrip())
    return [*rows, ""]


def cells(text: str) -> int:
    """How many places of a terminal a text takes."""
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)
