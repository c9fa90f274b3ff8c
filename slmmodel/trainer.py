"""Training, from settings to a finished run folder: `train` is the whole path, `Trainer.fit` the loop.

The same command after any interruption ends in the same files: the folder exists before the first step, each checkpoint
is complete, and the result is written last. A resumed run is bitwise equal to an uninterrupted one on a CPU with equal
threads and world size (one process or DDP), and on one CUDA device with `run.deterministic`.
"""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from slmmodel import checkpoint, run_entries
from slmmodel.accel.cpu import keep_freed_memory, trim_memory
from slmmodel.callbacks import ends_forked_child
from slmmodel.checkpoint import RunFolder
from slmmodel.config import RunConfig, Settings, settings_of
from slmmodel.data import Cursor, Loader, RunData
from slmmodel.data.loader import GlobalBatch
from slmmodel.data.source import check_tokenizer
from slmmodel.distributed import Replacement, World, is_restart, process_group, rank_failures
from slmmodel.errors import Argument, NotFinite, OptionError
from slmmodel.hardware import device_for, use_threads
from slmmodel.optim import resolve as resolve_schedule
from slmmodel.run_files import (
    BRANCH_FIELDS,
    FINAL_REASONS,
    VERSION,
    TrainState,
    Validation,
    last_step_of_other_validation,
    origins,
)
from slmmodel.sizes import counted, format_time
from slmmodel.torch_state import kept_torch_state, own_torch_state
from slmmodel.training import setup
from slmmodel.training.branching import branch
from slmmodel.training.heartbeat import Heartbeat
from slmmodel.training.loss import MAX_VALIDATIONS, Validator
from slmmodel.training.metrics import MetricsFile, Monitor, Report, restore_lines
from slmmodel.training.saving import CheckpointWriter
from slmmodel.training.stages import DataStages
from slmmodel.training.state import REASON_BY_EXIT_STATUS, RunResult, StopSignals, count_step, initial_state, model_card
from slmmodel.training.step import InterruptedStepError, StepResult, TrainStep
from slmmodel.training.trackers import RunInfo, open_trackers
from slmmodel.training.verify import DataGuard, verify_data

__all__ = ["RunResult", "branch", "dry_run", "train"]

PROBE_SECONDS = 5.0
"""Length of the probe that plans a time budget."""
MIN_COMPILED_SECONDS = 300.0
"""`compile: auto` compiles runs on CUDA that are planned to take longer."""
MAX_UNUSED_TIME = 0.1
"""A time budget is planned again, once, at the start of the decay, where it would be exceeded, or more than this share
of it would be left over."""
MIN_DECAY_SHARE = 0.25
"""Of the time that a decay should have; a note names a shorter one."""


def train(
    settings: Mapping[str, Any],
    *,
    output: str | Path,
    data: RunData | None = None,
    force: bool = False,
    allow_mismatch: Collection[str] = (),
    verify: bool = True,
    report: Report | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> RunResult:
    """Trains a model and returns how the run ended, also after SIGTERM or SIGINT with a checkpoint saved.

    A signal that comes when no step is left finishes the run, and is then raised again.

    `settings`: sections of a configuration, nested or dotted. `data`: the data of the run, open; else `data.train` is
    opened. `force` replaces a run. `allow_mismatch`: names of what may differ from the record of a run that continues
    (`FINGERPRINT_FIELDS`). `report` takes (phase, done, total, text), such as ("training", 3, 100, "loss 4.2");
    `note` takes remarks for people.
    Raises any error of this package; what can be known before the first step is raised before it.
    """
    given = settings_of(settings)
    # Also checked by the command, before torch is loaded; here, so that a wrong setting is named before
    # `OutputExists`, whose fix would not mend it; by `configure`, with the data.
    setup.check_settings(given)
    with _process(given, note) as world, setup.exclusive(Path(output), world) as handle:
        replacement = _replacement(Path(output), world) if force else None
        force = replacement is not None
        run = setup.locate_run(Path(output), force=force, allow_mismatch=allow_mismatch, settings=given, data=data)
        # The folder, kept open: writes check that no other folder has taken its place.
        run.handle = run.checkpoints.handle = handle
        world.barrier()
        run_before = run if setup.wait_until_visible(run, world) and not force else None
        config, data, notes = _resolved(given, run_before, data, world)
        for text in notes if world.is_main else ():
            note(text)
        trainer = Trainer(run, config, data, world, report, note)
        trainer.replacement = replacement
        trainer.notes += notes
        if run_before is None:
            trainer.add_notes(setup.notes_on_budget(given, config, trainer.cost.per_step))
        if verify:
            # It notices files that change while the run reads them.
            trainer.data_guard = DataGuard(data, world)
            verify_data(data, world, trainer.report)
        # The heartbeat, a thread that writes `heartbeat.json`, also records why the process left the run.
        with trainer.heartbeat, rank_failures():
            trainer.prepare(None if run_before is None else run_before.fingerprint, allow_mismatch)
            if run_before is not None and world.is_main:
                note(trainer.resumption())
            result = trainer.finish(trainer.fit())
            trainer.heartbeat.end(result.reason)
    # The run was at its end; the program around it, which may have more to do, is to stop as well.
    if trainer.signal_at_end:
        signal.raise_signal(trainer.signal_at_end)
    return result


def _replacement(path: Path, world: World) -> Replacement | None:
    """How `force` replaces the run at a path; None after a restart by torchrun, unless it is known to be the old run.

    Each machine's agent counts its own restarts, so one rank is enough.
    """
    replacement = Replacement(path)
    restarted, pending = world.reduce("max", [is_restart(), replacement.is_pending])
    if world.is_main and not restarted:
        replacement.set(is_pending=True)
    return None if restarted and not pending else replacement


def dry_run(
    settings: Mapping[str, Any],
    *,
    output: str | Path | None = None,
    data: RunData | None = None,
    force: bool = False,
    allow_mismatch: Collection[str] = (),
) -> dict[str, Any]:
    """What `train` would do, as numbers; nothing is written, and no model is built.

    Raises what `train` raises before the first step; of the run at `output` only where that is given.
    """
    given = settings_of(settings)
    setup.check_settings(given)
    with _process(given) as world:
        options: dict[str, Any] = {"force": force, "allow_mismatch": allow_mismatch, "settings": given, "data": data}
        run = None if output is None else setup.locate_run(Path(output), **options)
        run_before = run if run is not None and run.exists() and not force else None
        config, data, notes = _resolved(given, run_before, data, world)
        stages = DataStages(data, config)
        cost = setup.cost_of_run(config, data, stages.loader, world)
        if run_before is not None:
            now = setup.fingerprint_of(config, data, stages.sequences_digest, world.device)
            notes += setup.check_fingerprint(run_before, now, allow_mismatch)
        elif allow_mismatch:
            notes.append(setup.NO_RECORD)
        before = {} if run_before is None else run_before.fingerprint
        steps, begun = before.get("steps"), setup.begun_with(before)
        if steps is None and config.run.budget.kind != "time":
            steps = setup.steps_of(config.run.budget, cost.per_step, begun=begun)
        if steps is not None:
            _, warning = resolve_schedule(config.optim.schedule, steps)
            notes += [*([warning] if warning else []), *stages.notes(steps)]
            notes += setup.notes_on_budget(given, config, cost.per_step)
        return {**cost.summary(config, steps, setup.totals_of(begun, cost.per_step)), "notes": notes}


def _resolved(
    given: Settings, run_before: RunFolder | None, data: RunData | None, world: World
) -> tuple[RunConfig, RunData, list[str]]:
    """The configuration and the data of a run, of which `run_before` is continued, and remarks for people."""
    config_before = None if run_before is None else run_before.config
    # Text and mixtures come open from the command, which alone imports slmtok; packed data are opened here.
    data = data or setup.open_packed_data(given, config_before)
    if run_before is not None and run_before.vocab.n_vocab != data.vocab.n_vocab:
        # Of equal sizes, --allow-mismatch decides.
        check_tokenizer(data.train, run_before.vocab, run_before.path, run_before.tokenizer)
    try:
        config, notes = setup.configure(given, config_before, data, world.device)
    except OptionError as error:
        if run_before is not None and any(run_before.checkpoints.folder.glob(f"*{run_entries.BAD}")):
            # The settings of the run made its loss not finite, and would again.
            error.fix = (
                Argument("force", True),
                " to train again: the run was not finite; or another ",
                Argument("output"),
            )
        elif (
            run_before is not None
            and isinstance(error.parts["fix"], tuple)
            and _is_of_budget(error.fields.get("names"))
        ):
            as_new = setup.with_other_budget(given, run_before)
            error.fix = (*([f"{as_new}, or "] if as_new else []), *error.parts["fix"])
        raise
    data, empty = setup.with_validation_text(config, data)
    return config, data, notes + empty + setup.notes_on_ranks(config, world)


def _is_of_budget(names: object) -> bool:
    """Whether these are names of settings, and all of the budget."""
    return isinstance(names, list) and all(str(name).startswith("run.budget.") for name in names)


@contextmanager
def _process(settings: Settings, note: Callable[[str], None] = lambda text: None) -> Iterator[World]:
    """Joins the process group and sets what holds for the whole process; restores it at the end."""
    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    try:
        device = device_for(setup.value_of(settings, "run.device", "auto"))
        with own_torch_state(gradients=True), process_group(device, note) as world:
            use_threads(setup.value_of(settings, "run.threads", 0))
            yield world
    finally:
        trim_memory()
        torch.set_num_threads(before[0])
        # It imports what takes seconds, even where nothing changes.
        if torch.are_deterministic_algorithms_enabled() != before[1]:
            torch.use_deterministic_algorithms(before[1])


def _guarded(report: Report) -> Report:
    report = ends_forked_child(report)

    def call(phase: str, done: int, total: int, text: str) -> None:
        with kept_torch_state():
            report(phase, done, total, text)

    return call


class Trainer:
    """One process's part in a run: model, optimizer, data and state, and the loop over steps."""

    def __init__(
        self,
        folder: RunFolder,
        config: RunConfig,
        data: RunData,
        world: World,
        report: Report | None,
        note: Callable[[str], None],
    ) -> None:
        self.folder, self.config, self.data, self._note = folder, config, data, note
        self.report = _guarded(report) if report is not None and world.is_main else None
        self.stages = DataStages(data, config, pin=world.device.type == "cuda")
        self.cost = setup.cost_of_run(config, data, self.loader, world)
        self.world = replace(world, fsdp=self.cost.fsdp)
        self.state = initial_state()
        self.last_result: StepResult | None = None
        self.writer = CheckpointWriter(folder.checkpoints, config.run)
        self.heartbeat = Heartbeat(folder.path if world.is_main else None, folder.handle)
        self.resumed_from: int | None = None
        self.damaged: list[int] = []
        """Steps of checkpoints that were removed because their digests did not match."""
        self.signal_at_end = 0
        """The number of a signal that came when no step was left."""
        self.lost_lines = ""
        """What to say where lines of `metrics.jsonl` were lost."""
        self.run_digest = ""
        self.data_guard: DataGuard | None = None
        self.notes: list[str] = []
        self.replacement: Replacement | None = None
        """Of `force`, where it replaces the run."""

    def add_notes(self, notes: Collection[str]) -> None:
        """Shows remarks for people, on the main rank, and keeps them for the result."""
        self.notes += notes
        for text in notes if self.world.is_main else ():
            self._note(text)

    @property
    def loader(self) -> Loader:
        """That of the present stage: with `data.stages` a run changes its data at a step."""
        return self.stages.loader

    def prepare(self, fingerprint_before: Mapping[str, Any] | None, allow_mismatch: Collection[str]) -> None:
        """Makes everything ready for `fit`; each part needs those before it.

        A fingerprint (`fingerprint.json`) has the digests of data, settings and versions. `fingerprint_before` is that
        of a run that is continued; another one now raises `Mismatch`.
        """
        fingerprint = self._check_fingerprint(fingerprint_before, allow_mismatch)
        # Ties the checkpoints to this run.
        self.run_digest = checkpoint.run_digest(fingerprint_before or fingerprint)
        self._build()
        self._plan_steps(fingerprint_before or {})
        self._create_or_resume(fingerprint_before, fingerprint)
        self.heartbeat.start(self.state.counters.step, self.state.steps)
        if self._should_compile():
            self.train_step.compile()

    def _check_fingerprint(
        self, fingerprint_before: Mapping[str, Any] | None, allow_mismatch: Collection[str]
    ) -> dict[str, Any]:
        """The fingerprint of the run as it is now, equal on all ranks and to the one before. Raises `Mismatch`."""
        fingerprint = setup.fingerprint_of(self.config, self.data, self.stages.sequences_digest, self.world.device)
        setup.check_ranks_agree(fingerprint, self.world)
        if fingerprint_before is not None:
            self.add_notes(setup.check_fingerprint(self.folder, fingerprint, allow_mismatch))
        elif allow_mismatch:
            self.add_notes([setup.NO_RECORD])
        return fingerprint

    def _build(self) -> None:
        """Model, optimizer and validation."""
        if torch.are_deterministic_algorithms_enabled() != self.config.run.deterministic:
            torch.use_deterministic_algorithms(self.config.run.deterministic)
        if self.config.run.cpu_accel:
            keep_freed_memory()
        self.train_step = TrainStep(self.config, self.loader, self.world)
        self.validator = None if self.data.val is None else Validator(self.data.val, self.loader, self.config.seq_len)

    def _plan_steps(self, before: Mapping[str, Any]) -> None:
        """Micro-batch, number of steps and schedule: as given, or as in the fingerprint `before`, else measured."""
        run_config, train_step, state = self.config.run, self.train_step, self.state
        micro_batch = run_config.micro_batch or before.get("micro_batch") or train_step.probe_micro_batch()
        train_step.micro_batch = min(int(micro_batch), train_step.micro_batch)
        is_probed = run_config.budget.kind == "time" and not before.get("steps")
        seconds = train_step.seconds_per_step(PROBE_SECONDS) if is_probed else 0.0
        self.begun = setup.begun_with(before)
        state.steps = before.get("steps") or setup.steps_of(
            run_config.budget, self.cost.per_step, seconds, begun=self.begun
        )
        self.planned_steps = state.steps
        self.schedule, warning = resolve_schedule(self.config.optim.schedule, state.steps)
        self.add_notes([*([warning] if warning else []), *self.stages.notes(state.steps)])

    def _create_or_resume(self, before: Mapping[str, Any] | None, fingerprint: dict[str, Any]) -> None:
        """Writes the folder of a new run, or loads the newest checkpoint of one that is continued."""
        steps = self.state.steps
        if self.world.is_main and before is None:
            fingerprint |= {"steps": steps, "micro_batch": self.train_step.micro_batch}
            setup.create_run(self.folder, self.config, self.data, fingerprint)
            if self.replacement is not None:
                self.replacement.set(is_pending=False)
        elif self.world.is_main and before is not None:
            recorded = {**before, "steps": steps}
            parent = before.get("parent")
            if parent is not None and self.folder.checkpoints.list()[-1:] == [parent["step"]]:
                # A branch before its first step has the record of its parent; what differs of it was allowed.
                recorded |= {name: fingerprint[name] for name in BRANCH_FIELDS}
            if recorded != before:
                self.folder.update_fingerprint(recorded)
            moved = setup.record_data_paths(self.folder, self.config.data)
            self.add_notes([moved] if moved else [])
        self.world.barrier()
        setup.wait_until_visible(self.folder, self.world)
        self._resume()

    def _should_compile(self) -> bool:
        compile_option = self.config.run.compile
        if compile_option != "auto" or self.world.device.type != "cuda":
            return compile_option == "on"
        steps_left = self.state.steps - self.state.counters.step
        return self.train_step.seconds_per_step(2.0) * steps_left > MIN_COMPILED_SECONDS

    # ------------------------------------------------------------ the loop

    def fit(self) -> str:
        """Trains until the planned steps are done; gives the reason why it ended. Raises `NotFinite`."""
        state, counters = self.state, self.state.counters
        eval_every, save_every, log_every = self._plan_intervals()
        self._open_monitor()
        self._upcoming: GlobalBatch | None = None
        reason: str | None = None
        try:
            with StopSignals.handled() as signals:
                if self.world.size == 1:
                    self.train_step.is_stopped = lambda: bool(signals.exit_status)
                while counters.step < state.steps and reason is None:
                    try:
                        global_batch, lr_factor, result = self._take_step()
                    except InterruptedStepError:
                        reason = REASON_BY_EXIT_STATUS[signals.exit_status]
                        if counters.step and counters.step not in self.folder.checkpoints.list():
                            self.save()
                        break
                    last = counters.step >= state.steps
                    validation = self._validate() if last or counters.step % eval_every == 0 else None
                    self._log(global_batch, result, lr_factor, validation, log_every)
                    # After the line, which looks a sequence of the step up in its own stage; a checkpoint holds the
                    # cursor of the next step.
                    self._enter_stage()

                    patience = self.config.run.patience
                    early = bool(patience) and validation is not None and state.evals_since_best >= patience
                    self._settle_write()
                    status, save = map(int, self.world.reduce("max", [signals.exit_status, signals.save]))
                    if last or counters.step % save_every == 0 or status or save or early:
                        self.save()
                        signals.save = False
                    if not last:
                        reason = "early-stop" if early else REASON_BY_EXIT_STATUS.get(status)
                self._settle_write(wait=True)
                self.world.barrier()
            reason = reason or "finished"
            self.signal_at_end = signals.number if reason in FINAL_REASONS else 0
            return reason
        finally:
            self.writer.close()
            self.monitor.close()
            self.train_step.close()

    def _plan_intervals(self) -> tuple[int, int, int]:
        """Steps between two validations, checkpoints and lines of metrics.

        They, and what a validation scores, follow from the steps that were planned first, also where a resume finds
        that a time budget was planned again.
        """
        run_config, steps, validations = self.config.run, self.planned_steps, MAX_VALIDATIONS
        # Only with `eval_every: auto` a share of the work limits the validations.
        if self.validator is not None and not run_config.eval_every:
            trained = steps * self.cost.per_step["targets"]
            self.validator, validations = self.validator.limited_to_share(trained, keep_count=bool(run_config.patience))
        intervals = run_config.intervals(steps, validations)
        self.add_notes(setup.notes_on_patience(self.config, steps, intervals[0]))
        return intervals

    def _open_monitor(self) -> None:
        """Opens the file of metrics, trackers and reports."""
        path = self.folder.path / run_entries.METRICS if self.world.is_main else None
        about = RunInfo(self.folder.path, self.config.to_dict(), self.state.counters.step)
        trackers = open_trackers(self.config.run.track, about) if self.world.is_main else []
        metrics = MetricsFile(path, length=self.state.metrics_length, trackers=trackers, handle=self.folder.handle)
        flops, waited = self.cost.counts.flops_per_token, self.loader.seconds_waited
        self.monitor = Monitor(metrics, self.state, flops, self.world.device, self.report, waited)

    def _take_step(self) -> tuple[GlobalBatch, float, StepResult]:
        """One step: its sequences, its factor of the learning rate, and its result. Raises `NotFinite`."""
        state, counters = self.state, self.state.counters
        global_batch = self._upcoming or self.loader.global_batch(Cursor(*state.cursor))
        has_next = counters.step + 1 < state.steps and not self.stages.begins_after(counters.step + 1)
        self._upcoming = self.loader.global_batch(global_batch.next) if has_next else None
        lr_factor = self.schedule(counters.step)
        self.train_step.optimizer.set_lr_factor(lr_factor)
        result = self.train_step.take(global_batch, counters.step, self._upcoming)
        count_step(state, global_batch, result, self.loader, self.cost.counts.flops_per_token)
        counters.seconds, self.last_result = self.monitor.seconds, result
        self.heartbeat.progress("training", counters.step, state.steps)
        guard = self.train_step.loss_guard
        # Also a run of fewer steps, none of which was finite.
        if guard.should_abort or guard.consecutive == state.steps:
            self._abort(global_batch)
        self._replan()
        return global_batch, lr_factor, result

    def _enter_stage(self) -> None:
        """Opens the stage of the data that begins with the next step, if one does."""
        self.train_step.loader = self.stages.advance(self.state)

    def _validate(self) -> Validation | None:
        if self.validator is None:
            return None
        self.heartbeat.progress("validation", self.state.counters.step, self.state.steps)
        with self.monitor.pause():
            validation = self.validator.score(
                self.train_step.validation_sum_nats, self.world, self.monitor.report_validation
            )
        state, bpb = self.state, validation.bpb
        self._forget_other_targets(validation)
        better = math.isfinite(bpb) and (state.best_bpb is None or bpb < state.best_bpb)
        state.evals_since_best = 0 if better else state.evals_since_best + 1
        if better:
            state.best_bpb, state.best_targets = bpb, [validation.targets, validation.bytes]
        # JSON has no NaN: the state, and the result of the run, hold finite numbers only.
        state.validation = validation if math.isfinite(bpb) else None
        return validation

    def _forget_other_data(self) -> None:
        """Begins validation anew where that of the checkpoint scored other data, which is no result of this run."""
        state = self.state
        is_own = state.counters.step > last_step_of_other_validation(self.folder.fingerprint)
        if (self.validator is not None and is_own) or (state.validation is None and state.best_bpb is None):
            return
        state.validation = state.best_bpb = state.best_targets = None
        state.evals_since_best = 0
        now = "" if self.validator is not None else ", and the data have no validation documents now"
        scored = f"the validation up to step {state.counters.step:,} scored other documents"
        self.add_notes([f"{scored}{now}: it is no result of this run"])

    def _forget_other_targets(self, validation: Validation) -> None:
        """Begins the best validation and the count of early stopping again where the best one scored other targets.

        Which are scored follows from `run.eval_every`, the budget and the batch, which may differ after a resume.
        """
        state, last = self.state, self.state.validation
        # A checkpoint of an earlier version has those of the last validation alone.
        best = state.best_targets or ([last.targets, last.bytes] if last else None)
        if state.best_bpb is None or best is None or best == [validation.targets, validation.bytes]:
            return
        state.best_bpb = None
        patience = " and the count of run.patience" * bool(self.config.run.patience)
        note = f"the validation of step {state.counters.step:,} scores {validation.targets:,} targets, "
        note += f"the best one before it {best[0]:,}: their bits per byte do not compare, "
        note += f"so the best one{patience} begins anew"
        self.add_notes([note])

    def _log(
        self, global_batch: GlobalBatch, result: StepResult, lr_factor: float, validation: Validation | None, every: int
    ) -> None:
        step = self.state.counters.step
        if validation or result.spike or not result.applied or step % every == 0 or step == self.state.steps:
            more: dict[str, Any] = {
                "lr": self.config.optim.lr * lr_factor,
                "skipped": self.train_step.loss_guard.skipped,
            }
            more |= {"spike": True} if result.spike else {}
            more |= {} if result.applied else {"sequences": global_batch.sequence_keys.tolist()}
            more |= self.train_step.model_metrics(global_batch.sequence_keys[:1])
            self.monitor.line(result, validation, self.loader.seconds_waited, **more)
        self.monitor.report(result, validation)

    @property
    def _has_decay(self) -> bool:
        schedule = self.config.optim.schedule
        return schedule.kind != "const" and schedule.decay != 0

    def _replan(self) -> None:
        """Plans a time budget again, once, where the decay begins and it would be exceeded or left over.

        Where steps take longer than planned, the decay begins at its share of the time, before its planned step.
        """
        state, planned = self.state, self.schedule
        step, start, budget = state.counters.step, state.steps - planned.decay, self.config.run.budget
        if budget.kind != "time" or state.replanned or step < planned.warmup or step <= self.begun.step:
            return
        seconds, decay_seconds = budget.amount, budget.amount * planned.decay / state.steps
        # A rank whose process alone was stopped has the shorter time: the others waited for it.
        spent = self.world.reduce("min", [state.counters.seconds])[0]
        left = seconds - spent
        if step < start and left > decay_seconds:
            return
        state.replanned = True
        # Of the steps of this run: those before a branch may have had another batch.
        per_step = (spent - self.begun.seconds) / max(step - self.begun.step, 1)
        if step == start and 0 <= left - per_step * planned.decay <= MAX_UNUSED_TIME * seconds:
            return
        # Also where so few steps were planned that none was left for the decay.
        decays = planned.decay > 0 or self._has_decay
        steps_left = max(int(decays), int(left / per_step))
        state.steps, state.decay_steps = step + steps_left, steps_left * decays
        self.schedule = replace(planned, steps=state.steps, decay=state.decay_steps)
        if planned.decay and left < MIN_DECAY_SHARE * decay_seconds:
            decay = f"the decay of the learning rate has {counted(state.decay_steps, 'step')}, not {planned.decay:,}"
            late = f"{format_time(spent)} of the budget of {format_time(seconds)} were spent when it began"
            self.add_notes([f"{decay}: {late}; a larger budget leaves more for it"])

    def _abort(self, global_batch: GlobalBatch) -> None:
        step, keys = self.state.counters.step, global_batch.sequence_keys
        self._enter_stage()
        self._settle_write(wait=True)
        self._start_checkpoint(suffix=run_entries.BAD)
        self._settle_write(wait=True)
        named = ", ".join(f"{epoch}/{block}/{index}" for epoch, block, index in keys[:8].tolist())
        # `run.precision=fp32` in Python, `--precision fp32` on the command line.
        precise = Argument("run.precision", "fp32")
        guard = self.train_step.loss_guard
        # Before the first update a learning rate has no effect.
        remedy = "a lower optim.lr" if guard.skipped < step else "other settings of model"
        raise NotFinite(
            f"loss or gradient was not finite in {counted(guard.consecutive, 'step')} in a row",
            where=f"step {step}, sequences (epoch/block/index) {named}" + (" …" if len(keys) > 8 else ""),
            limit=f"the state is saved in {self.folder.checkpoints.folder}/step-{step}-bad",
            fix=(
                f"{remedy}, in another ",
                Argument("output"),
                " or with ",
                Argument("force", True),
                *([", or "] if self.train_step.precision in ("fp32", "fp64") else [", ", precise, ", or "]),
                "inspect these sequences: slm batches",
            ),
        )

    # ------------------------------------------------------------ checkpoints and the end

    def save(self) -> None:
        """Copies this moment, for the thread that writes it as a checkpoint.

        `_start_checkpoint` -> `Checkpoints.snapshot` (the copy) -> `CheckpointWriter.start` -> in the thread
        `Snapshot.write`; `_settle_write` takes the result.
        """
        state = self.state
        self.heartbeat.progress("saving", state.counters.step, state.steps)
        with self.monitor.pause():
            self._settle_write(wait=True)
            if self.data_guard is not None:
                self.data_guard.check()
            state.metrics_length = self.monitor.metrics.sync()
            self._start_checkpoint()

    @property
    def _is_best(self) -> bool:
        state = self.state
        return state.best_bpb is not None and state.evals_since_best == 0 and state.validation is not None

    def _mark_and_prune_checkpoints(self) -> None:
        """Writes the name of the newest checkpoint, which holds the present state, into `latest`, and into `best` if it
        is the best; removes old ones."""
        if self.world.is_main:
            self.writer.mark_and_prune(self.state.counters.step, is_best=self._is_best)
        self.world.barrier()

    def _start_checkpoint(self, suffix: str = "") -> None:
        state = self.state
        train_state = {**state.model_dump(by_alias=True), **self.train_step.scalars()}
        train_state |= {"version": VERSION, "run": self.run_digest}
        step, tensors = state.counters.step, self.train_step.tensors()
        snapshot = self.folder.checkpoints.snapshot(step, tensors, train_state, self.world, suffix=suffix)
        self.writer.start(snapshot, step, is_best=self._is_best)

    def _settle_write(self, *, wait: bool = False) -> None:
        """Reports a checkpoint that was written since the last call, which `wait` waits for; raises a failed write."""
        folder = self.writer.finished(wait=wait)
        if folder is not None:
            self.monitor.saved(folder)

    def _resume(self) -> None:
        """Loads the newest intact checkpoint, and removes newer ones. Raises `CorruptFile`."""
        checkpoints, train_step = self.folder.checkpoints, self.train_step
        newest = checkpoints.newest()
        self.damaged = [step for step in checkpoints.list() if step > (newest or 0)]
        self.world.barrier()
        if self.world.is_main:
            checkpoints.remove_after(newest)
            self.folder.remove_leftovers()
        self.world.barrier()
        if newest is None:
            return
        folder, steps = checkpoints.path(newest), self.state.steps
        train_state = checkpoint.read_train_state(folder)
        tensors = {stem: checkpoint.read_tensors(folder, stem) for stem in train_step.tensors()}
        train_step.load(tensors, train_state, folder)
        self.state, self.resumed_from = TrainState.model_validate(train_state), newest
        self._forget_other_data()
        train_step.loader = self.stages.enter(self.state)
        if self.state.decay_steps is not None:
            self.schedule = replace(self.schedule, steps=self.state.steps, decay=self.state.decay_steps)
        if not self.state.replanned:
            # The number of steps in the fingerprint counts, until a time budget was replanned. A branch (a new run that
            # began at a checkpoint of another: `slm resume --step`) plans its steps anew.
            self.state.steps = steps
            if steps < newest:
                raise setup.no_step_left(self.config.run.budget, newest)
        if self.world.is_main:
            path = self.folder.path / run_entries.METRICS
            self.state.metrics_length, self.lost_lines = restore_lines(
                path, self.state.metrics_length, self.folder.handle
            )
        # A killed process may have written this checkpoint and done no more.
        self._mark_and_prune_checkpoints()

    def resumption(self) -> str:
        """Where a run goes on, and which damaged checkpoints were removed for it."""
        lost = "".join(f"; the checkpoint of step {step} is damaged and was removed" for step in self.damaged)
        lost += self.lost_lines
        if self.resumed_from is None:
            return f"no checkpoint to continue from: training begins at step 0 again{lost}"
        return f"continuing at step {self.resumed_from} of {self.state.steps}{lost}"

    def _note_on_last_loss(self) -> list[str]:
        """A warning where the last loss is that of a model that has learned nothing, as after diverging."""
        n_vocab, loss = self.data.vocab.n_vocab, None if self.last_result is None else self.last_result.loss
        if loss is None or loss < math.log(n_vocab) - 1e-3:
            return []
        guess = f"a uniform guess has ln {n_vocab} = {math.log(n_vocab):.4f}"
        return [f"the last loss is {loss:.6g}, and {guess}: lower optim.lr if it diverged, else train longer"]

    def _note_on_stops(self) -> list[str]:
        """A remark where a budget of time does not count seconds in which the process was stopped."""
        stopped = self.monitor.clock.stopped
        if self.config.run.budget.kind != "time" or not stopped:
            return []
        return [f"the process was stopped for {format_time(stopped)}, which the budget of time does not count"]

    def finish(self, reason: str) -> RunResult:
        """The result of the run; a finished run also writes its weights, card and `result.json`."""
        state, train_step, last = self.state, self.train_step, self.last_result
        counters, validation = state.counters, state.validation
        self.add_notes([*self._note_on_last_loss(), *self._note_on_stops()])
        finished = reason in FINAL_REASONS
        # Collective: every rank gathers and writes its part of `model.safetensors`.
        weights_sha256 = self.folder.finish(train_step.model.state_dict(), self.world) if finished else None
        result = RunResult(
            path=self.folder.path,
            reason=reason,
            steps=state.steps,
            loss=None if last is None or not math.isfinite(last.loss) else last.loss,
            val_loss=None if validation is None else validation.loss,
            val_bpb=None if validation is None else validation.bpb,
            best_bpb=state.best_bpb,
            skipped=train_step.loss_guard.skipped,
            micro_batch=train_step.micro_batch,
            parameters=self.cost.counts.parameters,
            precision=train_step.precision,
            device=self.world.device.type,
            weights_sha256=weights_sha256,
            resumed_from=self.resumed_from,
            branch=origins(self.folder.fingerprint),
            notes=self.notes,
            **setup.totals_of(counters, self.cost.per_step),
        )
        if finished and self.world.is_main:
            self.folder.write_result(result.to_dict(), model_card(self.folder.config, result))
        self.world.barrier()
        return result
