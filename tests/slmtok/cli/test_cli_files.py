"""`slmtok vocab`, `info`, `verify` and `sample-corpus`."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

import slmtok as package
from slmtok.analysis.token_classes import CLASSES, main_class
from slmtok.cli import output
from slmtok.option_values import parse_bytes
from slmtok.sizes import format_bytes
from slmtok.token_text import unescape_token

# --- vocab -----------------------------------------------------------------------------------------------------------


def test_list_has_every_id(slmtok, tok):
    tokenizer = package.load(tok)
    lines = slmtok("vocab", tok).out.splitlines()
    assert len(lines) == 1000
    assert lines[0].split() == ["0", "0", "<?>", "unk"]
    assert lines[15].split() == ["15", "0", "reserved"]
    for id in (16, 48, 271, 272, 999):
        words = lines[id].split()
        assert int(words[0]) == id
        assert int(words[1]) == len(tokenizer.token_bytes(id))
        assert unescape_token(words[2]) == tokenizer.token_bytes(id)
    left, right = map(int, lines[999].split()[3].split("+"))
    assert tokenizer.token_bytes(left) + tokenizer.token_bytes(right) == tokenizer.token_bytes(999)


def test_grep_class_and_sort(slmtok, tok):
    rows = slmtok("vocab", tok, "--grep", "^ th", "--sort", "bytes", "--json").json["result"]["rows"]
    assert len(rows) > 3
    assert all(row["text"].startswith(" th") for row in rows)
    assert [row["bytes"] for row in rows] == sorted((row["bytes"] for row in rows), reverse=True)
    rows = slmtok("vocab", tok, "--class", "special", "--json").json["result"]["rows"]
    assert [row["id"] for row in rows] == list(range(16))
    assert rows[2] == {
        "id": 2,
        "bytes": 0,
        "hex": b"</s>".hex(),
        "text": "</s>",
        "class": "special",
        "role": "eos",
        "parts": None,
    }
    rows = slmtok("vocab", tok, "--class", "split", "--json").json["result"]["rows"]
    assert [row["id"] for row in rows][:128] == list(range(16 + 128, 272))
    assert all(row["text"] is None for row in rows)
    ran = slmtok("vocab", tok, "--grep", "(")
    assert ran.code == 2
    assert ran.err.startswith("error: --grep '(' is not a regular expression: ")
    for regex, reason in (("(" * 3000 + ")" * 3000, "it nests too deep"), ("a{4294967295}", "repetition number")):
        ran = slmtok("vocab", tok, "--grep", regex)
        assert ran.code == 2 and "is not a regular expression: " in ran.err and reason in ran.err


@pytest.mark.parametrize(
    ("options", "words", "lines"),
    [("--head 30", "", 30), ("--limit=7 --sort bytes", "--sort bytes ", 7), ("-n", "", 20)],
)
def test_the_beginning_of_the_list_is_that_of_head(slmtok, tok, options, words, lines):
    ran = slmtok("vocab", tok, *options.split())
    assert ran.code == 2
    assert f"  fix:   slmtok vocab {tok} {words}| head -n {lines}\n" in ran.err


@pytest.mark.parametrize(
    ("token", "name"),
    [
        (" the", "words"),
        ("Ünï", "words"),
        (" 12", "digits"),
        ("!?", "punctuation"),
        (" (", "punctuation"),
        (" ", "whitespace"),
        ("\n\n", "whitespace"),
        ("don't", "mixed"),
        ("a1", "mixed"),
        ("\x00", "mixed"),
    ],
)
def test_classes(token, name):
    assert main_class(token.encode()) == name
    assert main_class(b"\xff") == "split"
    assert CLASSES["non-ascii"]("é".encode()) and not CLASSES["non-ascii"](b"\xc3")


@pytest.mark.parametrize("option", ["--grep a", "--class words", "--sort bytes"])
def test_metadata_takes_no_filter(slmtok, tok, leftovers, option):
    ran = slmtok("vocab", tok, "--metadata", *option.split(), "-o", "v.json")
    assert (ran.code, ran.out) == (2, "")
    name = option.split()[0]
    assert ran.err == (
        f"error: {name} together with --metadata, which always covers all ids\n  fix:   leave {name} out\n"
    )
    assert leftovers() == []


def test_metadata_is_vocab_json(slmtok, tok):
    from slmmodel.vocab import VocabMeta

    ran = slmtok("vocab", tok, "--metadata", "-o", "vocab.json")
    tokenizer = package.load(tok)
    assert (ran.code, ran.out) == (0, f"vocab.json: 1,000 ids, fingerprint {tokenizer.fingerprint}\n")
    assert json.loads(Path("vocab.json").read_bytes()) == tokenizer.metadata()
    assert VocabMeta.load("vocab.json").fingerprint == tokenizer.fingerprint
    assert slmtok("vocab", tok, "--metadata").stdout == Path("vocab.json").read_bytes()
    assert slmtok("vocab", tok, "--metadata", "--json").json["result"] == tokenizer.metadata()
    assert slmtok("vocab", tok, "--metadata", "-o", "vocab.json").code == 1


# --- info ------------------------------------------------------------------------------------------------------------


def test_info_of_a_tokenizer(slmtok, tok):
    tokenizer = package.load(tok)
    content = slmtok("info", tok, "--json").json
    result = content["result"]
    assert content["schema"] == "slmtok.info/1"
    assert result["kind"] == "slmtok-tokenizer"
    assert (result["n_vocab"], result["padded_vocab"], result["merges"]) == (1000, 1024, 728)
    assert result["fingerprint"] == tokenizer.fingerprint and result["sha256"] == tokenizer.sha256
    assert result["pattern"]["name"] == "slm"
    assert result["options"]["min_count"] == 2
    assert result["bytes"] == Path(tok).stat().st_size
    text = slmtok("info", tok).out
    assert "1,000, padded 1,024; 728 merges" in text
    assert tokenizer.fingerprint in text and tokenizer.sha256 in text


def test_info_of_metadata_and_of_anything_else(slmtok, tok):
    slmtok("vocab", tok, "--metadata", "-o", "v.json")
    assert slmtok("info", "v.json", "--json").json["result"]["kind"] == "slmtok-vocab"
    assert "1,000, padded 1,024" in slmtok("info", "v.json").out
    Path("a.txt").write_text("hello")
    assert slmtok("info", "a.txt").err == (
        "error: a.txt is text, not a file that slmtok info describes\n"
        "  limit: known: tokenizer files, locks, counts, vocab.json, packed folders, token files, tiktoken:NAME\n"
        "  fix:   slmtok count a.txt -o a.counts counts its documents, bytes and pretokens\n"
    )


# --- verify ----------------------------------------------------------------------------------------------------------


def test_sound_files(slmtok, tok):
    slmtok("vocab", tok, "--metadata", "-o", "v.json")
    fingerprint = package.load(tok).fingerprint[:12]
    ran = slmtok("verify", tok, "v.json", "--deep")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        f"{tok}: valid; scheme bpe, 1,000 ids, fingerprint {fingerprint}; all 984 tokens decode to their bytes\n"
        f"v.json: valid; vocab.json of 1000 ids, fingerprint {fingerprint}\n"
    )
    assert slmtok("verify", tok, "--quiet").out == ""


def test_a_damaged_file_is_answered_with_three(slmtok, tok):
    data = Path(tok).read_bytes()
    Path("cut.json").write_bytes(data[:-400])
    Path("changed.json").write_bytes(data.replace(b'"min_count":2', b'"min_count":3'))
    ran = slmtok("verify", "cut.json", tok, "changed.json")
    assert ran.code == 3
    lines = ran.out.splitlines()
    assert lines[0].startswith("cut.json: INVALID: ")
    assert any(line.startswith(f"{tok}: valid; ") for line in lines)
    assert any(line.startswith("changed.json: INVALID: ") for line in lines)
    content = slmtok("verify", "cut.json", tok, "--json").json
    assert content["ok"] is False and content["schema"] == "slmtok.verify/1"
    assert [file["ok"] for file in content["result"]["files"]] == [False, True]
    assert content["result"]["files"][0]["error"]["class"] == "CorruptFile"


def test_changed_golden_vectors_are_found(slmtok, tok):
    data = Path(tok).read_bytes()
    start = data.index(b'"ids":[', data.index(b'"golden"') + 60) + len(b'"ids":[')
    stop = data.index(b",", start)
    forged = data[:start] + b"17" + data[stop:]
    head = forged[: forged.rindex(b'"sha256"')]
    Path("forged.json").write_bytes(head + b'"sha256":"' + hashlib.sha256(head).hexdigest().encode() + b'"}\n')
    ran = slmtok("verify", "forged.json")
    assert ran.code == 3
    assert ran.out.startswith("forged.json: INVALID: golden vector 1 ")


@pytest.mark.parametrize("change", [{"n_vocab": 5}, {"fingerprint": "x"}, {"specials": {"bos": 5000}}, {"version": 2}])
def test_damaged_metadata(slmtok, tok, change):
    Path("v.json").write_text(json.dumps({**package.load(tok).metadata(), **change}))
    ran = slmtok("verify", "v.json")
    assert ran.code == 3
    assert ran.out.startswith("v.json: INVALID: v.json is not a valid vocab.json: ")
    assert next(iter(change)) in ran.out


def test_a_missing_file_is_a_failure_and_the_others_are_checked(slmtok, tok):
    Path("cut.json").write_bytes(Path(tok).read_bytes()[:-30])
    ran = slmtok("verify", "none.json", "cut.json", tok)
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.startswith(
        "none.json: NOT CHECKED: no file 'none.json'\n  where: the folder '.'\n"
        "  fix:   check the name; paths are relative to the working folder\n"
    )
    assert "\ncut.json: INVALID: " in ran.out
    assert f"\n{tok}: valid; " in ran.out
    content = slmtok("verify", "none.json", tok, "--json").json
    assert content["ok"] is False
    assert [(one["ok"], one["checked"]) for one in content["result"]["files"]] == [(False, False), (True, True)]


# --- sample-corpus ---------------------------------------------------------------------------------------------------


def test_stories(slmtok):
    ran = slmtok("sample-corpus", "--bytes", "30kB", "-o", "s.txt")
    assert ran.code == 0
    text = Path("s.txt").read_bytes()
    assert 29_000 < len(text) <= 30_000
    assert ran.out.startswith("s.txt: ") and ran.out.endswith(f" stories, {len(text) / 1000:.1f} kB, seed 0\n")
    assert slmtok("sample-corpus", "--bytes", "30_000", "-o", "-").stdout == text
    assert slmtok("sample-corpus", "--bytes", "30kB", "--seed", "1", "-o", "-").stdout != text
    result = slmtok("sample-corpus", "--bytes", "5kB", "-o", "t.txt", "--json").json
    assert result["schema"] == "slmtok.sample-corpus/1"
    assert result["result"]["bytes"] == Path("t.txt").stat().st_size
    ran = slmtok("sample-corpus", "--bytes", "5kB", "-o", "t.txt")
    assert (ran.code, ran.err) == (
        1,
        "error: output 't.txt' exists\n  fix:   --force to replace it, or name another --output\n",
    )


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5000", 5000),
        ("20MB", 20_000_000),
        ("1GiB", 2**30),
        ("1.5kB", 1500),
        ("2k", 2000),
        ("1_000", 1000),
        ("0.5 MiB", 2**19),
    ],
)
def test_sizes(text, number):
    assert parse_bytes(text) == number


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (20_000_000, "20.0 MB"),
        (3 * 10**15, "3000.0 TB"),
    ],
)
def test_sizes_for_people(number, text):
    assert format_bytes(number) == text


def test_times_for_people():
    assert [output.in_time(seconds) for seconds in (0.004, 12.34, 99.9, 200, 3599, 52_827)] == [
        "0.00 s",
        "12.3 s",
        "99.9 s",
        "3 min 20 s",
        "59 min 59 s",
        "14 h 40 min",
    ]


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "a\u2028b", "今天", "\x1b[2J"])
def test_a_table_holds_any_name(name):
    """A cell stays whole and in its line, whatever a file is called."""
    head, row = output.table(["", "ids"], [[name, "12"]]).strip("\n").split("\n")
    shown = output.printable(name).replace("\n", "\\n").expandtabs()
    assert row.startswith(f"  {shown}")
    assert (head[-3:], row[-2:]) == ("ids", "12")
