"""Tables that are almost of the format they are read in: other separators, other quotes, values with commas."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

FIRST = "in the morning they walked to the market, past the old bridge"
SECOND = "the children sang, and the river was wide"


def refused(slmtok, line: str) -> str:
    """The fix of a command that is refused."""
    ran = slmtok(*shlex.split(line))
    assert ran.code == 1, ran
    return next(each.removeprefix("  fix:   ") for each in ran.err.splitlines() if each.startswith("  fix:   "))


def texts_of(slmtok, line: str) -> int:
    """The bytes of the texts of 20 documents."""
    result = slmtok(*shlex.split(f"{line} --force --json")).json["result"]
    assert result["documents"] == 20
    return int(result["bytes"])


def run_command(fix: str) -> str:
    """Runs the command of a fix, and gives the file that it writes and names."""
    command, _, _ = fix.partition(" # and name it")
    subprocess.run(command, shell=True, check=True)
    return command.rpartition(" > ")[2]


TABLES = {
    "commas without quotes": f"{FIRST}, {SECOND}",
    "single quotes": f"'{FIRST}, {SECOND}'",
    "a space behind the quote": f'"{FIRST}, {SECOND}" ',
}


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES)
def test_a_table_whose_rows_are_all_wrong_is_written_as_csv(slmtok, text: str) -> None:
    Path("a.csv").write_text("id,text\n" + "".join(f"{at},{text}\n" for at in range(20)))
    line = "-o new.counts"
    fix = refused(slmtok, f"count a.csv {line}")
    assert "--skip-malformed" not in fix
    written = run_command(fix)
    spaces = 20 if text.endswith(" ") else 0
    assert texts_of(slmtok, f"count {written} {line}") == 20 * len(f"{FIRST}, {SECOND}") + spaces


def test_a_table_of_rows_of_many_widths_is_to_be_repaired(slmtok) -> None:
    Path("a.csv").write_text("text,id\n" + "".join(f"{FIRST}, {SECOND},{at}\n" for at in range(20)))
    fix = refused(slmtok, "count a.csv -o new.counts")
    assert fix == "repair the file: of its first 20 rows none has 2 columns; values with commas need quotes"
    Path("a.csv").write_text(f"text,id\ngood,1\n{FIRST},2\n")
    assert "--skip-malformed" in refused(slmtok, "count a.csv -o new.counts")


def test_commas_in_the_texts_do_not_hide_the_separator(slmtok) -> None:
    Path("metadata.csv").write_text("".join(f"LJ{at}|{FIRST}|{FIRST}, {SECOND}\n" for at in range(20)))
    fix = refused(slmtok, "count metadata.csv -o new.counts")
    assert "delimiter='|'" in fix
    written = run_command(fix)
    key = refused(slmtok, f"count {written} -o new.counts").partition(",")[0]
    assert texts_of(slmtok, f"count {written} {key} -o new.counts") == 20 * len(f"{FIRST}, {SECOND}")


@pytest.mark.parametrize(
    ("header", "meant"), [("id,text", ""), ("id,verse", " --text-key verse"), ("", " --text-key 2")]
)
def test_a_tsv_file_with_commas_is_csv(slmtok, header: str, meant: str) -> None:
    rows = [f'{at},"{FIRST}"' for at in range(20)]
    Path("a.tsv").write_text("\n".join([header, *rows] if header else rows))
    fix = refused(slmtok, "count a.tsv -o new.counts")
    assert fix == f"--format csv{meant}"
    assert texts_of(slmtok, f"count a.tsv {fix} -o new.counts") == 20 * len(FIRST)


def test_a_format_that_the_name_denies_is_left_out(slmtok) -> None:
    Path("a.txt").write_text(f"{FIRST}\n" * 20)
    fix = refused(slmtok, "count a.txt --format csv -o new.counts")
    assert fix.startswith("leave --format out: the name says text; for a table, --text-key")


def test_a_list_of_long_texts_is_the_text_of_a_record(slmtok) -> None:
    record = {"title": "T", "author": {"name": "x"}, "paragraphs": [FIRST, SECOND], "tags": ["a", "b"]}
    Path("a.jsonl").write_text(f"{json.dumps(record)}\n" * 20)
    written = run_command(refused(slmtok, "count a.jsonl -o new.counts"))
    assert texts_of(slmtok, f"count {written} -o new.counts") == 20 * len(f"{FIRST} {SECOND}")
    # The same options read the file that the command writes.
    for options in ("--text-key paragraphs", "--text-template '{title}{paragraphs}'"):
        written = run_command(refused(slmtok, f"count a.jsonl {options} -o new.counts --force"))
        n_bytes = 20 * len(f"{'T' * ('title' in options)}{FIRST} {SECOND}")
        assert texts_of(slmtok, f"count {written} {options} -o new.counts") == n_bytes
