"""Calls as other libraries take them: each is answered by the right option, none by a bare error of Python."""

from __future__ import annotations

import copy
import errno
import gc
import json
import math
import pickle
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import slmtok
from slmtok.analysis.diff import compare
from slmtok.analysis.measure import measure
from slmtok.compat import as_tiktoken
from slmtok.corpus.streams import explained
from slmtok.errors import CorpusTooSmall, MissingInput, OptionError, SlmtokError, UnknownOption, WrongType

TEXTS = ["low low low lower", "newest newest widest"] * 30


def test_a_save_without_a_path_takes_a_free_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tok = slmtok.train(slmtok.Texts(TEXTS), vocab_size=280, allow_smaller=True)
    tok.save("tok.json")
    assert fix_of(lambda: tok.save()) == "tok.save('tok-2.json')"


def fix_of(call) -> str | None:
    with pytest.raises(SlmtokError) as caught:
        call()
    return caught.value.fix


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        (lambda tok: tok.encode("a", add_special_tokens=True), "bos=True, eos=True add them; without, none are added"),
        (lambda tok: tok.encode("</s>", allowed_special="all"), "allow_special='all'"),
        (lambda tok: tok.encode_list("a", add_bos=True), "bos=True"),
        (
            lambda tok: tok.encode("a", "b"),
            "tok.encode_batch(['a', 'b']) for texts of their own; slmtok.compat.as_hf(tok)('a', 'b') for a pair",
        ),
        (lambda tok: tok.encode_list("a", True), "give options by name"),
        (lambda tok: tok.token_bytes(np.arange(3), 2), "leave out 2"),
        (lambda tok: tok.get_vocab(np.arange(3)), "tok.get_vocab()  # without the ndarray"),
        (lambda tok: tok.encode_batch(["a"], num_threads=3), "threads=3"),
        (lambda tok: tok.decode([1], skip_special_tokens=True), "skip_special=True"),
        (lambda tok: tok.save("tok.json", overwrite=True), "force=True"),
        (
            lambda tok: tok.encode_files("a.txt", "ids.bin", separator="\n\n", eos=True),
            "slmtok.pack('a.txt', tok, 'data', eos=True, separator='\\n\\n')",
        ),
        (lambda tok: slmtok.count(data=iter(["a"])), "corpus=data"),
        (lambda tok: tok.encode(Fraction(1, 2), foo=1), "help(slmtok.Tokenizer.encode)"),
        (lambda tok: tok.decode(np.float32(2), foo=1), "help(slmtok.Tokenizer.decode)"),
        (lambda tok: tok.save({"a": object()}, foo=1), "help(slmtok.Tokenizer.save)"),
        (lambda tok: tok.decode(tok.encode("a"), separator=" "), "help(slmtok.Tokenizer.decode)"),
        (lambda tok: tok.save(), "tok.save('tok.json')"),
        (lambda tok: slmtok.load("a.json", "b.json"), "slmtok.load('a.json'), slmtok.load('b.json')"),
        (lambda tok: slmtok.load("a", "b", "c"), "slmtok.load('a'), slmtok.load('b'), slmtok.load('c')"),
        (
            lambda tok: slmtok.view({"a": "a.json", "b": tok}, "a cat"),
            "slmtok.view({'a': slmtok.load('a.json'), 'b': tok}, 'a cat')",
        ),
        (lambda tok: slmtok.view(tok, tok), "slmtok.view({'a': a, 'b': b})  # a and b are the two tokenizers"),
        (
            lambda tok: slmtok.pack("a.txt", SimpleNamespace(tokenizer=tok), "d"),
            "run.tokenizer, of the run that you gave",
        ),
        (lambda tok: slmtok.train(lambda: ["a"]), "call it, and give what it returns"),
        (lambda tok: tok.stream(skip_special=True), "help(slmtok.Tokenizer.stream)"),
        (list, "tok.token_bytes(0), or tok.get_vocab(), a dict from word to id, for a loop over all"),
        (lambda tok: tok.encode_batch(["a"]).pad(), "pad(tok.specials.pad)"),
        (lambda tok: tok.encode_batch(["a"]).pad(width=2), "help(slmtok.Ragged.pad)"),
        (lambda tok: tok.encode_batch(["a"]).to_torch(padding=True), "pad=tok.specials.pad"),
        (lambda tok: slmtok.pack("corpus.txt", tok), "slmtok.pack('corpus.txt', tok, 'data')"),
        (lambda tok: slmtok.pack([b"a.txt"], tok, "data"), "slmtok.pack(['a.txt'], tok, 'data')"),
        (lambda tok: slmtok.pack(["a.txt", None], tok, "data"), "leave None out: name files by str or Path"),
        (lambda tok: slmtok.pack("corpus.txt", tok, output="data"), "out='data'"),
        (lambda tok: slmtok.slice(tok, vocab_size=280), "n_vocab=280"),
        (lambda tok: slmtok.train("corpus.txt", vocab=300), "vocab_size=300"),
        (lambda tok: slmtok.train("corpus.txt", num_proc=4), "threads=4"),
        (lambda tok: slmtok.train("corpus.txt", special_tokens=["<pad>"]), "special={'pad': '<pad>'}"),
        (lambda tok: slmtok.train("corpus.txt", specials=["<pad>"]), "special={'pad': '<pad>'}"),
        (lambda tok: slmtok.train("corpus.txt", vocab_size="32k"), "vocab_size=32000"),
        (lambda tok: slmtok.train("corpus.txt", vocab_size="1_000"), "vocab_size=1000"),
        (lambda tok: slmtok.train("corpus.txt", vocab_size="20MB"), "vocab_size=8192, for instance"),
        (lambda tok: slmtok.train("corpus.txt", pattern=re.compile("[a-z]+")), "pattern='[a-z]+'"),
        (lambda tok: slmtok.pack("corpus.txt", tok, "data", overwrite=True), "force=True"),
        (lambda tok: tok("a"), "tok.encode('a'), or slmtok.compat.as_hf(tok)('a'), as in transformers"),
        (
            lambda tok: tok(["a", "b"], return_tensors="np"),
            "slmtok.compat.as_hf(tok)(['a', 'b'], return_tensors='np', padding=True), as in transformers",
        ),
        (
            lambda tok: slmtok.compat.as_hf(tok, pad="eos", truncation=True, max_length=128),
            "hf = slmtok.compat.as_hf(tok, pad='eos'); hf(text, truncation=True, max_length=128)",
        ),
        (
            lambda tok: slmtok.compat.as_hf(tok, add_bos=False),
            "hf = slmtok.compat.as_hf(tok); hf(text, add_special_tokens=False)",
        ),
        (
            lambda tok: slmtok.compat.as_hf(tok, pad="eos", add_bos_token=False, add_eos_token=True),
            "hf = slmtok.compat.as_hf(tok, pad='eos', add_eos=True); hf(text, add_special_tokens=False)",
        ),
        (lambda tok: slmtok.compat.as_hf(tok)("a", bos=False), "add_special_tokens=False"),
        (
            lambda tok: slmtok.compat.as_hf(tok, eos_token="<|endoftext|>", add_eos=True),
            "slmtok.compat.as_hf(tok.with_special('eos', '<|endoftext|>'), add_eos=True)",
        ),
        (
            lambda tok: slmtok.compat.as_hf(tok, bos_token="<s>", padding=True),
            "hf = slmtok.compat.as_hf(tok.with_special('bos', '<s>')); hf(text, padding=True)",
        ),
        (
            lambda tok: slmtok.compat.as_hf(tok, padding_side="longest"),
            "hf = slmtok.compat.as_hf(tok); hf(text, padding='longest')",
        ),
        (
            lambda tok: slmtok.compat.as_hf(tok, truncation_side="only_first"),
            "hf = slmtok.compat.as_hf(tok); hf(text, truncation='only_first')",
        ),
        (
            lambda tok: slmtok.compat.as_hf(tok)("a", padding_side="max_length"),
            "padding='max_length', max_length=128",
        ),
        (
            lambda tok: slmtok.compat.as_hf(tok)("a", padding_side="middle"),
            "padding_side='right', or padding_side='left'",
        ),
        (lambda tok: slmtok.compat.as_hf(tok)(None), "hf(text if isinstance(text, str) else '')"),
        (lambda tok: slmtok.compat.as_hf(tok)(math.nan), "hf(text if isinstance(text, str) else '')"),
        (lambda tok: slmtok.compat.as_hf(tok)(123), "hf('123') for its digits, or hf.decode([123]) for an id"),
        (lambda tok: slmtok.compat.as_hf(tok)("a", 1.5), "text_pair='1.5'"),
        (lambda tok: slmtok.compat.as_hf(tok)(b"a"), "for bytes: tok.encode(data) of slmtok's tokenizer"),
        (lambda tok: slmtok.compat.as_hf(tok)(object()), "hf('some text')"),
        (lambda tok: slmtok.compat.as_hf(tok, trunc=True), "help(slmtok.compat.as_hf)"),
        (lambda tok: slmtok.compat.as_hf(padding=True), "hf = slmtok.compat.as_hf(tok); hf(text, padding=True)"),
        (
            lambda tok: slmtok.compat.as_hf(tok)("a", pad="eos"),
            "as_hf(tok, pad='eos') fills rows with it; its calls take padding=True",
        ),
        (lambda tok: tok["the"], "tok.token_to_id('the')"),
        (lambda tok: tok[b"the"], "tok.token_id(b'the')"),
        (lambda tok: tok[5], "tok.token_bytes(5)"),
        (lambda tok: " the" in tok, "tok.token_to_id(' the') is not None"),
        (lambda tok: b" the" in tok.vocabulary, "tok.token_id(b' the') is not None"),
        (lambda tok: 300 in tok, "300 in tok.get_vocab().values()"),
        (lambda tok: tok.vocabulary[2:], "tok.get_vocab(), a dict from word to id"),
        (lambda tok: slmtok.train("corpus.txt", max_token_length=None), "max_token_bytes=0 for no limit"),
        (
            lambda tok: slmtok.train("corpus.txt", require="A,B"),
            "require=['A', 'B'], or require=['A,B'] for one token with the comma",
        ),
        (lambda tok: slmtok.train("corpus.txt", require=b"A,B"), "require=[b'A,B']"),
        (lambda tok: compare(tok, tok, on=[(b"a", 1)]), "domains=['domain 0', 'domain 1']"),
        (lambda tok: compare(tok, tok, on=[(b"a", -1)], domains=["web"]), "0 as the index of the first domain"),
        (lambda tok: measure([("tok", tok)], [(b"a", 2)], domains=2), "domains=3"),
        (lambda tok: tok("a" * 999), "tok.encode(text), or slmtok.compat.as_hf(tok)(text), as in transformers"),
        (lambda tok: slmtok.train(files=["a.txt"], vocab_size=300), "corpus=['a.txt']"),
        (
            lambda tok: slmtok.load("tok.json", trust_remote_code=True),
            "leave it out: the file of a tokenizer has no code",
        ),
        (lambda tok: slmtok.Texts("a", "b"), "slmtok.Texts(['a', 'b'])"),
    ],
)
def test_fixes(call, fix, bpe) -> None:
    assert str(fix_of(lambda: call(bpe))).partition("; text that spells it stays text")[0] == fix


def test_a_method_without_options_says_so(bpe) -> None:
    with pytest.raises(UnknownOption, match=r"limit: options: none\n"):
        bpe.stream(skip_special=True)


@pytest.mark.parametrize("wrong", [5, None, object(), 1.5, [["a"]], {}])
@pytest.mark.parametrize(
    "call",
    [
        lambda tok, wrong: slmtok.pack(wrong, tok, "data"),
        lambda tok, wrong: slmtok.pack("corpus.txt", wrong, "data"),
        lambda tok, wrong: slmtok.pack(__file__, tok, wrong),
        lambda tok, wrong: slmtok.train(wrong),
        lambda tok, wrong: slmtok.count(wrong),
        lambda tok, wrong: slmtok.load(wrong),
        lambda tok, wrong: slmtok.load("tok.json", wrong),
        lambda tok, wrong: slmtok.train(["corpus.txt", wrong]),
        lambda tok, wrong: slmtok.Ragged(wrong, wrong),
        lambda tok, wrong: slmtok.PretokenCounts(wrong),
        lambda tok, wrong: slmtok.from_tiktoken(wrong),
        lambda tok, wrong: slmtok.merge_counts(wrong, "out.counts"),
        lambda tok, wrong: slmtok.slice(wrong, 280),
        lambda tok, wrong: slmtok.slice(tok, wrong),
        lambda tok, wrong: slmtok.extend(wrong, None),
        lambda tok, wrong: slmtok.extend(tok, wrong, vocab_size=500),
        lambda tok, wrong: slmtok.prune(wrong, ids=[300]),
        lambda tok, wrong: slmtok.prune(tok, ids=wrong or 5),
        lambda tok, wrong: slmtok.Tokenizer(wrong),
        lambda tok, wrong: tok.encode_files(wrong, "ids.bin"),
        lambda tok, wrong: tok.encode_files(__file__, wrong),
        lambda tok, wrong: tok.with_special(wrong, "x"),
        lambda tok, wrong: tok.token_to_id(wrong),
        lambda tok, wrong: tok.decode(wrong),
        lambda tok, wrong: tok.encode("a", bos=wrong or 1),
    ],
)
def test_wrong_types_get_our_errors(call, wrong, bpe, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SlmtokError):
        call(bpe, wrong)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "kind", [list, "a cat sat. ".__add__, iter, slmtok.Texts], ids=["list", "str", "iter", "Texts"]
)
def test_packing_texts_in_memory_has_a_call(bpe, tmp_path, monkeypatch, kind) -> None:
    monkeypatch.chdir(tmp_path)
    Path("texts.jsonl").write_text("mine")
    corpus = kind("a dog ran. " * 30) if kind == "a cat sat. ".__add__ else kind(TEXTS)
    fix = fix_of(lambda: slmtok.pack(corpus, bpe, "data", separator="x", val="none", force=True))
    code, _, rest = re.split("(, if|; or tok)", fix, maxsplit=1)
    exec(code, {"slmtok": slmtok, "tok": bpe, "text": corpus, "texts": TEXTS})
    splits = json.loads(Path("data/manifest.json").read_text())["splits"]
    assert splits["train"]["docs"] == (1 if isinstance(corpus, str) else len(TEXTS))
    assert Path("texts.jsonl").read_text() == "mine" and rest


def test_a_list_of_texts_is_answered_by_texts(bpe, tmp_path) -> None:
    assert fix_of(lambda: slmtok.train(TEXTS)).startswith("slmtok.Texts(texts)")
    assert fix_of(lambda: slmtok.count(TEXTS)).startswith("slmtok.Texts(texts)")
    assert "tok.encode_batch(texts)" in fix_of(lambda: slmtok.pack(TEXTS, bpe, tmp_path / "data"))
    assert "tok.encode_batch(texts)" in fix_of(lambda: bpe.encode_files(TEXTS, tmp_path / "ids"))
    # One name of several is probably misspelled.
    with pytest.raises(MissingInput, match="check the name"):
        slmtok.train([__file__, "nope.txt"])
    assert not list(tmp_path.iterdir())


def test_names_of_flags_are_keywords() -> None:
    tok = slmtok.train(slmtok.Texts(TEXTS), vocab_size=280, min_count=3)
    assert slmtok.train(slmtok.Texts(TEXTS), vocab_size=280, min_frequency=3) == tok
    with pytest.raises(OptionError, match="min_frequency and min_count are one option"):
        slmtok.train(slmtok.Texts(TEXTS), min_frequency=3, min_count=3)


def test_whole_floats_are_integers_as_in_commands(tmp_path) -> None:
    assert slmtok.train(slmtok.Texts(TEXTS), vocab_size=2.8e2).n_vocab == 280
    for wrong in (280.5, float("nan"), float("inf"), True):
        with pytest.raises(WrongType, match="must be an integer"):
            slmtok.train(slmtok.Texts(TEXTS), vocab_size=wrong)


class Trainer:
    """The options of a trainer of tokenizers."""

    vocab_size, min_frequency, special_tokens = 280, 2, ("<|user|>",)


class Encoding:
    """What tells an encoding of tiktoken."""

    def __init__(self, name: str) -> None:
        self.name = name


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        (
            lambda tok: slmtok.train("a.txt", trainer=Trainer()),
            "vocab_size=280, min_count=2, special={'user': '<|user|>'}",
        ),
        (lambda tok: slmtok.train(tok, "a.txt", vocab_size=280), "slmtok.train('a.txt', vocab_size=280)"),
        (lambda tok: slmtok.train("a.txt", vocab_size=np.array([280])), "vocab_size=280"),
        (lambda tok: slmtok.train("a.txt", vocab_size="280 tokens"), "vocab_size=280"),
        (
            lambda tok: slmtok.train(slmtok.Texts([Path("a.txt")]), vocab_size=280),
            "slmtok.train(['a.txt'], vocab_size=280)",
        ),
        (lambda tok: slmtok.load(Encoding("gpt2")), "slmtok.from_tiktoken('gpt2')"),
        (lambda tok: slmtok.from_tiktoken(Encoding("gpt2")), "slmtok.from_tiktoken('gpt2')"),
        (lambda tok: slmtok.load(as_tiktoken(tok)), "the tokenizer that as_tiktoken was called with"),
        (lambda tok: slmtok.load(5), "the path of the file, as a str or a Path"),
        (lambda tok: tok.save(None), "the path of the file, as a str or a Path"),
        (lambda tok: tok.encode_files(Path("a.txt").open(), "o.bin"), "'a.txt'"),  # noqa: SIM115
        (lambda tok: tok.encode_files("o.bin", "a.txt"), "tok.encode_files('a.txt', 'o.bin')"),
        (
            lambda tok: tok.encode_batch(["a"])["input_ids"],
            "ragged[0] is a row, ragged.ids all ids, ragged.pad(value) an array",
        ),
        (
            lambda tok: tok.encode_batch(["a"]).pad(max_length=8),
            "slmtok.compat.as_hf(tok).pad({'input_ids': ragged.to_lists()}, padding='max_length', max_length=8, "
            "return_tensors='np')['input_ids'], which pads with tok.specials.pad",
        ),
        (lambda tok: tok.token_to_id(["a", "b"]), "[tok.token_to_id(word) for word in ['a', 'b']]"),
        (lambda tok: tok.token_to_id(b"a"), "tok.token_id(b'a')"),
        (lambda tok: tok.token_to_id(5), "tok.id_to_token(5) gives the word of an id"),
        (lambda tok: tok.decode(b"text"), "tok.encode(text) gives ids"),
        (
            lambda tok: slmtok.slice(tok, vocab_size=1000),
            "slmtok.extend(tok, slmtok.count('CORPUS'), vocab_size=1000); slice is up to n_vocab=400",
        ),
        (
            lambda tok: slmtok.extend(tok, ["<|user|>", "low"]),
            "tok.with_special('user', '<|user|>') adds specials; slmtok.extend(tok, slmtok.count('CORPUS'), "
            "vocab_size=401) learns words from the text at the path CORPUS; none is added as it is",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_an_object_in_place_of_a_value_gives_what_it_tells(call, fix, bpe, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("\n".join(TEXTS))
    assert str(fix_of(lambda: call(bpe))).partition("; text that spells it stays text")[0] == fix
    # A file that a call was given is closed here, where that is no error, and not in a later test. Its cycle is young:
    # a full collection visits all tests, and takes half a second.
    gc.collect(1)


@pytest.mark.parametrize("call", [slmtok.load, slmtok.from_tiktoken])
def test_an_encoding_in_memory_becomes_a_tokenizer_by_its_ranks(call, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    enc = Encoding("own")
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256}
    vars(enc).update(_mergeable_ranks=ranks, _pat_str=r"\w+|\W", _special_tokens={"<|end|>": 257})
    given = {"enc": enc, "slmtok": slmtok}
    written, _, made = str(fix_of(lambda: call(enc))).rpartition("; ")
    exec(written, given)
    assert eval(made, given).encode_list("ab c") == [256, 32, 99]


def test_a_file_for_validation_is_in_the_corpus_too(bpe, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt"):
        Path(name).write_text(f"{name}\n" * 9)
    bpe.save("tok.json")
    meant = "slmtok.pack(['a.txt', 'b.txt'], {}, 'data', val='files:b.txt', bos=True)"
    opened = "slmtok.load('tok.json')"
    for tok, shown in ((bpe, "tok"), ("tok.json", opened)):
        assert fix_of(lambda tok=tok: slmtok.pack("a.txt", tok, "data", val="b.txt", bos=True)) == meant.format(shown)
    assert eval(meant.format(opened)).manifest["splits"]["val"]["docs"] == 1


def test_the_fix_for_an_open_output_replaces_it(bpe, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Path("x.json").open("w") as file:
        fix = fix_of(lambda: bpe.save(file))
    eval(f"tok.save({fix})", {"tok": bpe})
    assert slmtok.load("x.json") == bpe


def test_raw_bytes_of_ids_are_read_as_ids(bpe) -> None:
    ids = bpe.encode("low lower").tobytes()
    assert eval(fix_of(lambda: bpe.decode(ids)), {"tok": bpe, "np": np, "ids": ids}) == "low lower"


@pytest.mark.parametrize("size", [np.float32(280), np.float64(280)])
def test_a_whole_size_may_be_of_any_float(size) -> None:
    assert slmtok.train(slmtok.Texts(TEXTS), vocab_size=size).n_vocab == 280


def test_messages_of_padding(bpe) -> None:
    ragged = bpe.encode_batch(["a", "b"])
    with pytest.raises(OptionError, match=r"^pad=-1 is out of range"):
        ragged.to_torch(pad=-1)
    with pytest.raises(WrongType, match=r"^pad must be an integer, not str '<pad>'"):
        ragged.to_torch(pad="<pad>")
    with pytest.raises(
        WrongType, match=r"does not become a numpy array by itself\n.*\n.*, or list\(ragged\) for a column$"
    ):
        np.asarray(ragged)


def test_attributes_of_other_libraries(bpe) -> None:
    with pytest.raises(AttributeError, match=r"slmtok\.compat\.as_hf"):
        bpe.tokenize("a")
    with pytest.raises(AttributeError, match=r"tok.encode\(text, eos=True\) puts it beside the ids; tok"):
        _ = bpe.eos_token_id
    for name, found in {"merges": r"tok\.vocabulary\.merges", "encode_plus": r"as_hf\(tok\) has it"}.items():
        with pytest.raises(AttributeError, match=found):
            getattr(bpe, name)
    with pytest.raises(AttributeError, match=r"slmtok\.compat"):
        slmtok.get_encoding("gpt2")
    assert copy.deepcopy(bpe) == pickle.loads(pickle.dumps(bpe)) == bpe


def test_the_longest_field_of_rows_is_their_text(bpe) -> None:
    """A name of the speaker is shorter than what is said."""
    rows = [{"speaker": "ROMEO", "sentence": "But soft, what light through yonder window breaks?"}]
    for call in (lambda: slmtok.train(iter(rows), vocab_size=280), lambda: bpe.encode_batch(rows)):
        assert "row['sentence'] for row in rows" in fix_of(call)


def test_errors_inside_a_function_pass() -> None:
    """Only a call that does not fit is explained: a `TypeError` of a callback is the caller's."""

    def progress(stage: str, done: int, total: int) -> None:
        raise TypeError("of the caller")

    with pytest.raises(TypeError, match="of the caller") as caught:
        slmtok.train(slmtok.Texts(TEXTS), vocab_size=280, progress=progress)
    assert not isinstance(caught.value, SlmtokError)


def test_a_tokenizer_file_is_no_rank_file(bpe, tmp_path: Path) -> None:
    bpe.save(tmp_path / "tok.json")
    assert fix_of(lambda: slmtok.from_tiktoken(tmp_path / "tok.json", pattern="gpt2")) == "slmtok.load opens JSON files"


def test_unknown_options_are_type_errors(bpe) -> None:
    with pytest.raises(UnknownOption, match=r"limit: options: x, bos, eos, allow_special, dtype, return_tensors"):
        bpe.encode("a", nonsense=1)
    assert issubclass(UnknownOption, TypeError)


def test_a_list_of_texts_with_another_value_names_that_value() -> None:
    with pytest.raises(WrongType, match="corpus path 2 is NoneType, not str or Path") as caught:
        slmtok.train(["the cat", None])
    assert caught.value.fix is not None and "slmtok.Texts(texts)" in caught.value.fix


def test_constructors_of_results_name_the_function_that_makes_them(tmp_path: Path) -> None:
    rows = slmtok.Ragged(np.array([20, 21]), np.array([0, 1, 2]))
    made = "slmtok.Ragged(np.array([20, 21]), np.array([0, 1, 2]))"
    assert fix_of(lambda: slmtok.Ragged([20, 21], [0, 1, 2])) == made
    assert len(rows) == 2
    of_rows = fix_of(lambda: slmtok.Ragged([[1, 2], [3]])).removesuffix(", for rows of ids")
    assert [row.tolist() for row in eval(of_rows, {"slmtok": slmtok, "np": np, "rows": [[1, 2], [3]]})] == [[1, 2], [3]]
    assert of_rows in fix_of(lambda: slmtok.Ragged(np.array([1, 2, 3]), np.array([0, 2])))
    slmtok.count(slmtok.Texts(TEXTS)).save(tmp_path / "all.counts")
    path = str(tmp_path / "all.counts")
    assert fix_of(lambda: slmtok.PretokenCounts(path)).startswith(f"slmtok.PretokenCounts.load({path!r})")
    assert len(slmtok.PretokenCounts.load(path)) > 0


def test_a_misspelled_name_of_the_package_is_suggested() -> None:
    with pytest.raises(AttributeError, match=r"from slmtok\.shards import open_shards"):
        slmtok.open_shards  # noqa: B018
    with pytest.raises(AttributeError, match=r"\[row.tolist\(\) for row in ragged\] has it"):
        slmtok.Ragged(np.array([20]), np.array([0, 1])).tolist()
    with pytest.raises(AttributeError, match=r"slmtok\.load\(path\) gives a Tokenizer"):
        slmtok.colour  # noqa: B018
    ran = subprocess.run([sys.executable, "-c", "import slmtok; slmtok.tarin"], capture_output=True, text=True)
    assert "Did you mean: 'train'?" in ran.stderr


def test_pruning_on_an_empty_text_removes_nothing(bpe, tmp_path: Path) -> None:
    with pytest.raises(CorpusTooSmall, match="the corpus is empty: 1 document of 0 bytes"):
        slmtok.prune(bpe, unused_on=slmtok.Texts([""]))


def test_a_file_without_permission_names_the_permission(tmp_path: Path) -> None:
    path = str(tmp_path / "a text")
    with pytest.raises(SlmtokError) as caught, explained(path):
        raise PermissionError(errno.EACCES, "Permission denied")
    assert caught.value.fix == f"check who may read it: ls -l '{path}'"


def test_values_of_wrong_types_are_named(bpe, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    bpe.save("tok.json")
    assert fix_of(lambda: slmtok.load("tok.json", "gpt2")) == "verify=True, or verify=False"
    # No file lies beside data in memory.
    assert fix_of(lambda: slmtok.Tokenizer.from_bytes(b"abc")) == "name a tokenizer file, as slmtok train writes it"
    counts = slmtok.count(slmtok.Texts(TEXTS))
    saved = "counts[0].save('0.counts'), slmtok.merge_counts(['0.counts'], 'all.counts')"
    assert fix_of(lambda: slmtok.merge_counts([counts], "all.counts")) == saved


def _printed(*state: object) -> None:
    print(*state)


PRINTED = "on_progress=_printed, which is called as _printed(state)"


@pytest.mark.parametrize(
    ("given", "fix"),
    [
        ({"progress": _printed}, PRINTED),
        ({"callback": _printed}, PRINTED),
        ({"progress": lambda state: None}, "on_progress=lambda state: print(state)"),
        ({"progress": True}, "on_progress=lambda state: print(state)"),
        ({"progress": None}, "leave it out: without a function no progress is reported"),
        ({"progress_bar": False}, "leave it out: without a function no progress is reported"),
    ],
)
def test_packing_names_its_report_of_progress(bpe, tmp_path: Path, monkeypatch, given, fix: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("corpus.txt").write_text("\n".join(TEXTS))
    assert fix_of(lambda: slmtok.pack("corpus.txt", bpe, "out", **given)) == fix
    named = eval(f"dict({fix.partition(', which')[0]})", globals()) if not fix.startswith("leave it out") else {}
    assert slmtok.pack("corpus.txt", bpe, "out", **named).files


def test_counting_and_training_name_their_report_of_progress() -> None:
    fix = "progress=_printed, which is called as _printed(stage, done, total)"
    for call in (slmtok.count, slmtok.train):
        assert fix_of(lambda call=call: call(slmtok.Texts(TEXTS), on_progress=_printed)) == fix


def test_a_report_of_progress_of_other_arguments_is_refused_before_the_work(bpe, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("corpus.txt").write_text("\n".join(TEXTS))
    fix = fix_of(lambda: slmtok.pack("corpus.txt", bpe, "out", on_progress=lambda done, total: None))
    assert fix == "on_progress=lambda state: print(state)" and not Path("out").exists()

    def failing(state: object) -> None:
        raise LookupError("of the caller")

    with pytest.raises(LookupError, match="of the caller"):
        slmtok.pack("corpus.txt", bpe, "out", on_progress=failing)
    again = fix_of(lambda: slmtok.pack("corpus.txt", bpe, "out", separator="\n"))
    assert again is not None and "force=True to start again" in again
    given = {"val": "none", "separator": "\n", "force": True}
    assert slmtok.pack("corpus.txt", bpe, "out", **given, **eval(f"dict({fix})")).files


@pytest.mark.parametrize(
    ("wrong", "fix"),
    [
        ({"a b": 1}.keys(), "tok.encode_batch(texts)"),
        ({"a b"}, "tok.encode_batch(texts)"),
        (slmtok.Texts(["a b"]), "tok.encode_batch(texts)"),
        (iter(["a b"]), "tok.encode_batch(texts), where it gives texts"),
        (range(97, 99), "tok.decode(ids)"),
    ],
)
def test_an_iterable_in_place_of_one_text(bpe, wrong, fix) -> None:
    assert fix_of(lambda: bpe.encode(wrong)) == fix
    names = {"tok": bpe, "texts": wrong, "ids": wrong}
    eval(fix.partition(", ")[0], names)


def test_a_column_of_texts_in_place_of_one_text(bpe) -> None:
    pandas = pytest.importorskip("pandas")
    missing = pandas.DataFrame({"text": ["a", None]}, dtype=object)
    assert fix_of(lambda: bpe.encode(missing.text)) == "tok.encode_batch(texts)"
    assert fix_of(lambda: bpe.encode(missing)) == "df['text']"
