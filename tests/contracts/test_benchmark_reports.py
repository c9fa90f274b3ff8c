"""From raw lines to what people read: who was fastest, what got worse, tables, the page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks import guard, page, records, report
from benchmarks.cells import Key, cells

ENVIRONMENT: dict[str, Any] = {
    "processor": "P <1>",
    "cores": 2,
    "memory": 8e9,
    "system": "Linux",
    "python": "3.11",
    "commit": "abc",
    "versions": {"slmtok": "0.1.0", "tiktoken": "0.14.0", "gigatoken": "0.10.0", "bpeasy": "absent"},
}


def row(engine: str, first: float, third: float = 0.0, **more: Any) -> dict[str, Any]:
    """One raw line; the definition is `d`."""
    known = {"definition": "d", "engine": engine, "threads": 1, "text": "", "size": 0, "output": "", "verdict": "ok"}
    numbers = {"bytes": 10**6, "load": 0.5, "first": first, "third": third or first, "peak": 10**6, "form": "list"}
    return {**known, **numbers, **more}


def record(own: float, other: float, **more: Any) -> list[dict[str, Any]]:
    return [row("slmtok", own, **more), row("gigatoken", other, **more), row("tiktoken", 20 * other, **more)]


def test_a_cell_takes_medians_and_finds_the_fastest() -> None:
    rows = [*record(1.0, 2.0), *record(3.0, 4.0), *record(2.0, 9.0)]
    (cell,) = cells(rows)
    assert cell.key == Key("d")
    assert cell.value("slmtok", "first") == 2.0
    assert cell.value("slmtok", "ready") == 2.5
    assert cell.fastest("first") == ("gigatoken", 4.0)
    assert cell.factor("first") == 2.0


def test_who_is_wrong_or_does_other_work_is_never_the_fastest() -> None:
    rows = [*record(1.0, 2.0), row("wrong", 0.1, verdict="other ids"), row("other", 0.1, alone=True)]
    (cell,) = cells(rows)
    assert cell.value("wrong", "first") is None
    assert cell.fastest("first") == ("gigatoken", 2.0)


def test_threads_and_forms_are_cells_of_their_own() -> None:
    rows = [*record(1, 2), *record(1, 3, threads=2), *record(1, 4, output="numpy"), *record(1, 5, text="a", size=1000)]
    assert [str(cell.key) for cell in cells(rows)] == ["d", "d, 2 threads", "d, numpy", "d, a 1e3"]
    assert [cell.factor("first") for cell in cells(rows)] == [2, 3, 4, 5]


def test_the_guard_compares_ratios_and_never_times() -> None:
    before = record(1.0, 2.0)
    assert guard.worse(before, record(10.0, 20.0)) == []
    assert guard.worse(before, record(1.09, 2.0)) == []
    assert guard.worse(before, record(1.0, 4.0)) == []
    told = guard.worse(before, record(1.2, 2.0))
    assert told[0] == "d, first call: 2.00x of gigatoken before, 1.67x now"
    assert len(told) == 3


def test_the_guard_sees_a_new_peer_and_lost_ids() -> None:
    before = record(1.0, 2.0)
    faster = [*before, row("fastokens", 1.5)]
    assert guard.worse(before, faster)[0] == "d, first call: 2.00x of gigatoken and fastokens before, 1.50x now"
    lost = [row("slmtok", 1.0, verdict="other ids"), *before[1:]]
    assert guard.worse(before, lost) == ["d: other ids"]
    assert guard.worse(before, [*before, *record(9.0, 2.0, definition="new")]) == []
    assert guard.fresh(before, [*before, *record(9.0, 2.0, definition="new")]) == 1
    assert guard.fresh(before, faster) == 0


def test_the_guard_sees_what_is_gone() -> None:
    before = [*record(1.0, 2.0), *record(1.0, 2.0, size=7, text="t")]
    assert guard.worse(before, record(1.0, 2.0)) == ["d, t 7e0: not measured any more"]
    assert guard.worse(before, record(1.0, 2.0, definition="new")) == ["d: not measured any more"]


def test_the_guard_sees_hostile_texts_that_are_not_linear() -> None:
    def hostile(last: float) -> list[dict[str, Any]]:
        sizes = ((10**6, 1.0), (10**7, last))
        return [row("slmtok", first, definition="hostile-x", text="letter", size=size) for size, first in sizes]

    assert guard.worse([], hostile(11.0)) == []
    assert guard.worse([], hostile(11.2)) == ["hostile-x, letter 1e7: 11.2 times the time of 1e+06 bytes"]


def test_a_part_that_is_run_again_takes_its_place() -> None:
    old = [row("slmtok", 1, definition=name) for name in ("a", "b", "gone")]
    new = [row("slmtok", 2, definition=name) for name in ("c", "b")]
    found = records.merged(old, new, ["a", "b", "c"])
    assert [(line["definition"], line["first"]) for line in found] == [("a", 1), ("b", 2), ("c", 2)]


def test_a_record_comes_back(tmp_path: Path) -> None:
    records.write(tmp_path / "r.jsonl", ENVIRONMENT, record(1, 2))
    assert records.read(tmp_path / "r.jsonl") == (ENVIRONMENT, record(1, 2))
    assert records.find(str(tmp_path / "r.jsonl")) == tmp_path / "r.jsonl"
    with pytest.raises(FileNotFoundError):
        records.find("never")


def test_a_record_is_not_lost_by_accident(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "RECORD", tmp_path)
    records.write(records.new("main"), ENVIRONMENT, record(1, 2))
    with pytest.raises(FileExistsError, match="--into"):
        records.new("main")
    assert records.latest() == next(tmp_path.glob("*-main.jsonl"))


def test_the_tables() -> None:
    rows = [*record(1.0, 2.0), row("rs-bpe", 0.1, verdict="other ids; from byte 3")]
    text = report.markdown(ENVIRONMENT, rows, {"d": "What it shows."})
    assert "What it shows." in text
    assert "| slmtok | 1.0000 | 1.0 | 1.0000 | 0% | 1.0000 | 1.0 | 1.500 | 1 | list | 1 | 1.00 | 1.00 |" in text
    assert "| rs-bpe | not ranked: other ids; from byte 3 |" in text
    assert "* slmtok against the fastest peer: first call 2.00x gigatoken; third call 2.00x gigatoken" in text
    assert "bpeasy" not in text
    widths = {line.count("|") for line in text.splitlines() if line.startswith("|")}
    assert len(widths) == 1


def test_single_calls_are_told_in_nanoseconds() -> None:
    text = report.markdown(ENVIRONMENT, record(0.001, 0.002, calls=1000, output="list"), {})
    assert "| slmtok, list | 0.0010 | 1000 |" in text


def test_what_a_second_thread_gains() -> None:
    text = report.markdown(ENVIRONMENT, [*record(1.8, 3.0), *record(1.0, 3.0, threads=2)], {})
    assert "* two threads over one, slmtok: first call 1.80x; third call 1.80x" in text
    assert "* two threads over one, gigatoken: first call 1.00x" in text


def test_a_definition_that_was_measured_later_says_so() -> None:
    rows = [*record(1, 2, commit="abc"), *record(1, 2, definition="e", commit="def")]
    text = report.markdown(ENVIRONMENT, rows, {})
    assert text.count("Measured at commit") == 1
    assert "Measured at commit def." in text


def test_the_page_needs_nothing_else() -> None:
    rows = [*record(1.0, 2.0), row("rs-bpe", 0.1, verdict="other ids; <5>"), *record(2, 1, definition="e", calls=10)]
    text = page.html("2026", ENVIRONMENT, rows, {"d": "What & why."})
    assert text.count("<svg") == text.count("</svg>") == 3
    assert not re.search(r"https?:|<script|<link|@import|url\(", text)
    for shown in ("What &amp; why.", "P &lt;1&gt;", "other ids; &lt;5&gt;", "2.00x", "k calls/s", "MB/s"):
        assert shown in text
    assert text.count("<tr") == text.count("</tr>")


def test_the_plots_are_well_formed() -> None:
    from xml.etree import ElementTree

    text = page.html("2026", ENVIRONMENT, record(1.0, 2.0), {})
    for plot in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        drawn = ElementTree.fromstring(plot)
        assert all(float(bar.attrib["width"]) > 0 for bar in drawn.iter("rect"))
        assert all(0 <= float(dot.attrib["cx"]) <= 860 for dot in drawn.iter("circle"))


def test_the_page_of_every_record_can_be_made() -> None:
    for path in records.RECORD.glob("*.jsonl"):
        environment, rows = records.read(path)
        assert path.stem in page.html(path.stem, environment, rows, {})
        assert "| slmtok |" in report.markdown(environment, rows, {})
