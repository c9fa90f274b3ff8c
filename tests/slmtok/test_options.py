"""`slmtok.options`: what the fields say, what construction refuses, and how errors write the names of options."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import pytest

from slmtok.errors import OptionError, Setting, SlmtokError, UnknownOption, VocabularyTooSmall, WrongType
from slmtok.options import (
    CountOptions,
    PackOptions,
    ReadOptions,
    TrainOptions,
    build_options,
    changed_options,
    describe_options,
    flag_of,
    option_specs,
)

CLASSES = (ReadOptions, CountOptions, TrainOptions, PackOptions)


def flags(setting: Setting) -> str:
    return flag_of(setting.name) + (f" {setting.value}" if setting.has_value else "")


@pytest.mark.parametrize("cls", CLASSES)
def test_every_field_is_an_option_with_help(cls: type[ReadOptions]) -> None:
    specs = list(option_specs(cls))
    assert [name for name, _, _ in specs] == [field.name for field in dataclasses.fields(cls)]
    for name, _, spec in specs:
        assert spec.help.endswith("."), name
        assert spec.metavar or spec.choices or isinstance(spec.default, bool) or spec.default is None, name
        assert getattr(cls(), name) == spec.default, name
    assert describe_options(cls).count("\n") == len(specs) - 1


def test_flags_are_distinct() -> None:
    for cls in (TrainOptions, PackOptions):
        spellings = [flag for name, _, spec in option_specs(cls) for flag in (flag_of(name), *spec.aliases)]
        assert len(spellings) == len(set(spellings))
    assert flag_of("vocab_size") == "--vocab"
    assert flag_of("max_doc_chars") == "--max-doc-chars"
    assert flag_of("anything_else") == "--anything-else"


REFUSED: list[tuple[dict[str, object], type[SlmtokError], str, str]] = [
    ({"vocab_size": 100}, VocabularyTooSmall, "vocab_size=100 is below the minimum", "--vocab 100 is below"),
    ({"vocab_size": 300, "scheme": "byte"}, OptionError, "vocab_size=300 with scheme byte", "leave --vocab out"),
    ({"vocab_size": "4096"}, WrongType, "fix:   vocab_size=4096", "fix:   --vocab 4096"),
    ({"tie_break": "rnk"}, OptionError, "did you mean 'rank'", "--tie-break rank"),
    ({"min_count": 0}, OptionError, "min_count=0 is out of range", "--min-count 1, or more"),
    ({"allow_smaller": 1}, WrongType, "allow_smaller is True or False", "--allow-smaller"),
    ({"memory": "3"}, OptionError, "memory='3' is too small", "--memory 3GB"),
    ({"sample": 2}, OptionError, "sample=2 is not a share", "--sample 0.02"),
    ({"separator": "x", "document": "line"}, OptionError, "document='line' together", "leave --document out"),
    ({"text_template": "{a", "text_key": "b"}, OptionError, "is not a template", "--text-template"),
    (
        {"domains": {"a": 2}},
        WrongType,
        "domains takes globs, not int 2\n  fix:   domains={'a': 'GLOB'} with a glob that matches its files; "
        "its weight in training is mix={'a': 2}",
        "--domain takes globs, not int 2\n",
    ),
    ({"domains": {"a": [1]}}, WrongType, "domains takes globs", "--domain takes globs"),
    ({"mix": {"a": "1/0"}}, OptionError, "mix gives 'a' the weight '1/0'", "--mix gives"),
    ({"require": "the"}, WrongType, "require takes many tokens", "--require"),
]


@pytest.mark.parametrize(("keywords", "kind", "python", "command"), REFUSED)
def test_errors_write_options_as_their_reader_does(
    keywords: dict[str, object], kind: type[SlmtokError], python: str, command: str
) -> None:
    with pytest.raises(kind) as caught:
        build_options(TrainOptions, None, keywords)
    error = caught.value
    assert python in str(error)
    assert command in error.render(flags)
    assert error.fields["option"] in keywords
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.to_dict(), again.render(flags)) == (kind, error.to_dict(), error.render(flags))


def test_an_unknown_keyword_names_the_nearest() -> None:
    with pytest.raises(UnknownOption, match=r"unknown option 'vocab'; did you mean 'vocab_size'\?"):
        build_options(TrainOptions, None, {"vocab": 300})
    with pytest.raises(TypeError, match="max_token_bytes"):
        build_options(TrainOptions, None, {"max_token_byte": 3})


@pytest.mark.parametrize(
    ("wrong", "fix"),
    [
        (
            {"model_type": "bpe", "character_coverage": 0.9995},
            "for model_type scheme='bpe'; "
            "for character_coverage leave it out: the 256 bytes of each tokenizer cover every character",
        ),
        ({"vocab_sise": 300, "foo": 1}, "for vocab_sise vocab_size=300; for foo help(slmtok.train)"),
        ({"foo": 1, "bar": 2}, "help(slmtok.train)"),
    ],
)
def test_all_unknown_keywords_are_named_at_once(wrong: dict[str, Any], fix: str) -> None:
    with pytest.raises(UnknownOption) as caught:
        build_options(TrainOptions, None, wrong)
    assert caught.value.fact == f"unknown options {', '.join(map(repr, wrong))}"
    assert caught.value.fix == fix
    assert caught.value.fields["option"] == next(iter(wrong))


def test_options_and_keywords_together() -> None:
    options = TrainOptions(vocab_size=300, max_bytes=10)
    assert build_options(TrainOptions, options, {"vocab_size": 400}) == TrainOptions(vocab_size=400, max_bytes=10)
    assert build_options(TrainOptions, options) is not None
    assert changed_options(options, ("max_bytes", "max_chars")) == ["max_bytes"]
    with pytest.raises(WrongType, match="options must be TrainOptions"):
        build_options(TrainOptions, 8192)  # type: ignore[type-var]


def test_what_files_record() -> None:
    assert TrainOptions().train_record() == {
        "vocab": 8192,
        "ties": "rank",
        "min_count": 2,
        "max_token_bytes": 64,
        "max_token_chars": 0,
        "forbid_regex": None,
        "require": [],
        "allow_smaller": False,
    }
    read = {"format": "auto", "document": "file", "text_key": "text", "skip_malformed": False}
    assert ReadOptions().read_record() == read
    assert CountOptions().count_record() == {**read, "doc_cap": None, "max_chars": None, "max_bytes": None}
    some = CountOptions(sample=0.5, seed=3, max_doc_chars=7, domains={"a": "*.py"}, exclude="*.c")
    assert some.read_record() == {
        **read,
        "sample": 0.5,
        "seed": 3,
        "doc_cap": 7,
        "domains": {"a": ["*.py"]},
        "exclude": ["*.c"],
    }
    assert some.count_record()["sample"] == "0.5"
    assert some.count_record()["domains"] == ["a=*.py"]
    assert PackOptions().pack_record() == {
        "val": "auto",
        "shard_tokens": 1 << 27,
        "max_tokens": None,
        "max_chunks": None,
    }


def test_a_name_that_is_no_option_is_answered_by_those_that_are() -> None:
    """In the constructor and in a mapping as for keywords: left out, it would change what was meant."""
    for given in (lambda each: TrainOptions(**each), lambda each: build_options(TrainOptions, each)):
        with pytest.raises(UnknownOption, match="unknown option 'zzqq'\n  limit: known: allow_smaller") as caught:
            given({"zzqq": 3})
        assert caught.value.fix == "help(slmtok.train)"
        with pytest.raises(UnknownOption, match="did you mean 'vocab_size'") as caught:
            given({"vocab_siz": 300})
        assert caught.value.fix == "vocab_size=300"
    with pytest.raises(WrongType, match="options must be TrainOptions, not dict") as wrong:
        build_options(TrainOptions, {"vocab_size": 300})  # type: ignore[type-var]
    assert wrong.value.fix == "**options, without options="
