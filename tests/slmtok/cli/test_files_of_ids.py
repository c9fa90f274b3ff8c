"""Ids that slmtok encode or pack wrote, in the place of a text or of a list of ids."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest

import slmtok as package
from slmtok.formats.id_files import _LINES_OF_LISTS

TEXT = "the cat sat on the mat, and the dog sat by the door. " * 20


@pytest.fixture
def here(slmtok, tmp_path: Path) -> Path:
    """A folder with a text, a tokenizer, and the ids of the text in two formats; it is the working folder."""
    (tmp_path / "a.txt").write_text(TEXT)
    tok = package.train("a.txt", vocab_size=290)
    tok.save("tok.json")
    assert slmtok("encode", "a.txt", "-t", "tok.json", "-o", "ids.txt").code == 0
    assert slmtok("encode", "a.txt", "-t", "tok.json", "--output-format", "npy", "-o", "ids.npy").code == 0
    return tmp_path


def test_an_array_of_ids_is_no_text(slmtok, here: Path) -> None:
    ran = slmtok("pack", "ids.npy", "-t", "tok.json", "-o", "data")
    assert (ran.code, Path("data").exists()) == (2, False)
    assert ran.err == (
        "error: 'ids.npy' is a numpy array, not text\n"
        "  limit: UTF-8 text, or records: text, lines, jsonl, json, tsv, csv, parquet\n"
        "  fix:   if it holds ids, name the text that was encoded, or make it: "
        "slmtok decode ids.npy -t tok.json -o ids-2.txt; "
        "if not, convert it to text, or --format text to read its bytes as they are\n"
    )
    line = ran.err.partition("make it: ")[2].partition(";")[0]
    assert slmtok(*shlex.split(line)[1:]).code == 0
    assert Path("ids-2.txt").read_text() == TEXT
    assert "decode ids.npy -t TOK -o ids-3.txt;" in slmtok("count", "ids.npy", "-o", "x").err
    np.save("x.npy", np.ones(3))
    err = slmtok("pack", "x.npy", "-t", "tok.json", "-o", "data").err
    assert "  fix:   convert it to text or .jsonl, or --format text" in err


@pytest.mark.parametrize("line", ["{}, {}, {}", "{},{},{}", "{};{};{}", "({}, {}, {})"])
def test_ids_with_other_marks_between(slmtok, here: Path, line: str) -> None:
    """A list of Python was the only one with a command."""
    import subprocess

    ids = package.load("tok.json").encode("the cat")[:3]
    ids = [*ids, 280, 281, 282][:3]
    Path("other.txt").write_text(line.format(*ids) + "\n")
    ran = slmtok("decode", "other.txt", "-t", "tok.json")
    assert ran.code == 1 and "error: the ids are written with " in ran.err
    assert ran.err.endswith("  fix:   tr -s '(),;' ' ' < other.txt > ids-2.txt\n")
    subprocess.run(["sh", "-c", ran.err.rpartition("fix:   ")[2]], check=True)
    assert Path("ids-2.txt").read_text().split() == [str(id) for id in ids]
    assert slmtok("decode", "ids-2.txt", "-t", "tok.json").code == 0


def test_digits_in_groups_may_be_one_id(slmtok, here: Path) -> None:
    Path("other.txt").write_text("1,340\n")
    err = slmtok("decode", "other.txt", "-t", "tok.json").err
    assert "'1,340' is not an id" in err and "tr -s" not in err


def test_an_encoded_text_is_no_list_of_ids_to_remove(slmtok, here: Path) -> None:
    ids = [*map(int, Path("ids.txt").read_text().split())]
    wrong = [id for id in dict.fromkeys(ids) if id < 272]
    assert len(wrong) > 1
    ran = slmtok("prune", "tok.json", "--ids", "ids.txt", "-o", "new.json")
    assert (ran.code, Path("new.json").exists()) == (2, False)
    assert f"error: {len(wrong)} ids cannot be pruned: {', '.join(map(str, wrong))}\n" in ran.err
    assert "  where: ids.txt, which lists ids more than once, as the file does that slmtok encode writes" in ran.err
    fix = ran.err.partition("fix:   ")[2]
    assert fix.endswith("for a list of ids to remove, leave them out: --ids removes what it lists\n")
    line = fix.partition(" removes ")[0]
    assert line == "slmtok prune tok.json -o new.json --unused-on TEXT"
    assert slmtok(*shlex.split(line.replace("TEXT", "a.txt"))[1:]).code == 0
    # No token of the text is removed.
    assert package.load("new.json").encode_list(TEXT) == ids


def test_ids_that_a_list_has_twice_are_removed_and_noted(slmtok, here: Path) -> None:
    for text, is_noted in (("289 288 289\n", True), ("289 288\n", False)):
        Path("list.txt").write_text(text)
        ran = slmtok("prune", "tok.json", "--ids", "list.txt", "-o", "new.json", "--force")
        assert ran.code == 0
        assert ("note: list.txt lists ids more than once, as the file does" in ran.err) == is_noted


def test_packed_data_name_the_text_that_was_packed(slmtok, here: Path) -> None:
    package.shards.pack("a.txt", package.load("tok.json"), "packed")
    for path in ("packed", "packed/train-00000.bin", "packed/manifest.json"):
        ran = slmtok("count", path, "-o", "new.counts")
        assert ran.code == 2 and ran.err.endswith("  fix:   name the text that was packed: a.txt\n"), ran.err
    Path("a.txt").unlink()
    assert slmtok("count", "packed", "-o", "new.counts").err.endswith("  fix:   name the text that was packed\n")


def test_a_file_of_odd_size_is_no_other_format(slmtok, here: Path) -> None:
    Path("cut.bin").write_bytes(bytes(range(1, 100)))
    ran = slmtok("decode", "cut.bin", "-t", "tok.json")
    assert ran.err.startswith("error: cut.bin is not an array of ids: its size is not a multiple of 2 bytes\n")
    assert ran.err.endswith("  fix:   check the path; if it is a copy, copy it again\n")


@pytest.mark.parametrize(
    ("line", "program"), [("[281, {}, 282]\n", _LINES_OF_LISTS), ("281,282;{}\n", "tr -s '(),;' ' '")]
)
def test_an_unknown_id_among_ids_with_other_marks_is_named_at_once(slmtok, here: Path, line: str, program: str) -> None:
    Path("other.json").write_text(line.format(70000))
    fix = slmtok("decode", "other.json", "-t", "tok.json").err.rpartition("  fix:   ")[2]
    assert fix == (
        f"{program} < other.json > ids-2.txt; besides, id 70000 is not in the vocabulary of 290 ids: "
        "decode with the tokenizer that made the ids\n"
    )
    Path("other.json").write_text(line.format(283))
    assert slmtok("decode", "other.json", "-t", "tok.json").err.endswith(" > ids-2.txt\n")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("[281, 282]\n", ["281 282"]),
        ("[\n  281,\n  282\n]\n", ["281 282"]),
        ("[[281], [282, 283]]", ["281", "282 283"]),
        ('["281"]\n[282]\n', ["281", "282"]),
    ],
)
def test_each_innermost_list_is_a_document(slmtok, here: Path, text: str, lines: list[str]) -> None:
    program = slmtok("decode", "-t", "tok.json", stdin=text.encode()).err.partition("pipe it through ")[2]
    made = subprocess.run(program, shell=True, check=True, input=text, capture_output=True, text=True).stdout
    assert made.splitlines() == lines


@pytest.mark.parametrize("output_format", ["bin", "npy"])
def test_ids_that_encode_wrote_are_described_by_their_text(slmtok, here: Path, output_format: str) -> None:
    ids = f"own.{output_format}"
    assert slmtok("encode", "a.txt", "-t", "tok.json", "--output-format", output_format, "-o", ids).code == 0
    line = f"slmtok decode {ids} -t tok.json"
    ran = slmtok("info", ids)
    assert ran.code == 1 and ran.err.startswith(
        f"error: {ids} is a file of ids, not a file that slmtok info describes\n"
    )
    assert ran.err.endswith(f"  fix:   {line}\n")
    ran = slmtok("verify", ids)
    assert ran.code == 1 and ran.out.endswith(f"  fix:   {line}\n")
    assert slmtok(*shlex.split(line)[1:]).out == TEXT
    package.load("tok.json").save("other.json")
    # The ids may be those of either.
    assert slmtok("info", ids).err.endswith(f"  fix:   slmtok decode {ids} -t TOK\n")


@pytest.mark.parametrize(
    ("name", "content", "fact"),
    [
        ("m.model", b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02", "m.model is a SentencePiece model, not ids"),
        ("cl.tiktoken", b"AA== 0\nAQ== 1\n", "cl.tiktoken is a rank file of tiktoken, not ids"),
        ("vocab.txt", b"[PAD]\n[UNK]\n", "vocab.txt is the vocabulary of a WordPiece tokenizer, not ids"),
    ],
)
@pytest.mark.parametrize("tokenizer", [[], ["-t", "tok.json"]])
def test_a_tokenizer_of_another_library_is_no_ids(slmtok, here, name, content, fact, tokenizer) -> None:
    Path(name).write_bytes(content)
    ran = slmtok("decode", name, *tokenizer)
    assert (ran.code, ran.err) == (
        2,
        f"error: {fact}\n  where: {name}\n  fix:   name a file of ids, or packed data\n",
    )


def test_a_tokenizer_json_is_no_ids(slmtok, here) -> None:
    assert slmtok("export", "tok.json", "--output-format", "hf", "-o", "hf").code == 0
    ran = slmtok("decode", "hf/tokenizer.json", "-t", "tok.json")
    assert (ran.code, "error: hf/tokenizer.json is a tokenizer.json of Hugging Face, not ids\n" in ran.err) == (2, True)


def test_lines_of_two_ids_are_no_ranks(slmtok, here) -> None:
    Path("two.txt").write_text("280 281\n")
    assert slmtok("decode", "two.txt", "-t", "tok.json").code == 0


@pytest.mark.parametrize("data", [b"\n\xc7\0\0\x01\x02", b"\xc7[ 1 \0\0\x02"])
def test_binary_data_is_named_by_its_first_bytes(slmtok, here, data: bytes) -> None:
    err = slmtok("decode", "-t", "tok.json", stdin=data).err
    assert "error: this is binary data (it has zero bytes), not lines of ids\n" in err
