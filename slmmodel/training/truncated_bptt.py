"""Truncated BPTT (`data.pack: stateful`): the hidden state of a recurrent model, or a memory, kept from step to step.

Row `i` of a global batch of n continues row `i` of the one before, from its detached state; at the beginning of each
block of documents, and so of each epoch, it starts from zeros. `data.packs.Stateful` gives row `i` the sequences i,
n + i, 2n + i and so on, never permuted: the row of a sequence is its index modulo n, and the first n begin a block.
States are committed when the whole step was applied, so a replayed step starts from the same ones, and a state that is
not finite is never carried.
"""

from __future__ import annotations

import torch
from torch import Tensor

from slmmodel.data.batch import Batch
from slmmodel.models.protocol import CarriedState, Model


class TruncatedBPTT:
    """Hidden states of the rows of a global batch: tensors [n_layers, batch_size, ...]."""

    def __init__(self, model: Model, batch_size: int, device: torch.device, opening: int | None = None) -> None:
        """`opening`: the id that every document begins with; None where the model sees each row as one document."""
        self._model, self._batch_size, self._device, self._opening = model, batch_size, device, opening
        self.begin(0)
        self.commit()

    def begin(self, first_index: int) -> None:
        """Starts a step, or replays it. `first_index` is the index of its first sequence in the packing."""
        if first_index < self._batch_size:
            self._committed: tuple[Tensor, ...] = self._model.init_hidden(self._batch_size, self._device)
        self._next = tuple(hidden.clone() for hidden in self._committed)

    def read(self, batch: Batch) -> CarriedState:
        """The state that the sequences of a micro-batch start from."""
        rows = self._rows(batch)
        hidden = tuple(each[:, rows].contiguous() for each in self._committed)
        first = batch.ids[:, 0].to(self._device)
        continues = torch.ones_like(first, dtype=torch.bool) if self._opening is None else first != self._opening
        return self._model.bptt_state(hidden, continues)

    def write(self, batch: Batch, state: CarriedState) -> None:
        """Stores the state after a micro-batch."""
        rows = self._rows(batch)
        for stored, hidden in zip(self._next, state.hidden, strict=True):
            stored[:, rows] = hidden.detach().to(stored.dtype)

    def commit(self) -> None:
        """Ends a step that was applied; after a skipped one, the next starts from the same states."""
        self._committed = self._next

    def _rows(self, batch: Batch) -> Tensor:
        return torch.from_numpy(batch.sequence_keys[:, 2] % self._batch_size).to(self._device)

    def tensors(self) -> dict[str, Tensor]:
        """The tensors of a checkpoint; they share memory with the state."""
        return {f"hidden.{number}": hidden for number, hidden in enumerate(self._committed)}
