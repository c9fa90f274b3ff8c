"""A small learnable corpus as shards, and settings of a run that takes a second."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import made_shards as made
import numpy as np
import pytest
from safetensors.torch import load_file, save_file
from torch import Tensor

from slmmodel import checkpoint, run_entries
from slmmodel.config import RunConfig, resolve, settings_of
from slmmodel.data import Batch, RunData, open_data
from slmmodel.distributed import World
from slmmodel.training.setup import make_loader
from slmmodel.training.step import TrainStep

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
    return made.write_data(folder, {"train": [documents(count, 0)], "val": [documents(6, 1)]})


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
    if "run__budget__steps" not in changes and any(name.startswith("run__budget__") for name in changes):
        del table["run.budget.steps"]
    return table


def recurrent(table: dict[str, Any], arch: str, n_layers: int = 2) -> dict[str, Any]:
    """The settings of a run with a recurrent model instead."""
    kept = {key: value for key, value in table.items() if not key.startswith("model.")}
    model = {"arch": arch, "n_layers": n_layers, "d_model": 16, "hidden_size": 16, "seq_len": 16}
    return kept | {f"model.{key}": value for key, value in model.items()}


def weights(run: Path) -> bytes:
    return (run / "model.safetensors").read_bytes()


def lines(run: Path) -> list[dict[str, Any]]:
    """The lines of the metrics of a run."""
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def losses(run: Path) -> list[float]:
    return [line["loss"] for line in lines(run)]


def opened(data: Path, **changes: Any) -> tuple[RunData, RunConfig]:
    """The corpus and the configuration of a run on it."""
    found = open_data(str(data))
    return found, resolve(settings_of(settings(data, **changes)), found.vocab, found.n_train_ids, "cpu")[0]


def train_step_of(table: dict[str, Any]) -> TrainStep:
    """The train step of a run on one process."""
    found = open_data(table["data.train"])
    config, _ = resolve(settings_of(table), found.vocab, found.n_train_ids, "cpu")
    return TrainStep(config, make_loader(found, config), World())


def on_backward(patch: pytest.MonkeyPatch, hook: Callable[[int, int], float | None]) -> None:
    """Calls `hook(step, sequences)` before each backward pass; a number that it gives multiplies the loss."""
    real = TrainStep._backward

    def backward(train_step: TrainStep, batch: Batch, factor: float, step: int) -> Tensor:
        scale = hook(step, len(batch.sequence_keys))
        nats = real(train_step, batch, factor, step)
        return nats if scale is None else nats * scale

    patch.setattr(TrainStep, "_backward", backward)


def stop_at(step: int, number: int = signal.SIGTERM) -> Callable[[str, int, int, str], None]:
    """A progress report that sends a signal to this process once a step is done."""

    def report(stage: str, done: int, total: int, text: str) -> None:
        if stage == "training" and done == step:
            os.kill(os.getpid(), number)

    return report


def tree(folder: Path) -> dict[str, bytes]:
    """The content of all files of a folder, by name."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def write_sums(folder: Path) -> None:
    """Makes the sums of a spoiled checkpoint say that it is intact."""
    (folder / checkpoint.SUMS).write_bytes(checkpoint.sums_of(folder, checkpoint.read_sums(folder)))


def spoil_tensor(path: Path, name: str) -> None:
    """Changes a tensor in a file by 0.01."""
    tensors = load_file(path)
    tensors[name] = tensors[name] + 0.01
    save_file(tensors, path, metadata={"format": "pt"})


def write_state(checkpoint_folder: Path, state: dict[str, Any]) -> None:
    """Replaces `train_state.json` of a checkpoint, with its sum."""
    (checkpoint_folder / run_entries.TRAIN_STATE).write_bytes(checkpoint.to_json(state))
    write_sums(checkpoint_folder)
