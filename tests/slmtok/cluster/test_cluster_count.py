"""Counting on a cluster gives the counts file of a local run, byte for byte."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from corpora import write
from tasks import dying_count

import slmtok
from slmtok import errors
from slmtok.cluster import count_on
from slmtok.corpus import find
from slmtok.options import CountOptions, ReadOptions

pytestmark = [pytest.mark.cluster, pytest.mark.slow]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("corpus") / "files")


OPTIONS: list[dict[str, Any]] = [
    {},
    {"domains": {"lines": "*.lines", "none": "*.none"}, "sample": 0.7},
    {"exclude": ("*.gz",), "skip_malformed": True},
]


@pytest.mark.filterwarnings("ignore:.*(malformed record|has no document):UserWarning")
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "+".join(options) or "plain")
def test_file_equals_the_local_one(cluster: Any, corpus: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    corpus = Path(shutil.copytree(corpus, tmp_path / "files"))
    (corpus / "bad.jsonl").write_text('{"text": "good"}\n' + ("{\n" if "skip_malformed" in options else ""))
    local = slmtok.count(str(corpus), threads=1, **options)
    local.save(tmp_path / "local.counts")
    seen: list[tuple[int, int]] = []
    progress = lambda stage, done, total: seen.append((done, total))  # noqa: E731
    far = count_on("auto", str(corpus), CountOptions(**options), progress)
    far.save(tmp_path / "far.counts")
    assert (tmp_path / "far.counts").read_bytes() == (tmp_path / "local.counts").read_bytes()
    assert far.sha256 == local.sha256
    assert far.stats.corpus_digest == local.stats.corpus_digest
    assert far.totals == local.totals
    assert (far.stats.skipped, sorted(far.stats.files)) == (local.stats.skipped, sorted(local.stats.files))
    assert seen[-1] == (len(local.stats.files), len(local.stats.files))
    assert slmtok.train(far, vocab_size=400).fingerprint == slmtok.train(local, vocab_size=400).fingerprint


def test_a_worker_killed_while_it_counts(
    cluster: Any, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slmtok.cluster.tasks._count", dying_count)
    count_on("auto", str(corpus), CountOptions()).save(tmp_path / "far.counts")
    assert (corpus / ".died").exists()
    slmtok.count(str(corpus)).save(tmp_path / "local.counts")
    assert (tmp_path / "far.counts").read_bytes() == (tmp_path / "local.counts").read_bytes()


def test_equal_parts_count_each(cluster: Any, tmp_path: Path) -> None:
    for name in "abcdefgh":
        (tmp_path / f"{name}.txt").write_text("the same words in every file")
    far = count_on("auto", str(tmp_path), CountOptions())
    assert far.items() == slmtok.count(str(tmp_path)).items()


def test_errors_and_refusals(cluster: Any, corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(errors.OptionError, match="max_docs ends a corpus"):
        count_on("auto", str(corpus), CountOptions(max_docs=3))
    with pytest.raises(errors.OptionError, match="max_bytes ends a corpus"):
        count_on("auto", str(corpus), CountOptions(max_bytes=1000))
    (tmp_path / "bad.jsonl").write_text('{"text": 3}\n')
    with pytest.raises(errors.MalformedRecord, match=r"bad\.jsonl, line 1"):
        count_on("auto", str(tmp_path), CountOptions())


def test_threads_workers_and_shuffled_parts_have_one_digest(cluster: Any, corpus: Path, tmp_path: Path) -> None:
    digests = {slmtok.count(str(corpus), threads=threads).save(tmp_path / f"{threads}.counts") for threads in (1, 2)}
    digests.add(count_on("auto", str(corpus), CountOptions()).save(tmp_path / "far.counts"))
    files = find(corpus, ReadOptions())
    parts = [tmp_path / f"part{number}.counts" for number in range(7)]
    for number, path in enumerate(parts):
        slmtok.count(list(files[number::7])).save(path)
    random.Random(1).shuffle(parts)
    digests.add(slmtok.merge_counts(parts, tmp_path / "merged.counts").digest)
    assert len(digests) == 1
