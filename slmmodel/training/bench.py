"""What `slm bench` measures: a training step, a forward pass and decoding, on random ids, by batch size.

Times are medians over repeats; the first step of each size is a warm-up.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from slmmodel.config import OptimConfig, RunConfig, RunSection
from slmmodel.data import ArraySource, Cursor, Loader
from slmmodel.distributed import World
from slmmodel.models import ModelConfig
from slmmodel.training import microbatch
from slmmodel.training.step import TrainStep
from slmmodel.vocab import VocabMeta

SAMPLES, STEPS = 1024, 100
"""Sequences and steps of the columns of equal work."""
KNEE_SHARE = 0.9
"""The knee is the smallest batch that reaches this share of the best speed."""


@dataclass(frozen=True)
class Measurement:
    """One batch size on one device. Times are None where memory ran out."""

    device: str
    batch_size: int
    tokens: int
    step_seconds: float | None
    forward_seconds: float | None

    @property
    def tokens_per_s(self) -> float:
        """Speed of a training step."""
        return self.tokens / self.step_seconds if self.step_seconds else 0.0

    def to_dict(self) -> dict[str, Any]:
        """JSON-compatible values, with the time for equal samples and for equal steps."""
        seconds = self.step_seconds
        return {
            "device": self.device,
            "batch_size": self.batch_size,
            "tokens": self.tokens,
            "seconds_per_step": seconds,
            "tokens_per_s": self.tokens_per_s or None,
            "forward_tokens_per_s": self.tokens / self.forward_seconds if self.forward_seconds else None,
            f"seconds_for_{SAMPLES}_samples": None if seconds is None else seconds * SAMPLES / self.batch_size,
            f"seconds_for_{STEPS}_steps": None if seconds is None else seconds * STEPS,
        }


def knee(measurements: Sequence[Measurement]) -> Measurement | None:
    """The smallest batch that is nearly as fast as the fastest; beyond it time only grows with the batch."""
    best = max((item.tokens_per_s for item in measurements), default=0.0)
    fast = [item for item in measurements if item.tokens_per_s >= KNEE_SHARE * best > 0]
    return min(fast, key=lambda item: item.batch_size) if fast else None


def make_step(
    config: ModelConfig, optim: OptimConfig, device: torch.device, *, precision: str, batch_size: int
) -> TrainStep:
    """A train step over random ids; each sequence is one document, which every architecture accepts."""
    ids = np.random.default_rng(0).integers(16, config.n_vocab, (4 * batch_size, config.seq_len - 1))
    source = ArraySource([[1, *row, 2] for row in ids.tolist()], [len(row) for row in ids])
    lengths = np.ones(config.n_vocab, np.uint32)
    vocab = VocabMeta(config.n_vocab, config.padded_vocab, {"bos": 1, "eos": 2, "pad": 3}, 16, lengths, "0" * 64)
    pin = device.type == "cuda"
    loader = Loader(source, vocab, seq_len=config.seq_len, batch_size=batch_size, crop_offset="fixed", pin=pin)
    run = RunConfig(model=config.to_dict(), optim=optim, run=RunSection.model_validate({"precision": precision}))
    return TrainStep(run, loader, World(device=device))


def measure(
    config: ModelConfig,
    optim: OptimConfig,
    device: torch.device,
    batch_size: int,
    *,
    precision: str = "auto",
    seconds: float = 2.0,
    repeats: int = 3,
) -> Measurement:
    """A training step and a forward pass at this batch size."""
    tokens = batch_size * config.seq_len
    times: tuple[float | None, float | None] = (None, None)
    try:
        step = make_step(config, optim, device, precision=precision, batch_size=batch_size)
        taken = step.loader.step(Cursor())
        batch = step.loader.batch(taken.sequences)

        def train() -> None:
            step.optimizer.set(0.0)
            step.run(taken.sequences, taken.n_targets, 0)
            if step.micro_batch != batch_size:
                raise MemoryError

        trained = _median_seconds(train, device, seconds, repeats)
        times = trained, _median_seconds(lambda: step.validation_nats(batch), device, seconds / 2, repeats)
        step.close()
    except Exception as error:
        if not microbatch.is_out_of_memory(error):
            raise
    if times[0] is None:
        microbatch.release_memory(device)
    return Measurement(device.type, batch_size, tokens, *times)


def _median_seconds(work: Callable[[], object], device: torch.device, seconds: float, repeats: int) -> float:
    """The median of at least `repeats` calls, until the time is used."""
    work()
    times: list[float] = []
    until = time.perf_counter() + seconds
    while len(times) < repeats or (time.perf_counter() < until and len(times) < 1000):
        start = time.perf_counter()
        work()
        microbatch.synchronize(device)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def decode(model: Any, device: torch.device, *, batch_size: int = 1, ids: int | None = None) -> tuple[float, float]:
    """Ids per second of greedy decoding over the sequence length: with the state, and recomputing all positions."""
    count = min(ids or model.config.seq_len, model.config.seq_len) - 2
    prompt = torch.ones(batch_size, 2, dtype=torch.int64, device=device)

    def cached() -> None:
        state = model.init_state(batch_size, device)
        following = prompt
        for _ in range(count):
            following = model(following, state=state, logits="last").logits[:, -1].argmax(-1, keepdim=True)

    def recomputing() -> None:
        text = prompt
        for _ in range(count):
            text = torch.cat([text, model(text, logits="last").logits[:, -1].argmax(-1, keepdim=True)], dim=1)

    model.eval()
    with torch.inference_mode():
        speeds = [batch_size * count / _median_seconds(work, device, 0.5, 2) for work in (cached, recomputing)]
    return speeds[0], speeds[1]
