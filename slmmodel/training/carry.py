"""The state of a recurrent model that is carried from step to step along lanes (`data.pack: lanes`).

Row i of each step is lane i. A step starts from the hidden state that the step before left there, detached, so that
gradients stay within a step; at the head of the lanes it starts from zeros. What a step did is kept only when it is
through: one that is taken again in smaller parts starts from the same state. One process carries all lanes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from slmmodel.errors import CorruptState

if TYPE_CHECKING:
    from slmmodel.data.batch import Batch
    from slmmodel.models.protocol import Model


class Carry:
    """Hidden states by lane: tensors [layers, lanes, hidden]."""

    def __init__(self, model: Any, lanes: int, device: torch.device) -> None:
        self._model, self._lanes, self._device = model, lanes, device
        self._held: tuple[Tensor, ...] = self._zeros()
        self._next = self._held

    def _zeros(self) -> tuple[Tensor, ...]:
        found: tuple[Tensor, ...] = self._model.init_hidden(self._lanes, self._device)
        return found

    def begin(self, first_row: int) -> None:
        """Before a step (also before it is taken again): `first_row` is the number of its first row in the plan."""
        if first_row < self._lanes:
            self._held = self._zeros()
        self._next = tuple(part.clone() for part in self._held)

    def state(self, batch: Batch) -> Any:
        """The state that the rows of a micro-batch start from."""
        rows = self._rows(batch)
        state = self._model.init_state(len(rows), self._device)
        state.hidden = tuple(part[:, rows].contiguous() for part in self._held)
        return state

    def keep(self, batch: Batch, state: Any) -> None:
        """Takes what a micro-batch left."""
        rows = self._rows(batch)
        for part, after in zip(self._next, state.hidden, strict=True):
            part[:, rows] = after.detach().to(part.dtype)

    def finish(self) -> None:
        """After a step that is through."""
        self._held = self._next

    def _rows(self, batch: Batch) -> Tensor:
        return torch.from_numpy(batch.rows[:, 2] % self._lanes).to(self._device)

    def tensors(self) -> dict[str, Tensor]:
        """What has to be saved."""
        return {f"hidden.{number}": part for number, part in enumerate(self._held)}

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Takes over what `tensors` gave. Raises `CorruptState`."""
        own = self.tensors()
        if set(own) != set(tensors) or any(own[name].shape != tensors[name].shape for name in own):
            raise CorruptState(
                "the carried state does not fit the model", fix="resume from another step: slm resume RUN --from step-N"
            )
        self._held = tuple(tensors[name].to(self._device) for name in own)


def carried(model: Model, pack: str, lanes: int, device: torch.device) -> Carry | None:
    """The carry of a run, where its model is recurrent and its rows are lanes."""
    return Carry(model, lanes, device) if pack == "lanes" and hasattr(model, "init_hidden") else None
