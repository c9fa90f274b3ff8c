"""Beam search: approximately the likeliest continuations of one prompt.

With b beams each step takes the 2b best of b V extensions, so at least b running beams remain even if b end there. A
finished beam scores logp / length^alpha, its stop id counted. One beam is greedy decoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from slmmodel.models.protocol import Model
from slmmodel.sampling import SamplingOptions, StepContext, check_range, penalise
from slmmodel.sampling.prefill import advance, check_prompts, device_of, last, pad_left, prefill


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
    as soon as `beams` are finished; and at the model's seq_len. Raises `InvalidPrompt`, `OptionError`.
    """
    check_range("beam", beams, 1)
    check_prompts(model, [prompt])
    options = options if options is not None else SamplingOptions()
    limit = max_new_tokens
    if not model.config.recurrent:
        limit = min(limit, model.config.seq_len - len(prompt) + 1)
    search = _Search(model, prompt, options, beams, length_penalty, limit)
    for step in range(1, limit + 1):
        search.extend(step)
        if search.done(step, early_stopping):
            break
    return search.pool


class _Search:
    """Running beams with their scores, and the pool of finished ones."""

    def __init__(
        self, model: Model, prompt: Sequence[int], options: SamplingOptions, beams: int, alpha: float, limit: int
    ) -> None:
        self.model, self.options, self.beams, self.alpha, self.limit = model, options, beams, alpha, limit
        self.pool = list[Beam]()
        self.state, logits, _ = prefill(model, [prompt], limit)
        self.state.repeat(beams)
        self.logits = logits.expand(beams, -1)
        device = device_of(model)
        ids, real = pad_left([prompt] * beams, device)
        self.context = StepContext(ids, real, len(prompt), torch.zeros(beams, dtype=torch.int64, device=device))
        # Equal beams would all take the same ids, so only the first counts at step 0.
        self.scores = torch.full((beams,), float("-inf"), dtype=torch.float64, device=device)
        self.scores[0] = 0.0

    def extend(self, step: int) -> None:
        """Extends each running beam by one id; beams that end go to the pool."""
        logp = torch.log_softmax(penalise(self.options, self.context, self.logits).double(), 1)
        n_vocab = logp.shape[1]
        candidates = (self.scores[:, None] + logp).view(-1)
        # Stable: of equal candidates the lower beam first, then the lower id.
        values, order = candidates.sort(descending=True, stable=True)
        chosen: list[tuple[int, int, float]] = []
        best = zip(values[: 2 * self.beams].tolist(), order[: 2 * self.beams].tolist(), strict=True)
        for rank, (value, index) in enumerate(best):
            beam, id = divmod(index, n_vocab)
            if value == float("-inf") or len(chosen) == self.beams:
                break
            if id in self.options.stop_ids:
                if rank < self.beams:
                    self._finish(beam, value, step, ended=True)
            else:
                chosen.append((beam, id, value))
        self._continue(chosen, step)

    def done(self, step: int, early_stopping: bool) -> bool:
        """Whether the search has ended. At the limit all running beams go to the pool."""
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
        ids: Tensor = self.context.history[beam, self.context.prompt_len :]
        self.pool.append(Beam(ids.tolist(), logp, logp / step**self.alpha, ended))
        # Stable: of equal scores the beam that finished first stays in front.
        self.pool.sort(key=lambda beam: -beam.score)
        del self.pool[self.beams :]
