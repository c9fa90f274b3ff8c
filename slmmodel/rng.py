"""Counter-based random numbers for initial weights, data order and sampling; equal on every machine.

`splitmix64` is one step of splitmix64 (Steele, Lea, Flood 2014). There is no generator state: random number i of
a key is a function of the key and i. Not for cryptography.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

M64 = (1 << 64) - 1


def splitmix64(x: int) -> int:
    """One step of splitmix64: uint64 to uint64."""
    x = (x + 0x9E3779B97F4A7C15) & M64
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & M64
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & M64
    return x ^ x >> 31


def splitmix64_array(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """`splitmix64` of each element, uint64; the argument is unchanged."""
    import numpy as np

    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = x ^ (x >> np.uint64(31))
    return mixed


def key(*parts: int | str) -> int:
    """One uint64 key from ordered parts: integers modulo 2^64, names by the first 8 bytes of their SHA-256."""
    import hashlib

    value = 0
    for part in parts:
        if isinstance(part, str):
            part = int.from_bytes(hashlib.sha256(part.encode()).digest()[:8], "little")
        value = splitmix64(value ^ (part & M64))
    return value
