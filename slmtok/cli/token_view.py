"""Drawing a text with its token boundaries: pure functions from tokens to strings.

Without colour a boundary is `│`. With colour, consecutive tokens have different backgrounds and spaces stay spaces. A
character that a boundary splits is drawn once, followed by its bytes with the boundaries between them: `é⟨c3│a9⟩`. A
byte that is not UTF-8 is drawn as `⟨ff⟩`. A line feed is shown and then followed by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise

from slmtok.token_text import SPACE, escape_token

BOUNDARY, OPEN, CLOSE = "│", "⟨", "⟩"
_ESCAPED_MARKS = {mark: f"\\u{ord(mark):04x}" for mark in (BOUNDARY, OPEN, CLOSE)}
_BACKGROUNDS = ("\x1b[30;48;5;223m", "\x1b[30;48;5;152m", "\x1b[30;48;5;182m", "\x1b[30;48;5;151m")
_RESET = "\x1b[0m"
_NO_TOKEN = -1


@dataclass(frozen=True)
class _Glyph:
    """One character, or one byte that belongs to none; `start` and `stop` are bytes of the text."""

    start: int
    stop: int
    data: bytes
    is_valid: bool


def draw(tokens: Sequence[bytes], *, colour: bool) -> str:
    """The text of these tokens with their boundaries."""
    boundaries = set(list(accumulate(map(len, tokens)))[:-1])
    spans = list(_spans(b"".join(tokens), boundaries, colour=colour))
    if colour:
        return "".join(
            text if token == _NO_TOKEN else f"{_BACKGROUNDS[token % len(_BACKGROUNDS)]}{text}{_RESET}"
            for token, text in ((token, "".join(text for _, text in group)) for token, group in groupby(spans, _token))
        )
    drawn, current = [], 0
    for token, text in spans:
        if token > current:
            drawn.append(BOUNDARY * (token - current))
            current = token
        drawn.append(text)
    return "".join(drawn)


def _token(span: tuple[int, str]) -> int:
    return span[0]


def _spans(text: bytes, boundaries: set[int], *, colour: bool) -> Iterator[tuple[int, str]]:
    """(number of the token, what is drawn); a line feed after its sign belongs to no token."""
    token = 0
    for glyph in _glyphs(text):
        token += glyph.start in boundaries
        inner = [at - glyph.start for at in range(glyph.start + 1, glyph.stop) if at in boundaries]
        if not glyph.is_valid:
            yield token, f"{OPEN}{glyph.data.hex()}{CLOSE}"
        elif inner:
            yield token, f"{_character(glyph, colour=colour)}{OPEN}"
            for index, (start, stop) in enumerate(pairwise([0, *inner, len(glyph.data)])):
                yield token + index, glyph.data[start:stop].hex()
            token += len(inner)
            yield token, CLOSE
        else:
            yield token, _character(glyph, colour=colour)
        if glyph.data == b"\n":
            yield _NO_TOKEN, "\n"


def _glyphs(text: bytes) -> Iterator[_Glyph]:
    start = 0
    for char in text.decode("utf-8", "surrogateescape"):
        data = char.encode("utf-8", "surrogateescape")
        yield _Glyph(start, start + len(data), data, not "\udc80" <= char <= "\udcff")
        start += len(data)


def _character(glyph: _Glyph, *, colour: bool) -> str:
    """What is drawn for a whole character."""
    word = escape_token(glyph.data)
    return " " if colour and word == SPACE else _ESCAPED_MARKS.get(word, word)


def grid(columns: Sequence[Sequence[str]], width: int) -> str:
    """Columns of equal height side by side, wrapped at `width` terminal cells; their rows align."""
    from rich.cells import cell_len, set_cell_size

    sizes = [max(map(cell_len, column)) for column in columns]
    lines: list[str] = []
    start = 0
    while start < len(columns):
        stop, used = start, 0
        while stop < len(columns) and (stop == start or used + sizes[stop] + 2 <= width):
            used += sizes[stop] + 2
            stop += 1
        for row in range(len(columns[start])):
            cells = (set_cell_size(columns[index][row], sizes[index]) for index in range(start, stop))
            lines.append("  ".join(cells).rstrip())
        lines.append("")
        start = stop
    return "\n".join(lines).rstrip("\n")
