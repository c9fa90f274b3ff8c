"""Hugging Face's `GPT2LMHeadModel`: our decoder with LayerNorm, learned positions and GELU.

Its projections are stored [in, out], ours [out, in]; its query, key and value projections are one tensor. Biases that
ours lacks are written as zeros, which compute the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from slmmodel.export.llama import pad_rows, refuse_unsupported, refused
from slmmodel.models import ModelConfig
from slmmodel.models.config import DecoderConfig

if TYPE_CHECKING:
    from torch import Tensor

_ACTIVATION = {"gelu": "gelu", "gelu_tanh": "gelu_new"}
_MLP = {"gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh"}
_LAYER_NORMS = {"norm1": "ln_1", "norm2": "ln_2"}
_LINEAR = {"attention.o": "attn.c_proj", "mlp.up": "mlp.c_fc", "mlp.down": "mlp.c_proj"}
_QKV = ("attention.q", "attention.k", "attention.v")


class GPT2Target:
    """See `Target` for the methods."""

    model_type = "gpt2"

    def refusal(self, config: ModelConfig) -> str | None:
        """Why a configuration cannot become this architecture."""
        if not isinstance(config, DecoderConfig):
            return f"it is a {config.arch}"
        if config.mlp not in _ACTIVATION:
            return f"its mlp is {config.mlp}"
        fixed = {"norm": "layer_norm", "positions": "learned", "qk_norm": False, "window": None}
        heads = {"n_kv_heads": config.n_heads, "head_dim": config.d_model // config.n_heads}
        return refused(config, {**fixed, **heads})

    def to_config(self, config: ModelConfig) -> dict[str, Any]:
        """Sizes and constants."""
        assert isinstance(config, DecoderConfig)
        return {
            "n_positions": config.seq_len,
            "n_embd": config.d_model,
            "n_layer": config.n_layers,
            "n_head": config.n_heads,
            "n_inner": config.d_ff,
            "activation_function": _ACTIVATION[config.mlp],
            "layer_norm_epsilon": 1e-5,
            **dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), config.dropout),
            "tie_word_embeddings": config.tie_embeddings,
        }

    def to_tensors(self, config: ModelConfig, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Our tensors under its names, transposed where it stores [in, out]."""
        import torch

        def bias(name: str, weight: Tensor) -> Tensor:
            return tensors[name] if name in tensors else weight.new_zeros(weight.shape[0])

        found = {"transformer.wte.weight": tensors["embed.weight"][: config.n_vocab]}
        found["transformer.wpe.weight"] = tensors["positions.weight"]
        if not config.tie_embeddings:
            found["lm_head.weight"] = tensors["head.weight"][: config.n_vocab]
        for i in range(config.n_layers):
            ours, theirs = f"blocks.{i}", f"transformer.h.{i}"
            weights = [tensors[f"{ours}.{part}.weight"] for part in _QKV]
            found[f"{theirs}.attn.c_attn.weight"] = torch.cat(weights).T.contiguous()
            biases = [bias(f"{ours}.{part}.bias", weight) for part, weight in zip(_QKV, weights, strict=True)]
            found[f"{theirs}.attn.c_attn.bias"] = torch.cat(biases)
            for one, other in _LINEAR.items():
                weight = tensors[f"{ours}.{one}.weight"]
                found[f"{theirs}.{other}.weight"] = weight.T.contiguous()
                found[f"{theirs}.{other}.bias"] = bias(f"{ours}.{one}.bias", weight)
        for one, other in _norms(config).items():
            gain = tensors[f"{one}.gain"]
            found[f"{other}.weight"], found[f"{other}.bias"] = gain, bias(f"{one}.bias", gain)
        return found

    def from_config(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """The flat table of a `gpt2` with biases."""
        activation = table.get("activation_function", "gelu_new")
        unsupported = {
            "activation_function": activation not in _MLP,
            "layer_norm_epsilon": abs(table.get("layer_norm_epsilon", 1e-5) - 1e-5) > 1e-12,
            "scale_attn_weights": not table.get("scale_attn_weights", True),
            "scale_attn_by_inverse_layer_idx": bool(table.get("scale_attn_by_inverse_layer_idx")),
            "add_cross_attention": bool(table.get("add_cross_attention")),
        }
        refuse_unsupported(table, unsupported)
        return {
            "arch": "gpt2",
            "n_vocab": table["vocab_size"],
            "seq_len": table["n_positions"],
            "n_layers": table["n_layer"],
            "d_model": table["n_embd"],
            "n_heads": table["n_head"],
            "d_ff": table.get("n_inner") or 4 * table["n_embd"],
            "mlp": _MLP[activation],
            "bias": True,
            "tie_embeddings": bool(table.get("tie_word_embeddings", True)),
        }

    def from_tensors(self, config: ModelConfig, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Its tensors under our names, removed from `tensors`."""
        found = {"embed.weight": pad_rows(tensors.pop("transformer.wte.weight"), config)}
        found["positions.weight"] = tensors.pop("transformer.wpe.weight")
        if not config.tie_embeddings:
            found["head.weight"] = pad_rows(tensors.pop("lm_head.weight"), config)
        for i in range(config.n_layers):
            ours, theirs = f"blocks.{i}", f"transformer.h.{i}"
            weights = tensors.pop(f"{theirs}.attn.c_attn.weight").T.chunk(3)
            biases = tensors.pop(f"{theirs}.attn.c_attn.bias").chunk(3)
            for part, weight, bias in zip(_QKV, weights, biases, strict=True):
                found[f"{ours}.{part}.weight"], found[f"{ours}.{part}.bias"] = weight.contiguous(), bias.contiguous()
            for one, other in _LINEAR.items():
                found[f"{ours}.{one}.weight"] = tensors.pop(f"{theirs}.{other}.weight").T.contiguous()
                found[f"{ours}.{one}.bias"] = tensors.pop(f"{theirs}.{other}.bias")
        for one, other in _norms(config).items():
            found[f"{one}.gain"], found[f"{one}.bias"] = tensors.pop(f"{other}.weight"), tensors.pop(f"{other}.bias")
        return found


def _norms(config: ModelConfig) -> dict[str, str]:
    """Our name of every LayerNorm to its name there."""
    norms = {"norm": "transformer.ln_f"}
    for i in range(config.n_layers):
        norms |= {f"blocks.{i}.{ours}": f"transformer.h.{i}.{theirs}" for ours, theirs in _LAYER_NORMS.items()}
    return norms


gpt2 = GPT2Target()
