"""Files named .csv whose columns are between tabs: the texts have commas and quotes, and the fix reads them whole."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from printed_fixes import fix_of

TEXTS = [f'It rained on day {at}, he said, "and the harbour was quiet."' for at in range(30)]
SPOKEN = [f'"It rained on day {at}," he said, and the harbour was quiet.' for at in range(30)]
WHOLE = [f'"It rained on day {at}, and the harbour was quiet."' for at in range(30)]
BY_TABS = "  limit: columns are separated by ',', and these by tabs\n"


def write(texts: list[str]) -> int:
    """Writes a table of sentences as Tatoeba has them; returns the bytes of the texts."""
    Path("a.csv").write_text("".join(f"{at}\teng\t{text}\n" for at, text in enumerate(texts)))
    return sum(map(len, texts))


@pytest.mark.parametrize("texts", [TEXTS, SPOKEN], ids=["quoted words", "quotes at the beginning"])
@pytest.mark.parametrize(("given", "fix"), [("", "--format tsv --text-key 3"), ("--text-key 3", "--format tsv")])
def test_columns_between_tabs_are_tsv(slmtok, texts: list[str], given: str, fix: str) -> None:
    n_bytes = write([text.replace(", he", " he").replace(", and", " and") for text in texts])
    ran = slmtok("count", "a.csv", *given.split(), "-o", "x")
    assert (ran.code, fix_of(ran)) == (1, fix)
    assert BY_TABS in ran.err
    result = slmtok("count", "a.csv", *given.split(), *fix.split(), "-o", "x", "--json").json["result"]
    assert (result["documents"], result["bytes"]) == (len(texts), n_bytes)


def test_a_row_that_is_no_csv_may_be_one_of_tsv(slmtok) -> None:
    """To skip such rows would leave out the texts that begin with a quote."""
    n_bytes = write(SPOKEN[:1] + TEXTS + SPOKEN)
    ran = slmtok("count", "a.csv", "--text-key", "3", "-o", "x")
    assert BY_TABS in ran.err and fix_of(ran) == "--format tsv"
    result = slmtok("count", "a.csv", "--text-key", "3", "--format", "tsv", "-o", "x", "--json").json["result"]
    assert result["bytes"] == n_bytes


def test_quoted_values_between_tabs_are_written_as_csv(slmtok) -> None:
    n_bytes = write(WHOLE) - 2 * len(WHOLE)
    ran = slmtok("count", "a.csv", "--text-key", "3", "-o", "x")
    command, _, rest = fix_of(ran).partition(" # and name it")
    assert BY_TABS in ran.err and not rest
    subprocess.run(command, shell=True, check=True)
    result = slmtok("count", "a-comma.csv", "--text-key", "3", "-o", "x", "--json").json["result"]
    assert result["bytes"] == n_bytes


def test_what_is_between_commas_of_such_a_table_is_noted(slmtok) -> None:
    write(TEXTS)
    fact = "note: the columns of a.csv are separated by tabs, and were read as if by commas; "
    ran = slmtok("count", "a.csv", "--text-key", "2", "-o", "x")
    assert ran.code == 0 and f"{fact}run it again with --format tsv --force\n" in ran.err
    Path("b.csv").write_text("".join(f"{at},It rained\n" for at in range(9)))
    ran = slmtok("count", "a.csv", "b.csv", "--text-key", "2", "-o", "y")
    assert f"{fact}name it alone, with --format tsv\n" in ran.err


@pytest.mark.parametrize("text", ["It\trained", "It rained\t"])
def test_a_tab_in_a_text_between_commas_is_text(slmtok, text: str) -> None:
    Path("a.csv").write_text("".join(f'{at},"{text}"\n' for at in range(9)))
    ran = slmtok("count", "a.csv", *shlex.split("--text-key 2 -o x --json"))
    assert ran.json["result"]["bytes"] == 9 * len(text) and "tabs" not in ran.err
    assert fix_of(slmtok("count", "a.csv", "-o", "y")) == "--text-key 2"


def test_a_tsv_read_as_csv_is_told_its_column_too(slmtok) -> None:
    Path("a.tsv").write_text("".join(f"{number}\tthe cat number {number} sat\n" for number in range(9)))
    line = "train a.tsv --vocab 280 --allow-smaller -o x.json"
    fix = fix_of(slmtok(*line.split(), "--format", "csv"))
    head, key = fix.split("; besides, no column is named 'text': ")
    assert head == "leave --format out: the name says tsv"
    assert slmtok(*line.split(), *key.split()).code == 0
