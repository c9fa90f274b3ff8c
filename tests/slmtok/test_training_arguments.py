"""Options that training refuses before it reads the corpus; the limits that it names for a corpus that is too small."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import slmtok
from slmtok import errors
from slmtok._engine import Pattern, pattern_names
from slmtok.formats.tiktoken import ENCODINGS
from slmtok.patterns import TIKTOKEN_PATTERNS, parse_pattern
from slmtok.training import report
from slmtok.vocabulary import MAX_IDS


class Unread:
    """A corpus that must not be read."""

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("the corpus was read")


BEFORE_READING = [
    ({"forbid_regex": "("}, errors.InvalidPattern, "forbid_regex='(' does not compile: unclosed group"),
    ({"forbid_regex": ""}, errors.OptionError, "forbid_regex is empty"),
    ({"forbid_regex": 5}, errors.WrongType, "forbid_regex must be a str, not int"),
    ({"require": ["foo bar"]}, errors.RequiredToken, 'b"foo bar" is split by the pattern after b"foo"'),
    ({"require": ["foo bar"], "scheme": "word"}, errors.RequiredToken, "b'foo bar' is not one piece of the pattern"),
    ({"require": ["fo"], "scheme": "char"}, errors.RequiredToken, "b'fo' is not one piece of the pattern"),
    ({"require": ["fo"], "scheme": "byte"}, errors.OptionError, "1 required tokens with scheme byte"),
    ({"require": ["foobar"], "vocab_size": 273}, errors.RequiredTooMany, "take 5 ids, there are 1"),
    ({"require": ["a b", "c"], "vocab_size": 272, "scheme": "word"}, errors.RequiredTooMany, "take 1 ids, there are 0"),
    ({"require": ["ab"], "max_token_bytes": 1}, errors.RequiredToken, "is refused by max_token_bytes"),
    ({"require": [5]}, errors.WrongType, "require takes str or bytes at index 0, not int 5"),
    ({"require": 5}, errors.WrongType, "require takes many tokens, not int"),
    ({"require": "zebra"}, errors.WrongType, "require takes many tokens, not str"),
    ({"max_token_bytes": -1}, errors.OptionError, "max_token_bytes=-1 is out of range"),
    ({"threads": -1}, errors.OptionError, "threads=-1 is out of range"),
    ({"max_doc_chars": 0}, errors.OptionError, "max_doc_chars=0 is out of range"),
    ({"tie_break": "first"}, errors.OptionError, "rank, bytes-greatest, hf"),
    ({"scheme": "wordpiece"}, errors.OptionError, "bpe, word, char, byte"),
    ({"pattern": "(a"}, errors.InvalidPattern, "(a"),
    ({"vocab_size": MAX_IDS + 1}, errors.OptionError, f"vocab_size={MAX_IDS + 1} is out of range"),
    ({"vocab_size": 500.5}, errors.WrongType, "vocab_size must be an integer, not float 500.5"),
    ({"vocab_size": True}, errors.WrongType, "vocab_size must be an integer, not bool True"),
    ({"vocab_size": -1}, errors.VocabularyTooSmall, "vocab_size=-1 is below the minimum size"),
    ({"min_count": 10**30}, errors.OptionError, "min_count=1000000000000000000000000000000 is out of range"),
    ({"min_count": 0}, errors.OptionError, "min_count=0 is out of range"),
    ({"max_token_bytes": 1 << 32}, errors.OptionError, "at most 4294967295"),
    ({"max_token_chars": -1}, errors.OptionError, "0 or more"),
    ({"threads": 10**30}, errors.OptionError, "threads=1000000000000000000000000000000 is out of range"),
    ({"max_doc_chars": 3.5}, errors.WrongType, "max_doc_chars must be an integer, not float 3.5"),
    ({"max_bytes": 10**30}, errors.OptionError, "max_bytes=1"),
    ({"max_chars": 0}, errors.OptionError, "1 or more"),
    ({"special": {"bos": 5}}, errors.WrongType, "the role 'bos' is spelled 5"),
    ({"special": "bos"}, errors.WrongType, "spellings must be a dict from role to spelling, not str"),
    ({"special": {"bos": "</s>"}}, errors.InvalidSpecials, "spelling '</s>' belongs to special ids 1 and 2"),
    ({"scheme": 5}, errors.OptionError, "scheme=5 is unknown"),
    ({"tie_break": ["rank"]}, errors.OptionError, "tie_break=['rank'] is unknown"),
    ({"format": 5}, errors.OptionError, "format=5 is unknown"),
    ({"text_key": ["title", "text"]}, errors.WrongType, "fix:   text_template='{title} {text}'"),
    ({"text_key": 5}, errors.WrongType, "text_key must be a str, not int"),
    ({"progress": 5}, errors.WrongType, "progress must be a function"),
    ({"pattern": "cl100"}, errors.UnknownName, "unknown pattern 'cl100'; did you mean 'cl100k'?"),
    ({"pattern": ""}, errors.OptionError, "pattern is empty"),
    ({"pattern": 5}, errors.WrongType, "pattern must be a str, not int"),
]


@pytest.mark.parametrize(("options", "kind", "fact"), BEFORE_READING)
def test_options_are_checked_before_the_corpus_is_read(options, kind, fact) -> None:
    with pytest.raises(kind) as caught:
        slmtok.train(Unread(), **options)
    assert fact in str(caught.value)
    assert caught.value.fix, str(caught.value)


def test_the_remedy_for_another_type_than_str_is_the_text_that_it_holds() -> None:
    tok = slmtok.train(slmtok.Texts(["once upon a time " * 9]), vocab_size=280, pattern="gpt2")
    regex = slmtok.train(slmtok.Texts(["once upon a time " * 9]), vocab_size=280, pattern=" ?[a-z]+|.")
    for option, value, fix in (
        ("separator", ["\n\n", "\n"], r"separator='\n\n', or separator='\n'"),
        ("separator", b"\n\n", r"separator='\n\n'"),
        ("separator", 5, "separator='<|endoftext|>', for instance"),
        ("separator", [b"\xff"], "separator='<|endoftext|>', for instance"),
        ("pattern", tok, "pattern='gpt2'"),
        ("pattern", tok.pattern, "pattern='gpt2'"),
        ("pattern", regex, "pattern=' ?[a-z]+|.'"),
    ):
        with pytest.raises(errors.WrongType) as caught:
            slmtok.train(Unread(), **{option: value})
        assert caught.value.fix == fix


def test_numpys_integers_are_integers() -> None:
    texts = slmtok.Texts(["once upon a time " * 9])
    options = {
        "vocab_size": np.int64(280),
        "min_count": np.uint8(2),
        "threads": np.int32(1),
        "max_doc_chars": np.int16(99),
    }
    tok = slmtok.train(texts, **options)
    assert tok == slmtok.train(texts, vocab_size=280, min_count=2, max_doc_chars=99)
    assert json.loads(tok.to_bytes())["options"]["vocab"] == 280
    assert slmtok.slice(tok, np.int64(275)) == slmtok.slice(tok, 275)
    with pytest.raises(errors.WrongType, match="must be an integer, not float 275"):
        slmtok.slice(tok, 275.0)


def test_what_a_corpus_may_provide_is_not_refused_before_reading() -> None:
    """Leftmost first, `ab` would come; it is forbidden. In the text `bc` is merged before."""
    options = {"forbid_regex": "^ab$|^abc$", "require": ["abcd"], "allow_smaller": True}
    tok = slmtok.train(slmtok.Texts(["bc bcd bcd bcd bcd xbcd xbcd"]), vocab_size=300, **options)
    assert tok.token_id(b"abcd") is not None


def test_required_tokens_come_last_or_for_whole_words_first() -> None:
    texts = slmtok.Texts(["once upon a time there was a fox " * 20])
    tok = slmtok.train(texts, vocab_size=290, require=[" zebu"])
    assert tok.token_id(b" zebu") == 289
    words = slmtok.train(texts, vocab_size=276, scheme="word", require=["zebu"])
    assert words.token_id(b"zebu") == 272


# --- too small a corpus ----------------------------------------------------------------------------------------------

TEXT = "once upon a time there was a fox, and the fox was happy; " * 3 + "end"
BIT = [
    # A smaller min_count gives some more ids, and not 8192.
    ({}, "min_count=2", "vocab_size="),
    ({"vocab_size": 310}, "min_count=2", "min_count=1"),
    ({"min_count": 1}, "the 183 bytes of the corpus have no more to learn", "vocab_size="),
    ({"max_token_bytes": 3}, "max_token_bytes=3 (refused ", "a larger max_token_bytes"),
    ({"max_token_chars": 3}, "max_token_chars=3 (refused ", "a larger max_token_chars"),
    ({"forbid_regex": "o"}, "forbid_regex='o' (refused ", "allow_smaller=True"),
    ({"max_doc_chars": 40}, "max_doc_chars=40 (truncated 1 document)", "a larger max_doc_chars"),
    ({"max_bytes": 60}, "max_bytes=60 (the rest was not read)", "a larger max_bytes"),
    ({"max_chars": 60}, "max_chars=60 (the rest was not read)", "a larger max_chars"),
]


@pytest.mark.parametrize(("options", "limit", "remedy"), BIT)
def test_the_limits_that_applied_are_named(options, limit, remedy) -> None:
    with pytest.raises(errors.CorpusTooSmall) as caught:
        slmtok.train(slmtok.Texts([TEXT, TEXT[:9]]), **{"vocab_size": 8192, **options})
    assert limit in caught.value.limit
    assert remedy in caught.value.fix
    named = {part.split("=")[0] for part in caught.value.limit.split(", ") if "=" in part}
    assert named <= {"min_count", *options}


def test_a_list_of_refused_tokens_that_ends_says_so(monkeypatch) -> None:
    monkeypatch.setattr(report, "MAX_REFUSALS", 5)
    with pytest.raises(errors.CorpusTooSmall, match=r"max_token_bytes=3 \(refused at least \d+ tokens\)"):
        slmtok.train(slmtok.Texts([TEXT, TEXT[:9]]), vocab_size=8192, max_token_bytes=3)


def test_skipped_records_are_named(tmp_path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "low low low"}\n{"title": 1}\n')
    with pytest.warns(UserWarning, match="1 malformed"), pytest.raises(errors.CorpusTooSmall) as caught:
        slmtok.train(str(tmp_path / "a.jsonl"), skip_malformed=True)
    assert "skip_malformed=True (left out 1 record)" in caught.value.limit


# --- names of patterns -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slip", "meant"),
    [("cl100", "cl100k"), ("GPT2", "gpt2"), ("gpt-2", "gpt2"), ("o200", "o200k"), ("slmm", "slm"), ("Whole", "whole")],
)
def test_a_misspelled_pattern_name_is_no_regex(slip, meant) -> None:
    with pytest.raises(errors.UnknownName, match=f"did you mean '{meant}'"):
        parse_pattern(slip)
    assert parse_pattern(f"(?:{slip})").regex == f"(?:{slip})"


def test_names_of_encodings_suggest_their_pattern() -> None:
    assert {name: ENCODINGS[name].pattern for name in TIKTOKEN_PATTERNS} == TIKTOKEN_PATTERNS
    for name, pattern in TIKTOKEN_PATTERNS.items():
        with pytest.raises(errors.UnknownName, match=f"did you mean '{pattern}'"):
            parse_pattern(name)


@pytest.mark.parametrize("word", ["gpt3", "abc", "cl", "x-y"])
def test_a_word_is_no_regex(word) -> None:
    with pytest.raises(errors.UnknownName) as caught:
        parse_pattern(word)
    assert f"unknown pattern {word!r}" in caught.value.fact
    assert all(name in str(caught.value.limit) for name in pattern_names())
    assert f"pattern='(?:{word})'" in str(caught.value.fix)


def test_a_size_given_as_text_suggests_the_number() -> None:
    with pytest.raises(errors.WrongType) as caught:
        slmtok.train(slmtok.Texts(["a"]), vocab_size="300")  # type: ignore[arg-type]
    assert str(caught.value) == "vocab_size must be an integer, not str '300'\n  fix:   vocab_size=300"
    with pytest.raises(errors.WrongType, match="not str 'many'") as caught:
        slmtok.train(slmtok.Texts(["a"]), vocab_size="many")  # type: ignore[arg-type]
    assert str(caught.value.fix) == "vocab_size=8192, for instance"


def test_names_and_other_regexes_are_accepted() -> None:
    for name in [*pattern_names(), "word", "char"]:
        assert parse_pattern(name).name == name
    for regex in ("(?:abc)", r"\w+|\W", "x|y", "[a-z]+"):
        assert parse_pattern(regex).regex == Pattern(regex).regex == regex


def test_an_option_without_effect_is_refused_by_the_functions_too(tmp_path: Path) -> None:
    texts = slmtok.Texts(["a fox saw a fox. " * 20])
    counts = slmtok.count(texts)
    text = tmp_path / "a.txt"
    text.write_text("a fox saw a fox. " * 20)
    for call, fact in [
        (lambda: slmtok.count(text, seed=3), "seed=3 has no effect without sample"),
        (lambda: slmtok.count(text, skip_malformed=True), "skip_malformed=True leaves out records"),
        (lambda: slmtok.count(texts, skip_malformed=True), "skip_malformed=True says how files are read"),
        (lambda: slmtok.train(counts, vocab_size=280, memory="1GB"), "memory='1GB' has no effect on counts"),
        (lambda: slmtok.train(texts, scheme="byte", min_count=3), "min_count=3 has no effect with scheme byte"),
    ]:
        with pytest.raises(errors.OptionError, match=re.escape(fact)):
            call()


def test_an_error_says_that_the_iterator_of_the_corpus_is_read() -> None:
    """The fix with the same generator would have trained on what was left of it."""
    read = "the corpus is an iterator, which is read by now: make it anew for the next call"
    calls = [
        lambda texts: slmtok.train(texts, vocab_size=3000),
        lambda texts: slmtok.train(slmtok.Texts(texts), vocab_size=3000),
    ]
    for call in calls:
        for texts in ((each for each in ["aa", "b"]), iter(["aa", "b"]), map(str, ["aa", "b"])):
            with pytest.raises(errors.CorpusTooSmall) as small:
                call(texts)
            assert str(small.value.where).endswith(f"; {read}")
    for function in (slmtok.train, slmtok.count):
        with pytest.raises(errors.WrongType) as wrong:
            function(each for each in ["aa", 3])  # type: ignore[arg-type,misc]
        assert wrong.value.where == read
    unread = (each for each in ["aa"])
    with pytest.raises(errors.VocabularyTooSmall) as option:
        slmtok.train(unread, vocab_size=3)
    assert read not in str(option.value) and next(unread) == "aa"
    with pytest.raises(errors.CorpusTooSmall) as small:
        slmtok.train(slmtok.Texts(["aa"]), vocab_size=3000)
    assert read not in str(small.value)
