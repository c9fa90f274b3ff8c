"""`recall`, `sequence_nats` and `wilson`, each against its plain definition."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import slmmodel_tiny as tiny  # noqa: E402

from slmmodel.decoding_options import SamplingOptions  # noqa: E402
from slmmodel.errors import InvalidInput  # noqa: E402
from slmmodel.evaluation.retrieval import ignore_memory, recall, sequence_nats, wilson  # noqa: E402
from slmmodel.generation import generate  # noqa: E402


@pytest.mark.parametrize("name", ["llama", "gpt2", "infini", "lstm"])
def test_recall_is_greedy_generation_and_teacher_forcing(name):
    model = tiny.model(name)
    prompts = [tiny.ids(1, length, seed=length)[0].tolist() for length in (5, 9, 9, 12)]
    answers = [[3, 4, 5], [7, 8], [1, 2, 3], [9]]
    found = recall(model, prompts, answers, max_new_tokens=6)
    greedy = generate(model, prompts, SamplingOptions(temperature=0.0), max_new_tokens=6)
    assert [each.generated for each in found] == [sample.ids for sample in greedy]
    for prompt, answer, each in zip(prompts, answers, found, strict=True):
        logits = model(torch.tensor([prompt + answer])).logits[0, len(prompt) - 1 : -1]
        assert each.n_correct == sum(int(row.argmax()) == id for row, id in zip(logits, answer, strict=True))
    stopped = recall(model, prompts, answers, max_new_tokens=6, stop_ids={greedy[0].ids[2]})
    assert stopped[0].generated == greedy[0].ids[: greedy[0].ids.index(greedy[0].ids[2])]
    assert [each.n_correct for each in stopped] == [each.n_correct for each in found]
    true = [sample.ids[:3] for sample in greedy]
    assert [each.n_correct for each in recall(model, prompts, true, max_new_tokens=2)] == [3] * 4


def test_ignoring_the_memory_leaves_the_last_segment():
    """The logits are those of `memory: off` with equal weights, and differ from those with the memory."""
    model, ids = tiny.model("infini"), tiny.ids(2, tiny.SEQ_LEN)
    off = tiny.model("infini", memory="off", randomise=False)
    off.load_state_dict({name: value for name, value in model.state_dict().items() if not name.endswith("beta")})
    with torch.no_grad():
        before = model(ids).logits
        ignore_memory(model)
        assert torch.allclose(model(ids).logits, off(ids).logits, atol=1e-6)
        assert not torch.allclose(before, off(ids).logits, atol=1e-3)
    with pytest.raises(InvalidInput):
        ignore_memory(tiny.model("llama"))


@pytest.mark.parametrize("name", ["llama", "lstm"])
def test_nats_of_sequences_of_several_lengths(name):
    model = tiny.model(name)
    sequences = [tiny.ids(1, length, seed=length)[0].tolist() for length in (2, 7, 20)]
    for ids, nats in zip(sequences, sequence_nats(model, sequences), strict=True):
        with torch.no_grad():
            logp = torch.log_softmax(model(torch.tensor([ids[:-1]])).logits[0].double(), -1)
        alone = -sum(float(logp[at, id]) for at, id in enumerate(ids[1:]))
        assert nats == pytest.approx(alone, rel=1e-5)
    with pytest.raises(InvalidInput):
        sequence_nats(model, [[tiny.N_VOCAB, 1]])


@pytest.mark.parametrize(
    ("right", "n", "low", "high"),
    # Newcombe 1998, table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson(right, n, low, high):
    assert wilson(right, n) == pytest.approx((low, high), abs=1e-4)
    assert wilson(n - right, n) == pytest.approx((1 - high, 1 - low), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)
