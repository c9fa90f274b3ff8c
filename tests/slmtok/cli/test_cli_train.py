"""`slmtok train`: what it writes, what it says, and each bad input with its exact answer."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import slmtok as package


def test_trains_what_the_call_trains(slmtok, corpus, story_text):
    ran = slmtok("train", corpus, "--vocab", 600, "-o", "tok.json")
    assert (ran.code, ran.err) == (0, "")
    assert package.load("tok.json") == package.train(str(corpus), vocab=600)


def test_every_option_reaches_the_training(slmtok, corpus):
    Path("req.txt").write_text("␣hedgehog\n\n fox\\x21\n", encoding="utf-8")
    ran = slmtok(
        "train",
        corpus,
        "--vocab",
        500,
        "--pattern",
        "gpt2",
        "--ties",
        "bytes-greatest",
        "--min-count",
        3,
        "--max-token-bytes",
        12,
        "--max-token-chars",
        9,
        "--forbid-regex",
        "th",
        "--special",
        "user=<|user|>",
        "--special",
        "bos=<b>",
        "--document",
        "line",
        "--max-bytes",
        "40kB",
        "--doc-cap",
        100,
        "--threads",
        2,
        "--format",
        "text",
        "--text-key",
        "body",
        "--skip-malformed",
        "-o",
        "a.json",
    )
    assert ran.code == 0, ran.err
    tok = package.load("a.json")
    expected = package.train(
        str(corpus),
        500,
        pattern="gpt2",
        ties="bytes-greatest",
        min_count=3,
        max_token_bytes=12,
        max_token_chars=9,
        forbid_regex="th",
        special={"user": "<|user|>", "bos": "<b>"},
        document="line",
        max_bytes=40_000,
        doc_cap=100,
        format="text",
        text_key="body",
        skip_malformed=True,
    )
    assert tok == expected
    assert tok.specials["user"] == 6 and tok.specials.text("bos") == "<b>"


def test_required_tokens_are_learned(slmtok, corpus):
    Path("req.txt").write_bytes(" zyzzyva\r\n\n␣qu\\u0153x\n".encode())
    ran = slmtok("train", corpus, "--vocab", 500, "--require", "req.txt", "-o", "a.json")
    assert ran.code == 0, ran.err
    tok = package.load("a.json")
    assert tok.token_id(b" zyzzyva") is not None
    assert tok.token_id(" quœx".encode()) is not None


def test_a_bad_escape_is_placed(slmtok, corpus):
    Path("req.txt").write_text("good\nba\\d\n")
    ran = slmtok("train", corpus, "--vocab", 500, "--require", "req.txt")
    assert ran.code == 2
    assert ran.err.startswith("error: bad escape '\\\\d'\n  where: req.txt, line 2\n  limit: ")


def test_summary(slmtok, corpus):
    ran = slmtok("train", corpus, "--vocab", 600, "--max-token-bytes", 4, "-o", "tok.json")
    size = corpus.stat().st_size
    assert ran.out.startswith("tok.json: 600 ids, scheme bpe, pattern slm\n")
    labels = re.findall(r"^  (\w+(?: \w+)?) {2,}", ran.out, re.MULTILINE)
    assert labels == [
        "corpus",
        "pieces",
        "learned",
        "refused",
        "compression",
        "first",
        "longest",
        "time",
        "peak memory",
        "fingerprint",
    ]
    assert f"1 document, {size / 1000:.1f} kB" in ran.out
    assert "328 merges; the last one's pair occurs" in ran.out
    assert re.search(r"refused +[\d,]+ by --max-token-bytes: ", ran.out)
    assert package.load("tok.json").fingerprint in ran.out
    assert "␣t" in ran.out


def test_json(slmtok, corpus):
    ran = slmtok("train", corpus, "--vocab", 600, "-o", "tok.json", "--json")
    content = ran.json
    tok = package.load("tok.json")
    assert (content["schema"], content["ok"], content["warnings"]) == ("slmtok.train/1", True, [])
    assert set(content["versions"]) == {"slmtok", "behaviour", "unicode", "python"}
    result = content["result"]
    assert result["path"] == "tok.json"
    assert result["n_vocab"] == 600 and result["learned"] == 328
    assert result["documents"] == 1 and result["bytes"] == corpus.stat().st_size
    assert result["fingerprint"] == tok.fingerprint
    assert result["counts_sha256"] == tok.provenance["counts_sha256"]
    assert result["bytes_per_token"] == pytest.approx(
        corpus.stat().st_size / len(tok.encode(corpus.read_bytes())), rel=1e-3
    )
    assert {"refused", "peak_memory", "seconds", "invalid_bytes", "distinct", "pieces"} <= set(result)


def test_quiet_says_nothing(slmtok, corpus):
    ran = slmtok("train", corpus, "--vocab", 400, "-o", "tok.json", "--quiet")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_stdin_and_stdout(slmtok, corpus):
    ran = slmtok("train", "-", "--vocab", 400, "-o", "-", stdin=corpus.read_bytes())
    assert ran.code == 0
    assert package.Tokenizer.from_bytes(ran.stdout).fingerprint == package.train(str(corpus), 400).fingerprint
    assert ran.err.startswith("stdout: 400 ids")
    ran = slmtok("train", corpus, "--vocab", 400, "-o", "-", "--json")
    assert ran.code == 2
    assert ran.err == "error: --json and -o - both write to stdout\n  fix:   -o FILE, or leave --json out\n"


def test_default_output_is_tok_json(slmtok, corpus, leftovers):
    assert slmtok("train", corpus, "--vocab", 400).code == 0
    assert leftovers() == ["corpus.txt", "tok.json"]


@pytest.mark.parametrize("scheme", ["word", "char"])
def test_other_schemes(slmtok, corpus, scheme):
    ran = slmtok("train", corpus, "--vocab", 280, "--scheme", scheme, "--allow-smaller", "-o", "a.json")
    assert ran.code == 0, ran.err
    assert package.load("a.json").scheme == scheme


def test_scheme_byte_needs_no_size(slmtok, corpus):
    ran = slmtok("train", corpus, "--scheme", "byte", "-o", "a.json")
    assert ran.code == 0, ran.err
    assert package.load("a.json").n_vocab == 272


def test_explain(slmtok):
    Path("a.txt").write_text("low low low lower lower newest newest newest widest")
    ran = slmtok("train", "a.txt", "--vocab", 275, "-o", "a.json", "--explain", 3)
    assert ran.code == 0, ran.err
    assert ran.out.split("\n\n")[0].splitlines() == [
        "merge  left + right = token   id  times  for example",
        "    1  l + o = lo            272      5  ␣|l|o|w  →  ␣|lo|w",
        "    2  w + e = we            273      5  ␣|n|e|w|e|s|t  →  ␣|n|e|we|s|t",
        "    3  ␣ + lo = ␣lo          274      4  ␣|lo|w  →  ␣lo|w",
    ]
    rows = slmtok("train", "a.txt", "--vocab", 275, "-o", "b.json", "--explain", 1, "--json").json["result"]["explain"]
    assert rows == [
        {
            "number": 1,
            "left": "l",
            "right": "o",
            "joined": "lo",
            "id": 272,
            "count": 5,
            "before": ["␣", "l", "o", "w"],
            "after": ["␣", "lo", "w"],
        },
    ]
    ran = slmtok("train", "a.txt", "--vocab", 280, "--scheme", "word", "--explain", 3)
    assert (ran.code, ran.err) == (
        2,
        "error: --explain with scheme word, which does not merge\n  limit: scheme bpe\n",
    )


def test_dry_run_reads_and_writes_nothing(slmtok, corpus, leftovers):
    Path("more").mkdir()
    Path("more/b.jsonl").write_text("this is not read, so nobody sees that it is no JSON\n")
    ran = slmtok("train", "corpus.txt", "more", "--vocab", 400, "--dry-run")
    size = corpus.stat().st_size
    assert ran.code == 0
    assert ran.out == (
        f"would read 2 files, {(size + 52) / 1000:.1f} kB, and write tok.json\n"
        f"  text   corpus.txt  {size / 1000:.1f} kB\n"
        "  jsonl  more/b.jsonl  52 bytes\n"
    )
    result = slmtok("train", "corpus.txt", "more", "--vocab", 400, "--dry-run", "--json").json["result"]
    assert result["bytes"] == size + 52
    assert result["files"][1] == {"path": "more/b.jsonl", "format": "jsonl", "bytes": 52}
    assert leftovers() == ["corpus.txt", "more"]


# --- bad inputs, each with its answer --------------------------------------------------------------------------------


def test_size_too_small(slmtok, corpus, leftovers):
    ran = slmtok("train", "corpus.txt", "--vocab", 200, "-o", "a.json")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "error: --vocab 200 is below the least size for scheme bpe\n"
        "  limit: 272 = 16 specials + 256 bytes\n"
        "  fix:   slmtok train corpus.txt --vocab 4096 -o a.json\n"
    )
    assert leftovers() == ["corpus.txt"]


def test_corpus_cannot_fill_it(slmtok, leftovers):
    Path("a.txt").write_text("aaab " * 3 + "xy")
    ran = slmtok("train", "a.txt", "--vocab", 300)
    assert (ran.code, ran.out) == (1, "")
    found = re.fullmatch(
        r"error: corpus supports (\d+) ids, --vocab asked for 300\n"
        r"  where: merge (\d+) of 28; the next best pair occurs once\n"
        r"  limit: --min-count 2\n"
        r"  fix:   --vocab (\d+), or --min-count 1, or --allow-smaller to accept the smaller file\n",
        ran.err,
    )
    assert found and int(found[1]) == int(found[3]) == 272 + int(found[2])
    assert leftovers() == ["a.txt"]
    assert slmtok("train", "a.txt", "--vocab", 300, "--allow-smaller").code == 0
    assert package.load("tok.json").n_vocab == int(found[1])


def test_missing_file_names_what_the_folder_has(slmtok):
    Path("corpus").mkdir()
    for number in range(14):
        Path(f"corpus/{number}.jsonl.zst").touch()
    ran = slmtok("train", "corpus/*.jsonl.gz", "--vocab", 8192)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "error: no file matches 'corpus/*.jsonl.gz'\n"
        "  where: argument 1; the folder corpus/ has 14 files ending .jsonl.zst\n"
        "  fix:   slmtok train 'corpus/*.jsonl.zst' --vocab 8192 -o tok.json\n"
    )


def test_invalid_utf8_is_kept_and_noted(slmtok, story_text):
    Path("a").mkdir()
    Path("a/1.txt").write_text(story_text)
    Path("a/2.txt").write_bytes(story_text.encode() + b"caf\xe9 \xff\n")
    ran = slmtok("train", "a", "--vocab", 400)
    assert ran.code == 0
    at = f"{len(story_text.encode()) + 3:,}"
    text = f"2 invalid bytes in 1 of 2 documents were kept as bytes (first: a/2.txt, byte {at})"
    assert ran.err == f"note: {text}\n"
    assert slmtok("train", "a", "--vocab", 400, "--force", "--json").json["warnings"] == [text]


def test_gaps_are_noted(slmtok):
    Path("a.txt").write_text("hello world " * 50)
    ran = slmtok("train", "a.txt", "--vocab", 276, "--pattern", "[a-z]+")
    assert ran.err == (
        "note: the pattern does not match 100 bytes (16.67% of the corpus); they became pieces of their own\n"
    )


def test_limits_and_skips_are_noted(slmtok):
    lines = [json.dumps({"text": "hello world " * 20}), "{broken", json.dumps({"text": "hello again " * 30})]
    Path("a.jsonl").write_text("\n".join(lines))
    ran = slmtok("train", "a.jsonl", "--vocab", 276, "--skip-malformed", "--doc-cap", 100, "--max-bytes", 150)
    assert ran.code == 0, ran.err
    assert ran.err == (
        "note: --doc-cap left out 400 bytes of 2 documents\n"
        "note: 1 malformed record skipped\n"
        "note: the corpus was read only in part, as --max-bytes or --max-chars asked\n"
    )


def test_invalid_utf8_in_jsonl(slmtok, leftovers):
    Path("b.jsonl").write_bytes(b'{"text": "good"}\n{"text": "caf\xe9"}\n')
    ran = slmtok("train", "b.jsonl", "--vocab", 300)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "error: record is not valid UTF-8 (byte 0xE9 at column 14)\n"
        "  where: b.jsonl, line 2\n"
        "  fix:   --skip-malformed to leave such records out; they are counted in the summary\n"
    )
    assert leftovers() == ["b.jsonl"]


def test_malformed_jsonl(slmtok):
    Path("b.jsonl").write_text('{"text": "good"}\n{"title":"A" "text":"B"}\n')
    ran = slmtok("train", "b.jsonl", "--vocab", 300)
    assert ran.code == 1
    assert re.fullmatch(
        r"error: record is not JSON: .* at column 14, near ….*…\n"
        r"  where: b\.jsonl, line 2\n"
        r"  fix:   repair the line, or --skip-malformed \(skipped so far: 0\)\n",
        ran.err,
    )


def test_missing_text_key(slmtok):
    Path("c.jsonl").write_text('{"id": 1, "content": "hello", "url": "http://x"}\n')
    ran = slmtok("train", "c.jsonl", "--vocab", 300)
    assert ran.code == 1
    assert ran.err == (
        "error: record has no field 'text' (fields: content, id, url)\n"
        "  where: c.jsonl, line 1\n"
        "  fix:   --text-key content\n"
    )


def test_existing_output_is_refused_before_the_work(slmtok, corpus, monkeypatch):
    Path("tok.json").write_text("mine")

    def too_late(*arguments: object, **options: object) -> None:
        raise AssertionError("the work has begun")

    with monkeypatch.context() as patch:
        patch.setattr("slmtok.training.train_with_report", too_late)
        ran = slmtok("train", corpus, "--vocab", 400)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "error: output 'tok.json' exists\n  fix:   --force to replace it, or another -o\n"
    assert Path("tok.json").read_text() == "mine"
    assert slmtok("train", corpus, "--vocab", 400, "--force").code == 0
    assert package.load("tok.json").n_vocab == 400


def test_a_failed_run_leaves_the_old_output(slmtok, corpus):
    Path("tok.json").write_text("mine")
    ran = slmtok("train", corpus, "--vocab", 60_000, "--force")
    assert ran.code == 1
    assert Path("tok.json").read_text() == "mine"


def test_input_as_output_is_refused(slmtok, corpus, story_text):
    ran = slmtok("train", corpus, "--vocab", 400, "-o", "corpus.txt", "--force")
    assert (ran.code, ran.err) == (2, "error: output 'corpus.txt' is also the input\n  fix:   name another -o\n")
    ran = slmtok("train", ".", "--vocab", 400, "-o", "./corpus.txt", "--force")
    assert ran.code == 2
    assert corpus.read_text() == story_text


def test_output_must_be_a_file_in_a_folder(slmtok, corpus):
    ran = slmtok("train", corpus, "--vocab", 400, "-o", "no/tok.json")
    assert (ran.code, ran.err) == (1, "error: no folder 'no' for the output 'tok.json'\n  fix:   mkdir -p no\n")
    Path("no").mkdir()
    ran = slmtok("train", corpus, "--vocab", 400, "-o", "no")
    assert (ran.code, ran.err) == (1, "error: output 'no' is a folder\n  fix:   name a file in it\n")
    ran = slmtok("train", corpus, "--vocab", 400, "-o", "/dev/full", "--force")
    assert (ran.code, ran.err) == (1, "error: output '/dev/full' is no regular file\n  fix:   -o - writes to stdout\n")


def test_bad_pattern_and_bad_regex(slmtok, corpus):
    ran = slmtok("train", corpus, "--vocab", 400, "--pattern", "(")
    assert ran.code == 2
    assert ran.err.startswith('error: pattern "(" does not compile: ')
    ran = slmtok("train", corpus, "--vocab", 400, "--pattern", "slm", "--scheme", "char")
    assert ran.code == 2
    assert ran.err.startswith("error: --pattern slm with scheme char, which has a pattern of its own\n")


@pytest.mark.parametrize("value", ["user", "user=", "=x"])
def test_bad_special(slmtok, corpus, value):
    ran = slmtok("train", corpus, "--vocab", 400, "--special", value)
    assert (ran.code, ran.err) == (
        2,
        f"error: --special {value!r} is not ROLE=SPELLING\n  fix:   --special 'user=<|user|>'\n",
    )


def test_special_twice(slmtok, corpus):
    ran = slmtok("train", corpus, "--vocab", 400, "--special", "user=<u>", "--special", "user=<v>")
    assert (ran.code, ran.err) == (2, "error: --special names the role 'user' twice\n")


def test_required_token_that_the_pattern_cuts(slmtok, corpus, leftovers):
    Path("req.txt").write_text("once upon\n")
    ran = slmtok("train", corpus, "--vocab", 500, "--require", "req.txt")
    assert ran.code == 1
    assert ran.err.startswith('error: required token b"once upon" is cut by the pattern after b"once"')
    assert slmtok("train", corpus, "--vocab", 500, "--require", "none.txt").err == (
        "error: no file 'none.txt'\n  where: --require\n"
    )
    assert leftovers() == ["corpus.txt", "req.txt"]
