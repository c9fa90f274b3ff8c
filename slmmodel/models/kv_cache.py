"""The key/value cache of a decoder: allocated once, filled in place, never written past its capacity.

Sequences of different lengths share one cache with padding in front: padding slots have document -1, and no query
attends to them. As long as no row has padding, the document ids are not stored and positions are a slice.
"""

from __future__ import annotations

import torch
from torch import Tensor

from slmmodel.errors import InvalidInput
from slmmodel.models.protocol import State


class KVCache(State):
    """Keys and values [L, 2, B, K, capacity, h]; the first `n_slots` slots of every row are in use."""

    def __init__(self, kv: Tensor) -> None:
        batch_size, self.capacity = kv.shape[2], kv.shape[4]
        self._hold(kv)
        self.length = torch.zeros(batch_size, dtype=torch.int64, device=kv.device)
        self.n_slots = 0
        self.doc_id: Tensor | None = None
        """int32 [B, capacity], -1 padding; None while every slot in use belongs to one document"""

    def reserve(self, n: int, doc_id: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
        """Prepares `n` more slots for [B, n] ids of the documents `doc_id`.

        Returns the documents of all slots up to the new end, int [B, S], or None; and the positions of the new ids,
        int64 [B, n], or None where they are `n_slots` and following. Raises `InvalidInput` before any change.
        """
        if torch.is_grad_enabled():
            fact = "a forward pass with a key/value cache records gradients"
            raise InvalidInput(fact, fix="use torch.inference_mode()")
        if self.n_slots + n > self.capacity:
            raise InvalidInput(
                f"{n} more slots do not fit into the state, which holds {self.n_slots}",
                limit=f"capacity {self.capacity}",
                fix="pass a larger capacity to init_state, or start a new state from the last ids",
            )
        if doc_id is None and self.doc_id is None:
            return None, None
        if self.doc_id is None:
            shape = (len(self.length), self.capacity)
            self.doc_id = torch.full(shape, -1, dtype=torch.int32, device=self.kv.device)
            self.doc_id[:, : self.n_slots] = 0
        if doc_id is None:
            last = self.doc_id[:, : self.n_slots].max(1).values.clamp(min=0)
            doc_id = last[:, None].expand(-1, n)
        end = self.n_slots + n
        self.doc_id[:, self.n_slots : end] = doc_id
        positions = (self.length[:, None] + (doc_id >= 0).cumsum(1) - 1).clamp_(min=0)
        return self.doc_id[:, :end], positions

    def append(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Writes k, v [B, K, n, h] of one layer into the reserved slots; returns views of all slots [B, K, S, h]."""
        keys, values = self._layers[layer]
        keys.narrow(2, self.n_slots, k.shape[2]).copy_(k)
        values.narrow(2, self.n_slots, v.shape[2]).copy_(v)
        end = self.n_slots + k.shape[2]
        return keys.narrow(2, 0, end), values.narrow(2, 0, end)

    def advance(self, n: int) -> None:
        """Marks the reserved slots as used, after `append` of all layers."""
        if self.doc_id is None:
            self.length += n
        else:
            self.length += (self.doc_id[:, self.n_slots : self.n_slots + n] >= 0).sum(1)
        self.n_slots += n

    def reorder(self, rows: Tensor) -> None:
        """Row i becomes the former row `rows[i]`."""
        used = self.kv[..., : self.n_slots, :].index_select(2, rows)
        if len(rows) != self.kv.shape[2]:
            shape = list(self.kv.shape)
            shape[2] = len(rows)
            self._hold(self.kv.new_zeros(shape))
        self.kv[..., : self.n_slots, :] = used
        self.length = self.length[rows]
        if self.doc_id is not None:
            self.doc_id = self.doc_id[rows]

    def truncate(self, length: int) -> None:
        """Drops ids at positions >= `length`; shorter rows stay as they are."""
        longest = int(self.length.max())
        if not 0 <= length <= longest:
            raise InvalidInput(
                f"cannot truncate to length {length}",
                limit=f"the state holds {longest} ids",
                fix="start a new state from the ids to keep",
            )
        if self.doc_id is None:
            self.n_slots = length
        else:
            used = self.doc_id[:, : self.n_slots]
            used.masked_fill_((used >= 0).cumsum(1) > length, -1)
            kept = (used >= 0).any(0).nonzero()
            self.n_slots = int(kept[-1]) + 1 if len(kept) else 0
        self.length = self.length.clamp(max=length)

    def tensors(self) -> dict[str, Tensor]:
        """`kv`, `length`, and `doc_id` where there is padding."""
        found = {"kv": self.kv, "length": self.length}
        return found if self.doc_id is None else {**found, "doc_id": self.doc_id}

    def _hold(self, kv: Tensor) -> None:
        self.kv = kv
        self._layers = [(layer[0], layer[1]) for layer in kv]
