"""What loss, sampler and trainer may ask of a model, whatever its kind: `Model`, `Output`, `State`.

Letters: B rows, T slots, V ids, V' padded ids, d width. Nothing here knows a kind of model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from slmmodel.models.config import ModelConfig


class State(ABC):
    """What decoding remembers of each row. All methods change the state in place; no gradients flow through them."""

    length: Tensor
    """int64 [B]: ids seen (padding left out), which is the position of the next id."""

    @abstractmethod
    def reorder(self, rows: Tensor) -> None:
        """Row i becomes what row `rows[i]` was; int64 [B2], so the number of rows may change."""

    def repeat(self, times: int) -> None:
        """Each row `times` times, neighbours together."""
        rows = torch.arange(len(self.length), device=self.length.device)
        self.reorder(rows.repeat_interleave(times))

    @abstractmethod
    def truncate(self, length: int) -> None:
        """Forgets all ids at positions >= `length`. Raises `NotRewindable` where that cannot be done exactly."""

    @abstractmethod
    def tensors(self) -> dict[str, Tensor]:
        """The tensors held, by name: for saving, and for counting."""

    def nbytes(self) -> int:
        """Bytes of all tensors held."""
        return sum(tensor.nbytes for tensor in self.tensors().values())


class Output(NamedTuple):
    """What `forward` returns."""

    logits: Tensor | None
    """[B,T,V], [B,1,V] or None, as `logits` asked; never V' columns."""
    hidden: Tensor
    """[B,T,d] after the final norm: exactly the vectors that the head multiplies."""
    state: State | None
    """The state that was passed in, brought up to date."""


class Model(nn.Module):
    """A language model over ids. A subclass implements `body` and `init_state`; embedding and head are here.

    The head has V' rows and is cut to V before it multiplies: padded ids have no logit and get no gradient.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        width = config.options.width
        self.embed = nn.Embedding(config.padded_vocab, width, _weight=torch.empty(config.padded_vocab, width))
        self.head = None if config.options.tied else Head(config.padded_vocab, width)
        self.softcap: float | None = getattr(config.options, "softcap", None)

    def body(self, embedded: Tensor, *, positions: Tensor | None, doc_id: Tensor | None, state: State | None) -> Tensor:
        """[B,T,d] embeddings to [B,T,d] after the final norm; brings `state` up to date."""
        raise NotImplementedError

    def init_state(self, batch: int, device: torch.device | str, capacity: int | None = None) -> State:
        """An empty state for `batch` rows and `capacity` slots (default: the context)."""
        raise NotImplementedError

    def initial(self, name: str, parameter: Tensor, normal: Callable[[float], Tensor]) -> Tensor:
        """The initial value of a parameter; `normal(std)` draws its shape from N(0, std^2), keyed by seed and name."""
        if name == "head.weight":
            return torch.zeros_like(parameter)
        if parameter.ndim >= 2:
            return normal(0.02)
        return torch.ones_like(parameter) if name.endswith("gain") else torch.zeros_like(parameter)

    def unembed(self, hidden: Tensor) -> Tensor:
        """[..., d] hidden vectors to [..., V] logits."""
        weight = self.embed.weight if self.head is None else self.head.weight
        if self.config.n_vocab < self.config.padded_vocab:
            weight = weight[: self.config.n_vocab]
        logits = nn.functional.linear(hidden, weight)
        if self.softcap is not None:
            logits = self.softcap * torch.tanh(logits / self.softcap)
        return logits

    def forward(
        self,
        ids: Tensor,
        *,
        positions: Tensor | None = None,
        doc_id: Tensor | None = None,
        state: State | None = None,
        logits: Literal["all", "last", "none"] = "all",
    ) -> Output:
        """One pass.

        ids: int64 [B,T]. positions: int64 [B,T]; None counts from 0, or from `state.length`. doc_id: int [B,T], the
        number of the document of each slot, -1 padding; None where a row is one document without padding. state: read
        and brought up to date. logits: "all", "last" (the last slot), or "none" (the loss calls `unembed` on its
        chunks). Raises `ContextOverflow`; recurrent models also `MixedDocuments`.
        """
        hidden = self.body(self.embed(ids), positions=positions, doc_id=doc_id, state=state)
        if logits == "none":
            return Output(None, hidden, state)
        return Output(self.unembed(hidden if logits == "all" else hidden[:, -1:]), hidden, state)

    def __call__(self, *args: Any, **kwargs: Any) -> Output:
        """`forward`, with its type."""
        output: Output = super().__call__(*args, **kwargs)
        return output


class Head(nn.Module):
    """The rows that hidden vectors are multiplied with, where they are not the embedding: [V', d]."""

    def __init__(self, rows: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(rows, width))
