"""Options and outputs that are taken for others: what the remedy keeps, and that it works as it is printed."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from printed_fixes import fix_of

SENTENCE = "the evening river went through the old town and the children sang"


@pytest.fixture
def here(slmtok) -> Path:
    """A text, its records, its tokenizer and packed data in the working folder."""
    Path("a.txt").write_text(f"{SENTENCE} " * 40)
    Path("docs.jsonl").write_text("".join(f"{json.dumps({'text': f'{SENTENCE} {at}'})}\n" for at in range(40)))
    assert slmtok("train", "a.txt", "--vocab", "290", "-o", "tok.json", "-q").code == 0
    assert slmtok("pack", "docs.jsonl", "-t", "tok.json", "-o", "data", "--val", "none", "-q").code == 0
    assert slmtok("count", "a.txt", "-o", "a.counts", "-q").code == 0
    return Path()


@pytest.mark.parametrize(
    "line",
    [
        "exposure data --below 100 -o tok.json",
        "encode a.txt -t tok.json -o other.json",
    ],
)
def test_an_output_of_another_kind_is_kept(slmtok, here: Path, line: str) -> None:
    Path("other.json").write_bytes(Path("tok.json").read_bytes())
    ran = slmtok(*shlex.split(line))
    assert ran.code in (1, 2) and ran.err.endswith("  fix:   name another --output\n"), ran


@pytest.mark.parametrize(
    ("line", "output"),
    [
        ("audit tok.json --on a.txt", "-o audit.md"),
        ("exposure data", "-o rare.csv"),
        ("train a.txt --vocab 280", "-o docs.jsonl"),
        ("slice tok.json --vocab 280", "-o small.txt"),
        ("count a.txt", "-o counts.csv"),
        ("count a.txt", "-o docs.jsonl"),
        ("count a.txt", "-o tok.json"),
        ("merge a.counts", "-o all.json"),
        ("vocab tok.json --metadata", "-o vocab.txt"),
        ("vocab tok.json", "-o vocab.png"),
        ("decode data", "-o corpus.npy"),
        ("sample-corpus --bytes 5000", "-o stories.pdf"),
        ("sample-corpus --bytes 5000", "-o stories.jsonl"),
        ("view tok.json", "-o page.md"),
    ],
)
def test_an_output_under_the_name_of_another_kind_of_file(slmtok, here: Path, line: str, output: str) -> None:
    ran = slmtok(*shlex.split(line), *output.split())
    assert ran.code == 2 and f"error: -o '{output[3:]}' would hold " in ran.err
    assert slmtok(*shlex.split(line), *fix_of(ran).split()).code == 0
    assert slmtok(*shlex.split(line), "-o", "new.of-no-kind").code in (0, 2 * (line == "view tok.json"))


def test_counts_beside_a_tokenizer_under_the_name_of_another_kind(slmtok, here: Path) -> None:
    line = "train a.txt --vocab 280 -o new.json --save-counts"
    ran = slmtok(*line.split(), "new.csv")
    assert ran.code == 2 and "error: --save-counts 'new.csv' would hold counts, which are binary, not .csv\n" in ran.err
    assert slmtok(*line.removesuffix(" --save-counts").split(), *fix_of(ran).split()).code == 0


def test_a_folder_under_the_name_of_a_table(slmtok, here: Path) -> None:
    ran = slmtok("pack", "a.txt", "-t", "tok.json", "-o", "packed.csv")
    assert ran.code == 2 and "error: -o 'packed.csv' is the name of a file" in ran.err and fix_of(ran) == "-o packed"


@pytest.mark.parametrize("line", ["train a.txt --vocab 280 -o x.json", "slice tok.json --vocab 280 -o x.json"])
def test_an_output_of_the_same_kind_may_be_replaced(slmtok, here: Path, line: str) -> None:
    Path("x.json").write_bytes(Path("tok.json").read_bytes())
    assert "fix:   --force to replace it, or name another --output\n" in slmtok(*shlex.split(line)).err
    assert slmtok(*shlex.split(line), "--force").code == 0


def test_a_tokenizer_is_extended_and_another_name_is_the_output(slmtok, here: Path) -> None:
    ran = slmtok("train", "-t", "tok.json", "a.txt", "--vocab", "300")
    line = "slmtok extend tok.json a.txt --vocab 300 -o tok-2.json"
    assert f"fix:   use {line}, which adds tokens; train makes a new tokenizer\n" in ran.err
    assert slmtok(*line.split()[1:]).code == 0
    ran = slmtok("train", "-t", "new.json", "a.txt", "--vocab", "300")
    assert ran.code == 2 and "fix:   use -o new.json\n" in ran.err


def test_a_limit_of_the_audit_is_not_another_text(slmtok, here: Path) -> None:
    ran = slmtok("audit", "data", "--on", "docs.jsonl", "--max-docs", "10")
    assert ran.code == 3 and "not the one that was packed" not in ran.err
    assert "note: --max-docs 10 cut this text to 670 bytes, and the data hold " in ran.err
    assert ran.err.endswith(": leave --max-docs 10 out\n")
    assert slmtok("audit", "data", "--on", "docs.jsonl", "-q").code == 0


def test_megabytes_of_stories_are_named(slmtok) -> None:
    ran = slmtok("sample-corpus", "--bytes", "20", "-o", "x.txt")
    assert ran.code == 2 and "fix:   --bytes 20MB, or --bytes 5000\n" in ran.err and not Path("x.txt").exists()


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("view tok.json page.html", "view tok.json -o page.html"),
        ("view tok.json 'some text' page.html", "view tok.json 'some text' -o page.html"),
        ("view tok.json page.html 'some text'", "view tok.json 'some text' -o page.html"),
        ("import hf/tokenizer.json own.json", "import hf/tokenizer.json -o own.json"),
        ("import hf/tokenizer.json tok.json", "import hf/tokenizer.json -o tok-2.json"),
        ("train a.txt tok.json --vocab 280", "train a.txt --vocab 280 -o tok-2.json"),
        ("train a.txt tok.json --vocab 295", "extend tok.json a.txt --vocab 295 -o tok-2.json"),
        ("count a.txt a.counts", "count a.txt -o a-2.counts"),
        ("slice tok.json small.json --vocab 280", "slice tok.json --vocab 280 -o small-2.json"),
        ("prune tok.json small.json --unused-on a.txt", "prune tok.json --unused-on a.txt -o small-2.json"),
        ("extend tok.json a.txt small.json --vocab 295", "extend tok.json a.txt --vocab 295 -o small-2.json"),
        ("audit tok.json old.json --on a.txt", "audit tok.json --on a.txt -o old-2.json"),
    ],
)
def test_an_argument_with_the_suffix_of_the_output_is_the_output(slmtok, here: Path, line: str, fix: str) -> None:
    if "import" in line:
        assert slmtok("export", "tok.json", "--output-format", "hf", "-o", "hf", "--no-verify").code == 0
    if "small.json" in line:
        Path("small.json").write_bytes(Path("tok.json").read_bytes())
    if "old.json" in line:
        assert slmtok("audit", "tok.json", "--on", "a.txt", "-o", "old.json").code == 0
    before = {path: path.stat().st_mtime_ns for path in Path().rglob("*") if path.is_file()}
    ran = slmtok(*shlex.split(line))
    assert (ran.code, fix_of(ran)) == (2, f"slmtok {fix}")
    assert slmtok(*shlex.split(fix)).code == 0
    assert before == {path: path.stat().st_mtime_ns for path in before}


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("train a.counts a.txt --vocab 280 -o g.json", "train a.counts --vocab 280 -o g.json"),
        ("extend tok.json a.counts a.txt --vocab 295 -o g.json", "extend tok.json a.counts --vocab 295 -o g.json"),
    ],
)
def test_counts_beside_the_text_that_they_are_of(slmtok, here: Path, line: str, fix: str) -> None:
    ran = slmtok(*line.split())
    assert (ran.code, fix_of(ran)) == (2, f"slmtok {fix}")
    assert slmtok(*fix.split()).code == 0
    Path("g.json").unlink()
    Path("b.txt").write_text(SENTENCE)
    pair = fix.replace("a.counts", "a.counts more.counts")
    assert fix_of(slmtok(*line.replace("a.txt", "b.txt").split())) == (
        f"slmtok count b.txt -o more.counts && slmtok {pair}"
    )
    assert fix_of(slmtok(*line.replace("a.txt", "docs.jsonl").split())) == (
        f"slmtok {fix}, if the counts are of that text; else slmtok count docs.jsonl -o more.counts && slmtok {pair}"
    )
