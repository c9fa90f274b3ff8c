"""Time of training steps: `python -m benchmarks.training throughput|costs|long [--rounds N] [--threads N] [--json]`.

throughput: our gpt2 against a plain PyTorch loop (`plain_gpt2.py`), at the shape that nanoGPT's page recommends for a
CPU: 4 layers, 4 heads, d_model 128, seq_len 64, batch size 12, 65 ids, no biases, no dropout, AdamW, clipping at 1,
fp32. Both read the same file of 16-bit ids, data loading included. A time counts only with equal results: on the same
batch and the same weights the losses and all gradients must agree, and both models must learn.

costs: a step of each architecture, AdamW against Muon, fp32 against bf16. The models have the parameters of the llama
of `cpu-demo` within 2 %: 4 layers of d_model 128, or 2 recurrent layers whose hidden size is chosen for it; 1,024 ids,
seq_len 128, tied embeddings. bf16 is autocast, weights stay fp32. Ids are random, since speed does not depend on them.

long: a step of `infini` with each memory against full attention, in the shape of `infini-cpu`, with two sequences of
4,096 ids in segments of 256, fp32.

All cells are interleaved within a round, so that other load on the machine affects all alike. Times are medians over
the rounds, in CPU time of the process, which other load affects least, and in wall-clock time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch

from benchmarks.plain_gpt2 import PlainGPT2, PlainLoop
from slmmodel.config import OptimConfig, RunConfig
from slmmodel.data import Cursor, Loader, open_source
from slmmodel.distributed import World
from slmmodel.hardware import has_bf16_matmul
from slmmodel.models import ModelConfig, config_from_dict, count
from slmmodel.models.config import RecurrentConfig
from slmmodel.models.presets import PRESETS
from slmmodel.training.bench import make_step
from slmmodel.training.step import TrainStep
from slmmodel.vocab import VocabMeta

_Key = TypeVar("_Key", bound=Hashable)


class Timing(NamedTuple):
    """One round of a cell: milliseconds a step of CPU and of wall-clock time."""

    cpu_ms: float
    wall_ms: float


def interleaved(cells: Mapping[_Key, Callable[[], object]], rounds: int, steps: int = 1) -> dict[_Key, list[Timing]]:
    """The timings of all cells, `steps` steps a round; the order is reversed in every other round."""
    times: dict[_Key, list[Timing]] = {name: [] for name in cells}
    for number in range(rounds):
        for name in list(cells)[:: -1 if number % 2 else 1]:
            cpu, wall = time.process_time(), time.perf_counter()
            for _ in range(steps):
                cells[name]()
            scale = 1000 / steps
            times[name].append(Timing(scale * (time.process_time() - cpu), scale * (time.perf_counter() - wall)))
    return times


# --- throughput -------------------------------------------------------------------------------------------------------

SHAPE = {"n_layers": 4, "n_heads": 4, "d_model": 128, "seq_len": 64, "n_vocab": 65}
BATCH_SIZE, N_IDS, STEPS_PER_ROUND, MAX_DIFFERENCE = 12, 1_000_000, 20, 1e-4
LR, WARMUP, BETAS, WEIGHT_DECAY = 1e-3, 100, (0.9, 0.99), 0.1


def write_corpus(path: Path) -> None:
    """A file of 16-bit ids in which each id mostly follows from the previous one, so that a model can learn."""
    rng = np.random.default_rng(0)
    follows = rng.integers(1, SHAPE["n_vocab"], (SHAPE["n_vocab"], 4))
    choices, ids = rng.integers(0, 4, N_IDS), np.zeros(N_IDS, np.uint16)
    for at in range(1, N_IDS):
        ids[at] = follows[ids[at - 1], choices[at]]
    ids.tofile(path)


class Ours:
    """The train step as the trainer calls it, without validation, checkpoints and metrics."""

    def __init__(self, path: Path) -> None:
        n_vocab = SHAPE["n_vocab"]
        vocab = VocabMeta(n_vocab, 128, {"bos": 0, "eos": 0, "pad": 0}, 0, np.ones(n_vocab, np.uint32), "0" * 64)
        source = open_source(path, vocab=vocab, layout="nanogpt", delimiter=0)
        config = RunConfig(
            model={"arch": "gpt2", "padded_vocab": 128, "bias": False, **SHAPE},
            optim=OptimConfig(lr=LR, betas=BETAS, weight_decay=WEIGHT_DECAY),
        )
        loader = Loader(source, vocab, seq_len=SHAPE["seq_len"], batch_size=BATCH_SIZE)
        self.train_step = TrainStep(config, loader, World())
        self.model = self.train_step.model
        self.step, self.next = 0, loader.global_batch(Cursor())

    def run(self) -> float:
        """One step; returns its loss."""
        taken, self.next = self.next, self.train_step.loader.global_batch(self.next.next)
        self.train_step.optimizer.set_lr_factor(min(1.0, (self.step + 1) / WARMUP))
        done = self.train_step.take(taken, self.step, self.next)
        self.step += 1
        return done.loss


def difference(plain: PlainGPT2, model: torch.nn.Module) -> float:
    """The largest relative difference of loss and gradients, on one batch with the weights of `model`."""
    weights = dict(model.named_parameters())
    with torch.no_grad():
        for mine, other in plain.paired(weights):
            mine.copy_(other)
    size = (BATCH_SIZE, SHAPE["seq_len"] + 1)
    ids = torch.randint(1, SHAPE["n_vocab"], size, generator=torch.Generator().manual_seed(0))
    loss = plain.loss(ids[:, :-1], ids[:, 1:])
    logits = model(ids[:, :-1]).logits
    other_loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    loss.backward()
    other_loss.backward()
    gradients = {name: weight.grad for name, weight in weights.items() if weight.grad is not None}
    found = [abs(loss.item() - other_loss.item()) / loss.item()]
    for mine, other in plain.paired(gradients):
        assert mine.grad is not None
        found.append(float((mine.grad - other).norm() / other.norm().clamp_min(1e-12)))
    plain.zero_grad()
    model.zero_grad()
    return max(found)


def throughput(rounds: int) -> dict[str, Any]:
    """Both loops on the same file: times, ratios of the rounds, losses, and the difference of the results."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.bin"
        write_corpus(path)
        ours, plain = Ours(path), PlainGPT2(**SHAPE)
        found: dict[str, Any] = {"threads": torch.get_num_threads(), "difference": difference(plain, ours.model)}
        loop = PlainLoop(
            plain, path, batch_size=BATCH_SIZE, seq_len=SHAPE["seq_len"], lr=LR, warmup=WARMUP, betas=BETAS,
            weight_decay=WEIGHT_DECAY,
        )  # fmt: skip
        sides = {"plain": loop.run, "ours": ours.run}
        first = {name: [run() for _ in range(5)][-1] for name, run in sides.items()}
        times = interleaved(sides, rounds, STEPS_PER_ROUND)
        for name, run in sides.items():
            cpu_ms, wall_ms = map(statistics.median, zip(*times[name], strict=True))
            losses = {"first_loss": first[name], "last_loss": run()}
            found[name] = {"cpu_ms": cpu_ms, "wall_ms": wall_ms, **losses}
        ours.train_step.close()
    pairs = list(zip(times["plain"], times["ours"], strict=True))
    ratios = sorted(peer.cpu_ms / own.cpu_ms for peer, own in pairs)
    wall_ratio = statistics.median(peer.wall_ms / own.wall_ms for peer, own in pairs)
    return {**found, "ratio": statistics.median(ratios), "wall_ratio": wall_ratio, "ratios": ratios}


def print_throughput(found: dict[str, Any]) -> None:
    """The result for people."""
    for name in ("plain", "ours"):
        side = found[name]
        tokens = BATCH_SIZE * SHAPE["seq_len"] / side["wall_ms"] * 1000
        print(
            f"{name:<6} {side['cpu_ms']:7.2f} ms CPU, {side['wall_ms']:7.2f} ms wall a step, {tokens:,.0f} ids/s, "
            f"loss {side['first_loss']:.3f} to {side['last_loss']:.3f}"
        )
    print(
        f"ours is {found['ratio']:.2f}x as fast in CPU time (rounds {found['ratios'][0]:.2f} to "
        f"{found['ratios'][-1]:.2f}), {found['wall_ratio']:.2f}x in wall-clock time, with {found['threads']} threads; "
        f"losses and gradients differ by {found['difference']:.1e}"
    )


# --- costs ------------------------------------------------------------------------------------------------------------

D_MODEL, SEQ_LEN, COSTS_VOCAB, COSTS_BATCH_SIZE = 128, 128, 1024, 16
ARCHS = ("llama", "gpt2", "lstm", "gru", "rnn")
VARIANTS = (("adamw", "fp32"), ("muon", "fp32"), ("adamw", "bf16"), ("muon", "bf16"))


def config_of(arch: str) -> ModelConfig:
    """A model of this architecture with about as many parameters in its matrices as the llama."""
    sizes = {"arch": arch, "d_model": D_MODEL, "n_vocab": COSTS_VOCAB, "padded_vocab": COSTS_VOCAB, "seq_len": SEQ_LEN}
    if arch in ("llama", "gpt2"):
        more = {"n_kv_heads": 4, "d_ff": 352} if arch == "llama" else {}
        return config_from_dict({**sizes, "n_layers": 4, "n_heads": 4, **more})
    goal = count(config_of("llama")).matrices
    found = (config_from_dict({**sizes, "n_layers": 2, "hidden_size": hidden}) for hidden in range(64, 1024, 8))
    return min(found, key=lambda config: abs(count(config).matrices - goal))


def costs(rounds: int) -> dict[str, dict[str, Timing]]:
    """Architecture -> "optimizer precision" -> medians. The first round is not counted."""
    precisions = ("fp32", "bf16") if has_bf16_matmul("cpu") else ("fp32",)
    steps: dict[tuple[str, str], TrainStep] = {}
    cells: dict[tuple[str, str], Callable[[], object]] = {}
    for arch in ARCHS:
        for name, precision in VARIANTS:
            if precision in precisions:
                step = make_step(
                    config_of(arch), OptimConfig(name=name, lr=1e-3), torch.device("cpu"), precision=precision,
                    batch_size=COSTS_BATCH_SIZE,
                )  # fmt: skip
                taken = step.loader.global_batch(Cursor())
                key = arch, f"{name} {precision}"
                steps[key] = step
                cells[key] = lambda step=step, taken=taken: step.take(taken, 0)
    found: dict[str, dict[str, Timing]] = {arch: {} for arch in ARCHS}
    for (arch, variant), times in interleaved(cells, rounds + 1).items():
        found[arch][variant] = Timing(*map(statistics.median, zip(*times[1:], strict=True)))
    for step in steps.values():
        step.close()
    return found


def print_costs(found: dict[str, dict[str, Timing]]) -> None:
    """A Markdown table: CPU milliseconds a step, and the ratios of Muon and bf16."""
    print(f"batch size {COSTS_BATCH_SIZE}, {torch.get_num_threads()} threads, torch {torch.__version__}\n")
    print("| model | parameters | AdamW, fp32 | ids/s | Muon, fp32 | AdamW, bf16 | Muon, bf16 |")
    print("|---|---|---|---|---|---|---|")
    for arch, times in found.items():
        config = config_of(arch)
        shape = f"hidden {config.hidden_size}" if isinstance(config, RecurrentConfig) else "4 layers, 4 heads"
        base, *others = (times.get(f"{name} {precision}") for name, precision in VARIANTS)
        assert base is not None
        ratios = [f"{one.cpu_ms:.0f} ms, {one.cpu_ms / base.cpu_ms:.2f}x" if one else "no bf16" for one in others]
        tokens = 1000 * COSTS_BATCH_SIZE * SEQ_LEN / base.wall_ms
        columns = [f"`{arch}`, {shape}", f"{count(config).parameters:,}", f"{base.cpu_ms:.0f} ms", f"{tokens:,.0f}"]
        print(f"| {' | '.join(columns + ratios)} |")


# --- long -------------------------------------------------------------------------------------------------------------

LONG_SEQ_LEN, LONG_SEGMENT, LONG_BATCH_SIZE = 4096, 256, 2
ATTENTIONS = ("full", "delta", "linear", "off")


def long_config(attention: str) -> ModelConfig:
    """`infini-cpu` at this length with a memory, or the same decoder with full attention."""
    model = PRESETS["infini-cpu"].model
    sizes = {**model, "n_vocab": COSTS_VOCAB, "padded_vocab": COSTS_VOCAB, "seq_len": LONG_SEQ_LEN}
    if attention == "full":
        return config_from_dict({**{key: sizes[key] for key in sizes if key != "segment"}, "arch": "llama"})
    return config_from_dict({**sizes, "segment": LONG_SEGMENT, "memory": attention})


def long(rounds: int) -> dict[str, list[Timing]]:
    """Attention -> the timings of a step in each round; the first round is not counted."""
    optimizer, device = OptimConfig(name="adamw", lr=1e-3), torch.device("cpu")
    steps = {
        name: make_step(long_config(name), optimizer, device, precision="fp32", batch_size=LONG_BATCH_SIZE)
        for name in ATTENTIONS
    }
    taken = {name: step.loader.global_batch(Cursor()) for name, step in steps.items()}
    times = interleaved({name: partial(step.run, taken[name], 0) for name, step in steps.items()}, rounds + 1)
    for step in steps.values():
        step.close()
    return {name: found[1:] for name, found in times.items()}


def print_long(found: dict[str, list[Timing]]) -> None:
    """A Markdown table: ids a second, and the median ratio to full attention of the same round."""
    print("| attention | ids/s | against full attention | in CPU time |")
    print("|---|---|---|---|")
    for name, times in found.items():
        speed = 1000 * LONG_BATCH_SIZE * LONG_SEQ_LEN / statistics.median(each.wall_ms for each in times)
        pairs = list(zip(found["full"], times, strict=True))
        wall = statistics.median(full.wall_ms / own.wall_ms for full, own in pairs)
        cpu = statistics.median(full.cpu_ms / own.cpu_ms for full, own in pairs)
        print(f"| {name} | {speed:,.0f} | {wall:.2f}x | {cpu:.2f}x |")


def main() -> int:
    """The command line. 1 if the results of `throughput` differ, or a side does not learn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("throughput", "costs", "long"))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.action == "long":
        times = long(options.rounds)
        print(json.dumps(times)) if options.json else print_long(times)
        return 0
    if options.action == "costs":
        table = costs(options.rounds)
        if options.json:
            cells = {arch: {name: one._asdict() for name, one in times.items()} for arch, times in table.items()}
            print(json.dumps({"threads": options.threads, "cells": cells}))
        else:
            print_costs(table)
        return 0
    found = throughput(options.rounds)
    print(json.dumps(found)) if options.json else print_throughput(found)
    learned = all(found[name]["last_loss"] < found[name]["first_loss"] for name in ("plain", "ours"))
    return 0 if found["difference"] < MAX_DIFFERENCE and learned else 1


if __name__ == "__main__":
    raise SystemExit(main())
