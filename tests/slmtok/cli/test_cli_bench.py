"""`slmtok bench`: the same ids or no times, peers that are not there, and what it refuses."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from shared_data import peer

from slmtok.bench import comparison, measure
from slmtok.bench.engines import ENGINES
from slmtok.errors import InternalError, MissingExtra, OptionError

ROOT = Path(__file__).parents[3]
MEASURED = {"bytes": 10, "tokens": 3, "form": "list", "load": 0.1, "first": 0.2, "third": 0.1, "peak": 1000}


@pytest.fixture
def installed(monkeypatch):
    """Every peer seems to be installed, except those of the list that it returns."""
    absent: list[str] = []
    monkeypatch.setattr(comparison, "installed_version", lambda name: None if name in absent else "1.0")
    return absent


@pytest.fixture
def measured(monkeypatch, installed):
    """Measurements without processes: `answers` says what differs from the usual for an engine; jobs are kept."""
    import numpy as np

    answers: dict[str, dict[str, object]] = {}
    jobs: list[dict[str, object]] = []

    def run(module, job, *, threads, timeout, folder=None):
        jobs.append(job)
        answer = dict(answers.get(job["engine"], {}))
        ids = answer.pop("ids", [104, 105])
        if job["ids"]:
            np.save(job["ids"], np.array(ids, dtype=np.uint32))
        return {**MEASURED, "sha256": str(ids), **answer}

    monkeypatch.setattr(measure, "run_job", run)
    return answers, jobs


def test_against_tiktoken_on_own_text(slmtok, corpus, tok):
    peer("tiktoken")
    ran = slmtok("bench", "--on", corpus, "-t", tok, "--rounds", 1, "--json")
    assert ran.code == 0, ran.err
    result = ran.json["result"]
    assert [row["engine"] for row in result["rows"]] == ["slmtok", "tiktoken"]
    assert result["text"]["bytes"] == corpus.stat().st_size
    assert result["tokens"] == slmtok("encode", corpus, "-t", tok).out.count(" ") + 1
    assert result["rows"][0]["ratio_first"] == 1
    assert all(row[key] > 0 for row in result["rows"] for key in ("load", "first", "third", "mb_per_s_first"))


KILLED = """
import os, signal, sys
from pathlib import Path
from slmtok.bench.comparison import work_folder
with work_folder() as folder:
    (folder / "documents").write_text("left")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_folders_of_killed_processes_are_removed(slmtok, corpus, tok, measured, tmp_path, monkeypatch):
    place, other = tmp_path / "tmp", tmp_path / "other"
    place.mkdir()
    place.chmod(0o1777)
    other.mkdir()
    (other / "precious").write_text("mine")
    line = [sys.executable, "-c", KILLED]
    environment = {**os.environ, "TMPDIR": str(place), "PYTHONPATH": str(ROOT)}
    assert subprocess.run(line, env=environment, check=False).returncode == -signal.SIGKILL
    (left,) = place.iterdir()
    stem, _, suffix = left.name.rpartition("-")
    link, foreign = (place / f"{stem}-{digit * 8}.{suffix.partition('.')[2]}" for digit in "ab")
    link.symlink_to(other)
    foreign.mkdir()
    if os.geteuid() == 0:
        os.chown(foreign, 12345, 12345)
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    with comparison.work_folder() as running:
        ran = slmtok("bench", "--on", corpus, "-t", tok, "--against", "tiktoken", "--rounds", 1)
        assert ran.code == 0, ran.err
        assert {*place.iterdir()} == ({running, foreign} if os.geteuid() == 0 else {running})
    assert (other / "precious").read_text() == "mine"


def test_the_table_names_versions_text_and_digest(slmtok, corpus, tok, measured):
    ran = slmtok("bench", "--on", corpus, "-t", tok, "--against", "tiktoken,gigatoken", "--rounds", 3)
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert "the same from all (sha256 " in lines[0]
    assert "median of 3 rounds" in lines[1]
    assert [line.split()[:2] for line in lines[4:]] == [["slmtok", "1.0"], ["tiktoken", "1.0"], ["gigatoken", "1.0"]]


def test_engines_take_turns(slmtok, corpus, tok, measured):
    _, jobs = measured
    slmtok("bench", "--on", corpus, "-t", tok, "--against", "tiktoken", "--rounds", 2)
    assert [job["engine"] for job in jobs] == ["slmtok", "tiktoken"] * 2
    assert [bool(job["ids"]) for job in jobs] == [True, True, False, False]


def test_other_ids_get_no_table(slmtok, tok, measured, tmp_path):
    (tmp_path / "hi.txt").write_text("hi")
    answers, jobs = measured
    answers["tiktoken"] = {"ids": [104, 33, 33], "tokens": 3}
    answers["slmtok"] = {"ids": [104, 105], "tokens": 2}
    ran = slmtok("bench", "--on", "hi.txt", "-t", tok, "--rounds", 5)
    assert ran.code == 3
    assert "MB/s" not in ran.out
    assert "tiktoken, 3 ids: from byte 1 of document 0 on: 33 33 where 105 is right" in ran.out
    assert len(jobs) == 2, "nothing is measured again once ids differ"
    ran = slmtok("bench", "--on", "hi.txt", "-t", tok, "--json")
    assert (ran.code, ran.json["ok"], ran.json["result"]["rows"]) == (3, False, [])
    assert ran.json["result"]["differences"]["tiktoken"]["got"] == [33, 33]


def test_a_peer_that_is_not_installed(slmtok, installed):
    installed += ["gigatoken", "fastokens"]
    ran = slmtok("bench", "--against", "tiktoken,gigatoken,fastokens")
    assert ran.code == 1
    assert f"pip install gigatoken=={ENGINES['gigatoken'].version} fastokens=={ENGINES['fastokens'].version}" in ran.err
    with pytest.raises(MissingExtra):
        comparison.check_peers(["gigatoken"])


def test_a_text_as_an_argument_and_an_unknown_peer_are_mended_at_once(slmtok, corpus, tok, measured):
    ran = slmtok("bench", corpus, "--against", "huggingface", "-t", tok)
    assert ran.code == 2
    line = shlex.split(ran.err.partition("  fix:   ")[2])
    assert line == ["slmtok", "bench", "--against", "tokenizers", "-t", str(tok), "--on", str(corpus)]
    assert slmtok(*line[1:]).code == 0


def test_all_unknown_peers_are_named_at_once(slmtok, corpus, tok, measured):
    line = ("bench", "--on", corpus, "-t", tok, "--json", "--against")
    error = slmtok(*line, "huggingface,sentencepiece,tiktokn,gigatoken,rustbpe").json["error"]
    assert error["fact"] == "unknown peers 'huggingface', 'sentencepiece', 'tiktokn', 'rustbpe'"
    pasted, *notes = error["fix"].split("; ")
    assert notes == ["tokenizers is the package of Hugging Face", "sentencepiece, rustbpe are not measured"]
    ran = slmtok(*line[:-1], *pasted.split())
    rows = [row["engine"] for row in ran.json["result"]["rows"]]
    assert rows == ["slmtok", "tokenizers", "tiktoken", "gigatoken"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--against", "tiktokn"), "fix:   --against tiktoken\n"),
        (("--against", "rustbpe"), "fix:   use one of them\n"),
        (("--against", "slmtok"), "fix:   leave --against out: slmtok is always measured\n"),
        (("--against", "slmtok,tiktoken"), "fix:   --against tiktoken; slmtok is always measured\n"),
        (("--against", " ,"), "--against is empty"),
        (("--rounds", "0"), "--rounds 0 is out of range"),
        (("--on", "empty.txt"), "--on names no text"),
    ],
)
def test_what_it_refuses(slmtok, installed, tmp_path, arguments, said):
    (tmp_path / "empty.txt").write_bytes(b"")
    ran = slmtok("bench", *arguments)
    assert ran.code == 2
    assert said in ran.err


def test_only_merges_can_be_compared(slmtok, corpus, installed):
    assert slmtok("train", corpus, "--vocab", 500, "--scheme", "word", "-o", "words.json", "--allow-smaller").code == 0
    ran = slmtok("bench", "--on", corpus, "-t", "words.json")
    assert ran.code == 2
    assert "only the scheme bpe" in ran.err


def test_text_that_is_no_utf8(slmtok, tok, installed, tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"good \xff")
    ran = slmtok("bench", "--on", "bad.txt", "-t", tok)
    assert ran.code == 1
    assert "document 0 is not UTF-8: byte 0xff" in ran.err


def test_a_limit_may_cut_a_character(slmtok, tok, measured, tmp_path):
    (tmp_path / "a.txt").write_text("aä", encoding="utf-8")
    ran = slmtok("bench", "--on", "a.txt", "-t", tok, "--max-bytes", 2, "--json")
    assert ran.json["result"]["text"]["bytes"] == 1


def test_a_peer_that_cannot_and_a_peer_that_fails(slmtok, corpus, tok, measured):
    answers, _ = measured
    answers["gigatoken"] = {"skipped": "does not know own with the pattern slm"}
    ran = slmtok("bench", "--on", corpus, "-t", tok, "--against", "gigatoken")
    assert ran.code == 2
    assert "gigatoken does not know own with the pattern slm" in ran.err
    answers["gigatoken"] = {"failed": "Segmentation fault"}
    ran = slmtok("bench", "--on", corpus, "-t", tok, "--against", "gigatoken", "--json")
    assert ran.code == 1
    assert json.loads(ran.stdout)["error"]["class"] == "InternalError"


def test_the_errors_of_a_comparison(corpus, tok, measured):
    import slmtok

    answers, _ = measured
    answers["tiktoken"] = {"skipped": "does not"}
    with pytest.raises(OptionError, match="tiktoken does not"):
        comparison.compare(slmtok.load(tok), ["text"], ["tiktoken"])
    answers["tiktoken"] = {"failed": "fell over"}
    with pytest.raises(InternalError, match="fell over"):
        comparison.compare(slmtok.load(tok), ["text"], ["tiktoken"])


def test_without_text_and_tokenizer_there_are_stories(slmtok, measured):
    ran = slmtok("bench", "--max-bytes", "20kB", "--rounds", 1, "--json")
    assert ran.json["result"]["text"] == {"on": "stories", "documents": 18, "bytes": 20000}
    assert ran.json["result"]["tokenizer"] == "trained on the text"
