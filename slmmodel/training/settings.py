"""The sections of a training configuration as frozen dataclasses: every setting with its kind, default and meaning.

`semantic` settings decide the weights: a run records them, and one that continues may not change them. The others say
how the work is carried out and may differ from call to call. What a model's own section holds is the models' affair.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from slmmodel.optim.schedules import ScheduleSettings
from slmmodel.optim.settings import OptimSettings

BUDGETS = ("tokens", "targets", "bytes", "flops", "time", "epochs", "steps")


def setting(kind: str, default: Any, *, semantic: bool = True) -> Any:
    """A field whose values are read as `kind` (see `readers`)."""
    return field(default=default, metadata={"kind": kind, "semantic": semantic})


@dataclass(frozen=True)
class DataSettings:
    """What is read, and how it is cut into rows."""

    train: str = setting("text", "")
    """The folder of shards, or another source of ids."""
    val: str = setting("text", "auto")
    """Validation documents: `auto` is the split of `train` by that name, `none`, or a source."""
    pack: str = setting("text", "concat")
    """The packing or windowing strategy."""
    positions: str = setting("choice:auto|reset|true|row", "auto")
    """How slots are counted; `auto` is what the strategy asks for."""
    doc_mask: bool = setting("flag", True)
    """Attention stays inside each document of a row."""
    loss_on: str = setting("choice:all|last", "all")
    """Score all slots of a window, or its last one alone."""
    shuffle: str = setting("choice:documents|none", "documents")
    """Whether documents are taken in another order in each epoch; rows always are."""
    cuts: str = setting("choice:moved|fixed", "moved")
    """Where documents are cut to fill rows: at other places in each epoch, or always at the same ones."""
    options: tuple[tuple[str, Any], ...] = ()
    """What else the strategy is told, by name: `data.options.stride` and the like."""


@dataclass(frozen=True)
class RunSettings:
    """How long, how large the steps, on what, and what is written when."""

    batch_tokens: int = setting("count", 0)
    """Slots of the global batch, whatever carries it out; 0 leaves it to the preset."""
    seed: int = setting("whole", 0)
    precision: str = setting("choice:auto|fp32|bf16|fp16|fp64", "auto")
    deterministic: bool = setting("flag", False)
    patience: int = setting("whole", 0)
    """Early stopping: evaluations without improvement before the run ends; 0 never ends it."""
    device: str = setting("text", "auto", semantic=False)
    threads: int = setting("whole", 0, semantic=False)
    micro_batch: int = setting("auto-count", 0, semantic=False)
    """Rows that go through the model at once, 0 for `auto`."""
    compile: str = setting("choice:auto|on|off", "auto", semantic=False)
    eval_every: int = setting("auto-count", 0, semantic=False)
    """Steps between validations; 0 for `auto`, a tenth of the run."""
    save_every: int = setting("auto-count", 0, semantic=False)
    """Steps between saved states; 0 for `auto`, a tenth of the run but at least 50."""
    log_every: int = setting("auto-count", 0, semantic=False)
    """Steps between lines of metrics; 0 for `auto`."""
    keep: int = setting("whole", 2, semantic=False)
    """How many of the newest saved states stay; the best one stays besides."""
    keep_every: int = setting("whole", 0, semantic=False)
    """Saved states at multiples of this stay as well; 0 for none."""
    resume: str = setting("choice:auto|never", "auto", semantic=False)
    track: tuple[str, ...] = setting("names", (), semantic=False)
    """Where metrics go besides `metrics.jsonl`: `tensorboard`."""


@dataclass(frozen=True)
class Budget:
    """How long a run is: one kind, and how much of it."""

    kind: str
    amount: float


@dataclass(frozen=True)
class Config:
    """A whole configuration. `model` holds the plain settings of the model, `preset` among them where one was named."""

    model: dict[str, Any]
    data: DataSettings
    optim: OptimSettings
    schedule: ScheduleSettings
    run: RunSettings
    budget: Budget


_OPTIM_KINDS = {
    "name": "text", "lr": "number", "betas": "numbers", "eps": "number", "weight_decay": "number", "momentum": "number",
    "clip": "number?", "lr_scaling": "choice:none|sqrt|linear", "ns_steps": "whole", "ns_dtype": "text",
    "embedding_lr": "number", "vector_lr": "number", "gate_lr": "number",
}  # fmt: skip
_SCHEDULE_KINDS = {"kind": "text", "warmup": "number?", "decay": "number?", "final": "number", "shape": "text"}
_BUDGET_KINDS = dict.fromkeys(BUDGETS, "count?") | {"bytes": "size?", "time": "time?", "epochs": "number?"}


def _kinds(prefix: str, section: Any) -> dict[str, str]:
    return {prefix + item.name: item.metadata["kind"] for item in fields(section) if item.metadata}


def known() -> dict[str, str]:
    """Every setting outside `model`, by its dotted name, with the kind of its value."""
    return {
        **_kinds("data.", DataSettings),
        **{f"optim.{name}": kind for name, kind in _OPTIM_KINDS.items()},
        **{f"optim.schedule.{name}": kind for name, kind in _SCHEDULE_KINDS.items()},
        **_kinds("run.", RunSettings),
        **{f"run.budget.{name}": kind for name, kind in _BUDGET_KINDS.items()},
    }


def semantic(name: str) -> bool:
    """Whether a setting decides the weights of a run."""
    for prefix, section in (("data.", DataSettings), ("run.", RunSettings)):
        for item in fields(section):
            if name == prefix + item.name and item.metadata:
                return bool(item.metadata["semantic"])
    return True
