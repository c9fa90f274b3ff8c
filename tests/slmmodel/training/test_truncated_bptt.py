"""Truncated BPTT: recurrent models continue where the last step stopped; the state is saved and necessary."""

from __future__ import annotations

import shutil

import pytest
import slmmodel_tiny as tiny
import small
import torch
from made_shards import source, vocab

from slmmodel.checkpoint import RunFolder
from slmmodel.data import Cursor, Loader
from slmmodel.errors import InvalidConfig
from slmmodel.models import build, config_from_dict
from slmmodel.trainer import dry_run, train
from slmmodel.training.loss import Loss
from slmmodel.training.truncated_bptt import TruncatedBPTT


def stateful_settings(data, kind="lstm", **changes):
    return small.recurrent(small.settings(data, data__pack="stateful", run__budget__steps=20, **changes), kind)


@pytest.mark.parametrize("name", ["batch_size", "seed", "seq_len", "pin"])
def test_settings_of_the_loader_are_no_options_of_a_packing(data, tmp_path, name):
    settings = stateful_settings(data, **{f"data__options__{name}": 3})
    with pytest.raises(InvalidConfig, match=rf"data\.options\.{name} is no option of a packing"):
        train(settings, output=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("arch", ["llama", "infini", "lstm"])
def test_a_model_without_a_state_is_noted(data, arch):
    changes = {"infini": {"model__arch": "infini", "model__segment": 4, "model__memory": "off"}, "lstm": {}}
    settings = small.settings(data, data__pack="stateful", **changes.get(arch, {}))
    notes = dry_run(small.recurrent(settings, "lstm") if arch == "lstm" else settings)["notes"]
    found = [note for note in notes if note.startswith("data.pack stateful carries no state with model.arch")]
    assert len(found) == (arch != "lstm") and all("--set data.pack=concat" in note for note in found)
    assert ("model.memory off" in "".join(found)) == (arch == "infini")
    assert not dry_run(small.settings(data))["notes"]


@pytest.mark.parametrize("name", tiny.VARIANTS)
def test_the_configuration_knows_whether_a_state_is_carried(name):
    config = tiny.config(name)
    assert config.carries_state == bool(build(config).init_hidden(1, "cpu"))


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_the_state_is_kept_saved_and_necessary(data, tmp_path, kind):
    """Also across the beginning of the data: the run reads the data more than once."""
    settings = stateful_settings(data, kind, run__batch_tokens=192)
    train(settings, output=tmp_path / "whole")
    for at in (4, 11):
        path = tmp_path / f"run{at}"
        train(settings, output=path, report=small.stop_at(at))
        shutil.copytree(path, tmp_path / f"spoiled{at}")
        assert train(settings, output=path).finished
        assert small.weights(path) == small.weights(tmp_path / "whole")
        step = RunFolder(tmp_path / f"spoiled{at}").checkpoints.path(at)
        small.spoil_tensor(step / "recurrent.safetensors", "hidden.0")
        small.write_sums(step)
        train(settings, output=tmp_path / f"spoiled{at}")
        assert small.weights(tmp_path / f"spoiled{at}") != small.weights(tmp_path / "whole")


def test_a_timing_probe_leaves_the_state(data):
    made = small.train_step_of(stateful_settings(data))
    cursor = Cursor()
    for step in range(2):
        taken = made.loader.global_batch(cursor)
        made.take(taken, step)
        cursor = taken.next
    before = made.bptt.tensors()
    made.seconds_per_step(0.0)
    made.close()
    assert all(torch.equal(after, before[name]) for name, after in made.bptt.tensors().items())


@pytest.mark.parametrize("kind", ["lstm", "infini"])
def test_a_skipped_step_leaves_the_state(data, kind):
    """One forward pass that is not finite does not spoil the steps after it."""
    settings = stateful_settings(data, "lstm")
    if kind == "infini":
        settings = {name: value for name, value in settings.items() if not name.startswith("model.")}
        settings |= {f"model.{name}": value for name, value in {**INFINI, "seq_len": 16}.items()}
    made = small.train_step_of(settings)
    taken = made.loader.global_batch(Cursor())
    assert made.take(taken, 0).applied
    before = {name: tensor.clone() for name, tensor in made.bptt.tensors().items()}
    weight, taken = made.model.embed.weight, made.loader.global_batch(taken.next)
    sound = weight.detach().clone()
    with torch.no_grad():
        weight.fill_(float("nan"))
    assert not made.take(taken, 1).applied
    assert all(torch.equal(after, before[name]) for name, after in made.bptt.tensors().items())
    with torch.no_grad():
        weight.copy_(sound)
    assert made.take(made.loader.global_batch(taken.next), 2).applied
    made.close()


def test_smaller_micro_batches_give_the_same_curve(data, tmp_path):
    for micro in (12, 5):
        train(
            stateful_settings(data, run__batch_tokens=192, run__micro_batch=micro, optim__lr=1e-3),
            output=tmp_path / str(micro),
        )
    assert small.losses(tmp_path / "12") == pytest.approx(small.losses(tmp_path / "5"), rel=1e-5)


GRU = {"arch": "gru", "n_layers": 1, "d_model": 8, "hidden_size": 8}
INFINI = {"arch": "infini", "n_layers": 2, "d_model": 16, "n_heads": 2, "n_kv_heads": 1, "segment": 8}


@pytest.mark.parametrize(
    ("options", "doc_mask"),
    [(GRU, True), ({**INFINI, "memory": "linear"}, True), ({**INFINI, "memory": "delta"}, True), (INFINI, False)],
)
def test_rows_continue_where_they_stopped(options, doc_mask):
    """A sequence in two halves with the kept state gives the nats of the whole sequence."""
    model = build(config_from_dict({"n_vocab": 300, "seq_len": 32, **options}), seed=1)
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            torch.nn.init.normal_(parameter, std=0.3, generator=torch.Generator().manual_seed(number))
    # Documents end within segments, at their borders, and go on over several sequences.
    corpus, total = source([127, 128, 13, 40, 1, 0, 255]), {}
    opening = corpus.delimiters.opening if doc_mask else None
    for seq_len in (16, 32):
        loader = Loader(corpus, vocab(), seq_len=seq_len, batch_size=4, pack="stateful", shuffle=False)
        kept, cursor, nats = TruncatedBPTT(model, 4, torch.device("cpu"), opening), Cursor(), 0.0
        for _ in range(len(loader.packing(0, 0)) // 4):
            taken = loader.global_batch(cursor)
            cursor = taken.next
            batch = loader.batch(taken.sequence_keys)
            kept.begin(int(taken.sequence_keys[0, 2]))
            state = kept.read(batch)
            nats += float(Loss(doc_mask).sum_nats(model, batch, state=state).detach())
            kept.write(batch, state)
            kept.commit()
        total[seq_len] = nats
    assert total[16] == pytest.approx(total[32], rel=1e-5)


def test_the_memory_of_infini_is_carried_within_a_document_alone():
    model = build(config_from_dict({"n_vocab": 300, "seq_len": 16, **INFINI}), seed=1)
    ids = torch.randint(16, 300, (2, 16), generator=torch.Generator().manual_seed(0))
    before = model.init_hidden(2, "cpu")
    continues = torch.tensor([True, False])
    documents = torch.zeros_like(ids)

    def run(hidden):
        state = model.bptt_state(hidden, continues)
        return model(ids, document_ids=documents, state=state).hidden, state.hidden

    first, after = run(before)
    # An empty memory changes nothing, to the bit.
    assert torch.equal(first, model(ids, document_ids=documents).hidden)
    second, twice = run(after)
    assert not torch.equal(second[0], first[0])
    assert torch.equal(second[1], first[1])
    assert all(not part.requires_grad for part in after)
    assert twice[1][:, 0].sum() > after[1][:, 0].sum()
    torch.testing.assert_close(twice[1][:, 1], after[1][:, 1])


def test_an_infini_run_keeps_its_memory_and_resumes_to_the_bit(data, tmp_path):
    settings = small.settings(data, data__pack="stateful", run__budget__steps=6)
    settings = {name: value for name, value in settings.items() if not name.startswith("model.")}
    settings |= {f"model.{name}": value for name, value in {**INFINI, "seq_len": 16}.items()}
    train(settings, output=tmp_path / "whole")
    train(settings, output=tmp_path / "run", report=small.stop_at(3))
    shutil.copytree(tmp_path / "run", tmp_path / "spoiled")
    assert train(settings, output=tmp_path / "run").finished
    assert small.weights(tmp_path / "run") == small.weights(tmp_path / "whole")
    step = RunFolder(tmp_path / "spoiled").checkpoints.path(3)
    small.spoil_tensor(step / "recurrent.safetensors", "hidden.0")
    small.write_sums(step)
    train(settings, output=tmp_path / "spoiled")
    assert small.weights(tmp_path / "spoiled") != small.weights(tmp_path / "whole")
