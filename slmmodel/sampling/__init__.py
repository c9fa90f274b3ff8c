"""Choosing the next id from logits. It knows ids, never text, and no architecture.

`SAMPLERS` lists the processors in the order in which they are applied; `Chain` picks an id with those that the options
switch on. The draw uses a number keyed by seed, sample and step instead of a generator object, so a sample is the same
alone or in any batch, and any step can be replayed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from slmmodel.config import SamplingOptions
from slmmodel.rng import M64, splitmix64
from slmmodel.sampling import processors
from slmmodel.sampling.processors import Processor, StepContext, check_range

__all__ = [
    "SAMPLERS",
    "Chain",
    "Processor",
    "Sampler",
    "SamplingOptions",
    "StepContext",
    "check_range",
    "draw",
    "largest",
    "uniform",
]


class Sampler(NamedTuple):
    """A processor: the function that makes it, and its kind.

    Filters (temperature, cut-offs) apply to random draws alone; the others shape logits for beam and contrastive search
    too.
    """

    make: Callable[[SamplingOptions], Processor | None]
    is_filter: bool


SAMPLERS: dict[str, Sampler] = {
    "ban": Sampler(processors.ban, is_filter=False),
    "repetition": Sampler(processors.repetition, is_filter=False),
    "frequency": Sampler(processors.frequency, is_filter=False),
    "no-repeat-ngram": Sampler(processors.no_repeat_ngram, is_filter=False),
    "temperature": Sampler(processors.temperature, is_filter=True),
    "top-k": Sampler(processors.top_k, is_filter=True),
    "top-p": Sampler(processors.top_p, is_filter=True),
    "min-p": Sampler(processors.min_p, is_filter=True),
}


class Chain:
    """The processors that `options` switch on, in the registry's order, and the draw. Raises `OptionError`."""

    def __init__(self, options: SamplingOptions) -> None:
        self.options = options
        made = [(sampler.is_filter, sampler.make(options)) for sampler in SAMPLERS.values()]
        self._shaping = [processor for is_filter, processor in made if processor is not None and not is_filter]
        self._filters = [processor for is_filter, processor in made if processor is not None and is_filter]

    def shape(self, context: StepContext, logits: Tensor) -> Tensor:
        """Logits [B, V] after bans and penalties, as beam and contrastive search use them."""
        logits = logits.float()
        for processor in self._shaping:
            logits = processor(context, logits)
        return logits

    def filter(self, context: StepContext, logits: Tensor) -> Tensor:
        """Shaped logits [B, V] after temperature and cut-offs."""
        for processor in self._filters:
            logits = processor(context, logits)
        return logits

    def pick(self, context: StepContext, logits: Tensor) -> Tensor:
        """The next id of each row, int64 [B]. A row gets the same id alone as in any batch."""
        shaped = self.shape(context, logits)
        if self.options.temperature == 0:
            return largest(shaped)
        numbers = [uniform(self.options.seed, row, context.step) for row in context.rows.tolist()]
        u = torch.tensor(numbers, dtype=torch.float64, device=logits.device)
        return draw(self.filter(context, shaped), u)


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
