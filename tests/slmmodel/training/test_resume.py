"""Exact resume: bitwise at any step, across signals and crashes; each saved item is necessary; branches."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
from contextlib import suppress

import pytest
import small
import torch
from safetensors.torch import load_file, save_file

from slmmodel import checkpoint, files, sums
from slmmodel.checkpoint import RunFolder
from slmmodel.errors import (
    CorruptFile,
    InvalidConfig,
    MissingInput,
    NotFinite,
    OptionError,
    OutputExists,
    SlmmodelError,
    Unreadable,
)
from slmmodel.trainer import branch, train
from slmmodel.training.step import TrainStep

STEPS = 16


@pytest.fixture(scope="module")
def settings(data):
    """A run whose state has everything in it: Muon, early stopping that counts, a ragged end of the data."""
    changes = {"optim__name": "muon", "run__patience": 50, "run__eval_every": 3, "run__save_every": 5}
    return small.settings(data, run__budget__steps=STEPS, model__n_layers=1, **changes)


@pytest.fixture(scope="module")
def whole(settings, tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "run"
    train(settings, output=path)
    return path


@pytest.fixture
def heard():
    """The signals that reach the program around a training."""
    numbers = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: numbers.append(number))
    yield numbers
    signal.signal(signal.SIGTERM, before)


def test_a_signal_in_the_last_step_finishes_the_run_and_reaches_the_program(settings, whole, tmp_path, heard):
    """An ablation would train its other runs, and `slm train` would score the run, deaf to the signal."""
    result = train(settings, output=tmp_path / "run", report=small.stop_at(STEPS))
    assert result.finished and heard == [signal.SIGTERM]
    assert small.weights(tmp_path / "run") == small.weights(whole)
    with pytest.raises(KeyboardInterrupt):
        train(settings, output=tmp_path / "new", report=small.stop_at(STEPS, signal.SIGINT))
    assert RunFolder(tmp_path / "new").result["reason"] == "finished"
    assert not train(settings, output=tmp_path / "third", report=small.stop_at(STEPS - 1)).finished
    assert heard == [signal.SIGTERM]


def test_stopped_at_random_steps_and_continued_to_the_same_bits(settings, whole, tmp_path, heard):
    """SIGTERM at a random step, again and again, until the run is through."""
    seed, resumed = 0, 0
    while resumed < 12:
        seed += 1
        rng, path, stops = random.Random(seed), tmp_path / f"run{seed}", []
        for _ in range(40):
            done = max(RunFolder(path).checkpoints.list(), default=0) if path.exists() else 0
            at = rng.randint(done + 1, STEPS + 3)
            result = train(settings, output=path, report=small.stop_at(at))
            stops.append(result.step)
            if result.finished:
                break
            assert (result.reason, result.code) == ("terminated", 143)
        assert small.weights(path) == small.weights(whole), stops
        resumed += len(stops) - 1
        lines = small.lines(path)
        assert [line["step"] for line in lines] == list(range(1, STEPS + 1))
        for ours, theirs in zip(lines, small.lines(whole), strict=True):
            for key in ("loss", "lr", "grad_norm", "bytes", "targets", "epoch", "val_bpb"):
                assert ours.get(key) == theirs.get(key)


def test_ctrl_c_and_a_save_in_passing(settings, whole, tmp_path):
    result = train(settings, output=tmp_path / "run", report=small.stop_at(7, signal.SIGINT))
    assert (result.reason, result.code, result.step) == ("interrupted", 130, 7)
    assert RunFolder(tmp_path / "run").checkpoints.newest() == 7
    before, saved = RunFolder(tmp_path / "run"), []

    def save(stage: str, done: int, total: int, text: str) -> None:
        if done == 9 and stage == "training":
            os.kill(os.getpid(), signal.SIGUSR1)
        if done == 9 and stage == "saved":
            saved.append(9 in before.checkpoints.list())

    assert train(settings, output=tmp_path / "run", report=save).finished
    assert saved == [True]
    assert small.weights(tmp_path / "run") == small.weights(whole)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_closed_terminal_saves_and_an_ignored_signal_is_none(settings, tmp_path):
    """As under nohup, and Ctrl-C to a script of which the run is a background job."""
    result = train(settings, output=tmp_path / "run", report=small.stop_at(7, signal.SIGHUP))
    assert (result.reason, result.code, result.step) == ("terminated", 143, 7)
    numbers = (signal.SIGHUP, signal.SIGINT)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        for number in numbers:
            path = tmp_path / number.name
            assert train(settings, output=path, report=small.stop_at(7, number)).finished
            assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_step_is_given_up_between_its_micro_batches(settings, tmp_path, monkeypatch):
    """Nothing of it is applied: the checkpoint is that of the step before, and the run ends in the same bits."""
    backward, calls, settings = TrainStep._backward, [], {**settings, "run.micro_batch": 1}
    train(settings, output=tmp_path / "whole")

    def stopping(self, batch, loss_scale, number):
        calls.append(number)
        if number == step:
            os.kill(os.getpid(), signal.SIGTERM)
        return backward(self, batch, loss_scale, number)

    path = tmp_path / "run"
    for step in (0, 2, 5):
        with monkeypatch.context() as patch:
            patch.setattr(TrainStep, "_backward", stopping)
            result = train(settings, output=path)
        assert calls.count(step) == 1 and result.step == step and result.reason == "terminated"
        assert RunFolder(path).checkpoints.newest() == (step or None)
    train(settings, output=path)
    assert small.weights(path) == small.weights(tmp_path / "whole")


def test_a_second_interrupt_ends_at_once(settings, tmp_path):
    def twice(stage: str, done: int, total: int, text: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train(settings, output=tmp_path / "run", report=twice)


def test_a_crash_during_saving_leaves_an_intact_checkpoint(settings, whole, tmp_path, monkeypatch):
    """Whichever write fails, the same command continues and ends in the same bits."""
    real, path = files.write_synced, tmp_path / "run"
    for crash in (3, 9, 14, 22):
        count = 0

        def failing(target, data, handle, at=crash):
            nonlocal count
            count += 1
            if count == at:
                target.write_bytes(data[: len(data) // 2])
                raise KeyboardInterrupt
            real(target, data, handle)

        monkeypatch.setattr(files, "write_synced", failing)
        with suppress(KeyboardInterrupt, OutputExists):
            train(settings, output=path)
        monkeypatch.setattr(files, "write_synced", real)
    if not RunFolder(path).finished:
        train(settings, output=path)
    assert small.weights(path) == small.weights(whole)


def _spoil(step, name, field, value=None):
    """Changes a tensor of a safetensors file, or a field of `train_state.json`; the sums say that it is intact."""
    if name.endswith(".safetensors"):
        small.spoil_tensor(step / name, field)
    else:
        table = json.loads((step / name).read_text())
        *parents, last = field.split(".")
        inner = table
        for parent in parents:
            inner = inner[parent]
        inner[last] = value
        (step / name).write_bytes(checkpoint.to_json(table))
    small.write_sums(step)


STATE, OPTIM = "train_state.json", "optim.safetensors"
SPOILS = {
    "weights": ("model.safetensors", "blocks.0.mlp.up.weight"),
    "momentum of muon": (OPTIM, "matrices/blocks.0.mlp.up.weight/momentum"),
    "first moment": (OPTIM, "embeddings/embed.weight/exp_avg"),
    "second moment": (OPTIM, "embeddings/embed.weight/exp_avg_sq"),
    "steps of adam": (OPTIM, "vectors/norm.gain/step"),
    "step": (STATE, "counters.step", 3),
    "cursor": (STATE, "cursor", [0, 0, 0]),
    "epoch": (STATE, "cursor", [1, 0, 20]),
    "targets": (STATE, "counters.targets", 1),
    "bytes": (STATE, "counters.bytes", 1),
    "documents": (STATE, "counters.documents", 1),
    "flops": (STATE, "counters.flops", 1.0),
    "tokens": (STATE, "counters.tokens", 1),
    "best": (STATE, "best_bpb", 0.001),
    "targets of the best": (STATE, "best_targets", [1, 1]),
    "window of losses": (STATE, "guard.losses", [0.0] * 30),
    "skipped": (STATE, "guard.skipped", 7),
    "length of metrics": (STATE, "metrics_length", 0),
}


def _facts(path):
    """What may not differ: weights, counters, metrics without their clocks."""
    clocks = {"tokens_per_s", "bytes_per_s", "seconds", "memory"}
    result = {key: value for key, value in RunFolder(path).result.items() if key not in ("seconds", "resumed_from")}
    kept = [{key: value for key, value in line.items() if key not in clocks} for line in small.lines(path)]
    return small.weights(path), result, kept


@pytest.fixture(scope="module")
def stopped(settings, tmp_path_factory):
    """A run that was stopped at step 10, and what it ends in."""
    folder = tmp_path_factory.mktemp("spoil")
    train(settings, output=folder / "run", report=small.stop_at(10))
    shutil.copytree(folder / "run", folder / "plain")
    train(settings, output=folder / "plain")
    return settings, folder / "run", _facts(folder / "plain")


@pytest.mark.parametrize("spoil", SPOILS)
def test_each_saved_item_is_necessary(stopped, tmp_path, spoil):
    """A spoiled item, with sums that say it is sound, makes the run end elsewhere or be refused."""
    settings, origin, expected = stopped
    path = tmp_path / "run"
    shutil.copytree(origin, path)
    step = RunFolder(path).checkpoints.path(10)
    _spoil(step, *SPOILS[spoil])
    shutil.rmtree(RunFolder(path).checkpoints.path(5), ignore_errors=True)
    try:
        train(settings, output=path)
    except SlmmodelError:
        return
    assert _facts(path) != expected


def test_the_count_of_patience_is_necessary(data, tmp_path):
    """Nothing improves; the run ends after so many evaluations, those before the interruption among them."""
    settings = small.settings(data, optim__lr=1e-9, optim__vector_lr=0, run__patience=6, run__eval_every=1)
    result = train({**settings, "run.budget.steps": 30}, output=tmp_path / "whole")
    assert result.reason == "early-stop" and result.step > 4
    for name, count in (("sound", None), ("spoiled", 0)):
        path = tmp_path / name
        stopped = train({**settings, "run.budget.steps": 30}, output=path, report=small.stop_at(result.step - 2))
        folder = RunFolder(path).checkpoints.path(stopped.step)
        if count is not None:
            _spoil(folder, STATE, "evals_since_best", count)
        again = train({**settings, "run.budget.steps": 30}, output=path)
        assert (again.step == result.step) == (count is None)


def test_a_checkpoint_with_wrong_sums_is_skipped(stopped, tmp_path):
    settings, origin, expected = stopped
    path = tmp_path / "run"
    shutil.copytree(origin, path)
    small.spoil_tensor(RunFolder(path).checkpoints.path(10) / "model.safetensors", "norm.gain")
    assert RunFolder(path).checkpoints.newest() == 5
    result = train(settings, output=path)
    assert result.resumed_from == 5 and _facts(path)[0] == expected[0]


@pytest.mark.parametrize("stem", ["model", "optim"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_tensors_of_another_type_are_refused(stopped, tmp_path, stem, dtype):
    """Their sums say that they are sound."""
    settings, origin, _ = stopped
    path = tmp_path / "run"
    shutil.copytree(origin, path)
    step = RunFolder(path).checkpoints.path(10)
    file = step / f"{stem}.safetensors"
    save_file({name: tensor.to(dtype) for name, tensor in load_file(file).items()}, file, metadata={"format": "pt"})
    small.write_sums(step)
    types = f"' of .* has the type {str(dtype).removeprefix('torch.')}, not float32"
    with pytest.raises(CorruptFile, match=types) as refusal:
        train(settings, output=path)
    elsewhere = f"slm resume {path} --step 5 -o {tmp_path / 'run-2'}"
    assert (refusal.value.where, refusal.value.fix) == (str(step), f"resume from another checkpoint: {elsewhere}")
    if stem == "model":
        with pytest.raises(CorruptFile, match=types):
            RunFolder.open(path).model()


@pytest.mark.parametrize("spoil", ["cut", "gone", "flipped"])
def test_metrics_that_were_spoiled_have_no_holes(stopped, tmp_path, spoil):
    settings, origin, expected = stopped
    path, notes = tmp_path / "run", []
    shutil.copytree(origin, path)
    file = path / "metrics.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    if spoil == "flipped":
        file.write_bytes(b"".join([lines[0], lines[1].replace(b":", b"\0", 1), *lines[2:]]))
        kept = [lines[0], *lines[2:10]]
    else:
        kept = lines[:2] if spoil == "cut" else []
        file.write_bytes(b"".join(kept) + lines[2][:9]) if kept else file.unlink()
    train(settings, output=path, note=notes.append)
    assert f"metrics.jsonl was changed since the checkpoint, and {len(kept)} whole lines" in "".join(notes)
    steps = [json.loads(line)["step"] for line in kept]
    assert [line["step"] for line in small.lines(path)] == [*steps, *range(11, STEPS + 1)]
    assert _facts(path)[0] == expected[0]


@pytest.mark.parametrize(
    "name", ["fingerprint.json", "vocab.json", "checkpoints/step-10/optim.safetensors", "metrics.jsonl"]
)
def test_sparse_files_are_neither_hashed_nor_read(stopped, tmp_path, name):
    settings, origin, expected = stopped
    path = tmp_path / "run"
    shutil.copytree(origin, path)
    os.truncate(path / name, 1 << 40)
    if name == "metrics.jsonl":
        branch(path, 10, tmp_path / "new")
        os.truncate(path / "checkpoints" / "best", 1 << 40)
        assert train(settings, output=path).resumed_from == 10 and _facts(path)[0] == expected[0]
        return
    if "step" in name:
        # The checkpoint before it is taken.
        assert train(settings, output=path).resumed_from == 5 and _facts(path)[0] == expected[0]
        return
    with pytest.raises(CorruptFile, match=f"{name} has 1,099,511,627,776 bytes, more than its header or its kind"):
        train(settings, output=path)


def test_a_long_header_of_tensors_is_not_parsed(stopped, tmp_path):
    """Python would parse it for seconds without hearing a signal."""
    lists = b"[" + b"[]," * 1_500_000 + b"[]]"
    path = tmp_path / "model.safetensors"
    path.write_bytes(len(lists).to_bytes(8, "little") + lists)
    assert len(lists) > sums._MAX_HEADER_BYTES and sums.largest_size(path) == 0
    real = stopped[1] / "checkpoints" / "step-10" / "model.safetensors"
    assert sums.largest_size(real) == real.stat().st_size


def test_a_refusal_does_not_load_the_compiler(stopped, tmp_path, monkeypatch):
    settings, origin, _ = stopped
    monkeypatch.setattr(torch, "use_deterministic_algorithms", lambda *_: pytest.fail("imports torch._inductor"))
    shutil.copytree(origin, tmp_path / "run")
    (tmp_path / "run" / "vocab.json").write_text("{}")
    with pytest.raises(CorruptFile):
        train(settings, output=tmp_path / "run")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a named pipe")
@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", [".lock", "metrics.jsonl"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_links_and_pipes_in_the_place_of_files_are_neither_followed_nor_waited_for(stopped, tmp_path, name, kind):
    settings, origin, expected = stopped
    path, other = tmp_path / "run", tmp_path / "other.txt"
    shutil.copytree(origin, path)
    other.write_text("precious")
    (path / name).unlink(missing_ok=True)
    if kind == "link":
        (path / name).symlink_to(other)
    else:
        os.mkfifo(path / name)
    with pytest.raises(Unreadable, match=f"{name} is (a symbolic link|no regular file)"):
        train(settings, output=path)
    assert other.read_text() == "precious"
    (path / name).unlink()
    train(settings, output=path)
    assert _facts(path)[0] == expected[0]


def test_a_checkpoint_of_another_run_is_refused(stopped, tmp_path):
    settings, origin, expected = stopped
    path, other = tmp_path / "run", tmp_path / "other"
    shutil.copytree(origin, path)
    train({**settings, "run.seed": 7}, output=other, report=small.stop_at(10))
    shutil.rmtree(path / "checkpoints" / "step-10")
    shutil.copytree(other / "checkpoints" / "step-10", path / "checkpoints" / "step-10")
    with pytest.raises(
        CorruptFile, match="step-10 is not a checkpoint of this run: it belongs to another run"
    ) as caught:
        train(settings, output=path)
    assert str(caught.value.fix).startswith("rm -r ")
    shutil.rmtree(path / "checkpoints" / "step-10")
    shutil.copytree(path / "checkpoints" / "step-5", path / "checkpoints" / "step-10")
    with pytest.raises(CorruptFile, match="step-10 is not a checkpoint of this run: its state is that of step 5"):
        train(settings, output=path)
    shutil.rmtree(path / "checkpoints" / "step-10")
    train(settings, output=path)
    assert _facts(path)[0] == expected[0]


@pytest.mark.parametrize("change", ["removed", "renamed", "replaced", "replaced by a run"])
@pytest.mark.parametrize("step", [6, STEPS])
def test_a_run_folder_that_is_moved_while_it_is_trained(settings, whole, tmp_path, change, step):
    """Nothing is written or removed in the folder that took its place, and the moved one continues."""
    path, moved, heard = tmp_path / "run", tmp_path / "moved", []

    def report(stage: str, done: int, total: int, text: str) -> None:
        if stage == "training" and done == step and not heard:
            heard.append(path.rename(moved))
            if change == "removed":
                shutil.rmtree(moved)
            elif change != "renamed":
                path.mkdir()
            if change == "replaced by a run":
                shutil.copytree(whole, path, dirs_exist_ok=True)
                (path / ".lock").touch()
                (path / "heartbeat.json").touch()

    with pytest.raises(Unreadable, match="was removed or replaced while it was in use"):
        train(settings, output=path, report=report)
    assert path.exists() == (change.startswith("replaced"))
    if change == "replaced by a run":
        assert not (path / "heartbeat.json").read_bytes()
        (path / "heartbeat.json").unlink()
        (path / ".lock").unlink()
        assert small.tree(path) == small.tree(whole)
    elif change == "replaced":
        assert not list(path.iterdir())
    if change == "renamed":
        (moved / ".lock").unlink()
        train(settings, output=moved)
        assert small.weights(moved) == small.weights(whole)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a named pipe")
@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["pipe", "folder", "link"])
def test_a_branch_waits_for_no_pipe_and_copies_the_files_of_the_checkpoint_alone(stopped, tmp_path, kind):
    _, origin, _ = stopped
    path = tmp_path / "run"
    shutil.copytree(origin, path)

    def put(place):
        place.unlink(missing_ok=True)
        if kind == "pipe":
            os.mkfifo(place)
        elif kind == "folder":
            place.mkdir()
        else:
            place.symlink_to("/dev/zero")

    put(path / "checkpoints" / "step-10" / "notes")
    made = branch(path, 10, tmp_path / "new")
    assert sorted(small.tree(made.checkpoints.path(10))) == sorted(small.tree(RunFolder(origin).checkpoints.path(10)))
    put(path / "metrics.jsonl")
    with pytest.raises(Unreadable, match=r"metrics.jsonl is (a symbolic link|no regular file)"):
        branch(path, 10, tmp_path / "other")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("name", ["heartbeat.json", "README.md", "result.json"])
@pytest.mark.parametrize("force", [False, True])
def test_a_folder_in_the_place_of_a_file_is_found_before_the_training(stopped, whole, tmp_path, name, force):
    settings, origin, _ = stopped
    path = tmp_path / "run"
    shutil.copytree(origin, path)
    (path / name).unlink(missing_ok=True)
    (path / name).mkdir()
    (path / name / "notes").write_text("precious")
    before = small.tree(path)
    with pytest.raises(Unreadable, match=f"{name} is no regular file but a folder") as caught:
        train(settings, output=path, force=force)
    assert f"mv {path / name} elsewhere" in str(caught.value)
    assert small.tree(path) == before
    (path / name).rename(tmp_path / "elsewhere")
    train(settings, output=path, force=force)
    assert small.weights(path) == small.weights(whole)


def test_a_heartbeat_that_cannot_be_removed_fails_no_finished_run(stopped, tmp_path):
    settings, origin, expected = stopped
    path = tmp_path / "run"
    shutil.copytree(origin, path)

    def spoil(stage, done, total, text):
        if stage == "training" and done == 11:
            (path / "heartbeat.json").unlink(missing_ok=True)
            (path / "heartbeat.json").mkdir(exist_ok=True)

    train(settings, output=path, report=spoil)
    assert _facts(path)[0] == expected[0]


def test_folders_named_like_checkpoints_are_left_alone(stopped, tmp_path):
    settings, origin, expected = stopped
    path = tmp_path / "run"
    shutil.copytree(origin, path)
    checkpoints = RunFolder(path).checkpoints
    names = ["step-3990", "step-4000", "step-0005", f"step-{'9' * 200}"]
    for name in names:
        (checkpoints.folder / name).mkdir()
        (checkpoints.folder / name / "notes").write_text("precious")
    sums = f"{hashlib.sha256(b'precious').hexdigest()}  notes\n"
    (checkpoints.folder / "step-4000" / "SHA256SUMS").write_text(sums)
    assert (checkpoints.list(), checkpoints.newest()) == ([5, 10], 10)
    with pytest.raises(MissingInput, match=r"step-3990 is no checkpoint: it has no train_state\.json"):
        RunFolder(path).checkpoint(3990)
    assert train(settings, output=path).resumed_from == 10
    assert _facts(path)[0] == expected[0]
    assert all((checkpoints.folder / name / "notes").read_text() == "precious" for name in names)


def test_weights_of_a_checkpoint_under_the_name_of_another_are_refused(stopped, tmp_path):
    _, origin, _ = stopped
    path = tmp_path / "run"
    shutil.copytree(origin, path)
    shutil.copytree(path / "checkpoints" / "step-5", path / "checkpoints" / "step-3990")
    with pytest.raises(CorruptFile, match="step-3990 is not a checkpoint of this run: its state is that of step 5"):
        RunFolder.open(path).model()


LINKED = {"checkpoints": "checkpoints", "a step": "checkpoints/step-10", "a later step": "checkpoints/step-15"}


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="symbolic links")
@pytest.mark.parametrize("name", LINKED)
@pytest.mark.parametrize("is_early", [True, False])
def test_nothing_is_written_or_removed_through_links_to_checkpoints(stopped, tmp_path, name, is_early):
    settings, origin, expected = stopped
    path, place, elsewhere = tmp_path / "run", tmp_path / "run" / LINKED[name], tmp_path / "elsewhere"
    shutil.copytree(origin, path)
    before = []

    def link(stage: str = "training", done: int = 11, total: int = 0, text: str = "") -> None:
        if stage == "training" and done == 11 and not before:
            if place.exists():
                place.rename(elsewhere)
            else:
                shutil.copytree(path / "checkpoints" / "step-10", elsewhere)
            place.symlink_to(elsewhere)
            before.append(small.tree(elsewhere))

    if is_early:
        link()
    with pytest.raises(Unreadable, match=f"{place.name} is a symbolic link") as caught:
        train(settings, output=path, report=link)
    assert f"mv {place} elsewhere" in str(caught.value)
    assert before == [small.tree(elsewhere)]
    place.unlink()
    if "later" not in name:
        elsewhere.rename(place)
    train(settings, output=path)
    assert _facts(path)[0] == expected[0]


@pytest.mark.parametrize("name", ["checkpoints", *(f"checkpoints/step-{name}" for name in ("5", "15", "15-bad"))])
@pytest.mark.parametrize("is_early", [True, False])
def test_files_in_the_place_of_checkpoints_are_named(stopped, tmp_path, name, is_early):
    settings, origin, expected = stopped
    path, place = tmp_path / "run", tmp_path / "run" / name
    shutil.copytree(origin, path)

    def spoil(stage: str = "training", done: int = 11, total: int = 0, text: str = "") -> None:
        if stage == "training" and done == 11 and not place.is_file():
            shutil.rmtree(place, ignore_errors=True)
            place.write_text("precious")

    if is_early:
        spoil()
    with pytest.raises(Unreadable, match=f"{place.name} is not a folder") as caught:
        train(settings, output=path, report=spoil)
    assert f"mv {place} elsewhere" in str(caught.value) and place.read_text() == "precious"
    place.unlink()
    train(settings, output=path)
    assert _facts(path)[0] == expected[0]


@pytest.mark.parametrize("name", ["step-15.tmp", "step-10.old.tmp"])
def test_leftovers_that_are_links_or_files_are_removed_but_not_followed(stopped, tmp_path, name):
    settings, origin, expected = stopped
    shutil.copytree(origin, tmp_path / "run")
    shutil.copytree(origin, tmp_path / "other")
    (tmp_path / "run" / "checkpoints" / name).symlink_to(tmp_path / "other")
    train(settings, output=tmp_path / "run")
    assert _facts(tmp_path / "run")[0] == expected[0] and small.tree(tmp_path / "other") == small.tree(origin)
    assert not list((tmp_path / "run" / "checkpoints").glob("*.tmp"))


def test_other_names_among_checkpoints_are_left(stopped, tmp_path):
    settings, origin, expected = stopped
    shutil.copytree(origin, tmp_path / "run")
    (tmp_path / "run" / "checkpoints" / "step-²").mkdir()
    train(settings, output=tmp_path / "run")
    assert _facts(tmp_path / "run")[0] == expected[0]


@pytest.mark.parametrize("name", ["config.yaml", "vocab.json", "fingerprint.json"])
def test_edited_files_are_refused(stopped, tmp_path, name):
    settings, origin, _ = stopped
    path = tmp_path / "run"
    shutil.copytree(origin, path)
    with (path / name).open("ab") as file:
        file.write(b"\n")
    with pytest.raises(CorruptFile, match=f"{name} differs from SHA256SUMS"):
        train(settings, output=path)
    assert train(settings, output=path, allow_mismatch=["files"]).finished


def test_branches(stopped, tmp_path):
    settings, origin, expected = stopped
    branch(origin, None, tmp_path / "same")
    assert train(settings, output=tmp_path / "same").finished
    assert _facts(tmp_path / "same")[0] == expected[0]
    branch(origin, 5, tmp_path / "other", settings={"run.budget.steps": 8, "optim.lr": 1e-3})
    result = train({"run.threads": 1}, output=tmp_path / "other")
    assert (result.steps, result.resumed_from, result.finished) == (8, 5, True)
    assert RunFolder.open(tmp_path / "other").fingerprint["parent"]["step"] == 5
    assert RunFolder.open(tmp_path / "other").config["optim"]["lr"] == 1e-3
    assert RunFolder(origin).checkpoints.list() == [5, 10], "the old run is as it was"
    with pytest.raises(OutputExists):
        branch(origin, 5, tmp_path / "other")
    with pytest.raises(MissingInput, match="no checkpoint of step 7"):
        branch(origin, 7, tmp_path / "third")
    with pytest.raises(OptionError, match="is the run itself"):
        branch(origin, 5, origin)
    with pytest.raises(SlmmodelError, match=r"model\.d_model cannot change in a run"):
        branch(origin, 5, tmp_path / "fourth", settings={"model.d_model": 16})
    assert not (tmp_path / "fourth").exists()


@pytest.mark.parametrize(
    ("stem", "end", "value", "kind", "content"),
    [
        ("model", "", float("nan"), NotFinite, "NaN or infinity"),
        ("optim", "", float("nan"), NotFinite, "NaN or infinity"),
        ("optim", "/exp_avg_sq", -1, CorruptFile, "values below 0"),
        ("optim", "/step", -1, CorruptFile, "values below 0"),
    ],
)
def test_tensors_that_make_weights_nan_are_not_trained_on(stopped, tmp_path, stem, end, value, kind, content):
    """Nor a state of the optimizer, which would be blamed on the learning rate three steps later."""
    settings, origin, _ = stopped
    path = tmp_path / "run"
    shutil.copytree(origin, path)
    newest = path / "checkpoints" / "step-10"
    tensors = load_file(newest / f"{stem}.safetensors")
    name = min(each for each in tensors if each.endswith(end))
    tensors[name].view(-1)[0] = value
    save_file(tensors, newest / f"{stem}.safetensors", {"format": "pt"})
    small.write_sums(newest)
    for call in (lambda: train(settings, output=path), lambda: branch(path, 10, tmp_path / "new")):
        with pytest.raises(kind, match=f"{content}, in the tensor '{name}'") as caught:
            call()
        assert f"--step 5 -o {tmp_path / 'run-2'}" in str(caught.value.fix)
        # Equal settings would lead to equal weights.
        assert ("--set optim.lr=" in str(caught.value.fix)) == (stem == "model")
    assert not (tmp_path / "new").exists()
    branch(path, 5, tmp_path / "run-2")
    assert train(settings, output=tmp_path / "run-2").finished


def test_weights_of_states_and_of_the_end(whole, stopped):
    run = RunFolder.open(whole)
    end, state = run.model(), run.model(step=STEPS)
    for name, tensor in end.state_dict().items():
        assert torch.equal(tensor, state.state_dict()[name])
    assert not end.training
    assert RunFolder.open(stopped[1]).weights().name == "step-10"


@pytest.mark.parametrize(("own", "other", "limit"), [("fp64", "fp32", "fp64"), ("fp32", "fp64", "auto, fp32, bf16")])
def test_a_branch_with_another_type_of_weights_is_refused_by_the_setting(data, tmp_path, own, other, limit):
    """Its checkpoint was called corrupt."""
    train(small.settings(data, run__budget__steps=4, run__precision=own), output=tmp_path / "run")
    options = {"run.budget.steps": 6, "run.precision": other}
    with pytest.raises(InvalidConfig, match=rf"run\.precision {other} cannot change .* weights of {own}") as caught:
        branch(tmp_path / "run", 4, tmp_path / "new", settings=options)
    assert str(caught.value.limit).startswith(f"run.precision {limit}") and not (tmp_path / "new").exists()
    same = {"fp64": "fp64", "fp32": "bf16"}[own]
    branch(tmp_path / "run", 4, tmp_path / "new", settings={**options, "run.precision": same})
