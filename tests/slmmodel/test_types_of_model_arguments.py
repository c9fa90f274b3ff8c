"""Each public call, with one argument of a wrong type: a result or an error of slmmodel, never a fault inside of it."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import pytest

import slmmodel
import slmtok
from slmmodel import app
from slmmodel.data import Loader, ShardDataset, ShardLoader, open_source
from slmmodel.errors import SlmmodelError
from slmmodel.vocab import VocabMeta
from slmtok.errors import SlmtokError

pytest.importorskip("torch")
SETTINGS: dict[str, Any] = {
    "model": {"arch": "llama", "d_model": 16, "n_layers": 1, "n_heads": 2, "n_kv_heads": 1, "seq_len": 32}
}
SETTINGS |= {"run.batch_tokens": 64, "run.threads": 1}
TEXT = "\n".join(f"once upon a time fox {number} saw tree {number % 7}, and it was tall." for number in range(60))
WRONG = (5, 2.5, True, None, "x", b"\xff", [5], [[300]], {"a": 1}, object(), 10**5000)

Case = tuple[Callable[..., Any], dict[str, Any]]


def calls(folder: Path) -> dict[str, Case]:
    """The public calls, each with valid arguments."""
    (folder / "text.txt").write_text(TEXT)
    tok = slmtok.train(folder / "text.txt", vocab_size=300)
    tok.save(folder / "tok.json")
    slmtok.pack(folder / "text.txt", tok, folder / "data", document="line", val="none")
    training: dict[str, Any] = {"budget": "steps=1", "settings": SETTINGS, "seed": 1, "output": "run", "force": True}
    run = slmmodel.train("data", **training)
    source = open_source("data")
    packed = {"source": source, "vocab": source.vocab, "seq_len": 8, "batch_size": 2}
    text_run = app.load("run", tokenizer=tok)
    training |= {"output": "again"}
    return {
        "load": (slmmodel.load, {"path": "run"}),
        "train": (slmmodel.train, {"data": "data", **training}),
        "run.generate": (run.generate, {"ids": [20], "max_new_tokens": 1}),
        "run.score": (run.score, {"ids": [20, 21]}),
        "run.evaluate": (run.evaluate, {"data": "data"}),
        "VocabMeta.load": (VocabMeta.load, {"path": "data/vocab.json"}),
        "VocabMeta.parse": (VocabMeta.parse, {"data": (folder / "data/vocab.json").read_bytes(), "source": "x"}),
        "vocab.special": (source.vocab.special, {"role": "eos"}),
        "open_source": (open_source, {"path": "data"}),
        "Loader": (Loader, packed),
        "ShardLoader": (ShardLoader, {"path": "data", "seq_len": 8, "batch_size": 2}),
        "ShardDataset": (ShardDataset, {"path": "data", "seq_len": 8}),
        "app.load": (app.load, {"path": "run", "tokenizer": tok}),
        "app.train": (app.train, {"data": "text.txt", "tokenizer": tok, **training}),
        "text_run.generate": (text_run.generate, {"prompt": "a", "max_new_tokens": 1}),
        "text_run.score": (text_run.score, {"text": "a fox"}),
        "text_run.evaluate": (text_run.evaluate, {"data": "text.txt"}),
    }


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.filterwarnings("ignore")
def test_no_type_of_argument_fails_inside(inside: Path) -> None:
    bare = []
    for name, (function, valid) in calls(inside).items():
        kinds = (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL)
        for argument in (each.name for each in signature(function).parameters.values() if each.kind not in kinds):
            for value in WRONG:
                try:
                    function(**{**valid, argument: value})
                except (SlmmodelError, SlmtokError):
                    continue
                except Exception as error:
                    bare.append(f"{name}({argument}) with {type(value).__name__}: {type(error).__name__}: {error}")
    assert not bare, "\n".join(bare)
