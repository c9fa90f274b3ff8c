"""`slmtok encode` and `slmtok decode`: every form of ids there and back, and each bad input with its answer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import slmtok as package

TEXT = "Hello 🦊 café <s>\nsecond line\r\n\n  last".encode()
RAW = TEXT + b"\xff\xe2\x82"


@pytest.fixture
def tokenizer(tok):
    return package.load(tok)


def test_ids_are_those_of_the_call(slmtok, tok, tokenizer):
    ran = slmtok("encode", "-t", tok, stdin=TEXT)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == " ".join(map(str, tokenizer.encode_list(TEXT))) + "\n"


def test_lines_of_ids_are_those_of_the_batch(slmtok, tok, tokenizer):
    """Enough for several writes, with documents that are empty."""
    texts = [TEXT[: n % len(TEXT)].replace(b"\n", b" ").replace(b"\r", b" ") for n in range(3000)]
    ran = slmtok("encode", "-t", tok, "--document", "line", "--bos", "--eos", "--threads", "2", stdin=b"\n".join(texts))
    rows = tokenizer.encode_batch(texts, bos=True, eos=True)
    assert ran.out == "".join(" ".join(map(str, row.tolist())) + "\n" for row in rows)


def test_lines_of_ids_need_no_numpy(tok, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_bytes(TEXT)
    code = "import sys; from slmtok.cli import main; assert main(sys.argv[1:]) == 0; assert 'numpy' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code, "encode", "a.txt", "-t", tok], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("to", ["ids", "npy", "bin"])
@pytest.mark.parametrize("document", ["file", "line"])
def test_files_there_and_back(slmtok, tok, to, document):
    Path("a.txt").write_bytes(RAW + b"\n")
    name = "out.txt" if to == "ids" else f"out.{to}"
    ran = slmtok("encode", "a.txt", "-t", tok, "--output-format", to, "--document", document, "-o", name)
    assert ran.code == 0 and ran.err.startswith("note: a.txt is not UTF-8 (first: byte ")
    assert ran.out.startswith(f"{name}: ")
    ran = slmtok("decode", name, "-t", tok, "--document", document, "--errors", "keep")
    end = b"\n" if document == "file" else b""
    assert (ran.code, ran.err, ran.stdout) == (0, "", RAW + b"\n" + (b"\n" if end and document == "line" else b""))


@pytest.mark.parametrize("to", ["ids", "npy", "bin"])
def test_pipes_there_and_back(slmtok, tok, to):
    ids = slmtok("encode", "-t", tok, "--output-format", to, stdin=RAW)
    assert slmtok("decode", "-t", tok, "--input-format", to, "--errors", "keep", stdin=ids.stdout).stdout == RAW


def test_arrays_and_their_offsets(slmtok, tok, tokenizer):
    Path("a.txt").write_bytes(TEXT)
    assert slmtok("encode", "a.txt", "-t", tok, "--output-format", "npy", "--document", "line", "-o", "a.npy").code == 0
    assert slmtok("encode", "a.txt", "-t", tok, "--output-format", "bin", "--document", "line", "-o", "a.bin").code == 0
    expected = tokenizer.encode_batch(TEXT.split(b"\n"))
    ids, offsets = np.load("a.npy"), np.load("a.npy.offsets.npy")
    assert ids.dtype == np.uint16 and offsets.dtype == np.int64
    assert ids.tolist() == expected.ids.tolist()
    assert offsets.tolist() == expected.offsets.tolist()
    assert Path("a.bin").read_bytes() == expected.ids.astype("<u2").tobytes()
    assert np.load("a.bin.offsets.npy").tolist() == expected.offsets.tolist()


@pytest.mark.parametrize("to", ["npy", "bin"])
def test_documents_that_an_array_alone_does_not_keep(slmtok, tok, to):
    Path("a.txt").write_text("one\ntwo\nthree\n")
    command = ("encode", "a.txt", "-t", tok, "--document", "line", "--output-format", to)
    on_stdout = slmtok(*command)
    remedy = on_stdout.err.removeprefix("note: 3 documents are one array on stdout; run it again with ")
    output = remedy.removesuffix(" also writes where each begins\n")
    assert (on_stdout.code, output) == (0, f"-o ids.{to}")
    assert slmtok(*command, *output.split()).err == ""
    decoded = slmtok("decode", f"ids.{to}", "-t", tok, "--document", "line")
    assert (decoded.out, decoded.err) == ("one\ntwo\nthree\n", "")
    Path(f"ids.{to}.offsets.npy").unlink()
    decoded = slmtok("decode", f"ids.{to}", "-t", tok, "--document", "line")
    fact = f"note: ids.{to} was decoded as one document: no ids.{to}.offsets.npy beside it says where each begins\n"
    assert (decoded.code, decoded.out, decoded.err) == (0, "onetwothree\n", fact)
    decoded = slmtok("decode", "-t", tok, "--input-format", to, "--document", "line", stdin=on_stdout.stdout)
    assert decoded.out == "onetwothree\n" and "the array on stdin was decoded as one document" in decoded.err
    assert slmtok("decode", f"ids.{to}", "-t", tok).err == ""


@pytest.mark.parametrize("flags", [(), ("--bos", "--eos"), ("--document", "line"), ("--document", "line", "--eos")])
@pytest.mark.parametrize("text", [b"", b"\n", RAW, RAW + b"\n", b"\n\n" + RAW + b"\n\n"])
def test_from_file_to_file_is_the_same_as_through_memory(slmtok, tok, flags, text):
    Path("a.txt").write_bytes(text)
    mapped = slmtok("encode", "a.txt", "-t", tok, "--output-format", "bin", "-o", "a.bin", *flags, "--json").json[
        "result"
    ]
    piped = slmtok(
        "encode", "-", "-t", tok, "--output-format", "bin", "-o", "b.bin", *flags, "--json", stdin=text
    ).json["result"]
    assert {**mapped, "path": ""} == {**piped, "path": ""}
    assert Path("a.bin").read_bytes() == Path("b.bin").read_bytes()
    assert Path("a.bin.offsets.npy").read_bytes() == Path("b.bin.offsets.npy").read_bytes()
    assert slmtok("encode", "a.txt", "-t", tok, "--output-format", "bin", "-o", "a.bin").code == 1


def test_bos_eos_and_lines(slmtok, tok, tokenizer):
    ran = slmtok("encode", "-t", tok, "--bos", "--eos", "--document", "line", stdin=b"one\n\ntwo\n")
    rows = [[int(word) for word in line.split()] for line in ran.out.splitlines()]
    assert rows == [tokenizer.encode_list(text, bos=True, eos=True) for text in (b"one", b"", b"two")]


def test_specials_only_by_name(slmtok, tok, tokenizer):
    text = b"a<s>b<sep></s>"
    assert slmtok("encode", "-t", tok, stdin=text).out.split() == list(map(str, tokenizer.encode_list(text)))
    for names, allowed in (
        (["bos"], ["bos"]),
        (["<s>,sep"], ["bos", "sep"]),
        (["bos", "eos"], ["bos", "eos"]),
        (["all"], "all"),
    ):
        flags = [flag for name in names for flag in ("--allow-special", name)]
        found = slmtok("encode", "-t", tok, *flags, stdin=text).out.split()
        assert found == list(map(str, tokenizer.encode_list(text, allow_special=allowed)))


def test_offsets_tile_the_text(slmtok, tok, tokenizer):
    ran = slmtok("encode", "-t", tok, "--offsets", "--bos", "--eos", stdin=TEXT)
    rows = [tuple(map(int, word.split(":"))) for word in ran.out.split()]
    assert rows[0] == (1, 0, 0) and rows[-1] == (2, len(TEXT), len(TEXT))
    assert [start for _, start, _ in rows[1:]] == [stop for _, _, stop in rows[:-1]]
    for id, start, stop in rows[1:-1]:
        assert TEXT[start:stop] == tokenizer.token_bytes(id)
    assert slmtok("decode", "-t", tok, "--skip-special", stdin=ran.stdout).stdout == TEXT


def test_tokens_are_words(slmtok, tok):
    ran = slmtok("encode", "-t", tok, "--output-format", "tokens", stdin=" was 🦊\\␣\n\t\x07".encode())
    assert ran.out == "␣was ␣ \\xf0 \\x9f \\xa6 \\x8a \\\\ \\xe2 \\x90 \\xa3 \\n \\t \\u0007\n"


def test_json(slmtok, tok, tokenizer):
    ran = slmtok("encode", "-t", tok, "--json", "--offsets", "--document", "line", stdin=b"one two\nthree")
    content = ran.json
    assert (content["schema"], content["ok"]) == ("slmtok.encode/1", True)
    result = content["result"]
    ids, spans = tokenizer.encode_with_offsets(b"one two")
    assert result["documents"][0] == {"ids": ids.tolist(), "spans": spans.tolist()}
    assert result["totals"] == {
        "documents": 2,
        "bytes": 12,
        "tokens": sum(len(row["ids"]) for row in result["documents"]),
    }
    assert result["fingerprint"] == tokenizer.fingerprint
    plain = slmtok("encode", "-t", tok, stdin=b"one two\n").stdout
    content = slmtok("decode", "-t", tok, "--json", stdin=plain).json
    assert content["schema"] == "slmtok.decode/1"
    assert content["result"]["texts"] == ["one two\n"]
    assert content["result"]["bytes"] == 8


def test_texts_of_one_json_object_are_bounded(slmtok, tok, monkeypatch):
    monkeypatch.setattr("slmtok.cli.decode.MAX_HELD_BYTES", 1 << 20)
    lines = b"17\n" * 20_000
    refused = slmtok("decode", "-t", tok, "--json", stdin=lines).err
    assert refused.startswith("error: 16,132 texts need more than 1.0 MB\n  where: stdin\n"), refused
    assert "--output text.txt" in refused or "-o text.txt" in refused
    done = slmtok("decode", "-t", tok, "--json", "-o", "text.txt", stdin=lines).json["result"]
    assert done["documents"] == 20_000 and "texts" not in done


def test_decode_replaces_with_a_note(slmtok, tok):
    ids = slmtok("encode", "-t", tok, stdin=b"a\xffb").stdout
    ran = slmtok("decode", "-t", tok, stdin=ids)
    assert ran.stdout == "a\ufffdb".encode()
    assert ran.err == (
        "note: bytes of 1 document are not UTF-8 and were written as U+FFFD; --errors keep writes the bytes\n"
    )
    assert slmtok("decode", "-t", tok, "--errors", "ignore", stdin=ids).stdout == b"ab"
    assert slmtok("decode", "-t", tok, "--errors", "backslashreplace", stdin=ids).stdout == b"a\\xffb"
    ran = slmtok("decode", "-t", tok, "--errors", "strict", stdin=ids)
    assert (ran.code, ran.err) == (
        1,
        "error: the decoded bytes are not UTF-8 (byte 0xFF at 1)\n"
        "  where: stdin, line 1\n"
        "  fix:   --errors keep to write the bytes as they are, or --errors replace\n",
    )


def test_specials_show_their_spelling_unless_skipped(slmtok, tok):
    assert slmtok("decode", "-t", tok, stdin=b"1 2\n").stdout == b"<s></s>"
    assert slmtok("decode", "-t", tok, "--skip-special", stdin=b"1 2\n").stdout == b""


def test_padding_id(slmtok, tok, leftovers):
    ran = slmtok("decode", "-t", tok, "-o", "out.txt", stdin=b"300 301\n300 1001\n")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "error: id 1001 is not in the vocabulary\n"
        "  where: stdin, line 2, position 1\n"
        "  limit: 0 <= id < 1000 (n_vocab); a model may have padding up to 1023\n"
        "  fix:   decode with the tokenizer that made the ids; if a model gave them, mask its padding, as slm sample "
        "does\n"
    )
    assert leftovers() == []


@pytest.mark.parametrize("id", [1024, 2**31, 2**40, 2**63, 2**70])
def test_unknown_id(slmtok, tok, id):
    ran = slmtok("decode", "-t", tok, stdin=b"300 %d\n" % id)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"error: id {id} is not in the vocabulary\n  where: stdin, line 1, position 1\n")


@pytest.mark.parametrize("word", ["x7", "+5", "-0", "-1", "1_0", "113:zz:1", "113::", "2:5", "113:1:2:3", "٣", "1.0"])
def test_not_an_id(slmtok, tok, word):
    ran = slmtok("decode", "-t", tok, stdin=f"300\n300 {word} 301\n".encode())
    assert ran.code == 1
    assert ran.err == (
        f"error: {word!r} is not an id\n"
        "  where: stdin, line 2, word 2\n"
        "  limit: ASCII digits, or id:start:end with start <= end\n"
        "  fix:   ids with spaces between, one document a line, as slmtok encode writes without --output-format\n"
    )


def test_a_hexadecimal_id_is_named_in_decimal(slmtok, tok):
    ran = slmtok("decode", "-t", tok, stdin=b"0x12c 0x12d\n")
    assert ran.code == 1 and ran.err.endswith("  fix:   ids as decimal numbers: 300 for 0x12c\n")


@pytest.mark.parametrize("word", ["113:9:1", f"113:{'9' * 30}:1", f"113:{2**70}:{2**69}"])
def test_span_that_ends_before_it_starts(slmtok, tok, word):
    ran = slmtok("decode", "-t", tok, stdin=f"113:0:1 {word}\n".encode())
    assert ran.code == 1
    assert ran.err.startswith(
        f"error: {word[:24]!r} is not an id: it ends before it starts\n  where: stdin, line 1, word 2\n"
    )


def test_words_of_all_kinds_in_one_line(slmtok, tok):
    line = b"113:0:1\t0113 113:0:0000000000000000000000001\r\n\n 113 "
    assert slmtok("decode", "-t", tok, stdin=line).stdout == b"aaaa"


def test_arrays_that_are_none(slmtok, tok):
    Path("a.npy").write_bytes(b"nonsense")
    fix = "  where: a.npy\n  fix:   --input-format ids, npy or bin names the format\n"
    for data, reason in (
        (b"nonsense", "it is not a .npy file"),
        (b"", "it is empty"),
        (b"\x93NUMPY\x01", "it is truncated or damaged, or holds Python objects"),
    ):
        Path("a.npy").write_bytes(data)
        assert slmtok("decode", "a.npy", "-t", tok).err == f"error: a.npy is not an array of ids: {reason}\n{fix}"
    assert slmtok("decode", "-t", tok, "--input-format", "npy", stdin=b"x").err.startswith(
        "error: stdin is not an array of ids: it"
    )
    assert slmtok("decode", "-t", tok, "--input-format", "bin", stdin=b"x").err.startswith(
        "error: stdin is not an array of ids: its size is not a multiple of 2 bytes\n"
    )
    np.save("b.npy", np.zeros((2, 2)))
    assert slmtok("decode", "b.npy", "-t", tok).err == (
        "error: b.npy holds float64 of shape (2, 2), not ids\n"
        "  limit: integers in one or two dimensions\n"
        "  fix:   name a file that slmtok encode --output-format npy wrote\n"
    )
    np.save("c.npy", np.array([300, 301]))
    np.save("c.npy.offsets.npy", np.array([0, 1]))
    assert slmtok("decode", "c.npy", "-t", tok).err == (
        "error: c.npy.offsets.npy does not fit c.npy, which has 2 ids\n"
        "  where: c.npy.offsets.npy\n"
        "  fix:   encode again, or move the offsets away to decode all ids as one document\n"
    )
    Path("d.bin").write_bytes(b"\x01")
    assert slmtok("decode", "d.bin", "-t", tok).err.startswith("error: d.bin is not an array of ids: ")


def test_unknown_special(slmtok, tok, leftovers):
    ran = slmtok("encode", "-t", tok, "--allow-special", "user", "-o", "a.txt", stdin=b"x")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "error: no special token has the role or spelling 'user'\n"
        "  limit: roles: unk, bos, eos, pad, sep, mask\n"
        f"  fix:   slmtok set-special {tok} 'user=<|user|>' -o with-special.json # and name -t with-special.json\n"
    )
    assert leftovers() == []


def test_missing_and_existing_files(slmtok, tok):
    assert slmtok("encode", "no.txt", "-t", tok).err.startswith("error: no file or folder 'no.txt'\n")
    assert slmtok("decode", "no.txt", "-t", tok).err.startswith("error: no file or folder 'no.txt'\n")
    assert slmtok("encode", "-t", "no.json").err.startswith("error: no file 'no.json'\n")
    Path("a.txt").write_bytes(TEXT)
    for name in ("encode", "decode"):
        ran = slmtok(name, "a.txt", "-t", tok, "-o", "a.txt", "--force")
        assert (ran.code, ran.err) == (2, "error: output 'a.txt' is also the input\n  fix:   name another --output\n")
        Path("b.txt").touch()
        ran = slmtok(name, "a.txt", "-t", tok, "-o", "b.txt")
        assert (ran.code, ran.err) == (
            1,
            "error: output 'b.txt' exists\n  fix:   --force to replace it, or name another --output\n",
        )
    assert Path("a.txt").read_bytes() == TEXT


def test_offsets_that_exist_are_refused_before_the_work(slmtok, tok, leftovers):
    Path("a.npy.offsets.npy").touch()
    ran = slmtok("encode", "-t", tok, "--output-format", "npy", "-o", "a.npy", stdin=TEXT)
    assert (ran.code, ran.err) == (
        1,
        "error: output 'a.npy.offsets.npy' exists\n  fix:   --force to replace it, or name another --output\n",
    )
    assert leftovers() == ["a.npy.offsets.npy"]


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        (
            "--json --output-format tokens",
            "--json without -o prints ids, not --output-format tokens\n  fix:   -o FILE",
        ),
    ],
)
def test_options_that_exclude_each_other(slmtok, tok, flags, error):
    ran = slmtok("encode", "-t", tok, *flags.split())
    assert (ran.code, ran.err) == (2, f"error: {error}\n")


def test_a_file_that_is_no_tokenizer(slmtok):
    Path("a.json").write_text('{"model": {}}')
    ran = slmtok("encode", "-t", "a.json", stdin=b"x")
    assert ran.code == 1
    assert ran.err.startswith("error: ") and "a.json" in ran.err


def test_records_are_text_and_that_is_told(slmtok, tok, tokenizer):
    line = b'{"text": "a"}\n'
    Path("c.jsonl").write_bytes(line)
    ran = slmtok("encode", "c.jsonl", "-t", tok)
    told = "c.jsonl was encoded as it is, JSON included; run it again with --format jsonl for the text of its records"
    assert ran.err == f"note: {told}\n"
    assert ran.out.split() == list(map(str, tokenizer.encode_list(line)))
    assert slmtok("encode", "c.jsonl", "-t", tok, "--quiet").err == ""
    ran = slmtok("encode", "c.jsonl", "-t", tok, "--json")
    assert (ran.json["warnings"], ran.err) == ([told], f"note: {told}\n")
    assert "JSON lines are encoded" in " ".join(slmtok("encode", "--help").out.split())


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("c.csv", "id,text\n1,a\n", "all columns included; run it again with --format csv"),
        ("c.tsv", "id\ttext\n1\ta\n", "all columns included; run it again with --format tsv"),
        ("c.json", '[{"text": "a"}]', "JSON included; run it again with --format json"),
    ],
)
def test_tables_and_arrays_are_text_and_that_is_told(slmtok, tok, tokenizer, name, content, told):
    Path(name).write_text(content)
    ran = slmtok("encode", name, "-t", tok)
    assert ran.err == f"note: {name} was encoded as it is, {told} for the text of its records\n"
    ran = slmtok("encode", name, "-t", tok, "--format", name[2:])
    assert (ran.err, ran.out.split()) == ("", list(map(str, tokenizer.encode_list("a"))))
    Path("object.json").write_text('{"a": "b"}')
    assert slmtok("encode", "object.json", "-t", tok).err == ""


@pytest.mark.parametrize(("number", "documents"), [(1, "1 document"), (2, "2 documents")])
def test_documents_that_are_no_utf8_are_counted(slmtok, tok, number, documents):
    ids = slmtok("encode", "-t", tok, "--document", "line", stdin=b"\xff\n" * number)
    ran = slmtok("decode", "-t", tok, "--document", "line", stdin=ids.stdout)
    text = f"bytes of {documents} are not UTF-8 and were written as U+FFFD; --errors keep writes the bytes"
    assert ran.err == f"note: {text}\n"
