"""The other libraries' classes given wrong types and huge numbers: our errors, never a fault of Python's."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slmtok
from slmtok import compat, errors
from slmtok.compat import cs336, minbpe, nanochat, rustbpe, sentencepiece, tiktoken, tokenizers
from slmtok.errors import CorruptFile, WrongType

HUGE = 10**30
VOCAB = {id: bytes([id]) for id in range(256)}


def rust() -> rustbpe.Tokenizer:
    return rustbpe.Tokenizer()


def mini() -> minbpe.RegexTokenizer:
    return minbpe.RegexTokenizer()


def course() -> cs336.Tokenizer:
    return cs336.Tokenizer(VOCAB, [])


WRONG: list[tuple[Callable[[], Any], type[errors.SlmtokError], str]] = [
    (lambda: rust().train_from_iterator(["a"], HUGE), errors.OptionError, f"vocab_size={HUGE} is out of range"),
    (lambda: rust().train_from_iterator(["a"], 300.0), errors.WrongType, "vocab_size must be an integer"),
    (lambda: rust().train_from_iterator(["a"], -1), errors.VocabularyTooSmall, "vocab_size -1 is below"),
    (lambda: rust().train_from_iterator(["a"], 300, buffer_size=1.5), errors.WrongType, "buffer_size must be"),
    (lambda: rust().train_from_iterator(["a"], 300, buffer_size=HUGE), errors.OptionError, "buffer_size"),
    (lambda: rust().train_from_iterator("abc", 300), errors.WrongType, "takes an iterable of texts, not one str"),
    (lambda: rust().train_from_iterator(5, 300), errors.WrongType, "takes an iterable of texts, not one int"),
    (lambda: rust().train_from_iterator(["a"], 300, pattern="cl100"), errors.UnknownName, "did you mean 'cl100k'"),
    (lambda: rust().decode([97, HUGE]), errors.UnknownId, f"id {HUGE} is not in the vocabulary\n  where: position 1"),
    (lambda: rust().decode([1.5]), errors.WrongType, "id 1.5 is float"),
    (lambda: rust().decode(5), errors.WrongType, "an array or a sequence, not int"),
    (lambda: rust().batch_encode(5), errors.WrongType, "takes an iterable of texts"),
    (lambda: mini().train("abc", HUGE), errors.OptionError, f"vocab_size={HUGE} is out of range"),
    (lambda: mini().register_special_tokens({"<x>": HUGE}), errors.OptionError, "the id of '<x>'"),
    (lambda: mini().register_special_tokens({"<x>": "a"}), errors.WrongType, "the id of '<x>' must be"),
    (lambda: mini().register_special_tokens(["<x>"]), errors.WrongType, "special_tokens must be a dict, not list"),
    (lambda: mini().decode([97, HUGE]), errors.UnknownId, f"id {HUGE} is not in the vocabulary\n  where: position 1"),
    (lambda: mini().decode(["a"]), errors.WrongType, "id 'a' is str"),
    (lambda: mini().load(5), errors.WrongType, "named by a str or a Path, not by int"),
    (lambda: cs336.train_bpe(__file__, HUGE, []), errors.OptionError, f"vocab_size={HUGE} is out of range"),
    (lambda: cs336.train_bpe(5, 300, []), errors.WrongType, "named by a str or a Path, not by int"),
    (lambda: cs336.train_bpe(__file__, 300, [5]), errors.WrongType, "text must be str, not int"),
    (lambda: cs336.train_bpe(__file__, 300, 5), errors.WrongType, "special_tokens takes an iterable of texts"),
    (lambda: course().decode([HUGE]), errors.UnknownId, f"id {HUGE} is not in the vocabulary\n  where: position 0"),
    (lambda: course().decode([256]), errors.UnknownId, "id 256 is not in the vocabulary\n  limit"),
    (lambda: course().decode([[1]]), errors.WrongType, "id [1] is list"),
    (lambda: course().encode(5), errors.WrongType, "text must be str, not int"),
    (lambda: list(course().encode_iterable(5)), errors.WrongType, "encode_iterable takes an iterable of texts"),
    (lambda: cs336.Tokenizer(5, []), errors.WrongType, "vocab must be a dict, not int"),
    (lambda: cs336.Tokenizer({**VOCAB, HUGE: b"ab"}, []), errors.OptionError, f"id={HUGE} is out of range"),
    (lambda: cs336.Tokenizer({**VOCAB, "a": b"ab"}, []), errors.WrongType, "id must be an integer"),
]


@pytest.mark.parametrize(("call", "kind", "fact"), WRONG)
def test_wrong_arguments(call, kind, fact) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert fact in str(caught.value)
    assert caught.value.fix


def nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


UNWRITTEN, DEEP, LONG = 10**5000, nested(100_000), "ab " * 10**6
UNLIKE: dict[str, Callable[[dict[str, Any], Any], Any]] = {
    "tiktoken, text": lambda made, value: made["tiktoken"].encode(value if value is not LONG else None),
    "tiktoken, ids": lambda made, value: made["tiktoken"].decode(value),
    "tiktoken, allowed": lambda made, value: made["tiktoken"].encode("a", allowed_special=value),
    "tiktoken, disallowed": lambda made, value: made["tiktoken"].encode("a", disallowed_special=[value]),
    "tiktoken, errors": lambda made, value: made["tiktoken"].decode([5], errors=value),
    "tiktoken, model": lambda made, value: tiktoken.encoding_for_model(value),
    "hf, truncation": lambda made, value: made["hf"]("a", truncation=value),
    "hf, max_length": lambda made, value: made["hf"]("a", max_length=[value]),
    "hf, return_tensors": lambda made, value: made["hf"]("a", return_tensors=value),
    "hf, ids": lambda made, value: made["hf"].convert_ids_to_tokens(value),
    "hf, rows": lambda made, value: made["hf"].decode(value),
    "hf, tokens": lambda made, value: made["hf"].convert_tokens_to_string([[value]]),
    "hf, columns": lambda made, value: made["hf"].pad({b"ab": value}),
    "hf, name": lambda made, value: made["hf"].token_to_id([value]),
    "hf, id": lambda made, value: made["hf"].id_to_token([value]),
    "sentencepiece, ids": lambda made, value: made["sp"].decode([value] if value is not LONG else None),
    "sentencepiece, out_type": lambda made, value: made["sp"].encode("a", out_type=value),
    "minbpe, ids": lambda made, value: mini().decode([value]),
    "minbpe, file": lambda made, value: mini().load(value),
    "minbpe, specials": lambda made, value: mini().register_special_tokens({"x": value}),
    "nanochat, encoding": lambda made, value: nanochat.RustBPETokenizer.from_pretrained(value),
    "nanochat, special": lambda made, value: made["nanochat"].encode("a", prepend=value),
    "cs336, merges": lambda made, value: cs336.Tokenizer(VOCAB, [value]),
}


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    tok = slmtok.train(slmtok.Texts(["the cat sat on the mat " * 9]), vocab_size=280)
    return {
        "tiktoken": compat.as_tiktoken(tok),
        "hf": compat.as_hf(tok),
        "sp": sentencepiece.SentencePieceProcessor(tokenizer=tok),
        "nanochat": nanochat.RustBPETokenizer(tok.with_special("eos", "<|bos|>")),
    }


@pytest.mark.parametrize("call", UNLIKE)
@pytest.mark.parametrize("value", [UNWRITTEN, DEEP, LONG], ids=["digits", "deep", "long"])
def test_values_that_python_cannot_write(made: dict[str, Any], call: str, value: object) -> None:
    """An integer of 5,000 digits, a list 100,000 deep, and 3 MB of text are refused by errors of ours, and at once."""
    began = time.process_time()
    with pytest.raises(errors.SlmtokError) as caught:
        UNLIKE[call](made, value)
    assert len(caught.value.fact) < 1000 and caught.value.to_dict()
    assert time.process_time() - began < 1


def test_a_caller_that_is_deep_keeps_its_error(made: dict[str, Any]) -> None:
    class Text(str):
        def encode(self, *args: Any) -> bytes:
            return self.encode(*args)

        def __contains__(self, text: object) -> bool:
            return text in self

    with pytest.raises(RecursionError):
        made["hf"](Text("a"))


def test_numpys_integers(tmp_path: Path) -> None:
    tok = rust()
    tok.train_from_iterator(["abab abab"], np.int64(258))
    assert tok.vocab_size == 258
    assert tok.decode(np.array(tok.encode("abab"), np.uint16)) == "abab"
    special = mini()
    special.register_special_tokens({"<x>": np.uint16(300)})
    assert special.encode("<x>", allowed_special="all") == [300]


# --- tables ----------------------------------------------------------------------------------------------------------

BYTES = {bytes((byte,)): byte for byte in range(256)}
TABLES: list[tuple[dict[bytes, int], dict[str, int], type[Exception], str, str]] = [
    (
        {**BYTES, b"abc": 1000},
        {},
        errors.InvalidRanks,
        "rank 1000 (b'abc') is not the merge of two tokens",
        "leave b'abc' out",
    ),
    ({**BYTES, b"ab": 97}, {}, errors.InvalidRanks, "rank 97 (b'ab') is also the rank of b'a'", "such as 256"),
    (
        {key: BYTES[key] for key in BYTES if key != b"a"},
        {},
        errors.InvalidRanks,
        "no token is the byte b'a'",
        "add b'a'",
    ),
    ({**BYTES, b"": 300}, {}, errors.InvalidRanks, "a token is empty", "leave b'' out"),
    (BYTES, {"": 500}, errors.InvalidSpecials, "'' cannot spell a special token", "leave it out"),
]


@pytest.mark.parametrize(("ranks", "specials", "kind", "fact", "fix"), TABLES)
def test_bad_tables_name_the_rank_and_a_remedy(ranks, specials, kind, fact, fix) -> None:
    from slmtok.compat import tiktoken

    with pytest.raises(kind) as caught:
        tiktoken.Encoding("x", pat_str="slm", mergeable_ranks=ranks, special_tokens=specials)
    assert caught.value.fact.startswith(fact)  # type: ignore[attr-defined]
    assert fix in caught.value.fix  # type: ignore[attr-defined]


def test_a_hole_is_told_in_one_way() -> None:
    from slmtok.compat import tiktoken

    enc = tiktoken.Encoding("x", pat_str="slm", mergeable_ranks=BYTES, special_tokens={"<|end|>": 300})
    calls: list[Callable[[], object]] = [
        lambda: enc.decode([97, 260]),
        lambda: enc.decode_single_token_bytes(260),
        lambda: enc.decode_batch([[97], [260]]),
    ]
    for call in calls:
        with pytest.raises(errors.UnknownId) as caught:
            call()
        assert caught.value.limit == "0 <= id < 301 (n_vocab), and this one is a hole"
        assert caught.value.fix == "decode with the tokenizer that made the ids"
    with pytest.raises(errors.UnknownId) as caught:
        enc.decode([301])
    assert caught.value.limit == "0 <= id < 301 (n_vocab)"
    assert str(caught.value.fix).startswith("leave out ids from 301 up, which the padding of a model's vocabulary has")


@pytest.mark.parametrize("given", ["tok.json", Path("tok.json"), None, b"tok.json", 3], ids=repr)
@pytest.mark.parametrize("adapter", ["as_hf", "as_tiktoken"])
def test_an_adapter_takes_a_tokenizer(adapter, given):
    import slmtok.compat

    with pytest.raises(errors.WrongType, match="not a Tokenizer") as caught:
        getattr(slmtok.compat, adapter)(given)
    assert "slmtok.load('tok.json')" in str(caught.value)


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_names_of_files_in_place_of_texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("the cat sat on the mat. " * 30)
    text = Path("a.txt").read_text()
    for made in (rustbpe.Tokenizer, tokenizers.ByteLevelBPETokenizer, nanochat.RustBPETokenizer):
        train = (made if made is nanochat.RustBPETokenizer else made()).train_from_iterator
        for names in (["a.txt"], iter(["a.txt", Path("a.txt")]), "a.txt", Path("a.txt")):
            with pytest.raises(WrongType, match=r"are names of files that exist: 'a\.txt'") as caught:
                train(names, 280)
            eval(str(caught.value.fix), {"train_from_iterator": train, "paths": ["a.txt"]})
        train(iter(["a.txt", text]), 280)
        with pytest.raises(WrongType) as caught:
            train(text, 280)
        assert caught.value.fix == "train_from_iterator([text])"


def test_files_of_slmtok_in_place_of_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tok = slmtok.train(slmtok.Texts(["the cat sat"] * 9), vocab_size=275)
    tok.save("tok.json")
    tok.save("other.json")
    names = {"RustBPETokenizer": nanochat.RustBPETokenizer, "slmtok": slmtok}
    with pytest.raises(WrongType, match="is a file, not a folder") as caught:
        nanochat.RustBPETokenizer.from_directory("other.json")
    assert eval(str(caught.value.fix), names).tokenizer == tok
    with pytest.raises(WrongType) as caught:
        nanochat.RustBPETokenizer.from_directory("tok.json")
    assert caught.value.fix == "RustBPETokenizer.from_directory('.')"
    with pytest.raises(CorruptFile) as damaged:
        cs336.Tokenizer.from_files("tok.json", "tok.json")
    assert eval(str(damaged.value.fix), names) == tok


@pytest.mark.parametrize("texts", ["the cat sat", "the cat sat on the mat. " * 50])
def test_a_size_and_the_texts_in_each_others_place(texts: str) -> None:
    several: list[tuple[Any, Callable[[], Any]]] = [
        (300, mini),
        (300, minbpe.BasicTokenizer),
        ([texts, texts], rust),
        ([texts, texts], lambda: nanochat.RustBPETokenizer),
        ([texts, texts], tokenizers.ByteLevelBPETokenizer),
        (texts, tokenizers.ByteLevelBPETokenizer),
    ]
    for given, made in several:
        name = "train" if given == 300 else "train_from_iterator"
        given = texts if given == 300 else given
        with pytest.raises(WrongType, match=f"^the arguments of {name} are int, ") as caught:
            getattr(made(), name)(300, given)
        names = {name: getattr(made(), name), "text": texts, "texts": [texts, texts]}
        eval(str(caught.value.fix), names)
        assert len(str(caught.value)) < 200


def test_a_size_and_the_files_in_each_others_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("the cat sat on the mat. " * 30)
    with pytest.raises(WrongType, match=r"^the arguments of train are int, str, in another order") as caught:
        tokenizers.ByteLevelBPETokenizer().train(300, "a.txt")  # type: ignore[arg-type]
    assert caught.value.fix == "train('a.txt', 300)"
