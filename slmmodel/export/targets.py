"""The Hugging Face architectures that a model of this package can become, as tables that are read in both directions.

Numbers never change: tensors are renamed, transposed, concatenated, and cut to the ids that exist. To add an
architecture, write its `Target` and its line in `TARGETS`. Torch-free.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any, ClassVar

from slmmodel.errors import InvalidConfig, UnsupportedFormat
from slmmodel.models import ModelConfig, config_from_dict
from slmmodel.models.config import DecoderConfig

_NOT_STORED = {"arch", "padded_vocab", "dropout", "attention", "activation_checkpointing"}
"""Options without effect on the logits of a trained model."""


class Target:
    """A Hugging Face architecture."""

    model_type: ClassVar[str]
    """its name in a `config.json`"""
    arch: ClassVar[str]
    """the architecture of ours that an import becomes"""
    keys: ClassVar[Mapping[str, str]]
    """options of `DecoderConfig` to keys of `config.json`"""
    constants: ClassVar[Mapping[str, object]]
    """keys that are written with these values, and refused with others"""
    unused: ClassVar[Mapping[str, object]]
    """keys that are not written, and refused with other values than these"""
    without_effect: ClassVar[set[str]] = set()
    """options of `DecoderConfig` that may have any value"""
    modules: ClassVar[Mapping[str, str]]
    """names of its modules to ours; `{}` is the layer, and a module of several of ours concatenates their rows"""
    transposed: ClassVar[tuple[str, ...]] = ()
    """ends of the names of modules whose weight is stored [in, out]"""
    has_biases: ClassVar[bool] = False

    def to_config(self, config: DecoderConfig) -> dict[str, Any]:
        """The architecture's part of a `config.json`."""
        return {**{theirs: getattr(config, ours) for ours, theirs in self.keys.items()}, **self.constants}

    def from_config(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """The flat table of a `ModelConfig`. Raises `UnsupportedFormat` for what no `ModelConfig` expresses."""
        for key, value in {**self.constants, **self.unused}.items():
            if table.get(key) not in (None, value):
                raise unsupported(key, table)
        known = {ours: table[theirs] for ours, theirs in self.keys.items() if table.get(theirs) is not None}
        return {"arch": self.arch, **known}

    def refusal(self, config: ModelConfig) -> str | None:
        """Why a configuration cannot become this architecture, in one clause; None where it can.

        It can where every option survives `to_config` and `from_config`.
        """
        if not isinstance(config, DecoderConfig):
            return f"its arch is {config.arch}"
        try:
            back = config_from_dict(self.from_config(self.to_config(config))).model_dump()
        except InvalidConfig as error:
            return error.fact
        for name, value in config.model_dump().items():
            if value != back[name] and name not in _NOT_STORED | self.without_effect:
                return f"its {name} is {value}"
        return None

    def renamed(self, names: Container[str], n_layers: int) -> Iterator[tuple[str, list[str], bool]]:
        """Every tensor of a model with these `names`: its name, ours that it concatenates, whether it is transposed.

        Biases that the model lacks are zeros, which compute the same.
        """
        for theirs, ours in self.modules.items():
            is_table = ours in ("embed", "positions", "head")
            for layer in map(str, range(n_layers if "{}" in theirs else 1)):
                module, parts = theirs.replace("{}", layer), ours.replace("{}", layer).split()
                weights = [f"{part}.{'gain' if 'norm' in part else 'weight'}" for part in parts]
                if weights[0] in names:
                    yield f"{module}.weight", weights, module.endswith(self.transposed)
                if self.has_biases and not is_table:
                    yield f"{module}.bias", [f"{part}.bias" for part in parts], False


def unsupported(key: str, table: Mapping[str, Any]) -> UnsupportedFormat:
    """The error for a key of a `config.json` with a value that no `ModelConfig` expresses."""
    fact = f"{key} {table.get(key)!r} is not supported"
    return UnsupportedFormat(fact, where="config.json", fix="only models without it can be read")


class Llama(Target):
    """`LlamaForCausalLM`: our decoder with RMSNorm, RoPE and SwiGLU, without QK-norm."""

    model_type, arch, qk_norm = "llama", "llama", False
    keys: ClassVar = {
        "n_vocab": "vocab_size",
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
    modules: ClassVar = {
        "model.embed_tokens": "embed",
        "model.norm": "norm",
        "lm_head": "head",
        "model.layers.{}.self_attn.q_proj": "blocks.{}.attention.q",
        "model.layers.{}.self_attn.k_proj": "blocks.{}.attention.k",
        "model.layers.{}.self_attn.v_proj": "blocks.{}.attention.v",
        "model.layers.{}.self_attn.o_proj": "blocks.{}.attention.o",
        "model.layers.{}.self_attn.q_norm": "blocks.{}.attention.q_norm",
        "model.layers.{}.self_attn.k_norm": "blocks.{}.attention.k_norm",
        "model.layers.{}.mlp.gate_proj": "blocks.{}.mlp.gate",
        "model.layers.{}.mlp.up_proj": "blocks.{}.mlp.up",
        "model.layers.{}.mlp.down_proj": "blocks.{}.mlp.down",
        "model.layers.{}.input_layernorm": "blocks.{}.norm1",
        "model.layers.{}.post_attention_layernorm": "blocks.{}.norm2",
    }

    def to_config(self, config: DecoderConfig) -> dict[str, Any]:
        """Versions of transformers look for the rotary base in two places; both are written."""
        rope = {"rope_type": "default", "rope_theta": config.rope_base}
        return {**super().to_config(config), "rope_parameters": rope, "attention_dropout": 0.0}

    def from_config(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """With the defaults of transformers."""
        for key in ("rope_parameters", "rope_scaling"):
            rope = table.get(key) or {}
            if rope.get("rope_type", rope.get("type", "default")) != "default":
                raise unsupported(key, table)
        rope = table.get("rope_parameters") or {}
        known = super().from_config({"rms_norm_eps": 1e-6, "tie_word_embeddings": False, **table})
        base = rope.get("rope_theta", table.get("rope_theta", 10_000.0))
        return {**known, "qk_norm": self.qk_norm, "rope_base": float(base)}


class Qwen3(Llama):
    """`Qwen3ForCausalLM`: with QK-norm."""

    model_type, qk_norm = "qwen3", True


class GPT2(Target):
    """`GPT2LMHeadModel`: our decoder with LayerNorm, learned positions and GELU.

    Its projections are stored [in, out], ours [out, in]; its query, key and value projections are one tensor.
    """

    model_type, arch = "gpt2", "gpt2"
    keys: ClassVar = {
        "n_vocab": "vocab_size",
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
    without_effect: ClassVar = {"bias", "rope_base"}
    modules: ClassVar = {
        "transformer.wte": "embed",
        "transformer.wpe": "positions",
        "transformer.ln_f": "norm",
        "lm_head": "head",
        "transformer.h.{}.ln_1": "blocks.{}.norm1",
        "transformer.h.{}.ln_2": "blocks.{}.norm2",
        "transformer.h.{}.attn.c_attn": "blocks.{}.attention.q blocks.{}.attention.k blocks.{}.attention.v",
        "transformer.h.{}.attn.c_proj": "blocks.{}.attention.o",
        "transformer.h.{}.mlp.c_fc": "blocks.{}.mlp.up",
        "transformer.h.{}.mlp.c_proj": "blocks.{}.mlp.down",
    }
    transposed: ClassVar = (".c_attn", ".c_proj", ".c_fc")
    has_biases = True

    def to_config(self, config: DecoderConfig) -> dict[str, Any]:
        """With activation and dropout."""
        dropout = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), config.dropout)
        activation = "gelu_new" if config.mlp == "gelu_tanh" else "gelu"
        return {**super().to_config(config), **dropout, "activation_function": activation}

    def from_config(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """With biases."""
        activation = table.get("activation_function", "gelu_new")
        if activation not in _GELU:
            raise unsupported("activation_function", table)
        return {"tie_embeddings": True, **super().from_config(table), "mlp": _GELU[activation], "bias": True}


_GELU = {"gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh"}
TARGETS: dict[str, Target] = {"Qwen3ForCausalLM": Qwen3(), "LlamaForCausalLM": Llama(), "GPT2LMHeadModel": GPT2()}


def architecture(config: ModelConfig) -> str:
    """The target that a configuration can become. Raises `UnsupportedFormat` with the reason for each."""
    reasons = {name: target.refusal(config) for name, target in TARGETS.items()}
    for name, reason in reasons.items():
        if reason is None:
            return name
    raise UnsupportedFormat(
        f"no Hugging Face architecture expresses this {config.arch}",
        limit="; ".join(f"{name}: {reason}" for name, reason in reasons.items()),
        fix="train a llama or a gpt2 without the settings named above; slm info RUN lists the possible exports",
    )


def exports(config: ModelConfig) -> dict[str, str]:
    """What a configuration can become, known before training: `hf` to the architecture, or to the reasons against."""
    try:
        return {"hf": architecture(config)}
    except UnsupportedFormat as error:
        return {"hf": f"not possible ({error.limit})"}
