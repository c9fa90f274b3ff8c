"""`Request`: what an ablation compares and which runs it needs, as its lock records them before the first run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from slmmodel.ablation import runs
from slmmodel.ablation.arms import Arm
from slmmodel.ablation.matches import Candidate, Reference, Shape, plan
from slmmodel.ablation.runs import RunPlan
from slmmodel.config import RunConfig, Setting, Settings, merged, resolve, settings_of, weight_options
from slmmodel.distributed import World
from slmmodel.errors import Argument, InvalidConfig, Mismatch
from slmmodel.training import setup

ALPHA = 0.05
"""Of a verdict: the share of winners among arms that are equal."""
DECISIVE = ("run.seed", "run.budget.")
"""Settings that an ablation sets for each run."""


@dataclass(frozen=True)
class Request:
    """What was asked for, and settings that all runs share."""

    arms: Sequence[Arm]
    baseline: str
    matches: Sequence[str]
    """that of `--match`, then those of `--also`"""
    seeds: int
    margin: float
    """relative to the baseline's bits per byte"""
    lr: str
    """`shared` or `sweep`"""
    settings: Settings
    device: torch.device

    @property
    def reference(self) -> Arm:
        """The arm that the others are compared with."""
        return next(arm for arm in self.arms if arm.name == self.baseline)

    def config(self) -> RunConfig:
        """The configuration of the baseline. Raises `InvalidConfig` for a packing that crops documents or fills up."""
        arm = self.reference
        config, _ = resolve(self.settings, arm.data.vocab, arm.data.n_train_ids, self.device.type)
        for name, value, needed in (
            ("data.pack", config.data.pack, "concat"),
            ("data.doc_mask", str(config.data.doc_mask).lower(), "true"),
        ):
            if value != needed:
                raise InvalidConfig(
                    f"an ablation reads whole documents, and {name} is {value}",
                    limit="concat with data.doc_mask, so that all arms read the same text: a transformer",
                    fix=(Argument(name, needed),),
                    option=name,
                )
        return config

    def run_settings(self) -> Settings:
        """The settings of every run: the given ones, with the preset of the baseline.

        Sequences are permuted in units of the bytes that one of the baseline reads, so that all arms read the same text
        at the same time.
        """
        config = self.config()
        unit = max(1, round(config.seq_len * self.reference.train.bytes_per_token))
        given = {name: setting for name, setting in self.settings.items() if not name.startswith(DECISIVE)}
        given |= {} if config.preset is None else {"model.preset": Setting(config.preset, "the ablation")}
        own = {"run.device": str(self.device), "data.options.shuffle_bytes": unit}
        return merged(given, settings_of(own, "the ablation"))

    def to_record(self, versions: Mapping[str, str]) -> dict[str, Any]:
        """All that decides the result, as JSON values."""
        arm = self.reference
        content = {
            "arms": {each.name: each.data.vocab.fingerprint for each in self.arms},
            "baseline": self.baseline,
            "match": self.matches[0],
            "also": list(self.matches[1:]),
            "seeds": self.seeds,
            "margin": self.margin,
            "alpha": ALPHA,
            "lr": self.lr,
            "documents": {"train": arm.train.about(), "val": arm.val.about()},
            "config": weight_options(self.config().to_dict()),
            "device": self.device.type,
            "versions": dict(versions),
        }
        plain: dict[str, Any] = json.loads(json.dumps(content))
        return plain


def make_views(request: Request) -> list[dict[str, Any]]:
    """The shapes of all arms under each match, for the lock. Measures speeds where a time is to be matched or spent."""
    config, arm = request.config(), request.reference
    loader = setup.make_loader(arm.data, config)
    try:
        world = World(device=request.device)
        cost = setup.cost_of_run(config, arm.data, loader, world)
    finally:
        loader.close()
    shape = Shape(dict(config.model), config.batch_size, 1)

    measured: dict[tuple[str, int, int], float] = {}

    def seconds(candidate: Candidate, tried: Shape) -> float:
        own = next(each for each in request.arms if _candidate(each) == candidate)
        key = (own.name, tried.seq_len, tried.batch_size)
        if key not in measured:
            one = RunPlan(own, replace(tried, steps=1), 0, config.optim.lr, request.run_settings())
            measured[key] = runs.measure(one, request.device).step
        return measured[key]

    budget = config.run.budget
    spent = seconds(_candidate(arm), shape) if budget.kind == "time" or "time" in request.matches else 0.0
    shape = replace(shape, steps=setup.steps_of(budget, cost.per_step, spent), seconds_per_step=spent or None)
    reference = Reference(shape, arm.train.bytes_per_token, seconds=seconds)
    return [
        {
            "match": match,
            "arms": [
                {
                    "name": each.name,
                    "model": dict(found.model),
                    "batch_size": found.batch_size,
                    "steps": found.steps,
                    "seconds_per_step": found.seconds_per_step,
                }
                for each, found in zip(
                    request.arms, plan(match, reference, [_candidate(each) for each in request.arms]), strict=True
                )
            ],
        }
        for match in request.matches
    ]


def _candidate(arm: Arm) -> Candidate:
    vocab = arm.data.vocab
    return Candidate(arm.train.bytes_per_token, {"n_vocab": vocab.n_vocab, "padded_vocab": vocab.padded_vocab})


def run_plans(request: Request, view: Mapping[str, Any]) -> list[RunPlan]:
    """The runs of one match: every seed of every arm."""
    shapes = {
        each["name"]: Shape(each["model"], each["batch_size"], each["steps"], each["seconds_per_step"])
        for each in view["arms"]
    }
    settings, lr = request.run_settings(), request.config().optim.lr
    return [RunPlan(arm, shapes[arm.name], seed, lr, settings) for seed in range(request.seeds) for arm in request.arms]


def context_bytes(request: Request, view: Mapping[str, Any]) -> int:
    """Bytes of context of which every arm of a match is able, and with which all are scored."""
    lengths = {each["name"]: int(each["model"]["seq_len"]) for each in view["arms"]}
    return int(min(lengths[arm.name] * arm.val.bytes_per_token for arm in request.arms))


# ---------------------------------------------------------------- the lock


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Each value of a request that differs from the recorded one: `seeds: 3, then 5`."""
    old, new = ({name: each.value for name, each in settings_of(content).items()} for content in (before, now))
    names = [name for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name)]
    return [f"{name}: {_shown(old.get(name))}, then {_shown(new.get(name))}" for name in names]


def _shown(value: Any) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 40 else text[:16] + "…"


def check_changes(found: Sequence[str], *, exploratory: bool, where: str, has_runs: bool = True) -> None:
    """Raises `Mismatch` where a lock was made for something else and the result is not to be exploratory.

    has_runs: whether a run has finished, which beginning again would lose.
    """
    if found and not exploratory:
        raise Mismatch(
            f"this is not what {where} was made for: {'; '.join(found[:3])}",
            where=where if len(found) <= 3 else f"{where}; {len(found) - 3} more values differ",
            limit="seeds, budget, arms and margin are fixed before the first run",
            fix=(
                "the options as they were, another ",
                Argument("output"),
                ", or ",
                Argument("exploratory", True),
                ", which marks the result",
            )
            if has_runs
            else (Argument("force", True), ", which begins again: no run has finished"),
        )
