"""Benchmarks: definitions, verdicts, records, comparison of records, and the rendered page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import compare, record, report
from benchmarks.definition import FAMILIES, FOLDER, MACHINE, Definition, definitions, expected, load, small
from benchmarks.record import Key, cells
from benchmarks.runner import verdict
from slmtok.bench.engines import ENGINES

ENVIRONMENT: dict[str, Any] = {
    "processor": "P <1>",
    "cores": 2,
    "huge_pages": "madvise",
    "memory": 8e9,
    "system": "Linux",
    "python": "3.11",
    "commit": "abc",
    "versions": {"slmtok": "0.1.0", "tiktoken": "0.14.0", "gigatoken": "0.10.0", "bpeasy": "absent"},
}


def row(engine: str, first: float, third: float = 0.0, **more: Any) -> dict[str, Any]:
    """One measurement of the definition `d`."""
    known = {"definition": "d", "engine": engine, "threads": 1, "text": "", "size": 0, "output": "", "verdict": "ok"}
    numbers = {"bytes": 10**6, "load": 0.5, "first": first, "third": third or first, "peak": 10**6, "form": "list"}
    return {**known, **numbers, **more}


def rows_of(own: float, other: float, **more: Any) -> list[dict[str, Any]]:
    return [row("slmtok", own, **more), row("gigatoken", other, **more), row("tiktoken", 20 * other, **more)]


def test_a_cell_has_medians_and_the_fastest_peer() -> None:
    rows = [*rows_of(1.0, 2.0), *rows_of(3.0, 4.0), *rows_of(2.0, 9.0)]
    (cell,) = cells(rows)
    assert cell.key == Key("d")
    assert cell.value("slmtok", "first") == 2.0
    assert cell.value("slmtok", "ready") == 2.5
    assert cell.fastest("first") == ("gigatoken", 4.0)
    assert cell.speedup("first") == 2.0


def test_wrong_ids_and_other_algorithms_are_never_the_fastest() -> None:
    rows = [*rows_of(1.0, 2.0), row("wrong", 0.1, verdict="other ids"), row("other", 0.1, alone=True)]
    (cell,) = cells(rows)
    assert cell.value("wrong", "first") is None
    assert cell.fastest("first") == ("gigatoken", 2.0)


def test_threads_and_outputs_have_their_own_cells() -> None:
    rows = [
        *rows_of(1, 2),
        *rows_of(1, 3, threads=2),
        *rows_of(1, 4, output="numpy"),
        *rows_of(1, 5, text="a", size=1000),
    ]
    assert [str(cell.key) for cell in cells(rows)] == ["d", "d, 2 threads", "d, numpy", "d, a 1e3"]
    assert [cell.speedup("first") for cell in cells(rows)] == [2, 3, 4, 5]


def test_compare_uses_ratios_not_times() -> None:
    before = rows_of(1.0, 2.0)
    assert compare.regressions(before, rows_of(10.0, 20.0)) == []
    assert compare.regressions(before, rows_of(1.09, 2.0)) == []
    assert compare.regressions(before, rows_of(1.0, 4.0)) == []
    lines = compare.regressions(before, rows_of(1.2, 2.0))
    assert lines[0] == "d, first call: 2.00x of gigatoken before, 1.67x now"
    assert len(lines) == 3


def test_compare_reports_a_new_peer_and_wrong_ids() -> None:
    before = rows_of(1.0, 2.0)
    faster = [*before, row("fastokens", 1.5)]
    assert compare.regressions(before, faster)[0] == "d, first call: 2.00x of gigatoken and fastokens before, 1.50x now"
    lost = [row("slmtok", 1.0, verdict="other ids"), *before[1:]]
    assert compare.regressions(before, lost) == ["d: other ids"]
    assert compare.regressions(before, [*before, *rows_of(9.0, 2.0, definition="new")]) == []
    assert compare.new_cells(before, [*before, *rows_of(9.0, 2.0, definition="new")]) == 1
    assert compare.new_cells(before, faster) == 0


def test_compare_reports_missing_cells() -> None:
    before = [*rows_of(1.0, 2.0), *rows_of(1.0, 2.0, size=7, text="t")]
    assert compare.regressions(before, rows_of(1.0, 2.0)) == ["d, t 7e0: not measured any more"]
    assert compare.regressions(before, rows_of(1.0, 2.0, definition="new")) == ["d: not measured any more"]


def test_compare_reports_superlinear_hostile_texts() -> None:
    def hostile(last: float) -> list[dict[str, Any]]:
        sizes = ((10**6, 1.0), (10**7, last))
        return [row("slmtok", first, definition="hostile-x", text="letter", size=size) for size, first in sizes]

    assert compare.regressions([], hostile(11.0)) == []
    assert compare.regressions([], hostile(11.2)) == ["hostile-x, letter 1e7: 11.2 times the time of 1e+06 bytes"]


def test_a_new_run_replaces_its_definitions_in_the_record(tmp_path: Path) -> None:
    environment = {**ENVIRONMENT, "processor": "Intel(R) Xeon(R) Processor @ 2.80GHz"}
    folder = tmp_path / "intel-xeon-2.80ghz"
    old = [row("slmtok", 1, definition=name) for name in ("a", "b", "gone")]
    record.write(folder / "2000-01-01.jsonl", environment, old)
    new = [row("slmtok", 2, definition=name) for name in ("c", "b")]
    path = record.replace(environment, new, ["a", "b", "c"], tmp_path)
    assert record.all_records(tmp_path) == [path]
    found, rows = record.read(path)
    assert found == environment
    assert [(line["definition"], line["first"]) for line in rows] == [("a", 1), ("b", 2), ("c", 2)]


def tables(rows: list[dict[str, Any]], family: str = "encode", **more: str) -> str:
    known = [Definition("d", (), "What it shows.", family=family), Definition("e", (), "The second.", family=family)]
    return "\n".join(report.tables(rows, known))


def test_tables_show_peers_as_multiples() -> None:
    rows = [*rows_of(1.0, 2.0), row("rs-bpe", 0.1, verdict="other ids than tiktoken's: 1 tokens, 2 expected")]
    text = tables([*rows, row("bpeasy", 3.0, alone=True), *rows_of(9.0, 1.0, definition="unknown")])
    assert "* What it shows." in text
    assert (
        "| d | 1 | 1 | 1.0 | 0% | 1 | 2.00 / 2.00 | 40.00 / 40.00 | other ids | 3.00 / 3.00 (other algorithm) |" in text
    )
    assert "unknown" not in text
    assert len({line.count("|") for line in text.splitlines() if line.startswith("|")}) == 1


def test_single_calls_are_shown_in_nanoseconds() -> None:
    assert "| d, list | 1000 | 1000 |" in tables(rows_of(0.001, 0.002, calls=1000, output="list"))


def test_the_gain_of_a_second_thread_is_shown() -> None:
    text = tables([*rows_of(1.8, 3.0), *rows_of(1.0, 3.0, threads=2)], "scaling")
    assert "| d, 2 threads | 1 | 1 | 1.80 | 1.80 |" in text
    assert "| d, 2 threads, gigatoken | 3 | 3 | 1.00 | 1.00 |" in text


def test_the_growth_of_hostile_texts_is_shown() -> None:
    rows = [row("slmtok", first, text="letter", size=size) for size, first in ((10**6, 1.0), (10**7, 11.0))]
    assert "| d, letter 1e7 | 11 | 0.1 | 11.0 |" in tables(rows, "hostile")


def test_the_page_is_rendered_from_the_records() -> None:
    assert report.PAGE.read_text(encoding="utf-8") == report.page(record.all_records())


def test_one_record_is_kept_for_each_processor() -> None:
    folders = [path.parent for path in record.all_records()]
    assert len(folders) == len(set(folders)) >= 2


def test_names_are_unique_and_analysed() -> None:
    found = definitions()
    assert len({definition.name for definition in found}) == len(found) >= 10
    assert all(definition.analysis.endswith(".") for definition in found)
    assert {path.stem for path in FOLDER.glob("*.yaml")} - {"expected", "left_out"} == set(FAMILIES)


def test_every_engine_is_measured_somewhere() -> None:
    assert {job.engine for definition in definitions() for job in definition.jobs} == {*ENGINES, MACHINE}


def test_expected_ids_and_merges_exist_for_every_job() -> None:
    jobs = [job for definition in definitions() for job in definition.jobs if job.expected_key]
    assert {job.expected_key for job in jobs} == set(expected())
    assert {job.task for job in jobs} == {"encode", "calls", "train"}


def test_definitions_cover_sizes_texts_encodings_outputs_and_threads() -> None:
    jobs = [job for definition in definitions() for job in definition.jobs]
    encoded = {(job.corpus, job.encoding) for job in jobs if job.task == "encode" and not job.limit}
    encodings = ("r50k_base", "cl100k_base", "o200k_base", "own")
    assert {(corpus, name) for corpus in ("books", "docs_en", "code", "multi") for name in encodings} <= encoded
    assert {("cjk", name) for name in encodings[:3]} <= encoded
    assert {job.piece for job in jobs if job.task == "calls"} == {0, 100, 4096, 1_000_000}
    assert {job.output for job in jobs if job.corpus == "sentences"} == {"list", "numpy"}
    assert {job.threads for job in jobs} == {1, 2}
    assert {"base64", "letter", "spaces"} <= {job.corpus for job in jobs}
    trained = {
        (job.corpus, job.vocab) for job in jobs if job.task == "train" and job.engine in ("gigatoken", "rustbpe")
    }
    assert trained == {(corpus, vocab) for corpus in ("books", "docs_en", "code", "multi") for vocab in (8192, 32768)}


ENTRY = {
    "name": "example-{corpus}-{encoding}",
    "task": "encode",
    "corpus": ["books", "code"],
    "encoding": ["r50k_base", "cl100k_base"],
    "threads": [1, 2],
    "engines": ["slmtok", "tiktoken"],
    "slow": ["tiktoken"],
    "analysis": "An example.",
}


def test_lists_make_definitions_and_cells() -> None:
    found = list(load(ENTRY))
    assert [definition.name for definition in found] == [
        "example-books-r50k",
        "example-books-cl100k",
        "example-code-r50k",
        "example-code-cl100k",
    ]
    assert [(job.engine, job.threads) for job in found[0].jobs] == [
        ("slmtok", 1),
        ("tiktoken", 1),
        ("slmtok", 2),
        ("tiktoken", 2),
    ]
    assert found[0].slow == {"tiktoken"}


@pytest.mark.parametrize(
    "wrong",
    [{"engines": ["unknown"]}, {"slow": ["gigatoken"]}, {"task": "guess"}, {"corpus": "mine"}, {"texts": ["mine"]}],
)
def test_unknown_names_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="unknown"):
        list(load({**ENTRY, **wrong}))


def test_a_smoke_run_needs_no_shared_corpus() -> None:
    corpora = {job.corpus for definition in map(small, definitions()) for job in definition.jobs}
    assert corpora == {"", "stories", "base64", "cjk-run", "letter", "spaces"}


def test_wrong_ids_get_no_time() -> None:
    job = definitions("encode-books-r50k")[0].jobs[0]
    row = dict(expected()[job.expected_key])
    assert verdict(job, row, expected()) == "ok"
    assert verdict(job, {**row, "sha256": "0" * 64}, expected()).startswith("other ids")
    assert verdict(job, {"skipped": "absent"}, expected()) == "skipped: absent"
    assert verdict(job, row, {}).startswith("no expected ids")


def test_a_trainer_with_another_algorithm_has_no_expected_merges() -> None:
    jobs = {job.engine: job for definition in definitions("train-field") for job in definition.jobs}
    assert jobs["sentencepiece"].expected_key == ""
    assert verdict(jobs["sentencepiece"], {"merges": 0, "sha256": ""}, expected()) == "ok"
    assert jobs["tokenizers"].expected_key.endswith(" hf")


def test_wrong_merges_get_no_time() -> None:
    job = definitions("train-books-8192")[0].jobs[0]
    answer = verdict(job, {"merges": 7920, "sha256": "0" * 64}, expected())
    assert answer.startswith("other merges than its tie-break rule gives")


def test_definitions_are_values() -> None:
    first, again = definitions("scaling"), definitions("scaling")
    assert first == again
    assert all(isinstance(definition, Definition) for definition in first)
