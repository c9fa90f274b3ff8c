"""Guards: non-finite steps are skipped, three in a row end the run, spikes are reported; metrics and sinks."""

from __future__ import annotations

import json
import math
import threading
from itertools import pairwise

import pytest
import small
import torch
from safetensors.torch import load_file

from slmmodel.checkpoint import Checkpoints
from slmmodel.data import Cursor
from slmmodel.distributed import World
from slmmodel.errors import NotFinite
from slmmodel.trainer import train
from slmmodel.training.metrics import MetricsFile, Monitor
from slmmodel.training.state import initial_state
from slmmodel.training.step import LossGuard


def poison(monkeypatch, steps):
    """Makes the loss of these steps NaN."""
    small.on_backward(monkeypatch, lambda step, _: math.nan if step in steps else None)


def test_a_non_finite_step_changes_no_weight(data, tmp_path, monkeypatch):
    settings = small.settings(data, run__save_every=1, run__keep=20)
    poison(monkeypatch, {4, 5, 9})
    result = train(settings, output=tmp_path / "run")
    assert result.skipped == 3 and result.finished
    states = [small.weights(tmp_path / "run" / "checkpoints" / f"step-{step}") for step in range(1, 13)]
    changed = [before != after for before, after in pairwise(states)]
    assert changed == [True, True, True, False, False, True, True, True, False, True, True]
    found = small.lines(tmp_path / "run")
    assert [line["step"] for line in found if line["loss"] is None] == [5, 6, 10]
    assert all("sequences" in line for line in found if line["loss"] is None)


def test_three_in_a_row_end_the_run_and_save_their_state(data, tmp_path, monkeypatch):
    poison(monkeypatch, {5, 6, 7})
    with pytest.raises(NotFinite, match="3 steps in a row") as caught:
        train(small.settings(data), output=tmp_path / "run")
    assert (tmp_path / "run" / "checkpoints" / "step-8-bad" / "model.safetensors").is_file()
    assert "sequences (epoch/block/index) 0/0/" in str(caught.value.where)
    monkeypatch.undo()
    result = train(small.settings(data), output=tmp_path / "run")
    assert result.resumed_from == 4 and result.finished


def test_a_short_run_of_which_no_step_is_finite_is_not_finished(data, tmp_path, monkeypatch):
    poison(monkeypatch, {0, 1})
    settings = small.settings(data, run__budget__steps=2)
    with pytest.raises(NotFinite, match="2 steps in a row") as caught:
        train(settings, output=tmp_path / "run")
    assert str(caught.value.fix).startswith("other settings of model, in another output")
    monkeypatch.undo()
    assert train(settings, output=tmp_path / "run").finished


def test_spikes_are_detected():
    guard = LossGuard(skipped=0, consecutive=0, losses=[])
    assert not any(guard.record(3.0 + 0.01 * (step % 3)) for step in range(50))
    assert guard.record(4.0) and not guard.record(3.0) and not guard.record(float("nan"))
    assert guard.losses[-2:] == [4.0, 3.0]


def test_the_loss_scale_halves_on_overflow_and_is_saved(data, tmp_path):
    """fp16 on a CPU: an overflow skips the update and halves the scale, which is part of the checkpoint."""
    step = _scaled_step(data, scale=2.0**16)
    taken = step.loader.global_batch(Cursor())
    overflowing = step._backward
    step._backward = lambda batch, factor, number: overflowing(batch, factor * 1e38, number)
    assert not step.take(taken, 0).applied
    assert step.scaler.get_scale() == 2.0**15 and step.loss_guard.skipped == 1
    step._backward = overflowing
    assert step.take(taken, 1).applied
    assert step.scaler.get_scale() == 2.0**15
    other = _scaled_step(data, scale=1.0)
    other.load(step.tensors(), json.loads(json.dumps(step.scalars())))
    assert other.scalars() == step.scalars()
    step.close()
    other.close()


def test_overflows_end_a_run_only_without_a_scale(data):
    """Each halves the scale of the loss, of which fp16 may begin with many times too much."""
    step = _scaled_step(data, scale=2.0**4)
    taken, backward = step.loader.global_batch(Cursor()), step._backward
    step._backward = lambda batch, factor, number: backward(batch, factor * 1e38, number)
    ended = []
    for number in range(7):
        assert not step.take(taken, number).applied
        ended.append(step.loss_guard.should_abort)
    assert ended == [False] * 6 + [True] and step.loss_guard.skipped == 7
    step.close()


@pytest.mark.parametrize("name", ["bf16", "fp64"])
def test_precisions_train(data, tmp_path, name):
    result = train(small.settings(data, run__precision=name, run__budget__steps=30), output=tmp_path / "run")
    assert result.precision == name and result.loss < 5.0
    kinds = {tensor.dtype for tensor in load_file(tmp_path / "run" / "model.safetensors").values()}
    assert kinds == {torch.float64 if name == "fp64" else torch.float32}


def test_scaled_gradients_equal_plain_ones(data):
    """The scale is divided out before gradients are clipped and applied."""
    plain, scaled = _scaled_step(data, scale=None), _scaled_step(data, scale=1024.0)
    for number in range(5):
        taken = plain.loader.global_batch(Cursor(0, 0, 4 * number))
        ours, theirs = (step.take(taken, number) for step in (scaled, plain))
        assert ours.loss == pytest.approx(theirs.loss, rel=1e-4)
        assert ours.grad_norm == pytest.approx(theirs.grad_norm, rel=1e-3)
    plain.close()
    scaled.close()


def _scaled_step(data, scale):
    """A train step in fp32 with a loss scale."""
    step = small.train_step_of(small.settings(data))
    if scale is not None:
        step.scaler = torch.amp.GradScaler("cpu", init_scale=scale)
    return step


def test_dropout_is_keyed_by_the_step(data, tmp_path):
    for name in ("a", "b"):
        torch.manual_seed(hash(name))
        train(small.settings(data, model__dropout=0.2), output=tmp_path / name)
    assert small.weights(tmp_path / "a") == small.weights(tmp_path / "b")
    train(small.settings(data), output=tmp_path / "c")
    assert small.weights(tmp_path / "a") != small.weights(tmp_path / "c")


def test_gradient_checkpointing_changes_nothing_but_memory(data, tmp_path):
    for name, on in (("a", False), ("b", True)):
        train(small.settings(data, model__activation_checkpointing=on), output=tmp_path / name)
    assert small.losses(tmp_path / "a") == pytest.approx(small.losses(tmp_path / "b"), rel=1e-6)


def test_metrics_are_cut_to_the_saved_length(tmp_path):
    path = tmp_path / "metrics.jsonl"
    metrics = MetricsFile(path)
    metrics.write({"step": 1, "loss": math.inf})
    length = metrics.sync()
    metrics.write({"step": 2, "loss": 1.0})
    metrics.close()
    again = MetricsFile(path, length=length)
    again.write({"step": 2, "loss": 2.0})
    again.close()
    assert small.lines(tmp_path) == [{"step": 1, "loss": None}, {"step": 2, "loss": 2.0}]


@pytest.mark.parametrize("linked", ["before it is opened", "while it is open"])
def test_metrics_are_not_written_through_another_hard_link(tmp_path, linked):
    path, copy = tmp_path / "metrics.jsonl", tmp_path / "copy"
    metrics = MetricsFile(path)
    metrics.write({"step": 1, "loss": 1.0})
    length = metrics.sync()
    metrics.write({"step": 2, "loss": 2.0})
    before = path.read_bytes()
    copy.hardlink_to(path)
    if linked == "before it is opened":
        metrics.close()
        metrics = MetricsFile(path, length=length)
    metrics.write({"step": 3, "loss": 3.0})
    metrics.sync()
    metrics.close()
    assert copy.read_bytes() == before
    steps = [line["step"] for line in small.lines(tmp_path)]
    assert steps == ([1, 3] if linked == "before it is opened" else [1, 2, 3])
    assert sorted(each.name for each in tmp_path.iterdir()) == ["copy", "metrics.jsonl"]


def test_clock_leaves_pauses_out(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    state = initial_state()
    state.counters.seconds = 10.0
    monitor = Monitor(MetricsFile(None), state, 0.0, torch.device("cpu"), None)
    now[0] = 2.0
    with monitor.pause():
        now[0] = 7.0
    now[0] = 8.0
    assert monitor.seconds == 13.0


def test_a_validation_that_is_not_finite_ends_in_the_bad_checkpoint(data, tmp_path):
    """One step of a huge learning rate on gradients of almost 0 makes weights that no loss can be computed from."""
    settings = small.settings(
        data, optim__lr=1e30, optim__grad_clip=1e-30, run__eval_every=1, run__save_every=1, run__keep=9
    )
    with pytest.raises(NotFinite, match="3 steps in a row"):
        train(settings, output=tmp_path / "run")
    folders = sorted(path.name for path in (tmp_path / "run" / "checkpoints").glob("step-*"))
    assert [name for name in folders if name.endswith(("-bad", ".tmp"))] == ["step-4-bad"]
    state = json.loads((tmp_path / "run/checkpoints/step-1/train_state.json").read_text())
    assert state["validation"] is None and state["best_bpb"] is None
    with pytest.raises(NotFinite, match="3 steps in a row"):
        train(settings, output=tmp_path / "run")


def test_a_last_step_that_is_not_finite_has_no_loss_in_the_result(data, tmp_path, monkeypatch):
    poison(monkeypatch, {11})
    result = train(small.settings(data), output=tmp_path / "run")
    assert result.finished and result.loss is None
    assert json.loads((tmp_path / "run/result.json").read_text())["loss"] is None


def test_a_checkpoint_that_cannot_be_written_leaves_nothing(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    with pytest.raises(ValueError, match="not JSON compliant"):
        checkpoints.snapshot(3, {}, {"loss": math.nan}, World())
    assert list(tmp_path.iterdir()) == []


def test_a_heartbeat_whose_thread_cannot_start_is_the_error_of_the_system(data, tmp_path, monkeypatch):
    """Joining it was an internal error, in the place of this one."""
    start = threading.Thread.start

    def refuse(thread):
        if thread.name == "slm-heartbeat":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        train(small.settings(data), output=tmp_path / "run")
    assert not (tmp_path / "run" / "heartbeat.json").exists()
    monkeypatch.undo()
    assert train(small.settings(data), output=tmp_path / "run").finished
