"""Each bad input of `slmtok train`, with its exact answer; a failed run leaves no output."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

import slmtok as package

TWO_SPELLINGS = "--special user=<u> --special user=<v>"
ERRORS: dict[str, tuple[str, int, str]] = {
    "size too small": (
        "corpus.txt --vocab 200 -o a.json",
        2,
        "--vocab 200 is below the minimum size for scheme bpe\n"
        "  limit: 272 = 16 specials + 256 bytes\n"
        "  fix:   slmtok train corpus.txt --vocab 4096 -o a.json --allow-smaller",
    ),
    "missing file": (
        "texts/*.jsonl.gz --vocab 8192",
        1,
        "no file matches 'texts/*.jsonl.gz'\n"
        "  where: the folder texts/ has 14 files ending .jsonl.zst\n"
        "  fix:   slmtok train 'texts/*.jsonl.zst' --vocab 8192 -o tok.json",
    ),
    "invalid UTF-8 in jsonl": (
        "invalid.jsonl --vocab 300",
        1,
        "record is not valid UTF-8 (byte 0xE9 at column 14)\n"
        "  where: invalid.jsonl, line 2\n"
        "  fix:   name the encoding; for text in Latin-1, for instance, --encoding latin-1; or --skip-malformed "
        "to skip such records; the summary counts them",
    ),
    "missing text key": (
        "keys.jsonl --vocab 300",
        1,
        "record has no field 'text' (fields: content, id, url)\n"
        "  where: keys.jsonl, line 1\n"
        "  fix:   --text-key content if all records have it, else --skip-malformed",
    ),
    "no folder": (
        "corpus.txt --vocab 400 -o no/tok.json",
        1,
        "no folder 'no' for the output 'tok.json'\n  fix:   mkdir -p no",
    ),
    "output is a folder": (
        "corpus.txt --vocab 400 -o texts",
        2,
        "output 'texts' is a folder\n  where: slmtok train\n"
        "  fix:   slmtok train corpus.txt --vocab 400 -o texts/tok.json",
    ),
    "output is a device": (
        "corpus.txt --vocab 400 -o /dev/full --force",
        1,
        "output '/dev/full' is not a regular file\n  fix:   name another --output",
    ),
    "output is the input": (
        "./corpus.txt --vocab 400 -o corpus.txt --force",
        2,
        "output 'corpus.txt' is also the input\n"
        "  where: the input './corpus.txt' is the same file\n"
        "  fix:   name another --output",
    ),
    "special twice": (
        f"corpus.txt --vocab 400 {TWO_SPELLINGS}",
        2,
        "--special names 'user' twice\n  where: slmtok train\n  fix:   leave one out",
    ),
    **{
        f"special {value}": (
            f"corpus.txt --vocab 400 --special {value}",
            2,
            f"--special takes ROLE=SPELLING, not {value!r}\n  where: slmtok train\n  fix:   --special {meant}",
        )
        for value, meant in (("user", "'user=<|user|>'"), ("user=", "'user=<|user|>'"), ("=x", "x=x"))
    },
    **{
        f"size {size}": (
            f"corpus.txt --vocab {size}",
            2,
            f"--vocab {size} is out of range\n  limit: at most 2097152\n  fix:   --vocab 2097152, or less",
        )
        for size in (2097153, 10**18, 99999999999999999999, 10**40)
    },
}
"""Arguments, exit status, message."""


@pytest.mark.parametrize("name", ERRORS)
def test_errors(slmtok, corpus, leftovers, name):
    Path("texts").mkdir()
    for number in range(14):
        Path(f"texts/{number}.jsonl.zst").touch()
    Path("invalid.jsonl").write_bytes(b'{"text": "good"}\n{"text": "caf\xe9"}\n')
    Path("keys.jsonl").write_text('{"id": 1, "content": "hello", "url": "http://x"}\n')
    before, text = leftovers(), corpus.read_bytes()
    arguments, code, message = ERRORS[name]
    ran = slmtok("train", *arguments.split())
    assert (ran.code, ran.out, ran.err) == (code, "", f"error: {message}\n")
    assert (leftovers(), corpus.read_bytes()) == (before, text)


def test_corpus_cannot_fill_it(slmtok, leftovers):
    Path("a.txt").write_text("aaab " * 3 + "xy")
    ran = slmtok("train", "a.txt", "--vocab", 300)
    assert (ran.code, ran.out) == (1, "")
    found = re.fullmatch(
        r"error: corpus supports (\d+) ids, --vocab asked for 300\n"
        r"  where: merge (\d+) of 28; the next best pair occurs once\n"
        r"  limit: --min-count 2\n"
        r"  fix:   --vocab (\d+), or --min-count 1, which may suffice, or --allow-smaller to accept the smaller file\n",
        ran.err,
    )
    assert found and int(found[1]) == int(found[3]) == 272 + int(found[2])
    assert leftovers() == ["a.txt"]
    assert slmtok("train", "a.txt", "--vocab", 300, "--allow-smaller").code == 0
    assert package.load("tok.json").n_vocab == int(found[1])


def test_invalid_utf8_is_kept_and_noted(slmtok, story_text):
    Path("a").mkdir()
    Path("a/1.txt").write_text(story_text)
    Path("a/2.txt").write_bytes(story_text.encode() + b"caf\xe9 \xff\n")
    ran = slmtok("train", "a", "--vocab", 400)
    assert ran.code == 0
    at = f"{len(story_text.encode()) + 3:,}"
    text = f"2 invalid bytes in 1 of 2 documents were kept as bytes (first: a/2.txt, byte {at})"
    text += "; for text in Latin-1, for instance, run it again with --encoding latin-1 --force"
    assert ran.err == f"note: {text}\n"
    assert slmtok("train", "a", "--vocab", 400, "--force", "--json").json["warnings"] == [text]


def test_gaps_are_noted(slmtok):
    Path("a.txt").write_text("hello world " * 50)
    ran = slmtok("train", "a.txt", "--vocab", 276, "--pattern", "[a-z]+")
    assert ran.err == (
        "note: the pattern does not match 100 bytes (16.67% of the corpus); they became single pretokens\n"
    )


def test_limits_and_skips_are_noted(slmtok):
    lines = [json.dumps({"text": "hello world " * 20}), "{broken", json.dumps({"text": "hello again " * 30})]
    Path("a.jsonl").write_text("\n".join(lines))
    ran = slmtok("train", "a.jsonl", "--vocab", 276, "--skip-malformed", "--max-doc-chars", 100, "--max-bytes", 150)
    assert ran.code == 0, ran.err
    assert ran.err == (
        "note: --max-doc-chars left out 400 bytes of 2 documents\n"
        "note: 1 malformed record skipped\n"
        "note: --max-docs, --max-bytes or --max-chars ended the reading before the end of the corpus\n"
    )


def test_malformed_jsonl(slmtok):
    Path("b.jsonl").write_text('{"text": "good"}\n{"title":"A" "text":"B"}\n')
    ran = slmtok("train", "b.jsonl", "--vocab", 300)
    assert ran.code == 1
    assert re.fullmatch(
        r"error: record is not JSON: .* at column 14, near ….*…\n"
        r"  where: b\.jsonl, line 2\n"
        r"  fix:   repair the line, or --skip-malformed to skip such records; the summary counts them\n",
        ran.err,
    )


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ('{"text": "a\tb"}', 'control character U+0009 stands in a string at column 12, near …{"text": "a\tb"}…\n'),
        ('{"text": "a', 'the line ends inside a string, which begins at column 10, near …{"text": "a…\n'),
        ('{"text": "a"', 'the line ends before the record does, at column 13, near …{"text": "a"…\n'),
        ('{"text": "a", "id":', 'the line ends before the record does, at column 20, near …: "a", "id":…\n'),
    ],
)
def test_the_place_of_a_fault_in_json_is_said_once(slmtok, record, reason):
    Path("b.jsonl").write_text(record + "\n")
    ran = slmtok("train", "b.jsonl", "--vocab", 300)
    assert ran.code == 1 and f"error: record is not JSON: {reason}" in ran.err, ran.err


def test_existing_output_is_refused_before_the_work(slmtok, corpus, monkeypatch):
    Path("tok.json").write_text("mine")

    def too_late(*arguments: object, **options: object) -> None:
        raise AssertionError("the work has begun")

    with monkeypatch.context() as patch:
        patch.setattr("slmtok.training.train_with_report", too_late)
        ran = slmtok("train", corpus, "--vocab", 400)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "error: output 'tok.json' exists\n  fix:   --force to replace it, or name another --output\n"
    assert Path("tok.json").read_text() == "mine"
    assert slmtok("train", corpus, "--vocab", 400, "--force").code == 0
    assert package.load("tok.json").n_vocab == 400


def test_a_failed_run_leaves_the_old_output(slmtok, corpus):
    Path("tok.json").write_text("mine")
    ran = slmtok("train", corpus, "--vocab", 60_000, "--force")
    assert ran.code == 1
    assert Path("tok.json").read_text() == "mine"


def test_bad_pattern_and_bad_regex(slmtok, corpus):
    ran = slmtok("train", corpus, "--vocab", 400, "--pattern", "(")
    assert ran.code == 2
    assert ran.err.startswith('error: pattern "(" does not compile: ')
    ran = slmtok("train", corpus, "--vocab", 400, "--pattern", "slm", "--scheme", "char")
    assert ran.code == 2
    assert ran.err.startswith("error: --pattern slm with scheme char, which has a pattern of its own\n")


def test_required_token_that_the_pattern_cuts(slmtok, corpus, leftovers):
    Path("req.txt").write_text("once upon\n")
    ran = slmtok("train", corpus, "--vocab", 500, "--require", "req.txt")
    assert ran.code == 1
    assert ran.err.startswith('error: required token b"once upon" is split by the pattern after b"once"')
    assert slmtok("train", corpus, "--vocab", 500, "--require", "none.txt").err == (
        "error: no file 'none.txt'\n  where: --require\n"
        "  limit: a file with one token a line\n  fix:   check the name\n"
    )
    assert leftovers() == ["corpus.txt", "req.txt"]


@pytest.mark.parametrize(
    "option",
    [
        "--special a=<s>",
        "--special 1x=<y>",
        "--special " + " --special ".join(f"r{index}=<{index}>" for index in range(11)),
        "--pattern cl100",
        "--forbid-regex (",
        "--min-count 99999999999999999999999999",
        "--max-token-bytes 99999999999",
        "--threads 99999999999",
        "--max-bytes 99999999999999999999999999",
        "--vocab 2097153",
        "--tie-break hf --scheme word",
    ],
)
def test_wrong_values_are_wrong_usage_and_told_at_once(slmtok, corpus, monkeypatch, leftovers, option):
    monkeypatch.setattr("slmtok.training.counting.ingest", lambda *_: pytest.fail("the corpus was read"))
    ran = slmtok("train", "corpus.txt", "--vocab", 300, *option.split())
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ") and "\n  fix:   " in ran.err and "fault of slmtok" not in ran.err
    assert leftovers() == ["corpus.txt"]


def test_more_merges_to_explain_than_there_are(slmtok, corpus):
    assert slmtok("train", "corpus.txt", "--vocab", 280, "--explain", 10**30).out.count("\n    ") >= 7


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        "tok.json corpus.txt --vocab 310 -o t.json": "slmtok extend tok.json corpus.txt --vocab 310 -o t.json",
        "corpus.txt tok.json --vocab 310": "slmtok extend tok.json corpus.txt --vocab 310 -o tok-2.json",
    }.items(),
)
def test_more_tokens_for_a_tokenizer_are_learned_by_extend(slmtok, corpus, line, fix):
    package.train("corpus.txt", vocab_size=290).save("tok.json")
    ran = slmtok("train", *line.split())
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: tok.json is a tokenizer file of slmtok, not text\n")
    assert ran.err.endswith(f"  fix:   {fix}\n")
    assert slmtok(*shlex.split(fix)[1:]).code == 0
    # extend makes no smaller one, and has neither the scheme nor the special tokens of another one.
    for more in (
        "--vocab 280",
        "--vocab 310 --scheme char",
        "--vocab 310 --special user=<u>",
        "--vocab 300 --vocab 310",
    ):
        err = slmtok("train", "tok.json", "corpus.txt", *more.split(), "-o", "other.json").err
        assert "fix:   name the text; slmtok slice and slmtok extend make other sizes of one\n" in err
