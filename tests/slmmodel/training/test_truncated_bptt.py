"""Truncated BPTT: recurrent models continue where the last step stopped; the state is saved and necessary."""

from __future__ import annotations

import shutil

import pytest
import small
import torch
from made_shards import source, vocab

from slmmodel.checkpoint import RunFolder
from slmmodel.data import Cursor, Loader
from slmmodel.models import build, config_from_dict
from slmmodel.trainer import train
from slmmodel.training.loss import Loss
from slmmodel.training.truncated_bptt import TruncatedBPTT


def stateful_settings(data, kind="lstm", **changes):
    return small.recurrent(small.settings(data, data__pack="stateful", run__budget__steps=20, **changes), kind)


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
        made.run(taken, step)
        cursor = taken.next
    before = made.bptt.tensors()
    made.seconds_per_step(0.0)
    made.close()
    assert all(torch.equal(after, before[name]) for name, after in made.bptt.tensors().items())


def test_smaller_micro_batches_give_the_same_curve(data, tmp_path):
    for micro in (12, 5):
        train(
            stateful_settings(data, run__batch_tokens=192, run__micro_batch=micro, optim__lr=1e-3),
            output=tmp_path / str(micro),
        )
    assert small.losses(tmp_path / "12") == pytest.approx(small.losses(tmp_path / "5"), rel=1e-5)


def test_rows_continue_where_they_stopped():
    """A sequence in two halves with the kept state gives the nats of the whole sequence."""
    table = {"arch": "gru", "n_vocab": 300, "seq_len": 32, "n_layers": 1, "d_model": 8, "hidden_size": 8}
    model = build(config_from_dict(table), seed=1)
    torch.nn.init.normal_(model.cells.weight_hh_l0, generator=torch.Generator().manual_seed(0))
    corpus, total = source([127, 128, 255]), {}
    for seq_len in (16, 32):
        loader = Loader(corpus, vocab(), seq_len=seq_len, batch_size=4, pack="stateful", shuffle=False)
        kept, cursor, nats = TruncatedBPTT(model, 4, torch.device("cpu")), Cursor(), 0.0
        for _ in range(len(loader.packing(0, 0)) // 4):
            taken = loader.global_batch(cursor)
            cursor = taken.next
            batch = loader.batch(taken.sequence_keys)
            kept.begin(int(taken.sequence_keys[0, 2]))
            state = kept.read(batch)
            nats += float(Loss().sum_nats(model, batch, state=state).detach())
            kept.write(batch, state)
            kept.commit()
        total[seq_len] = nats
    assert total[16] == pytest.approx(total[32], rel=1e-5)
