"""The recurrent body that `lstm`, `gru` and `rnn` share: embedding, stacked cells, a linear map to width d, final norm.

Rows hold one document each, with padding behind it: earlier steps cannot see it. Several documents in a row are allowed
where a state is carried from batch to batch alone (there the start id tells the model).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from slmmodel.errors import ContextOverflow, MixedDocuments, NotRewindable
from slmmodel.models import bare
from slmmodel.models.config import ModelConfig
from slmmodel.models.norms import RMSNorm
from slmmodel.models.protocol import Model, State
from slmmodel.models.recurrent_options import RecurrentOptions


class RecurrentState(State):
    """The hidden state of each layer, [layers, B, hidden], one tensor or two (LSTM: h and c)."""

    def __init__(self, hidden: tuple[Tensor, ...]) -> None:
        self.hidden = hidden
        self.length = torch.zeros(hidden[0].shape[1], dtype=torch.int64, device=hidden[0].device)

    def reorder(self, rows: Tensor) -> None:
        """Row i becomes what row `rows[i]` was."""
        self.hidden = tuple(part.index_select(1, rows) for part in self.hidden)
        self.length = self.length[rows]

    def truncate(self, length: int) -> None:
        """To 0, or to the length that it has; anything between was not kept."""
        if length == 0:
            self.hidden = tuple(torch.zeros_like(part) for part in self.hidden)
            self.length = torch.zeros_like(self.length)
        elif not bool((self.length == length).all()):
            raise NotRewindable(
                f"a recurrent state cannot go back to length {length}",
                limit=f"0, or what it has seen: {int(self.length.max())}",
                fix="begin again from the ids",
            )

    def detach(self) -> None:
        """Cuts the history of gradients, between two steps of training that carry the state."""
        self.hidden = tuple(part.detach() for part in self.hidden)

    @classmethod
    def joined(cls, states: Sequence[RecurrentState]) -> RecurrentState:
        """The rows of several states, one after the other."""
        whole = cls(tuple(torch.cat(parts, 1) for parts in zip(*(state.hidden for state in states), strict=True)))
        whole.length = torch.cat([state.length for state in states])
        return whole

    def tensors(self) -> dict[str, Tensor]:
        """`hidden.0` (and `hidden.1`), `length`."""
        return {**{f"hidden.{i}": part for i, part in enumerate(self.hidden)}, "length": self.length}


class Recurrent(Model):
    """One of torch's stacked cells between embedding and head."""

    def __init__(self, config: ModelConfig, kind: type[nn.RNNBase]) -> None:
        super().__init__(config)
        options: RecurrentOptions = config.options
        between = options.dropout if options.layers > 1 else 0.0
        self.cells = bare.cells(kind, options.width, options.hidden, options.layers, between)
        self.out = bare.linear(options.hidden, options.width)
        self.norm = RMSNorm(options.width, 1e-5)

    def initial(self, name: str, parameter: Tensor, normal: Callable[[float], Tensor]) -> Tensor:
        """Weights of cells and output keep the size of what they multiply; forget gates of an LSTM begin open."""
        if name.startswith(("cells.weight", "out.")):
            return normal(parameter.shape[1] ** -0.5)
        value = super().initial(name, parameter, normal)
        if name.startswith("cells.bias_ih") and self.config.kind == "lstm":
            hidden = self.config.options.hidden
            value[hidden : 2 * hidden] = 1.0
        return value

    def init_hidden(self, batch: int, device: torch.device | str) -> tuple[Tensor, ...]:
        """Zeros [layers, B, hidden]: one tensor, or h and c. Any batch size, any device, any time."""
        options: RecurrentOptions = self.config.options
        shape = (options.layers, batch, options.hidden)
        parts = 2 if self.config.kind == "lstm" else 1
        return tuple(torch.zeros(shape, dtype=self.embed.weight.dtype, device=device) for _ in range(parts))

    def init_state(self, batch: int, device: torch.device | str, capacity: int | None = None) -> RecurrentState:
        """The state of rows that have seen nothing; it has no capacity."""
        return RecurrentState(self.init_hidden(batch, device))

    def body(self, embedded: Tensor, *, positions: Tensor | None, doc_id: Tensor | None, state: State | None) -> Tensor:
        """The cells from the state, or from zeros; positions mean nothing here."""
        carried = state if isinstance(state, RecurrentState) else None
        if doc_id is not None:
            check_documents(doc_id, carried=carried is not None)
        if carried is None:
            hidden, _ = self.cells(embedded)
        else:
            hidden = self._step(embedded, carried)
        result: Tensor = self.norm(self.out(hidden))
        return result

    def _step(self, embedded: Tensor, state: RecurrentState) -> Tensor:
        if len(state.length) != embedded.shape[0]:
            raise ContextOverflow(
                f"{embedded.shape[0]} rows were given to a state of {len(state.length)}", fix="reorder or repeat it"
            )
        before: Any = state.hidden if len(state.hidden) > 1 else state.hidden[0]
        hidden, after = self.cells(embedded, before)
        state.hidden = after if isinstance(after, tuple) else (after,)
        state.length = state.length + embedded.shape[1]
        result: Tensor = hidden
        return result


def check_documents(doc_id: Tensor, *, carried: bool) -> None:
    """Refuses rows that a recurrence would read across. Raises `MixedDocuments`.

    With a carried state: any padding. Without: padding in front, or several documents.
    """
    padding = doc_id < 0
    if carried:
        wrong = padding
    else:
        before = doc_id[:, :-1]
        wrong = (doc_id[:, 1:] != before) & ~padding[:, 1:]
        wrong = torch.cat([padding[:, :1], wrong], 1)
    rows = wrong.any(1).nonzero().flatten().tolist()
    if rows:
        raise MixedDocuments(
            f"row {rows[0]} holds {'padding' if carried else 'several documents, or padding in front'}",
            limit="a recurrent model reads a row from its first slot to its last",
            fix="pack with bucket (one document a row), or with lanes, which carries the state",
            rows=rows,
        )
