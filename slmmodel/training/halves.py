"""Two threads for the gradient of a micro-batch: on a CPU each computes that of half the rows.

A step of a small model is hundreds of short operations. Where threads share each operation, they meet before and after
every one, and all but one idle while Python and the backward pass go from one to the next. Where they share rows, they
meet once a step. Gradients are taken apart and added in the order of the rows, so the sum does not depend on which
thread was first. With one thread, an odd number of them, or one row there are no halves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from slmmodel.data.batch import Batch

Gradients = tuple[Tensor | None, ...]


class Halves:
    """Adds the gradients of both halves of a batch to those of `parameters`."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self._parameters = list(parameters)
        self._pool: ThreadPoolExecutor | None = None
        self._each = 0

    def fit(self, batch: Batch) -> bool:
        """Whether there are two rows to share out, and threads for two halves of equal weight."""
        return len(batch.ids) > 1 and torch.get_num_threads() % 2 == 0

    def run(self, batch: Batch, nats: Callable[[Batch], Tensor], factor: float) -> Tensor:
        """`nats` of the batch, detached; gradients of `factor` times them are in the parameters afterwards.

        An error in either half is raised when both have ended, and no parameter has a gradient of the batch then.
        """
        threads = torch.get_num_threads()
        middle = len(batch.ids) // 2
        pool = self._worker(threads // 2)
        try:
            torch.set_num_threads(threads // 2)
            later = pool.submit(self._part, cut(batch, middle, len(batch.ids)), nats, factor)
            try:
                first, gradients = self._part(cut(batch, 0, middle), nats, factor)
            finally:
                wait([later])
            second, others = later.result()
        finally:
            torch.set_num_threads(threads)
        self._add(gradients)
        self._add(others)
        return first + second

    def close(self) -> None:
        """Ends the thread. May be used again."""
        if self._pool is not None:
            self._pool.shutdown(wait=True)
            self._pool = None

    def _part(self, batch: Batch, nats: Callable[[Batch], Tensor], factor: float) -> tuple[Tensor, Gradients]:
        found = nats(batch)
        return found.detach(), torch.autograd.grad(found * factor, self._parameters, allow_unused=True)

    def _add(self, gradients: Gradients) -> None:
        sums: list[Tensor] = []
        more: list[Tensor] = []
        for parameter, gradient in zip(self._parameters, gradients, strict=True):
            if gradient is None:
                continue
            if parameter.grad is None:
                parameter.grad = gradient
            else:
                sums.append(parameter.grad)
                more.append(gradient)
        if sums:
            torch._foreach_add_(sums, more)

    def _worker(self, each: int) -> ThreadPoolExecutor:
        """One thread, which shares its operations out to `each` threads: torch keeps that number by thread."""
        if self._pool is None or self._each != each:
            self.close()
            self._pool = ThreadPoolExecutor(1, "slm-half", initializer=torch.set_num_threads, initargs=(each,))
            self._each = each
        return self._pool


def cut(batch: Batch, first: int, last: int) -> Batch:
    """Rows [first, last) of a batch, for the loss: `n_bytes` stays that of the whole."""
    mask = batch.target_mask[first:last]
    whole = batch.n_targets == batch.target_mask.numel()
    return replace(
        batch,
        ids=batch.ids[first:last],
        targets=batch.targets[first:last],
        target_mask=mask,
        doc_id=batch.doc_id[first:last],
        positions=batch.positions[first:last],
        n_targets=mask.numel() if whole else int(mask.sum()),
        rows=batch.rows[first:last],
    )
