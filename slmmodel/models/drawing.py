"""Flowcharts of models in Mermaid: layers with their dimensions, what is repeated, and the recurrence. Torch-free.

A kind of model says what its boxes are; here stands how they are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from slmmodel.models.config import ModelConfig


@dataclass
class Chart:
    """Lines of a flowchart, written from top to bottom."""

    lines: list[str] = field(default_factory=lambda: ["flowchart TD"])

    def box(self, name: str, *label: str) -> str:
        """A box; the label's parts are lines. Returns its name."""
        self.lines.append(f'    {name}["{"<br/>".join(label)}"]')
        return name

    def plus(self, name: str) -> str:
        """A sum."""
        self.lines.append(f"    {name}((+))")
        return name

    def arrow(self, *names: str, label: str = "") -> None:
        """Arrows from each to the next."""
        joint = f' -- "{label}" --> ' if label else " --> "
        self.lines.append("    " + joint.join(names))

    def loop(self, name: str, label: str) -> None:
        """An arrow from a box to itself: what is carried from one position to the next."""
        self.lines.append(f'    {name} -. "{label}" .-> {name}')

    def group(self, name: str, title: str) -> None:
        """Opens a frame, closed by `end`."""
        self.lines.append(f'    subgraph {name}["{title}"]')

    def end(self) -> None:
        """Closes the frame."""
        self.lines.append("    end")

    def text(self) -> str:
        """The whole, for a block of Mermaid."""
        return "\n".join(self.lines) + "\n"


def ends(chart: Chart, config: ModelConfig, first: str, last: str, norm: str) -> None:
    """Embedding in front of `first`; norm and head behind `last`."""
    width, rows, ids = config.options.width, config.padded_vocab, config.n_vocab
    chart.box("ids", f"ids [B, T], T up to {config.context}")
    chart.box("embed", f"embedding {rows:,} x {width}")
    chart.box("norm", norm, f"width {width}")
    source = "the embedding again" if config.options.tied else f"a table of its own, {rows:,} x {width}"
    chart.box("head", f"head {width} to {ids:,}", source)
    chart.box("logits", f"logits [B, T, {ids:,}]")
    chart.arrow("ids", "embed", first)
    chart.arrow(last, "norm", "head", "logits")
    if config.options.tied:
        chart.lines.append("    embed -. same weights .- head")


def decoder(config: ModelConfig, *, norm: str, attention: tuple[str, ...], mlp: tuple[str, ...], place: str) -> str:
    """A pre-norm decoder: two residual branches in a block, L blocks."""
    options, chart = config.options, Chart()
    chart.group("block", f"block, {options.layers} times")
    chart.box("norm1", norm)
    chart.box("attention", *attention)
    chart.plus("sum1")
    chart.box("norm2", norm)
    chart.box("mlp", *mlp)
    chart.plus("sum2")
    chart.arrow("norm1", "attention", "sum1", "norm2", "mlp", "sum2")
    chart.arrow("sum1", "sum2", label="residual")
    chart.end()
    ends(chart, config, "start", "sum2", norm)
    chart.box("start", place)
    chart.arrow("start", "norm1")
    chart.arrow("start", "sum1", label="residual")
    chart.loop("attention", "keys and values of earlier positions")
    return chart.text()


def recurrent(config: ModelConfig, *, cell: str, carried: str) -> str:
    """Stacked cells, each with an arrow to itself for what it carries over time."""
    options, chart = config.options, Chart()
    names = [f"cell{layer}" for layer in range(options.layers)]
    for layer, name in enumerate(names):
        inputs = options.width if layer == 0 else options.hidden
        chart.box(name, f"{cell}, layer {layer + 1}", f"{inputs} to {options.hidden}")
        chart.loop(name, f"{carried}, from position t to t+1")
    chart.box("out", f"linear {options.hidden} to {options.width}")
    chart.arrow(*names, "out")
    ends(chart, config, names[0], "out", "RMSNorm")
    return chart.text()
