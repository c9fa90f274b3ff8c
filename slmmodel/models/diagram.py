"""Mermaid flowcharts of the architectures: layers with their dimensions, repeated blocks, recurrences. Torch-free.

In Mermaid `name["text"]` is a box, `name((+))` a sum, `a --> b` an arrow, `a -. "text" .-> a` a state that is passed
from one position to the next.
"""

from __future__ import annotations

from functools import singledispatch

from slmmodel.models.config import DecoderConfig, InfiniConfig, ModelConfig, RecurrentConfig, TransformerConfig

_DECODER = """\
flowchart TD
    subgraph block["block, {config.n_layers} times"]
    norm1["{norm}"]
    attention["{attention}"]
    sum1((+))
    norm2["{norm}"]
    mlp["{mlp}<br/>{config.d_model} to {config.d_ff} to {config.d_model}"]
    sum2((+))
    norm1 --> attention --> sum1 --> norm2 --> mlp --> sum2
    sum1 -- "residual" --> sum2
    end
{ends}
    start["{start}"]
    start --> norm1
    start -- "residual" --> sum1
    attention -. "{recurrence}" .-> attention
"""
_ENDS = """\
    ids["ids [B, T], T up to {config.seq_len}"]
    embed["embedding {config.padded_vocab:,} x {config.d_model}"]
    norm["{norm}<br/>d_model {config.d_model}"]
    head["head {config.d_model} to {config.n_vocab:,}<br/>{weights}"]
    logits["logits [B, T, {config.n_vocab:,}]"]
    ids --> embed --> {first}
    {last} --> norm --> head --> logits"""


@singledispatch
def diagram(config: ModelConfig) -> str:
    """The model as a flowchart. Each class of configurations registers its own function."""
    raise NotImplementedError


@diagram.register
def _decoder(config: DecoderConfig) -> str:
    """Attention to all earlier positions, or to those of a window."""
    window = [] if config.window is None else [f"sliding window of {config.window} positions"]
    learned = f"plus learned positions {config.seq_len} x {config.d_model}"
    start = learned if config.positions == "learned" else "residual stream"
    return _transformer(config, start, window, "keys and values of earlier positions")


@diagram.register
def _infini(config: InfiniConfig) -> str:
    """Attention in segments, and the memory that one segment passes to the next."""
    memory = {"off": "no memory", "linear": "linear memory", "delta": "memory with the delta rule"}[config.memory]
    more = [f"within segments of {config.segment} positions"]
    recurrence = "keys and values of earlier positions of the segment"
    if config.memory != "off":
        h = config.head_dim
        more.append(f"{config.gate} gates: {memory} {config.n_kv_heads} x {h} x {h + 1}")
        recurrence = "memory, from segment s to s + 1"
    return _transformer(config, "residual stream", more, recurrence)


def _transformer(config: TransformerConfig, start: str, more: list[str], recurrence: str) -> str:
    """Two residual branches per block, L blocks; `more`: lines about the attention."""
    norm = {"rms_norm": "RMSNorm", "layer_norm": "LayerNorm"}[config.norm]
    heads = f"{config.n_heads} query heads, {config.n_kv_heads} key/value heads of {config.head_dim}"
    attention = [f"causal attention, {heads}", *more]
    if config.has_rope:
        qk_norm = "RMSNorm of q and k, " if config.qk_norm else ""
        attention.append(f"{qk_norm}rotary positions, base {config.rope_base:,.0f}")
    mlp = {"swiglu": "SwiGLU", "relu2": "squared ReLU", "gelu": "GELU", "gelu_tanh": "GELU (tanh)"}[config.mlp]
    ends = _embedding_and_head(config, "start", "sum2", norm)
    text = "<br/>".join(attention)
    return _DECODER.format(
        config=config, norm=norm, attention=text, mlp=mlp, start=start, ends=ends, recurrence=recurrence
    )


@diagram.register
def _recurrent(config: RecurrentConfig) -> str:
    """Stacked cells, each with an arrow to itself for its state."""
    cell, state = {"lstm": ("LSTM", "h and c"), "gru": ("GRU", "h"), "rnn": ("RNN with tanh", "h")}[config.arch]
    lines = ["flowchart TD"]
    for layer in range(config.n_layers):
        inputs = config.d_model if layer == 0 else config.hidden_size
        lines.append(f'    cell{layer}["{cell}, layer {layer + 1}<br/>{inputs} to {config.hidden_size}"]')
        lines.append(f'    cell{layer} -. "{state}, from position t to t+1" .-> cell{layer}')
    lines.append(f'    out["linear {config.hidden_size} to {config.d_model}"]')
    lines.append("    " + " --> ".join([*(f"cell{layer}" for layer in range(config.n_layers)), "out"]))
    return "\n".join([*lines, _embedding_and_head(config, "cell0", "out", "RMSNorm"), ""])


def _embedding_and_head(config: ModelConfig, first: str, last: str, norm: str) -> str:
    """The embedding before `first`; final norm and head after `last`."""
    own = f"weights of its own, {config.padded_vocab:,} x {config.d_model}"
    weights = "weights of the embedding" if config.tie_embeddings else own
    lines = _ENDS.format(config=config, first=first, last=last, norm=norm, weights=weights)
    return lines + "\n    embed -. same weights .- head" if config.tie_embeddings else lines
