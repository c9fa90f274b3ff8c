"""`no-repeat-ngram`: bans each id that would complete n ids in a row which prompt and generated already contain."""

from __future__ import annotations

from torch import Tensor

from slmmodel.sampling.step import Processor, SamplingOptions, StepContext, bounded


def make(options: SamplingOptions) -> Processor | None:
    """The processor, or None for n = 0."""
    n = options.no_repeat_ngram
    bounded("no_repeat_ngram", n, 0)
    if n == 0:
        return None

    def no_repeat_ngram(context: StepContext, logits: Tensor) -> Tensor:
        ids, real = context.history, context.real
        if ids.shape[1] < n:
            return logits
        windows = ids.unfold(1, n, 1)
        whole = real.unfold(1, n, 1).all(2) & real[:, ids.shape[1] - n + 1 :].all(1, keepdim=True)
        same = (windows[:, :, : n - 1] == ids[:, None, ids.shape[1] - n + 1 :]).all(2) & whole
        hits = logits.new_zeros(logits.shape).scatter_add_(1, windows[:, :, -1].masked_fill(~same, 0), same.float())
        return logits.masked_fill(hits > 0, float("-inf"))

    return no_repeat_ngram
