"""`min-p`: keeps ids of at least this share of the largest probability (Nguyen et al. 2024)."""

from __future__ import annotations

import math

from torch import Tensor

from slmmodel.sampling.step import Processor, SamplingOptions, StepContext, bounded


def make(options: SamplingOptions) -> Processor | None:
    """The processor, or None for 0."""
    share = options.min_p
    bounded("min_p", share, 0, 1)
    if share == 0:
        return None
    distance = -math.log(share)

    def min_p(context: StepContext, logits: Tensor) -> Tensor:
        wide = logits.double()
        return logits.masked_fill(wide.amax(1, keepdim=True) - wide > distance, float("-inf"))

    return min_p
