"""Every architecture in the registry follows the protocol: shapes, causality, counts, first loss, learning."""

from __future__ import annotations

import math
import pickle

import pytest
import torch
from slmmodel_tiny import N_VOCAB, SHAPES, VARIANTS, config, ids, model
from torch.nn.functional import cross_entropy

from slmmodel.errors import UnknownName
from slmmodel.models import MODELS, arch_of, build, config_from_dict, count
from slmmodel.models.diagram import diagram
from slmmodel.models.gpt import ACTIVATIONS
from slmmodel.models.infini import GATE_FUNCTIONS
from slmmodel.models.presets import PRESETS, preset
from slmmodel.optim.optimizer import group_parameters

EVERY = pytest.mark.parametrize("name", VARIANTS)


def test_every_architecture_has_a_tiny_shape_a_summary_and_a_diagram() -> None:
    assert set(SHAPES) == set(MODELS)
    for name, arch in MODELS.items():
        assert arch.summary
        assert arch.config is type(config(name))
        chart = diagram(config(name))
        assert chart.startswith("flowchart TD\n")
        assert f"{config(name).d_model}" in chart
        assert chart.count("subgraph") == chart.count("    end\n")
        assert "position" in chart


@EVERY
def test_shapes_of_the_output(name: str) -> None:
    made, given = model(name), ids(3, 7)
    every, last, none = made(given), made(given, logits="last"), made(given, logits="none")
    assert every.logits is not None and last.logits is not None and none.logits is None
    assert every.logits.shape == (3, 7, N_VOCAB)
    assert every.hidden.shape == (3, 7, made.config.d_model)
    assert every.state is None
    torch.testing.assert_close(last.logits, every.logits[:, -1:])
    torch.testing.assert_close(made.unembed(none.hidden), every.logits)


@EVERY
def test_padded_rows_have_no_logit_and_no_gradient(name: str) -> None:
    made, given = model(name), ids(2, 6)
    logits = made(given).logits
    assert logits is not None
    cross_entropy(logits.flatten(0, 1), given.flatten()).backward()
    table = made.embed.weight if made.head is None else made.head.weight
    assert table.grad is not None
    assert table.shape[0] == 128
    assert not table.grad[N_VOCAB:].any()
    assert table.grad[:N_VOCAB].any(1).all()


@EVERY
def test_causality_is_bitwise(name: str) -> None:
    made, given = model(name), ids(2, 12)
    with torch.inference_mode():
        before = made(given).logits
        for slot in (1, 5, 11):
            changed = given.clone()
            changed[0, slot] = (changed[0, slot] + 1) % N_VOCAB
            after = made(changed).logits
            assert before is not None and after is not None
            assert torch.equal(after[0, :slot], before[0, :slot])
            assert torch.equal(after[1], before[1])
            assert not torch.equal(after[0, slot], before[0, slot])


@EVERY
def test_counts_are_those_of_the_built_model(name: str) -> None:
    made = build(config(name))
    counts = count(made.config)
    assert counts.parameters == sum(p.numel() for p in made.parameters())
    sizes = {group: sum(p.numel() for p in named.values()) for group, named in group_parameters(made).items()}
    assert counts.matrices == sizes["matrices"]
    assert counts.embedding == sizes["embeddings"] - made.config.sizes().positions


@pytest.mark.parametrize("name", PRESETS)
def test_presets_have_the_published_sizes(name: str) -> None:
    published = {"cpu-demo": 1_000_832, "tiny-3m": 3.74e6, "stories-15m": 15.74e6, "base-40m": 39.6e6}
    published |= {"base-85m": 88.1e6, "base-200m": 188.8e6, "gpt2-124m": 124.4e6}
    counts = count(PRESETS[name].config())
    if name in published:
        assert counts.parameters == pytest.approx(published[name], rel=1e-3)
    flops = {"cpu-demo": 6.79e6, "tiny-3m": 2.4e7, "stories-15m": 1.04e8, "base-85m": 5.9e8, "base-200m": 1.27e9}
    if name in flops:
        assert counts.flops_per_token == pytest.approx(flops[name], rel=0.01)


@pytest.mark.parametrize("name", ["cpu-demo", "tiny-3m", "lstm-4m"])
def test_first_loss_of_presets_is_that_of_a_uniform_guess(name: str) -> None:
    chosen = PRESETS[name].config()
    given = torch.randint(0, chosen.n_vocab, (4, 64), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        logits = build(chosen, seed=3)(given).logits
    assert logits is not None
    loss = cross_entropy(logits[:, :-1].flatten(0, 1), given[:, 1:].flatten())
    assert abs(loss.item() - math.log(chosen.n_vocab)) < 0.3


@EVERY
def test_first_loss_is_exact_with_a_head_of_its_own(name: str) -> None:
    made, given = build(config(name, tie_embeddings=False)), ids(4, 20)
    logits = made(given).logits
    assert logits is not None
    loss = cross_entropy(logits[:, :-1].flatten(0, 1), given[:, 1:].flatten())
    assert loss.item() == pytest.approx(math.log(N_VOCAB), abs=1e-6)


@EVERY
def test_a_model_can_learn_a_batch_by_heart(name: str) -> None:
    made, given = build(config(name)).train(), ids(2, 10)
    optimizer = torch.optim.AdamW(made.parameters(), lr=1e-2)
    for _ in range(60):
        logits = made(given).logits
        assert logits is not None
        loss = cross_entropy(logits[:, :-1].flatten(0, 1), given[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.5


@EVERY
def test_a_configuration_survives_its_table(name: str) -> None:
    chosen = config(name)
    table = chosen.model_dump()
    assert config_from_dict(table) == chosen
    assert all(isinstance(value, (int, float, str, bool, type(None))) for value in table.values())


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        *((name, {}) for name in VARIANTS),
        *(("gpt2", {"mlp": mlp}) for mlp in ACTIVATIONS),
        *(("infini", {"gate": gate, "gate_init": "randn"}) for gate in GATE_FUNCTIONS),
    ],
)
def test_pickles(name: str, changes: dict[str, str]) -> None:
    made, given = model(name, **changes), ids(2, 7)
    again = pickle.loads(pickle.dumps(made))
    assert torch.equal(again(given).logits, made(given).logits)


def test_names_that_do_not_exist() -> None:
    with pytest.raises(UnknownName, match="did you mean 'llama'"):
        arch_of("lama")
    with pytest.raises(UnknownName, match="did you mean 'cpu-demo'"):
        preset("cpudemo")
