"""`run` from settings to bundle: what a finished run holds, budgets, early stopping, refusals before the first step."""

from __future__ import annotations

import json
import math

import pytest
import small

from slmmodel.bundle import Bundle
from slmmodel.errors import (
    FinishedRun,
    InvalidConfig,
    InvalidOption,
    LockMismatch,
    MissingShards,
    OutputExists,
    UnknownName,
)
from slmmodel.training import branch, plan, run
from slmmodel.training.budget import PerStep, steps_for
from slmmodel.training.settings import BUDGETS, Budget


def lines(path):
    return [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]


def test_a_run_learns_and_its_bundle_is_whole(data, tmp_path):
    result = run(small.settings(data, run__budget__steps=40, run__eval_every=10), output=tmp_path / "run")
    assert (result.reason, result.step, result.code) == ("finished", 40, 0)
    found = lines(tmp_path / "run")
    assert [line["step"] for line in found] == list(range(1, 41))
    assert found[-1]["loss"] < found[0]["loss"] - 1
    assert [line["step"] for line in found if "val_bpb" in line] == [10, 20, 30, 40]
    assert result.val_bpb == found[-1]["val_bpb"] and result.best_bpb == min(
        x["val_bpb"] for x in found if "val_bpb" in x
    )
    assert found[-1]["targets"] == result.targets and found[-1]["bytes"] == result.bytes
    bundle = Bundle.open(tmp_path / "run")
    assert bundle.finished and bundle.result["weights_sha256"] == result.weights_sha256
    assert bundle.steps.list() == [36, 40] and bundle.steps.best() == 40
    assert "llama" in (bundle.path / "README.md").read_text()
    model = bundle.model()
    assert sum(parameter.numel() for parameter in model.parameters()) == result.parameters
    assert not list(bundle.path.rglob("*.part")) and not list(bundle.path.rglob("*.tmp"))


def test_a_finished_run_is_refused_without_force(data, tmp_path):
    run(small.settings(data), output=tmp_path / "run")
    before = small.weights(tmp_path / "run")
    with pytest.raises(FinishedRun, match="is finished"):
        run(small.settings(data), output=tmp_path / "run")
    run(small.settings(data, optim__lr=1e-3), output=tmp_path / "run", force=True)
    assert small.weights(tmp_path / "run") != before


@pytest.mark.parametrize(
    ("changes", "error"), [({"optim__lrr": 1.0}, InvalidConfig), ({"model__heads": 3}, ValueError)]
)
def test_a_refused_replacement_leaves_the_old_run_whole(data, tmp_path, changes, error):
    """`force` removes a run only once nothing more can be refused."""
    run(small.settings(data), output=tmp_path / "run")
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    with pytest.raises(error):
        run(small.settings(data, **changes), output=tmp_path / "run", force=True)
    run(small.settings(data, run__seed=1), output=tmp_path / "other")
    held = small.weights(tmp_path / "other")
    with pytest.raises(InvalidConfig):
        branch(tmp_path / "run", 12, tmp_path / "other", settings={"optim.lrr": 1.0}, force=True)
    assert small.weights(tmp_path / "other") == held
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()} == before


def test_nothing_that_is_no_run_is_replaced(data, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years")
    for force in (False, True):
        with pytest.raises(OutputExists, match="is no run"):
            run(small.settings(data), output=tmp_path / "mine", force=force)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years"


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"model__context": 0}, ValueError),
        ({"optim__name": "sdg"}, UnknownName),
        ({"optim__schedule__kind": "wds"}, UnknownName),
        ({"optim__schedule__warmup": 50}, InvalidOption),
        ({"data__pack": "contact"}, UnknownName),
        ({"run__track": "tensorbord"}, UnknownName),
        ({"data__val": "nowhere"}, MissingShards),
        ({"run__device": "tpu"}, InvalidOption),
        ({"run__batch_tokens": 17}, InvalidConfig),
    ],
)
def test_what_is_wrong_is_refused_before_the_first_step(data, tmp_path, changes, error):
    with pytest.raises(error):
        run(small.settings(data, **changes), output=tmp_path / "run")
    assert not (tmp_path / "run" / "metrics.jsonl").exists()


def test_per_step_costs_and_budgets():
    per = PerStep(tokens=100, targets=90, bytes=250, flops=1e6, epochs=0.01)
    cases = {"tokens": (1000, 10), "targets": (91, 2), "bytes": (1, 1), "flops": (5e6, 5), "epochs": (2, 200)}
    for kind, (amount, steps) in cases.items():
        assert steps_for(Budget(kind, amount), per) == steps
    assert steps_for(Budget("time", 60), per, seconds_per_step=0.5) == 120
    with pytest.raises(InvalidConfig, match="costs no bytes"):
        steps_for(Budget("bytes", 5), PerStep(1, 1, 0, 1, 1))


@pytest.mark.parametrize("kind", [kind for kind in BUDGETS if kind not in ("time", "steps")])
def test_every_budget_is_kept(data, tmp_path, kind):
    amount = {"tokens": 640, "targets": 640, "bytes": 700, "flops": 1.2e8, "epochs": 0.5}[kind]
    result = run(small.settings(data, **{f"run__budget__{kind}": amount}), output=tmp_path / "run")
    spent = {"tokens": result.tokens, "targets": result.targets, "bytes": result.bytes, "flops": result.flops}
    spent["epochs"] = result.epochs
    assert amount * 0.85 <= spent[kind] <= amount * 1.2
    assert plan(small.settings(data, **{f"run__budget__{kind}": amount}))["steps"] == result.steps


def test_a_budget_of_time_is_planned_by_a_probe_that_leaves_no_trace(data, tmp_path, monkeypatch):
    monkeypatch.setattr("slmmodel.training.session.probe.__defaults__", (0.05,))
    result = run(small.settings(data, run__budget__time="0.6s"), output=tmp_path / "run")
    assert result.steps >= 2 and result.reason == "finished"
    twin = run(small.settings(data, run__budget__steps=result.steps), output=tmp_path / "twin")
    if not Bundle.open(tmp_path / "run").steps.list():
        pytest.fail("no state")
    state = json.loads((tmp_path / "run" / "steps" / f"step-{result.step}" / "train_state.json").read_text())
    if not state["decay"]:
        assert small.weights(tmp_path / "run") == small.weights(tmp_path / "twin")
    assert twin.steps == result.steps


def test_early_stopping(data, tmp_path):
    settings = small.settings(data, optim__lr=1e-9, run__patience=2, run__eval_every=1, run__budget__steps=30)
    settings["optim.vector_lr"] = 0
    result = run(settings, output=tmp_path / "run")
    assert result.reason == "early-stop" and result.step < 30 and result.finished
    assert "early-stop" in (tmp_path / "run" / "README.md").read_text()


def test_packs_and_models(data, tmp_path):
    """Every kind of model and a windowing strategy train through the same loop."""
    for number, changes in enumerate(
        [
            {"model__arch": "gpt2"},
            {"data__pack": "right_pad_once"},
            {"data__pack": "best_fit", "data__doc_mask": True},
        ]
    ):
        settings = small.settings(data, **changes)
        if changes.get("model__arch") == "gpt2":
            settings = {key: value for key, value in settings.items() if key not in ("model.n_kv_heads",)}
        assert math.isfinite(run(settings, output=tmp_path / str(number)).loss)
    recurrent = {key: value for key, value in small.settings(data).items() if not key.startswith("model.")}
    for kind in ("lstm", "gru", "rnn"):
        settings = {**recurrent, "model.arch": kind, "model.n_layers": 1, "model.d_model": 16, "model.hidden_size": 16}
        result = run({**settings, "model.seq_len": 16, "optim.name": "muon"}, output=tmp_path / kind)
        assert math.isfinite(result.loss) and result.val_bpb


def test_two_runs_of_one_seed_are_the_same_and_of_two_are_not(data, tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        run(small.settings(data, run__seed=seed, optim__name="muon"), output=tmp_path / name)
    assert small.weights(tmp_path / "a") == small.weights(tmp_path / "b") != small.weights(tmp_path / "c")


def test_contradicting_options_are_refused_by_name(data, tmp_path):
    import os
    import signal

    settings = small.settings(data, run__budget__steps=30)

    def stop(stage: str, done: int, total: int, text: str) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    assert run(settings, output=tmp_path / "run", report=stop).reason == "terminated"
    with pytest.raises(InvalidOption, match=r"optim\.lr=0\.5 contradicts the run, which has 0\.01"):
        run({**settings, "optim.lr": 0.5}, output=tmp_path / "run")
    with pytest.raises(InvalidOption, match=r"run\.budget\.steps=31 contradicts"):
        run({**settings, "run.budget.steps": 31}, output=tmp_path / "run")
    with pytest.raises(InvalidOption, match=r"model\.d_model=16 contradicts"):
        run({**settings, "model.d_model": 16}, output=tmp_path / "run")
    with pytest.raises(LockMismatch, match="the number of threads"):
        run({**settings, "run.threads": 2}, output=tmp_path / "run")
    other = small.data(tmp_path / "other", 81)
    with pytest.raises(LockMismatch, match="the training data differ") as caught:
        run({**settings, "data.train": str(other)}, output=tmp_path / "run")
    assert "--allow-mismatch data" in str(caught.value.fix)
    run({**settings, "run.keep": 5, "run.log_every": 2}, output=tmp_path / "run")
