"""Each setting with a value of a wrong type or beyond its bound: the refusal names it, and its fix works as pasted."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from slm_folder import make_folder

from slmmodel.cli.train import read_settings
from slmmodel.config import OPTIONS, model_options, settings_of
from slmmodel.errors import Argument, SlmmodelError
from slmmodel.models import MODELS
from slmmodel.training.setup import check_settings

WRONG = ("often", "-1", "0", "2.5", "1e400", "nan", "[1, x]", "999999999999999999999")
OF_DATA = ("model.n_vocab", "model.padded_vocab")
"""Compared with the data, which are not there yet."""
SETTINGS = [(name, "") for name in OPTIONS] + [
    (name, arch) for arch in MODELS for name in model_options(settings_of({"model.arch": arch})) if name != "model.arch"
]


def refused(*sets: str) -> SlmmodelError | None:
    """The error of these settings before the data are known, if they are refused."""
    try:
        check_settings(read_settings(None, sets, None, {}))
    except SlmmodelError as error:
        return error
    return None


@pytest.mark.parametrize(("name", "arch"), SETTINGS)
def test_a_refused_value_is_answered_by_one_that_is_taken(name: str, arch: str) -> None:
    base = [f"model.arch={arch}"] if arch else []
    answered = 0
    for value in WRONG:
        error = refused(*base, f"{name}={value}")
        if error is None:
            continue
        answered += 1
        assert (error.where or f"--set {name}").startswith(f"--set {name}"), value
        parts = error.parts["fix"] if isinstance(error.parts["fix"], tuple) else ()
        named = next((part for part in parts if isinstance(part, Argument)), None)
        if named is None:
            # The preset or the data decide the value, or the limit lists more names than a fix.
            assert error.fix in (
                f"leave out {name}",
                f"leave out {name}, then the preset decides",
                "leave it out: the budget is then that of the preset, and each run has an end",
                "use one of them",
            ), (value, error.fix)
        elif named.name != "budget":
            assert refused(*base, f"{name}={value}", f"{named.name}={named.value}") is None, (value, error.fix)
    assert answered or name in (*OF_DATA, "data.train", "data.tokenizer", "data.val", "data.cache")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with packed data and a configuration."""
    folder = make_folder(tmp_path_factory.mktemp("refused"))
    model = "model: {d_model: 32, n_layers: 2, n_heads: 2, n_kv_heads: 2, seq_len: 32}\n"
    run = "run:\n  batch_tokens: 256\n  save_every: 10\n  budget: {steps: 2}\n"
    (folder / "tiny.yaml").write_text(model + run)
    (folder / "heads.yaml").write_text("model: {n_heads: 2}\nrun: {budget: {steps: 2}}\n")
    return folder


@pytest.fixture(autouse=True)
def _inside(here: Path, slm: object, monkeypatch: pytest.MonkeyPatch) -> None:
    # `slm` enters a folder of its own.
    monkeypatch.chdir(here)


LSTM = "--config tiny.yaml --set model.arch=lstm"


@pytest.mark.parametrize(
    ("given", "fix"),
    {
        "--config tiny.yaml --set run.save_every=often": "--set run.save_every=10, as in tiny.yaml, line 4",
        "--config tiny.yaml --set model.seq_len=lots": "--set model.seq_len=32, as in tiny.yaml, line 1",
        "--config tiny.yaml --set model.rope_base=0": "--set model.rope_base=10000.0, as without it, or another one",
        "--config heads.yaml": "--set model.n_heads=2 --set model.n_kv_heads=2, or --set model.n_heads=4",
        "--config tiny.yaml --set 'data.stages=[{seq_len: 16}, {from_step: 2, seq_len: 64}]'": (
            "--set model.seq_len=64, or another seq_len of the stage"
        ),
        "--config tiny.yaml --set 'data.stages=[{seq_len: 16}, {from_step: 2, seq_len: 96}]'": (
            "--set model.seq_len=96 --set run.batch_tokens=288, or another seq_len of the stage"
        ),
        "--config tiny.yaml --set model.arch=infini --set model.segment=8 --set model.seq_len=1K": (
            "--set model.seq_len=1024 --set run.batch_tokens=1024"
        ),
        "--config heads.yaml --set model.n_kv_heads=2 --set model.segment=32": "--set model.arch=infini",
    }.items(),
)
def test_the_fix_fits_the_other_settings(slm, given: str, fix: str) -> None:
    words = ["train", "data", "-o", "new", "--dry-run", *shlex.split(given)]
    ran = slm(*words)
    shown = ran.err.partition("  fix:   ")[2]
    assert ran.code and shown.startswith(fix), ran.err
    slm(*words, *shlex.split(shown.partition(",")[0]), code=0)


def test_options_of_another_architecture_are_not_unknown(slm) -> None:
    ran = slm("train", "data", "-o", "new", "--dry-run", *shlex.split(LSTM), code=2)
    assert "model.n_heads is no setting of model.arch lstm\n" in ran.err
    assert "where: tiny.yaml, line 1 and --set model.arch\n" in ran.err
    assert "fix:   remove model.n_heads; remove model.n_kv_heads\n" in ran.err


def test_weights_in_per_cent_are_answered_by_the_whole_list(slm, here: Path) -> None:
    text = "data:\n  train:\n    - {path: data, weight: 70%}\n    - {path: data2, weight: 30%}\n"
    (here / "mixed.yaml").write_text(text + (here / "tiny.yaml").read_text())
    words = ["train", "--config", "mixed.yaml", "-o", "new", "--dry-run"]
    ran = slm(*words, code=2)
    assert ran.err.startswith("error: data.train: a weight is '70%' for data\n  where: mixed.yaml, line 3\n")
    fix = ran.err.partition("  fix:   ")[2]
    assert fix == "--set 'data.train=[{path: data, weight: 70}, {path: data2, weight: 30}]'\n"
    if not (here / "data2").exists():
        shutil.copytree(here / "data", here / "data2")
    slm(*words, *shlex.split(fix), code=0)


@pytest.mark.parametrize("name", ["data.mixture", "data.train", "data.sources"])
def test_a_mixture_as_a_table_is_answered_by_the_list(slm, here: Path, name: str) -> None:
    if not (here / "data2").exists():
        shutil.copytree(here / "data", here / "data2")
    words = ["train", "-o", "new", "--dry-run", "--config", "tiny.yaml"]
    meant = "--set 'data.train=[{path: data, weight: 3}, {path: data2, weight: 1}]'"
    table = ["--set", f"{name}={{data: 3, data2: 1}}"]
    ran = slm(*words, *table, code=2)
    assert f"fix:   {meant}\n" in ran.err, ran.err
    slm(*words, *shlex.split(meant), code=0)
    if name != "data.train":
        ran = slm("train", "data", *words[1:], *table, code=2)
        assert f"fix:   leave out data, and write {meant}\n" in ran.err, ran.err
        text = f"data:\n  {name.partition('.')[2]}:\n    data: 3\n    data2: 1\n"
        (here / "mixture.yaml").write_text(text)
        ran = slm("train", "-o", "new", "--dry-run", "--config", "mixture.yaml", code=2)
        assert "fix:   write train: [{path: data, weight: 3}, {path: data2, weight: 1}]\n" in ran.err, ran.err


def test_the_place_of_an_option_of_reading_is_where_it_was_given(slm, here: Path) -> None:
    words = ["train", "data", "-o", "new", "--dry-run"]
    error = "error: data.read.text_key says how text is read, and 'data' is no text\n"
    ran = slm(*words, "--set", "data.read.text_key=story", code=2)
    assert ran.err.startswith(f"{error}  where: --set data.read.text_key\n")
    (here / "read.yaml").write_text("data:\n  read:\n    text_key: story\n")
    ran = slm(*words, "--config", "read.yaml", code=2)
    assert ran.err.startswith(f"{error}  where: read.yaml, line 3\n")
    ran = slm(*words, "--text-key", "story", code=2)
    assert ran.err.startswith("error: --text-key says how text is read, and 'data' is no text\n")


@pytest.mark.parametrize(
    ("given", "where", "fix"),
    [
        ("--set model.seq_len=96", "tiny.yaml, line 3, --set model.seq_len", "--set run.batch_tokens=192"),
        ("--set data.options.stride=5", "--set data.options.stride", "--set data.pack=stream"),
        ("--set data.pack=stream --set data.options.strde=5", "--set data.options.strde", None),
        ("--set data.pack=stream --set data.options.stride=500", "--set data.options.stride", None),
        ("--set data.loss_on=last", "--set data.loss_on", "--set data.pack=stream"),
    ],
)
def test_settings_that_do_not_fit_are_both_named(slm, given: str, where: str, fix: str | None) -> None:
    words = ["train", "data", "-o", "new", "--dry-run", "--config", "tiny.yaml", *given.split()]
    ran = slm(*words, code=2)
    assert f"  where: {where}\n" in ran.err, ran.err
    shown = ran.err.partition("  fix:   ")[2].partition(", ")[0].strip()
    assert shown == fix or (fix is None and shown.startswith("--set data.options.stride=")), ran.err
    if "strde" not in given:
        slm(*words, *shlex.split(shown), code=0)


def test_two_budgets_are_named_where_they_are(slm) -> None:
    words = ["--set", "run.budget.time=5", "--budget", "steps=3"]
    ran = slm("train", "data", "-o", "new", "--dry-run", *words, code=2)
    assert "fix:   leave out --set run.budget.time, or --budget\n" in ran.err


def test_a_wrong_change_of_a_run_is_answered_by_the_value_of_the_run(slm, here: Path) -> None:
    words = ["--step", "1", "-o", "new"]
    ran = slm("resume", "run", *words, "--set", "run.keep_every=often", code=2)
    at = (here / "run/config.yaml").read_text().split("\n").index("  keep_every: 0") + 1
    place = Path("run", "config.yaml")
    assert f"fix:   --set run.keep_every=0, as in {place}, line {at}\n" in ran.err, ran.err
