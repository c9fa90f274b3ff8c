"""Several ranks: gloo processes under torchrun follow the curve of one process, resume, fail and restart.

A start of torchrun serves several trainings ("jobs") in a row. Its ranks are forks of a process with torch imported.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import small
import torch
from forked_commands import PYTHON

from slmmodel import distributed
from slmmodel.checkpoint import RunFolder
from slmmodel.data import Cursor
from slmmodel.distributed import World, rank_failures, uses_fsdp
from slmmodel.errors import InvalidConfig, RankFailed
from slmmodel.trainer import train
from slmmodel.training import setup
from slmmodel.training.setup import cost_of_run, make_loader, notes_on_ranks

ROOT = Path(__file__).parents[3]
SCRIPT = """
import json, os, signal, sys
from slmmodel.errors import SlmmodelError
from slmmodel.models.infini import InfiniAttention
from slmmodel.trainer import train
from slmmodel.training import setup
from slmmodel.training.step import TrainStep

setup.MAX_LAG_SECONDS = 0.2
rank, attempt = int(os.environ["RANK"]), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
job, beta_types = {}, set()
real, mix = TrainStep._backward, InfiniAttention._mix
def backward(train_step, batch, factor, step):
    if job.get("short") == step and rank == 1 and len(batch.sequence_keys) > 1:
        raise MemoryError
    if job.get("kill") == [rank, step, attempt]:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(train_step, batch, factor, step)
def noted_mix(attention, *arguments):
    beta_types.add(str(attention.beta.dtype))
    return mix(attention, *arguments)
TrainStep._backward, InfiniAttention._mix = backward, noted_mix
def report(stage, done, total, text):
    if done == job.get("stop"):
        os.kill(os.getpid(), signal.SIGTERM)

for number, job in enumerate(json.loads(sys.argv[1])):
    beta_types.clear()
    of_rank = job.get("of_rank", {}).get(str(rank), {})
    settings, output = {**job["settings"], **of_rank.get("settings", {})}, of_rank.get("output", job["output"])
    try:
        result = train(settings, output=output, report=report, force=job.get("force", False))
        answer = {"reason": result.reason, "micro_batch": result.micro_batch, "resumed": result.resumed_from,
                  "notes": result.notes, "beta": sorted(beta_types)}
    except SlmmodelError as error:
        if not job.get("refused"):
            raise
        answer = {"error": str(error)}
    # One write: with several, the lines of two processes could interleave.
    sys.stdout.write(json.dumps({"job": number, "rank": rank, **answer}) + "\\n")
    sys.stdout.flush()
"""


def job(settings: dict[str, Any], output: Path, **more: Any) -> dict[str, Any]:
    """One training. stop: the step of a SIGTERM; short: of a rank without memory; refused: an error is expected."""
    return {"settings": settings, "output": str(output), **more}


def start(
    options: list[str], jobs: list[dict[str, Any]], folder: Path, env: Mapping[str, str]
) -> subprocess.Popen[str]:
    """torchrun with its options, and jobs."""
    script = folder / "script.py"
    script.write_text(SCRIPT)
    return subprocess.Popen(
        ["torchrun", *options, "--no-python", PYTHON, str(script), json.dumps(jobs)],
        cwd=ROOT,
        env={**env, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(world_size: int, jobs: list[dict[str, Any]], folder: Path, env: Mapping[str, str]) -> Any:
    """Runs the jobs on that many processes of this machine: exit status, stdout, stderr."""
    process = start(["--standalone", f"--nproc-per-node={world_size}"], jobs, folder, env)
    try:
        out, err = process.communicate(timeout=240)
    finally:
        process.terminate()
    assert "FutureWarning" not in err
    return process.returncode, out, err


def failure(world_size: int, jobs: list[dict[str, Any]], folder: Path, commands: Mapping[str, str]) -> str:
    """What torchrun prints about jobs that fail."""
    status, _, err = run(world_size, jobs, folder, commands)
    assert status != 0
    return err


def answers_of(world_size: int, jobs: list[dict[str, Any]], folder: Path, commands: Mapping[str, str]) -> Any:
    """For each job the answers of all ranks."""
    status, out, err = run(world_size, jobs, folder, commands)
    assert status == 0, err[-3000:]
    lines = sorted(
        (json.loads(line) for line in out.splitlines() if line.startswith("{")), key=lambda line: line["rank"]
    )
    return [[line for line in lines if line["job"] == number] for number in range(len(jobs))]


def assert_same_curve(path: Path, expected: Path, rel: float = 1e-6) -> None:
    """Losses and validations to `rel`, counters exactly."""
    for ours, theirs in zip(small.lines(path), small.lines(expected), strict=True):
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=rel)
        for name in ("step", "tokens", "targets", "bytes", "epoch"):
            assert ours[name] == theirs[name]
        assert ("val_bpb" in ours) == ("val_bpb" in theirs)
        assert ours.get("val_bpb", 0.0) == pytest.approx(theirs.get("val_bpb", 0.0), rel=rel)


def ten_steps(data: Path, **changes: Any) -> dict[str, Any]:
    base = {"run__budget__steps": 10, "run__batch_tokens": 128, "optim__lr": 1e-3}
    return small.settings(data, **{**base, **changes})


CELLS = {4: [("ddp", 1), ("ddp", 4), ("fsdp", 1)], 2: [("ddp", 1), ("fsdp", 4)]}
"""By number of ranks, `run.parallel` and `run.micro_batch`: each wrapper has one micro-batch a step, and several."""


@pytest.mark.slow
def test_one_curve_for_every_number_of_ranks(data, tmp_path, commands):
    """Worlds 1, 2, 4; DDP and FSDP2; micro-batches 1 and 4; what 4 ranks have begun continues on 4, 2 and 1."""
    settings = ten_steps(data, run__budget__steps=4, run__eval_every=2)
    muon = {**settings, "optim.name": "muon", "optim.ns_dtype": "fp32"}
    train(settings, output=tmp_path / "one")
    bf16 = {**muon, "optim.ns_dtype": "bf16"}
    train(muon, output=tmp_path / "one-muon")
    train(bf16, output=tmp_path / "one-bf16")
    train({**settings, "run.micro_batch": 1}, output=tmp_path / "one-1")
    assert_same_curve(tmp_path / "one-1", tmp_path / "one")
    for size in (4, 2):
        cells = [(f"{size}-{parallel}-{micro}", parallel, micro) for parallel, micro in CELLS[size]]
        jobs = [
            job({**settings, "run.parallel": parallel, "run.micro_batch": micro}, tmp_path / name)
            for name, parallel, micro in cells
        ]
        if size == 4:
            jobs.append(job(muon, tmp_path / "4-muon"))
            jobs += [
                job({**settings, "run.parallel": parallel, "run.micro_batch": 1}, tmp_path / name, stop=2)
                for name, parallel in [("again", "ddp"), ("ddp-2", "ddp"), ("fsdp-2", "fsdp")]
            ]
            jobs.append(job({**settings, "run.micro_batch": 1}, tmp_path / "again"))
        else:
            jobs.append(job(bf16, tmp_path / "2-bf16"))
            jobs += [
                job({**settings, "run.parallel": parallel, "run.micro_batch": 4}, tmp_path / f"{parallel}-2")
                for parallel in ("ddp", "fsdp")
            ]
        answers = answers_of(size, jobs, tmp_path, commands)
        for name, _, micro in cells:
            assert_same_curve(tmp_path / name, tmp_path / "one")
            found = {answer["micro_batch"] for answer in answers[[cell[0] for cell in cells].index(name)]}
            assert found == {min(micro, 8 // size)}
        last = {(answer["reason"], answer["resumed"]) for answer in answers[-1]}
        assert last == {("finished", 2)}, "DDP and FSDP2 runs of 4 ranks, continued"
        if size == 4:
            for parallel in ("ddp", "fsdp"):
                shutil.copytree(tmp_path / f"{parallel}-2", tmp_path / f"{parallel}-1")
    assert_same_curve(tmp_path / "4-muon", tmp_path / "one-muon")
    assert_same_curve(tmp_path / "2-bf16", tmp_path / "one-bf16", rel=1e-5)
    assert small.weights(tmp_path / "again") == small.weights(tmp_path / "4-ddp-1"), "bitwise at equal world size"
    for name in ("ddp-1", "fsdp-1"):
        assert train({**settings, "run.micro_batch": 8}, output=tmp_path / name).resumed_from == 2
    for name in ("ddp-2", "ddp-1", "fsdp-2", "fsdp-1"):
        assert_same_curve(tmp_path / name, tmp_path / "one")
    names = [sorted(path.name for path in (tmp_path / run).iterdir()) for run in ("4-ddp-1", "one")]
    assert names[0] == names[1]


@pytest.mark.slow
def test_what_two_ranks_share_and_refuse(data, tmp_path, commands):
    """Sharded checkpoints and gates; data, folder and optimizer that ranks cannot share; a note on uneven shares."""
    settings = ten_steps(data, run__save_every=5)
    infini = ten_steps(data, model__arch="infini", model__segment=4, run__budget__steps=6)
    fsdp, two_steps = {"run.parallel": "fsdp"}, {"run.budget.steps": 2}
    train(settings, output=tmp_path / "one")
    train(infini, output=tmp_path / "one-infini")
    other = small.data(tmp_path / "other", 81)
    jobs = [
        job({**settings, **fsdp}, tmp_path / "many", stop=5),
        job({**infini, "run.parallel": "ddp"}, tmp_path / "ddp"),
        job({**infini, **fsdp}, tmp_path / "fsdp"),
        job({**infini, **fsdp, **two_steps, "run.precision": "bf16"}, tmp_path / "bf16"),
        job(settings, tmp_path / "data", refused=True, of_rank={1: {"settings": {"data.train": str(other)}}}),
        job(settings, tmp_path / "here", refused=True, of_rank={1: {"output": str(tmp_path / "there")}}),
        job({**settings, **fsdp, "optim.name": "muon"}, tmp_path / "muon", refused=True),
        job({**settings, **two_steps, "run.batch_tokens": 80}, tmp_path / "uneven"),
    ]
    _, ddp, _, bf16, *refused, uneven = answers_of(2, jobs, tmp_path, commands)
    texts = [{answer["error"] for answer in answers} for answers in refused]
    expected = (
        "2 ranks of this training disagree: the training data differ",
        "rank 1 does not see the run folder",
        "muon",
    )
    for found, text in zip(texts, expected, strict=True):
        assert found and all(text in error for error in found), "on both ranks"
    assert "2 ranks cannot share a batch of 5 sequences evenly, so 17% of their time is idle" in uneven[0]["notes"][0]
    assert "run.batch_tokens=96" in uneven[0]["notes"][0]
    assert [answer["beta"] for answer in (*ddp, *bf16)] == [["torch.float32"]] * 4, "gates are not rounded to bf16"
    assert_gates(tmp_path)
    assert_sharded(tmp_path, settings)


def assert_gates(folder: Path) -> None:
    """The gates of infini on two ranks are those of one."""
    theirs = [line["gates"] for line in small.lines(folder / "one-infini") if "gates" in line]
    assert len(theirs) >= 2
    for parallel in ("ddp", "fsdp"):
        assert_same_curve(folder / parallel, folder / "one-infini")
        ours = [line["gates"] for line in small.lines(folder / parallel) if "gates" in line]
        torch.testing.assert_close(torch.tensor(ours), torch.tensor(theirs), atol=1e-5, rtol=0)


def assert_sharded(folder: Path, settings: dict[str, Any]) -> None:
    """A file a rank and an index, which one process continues and loads."""
    step = folder / "many" / "checkpoints" / "step-5"
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json"]
    assert sorted(path.name for path in step.glob("model*")) == names
    assert train(settings, output=folder / "many").resumed_from == 5
    assert_same_curve(folder / "many", folder / "one")
    expected = RunFolder.open(folder / "one").model().state_dict()
    for name, tensor in RunFolder.open(folder / "fsdp").model().state_dict().items():
        assert name in expected or name.endswith("beta"), "sharded weights of a finished run load in one process"
        assert torch.isfinite(tensor).all()
    for name, tensor in RunFolder.open(folder / "many").model().state_dict().items():
        torch.testing.assert_close(tensor, expected[name], rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_out_of_memory_on_one_rank_ends_the_run_with_a_micro_batch_to_try(data, tmp_path, commands):
    settings = ten_steps(data)
    train(settings, output=tmp_path / "one")
    text = failure(2, [job(settings, tmp_path / "many", short=6)], tmp_path, commands)
    assert "out of memory on rank 1 with a micro-batch of 4" in text and "settings={'run.micro_batch': 2}" in text
    assert train({**settings, "run.micro_batch": 2}, output=tmp_path / "many").resumed_from == 4
    assert_same_curve(tmp_path / "many", tmp_path / "one")


@pytest.mark.slow
@pytest.mark.cluster
def test_two_machines_and_kill_9_of_a_rank(data, tmp_path, commands):
    """Two agents of torchrun with two ranks each: a rank of one is killed, and all four restart by themselves."""
    settings = {**ten_steps(data), "run.save_every": 2}
    train(settings, output=tmp_path / "one")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--nnodes=2", "--nproc-per-node=2", "--rdzv-backend=c10d", f"--rdzv-endpoint=localhost:{port}"]
    options += ["--rdzv-id=two", "--max-restarts=1", "--monitor-interval=0.1"]
    jobs = [job(settings, tmp_path / "many", kill=[3, 5, 0], force=True)]
    agents = [start(options, jobs, tmp_path, commands) for _ in range(2)]
    try:
        results = [agent.communicate(timeout=120) for agent in agents]
    finally:
        for agent in agents:
            agent.terminate()
    assert [agent.returncode for agent in agents] == [0, 0], results[0][1][-3000:] + results[1][1][-3000:]
    answers = [json.loads(line) for out, _ in results for line in out.splitlines() if line.startswith("{")]
    assert [(answer["reason"], answer["resumed"]) for answer in answers] == [("finished", 4)] * 4
    assert any("another process of this training ended" in err for _, err in results)
    assert [line["step"] for line in small.lines(tmp_path / "many")] == list(range(1, 11)), "each step once"
    assert_same_curve(tmp_path / "many", tmp_path / "one")


@pytest.mark.slow
def test_kill_9_of_a_rank_ends_all_with_the_reason(data, tmp_path, commands):
    settings = {**ten_steps(data), "run.save_every": 2}
    begun = time.monotonic()
    text = failure(4, [job(settings, tmp_path / "many", kill=[2, 5, 0])], tmp_path, commands)
    assert time.monotonic() - begun < 60
    assert "RankFailed: another process of this training ended" in text and "Signal 9 (SIGKILL)" in text
    ended = json.loads((tmp_path / "many" / "heartbeat.json").read_text())["ended"]
    assert ended.startswith("RankFailed: another process of this training ended")
    assert train(settings, output=tmp_path / "many").resumed_from == 4
    assert [line["step"] for line in small.lines(tmp_path / "many")] == list(range(1, 11))


def test_a_broken_connection_is_told_from_other_errors():
    with pytest.raises(RankFailed, match="another process"), rank_failures():
        raise RuntimeError("[gloo/transport/tcp/pair.cc:561] Connection closed by peer [127.0.0.1]:408")
    with pytest.raises(RankFailed), rank_failures():
        raise torch.distributed.DistBackendError("NCCL communicator was aborted")
    with pytest.raises(RuntimeError, match="shape"), rank_failures():
        raise RuntimeError("shape mismatch")


def test_a_restart_continues_what_force_began(data, tmp_path, monkeypatch):
    settings = small.settings(data)
    assert train(settings, output=tmp_path / "run", force=True, report=small.stop_at(5)).reason == "terminated"
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert train(settings, output=tmp_path / "run", force=True).resumed_from == 5


def test_a_restart_replaces_what_force_did_not_reach(data, tmp_path, monkeypatch):
    settings, output = small.settings(data), tmp_path / "run"
    assert train(settings, output=output, report=small.stop_at(5)).reason == "terminated"
    store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True)
    agent = {"TORCHELASTIC_USE_AGENT_STORE": "True", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port)}
    for name, value in agent.items():
        monkeypatch.setenv(name, value)
    with monkeypatch.context() as failing:
        failing.setattr(setup, "create_run", lambda *arguments: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train(settings, output=output, force=True)
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    result = train(settings, output=output, force=True, report=small.stop_at(3))
    assert (result.resumed_from, result.reason) == (None, "terminated")
    assert train(settings, output=output, force=True).resumed_from == 3


def test_notes_on_ranks(data):
    _, config = small.opened(data, run__parallel="fsdp")
    assert "no effect on one process" in notes_on_ranks(config, World())[0]
    assert not notes_on_ranks(config, World(0, 2)), "4 sequences"
    assert "4 sequences evenly" in notes_on_ranks(config, World(0, 3))[0]


def test_sharding_is_chosen_by_memory():
    cpu, two = torch.device("cpu"), World(0, 2, torch.device("cpu"))
    assert not uses_fsdp("auto", 10**12, two) and not uses_fsdp("ddp", 10**12, two)
    assert uses_fsdp("fsdp", 1, two)
    assert not uses_fsdp("fsdp", 10**12, World(device=cpu))


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


def test_an_address_at_which_no_rank_answers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    described = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "9"}
    for name, value in described.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(distributed, "COLLECTIVE_TIMEOUT", timedelta(seconds=1))
    distributed._environment_store.cache_clear()
    with pytest.raises(RankFailed, match=r"meet at 127\.0\.0\.1:9 "), distributed.process_group(torch.device("cpu")):
        pass
