"""What `slm bench` measures: a training step, a forward pass and decoding, on random ids, by batch size.

Times are medians over repeats, after a warm-up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
import torch
from torch.utils.benchmark import Timer

from slmmodel.config import OptimConfig, RunConfig, RunSection
from slmmodel.data import ArraySource, Cursor, Loader
from slmmodel.distributed import BYTES_PER_PARAMETER, World
from slmmodel.errors import OutOfMemory
from slmmodel.models import ModelConfig, count
from slmmodel.sizes import format_bytes, format_count
from slmmodel.training import microbatch
from slmmodel.training.step import TrainStep
from slmmodel.vocab import VocabMeta

SAMPLES, STEPS = 1024, 100
"""Sequences and steps of the columns of equal work."""
KNEE_SHARE = 0.9
"""The knee is the smallest batch that reaches this share of the best speed."""


def knee(lines: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The smallest batch that is nearly as fast as the fastest; beyond it time only grows with the batch."""
    measured = [line for line in lines if line["tokens_per_s"]]
    best = max((line["tokens_per_s"] for line in measured), default=0.0)
    fast = [line for line in measured if line["tokens_per_s"] >= KNEE_SHARE * best]
    return min(fast, key=lambda line: int(line["batch_size"]), default=None)


def check_memory(config: ModelConfig, device: torch.device) -> None:
    """Raises `OutOfMemory` where the weights with gradients and AdamW's moments do not fit into the free memory."""
    parameters = count(config).parameters
    free = microbatch.free_on(device)
    if BYTES_PER_PARAMETER * parameters > free:
        raise OutOfMemory(
            f"a model of {format_count(parameters)} parameters takes at least "
            f"{format_bytes(BYTES_PER_PARAMETER * parameters)}",
            where=f"{format_bytes(free)} are free on {device.type}",
            limit="weights, gradients and optimizer",
            fix=f"a model of {format_count(free // (2 * BYTES_PER_PARAMETER))} parameters or less",
        )


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
    run = RunConfig(model=config.model_dump(), optim=optim, run=RunSection.model_validate({"precision": precision}))
    return TrainStep(run, loader, World(device=device))


def measure(
    config: ModelConfig,
    optim: OptimConfig,
    device: torch.device,
    batch_size: int,
    *,
    precision: str = "auto",
    seconds: float = 2.0,
) -> dict[str, Any]:
    """A training step and a forward pass at this batch size, as JSON values; None where memory ran out."""

    def run() -> tuple[float, float]:
        step = make_step(config, optim, device, precision=precision, batch_size=batch_size)
        taken = step.loader.global_batch(Cursor())
        batch = step.loader.batch(taken.sequence_keys)

        def train() -> None:
            step.optimizer.set_lr_factor(0.0)
            step.take(taken, 0)
            if step.micro_batch != batch_size:
                raise MemoryError

        trained = _median_seconds(train, device, seconds)
        forward = _median_seconds(lambda: step.validation_sum_nats(batch), device, seconds / 2)
        step.close()
        return trained, forward

    tokens = batch_size * config.seq_len
    trained, forward = microbatch.none_if_out_of_memory(run, device) or (None, None)
    return {
        "device": device.type,
        "batch_size": batch_size,
        "tokens": tokens,
        "seconds_per_step": trained,
        "tokens_per_s": trained and tokens / trained,
        "forward_tokens_per_s": forward and tokens / forward,
        f"seconds_for_{SAMPLES}_samples": trained and trained * SAMPLES / batch_size,
        f"seconds_for_{STEPS}_steps": trained and trained * STEPS,
    }


def _median_seconds(work: Callable[[], object], device: torch.device, seconds: float) -> float:
    """The median time of a call, repeated for about this long after a warm-up, all work of the device included.

    On a CPU the warm-up itself is the measurement where it takes longer; on a GPU it may compile kernels.
    """
    start = perf_counter()
    work()
    microbatch.synchronize(device)
    first = perf_counter() - start
    if first >= seconds and device.type == "cpu":
        return first
    names = {"work": work, "device": device, "synchronize": microbatch.synchronize}
    timer = Timer("work(); synchronize(device)", globals=names, num_threads=torch.get_num_threads())
    return float(timer.blocked_autorange(min_run_time=seconds).median)


def decode(
    model: Any, device: torch.device, *, batch_size: int = 1, ids: int | None = None, seconds: float = 2.0
) -> tuple[float, float]:
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
        speeds = [batch_size * count / _median_seconds(work, device, seconds / 4) for work in (cached, recomputing)]
    return speeds[0], speeds[1]
