"""Options of a corpus that are almost right: domains, weights, validation files, separators and ends of lines."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from printed_fixes import fix_of, fix_of_line

SENTENCE = "the evening river went through the old town, and the children sang"
POEM = "\n\n".join(f"{SENTENCE} {at}" for at in range(40)) + "\n"
TRAIN = "train zh fi --vocab 280 --allow-smaller -o tok.json"


@pytest.fixture
def domains(slmtok) -> None:
    for name in ("zh", "fi"):
        Path(name).mkdir()
        Path(name, "0.txt").write_text(f"{SENTENCE} {name}\n" * 40)


def note_of(slmtok, line: str, about: str) -> str:
    ran = slmtok(*shlex.split(line))
    assert ran.code == 0, ran.err
    return next(each for each in ran.err.splitlines() if about in each)


def run_named(note: str) -> str:
    """Runs the command of a note, and gives the file that it writes and names."""
    command, _, named = note.rpartition(": ")[2].rpartition(" # and ")
    assert named == "name it, with --force"
    subprocess.run(command, shell=True, check=True)
    return command.rpartition(" > ")[2]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("--mix zh=70%", "--mix zh=0.7, which counts its text 0.7 times and is no share of the corpus"),
        ("--mix zh=0,5", "--mix zh=0.5"),
        ("--mix zh=2x", "--mix zh=2"),
        ("--mix zh=-1", "--mix zh=0, which leaves its text out"),
        ("--mix zh=much", "--mix zh=0.5, which counts its text half, for instance"),
        ("--mix zh:2", "--mix zh=2"),
        ("--mix 'zh 2'", "--mix zh=2"),
        ("--mix 2", "--mix NAME=2"),
        ("--mix zh", "--mix zh=WEIGHT"),
    ],
)
def test_the_weight_that_was_given_stays(slmtok, domains, given: str, meant: str) -> None:
    assert fix_of_line(slmtok, f"{TRAIN} --domain 'zh=zh/*' {given}") == meant


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("--domain 'zh/*'", "--domain 'zh=zh/*'"),
        ("--domain '*/zh/*'", "--domain 'zh=*/zh/*'"),
        ("--domain 'zh:zh/*'", "--domain 'zh=zh/*'"),
        ("--domain 'zh=zh/*,fi=fi/*'", "--domain 'zh=zh/*' --domain 'fi=fi/*'"),
        ("--domain 'zh=zh/*,fi/*'", "--domain 'zh=zh/*' --domain 'zh=fi/*'"),
    ],
)
def test_the_glob_that_was_given_stays(slmtok, domains, given: str, meant: str) -> None:
    assert fix_of_line(slmtok, f"{TRAIN} {given} --mix zh=2") == meant
    assert slmtok(*shlex.split(f"{TRAIN} {meant} --mix zh=2")).code == 0


@pytest.mark.parametrize("rule", ["--val zh/0.txt", "--val files:zh/0.txt", "--val=zh/0.txt"])
@pytest.mark.parametrize("corpus", ["a.txt", "fi", "fi/0.txt a.txt", "zh/0.txt a.txt"])
def test_a_file_for_validation_is_named_in_the_corpus(slmtok, domains, corpus: str, rule: str) -> None:
    Path("a.txt").write_text(POEM)
    assert slmtok(*shlex.split(TRAIN)).code == 0
    line = f"pack {corpus} -t tok.json {rule} -o packed"
    if not ("zh" in corpus and ":" in rule):
        program, *words = shlex.split(fix_of_line(slmtok, line))
        assert program == "slmtok" and words[-2:] == ["-o", "packed"]
        ran = slmtok(*words, "--json")
        assert ran.json["result"]["splits"]["val"]["bytes"] == Path("zh/0.txt").stat().st_size


@pytest.mark.parametrize("rule", ["--val packed/tok.json", "--val=packed"])
def test_validation_that_is_no_text_is_left_out_of_the_corpus(slmtok, domains, rule: str) -> None:
    assert slmtok(*shlex.split(TRAIN)).code == 0
    assert slmtok("pack", "fi", "-t", "tok.json", "-o", "packed").code == 0
    ran = slmtok(*shlex.split(f"pack fi -t tok.json {rule} -o other"))
    assert re.search(r"where: packed\S* is .*, not text\n", ran.err)
    _, *words = shlex.split(fix_of(ran))
    assert words == shlex.split(f"pack fi -t tok.json {re.sub('packed.*', 'auto', rule)} -o other")
    assert slmtok(*words).code == 0


@pytest.mark.parametrize("rule", ["files:zh/*.txt", "files:./zh/*.txt", "files:zh", "zh"])
def test_files_for_validation_are_named_in_the_corpus(slmtok, domains, rule: str) -> None:
    assert slmtok(*shlex.split(TRAIN)).code == 0
    _, *words = shlex.split(fix_of_line(slmtok, f"pack fi -t tok.json --val '{rule}' -o packed"))
    ran = slmtok(*words, "--json")
    assert ran.json["result"]["splits"]["val"]["bytes"] == sum(each.stat().st_size for each in Path("zh").iterdir())


@pytest.mark.parametrize("name", ["0.txt", "zh/0.txt", "zh/*.txt"])
def test_the_name_of_a_file_of_the_corpus_is_a_rule(slmtok, domains, name: str) -> None:
    Path("all").mkdir()
    Path("zh").rename("all/zh")
    Path("fi/0.txt").rename("all/fi.txt")
    assert slmtok(*shlex.split("train all --vocab 280 --allow-smaller -o tok.json")).code == 0
    line = "pack all -t tok.json -o packed"
    fix = fix_of_line(slmtok, f"{line} --val '{name}'")
    assert fix == f"--val {shlex.quote(f'files:{name}')}"
    ran = slmtok(*shlex.split(f"{line} {fix} --json"))
    assert ran.json["result"]["splits"]["val"]["bytes"] == Path("all/zh/0.txt").stat().st_size
    assert fix_of_line(slmtok, f"{line} --val lost.txt --force").startswith("--val auto")


def test_ends_of_lines_are_named(slmtok) -> None:
    Path("crlf.txt").write_bytes(POEM.replace("\n", "\r\n").encode())
    Path("mac.txt").write_bytes(POEM.replace("\n", "\r").encode())
    Path("a.txt").write_text(POEM)
    line = r"count crlf.txt -o new.counts --force"
    assert note_of(slmtok, rf"{line} --separator '\n\n'", "occurs nowhere").endswith(
        r"the lines end with \r\n: run it again with --separator '\r\n\r\n' --force"
    )
    note = note_of(slmtok, rf"{line} --force --separator '$\r\n\r\n'", "occurs nowhere")
    assert note.endswith(r"it occurs without the $: run it again with --separator '\r\n\r\n' --force")
    note = note_of(slmtok, r"count a.txt -o new.counts --force --separator '\r\n\r\n'", "occurs nowhere")
    assert note.endswith(r"the lines end with \n: run it again with --separator '\n\n' --force")
    ran = slmtok(*shlex.split(rf"{line} --separator '\r\n\r\n' --json"))
    assert ran.json["result"]["documents"] == 40
    assert Path(run_named(note_of(slmtok, line, "carriage returns"))).read_text() == POEM
    note = note_of(slmtok, "count mac.txt --document line -o new.counts --force", "carriage returns")
    assert "the lines of mac.txt end with them alone" in note
    assert Path(run_named(note)).read_text() == POEM


@pytest.mark.parametrize("given", [r"\x0c", "^L"])
def test_form_feeds_between_pages_are_named(slmtok, given: str) -> None:
    Path("book.txt").write_text(f"{POEM}\f" * 3)
    line = "count book.txt -o new.counts --force"
    again = note_of(slmtok, f"{line} --separator '{given}'", "occurs nowhere").rpartition("run it again with ")[2]
    assert again == r"--separator '\f' --force"
    assert slmtok(*shlex.split(f"{line} {again} --json")).json["result"]["documents"] == 3


def test_byte_order_marks_inside_a_text_are_removed_by_a_program(slmtok) -> None:
    Path("joined.txt").write_text(f"\ufeff{POEM}" * 3)
    for encoding in ("utf-8", "utf-8-sig"):
        line = f"count joined.txt --encoding {encoding} -o new.counts --force"
        cleaned = run_named(note_of(slmtok, line, "byte order marks"))
        assert Path(cleaned).read_text() == POEM * 3


def test_a_template_keeps_its_other_columns(slmtok) -> None:
    Path("a.csv").write_text(f'ID,Title,Text\n1,A story,"{SENTENCE}"\n')
    fix = fix_of_line(slmtok, "count a.csv --text-template '{Title}: {text}' -o new.counts")
    meant, _, numbers = fix.partition("; ")
    assert meant == "--text-template '{Title}: {Text}'" and "--text-key" not in numbers
    ran = slmtok("count", "a.csv", *shlex.split(meant), "-o", "new.counts", "--json")
    assert ran.json["result"]["bytes"] == len(f"A story: {SENTENCE}")


def test_binary_columns_are_read_in_the_encoding_that_is_named(slmtok) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    texts = ["café au lait"] * 20
    latin_1 = [text.encode("latin-1") for text in texts]
    pq.write_table(pa.table({"text": latin_1, "title": texts}), "a.parquet")
    line = "count a.parquet -o new.counts --force --encoding latin-1 --json"
    result = slmtok(*line.split()).json
    assert result["result"]["bytes"] == sum(len(text.encode()) for text in texts)
    assert "invalid" not in " ".join(result["warnings"])
    both = slmtok(*line.split(), "--text-template", "{title}={text}").json["result"]
    assert both["bytes"] == sum(len(f"{text}={text}".encode()) for text in texts)
    assert fix_of_line(slmtok, "count a.parquet -o other.counts --encoding ascii").startswith("name another --encoding")


def test_a_link_that_leads_nowhere_can_be_left_out(slmtok) -> None:
    Path("books").mkdir()
    Path("books/a.txt").write_text(POEM)
    Path("books/b.txt").symlink_to("/nowhere/b.txt")
    for line in ("count books -o new.counts", "train books --vocab 280 -o new.json"):
        assert fix_of_line(slmtok, line) == "make the link again, or --exclude b.txt leaves it out"
    ran = slmtok("count", "books", "--exclude", "b.txt", "-o", "new.counts", "--json")
    assert ran.json["result"]["documents"] == 1 and "matches no file" not in " ".join(ran.json["warnings"])
    assert fix_of_line(slmtok, "count bokks/a.txt -o x.counts") == "check the name: there is 'books/a.txt'"
    assert fix_of_line(slmtok, "count bokks/aa.txt -o x.counts") == "check the name: there is 'books/a.txt'"


def test_all_that_is_no_text_in_a_folder_is_left_out_at_once(slmtok) -> None:
    """A link to nowhere, a tokenizer and counts, each of which is refused alone."""
    Path("books").mkdir()
    Path("books/a.txt").write_text(POEM)
    for line in ("train books/a.txt --vocab 280 -o books/tok.json", "count books/a.txt -o books/a.counts"):
        assert slmtok(*line.split()).code == 0
    for name in ("b.txt", "c.txt"):
        Path("books", name).symlink_to(f"/nowhere/{name}")
    links = "--exclude b.txt --exclude c.txt"
    others = "--exclude tok.json --exclude tok.lock --exclude '*.counts'"
    line = "pack books -t books/tok.json -o books/data"
    fix = fix_of_line(slmtok, line)
    assert fix == f"make the link again, or {links} {others} --exclude 'data/*' leave them out"
    for name in ("b.txt", "c.txt"):
        Path("books", name).unlink()
    assert fix_of_line(slmtok, line) == f"{others} --exclude 'data/*' leave them out"
    assert slmtok(*shlex.split(f"{line} {others} --exclude 'data/*'")).code == 0


def test_a_file_and_links_to_it_in_a_folder(slmtok) -> None:
    Path("books/2024").mkdir(parents=True)
    for name in ("a.txt", "b.txt"):
        Path("books/2024", name).write_text(POEM + name)
    Path("books/2024/0.txt").symlink_to("a.txt")
    for line in ("count books -o new.counts", "train 'books/**/*.txt' --vocab 280 -o new.json"):
        assert fix_of_line(slmtok, line) == "--exclude 0.txt"
    Path("books/2024/0.txt").unlink()
    Path("books/2023").symlink_to("2024")
    assert fix_of_line(slmtok, "count books -o new.counts") == "--exclude '2023/**'"
    ran = slmtok("count", "books", "--exclude", "2023/**", "-o", "new.counts", "--json")
    assert ran.json["result"]["documents"] == 2


def test_packed_data_below_their_corpus_are_left_out(slmtok, domains) -> None:
    assert slmtok(*shlex.split(TRAIN)).code == 0
    Path("corpus").mkdir()
    Path("corpus/a.txt").write_text(POEM)
    line = "pack corpus -t tok.json -o corpus/packed --val none"
    assert slmtok(*line.replace("corpus/packed", "corpus/.packed").split()).code == 0
    fix = fix_of_line(slmtok, line)
    assert fix == "--exclude 'packed/*', or an output outside of it"
    for force in ([], ["--force"]):
        assert slmtok(*line.split(), "--exclude", "packed/*", *force).code == 0
    shutil.copy("tok.json", "corpus/t.json")
    line = line.replace("packed", "new")
    fix = fix_of_line(slmtok, line)
    assert fix == "--exclude 'packed/*' --exclude t.json --exclude 'new/*' leave them out"
    assert slmtok(*line.split(), *shlex.split(fix.removesuffix(" leave them out"))).code == 0


def test_numbers_that_were_given_stay(slmtok, domains) -> None:
    assert slmtok(*shlex.split(TRAIN)).code == 0
    Path("a.txt").write_text(POEM)
    fix = fix_of_line(slmtok, r"pack a.txt -t tok.json --separator '\n\n' --val none --subset 10,1000 -o packed")
    assert fix == "--subset 10,40, or fewer"
    fix = fix_of_line(slmtok, "count a.txt --max-doc-chars 1kB -o x.counts")
    assert fix == "--max-doc-chars 1k; --max-bytes 1kB limits the text that is read"
    assert fix_of_line(slmtok, "count a.txt --document paragraph -o x.counts") == r"--separator '\n\n'"


def test_counts_beside_text_are_made_of_that_text(slmtok, domains) -> None:
    Path("a.txt").write_text(POEM)
    assert slmtok("count", "zh", "-o", "zh.counts").code == 0
    fix = fix_of_line(slmtok, "train zh.counts a.txt --vocab 280 --allow-smaller -o tok.json")
    for command in fix.split(" && "):
        program, *words = shlex.split(command)
        assert program == "slmtok" and slmtok(*words).code == 0
    assert Path("tok.json").exists()


def test_records_of_stdin_that_are_encoded_as_text_are_noted(slmtok, domains) -> None:
    assert slmtok(*shlex.split(TRAIN)).code == 0
    ran = slmtok("encode", "-", "-t", "tok.json", stdin=f'{{"text": "{SENTENCE}"}}\n'.encode() * 3)
    assert "stdin was encoded as it is, JSON included; run it again with --format jsonl" in ran.err


def test_a_suffix_as_a_glob(slmtok, domains) -> None:
    Path("zh/notes.md").write_text(SENTENCE)
    for given in (".md", "md"):
        note = note_of(slmtok, f"count zh fi --exclude {given} -o new.counts --force", "matches no file")
        assert note.endswith("; run it again with --exclude '*.md' --force for the files of that suffix")
    ran = slmtok("count", "zh", "fi", "--exclude", "*.md", "-o", "new.counts", "--force", "--json")
    assert ran.json["result"]["documents"] == 2 and not ran.json["warnings"][1:]


def test_a_glob_of_a_folder_whose_files_are_one_level_below(slmtok, domains) -> None:
    Path("texts").mkdir()
    Path("zh").rename("texts/zh")
    assert fix_of_line(slmtok, "count '*.text' -o x.counts") == "'**/*.txt'"
    ran = slmtok("count", "texts/*.text", "-o", "x.counts")
    assert "  where: the folders in texts/ have 1 file ending .txt\n  fix:   'texts/**/*.txt'\n" in ran.err
    assert slmtok("count", "texts/**/*.txt", "-o", "x.counts").code == 0


def test_all_weights_are_mended_at_once(slmtok, domains) -> None:
    domain = "--domain 'zh=zh/*' --domain 'fi=fi/*'"
    fix = fix_of_line(slmtok, f"{TRAIN} {domain} --mix zh=50% --mix fi=0,5")
    meant, _, reason = fix.partition(", ")
    assert meant == "--mix zh=0.5 --mix fi=0.5" and reason.endswith("are no shares of the corpus")
    assert slmtok(*shlex.split(f"{TRAIN} {domain} {meant}")).code == 0
    fix = fix_of_line(slmtok, f"{TRAIN} {domain} --mix zh=50% --mix fi=much --force")
    assert fix.startswith("--mix zh=0.5, which")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("hash:0.5", "--val hash:50%, or --val hash:0.5%"),
        ("tail:0.1", "--val tail:10%, or --val tail:0.1%"),
        ("tail:10", "--val tail:10%"),
        ("0", "--val none, or --val tail:10%"),
        ("0.0%", "--val none, or --val tail:10%"),
        ("hash:0%", "--val none, or --val tail:10%"),
        ("''", "--val auto, or --val none, or --val tail:10%"),
    ],
)
def test_a_share_of_a_split_has_its_readings(slmtok, domains, given: str, meant: str) -> None:
    assert slmtok(*shlex.split(TRAIN)).code == 0
    assert fix_of_line(slmtok, f"pack zh fi -t tok.json --val {given} -o packed") == meant


@pytest.mark.parametrize(
    ("given", "meant"),
    [("{title} {body", "{title} {body}"), ("{title {body}", "{title} {body}"), ("title}: {body}", "{title}: {body}")],
)
def test_the_braces_of_each_field_are_completed(slmtok, given: str, meant: str) -> None:
    Path("a.jsonl").write_text('{"title": "A story", "body": "It rained."}\n')
    fix = fix_of_line(slmtok, f"count a.jsonl --text-template '{given}' -o x.counts")
    assert fix == f"--text-template '{meant}'"
    assert slmtok("count", "a.jsonl", *shlex.split(fix), "-o", "x.counts").code == 0


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("random:5%", "--val hash:5%"),
        ("last:5%", "--val tail:5%"),
        ("'hash: 5%'", "--val hash:5%"),
        ("'5 %'", "--val tail:5%, which is the end of the corpus, or --val hash:5%"),
        ("first:5%", "--val tail:5%, which is the end of the corpus, or --val hash:5%"),
        ("1/20", "--val tail:5%, which is the end of the corpus, or --val hash:5%"),
    ],
)
def test_the_share_of_a_split_that_was_given_stays(slmtok, domains, given: str, meant: str) -> None:
    assert slmtok(*shlex.split(TRAIN)).code == 0
    line = "pack zh fi -t tok.json -o packed"
    assert fix_of_line(slmtok, f"{line} --val {given}").startswith(meant)
    assert slmtok(*shlex.split(line), *shlex.split(meant.partition(", ")[0])).code == 0


@pytest.mark.parametrize("corpus", ["all", "all/zh", "all/fi/0.txt all/zh"])
def test_a_folder_for_validation_is_named_in_the_corpus(slmtok, domains, corpus: str) -> None:
    Path("all").mkdir()
    for name in ("zh", "fi"):
        Path(name).rename(f"all/{name}")
    assert slmtok(*shlex.split("train all --vocab 280 --allow-smaller -o tok.json")).code == 0
    program, *words = shlex.split(fix_of_line(slmtok, f"pack {corpus} -t tok.json --val all/fi -o packed"))
    assert program == "slmtok"
    ran = slmtok(*words, "--json")
    assert ran.json["result"]["documents"] == 2
    assert ran.json["result"]["splits"]["val"]["bytes"] == Path("all/fi/0.txt").stat().st_size
    whole = fix_of_line(slmtok, "pack all -t tok.json --val all -o other")
    assert whole.startswith("--val tail:10%")


def test_globs_in_braces_are_globs_of_their_own(slmtok) -> None:
    Path("web").mkdir()
    for name in ("a.txt", "b.js", "c.css"):
        Path("web", name).write_text(POEM)
    line = "count web -o new.counts"
    fix = fix_of_line(slmtok, f"{line} --exclude '*.{{js,css}}'")
    assert fix == "--exclude '*.js' --exclude '*.css'"
    assert slmtok(*shlex.split(f"{line} {fix} --json")).json["result"]["documents"] == 1
    fix = fix_of_line(slmtok, f"{line} --force --domain 'code=*.{{js,css}}'")
    assert fix == "--domain 'code=*.js' --domain 'code=*.css'"
    assert "code: 2 documents" in slmtok(*shlex.split(f"{line} --force {fix}")).out


def test_an_address_that_ends_with_a_slash_is_a_folder(slmtok) -> None:
    assert fix_of_line(slmtok, "count s3://bucket/corpus/ -o new.counts") == (
        "aws s3 cp --recursive s3://bucket/corpus/ corpus && slmtok count corpus -o new.counts"
    )
    assert (
        fix_of_line(slmtok, "count https://host/corpus/ -o new.counts") == "fetch the folder first, and name the copy"
    )


@pytest.mark.parametrize("ending", [".jsonl", ".json"])
@pytest.mark.parametrize("empty", [{}, {"title": None}])
def test_a_field_that_some_records_lack_keeps_its_text_in_the_others(slmtok, ending: str, empty: dict) -> None:
    records = [{"title": "A story", "text": SENTENCE}, {**empty, "text": SENTENCE, "url": "x.org"}]
    lines = "\n".join(map(json.dumps, records))
    Path(f"a{ending}").write_text(lines if ending == ".jsonl" else json.dumps(records))
    template = "--text-template '{title}{text}' -o new.counts"
    command, _, rest = fix_of_line(slmtok, f"count a{ending} {template}").partition(" # and name it; ")
    assert rest.startswith("an absent text is empty in it; or --skip-malformed")
    subprocess.run(command, shell=True, check=True)
    ran = slmtok(*shlex.split(f"count {command.rpartition(' > ')[2]} {template} --json"))
    assert ran.json["result"]["documents"] == 2
    assert ran.json["result"]["bytes"] == len(f"A story{SENTENCE}{SENTENCE}")


def test_a_field_that_no_record_is_known_to_have_may_be_left_out(slmtok) -> None:
    Path("a.jsonl").write_text(json.dumps({"text": SENTENCE}))
    fix = fix_of_line(slmtok, "count a.jsonl --text-template '{title}{text}' -o new.counts")
    assert fix.startswith("--text-template '{text}' if no record has 'title', else --skip-malformed")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("--domain zh --domain fi", "--domain 'zh=zh/**' --domain 'fi=fi/**'"),
        ("--domain ./zh/ --domain 'rest=fi/*'", "--domain 'zh=zh/**' --domain 'rest=fi/*'"),
    ],
)
def test_the_folders_of_all_domains_are_their_globs(slmtok, domains, given: str, meant: str) -> None:
    assert fix_of_line(slmtok, f"{TRAIN} {given} --mix zh=2") == meant
    assert slmtok(*shlex.split(f"{TRAIN} {meant} --mix zh=2")).code == 0


def test_each_wrong_weight_is_in_one_fix(slmtok, domains) -> None:
    assert fix_of_line(slmtok, f"{TRAIN} --mix zh:0.6 --mix fi:0.4") == "--mix zh=0.6 --mix fi=0.4"
    fix = fix_of_line(slmtok, f"{TRAIN} --mix zh=60%")
    assert fix.endswith("; and for text, globs of its domains: --domain 'zh=zh/**'")
    assert slmtok(*shlex.split(f"{TRAIN} --mix zh=0.6 {fix.rpartition(': ')[2]}")).code == 0


def test_a_number_of_documents_is_no_sample(slmtok, domains) -> None:
    fix = fix_of_line(slmtok, "count zh fi --sample '1 docs' -o new.counts")
    assert fix.startswith("--max-docs 1, the first of the corpus")
    ran = slmtok("count", "zh", "fi", *shlex.split(fix.partition(", ")[0]), "-o", "new.counts", "--json")
    assert ran.json["result"]["documents"] == 1


def test_a_share_of_the_memory_is_a_percentage(slmtok, domains) -> None:
    assert fix_of_line(slmtok, "count zh fi --memory 0.5 -o new.counts") == "--memory 50%"
    assert slmtok("count", "zh", "fi", "--memory", "50%", "-o", "new.counts").code == 0


@pytest.mark.parametrize("regex", [r"\n{2,}", "/n/n", r"\s*\n\n\s*"])
def test_a_separator_is_no_regex(slmtok, regex: str) -> None:
    Path("a.txt").write_text(POEM)
    note = note_of(slmtok, f"count a.txt --separator {shlex.quote(regex)} -o new.counts", "occurs nowhere")
    assert note.endswith(r"run it again with --separator '\n\n' --force")


def test_a_regex_that_excludes_a_suffix_is_a_glob(slmtok) -> None:
    Path("web").mkdir()
    for name in ("a.txt", "b.js"):
        Path("web", name).write_text(POEM)
    note = note_of(slmtok, r"count web --exclude '\.js$' -o new.counts", "matches no file")
    assert note.endswith("run it again with --exclude '*.js' --force for the files of that suffix")


def test_weights_have_the_globs_of_folders_that_are_named(slmtok, domains) -> None:
    """The folders may lie in another one, and the fix is pasted as it is printed."""
    Path("texts").mkdir()
    for name in ("zh", "fi"):
        Path(name).rename(f"texts/{name}")
    line = TRAIN.replace("zh fi", "texts/zh texts/fi")
    fix = fix_of_line(slmtok, f"{line} --mix zh=70% --mix fi=30%")
    assert fix.endswith("; and for text, globs of its domains: --domain 'zh=zh/**' --domain 'fi=fi/**'")
    ran = slmtok(*shlex.split(f"{line} --mix zh=0.7 --mix fi=0.3 {fix.rpartition(': ')[2]}"))
    assert ran.code == 0 and "matches no file" not in ran.err


def test_a_glob_for_validation_with_a_star_for_the_folder_of_all_files(slmtok, domains) -> None:
    """Names of files are relative to the folder that all are in, so `*/` in front matches none."""
    assert slmtok(*TRAIN.split()).code == 0
    fix = fix_of_line(slmtok, "pack zh fi -t tok.json -o x --val 'files:*/zh'")
    assert fix == "--val 'files:zh/*'"
    assert slmtok(*shlex.split(f"pack zh fi -t tok.json -o x {fix}")).code == 0


@pytest.mark.parametrize(
    ("glob", "where", "fix"),
    [
        ("langs/*/*.text", "the folders that 'langs/*' matches have 3 files ending .txt", "langs/*/*.txt"),
        ("langs/**/*.text", "the folders that 'langs/**' matches have 3 files ending .txt", "langs/**/*.txt"),
        ("langs/*/en*.text", "the folders that 'langs/*' matches have 3 files ending .txt", "langs/*/en*.txt"),
        ("*/*.text", "the folders in */ have 3 files ending .txt", "*/**/*.txt"),
        ("langs/fr*/*.txt", "no folder matches 'langs/fr*'", None),
        ("lang/*/*.txt", "there is no folder 'lang'", None),
        ("langs/*/x/*.txt", "no folder matches 'langs/*/x'", None),
    ],
)
def test_a_glob_of_folders_whose_files_have_another_ending(slmtok, glob: str, where: str, fix: str | None) -> None:
    for language, names in {"en": ("en1", "en2"), "de": ("de1",)}.items():
        Path(f"langs/{language}").mkdir(parents=True)
        for name in names:
            Path(f"langs/{language}/{name}.txt").write_text("the cat sat on the mat " * 20)
    ran = slmtok("train", glob, "--vocab", "280", "--allow-smaller", "-o", "x.json")
    assert ran.code == 1 and f"  where: {where}\n" in ran.err
    told = ran.err.split("fix:   ")[1].strip()
    if fix is None:
        assert told == "check the name; paths are relative to the working folder"
        return
    assert shlex.split(told) == ["slmtok", "train", fix, "--vocab", "280", "--allow-smaller", "-o", "x.json"]
    assert slmtok("count", fix, "-o", "x.counts").code == 0


def test_separator_that_is_empty_is_one_that_occurs(slmtok) -> None:
    Path("a.txt").write_text(POEM)
    Path("b.txt").write_text("One line.\n" * 9)
    Path("mark.txt").write_text("One line.<|endoftext|>" * 9)
    Path("r.jsonl").write_text('{"text": "One line."}\n' * 9)
    rest = "leave --separator out, or --document line"
    for name, fix in (
        ("a.txt", rf"--separator '\n\n', which occurs in the text; or {rest}"),
        ("mark.txt", f"--separator '<|endoftext|>', which occurs in the text; or {rest}"),
        ("b.txt", rest),
        ("r.jsonl", "leave --separator out: a record is a document"),
    ):
        assert fix_of_line(slmtok, f"count {name} -o new.counts --separator ''") == fix


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("--domain fi=fi/* --mix finnish=2", "--mix fi=2"),
        ("--domain fi=fi/* --domain zh=zh/* --mix finnish=2 --mix zh=3", "--mix fi=2 --mix zh=3"),
        ("--domain finnish=fi/* --mix fin=2", "--mix finnish=2"),
        ("--domain fi=fi/* --mix german=2", "use one of them"),
        ("--domain fi=fi/* --mix finnish=2 --mix fi=3", "use one of them"),
    ],
)
def test_a_weight_of_a_name_that_begins_alike(slmtok, domains, given, meant):
    """It is refused before the corpus is read; a line with the fix in its place runs."""
    assert fix_of_line(slmtok, f"{TRAIN} {given}") == meant
    if meant.startswith("--mix"):
        rest = given[: given.index("--mix")]
        assert slmtok(*f"{TRAIN} {rest} {meant}".split()).code == 0


def test_a_glob_of_a_domain_that_is_given_is_not_proposed_again(slmtok, domains):
    line = f"{TRAIN} --domain fi=fi/ --domain zh=zh/ --force"
    said = [each for each in slmtok(*line.split()).err.splitlines() if "--domain" in each]
    again = [shlex.split(each.partition("run it again with ")[2].partition(" --force")[0]) for each in said]
    assert again == [["--domain", "fi=fi/*"], ["--domain", "zh=zh/*"]]
    ran = slmtok(*line.split(), *again[0], *again[1])
    assert ran.code == 0 and "run it again" not in ran.err


@pytest.mark.parametrize("glob", ["valid/*.txt", "./valid/**", "valid", "valid.json"])
def test_files_of_validation_that_are_no_folder(slmtok, glob):
    slmtok("train", "-o", "tok.json", "--vocab", "280", "--allow-smaller", "-", stdin=POEM.encode())
    Path("splits").mkdir()
    for name in ("train", "valid", "test"):
        Path("splits", f"{name}.txt").write_text(f"{name}\n{POEM}")
    line = "pack splits -t tok.json -o d"
    fix = fix_of_line(slmtok, f"{line} --val files:{glob}")
    assert fix == "--val files:valid.txt" and slmtok(*f"{line} {fix}".split()).code == 0


@pytest.mark.parametrize(
    ("corpus", "once"),
    [
        ("zh zh/0.txt", "zh"),
        ("zh/0.txt zh", "zh"),
        ("zh zh", "zh"),
        ("zh/* fi zh/0.txt zh/0.txt", "zh/* fi"),
        ("fi/0.txt fi/../fi/0.txt", "fi/0.txt"),
    ],
)
def test_a_corpus_that_names_a_file_twice_is_named_without_it(slmtok, domains, corpus, once):
    Path("zh/1.txt").write_text(SENTENCE)
    fix = fix_of_line(slmtok, f"count {corpus} -o o.counts")
    assert shlex.split(fix) == ["slmtok", "count", *once.split(), "-o", "o.counts"]
    assert slmtok(*shlex.split(fix)[1:]).code == 0


def test_a_file_that_two_globs_hold_is_in_neither_alone(slmtok, domains):
    Path("fi/1.txt").write_text(SENTENCE)
    Path("fi/2.txt").write_text(SENTENCE)
    fix = fix_of_line(slmtok, "count 'fi/[01].txt' 'fi/[12].txt' -o o.counts")
    assert fix == "name it once; two globs may hold it"
