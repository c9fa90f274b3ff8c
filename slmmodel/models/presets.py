"""Presets: shapes that were tried, with the vocabulary, context and optimizer numbers to begin with. Plain data.

Learning rates are starting points, taken from published recipes and scaled with the square root of the batch.
`vocabulary` is what the shape was chosen for; the data decide what a model really gets.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slmmodel.errors import UnknownName
from slmmodel.models.config import ModelConfig


@dataclass(frozen=True)
class Preset:
    """One line of the table."""

    model: Mapping[str, Any]
    """`kind` and the options of that kind"""
    vocabulary: int
    context: int
    batch_tokens: int
    """tokens of one step"""
    tokens: int
    """tokens of a whole run"""
    optim: Mapping[str, Any]
    """as in the section `optim` of a configuration"""

    def config(
        self, n_vocab: int | None = None, padded_vocab: int | None = None, context: int | None = None
    ) -> ModelConfig:
        """The model's configuration; sizes that are not given are the preset's."""
        n = self.vocabulary if n_vocab is None else n_vocab
        padded = -(-n // 64) * 64 if padded_vocab is None else padded_vocab
        sizes = {"n_vocab": n, "padded_vocab": padded, "context": self.context if context is None else context}
        return ModelConfig.from_dict({**self.model, **sizes})


def _llama(layers: int, width: int, heads: int, kv_heads: int, mlp_width: int, **more: Any) -> dict[str, Any]:
    shape = {"layers": layers, "width": width, "heads": heads, "kv_heads": kv_heads, "mlp_width": mlp_width}
    return {"kind": "llama", **shape, **more}


def _optim(
    name: str, lr: float, warmup: int, decay: float, beta2: float = 0.95, weight_decay: float = 0.1
) -> dict[str, Any]:
    schedule = {"kind": "wsd", "warmup": warmup, "decay": decay}
    numbers = {"name": name, "lr": lr, "betas": (0.9, beta2), "weight_decay": weight_decay, "clip": 1.0}
    return {**numbers, "schedule": schedule}


PRESETS: dict[str, Preset] = {
    "cpu-demo": Preset(
        # For a text that is read several times, hence the decay.
        _llama(4, 128, 4, 4, 352),
        1536,
        256,
        2_048,
        2_000_000,
        _optim("muon", 4e-3, 25, 0.7, 0.99, weight_decay=2.0),
    ),
    "cpu-stories": Preset(_llama(4, 128, 4, 4, 352), 4096, 512, 1_536, 1_350_000, _optim("muon", 4e-3, 25, 0.6, 0.99)),
    "tiny-3m": Preset(_llama(4, 256, 4, 4, 704), 2048, 256, 16_384, 40_000_000, _optim("adamw", 2e-3, 100, 0.3)),
    "stories-15m": Preset(
        _llama(8, 384, 6, 6, 1024), 4096, 512, 65_536, 328_000_000, _optim("adamw", 1.5e-3, 200, 0.2)
    ),
    "stories-15m-export": Preset(
        _llama(8, 384, 6, 6, 1024, qk_norm=False), 4096, 512, 65_536, 328_000_000, _optim("adamw", 7.5e-4, 200, 0.2)
    ),
    "base-40m": Preset(
        _llama(12, 512, 8, 4, 1408), 8192, 512, 131_072, 1_000_000_000, _optim("adamw", 1.5e-3, 400, 0.2)
    ),
    "base-85m": Preset(
        _llama(12, 768, 12, 4, 2048), 16_384, 1024, 262_144, 2_500_000_000, _optim("adamw", 1.5e-3, 500, 0.2)
    ),
    "base-200m": Preset(
        _llama(28, 768, 12, 4, 2048), 16_384, 1024, 524_288, 4_000_000_000, _optim("adamw", 2e-3, 1000, 0.2)
    ),
    "thin-115m": Preset(
        _llama(30, 576, 9, 3, 1536), 16_384, 1024, 524_288, 4_000_000_000, _optim("adamw", 2e-3, 1000, 0.2)
    ),
    "gpt2-124m": Preset(
        {"kind": "gpt2", "layers": 12, "width": 768, "heads": 12},
        *(50_304, 1024, 524_288, 10_000_000_000),
        _optim("adamw", 6e-4, 2000, 0.2),
    ),
    "gpt2-tiny": Preset(
        {"kind": "gpt2", "layers": 4, "width": 128, "heads": 4},
        *(50_304, 128, 2_048, 2_000_000),
        _optim("adamw", 1e-3, 50, 0.4, 0.99),
    ),
    "lstm-4m": Preset(
        {"kind": "lstm", "layers": 2, "width": 256, "hidden": 512},
        *(2048, 128, 16_384, 40_000_000),
        _optim("adamw", 2e-3, 100, 0.3),
    ),
}


def preset(name: str) -> Preset:
    """The preset of that name. Raises `UnknownName` with the nearest one."""
    if name not in PRESETS:
        near = difflib.get_close_matches(name, PRESETS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise UnknownName(
            f"unknown preset {name!r}{hint}",
            limit=f"presets: {', '.join(PRESETS)}",
            fix=f"--preset {near[0] if near else 'cpu-demo'}",
            name=name,
        )
    return PRESETS[name]
