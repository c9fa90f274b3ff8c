"""Several inputs where `slm` takes one, outputs among inputs: the line in the fix names all of them, and works."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
from printed_fixes import fix_in

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from slm_folder import TEXT, make_folder

import slmtok
from slmmodel.budget import Budget, notes_on_rounding
from slmtok.cli import main as slmtok_main

PAIR = '{"sentence_good": "a cat", "sentence_bad": "a fox"}\n'


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs, packed data, a tokenizer and texts."""
    folder = make_folder(tmp_path_factory.mktemp("made"), "--no-eval")
    shutil.copytree(folder / "run", folder / "run2")
    shutil.copy(folder / "tok.json", folder / "tok2.json")
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(TEXT * 20 + name)
    for name in ("one/x.jsonl", "two/x.jsonl", "two/y.jsonl"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(PAIR)
    return folder


LINES = {
    # Several texts behind an option that is repeated.
    "report run run2 --on a.txt b.txt": "slm report run run2 --on a.txt --on b.txt",
    "report --on=a.txt b.txt run": "slm report --on=a.txt --on b.txt run",
    "report run2 a.txt run b.txt": "slm report run2 run --on a.txt --on b.txt",
    "report run --on a.txt run2 b.txt": "slm report run run2 --on a.txt --on b.txt",
    "ablate --text a.txt b.txt -t tok.json tok2.json": "slm ablate --text a.txt --text b.txt -t tok.json -t tok2.json",
    "ablate --text a.txt b.txt --vocabs 290,300": "slm ablate --text a.txt --text b.txt --vocabs 290,300",
    # One text a command.
    "eval --on a.txt b.txt run": "slm eval run --on a.txt && slm eval run --on b.txt",
    "eval --on a.txt b.txt": "slm eval run --on a.txt && slm eval run --on b.txt",
    "eval run --on a.txt b.txt --losses c.losses": "slm eval run --losses c-a.losses --on a.txt"
    " && slm eval run --losses c-b.losses --on b.txt",
    "eval run a.txt": "slm eval run --on a.txt",
    # A file among runs is left out, and the runs keep their order.
    "plot run run2 a.txt": "slm plot run run2  # without a.txt",
    "passkey a.txt run": "slm passkey run  # without a.txt",
    # What is too many, or no file.
    "pairs run/step run one/x.jsonl": "slm pairs run one/x.jsonl # there is no file or folder 'run/step'",
    "train data cpu-demo -o new": "use --preset cpu-demo",
    "train data all -o new": "slm train data -o new # there is no file or folder 'all'",
    # What an option of the command lists is its value.
    "export run hf -o out": "slm export run -o out --output-format hf",
    "export run hf": "slm export run -o hf",
    "train data bf16 -o new": "slm train data -o new --precision bf16",
    "report --on run -o page.html": "slm report run -o page.html",
    "passkey run --samples 1e12": "--samples 10, as without it",
    "ablate data data --match vocab": "--match bytes, or --match flops, or --match params, or --match body-params"
    ", or --match tokens, or --match time",
    "ablate data data --seeds 1e6": "--seeds 3, as without it",
    # An output among the inputs.
    "train data run": "slm train data -o run-2",
    "train run data": "slm train data -o run-2",
    "train data new --budget steps=2": "slm train data --budget steps=2 -o new",
    "train a.txt b.txt new -t tok.json": "use slm train --set 'data.train=[a.txt,b.txt]' -t tok.json -o new, "
    "or to validate on b.txt: slm train a.txt --val b.txt -t tok.json -o new",
    "demo a.txt new --vocab 290": "slm demo a.txt --vocab 290 -o new",
    "export run new": "slm export run -o new",
    # Several texts of a demo, and texts that are no files.
    "demo a.txt b.txt --vocab 290": "mkdir texts && cp -r a.txt b.txt texts && slm demo texts --vocab 290",
    "demo my text.txt": "slm demo 'my text.txt'",
    "demo once upon": "leave all but one out: slm demo takes one file, folder, glob or hf:NAME, and generates"
    " stories without it",
    "train data run -o new": "leave one out: slm train takes [DATA] and options",
    "train a.txt my-val.txt -t tok.json -o new": "use slm train a.txt --val my-val.txt -t tok.json -o new, "
    "or to train on both: slm train --set 'data.train=[a.txt,my-val.txt]' -t tok.json -o new",
    "train data/train data/val -o new": "name one that exists: there is no file or folder 'data/train', and none"
    " 'data/val'",
    "train a.txt c.txt -t tok.json": "slm train a.txt -t tok.json # there is no file or folder 'c.txt'",
    # A folder of pairs.
    "pairs run one/ --by group": "slm pairs run one/x.jsonl --by group",
    "pairs run two": "cat two/*.jsonl | slm pairs run -",
    "pairs run data": "name a file with an object a line: the folder has no .jsonl",
    "pairs run run2 --good a": "name the FILE of pairs: slm pairs run FILE --good a && slm pairs run2 FILE --good a",
    # Settings of a run.
    "batches run --seq-len 8 --batch-size 2": "leave them out, or name the data instead of the run",
    "batches run --seq-len 8": "leave it out, or name the data instead of the run",
    # Uploads.
    "export run --push-to-hub": "leave it out, slm uploads nothing; slm export run -o run-hf"
    " && hf upload USER/NAME run-hf",
    "export --push_to_hub run -o new": "leave it out, slm uploads nothing; slm export run -o new"
    " && hf upload USER/NAME new",
    "export run --hub_model_id=me/fox": "leave it out, slm uploads nothing; slm export run -o run-hf"
    " && hf upload me/fox run-hf",
    # A run or a text that is missing, or dropped.
    "resume": "slm resume run",
    "batches": "slm batches run",
    "pairs one/x.jsonl": "slm pairs run one/x.jsonl",
    "ablate tok.json tok2.json a.txt --seeds 1": "slm ablate --seeds 1 -t tok.json -t tok2.json --text a.txt",
    "compare run/checkpoints run2": "slm eval run --losses run-a.losses && slm eval run2 --losses run2-b.losses"
    " && slm compare run-a.losses run2-b.losses",
    "compare run a.txt": "slm eval run --losses run.losses && slm compare run.losses OTHER.losses  # "
    "OTHER.losses stands for the losses of another run",
    # Options of other trainers.
    "bench run --batch-size 4": "use --batch-sizes 4",
    "batches data --block-size 32": "use --seq-len 32",
    "demo a.txt --vocab-size 290": "slm demo a.txt --vocab 290",
    "train data --num_processes 2 -o x": "use torchrun --nproc-per-node 2 -m slmmodel train data -o x",
    "resume run --gpus=2": "use torchrun --nproc-per-node 2 -m slmmodel resume run",
    "train data --trainer.max_epochs 3": "use --budget epochs=3",
    "train data --budget steps=2 --set run.budget.steps=3": "leave out --set run.budget.steps=3, or --budget steps=2",
    "train data --epochs 1,5": "use --budget epochs=1.5, or --budget epochs=1, and a run for each other value",
    "train data -o x --budget epochs=1,5": "--budget epochs=1.5, or --budget epochs=1, and a run for each other value",
    "train data --steps 10,20": "use --budget steps=10, and a run for each other value",
    "train data --time 2h,3h": "use --budget time=2h, and a run for each other value",
    "train data --epochs many": "use --budget epochs=3, for instance",
    "resume run --steps 10,20": "slm resume run --budget steps=10 -o run-2, and a run for each other value",
}


@pytest.mark.parametrize("line", LINES)
def test_the_fix_names_all_that_was_given(slm, here, line):
    for name in ("my text.txt", "my-val.txt"):
        (here / name).write_text(TEXT)
    before = sorted(here.rglob("*"))
    ran = slm(*shlex.split(line))
    assert (ran.code in (1, 2), fix_in(ran.err)) == (True, LINES[line])
    assert sorted(here.rglob("*")) == before


def test_all_settings_that_a_run_has_fixed_are_named(slm, here):
    err = slm("batches", "run", "--seq-len", 8, "--batch-size", 2, code=2).err
    assert "error: --seq-len and --batch-size cannot be chosen for a run\n" in err


@pytest.mark.parametrize("line", ["sample gpt2 --prompt hi", "eval gpt2", "chat gpt2"])
def test_no_model_of_another_program_is_loaded(slm, here, line):
    assert "RUN is a folder that slm train wrote; no pretrained models are loaded\n" in slm(*line.split(), code=2).err


def test_data_of_two_tokenizers_are_packed_with_one(slm, here):
    slmtok.pack("a.txt", slmtok.train("a.txt", vocab_size=280), "other", val="none")
    line = ["train", "data", "other", "-o", "new", "--preset", "cpu-demo", "--budget", "steps=1"]
    first, validated = fix_in(slm(*line, code=2).err).split(", or to validate on other-2: ")
    pack, mixed = first.removeprefix("use ").split(" && ")
    assert slmtok_main(shlex.split(pack)[1:]) == 0
    for pasted in (mixed, validated):
        slm(*shlex.split(pasted)[1:], "--dry-run", code=0)
    Path("a.txt").unlink()
    err = slm(*line, code=2).err
    assert fix_in(err) == "leave one out: other has another tokenizer than data"


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_budget_that_whole_steps_exceed_is_said(slm, here, more):
    note = "note: the budget tokens=500 becomes 2,048 tokens, in 1 step: a step has 2,048\n"
    line = ["train", "data", "-o", "new", "--preset=cpu-demo", "--no-eval", *more]
    assert note in slm(*line, "--budget", "tokens=500", code=0).err
    assert "becomes" not in slm(*line, "--budget", "tokens=20k", "--dry-run", "--force", code=0).err


def test_a_setting_that_is_given_twice_is_said(slm, here):
    line = ["train", "data", "-o", "new", "--preset=cpu-demo", "--dry-run", "--set", "optim.lr=1e-3", "--set"]
    note = "note: --set optim.lr=1e-3 is replaced by --set optim.lr=2e-3\n"
    assert note in slm(*line, "optim.lr=2e-3", code=0).err
    assert "replaced" not in slm(*line, "optim.lr=1e-3", code=0).err


def test_the_note_on_whole_steps():
    assert notes_on_rounding(Budget(tokens=1000), 100, 10) == []
    assert notes_on_rounding(Budget(tokens=1000), 101, 10) == []
    assert notes_on_rounding(Budget(epochs=0.5), 0.3, 2) == [
        "the budget epochs=0.5 becomes 0.6 epochs, in 2 steps: a step has 0.3"
    ]


PASTED = (
    "report run run2 --on a.txt b.txt",
    "eval --on a.txt b.txt run --losses c.losses",
    "plot run run2 a.txt",
    "train data run --preset cpu-demo --budget steps=1",
    "pairs run one/",
    "export run new",
)


@pytest.mark.parametrize("line", PASTED)
def test_the_line_in_the_fix_works(slm, here, line):
    for command in fix_in(slm(*shlex.split(line), code=2).err).split(" && "):
        slm(*shlex.split(command, comments=True)[1:], code=0)
