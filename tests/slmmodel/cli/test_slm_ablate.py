"""`slm ablate`: matched models from text to a verdict, the same bytes after any interruption, and what is refused."""

from __future__ import annotations

import base64
import importlib
import itertools
import json
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from printed_fixes import fix_of

import slmtok
from slmmodel import app
from slmmodel.ablation import runs
from slmmodel.ablation.runs import Speed
from slmmodel.cli import main
from slmmodel.cli.ablation_files import load_ablation, load_lock, read_times
from slmmodel.errors import NotFinite
from slmmodel.evaluation.comparison import read_losses
from slmmodel.models import build, config_from_dict
from slmtok.analysis.baselines import witten_bell
from slmtok.errors import MissingInput
from slmtok.shards import open_shards
from slmtok.stories import story

STUDY = Path(__file__).resolve().parents[3] / "docs/studies/vocabulary"
SHAPE = ["d_model=32", "n_layers=1", "n_heads=2", "n_kv_heads=2", "d_ff=64", "seq_len=64"]
SETS = [part for one in SHAPE for part in ("--set", f"model.{one}")]
COMMON = ["--cpu", "--threads", "1", *SETS, "--set", "run.batch_tokens=512"]


def shuffled(tok: slmtok.Tokenizer, seed: int = 0) -> slmtok.Tokenizer:
    """The same tokens, whose merges are in another order: a worse way to cut the same text."""
    rng, merges = np.random.default_rng(seed), list(tok.vocabulary.merges)
    ids, order, left = {id: id for id in range(272)}, [], dict(enumerate(merges, 272))
    while left:
        ready = [id for id, parts in left.items() if all(part in ids for part in parts[:2])]
        chosen = int(rng.choice(ready))
        order.append(tuple(ids[part] for part in left.pop(chosen)[:2]))
        ids[chosen] = 271 + len(order)
    return slmtok.Tokenizer(replace(tok.vocabulary, merges=tuple(order)))


@pytest.fixture(autouse=True, scope="module")
def short_measurements() -> Iterator[None]:
    """The estimate takes two steps of each arm and one document, not seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("slmmodel.ablation.runs.MEASURED_SECONDS", 0.0)
        patch.setattr("slmmodel.ablation.runs.MEASURED_TOKENS", 64)
        yield


@pytest.fixture
def no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page is that of `slm report`, which has its own tests."""
    monkeypatch.setattr("slmmodel.cli.ablate._write_page", lambda folder: None)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stories, a tokenizer, a slice of it, the same one again, and one with its merges in another order."""
    folder = tmp_path_factory.mktemp("ablate")
    texts = [story(index) for index in range(120)]
    (folder / "text.txt").write_text("\n\n".join(texts))
    tok = slmtok.train(slmtok.Texts(texts), vocab_size=600)
    tok.save(folder / "a.json")
    tok.save(folder / "same.json")
    slmtok.slice(tok, 400).save(folder / "b.json")
    shuffled(tok).save(folder / "shuffled.json")
    return folder


def arguments(inputs: Path, *names: str, steps: int = 4, seeds: int = 2) -> list[str]:
    arms = [part for name in names for part in ("-t", str(inputs / f"{name}.json"))]
    text = ["--text", str(inputs / "text.txt"), "--separator", "\\n\\n", "--val", "hash:20%"]
    return ["ablate", *arms, *text, *COMMON, "--budget", f"steps={steps}", "--seeds", str(seeds), "-q"]


@pytest.fixture(scope="module")
def finished(inputs: Path) -> Path:
    """An ablation of three arms, two of them identical, two seeds, and two matches."""
    folder = inputs / "out"
    torch.set_num_threads(1)
    assert main([*arguments(inputs, "a", "same", "b"), "--also", "tokens", "-o", str(folder)]) == 0
    return folder


def test_quiet_leaves_out_the_notes(slm, inputs: Path, finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "again")
    line = [*arguments(inputs, "a", "same", "b"), "--also", "tokens", "-o", tmp_path / "again"]
    assert slm(*line, code=0).err == ""
    line.remove("-q")
    err = slm(*line, code=0).err
    assert "note: power:" in err and "note: two arms cut text alike" in err


def test_the_result_has_all_arms_views_and_runs(finished: Path) -> None:
    found = load_ablation(str(finished / "ablation.json"))
    assert [arm["name"] for arm in found["arms"]] == ["a", "same", "b"]
    assert [view["match"] for view in found["views"]] == ["bytes", "tokens"]
    assert found["exploratory"] == [] and found["seeds"] == [0, 1] and found["baseline"] == "a"
    assert found["lock"] == {key: load_lock(str(finished / "ablation.lock"))[key] for key in found["lock"]}
    for view in found["views"]:
        assert view["realised"][view["quantity"]] <= 0.01
        assert {pair["arm"] for pair in view["pairs"]} == {"same", "b"}
        for arm in view["arms"]:
            assert len(arm["runs"]) == len(arm["bpb_by_seed"]) == 2
            assert arm["bpb"] == pytest.approx(np.mean(arm["bpb_by_seed"]), rel=1e-6)
            assert all((finished / run / "result.json").is_file() for run in arm["runs"])
    train, val = (reference_documents(finished, split) for split in ("train", "val"))
    bits = witten_bell(train, val)
    assert list(found["baselines"]["ngram"].values()) == pytest.approx(bits, rel=1e-12)
    assert found["baselines"]["train_bytes"] == sum(map(len, train))
    page = (finished / "report.html").read_text()
    assert "Without a model" in page and f"{min(bits):.4f}" in page
    curve = found["views"][0]["curves"][0]
    assert len(curve["bytes"]) == len(curve["bpb"]) == 4 and curve["bytes"] == sorted(curve["bytes"])
    assert found["views"][0]["breakdowns"]["b"]["by_frequency"]
    # The runs of the baseline are the same under both matches.
    assert found["views"][0]["arms"][0]["runs"] == found["views"][1]["arms"][0]["runs"]
    assert str(finished) not in (finished / "ablation.json").read_text()
    assert (
        "is better" in (finished / "report.html").read_text() or "No decision" in (finished / "report.html").read_text()
    )


def test_an_ablation_in_a_notebook(finished: Path) -> None:
    found = app.load_ablation(finished)
    assert found.result == app.load_ablation(finished / "ablation.json").result
    assert len(found.verdicts) == 4 and "No decision" in found.verdicts[0]
    page = found._repr_html_()
    for part in ("arms a, same, b, 2 seeds", "b, match tokens", "bits per byte (", found.verdicts[0], "holds for"):
        assert part in page
    hostile = app.Ablation("x", {**found.result, "scope": "<script>"})
    assert "<script>" not in hostile._repr_html_()
    with pytest.raises(MissingInput):
        app.load_ablation(finished / "runs")


def reference_documents(ablation: Path, split: str) -> list[bytes]:
    shards, tok = open_shards(next((ablation / "data").glob("a-*"))), slmtok.load(ablation.parent / "a.json")
    rows = [shard.document(index) for shard in shards.shards[split] for index in range(shard.header.n_docs)]
    return [tok.decode_bytes(ids, skip_special=True) for ids in rows]


def test_identical_arms_have_bitwise_equal_losses(finished: Path) -> None:
    found = load_ablation(str(finished / "ablation.json"))
    first, same = found["views"][0]["arms"][:2]
    assert not set(first["runs"]) & set(same["runs"])
    for one, other in zip(first["runs"], same["runs"], strict=True):
        a, b = (min((finished / "losses").glob(f"{Path(run).name}-*")) for run in (one, other))
        assert np.array_equal(read_losses(a).scores.nats, read_losses(b).scores.nats)
    weights = [(finished / run[0] / "model.safetensors").read_bytes() for run in (first["runs"], same["runs"])]
    assert weights[0] == weights[1]


def test_a_slice_shares_the_body_at_step_0(finished: Path) -> None:
    lock = load_lock(str(finished / "ablation.lock"))
    models = [build(config_from_dict(arm["model"]), seed=1).state_dict() for arm in lock["views"][0]["arms"]]
    whole, sliced = models[0], models[2]
    assert whole.keys() == sliced.keys()
    for name, tensor in sliced.items():
        assert torch.equal(whole[name][: len(tensor)] if "embed" in name else whole[name], tensor), name


class Killed(BaseException):
    """Stands for the death of the process."""


@pytest.mark.usefixtures("no_page")
def test_killed_at_every_stage_and_repeated_gives_the_same_bytes(
    inputs: Path, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from slmmodel import trainer
    from slmmodel.cli import ablation_files, ablation_job
    from slmmodel.evaluation.certificate import Evaluation

    places = [
        (ablation_files, "write_lock", 1),
        (trainer.Trainer, "_log", 3),
        (trainer.Trainer, "_settle_write", 2),
        (ablation_job, "evaluate", 1),
        (Evaluation, "losses", 1),
        (ablation_job, "to_envelope", 1),
        (trainer.Trainer, "finish", 2),
        (ablation_files, "write_result", 1),
    ]
    folder = tmp_path / "out"
    shutil.copytree(finished / "data", folder / "data")
    command = [*arguments(inputs, "a", "same", "b"), "--also", "tokens", "-o", str(folder)]
    for owner, name, call in places:
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(owner, name, dying(getattr(owner, name), call))
            main(command)
        assert not (folder / "ablation.json").exists()
    assert main(command) == 0
    assert (folder / "ablation.json").read_bytes() == (finished / "ablation.json").read_bytes()


def dying(function: Callable[..., Any], call: int) -> Callable[..., Any]:
    """The function, whose call of this number, from 1, is the death of the process."""
    calls = itertools.count(1)

    def run(*args: Any, **keywords: Any) -> Any:
        if next(calls) == call:
            raise Killed
        return function(*args, **keywords)

    return run


@pytest.mark.usefixtures("no_page")
def test_a_changed_command_is_refused_or_exploratory(inputs: Path, finished: Path, tmp_path: Path, slm) -> None:
    folder = shutil.copytree(finished, tmp_path / "out")
    before = (folder / "ablation.json").read_bytes()
    command = [*arguments(inputs, "a", "same", "b", seeds=1), "-o", str(folder)]
    ran = slm(*command, code=1)
    assert "seeds: 2, then 1" in ran.err and "--exploratory" in ran.err
    assert (folder / "ablation.json").read_bytes() == before
    ran = slm(*command, "--exploratory", "--json", code=0)
    assert set(ran.json["result"]["exploratory"]) == {"seeds: 2, then 1", "also: ['tokens'], then []"}
    # Again, as it is now: the mark stays.
    assert slm(*command, "--json", code=0).json["result"]["exploratory"] == ran.json["result"]["exploratory"]


@pytest.mark.usefixtures("no_page")
def test_a_lock_without_a_finished_run_is_replaced_by_force(inputs: Path, finished: Path, tmp_path: Path, slm) -> None:
    (tmp_path / "out").mkdir()
    shutil.copy(finished / "ablation.lock", tmp_path / "out")
    command = [*arguments(inputs, "a", "same", "b", seeds=1), "-o", str(tmp_path / "out")]
    assert "fix:   --force, which begins again: no run has finished\n" in slm(*command, code=1).err
    ran = slm(*command, "--force", "--json", code=0)
    assert ran.json["result"]["exploratory"] == [] and ran.json["result"]["seeds"] == [0]


@pytest.mark.parametrize(
    "name",
    [
        *("runs/notes.md", "runs/a-0/eval/notes.md", "runs/mine/config.yaml", "runs/RUN/notes.md"),
        *("data/notes.md", "data/mine/train-00000.bin", "data/DATA/notes.md", "data/DATA/kept/tok.json"),
        *("losses/mine.losses", "losses/notes.md", "tokenizers/mine.json", "tokenizers/old/a-0123abcd.json"),
    ],
)
def test_force_removes_no_file_of_the_user(inputs: Path, finished: Path, tmp_path: Path, slm, name) -> None:
    folder = shutil.copytree(finished, tmp_path / "out")
    for place in ("DATA", "RUN"):
        own = next((folder / ("runs" if place == "RUN" else "data")).glob("a-*"))
        name = name.replace(place, own.name)
    (folder / name).parent.mkdir(exist_ok=True, parents=True)
    (folder / name).write_text("mine")
    before = sorted(folder.rglob("*"))
    ran = slm(*arguments(inputs, "a", "same", "b", seeds=1), "-o", str(folder), "--force", code=1)
    shown = name.removesuffix("/tok.json")
    assert "holds other files" in ran.err and f"where: {shown}\n" in ran.err
    assert (folder / name).read_text() == "mine" and sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("name", ["tokenizers", "times.json"])
def test_a_file_of_the_user_in_the_place_of_a_folder_stays(inputs, finished, tmp_path, slm, name) -> None:
    folder = shutil.copytree(finished, tmp_path / "out")
    (folder / "times.json").unlink()
    if name == "tokenizers":
        (folder / name).write_text("mine")
    else:
        (folder / name).mkdir()
    for force in ([], ["--force"]):
        ran = slm(*arguments(inputs, "a", "same", "b", seeds=1), "-o", str(folder), *force, code=1)
        assert "holds other files" in ran.err and f"where: {name}\n" in ran.err and (folder / name).exists()


@pytest.mark.usefixtures("no_page")
def test_force_removes_all_of_an_ablation(inputs: Path, finished: Path, tmp_path: Path, slm) -> None:
    """Also what a killed process has left."""
    folder = shutil.copytree(finished, tmp_path / "out")
    (folder / "tokenizers").mkdir()
    (folder / "tokenizers/a-0123abcd.json").write_text("{}")
    for place in (folder / "losses", next((folder / "data").glob("b-*"))):
        (place / ".name.1-0123abcd.part").write_text("")
    ran = slm(*arguments(inputs, "a", "same", seeds=1), "-o", str(folder), "--force", "--json", code=0)
    assert [arm["name"] for arm in ran.json["result"]["arms"]] == ["a", "same"]
    left = [path.name for name in ("data", "losses", "runs") for path in (folder / name).iterdir()]
    assert left and all(name.startswith(("a-", "same-")) for name in left) and not (folder / "tokenizers").exists()


@pytest.mark.usefixtures("no_page")
def test_runs_whose_lock_is_gone_are_exploratory(inputs: Path, finished: Path, tmp_path: Path, slm) -> None:
    folder = shutil.copytree(finished, tmp_path / "out")
    (folder / "ablation.lock").unlink()
    command = [*arguments(inputs, "a", "same", "b"), "--also", "tokens", "-o", str(folder)]
    ran = slm(*command, code=1)
    assert "the lock of finished runs is gone" in ran.err and "--exploratory" in ran.err
    assert not (folder / "ablation.lock").exists()
    found = slm(*command, "--exploratory", "--json", code=0).json["result"]
    assert found["exploratory"] == ["the lock of finished runs is gone"]


def test_what_learned_nothing_and_what_is_apart_is_said() -> None:
    from slmmodel.cli.ablate import _apart_in_time
    from slmmodel.cli.ablation_sections import guessing

    arm = {"name": "b", "no_better_than_guessing": 2, "runs": ["runs/b-0", "runs/b-1", "runs/b-2"]}
    assert guessing(arm).startswith("2 of 3 runs of b score no better than a uniform guess")
    view = {"arms": [{"runs": ["runs/a-0"]}, {"runs": ["runs/b-0"]}]}
    assert _apart_in_time(view, {"runs": {"a-0": 10.0, "b-0": 12.0}}) == pytest.approx(0.2)
    assert _apart_in_time(view, {"runs": {"a-0": 10.0}}) == 0.0


@pytest.mark.parametrize(
    "content",
    ["xx", "{}", '{"estimate": "x", "runs": []}', '{"runs": {"a": "x"}}', '{"spent": "q"}', '{"runs": {}, "x": 1}'],
)
def test_times_of_another_shape_are_no_times(content: str, tmp_path: Path) -> None:
    (tmp_path / "times.json").write_text(content)
    assert read_times(tmp_path) == {"estimate": None, "runs": {}, "processor": {}, "spent": 0.0}


def test_more_documents_than_there_are(inputs: Path, slm) -> None:
    text = ["--text", inputs / "text.txt", "--separator", "\\n\\n", "--val", "hash:20%", "--vocab", 320]
    ran = slm("ablate", "--data-sizes", "10,1M", *text, *COMMON, "--budget", "steps=1", "--seeds", 1, "-o", "n", code=2)
    assert "--data-sizes 1,000,000: the text has" in ran.err


def test_an_edited_lock_is_noticed(inputs: Path, finished: Path, tmp_path: Path, slm) -> None:
    folder = shutil.copytree(finished, tmp_path / "out")
    lock = folder / "ablation.lock"
    lock.write_text(lock.read_text().replace('"margin": 0.0025', '"margin": 0.1'))
    ran = slm(*arguments(inputs, "a", "same", "b"), "--also", "tokens", "-o", folder, code=1)
    assert "ablation.lock" in ran.err and "changed after it was made" in ran.err


@pytest.mark.usefixtures("no_page")
def test_a_score_that_is_damaged_or_of_another_run_is_refused(
    inputs: Path, finished: Path, tmp_path: Path, slm
) -> None:
    """The fix removes it, and the same command scores the run again, with the same result."""
    folder = shutil.copytree(finished, tmp_path / "it's out")
    command = [*arguments(inputs, "a", "same", "b"), "--also", "tokens", "-o", folder]
    losses = min((folder / "losses").glob("a-seed0-*"))
    run, context = losses.stem.split("-context-")
    certificate = folder / "runs" / run / "eval" / f"context-{context}.json"
    other = min((folder / "losses").glob(f"b-seed0-*-{context}.losses"))
    other_certificate = folder / "runs" / other.stem.split("-context-")[0] / "eval" / f"context-{context}.json"
    for path, content, fact in [
        (losses, other.read_bytes(), "does not belong to the run: model.weights is "),
        (certificate, other_certificate.read_bytes(), "does not belong to the run: model.weights is "),
        (losses, b"", "is not a file of losses"),
        (certificate, b"{}", "is not a valid certificate"),
    ]:
        before = path.read_bytes()
        path.write_bytes(content)
        ran = slm(*command, code=1)
        path.write_bytes(before)
        fix = re.search(r"fix:   rm (.*), and the same command scores the run again\n", ran.err)
        assert fact in ran.err and path.name in ran.err and fix is not None, ran.err
        assert shlex.split(fix[1]) == [str(certificate), str(losses)]
    losses.unlink()
    certificate.unlink()
    slm(*command, code=0)
    assert (folder / "ablation.json").read_bytes() == (finished / "ablation.json").read_bytes()


@pytest.mark.usefixtures("no_page")
def test_one_seed_decides_nothing(inputs: Path, tmp_path: Path, slm) -> None:
    ran = slm(*arguments(inputs, "a", "b", steps=2, seeds=1), "--json", "-o", "one", code=0)
    (pair,) = ran.json["result"]["views"][0]["pairs"]
    assert "No decision" in pair["verdict"]


@pytest.mark.usefixtures("no_page")
def test_shuffled_merges_lose(inputs: Path, tmp_path: Path, slm) -> None:
    ran = slm(*arguments(inputs, "a", "shuffled", steps=12, seeds=3), "--json", "-o", "lost", code=0)
    (pair,) = ran.json["result"]["views"][0]["pairs"]
    assert "a is better than shuffled" in pair["verdict"]
    assert pair["interval"][0] > 0


@pytest.mark.usefixtures("no_page")
def test_the_best_of_three_rates_and_equal_time(finished: Path, slm, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine that takes as long for a step of either arm: two steps could not agree within 1 % otherwise."""
    monkeypatch.setattr("slmmodel.ablation.runs.measure", lambda plan, device: Speed(0.5, 1e-6))
    arms = sorted((finished / "data").iterdir())[:2]
    options = [
        *COMMON,
        "--budget",
        "steps=2",
        "--seeds",
        1,
        "--lr",
        "sweep",
        "--match",
        "time",
        "-o",
        "swept",
        "--json",
    ]
    ran = slm("ablate", *arms, *options, code=0)
    found, err = ran.json["result"], ran.err
    assert re.search(r"8 runs to train, \d seeds? an arm; about", err)
    assert err.index("power:") < err.index("8 runs to train") < err.index("learning rate 0.002 of")
    assert [row["lr"] for row in found["sweep"]] == [0.002, 0.004, 0.008] * 2
    for arm in found["views"][0]["arms"]:
        tried = [row for row in found["sweep"] if row["arm"] == arm["name"]]
        assert arm["lr"] == min(tried, key=lambda row: row["bpb"])["lr"]
    shapes = load_lock("swept/ablation.lock")["views"][0]["arms"]
    assert [(shape["steps"], shape["seconds_per_step"]) for shape in shapes] == [(2, 0.5)] * 2
    # Measured once: the lock keeps the steps.
    monkeypatch.setattr("slmmodel.ablation.runs.measure", lambda plan, device: Speed(9.0, 1e-6))
    again = slm("ablate", *arms, *options, code=0).json["result"]
    assert again["lock"] == found["lock"]


@pytest.mark.usefixtures("no_page")
def test_packed_arms_of_the_same_documents(finished: Path, slm) -> None:
    arms = sorted((finished / "data").iterdir())[:2]
    ran = slm("ablate", *arms, *COMMON, "--budget", "steps=1", "--seeds", 1, "-o", "packed", "--json", code=0)
    assert [arm["name"] for arm in ran.json["result"]["arms"]] == [arm.name for arm in arms]


def test_wrong_arms(inputs: Path, finished: Path, slm, monkeypatch: pytest.MonkeyPatch) -> None:
    arm = next((finished / "data").iterdir())
    Path("other.txt").write_text("\n\n".join(story(index) for index in range(130)))
    assert "two arms or more, not 1" in (err := slm("ablate", arm, "--cpu", code=2).err)
    assert f"fix:   slm ablate {arm} --cpu DATA_B\n" in err
    err = slm("ablate", "-t", inputs / "b.json", "--text", "other.txt", "--cpu", code=2).err
    assert f"fix:   slm ablate -t {inputs / 'b.json'} --text other.txt --cpu -t TOK\n" in err
    tok = slmtok.load(inputs / "b.json")
    slmtok.pack("other.txt", tok, "other", separator="\n\n", val="hash:20%")
    ran = slm("ablate", arm, "other", *COMMON, "-o", "x", code=1)
    assert "hold different documents" in ran.err and not Path("x").exists()
    ran = slm("ablate", arm, "-t", inputs / "a.json", code=2)
    assert "packed data together with -t\n" in ran.err
    assert f"fix:   slm ablate -t {inputs / 'a.json'} --text TEXT -t TOK\n" in ran.err
    ran = slm("ablate", "-t", inputs / "a.json", "-t", inputs / "b.json", code=2)
    assert "--text CORPUS is missing" in ran.err
    ran = slm("ablate", "other.txt", "other.txt", code=2)
    assert "is text" in ran.err
    ran = slm("ablate", arm, arm, "--val", arm, code=2)
    assert "1 --val for 2 arms" in ran.err
    assert "fix:   leave --val out: each of the data has a split val\n" in ran.err
    ran = slm("ablate", arm, arm, "--baseline", "nobody", *COMMON, code=2)
    assert "unknown arm 'nobody'" in ran.err
    named = ("-t", inputs / "a.json", "-t", inputs / "b.json", "--text", "other.txt", "--separator", "\n\n")
    ran = slm("ablate", *named, "--baseline", "c", "-o", "x", code=2)
    assert "fix:   --baseline a" in ran.err and not Path("x").exists()
    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("mine")
    ran = slm("ablate", arm, arm, *COMMON, "-o", "mine", "--force", code=1)
    assert "thesis.txt" in ran.err and Path("mine/thesis.txt").exists()


def test_an_arm_that_diverges_is_named(finished: Path, slm) -> None:
    arm = next((finished / "data").iterdir())
    options = [*COMMON, "--set", "optim.name=adamw", "--set", "optim.lr=1e30", "--set", "optim.grad_clip=none"]
    ran = slm("ablate", arm, arm, *options, "--budget", "steps=9", "--seeds", 1, "-o", "wild", code=1)
    assert "diverged with seed 0" in ran.err and "fix:   --lr sweep, or --set optim.lr=5e+29 for all arms" in ran.err
    ran = slm("ablate", arm, arm, *COMMON, "--set", "data.doc_mask=false", "-o", "x", code=2)
    assert "data.doc_mask is false" in ran.err and "--set data.doc_mask=true" in ran.err


@pytest.mark.usefixtures("no_page")
def test_a_rate_that_diverges_is_not_chosen(finished: Path, slm, monkeypatch: pytest.MonkeyPatch) -> None:
    train = runs.train

    def fragile(plan, *arguments, **options):
        if plan.lr > limit:
            raise NotFinite("the loss is not finite")
        return train(plan, *arguments, **options)

    monkeypatch.setattr(runs, "train", fragile)
    arm = next((finished / "data").iterdir())
    options = [*COMMON, "--budget", "steps=1", "--seeds", 1, "--lr", "sweep"]
    limit = 0.005
    found = slm("ablate", arm, arm, *options, "-o", "some", "--json", code=0).json["result"]
    assert [row["bpb"] is None for row in found["sweep"]] == [False, False, True] * 2
    limit = 0.0
    assert "diverged at each learning rate" in slm("ablate", arm, arm, *options, "-o", "none", code=1).err


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program of docs/studies."""
    monkeypatch.syspath_prepend(str(STUDY))
    return importlib.import_module("study")


def test_questions_of_the_study_are_valid_commands(study: ModuleType, slm) -> None:
    for question in study.QUESTIONS:
        # Options, arms and settings are checked before the text is opened.
        ran = slm(*question.command(Path("corpora"), Path("out")), code=1)
        assert f"{question.corpus}.jsonl.zst" in ran.err.splitlines()[0]


def test_page_of_the_study(finished: Path, tmp_path: Path, study: ModuleType) -> None:
    done, waiting = (replace(study.QUESTIONS[0], name=name, title=f"Question {name}") for name in (finished.name, "x"))
    result = load_ablation(str(finished / "ablation.json"))
    for _ in ("without a kept result", "with one"):
        assert study.write_page([done, waiting], finished.parent, tmp_path) == []
    page = (tmp_path / "README.md").read_text()
    assert "Answered: 1 of 2 questions, by 8 runs." in page and f"`slm report {finished.name}`" in page
    assert "| [Question x](#question-x) | | not yet run | |" in page
    for view in result["views"]:
        assert f"| {view['match']} | nothing | same, b |" in page, "two seeds decide nothing"
        assert ElementTree.parse(tmp_path / f"{finished.name}-{view['match']}.svg").getroot().tag.endswith("svg")
        for arm, pair in zip(view["arms"][1:], view["pairs"], strict=True):
            assert f"* {pair['verdict']}.\n" in page and f"| {arm['bpb']:.4f} |" in page
    path = tmp_path / "results" / f"{finished.name}.json"
    kept = json.loads(path.read_text())
    assert {**kept["result"], "views": None} == {**result, "views": None} and len(kept["processor"]) == 8
    assert all(ours.items() < view.items() for ours, view in zip(kept["result"]["views"], result["views"], strict=True))
    assert study.write_page([done, waiting], tmp_path / "no runs", tmp_path) == []
    assert (tmp_path / "README.md").read_text() == page, "a kept result makes the same page"
    (tmp_path / "x").mkdir()
    study.write_page([done, waiting], tmp_path, tmp_path)
    assert "| [Question x](#question-x) | | begun, not finished | |" in (tmp_path / "README.md").read_text()
    kept["result"]["lock"]["request"]["seeds"] = 9
    path.write_text(json.dumps(kept))
    assert study.write_page([done], finished.parent, tmp_path) == [f"{finished.name}: seeds: 9, then 2"]


@pytest.mark.parametrize(("codes", "expected"), [((0, 0), 0), ((0, 2), 1), ((0, -9), 1)])
def test_a_failed_question_is_the_status_of_the_study(study, codes, expected, tmp_path, monkeypatch) -> None:
    left = list(codes)
    monkeypatch.setattr(study, "QUESTIONS", study.QUESTIONS[:2])
    monkeypatch.setattr(study.subprocess, "call", lambda *_, **__: left.pop())
    assert study.run_all(tmp_path, tmp_path, 1) == expected


def test_decisions_of_the_study_are_those_of_the_verdicts(study: ModuleType) -> None:
    claims = importlib.import_module("page")._claims
    kinds = {"a": "worse", "b": "better", "c": "no decision", "d": "better", "e": "equivalent"}
    pairs = [{"arm": arm, "baseline": "z", "kind": kind} for arm, kind in kinds.items()]
    assert list(claims(pairs)) == [
        "b, d need fewer bits than z", "a needs more bits than z", "e is equivalent to z within the margin"
    ]  # fmt: skip
    assert list(claims(pairs[2:3])) == []


def test_runs_of_other_settings_are_not_taken(inputs: Path, finished: Path, tmp_path: Path, slm) -> None:
    folder = shutil.copytree(finished, tmp_path / "out")
    run = next((folder / "runs").glob("a-seed0-*"))
    table = json.loads((run / "fingerprint.json").read_text())
    (run / "fingerprint.json").write_text(json.dumps({**table, "version": 1}))
    ran = slm(*arguments(inputs, "a", "same", "b"), "--also", "tokens", "-o", folder, code=1)
    assert "fingerprint.json" in ran.err or "version 1" in ran.err


@pytest.mark.usefixtures("no_page")
@pytest.mark.parametrize(
    ("axis", "values", "names"),
    [
        ("--vocabs", "300,340", ["vocab-300", "vocab-340"]),
        ("--patterns", r"slm,gpt2 --patterns letters=\p{L}{1,9}|.", ["slm", "gpt2", "letters"]),
        ("--schemes", "bpe,char", ["bpe", "char"]),
        ("--data-sizes", "50%,100%", ["data-50pct", "data-100pct"]),
        ("--data-sizes", "10,30", ["data-10", "data-30"]),
        ("--inference", "merges,dropout:0.5", ["merges", "dropout-0.5"]),
    ],
)
def test_axes(axis: str, values: str, names: list[str], inputs: Path, slm) -> None:
    text = ["--text", inputs / "text.txt", "--separator", "\\n\\n", "--val", "hash:20%"]
    text += ["--vocab", 320] if axis != "--vocabs" else []
    command = [
        "ablate",
        axis,
        *values.split(" "),
        *text,
        *COMMON,
        "--budget",
        "steps=1",
        "--seeds",
        1,
        "-o",
        "axis",
        "--json",
    ]
    found = slm(*command, code=0).json["result"]
    assert [arm["name"] for arm in found["arms"]] == names
    sizes, prints = ([arm[key] for arm in found["arms"]] for key in ("n_vocab", "fingerprint"))
    assert len(set(prints)) == (1 if axis == "--inference" else len(names))
    if axis == "--inference":
        plain, dropped = found["arms"]
        assert [arm["inference"] for arm in found["arms"]] == ["merges", "dropout:0.5"]
        assert dropped["train_tokens"] > 1.2 * plain["train_tokens"] and dropped["val_tokens"] == plain["val_tokens"]
    elif axis == "--vocabs":
        assert sizes == [300, 340]
        tok = slmtok.load(next(Path("axis/tokenizers").iterdir()))
        assert prints == [slmtok.slice(tok, 300).fingerprint, tok.fingerprint]
    elif axis == "--schemes":
        assert sizes[0] == 320 > sizes[1]
    else:
        assert set(sizes) == {320}
    # The same command trains no tokenizer again.
    stamps = [file.stat().st_mtime_ns for file in Path("axis/tokenizers").iterdir()]
    slm(*command, code=0)
    assert stamps == [file.stat().st_mtime_ns for file in Path("axis/tokenizers").iterdir()]


def test_a_match_that_cannot_be_leaves_nothing(inputs: Path, slm) -> None:
    ran = slm(*arguments(inputs, "a", "b", steps=1), "--match", "flops", "-o", "refused", code=2)
    assert "error: the flops of the arms differ by" in ran.err and "fix:   --budget steps=" in ran.err
    assert not Path("refused").exists()


def test_wrong_axes(inputs: Path, slm) -> None:
    text = ["--text", inputs / "text.txt"]
    assert "is not one of numbers of ids" in slm("ablate", "--vocabs", "300,x", *text, code=2).err
    assert "different values" in slm("ablate", "--schemes", "bpe", *text, code=2).err
    assert "one axis" in slm("ablate", "--schemes", "bpe,word", "--vocabs", "300,400", *text, code=2).err
    assert "is not one of merges" in slm("ablate", "--inference", "merges,dropout:2", *text, code=2).err
    assert "different values" in slm("ablate", "--inference", "dropout,dropout:0.1", *text, code=2).err
    assert "or NAME=REGEX" in slm("ablate", "--patterns", r"slm,\p{N}{1,3}", *text, code=2).err
    assert "different values" in slm("ablate", "--patterns", "slm", "--patterns", "slm=.", *text, code=2).err
    assert "leave out -t" in slm("ablate", "--patterns", "slm,gpt2", "-t", inputs / "a.json", *text, code=2).err
    assert "--text CORPUS is missing" in slm("ablate", "--patterns", "slm,gpt2", code=2).err


@pytest.mark.parametrize(
    ("values", "fix"),
    [
        ([r"\w+|\s+"], r"--patterns 'mine=\w+|\s+' --patterns slm"),
        ([r"mine=\w+|\s+"], r"--patterns 'mine=\w+|\s+' --patterns slm"),
        ([r"slm,\p{N}{1,3}|."], r"--patterns slm --patterns 'mine=\p{N}{1,3}|.'"),
        ([r"\w|.", r"\d|.", "slm"], r"--patterns 'mine=\w|.' --patterns 'mine-2=\d|.' --patterns slm"),
        (["slm", "slm=."], "--patterns slm --patterns slm-2=."),
        (["gpt-2"], "--patterns gpt2,slm,o200k"),
        (["slm gpt2"], "--patterns slm,gpt2"),
    ],
)
def test_the_fix_of_patterns_keeps_a_regex(values: list[str], fix: str, slm) -> None:
    line = [word for value in values for word in ("--patterns", value)]
    for words in (line, shlex.split(fix)):
        err = slm("ablate", *words, "--text", "no.txt", code=2 if words is line else 1).err
        assert (f"fix:   {fix}\n" in err) == (words is line), err


def test_a_tokenizer_in_the_place_of_data_is_said_beside_a_wrong_option(inputs: Path, slm) -> None:
    err = slm("ablate", str(inputs / "a.json"), "--seeds", "1,2,3", code=2).err
    assert f"fix:   --seeds 3; besides, '{inputs / 'a.json'}' is a tokenizer, not packed data\n" in err


def test_sizes_that_the_tokenizer_cannot_be_cut_to(inputs: Path, slm) -> None:
    text, tok = ["--text", inputs / "text.txt", "--document", "line"], inputs / "a.json"
    n_vocab = slmtok.load(tok).n_vocab
    ran = slm("ablate", "-t", tok, *text, "--vocabs", f"300,{n_vocab + 8}", "-o", "x", code=2)
    extending, ablating = fix_of(ran).split(" && ")
    larger = f"a-{n_vocab + 8}.json"
    assert extending == f"slmtok extend {tok} {text[1]} --document line --vocab {n_vocab + 8} -o {larger}"
    assert ablating == f"slm ablate {shlex.join(map(str, text))} --vocabs 300,{n_vocab + 8} -o x -t {larger}"
    assert "where: --vocabs" in ran.err and not Path("x").exists()
    assert fix_of(slm("ablate", *text, "--vocabs", "30,300", code=2)) == "--vocabs 272,300"
    assert fix_of(slm("ablate", *text, "--vocabs", "30,40", code=2)) == "--vocabs 272,544"


def test_a_foreign_tokenizer_is_not_cut(inputs: Path, slm) -> None:
    Path("x.tiktoken").write_bytes(
        b"".join(b"%s %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256))
    )
    slmtok.from_tiktoken("x.tiktoken", pattern="gpt2").save("x.json")
    text = ["--text", inputs / "text.txt", "--vocabs", "280,300"]
    fix = fix_of(slm("ablate", "-t", "x.json", *text, code=2))
    assert fix.partition(" # without -t x.json: ")[0] == f"slm ablate {shlex.join(map(str, text))}"
