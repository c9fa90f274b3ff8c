"""Wrong inputs of `slm` whose message once misled: what is said, the exit status, and that nothing is changed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

TEXT = "The cat sat on the mat. A dog saw the cat, and the cat saw the dog.\n"

CASES = {
    "eval run --certificate run/model.safetensors --force": (2, "output 'run/model.safetensors' is also the input"),
    "eval run --losses run/tok.json --force": (2, "fix:   name another --losses"),
    "eval run --losses run": (1, "error: output 'run' is a folder\n"),
    "eval run --certificate nowhere/c.json": (1, "no folder 'nowhere' for the output 'c.json'"),
    "eval run --stride 0": (2, "--stride takes an integer >= 1, not '0'"),
    "eval run --on tok.json": (2, "tok.json is a tokenizer file of slmtok, not text"),
    "eval run --on a.counts": (2, "a.counts is a counts file, not text"),
    "eval run --on run": (2, "error: 'run' is a run of slm, not text\n"),
    "eval tok.json --on a.txt": (2, "fix:   slm eval RUN, or slmtok eval tok.json --on TEXT, which needs no model\n"),
    "config tok.json --check": (2, "--check needs a FILE of settings; tok.json is a tokenizer"),
    "batches nothing": (1, "error: no file or folder 'nothing'\n"),
    "batches data --pack best": (2, "fix:   --pack concat\n"),
    "batches data/train-00000.bin": (1, "fix:   name the folder: data\n"),
    "batches a.counts -t tok.json": (2, "a.counts is a counts file, not text"),
    "batches run/checkpoints/step-4 -t tok.json": (2, "fix:   name the text, or the run: run\n"),
    "resume run": (1, "fix:   slm resume run --step 4 -o NEW --budget steps=8\n"),
    "resume run -o new": (1, "fix:   slm resume run --step 4 -o NEW --budget steps=8\n"),
    "resume run --step 4 -o new --set model.dropout=0.1": (
        2,
        "the model of a run does not change",
    ),
    "demo a.txt -o d --budget 2min": (2, "fix:   --budget time=2min\n"),
    "demo a.txt -o d --vocab 8k": (2, "fix:   --vocab 8000, or --vocab 8192\n"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with text, its tokenizer and counts, packed data, and a run of four steps on them."""
    import slmtok
    from slmmodel.app import train

    folder = tmp_path_factory.mktemp("made")
    (folder / "a.txt").write_text(TEXT * 200)
    tokenizer = slmtok.train(folder / "a.txt", vocab_size=290)
    tokenizer.save(folder / "tok.json")
    slmtok.count(folder / "a.txt").save(folder / "a.counts")
    slmtok.pack(folder / "a.txt", tokenizer, folder / "data")
    small = {"model.n_layers": 1, "model.d_model": 16, "model.seq_len": 64, "run.batch_tokens": 64}
    options = {"preset": "cpu-demo", "budget": "steps=4", "settings": small, "device": "cpu", "progress": False}
    train(folder / "data", output=folder / "run", **options)
    return folder


@pytest.mark.parametrize("line", CASES)
def test_the_message_names_the_cause(slm, made, tmp_path, line):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    before = {path: path.stat().st_size for path in sorted(tmp_path.rglob("*"))}
    status, message = CASES[line]
    ran = slm(*line.split(), code=status)
    assert message in ran.err, ran.err
    assert {path: path.stat().st_size for path in sorted(tmp_path.rglob("*"))} == before
