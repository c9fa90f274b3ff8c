"""Options of reading, and tokenizers, in calls that take none by themselves: the fix reads the text as they say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import slmmodel
import slmtok
from slmmodel import app
from slmmodel.data import ShardDataset
from slmmodel.errors import MissingInput, SlmmodelError, WrongType
from slmmodel.foreign_names import HELD_OUT_SHARES, READ_OPTIONS
from slmtok.errors import MalformedRecord, SlmtokError
from slmtok.foreign_options import VALIDATION_SHARES
from slmtok.options import ReadOptions, option_specs

pytest.importorskip("torch")
SHAPE = {"arch": "llama", "d_model": 16, "n_layers": 1, "n_heads": 2, "n_kv_heads": 1, "seq_len": 32}
SETTINGS = {"model": SHAPE, "run.batch_tokens": 128, "run.threads": 1}
TEXT = "\n\n".join(f"once upon a time fox {number} saw tree {number % 7}." for number in range(60))
N_DOCS = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text, its tokenizer, packed data and a run."""
    made = tmp_path_factory.mktemp("reading")
    (made / "text.txt").write_text(TEXT)
    tok = slmtok.train(slmtok.Texts([TEXT]), vocab_size=290)
    tok.save(made / "tok.json")
    slmtok.pack(made / "text.txt", tok, made / "shards", separator="\n\n", val="none")
    slmmodel.train(made / "shards", output=made / "run", budget="steps=2", settings=SETTINGS, seed=1)
    return made


@pytest.fixture
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


def refused(call: Callable[[], Any], kind: type[Exception] = WrongType) -> str:
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, SlmmodelError | SlmtokError)
    return str(caught.value.fix)


def train(**options: Any) -> app.TextRun:
    call = {"tokenizer": "tok.json", "budget": "steps=1", "settings": SETTINGS, "progress": False}
    return app.train("text.txt", **{**call, **options})


@pytest.mark.parametrize("load", [app.load, slmmodel.load])
def test_a_tokenizer_in_the_place_of_a_run(inside: Path, load: Callable[[str], Any]) -> None:
    with pytest.raises(MissingInput, match=r"'tok\.json' is a tokenizer of slmtok, not a run folder") as caught:
        load("tok.json")
    assert caught.value.limit == "runs in ./: run"
    call, _, _ = str(caught.value.fix).partition(" opens a tokenizer; ")
    assert call == "slmtok.load('tok.json')" and slmtok.load("tok.json").n_vocab == 290


def test_the_options_of_reading_are_those_of_slmtok() -> None:
    assert {*READ_OPTIONS} == {name for name, _, _ in option_specs(ReadOptions)} - {"seed"}
    assert HELD_OUT_SHARES == VALIDATION_SHARES


@pytest.mark.parametrize(
    ("given", "reading"),
    [
        ({"separator": "\n\n"}, {"separator": "\n\n"}),
        ({"document": "line", "max_docs": 9}, {"document": "line", "max_docs": 9}),
        ({"reading": {"max_docs": 9}, "document": "line"}, {"max_docs": 9, "document": "line"}),
        ({"seperator": "\n\n"}, {"separator": "\n\n"}),
        ({"delimiter": "\n\n"}, {"separator": "\n\n"}),
        ({"text_column": "story"}, {"text_key": "story"}),
    ],
)
def test_options_of_reading_belong_into_reading(inside: Path, given: dict[str, Any], reading: dict[str, Any]) -> None:
    """Left out, the whole file would be one document."""
    assert refused(lambda: train(**given)) == f"reading={reading}"


def test_the_fix_of_an_option_of_reading_trains_on_its_documents(inside: Path, tmp_path: Path) -> None:
    fix = refused(lambda: train(separator="\n\n", output=tmp_path / "r"))
    run = train(output=tmp_path / "r", **eval(f"dict({fix})"))
    assert run.run.config["data"]["read"] == {"separator": "\n\n"}
    fix = refused(lambda: train(document="line", n_layer=2))
    assert fix.startswith("for document reading={'document': 'line'}; for n_layer settings={'model': {")


@pytest.mark.parametrize("wrong", [{"document": "lines", "max_docs": 9}, {"max_docs": 9, "documents": "line"}])
def test_a_wrong_option_of_reading_is_fixed_with_the_others(inside: Path, wrong: dict[str, Any]) -> None:
    fix = refused(lambda: train(reading=wrong), SlmtokError)
    assert eval(f"dict({fix})") == {"reading": {"max_docs": 9, "document": "line"}}


def test_packed_data_are_documents_already(inside: Path) -> None:
    for call in (slmmodel.train, app.train):
        fix = refused(lambda call=call: call("shards", separator="\n\n"))  # type: ignore[misc]
        assert fix == "leave it out: packed data are documents already"
    fix = refused(lambda: slmmodel.train("shards", tokenizer="tok.json"))  # type: ignore[call-arg]
    assert fix == "leave it out: packed data have a tokenizer"
    fix = refused(lambda: ShardDataset("shards", seq_len=8, separator="\n\n"), SlmmodelError)
    assert fix.endswith("slmtok.pack(corpus, tok, folder, separator='\\n\\n') packs text")


def test_a_call_for_ids_becomes_the_whole_call_for_text(inside: Path, tmp_path: Path) -> None:
    tok: Any = slmtok.load("tok.json")
    call: dict[str, Any] = {"budget": "steps=1", "settings": SETTINGS, "output": tmp_path / "r"}
    fix = refused(lambda: slmmodel.train("text.txt", tokenizer=tok, separator="\n\n", report=print, **call))  # type: ignore[call-arg]
    assert fix.endswith("tokenizer=tok, reading={'separator': '\\n\\n'})")
    run = eval(fix, {"slmmodel": slmmodel, "tok": tok})
    assert run.run.config["data"]["read"] == {"separator": "\n\n"} and run.run.path == tmp_path / "r"
    fix = refused(lambda: slmmodel.train(Path("text.txt"), separator="\n\n"))  # type: ignore[call-arg]
    assert fix == "slmmodel.app.train('text.txt', tokenizer='tok.json', reading={'separator': '\\n\\n'})"
    fix = refused(lambda: slmmodel.load("run", tokenizer=tok, step=2))  # type: ignore[call-arg]
    assert fix == "slmmodel.app.load('run', step=2, tokenizer=tok)"


@pytest.mark.parametrize("given", [{"separator": "\n\n"}, {"reading": {"separator": "\n\n"}}])
def test_a_text_is_packed_to_be_scored_as_options_of_reading_say(inside: Path, given: dict[str, Any]) -> None:
    for run in (app.load("run"), slmmodel.load("run")):
        fix = refused(lambda run=run: run.evaluate("text.txt", stride=8, **given))  # type: ignore[misc]
        names = {"slmtok": slmtok, "slmmodel": slmmodel, "run": run}
        first, _, second = fix.partition("; ")
        eval(first, names)
        assert second.endswith(", stride=8)") and eval(second, names).n_docs == N_DOCS
    assert refused(lambda: run.evaluate(**given)) == "leave it out: the documents are read as in training"
    fix = refused(lambda: app.load("run").evaluate(slmtok.Texts([TEXT]), **given))
    assert fix == "leave it out: texts in memory are documents already"


def test_a_tokenizer_for_a_text_is_that_of_the_run(inside: Path) -> None:
    run: Any = slmmodel.load("run")
    fix = refused(lambda: run.evaluate("text.txt", tokenizer="tok.json", stride=8))
    assert fix == "slmmodel.app.load('run', tokenizer='tok.json').evaluate('text.txt', stride=8)"
    assert eval(fix, {"slmmodel": slmmodel}).n_docs == 1
    assert refused(lambda: run.evaluate("shards", tokenizer="tok.json")) == "leave it out: packed data have a tokenizer"
    assert refused(lambda: run.generate([1], tokenizer="tok.json")).startswith("leave it out")


@pytest.mark.parametrize("assistant", ["run", Path("run")])
def test_a_path_as_the_assistant_is_loaded(inside: Path, assistant: Any) -> None:
    run = app.load("run")
    fix = refused(lambda: run.generate("once", max_new_tokens=2, assistant=assistant))
    assert fix == "assistant=slmmodel.load('run')"
    assert isinstance(run.generate("once", max_new_tokens=2, **eval(f"dict({fix})", {"slmmodel": slmmodel})), str)


def test_records_without_the_field_of_text_are_read_by_the_fix(inside: Path, tmp_path: Path) -> None:
    Path("pairs.jsonl").write_text('{"prompt": "a fox", "completion": "saw a tree"}\n' * 40)
    given: dict[str, Any] = {"tokenizer": "tok.json", "budget": "steps=1", "settings": SETTINGS, "progress": False}
    given["output"] = tmp_path / "of-pairs"
    fix = refused(lambda: app.train("pairs.jsonl", reading={"max_docs": 9}, **given), MalformedRecord)
    assert fix == "reading={'max_docs': 9, 'text_template': '{prompt}\\n{completion}'}"
    # One field of text has the place of a template.
    fix = refused(lambda: app.train("pairs.jsonl", reading={"text_key": "txt"}, **given), MalformedRecord)
    assert fix.startswith("reading={'text_template': ") and "text_key'" not in fix
    code = refused(lambda: app.load("run").evaluate("pairs.jsonl"), MalformedRecord)
    imported, pack, evaluate = code.split("; ")
    exec(f"{imported}; {pack}", names := dict[str, Any]())
    assert eval(evaluate, names).n_docs == 40


@pytest.mark.parametrize(("name", "kind"), [("tok.json", "a tokenizer file of slmtok"), ("s.yaml", "a configuration")])
def test_validation_data_that_are_no_text_are_named(inside: Path, tmp_path: Path, name: str, kind: str) -> None:
    Path("s.yaml").write_text("optim:\n  lr: 1e-3\n")
    settings = {**SETTINGS, "data.val": name}
    with pytest.raises(SlmtokError, match=f"^{name} is {kind}, not text\n  where: data.val\n") as caught:
        app.train("text.txt", tokenizer="tok.json", output=tmp_path / "new", settings=settings)
    assert caught.value.fix == "leave data.val out, which chooses from the training text; or name another text"
