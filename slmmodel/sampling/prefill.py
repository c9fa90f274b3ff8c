"""Running prompts through a model into a state: rows of any lengths, any architecture.

Decoders take them in one batch with padding in front. Recurrent models cannot skip padding: they take one batch per
length, and the states are concatenated.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from slmmodel.errors import InvalidInput
from slmmodel.models.protocol import Model, Output, State
from slmmodel.models.rnn import RecurrentState


def device_of(model: Model) -> torch.device:
    """The device of the model's weights."""
    return model.embed.weight.device


def check_prompts(model: Model, prompts: Sequence[Sequence[int]]) -> None:
    """Raises `InvalidInput` for prompts without ids, with unknown ids, or longer than the model's seq_len."""
    config = model.config
    for row, prompt in enumerate(prompts):
        if not len(prompt):
            raise InvalidInput(f"prompt {row} has no ids", fix="start it with the id of the role bos")
        unknown = [id for id in prompt if not 0 <= id < config.n_vocab]
        if unknown:
            limit, fix = f"ids 0 to {config.n_vocab - 1}", "encode the prompt with the tokenizer of the run"
            raise InvalidInput(f"prompt {row} has the id {unknown[0]}", limit=limit, fix=fix)
        if len(prompt) > config.seq_len and not config.recurrent:
            limit = f"seq_len {config.seq_len}"
            raise InvalidInput(f"prompt {row} has {len(prompt)} ids", limit=limit, fix="shorten the prompt")


def pad_left(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Rows that end in the same column: ids int64 [B, n], real bool [B, n]."""
    width = max(map(len, rows))
    ids = torch.tensor([[0] * (width - len(row)) + list(row) for row in rows], device=device)
    lengths = torch.tensor([len(row) for row in rows], device=device)
    return ids, torch.arange(width, device=device) >= width - lengths[:, None]


def prefill(model: Model, rows: Sequence[Sequence[int]], max_new_tokens: int) -> tuple[State, Tensor, list[Tensor]]:
    """Reads non-empty rows into one state with room for `max_new_tokens` more.

    Returns the state, the logits after the last id [B, V], and per row the hidden vectors of its ids [n, d].
    """
    if model.config.recurrent:
        return _prefill_by_length(model, rows)
    ids, real = pad_left(rows, device_of(model))
    state = model.init_state(len(rows), ids.device, capacity=ids.shape[1] + max_new_tokens)
    doc_id = None if real.all() else real.int() - 1
    out = model(ids, doc_id=doc_id, state=state, logits="last")
    return state, last(out), [out.hidden[i, ids.shape[1] - len(row) :] for i, row in enumerate(rows)]


def _prefill_by_length(model: Model, rows: Sequence[Sequence[int]]) -> tuple[State, Tensor, list[Tensor]]:
    device, states, logits, hidden = device_of(model), [], [], []
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    for length in sorted({len(row) for row in rows}):
        ids = torch.tensor([list(rows[i]) for i in order if len(rows[i]) == length], device=device)
        state = model.init_state(len(ids), device)
        assert isinstance(state, RecurrentState)
        out = model(ids, state=state, logits="last")
        states.append(state)
        logits.append(last(out))
        hidden += list(out.hidden)
    inverse = torch.tensor(order, device=device).argsort()
    state = RecurrentState.concatenate(states)
    state.reorder(inverse)
    return state, torch.cat(logits)[inverse], [hidden[i] for i in inverse.tolist()]


def advance(model: Model, state: State, ids: Tensor) -> Output:
    """One more id per row: int64 [B]."""
    return model(ids[:, None], state=state, logits="last")


def last(out: Output) -> Tensor:
    """The logits [B, V] of a pass that asked for the last position."""
    assert out.logits is not None
    return out.logits[:, 0]
