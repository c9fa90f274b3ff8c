"""Generating ids: prompts are prefilled into a state, then each step adds one id per row. Ids only, never text.

A row gets the same ids alone as in any batch: its draws are keyed by its number in the request, and other rows, of any
length, do not influence it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from slmmodel.errors import OptionError
from slmmodel.models.protocol import Model
from slmmodel.sampling import Chain, SamplingOptions, StepContext
from slmmodel.sampling.prefill import advance, check_prompts, device_of, last, pad_left, prefill


@dataclass
class Sample:
    """One row: the ids after its prompt, without a stop id, and why it ended."""

    prompt: list[int]
    ids: list[int]
    reason: str | None = None
    """`stop` (a stop id, or `Generation.stop`), `length`, `context`; None while it runs"""


class Generation:
    """An iterator over steps; each is a list of (row, id). `samples` holds the ids so far.

    `overflow` decides about a row that reaches the model's seq_len: `stop`, or `slide`, which continues from the last
    seq_len / 2 ids. Recurrent models have no such limit. Raises `InvalidPrompt`, `OptionError`.
    """

    def __init__(
        self,
        model: Model,
        prompts: Sequence[Sequence[int]],
        options: SamplingOptions | None = None,
        *,
        max_new_tokens: int = 256,
        overflow: str = "stop",
        first_row: int = 0,
    ) -> None:
        check_prompts(model, prompts)
        if overflow not in ("stop", "slide"):
            raise OptionError(
                f"overflow is {overflow!r}", limit="stop, slide", fix="--overflow stop", option="--overflow"
            )
        if max_new_tokens < 0:
            raise OptionError(
                f"max_new_tokens is {max_new_tokens}", limit="at least 0", fix="--max-new 256", option="--max-new"
            )
        self.model, self.max_new, self.overflow = model, max_new_tokens, overflow
        self.options = options if options is not None else SamplingOptions()
        self.samples = [Sample(list(prompt), []) for prompt in prompts]
        self.first_row = first_row
        self._chain = Chain(self.options)
        self._limit = None if model.config.recurrent else model.config.seq_len
        self._starts = [0] * len(prompts)

    def stop(self, row: int) -> None:
        """Ends a row after this step: for conditions outside the ids, such as stop strings."""
        if self.samples[row].reason is None:
            self.samples[row].reason = "stop"

    def __iter__(self) -> Iterator[list[tuple[int, int]]]:
        was_training = self.model.training
        self.model.eval()
        try:
            with torch.inference_mode():
                yield from self._steps()
        finally:
            self.model.train(was_training)

    def run(self) -> list[Sample]:
        """All steps; returns the samples."""
        for _ in self:
            pass
        return self.samples

    def _steps(self) -> Iterator[list[tuple[int, int]]]:
        """Steps until all rows have ended; when a row slides, all running rows start a new state."""
        while active := self._active():
            yield from self._steps_of_one_state(active)

    def _active(self) -> list[int]:
        for sample in self.samples:
            if sample.reason is None and len(sample.ids) >= self.max_new:
                sample.reason = "length"
        return [row for row, sample in enumerate(self.samples) if sample.reason is None]

    def _window(self, row: int) -> list[int]:
        sample = self.samples[row]
        return (sample.prompt + sample.ids)[self._starts[row] :]

    def _steps_of_one_state(self, active: list[int]) -> Iterator[list[tuple[int, int]]]:
        windows = [self._window(row) for row in active]
        remaining = self.max_new - min(len(self.samples[row].ids) for row in active)
        room = remaining if self._limit is None else min(remaining, self._limit - min(map(len, windows)))
        state, logits, _ = prefill(self.model, windows, room)
        context = self._context(active)
        while True:
            ids = self._chain.pick(context, logits)
            before = active
            yield self._take(active, ids)
            active, slid = self._running(before)
            if not active or slid:
                return
            if len(active) < len(before):
                keep = torch.tensor([before.index(row) for row in active], device=ids.device)
                state.reorder(keep)
                context = context.reordered(keep)
                ids = ids[keep]
            logits = last(advance(self.model, state, ids))
            context = context.extended(ids)

    def _context(self, active: list[int]) -> StepContext:
        """Histories of all ids, also of those before the window; generated ids start in the same column."""
        prompts, real = pad_left([self.samples[row].prompt for row in active], device_of(self.model))
        rows = torch.tensor([self.first_row + row for row in active], device=prompts.device)
        context = StepContext(prompts, real, prompts.shape[1], rows)
        for step in range(len(self.samples[active[0]].ids)):
            column = torch.tensor([self.samples[row].ids[step] for row in active], device=prompts.device)
            context = context.extended(column)
        return context

    def _take(self, active: list[int], ids: Tensor) -> list[tuple[int, int]]:
        produced = []
        for row, value in zip(active, ids.tolist(), strict=True):
            sample = self.samples[row]
            if value in self.options.stop_ids:
                sample.reason = "stop"
                continue
            sample.ids.append(value)
            produced.append((row, value))
        return produced

    def _running(self, rows: list[int]) -> tuple[list[int], bool]:
        """The rows that have not ended, and whether one of them slides."""
        slid = False
        for row in rows:
            sample = self.samples[row]
            if sample.reason is not None:
                continue
            if len(sample.ids) >= self.max_new:
                sample.reason = "length"
            elif self._limit is not None and len(sample.prompt) + len(sample.ids) - self._starts[row] > self._limit:
                if self.overflow == "stop":
                    sample.reason = "context"
                else:
                    self._starts[row] = len(sample.prompt) + len(sample.ids) - max(1, self._limit // 2)
                    slid = True
        return [row for row in rows if self.samples[row].reason is None], slid


def generate(
    model: Model,
    prompts: Sequence[Sequence[int]],
    options: SamplingOptions | None = None,
    *,
    max_new_tokens: int = 256,
    overflow: str = "stop",
    first_row: int = 0,
) -> list[Sample]:
    """`Generation(...).run()`: all samples at once."""
    return Generation(
        model, prompts, options, max_new_tokens=max_new_tokens, overflow=overflow, first_row=first_row
    ).run()
