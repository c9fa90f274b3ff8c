"""Wrong inputs of `slm` that a reviewer found to mislead: each is answered by its cause, and leaves nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch")

import numpy as np
from slm_folder import TEXT, make_folder

import slmmodel
import slmmodel.app
import slmtok
from slmmodel.data import ShardDataset, make_packing
from slmmodel.errors import InvalidInput, OptionError, UnknownName, WrongType


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with texts, a tokenizer, packed data, and a run of two steps."""
    folder = make_folder(tmp_path_factory.mktemp("made"))
    (folder / "few.txt").write_text("hi")
    (folder / "empty.txt").touch()
    (folder / "number.jsonl").write_text('{"sentence_good": 3, "sentence_bad": ""}')
    (folder / "equal.jsonl").write_text('{"sentence_good": "", "sentence_bad": ""}')
    return folder


@pytest.fixture
def here(slm, made: Path, tmp_path: Path) -> Path:
    """A copy of the folder, which is the working folder."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


REFUSED = {
    "batches empty.txt -t tok.json": (1, "the split train has no text"),
    "train tok.json -o new": (2, "fix:   slm train TEXT -t tok.json"),
    "train data -o new --config tok.json": (2, "tok.json is a tokenizer file of slmtok, not a configuration"),
    "train data -o new --threads 9999": (2, "limit: at most 1024"),
    "sample tok.json": (2, "RUN is missing: 'tok.json' is a tokenizer"),
    "sample gpt2 --prompt hi": (2, "RUN is missing: 'gpt2' is a tokenizer"),
    "sample run hi --threads 9999 --max-new 1": (2, "fix:   --threads "),
    "sample run/checkpoints/step-2 hi": (1, "fix:   name the run: run, with --step 2"),
    "plot run/metrics.jsonl -o c.svg": (1, "fix:   name the run: run\n"),
    "plot run c.png": (2, "fix:   -o c.png"),
    "plot run run -o c.png": (2, "the run 'run' is named twice"),
    "logprobs run hi": (2, "fix:   use --prompt hi"),
    "config -o run.yaml": (2, "fix:   use stdout: slm config > run.yaml"),
    "config run --check": (2, "fix:   slm config --check run/config.yaml"),
    "info tok.json": (2, "fix:   slmtok info tok.json"),
    "info text.txt": (2, "'text.txt' is neither a run nor a vocab.json"),
    "eval run --check tok.json": (1, "fix:   name a certificate: slm eval RUN writes RUN/eval/val.json\n"),
    "train data -o new --config run/fingerprint.json": (2, "fix:   name its configuration: run/config.yaml\n"),
    "train data -o new --config text.txt": (1, "slm config > run.yaml writes a configuration\n"),
    "train data -o new --set n_layers=1": (2, "did you mean 'model.n_layers'?"),
    "train data -o new --set optim=1": (2, "'optim' is a section, not a setting\n"),
    "train data -o new --budget steps=4 --budget steps=5": (2, "--budget is given twice: steps=4 and steps=5\n"),
    "info run/config.yaml": (2, "fix:   slm info run\n"),
    "pairs run number.jsonl": (1, "the field 'sentence_good' of a pair is int, not text\n"),
    "ablate --vocabs 280,9000 --text text.txt --cpu -o new": (2, "fix:   sizes up to "),
    "ablate --vocabs 280,285 --text text.txt --cpu -o new --baseline foo": (2, "fix:   --baseline vocab-280\n"),
    "ablate --data-sizes 0.1%,100% --text text.txt --vocab 280 --cpu -o new": (
        2,
        "--data-sizes 0.1000% has no ",
    ),
    "pairs run equal.jsonl": (1, "the two sentences of a pair are equal: ''\n"),
    "eval run --check run/result.json": (1, "fix:   name a certificate; "),
    "info data": (2, "fix:   slmtok info data"),
    "compare text.txt text.txt": (1, "text.txt is not a file of losses"),
    "compare run/model.safetensors text.txt": (1, "holds tensors, and is not a file of losses"),
    "pairs run text.txt --good a --bad a": (2, "--good and --bad are both 'a'"),
    "demo tok.json -o new": (2, "fix:   slm demo TEXT -t tok.json"),
    "demo text.txt -t tok.json --vocab 300 -o new": (2, "fix:   leave one out"),
    "eval run --check run/eval/val.json --split train": (2, "--check together with --split"),
    "eval run --check run/eval/val.json --certificate x": (2, "fix:   leave --certificate out"),
    "resume run --budget steps=1": (2, "fix:   slm resume run --step 2 -o NEW --budget steps=4"),
    "resume run --step 2 -o new --budget steps=2": (2, "no step is left: step 2 has spent the budget steps=2"),
    "resume run --budget steps=9": (2, "fix:   slm resume run -o NEW --budget steps=9"),
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


def test_a_demo_takes_a_tokenizer(slm, here):
    shape = ["--preset", "cpu-demo", "--threads", "1"]
    ran = slm("demo", "text.txt", "-t", "tok.json", "-o", "new", "--budget", "steps=1", *shape, "--json", code=0)
    assert ran.json["result"]["steps"] == 1
    assert (here / "new/data/tok.json").read_bytes() == (here / "tok.json").read_bytes()


def test_python_names_what_was_wrong(here):
    run, model = slmmodel.app.load("run"), slmmodel.load("run")
    with pytest.raises(InvalidInput, match=r"the text has \d+ ids with the special that opens it"):
        run.score(TEXT)
    with pytest.raises(InvalidInput, match="there are 20 ids to score"):
        model.score([20] * 20)
    with pytest.raises(InvalidInput, match="the model has no id 99999"):
        model.score([99999, 5])
    with pytest.raises(OptionError, match="limit: 1 to 8, the seq_len of training"):
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
    with pytest.raises(WrongType, match=r"DataLoader\(dataset, pin_memory"):
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
