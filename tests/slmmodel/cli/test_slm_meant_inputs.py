"""Inputs of `slm` in the place of others: the error says what each is, and its fix, pasted as printed, works."""

from __future__ import annotations

import ast
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from printed_fixes import fix_in

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from slm_folder import TEXT, TRAIN, make_folder

import slmmodel
from slmmodel import app
from slmmodel.cli.pairs import read_pairs
from slmmodel.errors import InvalidConfig, InvalidInput, MissingInput
from slmtok.errors import MalformedRecord
from slmtok.errors import MissingInput as MissingFile
from slmtok.file_content import content_of


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two texts, a tokenizer, packed data of each, and a run of two steps."""
    import slmtok
    from slmtok.shards import pack

    folder = make_folder(tmp_path_factory.mktemp("made"), "--no-eval")
    (folder / "other.txt").write_text(TEXT * 31)
    pack(str(folder / "other.txt"), slmtok.load(folder / "tok.json"), folder / "data3")
    return folder


@pytest.fixture
def here(slm: Callable[..., Any], made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the folder, which is the working folder."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def run_line(slm: Callable[..., Any], line: str, code: int = 0) -> str:
    words = shlex.split(line)
    assert words[0] == "slm", line
    return str(slm(*words[1:], code=code).err)


def test_weights_of_a_run_are_no_data(slm: Callable[..., Any], here: Path) -> None:
    weights = str(Path("run", "model.safetensors"))
    for line in ([weights], [weights, "-t", "tok.json"], [str(Path("run/checkpoints/step-2/model.safetensors"))]):
        err = slm("train", *line, "-o", "new", code=2).err
        assert "has weights of the run 'run', not text" in err and "pickle" not in err, err
    fix = fix_in(slm("train", weights, code=2).err)
    assert re.fullmatch(r"slm train \S+/data -o run-2 trains anew on its data; slm resume run .* continues it", fix)
    assert "has weights of the run 'run'" in slm("eval", "run", "--on", weights, code=2).err
    shutil.copy(weights, "w.safetensors")
    assert "is a file of tensors (safetensors), not text" in slm("train", "w.safetensors", code=2).err
    # A length of the header that begins as a pickle does.
    for length in (0x0280, 0x0480, 0x1234):
        content = content_of(length.to_bytes(8, "little") + b'{"__metadata__":{}}')
        assert content is not None and "safetensors" in content.name


@pytest.mark.parametrize("more", [(), ("-t", "tok.json")])
def test_the_manifest_of_packed_data_is_no_file_of_settings(slm: Any, here: Path, more: tuple[str, ...]) -> None:
    error = slm("train", "data/manifest.json", *more, "-o", "new", code=2).err
    assert "and slm reads its folder" in error
    fix = error.partition("  fix:   slm ")[2]
    assert shlex.split(fix)[:2] == ["train", "data"]
    slm(*shlex.split(fix), "--dry-run", code=0)


@pytest.mark.parametrize("line", ["train {} -o new", "eval run --on {}", "batches {}", "ablate {} data3"])
@pytest.mark.parametrize("name", ["tok.json", "vocab.json", "manifest.json", "train-00000.off", "train-00000.bin"])
def test_a_file_of_packed_data_stands_for_its_folder(slm: Any, here: Path, line: str, name: str) -> None:
    error = slm(*line.format(f"data/{name}").split(), code=2).err
    says_tokenizer = ": 'data/tok.json' is a tokenizer of packed data\n" in error
    assert (f"error: 'data/{name}' is " in error and ", and slm reads its folder\n" in error) or says_tokenizer
    assert error.endswith(f"  fix:   slm {line.format('data')}\n")


@pytest.mark.parametrize("name", ["tok.json", "manifest.json", "val-00000.nb"])
def test_a_file_of_packed_data_as_validation(slm: Any, here: Path, name: str) -> None:
    for line, meant in (("data --val {}", "data --val auto"), ("data3 --val={}", "data3 --val=data")):
        error = slm("train", *line.format(f"data/{name}").split(), "-o", "new", code=2).err
        assert error.endswith(f"  fix:   slm train {meant} -o new\n"), error
    assert not Path("new").exists()


@pytest.mark.parametrize("line", ["tok.json -o new", "-t tok.json -o new --seed 3", "--set data.tokenizer=tok.json"])
def test_a_tokenizer_without_data_keeps_the_options(slm: Any, here: Path, line: str) -> None:
    words = shlex.split(slm("train", *line.split(), code=2).err.partition("  fix:   slm ")[2])
    assert words[:2] == ["train", "TEXT"] and {*line.split()} <= {*words}
    slm(*("text.txt" if word == "TEXT" else word for word in words), "--dry-run", code=0)


def test_text_beside_packed_data_is_text(slm: Any, here: Path) -> None:
    shutil.copy("text.txt", "data/notes.txt")
    slm("train", "data/notes.txt", "-t", "data/tok.json", "-o", "new", "--dry-run", code=0)


@pytest.mark.parametrize("name", ["config.yml", "nosuch.yml", "config"])
def test_a_configuration_that_does_not_exist_is_no_file_of_a_run(slm: Any, here: Path, name: str) -> None:
    error = slm("train", "--config", f"run/{name}", "-o", "new", code=1).err
    assert f"error: no file 'run/{name}'\n" in error
    assert name != "config.yml" or error.endswith("  fix:   --config run/config.yaml\n")


def test_other_data_of_a_finished_run_are_named_at_once(slm: Callable[..., Any], here: Path) -> None:
    for words in (["resume", "run"], ["resume", "run", "--budget", "steps=4"]):
        for data in ("data3", "other.txt"):
            err = slm(*words, "--data", data, code=1).err
            assert f"--data {data}: the training data differ from the run's" in err
            own, with_other = re.split(", or (?=slm)", fix_in(err).partition("are in place: ")[2])
            assert own.startswith("slm resume run ") and data not in own
            assert f" --data {data} --allow-mismatch data --allow-mismatch plan" in with_other
    for line in (own, with_other):
        run_line(slm, line)
        assert Path("run-2/model.safetensors").exists()
        shutil.rmtree("run-2")
    flags = ["--allow-mismatch", "data", "--allow-mismatch", "plan"]
    err = slm("resume", "run", "--data", "data3", "--no-eval", *flags, code=1).err
    run_line(slm, fix_in(err))
    # The same data in another place are the data of the run, which awaits its scoring.
    shutil.copytree("data", "copy")
    slm("resume", "run", "--data", "copy", code=0)
    assert Path("run/eval/val.json").exists()


def test_settings_of_data_lead_to_a_new_run_that_keeps_the_rest(slm: Callable[..., Any], here: Path) -> None:
    branch = ["resume", "run", "-o", "new", "--budget", "steps=3", "--no-eval"]
    for given in (["--set", "data.train=data3"], ["--set=data.train=data3"]):
        err = slm(*branch, *given, code=2).err
        assert "--set data.train: the data of a run, and how they are read, do not change" in err
        config = Path("run", "config.yaml")
        assert fix_in(err) == f"slm train data3 --config {config} -o new --budget steps=3 --no-eval"
    run_line(slm, fix_in(err))
    assert "steps: 3" in Path("new/config.yaml").read_text() and "data3" in Path("new/config.yaml").read_text()
    err = slm(*branch[:3], "new2", *branch[4:], "--set", "data.train=other.txt", code=2).err
    assert fix_in(err).startswith("slm train other.txt --config ") and " -t " in fix_in(err)
    run_line(slm, fix_in(err))
    err = slm(*branch[:3], "new3", *branch[4:], "--set", "data.pack=best_fit", code=2).err
    assert fix_in(err).endswith(" -o new3 --budget steps=3 --no-eval --set data.pack=best_fit")
    run_line(slm, fix_in(err))


@pytest.mark.parametrize("setting", ["run.seed=3", "run.batch_tokens=32"])
def test_a_setting_that_changes_the_sequences_is_named(slm: Callable[..., Any], here: Path, setting: str) -> None:
    branch = ["resume", "run", "-o", "new", "--budget", "steps=3", "--no-eval", "--set", setting]
    err = slm(*branch, code=1).err
    assert f"error: --set {setting}: each step of the run would take other sequences\n" in err
    assert fix_in(err) == f"leave out --set {setting}, or --allow-mismatch plan" and not Path("new").exists()
    slm(*branch, "--allow-mismatch", "plan", code=0)


def test_a_larger_budget_of_an_unfinished_run_branches(slm: Callable[..., Any], here: Path) -> None:
    Path("run/result.json").unlink()
    words = ["train", "data", "-o", "run", "--preset=cpu-demo", *TRAIN, "--no-eval", "--budget"]
    err = slm(*words, "steps=3", code=2).err
    assert "run.budget.steps=3 contradicts the run, which has 2" in err
    line, found, _ = fix_in(err).partition(", or leave it out, another --output, or --force")
    assert found and line == "slm resume run --budget steps=3 -o run-2"
    run_line(slm, line)
    # A checkpoint that has spent the budget has no step left.
    assert fix_in(slm(*words, "steps=1", code=2).err).startswith("leave it out, another --output")
    assert fix_in(slm(*words, "steps=3", "--set", "optim.lr=0.5", code=2).err).startswith("leave it out, another")


def test_a_check_takes_no_baselines(slm: Callable[..., Any], here: Path) -> None:
    slm("eval", "run", "--no-baselines", code=0)
    check = ["--check", str(Path("run/eval/val.json"))]
    assert "proven" in slm("eval", "run", "--no-baselines", *check, code=0).out
    assert "--check together with --baselines" in slm("eval", "run", "--baselines", *check, code=2).err


@pytest.mark.skipif(sys.platform == "win32", reason="the fix is a line of a POSIX shell")
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.tsv", "The cat sat.\tCat the sat.\nA dog ran off.\tOff a dog ran.\n"),
        ("p.csv", '"The cat, he sat.",Cat the sat he.\n"A dog, it ran.",Off a dog ran.\n'),
        ("p.csv", "7,the cat sat on it,cat the on sat it\n8,a dog ran off,off a dog ran\n"),
    ],
)
def test_a_table_of_pairs_without_a_header_keeps_its_first_row(
    slm: Callable[..., Any], here: Path, name: str, content: str
) -> None:
    Path(name).write_text(content)
    err = slm("pairs", "run", name, code=1).err
    assert "is not JSON, but a row of a table without a header: " in err
    convert, _, line = fix_in(err).partition(" && ")
    line, is_right, _ = line.partition(", if the first sentence of a row should be the likelier one")
    subprocess.run(convert, shell=True, check=True)
    assert is_right and line == "slm pairs run p.jsonl"
    first, second = read_pairs("p.jsonl", "sentence_good", "sentence_bad", None)
    assert "cat" in first.good and "sat" in first.bad and second.good.lower().startswith("a dog")


def test_integers_beside_a_pair_have_any_length(here: Path) -> None:
    """More digits than Python converts."""
    line = json.dumps({"sentence_good": "a", "sentence_bad": "b"})
    Path("long.jsonl").write_text(f'{line[:-1]}, "n": {"7" * 5000}}}\n')
    assert read_pairs("long.jsonl", "sentence_good", "sentence_bad", None) == [("a", "b", "")]


def test_a_header_of_pairs_stays_one(slm: Callable[..., Any], here: Path) -> None:
    for header in ("good\tbad", "good sentence\tbad sentence", "sentence_good\tsentence_bad"):
        Path("p.tsv").write_text(f"{header}\nThe cat sat.\tCat the sat.\n")
        assert "but the header of a table: " in slm("pairs", "run", "p.tsv", code=1).err


def test_a_lost_vocabulary_is_written_again(slm: Callable[..., Any], here: Path) -> None:
    before = Path("run/vocab.json").read_bytes()
    for edit in (Path.unlink, lambda path: path.write_bytes(before + b" ")):
        edit(Path("run/vocab.json"))
        err = slm("sample", "run", "--ids", "1", "--max-new", "1", code=1).err
        line, _, rest = fix_in(err).partition(", or restore the file")
        # Training cannot continue without the file.
        assert ("--allow-mismatch files" in rest) == Path("run/vocab.json").exists()
        subprocess.run([sys.executable, "-m", *shlex.split(line)], check=True, capture_output=True)
        assert Path("run/vocab.json").read_bytes() == before
    Path("data/vocab.json").unlink()
    line, found, _ = fix_in(slm("train", "data", "-o", "new", code=1).err).partition(", or restore the file")
    assert found and line.endswith(f"--metadata -o {Path('data/vocab.json')}")


def test_no_ids_are_answered_by_the_id_that_begins_a_document(slm: Callable[..., Any], here: Path) -> None:
    err = slm("logprobs", "run", "--ids", "", code=2).err
    assert "error: --ids has no ids\n" in err and fix_in(err) == "name one or more: --ids 1 begins a document"
    run = slmmodel.load("run")
    for ids, scored in (([], "ids"), ([1], "ids"), ([300], "[300]")):
        with pytest.raises(InvalidInput) as caught:
            run.score(ids)
        assert caught.value.fix == f"slmmodel.load('run').score([1] + {scored})  # begins a document"


def test_a_similar_name_is_named(slm: Callable[..., Any], here: Path) -> None:
    near = "check the name: there is 'text.txt'"
    for line in ("eval run --on text9.txt", "eval run text9.txt", "train text9.txt", "train text9.txt -t tok.json"):
        assert fix_in(slm(*line.split(), code=1).err) == near, line
    assert fix_in(slm("eval", "run", "--on", "data9", code=1).err).startswith("check the name: there is 'data")
    with pytest.raises(MissingInput) as caught:
        slmmodel.train("dataa", output="new")
    assert caught.value.fix == "check the name: there is 'data'"


def test_a_text_in_the_place_of_its_path(here: Path) -> None:
    with pytest.raises(MissingFile) as caught:
        app.train("Once upon a time there was a fox.", tokenizer="tok.json", output="new")
    texts = "slmtok.Texts(['Once upon a time there was a fox.'])"
    assert caught.value.fix == f"import slmtok; {texts}, if it is a text; else check the name"


def test_a_name_that_is_nothing_gets_the_runs_of_the_folder(slm, here):
    err = slm("info", "step-10", code=2).err
    assert "error: 'step-10' is neither a run nor a preset\n" in err
    runs = fix_in(err).split(", or ")
    assert "slm info run" in runs
    slm(*runs[0].split()[1:], code=0)


def test_a_configuration_is_not_changed_in_place(slm, here):
    Path("my.yaml").write_text(slm("config", "--preset", "cpu-demo", "--data", "data", code=0).out)
    err = slm("config", "my.yaml", "--set", "optim.lr=1e-2", code=2).err
    assert "limit: slm config writes a new configuration, and changes none" in err
    fix = err.rpartition("fix:   slm ")[2].partition(" checks ")[0]
    assert "peak learning rate 0.01" in slm(*fix.split(), code=0).out
    assert "fix:   leave --preset out" in slm(*fix.split(), "--preset", "tiny-3m", code=2).err
    assert "fix:   leave --full out" in slm(*fix.split(), "--full", code=2).err


def test_heads_that_do_not_fit_need_one_fix(slm, here):
    line = ["train", "data", "-o", "new", "--preset", "cpu-demo", "--budget", "steps=1", "--dry-run"]
    sets = ["--set", "model.n_heads=3"]
    fix = slm(*line, *sets, code=2).err.partition("  fix:   ")[2].partition(", or ")[0].split()
    assert "would train" in slm(*line, *sets, *fix, code=0).out
    err = slm(*line, *sets, "--set", "model.n_kv_heads=3", code=2).err
    for fix in err.rpartition("fix:   ")[2].strip().split(", or "):
        assert "would train" in slm(*line, *sets, "--set", "model.n_kv_heads=3", *fix.split(), code=0).out
    with pytest.raises(InvalidConfig) as caught:
        slmmodel.train("data", preset="cpu-demo", settings={"model.n_heads": 3}, output="new")
    fix = str(caught.value.fix).partition("settings=")[2].partition(", or ")[0]
    assert ast.literal_eval(fix) == {"model.n_heads": 3, "model.n_kv_heads": 3, "model.d_model": 132}


def test_a_fix_of_settings_keeps_those_of_the_call(here):
    given = {"model": {"d_model": 100, "n_heads": 3, "n_layers": 1}}
    with pytest.raises(InvalidConfig) as caught:
        slmmodel.train("data", settings=given, budget="steps=1", output="new")
    settings = ast.literal_eval(str(caught.value.fix).removeprefix("settings="))
    run = slmmodel.train("data", settings=settings, budget="steps=1", output="new")
    assert (run.model.config.n_layers, run.model.config.n_heads) == (1, 3)


def test_a_path_of_a_configuration_is_of_the_working_folder(slm, here):
    (here / "configs").mkdir()
    file = here / "configs/c.yaml"
    file.write_text("data: {train: ../data}\n")
    err = slm("train", "--config", "configs/c.yaml", "-o", "new", "--dry-run", code=1).err
    assert "limit: paths in a configuration are relative to the working folder" in err
    assert "fix:   write data in that line\n" in err
    file.write_text("data: {train: data}\n")
    slm("train", "--config", "configs/c.yaml", "-o", "new", "--dry-run", code=0)


def test_minimal_pairs_are_compared_not_scored_as_text(slm: Callable[..., Any], here: Path) -> None:
    """The longest field of BLiMP is the sentence that is wrong, whose bits per byte were measured."""
    pairs = [
        {"sentence_good": f"The {n} cats sleep.", "sentence_bad": f"The {n} cats sleeps.", "UID": "x"} for n in "ab"
    ]
    Path("blimp.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    err = slm("eval", "run", "--on", "blimp.jsonl", code=1).err
    assert err.endswith("  fix:   slm pairs run blimp.jsonl\n")
    with pytest.raises(MalformedRecord) as caught:
        app.load("run").evaluate("blimp.jsonl")
    assert caught.value.fix == "slm pairs run blimp.jsonl"
    assert "slm pairs RUN blimp.jsonl" in slm("train", "blimp.jsonl", "-t", "tok.json", *TRAIN, "-o", "new", code=1).err
