"""Settings of `slm train` that cannot act as given: misplaced ones, beyond a limit, and without effect."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("torch")

from slm_folder import TRAIN, make_folder

from slmmodel.data.strategies import STRATEGIES, option_names
from slmmodel.errors import unknown_setting


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
