"""Reading prompts into a state: rows of any lengths, whatever the kind of model.

Decoders take them side by side with padding in front; recurrent models, which cannot skip padding, by groups of one
length, whose states are then joined.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from slmmodel.errors import InvalidPrompt
from slmmodel.models import MODELS
from slmmodel.models.protocol import Model, Output, State
from slmmodel.models.recurrent import RecurrentState


def device_of(model: Model) -> torch.device:
    """Where the model's weights are."""
    return model.embed.weight.device


def check_prompts(model: Model, prompts: Sequence[Sequence[int]]) -> None:
    """Refuses prompts without ids, with ids that the model does not have, or longer than its context."""
    config = model.config
    for row, prompt in enumerate(prompts):
        if not len(prompt):
            raise InvalidPrompt(f"prompt {row} has no ids", fix="begin with the id of the role bos")
        wrong = [id for id in prompt if not 0 <= id < config.n_vocab]
        if wrong:
            raise InvalidPrompt(
                f"prompt {row} has the id {wrong[0]}",
                limit=f"ids 0 to {config.n_vocab - 1}",
                fix="encode the prompt with the tokenizer of the run",
            )
        if len(prompt) > config.context and not MODELS[config.kind].recurrent:
            raise InvalidPrompt(
                f"prompt {row} has {len(prompt)} ids", limit=f"context {config.context}", fix="shorten it"
            )


def side_by_side(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Rows ending in the same column: ids int64 [B,n], real bool [B,n]."""
    widest = max(map(len, rows))
    ids = torch.zeros(len(rows), widest, dtype=torch.int64)
    real = torch.zeros(len(rows), widest, dtype=torch.bool)
    for at, row in enumerate(rows):
        ids[at, widest - len(row) :] = torch.as_tensor(list(row), dtype=torch.int64)
        real[at, widest - len(row) :] = True
    return ids.to(device), real.to(device)


def prefill(model: Model, rows: Sequence[Sequence[int]], room: int) -> tuple[State, Tensor, list[Tensor]]:
    """Reads each row, not empty, into one state with `room` more slots.

    Returns the state, the logits after the last id [B,V], and of each row the hidden vectors of its ids [n,d].
    """
    if MODELS[model.config.kind].recurrent:
        return _by_length(model, rows)
    device = device_of(model)
    ids, real = side_by_side(rows, device)
    state = model.init_state(len(rows), device, capacity=ids.shape[1] + room)
    ragged = len({len(row) for row in rows}) > 1
    doc_id = real.int() - 1 if ragged else None
    out = model(ids, doc_id=doc_id, state=state, logits="last")
    return state, last(out), [out.hidden[at, ids.shape[1] - len(row) :] for at, row in enumerate(rows)]


def _by_length(model: Model, rows: Sequence[Sequence[int]]) -> tuple[State, Tensor, list[Tensor]]:
    device = device_of(model)
    order = sorted(range(len(rows)), key=lambda at: len(rows[at]))
    states, logits, hidden = [], [], []
    for length in sorted({len(row) for row in rows}):
        group = torch.tensor([list(rows[at]) for at in order if len(rows[at]) == length], device=device)
        state = model.init_state(len(group), device)
        assert isinstance(state, RecurrentState)
        out = model(group, state=state, logits="last")
        states.append(state)
        logits.append(last(out))
        hidden += list(out.hidden)
    back = torch.tensor(sorted(range(len(rows)), key=lambda at: order[at]), device=device)
    whole = RecurrentState.joined(states)
    whole.reorder(back)
    return whole, torch.cat(logits)[back], [hidden[at] for at in back.tolist()]


def advance(model: Model, state: State, ids: Tensor) -> Output:
    """One more id for each row: int64 [B]."""
    return model(ids[:, None], state=state, logits="last")


def last(out: Output) -> Tensor:
    """The logits [B,V] of a pass that asked for the last slot."""
    assert out.logits is not None
    return out.logits[:, 0]
