"""Branches under torchrun: rank 0 makes the new run while the others wait, and a restart continues it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import small

from slmmodel import cli
from slmmodel.checkpoint import RunFolder
from slmmodel.errors import OutputExists
from slmmodel.folder_lock import locked
from slmmodel.trainer import branch, train
from slmmodel.training import branching

ROOT = Path(__file__).parents[3]
STEP, NEWER = 8, 10
CHANGES = {"run.budget.steps": 16, "run.save_every": 1}
SCRIPT = """
import json, os, signal, sys, time
from slmmodel import checkpoint
from slmmodel.cli import main
from slmmodel.training.step import TrainStep

words, killed_at = json.loads(sys.argv[1])
rank, attempt = int(os.environ["RANK"]), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
digest, backward = checkpoint.weights_digest, TrainStep._backward
def slow_digest(folder):
    # Ranks that each made the branch would meet here, in the lock of the first one.
    time.sleep(0.5)
    return digest(folder)
def dying_backward(train_step, batch, factor, step):
    if (rank, step, attempt) == (1, killed_at, 0):
        os.kill(os.getpid(), signal.SIGKILL)
    return backward(train_step, batch, factor, step)
checkpoint.weights_digest, TrainStep._backward = slow_digest, dying_backward
sys.exit(main(words))
"""


@pytest.fixture(scope="module")
def origin(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("origin") / "run"
    train(small.settings(data), output=path)
    return path


@pytest.fixture
def ranks(tmp_path: Path, commands: Mapping[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs `slm` on two processes of torchrun; one is killed before its step `killed_at`."""
    (tmp_path / "script.py").write_text(SCRIPT)
    line = ["torchrun", "--run-path", "--start-method=fork", "--standalone", "--nproc-per-node=2"]

    def run(*words: object, restarts: int = 0, killed_at: int = -1) -> subprocess.CompletedProcess[str]:
        given = json.dumps([[str(word) for word in words], killed_at])
        return subprocess.run(
            [*line, f"--max-restarts={restarts}", "--monitor-interval=0.1", str(tmp_path / "script.py"), given],
            cwd=tmp_path,
            env={**commands, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=240,
        )

    return run


def restart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")


def begun_branch(origin: Path, output: Path, settings: Mapping[str, Any] = CHANGES) -> None:
    """A branch that was stopped behind its first steps."""
    branch(origin, STEP, output, settings=settings)
    assert train({"run.threads": 1}, output=output, report=small.stop_at(NEWER)).step == NEWER


@pytest.mark.slow
@pytest.mark.cluster
def test_one_rank_makes_the_branch_and_a_restart_continues_it(ranks, origin, tmp_path):
    line = ("resume", origin, "--step", STEP, "-o", "new", "--force", "--budget", "steps=14", "--threads", 1)
    ran = ranks(*line, "--set", "run.save_every=1", "--no-eval", restarts=1, killed_at=11)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert "continuing at step 8 of 14" in ran.stderr and "continuing at step 11 of 14" in ran.stderr
    assert [each["step"] for each in small.lines(tmp_path / "new")] == list(range(1, 15)), "each step once"
    expected = branch(origin, STEP, tmp_path / "alone", settings={"run.budget.steps": 14, "run.save_every": 1}).path
    train({"run.threads": 1}, output=expected)
    assert small.losses(tmp_path / "new") == pytest.approx(small.losses(expected), rel=1e-5)


@pytest.mark.slow
@pytest.mark.cluster
def test_ranks_refuse_a_branch_with_one_error(ranks, origin, tmp_path):
    branch(origin, STEP, tmp_path / "new", settings=CHANGES)
    before = small.tree(tmp_path / "new")
    ran = ranks("resume", origin, "--step", STEP, "-o", "new", "--budget", "steps=14", "--no-eval")
    assert ran.returncode != 0
    assert ran.stderr.count("error: ") == 1 and "error: output 'new' exists\n" in ran.stderr
    assert small.tree(tmp_path / "new") == before
    dry = ranks("train", small.data(tmp_path / "data"), "--dry-run", "-o", "planned")
    assert dry.returncode == 0 and dry.stdout.count("would train") == 1, "rank 0 alone prints"


def test_a_restart_continues_the_branch_that_force_began(origin, tmp_path, monkeypatch):
    begun_branch(origin, tmp_path / "new")
    restart(monkeypatch)
    branch(origin, STEP, tmp_path / "new", settings=CHANGES, force=True)
    assert RunFolder(tmp_path / "new").checkpoints.list()[-1] == NEWER
    # Another run in the place is what the first start had not yet replaced.
    branch(origin, STEP, tmp_path / "new", settings={**CHANGES, "optim.lr": 1e-3}, force=True)
    assert RunFolder(tmp_path / "new").checkpoints.list() == [STEP]
    with pytest.raises(OutputExists, match="exists"):
        branch(origin, STEP, tmp_path / "new", settings=CHANGES)


def test_force_without_a_restart_replaces_the_branch(origin, tmp_path):
    begun_branch(origin, tmp_path / "new")
    branch(origin, STEP, tmp_path / "new", settings=CHANGES, force=True)
    assert RunFolder(tmp_path / "new").checkpoints.list() == [STEP]


def test_a_restart_that_is_refused_keeps_what_was_trained(origin, tmp_path, monkeypatch):
    begun_branch(origin, tmp_path / "new", {"run.budget.steps": 16, "run.save_every": 1})
    restart(monkeypatch)
    monkeypatch.chdir(tmp_path)
    line = ["resume", str(origin), "--step", str(STEP), "-o", "new", "--force", "--budget", "steps=16"]
    assert cli.main([*line, "--set", "run.save_every=1", "--threads", "2", "--no-eval"]) == 1
    assert RunFolder(tmp_path / "new").checkpoints.list()[-1] == NEWER


def test_the_lock_of_a_branch_is_named_where_it_is(origin, tmp_path, monkeypatch, capsys):
    with ExitStack() as stack:

        def then_locked(*arguments: Any, **options: Any) -> RunFolder:
            run = branching.branch(*arguments, **options)
            stack.enter_context(locked(run.path))
            return run

        monkeypatch.setattr("slmmodel.trainer.branch", then_locked)
        monkeypatch.chdir(tmp_path)
        assert cli.main(["resume", str(origin), "--step", str(STEP), "-o", "new", "--budget", "steps=14"]) == 1
    lock = Path("new", ".lock")
    assert f"another process writes the folder 'new'\n  where: {lock}\n" in capsys.readouterr().err
