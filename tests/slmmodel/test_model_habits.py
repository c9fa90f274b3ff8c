"""Calls as other trainers take them, and inputs that do not exist: answered by the right option or name."""

from __future__ import annotations

import errno
import os
import re
import shlex
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from slm_folder import TEXTS, WIDE_SHAPE, make_in_python
from torch.utils.data import DataLoader

import slmmodel
import slmtok
from slmmodel import app
from slmmodel.checkpoint import RunFolder
from slmmodel.config import read_budget
from slmmodel.data import Loader, ShardDataset, ShardLoader, make_packing, open_data, open_source
from slmmodel.decoding_options import SamplingOptions
from slmmodel.errors import (
    InvalidConfig,
    InvalidInput,
    Mismatch,
    MissingInput,
    OptionError,
    SlmmodelError,
    UnknownName,
    Unreadable,
    UnsupportedFormat,
    WrongType,
)
from slmmodel.evaluation.comparison import Losses, compare, interval, read_losses, units
from slmmodel.evaluation.scoring import score
from slmmodel.files import translated_errors
from slmmodel.generation import generate
from slmmodel.models import config_from_dict
from slmtok.cli import main


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`tok.json`, `text.txt`, packed data in `data`, and a run of two steps in `run`."""
    return make_in_python(tmp_path_factory.mktemp("habits"))


@pytest.fixture
def inside(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(place)
    return place


class Rows(list[dict[str, str]]):
    """Rows with the names of their columns, as data sets have them."""

    column_names = ("body",)


OF_LOSSES = "from slmmodel.evaluation.comparison import"
FIXES: list[tuple[Any, str]] = [
    (lambda: slmmodel.load("run", map_location="cpu"), "device='cpu'"),
    (lambda: slmmodel.load(), "load(path)"),
    (lambda: app.load("run", tok=object()), "tokenizer=..."),
    (lambda: slmmodel.load("run").generate([1], max_new=5), "max_new_tokens=5"),
    (lambda: slmmodel.load("run").generate([1], max_length=5), "max_new_tokens=5"),
    (lambda: slmmodel.load("run").generate([1], eos_token_id=2), "stop_ids=(2,)"),
    (lambda: app.load("run").generate("a", max_tokens=5), "max_new_tokens=5"),
    (
        lambda: app.load("run").generate("a", stop="."),
        "stop_ids=(2,) ends at an id; to end at a text, cut the new one: text.partition('.')[0]",
    ),
    (
        lambda: app.load("run").generate("a", stop=["x", "y"]),
        "stop_ids=(2,) ends at an id; to end at a text, cut the new one: text.partition('x')[0]",
    ),
    (lambda: app.load("run").generate("a", choices=["a"], regex="b"), "leave out choices or regex"),
    (lambda: slmmodel.load("run").generate([1], top_p=95), "top_p=0.95"),
    (lambda: slmmodel.load("run").generate([1], top_k=0.9), "top_p=0.9"),
    (
        lambda: slmmodel.load("run").generate([[1]], max_new_tokens=5, temperature=0, overflow="slide"),
        "slmmodel.load('run').generate([1], max_new_tokens=5, overflow='slide', temperature=0)",
    ),
    (
        lambda: slmmodel.load("run").generate([[1], [2]], max_new_tokens=5),
        "opened_run = slmmodel.load('run'); "
        "[opened_run.generate(each, max_new_tokens=5) for each in [[1], [2]]]  # one call",
    ),
    (
        lambda: app.load("run").generate(["a", "b"], max_new_tokens=5, regex="b+"),
        "opened_run = slmmodel.app.load('run'); "
        "[opened_run.generate(text, max_new_tokens=5, regex='b+') for text in ['a', 'b']]",
    ),
    (
        lambda: app.load("run").generate(["a", "b"], temperature=-1, top_p=3),
        "opened_run = slmmodel.app.load('run'); "
        "[opened_run.generate(text, temperature=1.0, top_p=0.03) for text in ['a', 'b']]",
    ),
    (
        lambda: slmmodel.load("run").generate([[1], [2]], top_k=-3),
        "opened_run = slmmodel.load('run'); [opened_run.generate(each, top_k=0) for each in [[1], [2]]]  # one call",
    ),
    (
        lambda: app.load("run").generate([1], max_new_tokens=5),
        "prompt='Once upon a time'; for ids: slmmodel.load('run'",
    ),
    (lambda: app.load("run").generate(b"ROMEO:", max_new_tokens=5), "prompt='ROMEO:'"),
    (lambda: app.load("run").score(b"To be" * 99), "text=text.decode()"),
    (
        lambda: app.load("run").generate("été".encode("latin-1")),
        "prompt=prompt.decode(encoding), with the encoding of these bytes",
    ),
    (
        lambda: app.train("data", config="run/config.yaml", output="new", budget="steps=1", seed=3),
        "import yaml, then settings=yaml.safe_load(open('run/config.yaml', encoding='utf-8')); "
        "leave out budget and seed if the file sets them",
    ),
    (
        lambda: slmmodel.load("run").generate([1], dtype="auto"),
        "leave it out: the model computes in the type of its weights; run.model.to(TYPE) changes it, to one of torch.f",
    ),
    (lambda: slmmodel.train("data", output="new", settings={"optim": {"lr.x": 1}}), "write optim.lr"),
    (lambda: slmmodel.train("data", output="new", settings={"optim": {"schedule.x": 1}}), "list all settings"),
    (lambda: slmmodel.train("data", output="new", settings={"optim": {"lr_rate": 1}}), "write optim.lr"),
    (lambda: app.load("run").generate("a", ids=[1]), "slmmodel.load('run').generate(ids)"),
    (lambda: slmmodel.load("run").generate([1], num_beams=4), "beam=4"),
    (
        lambda: slmmodel.load("run").generate([1], do_sample=True, num_beams=4),
        "slmmodel.load('run').generate([1], beam_sample=4)  # without do_sample: beam_sample draws",
    ),
    (lambda: slmmodel.load("run").generate([1], greedy=True), "temperature=0"),
    (lambda: slmmodel.load("run").generate(input_ids=[1]), "run.generate(ids)"),
    (
        lambda: slmmodel.load("run").generate([1], n=3),
        "opened_run = slmmodel.load('run'); [opened_run.generate([1], seed=seed) for seed in range(3)]",
    ),
    (lambda: slmmodel.load("run").generate({1, 2}), "[1, 300, 301]"),
    (lambda: slmmodel.load("run/checkpoints/step-2"), "name the run: run, with step=2"),
    (lambda: slmmodel.load("run").evaluate("data", stateful=True), "leave out stateful"),
    (lambda: app.load("run").evaluate("The fox is red."), "evaluate(slmtok.Texts(['The fox is red.']))"),
    (lambda: app.load("run").evaluate("test"), "evaluate(split='val')"),
    (
        lambda: slmmodel.load("run").evaluate("The fox is red."),
        "slmmodel.app.load('run').evaluate(slmtok.Texts(['The fox is red.']))",
    ),
    (lambda: slmmodel.load("run").evaluate("val"), "evaluate(split='val')"),
    (lambda: app.load("run").evaluate("validation"), "evaluate(split='val')"),
    (
        lambda: slmmodel.train("data", learning_rate=3e-4, num_train_epochs=3, output="new"),
        "settings={'optim.lr': 0.0003}, budget='epochs=3'",
    ),
    (
        lambda: slmmodel.train("data", num_train_epochs=3, lr=1e-3, seq_len=8, output="new", settings=WIDE_SHAPE),
        f"settings={ {**WIDE_SHAPE, 'optim.lr': 0.001, 'model.seq_len': 8} }, budget='epochs=3'",
    ),
    (
        lambda: app.train([{"text": "a"}] * 50, tokenizer="tok.json", output="new"),
        "slmtok.Texts(row['text'] for row in rows)",
    ),
    (lambda: app.train({"text": ["a", "b"]}, tokenizer="tok.json", output="new"), "slmtok.Texts(d['text'])"),
    (lambda: app.train(Rows([{"body": "a"}]), tokenizer="tok.json", output="new"), "slmtok.Texts(ds['body'])"),
    (
        lambda: slmmodel.train("text.txt", output="new", budget="steps=2"),
        "slmmodel.app.train('text.txt', tokenizer='tok.json', output='new', budget='steps=2')",
    ),
    (lambda: slmmodel.train("data", output="new", force="no"), "force=False"),
    (lambda: slmmodel.train("data", output="new", device="CPU"), "device='cpu'"),
    (
        lambda: slmmodel.train("data", output="new", seed=1, settings={"run.seed": 2}),
        "leave out settings run.seed=2, or",
    ),
    (lambda: slmmodel.load("run", step="latest"), "step=2"),
    (lambda: slmmodel.load("run", step="step-2"), "step=2"),
    (lambda: slmmodel.load("run", step=[2]), "step=2"),
    (lambda: slmmodel.load("run").generate([1], seed=[3, 4]), "seed=3, and a call for each other value"),
    (lambda: slmmodel.load("run").evaluate("."), "slmmodel.app.load('run').evaluate('.')"),
    (lambda: RunFolder.open("run").model("gpu"), "device='"),
    (
        lambda: slmmodel.train("data", output="new", settings={"optim.name": "nothing"}),
        "settings={'optim.name': 'adamw'}, or settings={'optim.name': 'muon'}",
    ),
    (lambda: slmmodel.train("data", output="new", max_iters=100), "budget='steps=100'"),
    (lambda: slmmodel.train("data", output="new", learning_rate=0.1), "settings={'optim.lr': 0.1}"),
    (lambda: app.train("text.txt", tokenizer="tok.json", output="new", epochs=3), "budget='epochs=3'"),
    (lambda: app.train(TEXTS, tokenizer="tok.json", output="new"), "import slmtok; slmtok.Texts(texts), if they"),
    (lambda: slmmodel.train("data", output="new", weight_decay=0.1), "settings={'optim.weight_decay': 0.1}"),
    (
        lambda: slmmodel.train("data", output="new", lr=0.1, n_layers=1, settings={"run.seed": 1}),
        "settings={'run.seed': 1, 'optim.lr': 0.1, 'model.n_layers': 1}",
    ),
    (lambda: app.train("data", output="new", schedule="cosine"), "settings={'optim.schedule.kind': 'cosine'}"),
    (lambda: slmmodel.train("data", output="new", model={"n_layers": 1}), "settings={'model': {'n_layers': 1}}"),
    (
        lambda: slmmodel.train("data", output="new", steps=9, lr=0.1),
        "for steps budget='steps=9'; for lr settings={'optim.lr': 0.1}",
    ),
    (lambda: slmmodel.train(dataset="data"), "data='data'"),
    (lambda: slmmodel.train("data", output="new", report=lambda message: print(message)), "report=print"),
    (lambda: slmmodel.train("data", output="new", report=5), "report=print"),
    (lambda: score(None, None, None, seq_len=4, progress=lambda done: None), "progress=print"),  # type: ignore[arg-type]
    (lambda: slmmodel.train("data", output="new", settings=["optim.lr=1e-3"]), "settings={'optim.lr': 0.001}"),
    (
        lambda: slmmodel.train("data", output="new", settings={"run": {"budget": "steps=3"}}),
        "settings={'run.budget.steps': '3'}",
    ),
    (lambda: slmmodel.train("data", output="new", settings={"optim": {"lr": 1, "optim.lr": 2}}), "remove one of them"),
    (
        lambda: slmmodel.train("data", output="new", settings={"optim": {"schedule": {"optim.lr": 2}}}),
        "write optim.lr outside of optim.schedule",
    ),
    (lambda: slmmodel.train("data", output="new", settings={"data.val": "data/val"}), "leave data.val out: the split"),
    (
        lambda: slmmodel.load("run").generate([1], dtype="float16"),
        "leave it out, and convert the model of the run: run.model.to(torch.float16)",
    ),
    (
        lambda: app.load("run").generate("a", device="cuda"),
        "leave it out; a run is on the device that it was loaded to: slmmodel.app.load(path, device='cuda')",
    ),
    (
        lambda: compare("a.losses", "b.losses"),
        f"{OF_LOSSES} read_losses; compare(read_losses('a.losses'), read_losses('b.losses'))",
    ),
    (
        lambda: compare("run", app.load("run")),
        f"{OF_LOSSES} read_losses; compare(read_losses('a.losses'), read_losses('b.losses'))",
    ),
    (
        lambda: compare(app.load("run").evaluate(), "b.losses"),
        f"{OF_LOSSES} Losses, read_losses; compare(Losses(a, {{}}), read_losses('b.losses'))",
    ),
    (lambda: units(Losses(app.load("run").evaluate(), {})), "units(a.scores)"),
    (
        lambda: slmmodel.train("data", output="new", settings="optim.lr=1e-3,run.seed=1"),
        "settings={'optim.lr': 0.001, 'run.seed': 1}",
    ),
    (
        lambda: slmmodel.train("data", output="new", settings=[{"optim.lr": 0.1}, {"run.seed": 1}]),
        "settings={'optim.lr': 0.1, 'run.seed': 1}",
    ),
    (
        lambda: slmmodel.train("data", output="new", settings={"run.seed": [1, 2]}),
        "settings={'run.seed': 1}, and a run for each other value",
    ),
    (
        lambda: slmmodel.train("data", output="new", settings={"model": "cpu-demo"}),
        "name a setting of it, such as settings={'model.preset': 'cpu-demo'}",
    ),
    (
        lambda: slmmodel.train("data", output="new", settings="run.yaml"),
        "import yaml, then settings=yaml.safe_load(open('run.yaml', encoding='utf-8')); or slm train DATA",
    ),
    (lambda: slmmodel.train("data", output="new", budget=["steps=2"]), "budget='steps=2'"),
    (lambda: slmmodel.train("data", output="new", budget={"steps": 2, "tokens": 5}), "budget='steps=2'"),
    (lambda: slmmodel.train("data", output="new", budget={"max_steps": 4}), "budget='steps=4'"),
    (lambda: slmmodel.train("data", output="new", budget={"step": 4}), "budget='steps=4'"),
    (lambda: slmmodel.train("data", output="new", budget="steps=1,2"), "budget='steps=1', and a run for each other"),
    (
        lambda: slmmodel.train(["data", "data"], output="new"),
        "slm train --set 'data.train=[data,data]' -o RUN in a shell",
    ),
    (lambda: app.train(["data", "data"], output="new"), "slm train --set 'data.train=[data,data]' -o RUN in a shell"),
    (lambda: slmmodel.load("run").evaluate(split=["train", "val"]), "split='train'"),
    (lambda: read_losses(["a.losses", "b.losses"]), "[read_losses(path) for path in paths]"),
    (
        lambda: Loader(open_source("data"), open_source("data").vocab, seq_len=8, batch_size=0),
        "batch_size=8, for instance",
    ),
    (lambda: units("a.losses"), f"{OF_LOSSES} read_losses; units(read_losses('a.losses').scores)"),
    (lambda: interval(slmmodel.load("run").evaluate()), f"{OF_LOSSES} units; interval(units(a))"),
    (
        lambda: Loader(open_source("data"), seq_len=8, batch_size=2),
        "Loader(source, source.vocab, seq_len=8, batch_size=2)",
    ),
    (
        lambda: Loader("data", None, seq_len=8, batch_size=2),
        "source = open_source('data'), then Loader(source, source.vocab, ...)",
    ),
    (lambda: make_packing("greedy", np.array([3, 4]), 8), "use one of them"),
    (lambda: ShardDataset(5), "ShardDataset(5, seq_len=256)"),
    (
        lambda: ShardDataset("data", seq_len=8, batch_size=4),
        "slmmodel.data.ShardLoader('data', seq_len=8, batch_size=4)",
    ),
    (lambda: ShardDataset("data", seq_len=8, pack="foo"), "use one of them"),
    (lambda: ShardDataset("data", seq_len=8, tokenizer="tok.json"), "leave it out: packed data have a"),
]


@pytest.mark.parametrize(("call", "fix"), FIXES)
def test_fixes(call: Any, fix: str, inside: Path) -> None:
    before = sorted(inside.iterdir())
    with pytest.raises((SlmmodelError, slmtok.SlmtokError)) as caught:
        call()
    assert str(caught.value.fix).startswith(fix)
    assert sorted(inside.iterdir()) == before


def test_runs_in_the_place_of_losses_are_evaluated_first(inside: Path) -> None:
    wrong: Any = app.load("run")
    with pytest.raises(SlmmodelError) as caught:
        compare(wrong, "run")  # type: ignore[arg-type]
    evaluated = f"slm eval {wrong.run.path} --losses a.losses and slm eval run --losses b.losses"
    assert caught.value.limit == f"losses in files, which {evaluated} write"


MISSING: list[Any] = [
    lambda: slmmodel.load("nope"),
    lambda: app.load("nope"),
    lambda: slmmodel.load("run").evaluate("nope"),
    lambda: app.load("run").evaluate("nope"),
    lambda: app.train("nope", output="new"),
    lambda: slmmodel.train("nope", output="new"),
    lambda: ShardDataset("nope", seq_len=32),
]


@pytest.mark.parametrize(
    ("load", "name", "fix"),
    [
        (slmmodel.load, "save", "slm export run -o NEW in a shell, for Hugging Face; the folder 'run' itself is the"),
        (app.load, "save_pretrained", "slm export run -o NEW in a shell"),
        (slmmodel.load, "tokenizer", "import slmmodel; slmmodel.app.load('run').tokenizer"),
        (slmmodel.load, "encode", "import slmmodel; slmmodel.app.load('run').tokenizer.encode"),
        (app.load, "encode", "import slmmodel; slmmodel.app.load('run').tokenizer.encode"),
        (app.load, "sample", "write .generate in place of .sample"),
        (app.load, "summary", "slm info run in a shell"),
    ],
)
def test_an_attribute_of_other_models_names_what_stands_for_it(load: Any, name: str, fix: str, inside: Path) -> None:
    run = load("run")
    with pytest.raises(AttributeError, match=rf"has no attribute '{name}'\n  fix:   {re.escape(fix)}"):
        getattr(run, name)
    assert not hasattr(run, name)


@pytest.mark.parametrize("load", [slmmodel.load, app.load])
def test_a_run_in_a_folder_that_does_not_exist_has_the_runs_above(load: Any, inside: Path) -> None:
    with pytest.raises(MissingInput, match=r"where: there is no folder 'runs'\n  limit: runs in \./: run\n") as caught:
        load("runs/first/one")
    assert str(caught.value.fix) == "name 'run'" and load(str(caught.value.limit).rpartition(" ")[2])


@pytest.mark.parametrize("load", [slmmodel.load, app.load])
def test_packed_data_without_a_run_are_trained_on(
    load: Any, inside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree("data", tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    for fix in ("slm train data -o run creates one", "slm train data -o run-2 creates one"):
        with pytest.raises(MissingInput, match="'data' is packed data, not a run folder") as caught:
            load("data")
        assert caught.value.fix == fix
        Path("run").mkdir(exist_ok=True)


@pytest.mark.parametrize("call", MISSING)
def test_a_folder_that_does_not_exist_is_named_as_such(call: Any, inside: Path) -> None:
    with pytest.raises(MissingInput, match=r"^no (file or )?folder '(.*/)?nope'"):
        call()
    assert not (inside / "new").exists()


@pytest.mark.parametrize("option", [{"banned": [9999]}, {"stop_ids": [-1]}, {"choices": [[9999]]}])
def test_ids_outside_the_vocabulary(option: dict[str, Any], inside: Path) -> None:
    with pytest.raises(OptionError, match=r"has the id (9999|-1)\n  limit: ids 0 to 289"):
        slmmodel.load("run").generate([1], max_new_tokens=2, **option)


def test_reading_is_for_text(inside: Path) -> None:
    with pytest.raises(OptionError, match="reading says how text is read, and 'data' is packed"):
        app.train("data", output="new", reading={"document": "line"})
    assert not (inside / "new").exists()


def test_texts_in_place_of_ids_are_generated_by_the_fix(inside: Path) -> None:
    for texts in (["The fox", "a"], ["The fox is red. "] * 20):
        with pytest.raises(WrongType, match="id 0 is str") as caught:
            slmmodel.load("run").generate(texts, max_new_tokens=2, temperature=0)  # type: ignore[arg-type]
        names = {"slmmodel": slmmodel, "texts": texts}
        load, _, generate_each = str(caught.value.fix).partition("; ")
        exec(load, names)
        expected = [app.load("run").generate(text, max_new_tokens=2, temperature=0) for text in texts]
        assert eval(generate_each, names) == expected


@pytest.mark.parametrize(
    "settings",
    [
        {"run": {"budget": {"steps": 1, "tokens": 2}}},
        {"optim.lr": "fast"},
        {"model.n_heads": 3},
        {"model.d_model": "wide"},
        {"data.stages": [{"from_step": 1}]},
    ],
)
def test_a_traceback_shows_our_error_alone(settings: dict[str, Any], inside: Path) -> None:
    with pytest.raises(SlmmodelError) as caught:
        slmmodel.train("data", output="new", settings=settings)
    shown = "".join(traceback.format_exception(caught.value))
    assert "pydantic" not in shown and "During handling" not in shown


def test_arguments_by_position_are_named(inside: Path) -> None:
    with pytest.raises(WrongType, match=r"by name: tokenizer='tok\.json'"):
        app.load("run", "tok.json")  # type: ignore[misc]
    with pytest.raises(WrongType, match=r"by name: tokenizer='tok\.json'"):
        app.train("text.txt", "tok.json")  # type: ignore[misc]
    with pytest.raises(WrongType, match="by name: max_new_tokens=5"):
        app.load("run").generate("a", 5)  # type: ignore[misc]
    with pytest.raises(WrongType, match=r"fix:   step=2$"):
        app.load("run", step="2")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["once upon a time\n" * 400, "a\0b"])
def test_texts_that_are_no_paths(name: str, inside: Path) -> None:
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: app.train(name, tokenizer="tok.json"), "slmtok.Texts([text])"),
        (lambda: app.train([name, name], tokenizer="tok.json"), "slmtok.Texts(texts)"),
        (lambda: app.load("run").evaluate(name), "slmtok.Texts([text])"),
        (lambda: app.load("run").evaluate([name]), "slmtok.Texts(texts)"),
        (
            lambda: slmmodel.train(name),
            "slmmodel.app.train(slmtok.Texts([text]), tokenizer='tok.json')",
        ),
        (lambda: slmmodel.train("data", output=name), ""),
        (lambda: slmmodel.train("data", output="new", settings={"data.val": name}), ""),
        (lambda: open_source(name), ""),
        (lambda: slmmodel.load(name), ""),
    ]
    for call, of_text in calls:
        with pytest.raises(OptionError, match=r"is no path of a file or folder") as caught:
            call()
        fix, name_of_value = "the name of a file or folder", "texts" if "(texts)" in of_text else "text"
        if of_text:
            # The import stands before the call, and prose behind it.
            fix = f"{of_text}, for text; else {fix}; {name_of_value} stands for your own value"
            assert "fix:   import slm" in str(caught.value)
        assert str(caught.value.fix) == fix
    corpus = slmtok.Texts([name.replace("\0", " ")] * 2)
    assert app.load("run").evaluate(corpus).n_docs == 2
    with pytest.raises(WrongType, match=r"evaluate\(slmtok\.Texts\(texts\)\)$"):
        slmmodel.load("run").evaluate([name])  # type: ignore[arg-type]


@pytest.mark.parametrize("load", [slmmodel.load, app.load])
@pytest.mark.parametrize(
    "option", [{"dtype": torch.bfloat16}, {"torch_dtype": "bfloat16"}, {"precision": "bf16"}, {"dtype": "half"}]
)
def test_a_type_of_weights_is_that_of_the_model(load: Any, option: dict[str, Any], inside: Path) -> None:
    with pytest.raises(WrongType) as caught:
        load("run", **option)
    run = load("run")
    eval(
        str(caught.value.fix).removeprefix("leave it out, and convert the model of the run: "),
        {"run": run, "torch": torch},
    )
    weights = next(getattr(run, "run", run).model.parameters())
    assert weights.dtype == (torch.float16 if "half" in option.values() else torch.bfloat16)


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ({"dtype": torch.bfloat16}, "run.precision"),
        ({"warmup_iters": 1.0}, "optim.schedule.warmup"),
        ({"micro_batch_size": 2}, "run.micro_batch"),
        ({"num_iterations": 1}, "run.budget.steps"),
    ],
)
def test_an_option_of_another_trainer_is_a_setting(
    option: dict[str, Any], name: str, inside: Path, tmp_path: Path
) -> None:
    given = {"settings": {**WIDE_SHAPE, "run.batch_tokens": 128}, "budget": "steps=2", "output": tmp_path / "new"}
    with pytest.raises(WrongType) as caught:
        slmmodel.train("data", **given, **option)
    # A fix of settings keeps those of the call.
    pasted = eval(f"dict({str(caught.value).rpartition('fix:   ')[2]})")
    config: Any = slmmodel.train("data", preset="cpu-demo", **{**given, **pasted}).config
    assert config["model"]["d_model"] == WIDE_SHAPE["model.d_model"]
    for part in name.split("."):
        config = config[part]
    assert str(config) == {"dtype": "bf16"}.get(next(iter(option)), str(next(iter(option.values()))))


def test_two_budgets(inside: Path) -> None:
    with pytest.raises(OptionError, match="two budgets: steps and time"):
        slmmodel.train("data", budget="time=5", output="new", settings={"run.budget.steps": 5})
    assert not (inside / "new").exists()


def test_files_that_are_no_run(inside: Path) -> None:
    with pytest.raises(MissingInput, match=r"is not a run folder\n  where: it is a file"):
        slmmodel.load("run/config.yaml")


def test_the_size_of_a_batch_is_an_integer(inside: Path) -> None:
    with pytest.raises(WrongType, match="batch_size must be an integer"):
        ShardLoader("data", seq_len=8, batch_size="4")  # type: ignore[arg-type]


def test_what_is_no_data(inside: Path) -> None:
    with pytest.raises(SlmmodelError, match="name packed data"):
        ShardDataset("tok.json", seq_len=32)


def test_the_length_of_sequences_is_bounded_by_the_data(inside: Path) -> None:
    with pytest.raises(InvalidConfig, match=r"seq_len 10,000,000 is more than all [0-9,]+ ids of the split 'train'"):
        ShardDataset("data", seq_len=10**7)
    n_ids = int(ShardDataset("data", seq_len=32).loader.document_block(0).lengths().sum())
    assert "1 sequence of" in repr(ShardDataset("data", seq_len=n_ids, crop_offset="fixed"))


def test_a_tokenizer_replaces_that_of_the_run(inside: Path) -> None:
    tok = slmtok.load("tok.json")
    assert app.load("run", tokenizer=tok).tokenizer == tok == app.load("run", tokenizer=inside / "data").tokenizer
    with pytest.raises(WrongType, match=r"^tokenizer is named by a str or a Path, not by int 5"):
        app.load("run", tokenizer=5)  # type: ignore[arg-type]


def test_reading_is_recorded_as_by_the_command(inside: Path, tmp_path: Path) -> None:
    settings = {**WIDE_SHAPE, "run.batch_tokens": 128}
    reading = {"document": "line", "max_docs": 5e1, "text_key": "text", "exclude": "*.json"}
    run = app.train(
        "text.txt", tokenizer="tok.json", preset="cpu-demo", budget="steps=1", output=tmp_path / "run",
        settings=settings, reading=reading, device="cpu", progress=False,
    )  # fmt: skip
    # Defaults are left out, numbers are integers, globs are lists.
    assert run.run.config["data"]["read"] == {"document": "line", "max_docs": 50, "exclude": ["*.json"]}


def test_a_model_that_diverged_is_named(inside: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"preset": "cpu-demo", "budget": "steps=5", "device": "cpu"}
    settings = {**WIDE_SHAPE, "run.batch_tokens": 128}
    dead = slmmodel.train("data", output=tmp_path / "dead", settings={**settings, "optim.lr": 100.0}, **options)
    early, note = dead.result["notes"]
    assert early == "optim.lr 100 is above 1: the loss will grow; the preset has 0.004"
    assert "a uniform guess has ln 290 = 5.6699: lower optim.lr" in note
    alive = slmmodel.train("data", output=tmp_path / "alive", settings=settings, **options)
    assert not alive.result["notes"]


def test_numbers_below_zero(inside: Path) -> None:
    with pytest.raises(OptionError, match=r"limit: an integer >= 0"):
        slmmodel.load("run").generate([1], top_k=-3)


def test_fixes_of_settings_are_written_as_in_python() -> None:
    table = {"arch": "llama", "d_model": 32, "n_layers": 1, "n_heads": 2, "n_kv_heads": 4, "seq_len": 32}
    with pytest.raises(InvalidConfig, match=r"fix:   settings=\{'model.n_heads': 4\}"):
        config_from_dict({**table, "n_vocab": 290, "padded_vocab": 320})


def test_a_callback_fails_as_it_is(inside: Path, tmp_path: Path) -> None:
    """Only a call that does not fit is explained."""

    def report(stage: str, done: int, total: int, text: str) -> None:
        raise TypeError("of the caller")

    with pytest.raises(TypeError, match="of the caller") as caught:
        slmmodel.train("data", output=tmp_path / "new", report=report)  # type: ignore[arg-type]
    assert not isinstance(caught.value, SlmmodelError | UnknownName)


def test_a_text_is_evaluated_by_the_call_in_the_fix(inside: Path) -> None:
    with pytest.raises(UnsupportedFormat, match=r"^text\.txt is not a file of ids") as caught:
        slmmodel.load("run").evaluate("text.txt", seq_len=16)
    assert eval(str(caught.value.fix), {"slmmodel": slmmodel}).n_docs == 1


def test_packed_text_is_opened_by_the_call_that_refused_it(inside: Path, tmp_path: Path) -> None:
    for name, call in (
        ("dataset", lambda data: len(ShardDataset(data, seq_len=8, split="val"))),
        ("train", lambda data: open_data("data", val=data).val.block(0).lengths().sum()),
    ):
        with pytest.raises(UnsupportedFormat) as caught:
            call("text.txt")
        line = str(caught.value.fix).removeprefix("name packed data: ")
        line = line.replace("TOK", "tok.json").partition(" -o ")[0] + f" -o {tmp_path / name}"
        more = [] if "--document" in line else ["--document", "line"]
        assert main([*shlex.split(line)[1:], *more]) == 0
        assert call(str(tmp_path / name)) > 0
    # The second fix names the setting, too.
    assert str(caught.value.fix).endswith("-o text-val in a shell, then settings={'data.val': 'text-val'}")
    # All of them, as the note of `slm eval --on` says.
    assert slmmodel.load("run").evaluate(tmp_path / "train").n_docs == len(TEXTS)


def test_documents_of_another_tokenizer_are_not_scored(inside):
    slmtok.train(slmtok.Texts(TEXTS), vocab_size=280).save("tok2.json", force=True)
    slmtok.pack("text.txt", slmtok.load("tok2.json"), "data2", document="line", val="hash:20%")
    for run in (slmmodel.load("run"), app.load("run")):
        with pytest.raises(Mismatch, match="the data were made with another tokenizer than the model"):
            run.evaluate("data2")


def test_options_of_text_are_those_of_its_own_call(inside: Path) -> None:
    with pytest.raises(WrongType) as caught:
        app.load("run").generate("a", max_length=5)
    assert {"prompt", "regex", "overflow"} < {*str(caught.value.limit).removeprefix("options: ").split(", ")}


@pytest.mark.parametrize("call", [lambda **given: app.load("run").generate("a", **given),
                                  lambda **given: slmmodel.load("run").generate([1], **given)])  # fmt: skip
def test_unknown_options_of_generate_need_one_fix(inside: Path, call: Any) -> None:
    with pytest.raises(WrongType, match=r"^generate\(\) has no options 'max_length', 'do_sample'\n") as caught:
        call(max_length=5, do_sample=True, seed=1)
    assert re.fullmatch(
        r"slmmodel(\.app\.load\('run'\)\.generate\('a'|\.load\('run'\)\.generate\(\[1\]), "
        r"seed=1, max_new_tokens=5\)  # without do_sample: it draws by default; "
        "max_new_tokens does not count the prompt",
        str(caught.value.fix),
    )
    call(max_new_tokens=5, seed=1)


def test_a_text_given_to_evaluate_goes_to_score(inside: Path) -> None:
    run = app.load("run")
    with pytest.raises(WrongType) as caught:
        run.evaluate(text="a fox")
    call, _, rest = str(caught.value.fix).partition(", ")
    assert rest == "of a run that slmmodel.app.load gave; data='FILE' for the texts of a file"
    assert eval(call, {"run": run}) > 0
    with pytest.raises(WrongType) as named:
        run.evaluate(on="text.txt")
    assert str(named.value.fix) == "data='text.txt'"


def test_a_limit_on_the_size_of_a_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unreadable) as caught, translated_errors(tmp_path / "optim.safetensors"):
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    assert "ulimit -f" in str(caught.value.fix) and "it continues" in str(caught.value.fix)


def test_a_prompt_that_is_too_long_is_not_numbered(inside: Path) -> None:
    with pytest.raises(
        InvalidInput,
        match=r"^the prompt has 40 ids\n  limit: seq_len 32\n  fix:   ids\[-16:\], with max_new_tokens=17$",
    ):
        slmmodel.load("run").generate([1] * 40)


def test_ids_in_place_of_text_and_text_in_place_of_ids(inside: Path) -> None:
    run, story = slmmodel.load("run"), app.load("run")
    for call in (
        lambda: run.generate("once", max_new_tokens=3, temperature=0.5),  # type: ignore[arg-type]
        lambda: run.score("once upon"),  # type: ignore[arg-type]
        lambda: story.generate([1, 30], max_new_tokens=2),  # type: ignore[arg-type]
        lambda: story.score([1, 30]),  # type: ignore[arg-type]
        lambda: story.score(["once", "upon"]),  # type: ignore[arg-type]
        lambda: story.generate(["once", "upon"]),  # type: ignore[arg-type]
    ):
        with pytest.raises(WrongType) as caught:
            call()
        opening, _, fix = str(caught.value.fix).rpartition("for ids: ")[2].rpartition("; ")
        exec(opening, names := {"slmmodel": slmmodel, "ids": [1, 30]})
        assert eval(fix, names) is not None


def test_rows_of_ids_in_place_of_text(inside: Path) -> None:
    """A tokenizer of transformers gives ids of the shape [1, n]."""
    story = app.load("run")
    for ids, n_calls in ((torch.tensor([[1, 30]]), 1), ([[1, 30]], 1), (np.array([[1, 30], [1, 31]]), 2)):
        for call in (lambda ids=ids: story.generate(ids, max_new_tokens=2), lambda ids=ids: story.score(ids)):
            with pytest.raises(WrongType) as caught:
                call()
            fix = str(caught.value.fix).rpartition("for ids: ")[2]
            opening, _, fix = fix.rpartition("; ")
            assert fix.startswith("[") == (n_calls == 2)
            exec(opening, names := {"slmmodel": slmmodel, "ids": ids})
            assert eval(fix, names) is not None


def test_app_is_there_with_the_package() -> None:
    code = "import slmmodel; print(slmmodel.app.__name__, slmmodel.data.__name__)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "slmmodel.app slmmodel.data\n"


def test_generate_takes_a_model_and_rows(inside: Path) -> None:
    run = slmmodel.load("run")
    for prompts in ([1, 40, 41], np.array([1, 40, 41]), torch.tensor([1, 40, 41])):
        with pytest.raises(WrongType, match="prompts is one row of ids") as caught:
            generate(run.model, prompts, max_new_tokens=2)  # type: ignore[arg-type]
        assert len(generate(run.model, eval(str(caught.value.fix)), max_new_tokens=2)[0].ids) == 2
    with pytest.raises(WrongType, match=r"fix:   import slmmodel; slmmodel\.load"):
        generate(run, [[1]])  # type: ignore[arg-type]
    with pytest.raises(WrongType, match="prompts are rows of ids, not a str"):
        generate(run.model, "once")  # type: ignore[arg-type]
    with pytest.raises(WrongType, match=r"fix:   SamplingOptions\(temperature=0.5\)"):
        generate(run.model, [[1]], {"temperature": 0.5})  # type: ignore[arg-type]
    with pytest.raises(WrongType, match="fix:   max_new_tokens=4"):
        generate(run.model, [[1]], max_tokens=4)  # type: ignore[call-arg]
    with pytest.raises(OptionError) as refused:
        SamplingOptions(stop_ids=2)  # type: ignore[arg-type]
    assert refused.value.fix == "stop_ids=(2,)"


def test_a_masked_array_is_refused(inside: Path) -> None:
    run = slmmodel.load("run")
    ids = np.ma.masked_array([1, 300, 301], mask=[False, True, False])
    calls = (lambda: run.score(ids), lambda: run.generate(ids), lambda: generate(run.model, ids[None]))
    for call in calls:
        with pytest.raises(WrongType, match="ids are a masked array") as caught:
            call()
        assert "compressed()" in str(caught.value)


def test_a_loader_is_not_batched_again(inside: Path) -> None:
    loader = ShardLoader("data", seq_len=16, batch_size=4)
    with pytest.raises(InvalidConfig, match=r"DataLoader\(loader, batch_size=None\)"):
        next(iter(DataLoader(loader, batch_size=4)))
    assert next(iter(DataLoader(loader, batch_size=None)))["input_ids"].shape == (4, 16)
    assert next(iter(loader))["input_ids"].shape == (4, 16)
    message = str(InvalidConfig("Caught InvalidConfig in DataLoader worker process 0.\nOriginal Traceback (most …"))
    assert len(message.splitlines()) == 2


def test_the_state_after_some_batches(inside: Path) -> None:
    loader = ShardLoader("data", seq_len=16, batch_size=4)
    batches = iter(loader)
    for _ in range(3):
        next(batches)
    for state in ({"step": 3}, 3):
        with pytest.raises(WrongType) as caught:
            ShardLoader("data", seq_len=16, batch_size=4).load_state_dict(state)  # type: ignore[arg-type]
        eval(str(caught.value.fix).partition(", after")[0], {"loader": loader})
        assert next(iter(loader))["input_ids"].tolist() == next(batches)["input_ids"].tolist()
        loader = ShardLoader("data", seq_len=16, batch_size=4)
        batches = iter(loader)
        for _ in range(3):
            next(batches)
    with pytest.raises(WrongType, match="after the last batch"):
        loader.load_state_dict({"a": 1, "b": 2})


def test_data_that_were_moved_are_named_to_evaluate(inside: Path) -> None:
    story = app.load("run")
    Path("data").rename("away")
    try:
        with pytest.raises(MissingInput, match="are not at") as caught:
            story.evaluate()
    finally:
        Path("away").rename("data")
    assert caught.value.fix == "data='away', with their path, or data=slmtok.Texts(texts)"


def test_a_bare_number_may_count_batches_or_ids() -> None:
    with pytest.raises(OptionError) as caught:
        read_budget("20000", "budget")
    assert caught.value.fix == "budget='steps=20000' to count batches, or budget='tokens=20000'"


def test_every_setting_given_as_a_keyword_is_named_with_its_section(inside: Path) -> None:
    from slmmodel.config import OPTIONS, model_options

    last = {name.rpartition(".")[2]: name for name in [*model_options(), *OPTIONS]}
    taken = {"seed", "device", "tokenizer", "train"}
    for word in last.keys() - taken:
        with pytest.raises(WrongType) as caught:
            slmmodel.train("data", output="new", **{word: 1})
        fix = str(caught.value.fix)
        own = [name for name in [*OPTIONS, *model_options()] if name.endswith(f".{word}")]
        is_of_data = word in ("n_vocab", "padded_vocab")
        is_named = any(f"settings={{'{name}': " in fix for name in own) or fix.startswith(f"budget='{word}=")
        assert is_named or is_of_data, (word, fix)


def test_a_whole_name_in_its_section_is_taken_as_in_a_file(inside: Path, tmp_path: Path) -> None:
    settings = {"optim": {"optim.lr": 0.002, "run.seed": 3}, **WIDE_SHAPE, "run.batch_tokens": 128}
    run = slmmodel.train("data", budget="steps=1", output=tmp_path / "new", settings=settings, device="cpu")
    recorded = RunFolder(str(run.path)).config
    assert (recorded["optim"]["lr"], recorded["run"]["seed"]) == (0.002, 3)


def test_a_run_that_is_called_and_the_length_of_a_loader(inside: Path) -> None:
    run, loader = slmmodel.load("run"), ShardLoader("data", seq_len=8, batch_size=2)
    for ids, names in ((torch.tensor([[1, 2]]), {}), ([1, 2], {"torch": torch})):
        with pytest.raises(WrongType, match="not callable") as caught:
            run(ids)
        assert eval(str(caught.value.fix).partition(", where")[0], {"run": run, "ids": ids, **names}).shape[:2] == (
            1,
            2,
        )
    with pytest.raises(WrongType, match=r"zip\(range\(\d+\), loader\)  # loader: this ShardLoader"):
        len(loader)
