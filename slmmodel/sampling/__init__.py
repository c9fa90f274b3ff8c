"""Choosing the next id from logits. It knows ids, never text, and no architecture.

`pick` applies the processors of `PENALTIES`, then those of `FILTERS`, each in the order of its table, and draws an id.
The draw uses a number keyed by seed, sample and step instead of a generator object, so a sample is the same alone or in
any batch, and any step can be replayed.

A processor maps options, a step's context and float32 logits [B, V] to logits [B, V]; -inf is never picked. With the
default of its option it returns the logits unchanged. To add one, write such a function, its option in
`slmmodel.decoding_options.SamplingOptions`, and its line in `PENALTIES` or `FILTERS`.

Letters: B batch size, n ids so far, V vocabulary size.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from slmmodel import rng
from slmmodel.decoding_options import SamplingOptions
from slmmodel.errors import Argument, OptionError
from slmmodel.indexing import explains_indexing

__all__ = [
    "FILTERS",
    "PENALTIES",
    "Continuation",
    "SamplingOptions",
    "StepContext",
    "check_option_range",
    "penalise",
    "pick",
    "probabilities",
]


@explains_indexing
@dataclass(frozen=True)
class Continuation:
    """New ids without a stop id, why they ended (`stop`, `length`, `context`), and what a method reports of them."""

    ids: list[int]
    reason: str
    numbers: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class StepContext:
    """The rows of one step. Prompts end in the same column, so the generated ids of all rows start in the next one."""

    history: Tensor
    """int64 [B, n]: prompt and generated ids; undefined where `attention_mask` is False"""
    attention_mask: Tensor
    """bool [B, n]: False for padding"""
    prompt_len: int
    """columns of the prompts"""
    sample_numbers: Tensor
    """int64 [B]: number of each sample in its request, whatever its row in this batch"""

    @property
    def step(self) -> int:
        """How many ids have been generated."""
        return self.history.shape[1] - self.prompt_len

    def extended(self, ids: Tensor) -> StepContext:
        """With one more id per row: int64 [B]."""
        more = torch.ones_like(ids[:, None], dtype=torch.bool)
        history, attention_mask = torch.cat([self.history, ids[:, None]], 1), torch.cat([self.attention_mask, more], 1)
        return StepContext(history, attention_mask, self.prompt_len, self.sample_numbers)

    def reordered(self, rows: Tensor) -> StepContext:
        """Row i becomes the former row `rows[i]`."""
        return StepContext(self.history[rows], self.attention_mask[rows], self.prompt_len, self.sample_numbers[rows])


def _counts(ids: Tensor, attention_mask: Tensor, n_vocab: int) -> Tensor:
    """float32 [B, V]: how often each id occurs in ids [B, n], padding excluded."""
    counts = torch.zeros(ids.shape[0], n_vocab, device=ids.device)
    return counts.scatter_add_(1, ids.masked_fill(~attention_mask, 0), attention_mask.float())


def check_option_range(name: str, value: float, low: float, high: float = math.inf) -> None:
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
    return torch.where(_counts(context.history, context.attention_mask, logits.shape[1]) > 0, penalised, logits)


def frequency(options: SamplingOptions, context: StepContext, logits: Tensor) -> Tensor:
    """Subtracts from generated ids, once per occurrence (frequency) and once (presence)."""
    if options.frequency_penalty == options.presence_penalty == 0:
        return logits
    generated = slice(context.prompt_len, None)
    counts = _counts(context.history[:, generated], context.attention_mask[:, generated], logits.shape[1])
    return logits - options.frequency_penalty * counts - options.presence_penalty * (counts > 0)


def no_repeat_ngram(options: SamplingOptions, context: StepContext, logits: Tensor) -> Tensor:
    """Bans each id that would complete an n-gram which the history contains."""
    n, ids, attention_mask = options.no_repeat_ngram, context.history, context.attention_mask
    if not 0 < n <= ids.shape[1]:
        return logits
    windows, last = ids.unfold(1, n, 1), ids.shape[1] - n + 1
    no_padding = attention_mask.unfold(1, n, 1).all(2) & attention_mask[:, last:].all(1, keepdim=True)
    same = (windows[:, :, : n - 1] == ids[:, None, last:]).all(2) & no_padding
    hits = logits.new_zeros(logits.shape).scatter_add_(1, windows[:, :, -1].masked_fill(~same, 0), same.float())
    return logits.masked_fill(hits > 0, -math.inf)


def choices(options: SamplingOptions, context: StepContext, logits: Tensor) -> Tensor:
    """Keeps ids that continue one of the choices; behind a whole one, stop ids. Overrides what forbids all of them.

    A row that no choice begins is left as it is: beam search fills up with such rows and never takes them.
    """
    if not options.choices:
        return logits
    keep = torch.zeros_like(logits, dtype=torch.bool)
    for row, ids in enumerate(context.history[:, context.prompt_len :].tolist()):
        n = len(ids)
        begun = [choice for choice in options.choices if list(choice[:n]) == ids]
        keep[row, [id for choice in begun for id in choice[n : n + 1] or options.stop_ids]] = True
        keep[row] |= not begun
    return _only(logits, keep)


def constraint(options: SamplingOptions, context: StepContext, logits: Tensor) -> Tensor:
    """Keeps ids after which the new ids can still become a match, and stop ids behind a match.

    As with choices, it overrides what forbids all of them, and leaves rows as they are that nothing can complete.
    """
    automaton = options.constraint
    if automaton is None:
        return logits
    keep = torch.ones_like(logits, dtype=torch.bool)
    for row, ids in enumerate(context.history[:, context.prompt_len :].tolist()):
        state = automaton.run(ids)
        if state is not None:
            keep[row] = automaton.allowed(state).to(keep.device)
            keep[row, list(options.stop_ids)] = automaton.is_match(state)
    return _only(logits, keep)


def _only(logits: Tensor, keep: Tensor) -> Tensor:
    """Logits of the ids to keep, bool [B, V]; equal ones where earlier processors have banned all of these."""
    kept = logits.masked_fill(~keep, -math.inf)
    return torch.where(kept.isneginf().all(1, keepdim=True) & keep, 0.0, kept)


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
    exact = logits.double()
    return logits.masked_fill(exact.amax(1, keepdim=True) - exact > -math.log(options.min_p), -math.inf)


PENALTIES: dict[str, Processor] = {
    "ban": ban,
    "repetition": repetition,
    "frequency": frequency,
    "no-repeat-ngram": no_repeat_ngram,
    "choices": choices,
    "constraint": constraint,
}
"""Applied in every kind of decoding, beam and contrastive search included."""

FILTERS: dict[str, Processor] = {
    "temperature": temperature,
    "top-k": top_k,
    "top-p": top_p,
    "min-p": min_p,
}
"""Applied to random draws alone."""


def penalise(options: SamplingOptions, context: StepContext, logits: Tensor) -> Tensor:
    """Logits [B, V] after bans and penalties, fp32. Raises `OptionError` for a row of which they leave no id."""
    logits = logits.float()
    for process in PENALTIES.values():
        logits = process(options, context, logits)
    if (options.banned or options.no_repeat_ngram) and bool(logits.isneginf().all(1).any()):
        named = "no_repeat_ngram" if options.no_repeat_ngram else "banned"
        raise OptionError(
            f"no id is left to pick at step {context.step + 1}",
            limit="an id that neither banned nor no_repeat_ngram excludes",
            fix=("a larger ", Argument("no_repeat_ngram"), ", or fewer ", Argument("banned"), " ids"),
            option=named,
        )
    return logits


def penalise_and_filter(options: SamplingOptions, context: StepContext, logits: Tensor) -> Tensor:
    """Logits [B, V] after penalties and filters; at temperature 0, where the largest one counts, after penalties."""
    logits = penalise(options, context, logits)
    for process in FILTERS.values() if options.temperature else ():
        logits = process(options, context, logits)
    return logits


def pick(options: SamplingOptions, context: StepContext, logits: Tensor) -> Tensor:
    """The next id of each row, int64 [B]. A row gets the same id alone as in any batch."""
    logits = penalise_and_filter(options, context, logits)
    if options.temperature == 0:
        return largest(logits)
    u = [uniform(options.seed, number, context.step) for number in context.sample_numbers.tolist()]
    return draw(logits, torch.tensor(u, dtype=torch.float64, device=logits.device))


def probabilities(options: SamplingOptions, context: StepContext, logits: Tensor) -> Tensor:
    """The distribution from which `pick` draws, float64 [B, V]; at temperature 0 all of it is on one id."""
    logits = penalise_and_filter(options, context, logits)
    if options.temperature == 0:
        return torch.nn.functional.one_hot(largest(logits), logits.shape[1]).double()
    return torch.softmax(logits.double(), 1)


def largest(logits: Tensor) -> Tensor:
    """int64 [B]: the id of the largest logit of [B, V]; the lowest of equal ones."""
    ids = torch.arange(logits.shape[1], device=logits.device)
    best = logits.amax(1, keepdim=True)
    return torch.where(logits == best, ids, logits.shape[1]).amin(1)


def uniform(seed: int, sample: int, step: int) -> float:
    """The number in [0, 1) that sample number `sample` of a request draws at `step`."""
    return (rng.key(seed, sample, step) >> 11) * 2.0**-53


def draw(logits: Tensor, u: Tensor) -> Tensor:
    """int64 [B]: the first id whose cumulative probability (fp64, in id order) exceeds u [B]."""
    cumulative = torch.softmax(logits.double(), 1).cumsum(1)
    # Rounding may leave the total below 1; u is scaled to it.
    return torch.searchsorted(cumulative, u[:, None] * cumulative[:, -1:], right=True)[:, 0]
