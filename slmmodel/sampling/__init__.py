"""Choosing the next id from logits. It knows ids, never text, and no kind of model.

`SAMPLERS` lists the processors in the order in which they are applied; `Chain` picks an id with those that are switched
on. To add one, write its file with `make(options)`, which returns None where the options leave it off, its option in
`SamplingOptions`, and its line here; the tests over the registry hold it to what all of them promise.
"""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

import torch
from torch import Tensor

from slmmodel.sampling.draw import draw, largest, uniform
from slmmodel.sampling.step import Processor, SamplingOptions, StepContext

__all__ = ["SAMPLERS", "Chain", "Processor", "Sampler", "SamplingOptions", "StepContext"]


class Sampler(NamedTuple):
    """One processor: its module, and whether it filters what is drawn from or shapes logits for every search."""

    module: str
    filters: bool


SAMPLERS: dict[str, Sampler] = {
    "ban": Sampler("slmmodel.sampling.ban", filters=False),
    "repetition": Sampler("slmmodel.sampling.repetition", filters=False),
    "frequency": Sampler("slmmodel.sampling.frequency", filters=False),
    "no-repeat-ngram": Sampler("slmmodel.sampling.no_repeat_ngram", filters=False),
    "temperature": Sampler("slmmodel.sampling.temperature", filters=True),
    "top-k": Sampler("slmmodel.sampling.top_k", filters=True),
    "top-p": Sampler("slmmodel.sampling.top_p", filters=True),
    "min-p": Sampler("slmmodel.sampling.min_p", filters=True),
}


class Chain:
    """The processors that `options` switch on, in the registry's order, and the draw."""

    def __init__(self, options: SamplingOptions) -> None:
        self.options = options
        self._shaping = _made(options, filters=False)
        self._filters = _made(options, filters=True)

    def shape(self, context: StepContext, logits: Tensor) -> Tensor:
        """Logits [B,V] after bans and penalties: what beam and contrastive search look at."""
        logits = logits.float()
        for processor in self._shaping:
            logits = processor(context, logits)
        return logits

    def filter(self, context: StepContext, logits: Tensor) -> Tensor:
        """Shaped logits [B,V] after temperature and what is cut off."""
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


def _made(options: SamplingOptions, *, filters: bool) -> list[Processor]:
    chosen = [import_module(sampler.module) for sampler in SAMPLERS.values() if sampler.filters == filters]
    made = [module.make(options) for module in chosen]
    return [processor for processor in made if processor is not None]
