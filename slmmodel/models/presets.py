"""Presets: tested shapes, each with a vocabulary size, a sequence length and optimizer settings. Plain data.

Learning rates are starting points, taken from published recipes and scaled with the square root of the batch size.
`n_vocab` is the size that the shape was chosen for; a run takes it from its data.
"""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from slmmodel.errors import Argument, Fix, UnknownName, unknown_name
from slmmodel.foreign_names import FOREIGN_PRESETS
from slmmodel.indexing import explains_indexing
from slmmodel.models import MODELS, Arch, ModelConfig, config_from_dict, count


@explains_indexing
@dataclass(frozen=True)
class Preset:
    """One entry of the table."""

    model: Mapping[str, Any]
    """`arch` and its options"""
    n_vocab: int
    seq_len: int
    batch_tokens: int
    """tokens per step"""
    tokens: int
    """tokens of a whole run"""
    optim: Mapping[str, Any]
    """the section `optim` of a run's configuration"""

    def config(self) -> ModelConfig:
        """The model's configuration."""
        return config_from_dict({**self.model, "n_vocab": self.n_vocab, "seq_len": self.seq_len})


_SIZES = {
    "llama": ("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff"),
    "gpt2": ("n_layers", "d_model", "n_heads"),
    "infini": ("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff"),
    "lstm": ("n_layers", "d_model", "hidden_size"),
}


def _model(arch: str, *sizes: int, **more: Any) -> dict[str, Any]:
    return {"arch": arch, **dict(zip(_SIZES[arch], sizes, strict=True)), **more}


def _optim(
    name: str, lr: float, warmup: int, decay: float, beta2: float = 0.95, weight_decay: float = 0.1
) -> dict[str, Any]:
    schedule = {"kind": "wsd", "warmup": warmup, "decay": decay}
    numbers = {"name": name, "lr": lr, "betas": (0.9, beta2), "weight_decay": weight_decay, "grad_clip": 1.0}
    return {**numbers, "schedule": schedule}


_INFINI_200M = {"qk_norm": False, "tie_embeddings": False}
# Experiment 53 of the nanotron fork behind huggingface.co/blog/infini-attention (2024), as published.
_EXP53 = {
    **_INFINI_200M,
    "gate": "hard_sigmoid",
    "init_std": 0.03125,
}
# A cosine over 50,000 steps to a tenth, gates at their own rate and decayed.
_EXP53_OPTIM = {
    **_optim("adamw", 3.75e-5, 5_000, 0.0),
    "schedule": {"kind": "cosine", "warmup": 5_000, "final": 0.1},
    "gate_lr": 1.5e-4,
    "gate_weight_decay": 0.1,
}


_llama, _gpt2, _lstm = partial(_model, "llama"), partial(_model, "gpt2"), partial(_model, "lstm")
_infini = partial(_model, "infini")
_adamw, _muon = partial(_optim, "adamw"), partial(_optim, "muon")

# name: sizes of the model; n_vocab, seq_len, batch_tokens, tokens; lr, warmup, decay and more of the optimizer
PRESETS: dict[str, Preset] = {
    # The text is read several times, hence the large weight decay.
    "cpu-demo": Preset(_llama(4, 128, 4, 4, 352), 1536, 256, 2_048, 2_000_000, _muon(4e-3, 25, 0.7, 0.99, 2.0)),
    "cpu-stories": Preset(_llama(4, 128, 4, 4, 352), 4096, 512, 1_536, 1_350_000, _muon(4e-3, 25, 0.6, 0.99)),
    "tiny-3m": Preset(_llama(4, 256, 4, 4, 704), 2048, 256, 16_384, 40_000_000, _adamw(2e-3, 100, 0.3)),
    "stories-15m": Preset(_llama(8, 384, 6, 6, 1024), 4096, 512, 65_536, 328_000_000, _adamw(1.5e-3, 200, 0.2)),
    "stories-15m-export": Preset(
        _llama(8, 384, 6, 6, 1024, qk_norm=False), 4096, 512, 65_536, 328_000_000, _adamw(7.5e-4, 200, 0.2)
    ),
    "base-40m": Preset(_llama(12, 512, 8, 4, 1408), 8192, 512, 131_072, 1_000_000_000, _adamw(1.5e-3, 400, 0.2)),
    "base-85m": Preset(_llama(12, 768, 12, 4, 2048), 16_384, 1024, 262_144, 2_500_000_000, _adamw(1.5e-3, 500, 0.2)),
    "base-200m": Preset(_llama(28, 768, 12, 4, 2048), 16_384, 1024, 524_288, 4_000_000_000, _adamw(2e-3, 1000, 0.2)),
    "base-500m": Preset(
        _llama(26, 1280, 20, 5, 3456), 32_768, 2048, 524_288, 10_000_000_000, _adamw(1.2e-3, 1000, 0.2)
    ),
    "base-1b8": Preset(_llama(36, 2048, 16, 8, 5504), 65_536, 2048, 1_048_576, 36_000_000_000, _adamw(6e-4, 2000, 0.2)),
    "thin-115m": Preset(_llama(30, 576, 9, 3, 1536), 16_384, 1024, 524_288, 4_000_000_000, _adamw(2e-3, 1000, 0.2)),
    "gpt2-124m": Preset(_gpt2(12, 768, 12), 50_304, 1024, 524_288, 10_000_000_000, _adamw(6e-4, 2000, 0.2)),
    "gpt2-tiny": Preset(_gpt2(4, 128, 4), 50_304, 128, 2_048, 2_000_000, _adamw(1e-3, 50, 0.4, 0.99)),
    # Sixteen segments a sequence, gates at a rate of 0.01: with fewer, or at the rate of matrices, gates stay at 0.5.
    "infini-cpu": Preset(
        _infini(4, 128, 4, 4, 352, segment=32), 1536, 512, 2_048, 2_000_000, _muon(4e-3, 25, 0.7, 0.99)
    ),
    "infini-15m": Preset(_infini(8, 384, 6, 6, 1024), 4096, 1024, 65_536, 328_000_000, _adamw(1.5e-3, 200, 0.2)),
    "infini-200m": Preset(
        _infini(6, 1024, 8, 8, 4096, **_INFINI_200M), 49_152, 1024, 524_288, 4_000_000_000, _adamw(1e-3, 1000, 0.2)
    ),
    "infini-200m-8k": Preset(
        _infini(6, 1024, 8, 8, 4096, segment=512, **_INFINI_200M),
        49_152,
        8192,
        524_288,
        4_000_000_000,
        _adamw(1e-3, 1000, 0.2),
    ),
    "infini-200m-exp53": Preset(
        _infini(6, 1024, 8, 8, 4096, **_EXP53), 49_152, 256, 2_293_760, 114_688_000_000, _EXP53_OPTIM
    ),
    "lstm-4m": Preset(_lstm(2, 256, 512), 2048, 128, 16_384, 40_000_000, _adamw(2e-3, 100, 0.3)),
}
DEFAULT_PRESETS = {
    # Preset by largest number of training ids. A CPU trains the larger ones for more than a day.
    "cpu": {2e7: "cpu-demo", math.inf: "tiny-3m"},
    "cuda": {8e6: "cpu-demo", 8e7: "tiny-3m", 1e9: "stories-15m", 5e9: "base-40m", math.inf: "base-85m"},
}
_SIZE = re.compile(r"(?<![a-z0-9.])[a-z]*?(\d+(?:\.\d+)?)([mb])(?![a-z0-9])")
"""Parameters in the name of a model: `160m`, `7b`, `1.1b`."""
_GENERAL = ("tiny-", "stories-15m", "base-", "gpt2-124m")
"""First letters of the presets that stand for a size."""
_MAX_COMMENT_CHARS = 200
"""Of the first line of a file of settings, which names its preset."""


def preset(name: str, fix: str | Argument = Argument("preset")) -> Preset:  # noqa: B008  (a frozen value)
    """The preset of that name. Raises `UnknownName` with the nearest one; `fix` as in `unknown_name`."""
    if name not in PRESETS:
        _refuse_configuration(name)
        raise unknown_name("preset", name, PRESETS, fix, nearest=nearest_in_size(name), option="model.preset")
    return PRESETS[name]


def _refuse_configuration(name: str) -> None:
    """Raises `UnknownName` for a run or a file of settings in the place of a preset, with the preset in its comment."""
    is_run = os.path.isdir(name)  # noqa: PTH112  (false for names that no system takes)
    path = Path(name, "config.yaml") if is_run else Path(name)
    if path.suffix not in (".yaml", ".yml") or not os.path.isfile(path):  # noqa: PTH113
        return
    recorded = ""
    with suppress(OSError), path.open(encoding="utf-8", errors="replace") as file:
        recorded = file.readline(_MAX_COMMENT_CHARS).strip().removeprefix("# preset: ")
    fix: Fix = f"slm train --config {shlex.quote(str(path))} -o NEW trains with its settings"
    if recorded in PRESETS:
        fix = (Argument("preset", recorded), f", which {'the run' if is_run else 'the file'} has; or {fix}")
    what = "a run" if is_run else "a file of settings"
    raise UnknownName(f"{name!r} is {what}, not a preset", fix=fix, name=name, option="model.preset")


def archs_named(preset: str | None, arch: str | None) -> list[Arch]:
    """The architecture of this name, else that of the preset, by default of the first one; all for unknown names."""
    base = PRESETS.get(preset or next(iter(DEFAULT_PRESETS["cpu"].values())))
    name = arch or (base and str(base.model["arch"]))
    return [MODELS[name]] if name in MODELS else [*MODELS.values()]


def preset_lengths() -> dict[str, int]:
    """`model.seq_len` of each preset."""
    return {name: preset.seq_len for name, preset in PRESETS.items()}


def nearest_in_size(name: str) -> str | None:
    """The preset for text whose parameters are nearest to those of a model of another trainer; None for other names."""
    last = name.rpartition("/")[2].lower().replace("_", "-")
    found = _SIZE.search(FOREIGN_PRESETS.get(last, last))
    if found is None:
        return None
    wanted = float(found[1]) * (1e9 if found[2] == "b" else 1e6)
    parameters = {each: count(PRESETS[each].config()).parameters for each in PRESETS if each.startswith(_GENERAL)}
    return min(parameters, key=lambda each: abs(math.log(parameters[each] / wanted)))
