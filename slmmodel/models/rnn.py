"""Recurrent language models: embedding, stacked `lstm`, `gru` or `rnn` cells, a projection to d_model, final norm.

LSTM: Hochreiter and Schmidhuber 1997; GRU: Cho et al. 2014; RNN with tanh: Elman 1990. Baselines without attention.
A row holds one document, padding after it. With a state that is carried from batch to batch a row may hold several.

Letters: B batch size, T sequence length, L layers, d d_model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from slmmodel.errors import InvalidInput
from slmmodel.models.config import ModelConfig, RecurrentConfig
from slmmodel.models.dropout import dropout, own_generator
from slmmodel.models.gpt import RMSNorm
from slmmodel.models.protocol import AnyState, Linear, Model, State

CELLS: dict[str, type[nn.LSTM | nn.GRU | nn.RNN]] = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}
FUNCTIONS: dict[str, Any] = {"lstm": torch.lstm, "gru": torch.gru, "rnn": torch.rnn_tanh}


class RecurrentState(State):
    """The hidden state of each layer: one tensor [L, B, hidden_size], or two (LSTM: h and c)."""

    def __init__(self, hidden: tuple[Tensor, ...]) -> None:
        self.hidden = hidden
        self.length = torch.zeros(hidden[0].shape[1], dtype=torch.int64, device=hidden[0].device)

    def reorder(self, rows: Tensor) -> None:
        """Row i becomes the former row `rows[i]`."""
        self.hidden = tuple(hidden.index_select(1, rows) for hidden in self.hidden)
        self.length = self.length[rows]

    def truncate(self, length: int) -> None:
        """To 0, or to the present length; states in between are not stored."""
        if length == 0:
            self.hidden = tuple(torch.zeros_like(hidden) for hidden in self.hidden)
            self.length = torch.zeros_like(self.length)
        elif not bool((self.length == length).all()):
            raise InvalidInput(
                f"a recurrent state cannot be truncated to length {length}",
                limit=f"0, or its present length, {int(self.length.max())}",
                fix="start a new state from the ids",
            )

    @classmethod
    def concatenate(cls, states: Sequence[RecurrentState]) -> RecurrentState:
        """The rows of several states, concatenated."""
        hidden = zip(*(state.hidden for state in states), strict=True)
        joined = cls(tuple(torch.cat(tensors, 1) for tensors in hidden))
        joined.length = torch.cat([state.length for state in states])
        return joined

    def tensors(self) -> dict[str, Tensor]:
        """`hidden.0` (and `hidden.1`), `length`."""
        return {**{f"hidden.{i}": hidden for i, hidden in enumerate(self.hidden)}, "length": self.length}


def _without_fp16(device: torch.device) -> AbstractContextManager[None]:
    """Autocast to fp16 is off on a CPU: torch has no LSTM of fp16 on every CPU, and computes a GRU in fp32."""
    is_fp16 = device.type == "cpu" and torch.get_autocast_dtype("cpu") == torch.float16
    return torch.autocast("cpu", enabled=False) if is_fp16 else nullcontext()


class RNN(Model):
    """One of torch's stacked cells between embedding and head."""

    config: RecurrentConfig

    def __init__(self, config: ModelConfig) -> None:
        assert isinstance(config, RecurrentConfig)
        super().__init__(config)
        with torch.random.fork_rng(devices=[]):  # torch initialises the cells; `init.py` overwrites that
            self.cells = CELLS[config.arch](
                config.d_model,
                config.hidden_size,
                config.n_layers,
                batch_first=True,
                dropout=config.dropout if config.n_layers > 1 else 0.0,
            )
        self.out = Linear(config.hidden_size, config.d_model, bias=False)
        self.norm = RMSNorm(config.d_model)

    def embed_and_run(
        self, ids: Tensor, position_ids: Tensor | None, document_ids: Tensor | None, state: AnyState | None
    ) -> Tensor:
        """Embedding, cells and projection; positions have no effect."""
        assert state is None or isinstance(state, RecurrentState)
        if document_ids is not None:
            check_documents(document_ids, carried=state is not None)
        hidden: Any = None
        if state is not None:
            hidden = state.hidden if len(state.hidden) > 1 else state.hidden[0]
        x = self.embed(ids)
        with _without_fp16(x.device):
            x, hidden = self._run_cells(x, hidden)
        if state is not None:
            state.hidden = hidden if isinstance(hidden, tuple) else (hidden,)
            state.length = state.length + ids.shape[1]
        projected: Tensor = self.out(x)
        return projected

    def _run_cells(self, x: Tensor, hidden: Any) -> tuple[Tensor, Any]:
        """The cells; layer by layer where dropout has masks of its own, since theirs draw from torch's generator."""
        if not self.training or not self.cells.dropout or own_generator() is None:
            found: tuple[Tensor, Any] = self.cells(x, hidden)
            return found
        run = FUNCTIONS[self.config.arch]
        given = self.init_hidden(len(x), x.device) if hidden is None else hidden
        states = given if isinstance(given, tuple) else (given,)
        last: list[tuple[Tensor, ...]] = []
        for layer, weights in enumerate(self.cells.all_weights):
            x = dropout(x, self.cells.dropout) if layer else x
            own = tuple(state[layer : layer + 1] for state in states)
            x, *new = run(x, own if len(own) > 1 else own[0], weights, True, 1, 0.0, True, False, True)
            last.append(tuple(new))
        joined = tuple(torch.cat(parts) for parts in zip(*last, strict=True))
        return x, joined if len(joined) > 1 else joined[0]

    def init_hidden(self, batch_size: int, device: torch.device | str) -> tuple[Tensor, ...]:
        """Zeros [L, B, hidden_size]: one tensor, or h and c."""
        shape = (self.config.n_layers, batch_size, self.config.hidden_size)
        count = 2 if self.config.arch == "lstm" else 1
        return tuple(torch.zeros(shape, dtype=self.embed.weight.dtype, device=device) for _ in range(count))

    def bptt_state(self, hidden: tuple[Tensor, ...], continues: Tensor) -> RecurrentState:
        """See `Model`. The recurrence runs on across documents."""
        return RecurrentState(hidden)

    def init_state(self, batch_size: int, device: torch.device | str, capacity: int | None = None) -> RecurrentState:
        """The state of sequences without ids; `capacity` has no effect."""
        return RecurrentState(self.init_hidden(batch_size, device))

    def initial_value(self, name: str, parameter: Tensor, normal: Callable[[float], Tensor]) -> Tensor:
        """As in `Model`; weights of cells and projection are N(0, 1/inputs), forget gates of an LSTM start open."""
        if name.startswith(("cells.weight", "out.")):
            return normal(parameter.shape[1] ** -0.5)
        value = super().initial_value(name, parameter, normal)
        if name.startswith("cells.bias_ih") and self.config.arch == "lstm":
            value[self.config.hidden_size : 2 * self.config.hidden_size] = 1.0
        return value


def check_documents(document_ids: Tensor, *, carried: bool) -> None:
    """Refuses rows in which a recurrence would mix documents. Raises `InvalidInput`.

    With a carried state: any padding. Without: padding in front, or several documents.
    """
    padding = document_ids < 0
    if carried:
        wrong = padding
    else:
        wrong = (document_ids[:, 1:] != document_ids[:, :-1]) & ~padding[:, 1:]
        wrong = torch.cat([padding[:, :1], wrong], 1)
    rows = wrong.any(1).nonzero().flatten().tolist()
    if rows:
        raise InvalidInput(
            f"row {rows[0]} holds {'padding' if carried else 'several documents, or padding in front'}",
            limit="a recurrent model reads a row from its first position to its last",
            fix="pack with bucket (one document a row), or with a strategy that carries the state",
            rows=rows,
        )
