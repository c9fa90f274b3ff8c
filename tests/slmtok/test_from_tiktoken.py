"""tiktoken's rank files: the same ids, and a named fault for each bad file or missing cache."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path
from typing import Any

import pytest
from shared_data import peer, tiktoken_cache

import slmtok
from slmtok import errors
from slmtok.compat.tiktoken import get_encoding
from slmtok.formats.tiktoken import ENCODINGS, cache_folder, find_ranks, read_ranks, write_ranks

BYTES = {bytes([byte]): byte for byte in range(256)}
TEXT = "Hello, world! It's 12:05 <|endoftext|> 今天天气 naïve\r\n\r\n   x  <|fim_prefix|>"


SECOND_NAMES = {"<|reserved_200018|>"}
"""Of ids that have another name in the same encoding: in o200k_harmony that of `<|endofprompt|>`."""


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tiktoken_cache()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
    return folder


@pytest.mark.shared
@pytest.mark.peer
@pytest.mark.parametrize("name", ENCODINGS)
def test_ids_are_tiktoken_s(cache: Path, name: str) -> None:
    tiktoken = peer("tiktoken")
    theirs, ours = tiktoken.get_encoding(name), slmtok.from_tiktoken(name)
    assert ours.n_vocab == theirs.n_vocab
    assert ours.specials["eos"] == theirs.eot_token
    assert set(ours.specials.spellings) == theirs.special_tokens_set - SECOND_NAMES
    source = random.Random(name)
    pieces = [TEXT, " the", "\n", "    ", "ſ", "😀", "é", "9", "İ", "'LL", "\u0301", "de la"]
    for _ in range(300):
        text = "".join(source.choices(pieces, k=source.randint(0, 12)))
        assert ours.encode_list(text) == theirs.encode_ordinary(text)
        assert ours.encode_list(text, allow_special="all") == theirs.encode(text, allowed_special="all")
    assert ours.decode_bytes(ours.encode(TEXT)) == TEXT.encode()


@pytest.mark.shared
@pytest.mark.parametrize("name", ENCODINGS)
def test_save_and_load(cache: Path, tmp_path: Path, name: str) -> None:
    tok = slmtok.from_tiktoken(name)
    tok.save(tmp_path / "tok.json")
    again = slmtok.load(tmp_path / "tok.json")
    assert again == tok
    assert again.encode_list(TEXT) == tok.encode_list(TEXT)
    assert again.provenance["source"] == f"tiktoken:{name}"


@pytest.mark.shared
@pytest.mark.parametrize("name", ["p50k_base", "o200k_harmony"])
def test_a_list_of_special_tokens_gets_ids(cache: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts: Any = ["<|user|>", "<|endoftext|>", "<|assistant|>"]
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    with pytest.raises(errors.WrongType, match="specials must be a dict") as caught:
        slmtok.from_tiktoken(name, specials=texts)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(cache))
    tok = eval(f"slmtok.from_tiktoken({name!r}, {caught.value.fix})", {"slmtok": slmtok})
    kept = ENCODINGS[name].specials
    assert {**kept, **dict.fromkeys(texts)}.keys() == tok.specials.spellings.keys() | SECOND_NAMES & kept.keys()
    assert all(tok.specials.spellings[text] == id for text, id in kept.items() if text not in SECOND_NAMES)
    assert tok.decode_bytes(tok.encode(TEXT)) == TEXT.encode()


def test_special_tokens_of_a_rank_file_get_ids(tmp_path: Path) -> None:
    path, names = tmp_path / "a.tiktoken", {"slmtok": slmtok}
    path.write_bytes(write_ranks(BYTES))
    for wrong in (["<|user|>"], "<|user|>", {256: "<|user|>"}):
        given: Any = wrong
        with pytest.raises(errors.WrongType) as caught:
            slmtok.from_tiktoken(path, pattern="gpt2", specials=given)
        tok = eval(f"slmtok.from_tiktoken(path, pattern='gpt2', {caught.value.fix})", {**names, "path": path})
        assert tok.specials.spellings == {"<|user|>": 256}


@pytest.mark.shared
def test_holes(cache: Path) -> None:
    tok = slmtok.from_tiktoken("cl100k_base")
    assert tok.token_bytes(100257) == b"<|endoftext|>"
    for id in (100256, 100261, 100275, 100277):
        with pytest.raises(errors.UnknownId):
            tok.token_bytes(id)
        with pytest.raises(errors.UnknownId):
            tok.decode([id])


@pytest.mark.shared
def test_gpt2_from_either_file(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = slmtok.from_tiktoken("gpt2").fingerprint
    assert slmtok.from_tiktoken("r50k_base").fingerprint == wanted
    key = ENCODINGS["gpt2"].json_key
    assert key is not None
    (tmp_path / key).write_bytes((cache / key).read_bytes())
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert slmtok.from_tiktoken("gpt2").fingerprint == wanted
    with pytest.raises(errors.MissingInput):
        slmtok.from_tiktoken("r50k_base")


@pytest.mark.shared
def test_published_file_knows_its_pattern(cache: Path) -> None:
    tok = slmtok.from_tiktoken(find_ranks("cl100k_base"))
    assert tok == slmtok.from_tiktoken("cl100k_base")


def test_missing_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    with pytest.raises(errors.MissingInput) as caught:
        slmtok.from_tiktoken("cl100k_base")
    assert str(tmp_path) in str(caught.value)
    assert "TIKTOKEN_CACHE_DIR" in str(caught.value)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert cache_folder() is None
    with pytest.raises(errors.MissingInput, match="no cache is used"):
        find_ranks("cl100k_base")
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(tmp_path / "gym"))
    assert cache_folder() == tmp_path / "gym"
    monkeypatch.delenv("DATA_GYM_CACHE_DIR")
    folder = cache_folder()
    assert folder is not None
    assert folder.name == "data-gym-cache"


def test_changed_cache_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    path = tmp_path / ENCODINGS["cl100k_base"].cache_key
    path.write_bytes(write_ranks(BYTES))
    with pytest.raises(errors.CorruptFile, match="not the published rank file"):
        slmtok.from_tiktoken("cl100k_base")


def test_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    with pytest.raises(errors.UnknownName, match="did you mean 'cl100k_base'"):
        slmtok.from_tiktoken("cl100k-base")
    for name, call, last in (
        ("cl100k", slmtok.from_tiktoken, "use 'cl100k_base'"),
        ("o200k", get_encoding, "use 'o200k_base'"),
        ("gpt-4", slmtok.from_tiktoken, "slmtok.from_tiktoken('cl100k_base')"),
    ):
        with pytest.raises(errors.UnknownName, match="its rank file is not on this machine: no file ") as caught:
            call(name)
        assert str(tmp_path) in str(caught.value)
        fetching, _, then = str(caught.value.fix).rpartition("; then ")
        assert then == last
        assert "tiktoken.get_encoding(" in fetching
    with pytest.raises(errors.UnknownName, match="known:"):
        slmtok.from_tiktoken("whatever")
    with pytest.raises(errors.MissingInput, match="neither a file nor an encoding"):
        slmtok.from_tiktoken("folder/none.tiktoken")


def test_own_rank_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.tiktoken"
    path.write_bytes(write_ranks({**BYTES, b"th": 256, b"the": 257, b" t": 258}))
    with pytest.raises(errors.OptionError, match="pattern="):
        slmtok.from_tiktoken(path)
    tok = slmtok.from_tiktoken(path, pattern="gpt2", specials={"<|end|>": 300}, name="mine")
    assert tok.encode_list("the t<|end|>", allow_special="all") == [257, 258, 300]
    assert tok.n_vocab == 301
    assert tok.provenance["source"] == "tiktoken:mine"
    assert tok.provenance["source_sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert read_ranks(path.read_bytes(), source="x") == {**BYTES, b"th": 256, b"the": 257, b" t": 258}
    with pytest.raises(errors.InvalidSpecials, match="is the token b'the'"):
        slmtok.from_tiktoken(path, pattern="gpt2", specials={"<|end|>": 257})
    with pytest.raises(errors.InvalidSpecials, match="cannot spell a special token"):
        slmtok.from_tiktoken(path, pattern="cl100k", specials={"\ud800": 300})


def test_table_that_pair_merges_cannot_reproduce(tmp_path: Path) -> None:
    path = tmp_path / "odd.tiktoken"
    path.write_bytes(write_ranks({**BYTES, b"abc": 256, b"ab": 257}))
    with pytest.raises(errors.InvalidRanks):
        slmtok.from_tiktoken(path, pattern="gpt2")


BAD_RANKS = {
    "empty": (b"", "has no tokens"),
    "no rank": (b"IQ== 0\nIg==\n", "line 2"),
    "not base64": (b"IQ== 0\n!!!! 1\n", "line 2"),
    "wrong padding": (b"IQ== 0\nI=== 1\n", "line 2"),
    "token twice": (write_ranks(BYTES) + b"IQ== 256\n", r"line 257|repeats the token"),
    "rank twice": (write_ranks(BYTES) + b"dGg= 255\n", "repeats the rank of line 256"),
    "negative": (b"IQ== -1\n", "line 1"),
    "huge rank": (write_ranks(BYTES) + b"dGg= 99999999\n", "rank above"),
    "byte missing": (write_ranks({token: rank for token, rank in BYTES.items() if rank != 7}), "0x07"),
    "json": (b'{"model": {}}', "line 1"),
}


@pytest.mark.parametrize("fault", BAD_RANKS)
def test_bad_rank_file(fault: str) -> None:
    data, match = BAD_RANKS[fault]
    with pytest.raises(errors.InvalidRanks, match=match) as caught:
        read_ranks(data, source="bad.tiktoken")
    assert "bad.tiktoken" in str(caught.value)
