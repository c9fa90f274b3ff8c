"""Ragged batches: rows are views, slices share memory."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import slmtok
from slmtok import Ragged, Texts, _engine, train
from slmtok.errors import OptionError, UnknownId, WrongType


def ragged() -> Ragged:
    return Ragged(np.arange(6, dtype=np.uint16), np.array([0, 2, 2, 6], dtype=np.int64))


def test_shape() -> None:
    rows = ragged()
    assert len(rows) == 3
    assert [row.tolist() for row in rows] == rows.to_lists() == [[0, 1], [], [2, 3, 4, 5]]
    assert rows.lengths().tolist() == [2, 0, 4]
    assert rows[-1].tolist() == [2, 3, 4, 5]
    assert "3 documents, 6 ids, uint16" in repr(rows)


def test_rows_are_views() -> None:
    rows = ragged()
    assert rows[2].base is not None
    assert np.shares_memory(rows[2], rows.ids)
    assert np.shares_memory(rows[1:].ids, rows.ids)


def test_slices() -> None:
    rows = ragged()
    assert rows[1:].to_lists() == [[], [2, 3, 4, 5]]
    assert rows[:0].to_lists() == rows[5:].to_lists() == rows[2:1].to_lists() == []
    assert rows[:-1][0].tolist() == [0, 1]
    with pytest.raises(ValueError, match="step 1"):
        rows[::2]


@pytest.mark.parametrize("index", [3, -4])
def test_out_of_range(index: int) -> None:
    with pytest.raises(IndexError, match="of 3"):
        ragged()[index]


def test_equal_where_ids_and_documents_are() -> None:
    ids = np.array([1, 2, 3, 4])
    one, other = Ragged(ids, np.array([0, 1, 4])), Ragged(ids.astype(np.uint16), np.array([0, 1, 4]))
    assert one == other and one == one[:]
    assert one != Ragged(ids, np.array([0, 2, 4])) and one != Ragged(ids + 1, one.offsets)
    assert one[1:] == Ragged(ids[1:], np.array([0, 3]))
    assert one != [[1], [2, 3, 4]]
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


@pytest.mark.parametrize(
    ("ids", "offsets", "words"),
    [
        ([1, 2, 3], [0, 5], "the first and last offset are 0 and 5"),
        ([1, 2, 3], [1, 3], "the first and last offset are 1 and 3"),
        ([1, 2, 3], [], "of shapes [3] and [0]"),
        ([[1, 2], [3, 4]], [0, 2], "of shapes [2, 2] and [2]"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(ids: list[int], offsets: list[int], words: str) -> None:
    with pytest.raises(OptionError) as refused:
        Ragged(np.array(ids, dtype=np.uint16), np.array(offsets, dtype=np.int64))
    assert words in str(refused.value)


def test_a_tensor_of_one_row_is_no_batch() -> None:
    torch = pytest.importorskip("torch")
    made = train(Texts(["a b"] * 9), scheme="byte")
    with pytest.raises(WrongType, match="this is one"):
        made.decode_batch(torch.tensor([20, 21]))
    with pytest.raises(WrongType, match="not set"):
        made.decode({20, 21})


@pytest.mark.parametrize("dtype", ["u1", "i1", "<i2", ">u2", ">i4", "<i8", ">i8", "<u8", ">u8"])
@pytest.mark.parametrize("of_offsets", ["<i4", ">i8", "<u8", "u1"])
def test_integers_of_other_types_are_converted(dtype: str, of_offsets: str) -> None:
    made = train(Texts(["a b"] * 9), scheme="byte")
    rows = Ragged(np.array([97, 98, 99], dtype=dtype), np.array([0, 2, 3], dtype=of_offsets))
    assert rows.ids.dtype in (np.uint16, np.uint32) and rows.offsets.dtype == np.int64
    assert rows.to_lists() == [[97, 98], [99]]
    assert made.decode_batch(rows) == [made.decode([97, 98]), made.decode([99])]


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
def test_ids_of_the_right_type_are_not_copied(dtype: type) -> None:
    ids, offsets = np.array([1, 2, 3], dtype=dtype), np.array([0, 2, 3], dtype=np.int64)
    assert Ragged(ids, offsets).ids is ids and Ragged(ids, offsets).offsets is offsets


def _unaligned(values: object, dtype: str) -> list[np.ndarray]:
    """The values in memory where an item begins at no multiple of its size."""
    array = np.array(values, dtype=dtype)
    packed = [np.zeros(len(array), dtype=[("flag", f"V{n}"), ("value", dtype), ("rest", f"V{m}")]) for n, m in _FLAGS]
    for record in packed:
        record["value"] = array
    moved = np.frombuffer(b"\0" + array.tobytes(), dtype=dtype, offset=1)
    reversed_ = np.frombuffer(b"\0" + array[::-1].tobytes(), dtype=dtype, offset=1)[::-1]
    sparse = np.frombuffer(b"\0" + np.repeat(array, 2).tobytes(), dtype=dtype, offset=1)[::2]
    arrays = [*(record["value"] for record in packed), packed[0]["value"][::-1][::-1], moved, reversed_, sparse]
    assert all(np.array_equal(each, array) for each in arrays)
    assert not all(each.flags.aligned for each in arrays)
    return arrays


_FLAGS = ((0, 1), (1, 0), (1, 2), (0, 3), (4, 1), (2, 2))


@pytest.mark.parametrize("dtype", ["<u2", ">u2", "<u4", ">u4", "<i8", ">i8", "<i4", "<u8"])
def test_arrays_of_ids_need_no_alignment(dtype: str) -> None:
    made = train(Texts(["a b"] * 9), scheme="byte")
    text = "unaligned arrays of ids"
    for ids in _unaligned(made.encode_list(text), dtype):
        rows = Ragged(ids, np.array([0, 9, len(ids)]))
        assert made.decode(ids) == made.decode(rows.ids) == "".join(made.decode_segments(ids)) == text
        assert made.decode(ids, skip_special=True) == "".join(made.decode_batch([ids])) == text
        assert made.decode_bytes(ids) == made.decode_bytes(rows[0]) + made.decode_bytes(rows[1]) == text.encode()
        assert made.decode_batch(rows) == made.decode_batch(Ragged(*map(np.copy, (rows.ids, rows.offsets))))
        assert made.decode_batch(rows) == made.decode_batch(iter(rows)) == ["unaligned", " arrays of ids"]


@pytest.mark.parametrize("dtype", ["<i8", ">i8", "<i4", "<u8"])
def test_offsets_need_no_alignment(dtype: str) -> None:
    made = train(Texts(["a b"] * 9), scheme="byte")
    ids = made.encode("one two")
    for offsets in _unaligned([0, 3, 3, 7], dtype):
        rows = Ragged(ids, offsets)
        assert made.decode_batch(rows) == ["one", "", " two"]
        assert made.decode_batch(rows[1:]) == ["", " two"]


def test_ids_may_overlap() -> None:
    """Each begins one byte behind the one before it."""
    made = train(Texts(["a b"] * 9), scheme="byte")
    whole = made.encode("abc")
    ids = np.lib.stride_tricks.as_strided(whole, (5,), (1,))
    with pytest.raises(UnknownId, match=f"id {int(whole[1]) << 8} is not in the vocabulary"):
        made.decode(ids)
    assert made.decode(ids[::2]) == "abc"


def test_the_engine_reads_numbers_without_alignment() -> None:
    pairs, ids = np.array([[97, 98], [256, 99]], np.uint32), [*range(100, 258), *range(100)]
    plain = _engine.Encoder.from_merges(_engine.Pattern("whole"), pairs, np.array(ids, np.uint32))
    records = np.zeros((2, 2), dtype=[("id", "<u4"), ("flag", "u1")])
    records["id"] = pairs
    for each in (records["id"], records["id"].copy(order="F"), records["id"][::-1][::-1]):
        for numbers in _unaligned(ids, "<u4"):
            encoder = _engine.Encoder.from_merges(_engine.Pattern("whole"), each, numbers)
            assert encoder.encode_list(b"xabcab") == plain.encode_list(b"xabcab")


def test_empty_arrays_hold_no_ids() -> None:
    assert Ragged(np.array([]), np.array([0, 0])).pad(0).shape == (1, 0)


@pytest.mark.parametrize(
    ("ids", "fact"),
    [
        ([1, -100, 3], "-100 is no id"),
        (np.array([1, 2**63, 3], dtype=np.uint64), "9223372036854775808 is no id"),
        ([1, 2**32, 3], "4294967296 is no id"),
        (np.array([1, -1, 3], dtype=np.int8), "-1 is no id"),
    ],
)
def test_integers_that_are_no_ids_are_refused(ids: object, fact: str) -> None:
    ids, offsets = np.array(ids), np.array([0, 2, 3])
    with pytest.raises(OptionError) as refused:
        Ragged(ids, offsets)
    assert refused.value.fact == fact and refused.value.where == "ids[1]"
    if "below 0" in str(refused.value.fix):
        names = {"slmtok": slmtok, "np": np, "ids": ids, "offsets": offsets}
        assert eval(str(refused.value.fix).partition(": ")[2], names).to_lists() == [[1], [3]]


@pytest.mark.parametrize("values", [[0, 1.7, 3], [0, float("nan"), 3], ["0", "x", "3"], [0, None, 3], [1j, 2, 3]])
@pytest.mark.parametrize("name", ["ids", "offsets"])
def test_values_that_are_no_integers_are_refused(values: list[object], name: str) -> None:
    arrays = {"ids": np.array([1, 2, 3]), "offsets": np.array([0, 1, 3]), name: np.array(values)}
    with pytest.raises(WrongType, match=f"{name} are integers, and these are") as refused:
        Ragged(**arrays)
    assert "astype" not in str(refused.value.fix)


@pytest.mark.parametrize("values", [[0, 1.0, 3], ["0", "1", "3"], np.array([0, 1, 3], dtype=object)])
@pytest.mark.parametrize("name", ["ids", "offsets"])
def test_integers_in_another_type_are_refused_with_their_conversion(values: object, name: str) -> None:
    arrays = {"ids": np.array([1, 2, 3]), "offsets": np.array([0, 1, 3]), name: np.array(values)}
    with pytest.raises(WrongType) as refused:
        Ragged(**arrays)
    made = eval(str(refused.value.fix), {"slmtok": slmtok, **arrays})
    assert getattr(made, name).tolist() == [0, 1, 3]


def test_documents_are_found_in_a_ragged() -> None:
    ids, offsets = np.array([1, 2, 3], dtype=np.uint16), np.array([0, 2, 3], dtype=np.int64)
    rows = Ragged(ids, offsets)
    assert [1, 2] in rows and rows[1] in rows and [2] not in rows and "a" not in rows and None not in rows


def test_what_a_ragged_does_not_do_has_a_way_on() -> None:
    a, b = Ragged(np.arange(3, dtype=np.uint16), np.array([0, 1, 3])), Ragged(np.arange(2), np.array([0, 2]))
    sums: tuple[Callable[[], object], ...] = (lambda: a + b, lambda: sum([a, b]))
    for call in sums:
        with pytest.raises(WrongType, match="a Ragged has no sum with") as caught:
            call()
        rows, joined = str(caught.value.fix).split("; ")
        names: dict[str, Any] = {"slmtok": slmtok, "np": np, "a": a, "b": b}
        exec(rows, names)
        assert eval(joined, names).to_lists() == [*a.to_lists(), *b.to_lists()]
    with pytest.raises(WrongType, match=r"a Ragged is immutable\n  fix:   rows = ragged.to_lists\(\)"):
        a[0] = [1, 2]


def test_labels_are_padded_with_a_mask() -> None:
    ragged = Ragged(np.arange(3, dtype=np.uint16), np.array([0, 1, 3]))
    for call in (lambda: ragged.pad(-100), lambda: ragged.to_torch(pad=-100)):
        with pytest.raises(OptionError, match="=-100 is out of range") as caught:
            call()
        names: dict[str, Any] = {"np": np, "ragged": ragged}
        exec(str(caught.value.fix).partition("; for labels: ")[2], names)
        assert names["rows"].tolist() == [[0, -100], [1, 2]]
