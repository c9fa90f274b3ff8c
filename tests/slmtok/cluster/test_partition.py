"""Partitions: every source once, in order, about as large as each other."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmtok import errors
from slmtok.cluster import connected, partitions


@given(st.lists(st.integers(0, 1000), max_size=30), st.integers(1, 9))
def test_partitions_tile_the_sources(sizes: list[int], workers: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("slmtok.cluster.tasks._size", lambda source: max(int(source.split(":")[1]), 1))
        sources = [f"{index}:{size}" for index, size in enumerate(sizes)]
        found = partitions(sources, workers)
        assert [source for part in found for source in part.sources] == sources
        assert [part.first for part in found] == [sources.index(part.sources[0]) for part in found]
        most = max(sum(max(size, 1) for size in sizes) // (4 * workers), 1)
        for part in found:
            assert len(part.sources) == 1 or sum(max(int(one.split(":")[1]), 1) for one in part.sources) <= most


def test_sources_of_unknown_size(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"x" * 1000)
    found = partitions(["hf:a/b", str(tmp_path / "a.txt"), "hf:c"], 1)
    assert [list(part.sources) for part in found] == [["hf:a/b"], [str(tmp_path / "a.txt")], ["hf:c"]]
    with pytest.raises(errors.OptionError, match="standard input cannot be read"):
        partitions(["-"], 2)


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(errors.MissingExtra, match=r"fix:   pip install ray$"), connected("auto"):
        pass


def test_no_cluster_at_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(errors.ClusterFailed, match="cannot reach a Ray cluster at 'nowhere'"), connected("nowhere"):
        pass


def test_the_handler_of_sigterm_stays_that_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGTERM)

    def init(**options: Any) -> None:
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(number))

    fake = SimpleNamespace(is_initialized=lambda: False, init=init, shutdown=lambda: None)
    monkeypatch.setitem(sys.modules, "ray", fake)
    with connected("auto") as ray:
        assert ray is fake and signal.getsignal(signal.SIGTERM) == before
    assert signal.getsignal(signal.SIGTERM) == before
