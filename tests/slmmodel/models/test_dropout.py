"""Masks of dropout follow from the seed of a pass: code beside it that draws from torch's generator changes none."""

from __future__ import annotations

import threading

import pytest
import torch

from slmmodel.models import build, config_from_dict
from slmmodel.models.dropout import dropout_seed

SIZES = {"n_vocab": 60, "d_model": 16, "n_layers": 2, "seq_len": 12, "dropout": 0.3}
HEADS = {"n_heads": 4, "n_kv_heads": 2}
MODELS = {
    "llama": {"arch": "llama", **HEADS},
    "recomputed": {"arch": "llama", **HEADS, "activation_checkpointing": True},
    "window": {"arch": "llama", **HEADS, "window": 4},
    "gpt2": {"arch": "gpt2", "n_heads": 4},
    "infini": {"arch": "infini", **HEADS, "segment": 6},
    **{arch: {"arch": arch, "hidden_size": 16} for arch in ("lstm", "gru", "rnn")},
}
IDS = torch.arange(36).view(3, 12)


def passed(name, *, own=True, document_ids=None):
    """Logits and gradients of a pass with dropout, and the numbers that torch's generator gives after it."""
    model = build(config_from_dict({**SIZES, **MODELS[name]}), seed=1).train()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter.data, std=0.3, generator=torch.Generator().manual_seed(parameter.numel()))
    with dropout_seed(7, own=own):
        logits = model(IDS, document_ids=document_ids).logits
        logits.square().mean().backward()
    return [logits.detach(), *(each.grad for each in model.parameters() if each.grad is not None)]


@pytest.mark.parametrize("name", MODELS)
def test_masks_are_those_that_torch_draws(name):
    documents = [None] if name in ("lstm", "gru", "rnn") else [None, (IDS % 12) // 5]
    for document_ids in documents:
        found, expected = (passed(name, own=own, document_ids=document_ids) for own in (True, False))
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("name", MODELS)
def test_code_beside_a_pass_and_the_pass_change_no_number_of_each_other(name, monkeypatch):
    torch.manual_seed(3)
    expected, drawn = passed(name), torch.rand(4)
    forward = torch.nn.Module.__call__

    def drawing(module, *arguments, **keywords):
        torch.rand(3)
        return forward(module, *arguments, **keywords)

    monkeypatch.setattr(torch.nn.Module, "__call__", drawing)
    found = passed(name)
    assert all(map(torch.equal, found, expected))
    monkeypatch.undo()
    torch.manual_seed(3)
    assert torch.equal(torch.rand(4), drawn)


def test_passes_that_take_torchs_generator_wait_for_each_other():
    order = []

    def other():
        with dropout_seed(1, own=False):
            order.append("other")

    with dropout_seed(0, own=False):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(0.05)
        order.append("first")
    thread.join()
    assert order == ["first", "other"]


@pytest.mark.parametrize("name", ["lstm", "gru", "rnn"])
def test_a_recurrent_model_passes_in_fp16_on_a_cpu(name):
    """torch has no LSTM of fp16 on every CPU."""
    with torch.autocast("cpu", torch.float16):
        found = passed(name)
    for short, exact in zip(found, passed(name), strict=True):
        torch.testing.assert_close(short.float(), exact, rtol=0.05, atol=0.05)
