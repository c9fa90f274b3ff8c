"""`slm plot`: training curves of runs, finished or running, as a picture; and the rows that describe a result."""

from __future__ import annotations

import html
import io
import math
import os
import shlex
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import click

from slmmodel.checkpoint import RunFolder
from slmmodel.cli.result_files import format_bits
from slmmodel.cli.run_argument import check_runs, refuse_output
from slmmodel.errors import MissingInput, OptionError, missing_package
from slmmodel.run_entries import METRICS
from slmmodel.training.summary import summary_of
from slmtok.atomic import check_outputs, write
from slmtok.cli.options import argument, choice, command, instead, option, output_options
from slmtok.cli.output import Outcome, Row, counted, printable
from slmtok.cli.progress import Progress

SUFFIXES = (".png", ".svg", ".html")
_VECTOR_SUFFIXES = (".pdf", ".eps", ".ps", ".svgz", ".svg", ".emf", ".pgf")
LABELS = {"bytes": "bytes of text seen", "tokens": "ids seen", "flops": "FLOPs", "seconds": "seconds of training"}
"""Of axes, by the field of a line of metrics."""
AXES = {
    "step": ("step", "step"),
    "ids": ("tokens", LABELS["tokens"]),
    "bytes": ("bytes", LABELS["bytes"]),
    "time": ("seconds", LABELS["seconds"]),
}
"""Field of a line of metrics, and label, by the name that `--against` takes."""
_FOREIGN_AXES = {
    **dict.fromkeys(("steps", "iter", "iters", "iteration", "iterations"), "step"),
    **dict.fromkeys(("token", "tokens", "samples"), "ids"),
    **dict.fromkeys(("byte", "text"), "bytes"),
    **dict.fromkeys(("second", "seconds", "wall", "hours", "minutes"), "time"),
}
"""Names of axes in other tools, each with ours."""
PANELS = (
    ("loss", "val_loss", "loss (nats per id)"),
    ("bpb_train", "val_bpb", "bits per byte"),
)
"""Field of training, field of validation, and label."""
DPI = 110


class Curve(NamedTuple):
    """The metrics of one run, oldest first."""

    name: str
    lines: list[dict[str, Any]]
    n_lines: int
    """Of the run; `lines` may lack some that a picture does not show."""
    warning: str = ""
    """About damaged lines, which `lines` lack."""

    def points(self, x: str, y: str) -> tuple[list[float], list[Any]]:
        """The lines that have both fields."""
        found = [(line[x], line[y]) for line in self.lines if line.get(x) is not None and line.get(y) is not None]
        return [point[0] for point in found], [point[1] for point in found]


_HABITS = dict.fromkeys(
    ("--metric", "--metrics", "--y", "--keys"),
    instead("leave it out: the picture has every curve that the runs recorded"),
)


@command("plot", example="slm plot run -o curves.png", habits=_HABITS)
@argument("runs", metavar="RUN...", nargs=-1, required=True, help="Runs, finished or running; several are overlaid.")
@option("--against", type=choice(*AXES, foreign=_FOREIGN_AXES), metavar="|".join(AXES), multiple=True,
        show_default="all of them", help="The horizontal axis. Repeat for several.")  # fmt: skip
@output_options(default="curves.png", metavar="FILE", help="A .png, .svg or .html file; needs matplotlib.")
def plot(runs: tuple[str, ...], against: tuple[str, ...], output: str, force: bool) -> Outcome:
    """Draw loss, bits per byte and gates of the memory of runs against steps, ids, bytes and time."""
    refuse_output(runs, (*SUFFIXES, *_VECTOR_SUFFIXES), _as_picture)
    ctx = click.get_current_context()
    # The fix of another argument has an output that can be drawn.
    drawn = {output: _as_picture(output), f"--output={output}": f"--output={_as_picture(output)}"}
    ctx.meta["arguments"] = [
        drawn.get(word, word) if before in ("-o", "--output") or word.startswith("--output=") else word
        for before, word in pairwise(["", *ctx.meta["arguments"]])
    ]
    check_runs(ctx, None, runs)
    folders = [os.path.realpath(run) for run in runs]
    if twice := next((run for run, folder in zip(runs, folders, strict=True) if folders.count(folder) > 1), None):
        raise OptionError(f"the run {twice!r} is named twice", fix="name it once", option="runs")
    check_figure(output, force=force, option="--output")
    opened = [RunFolder.open(run) for run in runs]
    with Progress("drawing"):
        curves = draw(opened, output, against or tuple(AXES), force=force)
    result = {
        "output": output,
        "runs": [
            {"path": run, "step": curve.lines[-1]["step"], "lines": curve.n_lines}
            for run, curve in zip(runs, curves, strict=True)
        ],
    }
    warnings = tuple(curve.warning for curve in curves if curve.warning)
    return Outcome(result, summary=f"{output}: {counted(len(curves), 'run')}", warnings=warnings)


def _as_picture(target: str) -> str:
    """The name of a file that can be drawn: a vector format is drawn as the other one."""
    if target.endswith(SUFFIXES):
        return target
    suffix = ".svg" if target.lower().endswith(_VECTOR_SUFFIXES) else ".png"
    return str(Path(target or "curves").with_suffix(suffix))


def check_figure(target: str, *, force: bool, option: str) -> None:
    """Raises what would prevent the figure: `OptionError`, `MissingPackage`, `OutputExists`."""
    if not target.endswith(SUFFIXES):
        raise OptionError(
            f"{option} {target!r} is not a picture",
            limit=", ".join(SUFFIXES),
            fix=f"{option} {shlex.quote(_as_picture(target))}",
            option=option,
        )
    if find_spec("matplotlib") is None:
        raise missing_package("a figure", "matplotlib")
    check_outputs(target, force=force, option=option.lstrip("-"))


def figure_class() -> Any:
    """matplotlib's `Figure`; MPLBACKEND, which says where windows open, must not end its import."""
    chosen = os.environ.pop("MPLBACKEND", None)
    try:
        from matplotlib.figure import Figure
    finally:
        if chosen is not None:
            os.environ["MPLBACKEND"] = chosen
    return Figure


def draw(runs: Sequence[RunFolder], target: str, against: Sequence[str] = tuple(AXES), *, force: bool) -> list[Curve]:
    """Draws a figure and gives its curves. Raises `MissingInput` for a run without a step."""
    curves = [read_curve(run, drawn=True) for run in runs]
    has_gates = any(line.get("gates") for curve in curves for line in curve.lines)
    n_rows = len(PANELS) + has_gates
    figure = figure_class()(figsize=(1.5 + 4.5 * len(against), 3.75 * n_rows), layout="constrained")
    panels = figure.subplots(n_rows, len(against), squeeze=False)
    more = " …" if len(curves) > 3 else ""
    names = ", ".join(curve.name for curve in curves[:3]) + more
    figure.suptitle(f"Training of {', '.join(_text(curve.name) for curve in curves[:3])}{more}")
    for row, (train, validation, label) in zip(panels[: len(PANELS)], PANELS, strict=True):
        for axes, name in zip(row, against, strict=True):
            field, unit = AXES[name]
            for number, curve in enumerate(curves):
                colour, of_run = f"C{number % 10}", _label(curve.name)
                axes.plot(*curve.points(field, train), color=colour, linewidth=0.8, alpha=0.7, label=of_run)
                style = {"marker": "o", "markersize": 4, "linestyle": "--"}
                axes.plot(*curve.points(field, validation), color=colour, label=f"{of_run}, validation", **style)
            axes.set(xlabel=unit, ylabel=label)
            axes.xaxis.set_major_formatter(_tick)
            axes.grid(alpha=0.3)
    panels[0][0].legend(fontsize="small")
    for axes, name in zip(panels[-1] if has_gates else (), against, strict=False):
        _draw_gates(axes, curves, *AXES[name])
    write(target, figure_bytes(figure, target, f"Training of {names}"), force=force)
    return curves


def _tick(value: float, _: int = 0) -> str:
    """A number on a horizontal axis: 30, 2.5, 160k, 1.5M. With all their digits, numbers run into each other."""
    power = next((power for power in (4, 3, 2, 1) if abs(value) >= 1000**power), 0)
    return f"{value / 1000**power:g}{('', 'k', 'M', 'G', 'T')[power]}"


def _label(name: str) -> str:
    """A name for the legend of matplotlib, which leaves out one that begins with `_`."""
    return (" " if name.startswith("_") else "") + _text(name)


def _text(name: str) -> str:
    """A name as text of matplotlib, where `$` begins a formula."""
    from slmtok.pages.charts import chart_label

    return chart_label(name).replace("$", r"\$")


def figure_bytes(figure: Any, target: str, title: str) -> bytes:
    """A figure in the format of the suffix of `target`; `title` is that of the HTML page. Equal figures give equal
    bytes."""
    import matplotlib

    from slmtok.pages.charts import any_letters

    drawn = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "slm"}), any_letters():
        if target.endswith(".png"):
            figure.savefig(drawn, format="png", dpi=DPI)
        else:
            figure.savefig(drawn, format="svg", metadata={"Date": None})
    data = drawn.getvalue()
    return _page(title, data.decode()).encode() if target.endswith(".html") else data


def _draw_gates(axes: Any, curves: Sequence[Curve], field: str, unit: str) -> None:
    """For each layer the mean gate over its heads, in a band from the least to the greatest; runs by line style."""
    for number, curve in enumerate(curves):
        x, gates = curve.points(field, "gates")
        for layer, heads in enumerate(zip(*gates, strict=True)):
            style = {"color": f"C{layer % 10}", "linestyle": ("-", "--", ":", "-.")[number % 4], "marker": "."}
            label = f"layer {layer}" + (f" of {_label(curve.name)}" if len(curves) > 1 else "")
            # None is not finite, and leaves a gap.
            heads = tuple([math.nan if gate is None else gate for gate in each] for each in heads)
            axes.plot(x, [sum(each) / len(each) for each in heads], label=label, **style)
            axes.fill_between(x, list(map(min, heads)), list(map(max, heads)), color=style["color"], alpha=0.15)
    axes.set(xlabel=unit, ylabel="gate: weight of the memory", ylim=(0, 1))
    axes.xaxis.set_major_formatter(_tick)
    axes.grid(alpha=0.3)
    if field == "step":
        axes.legend(fontsize="small", ncols=2)


def _page(title: str, svg: str) -> str:
    """One HTML file that holds the picture."""
    head = f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{html.escape(title)}</title>\n'
    return f"{head}<style>svg {{ max-width: 100%; height: auto }}</style>\n{svg[svg.index('<svg') :]}</html>\n"


def read_curve(run: RunFolder, newest: int | None = None, *, drawn: bool = False) -> Curve:
    """The metrics of a run, `newest` as in `read_metrics`; drawn: as `read_drawn` has them.

    Raises `MissingInput` for a run without a step.
    """
    from slmmodel.training.status import DrawnLines, read_drawn, read_metrics

    if drawn:
        found = read_drawn(run.path)
    else:
        kept = read_metrics(run.path, newest=newest)
        found = DrawnLines(kept, len(kept))
    lines = found.lines
    if not lines:
        where = str(run.path / METRICS)
        if run.finished:
            fix = f"restore the file; slm info {run.path} shows the result"
            raise MissingInput(f"the run {str(run.path)!r} is finished, and its metrics are lost", where=where, fix=fix)
        raise MissingInput(f"the run {str(run.path)!r} has no step yet", where=where, fix="wait for its first step")
    warning = ""
    if found.n_damaged:
        warning = f"{run.path / METRICS}: {counted(found.n_damaged, 'damaged line')} left out, first line"
        warning += f" {found.first_damaged:,}"
    return Curve(printable(str(run.path)), lines, found.n_lines, warning)


def result_rows(result: Mapping[str, Any], certificate: Mapping[str, Any] | None = None) -> list[Row]:
    """What came of a run: rows of `slm train` and `slm info` from `result.json` and the certificate."""
    rows: list[Row] = [*summary_of(result)]
    if certificate is not None:
        bits = ", ".join(f"{name} {format_bits(certificate[name])}" for name in ("bpb_total", "bpb_content"))
        rows.append(("scored", f"{bits}; slm eval --check recomputes it"))
    return rows
