"""The state of a run between two steps: counters, the cursor of the data, and what else goes into `train_state.json`.

Everything here is what was *consumed*: a batch that was prepared and not trained on leaves no trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from slmmodel.data.loader import Cursor
from slmmodel.errors import CorruptState

FORMAT = 1


@dataclass
class Counters:
    """What a run has seen and done."""

    step: int = 0
    tokens: int = 0
    """Slots of all batches."""
    targets: int = 0
    bytes: int = 0
    documents: int = 0
    """Documents whose end was a target."""
    flops: float = 0.0
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@dataclass
class Progress:
    """Counters, cursor, and what early stopping and the schedule have to remember."""

    counters: Counters = field(default_factory=Counters)
    cursor: Cursor = field(default_factory=Cursor)
    steps: int = 0
    """Planned steps."""
    best: float | None = None
    """Lowest validation bpb."""
    since_best: int = 0
    """Evaluations without a better one."""
    decay: int | None = None
    """Steps of the decay where it was planned anew."""
    replanned: bool = False
    """Whether a budget of time has been planned anew at the start of the decay."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "cursor": list(self.cursor), "format": FORMAT}

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Progress:
        """What `to_dict` gave. Raises `CorruptState`."""
        try:
            if table["format"] != FORMAT:
                raise ValueError(f"format {table['format']!r}")
            epoch, block, units = map(int, table["cursor"])
            return cls(
                counters=Counters(**table["counters"]),
                cursor=Cursor(epoch, block, units),
                steps=int(table["steps"]),
                best=None if table["best"] is None else float(table["best"]),
                since_best=int(table["since_best"]),
                decay=None if table["decay"] is None else int(table["decay"]),
                replanned=bool(table["replanned"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptState(
                f"train_state.json cannot be read: {error}",
                fix="resume from another step: slm resume RUN --from step-N",
            ) from None
