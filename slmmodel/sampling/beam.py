"""Beam search: the likeliest continuations of one prompt, as far as `beams` running ones can tell.

Each step takes the 2b best of b V extensions, so that b remain even if all others end there. A finished one scores
logp / length^alpha, its ending id counted. With one beam this is greedy decoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from slmmodel.models import MODELS
from slmmodel.models.protocol import Model
from slmmodel.sampling import Chain, SamplingOptions, StepContext
from slmmodel.sampling.prefill import advance, check_prompts, device_of, last, prefill, side_by_side
from slmmodel.sampling.step import bounded


@dataclass(frozen=True)
class Beam:
    """A finished continuation: ids without the one that ended it, its log-probability in nats, its score."""

    ids: list[int]
    logp: float
    score: float
    ended: bool
    """True where a stop id came; False at the length limit"""


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
    """The `beams` best continuations, best first. Only bans and penalties of the options count; nothing is drawn.

    It ends when no running beam can beat the worst of the pool at its present length; with `early_stopping`, as soon as
    the pool is full. The model's context ends it, too. Raises `InvalidPrompt`, `InvalidOption`.
    """
    bounded("beam", beams, 1)
    check_prompts(model, [prompt])
    options = options if options is not None else SamplingOptions()
    limit = max_new_tokens
    if not MODELS[model.config.kind].recurrent:
        limit = min(limit, model.config.context - len(prompt) + 1)
    search = _Search(model, prompt, options, beams, length_penalty, limit)
    for step in range(1, limit + 1):
        search.extend(step)
        if search.done(step, early_stopping):
            break
    return search.pool


class _Search:
    """The running beams with their scores, and the pool of finished ones."""

    def __init__(
        self, model: Model, prompt: Sequence[int], options: SamplingOptions, beams: int, alpha: float, limit: int
    ) -> None:
        self.model, self.options, self.beams, self.alpha, self.limit = model, options, beams, alpha, limit
        self.chain, self.pool = Chain(options), list[Beam]()
        self.state, logits, _ = prefill(model, [prompt], limit)
        self.state.repeat(beams)
        self.logits = logits.expand(beams, -1)
        device = device_of(model)
        ids, real = side_by_side([prompt] * beams, device)
        self.context = StepContext(ids, real, len(prompt), torch.zeros(beams, dtype=torch.int64, device=device))
        # Equal beams would all take the same best ids: at first only one of them counts.
        self.scores = torch.full((beams,), float("-inf"), dtype=torch.float64, device=device)
        self.scores[0] = 0.0

    def extend(self, step: int) -> None:
        """One id more for each running beam; beams that end go to the pool."""
        logp = torch.log_softmax(self.chain.shape(self.context, self.logits).double(), 1)
        n_vocab = logp.shape[1]
        every = (self.scores[:, None] + logp).view(-1)
        # Stable: equal ones keep the order lower beam, then lower id.
        values, order = every.sort(descending=True, stable=True)
        chosen: list[tuple[int, int, float]] = []
        for rank, (value, at) in enumerate(
            zip(values[: 2 * self.beams].tolist(), order[: 2 * self.beams].tolist(), strict=True)
        ):
            beam, id = divmod(at, n_vocab)
            if value == float("-inf") or len(chosen) == self.beams:
                break
            if id in self.options.stop_ids:
                if rank < self.beams:
                    self._finish(beam, value, step, ended=True)
            else:
                chosen.append((beam, id, value))
        self._continue(chosen, step)

    def done(self, step: int, early_stopping: bool) -> bool:
        """Whether the pool can no longer change, or is full and that is enough; at the limit all beams are finished."""
        best = float(self.scores.max())
        if step == self.limit or best == float("-inf"):
            for beam, value in enumerate(self.scores.tolist()):
                if value > float("-inf"):
                    self._finish(beam, value, step, ended=False)
            return True
        if len(self.pool) < self.beams:
            return False
        return early_stopping or best / step**self.alpha <= self.pool[-1].score

    def _continue(self, chosen: list[tuple[int, int, float]], step: int) -> None:
        device = self.scores.device
        missing = self.beams - len(chosen)
        chosen = chosen + [(0, 0, float("-inf"))] * missing
        rows = torch.tensor([beam for beam, _, _ in chosen], device=device)
        ids = torch.tensor([id for _, id, _ in chosen], device=device)
        self.scores = torch.tensor([value for _, _, value in chosen], dtype=torch.float64, device=device)
        self.context = self.context.reordered(rows).extended(ids)
        if step < self.limit and missing < self.beams:
            self.state.reorder(rows)
            self.logits = last(advance(self.model, self.state, ids))

    def _finish(self, beam: int, logp: float, step: int, *, ended: bool) -> None:
        ids: Tensor = self.context.history[beam, self.context.prompt_slots :]
        self.pool.append(Beam(ids.tolist(), logp, logp / step**self.alpha, ended))
        # Stable: of equal ones the earlier finished stays in front.
        self.pool.sort(key=lambda beam: -beam.score)
        del self.pool[self.beams :]
