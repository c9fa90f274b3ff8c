"""Physical cores: one for each set of sibling threads among those that the process may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from slmtok.shards.run import physical_cores


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system has no affinity")
@pytest.mark.parametrize(("allowed", "wanted"), [({0, 1, 2, 3}, 2), ({0, 2}, 1), ({0, 1}, 2), ({3}, 1)])
def test_siblings_count_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allowed: set[int], wanted: int) -> None:
    for cpu in range(4):
        (tmp_path / str(cpu)).write_text(f"{cpu % 2},{cpu % 2 + 2}\n", encoding="ascii")
    monkeypatch.setattr("slmtok.shards.run._TOPOLOGY", str(tmp_path / "{}"))
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: allowed)
    assert physical_cores() == wanted


def test_without_topology(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slmtok.shards.run._TOPOLOGY", "nowhere/{}")
    assert physical_cores() == (os.cpu_count() or 1)
