"""Memory of large results: that of their ids alone, read-only, freed with them."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys

import numpy as np
import pytest

import slmtok

if sys.platform != "linux":
    pytest.skip("reads /proc", allow_module_level=True)

TEXTS = [b"hello world, a cat! " * 500_000, b"and the mat " * 1_000_000]
"""22 MB: their output buffers are larger than the pooled buffers of a worker."""


@pytest.fixture(scope="module")
def tok() -> slmtok.Tokenizer:
    return slmtok.train(slmtok.Texts(["hello world", "the cat and the mat"] * 9), vocab_size=290, allow_smaller=True)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_held_result_is_not_overwritten(tok: slmtok.Tokenizer, threads: int) -> None:
    first = tok.encode_batch(TEXTS, threads=threads)
    want = first.ids.copy()
    part = first.ids[100:1_000]
    del first
    second = tok.encode_batch(TEXTS, threads=threads)
    assert np.array_equal(part, want[100:1_000])
    third = tok.encode_batch(TEXTS[::-1], threads=threads)
    assert np.array_equal(second.ids, want)
    turned = np.concatenate([second[1], second[0]])
    assert np.array_equal(third.ids, turned)


def test_a_result_is_read_only_and_outlives_the_tokenizer() -> None:
    tok = slmtok.train(slmtok.Texts(["hello world"] * 9), vocab_size=275, allow_smaller=True)
    ids = tok.encode_batch(TEXTS[:1] * 2, threads=1).ids
    with pytest.raises(ValueError, match="read-only"):
        ids[0] = 0
    with pytest.raises(ValueError, match="WRITEABLE"):
        ids.setflags(write=True)
    want = ids.copy()
    del tok
    gc.collect()
    assert np.array_equal(ids, want)
    assert np.array_equal(pickle.loads(pickle.dumps(ids[:1_000])), want[:1_000])


LIMITED = """
import resource, sys
import slmtok
tok = slmtok.train(slmtok.Texts(["hello world"] * 9), vocab_size=275, allow_smaller=True)
texts = [b"hello world " * 2_000_000]
size = lambda: int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
tok.encode_batch(texts, threads=1)
before = size()
result = tok.encode_batch(texts, threads=1)
assert size() - before < 1.1 * result.ids.nbytes + (1 << 20), "a result takes more address space than its ids"
del result
assert size() - before < 1 << 20, "memory is retained"
print("done")
"""


def test_a_result_takes_the_memory_of_its_ids() -> None:
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=100)
    assert done.stdout == "done\n", done.stderr
