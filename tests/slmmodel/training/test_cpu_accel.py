"""CPU accelerations: two threads give the gradient of one, the same bits each time; freed memory is kept."""

from __future__ import annotations

import math
import platform
import subprocess
import sys
import threading

import pytest
import small
import torch

from slmmodel.accel.cpu import CpuParallel
from slmmodel.config import OptimConfig
from slmmodel.data import Cursor
from slmmodel.models import config_from_dict
from slmmodel.trainer import train
from slmmodel.training.bench import make_step

MALLOC_SCRIPT = """
import ctypes, resource, sys
from slmmodel.accel import cpu

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
held = [None] * 48

def step():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for index in range(48):
        held[index] = libc.malloc(1 << 20)
        libc.memset(held[index], 1, 1 << 20)
    for block in held:
        libc.free(block)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

if "keep" in sys.argv:
    assert cpu.keep_freed_memory()
step()
print(step())
cpu.trim_memory()
print(step())
"""

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


def make(table, batch_size=5, precision="fp32"):
    config = config_from_dict({"n_vocab": 50, "padded_vocab": 128, **table})
    return make_step(config, OptimConfig(), torch.device("cpu"), precision=precision, batch_size=batch_size)


def gradients(made):
    return {name: value.grad.clone() for name, value in made.model.named_parameters() if value.grad is not None}


def taken(made):
    return made.loader.batch(made.loader.global_batch(Cursor()).sequence_keys)


def ragged(batch):
    """The batch with unscored positions, more of them in the first sequences."""
    mask = batch.target_mask.clone()
    mask[0, 3:] = False
    mask[1, 7:] = False
    batch.target_mask, batch.row_targets = mask, mask.sum(1).numpy()
    return batch


@pytest.mark.parametrize("table", ALL, ids=lambda table: table["arch"])
@pytest.mark.parametrize("whole", [True, False])
def test_same_gradient_as_in_one_thread(two, table, whole):
    made = make(table, precision="fp64")
    batch = taken(made) if whole else ragged(taken(made))
    nats = made._backward(batch, 1 / batch.n_targets, 0)
    in_parallel = gradients(made)
    made.optimizer.zero_grad()
    torch.set_num_threads(1)
    alone = made._backward(batch, 1 / batch.n_targets, 0)
    made.close()
    assert torch.allclose(nats, alone, rtol=1e-12)
    for name, gradient in gradients(made).items():
        assert torch.allclose(in_parallel[name], gradient, rtol=1e-9, atol=1e-13), name


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_same_bits_each_time(two, precision):
    made = make(LLAMA, precision=precision)
    batch = taken(made)
    found = []
    for _ in range(5):
        made._backward(batch, 1 / batch.n_targets, 0)
        found.append(gradients(made))
        made.optimizer.zero_grad()
    made.close()
    assert all(torch.equal(again[name], found[0][name]) for again in found for name in again)


def test_micro_batches_add_up(two):
    made = make(GPT2, precision="fp64")
    batch = taken(made)
    made._backward(batch, 1 / batch.n_targets, 0)
    once = gradients(made)
    made._backward(batch, 1 / batch.n_targets, 0)
    made.close()
    assert all(torch.allclose(gradient, 2 * once[name]) for name, gradient in gradients(made).items())


def test_sequences_are_split_over_two_threads(two):
    made = make(GPT2)
    batch, seen, meet = taken(made), [], threading.Barrier(2, timeout=60)

    def nats(part):
        meet.wait()
        seen.append((threading.get_ident(), part.ids.tolist()))
        return made._forward_nats(part)

    parallel = CpuParallel(made.optimizer.parameters)
    parallel.backward(batch, nats, 1.0)
    parallel.close()
    assert len({thread for thread, _ in seen}) == 2
    assert sorted(len(rows) for _, rows in seen) == [2, 3]
    assert sorted(row for _, rows in seen for row in rows) == sorted(batch.ids.tolist())


@pytest.mark.parametrize("fails", ["first", "second", "both"])
def test_an_error_leaves_no_gradient_and_the_number_of_threads(two, fails):
    made = make(GPT2)
    batch = taken(made)

    def nats(part):
        which = "second" if len(part.ids) == 3 else "first"
        if fails in (which, "both"):
            raise MemoryError(which)
        return made._forward_nats(part)

    parallel = CpuParallel(made.optimizer.parameters)
    with pytest.raises(MemoryError):
        parallel.backward(batch, nats, 1.0)
    assert torch.get_num_threads() == 2
    assert not gradients(made)
    parallel.backward(batch, made._forward_nats, 1.0)
    parallel.close()
    assert gradients(made)


def test_fp16_is_scaled_in_one_thread(two):
    made = make(GPT2, precision="fp16")
    taken_step = made.loader.global_batch(Cursor())
    result = made.take(taken_step, 0)
    assert made._cpu_parallel is None and result.loss == pytest.approx(math.log(50), rel=1e-2)


def test_not_with_one_sequence_an_odd_number_of_threads_or_dropout(two):
    assert make({**GPT2, "dropout": 0.1})._cpu_parallel is None
    made = make(GPT2)
    batch, parallel = taken(made), CpuParallel(made.optimizer.parameters)
    assert parallel.applies(batch)
    assert not parallel.applies(batch[0:1])
    torch.set_num_threads(3)
    assert not parallel.applies(batch)


def test_one_switch_turns_it_off(two, data, tmp_path):
    results = {}
    for on in (True, False):
        settings = small.settings(data, run__budget__steps=3, run__threads=2, run__cpu_accel=on)
        results[on] = train(settings, output=tmp_path / str(on)).loss
    assert results[True] == pytest.approx(results[False], rel=1e-5)


def test_a_part_of_a_batch_counts_its_own_targets_and_bytes():
    batch = ragged(taken(make(GPT2)))
    parts = [batch[:2], batch[2:]]
    assert [part.n_targets for part in parts] == [int(part.target_mask.sum()) for part in parts]
    assert all(part.n_bytes > 0 for part in parts)
    assert sum(part.n_bytes for part in parts) == batch.n_bytes
    assert [part.sequence_keys.tolist() for part in parts] == [
        batch.sequence_keys[:2].tolist(),
        batch.sequence_keys[2:].tolist(),
    ]


def test_a_run_of_two_threads_resumes_bitwise(data, tmp_path):
    settings = small.settings(data, run__budget__steps=4, run__threads=2, run__save_every=2, run__eval_every=2)
    train(settings, output=tmp_path / "whole")
    train(settings, output=tmp_path / "cut", report=small.stop_at(2))
    train(settings, output=tmp_path / "cut")
    assert small.weights(tmp_path / "whole") == small.weights(tmp_path / "cut")


def faults(*arguments: str) -> list[int]:
    """Page faults of the second step, and of one after memory was trimmed."""
    done = subprocess.run([sys.executable, "-c", MALLOC_SCRIPT, *arguments], capture_output=True, text=True, check=True)
    return list(map(int, done.stdout.split()))


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_pages_are_kept_until_memory_is_trimmed():
    """48 MB; with glibc's defaults the second step would fault on every page again."""
    kept, after = faults("keep")
    assert kept < 1000
    assert after > 4000
