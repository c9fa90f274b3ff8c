"""Micro-batches: sequences per forward pass. The global batch is configuration and never changes here.

A rank's `share` is its sequences of the global batch. On CUDA its divisors are timed. On a CPU, and for sharded
parameters, an estimate of memory decides, and on a CPU one of time, so two equal commands sum in the same order. A run
records its micro-batch, and lowers it where memory runs out.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import torch

from slmmodel import system_memory
from slmmodel.distributed import World
from slmmodel.errors import Argument, OutOfMemory
from slmmodel.models import ModelConfig
from slmmodel.training.loss import LOGITS_COPIES, logits_bytes

MAX_MEMORY_SHARE = 0.92
"""A micro-batch that takes more of a device's memory counts as too large."""
SPEED_TOLERANCE = 0.03
MAX_ESTIMATED_SHARE = 0.6
"""The estimate of a step may take this share of the free memory."""
MAX_CPU_FLOPS = 1e11
"""Of a micro-batch on a CPU: about a second on two cores. Between micro-batches a signal ends the run."""
ESTIMATED_VECTORS = 40
"""A block is estimated to keep this many vectors of d_model a token: about twice those of llama."""
UNKNOWN_MEMORY = 1 << 62
"""Bytes that no machine has: nothing is limited where free memory is unknown."""
Result = TypeVar("Result")
_ALLOCATOR_MESSAGES = ("not enough memory", "can't allocate memory", "out of memory")
_ONEDNN_MESSAGE = "could not create a primitive"
"""Where oneDNN gets no memory for its code. With more words it has no such code."""


def divisors(share: int) -> list[int]:
    """Micro-batches that divide the share of a rank, ascending."""
    return [size for size in range(1, share + 1) if share % size == 0]


def next_smaller(size: int, share: int) -> int:
    """The next smaller micro-batch. Raises `OutOfMemory` below one sequence."""
    smaller = [divisor for divisor in divisors(share) if divisor < size]
    if not smaller:
        raise OutOfMemory(
            "out of memory with a single sequence",
            limit="the micro-batch is at least 1",
            fix=(
                "lower model.seq_len, ",
                Argument("model.activation_checkpointing", True),
                ", a smaller model or a larger device",
            ),
        )
    return smaller[-1]


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory ran out, on any device."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return not isinstance(error, OutOfMemory)
    text = str(error).lower()
    is_of_allocator = text == _ONEDNN_MESSAGE or any(message in text for message in _ALLOCATOR_MESSAGES)
    return isinstance(error, RuntimeError) and is_of_allocator


def none_if_out_of_memory(work: Callable[[], Result], device: torch.device) -> Result | None:
    """The result of `work`; None where memory runs out, which is then freed."""
    try:
        return work()
    except Exception as error:
        if not is_out_of_memory(error):
            raise
    # Outside the `except` block, whose traceback refers to tensors.
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
    return None


def free_memory() -> int:
    """Free bytes of main memory, within the limits of container and job; `UNKNOWN_MEMORY` if nothing reports them."""
    free = system_memory.free_memory()
    return UNKNOWN_MEMORY if free is None else free


def free_on(device: torch.device, ranks: int = 1) -> int:
    """Free bytes of a device; of main memory the part of one of `ranks` processes."""
    return torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else free_memory() // ranks


def estimated(share: int, model: ModelConfig, memory: int, n_passes: int = 1) -> int:
    """The largest micro-batch whose activations are estimated to fit into `memory` bytes; at least 1.

    The estimate is high: `ESTIMATED_VECTORS` of each block, or with activation checkpointing of the one that is
    recomputed, and one of the others; and the logits. `n_passes`: threads among which the sequences are split.
    """
    recomputes = getattr(model, "activation_checkpointing", False)
    vectors = ESTIMATED_VECTORS + model.n_layers if recomputes else ESTIMATED_VECTORS * model.n_layers

    def fits(size: int) -> bool:
        tokens = size * model.seq_len
        logits = LOGITS_COPIES * logits_bytes(tokens, model.n_vocab, n_passes)
        return 4 * tokens * vectors * model.d_model + logits <= MAX_ESTIMATED_SHARE * memory

    return max(filter(fits, divisors(share)), default=1)


def limited_in_time(share: int, flops_per_sequence: float) -> int:
    """The largest micro-batch that takes at most `MAX_CPU_FLOPS`; at least 1."""
    return max((size for size in divisors(share) if size * flops_per_sequence <= MAX_CPU_FLOPS), default=1)


def fastest(share: int, device: torch.device, train: Callable[[int], object]) -> int:
    """The smallest micro-batch within 3 % of the fastest. `train` trains on this many sequences.

    Raises `OutOfMemory` where not even one sequence fits.
    """
    speeds: dict[int, float] = {}
    for size in divisors(share):
        speed = none_if_out_of_memory(partial(_sequences_per_second, size, device, train), device)
        if speed is None:
            break
        speeds[size] = speed
    if not speeds:
        return next_smaller(1, share)
    return min(size for size, speed in speeds.items() if speed >= max(speeds.values()) * (1 - SPEED_TOLERANCE))


def _sequences_per_second(size: int, device: torch.device, train: Callable[[int], object]) -> float:
    """The speed of a micro-batch. Raises `MemoryError` where it takes nearly all memory of the device."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    seconds = mean_seconds(lambda: train(size), World(device=device))
    if device.type == "cuda":
        total = torch.cuda.get_device_properties(device).total_memory
        if torch.cuda.max_memory_reserved(device) > MAX_MEMORY_SHARE * total:
            raise MemoryError
    return size / max(seconds, 1e-9)


def mean_seconds(work: Callable[[], object], world: World, *, calls: int = 1, seconds: float = 0.0) -> float:
    """Mean time of a call after a warm-up, over at least `calls` calls and `seconds`; of several ranks, the slowest."""
    work()
    synchronize(world.device)
    start, count, spent = time.perf_counter(), 0, 0.0
    while count < calls or spent < seconds:
        work()
        synchronize(world.device)
        count += 1
        spent = world.reduce("max", [time.perf_counter() - start])[0]
    return spent / count


def synchronize(device: torch.device) -> None:
    """Waits for all work of a CUDA device."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
