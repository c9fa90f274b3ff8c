"""What a training step costs: each kind of model, AdamW beside Muon, fp32 beside bf16, at bodies of equal size.

    python -m benchmarks.training_costs [--rounds 7] [--threads N] [--rows 16] [--json]

Bodies have the parameters of the llama of `cpu-demo` within two per cent: 4 layers of width 128, or 2 layers of cells
whose hidden size is chosen for it; 1,024 ids, context 128, tied embeddings. All cells take turns, a step each a round,
so that what else the machine does falls on all alike; the time is that of the process over all its threads, its median
over the rounds. bf16 is autocast, weights stay fp32; where the processor has no products in bf16 the table says so. Ids
are random, since speed does not depend on what they say. It says nothing about how well a step learns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from typing import Any, NamedTuple

import torch

from slmmodel.config import OptimConfig
from slmmodel.data import Cursor
from slmmodel.hardware import has_bf16_matmul
from slmmodel.models import ModelConfig, config_from_dict, count
from slmmodel.models.config import RecurrentConfig
from slmmodel.training.bench import make_step
from slmmodel.training.step import TrainStep

WIDTH, CONTEXT, N_VOCAB = 128, 128, 1024
KINDS = ("llama", "gpt2", "lstm", "gru", "rnn")
OPTIMIZERS, PRECISIONS = ("adamw", "muon"), ("fp32", "bf16")
CPU = torch.device("cpu")


class Cell(NamedTuple):
    """What is measured."""

    kind: str
    optimizer: str
    precision: str


def config_of(kind: str) -> ModelConfig:
    """A model of that kind whose body is as large as the llama's."""
    sizes: dict[str, Any] = {"arch": kind, "d_model": WIDTH, "n_vocab": N_VOCAB, "padded_vocab": N_VOCAB}
    sizes["seq_len"] = CONTEXT
    if kind in ("llama", "gpt2"):
        more = {"n_kv_heads": 4, "d_ff": 352} if kind == "llama" else {}
        return config_from_dict({**sizes, "n_layers": 4, "n_heads": 4, **more})
    goal = count(config_of("llama")).matrices
    found = (config_from_dict({**sizes, "n_layers": 2, "hidden_size": hidden}) for hidden in range(64, 1024, 8))
    return min(found, key=lambda config: abs(count(config).matrices - goal))


def step_of(cell: Cell, rows: int) -> TrainStep:
    """The trainer's own step on random rows."""
    settings = OptimConfig(name=cell.optimizer, lr=1e-3)
    return make_step(config_of(cell.kind), settings, CPU, precision=cell.precision, batch_size=rows)


def cells() -> list[Cell]:
    """All that this machine can do."""
    can = PRECISIONS if has_bf16_matmul("cpu") else PRECISIONS[:1]
    return [Cell(kind, name, precision) for kind in KINDS for name in OPTIMIZERS for precision in can]


def measure(rounds: int, rows: int) -> dict[Cell, tuple[float, float]]:
    """Milliseconds of process and of clock a step, medians; the first round is not counted."""
    steps = {cell: step_of(cell, rows) for cell in cells()}
    taken = {cell: step.loader.step(Cursor()) for cell, step in steps.items()}
    times: dict[Cell, list[tuple[float, float]]] = {cell: [] for cell in steps}
    for _ in range(rounds + 1):
        for cell, step in steps.items():
            cpu, wall = time.process_time(), time.perf_counter()
            step.run(taken[cell].sequences, taken[cell].n_targets, 0)
            times[cell].append((time.process_time() - cpu, time.perf_counter() - wall))
    for step in steps.values():
        step.close()
    return {
        cell: (1000 * statistics.median(a for a, _ in line[1:]), 1000 * statistics.median(b for _, b in line[1:]))
        for cell, line in times.items()
    }


def table(found: dict[Cell, tuple[float, float]], rows: int) -> str:
    """Markdown: a line a model, milliseconds of process a step, and what Muon and bf16 change."""
    lines = ["| model | parameters | AdamW, fp32 | ids/s | Muon, fp32 | AdamW, bf16 | Muon, bf16 |"]
    lines.append("|---|---|---|---|---|---|---|")
    for kind in KINDS:
        config = config_of(kind)
        shape = f"hidden {config.hidden_size}" if isinstance(config, RecurrentConfig) else "4 layers, 4 heads"
        base, clock = found[Cell(kind, "adamw", "fp32")]
        others = [found.get(Cell(kind, *key)) for key in (("muon", "fp32"), ("adamw", "bf16"), ("muon", "bf16"))]
        each = ["no such products" if one is None else f"{one[0]:.0f} ms, {one[0] / base:.2f} times" for one in others]
        lines.append(
            f"| `{kind}`, {shape} | {count(config).parameters:,} | {base:.0f} ms "
            f"| {1000 * rows * CONTEXT / clock:,.0f} | {' | '.join(each)} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="What a training step costs.")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--rows", type=int, default=16)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    found = measure(options.rounds, options.rows)
    if options.json:
        lines = [{**cell._asdict(), "cpu_ms": cpu, "wall_ms": wall} for cell, (cpu, wall) in found.items()]
        sys.stdout.write(json.dumps({"threads": torch.get_num_threads(), "rows": options.rows, "cells": lines}) + "\n")
        return 0
    sys.stdout.write(
        f"{options.rows} rows of {CONTEXT} ids, {torch.get_num_threads()} threads, torch {torch.__version__}\n\n"
    )
    sys.stdout.write(table(found, options.rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
