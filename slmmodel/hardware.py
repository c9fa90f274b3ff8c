"""Devices by name, and a capability that torch does not expose publicly."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from slmmodel.errors import Argument, OptionError

if TYPE_CHECKING:
    import torch


class Accelerator(NamedTuple):
    """A device, from its data sheet."""

    name: str
    """as in the name that CUDA gives"""
    flops: float
    """dense bf16 operations per second"""
    memory: float
    """bytes"""


ACCELERATORS = {
    "h100": Accelerator("H100", 989e12, 80e9),
    "h200": Accelerator("H200", 989e12, 141e9),
    "b200": Accelerator("B200", 2250e12, 180e9),
    "a100": Accelerator("A100", 312e12, 80e9),
    "4090": Accelerator("RTX 4090", 165e12, 24e9),
    "l4": Accelerator("L4", 121e12, 24e9),
}
"""By the names that `slm info --on` takes. Model FLOPs utilisation is reported for these."""


MAX_THREADS = 1024
"""Of one process on a CPU: with 9,999 a step takes minutes, in which threads wait for each other."""


def use_threads(threads: int) -> None:
    """Sets the number of threads of torch; 0 leaves its choice. Raises `OptionError` above `MAX_THREADS`."""
    import torch

    if threads > MAX_THREADS:
        raise OptionError(
            f"threads is {threads}",
            where=f"this machine has {os.cpu_count()} processors",
            limit=f"at most {MAX_THREADS}; 0 takes torch's choice",
            fix=(Argument("run.threads", os.cpu_count()),),
            option="threads",
        )
    if threads:
        torch.set_num_threads(threads)


def has_bf16_matmul(device: str) -> bool:
    """Whether a device type (`cpu`, `cuda`, …) has instructions for bf16 matrix products."""
    import torch

    probe = getattr(torch.cpu, "_is_avx512_bf16_supported", None)
    return device == "cuda" or (device == "cpu" and probe is not None and bool(probe()))


def device_for(name: str) -> torch.device:
    """The device of that name; `auto` is cuda, else mps, else cpu. Raises `OptionError` where it is not available."""
    import torch

    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda", torch.cuda.current_device())
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    count = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}
    kind, _, number = name.partition(":")
    exists = kind in count and (number.isdigit() or not number)
    if not exists or int(number or 0) >= count[kind]:
        raise OptionError(
            f"device {name!r} {'is not available' if exists else 'does not exist'}",
            where="torch on this machine",
            limit="auto, cpu, cuda, cuda:N, mps",
            fix=(Argument("device", lower if (lower := kind.lower()) != kind and count.get(lower) else "auto"),),
            option="device",
        )
    return torch.device(name)
