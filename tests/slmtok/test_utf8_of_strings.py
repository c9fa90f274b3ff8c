"""The UTF-8 of a `str`: CPython's cached one for short and repeated texts, else transcoded by the engine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

import slmtok
from slmtok import _engine, errors

SHORT = 1 << 10
"""Longer texts are made into UTF-8 by the engine,"""
WINDOW = 1 << 15
"""so many characters at a time."""

FILLINGS = {"ascii": "a b", "latin 1": "é ", "two bytes": "“q” ж", "kanji": "中文。", "beyond 16 bits": "x 😀"}
LENGTHS = (0, 1, SHORT - 1, SHORT, SHORT + 1, WINDOW - 1, WINDOW, WINDOW + 1, 2 * WINDOW + 7)


class Liar(str):
    """A string that says of itself what is not so."""

    def __len__(self) -> int:
        return 3

    def isascii(self) -> bool:
        return True


class OtherLiar(Liar):
    def isascii(self) -> bool:
        return False


class Broken(str):
    """A string whose own methods fail, which encoding does not call."""

    def __len__(self) -> int:
        raise RuntimeError

    def isascii(self) -> bool:
        raise RuntimeError


def texts() -> Iterator[str]:
    """New ones at each call, so that none came before."""
    for filling in FILLINGS.values():
        for length in LENGTHS:
            yield (filling * length)[:length]


@pytest.mark.parametrize("threads", [1, 2])
def test_strings_are_encoded_as_their_utf8(bpe: slmtok.Tokenizer, threads: int) -> None:
    want = bpe.encode_batch([text.encode() for text in texts()], threads=threads)
    for given in (list(texts()), [kind(text) for text, kind in zip(texts(), [str, Liar, OtherLiar] * 15, strict=True)]):
        for _ in range(3):
            found = bpe.encode_batch(given, threads=threads)
            assert found.ids.tolist() == want.ids.tolist()
            assert found.offsets.tolist() == want.offsets.tolist()
            assert bpe._encoder.count_batch(given, threads=threads).tolist() == [len(ids) for ids in want]


def test_one_string_after_the_other(bpe: slmtok.Tokenizer) -> None:
    pattern = _engine.Pattern("gpt2")
    for text in texts():
        want = bpe.encode(text.encode()).tolist()
        for given in (text, text, OtherLiar(text)):
            assert bpe.encode(given).tolist() == want
            assert bpe._encoder.encode_list(given) == want
        assert pattern.split(text).tolist() == pattern.split(text.encode()).tolist()


def test_documents_hold_the_utf8_of_strings(bpe: slmtok.Tokenizer) -> None:
    ids, offsets = bpe._encoder.encode_documents(_engine.Documents(list(texts())))
    want = bpe.encode_batch([text.encode() for text in texts()])
    assert (ids.tolist(), offsets.tolist()) == (want.ids.tolist(), want.offsets.tolist())


def test_methods_of_a_subclass_are_not_called(bpe: slmtok.Tokenizer) -> None:
    for text in ("“q” " * SHORT, "plain " * SHORT):
        assert bpe._encoder.encode_batch([Broken(text)])[0].tolist() == bpe.encode(text).tolist()


SHORT_OF_ADDRESSES = """
import resource, slmtok
tok = slmtok.train(slmtok.Texts(["a b"] * 9), vocab_size=280, allow_smaller=True)
text = "“" + "hello world " * 1_000_000
shorter = text[:-1]
want = tok.encode(text).tolist()
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
for spare, fits in ((58 << 20, False), (120 << 20, True)):
    resource.setrlimit(resource.RLIMIT_AS, (used + spare, resource.RLIM_INFINITY))
    try:
        found = tok.encode_batch([text, shorter], threads=1)
        assert fits, "more addresses than there are"
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert found[0].tolist() == want
    except slmtok.errors.NotEnoughMemory as error:
        assert not fits and "cannot allocate" in str(error), error
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print("done")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_too_little_address_space_raises_not_enough_memory() -> None:
    """The most that ids may take is more than there is; what they do take is there, or not."""
    # Else free space of the heap, which depends on the order of threads, serves some allocations of the call.
    env = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_ARENA_MAX": "1"}
    line = [sys.executable, "-c", SHORT_OF_ADDRESSES]
    done = subprocess.run(line, capture_output=True, text=True, timeout=100, env=env)
    assert done.stdout == "done\n", done.stderr


@pytest.mark.parametrize("filling", [filling for name, filling in FILLINGS.items() if name != "ascii"])
def test_a_text_encoded_once_has_no_cached_utf8(filling: str) -> None:
    # It has seen no text: where another test's lay, this one may lie, which is taken for that one come again.
    tok = slmtok.train(slmtok.Texts(["a b"] * 9), vocab_size=280, allow_smaller=True)
    text = filling * WINDOW
    size = sys.getsizeof(text)
    tok.encode_batch([text])
    assert sys.getsizeof(text) == size
    tok.encode_batch([text])
    assert sys.getsizeof(text) > size, "a text that comes again is not made into UTF-8 at each call"


@pytest.mark.parametrize("place", [0, SHORT, WINDOW - 1, WINDOW, WINDOW + 300, 2 * WINDOW])
@pytest.mark.parametrize("surrogate", ["\ud800", "\udfff"])
def test_the_first_lone_surrogate_is_reported(bpe: slmtok.Tokenizer, place: int, surrogate: str) -> None:
    text = "é" * place + surrogate + "中" * 2 * WINDOW + "\ud801"
    good = "“" * 2 * WINDOW
    for given in ([good, text, "a\ud800"], [good, "b" * place + "\udc00", text], [good, Liar(text)]):
        with pytest.raises(errors.InvalidText) as caught:
            bpe.encode_batch(given)
        assert (caught.value.fields["document"], caught.value.fields["index"]) == (1, place)
    with pytest.raises(errors.InvalidText):
        bpe.encode(text)
