"""Fixes that are calls of Python: each is evaluated as it is written, and works."""

from __future__ import annotations

import gzip
import json
import re
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pasting import pasted
from shared_data import peer

import slmtok
from slmtok import corpus
from slmtok.analysis.audit import audit
from slmtok.analysis.diff import compare
from slmtok.analysis.exposure import exposure
from slmtok.compat import as_hf, as_tiktoken, cs336
from slmtok.compat.hf import HFTokenizer
from slmtok.compat.minbpe import BasicTokenizer
from slmtok.compat.nanochat import RustBPETokenizer, get_tokenizer
from slmtok.compat.rustbpe import Tokenizer as RustTokenizer
from slmtok.compat.sentencepiece import SentencePieceProcessor
from slmtok.compat.tiktoken import from_tokenizer, get_encoding
from slmtok.compat.tokenizers import ByteLevelBPETokenizer
from slmtok.errors import (
    CorruptFile,
    Inexpressible,
    InvalidSpecials,
    MissingInput,
    OptionError,
    SlmtokError,
    UnknownName,
    UnknownOption,
    UnknownSpecial,
    WrongFormat,
    WrongType,
)
from slmtok.foreign_options import AS_HF, BOTH_AS_HF
from slmtok.formats.export import export
from slmtok.options import ReadOptions
from slmtok.shards import Shards, open_shards
from slmtok.shards.token_files import open_token_files

TEXT = "the cat sat on the mat, and the dog sat by the door.\n" * 20


@pytest.fixture
def tok(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> slmtok.Tokenizer:
    """A tokenizer of a.txt in the working folder, saved as tok.json."""
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(TEXT)
    made = slmtok.train("a.txt", vocab_size=280, pattern="gpt2")
    made.save("tok.json")
    return made


def test_a_corpus_is_counted_for_extend_with_all_options(tok: slmtok.Tokenizer) -> None:
    fix, extended = pasted(
        lambda: slmtok.extend(tok, "a.txt", vocab_size=284, min_count=3, document="line"),  # type: ignore[arg-type]
        WrongType,
        tok=tok,
    )
    counted = "slmtok.count('a.txt', document='line', pattern=tok.pattern.regex)"
    assert fix == f"slmtok.extend(tok, {counted}, vocab_size=284, min_count=3)"
    assert extended.tokenizer.n_vocab == 284
    _, named = pasted(lambda: slmtok.extend(tok, ["<|user|>", "[INST]"]), WrongType, tok=tok)  # type: ignore[arg-type]
    assert (
        named.decode([named.specials.user]) == "<|user|>"
        and len(named.encode("<|user|>[INST]", allow_special="all")) == 2
    )


def test_the_size_is_checked_before_the_corpus(tok: slmtok.Tokenizer) -> None:
    with pytest.raises(SlmtokError, match="vocab_size=100 is below"):
        slmtok.extend(tok, "a.txt", vocab_size=100)  # type: ignore[arg-type]


def test_swapped_arguments(tok: slmtok.Tokenizer) -> None:
    swapped: Any = tok
    fix, packed = pasted(lambda: slmtok.pack(swapped, "a.txt", "out", val="none"), WrongType, tok=tok)  # type: ignore[arg-type]
    assert fix == "slmtok.pack('a.txt', tok, 'out', val='none')" and packed.files
    toks = [tok, slmtok.slice(tok, 275)]
    fix, folders = pasted(lambda: slmtok.pack("a.txt", toks, "each", val="none"), WrongType, tokenizers=toks)  # type: ignore[arg-type]
    assert fix.startswith("[slmtok.pack('a.txt', tok, f'each-{index}', val='none') for ") and len(folders) == 2
    assert Path("each-0/manifest.json").is_file() and Path("each-1/manifest.json").is_file()
    fix, packed = pasted(lambda: slmtok.pack("tok.json", "a.txt", "out2"), WrongType)  # type: ignore[arg-type]
    assert fix == "slmtok.pack('a.txt', slmtok.load('tok.json'), 'out2')" and packed.files
    fix, smaller = pasted(lambda: slmtok.slice(275, swapped), WrongType, tok=tok)  # type: ignore[arg-type]
    assert fix == "slmtok.slice(tok, 275)" and smaller.n_vocab == 275
    counts = slmtok.count("a.txt", pattern="gpt2")
    fix, _ = pasted(lambda: slmtok.extend(counts, swapped, vocab_size=284), WrongType, tok=tok, counts=counts)  # type: ignore[arg-type]
    assert fix == "slmtok.extend(tok, counts, vocab_size=284)"


def test_a_spelling_that_another_role_has(tok: slmtok.Tokenizer) -> None:
    with pytest.raises(InvalidSpecials, match="'bos' and 'eos'") as caught:
        tok.with_special("eos", "<s>")
    assert caught.value.fix == "tok = tok.with_special('bos', '<|bos|>') first"
    moved = tok.with_special("bos", "<|bos|>").with_special("eos", "<s>")
    assert moved.specials.text("eos") == "<s>"
    fix, _ = pasted(lambda: tok.with_special("user", "bos"), InvalidSpecials, tok=tok)
    assert fix == "tok.with_special('user', '<|user|>')"
    fix, swapped = pasted(lambda: tok.with_special("<|im_start|>", "im_start"), InvalidSpecials, tok=tok)
    assert fix == "tok.with_special('im_start', '<|im_start|>')"
    assert swapped.specials.text("im_start") == "<|im_start|>"


def test_a_spelling_that_no_special_has(tok: slmtok.Tokenizer) -> None:
    fix, spelled = pasted(lambda: tok.encode("a", allow_special=["<|end|>"]), UnknownSpecial, tok=tok)
    assert fix == "tok = tok.with_special('end', '<|end|>')"
    assert spelled.encode_list("<|end|>") != spelled.encode("<|end|>", allow_special=["<|end|>"]).tolist()


def test_arguments_of_cs336_in_each_others_place(tok: slmtok.Tokenizer) -> None:
    train: Any = cs336.train_bpe
    made: Any = cs336.Tokenizer
    for call in (lambda: train(270, "a.txt", ["<s>"]), lambda: train("a.txt", ["<s>"], 270)):
        fix, (vocab, merges) = pasted(call, WrongType, train_bpe=train)
        assert fix == "train_bpe('a.txt', 270, ['<s>'])" and len(vocab) == 270
    names = {"Tokenizer": made, "vocab": vocab, "merges": merges}
    ids = made(vocab, merges).encode("the cat")
    assert pasted(lambda: made(merges, vocab), WrongType, **names)[1].encode("the cat") == ids
    assert pasted(lambda: made(vocab, ["<s>"], merges), WrongType, **names)[1].encode("the cat") == ids
    turned = {token: id for id, token in vocab.items()}
    fix, _ = pasted(lambda: made(turned, merges), WrongType, **names | {"vocab": turned})
    assert fix == "Tokenizer({id: token for token, id in vocab.items()}, merges)"
    files = ByteLevelBPETokenizer(tok).save_model(".")
    read = made.from_files(*files).encode("the cat")
    assert pasted(lambda: made(*files), WrongType, **names)[1].encode("the cat") == read
    assert pasted(lambda: made.from_files(*files[::-1]), CorruptFile, **names)[1].encode("the cat") == read


def test_counts_in_memory_are_not_merged(tok: slmtok.Tokenizer) -> None:
    merge: Any = slmtok.merge_counts
    Path("b.txt").write_text("a dog ran. " * 9)
    counts = slmtok.count("a.txt")
    fix, _ = pasted(lambda: merge(counts, "all.counts"), WrongType, counts=counts)
    assert fix == "counts.save('all.counts')" and slmtok.PretokenCounts.load("all.counts").distinct
    both = [counts, slmtok.count("b.txt")]
    _, (*_, merged) = pasted(lambda: merge(both, "both.counts"), WrongType, counts=both)
    assert merged.inputs == 2


def test_a_spelling_in_place_of_a_role(tok: slmtok.Tokenizer) -> None:
    fix, id = pasted(lambda: tok.specials["</s>"], UnknownSpecial, tok=tok)
    assert fix == "tok.specials['eos']" and id == 2


def test_tables_in_place_of_texts(tok: slmtok.Tokenizer) -> None:
    encode: Any = tok.encode_batch
    expected = tok.encode_batch(["the cat", "a dog"])
    names: dict[str, Any] = {"tok": tok, "d": {"id": [7, 8], "body": ["the cat", "a dog"]}}
    names["rows"] = [{"body": "the cat"}, {"body": "a dog"}]
    for given, fix in (
        (names["d"], "tok.encode_batch(d['body'])"),
        (names["rows"], "tok.encode_batch([row['body'] for row in rows])"),
    ):
        shown, batch = pasted(lambda given=given: encode(given), WrongType, **names)
        assert shown == fix and list(map(list, batch)) == list(map(list, expected))
    names["ds"] = peer("datasets").Dataset.from_dict({"text": ["the cat", "a dog"]})
    shown, batch = pasted(lambda: encode(names["ds"]), WrongType, **names)
    assert shown == "tok.encode_batch(ds['text'])" and list(map(list, batch)) == list(map(list, expected))


def test_arrays_of_arrow_in_place_of_texts(tok: slmtok.Tokenizer) -> None:
    arrow = peer("pyarrow")
    for arr in (arrow.array([TEXT]), arrow.chunked_array([[TEXT], [TEXT]])):
        fix, texts = pasted(lambda arr=arr: slmtok.train(arr, vocab_size=274), WrongType, arr=arr)
        assert fix == "slmtok.Texts(arr.to_pylist())" and slmtok.train(texts, vocab_size=274).n_vocab == 274
        fix, _ = pasted(lambda arr=arr: tok.encode_batch(arr), WrongType, arr=arr, tok=tok)
        assert fix == "tok.encode_batch(arr.to_pylist())"


def test_names_of_files_in_place_of_texts(tok: slmtok.Tokenizer) -> None:
    paths = ["a.txt"]
    expected = slmtok.train(paths, vocab_size=275)
    for texts in (iter(paths), map(Path, paths), slmtok.Texts(iter(paths))):
        fix, made = pasted(lambda texts=texts: slmtok.train(texts, vocab_size=275), WrongType, paths=paths)
        assert fix == "slmtok.train(list(paths), vocab_size=275)" and made == expected
    fix, _ = pasted(lambda: slmtok.count(slmtok.Texts(paths), document="line"), WrongType)
    assert fix == "slmtok.count(['a.txt'], document='line')"
    # A name and other texts are texts.
    assert slmtok.count(slmtok.Texts(["a.txt", "some text", "a.txt"])).totals.documents == 3
    assert slmtok.count(text for text in ("a.txt", "some text")).totals.documents == 2


def test_a_binary_file_that_is_open(tok: slmtok.Tokenizer) -> None:
    np.save("ids.npy", tok.encode(TEXT))
    with Path("ids.npy").open("rb") as file, pytest.raises(OptionError, match="is a numpy array, not text"):
        slmtok.train(file, vocab_size=280)
    with (
        Path("a.txt").open("rb") as file,
        pytest.warns(UserWarning, match=r"slmtok\.count\('a\.txt', \.\.\.\) reads it as"),
    ):
        assert slmtok.count(file).totals.documents == 20
    with Path("a.txt").open("rb") as file:
        assert slmtok.count(file, document="line").totals.bytes == len(TEXT)
    with Path("a.txt").open("rb") as file:
        assert slmtok.count(slmtok.Texts(file)).totals.bytes == len(TEXT)


@pytest.mark.parametrize("name", ["r.jsonl", "r.jsonl.gz", "r.txt"])
def test_records_in_a_file_that_is_open(tok: slmtok.Tokenizer, name: str) -> None:
    opened: Any = gzip.open if name.endswith(".gz") else open
    with opened(name, "wt") as file:
        file.write('{"text": "the cat"}\n' * 3)
    for mode in ("rt", "rb"):
        with opened(name, mode) as file:
            fix, counts = pasted(lambda file=file: slmtok.count(file, document="line"), WrongType)
            assert counts.totals.bytes == 3 * len("the cat"), fix
        with opened(name, mode) as file:
            assert slmtok.count(slmtok.Texts(file)).totals.bytes == 3 * len('{"text": "the cat"}\n')


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_binary_files_are_not_encoded(tok: slmtok.Tokenizer) -> None:
    np.save("ids.npy", tok.encode(TEXT))
    Path("wide.txt").write_text(TEXT, "utf-16")
    for path, expected in (("ids.npy", Path("ids.npy").read_bytes()), ("wide.txt", TEXT)):
        with pytest.raises(OptionError, match="not text") as caught:
            tok.encode_files(iter(["a.txt", path]), "o.bin")
        call = str(caught.value.fix).removeprefix("name the text, or ").partition(", which")[0]
        assert list(eval(call, {"tok": tok})[0]) == tok.encode_list(expected)
        assert not Path("o.bin").exists()


def test_a_file_whose_name_has_a_line_feed(tok: slmtok.Tokenizer) -> None:
    Path("new\nline.txt").write_text(TEXT)
    assert slmtok.train(Path("new\nline.txt"), vocab_size=280, pattern="gpt2") == tok


def test_ids_as_text_and_text_as_ids(tok: slmtok.Tokenizer) -> None:
    wrong: Any = np.array([270, 271])
    assert pasted(lambda: tok.encode(wrong), WrongType, tok=tok, ids=wrong)[0] == "tok.decode(ids)"
    assert pasted(lambda: tok.decode(["270", "271"]), WrongType, ids=["270", "271"]) == (
        "list(map(int, ['270', '271']))",
        [270, 271],
    )
    with pytest.raises(WrongType) as caught:
        tok.encode_batch(["a"], threads="auto")  # type: ignore[arg-type]
    assert str(caught.value.fix).startswith("threads=0")
    with pytest.raises(UnknownOption) as named:
        slmtok.slice(tok, vocab_size="275")  # type: ignore[call-arg]
    assert named.value.fix == "n_vocab=275"
    last: Any = slmtok.pack
    fix, packed = pasted(lambda: last("a.txt", "out", tok, val="none"), WrongType, tok=tok)
    assert fix == "slmtok.pack('a.txt', tok, 'out', val='none')" and packed.files


def test_tokens_as_texts(tok: slmtok.Tokenizer) -> None:
    encode: Any = tok.encode
    fix, tokens = pasted(lambda: encode("the cat", out_type=str), UnknownOption, tok=tok)
    assert fix == "[tok.id_to_token(id) for id in tok.encode('the cat')]" and len(tokens) == len(encode("the cat"))


def test_counts_are_saved_by_themselves(tok: slmtok.Tokenizer) -> None:
    fix, _ = pasted(
        lambda: slmtok.train("a.txt", vocab_size=280, document="line", save_counts="x.counts"), UnknownOption
    )
    assert fix == "slmtok.count('a.txt', document='line').save('x.counts')"
    assert slmtok.PretokenCounts.load("x.counts").distinct
    merge: Any = slmtok.merge_counts
    counts = slmtok.count("a.txt")
    _, (*_, merged) = pasted(
        lambda: merge(counts, counts), WrongType, a=counts, b=slmtok.count(slmtok.Texts([TEXT + "a dog ran"]))
    )
    assert merged.inputs == 2


def test_the_encoding_of_a_model() -> None:
    for model, fix in (("gpt-4o", "o200k_base"), ("gpt-4.1-mini", "o200k_base"), ("gpt-3.5-turbo", "cl100k_base")):
        with pytest.raises(UnknownName, match="is a model, and its encoding is") as caught:
            slmtok.from_tiktoken(model)
        # Where the rank file is missing, the command that fetches it comes first.
        assert str(caught.value.fix).endswith(f"slmtok.from_tiktoken('{fix}')")


def test_a_free_spelling_is_found() -> None:
    taken = slmtok.specials.default_specials({"user": "<|bos|>", "more": "<|bos_2|>"})
    with pytest.raises(InvalidSpecials) as caught:
        taken.respelled({"eos": "<s>"})
    assert caught.value.fix == "special={'eos': '<s>', 'bos': '<|bos_3|>'}"


def test_pieces_of_sentencepiece() -> None:
    tok = slmtok.train(slmtok.Texts([TEXT]), vocab_size=280)
    pieces = SentencePieceProcessor(tokenizer=tok)
    assert SentencePieceProcessor(tok).encode("the cat") == pieces.encode("the cat")
    assert pieces.decode(["\u2581the", "\u2581zebra"]) == " the zebra"
    assert pieces.piece_to_id("\u2581") == tok.token_id(b" ")
    assert pieces.decode(["\u2581zebra", tok.specials.bos, *tok.encode_list("s")]) == " zebras"
    with pytest.raises(WrongType, match="not a Tokenizer"):
        SentencePieceProcessor(tokenizer="tok.json")  # type: ignore[arg-type]
    with pytest.raises(MissingInput) as caught:
        SentencePieceProcessor(model_file="spm.model")
    assert caught.value.limit == "a tokenizer file of slmtok; the models of SentencePiece are not read"


def test_a_folder_of_nanochat(tok: slmtok.Tokenizer) -> None:
    Path("run1").mkdir()
    names = {"RustBPETokenizer": RustBPETokenizer, "texts": [TEXT]}
    with pytest.raises(MissingInput) as caught:
        RustBPETokenizer.from_directory("run1")
    assert caught.value.fix == "RustBPETokenizer.train_from_iterator(texts, vocab_size=32768).save('run1')"
    export(tok, "hf", "hf", verify=False)
    fix, loaded = pasted(lambda: RustBPETokenizer.from_directory("hf"), MissingInput, **names)
    assert fix == "RustBPETokenizer(slmtok.load('hf/tokenizer.json'), '<s>')"
    tok.save("run1/tok.json")
    fix, loaded = pasted(lambda: RustBPETokenizer.from_directory("run1"), UnknownSpecial, **names)
    assert fix == "RustBPETokenizer(slmtok.load('run1/tok.json'), '<s>')"
    assert loaded.get_bos_token_id() == 1


def test_files_given_to_a_byte_level_tokenizer(tok: slmtok.Tokenizer) -> None:
    wrong: Any = ByteLevelBPETokenizer
    vocab, merges = ByteLevelBPETokenizer(tok).save_model(".")
    assert (vocab, merges) == ("vocab.json", "merges.txt")
    names = {"ByteLevelBPETokenizer": ByteLevelBPETokenizer}
    for call in (lambda: wrong(vocab, merges), lambda: wrong(vocab=vocab, merges=merges)):
        fix, read = pasted(call, WrongType, **names)
        assert fix == "ByteLevelBPETokenizer.from_file('vocab.json', 'merges.txt')"
        assert read.encode("the cat").ids == ByteLevelBPETokenizer(tok).encode("the cat").ids
    fix, _ = pasted(lambda: wrong("tok.json"), WrongType, **names)
    assert fix == "ByteLevelBPETokenizer.from_file('tok.json')"
    with pytest.raises(WrongType, match="has no option 'lowercase'"):
        wrong(lowercase=True)


def test_a_home_that_is_not_expanded(tok: slmtok.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    fix, _ = pasted(lambda: tok.save("~/x.json"), OptionError)
    tok.save(eval(fix))
    fix, _ = pasted(lambda: slmtok.load("~/x.json"), MissingInput)
    assert slmtok.load(eval(fix)) == tok
    fix, _ = pasted(lambda: slmtok.pack("a.txt", tok, "~/data"), OptionError)
    assert slmtok.pack("a.txt", tok, eval(fix)).files and not Path("~").exists()
    fix, _ = pasted(lambda: slmtok.train(["~/a.txt"], vocab_size=280), MissingInput)
    assert slmtok.train([eval(fix)], vocab_size=280).n_vocab == 280


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("columns", [{"id": [7], "text": [TEXT]}, {"n": [7], "body": [TEXT]}])
def test_a_table_in_place_of_texts(tok: slmtok.Tokenizer, kind: str, columns: dict[str, list[Any]]) -> None:
    module = pytest.importorskip(kind)
    table: Any = module.table(columns) if kind == "pyarrow" else module.DataFrame(columns)
    for call in (lambda: slmtok.train(table, vocab_size=275), lambda: slmtok.count(table),
                 lambda: tok.encode_batch(table), lambda: tok.count_tokens(table),
                 lambda: slmtok.Texts(table)):  # fmt: skip
        _, column = pasted(call, WrongType, df=table, table=table)
        assert slmtok.count(column).totals.documents == 1 and tok.count_tokens(column)
    with pytest.raises(WrongType, match=f"columns: {', '.join(columns)}") as caught:
        slmtok.pack(table, tok, "of_table", val="none")
    exec(str(caught.value.fix), {"slmtok": slmtok, "tok": tok, "df": table, "table": table})
    assert tok.decode(open_shards("of_table").document(0), skip_special=True) == TEXT


def test_a_table_with_several_columns_of_text(tok: slmtok.Tokenizer) -> None:
    pandas = pytest.importorskip("pandas")
    for columns in ({"n": [1]}, {"a": ["x"], "b": ["y"]}):
        with pytest.raises(WrongType, match="columns: ") as caught:
            slmtok.count(pandas.DataFrame(columns))
        assert caught.value.fix == "give the column that holds the text"


def test_special_tokens_as_a_list(tok: slmtok.Tokenizer) -> None:
    spellings = ["<|endoftext|>", "<pad>", "<cls>"]
    want = {"eos": "<|endoftext|>", "pad": "<pad>", "cls": "<cls>"}
    wrong: Any = spellings
    for names in ({"special_tokens": spellings}, {"user_defined_symbols": ",".join(spellings)}, {"special": wrong}):
        with pytest.raises(SlmtokError) as caught:
            slmtok.train("a.txt", vocab_size=280, **names)
        assert str(caught.value.fix).removeprefix("special=").partition("; text that spells")[0] == repr(want)
    assert slmtok.train("a.txt", vocab_size=280, special=want).specials.text("eos") == "<|endoftext|>"


def test_a_number_of_sentences(tok: slmtok.Tokenizer) -> None:
    with pytest.raises(SlmtokError) as caught:
        slmtok.count("a.txt", input_sentence_size=3)
    options = eval(f"dict({caught.value.fix})")
    assert slmtok.count("a.txt", **options).totals.documents == 3


@pytest.fixture
def data(tok: slmtok.Tokenizer) -> Shards:
    """Packed data in the folder data: 2 documents for training."""
    Path("docs.txt").write_text("the cat sat\nthe dog sat\n")
    slmtok.pack("docs.txt", tok, "data", document="line", val="none")
    return open_shards("data")


def test_a_file_in_place_of_packed_data(data: Shards) -> None:
    for name in ("train-00000.bin", "train-00000.off", "manifest.json", "tok.json"):
        for path in (f"data/{name}", Path("data") / name):
            fix, opened = pasted(lambda path=path: open_shards(path), CorruptFile, open_shards=open_shards)
            assert fix == "open_shards('data')" and opened.n_docs() == 2
    with pytest.raises(CorruptFile, match=r"^a\.txt is a text, not packed data") as caught:
        open_shards("a.txt")
    assert caught.value.fix == "slmtok.pack('a.txt', tok, 'data-2')"
    with pytest.raises(CorruptFile, match=r"^tok\.json is a tokenizer file of slmtok, not packed data"):
        open_shards("tok.json")
    Path("alone.bin").write_bytes(Path("data/train-00000.bin").read_bytes())
    with pytest.raises(CorruptFile, match="is a shard of packed data") as caught:
        open_shards("alone.bin")
    assert caught.value.fix == "copy the whole folder of alone.bin, and name it"
    for missing in ("date", "a.txt/data"):
        with pytest.raises(MissingInput, match="no file"):
            open_shards(missing)
    assert pasted(lambda: open_shards(b"data"), WrongType)[1] == "data"  # type: ignore[arg-type]


def test_a_document_that_is_no_number(data: Shards, tok: slmtok.Tokenizer) -> None:
    document: Any = data.document
    second = data.document(1).tolist()
    names: dict[str, Any] = {"data": data, "shard": data.shards["train"][0], "ragged": tok.encode_batch(["a", "b"])}
    for wrong, fix in (("1", "data.document(1, 'train')"), (1.0, "data.document(1, 'train')")):
        assert pasted(lambda wrong=wrong: document(wrong), WrongType, **names) == (fix, pytest.approx(second))
    for wrong in (slice(0, 2), slice(None), [0, 1], (0, 1), np.array([0, 1])):
        assert pasted(lambda wrong=wrong: document(wrong), WrongType, **names)[1][1].tolist() == second
    for wrong in (None, 0.5, "first"):
        with pytest.raises(WrongType, match=r"fix:   data.document\(i, 'train'\), for an integer i; data stands for "):
            document(wrong)
    fix, ids = pasted(lambda: document("train", 1), WrongType, **names)
    assert fix == "data.document(1, 'train')" and ids.tolist() == second
    for call in (lambda: document(-1), lambda: document(2), lambda: names["shard"].document(-1)):
        with pytest.raises(IndexError, match="of 2"):
            call()
    assert pasted(lambda: names["shard"].document("1"), WrongType, **names)[1].tolist() == second
    assert pasted(lambda: names["ragged"]["1"], WrongType, **names)[0] == "ragged[1]"
    with pytest.raises(OptionError, match="holds no documents"):
        data.n_docs(["train"])  # type: ignore[arg-type]
    slmtok.pack("docs.txt", tok, "flat", document="line", val="none", output_format="npy")
    files = open_token_files("flat")
    assert files is not None
    wrong_row: Any = "1"
    documents = files.documents("train", tok)
    assert pasted(lambda: documents[wrong_row], WrongType, documents=documents)[1].tolist() == second


def test_a_row_that_is_no_number(tok: slmtok.Tokenizer) -> None:
    encoded = as_hf(tok)(["the cat", "a dog"])
    row: Any = "1"
    for method in ("tokens", "word_ids", "sequence_ids"):
        call = getattr(encoded, method)
        fix, found = pasted(lambda call=call: call(row), WrongType, encoded=encoded)
        assert fix == f"encoded.{method}(1)" and found == call(1)
        with pytest.raises(IndexError, match="row 2 of 2"):
            call(2)
    fix, _ = pasted(lambda: encoded.char_to_token(row, 0), WrongType, encoded=encoded)
    assert fix == "encoded.char_to_token(1, 0)"


def test_holders_of_ids_in_place_of_ids(tok: slmtok.Tokenizer) -> None:
    hf, text, texts = as_hf(tok), "the cat", ["the cat", "a dog"]
    frame = peer("pandas").DataFrame({"text": texts, "input_ids": [tok.encode_list(each) for each in texts]})
    table = peer("pyarrow").table({"input_ids": [tok.encode_list(each) for each in texts]})
    data_set = peer("datasets").Dataset.from_dict({"text": texts, "input_ids": frame["input_ids"].tolist()})
    one = "tok.decode(encoded['input_ids'])"
    many = "tok.decode_batch(encoded['input_ids'])"
    each = "tok.decode_batch([row['input_ids'] for row in rows])"
    for holder, fix in (
        (hf(text, add_special_tokens=False), one),
        ({"input_ids": tok.encode(text)}, one),
        ({"text": text, "ids": tok.encode_list(text)}, "tok.decode(encoded['ids'])"),
        (tok.encode_segments([text]), "tok.decode(encoded.ids)"),
        (ByteLevelBPETokenizer(tok).encode(text), "tok.decode(encoded.ids)"),
        (hf(texts, add_special_tokens=False), many),
        (hf(text, add_special_tokens=False, return_tensors="np"), many),
        (data_set, "tok.decode_batch(ds['input_ids'])"),
        (frame, "tok.decode_batch(df['input_ids'])"),
        (table, "tok.decode_batch(ds['input_ids'].to_pylist())"),
        ([hf(text, add_special_tokens=False)], each),
        (list(data_set), each),
        ([tok.encode_segments([text])], "tok.decode_batch([row.ids for row in rows])"),
        ([hf(texts, add_special_tokens=False)], "[tok.decode_batch(row['input_ids']) for row in rows]"),
    ):
        names = {"tok": tok, **dict.fromkeys(("encoded", "rows", "ds", "df"), holder)}
        for call in (tok.decode, tok.decode_bytes, tok.decode_segments, tok.decode_batch):
            shown, found = pasted(lambda call=call, holder=holder: call(holder), WrongType, **names)
            is_other = call in (tok.decode_bytes, tok.decode_segments)
            assert f"tok.{call.__name__}(" in shown if is_other else shown == fix
            assert str(found).count(text) == 1
    for empty in ({}, {"text": text}):
        with pytest.raises(WrongType) as caught:
            tok.decode(empty)
        assert caught.value.fix == "tok.encode(text) gives ids"


def test_holders_of_ids_under_names_of_hugging_face(tok: slmtok.Tokenizer) -> None:
    hf = as_hf(tok)
    encoded: Any = hf("the cat")
    assert hf.batch_decode([encoded, encoded]) == hf.batch_decode([encoded["input_ids"]] * 2)
    for method in ("convert_ids_to_tokens", "get_special_tokens_mask"):
        call = getattr(hf, method)
        fix, found = pasted(lambda call=call: call(encoded), WrongType, tok=hf, encoded=encoded)
        assert fix == f"tok.{method}(encoded['input_ids'])" and found == call(encoded["input_ids"])
        with pytest.raises(WrongType, match="this is str") as caught:
            call("270")
        assert caught.value.fix == f"tok.{method}([270])"


def test_lengths_that_no_row_has(tok: slmtok.Tokenizer) -> None:
    wrong: Any
    for wrong in (-1, 0, 1, "x", "0", True):
        for options in ({}, {"padding": True, "pad_to_multiple_of": 3}):
            with pytest.raises(SlmtokError) as caught:
                as_hf(tok)("a b c", max_length=wrong, truncation=True, **options)
            fix = str(caught.value.fix).partition(",")[0]
            assert eval(f"hf('a b c', truncation=True, {fix}, **options)", {"hf": as_hf(tok), "options": options})
        if wrong != 1 or wrong is True:
            with pytest.raises(SlmtokError) as caught:
                as_hf(tok, model_max_length=wrong)
            fix = str(caught.value.fix).partition(",")[0]
            assert eval(f"as_hf(tok, {fix})('a b c', truncation=True)", {"as_hf": as_hf, "tok": tok})
    with pytest.raises(WrongType) as typed:
        wrong = "64"
        as_hf(tok)("a", max_length=wrong, truncation=True)
    assert typed.value.fix == "max_length=64"


def _corpora() -> dict[str, tuple[Any, str]]:
    """Records in place of texts, each with the texts that are meant."""
    data_set = peer("datasets").Dataset.from_dict
    rows = [{"id": 7, "content": TEXT}, {"id": 8, "content": TEXT}]
    ds = data_set({"id": ["7", "8"], "content": [TEXT] * 2})
    chat = [{"messages": [{"role": "user", "content": "the cat"}, {"role": "assistant", "content": TEXT}]}]
    return {
        "data set": (ds, "ds['content']"),
        "data set with text": (data_set({"body": ["b"], "text": [TEXT]}), "ds['text']"),
        "stream": (ds.to_iterable_dataset(), "row['content'] for row in ds"),
        "splits": (peer("datasets").DatasetDict(train=ds), "d['train']['content']"),
        "columns": ({"id": [7, 8], "content": [TEXT] * 2}, "d['content']"),
        "list": (rows, "row['content'] for row in rows"),
        "chat": (chat, "'\\n'.join(part['content'] for part in row['messages']) for row in rows"),
        "words": ([{"tokens": TEXT.split()}], "' '.join(row['tokens']) for row in rows"),
        "nested": ([{"translation": {"en": TEXT}}], "row['translation']['en'] for row in rows"),
        "lists": ([[TEXT]], "text for row in rows for text in row"),
    }


def test_records_in_place_of_texts(tok: slmtok.Tokenizer) -> None:
    for records, expression in _corpora().values():
        names = dict.fromkeys(("ds", "d", "rows"), records)
        for call in (slmtok.count, slmtok.train):
            fix, texts = pasted(lambda call=call, records=records: call(records), WrongType, **names)
            assert fix == f"slmtok.Texts({expression})"
            assert slmtok.count(texts).distinct
        given = [records, iter(records)] if isinstance(records, list) else [records]
        for texts in given:
            with pytest.raises(WrongType) as caught:
                slmtok.count(slmtok.Texts(texts))
            assert caught.value.fix in (f"slmtok.Texts({expression})", f"slmtok.Texts([{expression}])")
        fix, batch = pasted(lambda records=records: tok.encode_batch(records), WrongType, tok=tok, **names)
        assert fix in (f"tok.encode_batch({expression})", f"tok.encode_batch([{expression}])") and len(batch.ids) > 100


def test_a_field_of_records_in_memory(tok: slmtok.Tokenizer) -> None:
    ds = peer("datasets").Dataset.from_dict({"title": ["a", "b"], "story": [TEXT] * 2})
    rows = [{"title": "a", "story": TEXT}]
    for records, options, fix in (
        (ds, {"text_key": "story"}, "slmtok.train(slmtok.Texts(ds['story']), vocab_size=272)"),
        (rows, {"text_key": "story"}, "slmtok.train(slmtok.Texts(row['story'] for row in rows), vocab_size=272)"),
        (
            ds,
            {"text_template": "{title}: {story}"},
            "slmtok.train(slmtok.Texts('{title}: {story}'.format_map(row) for row in ds), vocab_size=272)",
        ),
    ):
        shown, made = pasted(
            lambda records=records, options=options: slmtok.train(records, vocab_size=272, **options),
            WrongType,
            ds=ds,
            rows=rows,
        )
        assert shown == fix and made.n_vocab == 272
    with pytest.raises(OptionError, match="names a field of files") as caught:
        slmtok.train(iter([TEXT]), vocab_size=272, text_key="story", format="jsonl")
    assert caught.value.fix == "leave text_key and format out"
    for options in ({"document": "line"}, {"encoding": "latin-1"}, {"exclude": ["*.py"]}):
        with pytest.raises(OptionError, match="says how files are read, and these are texts in memory"):
            slmtok.count(slmtok.Texts(["a b"]), **options)
    fix, made = pasted(
        lambda: slmtok.train([slmtok.count(slmtok.Texts([TEXT]))] * 2, vocab_size=272),
        WrongType,
        counts=[slmtok.count(slmtok.Texts([TEXT])), slmtok.count(slmtok.Texts([TEXT, TEXT]))],
    )
    assert "slmtok.PretokenCounts.load('0.counts', '1.counts'), vocab_size=272)" in fix and made[-1].n_vocab == 272
    with pytest.raises(WrongType) as typed:
        slmtok.count([{"n": 1, "label": True}])
    assert typed.value.fix == "give texts; no field of the record is one: n, label"


def test_records_under_names_of_other_libraries(tok: slmtok.Tokenizer) -> None:
    hf, rows = as_hf(tok), [{"content": "the cat"}]
    expected = hf(["the cat"])["input_ids"]
    table = {"content": ["the cat"]}
    for given in (peer("datasets").Dataset.from_list(rows), rows, table, peer("pandas").DataFrame(table)):
        names = dict.fromkeys(("ds", "rows", "d", "df"), given)
        _, texts = pasted(lambda given=given: hf(given), WrongType, **names)
        assert hf(list(texts))["input_ids"] == expected
    fix, texts = pasted(lambda: ByteLevelBPETokenizer().train_from_iterator(rows), WrongType, rows=rows)
    assert fix == "[row['content'] for row in rows]" and texts == ["the cat"]


def test_raw_ids_under_the_name_of_another_file(tok: slmtok.Tokenizer) -> None:
    for name in ("o.npy", "o.NPY", "o.json", "o.pt", "o.bin.gz"):
        with pytest.raises(OptionError, match="would hold raw ids") as caught:
            tok.encode_files("a.txt", name)
        assert not list(Path().glob("o.*"))
        ragged = tok.encode_files("a.txt", eval(str(caught.value.fix)))
        assert ragged.ids.tolist() == tok.encode_list(TEXT)
        if name == "o.npy":
            assert caught.value.limit is not None
            eval(caught.value.limit.partition(" saves")[0], {"numpy": np, "ragged": ragged})
            assert np.load(name).tolist() == tok.encode_list(TEXT)
        for written in Path().glob("o.*"):
            written.unlink()


def test_a_pattern_is_given_to_the_import(tok: slmtok.Tokenizer) -> None:
    as_hf(tok).save_pretrained("hf", verify=False)
    file = Path("hf/tokenizer.json")
    document = json.loads(file.read_bytes())
    document["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [{"type": "Digits"}, document["pre_tokenizer"]]}
    file.write_text(json.dumps(document))
    with pytest.raises(Inexpressible, match="Digits then ByteLevel") as caught:
        slmtok.load(file)
    assert caught.value.fix == "slmtok import hf/tokenizer.json --pattern gpt2 -o tok-2.json, which compares the ids"


def test_a_tokenizer_that_is_not_read_is_replaced_in_python(
    tok: slmtok.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = {"version": "1.0", "model": {"type": "WordPiece", "vocab": {"[UNK]": 0}}, "added_tokens": []}
    Path("tokenizer.json").write_text(json.dumps(document))
    Path("spm.model").write_bytes(b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02")
    Path("old").mkdir()
    ByteLevelBPETokenizer(tok).save_model("old")
    Path("new").mkdir()
    Path("a.txt").rename("new/CORPUS")
    for name, made in (
        ("tokenizer.json", "tok-2.json"),
        ("spm.model", "tok-2.json"),
        ("old/vocab.json", "old/tok.json"),
    ):
        with pytest.raises((Inexpressible, WrongFormat)) as caught:
            slmtok.load(name)
        fix = str(caught.value.fix).removeprefix("slmtok reads byte-level BPE alone; train a tokenizer of your own: ")
        with monkeypatch.context() as context:
            context.chdir("new" if made == "tok-2.json" else ".")
            exec(fix, {"slmtok": slmtok})
            assert slmtok.load(made).decode(tok.encode("a")) == "a"
            Path(made).unlink()


def test_the_name_of_a_tokenizer_in_place_of_it(tok: slmtok.Tokenizer, data: Shards) -> None:
    wrong: Any = "tok.json"
    for call in (
        lambda: export(wrong, "hf", "out"),
        lambda: audit(wrong, [b"a"]),
        lambda: compare(wrong, tok),
        lambda: compare(tok, wrong),
        lambda: exposure(data, wrong),
    ):
        assert pasted(call, WrongType)[1] == tok
    assert not Path("out").exists()


def test_one_path_in_place_of_sources(tok: slmtok.Tokenizer) -> None:
    wrong: Any = "a.txt"
    for function in (corpus.read, corpus.documents):
        with pytest.raises(WrongType) as caught:
            list(function(wrong, ReadOptions(max_docs=1)))
        call = f"{function.__name__}(find('a.txt', options), options)"
        assert str(caught.value.fix).endswith(f"; options = ReadOptions(max_docs=1); {call}")
        names: dict[str, Any] = {}
        exec(str(caught.value.fix).replace(call, f"found = {call}"), names)
        assert len(list(names["found"])) == 1


def test_names_of_files_and_specials_of_other_libraries(tok: slmtok.Tokenizer) -> None:
    with pytest.raises(WrongType) as caught:
        slmtok.Texts("a.txt")
    assert caught.value.fix == "'a.txt' without Texts: it is the name of a file"
    with pytest.raises(UnknownSpecial) as unknown:
        tok.specials["<|endoftext|>"]
    assert unknown.value.fix == "tok.specials['eos'], which is spelled '</s>' here"
    with pytest.raises(UnknownSpecial) as unknown:
        tok.specials["<|user|>"]
    assert eval(str(unknown.value.fix).removeprefix("tok = "), {"tok": tok}).specials["user"] == 6
    with pytest.raises(AttributeError) as refused:
        as_hf(tok).add_special_tokens({})
    assert refused.value.obj is None
    spelled, named = str(refused.value).split("; ")[1:]
    named = named.removesuffix(" names a reserved id")
    assert eval(named, {"as_hf": as_hf, "tok": tok}).vocab_size == tok.n_vocab
    spelled = spelled.removesuffix(" gives the pad_token that spelling")
    assert eval(spelled, {"as_hf": as_hf, "tok": tok}).pad_token == "[PAD]"


def test_files_in_each_other_s_place(tok: slmtok.Tokenizer) -> None:
    ByteLevelBPETokenizer(tok).save_model(".")
    names = {"ByteLevelBPETokenizer": ByteLevelBPETokenizer}
    fix, _ = pasted(lambda: ByteLevelBPETokenizer("merges.txt", "vocab.json"), WrongType, **names)
    assert fix == "ByteLevelBPETokenizer.from_file('vocab.json', 'merges.txt')"
    with pytest.raises(CorruptFile) as caught:
        ByteLevelBPETokenizer.from_file("merges.txt", "vocab.json")
    assert caught.value.fix == "from_file('vocab.json', 'merges.txt'): the vocabulary is the first"
    Path("m.model").write_bytes(b"\n\x0e\n\x05<unk>\x15\x00\x00\x00\x00\x18\x02" * 40)
    with pytest.raises(CorruptFile) as caught:
        SentencePieceProcessor(model_file="m.model")
    assert "name the tokenizer file beside it" not in str(caught.value)


def test_options_of_transformers_in_our_calls(tok: slmtok.Tokenizer) -> None:
    fix, _ = pasted_with_note(lambda: tok.encode("the cat", max_length=2, truncation=True), tok)
    assert fix == "slmtok.compat.as_hf(tok).encode('the cat', max_length=2, truncation=True)"
    _, found = pasted(lambda: tok.encode_batch(["the cat", "a"], padding=True, bos=False), UnknownOption, tok=tok)
    assert [len(row) for row in found.input_ids] == [len(tok.encode("the cat"))] * 2
    accepted = set(signature(HFTokenizer.__call__).parameters) - {"self", "text", "add_eos"}
    assert accepted == {*AS_HF, *BOTH_AS_HF}
    with pytest.raises(UnknownOption, match=r"fix:   help\(slmtok.Tokenizer.encode_batch\)$"):
        tok.encode_batch(["a"], foo=1)


def pasted_with_note(call: Any, tok: slmtok.Tokenizer) -> tuple[str, Any]:
    """As `pasted`, of a fix that says what else the call does."""
    with pytest.raises(UnknownOption) as caught:
        call()
    fix, note = str(caught.value.fix).split(", which ")
    assert note == "adds bos unless add_special_tokens=False"
    return fix, eval(fix, {"slmtok": slmtok, "tok": tok})


def test_arguments_that_were_given_stay(tok: slmtok.Tokenizer) -> None:
    with pytest.raises(WrongType, match="lacks 'out'") as caught:
        slmtok.pack("a.txt", "tok.json", val="none")
    assert caught.value.fix == "slmtok.pack('a.txt', slmtok.load('tok.json'), 'data', val='none')"
    assert list(eval(caught.value.fix, {"slmtok": slmtok}).manifest["shards"][0]["name"])[:5] == [*"train"]
    with pytest.raises(WrongType) as several:
        tok.encode("</s>", allow_special="bos, eos")
    assert list(eval(f"tok.encode('</s>', {several.value.fix})", {"tok": tok})) == [2]


def test_calls_and_settings_of_transformers(tok: slmtok.Tokenizer) -> None:
    hf = as_hf(tok, padding_side="left")
    for call in (hf, hf.encode):
        with pytest.raises(UnknownOption) as caught:
            call("the cat", max_lenght=3, truncation=True)
        assert caught.value.fix == "max_length=3"
    with pytest.raises(UnknownOption, match="has no option 'text_target'\n"):
        hf("a", text_target="b")
    with pytest.raises(UnknownOption, match="fix:   skip_special_tokens=True"):
        hf.decode([1, 300], skip_special_token=True)
    assert hf.batch_decode([[1, 20]], clean_up_tokenization_spaces=False) == [tok.decode([1, 20])]
    with pytest.raises(UnknownOption, match=r"fix:   help\(slmtok.compat.hf.HFTokenizer.save_pretrained\)"):
        hf.save_pretrained("folder", filename_prefix="x")
    with pytest.raises(AttributeError) as unset:
        hf.pad_token = hf.eos_token
    call = str(unset.value).partition("; ")[2].removesuffix(" gives another")
    other = eval(call, {"as_hf": as_hf, "tok": tok})
    assert (other.pad_token, other.padding_side) == (hf.eos_token, "left")
    with pytest.raises(AttributeError, match=r"removed; hf\(text, \.\.\.\)"):
        hf.encode_plus("a")


def test_names_of_other_libraries_on_a_tokenizer(tok: slmtok.Tokenizer) -> None:
    for name, value in {"eos_token_id": 2, "bos_token": "<s>"}.items():
        with pytest.raises(AttributeError) as caught:
            getattr(tok, name)
        assert eval(str(caught.value).partition(" has it")[0].rpartition("; ")[2], {"tok": tok}) == value
    with pytest.raises(AttributeError, match=r"; the package has it: import slmtok; help\(slmtok.train\)$"):
        tok.train("a.txt")
    with pytest.warns(UserWarning, match="'<|endoftext|>', which is no special token of this encoding") as warned:
        as_tiktoken(tok).encode("<|endoftext|>", allowed_special={"<|endoftext|>"})
    call = re.search(r"as_tiktoken\(.*?\)", str(warned[0].message))[0]  # type: ignore[index]
    made = eval(call, {"as_tiktoken": as_tiktoken, "tok": tok})
    assert made.encode("<|endoftext|>", allowed_special={"<|endoftext|>"}) == [2]
    with pytest.raises(UnknownName) as file:
        get_encoding("tok.json")
    assert eval(str(file.value.fix), {"from_tokenizer": from_tokenizer, "slmtok": slmtok}).n_vocab == tok.n_vocab


def test_calls_of_adapters_are_explained(tok: slmtok.Tokenizer) -> None:
    processor = SentencePieceProcessor(model_file="tok.json")
    with pytest.raises(UnknownOption) as caught:
        processor.encode("a", add_boss=True)
    assert eval(f"encode('a', {caught.value.fix})", {"encode": processor.encode})[0] == 1
    with pytest.raises(WrongType) as lacking:
        cs336.train_bpe("a.txt", 300)
    assert eval(str(lacking.value.fix), {"train_bpe": cs336.train_bpe})
    for call in (BasicTokenizer().train, RustTokenizer().train_from_iterator):
        with pytest.raises(UnknownOption, match=r"fix:   vocab_size=300$"):
            call(["a b"], vocab=300)
    with pytest.raises(WrongType, match="lacks 'tokenizer_dir'"):
        get_tokenizer()
