"""Errors of the processes that torchrun starts: each is printed once, by the rank that asks first."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import made_shards as made
import pytest

from slmmodel import torchrun
from slmmodel.errors import InvalidInput

torch = pytest.importorskip("torch")


@pytest.fixture
def rank(monkeypatch):
    """Turns this process into a rank; the test holds the store that torchrun would."""
    store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    environment = {"WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": store.port}

    def turn_into(number: int) -> None:
        settings = {**environment, "RANK": number, "TORCHELASTIC_USE_AGENT_STORE": "True"}
        for name, value in settings.items():
            monkeypatch.setenv(name, str(value))

    yield turn_into
    del store


@pytest.mark.cluster
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_an_error_of_all_ranks_is_printed_once(slm, rank, options):
    printed = []
    for number in (1, 0):
        rank(number)
        ran = slm("train", "nowhere", *options, code=1)
        printed.append((bool(ran.err), bool(ran.out)))
    assert printed == [(True, bool(options)), (False, False)]
    assert "elsewhere" in slm("train", "elsewhere", *options, code=1).err, "another error of one rank"


@pytest.mark.cluster
@pytest.mark.parametrize(
    ("line", "fix"),
    {
        "packed -o new": "name a command first: {} COMMAND packed -o new",
        "trian packed -o new": "{} train packed -o new",
        "train packed new": "{} train packed -o new",
        "train packed --out_dir=new": "use -o new",
    }.items(),
)
def test_the_fix_of_a_rank_keeps_its_launcher(slm, rank, monkeypatch, tmp_path, line, fix):
    made.write_data(tmp_path / "packed", {"train": [made.documents([30, 40])]})
    monkeypatch.chdir(tmp_path)
    rank(0)
    more = {"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2", "TORCHELASTIC_USE_AGENT_STORE": "False"}
    for name, value in more.items():
        monkeypatch.setenv(name, value)
    launchers = {"torchrun --nproc-per-node 2 -m slmmodel": None}
    launchers["accelerate launch --num-processes 2 -m slmmodel"] = ["python", "/bin/accelerate", "launch"]
    for launcher, words in launchers.items():
        started = tmp_path / "proc" / str(os.getppid()) / "cmdline"
        started.parent.mkdir(parents=True, exist_ok=True)
        given = [*(words or []), "--num-processes", "2", "-m", "slmmodel", *line.split(), ""]
        started.write_text("\0".join(given if words else ["sh", ""]))
        monkeypatch.setattr("slmtok.cli.launcher._PROCESS", tmp_path / "proc")
        assert f"  fix:   {fix.format(launcher)}" in slm(*line.split()).err


def test_the_fix_of_a_module_runs_it_where_no_script_is_installed(slm, monkeypatch):
    monkeypatch.setattr(sys, "orig_argv", ["python3", "-m", "slmmodel", "trian", "packed"])
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "executable", "/nowhere/python3")
    assert "  fix:   python3 -m slmmodel train\n" in slm("trian", code=2).err


@pytest.mark.cluster
def test_without_the_store_every_rank_prints(slm, rank, monkeypatch):
    rank(1)
    monkeypatch.setenv("MASTER_PORT", "1")
    monkeypatch.setattr("slmmodel.cli.ranks.STORE_TIMEOUT_SECONDS", 0.5)
    assert "nowhere" in slm("train", "nowhere", code=1).err


ALONE = {
    "demo": ("text file.txt", "-o", "made"),
    "export": ("run", "--output-format", "hf", "-o", "made"),
    "ablate": ("--vocabs", "300,400", "--text", "text file.txt", "-o", "made"),
    "info": ("run",),
}


@pytest.mark.cluster
@pytest.mark.parametrize("command", ALONE)
def test_a_command_of_one_process_says_so_under_torchrun(slm, rank, monkeypatch, command):
    """Each process would do the whole work, in one folder; without torchrun the command runs."""
    rank(1)
    monkeypatch.setenv("LOCAL_RANK", "1")
    Path("text file.txt").write_text("A text.")
    Path("run").mkdir()
    line = (command, *ALONE[command])
    err = slm(*line, code=2).err
    assert f"slm {command} runs in one process, and torchrun started 2\n" in err
    assert err.endswith(f"  fix:   {shlex.join(['slm', *line])}\n")
    assert not Path("made").exists()
    rank(0)
    monkeypatch.setenv("LOCAL_RANK", "0")
    assert slm(*line, code=2).err == "", "rank 1 has said it"


def test_a_machine_of_a_cluster_runs_commands_of_one_process(slm, rank, monkeypatch):
    """Its environment may have a rank, and no local one."""
    rank(1)
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "False")
    assert "model:" in slm("config", code=0).out


@pytest.mark.parametrize(
    ("variables", "fact"),
    [
        ({"WORLD_SIZE": "abc"}, "WORLD_SIZE is 'abc'"),
        ({"WORLD_SIZE": "-3"}, "WORLD_SIZE is '-3'"),
        ({"MASTER_ADDR": ""}, "RANK and WORLD_SIZE are set, and MASTER_ADDR is not"),
        ({"MASTER_PORT": "99999"}, "MASTER_PORT is '99999'"),
        ({"RANK": "2"}, "RANK is 2"),
        ({"RANK": "first"}, "RANK is 'first'"),
        ({"RANK": "3", "WORLD_SIZE": "1"}, "RANK is 3"),
    ],
)
def test_a_wrong_variable_is_named(monkeypatch, variables, fact):
    right = {"WORLD_SIZE": "2", "RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29512"}
    for name, value in {**right, **variables}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InvalidInput) as caught:
        torchrun.is_rank()
    assert caught.value.fact == fact
    assert "torchrun" in str(caught.value.fix)


def test_a_rank_that_is_left_in_the_environment_hides_nothing(slm, tmp_path, monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    monkeypatch.setenv("RANK", "1")
    data = made.write_data(tmp_path / "data", {"train": [made.documents([90, 40])]})
    ran = slm("train", data, "-o", "ranked", "--budget", "steps=1", code=1)
    assert "RANK is 1\n" in ran.err and "0, since WORLD_SIZE is not set: one process alone" in ran.err
    assert not Path("ranked").exists()
    # A command that no rank takes part in has nothing to do with it.
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert torchrun.is_main()


def test_a_wrong_variable_hides_no_error(slm, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "abc")
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "True")
    assert "nowhere" in slm("train", "nowhere", code=1).err


@pytest.mark.cluster
def test_waiting_for_other_ranks_is_noted_and_ends_with_a_signal():
    """Rank 0 waits as the server of the store, and rank 1 for a server."""
    with socket.socket() as first, socket.socket() as second:
        for free in (first, second):
            free.bind(("127.0.0.1", 0))
        ports = [str(free.getsockname()[1]) for free in (first, second)]
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING, *ports], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    noted = {process.stdout.readline() for _ in ports}
    assert noted == {f"rank {rank} waits for all 2 ranks at 127.0.0.1:{port}\n" for rank, port in enumerate(ports)}
    started = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert set(json.loads(out)) <= {-signal.SIGINT, 130}
    assert time.monotonic() - started < 10, "a second, and what a machine that runs other tests may add"


WAITING = """
import os, signal, sys, torch
from functools import partial
from slmmodel import distributed
distributed.QUIET_SECONDS = 0.2
ranks = []
for rank, port in enumerate(sys.argv[1:]):
    os.environ |= {"WORLD_SIZE": "2", "RANK": str(rank), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    if not (process := os.fork()):
        with distributed.process_group(torch.device("cpu"), partial(print, flush=True)):
            sys.exit("all ranks are there")
    ranks.append(process)
signal.signal(signal.SIGINT, signal.SIG_IGN)
print([os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in ranks])
"""
