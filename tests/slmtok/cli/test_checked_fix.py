"""The command line that an error proposes would not be refused itself, or the error says what else is wrong."""

from __future__ import annotations

import shlex

import pytest
from printed_fixes import fix_of

import slmtok as package


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("low low lower newest newest widest\n" * 30)
    package.train("a.txt", vocab_size=285).save("tok.json")
    return tmp_path


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        # A tokenizer in the place of -t, and an output in that of -o.
        "encode a.txt tok.json ids.txt": "slmtok encode a.txt -t tok.json -o ids.txt",
        "pack a.txt tok.json out": "slmtok pack a.txt -t tok.json -o out",
        "pack a.txt tok.json": "slmtok pack a.txt -o data -t tok.json",
    }.items(),
)
def test_what_is_named_twice_or_absent_is_mended_as_well(slmtok, here, line, fix):
    ran = slmtok(*line.split())
    assert (ran.code, fix_of(ran)) == (2, fix)
    assert slmtok(*shlex.split(fix)[1:]).code == 0


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        "encode a.txt none.txt -o ids.txt": "got unexpected extra argument",
        "trian none.txt --vocab 280": "there is no file or folder 'none.txt'",
        "trian a.txt --vocab many": "--vocab takes an integer >= 0, not 'many'",
        "trian a.txt --vocab 280 --sample 2": "--sample ",
        "trian a.txt --vocab 280 --samples 2": "no such option",
    }.items(),
)
def test_what_else_is_wrong_is_said(slmtok, here, line, fix):
    found = fix_of(slmtok(*line.split()))
    # Behind the line, pasted with it, the shell would run the prose.
    assert found.startswith(f"besides, {fix}") and "; with that mended: slmtok " in found


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        "train none.txt --vocab many": "--vocab 8192, for instance; besides, there is no file or folder 'none.txt'",
        "encode a.txt -t tok.json --threads x --format zz": "--threads 0, which is all; besides, --format takes ",
        # The value is one that is to be chosen, or there is none.
        "train a.txt --vocab 280 --max-bytes 12XB -o x": "--max-bytes N, with N a number in digits",
    }.items(),
)
def test_what_else_is_wrong_is_said_beside_an_option(slmtok, here, line, fix):
    found = fix_of(slmtok(*line.split()))
    assert found.startswith(fix) and found.count("besides") == fix.count("besides")


def test_two_options_with_wrong_values_are_mended_together(slmtok, here):
    fix = fix_of(slmtok("train", "a.txt", "--vocab=x", "-o", "x.json", "--scheme", "bpee"))
    line, _, besides = fix.partition(" # besides, ")
    assert line == "slmtok train a.txt --vocab 8192 -o x.json --scheme bpe" and besides.startswith(
        "--scheme takes one "
    )


@pytest.mark.parametrize(
    "line", ["trian a.txt --vocab 280", "trian *.txt --vocab 280", "trian hf:a/b --vocab 280", "train --vocab 280"]
)
def test_a_sound_line_and_one_with_placeholders_stay(slmtok, here, line):
    assert "besides" not in slmtok(*line.split()).err


def test_prose_behind_a_line_is_no_part_of_it(slmtok, here):
    package.pack("a.txt", package.load("tok.json"), "data")
    (here / "data" / "tok.json").unlink()
    assert fix_of(slmtok("decode", "data")) == "slmtok decode data -t TOK names it"
    package.count("a.txt").save("all.counts")
    (here / "a.npy").write_bytes(b"\x93NUMPY" + bytes(99))
    assert fix_of(slmtok("merge", "a.npy", "-o", "z.counts")).endswith(" makes one")


def test_a_file_of_another_kind_among_right_ones_is_left_out(slmtok, here):
    package.count("a.txt").save("all.counts")
    (here / "a.npy").write_bytes(b"\x93NUMPY" + bytes(99))
    fix = fix_of(slmtok("merge", "all.counts", "a.npy", "-o", "z.counts"))
    assert fix == "slmtok merge all.counts -o z.counts"
    assert slmtok(*shlex.split(fix)[1:]).code == 0
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "t.json").code == 0
    fix = fix_of(slmtok("train", "all.counts", "t.lock", "--vocab", "280", "-o", "u.json"))
    assert fix == "slmtok train all.counts --vocab 280 -o u.json"


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        "encode a.txt -t tok.json o=ids.txt": "slmtok encode a.txt -t tok.json -o ids.txt",
        "encode a.txt -t tok.json o ids.txt": "slmtok encode a.txt -t tok.json -o ids.txt",
        "slice tok.json vocab=280 -o x.json": "slmtok slice tok.json --vocab 280 -o x.json",
        "slice tok.json vocab 280 -o x.json": "slmtok slice tok.json --vocab 280 -o x.json",
        "--encode a.txt -t tok.json": "slmtok encode a.txt -t tok.json",
        "encode --on a.txt -t tok.json": "slmtok encode a.txt -t tok.json",
        "eval --corpus=tok.json --on a.txt": "slmtok eval tok.json --on a.txt",
        "info -o tok.json": "slmtok info tok.json",
        "slice tok.json --vocab:280 -o x.json": "slmtok slice tok.json --vocab 280 -o x.json",
        "show --text tok.json low": "slmtok show tok.json low",
    }.items(),
)
def test_a_sound_line_with_one_option_written_otherwise_is_proposed(slmtok, here, line, fix):
    ran = slmtok(*line.split())
    assert (ran.code, fix_of(ran)) == (2, fix) or (ran.code, fix_of(ran)) == (1, fix)
    assert slmtok(*shlex.split(fix)[1:]).code == 0


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        "encode a.txt -t tok.json -o x.txt --out y.txt": "leave --out y.txt out: -o x.txt is given",
        "sample-corpus --bytes 900 -o s.txt t.txt": "leave t.txt out: -o s.txt is given",
        "slice tok.json --vocab 280 --vocb 270 -o x": "leave --vocb 270 out: --vocab 280 is given",
    }.items(),
)
def test_an_option_that_is_given_is_not_to_be_given_again(slmtok, here, line, fix):
    assert fix_of(slmtok(*line.split())) == fix


@pytest.mark.parametrize(
    ("line", "fact", "fix"),
    [
        ("decode -t -o x.txt", "-t has no value: -o behind it is an option", "-t TOK"),
        ("train a.txt --vocab --force -o x.json", "--vocab has no value: --force behind it is an option",
         "--vocab 8192, for instance"),
        ("train a.txt --vocab 280 --explain -o x.json", "--explain has no value: -o behind it is an option",
         "--explain 20, for instance"),
        ("count a.txt --ray -o x.counts", "--ray has no value: -o behind it is an option",
         "--ray auto or --ray local or --ray HOST:PORT"),
        ("vocab tok.json --grep --json", "--grep has no value: --json behind it is an option",
         "--grep REGEX, or --grep=--json if that is the value"),
    ],
)  # fmt: skip
def test_an_option_is_no_value_of_another(slmtok, here, line, fact, fix):
    ran = slmtok(*line.split())
    assert (ran.code, fix_of(ran)) == (2, fix)
    assert fact in ran.err


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        "count a.txt -o": "-o FILE",
        "train a.txt --vocab": "--vocab 8192, for instance",
        "encode a.txt -t": "-t TOK",
    }.items(),
)
def test_the_value_that_an_option_lacks_is_shown(slmtok, here, line, fix):
    assert fix_of(slmtok(*line.split())) == fix


def test_a_colon_or_a_slash_is_no_part_of_a_name(slmtok, here):
    assert slmtok("count", "a.txt", "-o:all.counts").code == 0
    assert slmtok("merge", "all.counts/", "-o", "z.counts").code == 0
    assert (here / "z.counts").is_file()


def test_a_word_that_names_no_file_is_no_further_text(slmtok, here):
    fix = "slmtok diff tok.json tok.json --on a.txt # there is no file or folder 'all'"
    assert fix_of(slmtok("diff", "tok.json", "tok.json", "--on", "a.txt", "all")) == fix


def test_an_input_of_another_kind_is_said(slmtok, here):
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "other.json").code == 0
    assert "besides, 'other.lock' is the lock of a tokenizer of slmtok, not text" in fix_of(
        slmtok("trian", "other.lock", "--vocab", "280", "-o", "x.json")
    )
    assert "besides, 'a.txt' is not a tokenizer" in fix_of(slmtok("slcie", "a.txt", "--vocab", "270", "-o", "x.json"))


def test_the_text_of_an_argument_is_not_divided(slmtok, here):
    assert "none.json" in slmtok("show", "none.json", "ids bytes").err
    assert "slmtok show none.json ids bytes" not in slmtok("show", "none.json", "ids bytes").err


def test_stdout_is_not_sent_to_a_file_that_exists(slmtok, here):
    package.load("tok.json").save("other.json")
    assert fix_of(slmtok("eval", "tok.json", "-o", "other.json", "--on", "a.txt")).endswith("> other-2.json")


@pytest.mark.parametrize("name", ["run", "generate"])
def test_a_command_of_another_tool_leads_to_no_command_that_needs_other_inputs(slmtok, here, name):
    assert fix_of(slmtok(name, "a.txt", "-o", "x")) in ("slmtok --help", "slm sample RUN")


def test_a_guessed_command_keeps_the_quotes(slmtok, here):
    fix = fix_of(slmtok("set-specials", "tok.json", "user=<|user|>", "-o", "u.json"))
    assert fix == "slmtok set-special tok.json 'user=<|user|>' -o u.json"


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        (["encode", "'a.txt'", "-t", "tok.json"], "slmtok encode a.txt -t tok.json"),
        (["set-special", "tok.json", "'user=<|user|>'", "-o", "u"],
         "slmtok set-special tok.json 'user=<|user|>' -o u"),
        (["set-special", "tok.json", "user=<|user|>", "-o", "u", "-t", "tok.json"],
         "slmtok set-special tok.json 'user=<|user|>' -o u"),
        (["set-special", "other.json", "tok.json", "user=<|user|>", "-o", "u"],
         "slmtok set-special other.json 'user=<|user|>' -o u"),
        (["encode", "--prompt", "a.txt", "-t", "tok.json"], "slmtok encode a.txt -t tok.json"),
        (["encode a.txt -t tok.json"], "slmtok encode a.txt -t tok.json"),
        (["eval", "tok.json other.json", "--on", "a.txt"], "slmtok eval tok.json other.json --on a.txt"),
        (["diff", "tok.json", "--on", "other.json", "--on", "a.txt"], "slmtok diff tok.json other.json --on a.txt"),
        (["exposure", "--corpus", "data", "-o", "x.json"], "slmtok exposure data -o x.json"),
        (["train", "x.json", "a.txt", "--vocab", "280"], "slmtok train a.txt --vocab 280 -o x.json"),
        (["train", "a.txt", "--valid", "a.txt", "--vocab", "280"], "slmtok train --help"),
        (["vocab", "tok.json", "a.txt"], "slmtok vocab tok.json"),
    ],
)  # fmt: skip
def test_quotes_and_files_in_a_wrong_place(slmtok, here, words, fix):
    package.load("tok.json").save("other.json")
    package.pack("a.txt", package.load("tok.json"), "data", val="none")
    assert fix_of(slmtok(*words)) == fix
    if fix.startswith("slmtok"):
        assert slmtok(*shlex.split(fix)[1:]).code == 0


@pytest.mark.parametrize(
    "line",
    [
        # The line without the option does something else than was meant.
        "diff -u tok.json other.json",
        "diff tok.json other.json --side-by-side",
        "encode a.txt --foo 5 -t tok.json",
        "encode a.txt --foo=5 -t tok.json",
        "encode a.txt --foo 5 -t tok.json --bar 3",
        "report tok.json other.json --title x",
        "train -x a.txt --vocab 280 -o t.json",
        # The word behind the option may be its value.
        "info -x tok.json other.json",
        "eval tok.json -u other.json --on a.txt",
        # all.counts would be written, which no word names.
        "count -l a.txt",
    ],
)
def test_an_option_of_no_known_meaning_has_the_help_of_its_command(slmtok, here, line):
    package.load("tok.json").save("other.json")
    assert fix_of(slmtok(*line.split())) == f"slmtok {line.split()[0]} --help"


@pytest.mark.parametrize(
    ("words", "sign", "fix"),
    [
        (("a.txt", "–vocab", "280"), "EN DASH", "slmtok train a.txt --vocab 280"),
        (("a.txt", "—vocab=280"), "EM DASH", "slmtok train a.txt --vocab=280"),
        (("a.txt", "--vocab", "280", "−o", "new.json"), "MINUS SIGN", "slmtok train a.txt --vocab 280 -o new.json"),
        (("a.txt", "-–vocab", "280", "––force"), "EN DASH", "slmtok train a.txt --vocab 280 --force"),
    ],
)
def test_a_dash_of_an_editor_is_named(slmtok, here, words, sign, fix):
    (here / "tok.json").unlink()
    ran = slmtok("train", *words)
    assert (ran.code, fix_of(ran)) == (2, fix)
    assert f" begins with {sign} (U+" in ran.err
    assert slmtok(*shlex.split(fix)[1:]).code == 0


def test_a_text_with_a_dash_and_a_file_named_so_are_no_options(slmtok, here):
    assert slmtok("encode", "–vocab", "-t", "tok.json", "--quiet").code == 1
    (here / "–vocab").write_text("low lower lowest")
    assert slmtok("encode", "–vocab", "-t", "tok.json").code == 0
    assert "EN DASH" not in slmtok("encode", "–hello", "-t", "tok.json").err


def test_a_folder_for_the_output_is_completed_with_the_name_of_the_file(slmtok, here):
    (here / "there").mkdir()
    for folder, made in {"there": "", "models/": "mkdir -p models/ && "}.items():
        ran = slmtok("train", "a.txt", "--vocab", "280", "-o", folder)
        line = f"slmtok train a.txt --vocab 280 -o {folder.rstrip('/')}/tok.json"
        assert (ran.code, fix_of(ran)) == (2, made + line)
        (here / folder).mkdir(exist_ok=True)
        assert slmtok(*line.split()[1:]).code == 0
    ran = slmtok("train", "a.txt", "--vocab", "280", "-o", "there")
    assert fix_of(ran) == "slmtok train a.txt --vocab 280 -o there/tok-2.json"
