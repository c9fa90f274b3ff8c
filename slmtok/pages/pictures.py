"""Small drawings as SVG in the colours of the page: the rows of a batch, an attention mask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

N_COLOURS = 6
_ROW, _GAP = 14, 4
_SHADES = 8
"""Steps of opacity of a cell."""


def row_bars(rows: Sequence[Sequence[int]], width: int = 480) -> str:
    """SVG of rows of a batch: the number of the document in each column, -1 for padding, which stays empty."""
    length = max((len(row) for row in rows), default=1)
    drawn = []
    for number, row in enumerate(rows):
        y = number * (_ROW + _GAP)
        drawn.append(f'<rect x="0" y="{y}" width="{width}" height="{_ROW}" fill="none" stroke="var(--line)"/>')
        for start, stop, document in _runs(row):
            if document >= 0:
                x, size = width * start / length, width * (stop - start) / length
                fill = f"var(--series-{document % N_COLOURS})"
                drawn.append(f'<rect x="{x:.2f}" y="{y}" width="{size:.2f}" height="{_ROW}" fill="{fill}"/>')
                drawn.append(f'<path d="M{x:.2f} {y}v{_ROW}" stroke="var(--page)"/>')
    return _svg(width, len(rows) * (_ROW + _GAP), drawn)


def _runs(row: Sequence[int]) -> list[tuple[int, int, int]]:
    """(start, stop, value) of each stretch of equal values."""
    found, start = [], 0
    for at in range(1, len(row) + 1):
        if at == len(row) or row[at] != row[start]:
            found.append((start, at, row[start]))
            start = at
    return found


def mask_picture(allowed: NDArray[np.bool_], cells: int = 48, size: int = 320) -> str:
    """SVG of a mask [T, T], queries downwards and keys to the right: the darker, the more pairs may attend."""
    import numpy as np

    n = min(cells, len(allowed))
    edges = np.linspace(0, len(allowed), n + 1).astype(np.int64)
    sums = np.add.reduceat(np.add.reduceat(allowed.astype(np.int64), edges[:-1], axis=0), edges[:-1], axis=1)
    areas = np.diff(edges)[:, None] * np.diff(edges)[None, :]
    shades = np.ceil(sums / areas * _SHADES).astype(np.int64)
    side = size / n
    drawn = [f'<rect width="{size}" height="{size}" fill="none" stroke="var(--line)"/>']
    for row in range(n):
        for start, stop, shade in _runs(shades[row].tolist()):
            if shade:
                place = f'x="{start * side:.2f}" y="{row * side:.2f}" width="{(stop - start) * side:.2f}"'
                look = f'fill="var(--series-0)" fill-opacity="{shade / _SHADES:g}"'
                drawn.append(f'<rect {place} height="{side:.2f}" {look}/>')
    return _svg(size, size, drawn)


def _svg(width: int, height: int, drawn: Sequence[str]) -> str:
    space = 'xmlns="http://www.w3.org/2000/svg"'
    return f'<svg {space} viewBox="0 0 {width} {height}" style="max-width: {width}px">{"".join(drawn)}</svg>'
