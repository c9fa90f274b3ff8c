"""Guards: steps that are no numbers are left out, three in a row end the run, spikes are told; metrics and sinks."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import pytest
import small
import torch

from slmmodel.errors import MissingPackage, NotFinite, UnknownName
from slmmodel.training import run
from slmmodel.training.guards import Guard
from slmmodel.training.metrics import Clock, Metrics, sinks
from slmmodel.training.precision import Precision
from slmmodel.training.stepper import Stepper


def poison(monkeypatch, steps):
    """The loss of these steps is no number."""
    real = Stepper._backward

    def backward(stepper, batch, n_targets, step):
        nats = real(stepper, batch, n_targets, step)
        return nats * float("nan") if step in steps else nats

    monkeypatch.setattr(Stepper, "_backward", backward)


def lines(path):
    return [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]


def test_a_step_that_is_no_number_changes_no_weight(data, tmp_path, monkeypatch):
    settings = small.settings(data, run__save_every=1, run__keep=20)
    poison(monkeypatch, {4, 5, 9})
    result = run(settings, output=tmp_path / "run")
    assert result.skipped == 3 and result.finished
    states = [(tmp_path / "run" / "steps" / f"step-{step}" / "model.safetensors").read_bytes() for step in range(1, 13)]
    changed = [before != after for before, after in pairwise(states)]
    assert changed == [True, True, True, False, False, True, True, True, False, True, True]
    found = lines(tmp_path / "run")
    assert [line["step"] for line in found if line["loss"] is None] == [5, 6, 10]
    assert all("rows" in line for line in found if line["loss"] is None)


def test_three_in_a_row_end_the_run_and_leave_their_state(data, tmp_path, monkeypatch):
    poison(monkeypatch, {5, 6, 7})
    with pytest.raises(NotFinite, match="3 steps in a row") as caught:
        run(small.settings(data), output=tmp_path / "run")
    assert (tmp_path / "run" / "steps" / "step-8-bad" / "model.safetensors").is_file()
    assert "rows (epoch/block/row) 0/0/" in str(caught.value.where)
    monkeypatch.undo()
    result = run(small.settings(data), output=tmp_path / "run")
    assert result.resumed_from == 4 and result.finished


def test_spikes_are_told():
    guard = Guard()
    assert not any(guard.spike(3.0 + 0.01 * (step % 3)) for step in range(50))
    assert guard.spike(4.0) and not guard.spike(3.0) and not guard.spike(float("nan"))
    again = Guard()
    again.load(guard.state())
    assert again.state() == guard.state()


def test_scaling_of_losses():
    """The scale halves after a step that overflowed, doubles after many that did not, and is saved."""
    precision = Precision("fp16", torch.device("cpu"))
    first = precision.scale
    precision.after(False)
    assert precision.scale == first / 2
    for _ in range(2000):
        precision.after(True)
    assert precision.scale == first
    other = Precision("fp16", torch.device("cpu"))
    precision.after(True)
    other.load(precision.state())
    assert other.state() == precision.state()
    plain = Precision("fp32", torch.device("cpu"))
    plain.after(False)
    assert plain.scale == 1.0


@pytest.mark.parametrize("name", ["bf16", "fp64"])
def test_precisions_train(data, tmp_path, name):
    result = run(small.settings(data, run__precision=name, run__budget__steps=30), output=tmp_path / "run")
    assert result.precision == name and result.loss < 5.0
    kinds = {tensor.dtype for tensor in _model(tmp_path / "run").values()}
    assert kinds == {torch.float64 if name == "fp64" else torch.float32}


def _model(path):
    from safetensors.torch import load_file

    return load_file(path / "model.safetensors")


def test_scaled_gradients_are_those_of_plain_ones(data, tmp_path, monkeypatch):
    """The scale goes out of the gradients again before they are clipped and used."""
    real = Precision.__init__

    def scaled(precision, name, device):
        real(precision, name, device)
        precision.scale = 1024.0

    run(small.settings(data), output=tmp_path / "plain")
    monkeypatch.setattr(Precision, "__init__", scaled)
    run(small.settings(data), output=tmp_path / "scaled")
    for ours, theirs in zip(lines(tmp_path / "scaled"), lines(tmp_path / "plain"), strict=True):
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-4)
        assert ours["grad_norm"] == pytest.approx(theirs["grad_norm"], rel=1e-3)


def test_dropout_is_keyed_by_the_step(data, tmp_path):
    for name in ("a", "b"):
        torch.manual_seed(hash(name))
        run(small.settings(data, model__dropout=0.2), output=tmp_path / name)
    assert small.weights(tmp_path / "a") == small.weights(tmp_path / "b")
    run(small.settings(data), output=tmp_path / "c")
    assert small.weights(tmp_path / "a") != small.weights(tmp_path / "c")


def test_gradient_checkpointing_changes_nothing_but_memory(data, tmp_path):
    for name, on in (("a", False), ("b", True)):
        run(small.settings(data, model__activation_checkpointing=on), output=tmp_path / name)
    a, b = lines(tmp_path / "a"), lines(tmp_path / "b")
    assert [line["loss"] for line in a] == pytest.approx([line["loss"] for line in b], rel=1e-6)


def test_metrics_are_cut_to_the_saved_length(tmp_path):
    path = tmp_path / "metrics.jsonl"
    metrics = Metrics(path)
    metrics.write({"step": 1, "loss": math.inf})
    length = metrics.sync()
    metrics.write({"step": 2, "loss": 1.0})
    metrics.close()
    again = Metrics(path, length=length)
    again.write({"step": 2, "loss": 2.0})
    again.close()
    assert lines(tmp_path) == [{"step": 1, "loss": None}, {"step": 2, "loss": 2.0}]


def test_clock_leaves_pauses_out(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    clock = Clock(10.0)
    now[0] = 2.0
    with clock:
        now[0] = 7.0
        assert clock.seconds == 12.0
    now[0] = 8.0
    assert clock.seconds == 13.0


def test_tensorboard(data, tmp_path, monkeypatch):
    pytest.importorskip("tensorboard")
    run(small.settings(data, run__track="tensorboard"), output=tmp_path / "run")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    events.Reload()
    assert [event.step for event in events.Scalars("loss")] == list(range(1, 13))
    monkeypatch.setitem(__import__("sys").modules, "torch.utils.tensorboard", None)
    with pytest.raises(MissingPackage, match="needs tensorboard"):
        sinks(("tensorboard",), tmp_path)
    with pytest.raises(UnknownName):
        sinks(("wandb",), tmp_path)
