"""Tiny configurations of every architecture in the registry, and variants of them."""

from __future__ import annotations

from typing import Any

import torch

from slmmodel.decoding_options import DecodingOptions, SamplingOptions
from slmmodel.models import ModelConfig, build, config_from_dict
from slmmodel.models.protocol import Model

SHAPES: dict[str, dict[str, Any]] = {
    "llama": {"n_layers": 2, "d_model": 32, "n_heads": 4, "n_kv_heads": 2},
    "gpt2": {"n_layers": 2, "d_model": 32, "n_heads": 4},
    "infini": {"n_layers": 2, "d_model": 32, "n_heads": 4, "n_kv_heads": 2, "segment": 5},
    "lstm": {"n_layers": 2, "d_model": 24, "hidden_size": 32},
    "gru": {"n_layers": 2, "d_model": 24, "hidden_size": 32},
    "rnn": {"n_layers": 2, "d_model": 24, "hidden_size": 32},
}
VARIANTS: dict[str, dict[str, Any]] = {
    **{arch: {"arch": arch, **shape} for arch, shape in SHAPES.items()},
    "llama-plain": {"arch": "llama", **SHAPES["llama"], "qk_norm": False, "tie_embeddings": False, "n_kv_heads": 4},
    "llama-relu2": {"arch": "llama", **SHAPES["llama"], "mlp": "relu2", "head_dim": 10, "softcap": 15.0},
    "gpt2-bias": {"arch": "gpt2", **SHAPES["gpt2"], "bias": True, "mlp": "gelu_tanh"},
    "llama-window": {"arch": "llama", **SHAPES["llama"], "window": 4},
    "infini-linear": {
        "arch": "infini",
        **SHAPES["infini"],
        "memory": "linear",
        "positions": "continue",
        "n_kv_heads": 4,
    },
    "infini-off": {"arch": "infini", **SHAPES["infini"], "memory": "off", "tie_embeddings": False},
    "infini-tanh": {"arch": "infini", **SHAPES["infini"], "gate": "tanh", "gate_init": "randn"},
    "lstm-untied": {"arch": "lstm", **SHAPES["lstm"], "tie_embeddings": False},
}
N_VOCAB, SEQ_LEN = 70, 24


def config(name: str, **changes: Any) -> ModelConfig:
    """The configuration of a variant: 70 ids padded to 128 rows, seq_len 24."""
    return config_from_dict({"n_vocab": N_VOCAB, "seq_len": SEQ_LEN, **VARIANTS[name], **changes})


def model(name: str, *, seed: int = 0, randomise: bool = True, **changes: Any) -> Model:
    """A model in evaluation mode. `randomise` adds noise to every weight, so that every part has an effect."""
    made = build(config(name, **changes), seed=seed).eval()
    if randomise:
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in made.parameters():
                parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.15)
    return made


def decoding(options: SamplingOptions = SamplingOptions(), **more: Any) -> DecodingOptions:  # noqa: B008  (frozen)
    """Options of sampling with those of a search, as `DecodingOptions`."""
    return DecodingOptions(**{**options.model_dump(), **more})


def ids(rows: int, seq_len: int, seed: int = 0) -> torch.Tensor:
    """Random ids [rows, seq_len]."""
    return torch.randint(0, N_VOCAB, (rows, seq_len), generator=torch.Generator().manual_seed(seed))
