"""Every command of both programs in bare surroundings ends with success or one clear error, as `fault_harness` says.

`make test` tries all commands in a process without a terminal that has every lack that must not matter, and those of
slmtok and `slm train` under limits that may matter. `make faults` tries each situation alone, with every command.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from command_table import COMMANDS, MODEL_COMMANDS
from fault_harness import Harness, Situation, limit_of_calls

from slmmodel.cli import COMMANDS as SLM
from slmtok.cli import COMMANDS as SLMTOK

FULL = bool(limit_of_calls())
ALL = {**COMMANDS, **MODEL_COMMANDS}
SLOW = {"bench", "slm ablate", "slm demo", "slm plot", "slm bench", "slm export"}
"""They take seconds; only `make faults` runs them."""
NO_HOME = {"HOME": "/sys", "XDG_CACHE_HOME": "/sys", "MPLCONFIGDIR": "/sys"}
"""A folder in which not even root makes a file."""
BARE_ENV = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TERM": "", "FAULTS_NO_PROC": "1", **NO_HOME}
HARMLESS = {
    "64 open files": Situation(limits={"RLIMIT_NOFILE": 64}),
    "umask 077": Situation(umask=0o077),
    "full temporary folder": Situation(full_tmp=True),
    "no /proc": Situation(no_proc=True),
    "read-only home": Situation(env=NO_HOME),
}
"""In these a command succeeds."""
BARE = Situation(limits={"RLIMIT_NOFILE": 64}, umask=0o077, full_tmp=True)
MB = 1 << 20
LIMITS = {
    **{f"files of {size} bytes": Situation(limits={"RLIMIT_FSIZE": size}) for size in (0, 500, 5000)},
    **{f"{size} MB of memory": Situation(limits={"RLIMIT_AS": size * MB}) for size in (4, 16, 64, 256)},
}
SAMPLE = ("files of 500 bytes", "4 MB of memory")


def test_every_command_is_in_the_table() -> None:
    called = {(command.argv[0], command.argv[1]) for command in ALL.values()}
    assert called == {("slmtok", name) for name in SLMTOK} | {("slm", name) for name in SLM}


@pytest.fixture(scope="module")
def bare() -> Iterator[Harness]:
    """A process that was started without a home, a locale and /proc; in `make faults` one with torch."""
    with tempfile.TemporaryDirectory() as folder, closing(Harness(Path(folder), models=FULL, env=BARE_ENV)) as made:
        yield made


def succeeds(harness: Harness, name: str, situation: Situation) -> None:
    """A command writes the same bytes in a situation."""
    expected, _ = harness.undisturbed(ALL[name])
    assert harness.situation(ALL[name], expected, situation, may_fail=False) is None
    if situation.umask and not ALL[name].copy and not ALL[name].before:
        # Replaced files keep their modes.
        modes = {path: path.stat().st_mode & 0o777 for path in (harness.tried / "out").rglob("*") if path.is_file()}
        assert not {path: oct(mode) for path, mode in modes.items() if mode & situation.umask}


@pytest.mark.parametrize("name", ALL if FULL else [name for name in ALL if name not in SLOW])
def test_lacks_do_not_matter(bare: Harness, harnesses: Callable[[str], Harness], name: str) -> None:
    if FULL or name in COMMANDS:
        succeeds(bare, name, BARE)
    else:
        # A second process with torch takes ten seconds to start. This one has a locale and /proc.
        succeeds(harnesses(name), name, replace(BARE, env=NO_HOME))


@pytest.mark.parametrize("situation", HARMLESS if FULL else ())
@pytest.mark.parametrize("name", ALL)
def test_a_single_lack_does_not_matter(harness: Harness, name: str, situation: str) -> None:
    succeeds(harness, name, HARMLESS[situation])


@pytest.mark.parametrize("situation", LIMITS if FULL else SAMPLE)
@pytest.mark.parametrize("name", ALL if FULL else [name for name in [*COMMANDS, "slm train"] if name not in SLOW])
def test_a_limit_is_a_clear_error(harness: Harness, name: str, situation: str) -> None:
    expected, _ = harness.undisturbed(ALL[name])
    assert harness.situation(ALL[name], expected, LIMITS[situation], may_fail=True) is None
