"""Data without a byte of text, and weights that are not finite: errors, not `nan` bits per byte."""

from __future__ import annotations

from pathlib import Path

import made_shards as made
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from made_runs import write_run  # noqa: E402

EMPTY = [[1, 2]] * 3


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return made.write_data(tmp_path / "data", {"train": [made.documents([90])], "val": [made.documents([15, 20])]})


@pytest.mark.parametrize("dry_run", [["--dry-run"], []])
def test_training_is_refused(slm, tmp_path, data, dry_run):
    empty = made.write_data(tmp_path / "empty", {"train": [EMPTY]})
    for arguments, message in (
        ([empty], "the data have no text to train on"),
        ([data, "--val", empty], "the validation data have no text"),
    ):
        ran = slm("train", *arguments, "-o", "run", "--budget", "steps=1", "--device", "cpu", *dry_run)
        assert (ran.code, f"error: {message}\n" in ran.err) == (1, True), ran.err
        assert str(empty) in ran.err and not Path("run").exists()


def test_a_split_that_chooses_no_document_is_noted(slm):
    """Text trains as the packed data of the same corpus do; equal documents are all chosen, or none."""
    import slmtok

    Path("text.txt").write_text("the fox saw a tree and ran.\n" * 200)
    slmtok.train("text.txt", vocab_size=280).save("tok.json")
    line = ("train", "text.txt", "--document", "line", "-t", "tok.json", "--budget", "steps=1", "--device", "cpu")
    line += ("--set", "run.batch_tokens=64", "--set", "model.seq_len=32")
    note = "text.txt has no validation documents with text, so nothing is validated; data.val names other ones\n"
    for more in (["--dry-run"], []):
        assert note in slm(*line, "-o", "run", *more, code=0).err
    assert slm("resume", "run", "--step", 1, "-o", "longer", "--budget", "steps=2", code=0).err.count(note) == 1
    refused = slm(*line, "-o", "new", "--set", "run.patience=2", code=2)
    assert "stops a run by its validation, and nothing is validated" in refused.err
    assert not Path("new").exists()


def test_scoring_is_refused(slm, tmp_path, data):
    empty = made.write_data(tmp_path / "empty", {"val": [EMPTY]})
    write_run(tmp_path / "run", data)
    ran = slm("eval", "run", "--on", empty)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error: the data have no text to score, in 3 documents\n")
    assert not Path("run/eval").exists()


def test_weights_that_are_not_finite(slm, tmp_path, data):
    write_run(tmp_path / "run", data, noise=float("nan"))
    for command in (["eval"], ["sample", "--ids", "1 20"], ["logprobs", "--ids", "1 20"], ["export", "-o", "hf"]):
        ran = slm(command[0], "run", *command[1:])
        assert (ran.code, ran.out) == (1, ""), command
        assert ran.err.startswith("error: the weights hold NaN or infinity, in the tensor 'blocks.0.")
        assert "no checkpoint of the run has finite weights" in ran.err
    assert not Path("run/eval").exists() and not Path("hf").exists()
