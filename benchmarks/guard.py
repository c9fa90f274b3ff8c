"""The guard between two records: which cells got worse, by the ratio to the fastest peer of the same record.

Absolute times are never compared: the machine may be another, or busier.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.cells import METRICS, OWN, cells

TOLERANCE = 0.10


def worse(old: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> list[str]:
    """One line for each cell and metric whose ratio fell by more than the tolerance, or that lost its time."""
    before = {cell.key: cell for cell in cells(old)}
    lines: list[str] = []
    for cell in cells(new):
        known = before.get(cell.key)
        if known is None or OWN not in cell.engines:
            continue
        refused = cell.refusal(OWN)
        if refused and not known.refusal(OWN):
            lines.append(f"{cell.key}: {refused}")
            continue
        for metric, title in METRICS.items():
            was, now = known.factor(metric), cell.factor(metric)
            if was is not None and now is not None and now * (1 + TOLERANCE) < was:
                peers = [found[0] for found in (known.fastest(metric), cell.fastest(metric)) if found]
                names = " and ".join(dict.fromkeys(peers))
                lines.append(f"{cell.key}, {title}: {was:.2f}x of {names} before, {now:.2f}x now")
    return lines
