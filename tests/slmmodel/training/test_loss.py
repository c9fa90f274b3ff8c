"""The loss: a sum of nats over scored targets, equal in one piece, in chunks, and by hand."""

from __future__ import annotations

import math

import made_shards as made
import numpy as np
import pytest
import torch

from slmmodel.data import make_batch, make_packing
from slmmodel.data.source import NoSuchBlockError
from slmmodel.models import build, config_from_dict
from slmmodel.training.loss import Loss, Validator


def batch(sizes, context, **options):
    block = made.source(sizes)
    packing = make_packing("concat", block.lengths(), context, shuffle=False, **options)
    return make_batch(block, packing, made.vocab(), np.arange(len(packing)))


def model(**changes):
    table = {
        "arch": "llama",
        "n_vocab": 300,
        "seq_len": 16,
        "n_layers": 1,
        "d_model": 16,
        "n_heads": 2,
        "n_kv_heads": 2,
    }
    return build(config_from_dict({**table, "d_ff": 32, **changes}), seed=3)


@pytest.mark.parametrize("sizes", [[40], [5, 9, 3]])
def test_sum_by_hand(sizes):
    rows, net = batch(sizes, 16), model()
    loss = Loss().sum_nats(net, rows)
    logits = (
        net(rows.ids, document_ids=rows.document_ids, position_ids=rows.position_ids)
        .logits.detach()
        .double()
        .log_softmax(-1)
    )
    expected = 0.0
    for row in range(rows.ids.shape[0]):
        for slot in range(rows.ids.shape[1]):
            if rows.target_mask[row, slot]:
                expected -= float(logits[row, slot, rows.targets[row, slot]])
    assert float(loss.detach()) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("tie_embeddings", [True, False])
def test_chunks_change_nothing(tie_embeddings):
    rows = batch([40, 7, 30], 16)
    found = []
    for most in (1 << 28, 300 * 5, 1):
        net = model(tie_embeddings=tie_embeddings, softcap=15.0).double()
        if not tie_embeddings:
            torch.nn.init.normal_(net.head.weight, generator=torch.Generator().manual_seed(0))
        loss = Loss(max_logits=most).sum_nats(net, rows)
        loss.backward()
        found.append((loss.detach(), [parameter.grad for parameter in net.parameters()]))
    for loss, gradients in found[1:]:
        torch.testing.assert_close(loss, found[0][0], rtol=1e-12, atol=0)
        for gradient, expected in zip(gradients, found[0][1], strict=True):
            torch.testing.assert_close(gradient, expected, rtol=1e-9, atol=1e-12)


def test_uniform_model_scores_the_logarithm_of_its_ids():
    net = model(tie_embeddings=False)
    rows = batch([33], 16)
    assert float(Loss().sum_nats(net, rows).detach()) == pytest.approx(rows.n_targets * math.log(300), rel=1e-6)


def test_without_the_mask_documents_see_each_other():
    rows, net = batch([5, 9, 3], 16), model()
    with torch.no_grad():
        assert float(Loss().sum_nats(net, rows)) != float(Loss(doc_mask=False).sum_nats(net, rows))


@pytest.mark.parametrize("positions", ["row", "reset", "true"])
def test_the_model_gets_the_positions_of_joined_documents(positions):
    block, net = made.source([5, 3, 12]), model()
    packing = make_packing("stream", block.lengths(), 16, shuffle=False, joined=True, stride=16)
    rows = make_batch(block, packing, made.vocab(), np.arange(1), positions=positions)
    with torch.no_grad():
        logits = net(rows.ids, document_ids=rows.document_ids, position_ids=rows.position_ids).logits
        labels = rows.targets.masked_fill(~rows.target_mask, -100)
        expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum")
        assert float(Loss().sum_nats(net, rows)) == pytest.approx(float(expected), rel=1e-6)


@pytest.mark.parametrize(
    ("trained", "keep_count", "times", "targets"),
    [(1e9, False, 10, 1 << 21), (60_000, False, 6, 3000), (1000, False, 1, 300), (1000, True, 10, 30)],
)
def test_validation_takes_at_most_a_tenth_of_the_run(trained, keep_count, times, targets):
    """3,000 targets are validated: a third of the operations of training on as many."""

    class Source:
        n_blocks = 1

        def block(self, index):
            if index:
                raise NoSuchBlockError(index)
            return type("Block", (), {"lengths": lambda self: np.full(30, 100)})()

    validator = Validator(Source(), None, 16)
    bounded, count = validator.limited_to_share(trained, keep_count=keep_count)
    assert (count, min(bounded.max_targets, 1 << 21)) == (times, targets)
