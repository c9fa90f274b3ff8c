"""`RunResult`: how a run ended, in numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class RunResult:
    """What a run came to. `reason`: finished, early-stop, interrupted, terminated."""

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
    """Of training, over all processes that it took; validation and saving left out."""
    loss: float | None
    """Nats a target of the last step."""
    val_loss: float | None
    val_bpb: float | None
    """Of the last validation, in plain rows."""
    best_bpb: float | None
    skipped: int
    micro_batch: int
    parameters: int
    precision: str
    device: str
    weights_sha256: str | None
    """Of the file of weights, where the run finished."""
    resumed_from: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def code(self) -> int:
        """The exit status that goes with the reason."""
        return {"interrupted": 130, "terminated": 143}.get(self.reason, 0)

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return self.reason in ("finished", "early-stop")

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "path": str(self.path), "notes": list(self.notes)}
