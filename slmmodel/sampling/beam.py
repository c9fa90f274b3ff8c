"""Beam search: approximately the likeliest continuations of one prompt; also diverse (Vijayakumar et al. 2018).

With b beams each step takes the 2b best of b V extensions, so at least b running beams remain even if b end there. A
finished beam scores logp / length^alpha, its stop id counted. One beam is greedy decoding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from slmmodel.decoding_options import DecodingOptions, check_method
from slmmodel.errors import Argument, OptionError
from slmmodel.models.protocol import Model
from slmmodel.sampling import Continuation, StepContext, penalise
from slmmodel.sampling.prefill import advance, length_limit, prefill, start_context
from slmmodel.sizes import round_up

Extension = tuple[int, int, float]
"""The row of a running beam, the id that follows, and the log-probability of both together."""


@dataclass(frozen=True)
class Beam:
    """A finished continuation: ids without its stop id, log-probability in nats, score."""

    ids: list[int]
    logp: float
    score: float
    ended: bool
    """True: by a stop id; False: at the length limit"""
    limit: str = "length"
    """what the length limit was: `length`, or `context` for the model's seq_len"""

    @property
    def continuation(self) -> Continuation:
        """As methods of decoding give it."""
        return Continuation(self.ids, "stop" if self.ended else self.limit, {"logp": self.logp, "score": self.score})


def beam_search(model: Model, prompt: Sequence[int], options: DecodingOptions) -> list[Beam]:
    """The `options.beam` best continuations, best first. Bans, penalties and stop ids apply; nothing is drawn.

    The search ends when no running beam can beat the worst finished one at the present length; with `early_stopping`,
    as soon as `beam` are finished; and at the model's seq_len. With `beam_groups` it is a diverse beam search: in each
    step the groups choose one after another, and an extension loses `diversity_penalty` for each beam of an earlier
    group that takes the same id in this step (Hamming diversity); what several groups find stands once.

    Raises `InvalidInput`, `OptionError`, `WrongType`.
    """
    check_method(options, "beam")
    beams, groups = options.beam, options.beam_groups
    if beams % groups:
        raise OptionError(
            f"{beams} beams do not divide into {groups} groups",
            limit="a multiple",
            fix=(Argument("beam", round_up(beams, groups)),),
            option="--beam-groups",
        )
    found = run_beams(model, prompt, options, BeamGroup, beams, groups)
    if groups > 1:
        distinct = {(tuple(beam.ids), beam.ended): beam for beam in found}
        found = sorted(distinct.values(), key=lambda beam: -beam.score)
    return found


@torch.inference_mode()
def run_beams(
    model: Model, prompt: Sequence[int], options: DecodingOptions, kind: type[BeamGroup], beams: int, groups: int = 1
) -> list[Beam]:
    """The finished beams of each group, best first in each."""
    limit, reason = length_limit(model, prompt, options.max_new_tokens)
    if limit == 0:
        return [Beam([], 0.0, 0.0, ended=False, limit=reason)]
    state, logits = prefill(model, [prompt], limit)
    state.repeat(beams)
    logits, size = logits.expand(beams, -1), beams // groups
    members = [kind(prompt, size, options, logits.device) for _ in range(groups)]
    for step in range(1, limit + 1):
        rows = torch.arange(beams, device=logits.device)
        ids, taken = torch.zeros_like(rows), logits.new_zeros(logits.shape[1], dtype=torch.float64)
        for number, group in enumerate(members):
            if group.is_done:
                continue
            part, penalty = slice(number * size, (number + 1) * size), options.diversity_penalty * taken
            chosen, ids[part] = group.extend(logits[part], penalty if number else None, is_last=step == limit)
            rows[part] = number * size + chosen
            taken += torch.bincount(ids[part][group.is_running], minlength=len(taken))
        if all(group.is_done for group in members):
            break
        state.reorder(rows)
        logits, _ = advance(model, state, ids)
    return [replace(beam, limit=reason) for group in members for beam in group.finished]


class BeamGroup:
    """Beams that compete with one another: those that run, and the best of those that have finished."""

    def __init__(self, prompt: Sequence[int], beams: int, options: DecodingOptions, device: torch.device) -> None:
        self.options, self._alpha, self._beams = options, options.length_penalty, beams
        self.context = start_context([prompt] * beams, 0, torch.zeros(beams, dtype=torch.int64, device=device))
        # Equal beams would all take the same ids, so only the first counts in the first step.
        self._logp = torch.tensor([0.0] + [-math.inf] * (beams - 1), dtype=torch.float64, device=device)
        self.finished = list[Beam]()
        """Best first."""
        self.is_done = False

    @property
    def is_running(self) -> Tensor:
        """bool [beams]: False for rows that only fill up."""
        return self._logp > -math.inf

    def log_probabilities(self, logits: Tensor) -> Tensor:
        """float64 [beams, V]: of each id after each beam."""
        return torch.log_softmax(penalise(self.options, self.context, logits).double(), 1)

    def choose(self, logp: Tensor, count: int) -> list[Extension]:
        """The `count` likeliest extensions of [beams, V]; of equal ones the lower row first, then the lower id."""
        values, order = logp.flatten().sort(descending=True, stable=True)
        best = zip(order[:count].tolist(), values[:count].tolist(), strict=True)
        return [(*divmod(index, logp.shape[1]), value) for index, value in best if value > -math.inf]

    def extend(self, logits: Tensor, penalty: Tensor | None, *, is_last: bool) -> tuple[Tensor, Tensor]:
        """Adds an id to each running beam; returns their former rows and these ids, int64 [beams].

        penalty: float64 [V] or None, subtracted where extensions are chosen; scores stay without it.
        """
        beams, options, step = self._beams, self.options, self.context.step + 1
        logp = self._logp[:, None] + self.log_probabilities(logits)
        best = self.choose(logp if penalty is None else logp - penalty, 2 * beams)
        best = [(row, id, float(logp[row, id])) for row, id, _ in best]
        ended = [(row, value) for row, id, value in best[:beams] if id in options.stop_ids]
        pool = self.finished + [_finished(self.context, row, value, self._alpha, True) for row, value in ended]
        running = [extension for extension in best if extension[1] not in options.stop_ids][:beams]
        is_last = is_last or not running
        padded = running + [(0, 0, -math.inf)] * (beams - len(running))
        rows, ids = (torch.tensor([each[i] for each in padded], device=logp.device) for i in (0, 1))
        self._logp = logp.new_tensor([value for _, _, value in padded])
        self.context = self.context.reordered(rows).extended(ids)
        if is_last:
            pool += [
                _finished(self.context, row, value, self._alpha, False) for row, (_, _, value) in enumerate(running)
            ]
        # Stable: of equal scores the beam that finished first stays in front.
        self.finished = sorted(pool, key=lambda beam: -beam.score)[:beams]
        reached = max(value for _, _, value in padded) / step**self._alpha
        is_full = len(self.finished) == beams
        self.is_done = is_last or (is_full and (options.early_stopping or reached <= self.finished[-1].score))
        return rows, ids


def _finished(context: StepContext, row: int, logp: float, alpha: float, ended: bool) -> Beam:
    ids = context.history[row, context.prompt_len :].tolist()
    return Beam(ids, logp, logp / (len(ids) + ended) ** alpha, ended)
