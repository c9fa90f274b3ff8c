"""What a run will cost, before a model is built: sizes per step, the number of steps of a budget, memory.

`slm train --dry-run` prints it, and training starts from it. Budgets round up to whole steps; the number is recorded
with the run, so that the schedule survives a resumption.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from slmmodel.config import Budget, RunConfig
from slmmodel.data import Loader, RunData
from slmmodel.data.source import blocks_of
from slmmodel.distributed import BYTES_PER_PARAMETER, World, needs_sharding
from slmmodel.errors import InvalidConfig
from slmmodel.models import Counts, ModelConfig, config_from_dict, count
from slmmodel.training.loss import Validator

VALIDATION_TOKENS = 4096
"""Positions of a validation batch, at most."""


@dataclass(frozen=True)
class PerStep:
    """Averages of one step."""

    tokens: float
    """Positions of the global batch, padding included."""
    targets: float
    bytes: float
    flops: float
    epochs: float
    """Share of the data."""


@dataclass(frozen=True)
class RunCost:
    """A configuration with its data and their costs."""

    config: RunConfig
    model: ModelConfig
    counts: Counts
    per_step: PerStep
    padding_share: float
    sharded: bool
    """Whether parameters are sharded over ranks (FSDP2)."""

    def summary(self, steps: int | None) -> dict[str, Any]:
        """The numbers of `--dry-run`; `steps` None (a time budget) leaves totals open."""
        counts, per_step, run = self.counts, self.per_step, self.config.run
        totals: dict[str, Any] = dict.fromkeys(("tokens", "bytes", "epochs", "flops"))
        if steps is not None:
            totals = {name: steps * getattr(per_step, name) for name in totals}
            totals |= {name: round(totals[name]) for name in ("tokens", "bytes")}
        return {
            "arch": self.model.arch,
            "preset": self.config.preset,
            "parameters": counts.parameters,
            "embedding_share": counts.embedding_share,
            "flops_per_token": counts.flops_per_token,
            "seq_len": self.model.seq_len,
            "batch_size": self.config.batch_size,
            "tokens_per_step": per_step.tokens,
            "steps": steps,
            **totals,
            "padding_share": self.padding_share,
            "memory_bytes": BYTES_PER_PARAMETER * counts.parameters,
            "optimizer": self.config.optim.name,
            "lr": self.config.optim.lr,
            "budget": run.budget.given(),
        }


def make_loader(data: RunData, config: RunConfig, *, pin: bool = False) -> Loader:
    """The loader of a run. Raises what plans raise."""
    settings = config.data
    loss_on = {} if settings.loss_on == "all" else {"loss_on": settings.loss_on}
    return Loader(
        data.train,
        data.vocab,
        seq_len=config.seq_len,
        batch_size=config.batch_size,
        pack=settings.pack,
        seed=config.run.seed,
        shuffle=settings.shuffle == "documents",
        crop_offset=settings.crop_offset,
        positions=None if settings.positions == "auto" else settings.positions,
        pin=pin,
        **settings.options,
        **loss_on,
    )


def make_validator(data: RunData, loader: Loader) -> Validator | None:
    """The validation of a run; None without validation data."""
    if data.val is None:
        return None
    pack = "bucket" if loader.pack in ("bucket", "stateful") else "concat"
    batch_size = max(1, min(loader.batch_size, VALIDATION_TOKENS // loader.seq_len))
    return Validator(data.val, data.vocab, loader.seq_len, batch_size, pack)


def cost_of_run(config: RunConfig, data: RunData, loader: Loader, world: World) -> RunCost:
    """The cost of a run. Raises `InvalidConfig` where data, batch or ranks do not allow it."""
    model = config_from_dict(config.model)
    counts, batch_size = count(model), loader.batch_size
    if batch_size < world.size:
        raise InvalidConfig(
            f"a batch of {batch_size} sequences is smaller than world size {world.size}",
            limit="at least one sequence per rank",
            fix=f"--set run.batch_tokens={world.size * model.seq_len}",
            option="run.batch_tokens",
        )
    if loader.pack == "stateful" and world.size > 1:
        raise InvalidConfig(
            f"data.pack stateful keeps its state in one process, world size is {world.size}",
            limit="one rank",
            fix="--set data.pack=bucket, or run without torchrun",
            option="data.pack",
        )
    sharded = needs_sharding(config.run.parallel, counts.parameters, world)
    if sharded and config.optim.name == "muon":
        raise InvalidConfig(
            "muon needs whole matrices, which FSDP2 shards",
            limit="optim.name adamw with run.parallel fsdp",
            fix="--set optim.name=adamw, or --set run.parallel=ddp",
            option="optim.name",
        )
    plan = loader.plan(0, 0)
    if not len(plan):
        raise InvalidConfig("the data have no pairs to train on", where=data.name, fix="pack a corpus with text in it")
    stats = plan.stats()
    blocks = data.train.n_blocks or 1
    if data.train.n_blocks is None and config.run.budget.kind == "epochs":
        # Only this budget needs their exact number, which takes a pass over the data.
        blocks = max(sum(1 for _ in blocks_of(data.train)), 1)
    steps_per_epoch = plan.n_groups / (1 if plan.grouped else batch_size)
    scored_bytes = float(data.train.block(0).nbytes().sum()) * stats.targets / max(stats.pairs, 1)
    per_step = PerStep(
        tokens=stats.positions / steps_per_epoch if plan.grouped else stats.positions / len(plan) * batch_size,
        targets=stats.targets / steps_per_epoch,
        bytes=scored_bytes / steps_per_epoch,
        flops=stats.positions / steps_per_epoch * counts.flops_per_token,
        epochs=1 / steps_per_epoch / blocks,
    )
    return RunCost(config, model, counts, per_step, stats.padding_share, sharded)


def steps_of(budget: Budget, per_step: PerStep, seconds_per_step: float | None = None) -> int:
    """Steps that a budget pays for, at least 1; `seconds_per_step` is needed for `time`.

    Raises `InvalidConfig` where a step has none of what the budget counts.
    """
    costs: dict[str, float] = {**vars(per_step), "time": seconds_per_step or 0.0, "steps": 1.0}
    if costs[budget.kind] <= 0:
        raise InvalidConfig(
            f"a step has no {budget.kind}, so a budget of {budget.amount:g} {budget.kind} never ends",
            where="run.budget",
            fix="--budget tokens=2M",
            option="run.budget",
        )
    return max(1, math.ceil(budget.amount / costs[budget.kind] - 1e-9))
