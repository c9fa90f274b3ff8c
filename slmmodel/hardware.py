"""What a device can do that torch has no public word for."""

from __future__ import annotations


def multiplies_bf16(device: str) -> bool:
    """Whether a device of this type (`cpu`, `cuda`, …) has instructions for products in bf16."""
    import torch

    asks = getattr(torch.cpu, "_is_avx512_bf16_supported", None)
    return device == "cuda" or (device == "cpu" and asks is not None and bool(asks()))
