"""Wrong inputs of `slm` that a reviewer found to mislead: each is answered by its cause, and leaves nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

import numpy as np
from slm_folder import TEXT, TRAIN, make_folder

import slmmodel
import slmmodel.app
import slmtok
from slmmodel.cli.open_by_path import notes_on_prompt
from slmmodel.config import check_without_data, read_assignments
from slmmodel.data import ShardDataset, make_packing
from slmmodel.errors import InvalidConfig, InvalidInput, MissingInput, OptionError, UnknownName, WrongType
from slmmodel.hardware import meant_device
from slmtok.cli import main as run_slmtok


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with texts, a tokenizer, packed data, and a run of two steps."""
    folder = make_folder(tmp_path_factory.mktemp("made"))
    (folder / "few.txt").write_text("hi")
    (folder / "empty.txt").touch()
    (folder / "number.jsonl").write_text('{"sentence_good": 3, "sentence_bad": ""}')
    (folder / "equal.jsonl").write_text('{"sentence_good": "", "sentence_bad": ""}')
    return folder


REFUSED = {
    "batches empty.txt -t tok.json": (1, "the split train has no text"),
    "train tok.json -o new": (2, "fix:   slm train TEXT -t tok.json"),
    "train data -o new --config tok.json": (2, "tok.json is a tokenizer file of slmtok, not a configuration"),
    "train data -o new --threads 9999": (2, "limit: at most 1024"),
    "sample tok.json": (2, "RUN is missing: 'tok.json' is a tokenizer"),
    "sample gpt2 --prompt hi": (2, "RUN is missing: 'gpt2' is a tokenizer"),
    "sample run -prompt hi -max_new=5": (2, "fix:   slm sample run --prompt hi --max_new=5\n"),
    "logprobs run -prompt hi": (2, "error: '-prompt' has one dash"),
    "sample run hi --threads 9999 --max-new 1": (2, "fix:   --threads "),
    "sample run/checkpoints/step-2 hi": (1, "fix:   slm sample run --step 2 hi\n"),
    "plot run/metrics.jsonl -o c.svg": (1, "fix:   slm plot run -o c.svg\n"),
    "plot run c.png": (2, "fix:   slm plot run -o c.png\n"),
    "plot run c.pdf --against ids": (2, "fix:   slm plot run --against ids -o c.svg\n"),
    "plot run c.png -o d.svg": (2, "fix:   slm plot run -o d.svg && slm plot run -o c.png\n"),
    "report run new.html": (
        2,
        "'new.html' is named as a run\n  fix:   slm report run -o new.html\n",
    ),
    "report new.html": (2, "fix:   slm report run -o new.html\n"),
    "report run/eval/val.json -o new.html": (2, "fix:   slm report run --with run/eval/val.json -o new.html\n"),
    "ablate data data --vocabs 512,1024 --cpu -o new": (
        2,
        "fix:   slm ablate data data --cpu -o new, or slm ablate --vocabs 512,1024 --cpu -o new --text TEXT\n",
    ),
    "ablate data data -t tok.json --cpu -o new": (
        2,
        "fix:   slm ablate data data --cpu -o new, or slm ablate -t tok.json --cpu -o new --text TEXT -t TOK\n",
    ),
    "plot run run -o c.png": (2, "the run 'run' is named twice"),
    "config --preset cpu-demo my.yaml": (2, "fix:   slm config --preset cpu-demo > my.yaml\n"),
    "config --preset cpu-demo -o my.yaml": (2, "fix:   use stdout: slm config --preset cpu-demo > my.yaml\n"),
    "probe run --tasks copy,arithmetic": (2, "fix:   --tasks copy,addition\n"),
    "probe run --tasks sorting": (2, "fix:   --tasks copy,reverse,addition,brackets; nothing is like sorting\n"),
    "train data --val text.txt -o new": (
        2,
        "fix:   slmtok pack text.txt -t data/tok.json --val none -o text-val && slm train data -o new --val text-val\n",
    ),
    "train text.txt -t tok.json --val hash:10% -o new": (
        1,
        "fix:   slmtok pack text.txt -t tok.json --val tail:10% -o NEW # and train on NEW",
    ),
    "train data --val hash:10% -o new": (
        1,
        "fix:   slmtok pack text.txt -t data/tok.json --val tail:10% -o NEW # and train on NEW",
    ),
    "config -o run.yaml": (2, "fix:   use stdout: slm config > run.yaml"),
    "config run --check": (2, "fix:   slm config --check run/config.yaml"),
    "info tok.json": (2, "fix:   slmtok info tok.json"),
    "info text.txt": (2, "'text.txt' is text, not a run, a preset or a vocab.json"),
    "eval run --check tok.json": (1, "fix:   name a certificate: slm eval RUN writes RUN/eval/val.json\n"),
    "train data -o new --config run/fingerprint.json": (2, "fix:   --config run/config.yaml\n"),
    "train data -o new --config text.txt": (1, "slm config > run.yaml writes a configuration\n"),
    "train data -o new --set n_layers=1": (2, "did you mean 'model.n_layers'?"),
    "train data -o new --set optim=1": (2, "'optim' is a section, not a setting\n"),
    "train data -o new --budget steps=4 --budget steps=5": (2, "--budget is given 2 times\n"),
    "info run/config.yaml": (2, "fix:   slm info run\n"),
    "pairs run number.jsonl": (1, "the field 'sentence_good' of a pair is int, not text\n"),
    "train data -o new --set data.train=data2": (2, "fix:   leave out --set data.train=data2, or DATA data\n"),
    "ablate --patterns slm,nope --text text.txt --cpu -o new": (2, "'nope' is not one of names of patterns, "),
    "ablate --vocabs 280,9000 --text text.txt --cpu -o new": (2, "fix:   sizes up to "),
    "ablate --vocabs 280,285 --text text.txt --cpu -o new --baseline foo": (
        2,
        "fix:   --baseline vocab-280, or --baseline vocab-285\n",
    ),
    "ablate data data2 --match bytes --also flops,bytes -o new": (2, "fix:   leave it out of --also\n"),
    "ablate --data-sizes 0.1%,100% --text text.txt --vocab 280 --cpu -o new": (
        2,
        "--data-sizes 0.1% has no ",
    ),
    "pairs run equal.jsonl": (1, "the two sentences of a pair are equal: ''\n"),
    "eval run --check run/result.json": (2, "fix:   --check run/eval/val.json\n"),
    "eval --check run/config.yaml": (2, "is a file of a run, not a certificate\n  fix:   --check run/eval/val.json\n"),
    "passkey run --check run/config.yaml": (2, "fix:   slm passkey run writes one\n"),
    "prompts run --check run": (2, "fix:   slm prompts run writes one\n"),
    "probe run --check run/tok.json": (2, "fix:   slm probe run writes one\n"),
    "passkey run --depths 0.5": (2, "fix:   --depths 50, or --depths 0.5%\n"),
    "passkey run --depths 0,0.25,1": (2, "fix:   --depths 0,25,100, or --depths 0%,0.25%,1%\n"),
    "passkey run --depths 0.5,50": (2, "'0.5,50' may be a share\n  where: slm passkey\n  fix:   --depths 0.5%,50%\n"),
    "plot run -o new.pdf": (2, "fix:   --output new.svg\n"),
    "plot run -o new.jpg": (2, "fix:   --output new.png\n"),
    "sample run hi --temp 0": (2, "fix:   use --temperature 0\n"),
    "sample run hi --temp 0 --max-tokens 20": (
        2,
        "unknown options: --temp, --max-tokens\n  where: slm sample\n"
        "  fix:   slm sample run hi --temperature 0 --max-new 20\n",
    ),
    "sample run hi --temprature 0 --max-tokens 20": (
        2,
        "unknown options: --temprature, --max-tokens\n  where: slm sample\n"
        "  fix:   slm sample run hi --temperature 0 --max-new 20\n",
    ),
    "chat run --temp 0 --max-tokens 20": (2, "fix:   slm chat run --temperature 0 --max-new 20\n"),
    "plot run -o c.png --against tokens": (2, "fix:   --against ids\n"),
    "plot run -o c.png --against seconds": (2, "fix:   --against time\n"),
    "sample run hi --top-p 90": (2, "fix:   --top-p 0.9\n"),
    "sample run hi --min-p 5": (2, "fix:   --min-p 0.05\n"),
    "sample run hi --top-p 900": (2, "fix:   --top-p 1.0, as without it"),
    "sample run hi --choice a --regex b": (
        2,
        "--choice and --regex together\n  fix:   leave out --choice or --regex\n",
    ),
    "sample run hi --greedy --beam 4 --temperature 0.5": (
        2,
        "fix:   leave out --beam or --greedy, and leave out --temperature, which has no effect with either\n",
    ),
    "sample run hi --greedy --beam 4 --contrastive 0.5": (
        2,
        "fix:   keep one of --greedy or --beam or --contrastive\n",
    ),
    "sample run --ids 1,2,3,4,5,6,7,8,9,10": (
        1,
        "the prompt has 10 ids\n  limit: seq_len 8\n  fix:   shorten it by 2 ",
    ),
    "sample checkpoints/step-2 hi": (1, "fix:   slm sample run --step 2 hi\n"),
    "sample step-2 hi": (1, "fix:   slm sample run --step 2 hi\n"),
    "sample gpt2 --prompt hello": (2, "fix:   slm sample run --prompt hello\n"),
    "logprobs tok.json -p hi --top 3": (2, "fix:   slm logprobs run -p hi --top 3\n"),
    "logprobs --prompt hi": (2, "fix:   slm logprobs run --prompt hi\n"),
    "chat -t tok.json": (2, "fix:   slm chat run -t tok.json\n"),
    "eval run val": (2, "fix:   use --split val\n"),
    "train data/train -o new --budget steps=2": (1, "fix:   slm train data -o new --budget steps=2\n"),
    "train dat -o new --seed 3": (1, "fix:   slm train data -o new --seed 3\n"),
    "train data/shard-00000.bin -o new": (1, "fix:   slm train data -o new\n"),
    "train -t tok.json -o tok.json": (2, "fix:   slm train TEXT -t tok.json\n"),
    "train data -o new --set model.seq_len=1K": (2, "limit: a whole number\n  fix:   --set model.seq_len=1024\n"),
    "train data -o new --set model.d_model=1,024": (2, "fix:   --set model.d_model=1024\n"),
    "resume run --set model.d_model=64": (
        2,
        "fix:   slm train --config run/config.yaml --set model.d_model=64 -o run-2\n",
    ),
    "resume run --step 2": (2, "fix:   slm resume run --step 2 -o run-2 --budget steps=4\n"),
    "resume run --set optim.lr=1e-3": (2, "fix:   slm resume run --set optim.lr=1e-3 -o run-2 --budget steps=4\n"),
    "resume run --step 2 --budget steps=9 --force": (
        2,
        "fix:   slm resume run --step 2 --budget steps=9 -o run-2\n",
    ),
    "info data": (2, "fix:   slmtok info data"),
    "compare text.txt text.txt": (1, "text.txt is not a file of losses"),
    "compare run/model.safetensors text.txt": (1, "holds tensors, and is not a file of losses"),
    "pairs run text.txt --good a --bad a": (2, "--good and --bad are both 'a'"),
    "demo tok.json -o new": (2, "fix:   slm demo TEXT -t tok.json"),
    "demo text.txt -t tok.json --vocab 300 -o new": (2, "fix:   leave one out"),
    "eval run --check run/eval/val.json --split train": (2, "--check together with --split"),
    "eval run --check run/eval/val.json --certificate x": (2, "fix:   leave --certificate out"),
    "resume run --budget steps=1": (2, "fix:   slm resume run --budget steps=4 -o run-2\n"),
    "resume run --step 2 -o new --budget steps=2": (2, "no step is left: step 2 has spent the budget steps=2"),
    "resume run --budget steps=9": (2, "fix:   slm resume run --budget steps=9 -o run-2\n"),
    "resume run --step 2 -o new --budget steps=9 --threads 2": (1, "fix:   --threads 1, or --allow-mismatch threads"),
}


@pytest.mark.parametrize("line", REFUSED)
def test_a_wrong_input_is_answered_by_its_cause(slm, here, line):
    before = sorted(here.rglob("*"))
    code, message = REFUSED[line]
    assert message in slm(*line.split(), code=code).err
    assert sorted(here.rglob("*")) == before


def test_a_certificate_of_other_documents_is_not_proven(slm, here):
    ran = slm("eval", "run", "--check", "run/eval/val.json", "--on", "few.txt", code=3)
    assert "not proven, it is about other documents" in ran.out and "--on DATA names" in ran.out
    assert "proven" in slm("eval", "run", "--check", "run/eval/val.json", code=0).out


def test_a_text_of_two_bytes_is_scored_with_its_baselines(slm, here):
    assert "byte n-grams" in slm("eval", "run", "--on", "few.txt", code=0).out


def test_a_lost_checkpoint_is_named_when_training_goes_on(slm, here):
    for name in ("result.json", "model.safetensors"):
        (here / "run" / name).unlink()
    (here / "run/checkpoints/step-2/optim.safetensors").unlink()
    assert "no checkpoint of it is intact; step 2 is damaged" in slm("sample", "run", "hi", code=1).err
    note = slm("resume", "run", "--no-eval", code=0).err
    assert "training begins at step 0 again; the checkpoint of step 2 is damaged and was removed" in note


def test_a_finished_run_without_weights_says_so(slm, here):
    (here / "run/model.safetensors").unlink()
    err = slm("resume", "run", code=1).err
    assert "the run 'run' is finished, and its model.safetensors is lost" in err
    assert "fix:   cp run/checkpoints/step-2/model.safetensors run" in err
    shutil.copy(here / "run/checkpoints/step-2/model.safetensors", here / "run")
    slm("sample", "run", "once", "--max-new", "1", code=0)


@pytest.mark.usefixtures("short_samples")
def test_a_demo_takes_a_tokenizer(slm, here):
    shape = ["--preset", "cpu-demo", "--threads", "1"]
    ran = slm("demo", "text.txt", "-t", "tok.json", "-o", "new", "--budget", "steps=1", *shape, "--json", code=0)
    assert ran.json["result"]["steps"] == 1
    assert (here / "new/data/tok.json").read_bytes() == (here / "tok.json").read_bytes()


def test_ids_in_other_forms(slm, here):
    few = slm("sample", "run", "--ids", "1 30", "--max-new", "1", code=0).out
    assert slm("sample", "run", "--ids", "[1, 30]", "--max-new", "1", code=0).out == few
    model = slmmodel.load("run")
    for ids, fix in (
        (np.array([1.0, 30.0]), "ids.astype(int)"),
        ([1.0, 30.0], "[int(id) for id in ids]"),
        ([1.5], "tok.encode_list(text)"),
        (np.array([[1, 30]]), "slmmodel.load('run').generate([1, 30], max_new_tokens=1)"),
    ):
        with pytest.raises(WrongType) as caught:
            model.generate(ids, max_new_tokens=1)
        assert caught.value.fix == fix


def test_python_names_what_was_wrong(here):
    run, model = slmmodel.app.load("run"), slmmodel.load("run")
    with pytest.raises(InvalidInput, match=r"the text has \d+ ids with the special that opens it"):
        run.score(TEXT)
    with pytest.raises(InvalidInput, match="there are 20 ids to score"):
        model.score([20] * 20)
    with pytest.raises(InvalidInput, match="the model has no id 99999"):
        model.score([99999, 5])
    with pytest.raises(OptionError, match=r"limit: 1 to 8, the seq_len of training: (.|\n)*fix:   seq_len=8, or leave"):
        model.evaluate("data", seq_len=100)
    with pytest.raises(slmmodel.errors.MissingInput, match="no split 'test'"):
        run.evaluate("data", split="test")
    with pytest.raises(slmmodel.errors.InvalidConfig) as caught:
        run.evaluate(slmtok.Texts([""]))
    assert "--on" not in str(caught.value)
    with pytest.raises(UnknownName, match="fix:   crop_offset='random'"):
        ShardDataset("data", seq_len=8, crop_offset="foo")
    with pytest.raises(WrongType, match="fix:   seq_len=8"):
        ShardDataset("data", block_size=8)
    for lengths in ([9, -3], [1.5], "abc", [[1]]):
        with pytest.raises(WrongType, match="lengths are the numbers of ids"):
            make_packing("concat", lengths, 8)
    assert len(make_packing("concat", np.array([9, 3]), 8))


def test_metrics_of_a_finished_run_are_not_resumed(slm, here):
    with (here / "run/metrics.jsonl").open("a") as file:
        file.write("garbage\n")
    assert "fix:   remove the line\n" in slm("plot", "run", "-o", "c.svg", code=1).err
    (here / "run/metrics.jsonl").unlink()
    assert "is finished, and its metrics are lost" in slm("plot", "run", "-o", "c.svg", code=1).err


def test_a_configuration_of_a_run_is_used_again(slm, here):
    assert "would train" in slm("train", "data", "--config", "run/config.yaml", "-o", "new", "--dry-run", code=0).out


def test_a_certificate_of_a_model_that_diverged_is_valid():
    from slmtok import schema
    from slmtok.strict_json import FaultError

    schema.finite(4.76e22, "perplexity")
    with pytest.raises(FaultError, match="a finite number"):
        schema.finite(float("inf"), "perplexity")


def test_python_names_wrong_data_before_the_output(here):
    for train in (slmmodel.train, slmmodel.app.train):
        for data, what in (("nope", "no file or folder 'nope'"), ("run", "is a run, not t"), ("text.txt", "text")):
            with pytest.raises(slmmodel.SlmmodelError, match=what):
                train(data, output="run")
    with pytest.raises(WrongType, match="fix:   give options by name: output='x'"):
        slmmodel.train("data", "x")
    with pytest.raises(WrongType, match="has no option 'num_workers', which belongs to DataLoader"):
        slmmodel.data.ShardLoader("data", seq_len=8, batch_size=2, num_workers=2)
    with pytest.raises(WrongType, match=r"give pin_memory to the torch.utils.data.DataLoader"):
        ShardDataset("data", seq_len=8, pin_memory=True)
    with pytest.raises(slmmodel.errors.MissingInput, match="is a run, not token data"):
        ShardDataset("run", seq_len=8)
    with pytest.raises(OptionError, match="path is empty"):
        ShardDataset("", seq_len=8)


def test_python_tokenizers_refuse_masks_and_paths(here):
    tok = slmtok.load("tok.json")
    for call in (lambda: tok.decode([True]), lambda: tok.decode_batch([[True, False]]), lambda: tok.token_bytes(True)):
        with pytest.raises(slmtok.errors.WrongType, match="bool"):
            call()
    with pytest.raises(slmtok.errors.WrongType, match="decode_batch"):
        tok.decode([[300, 301]])
    for adapter in (slmtok.compat.as_hf, slmtok.compat.as_tiktoken):
        with pytest.raises(slmtok.errors.WrongType, match=r"fix:   slmtok\.load"):
            adapter("tok.json")


def test_a_model_larger_than_the_memory_is_not_blamed_on_its_length(slm, here):
    line = ["train", "data", "-o", "new", "--preset", "cpu-demo", "--set", "model.n_layers=400"]
    err = slm(*line, "--set", "model.d_model=8192", "--set", "model.n_heads=64", "--set", "model.n_kv_heads=64").err
    assert "fix:   --set model.n_layers=" in err and "seq_len=" not in err and not (here / "new").exists()


def test_json_of_a_check_has_no_numbers_for_other_documents(slm, here):
    ran = slm("eval", "run", "--check", "run/eval/val.json", "--on", "few.txt", "--json")
    assert json.loads(ran.out)["result"]["proven"] is False


@pytest.mark.parametrize(("given", "meant"), [("minutes=0", "time=3min"), ("hours=0", "time=3h")])
def test_the_fix_of_an_empty_budget_is_a_budget(given, meant):
    from slmmodel.config import read_budget

    with pytest.raises(OptionError) as caught:
        read_budget(given, "--budget")
    assert meant in str(caught.value)


OF_OTHER_TRAINERS = {
    "--n_layer 4": "--set model.n_layers=4",
    "--weight_decay 0.1": "--set optim.weight_decay=0.1",
    "--gradient-clip-val 0.5": "--set optim.grad_clip=0.5\n",
    "--accumulate-grad-batches 2": "--set run.batch_tokens=N: the ids of a step",
    "--warmup_steps 100": "--set optim.schedule.warmup=100",
    "--dtype bfloat16": "--set run.precision=bf16",
    "--bf16": "--precision bf16",
    "--wandb": "--set run.track=wandb",
    "--eval_interval 50": "--set run.eval_every=50",
    "--resume": "slm resume RUN, or the same command again",
    "--model gpt2": "--preset gpt2-124m\n",
    "--model EleutherAI/pythia-160m": "--preset base-200m\n",
    "--model base-40m": "--preset base-40m\n",
    "--init_from=gpt2-xl": "random weights, with which every run begins: leave it out; to go on with a run of slm",
    "--pretrained gpt2": "random weights, with which every run begins: leave it out; to go on with a run of slm",
    "--init_from scratch": "random weights, with which every run begins: leave it out\n",
    "--gradient_accumulation_steps 4": "--set run.batch_tokens=N: the ids of a step",
    "--nproc_per_node 2": "torchrun --nproc-per-node 2 -m slmmodel train data",
}
WRONG_SETTINGS = {
    "batch_size=4": "--set model.seq_len=256 --set run.batch_tokens=1024\n",
    "model.batch_size=4": "--set model.seq_len=256 --set run.batch_tokens=1024\n",
    "run.precision=torch.bfloat16": "--precision bf16\n",
    "optim.learning_rate=1": "--set optim.lr=1\n",
    "model.lr=1": "--set optim.lr=1\n",
    "model.name=mpt_causal_lm": "write model.arch\n",
    "run.accumulate_grad_batches=2": "run.batch_tokens is the ids of a whole step, run.micro_batch the sequences of",
    "run.name=first": "list all settings with their meanings: slm config\n",
    "optimizer.name=adamw": "--set optim.name=adamw\n",
    "model.n_embd=32": "--set model.d_model=32\n",
    "steps=5": "--set run.budget.steps=5\n",
    "run.budget=steps=5": "--set run.budget.steps=5\n",
    "optim.schedule=cosine": "name a setting of it, such as --set optim.schedule.kind=cosine\n",
    "run.precision=float32": "--precision fp32\n",
    "run.device=CPU": "--device cpu\n",
    "run.device=gpu": f"--device {meant_device('gpu')}\n",
    "run.track=tensorbord": "--set run.track=tensorboard\n",
    "run.keep=0": "--set run.keep=2, as without it\n",
    "optim.lr 1e-3": "use --set optim.lr=1e-3\n",
}
NO_DATA = {
    "a.counts": (2, "is a counts file, not text\n", "name the text that was counted\n"),
    "run": (2, "'run' is a run of slm, not text\n", "slm train "),
    "run/config.yaml": (2, "is a configuration, not data\n", "slm train --config run/config.yaml -o new\n"),
    "config.yaml": (1, "no file or folder 'config.yaml'\n", "check the name\n"),
    "data/train": (1, "no file or folder 'data/train'\n", "slm train data -o new\n"),
    "nope": (1, "no file or folder 'nope'\n", "slmtok pack CORPUS -t TOK -o nope; "),
}
BUDGETS = {
    "steps:10": "steps=10",
    "steps 10": "steps=10",
    "time:": "time=130s",
    "steps:x": "steps=3",
    "0": "tokens=2M",
    "1e99": "tokens=2M",
}


@pytest.mark.parametrize("options", OF_OTHER_TRAINERS)
def test_an_option_of_another_trainer_has_its_setting(slm, here, options):
    err = slm("train", "data", "-o", "new", *options.split(), code=2).err
    assert f"fix:   use {OF_OTHER_TRAINERS[options]}" in err


@pytest.mark.parametrize(
    "options",
    [
        "--batch_size 2 --block_size 16",
        "--block-size=16 --batch-size=2",
        "--batch_size 1 --block_size 16 --gradient_accumulation_steps=2",
    ],
)
def test_options_of_another_trainer_are_one_command(slm, here, options):
    err = slm("train", "data", "-o", "new", *options.split(), code=2).err
    fix = err.splitlines()[-1].removeprefix("  fix:   ")
    assert sorted(fix.split()[5:]) == ["--set", "--set", "model.seq_len=16", "run.batch_tokens=32"]
    slm(*fix.split()[1:], "--dry-run")


@pytest.mark.parametrize("setting", WRONG_SETTINGS)
def test_a_setting_of_another_trainer_has_its_own(slm, here, setting):
    err = slm("train", "data", "-o", "new", "--set", *setting.split(), code=2).err
    assert f"fix:   {WRONG_SETTINGS[setting]}" in err and not (here / "new").exists()


@pytest.mark.parametrize("data", NO_DATA)
def test_what_is_no_data_is_named(slm, here, data):
    slmtok.count(str(here / "text.txt")).save(here / "a.counts")
    code, fact, fix = NO_DATA[data]
    err = slm("train", data, "-o", "new", code=code).err
    assert fact in err and f"fix:   {fix}" in err


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_budget_in_another_form_has_its_own(slm, here, budget):
    err = slm("train", "data", "-o", "new", "--budget", budget, code=2).err
    assert f"fix:   --budget {BUDGETS[budget]}\n" in err
    assert "1 of 2 sequences" in slm("train", "data", "-o", "new", "--budget", "steps = 1", "--dry-run", *TRAIN).out


def test_the_fix_of_a_budget_in_a_file_is_for_the_file(slm, here):
    file, line = here / "b.yaml", ["train", "data", "--config", "b.yaml", "-o", "new", "--dry-run", *TRAIN]
    file.write_text("run:\n  budget: 20\n")
    err = slm(*line, code=2).err
    assert "  where: b.yaml, line 2\n" in err and "fix:   write budget: {steps: 20} in that line\n" in err
    file.write_text("run:\n  budget: {steps: 20}\n")
    assert "steps       20 of 2 sequences" in slm(*line, code=0).out


FILES = {
    "a.py": ("batch_size = 64\nlearning_rate = 1e-3\n", 2, "a.py is Python, as nanoGPT takes it"),
    "a.toml": ("[optim]\nlr = 1e-3\n", 2, "a.toml is TOML, not a configuration of slm"),
    "twice.yaml": ("optim:\n  lr: 1e-3\n  lr: 2e-3\n", 1, "fix:   keep one of the two lines\n"),
    "sections.yaml": ("optim: {lr: 1e-3}\noptim: {eps: 1e-8}\n", 1, "put the settings of both below one of them\n"),
    "nano.yaml": (
        "n_layer: 4\nlearning_rate: 1e-3\nbatch_size: 12\n",
        2,
        "--set model.n_layers=4 --set optim.lr=1e-3  # leaves out batch_size\n",
    ),
    "batch.yaml": (
        "model: {seq_len: 8}\nrun: {batch_tokens: 4}\n",
        2,
        "--set run.batch_tokens=8, one sequence, or for 4 sequences --set run.batch_tokens=32\n",
    ),
    "percent.yaml": ("model: {dropout: 10}\n", 2, "fix:   --set model.dropout=0.1\n"),
    "latin.yaml": (b"optim: {lr: 1e-3}  # \xe9\n", 1, "fix:   convert it: iconv -f ENCODING -t UTF-8\n"),
    "two.yaml": (
        "run:\n  budget:\n    steps: 5\n    tokens: 8K\n",
        2,
        "  where: two.yaml, line 3 and two.yaml, line 4\n  fix:   keep one of them\n",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_settings_is_answered_by_its_fault(slm, here, name):
    content, code, message = FILES[name]
    (here / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    err = slm("train", "data", "--config", name, "-o", "new", "--dry-run", code=code).err
    assert message in err and "fix the syntax" not in err


@pytest.mark.parametrize("line", ["resume run --step 2", "resume run --set optim.lr=1e-3"])
def test_a_new_run_from_the_end_of_another_needs_one_fix(slm, here, line):
    fix = slm(*line.split(), code=2).err.rpartition("fix:   slm ")[2]
    assert slm(*fix.split(), "--no-eval", "--json", code=0).json["result"]["steps"] == 4


def test_another_model_for_a_run_is_a_new_run_of_its_settings(slm, here):
    fix = slm("resume", "run", "--set", "model.n_layers=2", code=2).err.rpartition("fix:   slm ")[2]
    assert slm(*fix.split(), "--no-eval", "--json", code=0).json["result"]["path"] == "run-2"
    assert "n_layers: 2" in (here / "run-2/config.yaml").read_text()


@pytest.mark.parametrize("budget", ["time=30", "time=30min"])
def test_a_time_without_a_unit_is_said_in_seconds(slm, here, budget):
    err = slm("train", "data", "-o", "new", *TRAIN, "--budget", budget, "--dry-run", code=0).err
    assert ("note: the budget time=30 is 30 seconds of training; 30min is minutes\n" in err) == (budget == "time=30")


def test_tasks_of_another_evaluation_have_their_commands(slm, here):
    line = ["eval", "--model", "hf", "--model_args", "pretrained=run", "--tasks", "hellaswag"]
    assert (
        "slm eval run; for tasks slm eval RUN --on TEXT for text of yours, slm pairs RUN FILE" in slm(*line, code=2).err
    )
    assert "slm pairs" not in slm(*line[:-2], code=2).err


def test_an_empty_file_of_settings_is_noted(slm, here):
    line = ["train", "data", "--config", "c.yaml", "-o", "new", "--dry-run", *TRAIN, "--budget", "steps=1"]
    for text in ("", "# optim: {lr: 1}\n", "optim:\n"):
        (here / "c.yaml").write_text(text)
        assert "note: c.yaml sets nothing\n" in slm(*line, code=0).err
    assert "sets nothing" not in slm(*line, "-q", code=0).err


def test_a_prompt_that_is_a_file_is_noted(slm, here):
    note = "'few.txt' is also a file; the prompt is its name: --prompt \"$(cat few.txt)\" continues its text"
    assert f"note: {note}\n" in slm("sample", "run", "few.txt", "--max-new", "1", code=0).err
    assert f"note: {note}\n" in slm("logprobs", "run", "-p", "few.txt", code=0).err
    for prompt in ("few.txt", "@few.txt", "FILE:few.txt", "file://few.txt"):
        assert notes_on_prompt(prompt) == (note,)
    for prompt in (None, "", "-", "@", "x" * 5000, "\0", "data", "file: few.txt"):
        assert notes_on_prompt(prompt) == ()


def test_a_special_that_a_prompt_spells_is_noted(slm, here):
    for line, spelling, special in (
        (["sample", "run", "-p", "</s>", "--max-new", "1"], "</s>", "eos is 2"),
        (["logprobs", "run", "-p", "<b><s>", "--top", "1"], "<s>", "bos is 1"),
    ):
        note = f"note: the prompt has {spelling!r}, read as text; a text begins with bos already; --ids takes special"
        assert f"{note} ids: {special}\n" in slm(*line, code=0).err
    assert "read as text" not in slm("logprobs", "run", "-p", "<b>", "--top", "1", code=0).err


def test_a_run_above_the_working_folder_is_named(slm, here, monkeypatch):
    (here / "sub/deep").mkdir(parents=True)
    for folder, run in (("sub", "../run"), ("sub/deep", "../../run")):
        monkeypatch.chdir(here / folder)
        err = slm("status", "run", code=1).err
        assert f"  where: the working folder {here / folder}\n  fix:   slm status {run}\n" in err
        slm("status", run, code=0)
    assert "  fix:   slm train DATA -o RUN creates one\n" in slm("status", "nope", code=1).err


def test_one_setting_has_one_value(slm, here):
    err = slm("train", "data", "-o", "new", "--set", "model.preset=cpu-demo", "--preset", "tiny-3m", code=2).err
    assert "--set model.preset=cpu-demo and --preset tiny-3m are the same setting" in err
    equal = ["-o", "new", "--set", "run.seed=3", "--seed", "3", "--dry-run", "--budget", "steps=1"]
    assert "would train" in slm("train", "data", *equal, *TRAIN, code=0).out
    same = ["-o", "new", "--set", f"data.train={here / 'data'}", "--dry-run", "--budget", "steps=1"]
    assert "would train" in slm("train", "data", *same, *TRAIN, code=0).out


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_a_dry_run_refuses_what_the_run_refuses(slm, here, dry):
    long = ["--budget", "steps=3", "--set", "optim.schedule.warmup=100"]
    err = slm("train", "data", "-o", "new", *TRAIN, *long, *dry, code=2).err
    assert "optim.schedule.warmup of 100 steps takes the whole run of 3" in err and not (here / "new").exists()
    err = slm("train", "data", "-o", "run", *TRAIN, "--budget", "steps=7", *dry, code=1).err
    assert "the run 'run' is finished" in err and "--force" in err
    # An interrupted run is continued with its own settings only.
    (here / "run/result.json").unlink()
    err = slm("train", "data", "-o", "run", *TRAIN, "--budget", "steps=7", *dry, code=2).err
    assert "run.budget.steps=7 contradicts the run, which has 2" in err


def test_a_dry_run_takes_force(slm, here):
    line = ["train", "data", "-o", "run", *TRAIN, "--budget", "steps=7", "--dry-run"]
    assert "would train" in slm(*line, "--force", code=0).out and (here / "run/result.json").exists()


COMMANDS = {
    "info cpu-demo --on nvidia-A100-80GB:2": (2, "unknown device 'nvidia-A100-80GB'; 'a100' is most like it\n"),
    "info cpu-demo --on nvidia_a100:2": (2, "fix:   --on a100:2\n"),
    "info cpu-demo --on a100x8": (2, "fix:   --on a100:8\n"),
    "info cpu-demo --on 8xh100": (2, "fix:   --on h100:8\n"),
    "info cpu-demo --on h100-4": (2, "fix:   --on h100:4\n"),
    "info cpu-demo --on a1000": (2, "did you mean 'a100'?"),
    "status run --watch 5": (2, "fix:   use --watch --every 5\n"),
    "status run run": (2, "fix:   leave one out: slm status takes RUN and options\n"),
    "export run --output-format gguf -o new": (
        2,
        "fix:   --output-format hf, which convert_hf_to_gguf.py of llama.cpp reads, once its get_vocab_base_pre() has",
    ),
    "export run --output-format huggingface -o new": (2, "fix:   --output-format hf\n"),
    "export run --format gguf -o new": (2, "has the pre-tokenizer; slm has no gguf\n"),
    "export run --format transformers -o new": (2, "fix:   use --output-format hf\n"),
    "ablate tok.json tok2.json --text text.txt --cpu -o new": (
        2,
        "fix:   slm ablate -t tok.json -t tok2.json --text text.txt --cpu -o new\n",
    ),
    "train data -t text.txt -o new": (2, "pack it: slmtok pack text.txt -t data/tok.json -o NEW\n"),
    "train data -t tok2.json -o new": (2, "pack the text with it: slmtok pack text.txt -t tok2.json -o NEW\n"),
}


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_another_form_is_answered_in_ours(slm, here, line):
    shutil.copy("tok.json", "tok2.json")
    code, message = COMMANDS[line]
    assert message in slm(*line.split(), code=code).err
    assert not (here / "new").exists()


def test_another_tokenizer_for_packed_data_packs_them_again(here):
    slmtok.train("text.txt", vocab_size=280).save("tok2.json")
    with pytest.raises(slmmodel.SlmmodelError, match=r"slmtok pack text.txt -t tok2.json -o NEW"):
        slmmodel.app.train("data", tokenizer="tok2.json", output="new")


def test_a_separator_that_cuts_nothing_is_noted(slm, here):
    note = "note: --separator --- occurs nowhere: each file is one document\n"
    line = ["train", "text.txt", "-t", "tok.json", "-o", "new", "--dry-run", "--budget", "steps=1", *TRAIN]
    assert all(note in slm(*line, "--separator", "---", "--val", val, code=0).err for val in ("auto", "none"))
    evaluated = slm("eval", "run", "--on", "text.txt", "--separator", "---", "--no-baselines", code=0).err
    assert note.replace("nowhere:", "nowhere in text.txt:") in evaluated
    assert "occurs nowhere" not in slm(*line, "--separator", "tree", "--val", "none", code=0).err
    assert "occurs nowhere" not in slm(*line, "--separator", "---", "-q", code=0).err


def test_validation_on_the_training_text_is_noted(slm, here):
    line = ["train", "text.txt", "-t", "tok.json", "-o", "new", "--dry-run", "--budget", "steps=1", *TRAIN]
    assert "note: the validation documents are those of training" in slm(*line, "--val", "text.txt", code=0).err
    assert "those of training" not in slm(*line, "--val", "few.txt", code=0).err


def test_a_score_of_other_documents_or_weights_has_a_file_of_its_own(slm, here):
    slm("resume", "run", "--step", "2", "-o", "longer", "--budget", "steps=4", code=0)
    whole = (here / "longer/eval/val.json").read_bytes()
    assert slm("eval", "longer", "--step", "2", "--json", code=0).json["result"]["written"]["certificate"] == (
        "longer/eval/val-step-2.json"
    )
    assert (here / "longer/eval/val.json").read_bytes() == whole
    slm("eval", "longer", "--step", "2", "--check", "longer/eval/val-step-2.json", code=0)
    (here / "few.txt").write_text("\n".join(f"{TEXT} {number}" for number in range(20)))
    options = {"document": "line", "val": "hash:20%"}
    slmtok.pack("few.txt", slmtok.load("tok.json"), "lines", **options)
    slm("train", "lines", "-o", "own", *TRAIN, "--budget", "steps=1", code=0)
    assert "note: the data" not in slm("eval", "own", "--no-baselines", code=0).err
    before = (here / "own/eval/val.json").read_bytes()
    shutil.rmtree("lines")
    (here / "few.txt").write_text("\n".join(f"{TEXT} {number}" for number in range(30)))
    slmtok.pack("few.txt", slmtok.load("tok.json"), "lines", **options)
    ran = slm("eval", "own", "--no-baselines", "--json", code=0)
    assert "note: the data of the run have changed since training" in ran.err
    assert ran.json["result"]["written"]["certificate"] == "own/eval/lines-val.json"
    assert (here / "own/eval/val.json").read_bytes() == before


def test_what_may_differ_has_a_name(slm, here):
    err = slm("train", "data", "-o", "new", "--allow-mismatch", "fingerprint", code=2).err
    assert "one of files, tokenizer, data, plan, config, torch, device, threads" in err and not (here / "new").exists()


def test_refusals_before_torch(slm, here):
    other = slm("train", "data", "-o", "text.txt", "--dry-run", code=1).err
    assert "output 'text.txt' exists and is not a run folder" in other and "preparing" not in other
    lengths = ["--set", "model.seq_len=64", "--set", "run.batch_tokens=65"]
    with pytest.raises(InvalidConfig, match="65 is not a whole number of sequences"):
        check_without_data(read_assignments(lengths[1::2]))
    assert "fix:   --set run.batch_tokens=64\n" in slm("train", "data", "-o", "new", *lengths, code=2).err


@pytest.mark.parametrize(("rule", "packed"), [("0.1", "tail:10%"), ("10%", "tail:10%"), ("tail:20%", "tail:20%")])
def test_validation_by_a_rule_is_of_packing(slm, here, rule, packed):
    Path("lines.txt").write_text("\n".join(f"{TEXT} {number}" for number in range(30)))
    slmtok.pack("lines.txt", slmtok.load("tok.json"), "whole", document="line", val="none")
    sources = {"whole": "whole/tok.json", "lines.txt -t tok.json --document line": "tok.json"}
    for index, (data, tokenizer) in enumerate(sources.items()):
        err = slm("train", *data.split(), "-o", "new", "--val", rule, *TRAIN, code=1).err
        line = err.rpartition("fix:   slmtok ")[2].partition(" # and train on NEW without --val")[0]
        assert line == f"pack lines.txt -t {tokenizer} --document line --val {packed} -o NEW"
        assert run_slmtok([*line.split()[:-1], f"new-{index}"]) == 0 and Path(f"new-{index}/val-00000.bin").exists()
    assert "fix:   --preset gpt2-124m\n" in slm("train", "data", "-o", "new", "--preset", "gpt2", code=2).err


def test_a_split_of_packed_data_is_no_path(slm, here):
    Path("lines.txt").write_text("\n".join(f"{TEXT} {number}" for number in range(30)))
    slmtok.pack("lines.txt", slmtok.load("tok.json"), "parts", document="line", val="tail:10%")
    fixes = {"val.bin": "parts, of which the split val is taken", "train": "parts, with --split train"}
    for name, fix in fixes.items():
        assert f"fix:   name the folder: {fix}\n" in slm("eval", "run", "--on", f"parts/{name}", code=1).err
        on = fix.replace(", with", "").partition(",")[0]
        slm("eval", "run", "--on", *on.split(), "--no-baselines", "--force", code=0)
    with pytest.raises(MissingInput, match=r"name the folder: .*parts, with split='val'"):
        ShardDataset("parts/val", seq_len=8)


EVALUATIONS = {
    "eval run data": (2, "slm eval run --on data\n"),
    "eval run --data data": (2, "use --on data\n"),
    "eval run --tasks piqa": (2, "use slm eval RUN --on TEXT for text of yours, slm pairs RUN FILE for sentence pairs"),
    "eval run --limit 10": (
        2,
        "leave it out: validation documents are scored whole; --on TEXT --max-docs 10 limits text\n",
    ),
    "eval run --on text.txt --limit 10": (2, "use --max-docs 10\n"),
    "eval run --on data --limit 10": (2, "leave it out: validation documents are scored whole; --on TEXT --max"),
    "logprobs run once --n-probs 5": (2, "use --top 5\n"),
    "logprobs run once --colour 5": (2, "slm logprobs --help\n"),
    "eval run --certificate x.json --losses x.json": (2, "another --certificate\n"),
    "eval run --losses run/eval/val.json --force": (2, "--losses run/eval/val.losses\n"),
    "sample run hi --min-new 9 --max-new 5": (2, "--max-new-tokens 9, or more\n"),
    "pairs pairs.jsonl run": (2, "slm pairs run pairs.jsonl\n"),
    "batches picture.png": (2, "convert it to text or .jsonl"),
    "prompts run --check run/eval/val.json": (2, "slm eval run --check run/eval/val.json\n"),
    "report run -o x.pdf": (2, "-o x.html\n"),
    "report run -o text.txt --force": (2, "-o text.html\n"),
    "report run run -o x.html": (2, "name it once\n"),
    "report run -o x.html --on picture.png": (2, "name text in UTF-8, or records: "),
    "sample run hi --choice=": (2, "leave --choice '' out\n"),
    "sample run hi --stop=": (2, "leave --stop '' out\n"),
    "sample run hi --greedy --n 3": (2, "leave out --n or --greedy\n"),
    "sample run --ids 1,99999": (2, "encode the prompt with the tokenizer of the run: -p TEXT\n"),
    "sample run --ids=": (2, "leave it out: a sample then begins a document\n"),
    "sample run hi --num_beams 3": (2, "use --beam 3\n"),
    "compare a b --resamples 0": (2, "--resamples 10000, as without it; besides, there is no file or folder 'a'\n"),
    "passkey run -o x.html --plot x.html": (2, "another --plot\n"),
    "eval run --step 7": (1, "--step 2\n"),
    "eval --check tok.json": (1, "name a certificate: slm eval RUN writes RUN/eval/val.json\n"),
    "resume run --data nope -o new --budget steps=4": (1, "check the name, or leave --data out: the data of the run, "),
    "resume run --step 2 -o new --budget steps=9 --set model.n_layers=2": (
        2,
        "slm train --config run/config.yaml -o new --budget steps=9 --set model.n_layers=2\n",
    ),
}


@pytest.mark.parametrize("line", EVALUATIONS)
def test_an_evaluation_names_what_to_do_instead(slm, here, line):
    (here / "pairs.jsonl").touch()
    (here / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    before = {file: file.stat().st_mtime_ns for file in here.rglob("*") if file.is_file()}
    code, fix = EVALUATIONS[line]
    assert f"fix:   {fix}" in slm(*line.split(), code=code).err
    assert {file: file.stat().st_mtime_ns for file in here.rglob("*") if file.is_file()} == before


def test_a_sentence_is_scored_from_stdin(slm, here):
    err = slm("eval", "run", "--on", "The fox is red.", code=1).err
    assert "fix:   for text itself name - and pipe it in" in err


def test_data_of_another_tokenizer_are_named_when_a_run_goes_on(slm, here):
    slmtok.train(str(here / "text.txt"), vocab_size=280).save(here / "tok2.json")
    slmtok.pack([str(here / "text.txt")], slmtok.load(here / "tok2.json"), here / "data2")
    err = slm("resume", "run", "--data", "data2", "-o", "new", "--budget", "steps=4", code=1).err
    assert "the data 'data2' were made with another tokenizer than the run" in err
    assert "fix:   leave --data out: the data of the run, " in err and not (here / "new").exists()
    assert slm("resume", "run", "--data", "data2", code=1).err.endswith(
        "place: slm resume run -o run-2 --budget steps=4\n"
    )
    # Where other data are allowed, they are packed with the tokenizer of the run.
    err = slm("resume", "run", "--data", "data2", "--allow-mismatch", "data", code=1).err
    assert f"slmtok pack text.txt -t {Path('run', 'tok.json')} -o NEW && slm resume run" in err
    assert err.endswith(" --data NEW -o run-2 --budget steps=4\n")


@pytest.mark.parametrize(
    ("asked", "trained"),
    [("steps=5", "steps=5"), ("steps = 5", "steps=5"), ("tokens=80", "tokens=80"), ("steps=1", "steps=4")],
)
def test_a_finished_run_is_trained_longer_by_the_budget_that_was_asked_for(slm, here, asked, trained):
    err = slm("train", "data", "-o", "run", *TRAIN, "--budget", asked, code=1).err
    fix = err.rpartition("to train it longer slm ")[2].split()
    assert fix[-1] == trained
    assert slm(*fix, "--no-eval", "--json", code=0).json["result"]["steps"] > 2


def test_a_configuration_that_is_also_stdout_is_not_sent_to_another(here):
    line = [sys.executable, "-m", "slmmodel", "config", "my.yaml", "--set", "optim.lr=1e-2"]
    with Path("my.yaml").open("w") as file:
        err = subprocess.run(line, stdout=file, stderr=subprocess.PIPE, text=True, check=False).stderr
    assert "error: FILE 'my.yaml' without --check\n  where: the shell has emptied it for >" in err
    assert "to keep them, write them into my.yaml" in err and ".new" not in err


def test_batches_behind_the_end_of_a_run_are_noted(slm, here):
    assert "note: the run 'run' has 2 steps" in slm("batches", "run", "--first-step", "1", code=0).err
    assert "note:" not in slm("batches", "run", "--n", "2", code=0).err
    assert "note:" not in slm("batches", "data", "--first-step", "9", "--seq-len", "8", code=0).err
