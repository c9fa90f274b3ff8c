"""Infini-attention: against a plain reference, isolation of documents, decoding at every length, constant state."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import infini_reference as reference
import numpy as np
import pytest
import torch
from slmmodel_tiny import N_VOCAB, config, ids, model
from torch import Tensor
from torch.nn.functional import cross_entropy

from slmmodel.errors import InvalidConfig, InvalidInput
from slmmodel.models import build, config_from_dict, count
from slmmodel.models.infini import GATE_FUNCTIONS, InfiniState, Memory, feature_map
from slmmodel.models.presets import PRESETS
from slmmodel.models.protocol import Model

S = 5
DOCUMENTS = [0] * 7 + [1] * 2 + [2] * 12 + [3] * 2
"""Borders inside segments of 5, a document within one segment, one over three."""
KINDS: dict[str, dict[str, Any]] = {
    "delta": {},
    "linear": {"memory": "linear"},
    "off": {"memory": "off"},
    "continue": {"positions": "continue"},
    "all heads": {"n_kv_heads": 4, "memory": "linear", "qk_norm": False},
    "one kv head": {"n_kv_heads": 1},
    "hard_sigmoid": {"gate": "hard_sigmoid"},
    "tanh": {"gate": "tanh", "positions": "continue", "memory": "linear"},
    "tanh_abs": {"gate": "tanh_abs", "gate_init": "randn"},
}
EVERY = pytest.mark.parametrize("kind", KINDS)


def made(kind: str, **more: Any) -> Model:
    return model("infini", **KINDS[kind], **more)


def logits(of: Model, given: Tensor, **options: Any) -> Tensor:
    out = of(given, **options).logits
    assert out is not None
    return out


def packed() -> tuple[Tensor, Tensor, Tensor]:
    """One row of four documents: ids, documents, positions within each."""
    documents = torch.tensor([DOCUMENTS])
    positions = torch.cat([torch.arange(DOCUMENTS.count(n)) for n in range(4)])[None]
    return ids(1, len(DOCUMENTS)), documents, positions


@EVERY
@pytest.mark.parametrize("documents", ["one", "several"])
def test_logits_and_gradients_equal_the_reference(kind: str, documents: str) -> None:
    """fp64: logits to 1e-9; derivatives of each parameter to 1e-6, by central differences.

    Each along a random direction with as much of the gradient itself, so that the derivative is not small by chance.
    """
    wide = made(kind).double()
    given, of, positions = packed()
    options = {} if documents == "one" else {"document_ids": of, "position_ids": positions}
    where = ([0] * given.shape[1], range(given.shape[1])) if documents == "one" else (DOCUMENTS, positions[0].tolist())
    parameters = {name: value.detach().numpy() for name, value in wide.named_parameters()}
    table, row = wide.config.model_dump(), given[0].numpy()
    out = logits(wide, given, **options)
    np.testing.assert_allclose(out.detach()[0].numpy(), reference.logits(parameters, table, row, *where), atol=1e-9)
    cross_entropy(out[0, :-1], given[0, 1:], reduction="sum").backward()
    random = np.random.default_rng(0)
    for name, value in wide.named_parameters():
        assert value.grad is not None, name
        gradient, noise = value.grad.numpy(), random.standard_normal(value.shape)
        direction = noise / np.linalg.norm(noise) + gradient / np.linalg.norm(gradient)
        sides = []
        for step in (1e-5, -1e-5):
            moved = {**parameters, name: parameters[name] + step * direction}
            sides.append(reference.nats(moved, table, row, *where))
        expected = (sides[0] - sides[1]) / 2e-5
        assert float((gradient * direction).sum()) == pytest.approx(expected, rel=1e-6), name


@pytest.mark.parametrize("length", [1, 4, S])
@pytest.mark.parametrize("kind", ["delta", "linear", "off", "continue"])
def test_rows_of_one_segment_are_those_of_the_plain_model(kind: str, length: int) -> None:
    """Bitwise, whatever the gates."""
    own = made(kind)
    plain = build(config("llama"), seed=None).eval()
    plain.load_state_dict({name: value for name, value in own.state_dict().items() if "beta" not in name})
    given = ids(3, length)
    assert torch.equal(logits(own, given), logits(plain, given))
    documents = torch.tensor([[0] * length, [0] * length, [0] * (length - 1) + [-1]])
    real = documents >= 0
    both = [logits(each, given, document_ids=documents)[real] for each in (own, plain)]
    assert torch.equal(*both)


@EVERY
@torch.inference_mode()
def test_a_position_has_no_effect_on_earlier_ones(kind: str) -> None:
    """Bitwise, for a position in every segment."""
    own, given = made(kind), ids(2, 4 * S + 2)
    before = logits(own, given)
    for position in range(0, given.shape[1], 3):
        changed = given.clone()
        changed[0, position] = (changed[0, position] + 1) % N_VOCAB
        after = logits(own, changed)
        assert torch.equal(after[0, :position], before[0, :position])
        assert torch.equal(after[1], before[1])
        differs = (after[0] != before[0]).any(-1).nonzero().flatten().tolist()
        reach = given.shape[1] if own.config.memory != "off" else (position // S + 1) * S  # type: ignore[attr-defined]
        assert differs[0] == position and differs[-1] >= min(reach, given.shape[1]) - 1


@EVERY
@torch.inference_mode()
def test_documents_are_isolated(kind: str) -> None:
    """Bitwise, across borders inside segments; ids of a document reach its later segments."""
    own = made(kind)
    given, documents, positions = packed()
    options = {"document_ids": documents, "position_ids": positions}
    before = logits(own, given, **options)
    for position in range(given.shape[1]):
        changed = given.clone()
        changed[:, position] = (changed[:, position] + 1) % N_VOCAB
        after = logits(own, changed, **options)
        other = documents != documents[:, position : position + 1]
        assert torch.equal(after[other], before[other])
    if own.config.memory != "off":  # type: ignore[attr-defined]
        changed = given.clone()
        changed[:, 10] = (changed[:, 10] + 1) % N_VOCAB
        assert not torch.equal(logits(own, changed, **options)[:, 20], before[:, 20])


@EVERY
@torch.inference_mode()
def test_decoding_equals_the_whole_row_at_every_length(kind: str) -> None:
    """Prefill of n ids, then single ids, over four segment borders; and any cut in three parts."""
    own, given = made(kind), ids(2, 4 * S + 1)
    whole = logits(own, given)
    for first in range(1, given.shape[1]):
        state = own.init_state(2, "cpu")
        parts = [logits(own, given[:, :first], state=state)]
        parts += [logits(own, given[:, at : at + 1], state=state) for at in range(first, given.shape[1])]
        torch.testing.assert_close(torch.cat(parts, 1), whole, atol=1e-4, rtol=0)
        for second in (first + 1, first + S, first + 2 * S + 1):
            state = own.init_state(2, "cpu")
            bounds = [0, first, min(second, given.shape[1]), given.shape[1]]
            cuts = [given[:, low:high] for low, high in pairwise(bounds) if low < high]
            parts = [logits(own, cut, state=state) for cut in cuts]
            torch.testing.assert_close(torch.cat(parts, 1), whole, atol=1e-4, rtol=0)
            assert state.length.tolist() == [given.shape[1]] * 2


@EVERY
@torch.inference_mode()
def test_ragged_rows_equal_each_row_alone(kind: str) -> None:
    own, lengths, more = made(kind), [3, 21, 5, 10, 11], 7
    rows = [ids(1, length + more, seed=length) for length in lengths]
    widest = max(lengths)
    given, documents = torch.zeros(5, widest, dtype=torch.int64), torch.full((5, widest), -1)
    for row, (length, alone) in enumerate(zip(lengths, rows, strict=True)):
        given[row, widest - length :], documents[row, widest - length :] = alone[0, :length], 0
    state = own.init_state(5, "cpu")
    out = [logits(own, given, document_ids=documents, state=state)[:, -1:]]
    assert state.length.tolist() == lengths
    for step in range(more):
        column = torch.stack([alone[0, n + step] for n, alone in zip(lengths, rows, strict=True)])[:, None]
        out.append(logits(own, column, state=state))
    together = torch.cat(out, 1)
    for row, (length, alone) in enumerate(zip(lengths, rows, strict=True)):
        torch.testing.assert_close(together[row], logits(own, alone)[0, length - 1 :], atol=1e-4, rtol=0)


@EVERY
@torch.inference_mode()
def test_a_packed_prompt_equals_the_whole_row(kind: str) -> None:
    own = made(kind)
    given, documents, positions = packed()
    whole = logits(own, given, document_ids=documents, position_ids=positions)
    for first in range(1, given.shape[1]):
        state = own.init_state(1, "cpu")
        one = logits(own, given[:, :first], document_ids=documents[:, :first], state=state)
        two = logits(own, given[:, first:], document_ids=documents[:, first:], state=state)
        torch.testing.assert_close(torch.cat([one, two], 1), whole, atol=1e-4, rtol=0)


@torch.inference_mode()
def test_truncating_within_the_last_segment() -> None:
    own, given = made("delta"), ids(2, 3 * S)
    state = own.init_state(2, "cpu")
    own(given, state=state)
    with pytest.raises(InvalidInput, match="length 9"):
        state.truncate(2 * S - 1)
    for length in (3 * S, 2 * S + 3, 2 * S, 0):
        state.truncate(length)
        rest = logits(own, given[:, length:], state=state) if length < 3 * S else None
        if rest is not None:
            torch.testing.assert_close(rest, logits(own, given)[:, length:], atol=1e-4, rtol=0)
            state.truncate(2 * S)


@torch.inference_mode()
def test_truncating_rows_of_different_lengths() -> None:
    """Rows that stand in equal columns of different segments lose different numbers of ids."""
    own, lengths = made("delta"), (2 * S + 2, 3 * S + 2)
    rows = [ids(1, length, seed=length) for length in lengths]
    width = max(lengths)
    given, documents = torch.zeros(2, width, dtype=torch.int64), torch.full((2, width), -1)
    for row, (length, alone) in enumerate(zip(lengths, rows, strict=True)):
        given[row, width - length :], documents[row, width - length :] = alone[0], 0
    state = own.init_state(2, "cpu")
    own(given, document_ids=documents, state=state)
    assert state.columns == 2
    state.truncate(width - 1)
    out = logits(own, torch.tensor([[5], [6]]), state=state)[:, 0]
    for row, alone in enumerate((rows[0], rows[1][:, :-1])):
        extended = torch.cat([alone, torch.tensor([[5 + row]])], 1)
        torch.testing.assert_close(out[row], logits(own, extended)[0, -1], atol=1e-4, rtol=0)


@torch.inference_mode()
def test_ids_behind_a_truncation_belong_to_the_document_that_is_last() -> None:
    own, given = made("linear"), ids(1, S)
    documents = torch.tensor([[0, 0, 0, 1, 1]])
    state = own.init_state(1, "cpu")
    own(given, document_ids=documents, state=state)
    state.truncate(3)
    out = logits(own, given[:, 3:], state=state)
    torch.testing.assert_close(out, logits(own, given)[:, 3:], atol=1e-4, rtol=0)


@torch.inference_mode()
def test_the_size_of_the_state_does_not_depend_on_the_length() -> None:
    own, sizes = made("delta"), []
    for length in (1, 2 * S, 64 * S):
        state = own.init_state(2, "cpu")
        own(ids(2, length), state=state)
        assert isinstance(state, InfiniState)
        sizes.append(state.nbytes())
    assert len(set(sizes)) == 1
    layers, heads, h = 2, 2, 8
    cache, memory = 2 * layers * 2 * S * heads * h * 4, layers * 2 * heads * h * (h + 1) * 4
    assert sizes[0] == cache + memory + 2 * 8 * (S + 4)


def test_the_second_write_of_a_pair_adds_nothing_to_a_delta_memory() -> None:
    random = torch.Generator().manual_seed(0)
    keys, value = feature_map(torch.randn(1, 1, 8, generator=random)), torch.randn(1, 1, 8, generator=random)
    empty = Memory(torch.zeros(1, 8, 8), torch.zeros(1, 8))
    once = empty.fold(keys, value, "delta")
    torch.testing.assert_close(once.read(keys), value, atol=1e-5, rtol=0)
    twice = once.fold(keys, value, "delta")
    torch.testing.assert_close(twice.m, once.m, atol=1e-5, rtol=0)
    assert bool((twice.z > once.z).all())
    torch.testing.assert_close(once.fold(keys, value, "linear").m, 2 * once.m)


@pytest.mark.parametrize("memory", ["linear", "delta"])
@torch.inference_mode()
def test_ten_thousand_segments_stay_finite_in_bf16(memory: str) -> None:
    own = model("infini", memory=memory, n_layers=1).bfloat16()
    state = own.init_state(1, "cpu")
    for seed in range(20):
        out = logits(own, ids(1, 500 * S, seed=seed), state=state)
        assert bool(out.isfinite().all())
    assert isinstance(state, InfiniState) and state.memory is not None
    assert state.memory.m.dtype == state.memory.z.dtype == torch.float32


def test_the_memory_is_fp32_under_autocast() -> None:
    own, given = made("delta"), ids(2, 4 * S)
    wide = logits(own, given)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(logits(own, given).float(), wide, atol=0.2, rtol=0.1)


@pytest.mark.parametrize("memory", ["linear", "delta"])
def test_gradients_end_at_the_groups_of_bptt_segments(memory: str) -> None:
    """The gradient of the last segment reaches ids of its own group of segments alone."""
    for limit, expected in ((None, [0, 1, 2, 3]), (1, [3]), (2, [2, 3]), (3, [3])):
        own, given = model("infini", memory=memory, n_layers=1, bptt_segments=limit), ids(1, 4 * S)
        held: list[Tensor] = []
        own.embed.register_forward_hook(lambda module, inputs, out, held=held: held.append(out))
        hidden = own(given).hidden
        (gradient,) = torch.autograd.grad(hidden[:, -1].sum(), held[0])
        reached = (gradient[0].unflatten(0, (4, S)) != 0).flatten(1).any(1).nonzero().flatten().tolist()
        assert reached == expected, limit


@pytest.mark.parametrize("name", GATE_FUNCTIONS)
def test_gates_weigh_the_memory(name: str) -> None:
    """A gate of 0 leaves local attention alone."""
    own = model("infini", gate=name, gate_init="randn", randomise=False)
    closed = {"sigmoid": -200.0, "hard_sigmoid": -3.0}.get(name, 0.0)
    with torch.no_grad():
        for block in own.blocks:
            block.attention.beta.fill_(closed)
    off = build(config("infini", memory="off"), seed=None).eval()
    off.load_state_dict({key: value for key, value in own.state_dict().items() if "beta" not in key})
    given = ids(1, 3 * S)
    torch.testing.assert_close(logits(own, given), logits(off, given), atol=1e-6, rtol=0)
    with torch.no_grad():
        gates = own.metrics(given, torch.zeros_like(given))["gates"]
    assert gates.shape == (2, 4)
    torch.testing.assert_close(gates, torch.zeros(2, 4))
    assert off.metrics(given, torch.zeros_like(given)) == {}


@pytest.mark.parametrize(
    ("n_ids", "documents", "held"), [(3 * S, [], 3 * S), (2 * S + 1, [], 2 * S), (3 * S, [S + 2], 2 * S - 2)]
)
def test_metrics_of_the_memory_are_those_of_the_folded_segments(n_ids: int, documents: list[int], held: int) -> None:
    """Of the last document, up to the last whole segment."""
    own = model("infini")
    given, numbers = ids(1, n_ids), torch.zeros(1, n_ids, dtype=torch.int64)
    for start in documents:
        numbers[:, start:] += 1
    with torch.no_grad():
        found = own.metrics(given, numbers)
        state = own.init_state(1, "cpu")
        for column in range(n_ids):
            own(given[:, column : column + 1], document_ids=numbers[:, column : column + 1], state=state)
        state.fold_full(torch.tensor([True]))
    assert int(found["memory_ids"]) == held
    assert state.memory is not None
    expected = torch.linalg.matrix_norm(state.memory.m).mean((1, 2))
    torch.testing.assert_close(found["memory_norm"], expected)
    assert expected.min() > 0


def test_initial_values() -> None:
    zeros, drawn = (model("infini", gate_init=how, randomise=False) for how in ("zeros", "randn"))
    assert not zeros.blocks[0].attention.beta.any()
    assert drawn.blocks[0].attention.beta.all()
    scaled = build(config("infini", d_model=256, n_layers=8, init_std=0.1, tie_embeddings=False))
    spread = {name: float(value.detach().std()) for name, value in scaled.named_parameters() if value.ndim > 1}
    assert spread["blocks.3.attention.q.weight"] == pytest.approx(0.1, rel=0.05)
    assert spread["blocks.3.mlp.down.weight"] == pytest.approx(0.1 / 4, rel=0.05)
    assert spread["head.weight"] == pytest.approx(0.1, rel=0.05)


def test_what_a_configuration_refuses() -> None:
    with pytest.raises(InvalidConfig, match="segment 25 is larger than seq_len 24") as refused:
        config("infini", segment=25)
    assert refused.value.fix == "settings={'model.segment': 1}, or another model.seq_len"
    with pytest.raises(InvalidConfig, match="gates never move") as refused:
        config("infini", gate="tanh_abs")
    assert refused.value.fix == "settings={'model.gate_init': 'randn'}"


def test_the_published_configuration() -> None:
    chosen = PRESETS["infini-200m-exp53"].config()
    assert count(chosen).parameters == 201_339_952
    assert chosen.model_dump().items() >= {"n_layers": 6, "d_model": 1024, "segment": 64, "seq_len": 256}.items()


def test_operations_per_token() -> None:
    """6 (matrices + V' d) + 6 L H h S + 6 L (H + K) h^2, and 6 L K h^2 more for the delta rule."""
    d, layers, heads, kv, h = 32, 2, 4, 2, 8
    for memory, products in (("off", 0), ("linear", heads + kv), ("delta", heads + 2 * kv)):
        chosen = config("infini", memory=memory)
        counts = count(chosen)
        local = 6 * (counts.matrices + 128 * d) + 6 * layers * heads * h * S
        assert counts.flops_per_token == local + 6 * layers * products * h * h


def test_a_configuration_of_another_kind_of_options() -> None:
    with pytest.raises(InvalidConfig, match="window"):
        config_from_dict({**config("infini").model_dump(), "window": 4})
