"""`slmtok diff`: cuts equal to a plain loop; nothing against itself; against a slice exactly what is missing."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from story_texts import story_texts

import slmtok
from slmtok.analysis.diff import Boundaries, TokenCosts, add_pieces, add_texts, order, same_ids, vocabularies
from slmtok.analysis.strings import Strings
from slmtok.cli import main
from slmtok.formats.export import export
from slmtok.patterns import compile_pattern

TEXTS = [text.encode() for text in story_texts()] + [b"", b"", b"\xff\xfe x", "今天 ١٢ e\u0301".encode(), b""]


@pytest.fixture(scope="module")
def tok() -> slmtok.Tokenizer:
    return slmtok.train(slmtok.Texts(story_texts()), vocab_size=400)


@pytest.fixture(scope="module")
def other() -> slmtok.Tokenizer:
    return slmtok.train(slmtok.Texts(story_texts()[::-1]), vocab_size=330, pattern="gpt2")


def _ends(tok: slmtok.Tokenizer, text: bytes) -> set[int]:
    ends, at = set(), 0
    for _, token in tok.pieces(text):
        at += len(token)
        ends.add(at)
    return ends


def by_hand(a: slmtok.Tokenizer, b: slmtok.Tokenizer, texts: list[bytes]) -> Boundaries:
    """Sets of positions, one document at a time."""
    found = Boundaries()
    for text in texts:
        in_a, in_b = _ends(a, text), _ends(b, text)
        found.tokens_a += len(in_a)
        found.tokens_b += len(in_b)
        found.bytes += len(text)
        found.boundaries_a += len(in_a - {len(text)})
        found.boundaries_b += len(in_b - {len(text)})
        found.shared += len((in_a & in_b) - {len(text)})
        pieces = compile_pattern(a.pattern).split(text).tolist()
        for start, end in pairwise(pieces):
            found.pieces += 1
            found.pieces_alike += not any(start <= at <= end for at in in_a ^ in_b)
    return found


def test_cuts_equal_a_plain_loop(tok: slmtok.Tokenizer, other: slmtok.Tokenizer) -> None:
    for a, b in ((tok, other), (other, tok), (tok, slmtok.slice(tok, 300)), (tok, tok)):
        found = Boundaries()
        add_texts(found, a, b, TEXTS)
        assert found == by_hand(a, b, TEXTS)
        assert found.alike == (a is b)


def test_pieces_with_counts_are_texts_that_are_repeated(tok: slmtok.Tokenizer) -> None:
    items = [(b" fox", 3), (b" there", 1), (b"Once", 2), (b"\xff", 4)]
    found = Boundaries()
    add_pieces(found, tok, slmtok.slice(tok, 300), items)
    wanted = by_hand(tok, slmtok.slice(tok, 300), [piece for piece, count in items for _ in range(count)])
    assert found == wanted


def test_parts_add_up(tok: slmtok.Tokenizer, other: slmtok.Tokenizer) -> None:
    whole, first, second = Boundaries(), Boundaries(), Boundaries()
    add_texts(whole, tok, other, TEXTS)
    add_texts(first, tok, other, TEXTS[:2])
    add_texts(second, tok, other, TEXTS[2:])
    assert first + second == whole


def test_a_slice_lacks_exactly_its_missing_merges(tok: slmtok.Tokenizer) -> None:
    small = slmtok.slice(tok, 390)
    found = vocabularies(tok, small)
    assert found.only_a == tuple(tok.token_bytes(id) for id in range(390, 400))
    assert found.only_b == ()
    learned = order(tok, small)
    assert learned.first == (390 - 272, tok.token_bytes(390), None)
    assert (learned.median_move, learned.largest_move) == (0, 0)
    assert order(tok, tok).first is None


def test_costs(tok: slmtok.Tokenizer) -> None:
    small = slmtok.slice(tok, 280)
    strings = Strings.of([(b" fox", 5), (b"zq", 9), (b"Once", 1)])
    paid = TokenCosts(tok, small)
    paid.add(strings)
    found = paid.costs()
    assert [cost.string for cost in found] == [b" fox", b"Once"]
    for cost in found:
        assert cost.ids_a == len(tok.encode_list(cost.string))
        assert cost.extra == (len(small.encode_list(cost.string)) - cost.ids_a) * cost.count
    back = TokenCosts(small, tok)
    back.add(strings)
    assert [cost.extra for cost in back.costs()] == [-cost.extra for cost in found[::-1]]


def test_costs_of_parts_add_up(tok: slmtok.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    items = [(b" fox", 5), (b"zq", 9), (b"Once", 1), (b" there", 7), (b"12", 2)]
    whole, parts = TokenCosts(tok, slmtok.slice(tok, 280)), TokenCosts(tok, slmtok.slice(tok, 280))
    whole.add(Strings.of([(string, 3 * count) for string, count in items]))
    for string, count in items * 3:
        parts.add(Strings.of([(string, count)]))
    assert parts.costs() == whole.costs() and parts.classes() == whole.classes()
    lengths = [sum(len(t.encode_list(s)) * n for s, n in items if s != b"12") for t in (tok, slmtok.slice(tok, 280))]
    size = sum(len(s) * n for s, n in items if s != b"12")
    assert whole.classes()["words"] == (size / lengths[0], size / lengths[1])
    monkeypatch.setattr("slmtok.analysis.diff.MAX_STRINGS", 1)
    few = TokenCosts(tok, slmtok.slice(tok, 280))
    few.add(Strings.of([(string, 3 * count) for string, count in items]))
    assert few.costs() == whole.costs()[:1]


def run(*arguments: object, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = main(["diff", *map(str, arguments), "--json"])
    out = capsys.readouterr()
    return code, json.loads(out.out)["result"]


def test_the_command(
    tok: slmtok.Tokenizer, other: slmtok.Tokenizer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tok.save(tmp_path / "a.json")
    other.save(tmp_path / "b.json")
    (tmp_path / "t.txt").write_bytes(TEXTS[0])
    code, result = run(tmp_path / "a.json", tmp_path / "a.json", "--on", tmp_path / "t.txt", capsys=capsys)
    assert (code, result["same"]) == (0, True)
    assert result["segmentation"]["share_of_pieces_alike"] == 1
    assert (result["cost"]["b_pays_more"], result["cost"]["a_pays_more"]) == ([], [])
    line = (tmp_path / "a.json", tmp_path / "b.json", "--on", tmp_path / "t.txt")
    code, result = run(*line, "--expect-same", "--top", 3, "--domain", "mine=*t.txt", capsys=capsys)
    assert (code, result["same"]) == (3, False)
    assert len(result["cost"]["b_pays_more"]) == 3
    assert set(result["cost"]["by_domain"]) == {"mine", "other"}
    assert main(["diff", *map(str, line)]) == 0
    shown = capsys.readouterr().out
    for part in ("identity", "vocabulary", "order", "segmentation", "cost"):
        assert part in shown


def test_counts_of_their_pattern(
    tok: slmtok.Tokenizer, other: slmtok.Tokenizer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tok.save(tmp_path / "a.json")
    slmtok.slice(tok, 300).save(tmp_path / "b.json")
    other.save(tmp_path / "c.json")
    slmtok.count(slmtok.Texts(TEXTS)).save(tmp_path / "all.counts")
    line = (tmp_path / "a.json", tmp_path / "b.json", "--on", tmp_path / "all.counts")
    _, result = run(*line, capsys=capsys)
    wanted = Boundaries()
    add_texts(wanted, tok, slmtok.slice(tok, 300), TEXTS)
    found = result["segmentation"]
    assert (found["bytes"], found["pieces"], found["pieces_alike"]) == (
        wanted.bytes,
        wanted.pieces,
        wanted.pieces_alike,
    )
    assert (found["tokens_a"], found["tokens_b"]) == (wanted.tokens_a, wanted.tokens_b)
    assert main(["diff", str(tmp_path / "a.json"), str(tmp_path / "c.json"), "--on", str(tmp_path / "all.counts")]) == 2
    assert "another pattern" in capsys.readouterr().err


def test_other_layouts_can_give_the_same_ids(tok: slmtok.Tokenizer, tmp_path: Path) -> None:
    assert same_ids(tok, tok.with_special("user", "<u>"))
    assert not same_ids(tok, slmtok.slice(tok, 399))


def test_a_tokenizer_json_is_taken(tok: slmtok.Tokenizer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tok.save(tmp_path / "a.json")
    export(tok, "hf", tmp_path / "hf", verify=False)
    code, result = run(tmp_path / "a.json", tmp_path / "hf" / "tokenizer.json", "--expect-same", capsys=capsys)
    assert (code, result["same"]) == (0, True)
    assert run(tmp_path / "a.json", tmp_path / "hf", capsys=capsys)[1]["same"]
