"""Memory that is freed and asked for again is not asked of the system again."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

SCRIPT = """
import resource, sys, torch
from slmmodel.training import heap
if "keep" in sys.argv:
    assert heap.keep()
def step():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    held = [torch.zeros(1 << 18) for _ in range(48)]
    del held
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
first = step()
step()
print(first, step())
heap.give_back()
"""


def faults(*arguments: str) -> tuple[int, int]:
    done = subprocess.run([sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True, check=True)
    first, last = map(int, done.stdout.split())
    return first, last


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is told")
def test_pages_are_kept():
    """48 MB of small pages are touched once; with the defaults they would be touched anew each time."""
    first, last = faults("keep")
    assert first > 4000
    assert last < first / 10
