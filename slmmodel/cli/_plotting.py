"""The course of a run as a picture: loss and learning rate, against ids and against bytes."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from slmmodel.errors import InvalidOption, MissingInput, MissingPackage, OutputExists


def check(target: str, *, force: bool) -> None:
    """Raises before any work what would stop the picture after it: `MissingPackage`, `InvalidOption`,
    `OutputExists`."""
    if not target.endswith(".png"):
        raise InvalidOption(f"--plot {target!r} is no picture", limit="FILE.png", fix="--plot loss.png", option="plot")
    if find_spec("matplotlib") is None:
        raise MissingPackage("--plot needs matplotlib, which is not installed", fix="pip install 'slmtok[report]'")
    path = Path(target)
    if not path.parent.is_dir():
        raise MissingInput(
            f"no folder {str(path.parent)!r} for the picture", fix=f"mkdir -p {path.parent}", path=target
        )
    if path.exists() and not force:
        raise OutputExists(f"output {target!r} exists", fix="--force to replace it, or another name", path=target)


def plot(metrics: Path, target: str) -> None:
    """Draws the lines of a `metrics.jsonl`; written beside its place and renamed."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    lines = [json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines()]
    figure = Figure(figsize=(11, 7), layout="constrained")
    FigureCanvasAgg(figure)
    above, below = figure.subplots(2, 2)
    for number, (key, label) in enumerate((("tokens", "ids seen"), ("bytes", "bytes of text seen"))):
        _draw(above[number], lines, key, ("loss", "val_loss"), "nats per id")
        _draw(below[number], lines, key, ("lr",), "learning rate")
        below[number].set_xlabel(label)
    beside = Path(target).with_name(f".{Path(target).name}.part")
    figure.savefig(beside, format="png", dpi=110)
    beside.replace(target)


def _draw(axes: Any, lines: list[dict[str, Any]], key: str, names: tuple[str, ...], label: str) -> None:
    for name in names:
        points = [(line[key], line[name]) for line in lines if line.get(name) is not None]
        style = {"marker": "o", "markersize": 4} if name.startswith("val_") else {"linewidth": 0.9}
        axes.plot([x for x, _ in points], [y for _, y in points], label=name, **style)
    axes.set_ylabel(label)
    axes.grid(alpha=0.3)
    if len(names) > 1:
        axes.legend()
