"""A folder with text, a tokenizer, packed data and a run of two steps, made by the commands of `slm`."""

from __future__ import annotations

from pathlib import Path

TEXT = "once upon a time there was a little fox. the fox saw a tree. the tree was tall. "
SHAPE = ["d_model=16", "n_heads=2", "n_kv_heads=2", "d_ff=32", "n_layers=1", "seq_len=8"]
TRAIN = [*(f"--set=model.{each}" for each in SHAPE), "--set=run.batch_tokens=16", "--threads=1", "--device=cpu"]


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
