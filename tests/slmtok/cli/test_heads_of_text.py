"""Text whose first bytes show that it is something else than it is read as: marks, markup, encodings, white space."""

from __future__ import annotations

import shlex
import subprocess
import warnings
from pathlib import Path

import pytest

import slmtok as package
from slmtok.file_content import content_of

STORY = "The evening river went through the old town, and the children sang.\n"
FINNISH = "Kissa istui matolla, ja tyttö äänsi: hyvää yötä.\n"
RUSSIAN = "Кошка сидела на ковре и смотрела в окно. Ночью шёл снег.\n"
CHINESE = "猫坐在垫子上，看着窗外的 Linux。夜里下了一场雪，早上一切都变白了。\n"
JAPANESE = "猫はマットの上に座って、窓の外を見ていた。\n"
HINDI = "बिल्ली चटाई पर बैठी थी और खिड़की से बाहर देख रही थी।\n"


def notes_of(slmtok, *words: str) -> str:
    ran = slmtok("count", *words, "-o", "new.counts", "--force")
    assert ran.code == 0, ran.err
    return ran.err


def pasted(slmtok, err: str) -> str:
    """Runs the command of a note and counts the file that it names; gives the text of that file."""
    note = next(each for each in err.splitlines() if " # and name " in each)
    command, _, named = note.partition("; ")[2].rpartition(" # and name ")
    subprocess.run(command, shell=True, check=True)
    name = named.removesuffix(", with --force")
    target = shlex.split(command.rpartition(" > ")[2] if name == "it" else name)[0]
    assert len(notes_of(slmtok, target).splitlines()) == 1
    return Path(target).read_text()


@pytest.mark.parametrize("text", [STORY, FINNISH, RUSSIAN, CHINESE, JAPANESE, HINDI, "“Yes”, he said. " * 9])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_named_in_every_script(slmtok, text: str, encoding: str) -> None:
    Path("a.txt").write_bytes((text * 20).encode(encoding))
    ran = slmtok("count", "a.txt", "-o", "a.counts")
    assert f"error: 'a.txt' is text in {encoding.upper()}, not UTF-8" in ran.err
    assert f"fix:   --encoding {encoding}, or" in ran.err
    assert len(notes_of(slmtok, "a.txt", "--encoding", encoding).splitlines()) == 1


@pytest.mark.parametrize(
    "data",
    [
        bytes(range(256)) * 2,
        b"".join(number.to_bytes(2, "little") for number in range(1, 200)),
        b"".join((number * 7919 % 50257).to_bytes(2, "little") for number in range(256)),
        STORY.encode() + b"\0" * 20,
        b"a\0b c\0dd\0",
        b"\1\0\0\0",
    ],
)
def test_zero_bytes_in_other_data_are_no_utf_16(data: bytes) -> None:
    content = content_of(data)
    assert content is not None
    assert content.name == "binary data (it has zero bytes)"


@pytest.mark.parametrize("mark", ["<|endoftext|>", "<|end_of_text|>", "</s>"])
def test_marks_between_documents_are_named(slmtok, mark: str) -> None:
    Path("a.txt").write_text(f"{STORY}{mark}\n" * 20)
    said = f"note: a.txt has {mark} 20 times near its beginning, read as text; run it again with --separator "
    note = next(each for each in notes_of(slmtok, "a.txt").splitlines() if each.startswith(said))
    words = shlex.split(note.removeprefix(said).partition(" --force")[0])
    assert words == [mark]
    assert notes_of(slmtok, "a.txt", "--separator", *words).count("note:") == 1
    wrong = notes_of(slmtok, "a.txt", "--separator", "<|end|>")
    assert f"each file is one document; '{mark}' occurs: run it again with --separator {shlex.quote(mark)}" in wrong


def test_a_call_of_python_warns_of_marks_between_documents(slmtok) -> None:
    Path("a.txt").write_text(f"{STORY}<|endoftext|>\n" * 20)
    said = r"^a.txt has <\|endoftext\|> 20 times near its beginning, read as text; separator='<\|endoftext\|>' for"
    with pytest.warns(UserWarning, match=said):
        package.count("a.txt")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert package.count("a.txt", separator="<|endoftext|>").totals.documents == 21
        package.count(f"{STORY}<|endoftext|>\n" for _ in range(9))


def test_a_mark_that_a_text_mentions_is_text(slmtok) -> None:
    Path("a.txt").write_text(f'{STORY}The mark is "<|endoftext|>", or `<|endoftext|>`, and <|endoftext|> ends it.\n')
    assert notes_of(slmtok, "a.txt").count("note:") == 1


def test_encoding_specials_of_the_text_needs_no_separator(slmtok) -> None:
    Path("a.txt").write_text(f"{STORY}</s>\n" * 20)
    assert slmtok("train", "a.txt", "--vocab", "280", "--separator", "</s>", "-o", "tok.json").code == 0
    words = ("encode", "a.txt", "-t", "tok.json", "-o", "a.ids", "--force")
    assert "note: a.txt has </s> 20 times" in slmtok(*words).err
    assert slmtok(*words, "--allow-special", "eos").err == ""


XML = '<?xml version="1.0" encoding="UTF-8"?>\n<TEI><p>Bread &amp; tea</p> <p>äiti</p></TEI>\n'
HTML = "<!DOCTYPE html><html><head><style>p{}</style></head><body><p>Bread &lt; tea</p><script>x</script></body></html>"
WIKI = '<doc id="1" url="https://en.wikipedia.org/wiki?curid=1" title="Tea">\nTea\n\nBread & tea\n</doc>\n'


@pytest.mark.parametrize(
    ("name", "text", "said", "left"),
    [
        ("it's.xml", XML, "is XML", "Bread & tea äiti"),
        ("a.html", HTML, "is HTML", "Bread < tea"),
        ("wiki_00", WIKI, "is output of WikiExtractor", "Tea\n\nBread & tea\n"),
    ],
)
def test_markup_is_named_with_the_command_for_its_text(slmtok, name: str, text: str, said: str, left: str) -> None:
    Path(name).write_text(text)
    err = notes_of(slmtok, name)
    assert f"note: {name} {said}, and its tags were read as text; " in err
    assert pasted(slmtok, err).split() == left.split()


@pytest.mark.parametrize(("name", "misread"), [("latin1", FINNISH * 9), ("cp1252", f"{FINNISH}“it’s dark\n" * 9)])
def test_text_that_was_encoded_twice_is_named(slmtok, name: str, misread: str) -> None:
    Path("a.txt").write_text(misread.encode().decode(name))
    err = notes_of(slmtok, "a.txt")
    assert f"note: a.txt is UTF-8 that was misread as {name} and saved again; iconv -f UTF-8 -t {name.upper()}" in err
    assert pasted(slmtok, err) == misread


@pytest.mark.parametrize("text", [FINNISH, RUSSIAN, "naïve café, Ã© is a misread é\n", "100 £ §1 ©\n"])
def test_text_in_utf_8_is_not_taken_for_misread(slmtok, text: str) -> None:
    Path("a.txt").write_text(text * 9)
    assert notes_of(slmtok, "a.txt").count("note:") == 1


def test_white_space_alone_is_noted_before_it_is_read(slmtok) -> None:
    Path("a.txt").write_text(STORY * 9)
    Path("white.txt").write_text(" \n \t \n ")
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json").code == 0
    note = "note: the text is white space alone, 7 bytes: is it the right file?\n"
    for words in (
        ("count", "white.txt", "-o", "a.counts"),
        ("pack", "white.txt", "-t", "tok.json", "-o", "data"),
        ("encode", "white.txt", "-t", "tok.json", "-o", "ids.txt"),
    ):
        assert slmtok(*words).err.count(note) == 1, words
    assert note not in slmtok("encode", "a.txt", "-t", "tok.json", "-o", "a.ids").err


@pytest.mark.parametrize("command", ["encode a.txt -t tok.json -o a.ids", "eval tok.json --on a.txt"])
def test_a_separator_that_cuts_nothing_is_noted_by_each_command(slmtok, command: str) -> None:
    Path("a.txt").write_text(STORY * 9)
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json").code == 0
    words = [*shlex.split(command), "--separator"]
    assert "note: --separator @@@ occurs nowhere: each file is one document\n" in slmtok(*words, "@@@").err
    assert "note:" not in slmtok(*words, "old", *["--force"] * ("-o" in words)).err
