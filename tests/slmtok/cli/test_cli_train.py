"""`slmtok train`: what it writes and what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import slmtok as package


def test_trains_what_the_call_trains(slmtok, corpus, story_text):
    ran = slmtok("train", corpus, "--vocab", 600, "-o", "tok.json")
    assert (ran.code, ran.err) == (0, "")
    assert package.load("tok.json") == package.train(str(corpus), vocab_size=600)


def test_every_option_reaches_the_training(slmtok, corpus):
    Path("req.txt").write_text("␣hedgehog\n\n fox\\x21\n", encoding="utf-8")
    line = (
        "--vocab 500 --pattern gpt2 --tie-break bytes-greatest --min-count 3 --max-token-bytes 12 --max-token-chars 9 "
        "--forbid-regex th --special user=<|user|> --special bos=<b> --document line --max-bytes 40kB "
        "--max-doc-chars 100 --threads 2 --format text -o a.json"
    )
    ran = slmtok("train", corpus, *line.split())
    assert ran.code == 0, ran.err
    tok = package.load("a.json")
    expected = package.train(
        str(corpus),
        vocab_size=500,
        pattern="gpt2",
        tie_break="bytes-greatest",
        min_count=3,
        max_token_bytes=12,
        max_token_chars=9,
        forbid_regex="th",
        special={"user": "<|user|>", "bos": "<b>"},
        document="line",
        max_bytes=40_000,
        max_doc_chars=100,
        format="text",
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
    assert "|".join(labels) == (
        "corpus|pretokens|learned|refused|compression|first|longest|time|peak memory|for merging|fingerprint"
    )
    assert f"1 document, {size / 1000:.1f} kB" in ran.out
    assert "328 merges; the pair of the last one occurs" in ran.out
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
    assert (
        package.Tokenizer.from_bytes(ran.stdout).fingerprint == package.train(str(corpus), vocab_size=400).fingerprint
    )
    assert ran.err.startswith("stdout: 400 ids")
    ran = slmtok("train", corpus, "--vocab", 400, "-o", "-", "--json")
    assert ran.code == 2
    assert ran.err == "error: --json and -o - both write to stdout\n  fix:   -o FILE, or leave --json out\n"


def test_default_output_is_tok_json(slmtok, corpus, leftovers):
    assert slmtok("train", corpus, "--vocab", 400).code == 0
    assert leftovers() == ["corpus.txt", "tok.json", "tok.lock"]


@pytest.mark.parametrize(("scheme", "size"), [("word", ["--vocab", 280]), ("char", ["--vocab", 280]), ("byte", [])])
def test_other_schemes(slmtok, corpus, scheme, size):
    ran = slmtok("train", corpus, *size, "--scheme", scheme, "--allow-smaller", "-o", "a.json")
    assert ran.code == 0, ran.err
    tok = package.load("a.json")
    assert tok.scheme == scheme
    assert tok.n_vocab == 272 if scheme == "byte" else tok.n_vocab <= 280


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
    step = {"number": 1, "left": "l", "right": "o", "joined": "lo", "id": 272, "count": 5}
    assert rows == [{**step, "before": ["␣", "l", "o", "w"], "after": ["␣", "lo", "w"]}]
    ran = slmtok("train", "a.txt", "--vocab", 280, "--scheme", "word", "--explain", 3)
    assert (ran.code, ran.err) == (
        2,
        "error: --explain with scheme word, which does not merge\n  limit: scheme bpe\n  fix:   leave --explain out\n",
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


def test_dry_run_needs_no_leave_to_replace(slmtok, corpus):
    Path("tok.json").write_text("kept")
    assert slmtok("train", "corpus.txt", "--vocab", 400, "--dry-run").code == 0
    assert Path("tok.json").read_text() == "kept"
    assert slmtok("train", "corpus.txt", "--vocab", 400).code == 1


def test_explain_is_shown_with_quiet_as_its_help_says(slmtok, corpus):
    ran = slmtok("train", "corpus.txt", "--vocab", 300, "--explain", 1, "--quiet")
    assert ran.code == 0 and "merge" in ran.out
    assert "also with --quiet" in " ".join(slmtok("train", "--help").out.replace("│", " ").split())


def test_text_key_needs_records(slmtok, corpus):
    Path("a.jsonl").write_text('{"body": "low low lower"}\n' * 9)
    ran = slmtok("train", "corpus.txt", "--vocab", 300, "--text-key", "body")
    assert (ran.code, ran.err) == (
        2,
        "error: --text-key body names a field, and no file of the corpus has records\n"
        "  limit: jsonl, json, tsv, csv, parquet\n"
        "  fix:   leave --text-key out\n",
    )
    for files in (("a.jsonl",), ("corpus.txt", "a.jsonl")):
        ran = slmtok("train", *files, "--vocab", 274, "--text-key", "body", "--force")
        assert (ran.code, ran.err) == (0, "")
