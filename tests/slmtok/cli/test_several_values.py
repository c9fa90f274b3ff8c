"""Values that stand behind the first one of an option: the fix, pasted as it is printed, gives each to the option."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import slmtok as package

ROW = "the cat sat on the mat, and the dog sat by the door.\n"


@pytest.fixture
def here(slmtok, tmp_path: Path) -> Path:
    """A folder with a corpus of two languages, `src`, and three texts that the glob `*.md` matches."""
    for name in ("src/a.txt", "src/n1.md", "README.md", "n1.md", "n2.md", "ml/en/a.txt", "ml/de/b.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}: {ROW}" * 20)
    return tmp_path


def pasted(slmtok, line: str) -> str:
    """The fix of a command line, which was run."""
    ran = slmtok(*shlex.split(line))
    assert ran.code == 2, ran
    fix = ran.err.rpartition("  fix:   ")[2].strip()
    ran = slmtok(*shlex.split(fix)[1:])
    assert ran.code == 0, ran
    return fix


@pytest.mark.parametrize("corpus", ["src", "."])
@pytest.mark.parametrize("place", ["{} --exclude {}", "--exclude {1} {0}"])
def test_a_glob_that_the_shell_replaced(slmtok, here, corpus: str, place: str) -> None:
    expanded = place.format(corpus, "README.md n1.md n2.md")
    fix = pasted(slmtok, f"count {expanded} -o x.counts")
    assert fix == f"slmtok count {place.format(corpus, shlex.quote('*.md'))} -o x.counts"
    assert package.PretokenCounts.load("x.counts").documents == (1 if corpus == "src" else 3)


def test_a_glob_with_a_beginning_that_the_shell_replaced(slmtok, here) -> None:
    assert pasted(slmtok, "count src --exclude n1.md n2.md -o x.counts").count("'n*.md'") == 1


def test_a_tokenizer_is_measured_without_the_matches(slmtok, here) -> None:
    package.train("src", vocab_size=280).save("tok.json")
    fix = pasted(slmtok, "eval tok.json --on src --exclude README.md n1.md n2.md")
    assert fix == "slmtok eval tok.json --on src --exclude '*.md'"


def test_names_to_leave_out(slmtok, here) -> None:
    fix = pasted(slmtok, "count . --exclude src ml n1.md -o x.counts")
    assert fix == "slmtok count . --exclude src --exclude ml --exclude n1.md -o x.counts"
    fix = pasted(slmtok, "count src --exclude n1.md *.log -o y.counts")
    assert fix == "slmtok count src --exclude n1.md --exclude '*.log' -o y.counts"


def test_a_corpus_behind_a_name_to_leave_out(slmtok, here) -> None:
    assert slmtok("count", "--exclude", "n1.md", "src", "-o", "x.counts").code == 0
    assert slmtok("count", "src", "--exclude", "n1.md", "README.md", "-o", "y.counts").code == 0
    assert package.PretokenCounts.load("y.counts").documents == 2
    ran = slmtok("count", "src", "--exclude", "n1.md", "READNE.md", "-o", "z.counts")
    assert ran.code == 1 and "no file or folder 'READNE.md'" in ran.err


def test_pairs_behind_the_first_one(slmtok, here) -> None:
    line = "train ml --domain en=ml/en/* de=ml/de/* --mix en=70 de=30 --vocab 280 -o x.json"
    fix = pasted(slmtok, line)
    domains = "--domain 'en=ml/en/*' --domain 'de=ml/de/*'"
    assert fix == f"slmtok train ml {domains} --mix en=70 --mix de=30 --vocab 280 -o x.json"
    line = "train src --special=user=U bot=B --vocab 280 -o y.json"
    assert pasted(slmtok, line) == "slmtok train src --special user=U --special bot=B --vocab 280 -o y.json"


@pytest.mark.parametrize(
    ("globs", "pairs"),
    [
        (["ml/en/*", "ml/de/*"], ["en=ml/en/*", "de=ml/de/*"]),
        (["ml/en/*"], ["en=ml/en/*"]),
        (["ml/en/", "ml/de/"], ["en=ml/en/**", "de=ml/de/**"]),
        (["src/*.md", "src/*.txt"], ["md=src/*.md", "txt=src/*.txt"]),
        (["en/a/*.txt", "de/a/*.txt"], ["en=en/a/*.txt", "de=de/a/*.txt"]),
    ],
)
def test_globs_get_names_of_their_own(slmtok, here, globs: list[str], pairs: list[str]) -> None:
    words = [word for glob in globs for word in ("--domain", glob)]
    ran = slmtok("count", "ml", "src", *words, "-o", "x.counts")
    fix = ran.err.rpartition("  fix:   ")[2].strip()
    assert shlex.split(fix) == [word for pair in pairs for word in ("--domain", pair)]


@pytest.mark.parametrize(("name", "meant"), [("en", "en=en/*"), ("txt", "txt=*.txt"), (".txt", "txt=*.txt")])
def test_a_domain_may_be_a_folder_or_a_suffix_of_the_corpus(slmtok, here, name: str, meant: str) -> None:
    ran = slmtok("count", "ml", "--domain", name, "-o", "x.counts")
    assert ran.code == 2 and ran.err.endswith(f"  fix:   --domain '{meant}'\n")
    ran = slmtok("count", "ml", "--domain", meant, "-o", "x.counts")
    assert ran.code == 0 and "no document" not in ran.err
    ran = slmtok("count", "ml", "--domain", "nowhere", "-o", "y.counts")
    assert ran.err.endswith("  fix:   --domain nowhere=GLOB\n")


def test_a_domain_without_files_names_the_folder_of_its_name(slmtok, here) -> None:
    package.train("src", vocab_size=280).save("tok.json")
    for command in (["count", "-o", "x.counts"], ["pack", "-t", "tok.json", "-o", "data"]):
        ran = slmtok(command[0], "ml", *command[1:], "--domain", "en=english/*", "--domain", "de=de/*")
        again = "run it again with --domain 'en=en/*' --force for the files below it"
        told = f"note: domain 'en' has no document: --domain 'en=english/*' matches no file of the corpus; {again}\n"
        assert ran.err.count(told) == ran.err.count("no file") == 1


@pytest.mark.parametrize(("glob", "meant"), [("en=en", "'en=en/*' --force for the files below it"),
                                             ("t=.txt", "'t=*.txt' --force for the files of that suffix")])  # fmt: skip
def test_a_domain_without_files_is_noted_once(slmtok, here, glob: str, meant: str) -> None:
    package.train("src", vocab_size=280).save("tok.json")
    for command in (["count", "-o", "x.counts"], ["train", "--vocab", "280", "-o", "y.json"],
                    ["pack", "-t", "tok.json", "-o", "data"]):  # fmt: skip
        ran = slmtok(command[0], "ml", *command[1:], "--domain", glob)
        assert ran.err.count("matches no file") == 1 and f"corpus; run it again with --domain {meant}\n" in ran.err


def test_a_domain_whose_files_belong_to_another_is_not_said_to_match_none(slmtok, here) -> None:
    ran = slmtok("count", "ml", "--domain", "a=en/**", "--domain", "b=en/**", "-o", "x.counts")
    assert "note: domain 'b' has no document: its files (first: ml/en/" in ran.err
    assert " belong to a domain that is named before it; name it first\n" in ran.err
