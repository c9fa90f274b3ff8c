"""Words of other tools for commands: the fix, pasted as it is printed, is the command that does it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from printed_fixes import fix_of

import slmtok as package

TEXT = "the cat sat on the mat, and the dog sat by the door. " * 20


@pytest.fixture
def here(slmtok, tmp_path: Path) -> Path:
    """A folder with a text, and a tokenizer trained on it by the command; it is the working folder."""
    (tmp_path / "a.txt").write_text(TEXT)
    assert slmtok("train", "a.txt", "--vocab", "290", "-o", "tok.json").code == 0
    (tmp_path / "b.txt").write_text(TEXT.upper())
    assert slmtok("count", "b.txt", "-o", "old.counts").code == 0
    return tmp_path


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        "summary tok.json": "slmtok info tok.json",
        "stats": "slmtok info --help",
        "describe tok.json": "slmtok info tok.json",
        "check tok.json": "slmtok verify tok.json",
        "learn a.txt --vocab 280 -o b.json": "slmtok train a.txt --vocab 280 -o b.json",
        "preprocess a.txt -t tok.json -o data": "slmtok pack a.txt -t tok.json -o data",
        "count a.txt --append -o old.counts": "slmtok count a.txt -o new.counts && "
        "slmtok merge old.counts new.counts -o merged.counts",
        "show tok.json -t 'the cat'": "slmtok show tok.json 'the cat'",
        "view --tokenizer='the cat' tok.json": "slmtok view tok.json 'the cat'",
        "show tok.json 'the cat' --html": "slmtok view tok.json 'the cat' -o tokens.html",
        "eval tok.json --baseline tok.json --on a.txt": "slmtok eval tok.json tok.json --on a.txt",
        "view old.counts -o v.html": "slmtok view tok.json -o v.html",
        "encode a.txt -t tok.json --offsets --output-format npy -o x.npy": "slmtok encode a.txt -t tok.json --offsets "
        "-o x.txt",
        "prune tok.json --vocab 280 -o p.json": "slmtok prune tok.json -o p.json --keep 280 --unused-on a.txt",
        "prune tok.json --vocab-size=280 -o p.json": "slmtok prune tok.json -o p.json --keep 280 --unused-on a.txt",
    }.items(),
)
def test_a_word_of_another_tool(slmtok, here: Path, line: str, fix: str) -> None:
    assert fix_of(slmtok(*shlex.split(line)), 2) == fix
    for each in fix.split(" && "):
        ran = slmtok(*shlex.split(each)[1:])
        assert ran.code == 0, ran.err


def test_a_size_beside_what_to_remove_is_an_option(slmtok, here: Path) -> None:
    ran = slmtok("prune", "tok.json", "--unused-on", "a.txt", "--vocab", "280", "-o", "p.json")
    assert fix_of(ran, 2) == "use --keep 280"


@pytest.mark.parametrize(
    ("option", "fix"),
    {
        "--shard-size 4MB": "use --shard-tokens 2000000, which are 4MB of ids of two bytes each",
        "--max-shard-size 1kiB": "use --shard-tokens 512, which are 1kiB of ids of two bytes each",
        "--shard-size 5M": "use --shard-tokens 5M",
        "--shard-size all": "use --shard-tokens 5000, for instance",
        "--limit 4MB": "use --max-docs 5000, for instance; --max-bytes 4MB limits the text that is read",
        "--max-dosc 4MB": "use --max-docs 5000, for instance; --max-bytes 4MB limits the text that is read",
    }.items(),
)
def test_the_value_of_another_option_is_one_that_ours_takes(slmtok, here: Path, option: str, fix: str) -> None:
    """The fix had the value as it was, which the option of ours refused."""
    line = ["pack", "a.txt", "-t", "tok.json", "-o", "data"]
    assert fix_of(slmtok(*line, *option.split()), 2) == fix
    assert slmtok(*line, *fix.partition(",")[0].split()[1:]).code == 0


@pytest.mark.parametrize("word", ["dedup", "deduplicate"])
def test_duplicates_are_counted_and_not_removed(slmtok, here: Path, word: str) -> None:
    ran = slmtok(word, "a.txt", "-o", "clean.txt")
    assert f"unknown command {word!r}: slmtok removes no duplicates" in ran.err
    command, _, rest = fix_of(ran, 2).partition(", ")
    assert command == "slmtok count a.txt -o corpus.counts" and rest.startswith("which reports equal documents")
    ran = slmtok(*command.split()[1:])
    assert ran.code == 0 and b"duplicates" in ran.stdout


def test_names_of_transformers_have_their_remedy(slmtok) -> None:
    from slmtok.compat import transformers

    with pytest.raises(ImportError, match=r"has no 'AutoTokenizer'\n  fix:   slmtok.compat.as_hf\(slmtok.load"):
        from slmtok.compat.transformers import AutoTokenizer  # type: ignore[attr-defined]  # noqa: F401
    with pytest.raises(AttributeError, match=r"slmtok.compat.as_hf\(tok\) has its calls"):
        transformers.nothing  # noqa: B018
    assert package.compat.as_hf
