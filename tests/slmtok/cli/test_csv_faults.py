"""CSV with a quote that is not closed, and tables with other separators in encodings that the locale does not have."""

from __future__ import annotations

import gzip
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from printed_fixes import fix_of


def test_the_row_with_an_open_quote_is_where_it_begins(slmtok):
    """The last line, where the reader gives up, is sound."""
    rows = [f"{n},It rained on day {n}." for n in range(50)]
    rows[20] = '20,"It rained on day 20.'
    Path("a.csv").write_text("\n".join(["id,text", *rows]) + "\n")
    ran = slmtok("count", "a.csv", "-o", "x")
    assert ran.code == 1
    assert ran.err == (
        "error: the row has a quote that is not closed until the end of the file\n"
        "  where: a.csv, line 22\n"
        "  limit: a quote in quotes is doubled\n"
        "  fix:   close the quote; --skip-malformed leaves out the 29 lines behind it as well\n"
    )
    Path("a.csv").write_text('id,text\n1,"one\ntwo"\n2,"three\nfour",x\n')
    assert "where: a.csv, line 4\n" in slmtok("count", "a.csv", "-o", "x").err
    Path("a.csv").write_text('id,text\n1,one\n2,"two')
    assert fix_of(slmtok("count", "a.csv", "-o", "x")) == "close the quote; --skip-malformed leaves the row out"
    Path("a.csv").write_text('text\n"one\ntwo\n')
    skips = "--skip-malformed leaves out the 1 line behind it as well"
    assert fix_of(slmtok("count", "a.csv", "-o", "x")) == f"close the quote; {skips}"


@pytest.mark.parametrize("encoding", [None, "cp1252"])
def test_another_separator_is_replaced_in_text_that_is_not_utf_8(slmtok, encoding):
    """Python reads stdin in the encoding of the locale, which is UTF-8, and ends at other bytes."""
    text = "L’été à Orléans"
    Path("a.csv").write_bytes("".join(f"{row}\r\n" for row in ("id;text", f"1;{text}")).encode("cp1252"))
    given = ["--encoding", encoding] if encoding else []
    command, _, rest = fix_of(slmtok("count", "a.csv", *given, "-o", "x")).partition(" # and name it")
    assert rest == ("" if encoding else ", with --encoding cp1252, in which it reads as words")
    run(command, {"PYTHONIOENCODING": "utf-8:strict"})
    ran = slmtok("count", "a-comma.csv", "--encoding", "cp1252", "-o", "x", "--json")
    assert ran.json["result"]["bytes"] == len(text.encode())


def run(command: str, environment: dict[str, str] | None = None) -> None:
    command = command.replace("python -c", f"{shlex.quote(sys.executable)} -c")
    subprocess.run(command, shell=True, check=True, env={**os.environ, **(environment or {})})


@pytest.mark.parametrize("rows", [["id;text", "1;{}", "2;{}"], ["id,text", "1,'{}, a'", "2,'{}, b'", "3,'{}, c'"]])
def test_a_compressed_table_is_decompressed_before_it_is_written_again(slmtok, rows):
    text = "Café crème à la carte"
    Path("a.csv.gz").write_bytes(gzip.compress("".join(f"{row.format(text)}\n" for row in rows).encode("latin-1")))
    command, _, rest = fix_of(slmtok("count", "a.csv.gz", "-o", "x")).partition(" # and name it")
    assert rest == ", with --encoding latin-1, in which it reads as words"
    run(command)
    named = command.rpartition(" > ")[2]
    assert named in ("a-comma.csv", "a-quoted.csv")
    assert slmtok("count", named, "--encoding", "latin-1", "-o", "x").code == 0
