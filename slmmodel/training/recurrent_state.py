"""Truncated BPTT: the state of a recurrent model, carried from step to step (`data.pack: stateful`).

Sequence `i` of each step continues stream `i`. A step starts from the detached hidden state of the step before, so
gradients stay within a step; at the beginning of the streams it starts from zeros. A step's states are committed when
the whole step has succeeded: a step that is replayed in smaller micro-batches starts from the same states.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from slmmodel.data.batch import Batch
from slmmodel.errors import check_tensors


class StreamStates:
    """Hidden states by stream: tensors [n_layers, batch_size, hidden_size]."""

    def __init__(self, model: Any, batch_size: int, device: torch.device) -> None:
        self._model, self._batch_size, self._device = model, batch_size, device
        self._committed: tuple[Tensor, ...] = self._zeros()
        self._next = self._committed

    def _zeros(self) -> tuple[Tensor, ...]:
        zeros: tuple[Tensor, ...] = self._model.init_hidden(self._batch_size, self._device)
        return zeros

    def begin(self, first_index: int) -> None:
        """Starts a step, or replays it. `first_index` is the index of its first sequence in the plan."""
        if first_index < self._batch_size:
            self._committed = self._zeros()
        self._next = tuple(part.clone() for part in self._committed)

    def read(self, batch: Batch) -> Any:
        """The state that the sequences of a micro-batch start from."""
        streams = self._streams(batch)
        state = self._model.init_state(len(streams), self._device)
        state.hidden = tuple(part[:, streams].contiguous() for part in self._committed)
        return state

    def write(self, batch: Batch, state: Any) -> None:
        """Stores the state after a micro-batch."""
        streams = self._streams(batch)
        for part, after in zip(self._next, state.hidden, strict=True):
            part[:, streams] = after.detach().to(part.dtype)

    def commit(self) -> None:
        """Ends a step that succeeded."""
        self._committed = self._next

    def _streams(self, batch: Batch) -> Tensor:
        return torch.from_numpy(batch.sequences[:, 2] % self._batch_size).to(self._device)

    def tensors(self) -> dict[str, Tensor]:
        """The tensors of a checkpoint."""
        return {f"hidden.{number}": part for number, part in enumerate(self._committed)}

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Restores what `tensors` gave. Raises `CorruptFile`."""
        own = self.tensors()
        fix = "resume from another checkpoint: slm resume RUN --step N -o NEW"
        check_tensors("recurrent state", tensors, own, fix=fix)
        self._committed = tuple(tensors[name].to(self._device) for name in own)
