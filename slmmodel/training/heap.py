"""Memory that training frees stays with the process, for the next step asks for the same again.

glibc gives the end of its heap back to the system as soon as a little of it is free, and large blocks at once. A step
frees all activations, so each page of them would be given back, asked for, and cleared by the system again: up to a
tenth of the time of a small model's step. Other C libraries are left as they are.
"""

from __future__ import annotations

import sys

KEPT = 1 << 30
"""Bytes that may lie free at the end of the heap."""
MAPPED_FROM = 1 << 25
"""Blocks from this size on are still asked for, and given back, one by one: glibc's own upper limit."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


def keep() -> bool:
    """Keeps freed memory from now on; whether this C library can. The process's high-water mark stays the same."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(mallopt(_TRIM_THRESHOLD, KEPT)) and bool(mallopt(_MMAP_THRESHOLD, MAPPED_FROM))


def give_back() -> None:
    """Returns what lies free to the system."""
    if sys.platform.startswith("linux"):
        import ctypes

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
