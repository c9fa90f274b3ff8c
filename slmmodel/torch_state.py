"""State of torch that belongs to the caller's thread or process, and that numbers of this package do not depend on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch

_DEVICES = ("cpu", "cuda", "mps")


@contextmanager
def own_torch_state(*, gradients: bool = False) -> Iterator[None]:
    """float32 as the default dtype, the CPU as the default device, no autocast; then what the caller had set.

    gradients: recorded, also where the caller has turned them off.
    """
    dtype = torch.get_default_dtype()
    with ExitStack() as stack:
        for device in _DEVICES:
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        if torch.get_default_device().type != "cpu":
            stack.enter_context(torch.device("cpu"))
        if gradients and torch.is_inference_mode_enabled():
            stack.enter_context(torch.inference_mode(False))
        if gradients:
            stack.enter_context(torch.enable_grad())
        # Of the process: other threads see it change, so that it stays where it is right.
        if dtype != torch.float32:
            stack.callback(torch.set_default_dtype, dtype)
            torch.set_default_dtype(torch.float32)
        yield
