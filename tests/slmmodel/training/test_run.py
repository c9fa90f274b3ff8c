"""`train` from settings to run folder: its content, budgets, early stopping, refusals before the first step."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
from types import SimpleNamespace

import made_shards
import numpy as np
import pytest
import small
import torch

from slmmodel.budget import BUDGETS, Budget
from slmmodel.checkpoint import RunFolder
from slmmodel.data import Cursor, open_source
from slmmodel.errors import (
    InvalidConfig,
    Mismatch,
    MissingInput,
    OptionError,
    OutputExists,
    UnknownName,
    UnsupportedFormat,
)
from slmmodel.optim.schedules import Schedule
from slmmodel.trainer import Trainer, branch, dry_run, train
from slmmodel.training.setup import steps_of
from slmmodel.training.step import TrainStep, resolve_precision


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("finished") / "run"
    train(small.settings(data), output=path)
    return path


def test_a_run_learns_and_its_folder_is_complete(data, tmp_path):
    result = train(small.settings(data, run__budget__steps=40, run__eval_every=10), output=tmp_path / "run")
    assert (result.reason, result.step, result.code) == ("finished", 40, 0)
    found = small.lines(tmp_path / "run")
    assert [line["step"] for line in found] == list(range(1, 41))
    assert found[-1]["loss"] < found[0]["loss"] - 1
    assert [line["step"] for line in found if "val_bpb" in line] == [10, 20, 30, 40]
    assert result.val_bpb == found[-1]["val_bpb"] and result.best_bpb == min(
        x["val_bpb"] for x in found if "val_bpb" in x
    )
    assert found[-1]["targets"] == result.targets and found[-1]["bytes"] == result.bytes
    run = RunFolder.open(tmp_path / "run")
    assert run.finished and run.result["weights_sha256"] == result.weights_sha256
    assert run.checkpoints.list() == [36, 40] and run.checkpoints.best() == 40
    assert "llama" in (run.path / "README.md").read_text()
    model = run.model()
    assert sum(parameter.numel() for parameter in model.parameters()) == result.parameters
    assert not list(run.path.rglob("*.part")) and not list(run.path.rglob("*.tmp"))


@pytest.mark.parametrize(("frame", "end"), [(3, 2), (2, 2), (1, 1)])
def test_documents_are_counted_by_the_id_that_ends_them(tmp_path, frame, end):
    """Where the data store the opening id alone, it also ends documents; the vocabulary has another id for that."""
    shards = made_shards.write_data(tmp_path / "data", {"train": [small.documents(20, 0)]}, flags=frame)
    step = small.train_step_of(small.settings(shards, run__batch_tokens=512))
    taken = step.loader.global_batch(Cursor())
    batch = step.loader.batch(taken.sequence_keys)
    found = step.take(taken, 0).documents
    assert found == int(((batch.targets == end) & batch.target_mask).sum()) > 0
    step.close()


def test_a_finished_run_is_refused_without_force(data, finished, tmp_path):
    path = shutil.copytree(finished, tmp_path / "run")
    with pytest.raises(OutputExists, match="is finished"):
        train(small.settings(data), output=path)
    train(small.settings(data, optim__lr=1e-3), output=path, force=True)
    assert small.weights(path) != small.weights(finished)


@pytest.mark.parametrize(
    ("changes", "error"), [({"optim__lrr": 1.0}, InvalidConfig), ({"model__n_heads": 3}, ValueError)]
)
def test_a_refused_replacement_leaves_the_old_run_intact(data, finished, tmp_path, changes, error):
    """`force` removes a run only once nothing more can be refused."""
    path = shutil.copytree(finished, tmp_path / "run")
    with pytest.raises(error):
        train(small.settings(data, **changes), output=path, force=True)
    assert small.tree(path) == small.tree(finished)


def test_a_refused_branch_leaves_the_old_run_intact(data, finished, tmp_path):
    train(small.settings(data, run__seed=1), output=tmp_path / "other")
    before = [small.tree(path) for path in (finished, tmp_path / "other")]
    with pytest.raises(InvalidConfig):
        branch(finished, 12, tmp_path / "other", settings={"optim.lrr": 1.0}, force=True)
    assert [small.tree(path) for path in (finished, tmp_path / "other")] == before


def test_other_folders_are_never_replaced(data, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years")
    for force in (False, True):
        with pytest.raises(OutputExists, match="is not a run folder"):
            train(small.settings(data), output=tmp_path / "mine", force=force)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years"


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"model__seq_len": 0}, ValueError),
        ({"optim__name": "sdg"}, UnknownName),
        ({"optim__schedule__kind": "wds"}, UnknownName),
        ({"optim__schedule__warmup": 50}, OptionError),
        ({"data__pack": "contact"}, UnknownName),
        ({"run__track": "tensorbord"}, InvalidConfig),
        ({"data__val": "nowhere"}, MissingInput),
        ({"run__device": "tpu"}, InvalidConfig),
        ({"run__batch_tokens": 17}, InvalidConfig),
    ],
)
def test_wrong_settings_are_refused_before_the_first_step(data, tmp_path, changes, error):
    with pytest.raises(error):
        train(small.settings(data, **changes), output=tmp_path / "run")
    assert not (tmp_path / "run" / "metrics.jsonl").exists()


def test_automatic_precision_does_not_count_emulated_bf16(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation=True: including_emulation)
    assert resolve_precision("auto", torch.device("cuda")) == "fp16"
    assert resolve_precision("auto", torch.device("cpu")) == "fp32"


def test_per_step_costs_and_budgets():
    per = {"tokens": 100, "targets": 90, "bytes": 250, "flops": 1e6, "epochs": 0.01}
    cases = {"tokens": (1000, 10), "targets": (91, 2), "bytes": (1, 1), "flops": (5e6, 5), "epochs": (2, 200)}
    for kind, (amount, steps) in cases.items():
        assert steps_of(Budget(**{kind: amount}), per) == steps
    assert steps_of(Budget(time=60), per, seconds_per_step=0.5) == 120
    with pytest.raises(InvalidConfig, match="has no bytes"):
        steps_of(Budget(bytes=5), {**per, "bytes": 0})


@pytest.mark.parametrize("kind", [kind for kind in BUDGETS if kind not in ("time", "steps")])
def test_every_budget_is_spent(data, tmp_path, kind):
    amount = {"tokens": 640, "targets": 640, "bytes": 700, "flops": 1.2e8, "epochs": 0.5}[kind]
    result = train(small.settings(data, **{f"run__budget__{kind}": amount}), output=tmp_path / "run")
    spent = {"tokens": result.tokens, "targets": result.targets, "bytes": result.bytes, "flops": result.flops}
    spent["epochs"] = result.epochs
    assert amount * 0.85 <= spent[kind] <= amount * 1.2
    assert dry_run(small.settings(data, **{f"run__budget__{kind}": amount}))["steps"] == result.steps


def test_a_budget_of_time_is_planned_by_a_probe_that_leaves_no_trace(data, tmp_path, monkeypatch):
    monkeypatch.setattr("slmmodel.trainer.PROBE_SECONDS", 0.05)
    result = train(small.settings(data, run__budget__time="0.6s"), output=tmp_path / "run")
    assert result.steps >= 2 and result.reason == "finished"
    twin = train(small.settings(data, run__budget__steps=result.steps), output=tmp_path / "twin")
    if not RunFolder.open(tmp_path / "run").checkpoints.list():
        pytest.fail("no state")
    state = json.loads((tmp_path / "run" / "checkpoints" / f"step-{result.step}" / "train_state.json").read_text())
    if not state["decay_steps"]:
        assert small.weights(tmp_path / "run") == small.weights(tmp_path / "twin")
    assert twin.steps == result.steps


def test_a_branch_of_a_replanned_time_budget_is_planned_again(data, tmp_path, monkeypatch):
    """Other settings of a branch decide its steps, also where its origin had replaced the planned number by another."""
    monkeypatch.setattr("slmmodel.trainer.PROBE_SECONDS", 0.05)
    monkeypatch.setattr("slmmodel.trainer.MAX_UNUSED_TIME", -1.0)
    settings = small.settings(data, run__budget__time="0.6s", optim__schedule__decay=0.9)
    origin = train(settings, output=tmp_path / "run")
    checkpoints = RunFolder.open(tmp_path / "run").checkpoints
    state = json.loads((checkpoints.path(checkpoints.list()[-1]) / "train_state.json").read_text())
    assert state["replanned"] and state["decay_steps"]
    steps = origin.steps + 7
    changes = {"run.budget.steps": steps, "optim.schedule.decay": 3}
    branched = branch(tmp_path / "run", None, tmp_path / "longer", settings=changes)
    result = train({}, output=branched.path)
    assert (result.resumed_from, result.step) == (origin.step, steps)


def test_a_time_budget_is_not_exceeded_where_steps_take_longer_than_the_probe_said(data, tmp_path, monkeypatch):
    """The probe said 0.4 ms a step; by the clock of the run each takes 10 ms."""
    budget, clock, take = 2.0, SimpleNamespace(seconds=0.0), TrainStep.take

    def slow(*arguments):
        clock.seconds += 0.01
        return take(*arguments)

    monkeypatch.setattr(TrainStep, "take", slow)
    monkeypatch.setattr(TrainStep, "seconds_per_step", lambda self, seconds: budget / 5000)
    monkeypatch.setattr("slmmodel.training.running_clock.time", SimpleNamespace(perf_counter=lambda: clock.seconds))
    cheap = {"model__n_layers": 1, "data__val": "none", "run__eval_every": 0, "run__save_every": 100}
    settings = small.settings(data, run__budget__time=f"{budget}s", optim__schedule__decay=4950, **cheap)
    result = train(settings, output=tmp_path / "run")
    assert result.finished and result.step in (199, 200)
    assert 0.99 * budget <= result.seconds <= budget


@pytest.mark.parametrize(
    ("seconds_per_step", "steps"), [(0.1, 600), (0.105, 571), (0.12, 500), (0.095, 600), (0.05, 1200)]
)
@pytest.mark.parametrize("begun", [0, 300])
def test_a_time_budget_is_planned_again_where_it_would_be_exceeded_or_left_over(seconds_per_step, steps, begun):
    """60 seconds are at most 60: a few per cent too many steps are taken back, a few per cent may stay unused.

    The steps before a branch may have had a smaller batch: they say nothing of the time of later ones.
    """
    spent = begun * 0.01
    counters = SimpleNamespace(step=450, seconds=spent + (450 - begun) * seconds_per_step)
    state = SimpleNamespace(steps=600, replanned=False, decay_steps=None, counters=counters)
    budget = SimpleNamespace(kind="time", amount=60.0 + spent - begun * seconds_per_step)
    trainer = SimpleNamespace(
        state=state,
        begun=SimpleNamespace(step=begun, seconds=spent),
        schedule=Schedule(steps=600, decay=150),
        config=SimpleNamespace(run=SimpleNamespace(budget=budget)),
        world=SimpleNamespace(reduce=lambda how, values: values),
    )
    Trainer._replan(trainer)
    assert (state.steps, trainer.schedule.steps) == (steps, steps)


def test_early_stopping(data, tmp_path):
    settings = small.settings(data, optim__lr=1e-9, run__patience=2, run__eval_every=1, run__budget__steps=30)
    settings["optim.vector_lr"] = 0
    result = train(settings, output=tmp_path / "run")
    assert result.reason == "early-stop" and result.step < 30 and result.finished
    assert "early-stop" in (tmp_path / "run" / "README.md").read_text()


def test_architectures_and_packs(data, tmp_path):
    """Every architecture and a windowing strategy train through the same loop."""
    gpt2 = small.settings(data, model__arch="gpt2")
    del gpt2["model.n_kv_heads"]
    packs = [small.settings(data, data__pack=pack) for pack in ("right_pad_once", "best_fit")]
    for number, settings in enumerate([gpt2, *packs]):
        assert math.isfinite(train(settings, output=tmp_path / str(number)).loss)
    for arch in ("lstm", "gru", "rnn"):
        settings = small.recurrent(small.settings(data, optim__name="muon"), arch, n_layers=1)
        result = train(settings, output=tmp_path / arch)
        assert math.isfinite(result.loss) and result.val_bpb


def test_two_runs_of_one_seed_are_the_same_and_of_two_are_not(data, tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        settings = small.settings(data, run__seed=seed, optim__name="muon", run__budget__steps=4)
        train(settings, output=tmp_path / name)
    assert small.weights(tmp_path / "a") == small.weights(tmp_path / "b") != small.weights(tmp_path / "c")


def test_a_validation_says_that_it_goes_on(data, tmp_path):
    found = []
    train(small.settings(data), output=tmp_path / "run", report=lambda *event: found.append(event))
    at = [number for number, (stage, *_) in enumerate(found) if stage == "validation"]
    assert len(at) == 2
    for step, number in zip((6, 12), at, strict=True):
        before = found[:number][::-1]
        said = [text for stage, done, _, text in before if (stage, done) == ("validating", step)]
        assert said[-1] == "0 ids scored" and len(set(said)) == len(said) > 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_that_a_report_forks_leaves_the_run_alone(data, tmp_path):
    parent, codes = os.getpid(), []

    def fork_once(*event):
        if not codes:
            if child := os.fork():
                codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            else:
                sys.exit(7)

    try:
        found = train(small.settings(data), output=tmp_path / "run", report=fork_once)
    finally:
        if os.getpid() != parent:
            os._exit(99)
    assert (codes, found.reason) == ([7], "finished")


def test_contradicting_options_are_refused_by_name(data, tmp_path):
    settings = small.settings(data, run__budget__steps=30)
    assert train(settings, output=tmp_path / "run", report=small.stop_at(1)).reason == "terminated"
    for name, value, text in (
        ("optim.lr", 0.5, r"optim\.lr=0\.5 contradicts the run, which has 0\.01"),
        ("run.budget.steps", 31, r"run\.budget\.steps=31 contradicts"),
        ("model.d_model", 16, r"model\.d_model=16 contradicts"),
    ):
        with pytest.raises(OptionError, match=text):
            train({**settings, name: value}, output=tmp_path / "run")
    with pytest.raises(Mismatch, match="the number of threads"):
        train({**settings, "run.threads": 2}, output=tmp_path / "run")
    other = small.data(tmp_path / "other", 81)
    with pytest.raises(Mismatch, match="the training data differ") as caught:
        train({**settings, "data.train": str(other)}, output=tmp_path / "run")
    assert "--allow-mismatch data" in str(caught.value.fix)
    train({**settings, "run.keep": 5, "run.log_every": 2}, output=tmp_path / "run")


def test_a_run_folder_of_version_1_is_refused_in_one_line(data, tmp_path):
    (tmp_path / "old").mkdir()
    for name in ("config.yaml", "data.lock", "SHA256SUMS"):
        (tmp_path / "old" / name).write_bytes(b"")
    for call in (
        lambda: RunFolder.open(tmp_path / "old"),
        lambda: train(small.settings(data), output=tmp_path / "old"),
    ):
        with pytest.raises(UnsupportedFormat, match="is a run folder of version 1"):
            call()
    assert train(small.settings(data), output=tmp_path / "old", force=True).finished


def test_a_run_on_a_file_of_ids_keeps_its_vocabulary(data, tmp_path):
    """`vocab.json` lies beside the file: without it the run could not be opened."""
    source = open_source(data, "train")
    ids = np.concatenate([source.ids(document, 0, 10**6)[1:] for document in range(source.n_docs)])
    folder = tmp_path / "ids"
    folder.mkdir()
    ids.astype("<u2").tofile(folder / "train.bin")
    (folder / "vocab.json").write_bytes((data / "vocab.json").read_bytes())
    settings = small.settings(folder / "train.bin", data__val="none", run__budget__steps=2, run__eval_every=0)
    assert train(settings, output=tmp_path / "run").reason == "finished"
    assert RunFolder.open(tmp_path / "run").model().config.n_vocab == source.vocab.n_vocab


def test_documents_that_are_numbered_beyond_the_model_are_refused(data, tmp_path):
    settings = small.settings(data, data__positions="true", model__seq_len=8)
    with pytest.raises(InvalidConfig, match=r"data\.positions true"):
        train(settings, output=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("threads", ["1.0", "1e0", 1.0])
def test_a_whole_number_in_any_spelling_is_a_number_of_threads(data, tmp_path, threads):
    settings = small.settings(data, run__threads=threads, run__budget__steps=1)
    assert dry_run(settings)["steps"] == 1
    assert train(settings, output=tmp_path / "run").finished
    assert RunFolder.open(tmp_path / "run").config["run"]["threads"] == 1


def test_remarks_that_arise_during_training_are_shown_as_the_first_ones_are(data, tmp_path):
    shown = []
    settings = small.settings(data, optim__lr=1.0, run__budget__steps=6, optim__schedule__decay=9)
    result = train(settings, output=tmp_path / "run", note=shown.append)
    assert "lower optim.lr if it diverged" in shown[-1]
    assert shown[-2] == "the decay of 9 steps was shortened to 6: warm-up and decay exceed 6 steps"
    assert shown == result.notes


def test_what_may_differ_is_shown_where_a_run_continues(data, tmp_path):
    settings, shown = small.settings(data), []
    train(settings, output=tmp_path / "run", report=small.stop_at(4))
    changed = {**settings, "run.threads": 2}
    result = train(changed, output=tmp_path / "run", note=shown.append, allow_mismatch=["threads"])
    assert shown[:2] == ["continues with another threads than it began with", "continuing at step 4 of 12"]
    assert result.notes == [shown[0]]
