"""Calls of a model and its output as Hugging Face has them: the fix computes what is meant; wrong tensors are named."""

from __future__ import annotations

import copy
import pickle
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from slmmodel_tiny import VARIANTS
from slmmodel_tiny import model as make_model

from slmmodel.errors import InvalidInput, SlmmodelError, WrongType

IDS = torch.tensor([[1, 5, 6, 7], [8, 9, 10, 11]])


@pytest.fixture(scope="module")
def model() -> Any:
    return make_model("llama")


def _fix(error: BaseException) -> str:
    return str(error).partition("  fix:   ")[2].splitlines()[0]


def test_the_loss_of_an_output(model: Any) -> None:
    given: dict[str, Any] = {"run": SimpleNamespace(model=model), "ids": IDS, "torch": torch}
    logits = model(IDS).logits.log_softmax(-1)
    nats = -sum(logits[row, at, IDS[row, at + 1]] for row in range(2) for at in range(3)) / 6
    with pytest.raises(AttributeError, match="no attribute 'loss'") as of_attribute:
        _ = model(IDS).loss
    with pytest.raises(WrongType, match="no keys, such as 'loss'") as of_key:
        _ = model(IDS)["loss"]
    with pytest.raises(WrongType, match="no option 'labels'") as of_labels:
        model(IDS, labels=IDS)
    for caught in (of_attribute, of_key, of_labels):
        # Of the two losses of labels, the last one takes labels that are not shifted.
        code = _fix(caught.value).rpartition("; ")[2].partition(", the mean")[0].partition(" for ")[0]
        assert torch.allclose(eval(code, {**given, "labels": IDS}), nats)
    with pytest.raises(WrongType, match="no option 'targets'") as of_targets:
        model(IDS, targets=IDS)
    assert eval(_fix(of_targets.value).partition("the loss is ")[2], {**given, "targets": IDS}) > 0


def test_fields_of_other_outputs(model: Any) -> None:
    out = model(IDS)
    for name in ("logits", "hidden"):
        with pytest.raises(WrongType) as caught:
            out[name]
        assert eval(_fix(caught.value).partition(",")[0]) is getattr(out, name)
    for name, ours in {"last_hidden_state": "out.hidden", "keys": "out._asdict()", "argmax": "out.logits"}.items():
        with pytest.raises(AttributeError) as missing:
            getattr(out, name)
        assert _fix(missing.value) == f"{ours}, of the output out"
    with pytest.raises(AttributeError, match=r"^'Output' object has no attribute 'nonsense'$"):
        _ = out.nonsense
    given: dict[str, Any] = {"run": SimpleNamespace(model=model), "ids": IDS}
    with pytest.raises(AttributeError) as missing, torch.inference_mode():
        _ = out.past_key_values
    with torch.inference_mode():
        exec(_fix(missing.value).removesuffix(" fills it"), given)
    assert given["state"].length.tolist() == [4, 4]


def test_an_output_is_a_tuple(model: Any) -> None:
    out = model(IDS)
    logits, hidden, state = out
    assert out[0] is logits and out[1] is hidden and out[-1] is state is None and out[:2] == (logits, hidden)
    plain = type(out)(1, 2, None)
    assert pickle.loads(pickle.dumps(plain)) == copy.deepcopy(plain) == plain
    assert not hasattr(out, "keys")


WRONG = [
    *("x", "input_ids", 3, [0, 1, 2, 3], torch.zeros(2, 4), torch.zeros(2, 3).long(), torch.zeros(3, 4).long()),
    *(torch.zeros(2, 4).bool(), torch.tensor(1), torch.zeros(1, 2, 4).long()),
]


@pytest.mark.parametrize("arch", VARIANTS)
def test_wrong_columns_are_named(arch: str) -> None:
    model = make_model(arch)
    for name in ("position_ids", "document_ids"):
        for given in WRONG:
            with pytest.raises(WrongType, match=rf"^{name} are ") as caught:
                model(IDS, **{name: given})
            assert _fix(caught.value).startswith(f"leave {name} out: ")
    positions = torch.arange(4)
    for right in (positions, positions[None], positions.int().expand(2, 4)):
        assert torch.equal(model(IDS, position_ids=right).hidden, model(IDS).hidden)
    with pytest.raises(WrongType, match=r"^state is of type str"):
        model(IDS, state="x")


@pytest.mark.parametrize("arch", ["llama", "gpt2"])
def test_a_position_that_the_model_lacks(arch: str) -> None:
    model = make_model(arch)
    for position in (-1, model.config.seq_len):
        with pytest.raises(InvalidInput, match=f"the model has no position {position}\n"):
            model(IDS, position_ids=torch.tensor([[0, 1, 2, position]]))


def test_what_is_no_hidden_vector(model: Any) -> None:
    out = model(IDS)
    for given in ("x", "hidden", None, out, IDS, out.hidden[..., :3], out.hidden.tolist(), 3):
        with pytest.raises(SlmmodelError, match=r"^hidden are ") as caught:
            model.unembed(given)
        code = _fix(caught.value).partition(",")[0]
        assert torch.equal(eval(code, {"run": SimpleNamespace(model=model), "ids": IDS}), out.logits)
    assert torch.equal(model.unembed(out.hidden), out.logits)
