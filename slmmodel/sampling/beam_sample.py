"""Beam sampling: the beams of beam search, whose extensions are drawn instead of chosen.

Each step draws without replacement from all b V extensions, with probabilities proportional to those of the whole
continuations so far under the options of sampling. The first b draws that do not end run on, so one beam with early
stopping is ordinary sampling. (`transformers` draws 2b extensions and keeps the b likeliest of them.)
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from slmmodel.decoding_options import DecodingOptions, check_method
from slmmodel.models.protocol import Model
from slmmodel.sampling import draw, probabilities, uniform
from slmmodel.sampling.beam import Beam, BeamGroup, Extension, run_beams


def beam_sample(model: Model, prompt: Sequence[int], options: DecodingOptions) -> list[Beam]:
    """The best continuations of `options.beam_sample` drawn beams, best first; log-probabilities are theirs.

    All options apply. The search ends as in `beam_search`. Raises `InvalidInput`, `OptionError`, `WrongType`.
    """
    check_method(options, "beam_sample")
    return run_beams(model, prompt, options, SampledBeams, options.beam_sample)


class SampledBeams(BeamGroup):
    """Beams whose extensions are drawn. Draw i of a step has the random number of sample i."""

    def log_probabilities(self, logits: Tensor) -> Tensor:
        """float64 [beams, V], -inf for ids that a filter drops."""
        return probabilities(self.options, self.context, logits).log()

    def choose(self, logp: Tensor, count: int) -> list[Extension]:
        """`count` extensions, fewer where no more are possible, in the order in which they were drawn."""
        left, chosen = logp.flatten().clone(), list[Extension]()
        for number in range(count):
            if not bool(left.amax() > -torch.inf):
                break
            u = torch.tensor([uniform(self.options.seed, number, self.context.step)], device=logp.device)
            index = int(draw(left[None], u.double()))
            chosen.append((*divmod(index, logp.shape[1]), float(left[index])))
            left[index] = -torch.inf
        return chosen
