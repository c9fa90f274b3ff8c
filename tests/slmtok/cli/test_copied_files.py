"""Files and paths as other programs and systems write them: the fix, pasted as it is printed, reads them."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from printed_fixes import fix_of

import slmtok as package


@pytest.fixture
def here(slmtok, tmp_path: Path) -> Path:
    """A folder with texts and a tokenizer; it is the working folder."""
    (tmp_path / "texts").mkdir()
    for name in ("a.txt", "texts/b.txt"):
        (tmp_path / name).write_text("the cat sat on the mat, and the dog sat by the door. " * 20)
    package.train("a.txt", vocab_size=290).save("tok.json")
    return tmp_path


def run_python(line: str) -> None:
    """Runs a command line `python ...`."""
    subprocess.run([sys.executable, *shlex.split(line)[1:]], check=True)


@pytest.mark.parametrize(
    ("before", "end", "marks"),
    [
        (b"", b"\r\n", "its lines end with CR LF"),
        (b"\xef\xbb\xbf", b"\n", "it begins with a byte order mark"),
        (b"\xef\xbb\xbf", b"\r\n", "it begins with a byte order mark, and its lines end with CR LF"),
    ],
)
def test_a_tokenizer_with_the_marks_of_an_editor(slmtok, here, before, end, marks):
    sound = Path("tok.json").read_bytes()
    Path("tok.json").write_bytes(before + sound.replace(b"\n", end))
    for words in (("encode", "a.txt", "-t", "tok.json"), ("info", "tok.json")):
        ran = slmtok(*words)
        fix = fix_of(ran, 1)
        assert marks in ran.err and (".gitattributes" in ran.err) == (end == b"\r\n")
    run_python(fix)
    assert Path("tok.json").read_bytes() == sound


def test_a_tokenizer_that_was_edited_too_is_not_said_to_be_sound(slmtok, here):
    Path("tok.json").write_bytes(Path("tok.json").read_bytes().replace(b"\n", b"\r\n").replace(b"}", b"} ", 1))
    assert "CR LF" not in slmtok("info", "tok.json").err


def test_ids_that_numpy_wrote_as_text(slmtok, here):
    np.savetxt("ids.txt", [272, 273, 280])
    ran = slmtok("decode", "ids.txt", "-t", "tok.json")
    assert "as np.savetxt writes it" in ran.err
    run_python(fix_of(ran, 1))
    assert np.load("ids.npy").tolist() == [272, 273, 280]
    assert slmtok("decode", "ids.npy", "-t", "tok.json").code == 0


def test_numbers_that_are_no_ids(slmtok, here):
    Path("ids.txt").write_text("2.7215e+02\n")
    assert "is not an id" in slmtok("decode", "ids.txt", "-t", "tok.json").err


def test_a_checkpoint_of_ids(slmtok, here):
    torch = pytest.importorskip("torch")
    torch.save(torch.tensor([272, 273, 280]), "ids.pt")
    ran = slmtok("decode", "ids.pt", "-t", "tok.json")
    assert "this is a checkpoint of PyTorch, not lines of ids" in ran.err
    run_python(fix_of(ran, 1))
    assert np.load("ids.npy").tolist() == [272, 273, 280]


@pytest.mark.parametrize(("text", "name"), [("tensor([272, 273])", "a tensor"), ("array([272, 273])", "an array")])
def test_ids_as_print_shows_them(slmtok, here, text, name):
    Path("ids.txt").write_text(text)
    ran = slmtok("decode", "ids.txt", "-t", "tok.json")
    assert f"this is {name} as print shows it" in ran.err and "np.save('ids.npy', ids)" in fix_of(ran, 1)


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        (("encode", "texts\\b.txt", "-t", "tok.json"), "slmtok encode texts/b.txt -t tok.json"),
        (("encode", "a.txt", "-t", ".\\tok.json"), "slmtok encode a.txt -t ./tok.json"),
        (("count", "texts\\b.txt", "-o", "n.counts"), "slmtok count texts/b.txt -o n.counts"),
        (("count", "{here}/a.txt", "-o", "n.counts"), "slmtok count {path}/a.txt -o n.counts"),
        (("info", "{here}/tok.json"), "slmtok info {path}/tok.json"),
    ],
)
def test_paths_of_other_systems(slmtok, here, words, fix):
    fix = fix.format(path=here)
    assert fix_of(slmtok(*(word.format(here=here.as_uri()) for word in words)), 1) == fix
    assert slmtok(*shlex.split(fix)[1:]).code == 0


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("encode", "a.txt", "-t", "TOK.JSON"), "tok.json"),
        (("encode", "A.TXT", "-t", "tok.json"), "a.txt"),
        (("count", "TEXTS/b.txt", "-o", "n.counts"), "texts/b.txt"),
    ],
)
def test_names_in_other_case(slmtok, here, words, name):
    assert f"there is {name!r}" in slmtok(*words).err


def test_data_packed_into_the_folder_of_the_corpus(slmtok, here):
    fix = fix_of(slmtok("pack", "texts", "-t", "tok.json", "-o", "texts"), 2)
    assert fix == "--output texts-data"
    assert slmtok("pack", "texts", "-t", "tok.json", *fix.split()).code == 0
    name = f"../{here.name}-data"
    words = ["--exclude", "t*.json", "--exclude", "texts-data/*"]
    assert name in slmtok("pack", ".", "-t", "tok.json", "-o", ".", *words).err


@pytest.mark.parametrize("flag", ["--sep", "--delimiter"])
@pytest.mark.parametrize("value", ["\n\n", r"\n\n"])
def test_what_separates_documents_is_the_separator(slmtok, here, flag, value):
    fix = fix_of(slmtok("pack", "a.txt", "-t", "tok.json", flag, value, "-o", "data"), 2)
    assert fix == r"use --separator '\n\n'"
    for columns in (";", "|", ","):
        assert "commas between columns" in slmtok("count", "a.txt", flag, columns, "-o", "n").err
