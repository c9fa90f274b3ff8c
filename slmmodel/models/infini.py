"""Infini-attention (Munkhdalai et al. 2024, arXiv 2404.07143): attention in segments, and a memory of those before.

A row is cut into segments of S positions, with a border before each. Attention is computed within a segment; earlier
segments are read through a compressive memory of fixed size, so a row may be of any length. With q, k, v of one head,
phi(u) = elu(u) + 1 and the memory M [h, h], z [h] as it was before the segment:

    A_local  = softmax(rope(q) rope(k)' / sqrt(h) + mask) v           within the segment and the document
    A_memory = phi(q) M / (phi(q) z + eps)                            without rotary positions
    A        = g A_memory + (1 - g) A_local                           g: one gate per query head

Then the segment is folded into the memory: M += phi(k)' v (linear), or M += phi(k)' (v - phi(k) M / (phi(k) z + eps))
(delta); z += sum of phi(k). Query heads of a group share the memory of their key/value head. Memory and gates are fp32.

Where the paper is silent: an empty memory is bypassed (A = A_local), not averaged in as zeros. A memory belongs to one
document, that of the last id of the segment that was folded; other documents neither read nor keep it.

Letters: B batch size, T sequence length, N segments, S segment, d d_model, L layers, H query heads, K key/value heads,
G = H / K, h head dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from slmmodel.errors import InvalidInput
from slmmodel.models.attention import Mask, attend, make_mask
from slmmodel.models.config import InfiniConfig, ModelConfig, TransformerConfig
from slmmodel.models.gpt import RESIDUAL_PROJECTIONS, Attention, Rope, Transformer, apply_rope, rope_tables, rotations
from slmmodel.models.protocol import AnyState, State

MEMORY_EPS = 1e-6
"""Added to phi(q) z."""
MAX_PREFILL_SEGMENTS = 16
"""Segments of one forward pass with a state, so that the memory of decoding does not depend on the prompt's length."""
NO_DOCUMENT = -1
"""The document of padding, and of an empty memory."""


def _hard_sigmoid(beta: Tensor) -> Tensor:
    return (0.2 * beta + 0.5).clamp(0, 1)


def _tanh_abs(beta: Tensor) -> Tensor:
    return torch.tanh(beta).abs()


# A model holds its function, and a lambda cannot be pickled.
GATE_FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "sigmoid": torch.sigmoid,
    "hard_sigmoid": _hard_sigmoid,
    "tanh": torch.tanh,
    "tanh_abs": _tanh_abs,
}


# ---------------------------------------------------------------- the memory


def feature_map(x: Tensor) -> Tensor:
    """phi(x) = elu(x) + 1, at least in fp32 (Katharopoulos et al. 2020)."""
    return F.elu(widened(x)).add_(1)


def widened(x: Tensor) -> Tensor:
    """fp64 stays fp64, all else becomes fp32."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


class Memory(NamedTuple):
    """What was folded so far, at least in fp32."""

    m: Tensor
    """[..., h, h]"""
    z: Tensor
    """[..., h]"""

    def read(self, features: Tensor) -> Tensor:
        """What it returns for features [..., n, h]: [..., n, h]; 0 while it is empty."""
        return (features @ self.m) / (features @ self.z[..., None] + MEMORY_EPS)

    def fold(self, features: Tensor, values: Tensor, rule: str) -> Memory:
        """With a segment's features and values [..., S, h]; ids with features 0 are left out.

        The delta rule subtracts what the memory returns for a key already.
        """
        if rule == "delta":
            values = values - self.read(features)
        return Memory(self.m + features.mT @ values, self.z + features.sum(-2))

    def where(self, chosen: Tensor, other: Memory) -> Memory:
        """This memory in the chosen rows, the other one elsewhere; `chosen`: bool, with the dimensions before K."""
        m = torch.where(chosen[..., None, None, None], self.m, other.m)
        return Memory(m, torch.where(chosen[..., None, None], self.z, other.z))

    def kept(self, rows: Tensor) -> Memory:
        """Emptied where `rows` (bool, the dimensions before K) is False."""
        return Memory(self.m * rows[..., None, None, None], self.z * rows[..., None, None])

    def at(self, *index: Any) -> Memory:
        """The same part of both tensors."""
        return Memory(self.m[index], self.z[index])


def memories_before(
    features: Tensor, values: Tensor, start: Memory, keeps: Tensor | None, rule: str, bptt_segments: int | None
) -> Memory:
    """The memory before each of N segments, and after the last: [N + 1, B, K, ...] of features, values [N, B, K, S, h].

    keeps: bool [N, B], whether a segment adds to the memory before it. Equal to folding segment by segment: sums for z
    and, with the linear rule, updates of M do not depend on M, so they are computed for all segments at once; with the
    delta rule a segment takes two products.
    """
    z, sums = start.z, features.sum(-2)
    keep = None if keeps is None else keeps[..., None, None].to(sums.dtype)
    all_z = [z]
    for index, more in enumerate(sums.unbind(0)):
        z = (z if keep is None else z * keep[index]) + more
        all_z.append(z.detach() if _ends_group(index, bptt_segments) else z)
        z = all_z[-1]
    stacked_z = torch.stack(all_z)
    # From here on batch and heads are one dimension, as batched products take it.
    m = start.m.flatten(0, 1)
    keys = features.flatten(1, 2).unbind(0)
    if rule == "linear":
        updates = (features.mT @ values).flatten(1, 2).unbind(0)
    else:
        kept_z = stacked_z[:-1] if keep is None else stacked_z[:-1] * keep
        readers = (features / (features @ kept_z[..., None] + MEMORY_EPS)).flatten(1, 2).unbind(0)
        targets = values.flatten(1, 2).unbind(0)
    all_m = [m]
    for index, key in enumerate(keys):
        if keeps is not None:
            m = m * keeps[index].repeat_interleave(start.z.shape[1])[:, None, None]
        if rule == "linear":
            m = m + updates[index]
        else:
            m = torch.baddbmm(m, key.mT, torch.baddbmm(targets[index], readers[index], m, alpha=-1))
        all_m.append(m.detach() if _ends_group(index, bptt_segments) else m)
        m = all_m[-1]
    return Memory(torch.unflatten(torch.stack(all_m), 1, start.z.shape[:2]), stacked_z)


def _ends_group(index: int, bptt_segments: int | None) -> bool:
    return bptt_segments is not None and (index + 1) % bptt_segments == 0


# ---------------------------------------------------------------- what all layers share


@dataclass(frozen=True)
class Segments:
    """How a batch [B, N S] is divided into segments, for all layers."""

    count: int
    """N"""
    rope: Rope
    mask: Mask
    """of the rows [B N, S]"""
    reads: Tensor
    """fp32 [B or 1, N, 1, S or 1, 1]: 1 where a position reads the memory, 0 where that is empty or another's"""
    writes: Tensor | None
    """bool [B, N, S]: positions that are folded; None: all"""
    keeps: Tensor | None
    """bool [B, N]: whether a segment adds to the memory before it, else it replaces it; None: always"""
    memory_documents: Tensor | None
    """int [B, N]: the document of the memory before each segment; None: that of the row"""
    n_ids: Tensor | None
    """int64 [B]: of each row, ids in front of its padding; None without a state"""


@dataclass(frozen=True)
class Columns:
    """Where new ids [B, T] stand in the segment that a state holds, for all layers."""

    index: Tensor | slice
    """their columns: int64 [B, T], or a slice"""
    new: Tensor | None
    """bool [B, T]: False for padding, whose columns keep their content; None: all are new"""
    rope: tuple[Rope, Rope]
    """of queries and of keys"""
    mask: Mask
    reads: Tensor
    """fp32 [B, 1, T, 1], as in `Segments`"""


def last_documents(document_ids: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
    """The document of the memory before and after each of segments [B, N, S], int [B, N]; `before` [B]: at the start.

    After a segment it is that of its last id. Segments of padding leave the memory as it is.
    """
    size = document_ids.shape[-1]
    real = document_ids >= 0
    last = (real * torch.arange(1, size + 1, device=real.device)).amax(-1)
    number = torch.arange(1, last.shape[1] + 1, device=real.device)
    source = torch.cummax(torch.where(last > 0, number, 0), 1).values
    ends = document_ids.gather(2, (last - 1).clamp(min=0)[..., None])[..., 0]
    after = torch.cat([before[:, None], ends], 1).gather(1, source)
    return torch.cat([before[:, None], after[:, :-1]], 1), after


# ---------------------------------------------------------------- decoding


class InfiniState(State):
    """The segment that is being filled, and the memory of those before it. Its size does not depend on the length.

    A full segment is folded when the next id arrives, so the last ids can still be dropped.
    """

    def __init__(self, cache: Tensor, memory: Memory | None, rule: str) -> None:
        batch_size, device = cache.shape[2], cache.device
        self.cache, self.memory, self.rule = cache, memory, rule
        """keys (not rotated) and values [L, 2, B, S, K, h]; M [L, B, K, h, h] and z [L, B, K, h], or None"""
        self.document_ids = torch.full(cache.shape[2:4], NO_DOCUMENT, device=device)
        """int64 [B, S]: of the cached ids"""
        self.memory_document = torch.full((batch_size,), NO_DOCUMENT, device=device)
        """int64 [B]: document of the memory"""
        self.current = torch.zeros(batch_size, dtype=torch.int64, device=device)
        """int64 [B]: document of the last id, which ids without a document continue"""
        self.filled = torch.zeros(batch_size, dtype=torch.int64, device=device)
        """int64 [B]: columns in use"""
        self.length = torch.zeros(batch_size, dtype=torch.int64, device=device)
        self.is_plain = True
        """whether each row is one document without padding"""
        self.columns: int | None = 0
        """`filled` of every row; None where rows differ"""

    @property
    def segment(self) -> int:
        """S."""
        return self.cache.shape[3]

    def fold_full(self, rows: Tensor) -> None:
        """Folds the full segments of these rows, bool [B], into the memory."""
        if self.columns is not None and self.columns < self.segment:
            return
        chosen, ends = (self.filled == self.segment) & rows, self.document_ids[:, -1]
        if self.columns is None and not bool(chosen.any()):
            return
        if self.memory is not None:
            k, v = (part.transpose(2, 3) for part in self.cache.unbind(1))
            features = feature_map(k) * (self.document_ids == ends[:, None])[:, None, :, None]
            folded = self.memory.kept(self.memory_document == ends).fold(features, widened(v), self.rule)
            self.memory = folded.where(chosen, self.memory)
        self.memory_document = torch.where(chosen, ends, self.memory_document)
        self.filled = torch.where(chosen, 0, self.filled)
        self.document_ids = self.document_ids.masked_fill(chosen[:, None], NO_DOCUMENT)
        self.columns = 0 if self.is_plain or bool((self.filled == 0).all()) else None

    def place(self, documents: Tensor, columns: Tensor | slice, new: Tensor | None) -> None:
        """Notes the documents of new ids [B, T] in their columns."""
        if isinstance(columns, slice):
            self.document_ids[:, columns] = documents
        else:
            assert new is not None
            kept = torch.where(new, documents, self.document_ids.gather(1, columns))
            self.document_ids.scatter_(1, columns, kept)

    def advance(self, documents: Tensor) -> None:
        """Counts new ids [B, T] of the segment, after `append` of all layers."""
        seq_len = documents.shape[1]
        if self.is_plain:
            self.filled, self.length = self.filled + seq_len, self.length + seq_len
            self.columns = None if self.columns is None else self.columns + seq_len
            return
        count = (documents >= 0).sum(1)
        last = documents.gather(1, (count - 1).clamp(min=0)[:, None])[:, 0]
        self.current = torch.where(count > 0, last, self.current)
        self.filled, self.length = self.filled + count, self.length + count
        if self.columns is not None:
            self.columns = self.columns + seq_len if bool((count == seq_len).all()) else None

    def advance_segments(self, documents: Tensor, segments: Segments) -> None:
        """Counts new ids [B, N, S] that began at a border, after `store` of all layers."""
        assert segments.n_ids is not None and segments.memory_documents is not None
        count, has_ids = segments.n_ids, segments.n_ids > 0
        row, last = torch.arange(len(count), device=count.device), (count - 1).clamp(min=0) // self.segment
        self.memory_document = torch.where(has_ids, segments.memory_documents[row, last], self.memory_document)
        self.document_ids = torch.where(has_ids[:, None], documents[row, last], self.document_ids)
        ends = documents.flatten(1).gather(1, (count - 1).clamp(min=0)[:, None])[:, 0]
        self.current = torch.where(has_ids, ends, self.current)
        self.filled = torch.where(has_ids, count - last * self.segment, self.filled)
        self.length = self.length + count
        self._set_columns()

    def _set_columns(self) -> None:
        is_same = bool((self.filled == self.filled[0]).all())
        self.columns = int(self.filled[0]) if is_same else None

    def append(self, layer: int, k: Tensor, v: Tensor, columns: Columns) -> tuple[Tensor, Tensor]:
        """Writes k, v [B, T, K, h] of one layer; returns keys and values of the columns in use [B, C, K, h]."""
        pair = self.cache[layer]
        for part, new in zip(pair, (k, v), strict=True):
            if isinstance(columns.index, slice):
                part[:, columns.index] = new.to(part.dtype)
            else:
                index = columns.index[..., None, None].expand_as(new)
                assert columns.new is not None
                kept = torch.where(columns.new[..., None, None], new.to(part.dtype), part.gather(1, index))
                part.scatter_(1, index, kept)
        end = columns.index.stop if isinstance(columns.index, slice) else self.segment
        return pair[0, :, :end], pair[1, :, :end]

    def store(self, layer: int, k: Tensor, v: Tensor, memories: Memory | None, segments: Segments) -> None:
        """Keeps the last segment of each row with ids, and the memory before it: k, v [B, N, S, K, h]."""
        assert segments.n_ids is not None
        row, last = torch.arange(len(k), device=k.device), (segments.n_ids - 1).clamp(min=0) // self.segment
        has_ids = segments.n_ids > 0
        for part, new in zip(self.cache[layer], (k, v), strict=True):
            part.copy_(torch.where(has_ids[:, None, None, None], new[row, last].to(part.dtype), part))
        if self.memory is not None and memories is not None:
            self.memory.m[layer], self.memory.z[layer] = memories.at(row, last).where(has_ids, self.memory.at(layer))

    def reorder(self, rows: Tensor) -> None:
        """Row i becomes the former row `rows[i]`."""
        self.cache = self.cache.index_select(2, rows)
        if self.memory is not None:
            self.memory = self.memory.at(slice(None), rows)
        for name in ("document_ids", "memory_document", "current", "filled", "length"):
            setattr(self, name, getattr(self, name)[rows])

    def truncate(self, length: int) -> None:
        """Drops ids at positions >= `length`, within the last segment, or all."""
        drop = (self.length - length).clamp(min=0)
        longest = int(self.length.max())
        if length == 0:
            self.memory_document = torch.full_like(self.memory_document, NO_DOCUMENT)
            self.filled = torch.zeros_like(self.filled)
            if self.memory is not None:
                self.memory = self.memory.kept(torch.zeros_like(self.filled, dtype=torch.bool))
            self.current = torch.zeros_like(self.current)
        elif not 0 <= length <= longest or bool((drop > self.filled).any()):
            raise InvalidInput(
                f"cannot truncate to length {length}",
                limit=f"0, or the last segment: {int((self.length - self.filled).max())} to {longest}",
                fix="start a new state from the ids to keep",
            )
        else:
            self.filled = self.filled - drop
            last = self.document_ids.gather(1, (self.filled - 1).clamp(min=0)[:, None])[:, 0]
            self.current = torch.where(self.filled > 0, last, self.memory_document).clamp(min=0)
        self.length = self.length - drop
        self._set_columns()
        unused = torch.arange(self.segment, device=drop.device) >= self.filled[:, None]
        self.document_ids = self.document_ids.masked_fill(unused, NO_DOCUMENT)

    def tensors(self) -> dict[str, Tensor]:
        """All tensors by name."""
        own = {name: part for name, part in vars(self).items() if isinstance(part, Tensor)}
        return own if self.memory is None else {**own, "memory.m": self.memory.m, "memory.z": self.memory.z}


# ---------------------------------------------------------------- truncated BPTT


class CarriedMemory:
    """The memory before the rows of a training step and, after its forward pass, the one behind them.

    Gradients do not pass from one to the other.
    """

    def __init__(self, hidden: tuple[Tensor, ...], continues: Tensor, rule: str) -> None:
        """`hidden`: M [L, B, K, h, h] and z [L, B, K, h]; `continues` as in `Model.bptt_state`."""
        self.memory, self.rule = Memory(*hidden), rule
        is_filled = self.memory.z.flatten(2).amax((0, 2)) > 0
        self.memory_document = torch.where(continues & is_filled, 0, NO_DOCUMENT)
        """int64 [B]: document of the memory; the first one of a row is number 0"""
        self.hidden = tuple(torch.empty_like(part) for part in hidden)
        self.length = torch.zeros_like(self.memory_document)

    def store(self, layer: int, k: Tensor, v: Tensor, memories: Memory | None, segments: Segments) -> None:
        """Folds the last segment of one layer into the memory before it: k, v [B, N, S, K, h]."""
        assert memories is not None and segments.writes is not None and segments.keeps is not None
        with torch.no_grad(), torch.autocast(k.device.type, enabled=False):
            keys, values = k[:, -1].transpose(1, 2), widened(v[:, -1].transpose(1, 2))
            features = feature_map(keys) * segments.writes[:, -1][:, None, :, None]
            folded = memories.at(slice(None), -1).kept(segments.keeps[:, -1]).fold(features, values, self.rule)
            for stored, new in zip(self.hidden, folded, strict=True):
                stored[layer] = new


# ---------------------------------------------------------------- the model


class InfiniAttention(Attention):
    """Attention within segments, gated with what the memory returns."""

    keeps_fp32 = True
    """FSDP2 gathers its parameters as they are: small steps of a gate vanish in bf16."""

    def __init__(self, config: TransformerConfig, layer: int) -> None:
        assert isinstance(config, InfiniConfig)
        super().__init__(config, layer)
        self.memory, self.bptt_segments = config.memory, config.bptt_segments
        self.gate_function, self.n_kv_heads = GATE_FUNCTIONS[config.gate], config.n_kv_heads
        if config.memory != "off":
            self.beta = nn.Parameter(torch.empty(config.n_heads))

    def forward(  # type: ignore[override]
        self, x: Tensor, layout: Segments | Columns, state: InfiniState | CarriedMemory | None
    ) -> Tensor:
        """[B, N S, d], or with `Columns` [B, T, d], to the same shape."""
        q, k, v = self.project(x)
        if isinstance(layout, Segments):
            y = self._whole_segments(q, k, v, layout, state)
        else:
            assert isinstance(state, InfiniState)
            y = self._within_segment(q, k, v, layout, state)
        projected: Tensor = self.o(y)
        return projected

    @property
    def gates(self) -> Tensor:
        """The weight of the memory in each query head, fp32 [H]."""
        return self.gate_function(widened(self.beta))

    def _whole_segments(
        self, q: Tensor, k: Tensor, v: Tensor, segments: Segments, state: InfiniState | CarriedMemory | None
    ) -> Tensor:
        """All segments at once: q [B, N S, H, h], k and v [B, N S, K, h]; gives [B, N S, H h]."""
        q, k, v = (torch.unflatten(part, 1, (segments.count, -1)) for part in (q, k, v))
        rotated = apply_rope(q, segments.rope), apply_rope(k, segments.rope), v
        local_q, local_k, local_v = (part.flatten(0, 1).transpose(1, 2) for part in rotated)  # [B N, heads, S, h]
        y = attend(local_q, local_k, local_v, segments.mask, self.dropout if self.training else 0.0)
        y = torch.unflatten(y, 0, (-1, segments.count))
        memories = None
        if self.memory != "off" and (segments.count > 1 or state is not None):
            with torch.autocast(q.device.type, enabled=False):
                memories = self._memories(k, v, segments, state)
                y = self._mix(y, q, memories, segments.reads)
        if state is not None:
            state.store(self.layer, k, v, memories, segments)
        return y.transpose(2, 3).flatten(1, 2).flatten(2)

    def _memories(self, k: Tensor, v: Tensor, segments: Segments, state: InfiniState | CarriedMemory | None) -> Memory:
        """The memory before each segment, [B, N, K, ...]."""
        # Nothing reads the memory after the last segment.
        k, v = (part[:, :-1].permute(1, 0, 3, 2, 4).contiguous() for part in (k, v))  # [N - 1, B, K, S, h]
        features, values = feature_map(k), widened(v)
        if segments.writes is not None:
            features = features * segments.writes[:, :-1].transpose(0, 1)[:, :, None, :, None]
        if state is None:
            shape = k.shape[1], self.n_kv_heads, self.head_dim
            start = Memory(features.new_zeros(*shape, self.head_dim), features.new_zeros(shape))
        else:
            assert state.memory is not None
            start = state.memory.at(self.layer)
        keeps = None if segments.keeps is None else segments.keeps[:, :-1].T
        found = memories_before(features, values, start, keeps, self.memory, self.bptt_segments)
        return Memory(found.m.transpose(0, 1), found.z.transpose(0, 1))

    def _mix(self, y: Tensor, q: Tensor, memory: Memory, reads: Tensor) -> Tensor:
        """g A_memory + (1 - g) A_local: y [..., H, S, h], q [..., S, H, h], memory [..., K, h, h]."""
        features = feature_map(q.transpose(-2, -3).contiguous())  # [..., H, S, h]
        grouped = torch.unflatten(features, -3, (self.n_kv_heads, -1)).flatten(-3, -2)  # [..., K, G S, h]
        recalled = memory.read(grouped).reshape(y.shape)
        # With weight 0 the result is y to the bit.
        return torch.lerp(widened(y), recalled, self.gates[:, None, None] * reads).type_as(y)

    def _within_segment(self, q: Tensor, k: Tensor, v: Tensor, columns: Columns, state: InfiniState) -> Tensor:
        """New ids of the segment that the state holds: q [B, T, H, h], k and v [B, T, K, h]; gives [B, T, H h]."""
        keys, values = state.append(self.layer, k, v, columns)
        rotated = apply_rope(q, columns.rope[0]), apply_rope(keys.type_as(q), columns.rope[1])
        local_q, local_k, local_v = (part.transpose(1, 2) for part in (*rotated, values.type_as(q)))
        y = attend(local_q, local_k, local_v, columns.mask)
        if state.memory is not None:
            with torch.autocast(q.device.type, enabled=False):
                y = self._mix(y, q, state.memory.at(self.layer), columns.reads)
        return y.transpose(1, 2).flatten(2)


class Infini(Transformer):
    """The decoder of `gpt.py` with Infini-attention; with an `InfiniState`, any number of ids at a time."""

    config: InfiniConfig

    def __init__(self, config: ModelConfig) -> None:
        assert isinstance(config, InfiniConfig)
        super().__init__(config, InfiniAttention)
        rows = config.segment if config.positions == "restart" else config.seq_len
        cos, sin = rope_tables(rows, config.head_dim, config.rope_base)
        self.rope_cos = nn.Buffer(cos, persistent=False)
        self.rope_sin = nn.Buffer(sin, persistent=False)

    def embed_and_run(
        self, ids: Tensor, position_ids: Tensor | None, document_ids: Tensor | None, state: AnyState | None
    ) -> Tensor:
        """Embedding and blocks; `position_ids` have an effect on `continue` without a state alone."""
        assert state is None or isinstance(state, (InfiniState, CarriedMemory))
        if not isinstance(state, InfiniState):
            return self._train_pass(ids, position_ids, document_ids, state)
        if torch.is_grad_enabled():
            fact = "a forward pass with a state records gradients"
            raise InvalidInput(fact, fix="use torch.inference_mode()")
        if document_ids is None:
            return self._continue(ids, state.current[:, None].expand_as(ids), state)
        # Segments begin at the first id of a row, so padding is moved behind the ids.
        state.is_plain = False
        order = (document_ids < 0).to(torch.int8).argsort(dim=1, stable=True)
        hidden = self._continue(ids.gather(1, order), document_ids.long().gather(1, order), state)
        return hidden.gather(1, order.argsort(1)[..., None].expand_as(hidden))

    def init_state(self, batch_size: int, device: torch.device | str, capacity: int | None = None) -> InfiniState:
        """An empty state; `capacity` has no effect. The cache has the dtype of the weights, the memory is fp32."""
        config, weight = self.config, self.embed.weight
        heads, h = config.n_kv_heads, config.head_dim
        cache = torch.zeros(config.n_layers, 2, batch_size, config.segment, heads, h, dtype=weight.dtype, device=device)
        zeros = widened(cache).new_zeros(config.n_layers, batch_size, heads, h, h)
        memory = None if config.memory == "off" else Memory(zeros, zeros[..., 0].clone())
        return InfiniState(cache, memory, config.memory)

    def init_hidden(self, batch_size: int, device: torch.device | str) -> tuple[Tensor, ...]:
        """The empty memory: M [L, B, K, h, h] and z [L, B, K, h], fp32; nothing without a memory."""
        return tuple(self.init_state(batch_size, device).memory or ())

    def bptt_state(self, hidden: tuple[Tensor, ...], continues: Tensor) -> CarriedMemory:
        """See `Model`."""
        return CarriedMemory(hidden, continues, self.config.memory)

    def initial_value(self, name: str, parameter: Tensor, normal: Callable[[float], Tensor]) -> Tensor:
        """As in every transformer; gates are 0 or N(0, 1); `init_std` replaces the standard deviation of all others."""
        std = self.config.init_std
        if name.endswith("attention.beta"):
            return torch.zeros_like(parameter) if self.config.gate_init == "zeros" else normal(1.0)
        if std is not None and parameter.ndim >= 2:
            return normal(std / (2 * self.config.n_layers) ** 0.5 if name.endswith(RESIDUAL_PROJECTIONS) else std)
        return super().initial_value(name, parameter, normal)

    def metrics(self, ids: Tensor, document_ids: Tensor) -> dict[str, Tensor]:
        """Of a memory: its weight `gates` [n_layers, n_heads], and behind the last whole segment of the row its
        Frobenius norm `memory_norm` [n_layers], the mean over its heads, and the ids that it holds, `memory_ids`.
        """
        if self.config.memory == "off":
            return {}
        state = self.init_state(len(ids), ids.device)
        self(ids, document_ids=document_ids, state=state, logits="none")
        state.fold_full(torch.ones_like(state.memory_document, dtype=torch.bool))
        assert state.memory is not None
        is_folded = (document_ids >= 0).cumsum(1) <= (state.length - state.filled)[:, None]
        n_ids = ((document_ids == state.memory_document[:, None]) & is_folded & (document_ids >= 0)).sum()
        betas = [part for name, part in self.named_parameters() if name.endswith("attention.beta")]
        # FSDP2 shards them outside the forward pass.
        whole = [beta.full_tensor() if hasattr(beta, "full_tensor") else beta for beta in betas]
        gates = GATE_FUNCTIONS[self.config.gate](torch.stack(whole))
        norms = state.memory.m.norm(dim=(-2, -1)).mean((1, 2))
        return {"gates": gates, "memory_norm": norms, "memory_ids": n_ids}

    # ------------------------------------------------------------ rows from their beginning

    def _train_pass(
        self,
        ids: Tensor,
        position_ids: Tensor | None,
        document_ids: Tensor | None,
        state: CarriedMemory | None,
    ) -> Tensor:
        """Whole rows. Padding fills up the last segment, behind everything that is returned."""
        seq_len, size = ids.shape[1], min(self.config.segment, ids.shape[1])
        missing = -seq_len % size
        if missing:
            ids = F.pad(ids, (0, missing))
            document_ids = None if document_ids is None else F.pad(document_ids, (0, missing), value=NO_DOCUMENT)
            position_ids = None if position_ids is None else F.pad(position_ids, (0, missing))
        x = self.embed(ids)
        documents = None if document_ids is None else torch.unflatten(document_ids, 1, (-1, size))
        mask = self._segment_mask(document_ids, ids, size, x.dtype)
        segments = self._segments(ids.shape[1] // size, size, position_ids, documents, mask, state)
        return self.run_blocks(x, segments, state)[:, :seq_len]

    def _segment_mask(self, document_ids: Tensor | None, ids: Tensor, size: int, dtype: torch.dtype) -> Mask:
        rows = None if document_ids is None else document_ids.reshape(-1, size)
        return make_mask(rows, None, ids.reshape(-1, size), dtype=dtype, backend="sdpa")

    def _segments(
        self,
        count: int,
        size: int,
        position_ids: Tensor | None,
        documents: Tensor | None,
        mask: Mask,
        state: InfiniState | CarriedMemory | None = None,
    ) -> Segments:
        """Rows of `count` segments of `size`. documents: int [B, N, S]; None: each row is one."""
        rope = self._rope(slice(0, size))
        if self.config.positions == "continue":
            indices = slice(0, count * size) if position_ids is None else position_ids
            cos, sin = (torch.unflatten(table, -3, (count, size)) for table in self._rope(indices))
            rope = cos, sin
        device = self.embed.weight.device
        if documents is None:
            reads = (torch.arange(count, device=device) > 0).float()[None, :, None, None, None]
            return Segments(count, rope, mask, reads, None, None, None, None)
        before = torch.full((len(documents),), NO_DOCUMENT, device=device) if state is None else state.memory_document
        memory_documents, after = last_documents(documents.long(), before)
        reads = ((documents == memory_documents[..., None]) & (documents >= 0)).float()[:, :, None, :, None]
        writes = (documents == after[..., None]) & (documents >= 0)
        n_ids = None if state is None else (documents >= 0).flatten(1).sum(1)
        return Segments(count, rope, mask, reads, writes, memory_documents == after, memory_documents, n_ids)

    def _rope(self, indices: Tensor | slice) -> Rope:
        """Cosines and sines of positions. Those beyond the table are computed: a row may be longer than seq_len."""
        if isinstance(indices, slice) and indices.stop > len(self.rope_cos):
            indices = torch.arange(indices.start, indices.stop, device=self.rope_cos.device)
        if isinstance(indices, slice) or self.config.positions == "restart" or self.training:
            return self.rope_cos[indices], self.rope_sin[indices]
        cos, sin = rotations(indices, self.config.head_dim, self.config.rope_base)
        return cos.type_as(self.rope_cos), sin.type_as(self.rope_cos)

    # ------------------------------------------------------------ with a state

    def _continue(self, ids: Tensor, documents: Tensor, state: InfiniState) -> Tensor:
        """Ids [B, T] of `documents`, -1 for padding behind them; whole segments at once from a border on."""
        parts, done, seq_len = list[Tensor](), 0, ids.shape[1]
        while done < seq_len:
            columns, left = state.columns, seq_len - done
            if columns in (0, state.segment) and left > state.segment:
                for first in range(done, seq_len, MAX_PREFILL_SEGMENTS * state.segment):
                    some = slice(first, min(first + MAX_PREFILL_SEGMENTS * state.segment, seq_len))
                    parts.append(self._read_segments(ids[:, some], documents[:, some], state))
                break
            # Rows that end in different columns take one id at a time.
            room = 1 if columns is None else (state.segment - columns) or state.segment
            some = slice(done, done + min(left, room))
            parts.append(self._read_columns(ids[:, some], documents[:, some], state))
            done = some.stop
        return torch.cat(parts, 1)

    def _read_segments(self, ids: Tensor, documents: Tensor, state: InfiniState) -> Tensor:
        """Rows that stand at a border, or have no more ids."""
        seq_len, size = ids.shape[1], state.segment
        state.fold_full((documents >= 0)[:, 0])
        ids, documents = (F.pad(part, (0, -seq_len % size), value=value) for part, value in ((ids, 0), (documents, -1)))
        x = self.embed(ids)
        mask = self._segment_mask(None if state.is_plain else documents, ids, size, x.dtype)
        position_ids = state.length[:, None] + torch.arange(ids.shape[1], device=ids.device)
        documents_by_segment = torch.unflatten(documents, 1, (-1, size))
        segments = self._segments(documents_by_segment.shape[1], size, position_ids, documents_by_segment, mask, state)
        hidden = self.run_blocks(x, segments, state)
        state.advance_segments(documents_by_segment, segments)
        return hidden[:, :seq_len]

    def _read_columns(self, ids: Tensor, documents: Tensor, state: InfiniState) -> Tensor:
        """Ids that end in the segment that the state holds."""
        state.fold_full((documents >= 0)[:, 0])
        start, seq_len = state.columns, ids.shape[1]
        own: Tensor | slice
        if start is not None:
            own = slice(start, start + seq_len)
            columns, new = torch.arange(start, own.stop, device=ids.device)[None], None
        else:
            own = columns = state.filled[:, None].clamp(max=state.segment - 1)
            new = documents >= 0
        state.place(documents, own, new)
        x: Tensor = self.embed(ids)
        used = torch.arange(own.stop if isinstance(own, slice) else state.segment, device=ids.device)
        if state.is_plain and start is not None:
            mask = make_mask(None, None, ids, start, dtype=x.dtype, backend="sdpa")
        else:
            of_keys = state.document_ids[:, None, : len(used)]
            allowed = (of_keys == documents[..., None]) & (of_keys >= 0) & (used <= columns[..., None])
            mask = (allowed | (used == columns[..., None]))[:, None]
        rope = self._rope(own), self._rope(slice(0, len(used)))
        if self.config.positions == "continue":
            first = (state.length - state.filled)[:, None]
            rope = self._rope(first + columns), self._rope(first + used)
        reads = ((documents == state.memory_document[:, None]) & (documents >= 0)).float()[:, None, :, None]
        hidden = self.run_blocks(x, Columns(own, new, rope, mask, reads), state)
        state.advance(documents)
        return hidden
