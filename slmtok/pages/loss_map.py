"""A page that shows where the bits of two models go: a text, coloured by bits per byte and by their difference."""

from __future__ import annotations

import codecs
import html
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from slmtok.pages.frame import frame, visible

if TYPE_CHECKING:
    from slmtok.analysis.align import Segment

MAX_MAP_BYTES = 50_000
"""Text that a map shows; more is neither read nor drawn well."""
STYLES = ("loss_map.css",)
_LEGEND_OF_ONE = "The darker a piece of text, the more bits per byte (borders 0.25, 0.5, 1, 2, 3, 5, 8)."
_LEGEND = f"""Each piece of text lies between two places where tokens of both models end. {_LEGEND_OF_ONE} In the last
column green is text where the second model needs fewer bits, and red, underlined, where it needs more (borders 0.1,
0.5, 1.5)."""
_BITS = (0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0)
"""Borders of the eight shades, in bits per byte."""
_DIFFERENCES = (0.1, 0.5, 1.5)
"""Borders of the shades of a difference, in bits per byte."""


def loss_map(documents: Iterable[Sequence[Segment]], name_a: str, name_b: str) -> str:
    """The page of the first documents, up to `MAX_MAP_BYTES` of text. It has no script and asks no network."""
    return frame("Where the bits of two models go", columns(documents, name_a, name_b), styles=STYLES)


def columns(documents: Iterable[Sequence[Segment]], name_a: str, name_b: str | None) -> str:
    """HTML under `STYLES`: the text with the bits of a; beside it those of b, if it is named, and their difference."""
    shown, room = list[Sequence["Segment"]](), MAX_MAP_BYTES
    for document in documents:
        part = [segment for segment in document if (room := room - len(segment.text)) >= 0]
        shown.append(part)
        if room < 0:
            break
    views: list[tuple[str, Callable[[Segment], str]]] = [
        (f"{name_a}: bits per byte", lambda segment: _shade(segment.bits_a, segment))
    ]
    if name_b is not None:
        views += [
            (f"{name_b}: bits per byte", lambda segment: _shade(segment.bits_b, segment)),
            (f"{name_b} against {name_a}", _difference),
        ]
    body = "\n".join(_column(title, shown, css, of_two=name_b is not None) for title, css in views)
    note = "" if room >= 0 else f" The first {MAX_MAP_BYTES:,} bytes are shown."
    legend = _LEGEND_OF_ONE if name_b is None else _LEGEND
    return f'<p>{legend}{note}</p>\n<div class="columns map">\n{body}\n</div>'


def _column(
    title: str, documents: Sequence[Sequence[Segment]], css: Callable[[Segment], str], *, of_two: bool = True
) -> str:
    texts = (
        "<p>" + "".join(_spans(each, css, of_two) for each in _sharing(document)) + "</p>" for document in documents
    )
    return f'<section class="panel">\n<h2>{html.escape(title)}</h2>\n{"".join(texts)}\n</section>'


def _sharing(document: Sequence[Segment]) -> Iterator[list[Segment]]:
    """The segments of a document in groups: one segment, or all segments that share a character."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    found: list[Segment] = []
    for segment in document:
        found.append(segment)
        decoder.decode(segment.text)
        if not decoder.getstate()[0]:
            yield found
            found = []
    if found:
        yield found


def _spans(segments: Sequence[Segment], css: Callable[[Segment], str], of_two: bool) -> str:
    """One segment as its text; several as their text, drawn once, and the bytes of each."""
    text = html.escape(visible(b"".join(each.text for each in segments).decode("utf-8", "replace")))
    if len(segments) == 1:
        return _span(text, "", segments[0], css, of_two)
    of_each = (_span(each.text.hex(" "), " hex", each, css, of_two) for each in segments)
    return f'<span class="shared">{text}</span>{"".join(of_each)}'


def _span(text: str, kind: str, segment: Segment, css: Callable[[Segment], str], of_two: bool) -> str:
    bits = f"{segment.bits_a:.2f} and {segment.bits_b:.2f}" if of_two else f"{segment.bits_a:.2f}"
    title = f"{bits} bits, {len(segment.text)} bytes"
    return f'<span class="{css(segment)}{kind}" title="{title}">{text}</span>'


def _shade(bits: float, segment: Segment) -> str:
    per_byte = bits / max(1, len(segment.text))
    return f"b{sum(per_byte >= border for border in _BITS)}"


def _difference(segment: Segment) -> str:
    per_byte = (segment.bits_b - segment.bits_a) / max(1, len(segment.text))
    size = sum(abs(per_byte) >= border for border in _DIFFERENCES)
    return f"{'worse' if per_byte > 0 else 'better'}{size}" if size else "equal"
