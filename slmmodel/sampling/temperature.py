"""`temperature`: divides logits; below 1 the likely ids gain. 0 means the largest, and is seen to by the chain."""

from __future__ import annotations

from torch import Tensor

from slmmodel.sampling.step import Processor, SamplingOptions, StepContext, bounded


def make(options: SamplingOptions) -> Processor | None:
    """The processor, or None at 1. Raises `InvalidOption` below 0."""
    temperature = options.temperature
    bounded("temperature", temperature, 0)
    if temperature in (0, 1):
        return None

    def divide(context: StepContext, logits: Tensor) -> Tensor:
        return logits / temperature

    return divide
