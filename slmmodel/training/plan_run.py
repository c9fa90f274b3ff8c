"""What a run will be, before anything is built or written: sizes, costs, the number of steps, what memory it takes.

`slm train --dry-run` prints it; training begins from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from slmmodel.data.loader import Loader
from slmmodel.errors import InvalidConfig
from slmmodel.models import Counts, ModelConfig, count
from slmmodel.training.budget import PerStep
from slmmodel.training.data import Data
from slmmodel.training.settings import Config, DataSettings


@dataclass(frozen=True)
class RunPlan:
    """A configuration with its data and what they cost."""

    config: Config
    model: ModelConfig
    counts: Counts
    rows: int
    """Rows of the global batch."""
    per_step: PerStep
    padding_share: float

    def summary(self, steps: int) -> dict[str, Any]:
        """The numbers of `--dry-run`; None where a budget of time leaves them open."""
        counts, per = self.counts, self.per_step
        return {
            "arch": self.model.arch,
            "preset": self.config.model.get("preset"),
            "parameters": counts.parameters,
            "embedding_share": counts.embedding_share,
            "flops_per_token": counts.flops_per_token,
            "seq_len": self.model.seq_len,
            "rows_per_step": self.rows,
            "tokens_per_step": per.tokens,
            "steps": steps,
            "tokens": round(steps * per.tokens),
            "bytes": round(steps * per.bytes),
            "epochs": steps * per.epochs,
            "flops": steps * per.flops,
            "padding_share": self.padding_share,
            "memory_bytes": 16 * counts.parameters,
            "optimizer": self.config.optim.name,
            "lr": self.config.optim.lr,
            "budget": {self.config.budget.kind: self.config.budget.amount},
        }


def make_loader(data: Data, settings: DataSettings, context: int, rows: int, seed: int, *, pin: bool = False) -> Loader:
    """The loader of a run. Raises what plans raise."""
    options = dict(settings.options)
    if settings.loss_on != "all":
        options["loss_on"] = settings.loss_on
    return Loader(
        data.train,
        data.vocab,
        context=context,
        rows_per_step=rows,
        pack=settings.pack,
        seed=seed,
        shuffle=settings.shuffle == "documents",
        cuts=settings.cuts,
        positions=None if settings.positions == "auto" else settings.positions,
        pin=pin,
        **options,
    )


def plan_run(config: Config, data: Data, loader: Loader, world: int) -> RunPlan:
    """The plan of a run. Raises `InvalidConfig` where the data or the batch are too small for it."""
    model = ModelConfig.from_dict({key: value for key, value in config.model.items() if key != "preset"})
    counts = count(model)
    rows = loader.rows_per_step
    if rows < world:
        raise InvalidConfig(
            f"a step of {rows} rows does not reach for {world} ranks",
            limit="at least a row a rank",
            fix=f"--set run.batch_tokens={world * model.seq_len}",
            option="run.batch_tokens",
        )
    if config.data.pack == "lanes" and world > 1:
        raise InvalidConfig(
            f"lanes carry their state within one process, and there are {world}",
            limit="one rank",
            fix="--set data.pack=bucket, or without torchrun",
            option="data.pack",
        )
    plan = loader.plan(0, 0)
    if not len(plan):
        raise InvalidConfig("the data have not a single pair to train on", where=data.name, fix="pack text")
    stats = plan.stats()
    blocks = _blocks(data, exactly=config.budget.kind == "epochs")
    per_epoch = plan.n_units / (1 if plan.grouped else rows)
    read = float(data.train.block(0).nbytes().sum()) * stats.targets / max(stats.pairs, 1)
    per_step = PerStep(
        tokens=stats.slots / len(plan) * rows if not plan.grouped else stats.slots / per_epoch,
        targets=stats.targets / per_epoch,
        bytes=read / per_epoch,
        flops=stats.slots / per_epoch * counts.flops_per_token,
        epochs=1 / per_epoch / blocks,
    )
    return RunPlan(config, model, counts, rows, per_step, stats.padding_share)


def _blocks(data: Data, *, exactly: bool) -> int:
    """Blocks of the training data. Where the source does not know, all are read if the number has to be exact; else
    what is told of epochs counts the first block alone."""
    if data.train.n_blocks is not None or not exactly:
        return data.train.n_blocks or 1
    count = 0
    while True:
        try:
            data.train.block(count)
        except IndexError:
            return max(count, 1)
        count += 1
