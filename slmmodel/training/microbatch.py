"""Micro-batches: how many rows go through the model at once. The global batch is configuration and never moves here.

On CUDA `auto` measures: a real step, doubled until memory is short, then the smallest size within 3 % of the fastest.
On a CPU nothing is timed, so that two equal commands sum in the same order and end in the same bits: it is the whole
step unless an estimate of memory forbids it. Either way a run keeps its choice, and out of memory in mid-run takes the
next smaller size for the same rows.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from pathlib import Path

import torch

from slmmodel.errors import OutOfMemory

FULL = 0.92
"""Share of a device's memory beyond which a size counts as too large."""
SLACK = 0.03
ENOUGH = 0.6
"""Share of free memory that a CPU step may be estimated to take."""
_CPU_ALLOCATOR = ("not enough memory", "can't allocate memory", "out of memory")


def divisors(rows: int) -> list[int]:
    """Micro-batches that divide the rows of a rank, smallest first."""
    return [size for size in range(1, rows + 1) if rows % size == 0]


def smaller(size: int, rows: int) -> int:
    """The next smaller micro-batch. Raises `OutOfMemory` below one row."""
    found = [divisor for divisor in divisors(rows) if divisor < size]
    if not found:
        raise OutOfMemory(
            "out of memory with a single row",
            limit="the micro-batch cannot be smaller than one row",
            fix="a shorter model.seq_len, a smaller model, model.activation_checkpointing=true, or a larger device",
        )
    return found[-1]


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory ran out, on whatever device."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return not isinstance(error, OutOfMemory)
    return isinstance(error, RuntimeError) and any(text in str(error).lower() for text in _CPU_ALLOCATOR)


def free(device: torch.device) -> None:
    """Gives memory back. To be called outside the `except` block, whose traceback holds the tensors."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


def estimate(rows: int, context: int, n_vocab: int, width: int, layers: int) -> int:
    """Bytes that the activations of a step take, generously: some forty vectors a layer and slot, logits three
    times."""
    return 4 * rows * context * (40 * width * max(layers, 1) + 3 * n_vocab)


def available() -> int:
    """Bytes of memory that are free on this machine, or a large number where nobody knows."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free_bytes = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return 1 << 62
    try:
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii"))
        used = int(Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return free_bytes
    return min(free_bytes, max(limit - used, 0))


def on_cpu(rows: int, cost: Callable[[int], int], memory: int) -> int:
    """The largest micro-batch whose estimated cost fits; the whole step if it does."""
    fitting = [size for size in divisors(rows) if cost(size) <= ENOUGH * memory]
    return fitting[-1] if fitting else 1


def measured(rows: int, device: torch.device, attempt: Callable[[int], int]) -> int:
    """The smallest micro-batch within 3 % of the fastest. `attempt` runs a step of so many rows and gives its tokens.

    Raises `OutOfMemory` where not even one row fits.
    """
    speeds: dict[int, float] = {}
    for size in divisors(rows):
        speed = _speed(size, device, attempt)
        if speed is None:
            break
        speeds[size] = speed
    if not speeds:
        return smaller(1, rows)
    best = max(speeds.values())
    return min(size for size, speed in speeds.items() if speed >= best * (1 - SLACK))


def _speed(size: int, device: torch.device, attempt: Callable[[int], int]) -> float | None:
    """Tokens a second of a micro-batch, or None where it does not fit."""
    failed = False
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    try:
        attempt(size)
        _wait(device)
        began = time.perf_counter()
        tokens = attempt(size)
        _wait(device)
        seconds = time.perf_counter() - began
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        failed = True
    if failed:
        free(device)
        return None
    if device.type == "cuda":
        total = torch.cuda.get_device_properties(device).total_memory
        if torch.cuda.max_memory_reserved(device) > FULL * total:
            free(device)
            return None
    return tokens / max(seconds, 1e-9)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
