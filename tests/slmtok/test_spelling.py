"""Merges of two ids take a short way to their bytes, which gives and refuses what the general one does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from slmtok.errors import InvalidMerges
from slmtok.specials import FIRST_BYTE
from slmtok.spelling import spell_any, spell_merges

IDS = st.integers(-2, FIRST_BYTE + 270)
MERGES = st.lists(st.tuples(IDS, IDS) | st.tuples(IDS, IDS, st.integers(0, 20)) | st.tuples(IDS), max_size=8)
PAIRS = st.lists(st.tuples(st.integers(FIRST_BYTE, FIRST_BYTE + 256), st.integers(FIRST_BYTE, FIRST_BYTE + 260)))


def outcome(spell, merges):
    try:
        return spell(merges)
    except InvalidMerges as error:
        return str(error)


@given(MERGES | PAIRS)
def test_both_ways_agree(merges):
    assert outcome(spell_merges, tuple(merges)) == outcome(spell_any, tuple(merges))


def test_a_chain():
    merges = ((113, 113), (272, 113), (273, 272))
    assert spell_merges(merges) == spell_any(merges) == [b"aa", b"aaa", b"aaaaa"]
