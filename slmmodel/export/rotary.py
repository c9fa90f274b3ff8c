"""Names that Hugging Face's Llama and Qwen3 share; they differ in the norms of queries and keys alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from slmmodel.errors import UnsupportedExport
from slmmodel.models import ModelConfig

LAYER = {
    "attention.q.weight": "self_attn.q_proj.weight",
    "attention.k.weight": "self_attn.k_proj.weight",
    "attention.v.weight": "self_attn.v_proj.weight",
    "attention.o.weight": "self_attn.o_proj.weight",
    "mlp.gate.weight": "mlp.gate_proj.weight",
    "mlp.up.weight": "mlp.up_proj.weight",
    "mlp.down.weight": "mlp.down_proj.weight",
    "norm1.gain": "input_layernorm.weight",
    "norm2.gain": "post_attention_layernorm.weight",
}
QK_NORM = {"attention.q_norm.gain": "self_attn.q_norm.weight", "attention.k_norm.gain": "self_attn.k_norm.weight"}


def refusal(config: ModelConfig, *, qk_norm: bool) -> str | None:
    """Why a configuration cannot have these names."""
    options = config.options
    if config.kind != "llama":
        return f"it is a {config.kind}"
    if options.qk_norm != qk_norm:
        return f"QK-norm is {'on' if options.qk_norm else 'off'}"
    if options.mlp != "swiglu":
        return f"its MLP is {options.mlp}"
    return "its logits are capped" if options.softcap is not None else None


def names(config: ModelConfig) -> dict[str, str]:
    """Our names to theirs, for all tensors of a model."""
    layer = {**LAYER, **(QK_NORM if config.options.qk_norm else {})}
    found = {"embed.weight": "model.embed_tokens.weight", "norm.gain": "model.norm.weight"}
    if not config.options.tied:
        found["head.weight"] = "lm_head.weight"
    for at in range(config.options.layers):
        found |= {f"blocks.{at}.{ours}": f"model.layers.{at}.{theirs}" for ours, theirs in layer.items()}
    return found


def to_config(config: ModelConfig) -> dict[str, Any]:
    """Sizes and constants. The base of rotations stands at both places where versions look for it."""
    options = config.options
    return {
        "hidden_size": options.width,
        "intermediate_size": options.mlp_width,
        "num_hidden_layers": options.layers,
        "num_attention_heads": options.heads,
        "num_key_value_heads": options.kv_heads,
        "head_dim": options.head_dim,
        "hidden_act": "silu",
        "max_position_embeddings": config.context,
        "rms_norm_eps": 1e-5,
        "rope_theta": options.rope_base,
        "rope_parameters": {"rope_type": "default", "rope_theta": options.rope_base},
        "attention_bias": False,
        "mlp_bias": False,
        "attention_dropout": 0.0,
        "tie_word_embeddings": options.tied,
    }


def to_tensors(config: ModelConfig, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The same tensors; embedding and head lose the rows of ids that do not exist."""
    rows = {"embed.weight", "head.weight"}
    return {
        theirs: tensors[ours][: config.n_vocab] if ours in rows else tensors[ours]
        for ours, theirs in names(config).items()
    }


def from_config(table: Mapping[str, Any], *, qk_norm: bool) -> dict[str, Any]:
    """The flat table of a `llama`."""
    rope = table.get("rope_parameters") or {}
    scaling = table.get("rope_scaling") or {}
    wrong = {
        "hidden_act": table.get("hidden_act", "silu") != "silu",
        "rms_norm_eps": abs(table.get("rms_norm_eps", 1e-6) - 1e-5) > 1e-12,
        "attention_bias": bool(table.get("attention_bias")),
        "mlp_bias": bool(table.get("mlp_bias")),
        "use_sliding_window": bool(table.get("use_sliding_window")),
        "rope_parameters": rope.get("rope_type", "default") != "default",
        "rope_scaling": scaling.get("rope_type", scaling.get("type", "default")) != "default",
    }
    for key, is_wrong in wrong.items():
        if is_wrong:
            raise UnsupportedExport(
                f"its {key} is {table.get(key)!r}, which no model of ours has",
                where="config.json",
                fix="only a model without it can be read",
            )
    heads = table["num_attention_heads"]
    return {
        "kind": "llama",
        "n_vocab": table["vocab_size"],
        "context": table["max_position_embeddings"],
        "layers": table["num_hidden_layers"],
        "width": table["hidden_size"],
        "heads": heads,
        "kv_heads": table.get("num_key_value_heads") or heads,
        "head_dim": table.get("head_dim") or table["hidden_size"] // heads,
        "mlp_width": table["intermediate_size"],
        "qk_norm": qk_norm,
        "rope_base": float(rope.get("rope_theta", table.get("rope_theta", 10_000.0))),
        "tied": bool(table.get("tie_word_embeddings", False)),
    }


def from_tensors(config: ModelConfig, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Theirs under our names, taken out of `tensors`; rows for ids that do not exist are zero."""
    rows = {"embed.weight", "head.weight"}
    found = {ours: tensors.pop(theirs) for ours, theirs in names(config).items() if theirs in tensors}
    return {ours: padded(tensor, config) if ours in rows else tensor for ours, tensor in found.items()}


def padded(tensor: Tensor, config: ModelConfig) -> Tensor:
    """[V,d] with rows of zeros up to V'."""
    missing = config.padded_vocab - tensor.shape[0]
    return (
        tensor
        if missing <= 0
        else tensor.new_zeros(config.padded_vocab, *tensor.shape[1:]).index_copy_(0, _rows(tensor), tensor)
    )


def _rows(tensor: Tensor) -> Tensor:
    import torch

    return torch.arange(tensor.shape[0], device=tensor.device)
