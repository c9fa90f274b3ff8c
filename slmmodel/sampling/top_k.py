"""`top-k`: keeps the k largest logits; at the border the lowest ids (Fan et al. 2018)."""

from __future__ import annotations

from torch import Tensor

from slmmodel.sampling.step import Processor, SamplingOptions, StepContext, bounded


def make(options: SamplingOptions) -> Processor | None:
    """The processor, or None for k = 0."""
    k = options.top_k
    bounded("top_k", k, 0)
    if k == 0:
        return None

    def top_k(context: StepContext, logits: Tensor) -> Tensor:
        if k >= logits.shape[1]:
            return logits
        order = logits.sort(dim=1, descending=True, stable=True).indices
        return logits.scatter(1, order[:, k:], float("-inf"))

    return top_k
