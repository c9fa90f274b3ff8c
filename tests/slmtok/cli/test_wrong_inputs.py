"""Wrong inputs whose message once misled: what is said, the exit status, and that nothing stays behind."""

from __future__ import annotations

import pytest

CASES = {
    "train a.txt --vocab": (2, "error: option '--vocab' requires an argument\n  where: slmtok train\n"),
    "reproduce tok.json": (1, "tok.json is not a valid lock: it is a file of the format 'slmtok-tokenizer'"),
    "slice a.txt --vocab 300 -o x": (1, "fix:   name a tokenizer file, as slmtok train writes it"),
    "encode a.txt -t vocab.json": (1, "fix:   name a tokenizer file, as slmtok train writes it"),
    "encode a.txt -t folder": (1, "error: the folder 'folder' holds no tokenizer\n  limit: one of tok.json,"),
    "set-special tok.json größe=ü -o x": (2, "error: 'größe' is not a valid role"),
    "count packed": (2, "is the manifest of packed data of slmtok, not text\n"),
    "train packed --vocab 300": (2, "fix:   name the text that was packed"),
    "info packed/manifest.json": (1, "fix:   name the folder: packed\n"),
    "encode a.txt -t gpt2": (
        1,
        "python -c \"import tiktoken; tiktoken.get_encoding('gpt2')\", or set TIKTOKEN_CACHE_DIR",
    ),
    "completion tcsh": (2, "error: SHELL takes one of bash, zsh, fish, powershell, not 'tcsh'"),
}


@pytest.mark.parametrize("line", CASES)
def test_the_message_names_the_cause(slmtok, tmp_path, line, monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 20)
    (tmp_path / "folder").mkdir()
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json").code == 0
    assert slmtok("vocab", "tok.json", "--metadata", "-o", "vocab.json").code == 0
    assert slmtok("pack", "a.txt", "-t", "tok.json", "-o", "packed", "--val", "none").code == 0
    before = sorted(tmp_path.rglob("*"))
    ran = slmtok(*line.split())
    status, message = CASES[line]
    assert ran.code == status and message in ran.err, ran.err
    assert sorted(tmp_path.rglob("*")) == before


def test_the_fix_of_a_missing_rank_file_installs_tiktoken(slmtok, tmp_path, monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("slmtok.formats.tiktoken.installed", lambda name: None)
    ran = slmtok("encode", "-", "-t", "gpt2", stdin=b"a")
    assert ran.code == 1 and 'fix:   pip install tiktoken && python -c "import tiktoken; ' in ran.err


def test_text_in_the_place_of_a_file(slmtok, tmp_path):
    (tmp_path / "a.txt").write_text("the cat")
    assert slmtok("train", "a.txt", "--vocab", "272", "-o", "tok.json").code == 0
    ran = slmtok("encode", "Hello world", "-t", "tok.json")
    assert ran.code == 1 and "fix:   for text itself name - and pipe it in" in ran.err
