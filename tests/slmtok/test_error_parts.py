"""The house style of errors: four parts, built-in bases, pickling, JSON, careful suggestions."""

import builtins
import json
import pickle
import re
from typing import Any, cast

import pytest

import slmtok
from slmtok import errors
from slmtok.errors import ERRORS, SlmtokError


def test_house_style() -> None:
    error = errors.CorpusTooSmall("corpus supports 5 ids", where="merge 3", limit="--min-count 2", fix="--vocab 5", n=5)
    assert str(error) == "corpus supports 5 ids\n  where: merge 3\n  limit: --min-count 2\n  fix:   --vocab 5"
    assert error.fields == {"n": 5}


@pytest.mark.parametrize("kind", ERRORS)
def test_every_class(kind: type[SlmtokError]) -> None:
    error = kind("the fact", where="here", fix="do", token=b"a\xff", ids=[1, 2])
    assert str(error) == "the fact\n  where: here\n  fix:   do"
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert (str(again), again.fields) == (str(error), error.fields)
    shown = json.loads(json.dumps(error.to_dict()))
    assert shown["class"] == kind.__name__
    assert shown["fields"] == {"token": "a\\xff", "ids": [1, 2]}
    assert shown["message"] == str(error)


def test_variables_of_a_fix_are_explained() -> None:
    """The caller's line need not hold them; the comment keeps a line that can be pasted."""
    records = "slmtok.Texts(row['text'] for row in rows)"
    explained = {
        records: f"{records}  # rows stands for your own value",
        "slmtok.Texts([*a, *b])": "slmtok.Texts([*a, *b])  # a, b stand for your own values",
        "slmtok.Texts(texts), or a path": "slmtok.Texts(texts), or a path; texts stands for your own value",
        "for texts: slmtok.Texts(texts)": "for texts: slmtok.Texts(texts)  # texts stands for your own value",
        "tok.encode_batch(['a', 'b'])": "tok.encode_batch(['a', 'b'])",
        "[tok.decode(row) for row in [[1], [2]]]": "[tok.decode(row) for row in [[1], [2]]]",
        "give texts: the array holds none": "give texts: the array holds none",
        "tok.encode(text) gives ids": "tok.encode(text) gives ids",
    }
    for fix, shown in explained.items():
        error = errors.WrongType("the fact", fix=fix)
        assert str(error) == f"the fact\n  fix:   {shown}"
        assert error.fix == fix
        assert error.render(lambda setting: setting.name).endswith(f"fix:   {fix}")


def test_registry_is_complete() -> None:
    leaves = {value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, SlmtokError)}
    assert set(ERRORS) == leaves - {SlmtokError}
    assert len(set(ERRORS)) == len(ERRORS)


@pytest.mark.parametrize("kind", [kind for kind in ERRORS if kind is not errors.Interrupted])
def test_each_is_also_a_builtin(kind: type[SlmtokError]) -> None:
    own = {base for base in kind.__mro__ if base.__module__ == builtins.__name__}
    assert own - {Exception, BaseException, object}


def test_suggestions_only_where_sure() -> None:
    assert errors.suggestion("cl100k_bas", ["cl100k_base", "o200k_base"]) == "cl100k_base"
    assert errors.suggestion("x50k_base", ["r50k_base", "p50k_base"]) is None
    assert errors.suggestion("zebra", ["r50k_base"]) is None
    assert "did you mean 'word'?" in str(errors.unknown_name("scheme", "words", ["word", "char"]))


def test_a_value_of_megabytes_is_cut_and_a_fix_is_not() -> None:
    error = errors.OptionError(f"token {'x' * 10_000_000} is listed twice", fix="f" * 10_000)
    assert "[… 10,000,022 characters …]" in str(error) and len(str(error)) < 15_000
    assert str(error).startswith("token xxx") and str(error).endswith("f" * 10_000)
    assert len(error.fact) < 4000


def test_a_fix_has_a_name_in_the_place_of_a_value_of_megabytes() -> None:
    text = "x" * 3_000_000
    with pytest.raises(errors.UnknownOption) as caught:
        slmtok.train(slmtok.Texts(["a cat"]), vocab_size=300, required=[text])  # type: ignore[call-overload]
    assert caught.value.fix == "require=REQUIRE" and len(str(caught.value)) < 2000
    assert "[… 3,000,000 characters …]" in str(errors.OptionError("a text", fix=text))


def test_a_long_value_leaves_the_sentence_of_a_fact_in_sight() -> None:
    text = "the cat sat on the mat " * 50
    for options in ({"vocab_size": text}, {"vocab_size": 300, "scheme": text}):
        with pytest.raises(errors.SlmtokError) as caught:
            slmtok.train(slmtok.Texts([text]), **cast("dict[str, Any]", options))
        assert len(caught.value.fact) < 600 and re.search(r"\[… 1,1\d\d characters …\]", caught.value.fact)
