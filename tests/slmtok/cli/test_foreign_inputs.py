"""Files, names, options and values of other tools on the command line: each is named, with a remedy that works."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import slmtok as package
from slmtok.formats.id_files import _LINES_OF_LISTS

TEXT = "the cat sat on the mat, and the dog sat by the door. " * 20


def hugging_face(kind: str) -> str:
    """A tokenizer.json of this model."""
    model = {"type": kind, "vocab": {"a": 0}}
    return json.dumps({"version": "1.0", "truncation": None, "padding": None, "model": model})


@pytest.fixture
def here(slmtok, tmp_path: Path) -> Path:
    """A folder with a text, a tokenizer, counts and files of other libraries; it is the working folder."""
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "empty.txt").touch()
    package.train("a.txt", vocab_size=290).save("tok.json")
    package.count("a.txt").save("a.counts")
    (tmp_path / "copy.txt").write_bytes((tmp_path / "tok.json").read_bytes())
    (tmp_path / "none").mkdir()
    old = tmp_path / "old"
    old.mkdir()
    (old / "vocab.json").write_text(json.dumps({"hello": 0, "world": 1, "a": 2}))
    (old / "merges.txt").write_text("#version: 0.2\nh e\nl l\nhe ll\n")
    (old / "tokenizer_config.json").write_text("{}")
    (tmp_path / "spm.model").write_bytes(b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02")
    (tmp_path / "bert.txt").write_text("[PAD]\n[UNK]\nhello\n##o\n")
    (tmp_path / "wordpiece.json").write_text(hugging_face("WordPiece"))
    (tmp_path / "unigram.json").write_text(hugging_face("Unigram"))
    (tmp_path / "p.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40))
    (tmp_path / "other.json").write_text('{"foo": 1}')
    return tmp_path


def state(folder: Path) -> list[tuple[str, bytes]]:
    return [(str(path), path.read_bytes()) for path in sorted(folder.rglob("*")) if path.is_file()]


MESSAGES = {
    # Files of other libraries where a tokenizer is meant.
    "encode a.txt -t old/vocab.json": (
        1,
        "is the vocabulary of a Hugging Face tokenizer, whose merges are another file, not a ",
    ),
    "encode a.txt -t old/merges.txt": (
        1,
        "is the merges of a Hugging Face tokenizer, whose vocabulary is another file, not a ",
    ),
    "encode a.txt -t old/tokenizer_config.json": (1, "is settings of Hugging Face, not a tokenizer file of slmtok\n"),
    "encode a.txt -t old": (
        1,
        "fix:   old/vocab.json is the vocabulary of a Hugging Face tokenizer, whose merges are another file; ",
    ),
    "encode a.txt -t spm.model": (
        1,
        "fix:   slmtok reads byte-level BPE alone; train a tokenizer of your own: slmtok train CORPUS ",
    ),
    "encode a.txt -t bert.txt": (1, "bert.txt is the vocabulary of a WordPiece tokenizer, not a tokenizer file"),
    "encode a.txt -t wordpiece.json": (1, "its model is WordPiece\n"),
    "encode a.txt -t unigram.json": (1, "limit: slmtok reads byte-level BPE, as of GPT-2, with the model BPE\n"),
    "encode a.txt -t p.png": (1, "p.png is a PNG image, not a tokenizer file of slmtok\n"),
    "import p.png -o x": (1, "p.png cannot be imported: it is a PNG image\n"),
    "import empty.txt -o x": (1, "empty.txt cannot be imported: it is empty\n"),
    "import old/merges.txt -o x": (
        1,
        "('old/vocab.json', 'old/merges.txt').tokenizer.save('x')\"\n",
    ),
    "import none -o x": (1, "the folder 'none' holds no tokenizer.json\n"),
    "import other.json -o x": (1, "other.json cannot be imported: unknown format\n"),
    "info none": (1, "error: the folder 'none' is empty\n"),
    "info old": (1, "error: the folder 'old' holds no packed data, and 3 other files, such as 'merges.txt'\n"),
    "info spm.model": (1, "spm.model is a SentencePiece model, not a file that slmtok info describes\n"),
    "info unigram.json": (1, "error: unigram.json cannot be imported: its model is Unigram\n"),
    "merge a.counts tok.json -o x": (2, "error: tok.json is a tokenizer, and merge adds up counts\n"),
    # Names without a file.
    "encode a.txt -t bert-base-uncased": (
        1,
        "fix:   fetch the file first: hf download bert-base-uncased tokenizer.json ",
    ),
    "info bert-base-uncased": (1, "a model such as gpt-4, or one of gpt2, r50k_base,"),
    "import bert-base-uncased -o x": (1, "fix:   fetch the file first: hf download bert-base-uncased "),
    # A path that does not exist, or a model of the Hub.
    "info runs/tok": (
        1,
        "fix:   check the name; paths are relative to the working folder; "
        "for a model of the Hugging Face Hub fetch the file first: hf download runs/tok ",
    ),
    "info meta-llama/Llama-2-7b": (1, "fetch the file first: hf download meta-llama/Llama-2-7b "),
    "info hf:meta-llama/Llama-2-7b": (1, "fix:   fetch the file first: hf download meta-llama/Llama-2-7b "),
    "info hf:gpt2": (1, "fix:   the public encoding gpt2, or "),
    "info gpt4": (1, "fix:   the name gpt-4, or "),
    "info tiktoken:": (1, "fix:   tiktoken:cl100k_base, for instance\n"),
    "import tiktoken: -o x": (1, "fix:   tiktoken:cl100k_base, for instance\n"),
    "train hf: --vocab 300 -o x": (2, "error: 'hf:' names no data set\n"),
    "train hf:a//b --vocab 300 -o x": (2, "error: 'hf:a//b' names no data set\n"),
    "train hf:name: --vocab 300 -o x": (2, "'hf:name:' has no configuration after ':'\n"),
    "train hf:name:@x --vocab 300 -o x": (2, "fix:   hf:name@x\n"),
    "train hf:a/b@ --vocab 300 -o x": (2, "'hf:a/b@' has no split after '@'\n"),
    "train s3://b/c.txt --vocab 300 -o x": (1, "fix:   aws s3 cp s3://b/c.txt c.txt && slmtok train c.txt --"),
    "train hdfs://b/c.txt --vocab 300 -o x": (1, "fix:   fetch the file first, and name the copy\n"),
    # Files of tokenizers as text.
    "train wordpiece.json --vocab 300 -o x": (2, "wordpiece.json is a tokenizer of Hugging Face, not text\n"),
    "train old/vocab.json --vocab 300 -o x": (2, "old/vocab.json is a vocabulary of Hugging Face, not text\n"),
    "train old/merges.txt --vocab 300 -o x": (
        2,
        "old/merges.txt is the merges of a tokenizer of Hugging Face, not text\n",
    ),
    "train old --vocab 300 -o x": (2, "fix:   --exclude merges.txt --exclude vocab.json leave them out\n"),
    "train copy.txt --vocab 300 -o x": (2, "copy.txt is a tokenizer file of slmtok, not text\n"),
    # Values.
    "train a.txt --vocab 300 --min-count 9999 -o x": (1, "fix:   --vocab 272, or --min-count 2, which may suffice"),
    "train a.txt --vocab 1GB -o x": (
        2,
        "fix:   --vocab 8192, for instance; --max-bytes 1GB limits the text that is read\n",
    ),
    "train a.txt --vocab 300 --scheme wordpiece -o x": (2, "fix:   --scheme bpe, which is the nearest; slmtok has no "),
    "train a.txt --vocab 300 --scheme unigram -o x": (2, "fix:   --scheme bpe, which is the nearest; slmtok has no "),
    "train a.txt --vocab 300 --scheme wordlevel -o x": (
        2,
        "fix:   --scheme word, which is the nearest; slmtok has no ",
    ),
    "pack a.txt -t tok.json --threads 100000 -o x": (2, "limit: 0 to 1024; this machine has "),
    "train a.counts --vocab 300 --pattern gpt2 -o x": (2, "the counts have pattern 'slm', and --pattern is gpt2\n"),
    "train a.txt --vocab 300 --require p.png -o x": (2, "'p.png' is binary data (it has zero bytes), not a list of "),
    "audit tok.json --on a.txt --baselines empty.txt -o x": (1, "the corpus is empty: empty.txt has no byte of text\n"),
    "prune tok.json --unused-on a.txt --keep 9000 -o x": (2, "--keep 9000 is more than the 290 ids of the tokenizer\n"),
    # Options.
    "train a.txt --vocab 300 --character_coverage 1.0 -o x": (
        2,
        "fix:   leave it out: the 256 bytes of each tokenizer ",
    ),
    "train a.txt --vocab 300 --input_sentence_size 9 -o x": (2, "fix:   use --document line --max-docs 9\n"),
    "train a.txt --vocab 300 --hard_vocab_limit false -o x": (2, "fix:   use --allow-smaller, which accepts fewer ids"),
    "train a.txt --vocab 300 --user_defined_symbols a -o x": (
        2,
        "fix:   use --special 'a=<|a|>'; text that spells it ",
    ),
    "train a.txt --vocab 300 --byte_fallback -o x": (2, "fix:   leave it out: the 256 bytes of each tokenizer "),
    "train a.txt --vocab 300 --lowercase -o x": (2, "fix:   leave it out: slmtok changes no text; "),
    "train a.txt --vocab 300 --seed_sentencepiece_size 9 -o x": (2, "fix:   leave it out: it belongs to Unigram, "),
    "train a.txt --vocab 300 --n_merges 9 -o x": (2, "fix:   use --vocab 281, "),
    "train a.txt --vocab-sz 300 -o x": (2, "fix:   use --vocab 300\n"),
    "train a.txt --vocab 300 --overwrite -o x": (2, "fix:   use --force\n"),
    "train a.txt --vocab 300 --out x": (2, "fix:   use --output x\n"),
    "count a.txt --vocab 300 -o x": (
        2,
        "which belongs to slmtok train, slmtok slice, slmtok extend\n",
    ),
    "encode a.txt -t tok.json --count": (2, "fix:   slmtok eval tok.json --on a.txt\n"),
    "prune tok.json --on a.txt -o x": (2, "fix:   use --unused-on a.txt\n"),
    "info tok.json --on a.txt": (2, "fix:   slmtok info tok.json\n"),
}


@pytest.mark.parametrize("line", MESSAGES)
def test_the_message_names_it(slmtok, here, line):
    code, message = MESSAGES[line]
    before = state(here)
    ran = slmtok(*line.split())
    assert (ran.code, ran.out) == (code, "") and message in ran.err, ran.err
    assert state(here) == before


def test_bad_metadata_is_not_the_fault_of_the_tokenizer(slmtok, here):
    ran = slmtok("audit", "tok.json", "--on", "a.txt", "--metadata", "other.json", "-o", "x")
    assert ran.code == 3 and ran.out.startswith("other.json: INVALID: other.json is not a valid vocab.json: ")
    ran = slmtok("audit", "p.png", "--on", "a.txt", "--metadata", "other.json", "-o", "x")
    assert ran.code == 3 and ran.out.startswith("p.png: INVALID: p.png is a PNG image")


@pytest.mark.parametrize(
    ("given", "named"),
    [("utf-16-le", "utf-16"), ("utf-16-be", "utf-16"), ("utf-32-le", "utf-32"), ("utf-8", "utf-8-sig")],
)
def test_a_byte_order_mark_is_removed_by_the_encoding_that_is_named(slmtok, here, given, named):
    Path("mark.txt").write_bytes(("\ufeff" + TEXT).encode(given))
    for line in (["train", "mark.txt", "--vocab", "280", "-o", "x"], ["pack", "mark.txt", "-t", "tok.json", "-o", "y"]):
        ran = slmtok(*line, "--encoding", given)
        assert (
            f"1 byte order mark in the text was kept; run it again with --encoding {named} --force to leave out"
            in ran.err
        )
        assert slmtok(*line, "--encoding", named, "--force").err == ""


@pytest.mark.parametrize("fix", [("--min-count", "2"), ("--vocab", "272")])
def test_the_fixes_of_a_corpus_that_is_too_small_work(slmtok, here, fix):
    assert slmtok("train", "a.txt", "--vocab", "290", "--min-count", "9999", "-o", "x").code == 1
    line = {"--vocab": "290", "--min-count": "9999", **dict([fix])}
    assert slmtok("train", "a.txt", *(word for pair in line.items() for word in pair), "-o", "x").code == 0


def test_a_folder_with_a_tokenizer_names_it(slmtok, here):
    Path("none/tok.json").write_bytes(Path("tok.json").read_bytes())
    assert "fix:   name the tokenizer: none/tok.json\n" in slmtok("info", "none").err


def test_the_size_of_a_slice_is_missing(slmtok, here):
    ran = slmtok("slice", "tok.json", "-o", "small.json")
    assert ran.err.startswith("error: --vocab is missing\n"), ran.err
    assert "fix:   slmtok slice tok.json -o small.json --vocab 272\n" in ran.err


def test_a_size_among_the_texts_is_the_size(slmtok, here):
    assert "fix:   slmtok train a.txt --vocab 300\n" in slmtok("train", "a.txt", "300").err
    Path("300").write_text("low lower lowest")
    assert "fix:   slmtok train a.txt 300 --vocab 8192 --allow-smaller\n" in slmtok("train", "a.txt", "300").err


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("encode a.txt tok.json a.ids", "slmtok encode a.txt -t tok.json -o a.ids"),
        ("pack a.txt tok.json new", "slmtok pack a.txt -t tok.json -o new"),
        ("pack a.txt tok.json a.txt", "slmtok pack a.txt a.txt -t tok.json -o data"),
        ("set-special tok.json 'user=<|user|>,tool=<|tool|>' -o x.json",
         "slmtok set-special tok.json 'user=<|user|>' 'tool=<|tool|>' -o x.json"),
        ("--quiet train a.txt -o x.json --vocab 280", "slmtok train a.txt -o x.json --vocab 280 --quiet"),
        ("--verbose train a.txt -o x.json --vocab 280", "leave it out: slmtok train a.txt -o x.json --vocab 280"),
        ("--vocab 280 train a.txt -o x.json", "slmtok train a.txt -o x.json --vocab 280"),
        ("merge a.counts --min-count 2 -o a.counts", "slmtok merge a.counts --min-count 2 -o a-2.counts"),
        ("decode --ids 301 302 -t tok.json", "printf %s '301 302' | slmtok decode - -t tok.json"),
        ("decode --ids=281 -t tok.json", "printf %s 281 | slmtok decode - -t tok.json"),
        (
            "decode --ids a.ids -t tok.json",
            "besides, there is no file or folder 'a.ids'; with that mended: slmtok decode a.ids -t tok.json",
        ),
    ],
)  # fmt: skip
def test_arguments_in_the_place_of_options(slmtok, here, line, fix):
    ran = slmtok(*shlex.split(line))
    assert ran.code == 2 and f"  fix:   {fix}\n" in ran.err, ran.err
    command = shlex.split(fix.removeprefix("leave it out: "))
    if command[0] == "slmtok" and command[2] != "a.ids" and command.count("a.txt") < 2:
        assert slmtok(*command[1:]).code == 0


@pytest.mark.parametrize(
    ("line", "fact", "fix"),
    [
        ("train a.txt --vocab 280 --memory 512 -o x.json", "a number alone is bytes", "--memory 512MB"),
        ("train a.txt --vocab 280 --memory 16 -o x.json", "a number alone is bytes", "--memory 16GB"),
        ("train a.txt --vocab 280 --memory 0 -o x.json", "a number alone is bytes", "--memory 1GB"),
        ("extend tok.json '<|user|>' '<|tool|>' --vocab 292 -o x.json", "looks like the spelling of a special token",
         "slmtok set-special tok.json 'user=<|user|>' 'tool=<|tool|>' -o x.json"),
        ("decode list.json -t tok.json", "this is a JSON list, not lines of ids",
         f"{_LINES_OF_LISTS} < list.json > ids.txt"),
        ("decode object.json -t tok.json", "this is a JSON object, not lines of ids",
         f"{_LINES_OF_LISTS} < object.json > ids.txt"),
        # A mask is no document.
        ("decode masked.json -t tok.json", "is not an id",
         "ids with spaces between, one document a line, as slmtok encode writes without --output-format"),
        ("encode a.txt -t tok.json --output-format=piece", "not 'piece'", "--output-format tokens"),
        ("encode a.txt -t tok.json --output-format id", "not 'id'", "--output-format ids"),
        ("train a.txt --vocab 280 --pattern ByteLevel -o x.json", "did you mean 'gpt2'?",
         "--pattern gpt2, or --pattern '(?:ByteLevel)' for the regex"),
        ("decode commas.txt -t tok.json", "the ids are written with ','", "tr -s '(),;' ' ' < commas.txt > ids.txt"),
        ("prune tok.json --ids empty.txt -o x.json", "empty.txt is not a list of ids",
         "name a file with one id a line; slmtok vocab tok.json lists the ids"),
    ],
)  # fmt: skip
def test_values_that_are_read_as_something_else(slmtok, here, line, fact, fix):
    Path("list.json").write_text("[281,282,\n283]\n")
    Path("object.json").write_text('{"train": [[281, 282], [283]]}\n')
    Path("masked.json").write_text('{"input_ids": [281], "attention_mask": [1]}\n')
    Path("commas.txt").write_text("281, 282,283\n")
    ran = slmtok(*shlex.split(line))
    assert fact in ran.err and f"  fix:   {fix}\n" in ran.err, ran.err
    if " > ids.txt" in fix:
        subprocess.run(["bash", "-c", fix], check=True)
        assert slmtok("decode", "ids.txt", "-t", "tok.json").out == package.load("tok.json").decode([281, 282, 283])
    elif fix.startswith("slmtok"):
        assert slmtok(*shlex.split(fix)[1:]).code == 0


def test_an_id_map_in_the_place_of_ids(slmtok, here):
    Path("b.txt").write_text("the cat")
    assert slmtok("prune", "tok.json", "--unused-on", "b.txt", "-o", "p.json").code == 0
    ran = slmtok("prune", "tok.json", "--ids", "p.json.ids.npy", "-o", "q.json")
    assert "error: p.json.ids.npy is an id map, not a list of ids\n" in ran.err
    made, command = ran.err.partition("fix:   ")[2].strip().split(" && ")
    subprocess.run(["bash", "-c", made.replace("python", shlex.quote(sys.executable), 1)], check=True)
    assert slmtok(*shlex.split(command)[1:]).code == 0
    assert package.load("q.json").to_bytes() == package.load("p.json").to_bytes()


def test_counts_that_are_named_twice_are_named_first(slmtok, here):
    ran = slmtok("merge", "a.counts", "a.counts", "-o", "a.counts")
    assert "error: a.counts is named twice\n" in ran.err and "or --allow-duplicate to count it each time" in ran.err
    fix = "fix:   slmtok merge a.counts a.counts --allow-duplicate -o a-2.counts\n"
    assert fix in slmtok("merge", "a.counts", "a.counts", "--allow-duplicate", "-o", "a.counts").err
    assert slmtok(*fix.split()[2:]).code == 0


@pytest.mark.parametrize("spelling", ["<|tool,name=x|>", "<a>,", ","])
def test_a_spelling_with_a_comma_is_one(slmtok, here, spelling):
    assert slmtok("set-special", "tok.json", f"tool={spelling}", "-o", "x.json").code == 0
    assert package.load("x.json").specials.text("tool") == spelling
    ran = slmtok("train", "a.txt", "--vocab", "280", "--special", "user=<u>, tool=<t>", "-o", "y.json")
    assert "fix:   --special 'user=<u>' --special 'tool=<t>'\n" in ran.err


def test_a_field_that_a_later_record_lacks(slmtok, here):
    """The field of that record is not the one of all, so leaving records out is a remedy as well."""
    (here / "mixed.jsonl").write_text('{"text": "a b"}\n{"body": "c"}\n')
    ran = slmtok("count", "mixed.jsonl", "-o", "new.counts")
    assert "limit: other records of the file have 'text'\n" in ran.err
    assert "< mixed.jsonl > mixed-text.jsonl # and name it; or --skip-malformed to skip such records" in ran.err
    assert slmtok("count", "mixed.jsonl", "-o", "new.counts", "--skip-malformed").code == 0


def test_a_picture_is_not_ids(slmtok, here):
    (here / "p.png").write_bytes(b"\x89PNG\r\n\x1a\n123")
    result = slmtok("decode", "p.png", "-t", "tok.json")
    assert result.code == 1 and "this is a PNG image, not lines of ids" in result.err


def test_a_folder_that_is_no_data_set(slmtok, here):
    pytest.importorskip("datasets")
    result = slmtok("train", "hf:none", "--vocab", "290", "-o", "new.json")
    assert result.code == 1 and "fix:   none without hf: to read its files" in result.err


def _pasted(slmtok, line: str) -> str:
    """The fix of a command, which is pasted behind its words without the option that it replaces, and works."""
    ran = slmtok(*shlex.split(line))
    assert ran.code in (1, 2), ran
    return next(each.removeprefix("  fix:   ") for each in ran.err.splitlines() if each.startswith("  fix:   "))


@pytest.fixture
def beside(slmtok) -> None:
    """A text and its tokenizer in the working folder."""
    Path("a.txt").write_text("the cat sat on the mat, and the dog sat by the door. " * 20)
    assert slmtok("train", "a.txt", "--vocab", "290", "-o", "tok.json", "-q").code == 0


def test_a_field_of_numbers_leads_to_the_text(slmtok, beside) -> None:
    Path("d.jsonl").write_text('{"id": 1, "text": "one"}\n' * 3)
    fix = _pasted(slmtok, "eval tok.json --on d.jsonl --text-key id")
    assert fix.startswith("--text-key text if all records")
    assert slmtok("eval", "tok.json", "--on", "d.jsonl", "--text-key", "text").code == 0
    ran = slmtok("eval", "tok.json", "--on", "d.jsonl", "--text-key", "id", "--skip-malformed")
    assert "3 malformed records left out" in ran.err
    Path("n.jsonl").write_text('{"id": 1}\n' * 3)
    assert _pasted(slmtok, "count n.jsonl --text-key id -o n.counts").startswith("--text-template '{id}' reads")
    assert slmtok("count", "n.jsonl", "--text-template", "{id}", "-o", "n.counts").code == 0
    assert _pasted(slmtok, "count n.jsonl -o n2.counts").startswith("--skip-malformed")


def test_a_column_of_numbers_leads_to_the_text(slmtok, beside) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"label": [1, 2], "tags": [["a"], ["b"]], "text": ["a b", "c"]}), "t.parquet")
    lines = ("eval tok.json --on t.parquet", "count t.parquet -o t.counts", "pack t.parquet -t tok.json -o new")
    for line in lines:
        for key in ("label", "nix"):
            assert _pasted(slmtok, f"{line} --text-key {key}") == "--text-key text"
        # As in records of JSON, the list that was named is text in parts.
        assert _pasted(slmtok, f"{line} --text-key tags").endswith("> t-text.jsonl # and name it")
    assert slmtok("count", "t.parquet", "--text-key", "text", "-o", "t.counts").code == 0


def test_skipped_records_are_noted(slmtok, beside) -> None:
    Path("m.jsonl").write_text('{"text": "one cat sat"}\n{}\n')
    for line in ("eval tok.json --on m.jsonl", "encode m.jsonl --format jsonl -t tok.json -o m.ids",
                 "audit tok.json --on m.jsonl", "diff tok.json tok.json --on m.jsonl", "report tok.json --on m.jsonl",
                 "prune tok.json --unused-on m.jsonl -o p.json", "count m.jsonl -o m.counts"):  # fmt: skip
        assert "note: 1 malformed record skipped\n" in slmtok(*line.split(), "--skip-malformed").err, line


def test_ids_under_another_name(slmtok, beside) -> None:
    for layout in ("bin", "npy"):
        assert slmtok("encode", "a.txt", "-t", "tok.json", "--output-format", layout, "-o", f"{layout}.ids").code == 0
        fix = _pasted(slmtok, f"decode {layout}.ids -t tok.json -o {layout}.txt").partition(" if ")[0]
        assert fix == f"--input-format {layout}"
        assert slmtok("decode", f"{layout}.ids", "-t", "tok.json", "-o", f"{layout}.txt", *fix.split()).code == 0
        assert Path(f"{layout}.txt").read_bytes() == Path("a.txt").read_bytes()


def test_a_folder_with_the_name_of_a_file(slmtok, beside) -> None:
    line = ["export", "tok.json", "--output-format", "hf", "--no-verify"]
    for name, folder in (("out/tokenizer.json", "out"), ("out/other.json", "out/other"), ("x.json", "x")):
        fix = _pasted(slmtok, shlex.join([*line, "-o", name]))
        assert fix == f"-o {folder}"
        assert slmtok(*line, *fix.split()).code == 0 and Path(folder, "tokenizer.json").exists()


def test_a_field_of_a_text(slmtok, beside) -> None:
    Path("d.jsonl").write_text('{"id": 1, "text": "one"}\n')
    assert _pasted(slmtok, "encode d.jsonl -t tok.json --text-key text -o d.ids") == "--format jsonl"
    line = ["encode", "d.jsonl", "-t", "tok.json", "--text-key", "text", "-o", "d.ids", "--format", "jsonl"]
    assert slmtok(*line).code == 0
    assert slmtok("decode", "d.ids", "-t", "tok.json").out == "one"
    assert _pasted(slmtok, "encode a.txt -t tok.json --text-key text") == "leave --text-key out"


def test_the_list_of_tokens_is_no_vocab_json(slmtok, beside) -> None:
    fix = _pasted(slmtok, "vocab tok.json -o vocab.json")
    assert fix == (
        "--metadata for the file that models need; slmtok vocab tok.json --json > vocab.json for the list as JSON; "
        "or -o vocab.txt"
    )
    assert slmtok("vocab", "tok.json", "-o", "vocab.json", "--metadata").code == 0
    assert slmtok("vocab", "tok.json", "-o", "vocab.txt").code == 0


def test_a_page_of_a_file_of_text(slmtok, beside) -> None:
    fix = _pasted(slmtok, "view a.txt -o page.html")
    assert fix == "slmtok view tok.json - -o page.html < a.txt"
    words = shlex.split(fix.partition(" < ")[0])[1:]
    assert slmtok(*words, stdin=Path("a.txt").read_bytes()).code == 0
    assert Path("page.html").exists()


def test_a_shell_without_completion(slmtok, beside, monkeypatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/sh")
    assert _pasted(slmtok, "completion") == "name it: slmtok completion bash"


def test_parts_of_documents_and_bytes(slmtok, beside) -> None:
    for flag in ("--max-docs", "--max-bytes", "--max-chars"):
        assert _pasted(slmtok, f"count a.txt b.txt -o c.counts {flag} 0.1").startswith("--sample 0.1, ")
        assert _pasted(slmtok, f"count a.txt -o c.counts {flag} 0.1").startswith("--max-bytes 106, ")
        assert "not '2.5'" in slmtok("count", "a.txt", "-o", "c.counts", flag, "2.5").err
    assert slmtok("count", "a.txt", "-o", "c.counts", "--max-bytes", "0.5kB").code == 0


def test_a_note_to_run_again_replaces_the_output(slmtok, beside) -> None:
    records = b'{"text": "one cat"}\n' * 3
    ran = slmtok("count", "-", "-o", "r.counts", stdin=records)
    assert "run it again with --format jsonl --force for the text" in ran.err
    assert slmtok("count", "-", "-o", "r.counts", "--format", "jsonl", "--force", stdin=records).code == 0


def test_a_share_of_updates(slmtok, beside) -> None:
    assert slmtok("pack", "a.txt", "-t", "tok.json", "-o", "data", "--val", "none", "-q").code == 0
    ran = slmtok("exposure", "data", "--below", "0.01")
    assert "takes a number of updates such as 100, and no share, not '0.01'" in ran.err
    option = _pasted(slmtok, "exposure data --below 0.01").removesuffix(", for instance")
    assert slmtok("exposure", "data", *option.split()).code == 0


def test_a_tokenizer_among_libraries(slmtok, beside) -> None:
    fix = _pasted(slmtok, "bench --against tok.json --on a.txt -t tok.json")
    assert fix == "leave --against out; -t tok.json measures this tokenizer, in a command of its own"


def test_runs_in_the_place_of_their_losses(slmtok, beside, monkeypatch) -> None:
    for module in ("align", "loss_files"):
        monkeypatch.setattr(f"slmtok.cli.{module}.is_run", lambda path: path in ("r1", "r2"))
    assert _pasted(slmtok, "align r1 r2 --on a.txt") == (
        "slm eval r1 --on a.txt --losses r1.losses && slm eval r2 --on a.txt --losses r2.losses && "
        "slmtok align r1.losses r2.losses --on a.txt"
    )
    assert "'r2' is a run of slm" in slmtok("align", "a.losses", "r2", "--on", "a.txt").err


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        ("tok.json copy.json", "tok.json 'user=<|user|>' -o copy-2.json"),
        ("tok.json new.json", "tok.json 'user=<|user|>' -o new.json"),
        ("tok.json a.txt -o new.json", "tok.json 'user=<|user|>' -o new.json"),
        ("tok.json copy.json user=U --output=new.json", "tok.json user=U --output=new.json"),
        ("tok.json user", "tok.json 'user=<|user|>' -o chat.json"),
    ],
)
def test_a_file_is_no_special_token(slmtok, here, words: str, fix: str) -> None:
    (here / "copy.json").write_bytes((here / "tok.json").read_bytes())
    assert _pasted(slmtok, f"set-special {words}") == f"slmtok set-special {fix}"
    assert slmtok("set-special", *shlex.split(fix)).code == 0


@pytest.mark.parametrize("text", ["1_199", "+279", "٢٧٩", '{"ids": [279], "ids": [278]}'])
def test_ids_to_remove_are_read_strictly(slmtok, here, text):
    Path("ids.txt").write_text(text, encoding="utf-8")
    ran = slmtok("prune", "tok.json", "--ids", "ids.txt", "-o", "x.json")
    assert (ran.code, Path("x.json").exists()) == (1, False) and "ids.txt is not a list of ids" in ran.err
