"""Mermaid flowcharts of the architectures: layers with their dimensions, repeated blocks, recurrences. Torch-free."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slmmodel.models.config import DecoderConfig, ModelConfig, RecurrentConfig


@dataclass
class Chart:
    """Lines of a flowchart, from top to bottom."""

    lines: list[str] = field(default_factory=lambda: ["flowchart TD"])

    def box(self, name: str, *label: str) -> None:
        """A box; each part of the label is a line."""
        self.lines.append(f'    {name}["{"<br/>".join(label)}"]')

    def plus(self, name: str) -> None:
        """A sum."""
        self.lines.append(f"    {name}((+))")

    def arrow(self, *names: str, label: str = "") -> None:
        """Arrows from each box to the next."""
        joint = f' -- "{label}" --> ' if label else " --> "
        self.lines.append("    " + joint.join(names))

    def loop(self, name: str, label: str) -> None:
        """An arrow from a box to itself: state from one position to the next."""
        self.lines.append(f'    {name} -. "{label}" .-> {name}')

    def text(self) -> str:
        """The flowchart as a Mermaid block."""
        return "\n".join(self.lines) + "\n"


def decoder_diagram(config: DecoderConfig) -> str:
    """Two residual branches per block, L blocks."""
    norm = {"rms_norm": "RMSNorm", "layer_norm": "LayerNorm"}[config.norm]
    heads = f"{config.n_heads} query heads, {config.n_kv_heads} key/value heads of {config.head_dim}"
    details = [f"causal attention, {heads}"]
    if config.window is not None:
        details.append(f"sliding window of {config.window} positions")
    if config.positions == "rope":
        qk_norm = "RMSNorm of q and k, " if config.qk_norm else ""
        details.append(f"{qk_norm}rotary positions, base {config.rope_base:,.0f}")
    mlp = {"swiglu": "SwiGLU", "relu2": "squared ReLU", "gelu": "GELU", "gelu_tanh": "GELU (tanh)"}[config.mlp]
    learned = f"plus learned positions {config.seq_len} x {config.d_model}"
    chart = Chart()
    chart.lines.append(f'    subgraph block["block, {config.n_layers} times"]')
    chart.box("norm1", norm)
    chart.box("attention", *details)
    chart.plus("sum1")
    chart.box("norm2", norm)
    chart.box("mlp", mlp, f"{config.d_model} to {config.d_ff} to {config.d_model}")
    chart.plus("sum2")
    chart.arrow("norm1", "attention", "sum1", "norm2", "mlp", "sum2")
    chart.arrow("sum1", "sum2", label="residual")
    chart.lines.append("    end")
    _embedding_and_head(chart, config, "start", "sum2", norm)
    chart.box("start", learned if config.positions == "learned" else "residual stream")
    chart.arrow("start", "norm1")
    chart.arrow("start", "sum1", label="residual")
    chart.loop("attention", "keys and values of earlier positions")
    return chart.text()


def recurrent_diagram(config: RecurrentConfig) -> str:
    """Stacked cells, each with an arrow to itself for its state."""
    cell, state = {"lstm": ("LSTM", "h and c"), "gru": ("GRU", "h"), "rnn": ("RNN with tanh", "h")}[config.arch]
    chart = Chart()
    names = [f"cell{layer}" for layer in range(config.n_layers)]
    for layer, name in enumerate(names):
        inputs = config.d_model if layer == 0 else config.hidden_size
        chart.box(name, f"{cell}, layer {layer + 1}", f"{inputs} to {config.hidden_size}")
        chart.loop(name, f"{state}, from position t to t+1")
    chart.box("out", f"linear {config.hidden_size} to {config.d_model}")
    chart.arrow(*names, "out")
    _embedding_and_head(chart, config, names[0], "out", "RMSNorm")
    return chart.text()


def _embedding_and_head(chart: Chart, config: ModelConfig, first: str, last: str, norm: str) -> None:
    """The embedding before `first`; final norm and head after `last`."""
    d_model, rows, ids = config.d_model, config.padded_vocab, config.n_vocab
    chart.box("ids", f"ids [B, T], T up to {config.seq_len}")
    chart.box("embed", f"embedding {rows:,} x {d_model}")
    chart.box("norm", norm, f"d_model {d_model}")
    weights = "weights of the embedding" if config.tie_embeddings else f"weights of its own, {rows:,} x {d_model}"
    chart.box("head", f"head {d_model} to {ids:,}", weights)
    chart.box("logits", f"logits [B, T, {ids:,}]")
    chart.arrow("ids", "embed", first)
    chart.arrow(last, "norm", "head", "logits")
    if config.tie_embeddings:
        chart.lines.append("    embed -. same weights .- head")
