"""`Session`: one process's part in a run, from entering the process group to leaving it.

It builds what the trainer needs, freezes what has to stay the same (steps, micro-batch, locks), and writes the end.
Settings of torch that hold for the whole process are put back on the way out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import torch

from slmmodel.bundle import Bundle, files
from slmmodel.bundle.bundle import CONFIG, LOCK, TOKENIZER, VOCAB
from slmmodel.hardware import device_for
from slmmodel.models import build
from slmmodel.optim import build as build_optimizer
from slmmodel.optim import resolve as resolve_schedule
from slmmodel.training import budget, heap, locks, microbatch, precision
from slmmodel.training import config as configs
from slmmodel.training.card import card
from slmmodel.training.data import Data
from slmmodel.training.loss import Loss
from slmmodel.training.plan_run import RunPlan, make_loader, plan_run
from slmmodel.training.ranks import Ranks, join, leave
from slmmodel.training.result import RunResult
from slmmodel.training.settings import Config
from slmmodel.training.state import Progress
from slmmodel.training.stepper import Stepper
from slmmodel.training.trainer import Trainer, probe
from slmmodel.training.validate import Validator

Report = Callable[[str, int, int, str], None]
Tell = Callable[[str], None]
NEVER = 1 << 62


class Session:
    """Use it in a `with` block."""

    def __init__(self, device: str, threads: int) -> None:
        self._asked, self._threads = device, threads

    def __enter__(self) -> Session:
        self._before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
        if self._threads:
            torch.set_num_threads(self._threads)
        heap.keep()
        self.ranks: Ranks = join(device_for(self._asked))
        self.device = self.ranks.device
        return self

    def __exit__(self, *error: object) -> None:
        leave(self.ranks)
        heap.give_back()
        torch.set_num_threads(self._before[0])
        torch.use_deterministic_algorithms(self._before[1])

    def planned(self, config: Config, data: Data) -> dict[str, Any]:
        """The numbers of a run that is only planned."""
        plan = self._plan(config, data)[1]
        if config.budget.kind == "time":
            return {**plan.summary(0), "steps": None, "tokens": None, "bytes": None, "epochs": None, "flops": None}
        return plan.summary(budget.steps_for(config.budget, plan.per_step))

    def _plan(self, config: Config, data: Data) -> tuple[Any, RunPlan]:
        context = int(config.model["seq_len"])
        rows = config.run.batch_tokens // context
        pin = self.device.type == "cuda"
        loader = make_loader(data, config.data, context, rows, config.run.seed, pin=pin)
        return loader, plan_run(config, data, loader, self.ranks.world)

    def train(
        self,
        bundle: Bundle,
        config: Config,
        data: Data,
        allowed: Collection[str],
        report: Report | None,
        tell: Tell | None,
        notes: tuple[str, ...],
        *,
        replace: bool = False,
    ) -> RunResult:
        """Trains a run from where it stands to its end; with `replace`, anew in the place of what is there."""
        if config.run.deterministic:
            torch.use_deterministic_algorithms(True)
        loader, plan = self._plan(config, data)
        recorded = bundle.lock if bundle.exists() and not replace else None
        locked = self._locks(config, data, loader.digest)
        if recorded is not None:
            for name in locks.check(recorded, locked, allowed, where=str(bundle.path / LOCK)):
                notes += (f"goes on with another {name} than it began with",)
        stepper = self._stepper(config, plan, loader)
        validator = self._validator(config, data, plan, stepper)
        steps = self._freeze(bundle, config, data, plan, stepper, validator, locked, recorded)
        schedule, told = resolve_schedule(config.schedule, steps)
        notes += (told,) if told else ()
        trainer = Trainer(
            stepper.model,
            stepper,
            schedule,
            _cadence(config, steps),
            bundle,
            progress=Progress(steps=steps),
            flops_per_token=plan.counts.flops_per_token,
            validator=validator,
            report=report if self.ranks.first else None,
            deadline=config.budget.amount if config.budget.kind == "time" else None,
        )
        begun = self._take_up(trainer, bundle, steps)
        if begun is not None and tell is not None and self.ranks.first:
            tell(f"continuing at step {begun} of {trainer.progress.steps}")
        self._compile(config, plan, trainer)
        reason = trainer.fit()
        return self._end(trainer, bundle, plan, reason, begun, notes)

    def _locks(self, config: Config, data: Data, plan: str) -> dict[str, Any]:
        return {
            "fingerprint": data.vocab.fingerprint,
            "data": data.train.digest,
            "val": None if data.val is None else data.val.digest,
            "plan": plan,
            "config": configs.digest(configs.to_dict(config)),
            "torch": str(torch.__version__),
            "device": self.device.type,
            "threads": torch.get_num_threads(),
        }

    def _stepper(self, config: Config, plan: RunPlan, loader: Any) -> Stepper:
        name = precision.resolve(config.run.precision, self.device)
        how = precision.Precision(name, self.device)
        model = build(plan.model, seed=config.run.seed, device=self.device).to(how.weights)
        optimizer = build_optimizer(model, config.optim)
        return Stepper(
            model,
            loader,
            optimizer,
            Loss(doc_mask=config.data.doc_mask),
            how,
            ranks=self.ranks,
            micro=max(1, -(-plan.rows // self.ranks.world)),
            limit=config.optim.clip,
            seed=config.run.seed,
        )

    def _validator(self, config: Config, data: Data, plan: RunPlan, stepper: Stepper) -> Validator | None:
        if data.val is None:
            return None
        pack = "bucket" if config.data.pack in ("bucket", "lanes") else "concat"
        return Validator(
            data.val,
            data.vocab,
            context=plan.model.seq_len,
            rows=max(1, min(plan.rows, 4096 // plan.model.seq_len)),
            pack=pack,
        )

    def _freeze(
        self,
        bundle: Bundle,
        config: Config,
        data: Data,
        plan: RunPlan,
        stepper: Stepper,
        validator: Validator | None,
        locked: dict[str, Any],
        recorded: dict[str, Any] | None,
    ) -> int:
        """Number of steps and micro-batch, decided once and written into the lock of a new run."""
        share = max(1, -(-plan.rows // self.ranks.world))
        if recorded is not None:
            stepper.micro = min(config.run.micro_batch or int(recorded["micro_batch"]), share)
            if recorded["steps"] is not None:
                return int(recorded["steps"])
            steps = self._steps(config, plan, stepper)
            if self.ranks.first:
                bundle.relock({**recorded, "steps": steps})
            self.ranks.wait()
            return steps
        stepper.micro = min(config.run.micro_batch or self._auto(plan, stepper, share), share)
        steps = self._steps(config, plan, stepper)
        if self.ranks.first:
            lock = {**locked, "format": locks.FORMAT, "steps": steps, "micro_batch": stepper.micro, "source": data.name}
            content = {CONFIG: configs.to_yaml(config), LOCK: files.to_json(lock)}
            if data.vocab_file is not None:
                content[VOCAB] = data.vocab_file.read_bytes()
            if data.tokenizer is not None:
                content[TOKENIZER] = data.tokenizer.read_bytes()
            if bundle.exists():
                bundle.remove()
            Bundle.create(bundle.path, content)
        self.ranks.wait()
        return steps

    def _steps(self, config: Config, plan: RunPlan, stepper: Stepper) -> int:
        seconds = probe(stepper) if config.budget.kind == "time" else None
        return budget.steps_for(config.budget, plan.per_step, seconds_per_step=seconds)

    def _auto(self, plan: RunPlan, stepper: Stepper, share: int) -> int:
        """The micro-batch that nobody named."""
        model = plan.model
        if self.device.type != "cuda":

            def cost(rows: int) -> int:
                return microbatch.estimate(rows, model.seq_len, model.n_vocab, model.d_model, model.n_layers)

            found = microbatch.on_cpu(share, cost, microbatch.available() // self.ranks.world)
        else:
            found = microbatch.measured(share, self.device, _attempts(stepper))
        return int(self.ranks.least([found])[0])

    def _take_up(self, trainer: Trainer, bundle: Bundle, steps: int) -> int | None:
        """Loads the newest whole state and drops what is newer; None where there is none."""
        newest = bundle.steps.newest()
        if self.ranks.first:
            bundle.steps.drop_after(newest)
        self.ranks.wait()
        if newest is not None:
            micro = trainer.stepper.micro
            trainer.load(newest)
            trainer.stepper.micro = min(trainer.stepper.micro, micro)
            if not trainer.progress.replanned:
                trainer.progress.steps = steps
        return newest

    def _compile(self, config: Config, plan: RunPlan, trainer: Trainer) -> None:
        """Compiles where it was asked for, or where the planned run is long enough on CUDA to get it back."""
        asked = config.run.compile
        if asked == "auto" and self.device.type == "cuda":
            seconds = probe(trainer.stepper, 2.0) * (trainer.progress.steps - trainer.progress.counters.step)
            asked = "on" if self.ranks.largest([seconds])[0] > precision.COMPILE_FROM else "off"
        if asked == "on":
            trainer.stepper.compile()

    def _end(
        self, trainer: Trainer, bundle: Bundle, plan: RunPlan, reason: str, begun: int | None, notes: tuple[str, ...]
    ) -> RunResult:
        counters, stepper, held = trainer.progress.counters, trainer.stepper, trainer.validation
        weights = files.to_tensors(stepper.model.state_dict())
        finished = reason in ("finished", "early-stop")
        result = RunResult(
            path=bundle.path,
            reason=reason,
            step=counters.step,
            steps=trainer.progress.steps,
            tokens=counters.tokens,
            targets=counters.targets,
            bytes=counters.bytes,
            documents=counters.documents,
            flops=counters.flops,
            epochs=counters.step * plan.per_step.epochs,
            seconds=counters.seconds,
            loss=None if trainer.last is None else trainer.last.loss,
            val_loss=None if held is None else held.loss,
            val_bpb=None if held is None else held.bpb,
            best_bpb=trainer.progress.best,
            skipped=stepper.guard.skipped,
            micro_batch=stepper.micro,
            parameters=plan.counts.parameters,
            precision=stepper.precision.name,
            device=self.device.type,
            weights_sha256=hashlib.sha256(weights).hexdigest() if finished else None,
            resumed_from=begun,
            notes=notes,
        )
        if finished and self.ranks.first:
            table = {key: value for key, value in result.to_dict().items() if key != "path"}
            bundle.finish(weights, table, card(bundle.config, table, plan.model.n_vocab))
        self.ranks.wait()
        return result


def _cadence(config: Config, steps: int) -> Any:
    """The run's settings with `auto` made definite."""
    run = config.run
    return replace(
        run,
        eval_every=run.eval_every or max(1, -(-steps // 10)),
        save_every=run.save_every or max(50, -(-steps // 10)),
        log_every=run.log_every or (1 if steps <= 10_000 else 10),
    )


def _attempts(stepper: Stepper) -> Callable[[int], int]:
    """Real steps of so many rows at once, whose effect is taken back by `probe`'s caller: rates are zero."""

    def attempt(rows: int) -> int:
        taken = stepper.loader.step(Progress().cursor)
        stepper.optimizer.set(0.0)
        stepper.attempt(taken.rows[:rows], taken.n_targets, rows)
        return rows * stepper.loader.context

    return attempt
