"""The tokenizer of a page, in V8: pieces and ids are those of the engine."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from importlib.resources import files
from itertools import pairwise
from typing import Any

import pytest
from py_mini_racer import MiniRacer, mini_racer
from shared_data import CORPORA, corpus_documents, tiktoken_cache

import slmtok
from slmtok._engine import Pattern, pattern_names
from slmtok.errors import InvalidPattern
from slmtok.pages.js_regex import to_js
from slmtok.pages.page_data import page_data
from slmtok.stories import story

# V8 alone has neither.
PRELUDE = """
class TextEncoder {
  encode(text) { return Array.from(unescape(encodeURIComponent(text)), (char) => char.charCodeAt(0)); }
}
let tokenizer;
function load(data) { tokenizer = new Tokenizer(JSON.parse(data)); return true; }
function encodeAll(texts) { return JSON.stringify(JSON.parse(texts).map((text) => tokenizer.encode(text))); }
function splitAll(pattern, texts) {
  const splitter = new Splitter(pattern);
  return JSON.stringify(JSON.parse(texts).map((text) => splitter.split(text)));
}
// The pieces after each edit, and how many of them were split again.
function editAll(pattern, isLocal, texts) {
  const splitter = new Splitter(pattern, isLocal);
  let before = "", pieces = [];
  return JSON.stringify(JSON.parse(texts).map((text) => {
    const { first, removed, inserted } = splitter.edit(before, pieces, text);
    pieces = pieces.slice(0, first).concat(inserted, pieces.slice(first + removed));
    before = text;
    return [pieces, inserted.length];
  }));
}
"""
CHARACTERS = [
    *("'", "S", "s", "ſ", "\u212a", "k", "K", "'LL", "\u00a0", " ", "  ", "\n", "\r", "\t", "1", "23", "٣", "é", "漢"),
    *("e\u0301", "😀", "👩‍👩‍👧", "\u200d", "\ufeff", "Ǆ", "ǅ", "\u202e", "\x00", "\x7f", "\u0600", "ا", "ﬀ", "²", "Ⅷ"),
    *(
        "_",
        "/",
        "🇩🇪",
        "\U000e0001",
        "\U0010fffd",
        "\ufffd",
        "\u0378",
        "ß",
        "ẞ",
        "the",
        "The",
        ".",
        "-",
        "\u2028",
        "\x85",
    ),
]
CUSTOM = [
    r"(?i:the|straße)|\p{Lu}(?>\w+)|(?<=\s)\d{1,}|[a-z&&[^aeiou]]+|[[:punct:]]+|(?m:^\s+$)|\b\w|(?s:.)",
    r"(a|é)\1|\S+?(?=\s)|\B.",
    r"(?P<c>[^\n])(?P=c)|\s+$",
    r"(?i)k+|[^\W\d_]{2,3}+|\x{1F600}|\u0027|\s{,2}\z",
    r".+|\n",
]


@pytest.fixture(scope="module")
def v8() -> Iterator[MiniRacer]:
    with mini_racer() as context:
        context.eval(PRELUDE + files("slmtok.pages").joinpath("tokenizer.js").read_text("utf-8"))
        yield context


def texts_of_characters(n: int) -> list[str]:
    draw = random.Random(5)
    return ["".join(draw.choices(CHARACTERS, k=draw.randrange(14))) for _ in range(n)]


def in_v8(v8: MiniRacer, tokenizer: slmtok.Tokenizer, texts: list[str]) -> Any:
    v8.call("load", json.dumps(page_data(tokenizer, "t")))
    return json.loads(str(v8.call("encodeAll", json.dumps(texts))))


@pytest.mark.parametrize("regex", [*map(str, pattern_names()), "char", "word", *CUSTOM])
def test_pieces_are_those_of_the_engine(v8: MiniRacer, regex: str) -> None:
    pattern, texts = Pattern(regex), texts_of_characters(1500)
    found = json.loads(str(v8.call("splitAll", to_js(pattern.regex), json.dumps(texts))))
    for text, pieces in zip(texts, found, strict=True):
        data = text.encode()
        bounds = pattern.split(data).tolist()
        assert pieces == [data[i:j].decode() for i, j in pairwise(bounds)], text


def edits_of_a_text(n: int) -> list[str]:
    """A text after each of some edits: characters inserted, removed and replaced anywhere."""
    draw = random.Random(9)
    texts = ["".join(draw.choices(CHARACTERS, k=300))]
    for _ in range(n):
        start = draw.randrange(len(texts[-1]) + 1)
        stop = start + draw.choice([0, 0, 1, 1, 2, 40])
        new = "".join(draw.choices(CHARACTERS, k=draw.choice([0, 1, 1, 2, 30])))
        texts.append(texts[-1][:start] + new + texts[-1][stop:])
    return [*texts, "", "a", texts[0]]


@pytest.mark.parametrize("regex", [*map(str, pattern_names()), "char", "word"])
def test_an_edit_splits_a_part_and_gives_the_same_pieces(v8: MiniRacer, regex: str) -> None:
    pattern, texts = to_js(Pattern(regex).regex), edits_of_a_text(600)
    whole = json.loads(str(v8.call("splitAll", pattern, json.dumps(texts))))
    found = json.loads(str(v8.call("editAll", pattern, True, json.dumps(texts))))
    assert [pieces for pieces, _ in found] == whole
    split_again = sum(n for _, n in found)
    assert split_again < sum(map(len, whole)) / 3 or regex == "whole"


def test_an_edit_under_any_other_pattern_splits_all_of_the_text(v8: MiniRacer) -> None:
    # The first piece depends on the last character.
    pattern, texts = to_js(r"a(?=.*z$)|."), ["a" * 100 + "z", "a" * 100 + "y", "a" * 100 + "z"]
    found = json.loads(str(v8.call("editAll", pattern, False, json.dumps(texts))))
    assert [n for _, n in found] == [101] * 3
    tok = slmtok.train(slmtok.Texts(["a b c d"]), vocab_size=272, pattern=r"\w+|\W", min_count=1)
    named = slmtok.train(slmtok.Texts(["a b c d"]), vocab_size=272, min_count=1)
    assert (page_data(tok, "t")["local"], page_data(named, "t")["local"]) == (False, True)


@pytest.mark.parametrize("regex", [r"(?x) a b", r"(?i)(a)\1", r"a\k<b>"])
def test_a_pattern_without_counterpart_is_refused(regex: str) -> None:
    with pytest.raises(InvalidPattern, match="no counterpart in a browser"):
        to_js(regex)


def test_ids_of_every_scheme(v8: MiniRacer) -> None:
    stories = [story(i) for i in range(300)]
    corpus = slmtok.Texts(stories)
    tokenizers = {
        "bpe": slmtok.train(corpus, vocab_size=2048),
        "o200k": slmtok.train(corpus, vocab_size=1000, pattern="o200k"),
        "word": slmtok.train(corpus, vocab_size=800, scheme="word", allow_smaller=True),
        "char": slmtok.train(corpus, vocab_size=800, scheme="char", allow_smaller=True),
        "byte": slmtok.train(corpus, scheme="byte"),
        "hf": slmtok.train(corpus, vocab_size=600, tie_break="hf", special={"mine": "the", "other": "ou"}),
    }
    assert any(len(merge) == 3 for merge in tokenizers["hf"].vocabulary.merges), "no merge spells a special"
    texts = [*stories[200:], *texts_of_characters(500), "a" * 5000, "the ou the", ""]
    for name, tokenizer in tokenizers.items():
        assert in_v8(v8, tokenizer, texts) == [tokenizer.encode_list(text) for text in texts], name


def test_ids_of_public_encodings(v8: MiniRacer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tiktoken_cache()))
    draw = random.Random(7)
    texts = texts_of_characters(500)
    for corpus in CORPORA:
        for document in draw.choices(corpus_documents(corpus), k=120):
            start = draw.randrange(len(document) + 1)
            texts.append(document[start : start + draw.randrange(400)])
    for name in ("gpt2", "cl100k_base", "o200k_base"):
        tokenizer = slmtok.from_tiktoken(name)
        assert in_v8(v8, tokenizer, texts) == [tokenizer.encode_list(text) for text in texts], name


def test_deep_groups_are_an_error() -> None:
    """They exceeded the stack of Python; the engine takes at most 250 levels."""
    regex = "(?:" * 249 + "a" + ")+" * 249
    with pytest.raises(InvalidPattern, match="nested"):
        to_js(f"{'(?i:' * 200}{regex}{')' * 200}")
