"""A page that shows where the bits of two models go: a text, coloured by bits per byte and by their difference."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from slmtok.pages.page import asset

if TYPE_CHECKING:
    from slmtok.analysis.align import Segment

MAX_MAP_BYTES = 50_000
"""Text that a map shows; more is neither read nor drawn well."""
_BITS = (0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0)
"""Borders of the eight shades, in bits per byte."""
_DIFFERENCES = (0.1, 0.5, 1.5)
"""Borders of the shades of a difference, in bits per byte."""


def loss_map(documents: Iterable[Sequence[Segment]], name_a: str, name_b: str) -> str:
    """The page of the first documents, up to `MAX_MAP_BYTES` of text. It has no script and asks no network."""
    shown, room = list[Sequence["Segment"]](), MAX_MAP_BYTES
    for document in documents:
        part = [segment for segment in document if (room := room - len(segment.text)) >= 0]
        shown.append(part)
        if room < 0:
            break
    columns: list[tuple[str, Callable[[Segment], str]]] = [
        (f"{name_a}: bits per byte", lambda segment: _shade(segment.bits_a, segment)),
        (f"{name_b}: bits per byte", lambda segment: _shade(segment.bits_b, segment)),
        (f"{name_b} against {name_a}", _difference),
    ]
    body = "\n".join(_column(title, shown, css) for title, css in columns)
    note = "" if room >= 0 else f"<p>The first {MAX_MAP_BYTES:,} bytes are shown.</p>"
    return asset("loss_map.html").replace("{{ body }}", note + f'<div class="columns">\n{body}\n</div>')


def _column(title: str, documents: Sequence[Sequence[Segment]], css: Callable[[Segment], str]) -> str:
    texts = ("<p>" + "".join(_span(segment, css) for segment in document) + "</p>" for document in documents)
    return f"<section>\n<h2>{html.escape(title)}</h2>\n{''.join(texts)}\n</section>"


def _span(segment: Segment, css: Callable[[Segment], str]) -> str:
    title = f"{segment.bits_a:.2f} and {segment.bits_b:.2f} bits, {len(segment.text)} bytes"
    return f'<span class="{css(segment)}" title="{title}">{_text(segment.text)}</span>'


def _text(data: bytes) -> str:
    """Text of a page: markup is escaped, what cannot be seen or turns the direction of writing becomes its number."""
    return "".join(
        html.escape(char) if char.isprintable() or char == "\n" else f"\\u{ord(char):04x}"
        for char in data.decode("utf-8", "replace")
    )


def _shade(bits: float, segment: Segment) -> str:
    per_byte = bits / max(1, len(segment.text))
    return f"b{sum(per_byte >= border for border in _BITS)}"


def _difference(segment: Segment) -> str:
    per_byte = (segment.bits_b - segment.bits_a) / max(1, len(segment.text))
    size = sum(abs(per_byte) >= border for border in _DIFFERENCES)
    return f"{'worse' if per_byte > 0 else 'better'}{size}" if size else "equal"
