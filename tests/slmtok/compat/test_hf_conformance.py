"""The adapter gives what the installed `transformers` gives, over a grid of options: columns, rows and refusals."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from shared_data import peer

import slmtok
from slmtok.compat import as_hf

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]

TEXTS = [
    "Once upon a time <s> there was a fox.",
    "",
    "Größe 今天天气很好 👩‍👧!",
    "x" * 30,
    "a\n\n  b\t1998",
    "</s>",
]
PAIRS = ["the river", "why don't they play in 1998 or 2024?", "", "naïve", "a b c d e f g h i j k l m n o p", "é"]
GRID: dict[str, list[Any]] = {
    "padding": [False, True, "longest", "max_length", "do_not_pad"],
    "truncation": [None, False, True, "longest_first", "only_first", "only_second", "do_not_truncate"],
    "max_length": [None, 4, 5, 8, 16, 40],
    "stride": [0, 0, 1, 3],
    "pad_to_multiple_of": [None, None, 4, 8],
    "padding_side": [None, "left", "right"],
    "add_special_tokens": [True, True, False],
    "return_overflowing_tokens": [False, True],
    "return_attention_mask": [None, True, False],
    "return_special_tokens_mask": [False, True],
    "return_token_type_ids": [False, True],
    "return_offsets_mapping": [False, True],
    "return_length": [False, True],
}
SETTINGS: list[dict[str, Any]] = [
    {},
    {"truncation_side": "left"},
    {"padding_side": "left", "model_max_length": 7},
    {"add_eos": True},
]


def _pick(rng: random.Random) -> dict[str, Any]:
    return {name: rng.choice(values) for name, values in GRID.items()}


def _outcome(call: Callable[[], Any]) -> Any:
    """What a call gives as a plain dict, or that it refuses."""
    try:
        return dict(call())
    except Exception:
        return "refused"
    except BaseException as panic:
        if type(panic).__name__ != "PanicException":
            raise
        return "refused"


def _specials_taken_off_in_vain(options: dict[str, Any], ours: Any) -> bool:
    """Theirs compares the stride with the room beside specials, even where a call adds none."""
    length = options["max_length"] or ours.model_max_length
    return not options["add_special_tokens"] and options["stride"] >= length - ours.num_special_tokens_to_add()


def _no_room(options: dict[str, Any], ours: Any, *, pair: bool) -> bool:
    """Theirs then makes overflowing rows that are longer than `max_length`, and does not count them for padding."""
    length = options["max_length"] or ours.model_max_length
    added = ours.num_special_tokens_to_add(pair) if options["add_special_tokens"] else 0
    return length - added <= pair


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("shape", ["one", "many", "pair", "pairs"])
def test_a_grid_of_options(
    bpe400: slmtok.Tokenizer, reference: Callable[..., Any], shape: str, settings: dict[str, Any]
) -> None:
    rng = random.Random(f"{shape} {settings}")
    theirs, ours = reference(**settings), as_hf(bpe400, **settings)
    compared = 0
    for _ in range(150):
        options = _pick(rng)
        index = rng.randrange(len(TEXTS))
        inputs = {"one": (TEXTS[index],), "many": (TEXTS,), "pair": (TEXTS[0], PAIRS[1]), "pairs": (TEXTS, PAIRS)}
        arguments = inputs[shape]
        wanted = _outcome(lambda arguments=arguments, options=options: theirs(*arguments, **options))
        found = _outcome(lambda arguments=arguments, options=options: ours(*arguments, **options))
        if wanted == "refused" and _specials_taken_off_in_vain(options, ours):
            continue
        if _no_room(options, ours, pair=shape.startswith("pair")):
            continue
        assert found == wanted, (arguments, options)
        compared += found != "refused"
    assert compared >= 40, "much of the grid must be allowed, or nothing is compared"


@pytest.mark.parametrize("kind", ["np", "pt"])
def test_tensors(bpe400: slmtok.Tokenizer, reference: Callable[..., Any], kind: str) -> None:
    theirs, ours = reference(), as_hf(bpe400)
    options: dict[str, Any] = {
        "padding": True,
        "truncation": True,
        "max_length": 9,
        "return_overflowing_tokens": True,
        "return_offsets_mapping": True,
        "return_tensors": kind,
    }
    wanted, found = theirs(TEXTS, PAIRS, **options), ours(TEXTS, PAIRS, **options)
    assert wanted.keys() == found.keys()
    for name, column in found.items():
        assert type(column) is type(wanted[name])
        assert column.dtype == wanted[name].dtype, name
        assert column.tolist() == wanted[name].tolist()
    assert ours("one", return_tensors=kind)["input_ids"].shape[0] == 1


def test_names_and_decoding(bpe400: slmtok.Tokenizer, reference: Callable[..., Any]) -> None:
    theirs, ours = reference(), as_hf(bpe400)
    ids = list(range(bpe400.n_vocab))
    random.Random(1).shuffle(ids)
    assert ours.get_vocab() == theirs.get_vocab()
    assert len(ours) == len(theirs) == ours.vocab_size
    assert ours.convert_ids_to_tokens(ids) == theirs.convert_ids_to_tokens(ids)
    assert ours.convert_ids_to_tokens(5) == theirs.convert_ids_to_tokens(5)
    names = theirs.convert_ids_to_tokens(ids)
    assert ours.convert_tokens_to_ids([*names, "no such"]) == theirs.convert_tokens_to_ids([*names, "no such"])
    assert ours.convert_tokens_to_string(names[:50]) == theirs.convert_tokens_to_string(names[:50])
    for skip in (False, True):
        assert ours.decode(ids, skip_special_tokens=skip) == theirs.decode(ids, skip_special_tokens=skip)
        rows = [ids[:7], [], [1, 300, 2]]
        assert ours.batch_decode(rows, skip_special_tokens=skip) == theirs.batch_decode(rows, skip_special_tokens=skip)
    backend = theirs.backend_tokenizer
    assert ours.get_vocab_size() == backend.get_vocab_size()
    for id in (0, 7, 16, 399, 400):
        assert ours.id_to_token(id) == backend.id_to_token(id)
    for name in ("<s>", names[0], "no such"):
        assert ours.token_to_id(name) == backend.token_to_id(name)
    assert ours.tokenize(TEXTS[0]) == theirs.tokenize(TEXTS[0])
    assert ours.encode("a fox", "a river") == theirs.encode("a fox", "a river")


def test_specials(bpe400: slmtok.Tokenizer, reference: Callable[..., Any]) -> None:
    theirs, ours = reference(), as_hf(bpe400)
    for role in ("bos", "eos", "unk", "sep", "pad", "mask", "cls"):
        assert getattr(ours, f"{role}_token") == getattr(theirs, f"{role}_token")
        assert getattr(ours, f"{role}_token_id") == getattr(theirs, f"{role}_token_id")
    assert (ours.bos_token_id, ours.eos_token_id, ours.pad_token_id, ours.unk_token_id) == (1, 2, 3, 0)
    assert sorted(theirs.all_special_ids) == ours.all_special_ids
    assert sorted(theirs.all_special_tokens) == sorted(ours.all_special_tokens)
    assert ours.model_max_length == theirs.model_max_length
    assert list(ours.model_input_names) == theirs.model_input_names
    assert [ours.num_special_tokens_to_add(pair) for pair in (False, True)] == [
        theirs.num_special_tokens_to_add(pair) for pair in (False, True)
    ]


def test_pad(bpe400: slmtok.Tokenizer, reference: Callable[..., Any]) -> None:
    theirs, ours = reference(), as_hf(bpe400)
    rows = [dict(ours(text)) for text in TEXTS]
    for options in ({}, {"padding": "max_length", "max_length": 50}, {"pad_to_multiple_of": 16}, {"padding": False}):
        assert dict(ours.pad(rows, **options)) == dict(theirs.pad(rows, **options)), options
    one = dict(ours(TEXTS[0]))
    assert dict(ours.pad(one, padding="max_length", max_length=40)) == dict(
        theirs.pad(one, padding="max_length", max_length=40)
    )
    columns = dict(ours(TEXTS))
    assert ours.pad(columns, return_tensors="np")["input_ids"].tolist() == (
        theirs.pad(columns, return_tensors="np")["input_ids"].tolist()
    )


def test_collators_take_it(bpe400: slmtok.Tokenizer, reference: Callable[..., Any]) -> None:
    transformers = peer("transformers")
    rows = [{"input_ids": ids} for ids in as_hf(bpe400)(TEXTS)["input_ids"]]
    for collator in (
        lambda tokenizer: transformers.DataCollatorWithPadding(tokenizer),
        lambda tokenizer: transformers.DataCollatorForLanguageModeling(tokenizer, mlm=False),
    ):
        wanted, found = collator(reference())(rows), collator(as_hf(bpe400))(rows)
        assert wanted.keys() == found.keys()
        assert all(found[name].equal(wanted[name]) for name in wanted)
