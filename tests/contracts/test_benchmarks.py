"""Benchmarks say what they know: ids are expected, other ids get no time, and the README shows the newest record."""

from __future__ import annotations

import pytest

from benchmarks import report
from benchmarks.definition import FILES, FOLDER, MACHINE, Definition, definitions, expected, load, small
from benchmarks.records import latest
from benchmarks.runner import verdict
from slmtok.bench.registry import ENGINES


def test_names_are_unique_and_analysed() -> None:
    found = definitions()
    assert len({definition.name for definition in found}) == len(found) >= 10
    assert all(definition.analysis.endswith(".") for definition in found)
    assert {path.stem for path in FOLDER.glob("*.yaml")} - {"expected", "left_out"} == set(FILES)


def test_every_engine_is_measured_somewhere() -> None:
    assert {job.engine for definition in definitions() for job in definition.jobs} == {*ENGINES, MACHINE}


def test_the_ids_and_the_merges_of_every_job_are_known() -> None:
    jobs = [job for definition in definitions() for job in definition.jobs if job.expected_key]
    assert {job.expected_key for job in jobs} == set(expected())
    assert {job.task for job in jobs} == {"encode", "calls", "train"}


def test_the_definitions_cover_what_was_promised() -> None:
    """Sizes, texts, encodings, own vocabularies, forms of output, threads."""
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
    "name": "try-{corpus}-{encoding}",
    "task": "encode",
    "corpus": ["books", "code"],
    "encoding": ["r50k_base", "cl100k_base"],
    "threads": [1, 2],
    "engines": ["slmtok", "tiktoken"],
    "slow": ["tiktoken"],
    "analysis": "A try.",
}


def test_lists_make_definitions_and_cells() -> None:
    found = list(load(ENTRY))
    assert [definition.name for definition in found] == [
        "try-books-r50k",
        "try-books-cl100k",
        "try-code-r50k",
        "try-code-cl100k",
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
def test_unknown_words_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="unknown"):
        list(load({**ENTRY, **wrong}))


def test_a_smoke_run_needs_no_shared_text() -> None:
    corpora = {job.corpus for definition in map(small, definitions()) for job in definition.jobs}
    assert corpora == {"", "stories", "base64", "cjk-run", "letter", "spaces"}


def test_other_ids_get_no_time() -> None:
    job = definitions("encode-books-r50k")[0].jobs[0]
    right = dict(expected()[job.expected_key])
    assert verdict(job, right, expected()) == "ok"
    assert verdict(job, {**right, "sha256": "0" * 64}, expected()).startswith("other ids")
    assert verdict(job, {"skipped": "absent"}, expected()) == "skipped: absent"
    assert verdict(job, right, {}).startswith("nothing to compare with")


def test_a_trainer_with_another_algorithm_has_no_expected_merges() -> None:
    jobs = {job.engine: job for definition in definitions("train-field") for job in definition.jobs}
    assert jobs["sentencepiece"].expected_key == ""
    assert verdict(jobs["sentencepiece"], {"merges": 0, "sha256": ""}, expected()) == "ok"
    assert jobs["tokenizers"].expected_key.endswith(" hf")


def test_wrong_merges_get_no_time() -> None:
    job = definitions("train-books-8192")[0].jobs[0]
    answer = verdict(job, {"merges": 7920, "sha256": "0" * 64}, expected())
    assert answer.startswith("other merges than its tie rule gives")


def test_the_speeds_of_the_readme_are_those_of_the_newest_record() -> None:
    _, section, _ = report.split_readme()
    assert section == report.readme_section(latest())


def test_definitions_are_values() -> None:
    first, again = definitions("scaling"), definitions("scaling")
    assert first == again
    assert all(isinstance(definition, Definition) for definition in first)
