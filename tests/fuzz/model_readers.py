"""The readers of slmmodel that are fuzzed: run folders, configurations, certificates, and packed data."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import yaml
from readers import Reader, envelope, layout, metadata, packed, run

from slmmodel.cli import main as slm_main

SETTINGS = [
    *("model.arch=llama", "model.d_model=16", "model.n_layers=1", "model.n_heads=2", "model.n_kv_heads=2"),
    *("model.seq_len=16", "run.batch_tokens=64", "run.save_every=2", "run.log_every=1", "run.eval_every=2"),
]
_SET = [part for setting in SETTINGS for part in ("--set", setting)]


def slm(*argv: str) -> None:
    """Runs a command that must succeed."""
    error = run(slm_main, list(argv))
    assert error is None, error


def trained() -> None:
    """A finished run with two checkpoints. It is trained once; later tests get a copy."""
    made = Path.cwd().parent / "trained"
    if not made.exists():
        packed()
        slm("train", "data", "-o", "run", "--budget", "steps=4", *_SET)
        shutil.copytree(".", made)
    shutil.copytree(made, ".", dirs_exist_ok=True)


def stopped() -> None:
    """The same run before its last step."""
    trained()
    Path("run/result.json").unlink()
    Path("run/model.safetensors").unlink()
    Path("run/checkpoints/best").unlink()
    shutil.rmtree("run/checkpoints/step-4")
    sign()


def evaluated() -> None:
    """With a certificate."""
    trained()
    slm("eval", "run")


def configured() -> None:
    """A configuration file with settings of every kind."""
    packed()
    Path("run.yaml").write_text(
        "model: {arch: llama, d_model: 16, n_layers: 1, n_heads: 2, n_kv_heads: 2, seq_len: 16}\n"
        "data: {train: data, pack: concat}\n"
        "optim: {name: adamw, lr: 0.001, betas: [0.9, 0.99], schedule: {kind: cosine, warmup: 0.1}}\n"
        "run: {batch_tokens: 64, seed: 1, budget: {steps: 4}, track: [], compile: 'off'}\n",
        encoding="utf-8",
    )


def indexed() -> None:
    """A run whose weights have an index, as several ranks write it."""
    trained()
    names = json.loads(json.dumps(_tensor_names()))
    file = "model-00001-of-00001.safetensors"
    Path("run/model.safetensors").rename(f"run/{file}")
    index = {"metadata": {}, "weight_map": dict.fromkeys(names, file)}
    Path("run/model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    sign()


def _tensor_names() -> list[str]:
    from safetensors import safe_open

    with safe_open("run/model.safetensors", "np") as file:
        return list(file.keys())


def sign() -> None:
    """The sums of the files that lie in the run folder and in its checkpoints."""
    for sums in Path("run").rglob("SHA256SUMS"):
        known = [*_SIGNED, "train_state.json"] if sums.parent.name == "run" else ["train_state.json"]
        names = {*known, *(path.name for path in sums.parent.glob("*.safetensors*"))}
        files = sorted(sums.parent / name for name in names if (sums.parent / name).is_file())
        lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
        sums.write_text("".join(lines), encoding="utf-8")


_SIGNED = ["vocab.json", "tok.json", "fingerprint.json", "config.yaml"]


def lines(data: bytes) -> Any:
    """The lines of a JSON Lines file."""
    return [json.loads(line) for line in data.splitlines()]


def lines_of(content: Any) -> bytes:
    """A JSON Lines file."""
    return b"".join(json.dumps(line).encode() + b"\n" for line in content)


def yaml_of(content: Any) -> bytes:
    """A YAML file; what YAML cannot hold becomes JSON."""
    try:
        return yaml.safe_dump(content, allow_unicode=False).encode()
    except yaml.YAMLError:
        return json.dumps(content).encode()


_INFO = [["info", "run"], ["status", "run"]]
_SAMPLE = ["sample", "run", "--ids", "1,20", "--max-new-tokens", "2"]
_TRAIN = ["train", "data", "-o", "run", "--budget", "steps=4", *_SET]

MODEL_READERS: dict[str, Reader] = {
    "vocab.json of slm": Reader("vocab.json", metadata, [["info", "vocab.json"]], slm_main),
    "manifest of slm": Reader("data/manifest.json", packed, [["batches", "data", "--n", "1"]], slm_main),
    "meta.json of slm": Reader(
        "flat/meta.json", layout, [["batches", "flat/train.bin", "--n", "1"]], slm_main, names=frozenset({"dtype"})
    ),
    "fingerprint": Reader("run/fingerprint.json", trained, _INFO, slm_main, after=sign),
    "result": Reader("run/result.json", trained, _INFO, slm_main),
    "metrics": Reader(
        *("run/metrics.jsonl", stopped, _INFO, slm_main),
        parse=lines,
        write=lines_of,
        names=frozenset({"is not a JSON object"}),
    ),
    "config.yaml": Reader(
        "run/config.yaml",
        trained,
        [*_INFO, _SAMPLE, ["eval", "run", "--no-baselines", "--certificate", "c.json", "--force"]],
        slm_main,
        parse=yaml.safe_load,
        write=yaml_of,
        after=sign,
        # Data that are text are opened by slmtok, which names them.
        names=frozenset({"is a pipe or a device"}),
    ),
    "weight index": Reader("run/model.safetensors.index.json", indexed, [_SAMPLE], slm_main, after=sign),
    "train state": Reader(
        "run/checkpoints/step-2/train_state.json", stopped, [_TRAIN], slm_main, after=sign, writes="run"
    ),
    "certificate": Reader(
        "run/eval/val.json",
        evaluated,
        [["eval", "run", "--check", "run/eval/val.json"], ["info", "run"]],
        slm_main,
        write=envelope,
        # What is scored is named by the data and the model.
        names=frozenset({"has no split", "seq_len", "stride"}),
    ),
    "configuration": Reader(
        "run.yaml", configured, [["config", "--check", "run.yaml"]], slm_main, parse=yaml.safe_load, write=yaml_of
    ),
}
