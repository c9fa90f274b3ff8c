"""Ranks: two and four gloo processes under torchrun walk the curve of one, and stop, resume and run out together."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import small
import torch
from numpy.typing import NDArray

from slmmodel.data import Cursor
from slmmodel.errors import InvalidConfig
from slmmodel.models import ModelConfig, build
from slmmodel.optim import build as build_optimizer
from slmmodel.training import run
from slmmodel.training.config import Facts, flatten, resolve
from slmmodel.training.data import open_data
from slmmodel.training.loss import Loss
from slmmodel.training.plan_run import make_loader, plan_run
from slmmodel.training.precision import Precision
from slmmodel.training.ranks import Ranks
from slmmodel.training.stepper import Stepper

ROOT = Path(__file__).parents[3]
CPU = torch.device("cpu")
SCRIPT = """
import json, sys
from slmmodel.training import run
from slmmodel.training.stepper import Stepper

table = json.loads(sys.argv[1])
short = table.pop("short", None)
real = Stepper._backward
def backward(stepper, batch, n_targets, step):
    if short is not None and stepper.ranks.rank == 1 and step == short and len(batch.rows) > 1:
        raise MemoryError
    return real(stepper, batch, n_targets, step)
Stepper._backward = backward
result = run(table, output=sys.argv[2])
said = {"reason": result.reason, "micro": result.micro_batch, "resumed": result.resumed_from}
# In one piece: under torchrun, where nothing is buffered, the lines of two processes would run into one another.
sys.stdout.write(json.dumps(said) + "\\n")
"""


def torchrun(world: int, settings: dict[str, object], output: Path, script: Path) -> list[dict[str, object]]:
    """Runs the script on so many processes; gives what each said."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={world}"]
    done = subprocess.run(
        [*command, str(script), json.dumps(settings), str(output)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def lines(path: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize(("world", "short"), [(2, None), (4, 6)])
def test_every_world_walks_the_same_curve(data, tmp_path, world, short):
    """Rows per step and loss to 1e-6 of one process; memory that runs out on one rank is survived by all."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    settings = small.settings(
        data, run__budget__steps=10, run__batch_tokens=128, optim__lr=1e-3, optim__name="muon", optim__ns_dtype="fp32"
    )
    run(settings, output=tmp_path / "one")
    said = torchrun(world, {**settings, "short": short}, tmp_path / "many", script)
    assert [one["reason"] for one in said] == ["finished"] * world
    assert {one["micro"] for one in said} == {8 // world if short is None else 1}
    one, many = lines(tmp_path / "one"), lines(tmp_path / "many")
    for ours, theirs in zip(many, one, strict=True):
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-6)
        for name in ("step", "tokens", "targets", "bytes", "epoch"):
            assert ours[name] == theirs[name]
        assert ("val_bpb" in ours) == ("val_bpb" in theirs)
        assert ours.get("val_bpb", 0.0) == pytest.approx(theirs.get("val_bpb", 0.0), rel=1e-6)
    assert sorted(path.name for path in (tmp_path / "many").iterdir()) == sorted(
        path.name for path in (tmp_path / "one").iterdir()
    )


def test_too_few_rows_for_the_ranks(data, tmp_path):
    opened = open_data(str(data))
    config, _ = resolve(flatten(small.settings(data)), Facts(opened.vocab, opened.tokens, "cpu"))
    loader = make_loader(opened, config.data, 16, 4, 0)
    with pytest.raises(InvalidConfig, match="4 rows does not reach for 8 ranks"):
        plan_run(config, opened, loader, 8)


def test_a_group_of_fewer_rows_than_ranks(data):
    """`bucket` ends in small groups: ranks without a row add nothing, and the shares make the gradient of one."""
    opened = open_data(str(data))
    table = {**small.settings(data, model__arch="lstm", model__hidden_size=32), "data.pack": "bucket"}
    for name in ("n_heads", "n_kv_heads", "d_ff"):
        table.pop(f"model.{name}")
    config, _ = resolve(flatten(table), Facts(opened.vocab, opened.tokens, "cpu"))
    loader = make_loader(opened, config.data, 16, 4, 0)
    model = build(ModelConfig.from_dict({key: value for key, value in config.model.items() if key != "preset"}))
    optimizer = build_optimizer(model, config.optim)

    def gradient(rank: int, world: int, rows: NDArray[np.int64]) -> tuple[torch.Tensor, torch.Tensor]:
        stepper = Stepper(
            model, loader, optimizer, Loss(), Precision("fp32", CPU), ranks=Ranks(rank, world), micro=4, limit=None
        )
        optimizer.zero_grad()
        numbers = stepper._gradient(rows[rank::world], 10, 0, None)
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in optimizer.parameters]
        return numbers, torch.cat([grad.flatten() for grad in grads])

    taken = loader.step(Cursor())
    while len(taken.rows) >= 4:
        taken = loader.step(taken.next)
    assert taken.next.epoch == 0, "the plan ends in a small group"
    whole, *shares = [gradient(0, 1, taken.rows), *(gradient(rank, 4, taken.rows) for rank in range(4))]
    assert float(shares[3][1].abs().max()) == 0.0 and shares[3][0].tolist() == [0.0] * 4
    for one, many in zip(whole, zip(*shares, strict=True), strict=True):
        torch.testing.assert_close(torch.stack(many).sum(0), one)
