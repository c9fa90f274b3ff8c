"""`repetition`: makes every id of prompt and generated less likely, however often it came (Keskar et al. 2019)."""

from __future__ import annotations

import torch
from torch import Tensor

from slmmodel.sampling.step import Processor, SamplingOptions, StepContext, bounded


def make(options: SamplingOptions) -> Processor | None:
    """The processor, or None at penalty 1. Raises `InvalidOption` for a penalty of 0 or below."""
    penalty = options.repetition_penalty
    bounded("repetition_penalty", penalty, 0, open_low=True)
    if penalty == 1:
        return None

    def repetition(context: StepContext, logits: Tensor) -> Tensor:
        punished = torch.where(logits > 0, logits / penalty, logits * penalty)
        return torch.where(context.seen(logits.shape[1]), punished, logits)

    return repetition
