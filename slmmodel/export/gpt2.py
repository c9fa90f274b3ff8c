"""Hugging Face's `GPT2LMHeadModel`: our `gpt2`. Biases that ours lacks are written as zeros, which compute the same.

Its projections are stored [in, out], ours [out, in]; its query, key and value stand side by side in one tensor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from slmmodel.errors import UnsupportedExport
from slmmodel.export.rotary import padded
from slmmodel.models import ModelConfig

_GELU = {"erf": "gelu", "tanh": "gelu_new"}
_NORMS = {"norm1": "ln_1", "norm2": "ln_2"}
_LINEAR = {"attention.o": "attn.c_proj", "mlp.up": "mlp.c_fc", "mlp.down": "mlp.c_proj"}
_QKV = ("attention.q", "attention.k", "attention.v")


def refusal(config: ModelConfig) -> str | None:
    """Why a configuration cannot become this; None where it can."""
    if config.kind != "gpt2":
        return f"it is a {config.kind}"
    return "its logits are capped" if config.options.softcap is not None else None


def to_config(config: ModelConfig) -> dict[str, Any]:
    """Sizes and constants."""
    options = config.options
    return {
        "n_positions": config.context,
        "n_embd": options.width,
        "n_layer": options.layers,
        "n_head": options.heads,
        "n_inner": options.mlp_width,
        "activation_function": _GELU[options.gelu],
        "layer_norm_epsilon": 1e-5,
        **dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), options.dropout),
        "tie_word_embeddings": options.tied,
    }


def to_tensors(config: ModelConfig, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Our tensors under its names, transposed where it stores [in, out]."""

    def vector(name: str, like: Tensor) -> Tensor:
        return tensors[name] if name in tensors else like.new_zeros(like.shape[0])

    found = {"transformer.wte.weight": tensors["embed.weight"][: config.n_vocab]}
    found["transformer.wpe.weight"] = tensors["positions.weight"]
    if not config.options.tied:
        found["lm_head.weight"] = tensors["head.weight"][: config.n_vocab]
    norms = {"norm": "transformer.ln_f"}
    for at in range(config.options.layers):
        ours, theirs = f"blocks.{at}", f"transformer.h.{at}"
        norms |= {f"{ours}.{one}": f"{theirs}.{other}" for one, other in _NORMS.items()}
        weights = [tensors[f"{ours}.{part}.weight"] for part in _QKV]
        found[f"{theirs}.attn.c_attn.weight"] = torch.cat(weights).T.contiguous()
        biases = [vector(f"{ours}.{part}.bias", weight) for part, weight in zip(_QKV, weights, strict=True)]
        found[f"{theirs}.attn.c_attn.bias"] = torch.cat(biases)
        for one, other in _LINEAR.items():
            weight = tensors[f"{ours}.{one}.weight"]
            found[f"{theirs}.{other}.weight"] = weight.T.contiguous()
            found[f"{theirs}.{other}.bias"] = vector(f"{ours}.{one}.bias", weight)
    for one, other in norms.items():
        gain = tensors[f"{one}.gain"]
        found[f"{other}.weight"], found[f"{other}.bias"] = gain, vector(f"{one}.bias", gain)
    return found


def from_config(table: Mapping[str, Any]) -> dict[str, Any]:
    """The flat table of a `gpt2` with biases. Raises `UnsupportedExport`."""
    activation = table.get("activation_function", "gelu_new")
    by_name = {theirs: ours for ours, theirs in _GELU.items()} | {"gelu_pytorch_tanh": "tanh"}
    wrong = {
        "activation_function": activation not in by_name,
        "layer_norm_epsilon": abs(table.get("layer_norm_epsilon", 1e-5) - 1e-5) > 1e-12,
        "scale_attn_weights": not table.get("scale_attn_weights", True),
        "scale_attn_by_inverse_layer_idx": bool(table.get("scale_attn_by_inverse_layer_idx")),
        "add_cross_attention": bool(table.get("add_cross_attention")),
    }
    for key, is_wrong in wrong.items():
        if is_wrong:
            raise UnsupportedExport(
                f"its {key} is {table.get(key)!r}, which no model of ours has",
                where="config.json",
                fix="only a model without it can be read",
            )
    return {
        "kind": "gpt2",
        "n_vocab": table["vocab_size"],
        "context": table["n_positions"],
        "layers": table["n_layer"],
        "width": table["n_embd"],
        "heads": table["n_head"],
        "mlp_width": table.get("n_inner") or 4 * table["n_embd"],
        "gelu": by_name[activation],
        "bias": True,
        "tied": bool(table.get("tie_word_embeddings", True)),
    }


def from_tensors(config: ModelConfig, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Its tensors under our names, taken out of `tensors`."""
    found = {"embed.weight": padded(tensors.pop("transformer.wte.weight"), config)}
    found["positions.weight"] = tensors.pop("transformer.wpe.weight")
    if not config.options.tied:
        found["head.weight"] = padded(tensors.pop("lm_head.weight"), config)
    norms = {"norm": "transformer.ln_f"}
    for at in range(config.options.layers):
        ours, theirs = f"blocks.{at}", f"transformer.h.{at}"
        norms |= {f"{ours}.{one}": f"{theirs}.{other}" for one, other in _NORMS.items()}
        weights = tensors.pop(f"{theirs}.attn.c_attn.weight").T.chunk(3)
        biases = tensors.pop(f"{theirs}.attn.c_attn.bias").chunk(3)
        for part, weight, bias in zip(_QKV, weights, biases, strict=True):
            found[f"{ours}.{part}.weight"], found[f"{ours}.{part}.bias"] = weight.contiguous(), bias.contiguous()
        for one, other in _LINEAR.items():
            found[f"{ours}.{one}.weight"] = tensors.pop(f"{theirs}.{other}.weight").T.contiguous()
            found[f"{ours}.{one}.bias"] = tensors.pop(f"{theirs}.{other}.bias")
    for one, other in norms.items():
        found[f"{one}.gain"], found[f"{one}.bias"] = tensors.pop(f"{other}.weight"), tensors.pop(f"{other}.bias")
    return found
