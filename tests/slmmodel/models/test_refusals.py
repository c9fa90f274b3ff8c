"""What configurations, states and rows are refused, each with its error."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from slmmodel_tiny import SEQ_LEN, config, ids, model

from slmmodel.errors import InvalidConfig, InvalidInput, UnknownName, WrongType

BAD: list[tuple[str, dict[str, Any], str]] = [
    ("llama", {"n_layer": 3}, "did you mean 'model.n_layers'"),
    ("llama", {"n_layers": "3"}, "whole number"),
    ("llama", {"n_layers": True}, "whole number"),
    ("llama", {"n_layers": 0}, "n_layers is 0"),
    ("llama", {"n_kv_heads": 3}, "evenly"),
    ("llama", {"n_heads": 5, "n_kv_heads": 5}, "does not divide"),
    ("llama", {"head_dim": 7}, "head_dim"),
    ("llama", {"mlp": "moe"}, "mlp"),
    ("llama", {"dropout": 1.0}, "dropout"),
    ("llama", {"softcap": -1.0}, "softcap"),
    ("llama", {"softcap": 1e308}, "softcap is 1e[+]308\n.*\n.*limit: less than or equal to 1000000\n"),
    ("llama", {"softcap": 1e-308}, "softcap"),
    ("infini", {"init_std": 1e308}, "init_std"),
    ("llama", {"attention": "flash"}, "attention"),
    ("llama", {"rope_base": 0.0}, "rope_base"),
    ("llama", {"seq_len": 0}, "seq_len"),
    ("llama", {"seq_len": 99_999_999}, "seq_len is 99999999"),
    ("llama", {"padded_vocab": 64}, "padded_vocab"),
    ("gpt2", {"mlp": "relu"}, "mlp"),
    ("gpt2", {"d_ff": 0}, "d_ff"),
    ("lstm", {"hidden_size": 0}, "hidden_size"),
    ("lstm", {"n_heads": 2}, "unknown setting"),
    ("llama", {"window": 0}, "window"),
    ("llama", {"norm": "batch_norm"}, "norm"),
]


@pytest.mark.parametrize(("name", "changes", "fact"), BAD)
def test_a_configuration_that_does_not_fit(name: str, changes: dict[str, Any], fact: str) -> None:
    with pytest.raises(InvalidConfig, match=fact):
        config(name, **changes)


@pytest.mark.parametrize(
    ("changes", "fix", "mended"),
    [
        ({"n_heads": 3}, "settings={'model.n_heads': 2}", {"n_heads": 2}),
        ({"n_heads": 5, "n_kv_heads": 5}, "settings={'model.d_model': 40}", {"d_model": 40}),
    ],
)
def test_fixes_of_heads_lead_to_a_model(changes: dict[str, Any], fix: str, mended: dict[str, Any]) -> None:
    with pytest.raises(InvalidConfig) as caught:
        config("llama", **changes)
    assert caught.value.fix is not None and caught.value.fix.startswith(fix)
    config("llama", **{**changes, **mended})


def test_a_row_longer_than_the_context() -> None:
    for name in ("llama", "gpt2"):
        with pytest.raises(InvalidInput, match=f"{SEQ_LEN + 1} ids"):
            model(name)(ids(1, SEQ_LEN + 1))


@torch.inference_mode()
def test_a_full_cache_is_refused_before_it_is_touched() -> None:
    made, given = model("llama"), ids(2, 10)
    state = made.init_state(2, "cpu", capacity=8)
    made(given[:, :6], state=state)
    before = {name: part.clone() for name, part in state.tensors().items()}
    with pytest.raises(InvalidInput, match="3 more columns"):
        made(given[:, 6:9], state=state)
    assert all(torch.equal(part, before[name]) for name, part in state.tensors().items())
    with pytest.raises(InvalidInput, match="a batch of 1 rows"):
        made(given[:1, 6:7], state=state)
    beyond = made.init_state(1, "cpu", capacity=SEQ_LEN + 5)
    made(ids(1, SEQ_LEN), state=beyond)
    with pytest.raises(InvalidInput, match=f"a row of {SEQ_LEN + 1} ids"):
        made(ids(1, 1), state=beyond)
    with pytest.raises(InvalidInput, match="a batch of 1 rows"):
        recurrent = model("lstm")
        recurrent(ids(1, 3), state=recurrent.init_state(2, "cpu"))


def test_a_cache_does_not_record_gradients() -> None:
    made = model("llama")
    with pytest.raises(InvalidInput):
        made(ids(1, 3), state=made.init_state(1, "cpu"))


@torch.inference_mode()
def test_states_that_cannot_go_back() -> None:
    decoder, recurrent = model("llama"), model("gru")
    state, hidden = decoder.init_state(1, "cpu"), recurrent.init_state(1, "cpu")
    decoder(ids(1, 5), state=state)
    recurrent(ids(1, 5), state=hidden)
    with pytest.raises(InvalidInput, match="holds 5"):
        state.truncate(6)
    with pytest.raises(InvalidInput, match="recurrent"):
        hidden.truncate(4)
    hidden.truncate(5)
    hidden.truncate(0)
    assert not hidden.tensors()["hidden.0"].any()
    assert hidden.length.tolist() == [0]


@pytest.mark.parametrize("name", ["lstm", "gru", "rnn"])
def test_a_recurrent_model_reads_no_row_across_documents(name: str) -> None:
    made, given = model(name), ids(2, 4)
    one = torch.tensor([[0, 0, 0, 0], [0, 0, -1, -1]])
    made(given, document_ids=one)
    for wrong in ([0, 0, 1, 1], [-1, 0, 0, 0], [0, -1, 1, 1]):
        with pytest.raises(InvalidInput, match="row 1 "):
            made(given, document_ids=torch.tensor([[0, 0, 0, 0], wrong]))
    state = made.init_state(2, "cpu")
    made(given, document_ids=torch.tensor([[0, 0, 1, 1], [0, 0, 0, 0]]), state=state)
    with pytest.raises(InvalidInput, match="padding"):
        made(given, document_ids=one, state=state)


@pytest.mark.parametrize(
    "given",
    [
        torch.tensor([[1, 2]], dtype=torch.uint16),
        torch.tensor([1, 2], dtype=torch.uint16),
        torch.tensor([1, 2]),
        torch.tensor([1.0, 2.0]),
        [1, 2],
        [[1, 2]],
    ],
)
@pytest.mark.parametrize("name", ["llama", "lstm", "infini"])
def test_ids_of_another_form_become_a_batch(name: str, given: Any) -> None:
    built = model(name)
    with pytest.raises(WrongType) as caught:
        built(given)
    assert built(eval(str(caught.value.fix), {"torch": torch, "ids": given})).hidden.shape[:2] == (1, 2)


@pytest.mark.parametrize("id", [-1, 10_000])
def test_ids_outside_the_vocabulary(id: int) -> None:
    built = model("llama")
    with pytest.raises(InvalidInput, match=f"the model has no id {id}\n  limit: ids 0 to {built.config.n_vocab - 1}\n"):
        built(torch.tensor([[1, id]]))


def test_an_unknown_choice_of_logits_is_not_the_last() -> None:
    fix = "logits='all', or logits='last', or logits='none'"
    with pytest.raises(UnknownName, match=f"unknown value of logits 'first'\n(.*\n)*  fix:   {fix}$"):
        model("llama")(torch.tensor([[1, 2]]), logits="first")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "fix"),
    [
        ({"input_ids": 1}, "run.model(ids)"),
        ({}, "run.model(ids)"),
        ({"ids": 1, "attention_mask": 1}, "document_ids=..., the number of each id's document, and -1 for padding"),
        (
            {"ids": 1, "labels": 1},
            "leave it out; the loss is torch.nn.functional.cross_entropy(run.model(ids).logits.flatten(0, 1), "
            "labels.flatten()) for labels of a ShardDataset or ShardLoader, which are the ids that follow; "
            "torch.nn.functional.cross_entropy(run.model(ids).logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()) "
            "for those of transformers and of shift_labels=False, which are the ids of their own columns",
        ),
        ({"ids": 1, "past_key_values": 1}, "state=run.model.init_state(len(ids), ids.device)"),
    ],
)
def test_a_wrong_call_of_a_model_names_what_forward_takes(options: dict[str, Any], fix: str) -> None:
    with pytest.raises(WrongType, match=r"position_ids.*, document_ids.*, state.*, logits") as caught:
        model("llama")(**{name: torch.tensor([[1, 2]]) for name in options})
    assert caught.value.fix == fix


def test_a_second_tensor_by_position_may_be_any_option() -> None:
    given = torch.tensor([[1, 2]])
    with pytest.raises(WrongType, match="takes 2 positional arguments but 3 were given") as caught:
        model("llama")(given, given)
    assert caught.value.fix == "give options by name"


@pytest.mark.parametrize(
    ("given", "fact", "fix"),
    [
        ("a text", "ids are text", "torch.tensor([tok.encode_list(text)])"),
        (["one", "two"], "ids are text", "torch.tensor([tok.encode_list(text)])"),
        ([[1], [2, 3]], "rows of several lengths", "[run.model(torch.tensor([row])) for row in ids]"),
        (torch.tensor([[1.5, 2.0]]), "not integers", "torch.tensor([ids]), with the list ids of one text"),
        (torch.tensor([[True, False]]), "not integers", "torch.tensor([ids]), with the list ids of one text"),
    ],
)
def test_what_are_no_ids_is_not_converted_to_some(given: Any, fact: str, fix: str) -> None:
    with pytest.raises(WrongType, match=fact) as caught:
        model("llama")(given)
    assert str(caught.value.fix).startswith(fix)


@pytest.mark.parametrize("name", ["llama", "gpt2", "lstm", "infini"])
@pytest.mark.parametrize("shape", [(1, 0), (0, 4)])
def test_a_batch_without_ids(name: str, shape: tuple[int, int]) -> None:
    with pytest.raises(InvalidInput, match="hold no id"):
        model(name)(torch.zeros(shape, dtype=torch.int64))


def test_calls_of_other_libraries_are_named_in_ours() -> None:
    made = model("llama")
    for name in ("generate", "sample"):
        assert not hasattr(made, name)
        with pytest.raises(AttributeError, match=f"no attribute '{name}'") as caught:
            getattr(made, name)(ids(1, 4))
        assert "slmmodel.generation.generate(model, ids.tolist())" in str(caught.value)
    with pytest.raises(AttributeError, match=r"'GPT' object has no attribute 'unknown'$"):
        _ = made.unknown
    compiled = torch.compile(made, backend="eager", fullgraph=True)
    assert torch.equal(compiled(ids(1, 4)).logits, made(ids(1, 4)).logits)
