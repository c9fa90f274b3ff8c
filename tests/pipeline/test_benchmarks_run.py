"""Benchmarks run on small texts: processes, vocabularies, verdicts, and the first difference of wrong ids."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import slmtok
from benchmarks import corpora, runner, worker
from benchmarks.definition import Definition, Job, definitions, small
from slmtok.bench import engines
from slmtok.bench.engine import Engine

OWN = {"task": "encode", "corpus": "stories", "limit": 100_000, "encoding": "own", "vocab": 1000, "pattern": "gpt2"}


def job(engine: str, **more: Any) -> Job:
    """A small job with a vocabulary trained by slmtok."""
    return Job(**{"definition": "d", "engine": engine, "threads": 1, **OWN, **more})


@pytest.mark.slow
def test_batches_calls_counting_and_training_run() -> None:
    jobs = (job("slmtok"), job("slmtok", task="calls", output="list"), job("slmtok", threads=2))
    rows = list(runner.run(Definition("d", jobs, "An example."), 2))
    assert [row["verdict"] for row in rows] == ["ok"] * 6
    assert len({row["sha256"] for row in rows}) == 1
    for definition in map(small, [*definitions("scaling-count"), *definitions("hostile-encode")]):
        one = replace(definition, jobs=definition.jobs[:1])
        assert [row["verdict"] for row in runner.run(one, 1)] == ["ok"]


def test_loading_and_packing_have_the_same_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    from benchmarks import loading

    texts = [f"Text {number} is about {'long ' * (number % 40)}words." for number in range(99)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    slmtok.train(slmtok.Texts(texts), vocab_size=280).save(tmp_path / "tok.json")
    command = [str(tmp_path / "a.jsonl"), "-t", str(tmp_path / "tok.json"), "--rounds", "1", "--seq-len", "64"]
    loading.main([*command, "--batch-size", "7"])
    assert re.search(r"a\.jsonl +0\.0 MB  pack .* load/pack \d", capsys.readouterr().out)


@pytest.mark.slow
def test_training_is_the_whole_command() -> None:
    (row,) = runner.run(Definition("d", (job("slmtok", task="train", encoding=""),), "An example."), 1)
    assert row["verdict"] == "ok"
    assert row["merges"] == 1000 - 272
    assert row["first"] > 0.1


@pytest.mark.slow
def test_slow_engines_run_in_two_rounds_and_unsupported_ones_once() -> None:
    jobs = (job("slmtok"), job("rustbpe"))
    rows = list(runner.run(Definition("d", jobs, "An example.", frozenset({"slmtok"})), 4))
    assert [row["round"] for row in rows if row["engine"] == "slmtok"] == [0, 1]
    (refused,) = (row for row in rows if row["engine"] == "rustbpe")
    assert refused["verdict"] == "skipped: UnsupportedError: does not encode"


def test_the_first_difference_of_an_engine_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(Engine):
        """Changes one id."""

        def load(self, source: Any) -> None:
            self.right = engines.engine("slmtok")
            self.right.load(source)

        def encode(self, documents: Any, threads: int) -> Any:
            return self.right.encode(documents, threads)

        def ids(self, encoded: Any) -> NDArray[np.uint32]:
            ids = self.right.ids(encoded)
            ids[100] += 1
            return ids

    monkeypatch.setattr(worker, "engine", lambda name: Wrong() if name == "bpeasy" else engines.engine("slmtok"))
    difference = worker.explain(job("bpeasy"))["where"]
    assert difference.startswith("from byte ")
    assert difference.endswith(" is right")
    assert worker.explain(job("slmtok")) == {"where": "only in single calls"}


def test_generated_texts_have_their_size() -> None:
    assert sum(map(len, corpora.documents("base64", limit=5000))) == 5000
    assert {len(text) for text in corpora.documents("letter", limit=1000, piece=100)} == {100}
    assert corpora.is_corpus("cjk-run")
    assert not corpora.is_corpus("random-bytes"), "peers take only text"
