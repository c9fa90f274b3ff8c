"""CPU accelerations of training, behind the one switch `run.cpu_accel`: data parallelism over threads, and malloc.

A step of a small model is hundreds of short operations. Splitting each operation over threads synchronises them before
and after every one; splitting the sequences synchronises once a micro-batch. Gradients of the two halves are added in
the order of the sequences, so the sum does not depend on which thread finishes first. Measured in
docs/decisions/0017-cpu-data-parallelism.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait

import torch
from torch import Tensor, nn

from slmmodel.data.batch import Batch

Gradients = tuple[Tensor | None, ...]
MAX_FREE_BYTES = 1 << 30
"""Free bytes at the top of the heap that glibc keeps instead of returning them to the system."""
MMAP_THRESHOLD_BYTES = 1 << 25
"""Blocks from this size on are still mapped and unmapped one by one: glibc's own upper limit."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


class CpuParallel:
    """Computes the gradient of a batch in two threads, each with half of torch's threads and half of the sequences.

    `TrainStep` has one unless dropout, a carried state, fp16 or `torch.compile` need one forward pass.
    """

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self._parameters = list(parameters)
        self._pool = ThreadPoolExecutor(1, "slm-half")

    def applies(self, batch: Batch) -> bool:
        """Whether there are two sequences or more and an even number of threads."""
        return len(batch.ids) > 1 and torch.get_num_threads() % 2 == 0

    def backward(self, batch: Batch, sum_nats: Callable[[Batch], Tensor], loss_scale: float) -> Tensor:
        """`sum_nats(batch)`, detached; adds the gradients of `loss_scale` times it to the parameters.

        An error in either half is raised after both have ended; no parameter has a gradient of the batch then.
        """
        threads, middle = torch.get_num_threads(), len(batch.ids) // 2
        try:
            pending = self._pool.submit(self._half, threads // 2, batch[middle:], sum_nats, loss_scale)
            try:
                first, gradients = self._half(threads // 2, batch[:middle], sum_nats, loss_scale)
            finally:
                wait([pending])
            second, others = pending.result()
        finally:
            torch.set_num_threads(threads)
        self._accumulate(gradients)
        self._accumulate(others)
        return first + second

    def _half(
        self, threads: int, batch: Batch, sum_nats: Callable[[Batch], Tensor], loss_scale: float
    ) -> tuple[Tensor, Gradients]:
        torch.set_num_threads(threads)  # of this Python thread
        nats = sum_nats(batch)
        return nats.detach(), torch.autograd.grad(nats * loss_scale, self._parameters, allow_unused=True)

    def _accumulate(self, gradients: Gradients) -> None:
        for parameter, gradient in zip(self._parameters, gradients, strict=True):
            if parameter.grad is None:
                parameter.grad = gradient
            elif gradient is not None:
                parameter.grad.add_(gradient)

    def close(self) -> None:
        """Ends the thread."""
        self._pool.shutdown()


def keep_freed_memory() -> bool:
    """Makes glibc keep freed memory for the next step; False with another C library.

    A step frees all activations; by default glibc returns them to the system, which clears every page again: up to
    10 % of the time of a small model's step. The peak memory of the process stays the same.
    """
    options = ((_M_TRIM_THRESHOLD, MAX_FREE_BYTES), (_M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES))
    return all(_libc("mallopt", *option) for option in options)


def trim_memory() -> None:
    """Returns free memory to the system."""
    _libc("malloc_trim", 0)


def _libc(name: str, *arguments: int) -> int:
    """The result of a function of glibc; 0, its failure, with another C library."""
    import ctypes

    function = getattr(ctypes.CDLL(None), name, None) if sys.platform.startswith("linux") else None
    return function(*arguments) if function is not None else 0
