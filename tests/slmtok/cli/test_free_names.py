"""A command that an error or a note prints writes and moves nothing to a name that a file has."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from printed_fixes import fix_of

from slmtok.edited_files import edited_fix
from slmtok.errors import CorruptShard
from slmtok.shards.format import refuse_link

STORY = "The evening river went through the old town, and the children sang.\n"
PAGE = "<html><body><p>The evening river</p></body></html>\n"


def test_a_table_with_another_separator_and_its_column(slmtok) -> None:
    Path("a.csv").write_text("id;Text\n1;one\n2;two\n")
    Path("a-comma.csv").write_text("kept")
    fix = fix_of(slmtok("count", "a.csv", "-o", "x.counts"))
    assert fix.endswith(" < a.csv > a-comma-2.csv # and name it, with --text-key Text")
    Path("b.csv").write_text("sep=;\nid;Text\n1;one\n2;two\n")
    Path("b-comma.csv").write_text("kept")
    assert " < b.csv > b-comma-2.csv # and name it" in fix_of(slmtok("count", "b.csv", "-o", "x.counts"))


def test_text_that_is_named_as_compressed_data(slmtok) -> None:
    Path("a.jsonl.gz").write_text('{"text": "one"}\n')
    Path("a.jsonl").write_text("kept")
    subprocess.run(fix_of(slmtok("count", "a.jsonl.gz", "-o", "x.counts")), shell=True, check=True)
    assert (Path("a.jsonl").read_text(), Path("a-2.jsonl").read_text()) == ("kept", '{"text": "one"}\n')


def test_the_files_of_a_folder(slmtok) -> None:
    Path("my pages").mkdir()
    for name in ("a", "b"):
        Path(f"my pages/{name}.html").write_text(PAGE)
    Path("my pages/c-text.txt").write_text("kept")
    Path("my pages/a-text-2.txt").write_text("kept")
    ran = slmtok("count", "my pages/a.html", "my pages/b.html", "-o", "x.counts")
    note = next(each for each in ran.err.splitlines() if "HTML" in each)
    command, _, named = note.partition("; ")[2].partition(" # and name ")
    assert "'my pages'/*-text-3.txt" in named
    subprocess.run(command, shell=True, check=True)
    made = sorted(path.name for path in Path("my pages").glob("*-text-3.txt"))
    assert made == ["a-text-3.txt", "b-text-3.txt"]
    assert {path.read_text() for path in Path("my pages").glob("*-text*.txt") if path.name not in made} == {"kept"}


@pytest.mark.parametrize(
    ("name", "address", "fix"),
    [
        ("a.txt", "https://host/a.txt?raw=1", "curl -fLo a-2.txt 'https://host/a.txt?raw=1' && slmtok train a-2.txt"),
        ("a.txt", "s3://host/a.txt", "aws s3 cp s3://host/a.txt a-2.txt && slmtok train a-2.txt"),
        ("b.txt", "gs://host/a.txt", "gcloud storage cp gs://host/a.txt a.txt && slmtok train a.txt"),
        (
            "c4",
            "s3://host/c4/*.gz",
            "aws s3 cp --recursive s3://host/c4/ c4-2 --exclude '*' --include '*.gz' && slmtok train c4-2",
        ),
        ("c4", "gs://host/c4/*.gz", "mkdir c4-2 && gcloud storage cp 'gs://host/c4/*.gz' c4-2 && slmtok train c4-2"),
        ("texts", "s3://host/texts/", "aws s3 cp --recursive s3://host/texts/ texts-2 && slmtok train texts-2"),
    ],
)
def test_a_file_that_is_fetched(slmtok, name: str, address: str, fix: str) -> None:
    Path(name).write_text("kept")
    assert fix_of(slmtok("train", address, "--vocab", "280", "-o", "x")) == f"{fix} --vocab 280 -o x"


def test_a_tokenizer_that_is_fetched(slmtok) -> None:
    fetch = "hf download Org/Model-1B tokenizer.json --local-dir"
    line = ("encode", "a.txt", "-t", "Org/Model-1B")
    Path("a.txt").write_text(STORY * 9)
    assert f"{fetch} . ; then name tokenizer.json, if" in fix_of(slmtok(*line))
    Path("tokenizer.json").write_text("kept")
    assert f"{fetch} model-1b ; then name model-1b/tokenizer.json, if" in fix_of(slmtok(*line))
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json").code == 0
    ran = slmtok("show", "tok.json", "Org/Model-1B")
    assert f"{fetch} model-1b && slmtok show tok.json model-1b/tokenizer.json" in ran.err


def test_a_link_out_of_packed_data_and_the_original_of_a_tokenizer(slmtok, tmp_path) -> None:
    Path("folder").mkdir()
    Path("other").write_text("data")
    link = Path("folder/a.bin")
    link.symlink_to(tmp_path / "other")
    Path("folder/a.bin.copy").write_text("kept")
    with pytest.raises(CorruptShard) as caught:
        refuse_link(link)
    subprocess.run(str(caught.value.fix).partition(": ")[2], shell=True, check=True)
    assert (Path("folder/a.bin.copy").read_text(), link.is_symlink()) == ("kept", False)
    Path("a.txt").write_text(STORY * 9)
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json").code == 0
    data = Path("tok.json").read_text().replace('"text":"<s>"', '"text":"<b>"').encode()
    Path("tok.json").write_bytes(data)
    Path("tok-original.json").write_text("kept")
    fix = edited_fix(data, "tok.json")
    assert fix is not None and " > tok-original-2.json && slmtok set-special tok-original-2.json " in fix


def test_stdout_that_is_the_input(slmtok, monkeypatch) -> None:
    from slmtok.cli import streams
    from slmtok.errors import OptionError

    monkeypatch.setattr(streams, "is_stdout", lambda path: True)
    Path("a.txt.new").write_text("kept")
    with pytest.raises(OptionError) as caught:
        streams.refuse_stdout("a.txt", "slmtok encode a.txt -t tok.json")
    assert caught.value.fix == "slmtok encode a.txt -t tok.json > a.txt-2.new"


def test_the_list_of_tokens(slmtok) -> None:
    Path("a.txt").write_text(STORY * 9)
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json").code == 0
    Path("list.txt").write_text("kept")
    assert fix_of(slmtok("vocab", "tok.json", "-o", "list.json")).endswith(" for the list as JSON; or -o list-2.txt")


def test_a_free_name_leaves_the_options_of_a_fix_as_they_are(slmtok) -> None:
    """The fix of an error is parts, of which an option is written as the command line has it."""
    from slmtok.cli import APP, checked_fix
    from slmtok.errors import OptionError, Setting

    Path("a.txt").write_text("kept")
    error = OptionError("x", fix=("sort b.txt > a.txt # and name a.txt, with ", Setting("text_key", "T"), ", or a.txt"))
    checked_fix.check_fix(error, APP.program, ["count"])
    assert error.parts["fix"] == (
        "sort b.txt > a-2.txt # and name a-2.txt, with ",
        Setting("text_key", "T"),
        ", or a-2.txt",
    )


def test_the_name_of_an_output_with_another_suffix(slmtok) -> None:
    Path("a.txt").write_text(STORY * 20)
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json").code == 0
    Path("a.npy").write_text("kept")
    fix = fix_of(slmtok("encode", "a.txt", "-t", "tok.json", "--output-format", "npy", "-o", "a.bin"))
    assert fix == "--output-format bin, or -o a-2.npy"
    assert fix_of(slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json.gz")) == "-o tok-2.json"
