"""Packing: content of the shards, threads, delimiters, limits, splits."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from slmtok_shards import content, decoded

import slmtok
from slmtok.errors import (
    CorpusTooSmall,
    CorruptShard,
    MalformedRecord,
    MissingInput,
    OptionError,
    OutputExists,
    UnknownOption,
    WrongType,
)
from slmtok.options import PackOptions
from slmtok.shards import open_shards, pack
from slmtok.shards.split import by_rule


def packed(corpus, tokenizer, out, **options):
    pack(corpus, tokenizer, out, **options)
    return open_shards(out)


def digest(texts):
    total = sum(int.from_bytes(hashlib.sha256(text.encode()).digest(), "big") for text in texts)
    return f"{total % (1 << 256):064x}"


def test_documents_come_back(records, texts, tokenizer, tmp_path):
    shards = packed(records, tokenizer, tmp_path / "d", val="none", shard_tokens=5000)
    assert len(shards.shards["train"]) > 3 and shards.splits == ["train"]
    assert decoded(shards, tokenizer, "train") == texts
    assert shards.document(7).tolist() == [1, 2]
    for shard in shards.shards["train"]:
        assert shard.header.n_tokens >= 5000 or shard is shards.shards["train"][-1]
        assert int(shard.offsets[-2]) < 5000
        assert shard.nbytes.sum() == shard.header.n_bytes
    nbytes = np.concatenate([shard.nbytes for shard in shards.shards["train"]]).tolist()
    assert nbytes == [len(text.encode()) for text in texts]
    assert shards.manifest["digest"] == digest(texts)
    assert (tmp_path / "d/tok.json").read_bytes() == tokenizer.to_bytes()
    tokens = int(tokenizer.count_tokens(texts).sum()) + 2 * len(texts)
    assert open_shards(tmp_path / "d").n_tokens() == shards.n_tokens() == tokens


def test_documents_by_index_and_number_have_a_call(records, texts, tokenizer, tmp_path):
    data = packed(records, tokenizer, tmp_path / "d", val="none")
    assert data  # although it has no length
    names = {"data": data}
    for index in (7, -1):
        with pytest.raises(WrongType, match="documents of packed data are numbered within their split") as caught:
            data[index]
        assert eval(caught.value.fix, names).tolist() == data.document(range(len(texts))[index]).tolist()
    with pytest.raises(WrongType) as caught:
        data[1:3]
    assert len(eval(caught.value.fix, names)) == 2
    with pytest.raises(WrongType) as caught:
        len(data)
    assert eval(caught.value.fix, names) == len(texts)


def test_a_split_in_the_place_of_packed_data(records, tokenizer, tmp_path):
    data = packed(records, tokenizer, tmp_path / "d", val="tail:10%")
    for split in ("train", "val"):
        with pytest.raises(MissingInput, match="a split is no folder of its own") as caught:
            open_shards(tmp_path / "d" / split)
        call, _, says = caught.value.fix.partition("), ")
        assert says == "for the first document of the split"
        assert eval(f"{call})", {"open_shards": open_shards}).tolist() == data.document(0, split).tolist()
    with pytest.raises(MissingInput, match="does not exist either"):
        open_shards(tmp_path / "elsewhere" / "train")


def test_a_path_is_no_tokenizer(records, tmp_path):
    with pytest.raises(WrongType, match="tokenizer is str, not a Tokenizer"):
        pack(records, "tok.json", tmp_path / "d")
    with pytest.raises(WrongType, match=r"val must be a str, not float 0\.1"):
        pack(records, "tok.json", tmp_path / "d", val=0.1)  # the call of the fix would repeat it
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize("threads", [2, 7])
def test_threads_do_not_matter(records, tokenizer, tmp_path, monkeypatch, threads):
    monkeypatch.setattr("slmtok.corpus.batches.MIN_CHUNKED_BYTES", 1 << 30)
    pack(records, tokenizer, tmp_path / "one", threads=1, shard_tokens=7000)
    monkeypatch.setattr("slmtok.corpus.batches.MIN_CHUNKED_BYTES", 0)
    monkeypatch.setattr("slmtok.corpus.reading.CHUNK_BYTES", 3000)
    pack(records, tokenizer, tmp_path / "many", threads=threads, shard_tokens=7000)
    assert content(tmp_path / "one") == content(tmp_path / "many")


def mixture(folder, texts):
    """Small and large files of several kinds, one of them without a document."""
    folder.mkdir()
    for number in range(12):
        part = texts[number::12]
        lines = "".join(json.dumps({"text": text}) + "\n" for text in part).encode()
        kind = number % 4
        if kind == 0:
            (folder / f"{number:02d}.txt").write_text("\n".join(part), encoding="utf-8")
        elif kind == 1:
            (folder / f"{number:02d}.jsonl").write_bytes(lines)
        elif kind == 2:
            (folder / f"{number:02d}.jsonl.gz").write_bytes(gzip.compress(lines))
        else:
            (folder / f"{number:02d}.lines").write_text("\n".join(part), encoding="utf-8")
    (folder / "05.jsonl").write_bytes(b"\n\n")


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_threads_give_what_one_reader_gives(texts, tokenizer, tmp_path, monkeypatch, threads):
    """Units of the engine in any order, and what Python gathers between them: in the order of the corpus."""
    mixture(tmp_path / "c", texts)
    monkeypatch.setattr("slmtok.corpus.batches.MIN_CHUNKED_BYTES", 1 << 30)
    pack(tmp_path / "c", tokenizer, tmp_path / "plain", shard_tokens=7000, threads=1)
    monkeypatch.setattr("slmtok.corpus.batches.MIN_CHUNKED_BYTES", 500)
    monkeypatch.setattr("slmtok.corpus.reading.CHUNK_BYTES", 400)
    pack(tmp_path / "c", tokenizer, tmp_path / "many", shard_tokens=7000, threads=threads)
    assert content(tmp_path / "plain") == content(tmp_path / "many")


@pytest.mark.parametrize("threads", [1, 7])
def test_the_first_of_several_faults_is_reported(texts, tokenizer, tmp_path, monkeypatch, threads):
    monkeypatch.setattr("slmtok.corpus.batches.MIN_CHUNKED_BYTES", 0)
    monkeypatch.setattr("slmtok.corpus.reading.CHUNK_BYTES", 400)
    rows = [json.dumps({"text": text}) for text in texts]
    for place in (50, 51, 120, 300):
        rows[place] = "oops"
    (tmp_path / "a.jsonl").write_text("\n".join(rows), encoding="utf-8")
    for attempt in range(5):
        with pytest.raises(MalformedRecord) as caught:
            pack(tmp_path / "a.jsonl", tokenizer, tmp_path / f"d{attempt}", val="none", threads=threads)
        assert str(caught.value.where).endswith("line 51")


@pytest.mark.parametrize(
    ("frame", "before", "behind"), [("bos_eos", [1], [2]), ("bos", [1], []), ("eos", [], [2]), ("none", [], [])]
)
def test_delimiters(records, texts, tokenizer, tmp_path, frame, before, behind):
    shards = packed(records, tokenizer, tmp_path / "d", val="none", bos=bool(before), eos=bool(behind))
    assert shards.manifest["frame"] == frame
    for index in (0, 7, 399):
        assert shards.document(index).tolist() == before + tokenizer.encode_list(texts[index]) + behind
    assert shards.shards["train"][0].header.flags == len(before) + 2 * len(behind)


def test_the_split_by_hash(records, texts, tokenizer, tmp_path):
    shards = packed(records, tokenizer, tmp_path / "d")
    assert shards.manifest["plan"]["split"] == {"rule": "hash:10%"}
    keys = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") % 1_000_000 for text in texts]
    for name in ("train", "val"):
        wanted = [text for key, text in zip(keys, texts, strict=True) if (key < 100_000) == (name == "val")]
        assert decoded(shards, tokenizer, name) == wanted


def test_the_tail_of_several(records, texts, tokenizer, tmp_path):
    shards = packed(records, tokenizer, tmp_path / "d", val="tail:10%", shard_tokens=9000)
    whole = sum(len(text.encode()) for text in texts)
    n = shards.n_docs("val")
    assert decoded(shards, tokenizer, "train") + decoded(shards, tokenizer, "val") == texts
    assert sum(len(text.encode()) for text in texts[-n:]) * 10 >= whole
    assert sum(len(text.encode()) for text in texts[1 - n :]) * 10 < whole


def test_the_tail_of_one_is_cut_between_characters(tokenizer, tmp_path):
    text = "a" * 89 + "ééééé" + "b"
    (tmp_path / "one.txt").write_text(text, encoding="utf-8")
    shards = packed(tmp_path / "one.txt", tokenizer, tmp_path / "d")
    assert shards.manifest["plan"]["split"] == {"rule": "tail:10%", "first": [0, 1], "cut": 91}
    assert decoded(shards, tokenizer, "train") == ["a" * 89 + "é"]
    assert decoded(shards, tokenizer, "val") == ["éééé" + "b"]


def test_the_split_by_file(tokenizer, tmp_path):
    (tmp_path / "c/held").mkdir(parents=True)
    for name in ("a.txt", "b.txt", "held/x.txt", "held/y.txt"):
        (tmp_path / "c" / name).write_text(f"this is {name}", encoding="utf-8")
    shards = packed(tmp_path / "c", tokenizer, tmp_path / "d", val="files:held/*")
    assert decoded(shards, tokenizer, "val") == ["this is held/x.txt", "this is held/y.txt"]
    with pytest.raises(OptionError, match="none of 4 files"):
        pack(tmp_path / "c", tokenizer, tmp_path / "e", val="files:z*")
    names = [source["name"] for source in shards.manifest["plan"]["sources"]]
    assert names == ["a.txt", "b.txt", "held/x.txt", "held/y.txt"]


@pytest.mark.parametrize("rule", ["hash:0.00001%", "hash:100%", "tail:0%", "files:", "half", "hash:5"])
def test_wrong_rules(rule):
    with pytest.raises(OptionError, match="not a rule"):
        PackOptions(val=rule)


def test_small_shares_are_exact():
    assert by_rule("hash:0.5%", []).ppm == 5000
    assert by_rule("hash:0.0001%", []).ppm == 1
    assert by_rule("hash:33.3333%", []).ppm == 333333


def test_limits_end_at_a_document(records, texts, tokenizer, tmp_path):
    shards = packed(records, tokenizer, tmp_path / "a", val="none", max_docs=30)
    assert decoded(shards, tokenizer, "train") == texts[:30]
    shards = packed(records, tokenizer, tmp_path / "b", val="none", max_bytes=3000)
    sizes = np.cumsum([len(text.encode()) for text in texts])
    assert shards.n_docs() == int(np.searchsorted(sizes, 3000)) + 1
    shards = packed(records, tokenizer, tmp_path / "c", max_tokens=3000)
    total = shards.n_tokens("train") + shards.n_tokens("val")
    assert 3000 <= total < 3000 + 400
    shards = packed(records, tokenizer, tmp_path / "e", shard_tokens=2000, max_chunks=2)
    assert [shard["name"] for shard in shards.manifest["shards"]][:2] == ["train-00000", "train-00001"]
    assert len(shards.shards["train"]) == 2
    with pytest.raises(OptionError, match="together with max_tokens"):
        pack(records, tokenizer, tmp_path / "f", val="tail:10%", max_tokens=5)


def test_domains(tokenizer, tmp_path):
    (tmp_path / "c").mkdir()
    for name in ("a.md", "b.txt", "c.md"):
        (tmp_path / "c" / name).write_text(f"this is {name}", encoding="utf-8")
    shards = packed(tmp_path / "c", tokenizer, tmp_path / "d", val="none", domains={"notes": "*.md"})
    assert shards.manifest["domains"] == ["notes", "other"]
    assert shards.shards["train"][0].domains.tolist() == [0, 1, 0]


@pytest.mark.parametrize("small", [0, 1 << 30])
def test_skipped_records_are_in_the_manifest(tokenizer, tmp_path, monkeypatch, small):
    monkeypatch.setattr("slmtok.corpus.batches.MAX_BATCH_DOCUMENTS", 3)
    monkeypatch.setattr("slmtok.corpus.reading.CHUNK_BYTES", 8)
    monkeypatch.setattr("slmtok.corpus.batches.MIN_CHUNKED_BYTES", small)
    rows = ['{"text": "a"}', "oops", '{"text": "b"}', '{"text": "c"}', '{"text": "d"}', "oops", "oops"]
    (tmp_path / "a.jsonl").write_text("\n".join(rows), encoding="utf-8")
    with pytest.warns(UserWarning, match="3 malformed records skipped"):
        shards = packed(tmp_path / "a.jsonl", tokenizer, tmp_path / "d", skip_malformed=True, val="none")
    assert shards.manifest["skipped"] == 3 and shards.n_docs() == 4


def test_standard_input(texts, tokenizer, tmp_path, monkeypatch):
    data = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
    for number, val in enumerate(("auto", "tail:20%", "none")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        shards = packed("-", tokenizer, tmp_path / str(number), val=val, format="jsonl")
        assert sum(map(shards.n_docs, shards.splits)) == len(texts)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"only one text here")))
    assert decoded(packed("-", tokenizer, tmp_path / "one"), tokenizer, "val") == ["re"]


def test_a_foreign_table_gets_the_roles_it_lacks(texts, records, tmp_path):
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"th": 256, b"the": 257}
    lines = b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in ranks.items())
    (tmp_path / "x.tiktoken").write_bytes(lines)
    foreign = slmtok.from_tiktoken(tmp_path / "x.tiktoken", pattern="gpt2")
    shards = packed(records, foreign, tmp_path / "d", val="none")
    vocab = json.loads((tmp_path / "d/vocab.json").read_bytes())
    assert vocab["specials"] == {"bos": 258, "eos": 259, "pad": 260} and vocab["n_vocab"] == 261
    assert vocab["fingerprint"] == foreign.fingerprint
    for index in (0, 7, 11):
        assert shards.document(index).tolist() == [258, *foreign.encode_list(texts[index]), 259]


def test_refusals(records, tokenizer, tmp_path):
    (tmp_path / "empty.jsonl").touch()
    for val in ("auto", "none"):
        with pytest.raises(CorpusTooSmall, match="no documents"):
            pack(tmp_path / "empty.jsonl", tokenizer, tmp_path / "d", val=val)
    with pytest.raises(UnknownOption, match="option 'chunks_size'; did you mean 'chunk_size'"):
        pack(records, tokenizer, tmp_path / "e", chunks_size=9)
    with pytest.raises(OutputExists, match="is a file"):
        pack(records, tokenizer, records)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine.txt").touch()
    with pytest.raises(OutputExists, match=r"other files, such as 'mine\.txt'"):
        pack(records, tokenizer, tmp_path / "full")
    pack(records, tokenizer, tmp_path / "e")
    with pytest.raises(OutputExists, match="already holds packed data"):
        pack(records, tokenizer, tmp_path / "e")
    before = content(tmp_path / "e")
    pack(records, tokenizer, tmp_path / "e", force=True)
    assert content(tmp_path / "e") == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.pop("frame"), "the key 'frame' is missing"),
        (lambda content: content.update(frame="x"), "frame is 'x', expected"),
        (lambda content: content.update(shards={}), "shards is {}, expected a list"),
        (lambda content: content["shards"][0].update(name="../train-00000"), "expected 'train-00000'"),
        (lambda content: content["shards"].pop(0), "expected 'train-00000'"),
        (lambda content: content["shards"][0].update(docs="7"), r"shards\[0\]\.docs is '7'"),
        (lambda content: content["shards"][0]["sha256"].update(exe="7"), "unknown key 'shards\\[0\\].sha256.exe'"),
        (lambda content: content.update(format="other"), "format is 'other', expected"),
    ],
)
def test_invalid_manifests(records, tokenizer, tmp_path, change, message):
    pack(records, tokenizer, tmp_path / "d", shard_tokens=9000)
    path = tmp_path / "d/manifest.json"
    manifest = json.loads(path.read_bytes())
    change(manifest)
    path.write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(CorruptShard, match=message):
        open_shards(tmp_path / "d")


def test_bytes_that_are_not_utf_8_are_warned_of(tokenizer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "Les élèves de l'été sont très contents à la forêt.\n" * 20
    Path("latin.txt").write_text(text, encoding="cp1252")
    Path("utf.txt").write_text(text, encoding="utf-8")
    fact = r"^latin.txt is not UTF-8 \(first: byte 4\), and such bytes are kept; "
    with pytest.warns(UserWarning, match=fact + r".*encoding='latin-1'; force=True packs again$"):
        pack("latin.txt", tokenizer, "data", val="none")
    with pytest.warns(UserWarning, match=fact + "utf.txt is UTF-8, which another encoding would misread: convert"):
        pack(["utf.txt", "latin.txt"], tokenizer, "both", val="none")
    # `filterwarnings = error` refuses a warning of these.
    latin = pack("latin.txt", tokenizer, "data", val="none", encoding="latin-1", force=True)
    utf_8 = pack("utf.txt", tokenizer, "utf", val="none")
    assert latin.manifest["shards"][0]["bytes"] == utf_8.manifest["shards"][0]["bytes"]
