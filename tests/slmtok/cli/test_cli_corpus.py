"""Corpora on the command line: options, errors, notes, and files of slmtok that are no corpus."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from slmtok.option_values import parse_escapes
from slmtok.training.doc_digests import load_digests


@pytest.fixture
def records(tmp_path: Path) -> Path:
    rows = [{"title": f"t{index}", "text": f"story {index} of many stories"} for index in range(40)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "b.tsv").write_text("".join(f"{row['title']}\t{row['text']}\n" for row in rows))
    (tmp_path / "c.txt").write_text("%%".join(row["text"] for row in rows))
    return tmp_path


def trained(slmtok, *arguments):
    ran = slmtok("train", *arguments, "--vocab", "300", "--allow-smaller", "-o", "t.json", "--force", "--json")
    assert ran.code == 0, ran.err
    return ran.json["result"]


def test_options_reach_the_reader(slmtok, records):
    joined = trained(slmtok, "a.jsonl", "--text-template", r"{title}\n{text}")
    assert joined["documents"] == 40
    sizes = {name: trained(slmtok, *line)["bytes"] for name, line in {
        "field": ["a.jsonl"],
        "column": ["b.tsv", "--text-key", "2"],
        "numbered": ["b.tsv", "--text-template", "{2}"],
        "separated": ["c.txt", "--separator", "%%"],
    }.items()}  # fmt: skip
    assert len(set(sizes.values())) == 1
    titles = sum(len(f"t{index}\n") for index in range(40))
    assert joined["bytes"] == sizes["field"] + titles
    assert trained(slmtok, "a.jsonl", "--max-docs", "7")["documents"] == 7
    half = trained(slmtok, "a.jsonl", "--sample", "50%")["documents"]
    assert 8 < half < 32
    assert trained(slmtok, "a.jsonl", "--sample", "0.5", "--seed", "0")["documents"] == half
    assert trained(slmtok, ".", "--exclude", "*.tsv", "--exclude", "*.txt", "--exclude", "t.*")["documents"] == 40
    options = json.loads(Path("t.json").read_text())["options"]
    assert options["exclude"] == ["*.tsv", "*.txt", "t.*"]


@pytest.mark.parametrize(
    ("line", "code", "told"),
    [
        (["a.jsonl", "--sample", "2"], 2, "--sample 0.02 for 2 % of them; --max-docs 2 for the first 2"),
        (["a.jsonl", "--sample", "much"], 2, "a share such as 0.1 or 10%"),
        (["a.jsonl", "--domain", "code"], 2, "NAME=GLOB"),
        (["a.jsonl", "--text-template", "plain"], 2, "--text-template"),
        (["a.jsonl", "--separator", "%%"], 2, "--separator %% splits text files"),
        (["c.txt", "--text-template", "{a}"], 2, "leave --text-template out"),
        (["a.jsonl", "--exclude", "*"], 1, "--exclude leaves none of 1 files"),
        (["b.tsv"], 1, "--text-key 2"),
        (["hf:no/such"], 1, "https://huggingface.co cannot be reached"),
        (["d.parquet"], 1, "has 1 file ending"),
    ],
)
def test_errors_speak_of_flags(slmtok, records, monkeypatch, line, code, told):
    import datasets

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    ran = slmtok("train", *line, "--vocab", "300", "-o", "t.json")
    assert (ran.code, told in ran.err) == (code, True), ran.err


def test_dry_run_of_what_is_no_file(slmtok, records):
    ran = slmtok("train", "hf:a/b", "b.tsv", "--vocab", "300", "--text-key", "2", "--dry-run", "--json")
    formats = [(row["format"], row["bytes"]) for row in ran.json["result"]["files"]]
    assert formats == [("hugging_face", None), ("tsv", (records / "b.tsv").stat().st_size)]


@pytest.mark.skipif(os.name == "nt", reason="no name of Windows has a line feed")
def test_a_line_feed_in_a_name_is_shown_in_one_line(slmtok, records):
    (records / "new\nline.txt").write_text("some text")
    ran = slmtok("train", "new\nline.txt", "--vocab", "300", "--dry-run", "-o", "t.json")
    assert "  text  new\\nline.txt  9 bytes\n" in ran.out
    slmtok("train", "a.jsonl", "--vocab", "280", "-o", "new\nline.json")
    assert slmtok("info", "new\nline.json").out.startswith("new\\nline.json\n")


def test_escapes():
    assert parse_escapes(r"a\n\t\r\f\0\\n\x") == "a\n\t\r\f\0\\n\\x"


def test_count_says_what_a_corpus_is_worth(slmtok, records):
    (records / "d.jsonl").write_bytes((records / "a.jsonl").read_bytes())
    worth = slmtok("count", "a.jsonl", "d.jsonl", "-o", "a.counts", "--json").json["result"]["worth"]
    assert (worth["documents"], worth["duplicates"], worth["duplicates_exact"]) == (80, 40, True)
    assert (worth["shortest"], worth["longest"]) == (23, 24)
    assert [row["verdict"] for row in worth["vocabularies"]] == ["never"] * 4
    told = slmtok("count", "a.jsonl", "-o", "b.counts").out
    assert "duplicates  none" in told
    assert "vocabulary  4,096 and more: more than this text can fill" in told
    assert told.count("more than") == 1, "one line for all sizes that are too large"
    (records / "long.txt").write_text("".join(f" {number}" for number in range(100_000)))
    told = slmtok("count", "long.txt", "--pattern", "word", "-o", "long.counts").out
    assert "and more: not certain; slmtok train names the size that the text fills" in told
    assert told.count("not certain") == 1, "one line for all sizes that are not certain"
    one_document = slmtok("count", "c.txt", "-o", "c.counts", "--json").json["result"]["worth"]
    assert one_document["longest"] == (records / "c.txt").stat().st_size


@pytest.mark.parametrize("limit", [["--max-bytes", "100"], ["--max-chars", "100"]])
def test_what_a_limit_left_out_is_worth_nothing_and_leaks_nothing(slmtok, records, limit):
    asked = ["count", "a.jsonl", *limit, "--json", "-o"]
    result = slmtok(*asked, "part.counts", "--doc-digests").json["result"]
    assert (result["worth"]["documents"], result["worth"]["bytes"]) == (result["documents"], 100)
    assert 1 < result["documents"] < 40
    assert len(load_digests(records / "part.counts.digests")) == result["documents"]
    engine = slmtok("train", "a.jsonl", *limit, "--vocab", "272", "-o", "t.json", "--save-counts", "e.counts")
    assert engine.code == 0
    assert (records / "e.counts").read_bytes() == (records / "part.counts").read_bytes()


@pytest.mark.parametrize("command", ["count", "pack", "eval", "audit"])
def test_counts_are_not_taken_for_text(slmtok, records, command):
    slmtok("count", "a.jsonl", "-o", "a.counts")
    slmtok("train", "a.jsonl", "--vocab", "272", "-o", "t.json")
    named = {"count": ["a.counts"], "pack": ["a.counts", "-t", "t.json"]}.get(command, ["t.json", "--on", "a.counts"])
    ran = slmtok(command, *named, *([] if command == "eval" else ["-o", "out"]))
    assert (ran.code, "is a counts file, not text" in ran.err) == (2, True)


def test_ray_refuses_what_only_order_tells(slmtok, records):
    ran = slmtok("count", "a.jsonl", "--ray", "auto", "--max-docs", "3", "-o", "a.counts")
    assert (ran.code, "leave --max-docs out" in ran.err) == (2, True)


def test_encode_reads_records_where_asked(slmtok, records):
    trained(slmtok, "a.jsonl")
    texts = [json.loads(line)["text"] for line in Path("a.jsonl").read_text().splitlines()]
    Path("texts.txt").write_text("".join(text + "\n" for text in texts))
    wanted = slmtok("encode", "texts.txt", "-t", "t.json", "--document", "line").out
    for line in (
        ["a.jsonl", "--format", "jsonl"],
        ["a.jsonl", "--format", "auto"],
        ["b.tsv", "--format", "tsv", "--text-key", "2"],
        ["c.txt", "--separator", "%%"],
    ):
        ran = slmtok("encode", *line, "-t", "t.json")
        assert (ran.out, ran.err) == (wanted, ""), line
        binary = slmtok("encode", *line, "-t", "t.json", "--output-format", "bin", "-o", "x.bin", "--force", "--json")
        assert binary.json["result"]["documents"] == 40, line
    few = slmtok("encode", "a.jsonl", "--format", "jsonl", "--max-docs", "3", "-t", "t.json").out
    assert few == "".join(wanted.splitlines(keepends=True)[:3])
    assert "JSON included" in slmtok("encode", "a.jsonl", "-t", "t.json").err


def test_what_is_wrong_with_a_corpus_is_placed(slmtok, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"all good here")
    (tmp_path / "b.txt").write_bytes(b"text and \xff more")
    ran = slmtok("count", "a.txt", "b.txt", "-o", "x.counts")
    assert "note: 1 invalid byte in 1 of 2 documents were kept as bytes (first: b.txt, byte 9); " in ran.err
    assert "for text in another encoding, name it: run it again with --encoding NAME --force\n" in ran.err
    assert slmtok("count", "a.txt", "b.txt", "-o", "x.counts", "--encoding", "latin-1", "--force").code == 0


def test_lengths_say_that_they_are_of_whole_documents(slmtok, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"twelve bytes")
    ran = slmtok("count", "a.txt", "--max-doc-chars", "5", "-o", "x.counts")
    assert "12 bytes before --max-doc-chars" in ran.out and "left out 7 bytes of 1 document" in ran.err
    assert "before" not in slmtok("count", "a.txt", "-o", "y.counts").out


def test_parts_that_overlap_are_seen_by_their_digests(slmtok, tmp_path):
    texts = [f"document {number} of many" for number in range(9)]
    for name, part in (("a", texts[:5]), ("b", texts[3:8]), ("c", texts[4:6]), ("d", texts[8:])):
        (tmp_path / f"{name}.lines").write_text("\n".join(part) + "\n")
        slmtok("count", f"{name}.lines", "--doc-digests", "-o", f"{name}.counts")
    ran = slmtok("merge", "a.counts", "b.counts", "d.counts", "-o", "x.counts")
    assert ran.code == 0 and "2 different documents in more than one of the 3 parts" in ran.err
    ran = slmtok("merge", "a.counts", "b.counts", "c.counts", "-o", "y.counts")
    assert ran.code == 2 and "all documents of c.counts are in b.counts too" in ran.err and "fix:" in ran.err
    assert slmtok("merge", "b.counts", "c.counts", "--allow-duplicate", "-o", "y.counts").code == 0
    slmtok("count", "d.lines", "-o", "c.counts", "--force")
    ran = slmtok("merge", "b.counts", "c.counts", "-o", "w.counts")
    assert ran.code == 0 and "c.counts.digests is of other counts than c.counts, and was not used" in ran.err
    (tmp_path / "c.counts.digests").unlink()
    assert "different" not in slmtok("merge", "b.counts", "c.counts", "-o", "z.counts").err


@pytest.mark.parametrize("weight", ["2", "0.5", ".5", "1/3"])
def test_a_weight_is_no_glob(slmtok, corpus, weight):
    for line in (["train", corpus, "--vocab", "300"], ["count", corpus]):
        ran = slmtok(*line, "--domain", f"books={weight}", "-o", "x")
        assert ran.code == 2
        assert f"--domain books={weight} is a glob that matches no file, not a weight\n" in ran.err
        assert "fix:   --domain books=GLOB with a glob that matches its files; " in ran.err
        assert ran.err.endswith(f"its weight in training is --mix books={weight}\n")


def test_a_number_may_be_the_name_of_a_file(slmtok, corpus):
    Path("2").write_text("the cat sat on the mat\n")
    assert slmtok("count", corpus, "2", "--domain", "books=2", "-o", "x.counts").code == 0


def test_a_domain_without_documents_is_named(slmtok, corpus):
    told = "note: domain 'code' has no document: --domain 'code=*.py' matches no file of the corpus\n"
    assert told in slmtok("count", corpus, "--domain", "code=*.py", "-o", "x.counts").err
    assert told in slmtok("train", corpus, "--domain", "code=*.py", "--vocab", "300", "-o", "tok.json").err
    assert told not in slmtok("count", corpus, "--domain", "code=*.txt", "-o", "y.counts").err


@pytest.fixture
def made(slmtok, corpus):
    """A tokenizer with its lock, and packed data in two layouts."""
    slmtok("train", corpus, "--vocab", "300", "-o", "tok.json")
    slmtok("pack", corpus, "-t", "tok.json", "-o", "data", "--val", "none")
    slmtok("pack", corpus, "-t", "tok.json", "-o", "nano", "--output-format", "nanogpt", "--val", "none")


def test_our_own_files_are_no_corpus(slmtok, made):
    kinds = {
        "tok.json": "a tokenizer file",
        "tok.lock": "the lock of a tokenizer",
        "data/train-00000.bin": "a shard of packed data",
        "data/manifest.json": "the manifest of packed data",
        "nano/meta.json": "the metadata of packed data",
        "data": "the manifest of packed data",
    }
    for path, told in kinds.items():
        ran = slmtok("count", path, "-o", "out.counts")
        assert ran.code == 2 and f"is {told} of slmtok, not text" in ran.err and "fix:" in ran.err, path
    for command in (["train", "--vocab", "300"], ["pack", "-t", "tok.json"], ["extend", "tok.json", "--vocab", "400"]):
        ran = slmtok(*command, "tok.json", "-o", "out")
        assert ran.code == 2 and "slmtok slice and slmtok extend make other sizes" in ran.err, command
    assert slmtok("count", "tok.json", "--format", "text", "-o", "out.counts").code == 0


def test_a_folder_with_a_tokenizer_beside_the_text(slmtok, corpus, tmp_path):
    (tmp_path / "texts").mkdir()
    corpus.rename(tmp_path / "texts" / "corpus.txt")
    assert slmtok("train", "texts", "--vocab", "300", "-o", "texts/tok.json").code == 0
    ran = slmtok("count", "texts", "-o", "out.counts")
    assert ran.code == 2 and "fix:   --exclude tok.json --exclude tok.lock leave them out" in ran.err
    both = ("--exclude", "tok.json", "--exclude", "tok.lock")
    assert slmtok("count", "texts", *both, "-o", "both.counts").code == 0
    (tmp_path / "texts" / "other.json").write_text('{"format": "mine", "text": "x"}')
    assert slmtok("count", "texts", "--exclude", "tok.*", "-o", "out.counts").code == 0


@pytest.fixture
def two_keys(tmp_path: Path) -> None:
    """Records with the field text, and a table with the column body, in the working folder."""
    texts = [f"story {index} of many stories" for index in range(40)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    rows = "".join(f"{at}\t{text} and other words\n" for at, text in enumerate(texts))
    (tmp_path / "b.tsv").write_text(f"id\tbody\n{rows}")


@pytest.mark.parametrize("key", [[], ["--text-key", "text"], ["--text-key=body"]])
@pytest.mark.parametrize(
    ("before", "after"), [("train", "--vocab 290 --pattern gpt2 -o x"), ("extend tok.json", "--vocab 280 -o x"),
                          ("count", "--max-doc-chars 20 -o x")]
)  # fmt: skip
def test_files_with_different_keys_are_counted_apart(slmtok, two_keys, key, before, after):
    assert slmtok("train", "a.jsonl", "--vocab", "275", "-o", "tok.json").code == 0
    ran = slmtok(*before.split(), "a.jsonl", "b.tsv", *key, *after.split())
    assert "limit: --text-key is one for all files of a corpus\n" in ran.err
    fix = ran.err.partition("fix:   ")[2].strip()
    assert "slmtok count a.jsonl --text-key text " in fix and "slmtok count b.tsv --text-key body " in fix
    for line in fix.split(" && "):
        ran = slmtok(*shlex.split(line)[1:])
        assert ran.code == 0, (line, ran.err)
    assert Path("x").exists()


def test_a_table_without_names_has_a_key_that_is_to_be_found(slmtok, two_keys):
    Path("c.tsv").write_text("1\tthe cat sat\n2\tthe dog ran\n")
    err = slmtok("train", "a.jsonl", "c.tsv", "--vocab", "290", "-o", "x").err
    assert "limit: --text-key is one for all files of a corpus; KEY is the column of the text in c.tsv\n" in err
    assert "slmtok count c.tsv --text-key KEY -o c.counts && slmtok train a.counts c.counts --vocab 290 -o x\n" in err


def test_one_key_that_fits_all_files_is_proposed(slmtok, two_keys):
    Path("c.jsonl").write_text(json.dumps({"body": "the cat sat", "id": 1}) + "\n")
    err = slmtok("count", "b.tsv", "c.jsonl", "-o", "x").err
    assert "limit:" not in err and "fix:   --text-key body" in err
    assert slmtok("count", "b.tsv", "c.jsonl", "--text-key", "body", "-o", "x").code == 0


ONE_KEY = ["pack FILES -t tok.json -o x", "audit tok.json --on a.jsonl --on b.tsv -o x", "eval tok.json --on FOLDER",
           "encode FOLDER -t tok.json --format auto -o x"]  # fmt: skip
"""Commands that read one text, of a corpus with two keys."""


@pytest.mark.parametrize("key", ["text", "body"])
@pytest.mark.parametrize("line", ONE_KEY)
def test_files_with_different_keys_are_joined_under_one(slmtok, two_keys, environment, key, line):
    """Each of the keys would be proposed in the place of the other."""
    assert slmtok("train", "a.jsonl", "--vocab", "275", "-o", "tok.json").code == 0
    Path("texts").mkdir()
    for name in ("a.jsonl", "b.tsv") if "FOLDER" in line else ():
        Path(name).rename(f"texts/{name}")
    Path("texts/notes.json").write_text(json.dumps({"a": 1}))
    words = line.replace("FILES", "a.jsonl b.tsv").replace("FOLDER", "texts").split()
    ran = slmtok(*words, "--text-key", key)
    assert "limit: --text-key is one for all files of a corpus\n" in ran.err
    assert not Path("x").exists()
    command, _, again = ran.err.partition("fix:   ")[2].strip().partition(" && ")
    subprocess.run(command.replace("python", sys.executable, 1), shell=True, check=True, env=environment)
    ran = slmtok(*shlex.split(again)[1:])
    assert ran.code == 0, ran.err
    made = command.rpartition(" > ")[2]
    records = [json.loads(line)[key] for line in Path(made).read_text().splitlines()]
    assert len(records) == 80 + ("FOLDER" in line) and again.count(made) == 1


@pytest.mark.parametrize("option", ["--domain=b=b.tsv", "--exclude=c", "--encoding=latin-1"])
def test_files_with_different_keys_that_cannot_be_joined(slmtok, two_keys, option):
    """A domain names files, and the text of other encodings would not be that of the joined one."""
    assert slmtok("train", "a.jsonl", "--vocab", "275", "-o", "tok.json").code == 0
    err = slmtok("pack", "a.jsonl", "b.tsv", "-t", "tok.json", option, "-o", "x").err
    is_joined = option.startswith("--exclude")
    parts = "fix:   --text-key text for a.jsonl; --text-key body for b.tsv; each in a call of its own\n"
    assert (parts not in err) == is_joined and (" && slmtok pack " in err) == is_joined


def test_json_that_is_read_as_text_has_no_key(slmtok, two_keys):
    Path("notes.json").write_text(json.dumps({"a": 1}))
    Path("c.jsonl").write_text(json.dumps({"content": "the cat sat"}) + "\n")
    fix = slmtok("count", "c.jsonl", "b.tsv", "notes.json", "-o", "x").err.partition("fix:   ")[2]
    assert "slmtok count c.jsonl notes.json --text-key content -o c.counts && slmtok count b.tsv --text-key body" in fix
