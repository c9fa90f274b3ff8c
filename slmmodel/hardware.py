"""Devices by name, and a capability that torch does not expose publicly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slmmodel.errors import Argument, OptionError

if TYPE_CHECKING:
    import torch


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
            fix=(Argument("device", "auto"),),
            option="device",
        )
    return torch.device(name)
