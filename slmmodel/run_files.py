"""What the JSON files of a run folder hold (docs/formats/bundle.md): one pydantic model for each. Imports no torch.

Training keeps its state and its result in the same models. A key that a file must have has no default here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, PositiveInt

from slmmodel.json_files import Count, Open, Strict, exactly

VERSION = 2
"""Of run folders, in `fingerprint.json` and `train_state.json`."""
FINAL_REASONS = ("finished", "early-stop")
"""Reasons for which a run ends at its end."""
FINGERPRINT_FIELDS = {
    "fingerprint": ("tokenizer", "the tokenizer of the data differs"),
    "data": ("data", "the training data differ"),
    "val": ("data", "the validation data differ"),
    "plan": ("plan", "how the data are cut into sequences differs"),
    "config": ("config", "the configuration differs"),
    "torch": ("torch", "the version of torch differs"),
    "device": ("device", "the type of device differs"),
    "threads": ("threads", "the number of threads differs"),
}
"""Each compared field of a `Fingerprint` with the name that `--allow-mismatch` takes and the words of the error.

World size and micro-batch are not compared: they change the order of sums and, with dropout, its random numbers.
"""
BRANCH_FIELDS = ("data", "val", "source", "plan", "torch", "device", "threads")
"""Fields that a branch records at its first step; it has the tokenizer of its parent."""
VALIDATION, VALIDATING, SAVED = "validation", "validating", "saved"
"""Phases of a progress report, besides those of a `Heartbeat`, where their key is `stage`."""
_Version = Annotated[int, exactly(VERSION)]
_Scaler = Literal["scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"]
_Tensors = Annotated[str, Field(pattern=r"^[a-z]+-\d{5}-of-\d{5}\.safetensors$")]


class Counters(Strict):
    """Totals since step 0."""

    step: Count
    tokens: Count
    """columns, padding included: sequences times their length"""
    targets: Count
    bytes: Count
    documents: Count
    """documents whose end was a target"""
    flops: Annotated[float, Field(ge=0)]
    seconds: Annotated[float, Field(ge=0)]
    """of training over all processes of the run, without validation and saving"""


class Parent(Strict):
    """The checkpoint that a branch began with."""

    step: Count
    weights: str
    counters: Counters | None = None
    """its totals: what is left of a budget follows from them"""
    cursor: Annotated[list[Count], Field(min_length=3, max_length=3)] | None = None
    """where the first step of the branch begins, as in `TrainState`"""
    positions: dict[str, Count] = Field(default_factory=dict)
    """`bytes_read_by_source` there"""
    plan: str | None = None
    """of all steps before; null where they had several"""
    data: str | None = None
    """digest of the training data of step 0"""
    val: str | None = None
    """digest of the validation data of its run"""
    run: str | None = None
    """the name of its folder"""
    steps: Count | None = None
    """that its run planned"""
    settings: dict[str, Any] = Field(default_factory=dict)
    """of its run, by dotted name: the options that decide the weights and that the branch changes"""
    parent: Parent | None = None
    """of its run, where that is a branch too"""


class Fingerprint(Strict):
    """`fingerprint.json`."""

    version: _Version
    fingerprint: str
    data: str | None = None
    val: str | None = None
    plan: str | None = None
    config: str | None = None
    torch: str | None = None
    device: str | None = None
    threads: Count | None = None
    steps: Count | None = None
    micro_batch: PositiveInt | None = None
    source: str | None = None
    parent: Parent | None = None


def first_data(fingerprint: Mapping[str, Any]) -> str | None:
    """The digest of the data of step 0; of a branch, those of the run that it began with."""
    parent: Mapping[str, Any] = fingerprint.get("parent") or {}
    digest: str | None = parent.get("data") or fingerprint.get("data")
    return digest


def last_step_of_other_validation(fingerprint: Mapping[str, Any]) -> int:
    """The step of a branch up to which validations scored other data than those of the run; 0 without such ones."""
    parent, own = fingerprint.get("parent"), fingerprint.get("val")
    # An older record of a parent has no `val`.
    while parent is not None and parent.get("val", own) == own:
        parent = parent.get("parent")
    return 0 if parent is None else int(parent["step"])


def origins(fingerprint: Mapping[str, Any]) -> list[str]:
    """Of a branch, the runs that took its first steps, the newest first, with the settings they had instead."""
    found, settings = list[str](), dict[str, Any]()
    parent: Mapping[str, Any] | None = fingerprint.get("parent")
    while parent is not None:
        # A run records how it differs from the run that continued it. The sum is its difference from the last branch.
        settings |= parent.get("settings", {})
        planned = f" ({parent['steps']:,} steps planned)" if parent.get("steps") is not None else ""
        listed = ", ".join(f"{name} {'null' if value is None else value}" for name, value in sorted(settings.items()))
        run = f"the run {parent['run']}" if parent.get("run") else "another run"
        differing = f", which had {listed}" if listed else ""
        found.append(f"from step {parent['step']:,} of {run}{planned}{differing}")
        parent = parent.get("parent")
    return found


class Validation(Strict):
    """The result of a validation."""

    # That of a run may be NaN or infinite; such a one is never saved, and no JSON file with such a number is read.
    model_config = ConfigDict(allow_inf_nan=True)

    loss: float
    """mean cross-entropy: nats per target"""
    bpb: float
    """bits per byte of the scored ids, by `vocab.json`; `slm eval` compares these with the bytes of the documents"""
    targets: Count
    bytes: Count


class GuardState(Strict):
    """Skipped steps, and the last losses: `training.step.LossGuard`."""

    skipped: Count
    consecutive: Count
    """skipped steps up to the last one"""
    losses: list[float]
    """the last finite ones"""


class TrainState(Strict):
    """Counters, the cursor of the data, and what early stopping, schedule and metrics need from step to step."""

    model_config = ConfigDict(extra="ignore")

    counters: Counters
    cursor: Annotated[list[Count], Field(min_length=3, max_length=3)]
    """`data.Cursor`: where the next step begins"""
    steps: Count
    """planned steps"""
    validation: Validation | None
    """the last one; null where it was not finite"""
    best_bpb: float | None
    best_targets: Annotated[list[Count], Field(min_length=2, max_length=2)] | None = None
    """targets and bytes that the validation of `best_bpb` scored"""
    evals_since_best: Count
    decay_steps: Count | None
    """length of the decay where a time budget was replanned"""
    replanned: bool
    """whether the time budget has been replanned at the start of the decay"""
    metrics_length: Count
    """bytes of `metrics.jsonl` at the last checkpoint"""
    bytes_read_by_source: dict[str, Count] = Field(default_factory=dict, alias="positions")
    """the byte from which the present stage of the data reads the documents of each source, by their digest"""


class TrainStateFile(TrainState):
    """`train_state.json`."""

    model_config = ConfigDict(extra="forbid")

    version: _Version
    run: str = Field("", pattern="^([0-9a-f]{64})?$")
    """`checkpoint.run_digest`; empty in a checkpoint that does not say to which run it belongs"""
    guard: GuardState
    scaler: dict[_Scaler, float]
    """of `torch.amp.GradScaler`; empty where it is off"""
    micro_batch: PositiveInt


class Result(Strict):
    """`result.json`: how a run ended, with its totals."""

    reason: str
    """finished, early-stop, interrupted or terminated"""
    step: Count
    steps: Count
    tokens: Count
    bytes: Count
    epochs: float
    flops: float
    seconds: float
    loss: float | None
    """nats per target of the last step; null where it was not finite"""
    val_loss: float | None
    val_bpb: float | None
    """of the last validation, if it was finite"""
    best_bpb: float | None
    skipped: Count
    parameters: Count
    precision: str
    device: str
    targets: Count = 0
    documents: Count = 0
    micro_batch: PositiveInt | None = None
    weights_sha256: str | None = None
    """digest of the final weights of a finished run"""
    resumed_from: Count | None = None
    branch: list[str] = Field(default_factory=list)
    """`origins`"""
    notes: list[str] = Field(default_factory=list)


class WeightIndex(Strict):
    """`STEM.safetensors.index.json`. Names of files become paths, so only the expected ones are valid."""

    metadata: dict[str, str]
    weight_map: dict[str, _Tensors] = Field(min_length=1)


_Metric = Annotated[float, Field(ge=-1e40, le=1e40)]
"""Beyond all that training measures, and far from where sums of it overflow."""


class MetricsLine(Open):
    """A line of `metrics.jsonl`, as far as it is read."""

    step: Count
    tokens: Count
    seconds: _Metric
    targets: Count | None = None
    bytes: Count | None = None
    epoch: Count | None = None
    loss: _Metric | None = None
    bpb_train: _Metric | None = None
    grad_norm: _Metric | None = None
    tokens_per_s: _Metric | None = None
    data_wait: _Metric | None = None
    skipped: Count = 0
    memory: Count | None = None
    val_loss: _Metric | None = None
    val_bpb: _Metric | None = None
    val_targets: Count | None = None
    spike: bool | None = None
    gates: list[Annotated[list[_Metric | None], Field(min_length=1)]] | None = None
    memory_norm: list[_Metric | None] | None = None
    memory_ids: Count | None = None


class Heartbeat(Strict):
    """`heartbeat.json`."""

    host: str
    pid: Count
    time: float
    stage: str
    step: Count
    steps: Count
    progress_time: float
    ended: str | None
