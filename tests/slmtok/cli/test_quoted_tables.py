"""Files named .csv with quoted values between other marks, with and without a byte order mark: the printed command."""

from __future__ import annotations

import csv
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from printed_fixes import fix_of

TEXTS = [f'The cat, number {at}; it sat,\n"quietly".' if at % 2 else f"The cat, number {at}, sat" for at in range(300)]
N_BYTES = sum(map(len, TEXTS))


def write(mark: str, names: tuple[str, str] = ("id", "text"), encoding: str = "utf-8") -> None:
    """Writes a table in which all values are quoted."""
    with Path("a.csv").open("w", newline="", encoding=encoding) as file:
        rows = csv.writer(file, delimiter=mark, quoting=csv.QUOTE_ALL)
        rows.writerows([names, *((at, text) if names[0] == "id" else (text, at) for at, text in enumerate(TEXTS))])


def run(command: str) -> None:
    subprocess.run(command.replace("python -c", f"{shlex.quote(sys.executable)} -c"), shell=True, check=True)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("names", [("id", "text"), ("text", "id")], ids=["text last", "text first"])
@pytest.mark.parametrize("mark", [";", "|", "\t"])
def test_quoted_values_between_other_marks(slmtok, mark: str, names: tuple[str, str], encoding: str) -> None:
    write(mark, names, encoding)
    ran = slmtok("count", "a.csv", "-o", "x")
    named = "tabs" if mark == "\t" else repr(mark)
    assert ran.code == 1 and f"  limit: columns are separated by ',', and these by {named}\n" in ran.err
    command, _, rest = fix_of(ran).partition(" # and name it")
    assert not rest
    run(command)
    result = slmtok("count", "a-comma.csv", "-o", "x", "--json").json["result"]
    assert (result["documents"], result["bytes"]) == (len(TEXTS), N_BYTES)


def test_the_column_of_the_text_is_named(slmtok) -> None:
    write(";", ("id", "sentence"), "utf-8-sig")
    command, _, rest = fix_of(slmtok("count", "a.csv", "-o", "x")).partition(" # and name it")
    assert rest == ", with --text-key sentence"
    run(command)
    ran = slmtok("count", "a-comma.csv", "--text-key", "sentence", "-o", "x", "--json")
    assert ran.json["result"]["bytes"] == N_BYTES


@pytest.mark.parametrize("text", ["one; two", "one;two\nthree"])
def test_a_fault_between_commas_is_one_of_its_row(slmtok, text: str) -> None:
    rows = [f'"{at}","{text}"' for at in range(30)]
    Path("a.csv").write_text("\n".join(['"id","text"', *rows, '"31"x,"four"', ""]))
    ran = slmtok("count", "a.csv", "-o", "x")
    assert ran.code == 1 and "separated" not in ran.err and fix_of(ran).startswith("repair the row")


def test_the_command_writes_a_text_above_the_default_limit_of_a_field(slmtok) -> None:
    text = "The cat sat. " * 20_000
    Path("a.csv").write_text(f"id;text\n1;{text}\n")
    run(fix_of(slmtok("count", "a.csv", "-o", "x")).partition(" # and name it")[0])
    assert slmtok("count", "a-comma.csv", "-o", "x", "--json").json["result"]["bytes"] == len(text)
