"""Fixes with values, and calls after them: pasted in the place of the wrong value, each does what was meant."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slmtok
from slmtok.compat import as_hf, as_tiktoken
from slmtok.compat.sentencepiece import SentencePieceProcessor
from slmtok.compat.tiktoken import encoding_for_model, get_encoding
from slmtok.compat.tokenizers import ByteLevelBPETokenizer
from slmtok.errors import (
    CorruptShard,
    MalformedRecord,
    OptionError,
    SlmtokError,
    UnknownName,
    UnknownOption,
    UnknownSpecial,
    VocabularyTooSmall,
    WrongType,
)
from slmtok.formats.export import export
from slmtok.shards import open_shards

HASHED = "which chooses some of many documents by a hash"
TEXT = "the cat sat on the mat, and the dog sat by the door.\n" * 20


@pytest.fixture
def tok(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> slmtok.Tokenizer:
    """A tokenizer of a.txt in the working folder, saved as tok.json."""
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(TEXT)
    made = slmtok.train("a.txt", vocab_size=280)
    made.save("tok.json")
    return made


def refused(call: Any, kind: type[SlmtokError]) -> str:
    """The fix of the error of a call; the error is shown alone, without another one above it."""
    with pytest.raises(kind) as caught:
        call()
    assert "During handling" not in "".join(traceback.format_exception(caught.value))
    assert caught.value.fix is not None
    return caught.value.fix


def options(fix: str) -> dict[str, Any]:
    """The keywords that a fix begins with."""
    return dict(eval(f"dict({fix.partition(', which')[0]})"))


@pytest.mark.parametrize(
    "wrong", [{"val": 0.1}, {"val": "10%"}, {"val": "0.1"}, {"val_fraction": 0.1}, {"test_size": 0.1}, {"split": 0.1}]
)
def test_a_share_of_a_few_documents(tok: slmtok.Tokenizer, wrong: dict[str, Any]) -> None:
    fix = refused(lambda: slmtok.pack("a.txt", tok, "data", **wrong), SlmtokError)
    assert fix == f"val='tail:10%', which is the end of the corpus, or val='hash:10%', {HASHED}"
    assert slmtok.pack("a.txt", tok, "data", **options(fix)).files == ["train-00000.bin", "val-00000.bin"]


def test_no_validation(tok: slmtok.Tokenizer) -> None:
    for wrong in (None, False):
        fix = refused(lambda wrong=wrong: slmtok.pack("a.txt", tok, "x", val=wrong), WrongType)
        assert fix == "val='none'"
    fix = refused(lambda: slmtok.pack("a.txt", tok, "x", val="none", output_format="llama2c"), OptionError)
    assert len(slmtok.pack("a.txt", tok, "x", output_format="llama2c", **options(fix)).files) == 2


def test_a_rule_that_chooses_no_document_is_told(tok: slmtok.Tokenizer) -> None:
    message = "val='hash:1%' chose none of 1 document: 'data' has no val documents; "
    with pytest.warns(UserWarning, match=message) as told:
        slmtok.pack("a.txt", tok, "data", val="hash:1%")
    assert Path(told[0].filename).samefile(__file__)
    fix = str(told[0].message).partition("; ")[2].replace(" makes some of any corpus; ", ", ").partition(" packs")[0]
    assert len(slmtok.pack("a.txt", tok, "data", **options(fix)).files) == 2
    lines = [sys.executable, "-m", "slmtok", "pack", "a.txt", "-t", "tok.json", "-o", "new", "--val", "hash:1%"]
    assert "UserWarning" not in subprocess.run(lines, capture_output=True, text=True, check=True).stderr


@pytest.mark.parametrize(
    ("name", "scheme", "ours"),
    [("unigram", "bpe", False), ("WordLevel", "word", False), ("word", "word", True), ("char", "char", True)],
)
def test_the_algorithm_of_another_library(tok: slmtok.Tokenizer, name: str, scheme: str, ours: bool) -> None:
    for option in ("model_type", "algorithm"):
        wrong: Any = {option: name}
        fix = refused(lambda wrong=wrong: slmtok.train("a.txt", vocab_size=280, **wrong), UnknownOption)
        assert options(fix) == {"scheme": scheme}
        assert ours or fix.endswith(f", which is the nearest; slmtok has no {name}")


@pytest.mark.parametrize(
    ("name", "pattern"), [("gpt4", "cl100k"), ("GPT-4", "cl100k"), ("gpt_4o", "o200k"), ("o200k_base", "o200k")]
)
def test_the_pattern_of_a_model(tok: slmtok.Tokenizer, name: str, pattern: str) -> None:
    fix = refused(lambda: slmtok.train("a.txt", vocab_size=280, pattern=name), UnknownName)
    assert fix == f"pattern='{pattern}', or pattern='(?:{name})' for the regex"


def test_a_pattern_that_no_name_is_near_to(tok: slmtok.Tokenizer) -> None:
    fix = refused(lambda: slmtok.train("a.txt", vocab_size=280, pattern="llama3"), UnknownName)
    assert fix == "one of the known names; pattern='slm' is the default; pattern='(?:llama3)' is the regex"


@pytest.mark.parametrize(
    ("name", "encoding"), [("gpt-4o", "o200k_base"), ("gpt4", "cl100k_base"), ("gpt-oss-20b", "o200k_harmony")]
)
def test_a_model_in_the_place_of_an_encoding(name: str, encoding: str) -> None:
    assert refused(lambda: get_encoding(name), UnknownName) == f"get_encoding('{encoding}')"
    assert refused(lambda: slmtok.from_tiktoken(name), UnknownName) == f"slmtok.from_tiktoken('{encoding}')"
    assert refused(lambda: get_encoding("x"), UnknownName) == "use one of them"
    assert refused(lambda: encoding_for_model("gpt4o"), UnknownName) == "get_encoding('o200k_base')"


@pytest.mark.parametrize("missing", [None, float("nan"), np.float64("nan")])
def test_missing_texts_of_a_column(tok: slmtok.Tokenizer, missing: object) -> None:
    texts: Any = ["a cat", missing, "a dog"]
    present = {"texts": texts, "tok": tok, "hf": as_hf(tok), "slmtok": slmtok}
    with pytest.raises(WrongType, match=r"text 1 is (NoneType|float(64)? nan), a missing text, not str") as caught:
        tok.encode_batch(texts)
    assert tok.decode_batch(eval(str(caught.value.fix), present)) == ["a cat", "", "a dog"]
    fix = refused(lambda: as_hf(tok)(texts), WrongType)
    assert len(eval(fix, present)["input_ids"]) == 3
    fix = refused(lambda: slmtok.count(slmtok.Texts(texts)), WrongType)
    assert slmtok.count(eval(fix, present)).stats.documents == 2
    texts = ["a", 5]
    assert "str(it)" in refused(lambda: tok.encode_batch(texts), WrongType)


def test_ids_in_the_place_of_texts(tok: slmtok.Tokenizer) -> None:
    ids: Any = [tok.encode_list("a cat"), tok.encode_list("a dog")]
    names = {"tok": tok, "slmtok": slmtok}
    for rows in (ids, [np.array(row) for row in ids]):
        fix = refused(lambda rows=rows: tok.encode_batch(rows), WrongType)
        assert eval(fix, {**names, "ids": rows}) == ["a cat", "a dog"]
    for call in (lambda: tok.encode(ids[0]), lambda: tok.encode_batch(ids[0])):
        assert eval(refused(call, WrongType), {**names, "ids": ids[0]}) == "a cat"
    fix = refused(lambda: slmtok.count(slmtok.Texts(ids)), WrongType)
    assert slmtok.count(eval(fix, {**names, "ids": ids})).stats.documents == 2


def test_one_spelling_in_the_place_of_a_set(tok: slmtok.Tokenizer) -> None:
    names: Any = "<|endoftext|>"
    fix = refused(lambda: tok.encode("a", allow_special=names), UnknownSpecial)
    assert fix.startswith("tok = tok.with_special('eos', '<|endoftext|>')")
    named = tok.with_special("eos", "<|endoftext|>")
    assert refused(lambda: named.encode("a", allow_special=names), WrongType) == "allow_special={'<|endoftext|>'}"


def test_one_spelling_in_the_place_of_a_set_of_tiktoken(tok: slmtok.Tokenizer) -> None:
    encoding, names = as_tiktoken(tok), "</s>"
    wrong: Any = names
    fix = refused(lambda: encoding.encode("a</s>", allowed_special=wrong), WrongType)
    assert eval(f"encoding.encode('a</s>', {fix})", {"encoding": encoding})[-1] == 2


def test_pieces_of_sentencepiece(tok: slmtok.Tokenizer) -> None:
    sp, wrong = SentencePieceProcessor(tok), 5
    for out_type in ("piece", "str"):
        fix = refused(lambda out_type=out_type: sp.encode("a cat", out_type=out_type), OptionError)
        assert all(isinstance(piece, str) for piece in eval(f"sp.encode('a cat', {fix})", {"sp": sp}))
    fix = refused(lambda: sp.piece_to_id(wrong), WrongType)
    assert fix == "id_to_piece(5)" and eval(f"sp.{fix}", {"sp": sp})


def test_names_of_hugging_face_that_no_class_has(tok: slmtok.Tokenizer) -> None:
    with pytest.raises(ImportError, match=r"to read a file, slmtok.load\('tok.json'\); to train, "):
        exec("from slmtok.compat.tokenizers import Tokenizer")
    wrong: Any = ByteLevelBPETokenizer(tok)
    with pytest.raises(AttributeError, match="has no 'enable_padding'; ") as caught:
        wrong.enable_padding()
    call = str(caught.value).partition("; ")[2].removesuffix(" pads and cuts")
    texts = ["a cat", "the cat sat on the mat"]
    rows = eval(call, {"slmtok": slmtok, "x": wrong, "texts": texts})["input_ids"]
    assert len({len(row) for row in rows}) == 1
    of_class: Any = type(as_hf(tok))
    hf: Any = as_hf(tok)
    with pytest.raises(AttributeError, match=r"slmtok.train\(slmtok.Texts\(TEXTS\), vocab_size=N\)\) trains one"):
        hf.train_new_from_iterator(texts, 300)
    with pytest.raises(AttributeError, match=r"is not offered: .* as_hf\(slmtok.load\('TOK'\)\) opens"):
        of_class.from_pretrained("gpt2")


def test_the_name_of_an_export_in_another_library(tok: slmtok.Tokenizer) -> None:
    assert refused(lambda: export(tok, "huggingface", "out"), UnknownName) == "use 'hf'"
    assert refused(lambda: export(tok, "gguf", "out"), UnknownName).startswith("use 'hf', which converters to ")


def test_one_error_is_shown_alone(tok: slmtok.Tokenizer) -> None:
    wrong: Any = ["a", "b"]
    refused(lambda: tok.encode(wrong), WrongType)
    refused(lambda: tok.encode_list(wrong), WrongType)
    refused(lambda: tok.decode([1, "a"]), WrongType)
    refused(lambda: tok.decode_batch([[1], [999]]), SlmtokError)
    Path("bert.json").write_text(
        json.dumps({"version": "1.0", "added_tokens": [], "model": {"type": "WordPiece", "vocab": {"[UNK]": 0}}})
    )
    assert "import" not in refused(lambda: slmtok.load("bert.json"), SlmtokError)


def test_a_role_that_has_no_name_yet(tok: slmtok.Tokenizer) -> None:
    for call in (
        lambda: tok.encode_segments([slmtok.Special("user"), "hello"]),
        lambda: tok.encode("hello", allow_special={"user"}),
        lambda: tok.specials["user"],
    ):
        fix = refused(call, UnknownSpecial).removeprefix("tok = ").removesuffix(" has it")
        assert eval(fix, {"tok": tok}).encode_segments([slmtok.Special("user"), "a"]).ids[0] == 6
    assert refused(lambda: tok.specials["eos_token"], UnknownSpecial) == "use 'eos'"


def test_tensors_of_a_ragged(tok: slmtok.Tokenizer) -> None:
    torch = pytest.importorskip("torch")
    for texts in (["a cat", "the mat sat"], ["a cat", "a cat"]):
        ragged = tok.encode_batch(texts)
        for call in (torch.tensor, torch.as_tensor):
            fix = refused(lambda call=call, ragged=ragged: call(ragged), WrongType)
            assert len(eval(fix, {"ragged": ragged, "tok": tok})) == 2


@pytest.mark.parametrize("shape", [(280,), (5, 280), (2, 5, 280)])
def test_logits_in_the_place_of_ids(tok: slmtok.Tokenizer, shape: tuple[int, ...]) -> None:
    torch = pytest.importorskip("torch")
    logits = torch.rand(*shape)
    logits[..., 100] = 1.5
    for values in (logits, logits.numpy()):
        for call in (tok.decode, tok.decode_batch) if len(shape) > 1 else (tok.decode,):
            fix = refused(lambda call=call, values=values: call(values), WrongType)
            assert fix.startswith("of logits: ")
            assert eval(fix.removeprefix("of logits: "), {"tok": tok, "logits": values})


def test_a_shard_that_was_moved(tok: slmtok.Tokenizer) -> None:
    slmtok.pack("a.txt", tok, "data", val="none")
    for suffix in ("bin", "off"):
        shard = Path(f"data/train-00000.{suffix}")
        shard.rename("moved")
        with pytest.raises(CorruptShard, match=rf"\A{shard} is missing\n") as caught:
            open_shards("data")
        Path("moved").rename(shard)
        assert "move it back" in str(caught.value) and "force=True" in str(caught.value)
    Path("data/train-00000.bin").unlink()
    slmtok.pack("a.txt", tok, "data", val="none", force=True)
    assert open_shards("data").n_docs("train") == 1


def test_names_of_other_libraries_in_compat() -> None:
    for name, fix in (
        ("SentencePieceProcessor", "from slmtok.compat.sentencepiece import SentencePieceProcessor"),
        ("get_encoding", "from slmtok.compat.tiktoken import get_encoding"),
        ("AutoTokenizer", "slmtok.compat.as_hf(slmtok.load('TOK'))"),
    ):
        with pytest.raises(ImportError, match=re.escape(f"fix:   {fix}")):
            exec(f"from slmtok.compat import {name}")
    assert not hasattr(slmtok.compat, "no_such_name")


def test_modules_need_no_import_of_their_own(tok: slmtok.Tokenizer) -> None:
    program = (
        "import slmtok; tok = slmtok.load('tok.json'); assert slmtok.compat.as_hf(tok).eos_token_id == 2; "
        "slmtok.shards.open_shards; slmtok.errors; slmtok.compat.tiktoken.get_encoding; slmtok.formats; "
        "assert not hasattr(slmtok, 'AutoTokenizer')"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_to_prune(tok: slmtok.Tokenizer) -> None:
    fix = refused(lambda: slmtok.prune(tok, keep=275), OptionError)
    assert fix == "unused_on='CORPUS', keep=275"
    assert slmtok.prune(tok, **{**options(fix), "unused_on": "a.txt"}).tokenizer.n_vocab == 275
    assert refused(lambda: slmtok.prune(tok), OptionError) == "unused_on='CORPUS'"
    fix = refused(lambda: slmtok.prune(tok, ids=[279], keep=275), OptionError)
    assert fix == "unused_on='CORPUS', keep=275  # without ids"


@pytest.mark.parametrize("path", ["a.counts", Path("a.counts")])
def test_counts_in_memory_among_files(tok: slmtok.Tokenizer, path: str | Path) -> None:
    slmtok.count("a.txt").save("a.counts")
    counts: Any = [path, slmtok.count(slmtok.Texts(["a dog ran"]), pattern=tok.pattern.regex)]
    fix = refused(lambda: slmtok.merge_counts(counts, "all.counts"), WrongType)
    assert eval(fix, {"counts": counts, "slmtok": slmtok})[-1].inputs == 2


@pytest.mark.parametrize("by_name", [False, True])
def test_counts_in_memory_without_an_output(tok: slmtok.Tokenizer, by_name: bool) -> None:
    """One fix does all of it."""
    counts = [slmtok.count("a.txt"), slmtok.count(slmtok.Texts(["a dog ran"]))]
    merge: Any = slmtok.merge_counts
    fix = refused(lambda: merge(paths=counts) if by_name else merge(counts), WrongType)
    assert eval(fix, {"counts": counts, "slmtok": slmtok})[-1].inputs == 2
    assert refused(lambda: merge(counts[0]), WrongType) == "counts.save('all-2.counts')"


@pytest.mark.parametrize(
    ("share", "n_vocab"), [(0.99, 277), ("99%", 277), (0.5, 272), (276.5, 276), ("276", 276), ("0.276k", 276)]
)
def test_a_share_of_the_ids(tok: slmtok.Tokenizer, share: Any, n_vocab: int) -> None:
    fix = refused(lambda: slmtok.prune(tok, unused_on="a.txt", keep=share), WrongType)
    assert slmtok.prune(tok, unused_on="a.txt", **options(fix)).tokenizer.n_vocab == n_vocab
    fix = refused(lambda: slmtok.slice(tok, share), WrongType)
    assert slmtok.slice(tok, **options(fix)).n_vocab == n_vocab


@pytest.mark.parametrize("keep", [["the", " cat"], [275, 276], np.array([275, 276]), "all", True])
def test_tokens_to_keep_are_no_number_of_ids(tok: slmtok.Tokenizer, keep: Any) -> None:
    fix = refused(lambda: slmtok.prune(tok, unused_on="a.txt", keep=keep), WrongType)
    assert fix == "leave keep out: tokens that do not occur are removed, and no others"


@pytest.mark.parametrize("form", [np.asarray, list, np.ndarray.tolist], ids=["array", "list of numpy", "list"])
def test_a_mask_of_ids_to_prune(tok: slmtok.Tokenizer, form: Any) -> None:
    mask = form(np.arange(tok.n_vocab) == tok.n_vocab - 1)
    fix = refused(lambda: slmtok.prune(tok, ids=mask), WrongType)
    found = eval(f"slmtok.prune(tok, {fix})", {"slmtok": slmtok, "tok": tok, "np": np, "ids": mask})
    assert found.tokenizer == slmtok.prune(tok, ids=[tok.n_vocab - 1]).tokenizer


def test_a_bool_is_no_id_to_prune(tok: slmtok.Tokenizer) -> None:
    fix = refused(lambda: slmtok.prune(tok, ids=np.array([True, False])), WrongType)
    assert fix.startswith("name ids from 272 to 279, without ")


@pytest.mark.parametrize("counts", [None, 5, {"the": 5}])
def test_what_is_no_text_is_not_counted_to_extend(tok: slmtok.Tokenizer, counts: Any) -> None:
    """Also a second tokenizer, whose name a call could take for that of the first."""
    for other in (counts, tok):
        fix = refused(lambda other=other: slmtok.extend(tok, other, vocab_size=300), WrongType)
        assert fix == "slmtok.count('CORPUS') in its place, which counts the text at the path CORPUS"


def test_a_number_of_more_ids(tok: slmtok.Tokenizer) -> None:
    counts = slmtok.count("a.txt")
    fix = refused(lambda: slmtok.extend(tok, counts, vocab_size=275), OptionError)
    size = options(fix.partition(" for")[0])
    assert size == {"vocab_size": tok.n_vocab + 275}
    assert slmtok.extend(tok, counts, min_count=1, allow_smaller=True, **size).tokenizer.n_vocab > tok.n_vocab


def test_a_choice_that_no_name_is_near_to(tok: slmtok.Tokenizer) -> None:
    fix = refused(lambda: slmtok.pack("a.txt", tok, "x", output_format="hf"), OptionError)
    names = ("slm", "nanogpt", "llama2c", "llmc", "npy")
    assert fix == ", or ".join(f"output_format='{name}'" for name in names)


@pytest.mark.parametrize(("size", "meant"), [(256, 272), (-1, 279)])
def test_a_size_without_room_for_the_bytes(tok: slmtok.Tokenizer, size: int, meant: int) -> None:
    """The fix is a smaller size than the present one, by the number that is taken off it where that is given."""
    for call in (lambda: slmtok.slice(tok, size), lambda: slmtok.prune(tok, unused_on="a.txt", keep=size)):
        (n_vocab,) = options(refused(call, VocabularyTooSmall).partition(", or")[0]).values()
        assert slmtok.slice(tok, n_vocab).n_vocab == meant < tok.n_vocab


@pytest.mark.parametrize("given", [{}, {"text_key": "body"}, {"pattern": "gpt2"}])
def test_files_with_different_keys_are_counted_apart(tok: slmtok.Tokenizer, given: dict[str, Any]) -> None:
    Path("a.jsonl").write_text(json.dumps({"text": TEXT}) + "\n")
    Path("b.tsv").write_text("id\tbody\n1\tthe cat ran\n")
    fix = refused(lambda: slmtok.count(["a.jsonl", "b.tsv"], **given), MalformedRecord).partition(", which")[0]
    assert eval(fix, {"slmtok": slmtok})[-1].documents == 2


@pytest.mark.parametrize("form", [np.ndarray.tolist, list, lambda table: table], ids=["lists", "rows", "array"])
@pytest.mark.parametrize(
    ("table", "texts"),
    [
        (np.array([["a cat"], ["a dog"]], dtype=object), ["a cat", "a dog"]),
        (np.array([["a cat", "the dog"], ["a fox", "the cow"]]), ["a cat", "the dog", "a fox", "the cow"]),
        (np.array([[1, "a cat"], [2, "a dog"]], dtype=object), ["a cat", "a dog"]),
        (np.array([[1, "a cat", "a dog"]], dtype=object), ["a cat", "a dog"]),
    ],
)
def test_rows_of_a_table_have_texts(tok: slmtok.Tokenizer, table: Any, texts: list[str], form: Any) -> None:
    rows = form(table)
    names = {"rows": rows, "tok": tok, "hf": as_hf(tok), "slmtok": slmtok}
    for corpus in (slmtok.Texts(rows), rows):
        fix = refused(lambda corpus=corpus: slmtok.count(corpus), WrongType).removeprefix(
            "to train on texts instead of files: "
        )
        assert [str(text) for text in eval(fix, names)] == texts
    fix = refused(lambda: tok.encode_batch(rows), WrongType)
    assert tok.decode_batch(eval(fix, names)) == texts
    if form is not np.ndarray.tolist:
        fix = refused(lambda: as_hf(tok)(rows), WrongType)
        assert as_hf(tok).batch_decode(eval(fix, names)["input_ids"], skip_special_tokens=True) == texts


def test_an_array_of_numbers_is_no_text() -> None:
    assert (
        refused(lambda: slmtok.count(slmtok.Texts(np.zeros((2, 3)))), WrongType) == "give texts: the array holds none"
    )


def _plain(value: Any) -> Any:
    """A value with lists in the place of arrays, and ids in that of segments."""
    value = value.ids if isinstance(value, slmtok.Segments) else value
    value = value.tolist() if hasattr(value, "tolist") else value
    return [*map(_plain, value)] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        ("ragged.pad(3, side='left')", "[[20, 21, 22], [3, 3, 23]]"),
        ("ragged.pad(3, max_length=4)", "[[20, 21, 22, 3], [23, 3, 3, 3]]"),
        ("ragged.pad(3, padding_side='left', length=4)", "[[3, 20, 21, 22], [3, 3, 3, 23]]"),
        ("ragged.to_torch(pad=3, side='left')", "[[20, 21, 22], [3, 3, 23]]"),
        ("tok.encode_batch(['abc', 'd'], return_tensors='np')['input_ids']", "hf(texts, padding=True)['input_ids']"),
        ("tok(['abc', 'd'], return_tensors='np')['input_ids']", "hf(texts, padding=True)['input_ids']"),
        ("tok(['abc', 'd'], padding='left')", "hf(texts, padding=True, padding_side='left')"),
        ("tok.encode_batch(['abc', 'd'], padding=9)", "hf(texts, padding='max_length', max_length=9)"),
        ("tok.encode_batch(['abc', 'd'], max_length=2)", "hf(texts, truncation=True, max_length=2)"),
        (
            "tok.encode_batch(['abc', 'd'], padding_side='left')",
            "hf(texts, padding=True, padding_side='left')",
        ),
        ("len(tok.encode_batch(['abc', 'd'], padding='max_length')['input_ids'][1])", "128"),
        ("tok.encode('é', return_offsets_mapping=True)['offset_mapping']", "[(0, 0), (0, 1), (0, 1)]"),
        ("tok.encode('abc', padding=True, bos=True, eos=True)", "tok.encode('abc', bos=True, eos=True)"),
        ("tok.token_bytes([300, 301])", "[tok.token_bytes(300), tok.token_bytes(301)]"),
        ("tok.id_to_token([300, 301])", "[tok.id_to_token(300), tok.id_to_token(301)]"),
        ("tok.token_bytes(ids)", "[tok.token_bytes(1), tok.token_bytes(300)]"),
        ("tok.decode(ids, True)", "tok.decode([300])"),
        ("tok.decode([1, 300], False)", "tok.decode([1, 300])"),
        ("tok.decode_batch([[1, 300]], True)", "[tok.decode([300])]"),
        ("tok.encode('a cat', dropout=1.0, bos=True)", "[1, *tok.encode_batch(['a cat'], dropout=1.0)[0]]"),
        ("tok.encode_list('a cat', dropout=0.5, seed=3)", "tok.encode_batch(['a cat'], dropout=0.5, seed=3)[0]"),
        ("tok.vocabulary['a']", "tok.token_to_id('a')"),
        ("tok.vocabulary[b'a']", "tok.token_id(b'a')"),
        ("tok.vocabulary[300]", "tok.token_bytes(300)"),
        ("tok.encode(slmtok.Special('eos'))", "[2]"),
        ("tok.encode(slmtok.Trusted('a<s>', allow={'bos'}))", "[*tok.encode('a'), 1]"),
        ("tok.encode([slmtok.Special('bos'), 'abc'])", "tok.encode('abc', bos=True)"),
        ("tok.encode_batch([slmtok.Special('bos'), 'abc'])", "tok.encode('abc', bos=True)"),
        ("tok.encode_segments(slmtok.Special('bos'), 'abc')", "[1, *tok.encode('abc')]"),
        ("tok.encode_segments('a', 'bc')", "[*tok.encode('a'), *tok.encode('bc')]"),
        ("tok.encode_segments(slmtok.Special('bos'))", "[1]"),
        ("tok.encode_batch([[slmtok.Special('bos'), 'd'], ['abc']])", "[tok.encode('d', bos=True), tok.encode('abc')]"),
        ("tok.encode_batch([[slmtok.Special('bos'), 'd'], 'abc'])", "[tok.encode('d', bos=True), tok.encode('abc')]"),
        ("tok.encode('abc', prepend='<s>')", "tok.encode('abc', bos=True)"),
        ("tok.encode_list('abc', prepend=1, append='eos')", "tok.encode_list('abc', bos=True, eos=True)"),
        ("tok.encode('bc', prepend='a', bos=True)", "[1, *tok.encode('a'), *tok.encode('bc')]"),
        ("ragged[:, :2]", "[[20, 21], [23]]"),
        ("ragged[:, 0]", "[20, 23]"),
        ("ragged[:1, 1:]", "[[21, 22]]"),
        ("ragged[0, ::2]", "[20, 22]"),
        ("ragged[-1, 0]", "23"),
        ("ragged[np.array([1, 0])]", "[[23], [20, 21, 22]]"),
        ("slmtok.Ragged(ids, np.array([2, 0]))", "slmtok.Ragged(ids, np.array([0, 2, 2]))"),
        ("slmtok.Ragged(ids, np.array([1, 2]))", "slmtok.Ragged(ids, np.array([0, 1, 2]))"),
        ("slmtok.Ragged(ids, [1, 1])", "slmtok.Ragged(ids, np.array([0, 1, 2]))"),
        ("slmtok.Ragged([5, 6, 7], [2, 1])", "slmtok.Ragged(np.array([5, 6, 7]), np.array([0, 2, 3]))"),
    ],
)
def test_a_fix_has_all_that_was_asked_for(call: str, meant: str, bpe: slmtok.Tokenizer) -> None:
    texts, rows = ["abc", "d"], slmtok.Ragged(np.array([20, 21, 22, 23]), np.array([0, 3, 4]))
    names = {"tok": bpe, "hf": as_hf(bpe), "texts": texts, "ragged": rows, "ids": np.array([1, 300]), "np": np}
    names["slmtok"] = slmtok
    error = refused(lambda: eval(call, names), SlmtokError)
    fix = re.split(", (?:which|as in transformers|without)( |$)", error)[0]
    # What is around the wrong call in the line stays around its fix.
    before, behind = ("len(", "['input_ids'][1])") if call.startswith("len(") else ("", "")
    behind = behind or next(
        (f"['{name}']" for name in ("input_ids", "offset_mapping") if call.endswith(f"['{name}']")), ""
    )
    found, expected = eval(f"{before}{fix}{behind}", names), eval(meant, names)
    assert _plain(found) == _plain(expected)


def test_options_of_padding_that_as_hf_refuses(bpe: slmtok.Tokenizer) -> None:
    hf, texts = as_hf(bpe), ["a cat", "the"]
    for wrong, meant in {
        "padding=8": "padding='max_length', max_length=8",
        "padding='right'": "padding=True, padding_side='right'",
        "padding=1": "padding=True",
        "truncation=3": "truncation=True, max_length=3",
        "max_length=9, padding=8": "padding='max_length'",
    }.items():
        assert (
            refused(lambda wrong=wrong: eval(f"hf(texts, {wrong})", {"hf": hf, "texts": texts}), OptionError) == meant
        )
    with pytest.warns(UserWarning, match=r"pads nothing without a length.*; give max_length=128"):
        assert hf(texts, padding="max_length") == hf(texts)
    assert len(as_hf(bpe, model_max_length=9)("a", padding="max_length").input_ids) == 9


def test_offsets_as_transformers_names_them(bpe: slmtok.Tokenizer) -> None:
    fix = refused(lambda: bpe.encode_with_offsets("é", return_offsets_mapping=True), UnknownOption).partition(", ")[0]  # type: ignore[call-arg]
    spans = eval(f"tok.encode_with_offsets('é', {fix})", {"tok": bpe})[1]
    assert spans.max() == 1


def test_a_role_that_tiktoken_takes_for_a_spelling(bpe: slmtok.Tokenizer) -> None:
    for encoding in (as_tiktoken(bpe), as_tiktoken(bpe, spell={"eos": "<|eos|>"})):
        text = encoding.decode([2])
        with pytest.warns(UserWarning, match="names the role 'eos'") as caught:
            encoding.encode(text, allowed_special={"eos"}, disallowed_special=())
        fix = str(caught[0].message).rpartition(": ")[2]
        assert eval(f"enc.encode({text!r}, {fix})", {"enc": encoding}) == [2]
