"""`benchmarks.instructions`: tolerance, exit status, conditions under which counts are comparable, stored cases."""

from __future__ import annotations

import json

import pytest

from benchmarks import instructions


@pytest.fixture
def stored() -> dict[str, dict[str, int]]:
    return json.loads(instructions.STORED.read_text(encoding="utf-8"))


def test_differences_beyond_the_tolerance_are_reported() -> None:
    stored = {"a": 1000, "b": 1000, "c": 1000, "d": 5}
    found = {"a": 1030, "b": 1031, "c": 960, "e": 5}
    assert instructions.differences(stored, found) == [
        "b: 1,000 before, 1,031 now (+3.1%)",
        "c: 1,000 before, 960 now (-4.0%)",
        "d: gone",
        "e: new",
    ]
    assert instructions.differences(stored, stored) == []


def test_exit_status(stored: dict, capsys: pytest.CaptureFixture[str]) -> None:
    where, found = stored["conditions"], stored["instructions"]
    assert instructions.check(where, found) == 0
    assert instructions.check(where, {case: 2 * n for case, n in found.items()}) == 1
    capsys.readouterr()
    assert instructions.check({**where, "rustc": "0.0.1"}, {}) == instructions.NOT_COMPARED != 0
    assert f"not comparable, stored under rustc {where['rustc']}, here 0.0.1" in capsys.readouterr().out


def test_stored_cases_cover_every_part(stored: dict) -> None:
    names = " ".join(stored["instructions"])
    encoding = ("encode cold u16", "encode warm u32", "long", "clauses", "short")
    for work in ("scan slm", "scan o200k", "count", "train", *encoding):
        assert work in names
    assert set(stored["conditions"]) == {"rustc", "target", "libc", "tier"}
