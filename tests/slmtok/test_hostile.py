"""Texts that make a careless engine quadratic: one long piece, one long run, one script without spaces.

The trainer's own counts of its work say that it grows with the text; no clock could say that on a busy machine. Limits
of time are wide: they catch what hangs, not what is slow.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import slmtok
from slmtok import _engine
from slmtok.errors import SlmtokError
from slmtok.formats.export import export
from slmtok.shards.token_files import open_token_files

SIZES = (100_000, 1_000_000)
N_MERGES = 8192 - 272
# Ten times the text; what grows by a logarithm besides stays below this.
GROWTH = 14
TEXTS = ("a", "space", "caret", "digits", "bytes", "cjk")


def hostile(name: str, size: int) -> bytes:
    """The text, `size` bytes long; the last character of cjk may be missing a byte."""
    rng = random.Random(5)
    if name == "digits":
        return bytes(rng.choices(b"0123456789", k=size))
    if name == "bytes":
        return rng.randbytes(size)
    if name == "cjk":
        return "".join(map(chr, rng.choices(range(0x4E00, 0x9FA5), k=size // 3 + 1))).encode()[:size]
    return {"a": b"a", "space": b" ", "caret": b"^"}[name] * size


def work(text: bytes) -> dict[str, int]:
    counter = _engine.Counter(_engine.Pattern("slm"))
    counter.feed([text])
    return _engine.train(counter.finish(), N_MERGES).stats


@pytest.mark.timeout(10)
@pytest.mark.parametrize("name", TEXTS)
def test_the_work_of_training_grows_with_the_text(name: str) -> None:
    small, large = (work(hostile(name, size)) for size in SIZES)
    for what in ("visited", "postings"):
        assert 0 < large[what] <= GROWTH * small[what], what


@pytest.mark.timeout(10)
@pytest.mark.parametrize("name", TEXTS)
def test_a_million_bytes_there_and_back(name: str) -> None:
    text = hostile(name, SIZES[-1])
    tok = slmtok.train(slmtok.Texts([text]), vocab_size=8192, allow_smaller=True)
    ids = tok.encode(text)
    assert 0 < len(ids) < len(text)
    assert tok.decode_bytes(ids) == text


@pytest.mark.timeout(10)
@pytest.mark.parametrize("name", TEXTS)
def test_a_million_bytes_unseen(name: str) -> None:
    """Encoded by a vocabulary of other text, whose merges fit here and there or not at all."""
    tok = slmtok.train(
        slmtok.Texts(["a aa aaaa    ^^ ^^^^ 的一是 12 345"]), vocab_size=300, min_count=1, allow_smaller=True
    )
    text = hostile(name, SIZES[-1])
    ids = tok.encode(text)
    assert ids.dtype == np.uint16
    assert tok.decode_bytes(ids) == text


@pytest.mark.timeout(10)
def test_a_text_in_the_place_of_a_path_is_named_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in globs and rules; slashes and wildcards in it are not looked at, which took minutes."""
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("the cat sat on the mat " * 20)
    tok = slmtok.train("a.txt", vocab_size=275)
    text = "a/b c? " * 500_000
    calls: tuple[Callable[[], object], ...] = (
        lambda: slmtok.pack("a.txt", tok, "data", val=text),
        lambda: slmtok.pack("a.txt", tok, "data", val=f"files:{text}"),
        lambda: slmtok.pack("a.txt", tok, text),
        lambda: slmtok.pack(text, tok, "data"),
        lambda: slmtok.train(text, vocab_size=275),
        lambda: slmtok.count("a.txt", exclude=text),
        lambda: slmtok.count("a.txt", domains={"code": text}),
        lambda: slmtok.count("a.txt", cache_dir=text),
        lambda: slmtok.count("a.txt", spill_dir=text),
        lambda: slmtok.merge_counts(text, "all.counts"),
        lambda: slmtok.from_tiktoken(text),
        lambda: slmtok.load(text),
        lambda: tok.save(text),
        lambda: tok.encode_files(text, "ids.bin"),
        lambda: tok.encode_files("a.txt", text),
        lambda: export(tok, "hf", text),
        lambda: open_token_files(text),
    )
    for call in calls:
        with pytest.raises(SlmtokError, match="it looks like text, not like a path") as caught:
            call()
        assert len(str(caught.value)) < 600
    with pytest.raises(SlmtokError, match="ids takes integers, not a text of 3,500,000 characters"):
        slmtok.prune(tok, ids=text)  # type: ignore[arg-type]
