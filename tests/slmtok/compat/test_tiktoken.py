"""The tiktoken-shaped class against tiktoken itself: the same calls, the same results, the same kinds of error."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
from shared_data import peer, tiktoken_cache

import slmtok
import slmtok.compat.tiktoken as ours
from slmtok.compat import as_tiktoken
from slmtok.errors import (
    InvalidPattern,
    InvalidRanks,
    OptionError,
    SpecialInText,
    UnknownId,
    UnknownSpecial,
    WrongType,
)

theirs = peer("tiktoken")
pytestmark = pytest.mark.peer

BYTES = {bytes([byte]): byte for byte in range(256)}
RANKS = {**BYTES, b"he": 256, b"ll": 257, b"hell": 258, b"hello": 259, b" w": 260}
SPECIALS = {"<|endoftext|>": 270, "<a>": 271}
ARGUMENTS = {"pat_str": r" ?[a-z]+|\s+|[^a-z\s]+", "mergeable_ranks": RANKS, "special_tokens": SPECIALS}
TEXTS = ["", "hello world", "hello <a> world<|endoftext|>", "<a><a>", "Ünïcödé 的件 🙂", "<|endoftext|"]


@pytest.fixture(scope="module")
def pair():
    return ours.Encoding("mine", **ARGUMENTS), theirs.Encoding("mine", **ARGUMENTS)


def outcome(call, *args, **kwargs):
    """What a call gives: a value, or the built-in kind of its error."""
    try:
        return call(*args, **kwargs)
    except Exception as error:
        kinds = (OverflowError, KeyError, UnicodeDecodeError, ValueError, TypeError)
        return next(kind for kind in kinds if isinstance(error, kind))


def same(pair, member, *args, **kwargs):
    got, want = (outcome(getattr(encoding, member), *args, **kwargs) for encoding in pair)
    assert got == want, (member, args, kwargs)
    return got


@pytest.mark.filterwarnings("ignore:allowed_special names 'unknown'")
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"allowed_special": "all"},
        {"allowed_special": {"<a>"}},
        {"allowed_special": {"<a>"}, "disallowed_special": ()},
        {"disallowed_special": ()},
        {"disallowed_special": {"<a>"}},
        {"allowed_special": "all", "disallowed_special": {"<a>"}},
        {"disallowed_special": {"world"}},
        {"allowed_special": {"unknown"}, "disallowed_special": ()},
        {"allowed_special": {"<a>"}, "disallowed_special": "all"},
    ],
)
def test_special_arguments(pair, text, options):
    same(pair, "encode", text, **options)
    same(pair, "encode_batch", [text, "hello", text], **options)
    got, want = (outcome(encoding.encode_to_numpy, text, **options) for encoding in pair)
    assert np.array_equal(got, want) if isinstance(want, np.ndarray) else got is want


def test_text_is_text(pair):
    for text in TEXTS:
        same(pair, "encode_ordinary", text)
    same(pair, "encode_ordinary_batch", TEXTS)
    same(pair, "encode_ordinary_batch", [])
    same(pair, "encode_batch", [], num_threads=1)
    for member in ("encode", "encode_ordinary", "encode_to_numpy"):
        for wrong in (b"hello", 7, None, ["hello"]):
            assert same(pair, member, wrong) is TypeError
    assert same(pair, "encode_batch", ["a"], num_threads=0) is ValueError
    assert same(pair, "encode_batch", [1]) is TypeError


def test_lone_surrogates_go_through_utf16(pair):
    for text in ("\ud800", "a\udfffb", "\ud83d\ude42", "hello \ud83d<a>"):
        same(pair, "encode_ordinary", text)
        same(pair, "encode", text, allowed_special="all")
        same(pair, "encode_ordinary_batch", [text, "hello"])


def test_numpy_is_read_only_uint32(pair):
    for text in ("hello", "hello <a>", ""):
        ids = pair[0].encode_to_numpy(text, allowed_special="all")
        assert ids.dtype == np.uint32
        assert not ids.flags.writeable


@pytest.mark.parametrize("token", ["hello", b"hello", "<a>", b"<a>", "h", b"\xff", "nothing", b"", "wo", 5, None])
def test_single_tokens(pair, token):
    same(pair, "encode_single_token", token)


@pytest.mark.parametrize(
    "tokens",
    [
        [],
        [259, 260, 111],
        (259, 271),
        [271, 270, 104],
        [261],
        [269],
        [-1],
        [2**32],
        [2**32 - 1],
        [261, -1],
        [0xE7, 0x9A, 0x84],
        [0xE7, 0x9A],
        [0xFF, 104],
        [1.5],
        ["a"],
        None,
        np.array([259, 104]),
    ],
)
def test_decoding(pair, tokens):
    for member in ("decode", "decode_bytes", "decode_tokens_bytes"):
        same(pair, member, tokens)
    for errors in ("strict", "ignore"):
        same(pair, "decode", tokens, errors)
        same(pair, "decode_batch", [tokens, [104]], errors=errors)
    same(pair, "decode_bytes_batch", [tokens, [104]], num_threads=2)


@pytest.mark.parametrize("token", [104, 259, 271, 261, -1, 2**32, 2**40, "a", 1.0])
def test_single_ids(pair, token):
    same(pair, "decode_single_token_bytes", token)


@pytest.mark.parametrize("text", ["hello world", "Ünïcödé 的件 🙂 x", "", "<a> 🙂"])
def test_offsets(pair, text):
    tokens = pair[1].encode(text, allowed_special="all")
    same(pair, "decode_with_offsets", tokens)


def test_what_it_is(pair):
    for member in ("name", "n_vocab", "max_token_value", "eot_token", "special_tokens_set"):
        assert getattr(pair[0], member) == getattr(pair[1], member), member
    for member in ("_pat_str", "_mergeable_ranks", "_special_tokens"):
        assert getattr(pair[0], member) == getattr(pair[1], member), member
        with pytest.raises(AttributeError):
            setattr(pair[0], member, None)
    assert repr(pair[0]) == repr(pair[1])
    assert pair[0].token_byte_values() == pair[1].token_byte_values()
    for token in (270, 271, 5, 10**9):
        same(pair, "is_special_token", token)
    assert pair[0]._encode_bytes(b"hello world") == pair[1]._encode_bytes(b"hello world")


def test_public_members_are_all_there(pair):
    missing = {name for name in dir(pair[1]) if not name.startswith("_")} - set(dir(pair[0]))
    assert not missing
    assert set(theirs.__all__ if hasattr(theirs, "__all__") else ()) <= set(dir(ours))
    for module in (theirs, ours):
        for name in (
            "encoding_for_model",
            "encoding_name_for_model",
            "get_encoding",
            "list_encoding_names",
            "Encoding",
        ):
            assert hasattr(module, name)
    assert ours.list_encoding_names() == theirs.list_encoding_names()


def test_encodings_of_models():
    assert ours.model.MODEL_TO_ENCODING == theirs.model.MODEL_TO_ENCODING
    assert ours.model.MODEL_PREFIX_TO_ENCODING == theirs.model.MODEL_PREFIX_TO_ENCODING
    models = [*ours.model.MODEL_TO_ENCODING, *(f"{prefix}x" for prefix in ours.model.MODEL_PREFIX_TO_ENCODING)]
    for name in (*models, "gpt-4o", "gpt-4", "gpt-4o-2024-05-13", "ft:gpt-4o:me", "gpt-4x", "", "nothing"):
        want = outcome(theirs.encoding_name_for_model, name)
        assert outcome(ours.encoding_name_for_model, name) == want, name
    with pytest.raises(KeyError, match="the model 'gpt-7' is not known"):
        ours.encoding_for_model("gpt-7")


@pytest.mark.shared
def test_the_encoding_of_a_model(monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tiktoken_cache()))
    assert ours.encoding_for_model("gpt-2").name == "gpt2"
    assert ours.encoding_for_model("gpt-3.5-turbo").encode("hello") == [15339]


def test_unstable_ends(pair):
    for text in (*TEXTS, "hello wor", "he", "h", " ", "a \n ", "x  ", "\u3000\u3000", "hello\n\n", "é"):
        for options in ({"disallowed_special": ()}, {"allowed_special": "all"}):
            (got, found), (want, expected) = (one.encode_with_unstable(text, **options) for one in pair)
            assert (got, found) == (want, sorted(map(list, expected))), text
    assert pair[0].encode_with_unstable("hel")[1]
    same(pair, "encode_with_unstable", "hello<a>")
    same(pair, "encode_with_unstable", 5)


@pytest.mark.shared
def test_unstable_ends_of_public_encodings(monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tiktoken_cache()))
    for name in ("gpt2", "cl100k_base"):
        both = ours.get_encoding(name), theirs.get_encoding(name)
        for text in ("hello fanta", "def f():\n    ", "naïv", "2024", "  !", "的件"):
            (got, found), (want, expected) = (one.encode_with_unstable(text) for one in both)
            assert (got, found) == (want, sorted(map(list, expected))), (name, text)


def test_tables_that_start_elsewhere():
    shifted = {token: rank + 16 for token, rank in RANKS.items()}
    arguments = {**ARGUMENTS, "mergeable_ranks": shifted, "special_tokens": {"<s>": 1}}
    pair = ours.Encoding("shifted", **arguments), theirs.Encoding("shifted", **arguments)
    for text in TEXTS:
        same(pair, "encode_ordinary", text)
    same(pair, "decode", [1, 120, 275])


# --- where we differ on purpose: both behaviours ---------------------------------------------------------------------


def test_text_outside_the_pattern_is_kept():
    arguments = {**ARGUMENTS, "pat_str": r"[a-zA-Z]+|[0-9]+|\s+"}
    text = "Hello, world! 3.14"
    mine, peer = ours.Encoding("gaps", **arguments), theirs.Encoding("gaps", **arguments)
    assert mine.decode(mine.encode(text)) == text
    assert peer.decode(peer.encode(text)) == "Hello world 314"


def test_end_of_text_is_found_by_role():
    tok = slmtok.train(slmtok.Texts(["low lower lowest"]), vocab_size=275, min_count=1)
    assert as_tiktoken(tok).eot_token == tok.specials["eos"] == 2
    arguments = {**ARGUMENTS, "special_tokens": {"</s>": 270}}
    with pytest.raises(KeyError):
        _ = theirs.Encoding("x", **arguments).eot_token
    with pytest.raises(UnknownSpecial, match="end of text"):
        _ = ours.Encoding("x", **arguments).eot_token


def test_offsets_of_bytes_that_are_no_utf8(pair):
    tokens = [104, 0xE7, 0x9A, 104, 0xFF, 0xF0, 0x9F, 0x99, 0x82, 105]
    with pytest.raises(UnicodeDecodeError):
        pair[1].decode_with_offsets(tokens)
    text, starts = pair[0].decode_with_offsets(tokens)
    assert text == "h\ufffdh\ufffd🙂i"
    assert starts == [0, 1, 1, 2, 3, 4, 4, 4, 4, 5]


def test_characters_are_those_of_the_decoder(pair):
    rng = np.random.default_rng(5)
    for _ in range(300):
        data = rng.choice([0x41, 0x80, 0x9F, 0xA0, 0xBF, 0xC1, 0xC3, 0xE0, 0xE7, 0xED, 0xF0, 0xF4, 0xF5], 12).tolist()
        text, starts = pair[0].decode_with_offsets(data)
        assert starts[-1] == len(text) - 1
        assert all(0 <= b - a <= 1 for a, b in pairwise(starts))


def test_a_lone_string_is_no_batch(pair):
    assert pair[1].encode_batch("he") == [[104], [101]]
    for member in ("encode_batch", "encode_ordinary_batch"):
        with pytest.raises(WrongType, match="must be a list of str, not str"):
            getattr(pair[0], member)("he")


def test_bad_sizes_are_value_errors():
    with pytest.raises(AssertionError):
        theirs.Encoding("x", **ARGUMENTS, explicit_n_vocab=300)
    with pytest.raises(OptionError, match="explicit_n_vocab is 300"):
        ours.Encoding("x", **ARGUMENTS, explicit_n_vocab=300)
    exact = {**ARGUMENTS, "special_tokens": {"<a>": 261}}
    assert ours.Encoding("x", **exact, explicit_n_vocab=262).n_vocab == 262


def test_bad_arguments():
    for bad in ("(", "[a", "a{"):
        if outcome(theirs.Encoding, "x", **{**ARGUMENTS, "pat_str": bad}) is ValueError:
            with pytest.raises(InvalidPattern):
                ours.Encoding("x", **{**ARGUMENTS, "pat_str": bad})
    with pytest.raises(InvalidRanks):
        ours.Encoding("x", **{**ARGUMENTS, "mergeable_ranks": {}})
    with pytest.raises(InvalidRanks, match="byte"):
        ours.Encoding("x", **{**ARGUMENTS, "mergeable_ranks": {b"a": 0}})


def test_pickles_carry_content(pair):
    for encoding in (pair[0], ours.get_encoding("r50k_base")):
        twin = pickle.loads(pickle.dumps(encoding))
        assert twin.encode_ordinary("hello world") == encoding.encode_ordinary("hello world")
        assert (twin.name, twin._special_tokens) == (encoding.name, encoding._special_tokens)
    assert copy.deepcopy(pair[0]).n_vocab == pair[0].n_vocab


def test_minbpe_spellings(pair):
    assert pair[0].encode("<a>", allowed_special="none") == pair[0].encode_ordinary("<a>")
    with pytest.raises(SpecialInText):
        pair[0].encode("<a>", allowed_special="none_raise")


def test_errors_are_ours_too(pair):
    with pytest.raises(UnknownId):
        pair[0].decode([261])
    with pytest.raises(UnknownId):
        pair[0].decode([-1])
