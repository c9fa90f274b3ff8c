"""State of torch that belongs to the caller's thread or process, and that numbers of this package do not depend on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

import torch

_DEVICES = ("cpu", "cuda", "mps")
_MATMUL_BACKENDS = ("mkldnn", "cuda") if hasattr(torch._C, "_get_fp32_precision_getter") else ()
"""Those with a precision of their own for matrix products of float32: from torch 2.9 on."""


class _ProcessState(NamedTuple):
    """A setting of torch for all threads; `own` is its value while this package computes."""

    get: Callable[[], Any]
    set: Callable[[Any], Any]
    own: Any


def _matmul_precision() -> tuple[str, list[str]]:
    """That of all backends, as `torch.set_float32_matmul_precision` takes it, and that of each backend."""
    by_backend = [torch._C._get_fp32_precision_getter(backend, "matmul") for backend in _MATMUL_BACKENDS]
    of_all = "highest"
    # torch 2.9 warns where the first is read, and refuses where only those of backends were set.
    if not by_backend or not {*by_backend} <= {"none", "ieee"}:
        with suppress(RuntimeError):
            of_all = torch.get_float32_matmul_precision()
    return of_all, by_backend


def _set_matmul_precision(precision: tuple[str, list[str]]) -> None:
    of_all, by_backend = precision
    if of_all != _matmul_precision()[0]:
        torch.set_float32_matmul_precision(of_all)  # It sets those of the backends.
    for backend, value in zip(_MATMUL_BACKENDS, by_backend, strict=True):
        torch._C._set_fp32_precision_setter(backend, "matmul", value)


def _fp32_precision(backend: str, operator: str) -> _ProcessState:
    names = backend, operator
    return _ProcessState(
        partial(torch._C._get_fp32_precision_getter, *names),
        partial(torch._C._set_fp32_precision_setter, *names),
        "none",
    )


_PROCESS_STATES = (
    _ProcessState(torch.get_default_dtype, torch.set_default_dtype, torch.float32),
    _ProcessState(torch._C._get_mkldnn_enabled, torch._C._set_mkldnn_enabled, True),
    _ProcessState(torch.backends.cuda.flash_sdp_enabled, torch.backends.cuda.enable_flash_sdp, True),
    _ProcessState(torch.backends.cuda.mem_efficient_sdp_enabled, torch.backends.cuda.enable_mem_efficient_sdp, True),
    _ProcessState(torch.backends.cuda.math_sdp_enabled, torch.backends.cuda.enable_math_sdp, True),
    _ProcessState(torch.backends.cuda.cudnn_sdp_enabled, torch.backends.cuda.enable_cudnn_sdp, True),
    # What is "none" reads as the precision of a wider setting, so the wider ones come first.
    *(
        _fp32_precision(*names)
        for names in (("generic", "all"), ("mkldnn", "all"), ("cuda", "all"), ("mkldnn", "rnn"))
        if _MATMUL_BACKENDS
    ),
    _ProcessState(_matmul_precision, _set_matmul_precision, ("highest", ["none"] * len(_MATMUL_BACKENDS))),
)


@contextmanager
def own_torch_state(*, gradients: bool = False) -> Iterator[None]:
    """float32 as the default dtype and in its products, every kernel of attention, the CPU as the default device, no
    autocast; then what the caller had set.

    gradients: recorded, also where the caller has turned them off.
    """
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
        for state in _PROCESS_STATES:
            # Other threads see it change, so that it stays where it is right.
            if (before := state.get()) != state.own:
                stack.callback(state.set, before)
                state.set(state.own)
        yield


@contextmanager
def kept_torch_state() -> Iterator[None]:
    """A call of the caller's code; what it changes of this state is changed back."""
    device, nesting = torch.get_default_device(), _autocast_nesting()
    of_process = [(state, state.get()) for state in _PROCESS_STATES]
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
        for state, before in reversed(of_process):
            if state.get() != before:
                state.set(before)


def _autocast_nesting() -> int:
    """The depth to which autocasts are nested, enabled or not."""
    torch.autocast_increment_nesting()
    return torch.autocast_decrement_nesting()
