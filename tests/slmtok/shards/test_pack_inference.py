"""Packing with longest match and with dropout: what the folder holds and records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import slmtok
from slmtok import reference
from slmtok.errors import OptionError, PlanMismatch
from slmtok.reference import longest_match
from slmtok.shards import open_shards, pack
from slmtok.stories import story

FIRST_BYTE = 16


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("inference") / "text.txt"
    path.write_text("\n".join(story(index).replace("\n", " ") for index in range(60)) + "\n")
    return path


@pytest.fixture(scope="module")
def tok(text: Path) -> slmtok.Tokenizer:
    return slmtok.train(text, vocab_size=500)


def packed(text: Path, tok: slmtok.Tokenizer, out: Path, **options: object) -> dict[str, list[list[int]]]:
    """The ids of each document by split, as the reference implementation numbers them."""
    pack(text, tok, out, document="line", val="hash:20%", bos=False, eos=False, **options)
    shards = open_shards(out)
    return {
        split: [
            (shard.document(index).astype(int) - FIRST_BYTE).tolist()
            for shard in shards.shards[split]
            for index in range(shard.header.n_docs)
        ]
        for split in shards.splits
    }


def merges_of(tok: slmtok.Tokenizer) -> list[tuple[int, int]]:
    return [(merge[0] - FIRST_BYTE, merge[1] - FIRST_BYTE) for merge in tok.vocabulary.merges]


def test_longest_match_cuts_both_splits(text: Path, tok: slmtok.Tokenizer, tmp_path: Path) -> None:
    merges = merges_of(tok)
    found = packed(text, tok, tmp_path / "longest", inference="longest")
    plain = packed(text, tok, tmp_path / "merges")
    assert found != plain
    for split, documents in found.items():
        for ids, by_merges in zip(documents, plain[split], strict=True):
            data = reference.decode(ids, merges)
            assert data == reference.decode(by_merges, merges)
            if split == "val":
                assert ids == [id for piece in reference.split(data, "slm") for id in longest_match(piece, merges)]
    assert open_shards(tmp_path / "longest").manifest["plan"]["options"]["inference"] == "longest"
    assert "inference" not in open_shards(tmp_path / "merges").manifest["plan"]["options"]


@pytest.mark.parametrize("threads", [1, 2])
def test_dropout_cuts_training_documents_alone(text: Path, tok: slmtok.Tokenizer, tmp_path: Path, threads: int) -> None:
    merges = merges_of(tok)
    found = packed(text, tok, tmp_path / "dropout", inference="dropout:0.3", dropout_seed=4, threads=threads)
    plain = packed(text, tok, tmp_path / "merges")
    assert found["val"] == plain["val"] and len(found["val"]) > 3
    for ids in found["train"]:
        data = reference.decode(ids, merges)
        assert ids == reference.encode_with_dropout(data, merges, "slm", 0.3, seed=4)
    options = open_shards(tmp_path / "dropout").manifest["plan"]["options"]
    assert (options["inference"], options["dropout_seed"]) == ("dropout:0.3", 4)


def test_a_folder_continues_only_as_it_began(text: Path, tok: slmtok.Tokenizer, tmp_path: Path) -> None:
    class StopError(Exception):
        pass

    def stop(_: object) -> None:
        raise StopError

    with pytest.raises(StopError):
        pack(text, tok, tmp_path / "data", document="line", inference="dropout:0.3", on_progress=stop)
    with pytest.raises(PlanMismatch, match="inference"):
        pack(text, tok, tmp_path / "data", document="line", inference="longest")


def test_wrong_rules(text: Path, tok: slmtok.Tokenizer, tmp_path: Path) -> None:
    for rule in ("dropout:0", "dropout:1.5", "dropout:x", "shortest"):
        with pytest.raises(OptionError, match="inference"):
            pack(text, tok, tmp_path / "data", inference=rule)
    word = slmtok.train(text, scheme="word", vocab_size=300)
    with pytest.raises(OptionError, match="has no merges"):
        pack(text, word, tmp_path / "data", inference="longest")
    assert not (tmp_path / "data").exists()


def test_dropout_alone_has_the_usual_rate(text: Path, tok: slmtok.Tokenizer, tmp_path: Path) -> None:
    pack(text, tok, tmp_path / "data", document="line", inference="dropout")
    assert open_shards(tmp_path / "data").manifest["plan"]["options"]["inference"] == "dropout:0.1"


def test_rows_of_npy_are_cut_likewise(text: Path, tok: slmtok.Tokenizer, tmp_path: Path) -> None:
    pack(text, tok, tmp_path / "npy", document="line", val="none", output_format="npy", inference="longest")
    rows = np.concatenate([np.load(path).reshape(-1) for path in sorted((tmp_path / "npy").glob("*.npy"))])
    whole = packed(text, tok, tmp_path / "longest", inference="longest")
    specials = rows[rows >= FIRST_BYTE].astype(int) - FIRST_BYTE
    assert sorted(specials.tolist()) == sorted(id for part in whole.values() for ids in part for id in ids)
