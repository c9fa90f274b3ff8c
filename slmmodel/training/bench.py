"""What `slm bench` measures: a training step, a forward pass and decoding, on random ids, by batch size.

Times are medians over repeats with the garbage collector left alone; the first step of each size is not counted. The
ids are random, since speed does not depend on what they say.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from slmmodel.data.loader import Loader
from slmmodel.data.source import ArraySource
from slmmodel.models import ModelConfig, build
from slmmodel.optim import OptimSettings
from slmmodel.optim import build as build_optimizer
from slmmodel.training import microbatch
from slmmodel.training.loss import Loss
from slmmodel.training.precision import Precision, resolve
from slmmodel.training.ranks import Ranks
from slmmodel.training.state import Progress
from slmmodel.training.stepper import Stepper
from slmmodel.vocab import VocabMeta

SAMPLES, STEPS = 1024, 100
"""Rows and steps that the columns of equal work are given for."""
NEAR = 0.9
"""The knee is the smallest batch that reaches this share of the best speed."""


@dataclass(frozen=True)
class Line:
    """One batch size on one device. `seconds` of a step; None where memory ran out."""

    device: str
    rows: int
    tokens: int
    seconds: float | None
    forward: float | None

    @property
    def speed(self) -> float:
        """Ids a second of a training step."""
        return self.tokens / self.seconds if self.seconds else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain data, with the time for equal samples and for equal steps."""
        seconds = self.seconds
        return {
            "device": self.device,
            "rows": self.rows,
            "tokens": self.tokens,
            "seconds_per_step": seconds,
            "tokens_per_s": self.speed or None,
            "forward_tokens_per_s": self.tokens / self.forward if self.forward else None,
            f"seconds_for_{SAMPLES}_samples": None if seconds is None else seconds * SAMPLES / self.rows,
            f"seconds_for_{STEPS}_steps": None if seconds is None else seconds * STEPS,
        }


def knee(lines: Sequence[Line]) -> Line | None:
    """The smallest batch that is nearly as fast as the fastest; beyond it time only grows with the batch."""
    best = max((line.speed for line in lines), default=0.0)
    fast = [line for line in lines if line.speed >= NEAR * best > 0]
    return min(fast, key=lambda line: line.rows) if fast else None


def make_stepper(
    config: ModelConfig, optim: OptimSettings, device: torch.device, *, precision: str, rows: int
) -> Stepper:
    """A stepper over random ids, `rows` rows a step; a row is one document, which all kinds of models take."""
    ids = np.random.default_rng(0).integers(16, config.n_vocab, (4 * rows, config.seq_len - 1))
    source = ArraySource([[1, *row, 2] for row in ids.tolist()], [len(row) for row in ids])
    lengths = np.ones(config.n_vocab, np.uint32)
    vocab = VocabMeta(config.n_vocab, config.padded_vocab, {"bos": 1, "eos": 2, "pad": 3}, 16, lengths, "0" * 64)
    how = Precision(resolve(precision, device), device)
    model = build(config, seed=0, device=device).to(how.weights)
    loader = Loader(source, vocab, context=config.seq_len, rows_per_step=rows, cuts="fixed", pin=device.type == "cuda")
    optimizer = build_optimizer(model, optim)
    return Stepper(model, loader, optimizer, Loss(), how, ranks=Ranks(device=device), micro=rows, limit=optim.clip)


def measure(
    config: ModelConfig,
    optim: OptimSettings,
    device: torch.device,
    rows: int,
    *,
    precision: str = "auto",
    seconds: float = 2.0,
    repeats: int = 3,
) -> Line:
    """A training step and a forward pass with so many rows."""
    tokens = rows * config.seq_len
    failed = False
    try:
        stepper = make_stepper(config, optim, device, precision=precision, rows=rows)
        taken = stepper.loader.step(Progress().cursor)
        batch = stepper.loader.batch(taken.rows)
        step = _timed(lambda: _train(stepper, taken), device, seconds, repeats)
        forward = _timed(lambda: stepper.nats(batch), device, seconds / 2, repeats)
        stepper.close()
        return Line(device.type, rows, tokens, step, forward)
    except Exception as error:
        if not microbatch.is_out_of_memory(error):
            raise
        failed = True
    if failed:
        microbatch.free(device)
    return Line(device.type, rows, tokens, None, None)


def _train(stepper: Stepper, taken: Any) -> None:
    stepper.optimizer.set(0.0)
    before = stepper.micro
    stepper.run(taken.rows, taken.n_targets, 0)
    if stepper.micro != before:
        raise MemoryError


def _timed(work: Callable[[], object], device: torch.device, seconds: float, repeats: int) -> float:
    """Median seconds: at least `repeats` times, until the time is used."""
    work()
    found: list[float] = []
    until = time.perf_counter() + seconds
    while len(found) < repeats or (time.perf_counter() < until and len(found) < 1000):
        began = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        found.append(time.perf_counter() - began)
    return statistics.median(found)


def decode(model: Any, device: torch.device, *, rows: int = 1, ids: int | None = None) -> tuple[float, float]:
    """Ids a second of greedy decoding to the end of the context: with the state, and computing all anew each time."""
    context = model.config.seq_len
    count = min(ids or context, context) - 2
    prompt = torch.ones(rows, 2, dtype=torch.int64, device=device)

    def cached() -> None:
        state = model.init_state(rows, device)
        fed = prompt
        for _ in range(count):
            fed = model(fed, state=state, logits="last").logits[:, -1].argmax(-1, keepdim=True)

    def anew() -> None:
        text = prompt
        for _ in range(count):
            text = torch.cat([text, model(text, logits="last").logits[:, -1].argmax(-1, keepdim=True)], dim=1)

    model.eval()
    with torch.inference_mode():
        return rows * count / _timed(cached, device, 0.5, 2), rows * count / _timed(anew, device, 0.5, 2)
