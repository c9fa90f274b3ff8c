"""Colliding names of specials: spellings that are roles, exchanged spellings, views. Each name gives one id."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slmtok
import slmtok.compat.tiktoken as ours
from slmtok import errors
from slmtok.compat import as_hf, as_tiktoken
from slmtok.specials import default_specials

BYTES = {bytes([byte]): byte for byte in range(256)}
FOREIGN: list[dict[str, int]] = [
    {"<s>": 300},
    {"<s>": 300, "</s>": 301},
    {"</s>": 301, "<s>": 300, "<|s|>": 302},
    {"</s>": 300, "<|endoftext|>": 301},
    {"eos": 300, "<|endoftext|>": 301},
    {"<s>": 300, "s": 301, "bos": 302},
    {"<a b>": 300, "<a_b>": 301, "a_b_301": 302, "a_b": 303},
    {"unk": 300, "<unk>": 301},
    {"★": 300, "☆": 301, "<>": 302},
]


@pytest.fixture
def ranks(tmp_path: Path) -> Path:
    path = tmp_path / "bytes.tiktoken"
    path.write_bytes(b"".join(b64encode(token) + b" %d\n" % rank for token, rank in BYTES.items()))
    return path


@pytest.mark.parametrize("specials", FOREIGN)
def test_a_foreign_special_is_found_by_its_spelling(ranks, specials) -> None:
    tok = slmtok.from_tiktoken(ranks, pattern="gpt2", specials=specials)
    assert sorted(tok.specials.values()) == sorted(specials.values())
    encoding = as_tiktoken(tok)
    for text, id in specials.items():
        assert tok.encode_list(text, allow_special={text}) == [id]
        assert tok.encode_segments([slmtok.Special(text)]).ids.tolist() == [id]
        assert tok.specials.find(text).id == id
        assert tok.decode([id]) == text
        assert encoding.encode(text, allowed_special="all") == [id]
        assert text == "s" or encoding.encode_single_token(text) == id  # the ordinary token s comes first
        assert tok.encode_list(text) == list(text.encode())
    for role, id in tok.specials.items():
        assert tok.specials.find(role).id == id
    assert slmtok.Tokenizer.from_bytes(tok.to_bytes()) == tok


def test_known_spellings_have_the_usual_roles(ranks) -> None:
    tok = slmtok.from_tiktoken(ranks, pattern="gpt2", specials={"<s>": 300, "</s>": 301})
    assert tok.encode_list("a", bos=True, eos=True) == [300, 97, 301]


def test_a_name_belongs_to_one_special() -> None:
    with pytest.raises(
        errors.InvalidSpecials, match="'bos' is the role of special id 1 and the spelling of 6"
    ) as caught:
        default_specials({"user": "bos"})
    assert caught.value.fix == "special={'user': '<|user|>'}"
    assert default_specials({"user": "user"}).find("user").id == 6


@pytest.fixture(scope="module")
def tok() -> slmtok.Tokenizer:
    return slmtok.train(slmtok.Texts(["once upon a time <s> " * 50]), vocab_size=280)


SPELLED: list[dict[str, str]] = [
    {},
    {"bos": "</s>", "eos": "<s>"},
    {"bos": "</s>", "eos": "<mask>", "mask": "<s>"},
    {"bos": "<|reserved_6|>"},
    {"bos": "<|bos|>", "eos": "<|endoftext|>"},
]


@pytest.mark.parametrize("spell", SPELLED)
def test_a_view_has_every_special_once(tok, spell) -> None:
    _check(tok, spell)
    _check(tok.with_special("user", "<|reserved_7|>"), spell)
    _check(tok.with_special("reserved_8", "<|x|>"), spell)


def _check(tok: slmtok.Tokenizer, spell: dict[str, str]) -> None:
    view = as_tiktoken(tok, spell)
    assert sorted(view._special_tokens.values()) == list(range(16))
    for role, text in spell.items():
        assert view._special_tokens[text] == tok.specials[role]
    for text, id in view._special_tokens.items():
        assert view.encode(f"a{text}", allowed_special="all") == [*tok.encode_list("a"), id]
        assert view.decode([id]) == text
    for token in tok.specials.tokens:
        if token.role is not None and token.role not in spell:
            assert view._special_tokens[token.text] == token.id


def test_a_view_refuses_a_spelling_that_is_taken(tok) -> None:
    with pytest.raises(errors.InvalidSpecials, match="spelling '</s>' belongs to special ids 1 and 2"):
        as_tiktoken(tok, {"bos": "</s>"})


# --- the arguments of tiktoken's class, beside tiktoken --------------------------------------------------------------


@pytest.fixture(scope="module")
def theirs() -> Any:
    return pytest.importorskip("tiktoken")


def _both(theirs: Any) -> list[Any]:
    tables = {"pat_str": r"\w+|\W", "mergeable_ranks": BYTES, "special_tokens": {"<a>": 256, "<ab>": 257}}
    return [module.Encoding("x", **tables) for module in (theirs, ours)]


@pytest.mark.parametrize("disallowed", [None, (), "", {}, [], {"all"}])
def test_nothing_is_disallowed(theirs, disallowed) -> None:
    for encoding in _both(theirs):
        assert encoding.encode("x<a>", disallowed_special=disallowed) == list(b"x<a>")
        assert encoding.encode_to_numpy("x<a>", disallowed_special=disallowed).tolist() == list(b"x<a>")


def test_none_is_refused_for_batches(theirs) -> None:
    for encoding in _both(theirs):
        with pytest.raises(TypeError):
            encoding.encode_batch(["x"], disallowed_special=None)
        with pytest.raises(TypeError):
            encoding.encode("x", allowed_special=None)


def test_more_threads_than_possible(theirs) -> None:
    for encoding in _both(theirs):
        assert encoding.encode_batch(["a", "b"], num_threads=10**30) == [[97], [98]]


def test_an_invalid_id_of_a_batch_is_reported_with_its_document(theirs) -> None:
    encoding = _both(theirs)[1]
    with pytest.raises(OverflowError, match="at position 1 is no token") as caught:
        encoding.decode_batch([[1], [2, 10**30]])
    assert caught.value.where == "document 1"
    with pytest.raises(KeyError) as unknown:
        encoding.decode_batch([[1], [2, 999]])
    assert unknown.value.where == "position 1 of document 1"


TABLES: list[tuple[dict[str, Any], type[errors.SlmtokError], str]] = [
    ({"mergeable_ranks": {**BYTES, b"ab": 10**30}}, errors.InvalidRanks, "the rank of b'ab' is 1000"),
    ({"mergeable_ranks": {**BYTES, b"ab": -1}}, errors.InvalidRanks, "the rank of b'ab' is -1"),
    ({"mergeable_ranks": {**BYTES, b"ab": 1.5}}, errors.WrongType, "the rank of b'ab' is float 1.5"),
    ({"mergeable_ranks": {**BYTES, "ab": 300}}, errors.WrongType, "a token is bytes, not str 'ab'"),
    ({"mergeable_ranks": [b"a"]}, errors.WrongType, "mergeable_ranks must be a dict, not list"),
    ({"mergeable_ranks": {}}, errors.InvalidRanks, "mergeable_ranks is empty"),
    ({"special_tokens": {"<x>": 10**30}}, errors.InvalidSpecials, "the id of '<x>' is 1000"),
    ({"special_tokens": {"<x>": -1}}, errors.InvalidSpecials, "the id of '<x>' is -1"),
    ({"special_tokens": {"<x>": None}}, errors.WrongType, "the id of '<x>' is NoneType None"),
    ({"special_tokens": {"<x>": 300, "<y>": 300}}, errors.InvalidSpecials, "'<y>' has id 300, which '<x>' has"),
    ({"special_tokens": {"<x>": 5}}, errors.InvalidSpecials, "'<x>' has id 5, which b'\\x05' has"),
    ({"special_tokens": {b"<x>": 300}}, errors.WrongType, "the spelling of a special token must be a str"),
    ({"special_tokens": ["<x>"]}, errors.WrongType, "special_tokens must be a dict, not list"),
    ({"name": 5}, errors.WrongType, "the name of an encoding must be a str"),
    ({"pat_str": "cl100"}, errors.UnknownName, "did you mean 'cl100k'"),
    ({"explicit_n_vocab": 10**30}, errors.OptionError, "there are 256 tokens"),
]


@pytest.mark.parametrize(("changed", "kind", "fact"), TABLES)
def test_invalid_tables(changed, kind, fact) -> None:
    with pytest.raises(kind) as caught:
        ours.Encoding(**{"name": "x", "pat_str": r"\w+|\W", "mergeable_ranks": BYTES, "special_tokens": {}, **changed})
    assert fact in str(caught.value) and caught.value.fix


def test_numpy_integers_become_int() -> None:
    ranks = {token: np.int64(rank) for token, rank in BYTES.items()}
    encoding = ours.Encoding("x", pat_str="gpt2", mergeable_ranks=ranks, special_tokens={"<x>": np.uint16(256)})
    assert [type(id) for id in encoding.encode("a<x>", allowed_special="all")] == [int, int]


def test_the_name_of_a_spelling_of_another_tokenizer_is_not_a_role_alone() -> None:
    tok = slmtok.train(slmtok.Texts(["the cat sat on the mat. " * 20]), vocab_size=280)
    with pytest.raises(errors.UnknownSpecial) as caught:
        tok.encode("a<|endoftext|>", allow_special={"endoftext"})
    call, _, rest = str(caught.value.fix).partition("; ")
    assert rest == "here eos is spelled '</s>', and afterwards 'eos' names it"
    names = {"tok": tok}
    exec(call, names)
    assert names["tok"].encode_list("a<|endoftext|>", allow_special={"eos"})[-1] == tok.specials.eos
    with pytest.raises(errors.UnknownSpecial) as caught:
        names["tok"].encode("a<|endoftext|>", allow_special={"endoftext"})
    assert caught.value.fix == "use 'eos'"


def test_an_allowed_role_that_the_text_spells_otherwise_is_warned_of() -> None:
    tok = slmtok.train(slmtok.Texts(["the cat sat on the mat. " * 20]), vocab_size=280)
    with pytest.warns(UserWarning, match=r"'<\|endoftext\|>' of the text is no special token .*'eos', '<"):
        tok.encode("a<|endoftext|>", allow_special={"eos"})


def test_a_fix_adds_a_special_only_where_an_id_is_reserved_for_it(ranks: Path) -> None:
    """`with_special` of a vocabulary without reserved ids raised the next error."""
    tok = slmtok.from_tiktoken(ranks, pattern="gpt2", specials={"<|endoftext|>": 300})
    for name in ("<|im_start|>", "im_start", "user"):
        for call in (
            lambda name=name: tok.encode("hi", allow_special={name}),
            lambda name=name: tok.specials[name],
            lambda name=name: tok.encode_segments([slmtok.Special(name)]),
        ):
            with pytest.raises(errors.UnknownSpecial) as caught:
                call()
            fix = str(caught.value.fix)
            assert "with_special" not in fix and fix.startswith(
                "use one of the roles, or leave it out; no id is reserved"
            )
            assert fix.endswith("spelled '<|endoftext|>'")
    with pytest.raises(errors.UnknownSpecial) as caught:
        tok.encode("hi", allow_special={"<|endoftex|>"})
    assert caught.value.fix == "use '<|endoftext|>'"
    with pytest.raises(errors.WrongType) as wrong:
        tok.encode_segments([{"role": "user", "content": "hi"}])
    assert "with_special" not in str(wrong.value)
    for access in (
        lambda: tok.pad_token_id,
        lambda: setattr(tok.specials, "user", "<u>"),
        lambda: setattr(as_hf(tok), "pad_token", "[PAD]"),
        lambda: as_hf(tok).apply_chat_template,
    ):
        with pytest.raises(AttributeError) as refused:
            access()
        assert "with_special" not in str(refused.value)
    assert slmtok.train(slmtok.Texts(["aa " * 20]), vocab_size=272).specials.call_with({"a": "<a>", "b": "<b>"}) == (
        "tok.with_special('a', '<a>').with_special('b', '<b>')"
    )
