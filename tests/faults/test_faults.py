"""Failing and killing system calls, and inputs that are spoiled: a sample here, all with `make faults`."""

from __future__ import annotations

import dataclasses
import sys

import pytest
from command_table import COMMANDS, MODEL_COMMANDS
from fault_harness import FAULTS, Harness, Tally, limit_of_calls

FULL = limit_of_calls()
SAMPLE = 1
"""At how many calls of a command `make test` tries each kind of fault."""
SLOW = {"slm ablate": 30, "slm demo": 30, "slm report": 70}
"""Commands that take more than 20 minutes in full, with at how many calls, spaced evenly, each fault is tried."""
WRITING = [name for name, command in COMMANDS.items() if command.writes]


@pytest.mark.parametrize("name", [*COMMANDS, *MODEL_COMMANDS] if FULL else WRITING)
def test_a_command_passes_every_fault(harness: Harness, name: str) -> None:
    tally = Tally()
    limit = min(FULL, SLOW.get(name, FULL)) if FULL else SAMPLE
    failures = list(harness.faults({**COMMANDS, **MODEL_COMMANDS}[name], tally, limit=limit, kinds=list(FAULTS)))
    sys.stdout.write(f"{name}: {tally.calls} calls, {tally.faults} faults tried, {tally.passed} passed\n")
    # `slm config` alone touches no file.
    assert tally.faults > 0 or not tally.calls
    assert not failures, "\n".join(failures[:5])


def test_the_shim_strikes(harness: Harness) -> None:
    """Otherwise every fault would pass."""
    command = COMMANDS["slice"]
    for kind, at, expected in [
        ("ENOSPC", 2, "no space left"),
        ("full disk", 1, "no space left"),
        ("close", 2, "Input/output error"),
        ("read", 1, "Input/output error"),
        ("cut", 2, "tok.json"),
        ("change", 2, "tok.json"),
    ]:
        harness.prepare(command)
        ran = harness.run(command, fault=FAULTS[kind], at=at)
        assert ran["status"] == 1 and expected in ran["err"], (kind, ran)
    harness.prepare(command)
    assert harness.run(command, fault=FAULTS["kill before"], at=2)["status"] == -9
    mapping = COMMANDS["verify"]
    harness.prepare(mapping)
    assert "Cannot allocate memory" in (ran := harness.run(mapping, fault=FAULTS["mmap"], at=1))["out"] + ran["err"]


def test_another_outcome_is_noticed(harness: Harness) -> None:
    """The judgement of the harness, on a command whose output is expected to differ."""
    command = COMMANDS["slice"]
    expected, _ = harness.undisturbed(command)
    other = {name: data + b" " for name, data in expected.items()}
    assert "other bytes" in str(harness.fault(command, other, dataclasses.replace(FAULTS["ENOSPC"], action=0), 0))
    (harness.tried / "out" / "left.part").touch()
    assert harness.fault(command, expected, FAULTS["ENOSPC"], 3) is None
