"""`slm status`: every verdict from a real run folder; trend, pace and gates from its metrics."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests" / "slmmodel" / "training"))

import small  # noqa: E402

from slmmodel.checkpoint import RunFolder  # noqa: E402
from slmmodel.errors import NotFinite, Unreadable  # noqa: E402
from slmmodel.models.gpt import GPT  # noqa: E402
from slmmodel.trainer import train  # noqa: E402
from slmmodel.training import heartbeat  # noqa: E402
from slmmodel.training import status as statuses  # noqa: E402

LAYERS, HEADS = small.MODEL["n_layers"], small.MODEL["n_heads"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return small.data(tmp_path_factory.mktemp("data") / "data")


@pytest.fixture(scope="module")
def stopped(data, tmp_path_factory):
    """A run that SIGTERM ended after step 30, with a checkpoint at 25."""
    path = tmp_path_factory.mktemp("runs") / "stopped"
    train(small.settings(data, run__budget__steps=200, run__save_every=25), output=path, report=small.stop_at(30))
    return path


def revive(path: Path, **changes: object) -> None:
    """Makes the heartbeat that of a process which is alive now."""
    now = time.time()
    beat = {**(heartbeat.read_heartbeat(path) or {}), "time": now, "progress_time": now, "ended": None}
    (path / heartbeat.FILE).write_text(json.dumps({**beat, "stage": "training", **changes}))


@pytest.fixture
def running(stopped, tmp_path):
    """A copy of the run that looks as if a process trained it."""
    path = tmp_path / "running"
    shutil.copytree(stopped, path)
    revive(path)
    return path


def change_losses(path: Path, loss: object, lines: int = 60) -> None:
    """Metrics of `lines` steps whose loss is `loss(step)`."""
    template = small.lines(path)[-1]
    rows = [
        {**template, "step": step, "tokens": 64 * step, "seconds": step / 10, "loss": loss(step)}
        for step in range(1, lines + 1)
    ]
    (path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_finished_run(slm, data):
    train(small.settings(data), output="run")
    ran = slm("status", "run", code=0)
    assert "verdict     finished: step 12 of 12" in ran.out and not Path("run", heartbeat.FILE).exists()
    found = slm("status", "run", "--json", code=0).json["result"]
    lines = small.lines(Path("run"))
    assert found["last"] == lines[-1] and found["best_bpb"] == min(
        line["val_bpb"] for line in lines if "val_bpb" in line
    )
    assert found["checkpoints"] == [8, 12] and 0 <= found["checkpoint_age"] < 100
    assert found["pace"]["tokens_per_s"] == pytest.approx(
        64 * 11 / (lines[-1]["seconds"] - lines[0]["seconds"]), rel=1e-6
    )


def test_a_checkpoint_from_the_future(slm, stopped, tmp_path):
    shutil.copytree(stopped, tmp_path / "run")
    newest = tmp_path / "run" / "checkpoints" / "step-30" / "SHA256SUMS"
    os.utime(newest, (time.time() + 7200,) * 2)
    out = slm("status", "run", code=3).out
    assert "checkpoint  step 30, its time 1" in out or "checkpoint  step 30, its time 2 h" in out
    assert "ahead of the clock of this machine" in out and "ago" not in out.partition("\n  checkpoint")[2]


def test_a_stopped_run(slm, stopped):
    ran = slm("status", stopped, code=3)
    assert "killed: it was terminated, at step 30; slm resume continues it" in ran.out
    assert "step        30 of 200" in ran.out and "checkpoint  step 30" in ran.out


def test_a_healthy_run(slm, running):
    ran = slm("status", running, code=0)
    assert "healthy: a step was done 0." in ran.out and "left" in ran.out
    assert ", training" in ran.out, "the process and what it does"


def test_kill_9(slm, data, commands, tmp_path, monkeypatch):
    """A real process: healthy while it trains, killed after SIGKILL; on another host, once its heartbeat is old."""
    settings = small.settings(data, run__budget__steps=1_000_000, run__save_every=200)
    sets = [f"--set={name}={value}" for name, value in settings.items() if name != "data.train"]
    with subprocess.Popen(["slm", "train", data, *sets, "--quiet"], cwd=tmp_path, env=commands) as process:
        try:
            deadline = time.monotonic() + 120
            found = {"step": 0}
            while found["step"] <= 230 and time.monotonic() < deadline:
                time.sleep(0.1)
                found = slm("status", "run", "--json").json.get("result") or found
            assert found["verdict"] == "healthy" and found["alive"] and found["checkpoints"] == [200]
            pid = found["heartbeat"]["pid"]
            os.kill(pid, signal.SIGKILL)
            process.wait(60)
        finally:
            process.kill()
    assert process.returncode == -signal.SIGKILL
    ran = slm("status", "run", "--watch", "--every", "0.3s", code=3)
    assert ran.out.count("verdict") == 1, "the lock tells at once"
    assert f"no sign of process {pid} on " in ran.out and "slm resume repeats" in ran.out
    beat = heartbeat.read_heartbeat(Path("run"))
    Path("run", heartbeat.FILE).write_text(json.dumps({**beat, "host": "elsewhere"}))
    monkeypatch.setattr(statuses, "MAX_SILENCE", time.time() - beat["time"] + 1.5)
    ran = slm("status", "run", "--watch", "--every", "0.3s", code=3)
    assert ran.out.count("healthy") >= 2 and f"no sign of process {pid} on elsewhere" in ran.out


def test_a_time_between_looks_needs_several(slm, running):
    ran = slm("status", running, "--every", "2s", code=2)
    assert "--every 2s has no effect without --watch\n" in ran.err and ran.out == ""
    assert f"fix:   leave --every out, or slm status {running} --every 2s --watch\n" in ran.err


def test_a_sign_from_the_future_is_none_of_life(slm, running):
    revive(running, time=time.time() + 3600, host="elsewhere")
    ran = slm("status", running, code=3)
    assert "the last sign of process" in ran.out and "ahead of the clock of this machine" in ran.out


@pytest.mark.skipif(os.name == "nt", reason="locks of Windows are not asked")
def test_a_process_without_heartbeats_that_holds_the_lock(slm, running):
    """A full disk stops heartbeats, not the training: its own host sees the lock."""
    from slmmodel.folder_lock import locked

    old = time.time() - 3000
    revive(running, time=old)
    assert slm("status", running, code=3)
    with locked(running):
        assert "healthy" in slm("status", running, code=0).out
        revive(running, time=old, host="elsewhere")
        assert "killed" in slm("status", running, code=3).out


def test_a_stalled_run(slm, running):
    """Its process writes heartbeats, and no step is done."""
    revive(running, progress_time=time.time() - 700)
    assert (
        "stalled: training without progress for 11 min 40 s at step 30; a step takes"
        in slm("status", running, code=3).out
    )
    revive(running, progress_time=time.time() - 500)
    assert slm("status", running, code=0)
    assert "stalled" in slm("status", running, "--stale", "5min", code=3).out
    change_losses(running, lambda step: 3.0)
    rows = [{**row, "seconds": 100.0 * row["step"]} for row in small.lines(running)]
    (running / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    revive(running, progress_time=time.time() - 1900)
    assert slm("status", running, code=0), "20 steps of 100 s take longer than 10 minutes"


def test_a_diverging_run(slm, running):
    noise = np.random.default_rng(0).normal(0, 0.05, 100)
    change_losses(running, lambda step: 3.0 + noise[step])
    assert slm("status", running, code=0)
    change_losses(running, lambda step: 3.0 + 0.02 * step + noise[step])
    ran = slm("status", running, code=3)
    assert (
        "diverging: the loss rises over the last 59 steps: +20" in ran.out
        or "diverging: the loss rises over the last 59 steps: +19" in ran.out
    )
    trend = slm("status", running, "--json", code=3).json["result"]["trend"]
    assert trend["low"] < 20 < trend["high"] and trend["noise"] == pytest.approx(0.05, rel=0.3)


def test_skipped_steps_are_divergence(slm, running):
    change_losses(running, lambda step: 3.0)
    rows = [{**row, "skipped": max(0, row["step"] - 50)} for row in small.lines(running)]
    (running / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "diverging: 10 of the last 59 steps were skipped" in slm("status", running, code=3).out


def test_a_run_that_ended_because_losses_were_not_finite(slm, data, monkeypatch):
    small.on_backward(monkeypatch, lambda step, rows: float("nan") if step >= 4 else None)
    with pytest.raises(NotFinite):
        train(small.settings(data), output="run")
    assert "diverging: it ended at step 7: NotFinite: loss or gradient" in slm("status", "run", code=3).out


def test_a_run_that_an_error_ended(slm, data, monkeypatch):
    def fail(step: int, rows: int) -> None:
        if step == 6:
            raise RuntimeError("the device is gone\nand more")

    small.on_backward(monkeypatch, fail)
    with pytest.raises(RuntimeError):
        train(small.settings(data), output="run")
    ran = slm("status", "run", code=3)
    assert "killed: it ended with RuntimeError: the device is gone, at step 6; slm resume repeats 2 steps" in ran.out


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be replaced")
@pytest.mark.parametrize("is_removed", [True, False])
def test_metrics_that_are_replaced_while_the_run_trains(slm, data, monkeypatch, is_removed):
    def replace(step: int, rows: int) -> None:
        if step == 6:
            Path("copy").write_bytes(Path("run/metrics.jsonl").read_bytes())
            Path("run/metrics.jsonl").unlink() if is_removed else Path("copy").replace("run/metrics.jsonl")

    with monkeypatch.context() as patch:
        small.on_backward(patch, replace)
        with pytest.raises(Unreadable, match=r"metrics\.jsonl was removed or replaced while the run trains"):
            train(small.settings(data), output="run")
    slm("resume", "run", "--no-eval", code=0)
    steps = [line["step"] for line in statuses.read_metrics(Path("run"))]
    assert steps == sorted(set(steps)) and steps[-1] > 6


def test_the_interval_of_the_slope():
    """It covers the true slope in 95 % of noisy lines."""
    rng, covered = np.random.default_rng(1), 0
    for _ in range(400):
        losses = 5 - 0.003 * np.arange(100) + rng.normal(0, 0.2, 100)
        trend = statuses.trend_of([{"step": step, "loss": loss} for step, loss in enumerate(losses.tolist())])
        covered += trend.low <= -3 <= trend.high
    assert 0.92 <= covered / 400 <= 0.98
    assert statuses.trend_of([{"step": step, "loss": None} for step in range(100)]) is None
    assert statuses.trend_of([{"step": 7, "loss": loss} for loss in range(100)]) is None


def test_share_of_waiting_for_data(slm, data, monkeypatch):
    """At least the time of the loader in that of the steps, which a busy machine lengthens."""
    from slmmodel.data import Loader

    assemble, delay = Loader._assemble, 0.1

    def slow(loader, sequences):
        time.sleep(delay)
        return assemble(loader, sequences)

    monkeypatch.setattr(Loader, "_assemble", slow)
    # A batch that is assembled during the step before is not waited for.
    monkeypatch.setattr(Loader, "prefetch", lambda loader, sequences: None)
    train(small.settings(data, run__budget__steps=6), output="run")
    lines = small.lines(Path("run"))
    shares = [min(delay / (line["seconds"] - before["seconds"]), 1.0) for before, line in pairwise(lines)]
    found = slm("status", "run", "--json", code=0).json["result"]["pace"]["data_wait"]
    assert 0.99 * sum(shares) / len(shares) < found <= 1


def with_gates(self: GPT, *row: torch.Tensor) -> dict[str, torch.Tensor]:
    gates = torch.arange(LAYERS * HEADS).reshape(LAYERS, HEADS) / 8 + 0.125
    return {"gates": gates, "memory_norm": torch.tensor([1.25, 30.5]), "memory_ids": torch.tensor(48)}


def test_gates_are_logged_shown_and_drawn(slm, data, monkeypatch):
    monkeypatch.setattr(GPT, "metrics", with_gates)
    train(small.settings(data), output="run")
    assert all("gates" in line for line in small.lines(Path("run")))
    assert slm("status", "run", "--json", code=0).json["result"]["gates"] == with_gates(None)["gates"].tolist()
    shown = slm("status", "run", code=0).out
    assert "layer 1: mean 0.438   0.38 0.50" in shown and "norm by layer 1.25 30.5, after 48 ids" in shown
    pytest.importorskip("matplotlib")
    slm("plot", "run", "--against", "step", "-o", "x.svg", code=0)
    svg = Path("x.svg").read_text()
    assert "<!-- gate: weight of the memory -->" in svg and "<!-- layer 1 -->" in svg


def test_trackers_get_a_number_for_each_layer():
    from slmmodel.training.metrics import scalars

    line = {
        "step": 3,
        "loss": 2.0,
        "mfu": None,
        "spike": True,
        "gates": [[0.25, 0.75], [0.5, None]],
        "sequences": [[0, 1]],
    }
    assert scalars(line) == {"step": 3, "loss": 2.0, "gates/layer_0": 0.5, "gates/layer_1": 0.5}


def test_what_is_not_a_run(slm):
    assert "no folder 'none'" in slm("status", "none", code=1).err
    assert RunFolder(Path("none")).exists() is False


def test_a_run_before_its_first_step(slm, stopped):
    """A branch that nobody has trained yet."""
    slm("resume", stopped, "--step", "30", "-o", "branch", "--budget", "steps=31", code=0)
    Path("branch/result.json").unlink()
    assert "killed: no process trains it; slm resume continues it" in slm("status", "branch", code=3).out


def test_a_heartbeat_that_cannot_be_read(slm, running):
    (running / heartbeat.FILE).write_text("{")
    assert "no process trains it" in slm("status", running, code=3).out


def test_a_sparse_file_of_metrics_is_not_read_as_a_line(slm, running):
    os.truncate(running / "metrics.jsonl", 1 << 40)
    ran = slm("status", running)
    assert (ran.code, ran.out) == (1, "")
    assert f"where: {running / 'metrics.jsonl'}, line 31\n  limit: 16,777,216 bytes a line\n" in ran.err


def test_a_copy_of_a_checkpoint_under_another_name_is_named(slm, running):
    saved = running / "checkpoints"
    shutil.copytree(saved / "step-30", saved / "step-35")
    ran = slm("status", running)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error: step-35 is not a checkpoint of this run: its state is that of step 30\n")
    assert f"fix:   rm -r {saved / 'step-35'}" in ran.err


def test_a_finished_run_with_the_checkpoint_of_another_run(slm, data):
    """ "train again: it is the only checkpoint" was said of a run that is finished and whole."""
    train(small.settings(data), output="run")
    state = Path("run/checkpoints/step-12/train_state.json")
    state.write_text(json.dumps(json.loads(state.read_text()) | {"run": "0" * 64}))
    assert "verdict     finished: step 12 of 12" in slm("status", "run", code=0).out
    Path("run/result.json").unlink()
    assert "step-12 is not a checkpoint of this run: it belongs to another run" in slm("status", "run", code=1).err


def test_an_address_before_a_path_of_this_system_names_the_path(slm, stopped):
    for address in (f"file:{stopped}", f"file://{stopped}", f"hf:{stopped}"):
        assert slm("status", address, code=1).err == (
            f"error: {address!r} is an address\n  limit: a path of this system\n  fix:   name {str(stopped)!r}\n"
        )


def test_of_old_lines_only_validations_and_spikes_are_parsed(running, monkeypatch):
    template = {key: value for key, value in small.lines(running)[-1].items() if "val_" not in key}
    rows = [{**template, "step": step, "tokens": 64 * step, "seconds": step / 10} for step in range(1, 3001)]
    for row in rows[99::100]:
        row |= {"val_loss": 3.0, "val_bpb": 2.0 if row["step"] == 300 else 2.5}
    rows[776] |= {"spike": True}
    (running / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    parsed, parse = [], statuses._parse_line
    monkeypatch.setattr(statuses, "_parse_line", lambda line, *where: parsed.append(line) or parse(line, *where))
    found = statuses.status(RunFolder(running))
    assert (found.best_step, found.best_bpb, found.val_bpb, found.spikes) == (300, 2.0, 2.5, [777])
    assert found.last["step"] == 3000 and found.trend.lines == found.trend.steps + 1 == statuses.WINDOW
    assert len(parsed) == statuses.WINDOW + 28 + 1
    assert len(statuses.read_metrics(running)) == 3000
    parsed.clear()
    assert statuses.read_metrics(running, newest=1)[-1]["step"] == 3000 and len(parsed) == 1 + 29 + 1
