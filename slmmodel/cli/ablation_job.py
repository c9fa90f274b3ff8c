"""The work of `slm ablate`: lock, power, estimate, runs, scores and the result. What exists is found again."""

from __future__ import annotations

import itertools
import math
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from slmmodel.ablation import plan as planning
from slmmodel.ablation import result as results
from slmmodel.ablation import runs
from slmmodel.ablation.arms import Arm
from slmmodel.ablation.plan import Request
from slmmodel.ablation.result import Scored
from slmmodel.ablation.runs import RunPlan
from slmmodel.checkpoint import RunFolder
from slmmodel.cli import ablation_files as files
from slmmodel.cli.baselines import text_baselines
from slmmodel.cli.open_by_path import note_of_command
from slmmodel.cli.result_files import load_certificate, to_envelope
from slmmodel.cli.text import Text
from slmmodel.cli.train_progress import TrainProgress
from slmmodel.config import Settings
from slmmodel.errors import CorruptFile, Mismatch, NotFinite, unknown_name
from slmmodel.evaluation import breakdown
from slmmodel.evaluation.certificate import evaluate
from slmmodel.evaluation.comparison import Losses, count_units, read_losses
from slmmodel.evaluation.verdicts import power_line
from slmmodel.hardware import device_for, use_threads
from slmmodel.sizes import format_bytes, format_count
from slmmodel.training.setup import value_of
from slmmodel.versions import versions
from slmtok import atomic
from slmtok.cli.output import counted, in_time, settings
from slmtok.cli.progress import Progress
from slmtok.envelope import content_digest
from slmtok.errors import CorruptFile as CorruptCertificate
from slmtok.errors import UnsupportedVersion


def check_baseline(baseline: str | None, names: Sequence[str]) -> None:
    """Raises `UnknownName` for a baseline that is no arm."""
    if baseline is not None and baseline not in names:
        raise unknown_name("arm", baseline, names, "--baseline {}", option="baseline")


def make_request(arms: Sequence[Arm], *, baseline: str | None, settings: Settings, **given: Any) -> Request:
    """The request of a command line. Raises `UnknownName` for a baseline that is no arm, and what a device raises."""
    names = [arm.name for arm in arms]
    check_baseline(baseline, names)
    use_threads(value_of(settings, "run.threads", 0))
    device = device_for(value_of(settings, "run.device", "auto"))
    return Request(arms=arms, baseline=baseline or names[0], settings=settings, device=device, **given)


@dataclass
class AblationJob:
    """One ablation in its folder."""

    request: Request
    folder: Path
    exploratory: bool = False
    _times: dict[str, Any] = field(init=False)
    _counts: dict[str, Any] = field(default_factory=dict)

    def run(self) -> dict[str, Any]:
        """Does what is left to do, writes the result and gives its payload. Raises what the runs raise."""
        try:
            return self._run()
        except (KeyboardInterrupt, SystemExit):
            note_of_command("finished runs are kept; the same command goes on")
            raise

    def _run(self) -> dict[str, Any]:
        self._times = files.read_times(self.folder)
        lock = self._lock()
        views = {view["match"]: planning.run_plans(self.request, view) for view in lock["views"]}
        context = {view["match"]: planning.context_bytes(self.request, view) for view in lock["views"]}
        rates: list[dict[str, Any]] = []
        request, units = self.request, count_units(self.request.reference.val.nbytes)
        note_of_command(power_line(request.seeds, units, margin=request.margin, arms=len(request.arms)))
        cuts = [(arm.data.vocab.fingerprint, arm.data.train.inference) for arm in request.arms]
        if len(set(cuts)) < len(cuts):
            note_of_command("two arms cut text alike, so they do not differ: a control, not a comparison")
        announced = False
        if self.request.lr == "sweep":
            note_of_command(f"first the learning rates: {len(runs.SWEEP)} short runs of each arm")
            firsts = [{plan.arm.name: plan for plan in reversed(plans)}.values() for plans in views.values()]
            tries = [each for plans in firsts for plan in plans for each in runs.sweep_plans(plan)]
            # Runs with other rates than the planned ones are recognised as finished only after the sweep.
            if announced := not all(self._is_finished(each.name(request.device.type)) for each in tries):
                self._announce([*tries, *itertools.chain.from_iterable(views.values())])
            views = {match: self._swept(match, plans, context[match], rates) for match, plans in views.items()}
        if not announced:
            self._announce(list(itertools.chain.from_iterable(views.values())))
        jobs = [(match, plan) for match, plans in views.items() for plan in plans]
        scored: dict[str, list[Scored]] = {match: [] for match in views}
        for number, (match, plan) in enumerate(sorted(jobs, key=lambda job: job[1].seed), 1):
            label = f"run {number}/{len(jobs)}: {plan.arm.name}, seed {plan.seed}, match {match}"
            scored[match].append(self._scored(plan, context[match], label))
        payload = self._result(lock, scored, context, rates)
        files.write_result(self.folder, payload)
        return payload

    # ------------------------------------------------------------ before the first run

    def _lock(self) -> dict[str, Any]:
        """The lock of the folder, or a new one. Raises `Mismatch` for another command than that of the lock."""
        path, request = self.folder / files.LOCK, self.request.to_record(versions())
        changes: list[str] = []
        if path.exists():
            lock = files.load_lock(str(path))
            found = planning.changes(lock["request"], request)
            if not found:
                return lock
            has_runs = any((self.folder / files.RUNS).glob("*/result.json"))
            planning.check_changes(found, exploratory=self.exploratory, where=str(path), has_runs=has_runs)
            changes = [*lock["changes"], *found]
        elif any((self.folder / files.RUNS).glob("*/result.json")):
            found = ["the lock of finished runs is gone"]
            planning.check_changes(found, exploratory=self.exploratory, where=str(path))
            changes = found
        views = planning.make_views(self.request)
        files.write_lock(self.folder, {"request": request, "views": views, "changes": changes})
        return files.load_lock(str(path))

    def _announce(self, wanted: Sequence[RunPlan]) -> None:
        """Prints an estimate of the time that is left."""
        device = self.request.device
        plans = {plan.name(device.type): plan for plan in wanted}
        left = [plan for name, plan in plans.items() if not self._is_finished(name)]
        speeds: dict[tuple[str, int, str], runs.Speed] = {}
        seconds = 0.0
        with Progress("measuring") as progress:
            for plan in left:
                first = plan.arm.name, plan.shape.batch_size, repr(sorted(plan.shape.model.items()))
                progress(f"measuring {plan.arm.name}", 0, 0)
                if first not in speeds:
                    speeds[first] = runs.measure(plan, device)
                seconds += runs.seconds_of(plan, speeds[first], device.type)
        if left:
            finished = f", {len(plans) - len(left)} finished" if len(left) < len(plans) else ""
            seeds = f"{counted(self.request.seeds, 'seed')} an arm"
            note_of_command(f"{counted(len(left), 'run')} to train, {seeds}{finished}; about {in_time(seconds)}")
        if left and self._times["estimate"] is None:
            self._times["estimate"] = round(seconds, 1)
            files.write_times(self.folder, self._times)

    def _is_finished(self, name: str) -> bool:
        return RunFolder(self.folder / files.RUNS / name).finished

    def _swept(self, match: str, plans: Sequence[RunPlan], context: int, rates: list[dict[str, Any]]) -> list[RunPlan]:
        """The runs with the best learning rate of each arm."""

        def score(plan: RunPlan) -> float:
            label = f"learning rate {plan.lr:g} of {plan.arm.name}"
            try:
                bpb = self._scored(plan, context, label).certificate["bpb_total"]
            except NotFinite:
                return math.inf
            return math.inf if bpb is None else float(bpb)

        best: dict[str, float] = {}
        for plan in plans:
            if plan.arm.name not in best:
                best[plan.arm.name], rows = runs.sweep(plan, score)
                rates += [{"match": match, **row} for row in rows]
        return [replace(plan, lr=best[plan.arm.name]) for plan in plans]

    # ------------------------------------------------------------ runs

    def _scored(self, plan: RunPlan, context: int, label: str) -> Scored:
        """A run, trained and scored."""
        device = self.request.device
        name = plan.name(device.type)
        folder = self.folder / files.RUNS / name
        with TrainProgress("starting", quiet=settings().quiet) as progress:
            if not self._is_finished(name):
                progress.line(label)
            begun, worked = time.monotonic(), time.process_time()
            totals = runs.train(plan, folder, device.type, verify=name not in self._times["runs"], report=progress)
            certificate, losses = self._score(plan, folder, context, progress)
            if name not in self._times["runs"]:
                self._times["runs"][name] = round(float(totals["seconds"]), 2)
                self._times["processor"][name] = round(time.process_time() - worked, 2)
                self._times["spent"] = round(self._times["spent"] + time.monotonic() - begun, 2)
                files.write_times(self.folder, self._times)
        return Scored(plan, folder, totals, certificate, losses)

    def _score(self, plan: RunPlan, run: Path, context: int, progress: Progress) -> tuple[dict[str, Any], Losses]:
        """Certificate and losses of a finished run at this many bytes of context, computed or read."""
        opened, path = RunFolder.open(run), run / "eval" / f"context-{context}.json"
        losses = self.folder / files.LOSSES / f"{run.name}-context-{context}.losses"
        if not (path.exists() and losses.exists()):
            found = evaluate(
                opened,
                plan.arm.val.source,
                seq_bytes=context,
                device=str(self.request.device),
                progress=lambda done, total: progress("scoring", done, total),
            )
            content = {**found.certificate, "breakdown": self._breakdown(plan.arm, found.scores)}
            for place in (path, losses):
                place.parent.mkdir(exist_ok=True)
            atomic.write(losses, found.losses(), force=True)
            atomic.write(path, to_envelope(content).to_bytes(), force=True)
        # Also after they were computed: a file holds losses in fp32, and a continued ablation reads it.
        return _read_score(opened, path, losses)

    def _breakdown(self, arm: Arm, scores: Any) -> dict[str, Any]:
        if arm.name not in self._counts:
            self._counts[arm.name] = breakdown.target_counts(arm.train.source.block(0), arm.data.vocab.n_vocab)
        return breakdown.tables(scores, arm.val.source, self._counts[arm.name])

    # ------------------------------------------------------------ the result

    def _result(
        self,
        lock: Mapping[str, Any],
        scored: Mapping[str, Sequence[Scored]],
        context: Mapping[str, int],
        rates: list[dict[str, Any]],
    ) -> dict[str, Any]:
        request = self.request
        options = {"baseline": request.baseline, "margin": request.margin, "exploratory": bool(lock["changes"])}
        options["alpha"] = planning.ALPHA
        views = [results.view(match, found, request.arms, context[match], **options) for match, found in scored.items()]
        runs_of_all = itertools.chain.from_iterable(scored.values())
        return {
            "baseline": request.baseline,
            "margin": request.margin,
            "alpha": planning.ALPHA,
            "seeds": list(range(request.seeds)),
            "exploratory": lock["changes"],
            "scope": self._scope(next(iter(scored.values()))),
            "documents": lock["request"]["documents"],
            "arms": results.about_arms(request.arms),
            "views": views,
            "baselines": self._baselines(),
            "sweep": rates,
            "certificates": {f"runs/{run.folder.name}": _digest(run) for run in runs_of_all},
            "lock": {key: lock[key] for key in ("request", "views", "changes")},
        }

    def _baselines(self) -> dict[str, Any] | None:
        """Those of the documents, which all arms share; None for data without a tokenizer."""
        data = self.request.reference.data
        if data.tokenizer is None or data.val is None:
            return None
        return text_baselines(Text(data.tokenizer, data.vocab), data.train.block(0), data.val.block(0))

    def _scope(self, scored: Sequence[Scored]) -> str:
        config = self.request.config()
        run = next(each for each in scored if each.plan.arm.name == self.request.baseline)
        size = format_count(run.plan.shape.counts().parameters)
        corpus = self.request.reference.train
        documents = counted(len(corpus.nbytes), "document")
        return (
            f"{config.preset or config.model['arch']} bodies ({size} parameters), {documents} of "
            f"{format_bytes(int(corpus.nbytes.sum()))}, {format_bytes(float(run.totals['bytes']))} read in a run"
        )


def _read_score(run: RunFolder, certificate: Path, losses: Path) -> tuple[dict[str, Any], Losses]:
    """A certificate and its losses. Raises `Mismatch` where one is of other weights, another tokenizer or scoring.

    The fix of each error removes both files, since the command scores a run again that lacks one.
    """
    fix = f"rm {shlex.quote(str(certificate))} {shlex.quote(str(losses))}, and the same command scores the run again"
    try:
        stated, found = load_certificate(str(certificate)), read_losses(losses)
    except (CorruptFile, CorruptCertificate, UnsupportedVersion) as error:
        error.fix = fix
        raise
    expected = {**_scored_with(stated), "model.weights": run.weights_digest()}
    for path, about in ((certificate, stated), (losses, found.about)):
        given = _scored_with(about)
        wrong = next((name for name in expected if given.get(name) != expected[name]), None)
        if wrong is not None:
            raise Mismatch(
                f"{str(path)!r} does not belong to the run: {wrong} is {given.get(wrong)}",
                where=str(run.path),
                limit=f"{wrong} of the run: {expected[wrong]}",
                fix=fix,
            )
    return stated, found


def _scored_with(about: Mapping[str, Any]) -> dict[str, Any]:
    """What decides a score besides the documents, by dotted name, of a certificate or a file of losses."""
    sections = ("model", "tokenizer", "scoring")
    return {f"{section}.{key}": value for section in sections for key, value in about.get(section, {}).items()}


def _digest(run: Scored) -> str:
    return content_digest({key: value for key, value in run.certificate.items() if key != "tool"})
