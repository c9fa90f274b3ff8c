"""Options of the tools that select and clean texts: one message for all of them, with a line that runs."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

import slmtok as package

ROW = "the cat sat on the mat, and the dog sat by the door.\n"


@pytest.fixture
def here(slmtok, tmp_path: Path) -> Path:
    """A folder with texts of two kinds; it is the working folder."""
    for name in ("src/a.txt", "src/sub/b.txt", "src/c.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}: {ROW}" * 20)
    return tmp_path


def error_of(slmtok, *words: str) -> tuple[str, str]:
    """The fact and the fix of a refused command."""
    ran = slmtok(*words)
    assert ran.code == 2, ran
    return ran.err.partition("\n")[0], ran.err.rpartition("  fix:   ")[2].strip()


@pytest.mark.parametrize("option", ["--limit", "--max-samples", "--num-examples", "--max_documents"])
def test_a_number_of_documents(slmtok, here, option: str) -> None:
    for command in (["count", "src", "-o", "x.counts"], ["train", "src", "--vocab", "280", "-o", "x.json"]):
        assert error_of(slmtok, *command, option, "2")[1] == "use --max-docs 2"
    with pytest.raises(package.SlmtokError, match="max_docs=2"):
        package.count("src", **{option.lstrip("-").replace("-", "_"): 2})


def test_the_files_to_include(slmtok, here) -> None:
    _, fix = error_of(slmtok, "count", "src", "--include", "*.txt", "-o", "x.counts")
    assert fix == "slmtok count 'src/**/*.txt' -o x.counts"
    assert slmtok(*shlex.split(fix)[1:]).code == 0
    assert package.PretokenCounts.load("x.counts").documents == 2


@pytest.mark.parametrize("option", ["--dedup", "--deduplicate", "--drop_duplicates"])
def test_duplicates_are_kept(slmtok, here, option: str) -> None:
    for command in (["count", "src", "-o", "x.counts"], ["train", "src", "--vocab", "280", "-o", "x.json"]):
        assert error_of(slmtok, *command, option)[1].startswith("leave it out: slmtok keeps duplicates")


def test_the_order_and_the_case_of_a_text(slmtok, here) -> None:
    train = ["train", "src", "--vocab", "280", "-o", "x.json"]
    assert "the order of documents changes nothing" in error_of(slmtok, *train, "--shuffle")[1]
    assert "slmtok changes no text" in error_of(slmtok, "count", "src", "-o", "x.counts", "--lowercase")[1]


def test_a_flag_that_is_written_as_an_option_and_its_value(slmtok, here) -> None:
    for name, size in {"a.json": "280", "b.json": "284"}.items():
        assert slmtok("train", "src", "--vocab", size, "-o", name).code == 0
    _, fix = error_of(slmtok, "diff", "a.json", "b.json", "--expect", "same")
    assert fix == "slmtok diff a.json b.json --expect-same"
    assert slmtok(*shlex.split(fix)[1:]).code == 3


def test_the_map_of_ids_of_a_tokenizer_is_named_with_it(slmtok, here) -> None:
    assert slmtok("train", "src", "--vocab", "284", "-o", "tok.json").code == 0
    assert slmtok("slice", "tok.json", "--vocab", "280", "-o", "small.json").code == 0
    assert "fix:   name the tokenizer file beside it: small.json\n" in slmtok("verify", "small.json.ids.npy").out


def test_all_unknown_options_are_named_at_once(slmtok, here) -> None:
    train = ["train", "src", "--vocab", "280", "-o", "x.json"]
    fact, fix = error_of(slmtok, *train, "--deduplicate", "--shuffle", "--lowercase")
    assert fact == "error: unknown options: --deduplicate, --shuffle, --lowercase"
    assert fix == shlex.join(["slmtok", *train])
    fact, fix = error_of(slmtok, *train, "--limit", "2", "--shuffle", "--recursive")
    assert fact.endswith("--limit, --shuffle, --recursive; slmtok train has nothing for --recursive")
    assert fix == shlex.join(["slmtok", *train, "--max-docs", "2"])
    fact, fix = error_of(slmtok, *train, "--foo", "3", "--bar=4")
    assert fact == "error: unknown options: --foo, --bar" and fix == "slmtok train --help"
    count = ["count", "src", "-o", "x.counts", "--foo", "3"]
    fact, fix = error_of(slmtok, *count, "--limit", "2")
    assert (fact, fix) == ("error: unknown options: --foo, --limit", "slmtok count --help")
    for option, meant in (("--limit", "use --max-docs 2"), ("--maxdocs", "use --max-docs 2")):
        fact, fix = error_of(slmtok, "count", option, "2", *count[1:])
        assert fact.removesuffix("; did you mean '--max-docs'?") == f"error: unknown options: {option}, --foo"
        assert fix == f"for {option}, {meant}; for --foo, slmtok count --help"
    fact, fix = error_of(slmtok, "count", "--vocab-size", "280", *count[1:])
    assert fact == "error: unknown options: --vocab-size, --foo"
    assert fix.startswith("for --vocab-size, leave out --vocab-size 280: ")


def test_words_of_a_text_to_encode(slmtok, here) -> None:
    package.train("src", vocab_size=280).save("tok.json")
    _, fix = error_of(slmtok, "encode", "-t", "tok.json", "Hello", "world")
    assert fix == "printf %s 'Hello world' | slmtok encode -t tok.json -"


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        "reproduce tok.lock --vocab 280": "slmtok slice tok.json --vocab 280 -o tok-2.json",
        "reproduce tok.lock --vocab 300": "slmtok extend tok.json src/a.txt --vocab 300 -o tok-2.json",
        "reproduce lock.json --vocab 280": "slmtok slice tok.json --vocab 280 -o tok-2.json",
        "reproduce tok.lock --vocab": "leave it out: the lock has the size",
        "slice tok.json --top 280 -o s.json": "use --vocab 280",
        "prune tok.json --unused-on src --min-count 5 -o p.json": "use --keep N, the ids that are left; "
        "for a least number of uses, slmtok exposure DATA --below 5 -o rare.json lists ids for --ids",
        "view tok.json --vocab": "slmtok vocab tok.json",
        "vocab tok.json -i --grep THE": "slmtok vocab tok.json --grep '(?i)THE'",
        "vocab -i THE --sort=bytes tok.json": "slmtok vocab --sort=bytes tok.json --grep '(?i)THE'",
        "show tok.json hi --force": "slmtok show tok.json hi",
        "train src/a.txt --vocab 290 -o x.json --bos": "slmtok train src/a.txt --vocab 290 -o x.json",
    }.items(),
)
def test_an_option_of_another_command_becomes_a_line_of_it_or_is_left_out(slmtok, here, line, fix) -> None:
    slmtok("train", "src/a.txt", "--vocab", "290", "-o", "tok.json")
    shutil.copy("tok.lock", "lock.json")
    fact, found = error_of(slmtok, *line.split())
    assert found == fix and fact.startswith("error: unknown option '-")
    if fix.startswith("slmtok "):
        ran = slmtok(*shlex.split(fix)[1:])
        assert ran.code == 0 or "cannot learn" in ran.err or "gives only" in ran.err, ran.err


def test_surgery_changes_nothing_without_an_output(slmtok, here) -> None:
    package.train("src", vocab_size=290).save("tok.json")
    _, fix = error_of(slmtok, "prune", "tok.json", "--unused-on", "src", "--dry-run", "-o", "x.json")
    assert fix.startswith("leave it out: only the file of -o is written")


def test_a_glob_of_an_ending_becomes_a_regex(slmtok, here) -> None:
    train = ["train", "src", "--vocab", "280", "-o", "x.json"]
    _, fix = error_of(slmtok, *train, "--forbid-regex", "*.com")
    assert fix == r"--forbid-regex '\.com$'"
    assert slmtok(*train, *shlex.split(fix)).code == 0


@pytest.mark.parametrize(
    ("line", "fix"),
    (
        ("view tok.json --vocab 280", "view tok.json"),
        ("report tok.json --by domain", "report tok.json"),
        ("vocab tok.json --open", "vocab tok.json"),
        ("count src/a.txt --vocab 290 -o x", "count src/a.txt -o x"),
    ),
)
def test_the_given_command_stays_without_the_option_of_another(slmtok, here, line, fix) -> None:
    """The given command is what was meant: another one may train where this one only reads."""
    slmtok("train", "src/a.txt", "--vocab", "290", "-o", "tok.json")
    fact, found = error_of(slmtok, *line.split())
    assert found == f"slmtok {fix}" and ", which belongs to slmtok " in fact and "; with it" not in fact


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        "export tok.json --output-format hf -o x --text hello": "slmtok export --help",
        "slice tok.json --vocab-file vocab.json -o x.json": "slmtok slice --help",
        "report tok.json --on src -o x.html --stop x": "slmtok report --help",
        "info tok.json --token the": "slmtok info --help",
        "slice tok.json --vocab 280 -o x.json --model-prefix tok": "slmtok slice --help",
        "pack src -t tok.json -o data --key body": "use --text-key body",
        "slice tok.json --voca 280 -o x.json": "use --vocab 280",
        "vocab tok.json --tokeniser tok.json": "use --tokenizer tok.json",
    }.items(),
)
def test_an_option_that_is_only_spelt_alike_is_not_the_fix(slmtok, here, line, fix) -> None:
    """It is another one where a word is missing, or where it does not take the value."""
    slmtok("train", "src/a.txt", "--vocab", "290", "-o", "tok.json")
    assert error_of(slmtok, *line.split())[1] == fix


@pytest.mark.parametrize(
    ("options", "fix"),
    {
        "--docs 0:1": "slmtok decode data --docs 0:1 --skip-special | slmtok show data -",
        "--docs=-1 --ids": "slmtok decode data --docs -1 --skip-special | slmtok show data --ids -",
        "--docs 2 --split val": "slmtok decode data --docs 2 --split val --skip-special | slmtok show data -",
    }.items(),
)
def test_packed_documents_are_shown_by_way_of_decode(slmtok, here, options, fix) -> None:
    package.train("src", vocab_size=290).save("tok.json")
    package.pack("src", package.load("tok.json"), "data", document="line", val="tail:10%")
    assert error_of(slmtok, "show", "data", *options.split())[1] == fix
    decoding, showing = (shlex.split(part)[1:] for part in fix.split(" | "))
    assert ROW[:3] in slmtok(*showing, stdin=slmtok(*decoding).stdout).out


def test_a_habit_without_a_remedy_leaves_the_option_to_the_next_rule(slmtok, here) -> None:
    package.train("src", vocab_size=290).save("tok.json")
    assert error_of(slmtok, "vocab", "tok.json", "--token", "x.txt")[1] == "slmtok vocab --help"


@pytest.mark.parametrize("text", ["--What, ho, Romeo", "- What, ho", "-- What, ho"])
def test_a_text_that_begins_with_dashes_is_shown_by_the_fix(slmtok, here, text: str) -> None:
    package.train("src", vocab_size=280).save("tok.json")
    fact, fix = error_of(slmtok, "show", "tok.json", text, "--ids")
    assert fact == f"error: {text!r} begins with a dash, as options do"
    assert fix == f"slmtok show tok.json --ids -- {shlex.quote(text)}"
    assert slmtok(*shlex.split(fix)[1:]).out.splitlines()[1].lstrip().startswith("-")
    assert error_of(slmtok, "show", "tok.json", "--ids --show-bytes")[0] == "error: unknown option '--ids --show-bytes'"
