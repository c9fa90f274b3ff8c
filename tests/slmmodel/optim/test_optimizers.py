"""Every registered optimizer: complete groups, state by name, bitwise resume; AdamW and Muon against references."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from slmmodel.config import OptimConfig, settings_of, validate
from slmmodel.distributed import load_tensors
from slmmodel.errors import CorruptFile, InvalidConfig, WrongType
from slmmodel.optim import OPTIMIZERS, build, clip
from slmmodel.optim.muon import COEFFICIENTS, Muon, orthogonalise
from slmmodel.optim.optimizer import group_parameters, matrices_per_parameter

SETTINGS = OptimConfig(lr=1e-2)


class Toy(nn.Module):
    """One parameter of every group: tied embedding, wide, tall and square matrices, biases, an LSTM."""

    def __init__(self, seed: int = 0, dtype: torch.dtype = torch.float32):
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.up = nn.Linear(8, 12, bias=True)
        self.down = nn.Linear(12, 8, bias=False)
        self.square = nn.Linear(8, 8, bias=False)
        self.lstm = nn.LSTM(8, 8, batch_first=True)
        self.head = nn.Linear(8, 20, bias=False)
        self.head.weight = self.embedding.weight
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.normal_(0, 0.1, generator=generator)
        self.to(dtype)

    def loss(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embedding(ids)
        x = x + self.down(torch.tanh(self.up(x))) + self.square(x)
        x = x + self.lstm(x)[0]
        return nn.functional.cross_entropy(self.head(x).flatten(0, 1), ids.roll(-1, 1).flatten())


def batch(step: int) -> torch.Tensor:
    return torch.randint(0, 20, (3, 7), generator=torch.Generator().manual_seed(step))


def train(model: Toy, optimizer, steps: range, factor=lambda step: 1.0) -> None:
    for step in steps:
        optimizer.set_lr_factor(factor(step))
        model.loss(batch(step)).backward()
        optimizer.step()
        optimizer.zero_grad()


def test_every_parameter_in_exactly_one_group():
    model = Toy()
    groups = group_parameters(model)
    names = [name for named in groups.values() for name in named]
    assert sorted(names) == sorted(dict(model.named_parameters()))
    assert list(groups["embeddings"]) == ["embedding.weight"]
    assert set(groups["vectors"]) == {"up.bias", "lstm.bias_ih_l0", "lstm.bias_hh_l0"}
    model.square.weight.requires_grad_(False)
    assert "square.weight" not in group_parameters(model)["matrices"]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_rates_and_decay_by_group(name):
    """A zero gradient changes matrices alone, which decay by exactly 1 - lr * wd."""
    model, before = Toy(), Toy()
    optimizer = build(model, SETTINGS.model_copy(update={"name": name, "weight_decay": 0.5}))
    optimizer.set_lr_factor(0.25)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    groups = group_parameters(model)
    old = dict(before.named_parameters())
    for group, named in groups.items():
        factor = 1 - 0.25 * 1e-2 * 0.5 if group == "matrices" else 1.0
        for key, parameter in named.items():
            torch.testing.assert_close(parameter.data, old[key].data * factor, rtol=1e-6, atol=0)


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("cut", [1, 5])
def test_state_by_name_resumes_bitwise(name, cut):
    settings = SETTINGS.model_copy(update={"name": name})
    whole = Toy()
    train(whole, build(whole, settings), range(8), lambda step: 1 - step / 8)
    first = Toy()
    optimizer = build(first, settings)
    train(first, optimizer, range(cut), lambda step: 1 - step / 8)
    state = {key: tensor.clone() for key, tensor in optimizer.state().items()}
    second = Toy(seed=9)
    second.load_state_dict(first.state_dict())
    resumed = build(second, settings)
    load_tensors("state", resumed.state(), dict(reversed(state.items())), fix="")
    train(second, resumed, range(cut, 8), lambda step: 1 - step / 8)
    for a, b in zip(whole.parameters(), second.parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_state_of_another_model_is_refused(name):
    optimizer = build(Toy(), SETTINGS.model_copy(update={"name": name}))
    state = dict(optimizer.state())
    key = next(iter(state))
    for other, fault in (
        ({k: v for k, v in state.items() if k != key}, "lacks"),
        ({**state, "x/y/z": torch.zeros(1)}, "unknown entry"),
        ({**state, key: torch.zeros(2, 2, 2)}, "has shape"),
    ):
        with pytest.raises(CorruptFile, match=fault):
            load_tensors("state", optimizer.state(), other, fix="")


def test_unknown_dtype_of_the_iteration():
    with pytest.raises(InvalidConfig, match=r"optim.ns_dtype is 'fp8'\n.*\n  limit: .*'bf16'"):
        validate(settings_of({"optim.ns_dtype": "fp8"}))


def test_unknown_optimizer():
    with pytest.raises(ValueError, match="did you mean 'adamw'"):
        OptimConfig(name="adamv")


def _reference_adamw(parameter, gradients, lr, decay, betas=(0.9, 0.95), eps=1e-8):
    """The published update."""
    weight, m, v = parameter.double().clone(), 0.0, 0.0
    for step, gradient in enumerate(gradients, 1):
        g = gradient.double()
        weight = weight * (1 - lr * decay)
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        weight = weight - lr * (m / (1 - betas[0] ** step)) / ((v / (1 - betas[1] ** step)).sqrt() + eps)
    return weight


def test_arguments_of_other_types_are_refused():
    with pytest.raises(WrongType, match=r"model is of type generator\n.*\n  fix:   build\(model, config\)"):
        build(Toy().parameters(), SETTINGS)
    with pytest.raises(WrongType, match="config is of type str") as caught:
        build(Toy(), "muon")
    assert caught.value.fix == "config=OptimConfig(name='adamw'), of slmmodel.config"


def test_adamw_is_the_published_update():
    model = Toy()
    optimizer = build(model, SETTINGS)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    gradients: dict[str, list[torch.Tensor]] = {name: [] for name in before}
    for step in range(4):
        model.loss(batch(step)).backward()
        for name, parameter in model.named_parameters():
            gradients[name].append(parameter.grad.clone())
        optimizer.step()
        optimizer.zero_grad()
    for name, parameter in model.named_parameters():
        decay = 0.1 if name in group_parameters(model)["matrices"] else 0.0
        lr = 0.01
        expected = _reference_adamw(before[name], gradients[name], lr, decay)
        torch.testing.assert_close(parameter.detach().double(), expected, rtol=1e-5, atol=1e-7)


def _reference_muon(weight, gradients, lr, decay, mu=0.95, steps=5):
    """The update of the module's docstring, one matrix at a time."""
    a, b, c = COEFFICIENTS
    weight, momentum = weight.clone(), torch.zeros_like(weight)
    for g in gradients:
        momentum = mu * momentum + (1 - mu) * g
        x = (1 - mu) * g + mu * momentum
        x = x / max(float(x.norm()), 1e-7)
        tall = x.shape[0] > x.shape[1]
        x = x.mT if tall else x
        for _ in range(steps):
            gram = x @ x.mT
            x = a * x + (b * gram + c * gram @ gram) @ x
        x = x.mT if tall else x
        weight = (1 - lr * decay) * weight - lr * 0.2 * math.sqrt(max(weight.shape)) * x
    return weight


@pytest.mark.parametrize("shapes", [[(6, 6), (6, 6)], [(4, 9), (9, 4)], [(1, 7)], [(5, 5), (3, 8), (8, 3), (8, 3)]])
def test_stacked_muon_equals_the_reference(shapes):
    generator = torch.Generator().manual_seed(1)
    named = {
        f"m{i}": torch.nn.Parameter(torch.randn(shape, generator=generator, dtype=torch.float64))
        for i, shape in enumerate(shapes)
    }
    gradients = {
        name: [torch.randn(p.shape, generator=generator, dtype=torch.float64) for _ in range(3)]
        for name, p in named.items()
    }
    before = {name: parameter.detach().clone() for name, parameter in named.items()}
    part = Muon(named, {}, OptimConfig(name="muon", lr=0.02))
    for step in range(3):
        for name, parameter in named.items():
            parameter.grad = gradients[name][step]
        part.step()
    for name, parameter in named.items():
        expected = _reference_muon(before[name], gradients[name], 0.02, 0.1)
        torch.testing.assert_close(parameter.detach(), expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("shape", [(64, 64), (32, 96), (96, 32)])
@pytest.mark.parametrize("ns_dtype", ["fp32", "bf16"])
def test_muon_equals_torchs(shape, ns_dtype):
    """torch.optim.Muon iterates in bf16, so updates agree within 3 %."""
    if not hasattr(torch.optim, "Muon"):
        pytest.skip("this torch has no Muon")
    generator = torch.Generator().manual_seed(0)
    ours = torch.nn.Parameter(torch.randn(shape, generator=generator))
    theirs = torch.nn.Parameter(ours.detach().clone())
    before = ours.detach().clone()
    oracle = torch.optim.Muon([theirs], lr=0.02, weight_decay=0.1, momentum=0.95, adjust_lr_fn="match_rms_adamw")
    part = Muon({"m": ours}, {}, OptimConfig(name="muon", lr=0.02, ns_dtype=ns_dtype))
    for _ in range(3):
        gradient = torch.randn(shape, generator=generator)
        ours.grad, theirs.grad = gradient.clone(), gradient.clone()
        start_ours, start_theirs = ours.detach().clone(), theirs.detach().clone()
        part.step()
        oracle.step()
        update, expected = ours.detach() - start_ours, theirs.detach() - start_theirs
        assert float((update - expected).norm() / expected.norm()) < 3e-2
    assert not torch.equal(ours.detach(), before)


def test_newton_schulz_moves_singular_values_to_one():
    x = torch.randn(3, 16, 40, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    values = torch.linalg.svdvals(orthogonalise(x))
    assert float(values.min()) > 0.6 and float(values.max()) < 1.25
    assert torch.isfinite(orthogonalise(torch.zeros(1, 4, 4))).all()


def test_recurrent_gates_are_separate_matrices():
    """An LSTM stacks four matrices in one parameter; each gets its own update."""
    model = Toy()
    assert matrices_per_parameter(model)["lstm.weight_ih_l0"] == 4
    weight = model.lstm.weight_ih_l0
    gradient = torch.randn(weight.shape, generator=torch.Generator().manual_seed(0))
    optimizer = build(model, SETTINGS.model_copy(update={"name": "muon", "ns_dtype": "fp32"}))
    before = weight.detach().clone()
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    weight.grad = gradient
    optimizer.step()
    for gate in range(4):
        rows = slice(8 * gate, 8 * gate + 8)
        expected = _reference_muon(before[rows], [gradient[rows]], 1e-2, 0.1)
        torch.testing.assert_close(weight.detach()[rows], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("limit", [None, 0.01, 1e9])
def test_clipping(limit):
    model = Toy()
    model.loss(batch(0)).backward()
    gradients = [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]
    norm = math.sqrt(sum(float((g.double() ** 2).sum()) for g in gradients))
    assert float(clip(list(model.parameters()), limit)) == pytest.approx(norm, rel=1e-5)
    factor = min(1.0, limit / norm) if limit else 1.0
    for gradient, parameter in zip(gradients, model.parameters(), strict=True):
        torch.testing.assert_close(parameter.grad, gradient * factor, rtol=1e-4, atol=1e-12)
