"""Checkpoints are written while the training goes on, complete or not at all, and only as many as are kept."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
import small
import torch

from slmmodel import files
from slmmodel.checkpoint import RunFolder, Snapshot
from slmmodel.cli import result_files
from slmmodel.cli.result_files import CERTIFICATE, PASSKEY, PROBE, PROMPT_SHEET, write_result
from slmmodel.distributed import World
from slmmodel.errors import DiskFull, Unreadable
from slmmodel.folder_lock import FolderHandle, locked, not_written
from slmmodel.run_entries import is_checkpoint_file
from slmmodel.trainer import train
from slmmodel.training.heartbeat import Heartbeat
from slmmodel.training.metrics import MetricsFile, restore_lines
from slmtok.envelope import Envelope


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
            monkeypatch.setattr("slmmodel.files.write_synced", no_space)
        return write(snapshot, cancelled)

    def no_space(path, data, handle):
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


def _write_all(path, locked_now=lambda: None):
    """All that a run writes into its folder: over an older run, continued before and after its first step, saved."""
    run, tensors = RunFolder(path), {"model": {"weight": torch.zeros(3)}, "optim": {"m": torch.ones(3)}}
    metrics, cancelled = path / "metrics.jsonl", threading.Event()
    with locked(path) as handle, Heartbeat(path, handle) as beat:
        run.handle = run.checkpoints.handle = handle
        locked_now()
        run.remove()
        run.create(b"a: 1\n", {}, b"{}", None)
        run.update_fingerprint({"steps": 3})
        run.checkpoints.remove_after(None)
        MetricsFile(metrics, handle=handle).close()
        for step in (1, 2, 2):
            run.checkpoints.snapshot(step, tensors, {"step": step}, World()).write(cancelled)
            run.checkpoints.mark(step, is_best=step == 2)
            run.checkpoints.prune(1)
        run.checkpoints.remove_after(1)
        run.remove_leftovers()
        restore_lines(metrics, 5, handle)
        beat.start(0, 3)
        run.finish(tensors["model"], World())
        run.write_result({"loss": 1.0}, b"a card")
        beat.end("finished")


@pytest.mark.parametrize("kind", ["a link", "a file", "a folder with files"])
def test_a_folder_is_removed_whatever_has_the_name_that_it_gets_first(tmp_path, kind):
    aside, other = tmp_path / "step-5.old.tmp", tmp_path / "other"
    for folder in (tmp_path / "step-5", other, *([aside] if "folder" in kind else [])):
        folder.mkdir()
        (folder / "SHA256SUMS").write_text("precious")
    if kind == "a link":
        aside.symlink_to(other)
    elif kind == "a file":
        aside.write_text("")
    files.discard(tmp_path / "step-5", is_checkpoint_file)
    assert [path.name for path in tmp_path.iterdir()] == ["other"] and (other / "SHA256SUMS").exists()


def test_files_of_others_stay_when_checkpoints_are_removed(data, tmp_path):
    """By rotation, on resuming, and where a checkpoint of the same step is written again."""
    settings, steps = small.settings(data, run__save_every=2, run__keep=1), tmp_path / "run" / "checkpoints"
    train(settings, output=tmp_path / "run", report=small.stop_at(5))
    newest = RunFolder(tmp_path / "run").checkpoints.newest()
    for name in (f"step-{newest}", "step-6.tmp"):
        (steps / name).mkdir(exist_ok=True)
        (steps / name / "mine").write_text(name)
    (steps / "notes.tmp").write_text("notes")
    train(settings, output=tmp_path / "run")
    assert (steps / "notes.tmp").read_text() == "notes"
    assert [path.name for path in (steps / f"step-{newest}.kept").iterdir()] == ["mine"]
    assert (steps / "step-6.kept" / "mine").read_text() == "step-6.tmp"
    assert RunFolder(tmp_path / "run").checkpoints.list() == [12] and not (steps / f"step-{newest}").exists()


def test_force_keeps_files_of_others(data, tmp_path):
    """Also in the folders of a run, whose own files are removed."""
    settings, path = small.settings(data, run__save_every=6), tmp_path / "run"
    train(settings, output=path)
    mine = [
        "notes.md",
        "my/notes.md",
        "eval/notes.md",
        "eval/pairs.json",
        "checkpoints/notes.md",
        "checkpoints/my/file",
        "checkpoints/step-6/mine",
        "checkpoints/step-12/my/file",
        "tensorboard/notes.md",
        "wandb/notes.md",
    ]
    results = [f"eval/{kind}.json" for kind in (CERTIFICATE, PASSKEY, PROBE, PROMPT_SHEET)]
    own = [*results, "tensorboard/events.out.tfevents.1", "wandb/id", "wandb/offline-run-1/files/config.yaml"]
    for name in (*mine, *own):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(name)
    for name in results:
        (path / name).write_bytes(Envelope(Path(name).stem, {}, {}).to_bytes())
    train({**settings, "run.save_every": 5, "run.budget.steps": 6}, output=path, force=True)
    kept = {name.replace("step-6", "step-6.kept") for name in mine}
    found = {str(each.relative_to(path)): each for each in path.rglob("*") if each.is_file()}
    assert kept <= set(found) and not set(own) & set(found)
    assert {found[name].read_text() for name in kept} == set(mine)
    assert RunFolder(path).checkpoints.list() == [5, 6] and not (path / "wandb" / "offline-run-1").exists()


@pytest.mark.parametrize("locked_name", ["step-1", "config.yaml"])
def test_what_cannot_be_removed_is_named_with_its_folder(tmp_path, monkeypatch, locked_name):
    """As a file or folder is after `chattr +i`."""
    _write_all(tmp_path / "run")
    real_rename, real_unlink = os.replace, os.unlink

    def refuse(real):
        def call(path, *more, **options):
            if Path(path).name == locked_name:
                raise PermissionError(errno.EPERM, "Operation not permitted", Path(path).name)
            return real(path, *more, **options)

        return call

    run, tensors = RunFolder(tmp_path / "run"), {"model": {"weight": torch.zeros(3)}}
    with locked(run.path) as run.handle:
        run.checkpoints.handle = run.handle
        for step in (1, 2):
            run.checkpoints.snapshot(step, tensors, {"step": step}, World()).write(threading.Event())
        monkeypatch.setattr(os, "replace", refuse(real_rename))
        monkeypatch.setattr(os, "unlink", refuse(real_unlink))
        with pytest.raises(Unreadable, match=f"cannot remove '.*/run/.*{locked_name}': Operation not") as caught:
            run.checkpoints.prune(1) if locked_name == "step-1" else run.remove()
    assert "chattr -i" in str(caught.value) and Path(caught.value.fields["path"]).exists()


_at_event = None


def _hook(event, arguments):
    if _at_event is not None and event.startswith(("open", "os.", "shutil.")):
        _at_event()


def _tree(folder):
    return {path.relative_to(folder): path.is_file() and path.read_bytes() for path in folder.rglob("*")}


def _check_every_moment(folder, monkeypatch, older, other, write):
    """`write(path, begin)` writes into a copy of the run `older`, and calls `begin` once it holds the folder.

    `other` takes the place just before the n-th call that opens, lists, renames or removes something, and must stay
    as it is. Gives the number of these calls.
    """
    whole, path, theirs = folder / "whole", folder / "run", _tree(other)
    shutil.copytree(older, whole)
    write(whole, lambda: None)

    def pass_moment():
        nonlocal passed
        passed += 1
        if passed == replaced_at:
            monkeypatch.setattr(sys.modules[__name__], "_at_event", None)
            path.rename(folder / "moved")
            shutil.copytree(other, path)

    sys.addaudithook(_hook)
    monkeypatch.setattr(files, "sync", lambda path: None)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    passed, replaced_at, moments = 0, -1, 1
    while replaced_at < moments:
        shutil.rmtree(path, ignore_errors=True)
        shutil.rmtree(folder / "moved", ignore_errors=True)
        shutil.copytree(older, path)
        passed = 0
        with suppress(Unreadable):
            write(path, lambda: monkeypatch.setattr(sys.modules[__name__], "_at_event", pass_moment))
        monkeypatch.setattr(sys.modules[__name__], "_at_event", None)
        if replaced_at == -1:
            assert _tree(path) == _tree(whole)
            moments = passed
        else:
            assert _tree(path) == theirs, replaced_at
        replaced_at = max(replaced_at, 0) + 1
    return moments


needs_open_folder = pytest.mark.skipif(os.mkdir not in os.supports_dir_fd, reason="no folder is kept open")


@needs_open_folder
@pytest.mark.skipif(sys.version_info < (3, 11), reason="folders are removed by their path")
def test_nothing_is_written_into_another_run_that_takes_the_place_at_any_moment(tmp_path, monkeypatch):
    older, other = (tmp_path / name for name in ("older", "other"))
    for folder in (older, other):
        folder.mkdir()
        _write_all(folder)
    for step in (1, 2, 3):
        for name in (f"step-{step}", f"step-{step % 2}.tmp"):
            (other / "checkpoints" / name).mkdir(exist_ok=True)
            (other / "checkpoints" / name / "model.safetensors").write_bytes(b"theirs")
    for name in ("heartbeat.json", "metrics.jsonl", "config.yaml", ".result.json.1.part"):
        (other / name).write_bytes(b"theirs")
    assert _check_every_moment(tmp_path, monkeypatch, older, other, _write_all) > 100


@needs_open_folder
@pytest.mark.parametrize("theirs", [(), ("eval",)], ids=["without results", "with results"])
@pytest.mark.parametrize("earlier", [(), ("eval",)], ids=["first result", "another result"])
def test_no_result_is_written_into_another_run_that_takes_the_place_at_any_moment(
    tmp_path, monkeypatch, theirs, earlier
):
    older, other = tmp_path / "older", tmp_path / "other"
    for folder, evaluated in ((older, earlier), (other, theirs)):
        folder.mkdir()
        for name in evaluated:
            (folder / name).mkdir()
            (folder / name / "val.json").write_bytes(b"theirs")

    def write(path, begin):
        run = RunFolder(path)
        run.handle = FolderHandle(path)
        begin()
        write_result(run, "val.json", b"ours", None, option="-o")

    assert _check_every_moment(tmp_path, monkeypatch, older, other, write) > 5


@pytest.mark.parametrize(
    ("number", "fix"),
    [
        (errno.EFBIG, "raise the limit on the size of a file (ulimit -f)"),
        (errno.EMFILE, "raise the limit on open files (ulimit -n)"),
        (errno.EACCES, "-o FILE, in another folder"),
    ],
)
def test_another_folder_is_the_remedy_where_the_folder_refuses_a_result(tmp_path, monkeypatch, number, fix):
    """A limit of the process holds in each folder."""

    def refuse(path, *arguments):
        raise not_written(path, OSError(number, os.strerror(number)))

    monkeypatch.setattr(result_files, "write_file", refuse)
    with pytest.raises(Unreadable) as caught:
        write_result(RunFolder(tmp_path), "val.json", b"ours", None, option="-o")
    assert caught.value.fix == fix
