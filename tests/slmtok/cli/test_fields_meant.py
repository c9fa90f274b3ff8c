"""Keys and templates that name fields as other programs do: the fix reads the fields that are meant, all of them."""

from __future__ import annotations

import csv
import json
import shlex
import subprocess
from pathlib import Path

import pytest
from printed_fixes import fix_of

ROWS = [{"id": n, "title": f"Story {n}", "text": f"It rained on day {n}."} for n in range(8)]


@pytest.fixture
def files(slmtok):
    Path("good.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    Path("good.json").write_text(json.dumps(ROWS))
    nested = [{"id": row["id"], "meta": {"text": row["text"]}} for row in ROWS]
    Path("nested.jsonl").write_text("".join(json.dumps(row) + "\n" for row in nested))
    with Path("good.csv").open("w") as file:
        csv.writer(file).writerows([ROWS[0].keys(), *(row.values() for row in ROWS)])
    table = "".join("\t".join(map(str, row)) + "\n" for row in [ROWS[0].keys(), *(row.values() for row in ROWS)])
    Path("tab.tsv").write_text(table)
    Path("tab.txt").write_text(table)
    return slmtok


@pytest.mark.parametrize("name", ["good.jsonl", "good.json", "good.csv", "tab.tsv"])
@pytest.mark.parametrize("key", ["title,text", "title, text", "title+text", "title text"])
def test_several_keys_are_a_template(files, name, key):
    """A key alone would leave out the text of the others without a word."""
    ran = files("count", name, "--text-key", key, "-o", "x")
    assert fix_of(ran) == r"--text-template '{title}\n{text}' in the place of --text-key"
    again = files("count", name, *shlex.split(fix_of(ran))[:2], "-o", "x", "--json").json["result"]
    assert again["documents"] == len(ROWS)
    assert again["bytes"] == sum(len(f"{row['title']}\n{row['text']}") for row in ROWS)


@pytest.mark.parametrize(
    ("template", "meant"),
    [
        ("%(title)s: %(text)s", "{title}: {text}"),
        ("%(title)s $text", "{title} {text}"),
        ("$title $text", "{title} {text}"),
        ("{{title}} {{ text }}", "{title} {text}"),
        ("{title} {text:>10}", "{title} {text}"),
        ("{title|strip} {text!s}", "{title|strip} {text}"),
        ("{title|trim} {text|upcase}", "{title|strip} {text|upper}"),
    ],
)
def test_templates_of_other_programs_name_the_same_fields(files, template, meant):
    ran = files("count", "good.jsonl", "--text-template", template, "-o", "x")
    assert fix_of(ran) == f"--text-template {shlex.quote(meant)}"
    assert files("count", "good.jsonl", "--text-template", meant, "-o", "x").code == 0


@pytest.mark.parametrize("template", ["{meta[text]}", "{meta.text} ({id})"])
def test_a_field_in_another_is_written_as_one_of_its_own(files, template):
    ran = files("count", "nested.jsonl", "--text-template", template, "-o", "x")
    command, _, rest = fix_of(ran).partition(" # and name it")
    assert command.startswith("python -c ")
    assert not rest
    subprocess.run(command, shell=True, check=True)
    again = files("count", "nested-text.jsonl", "--text-template", template, "-o", "x", "--json").json["result"]
    more = len(" (0)") if "id" in template else 0
    assert again["bytes"] == sum(len(row["text"]) + more for row in ROWS)


@pytest.mark.parametrize("line", ["count tab.txt -o x", "train tab.txt --vocab 290 -o x.json"])
def test_a_key_that_equals_the_default_names_a_field_too(files, line):
    """Else the table would be one text, its numbers and header included."""
    ran = files(*line.split(), "--text-key", "text")
    assert ran.code == 2
    assert "error: --text-key text names a field, and no file of the corpus has records\n" in ran.err
    assert fix_of(ran) == "--format tsv"
    again = files("count", "tab.txt", "--text-key", "text", "--format", "tsv", "-o", "x", "--json").json["result"]
    assert again["documents"] == len(ROWS)
    assert files("count", "good.jsonl", "--text-key", "text", "-o", "y").code == 0


LONG = [f"Maria opened the old box number {at}, and the children sang" for at in range(20)]


@pytest.mark.parametrize(
    ("name", "first", "meant"),
    [
        ("a.csv", "Id,Review,Stars", "--text-key Review"),
        ("a.tsv", "Id\tReview\tStars", "--text-key Review"),
        ("b.csv", "", "--text-key 2"),
        ("b.tsv", "", "--text-key 2"),
    ],
)
def test_the_column_with_the_longest_values_is_proposed(slmtok, name: str, first: str, meant: str) -> None:
    """Another column is read without a word: labels and numbers would be learned."""
    with Path(name).open("w") as file:
        file.write(f"{first}\n" if first else "")
        mark = "," if name.endswith(".csv") else "\t"
        csv.writer(file, delimiter=mark, lineterminator="\n").writerows([n, text, "pos"] for n, text in enumerate(LONG))
    if name.endswith(".tsv"):
        Path(name).write_text(Path(name).read_text().replace('"', ""))
    ran = slmtok("count", name, "-o", "x")
    fix = fix_of(ran)
    assert "has the longest values" in ran.err
    assert fix.partition(";")[0] == meant and "--text-key 3" not in fix
    result = slmtok("count", name, *meant.split(), "-o", "x", "--json").json["result"]
    assert result["bytes"] == sum(map(len, LONG))


@pytest.mark.parametrize("key", ["text", "review"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_a_header_whose_first_name_is_empty_is_no_row_of_text(slmtok, name: str, key: str) -> None:
    """pandas writes an index so; by its number, the name of the column would be learned."""
    rows = [["", "Age", "Review Text"], *([at, 20 + at, text] for at, text in enumerate(LONG))]
    mark = "," if name.endswith(".csv") else "\t"
    with Path(name).open("w") as file:
        csv.writer(file, delimiter=mark, lineterminator="\n", quotechar="'").writerows(rows)
    Path(name).write_text(Path(name).read_text().replace("'", '"' if mark == "," else ""))
    ran = slmtok("count", name, "--text-key", key, "-o", "x")
    assert "(it has: '', Age, Review Text)" in ran.err
    assert fix_of(ran) == "--text-key 'Review Text'; where the first row is text too, its number: --text-key 3"
    result = slmtok("count", name, "--text-key", "Review Text", "-o", "x", "--json").json["result"]
    assert (result["documents"], result["bytes"]) == (len(LONG), sum(map(len, LONG)))


@pytest.mark.parametrize("first", ["Id,Review,Stars", ",Review,Stars", "one,Maria opened,pos"])
def test_a_header_above_numbers_that_was_read_as_text_is_noted(slmtok, first: str) -> None:
    """By its number, the name of a column is learned as a text."""
    Path("a.csv").write_text(
        "".join(f"{row}\n" for row in [first, *(f"{at},{text!r},5" for at, text in enumerate(LONG))])
    )
    lines = Path("a.csv").read_text().replace(", and", " and")
    Path("a.csv").write_text(lines)
    name = first.split(",")[1]
    err = slmtok("count", "a.csv", "--text-key", "2", "-o", "x").err
    assert (
        f") was read as text; run it again with --text-key {shlex.quote(name)} --force for a table with a header" in err
    )
    Path("b.csv").write_text(lines.replace(first, f"0,{name},5"))
    assert "was read as text" not in slmtok("count", "b.csv", "--text-key", "2", "-o", "y").err


@pytest.mark.parametrize("mark", [",", "\t"])
def test_such_a_table_without_a_name_of_its_format_has_a_header(slmtok, mark: str) -> None:
    lines = [mark.join(["", "title", "text"]), *(f"{at}{mark}Day {at}{mark}It rained" for at in range(9))]
    Path("table").write_text("".join(f"{line}\n" for line in lines))
    err = slmtok("count", "table", "-o", "x").err
    assert "('', title, text), and its columns were read as text" in err and "--text-key text" in err


def test_the_longest_field_is_proposed(slmtok) -> None:
    rows = [{"id": f"a{at}", "review": text, "source": "web"} for at, text in enumerate(LONG)]
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert fix_of(slmtok("count", "a.jsonl", "-o", "x")).startswith("--text-key review if all records have it")


def test_the_largest_column_of_parquet_is_proposed(slmtok) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(
        pa.table({"id": [f"a{at}" for at in range(20)], "review": LONG, "source": ["web"] * 20}), "a.parquet"
    )
    assert fix_of(slmtok("count", "a.parquet", "-o", "x")) == "--text-key review"


@pytest.mark.parametrize("name", ["good.jsonl", "good.json", "good.csv", "tab.tsv"])
def test_all_fields_of_a_template_are_mended_at_once(files, name):
    ran = files("count", name, "--text-template", "{titel}\n{body} {id}", "-o", "x")
    assert fix_of(ran).startswith(r"--text-template '{title}\n{text} {id}'")
    assert files("count", name, *shlex.split(fix_of(ran).partition(";")[0]), "-o", "x").code == 0


@pytest.mark.parametrize("template", ["title text", "title,text", "title, text", "title|text"])
def test_names_without_braces_are_a_template(files, template):
    ran = files("count", "good.jsonl", "--text-template", template, "-o", "x")
    assert fix_of(ran) == r"--text-template '{title}\n{text}'"
    assert fix_of(files("count", "good.jsonl", "--text-template", "a title.", "-o", "x")) == "--text-template '{NAME}'"


@pytest.mark.parametrize(
    ("template", "meant"),
    [
        ("Title: title, body: text", "Title: {title}, body: {text}"),
        (r"Title: title\nBody: text", r"Title: {title}\nBody: {text}"),
        ("Title: title Body: text.", "Title: {title} Body: {text}."),
        ("Title: the title", "{NAME}"),
    ],
)
def test_names_behind_labels_are_fields(files, template, meant):
    fix = fix_of(files("count", "good.jsonl", "--text-template", template, "-o", "x"))
    assert fix == f"--text-template '{meant}'"
    if meant != "{NAME}":
        assert files("count", "good.jsonl", *shlex.split(fix), "-o", "x").code == 0


def test_a_key_that_is_repeated_is_a_template(files):
    for key in (["--text-key", "text"], ["--text-key=text"]):
        ran = files("count", "good.jsonl", "--text-key", "title", *key, "-o", "x")
        assert fix_of(ran) == r"--text-template '{title}\n{text}' in the place of --text-key"
    assert fix_of(files("count", "good.jsonl", "--text-key=id", "--text-key=id", "-o", "x")) == "keep one"
    ran = files("bench", "--on", "good.jsonl", "--text-key=title", "--text-key=text")
    assert fix_of(ran) == "keep one", "it has no --text-template"


PROMPTS = [{"id": f"a{n}", "instruction": f"Write of day {n}.", "input": "", "output": "It rained."} for n in range(8)]


def test_a_column_without_a_value_is_not_skipped_row_by_row(slmtok) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    nulls = pa.array([None] * 20, pa.string())
    pq.write_table(pa.table({"text": nulls, "content": nulls, "review": LONG}), "a.parquet", row_group_size=8)
    ran = slmtok("count", "a.parquet", "-o", "x")
    assert "every value of the column 'text' is null (columns: content, review, text)" in ran.err
    assert fix_of(ran) == "--text-key review"
    assert slmtok("count", "a.parquet", "--text-key", "review", "-o", "x").code == 0
    ran = slmtok("count", "a.parquet", "--text-template", "{text}: {review}", "-o", "z")
    assert fix_of(ran) == "--text-template '{review}'"
    # Other files may have text.
    pq.write_table(pa.table({"text": LONG}), "b.parquet")
    ran = slmtok("count", "a.parquet", "b.parquet", "--skip-malformed", "-o", "y", "--json")
    assert ran.json["result"]["documents"] == 20


@pytest.mark.parametrize("name", ["qa.jsonl", "qa.json", "qa.csv", "qa.parquet"])
def test_a_prompt_and_its_answer_are_one_text(slmtok, name):
    """One field alone would leave out half of each text without a word."""
    if name == "qa.csv":
        with Path(name).open("w") as file:
            csv.writer(file).writerows([PROMPTS[0].keys(), *(row.values() for row in PROMPTS)])
    elif name == "qa.parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.Table.from_pylist(PROMPTS), name)
    else:
        lines = "".join(json.dumps(row) + "\n" for row in PROMPTS)
        Path(name).write_text(lines if name == "qa.jsonl" else json.dumps(PROMPTS))
    template = r"--text-template '{instruction}\n{input}\n{output}'"
    assert fix_of(slmtok("count", name, "-o", "x")).partition(";")[0] == template
    ran = slmtok("count", name, "--text-key", "story", "-o", "x")
    assert fix_of(ran).partition(";")[0] == f"{template} in the place of --text-key"
    assert fix_of(slmtok("count", name, "--text-key", "outptu", "-o", "x")).startswith("--text-key output")
    result = slmtok("count", name, *shlex.split(template), "-o", "x", "--json").json["result"]
    texts = [f"{row['instruction']}\n{row['input']}\n{row['output']}" for row in PROMPTS]
    assert (result["documents"], result["bytes"]) == (len(texts), sum(map(len, texts)))


@pytest.mark.parametrize("first", ["", None])
@pytest.mark.parametrize("name", ["posts.jsonl", "posts.json", "saved"])
def test_field_with_the_most_text_is_that_of_several_records(slmtok, name, first):
    """A post of a forum may have a title alone: its field for the text is empty, or null."""
    rows = [{"title": f"A post {n}", "selftext": "The harbour was quiet. " * 9 if n else first} for n in range(9)]
    if name == "saved":
        pytest.importorskip("datasets").Dataset.from_list(rows).save_to_disk(name)
    else:
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        Path(name).write_text(lines if name.endswith("l") else json.dumps(rows))
    err = slmtok("count", name, "-o", "x").err
    assert "limit: 'selftext' holds the most text" in err
    assert "fix:   --text-key selftext" in err


def test_the_most_text_is_that_of_records_on_stdin_too(slmtok):
    lines = "".join(json.dumps({"a": f"{n}", "b": "It rained. " * 9 * bool(n)}) + "\n" for n in range(9))
    assert "--text-key b if all" in slmtok("count", "-", "--format", "jsonl", "-o", "x", stdin=lines.encode()).err


@pytest.mark.parametrize(
    "first", ["Chapter One", "On an evening of August, Mateo was allowed to stay with Grandad for the night."]
)
def test_prose_in_a_file_that_is_named_as_a_table_is_text(slmtok, first: str) -> None:
    Path("a.csv").write_text(f"{first}\n\nIt was a dark, stormy, and cold night.\n\nHe ran.\n")
    ran = slmtok("count", "a.csv", "-o", "x")
    assert "limit: a table has as many columns in each row, and these rows have 1 to 3\n" in ran.err
    fix, _, condition = fix_of(ran).partition(", ")
    assert fix == "--format text" and condition.startswith("if it is plain text")
    result = slmtok("count", "a.csv", *fix.split(), "-o", "x", "--json").json["result"]
    assert result["bytes"] == Path("a.csv").stat().st_size


def test_prose_in_a_table_of_one_column(slmtok) -> None:
    """Nothing divides its lines; a tab in the second one does."""
    first = "On an evening of August Mateo was allowed to stay with Grandad for the night."
    for name in ("a.tsv", "a.csv"):
        Path(name).write_text(f"{first}\n\nIt was dark.\nHe ran.\n")
        assert fix_of(slmtok("count", name, "-o", "x")) == "--text-key 1; for plain text, --format text"
    Path("a.tsv").write_text("Chapter One\nIt was\tdark.\nHe ran.\n")
    ran = slmtok("count", "a.tsv", "-o", "x")
    assert "these rows have 1 to 2\n" in ran.err and fix_of(ran).startswith("--format text, if it is plain text; ")


@pytest.mark.parametrize(
    ("first", "template", "fix"),
    [
        ("", "{text}", "--text-template '{2}'"),
        ("", "{text|strip}", "--text-template '{2|strip}'"),
        ("", "{title}: {text}", "--text-template '{1}: {2}', or with the numbers of other columns"),
        (
            "Id\tReview",
            "{words}",
            "--text-template '{NAME}', the one of these that holds the text; where the first row is text too, by "
            "number: --text-template '{2}'",
        ),
        ("Id\tReview", "{Id}: {words}", "--text-template '{Id}: {NAME}', the one of these that holds the text"),
    ],
)
def test_a_template_of_names_reads_a_table_without_names_by_number(slmtok, first: str, template: str, fix: str) -> None:
    """A template with all columns would join labels to the text."""
    rows = [f"Maria {at}:1\t{text}" for at, text in enumerate(LONG)]
    Path("a.tsv").write_text("\n".join([*([first] if first else []), *rows, ""]))
    ran = slmtok("count", "a.tsv", "--text-template", template, "-o", "x")
    assert fix_of(ran) == fix
    is_one = not first and template.count("{") == 1
    assert ("limit: column 2 has the longest values" in ran.err) == is_one
    if not first:
        read = shlex.split(fix.partition(", or")[0])
        result = slmtok("count", "a.tsv", *read, "-o", "x", "--json").json["result"]
        assert result["bytes"] == sum(map(len, LONG if is_one else (row.replace("\t", ": ") for row in rows)))
