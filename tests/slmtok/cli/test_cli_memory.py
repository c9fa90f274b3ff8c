"""`slmtok train --memory`: what is said before merging and after, where spills go, what is refused."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from slmtok.training import PretokenCounts, memory


@pytest.fixture
def many_words(tmp_path: Path) -> Path:
    """A corpus whose distinct pieces do not fit the least limit."""
    source = random.Random(5)
    letters = str.maketrans("0123456789", "ghijklmnop")
    path = tmp_path / "words.txt"
    path.write_text(" ".join(f"{source.getrandbits(40):x}" for _ in range(350_000)).translate(letters))
    return path


def test_a_tight_limit_gives_the_same_file(slmtok, many_words, monkeypatch, tmp_path):
    monkeypatch.delenv("TMPDIR", raising=False)
    roomy = slmtok("train", many_words, "--vocab", 500, "-o", "roomy.json", "--json")
    tight = slmtok("train", many_words, "--vocab", 500, "--memory", "100MB", "-o", "tight.json", "--json")
    assert (roomy.code, tight.code) == (0, 0)
    assert Path("tight.json").read_bytes() == Path("roomy.json").read_bytes()
    left = ["roomy.json", "roomy.lock", "tight.json", "tight.lock", "words.txt"]
    assert sorted(path.name for path in tmp_path.iterdir()) == left
    found, other = tight.json["result"], roomy.json["result"]
    assert (found["memory_limit"], other["spills"]) == (100_000_000, 0)
    assert found["spills"] > 0 and found["spilled_bytes"] > 1_000_000
    assert found["merge_memory"] == other["merge_memory"] > 50_000_000
    assert f"merging {found['distinct']:,} distinct pretokens takes about " in tight.err
    assert tight.json["warnings"] == [] or "--memory limits counting only" in tight.json["warnings"][0]


def test_the_summary_tells_of_spills_and_needs(slmtok, many_words):
    ran = slmtok("train", many_words, "--vocab", 500, "--memory", "100MB")
    assert [line.split()[0] for line in ran.out.splitlines() if "expected" in line or "on disk" in line] == [
        "for",
        "spills",
    ]
    assert "peak memory " in ran.out
    quiet = slmtok("train", many_words, "--vocab", 500, "--memory", "100MB", "--quiet", "--force")
    assert (quiet.out, quiet.err) == ("", "")


def test_a_need_beyond_the_limit_is_a_warning(slmtok, tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("some words " * 50)
    monkeypatch.setattr(PretokenCounts, "merge_memory", 123_456_789_000)
    monkeypatch.setattr(memory, "free_memory", lambda: 200_000_000_000)
    ran = slmtok("train", "a.txt", "--vocab", 273, "--memory", "1GB", "--json")
    assert ran.err.startswith(
        "merging 4 distinct pretokens takes about 123.5 GB, more than counting was allowed (1.0 GB)\n"
    )
    assert ran.json["warnings"] == [
        "learning merges needs about 123.5 GB, more than counting was allowed (1.0 GB): --memory limits counting only"
    ]


def test_a_need_beyond_the_machine_ends_it_before_merging(slmtok, tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("some words " * 50)
    monkeypatch.setattr(memory, "free_memory", lambda: 100)
    ran = slmtok("train", "a.txt", "--vocab", 273, "--memory", "1GB")
    assert ran.code == 1
    assert "error: learning merges of 4 distinct pieces takes about 507 bytes of memory" in ran.err
    assert "--max-bytes" in ran.err
    assert not Path("tok.json").exists()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("much", "error: --memory takes a size such as 2GB, or a share of the memory up to 100%, not 'much'"),
        ("10MB", "error: --memory 10MB is too small to count in"),
        (str(2**64), "error: --memory 18446744073709551616 is out of range"),
        ("200%", "error: --memory takes a size such as 2GB, or a share of the memory up to 100%"),
    ],
)
def test_what_is_no_limit_is_wrong_usage(slmtok, tmp_path, value, said):
    (tmp_path / "a.txt").write_text("text")
    ran = slmtok("train", "a.txt", "--vocab", 300, "--memory", value)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_spills_go_where_tmpdir_says(slmtok, many_words, monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    ran = slmtok("train", many_words, "--vocab", 500, "--memory", "100MB")
    assert ran.code == 1
    assert "cannot create a temporary file in" in ran.err and "missing" in ran.err
    assert not Path("tok.json").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="the system must refuse to let a file grow")
def test_a_full_disk_leaves_nothing(many_words, tmp_path):
    code = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
    code += "sys.dont_write_bytecode = True  # Python would keep what the limit cuts off\n"
    code += "from slmtok.cli import main; sys.exit(main(sys.argv[1:]))"
    arguments = ["train", str(many_words), "--vocab", "500", "--memory", "100MB", "-o", str(tmp_path / "tok.json")]
    command = [sys.executable, "-c", code, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env={})
    assert ran.returncode == 1
    assert ran.stderr.startswith("error: no space left for a temporary file of ")
    assert f'where: "{tmp_path}"; the temporary file was removed' in ran.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["words.txt"]


def test_one_limit_has_one_message_in_all_formats(slmtok, tmp_path):
    text = "one two three four " * 700_000
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": text}))
    (tmp_path / "a.csv").write_text(f"text\n{text}\n")
    lines = ("a document has more than 12,500,000 bytes", "limit: an eighth of --memory 100MB, for a document")
    for name, options in {"a.txt": ["--document", "line"], "a.jsonl": [], "a.csv": []}.items():
        ran = slmtok("count", name, *options, "--memory", "100MB", "-o", "out.counts")
        assert all(line in ran.err for line in lines) and "fix:   --memory 2GB or more" in ran.err, name
        ran = slmtok("count", name, *options, "--max-doc-bytes", "1MB", "-o", "out.counts")
        assert "more than 1,000,000 bytes" in ran.err and "limit: --max-doc-bytes 1000000\n" in ran.err, name
        assert "or raise --max-doc-bytes" in ran.err, name


def test_text_that_no_place_divides_names_the_memory(slmtok, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"a" * 40_000_000)
    ran = slmtok("count", "a.txt", "--memory", "100MB", "-o", "out.counts")
    assert "bytes between two places where it can be divided" in ran.err
    assert "limit: a quarter of the share of --memory 100MB that a thread has" in ran.err
    assert "fix:   --memory 2GB or more, or divide it, with --separator for instance" in ran.err
    assert slmtok("count", "a.txt", "--memory", "2GB", "-o", "out.counts").code == 0


def test_a_document_too_large_for_the_memory_names_the_memory(slmtok, tmp_path):
    (tmp_path / "long.txt").write_text("one two three four\n" * 700_000)
    count = ("count", "long.txt", "--max-bytes", "5MB", "-o", "long.counts")
    ran = slmtok(*count, "--memory", "100MB")
    assert ran.code == 1
    assert "limit: an eighth of --memory 100MB, for a document that is held as a whole" in ran.err
    assert "fix:   --memory 2GB or more, or divide it, with --separator for instance" in ran.err
    assert slmtok(*count, "--memory", "2GB").code == 0
    assert slmtok(*count, "--memory", "100MB", "--separator", "\n", "--force").code == 0
