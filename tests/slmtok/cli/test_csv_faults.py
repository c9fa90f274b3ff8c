"""CSV with a quote that is not closed, and tables with other separators in encodings that the locale does not have."""

from __future__ import annotations

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


@pytest.mark.parametrize("encoding", [None, "cp1252"])
def test_another_separator_is_replaced_in_text_that_is_not_utf_8(slmtok, encoding):
    """Python reads stdin in the encoding of the locale, which is UTF-8, and ends at other bytes."""
    text = "L’été à Orléans"
    Path("a.csv").write_bytes("".join(f"{row}\r\n" for row in ("id;text", f"1;{text}")).encode("cp1252"))
    given = ["--encoding", encoding] if encoding else []
    command, _, rest = fix_of(slmtok("count", "a.csv", *given, "-o", "x")).partition(", and name it")
    assert not rest
    command = command.replace("python -c", f"{shlex.quote(sys.executable)} -c")
    subprocess.run(command, shell=True, check=True, env={**os.environ, "PYTHONIOENCODING": "utf-8:strict"})
    ran = slmtok("count", "a-comma.csv", "--encoding", "cp1252", "-o", "x", "--json")
    assert ran.json["result"]["bytes"] == len(text.encode())
