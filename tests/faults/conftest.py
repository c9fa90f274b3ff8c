"""The harness of the tests of faults and situations, and where they run."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from command_table import MODEL_COMMANDS
from fault_harness import Harness, limit_of_calls

TIMEOUT_SECONDS = 14_400 if limit_of_calls() else 300


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without the loader of Linux or a C compiler nothing here can run."""
    has_compiler = any(map(shutil.which, ("cc", "gcc", "clang")))
    reason = "the shim is for the loader of Linux" if sys.platform != "linux" else "the shim is C, without a compiler"
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.timeout(TIMEOUT_SECONDS))
            item.add_marker(pytest.mark.skipif(sys.platform != "linux" or not has_compiler, reason=reason))


@pytest.fixture(scope="package")
def harnesses() -> Iterator[Callable[[str], Harness]]:
    """The harness for a command of the table: that of slmtok, or that with torch, whose forks take longer."""
    made: dict[bool, Harness] = {}
    # In memory, where the system has such a folder: thousands of files are written and synced.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

    with ExitStack() as stack:

        def harness(name: str) -> Harness:
            models = name in MODEL_COMMANDS
            if models not in made:
                folder = stack.enter_context(tempfile.TemporaryDirectory(dir=memory))
                made[models] = stack.enter_context(closing(Harness(Path(folder), models=models)))
            return made[models]

        yield harness


@pytest.fixture
def harness(harnesses: Callable[[str], Harness], request: pytest.FixtureRequest) -> Harness:
    """The harness for the command `name` of a test; without one, that of slmtok."""
    return harnesses(request.node.callspec.params.get("name", "") if hasattr(request.node, "callspec") else "")
