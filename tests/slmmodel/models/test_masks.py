"""Packed rows equal single documents, documents are isolated bitwise, padding has no influence, windows are exact."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from slmmodel_tiny import N_VOCAB, ids, model
from torch import Tensor
from torch.nn.functional import cross_entropy

from slmmodel.models import attention
from slmmodel.models.protocol import Model

DECODERS = pytest.mark.parametrize("name", ["llama", "llama-plain", "llama-relu2", "llama-window", "gpt2", "gpt2-bias"])
LENGTHS = (5, 1, 7, 3)
SLOTS = 20  # four of them padding


def packed() -> tuple[Tensor, Tensor, Tensor]:
    """Two rows of the same lengths: ids, documents, position_ids."""
    document_ids = torch.full((2, SLOTS), -1, dtype=torch.int32)
    position_ids = torch.zeros(2, SLOTS, dtype=torch.int64)
    at = 0
    for number, length in enumerate(LENGTHS):
        document_ids[:, at : at + length] = number
        position_ids[:, at : at + length] = torch.arange(length)
        at += length
    return ids(2, SLOTS), document_ids, position_ids


def documents(document_ids: Tensor) -> list[tuple[int, slice]]:
    starts = [sum(LENGTHS[:n]) for n in range(len(LENGTHS))]
    return [(row, slice(at, at + n)) for row in range(2) for at, n in zip(starts, LENGTHS, strict=True)]


def total(made: Model, given: Tensor, targets: Tensor, **options: Tensor) -> Tensor:
    logits = made(given, **options).logits
    assert logits is not None
    return cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum", ignore_index=-1)


@DECODERS
def test_packed_equals_alone_in_logits_and_gradients(name: str) -> None:
    given, document_ids, position_ids = packed()
    targets = torch.where(document_ids >= 0, ids(2, SLOTS, seed=1), -1)
    together, apart = model(name), model(name)
    logits = together(given, document_ids=document_ids, position_ids=position_ids).logits
    assert logits is not None
    total(together, given, targets, document_ids=document_ids, position_ids=position_ids).backward()
    for row, span in documents(document_ids):
        alone = apart(given[row : row + 1, span]).logits
        assert alone is not None
        torch.testing.assert_close(logits[row, span], alone[0], atol=1e-5, rtol=1e-5)
        total(apart, given[row : row + 1, span], targets[row : row + 1, span]).backward()
    for (key, one), other in zip(together.named_parameters(), apart.parameters(), strict=True):
        assert one.grad is not None and other.grad is not None, key
        torch.testing.assert_close(one.grad, other.grad, atol=1e-5, rtol=1e-4, msg=lambda text, key=key: key + text)


@DECODERS
@torch.inference_mode()
def test_documents_are_isolated_bitwise(name: str) -> None:
    given, document_ids, position_ids = packed()
    made = model(name)
    before = made(given, document_ids=document_ids, position_ids=position_ids).logits
    assert before is not None
    for slot in (2, 5, 8, SLOTS - 1):
        changed = given.clone()
        changed[:, slot] = (changed[:, slot] + 1) % N_VOCAB
        after = made(changed, document_ids=document_ids, position_ids=position_ids).logits
        assert after is not None
        untouched = (document_ids != document_ids[:, slot : slot + 1]) | (torch.arange(SLOTS) < slot)
        assert torch.equal(after[untouched], before[untouched])
        assert not torch.equal(after[:, slot], before[:, slot])


@DECODERS
def test_a_row_of_one_document_needs_no_mask(name: str) -> None:
    given = ids(2, 9)
    made = model(name)
    plain, masked = made(given).logits, made(given, document_ids=torch.zeros(2, 9, dtype=torch.int32)).logits
    torch.testing.assert_close(plain, masked)


@pytest.mark.parametrize("window", [None, 3])
def test_the_dense_mask_equals_its_definition(window: int | None) -> None:
    given, document_ids, _ = packed()
    mask = attention.make_mask(document_ids, window, given, dtype=torch.bfloat16)
    assert isinstance(mask, Tensor) and mask.dtype == torch.bool
    for b in range(2):
        for i in range(SLOTS):
            for j in range(SLOTS):
                same = int(document_ids[b, i]) == int(document_ids[b, j]) >= 0
                assert bool(mask[b, 0, i, j]) == ((i - (window or SLOTS) < j <= i and same) or i == j)


@torch.inference_mode()
def test_a_window_limits_what_a_position_sees() -> None:
    """With L layers of window w a position depends on the L (w - 1) ones before it, and on no earlier one."""
    made, given = model("llama-window"), ids(1, 20)
    before = made(given).hidden
    for slot in (0, 5):
        changed = given.clone()
        changed[0, slot] = (changed[0, slot] + 1) % N_VOCAB
        after = made(changed).hidden
        differs = (after != before).any(-1)[0].nonzero().flatten().tolist()
        assert differs == list(range(slot, slot + 2 * 3 + 1))
    assert torch.equal(model("llama-window", window=20)(given).hidden, model("llama")(given).hidden)


def test_one_mask_per_pass_for_all_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    real = attention.evaluate

    def spy(*given: Any) -> Tensor:
        calls.append(given)
        return real(*given)

    monkeypatch.setattr(attention, "evaluate", spy)
    given, document_ids, position_ids = packed()
    model("llama", n_layers=5)(given, document_ids=document_ids, position_ids=position_ids)
    assert len(calls) == 1
    model("llama", n_layers=5)(given)
    assert len(calls) == 1


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@torch.inference_mode()
def test_flex_attention_equals_the_dense_mask() -> None:
    """Uncompiled, as on every machine; the compiled form is for CUDA."""
    given, document_ids, position_ids = packed()
    for name in ("llama", "llama-window"):
        dense = model(name)(given, document_ids=document_ids, position_ids=position_ids).logits
        flexible = model(name, attention="flex")(given, document_ids=document_ids, position_ids=position_ids).logits
        torch.testing.assert_close(dense, flexible, atol=1e-5, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@torch.inference_mode()
def test_dropout_of_attention_is_applied_with_every_backend() -> None:
    given, document_ids, position_ids = packed()
    out = []
    for backend in ("sdpa", "flex"):
        torch.manual_seed(0)
        made = model("llama", attention=backend, dropout=0.5).train()
        out.append(made(given, document_ids=document_ids, position_ids=position_ids).hidden)
    assert torch.equal(*out)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_flex_attention_on_cuda_equals_the_dense_mask() -> None:
    assert attention.flex_works(torch.device("cuda"))
    given, document_ids, position_ids = (part.cuda() for part in packed())
    out = [
        model("llama", attention=backend).cuda()(given, document_ids=document_ids, position_ids=position_ids).logits
        for backend in ("sdpa", "flex")
    ]
    torch.testing.assert_close(out[0], out[1], atol=1e-3, rtol=1e-3)


@DECODERS
def test_activation_checkpointing_changes_no_gradient(name: str) -> None:
    given, document_ids, position_ids = packed()
    grads = []
    for enabled in (False, True):
        made = model(name, activation_checkpointing=enabled).train()
        total(made, given, given, document_ids=document_ids, position_ids=position_ids).backward()
        grads.append([p.grad for p in made.parameters()])
    assert all(
        torch.equal(one, other) for one, other in zip(*grads, strict=True) if one is not None and other is not None
    )


def test_dropout_is_active_in_training_alone() -> None:
    given = ids(2, 9)
    made = model("llama", dropout=0.5)
    assert torch.equal(made(given).hidden, made(given).hidden)
    made.train()
    torch.manual_seed(1)
    first = made(given).hidden
    assert not torch.equal(first, made(given).hidden)
    torch.manual_seed(1)
    assert torch.equal(first, made(given).hidden)
