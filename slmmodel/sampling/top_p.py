"""`top-p`: keeps the smallest set of likeliest ids whose mass is at least p, one at least (Holtzman et al. 2020)."""

from __future__ import annotations

import torch
from torch import Tensor

from slmmodel.sampling.step import Processor, SamplingOptions, StepContext, bounded


def make(options: SamplingOptions) -> Processor | None:
    """The processor, or None for p = 1."""
    p = options.top_p
    bounded("top_p", p, 0, 1, open_low=True)
    if p == 1:
        return None

    def top_p(context: StepContext, logits: Tensor) -> Tensor:
        ordered, order = logits.double().sort(dim=1, descending=True, stable=True)
        mass = torch.softmax(ordered, 1)
        before = mass.cumsum(1) - mass
        drop = torch.zeros_like(logits, dtype=torch.bool).scatter(1, order, before >= p)
        return logits.masked_fill(drop, float("-inf"))

    return top_p
