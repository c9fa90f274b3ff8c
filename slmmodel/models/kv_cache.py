"""The key/value cache of a decoder: allocated once, filled in place, never written past its capacity.

Sequences of different lengths share one cache with padding in front: padding columns have document -1, and no query
attends to them. As long as no row has padding, the document ids are not stored and positions are a slice.
"""

from __future__ import annotations

import torch
from torch import Tensor

from slmmodel.errors import InvalidInput
from slmmodel.models.protocol import State


class KVCache(State):
    """Keys and values [L, 2, B, K, capacity, h]; the first `n_columns` columns of every row are in use."""

    def __init__(self, kv: Tensor) -> None:
        batch_size, self.capacity = kv.shape[2], kv.shape[4]
        self._hold(kv)
        self.length = torch.zeros(batch_size, dtype=torch.int64, device=kv.device)
        self.n_columns = 0
        self.document_ids: Tensor | None = None
        """int32 [B, capacity], -1 padding; None while every column in use belongs to one document"""

    def reserve(self, n: int, document_ids: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
        """Prepares `n` more columns for [B, n] ids of the documents `document_ids`.

        Returns the documents of all columns up to the new end, int [B, S], or None; and the positions of the new ids,
        int64 [B, n], or None where they are `n_columns` and following. Raises `InvalidInput` before any change.
        """
        if torch.is_grad_enabled():
            fact = "a forward pass with a key/value cache records gradients"
            raise InvalidInput(fact, fix="use torch.inference_mode()")
        if self.n_columns + n > self.capacity:
            raise InvalidInput(
                f"{n} more columns do not fit into the state, which holds {self.n_columns}",
                limit=f"capacity {self.capacity}",
                fix="pass a larger capacity to init_state, or start a new state from the last ids",
            )
        if document_ids is None and self.document_ids is None:
            return None, None
        if self.document_ids is None:
            shape = (len(self.length), self.capacity)
            self.document_ids = torch.full(shape, -1, dtype=torch.int32, device=self.kv.device)
            self.document_ids[:, : self.n_columns] = 0
        if document_ids is None:
            last = self.document_ids[:, : self.n_columns].max(1).values.clamp(min=0)
            document_ids = last[:, None].expand(-1, n)
        end = self.n_columns + n
        self.document_ids[:, self.n_columns : end] = document_ids
        position_ids = (self.length[:, None] + (document_ids >= 0).cumsum(1) - 1).clamp_(min=0)
        return self.document_ids[:, :end], position_ids

    def append(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Writes k, v [B, K, n, h] of one layer into the reserved columns; returns views of all, [B, K, S, h]."""
        keys, values = self._layers[layer]
        keys.narrow(2, self.n_columns, k.shape[2]).copy_(k)
        values.narrow(2, self.n_columns, v.shape[2]).copy_(v)
        end = self.n_columns + k.shape[2]
        return keys.narrow(2, 0, end), values.narrow(2, 0, end)

    def advance(self, n: int) -> None:
        """Marks the reserved columns as used, after `append` of all layers."""
        if self.document_ids is None:
            self.length += n
        else:
            self.length += (self.document_ids[:, self.n_columns : self.n_columns + n] >= 0).sum(1)
        self.n_columns += n

    def reorder(self, rows: Tensor) -> None:
        """Row i becomes the former row `rows[i]`."""
        used = self.kv[..., : self.n_columns, :].index_select(2, rows)
        if len(rows) != self.kv.shape[2]:
            shape = list(self.kv.shape)
            shape[2] = len(rows)
            self._hold(self.kv.new_zeros(shape))
        self.kv[..., : self.n_columns, :] = used
        self.length = self.length[rows]
        if self.document_ids is not None:
            self.document_ids = self.document_ids[rows]

    def truncate(self, length: int) -> None:
        """Drops ids at positions >= `length`; shorter rows stay as they are."""
        longest = int(self.length.max())
        if not 0 <= length <= longest:
            raise InvalidInput(
                f"cannot truncate to length {length}",
                limit=f"the state holds {longest} ids",
                fix="start a new state from the ids to keep",
            )
        if self.document_ids is not None:
            used = self.document_ids[:, : self.n_columns]
            used = used.masked_fill((used >= 0).cumsum(1) > length, -1)
            # Rows end in the same column again, because a sliding window counts columns.
            order = (used >= 0).int().argsort(dim=1, stable=True)[:, self.n_columns - length :]
            self.document_ids[:, :length] = used.gather(1, order)
            index = order[:, None, :, None].expand(*self.kv.shape[:2], -1, self.kv.shape[3], -1, self.kv.shape[5])
            self.kv[..., :length, :] = self.kv.gather(4, index)
        self.n_columns = length
        self.length = self.length.clamp(max=length)

    def tensors(self) -> dict[str, Tensor]:
        """`kv`, `length`, and `document_ids` where there is padding."""
        tensors = {"kv": self.kv, "length": self.length}
        return tensors if self.document_ids is None else {**tensors, "document_ids": self.document_ids}

    def _hold(self, kv: Tensor) -> None:
        self.kv = kv
        self._layers = [(layer[0], layer[1]) for layer in kv]
