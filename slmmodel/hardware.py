"""Devices: the one of a name, and what it can do that torch has no public word for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slmmodel.errors import InvalidOption

if TYPE_CHECKING:
    import torch


def multiplies_bf16(device: str) -> bool:
    """Whether a device of this type (`cpu`, `cuda`, …) has instructions for products in bf16."""
    import torch

    asks = getattr(torch.cpu, "_is_avx512_bf16_supported", None)
    return device == "cuda" or (device == "cpu" and asks is not None and bool(asks()))


def device_for(name: str) -> torch.device:
    """The device of a name; `auto` is the fastest there is. Raises `InvalidOption` where it is not there."""
    import torch

    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda", torch.cuda.current_device())
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    kind, _, number = name.partition(":")
    if kind not in there or (number and not number.isdigit()):
        raise InvalidOption(
            f"--device {name!r} is no device",
            limit="auto, cpu, cuda, cuda:N, mps",
            fix="--device auto",
            option="device",
        )
    if not there[kind] or (kind == "cuda" and int(number or 0) >= torch.cuda.device_count()):
        raise InvalidOption(
            f"--device {name!r} is not there",
            where="this machine, as torch sees it",
            fix="--device auto",
            option="device",
        )
    return torch.device(name)
