"""All strategies of both registries: conservation, counts by brute force, statistics, index and purity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import made_shards as made
import numpy as np
import pytest

from slmmodel.data.batch import make_batch
from slmmodel.data.packing import CHOICES, Packing, Span, count_inputs
from slmmodel.data.packs import PACKS, Concat
from slmmodel.data.strategies import make_packing
from slmmodel.data.windows import WINDOWS
from slmmodel.errors import Argument, InvalidConfig, WrongType, python_naming

CONSERVING = ("concat", "first_fit", "best_fit", "bucket", "stateful")
SIDES = range(1, 14)
LENGTHS = np.array([7, 0, 3, 1, 2, 40, 2, 2, 19, 3, 0, 8, 101, 5], dtype=np.int64)


def options(name: str) -> dict[str, Any]:
    return {"batch_size": 3} if name in ("bucket", "stateful") else {"buffer": 4} if name == "best_fit_crop" else {}


def placed(packing: Packing) -> Iterator[tuple[int, int, int, int]]:
    """(sequence, position, document, pair) of every placed pair; overlapping or unordered spans fail here."""
    for row in range(len(packing)):
        end = 0
        for doc, lo, hi, at in packing.spans(row):
            assert lo < hi and at >= end
            end = at + hi - lo
            assert end <= packing.n_columns_of(np.array([row]))[0] <= packing.seq_len
            yield from ((row, at + j, doc, lo + j) for j in range(hi - lo))


def pairs_of(lengths: np.ndarray) -> Counter[tuple[int, int]]:
    return Counter((doc, i) for doc, length in enumerate(lengths.tolist()) for i in range(length - 1))


@pytest.mark.parametrize("name", CONSERVING)
@pytest.mark.parametrize("seq_len", [1, 2, 7, 8, 64, 500])
@pytest.mark.parametrize("crop_offset", CHOICES["crop_offset"])
def test_packs_place_each_pair_exactly_once(name: str, seq_len: int, crop_offset: str) -> None:
    packing = make_packing(name, LENGTHS, seq_len, seed=3, epoch=1, crop_offset=crop_offset, **options(name))
    assert Counter((doc, i) for _, _, doc, i in placed(packing)) == pairs_of(LENGTHS)
    stats = packing.stats()
    assert (stats.scored_min, stats.scored_max, stats.inputs_dropped) == (1, 1, 0)


@pytest.mark.parametrize("name", [*PACKS, *WINDOWS])
@pytest.mark.parametrize("lengths", [[], [0], [1, 1], [2], [0, 5, 0, 0, 9, 1, 4, 0], LENGTHS.tolist()])
@pytest.mark.parametrize("seq_len", [1, 3, 8, 50])
@pytest.mark.parametrize("crop_offset", CHOICES["crop_offset"])
def test_targets_and_statistics_equal_the_placed_pairs(
    name: str, lengths: list[int], seq_len: int, crop_offset: str
) -> None:
    sizes = np.array(lengths, dtype=np.int64)
    packing = make_packing(name, sizes, seq_len, seed=1, crop_offset=crop_offset, **options(name))
    slots = list(placed(packing))
    rows = np.arange(len(packing))
    of_row = Counter(row for row, _, _, _ in slots)
    assert [packing.n_targets(rows[row : row + 1]) for row in rows] == [of_row[row] for row in rows]
    assert packing.n_targets(rows) == len(slots)
    scored = Counter((doc, i) for _, _, doc, i in slots)
    every = [scored[pair] for pair in pairs_of(sizes)]
    stats = packing.stats()
    width = int(packing.n_columns_of(rows).sum())
    assert (stats.sequences, stats.columns, stats.inputs, stats.targets) == (
        len(packing),
        width,
        len(every),
        len(slots),
    )
    assert stats.padding_share == pytest.approx(1 - len(slots) / width if width else 0)
    assert (stats.scored_min, stats.scored_max) == (min(every, default=0), max(every, default=0))
    assert stats.scored_mean == pytest.approx(len(slots) / len(every) if every else 0)
    assert stats.inputs_dropped == every.count(0)
    assert packing.sequences_of(np.arange(packing.n_groups)).tolist() == rows.tolist()


@pytest.mark.parametrize("name", PACKS)
@pytest.mark.parametrize("seq_len", [1, 3, 8, 50])
def test_targets_at_the_start_of_documents_are_left_out(name: str, seq_len: int) -> None:
    rng = np.random.default_rng(seq_len)
    source, unscored = made.source(rng.integers(0, 60, 12).tolist()), rng.integers(0, 40, 12)
    lengths = source.lengths()
    packing, every = (
        make_packing(name, lengths, seq_len, seed=1, unscored=chosen, **options(name)) for chosen in (unscored, None)
    )
    rows = np.arange(len(packing))
    scored = {(row, at) for row, at, doc, i in placed(packing) if i >= unscored[doc]}
    batch, whole = (make_batch(source, each, made.vocab(), rows) for each in (packing, every))
    assert set(zip(*np.nonzero(batch.target_mask.numpy()), strict=True)) == scored
    assert [packing.n_targets(rows[row : row + 1]) for row in rows] == batch.row_targets.tolist()
    assert batch.n_targets == len(scored) == packing.stats().targets
    for field in ("ids", "document_ids", "position_ids"):
        assert getattr(batch, field).equal(getattr(whole, field))


@pytest.mark.parametrize("documents", [[[1, 5, 2], [1, 6, 7, 2]], [[1, 5, 2]] * 20, np.ones((2, 3), np.int64)])
def test_documents_in_the_place_of_lengths_are_counted(documents: Any) -> None:
    with pytest.raises(WrongType, match="lengths are the numbers of ids of documents") as caught:
        make_packing("concat", documents, 8)
    lengths = [len(ids) for ids in documents]
    assert eval(str(caught.value.fix), {"documents": documents}) == lengths and len(make_packing("concat", lengths, 8))


@pytest.mark.parametrize("offsets", [[0, 9, 12, 26], [0, 9]])
def test_offsets_in_the_place_of_lengths_are_refused(offsets: list[int]) -> None:
    with pytest.raises(
        WrongType, match=f"lengths are offsets: they begin with 0 and ascend to {offsets[-1]}"
    ) as caught:
        make_packing("concat", np.array(offsets), 8)
    assert str(caught.value.fix).startswith("np.diff(offsets)")
    assert len(make_packing("concat", np.diff(offsets), 8))


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_score_whole_documents(name: str) -> None:
    with pytest.raises(InvalidConfig, match="the answer alone is scored"):
        make_packing(name, LENGTHS, 4, unscored=LENGTHS)


# The offsets of the windows of a document of P pairs, as in the table of `windows.py`.
OFFSETS = {
    "left_pad": lambda p, c: range(-(c - 1), p - c + 1),
    "slide_through": lambda p, c: range(-(c - 1), p),
    "full_only": lambda p, c: range(p - c + 1) if p >= c else range(p - c, 1),
    "right_pad_once": lambda p, c: range(p - c + 1) if p >= c else range(1),
}
WINDOW_COUNTS = {
    "left_pad": lambda p, c: p,
    "slide_through": lambda p, c: p + c - 1,
    "full_only": lambda p, c: abs(p - c) + 1,
    "right_pad_once": lambda p, c: max(1, p - c + 1),
}


@pytest.mark.parametrize("name", OFFSETS)
def test_windows_by_brute_force(name: str) -> None:
    for p in SIDES:
        for c in SIDES:
            windows = [[(t, o + t) for t in range(c) if 0 <= o + t < p] for o in OFFSETS[name](p, c)]
            packing = make_packing(name, np.array([p + 1]), c)
            assert len(packing) == len(windows) == WINDOW_COUNTS[name](p, c)
            expected = [(row, t, 0, i) for row, window in enumerate(windows) for t, i in window]
            assert list(placed(packing)) == expected, (p, c)
            times = Counter(i for _, _, _, i in expected)
            assert packing._coverage()[1].tolist() == [times[i] for i in range(p)]


def test_stream_by_brute_force() -> None:
    lengths = np.array([4, 0, 2, 1, 8])
    joined = [(doc, i) for doc, length in enumerate(lengths.tolist()) for i in range(length - 1)]
    for c in SIDES:
        for stride in range(1, c + 1):
            packing = make_packing("stream", lengths, c, shuffle=False, stride=stride)
            rows = [joined[k * stride : k * stride + c] for k in range(len(packing))]
            assert [(row, t, *pair) for row, window in enumerate(rows) for t, pair in enumerate(window)] == list(
                placed(packing)
            )
            assert rows[-1][-1] == joined[-1]
            if stride in (1, c):
                assert len(packing) == (max(1, len(joined) - c + 1) if stride == 1 else -(-len(joined) // c))


@pytest.mark.parametrize("seq_len", [1, 2, 5, 8, 21, 22, 60])
def test_concat_with_offset_by_brute_force(seq_len: int) -> None:
    lengths = np.array([4, 0, 2, 1, 8, 12])
    ring = [(doc, i) for doc, length in enumerate(lengths.tolist()) for i in range(length - 1)]
    for offset in range(seq_len):
        packing = Concat(count_inputs(lengths), seq_len, offset=offset)
        turned = ring[offset % len(ring) :] + ring[: offset % len(ring)]
        rows = [turned[start : start + seq_len] for start in range(0, len(ring), seq_len)]
        expected = [(row, slot, *pair) for row, held in enumerate(rows) for slot, pair in enumerate(held)]
        assert list(placed(packing)) == expected
        follows = {(a, b) for held in rows for a, b in pairwise(held)}
        cut = {doc for doc, i in ring if i and ((doc, i - 1), (doc, i)) not in follows}
        assert packing.stats().documents_cut == len(cut)
        # No span crosses the join, even where one document lies on both sides.
        assert all(span.stop < lengths[span.doc] for row in range(len(packing)) for span in packing.spans(row))


def test_random_crop_offsets_differ_between_epochs_and_fixed_ones_do_not() -> None:
    lengths = np.array([1000])
    moved = [make_packing("concat", lengths, 64, seed=7, epoch=epoch, crop_offset="random") for epoch in range(4)]
    assert len({tuple(packing.spans(3)) for packing in moved}) == 4
    assert {len(packing) for packing in moved} == {16}
    fixed = [make_packing("concat", lengths, 64, seed=7, epoch=epoch) for epoch in range(4)]
    assert {tuple(packing.spans(3)) for packing in fixed} == {(Span(0, 192, 256, 0),)}
    with pytest.raises(InvalidConfig, match="crop_offset is 'elsewhere'"):
        make_packing("concat", lengths, 64, crop_offset="elsewhere")
    with pytest.raises(InvalidConfig, match=r"no option 'offset'\n(.*\n)*  fix:   leave it out$"):
        make_packing("concat", lengths, 64, offset=3)
    with pytest.raises(
        InvalidConfig, match=r"fix:   settings=\{'data.pack': 'stream'\}, which has it, or leave it out$"
    ):
        make_packing("concat", lengths, 64, stride=3)


@pytest.mark.parametrize(
    ("pack", "option", "value", "text"),
    [
        ("stream", "stride", "abc", "stride is 'abc'"),
        ("stream", "stride", 2.5, "stride is 2.5"),
        ("stream", "joined", 1, "joined is 1"),
        ("first_fit", "open_rows", True, "open_rows is True"),
        ("first_fit", "open_rows", 0, "open_rows"),
        ("concat", "shuffle_bytes", -1, "shuffle_bytes"),
    ],
)
def test_options_of_the_wrong_kind_are_refused(pack: str, option: str, value: object, text: str) -> None:
    with pytest.raises(InvalidConfig, match=text) as caught:
        make_packing(pack, np.array([9, 3]), 5, **{option: value})
    default = make_packing(pack, np.array([9, 3]), 5).options[option]
    assert caught.value.fix == python_naming(Argument(f"data.options.{option}", default))


@pytest.mark.parametrize("name", OFFSETS)
def test_the_index_skips_documents_without_windows(name: str) -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        lengths = np.concatenate([[0, 1], rng.integers(0, 5, 20) * rng.integers(0, 2, 20), [0, 0]])
        packing = make_packing(name, lengths, 3)
        owners = [packing.spans(row)[0].doc for row in range(len(packing))]
        expected = [d for d, n in enumerate(lengths) if n > 1 for _ in range(WINDOW_COUNTS[name](int(n) - 1, 3))]
        assert owners == expected


def test_slide_through_scores_each_pair_once_at_each_position() -> None:
    packing = make_packing("slide_through", np.array([9, 3]), 5)
    assert set(Counter((slot, doc, i) for _, slot, doc, i in placed(packing)).values()) == {1}


@pytest.mark.parametrize("name", list(WINDOWS))
@pytest.mark.parametrize("joined", [False, True])
def test_loss_on_the_last_position(name: str, joined: bool) -> None:
    if joined and name != "stream":
        return
    extra = {"joined": True} if joined else {}
    block = made.source([5, 0, 12, 1])
    packing = make_packing(name, block.lengths(), 4, loss_on="last", **extra)
    rows = np.arange(len(packing))
    batch = make_batch(block, packing, made.vocab(), rows)
    assert batch.target_mask.sum(1).tolist() == [packing.n_targets(rows[row : row + 1]) for row in rows]
    assert batch.n_targets == packing.n_targets(rows) == packing.stats().targets
    if name == "left_pad":
        assert batch.target_mask[:, -1].all()
        assert packing.stats().scored_min == packing.stats().scored_max == 1
    with pytest.raises(InvalidConfig, match="loss_on is 'first'"):
        make_packing(name, block.lengths(), 4, loss_on="first")


@pytest.mark.parametrize("seq_len", [1, 2, 3, 6, 40])
@pytest.mark.parametrize("stride", [1, 3])
@pytest.mark.parametrize("loss_on", ["all", "last"])
def test_joined_text_masks_the_pair_between_documents(seq_len: int, stride: int, loss_on: str) -> None:
    block = made.source([5, 0, 3, 1])
    docs = made.documents([5, 0, 3, 1])
    text = [id for doc in docs for id in doc]
    between = set(np.cumsum([len(doc) for doc in docs]).tolist()[:-1])
    stride = min(stride, seq_len)
    packing = make_packing(
        "stream", block.lengths(), seq_len, shuffle=False, joined=True, stride=stride, loss_on=loss_on
    )
    batch = make_batch(block, packing, made.vocab(), np.arange(len(packing)))
    scored = 0
    for row in range(len(packing)):
        size = min(seq_len, len(text) - 1 - row * stride)
        places = range(row * stride, row * stride + size)
        assert batch.ids[row, :size].tolist() == [text[i] for i in places]
        mask = [i + 1 not in between for i in places]
        if loss_on == "last" and any(mask):
            last = max(t for t, on in enumerate(mask) if on)
            mask = [t == last for t in range(size)]
        assert batch.target_mask[row, :size].tolist() == mask
        assert all(text[i + 1] == batch.targets[row, t] for t, i in enumerate(places) if mask[t])
        assert set(batch.document_ids[row, :size].tolist()) == {0}
        scored += sum(mask)
    assert scored == packing.n_targets(np.arange(len(packing))) == packing.stats().targets
    assert batch.one_document_per_row


@pytest.mark.parametrize("name", [*PACKS, *WINDOWS])
def test_plans_are_pure(name: str) -> None:
    first, again = (
        make_packing(name, LENGTHS, 8, seed=3, epoch=2, crop_offset="random", **options(name)) for _ in range(2)
    )
    backwards = [again.spans(row) for row in reversed(range(len(again)))][::-1]
    assert [first.spans(row) for row in range(len(first))] == backwards


@pytest.mark.parametrize("name", CONSERVING)
def test_bytes_of_an_epoch_are_the_bytes_of_the_documents(name: str) -> None:
    block = made.source([5, 0, 40, 1, 7, 12, 90])
    packing = make_packing(name, block.lengths(), 16, **options(name))
    assert make_batch(block, packing, made.vocab(), np.arange(len(packing))).n_bytes == int(block.nbytes().sum())


@pytest.mark.parametrize(
    "lengths",
    [[9, -3], [1.5], "abc", [[1, 2], [3]], [[9, 3]], None, 5, [True], ["9"], np.array([1.0])],
    ids=lambda lengths: repr(lengths),
)
def test_lengths_that_no_documents_have(lengths):
    """Once they were taken, or failed inside numpy."""
    from slmmodel.errors import InvalidConfig, WrongType

    with pytest.raises((WrongType, InvalidConfig), match="lengths"):
        make_packing("concat", lengths, 8)


@pytest.mark.parametrize("lengths", [[], [9, 3], (9, 3), np.array([9, 3], dtype=np.uint16)], ids=repr)
def test_lengths_of_any_integers(lengths):
    assert len(make_packing("concat", lengths, 8)) >= 0


def test_lengths_and_seq_len_in_another_order_are_named() -> None:
    with pytest.raises(WrongType, match=r"fix:   make_packing\('concat', lengths, 8\), with"):
        make_packing("concat", 8, np.array([9, 3, 14]))  # type: ignore[arg-type]
    with pytest.raises(WrongType, match=r"fix:   \[len\(ids\) for ids in documents\]; of offsets"):
        make_packing("concat", "x", 8)  # type: ignore[arg-type]
