"""`ban`: ids that may not come (specials), and the ids that end a row before its least length is reached."""

from __future__ import annotations

import torch
from torch import Tensor

from slmmodel.sampling.step import Processor, SamplingOptions, StepContext, bounded


def make(options: SamplingOptions) -> Processor | None:
    """The processor, or None where nothing is banned."""
    bounded("min_new_tokens", options.min_new_tokens, 0)
    early = options.stop_ids if options.min_new_tokens else ()
    if not options.banned and not early:
        return None

    def ban(context: StepContext, logits: Tensor) -> Tensor:
        ids = options.banned + (early if context.step < options.min_new_tokens else ())
        columns = torch.tensor(sorted(set(ids)), dtype=torch.int64, device=logits.device)
        return logits.index_fill(1, columns, float("-inf"))

    return ban
