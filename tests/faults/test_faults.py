"""Failing and killing system calls: a sample here, all of them with `make faults` (see `fault_harness`)."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import fault_harness
from fault_harness import COMMANDS, ERRORS, MODEL_COMMANDS, Harness, Tally

FULL = os.environ.get("SLMTOK_FAULTS") == "full"
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the shim is for the loader of Linux"),
    pytest.mark.skipif(
        not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="the shim is C, and there is no compiler"
    ),
    pytest.mark.timeout(7200 if FULL else 300),
]


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harness]:
    made = Harness(tmp_path_factory.mktemp("faults"), models=FULL)
    yield made
    made.close()


@pytest.mark.parametrize("name", [*COMMANDS, *(MODEL_COMMANDS if FULL else ())])
def test_a_command_passes_every_fault(harness: Harness, name: str) -> None:
    tally = Tally()
    command = {**COMMANDS, **MODEL_COMMANDS}[name]
    failures = list(harness.faults(command, tally, limit=None if FULL else 4, kinds=list(ERRORS)))
    sys.stdout.write(f"{name}: {tally.calls} calls, {tally.faults} faults tried, {tally.passed} passed\n")
    assert tally.faults > 0 and tally.calls > 3
    assert not failures, "\n".join(failures[:5])


def test_the_shim_strikes(harness: Harness) -> None:
    """Otherwise every fault would pass."""
    folder = harness.prepared(COMMANDS["slice"], "struck")
    ran = harness.run(COMMANDS["slice"].argv, folder, 2, fault_harness.ERRORS["ENOSPC"])
    assert ran["status"] == 1 and "no space left" in ran["err"]
    assert harness.run(COMMANDS["slice"].argv, folder, 2, fault_harness.KILL_BEFORE)["status"] == -9
