"""Ids equal to tiktoken's: real corpora, random strings, random bytes.

20,000 random strings for each encoding; `SLMTOK_NIGHTLY=1` makes them 1,000,000 for r50k_base, cl100k_base and
o200k_base each. (gpt2 has the ranks of r50k_base, p50k_base a few more; they stay at 20,000.)
"""

from __future__ import annotations

import os
import random
from itertools import pairwise

import numpy as np
import pytest
from agreements import compare
from shared_data import corpus_documents, peer, tiktoken_cache

import slmtok
from slmtok import _engine

tiktoken = peer("tiktoken")
pytestmark = [pytest.mark.peer, pytest.mark.shared]

NAMES = ("gpt2", "r50k_base", "p50k_base", "cl100k_base", "o200k_base")
STRINGS = 20_000
NIGHTLY_STRINGS = 1_000_000
NIGHTLY = {"r50k_base", "cl100k_base", "o200k_base"} if os.environ.get("SLMTOK_NIGHTLY") == "1" else set()
# So many at a time, for memory's sake.
BATCH = 20_000
ATOMS = [
    *"abcdeEstT ' \n\r\t/!.,-_=09\u0301\u0662é的件ſ🙂\ufe0f\xa0\u3000\u2028ǅʰ\u0295",
    *("'s", "'LL", "'ve ", " the", "  ", "\r\n", "\n\n", "123", "ing", "Hello", " World", "한국어", "日本語"),
]


@pytest.fixture(scope="module", params=NAMES)
def pair(request):
    folder = tiktoken_cache()
    assert os.environ["TIKTOKEN_CACHE_DIR"] == str(folder)
    return slmtok.from_tiktoken(request.param), tiktoken.get_encoding(request.param)


def check(pair, documents, ragged=None):
    """Compares all documents, telling the first that differs in as few bytes as possible."""
    ragged = pair[0].encode_batch(documents) if ragged is None else ragged
    for index, document in enumerate(documents):
        want = pair[1].encode_to_numpy(document, disallowed_special=())
        if not np.array_equal(ragged[index], want):
            short = shortest_difference(pair, document)
            pytest.fail(
                f"document {index}: {short!r} gives {pair[0].encode_list(short)}, not {pair[1].encode_ordinary(short)}"
            )


def shortest_difference(pair, text):
    """A piece of the text, halved as long as it still differs."""
    step = len(text) // 2
    while step:
        for start in range(0, len(text), step):
            part = text[start : start + 2 * step]
            if len(part) < len(text) and pair[0].encode_list(part) != pair[1].encode_ordinary(part):
                text = part
                break
        step = min(step // 2, len(text) // 2)
    return text


CORPORA = [(name, corpus) for name in NAMES[1::2] + NAMES[4:] for corpus in ("books", "docs_en", "multi", "code")]
# gpt2 has the ranks of r50k_base, p50k_base a few more: one corpus of text and code is enough for them.
CORPORA += [("gpt2", "docs_en"), ("p50k_base", "docs_en")]


@pytest.mark.slow
@pytest.mark.parametrize(("pair", "corpus"), CORPORA, indirect=["pair"])
def test_corpora(pair, corpus):
    documents = corpus_documents(corpus)
    ragged = pair[0].encode_batch(documents)
    given = [pair[1].name.encode(), *(document.encode() for document in documents)]
    parts = [*given, ragged.offsets.tobytes(), ragged.ids.tobytes()]
    compare(f"ids of {pair[1].name} on {corpus}", "tiktoken", parts, lambda: check(pair, documents, ragged))


@pytest.mark.timeout(3600 if NIGHTLY else 300)
def test_random_strings(pair):
    """Half of them of chosen atoms, half of any characters at all."""
    name = pair[1].name
    rng = random.Random(name)
    codes = [code for code in range(1, 0x30000) if not 0xD800 <= code < 0xE000]
    strings = NIGHTLY_STRINGS if name in NIGHTLY else STRINGS
    for _ in range(strings // BATCH):
        check(pair, ["".join(rng.choices(ATOMS, k=rng.randint(0, 14))) for _ in range(BATCH // 2)])
        check(pair, ["".join(map(chr, rng.choices(codes, k=rng.randint(1, 8)))) for _ in range(BATCH // 2)])


def test_random_tokens_joined(pair):
    """Texts out of the vocabulary itself reach merges that prose never does."""
    rng = random.Random(7)
    texts = [pair[1].decode([rng.randrange(50_000) for _ in range(6)]) for _ in range(3000)]
    check(pair, texts)


def test_random_bytes(pair):
    """tiktoken takes all that follows a bad byte as one piece; so its merges are asked for each of our pieces."""
    rng = random.Random(11)
    pattern: _engine.Pattern = _engine.Pattern(pair[0].pattern.name)
    for _ in range(3000):
        data = (
            rng.randbytes(rng.randint(0, 40)) if rng.random() < 0.5 else "".join(rng.choices(ATOMS, k=9)).encode()[1:-1]
        )
        ends = pattern.split(data).tolist()
        pieces = [data[start:end] for start, end in pairwise(ends)]
        want = [id for piece in pieces for id in pair[1]._encode_single_piece(piece)]
        assert pair[0].encode_list(data) == want, data
        if is_text(data):
            assert want == pair[1]._encode_bytes(data), data


def is_text(data):
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
