"""Beam search: approximately the likeliest continuations of one prompt.

With b beams each step takes the 2b best of b V extensions, so at least b running beams remain even if b end there. A
finished beam scores logp / length^alpha, its stop id counted. One beam is greedy decoding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from slmmodel.models.protocol import Model
from slmmodel.sampling import SamplingOptions, StepContext, check_range, penalise
from slmmodel.sampling.prefill import advance, check_prompts, prefill, start_context


@dataclass(frozen=True)
class Beam:
    """A finished continuation: ids without its stop id, log-probability in nats, score."""

    ids: list[int]
    logp: float
    score: float
    ended: bool
    """True: by a stop id; False: at the length limit"""


@torch.inference_mode()
def beam_search(
    model: Model,
    prompt: Sequence[int],
    options: SamplingOptions | None = None,
    *,
    beams: int = 5,
    max_new_tokens: int = 256,
    length_penalty: float = 1.0,
    early_stopping: bool = False,
) -> list[Beam]:
    """The `beams` best continuations, best first. Of the options, bans, penalties and stop ids apply; nothing is drawn.

    The search ends when no running beam can beat the worst finished one at the present length; with `early_stopping`,
    as soon as `beams` are finished; and at the model's seq_len. Raises `InvalidInput`, `OptionError`.
    """
    check_range("beam", beams, 1)
    check_prompts(model, [prompt])
    options = options if options is not None else SamplingOptions()
    limit = max_new_tokens
    if not model.config.unbounded:
        limit = min(limit, model.config.seq_len - len(prompt) + 1)
    state, logits, _ = prefill(model, [prompt], limit)
    state.repeat(beams)
    logits = logits.expand(beams, -1)
    context = start_context([prompt] * beams, 0, torch.zeros(beams, dtype=torch.int64, device=logits.device))
    # Equal beams would all take the same ids, so only the first counts in the first step.
    logp = logits.new_tensor([0.0] + [-math.inf] * (beams - 1), dtype=torch.float64)
    pool = list[Beam]()
    for step in range(1, limit + 1):
        best = _best(logp[:, None] + torch.log_softmax(penalise(options, context, logits).double(), 1), 2 * beams)
        ended = [(row, value) for row, id, value in best[:beams] if id in options.stop_ids]
        pool += [_finished(context, row, value, length_penalty, True) for row, value in ended]
        running = [extension for extension in best if extension[1] not in options.stop_ids][:beams]
        is_last = step == limit or not running
        padded = running + [(0, 0, -math.inf)] * (beams - len(running))
        rows, ids = (torch.tensor([each[i] for each in padded], device=logp.device) for i in (0, 1))
        logp = logp.new_tensor([value for _, _, value in padded])
        context = context.reordered(rows).extended(ids)
        if is_last:
            pool += [_finished(context, row, value, length_penalty, False) for row, (_, _, value) in enumerate(running)]
        # Stable: of equal scores the beam that finished first stays in front.
        pool = sorted(pool, key=lambda beam: -beam.score)[:beams]
        reached = padded[0][2] / step**length_penalty
        if is_last or (len(pool) == beams and (early_stopping or reached <= pool[-1].score)):
            break
        state.reorder(rows)
        logits, _ = advance(model, state, ids)
    return pool


def _best(logp: Tensor, count: int) -> list[tuple[int, int, float]]:
    """(row, id, logp) of the `count` best of [B, V]; of equal ones the lower row first, then the lower id."""
    values, order = logp.flatten().sort(descending=True, stable=True)
    best = zip(order[:count].tolist(), values[:count].tolist(), strict=True)
    return [(*divmod(index, logp.shape[1]), value) for index, value in best if value > -math.inf]


def _finished(context: StepContext, row: int, logp: float, alpha: float, ended: bool) -> Beam:
    ids = context.history[row, context.prompt_len :].tolist()
    return Beam(ids, logp, logp / (len(ids) + ended) ** alpha, ended)
