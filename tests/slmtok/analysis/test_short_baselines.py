"""Baselines of texts that are shorter than their n-grams."""

from __future__ import annotations

import pytest

from slmtok.analysis.baselines import ORDERS, witten_bell


@pytest.mark.parametrize("held_out", [[b"h"], [b"hi"], [b"", b"h", b"i"], [b"hello"]])
@pytest.mark.parametrize("train", [[], [b"a"], [b"hi there, hi there"]])
def test_short_texts_have_a_number_for_each_order(train, held_out):
    bits = witten_bell(train, held_out)
    assert len(bits) == ORDERS and all(0 < each <= 9 for each in bits)
