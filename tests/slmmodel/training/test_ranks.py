"""Ranks: two and four gloo processes under torchrun walk the curve of one, and stop, resume and run out together."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import small

from slmmodel.training import run

ROOT = Path(__file__).parents[3]
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
    from slmmodel.errors import InvalidConfig
    from slmmodel.training.config import Facts, flatten, resolve
    from slmmodel.training.data import open_data
    from slmmodel.training.plan_run import make_loader, plan_run

    opened = open_data(str(data))
    config, _ = resolve(flatten(small.settings(data)), Facts(opened.vocab, opened.tokens, "cpu"))
    loader = make_loader(opened, config.data, 16, 4, 0)
    with pytest.raises(InvalidConfig, match="4 rows does not reach for 8 ranks"):
        plan_run(config, opened, loader, 8)
