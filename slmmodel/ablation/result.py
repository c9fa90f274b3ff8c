"""What an ablation found: the tables of its views, verdicts, curves (docs/formats/ablation.md).

Nothing here depends on time or place, so that equal runs give equal bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from slmmodel.ablation.arms import Arm
from slmmodel.ablation.matches import MATCHES, spread
from slmmodel.ablation.runs import RunPlan
from slmmodel.evaluation.comparison import Losses, units
from slmmodel.evaluation.verdicts import analyse
from slmmodel.training.status import read_metrics

CURVE_POINTS = 100


@dataclass(frozen=True)
class Scored:
    """A finished run with its score."""

    plan: RunPlan
    folder: Path
    totals: Mapping[str, Any]
    """of its `result.json`"""
    certificate: Mapping[str, Any]
    losses: Losses

    @property
    def learned_nothing(self) -> bool:
        """Whether the score is that of a uniform guess or worse, as after diverging."""
        sums, n_vocab = self.certificate["sums"], self.plan.arm.data.vocab.n_vocab
        return bool(self.certificate["bpb_total"] * sums["bytes"] >= sums["targets"] * math.log2(n_vocab))


def view(
    match: str, runs: Sequence[Scored], arms: Sequence[Arm], context_bytes: float, **statistics: Any
) -> dict[str, Any]:
    """One match: the table of its arms, pairs, curves and breakdowns.

    `statistics`: options of `analyse`. Runs are those of all arms and seeds.
    """
    of_arm = {arm.name: [run for run in runs if run.plan.arm.name == arm.name] for arm in arms}
    # Documents, or parts of them where there are few: cut by bytes, so alike for every tokenizer.
    resampled = {name: [units(run.losses.scores) for run in found] for name, found in of_arm.items()}
    bits = {name: np.stack([each.bits for each in found]) for name, found in resampled.items()}
    first = resampled[arms[0].name][0]
    analysis = analyse(bits, first.nbytes.astype(np.int64), unit=first.unit, **statistics).to_json()
    table = {line["name"]: line for line in analysis["arms"]}
    rows = [_row(arm, of_arm[arm.name], table[arm.name]) for arm in arms]
    names = ("bytes", "context_bytes", "tokens", "flops", "parameters", "body_parameters")
    return {
        "match": match,
        "quantity": MATCHES[match].quantity,
        "equal": MATCHES[match].equal,
        "differs": MATCHES[match].differs,
        "scored_context_bytes": context_bytes,
        "arms": rows,
        "realised": {name: spread([row[name] for row in rows]) for name in names},
        "pairs": analysis["pairs"],
        "curves": [curve(run) for run in runs],
        "breakdowns": {name: dict(found[0].certificate.get("breakdown", {})) for name, found in of_arm.items()},
    }


def _row(arm: Arm, runs: Sequence[Scored], line: Mapping[str, Any]) -> dict[str, Any]:
    shape, counts = runs[0].plan.shape, runs[0].plan.shape.counts()
    totals = {name: float(np.mean([run.totals[name] for run in runs])) for name in ("tokens", "bytes", "flops")}
    return {
        "name": arm.name,
        "parameters": counts.parameters,
        "body_parameters": counts.parameters - counts.embedding,
        "embedding_share": counts.embedding_share,
        "d_model": shape.config().d_model,
        "lr": runs[0].plan.lr,
        "seq_len": shape.seq_len,
        "context_bytes": shape.seq_len * arm.train.bytes_per_token,
        "batch_size": shape.batch_size,
        "steps": shape.steps,
        **totals,
        "bpb": line["bpb"],
        "interval": line["interval"],
        "bpb_by_seed": [run.certificate["bpb_total"] for run in runs],
        "bpb_content": float(np.mean([run.certificate["bpb_content"] for run in runs])),
        "runs": [f"runs/{run.folder.name}" for run in runs],
        "no_better_than_guessing": sum(run.learned_nothing for run in runs),
    }


def curve(run: Scored) -> dict[str, Any]:
    """Bits per byte of a run against bytes, tokens and FLOPs: of training in at most 100 means, of validation all."""
    lines = read_metrics(run.folder)
    flops = run.plan.shape.counts().flops_per_token
    trained = [line for line in lines if line.get("bpb_train") is not None]
    bins = [part.tolist() for part in np.array_split(np.arange(len(trained)), min(CURVE_POINTS, len(trained)) or 1)]
    means = [float(np.mean([trained[i]["bpb_train"] for i in part])) for part in bins if part]
    ends = [trained[part[-1]] for part in bins if part]
    held = [line for line in lines if line.get("val_bpb") is not None]
    return {
        "arm": run.plan.arm.name,
        "seed": run.plan.seed,
        **{name: [line[name] for line in ends] for name in ("bytes", "tokens")},
        "flops": [line["tokens"] * flops for line in ends],
        "bpb": means,
        "val_bytes": [line["bytes"] for line in held],
        "val_bpb": [line["val_bpb"] for line in held],
    }


def about_arms(arms: Sequence[Arm]) -> list[dict[str, Any]]:
    """Vocabulary and length of the documents under each tokenizer."""
    return [
        {
            "name": arm.name,
            "n_vocab": arm.data.vocab.n_vocab,
            "fingerprint": arm.data.vocab.fingerprint,
            "inference": arm.data.train.inference,
            "train_tokens": int(arm.train.inputs.sum()),
            "val_tokens": int(arm.val.inputs.sum()),
            "bytes_per_token": arm.train.bytes_per_token,
        }
        for arm in arms
    ]
