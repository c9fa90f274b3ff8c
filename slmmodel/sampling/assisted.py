"""Assisted decoding, also called speculative (Leviathan et al. 2023, Chen et al. 2023): a small model proposes ids, and
the large one reads all of them in one pass.

A proposal x, drawn from the small model's q, is accepted with probability min(1, p(x) / q(x)) under the large model's
p; after a rejection the id is drawn from max(p - q, 0), normalised. So each id has the distribution p of the large
model alone, for every option of sampling, and at temperature 0 the text is that of greedy decoding. Only the time
depends on the small model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from slmmodel.decoding_options import DecodingOptions
from slmmodel.errors import InvalidInput
from slmmodel.models.protocol import Model
from slmmodel.sampling import Continuation, SamplingOptions, StepContext, draw, probabilities, uniform
from slmmodel.sampling.prefill import check_logits, length_limit, start_context

PROPOSE, ACCEPT, REPLACE = range(3)
"""The three kinds of random numbers of a step."""


class Random(NamedTuple):
    """The random numbers of a continuation: keyed by seed, sample, kind and step."""

    seed: int
    sample: int

    def __call__(self, kind: int, step: int) -> float:
        """A number in [0, 1)."""
        return uniform(self.seed, (1 << 32) + 3 * self.sample + kind, step)


@torch.inference_mode()
def assisted(
    model: Model, assistant: Model, prompt: Sequence[int], options: DecodingOptions, *, sample: int = 0
) -> Continuation:
    """One continuation by `model`, of which `assistant` proposes `options.lookahead` ids at a time. All options apply.

    `sample` is the number of this continuation in its request; equal numbers and options give equal ids. Both models
    have one vocabulary. One that cannot take back ids (a recurrent one) reads all ids again after a rejection. Numbers
    of the result: ids that were `proposed`, and how many of them the large model `accepted`.

    Raises `InvalidInput`, also for an assistant with a shorter context.
    """
    limit, reason = length_limit(model, prompt, options.max_new_tokens)
    _check_assistant(model, assistant)
    large, small = (_Reader(each, len(prompt) + limit) for each in (model, assistant))
    context = start_context([prompt], 0, torch.zeros(1, dtype=torch.int64, device=large.device))
    ids, random, numbers = list(prompt), Random(options.seed, sample), dict[str, float](proposed=0, accepted=0)
    while context.step < limit:
        proposals, q = _propose(small, options, context, ids, min(options.lookahead, limit - context.step - 1), random)
        logits = large.read(ids + proposals, len(proposals) + 1)
        numbers["proposed"] += len(proposals)
        for at in range(len(proposals) + 1):
            p = probabilities(options, context, logits[at : at + 1])[0]
            is_last = at == len(proposals)
            is_accepted = not is_last and _accepts(p, q[at], proposals[at], random, context.step)
            left = p if is_last else (p - q[at]).clamp(min=0)
            id = proposals[at] if is_accepted else _draw(left if left.any() else p, random(REPLACE, context.step))
            numbers["accepted"] += is_accepted
            if id in options.stop_ids:
                return Continuation(ids[len(prompt) :], "stop", numbers)
            ids.append(id)
            context = context.extended(torch.tensor([id], device=large.device))
            if not is_accepted:
                break
        for reader in (large, small):
            reader.rewind(len(ids) - 1)
    return Continuation(ids[len(prompt) :], reason, numbers)


def _check_assistant(model: Model, assistant: Model) -> None:
    if assistant.config.n_vocab != model.config.n_vocab:
        raise InvalidInput(
            f"the assistant has {assistant.config.n_vocab} ids, the model {model.config.n_vocab}",
            limit="one vocabulary",
            fix="an assistant that was trained on data of the same tokenizer",
        )
    if assistant.config.max_context < model.config.max_context:
        raise InvalidInput(
            f"the assistant reads {assistant.config.seq_len} ids",
            limit="the model's seq_len, " + ("unlimited" if model.config.unbounded else str(model.config.seq_len)),
            fix="an assistant with as long a context",
        )


def _propose(
    small: _Reader, options: SamplingOptions, context: StepContext, ids: list[int], count: int, random: Random
) -> tuple[list[int], list[Tensor]]:
    """`count` ids drawn one after another from the small model, and the distribution [V] of each."""
    proposals, q = list[int](), list[Tensor]()
    for _ in range(count):
        q.append(probabilities(options, context, small.read(ids + proposals, 1))[0].to(context.history.device))
        proposals.append(_draw(q[-1], random(PROPOSE, context.step)))
        context = context.extended(torch.tensor([proposals[-1]], device=context.history.device))
    return proposals, q


def _accepts(p: Tensor, q: Tensor, id: int, random: Random, step: int) -> bool:
    return random(ACCEPT, step) * float(q[id]) < float(p[id])


def _draw(weights: Tensor, u: float) -> int:
    """The id at `u` in [0, 1) of the cumulative weights [V]."""
    return int(draw(weights.log()[None], torch.tensor([u], dtype=torch.float64, device=weights.device)))


class _Reader:
    """A model with a state that holds the first ids of a sequence."""

    def __init__(self, model: Model, capacity: int) -> None:
        self._model, self._capacity = model, capacity
        self.device = model.embed.weight.device
        self._restart()

    def _restart(self) -> None:
        self._state, self._n_read = self._model.init_state(1, self.device, capacity=self._capacity), 0

    def read(self, ids: list[int], n: int) -> Tensor:
        """The logits after each of the last `n` ids, [n, V]; only ids behind those of the state are read."""
        new = torch.tensor([ids[self._n_read :]], device=self.device)
        hidden = self._model(new, state=self._state, logits="none").hidden
        self._n_read = len(ids)
        logits: Tensor = self._model.unembed(hidden[0, -n:])
        check_logits(logits)
        return logits

    def rewind(self, length: int) -> None:
        """Takes back the ids from `length` on."""
        if length < self._n_read:
            try:
                self._state.truncate(length)
                self._n_read = length
            except InvalidInput:
                self._restart()
