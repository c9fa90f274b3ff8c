"""Generating ids: prompts are prefilled into a state, then each step adds one id per row. Ids only, never text.

A row gets the same ids alone as in any batch: its draws are keyed by its number in the request, and other rows, of any
length, do not influence it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from slmmodel.calls import explains_calls
from slmmodel.errors import Argument, OptionError, WrongType
from slmmodel.foreign_attributes import OF_SAMPLES, explains_absent_names
from slmmodel.indexing import explains_indexing
from slmmodel.models.protocol import Model, eval_mode
from slmmodel.sampling import SamplingOptions, check_option_range, pick
from slmmodel.sampling.prefill import advance, check_prompts, prefill, start_context


@explains_absent_names(OF_SAMPLES)
@explains_indexing
@dataclass
class Sample:
    """One row: the ids after its prompt, without a stop id, and why it ended."""

    prompt: list[int]
    ids: list[int]
    reason: str | None = None
    """`stop` (a stop id, or `Generation.stop`), `length`, `context`; None while it runs"""


@partial(explains_calls, options=SamplingOptions)
class Generation:
    """An iterator over steps; each is a list of (row, id). `samples` holds the ids so far.

    `overflow` decides about a row that reaches the model's seq_len: `stop`, or `slide`, which continues from the last
    seq_len / 2 ids. Models with a state of fixed size have no such limit. Raises `InvalidInput`, `OptionError`.
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
        if options is not None and not isinstance(options, SamplingOptions):
            given = dict(options) if isinstance(options, Mapping) else {}
            words = ", ".join(f"{name}={value!r}" for name, value in given.items()) or "temperature=0.8"
            fact = f"options is a {type(options).__name__}, not SamplingOptions"
            raise WrongType(fact, fix=f"SamplingOptions({words})")
        check_option_range("max_new_tokens", max_new_tokens, 0)
        if overflow not in ("stop", "slide"):
            fact = f"overflow is {overflow!r}"
            raise OptionError(fact, limit="stop, slide", fix=(Argument("overflow", "stop"),), option="--overflow")
        self.model, self.max_new, self.overflow, self.first_row = model, max_new_tokens, overflow, first_row
        self.options = options if options is not None else SamplingOptions()
        self.samples = [Sample(list(prompt), [], None if max_new_tokens else "length") for prompt in prompts]
        self._max_len = model.config.max_context
        self._starts = [0] * len(prompts)
        """of each row: where the window that its state holds begins in prompt + ids"""

    def stop(self, row: int) -> None:
        """Ends a row after this step: for conditions outside the ids, such as stop strings."""
        if self.samples[row].reason is None:
            self.samples[row].reason = "stop"

    def __iter__(self) -> Iterator[list[tuple[int, int]]]:
        steps = self._steps()
        while True:
            # Not while the caller has the ids: what is set here would hold for its own code.
            with eval_mode(self.model), torch.inference_mode():
                step = next(steps, None)
            if step is None:
                return
            yield step

    def _steps(self) -> Iterator[list[tuple[int, int]]]:
        while rows := self._running(range(len(self.samples))):
            yield from self._steps_of_one_state(rows)

    def _running(self, rows: Sequence[int]) -> list[int]:
        return [row for row in rows if self.samples[row].reason is None]

    def _steps_of_one_state(self, rows: list[int]) -> Iterator[list[tuple[int, int]]]:
        """Steps until all rows have ended, or one slides: then all running rows start a new state."""
        histories = [self.samples[row].prompt + self.samples[row].ids for row in rows]
        windows = [ids[self._starts[row] :] for row, ids in zip(rows, histories, strict=True)]
        n_generated = len(self.samples[rows[0]].ids)
        max_ids = min(self.max_new - n_generated, self._max_len - min(map(len, windows)))
        state, logits = prefill(self.model, windows, max_ids)
        # The history holds all ids, also those before the window. Running rows have generated equally many.
        context = start_context(histories, n_generated, torch.tensor(rows, device=logits.device) + self.first_row)
        while True:
            ids = pick(self.options, context, logits)
            yield self._append(rows, ids.tolist())
            slides = [self._end(row) for row in self._running(rows)]
            running = self._running(rows)
            if not running or any(slides):
                return
            if len(running) < len(rows):
                kept = torch.tensor([rows.index(row) for row in running], device=ids.device)
                state.reorder(kept)
                context, ids, rows = context.reordered(kept), ids[kept], running
            logits, _ = advance(self.model, state, ids)
            context = context.extended(ids)

    def _append(self, rows: list[int], ids: list[int]) -> list[tuple[int, int]]:
        """Adds an id to each row, or ends it at a stop id; returns what was added."""
        for row, id in zip(rows, ids, strict=True):
            if id in self.options.stop_ids:
                self.samples[row].reason = "stop"
            else:
                self.samples[row].ids.append(id)
        return [(row, id) for row, id in zip(rows, ids, strict=True) if self.samples[row].reason is None]

    def _end(self, row: int) -> bool:
        """Ends a row at a limit; True where it slides instead."""
        sample = self.samples[row]
        length = len(sample.prompt) + len(sample.ids)
        if len(sample.ids) >= self.max_new:
            sample.reason = "length"
        elif length - self._starts[row] > self._max_len:
            if self.overflow == "slide":
                self._starts[row] = length - max(1, self._max_len // 2)
                return True
            sample.reason = "context"
        return False


@partial(explains_calls, options=SamplingOptions)
def generate(
    model: Model,
    prompts: Sequence[Sequence[int]],
    options: SamplingOptions | None = None,
    *,
    max_new_tokens: int = 256,
    overflow: str = "stop",
    first_row: int = 0,
) -> list[Sample]:
    """All steps of a `Generation`; returns its samples."""
    generation = Generation(
        model, prompts, options, max_new_tokens=max_new_tokens, overflow=overflow, first_row=first_row
    )
    for _ in generation:
        pass
    return generation.samples
