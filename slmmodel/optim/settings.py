"""`OptimSettings`: the numbers of an optimizer, the section `optim` of a configuration without its schedule."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OptimSettings:
    """Learning rates are peaks: a schedule multiplies them all with one factor in [0, 1]."""

    name: str = "adamw"
    lr: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.95)
    eps: float = 1e-8
    weight_decay: float = 0.1
    """Decoupled, on matrices alone: each step multiplies them by 1 - lr * weight_decay."""
    clip: float | None = 1.0
    """Largest norm of the whole gradient; None for none."""
    lr_scaling: str = "none"
    """How a preset's rates follow a global batch that is not the preset's: `none`, `sqrt`, `linear`."""
    momentum: float = 0.95
    """Of Muon."""
    ns_steps: int = 5
    """Newton-Schulz iterations of Muon."""
    ns_dtype: str = "auto"
    """What they compute in: `fp32`, `bf16`, or `auto`, which is bf16 where the device multiplies it faster."""
    embedding_lr: float = 1.0
    """Factor on `lr` for embeddings and heads."""
    vector_lr: float = 1.0
    """Factor on `lr` for gains and biases."""
    gate_lr: float = 0.01
    """Absolute rate of memory gates; the schedule decays it, `lr` does not scale it."""
