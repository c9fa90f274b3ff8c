"""Calls that scripts for `transformers` make: each gives what the installed `transformers` gives."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from shared_data import peer

import slmtok
from slmtok.compat import as_hf
from slmtok.compat.hf import HFTokenizer
from slmtok.errors import OptionError, WrongType

pytestmark = pytest.mark.peer

TEXT = "Größe 今 fox, 12 a"
IDS = [1, 113, 286, 127, 136]
Pair = tuple[Any, HFTokenizer]


def tensor(values: Any) -> Any:
    return peer("torch").tensor(values)


@pytest.fixture
def pair(bpe400: slmtok.Tokenizer, reference: Callable[..., Any]) -> Pair:
    return reference(), as_hf(bpe400)


def as_lists(value: Any) -> Any:
    """A result as (type, content) that can be compared."""
    if isinstance(value, dict) or hasattr(value, "keys"):
        return {name: as_lists(value[name]) for name in value.keys()}  # noqa: SIM118  (BatchEncoding iterates rows)
    return (type(value), str(value.dtype), value.tolist()) if hasattr(value, "tolist") else value


def same(pair: Pair, call: Callable[[Any], Any]) -> Any:
    """The result of our object, after comparing it with that of `transformers`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, ours = (as_lists(call(one)) for one in pair)
    assert ours == theirs
    return ours


ROWS: list[Callable[[], Any]] = [
    lambda: [np.int64(id) for id in IDS],
    lambda: np.array(IDS),
    lambda: tensor(IDS),
    lambda: list(tensor(IDS)),
    lambda: tuple(IDS),
    lambda: np.array([IDS, IDS]),
    lambda: tensor([IDS, IDS]),
    lambda: [np.array(IDS), np.array(IDS[:2])],
    lambda: [tensor(IDS), tensor(IDS[:2])],
    lambda: [[np.int64(id) for id in IDS], []],
    lambda: {"input_ids": IDS},
    lambda: np.zeros((1, 0), dtype=int),
]


@pytest.mark.parametrize("rows", ROWS)
def test_ids_of_any_kind_decode(pair: Pair, rows: Callable[[], Any]) -> None:
    for options in ({}, {"skip_special_tokens": True}):
        same(pair, lambda tok, options=options: tok.decode(rows(), **options))
        same(pair, lambda tok, options=options: tok.batch_decode(rows(), **options))


@pytest.mark.parametrize("id", [np.int64(113), tensor(113), 113])
def test_a_single_id_decodes(pair: Pair, id: Any) -> None:
    for options in ({}, {"skip_special_tokens": True}):
        text = same(pair, lambda tok, options=options: tok.decode(id, **options))
        # The newest transformers refuses a batch of one id.
        assert pair[1].batch_decode(id, **options) == [text]


def test_no_rows_decode_to_no_texts(pair: Pair) -> None:
    assert pair[1].batch_decode([]) == []
    with pytest.raises(WrongType, match=r"id 1\.0 is float"):
        pair[1].decode(np.array([1.0]))


@pytest.mark.parametrize("make", [list, np.array, tensor], ids=["lists", "numpy", "torch"])
def test_padded_rows_keep_their_type(pair: Pair, make: Callable[[Any], Any]) -> None:
    inputs: list[Any] = [
        [{"input_ids": make(IDS)}, {"input_ids": make(IDS[:2])}],
        [{"input_ids": make(IDS), "labels": 1, "attention_mask": make([1] * 5)}],
        {"input_ids": [make(IDS), make(IDS[:2])]},
        {"input_ids": make([IDS, IDS]), "labels": make([1, 2])},
    ]
    for rows in inputs:
        for options in ({}, {"padding": "max_length", "max_length": 8}, {"return_tensors": "np"}):
            same(pair, lambda tok, rows=rows, options=options: tok.pad(copy.copy(rows), **options))


def test_one_row_stays_one_dimensional(pair: Pair) -> None:
    for kind in (None, "np", "pt"):
        same(pair, lambda tok, kind=kind: tok.pad({"input_ids": IDS}, return_tensors=kind))
    same(pair, lambda tok: tok.pad({"input_ids": tensor(IDS)}, padding="max_length", max_length=8))
    with pytest.raises(WrongType, match="rows as dicts"):
        pair[1].pad([IDS])  # type: ignore[list-item]  # that is the test


@pytest.mark.parametrize("label", [0.5, True, 3])
def test_labels_keep_their_values(pair: Pair, label: Any) -> None:
    for kind in ("np", "pt"):
        same(pair, lambda tok, kind=kind: tok.pad([{"input_ids": IDS, "labels": label}], return_tensors=kind))


@pytest.mark.parametrize("add_eos", [False, True])
def test_an_empty_second_text_is_none(bpe400: slmtok.Tokenizer, reference: Callable[..., Any], add_eos: bool) -> None:
    both = reference(add_eos=add_eos), as_hf(bpe400, add_eos=add_eos)
    for texts in (("a", ""), ("", "b"), ("", ""), ("a", None), (["a"], [""]), (["a", "b"], ["", "c"])):
        same(both, lambda tok, texts=texts: tok(*texts, return_token_type_ids=True))


ENCODE: list[dict[str, Any]] = [
    {"return_tensors": "pt"},
    {"return_tensors": "np"},
    {"truncation": True, "max_length": 4},
    {"truncation": "only_first", "max_length": 4, "stride": 1},
    {"padding": "max_length", "max_length": 30},
    {"padding": "max_length", "max_length": 30, "padding_side": "left", "return_tensors": "np"},
    {"text_pair": "a fox", "truncation": True, "max_length": 9, "add_special_tokens": False},
]


@pytest.mark.parametrize("options", ENCODE, ids=str)
def test_encode_takes_the_options_of_a_call(pair: Pair, options: dict[str, Any]) -> None:
    same(pair, lambda tok: tok.encode(TEXT, **options))


def test_encode_by_position(pair: Pair) -> None:
    same(pair, lambda tok: tok.encode(TEXT, None, False))
    same(pair, lambda tok: tok.encode(TEXT, "b", True, "max_length", True, 12, 0, "left", "np"))
    same(pair, lambda tok: tok.encode(["a", "b"], padding=True))
    same(pair, lambda tok: tok.tokenize(TEXT, "b", add_special_tokens=True))
    with pytest.warns(UserWarning, match="max_length=3 alone truncates") as caught:
        pair[1].encode(TEXT, max_length=3)
    assert caught[0].filename == __file__


BATCHES: list[list[Any]] = [
    [("a", "b"), ("c", "")],
    [["a", "b"], ["c", "d"]],
    [("a", "b"), "c"],
    ["a", ("c", TEXT), ("", "")],
]


@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_pairs_as_tuples(pair: Pair, batch: list[Any]) -> None:
    for options in ({}, {"truncation": True, "max_length": 6, "padding": True}):
        same(pair, lambda tok, options=options: tok(batch, return_token_type_ids=True, **options))
    same(pair, lambda tok: [tok(batch, padding=True).sequence_ids(row) for row in range(len(batch))])
    with pytest.raises(WrongType, match="text 1 is tuple"):
        pair[1](["a", ("a", "b", "c")])


WORDS: list[tuple[Any, Any]] = [
    (["a", "foxes there", "", "Größe"], None),
    ([["a", "fox"], [], ["b"]], None),
    (["a", "fox"], ["b", "c"]),
    ([(["a", "fox"], ["b"]), (["c"], ["d", "é f"])], None),
    ([], None),
]


@pytest.mark.parametrize(("words", "others"), WORDS, ids=str)
def test_words(pair: Pair, words: Any, others: Any) -> None:
    options: dict[str, Any] = {"is_split_into_words": True, "return_offsets_mapping": True, "padding": True}
    same(pair, lambda tok: tok(words, others, **options))
    rows = len(words) if words and not isinstance(words[0], str) else 1
    same(pair, lambda tok: [tok(words, others, **options).word_ids(row) for row in range(rows)])
    for wrong in ("a fox", [["a"], "b"], [["a"], [1]]):
        with pytest.raises(WrongType, match="list of words"):
            pair[1](wrong, is_split_into_words=True)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"return_tensors": "np"},
        {"truncation": True, "max_length": 6, "stride": 2, "return_overflowing_tokens": True},
        {"text_pair": ["a fox", "b"]},
    ],
    ids=str,
)
def test_ids_are_aligned_with_text(pair: Pair, options: dict[str, Any], side: str) -> None:
    texts = [TEXT, "a fox"]

    def aligned(tok: Any) -> Any:
        found = tok(texts, padding=True, padding_side=side, **options)
        places = [(sequence, char) for sequence in range(1 + ("text_pair" in options)) for char in range(len(TEXT) + 1)]
        return [
            [
                found.tokens(row),
                found.word_ids(row),
                found.sequence_ids(row),
                *(found.char_to_token(row, char, sequence) for sequence, char in places),
            ]
            for row in range(len(found["input_ids"]))
        ]

    assert len(same(pair, aligned)) >= 2
    same(pair, lambda tok: [tok(TEXT).char_to_token(char) for char in range(len(TEXT) + 2)])


def test_what_cannot_be_aligned(pair: Pair) -> None:
    found = pair[1](TEXT)
    assert found.to("cpu").tokens() == found.tokens()
    for one in (pickle.loads(pickle.dumps(found)), pair[1].chunk(TEXT, 4), pair[1].pad(dict(found))):
        with pytest.raises(OptionError, match="cannot be aligned"):
            one.word_ids()
    with pytest.raises(OptionError, match="char_index=-1"):
        found.char_to_token(-1)
    with pytest.raises(IndexError):
        found.tokens(1)


def test_added_tokens_are_spellings(bpe400: slmtok.Tokenizer) -> None:
    added = peer("tokenizers").AddedToken
    hf = as_hf(bpe400, pad=added("</s>", lstrip=True))  # type: ignore[arg-type]  # that is the test
    assert hf.pad_token_id == 2
    assert hf.convert_tokens_to_ids([added("<s>"), "<mask>"]) == [1, 5]
    assert hf.convert_tokens_to_ids(added("<s>")) == 1
    with pytest.raises(WrongType, match="not int"):
        hf.convert_tokens_to_ids(5)  # type: ignore[arg-type]  # that is the test


def test_joined_texts_warn_once(bpe400: slmtok.Tokenizer) -> None:
    for call in (lambda hf, text: hf(text), lambda hf, text: hf.encode(text), lambda hf, text: hf.chunk([text], 4)):
        hf = as_hf(bpe400)
        assert hf.eos_token is not None
        joined = hf.eos_token.join(["a", "b"])
        with pytest.warns(UserWarning, match="'</s>', which is encoded as text") as caught:
            call(hf, joined)
        assert [warning.filename for warning in caught] == [__file__]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            call(hf, joined)
            as_hf(bpe400)("a fox")


def test_usual_spellings_of_pad_and_unknown(pair: Pair, bpe400: slmtok.Tokenizer) -> None:
    theirs, ours = pair
    for name, text, id in (("pad", "<pad>", 3), ("unk", "<unk>", 0)):
        assert getattr(ours, f"{name}_token") == getattr(theirs, f"{name}_token") == text
        assert getattr(ours, f"{name}_token_id") == getattr(theirs, f"{name}_token_id") == id
        assert ours.convert_ids_to_tokens(id) == theirs.convert_ids_to_tokens(id) == text
        assert as_hf(bpe400, pad=text).pad_token_id == as_hf(bpe400, pad=bpe400.specials.text(name)).pad_token_id == id
    assert ours.decode([3, 0]) == theirs.decode([3, 0]) == "<pad><unk>"
    assert bpe400.decode([3, 0]) == "<><?>"
