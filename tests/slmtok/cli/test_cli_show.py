"""`slmtok show`: what is drawn, with emoji, split characters and raw bytes; and how the drawing is done."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

import slmtok as package
from slmtok.cli.show import draw, grid
from slmtok.errors import OptionError
from slmtok.token_text import escape_token, unescape_token

GOLDEN = [
    ([b"Once", b" upon", b" a"], "Once│␣upon│␣a"),
    (["a🦊b".encode()], "a🦊b"),
    ([b"a", b"\xf0\x9f", b"\xa6\x8a", b"b"], "a│🦊⟨f09f│a68a⟩│b"),
    ([b"a\xf0", b"\x9f\xa6", b"\x8ab"], "a🦊⟨f0│9fa6│8a⟩b"),
    ([b"caf\xc3", b"\xa9\xc3", b"\xa9"], "caf\u00e9⟨c3│a9⟩\u00e9⟨c3│a9⟩"),
    ([b"\xff", b"ok\xe2\x82", b"!"], "⟨ff⟩│ok⟨e2⟩⟨82⟩│!"),
    ([b"line\n", b"next"], "line\\n\n│next"),
    (["│⟨⟩␣\\".encode()], "\\u2502\\u27e8\\u27e9\\u2423\\\\"),
    ([b"\x1b[2J\x00\t"], "\\u001b[2J\\u0000\\t"),
    ([], ""),
]


@pytest.mark.parametrize(("tokens", "drawn"), GOLDEN)
def test_plain_drawing(tokens, drawn):
    assert draw(tokens, colour=False) == drawn


def test_colour_drawing():
    one, two, three = (f"\x1b[30;48;5;{number}m" for number in (223, 152, 182))
    off = "\x1b[0m"
    assert draw([b"Once", b" upon"], colour=True) == f"{one}Once{off}{two} upon{off}"
    assert draw([b"a\xc3", b"\xa9b", b"c\n"], colour=True) == (f"{one}aé⟨c3{off}{two}a9⟩b{off}{three}c\\n{off}\n")


_tokens = st.lists(st.binary(min_size=1, max_size=5), max_size=12)


@given(_tokens)
def test_plain_drawing_has_every_boundary_and_byte(tokens):
    """The words without their marks are the text again, and there is one mark less than tokens."""
    drawn = draw(tokens, colour=False)
    assert drawn.count("│") == max(0, len(tokens) - 1)
    joined = re.sub(r"(\\n)\n", r"\1", drawn).replace("│", "")
    whole = re.sub(r"(.)⟨((?:[0-9a-f]{2}){2,})⟩", _drop_hex, joined)
    raw = re.sub("⟨([0-9a-f]{2})⟩", r"\\x\1", whole)
    assert unescape_token(raw) == b"".join(tokens)


def _drop_hex(match: re.Match[str]) -> str:
    return match[1]


@given(_tokens)
def test_colour_drawing_is_the_same_text(tokens):
    plain = draw(tokens, colour=False).replace("│", "").replace("␣", " ")
    assert re.sub(r"\x1b\[[0-9;]*m", "", draw(tokens, colour=True)) == plain


@given(st.binary(max_size=30))
def test_visible_words_can_be_read_back(data):
    word = escape_token(data)
    assert unescape_token(word) == data
    assert word.isprintable() and " " not in word


@pytest.mark.parametrize("word", ["\\", "\\q", "\\x4", "\\ud800", "\\U00110000"])
def test_bad_escapes(word):
    with pytest.raises(OptionError, match="bad escape"):
        unescape_token(word)


def test_grid_aligns_and_wraps():
    columns = [["Once", "12"], ["🦊", "3"], ["x", "4567"]]
    assert grid(columns, 100) == "Once  🦊  x\n12    3   4567"
    assert grid(columns, 10) == "Once  🦊\n12    3\n\nx\n4567"
    assert cell_len("e\u0301") == 1 and cell_len("今a") == 3


# --- the command -----------------------------------------------------------------------------------------------------


def test_one_tokenizer(slmtok, tok):
    tokens = [token for _, token in package.load(tok).pieces("Hello 🦊 café")]
    ran = slmtok("show", tok, "Hello 🦊 café")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        f"{tok}  bpe, 1,000 ids: {len(tokens)} tokens, {16 / len(tokens):.2f} bytes per token\n"
        f"  {draw(tokens, colour=False)}\n"
    )
    assert "🦊⟨f0│9f│a6│8a⟩" in ran.out
    assert slmtok("show", tok, "Hello 🦊 café", "--quiet").out == f"  {draw(tokens, colour=False)}\n"


def test_raw_bytes_from_stdin(slmtok, tok):
    ran = slmtok("show", tok, "-", "-q", stdin=b"\xff\xe2\x82q\n")
    assert ran.out == "  ⟨ff⟩│⟨e2⟩│⟨82⟩│q│\\n\n"


def test_ids_and_bytes(slmtok, tok):
    tokenizer = package.load(tok)
    ran = slmtok("show", tok, "so é", "-q", "--ids", "--bytes")
    words, ids, raw = (line.split("  ") for line in ran.out.splitlines())
    assert [word.strip() for word in ids if word.strip()] == [str(id) for id in tokenizer.encode_list("so é")]
    assert "".join(raw).replace(" ", "") == "so é".encode().hex()
    assert [word.strip() for word in words if word.strip()] == [escape_token(t) for _, t in tokenizer.pieces("so é")]


def test_several_side_by_side(slmtok, tok, tmp_path):
    package.slice(package.load(tok), 400).save("small.json")
    ran = slmtok("show", "-t", tok, "small.json", "Once upon a time")
    blocks = ran.out.split("\n\n")
    assert len(blocks) == 3
    assert blocks[0].startswith(f"{tok}  bpe, 1,000 ids: ")
    assert blocks[1].startswith("small.json  bpe, 400 ids: ")
    title, *bars = blocks[2].splitlines()
    assert title == "tokens for the same 16 bytes"
    assert [bar.split()[0] for bar in bars] == [str(tok), "small.json"]
    assert bars[1].count("█") > bars[0].count("█")


def test_without_a_tokenizer_the_schemes_stand_side_by_side(slmtok):
    ran = slmtok("show", "Once upon a time 🦊", "--json")
    found = ran.json["result"]["tokenizers"]
    assert ran.json["schema"] == "slmtok.show/1"
    assert [one["scheme"] for one in found] == ["bpe", "word", "char", "byte"]
    for one in found:
        assert b"".join(bytes.fromhex(piece["hex"]) for piece in one["pieces"]) == "Once upon a time 🦊".encode()
        assert one["tokens"] == len(one["pieces"])
        assert one["pieces"][-1]["stop"] == 21
    assert found[0]["tokens"] < found[-1]["tokens"] == 21
    plain = slmtok("show", "Once upon a time 🦊").out
    assert "O│n│c│e│␣│u│p│o│n│␣│a│␣│t│i│m│e│␣│🦊⟨f0│9f│a6│8a⟩" in plain


def test_text_is_one_argument(slmtok, tok):
    ran = slmtok("show", tok, "Once", "upon")
    assert (ran.code, ran.err) == (
        2,
        "error: 'Once' is not a tokenizer, and the text is one argument\n"
        "  limit: a tokenizer file, a folder with one, or tiktoken:NAME\n"
        f"  fix:   slmtok show {tok} 'Once upon', if they are one text; else check the name\n",
    )
    ran = slmtok("show", "none.json", "Once")
    assert (ran.code, ran.err) == (
        1,
        "error: no file 'none.json'\n  fix:   check the name, or add a space if it is text\n",
    )


def test_numbers_behind_ids_are_decoded_by_another_command(slmtok, tok):
    line = f"echo 270 271 | slmtok decode - -t {tok}\n"
    ran = slmtok("show", tok, "--ids", "270", "271")
    assert (ran.code, ran.err) == (
        2,
        "error: --ids takes no value, and 270 271 behind it are numbers\n"
        f"  limit: show takes a text; decode takes ids\n  fix:   {line}",
    )
    ran = slmtok("show", tok, "--ids", "270,271")
    assert (ran.code, ran.err) == (0, f"note: '270,271' was taken as the text; as ids: {line}")
    assert slmtok("decode", "-", "-t", tok, stdin=b"270 271").code == 0
    # Elsewhere, numbers are text.
    assert slmtok("show", tok, "2026", "--ids").err == ""


@pytest.mark.parametrize("command", ["show", "view -o page.html"])
def test_a_text_with_a_backslash_is_quoted_as_typed(slmtok, tok, command):
    name, *options = command.split()
    note = r"note: 'To be\nor' has a backslash and a letter; for the character: $'To be\nor'"
    assert note in slmtok(name, tok, r"To be\nor", *options).err
    assert slmtok(name, tok, "To be\nor", *options, *["--force"] * (name == "view")).err.count("backslash") == 0


def test_empty_text(slmtok, tok):
    assert slmtok("show", tok, "", "--json").json["result"]["tokenizers"][0]["pieces"] == []
    assert slmtok("show", tok, "").code == 0
