"""Tiny configurations of every kind of model in the registry, and variants worth testing beside them."""

from __future__ import annotations

from typing import Any

import torch

from slmmodel.models import ModelConfig, build
from slmmodel.models.protocol import Model

SHAPES: dict[str, dict[str, Any]] = {
    "llama": {"layers": 2, "width": 32, "heads": 4, "kv_heads": 2},
    "gpt2": {"layers": 2, "width": 32, "heads": 4},
    "lstm": {"layers": 2, "width": 24, "hidden": 32},
    "gru": {"layers": 2, "width": 24, "hidden": 32},
    "rnn": {"layers": 2, "width": 24, "hidden": 32},
}
VARIANTS: dict[str, dict[str, Any]] = {
    **{kind: {"kind": kind, **shape} for kind, shape in SHAPES.items()},
    "llama-plain": {"kind": "llama", **SHAPES["llama"], "qk_norm": False, "tied": False, "kv_heads": 4},
    "llama-relu2": {"kind": "llama", **SHAPES["llama"], "mlp": "relu2", "head_dim": 10, "softcap": 15.0},
    "gpt2-bias": {"kind": "gpt2", **SHAPES["gpt2"], "bias": True, "gelu": "tanh"},
    "lstm-untied": {"kind": "lstm", **SHAPES["lstm"], "tied": False},
}
N_VOCAB, CONTEXT = 70, 24


def config(name: str, **changes: Any) -> ModelConfig:
    """The configuration of a variant: 70 ids padded to 128 rows, context 24."""
    return ModelConfig.from_dict({"n_vocab": N_VOCAB, "context": CONTEXT, **VARIANTS[name], **changes})


def model(name: str, *, seed: int = 0, lively: bool = True, **changes: Any) -> Model:
    """A model in evaluation mode. `lively`: every weight is random and large, so that no part is without effect."""
    made = build(config(name, **changes), seed=seed).eval()
    if lively:
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in made.parameters():
                parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.15)
    return made


def ids(rows: int, slots: int, seed: int = 0) -> torch.Tensor:
    """Random ids [rows, slots]."""
    return torch.randint(0, N_VOCAB, (rows, slots), generator=torch.Generator().manual_seed(seed))
