"""`slmtok.load` takes what `-t` of the commands takes."""

from __future__ import annotations

import pytest

import slmtok
from slmtok.errors import MissingInput, WrongType
from slmtok.formats.export import export
from slmtok.formats.tiktoken import ENCODINGS


@pytest.fixture
def folder(tmp_path, bpe):
    """`tok.json`, the folder `hf` of an export and the folder `data` of packed data."""
    bpe.save(tmp_path / "tok.json")
    (tmp_path / "text.txt").write_text("the cat sat on the mat\n" * 50)
    export(bpe, "hf", tmp_path / "hf", verify=False)
    slmtok.pack(tmp_path / "text.txt", bpe, tmp_path / "data", document="line", val="none")
    return tmp_path


@pytest.mark.parametrize("name", ["tok.json", "data", "hf", "hf/tokenizer.json"])
def test_files_and_folders(name, folder, bpe) -> None:
    text = "the cat sat on a mat"
    assert slmtok.load(folder / name).encode_list(text) == bpe.encode_list(text)


@pytest.mark.parametrize(("name", "encoding"), [("gpt2", "gpt2"), ("tiktoken:gpt2", "gpt2"), ("gpt-4", "cl100k_base")])
def test_public_encodings(name, encoding, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    with pytest.raises(MissingInput, match=f"the rank file of {encoding} is not on this machine"):
        slmtok.load(name)


@pytest.mark.parametrize(("name", "meant"), [("cl100k", "cl100k_base"), ("gqt-4o", "gpt-4o")])
def test_an_encoding_that_is_meant_is_fetched_first(name, meant, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    with pytest.raises(MissingInput) as fetched:
        slmtok.load(meant)
    with pytest.raises(MissingInput) as caught:
        slmtok.load(name)
    assert f" {meant}, or the path of a tokenizer file; the rank file of " in caught.value.fix
    assert caught.value.fix.endswith(f"{fetched.value.fact}: fetch it with {fetched.value.fix}")
    (tmp_path / ENCODINGS[fetched.value.fields["name"]].cache_key).touch()
    with pytest.raises(MissingInput, match=r"path of a tokenizer file$"):
        slmtok.load(name)


def test_a_file_wins_over_a_name(tmp_path, bpe, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    bpe.save("gpt2")
    assert slmtok.load("gpt2") == bpe


def test_what_is_no_tokenizer(tmp_path) -> None:
    with pytest.raises(MissingInput, match="holds no tokenizer"):
        slmtok.load(tmp_path)
    with pytest.raises(MissingInput, match=r"no file 'nope\.json'"):
        slmtok.load("nope.json")
    with pytest.raises(WrongType, match=r"not by NoneType\n  fix:   the path of the file, as a str or a Path"):
        slmtok.load(None)
