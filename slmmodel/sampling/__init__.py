"""Choosing the next id from logits. It knows ids, never text, and no architecture.

`pick` applies the processors of `PENALTIES`, then those of `FILTERS`, each in the order of its table, and draws an id.
The draw uses a number keyed by seed, sample and step instead of a generator object, so a sample is the same alone or in
any batch, and any step can be replayed.
"""

from __future__ import annotations

import torch
from torch import Tensor

from slmmodel.config import SamplingOptions
from slmmodel.rng import M64, splitmix64
from slmmodel.sampling import processors
from slmmodel.sampling.processors import Processor, StepContext, check_range

__all__ = ["FILTERS", "PENALTIES", "SamplingOptions", "StepContext", "check_range", "penalise", "pick"]

PENALTIES: dict[str, Processor] = {
    "ban": processors.ban,
    "repetition": processors.repetition,
    "frequency": processors.frequency,
    "no-repeat-ngram": processors.no_repeat_ngram,
}
"""Applied in every kind of decoding, beam and contrastive search included."""

FILTERS: dict[str, Processor] = {
    "temperature": processors.temperature,
    "top-k": processors.top_k,
    "top-p": processors.top_p,
    "min-p": processors.min_p,
}
"""Applied to random draws alone."""


def penalise(options: SamplingOptions, context: StepContext, logits: Tensor) -> Tensor:
    """Logits [B, V] after bans and penalties, fp32."""
    logits = logits.float()
    for process in PENALTIES.values():
        logits = process(options, context, logits)
    return logits


def pick(options: SamplingOptions, context: StepContext, logits: Tensor) -> Tensor:
    """The next id of each row, int64 [B]. A row gets the same id alone as in any batch."""
    logits = penalise(options, context, logits)
    if options.temperature == 0:
        return largest(logits)
    for process in FILTERS.values():
        logits = process(options, context, logits)
    numbers = [uniform(options.seed, row, context.step) for row in context.rows.tolist()]
    return draw(logits, torch.tensor(numbers, dtype=torch.float64, device=logits.device))


def largest(logits: Tensor) -> Tensor:
    """int64 [B]: the id of the largest logit of [B, V]; the lowest of equal ones."""
    ids = torch.arange(logits.shape[1], device=logits.device)
    best = logits.amax(1, keepdim=True)
    return torch.where(logits == best, ids, logits.shape[1]).amin(1)


def uniform(seed: int, row: int, step: int) -> float:
    """The number in [0, 1) that sample `row` of a request draws at `step`."""
    return (splitmix64(splitmix64(splitmix64(seed & M64) ^ row) ^ step) >> 11) * 2.0**-53


def draw(logits: Tensor, u: Tensor) -> Tensor:
    """int64 [B]: the first id whose cumulative probability (fp64, in id order) exceeds u [B]."""
    cumulative = torch.softmax(logits.double(), 1).cumsum(1)
    # Rounding may leave the total below 1; u is scaled to it.
    return torch.searchsorted(cumulative, u[:, None] * cumulative[:, -1:], right=True)[:, 0]
