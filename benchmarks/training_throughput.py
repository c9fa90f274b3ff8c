"""Training throughput of our gpt2 beside a plain PyTorch loop, at the shape that nanoGPT's page recommends for a CPU.

    python -m benchmarks.training_throughput [--rounds 9] [--steps 20] [--threads N] [--json]

4 layers, 4 heads, width 128, context 64, 12 rows, 65 ids, no biases, no dropout, AdamW, clipping at 1, fp32. The other
side (`plain_gpt2.py`) is written here from the published architecture (Radford et al. 2019, as PyTorch's own modules
say it) and the published recipe, data loading included: rows at random offsets of a file of 16-bit ids that is mapped
anew for each batch. Ours reads the same file through the loader. Both walk in turns, some steps at a time; the time is
that of the process, so that what else the machine does counts as little as it can. A time counts only with the right
answer: on the same batch and the same weights both losses and all gradients have to agree, and both have to learn.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.plain_gpt2 import Plain, PlainLoop
from slmmodel.config import OptimConfig, RunConfig
from slmmodel.data import Cursor, Loader, open_source
from slmmodel.distributed import World
from slmmodel.training.step import TrainStep
from slmmodel.vocab import VocabMeta

SHAPE = {"n_layers": 4, "n_heads": 4, "d_model": 128}
CONTEXT, ROWS, N_VOCAB, IDS = 64, 12, 65, 1_000_000
RATE, WARMUP, STEPS, BETAS, DECAY = 1e-3, 100, 2000, (0.9, 0.99), 0.1


def corpus(folder: Path) -> Path:
    """A file of 16-bit ids with something to learn: each id mostly follows from the one before."""
    rng = np.random.default_rng(0)
    follows = rng.integers(1, N_VOCAB, (N_VOCAB, 4))
    choices, ids = rng.integers(0, 4, IDS), np.zeros(IDS, np.uint16)
    for at in range(1, IDS):
        ids[at] = follows[ids[at - 1], choices[at]]
    path = folder / "train.bin"
    ids.tofile(path)
    return path


class Ours:
    """The train step as the trainer calls it, without validation, checkpoints and metrics."""

    def __init__(self, path: Path) -> None:
        vocab = VocabMeta(N_VOCAB, 128, {"bos": 0, "eos": 0, "pad": 0}, 0, np.ones(N_VOCAB, np.uint32), "0" * 64)
        source = open_source(path, vocab=vocab, layout="nanogpt", delimiter=0)
        config = RunConfig(
            model={"arch": "gpt2", "n_vocab": N_VOCAB, "padded_vocab": 128, "seq_len": CONTEXT, "bias": False, **SHAPE},
            optim=OptimConfig(lr=RATE, betas=BETAS, weight_decay=DECAY),
        )
        loader = Loader(source, vocab, seq_len=CONTEXT, batch_size=ROWS)
        self.train_step = TrainStep(config, loader, World())
        self.model = self.train_step.model
        self.step, self.next = 0, loader.step(Cursor())

    def run(self) -> float:
        """One step; gives its loss."""
        taken, self.next = self.next, self.train_step.loader.step(self.next.next)
        self.train_step.optimizer.set(min(1.0, (self.step + 1) / WARMUP))
        done = self.train_step.run(taken.sequences, taken.n_targets, self.step, self.next.sequences)
        self.step += 1
        return done.loss


def agree(plain: Plain, ours: Ours) -> float:
    """The largest relative difference of loss and gradients, on one batch with one set of weights."""
    weights = dict(ours.model.named_parameters())
    plain.take(weights)
    ids = torch.randint(1, N_VOCAB, (ROWS, CONTEXT + 1), generator=torch.Generator().manual_seed(0))
    loss = plain.loss(ids[:, :-1], ids[:, 1:])
    logits = ours.model(ids[:, :-1]).logits
    assert logits is not None
    other = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    loss.backward()
    other.backward()
    found = [abs(loss.item() - other.item()) / loss.item()]
    for name, (mine, theirs) in plain.pairs(weights).items():
        if mine.grad is None or theirs is None:
            raise SystemExit(f"{name} has no gradient")
        found.append(float((mine.grad - theirs).norm() / theirs.norm().clamp_min(1e-12)))
    for parameter in [*plain.parameters(), *weights.values()]:
        parameter.grad = None
    return max(found)


def timed(step: Callable[[], float], steps: int) -> tuple[float, float, float]:
    """Seconds of the process and of the clock a step, and the last loss."""
    loss = 0.0
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(steps):
        loss = step()
    return (time.process_time() - cpu) / steps, (time.perf_counter() - wall) / steps, loss


def measure(rounds: int, steps: int) -> dict[str, Any]:
    """Both loops in turns."""
    with tempfile.TemporaryDirectory() as folder:
        path = corpus(Path(folder))
        ours = Ours(path)
        plain = Plain(
            layers=SHAPE["n_layers"], heads=SHAPE["n_heads"], width=SHAPE["d_model"], context=CONTEXT, ids=N_VOCAB
        )
        difference = agree(plain, ours)
        loop = PlainLoop(plain, path, rows=ROWS, context=CONTEXT, rate=RATE, warmup=WARMUP, betas=BETAS, decay=DECAY)
        sides = {"plain": loop.run, "ours": ours.run}
        first = {name: timed(run, 5)[2] for name, run in sides.items()}
        lines: dict[str, list[tuple[float, float, float]]] = {name: [] for name in sides}
        for turn in range(rounds):
            for name in sorted(sides, reverse=bool(turn % 2)):
                lines[name].append(timed(sides[name], steps))
        ours.train_step.close()
    pairs = list(zip(lines["plain"], lines["ours"], strict=True))
    ratios = [plain_[0] / ours_[0] for plain_, ours_ in pairs]
    return {
        "threads": torch.get_num_threads(),
        "difference": difference,
        "ratio": statistics.median(ratios),
        "wall_ratio": statistics.median(plain_[1] / ours_[1] for plain_, ours_ in pairs),
        "ratios": sorted(round(ratio, 3) for ratio in ratios),
        **{
            name: {
                "cpu_ms": 1000 * statistics.median(line[0] for line in lines[name]),
                "wall_ms": 1000 * statistics.median(line[1] for line in lines[name]),
                "first_loss": first[name],
                "last_loss": lines[name][-1][2],
            }
            for name in sides
        },
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Training throughput beside a plain loop.")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    result = measure(options.rounds, options.steps)
    if options.json:
        sys.stdout.write(json.dumps(result) + "\n")
    else:
        for name in ("plain", "ours"):
            line = result[name]
            tokens = ROWS * CONTEXT / line["wall_ms"] * 1000
            sys.stdout.write(
                f"{name:<6} {line['cpu_ms']:7.2f} ms of process, {line['wall_ms']:7.2f} ms of clock a step, "
                f"{tokens:,.0f} ids/s, loss {line['first_loss']:.3f} to {line['last_loss']:.3f}\n"
            )
        sys.stdout.write(
            f"ours is {result['ratio']:.2f} times as fast (rounds {result['ratios'][0]} to {result['ratios'][-1]}), "
            f"{result['wall_ratio']:.2f} times by the clock ({result['threads']} threads; "
            f"losses and gradients differ by {result['difference']:.1e})\n"
        )
    learned = all(result[name]["last_loss"] < result[name]["first_loss"] for name in ("plain", "ours"))
    return 0 if result["difference"] < 1e-4 and learned else 1


if __name__ == "__main__":
    raise SystemExit(main())
