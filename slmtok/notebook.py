"""Small HTML tables: how objects show themselves in a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable


def html_table(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """A heading, and rows of a name and a value; rows without a value are left out. All text is escaped."""
    left = 'style="text-align:left"'
    cells = (
        f"<tr><th {left}>{html.escape(name)}</th><td {left}>{html.escape(str(value))}</td></tr>"
        for name, value in rows
        if value != ""
    )
    return f"<table><caption {left}>{html.escape(title)}</caption><tbody>{''.join(cells)}</tbody></table>"
