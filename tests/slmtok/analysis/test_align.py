"""Bits of two models, compared where tokens of both end: against a plain definition, and on files of losses."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared_data import peer

from slmtok.analysis.align import Alignment, Losses, Segment, align, check_scored, read_losses
from slmtok.errors import CorruptFile, MissingInput, OptionError, WrongType
from slmtok.pages.loss_map import MAX_MAP_BYTES, loss_map

save = peer("safetensors.numpy").save

Target = tuple[int, float]
"""Bytes and nats of one target."""


def losses(documents: list[list[Target]], path: str = "x", digest: str | None = None) -> Losses:
    nbytes = np.array([n for one in documents for n, _ in one], dtype=np.int64)
    nats = np.array([bits for one in documents for _, bits in one], dtype=np.float64)
    offsets = np.concatenate(([0], np.cumsum([len(one) for one in documents]))).astype(np.int64)
    return Losses(path, digest, nats, nbytes, offsets)


def plainly(text: bytes, a: list[Target], b: list[Target]) -> list[tuple[bytes, float, float]]:
    """The definition: walk over the bytes; at a byte where targets of both end, what was spent so far is a segment."""

    def spent(targets: list[Target]) -> dict[int, float]:
        found: dict[int, float] = {}
        end = 0
        for n, nats in targets:
            end += n
            found[end] = found.get(end, 0.0) + nats / math.log(2)
        return found

    at_a, at_b = spent(a), spent(b)
    segments, start, sum_a, sum_b = [], 0, at_a.get(0, 0.0), at_b.get(0, 0.0)
    for place in range(1, len(text) + 1):
        sum_a, sum_b = sum_a + at_a.get(place, 0.0), sum_b + at_b.get(place, 0.0)
        if place in at_a and place in at_b:
            segments.append((text[start:place], sum_a, sum_b))
            start, sum_a, sum_b = place, 0.0, 0.0
    if not text and at_a and at_b:
        segments.append((b"", sum_a, sum_b))
    return segments


@st.composite
def cut(draw: Any, size: int) -> list[Target]:
    """Targets that cover `size` bytes, some of them without bytes."""
    places = sorted(draw(st.lists(st.integers(0, size), max_size=8)))
    bounds = [0, *places, size]
    nats = st.floats(0, 20, allow_nan=False)
    return [(stop - start, draw(nats)) for start, stop in pairwise(bounds)]


@given(data=st.data(), text=st.binary(max_size=12))
def test_segments_are_those_of_the_definition(data: Any, text: bytes) -> None:
    a, b = data.draw(cut(len(text))), data.draw(cut(len(text)))
    (found,) = align(losses([a]), losses([b]), [text])
    expected = plainly(text, a, b)
    assert [segment.text for segment in found] == [text for text, _, _ in expected]
    for segment, (_, bits_a, bits_b) in zip(found, expected, strict=True):
        assert segment.bits_a == pytest.approx(bits_a, rel=1e-9, abs=1e-9)
        assert segment.bits_b == pytest.approx(bits_b, rel=1e-9, abs=1e-9)
    for side, targets in (("bits_a", a), ("bits_b", b)):
        total = sum(nats for _, nats in targets) / math.log(2)
        assert sum(getattr(segment, side) for segment in found) == pytest.approx(total, rel=1e-9, abs=1e-9)


def test_a_model_against_itself_differs_nowhere() -> None:
    draw = np.random.default_rng(0)
    text = b"Once upon a time, 42 foxes\nlaughed." * 40
    bounds = np.sort(draw.choice(np.arange(1, len(text)), 300, replace=False))
    targets = [(int(n), float(draw.exponential())) for n in np.diff([0, *bounds, len(text)])]
    found = Alignment()
    for document in align(losses([targets, targets]), losses([targets, targets]), [text, text]):
        for segment in document:
            assert segment.bits_a == segment.bits_b
            found.add(segment)
    assert found.largest(5, gain=True) == found.largest(5, gain=False) == []
    assert sum(sums.nbytes for sums in found.kinds.values()) == found.total.nbytes == 2 * len(text)


def test_sums_by_kind_and_string() -> None:
    found = Alignment()
    for segment in (Segment(b" fox", 8.0, 2.0), Segment(b"42", 1.0, 4.0), Segment(b" fox", 2.0, 2.0)):
        found.add(segment)
    assert (found.kinds["words"].nbytes, found.kinds["words"].gain) == (8, 6.0)
    assert [(text, sums.gain) for text, sums in found.largest(9, gain=True)] == [(b" fox", 6.0)]
    assert [(text, sums.gain) for text, sums in found.largest(9, gain=False)] == [(b"42", -3.0)]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([b"abc"], "the text has 1 document, x has 2"),
        ([b"abc", b"de", b"f"], "the text has more documents than x, which has 2"),
        ([b"abc", b"d"], "document 1 has 1 bytes, in x 2"),
    ],
)
def test_other_documents_are_refused(texts: list[bytes], message: str) -> None:
    one = losses([[(3, 1.0)], [(2, 1.0)]])
    with pytest.raises(OptionError, match=message):
        list(align(one, one, texts))


def test_a_digest_of_other_documents_is_refused() -> None:
    one = losses([[(3, 1.0)]], digest="0" * 64)
    with pytest.raises(OptionError, match="the digest of the text is not the one in x"):
        list(align(one, one, [b"abc"]))


def arrays(**changes: Any) -> dict[str, Any]:
    good = {"nats": np.float32([1, 2]), "nbytes": np.uint32([3, 2]), "offsets": np.uint64([0, 2])}
    return {**good, **changes}


def test_files_of_losses(tmp_path: Path) -> None:
    path = tmp_path / "a.losses"
    about = {"about": json.dumps({"format": "slm-losses", "version": 1, "documents": None})}
    path.write_bytes(save(arrays(), about))
    found = read_losses(str(path))
    assert (found.nats.tolist(), found.nbytes.tolist(), found.offsets.tolist()) == ([1.0, 2.0], [3, 2], [0, 2])
    for content, message in (
        (b"no", "is no file of losses"),
        (save(arrays(), about)[:-1], r"a.losses is cut off: it has 311 bytes, by its header 312\n"),
        (save(arrays(), about)[:200], "is cut off: it has 200 bytes, by its header "),
        (save(arrays(), about) + b"more", r"a.losses is damaged \("),
        (save(arrays()), "is not slm-losses, version 1"),
        (save(arrays(nats=np.float64([1, 2])), about), "does not hold exactly"),
        (save(arrays(offsets=np.uint64([0, 3])), about), "offsets that do not fit"),
        (save(arrays(nats=arrays()["nats"][:, None]), about), "arrays of several dimensions"),
        (save(arrays(nats=arrays()["nats"] * np.float32("inf")), about), "a loss of inf nats at target 0"),
        (save(arrays(offsets=np.uint64([1, 2])), about), "offsets that do not fit"),
    ):
        path.write_bytes(content)
        with pytest.raises(CorruptFile, match=message):
            read_losses(str(path))
    with pytest.raises(MissingInput):
        read_losses(str(tmp_path / "none"))


def test_a_map_keeps_text_as_text() -> None:
    page = loss_map([[Segment(b"<b>", 9.0, 1.0), Segment("\u202e".encode(), 0.1, 9.0)]], "a<i>", "b")
    assert "<b>" not in page
    assert "<i>" not in page
    assert page.count("&lt;b&gt;") == 3
    assert "\u202e" not in page
    assert 'class="better3"' in page
    assert 'class="worse3"' in page


def test_a_map_draws_a_shared_character_once() -> None:
    parts = [b"hour\xe2\x80", b"\x99", b"s", b"\xff", b"\xe2\x80"]
    page = loss_map([[Segment(part, 1.0, 1.0) for part in parts]], "a", "b")
    assert page.count('<span class="shared">hour’</span>') == 3, "one in each column"
    for part in ("68 6f 75 72 e2 80", "99", "s"):
        assert page.count(f">{part}</span>") == 3
    assert page.count("�") == 6, "bytes that are no UTF-8"


def test_a_map_ends_at_its_limit() -> None:
    many = [[Segment(b"x" * 1000, 1.0, 1.0)] * 40] * 3
    page = loss_map(many, "a", "b")
    assert page.count("x" * 1000) == 3 * MAX_MAP_BYTES // 1000
    assert "The first 50,000 bytes are shown." in page


def test_paths_and_texts_in_the_place_of_losses_and_bytes_are_refused() -> None:
    known, wrong = losses([[(1, 0.5)]]), cast("Any", "a.losses")
    for call, fix in (
        (lambda: next(align(wrong, known, [b"a"])), "a=read_losses('a.losses')"),
        (lambda: next(align(known, wrong, [b"a"])), "b=read_losses('a.losses')"),
        (lambda: check_scored(cast("Any", 3), [b"a"]), "losses=read_losses(PATH)"),
        (lambda: next(align(known, known, cast("Any", ["a"]))), "[text.encode() for text in texts]"),
    ):
        with pytest.raises(WrongType) as caught:
            call()
        assert caught.value.fix == fix
