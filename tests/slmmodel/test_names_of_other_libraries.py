"""Names of other libraries that objects of this package lack: the error says what stands for each."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

import made_runs
import numpy as np
import torch  # noqa: F401 - named by fixes

import slmmodel
import slmtok
from slmmodel import VocabMeta, app
from slmmodel.checkpoint import RunFolder
from slmmodel.data import ArraySource, Cursor, Loader, ShardDataset, ShardLoader, open_data, open_source
from slmmodel.errors import SlmmodelError, WrongType, with_import, with_import_explained
from slmmodel.evaluation.scoring import Scores
from slmmodel.foreign_names import CALLS_ELSEWHERE
from slmmodel.generation import Sample

TEXT = "once upon a time there was a little fox. the fox saw a tree. " * 40


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, `run` and `run2`, beside their packed data."""
    place = tmp_path_factory.mktemp("names")
    tok = slmtok.train(slmtok.Texts([TEXT]), vocab_size=280)
    (place / "text.txt").write_text(TEXT.replace(". ", ".\n"))
    slmtok.pack(place / "text.txt", tok, place / "data", document="line", val="tail:20%")
    content = (place / "data" / "tok.json").read_bytes()
    for name in ("run", "run2"):
        made_runs.write_run(place / name, place / "data", tokenizer=content, n_layers=1, d_model=16, seq_len=24)
    return place


@pytest.fixture(autouse=True)
def _inside(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made)


def said(owner: Any, name: str) -> str:
    """The message for an attribute that an object lacks."""
    with pytest.raises(AttributeError) as caught:
        getattr(owner, name)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("vocab_size", "; padded_vocab is the number of rows of an embedding, n_vocab the number of ids"),
        ("n_words", "; padded_vocab is the number of rows of an embedding, n_vocab the number of ids"),
        ("eos_token_id", "; special('eos') is the id"),
        ("bos_id", "; special('bos') is the id"),
        ("eot_token", "; special('eos') is the id"),
        (
            "encode",
            "; it knows ids and no text: slmtok.load('tok.json').encode, of the tokenizer beside the vocab.json",
        ),
        ("colour", ""),
    ],
)
def test_of_a_vocabulary(name: str, text: str) -> None:
    vocab = VocabMeta.load("data/vocab.json")
    assert said(vocab, name) == f"'VocabMeta' object has no attribute {name!r}{text}"
    assert not hasattr(vocab, name)


@pytest.mark.parametrize("load", [slmmodel.load, app.load])
@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("tokenize", "tokenizer.encode"),
        ("complete", "write .generate in place of .complete"),
        ("history", "slm plot run -o curves.svg in a shell"),
        ("finetune", "slm resume run in a shell, with another budget also -o NEW"),
        (
            "bpb",
            "load('run').result, the totals of training with loss and val_bpb; .evaluate().bpb_total scores documents",
        ),
        ("vocab_size", ".vocab.padded_vocab, the rows of an embedding; "),
        ("block_size", ".seq_len"),
        ("batch_size", ".config['run']['batch_tokens'], the ids of a step"),
        ("surprisal", "load('run').score("),
    ],
)
def test_of_a_run(load: Any, name: str, fix: str) -> None:
    run = load("run")
    assert re.search(rf"\n  fix:   .*{re.escape(fix)}", said(run, name))
    assert not hasattr(run, name)
    _, is_code, code = said(run, name).partition("\n  fix:   import slmmodel; ")
    if is_code:
        eval(
            re.split(", the |, in bits|, of a finished|; ", code)[0],
            {"slmmodel": slmmodel, "ids": [1, 20], "text": "a"},
        )


@pytest.mark.parametrize("load", [slmmodel.load, app.load])
def test_runs_are_compared_by_their_losses(load: Any, made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    os.chdir(tmp_path)
    line = said(load("run"), "compare").partition("fix:   ")[2].partition(" in a shell")[0]
    for command in line.replace("OTHER", "run2").split(" && "):
        program, *words = shlex.split(command)
        from slmmodel.cli import main

        assert program == "slm" and main(words) == 0


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        (
            "compare",
            "slm compare a.losses b.losses in a shell, of losses that slm eval RUN --losses FILE writes"
            "  # RUN: your own run of slm train",
        ),
        ("generate", "import slmmodel; slmmodel.load('run').generate(ids), or slmmodel.app.load('run') for text"),
        ("ShardDataset", "from slmmodel.data import ShardDataset"),
        ("make_packing", "from slmmodel.data import make_packing"),
        ("ModelConfig", "from slmmodel.models import ModelConfig"),
        (
            "Trainer",
            "import slmmodel; slmmodel.train('DATA', budget='epochs=N', output='NEW'), of packed data, N times, "
            "into the new folder NEW; slmmodel.app.train('CORPUS', tokenizer='TOK') takes text"
            "  # DATA: your own packed data; CORPUS: your own text, a file or folder; TOK: your own tokenizer file",
        ),
        ("status", "slm status RUN in a shell  # RUN: your own run of slm train"),
    ],
)
def test_of_the_package(name: str, fix: str) -> None:
    assert said(slmmodel, name) == f"slmmodel has no {name!r}\n  fix:   {fix}"
    line = f"from slmmodel import {name}"
    ran = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=False)
    assert f"ImportError: slmmodel has no {name!r}\n  fix:   {fix}" in ran.stderr


def test_names_of_commands_and_other_libraries(made: Path) -> None:
    """Of the package and its module for text: the fix runs, or is a command that exists."""
    from slmmodel.cli import main

    for name in CALLS_ELSEWHERE:
        fix = with_import(str(slmmodel.meant_in_package(name)))
        explained = with_import_explained(str(slmmodel.meant_in_package(name)))
        # A module of this name may have been imported.
        assert hasattr(slmmodel, name) or said(slmmodel, name) == f"slmmodel has no {name!r}\n  fix:   {explained}"
        assert said(app, name) == f"slmmodel.app has no {name!r}\n  fix:   {explained}"
        if fix.endswith("in a shell") or " in a shell, " in fix:
            command = fix.split()[1]
            assert main([command, "--help"]) == 0, command
            continue
        for code in re.split("; |, or |, of | for text", fix):
            # Other fixes are prose, or would train.
            if not re.search(r"\.train\(|makes a|is a trained|batches of|N times, |takes text|^$", code):
                exec(code, {"slmmodel": slmmodel, "ids": [1, 2]})
    assert said(app, "Run") == "slmmodel.app has no 'Run'\n  fix:   from slmmodel import Run"
    assert said(app, "colour") == "module 'slmmodel.app' has no attribute 'colour'"
    from slmmodel import config, export

    assert (config.__name__, export.__name__) == ("slmmodel.config", "slmmodel.export")


def owners() -> dict[str, Any]:
    """Objects by the variables that fixes call them."""
    source = open_source("data", "train")
    loader = Loader(source, slmmodel.load("run").vocab, seq_len=8, batch_size=2)
    folder = RunFolder.open("run")
    return {
        "source": source,
        "data": open_data("data"),
        "dataset": ShardDataset("data", seq_len=8),
        "loader": ShardLoader("data", seq_len=8, batch_size=2),
        "batch": loader.batch(loader.global_batch(Cursor()).sequence_keys[:1]),
        "sample": Sample([1], [2, 3]),
        "folder": folder,
        "checkpoints": folder.checkpoints,
    }


@pytest.mark.parametrize(
    ("owner", "name", "fix"),
    [
        ("source", "offsets", "np.cumsum([0, *source.lengths()])"),
        ("source", "documents", "source.ids(0, 0, 100)"),
        ("source", "num_docs", "source.n_docs"),
        ("source", "n_tokens", "source.lengths().sum()"),
        ("source", "push_to_hub", ""),
        ("data", "offsets", "np.cumsum([0, *data.train.lengths()])"),
        ("data", "validation", "data.val"),
        ("dataset", "input_ids", "dataset[0]['input_ids']"),
        ("dataset", "offsets", None),
        ("dataset", "column_names", "dataset[0].keys()"),
        ("dataset", "tokenizer", "slmtok.load(dataset.path)"),
        ("loader", "labels", "next(iter(loader))['labels']"),
        ("loader", "to", ""),
        ("batch", "input_ids", "batch.ids"),
        ("batch", "labels", "batch.targets"),
        ("batch", "cpu", "batch.to(torch.device('cpu'))"),
        ("sample", "token_ids", "sample.ids"),
        ("folder", "generate", "import slmmodel; slmmodel.load(folder.path)"),
        ("checkpoints", "latest", "checkpoints.newest()"),
        ("checkpoints", "steps", "checkpoints.list()"),
        ("checkpoints", "state_dict", ""),
    ],
)
def test_of_data_and_checkpoints(owner: str, name: str, fix: str | None) -> None:
    objects = owners()
    message = said(objects[owner], name)
    assert message.startswith(
        f"'{type(objects[owner]).__name__}' object has no attribute {name!r}\n  fix:   {fix or ''}"
    )
    if fix != "":
        code = fix or message.partition("fix:   ")[2].partition(", where")[0]
        exec(code, {**globals(), **objects})
    assert not hasattr(objects[owner], name) and name not in dir(objects[owner])


def test_an_attribute_takes_the_place_of_an_absent_name() -> None:
    class Own(ArraySource):
        documents = "of the class"

    source: Any = Own([[0, 1]], [1])
    source.offsets = [0]
    assert (source.documents, source.offsets) == ("of the class", [0])
    assert {"documents", "offsets"} <= {*dir(source)} and "num_docs" not in dir(source)


def test_losses_of_scores_by_names_of_other_libraries() -> None:
    ones = np.ones(2)
    scores = Scores(ones, ones.astype(np.uint32), ones.astype(np.uint32), np.array([0, 2]), np.array([2]))
    names = {"loss": "scores.nats.mean()", "ppl": "math.exp(scores.nats.mean())", "bpb": "scores.bpb_total"}
    names |= {"perplexity": names["ppl"], "cross_entropy": names["loss"]}
    for name, ours in names.items():
        for each in (name, f"val_{name}", f"eval_{name}", f"test_{name}"):
            with pytest.raises(AttributeError, match=re.escape(ours)):
                getattr(scores, each)
            with pytest.raises(WrongType, match=re.escape(ours)):
                scores[each]


def test_two_wrong_arguments_are_told_at_once() -> None:
    for options in ({"foo": 1}, {"pack": "xx"}, {"batch_size": 2}):
        with pytest.raises(SlmmodelError, match="; no file or folder 'nope'") as caught:
            ShardDataset("nope", seq_len=8, **options)
        assert str(caught.value.fix).endswith("; path=PATH, packed data that exist")
    for budget in ("foo=3", "steps=x"):
        with pytest.raises(SlmmodelError, match="; unknown setting 'lr'") as caught:
            slmmodel.train("data", budget=budget, settings={"lr": 1e-3}, output="new")
        assert "budget='steps=" in str(caught.value.fix) and str(caught.value.fix).endswith("write optim.lr")


def test_the_model_of_a_preset_is_built_as_the_message_says() -> None:
    import slmmodel

    with pytest.raises(AttributeError, match="build") as caught:
        slmmodel.GPT  # type: ignore[attr-defined]  # noqa: B018
    call = str(caught.value).partition("fix:   ")[2].partition(" makes a model")[0]
    names: dict[str, Any] = {}
    *lines, last = call.split("; ")
    exec("\n".join(lines), names)
    assert eval(last, names).config.n_vocab > 0


def test_a_bar_that_is_switched_off_gets_no_report() -> None:
    import slmmodel

    with pytest.raises(WrongType, match=r"fix:   report=None, as without it: nothing is shown$"):
        slmmodel.train("data", progress=False)  # type: ignore[call-arg]
