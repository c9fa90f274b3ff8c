"""A run written by hand: a tiny untrained model in a bundle, beside packed data; nothing of slmtok takes part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from slmmodel.bundle import Bundle, files
from slmmodel.models import ModelConfig, build
from slmmodel.vocab import VocabMeta

TINY = {"arch": "llama", "seq_len": 16, "d_model": 16, "n_layers": 1, "n_heads": 2}


def write_run(folder: Path, data: Path, *, tokenizer: bytes | None = None, seed: int = 0, **model: Any) -> Bundle:
    """A finished run whose data section names `data`."""
    vocab = VocabMeta.load(data / "vocab.json")
    sizes = {"n_vocab": vocab.n_vocab, "padded_vocab": vocab.padded_vocab}
    options = {**TINY, **sizes, **model}
    config = ModelConfig.from_dict({name: value for name, value in options.items() if value is not None})
    content = {
        "model": config.to_dict(),
        "data": {"train": str(data), "val": "auto", "pack": "concat", "positions": "auto", "shuffle": "documents"},
        "optim": {"name": "adamw"},
        "run": {"batch_tokens": 64, "seed": 5},
    }
    names = {
        "vocab.json": (data / "vocab.json").read_bytes(),
        "data.lock": json.dumps({"fingerprint": vocab.fingerprint}).encode(),
        "config.yaml": yaml.safe_dump(content).encode(),
    }
    if tokenizer is not None:
        names["tok.json"] = tokenizer
    bundle = Bundle.create(folder, names)
    bundle.finish(files.to_tensors(build(config, seed=seed).state_dict()), {"reason": "finished"}, b"# a run\n")
    return bundle
