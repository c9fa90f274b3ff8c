"""Running prompts through a model into a state: rows of any lengths, any architecture.

Decoders take them in one batch with padding in front. Recurrent models cannot skip padding: they take adjacent rows of
one length as a batch, and the states are concatenated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import torch
from torch import Tensor

from slmmodel.checks import check_ids, path_of, refuse_masked
from slmmodel.errors import Argument, InvalidInput, NotFinite, WrongType
from slmmodel.models.protocol import Model, State
from slmmodel.models.rnn import RecurrentState
from slmmodel.sampling import StepContext

MAX_SHOWN_IDS = 40
"""Ids of a prompt that a fix repeats."""
PIECE_IDS = 4096
"""Ids of a prompt that a model without a context limit reads at a time: fewer hidden vectors are held at once."""


def _check_types(model: object, prompts: object) -> None:
    """Raises `WrongType` for a run in place of its model, and for one prompt in place of several."""
    if not hasattr(model, "init_state"):
        fix = f"slmmodel.load({repr(path_of(model)) if path_of(model) else 'PATH'}).model"
        raise WrongType(f"model is a {type(model).__name__}, not a model", fix=fix)
    refuse_masked(prompts)
    rows = prompts.tolist() if hasattr(prompts, "tolist") else prompts
    if isinstance(rows, str) or not isinstance(rows, Iterable):
        raise WrongType(f"prompts are rows of ids, not a {type(prompts).__name__}", fix="[[1, 300, 301]]")
    if rows and not any(isinstance(row, Iterable) for row in rows):
        ids = check_ids(rows)
        shown = ids if len(ids) <= MAX_SHOWN_IDS else "ids"
        raise WrongType("prompts is one row of ids", limit="a list of rows", fix=f"[{shown}]")
    for row in rows:
        check_ids(row)


def check_prompts(model: Model, prompts: Sequence[Sequence[int]]) -> None:
    """Raises `InvalidInput` for prompts without ids, with unknown ids, or longer than seq_len; `WrongType`."""
    _check_types(model, prompts)
    config = model.config
    is_one = all(prompt == prompts[0] for prompt in prompts[1:])
    for row, prompt in enumerate(prompts):
        name = "the prompt" if is_one else f"prompt {row}"
        if not len(prompt):
            fix = "[run.vocab.special('bos')] begins a document of the run; or ids of a text"
            raise InvalidInput(f"{name} has no ids", fix=fix)
        unknown = [id for id in prompt if not 0 <= id < config.n_vocab]
        if unknown:
            limit, fix = f"ids 0 to {config.n_vocab - 1}", "encode the prompt with the tokenizer of the run"
            raise InvalidInput(f"{name} has the id {unknown[0]}", limit=limit, fix=fix)
        if len(prompt) > config.max_context:
            limit, excess = f"seq_len {config.seq_len}", int(len(prompt) - config.max_context)
            fix = f"shorten it by {excess:,} ids or more"
            raise InvalidInput(f"{name} has {len(prompt):,} ids", limit=limit, fix=fix)


def length_limit(model: Model, prompt: Sequence[int], wanted: int) -> tuple[int, str]:
    """How many ids can follow a prompt, and why the text ends there: `length`, or `context` for the model's seq_len.

    Raises what `check_prompts` raises.
    """
    check_prompts(model, [prompt])
    limit = min(wanted, model.config.max_context - len(prompt) + 1)
    return limit, "length" if limit == wanted else "context"


def pad_left(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Rows that end in the same column: ids int64 [B, n], attention_mask bool [B, n]."""
    width = max(map(len, rows))
    ids = torch.tensor([[0] * (width - len(row)) + list(row) for row in rows], device=device)
    lengths = torch.tensor([len(row) for row in rows], device=device)
    return ids, torch.arange(width, device=device) >= width - lengths[:, None]


def start_context(rows: Sequence[Sequence[int]], n_generated: int, sample_numbers: Tensor) -> StepContext:
    """The context of rows [B] whose last `n_generated` ids are generated; `sample_numbers`: int64 [B]."""
    history, attention_mask = pad_left(rows, sample_numbers.device)
    return StepContext(history, attention_mask, history.shape[1] - n_generated, sample_numbers)


def next_log_probabilities(model: Model, ids: Sequence[int]) -> Tensor:
    """Log-probabilities of the id after these, float64 [V] on the CPU. Raises what `check_prompts` raises."""
    check_prompts(model, [ids])
    with torch.inference_mode():
        _, logits = prefill(model, [ids], 0)
        return torch.log_softmax(logits[0].double(), 0).cpu()


def prefill(model: Model, rows: Sequence[Sequence[int]], max_new_tokens: int) -> tuple[State, Tensor]:
    """Reads non-empty rows into one state with room for `max_new_tokens` more.

    Returns the state, and the logits after the last id [B, V].
    """
    states, logits = list[Any](), list[Tensor]()
    for batch in [list(group) for _, group in groupby(rows, len)] if model.config.recurrent else [rows]:
        ids, attention_mask = pad_left(batch, model.embed.weight.device)
        states.append(model.init_state(len(batch), ids.device, capacity=ids.shape[1] + max_new_tokens))
        # One document a row, number 0, and -1 for padding.
        document_ids = None if attention_mask.all() else attention_mask.int() - 1
        logits.append(read_prompts(model, states[-1], ids, document_ids))
    state = RecurrentState.concatenate(states) if model.config.recurrent else states[0]
    return state, torch.cat(logits)


def read_prompts(model: Model, state: State, ids: Tensor, document_ids: Tensor | None = None) -> Tensor:
    """Reads ids [B, T] into a state; the logits after the last of them, [B, V]."""
    # Rows with padding would end in different columns of a segment.
    is_divided = model.config.unbounded and document_ids is None
    step = PIECE_IDS if is_divided else ids.shape[1]
    for start in range(0, ids.shape[1], step):
        logits, _ = read(model, state, ids[:, start : start + step], document_ids)
    return logits


def advance(model: Model, state: State, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Reads one more id per row, int64 [B]. Returns the next logits [B, V] and the hidden vectors [B, d]."""
    logits, hidden = read(model, state, ids[:, None])
    return logits, hidden[:, 0]


def read(model: Model, state: State, ids: Tensor, document_ids: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The logits after the last of ids [B, T], [B, V], and the hidden vectors of all [B, T, d]."""
    out = model(ids, document_ids=document_ids, state=state, logits="last")
    assert out.logits is not None
    check_logits(out.logits)
    return out.logits[:, 0], out.hidden


def check_logits(logits: Tensor) -> None:
    """Raises `NotFinite` for logits [..., V] without a distribution, from which an id outside of it would be drawn."""
    if not logits.amax(-1).isfinite().all():
        fix = ("an earlier checkpoint, by ", Argument("step"), "; or train again with a lower optim.lr")
        raise NotFinite("the logits of the model are not finite", limit="the largest of each is a number", fix=fix)
