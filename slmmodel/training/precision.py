"""Number types: in what to train, and whether to compile.

Weights and optimizer state are fp32 always (fp64 where asked for). bf16 and fp16 are autocast: products in the short
type, norms, softmax and loss in fp32. fp16 needs its loss scaled, and the scale is part of a run's state.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

COMPILE_FROM = 300.0
"""Planned seconds from which compiling pays on CUDA; a CPU never gets them back."""
FIRST_SCALE = 65536.0
GROW_EVERY = 2000


def resolve(asked: str, device: torch.device) -> str:
    """`auto` made definite: bf16 on CUDA that has it, fp16 on older CUDA, else fp32."""
    if asked != "auto":
        return asked
    if device.type != "cuda":
        return "fp32"
    return "bf16" if torch.cuda.is_bf16_supported() else "fp16"


class Precision:
    """Autocast and loss scaling of one run (dynamic scaling: Micikevicius et al., 2018)."""

    def __init__(self, name: str, device: torch.device) -> None:
        self.name, self.device = name, device
        self.short = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(name)
        self.scale = FIRST_SCALE if name == "fp16" else 1.0
        """What losses are multiplied with, and gradients have to be divided by."""
        self._good = 0

    @property
    def weights(self) -> torch.dtype:
        """The type of weights and state."""
        return torch.float64 if self.name == "fp64" else torch.float32

    def autocast(self) -> AbstractContextManager[Any]:
        """Where the forward pass runs."""
        if self.short is None:
            return nullcontext()
        # Each weight is cast once a pass anyway; kept casts would join the graphs of threads that share a CPU's rows.
        return torch.autocast(self.device.type, dtype=self.short, cache_enabled=self.device.type != "cpu")

    def after(self, finite: bool) -> None:
        """Moves the scale after a step: half after one that was not finite, double after many that were."""
        if self.name != "fp16":
            return
        self._good = self._good + 1 if finite else 0
        if not finite:
            self.scale *= 0.5
        elif self._good == GROW_EVERY:
            self.scale, self._good = self.scale * 2, 0

    def state(self) -> dict[str, float]:
        """What has to be saved of it."""
        return {"scale": self.scale, "good": self._good}

    def load(self, state: Mapping[str, float]) -> None:
        """Takes over what `state` gave."""
        self.scale, self._good = float(state["scale"]), int(state["good"])
