"""Training, from settings to a finished run folder: `train` is the whole path, `Trainer.fit` the loop.

A run is begun, continued or refused. The same command after any interruption ends in the same files: the folder exists
before the first step, each checkpoint is complete, and the result is written last. On one process, and on a CPU with
DDP at equal world size, a resumed run is bitwise equal to an uninterrupted one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from slmmodel.accel.cpu import keep_freed_memory, trim_memory
from slmmodel.checkpoint import (
    FINGERPRINT,
    METRICS,
    MODEL,
    OPTIMIZER,
    RECURRENT,
    TRAIN_STATE,
    RunFolder,
    StoredTensors,
    load_weights,
    read_json,
    shard_like,
)
from slmmodel.config import Facts, RunConfig, Settings, settings_of
from slmmodel.data import RunData
from slmmodel.data.loader import Step
from slmmodel.distributed import World, join, leave, needs_sharding, shard
from slmmodel.errors import InvalidConfig, NotFinite
from slmmodel.hardware import device_for
from slmmodel.models import build
from slmmodel.optim import build as build_optimizer
from slmmodel.optim import resolve as resolve_schedule
from slmmodel.training import microbatch, probe
from slmmodel.training.card import model_card
from slmmodel.training.guards import INTERRUPTED, StopSignals
from slmmodel.training.loss import Loss, Validation, Validator
from slmmodel.training.metrics import MetricsFile, Monitor, Report, open_sinks
from slmmodel.training.planning import RunPlan, make_loader, make_plan_of_run, steps_of
from slmmodel.training.start import (
    branch,
    check_fingerprint,
    configure,
    create_run,
    fingerprint_of,
    locate_run,
    open_run_data,
    value_of,
)
from slmmodel.training.state import RunResult, TrainState
from slmmodel.training.step import SHORT_TYPES, StepResult, TrainStep, resolve_precision

__all__ = ["RunResult", "branch", "plan", "train"]

MIN_COMPILED_SECONDS = 300.0
"""`compile: auto` compiles runs on CUDA that are planned to take longer."""
MAX_REPLAN_DRIFT = 0.1
"""A time budget is replanned once, at the start of the decay, where the clock deviates by more than this."""


def train(
    settings: Mapping[str, Any],
    *,
    output: str | Path,
    data: RunData | None = None,
    force: bool = False,
    allow_mismatch: Collection[str] = (),
    report: Report | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> RunResult:
    """Trains a model and returns how the run ended, also after SIGTERM or SIGINT with a checkpoint saved.

    `settings`: sections of a configuration, nested or dotted. `data`: sources that are already open; else `data.train`
    is opened. `force` replaces a run. `report` takes (stage, done, total, text), `note` remarks for people.
    Raises any error of this package; what can be known before the first step is raised before it.
    """
    given = settings_of(settings)
    with _process(given) as world:
        run = locate_run(Path(output), force=force, allow_mismatch=allow_mismatch)
        world.barrier()
        continued = run.exists() and not force
        recorded = run.config if continued else None
        data = data or open_run_data(given, recorded)
        config, notes = configure(given, recorded, Facts(data.vocab, data.tokens, world.device.type))
        for text in notes if world.is_main else ():
            note(text)
        trainer = Trainer(run, config, data, world, report)
        trainer.notes += notes
        if continued:
            trainer.notes += trainer.check_fingerprint(allow_mismatch)
        trainer.prepare(continued)
        if trainer.resumed_from is not None and world.is_main:
            note(f"continuing at step {trainer.resumed_from} of {trainer.state.steps}")
        return trainer.finish(trainer.fit())


def plan(settings: Mapping[str, Any], *, data: RunData | None = None) -> dict[str, Any]:
    """What `train` would do, as numbers; nothing is written, and no model is built."""
    given = settings_of(settings)
    with _process(given) as world:
        data = data or open_run_data(given, None)
        config, notes = configure(given, None, Facts(data.vocab, data.tokens, world.device.type))
        run_plan = make_plan_of_run(config, data, make_loader(data, config), world.size)
        timed = config.run.budget.kind == "time"
        steps = None if timed else steps_of(config.run.budget, run_plan.per_step)
        return {**run_plan.summary(steps), "notes": notes}


@contextmanager
def _process(settings: Settings) -> Iterator[World]:
    """Joins the process group and sets what holds for the whole process; restores it at the end."""
    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    threads = int(value_of(settings, "run.threads", "0"))
    world = join(device_for(value_of(settings, "run.device", "auto")))
    try:
        if threads:
            torch.set_num_threads(threads)
        yield world
    finally:
        leave(world)
        trim_memory()
        torch.set_num_threads(before[0])
        torch.use_deterministic_algorithms(before[1])


class Trainer:
    """One process's part in a run: model, optimizer, data and state, and the loop over steps."""

    def __init__(
        self, run: RunFolder, config: RunConfig, data: RunData, world: World, report: Report | None = None
    ) -> None:
        self.run, self.config, self.data = run, config, data
        self.report = report if world.is_main else None
        self.loader = make_loader(data, config, pin=world.device.type == "cuda")
        self.plan: RunPlan = make_plan_of_run(config, data, self.loader, world.size)
        self.world = replace(world, sharded=needs_sharding(config.run.parallel, self.plan.counts.parameters, world))
        if self.world.sharded and config.optim.name == "muon":
            raise InvalidConfig(
                "muon needs whole matrices, which FSDP2 shards",
                limit="optim.name adamw with run.parallel fsdp",
                fix="--set optim.name=adamw, or --set run.parallel=ddp",
                option="optim.name",
            )
        self.fingerprint = fingerprint_of(config, data, self.loader.digest, world.device)
        self.state = TrainState()
        self.validation: Validation | None = None
        self.last: StepResult | None = None
        self.metrics_length = 0
        self.resumed_from: int | None = None
        self.notes: list[str] = []

    def check_fingerprint(self, allowed: Collection[str]) -> list[str]:
        """Compares data, configuration and versions with the recorded ones. Raises `RunMismatch`; gives notes."""
        where = str(self.run.path / FINGERPRINT)
        names = check_fingerprint(self.run.fingerprint, self.fingerprint, allowed, where=where)
        return [f"continues with another {name} than it began with" for name in names]

    # ------------------------------------------------------------ before the loop

    def prepare(self, continued: bool) -> None:
        """Builds everything, fixes steps and micro-batch, creates the run folder or loads the newest checkpoint."""
        options = self.config.run
        torch.use_deterministic_algorithms(options.deterministic)
        if options.cpu_accel:
            keep_freed_memory()
        self.step = self._build()
        self.validator = self._validator()
        recorded = self.run.fingerprint if continued else None
        share = -(-self.loader.batch_size // self.world.size)
        chosen = options.micro_batch or (recorded["micro_batch"] if recorded else self._probe_micro_batch(share))
        self.step.micro_batch = min(int(chosen), share)
        self.state.steps = self._steps(recorded)
        self.schedule, warning = resolve_schedule(self.config.optim.schedule, self.state.steps)
        self.notes += [warning] if warning else []
        if recorded is None and self.world.is_main:
            more = {"steps": self.state.steps, "micro_batch": self.step.micro_batch}
            create_run(self.run, self.config, self.data, {**self.fingerprint, **more})
        self.world.barrier()
        self._resume()
        if self._should_compile():
            self.step.compile()

    def _build(self) -> TrainStep:
        """Model, optimizer and train step; FSDP2 shards the model before the optimizer sees it."""
        options, device = self.config.run, self.world.device
        precision = resolve_precision(options.precision, device)
        dtype = torch.float64 if precision == "fp64" else torch.float32
        # A model that is to be sharded is initialised in main memory and moved shard by shard.
        model = build(self.plan.model, seed=options.seed, device="cpu" if self.world.sharded else device).to(dtype)
        if self.world.sharded:
            shard(model, self.world, SHORT_TYPES.get(precision))
        return TrainStep(
            model,
            self.loader,
            build_optimizer(model, self.config.optim),
            Loss(doc_mask=self.config.data.doc_mask),
            self.world,
            precision=precision,
            micro_batch=-(-self.loader.batch_size // self.world.size),
            grad_clip=self.config.optim.grad_clip,
            seed=options.seed,
            cpu_accel=options.cpu_accel,
        )

    def _validator(self) -> Validator | None:
        if self.data.val is None:
            return None
        seq_len = self.plan.model.seq_len
        pack = "bucket" if self.loader.pack in ("bucket", "stateful") else "concat"
        batch_size = max(1, min(self.loader.batch_size, 4096 // seq_len))
        return Validator(self.data.val, self.data.vocab, seq_len, batch_size, pack)

    def _probe_micro_batch(self, share: int) -> int:
        """The micro-batch of a run that names none: measured on CUDA, else estimated; the smallest over ranks."""
        model = self.plan.model

        def cost(size: int) -> int:
            return microbatch.activation_bytes(size, model.seq_len, model.n_vocab, model.d_model, model.n_layers)

        device = self.world.device
        if device.type == "cuda" and not self.world.sharded:
            found = microbatch.fastest(share, device, probe.attempts(self.step))
        elif device.type == "cuda":
            found = microbatch.estimated(share, cost, torch.cuda.mem_get_info(device)[0])
        else:
            found = microbatch.estimated(share, cost, microbatch.free_memory() // self.world.size)
        return int(self.world.min([found])[0])

    def _steps(self, recorded: Mapping[str, Any] | None) -> int:
        """The planned number of steps: recorded, or from the budget."""
        if recorded is not None and recorded["steps"] is not None:
            return int(recorded["steps"])
        budget = self.config.run.budget
        seconds = probe.seconds_per_step(self.step) if budget.kind == "time" else None
        steps = steps_of(budget, self.plan.per_step, seconds_per_step=seconds)
        if recorded is not None and self.world.is_main:
            self.run.update_fingerprint({**recorded, "steps": steps})
        return steps

    def _resume(self) -> None:
        """Loads the newest intact checkpoint, and removes newer ones."""
        checkpoints = self.run.checkpoints
        newest = checkpoints.newest()
        self.world.barrier()
        if self.world.is_main:
            checkpoints.remove_after(newest)
        self.world.barrier()
        if newest is not None:
            micro_batch, steps = self.step.micro_batch, self.state.steps
            self.load(newest)
            self.step.micro_batch = min(self.step.micro_batch, micro_batch)
            self.state.steps = self.state.steps if self.state.replanned else steps
            self.resumed_from = newest

    def _should_compile(self) -> bool:
        asked = self.config.run.compile
        if asked != "auto" or self.world.device.type != "cuda":
            return asked == "on"
        seconds = probe.seconds_per_step(self.step, 2.0) * (self.state.steps - self.state.counters.step)
        return self.world.max([seconds])[0] > MIN_COMPILED_SECONDS

    # ------------------------------------------------------------ the loop

    def fit(self) -> str:
        """Trains until the planned steps are done; gives the reason why it ended. Raises `NotFinite`."""
        state, counters, options = self.state, self.state.counters, self._intervals()
        self.monitor = self._monitor()
        self.step.model.train()
        upcoming: Step | None = None
        reason = "finished"
        try:
            with StopSignals() as signals:
                while counters.step < state.steps and reason == "finished":
                    batch = upcoming or self.loader.step(state.cursor)
                    upcoming = self.loader.step(batch.next) if counters.step + 1 < state.steps else None
                    factor = self.schedule(counters.step)
                    self.step.optimizer.set(factor)
                    following = None if upcoming is None else upcoming.sequences
                    result = self.step.run(batch.sequences, batch.n_targets, counters.step, following)
                    self._count(batch, result)
                    if self.step.guard.should_abort:
                        self._abort(batch)
                    self._replan()

                    last = counters.step >= state.steps
                    validation = self._validate() if last or counters.step % options.eval_every == 0 else None
                    self._log(batch, result, factor, validation, options.log_every)

                    patience = options.patience
                    early = bool(patience) and validation is not None and state.evals_since_best >= patience
                    code, save = map(int, self.world.max([signals.code, signals.save]))
                    if last or counters.step % options.save_every == 0 or code or save or early:
                        self.save()
                        signals.save = False
                    if early and not last:
                        reason = "early-stop"
                    elif code and not last:
                        reason = "interrupted" if code == INTERRUPTED else "terminated"
            return reason
        finally:
            self.monitor.metrics.close()
            self.step.close()

    def _intervals(self) -> Any:
        """The options of `run` with `auto` intervals resolved."""
        options, steps = self.config.run, self.state.steps
        tenth = -(-steps // 10)
        return options.replace(
            eval_every=options.eval_every or max(1, tenth),
            save_every=options.save_every or max(50, tenth),
            log_every=options.log_every or (1 if steps <= 10_000 else 10),
        )

    def _monitor(self) -> Monitor:
        path = self.run.path / METRICS if self.world.is_main else None
        sinks = open_sinks(self.config.run.track, self.run.path) if self.world.is_main else []
        metrics = MetricsFile(path, length=self.metrics_length, sinks=sinks)
        return Monitor(metrics, self.state, self.plan.counts.flops_per_token, self.world.device, self.report)

    def _count(self, batch: Step, result: StepResult) -> None:
        counters = self.state.counters
        epoch, block, index = batch.sequences[0].tolist()
        positions = len(batch.sequences) * self.loader.plan(epoch, block).length(index)
        counters.step += 1
        counters.tokens += positions
        counters.targets += batch.n_targets
        counters.bytes += result.bytes
        counters.documents += result.documents
        counters.flops += positions * self.plan.counts.flops_per_token
        counters.seconds = self.monitor.clock.seconds
        self.state.cursor = batch.next
        self.last = result

    def _validate(self) -> Validation | None:
        if self.validator is None:
            return None
        with self.monitor.clock:
            found = self.validator.run(self.step.validation_nats, self.world)
        state, self.validation = self.state, found
        better = math.isfinite(found.bpb) and (state.best_bpb is None or found.bpb < state.best_bpb)
        state.evals_since_best = 0 if better else state.evals_since_best + 1
        state.best_bpb = found.bpb if better else state.best_bpb
        return found

    def _log(self, batch: Step, result: StepResult, factor: float, validation: Validation | None, every: int) -> None:
        step = self.state.counters.step
        spike = self.step.guard.is_spike(result.loss)
        if not (validation or spike) and result.applied and step % every and step < self.state.steps:
            self.monitor.report(result, None)
            return
        more: dict[str, Any] = {"lr": self.step.optimizer.peak * factor, "skipped": self.step.guard.skipped}
        more |= {"spike": True} if spike else {}
        more |= {} if result.applied else {"sequences": batch.sequences.tolist()}
        self.monitor.line(result, validation, **more)

    def _replan(self) -> None:
        """Plans a time budget again, once, where the decay begins and the clock has drifted."""
        state, start = self.state, self.state.steps - self.schedule.decay
        if self.config.run.budget.kind != "time" or state.replanned or state.counters.step != start:
            return
        state.replanned = True
        seconds = self.config.run.budget.amount
        spent = self.world.max([state.counters.seconds])[0]
        per_step = spent / max(start, 1)
        if abs(per_step * state.steps - seconds) > MAX_REPLAN_DRIFT * seconds:
            state.decay_steps = max(1, round((seconds - spent) / per_step))
            state.steps = start + state.decay_steps
            self.schedule = replace(self.schedule, steps=state.steps, decay=state.decay_steps)

    def _abort(self, batch: Step) -> None:
        step = self.state.counters.step
        self._write_checkpoint(suffix="-bad")
        named = ", ".join(f"{epoch}/{block}/{index}" for epoch, block, index in batch.sequences[:8].tolist())
        raise NotFinite(
            f"loss or gradient was not finite in {self.step.guard.consecutive} steps in a row",
            where=f"step {step}, sequences (epoch/block/index) {named}" + (" …" if len(batch.sequences) > 8 else ""),
            limit=f"the state is saved in {self.run.checkpoints.folder}/step-{step}-bad",
            fix="lower optim.lr, --set run.precision=fp32, or inspect these sequences: slm batches",
        )

    # ------------------------------------------------------------ checkpoints and the end

    def save(self) -> None:
        """Writes a checkpoint of this moment."""
        state, checkpoints = self.state, self.run.checkpoints
        with self.monitor.clock:
            self.metrics_length = self.monitor.metrics.sync()
            self._write_checkpoint()
            if self.world.is_main:
                if state.best_bpb is not None and state.evals_since_best == 0 and self.validation is not None:
                    checkpoints.mark_best(state.counters.step)
                checkpoints.prune(self.config.run.keep, self.config.run.keep_every)
            self.world.barrier()

    def _write_checkpoint(self, suffix: str = "") -> None:
        recurrent = self.step.recurrent
        tensors = {
            MODEL: self.step.model.state_dict(),
            OPTIMIZER: self.step.optimizer.state(),
            **({} if recurrent is None else {RECURRENT: recurrent.tensors()}),
        }
        table = {
            **self.state.to_dict(),
            **self.step.state(),
            "metrics_length": self.metrics_length,
            "validation": None if self.validation is None else asdict(self.validation),
        }
        self.run.checkpoints.save(self.state.counters.step, tensors, table, self.world, suffix=suffix)

    def load(self, step: int) -> None:
        """Restores a checkpoint. Raises `CorruptRun`, `CorruptState`."""
        folder = self.run.checkpoints.path(step)
        load_weights(self.step.model, folder)
        stored, own = StoredTensors(folder, OPTIMIZER), self.step.optimizer.state()
        self.step.optimizer.load(
            {key: shard_like(stored[key], own[key]) if key in own else stored[key] for key in stored}
        )
        if self.step.recurrent is not None:
            self.step.recurrent.load(dict(StoredTensors(folder, RECURRENT)))
        table = read_json(folder / TRAIN_STATE)
        self.state = TrainState.from_dict(table)
        self.step.load(table)
        self.metrics_length = int(table["metrics_length"])
        self.validation = None if table["validation"] is None else Validation(**table["validation"])
        if self.state.decay_steps is not None:
            self.schedule = replace(self.schedule, steps=self.state.steps, decay=self.state.decay_steps)

    def finish(self, reason: str) -> RunResult:
        """The result of the run; a finished run also writes its weights, card and `result.json`."""
        counters, held = self.state.counters, self.validation
        finished = reason in ("finished", "early-stop")
        digest = self.run.finish(self.step.model.state_dict(), self.world) if finished else None
        totals = asdict(counters)
        result = RunResult(
            path=self.run.path,
            reason=reason,
            steps=self.state.steps,
            epochs=counters.step * self.plan.per_step.epochs,
            loss=None if self.last is None else self.last.loss,
            val_loss=None if held is None else held.loss,
            val_bpb=None if held is None else held.bpb,
            best_bpb=self.state.best_bpb,
            skipped=self.step.guard.skipped,
            micro_batch=self.step.micro_batch,
            parameters=self.plan.counts.parameters,
            precision=self.step.precision,
            device=self.world.device.type,
            weights_sha256=digest,
            resumed_from=self.resumed_from,
            notes=tuple(self.notes),
            **totals,
        )
        if finished and self.world.is_main:
            table = {key: value for key, value in result.to_dict().items() if key != "path"}
            self.run.write_result(table, model_card(self.run.config, table, self.plan.model.n_vocab))
        self.world.barrier()
        return result
