"""Lanes: recurrent models that read on where the last step stopped; the state is carried, saved, and necessary."""

from __future__ import annotations

import json
import shutil

import pytest
import small
import torch

from slmmodel.bundle import Bundle, files
from slmmodel.training import run


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """Each step is reported, so that signals come exactly where a test wants them."""
    monkeypatch.setattr("slmmodel.training.meters.SHOW_EVERY", 0.0)


def _digest(path):
    return files.digest(path / "model.safetensors")


def lane_settings(data, kind="lstm", **changes):
    table = small.settings(data, data__pack="lanes", run__budget__steps=20, **changes)
    table = {key: value for key, value in table.items() if not key.startswith("model.")}
    return {
        **table,
        "model.arch": kind,
        "model.n_layers": 2,
        "model.d_model": 16,
        "model.hidden_size": 16,
        "model.seq_len": 16,
    }


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_the_state_of_lanes_is_carried_saved_and_necessary(data, tmp_path, kind):
    """Over the head of the lanes, too: the run reads the data more than once."""
    settings = lane_settings(data, kind, run__batch_tokens=192)
    run(settings, output=tmp_path / "whole")
    for at in (4, 11):
        path = tmp_path / f"run{at}"
        run(settings, output=path, report=small.stop_at(at))
        shutil.copytree(path, tmp_path / f"spoiled{at}")
        assert run(settings, output=path).finished
        assert _digest(path) == _digest(tmp_path / "whole")
        step = Bundle(tmp_path / f"spoiled{at}").steps.path(at)
        small.spoil_tensor(step / "state.safetensors", "hidden.0")
        (step / files.SUMS).write_bytes(files.sums_of(step, files.read_sums(step)))
        run(settings, output=tmp_path / f"spoiled{at}")
        assert _digest(tmp_path / f"spoiled{at}") != _digest(tmp_path / "whole")


def test_lanes_in_smaller_parts_walk_the_same_curve(data, tmp_path):
    for micro in (12, 5):
        run(
            lane_settings(data, run__batch_tokens=192, run__micro_batch=micro, optim__lr=1e-3),
            output=tmp_path / str(micro),
        )
    curves = [
        [json.loads(line)["loss"] for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
        for name in ("12", "5")
    ]
    assert curves[0] == pytest.approx(curves[1], rel=1e-5)


def test_lanes_read_on_where_they_stopped():
    """A row in two halves with the carried state gives the nats of the whole row."""
    from made_shards import source, vocab

    from slmmodel.data.loader import Cursor, Loader
    from slmmodel.models import ModelConfig, build
    from slmmodel.training.carry import Carry
    from slmmodel.training.loss import Loss

    table = {"arch": "gru", "n_vocab": 300, "seq_len": 32, "n_layers": 1, "d_model": 8, "hidden_size": 8}
    model = build(ModelConfig.from_dict(table), seed=1)
    torch.nn.init.normal_(model.cells.weight_hh_l0, generator=torch.Generator().manual_seed(0))
    corpus, total = source([127, 128, 255]), {}
    for context in (16, 32):
        loader = Loader(corpus, vocab(), context=context, rows_per_step=4, pack="lanes", shuffle=False)
        carry, cursor, nats = Carry(model, 4, torch.device("cpu")), Cursor(), 0.0
        for _ in range(len(loader.plan(0, 0)) // 4):
            taken = loader.step(cursor)
            cursor = taken.next
            batch = loader.batch(taken.rows)
            carry.begin(int(taken.rows[0, 2]))
            state = carry.state(batch)
            nats += float(Loss().sum(model, batch, state=state).detach())
            carry.keep(batch, state)
            carry.finish()
        total[context] = nats
    assert total[16] == pytest.approx(total[32], rel=1e-5)
