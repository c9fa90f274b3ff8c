"""The variables by which torchrun describes the processes of a training, checked; torch is not imported."""

from __future__ import annotations

import os

from slmmodel.errors import InvalidInput

_MAX_RANKS = 1_000_000
_LIMITS = {
    "WORLD_SIZE": (1, _MAX_RANKS),
    "RANK": (0, _MAX_RANKS - 1),
    "LOCAL_RANK": (0, _MAX_RANKS - 1),
    "MASTER_PORT": (1, 65535),
}


def is_rank() -> bool:
    """Whether this process is one of several. Raises `InvalidInput` for a variable that is missing or no number."""
    size = number("WORLD_SIZE", 1)
    if "RANK" not in os.environ:
        return False
    if number("RANK") >= size:
        source = f"WORLD_SIZE is {size}" if "WORLD_SIZE" in os.environ else "WORLD_SIZE is not set: one process alone"
        raise _wrong(f"RANK is {number('RANK')}", f"0{f' to {size - 1}' * (size > 1)}, since {source}")
    if size == 1:
        return False
    if not os.environ.get("MASTER_ADDR"):
        raise _wrong("RANK and WORLD_SIZE are set, and MASTER_ADDR is not", "the address of rank 0")
    number("MASTER_PORT")
    return True


def is_main() -> bool:
    """Whether this process is rank 0, or the only one. It raises nothing: `is_rank` checks the variables."""
    return os.environ.get("RANK", "0") == "0" or os.environ.get("WORLD_SIZE", "1") == "1"


def number(name: str, default: int | None = None) -> int:
    """The value of a variable. Raises `InvalidInput`, also for one that is not set and has no default."""
    text, (low, high) = os.environ.get(name), _LIMITS[name]
    if text is None and default is not None:
        return default
    if text is None:
        raise _wrong(f"RANK and WORLD_SIZE are set, and {name} is not", f"{low} to {high}")
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(high)) and low <= int(text) <= high):
        raise _wrong(f"{name} is {text[:40]!r}", f"an integer from {low} to {high}")
    return int(text)


def _wrong(fact: str, limit: str) -> InvalidInput:
    fix = "start with torchrun, which sets it; one process alone: unset RANK WORLD_SIZE"
    return InvalidInput(fact, where="the environment", limit=limit, fix=fix)
