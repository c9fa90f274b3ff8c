"""Folders that `datasets` saved with several splits: what is read, and how another split is named."""

from __future__ import annotations

import shlex
import warnings

import pytest

import slmtok as package

datasets = pytest.importorskip("datasets")


@pytest.fixture
def saved(slmtok) -> str:
    train, test = (datasets.Dataset.from_dict({"text": [word] * 3}) for word in ("train", "test"))
    datasets.DatasetDict({"train": train, "test": test}).save_to_disk("both")
    train.save_to_disk("one")
    return "both"


def test_the_split_that_was_read_is_told(slmtok, saved: str) -> None:
    ran = slmtok("count", saved, "-o", "a.counts")
    fact = "note: hf:both has 2 splits, and train alone was read; name "
    (note,) = [each for each in ran.err.splitlines() if each.startswith(fact)]
    named = note.removeprefix(fact).partition(" for what else it has, with --force")[0]
    assert named == "hf:both@test"
    again = slmtok("count", *shlex.split(named), "-o", "a.counts", "--force", "--json")
    assert (again.json["result"]["documents"], "split" in again.err) == (3, False)


@pytest.mark.parametrize("named", ["hf:both@train", "both hf:both@test", "one"])
def test_a_split_that_is_named_is_not(slmtok, saved: str, named: str) -> None:
    ran = slmtok("count", *named.split(), "-o", "a.counts")
    assert ran.code == 0 and "alone was read" not in ran.err


def test_python_warns(slmtok, saved: str) -> None:
    with pytest.warns(UserWarning, match="hf:both has 2 splits, and train alone was read; name hf:both@test for"):
        package.count(saved)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        package.count("hf:both@train")
