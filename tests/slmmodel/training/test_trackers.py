"""Trackers of `run.track`: the tags that each of them gets, and a package that is missing or refuses."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, get_args

import pytest
import small

from slmmodel.config import OPTIONS
from slmmodel.errors import MissingPackage, Unreadable
from slmmodel.trainer import dry_run, train
from slmmodel.training.metrics import scalars
from slmmodel.training.trackers import TAGS, TRACKERS, tagged

VAL_TAGS = {"val/loss", "val/bpb", "val/targets"}
ALWAYS = {"train/loss", "train/bpb", "train/tokens", "optim/lr", "optim/grad_norm", "speed/tokens_per_s"}


class Recorder(ModuleType):
    """Stands for a package with `init`, `log` and `finish`, as trackio and wandb have."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.runs: list[dict[str, Any]] = []
        self.rows: list[tuple[int, dict[str, float]]] = []
        self.finished = 0
        self.__spec__ = ModuleSpec(name, None)

    def Settings(self, **options: Any) -> dict[str, Any]:  # noqa: N802 - the name of wandb
        return options

    def init(self, **options: Any) -> Recorder:
        print("what trackio prints")
        self.runs.append(options)
        return self

    def log(self, values: dict[str, float], step: int) -> None:
        self.rows.append((step, values))

    def finish(self) -> None:
        self.finished += 1


@pytest.fixture(params=["trackio", "wandb"])
def package(request, monkeypatch):
    """A recorder in place of the package."""
    recorder = Recorder(request.param)
    monkeypatch.setitem(sys.modules, request.param, recorder)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    return recorder


def test_every_name_of_the_setting_is_a_tracker():
    assert get_args(get_args(OPTIONS["run.track"].annotation)[0]) == tuple(TRACKERS)


def test_every_number_of_a_line_has_a_group(data, tmp_path):
    train(small.settings(data), output=tmp_path / "run")
    names = {name for line in small.lines(tmp_path / "run") for name in line} - {"step", "sequences"}
    assert names <= set(TAGS)
    assert {tag.partition("/")[0] for tag in TAGS.values()} == {"train", "val", "optim", "speed"}


def test_metrics_are_grouped(package, data, tmp_path, capsys):
    train(small.settings(data, run__track=package.__name__), output=tmp_path / "run")
    assert [step for step, _ in package.rows] == list(range(1, 13)) and package.finished == 1
    lines = small.lines(tmp_path / "run")
    assert [values["train/loss"] for _, values in package.rows] == [line["loss"] for line in lines]
    assert all(set(values) >= ALWAYS for _, values in package.rows)
    assert set(package.rows[-1][1]) >= VAL_TAGS
    (options,) = package.runs
    assert (options["project"], options["name"]) == ("slmmodel", "run")
    assert options["config"]["run"]["track"] == [package.__name__]
    if package.__name__ == "wandb":
        assert options["mode"] == "offline" and options["dir"] == str(tmp_path / "run")
    else:
        assert capsys.readouterr().out == "", "stdout is for the result"


def test_a_resumed_run_is_the_same_run(package, data, tmp_path):
    settings = small.settings(data, run__track=package.__name__, run__save_every=4)
    assert not train(settings, output=tmp_path / "run", report=small.stop_at(6)).finished
    train(settings, output=tmp_path / "run")
    first, second = package.runs
    if package.__name__ == "wandb":
        assert first["id"] == second["id"] and first["resume"] == second["resume"] == "allow"
    else:
        assert (first["resume"], second["resume"]) == ("never", "allow")


def test_wandb_goes_online_on_request(data, tmp_path, monkeypatch):
    recorder = Recorder("wandb")
    monkeypatch.setitem(sys.modules, "wandb", recorder)
    monkeypatch.setenv("WANDB_MODE", "online")
    monkeypatch.setenv("WANDB_PROJECT", "mine")
    train(small.settings(data, run__track="wandb"), output=tmp_path / "run")
    assert recorder.runs[0]["mode"] is None and recorder.runs[0]["project"] == "mine"


def test_tensorboard(data, tmp_path):
    pytest.importorskip("tensorboard")
    train(small.settings(data, run__track="tensorboard"), output=tmp_path / "run")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    events.Reload()
    assert [event.step for event in events.Scalars("train/loss")] == list(range(1, 13))
    assert set(events.Tags()["scalars"]) >= ALWAYS | VAL_TAGS


def test_trackio(data, tmp_path, monkeypatch):
    pytest.importorskip("trackio")
    from trackio import sqlite_storage

    monkeypatch.setattr(sqlite_storage, "TRACKIO_DIR", tmp_path / "trackio")
    train(small.settings(data, run__track="trackio"), output=tmp_path / "run")
    rows = sqlite_storage.SQLiteStorage.get_logs("slmmodel", "run")
    assert [row["step"] for row in rows] == list(range(1, 13)) and set(rows[-1]) >= ALWAYS | VAL_TAGS


@pytest.mark.cluster
def test_wandb_offline(data, tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.delenv("WANDB_MODE", raising=False)
    train(small.settings(data, run__track="wandb"), output=tmp_path / "run")
    (log,) = (tmp_path / "run" / "wandb").glob("offline-run-*/*.wandb")
    assert all(tag.encode() in log.read_bytes() for tag in ALWAYS | VAL_TAGS)


@pytest.mark.parametrize("name", TRACKERS)
def test_a_missing_package_is_found_before_anything_is_written(data, tmp_path, monkeypatch, name):
    monkeypatch.setattr("slmmodel.training.trackers.find_spec", lambda name: None)
    settings = small.settings(data, run__track=name)
    with pytest.raises(MissingPackage, match=f"run.track={name} needs the package {name}") as caught:
        train(settings, output=tmp_path / "run")
    assert f"pip install {name}" in str(caught.value) and not (tmp_path / "run").exists()
    with pytest.raises(MissingPackage):
        dry_run(settings)


def test_a_package_that_refuses(package, data, tmp_path, monkeypatch):
    """The run goes on without the tracker: the setting does not decide the weights."""

    def refuse(**options: Any) -> None:
        raise RuntimeError("no API key")

    monkeypatch.setattr(package, "init", refuse)
    with pytest.raises(Unreadable, match=f"{package.__name__} cannot be opened: no API key"):
        train(small.settings(data, run__track=package.__name__), output=tmp_path / "run")
    assert train(small.settings(data, run__track="none"), output=tmp_path / "run").finished


def test_what_a_model_adds_is_a_group_of_its_own():
    line = {"step": 1, "loss": 2.5, "spike": True, "lr": None, "gates": [[0.5], [0.25, 0.75]]}
    assert tagged(scalars(line)) == {"train/loss": 2.5, "model/gates/layer_0": 0.5, "model/gates/layer_1": 0.5}
