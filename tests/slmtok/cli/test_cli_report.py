"""`slmtok report`: its arguments and its errors; the page is tested in tests/slmtok/pages."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from page_checks import data_of
from shared_data import peer

peer("jinja2")
peer("matplotlib")


@pytest.fixture
def inputs(slmtok, tok, tmp_path: Path, story_text: str) -> Path:
    """A folder with a text in two domains, its counts, and results of every kind that a report shows."""
    shutil.copy(tok, tmp_path / "tok.json")
    (tmp_path / "a.txt").write_text(story_text[:9000], "utf-8")
    (tmp_path / "b.txt").write_text("1 + 1 = 2\n" * 200, "utf-8")
    for name, arguments in {
        "eval.json": ["eval", "tok.json", "--on", "a.txt", "--json"],
        "diff.json": ["diff", "tok.json", "tok.json", "--on", "a.txt", "--json"],
        "bad.json": ["eval", "tok.json", "--on", "none.txt", "--json"],
        "info.json": ["info", "tok.json", "--json"],
    }.items():
        (tmp_path / name).write_bytes(slmtok(*arguments).stdout)
    assert slmtok("audit", "tok.json", "--on", "a.txt").code == 0
    assert slmtok("count", "a.txt", "b.txt", "--domain", "numbers=b.txt", "-o", "a.counts").code == 0
    return tmp_path


def test_one_page_of_everything(slmtok, inputs):
    line = "report tok.json --with audit.json eval.json diff.json --on a.txt --on b.txt --domain numbers=b.txt"
    arguments = line.split()
    done = slmtok(*arguments, "-o", "r.html", "--json")
    assert done.code == 0, done.err
    page = (inputs / "r.html").read_text("utf-8")
    result = done.json["result"]
    assert result["with"] == ["audit.json", "eval.json", "diff.json"]
    assert result["bytes"] == len(page.encode())
    for part in ("Compression", "by domain", "nothing is lost", "the same ids", "<svg", "d_model 512, 8 layers"):
        assert part in page
    (subject,) = data_of(page)["tokenizers"]
    counts = subject["counts"]
    assert list(counts) == ["count", "numbers", "other"]
    assert [a + b for a, b in zip(counts["numbers"], counts["other"], strict=True)] == counts["count"]
    assert slmtok(*arguments, "-o", "-").out == page


def test_counts_give_the_counts_of_the_text(slmtok, inputs):
    both = ["--on", "a.txt", "--on", "b.txt", "--domain", "numbers=b.txt"]
    pages = [slmtok("report", "tok.json", *on, "-o", "-").out for on in (both, ["--on", "a.counts"])]
    one, other = (data_of(page)["tokenizers"][0]["counts"] for page in pages)
    assert one["count"] == other["count"]
    assert one["numbers"] == other["numbers"]


def test_without_a_text(slmtok, inputs):
    page = slmtok("report", "tok.json", "-o", "-").out
    data = data_of(page)
    assert data["samples"][0] == "Prose"
    assert data["tokenizers"][0]["counts"] == {}
    assert "embedding" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tok.json", "-o", "-", "--open"), "--open together with -o -, which is stdout"),
        (("tok.json", "-o", "a.txt"), "-o 'a.txt' would hold a page, which is HTML"),
        (("eval.json",), "eval.json is a result, and no tokenizer is named"),
        (("tok.json", "--with", "a.txt"), "a report does not show a.txt, which is no result"),
        (("tok.json", "--with", "info.json"), "a report does not show info.json, a result of slmtok.info/1"),
        (("tok.json", "--with", "bad.json"), "bad.json is not a valid result: it holds an error instead of a result"),
        (("tok.json", "--with", "none.json"), "no file 'none.json'"),
        (("tok.json", "--with", "edited.json"), "result.tokenizers[0].tokens is 'many', expected an integer"),
        (("other.json", "--with", "audit.json"), "audit.json certifies another tokenizer"),
        (("tok.json", "--on", "empty.txt"), "empty.txt has no byte of text"),
    ],
)
def test_wrong_inputs(slmtok, inputs, arguments, message):
    (inputs / "empty.txt").write_bytes(b"")
    content = json.loads((inputs / "eval.json").read_text("utf-8"))
    content["result"]["tokenizers"][0]["tokens"] = "many"
    (inputs / "edited.json").write_text(json.dumps(content), "utf-8")
    slmtok("slice", "tok.json", "--vocab", "300", "-o", "other.json", "-q")
    done = slmtok("report", *arguments, *(() if "-o" in arguments else ("-o", "r.html")))
    assert done.code in (1, 2)
    assert message in done.err
    assert not (inputs / "r.html").exists()


@pytest.mark.parametrize(
    ("path", "line"),
    [("run/eval/val.json", "slm report run -o report.html"),
     ("val.json", "slm report RUN --with val.json -o report.html")],
)  # fmt: skip
def test_a_result_of_a_model_has_a_page_of_slm(slmtok, inputs, path, line):
    (inputs / "run/eval").mkdir(parents=True)
    for name in ("config.yaml", "SHA256SUMS", "fingerprint.json"):
        (inputs / "run" / name).write_text("")
    (inputs / path).write_text('{"kind": "certificate", "version": 2, "payload": {}}')
    done = slmtok("report", "tok.json", "--with", path, "-o", "r.html")
    assert f"a report does not show {path}, a certificate of slm eval\n" in done.err
    assert f"fix:   {line} shows it: it is a result of a model\n" in done.err


def test_a_package_that_is_missing_is_named(slmtok, inputs, monkeypatch):
    from slmtok.pages import sections

    monkeypatch.setitem(sys.modules, "jinja2", None)
    sections._template.cache_clear()
    done = slmtok("report", "tok.json")
    sections._template.cache_clear()
    assert "a report needs the package jinja2, which is not installed" in done.err
    assert "pip install jinja2" in done.err


def test_empty_documents_are_no_samples_and_a_domain_may_be_named_count(slmtok, inputs):
    Path("empty.jsonl").write_text('{"text": ""}\n{"text": ""}\n{"text": "the cat"}\n', "utf-8")
    on = ["--on", "empty.jsonl", "--on", "b.txt", "--domain", "count=empty.jsonl", "--domain", "sums=b.txt"]
    assert slmtok("report", "tok.json", *on, "-o", "r.html").code == 0
    found = data_of(Path("r.html").read_text("utf-8"))
    assert any(name.startswith("count 1") for name in json.dumps(found).split('"'))
    (subject,) = found["tokenizers"]
    assert list(subject["counts"]) == ["all domains", "count", "sums"]


def test_of_a_run_the_page_shows_the_tokenizer_which_is_said(slmtok, inputs):
    run = inputs / "run"
    run.mkdir()
    for name in ("config.yaml", "SHA256SUMS", "fingerprint.json"):
        (run / name).touch()
    shutil.copy("tok.json", run / "tok.json")
    done = slmtok("report", "run", "-o", "run.html")
    assert (done.code, done.err) == (
        0,
        "note: run is a run of slm, and this page describes its tokenizer; "
        "slm report run -o run-2.html describes the run\n",
    )
    assert slmtok("report", "run/tok.json", "-o", "r.html").err == ""
