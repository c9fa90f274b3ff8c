"""A run written by hand: a tiny untrained model in a run folder, beside packed data, without slmtok."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import yaml

from slmmodel.checkpoint import RunFolder
from slmmodel.distributed import World
from slmmodel.models import build, config_from_dict
from slmmodel.vocab import VocabMeta

TINY = {"arch": "llama", "seq_len": 16, "d_model": 16, "n_layers": 1, "n_heads": 2}


RESULT = {
    "reason": "finished",
    "step": 1,
    "steps": 1,
    "tokens": 64,
    "targets": 64,
    "bytes": 64,
    "epochs": 1.0,
    "flops": 1e6,
    "loss": 5.0,
    "val_loss": None,
    "val_bpb": None,
    "best_bpb": None,
    "skipped": 0,
    "seconds": 1.0,
    "parameters": 1,
    "precision": "fp32",
    "device": "cpu",
}
"""Of a run that trained for one step."""


def write_run(
    folder: Path, data: Path, *, tokenizer: bytes | None = None, seed: int = 0, noise: float = 0.0, **shape: Any
) -> RunFolder:
    """A finished run whose data section names `data`; `noise` is added to the initial weights."""
    vocab = VocabMeta.load(data / "vocab.json")
    sizes = {"n_vocab": vocab.n_vocab, "padded_vocab": vocab.padded_vocab}
    options = {**TINY, **sizes, **shape}
    config = config_from_dict({name: value for name, value in options.items() if value is not None})
    content = {
        "model": config.model_dump(),
        "data": {"train": str(data), "val": "auto", "pack": "concat", "positions": "auto", "shuffle": "documents"},
        "optim": {"name": "adamw"},
        "run": {"batch_tokens": 64, "seed": 5},
    }
    run = RunFolder(folder)
    fingerprint = {"version": 2, "fingerprint": vocab.fingerprint}
    run.create(yaml.safe_dump(content).encode(), fingerprint, (data / "vocab.json").read_bytes(), tokenizer)
    model = build(config, seed=seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)) * noise)
    run.finish(model.state_dict(), World())
    run.write_result(RESULT, b"# a run\n")
    return run
