"""The adapter by itself: settings, what it refuses, equal rows out of documents, identity."""

from __future__ import annotations

import pickle
import random
import sys
from typing import Any

import pytest

import slmtok
from slmtok.compat import as_hf
from slmtok.compat._hf_rows import windows
from slmtok.compat.hf import Encoded, HFTokenizer
from slmtok.errors import OptionError, UnknownId, UnknownSpecial, WrongType

TEXTS = ["Once upon a time", "there was a fox", "", "who didn't like rain"]


@pytest.fixture
def hf(bpe400: slmtok.Tokenizer) -> HFTokenizer:
    return as_hf(bpe400)


def test_the_frame(bpe400: slmtok.Tokenizer, hf: HFTokenizer) -> None:
    plain = bpe400.encode_list("a fox")
    assert hf("a fox").input_ids == [1, *plain]
    assert hf("a fox", add_eos=True).input_ids == [1, *plain, 2]
    assert hf("a fox", add_special_tokens=False).input_ids == plain
    assert hf("<s>", add_special_tokens=False).input_ids == bpe400.encode_list("<s>") != [1]


def test_a_length_alone_truncates_and_says_so(hf: HFTokenizer) -> None:
    with pytest.warns(UserWarning, match="max_length=3 alone truncates") as caught:
        assert len(hf("Once upon a time", max_length=3).input_ids) == 3
    assert caught[0].filename == __file__
    assert len(hf("Once upon a time", max_length=3, truncation=False).input_ids) > 3


def test_overflowing_rows_hold_all_ids(bpe400: slmtok.Tokenizer, hf: HFTokenizer) -> None:
    rng = random.Random(3)
    texts = ["".join(rng.choices("abc de\n1é", k=rng.randrange(200))) for _ in range(20)]
    for side in ("right", "left"):
        rows = as_hf(bpe400, truncation_side=side)(
            texts, truncation=True, max_length=17, stride=5, return_overflowing_tokens=True
        )
        for sample, text in enumerate(texts):
            mine = [
                row[1:] for row, of in zip(rows.input_ids, rows.overflow_to_sample_mapping, strict=True) if of == sample
            ]
            mine = mine if side == "right" else mine[::-1]
            whole = mine[0]
            for row in mine[1:]:
                whole = whole + row[min(5, len(whole)) :]
            assert whole == bpe400.encode_list(text)


def test_windows_of_a_pair_fit() -> None:
    for first in range(12):
        for second in range(12):
            for room in range(2, 14):
                rows = windows(first, second, room=room, strategy="longest_first")
                (a, b), *_ = rows
                assert b is not None
                kept = a[1] - a[0], b[1] - b[0]
                assert sum(kept) == min(room, first + second)
                assert kept[0] <= first
                assert kept[1] <= second


def test_equal_rows(bpe400: slmtok.Tokenizer, hf: HFTokenizer) -> None:
    flat = [id for text in TEXTS for id in (1, *bpe400.encode_list(text), 2)]
    for length in (1, 3, 7, len(flat), len(flat) + 1, 2 * len(flat) + 1):
        found = hf.chunk(TEXTS, length)
        rest = len(flat) % length
        kept = rest if rest >= length / 2 else 0
        ids = [id for row, mask in zip(found.input_ids, found.attention_mask, strict=True) for id in row[: sum(mask)]]
        assert ids == flat[: len(flat) - rest + kept]
        assert found.dropped == rest - kept
        assert {len(row) for row in found.input_ids} <= {length}
    assert hf.chunk(TEXTS, 7, min_fill=0).dropped == 0
    assert hf.chunk([], 7).input_ids == []


def test_equal_rows_of_each_text(bpe400: slmtok.Tokenizer, hf: HFTokenizer) -> None:
    texts = [*TEXTS, "x" * 14]
    found = hf.chunk(texts, 6, concatenate=False, add_special_tokens=False, add_eos=False, return_labels=True)
    wanted, dropped = [], 0
    for text in texts:
        ids = bpe400.encode_list(text)
        for start in range(0, len(ids), 6):
            row = ids[start : start + 6]
            wanted += [row] if len(row) >= 3 else []
            dropped += 0 if len(row) >= 3 else len(row)
    assert [[id for id in row if id != 3] for row in found.input_ids] == wanted
    assert found.dropped == dropped > 0
    assert [[id for id in row if id != -100] for row in found.labels] == wanted


def test_rows_that_overlap(bpe400: slmtok.Tokenizer, hf: HFTokenizer) -> None:
    ids = bpe400.encode_list("x" * 25)
    found = hf.chunk("x" * 25, 10, stride=4, min_fill=0.7, add_special_tokens=False, add_eos=False)
    assert [row[:10] for row in found.input_ids] == [ids[0:10], ids[6:16], ids[12:22], [*ids[18:25], 3, 3, 3]]
    assert found.dropped == 0
    assert hf.chunk("x" * 23, 10, stride=4, min_fill=0.7, add_special_tokens=False, add_eos=False).dropped == 1


def test_identity(bpe400: slmtok.Tokenizer, hf: HFTokenizer) -> None:
    again = pickle.loads(pickle.dumps(hf))
    assert again == hf
    assert hash(again) == hash(hf)
    before = pickle.dumps(hf)
    hf(TEXTS, padding=True, truncation=True, max_length=5)
    hf.get_vocab()
    assert pickle.dumps(hf) == before
    assert hf != as_hf(bpe400, add_eos=True)
    assert hf != bpe400


def test_nothing_can_be_set(hf: HFTokenizer) -> None:
    with pytest.raises(AttributeError, match=r"as_hf\(tok, pad='eos'\)"):
        hf.pad_token = "</s>"
    for name in ("pad", "eos"):
        with pytest.raises(AttributeError, match=rf"as_hf\(tok.with_special\('{name}', 'x'\)\)"):
            setattr(hf, f"{name}_token", "x")
    for name in ("enable_padding", "add_tokens", "apply_chat_template"):
        with pytest.raises(AttributeError, match="not offered"):
            getattr(hf, name)


def test_another_pad(bpe400: slmtok.Tokenizer) -> None:
    hf = as_hf(bpe400, pad="eos")
    assert (hf.pad_token, hf.pad_token_id) == ("</s>", 2)
    assert hf(["a", "a b c"], padding=True, add_special_tokens=False).input_ids[0][-1] == 2
    with pytest.raises(UnknownSpecial):
        as_hf(bpe400, pad="nobody")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"padding": "wide"}, OptionError),
        ({"truncation": "first"}, OptionError),
        ({"return_tensors": "tf"}, OptionError),
        ({"return_tensors": "np"}, OptionError),
        ({"padding_side": "top"}, OptionError),
        ({"truncation": True, "max_length": 1}, OptionError),
        ({"truncation": True, "max_length": 5, "stride": 4}, OptionError),
        ({"truncation": "only_second", "max_length": 3}, OptionError),
        ({"truncation": True, "max_length": 10, "padding": True, "pad_to_multiple_of": 4}, OptionError),
        ({"max_length": "5", "truncation": True}, WrongType),
        ({"text_pair": ["one"]}, OptionError),
    ],
)
def test_refusals(hf: HFTokenizer, options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        hf(["Once upon a time", "a fox"], **options)


def test_other_refusals(hf: HFTokenizer) -> None:
    with pytest.raises(WrongType):
        hf(b"bytes")  # type: ignore[arg-type]  # that is the test
    with pytest.raises(WrongType, match="text 1 is int"):
        hf(["a", 5])  # type: ignore[list-item]  # that is the test
    with pytest.raises(UnknownId):
        hf.convert_ids_to_tokens([400])
    with pytest.raises(OptionError, match="min_fill"):
        hf.chunk("a", 5, min_fill=2)
    with pytest.raises(OptionError, match="input_ids"):
        hf.pad({"labels": [1]})


def test_columns_are_attributes(hf: HFTokenizer) -> None:
    found = hf("a fox", return_tensors="np")
    assert found.input_ids is found["input_ids"]
    assert found.to("cpu").input_ids is found.input_ids
    assert isinstance(pickle.loads(pickle.dumps(found)), Encoded)
    with pytest.raises(AttributeError, match="no column 'labels'"):
        found.labels  # noqa: B018  (looking it up is the test)


def test_a_short_text_takes_few_calls_of_python(hf: HFTokenizer) -> None:
    """A measure of the time of one call that does not depend on the machine: 148 of them took 12.8 µs."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    hf("Once upon a time")
    sys.setprofile(count)
    try:
        hf("Once upon a time")
    finally:
        sys.setprofile(None)
    assert calls <= 60, calls


@pytest.mark.parametrize("is_named", [False, True])
def test_a_chat_template_has_a_call_that_works(bpe400: slmtok.Tokenizer, is_named: bool) -> None:
    tok = bpe400.with_special("user", "<|user|>") if is_named else bpe400
    with pytest.raises(AttributeError, match="apply_chat_template is not offered") as caught:
        as_hf(tok).apply_chat_template([{"role": "user", "content": "hi"}], tokenize=False)
    *first, call = str(caught.value).partition("language; ")[2].removesuffix(" builds a chat from parts").split("; ")
    assert bool(first) is not is_named
    names: dict[str, Any] = {"tok": tok, "slmtok": slmtok, "text": "hi"}
    for line in first:
        exec(line, names)
    ids = eval(call, names).ids
    assert ids[0] == names["tok"].specials["user"]
    assert tok.decode(ids[1:]) == "hi"
