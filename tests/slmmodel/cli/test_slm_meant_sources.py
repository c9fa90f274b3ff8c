"""`data.train` and `data.stages` in other forms than lists of tables: the fix is the list that is meant."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from printed_fixes import fix_in

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from slm_folder import TRAIN, make_folder

from slmmodel.errors import InvalidConfig
from slmmodel.trainer import train
from slmtok.shards import pack

BASE = ["-o", "new", "--dry-run", "--preset", "cpu-demo", *TRAIN]
STEPS = ["--budget", "steps=100"]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two folders of packed data."""
    import slmtok

    folder = make_folder(tmp_path_factory.mktemp("sources"))
    (folder / "b.txt").write_text("the tree saw a little fox upon a time. " * 40)
    pack(str(folder / "b.txt"), slmtok.load(folder / "tok.json"), folder / "data3")
    return folder


@pytest.fixture(autouse=True)
def _inside(here: Path, slm: object, monkeypatch: pytest.MonkeyPatch) -> None:
    # `slm` enters a folder of its own.
    monkeypatch.chdir(here)


@pytest.mark.parametrize(
    ("section", "line"),
    [
        ("train: {data: 0.7, data3: 0.3}", "train: [{path: data, weight: 0.7}, {path: data3, weight: 0.3}]"),
        (
            "train: {data: {weight: 2}, data3: {weight: 70%}}",
            "train: [{path: data, weight: 2}, {path: data3, weight: 70}]",
        ),
        ("train: {a: data, b: data3}", "train: [{path: data, domain: a}, {path: data3, domain: b}]"),
        ("train: {path: data, weight: 2}", "train: [{path: data, weight: 2}]"),
        ("stages: {from_step: 1}", "stages: [{from_step: 1}]"),
    ],
)
def test_a_table_is_answered_by_the_list_that_it_means(section, line, slm):
    more = [] if section.startswith("train") else ["data"]
    Path("c.yaml").write_text(f"data:\n  {section}\n")
    error = slm("train", *more, *BASE, *STEPS, "--config", "c.yaml", code=2).err
    assert fix_in(error) == f"write {line}" and "where: c.yaml, line 2" in error
    Path("c.yaml").write_text(f"data:\n  {line}\n")
    slm("train", *more, *BASE, *STEPS, "--config", "c.yaml", code=0)


@pytest.mark.parametrize(
    ("joined", "meant"),
    {
        "data,data3": "[data, data3]",
        "data, data3": "[data, data3]",
        "data:0.7,data3:0.3": "[{path: data, weight: 0.7}, {path: data3, weight: 0.3}]",
        "data=70%,data3=30%": "[{path: data, weight: 70}, {path: data3, weight: 30}]",
    }.items(),
)
def test_several_sources_in_one_text(joined, meant, slm):
    Path("c.yaml").write_text(f"data:\n  train: '{joined}'\n")
    for given in (["--config", "c.yaml"], ["--set", f"data.train={joined}"]):
        error = slm("train", *BASE, *STEPS, *given, code=2).err
        assert f"error: no file or folder {joined!r}\n" in error
        assert fix_in(error) == shlex.join(["--set", f"data.train={meant}"])
        slm("train", *BASE, *STEPS, *given, *shlex.split(fix_in(error)), code=0)


def test_several_sources_of_a_call():
    with pytest.raises(InvalidConfig) as caught:
        train({"data.train": "data,data3"}, output="new")
    assert caught.value.fix == "settings={'data.train': ['data', 'data3']}"
    with pytest.raises(InvalidConfig) as caught:
        train({"data": {"train": {"data": 1, "data3": 2}}}, output="new")
    tables = [{"path": "data", "weight": 1}, {"path": "data3", "weight": 2}]
    assert caught.value.fix == f"settings={{'data.train': {tables}}}"


def test_a_name_with_a_comma_is_a_path(slm):
    Path("data").rename("data,data3")
    try:
        slm("train", *BASE, *STEPS, "--set", "data.train=data,data3", code=0)
    finally:
        Path("data,data3").rename("data")


def test_a_misspelled_key_of_packed_data_is_no_option_of_text(slm):
    Path("c.yaml").write_text("data:\n  train: [{path: data, weigth: 3}, {path: data3}]\n")
    error = slm("train", *BASE, *STEPS, "--config", "c.yaml", code=2).err
    assert "unknown setting 'weigth'; did you mean 'weight'?" in error and fix_in(error) == "write weight"
    assert "limit: known: path, passkey," in error
    Path("c.yaml").write_text("data:\n  train: [{path: data, text_key: a}, {path: data3}]\n")
    error = slm("train", *BASE, *STEPS, "--config", "c.yaml", code=2).err
    assert "text_key says how text is read, and 'data' is packed data" in error


@pytest.mark.parametrize(
    ("stages", "meant"),
    {
        "[{from_step: 10, seq_len: 4}]": "[{from_step: 1}, {from_step: 10, seq_len: 4}]",
        "[{from_step: 20}, {from_step: 10}]": "[{from_step: 1}, {from_step: 10}, {from_step: 20}]",
        "[{from_step: 10, train: [{path: data3}]}]": "[{from_step: 1}, {from_step: 10, train: [{path: data3}]}]",
    }.items(),
)
def test_stages_are_completed_and_put_in_order(stages, meant, slm):
    fix = fix_in(slm("train", "data", *BASE, *STEPS, "--set", f"data.stages={stages}", code=2).err)
    assert fix == shlex.join(["--set", f"data.stages={meant}"])
    slm("train", "data", *BASE, *STEPS, *shlex.split(fix), code=0)


def test_values_of_a_stage(slm):
    def refused(stage: str, *budget: str) -> str:
        return slm("train", "data", *BASE, *budget, "--set", f"data.stages=[{{from_step: 1}}, {{{stage}}}]", code=2).err

    error = refused("from_step: 60%", *STEPS)
    assert "limit: an integer >= 1" in error and fix_in(error) == "from_step: 61, the step after 60 % of 100 steps"
    assert fix_in(refused("from_step: 0.5")) == "from_step: 501, the step after 50 % of 1,000 steps"
    assert fix_in(refused("from_step: 0")) == "from_step: 1, the first step"
    error = refused("from_step: 5, weights: [0.5, 0.5]")
    assert "limit: a table of names of sources, each with its weight" in error
    assert fix_in(error) == "weights: {NAME: 0.5, NAME: 0.5}, with the names of the sources"
    assert fix_in(refused("from_step: two")) == "correct it, or leave it out"
