"""Ragged batches: rows are views, slices share memory."""

import numpy as np
import pytest

from slmtok import Ragged
from slmtok.errors import OptionError


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
    from slmtok import Texts, train
    from slmtok.errors import WrongType

    torch = pytest.importorskip("torch")
    made = train(Texts(["a b"] * 9), scheme="byte")
    with pytest.raises(WrongType, match="this is one"):
        made.decode_batch(torch.tensor([20, 21]))
    with pytest.raises(WrongType, match="not set"):
        made.decode({20, 21})
