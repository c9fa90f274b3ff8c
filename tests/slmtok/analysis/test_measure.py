"""Numbers of `slmtok eval`: equal to a plain loop, and what they mean on texts made for it."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import regex
from pasting import pasted
from story_texts import story_texts

import slmtok
from slmtok.analysis.diff import compare
from slmtok.analysis.measure import measure, renyi_efficiency
from slmtok.analysis.size_curve import size_curve
from slmtok.analysis.strings import CLASSES, REGEX, Collector, class_of, variants
from slmtok.cli import main
from slmtok.errors import WrongType

TEXTS = [text.encode() for text in story_texts()] + [b"", b"\xff\xfe x", "今天 ١٢ e\u0301".encode()]


@pytest.fixture(scope="module")
def tok() -> slmtok.Tokenizer:
    return slmtok.train(slmtok.Texts(story_texts()), vocab_size=400)


def test_strings_tile_the_text() -> None:
    collector = Collector()
    collector.add(TEXTS)
    strings = collector.strings()
    assert sum(len(s) * n for s, n in zip(strings.strings, strings.counts.tolist(), strict=True)) == sum(
        map(len, TEXTS)
    )
    assert sum(strings.bytes_of_class(index) for index in range(len(CLASSES))) == sum(map(len, TEXTS))
    plain = Counter(piece for text in TEXTS[:4] for piece in regex.findall(REGEX, text.decode()))
    counted = dict(zip(strings.strings, strings.counts.tolist(), strict=True))
    assert all(counted[piece.encode()] >= n for piece, n in plain.items())


@pytest.mark.parametrize(
    ("string", "kind"),
    [(b" egg", 0), ("é".encode(), 0), (b" 12", 1), ("²".encode(), 1), (b"!?", 2), (b" \n", 3), (b"\xff", 4)],
)
def test_classes(string: bytes, kind: int) -> None:
    assert class_of(string) == kind


def test_parts_of_a_text_add_up(tok: slmtok.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [(text, 0) for text in TEXTS]
    whole = measure([("tok", tok)], documents)
    monkeypatch.setattr("slmtok.analysis.strings.MAX_PART_BYTES", 1)
    monkeypatch.setattr("slmtok.analysis.measure.BATCH_BYTES", 1)
    assert measure([("tok", tok)], documents) == whole


def test_a_plain_loop_gives_the_same(tok: slmtok.Tokenizer) -> None:
    documents = [(text, index % 2) for index, text in enumerate(TEXTS)]
    text, (found,) = measure([("tok", tok)], documents, domains=2)
    ids = [tok.encode_list(data) for data in TEXTS]
    assert text.documents == len(TEXTS)
    assert text.bytes == sum(map(len, TEXTS))
    assert found.tokens == sum(map(len, ids))
    assert found.bytes_per_token == text.bytes / found.tokens
    for domain in range(2):
        size, tokens = sum(map(len, TEXTS[domain::2])), sum(map(len, ids[domain::2]))
        assert text.domain_bytes[domain] == size
        assert found.by_domain[domain] == size / tokens
    words: Counter[bytes] = Counter()
    collector = Collector()
    collector.add(TEXTS)
    strings = collector.strings()
    for string, count in zip(strings.strings, strings.counts.tolist(), strict=True):
        if class_of(string) == 0:
            words[string] += count
    of_words = {word: len(tok.encode_list(word)) for word in words}
    assert text.words == sum(words.values())
    assert found.tokens_per_word == sum(of_words[word] * n for word, n in words.items()) / text.words
    assert found.single_token_share == sum(n for word, n in words.items() if of_words[word] == 1) / text.words
    used = Counter(id for row in ids for id in row)
    assert set(found.unused) == {token for id, token in tok.vocabulary.items() if not used[id]}


def test_renyi() -> None:
    assert renyi_efficiency(np.array([5, 5, 5, 5]), 4) == pytest.approx(1)
    # Not -0.0, which a table would show.
    assert str(renyi_efficiency(np.array([9, 0, 0, 0]), 4)) == "0.0"
    p = np.array([0.5, 0.25, 0.25])
    wanted = math.log2(float((p**2.5).sum())) / (1 - 2.5) / math.log2(3)
    assert renyi_efficiency(np.array([2, 1, 1]), 3) == pytest.approx(wanted)
    assert renyi_efficiency(np.zeros(3, dtype=np.int64), 3) == 0


def test_variants() -> None:
    found = variants([b"egg", b" egg", b"Egg", b"EGG", b" fox", b"fox", b"a", b" a", b"1egg", b"\xff", b"egg s"])
    assert (found.words, found.extra) == (2, 4)
    assert found.largest[0] == ("egg", (b"egg", b" egg", b"Egg", b"EGG"))


def test_the_command(tok: slmtok.Tokenizer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tok.save(tmp_path / "tok.json")
    (tmp_path / "a.txt").write_bytes(TEXTS[0])
    (tmp_path / "b.txt").write_bytes(TEXTS[1])
    line = ["eval", str(tmp_path / "tok.json"), "--on", str(tmp_path / "*.txt"), "--sizes", "300,350"]
    assert main([*line, "--json", "--domain", "first=*a.txt"]) == 0
    result = json.loads(capsys.readouterr().out)["result"]
    whole, small, middle = result["tokenizers"]
    assert [one["n_vocab"] for one in (whole, small, middle)] == [400, 300, 350]
    assert whole["bytes_per_token"] > middle["bytes_per_token"] > small["bytes_per_token"]
    assert set(whole["bytes_per_token_by_domain"]) == {"first", "other"}
    assert main([*line, "--by", "class"]) == 0
    shown = capsys.readouterr().out
    assert "words that are one token" in shown
    assert "white space" in shown
    assert main([*line, "--by", "domain"]) == 2
    assert "--by domain without a domain" in capsys.readouterr().err
    for value, fix in (
        ("words", "--by class"),
        ("other", "--by class, or --by domain with --domain NAME=GLOB, one or more"),
    ):
        assert main([*line, "--by", value]) == 2
        assert f"fix:   {fix}\n" in capsys.readouterr().err


# A fix of one line reads a file without closing it.
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_documents_of_analyses_are_pairs(
    tok: slmtok.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("the cat sat on the mat\n")
    names = {"tok": tok, "measure": measure, "size_curve": size_curve, "tokenizers": [("a", tok), ("b", tok)]}
    pairs = [(b"the cat", 0)]
    for call in (
        lambda: measure(tok, ["the cat"]),
        lambda: measure([tok], [(b"the cat", 0)]),
        lambda: measure([("tok", tok)], ["the cat"]),
        lambda: measure([("tok", tok)], [("the cat", 0)]),
        lambda: measure([("a", tok), ("b", tok)], "the cat"),
    ):
        _, (text, found) = pasted(call, WrongType, **names)
        assert text == measure([("tok", tok)], pairs)[0] and found[0].name in ("tok", "a")
    for on in ("a.txt", ["the cat"], b"the cat", [("the cat", 0)]):
        with pytest.raises(WrongType, match="counts, or pairs") as caught:
            compare(tok, tok, on=on)
        assert compare(tok, tok, **eval(f"dict({caught.value.fix})")).total.bytes
    expected = size_curve(tok, [Path("a.txt").read_bytes()])
    assert expected == pasted(lambda: size_curve(tok, "a.txt"), WrongType, **names)[1]
    assert size_curve(tok, ["the cat"]) == pasted(lambda: size_curve(tok, "the cat"), WrongType, **names)[1]
    assert size_curve(tok, ["été"]) == size_curve(tok, iter(["été".encode()]))
