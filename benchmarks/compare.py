"""Comparison of two records: cells that are slower relative to the fastest peer, cells that are missing, hostile texts
whose time grows faster than their size.

Absolute times are never compared, because machines and their load differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.record import METRICS, OWN, Cell, Row, cells

MAX_SLOWDOWN = 0.10
MAX_GROWTH = 1.1
"""A hostile text of n times the size may take 1.1 n times the time."""


def regressions(old: Sequence[Row], new: Sequence[Row]) -> list[str]:
    """One line for each cell and metric whose speedup fell by more than 10 %, or that has no time any more."""
    before = {cell.key: cell for cell in cells(old)}
    after = cells(new)
    lines = [*_missing(before.values(), after), *_superlinear(after)]
    for cell in after:
        known = before.get(cell.key)
        if known is None or OWN not in cell.engines:
            continue
        refused = cell.refusal(OWN)
        if refused and not known.refusal(OWN):
            lines.append(f"{cell.key}: {refused}")
            continue
        for metric, title in METRICS.items():
            was, now = known.speedup(metric), cell.speedup(metric)
            if was is not None and now is not None and now * (1 + MAX_SLOWDOWN) < was:
                peers = [fastest[0] for fastest in (known.fastest(metric), cell.fastest(metric)) if fastest]
                names = " and ".join(dict.fromkeys(peers))
                lines.append(f"{cell.key}, {title}: {was:.2f}x of {names} before, {now:.2f}x now")
    return lines


def new_cells(old: Sequence[Row], new: Sequence[Row]) -> int:
    """The number of cells of `new` that `old` does not have."""
    before = {cell.key for cell in cells(old) if OWN in cell.engines}
    return sum(cell.key not in before for cell in cells(new) if OWN in cell.engines)


def _missing(old: Iterable[Cell], new: Sequence[Cell]) -> list[str]:
    """Cells and whole definitions that only the old record has."""
    keys, definitions = {cell.key for cell in new}, {cell.key.definition for cell in new}
    lost = [cell.key for cell in old if OWN in cell.engines and cell.key not in keys]
    whole = dict.fromkeys(key.definition for key in lost if key.definition not in definitions)
    names = [*whole, *(key for key in lost if key.definition in definitions)]
    return [f"{name}: not measured any more" for name in names]


def _superlinear(new: Sequence[Cell]) -> list[str]:
    """Hostile texts whose time grows faster than their size."""
    smallest: dict[tuple[str, str], Cell] = {}
    lines = []
    for cell in (cell for cell in new if cell.key.definition.startswith("hostile")):
        base = smallest.setdefault((cell.key.definition, cell.key.text), cell)
        time, base_time = cell.value(OWN, "first"), base.value(OWN, "first")
        if time is None or base_time is None:
            lines.append(f"{cell.key}: no time")
        elif time / base_time > MAX_GROWTH * cell.key.size / base.key.size:
            lines.append(f"{cell.key}: {time / base_time:.1f} times the time of {base.key.size:.0e} bytes")
    return lines
