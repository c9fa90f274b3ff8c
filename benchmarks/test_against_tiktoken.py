"""pytest-benchmark: a quick look at encoding, decoding and training beside tiktoken. Not part of `make test`.

Ids are compared before anything is timed. For numbers that one may quote: `python -m benchmarks record`.
"""

from __future__ import annotations

from typing import Any

import pytest

import slmtok
from benchmarks import corpora

SIZE = 2_000_000
ENCODINGS = ("r50k_base", "cl100k_base")


@pytest.fixture(scope="module")
def text() -> str:
    """Stories, so that it runs without the shared corpora."""
    return "".join(corpora.documents("stories", limit=SIZE))


@pytest.fixture(scope="module", params=ENCODINGS)
def pair(request: pytest.FixtureRequest, text: str) -> tuple[slmtok.Tokenizer, Any]:
    """(ours, tiktoken's) for one encoding, their ids found equal."""
    tiktoken = pytest.importorskip("tiktoken")
    try:
        corpora.ranks(request.param)
    except slmtok.SlmtokError as error:
        pytest.skip(error.fact)  # type: ignore[attr-defined]
    ours, theirs = slmtok.from_tiktoken(request.param), tiktoken.get_encoding(request.param)
    assert ours.encode_list(text) == theirs.encode_ordinary(text)
    return ours, theirs


@pytest.mark.benchmark(group="encode 2 MB to an array")
def test_encode_slmtok(benchmark: Any, pair: tuple[slmtok.Tokenizer, Any], text: str) -> None:
    assert len(benchmark(pair[0].encode, text))


@pytest.mark.benchmark(group="encode 2 MB to an array")
def test_encode_tiktoken(benchmark: Any, pair: tuple[slmtok.Tokenizer, Any], text: str) -> None:
    assert len(benchmark(pair[1].encode_to_numpy, text, disallowed_special=()))


@pytest.mark.benchmark(group="encode 2 MB to a list")
def test_encode_list_slmtok(benchmark: Any, pair: tuple[slmtok.Tokenizer, Any], text: str) -> None:
    assert benchmark(pair[0].encode_list, text)


@pytest.mark.benchmark(group="encode 2 MB to a list")
def test_encode_list_tiktoken(benchmark: Any, pair: tuple[slmtok.Tokenizer, Any], text: str) -> None:
    assert benchmark(pair[1].encode_ordinary, text)


@pytest.mark.benchmark(group="encode one line to a list")
def test_encode_line_slmtok(benchmark: Any, pair: tuple[slmtok.Tokenizer, Any], text: str) -> None:
    assert benchmark(pair[0].encode_list, text[:100])


@pytest.mark.benchmark(group="encode one line to a list")
def test_encode_line_tiktoken(benchmark: Any, pair: tuple[slmtok.Tokenizer, Any], text: str) -> None:
    assert benchmark(pair[1].encode_ordinary, text[:100])


@pytest.mark.benchmark(group="decode 2 MB")
def test_decode_slmtok(benchmark: Any, pair: tuple[slmtok.Tokenizer, Any], text: str) -> None:
    assert benchmark(pair[0].decode, pair[0].encode(text)) == text


@pytest.mark.benchmark(group="decode 2 MB")
def test_decode_tiktoken(benchmark: Any, pair: tuple[slmtok.Tokenizer, Any], text: str) -> None:
    assert benchmark(pair[1].decode, pair[1].encode_ordinary(text)) == text


@pytest.mark.benchmark(group="train 4096 on 2 MB")
def test_train_slmtok(benchmark: Any, text: str) -> None:
    assert benchmark(slmtok.train, slmtok.Texts([text]), vocab=4096).n_vocab == 4096
