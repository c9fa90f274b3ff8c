"""The runs of an ablation: the settings of each, what they will take, and training one of them.

A run is found again by the digest of all that decides its weights and its score, so a killed ablation trains no model
twice, and two matches share the runs in which they agree.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from slmmodel import trainer
from slmmodel.ablation.arms import Arm, Part
from slmmodel.ablation.matches import Shape
from slmmodel.checkpoint import RunFolder
from slmmodel.config import RunConfig, Settings, resolve, settings_of
from slmmodel.data.source import Delimiters, OneBlockSource, Shard
from slmmodel.distributed import World
from slmmodel.errors import Argument, Mismatch, NotFinite, OfCommand
from slmmodel.evaluation.scoring import score, scoring_windows
from slmmodel.training import setup
from slmmodel.training.heartbeat import remove_traces
from slmmodel.training.loss import Validator
from slmmodel.training.metrics import Report
from slmmodel.training.state import RunResult
from slmmodel.training.step import TrainStep

MEASURED_SECONDS = 2.0
"""Of training steps, to estimate the time of a run."""
MEASURED_TOKENS = 16_384
"""Of scoring, likewise."""
_OVERHEAD_SECONDS = 1.0
"""Of a run: building the model, checkpoints and certificate."""


@dataclass(frozen=True)
class RunPlan:
    """One model of an ablation: an arm, its shape under a match, and a seed."""

    arm: Arm
    shape: Shape
    seed: int
    lr: float
    settings: Settings
    """Of the ablation, without what arm, shape and seed decide."""

    def all_settings(self) -> Settings:
        """The settings of the run."""
        own = {f"model.{name}": value for name, value in self.shape.model.items() if value is not None}
        own |= {
            "data.train": self.arm.path,
            "data.val": self.arm.val_path,
            "optim.lr": self.lr,
            "run.batch_tokens": self.shape.tokens_per_step,
            "run.budget.steps": self.shape.steps,
            "run.seed": self.seed,
        }
        return {**self.settings, **settings_of(own, "the ablation")}

    def config(self, device: str) -> RunConfig:
        """The resolved configuration."""
        return resolve(self.all_settings(), self.arm.data.vocab, self.arm.data.n_train_ids, device)[0]

    def name(self, device: str) -> str:
        """Arm, seed, and the first digits of the digest of everything that decides the result."""
        held = self.arm.val.source
        content = [self.config(device).digest, self.arm.data.train.digest, held.digest]
        digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
        return f"{self.arm.name}-seed{self.seed}-{digest[:8]}"


def train(plan: RunPlan, folder: Path, device: str, *, verify: bool, report: Report | None) -> Mapping[str, Any]:
    """Trains a run, continues it, or finds it finished; gives its totals, those of `RunResult`.

    Raises `NotFinite` for a run that diverged, with arm and seed; `Mismatch` for a folder with another run;
    `KeyboardInterrupt` and `SystemExit` after a signal, with the state saved.
    """
    run, config = RunFolder(folder), plan.config(device)
    if run.exists():
        run = RunFolder.open(folder)
        expected = {"config": config.digest, "data": plan.arm.data.train.digest}
        wrong = [name for name, digest in expected.items() if run.fingerprint.get(name) != digest]
        if wrong:
            raise Mismatch(
                f"the run {folder.name!r} was trained with other {' and '.join(wrong)}",
                where=str(folder),
                limit="the runs of an ablation are those of its lock",
                fix=f"remove the folder: rm -r {folder}",
            )
        if run.finished:
            remove_traces(run)
            return run.result
    try:
        result: RunResult = trainer.train(
            plan.all_settings(), output=folder, data=plan.arm.data, verify=verify, report=report
        )
    except NotFinite as error:
        raise NotFinite(
            f"arm {plan.arm.name!r} diverged with seed {plan.seed}: {error.fact}",
            where=f"{folder}, {error.where}",
            limit="a verdict needs all runs; finished ones are kept",
            fix=(
                Argument("lr", "sweep"),
                ", or ",
                _with_rate(plan.lr / 2),
                " for all arms, with another ",
                Argument("output"),
            ),
        ) from error
    if not result.finished:
        raise KeyboardInterrupt if result.reason == "interrupted" else SystemExit(result.code)
    return result.to_dict()


# ---------------------------------------------------------------- time


@dataclass(frozen=True)
class Speed:
    """Measured seconds of one step, and of one token in a scoring window."""

    step: float
    scored: float


class _Head(OneBlockSource):
    """The first documents of a source."""

    digest = "0" * 64
    delimiters: Delimiters

    def __init__(self, part: Part, n_docs: int) -> None:
        block = part.source.block(0)
        first: Shard = block.shards[0]
        super().__init__([Shard(first.ids, *(field[:n_docs] for field in first[1:4]))], block.delimiters)


def measure(plan: RunPlan, device: torch.device) -> Speed:
    """The speed of a run, from real steps on its data that are undone, and from scoring a few documents."""
    config, arm = plan.config(device.type), plan.arm
    step = TrainStep(config, setup.make_loader(arm.data, config), World(device=device))
    try:
        step.micro_batch = min(step.probe_micro_batch(), step.micro_batch)
        seconds = step.seconds_per_step(MEASURED_SECONDS)
        windows = np.cumsum(_scored_tokens(arm.val.inputs, config.seq_len))
        held = int(np.searchsorted(windows, MEASURED_TOKENS)) + 1
        head = _Head(arm.val, min(held, len(arm.val.source.block(0).shards[0].nbytes)))
        begun = _clock(device)
        score(step.model, head, arm.data.vocab, seq_len=config.seq_len, device=device)
        scored = (_clock(device) - begun) / float(windows[min(head.n_docs, len(windows)) - 1])
    finally:
        step.close()
    return Speed(seconds, scored)


def _clock(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def _scored_tokens(inputs: Any, seq_len: int) -> Any:
    """Tokens that scoring reads for each document, context included: int64 [D]."""
    windows = scoring_windows(inputs, seq_len, max(1, seq_len // 2))
    return np.bincount(windows.doc, weights=windows.stop - windows.start, minlength=len(inputs)).astype(np.int64)


def seconds_of(plan: RunPlan, speed: Speed, device: str) -> float:
    """The time of a run: its steps, its validations, and its score."""
    config, arm = plan.config(device), plan.arm
    loader = setup.make_loader(arm.data, config)
    try:
        assert arm.data.val is not None
        trained = float(plan.shape.tokens)
        validator, validations = Validator(arm.data.val, loader, config.seq_len).limited_to_share(trained)
        held = min(validator.max_targets, int(arm.val.inputs.sum()))
    finally:
        loader.close()
    scored = int(_scored_tokens(arm.val.inputs, config.seq_len).sum()) + validations * held
    return plan.shape.steps * speed.step + scored * speed.scored + _OVERHEAD_SECONDS


# ---------------------------------------------------------------- learning rates

SWEEP = (0.5, 1.0, 2.0)
SWEEP_SHARE = 0.25
"""Length of a run of the sweep, as a share of the run it is for."""


def sweep_plans(plan: RunPlan) -> list[RunPlan]:
    """The short runs that choose the learning rate of a run."""
    shape = replace(plan.shape, steps=max(1, round(plan.shape.steps * SWEEP_SHARE)))
    return [replace(plan, shape=shape, lr=plan.lr * factor) for factor in SWEEP]


def _with_rate(lr: float) -> OfCommand:
    """The setting of the learning rate in a fix; --lr of slm ablate takes no number."""
    return OfCommand(f"--set optim.lr={lr:g}", f"settings={{'optim.lr': {lr:g}}}")


def sweep(plan: RunPlan, score_run: Callable[[RunPlan], float]) -> tuple[float, list[dict[str, Any]]]:
    """The best of half, equal and double the learning rate on one short run each; and their bits per byte."""
    tried = sweep_plans(plan)
    scores = [score_run(each) for each in tried]
    if math.isinf(min(scores)):
        raise NotFinite(
            f"arm {plan.arm.name!r} diverged at each learning rate of the sweep",
            where=", ".join(f"{each.lr:g}" for each in tried),
            fix=(_with_rate(tried[0].lr / 4),),
        )
    rows = [{"arm": plan.arm.name, "lr": each.lr, "bpb": bpb} for each, bpb in zip(tried, scores, strict=True)]
    return tried[scores.index(min(scores))].lr, rows
