"""Hugging Face's `LlamaForCausalLM` and `Qwen3ForCausalLM`: our decoder with RMSNorm, RoPE and SwiGLU.

The two differ in QK-norm alone: Qwen3 has it, Llama has not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slmmodel.errors import UnsupportedExport
from slmmodel.models import ModelConfig
from slmmodel.models.config import DecoderConfig

if TYPE_CHECKING:
    from torch import Tensor

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
VOCAB_ROWS = {"embed.weight", "head.weight"}


@dataclass(frozen=True)
class LlamaTarget:
    """One of the two architectures; see `Target` for the methods."""

    model_type: str
    qk_norm: bool

    def refusal(self, config: ModelConfig) -> str | None:
        """Why a configuration cannot become this architecture."""
        if not isinstance(config, DecoderConfig):
            return f"it is a {config.arch}"
        if config.qk_norm != self.qk_norm:
            return f"QK-norm is {'on' if config.qk_norm else 'off'}"
        fixed = {"norm": "rms_norm", "positions": "rope", "mlp": "swiglu", "bias": False, "window": None}
        return refused(config, fixed)

    def to_config(self, config: ModelConfig) -> dict[str, Any]:
        """Sizes and constants. Versions of transformers look for the rotary base in two places; both are written."""
        assert isinstance(config, DecoderConfig)
        return {
            "hidden_size": config.d_model,
            "intermediate_size": config.d_ff,
            "num_hidden_layers": config.n_layers,
            "num_attention_heads": config.n_heads,
            "num_key_value_heads": config.n_kv_heads,
            "head_dim": config.head_dim,
            "hidden_act": "silu",
            "max_position_embeddings": config.seq_len,
            "rms_norm_eps": 1e-5,
            "rope_theta": config.rope_base,
            "rope_parameters": {"rope_type": "default", "rope_theta": config.rope_base},
            "attention_bias": False,
            "mlp_bias": False,
            "attention_dropout": 0.0,
            "tie_word_embeddings": config.tie_embeddings,
        }

    def to_tensors(self, config: ModelConfig, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The same tensors; embedding and head lose the rows of ids that do not exist."""
        return {
            theirs: tensors[ours][: config.n_vocab] if ours in VOCAB_ROWS else tensors[ours]
            for ours, theirs in self._names(config).items()
        }

    def from_config(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """The flat table of a `llama`."""
        rope = table.get("rope_parameters") or {}
        scaling = table.get("rope_scaling") or {}
        unsupported = {
            "hidden_act": table.get("hidden_act", "silu") != "silu",
            "rms_norm_eps": abs(table.get("rms_norm_eps", 1e-6) - 1e-5) > 1e-12,
            "attention_bias": bool(table.get("attention_bias")),
            "mlp_bias": bool(table.get("mlp_bias")),
            "use_sliding_window": bool(table.get("use_sliding_window")),
            "rope_parameters": rope.get("rope_type", "default") != "default",
            "rope_scaling": scaling.get("rope_type", scaling.get("type", "default")) != "default",
        }
        refuse_unsupported(table, unsupported)
        heads = table["num_attention_heads"]
        return {
            "arch": "llama",
            "n_vocab": table["vocab_size"],
            "seq_len": table["max_position_embeddings"],
            "n_layers": table["num_hidden_layers"],
            "d_model": table["hidden_size"],
            "n_heads": heads,
            "n_kv_heads": table.get("num_key_value_heads") or heads,
            "head_dim": table.get("head_dim") or table["hidden_size"] // heads,
            "d_ff": table["intermediate_size"],
            "qk_norm": self.qk_norm,
            "rope_base": float(rope.get("rope_theta", table.get("rope_theta", 10_000.0))),
            "tie_embeddings": bool(table.get("tie_word_embeddings", False)),
        }

    def from_tensors(self, config: ModelConfig, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Its tensors under our names; rows of ids that do not exist are zero."""
        found = {ours: tensors.pop(theirs) for ours, theirs in self._names(config).items() if theirs in tensors}
        return {ours: pad_rows(tensor, config) if ours in VOCAB_ROWS else tensor for ours, tensor in found.items()}

    def _names(self, config: ModelConfig) -> dict[str, str]:
        """Our name of every tensor to its name there."""
        layer = {**LAYER, **(QK_NORM if self.qk_norm else {})}
        names = {"embed.weight": "model.embed_tokens.weight", "norm.gain": "model.norm.weight"}
        if not config.tie_embeddings:
            names["head.weight"] = "lm_head.weight"
        for i in range(config.n_layers):
            names |= {f"blocks.{i}.{ours}": f"model.layers.{i}.{theirs}" for ours, theirs in layer.items()}
        return names


llama = LlamaTarget("llama", qk_norm=False)
qwen3 = LlamaTarget("qwen3", qk_norm=True)


def refused(config: DecoderConfig, fixed: Mapping[str, object]) -> str | None:
    """The first option that differs from what the target has, or None. No target caps logits."""
    for name, value in {**fixed, "softcap": None}.items():
        if getattr(config, name) != value:
            return f"its {name} is {getattr(config, name)}"
    return None


def refuse_unsupported(table: Mapping[str, Any], unsupported: Mapping[str, bool]) -> None:
    """Raises `UnsupportedExport` for the first key of a `config.json` whose value no `ModelConfig` expresses."""
    for key, is_unsupported in unsupported.items():
        if is_unsupported:
            raise UnsupportedExport(
                f"{key} {table.get(key)!r} is not supported",
                where="config.json",
                fix="only models without it can be read",
            )


def pad_rows(tensor: Tensor, config: ModelConfig) -> Tensor:
    """[V, d] with zero rows appended up to V'."""
    from torch.nn.functional import pad

    return pad(tensor, (0, 0, 0, config.padded_vocab - tensor.shape[0]))
