"""Corpora that are something else than they are read as: what the errors and the notes of a command say of them."""

from __future__ import annotations

import gzip
import json
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from printed_fixes import fix_of_line

import slmtok as library

SENTENCE = "the evening river went through the old town and the children sang"
ROWS = [f"{SENTENCE} {number}" for number in range(40)]


def write_records(name: str, records: list[dict[str, object]]) -> None:
    Path(name).write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.mark.parametrize("at", [0, 20])
def test_a_record_without_text_among_others_is_skipped(slmtok, at: int) -> None:
    records = [{"genre": "news", "text": None if number == at else row} for number, row in enumerate(ROWS)]
    write_records("nulls.jsonl", records)
    Path("nulls.json").write_text(json.dumps(records))
    for name in ("nulls.jsonl", "nulls.json"):
        fix = fix_of_line(slmtok, f"count {name} -o new.counts")
        assert fix == "--skip-malformed to skip such records; the summary counts them"
        ran = slmtok("count", name, "-o", f"{name}.counts", "--skip-malformed", "--json")
        assert ran.json["result"]["documents"] == len(ROWS) - 1


def test_a_path_of_fields_is_written_as_a_field(slmtok) -> None:
    write_records("nested.jsonl", [{"id": 1, "genre": "news", "text": {"full": row}} for row in ROWS])
    fix = fix_of_line(slmtok, "count nested.jsonl --text-key text.full -o new.counts")
    command, _, named = fix.rpartition(" # and ")
    assert named == "name it"
    subprocess.run(command, shell=True, check=True)
    ran = slmtok("count", "nested-text.jsonl", "--text-key", "text.full", "-o", "new.counts", "--json")
    assert ran.json["result"]["documents"] == len(ROWS)
    assert ran.json["result"]["bytes"] == sum(map(len, ROWS))
    Path("nested.jsonl").rename("nested.ndjson")
    fix = fix_of_line(slmtok, "count nested.ndjson --text-key text.full -o other.counts")
    assert fix.startswith(command.partition(" < ")[0]) and fix.endswith(" # and name it")
    Path("nested.ndjson").rename("nested.log")
    fix = fix_of_line(slmtok, "count nested.log --format jsonl --text-key text.full -o other.counts")
    assert (
        fix
        == command.replace(" nested.jsonl ", " nested.log ").replace("nested-text", "nested.log-text")
        + " # and name it"
    )


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
            assert fix_of_line(slmtok, f"count {name} {given} -o x.counts") == f"{meant}, or the number of another one"
    assert fix_of_line(slmtok, "count noheader.tsv --text-template '$3' -o x.counts") == "--text-template '{3}'"
    write_rows("numbered.tsv", [["0", "1", "2"], *rows])
    ran = slmtok("count", "numbered.tsv", "--text-key", "0", "-o", "x.counts", "--json")
    assert ran.json["result"]["documents"] == len(ROWS)


@pytest.mark.parametrize("given", ["--text-key form", "--text-key 2", "--text-key 1 --skip-malformed"])
def test_comments_before_rows_are_named(slmtok, given: str) -> None:
    words = "".join(f"{at}\t{word}\t_\t_\t_\t_\t_\t_\t_\t_\n" for at, word in enumerate(SENTENCE.split(), 1))
    Path("corpus.conllu").write_text("".join(f"# sent_id = {row[-1]}\n# text = {row}\n{words}\n" for row in ROWS))
    fix = fix_of_line(slmtok, f"count corpus.conllu --format tsv {given} -o new.counts")
    command, _, named = fix.rpartition(" # and ")
    assert named == "name it"
    subprocess.run(command, shell=True, check=True)
    assert Path("corpus-text.lines").read_text().splitlines() == ROWS
    write_rows("dump.tsv", [["# made by a program"], ["id", "text"], *([row[-1], row] for row in ROWS)])
    fix = fix_of_line(slmtok, "count dump.tsv -o new.counts")
    subprocess.run(fix.removesuffix(" # and name it"), shell=True, check=True)
    assert slmtok("count", "dump-rows.tsv", "-o", "new.counts").code == 0


def test_a_file_and_its_compressed_form_are_one(slmtok) -> None:
    write_records("docs.jsonl", [{"text": row} for row in ROWS])
    Path("docs.jsonl.gz").write_bytes(gzip.compress(Path("docs.jsonl").read_bytes()))
    Path("more.jsonl.gz").write_bytes(gzip.compress(b'{"text": "more"}\n'))
    for corpus in ("docs.jsonl docs.jsonl.gz", "docs.jsonl.gz docs.jsonl more.jsonl.gz", "."):
        assert fix_of_line(slmtok, f"count {corpus} -o ../x.counts") == "--exclude docs.jsonl.gz"
    Path("docs.jsonl.gz").write_bytes(gzip.compress(b'{"text": "another text of this name"}\n'))
    assert slmtok("count", "docs.jsonl", "docs.jsonl.gz", "-o", "x.counts").code == 0


def test_a_list_of_files_is_no_corpus(slmtok) -> None:
    for name in ("a.txt", "b.txt"):
        Path(name).write_text(SENTENCE * 40)
    Path("files.txt").write_text("a.txt\nb.txt\n")
    line = "slmtok train $(cat files.txt) --vocab 290 -o new.json"
    for given in ("files.txt", "@files.txt", "--files-from files.txt", "--file-list=files.txt", "--input files.txt"):
        assert fix_of_line(slmtok, f"train {given} --vocab 290 -o new.json") == line
    for given in ("files.txt", "a.txt,b.txt"):
        fix = fix_of_line(slmtok, f"train --input {given} --vocab_size 290 --model_prefix new")
        named = "$(cat files.txt)" if given == "files.txt" else "a.txt b.txt"
        assert fix == f"slmtok train {named} --vocab_size 290 -o new.json"
    ran = slmtok("train", "files.txt", "--vocab", "272", "-o", "new.json")
    note = "note: the lines of files.txt are names of files, and these names were read as text; "
    assert note + "slmtok train $(cat files.txt) --vocab 272 -o new.json --force\n" in ran.err
    assert "names of files" not in slmtok("count", "files.txt", "--format", "text", "-o", "x.counts").err
    ran = slmtok("train", "-", "--vocab", "272", "-o", "more.json", stdin=b"a.txt\nb.txt\n")
    note = note.replace("files.txt", "stdin")
    assert f"{note}slmtok train $(COMMAND) --vocab 272 -o more.json --force\n" in ran.err
    Path("a b.txt").write_text(SENTENCE)
    Path("files.txt").write_text("a.txt\na b.txt\n")
    fix = fix_of_line(slmtok, "count @files.txt -o y.counts")
    assert fix == r"tr '\n' '\0' < files.txt | xargs -0 slmtok count -o y.counts"
    names = subprocess.run(fix.partition(" | ")[0], shell=True, check=True, capture_output=True).stdout
    assert slmtok("count", "-o", "y.counts", *names.decode().rstrip("\0").split("\0")).code == 0
    assert "COMMAND | tr " in slmtok("count", "-", "-o", "z.counts", stdin=b"a.txt\na b.txt\n").err
    Path("files.txt").write_text("a.txt\na b.txt\n" * 2000)
    assert fix_of_line(slmtok, "count @files.txt -o y.counts") == "name the files that files.txt lists"
    Path("files.txt").write_text("a.txt\nno file\n")
    assert "names of files" not in slmtok("count", "files.txt", "-o", "y.counts").err


@pytest.mark.parametrize(
    ("name", "begin", "language"),
    [("a.xml", "<?xml version='1.0'?>", "XML"), ("b.xml", "<TEI>", "XML"), ("c", "\n<!DOCTYPE html>\n<html>", "HTML")],
)
def test_markup_is_named(slmtok, name: str, begin: str, language: str) -> None:
    Path(name).write_text(begin + "".join(f"<p>{row}</p>\n" for row in ROWS))
    fix = fix_of_line(slmtok, f"train {name} --text-key p --vocab 290 -o new.json")
    command, _, rest = fix.partition(" # and name it ")
    assert command.startswith("python -c ") and f" < {name} > " in command
    assert rest == f"without the option: {name} is {language}, whose tags would be learned as text"
    ran = slmtok("count", name, "-o", "x.counts")
    assert f"note: {name} is {language}, and its tags were read as text" in ran.err
    assert "its tags" not in slmtok("count", name, "--format", "text", "-o", "y.counts").err


def test_a_header_that_was_read_as_text(slmtok) -> None:
    write_rows("table.tsv", [["id", "text"], *([row[-1], row] for row in ROWS)])
    Path("meta.csv").write_text("id,content\n" + "".join(f"1,{row}\n" for row in ROWS))
    for name, given, meant in (
        ("table.tsv", "--text-key=2", "--text-key text"),
        ("table.tsv", "--text-template={1}: {2|strip}", "--text-template '{id}: {text|strip}'"),
        ("meta.csv", "--text-key=2", "--text-key content"),
    ):
        ran = slmtok("count", name, given, "-o", "x.counts", "--force")
        assert f"run it again with {meant} --force for a table with a header\n" in ran.err, ran
        ran = slmtok("count", name, *shlex.split(meant), "-o", "x.counts", "--force", "--json")
        assert ran.json["result"]["documents"] == len(ROWS)
    assert "first row" not in slmtok("count", "table.tsv", "--text-key", "1", "-o", "x.counts", "--force").err


def test_quotes_of_tsv_are_named(slmtok) -> None:
    write_rows("quoted.tsv", [["id", "text"], *([row[-1], f'"He said ""hi"", {row}"'] for row in ROWS)])
    ran = slmtok("count", "quoted.tsv", "-o", "x.counts")
    fact = "note: the texts in the first rows of quoted.tsv are in quotes, which .tsv keeps as text; "
    note = next(each for each in ran.err.splitlines() if each.startswith(fact))
    command = note.removeprefix(fact).removesuffix(" # and name it, with --force")
    subprocess.run(command, shell=True, check=True)
    ran = slmtok("count", "quoted.csv", "-o", "y.counts", "--json")
    assert ran.json["result"]["bytes"] == sum(len(f'He said "hi", {row}') for row in ROWS)


def test_the_name_of_a_folder_as_a_glob(slmtok) -> None:
    for name in ("texts/news", "texts/old", "texts/old/deep"):
        Path(name).mkdir(parents=True)
        Path(name, "a.txt").write_text(SENTENCE)
    for given, meant, documents in (
        ("--exclude=news", "--exclude 'news/*'", 2),
        ("--exclude=texts/old/", "--exclude 'texts/old/**'", 1),
        ("--domain=old=old", "--domain 'old=old/**'", 3),
    ):
        ran = slmtok("count", "texts", given, "-o", "x.counts", "--force")
        assert f"run it again with {meant} --force for the files below it\n" in ran.err, ran
        ran = slmtok("count", "texts", *shlex.split(meant), "-o", "x.counts", "--force", "--json")
        assert ran.json["result"]["documents"] == documents and "matches no file" not in ran.err


def test_a_separator_with_white_space_that_the_text_lacks(slmtok) -> None:
    Path("eot.txt").write_text("<|endoftext|>".join(ROWS))
    ran = slmtok("count", "eot.txt", "--separator", "<|endoftext|>\\n", "-o", "x.counts")
    note = "'<|endoftext|>' occurs without the white space: run it again with --separator '<|endoftext|>' --force\n"
    assert note in ran.err, ran
    ran = slmtok("count", "eot.txt", "--separator", "<|endoftext|>", "-o", "x.counts", "--force", "--json")
    assert ran.json["result"]["documents"] == len(ROWS)
    assert "white space" not in slmtok("count", "eot.txt", "--separator", "NOPE\\n", "-o", "y.counts").err


def test_an_object_of_texts_is_written_as_records(slmtok) -> None:
    Path("dict.json").write_text(json.dumps({f"doc{number}": row for number, row in enumerate(ROWS)}))
    said = "note: dict.json is one JSON object with texts, and its JSON was read as text; "
    ran = slmtok("count", "dict.json", "-o", "x.counts")
    note = next(each.removeprefix(said) for each in ran.err.splitlines() if each.startswith(said))
    fix = fix_of_line(slmtok, "count dict.json --format json -o new.counts")
    assert note == f"{fix}, with --force"
    command, _, named = fix.rpartition(" # and ")
    assert named == "name it"
    subprocess.run(command, shell=True, check=True)
    result = slmtok("count", "dict-text.jsonl", "-o", "new.counts", "--json").json["result"]
    assert (result["documents"], result["bytes"]) == (len(ROWS), sum(map(len, ROWS)))
    Path("one.json").write_text(json.dumps({"title": "A story", "text": " ".join(ROWS)}))
    ran = slmtok("count", "one.json", "-o", "x.counts", "--force")
    assert "its JSON was read as text; run it again with --format json --force\n" in ran.err
    for text in ('{"greeting": "hello", "bye": "so long"}', json.dumps({"a": ROWS, "b": ROWS[0]})):
        Path("settings.json").write_text(text)
        assert "read as text" not in slmtok("count", "settings.json", "-o", "x.counts", "--force").err


def write_archive(name: str, *files: str, kind: str = "") -> None:
    with zipfile.ZipFile(name, "w") as archive:
        for file in files:
            archive.writestr(file, kind if file == "mimetype" else "<?xml version='1.0'?>")


def test_documents_of_office_programs_are_named(slmtok) -> None:
    for name in ("sheet.csv", "sheet.xlsx", "sheet"):
        write_archive(name, "[Content_Types].xml", "_rels/.rels", "xl/workbook.xml", "xl/sharedStrings.xml")
        assert fix_of_line(slmtok, f"count {name} -o x.counts").startswith(
            "save it as CSV in UTF-8 from the spreadsheet"
        )
        assert f"'{name}' is an Excel workbook, not " in slmtok("count", name, "-o", "x.counts").err
    write_archive("a.docx", "[Content_Types].xml", "word/document.xml")
    write_archive("a.ods", "mimetype", "content.xml", kind="application/vnd.oasis.opendocument.spreadsheet")
    for name, what in (("a.docx", "a Word document"), ("a.ods", "an OpenDocument spreadsheet")):
        assert f"'{name}' is {what}, not text" in slmtok("count", name, "-o", "x.counts").err
    write_archive("texts.zip", "a.txt", "b.txt")
    Path("texts.zip").rename("texts.txt")
    assert fix_of_line(slmtok, "count texts.txt -o x.counts").startswith(
        "python -m zipfile -e texts.txt texts # and name texts, or "
    )
    Path("folder").mkdir()
    Path("sheet.xlsx").rename("folder/sheet.xlsx")
    Path("folder/a.txt").write_text(SENTENCE)
    assert "--exclude '*.xlsx'" in fix_of_line(slmtok, "count folder -o x.counts")


def test_the_fix_of_an_archive_names_the_column_of_its_table(slmtok) -> None:
    table = "".join(f"{number},{SENTENCE.replace(',', '')},5\n" for number in range(3))
    for header, end in (("id,review,stars", ", with --text-key review"), ("id,text,stars", "")):
        with zipfile.ZipFile("reviews.zip", "w") as archive:
            archive.writestr("notes.md", SENTENCE)
            archive.writestr("data/reviews.csv", f"{header}\n{table}")
        fix = fix_of_line(slmtok, "count reviews.zip -o x.counts")
        assert fix.startswith(f"python -m zipfile -e reviews.zip reviews # and name reviews{end}, or --format text")


def test_pages_are_counted(slmtok) -> None:
    Path("site").mkdir()
    for number in range(3):
        Path(f"site/{number}.html").write_text(f"<html><p>{ROWS[number]}</p></html>")
    err = slmtok("count", "site", "-o", "x.counts").err
    fact = "note: site/0.html and 2 more files are HTML, and their tags were read as text; "
    assert f"{fact}for each in site/*.html; do python -c " in err
    Path("site/page").write_text("<html></html>")
    err = slmtok("count", "site", "-o", "y.counts").err
    assert "and 3 more files are HTML" in err
    assert "for each in site/*; do python -c " in err and "and name site/*-text.txt, with --force" in err


def pasted(err: str) -> str:
    """The text that the command of a note writes."""
    command, _, _ = err.split("were read as text; ")[1].partition(" # and name ")
    assert command.startswith("python -c ")
    subprocess.run(["sh", "-c", command.replace("python", shlex.quote(sys.executable), 1)], check=True)
    return Path(command.split(" > ")[-1]).read_text()


def test_the_text_of_a_page_is_made_by_the_command_of_the_note(slmtok) -> None:
    page = (
        "<!DOCTYPE html><html><script>let a = '<b>';</script><style>p {}</style><p class='x'>Cats &amp; dogs</p></html>"
    )
    Path("a.html").write_text(page)
    assert pasted(slmtok("count", "a.html", "-o", "x.counts").err).split() == ["Cats", "&", "dogs"]


def test_the_articles_of_a_dump_are_made_by_the_command_of_the_note(slmtok) -> None:
    page = "<page><title>{0}</title><id>7</id><revision><text>The ''{0}'' &amp; more.</text></revision></page>"
    begin = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/">'
    Path("dump.xml").write_text(f"{begin}{page.format('cat')}{page.format('dog')}</mediawiki>")
    lines = pasted(slmtok("count", "dump.xml", "-o", "x.counts").err).splitlines()
    assert [json.loads(line)["text"] for line in lines] == ["The ''cat'' & more.", "The ''dog'' & more."]
    assert slmtok("count", "dump-text.jsonl", "-o", "y.counts").code == 0


def test_json_lines_that_a_call_of_python_reads_as_text_are_named(slmtok) -> None:
    """With a key, which only records have, they are refused."""
    Path("rows.txt").write_text('{"text": "the cat sat"}\n' * 40)
    with pytest.warns(UserWarning, match="^rows.txt looks like JSON lines, and its JSON was read as text; format="):
        library.count("rows.txt")
    with pytest.raises(
        library.errors.OptionError, match=r"no file of the corpus has records\n(.*\n)*  fix:   format='jsonl'$"
    ):
        library.count("rows.txt", text_key="text")
    assert library.count("rows.txt", format="jsonl", text_key="text").documents == 40


def test_the_glob_of_the_output_is_no_glob_without_a_file(slmtok) -> None:
    """At the first run the folder is not there."""
    Path("texts").mkdir()
    for name in "ab":
        Path(f"texts/{name}.txt").write_text(SENTENCE * 40)
    assert slmtok("train", "texts", "--vocab", "280", "-o", "tok.json").code == 0
    line = ["pack", "texts", "-t", "tok.json", "-o", "texts/data"]
    fix = slmtok(*line).err.split("  fix:   ")[1].partition(", or ")[0]
    first = slmtok(*line, *shlex.split(fix))
    assert first.code == 0 and "matches no file" not in first.err
    assert slmtok(*line, *shlex.split(fix), "--force").code == 0
    assert "matches no file" in slmtok(*line, *shlex.split(fix), "--exclude", "*.md", "--force").err


def test_weights_are_said_with_the_globs_of_their_domains(slmtok) -> None:
    Path("folder").mkdir()
    for name in "ab":
        Path(f"folder/{name}.txt").write_text(SENTENCE * 40)
    ran = slmtok("count", "folder", "--domain", "a=50%", "--domain", "b=50%", "-o", "x.counts")
    globs, weights = "--domain a=GLOB --domain b=GLOB", "--mix a=0.5 --mix b=0.5"
    fix = f"  fix:   {globs} with globs that match their files; their weights in training are {weights}, which say how"
    assert fix in ran.err
    line = ["train", "folder", "--vocab", "280", "-o", "tok.json"]
    ran = slmtok(*line, "--mix", "a=50%", "--mix", "b=50%")
    assert f"  fix:   {weights}, which say how" in ran.err
    assert ran.err.endswith("; and for text, globs of its domains: --domain 'a=a.*' --domain 'b=b.*'\n")
    given = ["--domain", "a=a*", "--domain", "b=b*"]
    assert "globs of its domains" not in slmtok(*line, *given, "--mix", "a=50%", "--mix", "b=50%").err
