"""One large file for many workers: its parts give what the whole file gives. Tasks run in this process."""

from __future__ import annotations

import gzip
import json
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from slmtok_shards import content

import slmtok
from slmtok.cluster import count_on, pack_on, partitions
from slmtok.cluster.tasks import _renumber
from slmtok.corpus import Batch, Position
from slmtok.corpus.batches import ChunkStart
from slmtok.options import CountOptions, ReadOptions
from slmtok.shards import pack
from slmtok.stories import stories

CHUNK = 20_000


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small file, one of many chunks, a compressed one of many, one that is a single line, a small one."""
    folder = tmp_path_factory.mktemp("corpus")
    texts = list(islice(stories(seed=7), 700))
    records = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    (folder / "a.jsonl").write_text(records[: records.index("\n", 5000) + 1])
    (folder / "b.jsonl").write_text(records + "{}\n")
    (folder / "c.jsonl.gz").write_bytes(gzip.compress((records * 2).encode(), 1))
    (folder / "d.lines").write_text("one line " * 150_000)
    (folder / "e.lines").write_text("\n".join(texts[5].split(". ")))
    return folder


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A cluster of three workers in this process; how many jobs each run had."""
    jobs_of: list[int] = []

    class Ray:
        @staticmethod
        def put(value: Any) -> Any:
            return value

        @staticmethod
        def nodes() -> list[Any]:
            return []

    @contextmanager
    def connected(address: str) -> Iterator[Any]:
        yield Ray

    def ordered_map(ray: Any, task: Any, jobs: Any) -> Iterator[Any]:
        jobs_of.append(len(jobs))
        for job in jobs:
            for result in task(*pickle.loads(pickle.dumps(job))):
                yield pickle.loads(pickle.dumps(result)) if isinstance(result, (bytes, tuple)) else result

    monkeypatch.setattr("slmtok.cluster.tasks.connected", connected)
    monkeypatch.setattr("slmtok.cluster.tasks.ordered_map", ordered_map)
    monkeypatch.setattr("slmtok.cluster.tasks.workers_of", lambda ray: 3)
    monkeypatch.setattr("slmtok.corpus.reading.CHUNK_BYTES", CHUNK)
    return jobs_of


READ = ReadOptions(skip_malformed=True)


def test_parts_tile_a_file(here: list[int], corpus: Path) -> None:
    sources = [str(path) for path in sorted(corpus.iterdir())]
    whole = partitions(sources, 3)
    assert all(part.sources.chunks is None for part in whole)
    found = partitions(sources, 3, READ)
    assert [path for part in found if not (part.sources.chunks or (0,))[0] for path in part.sources] == sources
    for name, most in (("b.jsonl", 6), ("c.jsonl.gz", 3)):
        chunks = [part.sources.chunks for part in found if part.sources[0].endswith(name)]
        assert 1 < len(chunks) <= most
        assert chunks[0][0] == 0 and chunks[-1][1] is None
        assert [end for _, end in chunks[:-1]] == [first for first, _ in chunks[1:]]
    assert not any(part.sources.chunks for part in partitions(sources, 3, ReadOptions(sample=0.5)))


@pytest.mark.filterwarnings("ignore:.*(malformed record|has no document):UserWarning")
def test_counts_of_parts_are_those_of_the_whole(here: list[int], corpus: Path, tmp_path: Path) -> None:
    for options in ({}, {"domains": {"packed": "*.gz"}}):
        read = ReadOptions(skip_malformed=True, **options)
        local = slmtok.count(str(corpus), skip_malformed=True, threads=1, **options)
        far = count_on(
            "auto", str(corpus), CountOptions(**{field.name: getattr(read, field.name) for field in fields(read)})
        )
        local.save(tmp_path / "local.counts", force=True)
        far.save(tmp_path / "far.counts", force=True)
        assert (tmp_path / "far.counts").read_bytes() == (tmp_path / "local.counts").read_bytes()
        assert (far.stats.corpus_digest, far.totals) == (local.stats.corpus_digest, local.totals)
    assert min(here) > 8


@pytest.mark.filterwarnings("ignore:.*(malformed record|has no document):UserWarning")
@pytest.mark.parametrize("stop", [None, 9, 30])
def test_packing_parts_is_packing_the_whole(here: list[int], corpus: Path, tmp_path: Path, stop: int | None) -> None:
    """Also where the run was stopped in the middle of a part, and begun here and finished there."""
    tokenizer = slmtok.train(slmtok.Texts(["some words of a story"] * 9), vocab_size=280)
    options: dict[str, Any] = {"val": "hash:10%", "shard_tokens": 300_000, "skip_malformed": True}
    pack(str(corpus), tokenizer, tmp_path / "local", threads=1, **options)
    taken = 0

    def on_progress(state: Any) -> None:
        nonlocal taken
        taken += 1
        if taken == stop:
            raise KeyboardInterrupt

    for name, first in (("far", pack_on("auto")), ("begun", None)) if stop else (("far", None),):
        taken = 0
        if stop:
            with pytest.raises(KeyboardInterrupt):
                pack(
                    str(corpus), tokenizer, tmp_path / name, remote=first, on_progress=on_progress, threads=1, **options
                )
        pack(str(corpus), tokenizer, tmp_path / name, remote=pack_on("auto"), **options)
        assert content(tmp_path / name) == content(tmp_path / "local")


def test_records_are_numbered_behind_a_part_without_records() -> None:
    """A run resumes in the last chunk of a part, which a long record of earlier chunks covers."""
    batch = Batch(None, 4, ((0, Position(2, 0)),), chunk=ChunkStart(8, 0))
    encoded: Any = None
    ((moved, _),) = _renumber(iter([(batch, encoded, 8)]), Position(2, 70))
    assert moved.starts == ((0, Position(2, 70)),) and moved.chunk == ChunkStart(8, 70)
    ((moved, _),) = _renumber(iter([(batch, encoded, 8)]), Position(1, 70))
    assert moved.starts == ((0, Position(2, 0)),)
