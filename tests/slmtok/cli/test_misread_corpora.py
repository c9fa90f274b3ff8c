"""Corpora that are something else than they are read as: what the errors and the notes of a command say of them."""

from __future__ import annotations

import gzip
import json
import shlex
import subprocess
from pathlib import Path

import pytest

SENTENCE = "the evening river went through the old town and the children sang"
ROWS = [f"{SENTENCE} {number}" for number in range(40)]


def fix_of(slmtok, line: str) -> str:
    """The fix of a command that is refused and leaves nothing."""
    before = {*Path().rglob("*")}
    ran = slmtok(*shlex.split(line))
    assert ran.code in (1, 2), ran
    assert {*Path().rglob("*")} == before
    return next(each.removeprefix("  fix:   ") for each in ran.err.splitlines() if each.startswith("  fix:   "))


def write_records(name: str, records: list[dict[str, object]]) -> None:
    Path(name).write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.mark.parametrize("at", [0, 20])
def test_a_record_without_text_among_others_is_skipped(slmtok, at: int) -> None:
    records = [{"genre": "news", "text": None if number == at else row} for number, row in enumerate(ROWS)]
    write_records("nulls.jsonl", records)
    Path("nulls.json").write_text(json.dumps(records))
    for name in ("nulls.jsonl", "nulls.json"):
        fix = fix_of(slmtok, f"count {name} -o new.counts")
        assert fix == "--skip-malformed to skip such records; the summary counts them"
        ran = slmtok("count", name, "-o", f"{name}.counts", "--skip-malformed", "--json")
        assert ran.json["result"]["documents"] == len(ROWS) - 1


def test_a_path_of_fields_is_written_as_a_field(slmtok) -> None:
    write_records("nested.jsonl", [{"id": 1, "genre": "news", "text": {"full": row}} for row in ROWS])
    fix = fix_of(slmtok, "count nested.jsonl --text-key text.full -o new.counts")
    command, _, named = fix.rpartition(", and ")
    assert named == "name it"
    subprocess.run(command, shell=True, check=True)
    ran = slmtok("count", "nested-text.jsonl", "--text-key", "text.full", "-o", "new.counts", "--json")
    assert ran.json["result"]["documents"] == len(ROWS)
    assert ran.json["result"]["bytes"] == sum(map(len, ROWS))
    Path("nested.jsonl").rename("nested.ndjson")
    fix = fix_of(slmtok, "count nested.ndjson --text-key text.full -o other.counts")
    assert fix == "write row['text']['full'] of each row as a field 'text.full' of its own"


def write_rows(name: str, rows: list[list[str]]) -> None:
    Path(name).write_text("".join("\t".join(row) + "\n" for row in rows))


def test_columns_count_from_one(slmtok) -> None:
    rows = [[str(number), "en", row] for number, row in enumerate(ROWS)]
    write_rows("noheader.tsv", rows)
    Path("noheader.csv").write_text("".join(f"{','.join(row)}\n" for row in rows))
    for name in ("noheader.tsv", "noheader.csv"):
        for given, meant in (
            ("--text-template {0}", "--text-template '{1}'"),
            ("--text-key 0", "--text-key 1"),
            ("--text-template '{0} {2|strip}'", "--text-template '{1} {3|strip}'"),
        ):
            assert fix_of(slmtok, f"count {name} {given} -o x.counts") == f"{meant}, or the number of another one"
    assert fix_of(slmtok, "count noheader.tsv --text-template '$3' -o x.counts") == "--text-template '{3}'"
    write_rows("numbered.tsv", [["0", "1", "2"], *rows])
    ran = slmtok("count", "numbered.tsv", "--text-key", "0", "-o", "x.counts", "--json")
    assert ran.json["result"]["documents"] == len(ROWS)


@pytest.mark.parametrize("given", ["--text-key form", "--text-key 2", "--text-key 1 --skip-malformed"])
def test_comments_before_rows_are_named(slmtok, given: str) -> None:
    words = "".join(f"{at}\t{word}\t_\t_\t_\t_\t_\t_\t_\t_\n" for at, word in enumerate(SENTENCE.split(), 1))
    Path("corpus.conllu").write_text("".join(f"# sent_id = {row[-1]}\n# text = {row}\n{words}\n" for row in ROWS))
    fix = fix_of(slmtok, f"count corpus.conllu --format tsv {given} -o new.counts")
    command, _, named = fix.rpartition(", and ")
    assert named == "name it"
    subprocess.run(command, shell=True, check=True)
    assert Path("corpus.lines").read_text().splitlines() == ROWS
    write_rows("dump.tsv", [["# made by a program"], ["id", "text"], *([row[-1], row] for row in ROWS)])
    fix = fix_of(slmtok, "count dump.tsv -o new.counts")
    subprocess.run(fix.removesuffix(", and name it"), shell=True, check=True)
    assert slmtok("count", "dump-rows.tsv", "-o", "new.counts").code == 0


def test_a_file_and_its_compressed_form_are_one(slmtok) -> None:
    write_records("docs.jsonl", [{"text": row} for row in ROWS])
    Path("docs.jsonl.gz").write_bytes(gzip.compress(Path("docs.jsonl").read_bytes()))
    Path("more.jsonl.gz").write_bytes(gzip.compress(b'{"text": "more"}\n'))
    for corpus in ("docs.jsonl docs.jsonl.gz", "docs.jsonl.gz docs.jsonl more.jsonl.gz", "."):
        assert fix_of(slmtok, f"count {corpus} -o ../x.counts") == "--exclude docs.jsonl.gz"
    Path("docs.jsonl.gz").write_bytes(gzip.compress(b'{"text": "another text of this name"}\n'))
    assert slmtok("count", "docs.jsonl", "docs.jsonl.gz", "-o", "x.counts").code == 0
