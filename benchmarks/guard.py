"""The guard between two records: which cells got worse, by the ratio to the fastest peer of the same record, which are
gone, and which hostile texts cost more than in proportion.

Absolute times are never compared: the machine may be another, or busier.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.cells import METRICS, OWN, Cell, cells

TOLERANCE = 0.10
LINEAR = 1.1
"""A hostile text ten times as long may cost so many times ten times the time."""


def worse(old: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> list[str]:
    """One line for each cell and metric whose ratio fell by more than the tolerance, or that lost its time."""
    before = {cell.key: cell for cell in cells(old)}
    found = cells(new)
    lines = [*_gone(before.values(), found), *_steep(found)]
    for cell in found:
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


def fresh(old: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> int:
    """How many cells have none before them, so that nothing is said of them."""
    before = {cell.key for cell in cells(old) if OWN in cell.engines}
    return sum(cell.key not in before for cell in cells(new) if OWN in cell.engines)


def _gone(old: Iterable[Cell], new: Sequence[Cell]) -> list[str]:
    """Cells and whole definitions that were measured before and are not any more."""
    keys, definitions = {cell.key for cell in new}, {cell.key.definition for cell in new}
    lost = [cell.key for cell in old if OWN in cell.engines and cell.key not in keys]
    whole = dict.fromkeys(key.definition for key in lost if key.definition not in definitions)
    return [*(f"{name}: not measured any more" for name in whole)] + [
        f"{key}: not measured any more" for key in lost if key.definition in definitions
    ]


def _steep(new: Sequence[Cell]) -> list[str]:
    """Hostile texts whose time grows faster than their size."""
    first: dict[tuple[str, str], Cell] = {}
    lines = []
    for cell in (cell for cell in new if cell.key.definition.startswith("hostile")):
        base = first.setdefault((cell.key.definition, cell.key.text), cell)
        time, least = cell.value(OWN, "first"), base.value(OWN, "first")
        if time is None or least is None:
            lines.append(f"{cell.key}: no time")
        elif time / least > LINEAR * cell.key.size / base.key.size:
            lines.append(f"{cell.key}: {time / least:.1f} times the time of {base.key.size:.0e} bytes")
    return lines
