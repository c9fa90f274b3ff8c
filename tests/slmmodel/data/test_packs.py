"""Packs beyond conservation: reference implementations, padding, cropping, streams, buckets, long documents."""

from __future__ import annotations

import numpy as np
import pytest

from slmmodel.data.strategies import make_packing
from slmmodel.errors import InvalidConfig

LENGTHS = np.array([7, 0, 3, 1, 2, 40, 2, 2, 19, 3, 0, 8, 101, 5], dtype=np.int64)


def reference_best_fit(sizes: list[int], seq_len: int) -> list[int]:
    rooms: list[int] = []
    out = []
    for size in sizes:
        fits = [(room, row) for row, room in enumerate(rooms) if room >= size]
        row = min(fits)[1] if fits else len(rooms)
        if not fits:
            rooms.append(seq_len)
        rooms[row] -= size
        out.append(row)
    return out


def reference_first_fit(sizes: list[int], seq_len: int, open_rows: int) -> list[int]:
    rooms: list[list[int]] = []
    out, count = [], 0
    for size in sizes:
        fitting = [entry for entry in rooms if entry[1] >= size]
        if not fitting:
            if len(rooms) == open_rows:
                rooms.pop(0)
            rooms.append([count, seq_len])
            count += 1
        entry = fitting[0] if fitting else rooms[-1]
        entry[1] -= size
        out.append(entry[0])
        rooms = [entry for entry in rooms if entry[1]]
    return out


def test_fits_equal_their_reference_implementations() -> None:
    from slmmodel.data.packs import best_fit, first_fit

    rng = np.random.default_rng(0)
    for seq_len in (4, 16, 100):
        sizes = rng.integers(1, seq_len + 1, 200)
        assert best_fit(sizes.tolist(), seq_len, 0)[0] == reference_best_fit(sizes.tolist(), seq_len)
        for open_rows in (1, 3, 256):
            assert first_fit(sizes, seq_len, open_rows).tolist() == reference_first_fit(
                sizes.tolist(), seq_len, open_rows
            )


def test_best_fit_never_cuts_short_documents_and_wastes_little() -> None:
    lengths = np.random.default_rng(1).integers(2, 60, 3000)
    best, first = (make_packing(name, lengths, 64).stats() for name in ("best_fit", "first_fit"))
    assert best.documents_cut == first.documents_cut == 0
    assert best.padding_share < first.padding_share < 0.06
    assert best.padding_share < 0.01
    chunked = make_packing("best_fit", lengths, 64, chunk=100)
    assert chunked.stats().targets == best.targets


def test_best_fit_crop_fills_every_sequence_and_counts_what_it_drops() -> None:
    lengths = np.random.default_rng(2).integers(2, 60, 500)
    packing = make_packing("best_fit_crop", lengths, 64, buffer=50)
    stats = packing.stats()
    assert stats.padding_share == 0
    assert stats.inputs_dropped == stats.inputs - stats.targets > 0
    assert stats.scored_max == 1


def test_stateful_streams_continue_from_step_to_step() -> None:
    packing = make_packing("stateful", np.array([30, 4, 60]), 5, shuffle=False, batch_size=4)
    for stream in range(4):
        rows = range(stream, len(packing), 4)
        run = [
            (doc, i)
            for row in rows
            for span in packing.spans(row)
            for doc, i in ((span.doc, i) for i in range(span.start, span.stop))
        ]
        following = [(0, i) for i in range(29)] + [(1, i) for i in range(3)] + [(2, i) for i in range(59)]
        start = following.index(run[0])
        assert run == following[start : start + len(run)]


def test_buckets_are_of_like_length_and_equal_size() -> None:
    lengths = np.random.default_rng(3).integers(2, 70, 1000)
    packing = make_packing("bucket", lengths, 64, batch_size=8)
    for group in range(packing.n_groups):
        rows = packing.sequences_of(np.array([group]))
        widths = set(packing.n_columns_of(rows).tolist())
        assert len(widths) == 1
        assert all(len(packing.spans(int(row))) == 1 for row in rows)
        width = widths.pop()
        assert width % 8 == 0 and width * len(rows) <= 8 * 64
    assert packing.stats().padding_share < 0.12


def test_long_documents_are_split_refused_or_dropped() -> None:
    lengths = np.array([30, 5, 9])
    for name in ("first_fit", "best_fit", "bucket"):
        assert make_packing(name, lengths, 8).stats().documents_cut == 1
        with pytest.raises(InvalidConfig, match="document 0 has 30 ids"):
            make_packing(name, lengths, 8, long="error")
        assert make_packing(name, lengths, 8, long="drop").stats().inputs_dropped == 29
        with pytest.raises(InvalidConfig, match="long is 'crop'"):
            make_packing(name, lengths, 8, long="crop")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("first_fit", {"open_rows": 0}),
        ("best_fit", {"chunk": 0}),
        ("best_fit_crop", {"buffer": 0}),
        ("bucket", {"batch_size": 0}),
        ("stateful", {"batch_size": 0}),
        ("stream", {"stride": 9}),
        ("stream", {"stride": 0}),
    ],
)
def test_options_out_of_range(name: str, wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidConfig):
        make_packing(name, LENGTHS, 8, **wrong)
