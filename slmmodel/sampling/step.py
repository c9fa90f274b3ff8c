"""What a processor sees at one step of generation, and the options that all of them read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from slmmodel.errors import InvalidOption


@dataclass(frozen=True)
class StepContext:
    """The rows of one step. Prompts end in the same column, so generated ids of all rows begin in the same one."""

    history: Tensor
    """int64 [B,n]: prompt and generated ids; what stands where `real` is False means nothing"""
    real: Tensor
    """bool [B,n]"""
    prompt_slots: int
    """columns of the prompts; generated ids follow"""
    rows: Tensor
    """int64 [B]: number of each sample in its request, whatever its place in this batch"""

    @property
    def step(self) -> int:
        """How many ids were generated before."""
        return self.history.shape[1] - self.prompt_slots

    def extended(self, ids: Tensor) -> StepContext:
        """With one more id for each row: int64 [B]."""
        more = torch.ones_like(ids[:, None], dtype=torch.bool)
        history, real = torch.cat([self.history, ids[:, None]], 1), torch.cat([self.real, more], 1)
        return StepContext(history, real, self.prompt_slots, self.rows)

    def reordered(self, rows: Tensor) -> StepContext:
        """Row i becomes what row `rows[i]` was."""
        return StepContext(self.history[rows], self.real[rows], self.prompt_slots, self.rows[rows])

    def seen(self, n_vocab: int) -> Tensor:
        """bool [B,V]: ids in prompt or generated."""
        return _counts(self.history, self.real, n_vocab) > 0

    def generated_counts(self, n_vocab: int) -> Tensor:
        """float32 [B,V]: how often each id was generated."""
        return _counts(self.history[:, self.prompt_slots :], self.real[:, self.prompt_slots :], n_vocab)


def _counts(ids: Tensor, real: Tensor, n_vocab: int) -> Tensor:
    found = torch.zeros(ids.shape[0], n_vocab, device=ids.device)
    return found.scatter_add_(1, ids.masked_fill(~real, 0), real.float())


Processor = Callable[[StepContext, Tensor], Tensor]
"""(context, logits float32 [B,V]) -> logits [B,V]; -inf is never picked."""


@dataclass(frozen=True)
class SamplingOptions:
    """How the next id is chosen. The defaults draw from the model's own distribution."""

    temperature: float = 1.0
    """logits are divided by it; 0 takes the largest"""
    top_k: int = 0
    """keep the k largest; 0 keeps all"""
    top_p: float = 1.0
    """keep the smallest set of at least this mass"""
    min_p: float = 0.0
    """keep ids of at least this share of the largest probability"""
    repetition_penalty: float = 1.0
    """divides positive logits and multiplies negative ones of every id in prompt or generated"""
    frequency_penalty: float = 0.0
    """subtracted for each time that an id was generated"""
    presence_penalty: float = 0.0
    """subtracted once from every id that was generated"""
    no_repeat_ngram: int = 0
    """no n ids in a row come twice; 0 allows them"""
    banned: tuple[int, ...] = ()
    """ids that are never picked"""
    stop_ids: tuple[int, ...] = ()
    """ids that end a row; they are banned before `min_new_tokens`"""
    min_new_tokens: int = 0
    seed: int = 0


def bounded(name: str, value: float, low: float, high: float = float("inf"), *, open_low: bool = False) -> None:
    """Raises `InvalidOption` unless low <= value <= high (`open_low`: low < value)."""
    if not (low < value if open_low else low <= value) or not value <= high:
        sign = "above" if open_low else "at least"
        limit = f"{sign} {low:g}" + ("" if high == float("inf") else f", at most {high:g}")
        raise InvalidOption(
            f"{name} is {value:g}",
            limit=limit,
            fix="give it within the limit, or leave it out",
            option=f"--{name.replace('_', '-')}",
        )
