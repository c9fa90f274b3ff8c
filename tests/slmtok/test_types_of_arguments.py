"""Each public call, with one argument of a wrong type: a result or an error of slmtok, never a fault inside of it."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from inspect import Parameter, isgenerator, signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pasting import pasted

import slmtok
from slmtok.analysis.exposure import exposure
from slmtok.errors import SlmtokError, WrongType
from slmtok.formats.export import export
from slmtok.options import CountOptions, PackOptions, TrainOptions, option_specs
from slmtok.shards import open_shards
from slmtok.training.doc_digests import DocDigests

TEXT = "hello world, a fox saw 12 trees\n" * 40
WRONG = (5, 2.5, True, None, "x", b"\xff", [5], [[300]], {"a": 1}, object())
KEYWORDS = {
    "count": CountOptions,
    "train": TrainOptions,
    "pack": PackOptions,
}
"""Functions whose `**keywords` are these options."""

Case = tuple[Callable[..., Any], dict[str, Any]]


def functions() -> dict[str, Case]:
    """The functions, each with valid arguments; of a class its methods are added."""
    tok = slmtok.train("corpus.txt", vocab_size=280, allow_smaller=True)
    tok.save("tok.json")
    counts = slmtok.count("corpus.txt")
    counts.save("a.counts")
    ragged = tok.encode_batch(["a fox", "a tree"])
    texts = slmtok.Texts([TEXT])
    found: dict[str, Case] = {
        "count": (slmtok.count, {"corpus": "corpus.txt"}),
        "train": (slmtok.train, {"corpus": "corpus.txt", "vocab_size": 272, "allow_smaller": True}),
        "pack": (slmtok.pack, {"corpus": "corpus.txt", "tokenizer": tok, "out": "data", "force": True, "val": "none"}),
        "merge_counts": (slmtok.merge_counts, {"paths": ["a.counts", "a.counts"], "out": "b.counts", "force": True}),
        "extend": (slmtok.extend, {"tokenizer": tok, "counts": counts, "vocab_size": 282}),
        "slice": (slmtok.slice, {"tokenizer": tok, "n_vocab": 272}),
        "prune": (slmtok.prune, {"tokenizer": tok, "ids": [tok.n_vocab - 1]}),
        "load": (slmtok.load, {"path": "tok.json"}),
        "view": (slmtok.view, {"tokenizers": tok}),
        "from_tiktoken": (slmtok.from_tiktoken, {"name_or_path": "absent.tiktoken"}),
        "export": (export, {"tokenizer": tok, "to": "tiktoken", "folder": "exported", "verify": False, "force": True}),
        "Texts": (slmtok.Texts, {"texts": ["a"]}),
        "Ragged": (slmtok.Ragged, {"ids": ragged.ids, "offsets": ragged.offsets}),
        "Segments": (slmtok.Segments, {"ids": ragged.ids, "spans": np.zeros((1, 2)), "segments": ()}),
        "Special": (slmtok.Special, {"role": "user"}),
        "Trusted": (slmtok.Trusted, {"text": "a"}),
        "Tokenizer": (slmtok.Tokenizer, {"vocabulary": tok.vocabulary}),
        "DocDigests.save": (DocDigests().save, {"path": "a.digests", "force": True}),
    }
    values = {"x": "a fox", "xs": ["a fox"], "ids": [20, 30], "path": "out.json", "text": "a fox", "id": 30}
    values |= {"texts": ["a"], "role": "user", "token": b" ", "batch": [[20]], "ragged": ragged, "parts": ["a"]}
    values |= {"paths": ["corpus.txt"], "out": "out.bin", "counts": counts, "vocab_size": 272, "force": True}
    values |= {"name": "pad", "key": "pad", "spellings": {"user": "<|u|>"}}
    for name, owner in (("tok", tok), ("counts", counts), ("ragged", ragged), ("texts", texts), ("spec", tok.specials)):
        for method in (each for each in dir(owner) if not each.startswith("_")):
            member = getattr(owner, method)
            if callable(member) and hasattr(member, "__func__"):
                taken = {each: values[each] for each in signature(member).parameters if each in values}
                found[f"{name}.{method}"] = (member, taken)
    return found


def arguments(name: str, function: Callable[..., Any]) -> Iterator[str]:
    """The names of the arguments of a function, those of its options included."""
    kinds = (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL)
    yield from (each.name for each in signature(function).parameters.values() if each.kind not in kinds)
    if name in KEYWORDS:
        yield from (option for option, _, _ in option_specs(KEYWORDS[name]))


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("corpus.txt").write_text(TEXT)
    return tmp_path


@pytest.mark.filterwarnings("ignore")
def test_no_type_of_argument_fails_inside(inside: Path) -> None:
    bare = []
    for name, (function, valid) in functions().items():
        for argument in arguments(name, function):
            for value in WRONG:
                try:
                    found = function(**{**valid, argument: value})
                    list(found) if isgenerator(found) else None
                except SlmtokError as error:
                    if isinstance(error, WrongType) and not error.fix:
                        bare.append(f"{name}({argument}={value!r}): no fix: {error}")
                except Exception as error:
                    bare.append(f"{name}({argument}={value!r}): {type(error).__name__}: {error}")
    assert not bare, "\n".join(bare)


OBJECTS = re.compile(r"(Tokenizer|Shards|PretokenCounts)( \| None)?")
"""Annotations of arguments that are one object of slmtok, which nothing else stands for."""


def explained() -> Iterator[Callable[..., Any]]:
    """The public functions of all modules that `explains_calls` decorates."""
    for module in pkgutil.walk_packages(slmtok.__path__, "slmtok."):
        if not module.name.startswith("slmtok.cli") and not module.name.endswith("__main__"):
            for name, member in [*vars(importlib.import_module(module.name)).items()]:
                if hasattr(member, "__wrapped__") and member.__module__ == module.name and not name.startswith("_"):
                    yield member


@pytest.mark.filterwarnings("ignore")
def test_no_object_is_given_as_something_else(inside: Path) -> None:
    tok = slmtok.train("corpus.txt", vocab_size=280, allow_smaller=True)
    tok.save("tok.json")
    counts, packed = slmtok.count("corpus.txt"), slmtok.pack("corpus.txt", tok, "data", val="none")
    data = open_shards("data")
    objects = {"Tokenizer": tok, "Shards": data, "PretokenCounts": counts}
    values = {"corpus": "corpus.txt", "out": "new", "n_vocab": 272, "texts": ["a"], "documents": [b"a"], "to": "hf"}
    others = ("tok.json", "data", Path("data"), packed, tok.vocabulary, *objects.values())
    checked, bare = set(), []
    for function in explained():
        taken = [each for each in signature(function).parameters.values() if each.kind != Parameter.VAR_KEYWORD]
        kinds = {each.name: found[1] for each in taken if (found := OBJECTS.fullmatch(str(each.annotation)))}
        valid = {each.name: values.get(each.name) for each in taken if each.default is Parameter.empty}
        valid |= {name: objects[kind] for name, kind in kinds.items()}
        for name, kind in kinds.items():
            checked.add(f"{function.__name__}({name})")
            for value in (each for each in (*WRONG, *others) if each is not None and each is not objects[kind]):
                try:
                    found: object = function(**{**valid, name: value})
                except Exception as error:
                    found = error
                if not isinstance(found, WrongType) or not found.fix:
                    bare.append(f"{function.__name__}({name}={value!r}): {found!r}")
    assert not bare, "\n".join(bare)
    assert checked >= {
        "exposure(data)",
        "exposure(tokenizer)",
        "audit(shards)",
        "size_curve(tokenizer)",
        "slice(tokenizer)",
    }


def test_fixes_open_the_object_that_a_call_takes(inside: Path) -> None:
    tok = slmtok.train("corpus.txt", vocab_size=280, allow_smaller=True)
    packed = slmtok.pack("corpus.txt", tok, "packed", val="none")
    for data in ("packed", Path("packed"), packed):
        fix, opened = pasted(lambda data=data: exposure(data, tok), WrongType)
        assert fix == "slmtok.shards.open_shards('packed')" and exposure(opened, tok).updates.sum()
    assert pasted(lambda: exposure(tok, opened), WrongType, exposure=exposure, data=opened, tok=tok)[1].updates.sum()
    assert pasted(lambda: slmtok.slice(opened, 272), WrongType) == (f"slmtok.load({str(opened.tokenizer)!r})", tok)
    # A file of this name may hold another tokenizer.
    tok.save("tok.json")
    small = slmtok.slice(tok, 272)
    with pytest.raises(WrongType, match="tokenizer is Vocabulary, not a Tokenizer") as caught:
        slmtok.pack("corpus.txt", small.vocabulary, "new")
    call = str(caught.value.fix).partition(",")[0]
    made = eval(call, {"slmtok": slmtok, "vocabulary": small.vocabulary})
    assert made.vocabulary == small.vocabulary
