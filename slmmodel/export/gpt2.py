"""Hugging Face's `GPT2LMHeadModel`: our decoder with LayerNorm, learned positions and GELU.

Its projections are stored [in, out], ours [out, in]; its query, key and value projections are one tensor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from slmmodel.export import Renamed, Target, unsupported
from slmmodel.models.config import DecoderConfig

_ACTIVATION = {"gelu": "gelu", "gelu_tanh": "gelu_new"}
_MLP = {"gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh"}
_LINEAR = {
    "attn.c_attn": ("attention.q", "attention.k", "attention.v"),
    "attn.c_proj": ("attention.o",),
    "mlp.c_fc": ("mlp.up",),
    "mlp.c_proj": ("mlp.down",),
}


class GPT2(Target):
    """GPT-2."""

    model_type, arch = "gpt2", "gpt2"
    keys: ClassVar = {
        "seq_len": "n_positions",
        "n_layers": "n_layer",
        "d_model": "n_embd",
        "n_heads": "n_head",
        "d_ff": "n_inner",
        "tie_embeddings": "tie_word_embeddings",
    }
    constants: ClassVar = {"layer_norm_epsilon": 1e-5}
    unused: ClassVar = {
        "scale_attn_weights": True,
        "scale_attn_by_inverse_layer_idx": False,
        "add_cross_attention": False,
    }

    def required(self, config: DecoderConfig) -> dict[str, object]:
        """Options and the values that they must have."""
        heads = {"n_kv_heads": config.n_heads, "head_dim": config.d_model // config.n_heads}
        options = {"mlp": config.mlp if config.mlp in _ACTIVATION else "gelu", "norm": "layer_norm", **heads}
        return {**options, "positions": "learned", "qk_norm": False, **super().required(config)}

    def to_config(self, config: DecoderConfig) -> dict[str, Any]:
        """With activation and dropout."""
        dropout = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), config.dropout)
        return {**super().to_config(config), **dropout, "activation_function": _ACTIVATION[config.mlp]}

    def from_config(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """With biases."""
        activation = table.get("activation_function", "gelu_new")
        if activation not in _MLP:
            raise unsupported("activation_function", table)
        return {"tie_embeddings": True, **super().from_config(table), "mlp": _MLP[activation], "bias": True}

    def tensors(self, config: DecoderConfig) -> Iterator[Renamed]:
        """Every tensor."""
        yield Renamed("transformer.wte.weight", ("embed.weight",))
        yield Renamed("transformer.wpe.weight", ("positions.weight",))
        if not config.tie_embeddings:
            yield Renamed("lm_head.weight", ("head.weight",))
        norms = {"norm": "transformer.ln_f"}
        for i in range(config.n_layers):
            norms |= {f"blocks.{i}.norm{n}": f"transformer.h.{i}.ln_{n}" for n in (1, 2)}
            for theirs, parts in _LINEAR.items():
                for kind in ("weight", "bias"):
                    ours = tuple(f"blocks.{i}.{part}.{kind}" for part in parts)
                    yield Renamed(f"transformer.h.{i}.{theirs}.{kind}", ours, transposed=kind == "weight")
        for one, other in norms.items():
            yield Renamed(f"{other}.weight", (f"{one}.gain",))
            yield Renamed(f"{other}.bias", (f"{one}.bias",))
