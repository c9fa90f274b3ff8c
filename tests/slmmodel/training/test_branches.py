"""A branch with another batch, budget or optimizer: what it counts, plans and compares follows from what was seen."""

from __future__ import annotations

import shutil

import made_shards as made
import pytest
import small

from slmmodel.budget import BUDGETS
from slmmodel.checkpoint import RunFolder, read_train_state
from slmmodel.errors import InvalidConfig, Mismatch, OptionError, OutputExists, UnknownName
from slmmodel.run_files import last_step_of_other_validation
from slmmodel.trainer import branch, dry_run, train
from slmmodel.training.status import status

STEP, BATCH, LARGER = 8, 64, 256
PLAN = {"allow_mismatch": ["plan"]}


@pytest.fixture(scope="module")
def origin(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("origin") / "run"
    train(small.settings(data, data__pack="concat"), output=path)
    return path


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "run"
    return train(small.settings(data, data__pack="concat", run__budget__tokens=2560, run__save_every=40), output=path)


@pytest.fixture(scope="module")
def ids_per_epoch(data):
    numbers = dry_run(small.settings(data, data__pack="concat"))
    return numbers["tokens"] / numbers["epochs"]


@pytest.mark.parametrize("kind", [kind for kind in BUDGETS if kind not in ("time", "steps")])
@pytest.mark.parametrize("batch", [LARGER, 32])
def test_a_branch_with_another_batch_spends_what_is_left_of_its_budget(
    whole, origin, ids_per_epoch, tmp_path, kind, batch
):
    amount = {"epochs": 2560 / ids_per_epoch}.get(kind) or getattr(whole, kind)
    changes = {"run.batch_tokens": batch, f"run.budget.{kind}": amount, "run.eval_every": 60, "run.save_every": 60}
    branch(origin, STEP, tmp_path / "new", settings=changes)
    planned = dry_run({"run.threads": 1}, output=tmp_path / "new", **PLAN)
    result = train({"run.threads": 1}, output=tmp_path / "new", **PLAN)
    assert result.tokens == STEP * BATCH + (result.step - STEP) * batch
    assert getattr(result, kind) == pytest.approx(amount, rel=0.12)
    assert result.epochs == pytest.approx(result.tokens / ids_per_epoch)
    assert (planned["steps"], planned["tokens"]) == (result.step, result.tokens)
    assert planned["epochs"] == pytest.approx(result.epochs)
    card = (tmp_path / "new" / "README.md").read_text()
    mean = result.tokens / result.step
    assert f"{result.epochs:.2f} epochs, {result.step:,} steps of {mean:,.0f} tokens on average" in card
    assert f"steps of {BATCH} tokens, " in (whole.path / "README.md").read_text()


def test_a_time_budget_pays_for_the_steps_after_the_branch(origin, tmp_path, monkeypatch):
    seconds = read_train_state(RunFolder(origin).checkpoint(STEP))["counters"]["seconds"]
    monkeypatch.setattr("slmmodel.training.step.TrainStep.seconds_per_step", lambda self, seconds: 0.5)
    changes = {"run.batch_tokens": LARGER, "run.budget.time": seconds + 2, "optim.schedule.kind": "const"}
    branch(origin, STEP, tmp_path / "new", settings=changes)
    train({"run.threads": 1}, output=tmp_path / "new", **PLAN)
    assert RunFolder(tmp_path / "new").fingerprint["steps"] == STEP + 4


def test_a_budget_that_the_checkpoint_has_spent_in_epochs_is_refused(origin, ids_per_epoch, tmp_path):
    spent = STEP * BATCH / ids_per_epoch
    branch(origin, STEP, tmp_path / "new", settings={"run.batch_tokens": LARGER, "run.budget.epochs": spent})
    with pytest.raises(OptionError, match="no step is left: step 8 has spent the budget epochs="):
        train({"run.threads": 1}, output=tmp_path / "new", **PLAN)


@pytest.mark.parametrize("changes", [{"run.batch_tokens": LARGER}, {"run.seed": 3}])
def test_a_branch_records_its_own_plan(origin, tmp_path, changes):
    """Allowed once, its sequences are compared with those that it began with, as of any run."""
    branch(origin, STEP, tmp_path / "new", settings={**changes, "run.budget.steps": 16})
    with pytest.raises(Mismatch, match="how the data are cut into sequences differs"):
        train({"run.threads": 1}, output=tmp_path / "new")
    first = train({"run.threads": 1}, output=tmp_path / "new", report=small.stop_at(10), **PLAN)
    assert (first.reason, first.step) == ("terminated", 10)
    branch(tmp_path / "new", 10, tmp_path / "later", settings={"optim.weight_decay": 0.0})
    for path in (tmp_path / "new", tmp_path / "later"):
        result = train({"run.threads": 1}, output=path)
        assert result.step == 16 and not any("another plan" in note for note in result.notes)
    assert RunFolder(tmp_path / "new").fingerprint["plan"] != RunFolder(origin).fingerprint["plan"]


def test_a_branch_tells_the_settings_of_the_steps_before(origin, tmp_path):
    """Its own settings are those of its last steps only: trained from `config.yaml` alone, the run would be another."""
    path, own = tmp_path / "new", RunFolder(branch(origin, STEP, tmp_path / "same").path)
    assert status(own).branch == ["from step 8 of the run run (12 steps planned)"]
    branch(origin, STEP, path, settings={"optim.lr": 0.001, "run.budget.tokens": 1024, "run.save_every": 2})
    first = "from step 8 of the run run (12 steps planned), which had optim.lr 0.01, run.budget.steps 12"
    assert status(RunFolder(path)).branch == [first]
    result = train({"run.threads": 1}, output=path)
    card = (path / "README.md").read_text()
    assert result.branch == RunFolder(path).result["branch"] == [first] and f"* branch {first}\n" in card
    assert "`config.yaml` is the configuration of the steps after the branch, " in card
    assert "branch" not in (origin / "README.md").read_text() and status(RunFolder(origin)).branch == []
    branch(path, 14, tmp_path / "later", settings={"optim.lr": 0.002, "optim.grad_clip": 0.5})
    assert status(RunFolder(tmp_path / "later")).branch == [
        "from step 14 of the run new (16 steps planned), which had optim.grad_clip 1.0, optim.lr 0.001",
        "from step 8 of the run run (12 steps planned), "
        "which had optim.grad_clip 1.0, optim.lr 0.01, run.budget.steps 12",
    ]


def test_an_unfinished_branch_continues_though_its_run_has_another_name_by_now(origin, tmp_path):
    shutil.copytree(origin, tmp_path / "before")
    begun = branch(tmp_path / "before", STEP, tmp_path / "new")
    (tmp_path / "before").rename(tmp_path / "after")
    again = branch(tmp_path / "after", STEP, tmp_path / "new")
    assert again.fingerprint == begun.fingerprint and again.fingerprint["parent"]["run"] == "before"
    with pytest.raises(OutputExists):
        branch(tmp_path / "after", STEP, tmp_path / "new", settings={"optim.lr": 0.001})


def test_a_branch_records_its_own_threads(origin, tmp_path):
    """A number of threads that was allowed at its first step is the one it continues with."""
    branch(origin, STEP, tmp_path / "new")
    train({"run.threads": 2}, output=tmp_path / "new", report=small.stop_at(10), allow_mismatch=["threads"])
    with pytest.raises(Mismatch, match="the number of threads differs from the run's: 1 now, 2 recorded"):
        train({"run.threads": 1}, output=tmp_path / "new")
    assert train({"run.threads": 2}, output=tmp_path / "new").step == 12


def test_a_branch_records_its_own_data(data, origin, tmp_path):
    """Allowed once, other data are compared as those of any run; its checkpoints and its branches are resumed."""
    other, allowed = str(small.data(tmp_path / "other", count=90)), {"allow_mismatch": ["data", "plan"]}
    given = {"run.budget.steps": 16}
    new, later = tmp_path / "new", tmp_path / "later"
    branch(origin, STEP, new, settings=given, data=other)
    with pytest.raises(Mismatch, match="the training data differ"):
        train({"run.threads": 1}, output=new)
    assert train({"run.threads": 1}, output=new, report=small.stop_at(10), **allowed).step == 10
    # The branch of the data of the parent is another one.
    with pytest.raises(OutputExists):
        branch(origin, STEP, new, settings=given)
    branch(origin, STEP, new, settings=given, data=other)
    branch(new, 10, later)
    with pytest.raises(Mismatch, match="the training data differ"):
        train({"run.threads": 1, "data.train": str(data)}, output=new)
    recorded = [RunFolder(path).fingerprint for path in (origin, new)]
    for path in (new, later):
        result = train({"run.threads": 1}, output=path)
        assert result.step == 16 and not any("than it began with" in note for note in result.notes)
        fingerprint = RunFolder(path).fingerprint
        assert all(fingerprint[name] == recorded[1][name] != recorded[0][name] for name in ("data", "plan", "source"))
        assert fingerprint["parent"]["data"] == recorded[0]["data"]


@pytest.mark.parametrize("validates", [True, False])
def test_a_validation_of_other_documents_is_no_result_of_a_branch(origin, tmp_path, validates):
    """Also where the branch is stopped before its first checkpoint, and continues with the one of its run."""
    ids = {"train": [small.documents(60, 3)], "val": [small.documents(6, 4)]}
    other = str(made.write_data(tmp_path / "other", ids if validates else {"train": ids["train"]}))
    given, allowed = {"run.budget.steps": 16, "run.eval_every": 4}, {"allow_mismatch": ["data", "plan"]}
    new, later = branch(origin, STEP, tmp_path / "new", settings=given, data=other), tmp_path / "later"
    assert read_train_state(new.checkpoint(STEP))["best_bpb"] is not None
    stopped = train({"run.threads": 1}, output=new.path, report=small.stop_at(STEP + 1), **allowed)
    assert stopped.val_bpb is stopped.best_bpb is None
    assert sum("another data than" in note for note in stopped.notes) == 1
    note = "the validation up to step 8 scored other documents"
    assert sum(note in each for each in stopped.notes) == 1
    new.checkpoints.remove_after(STEP)
    result = train({"run.threads": 1}, output=new.path)
    assert any(note in each for each in result.notes)
    branch(new.path, 12, later, settings={"run.budget.steps": 18})
    for path, found in ((new.path, result), (later, train({"run.threads": 1}, output=later))):
        own = {line["step"]: line["val_bpb"] for line in small.lines(path) if line["step"] > STEP and "val_bpb" in line}
        assert (list(own)[:2] if validates else not own) == ([12, 16] if validates else True)
        best = min(own.values(), default=None)
        assert (found.best_bpb, found.val_bpb) == (best, own.get(found.step))
        shown = status(RunFolder.open(path))
        assert (shown.best_bpb, shown.val_bpb) == (best, found.val_bpb)


def test_a_cursor_of_batches_keeps_its_place_where_the_batch_changes(data, tmp_path):
    """`bucket` counts batches: 8 of 64 ids are 2 of 256."""
    origin = train(small.settings(data, data__pack="bucket"), output=tmp_path / "run").path
    cursors = []
    for batch in (BATCH, LARGER, 16):
        changes = {"run.batch_tokens": batch, "run.budget.steps": 20}
        begun = branch(origin, STEP, tmp_path / f"of-{batch}", settings=changes)
        cursors.append(read_train_state(begun.checkpoint(STEP))["cursor"])
    assert cursors == [[0, 0, 8], [0, 0, 2], [0, 0, 32]]


@pytest.mark.parametrize(("easy", "is_finite"), [(True, True), (False, True), (True, False)])
def test_a_validation_of_other_targets_begins_the_best_one_again(data, tmp_path, easy, is_finite):
    """With `eval_every: auto` the first documents are scored, with a number all of them.

    is_finite: whether the last validation before the stop was, of which the checkpoint else says nothing.
    """
    settings = small.settings(data, run__eval_every=0, run__patience=2, run__budget__steps=40, optim__lr=1e-9)
    settings["optim.vector_lr"] = 0
    first = train(settings, output=tmp_path / "run", report=small.stop_at(4))
    assert first.reason == "terminated"
    before = small.lines(tmp_path / "run")[-1]
    # Stands for documents that were easier, or harder, than the ones that are scored next.
    folder = RunFolder(tmp_path / "run").checkpoints.path(first.step)
    state = read_train_state(folder)
    factor = 0.5 if easy else 2.0
    state |= {"best_bpb": state["best_bpb"] * factor, "validation": state["validation"] if is_finite else None}
    small.write_state(folder, state)
    result = train(settings | {"run.eval_every": 5}, output=tmp_path / "run")
    found = [line for line in small.lines(tmp_path / "run") if "val_bpb" in line]
    after = [line for line in found if line["val_targets"] != before["val_targets"]]
    assert before["val_targets"] < after[0]["val_targets"]
    assert result.best_bpb == min(line["val_bpb"] for line in after)
    assert result.step >= after[0]["step"] + 10
    notes = [note for note in result.notes if "do not compare" in note]
    assert len(notes) == 1 and f"step {after[0]['step']} scores {after[0]['val_targets']:,} targets" in notes[0]
    shown = status(RunFolder.open(tmp_path / "run"))
    assert (shown.best_bpb, shown.best_step) == (
        result.best_bpb,
        min(after, key=lambda line: line["val_bpb"])["step"],
    )


def test_the_same_targets_keep_the_best_one(data, tmp_path):
    settings = small.settings(data, run__eval_every=2)
    train(settings, output=tmp_path / "run", report=small.stop_at(5))
    result = train(settings | {"run.eval_every": 3}, output=tmp_path / "run")
    found = [line["val_bpb"] for line in small.lines(tmp_path / "run") if "val_bpb" in line]
    assert result.best_bpb == min(found) and not any("do not compare" in note for note in result.notes)


def test_a_card_of_early_stopping_names_the_steps_that_were_taken(data, tmp_path):
    settings = small.settings(data, optim__lr=1e-9, run__patience=2, run__eval_every=1, run__budget__steps=30)
    result = train(settings | {"optim.vector_lr": 0}, output=tmp_path / "run")
    assert f" {result.step} steps of 64 tokens, " in (tmp_path / "run" / "README.md").read_text()


def test_another_optimizer_is_refused_by_name(origin, tmp_path):
    """Its state is not that of the checkpoint, which is intact."""
    with pytest.raises(InvalidConfig, match=r"optim\.name muon cannot change .* hold the state of adamw"):
        branch(origin, STEP, tmp_path / "new", settings={"optim.name": "muon"})
    with pytest.raises(UnknownName, match="adamq"):
        branch(origin, STEP, tmp_path / "new", settings={"optim.name": "adamq"})
    assert not (tmp_path / "new").exists()
    branch(origin, STEP, tmp_path / "new", settings={"optim.name": "adamw", "optim.lr": 1e-3})


def test_another_batch_is_refused_where_its_sequences_carry_a_state(data, tmp_path):
    settings = small.settings(data, data__pack="stateful", run__budget__steps=4)
    train(small.recurrent(settings, "gru"), output=tmp_path / "run")
    with pytest.raises(InvalidConfig, match=r"run\.batch_tokens 128 cannot change .* the state that 4 sequences carry"):
        branch(tmp_path / "run", 4, tmp_path / "new", settings={"run.batch_tokens": 128, "run.budget.steps": 8})
    assert not (tmp_path / "new").exists()
    branch(tmp_path / "run", 4, tmp_path / "new", settings={"run.budget.steps": 8})


def test_the_validation_before_a_branch_is_that_of_the_run_where_the_data_are_equal():
    branch = {"val": "own", "parent": {"step": 4, "val": "own", "parent": {"step": 2, "val": "other"}}}
    assert last_step_of_other_validation(branch) == 2
    assert last_step_of_other_validation(branch["parent"]) == 2
    # An older record names no validation data.
    assert last_step_of_other_validation({"val": "own", "parent": {"step": 4}}) == 0
    assert last_step_of_other_validation({"val": None, "parent": {"step": 4, "val": "other"}}) == 4
