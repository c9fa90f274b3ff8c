"""Small HTML: how objects show themselves in a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence


def html_table(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """A heading, and rows of a name and a value; rows without a value are left out. All text is escaped."""
    left = 'style="text-align:left"'
    cells = (
        f"<tr><th {left}>{html.escape(name)}</th><td {left}>{html.escape(str(value))}</td></tr>"
        for name, value in rows
        if value != ""
    )
    return f"<table><caption {left}>{html.escape(title)}</caption><tbody>{''.join(cells)}</tbody></table>"


SHOWN_TOKENS = 500
_BOX = "border:1px solid;border-radius:3px;padding:0 2px;margin-right:1px;unicode-bidi:isolate"


def html_tokens(title: str, rows: Iterable[tuple[Sequence[str], Sequence[int]]]) -> str:
    """A heading, and for each text its tokens in boxes, with ids as hints; of each at most `SHOWN_TOKENS`."""
    found = [f"<p>{html.escape(title)}</p>"]
    for tokens, ids in rows:
        boxes = (
            f'<span style="{_BOX}" title="id {id}">{html.escape(token)}</span>'
            for token, id in zip(tokens[:SHOWN_TOKENS], ids, strict=False)
        )
        rest = len(tokens) - SHOWN_TOKENS
        found.append(f"<p>{''.join(boxes)}{f' and {rest:,} more' if rest > 0 else ''}</p>")
    return "".join(found)
