"""Merges of two ids have a fast path to their bytes, which accepts and returns what the general one does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from slmtok.errors import InvalidMerges
from slmtok.specials import FIRST_BYTE
from slmtok.vocabulary import check_merges, merges_to_bytes

IDS = st.integers(-2, FIRST_BYTE + 270)
MERGES = st.lists(st.tuples(IDS, IDS) | st.tuples(IDS, IDS, st.integers(0, 20)) | st.tuples(IDS), max_size=8)
PAIRS = st.lists(st.tuples(st.integers(FIRST_BYTE, FIRST_BYTE + 256), st.integers(FIRST_BYTE, FIRST_BYTE + 260)))


def outcome(spell, merges):
    try:
        return spell(merges)
    except InvalidMerges as error:
        return str(error)


@given(MERGES | PAIRS)
def test_fast_and_general_path_agree(merges):
    assert outcome(merges_to_bytes, tuple(merges)) == outcome(check_merges, tuple(merges))


def test_a_chain():
    merges = ((113, 113), (272, 113), (273, 272))
    assert merges_to_bytes(merges) == check_merges(merges) == [b"aa", b"aaa", b"aaaaa"]
