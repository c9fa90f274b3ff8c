"""Slips in calls of Python: the fix names what was meant, and works as printed."""

# Calls of wrong types are the subject.
# mypy: disable-error-code="arg-type,list-item"

from __future__ import annotations

import importlib
import io
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slmtok
from slmtok import errors, patterns
from slmtok.compat import as_hf, as_tiktoken, nanochat, rustbpe
from slmtok.formats.export import export
from slmtok.formats.importing import import_file

STORIES = ["the cat sat on the mat\n\tand then the dog ran"] * 20


def gen() -> Iterator[str]:
    yield from STORIES


def of_file(path: str) -> Iterator[str]:
    yield path


@pytest.fixture(scope="module")
def tok() -> slmtok.Tokenizer:
    return slmtok.train(gen(), vocab_size=290, allow_smaller=True)


def test_a_function_that_was_not_called_is_called_by_the_fix() -> None:
    for call in (slmtok.count, slmtok.Texts):
        with pytest.raises(errors.WrongType, match=r"this is the function 'gen'[\s\S]*fix:   gen\(\)$"):
            call(gen)
    with pytest.raises(errors.WrongType, match=r"fix:   of_file\(\.\.\.\)$"):
        slmtok.count(of_file)
    with pytest.raises(errors.WrongType, match=r"fix:   call it, and give what it returns$"):
        slmtok.count(lambda: iter(STORIES))
    with pytest.raises(errors.WrongType, match=r"text 0 is function[\s\S]*fix:   slmtok\.Texts\(gen\(\)\)$"):
        slmtok.count(slmtok.Texts([gen]))
    assert slmtok.count(gen()).documents == slmtok.count(slmtok.Texts(gen())).documents == 20


def test_format_and_tokenizer_in_another_order(tok: slmtok.Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(
        errors.WrongType, match=r"limit: export\(tokenizer, to, folder\)\n  fix:   export\(tok, 'hf', 'x'"
    ):
        export("hf", tok, "x")


def test_a_tokenizer_of_slmtok_is_loaded_not_imported(tok: slmtok.Tokenizer, tmp_path: Path) -> None:
    file = tmp_path / "tok.json"
    tok.save(file)
    with pytest.raises(errors.CorruptFile) as caught:
        import_file(str(file))
    assert caught.value.fix == f"slmtok.load({str(file)!r}), which is the tokenizer as it is"


def test_a_word_of_gpt2_files_is_named_as_this_tokenizer_writes_it(tok: slmtok.Tokenizer) -> None:
    number = tok.token_to_id("␣the")
    assert number is not None
    with pytest.warns(UserWarning, match=rf"'Ġthe' is no token; .*tok\.token_to_id\('␣the'\) is {number}$"):
        assert tok.token_to_id("Ġthe") is None
    assert tok.token_to_id("Ġqqq") is None and tok.token_to_id("qqq") is None


def test_weights_without_names_are_fixed_with_their_domains() -> None:
    with pytest.raises(errors.WrongType) as caught:
        slmtok.train(gen(), vocab_size=290, mix=[0.5, 0.5])
    assert caught.value.fix == "mix={'code': 0.5}, domains={'code': '*.py'}, for instance"


def test_an_iterator_that_was_read_is_made_anew(tmp_path: Path) -> None:
    rows = ([text, text] for text in STORIES)
    with pytest.raises(errors.WrongType, match=r"read up to text 0 by now: make it anew for the fix\n"):
        slmtok.count(rows)
    lists = [[text] for text in STORIES]
    with pytest.raises(errors.WrongType, match=r"not str or bytes\n  fix:   [^\n]*in row\)  # rows stands"):
        slmtok.count(slmtok.Texts(lists))
    records = iter([{"text": text} for text in STORIES])
    with pytest.raises(errors.WrongType, match=r"text 0 by now: make it anew for the fix\n"):
        slmtok.count(records)


# --- names, sizes and outputs in other places -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        (
            "save",
            "tok.save(path)  # tok is a Tokenizer; slmtok.load('TOK') opens one; path stands for your own value"
            "; TOK: your own tokenizer file",
        ),
        ("n_vocab", "tok.n_vocab  # tok is a Tokenizer; slmtok.load('TOK') opens one; TOK: your own tokenizer file"),
        ("get_encoding", "from slmtok.compat.tiktoken import get_encoding"),
        ("encoding_for_model", "from slmtok.compat.tiktoken import encoding_for_model"),
        ("SentencePieceProcessor", "from slmtok.compat.sentencepiece import SentencePieceProcessor"),
        (
            "AutoTokenizer",
            "slmtok.compat.as_hf(slmtok.load('TOK')), which has the names of transformers"
            "  # TOK: your own tokenizer file",
        ),
        (
            "export",
            "from slmtok.formats.export import export; export(tok, 'hf', 'exported')"
            "  # tok is a Tokenizer; slmtok.load('TOK') opens one; TOK: your own tokenizer file",
        ),
    ],
)
def test_a_name_of_another_library_is_imported_from_its_module(
    name: str, fix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for use, error in ((f"from slmtok import {name}", ImportError), (f"slmtok.{name}", AttributeError)):
        with pytest.raises(error) as caught:
            exec(use)
        assert str(caught.value) == f"slmtok has no {name!r}\n  fix:   {fix}"
    assert not hasattr(slmtok, name)
    if fix.startswith("from ") and "tok is" not in fix:
        exec(fix)


def test_names_of_the_package_are_its_public_ones() -> None:
    importlib.import_module("slmtok.model_encodings")
    assert {name for name in dir(slmtok) if not name.startswith("__")} == {*slmtok.__all__, "compat"} - {"__version__"}


@pytest.mark.parametrize("size", [280, "280", 280.0])
def test_a_size_by_position_is_the_size_of_the_vocabulary(tmp_path: Path, size: Any) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("low lower lowest " * 30)
    tok = slmtok.train(corpus, vocab_size=274)
    for call in (lambda: slmtok.train(corpus, size), lambda: slmtok.extend(tok, slmtok.count(corpus), size)):
        with pytest.raises(errors.WrongType, match=r"fix:   vocab_size=280$"):
            call()
    with pytest.raises(errors.WrongType, match=r"save\('280'\)"):
        slmtok.count(corpus, "280")


def test_ids_as_a_corpus_are_decoded(tok: slmtok.Tokenizer) -> None:
    ids = tok.encode(STORIES[0])
    for given in (ids, ids.tolist(), iter(ids)):
        with pytest.raises(errors.WrongType) as caught:
            slmtok.count(given)
        fix = str(caught.value.parts["fix"]).partition(" for the text of ids")[0]
        counts = slmtok.count(eval(fix, {"slmtok": slmtok, "tok": tok, "ids": ids}))
        assert counts.documents == 1, fix


def test_a_file_is_read_for_one_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("val.txt").write_text("low")
    tok = slmtok.train(slmtok.Texts(["low lower"] * 9), vocab_size=274)
    with Path("val.txt").open() as file, pytest.raises(errors.WrongType) as caught:
        tok.encode(file)  # type: ignore[call-overload]
    assert caught.value.parts["fix"] == "tok.encode(open('val.txt').read())"
    with pytest.raises(errors.WrongType, match=r"tok\.encode\(file\.read\(\)\)"):
        tok.encode(io.StringIO("low"))  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        ("slmtok.prune(tok, [273], 'x.json')", "slmtok.prune(tok, ids=[273]).tokenizer.save('x.json')"),
        (
            "slmtok.prune(tok, 273, 'x.json')",
            "slmtok.prune(tok, unused_on='CORPUS', keep=273).tokenizer.save('x.json')",
        ),
        ("slmtok.slice(tok, 273, 'x.json')", "slmtok.slice(tok, 273).save('x.json')"),
    ],
)
def test_a_result_is_saved_in_a_call_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, fix: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("CORPUS").write_text("low lower")
    tok = slmtok.train(slmtok.Texts(["low lower"] * 9), vocab_size=274)
    with pytest.raises(errors.WrongType) as caught:
        eval(call)
    assert caught.value.parts["fix"] == fix
    eval(fix, {"slmtok": slmtok, "tok": tok})
    assert slmtok.load("x.json").n_vocab == 273


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # of open(...).read() in the fix
def test_files_that_are_not_utf_8_are_encoded_with_a_warning(
    tok: slmtok.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("latin.txt").write_text("L'été à la forêt", encoding="latin-1")
    with pytest.warns(UserWarning, match=r"'latin.txt' is not UTF-8, .*; tok\.encode_batch") as warned:
        tok.encode_files("latin.txt", "ids.bin")
    fix = str(warned[0].message).partition("; ")[2].removesuffix(" reads another encoding")
    rows = eval(fix.replace("NAME", "'latin-1'"), {"tok": tok})
    assert tok.decode_batch(rows) == ["L'été à la forêt"]


def test_an_iterator_that_was_used_up_gives_a_warning(tok: slmtok.Tokenizer) -> None:
    texts = slmtok.Texts(gen())
    assert slmtok.count(texts).documents == 20
    rows = iter(STORIES)
    assert len(tok.encode_batch(rows)) == 20
    used: list[Callable[[], object]] = [
        lambda: slmtok.count(texts),
        lambda: tok.encode_batch(rows),
        lambda: tok.count_tokens(rows),
    ]
    for call in used:
        with pytest.warns(UserWarning, match="gave no texts: one that was read before gives none again") as caught:
            call()
        assert caught[0].filename == __file__


@pytest.mark.filterwarnings("error")
def test_a_list_without_texts_and_one_that_is_read_twice_give_no_warning(tok: slmtok.Tokenizer) -> None:
    texts = slmtok.Texts(STORIES)
    assert slmtok.count(texts).documents == slmtok.count(texts).documents == 20
    assert len(tok.encode_batch([])) == 0 and slmtok.count(slmtok.Texts([])).documents == 0


def test_an_adapter_warns_of_an_iterator_that_was_used_up_and_not_of_an_empty_list() -> None:
    chat, rust = nanochat.RustBPETokenizer.train_from_iterator(gen(), 280), rustbpe.Tokenizer()
    rust.train_from_iterator(gen(), 280)
    for call in (chat.encode, rust.batch_encode):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert call([]) == []
        with pytest.warns(UserWarning, match="the list_iterator gave no texts"):
            call(iter([]))


def test_a_separator_of_texts_is_not_that_of_columns(tok: slmtok.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n\ntwo\n\nthree")
    for name in ("sep", "delimiter"):
        with pytest.raises(errors.UnknownOption) as caught:
            slmtok.pack(tmp_path / "a.txt", tok, tmp_path / "out", **{name: "\n\n"})
        assert caught.value.fix == "separator='\\n\\n'"
        with pytest.raises(errors.UnknownOption, match=r"fix:   leave it out: \.csv has commas"):
            slmtok.pack(tmp_path / "a.txt", tok, tmp_path / "out", **{name: ","})
    assert slmtok.count(tmp_path / "a.txt", separator="\n\n").documents == 3


def test_all_specials_of_a_text_that_has_those_of_another_tokenizer(tok: slmtok.Tokenizer) -> None:
    for text in ("hi <|endoftext|>", b"hi <|endoftext|>"):
        fix = re.escape("stays text; tok = tok.with_special('eos', '<|endoftext|>') makes")
        with pytest.warns(UserWarning, match=fix) as caught:
            tok.encode(text, allow_special="all")
        assert caught[0].filename == __file__
    spelled = tok.with_special("eos", "<|endoftext|>")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert spelled.encode("<|endoftext|><|x|>", allow_special="all")[0] == tok.specials.eos
        tok.encode("hi <|endoftext|>")
        tok.encode("a <| b |>", allow_special="all")


@pytest.mark.parametrize("value", [None, float("nan")])
def test_a_missing_text_is_named(tok: slmtok.Tokenizer, value: Any) -> None:
    with pytest.raises(errors.WrongType, match="a missing text") as caught:
        tok.encode(value)
    assert len(eval(str(caught.value.fix), {"tok": tok, "text": value})) == 0


def test_white_space_of_sentencepiece_is_named(tok: slmtok.Tokenizer) -> None:
    with pytest.warns(UserWarning, match=r"in SentencePiece's files: tok\.token_to_id\('␣the'\) is \d+"):
        assert tok.token_to_id("▁the") is None


def test_ids_are_not_read_from_the_header_of_a_file(
    tok: slmtok.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(STORIES[0] * 300)
    slmtok.pack("a.txt", tok, "data", val="none")
    whole = np.memmap("data/train-00000.bin", dtype=np.uint16, mode="r")
    ids = np.fromfile("data/train-00000.bin", dtype=np.uint16)
    np.save("ids.npy", tok.encode(STORIES[0]))
    array = np.memmap("ids.npy", dtype=np.uint16, mode="r")
    for wrong in (whole, whole[:40], whole[1000:][:20], ids, array):
        for call in (tok.decode, lambda row: tok.decode_batch([row])):
            with pytest.raises(errors.WrongType, match="the ids begin in the header of") as caught:
                call(wrong)
            fix = str(caught.value.fix).partition(", whose ids")[0]
            read = eval(fix, {"np": np, "path": "data/train-00000.bin"})
            assert tok.decode(read, skip_special=True).startswith(STORIES[0])
    begun = tok.decode(whole[2048:2060])
    assert begun == tok.decode(ids[2048:2060]) == tok.decode(np.array(whole[2048:])[:12])


def test_the_name_of_a_column_is_no_sequence_of_ids(tok: slmtok.Tokenizer) -> None:
    encoded = as_hf(tok)(["a cat", "a dog"], add_special_tokens=False)
    for ids in encoded:
        for call in (tok.decode, as_hf(tok).decode):
            with pytest.raises(
                errors.WrongType, match=f"^{ids!r} is the name of a column of a batch, not its ids\n"
            ) as caught:
                call(ids)
            many, _, one = str(caught.value.fix).partition(", or ")
            assert eval(many, {"tok": tok, "encoded": encoded}) == ["a cat", "a dog"]
            assert eval(one.removesuffix(" of one text"), {"tok": tok, "encoded": as_hf(tok)("a cat")}).endswith(
                "a cat"
            )


def test_short_ids_are_repeated_in_the_call_that_takes_them(tok) -> None:
    for call, mended in {
        "tok.decode([[100, 101], [102]])": "tok.decode_batch([[100, 101], [102]])",
        "tok.decode([100, [101]])": "tok.decode_batch(rows)",
        "tok.decode_batch([100, 101])": "tok.decode([100, 101])",
        "tok.decode(['100', '101'])": "list(map(int, ['100', '101']))",
        "tok.decode([list(range(100, 200))])": "tok.decode_batch(rows)",
        "tok.decode_batch(list(range(100, 200)))": "tok.decode(ids)",
    }.items():
        with pytest.raises(errors.WrongType) as caught:
            eval(call)
        assert caught.value.fix == mended
    assert tok.decode_batch([[100, 101], [102]]) == [tok.decode([100, 101]), tok.decode([102])]


def test_ids_given_one_by_one_are_one_sequence(tok) -> None:
    for call, mended in {
        "tok.decode(100, 101)": "tok.decode([100, 101])",
        "tok.decode(100, np.int64(101), 102, skip_special=True)": "tok.decode([100, 101, 102], skip_special=True)",
        "tok.decode_bytes(100, 101)": "tok.decode_bytes([100, 101])",
        "tok.decode_segments(100, 101)": "tok.decode_segments([100, 101])",
        "tok.decode_batch(100, 101)": "tok.decode([100, 101])",
        "tok.decode([100], [101, 102])": "tok.decode_batch([[100], [101, 102]])",
        "tok.decode([100], [101], skip_special=True)": "[tok.decode(row, skip_special=True) for row in [[100], [101]]]",
        "tok.decode_bytes([100], [101])": "[tok.decode_bytes(row) for row in [[100], [101]]]",
        "tok.decode_batch([100], [101], [102])": "tok.decode_batch([[100], [101], [102]])",
        "tok.decode(np.array([100]), np.array([101]))": "tok.decode_batch(rows)",
    }.items():
        names = {"tok": tok, "np": np}
        with pytest.raises(errors.WrongType) as caught:
            eval(call, names)
        assert caught.value.fix == mended
        eval(mended, {**names, "rows": [[100], [101]]})


def test_a_dict_of_rows_is_decoded_whole(tok) -> None:
    rows, batches = {"a": [100], "b": np.array([101, 102])}, {"train": [[100], [101]], "val": [[102]]}
    for method, encoded, mended in (
        (tok.decode_batch, rows, "tok.decode_batch(encoded.values())"),
        (tok.decode, rows, "tok.decode_batch(encoded.values())"),
        (tok.decode_bytes, rows, "[tok.decode_bytes(row) for row in encoded.values()]"),
        (tok.decode_batch, batches, "[tok.decode_batch(rows) for rows in encoded.values()]"),
        (tok.decode_batch, {"ids": [100], "mask": [1]}, "tok.decode(encoded['ids'])"),
    ):
        with pytest.raises(errors.WrongType) as caught:
            method(encoded)
        assert caught.value.fix == mended
        assert len(eval(mended, {"tok": tok, "encoded": encoded})) == (1 if "ids" in encoded else 2)


def test_none_in_the_place_of_ids_is_no_id(tok) -> None:
    for call, fix in (
        (tok.decode, "ids = tok.encode(text)"),
        (tok.decode_bytes, "ids = tok.encode(text)"),
        (tok.decode_batch, "ids = tok.encode_batch(texts)"),
    ):
        with pytest.raises(errors.WrongType, match="not NoneType") as caught:
            call(None)
        assert caught.value.fix == f"{fix}  # a function without a return statement gives None"


def test_a_bos_for_each_text_encodes_them_one_by_one(tok) -> None:
    texts = ["a cat", "a dog"]
    for options, starts, ends in (
        ({"bos": [True, False]}, [1, 0], [0, 0]),
        ({"bos": (False, True), "eos": True}, [0, 1], [1, 1]),
        ({"bos": [True, True], "eos": [False, True]}, [1, 1], [0, 1]),
    ):
        with pytest.raises(errors.WrongType, match="of a batch is one value for all texts") as caught:
            tok.encode_batch(texts, **options)
        rows = [row.tolist() for row in eval(str(caught.value.fix), {"tok": tok, "texts": texts})]
        assert [int(row[0] == tok.specials["bos"]) for row in rows] == starts
        assert [int(row[-1] == tok.specials["eos"]) for row in rows] == ends


def test_the_remedy_for_ids_calls_the_method_that_was_called(tok) -> None:
    segments = tok.encode_segments([slmtok.Special("bos"), "a cat"])
    names = {"tok": tok, "encoded": segments, "pieces": tok.pieces("a cat"), "ragged": tok.encode_batch(["a", "cat"])}
    names |= {"rows": [*names["ragged"]], "ids": names["pieces"][0]}
    for call, fix, wanted in (
        ("tok.decode_segments(encoded)", "tok.decode_segments(encoded.ids)", [slmtok.Special("bos"), "a cat"]),
        ("tok.decode_bytes(encoded)", "tok.decode_bytes(encoded.ids)", b"<s>a cat"),
        ("tok.decode_segments(ragged)", "[tok.decode_segments(row) for row in ragged]", [["a"], ["cat"]]),
        ("tok.decode_bytes(rows)", "[tok.decode_bytes(row) for row in rows]", [b"a", b"cat"]),
        ("tok.decode(pieces)", "tok.decode([id for id, _ in pieces])", "a cat"),
        ("tok.decode_bytes(ids)", "tok.decode_bytes(ids[:1])", names["ids"][1]),
    ):
        with pytest.raises(errors.WrongType) as caught:
            eval(call, names)
        assert str(caught.value.fix).partition(", of a piece")[0] == fix
        assert eval(fix, names) == wanted


def test_ids_of_a_stream_are_pushed(tok) -> None:
    ids = tok.encode("the cat")
    with pytest.raises(errors.WrongType) as caught:
        tok.stream(ids)
    making, _, pushing = str(caught.value.fix).partition("; ")
    names = {"tok": tok, "ids": ids}
    exec(making, names)
    assert "".join(eval(pushing, names)) == "the cat"


def test_options_of_a_tokenizer_on_the_interface_of_tiktoken(tok) -> None:
    encoding, rows = as_tiktoken(tok), ["the cat"]
    for call, wanted in (
        (lambda: encoding.encode("the cat", bos=True), tok.encode_list("the cat", bos=True)),
        (lambda: encoding.encode_batch(rows, eos=True), [tok.encode_list("the cat", eos=True)]),
        (lambda: encoding.decode([1, 100], skip_special=True), tok.decode([100])),
    ):
        with pytest.raises(errors.UnknownOption) as caught:
            call()
        assert eval(str(caught.value.fix).removesuffix(", of the Tokenizer tok"), {"tok": tok}) == wanted
    with pytest.raises(errors.UnknownOption, match=r"fix:   num_threads=2$"):
        encoding.encode_batch(rows, threads=2)  # type: ignore[call-arg]
    with pytest.raises(errors.UnknownOption, match=r"help\(slmtok.compat.tiktoken.Encoding.encode\)$"):
        encoding.encode("the cat", add_special_tokens=True)  # type: ignore[call-arg]


def test_ids_with_their_spans_are_no_batch(tok) -> None:
    for call in (tok.decode, tok.decode_batch, tok.decode_bytes):
        with pytest.raises(errors.WrongType) as caught:
            call(tok.encode_with_offsets("To be"))
        *_, last = str(caught.value.fix).split("; ")
        names: dict[str, object] = {"tok": tok, "text": "To be"}
        exec(str(caught.value.fix).removesuffix(last), names)
        assert eval(last, names) == "To be"


def test_a_remedy_keeps_what_was_given(tok) -> None:
    for call, fix in (
        (
            "tok.encode_batch(['</s>'], allow_special={'eos'})",
            "[tok.encode(text, allow_special={'eos'}) for text in ['</s>']]",
        ),
        ("slmtok.view(tok, output='v.html')", "slmtok.view(tok).save('v.html')"),
        ("slmtok.view(tok, 'To be', output='v.html')", "slmtok.view(tok, 'To be').save('v.html')"),
        ("slmtok.view(tok, 'To be', 'v.html')", "slmtok.view(tok, 'To be').save('v.html')"),
        (
            "slmtok.view([tok, tok], 'To be')",
            "slmtok.view({str(number): tok for number, tok in enumerate(tokenizers)}, 'To be')",
        ),
        ("slmtok.view('tok.json', 'To be')", "slmtok.view(slmtok.load('tok.json'), 'To be')"),
        ("tok.token_id(100)", "tok.token_bytes(100) gives the bytes of an id"),
        ("compile_automaton(re.compile('[a-z]+'))", "regex='[a-z]+'"),
    ):
        with pytest.raises(errors.SlmtokError) as caught:
            eval(call, {"tok": tok, "slmtok": slmtok, "re": re, "compile_automaton": patterns.compile_automaton})
        assert caught.value.fix == fix


def test_a_remedy_reads_the_value(tok, tmp_path, monkeypatch) -> None:
    """A remedy with an example in place of the value would do something else."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("to be or not to be\n" * 50)
    size = tok.n_vocab
    of_size = "n_vocab=SIZE, the number of ids to keep; slmtok.prune(tok, ids=IDS) removes single ids"
    for call, fix in (
        ("tok.pieces([20, 21])", "tok.pieces(tok.decode([20, 21]))"),
        ("slmtok.slice(tok, -2)", f"n_vocab={size - 2}, or another size from the limit up"),
        ("slmtok.slice(tok, ['the'])", of_size),
        ("slmtok.slice(tok, None)", of_size),
        ("slmtok.slice(tok, [280])", "n_vocab=280"),
        (
            "slmtok.PretokenCounts.load(['a.counts', 'b.counts'])",
            "slmtok.PretokenCounts.load('a.counts', 'b.counts')",
        ),
        ("slmtok.train('a.txt', vocab_size=280, document='paragraph')", "separator='\\n\\n'"),
        (
            "tok.encode_files('a.txt', 'a.ids', document='paragraphs')",
            "slmtok.pack has separator='\\n\\n', and writes a folder",
        ),
        ("slmtok.compat.as_hf(tok, padding_sid='left')", "padding_side='left'"),
        ("slmtok.train('a.txt', vocab_size=280, patern=True)", "pattern='slm', for instance"),
        ("tok.encode_batch(['To be'], seed=1, epoch=2)", "leave seed and epoch out, or give dropout=0.1"),
    ):
        with pytest.raises(errors.SlmtokError) as caught:
            eval(call, {"tok": tok, "slmtok": slmtok})
        assert errors.render(caught.value.parts["fix"]) == fix, call
    assert tok.encode_batch(["To be"], dropout=0.0, seed=1).to_lists() == tok.encode_batch(["To be"]).to_lists()


@pytest.mark.parametrize("call", ["train('a.txt', vocab_size=280", "count('a.txt'", "pack('a.txt', tok, 'data'"])
def test_a_key_that_is_named_needs_records(tok, tmp_path, monkeypatch, call) -> None:
    """The default, as well, where a call names it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("to be or not to be\n" * 50)
    for key in ("text", "body"):
        with pytest.raises(errors.OptionError, match=f"^text_key='{key}' names a field, and no file of the corpus"):
            eval(f"slmtok.{call}, text_key={key!r})", {"tok": tok, "slmtok": slmtok})
    assert not (tmp_path / "data").exists()
    (tmp_path / "a.jsonl").write_text('{"text": "to be or not to be, that is the question"}\n')
    of_records = f"slmtok.{call}, text_key='text')".replace("a.txt", "a.jsonl").replace("280", "275")
    eval(of_records, {"tok": tok, "slmtok": slmtok})


@pytest.mark.parametrize("value", [np.array([1, 2]), np.array([]), np.array([0]), None])
def test_an_end_of_a_text_is_true_or_false_in_each_call(value: Any) -> None:
    tok = slmtok.train(slmtok.Texts(STORIES), vocab_size=280)
    for call in (tok.encode, tok.encode_list, lambda text, **ends: tok.encode_batch([text], **ends)):
        for end in ("bos", "eos"):
            with pytest.raises(errors.WrongType, match=f"^{end} is True or False, not "):
                call("the cat", **{end: value})


def test_ids_of_a_file_that_are_read_as_wider_numbers(tok, tmp_path) -> None:
    """The tokenizer made them: the type is wrong."""
    ids = tok.encode("".join(STORIES[:4]))[:40]
    ids.tofile(tmp_path / "ids.bin")
    for dtype in (np.int32, np.uint32, np.int64, np.uint64):
        wide = np.fromfile(tmp_path / "ids.bin", dtype=dtype)
        for decode in (tok.decode, tok.decode_bytes, lambda row: tok.decode_batch([row])):
            with pytest.raises(errors.UnknownId) as caught:
                decode(wide)
            assert caught.value.fix and caught.value.fix.endswith(": ids = np.fromfile(path, dtype=np.uint16)")
    read: dict[str, Any] = {"np": np, "path": tmp_path / "ids.bin"}
    exec(caught.value.fix.rpartition(": ")[2], read)
    assert read["ids"].tolist() == ids.tolist()
    for wrong in ([5, 100_000], [5, 1 << 40], [1 << 40]):
        with pytest.raises(errors.UnknownId) as caught:
            tok.decode(np.array(wrong))
        assert caught.value.fix == "decode with the tokenizer that made the ids"


def test_an_allowed_special_of_another_tokenizer(tok) -> None:
    """The option alone would leave it text."""
    for allowed in ("all", {"<|endoftext|>"}):
        for name in ("encode", "encode_list"):
            with pytest.raises(errors.UnknownOption) as caught:
                getattr(tok, name)("a<|endoftext|>b", bos=True, allowed_special=allowed)
            ids = eval(str(caught.value.fix), {"tok": tok})
            assert [*ids] == [tok.specials.bos, *tok.encode("a"), tok.specials.eos, *tok.encode("b")]
    for text in ("a</s>b", "ab"):
        with pytest.raises(errors.UnknownOption) as caught:
            tok.encode(text, allowed_special="all")
        assert caught.value.fix == "allow_special='all'"


def test_padding_with_the_spelling_of_another_role(tok) -> None:
    """A call that gives both one spelling would fail as well."""
    alias = "'</s>' is the spelling of eos; as_hf(tok, pad='eos') or ragged.pad(tok.specials['eos']) pads with it"
    for owner, name in ((tok, "pad_token"), (tok.specials, "pad")):
        with pytest.raises(AttributeError) as caught:
            setattr(owner, name, "</s>")
        assert str(caught.value).endswith(f"immutable; {alias}")
    with pytest.raises(errors.InvalidSpecials) as refused:
        tok.with_special("pad", "</s>")
    assert refused.value.fix == f"{alias}; to change both: tok = tok.with_special('eos', '<|eos|>') first"
    assert as_hf(tok, pad="eos").pad_token == "</s>"
    assert tok.encode_batch(["a", "a a b"]).pad(tok.specials["eos"]).ndim == 2
    with pytest.raises(AttributeError, match=r"'</s>' is the spelling of eos; tok.specials\['eos'\] is its id"):
        tok.cls_token = "</s>"
    with pytest.raises(AttributeError, match=r"tok = tok.with_special\('pad', '<pad>'\) makes another one"):
        tok.pad_token = "<pad>"


def test_an_output_in_a_folder_that_does_not_exist(tok, tmp_path, monkeypatch) -> None:
    """The fix makes the folder whether or not a file in it is named."""
    monkeypatch.chdir(tmp_path)
    made = "import pathlib; pathlib.Path('saved').mkdir(parents=True)"
    with pytest.raises(errors.OptionError, match=r"^output 'saved/' names a folder") as caught:
        tok.save("saved/")
    assert caught.value.fix == f"{made}; then name a file in it"
    with pytest.raises(errors.MissingInput, match=r"^no folder 'saved' for the output 'tok\.json'") as missing:
        tok.save("saved/tok.json")
    assert missing.value.fix == made
    exec(made)
    tok.save("saved/tok.json")
    with pytest.raises(errors.OptionError) as caught:
        tok.save("saved/tok.json/", force=True)
    assert caught.value.fix == "leave the slash out"
