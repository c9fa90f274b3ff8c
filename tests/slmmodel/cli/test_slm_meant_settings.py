"""Values of settings as other tools write them: each is answered by the one of ours that means the same."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from slm_folder import TRAIN, make_folder

from slmmodel.errors import InvalidConfig
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


def fix_of(error: str) -> str:
    """The remedy of a message."""
    return error.partition("  fix:   ")[2].strip()


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
    fix = fix_of(slm("train", "data", *BASE, "--set", given, code=2).err)
    assert fix == f"--set {meant}"
    slm("train", "data", *BASE, *shlex.split(fix), code=0)


def test_another_function_is_no_misspelling(slm):
    assert "relu2=" not in fix_of(slm("train", "data", *BASE, "--set", "model.mlp=relu", code=2).err)


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
    assert fix_of(error) == (f"--set {name}=2, which counts steps, or --set {name}=0.015, which is 1.5 % of the run")
    for value in ("2", "0.015", "2.0", "0", "none"):
        slm("train", "data", *BASE, "--set", f"{name}={value}", code=0)
    with pytest.raises(InvalidConfig, match="a share of the run below 1"):
        train({"data.train": "data", name: 1.5}, output="new")


def test_a_switch_of_a_call_is_answered_by_our_word():
    with pytest.raises(InvalidConfig) as caught:
        train({"data.train": "data", "data.shuffle": False}, output="new")
    assert caught.value.fix == "settings={'data.shuffle': 'none'}"
