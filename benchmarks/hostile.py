"""Texts that bring careless encoders to a halt: no spaces, one letter, nothing that comes twice."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable


def _cjk(size: int) -> bytes:
    """Chinese without spaces: characters drawn with frequencies that fall as 1 / rank, so that pairs repeat."""
    source = random.Random(0)
    characters = [chr(0x4E00 + index) for index in range(3000)]
    weights = [1 / (rank + 10) for rank in range(len(characters))]
    return "".join(source.choices(characters, weights, k=size // 3)).encode()


def _base64(size: int) -> bytes:
    """Random bytes as mail carries them, in lines of 76 characters."""
    return base64.encodebytes(random.Random(0).randbytes(size))[:size]


HOSTILE: dict[str, Callable[[int], bytes]] = {
    "letter": lambda size: b"a" * size,
    "spaces": lambda size: b" " * size,
    "caret": lambda size: b"^" * size,
    "digits": lambda size: bytes(random.Random(0).choices(b"0123456789", k=size)),
    "random-bytes": lambda size: random.Random(0).randbytes(size),
    "base64": _base64,
    "cjk-run": _cjk,
}
"""Name to a function from size in bytes to text."""
