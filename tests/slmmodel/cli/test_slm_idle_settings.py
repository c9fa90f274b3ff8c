"""Settings of `slm train` that cannot act as given: misplaced ones, beyond a limit, and without effect."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import pytest
from click.core import ParameterSource

pytest.importorskip("torch")

from slm_folder import TRAIN, make_folder

import slmtok
from slmmodel.cli import APP
from slmmodel.data.strategies import STRATEGIES, option_names
from slmmodel.errors import unknown_setting
from slmtok.cli.needed import NEVER, check_needs, needed_param
from slmtok.errors import OptionError


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Packed data."""
    return make_folder(tmp_path_factory.mktemp("made"), "--no-eval") / "data"


def test_an_option_of_a_packing_is_found_in_its_section(slm, data: Path) -> None:
    stream = [*TRAIN, "--set=data.pack=stream", "--dry-run"]
    ran = slm("train", data, *stream, "--set", "data.stride=4", code=2)
    assert "unknown setting 'data.stride'; did you mean 'data.options.stride'?" in ran.err
    assert "  fix:   --set data.options.stride=4\n" in ran.err
    slm("train", data, *stream, "--set", "data.options.stride=4", code=0)
    known = [f"data.options.{name}" for name in option_names()]
    for name in option_names():
        assert any(name in strategy.OPTIONS for strategy in STRATEGIES.values())
        assert unknown_setting(f"data.{name}", known, "settings").fix == f"write data.options.{name}"


def test_an_option_of_reading_is_found_in_its_section(slm, data: Path) -> None:
    for settings, fix in {
        ("data.text_key=body",): "--text-key body",
        ("data.text_key=body", "data.stride=4"): "write data.read.text_key for data.text_key; "
        "write data.options.stride for data.stride",
    }.items():
        ran = slm("train", data, *TRAIN, "--dry-run", *(f"--set={each}" for each in settings), code=2)
        assert f"  fix:   {fix}\n" in ran.err
        assert ran.err.partition("limit: ")[2].startswith("known: data.train, ") and "data.read.format" not in ran.err


def test_a_stride_beyond_the_window_becomes_the_largest(slm, data: Path) -> None:
    stream = [*TRAIN, "--set=data.pack=stream", "--dry-run"]
    ran = slm("train", data, *stream, "--set", "data.options.stride=100", code=2)
    assert re.findall("limit: (.*)\n  fix:   (.*)\n", ran.err) == [("1 to 8", "--set data.options.stride=8")]


@pytest.mark.parametrize(("window", "has_effect"), [(4, True), (8, False), (128, False)])
def test_a_window_as_long_as_a_sequence_has_no_effect(slm, data: Path, window: int, has_effect: bool) -> None:
    ran = slm("train", data, *TRAIN, "--set", f"model.window={window}", "--dry-run", code=0)
    assert ("note: model.window has no effect: it acts only with a model.seq_len above it" in ran.err) != has_effect


@pytest.mark.parametrize("words", [["--dry-run"], ["-o", "new", "--no-eval"]])
def test_a_stage_behind_the_end_is_said(slm, data: Path, words: list[str]) -> None:
    Path("stages.yaml").write_text("data: {stages: [{from_step: 1}, {from_step: 3}, {from_step: 300}]}\n")
    ran = slm("train", data, "--config", "stages.yaml", *TRAIN, "--budget", "steps=2", *words, code=0)
    note = "note: data.stages: the run ends at step 2, before the stages from step 3 and 300"
    assert note in ran.err
    ran = slm("train", data, "--config", "stages.yaml", *TRAIN, "--budget", "steps=3", "--dry-run", code=0)
    assert "note: data.stages: the run ends at step 3, before the stage from step 300" in ran.err
    ran = slm("train", data, *TRAIN, "--budget", "steps=2", "--dry-run", code=0)
    assert "data.stages" not in ran.err


@pytest.mark.parametrize("option", ["--preset=gpt2-tiny", "--set=model.preset=stories-15m"])
def test_a_preset_beside_the_sizes_of_a_configuration_is_refused(slm, data: Path, option: str) -> None:
    Path("full.yaml").write_text(slm("config", "--preset", "cpu-demo", code=0).out)
    line = ["train", data, "--budget", "steps=1", "-o", "new", "--dry-run"]
    ran = slm(*line, "--config", "full.yaml", option, code=2)
    assert "has no effect on the model, whose sizes full.yaml sets\n" in ran.err
    assert f"leave out {option.replace('=', ' ', 1).replace(' gpt2-tiny', '')}, or --config full.yaml\n" in ran.err
    assert "preset cpu-demo" in slm(*line, "--config", "full.yaml", code=0).out
    slm(*line, "--config", "full.yaml", "--preset", "cpu-demo", code=0)
    Path("part.yaml").write_text("model: {n_layers: 1}\n")
    slm(*line, "--config", "part.yaml", option, code=0)


def options_with_needs() -> list[tuple[click.Command, Any]]:
    """(command, option) of each option that needs another."""
    commands = map(APP.command, APP.commands)
    params = ((command, param) for command in commands for param in command.params)
    return [(command, param) for command, param in params if getattr(param, "needs", None) not in (None, NEVER)]


@pytest.mark.parametrize(("command", "param"), options_with_needs(), ids=lambda each: each.name)
def test_an_option_without_what_it_needs_is_never_ignored_silently(command: click.Command, param: Any) -> None:
    context = click.Context(command, info_name=command.name)
    context.meta["arguments"] = [param.opts[0], *([] if param.is_flag else ["7"])]
    context.set_parameter_source(param.name, ParameterSource.COMMANDLINE)
    fact = f"{' '.join(context.meta['arguments'])} has no effect without {param.needs}"
    try:
        assert ([*check_needs(context)], param.name) == ([fact], "force")
    except OptionError as error:
        assert error.fact == fact
    context.params[str(needed_param(param.needs, command).name)] = "x"
    assert not [*check_needs(context)]


@pytest.mark.parametrize(
    ("idle", "without", "acting"),
    [
        ("optim.lr_scaling=sqrt", "the rate of the preset, without optim.lr", "optim.lr_scaling=sqrt"),
        ("model.rope_base=500", "model.positions rope", "model.positions=rope"),
        ("run.deterministic=true", "run.device cuda", None),
        ("data.cache=kept", "text", None),
        ("data.positions=row", "attention", "model.positions=rope"),
        ("data.doc_mask=false", "attention, or data.pack stateful", "data.pack=stateful"),
        ("data.crop_offset=fixed", "data.pack concat", "data.pack=concat"),
    ],
)
def test_a_setting_without_effect_in_this_run_is_noted(slm, data: Path, idle: str, without: str, acting: str) -> None:
    others = {
        "optim.lr_scaling": ["optim.lr=1e-3"],
        "model.rope_base": ["model.positions=learned"],
        "data.crop_offset": ["data.pack=first_fit"],
        **{name: ["model.arch=lstm"] for name in ("data.positions", "data.doc_mask")},
    }.get(idle.partition("=")[0], [])
    shape = [*TRAIN[-2:], "--preset=cpu-demo", "--budget=steps=2", "--dry-run", "-o", "new"]
    err = slm("train", data, *shape, *(f"--set={each}" for each in (*others, idle)), code=0).err
    assert f"note: {idle.partition('=')[0]} has no effect: it acts only with {without}" in err
    if acting is not None:
        others = others if acting == "data.pack=stateful" else []
        err = slm("train", data, *shape, *(f"--set={each}" for each in (*others, idle, acting)), code=0).err
        assert f"{idle.partition('=')[0]} has no effect" not in err


def test_options_of_a_command_without_effect_are_refused_or_noted(slm, data: Path) -> None:
    run = data.parent / "run"
    for line, fact in {
        "status RUN --every 3s": "--every 3s has no effect without --watch",
        "eval RUN --below 3": "--below 3 has no effect without --exposure FILE",
        "info presets --diagram": "--diagram draws a model, and 'presets' is none",
        "demo --max-docs 3": "--max-docs 3 has no effect without TEXT",
        "probe RUN --steps 0 --lr 0.1": "--lr has no effect with --steps 0, which trains nothing",
        "probe RUN --tasks copy --digits 5": "--digits has no effect without the task addition",
        "ablate DATA DATA --vocab 300 --cpu": "--vocab has no effect where no tokenizer is trained",
    }.items():
        words = [{"RUN": str(run), "DATA": str(data)}.get(word, word) for word in line.split()]
        assert f"error: {fact}" in slm(*words, code=2).err
    err = slm("sample", run, "a", "--max-new", "1", "--temperature", "0", "--seed", "3", "--top-k", "3", code=0).err
    assert "note: --top-k has no effect with --temperature 0\n" in err
    assert "note: --seed has no effect: nothing is drawn\n" in err
    err = slm("sample", run, "a", "--max-new", "1", "--beam", "2", "--diversity-penalty", "1", code=0).err
    assert "note: --diversity-penalty has no effect without --beam-groups of 2 or more\n" in err
    other = data.parent / "other.json"
    slmtok.train(str(data.parent / "text.txt"), vocab_size=285).save(other)
    assert f"{other} is not the tokenizer of {run}" in slm("eval", run, "-t", other, code=1).err
    text = ["train", data.parent / "text.txt", "-t", data.parent / "tok.json", *TRAIN, "--dry-run", "-o", "new"]
    assert "note: --domain a=t has no effect on slm train\n" in slm(*text, "--domain", "a=t", code=0).err
    train = ["train", data, *TRAIN, "--budget=steps=1", "-o", "new", "--val", "none", "--allow-mismatch", "files"]
    err = slm(*train, "--eval", code=0).err
    assert "note: allow_mismatch has no effect on a new run" in err
    assert "note: --eval scored nothing: the run has no validation data\n" in err
