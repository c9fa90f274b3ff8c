"""Dropout whose masks follow from a seed alone, also beside threads that draw from torch's generator of the process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

_thread = threading.local()
_torch_generator_lock = threading.Lock()
"""Held by a pass whose masks come from torch's generator."""


@contextmanager
def dropout_seed(seed: int, *, own: bool) -> Iterator[None]:
    """The masks of this thread follow from `seed`, until the end of a forward and backward pass.

    own: from a generator of this pass. Kernels of GPUs and compiled code draw from torch's generator alone; such
    passes wait for each other, and other code that draws from it at the same time changes their masks.
    """
    if not own:
        with _torch_generator_lock:
            torch.manual_seed(seed)
            yield
        return
    _thread.generator = torch.Generator().manual_seed(seed)
    try:
        yield
    finally:
        del _thread.generator


def own_generator() -> torch.Generator | None:
    """The generator of the present pass; None where masks come from torch's."""
    return None if torch.compiler.is_compiling() else getattr(_thread, "generator", None)


def dropout(x: Tensor, p: float) -> Tensor:
    """`F.dropout` in training, with a mask from `own_generator` where the pass has one."""
    generator = own_generator()
    if generator is None:
        return F.dropout(x, p)
    return x * torch.empty_like(x).bernoulli_(1 - p, generator=generator).div_(1 - p)


def repeatable(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which draws the masks of its first call again where activation checkpointing repeats it."""
    generator = own_generator()
    if generator is None:
        return function
    state = generator.get_state()

    def call(*arguments: Any) -> Any:
        generator.set_state(state)
        return function(*arguments)

    return call
