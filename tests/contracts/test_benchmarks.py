"""Benchmarks say what they know: ids are expected, other ids get no time, and the README shows the newest record."""

from __future__ import annotations

from benchmarks import report
from benchmarks.definition import definitions, expected
from benchmarks.runner import verdict


def test_names_are_unique_and_analysed() -> None:
    found = definitions()
    assert len({definition.name for definition in found}) == len(found) >= 10
    assert all(definition.analysis.endswith(".") for definition in found)


def test_the_ids_and_the_merges_of_every_job_are_known() -> None:
    jobs = [job for definition in definitions() for job in definition.jobs if job.task in ("encode", "train")]
    assert {job.expected_key for job in jobs} == set(expected())


def test_other_ids_get_no_time() -> None:
    job = definitions("encode-books-r50k")[0].jobs[0]
    right = dict(expected()[job.expected_key])
    assert verdict(job, right, expected()) == "ok"
    assert verdict(job, {**right, "sha256": "0" * 64}, expected()).startswith("other ids")
    assert verdict(job, {"skipped": "absent"}, expected()) == "skipped: absent"
    row = {
        "engine": "slmtok",
        "text": "",
        "size": 0,
        "threads": 1,
        "definition": "d",
        "verdict": "other ids",
        "first": 1.0,
    }
    environment = {"processor": "", "cores": 1, "memory": 0, "system": "", "python": "", "commit": "", "versions": {}}
    assert "not ranked: other ids" in report.markdown(environment, [row], {})


def test_the_speeds_of_the_readme_are_those_of_the_newest_record() -> None:
    _, section, _ = report.split_readme()
    assert section == report.readme_section(report.latest())
