"""Sampling, caps and limits: which documents of a corpus are read, and how much of each."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmtok import _engine, errors
from slmtok.corpus import CorpusDocument, Skipped, find, read
from slmtok.corpus.selection import Selection, chars, prefix_of_bytes, prefix_of_chars
from slmtok.options import ReadOptions


def slow_prefix(text: bytes, most: int) -> int:
    """Twin of `prefix_of_chars`: byte by byte."""
    seen = 0
    for at, byte in enumerate(text):
        if byte & 0xC0 != 0x80:
            if seen == most:
                return at
            seen += 1
    return len(text)


@given(st.binary(max_size=40), st.integers(0, 45))
def test_prefixes_equal_the_plain_loop(text: bytes, most: int) -> None:
    assert prefix_of_chars(text, most) == (slow_prefix(text, most) if len(text) > most else len(text))
    end = prefix_of_bytes(text, most)
    assert end <= max(most, 0)
    if most >= len(text):
        assert end == len(text)


def test_long_prefixes() -> None:
    text = "ab中é".encode() * 50_000
    for most in (0, 1, 65_535, 65_536, 65_537, 150_001, 200_000, 999_999):
        assert prefix_of_chars(text, most) == slow_prefix(text, most)
    assert chars(text) == 200_000


@given(
    st.lists(st.text(alphabet="aé中😀", max_size=12), max_size=8),
    st.one_of(st.none(), st.integers(1, 10)),
    st.one_of(st.none(), st.integers(1, 30)),
    st.one_of(st.none(), st.integers(1, 60)),
)
def test_limits_are_those_of_the_engine(
    texts: list[str], cap: int | None, most_chars: int | None, most_bytes: int | None
) -> None:
    """The counter of the engine keeps the same limits itself: both see the same documents."""
    given_bytes = [text.encode() for text in texts]
    options = ReadOptions(max_doc_chars=cap, max_chars=most_chars, max_bytes=most_bytes)
    selection = Selection(options, Skipped())
    kept = []
    for text in given_bytes:
        if selection.full:
            break
        kept.append(selection.take(text))
    pattern = _engine.Pattern("whole")
    ours, theirs = (
        _engine.Counter(pattern, threads=1),
        _engine.Counter(pattern, threads=1, max_doc_chars=cap, max_chars=most_chars, max_bytes=most_bytes),
    )
    ours.feed([text for text in kept if text is not None])
    theirs.feed(given_bytes)
    assert ours.finish().items() == theirs.finish().items()


def lines(tmp_path: Path, texts: list[str], name: str = "a.lines") -> str:
    path = tmp_path / name
    path.write_text("".join(text + "\n" for text in texts), encoding="utf-8")
    return str(path)


def texts_of(sources: list[str], **options: object) -> list[bytes]:
    return [document.text for document in read(sources, ReadOptions(**options))]  # type: ignore[arg-type]


def test_sample_depends_on_the_document_alone(tmp_path: Path) -> None:
    texts = [f"document {index}" for index in range(4000)]
    mixed = random.Random(1).sample(texts, len(texts))
    one = texts_of([lines(tmp_path, texts)], sample=0.1)
    two = texts_of([lines(tmp_path, mixed[:99], "b.lines"), lines(tmp_path, mixed[99:], "c.lines")], sample=0.1)
    assert sorted(one) == sorted(two)
    assert 300 < len(one) < 500
    more = texts_of([lines(tmp_path, texts)], sample=0.25)
    assert set(one) < set(more)
    assert set(texts_of([lines(tmp_path, texts)], sample=0.1, seed=1)) != set(one)
    assert len(texts_of([lines(tmp_path, texts)], sample=1)) == 4000
    skipped = Skipped()
    kept = list(read([lines(tmp_path, texts)], ReadOptions(sample=0.1), skipped))
    assert (len(kept) + skipped.sampled, skipped.ended) == (4000, False)


def test_document_numbers_do_not_depend_on_the_selection(tmp_path: Path) -> None:
    first = lines(tmp_path, [f"a{index}" for index in range(100)])
    second = lines(tmp_path, [f"b{index}" for index in range(100)], "b.lines")
    everything = {document.text: document for document in read([first, second], ReadOptions())}
    assert everything[b"b7"] == CorpusDocument(b"b7", 1, 7, 0)
    for document in read([first, second], ReadOptions(sample=0.3, max_docs=40)):
        assert everything[document.text] == document


def test_limits(tmp_path: Path) -> None:
    path = lines(tmp_path, ["abcdef", "őő", "x", "yz"])
    assert texts_of([path], max_docs=2) == [b"abcdef", "őő".encode()]
    assert texts_of([path], max_doc_chars=1) == [b"a", "ő".encode(), b"x", b"y"]
    assert texts_of([path], max_bytes=9) == [b"abcdef", "ő".encode()]
    assert texts_of([path], max_chars=9) == [b"abcdef", "őő".encode(), b"x"]
    skipped = Skipped()
    whole = list(read([path], ReadOptions(max_bytes=7), skipped, whole=True))
    assert [document.text for document in whole] == [b"abcdef", "őő".encode()]
    assert skipped.ended
    skipped = Skipped()
    list(read([path], ReadOptions(max_doc_chars=2), skipped))
    assert (skipped.capped, skipped.capped_bytes, skipped.ended) == (1, 4, False)


def test_domains_and_exclusion(tmp_path: Path) -> None:
    for name in ("src/a/b.py", "src/c.py", "src/c.min.js", "books/d.txt", "e.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    options = ReadOptions(exclude=["*.min.js"], domains={"code": "src/**/*.py", "prose": ["books/*", "none/*"]})
    assert options.domain_names == ("code", "prose", "other")
    found = {document.text.decode(): document.domain for document in read(find(tmp_path, options), options)}
    assert found == {"src/a/b.py": 0, "src/c.py": 0, "books/d.txt": 1, "e.txt": 2}
    assert ReadOptions(domains={"other": "*.txt"}).domain_names == ("other",)
    assert ReadOptions().domain_names == ()
    with pytest.raises(errors.MissingInput, match="leaves none of 5 files"):
        find(tmp_path, ReadOptions(exclude="**"))


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"sample": 0}, errors.OptionError, "not a share"),
        ({"sample": 1.5}, errors.OptionError, "not a share"),
        ({"sample": "a"}, errors.WrongType, "sample="),
        ({"max_docs": 0}, errors.OptionError, "1 or more"),
        ({"seed": -1}, errors.OptionError, "seed"),
        ({"exclude": [1]}, errors.WrongType, "exclude="),
        ({"exclude": ""}, errors.OptionError, "empty glob"),
        ({"domains": ["a"]}, errors.WrongType, "maps names to globs"),
        ({"domains": {str(index): "x" for index in range(70_000)}}, errors.OptionError, "70000 domains"),
        ({"separator": ""}, errors.OptionError, "empty"),
        ({"separator": 1}, errors.WrongType, "separator="),
        ({"separator": "x", "document": "line"}, errors.OptionError, "one of them"),
        ({"text_template": "no field"}, errors.OptionError, "names no field"),
        ({"text_template": "{a"}, errors.OptionError, "not a template"),
        ({"text_template": "{a:>4}"}, errors.OptionError, "name in braces"),
        ({"text_template": "{}"}, errors.OptionError, "name in braces"),
        ({"text_template": 1}, errors.WrongType, "text_template="),
        ({"text_template": "{a}", "text_key": "b"}, errors.OptionError, "together"),
    ],
)
def test_invalid_options(options: dict[str, object], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        ReadOptions(**options)  # type: ignore[arg-type]
