"""One process at a time trains a run; the lock is released by death; replacing a run removes what runs write."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import small

from slmmodel import files, folder_lock
from slmmodel.errors import DiskFull, MissingInput, OutputExists, Unreadable
from slmmodel.export.output_folder import check_folder
from slmmodel.folder_lock import LOCK, locked
from slmmodel.trainer import branch, train

HOLDER = """
import sys, time
from pathlib import Path
from slmmodel.folder_lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def holder(folder: Path) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(folder)], stdout=subprocess.PIPE, text=True, env=env)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


def test_a_second_process_is_refused_and_death_releases_the_lock(tmp_path):
    process = holder(tmp_path / "run")
    try:
        with pytest.raises(OutputExists, match="another process writes") as caught, locked(tmp_path / "run"):
            pass
        assert caught.value.limit == "one process at a time"
    finally:
        process.send_signal(getattr(signal, "SIGKILL", signal.SIGTERM))
        process.communicate()
    assert (tmp_path / "run" / LOCK).exists()
    with locked(tmp_path / "run"):
        pass
    assert not (tmp_path / "run" / LOCK).exists()


def test_two_trainings_of_one_run(data, tmp_path):
    """The second is refused before it changes anything; the first ends as if it had been alone."""
    settings = small.settings(data, run__budget__steps=6)
    train(settings, output=tmp_path / "alone")
    refused = []

    def report(stage, done, total, text):
        if stage == "training" and done == 3 and not refused:
            for force in (False, True):
                with pytest.raises(OutputExists, match="another process writes"):
                    train(settings, output=tmp_path / "run", force=force)
            with pytest.raises(OutputExists, match="another process writes"):
                branch(tmp_path / "alone", None, tmp_path / "run", force=True)
            refused.append(done)

    train(settings, output=tmp_path / "run", report=report)
    assert refused and small.weights(tmp_path / "run") == small.weights(tmp_path / "alone")
    assert not (tmp_path / "run" / LOCK).exists()


def test_a_refused_run_leaves_no_folder(data, tmp_path):
    with pytest.raises(Exception, match="budget"):
        train(small.settings(data, run__budget="x"), output=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_file_systems_without_locks_use_the_temporary_folder(tmp_path, monkeypatch):
    real = folder_lock._lock

    def lock(file):
        if Path(file.name).parent == tmp_path / "run":
            raise OSError(errno.ENOLCK, "No locks available")
        real(file)

    monkeypatch.setattr(folder_lock, "_lock", lock)
    with locked(tmp_path / "run"):
        assert not list((tmp_path / "run").iterdir())
        with pytest.raises(OutputExists, match="another process"), locked(tmp_path / "run"):
            pass
    with locked(tmp_path / "run"):
        pass


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a folder that this user cannot write")
def test_a_folder_that_cannot_be_made(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(Unreadable, match="cannot write"), locked(tmp_path / "run"):
        pass


@pytest.mark.parametrize(
    ("number", "kind", "remedy"),
    [
        (errno.EMFILE, Unreadable, "ulimit -n"),
        (errno.EROFS, Unreadable, "writable folder"),
        # Also without a free inode.
        (errno.ENOSPC, DiskFull, "free some space"),
    ],
)
def test_a_lock_that_cannot_be_made_names_the_limit(tmp_path, monkeypatch, number, kind, remedy):
    def acquire(folder):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(folder_lock, "_acquire", acquire)
    with pytest.raises(kind, match=remedy), locked(tmp_path / "run"):
        pass
    assert not (tmp_path / "run").exists()


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege on Windows")
@pytest.mark.parametrize("target", ["lost", "link"])
def test_a_folder_behind_a_broken_link_is_not_made(tmp_path, target):
    """ "File exists" was said of the link, and `mkdir -p link` of a folder behind it."""
    (tmp_path / "link").symlink_to(target)
    for name in ("link", "link/run"):
        with pytest.raises(MissingInput, match=f"link' is a link to '{target}', which does not exist") as caught:
            locked(tmp_path / name).__enter__()
        assert "make the link again" in str(caught.value)
    with pytest.raises(MissingInput, match=f"is a link to '{target}'"):
        check_folder(tmp_path / "link" / "hf", force=False)


def test_replacing_a_run_keeps_other_files_and_follows_no_link(data, tmp_path):
    settings, path = small.settings(data, run__budget__steps=4), tmp_path / "run"
    train(settings, output=path)
    weights = small.weights(path)
    (path / "notes.txt").write_text("mine")
    (path / ".best.123.part").write_text("left")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "precious").write_text("mine")
    (path / "eval").symlink_to(tmp_path / "kept")
    train(settings, output=path, force=True)
    assert small.weights(path) == weights
    assert (path / "notes.txt").read_text() == (tmp_path / "kept" / "precious").read_text() == "mine"
    assert not (path / ".best.123.part").exists() and not (path / "eval").exists()


@pytest.mark.parametrize("name", ["config.yaml", "README.md", "tok.json", "checkpoints"])
def test_a_folder_of_the_user_is_no_run(data, tmp_path, name):
    (tmp_path / name).write_text("mine")
    for force in (False, True):
        with pytest.raises(OutputExists, match="not a run folder"):
            train(small.settings(data, run__budget__steps=4), output=tmp_path, force=force)
    assert (tmp_path / name).read_text() == "mine" and len(list(tmp_path.iterdir())) == 1


def test_a_killed_replacement_is_continued(data, tmp_path, monkeypatch):
    """Killed at each renaming of a file of the old run in turn."""
    settings = small.settings(data, run__budget__steps=2)
    train(settings, output=tmp_path / "whole")
    real = files.rename

    class Killed(BaseException):
        pass

    for after in range(0, 60, 3):
        path, left = tmp_path / f"run{after}", [after]
        train(settings, output=path)

        def rename(source, target, handle=None, left=left):
            left[0] -= target.parent.name.startswith(".removed")
            if left[0] < 0:
                raise Killed
            real(source, target, handle)

        with monkeypatch.context() as patch:
            patch.setattr(files, "rename", rename)
            try:
                train(settings, output=path, force=True)
                break
            except Killed:
                pass
        assert after or (path / "result.json").exists()
        train(settings, output=path, force=True)
        assert small.weights(path) == small.weights(tmp_path / "whole")
        assert not list(path.glob(".*"))
    else:
        pytest.fail("the removal never ended")
    assert after > 12


@pytest.mark.parametrize("locked_name", ["vocab.json", "train_state.json", "SHA256SUMS"])
def test_a_run_of_which_a_file_cannot_be_removed_stays_whole(data, tmp_path, monkeypatch, locked_name):
    """As a file is after `chattr +i`, or in a folder of another user."""
    settings, path = small.settings(data, run__budget__steps=2), tmp_path / "run"
    train(settings, output=path)
    before = small.tree(path)

    def refuse(real):
        def call(name, *more, **options):
            if Path(name).name == locked_name:
                raise PermissionError(errno.EPERM, "Operation not permitted", str(name))
            return real(name, *more, **options)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse(os.replace))
        patch.setattr(os, "unlink", refuse(os.unlink))
        with pytest.raises(Unreadable, match=f"cannot remove '.*/{locked_name}': Operation not permitted"):
            train(settings, output=path, force=True)
    assert small.tree(path) == before
    train(settings, output=path, force=True)


def test_temporary_files_of_a_killed_process_are_removed_on_resume(data, tmp_path):
    settings, path = small.settings(data, run__budget__steps=6, run__save_every=2), tmp_path / "run"
    train(settings, output=path, report=small.stop_at(3))
    for part in (
        path / ".metrics.jsonl.99.part",
        path / "checkpoints/.best.99.part",
        path / "checkpoints/.latest.99.part",
    ):
        part.write_text("left")
    train(settings, output=path)
    assert not list(path.rglob("*.part"))


def test_waiting_for_the_lock_of_a_dying_process_needs_no_time(tmp_path):
    process = holder(tmp_path / "run")
    process.kill()
    process.communicate()
    begun = time.monotonic()
    with locked(tmp_path / "run"):
        assert time.monotonic() - begun < 5
