"""Settings of other trainers: each is answered by ours, as an option, with --set, and in the sections of a file."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from slm_folder import TRAIN, make_folder

import slmtok
from slmmodel.config import OPTIONS, model_options
from slmmodel.foreign_names import FOREIGN_SETTINGS, VOCAB_SIZES
from slmtok.cli.output import Outcome

OURS = {name.rpartition(".")[2] for name in [*OPTIONS, *model_options({})]}
BUDGET = "run.budget."


@pytest.mark.parametrize("foreign", [name for name in FOREIGN_SETTINGS if name not in OURS])
def test_each_spelling_of_a_foreign_setting_is_answered_by_ours(foreign, slm):
    setting = FOREIGN_SETTINGS[foreign]
    section = setting.partition(".")[0]
    Path("a.yaml").write_text(f"{section}:\n  {foreign}: 8\n" + "data:\n  pack: concat\n" * (section != "data"))
    lines = {
        "option": ["--" + foreign, "8"],
        "set": ["--set", f"{foreign}=8"],
        "set in its section": ["--set", f"{section}.{foreign}=8"],
        "file": ["--config", "a.yaml"],
    }
    for spelling, line in lines.items():
        error = slm("train", "data", "-o", "new", *line, code=2).err
        fix = error.partition("  fix:   ")[2]
        if setting in VOCAB_SIZES:
            assert "leave it out" in fix, spelling
        elif foreign == "model_name" and spelling == "option":
            assert "--preset" in fix  # of a model as a whole
        elif foreign in ("dataset", "train_file") and spelling == "option":
            assert "slm train 8 -o" in fix  # an argument
        elif foreign == "val_data" and spelling == "option":
            assert "--val 8" in fix
        elif foreign == "optim" and spelling == "set":
            assert "optim." in fix
        else:
            named = setting if not setting.startswith(BUDGET) or "--budget" not in fix else setting[len(BUDGET) :]
            assert named in fix, (spelling, error)
        assert not Path("new").exists()


def test_all_foreign_settings_of_a_file_are_named_at_once(slm):
    Path("a.yml").write_text(
        "model:\n  preset: cpu-demo\n  hidden_size: 128\n  vocab_size: 300\ntraining_args:\n  learning_rate: 5e-4\n"
    )
    error = slm("train", "data", "-o", "new", "--config", "a.yml", code=2).err
    fix = "write model.d_model for model.hidden_size; remove model.vocab_size; write optim.lr for training_args"
    assert f"  fix:   {fix}.learning_rate\n" in error


def test_a_value_of_another_trainer_in_a_file_is_translated(slm):
    """The key alone was renamed, and its value refused by the next command."""
    of_precision = "write run.precision: fp32"
    both = f"write run.budget.epochs for trainer.max_epochs; {of_precision} for trainer.precision: 32"
    for content, fix in (("precision: 32", of_precision), ("max_epochs: 3\n  precision: 32", both)):
        Path("a.yml").write_text(f"trainer:\n  {content}\nmodel:\n  preset: nano\n")
        assert f"  fix:   {fix}\n" in slm("train", "data", "-o", "new", "--config", "a.yml", code=2).err


@pytest.mark.parametrize("arch", ["--preset lstm-4m", "--set model.arch=gru", "--set model.preset=lstm-4m"])
@pytest.mark.parametrize("spelling", ["--hidden_size 128", "--set hidden_size=128"])
def test_a_recurrent_model_has_a_size_of_its_state(arch, spelling, slm):
    error = slm("train", "data", "-o", "new", *shlex.split(arch), *spelling.split(), code=2).err
    assert "model.hidden_size" in error.partition("  fix:   ")[2]


@pytest.mark.parametrize(
    ("given", "fix"),
    [
        ("batch_size=64 block_size=128", "run.batch_tokens=8192 model.seq_len=128"),
        ("batch_size=64 model.seq_len=32", "run.batch_tokens=2048"),
        ("batch_size=8", "model.seq_len=256 run.batch_tokens=2048"),
        ("run.batch_size=8", "model.seq_len=256 run.batch_tokens=2048"),
        ("run.batch_size=8 model.seq_len=64", "run.batch_tokens=512"),
        ("learning_rate=0.001 n_layer=1", "optim.lr=0.001 model.n_layers=1"),
    ],
)
def test_values_of_foreign_settings_are_kept(given, fix, slm):
    words = [word for each in given.split() for word in ("--set", each)]
    error = slm("train", "data", "-o", "new", *words, code=2).err
    meant = " ".join(f"--set {each}" for each in fix.split())
    assert f"  fix:   {meant}\n" in error and not Path("new").exists()
    for long in ("run.seq_len=100000", "block_size=100000"):
        error = slm("train", "data", "-o", "new", "--set", long, code=2).err
        assert "fix:   --set model.seq_len=N, with as many ids as fit into memory; presets have up to 8,192\n" in error
    for unclear in ("batch_size=auto", "learning_rate=0.1 nonsense=3", "vocab_size=300"):
        words = [word for each in unclear.split() for word in ("--set", each)]
        assert "fix:   --set" not in slm("train", "data", "-o", "new", *words, code=2).err


NANOGPT = """# train a miniature character-level shakespeare model
out_dir = 'out-shakespeare-char'
eval_interval = 250 # keep frequent because we'll overfit
always_save_checkpoint = False

dataset = 'shakespeare_char'
n_embd = 384
beta2 = 0.99 # make a bit bigger
learning_rate = 1e-3
"""
MODEL = '{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 300}'


@pytest.fixture
def configured(slm, tmp_path):
    """A folder with files of settings, a text and a tokenizer, and a finished run that has the default name."""
    make_folder(tmp_path, "--no-eval")
    Path("nano.py").write_text(NANOGPT)
    Path("config.json").write_text(MODEL)
    Path("run.yaml").write_text("model:\n  preset: cpu-demo\n")
    Path("whole.yaml").write_text("data:\n  train: data\nrun:\n  seed: 1\n")
    return slm


@pytest.mark.parametrize("more", ["", " -t tok.json"])
def test_a_file_of_settings_is_no_corpus(more, configured):
    data = "DATA" if more else "data"
    for name, fix in {
        "nano.py": f"slm train {data} --set run.eval_every=250 --set model.d_model=384 --set optim.betas=0.9,0.99 "
        f"--set optim.lr=1e-3{more} -o run-2  # leaves out out_dir, always_save_checkpoint, dataset",
        "config.json": f"slm train {data} --set model.arch=llama --set model.d_model=64 --set model.n_layers=2"
        f"{more} -o run-2  # leaves out vocab_size",
        "run.yaml": f"slm train {data} --config run.yaml{more} -o run-2",
        "whole.yaml": f"slm train --config whole.yaml{more} -o run-2",
    }.items():
        error = configured("train", name, *more.split(), code=2).err
        what = "a configuration" if name.endswith("yaml") else "a file of settings"
        assert f"error: {name!r} is {what}, not data\n" in error
        assert "DATA is a corpus or token data; settings are given with --set NAME=VALUE or --config FILE.yaml" in error
        assert f"  fix:   {fix}\n" in error
    assert not Path("run-2").exists()


def test_a_script_is_a_corpus(configured):
    Path("train.py").write_text("import os\n\ndef main(epochs, batch_size):\n    lr = 3\n    print(lr, epochs)\n")
    error = configured("train", "train.py", code=1).err
    assert "'train.py' is text, and needs a tokenizer" in error
    assert "fix:   slm train train.py -t tok.json -o run-2 tokenizes it while training" in error


def test_settings_of_nanogpt_as_a_configuration(configured):
    error = configured("train", "data", "-o", "new", "--config", "nano.py", code=2).err
    sets = "--set run.eval_every=250 --set model.d_model=384 --set optim.betas=0.9,0.99 --set optim.lr=1e-3"
    assert f"fix:   slm train data -o new {sets}  # leaves out out_dir, always_save_checkpoint, dataset\n" in error


FILES_OF_OTHERS = {
    # As nanoGPT has them: a product, units that other settings decide, a switch that is off.
    "gpt2.py": (
        "wandb_log = False # on\nwandb_project = 'owt'\nbatch_size = 2\nblock_size = 16\n"
        "gradient_accumulation_steps = 2 * 2\n\nmax_iters = 2\nn_layer = 1\nn_head = 2\nn_embd = 32\n"
        "learning_rate=6e-4\nmin_lr = 6e-5\nbeta2 = 0.99\ncompile = False\n",
        "run.batch_tokens=128 model.seq_len=16 run.budget.steps=2 model.n_layers=1 model.n_heads=2 model.n_kv_heads=2 "
        "model.d_model=32 optim.lr=6e-4 optim.schedule.final=0.1 optim.betas=0.9,0.99 run.compile=off",
        ["wandb_project"],
    ),
    # Without its length, a number of sequences may be any number of ids, and a rate at the end any share.
    "lone.py": (
        "batch_size = 2\nmin_lr = 1e-4\ndropout = 0.1\nmax_iters = 2\n",
        "model.dropout=0.1 run.budget.steps=2",
        ["batch_size", "min_lr"],
    ),
    "flat.yaml": (
        "n_layer: 1\nlearning_rate: 1e-3\nbatch_size: 12\n",
        "model.n_layers=1 optim.lr=1e-3",
        ["batch_size"],
    ),
    "hf.json": (
        '{"architectures": ["GPT2LMHeadModel"], "n_embd": 32, "n_head": 2, "n_layer": 1, "n_positions": 16}',
        "model.d_model=32 model.n_heads=2 model.n_kv_heads=2 model.n_layers=1 model.seq_len=16",
        ["architectures"],
    ),
}


@pytest.mark.parametrize("name", FILES_OF_OTHERS)
def test_settings_of_another_trainer_are_one_command(name, configured):
    text, sets, left_out = FILES_OF_OTHERS[name]
    Path(name).write_text(text)
    line = " ".join(f"--set {each}" for each in sets.split())
    for arguments, expected in {
        f"data --config {name} --dry-run": f"data --dry-run {line} -o run-2",
        f"data --config={name} -o new --dry-run": f"data -o new --dry-run {line}",
        f"{name} --dry-run -o new": f"data {line} --dry-run -o new",
    }.items():
        error = configured("train", *arguments.split(), code=2).err
        fix = error.partition("  fix:   ")[2].splitlines()[0]
        assert fix == f"slm train {expected}  # leaves out {', '.join(left_out)}"
        pasted = fix.partition("  # ")[0]
        assert "would train" in configured(*shlex.split(pasted)[1:], code=0).out


def test_a_setting_of_the_command_line_stays(configured):
    Path("a.py").write_text("learning_rate = 1e-3\nmin_lr = 3e-4\nmax_iters = 5\nn_layer = 1\n")
    line = "data --set optim.lr=3e-3 --budget steps=2 -o new"
    error = configured("train", *line.split(), "--config", "a.py", code=2).err
    assert f"fix:   slm train {line} --set optim.schedule.final=0.1 --set model.n_layers=1\n" in error


def test_a_value_that_python_computes_is_not_taken(configured):
    for value in ("learning_rate / 10", "learning_rate", "max(1, 2)", "[\n    1]"):
        Path("a.py").write_text(f"learning_rate = 1e-3\nn_layer = 2\nmin_lr = {value}\n")
        error = configured("train", "data", "-o", "new", "--config", "a.py", code=2).err
        assert "fix:   write optim.lr for learning_rate, model.n_layers for n_layer" in error


def test_ids_that_do_not_record_their_tokenizer(configured):
    """`-t` names it, but must be written beside the ids: the fix is pasted as it is printed."""
    Path("nano").mkdir()
    Path("nano/train.bin").write_bytes(slmtok.load("tok.json").encode("once upon a time " * 90).astype("<u2").tobytes())
    error = configured("train", "nano/train.bin", "-t", "tok.json", "--no-eval", code=2).err
    assert "error: 'nano/train.bin' is ids that do not record their tokenizer, and --tokenizer is for text\n" in error
    fix = "slmtok vocab tok.json --metadata -o nano/vocab.json && slm train nano/train.bin --no-eval -o run-2"
    assert f"  fix:   {fix}, if tok.json made them\n" in error
    Path("nano/vocab.json").write_text(json.dumps(slmtok.load("tok.json").metadata()))
    configured("train", "nano/train.bin", "--no-eval", "-o", "run-2", "--budget", "steps=1", *TRAIN, code=0)


VALUES = {
    "data.val": "text.txt",
    "data.train": "data",
    "data.tokenizer": "tok.json",
    "run.track": "wandb",
    "optim.schedule.warmup": "2",
}
"""Of settings whose default is no value on a command line."""


def test_no_fix_of_resume_has_a_setting_that_it_refuses(configured, monkeypatch):
    """Of each setting as an option. Training itself, whose settings these are, does not run."""
    monkeypatch.setattr("slmmodel.cli.train._train", lambda *_, **__: Outcome({}))
    branch, pasted = ["resume", "run", "--step", "2", "-o", "new"], 0
    for name in [*model_options(), *OPTIONS]:
        if name in ("run.device", "run.threads", "optim.name"):
            continue  # options of slm resume itself, and --name, which names a run
        default = OPTIONS[name].default if name in OPTIONS else 8
        value = VALUES.get(name) or (
            "8" if default in (None, ()) or not isinstance(default, (str, int, float, tuple)) else str(default)
        )
        error = configured(*branch, "--" + name.rpartition(".")[2].replace("_", "-"), value, code=2).err
        fix = error.partition("  fix:   ")[2].partition("\n")[0]
        if name in ("data.val", "data.tokenizer") or name in VOCAB_SIZES:
            assert "leave it out" in fix, name
        elif name.startswith(("model.", "data.")):
            assert fix.startswith("slm train ") and "of a run" in fix and "not change" in fix, name
        elif not name.startswith(BUDGET):
            line = fix.partition(", with which each step takes other sequences")[0]
            configured(*shlex.split(line, comments=True)[1:], code=0)
            assert ("--allow-mismatch plan" in line) is (name in ("run.seed", "run.batch_tokens")), name
            pasted += 1
            shutil.rmtree("new")
    assert pasted > 30


def test_validation_data_of_a_branch_are_those_of_its_run(configured):
    for flag in ("--val", "--val-file", "--validation_file"):
        error = configured("resume", "run", "--step", "1", flag, "text.txt", "--budget", "steps=8", "-o", "r2", code=2)
        fix = "leave it out: a run keeps its validation data; slm eval RUN --on text.txt scores other text"
        assert f"  fix:   {fix}\n" in error.err
