"""Runs with Infini-attention: gates in a group of their own, exact resume, strict loading, wrong settings."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small
import torch
from safetensors.torch import load_file, save_file

from slmmodel.checkpoint import RunFolder
from slmmodel.config import OptimConfig
from slmmodel.data import ArraySource, open_data
from slmmodel.data.opening import StageData, open_source
from slmmodel.decoding_options import SamplingOptions
from slmmodel.errors import CorruptFile, InvalidConfig, OptionError, UnknownName
from slmmodel.evaluation.certificate import evaluate
from slmmodel.generation import generate
from slmmodel.models import build, config_from_dict
from slmmodel.optim import OPTIMIZERS
from slmmodel.optim import build as build_optimizer
from slmmodel.trainer import train

INFINI: dict[str, Any] = {"model__arch": "infini", "model__segment": 4}


@pytest.fixture(scope="module")
def settings(data: Path) -> dict[str, Any]:
    """Packed documents, so that memories begin and end inside rows; the last segment of a row is short."""
    return small.settings(data, **INFINI, model__seq_len=18, run__batch_tokens=72, run__budget__steps=12)


@pytest.fixture(scope="module")
def trained(settings: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("infini") / "run"
    train(settings, output=path)
    return path


def test_gates_move_and_each_line_shows_them_and_the_memory(trained: Path) -> None:
    lines = small.lines(trained)
    assert lines[-1]["loss"] < lines[0]["loss"]
    shown = [line["gates"] for line in lines]
    assert all(len(line["memory_norm"]) == 2 and min(line["memory_norm"]) > 0 for line in lines)
    assert {line["memory_ids"] for line in lines} <= set(range(1, 17))
    for layers in shown:
        assert [len(heads) for heads in layers] == [2, 2]
        assert all(0 < gate < 1 for heads in layers for gate in heads)
    assert all(gate != 0.5 for heads in shown[-1] for gate in heads)


def test_a_stopped_run_continues_to_the_same_bits(settings: dict[str, Any], trained: Path, tmp_path: Path) -> None:
    assert train(settings, output=tmp_path / "run", report=small.stop_at(7)).step == 7
    assert train(settings, output=tmp_path / "run").finished
    assert small.weights(tmp_path / "run") == small.weights(trained)
    assert small.losses(tmp_path / "run") == small.losses(trained)


def test_the_line_before_a_stage_shows_a_sequence_of_its_own_stage(data: Path, tmp_path: Path) -> None:
    """The stage that begins at step 3 has fewer sequences than the index of those before it."""
    source = open_source(data, "train")
    few = ArraySource([source.ids(number, 0, 18).tolist() for number in range(4)], [16] * 4)
    stages = (StageData(1, source, None), StageData(3, few, None))
    settings = small.settings(data, **INFINI, data__pack="bucket", run__batch_tokens=32, run__budget__steps=4)
    opened = replace(open_data(str(data)), stages=stages)
    train(settings, output=tmp_path / "run", data=opened)
    lines = small.lines(tmp_path / "run")
    assert [len(line["gates"]) for line in lines] == [2] * 4
    train(settings, output=tmp_path / "stopped", data=opened, report=small.stop_at(2))
    train(settings, output=tmp_path / "stopped", data=opened)
    assert small.weights(tmp_path / "stopped") == small.weights(tmp_path / "run")
    assert [line["memory_norm"] for line in small.lines(tmp_path / "stopped")] == [
        line["memory_norm"] for line in lines
    ]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_gates_have_a_rate_and_a_decay_of_their_own(name: str) -> None:
    """A gradient of zeros leaves them alone, unless `gate_weight_decay` is set; the schedule applies, `lr` does not."""
    sizes = {**small.MODEL, "arch": "infini", "n_vocab": 300, "segment": 4, "gate_init": "randn"}
    for decay in (0.0, 0.5):
        model = build(config_from_dict(sizes))
        optimizer = build_optimizer(
            model, OptimConfig(name=name, lr=1e-3, gate_lr=0.02, gate_weight_decay=decay, weight_decay=0.1)
        )
        betas = [block.attention.beta for block in model.blocks]
        (group,) = [g for g in optimizer.param_groups if any(p is betas[0] for p in g["params"])]
        assert [id(p) for p in group["params"]] == [id(beta) for beta in betas]
        optimizer.set_lr_factor(0.25)
        assert group["lr"] == pytest.approx(0.02 * 0.25)
        before = [beta.detach().clone() for beta in betas]
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        optimizer.step()
        for beta, old in zip(betas, before, strict=True):
            torch.testing.assert_close(beta.detach(), old * (1 - 0.005 * decay))
    assert any(key.startswith("gates/blocks.0.attention.beta/") for key in optimizer.state())


def test_a_checkpoint_without_a_gate_is_refused(trained: Path, tmp_path: Path) -> None:
    weights = load_file(trained / "model.safetensors")
    del weights["blocks.1.attention.beta"]
    copied(trained, tmp_path)
    save_file(weights, tmp_path / "model.safetensors", {"format": "pt"})
    with pytest.raises(CorruptFile, match=r"lacks 'blocks\.1\.attention\.beta'") as refused:
        RunFolder.open(tmp_path, allow_mismatch=["files"]).model()
    assert refused.value.fix == "restore config.yaml or the weights, which belong to different models"


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("memory", "off", r"unknown entry 'blocks\.0\.attention\.beta'"),
        ("qk_norm", False, r"unknown entry 'blocks\.0\.attention\.k_norm\.gain'"),
    ],
)
def test_a_checkpoint_of_another_kind_of_attention_is_refused(
    trained: Path, tmp_path: Path, name: str, value: Any, fault: str
) -> None:
    import yaml

    copied(trained, tmp_path)
    table = yaml.safe_load((trained / "config.yaml").read_text())
    table["model"][name] = value
    (tmp_path / "config.yaml").write_text(json.dumps(table))
    with pytest.raises(CorruptFile, match=fault):
        RunFolder.open(tmp_path, allow_mismatch=["files"]).model()


def copied(run: Path, to: Path) -> None:
    """The files of a finished run."""
    for file in run.iterdir():
        if file.is_file():
            (to / file.name).write_bytes(file.read_bytes())


def test_a_run_continues_with_its_own_kind_of_attention_alone(settings: dict[str, Any], tmp_path: Path) -> None:
    train(settings, output=tmp_path / "run", report=small.stop_at(4))
    for name, value in {"model.memory": "linear", "model.gate": "tanh", "model.segment": 6}.items():
        with pytest.raises(OptionError, match=f"{name}={value} contradicts the run, which has"):
            train({**settings, name: value}, output=tmp_path / "run")
    with pytest.raises(InvalidConfig, match=r"model\.segment is no setting of model\.arch llama"):
        train({**settings, "model.arch": "llama"}, output=tmp_path / "run")


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"model__segment": 19}, InvalidConfig, "segment 19 is larger than seq_len 18"),
        ({"model__segment": 0}, InvalidConfig, "segment is 0"),
        ({"model__memory": "both"}, InvalidConfig, "memory is 'both'"),
        ({"model__window": 4}, InvalidConfig, "model.window is no setting of model.arch infini"),
        ({"model__arch": "infinit"}, UnknownName, "did you mean 'infini'"),
    ],
)
def test_wrong_settings_are_refused_before_the_first_step(
    data: Path, tmp_path: Path, changes: dict[str, Any], error: type[Exception], text: str
) -> None:
    table = small.settings(data, **{**INFINI, "model__seq_len": 18, "run__batch_tokens": 72, **changes})
    with pytest.raises(error, match=text) as refused:
        train(table, output=tmp_path / "run")
    assert refused.value.fix  # type: ignore[attr-defined]
    assert not (tmp_path / "run").exists()


def test_scoring_and_sampling_beyond_the_length_of_training(trained: Path, data: Path, tmp_path: Path) -> None:
    """Windows as long as the documents, and a state through each document, read the same: whole documents."""
    run, source = RunFolder.open(trained), open_data(str(data)).val
    assert source is not None
    long = evaluate(run, source, seq_len=60).scores
    through = evaluate(run, source, stateful=True).scores
    np.testing.assert_allclose(long.nats, through.nats, atol=1e-4)
    assert not np.allclose(long.nats, evaluate(run, source, seq_len=18).scores.nats, atol=1e-3)
    sample = generate(run.model(), [[1] + [40] * 50], SamplingOptions(temperature=0), max_new_tokens=30)
    assert [len(each.ids) for each in sample] == [30]
    train(small.settings(data, run__budget__steps=2), output=tmp_path / "llama")
    with pytest.raises(OptionError, match="seq_len 60 is out of range") as refused:
        evaluate(RunFolder.open(tmp_path / "llama"), source, seq_len=60)
    assert refused.value.limit == "1 to 16, the seq_len of training: a llama has learned nothing of positions beyond it"
