"""Loading generated and mutated files returns a valid value or raises `SlmtokError`: no other exception, no hang.

Tokenizer files are mutated as bytes, as JSON, and as vocabularies with correct digests, so that mutations reach every
check; rank files, files of ids and corpora as bytes and lines.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from samples import samples

import slmtok
from slmtok._engine import UNICODE_VERSION
from slmtok.corpus import Skipped, documents
from slmtok.errors import SlmtokError
from slmtok.formats.id_files import read_ids
from slmtok.formats.tiktoken import read_ranks, write_ranks
from slmtok.options import ReadOptions
from slmtok.specials import Specials, SpecialToken, default_specials
from slmtok.tokenizer_file import TAIL, Golden, TokenizerFile
from slmtok.vocabulary import MAX_IDS, PatternSpec, Vocabulary

pytestmark = pytest.mark.timeout(280)
unhurried = settings(suppress_health_check=list(HealthCheck))

SAMPLES = {name: tokenizer.to_bytes() for name, tokenizer in samples().items()}
LETTERS = st.characters(codec=None, categories=("Lu", "Ll", "Lo", "Nd", "Zs", "Po", "Cs", "Cc"))
STRINGS = st.one_of(st.text(LETTERS, max_size=6), st.sampled_from(["", "\ud800", "bos", "<s>", "slm", "own", "a|b"]))
NUMBERS = st.one_of(st.integers(-2, 300), st.sampled_from([1 << 21, (1 << 21) - 1, 1 << 31, 1 << 64, -(1 << 70)]))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, STRINGS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(STRINGS, inner, max_size=3)),
    max_leaves=5,
)


def sealed(head: bytes) -> bytes:
    """A file whose digest is right, whatever it says."""
    return head + b'"sha256":"' + hashlib.sha256(head).hexdigest().encode() + b'"}\n'


def loads_or_refuses(data: bytes) -> None:
    try:
        tokenizer = slmtok.Tokenizer.from_bytes(data, source="some.json")
    except SlmtokError as error:
        assert "some.json" in str(error)
        error.to_dict()
        return
    assert tokenizer.to_bytes() == data
    text = "the cat <s> <sep> 今天 \U0001f600".encode() + b"\xff"
    assert tokenizer.decode_bytes(tokenizer.encode(text)) == text


@st.composite
def mutated(draw: st.DrawFn, data: bytes) -> bytes:
    """`data` with some stretches replaced by other bytes, by others of its own, or by nothing."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        stop = min(len(data), start + draw(st.integers(0, 12)))
        other = draw(st.integers(0, len(data)))
        new = draw(st.one_of(st.binary(max_size=8), st.just(data[other : other + 20])))
        data = data[:start] + new + data[stop:]
    return data


@unhurried
@given(st.data())
def test_mutated_bytes(data: st.DataObject) -> None:
    sample = data.draw(st.sampled_from(sorted(SAMPLES)))
    loads_or_refuses(data.draw(mutated(SAMPLES[sample])))
    loads_or_refuses(sealed(data.draw(mutated(SAMPLES[sample][:-TAIL]))))


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to all values inside a JSON document."""
    inner = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    return [path, *(found for key, item in inner for found in places(item, (*path, key)))]


@unhurried
@given(st.data())
def test_mutated_values(data: st.DataObject) -> None:
    """One value of the document becomes another; written as the format asks, with a right digest."""
    document = json.loads(SAMPLES[data.draw(st.sampled_from(sorted(SAMPLES)))])
    del document["sha256"]
    *path, last = data.draw(st.sampled_from([place for place in places(document) if place]))
    holder = document
    for key in path:
        holder = holder[key]
    holder[last] = data.draw(VALUES)
    ascii = data.draw(st.booleans())
    text = json.dumps(document, ensure_ascii=ascii, separators=(",", ":"))
    loads_or_refuses(sealed(text.encode("utf-8", "surrogatepass")[:-1] + b","))


PATTERNS = st.one_of(
    st.sampled_from(
        ["slm", "gpt2", "cl100k", "o200k", "whole", r"\p{L}+|\s", "", "(", "a{1000}{1000}", r"(?=a)", r"(a+)+b"]
    ),
    st.text(st.sampled_from(r"ab()[]{}|*+?^$\pLNs<!=.:10,-"), max_size=12),
)
TOKENS = st.one_of(st.none(), st.binary(max_size=3), st.sampled_from([b"th", b"the", b" t"]))
SPECIALS = st.lists(st.builds(SpecialToken, st.integers(-1, 300), STRINGS | st.none(), STRINGS | st.none()), max_size=3)


@st.composite
def vocabularies(draw: st.DrawFn) -> Vocabulary:
    """Raises an error of ours where there is none such."""
    spec = draw(PATTERNS)
    try:
        known = slmtok._engine.Pattern(spec)
        pattern = PatternSpec(known.name, known.regex, UNICODE_VERSION)
    except SlmtokError:
        pattern = PatternSpec(draw(st.sampled_from([None, spec])), spec, UNICODE_VERSION)
    scheme = draw(st.sampled_from(["bpe", "word", "char", "byte"]))
    tokens = tuple(draw(st.lists(TOKENS, max_size=6)))
    if draw(st.booleans()):
        every = tuple(bytes((byte,)) for byte in range(256))
        return Vocabulary("bpe", pattern, Specials(draw(SPECIALS)), tokens=every + tokens, layout="foreign")
    if scheme == "bpe":
        ids = st.integers(-1, 280)
        merges = draw(st.lists(st.one_of(st.tuples(ids, ids), st.tuples(ids, ids, ids)), max_size=6))
        return Vocabulary(scheme, pattern, default_specials(), merges=tuple(merges))
    return Vocabulary(scheme, pattern, default_specials(), tokens=tokens)


@unhurried
@given(st.data())
def test_any_vocabulary(data: st.DataObject) -> None:
    """With the fingerprint and the digest that belong to it."""
    golden = Golden(b"", tuple(data.draw(st.lists(st.integers(0, 300), max_size=1))))
    try:
        vocabulary = data.draw(vocabularies())
    except SlmtokError:
        return
    loads_or_refuses(TokenizerFile(vocabulary, (golden,)).content)


BYTES = {bytes((byte,)): byte for byte in range(256)}
RANKS = write_ranks({**BYTES, b"th": 256, b"the": 257, b" t": 258, b"\xff\x00": 300})


@unhurried
@given(st.data())
def test_rank_files(data: st.DataObject) -> None:
    lines = st.tuples(st.binary(max_size=4), NUMBERS).map(
        lambda pair: base64.b64encode(pair[0]) + b" %d\n" % abs(pair[1])
    )
    more = b"".join(data.draw(st.lists(lines, max_size=4)))
    content = data.draw(st.one_of(mutated(RANKS), st.just(RANKS + more), st.binary(max_size=40)))
    fast = slmtok._engine.read_ranks(content, MAX_IDS)
    try:
        ranks = read_ranks(content, source="some.tiktoken")
    except SlmtokError as error:
        assert "some.tiktoken" in str(error)
        assert fast is None
        return
    # What only the slow reader takes has bits left over in its base64.
    assert fast is None or {token: rank for rank, token in enumerate(fast) if token is not None} == ranks
    assert read_ranks(write_ranks(ranks), source="again") == ranks


@unhurried
@given(st.data())
def test_tokenizers_of_rank_files(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    tokens = {
        token: 256 + k for k, token in enumerate(data.draw(st.lists(st.binary(min_size=2, max_size=4), unique=True)))
    }
    path = tmp_path_factory.getbasetemp() / "made-up.tiktoken"
    path.write_bytes(write_ranks({**BYTES, **tokens}))
    specials = data.draw(st.dictionaries(STRINGS, st.integers(-1, 300), max_size=2))
    try:
        tokenizer = slmtok.from_tiktoken(path, pattern=data.draw(PATTERNS), specials=specials)
    except SlmtokError:
        return
    text = b"".join(tokens) + b"abc \xff"
    try:
        assert tokenizer.decode_bytes(tokenizer.encode(text)) == text
    except slmtok.errors.PatternGaveUp:
        return
    assert slmtok.Tokenizer.from_bytes(tokenizer.to_bytes()) == tokenizer


def drained(run: Callable[[], Any]) -> None:
    try:
        list(run())
    except SlmtokError as error:
        assert str(error)


def npy(*values: Any, dtype: str = "<i8") -> bytes:
    file = io.BytesIO()
    np.save(file, np.array(values, dtype=dtype))
    return file.getvalue()


WORDS = st.sampled_from([b"1", b"257", b"65536:0:3", b"1:5:2", b"99999999999999999999", b"-1", b"x", b"1.5", b"\xff"])
ID_LINES = st.lists(WORDS, max_size=5).map(b" ".join)


@unhurried
@given(st.data())
def test_files_of_ids(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["ids", "npy", "bin"]))
    path = tmp_path_factory.getbasetemp() / f"some-ids.{kind}"
    lines = data.draw(st.lists(ID_LINES, max_size=4))
    whole = {"ids": b"\n".join(lines), "npy": npy(1, 2, 300), "bin": b"\1\0\2\0\3\0\4\0"}[kind]
    zipped = b"PK\3\4" + data.draw(st.binary(max_size=30))
    content = data.draw(st.one_of(st.just(whole), mutated(whole), st.binary(max_size=40), st.just(zipped)))
    path.write_bytes(content)
    beside = Path(f"{path}.offsets.npy")
    beside.unlink(missing_ok=True)
    if data.draw(st.booleans()):
        offsets = data.draw(
            st.sampled_from([npy(0, 1, 3), npy(0, 4), npy(0, 9), npy(0.0, 3.0, dtype="<f8"), b"", zipped])
        )
        beside.write_bytes(data.draw(st.one_of(st.just(offsets), mutated(offsets))))
    drained(lambda: read_ids(str(path), kind, itemsize=data.draw(st.sampled_from((2, 4)))))


JSONL = b'{"text": "The cat."}\n{"text": "sat", "n": 1}\n\n{"body": "on"}\n'


@unhurried
@given(st.data())
def test_corpora(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    record = data.draw(VALUES)
    plain = data.draw(st.one_of(mutated(JSONL), st.just(json.dumps({"text": record}).encode()), st.binary(max_size=60)))
    suffix = data.draw(st.sampled_from([".txt", ".jsonl", ".jsonl.gz", ".txt.zst"]))
    path = tmp_path_factory.getbasetemp() / f"some-corpus{suffix}"
    packed = data.draw(st.one_of(st.just(gzip.compress(plain)), mutated(gzip.compress(plain)), st.just(plain)))
    path.write_bytes(packed if suffix.endswith((".gz", ".zst")) else plain)
    options = ReadOptions(document="line", skip_malformed=data.draw(st.booleans()))
    drained(lambda: documents([str(path)], options, Skipped()))
