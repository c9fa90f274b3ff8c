"""Probes: real steps before step 0, whose effect on weights and state is undone."""

from __future__ import annotations

import time
from collections.abc import Callable

from slmmodel.data import Cursor
from slmmodel.training.microbatch import synchronize
from slmmodel.training.step import TrainStep

DEFAULT_SECONDS = 5.0


def seconds_per_step(step: TrainStep, seconds: float | None = None) -> float:
    """Mean seconds of at least two steps after a warm-up step; of several ranks, the slowest."""
    limit = DEFAULT_SECONDS if seconds is None else seconds
    weights = {name: tensor.clone() for name, tensor in step.model.state_dict().items()}
    optimizer = {name: tensor.clone() for name, tensor in step.optimizer.state().items()}
    state = step.state()
    batch = step.loader.step(Cursor())
    step.optimizer.set(0.0)

    def one(number: int) -> None:
        step.run(batch.sequences, batch.n_targets, number)
        synchronize(step.world.device)

    one(0)
    start, count, spent = time.perf_counter(), 0, 0.0
    while count < 2 or spent < limit:
        count += 1
        one(count)
        spent = step.world.max([time.perf_counter() - start])[0]
    step.model.load_state_dict(weights)
    step.optimizer.load(optimizer)
    step.load(state)
    return spent / count


def attempts(step: TrainStep) -> Callable[[int], int]:
    """A function that trains on the first `n` sequences as one micro-batch, without an update, and gives its tokens."""

    def attempt(size: int) -> int:
        batch = step.loader.step(Cursor())
        step.attempt(batch.sequences[:size], batch.n_targets, 0)
        return size * step.loader.seq_len

    return attempt
