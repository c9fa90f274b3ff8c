"""`Trainer`: the loop. Steps, metrics, validation, saved states, early stopping, and an orderly end whatever asks for
it.

It owns no model code and no data code. Between two steps the whole run is in `progress`, the weights, and the state of
optimizer and guard; that is what `save` writes and `load` takes over.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from slmmodel.bundle import Bundle, files, load_weights
from slmmodel.bundle.bundle import METRICS, WEIGHTS
from slmmodel.data.loader import Loader, Step
from slmmodel.errors import NotFinite
from slmmodel.optim import Schedule
from slmmodel.training import budget
from slmmodel.training.meters import Meters
from slmmodel.training.metrics import Metrics, sinks
from slmmodel.training.settings import RunSettings
from slmmodel.training.signals import INTERRUPTED, Stop
from slmmodel.training.state import Progress
from slmmodel.training.stepper import Stepped, Stepper
from slmmodel.training.validate import Validation, Validator

if TYPE_CHECKING:
    from slmmodel.models.protocol import Model

OPTIMIZER, TRAIN_STATE, CARRIED = "optim.safetensors", "train_state.json", "state.safetensors"
Report = Callable[[str, int, int, str], None]


class Trainer:
    """Trains until the planned steps are done. `progress` may come from a saved state."""

    def __init__(
        self,
        model: Model,
        stepper: Stepper,
        schedule: Schedule,
        run: RunSettings,
        bundle: Bundle,
        *,
        progress: Progress,
        flops_per_token: float,
        validator: Validator | None = None,
        report: Report | None = None,
        deadline: float | None = None,
    ) -> None:
        self.model, self.stepper, self.schedule, self.settings, self.bundle = model, stepper, schedule, run, bundle
        self.progress, self.validator, self._report = progress, validator, report
        self.flops_per_token, self.deadline = flops_per_token, deadline
        self.validation: Validation | None = None
        self.last: Stepped | None = None
        self.metrics_length = 0
        self._next: Step | None = None

    @property
    def loader(self) -> Loader:
        """Where batches come from."""
        return self.stepper.loader

    def fit(self) -> str:
        """Trains; gives the reason why it ended. Raises `NotFinite`."""
        ranks, counters = self.stepper.ranks, self.progress.counters
        path = self.bundle.path / METRICS if ranks.first else None
        shown = sinks(self.settings.track, self.bundle.path) if ranks.first else []
        metrics = Metrics(path, length=self.metrics_length, sinks=shown)
        self.meters = Meters(metrics, self.progress, self.flops_per_token, ranks.device, self._report)
        self.model.train()
        try:
            with Stop() as stop:
                while counters.step < self.progress.steps:
                    reason = self._one(stop)
                    if reason is not None:
                        return reason
            return "finished"
        finally:
            metrics.close()
            self.stepper.close()

    def _one(self, stop: Stop) -> str | None:
        """One step and all that is due after it; a reason to end, or None."""
        counters = self.progress.counters
        taken = self._next or self.loader.step(self.progress.cursor)
        last = counters.step + 1 >= self.progress.steps
        self._next = None if last else self.loader.step(taken.next)
        factor = self.schedule(counters.step)
        self.stepper.optimizer.set(factor)
        upcoming = None if self._next is None else self._next.rows
        done = self.stepper.run(taken.rows, taken.n_targets, counters.step, upcoming)
        self._count(taken, done)
        if self.stepper.guard.hopeless:
            self._give_up(taken)
        self._replan()
        last = counters.step >= self.progress.steps
        validation = self._validated() if self._due(self.settings.eval_every, last) else None
        self._note(done, factor, validation, taken)
        return self._after(stop, last, validation)

    def _after(self, stop: Stop, last: bool, validation: Validation | None) -> str | None:
        code, wanted = self._agreed(stop)
        early = self._patience_gone(validation)
        if self._due(self.settings.save_every, last) or code or wanted or early:
            self.save()
            stop.save = False
        if early and not last:
            return "early-stop"
        if code and not last:
            return "interrupted" if code == INTERRUPTED else "terminated"
        return None

    def _agreed(self, stop: Stop) -> tuple[int, bool]:
        """What any rank was asked for."""
        if self.stepper.ranks.world == 1:
            return stop.code, stop.save
        code, wanted = self.stepper.ranks.largest([stop.code, float(stop.save)])
        return int(code), wanted > 0

    def _due(self, every: int, last: bool) -> bool:
        return last or self.progress.counters.step % every == 0

    def _count(self, taken: Step, done: Stepped) -> None:
        counters = self.progress.counters
        slots = self._slots(taken)
        counters.step += 1
        counters.tokens += slots
        counters.targets += taken.n_targets
        counters.bytes += done.bytes
        counters.documents += done.documents
        counters.flops += slots * self.flops_per_token
        counters.seconds = self.meters.clock.seconds
        self.progress.cursor = taken.next
        self.last = done

    def _slots(self, taken: Step) -> int:
        """Slots of a global batch: rows of buckets are as wide as their group."""
        epoch, block, row = taken.rows[0].tolist()
        plan = self.loader.plan(epoch, block)
        return len(taken.rows) * (plan.width(row) if plan.grouped else self.loader.context)

    def _note(self, done: Stepped, factor: float, validation: Validation | None, taken: Step) -> None:
        spike = self.stepper.guard.spike(done.loss)
        step = self.progress.counters.step
        if (
            validation is None
            and step % self.settings.log_every
            and done.ok
            and not spike
            and step < self.progress.steps
        ):
            self.meters.show(done, validation)
            return
        self.meters.line(done, self._rate() * factor, validation, self.stepper.guard.skipped, spike, taken.rows)

    def _rate(self) -> float:
        return float(self.stepper.optimizer.peak)

    def _validated(self) -> Validation | None:
        if self.validator is None:
            return None
        with self.meters.clock:
            found = self.validator.run(self.stepper.nats, self.stepper.ranks)
        self.validation = found
        better = math.isfinite(found.bpb) and (self.progress.best is None or found.bpb < self.progress.best)
        self.progress.since_best = 0 if better else self.progress.since_best + 1
        if better:
            self.progress.best = found.bpb
        return found

    def _patience_gone(self, validation: Validation | None) -> bool:
        patience = self.settings.patience
        return bool(patience) and validation is not None and self.progress.since_best >= patience

    def _replan(self) -> None:
        """A budget of time is planned anew once, where the decay begins, if the clock drifted by more than a tenth."""
        start = self.progress.steps - self.schedule.decay
        if self.deadline is None or self.progress.replanned or self.progress.counters.step != start:
            return
        self.progress.replanned = True
        spent = self.stepper.ranks.largest([self.progress.counters.seconds])[0]
        if abs(spent / max(start, 1) * self.progress.steps - self.deadline) <= 0.1 * self.deadline:
            return
        left = max(1, round((self.deadline - spent) / (spent / max(start, 1))))
        self.progress.steps, self.progress.decay = start + left, left
        self.schedule = replace(self.schedule, steps=start + left, decay=left)

    def _give_up(self, taken: Step) -> None:
        if self.stepper.ranks.first:
            self.bundle.steps.save(self.progress.counters.step, self._content(), suffix="-bad")
        named = ", ".join(f"{epoch}/{block}/{row}" for epoch, block, row in taken.rows[:8].tolist())
        raise NotFinite(
            f"loss or gradient was not finite in {self.stepper.guard.in_a_row} steps in a row",
            where=f"step {self.progress.counters.step}, rows (epoch/block/row) {named}"
            + (" …" if len(taken.rows) > 8 else ""),
            limit=f"the state is in {self.bundle.steps.folder}/step-{self.progress.counters.step}-bad",
            fix="a lower rate (--set optim.lr=…), fp32 (--set run.precision=fp32), or look at these rows: slm batches",
        )

    def _content(self) -> dict[str, bytes]:
        """The files of a state."""
        state = {
            **self.progress.to_dict(),
            "guard": self.stepper.guard.state(),
            "precision": self.stepper.precision.state(),
            "micro_batch": self.stepper.micro,
            "metrics_length": self.metrics_length,
            "validation": None if self.validation is None else vars(self.validation),
        }
        carry = self.stepper.carry
        kept = {} if carry is None else {CARRIED: files.to_tensors(carry.tensors())}
        return {
            **kept,
            WEIGHTS: files.to_tensors(self.model.state_dict()),
            OPTIMIZER: files.to_tensors(self.stepper.optimizer.state()),
            TRAIN_STATE: files.to_json(state),
        }

    def save(self) -> None:
        """Writes the state of this moment; only the first rank does, the others wait."""
        with self.meters.clock:
            if self.stepper.ranks.first:
                self.metrics_length = self.meters.metrics.sync()
                step = self.progress.counters.step
                self.bundle.steps.save(step, self._content())
                if self.progress.best is not None and self.progress.since_best == 0 and self.validation is not None:
                    self.bundle.steps.mark_best(step)
                self.bundle.steps.prune(self.settings.keep, self.settings.keep_every)
            self.stepper.ranks.wait()

    def load(self, step: int) -> None:
        """Takes over a saved state. Raises `CorruptBundle`, `CorruptState`."""
        folder = self.bundle.steps.path(step)
        files.check(folder)
        state = files.read_json(folder / TRAIN_STATE)
        load_weights(self.model, folder / WEIGHTS)
        self.stepper.optimizer.load(files.read_tensors(folder / OPTIMIZER))
        if self.stepper.carry is not None:
            self.stepper.carry.load(files.read_tensors(folder / CARRIED))
        self.take_over(state)

    def take_over(self, state: dict[str, Any]) -> None:
        """Counters, cursor and judgements of a saved state."""
        self.progress = Progress.from_dict(state)
        self.stepper.guard.load(state["guard"])
        self.stepper.precision.load(state["precision"])
        self.stepper.micro = int(state["micro_batch"])
        self.metrics_length = int(state["metrics_length"])
        self.validation = None if state["validation"] is None else Validation(**state["validation"])
        if self.progress.decay is not None:
            self.schedule = replace(self.schedule, steps=self.progress.steps, decay=self.progress.decay)


def probe(stepper: Stepper, seconds: float = 5.0) -> float:
    """Seconds a step, from real steps whose effect is taken back. On several ranks the slowest counts."""
    model, optimizer = stepper.model, stepper.optimizer
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    state = {name: tensor.clone() for name, tensor in optimizer.state().items()}
    guard, scale = stepper.guard.state(), stepper.precision.state()
    optimizer.set(0.0)
    times = budget.timed(lambda step: _one_step(stepper, step), seconds, stepper.ranks)
    model.load_state_dict(weights)
    optimizer.load(state)
    stepper.guard.load(guard)
    stepper.precision.load(scale)
    return times


def _one_step(stepper: Stepper, step: int) -> None:
    taken = stepper.loader.step(Progress().cursor)
    stepper.run(taken.rows, taken.n_targets, step)
    if stepper.ranks.device.type == "cuda":
        torch.cuda.synchronize(stepper.ranks.device)
