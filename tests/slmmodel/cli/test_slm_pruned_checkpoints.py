"""Commands on a run that is trained meanwhile, and loses the checkpoint that they read, or gets newer ones."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from printed_fixes import fix_in
from safetensors.torch import load_file, save_file
from slm_folder import make_folder

from slmmodel import checkpoint
from slmmodel.checkpoint import RunFolder, weights_digest


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose run has two checkpoints and no result, as one that is trained."""
    folder = make_folder(tmp_path_factory.mktemp("made"), "--no-eval", "--set", "run.save_every=1")
    for name in ("result.json", "model.safetensors"):
        (folder / "run" / name).unlink()
    return folder


def steps(here: Path) -> list[int]:
    return RunFolder(here / "run").checkpoints.list()


def remove_on_read(monkeypatch: Any, name: str) -> None:
    """The checkpoint is removed, as training does it, before this function of `checkpoint` reads it."""
    function = getattr(checkpoint, name)

    def read(folder: Path, *arguments: Any) -> Any:
        if folder.parent.name == "checkpoints" and len(list(folder.parent.glob("step-*"))) > 1:
            shutil.rmtree(folder)
        return function(folder, *arguments)

    monkeypatch.setattr(checkpoint, name, read)


@pytest.mark.parametrize("name", ["read_train_state", "weights_digest", "map_tensors"])
def test_a_checkpoint_that_training_removes_is_no_fault_of_the_disk(slm, here, monkeypatch, name):
    older, newest = steps(here)
    remove_on_read(monkeypatch, name)
    err = slm("sample", "run", "--prompt", "a", "--max-new", 1, code=1).err
    assert f"step-{newest} was removed while it was read\n" in err and "run.keep" in err, err
    # The same command again.
    assert f"the weights are those of step {older}" in slm("sample", "run", "--prompt", "a", "--max-new", 1, code=0).err


def test_a_removed_checkpoint_that_was_asked_for_names_those_that_are_there(slm, here, monkeypatch):
    older, newest = steps(here)
    remove_on_read(monkeypatch, "map_tensors")
    err = slm("sample", "run", "--step", older, "--prompt", "a", "--max-new", 1, code=1).err
    assert f"no checkpoint of step {older}" in err and f"fix:   --step {newest}" in err, err


def test_all_listed_checkpoints_are_removed_before_they_are_read(here, monkeypatch):
    verify, (older, newest) = checkpoint.verify_sums, steps(here)

    def verify_removed(folder: Path, *arguments: Any) -> bool:
        if folder.name == f"step-{newest}":
            folder.rename(folder.with_name("aside"))
            shutil.rmtree(folder.with_name(f"step-{older}"))
            folder.with_name("aside").rename(folder.with_name("step-1000"))
        return verify(folder, *arguments)

    monkeypatch.setattr(checkpoint, "verify_sums", verify_removed)
    assert RunFolder(here / "run").checkpoints.newest() == 1000


@pytest.mark.parametrize("change", ["newer", "removed"])
def test_a_certificate_has_the_digest_of_the_weights_that_were_scored(slm, here, monkeypatch, change):
    """It had that of the newest checkpoint at the end of the scoring."""
    from slmmodel.evaluation import certificate

    score, folder = certificate.score, RunFolder(here / "run").checkpoints
    older, newest = steps(here)
    aside = here / f"step-{newest}"
    folder.path(newest).rename(aside)
    scored = weights_digest(folder.path(older))

    def score_meanwhile(*arguments: Any, **keywords: Any) -> Any:
        aside.rename(folder.path(newest))
        if change == "removed":
            shutil.rmtree(folder.path(older))
        return score(*arguments, **keywords)

    monkeypatch.setattr(certificate, "score", score_meanwhile)
    result = slm("eval", "run", "--json", code=0).json["result"]
    assert result["model"]["weights"] == scored


def test_a_branch_of_a_checkpoint_that_does_not_fit_names_another_one_of_its_run(slm, here):
    """It was called the only checkpoint: that of the branch, which was removed."""
    older, newest = steps(here)
    folder = RunFolder(here / "run").checkpoints.path(newest)
    tensors = load_file(folder / "optim.safetensors")
    save_file({name: each.double() for name, each in tensors.items()}, folder / "optim.safetensors", {"format": "pt"})
    (folder / "SHA256SUMS").write_bytes(checkpoint.sums_of(folder, checkpoint.read_sums(folder)))
    err = slm("resume", "run", "--step", newest, "-o", "new", "--budget", f"steps={2 * newest}", "-q", code=1).err
    assert f"where: run/checkpoints/step-{newest}\n" in err, err
    assert fix_in(err) == f"resume from another checkpoint: slm resume run --step {older} -o run-2"


def test_a_checkpoint_that_was_cut_short(slm, here):
    """Of a checkpoint, `--allow-mismatch files` allows nothing."""
    older, newest = steps(here)
    os.truncate(RunFolder(here / "run").checkpoints.path(newest) / "optim.safetensors", 100)
    err = slm("resume", "run", "--step", newest, "-o", "new", code=1).err
    assert "error: optim.safetensors has 100 bytes, and no sound header\n" in err, err
    assert fix_in(err) == f"restore the file, or another checkpoint: slm resume run -o new --step {older}"
