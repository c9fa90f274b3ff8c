"""Ids as arrays and tensors for models, and the names that other libraries have for what a tokenizer holds."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

import slmtok
from slmtok.errors import OptionError, SlmtokError, UnknownId, WrongType

torch = pytest.importorskip("torch")

TEXTS = ["the cat", "", "the cat sat on the mat"]


@pytest.fixture(scope="module")
def tok() -> slmtok.Tokenizer:
    return slmtok.train(iter(["the cat sat on the mat. " * 20]), vocab_size=284)


def test_dtype_gives_a_writable_copy(tok) -> None:
    plain = tok.encode("the cat", bos=True)
    for dtype in ("int64", np.int32, np.dtype(np.uint32), torch.int64):
        ids = tok.encode("the cat", bos=True, dtype=dtype)
        assert ids.flags.writeable and np.array_equal(ids, plain)
    assert tok.encode("the cat", dtype=torch.int32).dtype == np.int32


@pytest.mark.parametrize("kind", ["np", "pt"])
def test_return_tensors_is_a_batch_of_one(tok, kind) -> None:
    batch = tok.encode("the cat", eos=True, return_tensors=kind)
    assert isinstance(batch, torch.Tensor if kind == "pt" else np.ndarray)
    assert batch.tolist() == [tok.encode_list("the cat", eos=True)]
    assert batch.dtype == (torch.int64 if kind == "pt" else np.int64)
    assert str(tok.encode("a", dtype="int32", return_tensors=kind).dtype).endswith("int32")


def test_an_embedding_takes_the_tensor(tok) -> None:
    embedding = torch.nn.Embedding(tok.padded_vocab, 4)
    assert embedding(tok.encode("the cat", return_tensors="pt")).shape == (1, len(tok.encode("the cat")), 4)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"dtype": "uint8"}, OptionError, "uint8 holds no id above 255"),
        ({"dtype": "float32"}, WrongType, "not a type of integers"),
        ({"dtype": torch.float16}, WrongType, "not a type of integers"),
        ({"dtype": torch.bfloat16}, WrongType, "not a type of integers"),
        ({"dtype": "whole"}, WrongType, "not a type of integers"),
        ({"return_tensors": "tf"}, OptionError, "np"),
    ],
)
def test_refused_types(tok, options, error, words) -> None:
    with pytest.raises(error, match=words):
        tok.encode("the cat", **options)


def test_padded_rows(tok) -> None:
    ragged, pad = tok.encode_batch(TEXTS), tok.specials.pad
    rows = ragged.pad(pad)
    assert rows.dtype == np.int64 and rows.shape == (3, max(map(len, ragged)))
    for row, ids in zip(rows, ragged, strict=True):
        assert row[: len(ids)].tolist() == ids.tolist() and (row[len(ids) :] == pad).all()
    assert torch.equal(ragged.to_torch(pad=pad), torch.from_numpy(rows))
    assert ragged.to_torch(pad=pad, dtype=torch.int32).dtype == torch.int32
    part = ragged[1:]
    assert part.pad(pad).tolist() == rows[1:].tolist()


def test_rows_of_one_length_need_no_padding(tok) -> None:
    assert tok.encode_batch(["the cat"] * 2).to_torch().tolist() == [tok.encode_list("the cat")] * 2
    assert tok.encode_batch([]).to_torch().shape == (0, 0)
    with pytest.raises(OptionError, match=r"the documents have 0 to \d+ ids"):
        tok.encode_batch(TEXTS).to_torch()


def test_refused_padding(tok) -> None:
    ragged = tok.encode_batch(TEXTS)
    for value in (-1, 1.5, "<pad>"):
        with pytest.raises(SlmtokError, match="value"):
            ragged.pad(value)
    with pytest.raises(OptionError, match="uint8"):
        ragged.to_torch(pad=3, dtype="uint8")


def test_a_ragged_is_no_array(tok) -> None:
    with pytest.raises(WrongType, match=r"ragged\.pad"):
        np.asarray(tok.encode_batch(TEXTS))


def test_names_of_other_libraries(tok) -> None:
    assert len(tok) == tok.vocab_size == tok.n_vocab == 284 and tok
    words = tok.get_vocab()
    assert len(words) == tok.n_vocab - 10, "all ids but the reserved specials"
    for word, id in words.items():
        assert tok.id_to_token(id) == word and tok.token_to_id(word) == id
    assert tok.token_to_id(" the") == tok.token_to_id("␣the") == tok.token_id(b" the")
    assert tok.token_to_id("no such token") is None and tok.id_to_token(tok.specials["eos"]) == "</s>"
    with pytest.raises(UnknownId):
        tok.id_to_token(284)


def test_a_word_in_another_spelling_is_named_in_ours(tok) -> None:
    words = tok.get_vocab()
    for key in (" the", "Ġthe", "▁the", b" the"):
        with pytest.raises(KeyError) as caught:
            _ = words[key]
        assert f"fix:   '␣the', whose id is {words['␣the']}" in str(caught.value)
    with pytest.raises(UnknownId, match=r"7 is an id(.|\n)*fix:   tok\.id_to_token\(7\)$"):
        _ = words[7]
    for key in ("no such token", "\ud800", None):
        with pytest.raises(UnknownId, match="no token has the word"):
            _ = words[key]
    assert " the" not in words and words.get(" the") is None
    plain = dict(words)
    for same in (
        copy.copy(words),
        copy.deepcopy(words),
        pickle.loads(pickle.dumps(words)),
        json.loads(json.dumps(words)),
    ):
        assert same == plain and type(same) is dict


def test_specials_are_attributes(tok) -> None:
    assert {role: getattr(tok.specials, role) for role in tok.specials} == dict(tok.specials)
    with pytest.raises(AttributeError, match="roles are unk, bos"):
        _ = tok.specials.begin
    for same in (copy.copy(tok.specials), pickle.loads(pickle.dumps(tok.specials))):
        assert same == tok.specials


def test_torch_is_imported_only_for_tensors() -> None:
    code = (
        "import sys, slmtok; tok = slmtok.train(iter(['aa']), vocab_size=272)\n"
        "tok.encode('a', dtype='int64'); tok.encode_batch(['a', 'aa']).pad(0); tok.encode('a', return_tensors='np')\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_ids_of_a_tensor_are_not_taken_one_by_one(tok):
    """Each would be a tensor of its own: 32 MB of ids took 3 GB."""

    class Whole(torch.Tensor):
        def __iter__(self):
            raise AssertionError("iterated")

    ids = tok.encode("once upon a time")
    for dtype in (torch.int16, torch.int32, torch.int64, torch.uint16):
        tensor = torch.tensor(ids.tolist(), dtype=dtype).as_subclass(Whole)
        assert tok.decode(tensor) == "once upon a time"
        assert tok.decode_batch([tensor, tensor[:0]]) == ["once upon a time", ""]
    with pytest.raises(UnknownId, match="-1"):
        tok.decode(torch.tensor([-1]))


def test_integers_of_every_type_are_widened_and_none_wraps(tok):
    ids = tok.encode("once")
    for dtype in ("i1", "u1", "i2", "<u2", ">u2", "i4", ">u4", "i8", ">i8", "u8"):
        assert tok.decode(np.minimum(ids, 127).astype(dtype)) == tok.decode(np.minimum(ids, 127).tolist()), dtype
    with pytest.raises(UnknownId, match="18446744073709551615"):
        tok.decode(np.array([2**64 - 1], np.uint64))
