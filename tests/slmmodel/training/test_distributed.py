"""Several ranks: gloo processes under torchrun follow the curve of one process, resume, and run out of memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import small
import torch

from slmmodel.checkpoint import RunFolder
from slmmodel.data import Cursor
from slmmodel.distributed import World, needs_sharding
from slmmodel.errors import InvalidConfig
from slmmodel.trainer import train
from slmmodel.training.setup import cost_of_run, make_loader

ROOT = Path(__file__).parents[3]
SCRIPT = """
import json, os, signal, sys
from slmmodel.trainer import train
from slmmodel.training.step import TrainStep

table = json.loads(sys.argv[1])
short, stop = table.pop("short", None), table.pop("stop", None)
real = TrainStep._backward
def backward(train_step, batch, factor, step):
    if short is not None and train_step.world.rank == 1 and step == short and len(batch.sequence_keys) > 1:
        raise MemoryError
    return real(train_step, batch, factor, step)
TrainStep._backward = backward
def report(stage, done, total, text):
    if done == stop:
        os.kill(os.getpid(), signal.SIGTERM)
result = train(table, output=sys.argv[2], report=report)
answer = {"reason": result.reason, "micro_batch": result.micro_batch, "resumed": result.resumed_from}
# One write: with several, the lines of two processes could interleave.
sys.stdout.write(json.dumps(answer) + "\\n")
"""


def torchrun(world_size: int, settings: dict[str, Any], output: Path, *, fails: bool = False) -> Any:
    """Trains on that many processes; gives what each printed, or the error text of a run that fails."""
    script = output.parent / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={world_size}"]
    done = subprocess.run(
        [*command, str(script), json.dumps(settings), str(output)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.returncode != 0) == fails, done.stderr[-3000:]
    return done.stderr if fails else [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def assert_same_curve(path: Path, expected: Path) -> None:
    """Losses and validations to 1e-6, counters exactly."""
    for ours, theirs in zip(small.lines(path), small.lines(expected), strict=True):
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-6)
        for name in ("step", "tokens", "targets", "bytes", "epoch"):
            assert ours[name] == theirs[name]
        assert ("val_bpb" in ours) == ("val_bpb" in theirs)
        assert ours.get("val_bpb", 0.0) == pytest.approx(theirs.get("val_bpb", 0.0), rel=1e-6)


def ten_steps(data: Path, **changes: Any) -> dict[str, Any]:
    base = {"run__budget__steps": 10, "run__batch_tokens": 128, "optim__lr": 1e-3}
    return small.settings(data, **{**base, **changes})


@pytest.mark.slow
@pytest.mark.parametrize("world_size", [2, 4])
def test_every_world_size_follows_the_same_curve(data, tmp_path, world_size):
    settings = ten_steps(data, optim__name="muon", optim__ns_dtype="fp32")
    train(settings, output=tmp_path / "one")
    answers = torchrun(world_size, settings, tmp_path / "many")
    assert [answer["reason"] for answer in answers] == ["finished"] * world_size
    assert {answer["micro_batch"] for answer in answers} == {8 // world_size}
    assert_same_curve(tmp_path / "many", tmp_path / "one")
    names = [sorted(path.name for path in (tmp_path / run).iterdir()) for run in ("many", "one")]
    assert names[0] == names[1]


@pytest.mark.slow
@pytest.mark.parametrize("parallel", ["ddp", "fsdp"])
def test_gates_of_infini_are_shared_and_recorded(data, tmp_path, parallel):
    settings = ten_steps(data, model__arch="infini", model__segment=4)
    train(settings, output=tmp_path / "one")
    torchrun(2, {**settings, "run.parallel": parallel}, tmp_path / "many")
    assert_same_curve(tmp_path / "many", tmp_path / "one")
    ours, theirs = (
        [line["gates"] for line in small.lines(tmp_path / run) if "gates" in line] for run in ("many", "one")
    )
    assert len(theirs) >= 2
    torch.testing.assert_close(torch.tensor(ours), torch.tensor(theirs), atol=1e-5, rtol=0)


@pytest.mark.slow
def test_four_ranks_resume_bitwise(data, tmp_path):
    """DDP on a CPU: the layout of the gradient bucket is fixed before step 0."""
    settings = ten_steps(data, run__micro_batch=1)
    torchrun(4, settings, tmp_path / "whole")
    stopped = torchrun(4, {**settings, "stop": 5}, tmp_path / "resumed")
    assert {answer["reason"] for answer in stopped} == {"terminated"}
    answers = torchrun(4, settings, tmp_path / "resumed")
    assert {(answer["reason"], answer["resumed"]) for answer in answers} == {("finished", 5)}
    assert small.weights(tmp_path / "whole") == small.weights(tmp_path / "resumed")


@pytest.mark.slow
def test_out_of_memory_on_one_rank_ends_the_run_with_a_micro_batch_to_try(data, tmp_path):
    settings = ten_steps(data)
    train(settings, output=tmp_path / "one")
    text = torchrun(2, {**settings, "short": 6}, tmp_path / "many", fails=True)
    assert "out of memory on rank 1 with a micro-batch of 4" in text and "--micro-batch 2" in text
    answers = torchrun(2, {**settings, "run.micro_batch": 2}, tmp_path / "many")
    assert {(answer["reason"], answer["micro_batch"], answer["resumed"]) for answer in answers} == {("finished", 2, 4)}
    assert_same_curve(tmp_path / "many", tmp_path / "one")


@pytest.mark.slow
def test_sharded_parameters_follow_the_curve_and_load_anywhere(data, tmp_path):
    """FSDP2: sharded checkpoints, which another world size continues; the model loads in one process."""
    settings = ten_steps(data, run__save_every=5)
    train(settings, output=tmp_path / "one")
    torchrun(2, {**settings, "run.parallel": "fsdp", "stop": 5}, tmp_path / "many")
    step = tmp_path / "many" / "checkpoints" / "step-5"
    assert sorted(path.name for path in step.glob("model*")) == [
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
        "model.safetensors.index.json",
    ]
    answers = torchrun(2, {**settings, "run.parallel": "fsdp"}, tmp_path / "many")
    assert {(answer["reason"], answer["resumed"]) for answer in answers} == {("finished", 5)}
    assert_same_curve(tmp_path / "many", tmp_path / "one")
    run = RunFolder.open(tmp_path / "many")
    assert run.result["weights_sha256"]
    expected = RunFolder.open(tmp_path / "one").model().state_dict()
    for name, tensor in run.model().state_dict().items():
        torch.testing.assert_close(tensor, expected[name], rtol=1e-4, atol=1e-5)
    for name in ("result.json", "model.safetensors.index.json"):
        (tmp_path / "many" / name).unlink()
    assert train(settings, output=tmp_path / "many").finished, "one process continues from sharded checkpoints"


def test_sharding_is_chosen_by_memory():
    cpu, two = torch.device("cpu"), World(0, 2, torch.device("cpu"))
    assert not needs_sharding("auto", 10**12, two) and not needs_sharding("ddp", 10**12, two)
    assert needs_sharding("fsdp", 1, two)
    assert not needs_sharding("fsdp", 10**12, World(device=cpu))


@pytest.mark.parametrize(
    ("changes", "world_size", "text"),
    [
        ({"optim__name": "muon", "run__parallel": "fsdp"}, 2, "muon needs whole matrices"),
        ({}, 8, "a batch of 4 sequences is smaller than world size 8"),
        ({"data__pack": "stateful"}, 2, "keeps its state in one process, world size is 2"),
    ],
)
def test_runs_that_ranks_cannot_share(data, changes, world_size, text):
    opened, config = small.opened(data, **changes)
    with pytest.raises(InvalidConfig, match=text):
        cost_of_run(config, opened, make_loader(opened, config), World(0, world_size))


def test_a_group_with_fewer_sequences_than_ranks(data):
    """`bucket` ends in small groups: idle ranks add zeros, and the shares add up to the gradient of one process."""
    settings = small.recurrent(small.settings(data, data__pack="bucket"), "lstm")
    step = small.train_step_of(settings)
    loader, optimizer = step.loader, step.optimizer

    def gradient(rank, size, sequences):
        step.world = World(rank, size)
        optimizer.zero_grad()
        nats = 0.0
        for keys, is_dummy in step._micro_batches(sequences):
            micro_batch_nats = float(step._backward(loader.batch(keys), 0.0 if is_dummy else 0.1, 0))
            nats += 0.0 if is_dummy else micro_batch_nats
        return nats, torch.cat([parameter.grad.flatten() for parameter in optimizer.parameters])

    taken = loader.global_batch(Cursor())
    while len(taken.sequence_keys) >= 4:
        taken = loader.global_batch(taken.next)
    assert taken.next.epoch == 0, "the plan ends in a small group"
    whole = gradient(0, 1, taken.sequence_keys)
    shares = [gradient(rank, 4, taken.sequence_keys) for rank in range(4)]
    assert shares[3][0] == 0.0 and float(shares[3][1].abs().max()) == 0.0
    assert sum(share[0] for share in shares) == pytest.approx(whole[0])
    torch.testing.assert_close(torch.stack([share[1] for share in shares]).sum(0), whole[1])
