"""A small corpus in parts, with its counts."""

from __future__ import annotations

from pathlib import Path

import pytest

import slmtok
from slmtok.stories import story


@pytest.fixture(scope="session")
def texts() -> list[str]:
    return [story(index) for index in range(60)]


@pytest.fixture(scope="session")
def counts(texts: list[str]) -> slmtok.PretokenCounts:
    return slmtok.count(slmtok.Texts(texts))


@pytest.fixture
def parts(tmp_path: Path, texts: list[str]) -> list[Path]:
    """Seven counts files of the same corpus, a part each."""
    paths = []
    for number in range(7):
        path = tmp_path / f"part{number}.counts"
        slmtok.count(slmtok.Texts(texts[number::7]), threads=1 + number % 2).save(path)
        paths.append(path)
    return paths
