"""Tables of Arrow whose text is in lists or records, or that are no parquet: commands that make texts of them."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import slmtok as library

TEXTS = [f"It rained on day {n}." for n in range(40)]


def paste(ran) -> None:
    """Runs the whole fix: what is to be done then is a comment of the shell."""
    command = ran.err.split("fix:   ")[1]
    assert command.startswith("python -c ") and " # and name " in command
    subprocess.run(command.replace("python -c", f"{shlex.quote(sys.executable)} -c"), shell=True, check=True)


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        ([{"text": text.split(" ")} for text in TEXTS], []),
        ([{"text": text.split(" "), "id": "a"} for text in TEXTS], []),
        ([{"doc": {"text": text}, "n": 1} for text in TEXTS], []),
        ([{"doc": {"text": text}, "n": 1} for text in TEXTS], ["--text-key", "doc.text"]),
        ([{"messages": [{"role": "user", "content": text}], "id": "a"} for text in TEXTS], []),
    ],
)
def test_text_in_lists_and_records_is_written_as_a_field(slmtok, rows, options):
    pq.write_table(pa.Table.from_pylist(rows), "a.parquet")
    paste(slmtok("count", "a.parquet", *options, "-o", "x"))
    result = slmtok("count", "a-text.jsonl", *options, "-o", "x", "--json").json["result"]
    assert (result["documents"], result["bytes"]) == (len(TEXTS), sum(map(len, TEXTS)))


def test_columns_without_text_are_left_out(slmtok):
    pq.write_table(pa.Table.from_pylist([{"m": 1, "n": {"m": 1}}] * 9), "a.parquet")
    assert "fix:   leave it out: none of its columns is text\n" in slmtok("count", "a.parquet", "-o", "x").err


@pytest.mark.parametrize("options", [[], ["--text-key", "input_ids"]])
def test_text_is_made_of_columns_of_ids(slmtok, options):
    Path("s.txt").write_text("\n".join(TEXTS) + "\n")
    assert slmtok("train", "s.txt", "--vocab", "280", "-o", "TOK").code == 0
    rows = library.load("TOK").encode_batch(TEXTS)
    pq.write_table(
        pa.table({"attention_mask": [[1] * len(row) for row in rows], "input_ids": [row.tolist() for row in rows]}),
        "a.parquet",
    )
    ran = slmtok("count", "a.parquet", *options, "-o", "x")
    assert "  limit: text; 'input_ids' holds lists of integers, as ids of tokens are\n" in ran.err
    command = ran.err.split("  fix:   name the text that was encoded, or make it: ")[1].strip()
    written, decoded = command.split(" && ")
    subprocess.run(["sh", "-c", written.replace("python", shlex.quote(sys.executable), 1)], check=True)
    assert slmtok(*shlex.split(decoded)[1:]).code == 0
    assert Path("a-text.txt").read_text() == "\n".join(TEXTS) + "\n"


def test_records_of_ids_are_named(slmtok):
    """Skipping alone would leave an empty corpus, where all are such records."""
    Path("a.jsonl").write_text('{"input_ids": [5, 6]}\n' * 9)
    ran = slmtok("count", "a.jsonl", "-o", "x")
    limit = "  limit: text; 'input_ids' holds lists of integers, as ids of tokens are\n"
    assert f"{limit}  fix:   name the text that was encoded, or --skip-malformed" in ran.err


@pytest.mark.parametrize("name", ["stream.arrow", "file.arrow", "file.feather"])
def test_arrow_is_written_as_parquet(slmtok, name):
    table = pa.table({"text": TEXTS})
    if name == "stream.arrow":
        with pa.OSFile(name, "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
    else:
        pyarrow.feather.write_feather(table, name)
    paste(slmtok("count", name, "-o", "x"))
    made = Path(name).with_suffix(".parquet")
    assert slmtok("count", made, "-o", "x", "--json").json["result"]["documents"] == len(TEXTS)


@pytest.mark.parametrize("options", [[], ["--format", "parquet"]])
def test_arrow_with_the_name_of_parquet_is_written_as_parquet(slmtok, options):
    """To fetch it again would give the same file."""
    name = "table.arrow" if options else "table.parquet"
    pyarrow.feather.write_feather(pa.table({"text": TEXTS}), name)
    ran = slmtok("count", name, *options, "-o", "x")
    assert f"error: '{name}' is arrow, not parquet\n" in ran.err
    paste(ran)
    made = "table.parquet" if options else "table-2.parquet"
    assert slmtok("count", made, "-o", "x", "--json").json["result"]["documents"] == len(TEXTS)
