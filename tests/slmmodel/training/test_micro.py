"""The micro-batch carries a step out and never changes where it goes; memory that runs out is survived."""

from __future__ import annotations

import json
import math

import pytest
import small
import torch

from slmmodel.errors import OutOfMemory
from slmmodel.training import microbatch, run
from slmmodel.training.stepper import Stepper


def losses(path):
    return [json.loads(line)["loss"] for line in (path / "metrics.jsonl").read_text().splitlines()]


def far(first, second):
    return max(abs(a - b) / abs(a) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("name", ["adamw", "muon"])
def test_same_loss_curve_for_every_micro_batch(data, tmp_path, name):
    """To 1e-6 over ten steps in fp32, rows ragged at the end of the data."""
    curves = {}
    for micro in (1, 3, 4):
        settings = small.settings(data, optim__name=name, run__budget__steps=10, optim__lr=1e-3, optim__ns_dtype="fp32")
        result = run({**settings, "run.micro_batch": micro}, output=tmp_path / f"{micro}")
        assert result.micro_batch == micro
        curves[micro] = losses(tmp_path / f"{micro}")
    for micro, curve in curves.items():
        assert far(curves[4], curve) < 1e-6, micro


def test_same_loss_curve_in_double_precision_over_200_steps(data, tmp_path):
    settings = small.settings(data, run__budget__steps=200, run__precision="fp64", run__save_every=200)
    settings |= {"model.n_layers": 1, "model.d_model": 16, "model.d_ff": 16, "run.eval_every": 200}
    for micro in (1, 4):
        run({**settings, "run.micro_batch": micro}, output=tmp_path / f"{micro}")
    assert far(losses(tmp_path / "1"), losses(tmp_path / "4")) < 1e-6


class Memory:
    """Memory that holds `most` rows at once, from the step `since` on."""

    def __init__(self, monkeypatch, most, since=0, error=None):
        self.most, self.since, self.tried = most, since, []
        self.error = error or torch.OutOfMemoryError("CUDA out of memory (injected)")
        real = Stepper._backward

        def backward(stepper, batch, n_targets, step):
            self.tried.append((step, len(batch.rows)))
            if step >= self.since and len(batch.rows) > self.most:
                raise self.error
            return real(stepper, batch, n_targets, step)

        monkeypatch.setattr(Stepper, "_backward", backward)


ERRORS = [
    torch.OutOfMemoryError("out of memory"),
    MemoryError(),
    RuntimeError("[enforce fail at alloc_cpu.cpp:118] DefaultCPUAllocator: can't allocate memory"),
]


def test_what_counts_as_out_of_memory():
    assert all(microbatch.is_out_of_memory(error) for error in ERRORS)
    assert not any(microbatch.is_out_of_memory(error) for error in (RuntimeError("no"), OutOfMemory(), ValueError()))


def test_out_of_memory_at_the_start_and_in_mid_run(data, tmp_path, monkeypatch):
    settings = small.settings(data, run__budget__steps=10, optim__lr=1e-3)
    run(settings, output=tmp_path / "plain")
    for since in (0, 6):
        with monkeypatch.context() as patch:
            memory = Memory(patch, 1, since, ERRORS[since // 3])
            result = run(settings, output=tmp_path / f"short{since}")
        assert result.micro_batch == 1 and result.finished
        assert {rows for step, rows in memory.tried if step < since} <= {4}
        assert (since, 2) in memory.tried, "the next smaller size first"
        assert far(losses(tmp_path / "plain"), losses(tmp_path / f"short{since}")) < 1e-6
        assert result.tokens == 10 * 64, "the tokens of a step never move"


def test_out_of_memory_after_a_part_of_the_step(data, tmp_path, monkeypatch):
    """What the first micro-batches gave is dropped, not counted twice."""
    settings = small.settings(data, run__budget__steps=6, optim__lr=1e-3)
    run(settings, output=tmp_path / "plain")
    real, count = Stepper._backward, 0

    def backward(stepper, batch, n_targets, step):
        nonlocal count
        count += 1
        if count == 4:
            raise MemoryError
        return real(stepper, batch, n_targets, step)

    monkeypatch.setattr(Stepper, "_backward", backward)
    result = run({**settings, "run.micro_batch": 2}, output=tmp_path / "short")
    assert result.micro_batch == 1
    assert far(losses(tmp_path / "plain"), losses(tmp_path / "short")) < 1e-6


def test_not_even_one_row(data, tmp_path, monkeypatch):
    Memory(monkeypatch, 0)
    with pytest.raises(OutOfMemory, match="single row"):
        run(small.settings(data), output=tmp_path / "run")


def test_other_errors_are_not_swallowed(data, tmp_path, monkeypatch):
    Memory(monkeypatch, 0, error=RuntimeError("shape mismatch"))
    with pytest.raises(RuntimeError, match="shape mismatch"):
        run(small.settings(data), output=tmp_path / "run")


def test_the_choice_is_locked_in_the_bundle(data, tmp_path, monkeypatch):
    monkeypatch.setattr(microbatch, "available", lambda: 2 * microbatch.estimate(1, 16, 300, 32, 2))
    settings = small.settings(data, run__patience=0)
    result = run(settings, output=tmp_path / "a")
    assert result.micro_batch == 1, "one row is estimated to fit"
    monkeypatch.undo()
    assert run(settings, output=tmp_path / "b").micro_batch == 4


@pytest.mark.parametrize(("limit", "fastest", "expected"), [(64, 64, 64), (8, 8, 8), (64, 4, 4), (1, 1, 1)])
def test_the_smallest_of_the_fastest_sizes(monkeypatch, limit, fastest, expected):
    """Sizes above `limit` do not fit; speed rises until `fastest` and stays."""
    clock = [0.0]

    def attempt(rows: int) -> int:
        if rows > limit:
            raise torch.OutOfMemoryError
        clock[0] += rows / min(rows, fastest)
        return rows

    monkeypatch.setattr("time.perf_counter", lambda: clock[0])
    assert microbatch.measured(64, torch.device("cpu"), attempt) == expected


def test_nothing_fits():
    def attempt(rows: int) -> int:
        raise MemoryError

    with pytest.raises(OutOfMemory):
        microbatch.measured(8, torch.device("cpu"), attempt)


def test_sizes():
    assert microbatch.divisors(12) == [1, 2, 3, 4, 6, 12]
    assert microbatch.smaller(12, 12) == 6 and microbatch.smaller(5, 12) == 4
    assert microbatch.on_cpu(12, lambda rows: rows * 100, 1100) == 6
    assert microbatch.on_cpu(12, lambda rows: rows * 100, 1) == 1
    assert microbatch.available() > 0 and math.isfinite(microbatch.available())
