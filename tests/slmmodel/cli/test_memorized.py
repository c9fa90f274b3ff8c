"""The longest substring of a sample that occurs in a text, against a search of all substrings."""

from __future__ import annotations

import random

import pytest

from slmmodel.cli.memorized import Overlap, TextIndex


def plain(sample: str, text: str) -> Overlap:
    sizes = range(len(sample), 0, -1)
    substrings = (Overlap(size, start) for size in sizes for start in range(len(sample) - size + 1))
    return next((it for it in substrings if sample[it.start : it.start + it.length] in text), Overlap(0, 0))


@pytest.mark.parametrize("block", [1, 3, 4, 16])
def test_equal_to_the_plain_search(block: int) -> None:
    chance = random.Random(block)
    for _ in range(60):
        text = "".join(chance.choices("ab é", k=chance.randrange(60)))
        cut = sorted(chance.choices(range(len(text) + 1), k=2))
        sample = "".join(chance.choices("abé", k=5)) + text[cut[0] : cut[1]] + "".join(chance.choices("b ", k=4))
        assert TextIndex(text, block=block).longest(sample) == plain(sample, text)


def test_substrings_by_hand() -> None:
    index = TextIndex("Once upon a time there was a fox who could not sleep at night. The end.")
    assert index.longest("A cow and a fox who could not sleep at all.") == Overlap(
        len(" a fox who could not sleep at "), 9
    )
    assert index.longest("zqzq") == Overlap(0, 0)
    assert index.longest("") == Overlap(0, 0)
    assert index.longest("Qonce Z") == Overlap(4, 2)
    assert TextIndex("").longest("a") == Overlap(0, 0)
