"""Bits per byte: closed forms, the byte identity, windows by brute force, and no influence of batching."""

from __future__ import annotations

import math

import made_shards as made
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from stub_models import Context, Unigram  # noqa: E402

from slmmodel.data import ArraySource  # noqa: E402
from slmmodel.data.source import NoSuchBlockError  # noqa: E402
from slmmodel.errors import BytesDisagree, InvalidConfig, NotFinite  # noqa: E402
from slmmodel.evaluation.scoring import (  # noqa: E402
    score,
    scoring_windows,
)

VOCAB = made.vocab()


def byte_vocab():  # type: ignore[no-untyped-def]
    return made.vocab(n_vocab=272, byte_lengths=made.NBYTES[:272])


def text_source(*texts: bytes) -> ArraySource:
    return ArraySource([[1, *(16 + byte for byte in text), 2] for text in texts], [len(text) for text in texts])


def windows_of(pairs: int, seq_len: int, stride: int) -> list[tuple[int, int, int]]:
    """(start, first new, stop) of the windows of one document: the definition of `scoring_windows`."""
    out, end = [], 0
    while end < pairs:
        new = min(seq_len, pairs) if end == 0 else min(end + stride, pairs)
        out.append((max(0, new - seq_len), end, new))
        end = new
    return out


def test_uniform_over_the_bytes_is_exactly_eight() -> None:
    logits = torch.full((272,), -math.inf)
    logits[16:] = 0.0
    scores = score(
        Unigram(logits), text_source(b"Exactly eight bits.", b"", bytes(range(256))), byte_vocab(), seq_len=8
    )
    assert scores.bpb_content == 8.0
    assert scores.bpb_total == math.inf
    logits[:] = 0.0
    scores = score(Unigram(logits), text_source(b"abc"), byte_vocab(), seq_len=8)
    assert scores.bpb_total == pytest.approx(4 / 3 * math.log2(272), rel=1e-12)
    assert scores.bpb_content == pytest.approx(math.log2(272), rel=1e-12)


def test_logits_that_are_not_numbers() -> None:
    with pytest.raises(NotFinite, match="the loss of 4 of 4 targets is not a number"):
        score(Unigram(torch.full((272,), math.nan)), text_source(b"abc"), byte_vocab(), seq_len=8)


def test_unigram_model_pays_the_entropy() -> None:
    source = made.source([50, 0, 200, 3])
    targets = np.concatenate([source.ids(doc, 1, 10**6) for doc in range(source.n_docs)]).astype(np.int64)
    counts = np.bincount(targets, minlength=made.N_VOCAB)
    share = counts[counts > 0] / counts.sum()
    entropy = -float((share * np.log2(share)).sum())
    logits = torch.from_numpy(np.log(np.maximum(counts, 1e-30))).float()
    scores = score(Unigram(logits), source, VOCAB, seq_len=16)
    assert scores.bpb_total == pytest.approx(entropy * len(targets) / scores.n_bytes, rel=1e-6)
    assert (scores.n_targets, scores.n_docs) == (len(targets), 4)


def test_nats_by_hand() -> None:
    source, model = made.source([9, 0, 30]), Context(made.N_VOCAB)
    scores = score(model, source, VOCAB, seq_len=6, stride=2, batch_size=3)
    table = model.table.detach().double()
    at = 0
    for doc in range(3):
        ids = source.ids(doc, 0, 10**6).astype(np.int64).tolist()
        for start, new, stop in windows_of(len(ids) - 1, 6, 2):
            for pair in range(new, stop):
                logits = table[ids[start : pair + 1]].mean(0)
                expected = float(-torch.log_softmax(logits, 0)[ids[pair + 1]])
                assert scores.nats[at] == pytest.approx(expected, rel=1e-5)
                assert (scores.targets[at], scores.nbytes[at]) == (ids[pair + 1], made.NBYTES[ids[pair + 1]])
                at += 1
    assert at == scores.n_targets
    assert scores.doc_special_nats.tolist() == [scores.nats[scores.offsets[doc + 1] - 1] for doc in range(3)]
    assert scores.doc_content_nats.sum() + scores.doc_special_nats.sum() == pytest.approx(scores.nats.sum(), rel=1e-12)


def test_rows_of_a_pass_have_no_part_in_the_result() -> None:
    source, model = made.source([9, 0, 30, 100, 64, 1]), Context(made.N_VOCAB)
    one, many = (score(model, source, VOCAB, seq_len=16, batch_size=rows) for rows in (1, 50))
    assert one.bpb_total == pytest.approx(many.bpb_total, rel=1e-9)
    np.testing.assert_allclose(one.nats, many.nats, rtol=1e-5)


def test_windows_for_every_length_context_and_stride() -> None:
    for seq_len in range(1, 10):
        for stride in range(1, seq_len + 1):
            found = scoring_windows(np.arange(41), seq_len, stride)
            for pairs in range(41):
                mine = found.doc == pairs
                listed = list(zip(*(field[mine].tolist() for field in found[1:]), strict=True))
                assert listed == windows_of(pairs, seq_len, stride)
                scored = [pair for _, new, stop in listed for pair in range(new, stop)]
                assert scored == list(range(pairs))
                assert all(stop - start <= seq_len for start, _, stop in listed)
                assert all(new - start >= min(new, seq_len - stride) for start, new, _ in listed)


def test_a_falsified_length_is_refused() -> None:
    source = made.source([20, 20])
    lengths = list(made.NBYTES)
    lengths[int(source.ids(1, 5, 6)[0])] += 1
    model = Unigram(torch.zeros(made.N_VOCAB))
    with pytest.raises(BytesDisagree, match=r"document \d has \d+ bytes, but its scored ids have") as caught:
        score(model, source, made.vocab(specials={"bos": 1, "eos": 2}, byte_lengths=lengths), seq_len=8)
    assert caught.value.fields["scored"] != caught.value.fields["expected"]
    wrong = ArraySource(made.documents([20]), [int(source.nbytes()[0]) + 1])
    with pytest.raises(BytesDisagree, match="document 0"):
        score(model, wrong, VOCAB, seq_len=8)


def test_several_blocks_are_one_result() -> None:
    whole, parts = made.source([5, 9, 30]), [made.documents([5, 9, 30])[:2], made.documents([5, 9, 30])[2:]]

    class Split:
        digest = "2" * 64
        documents_digest = None
        n_blocks = None

        def block(self, index: int) -> ArraySource:
            if index > 1:
                raise NoSuchBlockError(index)
            return ArraySource(parts[index], [made.raw_bytes(doc) for doc in parts[index]])

    model = Context(made.N_VOCAB)
    one, two = score(model, whole, VOCAB, seq_len=8), score(model, Split(), VOCAB, seq_len=8)
    np.testing.assert_allclose(one.nats, two.nats, rtol=1e-6)
    assert one.offsets.tolist() == two.offsets.tolist()


def test_the_mode_comes_back_and_progress_ends_at_all() -> None:
    model = Unigram(torch.zeros(made.N_VOCAB))
    heard: list[tuple[int, int]] = []
    model.train()
    score(model, made.source([30, 5]), VOCAB, seq_len=8, progress=lambda *told: heard.append(told))
    assert model.training and heard[-1] == (37, 37)
    assert max(width for _, width in model.rows) == 8


def test_strides_that_leave_pairs_out() -> None:
    model = Unigram(torch.zeros(made.N_VOCAB))
    for seq_len, stride in ((8, 9), (8, 0), (0, None)):
        with pytest.raises(InvalidConfig):
            score(model, made.source([3]), VOCAB, seq_len=seq_len, stride=stride)


@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn"])
def test_a_carried_state_is_one_long_window(kind: str) -> None:
    from slmmodel.models import build, config_from_dict

    options = {"arch": kind, "n_vocab": made.N_VOCAB, "seq_len": 8, "d_model": 16, "hidden_size": 16, "n_layers": 2}
    model = build(config_from_dict(options), seed=1)
    source = made.source([30, 0, 7, 19, 8])
    whole = score(model, source, VOCAB, seq_len=64)
    for rows in (1, 2, 5):
        carried = score(model, source, VOCAB, seq_len=8, stateful=True, batch_size=rows)
        np.testing.assert_allclose(carried.nats, whole.nats, rtol=1e-4)
        assert carried.targets.tolist() == whole.targets.tolist()
