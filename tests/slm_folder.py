"""Folders with text, a tokenizer, packed data and a run of two steps."""

from __future__ import annotations

from pathlib import Path

TEXT = "once upon a time there was a little fox. the fox saw a tree. the tree was tall. "
SHAPE = ["d_model=16", "n_heads=2", "n_kv_heads=2", "d_ff=32", "n_layers=1", "seq_len=8"]
TRAIN = [*(f"--set=model.{each}" for each in SHAPE), "--set=run.batch_tokens=16", "--threads=1", "--device=cpu"]


TEXTS = [f"once upon a time there was a little fox. the fox saw tree {number}." for number in range(60)]
WIDE_SHAPE = {"model.d_model": 32, "model.n_layers": 1, "model.n_heads": 2, "model.n_kv_heads": 2, "model.seq_len": 32}


def make_in_python(folder: Path) -> Path:
    """Writes `tok.json`, `text.txt`, `data` and `run` by Python calls."""
    import slmmodel
    import slmtok

    tok = slmtok.train(slmtok.Texts(TEXTS), vocab_size=290)
    tok.save(folder / "tok.json")
    (folder / "text.txt").write_text("\n".join(TEXTS))
    slmtok.pack(folder / "text.txt", tok, folder / "data", document="line", val="hash:20%")
    settings = {**WIDE_SHAPE, "run.batch_tokens": 128}
    slmmodel.train(
        folder / "data", preset="cpu-demo", budget="steps=2", output=folder / "run", settings=settings, device="cpu"
    )
    return folder


def make_folder(folder: Path, *options: str) -> Path:
    """Writes `text.txt`, `tok.json`, `data` and `run`; `options` of `slm train`."""
    import slmtok
    from slmmodel.cli import main
    from slmtok.shards import pack

    (folder / "text.txt").write_text(TEXT * 30)
    slmtok.train(str(folder / "text.txt"), vocab_size=290).save(folder / "tok.json")
    pack(str(folder / "text.txt"), slmtok.load(folder / "tok.json"), folder / "data")
    line = ["train", f"{folder}/data", "-o", f"{folder}/run", "--budget", "steps=2", "-q", *options]
    assert main([*line, "--preset=cpu-demo", *TRAIN]) == 0
    return folder
