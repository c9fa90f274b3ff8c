"""The small corpus, once for all tests of training."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

import small


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shards of the small corpus."""
    return small.data(tmp_path_factory.mktemp("data") / "data")
