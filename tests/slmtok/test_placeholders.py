"""Words in capitals of a fix that stand for an input of the user."""

from __future__ import annotations

import pytest

import slmtok
from slmtok.cli import main
from slmtok.errors import MissingInput, SlmtokError
from slmtok.placeholders import MEANINGS
from slmtok.shards import open_shards

CORPUS, TOK = (f"{each}: {MEANINGS[each]}" for each in ("CORPUS", "TOK"))


@pytest.mark.parametrize(
    ("fix", "comment"),
    [
        ("slmtok train CORPUS --vocab 800 -o b.json", f"  # {CORPUS}"),
        ("check it; slmtok pack CORPUS -t TOK -o DIR writes packed data", f"  # {CORPUS}; {TOK}"),
        ("slmtok.train('CORPUS', vocab_size=300).save('t.json'), and name 't.json'", f"  # {CORPUS}"),
        ("slmtok diff a.json TOK  # a.json is a tokenizer", f"; {TOK}"),
        ("slmtok diff CORPUS -t TOK; CORPUS stands for the text", f"  # {TOK}"),
        # Nothing that is pasted, a value of another kind, what the error is about, and the usage of the command.
        ("use --on TEXT", ""),
        ("slmtok train --set DATA=x ./TEXT TEXT.txt", ""),
        ("slmtok decode RUN", ""),
        ("slm sample --counts COUNTS", ""),
        ("slmtok vocab tok.json", ""),
    ],
)
def test_a_placeholder_of_a_fix_is_explained(fix, comment):
    error = SlmtokError("RUN is missing", where="slm sample", fix=fix)
    assert str(error).endswith(f"  fix:   {fix}{comment}") and error.fix == fix


def test_a_placeholder_of_a_command_is_explained(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.json").write_text('{"model": {"type": "WordPiece", "vocab": {}}}')
    assert main(["import", "t.json", "-o", "b.json"]) == 1
    assert capsys.readouterr().err.endswith(f"-o b.json  # {CORPUS}\n")


@pytest.mark.parametrize("word", ["CORPUS", "TEXT"])
def test_a_missing_placeholder_says_what_it_stands_for(tmp_path, monkeypatch, capsys, word):
    monkeypatch.chdir(tmp_path)
    expected = f"  fix:   name a path: {word} stands for {MEANINGS[word]}"
    assert main(["train", word, "--vocab", "300"]) == 1
    assert capsys.readouterr().err.endswith(f"{expected}\n")
    with pytest.raises(MissingInput) as caught:
        slmtok.train(word, vocab_size=300)
    assert str(caught.value).endswith(expected)
    # What has a similar name is nearer.
    (tmp_path / f"{word}S").write_text("a")
    with pytest.raises(MissingInput, match=f"check the name: there is '{word}S'"):
        slmtok.train(word, vocab_size=300)


def test_variables_of_packed_data_and_names_of_packages_are_explained(tmp_path, monkeypatch):
    """`data` was no name of the caller's, and a name that a package lacks left its placeholder unexplained."""
    monkeypatch.chdir(tmp_path)
    tok = slmtok.train(slmtok.Texts(["the cat sat on the mat. "] * 20), vocab_size=280)
    (tmp_path / "a.txt").write_text("the cat")
    shards = open_shards(slmtok.pack("a.txt", tok, "packed", val="none").out)
    for index in ("train", 0):
        with pytest.raises(SlmtokError, match="data stands for your own value"):
            shards[index]
    with pytest.raises(AttributeError, match=r"  # DATA: your own packed data$"):
        slmtok.open_shards  # noqa: B018
    with pytest.raises(AttributeError, match="path stands for your own value"):
        slmtok.save  # noqa: B018
    with pytest.raises(AttributeError) as caught:
        slmtok.train_from_iterator  # noqa: B018
    assert str(caught.value).endswith("  # texts and 8192 stand for your own values")
    slmmodel = pytest.importorskip("slmmodel")
    with pytest.raises(AttributeError, match=r"into the new folder NEW;.*DATA: your own packed data"):
        slmmodel.Trainer  # noqa: B018
