"""Halves of a batch in two threads give the gradient of the whole, the same bits each time, and survive errors."""

from __future__ import annotations

import threading

import pytest
import small
import torch

from slmmodel.data.loader import Cursor
from slmmodel.models import ModelConfig
from slmmodel.optim import OptimSettings
from slmmodel.training import run
from slmmodel.training.bench import make_stepper
from slmmodel.training.halves import Halves, cut

GPT2 = {"arch": "gpt2", "n_layers": 2, "d_model": 16, "n_heads": 2, "seq_len": 12}
LLAMA = {"arch": "llama", "n_layers": 2, "d_model": 16, "n_heads": 2, "n_kv_heads": 1, "d_ff": 32, "seq_len": 12}
LSTM = {"arch": "lstm", "n_layers": 1, "d_model": 16, "hidden_size": 24, "seq_len": 12}
ALL = [GPT2, LLAMA, LSTM]


@pytest.fixture
def two():
    """Two threads for torch, whatever the machine has."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def stepper(table, rows=5, precision="fp32"):
    config = ModelConfig.from_dict({"n_vocab": 50, "padded_vocab": 128, **table})
    return make_stepper(config, OptimSettings(), torch.device("cpu"), precision=precision, rows=rows)


def gradients(made):
    return {name: value.grad.clone() for name, value in made.model.named_parameters() if value.grad is not None}


def taken(made):
    return made.loader.batch(made.loader.step(Cursor()).rows)


def ragged(batch):
    """The batch with slots that nothing is scored in, more of them in the first rows."""
    mask = batch.target_mask.clone()
    mask[0, 3:] = False
    mask[1, 7:] = False
    batch.target_mask, batch.n_targets = mask, int(mask.sum())
    return batch


@pytest.mark.parametrize("table", ALL, ids=lambda table: table["arch"])
@pytest.mark.parametrize("whole", [True, False])
def test_same_gradient_as_in_one_thread(two, table, whole):
    made = stepper(table, precision="fp64")
    batch = taken(made) if whole else ragged(taken(made))
    nats = made._backward(batch, batch.n_targets, 0)
    halves = gradients(made)
    made.optimizer.zero_grad()
    torch.set_num_threads(1)
    alone = made._backward(batch, batch.n_targets, 0)
    made.close()
    assert torch.allclose(nats, alone, rtol=1e-12)
    for name, gradient in gradients(made).items():
        assert torch.allclose(halves[name], gradient, rtol=1e-9, atol=1e-13), name


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_same_bits_each_time(two, precision):
    made = stepper(LLAMA, precision=precision)
    batch = taken(made)
    found = []
    for _ in range(5):
        made._backward(batch, batch.n_targets, 0)
        found.append(gradients(made))
        made.optimizer.zero_grad()
    made.close()
    assert all(torch.equal(again[name], found[0][name]) for again in found for name in again)


def test_micro_batches_add_up(two):
    made = stepper(GPT2, precision="fp64")
    batch = taken(made)
    made._backward(batch, batch.n_targets, 0)
    once = gradients(made)
    made._backward(batch, batch.n_targets, 0)
    made.close()
    assert all(torch.allclose(gradient, 2 * once[name]) for name, gradient in gradients(made).items())


def test_rows_are_worked_on_in_two_threads(two):
    made = stepper(GPT2)
    batch, seen, meet = taken(made), [], threading.Barrier(2, timeout=60)

    def nats(part):
        meet.wait()
        seen.append((threading.get_ident(), part.ids.tolist()))
        return made._nats(part)

    halves = Halves(made.optimizer.parameters)
    halves.run(batch, nats, 1.0)
    halves.close()
    assert len({thread for thread, _ in seen}) == 2
    assert sorted(len(rows) for _, rows in seen) == [2, 3]
    assert sorted(row for _, rows in seen for row in rows) == sorted(batch.ids.tolist())


@pytest.mark.parametrize("fails", ["first", "second", "both"])
def test_an_error_leaves_no_gradient_and_the_number_of_threads(two, fails):
    made = stepper(GPT2)
    batch = taken(made)

    def nats(part):
        which = "second" if len(part.ids) == 3 else "first"
        if fails in (which, "both"):
            raise MemoryError(which)
        return made._nats(part)

    halves = Halves(made.optimizer.parameters)
    with pytest.raises(MemoryError):
        halves.run(batch, nats, 1.0)
    assert torch.get_num_threads() == 2
    assert not gradients(made)
    halves.run(batch, made._nats, 1.0)
    halves.close()
    assert gradients(made)


def test_not_with_one_row_or_an_odd_number_of_threads(two):
    made = stepper(GPT2)
    batch, halves = taken(made), Halves(made.optimizer.parameters)
    assert halves.fit(batch)
    assert not halves.fit(cut(batch, 0, 1))
    torch.set_num_threads(3)
    assert not halves.fit(batch)


def test_not_with_dropout(two):
    made = stepper({**GPT2, "dropout": 0.1})
    assert made._halves is None


def test_a_cut_counts_its_own_targets():
    batch = ragged(taken(stepper(GPT2)))
    parts = [cut(batch, 0, 2), cut(batch, 2, 5)]
    assert [part.n_targets for part in parts] == [int(part.target_mask.sum()) for part in parts]
    assert [part.rows.tolist() for part in parts] == [batch.rows[:2].tolist(), batch.rows[2:].tolist()]


def test_a_run_of_two_threads_goes_on_to_the_bit(data, tmp_path):
    settings = small.settings(data, run__budget__steps=4, run__threads=2, run__save_every=2, run__eval_every=2)
    run(settings, output=tmp_path / "whole")
    run(settings, output=tmp_path / "cut", report=small.stop_at(2))
    run(settings, output=tmp_path / "cut")
    assert small.weights(tmp_path / "whole") == small.weights(tmp_path / "cut")
