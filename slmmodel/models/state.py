"""The key/value cache of a decoder: allocated once, filled in place, and never written past its capacity.

Rows of different lengths stand in one cache with padding in front: padding slots have document -1, and nothing looks at
them. As long as no row has padding, no mask is needed and positions are a slice.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from slmmodel.errors import ContextOverflow, NotRewindable, StateKeepsNoGradients
from slmmodel.models.masks import CAUSAL, EVERYTHING, Mask, allowed, dense_mask
from slmmodel.models.protocol import State


class KeyValueState(State):
    """`kv` is [L, 2, B, K, capacity, h]; `filled` slots of it are in use, in all rows alike."""

    def __init__(self, kv: Tensor, context: int) -> None:
        rows, self.capacity = kv.shape[2], kv.shape[4]
        self._hold(kv)
        self.context = context
        self.length = torch.zeros(rows, dtype=torch.int64, device=kv.device)
        self.filled = 0
        self.doc: Tensor | None = None
        """int32 [B, capacity], -1 padding; None while every slot in use is real and of one document."""
        self.layers: list[Any] | None = None
        """parameters of the decoder as `step.py` looks them up"""
        self._longest = 0

    def begin(self, rows: int, slots: int, doc_id: Tensor | None) -> tuple[Mask, Tensor | None]:
        """Makes room for `slots` more; returns the mask over what will then be held, and positions unless they are a
        slice.

        Raises `ContextOverflow` before anything is touched.
        """
        self._check(rows, slots)
        if doc_id is None and self.doc is None:
            return (CAUSAL if self.filled == 0 else self._later(slots)), None
        if doc_id is None:
            doc_id = self._last_documents()[:, None].expand(rows, slots)
        if self.doc is None:
            self.doc = torch.full((rows, self.capacity), -1, dtype=torch.int32, device=self.kv.device)
            self.doc[:, : self.filled] = 0
        end = self.filled + slots
        self.doc[:, self.filled : end] = doc_id
        look = allowed(self.doc[:, self.filled : end], self.doc[:, :end], self.filled)
        real = doc_id >= 0
        positions = (self.length[:, None] + real.cumsum(1) - 1).clamp_(min=0)
        return dense_mask(look, self.kv.dtype), positions

    def append(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Writes [B,K,T,h] of one layer behind what is held; returns all of it, views [B,K,S,h]."""
        end = self.filled + k.shape[2]
        keys, values = self._places[layer]
        keys.narrow(2, self.filled, k.shape[2]).copy_(k)
        values.narrow(2, self.filled, k.shape[2]).copy_(v)
        return keys.narrow(2, 0, end), values.narrow(2, 0, end)

    def finish(self, slots: int) -> None:
        """Counts what `append` wrote for all layers."""
        if self.doc is None:
            self.length += slots
        else:
            self.length += (self.doc[:, self.filled : self.filled + slots] >= 0).sum(1)
        self.filled += slots
        self._longest += slots

    def reorder(self, rows: Tensor) -> None:
        """Row i becomes what row `rows[i]` was."""
        held = self.kv[..., : self.filled, :].index_select(2, rows)
        if len(rows) != self.kv.shape[2]:
            shape = list(self.kv.shape)
            shape[2] = len(rows)
            self._hold(self.kv.new_zeros(shape))
        self.kv[..., : self.filled, :] = held
        self.length = self.length[rows]
        if self.doc is not None:
            self.doc = self.doc[rows]

    def truncate(self, length: int) -> None:
        """Forgets ids at positions >= `length`; rows that are shorter stay as they are."""
        if not 0 <= length <= self._bound():
            raise NotRewindable(
                f"cannot go back to length {length}",
                limit=f"the state holds {self._bound()} ids",
                fix="begin a new state from the ids that shall stay",
            )
        if self.doc is None:
            self.filled = length
        else:
            used = self.doc[:, : self.filled]
            used.masked_fill_((used >= 0).cumsum(1) > length, -1)
            kept = (used >= 0).any(0).nonzero()
            self.filled = int(kept[-1]) + 1 if len(kept) else 0
        self.length = self.length.clamp(max=length)
        self._longest = length

    def tensors(self) -> dict[str, Tensor]:
        """`kv`, `length`, and `doc` where there is padding."""
        found = {"kv": self.kv, "length": self.length}
        return found if self.doc is None else {**found, "doc": self.doc}

    def _hold(self, kv: Tensor) -> None:
        self.kv = kv
        self._places = [(layer[0], layer[1]) for layer in kv]

    def _check(self, rows: int, slots: int) -> None:
        if torch.is_grad_enabled():
            raise StateKeepsNoGradients(
                "a forward pass with a key/value cache records gradients", fix="use torch.inference_mode()"
            )
        if rows != self.kv.shape[2]:
            raise ContextOverflow(
                f"{rows} rows were given to a state of {self.kv.shape[2]}", fix="reorder or repeat it"
            )
        if self.filled + slots > self.capacity:
            raise ContextOverflow(
                f"{slots} more slots do not fit the state, which holds {self.filled}",
                limit=f"capacity {self.capacity}",
                fix="ask init_state for more capacity, or begin a new state from the last ids",
            )
        if self._longest + slots > self.context and self._bound() + slots > self.context:
            raise ContextOverflow(
                f"position {self._bound() + slots - 1} is beyond the model's context",
                limit=f"context {self.context}",
                fix="stop there, or begin a new state from the last ids",
            )

    def _bound(self) -> int:
        """The longest row, looked up; between look-ups an upper bound is counted without asking the device."""
        self._longest = int(self.length.max()) if len(self.length) else 0
        return self._longest

    def _later(self, slots: int) -> Mask:
        if slots == 1:
            return EVERYTHING
        look = torch.ones(slots, self.filled + slots, dtype=torch.bool, device=self.kv.device).tril_(self.filled)
        return dense_mask(look[None], self.kv.dtype)

    def _last_documents(self) -> Tensor:
        assert self.doc is not None
        return self.doc[:, : self.filled].max(1).values.clamp(min=0)
