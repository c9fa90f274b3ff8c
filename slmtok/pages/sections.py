"""The body of a report: sections of paragraphs, tables and figures, drawn by one template."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from slmtok.errors import OptionError, missing_extra
from slmtok.pages.frame import Page, asset, frame, visible
from slmtok.sizes import format_bytes

if TYPE_CHECKING:
    from jinja2 import Template

MAX_PAGE_BYTES = 5_000_000
_NUMBER = re.compile(r"[-+]?\d[\d,.]*(e[-+]?\d+)?%?( \([\d.]+%\))?")


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is not None


@dataclass(frozen=True)
class Paragraph:
    """Text. role: `warning` and `verdict` stand out."""

    text: str
    role: str = ""
    kind: str = "paragraph"


@dataclass(frozen=True)
class Table:
    """Rows of text under a caption; the first cell of a row is its heading."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    is_folded: bool = False
    kind: str = "table"

    @property
    def left(self) -> list[bool]:
        """Of each column, whether it is aligned left: less than half of its cells are numbers."""
        columns = [[row[index] for row in self.rows if index < len(row)] for index in range(len(self.head))]
        return [2 * sum(map(_is_number, cells)) < sum(cell != "" for cell in cells) for cells in columns]


@dataclass(frozen=True)
class Figure:
    """A drawing, SVG that we made, with what it shows in words."""

    caption: str
    svg: str
    kind: str = "figure"


@dataclass(frozen=True)
class Quote:
    """Text whose spaces and lines are kept, with a heading."""

    title: str
    text: str
    is_folded: bool = False
    kind: str = "quote"


@dataclass(frozen=True)
class Markup:
    """HTML that we made, such as a place that a script fills."""

    html: str
    kind: str = "markup"


Block = Paragraph | Table | Figure | Quote | Markup


@dataclass(frozen=True)
class Section:
    """One part of a page. id: its name in links."""

    id: str
    title: str
    blocks: Sequence[Block]


FOOTER = "Made by {} {}. This page is one file without a network; equal inputs give equal bytes."


def report_page(title: str, sections: Sequence[Section], *, footer: str, fix: str, option: str, **assets: Any) -> Page:
    """The page of a report; `assets` as `frame` takes them.

    Raises `OptionError` with `fix` and `option` for a page beyond 5 MB, `MissingExtra` without jinja2.
    """
    page = Page(frame(title, _render(sections, footer=footer), **assets), title)
    size = len(page.html.encode())
    if size > MAX_PAGE_BYTES:
        fact, limit = f"the page would have {format_bytes(size)}", f"{format_bytes(MAX_PAGE_BYTES)} a page"
        raise OptionError(fact, limit=limit, fix=fix, option=option)
    return page


def _render(sections: Sequence[Section], *, footer: str) -> str:
    """The HTML of a report's body."""
    drawn: str = _template().render(sections=[each for each in sections if each.blocks], footer=footer)
    return drawn


@cache
def _template() -> Template:
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError:
        raise missing_extra("a report", "jinja2") from None
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["visible"] = _visible
    return environment.from_string(asset("sections.html"))


def _visible(value: Any) -> str:
    return visible(str(value))
