"""`slm config`: the file that it writes changes nothing, and `--check` prints what would be trained."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
import yaml
from printed_fixes import fix_of

pytest.importorskip("torch")

import slmtok
from slmmodel.cli.config import template
from slmmodel.config import OPTIONS, read_yaml, resolve, settings_of
from slmmodel.models import arch_of
from slmmodel.models.presets import PRESETS
from slmmodel.vocab import VocabMeta
from slmtok.options import PackOptions
from slmtok.shards import pack


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("config")
    text = "".join(f"Story {n}. Ada saw {n} birds in the tree.\n" for n in range(300))
    (path / "corpus.txt").write_text(text)
    slmtok.train(str(path / "corpus.txt"), vocab_size=300).save(path / "tok.json")
    options = PackOptions(format="text", document="line")
    pack(str(path / "corpus.txt"), slmtok.load(path / "tok.json"), path / "data", options)
    return path


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("name", [None, *PRESETS])
def test_the_file_changes_nothing(folder, tmp_path, name, full):
    """A run with it has the configuration of a run without it, and every key is in it with a comment."""
    plain = settings_of({} if name is None else {"model.preset": name})
    text = template(plain, full=full)
    (tmp_path / "run.yaml").write_text(text)
    vocab = VocabMeta.load(folder / "data" / "vocab.json")
    given = read_yaml(str(tmp_path / "run.yaml"))
    assert resolve(given, vocab, 10**9, "cpu")[0] == resolve(plain, vocab, 10**9, "cpu")[0]
    assert isinstance(yaml.safe_load(text), dict)
    arch = "llama" if name is None else PRESETS[name].model["arch"]
    fields = [field for field in arch_of(arch).config.model_fields if full or "vocab" not in field]
    names = [*fields, *(option.rpartition(".")[2] for option in OPTIONS if option != "data.options")]
    lines = {match[1]: match[2] for match in re.finditer(r"^ +(?:# )?(\w+):.*?  # (.*)$", text, re.MULTILINE)}
    assert [each for each in names if len(lines.get(each, "")) < 5] == []
    assert ("stride" in text) == full


def test_the_command(slm):
    assert slm("config", code=0).out == template({}, full=False)
    assert slm("config", "--preset", "infini-cpu", "--full", code=0).out == template(
        settings_of({"model.preset": "infini-cpu"}), full=True
    )
    assert "did you mean 'cpu-demo'?" in slm("config", "--preset", "cpu-dmo", code=2).err
    assert "--check needs a FILE" in slm("config", "--check", code=2).err
    assert "without --check" in slm("config", "run.yaml", code=2).err


def test_a_preset_for_a_configuration_that_exists(slm):
    """It is checked without the preset, and a new one is written with it: both lines are pasted as printed."""
    Path("run.yaml").write_text(slm("config", code=0).out)
    err = slm("config", "run.yaml", "--preset", "cpu-demo", code=2).err
    new = "slm config --preset cpu-demo > run-2.yaml"
    assert f"fix:   slm config --check run.yaml --data DATA checks run.yaml; {new} writes a new one\n" in err
    assert "with them" not in err and "keep them" not in err
    slm("config", "--preset", "cpu-demo", code=0)
    both = slm("config", "run.yaml", "--preset", "cpu-demo", "--set", "optim.lr=1e-2", code=2).err
    assert "--set optim.lr=1e-2 --data DATA checks run.yaml with them; to keep them, write them into run.yaml; " in both


def test_check(folder, slm):
    """What `--dry-run` says, with the first sequence; nothing is written."""
    Path("run.yaml").write_text(
        "model: {preset: cpu-demo, seq_len: 64}\nrun: {budget: {steps: 7}, device: cpu}\n"
        f"data: {{train: {folder}/data}}\n"
    )
    ran = slm("config", "run.yaml", "--check", code=0)
    assert "7 of 32 sequences" in ran.out and "seq_len 64" in ran.out and "for weights, gradients" in ran.out
    assert re.search(r"first sequence  .*Story", ran.out)
    result = slm("config", "run.yaml", "--check", "--json", "--set", "run.budget.steps=9", code=0).json["result"]
    assert result["steps"] == 9 and len(result["first_sequence"]) == 64
    dry = slm("train", "--config", "run.yaml", "--dry-run", "--json", code=0).json["result"]
    same = ("parameters", "memory_bytes", "min_memory_bytes", "batch_size", "flops_per_token", "lr")
    assert dry["steps"] == 7 and {name: result[name] for name in same} == {name: dry[name] for name in same}
    shown = slm("batches", folder / "data", "--seq-len", 64, "--batch-size", 32, "--n", 1, "--json", code=0).json
    first = [id for span in shown["result"]["batches"][0]["shown"][0]["spans"] for id in span["ids"]]
    assert result["first_sequence"] == first
    assert sorted(path.name for path in Path().iterdir()) == ["run.yaml"]


def test_one_file_names_text_and_tokenizer(folder, slm):
    """`slm train --config` alone: the data are text that is tokenized on the fly."""
    Path("run.yaml").write_text(
        "model: {arch: llama, n_layers: 1, d_model: 32, n_heads: 2, n_kv_heads: 2, seq_len: 64}\n"
        f"data: {{train: {folder}/corpus.txt, tokenizer: {folder}/tok.json, val: none}}\n"
        "run: {budget: {steps: 3}, batch_tokens: 256, device: cpu, threads: 1}\n"
    )
    assert "Story" in slm("config", "run.yaml", "--check", code=0).out
    slm("train", "--config", "run.yaml", "-o", "run", code=0)
    recorded = yaml.safe_load(Path("run/config.yaml").read_text())
    assert recorded["data"]["train"] == f"{folder}/corpus.txt" and recorded["run"]["budget"] == {"steps": 3}
    assert Path("run/tok.json").read_bytes() == (folder / "tok.json").read_bytes()
    slm("train", folder / "corpus.txt", "-t", folder / "tok.json", "--config", "run.yaml", "-o", "named", code=0)
    assert Path("run/model.safetensors").read_bytes() == Path("named/model.safetensors").read_bytes()
    slm("resume", "run", "--step", 3, "-o", "more", "--budget", "steps=5", code=0)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("run:\n\tseed: 1\n", ["run.yaml has a tab where YAML takes spaces", "where: run.yaml, line 2", "spaces"]),
        ("optim: {learning_rate: 1}\n", ["unknown setting 'optim.learning_rate'", "run.yaml, line 1"]),
        ("run: {sede: 1}\n", ["unknown setting 'run.sede'; did you mean 'run.seed'?"]),
        ("model: {n_layer: 1}\ndata: {train: FOLDER/data}\n", ["'model.n_layer'; did you mean 'model.n_layers'?"]),
        ("data: {train: nothing}\n", ["no file or folder 'nothing'", ", named in run.yaml, line 1"]),
        ("model: {arch: lama}\n", ["unknown architecture 'lama'", "where: run.yaml, line 1"]),
        ("model: {preset: cpu-dem}\n", ["unknown preset 'cpu-dem'", "where: run.yaml, line 1"]),
        ("optim: {name: adam}\ndata: {train: FOLDER/data}\n", ["unknown optim.name 'adam'", "where: run.yaml, line 1"]),
        ("data: {pack: conact, train: FOLDER/data}\n", ["unknown strategy 'conact'", "where: run.yaml, line 1"]),
        ("run: {seed: 1}\n", ["DATA is missing", "data.train"]),
        ("data: {tokenizer: none.json, train: x.txt}\n", ["none.json"]),
    ],
)
def test_wrong_files(folder, slm, content, says):
    Path("run.yaml").write_text(content.replace("FOLDER", str(folder)))
    for command in (("config", "run.yaml", "--check"), ("train", "--config", "run.yaml")):
        ran = slm(*command)
        assert ran.code in (1, 2) and all(text in ran.err for text in says), ran.err
    assert [path.name for path in Path().iterdir()] == ["run.yaml"]


@pytest.mark.parametrize("preset", [[], ["--preset", "cpu-demo"]])
def test_given_settings_are_in_the_file(slm, folder, preset):
    options = ["--budget", "steps=500", "--data", folder / "data", "--device", "cpu"]
    sets = [
        "--set=optim.lr=1e-3",
        "--set=model.dropout=0.1",
        "--set=data.read.separator=a: b",
        "--set=data.options.n=2",
    ]
    ran = slm("config", *preset, *options, *sets, code=0)
    Path("c.yaml").write_text(ran.out)
    table = yaml.safe_load(ran.out)
    assert table["optim"]["lr"] == 1e-3 and table["model"]["dropout"] == 0.1
    assert table["run"]["budget"] == {"steps": 500} and table["run"]["device"] == "cpu"
    assert table["data"]["train"] == str(folder / "data")
    assert table["data"]["read"] == {"separator": "a: b"} and table["data"]["options"] == {"n": 2}
    plain = slm("config", *preset, *options, *sets[:2], code=0)
    Path("c.yaml").write_text(plain.out)
    assert slm("config", "--check", "c.yaml", "--json", code=0).json["result"]["steps"] == 500


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        (["--set", "optim.lrr=1"], "did you mean 'optim.lr'?"),
        (["--set", "model.lrr=1"], "lrr"),
        (["--set", "lr=1e-3"], "did you mean 'optim.lr'?"),
        (["--set", "optim.lr"], "is not NAME=VALUE"),
        (["--budget", "tokens=10XB"], "run.budget.tokens is '10XB'"),
        (["--budget", "500"], "is not KIND=AMOUNT"),
        (["--device", "gpu"], "run.device is 'gpu'"),
    ],
)
def test_wrong_settings_write_no_file(slm, options, fact):
    ran = slm("config", *options, code=2)
    assert fact in ran.err and ran.out == ""


def test_a_configuration_that_is_missing_is_made(slm, folder):
    """The fix, run as it is printed, writes the file that was named."""
    line = ["train", folder / "data", "-o", "run", "--budget", "steps=1", "--config", "run.yml"]
    made = re.search("check the name; (slm config) > run.yml writes one", slm(*line, code=1).err)
    assert made and not Path("run.yml").exists()
    Path("run.yml").write_text(slm(*made[1].split()[1:], code=0).out)
    slm("config", "--check", "run.yml", "--data", folder / "data", code=0)
    assert "fix:   check the name\n" in slm(*line[:-1], "none/run.yml", code=1).err


def test_the_values_of_another_configuration_are_translated(slm, folder):
    shape = '"model_type": "gpt2", "n_embd": 32, "n_head": 2, "n_layer": 1, "n_inner": null, "dtype": "float32"'
    Path("config.json").write_text(f"{{{shape}}}")
    fix = fix_of(slm("config", "--check", "config.json", code=2))
    assert fix.endswith("--set model.n_layers=1 --set run.precision=fp32")
    Path("run.yaml").write_text(slm(*shlex.split(fix)[1:], code=0).out)
    slm("config", "--check", "run.yaml", "--data", folder / "data", code=0)
    # A value that no option takes.
    Path("config.json").write_text(f'{{{shape}, "n_positions": [8]}}')
    assert "run.precision: fp32 for dtype" in fix_of(slm("config", "--check", "config.json", code=2))


def test_an_address_in_the_place_of_data(slm, folder):
    ran = slm("train", "s3://bucket/data", "-o", "run", code=1)
    assert "is an address, and only files are read\n  fix:   fetch it first, and name the copy\n" in ran.err


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        ("--check run.yaml data", "slm config --check run.yaml --data data"),
        ("--check data run.yaml", "slm config --check run.yaml --data data"),
        ("--check run.yaml corpus.txt", "slm config --check run.yaml -t tok.json --data corpus.txt"),
        ("--check run.yaml corpus.txt -t tok.json", "slm config --check run.yaml -t tok.json --data corpus.txt"),
        ("run.yaml data", "slm config --check run.yaml --data data checks run.yaml with them; "),
        ("--check run.yaml data --data data", "leave data out: --data data is given"),
        ("--check run.yaml other.yaml", "slm config --check run.yaml && slm config --check other.yaml"),
        ("--check run.yaml data corpus.txt", "leave one out: "),
    ],
)
def test_data_beside_the_file_are_named_by_the_option(slm, folder, tmp_path, words, fix):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    for name in ("run.yaml", "other.yaml"):
        (tmp_path / name).write_text(template(settings_of({"model.preset": "cpu-demo"}), full=False))
    found = fix_of(slm("config", *words.split(), code=2))
    assert found == fix if fix.startswith("slm") and fix[-1] != " " else found.startswith(fix)
    if "--data" in found and found.startswith("slm"):
        slm(*shlex.split(found.partition(" checks ")[0])[1:], code=0)


@pytest.mark.parametrize("words", ["data run.yaml", "run.yaml data"])
def test_a_configuration_beside_the_data_of_training_is_named_by_the_option(slm, folder, tmp_path, words):
    shutil.copytree(folder / "data", tmp_path / "data")
    (tmp_path / "run.yaml").write_text(template(settings_of({"model.preset": "cpu-demo"}), full=False))
    fix = fix_of(slm("train", *words.split(), "-o", "run", code=2))
    assert fix == "slm train data -o run --config run.yaml"
    slm(*shlex.split(fix)[1:], "--dry-run", code=0)
