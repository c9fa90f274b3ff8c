"""Files that go between slmtok and other libraries: one of several alone, one of another tool, a list as it is."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

import slmtok as package
from slmtok.errors import OptionError

TEXT = "the cat is walking and singing in the morning. " * 20


@pytest.fixture
def here(slmtok, tmp_path: Path) -> Path:
    """A folder with a text, a tokenizer, and the rank file of its export alone in `x`; it is the working folder."""
    (tmp_path / "a.txt").write_text(TEXT)
    package.train("a.txt", vocab_size=295).save("tok.json")
    assert slmtok("export", "tok.json", "--output-format", "tiktoken", "-o", "tt", "--no-verify", "-q").code == 0
    (tmp_path / "x").mkdir()
    shutil.copy("tt/tt.tiktoken", "x")
    return tmp_path


def test_the_rank_file_of_an_export_alone(slmtok, here) -> None:
    ran = slmtok("import", "x/tt.tiktoken", "-o", "t.json", "--no-verify")
    assert (ran.code, ran.err) == (
        1,
        "error: 'x/tt.tiktoken' is the rank file of an export of slmtok, and its side file 'x/tt.json' is missing\n"
        "  limit: its pattern and its special tokens are in its side file\n"
        "  fix:   copy the side file of the same export to x/tt.json\n",
    )
    shutil.copy("tt/tt.json", "x")
    assert slmtok("import", "x/tt.tiktoken", "-o", "t.json", "--no-verify").code == 0
    assert package.load("t.json").fingerprint == package.load("tok.json").fingerprint


def test_in_python_the_call_that_reads_both_files(here) -> None:
    with pytest.raises(OptionError) as caught:
        package.from_tiktoken("tt/tt.tiktoken")
    imports, call = str(caught.value.fix).split("; ")
    names: dict[str, object] = {}
    exec(imports, names)
    assert eval(call, names).fingerprint == package.load("tok.json").fingerprint


def test_a_pattern_that_the_file_does_not_record_is_noted(slmtok, here) -> None:
    ran = slmtok("import", "x/tt.tiktoken", "--pattern", "gpt2", "-o", "t.json", "--no-verify")
    given = "the pattern is the one that was given: x/tt.tiktoken records none, and no comparison can prove it"
    without = "x/tt.tiktoken is the rank file of an export of slmtok: the special tokens are in x/tt.json, not here"
    assert ran.code == 0
    assert json.loads(Path("t.receipt.json").read_text())["payload"]["notes"] == [given, without]
    assert given in ran.out
    # Ranks from 0 are those of another tool, which may have no side file.
    ranks = [line.split() for line in Path("x/tt.tiktoken").read_text().splitlines()]
    Path("theirs.tiktoken").write_text("".join(f"{token} {int(rank) - 16}\n" for token, rank in ranks))
    assert "--pattern cl100k" in slmtok("import", "theirs.tiktoken", "-o", "u.json", "--no-verify").err
    assert slmtok("import", "theirs.tiktoken", "--pattern", "gpt2", "-o", "u.json", "--no-verify").code == 0
    assert len(json.loads(Path("u.receipt.json").read_text())["payload"]["notes"]) == 1


def test_notes_are_no_claim_of_a_comparison(slmtok, here) -> None:
    ran = slmtok("export", "tok.json", "--output-format", "tiktoken", "-o", "out", "--no-verify")
    assert "NOT compared" in ran.out
    assert "was compared" not in ran.out


@pytest.mark.parametrize("name", ["mb.model", "mb.txt"])
def test_a_model_of_minbpe_is_known_by_its_content(slmtok, here, name) -> None:
    Path(name).write_text("minbpe v1\n\n0\n97 98\n")
    ran = slmtok("import", name, "-o", "t.json")
    assert ran.err.startswith(f"error: {name} cannot be imported: it is a model of minbpe\n")
    assert "reads byte-level BPE alone" not in ran.err
    assert "SentencePiece" not in slmtok("info", name).err


def test_text_with_the_suffix_of_a_model_is_none_of_sentencepiece(slmtok, here) -> None:
    Path("a.model").write_text(TEXT)
    assert slmtok("import", "a.model", "-o", "t.json").err.startswith("error: a.model cannot be imported: unknown")


@pytest.mark.parametrize("command", ["train a.txt", "extend tok.json a.txt"])
def test_the_list_of_slmtok_vocab_is_not_yet_a_list_of_tokens(slmtok, here, command) -> None:
    package.train("a.txt", vocab_size=280).save("small.json")
    assert slmtok("vocab", "small.json", "-o", "small.vocab").code == 0
    line = [*command.split(), "--vocab", "298", "-o", "t.json", "--require"]
    ran = slmtok(*line, "small.vocab")
    assert ran.err == (
        "error: 'small.vocab' is a list of slmtok vocab, with ids, numbers of bytes and parts beside the tokens\n"
        "  where: --require\n"
        "  limit: one token a line and nothing else\n"
        "  fix:   awk '$2 > 1 {print $3}' small.vocab > require.txt # and --require require.txt\n"
    )
    listed, _, option = ran.err.splitlines()[-1].removeprefix("  fix:   ").partition(" # and ")
    subprocess.run(listed, shell=True, check=True)
    assert slmtok(*line[:-1], *shlex.split(option)).code == 0
    # Two numbers in a token are no columns.
    Path("own.txt").write_text("1 2 the\n")
    assert "is a list of slmtok vocab" not in slmtok(*line, "own.txt").err


def test_a_rank_file_alone_leads_to_its_side_file(slmtok, here) -> None:
    err = slmtok("encode", "a.txt", "-t", "x/tt.tiktoken", "-o", "y").err
    line = "slmtok import {} -o tok-2.json"
    fix = f"copy the side file of the same export to x/tt.json, then {line.format('x/tt.tiktoken')}"
    assert err.endswith(f"  fix:   {fix}\n")
    err = slmtok("encode", "a.txt", "-t", "tt/tt.tiktoken", "-o", "y").err
    assert err.endswith(f"  fix:   {line.format('tt/tt.tiktoken')}\n")


def test_sound_files_of_other_kinds_are_not_invalid(slmtok, here) -> None:
    Path("empty.json").touch()
    assert slmtok("pack", "a.txt", "-t", "tok.json", "-o", "data").code == 0
    shard = next(path for path in Path("data").iterdir() if path.suffix == ".bin")
    ran = slmtok("verify", "x/tt.tiktoken", str(shard), "data/manifest.json", "data")
    starts = [line.split(": ")[:2] for line in ran.out.splitlines() if not line.startswith(" ")]
    assert starts[:3] == [[name, "NOT CHECKED"] for name in ("x/tt.tiktoken", str(shard), "data/manifest.json")]
    assert starts[3][1].startswith("valid") and ran.code == 1
    # Of another kind within what is checked, a file is a fault.
    shutil.copy("tok.lock" if Path("tok.lock").exists() else "tt/tt.tiktoken", shard)
    ran = slmtok("verify", "data")
    assert (ran.code, ran.out.startswith("data: INVALID: ")) == (3, True)
    assert slmtok("verify", "empty.json").out.startswith("empty.json: INVALID: ")


def test_the_list_beside_a_sentencepiece_model(slmtok, here) -> None:
    Path("spm.vocab").write_text("<unk>\t0\n<s>\t0\n▁the\t-1.5\n")
    err = slmtok("vocab", "spm.vocab").err
    assert err.startswith("error: spm.vocab is the vocabulary of a SentencePiece model, not a tokenizer file of ")
    assert "beside it" not in err


@pytest.mark.parametrize("command", ["show", "view"])
def test_a_misspelt_tokenizer_before_a_text(slmtok, here, command) -> None:
    ran = slmtok(command, "tok.jsn", "Once upon a time")
    assert (
        ran.err == "error: no file 'tok.jsn'\n  where: the folder '.'\n  fix:   check the name: there is 'tok.json'\n"
    )
