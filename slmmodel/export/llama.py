"""Hugging Face's `LlamaForCausalLM` and `Qwen3ForCausalLM`: our decoder with RMSNorm, RoPE and SwiGLU.

The two differ in QK-norm alone: Qwen3 has it, Llama has not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from slmmodel.export import Renamed, Target, unsupported
from slmmodel.models.config import DecoderConfig

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


class Llama(Target):
    """Llama: without QK-norm."""

    model_type, arch, qk_norm = "llama", "llama", False
    keys: ClassVar = {
        "seq_len": "max_position_embeddings",
        "n_layers": "num_hidden_layers",
        "d_model": "hidden_size",
        "n_heads": "num_attention_heads",
        "n_kv_heads": "num_key_value_heads",
        "head_dim": "head_dim",
        "d_ff": "intermediate_size",
        "rope_base": "rope_theta",
        "tie_embeddings": "tie_word_embeddings",
    }
    constants: ClassVar = {"hidden_act": "silu", "attention_bias": False, "mlp_bias": False, "rms_norm_eps": 1e-5}
    unused: ClassVar = {"use_sliding_window": False}

    def required(self, config: DecoderConfig) -> dict[str, object]:
        """Options and the values that they must have."""
        options = {"qk_norm": self.qk_norm, "norm": "rms_norm", "positions": "rope", "mlp": "swiglu", "bias": False}
        return {**options, **super().required(config)}

    def to_config(self, config: DecoderConfig) -> dict[str, Any]:
        """Versions of transformers look for the rotary base in two places; both are written."""
        rope = {"rope_type": "default", "rope_theta": config.rope_base}
        return {**super().to_config(config), "rope_parameters": rope, "attention_dropout": 0.0}

    def from_config(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """With the defaults of transformers."""
        rope, scaling = table.get("rope_parameters") or {}, table.get("rope_scaling") or {}
        if rope.get("rope_type", "default") != "default":
            raise unsupported("rope_parameters", table)
        if scaling.get("rope_type", scaling.get("type", "default")) != "default":
            raise unsupported("rope_scaling", table)
        known = super().from_config({"rms_norm_eps": 1e-6, "tie_word_embeddings": False, **table})
        base = rope.get("rope_theta", table.get("rope_theta", 10_000.0))
        return {**known, "qk_norm": self.qk_norm, "rope_base": float(base)}

    def tensors(self, config: DecoderConfig) -> Iterator[Renamed]:
        """Every tensor."""
        yield Renamed("model.embed_tokens.weight", ("embed.weight",))
        yield Renamed("model.norm.weight", ("norm.gain",))
        if not config.tie_embeddings:
            yield Renamed("lm_head.weight", ("head.weight",))
        for i in range(config.n_layers):
            for ours, theirs in {**LAYER, **(QK_NORM if config.qk_norm else {})}.items():
                yield Renamed(f"model.layers.{i}.{theirs}", (f"blocks.{i}.{ours}",))


class Qwen3(Llama):
    """Qwen3: with QK-norm."""

    model_type, qk_norm = "qwen3", True
