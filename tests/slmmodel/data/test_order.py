"""The keyed permutation: golden values, the reference implementation, bijections, crop offsets."""

from __future__ import annotations

import numpy as np
import pytest

from slmmodel.data.order import crop_offset, document_order, permute
from slmmodel.errors import InvalidConfig
from slmmodel.rng import splitmix64


def reference_perm(k: int, n: int, seed: int, epoch: int, rounds: int = 6) -> int:
    """The definition, number by number."""
    if n <= 1:
        return k
    b = max(1, ((n - 1).bit_length() + 1) // 2)
    low = (1 << b) - 1
    keys = [splitmix64(splitmix64(splitmix64(seed) ^ epoch) ^ r) for r in range(rounds)]
    while True:
        left, right = k >> b, k & low
        for key in keys:
            left, right = right, left ^ (splitmix64(right ^ key) & low)
        k = left << b | right
        if k < n:
            return k


def test_golden_values() -> None:
    assert splitmix64(0) == 16294208416658607535
    assert splitmix64(1) == 10451216379200822465
    ten = np.arange(10)
    assert permute(ten, 10, 0, 0).tolist() == [8, 4, 6, 3, 9, 1, 0, 2, 5, 7]
    assert permute(ten, 10, 0, 1).tolist() == [3, 7, 1, 2, 8, 5, 4, 9, 0, 6]
    assert permute(ten, 10, 1, 0).tolist() == [3, 0, 4, 7, 5, 6, 2, 9, 1, 8]
    assert permute(np.arange(4), 10**6, 42, 3).tolist() == [632716, 128695, 440225, 228780]


def test_mix_of_arrays_is_mix() -> None:
    numbers = [0, 1, 2**31, 2**63, 2**64 - 1, 12345678901234567890]
    assert splitmix64(np.array(numbers, dtype=np.uint64)).tolist() == [splitmix64(number) for number in numbers]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 16, 17, 100, 257])
def test_equal_to_the_reference_and_a_bijection(n: int) -> None:
    for seed, epoch in ((0, 0), (7, 2), (2**63 + 5, 11)):
        moved = permute(np.arange(n), n, seed, epoch)
        assert moved.tolist() == [reference_perm(k, n, seed, epoch) for k in range(n)]
        assert sorted(moved.tolist()) == list(range(n))


def test_large_ranges_equal_the_reference() -> None:
    for n in (10**6 + 3, 2**33 + 1, 2**40):
        k = np.array([0, 1, n // 2, n - 1])
        assert permute(k, n, 3, 4).tolist() == [reference_perm(int(i), n, 3, 4) for i in k]


def test_numbers_out_of_range_are_refused() -> None:
    for k, n in (([3], 3), ([-1], 3), ([0], 0)):
        with pytest.raises(InvalidConfig, match="outside"):
            permute(k, n, 0, 0)
    assert permute([], 0, 0, 0).tolist() == []


def test_crop_offsets() -> None:
    """Golden values, the definition, and a uniform distribution over positions."""
    assert [crop_offset(256, 0, epoch) for epoch in range(4)] == [106, 108, 116, 212]
    assert crop_offset(256, 5, 2) == splitmix64(splitmix64(splitmix64(5) ^ int.from_bytes(b"cuts", "big")) ^ 2) % 256
    counts = np.bincount([crop_offset(8, 3, epoch) for epoch in range(4000)], minlength=8)
    assert counts.min() > 400 and len(counts) == 8
    assert crop_offset(1, 3, 4) == 0


def test_document_order_is_the_permutation_under_its_own_key() -> None:
    assert document_order(50, 5, 1).tolist() == [reference_perm(i, 50, splitmix64(5), 1) for i in range(50)]
