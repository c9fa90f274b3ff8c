"""`tiktoken:NAME` wherever a command takes a tokenizer, with tiktoken's own rank files."""

from __future__ import annotations

import pytest
from shared_data import peer, tiktoken_cache

import slmtok as package

pytestmark = pytest.mark.shared
TEXT = "Hello 🦊 <|endoftext|> naïve\n".encode()


@pytest.fixture(autouse=True)
def cache(monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tiktoken_cache()))


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "o200k_base"])
def test_there_and_back(slmtok, name):
    expected = package.from_tiktoken(name).encode_list(TEXT)
    ran = slmtok("encode", "-t", f"tiktoken:{name}", stdin=TEXT)
    assert ran.out.split() == list(map(str, expected))
    for to in ("ids", "bin", "npy"):
        ids = slmtok("encode", "-t", f"tiktoken:{name}", "--output-format", to, stdin=TEXT).stdout
        assert slmtok("decode", "-t", f"tiktoken:{name}", "--input-format", to, stdin=ids).stdout == TEXT


def test_ids_of_tiktoken(slmtok):
    tiktoken = peer("tiktoken")
    ran = slmtok("encode", "-t", "tiktoken:cl100k_base", "--allow-special", "<|endoftext|>", stdin=TEXT)
    expected = tiktoken.get_encoding("cl100k_base").encode(TEXT.decode(), allowed_special={"<|endoftext|>"})
    assert ran.out.split() == list(map(str, expected))


def test_show_info_and_vocab(slmtok):
    ran = slmtok("show", "tiktoken:gpt2", "-q", "Hello 🦊")
    assert ran.out == "  Hello│␣🦊⟨f09f│a6│8a⟩\n"
    result = slmtok("info", "tiktoken:gpt2", "--json").json["result"]
    assert (result["n_vocab"], result["layout"]) == (50257, "foreign")
    assert slmtok("vocab", "tiktoken:gpt2", "--class", "special").out.split() == ["50256", "0", "<|endoftext|>", "eos"]


def test_unknown_encoding_and_missing_cache(slmtok, monkeypatch, tmp_path):
    ran = slmtok("encode", "-t", "tiktoken:gpt3")
    assert ran.code == 2
    assert ran.err.startswith("error: unknown encoding 'gpt3'\n  limit: known: cl100k_base, gpt2, ")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    ran = slmtok("encode", "-t", "tiktoken:gpt2")
    assert ran.code == 1
    assert ran.err.startswith("error: the rank file of gpt2 is not on this machine\n")
