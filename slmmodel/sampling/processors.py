"""The logits processors and their options.

A processor maps options, a step's context and float32 logits [B, V] to logits [B, V]; -inf is never picked. With the
default of its option it returns the logits unchanged. To add one, write such a function here or in a file of its own,
its option in `slmmodel.config.SamplingOptions`, and its line in `PENALTIES` or `FILTERS` (`__init__.py`).

Letters: B batch size, n ids so far, V vocabulary size.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from slmmodel.config import SamplingOptions
from slmmodel.errors import OptionError


@dataclass(frozen=True)
class StepContext:
    """The rows of one step. Prompts end in the same column, so the generated ids of all rows start in the next one."""

    history: Tensor
    """int64 [B, n]: prompt and generated ids; undefined where `real` is False"""
    real: Tensor
    """bool [B, n]: False for padding"""
    prompt_len: int
    """columns of the prompts"""
    rows: Tensor
    """int64 [B]: number of each sample in its request, whatever its place in this batch"""

    @property
    def step(self) -> int:
        """How many ids have been generated."""
        return self.history.shape[1] - self.prompt_len

    def extended(self, ids: Tensor) -> StepContext:
        """With one more id per row: int64 [B]."""
        more = torch.ones_like(ids[:, None], dtype=torch.bool)
        history, real = torch.cat([self.history, ids[:, None]], 1), torch.cat([self.real, more], 1)
        return StepContext(history, real, self.prompt_len, self.rows)

    def reordered(self, rows: Tensor) -> StepContext:
        """Row i becomes the former row `rows[i]`."""
        return StepContext(self.history[rows], self.real[rows], self.prompt_len, self.rows[rows])


def _counts(ids: Tensor, real: Tensor, n_vocab: int) -> Tensor:
    """float32 [B, V]: how often each id occurs in the real positions of ids [B, n]."""
    found = torch.zeros(ids.shape[0], n_vocab, device=ids.device)
    return found.scatter_add_(1, ids.masked_fill(~real, 0), real.float())


def check_range(name: str, value: float, low: float, high: float = math.inf) -> None:
    """Raises `OptionError` unless low <= value <= high."""
    if not low <= value <= high:
        raise OptionError(
            f"{name} is {value:g}",
            limit=f"at least {low:g}" + ("" if high == math.inf else f", at most {high:g}"),
            fix="set it within the limit, or leave it out",
            option=f"--{name.replace('_', '-')}",
        )


Processor = Callable[[SamplingOptions, StepContext, Tensor], Tensor]


def ban(options: SamplingOptions, context: StepContext, logits: Tensor) -> Tensor:
    """Bans ids (specials), and the stop ids before `min_new_tokens`."""
    ids = options.banned + (options.stop_ids if context.step < options.min_new_tokens else ())
    if not ids:
        return logits
    return logits.index_fill(1, torch.tensor(sorted(set(ids)), device=logits.device), -math.inf)


def repetition(options: SamplingOptions, context: StepContext, logits: Tensor) -> Tensor:
    """Makes every id of the history less likely, however often it occurred (Keskar et al. 2019)."""
    penalty = options.repetition_penalty
    if penalty == 1:
        return logits
    penalised = torch.where(logits > 0, logits / penalty, logits * penalty)
    return torch.where(_counts(context.history, context.real, logits.shape[1]) > 0, penalised, logits)


def frequency(options: SamplingOptions, context: StepContext, logits: Tensor) -> Tensor:
    """Subtracts from generated ids, once per occurrence (frequency) and once (presence)."""
    if options.frequency_penalty == options.presence_penalty == 0:
        return logits
    generated = slice(context.prompt_len, None)
    counts = _counts(context.history[:, generated], context.real[:, generated], logits.shape[1])
    return logits - options.frequency_penalty * counts - options.presence_penalty * (counts > 0)


def no_repeat_ngram(options: SamplingOptions, context: StepContext, logits: Tensor) -> Tensor:
    """Bans each id that would complete an n-gram which the history contains."""
    n, ids, real = options.no_repeat_ngram, context.history, context.real
    if not 0 < n <= ids.shape[1]:
        return logits
    windows, last = ids.unfold(1, n, 1), ids.shape[1] - n + 1
    whole = real.unfold(1, n, 1).all(2) & real[:, last:].all(1, keepdim=True)
    same = (windows[:, :, : n - 1] == ids[:, None, last:]).all(2) & whole
    hits = logits.new_zeros(logits.shape).scatter_add_(1, windows[:, :, -1].masked_fill(~same, 0), same.float())
    return logits.masked_fill(hits > 0, -math.inf)


def temperature(options: SamplingOptions, context: StepContext, logits: Tensor) -> Tensor:
    """Divides the logits; below 1 likely ids gain. `pick` handles 0."""
    return logits if options.temperature in (0, 1) else logits / options.temperature


def top_k(options: SamplingOptions, context: StepContext, logits: Tensor) -> Tensor:
    """Keeps the k largest logits; of equal ones the lowest ids (Fan et al. 2018)."""
    if not 0 < options.top_k < logits.shape[1]:
        return logits
    order = logits.sort(dim=1, descending=True, stable=True).indices
    return logits.scatter(1, order[:, options.top_k :], -math.inf)


def top_p(options: SamplingOptions, context: StepContext, logits: Tensor) -> Tensor:
    """Keeps the smallest set of the likeliest ids with probability >= p, at least one (Holtzman et al. 2020)."""
    if options.top_p == 1:
        return logits
    ordered, order = logits.double().sort(dim=1, descending=True, stable=True)
    probability = torch.softmax(ordered, 1)
    before = probability.cumsum(1) - probability
    drop = torch.zeros_like(logits, dtype=torch.bool).scatter(1, order, before >= options.top_p)
    return logits.masked_fill(drop, -math.inf)


def min_p(options: SamplingOptions, context: StepContext, logits: Tensor) -> Tensor:
    """Keeps ids of at least this share of the largest probability (Nguyen et al. 2024)."""
    if options.min_p == 0:
        return logits
    wide = logits.double()
    return logits.masked_fill(wide.amax(1, keepdim=True) - wide > -math.log(options.min_p), -math.inf)
