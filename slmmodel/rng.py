"""Counter-based random numbers for initial weights, data order and sampling; equal on every machine.

`splitmix64` is one step of splitmix64 (Steele, Lea, Flood 2014). There is no generator state: random number i of
a key is a function of the key and i. Not for cryptography.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

M64 = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
IntOrArray = TypeVar("IntOrArray", int, "NDArray[np.uint64]")


def splitmix64(x: IntOrArray) -> IntOrArray:
    """One step of splitmix64 of an integer, or of each element of a uint64 array; the argument is unchanged."""
    z: Any = (x + GOLDEN) & M64
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & M64
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & M64
    mixed: IntOrArray = z ^ z >> 31
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
