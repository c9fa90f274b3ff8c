"""Wrong types and numbers out of range raise errors of slmtok, with the place and a remedy."""

from __future__ import annotations

import codecs
import itertools
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pasting import pasted

import slmtok
from slmtok import errors, id_arrays
from slmtok.analysis.diff import compare
from slmtok.compat import as_hf, as_tiktoken
from slmtok.compat.sentencepiece import SentencePieceProcessor
from slmtok.stories import story, write_stories

HUGE = 10**30
TEXT = "once upon a time " * 50


@pytest.fixture(scope="module")
def tok() -> slmtok.Tokenizer:
    return slmtok.train(slmtok.Texts([TEXT]), vocab_size=280)


# --- ids -------------------------------------------------------------------------------------------------------------

BAD_IDS: list[tuple[Any, int, int]] = [
    ([1, HUGE], HUGE, 1),
    ([-HUGE], -HUGE, 0),
    ([1, 270, -1], -1, 2),
    ([1, 1, 270, 999], 999, 3),
    ([270, 280], 280, 1),
    (np.array([5, 280]), 280, 1),
    (np.array([1, 2**64 - 1], dtype=np.uint64), 2**64 - 1, 1),
    (np.array([1, -1], dtype=np.int8), -1, 1),
    (np.array([1, HUGE], dtype=object), HUGE, 1),
    ((1, 2**63), 2**63, 1),
]


@pytest.mark.parametrize("converted", [1, 1 << 20])
@pytest.mark.parametrize("skip_special", [False, True])
@pytest.mark.parametrize(("ids", "id", "position"), BAD_IDS)
def test_an_unknown_id_is_reported_with_its_position(
    tok, ids, id, position, skip_special, converted, monkeypatch
) -> None:
    monkeypatch.setattr(id_arrays, "_CONVERTED_IDS", converted)
    monkeypatch.setattr(id_arrays, "_ARRAY_IDS", converted)
    for call in (tok.decode, tok.decode_bytes):
        with pytest.raises(errors.UnknownId) as caught:
            call(ids, skip_special=skip_special)
        _check(caught.value, id, f"position {position}")
    if not skip_special:
        with pytest.raises(errors.UnknownId) as caught:
            tok.decode_segments(ids)
        _check(caught.value, id, f"position {position}")
        for rows in ([[270], [], ids], [np.array([270]), [], ids]):
            with pytest.raises(errors.UnknownId) as caught:
                tok.decode_batch(rows)
            _check(caught.value, id, f"position {position} of document 2")
            assert caught.value.fields["document"] == 2


def test_a_long_list_is_converted_in_parts_between_which_signals_are_heard(tok, monkeypatch) -> None:
    monkeypatch.setattr(id_arrays, "_CONVERTED_IDS", 2)
    converted = []

    class Watched(list):
        def __getitem__(self, key):
            converted.append(key)
            return super().__getitem__(key)

    for ids, text in (([113, 114, 115, 116, 117], "abcde"), ([], "")):
        for skip_special in (False, True):
            assert tok.decode(Watched(ids), skip_special=skip_special) == text
    halves = [slice(0, 2), slice(2, 4), slice(4, 6)]
    assert [key for key in converted if key.stop != id_arrays._MASK_IDS] == halves * 2


def test_a_long_array_and_a_long_text_are_decoded_in_parts(tok, monkeypatch) -> None:
    """Between the parts signals are heard."""
    ids = np.concatenate([tok.encode("é€𝄞 a"), tok.encode(b"\xe2\x82a\xff"), tok.encode("𝄞")])
    handlers = ("replace", "ignore", "backslashreplace", "surrogateescape", "strict")
    whole = {errors: _outcome(tok, ids, errors) for errors in handlers}
    for size in range(1, 6):
        monkeypatch.setattr(id_arrays, "_ARRAY_IDS", size)
        monkeypatch.setattr(id_arrays, "_TEXT_BYTES", size)
        monkeypatch.setattr(id_arrays, "_MIN_WITH_HEADER", 0)
        assert {errors: _outcome(tok, ids, errors) for errors in handlers} == whole
    assert "UnicodeDecodeError" in whole["strict"] and "position 11" in whole["strict"]


def _outcome(tok, ids, errors) -> str:
    try:
        return tok.decode(ids, errors)
    except UnicodeDecodeError as error:
        return repr(error) + str(error)


def _check(error: errors.UnknownId, id: int, where: str) -> None:
    assert error.fact == f"id {id} is not in the vocabulary"
    assert error.where == where
    assert error.limit == "0 <= id < 280 (n_vocab)"
    assert error.fix
    assert error.fields["id"] == id


@pytest.mark.parametrize("skip_special", [False, True])
def test_ids_of_an_iterator_are_read_up_to_the_first_that_is_wrong(tok, monkeypatch, skip_special) -> None:
    monkeypatch.setattr(id_arrays, "_CONVERTED_IDS", 16)
    for ids in (range(10**12), itertools.count(), iter([*range(279), "a"]), (id for id in [*range(279), 1000])):
        with pytest.raises((errors.UnknownId, errors.WrongType)) as caught:
            tok.decode(ids, skip_special=skip_special)
        position = 279 if not isinstance(ids, (range, itertools.count)) else 280
        assert caught.value.where == f"position {position}" and caught.value.fields["position"] == position
    ids = list(range(16, 280)) * 3
    assert tok.decode(iter(ids), skip_special=skip_special) == tok.decode(ids, skip_special=skip_special)


def test_a_word_with_a_lone_surrogate(tok) -> None:
    with pytest.raises(errors.InvalidText, match="lone surrogate U\\+D800"):
        tok.token_to_id("\ud800")


@pytest.mark.parametrize("offsets", [[0, 2, 1, 3], [0, 2**40, 3], [0, -1, 3]])
def test_offsets_that_fall_are_refused(offsets) -> None:
    with pytest.raises(errors.OptionError, match="is below the one before it"):
        slmtok.Ragged(np.array([300, 301, 302], dtype=np.uint16), np.array(offsets))


def test_a_ragged_batch_with_an_unknown_id(tok) -> None:
    batch = slmtok.Ragged(np.array([1, 270, 999], np.uint16), np.array([0, 1, 3]))
    with pytest.raises(errors.UnknownId) as caught:
        tok.decode_batch(batch)
    _check(caught.value, 999, "position 1 of document 1")


@pytest.mark.parametrize("id", [270, np.int64(270), np.array(270)])
def test_one_id_is_repeated_as_a_list(tok, id) -> None:
    encoding = as_tiktoken(tok)
    for call in (tok.decode, tok.decode_bytes, tok.decode_segments, tok.decode_batch, encoding.decode):
        # Without a variable: `id` is a function of Python.
        fix, text = pasted(lambda call=call: call(id), errors.WrongType, tok=tok, enc=encoding)
        assert "([270])" in fix and text
    assert pasted(lambda: tok.stream().push([270, 16]), errors.WrongType, stream=tok.stream())[1]


@pytest.mark.parametrize("id", [HUGE, -1, -HUGE, 280, 2**32 + 272, 2**63])
def test_a_stream_reports_the_invalid_id_and_continues(tok, id) -> None:
    stream = tok.stream()
    ids = tok.encode_list("once ☕")
    text = "".join(map(stream.push, ids[:-1]))
    with pytest.raises(errors.UnknownId) as caught:
        stream.push(id)
    _check(caught.value, id, f"position {len(ids) - 1}")
    assert text + stream.push(np.int64(ids[-1])) + stream.finish() == "once ☕"
    for wrong in ("a", 1.0, None):
        with pytest.raises(errors.WrongType, match="not an integer"):
            stream.push(wrong)


@pytest.mark.parametrize(
    "ids",
    [
        [1.0],
        np.array([1.5]),
        ["a"],
        [None],
        np.array([[1]]),
        [[1]],
        5,
        "abc",
        b"abc",
        np.array(["a"]),
        slmtok.Texts([]),
    ],
)
def test_other_types_are_not_ids(tok, ids) -> None:
    if isinstance(ids, slmtok.Texts):
        ids = tok.encode_batch(["a"])
    for call in (tok.decode, tok.decode_bytes, tok.decode_segments):
        with pytest.raises(errors.WrongType) as caught:
            call(ids)
        assert caught.value.fix
    with pytest.raises(errors.WrongType):
        tok.decode_batch([[1], ids])
    with pytest.raises(errors.WrongType, match="many id sequences"):
        tok.decode(tok.encode_batch(["a"]))


@pytest.mark.parametrize(
    "call",
    [
        lambda tok, id: tok.stream().push(id),
        lambda tok, id: tok.decode([id]),
        lambda tok, id: tok.decode_bytes([id], skip_special=True),
        lambda tok, id: tok.decode_segments([id]),
        lambda tok, id: tok.decode_batch([[id]]),
        lambda tok, id: tok.token_bytes(id),
        lambda tok, id: tok.vocabulary.token_bytes(id),
        lambda tok, id: slmtok.Special(id),
        lambda tok, id: as_hf(tok).id_to_token(id),
        lambda tok, id: as_hf(tok).convert_ids_to_tokens(id),
        lambda tok, id: as_tiktoken(tok).decode([id]),
        lambda tok, id: as_tiktoken(tok).decode_single_token_bytes(id),
        lambda tok, id: SentencePieceProcessor(tok).id_to_piece(id),
        lambda tok, id: SentencePieceProcessor(tok).decode([id]),
    ],
)
def test_a_bool_is_no_id(tok, call) -> None:
    call(tok, 1)
    with pytest.raises(errors.WrongType, match="bool"):
        call(tok, True)


DECODING = [
    lambda tok, ids: tok.decode(ids),
    lambda tok, ids: tok.decode_bytes(ids, skip_special=True),
    lambda tok, ids: tok.decode_segments(ids),
    lambda tok, ids: tok.decode_batch([ids]),
]
"""Calls that take the ids of one text."""


@pytest.mark.parametrize(
    "call",
    [
        *DECODING,
        lambda tok, ids: tok.decode_batch(ids[None]),
        lambda tok, ids: slmtok.Ragged(ids, np.array([0, len(ids)])),
        lambda tok, ids: slmtok.prune(tok, ids=ids),
        lambda tok, ids: as_hf(tok).decode(ids),
        lambda tok, ids: as_hf(tok).batch_decode([ids]),
        lambda tok, ids: as_hf(tok).convert_ids_to_tokens(ids),
        lambda tok, ids: as_tiktoken(tok).decode(ids),
        lambda tok, ids: as_tiktoken(tok).decode_bytes_batch([ids]),
    ],
)
def test_a_masked_array_is_refused(tok, call) -> None:
    """The engine reads the ids below a mask, as it does not see it."""
    ids = np.ma.masked_array(tok.encode("once upon a"), dtype=np.int64)
    ids[1] = np.ma.masked
    with pytest.raises(errors.WrongType, match="ids are a masked array") as caught:
        call(tok, ids)
    assert "compressed()" in str(caught.value)
    assert tok.decode(ids.compressed())


@pytest.mark.parametrize(
    "call",
    [
        *DECODING,
        lambda tok, ids: tok.decode_batch(slmtok.Ragged(ids, np.array([0, len(ids)]))),
        lambda tok, ids: tok.decode(pytest.importorskip("pandas").Series(ids)),
    ],
)
@pytest.mark.parametrize("ids", [[True, 5], [5, True], [5] * 100 + [False]], ids=["first", "second", "last"])
def test_bools_in_an_array_of_objects_are_refused(tok, call, ids) -> None:
    """The engine takes a bool as the id 0 or 1."""
    with pytest.raises(errors.WrongType, match="these are bool: a mask"):
        call(tok, np.array(ids, dtype=object))
    assert tok.decode(np.array([100, 101], dtype=object)) == tok.decode([100, 101])


def test_a_nullable_mask_is_refused(tok) -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(errors.WrongType, match="these are bool: a mask"):
        tok.decode(pandas.Series([True, False], dtype="boolean"))


def test_error_handlers_of_decoding(tok) -> None:
    for wrong in ("bogus", 5, None, "xmlcharrefreplace", "namereplace"):
        for call in (tok.decode, tok.decode_batch):
            with pytest.raises(errors.OptionError, match="is unknown"):
                call([], errors=wrong)
    codecs.register_error("slmtok-test", lambda error: ("!", error.end))
    assert tok.decode([16 + 255], errors="slmtok-test") == "!"


# --- everything else -------------------------------------------------------------------------------------------------

WRONG: list[tuple[Callable[[Any], Any], type[errors.SlmtokError], str]] = [
    (lambda tok: tok.encode_batch(["a"], threads=HUGE), errors.OptionError, f"threads={HUGE} is out of range"),
    (lambda tok: tok.encode_batch(["a"], threads=-1), errors.OptionError, "threads=-1 is out of range"),
    (lambda tok: tok.count_tokens(["a"], threads=1.0), errors.WrongType, "threads must be an integer"),
    (lambda tok: tok.decode_batch([[1]], threads="2"), errors.WrongType, "threads must be an integer"),
    (lambda tok: tok.encode_batch({"a": 1}), errors.WrongType, "takes many texts, not dict"),
    (lambda tok: tok.encode_batch(None), errors.WrongType, "takes many texts, not NoneType"),
    (lambda tok: tok.encode_batch("one text"), errors.WrongType, "encode_batch(['one text'])"),
    (lambda tok: tok.encode_batch(["a", 1]), errors.WrongType, "text 1 is int"),
    (lambda tok: tok.encode_with_offsets("a", unit="words"), errors.OptionError, "unit"),
    (lambda tok: tok.decode("text"), errors.WrongType, "ids must be integers"),
    *(
        (lambda tok, call=call, text=text: getattr(tok, call)(text), errors.WrongType, fact)
        for call in ("encode", "encode_list")
        for text, fact in [
            (5, "text must be str or bytes, not int"),
            (None, "text must be str or bytes, not NoneType"),
            (["a"], "tok.encode_batch(['a'])"),
            (["a" * 61], "tok.encode_batch(texts)"),
            (np.array(["a", "b"]), "tok.encode_batch(['a', 'b'])"),
            (Path("x.txt"), "is a path, not text"),
        ]
    ),
    (lambda tok: tok.encode("a", allow_special=5), errors.WrongType, "must name specials, not be int"),
    (lambda tok: tok.encode("a", allow_special=b"bos"), errors.WrongType, "must name specials, not be bytes"),
    (lambda tok: tok.encode("a", allow_special=[5]), errors.UnknownSpecial, "5 is the id of 'mask', not a role"),
    (lambda tok: slmtok.slice(tok, HUGE), errors.InvalidTokens, f"of 280 ids cannot be cut to {HUGE}"),
    (lambda tok: slmtok.slice(tok, -1), errors.VocabularyTooSmall, "n_vocab=-1 is below the minimum size"),
    (lambda tok: slmtok.slice(tok, 100), errors.VocabularyTooSmall, "n_vocab=100 is below the minimum"),
    (
        lambda tok: slmtok.train("a.txt", 300, "gpt2"),
        errors.WrongType,
        "slmtok.train('a.txt', vocab_size=300, pattern='gpt2')",
    ),
    (lambda tok: tok.decode(5.5), errors.WrongType, "fix:   tok.encode(text) gives ids"),
    (lambda tok: tok.encode_batch(["a"]).pad(0, "left"), errors.WrongType, "fix:   pad(0)  # without 'left'"),
    (lambda tok: as_tiktoken(tok).encode(5), errors.WrongType, "fix:   str(5), if it is text"),
    (lambda tok: as_tiktoken(tok).encode("a", allowed_special="al"), errors.WrongType, "allowed_special='all'"),
    (lambda tok: slmtok.slice(tok, 300, 275), errors.WrongType, "slmtok.slice(tok, 275), the ids from 0 up"),
    (lambda tok: slmtok.prune(tok, [270, 271]), errors.WrongType, "slmtok.prune(tok, ids=[270, 271])"),
    (lambda tok: Path("a").write_text("a") and tok.encode_files(["a"], ["x.bin"]), errors.WrongType, "fix:   'x.bin'"),
    (lambda tok: as_hf(tok, pad_token="</s>"), errors.UnknownOption, "fix:   pad='</s>'"),
    (lambda tok: tok.decode_batch([[20], [-100]]), errors.UnknownId, "[[id for id in row if id >= 0] for row in rows]"),
    (lambda tok: as_hf(tok).batch_decode([[20], [-100]]), errors.UnknownId, "position 0 of document 1"),
    (lambda tok: slmtok.slice(tok, 281), errors.InvalidTokens, "of 280 ids cannot be cut to 281"),
    (lambda tok: tok.token_bytes(HUGE), errors.UnknownId, f"id {HUGE} is not in the vocabulary"),
    (lambda tok: tok.token_bytes(1.0), errors.WrongType, "an id is an integer, not float 1.0"),
    (lambda tok: tok.token_id("a"), errors.WrongType, "a token is bytes, not str"),
    (lambda tok: tok.token_id(5), errors.WrongType, "a token is bytes, not int"),
    (lambda tok: tok.specials[[]], errors.UnknownSpecial, "the role or spelling []"),
    (lambda tok: tok.specials.find([]), errors.UnknownSpecial, "the role or spelling []"),
    (lambda tok: tok.with_special(5, "a"), errors.WrongType, "a role is a str, not int"),
    (lambda tok: as_tiktoken(tok, 5), errors.WrongType, "spellings must be a dict from role to spelling"),
    (lambda tok: tok.encode_segments(5), errors.WrongType, "a list of segments, not int"),
    (lambda tok: tok.encode_segments(["a", 5]), errors.WrongType, "segment 1 is int"),
    (lambda tok: slmtok.Special(6.0), errors.WrongType, "named by float"),
    (lambda tok: slmtok.Special(True), errors.WrongType, "named by bool"),
    (lambda tok: tok.encode_segments([slmtok.Special(HUGE)]), errors.UnknownSpecial, str(HUGE)),
    (lambda tok: slmtok.Trusted(5), errors.WrongType, "Trusted holds text, not int"),
    (lambda tok: slmtok.Trusted("a", allow=5), errors.WrongType, "allow must name specials, not be int"),
    (lambda tok: slmtok.load(5), errors.WrongType, "named by a str or a Path, not by int"),
    (lambda tok: slmtok.load("a\0b"), errors.MissingInput, "no file"),
    (lambda tok: slmtok.Tokenizer.from_bytes("{}"), errors.WrongType, "a tokenizer file is bytes, not str"),
    (lambda tok: slmtok.from_tiktoken(5), errors.WrongType, "named by a str or a Path, not by int"),
    (lambda tok: tok.encode_batch(["a"], progress=5), errors.WrongType, "progress must be a function"),
    (lambda tok: tok.encode_files(5, "out", progress=5), errors.WrongType, "progress must be a function"),
    (lambda tok: slmtok.count(5, progress=5), errors.WrongType, "progress must be a function"),
    (lambda tok: slmtok.pack(5, tok, "out", on_progress=5), errors.WrongType, "must be a function of (state)"),
    (lambda tok: tok.encode_batch(["a"], progress=lambda done: None), errors.WrongType, "not one of (done)"),
    (lambda tok: slmtok.train("a.txt", progress=lambda done: None), errors.WrongType, "not one of (done)"),
    (lambda tok: compare(tok, tok, [(b"a", 0)], progress=lambda: None), errors.WrongType, "not one of ()"),
    (lambda tok: write_stories(None, 1, progress=lambda a, b: None), errors.WrongType, "not one of (a, b)"),
    (lambda tok: slmtok.pack("a.txt", tok, "out", progress=5), errors.UnknownOption, "unknown option 'progress'"),
    (lambda tok: tok.encode_files(5, "out"), errors.WrongType, "encode_files takes paths, not int"),
    (lambda tok: tok.encode_files([5], "out"), errors.WrongType, "not by int"),
    (lambda tok: tok.encode_files(".", "out"), errors.Unreadable, "'.' is not a regular file"),
    (lambda tok: tok.encode_batch(["a"])[0.0], errors.WrongType, "an index is an integer, not float 0.0"),
    (lambda tok: tok.encode_batch(["a"])[None], errors.WrongType, "fix:   ragged[i], for an integer i"),
    (lambda tok: tok.encode_batch(["a"])[::2], errors.OptionError, "with step 2"),
    (lambda tok: slmtok.Texts(5), errors.WrongType, "Texts takes many texts, not int"),
    (lambda tok: slmtok.train(b"text"), errors.WrongType, "this is one bytes"),
    (lambda tok: slmtok.train({"a": 1}), errors.WrongType, "a corpus cannot be dict"),
    (lambda tok: slmtok.train("once upon a time"), errors.MissingInput, "slmtok.Texts(['once upon a time'])"),
    (lambda tok: slmtok.Texts("one text"), errors.WrongType, "slmtok.Texts(['one text'])"),
    (lambda tok: slmtok.train(["once upon", "a time"]), errors.MissingInput, "slmtok.Texts(['once upon', 'a time'])"),
    (lambda tok: story(-1), errors.OptionError, "index=-1 is out of range"),
    (lambda tok: story(1.5), errors.WrongType, "index must be an integer"),
    (lambda tok: story(0, seed="a"), errors.WrongType, "seed must be an integer"),
    (lambda tok: write_stories(None, -1), errors.OptionError, "n_bytes=-1 is out of range"),
]


@pytest.mark.parametrize(("call", "kind", "fact"), WRONG)
def test_wrong_arguments(tok, monkeypatch, tmp_path, call, kind, fact) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind) as caught:
        call(tok)
    assert fact in str(caught.value)
    assert caught.value.fix, str(caught.value)


def test_trusted_names_may_come_from_a_generator(tok) -> None:
    trusted = slmtok.Trusted("<s>a", allow=(name for name in ["bos"]))
    first, second = (tok.encode_segments([trusted]).ids.tolist() for _ in range(2))
    assert first == second and first[0] == 1


def test_numpys_integers(tok) -> None:
    assert tok.encode_segments([slmtok.Special(np.int64(6))]).ids.tolist() == [6]
    assert tok.token_bytes(np.uint16(272)) == tok.token_bytes(272)
    assert tok.encode_batch(["a"], threads=np.int8(1))[np.int64(0)].tolist() == [16 + ord("a")]
    assert story(10**30) != story(np.int64(3)) == story(3)


# --- pipes as corpora ------------------------------------------------------------------------------------------------


def _feeding(path: Path, text: str) -> threading.Thread:
    os.mkfifo(path)
    thread = threading.Thread(target=path.write_text, args=(text,), daemon=True)
    thread.start()
    return thread


def test_a_named_pipe_is_read_once(tok, tmp_path) -> None:
    writer = _feeding(tmp_path / "pipe", TEXT)
    from_pipe = slmtok.train(tmp_path / "pipe", vocab_size=280)
    writer.join(timeout=10)
    assert from_pipe.fingerprint == tok.fingerprint


def test_encode_files_refuses_a_named_pipe(tok, tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(errors.Unreadable, match="is not a regular file"):
        tok.encode_files([tmp_path / "pipe"], tmp_path / "out")
    (tmp_path / "a.txt").write_text(TEXT)
    with pytest.raises(errors.Unreadable, match="is a pipe, a socket or a device") as refused:
        slmtok.train(tmp_path, vocab_size=280)
    assert "exclude='pipe' leaves it out" in str(refused.value)
    rest = slmtok.train(tmp_path, vocab_size=280, exclude="pipe")
    assert rest.fingerprint == slmtok.train(tmp_path / "a.txt", vocab_size=280).fingerprint


def test_byte_buffers_are_text() -> None:
    import array

    tok = slmtok.train(slmtok.Texts(["low lower"]), vocab_size=274)
    data = "café low".encode()
    expected = tok.encode(data).tolist()
    views = (memoryview(data), memoryview(data).cast("B", (3, 3)))
    for text in (np.frombuffer(data, np.uint8), array.array("B", data), *views, bytearray(data)):
        assert tok.encode(text).tolist() == tok.encode_list(text) == expected
        if isinstance(text, (bytearray, memoryview)):
            assert tok.encode_batch([text])[0].tolist() == expected
        assert tok.encode(text, bos=True).tolist() == [1, *expected]
    for wrong in (np.zeros(3, np.int8), np.zeros((2, 2), np.uint8), np.zeros(6, np.uint8)[::2], np.zeros(3, np.uint16)):
        with pytest.raises(errors.WrongType, match="text must be str or bytes, not ndarray"):
            tok.encode(wrong)


def test_no_paths_are_refused(tmp_path) -> None:
    tok = slmtok.train(slmtok.Texts(["low lower"]), vocab_size=274)
    with pytest.raises(errors.MissingInput, match="the list of paths is empty"):
        tok.encode_files([], tmp_path / "out.bin")
    assert list(tmp_path.iterdir()) == []


def test_an_array_larger_than_all_memory_is_a_memory_error(tok):
    """A view that repeats one id has any length; copying its ids ended the process."""
    ids = np.broadcast_to(np.uint16(100), (1 << 60,))
    with pytest.raises(MemoryError, match="cannot allocate"):
        tok.decode(ids)


def test_ids_of_a_file_larger_than_memory_are_a_memory_error(tok, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(id_arrays, "_ARRAY_IDS", 2)
    monkeypatch.setattr(id_arrays, "free_memory", lambda: 9)
    (tmp_path / "x.bin").write_bytes(np.full(5, 113, np.uint16).tobytes())
    with pytest.raises(MemoryError, match="cannot allocate 10 bytes for the ids"):
        tok.decode(np.memmap(tmp_path / "x.bin", dtype=np.uint16))


UNWRITTEN = 10**5000
"""More digits than `repr` of an integer gives."""


def test_a_special_of_any_integer_has_a_repr() -> None:
    assert repr(slmtok.Special(UNWRITTEN)) == "slmtok.Special(an integer of 16610 bits)"
    assert repr(slmtok.Special("bos")) == "slmtok.Special('bos')"


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda tok: tok.decode([UNWRITTEN]), errors.UnknownId),
        (lambda tok: tok.decode([-UNWRITTEN]), errors.UnknownId),
        (lambda tok: tok.id_to_token(UNWRITTEN), errors.UnknownId),
        (lambda tok: tok.token_to_id(UNWRITTEN), errors.WrongType),
        (lambda tok: tok.encode(UNWRITTEN), errors.WrongType),
        (lambda tok: tok.encode("a", bos=UNWRITTEN), errors.WrongType),
        (lambda tok: tok.with_special("bos", UNWRITTEN), errors.WrongType),
        (lambda tok: slmtok.prune(tok, UNWRITTEN), errors.WrongType),
        (lambda tok: tok.stream().push(UNWRITTEN), errors.UnknownId),
        (lambda tok: tok.encode_segments([slmtok.Special(UNWRITTEN)]), errors.UnknownSpecial),
        (lambda tok: slmtok.slice(tok, UNWRITTEN), errors.OptionError),
        (lambda tok: tok.encode_batch(["a"], threads=UNWRITTEN), errors.OptionError),
        (lambda tok: tok.encode_batch(["a"]).pad(UNWRITTEN), errors.OptionError),
        (lambda tok: tok.encode("a", allow_special={UNWRITTEN}), errors.UnknownSpecial),
        (lambda tok: slmtok.train(slmtok.Texts(["a"]), vocab_size=UNWRITTEN), errors.OptionError),
        (lambda tok: slmtok.load("a\ud800b"), errors.MissingInput),
        (lambda tok: slmtok.load("x" * 1_000_000), errors.MissingInput),
        (lambda tok: tok.save("a\ud800b"), errors.OptionError),
        (lambda tok: slmtok.pack("c.txt", tok, "a\0b"), errors.OptionError),
        (lambda tok: slmtok.pack("c.txt", tok, "a\ud800b"), errors.OptionError),
        (lambda tok: slmtok.count(slmtok.Texts(["a"]), memory="1GB", spill_dir="a\0b"), errors.OptionError),
    ],
)
def test_values_that_python_cannot_write_or_open_get_our_errors(tok, call, error, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("c.txt").write_text(TEXT)
    with pytest.raises(error) as caught:
        call(tok)
    assert len(str(caught.value)) < 10_000
    assert [path.name for path in tmp_path.iterdir()] == ["c.txt"]
