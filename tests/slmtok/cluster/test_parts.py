"""One large file among many workers: its parts give what the whole file gives. Tasks are run here, one by one."""

from __future__ import annotations

import gzip
import json
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import slmtok
from slmtok.cluster import count_on, pack_on, partitions
from slmtok.cluster.packing import _numbered
from slmtok.corpus import ReadOptions
from slmtok.shards import pack
from slmtok.shards.units import Position, Unit
from slmtok.stories import stories
from slmtok.training.options import CountOptions

UNIT = 20_000


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small file, one of many units, a packed one of many, one that is a single line, a small one."""
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

    def in_order(ray: Any, task: Any, jobs: Any) -> Iterator[Any]:
        jobs_of.append(len(jobs))
        for job in jobs:
            for result in task(*pickle.loads(pickle.dumps(job))):
                yield pickle.loads(pickle.dumps(result)) if isinstance(result, (bytes, tuple)) else result

    for module in ("counting", "packing"):
        monkeypatch.setattr(f"slmtok.cluster.{module}.connected", connected)
        monkeypatch.setattr(f"slmtok.cluster.{module}.in_order", in_order)
        monkeypatch.setattr(f"slmtok.cluster.{module}.workers_of", lambda ray: 3)
    monkeypatch.setattr("slmtok.cluster.partition.UNIT_BYTES", UNIT)
    monkeypatch.setattr("slmtok.shards.sources.UNIT_BYTES", UNIT)
    defaults = {"first": 0, "start": None, "unit_bytes": UNIT}
    monkeypatch.setattr("slmtok.corpus.batching.engine_reader.__kwdefaults__", defaults)
    return jobs_of


READ = ReadOptions(skip_malformed=True)


def test_parts_tile_a_file(here: list[int], corpus: Path) -> None:
    sources = [str(path) for path in sorted(corpus.iterdir())]
    whole = partitions(sources, 3)
    assert all(part.sources.units is None for part in whole)
    found = partitions(sources, 3, READ)
    assert [path for part in found if not (part.sources.units or (0,))[0] for path in part.sources] == sources
    for name, most in (("b.jsonl", 6), ("c.jsonl.gz", 3)):
        units = [part.sources.units for part in found if part.sources[0].endswith(name)]
        assert 1 < len(units) <= most
        assert units[0][0] == 0 and units[-1][1] is None
        assert [end for _, end in units[:-1]] == [first for first, _ in units[1:]]
    assert not any(part.sources.units for part in partitions(sources, 3, ReadOptions(sample=0.5)))


def test_counts_of_parts_are_those_of_the_whole(here: list[int], corpus: Path, tmp_path: Path) -> None:
    for options in ({}, {"domains": {"packed": "*.gz"}}):
        read = ReadOptions(skip_malformed=True, **options)
        local = slmtok.count(str(corpus), skip_malformed=True, threads=1, **options)
        far = count_on("auto", str(corpus), "bpe", None, CountOptions(read=read))
        local.save(tmp_path / "local.counts", force=True)
        far.save(tmp_path / "far.counts", force=True)
        assert (tmp_path / "far.counts").read_bytes() == (tmp_path / "local.counts").read_bytes()
        assert (far.fed.corpus_digest, far.totals) == (local.fed.corpus_digest, local.totals)
    assert min(here) > 8


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("stop", [None, 9, 30])
def test_packing_parts_is_packing_the_whole(here: list[int], corpus: Path, tmp_path: Path, stop: int | None) -> None:
    """Also where the run was stopped in the middle of a part, and begun here and finished there."""
    tokenizer = slmtok.train(slmtok.Texts(["some words of a story"] * 9), 280)
    options: dict[str, Any] = {"val": "hash:10%", "shard_tokens": 300_000, "read": READ}
    pack(str(corpus), tokenizer, tmp_path / "local", threads=1, **options)
    taken = 0

    def watch(state: Any) -> None:
        nonlocal taken
        taken += 1
        if taken == stop:
            raise KeyboardInterrupt

    for name, first in (("far", pack_on("auto")), ("begun", None)) if stop else (("far", None),):
        taken = 0
        if stop:
            with pytest.raises(KeyboardInterrupt):
                pack(str(corpus), tokenizer, tmp_path / name, elsewhere=first, watch=watch, threads=1, **options)
        pack(str(corpus), tokenizer, tmp_path / name, elsewhere=pack_on("auto"), **options)
        assert content(tmp_path / name) == content(tmp_path / "local")


def test_records_are_numbered_behind_a_part_whose_rest_has_none() -> None:
    """A run that goes on in the last unit of a part, which a long record of the units before covers."""
    unit = Unit(None, 4, ((0, Position(2, 0)),), number=8)
    held: Any = None
    ((moved, _),) = _numbered(iter([(unit, held, 8)]), Position(2, 70))
    assert moved.starts == ((0, Position(2, 70)),) and moved.opens == 70
    ((moved, _),) = _numbered(iter([(unit, held, 8)]), Position(1, 70))
    assert moved.starts == ((0, Position(2, 0)),)
