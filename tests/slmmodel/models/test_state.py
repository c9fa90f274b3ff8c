"""Decoding with a state equals the full pass: at every length, in ragged batches, after every change of rows."""

from __future__ import annotations

import pytest
import torch
from slmmodel_tiny import SEQ_LEN, VARIANTS, config, ids, model
from torch import Tensor

from slmmodel.models import MODELS
from slmmodel.models.config import DecoderConfig, RecurrentConfig
from slmmodel.models.protocol import Model, State

EVERY = pytest.mark.parametrize("name", VARIANTS)
DECODERS = pytest.mark.parametrize("name", [n for n in VARIANTS if not MODELS[config(n).arch].config.recurrent])
ENDLESS = [name for name in VARIANTS if MODELS[config(name).arch].config.unbounded]


def logits(made: Model, given: Tensor, **options: Tensor | State | None) -> Tensor:
    out = made(given, **options).logits
    assert out is not None
    return out


@EVERY
@torch.inference_mode()
def test_steps_equal_the_whole_at_every_length(name: str) -> None:
    made, given = model(name), ids(2, SEQ_LEN)
    whole = logits(made, given)
    for first in range(1, SEQ_LEN):
        state = made.init_state(2, "cpu")
        torch.testing.assert_close(logits(made, given[:, :first], state=state), whole[:, :first])
        last = min(first + 4, SEQ_LEN)
        for slot in range(first, last):
            torch.testing.assert_close(logits(made, given[:, slot : slot + 1], state=state)[:, 0], whole[:, slot])
        assert state.length.tolist() == [last, last]
        if last < SEQ_LEN:
            torch.testing.assert_close(logits(made, given[:, last:], state=state), whole[:, last:])


@DECODERS
@torch.inference_mode()
def test_a_ragged_batch_equals_each_row_alone(name: str) -> None:
    made, lengths, more = model(name), [3, 9, 1, 6], 5
    rows = [ids(1, length + more, seed=length) for length in lengths]
    widest = max(lengths)
    given, document_ids = torch.zeros(4, widest, dtype=torch.int64), torch.full((4, widest), -1)
    for row, (length, alone) in enumerate(zip(lengths, rows, strict=True)):
        given[row, widest - length :], document_ids[row, widest - length :] = alone[0, :length], 0
    state = made.init_state(4, "cpu")
    out = [logits(made, given, document_ids=document_ids, state=state)[:, -1:]]
    assert state.length.tolist() == lengths
    for step in range(more):
        column = torch.stack([alone[0, length + step] for length, alone in zip(lengths, rows, strict=True)])[:, None]
        out.append(logits(made, column, state=state))
    together = torch.cat(out, 1)
    for row, (length, alone) in enumerate(zip(lengths, rows, strict=True)):
        torch.testing.assert_close(together[row], logits(made, alone)[0, length - 1 :], atol=1e-5, rtol=1e-5)


@EVERY
@torch.inference_mode()
def test_rows_are_reordered_and_repeated(name: str) -> None:
    made, given = model(name), ids(3, 8)
    state = made.init_state(3, "cpu")
    made(given[:, :5], state=state)
    state.repeat(2)
    torch.testing.assert_close(
        logits(made, given[:, 5:6].repeat_interleave(2, 0), state=state)[:, 0],
        logits(made, given[:, :6])[:, -1].repeat_interleave(2, 0),
    )
    state.reorder(torch.tensor([5, 0]))
    chosen = given[[2, 0]]
    torch.testing.assert_close(logits(made, chosen[:, 6:7], state=state)[:, 0], logits(made, chosen[:, :7])[:, -1])
    state.reorder(torch.tensor([1, 1]))
    again = given[[0, 0]]
    torch.testing.assert_close(logits(made, again[:, 7:8], state=state)[:, 0], logits(made, again)[:, -1])
    assert state.length.tolist() == [8, 8]


@pytest.mark.parametrize("name", [name for name in VARIANTS if name not in ENDLESS])
@torch.inference_mode()
def test_truncating_is_exact(name: str) -> None:
    made, given = model(name), ids(2, 9)
    state = made.init_state(2, "cpu")
    made(given, state=state)
    for length in (9, 6, 1, 0):
        state.truncate(length)
        assert state.length.tolist() == [length] * 2
        torch.testing.assert_close(
            logits(made, given[:, length : length + 2], state=state), logits(made, given[:, : length + 2])[:, length:]
        ) if length < 9 else None


@torch.inference_mode()
@pytest.mark.parametrize("window", [None, 3])
def test_truncating_ragged_rows(window: int | None) -> None:
    """Also with a sliding window, which must not count columns of ids that were dropped."""
    made = model("llama", window=window)
    short, long = ids(1, 4, seed=1), ids(1, 7, seed=2)
    given = torch.cat([torch.cat([torch.zeros(1, 3, dtype=torch.int64), short], 1), long])
    document_ids = torch.tensor([[-1, -1, -1, 0, 0, 0, 0], [0] * 7])
    for length in (6, 4, 2):
        state = made.init_state(2, "cpu")
        made(given, document_ids=document_ids, state=state)
        state.truncate(length)
        assert state.length.tolist() == [min(4, length), length]
        out = logits(made, torch.tensor([[5], [6]]), state=state)[:, 0]
        for row, alone in enumerate((short[:, :length], long[:, :length])):
            extended = torch.cat([alone, torch.tensor([[5 + row]])], 1)
            torch.testing.assert_close(out[row], logits(made, extended)[0, -1], atol=1e-5, rtol=1e-5)


@torch.inference_mode()
def test_a_packed_prompt_in_a_cache_stays_isolated() -> None:
    made, given = model("llama"), ids(1, 8)
    document_ids = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 1]])
    position_ids = torch.tensor([[0, 1, 2, 0, 1, 2, 3, 4]])
    whole = logits(made, given, document_ids=document_ids, position_ids=position_ids)
    state = made.init_state(1, "cpu")
    made(given[:, :6], document_ids=document_ids[:, :6], position_ids=position_ids[:, :6], state=state)
    rest = logits(made, given[:, 6:], position_ids=position_ids[:, 6:], state=state)
    torch.testing.assert_close(rest, whole[:, 6:])


@pytest.mark.parametrize("name", [name for name in VARIANTS if not name.startswith("infini")])
def test_the_size_of_a_state_is_the_sum_of_its_tensors(name: str) -> None:
    made = model(name)
    state = made.init_state(3, "cpu", capacity=10)
    config = made.config
    if isinstance(config, RecurrentConfig):
        parts = 2 if config.arch == "lstm" else 1
        assert state.nbytes() == parts * config.n_layers * 3 * config.hidden_size * 4 + 3 * 8
    else:
        assert isinstance(config, DecoderConfig)
        assert state.nbytes() == config.n_layers * 2 * 3 * config.n_kv_heads * 10 * config.head_dim * 4 + 3 * 8


@pytest.mark.parametrize("name", ["lstm", "gru", "rnn"])
def test_a_carried_state_passes_gradients_within_a_step_alone(name: str) -> None:
    made, given = model(name), ids(2, 6)
    hidden = made.init_state(2, "cpu")
    made(given[:, :3], state=hidden)
    assert hidden.tensors()["hidden.0"].requires_grad
    hidden.hidden = tuple(part.detach() for part in hidden.hidden)  # type: ignore[attr-defined]
    torch.testing.assert_close(logits(made, given[:, 3:], state=hidden), logits(made, given)[:, 3:])
