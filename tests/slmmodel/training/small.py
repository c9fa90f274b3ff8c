"""A small learnable corpus as shards, and settings of a run that takes a second."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import made_shards as made
import numpy as np
from safetensors.torch import load_file, save_file

MODEL = {"arch": "llama", "n_layers": 2, "d_model": 32, "n_heads": 2, "n_kv_heads": 1, "d_ff": 64, "seq_len": 16}


def documents(count: int, seed: int) -> list[list[int]]:
    """Documents that count up from a random id with some noise: learnable, but not perfectly."""
    rng = np.random.default_rng(seed)
    found = []
    for size in rng.integers(3, 60, count).tolist():
        start = int(rng.integers(16, 200))
        ids = (start + np.arange(size) + (rng.random(size) < 0.1)).tolist()
        found.append([1, *ids, 2])
    return found


def data(folder: Path, count: int = 80) -> Path:
    """The corpus as a folder of shards with a validation split."""
    return made.write_data(folder, {"train": [documents(count, 0)], "val": [documents(12, 1)]})


def settings(data: Path, **changes: Any) -> dict[str, Any]:
    """Nested settings; `changes` are dotted names with `__` for dots."""
    table: dict[str, Any] = {
        "data.train": str(data),
        "optim.name": "adamw",
        "optim.lr": 1e-2,
        "run.batch_tokens": 64,
        "run.budget.steps": 12,
        "run.save_every": 4,
        "run.eval_every": 6,
        "run.device": "cpu",
        "run.threads": 1,
        **{f"model.{key}": value for key, value in MODEL.items()},
    }
    table |= {key.replace("__", "."): value for key, value in changes.items()}
    if any(key.startswith("run.budget.") for key in (name.replace("__", ".") for name in changes)):
        table.pop("run.budget.steps") if "run__budget__steps" not in changes else None
    return table


def weights(run: Path) -> bytes:
    return (run / "model.safetensors").read_bytes()


def stop_at(step: int, number: int = signal.SIGTERM) -> Callable[[str, int, int, str], None]:
    """A progress report that sends a signal to this process once a step is done."""

    def report(stage: str, done: int, total: int, text: str) -> None:
        if done == step:
            os.kill(os.getpid(), number)

    return report


def spoil_tensor(path: Path, name: str) -> None:
    """Changes a tensor in a file a little."""
    tensors = load_file(path)
    tensors[name] = tensors[name] + 0.01
    save_file(tensors, path, metadata={"format": "pt"})
