"""Subsets: nested, chosen by the document alone, complete folders of their own."""

from __future__ import annotations

import hashlib
import json
import random

import pytest
from slmtok_shards import content, decoded

import slmtok
from slmtok.errors import OptionError, OutputExists, WrongType
from slmtok.options import PackOptions, ReadOptions
from slmtok.shards import open_shards, pack
from slmtok.shards.check import check


def key(text):
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[8:16], "little")


def test_nested_and_by_document(records, texts, tokenizer, tmp_path):
    packed = pack(records, tokenizer, tmp_path / "d", val="hash:10%", shard_tokens=6000, subset=(20, 100))
    train = decoded(open_shards(tmp_path / "d"), tokenizer, "train")
    for number, place in packed.subsets.items():
        shards = open_shards(place)
        chosen = set(sorted(train, key=key)[:number])
        assert decoded(shards, tokenizer, "train") == [text for text in train if text in chosen]
        assert shards.n_docs() == number == shards.manifest["subset"]
        assert decoded(shards, tokenizer, "val") == decoded(open_shards(tmp_path / "d"), tokenizer, "val")
        check(place, deep=True)
    # In any order of the corpus, under another tokenizer, the same documents.
    shuffled = texts[:]
    random.Random(0).shuffle(shuffled)
    other = tmp_path / "other.jsonl"
    other.write_text("".join(json.dumps({"text": text}) + "\n" for text in shuffled), encoding="utf-8")
    pack(other, slmtok.slice(tokenizer, 300), tmp_path / "e", val="hash:10%", bos=False, eos=False, subset=(20,))
    again = decoded(open_shards(tmp_path / "e/subset-20"), tokenizer, "train")
    assert sorted(again) == sorted(decoded(open_shards(tmp_path / "d/subset-20"), tokenizer, "train"))


def test_missing_subsets_are_made_and_complete_ones_stay(records, tokenizer, tmp_path):
    pack(records, tokenizer, tmp_path / "d", subset=(20, 30))
    before = content(tmp_path / "d/subset-30")
    (tmp_path / "d/subset-30/manifest.json").unlink()
    inode = (tmp_path / "d/subset-20/manifest.json").stat().st_ino
    pack(records, tokenizer, tmp_path / "d", subset=(20, 30))
    assert content(tmp_path / "d/subset-30") == before
    assert (tmp_path / "d/subset-20/manifest.json").stat().st_ino == inode
    with pytest.raises(OutputExists):
        pack(records, tokenizer, tmp_path / "d", subset=(20, 30))
    pack(records, tokenizer, tmp_path / "d", force=True)
    assert not (tmp_path / "d/subset-20").exists()


def test_more_documents_than_exist(records, tokenizer, tmp_path):
    with pytest.raises(OptionError, match="a subset of 5,000 documents, and there are 3"):
        pack(records, tokenizer, tmp_path / "d", subset=(20, 5000))


@pytest.mark.parametrize(
    ("options", "given", "fix"),
    [
        (PackOptions, "subset=100", "subset=[100]"),
        (PackOptions, "subset='100'", "subset=[100]"),
        (PackOptions, "subset='100, 2k'", "subset=[100, 2000]"),
        (PackOptions, "subset='20,000'", "subset=[20000]"),
        (PackOptions, "subset=[1e2, 20]", "subset=[100, 20]"),
        (PackOptions, "subset=[0, 20]", "subset=[20]"),
        (ReadOptions, "sample='25%'", "sample=0.25"),
    ],
)
def test_a_number_of_another_type_is_the_one_of_the_fix(options, given, fix):
    with pytest.raises((WrongType, OptionError)) as caught:
        eval(f"options({given})", {"options": options})
    assert caught.value.fix == fix
    eval(f"options({fix})", {"options": options})
