"""`frequency`: subtracts from the ids that were generated, for each time (frequency) and once (presence)."""

from __future__ import annotations

from torch import Tensor

from slmmodel.sampling.step import Processor, SamplingOptions, StepContext


def make(options: SamplingOptions) -> Processor | None:
    """The processor, or None where both penalties are 0."""
    each, once = options.frequency_penalty, options.presence_penalty
    if each == 0 and once == 0:
        return None

    def frequency(context: StepContext, logits: Tensor) -> Tensor:
        counts = context.generated_counts(logits.shape[1])
        return logits - each * counts - once * (counts > 0)

    return frequency
