"""Inputs of `slm` in the place of another kind of input: errors name what they are, and the command that was meant."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")

import torch
from slm_folder import TRAIN, make_folder

import slmmodel
from slmmodel import hardware
from slmmodel.checkpoint import runs_in
from slmmodel.errors import MissingInput, OptionError
from slmmodel.hardware import device_for, meant_device


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a text, a tokenizer, packed data, and two runs of two steps."""
    folder = make_folder(tmp_path_factory.mktemp("made"), "--no-eval")
    shutil.copytree(folder / "run", folder / "run2")
    return folder


COMPARISON = "slm eval run --losses run-a.losses && slm eval run2 --losses run2-b.losses && slm compare "
REFUSED = {
    "chat run 'my text'": (2, "unexpected extra argument", "fix:   slm sample run 'my text'\n"),
    "plot run run/ -o c.svg": (2, "the run 'run' is named twice", "fix:   name it once"),
    "train data --val text.txt -o new": (
        2,
        "text.txt is not a file of ids",
        "fix:   slmtok pack text.txt -t data/tok.json ",
    ),
    "train text.txt -t tok.json -o new --val run/config.yaml": (
        2,
        "run/config.yaml is a configuration, not text",
        "fix:   slm train text.txt -t tok.json -o new, which chooses from the training text; or name another text\n",
    ),
    "train data --val tok.json -o new": (
        1,
        "tok.json is a tokenizer of slmtok, not a file of ids",
        "fix:   name packed data: slmtok pack TEXT -t data/tok.json --val none -o DIR\n",
    ),
    "train data -o new --set optim.betas=[0.9, 0.95]": (
        2,
        "unexpected extra argument",
        "fix:   slm train data -o new --set 'optim.betas=[0.9, 0.95]'\n",
    ),
    "resume run data": (2, "unexpected extra argument", "fix:   slm resume run --data data\n"),
    "ablate run run2": (2, "'run' is a run of slm, not packed data", f"fix:   {COMPARISON}"),
    "ablate data run": (2, "'run' is a run of slm, not packed data", "fix:   name packed data"),
    "eval run run2": (2, "'run2' is a run of slm, not text or packed data", f"fix:   {COMPARISON}"),
    "compare run run2": (2, "'run' and 'run2' are runs, not files of losses", f"fix:   {COMPARISON}"),
    "eval run none.txt": (1, "no file or folder 'none.txt'", "fix:   --on DATA|TEXT"),
    "eval run 'my text'": (1, "no file or folder 'my text'", "fix:   --on DATA|TEXT"),
    "eval run text.txt": (2, "unexpected extra argument (text.txt)", "fix:   slm eval run --on text.txt\n"),
    "eval text.txt run": (2, "'text.txt' is not a run folder", "fix:   slm eval run --on text.txt\n"),
    "eval data": (1, "'data' is packed data, not a run folder", "fix:   slm eval run --on data\n"),
    "eval data --on run": (2, "'data' is packed data, not a run folder", "fix:   slm eval run --on data\n"),
    "eval data --on=run": (1, "'data' is packed data, not a run folder", "fix:   slm eval run --on data\n"),
    "eval run --on val": (1, "no file or folder 'val'", "fix:   slm eval run --split val\n"),
    "sample tok.json Once": (1, "RUN is missing: 'tok.json' is a tokenizer, and", "fix:   slm sample run Once\n"),
    "sample 'Once upon'": (1, "no folder 'Once upon'", "fix:   slm sample run 'Once upon'\n"),
    "logprobs Once run2": (1, "fix:   slm logprobs run2 Once\n"),
    "logprobs 'Once upon'": (1, "limit: runs in ./: run, run2\n", "fix:   slm logprobs run 'Once upon'\n"),
    "sample hello run2": (1, "no folder 'hello'", "fix:   slm sample run2 hello\n"),
    "sample rnu hi": (1, "no folder 'rnu'", "fix:   slm sample run hi\n"),
    "status run3": (1, "limit: runs in ./: run, run2\n", "fix:   slm status run"),
    "eval runs/first": (
        1,
        "where: there is no folder 'runs'\n  limit: runs in ./: run, run2\n",
        "fix:   slm eval run\n",
    ),
    "train a/b -o new": (1, "no file or folder 'a/b'\n  where: there is no folder 'a'\n", "or name token data"),
    "status .": (1, "'.' is not a run folder", "limit: runs in ./: run, run2\n"),
    "plot run rnu2 -o c.svg": (1, "no folder 'rnu2'", "fix:   slm plot run run2 -o c.svg\n"),
    "plot data run -o c.svg": (2, "'data' is packed data", "fix:   slm plot run -o c.svg  # without data\n"),
    "export tok.json -o new": (
        2,
        "'tok.json' is a tokenizer, not a run folder",
        "fix:   slmtok export tok.json -o new --output-format hf\n",
    ),
    "bench cpu-demo": (1, "no folder 'cpu-demo'", "fix:   slm bench --preset cpu-demo\n"),
    "export run -o new.safetensors": (2, "is the name of a file, and a folder is written", "fix:   -o new\n"),
    "export run -o text.txt": (
        1,
        "output 'text.txt' is a file, and an export is a folder",
        "fix:   -o text.txt-2\n",
    ),
    "eval run --check run2": (2, "--check run2 is a run, not a certificate", "fix:   slm eval run2 writes one\n"),
    "train data -o new --config run": (2, "'run' is a run, not a configuration", "fix:   --config run/config.yaml\n"),
    "resume run --step 9 -o new": (1, "the run has no checkpoint of step 9", "limit: steps: 2\n"),
    "resume run --lr 1": (
        2,
        "error: unknown option '--lr'\n",
        "fix:   slm resume run --set optim.lr=1 -o run-2 --budget steps=4\n",
    ),
    # An option of another command of ours is not said to be of another tool.
    "resume run --step 1 -o new --parallel ddp": (
        2,
        "error: unknown option '--parallel'\n",
        "fix:   slm resume run --step 1 -o new --set run.parallel=ddp",
    ),
    "train data -o new --set optim.lr = 1": (2, "unexpected extra argument", "fix:   use --set optim.lr=1\n"),
    "train data -o new --set optim.lr=1e-3,run.seed=2": (
        2,
        "limit: a number",
        "fix:   --set optim.lr=1e-3 --seed 2\n",
    ),
    "train data -o new --set optim.betas=0.9": (2, "limit: 2 values\n", "fix:   --set optim.betas=0.9,0.95\n"),
    "ablate --vocabs 8k,16k --text text.txt -o new": (2, "'8k' is not one of numbers", "fix:   --vocabs 8000,16000\n"),
    "ablate --vocabs 300,some --text text.txt -o new": (2, "'some' is not one of", "fix:   --vocabs 1024,2048,4096\n"),
    "export run --format hf -o run2": (2, "fix:   use --output-format hf -o run2-2\n"),
    "doctor --data data": (2, "unknown option '--data'", "fix:   slm doctor data\n"),
    "score run": (2, "unknown command 'score'", "fix:   slm eval run\n"),
    "score run 'To be.' -q": (2, "fix:   printf %s 'To be.' | slm eval run -q --no-baselines --on -\n"),
    "perplexity text.txt run": (2, "fix:   slm eval run --on text.txt\n"),
    "batches run 5 --seed 1": (2, "fix:   slm batches run --seed 1 --n 5\n"),
    "batches run 5 --n 1": (2, "fix:   slm batches run --n 1 # there is no file or folder '5'\n"),
    "sample run KING 20": (
        2,
        "fix:   slm sample run KING --max-new 20 draws 20 ids; slm sample run 'KING 20' continues a text that ends",
    ),
    "sample run KING 20 --max-new 3": (2, "fix:   slm sample run 'KING 20' --max-new 3\n"),
    "sample run O KING 20": (
        2,
        "fix:   slm sample run 'O KING' --max-new 20 draws 20 ids; slm sample run 'O KING 20' ",
    ),
    "ablate data data --vocab 300,512": (
        2,
        "fix:   slm ablate --vocabs 300,512 --text TEXT, or slm ablate data data\n",
    ),
    "ablate data --vocab 300 512": (2, "fix:   slm ablate --vocabs 300,512 --text TEXT\n"),
    "ablate text.txt --vocab 300,512": (2, "fix:   slm ablate --vocabs 300,512 --text text.txt\n"),
    "ablate --text text.txt --vocab 300,512": (2, "fix:   --vocabs 300,512\n"),
    "export run --format hf -o new": (2, "unknown option '--format'", "fix:   use --output-format hf\n"),
    "sample run hi -o out.txt": (2, "unknown option '-o'", "fix:   use stdout: > out.txt\n"),
    "evaluate run": (2, "did you mean 'eval'?", "fix:   slm eval run\n"),
    "ablate --vocabs 280,285 --text text.txt --val none.txt -o new": (
        2,
        "where: there is no file 'none.txt'",
        "fix:   --val auto; files:GLOB is for files of the corpus\n",
    ),
    "ablate --vocabs 280,285 --text text.txt --val tail:99.99999% -o new": (
        2,
        "limit: auto, none, hash:P%, tail:P%, files:GLOB, with P from 0.0001 to 99.9999",
        "fix:   --val tail:99.9999%\n",
    ),
    "ablate --vocabs 280,285 --text text.txt --val tail:99.9999% --cpu -o new": (
        2,
        "--val tail:99.9999% leaves no text for training",
        "fix:   --val tail:10%, or a longer text\n",
    ),
}


@pytest.mark.parametrize("line", REFUSED)
def test_the_error_names_the_command_that_was_meant(slm, here, line):
    before = sorted(here.rglob("*"))
    code, *parts = REFUSED[line]
    err = slm(*shlex.split(line), code=code).err
    assert all(part in err for part in parts), err
    assert sorted(here.rglob("*")) == before


def test_the_commands_that_compare_runs_work(slm, here):
    fix = next(line for line in slm("ablate", "run", "run2").err.splitlines() if "fix:" in line).partition("fix:")[2]
    for command in fix.split("&&"):
        ran = slm(*shlex.split(command)[1:], code=0)
    assert "A minus B" in ran.out


def test_a_fix_that_names_a_run_works(slm, here):
    assert slm("sample", "run", "Once", "--max-new", "1", code=0).out.startswith("Once")


def test_packing_says_that_no_text_is_left_for_training(slm, here, capsys):
    from slmtok.cli import main

    assert main(["pack", "text.txt", "-t", "tok.json", "--val", "tail:99.9999%", "-o", "new"]) == 0
    assert "--val tail:99.9999% leaves no byte of text for train in new" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["config.yaml", "SHA256SUMS"])
def test_a_damaged_run_is_restored(slm, here, name):
    (here / "run" / name).unlink()
    err = slm("sample", "run", "hi", code=1).err
    assert f"where: it has no {name}\n" in err and f"fix:   restore run/{name}, or train again" in err


def test_ids_are_offered_where_a_command_takes_them(slm, here, made):
    (here / "run/tok.json").unlink()
    own = os.path.relpath(made / "data/tok.json")
    assert f"fix:   -t {own}\n" in slm("chat", "run", code=1).err
    assert f"fix:   -t {own}, or give ids with --ids\n" in slm("sample", "run", "hi", code=1).err


def test_runs_of_a_folder(here):
    assert runs_in(here) == [str(here / "run"), str(here / "run2")] and runs_in(here / "none") == []
    with pytest.raises(MissingInput, match=r"limit: runs in \./: run, run2\n  fix:   name 'run'"):
        slmmodel.load("rnu")
    for name in ("run", "run2"):
        (here / name).rename(here / f"-{name}")
    with pytest.raises(MissingInput, match=r"fix:   name '\./-run'"):
        slmmodel.load("./-rnu")


@pytest.mark.parametrize("name", ["gpu", "GPU", "gpu:0", "cuda:99", "mps", "Cuda"])
def test_devices_without_a_gpu(slm, here, name, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    for line in (["train", "data", "-o", "new"], ["sample", "run", "hi"]):
        err = slm(*line, "--device", name, code=2).err
        assert "fix:   --device cpu\n" in err and "here cpu, since torch sees no GPU\n" in err
    assert not (here / "new").exists()


@pytest.mark.parametrize(("name", "fix"), [("gpu", "auto"), ("GPU:1", "cuda:1"), ("CPU", "cpu"), ("xyz", "auto")])
def test_the_name_of_a_device_is_checked_without_torch(slm, here, name, fix, monkeypatch):
    """Loading torch takes seconds."""
    monkeypatch.setattr(hardware, "sys", SimpleNamespace(modules={}))
    monkeypatch.setattr(hardware, "available_devices", None)
    for line in ("train data -o new", "train data -o run", "sample run hi", "eval run"):
        err = slm(*line.split(), "--device", name, code=2).err
        assert f"  fix:   --device {fix}" in err and "limit: auto, cpu, cuda, cuda:N, mps\n" in err


def test_devices_with_gpus(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [meant_device(name) for name in ("gpu", "GPU:1", "cuda:2", "cpu", "tpu", "cuda:x")] == [
        *("cuda", "cuda:1", "cuda", "cpu"),
        None,
        None,
    ]
    with pytest.raises(OptionError, match="here cuda:0 to cuda:1, cpu\n  fix:   device='cuda'"):
        device_for("cuda:5")


def test_less_memory_leads_to_a_width_that_heads_divide(slm, here):
    err = slm("train", "data", "-o", "new", "--budget", "steps=1", "--set", "model.d_model=1000000", code=2).err
    width = int(err.partition("--set model.d_model=")[2].partition(",")[0])
    assert width % 8 == 0
    fixed = ["--budget", "steps=1", "--set", f"model.d_model={width}"]
    slm("train", "data", "-o", "new", *fixed, "--dry-run", code=0)


def test_shards_without_their_manifest_are_no_text(slm, here: Path) -> None:
    (here / "data" / "manifest.json").unlink()
    ran = slm("train", "data", "-o", "new", "--no-eval", code=None)
    assert "manifest.json" in ran.err and "not text" not in ran.err, ran.err


def test_a_run_is_no_ablation(here: Path) -> None:
    from slmmodel import app

    with pytest.raises(MissingInput, match="'run' is a run, not an ablation"):
        app.load_ablation("run")


PASTED = {
    "train data -o new --dry-run --set optim.lr: 0.01": "use --set optim.lr=0.01",
    "train data -o new --dry-run --set optim.lr=0,003": "--set optim.lr=0.003",
    "train data -o new --dry-run --set optim.schedule.warmup=5%": "--set optim.schedule.warmup=0.05",
    "train data -o new --dry-run --set model.dropout=10%": "--set model.dropout=0.1",
    "train data -o new --dry-run --set model.rope_base=10,000": "--set model.rope_base=10000.0",
    "train data -o new --dry-run --set run.eval_every=never": "--set run.eval_every=0, as without it",
    "train text.txt --val-split 0.2 -t tok.json --document line -o new --dry-run": (
        "slmtok pack text.txt -t tok.json --document line --val tail:20% -o text-data "
        "&& slm train text-data -o new --dry-run"
    ),
    "train data --split train -o new": (
        "leave it out: DATA has the splits train and val, as slmtok pack --val RULE divided it"
    ),
    "train data --val-file text.txt -o new": "use --val text.txt",
    "sample run a: b: --max-new 1": "slm sample run 'a: b:' --max-new 1",
    "sample run -p a b c --max-new 1": "slm sample run -p 'a b c' --max-new 1",
    "sample run -p a b --max-new 1": "slm sample run -p 'a b' --max-new 1",
    "sample run a --max-new 1 --seed 1,2,3": "--seed 1, and a command for each other value",
    "sample run a --max-new 1 --step best": "--step 2",
    "eval run --step last": "--step 2",
    "eval run --precision fp64": "--precision fp32",
    "logprobs run a b --top 2": "slm logprobs run 'a b' --top 2",
    "sample run a --choice yes no": "--choice yes --choice no",
    "train text.txt -t tok.json -o new --budget steps=1 --exclude *.md *.py": (
        "slm train text.txt -t tok.json -o new --budget steps=1 --exclude '*.md' --exclude '*.py'"
    ),
    "ablate --patterns gpt4,slm --text text.txt --cpu -o new": "--patterns cl100k,slm",
    "ablate --vocabs 300 --text text.txt --cpu -o new": "--vocabs 300,600",
    "ablate --vocabs 300-400 --text text.txt --cpu -o new": "--vocabs 300,400",
    "ablate --vocabs 300,400 text.txt --cpu -o new": "slm ablate --vocabs 300,400 --text text.txt --cpu -o new",
    "train text.txt -t tiktoken:gpt4 -o new": "the name tiktoken:cl100k_base",
    "train data -o new --dry-run --set model.tie_embeddings=yes": "--set model.tie_embeddings=true",
    "train data -o new --set optim.lr='0.01'": "--set optim.lr=0.01",
    "train data -o new --budget tokens=1MB": "--budget bytes=1MB, which counts bytes of text, or "
    "--budget tokens=1M, which counts ids",
    "config --check bare.yaml": "name a DATA: slm config --check bare.yaml --data data, or data.train in FILE",
    "chat run a b": "slm sample run 'a b'",
    "plot ru* -o c.svg": "slm plot run run2 -o c.svg",
    "passkey run --lengths 512": (
        "slm train --config run/config.yaml --set model.seq_len=512 --set run.batch_tokens=512 -o run-2, or shorter "
    ),
}


@pytest.mark.parametrize("line", PASTED)
def test_the_fix_means_what_was_asked(slm, here, line):
    """Each is the whole fix, and a command line among them is run."""
    Path("bare.yaml").write_text("optim: {lr: 0.01}\n")
    fix = slm(*line.split()).err.rpartition("fix:   ")[2].rstrip("\n")
    assert fix == PASTED[line] or (fix.startswith(PASTED[line]) and line.startswith("passkey")), fix
    first = fix.rpartition("&& ")[0] and fix.partition(" && ")[0]
    if first:
        from slmtok.cli import main

        assert main(shlex.split(first)[1:]) == 0
    command = shlex.split(fix.rpartition("&& ")[2].partition(", or shorter ")[0])
    if command[0] == "slm" and command[1] not in ("plot", "ablate"):
        slm(*command[1:], code=0)


def test_a_preset_is_a_setting_of_the_model(slm, here):
    Path("run.yaml").write_text("preset: cpu-demo\n")
    assert "did you mean 'model.preset'?" in slm("train", "data", "--config", "run.yaml", code=2).err
    Path("run.yaml").write_text("model: cpu-demo\n")
    assert "fix:   name a setting of it: model.preset\n" in slm("train", "data", "--config", "run.yaml", code=2).err
    Path("run.yaml").write_text("model.preset: cpu-demo\n")
    slm("train", "data", "--config", "run.yaml", "-o", "new", "--dry-run", code=0)


def test_a_configuration_of_a_run_is_used_for_other_data_without_editing_it(slm, here):
    import slmtok
    from slmtok.shards import pack

    pack("text.txt", slmtok.train("text.txt", vocab_size=280), "data2")
    line = ["train", "data2", "--config", "run/config.yaml", "-o", "new", "--dry-run"]
    fix = slm(*line, code=2).err.rpartition("fix:   ")[2]
    assert fix.startswith("--set model.n_vocab=280 --set model.padded_vocab="), fix
    slm(*line, *fix.split(), code=0)


def test_globs_that_match_nothing_are_noted(slm, here):
    globs = ["--exclude", "*.md", "--domain", "books=books/*"]
    noted = slm("train", "text.txt", "-t", "tok.json", *globs, "-o", "new", "--dry-run", code=0).err
    assert noted.count("matches no file of text.txt") == 2, noted
    assert "matches no file" in slm("eval", "run", "--on", "text.txt", *globs[:2], "--no-baselines", code=0).err
    Path("texts").mkdir()
    shutil.copy("text.txt", "texts")
    noted = slm("train", "texts", "-t", "tok.json", "--val", "texts/text.txt", "-o", "new", "--dry-run", code=0).err
    assert "the validation documents are those of training: --val texts/text.txt is in DATA" in noted


def test_sequences_of_a_run_whose_data_moved(slm, here):
    slm("train", "data", "-o", "new", "--budget=steps=1", "--preset=cpu-demo", *TRAIN, "--no-eval", code=0)
    Path("data").rename("moved")
    fix = slm("batches", "new", code=1).err.rpartition("fix:   name the data: slm ")[2]
    slm(*fix.replace("DATA", "moved").split(), code=0)


def test_a_sample_that_ends_before_it_was_asked_to_is_noted(slm, here):
    assert "note: a sample ended after " in slm("sample", "run", "a", "--max-new", "50", "--seed", "1", code=0).err
    assert "--overflow slide continues" not in slm("sample", "run", "a", "--max-new", "2", code=0).err
    assert (
        "for the character: --stop $'\\n'" in slm("sample", "run", "a", "--stop", "\\n", "--max-new", "1", code=0).err
    )


def test_a_comparison_of_a_model_with_itself_is_noted(slm, here):
    slm("eval", "run", "--losses", "a.losses", "--no-baselines", code=0)
    assert "A and B are the same file, 'a.losses'" in slm("compare", "a.losses", "./a.losses", code=0).err


def test_a_budget_that_is_spent_trains_nothing_and_leaves_nothing(slm, here):
    err = slm("resume", "run", "-o", "new", "--budget", "epochs=0.0001", code=2).err
    assert "no step is left: step 2 has spent the budget epochs=0.0001" in err and not Path("new").exists()


def test_an_option_ends_a_list(slm):
    """The help of `--vocabs` names `-t`, so that it could be taken for an item."""
    ran = slm("ablate", "--vocabs", "300,600", "-t", "no.json", "--text", "text.txt", "-o", "new")
    assert "no file 'no.json'" in ran.err and "a list has commas" not in ran.err


@pytest.mark.parametrize("given", ["run -o new", "run -t tok.json -o new", "run/model.safetensors -o new"])
def test_a_run_in_the_place_of_data_leads_to_its_data_and_to_its_next_steps(slm, here, given):
    fix = slm("train", *given.split(), "--budget", "steps=1", code=2).err.rpartition("  fix:   ")[2].strip()
    anew, going_on = fix.removesuffix(" continues it").split(" trains anew on its data; ")
    assert anew.startswith("slm train ") and anew.endswith("data -o new --budget steps=1")
    assert "would train" in slm(*shlex.split(anew)[1:], *TRAIN, "--dry-run", code=0).out and not Path("new").exists()
    slm(*shlex.split(going_on)[1:], code=0)
    assert "new" in runs_in(Path())


@pytest.mark.parametrize("line", ["resume ckpt.pt", "sample ckpt.pt ROMEO:", "eval ckpt.pt --on text.txt"])
def test_a_checkpoint_of_another_program_stands_for_no_run_in_particular(slm, here, line):
    torch.save({"model": torch.zeros(3)}, here / "ckpt.pt")
    error = slm(*line.split()).err
    assert error.startswith("error: 'ckpt.pt' is a checkpoint of PyTorch, not a run folder\n")
    assert error.endswith("  limit: runs in ./: run, run2\n  fix:   name one of them\n")


def test_data_in_the_place_of_the_run_that_resume_continues_are_trained_on(slm, here):
    for data, tokenizer, what in (("text.txt", "-t tok.json ", "a text"), ("data", "", "packed data")):
        err = slm("resume", data, "--budget", "steps=1", code=1).err
        assert err.startswith(f"error: {data!r} is {what}, not a run folder\n")
        line = f"slm train {data} {tokenizer}-o run-2 --budget steps=1"
        assert err.endswith(f"  limit: runs in ./: run, run2\n  fix:   {line}\n")
        slm(*line.split()[1:], "--dry-run", code=0)
    for words in (("run", "text.txt"), ("text.txt", "run")):
        assert slm("resume", *words, code=2).err.endswith("  fix:   slm resume run --data text.txt\n")
