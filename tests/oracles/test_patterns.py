"""Split patterns through the binding: known traps, the regexes run by `regex` and by tiktoken, and all code points.

The Rust tests cover longer strings; the oracles here have Unicode tables of their own. `regex` has a newer Unicode
version, so it checks rules on characters that have not changed; tiktoken checks the tables.
"""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path

import numpy as np
import pytest
from agreements import compare
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_data import peer

from slmtok._engine import UNICODE_VERSION, Pattern, pattern_names
from slmtok.errors import InvalidPattern, PatternGaveUp

regex = peer("regex")

CASES = Path(__file__).parents[2] / "rust" / "testdata" / "pretoken" / "cases.tsv"
PUBLIC = ("slm", "gpt2", "cl100k", "cl100k-hf", "o200k", "whole")
SPLITTING = PUBLIC[:5]
SCHEMES = ("word", "char")
# One character for each cell that no pattern can tell apart; U+DCFF is how `surrogateescape` shows the byte FF.
CELLS = "aslveASLVE\u017f\u02b0\u0301\u4e2d1 \t\n'/_!\udcff"
WIDTHS = "\u00e9\u00c9\U00010428\U00010400\U00020000\u20d0\u0662\u2167\U0001d7ce\u00a0\u3000\u00a9\u2019\U0001f600"
ESCAPE = re.compile(rb"\\(x[0-9a-f]{2}|[nrt\\])")
ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"\\": b"\\"}


def cut(pattern: Pattern, data: bytes) -> list[bytes]:
    bounds = pattern.split(data).tolist()
    return [data[start:end] for start, end in itertools.pairwise(bounds)]


def cut_by_regex(pattern: Pattern, data: bytes) -> list[bytes]:
    found = regex.findall(pattern.regex, data.decode("utf-8", "surrogateescape"))
    return [piece.encode("utf-8", "surrogateescape") for piece in found]


def unescape(field: str) -> bytes:
    def byte(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return ESCAPES[code] if code in ESCAPES else bytes([int(code[1:], 16)])

    return ESCAPE.sub(byte, field.replace("␣", " ").encode())


def cases():
    for line in CASES.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, spec, *fields = line.split("\t")
            pieces = [unescape(field) for field in fields]
            yield pytest.param(spec, pieces, id=f"{name}-{spec}-{b''.join(pieces)!a}")


@pytest.mark.parametrize(("spec", "pieces"), list(cases()))
def test_every_trap_has_its_pieces(spec, pieces):
    assert cut(Pattern(spec), b"".join(pieces)) == pieces


def test_names_and_spellings():
    assert tuple(pattern_names()) == PUBLIC
    for name in PUBLIC + SCHEMES:
        assert Pattern(name).name == name
        assert Pattern(Pattern(name).regex).name == name
    assert Pattern(r"\w+").name is None
    assert Pattern(r"\w+").regex == r"\w+"


def test_split_gives_boundaries_of_texts_and_bytes():
    bounds = Pattern("slm").split("né 12")
    assert bounds.dtype == np.uint64
    assert bounds.tolist() == [0, 3, 4, 6]
    assert Pattern("slm").split(bytearray("né 12".encode())).tolist() == [0, 3, 4, 6]
    assert Pattern("slm").split("").tolist() == [0]
    assert Pattern("whole").split(b"").tolist() == [0]


@pytest.mark.parametrize("name", SPLITTING + SCHEMES)
@pytest.mark.parametrize("alphabet", [CELLS, WIDTHS + " \n\udcff"], ids=["cells", "widths"])
def test_every_class_string_is_cut_as_by_regex(name, alphabet):
    pattern = Pattern(name)
    findall = regex.compile(pattern.regex).findall
    for length in range(1, 4):
        for characters in itertools.product(alphabet, repeat=length):
            text = "".join(characters)
            expected = [piece.encode("utf-8", "surrogateescape") for piece in findall(text)]
            assert cut(pattern, text.encode("utf-8", "surrogateescape")) == expected, ascii(text)


# Undecodable bytes, truncated characters and settled characters, joined at random.
PARTS = st.one_of(
    st.sampled_from([character.encode("utf-8", "surrogateescape") for character in CELLS + WIDTHS]),
    st.sampled_from([character.encode()[:-1] for character in WIDTHS]),
    st.integers(0x80, 0xFF).map(lambda byte: bytes([byte])),
    st.sampled_from(
        [b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"\xe0\x80\x80", b"\xf0\x80\x80\x80", b"\xff" * 3]
    ),
)


@settings(max_examples=300)
@given(parts=st.lists(PARTS, max_size=24))
def test_broken_text_is_cut_as_by_regex(parts):
    data = b"".join(parts)
    # Broken parts may join to characters that newer tables class otherwise.
    if not set(data.decode("utf-8", "ignore")) <= set(CELLS + WIDTHS):
        return
    for name in SPLITTING + SCHEMES:
        assert cut(Pattern(name), data) == cut_by_regex(Pattern(name), data), name


@pytest.mark.parametrize("spec", ["[z-a]", "a(b", "ab)", r"\p{Nope}", "(?<!a", "*"])
def test_an_invalid_pattern_is_refused(spec):
    with pytest.raises(InvalidPattern) as caught:
        Pattern(spec)
    assert repr(spec)[1:-1] in str(caught.value) or spec in str(caught.value)


def test_an_invalid_pattern_says_where():
    with pytest.raises(InvalidPattern, match="character 4"):
        Pattern("abc[z-a]")


def test_giving_up_says_where():
    with pytest.raises(PatternGaveUp, match="byte 2"):
        Pattern(r"x|(?:a+)+(?!a)b").split("xx" + "a" * 64)


def test_text_between_matches_becomes_pieces_and_is_counted():
    pattern = Pattern("[0-9]+")
    assert cut(pattern, b"ab12\xff3") == [b"ab", b"12", b"\xff", b"3"]
    assert pattern.gaps(b"ab12\xff3") == (2, 3)
    assert Pattern("slm").gaps(b"ab12\xff3") == (0, 0)


def tiktoken_cuts_the_same(text: str, spelling: str, bounds: list[int]) -> bool:
    """Whether tiktoken cuts the text by the regex `spelling` just at `bounds` (bytes).

    Tokens are the pieces, each two neighbours joined, and the bytes. A piece of tiktoken's is a token whole, or is
    merged until no two neighbours are a token. So its ids spell the pieces only if it cut just there: one that holds
    several of ours would have merged two of them.
    """
    tiktoken = peer("tiktoken")
    data = text.encode()
    pieces = [data[start:end] for start, end in itertools.pairwise(bounds)]
    pairs = [data[start:end] for start, end in zip(bounds, bounds[2:], strict=False)]
    tokens = dict.fromkeys(itertools.chain((bytes([byte]) for byte in range(256)), pieces, pairs))
    ranks = {token: rank for rank, token in enumerate(tokens)}
    encoding = tiktoken.Encoding("judge", pat_str=spelling, mergeable_ranks=ranks, special_tokens={})
    return encoding.encode_ordinary(text) == [ranks[piece] for piece in pieces]


def judge_code_points(name: str, starts: list[int], what: str) -> None:
    """Lets tiktoken judge blocks of code points; where it disagrees, one by one."""
    pattern = Pattern(name)
    texts = (in_context(range(start, start + BATCH)) for start in starts)
    parts = [part for text in texts for part in (text.encode(), pattern.split(text).tobytes())]
    compare(
        f"{what} by {name}", "tiktoken", [pattern.regex.encode(), *parts], lambda: judge_in_full(name, pattern, starts)
    )


def judge_in_full(name: str, pattern: Pattern, starts: list[int]) -> None:
    def agrees(codes: range) -> bool:
        text = in_context(codes)
        return tiktoken_cuts_the_same(text, pattern.regex, pattern.split(text).tolist())

    for start in starts:
        if not agrees(range(start, start + BATCH)):
            wrong = [f"U+{code:04X}" for code in range(start, start + BATCH) if not agrees(range(code, code + 1))]
            pytest.fail(f"{name}: tiktoken cuts otherwise around {', '.join(wrong[:20])} ({len(wrong)} in all)")


def in_context(codes: range) -> str:
    """Each code point after `a`, SP, `'`, `!` and a newline, before `a`, and between digits."""
    characters = (chr(code) for code in codes if not 0xD800 <= code < 0xE000)
    return "".join(f"{c}\na{c} {c}'{c}!{c}a\n1{c}1{c}{c}\n" for c in characters)


@pytest.mark.peer
def test_the_comparison_detects_a_wrong_split():
    text, spelling = "abc def", Pattern("cl100k").regex
    assert tiktoken_cuts_the_same(text, spelling, [0, 3, 7])
    for wrong in ([0, 7], [0, 3, 4, 7], [0, 2, 7], [0, 1, 3, 7], [0, 1, 2, 3, 4, 5, 6, 7]):
        assert not tiktoken_cuts_the_same(text, spelling, wrong), wrong


BATCH = 0x1000
# Planes 0 and 1 hold all that is assigned but ideographs, and the tags and selectors of plane 14.
VARIED = [*range(0, 0x20000, BATCH), 0xE0000]
UNIFORM = [start for start in range(0x20000, 0x110000, BATCH) if start not in VARIED]


@pytest.mark.peer
@pytest.mark.parametrize("name", SPLITTING)
def test_code_points_in_context_are_cut_as_by_tiktoken(name):
    assert UNICODE_VERSION == "16.0.0"
    judge_code_points(name, VARIED + UNIFORM[::16], "varied code points")


@pytest.mark.peer
@pytest.mark.slow
@pytest.mark.parametrize("name", SPLITTING)
def test_all_code_points_in_context_are_cut_as_by_tiktoken(name):
    judge_code_points(name, UNIFORM, "uniform code points")


@pytest.mark.peer
@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "encoding"), [("gpt2", "r50k_base"), ("cl100k", "cl100k_base"), ("o200k", "o200k_base")]
)
def test_regexes_are_those_of_tiktoken(name, encoding, monkeypatch):
    tiktoken = peer("tiktoken")
    cache = Path(os.environ.get("SLMTOK_SHARED", Path(__file__).parents[3] / "shared")) / "data" / "tiktoken-cache"
    if not cache.is_dir():
        assert os.environ.get("SLMTOK_REQUIRE_SHARED") != "1", f"no rank files at {cache}"
        pytest.skip(f"no rank files at {cache}")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(cache))
    assert Pattern(name).regex == tiktoken.get_encoding(encoding)._pat_str
