"""Data, checkpoints and tokenizers that are not in place: the error blames what is missing, and its fix works."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from pathlib import Path

import pytest
from printed_fixes import fix_in

pytest.importorskip("torch")
pytest.importorskip("safetensors")

import numpy as np
from slm_folder import TEXT, TRAIN, make_folder

import slmtok
from slmmodel import app
from slmmodel.data import open_data
from slmmodel.errors import MissingInput
from slmtok import atomic
from slmtok.shards import pack


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a text, two tokenizers, packed data of each, and a run of two steps that can be resumed at 1."""
    folder = make_folder(tmp_path_factory.mktemp("made"), "--set=run.save_every=1", "--no-eval")
    slmtok.train(str(folder / "text.txt"), vocab_size=280).save(folder / "other.json")
    (folder / "other.txt").write_text(TEXT * 31)
    pack(str(folder / "other.txt"), slmtok.load(folder / "other.json"), folder / "data4")
    return folder


@pytest.mark.parametrize("line", ["sample ADDRESS the", "eval ADDRESS", "resume ADDRESS", "status ADDRESS"])
@pytest.mark.parametrize("address", ["https://huggingface.co/gpt2", "hf://me/run"])
def test_an_address_is_no_run(slm, here: Path, line: str, address: str) -> None:
    """Another run, which is in the working folder, is not what an address means."""
    ran = slm(*line.replace("ADDRESS", address).split(), code=1)
    assert f"error: {address!r} is an address, and only folders are read\n" in ran.err
    assert fix_in(ran.err) == "if it is a run, fetch it first, and name the copy" and "runs in ./: run" in ran.err


@pytest.mark.parametrize("address", ["https://me.org/run", Path("https://me.org/run")])
def test_an_address_is_no_path_in_python(here: Path, address: str | Path) -> None:
    with pytest.raises(MissingInput, match="is an address, and only folders are read"):
        app.load(address)
    with pytest.raises(MissingInput, match="is an address, and only files are read"):
        open_data(str(address))
    (here / "https:").mkdir()
    with pytest.raises(MissingInput, match="no folder 'https:/"):
        app.load(address)


def test_a_mixture_names_its_missing_path(slm, here: Path) -> None:
    (here / "conf").mkdir()
    (here / "conf/mix.yaml").write_text("data: {train: [{path: ../data4}, {path: ../data}]}\n")
    for tokenizer in ([], ["-t", "tok.json"]):
        ran = slm("train", "--config", "conf/mix.yaml", *tokenizer, "-o", "new", *TRAIN, code=1)
        assert "error: no file or folder '../data4'\n" in ran.err and "named in conf/mix.yaml, line 1\n" in ran.err
        assert "relative to the working folder" in ran.err and fix_in(ran.err) == "write data4 in that line"
    ran = slm("train", "--set", "data.train=[{path: nowhere}, {path: data}]", "-o", "new", *TRAIN, code=1)
    assert "error: no file or folder 'nowhere'\n" in ran.err


def test_one_fix_allows_all_that_differs_and_names_the_run_that_stays(slm, here: Path) -> None:
    words = ["resume", "run", "--step", "1", "-o", "new", "--data", "other.txt", "--no-eval"]
    ran = slm(*words, code=1)
    assert f"where: {Path('run', 'fingerprint.json')}\n" in ran.err and not (here / "new").exists()
    flags = shlex.split(fix_in(ran.err).partition(", or ")[2])
    assert flags == ["--allow-mismatch", "data", "--allow-mismatch", "plan"]
    slm(*words, *flags, "-q", code=0)


def test_other_data_name_the_place_of_those_of_the_run(slm, here: Path) -> None:
    pack(str(here / "other.txt"), slmtok.load(here / "tok.json"), here / "data5")
    slm("resume", "run", "--step", "1", "-o", "second", "--data", "data", "--no-eval", "-q", code=0)
    shutil.move(here / "data", here / "moved")
    allowed = "--data data5 --no-eval --allow-mismatch data --allow-mismatch plan -o second-2"
    for words, kept in (
        (["--step", "1", "-o", "new"], "--allow"),
        (["--step", "1"], f"slm resume second --step 1 {allowed}"),
    ):
        ran = slm("resume", "second", *words, "--data", "data5", "--no-eval", code=1)
        assert fix_in(ran.err).startswith(f"--data moved, or {kept}"), ran.err
    assert not (here / "new").exists()
    slm("resume", "second", "--step", "1", "-o", "new", "--data", "moved", "--no-eval", "-q", code=0)


def test_a_damaged_checkpoint_leads_to_a_whole_one(slm, here: Path) -> None:
    (here / "run/checkpoints/step-1/model.safetensors").unlink()
    ran = slm("resume", "run", "--step", "1", "-o", "new", "--no-eval", code=1)
    line = shlex.split(fix_in(ran.err).partition("restore the file, or another checkpoint: ")[2])
    assert line[:3] == ["slm", "resume", "run"] and "--step" in line
    slm(*line[1:], "-q", code=0)
    ran = slm("sample", "run", "--step", "1", "--prompt", "a", "--max-new", "1", code=1)
    assert fix_in(ran.err) == "restore the file, or another checkpoint: --step 2"
    slm("sample", "run", "--step", "2", "--prompt", "a", "--max-new", "1", code=0)


def test_ids_of_another_tokenizer_have_the_command_that_writes_its_vocabulary(slm, here: Path) -> None:
    (here / "ids").mkdir()
    shutil.copy(here / "data/vocab.json", here / "ids")
    np.full(300, 60_000, "<u2").tofile(here / "ids/train.bin")
    ran = slm("train", "ids", "-o", "new", "--dry-run", code=1)
    assert fix_in(ran.err).startswith(f"slmtok vocab TOK --metadata -o {Path('ids', 'vocab.json')} --force replaces")


def test_a_finished_run_without_checkpoints_is_trained_again(slm, here: Path) -> None:
    shutil.rmtree(here / "run/checkpoints")
    (here / "run/model.safetensors").unlink()
    for words in (["-o", "new", "--budget", "steps=3"], ["--step", "1", "-o", "new", "--no-eval"]):
        ran = slm("resume", "run", "--no-eval", *words, code=1)
        assert "is finished, and has no checkpoint" in ran.err and "trains on" not in ran.err
        line = shlex.split(fix_in(ran.err).partition("train again: ")[2])
        assert line[:4] == ["slm", "train", "--config", str(Path("run", "config.yaml"))]
        slm(*line[1:], "-q", *TRAIN, code=0)
        shutil.rmtree(here / "new")
    ran = slm("train", "data", *TRAIN, "--preset=cpu-demo", "--budget", "steps=2", "--no-eval", code=1)
    assert fix_in(ran.err) == "another --output, or --force, which replaces it"


def test_packed_data_are_not_named_as_the_text_of_a_report(slm, here: Path) -> None:
    assert fix_in(slm("report", "data", code=1).err) == "slm report run"


def test_validation_data_of_another_tokenizer_are_packed_from_their_text(slm, here: Path) -> None:
    shutil.copy(here / "other.txt", here / "gone.txt")
    pack("other.txt", slmtok.load("other.json"), "val4")
    ran = slm("train", "data", "--val", "val4", "-o", "new", *TRAIN, code=1)
    line = re.findall("slmtok pack .*", fix_in(ran.err))[0]
    assert line == f"slmtok pack other.txt -t {Path('data', 'tok.json')} -o NEW"


@pytest.mark.parametrize("data", ["data4", "nowhere"])
def test_data_that_are_in_place_need_no_option(slm, here: Path, data: str) -> None:
    ran = slm("resume", "run", "--step", "1", "-o", "new", "--data", data, code=1)
    assert "leave --data out: the data of the run, " in fix_in(ran.err)


def test_the_tokenizer_of_a_run_is_found_in_its_data(slm, here: Path, made: Path) -> None:
    (here / "run/tok.json").unlink()
    sums = (here / "run/SHA256SUMS").read_text().splitlines(keepends=True)
    (here / "run/SHA256SUMS").write_text("".join(line for line in sums if "tok.json" not in line))
    for words in ([], ["-t", "other.json"]):
        fix = fix_in(slm("sample", "run", "once", *words, code=1).err)
        found = shlex.split(fix.partition(", or ")[0])[1]
        assert Path(found).resolve() == (made / "data/tok.json").resolve()
        slm("sample", "run", "once", "-t", found, "--max-new", 1, code=0)


def test_check_names_the_certificate_of_the_run(slm, here: Path) -> None:
    ran = slm("eval", "--check", "run/eval/val.json", code=1)
    assert "no file 'run/eval/val.json'" in ran.err and fix_in(ran.err) == "slm eval run writes one"
    slm("eval", "run", "--losses", "a.losses", "-q", code=0)
    ran = slm("eval", "run", "--check", "a.losses", code=2)
    assert fix_in(ran.err) == f"--check {Path('run', 'eval', 'val.json')}"
    assert fix_in(slm("eval", "--check", "run/eval/vall.json", code=1).err) == fix_in(ran.err)


def test_ablate_keeps_the_given_tokenizers(slm, here: Path) -> None:
    ran = slm("ablate", "-t", "tok.json", "-t", "other.json", "-o", "ab", code=2)
    assert fix_in(ran.err) == "slm ablate -t tok.json -t other.json -o ab --text CORPUS"
    ran = slm("ablate", "-t", "tok.json", "-o", "ab", code=2)
    assert fix_in(ran.err) == "slm ablate -t tok.json -o ab -t TOK --text CORPUS"


def test_load_names_the_run_that_is_meant(here: Path) -> None:
    with pytest.raises(MissingInput) as error:
        app.load("rum")
    assert error.value.fix == "name 'run'"


def test_a_saved_data_set_of_ids_is_no_text(slm, here: Path) -> None:
    ids = {"feature": {"dtype": "int32", "_type": "Value"}, "_type": "List"}
    text = {"dtype": "string", "_type": "Value"}
    for name, features in {"ids": {"input_ids": ids}, "both": {"input_ids": ids, "text": text}}.items():
        (here / name).mkdir()
        (here / name / "dataset_info.json").write_text(json.dumps({"features": features}))
    for words in (["train", "ids"], ["train", "ids", "-t", "tok.json"], ["eval", "run", "--on", "ids"]):
        ran = slm(*words, code=1)
        assert "error: 'ids' is a data set of ids, not of text: its column 'input_ids'" in ran.err
    assert f"slmtok vocab TOK --metadata -o {Path('ids', 'vocab.json')}" in fix_in(ran.err)
    assert "a data set of ids" not in slm("train", "both", code=1).err


def test_data_that_were_moved_are_found_by_their_digest(slm, made: Path, tmp_path: Path) -> None:
    here = make_folder(tmp_path, "--set=run.save_every=1", "--no-eval")
    shutil.copytree(made / "data4", here / "a4")
    (here / "data").rename(here / "data_moved")
    assert fix_in(slm("eval", "run", code=1).err) == "--on data_moved"
    assert fix_in(slm("resume", "run", "--step", "1", "-o", "new", code=1).err) == "--data data_moved"
    slm("resume", "run", "--step", "1", "-o", "new", "--data", "data_moved", "--no-eval")
    slm("eval", "run", "--on", "data_moved")
    shutil.rmtree(here / "data_moved")
    assert fix_in(slm("eval", "run", code=1).err) == "name them: --on DATA"


def test_a_split_of_a_text_is_a_part_of_it(slm, here: Path) -> None:
    ran = slm("eval", "run", "--on", "text.txt", "--split", "val")
    assert "note: --split val is the part of a text that training holds out" in ran.err
    assert "is the part" not in slm("eval", "run", "--on", "text.txt").err
    assert "is the part" not in slm("eval", "run", "--split", "val").err


def test_the_same_command_finds_the_data_of_its_run(slm, here: Path) -> None:
    begin = ["-o", "begun", "--budget", "steps=2", *TRAIN, "--no-eval"]
    slm("train", "data", *begin)
    (here / "begun/result.json").unlink()
    (here / "begun/model.safetensors").unlink()
    pack(str(here / "other.txt"), slmtok.load(here / "tok.json"), here / "data5")
    for given, own in (("data4", "data"), ("data5", "data"), ("data", "old data")):
        (here / "data").rename(here / own)
        fix = fix_in(slm("train", given, *begin, code=1).err)
        assert ("--allow-mismatch data" in fix) == (given == "data5")
        pasted = shlex.split(fix.partition(";")[0])
        assert pasted == ["slm", "train", own, *begin]
        assert slm(*pasted[1:], "--dry-run").code == 0
    assert slm(*pasted[1:]).code == 0


def test_a_shard_that_was_cut_off(slm, here: Path) -> None:
    """The fix is the command that made the data, which replaces them; the same command then trains."""
    from slmtok.cli import main as commands

    assert (
        commands(shlex.split(pack_line := "pack other.txt -t tok.json --separator cat --val hash:20% -o cut -q")) == 0
    )
    before = Path("cut/train-00000.bin").read_bytes()
    line = "train cut -o new --preset cpu-demo --budget steps=1 --no-eval"
    for size in (4100, 1000):
        os.truncate("cut/train-00000.bin", size)
        fix = fix_in(slm(*line.split(), *TRAIN, code=1).err).removeprefix("pack the data again: ")
        assert fix == "slmtok pack other.txt -t cut/tok.json --separator cat --val hash:20% -o cut --force"
    assert commands(shlex.split(pack_line)) == 1
    assert commands(shlex.split(fix)[1:]) == 0
    assert Path("cut/train-00000.bin").read_bytes() == before
    slm(*line.split(), *TRAIN, code=0)


@pytest.mark.parametrize(
    "line",
    [
        "eval run --no-baselines --certificate out",
        "eval run --no-baselines --losses out",
        "eval run --no-baselines --exposure out",
    ],
)
def test_a_file_that_came_into_being_meanwhile_is_kept(slm, here: Path, monkeypatch, line: str) -> None:
    """So is the result, which may have taken hours."""
    write = atomic.write

    def beside_another(target, data, *, force=False) -> None:
        Path("out").exists() or Path("out").write_text("notes")
        write(target, data, force=force)

    monkeypatch.setattr(atomic, "write", beside_another)
    error = slm(*line.split(), "--device", "cpu", "-q", code=1).err
    assert "error: output 'out' came into being while this was measured\n" in error
    assert "limit: the result is in 'out-2'\n" in error and Path("out").read_text() == "notes"
    assert fix_in(error) == "mv out-2 out replaces it" and Path("out-2").stat().st_size > 100
    Path("out").unlink()
    slm(*line.split(), "--device", "cpu", "-q", "--force", code=0)
    assert Path("out").stat().st_size > 100
