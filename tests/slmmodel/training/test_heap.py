"""Memory that is freed and asked for again is not asked of the system again."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

SCRIPT = """
import ctypes, resource, sys
from slmmodel.training import heap

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
held = [None] * 48

def step():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for index in range(48):
        held[index] = libc.malloc(1 << 20)
        libc.memset(held[index], 1, 1 << 20)
    for block in held:
        libc.free(block)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

if "keep" in sys.argv:
    assert heap.keep()
step()
print(step())
heap.give_back()
print(step())
"""


def faults(*arguments: str) -> list[int]:
    """Pages touched for the first time by the second step, and by one after memory was given back."""
    done = subprocess.run([sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True, check=True)
    return list(map(int, done.stdout.split()))


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is told")
def test_pages_are_kept_until_they_are_given_back():
    """48 MB of small pages; with glibc's defaults the second step would touch them anew."""
    kept, after = faults("keep")
    assert kept < 1000
    assert after > 4000
