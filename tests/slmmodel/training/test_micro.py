"""The micro-batch does not change the trajectory; out of memory on one process is recovered."""

from __future__ import annotations

import itertools
import math
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import small
import torch

from slmmodel.errors import OutOfMemory
from slmmodel.trainer import train
from slmmodel.training import microbatch


def assert_same_curve(first, second):
    """The losses of two runs agree to 1e-6."""
    assert small.losses(first) == pytest.approx(small.losses(second), rel=1e-6)


@pytest.mark.parametrize("name", ["adamw", "muon"])
def test_same_loss_curve_for_every_micro_batch(data, tmp_path, name):
    """To 1e-6 over ten steps in fp32, rows ragged at the end of the data."""
    settings = small.settings(data, optim__name=name, run__budget__steps=10, optim__lr=1e-3, optim__ns_dtype="fp32")
    for micro in (4, 1, 3):
        result = train({**settings, "run.micro_batch": micro}, output=tmp_path / f"{micro}")
        assert result.micro_batch == micro
        assert_same_curve(tmp_path / "4", tmp_path / f"{micro}")


def test_same_loss_curve_in_double_precision_over_100_steps(data, tmp_path):
    settings = small.settings(data, run__budget__steps=100, run__precision="fp64", run__save_every=100)
    settings |= {"model.n_layers": 1, "model.d_model": 16, "model.d_ff": 16, "run.eval_every": 100}
    for micro in (1, 4):
        train({**settings, "run.micro_batch": micro}, output=tmp_path / f"{micro}")
    assert_same_curve(tmp_path / "1", tmp_path / "4")


def limit_memory(patch, most, since=0, error=None):
    """Memory for `most` sequences from step `since` on; gives the list of (step, sequences) that were tried."""
    tried = []

    def check(step, sequences):
        tried.append((step, sequences))
        if step >= since and sequences > most:
            raise error or torch.OutOfMemoryError("CUDA out of memory (injected)")

    small.on_backward(patch, check)
    return tried


ERRORS = [
    torch.OutOfMemoryError("out of memory"),
    MemoryError(),
    RuntimeError("could not create a primitive"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:118] DefaultCPUAllocator: can't allocate memory"),
]


OTHERS = [RuntimeError("no"), RuntimeError("could not create a primitive descriptor"), OutOfMemory(), ValueError()]


def test_what_counts_as_out_of_memory():
    assert all(microbatch.is_out_of_memory(error) for error in ERRORS)
    assert not any(microbatch.is_out_of_memory(error) for error in OTHERS)


def test_out_of_memory_at_the_start_and_in_mid_run(data, tmp_path, monkeypatch):
    settings = small.settings(data, run__budget__steps=10, optim__lr=1e-3)
    train(settings, output=tmp_path / "plain")
    for since in (0, 6):
        with monkeypatch.context() as patch:
            tried = limit_memory(patch, 1, since, ERRORS[since // 3])
            result = train(settings, output=tmp_path / f"short{since}")
        assert result.micro_batch == 1 and result.finished
        assert {rows for step, rows in tried if step < since} <= {4}
        assert (since, 2) in tried, "the next smaller size first"
        assert_same_curve(tmp_path / "plain", tmp_path / f"short{since}")
        assert result.tokens == 10 * 64, "the tokens of a step never move"


def test_out_of_memory_after_a_part_of_the_step(data, tmp_path, monkeypatch):
    """What the first micro-batches gave is dropped, not counted twice."""
    settings = small.settings(data, run__budget__steps=6, optim__lr=1e-3)
    train(settings, output=tmp_path / "plain")
    calls = itertools.count(1)

    def fail_once(step, sequences):
        if next(calls) == 4:
            raise MemoryError

    small.on_backward(monkeypatch, fail_once)
    result = train({**settings, "run.micro_batch": 2}, output=tmp_path / "short")
    assert result.micro_batch == 1
    assert_same_curve(tmp_path / "plain", tmp_path / "short")


@pytest.mark.parametrize(
    ("given", "raised", "text"),
    [(None, OutOfMemory, "single sequence"), (RuntimeError("shape mismatch"), RuntimeError, "shape mismatch")],
)
def test_errors_that_no_smaller_micro_batch_avoids(data, tmp_path, monkeypatch, given, raised, text):
    limit_memory(monkeypatch, 0, error=given)
    with pytest.raises(raised, match=text):
        train(small.settings(data), output=tmp_path / "run")


def test_the_choice_is_recorded_in_the_run(data, tmp_path, monkeypatch):
    monkeypatch.setattr(microbatch, "free_memory", lambda: 2 * 4 * 16 * (40 * 32 * 2 + 3 * 300))
    # The check before the first step counts the weights too, and would refuse this.
    monkeypatch.setattr("slmmodel.training.setup.free_on", lambda *given: 1 << 40)
    settings = small.settings(data, run__patience=0)
    result = train(settings, output=tmp_path / "a")
    assert result.micro_batch == 1, "one row is estimated to fit"
    monkeypatch.undo()
    assert train(settings, output=tmp_path / "b").micro_batch == 4


@pytest.mark.parametrize(
    ("limit", "fastest", "expected"), [(64, 64, 64), (8, 8, 8), (64, 4, 4), (1, 1, 1), (0, 1, None)]
)
def test_the_smallest_of_the_fastest_sizes(monkeypatch, limit, fastest, expected):
    """Sizes above `limit` do not fit; speed rises until `fastest` and stays."""
    clock = [0.0]

    def train_on(rows: int) -> int:
        if rows > limit:
            raise torch.OutOfMemoryError
        clock[0] += rows / min(rows, fastest)
        return rows

    monkeypatch.setattr("time.perf_counter", lambda: clock[0])
    with nullcontext() if expected else pytest.raises(OutOfMemory):
        assert microbatch.fastest(64, torch.device("cpu"), train_on) == expected


def test_the_estimate_of_a_micro_batch_counts_what_exists_at_once():
    """Logits of one chunk for each forward pass that runs, and with activation checkpointing one whole block."""
    large_vocab = SimpleNamespace(seq_len=1024, d_model=64, n_layers=2, n_vocab=50_000)
    assert microbatch.estimated(16, large_vocab, 6_200_000_000) == 16
    assert microbatch.estimated(16, large_vocab, 6_200_000_000, n_passes=2) == 4
    deep = {"seq_len": 1024, "d_model": 512, "n_layers": 12, "n_vocab": 300}
    for checkpointing, expected in ((False, 1), (True, 16)):
        model = SimpleNamespace(**deep, activation_checkpointing=checkpointing)
        assert microbatch.estimated(16, model, 3_100_000_000) == expected


def test_sizes():
    assert microbatch.divisors(12) == [1, 2, 3, 4, 6, 12]
    assert microbatch.next_smaller(12, 12) == 6 and microbatch.next_smaller(5, 12) == 4
    sequence_of_300_bytes = SimpleNamespace(seq_len=25, d_model=0, n_layers=0, n_vocab=1)
    assert microbatch.estimated(12, sequence_of_300_bytes, 3300) == 6
    assert microbatch.estimated(12, sequence_of_300_bytes, 1) == 1
    assert microbatch.limited_in_time(12, 2.4e10) == 4 and microbatch.limited_in_time(12, 2e11) == 1
    assert microbatch.free_memory() > 0 and math.isfinite(microbatch.free_memory())
