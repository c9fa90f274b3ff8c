"""Bootstrap intervals: coverage on data whose truth is known, segments by the last byte, and nothing below 20 units."""

from __future__ import annotations

import numpy as np
import pytest

from slmmodel.evaluation.comparison import Units, interval, segments, units
from slmmodel.evaluation.scoring import LN2, Scores


def test_coverage_is_near_its_level() -> None:
    rng = np.random.default_rng(11)
    hits, trials = 0, 400
    for trial in range(trials):
        nbytes = rng.integers(200, 2000, 120).astype(float)
        bits = nbytes * 2.0 + rng.normal(0, 0.3, 120) * nbytes
        found = interval(Units(bits, nbytes, "document"), resamples=500, seed=trial)
        assert found is not None
        hits += found.low <= 2.0 <= found.high
    assert 0.93 <= hits / trials <= 0.97


def test_a_constant_has_no_width_and_a_few_units_no_interval() -> None:
    nbytes = np.arange(1, 21, dtype=float)
    found = interval(Units(nbytes * 3, nbytes, "document"), resamples=100)
    assert found is not None
    assert (found.low, found.high, found.n_units) == (pytest.approx(3), pytest.approx(3), 20)
    assert interval(Units(nbytes[:19], nbytes[:19], "document")) is None
    assert interval(Units(nbytes * 0, nbytes * 0, "document")) is None


def test_many_units_are_joined() -> None:
    rng = np.random.default_rng(0)
    nbytes = rng.integers(1, 9, 50_001).astype(float)
    found = interval(Units(nbytes * rng.normal(2, 0.1, 50_001), nbytes, "document"), resamples=100)
    assert found is not None and found.low < 2.0 < found.high and found.n_units == 50_001


def scores(nbytes: list[list[int]]) -> Scores:
    flat = np.array([n for doc in nbytes for n in doc], dtype=np.uint32)
    offsets = np.cumsum([0] + [len(doc) for doc in nbytes]).astype(np.int64)
    nats = LN2 * np.arange(1, len(flat) + 1, dtype=np.float64)
    return Scores(nats, flat, flat, offsets, np.array([sum(doc) for doc in nbytes], dtype=np.int64))


def test_a_token_belongs_to_the_segment_of_its_last_byte() -> None:
    # Bytes 0-2, 3-4, 5-8, then </s>; cut after each 4 bytes: the second token ends at byte 4, in the second segment.
    found = segments(scores([[3, 2, 4, 0]]), size=4)
    assert found.bits.tolist() == pytest.approx([1, 2, 3 + 4])
    assert found.nbytes.tolist() == [4, 4, 1]
    assert segments(scores([[3, 2, 4, 0]]), size=4, content=True).bits.tolist() == pytest.approx([1, 2, 3])
    # An empty document is one segment without bytes, which its </s> costs something.
    assert segments(scores([[0], [2]]), size=4).nbytes.tolist() == [0, 2]


def test_units_are_documents_where_there_are_enough() -> None:
    many = scores([[5, 0]] * 20)
    assert units(many).unit == "document"
    assert units(many).bits.sum() == pytest.approx(many.bpb_total * many.n_bytes)
    assert units(many, content=True).bits.sum() == pytest.approx(many.bpb_content * many.n_bytes)
    few = scores([[5, 0]] * 19)
    assert units(few).unit == "4096 bytes"
    assert units(few).bits.sum() == pytest.approx(few.bpb_total * few.n_bytes)
