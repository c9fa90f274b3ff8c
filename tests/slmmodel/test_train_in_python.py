"""`slmmodel.train` and `app.train`: the same runs as the command, from packed data, files and texts in memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slmmodel
import slmtok
from slmmodel import app
from slmmodel.config import settings_of
from slmmodel.errors import (
    InvalidConfig,
    InvalidInput,
    Mismatch,
    MissingInput,
    OptionError,
    OutputExists,
    SlmmodelError,
    UnknownName,
    UnsupportedFormat,
    WrongType,
)
from slmmodel.hardware import meant_device
from slmtok.errors import UnknownOption

torch = pytest.importorskip("torch")
LINES = [f"once upon a time fox {number} saw tree {number % 7}, and the tree was tall." for number in range(60)]
SHAPE = {"arch": "llama", "d_model": 16, "n_layers": 1, "n_heads": 2, "n_kv_heads": 1, "seq_len": 32}
SETTINGS = {"model": SHAPE, "run.batch_tokens": 128, "run.threads": 1}
GPU_OR_CPU = meant_device("gpu")
SMALL: dict[str, Any] = {"budget": "steps=3", "settings": SETTINGS, "seed": 4}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer, a text, its packed data and a finished run."""
    folder = tmp_path_factory.mktemp("front")
    (folder / "text.txt").write_text("\n".join(LINES))
    tok = slmtok.train(slmtok.Texts(LINES), vocab_size=300)
    tok.save(folder / "tok.json")
    slmtok.pack(folder / "text.txt", tok, folder / "data", document="line", val="hash:20%")
    slmmodel.train(folder / "data", output=folder / "run", **SMALL)
    return folder


@pytest.fixture
def small(tmp_path: Path) -> dict[str, Any]:
    return {**SMALL, "output": tmp_path / "new"}


def test_another_name_of_the_validation_split(place: Path) -> None:
    for name in ("validation", "Valid"):
        with pytest.raises(MissingInput, match=r"fix:   split='val'$"):
            slmmodel.data.open_source(place / "data", name)


@pytest.mark.parametrize("as_path", [str, Path])
def test_a_file_of_settings_is_read_by_the_fix(
    place: Path, tmp_path: Path, small: dict[str, Any], as_path: type, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also one of `slm config`, whose training data are empty."""
    import yaml

    from slmmodel.cli import main

    assert (
        main(["config", "--preset", "cpu-demo", *(f"--set=model.{name}={value}" for name, value in SHAPE.items())]) == 0
    )
    (tmp_path / "c.yaml").write_text(capsys.readouterr().out)
    rest = {name: small[name] for name in ("budget", "output")}
    for train in (slmmodel.train, app.train):
        for option in ("config", "settings"):
            with pytest.raises(WrongType, match=r"fix:   import yaml, then settings=") as raised:
                train(place / "data", **{option: as_path(tmp_path / "c.yaml")}, **rest)  # type: ignore[arg-type]
            call = str(raised.value.fix).partition("settings=")[2].partition("; ")[0]
            # The `open` of Python warns of a file that is not closed.
            opened = {"yaml": yaml, "open": lambda path, encoding: Path(path).read_text(encoding)}
            settings = eval(call, opened)
            assert settings["data"]["train"] == "" and settings["optim"]["lr"] == 0.004
    run = slmmodel.train(place / "data", settings=settings, **rest)
    assert run.config["optim"]["lr"] == 0.004
    with pytest.raises(OptionError, match=r"fix:   leave out settings data\.train=elsewhere$"):
        slmmodel.train(place / "data", settings={"data.train": "elsewhere"}, **rest)


def test_settings_by_another_name(place: Path) -> None:
    with pytest.raises(WrongType, match=r"fix:   settings=\{'optim\.lr': 0\.01\}"):
        app.train(place / "data", config={"optim.lr": 0.01})  # type: ignore[call-arg]


def test_a_run_equals_that_of_the_command(place: Path, tmp_path: Path) -> None:
    from slmmodel.cli import main

    sets = [f"--set=model.{name}={value}" for name, value in SHAPE.items()] + ["--set=run.batch_tokens=128"]
    line = ["train", str(place / "data"), "-o", str(tmp_path / "run"), "--budget", "steps=3", "--seed", "4", "--quiet"]
    assert main([*line, "--threads", "1", *sets]) == 0
    ours, theirs = slmmodel.load(place / "run"), slmmodel.load(tmp_path / "run")
    assert ours.result["weights_sha256"] == theirs.result["weights_sha256"]
    assert ours.result["steps"] == 3 and ours.path == place / "run"


def test_progress_is_reported(place: Path, small: dict[str, Any]) -> None:
    seen = []
    run = slmmodel.train(place / "data", report=lambda *told: seen.append(told), **small)
    assert [(stage, done, total) for stage, done, total, _ in seen if stage == "training"] == [
        ("training", step, 3) for step in (1, 2, 3)
    ]
    assert isinstance(run, slmmodel.Run) and run.generate(max_new_tokens=2, temperature=0)


def test_an_interrupted_run_is_saved_and_continues(place: Path, small: dict[str, Any]) -> None:
    import signal

    def interrupt(stage: str, done: int, total: int, text: str) -> None:
        if (stage, done) == ("training", 1):
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match=r"saved at step [12] of 3; the same call continues it"):
        slmmodel.train(place / "data", report=interrupt, **small)
    run = slmmodel.train(place / "data", **small)
    assert run.result["weights_sha256"] == slmmodel.load(place / "run").result["weights_sha256"]


def test_packed_data_files_and_texts(place: Path, small: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    tok, seeded = slmtok.load(place / "tok.json"), {**small, "progress": False}
    packed = app.train(place / "data", **{**seeded, "output": small["output"] / "a"})
    assert packed.run.result["weights_sha256"] == slmmodel.load(place / "run").result["weights_sha256"]
    reading = {"document": "line"}
    file = app.train(place / "text.txt", tokenizer=tok, reading=reading, **{**seeded, "output": small["output"] / "b"})
    texts = app.train(slmtok.Texts(LINES), tokenizer=tok, **{**seeded, "output": small["output"] / "c"})
    assert file.result["weights_sha256"] == texts.result["weights_sha256"]
    assert capsys.readouterr().err == ""
    assert texts.tokenizer == tok and isinstance(texts.generate("once", max_new_tokens=3), str)
    assert texts.evaluate(slmtok.Texts(LINES[:4])).n_docs == 4
    assert file.evaluate(place / "text.txt").n_bytes == (place / "text.txt").stat().st_size
    assert packed.evaluate().nats.tolist() == packed.run.evaluate().nats.tolist()
    assert packed.evaluate(place / "data", "train").n_docs == packed.run.evaluate(place / "data", "train").n_docs
    for run in (texts, texts.run):
        with pytest.raises(
            MissingInput, match=r"texts in memory(.|\n)*fix:.* (data=|slmmodel\.load\('.*'\)\.evaluate\()'DATA'"
        ):
            run.evaluate()


def test_validation_data_of_their_own(place: Path, small: dict[str, Any]) -> None:
    settings = {**SETTINGS, "data": {"val": str(place / "data")}}
    options = {**small, "settings": settings, "progress": False}
    run = app.train(slmtok.Texts(LINES), tokenizer=place / "tok.json", **options)
    val = slmmodel.load(place / "run").evaluate()
    assert run.run.evaluate(place / "data").n_targets == val.n_targets and run.result["val_bpb"] is not None


@pytest.mark.parametrize(("val", "n_docs"), [("whole", 30), ("divided", None)])
def test_ids_and_text_are_scored_on_the_same_documents(
    place: Path, tmp_path: Path, small: dict[str, Any], val: str, n_docs: int | None
) -> None:
    (tmp_path / "other.txt").write_text("\n".join(f"a bird sang {number} songs" for number in range(30)))
    tok = slmtok.load(place / "tok.json")
    rule = "none" if val == "whole" else "hash:50%"
    slmtok.pack(tmp_path / "other.txt", tok, tmp_path / val, document="line", val=rule)
    run = slmmodel.train(place / "data", **{**small, "settings": {**SETTINGS, "data.val": str(tmp_path / val)}})
    for split in (None, "train"):
        ours, theirs = run.evaluate(split=split), app.load(run.path).evaluate(split=split)
        assert ours.nats.tolist() == theirs.nats.tolist() and ours.n_docs == (n_docs or ours.n_docs)
    validated = slmmodel.data.open_data(str(place / "data"), str(tmp_path / val)).val
    assert validated is not None and run.evaluate().n_bytes == int(validated.block(0).nbytes().sum())


def test_a_mixture_is_scored_where_text_is(place: Path, tmp_path: Path) -> None:
    from slmmodel.cli import main

    sources = [{"path": str(place / name)} for name in ("data", "text.txt")]
    settings = {"model": SHAPE, "data": {"train": sources}, "run": {"batch_tokens": 128, "budget": {"steps": 2}}}
    (tmp_path / "mix.yaml").write_text(json.dumps(settings))
    assert main(["train", "--config", str(tmp_path / "mix.yaml"), "-o", str(tmp_path / "run"), "--quiet"]) == 0
    with pytest.raises(
        MissingInput,
        match=r"fix:   import slmmodel; slmmodel\.app\.load\(.*\)\.evaluate\(\), which opens them, or slmmodel\.load",
    ):
        slmmodel.load(tmp_path / "run").evaluate()
    assert app.load(tmp_path / "run").evaluate().n_docs > 0


def test_import_is_light() -> None:
    code = "import sys, slmmodel; print([name for name in ('torch', 'numpy', 'pydantic') if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


WRONG_RUNS: list[tuple[Callable[[Any], object], type[Exception]]] = [
    (lambda run: run.generate("Once"), WrongType),
    (lambda run: run.generate(5), WrongType),
    (lambda run: run.generate(None), WrongType),
    (lambda run: run.generate([1.5]), WrongType),
    (lambda run: run.generate([True]), WrongType),
    (lambda run: run.generate({1: 2}), WrongType),
    (lambda run: run.generate(np.zeros((2, 2), dtype=int)), WrongType),
    (lambda run: run.generate(torch.tensor([1.0])), WrongType),
    (lambda run: run.generate([1], max_new_tokens="5"), WrongType),
    (lambda run: run.generate([1], max_new_tokens=-1), OptionError),
    (lambda run: run.generate([1], temprature=1), WrongType),
    (lambda run: run.generate([1], banned=["x"]), OptionError),
    (lambda run: run.generate([1], overflow=3), OptionError),
    (lambda run: run.score("text"), WrongType),
    (lambda run: run.score([1]), InvalidInput),
    (lambda run: run.evaluate(3), WrongType),
    (lambda run: run.evaluate("nope"), MissingInput),
    (lambda run: run.evaluate(seq_len="x"), WrongType),
    (lambda run: run.evaluate(stride=0), OptionError),
]


@pytest.mark.parametrize("number", range(len(WRONG_RUNS)))
def test_wrong_calls_of_a_run(place: Path, number: int) -> None:
    call, error = WRONG_RUNS[number]
    with pytest.raises(error) as caught:
        call(slmmodel.load(place / "run"))
    assert isinstance(caught.value, SlmmodelError) and caught.value.fix


WRONG_TRAINING: list[tuple[object, dict[str, Any], type[Exception]]] = [
    (3, {}, WrongType),
    (["data"], {}, WrongType),
    ("nope", {}, MissingInput),
    ("text.txt", {}, UnsupportedFormat),
    ("data", {"preset": "cpu-dmo"}, UnknownName),
    ("data", {"preset": 3}, UnknownName),
    ("data", {"budget": 100}, OptionError),
    ("data", {"budget": "step=1"}, OptionError),
    ("data", {"budget": "steps=x"}, InvalidConfig),
    ("data", {"output": 3}, WrongType),
    ("data", {"output": "run"}, OutputExists),
    ("data", {"output": "data"}, OutputExists),
    ("data", {"output": "run", "settings": {"optim.name": "adamx"}}, UnknownName),
    ("data", {"output": "run", "settings": {"optim.schedule.kind": "cosin"}}, UnknownName),
    ("data", {"output": "run", "settings": {"model.n_layers": "four"}}, InvalidConfig),
    ("data", {"settings": 3}, WrongType),
    ("data", {"settings": {"optim.lrr": 3}}, InvalidConfig),
    ("data", {"settings": {1: 3}}, InvalidConfig),
    ("data", {"seed": "x"}, InvalidConfig),
    ("data", {"device": 3}, InvalidConfig),
    ("data", {"report": 3}, WrongType),
]


@pytest.mark.parametrize(("data", "options", "error"), WRONG_TRAINING)
def test_wrong_calls_of_train(
    place: Path, small: dict[str, Any], monkeypatch: pytest.MonkeyPatch, data: Any, options: Any, error: type[Exception]
) -> None:
    monkeypatch.chdir(place)
    with pytest.raises(error) as caught:
        slmmodel.train(data, **{**small, **options})
    assert isinstance(caught.value, SlmmodelError) and caught.value.fix and not small["output"].exists()


WRONG_TEXT: list[tuple[object, dict[str, Any], type[Exception]]] = [
    ("text.txt", {}, MissingInput),
    ("text.txt", {"tokenizer": 3}, WrongType),
    ("text.txt", {"tokenizer": "tok.json", "reading": 3}, WrongType),
    ("text.txt", {"tokenizer": "tok.json", "reading": {"seperator": "x"}}, UnknownOption),
    ("text.txt", {"tokenizer": "tok.json", "settings": 3}, WrongType),
    (3, {"tokenizer": "tok.json"}, WrongType),
    (slmtok.Texts([]), {"tokenizer": "tok.json"}, InvalidConfig),
    ("data", {"tokenizer": slmtok.train(slmtok.Texts(LINES), vocab_size=280)}, Mismatch),
]


@pytest.mark.parametrize(("data", "options", "error"), WRONG_TEXT)
def test_wrong_calls_with_text(
    place: Path, small: dict[str, Any], monkeypatch: pytest.MonkeyPatch, data: Any, options: Any, error: type[Exception]
) -> None:
    monkeypatch.chdir(place)
    with pytest.raises(error):
        app.train(data, **{**small, "progress": False, **options})
    assert not small["output"].exists()


def test_wrong_text(place: Path) -> None:
    story = app.load(place / "run")
    for call in (lambda: story.generate([1]), lambda: story.score(3), lambda: story.evaluate(3)):
        with pytest.raises(WrongType):
            call()
    with pytest.raises(InvalidInput, match="empty"):
        story.score("")
    assert repr(story) == f"TextRun({str(place / 'run')!r}, llama, n_vocab=300, finished)"


def test_in_a_notebook(place: Path) -> None:
    story = app.load(place / "run")
    table = story.run._repr_html_()
    assert table.startswith("<table>") and "llama, n_layers 1, d_model 16, seq_len 32, n_vocab 300" in table
    assert "finished, step 3 of 3" in table and "bits per byte" in table
    assert story._repr_html_() == table + story.tokenizer._repr_html_()
    scores = story.evaluate()
    assert repr(scores).startswith("Scores(bpb_total=") and len(repr(scores)) < 120
    assert f"{scores.bpb_total:.4f}" in scores._repr_html_()


LONGER = "slm resume PLACE/run --step 3 -o PLACE/run-2 --budget steps=6"
"""In a shell, which may be in another folder than the process of the call."""


@pytest.mark.parametrize(
    ("changes", "in_python", "on_the_command_line"),
    [
        (
            {"output": "run"},
            f"another output, force=True, which replaces it, or to train it longer {LONGER}",
            f"another --output, --force, which replaces it, or to train it longer {LONGER}",
        ),
        ({"preset": "cpu-dmo"}, "preset='cpu-demo'", "--preset cpu-demo"),
        ({"budget": "2M"}, "budget='tokens=2M'", "--budget tokens=2M"),
        ({"device": "gpu"}, f"device='{GPU_OR_CPU}'", f"--device {GPU_OR_CPU}"),
        ({"seed": -1}, "seed=0", "--seed 0"),
        ({"seed": "a", "output": "run"}, "seed=0", "--seed 0"),
        ({"budget": {"step": 2}}, "budget='steps=2'", "--budget steps=2"),
        ({"budget": "2GB"}, "budget='bytes=2GB'", "--budget bytes=2GB"),
        ({"budget": "3epochs"}, "budget='epochs=3'", "--budget epochs=3"),
        ({"preset": "gpt2-medium"}, "preset='base-500m'", "--preset base-500m"),
        (
            {"settings": {**SETTINGS, "data.pack": "cocnat"}},
            f"settings={ {n: each.value for n, each in settings_of(SETTINGS | {'data.pack': 'concat'}).items()} }",
            "--set data.pack=concat",
        ),
    ],
)
def test_fixes_are_written_as_the_caller_writes_arguments(
    place: Path,
    small: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    changes: Any,
    in_python: str,
    on_the_command_line: str,
) -> None:
    from slmtok.cli.errors import error_text

    monkeypatch.chdir(place)
    in_python, on_the_command_line = (
        each.replace("PLACE", os.fspath(place)) for each in (in_python, on_the_command_line)
    )
    with pytest.raises(SlmmodelError) as caught:
        slmmodel.train("data", **{**small, **changes})
    assert f"fix:   {in_python}" in str(caught.value) and in_python in str(caught.value.to_dict()["fix"])
    assert f"fix:   {on_the_command_line}" in error_text(caught.value)


def test_a_separator_that_cuts_no_file_is_warned_of(place: Path, small: dict[str, Any]) -> None:
    """As the command notes it, at the line of the call."""
    said = r"separator='\\\\n\\\\n' occurs nowhere.*, separator='\\n\\n'$"
    with pytest.warns(UserWarning, match=said) as warned:
        reading = {"separator": r"\n\n"}
        app.train(place / "text.txt", tokenizer=place / "tok.json", reading=reading, progress=False, **small)
    assert warned[0].filename == __file__


def test_escapes_and_the_characters_that_they_stand_for_are_told_apart(place: Path, small: dict[str, Any]) -> None:
    call = {"tokenizer": place / "tok.json", "progress": False, **small}
    with pytest.warns(UserWarning, match="occurs nowhere"):
        app.train(place / "text.txt", reading={"separator": r"\n"}, **call)
    with pytest.raises(OutputExists, match=r"data\.read\.separator '\\n', in the run '\\\\n'"):
        app.train(place / "text.txt", reading={"separator": "\n"}, **call)


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # of open(...).read() in the fix
def test_bytes_that_are_not_utf_8_are_warned_of(place: Path, small: dict[str, Any]) -> None:
    text = place / "latin.txt"
    text.write_text("Les élèves de l'été sont très contents à la forêt.\n" * 200, encoding="latin-1")
    call = {"tokenizer": place / "tok.json", "progress": False, **small}
    with pytest.warns(UserWarning, match=r"is not UTF-8 .*reading=\{'encoding': 'latin-1'\}$"):
        app.train(text, **call)
    run = app.train(text, **{**call, "reading": {"encoding": "latin-1"}, "force": True})
    with pytest.warns(UserWarning, match="is not UTF-8") as warned:
        run.evaluate(text)
    fix = str(warned[0].message).partition("for instance, ")[2]
    imported, _, fix = fix.partition("; ")
    assert imported == "import slmtok" and fix.startswith("slmtok.Texts([open(")
    assert run.evaluate(eval(fix, {"slmtok": slmtok})).bpb_total > 0


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # of open(...).read() in the fix
def test_files_that_are_more_than_prose_are_warned_of(place: Path, small: dict[str, Any]) -> None:
    """`evaluate` takes no options of reading: its fix makes the texts, or names the suffix."""
    text = place / "marks.txt"
    text.write_text("once upon a time<|endoftext|>a little fox<|endoftext|>" * 200)
    with pytest.warns(UserWarning, match=r"read as text; reading=\{'separator': '<\|endoftext\|>'\} for"):
        run = app.train(text, tokenizer=place / "tok.json", progress=False, **small)
    with pytest.warns(UserWarning, match="read as text") as warned:
        run.evaluate(text)
    fix = str(warned[0].message).partition("read as text; ")[2].removesuffix(" for the documents between them")
    imported, _, fix = fix.partition("; ")
    assert imported == "import slmtok"
    assert run.evaluate(eval(fix, {"slmtok": slmtok})).n_docs == 400
    text.write_text('{"text": "once upon a time"}\n' * 200)
    with pytest.warns(UserWarning, match=r"JSON was read as text; a name that ends in \.jsonl for the text"):
        run.evaluate(text)


@pytest.mark.parametrize(
    ("given", "meant"), [("10 minutes", "10min"), ("2 Hours", "2h"), ("1 day", "1d"), ("90 seconds", "90s")]
)
def test_a_budget_of_time_in_words(place: Path, small: dict[str, Any], given: str, meant: str) -> None:
    with pytest.raises(OptionError, match=rf"fix:   budget='time={meant}'$"):
        slmmodel.train(place / "data", **{**small, "budget": given})


def test_an_empty_prompt_without_a_special_that_begins_documents(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`generate([])` begins a document; without specials the error names neither a role nor an id of another kind."""
    run = slmmodel.load(place / "run")
    monkeypatch.setitem(vars(run.vocab), "specials", {})
    with pytest.raises(InvalidInput, match=r"no special that begins(.|\n)*run\.generate\(tok\.encode_list\("):
        run.generate([])


@pytest.mark.parametrize(
    ("options", "settings", "fix"),
    [
        ({"preset": "cpu-demo"}, {"run.batch_size": 8}, {"run.batch_tokens": 2048}),
        ({}, {"run.batch_size": 8}, {"model.seq_len": 256, "run.batch_tokens": 2048}),
        ({}, {"run": {"batch_size": 4, "seed": 3}, "model.preset": "cpu-demo"}, {"run.batch_tokens": 1024}),
        ({}, {"model.block_size": 64, "batch_size": 8}, {"model.seq_len": 64, "run.batch_tokens": 512}),
        ({}, {"optim.learning_rate": 0.1, "dtype": "bfloat16"}, {"optim.lr": 0.1, "run.precision": "bf16"}),
    ],
)
def test_settings_of_another_trainer_get_their_values(
    options: dict[str, Any], settings: dict[str, Any], fix: dict[str, Any], place: Path
) -> None:
    with pytest.raises(InvalidConfig, match=r"^unknown setting") as caught:
        slmmodel.train(place / "data", output=place / "none", budget="steps=1", settings=settings, **options)
    meant = eval(f"dict({caught.value.fix})")["settings"]
    assert fix.items() <= meant.items() and not {"batch_size", "run.batch_size", "model.block_size"} & meant.keys()


def test_the_output_of_a_loop_differs_in_each_round(place: Path, small: dict[str, Any], tmp_path: Path) -> None:
    call = {**small, "output": tmp_path / "new"}
    slmmodel.train(place / "data", **{**call, "seed": 0})
    with pytest.raises(OutputExists) as caught:
        slmmodel.train(place / "data", **{**call, "seed": 1})
    expression = str(caught.value.fix).partition("in a loop, output=")[2].removesuffix(", where i is its variable")
    for i in (0, 1):
        output = eval(expression, {"i": i})
        assert output == f"{tmp_path / 'new'}-{i}"
        slmmodel.train(place / "data", **{**call, "output": output, "seed": i})
