"""Checkpoints are written while the training goes on, complete or not at all, and only as many as are kept."""

from __future__ import annotations

import errno
import json
import threading

import pytest
import small

from slmmodel.checkpoint import RunFolder, Snapshot
from slmmodel.errors import DiskFull
from slmmodel.trainer import train


def test_steps_go_on_while_a_checkpoint_is_written(data, tmp_path, monkeypatch):
    """The writer is held until two more steps are done; the checkpoint is of its own step, and equal to the bit."""
    settings = small.settings(data, run__save_every=4, run__budget__steps=8, run__keep=5)
    train(settings, output=tmp_path / "plain")
    may_write, events, write = threading.Event(), [], Snapshot.write

    def held(snapshot, cancelled):
        assert may_write.wait(60), "the loop waits for the writer"
        return write(snapshot, cancelled)

    def report(stage, done, total, text):
        events.append((stage, done))
        if (stage, done) == ("training", 6):
            may_write.set()

    monkeypatch.setattr(Snapshot, "write", held)
    train(settings, output=tmp_path / "run", report=report)
    assert events.index(("training", 6)) < events.index(("saved", 4)) < events.index(("saved", 8))
    for step in (4, 8):
        for name in ("model.safetensors", "optim.safetensors"):
            part = f"checkpoints/step-{step}/{name}"
            assert (tmp_path / "run" / part).read_bytes() == (tmp_path / "plain" / part).read_bytes()
    states = [RunFolder.open(tmp_path / run).checkpoint(4) / "train_state.json" for run in ("run", "plain")]
    ours, theirs = (json.loads(path.read_text()) for path in states)
    assert ours["counters"]["step"] == 4 and ours["cursor"] == theirs["cursor"]


def test_a_failed_write_ends_the_run_and_leaves_nothing_partial(data, tmp_path, monkeypatch):
    """The write fails after the loop has gone on; the run continues from the checkpoint before."""
    settings = small.settings(data, run__save_every=4, run__budget__steps=12)
    train(settings, output=tmp_path / "whole")
    write = Snapshot.write

    def full(snapshot, cancelled):
        if snapshot.target.name == "step-8":
            monkeypatch.setattr("slmmodel.checkpoint.write_synced", no_space)
        return write(snapshot, cancelled)

    def no_space(path, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Snapshot, "write", full)
        with pytest.raises(DiskFull, match="no space left while writing"):
            train(settings, output=tmp_path / "run")
    monkeypatch.undo()
    assert sorted(path.name for path in (tmp_path / "run" / "checkpoints").iterdir()) == ["latest", "step-4"]
    assert train(settings, output=tmp_path / "run").resumed_from == 4
    assert small.weights(tmp_path / "run") == small.weights(tmp_path / "whole")


def test_as_many_as_are_kept(data, tmp_path):
    """The newest `keep`, the best, and multiples of `keep_every`; a later process removes what the earlier one left."""
    settings = small.settings(data, run__save_every=2, run__eval_every=100, run__keep=2, run__keep_every=6)
    checkpoints = RunFolder(tmp_path / "run").checkpoints
    train(settings, output=tmp_path / "run", report=small.stop_at(9))
    assert checkpoints.list() == [6, 8, 9]
    (checkpoints.folder / "step-10.tmp").mkdir()
    train({**settings, "run.keep": 1}, output=tmp_path / "run")
    assert checkpoints.list() == [6, 12] and checkpoints.best() == 12
    assert not list(checkpoints.folder.glob("*.tmp"))
