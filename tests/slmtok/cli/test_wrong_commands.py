"""Command lines that are wrong in one way: the fix, pasted as it is printed, does what was evidently meant."""

from __future__ import annotations

import gzip
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from printed_fixes import fix_in, fix_of, refused

import slmtok as package

TEXT = "the cat sat on the mat, and the dog sat by the door. " * 20


@pytest.fixture
def here(slmtok, made_folder: Path, tmp_path: Path) -> Path:
    """A copy of `made_folder` without a lock and with a folder of text; it is the working folder."""
    shutil.copytree(made_folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "tok.lock").unlink()
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "c.txt").write_text("the dog sat on the cat. " * 9)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        # The number of tokens, which count does not give.
        "count a.txt -t tok.json": "slmtok eval tok.json --on a.txt",
        "count a.txt b.txt --tokenizer=tok.json -o n --json": "slmtok eval tok.json --on a.txt --on b.txt --json",
        "count a.txt --tokenizer tok.json --vocab 300": "slmtok eval tok.json --on a.txt",
        "encode --count a.txt -t tok.json": "slmtok eval tok.json --on a.txt",
        "encode a.txt --num-tokens -t tok.json --bos --format lines": "slmtok eval tok.json --on a.txt --format lines",
    }.items(),
)
def test_a_whole_command_line(slmtok, here: Path, line: str, fix: str) -> None:
    assert fix_of(slmtok(*line.split()), 2) == fix
    ran = slmtok(*shlex.split(fix)[1:])
    assert ran.code == 0, ran.err


def test_the_tokens_of_stdin(slmtok, here: Path) -> None:
    assert fix_of(slmtok("encode", "-t", "tok.json", "--count"), 2) == "slmtok eval tok.json --on -"
    assert fix_of(slmtok("count", "-t", "tok.json"), 2) == "slmtok eval tok.json --on TEXT"


@pytest.mark.parametrize(
    ("mix", "option"),
    {
        "b.txt=2": "--domain b.txt=b.txt",
        "b=2": "--domain 'b=b.*'",
        "texts=2": "--domain 'texts=texts/**'",
        "ext=2": "--domain 'ext=*ext*'",
        "*.txt=2": "--domain '*.txt=*.txt'",
        "*code*=2": "--domain '*code*=GLOB'",
    }.items(),
)
def test_the_glob_of_a_domain_that_has_a_weight(slmtok, here: Path, mix: str, option: str) -> None:
    """The file or folder of that name, and no glob that matches nothing."""
    (here / "context.txt").write_text(TEXT)
    line = ["train", "a.txt", "b.txt", "context.txt", "texts", "--vocab", "290", "--mix", mix, "-o", "new.json"]
    named, _, more = fix_of(slmtok(*line), 2).partition(", ")
    glob = shlex.split(option)[1].partition("=")[2]
    matched = "" if glob == "GLOB" else f"; of 4, {glob} matches {4 if glob == '*.txt' else 1}"
    assert named == option and more.endswith(f"globs of its files{matched}")
    assert slmtok(*line, *shlex.split(option)).code == 0


def test_the_name_of_a_domain_without_its_weight(slmtok, here: Path) -> None:
    train = ["train", "a.txt", "b.txt", "--vocab", "290", "-o", "new.json"]
    assert fix_of(slmtok(*train, "--mix", "b.txt"), 2) == "--mix b.txt=WEIGHT"
    assert fix_of(slmtok(*train, "--domain", "b.txt"), 2) == "--domain b.txt=GLOB"
    assert fix_of(slmtok(*train, "--mix", "0.7,0.3"), 2) == "--mix NAME=WEIGHT"
    assert fix_of(slmtok(*train, "--mix", "a=0.5,b=2"), 2) == (
        "--mix a=0.5 --mix b=2; and for text, globs of its domains: --domain 'a=a.*' --domain 'b=b.*'"
    )


def test_the_glob_of_a_domain_in_python(here: Path) -> None:
    with pytest.raises(package.errors.OptionError, match=r"domains=\{'b': 'b\.\*'\}"):
        package.train(["a.txt", "b.txt"], vocab_size=290, mix={"b": 2})


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        "decode *.npy -t tok.json": "slmtok decode x.npy -t tok.json && slmtok decode y.npy -t tok.json",
        "vocab tok*.json --output=v.txt": "slmtok vocab tok-2.json --output v-tok-2.txt && "
        "slmtok vocab tok.json --output v-tok.txt",
        "eval tok*.json --on a.txt": "slmtok eval tok-2.json tok.json --on a.txt",
        "info *.counts": "slmtok info a.counts",
    }.items(),
)
def test_a_glob_in_quotes_where_a_file_is_named(slmtok, here: Path, line: str, fix: str) -> None:
    package.load("tok.json").save("tok-2.json")
    for name in ("x.npy", "y.npy"):
        assert slmtok("encode", "a.txt", "-t", "tok.json", "--output-format", "npy", "-o", name).code == 0
    ran = slmtok(*line.split())
    assert "  where: it is a glob that matches " in ran.err and fix_of(ran, 1) == fix
    for command in fix.split(" && "):
        assert slmtok(*command.split()[1:]).code == 0, command


def test_the_rows_of_an_array(slmtok, here: Path) -> None:
    """They may be texts with padding, or parts of one text."""
    tok = package.load("tok.json")
    rows = [tok.encode("the cat"), tok.encode("the dog sat")]
    width = max(map(len, rows))
    np.save("batch.npy", np.array([[*row, *[3] * (width - len(row))] for row in rows], np.uint16))
    ran = slmtok("decode", "batch.npy", "-t", "tok.json", "--skip-special")
    assert ran.out == "the catthe dog sat" and "note: the 2 rows of batch.npy are one text" in ran.err
    ran = slmtok("decode", "batch.npy", "-t", "tok.json", "--skip-special", "--document", "line")
    assert (ran.out, ran.err) == ("the cat\nthe dog sat\n", "")
    np.save("one.npy", np.array(rows[:1], np.uint16))
    assert slmtok("decode", "one.npy", "-t", "tok.json").err == ""


def test_documents_that_run_into_one_another(slmtok, here: Path) -> None:
    """As the lines of a text do, whose line feeds `--document line` of encode leaves out."""
    Path("two.txt").write_text("the cat\nthe dog sat\n")
    assert slmtok("encode", "two.txt", "-t", "tok.json", "--document", "line", "-o", "two.ids").code == 0
    ran = slmtok("decode", "two.ids", "-t", "tok.json")
    assert ran.out == "the catthe dog sat" and ran.err.startswith("note: no line feed is between the documents; ")
    assert slmtok("decode", "two.ids", "-t", "tok.json", "--document", "line").err == ""
    marked = ["encode", "two.txt", "-t", "tok.json", "--document", "line", "--eos", "-o", "marked.ids"]
    assert slmtok(*marked).code == 0
    assert slmtok("decode", "marked.ids", "-t", "tok.json").err == ""


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        "merge a.counts texts -o m.counts": "slmtok count texts -o texts.counts && "
        "slmtok merge a.counts texts.counts -o m.counts",
        "merge texts a.counts b.txt": "slmtok count texts b.txt -o texts.counts && slmtok merge texts.counts a.counts",
        "merge a.counts e.txt.gz": "slmtok count e.txt.gz -o e.txt.counts && slmtok merge a.counts e.txt.counts",
        "merge b.txt texts -o m.counts": "slmtok count b.txt texts -o m.counts",
        "merge b.txt b.txt -o m.counts": "slmtok count b.txt -o m.counts",
        "merge b.txt texts ./b.txt -o m.counts": "slmtok count b.txt texts -o m.counts",
        "merge b.txt a.counts b.txt": "slmtok count b.txt -o b.counts && slmtok merge b.counts a.counts",
        "merge a.txt data -o m.counts": "slmtok count a.txt -o m.counts",
        "merge texts --min-count 2": "slmtok count texts -o texts.counts && slmtok merge texts.counts --min-count 2",
    }.items(),
)
def test_texts_among_counts(slmtok, here: Path, line: str, fix: str) -> None:
    (here / "e.txt.gz").write_bytes(gzip.compress(b"the cat sat. " * 9))
    ran = slmtok(*line.split())
    assert fix_of(ran, 2) == fix and "holds text, and merge adds up counts" in ran.err
    for command in fix.split(" && "):
        assert slmtok(*command.split()[1:]).code == 0, command


@pytest.mark.parametrize(
    ("texts", "option"),
    [
        ("v.tsv", " --text-key 2"),
        ("v.tsv b.txt", " --text-key 2"),
        ("h.csv", " --text-key 'The Text' # where the first row is text too, its number: --text-key 2"),
        ("b.txt", ""),
    ],
)
def test_texts_among_counts_are_counted_with_the_option_that_they_need(slmtok, here: Path, texts, option) -> None:
    Path("v.tsv").write_text(
        "John 1:1\tIn the beginning was the word, and the word was good\nJohn 1:2\tThe same was there\n"
    )
    Path("h.csv").write_text("Id,The Text\n1,the cat sat on it\n2,the dog sat on it\n")
    fix = fix_of(slmtok("merge", "a.counts", *texts.split(), "-o", "both.counts"), 2)
    counted = f"{texts.split()[0].partition('.')[0]}.counts"
    option, sign, remark = option.partition(" # ")
    merged = f"slmtok merge a.counts {counted} -o both.counts"
    assert fix == f"slmtok count {texts}{option} -o {counted} && {merged}{sign}{remark}"
    for command in fix.split(" && "):
        assert slmtok(*shlex.split(command, comments=True)[1:]).code == 0, command


def test_texts_that_need_several_options_are_counted_with_none(slmtok, here: Path) -> None:
    Path("v.tsv").write_text(
        "John 1:1\tIn the beginning was the word, and the word was good\nJohn 1:2\tThe same was there\n"
    )
    Path("h.tsv").write_text("Id\tReview\n1\tthe cat sat on it\n2\tthe dog sat on it\n")
    fix = fix_of(slmtok("merge", "a.counts", "v.tsv", "h.tsv", "-o", "both.counts"), 2)
    assert fix.startswith("slmtok count v.tsv h.tsv -o v.counts && ")


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        "merge a.counts c.counts c.counts.digests -o m.counts": "slmtok merge a.counts c.counts -o m.counts",
        "merge c.counts.digests -o m.counts": "slmtok merge c.counts -o m.counts",
    }.items(),
)
def test_digests_among_counts(slmtok, here: Path, line: str, fix: str) -> None:
    """As the glob `*.counts*` names them."""
    assert slmtok("count", "b.txt", "--doc-digests", "-o", "c.counts").code == 0
    ran = slmtok(*line.split())
    assert ran.code == 2 and fix_of(ran, 2) == fix and "is a file of document digests of slmtok count" in ran.err
    assert slmtok(*fix.split()[1:]).code == 0


def test_a_regex_that_matches_no_token_is_noted(slmtok, here: Path) -> None:
    (here / "stop.txt").write_text("the\nof\n")
    line = ["train", "b.txt", "--vocab", "280", "--allow-smaller", "-o"]
    noted = slmtok(*line, "n.json", "--forbid-regex", "stop.txt")
    fact = "--forbid-regex stop.txt matched no token that would have been learned; it takes a regex"
    assert noted.code == 0 and fact in " ".join(noted.err.split())
    assert "matched no token" not in slmtok(*line, "m.json", "--forbid-regex", "t").err


def test_sizes_are_those_of_the_smallest_tokenizer(slmtok, here: Path) -> None:
    assert slmtok("slice", "tok.json", "--vocab", "275", "-o", "small.json").code == 0
    ran = slmtok("eval", "tok.json", "small.json", "--on", "b.txt", "--sizes", "9000")
    assert ran.code == 2 and "limit: 272 to 275" in ran.err
    assert slmtok("eval", "tok.json", "small.json", "--on", "b.txt", *fix_of(ran, 2).split()).code == 0


def test_a_folder_without_counts(slmtok, here: Path) -> None:
    ran = slmtok("merge", "a.counts", "data", "-o", "m.counts")
    counted = "count the text that was packed: slmtok count a.txt -o data.counts"
    assert fix_of(ran, 2) == f"leave it out, or {counted}"
    # Of packed data alone, leaving them out leaves nothing.
    ran = slmtok("merge", "data", "-o", "m.counts")
    assert fix_of(ran, 2) == "slmtok count a.txt -o m.counts" and "'data' is packed data, and merge adds up" in ran.err
    (here / "a.txt").rename("z.txt")
    assert fix_of(slmtok("merge", "data"), 2) == "count the text that was packed: slmtok count CORPUS -o data.counts"
    (here / "texts" / "a.counts").write_bytes((here / "a.counts").read_bytes())
    ran = slmtok("merge", "texts", "-o", "m.counts")
    assert ran.code == 0 and "inputs     1" in ran.out


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        "decode ids.txt out.txt -t tok.json": "slmtok decode ids.txt -t tok.json -o out.txt",
        "encode a.txt out -t tok.json": "slmtok encode a.txt -t tok.json -o out",
        "vocab tok.json v.txt": "slmtok vocab tok.json -o v.txt",
        "encode texts a.txt -t tok.json -o x.ids": "slmtok encode texts -t tok.json -o x-texts.ids && "
        "slmtok encode a.txt -t tok.json -o x-a.ids",
        "encode a.txt,b.txt tok.json": "slmtok encode a.txt tok.json && slmtok encode b.txt tok.json",
        "decode ids.txt more.txt -t tok.json": "slmtok decode ids.txt -t tok.json && "
        "slmtok decode more.txt -t tok.json",
    }.items(),
)
def test_an_argument_too_many(slmtok, here: Path, line: str, fix: str) -> None:
    """An output that does not exist, or another input."""
    for name in ("ids.txt", "more.txt"):
        assert slmtok("encode", "a.txt", "-t", "tok.json", "-o", name).code == 0
    assert fix_of(slmtok(*line.split()), 2) == fix
    for command in fix.split(" && "):
        assert slmtok(*command.split()[1:]).code == 0, command


def test_each_of_two_tokenizers_is_audited_by_a_command_of_its_own(slmtok, here: Path) -> None:
    package.load("tok.json").save("b.json")
    Path("audit-b.json").write_text("")
    lines = fix_of(slmtok("audit", "tok.json", "b.json", "--on", "a.txt"), 2).split(" && ")
    outputs = {"tok.json": "audit-tok.json", "b.json": "audit-b-2.json"}
    assert lines == [f"slmtok audit {tok} --on a.txt -o {output}" for tok, output in outputs.items()]
    assert [slmtok(*line.split()[1:]).code for line in lines] == [0, 0]


def test_a_misspelt_name_is_no_output(slmtok, here: Path) -> None:
    package.load("tok.json").save("other.json")
    ran = slmtok("info", "tok.json", "other.json", "a.txt")
    assert fix_of(ran, 2) == "slmtok info tok.json && slmtok info other.json && slmtok info a.txt"
    fix = "slmtok encode a.txt -t tok.json # there is no file or folder 'b.tx'"
    assert fix_of(slmtok("encode", "a.txt", "b.tx", "-t", "tok.json"), 2) == fix
    for number in range(9):
        (here / f"{number}.txt").write_text(TEXT)
    ran = slmtok("encode", *(f"{number}.txt" for number in range(9)), "-t", "tok.json")
    assert fix_of(ran, 2) == "one command for each of the 9 files"


@pytest.mark.parametrize(
    ("line", "code", "fix"),
    [
        ("decode data --docs 0,1,2", 2, "--docs 0:3"),
        ("decode data --docs 5,2", 2, "--docs 5, and a command for each other value"),
        ("pack a.txt -t tok.json -o new --shard-tokens 10MB", 2,
         "--shard-tokens 10M for that number of ids, or --shard-tokens 5000000 for 10MB of ids of two bytes each"),
        ("pack a.txt -t tok.json -o new --output-format nanogpt --chunk-size 8", 2,
         "--output-format npy, or leave --chunk-size out: a run cuts the ids"),
        ("pack b.txt -t tok.json -o data --val none", 1,
         "--force to replace it, or name another --output; one command with all sources packs them together"),
        ("audit tok.json --on a.txt --metadata tok.json", 2,
         "leave it out, or slmtok vocab tok.json --metadata -o vocab.json, and name that"),
        ("audit tok.json --on a.txt --metadata other.json", 2,
         "leave it out, or slmtok vocab other.json --metadata -o vocab.json, and name that; "
         "slmtok diff tok.json other.json compares the two"),
        ("sample-corpus --lines 100", 2,
         "use --bytes 17700, about 100 lines: their size is given, not their number"),
        ("vocab tok.json -o vocab.json", 2,
         "--metadata for the file that models need; slmtok vocab tok.json --json > vocab.json for the list as JSON; "
         "or -o vocab.txt"),
        ("count a.txt --memory 99", 2, "--memory 99GB"),
        ("count a.txt --memory 100", 2, "--memory 100MB, or --memory 100GB"),
        ("count a.txt --memory 512", 2, "--memory 512MB"),
        ("count a.txt --memory 10MB", 2, "--memory 1GB"),
    ],
)  # fmt: skip
def test_the_value_of_an_option(slmtok, here: Path, line: str, code: int, fix: str) -> None:
    package.load("tok.json").save("other.json")
    assert fix_of(slmtok(*line.split()), code) == fix


def test_a_text_beside_a_tokenizer_that_is_verified(slmtok, here: Path) -> None:
    ran = slmtok("verify", "tok.json", "a.txt")
    assert "fix:   slmtok audit tok.json --on a.txt proves that nothing of it is lost" in ran.out
    assert "fix:   slmtok audit TOK --on a.txt proves " in slmtok("verify", "a.txt").out


def test_the_lines_of_a_sample(slmtok, here: Path) -> None:
    assert slmtok("sample-corpus", "--bytes", 177_000, "-o", "stories.txt").code == 0
    assert 900 < len((here / "stories.txt").read_bytes().splitlines()) < 1100


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        "count --help.txt": "slmtok count ./--help.txt",
        "count -p": "slmtok count ./-p",
        "-p a.txt": "name a command first: slmtok COMMAND ./-p a.txt",
        "--input a.txt": "name a command first: slmtok COMMAND --input a.txt",
        "tok.json a.txt": "name a command first: slmtok COMMAND tok.json a.txt",
        "-t tok.json encode a.txt": "slmtok encode a.txt -t tok.json",
    }.items(),
)
def test_files_before_the_command_and_names_with_dashes(slmtok, here: Path, line: str, fix: str) -> None:
    for name in ("-p", "--help.txt"):
        (here / name).write_text(TEXT)
    assert fix_of(slmtok(*line.split()), 2) == fix


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        # The number of new tokens, and special ones.
        "extend tok.json a.txt --add 1 -o new.json": "use --vocab {more}, 1 more than the {n_vocab} of tok.json",
        "extend tok.json --tokens <|user|> -o new.json": "slmtok set-special tok.json 'user=<|user|>' "
        "-o with-special.json",
        "slice tok.json --start 0 --end 280 -o new.json": "slmtok slice --help",
        "slice tok.json --size 280 -o new.json": "use --vocab 280",
        # Options of other tools.
        "train r.jsonl --field body --vocab 290": "use --text-key body",
        "train t.csv --sep , --vocab 290": "leave it out: .csv has commas between columns, .tsv tabs; the separator "
        "cuts text files into documents",
        "export tok.json --to hf -o new": "use --output-format hf",
        "export tok.json --to sentencepiece -o new": "use --output-format hf, or --output-format tiktoken",
        "decode data -n 1": "use --docs 0:1",
        "pack a.txt -t tok.json -o new --append-eos": "leave it out: pack puts bos before each document, "
        "and eos after it",
        "verify tok.json --on a.txt": "slmtok audit tok.json --on a.txt",
        "show tok.json --file a.txt": "slmtok show tok.json - < a.txt",
        "view -f a.txt tok.json": "slmtok view tok.json - < a.txt",
        "view tok.json --on a.txt -o x.html": "slmtok view tok.json -o x.html - < a.txt",
        "count a.txt --top 5": "leave it out, no command lists pretokens; python -c 'import slmtok; print(*sorted("
        'slmtok.count("a.txt").items(), key=lambda item: -item[1])[:5], sep="\\n")\' does',
        # An argument that an option names.
        "exposure --data data": "slmtok exposure data",
        "encode --input a.txt -t tok.json": "slmtok encode a.txt -t tok.json",
        "info --file=tok.json": "slmtok info tok.json",
        "merge --counts a.counts -o m.counts": "slmtok merge a.counts -o m.counts",
        "encode -i a.txt -t tok.json": "slmtok encode a.txt -t tok.json",
        "count -i a.txt -o n.counts": "slmtok count a.txt -o n.counts",
        "slice --file tok.json --vocab 280 -o new.json": "slmtok slice tok.json --vocab 280 -o new.json",
        "eval tok.json --data a.txt": "use --on a.txt",
        "bench -t tok.json --text a.txt": "use --on a.txt",
        "audit tok.json -f a.txt": "use --on a.txt",
        "pack a.txt -t tok.json -o new --seq-len 8": "leave it out: a run cuts the ids into sequences, "
        "by data.seq_len; --output-format npy --chunk-size 8 writes rows",
        "pack --input a.txt -t tok.json -o new --seq-len 8": "slmtok pack a.txt -t tok.json -o new",
        "merge --inputs a.counts": "slmtok merge a.counts",
        "extend tok.json --on a.txt --vocab 291 -o new.json": "slmtok extend tok.json a.txt --vocab 291 -o new.json",
        "encode -m tok.json a.txt": "use -t tok.json",
        "count -t a.txt -o n.counts": "slmtok count a.txt -o n.counts",
        "slice tok.json --keep 280": "use --vocab 280",
        "slice tok.json -n 280": "use --vocab 280",
        "view tok.json --port 80": "leave it out: the page is one file, which needs no server; --open shows it "
        "in the browser",
        # Ids and roles.
        "set-special tok.json --set user=x -o new.json": "slmtok set-special tok.json user=x -o new.json",
        "set-special tok.json --add=<|user|> -o new.json": "slmtok set-special tok.json 'user=<|user|>' -o new.json",
        "prune tok.json --ids 280 281 -o new.json": "printf '%s\\n' 280 281 > prune-ids.txt && "
        "slmtok prune tok.json --ids prune-ids.txt -o new.json",
        "set-special tok.json user: <|user|> -o new.json": "slmtok set-special tok.json 'user=<|user|>' -o new.json",
        "set-special tok.json user:<|user|> -o new.json": "slmtok set-special tok.json 'user=<|user|>' -o new.json",
    }.items(),
)  # fmt: skip
def test_options_and_words_of_other_tools(slmtok, here: Path, line: str, fix: str) -> None:
    n_vocab = package.load("tok.json").n_vocab
    found = fix_of(slmtok(*line.split()), 2)
    assert found == fix.format(n_vocab=n_vocab, more=n_vocab + 1)
    if found.startswith("slmtok ") and " < " not in found:
        assert slmtok(*shlex.split(found)[1:]).code == 0


def test_two_texts_in_the_place_of_tokenizers(slmtok, here: Path) -> None:
    assert fix_of(slmtok("diff", "a.txt", "b.txt"), 1) == (
        "name two tokenizers: slmtok diff TOK TOK --on a.txt --on b.txt"
    )


def test_lines_of_ids_that_are_read_as_text(slmtok, here: Path) -> None:
    """A list of short numbers in a text is none."""
    assert slmtok("encode", "a.txt", "-t", "tok.json", "-o", "ids.txt").code == 0
    note = "note: ids.txt looks like lines of ids, and its digits were read as text; name the text that was encoded"
    ran = slmtok("pack", "ids.txt", "-t", "tok.json", "-o", "new")
    assert ran.code == 0 and note in ran.err
    (here / "digits.txt").write_text("1 2 3\n4 5 6\n" * 99)
    assert "looks like" not in slmtok("pack", "digits.txt", "-t", "tok.json", "-o", "digits").err


def test_a_text_on_stdin(here: Path) -> None:
    command = [sys.executable, "-m", "slmtok"]
    with Path("a.txt").open() as file:
        ran = subprocess.run([*command, "count", "-o", "n.counts"], stdin=file, capture_output=True, text=True)
    assert ran.returncode == 2 and "CORPUS... is missing, and stdin is a file" in ran.stderr
    name = "a.txt" if sys.platform == "linux" else "FILE"
    assert f"  fix:   slmtok count {name} -o n.counts\n" in ran.stderr
    line = ["extend", "tok.json", "--vocab", "291", "-o", "new.json"]
    ran = subprocess.run([*command, *line], input=TEXT, capture_output=True, text=True)
    assert "  fix:   slmtok extend tok.json - --vocab 291 -o new.json\n" in ran.stderr


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        "encode tok.json hello": "for text: printf %s hello | slmtok encode tok.json -",
        "tokenize tok.json hello": "printf %s hello | slmtok encode tok.json -",
        "tokenize hello -t tok.json": "printf %s hello | slmtok encode - -t tok.json",
        "tokenize a.txt -t tok.json": "slmtok encode a.txt -t tok.json",
        "encode a.txt ids.npy -t tok.json": "slmtok encode a.txt -t tok.json -o ids.npy",
        "decode tok.json ids.npy": "check the name; paths are relative to the working folder",
    }.items(),
)
def test_what_stands_beside_a_tokenizer_alone_is_no_output(slmtok, here: Path, line: str, fix: str) -> None:
    """It would be written empty where the tokenizer is then taken for the text."""
    ran = slmtok(*line.split())
    assert f"  fix:   {fix}" in ran.err and not Path("hello").exists()


@pytest.mark.parametrize(
    ("option", "share"),
    [
        ("--split=0.9", "10%"),
        ("--split=0.1", "10%"),
        ("--train-size=0.8", "20%"),
        ("--test-size=0.8", "80%"),
        ("--val-split=5%", "5%"),
    ],
)
def test_a_share_of_training_leaves_the_rest(slmtok, here: Path, option: str, share: str) -> None:
    fix = fix_of(slmtok("pack", "a.txt", "-t", "tok.json", option, "-o", "new"), 2)
    assert fix.startswith(f"use --val tail:{share}, which is the end of the corpus")


@pytest.mark.parametrize(
    "command", ["train in.zip --vocab 300 --allow-smaller -o new.json", "count in.zip -o new.counts"]
)
def test_bytes_of_a_file_of_no_format_are_counted(slmtok, here: Path, command: str) -> None:
    """What the notes look at afterwards is not read by the name of the file."""
    Path("in.zip").write_bytes(b"PK\x03\x04" + bytes(range(128, 256)) * 9)
    assert fix_of(slmtok(*command.split()), 2).endswith("or --format text to read its bytes as they are")
    ran = slmtok(*command.split(), "--format", "text")
    assert ran.code == 0 and "invalid bytes" in ran.err


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        "split-corpus a.txt --val 10%": "slmtok pack a.txt -t TOK --val tail:10% -o data-2",
        "split a.txt b.txt": "slmtok pack a.txt b.txt -t TOK --val tail:10% -o data-2",
        "train_test_split --seed 3 --test-size=0.2 a.txt": "slmtok pack a.txt -t TOK --val tail:20% -o data-2",
        "split a.txt --train-size 0.8": "slmtok pack a.txt -t TOK --val tail:20% -o data-2",
        "split-data a.txt --split=0.3": "slmtok pack a.txt -t TOK --val tail:30% -o data-2",
        "split a.txt --val 0.1 -o parts -t tok.json": "slmtok pack a.txt -t tok.json --val tail:10% -o parts",
        "split packed --val 10% -o parts": "slmtok pack CORPUS -t packed/tok.json --val tail:10% -o parts",
        "split": "slmtok pack CORPUS -t TOK --val tail:10% -o data-2",
    }.items(),
)
def test_a_split_is_made_by_packing(slmtok, here: Path, line: str, fix: str) -> None:
    assert slmtok("pack", "a.txt", "-t", "tok.json", "-o", "packed").code == 0
    ran = slmtok(*line.split())
    assert fix_of(ran, 2).partition("  # CORPUS is the text that packed was packed from")[0] == fix
    assert "did you mean" not in ran.err
    for name, meant in (("TOK", "tok.json"), ("CORPUS", "a.txt")):
        fix = fix.replace(name, meant)
    ran = slmtok(*fix.split()[1:])
    assert ran.code == 0, ran.err


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        "set-special tok.json ROLE=SPELLING -o new.json": "slmtok set-special tok.json 'user=<|user|>' -o new.json",
        "train a.txt --vocab 290 --special ROLE=SPELLING -o new.json":
            "slmtok train a.txt --vocab 290 --special 'user=<|user|>' -o new.json",
        "encode a.txt -t tok.json --output-format npy -o FILE":
            "slmtok encode a.txt -t tok.json --output-format npy -o output",
        "encode a.txt -t tok.json --output-format npy --output=FILE":
            "slmtok encode a.txt -t tok.json --output-format npy --output=output",
    }.items(),
)  # fmt: skip
def test_a_placeholder_is_no_value(slmtok, here: Path, line: str, fix: str) -> None:
    """Accepted, `ROLE=SPELLING` would be a role of the tokenizer, and FILE the name of the output."""
    ran = refused(slmtok, line)
    assert fix_in(ran.err) == fix and "which stands for a value that you choose" in ran.err
    ran = slmtok(*shlex.split(fix)[1:])
    assert ran.code == 0, ran.err


@pytest.mark.parametrize(
    ("line", "said"),
    {
        "merge a.counts b.counts --weights 2,1 -o new.counts": "leave it out: merge adds counts as they are; ",
        "verify tok.json --against tok.json": "slmtok diff tok.json TOK --expect-same",
        "verify tok.json --against=other.json": "slmtok diff tok.json other.json --expect-same",
        "pack a.txt -t tok.json --val hash:100% -o new": "--val none for all of it in one split, ",
        "train a.txt --vocab 290 --max-bytes 50% -o new.json": "--max-bytes 530, of the 1060 bytes of the only",
        "train a.txt --vocab 290 --max-docs 50% -o new.json": "--max-bytes 530, of the 1060 bytes of the only",
        "train a.txt --vocab 290 --seed 5 -o new.json": "leave it out",
        "train a.txt -v 290 -o new.json": "use --vocab 290",
    }.items(),
)
def test_no_part_of_what_was_meant_is_left_out(slmtok, here: Path, line: str, said: str) -> None:
    Path("a.txt").write_text(TEXT)
    shutil.copy("tok.json", "other.json")
    assert fix_in(refused(slmtok, line).err).startswith(said)


def test_the_ids_of_a_class_are_listed_and_removed(slmtok, here: Path) -> None:
    fix = fix_in(refused(slmtok, "prune tok.json --class words -o new.json").err)
    listing, piped, rest = fix.partition(" | awk '$2 > 1 {print $1}' > prune-ids.txt && ")
    rows = [row.split()[:2] for row in slmtok(*shlex.split(listing)[1:]).out.splitlines()]
    Path("prune-ids.txt").write_text("".join(f"{id}\n" for id, n_bytes in rows if int(n_bytes) > 1))
    assert piped and slmtok(*shlex.split(rest)[1:]).code == 0
    listed = slmtok("vocab", "new.json", "--class", "words").out.splitlines()
    assert all(row.split()[1] == "1" for row in listed)


def test_a_file_with_the_name_of_a_placeholder_is_replaced(slmtok, here: Path) -> None:
    Path("FILE").write_text("x")
    assert slmtok("encode", "a.txt", "-t", "tok.json", "--output-format", "npy", "-o", "FILE", "--force").code == 0
