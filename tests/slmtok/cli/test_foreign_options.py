"""Options and values of other tools in one place: the fix, pasted as it is printed, does what was evidently meant."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from printed_fixes import fix_of

import slmtok as package

TEXT = "the cat sat on the mat, and the dog sat by the door. " * 20


@pytest.fixture
def here(slmtok, tmp_path: Path) -> Path:
    """A folder with a text, two tokenizers and ids with specials; it is the working folder."""
    (tmp_path / "a.txt").write_text(TEXT)
    tok = package.train("a.txt", vocab_size=290)
    tok.save("tok.json")
    package.slice(tok, 280).save("small.json")
    (tmp_path / "ids.txt").write_text(f"1 {' '.join(map(str, tok.encode('the cat')))} 2\n")
    return tmp_path


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("--skip-special-tokens", "the cat"),
        ("--skip_special_tokens", "the cat"),
        ("--skip-special-tokens=true", "the cat"),
        ("--skip_special_tokens True", "the cat"),
        ("--skip-special-tokens=false", "<s>the cat</s>"),
        ("--skip_special_tokens False", "<s>the cat</s>"),
    ],
)
def test_a_flag_with_more_words_in_its_name(slmtok, here, options: str, text: str) -> None:
    fix = fix_of(slmtok("decode", "ids.txt", "-t", "tok.json", *options.split()))
    assert slmtok(*shlex.split(fix)[1:]).out.strip() == text


def test_the_argument_behind_such_a_flag_stays(slmtok, here) -> None:
    fix = fix_of(slmtok("decode", "--skip-special-tokens", "ids.txt", "-t", "tok.json"))
    assert fix == "slmtok decode --skip-special ids.txt -t tok.json"


@pytest.mark.parametrize("value", ["\n\n", r"\n\n", "###"])
def test_the_separator_of_texts(slmtok, here, value: str) -> None:
    Path("three.txt").write_text("one\n\ntwo\n\nthree###four")
    for option in ("--sep", "--delimiter"):
        fix = fix_of(slmtok("count", "three.txt", "-o", "x.counts", option, value))
        assert slmtok("count", "three.txt", "-o", "x.counts", *shlex.split(fix.removeprefix("use "))).code == 0
        assert package.PretokenCounts.load("x.counts").documents == (2 if value == "###" else 3)
        Path("x.counts").unlink()
    assert fix_of(slmtok("count", "three.txt", "--sep", r"\t")).startswith("leave it out: .csv has commas")


@pytest.mark.parametrize("option", ["--force-download", "--json-lines", "--quiet-mode=true"])
def test_a_flag_of_one_word_is_not_read_into_another_option(slmtok, here, option: str) -> None:
    fix = fix_of(slmtok("vocab", "tok.json", "-o", "vocab.txt", option))
    assert fix in ("slmtok vocab tok.json -o vocab.txt", "slmtok vocab --help")


def test_the_format_json_is_the_flag(slmtok, here) -> None:
    fix = fix_of(slmtok("vocab", "tok.json", "-o", "vocab.txt", "--format", "json"))
    assert fix == "slmtok vocab tok.json --json > vocab.txt"
    assert len(slmtok(*shlex.split(fix.partition(" > ")[0])[1:]).json["result"]["rows"]) == 290
    lines = ("vocab tok.json --output-format json", "info tok.json --format=json")
    for line in (*lines, "slice tok.json --vocab 280 -o small.json --format json"):
        assert fix_of(slmtok(*line.split())) == "use --json"


def test_ids_in_brackets(slmtok, here) -> None:
    begin = "printf '%s\\n' 285 286 > prune-ids.txt && slmtok prune tok.json --ids prune-ids.txt -o p.json"
    for words in (["[285,286]"], ["[285, 286]"], ["[285,", "286]"], ["285,286"]):
        assert fix_of(slmtok("prune", "tok.json", "--ids", *words, "-o", "p.json")) == begin
    Path("prune-ids.txt").write_text("285\n286\n")
    assert slmtok(*shlex.split(begin.partition(" && ")[2])[1:]).code == 0


def test_ids_as_floating_point_numbers(slmtok, here) -> None:
    tok = package.load("tok.json")
    np.save("floats.npy", np.asarray(tok.encode("the cat"), dtype=np.float64))
    words = shlex.split(fix_of(slmtok("decode", "floats.npy", "-t", "tok.json")))
    assert words[0] == "python"
    subprocess.run([sys.executable, *words[1:]], check=True)
    assert slmtok("decode", "ids-int64.npy", "-t", "tok.json").out.strip() == "the cat"
    np.save("losses.npy", np.array([0.5, 1.0]))
    assert fix_of(slmtok("decode", "losses.npy", "-t", "tok.json")).startswith("name a file that slmtok encode")


def test_the_size_of_an_example_suits_a_small_corpus(slmtok, here) -> None:
    fix = fix_of(slmtok("train", "a.txt", "-o", "new.json"))
    assert slmtok(*shlex.split(fix)[1:]).code == 0 and Path("new.json").exists()


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("encode a.txt -t tok.json -o x.npy --return-tensors pt", "use --output-format npy"),
        ("pack a.txt -t tok.json -o new --max-length 128", "leave it out: a run cuts the ids into sequences"),
    ],
)
def test_options_of_transformers(slmtok, here, line: str, fix: str) -> None:
    assert fix_of(slmtok(*line.split())).startswith(fix)


def test_two_tokenizers_are_compared_by_diff(slmtok, here) -> None:
    fix = fix_of(slmtok("compare", "tok.json", "small.json"))
    assert fix == "slmtok diff tok.json small.json"
    assert slmtok(*fix.split()[1:]).code == 0
    fix = fix_of(slmtok("compare", "tok.json", "small.json", "the cat sat"))
    assert fix == "slmtok show tok.json small.json 'the cat sat'"
    assert slmtok(*shlex.split(fix)[1:]).code == 0
    fix = fix_of(slmtok("diff", "tok.json", "small.json", "the cat sat"))
    assert fix == "printf %s 'the cat sat' | slmtok diff tok.json small.json --on -"
    Path("a.losses").write_text(json.dumps({}))
    assert fix_of(slmtok("compare", "a.losses", "b.losses")).startswith("slm compare a.losses b.losses")


def test_options_without_an_equivalent_beside_others(slmtok, here) -> None:
    line = "train a.txt --vocab-sz 280 --model_prefix x --shrink_rate 3 --bogus=7"
    ran = slmtok(*line.split())
    assert "slmtok train has nothing for --shrink_rate, --bogus\n" in ran.err
    assert fix_of(ran) == "slmtok train a.txt --vocab 280 -o x.json"
