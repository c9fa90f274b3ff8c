"""Guards: a step whose loss or gradient is no number is left out; three in a row end the run; spikes are told.

A skipped step moves the data on and changes no weight. The window of losses and the count in a row belong to a run's
state, so that a resumed run judges as the uninterrupted one.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any

MOST_IN_A_ROW = 3
WINDOW = 200
SIGMAS = 6.0
LEAST = 20
"""Losses that have to be in the window before a spike can be told."""


class Guard:
    """Judges each step."""

    def __init__(self) -> None:
        self.skipped = 0
        self.in_a_row = 0
        self._losses: deque[float] = deque(maxlen=WINDOW)

    def ok(self, loss: float, norm: float) -> bool:
        """Whether the step may change weights. Counts those that may not."""
        good = math.isfinite(loss) and math.isfinite(norm)
        self.in_a_row = 0 if good else self.in_a_row + 1
        self.skipped += not good
        return good

    @property
    def hopeless(self) -> bool:
        """Whether too many steps in a row were left out."""
        return self.in_a_row >= MOST_IN_A_ROW

    def spike(self, loss: float) -> bool:
        """Whether the loss stands out above the last ones; it joins them in any case."""
        found = False
        if len(self._losses) >= LEAST:
            mean = sum(self._losses) / len(self._losses)
            deviation = math.sqrt(sum((x - mean) ** 2 for x in self._losses) / len(self._losses))
            found = loss > mean + SIGMAS * max(deviation, 1e-9)
        if math.isfinite(loss):
            self._losses.append(loss)
        return found

    def state(self) -> dict[str, Any]:
        """What has to be saved."""
        return {"skipped": self.skipped, "in_a_row": self.in_a_row, "losses": list(self._losses)}

    def load(self, state: Mapping[str, Any]) -> None:
        """Takes over what `state` gave."""
        self.skipped, self.in_a_row = int(state["skipped"]), int(state["in_a_row"])
        self._losses = deque(map(float, state["losses"]), maxlen=WINDOW)
