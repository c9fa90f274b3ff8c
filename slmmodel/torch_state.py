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


@contextmanager
def kept_torch_state() -> Iterator[None]:
    """A call of the caller's code; what it changes of this state is changed back."""
    dtype, device, nesting = torch.get_default_dtype(), torch.get_default_device(), _autocast_nesting()
    autocast = [(each, torch.is_autocast_enabled(each), torch.get_autocast_dtype(each)) for each in _DEVICES]
    try:
        # It restores gradients and inference mode, whatever of them was entered and not left.
        with torch.inference_mode(torch.is_inference_mode_enabled()), torch.set_grad_enabled(torch.is_grad_enabled()):
            yield
    finally:
        for each, is_enabled, cast_to in autocast:
            torch.set_autocast_enabled(each, is_enabled)
            torch.set_autocast_dtype(each, cast_to)
        # Within an autocast that was not left, casts of weights would stay in its cache after a step changed them.
        for _ in range(_autocast_nesting() - nesting):
            torch.autocast_decrement_nesting()
        if torch.get_default_device() != device:
            torch.set_default_device(None if device.type == "cpu" else device)
        if torch.get_default_dtype() != dtype:
            torch.set_default_dtype(dtype)


def _autocast_nesting() -> int:
    """The depth to which autocasts are nested, enabled or not."""
    torch.autocast_increment_nesting()
    return torch.autocast_decrement_nesting()
