"""Values and arguments that were nearly right: the fix has the nearest, and works as it is written."""

from __future__ import annotations

import gzip
import pickle
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pasting import pasted

import slmtok
from slmtok.compat import as_hf
from slmtok.errors import MissingInput, OptionError, SlmtokError, UnknownName, UnknownOption, UnknownSpecial, WrongType
from slmtok.foreign_options import TRUNCATION_SIDE
from slmtok.formats.export import export

TEXT = "the cat sat on the mat, and the dog sat by the door.\n" * 20


@pytest.fixture
def tok(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> slmtok.Tokenizer:
    """A tokenizer of a.txt in the working folder, saved as tok.json."""
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(TEXT)
    made = slmtok.train("a.txt", vocab_size=280, pattern="gpt2")
    made.save("tok.json")
    return made


def test_a_misspelt_value_is_answered_with_the_nearest(tok: slmtok.Tokenizer) -> None:
    calls: dict[str, Any] = {
        "padding='max_length'": lambda: as_hf(tok)("a cat", max_length=4, padding="max_lenght"),
        "padding=True, padding_side='left'": lambda: as_hf(tok)(["a cat"], padding="left"),
        TRUNCATION_SIDE: lambda: as_hf(tok)(["a cat"], truncation="left", max_length=4),
        "padding_side='left'": lambda: as_hf(tok, padding_side="lft"),
        "errors='strict'": lambda: tok.decode([272], errors="strct"),
        "return_tensors='pt'": lambda: tok.encode("hi", return_tensors="pytorch"),  # type: ignore[call-overload]
        "return_tensors='np', or return_tensors='pt'": lambda: as_hf(tok)("hi", return_tensors="jax"),
        "document='line'": lambda: slmtok.train("a.txt", vocab_size=280, document="lines"),
        "vocab_size=300, and a call for each other value": lambda: slmtok.train("a.txt", vocab_size=[280, 300]),  # type: ignore[arg-type]
        "max_docs=3": lambda: slmtok.train("a.txt", vocab_size=280, max_docs=[3]),  # type: ignore[arg-type]
        "verify=False": lambda: slmtok.load("tok.json", verify="no"),  # type: ignore[arg-type]
        "verify=True, or verify=False": lambda: slmtok.load("tok.json", verify="maybe"),  # type: ignore[arg-type]
        "ids=[279]": lambda: slmtok.prune(tok, ids=279),  # type: ignore[arg-type]
        "ids=[278, 279]": lambda: slmtok.prune(tok, ids=[278.0, 279]),  # type: ignore[list-item]
        "ids=[277, 278]": lambda: slmtok.prune(tok, ids="277, 278"),  # type: ignore[arg-type]
    }
    for fix, call in calls.items():
        with pytest.raises(SlmtokError) as caught:
            call()
        assert caught.value.fix == fix


def test_the_side_of_truncation_is_a_setting_of_the_object(tok: slmtok.Tokenizer) -> None:
    call: Any = as_hf(tok)
    for given in ({"truncation_side": "left"}, {"truncation_side": "left", "truncation": True, "max_length": 4}):
        for method in (call, call.encode):
            with pytest.raises(UnknownOption) as caught:
                method("the cat sat on the mat", **given)
            assert caught.value.fix == TRUNCATION_SIDE
    sided = eval(TRUNCATION_SIDE.partition(" keeps ")[0], {"as_hf": as_hf, "tok": tok})
    assert sided.decode(sided.encode("a cat", truncation=True, max_length=4), skip_special_tokens=True).endswith("t")


def test_the_output_before_the_counts_that_are_merged(tok: slmtok.Tokenizer) -> None:
    for name in ("a", "b"):
        slmtok.count(slmtok.Texts([f"the {name} cat"])).save(f"{name}.counts")
    fix, merged = pasted(lambda: slmtok.merge_counts("m.counts", ["a.counts", "b.counts"]), WrongType)  # type: ignore[arg-type]
    assert fix == "slmtok.merge_counts(['a.counts', 'b.counts'], 'm.counts')" and merged.inputs == 2
    fix, _ = pasted(lambda: slmtok.merge_counts("m.counts", ["a.counts", "b.counts"], min_count=1), WrongType)  # type: ignore[arg-type]
    assert fix == "slmtok.merge_counts(['a.counts', 'b.counts'], 'm-2.counts')"
    fix, _ = pasted(lambda: slmtok.merge_counts("n.counts", "a.counts", force=True), WrongType)
    assert fix == "slmtok.merge_counts(['a.counts'], 'n.counts', force=True)"
    fix, _ = pasted(lambda: slmtok.merge_counts("a.counts", "o.counts"), WrongType)
    assert fix == "slmtok.merge_counts(['a.counts'], 'o.counts')"


def test_ids_of_padding_and_the_texts_of_a_dictionary(tok: slmtok.Tokenizer) -> None:
    with pytest.raises(SlmtokError, match=r"\[id for id in ids if id < 280\]"):
        tok.decode([272, 300])
    fix, _ = pasted(lambda: tok.encode_batch({"a": "text", "b": "more"}), WrongType, tok=tok, d={"a": "x", "b": "y"})
    assert fix == "tok.encode_batch(list(d.values()))"
    with pytest.raises(UnknownName) as caught:
        export(tok, "exported", "hf")
    assert caught.value.fix == "format and folder the other way round: 'hf', 'exported'"
    with pytest.raises(UnknownSpecial) as unknown:
        tok.specials["endoftext"]
    assert unknown.value.fix == "use 'eos'"


def test_names_of_counters_on_counts(tok: slmtok.Tokenizer) -> None:
    counts = slmtok.count("a.txt")
    for name in ("most_common", "get", "total"):
        with pytest.raises(AttributeError, match=" has it") as caught:
            getattr(counts, name)
        assert eval(str(caught.value).partition("; ")[2].removesuffix(" has it"), {"counts": counts})


@pytest.mark.parametrize("size", ["0.28k", "2.8e2", "0.28 K", "280"])
def test_a_size_with_a_unit_is_the_number_that_it_spells(tok: slmtok.Tokenizer, size: Any) -> None:
    with pytest.raises(WrongType, match=r"fix:   vocab_size=280$"):
        slmtok.train("a.txt", vocab_size=size)
    with pytest.raises(WrongType, match=r"fix:   vocab_size=8192, for instance$"):
        slmtok.train("a.txt", vocab_size="1,2")


@pytest.mark.parametrize("folder", ["models/v1", "my models"])
def test_a_missing_folder_is_made_in_python(tok: slmtok.Tokenizer, folder: str) -> None:
    """`mkdir -p` of the command line is no call."""
    with pytest.raises(MissingInput, match=rf"^no folder '{folder}'") as caught:
        tok.save(f"{folder}/tok.json")
    exec(str(pickle.loads(pickle.dumps(caught.value)).fix), {})
    tok.save(f"{folder}/tok.json")


@pytest.mark.parametrize(
    ("columns", "texts"),
    [
        ({"web": ["a", "b"], "books": ["c"]}, ["a", "b", "c"]),
        ({"id": [1, 2], "web": ["a", "b"], "books": ["c"]}, ["a", "b", "c"]),
        ({"text": ["a"], "label": ["b"]}, ["a"]),
    ],
)
def test_lists_of_texts_by_source_are_all_meant(columns: Any, texts: list[str]) -> None:
    with pytest.raises(WrongType) as caught:
        slmtok.Texts(columns)
    assert list(eval(str(caught.value.fix), {"slmtok": slmtok, "d": columns})) == texts


def test_the_text_of_a_compressed_file_is_unpacked_first(tok: slmtok.Tokenizer) -> None:
    text = "the cat sat on the mat"
    Path("a 1.txt.gz").write_bytes(gzip.compress(text.encode()))
    with pytest.raises(OptionError, match="gzip data, not text") as caught:
        tok.encode_files("a 1.txt.gz", "o.bin")
    command, _, named = str(caught.value.fix).partition(" in a shell, and name ")
    subprocess.run(command, shell=True, check=True)
    assert tok.encode_files(eval(named), "o.bin")[0].tolist() == tok.encode_list(text)
