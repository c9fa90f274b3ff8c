"""Values of settings as other tools write them: each is answered by the one of ours that means the same."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from printed_fixes import fix_in

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from slm_folder import TRAIN, make_folder

from slmmodel.config import Setting, validate
from slmmodel.data.strategies import STRATEGIES
from slmmodel.data_config import DataConfig
from slmmodel.errors import InvalidConfig, UnknownName
from slmmodel.trainer import train

BASE = ["-o", "new", "--dry-run", "--preset", "cpu-demo", *TRAIN, "--budget", "steps=10"]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with text, a tokenizer and packed data."""
    return make_folder(tmp_path_factory.mktemp("settings"))


@pytest.fixture(autouse=True)
def _inside(here: Path, slm: object, monkeypatch: pytest.MonkeyPatch) -> None:
    # `slm` enters a folder of its own.
    monkeypatch.chdir(here)


@pytest.mark.parametrize(
    ("given", "meant"),
    {
        "data.shuffle=false": "data.shuffle=none",
        "data.shuffle=0": "data.shuffle=none",
        "data.shuffle=True": "data.shuffle=documents",
        "data.crop_offset=0": "data.crop_offset=fixed",
        "data.crop_offset=no": "data.crop_offset=fixed",
        "data.crop_offset=true": "data.crop_offset=random",
        "run.compile=false": "run.compile=off",
        "optim.lr_scaling=off": "optim.lr_scaling=none",
        "optim.grad_clip=false": "optim.grad_clip=none",
        "optim.schedule.warmup=off": "optim.schedule.warmup=0",
        "optim.lr=1e-3,": "optim.lr=0.001",
        "optim.lr=1e-3x": "optim.lr=0.001",
        "optim.lr=0.1f": "optim.lr=0.1",
        "optim.lr=1e\N{MINUS SIGN}3": "optim.lr=0.001",
        "model.dropout=0.1;": "model.dropout=0.1",
        "model.n_layers=2,": "model.n_layers=2",
        "model.window=0": "model.window=none",
        "model.softcap=off": "model.softcap=none",
        "model.norm=layernorm": "model.norm=layer_norm",
        "model.norm=RMSNorm": "model.norm=rms_norm",
        "model.mlp=silu": "model.mlp=swiglu",
    }.items(),
)
def test_a_value_of_another_tool_is_answered_by_ours(given, meant, slm):
    fix = fix_in(slm("train", "data", *BASE, "--set", given, code=2).err)
    assert fix == f"--set {meant}"
    slm("train", "data", *BASE, *shlex.split(fix), code=0)


@pytest.mark.parametrize(
    ("kind", "meant"),
    [
        ("cosine_with_min_lr", "cosine"),
        ("cosine_with_restarts", "cosine"),
        ("inverse_sqrt", "cosine"),
        ("linear_with_warmup", "linear"),
        ("polynomial", "linear"),
        ("constant_with_warmup", "const"),
        ("warmup_stable_decay", "wsd"),
    ],
)
def test_a_schedule_of_another_trainer_is_the_nearest_kind(kind, meant):
    with pytest.raises(UnknownName, match=f"^unknown optim.schedule.kind '{kind}'; '{meant}' is most") as caught:
        validate({"optim.schedule.kind": Setting(kind, "settings")})
    fix = str(caught.value.fix)
    assert eval(f"dict({fix}\n)") == {"settings": {"optim.schedule.kind": meant}}
    assert ("optim.schedule.final: " in fix and "optim.schedule.warmup: " in fix) == ("_" in kind)


def test_another_function_is_no_misspelling(slm):
    assert "relu2=" not in fix_in(slm("train", "data", *BASE, "--set", "model.mlp=relu", code=2).err)


@pytest.mark.parametrize("option", ["window", "softcap"])
def test_none_is_a_value_of_the_options_of_a_model_that_the_reference_says_take_it(option, slm):
    slm("train", "data", *BASE, "--set", f"model.{option}=none", code=0)
    Path("none.yaml").write_text(f"model: {{{option}: none}}\n")
    slm("train", "data", *BASE, "--config", "none.yaml", code=0)
    assert "a whole number" in slm("train", "data", *BASE, "--set", "model.n_layers=none", code=2).err


@pytest.mark.parametrize("length", ["warmup", "decay"])
def test_a_length_of_the_schedule_is_a_share_or_whole_steps(length, slm):
    name = f"optim.schedule.{length}"
    error = slm("train", "data", *BASE, "--set", f"{name}=1.5", code=2).err
    assert "limit: a share of the run below 1, or a whole number of steps" in error
    assert fix_in(error) == (f"--set {name}=2, which counts steps, or --set {name}=0.015, which is 1.5 % of the run")
    for value in ("2", "0.015", "2.0", "0", "none"):
        slm("train", "data", *BASE, "--set", f"{name}={value}", code=0)
    with pytest.raises(InvalidConfig, match="a share of the run below 1"):
        train({"data.train": "data", name: 1.5}, output="new")


def test_a_switch_of_a_call_is_answered_by_our_word():
    with pytest.raises(InvalidConfig) as caught:
        train({"data.train": "data", "data.shuffle": False}, output="new")
    assert caught.value.fix == "settings={'data.shuffle': 'none'}"


@pytest.mark.parametrize(
    ("budget", "meant"),
    {
        "time=2h30": "time=9000s",
        "time=2h30m": "time=9000s",
        "time=1d": None,
        "time=2 hours 30 minutes": "time=9000s",
        "time=2:30:00": "time=9000s",
        "time=2:30": "time=9000s, or --budget time=150s",
        "2h30": "time=9000s",
        "epochs=0.5x": "epochs=0.5",
        "epochs=3 epochs": "epochs=3",
        "steps=500steps": "steps=500",
    }.items(),
)
def test_an_amount_of_several_units_or_with_a_word(budget, meant, slm):
    without = BASE[: BASE.index("--budget")]
    ran = slm("train", "data", *without, "--budget", budget)
    assert fix_in(ran.err) == f"--budget {meant}" if meant else "fix:" not in ran.err


@pytest.mark.parametrize(
    ("pack", "meant"), {"packing": "concat", "none": "bucket", "bptt": "stateful", "concatt": "concat"}.items()
)
def test_a_way_of_packing_of_another_tool(pack, meant, slm):
    assert fix_in(slm("train", "data", *BASE, "--set", f"data.pack={pack}", code=2).err) == f"--set data.pack={meant}"


def test_the_help_names_each_strategy():
    help = DataConfig.model_fields["pack"].description or ""
    named = {word.strip(".,;:") for word in help.split()}
    assert {*STRATEGIES} <= named


@pytest.mark.parametrize("pack", ["sliding", "window", "sliding_window", "windows"])
def test_a_sliding_window_is_one_of_two_strategies(pack, slm):
    fix = fix_in(slm("train", "data", *BASE, "--set", f"data.pack={pack}", code=2).err)
    stream, single = "--set data.pack=stream", "--set data.pack=right_pad_once"
    assert fix == f"{stream} for windows over all documents end to end, or {single} over each document"
    for meant in (stream, single):
        slm("train", "data", *BASE, *meant.split(), code=0)


def test_a_preset_and_files_of_other_formats_as_a_configuration(slm):
    error = slm("train", "data", *BASE, "--config", "cpu-demo", code=1).err
    assert fix_in(error) == "--preset cpu-demo"
    Path("a.toml").write_text('# ours\n[optim]\nlr = 1e-3\nname = "muon"  # as usual\n[run]\nseed=3\n')
    fix = fix_in(slm("train", "data", *BASE, "--config", "a.toml", code=2).err)
    assert fix.startswith("slm train data ")
    assert fix.endswith(" --set optim.lr=1e-3 --set optim.name=muon --set run.seed=3")
    slm(*fix.split()[1:], code=0)
    for others in ("[training]\nname = 3\n", "[optim]\nlr = 1e-3\nbetas = [0.9,\n 0.95]\n", "[[optim]]\nlr = 1\n"):
        Path("b.toml").write_text(others)
        assert "--set" not in slm("train", "data", *BASE, "--config", "b.toml", code=2).err


@pytest.mark.parametrize(
    ("text", "line", "found", "above"),
    [
        ("optim:\n  lr: 1e-3\n   eps: 1e-8\n", 3, "3 spaces", "0 or 2"),
        ("data:\n  train: data\n optim:\n  lr: 1e-3\n", 3, "1 space", "0 or 2"),
        ("optim:\n  schedule:\n    kind: wsd\n   final: 0\n", 4, "3 spaces", "0, 2 or 4"),
    ],
)
def test_a_wrong_indentation_is_named(text, line, found, above, slm):
    Path("c.yaml").write_text(text)
    error = slm("train", "data", *BASE, "--config", "c.yaml", code=1).err
    assert f"error: c.yaml has a line indented by {found}, and the keys above it by {above}\n" in error
    assert f"where: c.yaml, line {line}\n" in error and fix_in(error) == "indent it as one of the keys above it"


def test_indentation_inside_of_brackets_is_free(slm):
    Path("c.yaml").write_text("optim: {\n    lr: 1e-3,\n  eps: 1e-8: 2\n}\n")
    assert "is not YAML" in slm("train", "data", *BASE, "--config", "c.yaml", code=1).err


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("budget: steps=3\n", "run.budget.steps: 3"),
        ("run: {seed: 1}\nbudget: 3 steps\n", "run.budget.steps: 3"),
        ("run:\n  budget: steps=3\n", "budget: {steps: 3}"),
    ],
)
def test_a_budget_in_the_place_of_its_section(slm, text: str, meant: str) -> None:
    Path("budget.yaml").write_text(text)
    words = ["train", "data", *BASE[:-2], "--config", "budget.yaml"]
    assert f"  fix:   write {meant} in that line\n" in slm(*words, code=2).err
    line = next(line for line in text.splitlines() if "budget" in line)
    Path("budget.yaml").write_text(text.replace(line.strip(), meant))
    assert re.search(r"^  steps +3\b", slm(*words).out, re.MULTILINE)


@pytest.mark.parametrize(
    ("given", "fix"),
    {
        "optim.lr=1e-3 optim.min_lr=1e-4": "--set optim.schedule.final=0.1, the share of optim.lr at the end\n",
        "optim.min_lr=1e-4": "write optim.schedule.final, which is a share of optim.lr: 1e-4 divided by optim.lr\n",
        "optim.muon_lr=0.02": "--set optim.lr=0.02\n",
        "optim.lr=[1e-3,3e-4]": "--set optim.lr=0.001, and a run for each other value\n",
        "optim.lr=(1e-3,3e-4)": "--set optim.lr=0.001, and a run for each other value\n",
        "run.seed=[1,2,3]": "--seed 1, and a run for each other value\n",
        "run.wandb_project=x": "leave it out: export WANDB_PROJECT=x in the shell sets it for run.track=wandb\n",
        "wandb_log=True": "--set run.track=wandb\n",
        "report_to=tensorboard": "--set run.track=tensorboard\n",
        "report_to=none": "leave it out: run.track is empty by default\n",
    }.items(),
)
def test_settings_of_other_trainers_keep_their_value(slm, given, fix):
    sets = [word for each in given.split() for word in ("--set", each)]
    err = slm("train", "data", "-o", "new", *sets, code=2).err
    assert f"  fix:   {fix}" in err
