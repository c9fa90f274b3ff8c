"""`TrainState`: everything about a run between two steps that is a number, and `RunResult`, how a run ended.

The state describes what was consumed: a batch that was prefetched and not trained on leaves no trace in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from slmmodel.checkpoint import VERSION
from slmmodel.data import Cursor
from slmmodel.errors import CorruptState


@dataclass
class Counters:
    """Totals since step 0."""

    step: int = 0
    tokens: int = 0
    """Positions, padding included."""
    targets: int = 0
    bytes: int = 0
    documents: int = 0
    """Documents whose end was a target."""
    flops: float = 0.0
    seconds: float = 0.0
    """Of training, without validation and saving."""


@dataclass
class TrainState:
    """Counters, the cursor of the data, and what early stopping and the schedule remember."""

    counters: Counters = field(default_factory=Counters)
    cursor: Cursor = field(default_factory=Cursor)
    steps: int = 0
    """Planned steps."""
    best_bpb: float | None = None
    evals_since_best: int = 0
    decay_steps: int | None = None
    """Length of the decay where a time budget was replanned."""
    replanned: bool = False
    """Whether the time budget has been replanned at the start of the decay."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-compatible values."""
        return {**asdict(self), "cursor": list(self.cursor), "version": VERSION}

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> TrainState:
        """What `to_dict` gave. Raises `CorruptState`."""
        try:
            if table["version"] != VERSION:
                raise ValueError(f"version {table['version']!r}")
            epoch, block, groups = map(int, table["cursor"])
            return cls(
                counters=Counters(**table["counters"]),
                cursor=Cursor(epoch, block, groups),
                steps=int(table["steps"]),
                best_bpb=None if table["best_bpb"] is None else float(table["best_bpb"]),
                evals_since_best=int(table["evals_since_best"]),
                decay_steps=None if table["decay_steps"] is None else int(table["decay_steps"]),
                replanned=bool(table["replanned"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptState(
                f"cannot read train_state.json: {error}",
                fix="resume from another checkpoint: slm resume RUN --from step-N",
            ) from None


@dataclass(frozen=True)
class RunResult:
    """How a run ended. `reason`: finished, early-stop, interrupted or terminated."""

    path: Path
    reason: str
    step: int
    steps: int
    tokens: int
    targets: int
    bytes: int
    documents: int
    flops: float
    epochs: float
    seconds: float
    """Of training over all processes of the run, without validation and saving."""
    loss: float | None
    """Nats per target of the last step."""
    val_loss: float | None
    val_bpb: float | None
    """Of the last validation."""
    best_bpb: float | None
    skipped: int
    micro_batch: int
    parameters: int
    precision: str
    device: str
    weights_sha256: str | None
    """Digest of the final weights of a finished run."""
    resumed_from: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def code(self) -> int:
        """The exit status."""
        return {"interrupted": 130, "terminated": 143}.get(self.reason, 0)

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return self.reason in ("finished", "early-stop")

    def to_dict(self) -> dict[str, Any]:
        """JSON-compatible values."""
        return {**asdict(self), "path": str(self.path), "notes": list(self.notes)}
