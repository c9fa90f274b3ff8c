"""Initial weights keyed by name: the random numbers of each parameter are keyed by seed and name, drawn on the CPU.

So a model starts with equal weights on any device and under any version of torch, and two models that differ in
vocabulary alone share every weight of the backbone and the common rows of the embedding: element i of a parameter
depends on seed, name and i. The normal distribution is by Box and Muller (1958) with `splitmix64` as a counter-based
generator; computed in fp64, rounded to fp32.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray

from slmmodel.models.protocol import Model
from slmmodel.rng import GOLDEN, key, splitmix64

_CHUNK = 1 << 16


def initialise(model: Model, *, seed: int) -> None:
    """Sets each parameter of `model` to its initial value, which `Model.initial_value` defines."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():

            def draw(std: float, name: str = name, shape: torch.Size = parameter.shape) -> torch.Tensor:
                flat = torch.from_numpy(normal(key(seed, name), math.prod(shape)))
                return flat.view(shape).mul_(std)

            parameter.copy_(model.initial_value(name, parameter, draw))


def normal(generator_key: int, n: int) -> NDArray[np.float32]:
    """`n` numbers from N(0, 1), fp32 [n]. The first numbers of a key do not depend on `n`."""
    out = np.empty(n, dtype=np.float32)
    for start in range(0, n, _CHUNK):
        end = min(start + _CHUNK, n)
        counters = np.arange(start, end + (end - start) % 2, dtype=np.uint64) * np.uint64(GOLDEN)
        counters += np.uint64(generator_key)
        uniform = (splitmix64(counters) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        radius = np.sqrt(-2.0 * np.log1p(-uniform[0::2]))
        angle = 2.0 * np.pi * uniform[1::2]
        pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
        out[start:end] = pairs.reshape(-1)[: end - start]
    return out
