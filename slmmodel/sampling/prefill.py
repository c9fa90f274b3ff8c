"""Running prompts through a model into a state: rows of any lengths, any architecture.

Decoders take them in one batch with padding in front. Recurrent models cannot skip padding: they take one batch per
length, and the states are concatenated.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from slmmodel.errors import InvalidPrompt
from slmmodel.models.protocol import Model, Output, State


def device_of(model: Model) -> torch.device:
    """The device of the model's weights."""
    return model.embed.weight.device


def check_prompts(model: Model, prompts: Sequence[Sequence[int]]) -> None:
    """Raises `InvalidPrompt` for prompts without ids, with unknown ids, or longer than the model's seq_len."""
    config = model.config
    for row, prompt in enumerate(prompts):
        if not len(prompt):
            raise InvalidPrompt(f"prompt {row} has no ids", fix="start it with the id of the role bos")
        wrong = [id for id in prompt if not 0 <= id < config.n_vocab]
        if wrong:
            raise InvalidPrompt(
                f"prompt {row} has the id {wrong[0]}",
                limit=f"ids 0 to {config.n_vocab - 1}",
                fix="encode the prompt with the tokenizer of the run",
            )
        if len(prompt) > config.seq_len and not config.recurrent:
            raise InvalidPrompt(
                f"prompt {row} has {len(prompt)} ids", limit=f"seq_len {config.seq_len}", fix="shorten the prompt"
            )


def pad_left(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Rows that end in the same column: ids int64 [B, n], real bool [B, n]."""
    longest = max(map(len, rows))
    ids = torch.zeros(len(rows), longest, dtype=torch.int64)
    real = torch.zeros(len(rows), longest, dtype=torch.bool)
    for i, row in enumerate(rows):
        ids[i, longest - len(row) :] = torch.as_tensor(list(row), dtype=torch.int64)
        real[i, longest - len(row) :] = True
    return ids.to(device), real.to(device)


def prefill(model: Model, rows: Sequence[Sequence[int]], room: int) -> tuple[State, Tensor, list[Tensor]]:
    """Reads non-empty rows into one state with `room` more slots.

    Returns the state, the logits after the last id [B, V], and per row the hidden vectors of its ids [n, d].
    """
    if model.config.recurrent:
        return _prefill_by_length(model, rows)
    device = device_of(model)
    ids, real = pad_left(rows, device)
    state = model.init_state(len(rows), device, capacity=ids.shape[1] + room)
    ragged = len({len(row) for row in rows}) > 1
    out = model(ids, doc_id=real.int() - 1 if ragged else None, state=state, logits="last")
    return state, last(out), [out.hidden[i, ids.shape[1] - len(row) :] for i, row in enumerate(rows)]


def _prefill_by_length(model: Model, rows: Sequence[Sequence[int]]) -> tuple[State, Tensor, list[Tensor]]:
    from slmmodel.models.rnn import RecurrentState

    device = device_of(model)
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    states, logits, hidden = [], [], []
    for length in sorted({len(row) for row in rows}):
        group = torch.tensor([list(rows[i]) for i in order if len(rows[i]) == length], device=device)
        state = model.init_state(len(group), device)
        assert isinstance(state, RecurrentState)
        out = model(group, state=state, logits="last")
        states.append(state)
        logits.append(last(out))
        hidden += list(out.hidden)
    inverse = torch.tensor(sorted(range(len(rows)), key=lambda i: order[i]), device=device)
    joined = RecurrentState.joined(states)
    joined.reorder(inverse)
    return joined, torch.cat(logits)[inverse], [hidden[i] for i in inverse.tolist()]


def advance(model: Model, state: State, ids: Tensor) -> Output:
    """One more id per row: int64 [B]."""
    return model(ids[:, None], state=state, logits="last")


def last(out: Output) -> Tensor:
    """The logits [B, V] of a pass that asked for the last position."""
    assert out.logits is not None
    return out.logits[:, 0]
