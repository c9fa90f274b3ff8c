"""Refused commands leave nothing behind and destroy nothing, and their messages name the cause."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

import slmtok
from slmtok.shards import pack
from slmtok.training import PretokenCounts

TEXT = "the cat sat on the mat " * 20


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with text, records, two tokenizers, counts, packed data, and what looks like a run of slm."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "a.txt").write_text(TEXT)
    (folder / "empty.txt").touch()
    (folder / "docs.jsonl").write_text("".join(f'{{"text": "document {index}"}}\n' for index in range(20)))
    corpus = str(folder / "a.txt")
    slmtok.train(corpus, vocab_size=280).save(folder / "tok.json")
    slmtok.train(corpus, vocab_size=275).save(folder / "small.json")
    slmtok.count(corpus).save(folder / "a.counts")
    pack(corpus, slmtok.load(folder / "tok.json"), folder / "data")
    (folder / "run/checkpoints").mkdir(parents=True)
    for name in ("config.yaml", "SHA256SUMS", "fingerprint.json", "metrics.jsonl"):
        (folder / "run" / name).write_text("{}")
    shutil.copy(folder / "tok.json", folder / "run/tok.json")
    return folder


@pytest.fixture
def here(slmtok, made: Path, tmp_path: Path) -> Path:
    """A copy of the folder, which is the working folder."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def state(folder: Path) -> dict[str, bytes | None]:
    """The content of every file, and the folders, below a folder."""
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


@pytest.fixture
def refused(slmtok, here):
    """Runs a command that must fail and change nothing; gives its message."""

    def run(*line: str, code: int = 2) -> str:
        before = state(here)
        ran = slmtok(*line)
        assert ran.code == code, ran.err
        assert state(here) == before
        return ran.err

    return run


def test_packing_replaces_packed_data_alone(slmtok, refused, here):
    for force in ([], ["--force"]):
        for folder, other in ((".", "a.counts"), ("run", "SHA256SUMS")):
            for layout in ("slm", "npy"):
                line = ["pack", "a.txt", "-t", "small.json", "-o", folder, "--output-format", layout, *force]
                assert f"holds other files, such as {other!r}" in refused(*line, code=1)
    (here / "mine").mkdir()
    shutil.copy(here / "tok.json", here / "mine/tok.json")
    assert "such as 'tok.json'" in refused("pack", "a.txt", "-t", "small.json", "-o", "mine", code=1)
    assert slmtok("pack", "a.txt", "-t", "small.json", "-o", "data", "--force").code == 0
    assert slmtok("pack", "a.txt", "-t", "small.json", "-o", "data", "--output-format", "npy", "--force").code == 0
    assert slmtok("pack", "a.txt", "-t", "tok.json", "-o", "data", "--force").code == 0


def test_a_subset_that_is_too_large_is_refused_before_packing(slmtok, refused, here):
    line = ["pack", "docs.jsonl", "-t", "tok.json", "-o", "new", "--subset"]
    for more, available in (
        (["--val", "none"], 20),
        (["--max-docs", "7", "--val", "none"], 7),
        (["--val", "auto"], 18),
    ):
        assert f"fix:   --subset 2,{available}, or fewer" in refused(*line, "2,100", *more)
    assert "fix:   --subset 1, or fewer" in refused("pack", "a.txt", "-t", "tok.json", "-o", "new", "--subset", "5")
    packed = refused("pack", "a.txt", "-t", "small.json", "-o", "data", "--force", "--subset", "5")
    assert "where: a.txt\n" in packed
    assert slmtok(*line, "2,18").code == 0
    limited = slmtok(*line[:5], "late", "--subset", "100", "--max-bytes", "100")
    assert limited.code == 2 and "where: late, which is complete and stays\n" in limited.err


def test_rows_that_do_not_fit_leave_no_folder(refused):
    line = ["pack", "a.txt", "-t", "tok.json", "--output-format", "npy", "-o", "new", "--chunk-size", "9999"]
    assert "error: --chunk-size 9999 is more than the" in refused(*line)


def test_a_rule_that_chooses_no_validation_document_is_named(slmtok, here):
    (here / "b.txt").write_text("one document")
    for text, share, lost in (("a.txt", "all", "train"), ("b.txt", "none", "val")):
        ran = slmtok("pack", text, "-t", "tok.json", "-o", f"{text}-data", "--val", "hash:10%")
        assert ran.code == 0 and f"--val hash:10% chose {share} of 1 document: {text}-data has no {lost}" in ran.err


WRONG_KINDS = {
    "train run --vocab 300 -o x": (2, "error: 'run' is a run of slm, not text\n"),
    "train data --vocab 300 -o x": (2, "is the manifest of packed data of slmtok, not text"),
    "encode a.txt -t tok.lock": (1, "tok.lock is the lock of a tokenizer of slmtok, not a tokenizer file\n"),
    "encode a.txt -t hf/tokenizer_config.json": (1, "fix:   name the tokenizer file beside it: hf/tokenizer.json\n"),
    "encode a.txt -t certificate.json": (1, "certificate.json is a certificate of slm eval, not a tokenizer file\n"),
    "reproduce tok.json": (1, "fix:   name the lock beside it: tok.lock\n"),
    "reproduce tok.lock --corpus data": (1, "error: no file 'data/a.txt', which the lock names\n"),
    "info run": (1, "error: 'run' is a run of slm, not packed data\n"),
    "exposure run": (1, "error: 'run' is a run of slm, not packed data\n"),
    "align run run --on a.txt": (2, "error: 'run' is a run of slm, not losses on a text\n"),
}


@pytest.mark.parametrize("line", WRONG_KINDS)
def test_a_file_of_another_kind_is_named(slmtok, refused, here, line):
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json", "--force").code == 0
    (here / "hf").mkdir()
    (here / "hf/tokenizer.json").write_text("{}")
    (here / "hf/tokenizer_config.json").write_text('{"tokenizer_class": "a"}')
    (here / "certificate.json").write_text('{"kind": "certificate", "version": 2, "payload": {"bpb": 3.5}}')
    code, message = WRONG_KINDS[line]
    assert message in refused(*line.split(), code=code)


def test_a_lock_is_verified_and_reproduced(slmtok, here):
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json", "--force").code == 0
    assert "tok.lock: valid; lock of tok.json" in slmtok("verify", "tok.lock").out
    assert slmtok("reproduce", "tok.lock").code == 0


def test_what_excludes_the_own_file_of_a_folder_works(slmtok, refused, here):
    (here / "texts").mkdir()
    shutil.copy(here / "a.txt", here / "texts")
    shutil.copy(here / "tok.json", here / "texts")
    assert "fix:   --exclude tok.json leaves it out\n" in refused("train", "texts", "--vocab", "280", "-o", "x")
    assert slmtok("train", "texts", "--vocab", "280", "-o", "x", "--exclude", "tok.json").code == 0


def test_python_refuses_files_of_slmtok_as_text(here):
    for path, what in (("tok.json", "a tokenizer file"), ("run", "a run of slm"), ("data", "the manifest of packed")):
        with pytest.raises(slmtok.errors.OptionError, match=f"is {what}"):
            slmtok.train(here / path, vocab_size=300)


FIXES = {
    "slice tok.json 275 -o x": (2, "fix:   slmtok slice tok.json -o x --vocab 275\n"),
    "slice tok.json 275 --vocab 274 -o x": (2, "fix:   use --vocab 274 alone: one size a command\n"),
    "prune tok.json a.txt -o x --ids b": (2, "fix:   use --unused-on a.txt\n"),
    "sample-corpus 2MB": (2, "fix:   use --bytes 2MB\n"),
    "sample-corpus s.txt": (2, "fix:   use -o s.txt\n"),
    "export tok.json --format hf -o x": (2, "fix:   --output-format hf\n"),
    "export tok.json --output-format hff -o x": (2, "fix:   --output-format hf\n"),
    "export tok.json --output-format hf -o tokenizer.json": (2, "fix:   -o tokenizer\n"),
    "export tok.json --output-format hf --verify-on empty.txt -o x": (1, "empty.txt has no byte of text"),
    "export tok.json --output-format hf --verify-on nope.txt -o x": (
        1,
        "where: the working folder has 2 files ending .txt",
    ),
    "import gpt2 -o x": (2, "fix:   commands with a tokenizer take the name, without a file of it: slmtok info gpt2\n"),
    "import https://host/a.json -o x": (
        1,
        "fix:   curl -fLo a.json https://host/a.json && slmtok import a.json -o x\n",
    ),
    "train https://host/a.txt --vocab 280": (
        1,
        "fix:   curl -fLo a-2.txt https://host/a.txt && slmtok train a-2.txt --vocab 280\n",
    ),
    "train s3://bucket/a.txt --vocab 280": (1, "fix:   aws s3 cp s3://bucket/a.txt a-2.txt && slmtok train a-2.txt --"),
    "train https://host/b.txt?raw=1 --vocab 280": (1, "fix:   curl -fLo b.txt 'https://host/b.txt?raw=1' && slmtok "),
    "train roneneldan/TinyStories --vocab 280": (1, "hf:roneneldan/TinyStories is a data set"),
    "train *.csv --vocab 280 -o x": (1, "fix:   slmtok train './*.txt' --vocab 280 -o x\n"),
    "merge *.cnts -o x": (1, "fix:   './*.counts'\n"),
    "train a.txt --vocab 280 --temperature 0 -o x": (2, "for domains that are named, or leave it out\n"),
    "train a.txt --vocab 280 --threads -1 -o x": (2, "fix:   --threads 0, which is all\n"),
    "encode a.txt -t tok.json -o ids.npy": (2, "fix:   --output-format npy, or another name\n"),
    "encode a.txt -t tok.json -o ids.bin": (2, "fix:   --output-format bin, or another name\n"),
    "view tok.json -o v.pdf": (2, "fix:   -o v.html\n"),
    "extend tok.json a.txt --vocab 100 -o x": (
        2,
        "--vocab 100 is not larger than the tokenizer\n  limit: more than 280: it counts the present ids too\n",
    ),
    "prune tok.json --unused-on a.txt --keep 1000 -o x": (
        2,
        "; slmtok extend adds tokens\n  fix:   leave --keep out: tokens that do not occur are removed, and no others\n",
    ),
    "prune small.json --ids dead.json -o x": (2, "the ids of dead.json are those of another tokenizer\n"),
    "pack a.txt -t tok.json --val 0.1 -o x": (
        2,
        "fix:   --val tail:10%, which is the end of the corpus, "
        "or --val hash:10%, which chooses some of many documents by a hash\n",
    ),
    "pack a.txt -t tok.json --val 10% -o x": (
        2,
        "fix:   --val tail:10%, which is the end of the corpus, "
        "or --val hash:10%, which chooses some of many documents by a hash\n",
    ),
    "pack a.txt -t tok.json --val empty.txt -o x": (
        2,
        "fix:   slmtok pack a.txt empty.txt -t tok.json --val files:empty.txt -o x\n",
    ),
    "pack a.txt -t tok.json --shard-size 5 -o x": (2, "fix:   use --shard-tokens 5\n"),
    "pack a.txt -t tok.json -o x.bin": (2, "fix:   -o x\n"),
    "extend tok.json gpt2.counts --vocab 300 -o x": (2, "counts of the pattern 'gpt2' cannot extend"),
    "merge a.counts gpt2.counts -o x": (2, "where: pattern 'slm' and 'gpt2'\n"),
    "sample run hi": (2, "fix:   slm sample run hi\n"),
    "import data/vocab.json -o x": (1, "is a vocab.json of slmtok, not a tokenizer\n"),
    "import spm.model -o x": (1, "spm.model cannot be imported: it is a SentencePiece model\n"),
    "decode lost": (1, "fix:   slmtok decode lost -t TOK names it\n"),
    "merge a.counts a.counts -o x": (2, "a.counts is named twice"),
}


FIXES |= {
    "train a.txt --vocab 280 --sample 1% -o x": (1, "the sample left out the only one\n"),
    "pack a.txt -t tok.json --sample 1% -o x": (
        1,
        "the sample left out the only one\n  fix:   --separator '\\n\\n' beside it makes a document of each paragraph "
        "of a text; or leave --sample out, which chooses whole documents\n",
    ),
    "train a.txt --vocab 280 --format jsonl --skip-malformed -o x": (1, "1 malformed record left out\n"),
    "pack a.txt -t tok.json --format jsonl --skip-malformed -o x": (1, "fix:   leave --skip-malformed out to see "),
    "train a.txt --vocab 280 --memory 200% -o x": (2, "fix:   --memory 2GB, for instance\n"),
    "train a.txt --vocab 275,280 -o x": (2, "fix:   --vocab 275 --vocab 280\n"),
    "train a.txt --vocab 280 --domain a=a.txt --mix a=-1 -o x": (2, "fix:   --mix a=0, which leaves its text out\n"),
    "train a.txt --vocab 280 --model_prefix x": (2, "fix:   use -o x.json\n"),
    "pack a.txt -t tok.json -o -": (2, "-o - is stdout, and this output needs a name\n"),
    "pack a.txt -t tok.json -o x --val 200%": (
        2,
        "fix:   --val tail:10%, which is the end of the corpus, or ",
    ),
    "encode data -t tok.json": (2, "data/manifest.json is the manifest of packed data of slmtok, not text\n"),
    "encode a.counts -t tok.json": (2, "a.counts is a counts file, not text\n"),
    "encode a.txt -t tok.json --add-special-tokens": (2, "fix:   use --bos --eos\n"),
    "decode data/manifest.json": (2, "fix:   name the folder: data\n"),
    "decode small.json -t tok.json": (2, "small.json is a tokenizer file of slmtok, not ids\n"),
    "train a.txt --vocab 280 --save-counts x -o x": (2, "fix:   name another --save-counts\n"),
    "train a.txt --vocab 280 --save-counts a.txt --force -o x": (2, "fix:   name another --save-counts\n"),
    "count a.txt --seed 4 -o x": (2, "fix:   leave it out\n"),
    "count docs.jsonl --text-template {title}:{text} -o x": (
        1,
        "fix:   --text-template '{text}' if no record has 'title', else --skip-malformed ",
    ),
    "pack a.txt -t tok.json -o p-{vocab}": (2, "fix:   -o 'p-{name}'\n"),
    "train a.txt --vocab 280 -o x-{size}": (2, "fix:   -o 'x-{vocab}'\n"),
    "train tokenizer.json --vocab 280 -o x": (2, "error: tokenizer.json is a tokenizer of Hugging Face, not text\n"),
}


@pytest.mark.parametrize("line", FIXES)
def test_the_fix_leads_on(slmtok, refused, here, line):
    if "dead.json" in line:
        assert slmtok("exposure", "data", "-o", "dead.json").code == 0
    if "gpt2.counts" in line:
        assert slmtok("count", "a.txt", "--pattern", "gpt2", "-o", "gpt2.counts").code == 0
    if "train tokenizer.json" in line:
        (here / "tokenizer.json").write_text('{\n  "version": "1.0",\n  "truncation": null}')
    if "spm.model" in line:
        (here / "spm.model").write_bytes(b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02")
    if "lost" in line:
        shutil.copytree(here / "data", here / "lost")
        (here / "lost/tok.json").unlink()
    code, message = FIXES[line]
    assert message in refused(*line.split(), code=code)


def test_an_empty_path_is_no_tokenizer(here):
    with pytest.raises(slmtok.errors.OptionError, match="the path is empty"):
        slmtok.load("")


def test_a_corpus_that_cannot_be_read_leaves_nothing(refused, here):
    """Neither without network, where a folder was left, nor with --force, which removed the data first."""
    pytest.importorskip("datasets")
    (here / "bad.jsonl").write_text('{"txt": 1}\n')
    for layout in ("slm", "npy"):
        end = ["-t", "tok.json", "--output-format", layout]
        refused("pack", "bad.jsonl", *end, "-o", "new", code=1)
        message = refused("pack", "hf:no/such", *end, "-o", "new", code=1)
        assert "https://huggingface.co cannot be reached" in message and "fix:   check the network" in message
    refused("pack", "hf:no/such", "-t", "small.json", "-o", "data", "--force", code=1)


def test_a_cluster_that_does_not_answer_is_named_at_once(refused, here, monkeypatch):
    ray, session = pytest.importorskip("ray"), pytest.importorskip("slmtok.cluster.session")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)

    def refuse(address: tuple[str, int], timeout: float) -> None:
        raise ConnectionRefusedError(f"nothing listens at {address}, asked for {timeout} s")

    monkeypatch.setattr(session.socket, "create_connection", refuse)
    for line in (["count", "a.txt", "-o", "new"], ["pack", "a.txt", "-t", "tok.json", "-o", "new"]):
        assert "('host', 1234), asked for 5 s" in refused(*line, "--ray", "host:1234", code=1)
    assert "('::1', 1)" in refused("count", "a.txt", "-o", "new", "--ray", "ray://[::1]:1", code=1)


OTHER_WAY_ROUND = {
    "encode tok.json -t a.txt": (2, "slmtok encode a.txt -t tok.json"),
    "pack tok.json -t a.txt -o x": (2, "slmtok pack a.txt -t tok.json -o x"),
    "extend a.txt tok.json --vocab 290 -o x": (1, "slmtok extend tok.json a.txt --vocab 290 -o x"),
    "audit a.txt --on tok.json": (2, "slmtok audit tok.json --on a.txt"),
    "audit a.txt tok.json": (2, "slmtok audit tok.json --on a.txt"),
    "eval small.json a.txt --on tok.json": (2, "slmtok eval small.json tok.json --on a.txt"),
    "prune a.txt tok.json -o x": (2, "slmtok prune tok.json -o x --unused-on a.txt"),
    "set-special user=u tok.json -o x": (2, "slmtok set-special tok.json user=u -o x"),
    "diff a.txt tok.json": (1, "slmtok diff tok.json small.json --on a.txt"),
    "extend tok.json small.json --vocab 300 -o x": (2, "name the text; slmtok slice and slmtok extend make other"),
    "exposure tok.json data": (2, "slmtok exposure data\n"),
}


@pytest.mark.parametrize("line", OTHER_WAY_ROUND)
def test_a_tokenizer_and_a_text_in_the_wrong_order(refused, line):
    code, fix = OTHER_WAY_ROUND[line]
    assert f"fix:   {fix}" in refused(*line.split(), code=code)


NAMES = {
    "train link --vocab 280": (1, "make the link again\n"),
    "encode a.txt -t link": (1, "make the link again\n"),
    "completion tcsh": (2, "fix:   slmtok completion bash, or slmtok completion zsh, or slmtok completion fish, "),
    "encode a.txt -t cl100k": (1, "fix:   the public encoding cl100k_base, "),
    "encode a.txt -t tiktoken:o200k": (2, "fix:   use 'o200k_base'\n"),
    "encode a.txt -t meta-llama/Llama-3-8B": (1, "fetch the file first: hf download meta-llama/Llama-3-8B "),
    "encode a.txt -t tok.jsn": (1, "fix:   check the name: there is 'tok.json'\n"),
    "train a.tx --vocab 280": (1, "fix:   check the name: there is 'a.txt'\n"),
    "encode hello -t tok.json": (1, "fix:   for text: printf %s hello | slmtok encode - -t tok.json\n"),
    "decode 300 -t tok.json": (1, "fix:   for ids: printf %s 300 | slmtok decode - -t tok.json\n"),
    "decode dat": (1, "fix:   check the name: there is 'data'\n"),
    "export tok.json --output-format= -o x": (2, "fix:   --output-format hf, or --output-format tiktoken\n"),
    "train a.txt --vocab 280 --special=user -o x": (2, "fix:   --special 'user=<|user|>'\n"),
    "set-special tok.json user -o x": (2, "fix:   slmtok set-special tok.json 'user=<|user|>'"),
}


@pytest.mark.parametrize("line", NAMES)
def test_a_name_that_is_not_there_leads_to_one_that_is(refused, line):
    code, fix = NAMES[line]
    Path("link").symlink_to("nowhere")
    assert fix in refused(*line.split(), code=code)


@pytest.mark.parametrize("line", ["info", "verify", "decode", "exposure", "vocab", "reproduce", "merge"])
def test_an_unset_variable_names_no_file(refused, line):
    message = refused(*line.split(), "", *(["-o", "x"] if line == "merge" else []))
    assert "error: an argument is empty: " in message and "a variable of the shell that is not set" in message


NOTES = {
    "train a.txt --vocab 280 -o x --separator NOPE": "--separator NOPE occurs nowhere: each file is one document",
    "count a.txt -o x --separator NOPE": "--separator NOPE occurs nowhere",
    "pack a.txt -t tok.json -o x --separator NOPE": "--separator NOPE occurs nowhere",
    "audit cut --on lines.txt -o x": r"the data were packed with --separator '\n': run it again with that option",
}


@pytest.mark.parametrize("line", NOTES)
def test_what_has_no_effect_is_noted(slmtok, here, line):
    (here / "lines.txt").write_text("one\ntwo\nthree")
    assert slmtok("pack", "lines.txt", "-t", "tok.json", "-o", "cut", "--separator", r"\n").err == ""
    assert f"note: {NOTES[line]}" in slmtok(*line.split()).err


def test_options_without_effect_and_long_spellings_are_refused(refused):
    message = refused("extend", "tok.json", "a.counts", "--vocab", "300", "--encoding", "utf-16", "-o", "x")
    assert "error: --encoding utf-16 has no effect on counts" in message
    message = refused("set-special", "tok.json", f"user={'x' * 1025}", "-o", "x")
    assert "has 1,025 characters" in message


PYTHON = {
    "slmtok.count('a.counts')": r"fix:   slmtok\.PretokenCounts\.load\('a\.counts'\)",
    "slmtok.train(['a.txt', 'a.counts'], vocab_size=280)": "a.counts is a counts file, not text",
    "slmtok.pack('a.counts', tok, 'x')": "a.counts is a counts file, not text",
    "slmtok.pack('a.txt', tok, 'x', val=0.1)": "fix:   val='tail:10%'",
    "slmtok.pack('a.txt', tok, 'x', split=0.1)": "fix:   val='tail:10%'",
    "slmtok.train('a.txt', vocab_size=[275, 280])": "fix:   vocab_size=280",
    "slmtok.train('a.txt', 280)": "fix:   vocab_size=280",
    "slmtok.extend(tok, 'a.txt', vocab_size=290)": r"extend\(tok, slmtok.count\('a.txt'\), vocab_size=290\)",
    "slmtok.merge_counts(['a.counts'])": r"fix:   slmtok.merge_counts\(\['a.counts'\], 'all.counts'\)",
    "slmtok.view(tok, output='v.html')": r"fix:   slmtok.view\(tok\).save\('v.html'\)",
    "slmtok.view('tok.json')": r"fix:   slmtok.view\(slmtok.load\('tok.json'\)\)",
    "slmtok.view()": r"view\(\) lacks 'tokenizers'",
    "slmtok.load('cl100k')": "fix:   the public encoding cl100k_base",
    "tok.stream().push([300, 301])": r"fix:   one id a call: \[stream.push\(each\) for each in \[300, 301\]\]",
    "tok.decode(['a'])": r"fix:   tok.encode\(text\) gives ids",
    "slmtok.compat.as_tiktoken(tok).encode(['a'])": r"fix:   \[tok.encode\(text\) for text in texts\]",
    "slmtok.train(iter([]), vocab_size=280)": "an iterator that was used up gives none",
    "tok.save('')": "the name of the output is empty",
}


@pytest.mark.parametrize("call", PYTHON)
def test_python_names_what_was_meant(here, call):
    before = state(here)
    with pytest.raises(slmtok.SlmtokError, match=PYTHON[call]):
        eval(call, {"slmtok": slmtok, "tok": slmtok.load("tok.json")})
    assert state(here) == before


def test_constructors_of_other_libraries_lead_to_load():
    for name in ("from_file", "from_pretrained"):
        with pytest.raises(AttributeError, match=r"slmtok\.load\(path\) opens one"):
            getattr(slmtok.Tokenizer, name)


def test_files_of_a_run_are_checked_with_the_run(slmtok, refused, here):
    """The tokenizer in the working folder is another file, which says nothing about them."""
    (here / "run/model.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0" + b'{"a":{}}        ')
    for name in ("run/model.safetensors", "run/config.yaml"):
        ran = slmtok("verify", name)
        assert ran.code == 1 and ran.out.startswith(f"{name}: NOT CHECKED: {name} is a file of the run run, ")
        assert ran.out.endswith("  fix:   slm doctor run\n")
    fix = "fix:   name the tokenizer file beside it: run/tok.json\n"
    assert fix in refused("encode", "a.txt", "-t", "run/model.safetensors", code=1)
    shutil.copy(here / "run/model.safetensors", here / "data/w.safetensors")
    ran = slmtok("verify", "data/w.safetensors")
    assert ran.out.endswith("  fix:   name the tokenizer file beside it: data/tok.json\n")


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.parametrize("served", [True, False])
def test_an_address_is_fetched_to_a_name_not_in_use(slmtok, refused, here, served):
    """The fix replaces no file; where the server has none, it writes none."""
    address, before = "https://host/a.txt", (here / "a.txt").read_bytes()
    (here / "served").write_text(TEXT * 2)
    err = refused("train", address, "--vocab", "275", "-o", "x.json", code=1)
    fetch, _, train = err.partition("fix:   ")[2].strip().partition(" && ")
    local = (here / ("served" if served else "none")).as_uri()
    ran = subprocess.run(["bash", "-c", fetch.replace(address, local)], check=False, capture_output=True)
    assert (ran.returncode == 0) == (here / "a-2.txt").exists() == served
    assert (here / "a.txt").read_bytes() == before
    assert not served or slmtok(*train.split()[1:]).code == 0


def test_reading_options_beside_counts_are_refused_and_memory_is_noted(slmtok):
    Path("a.txt").write_text("a fox saw a fox. " * 50)
    slmtok("count", "a.txt", "-o", "all.counts")
    slmtok("train", "all.counts", "--vocab", "275", "--allow-smaller", "-o", "a.json")
    for line in (["report", "a.json"], ["diff", "a.json", "a.json"]):
        ran = slmtok(*line, "--on", "all.counts", "--max-docs", "3")
        assert ran.code == 2 and "error: --max-docs 3 has no effect on counts, whose text was read before\n" in ran.err
        assert ran.err.endswith("leave it out, or count again: slmtok count CORPUS --max-docs 3 -o all-2.counts\n")
    ran = slmtok("train", "all.counts", "--vocab", "275", "--allow-smaller", "-o", "b.json", "--memory", "100MB")
    assert ran.code == 0 and "note: --memory has no effect on counts" in ran.err
    ran = slmtok("train", "all.counts", "--vocab", "275", "-o", "c.json", "--save-counts", "c.counts")
    assert ran.code == 2 and "  fix:   leave --save-counts out\n" in ran.err
    ran = slmtok("reproduce", "a.lock", "--counts", "all.counts", "--corpus", ".")
    assert ran.code == 2 and "error: --corpus . has no effect with --counts, which need no text\n" in ran.err
    ran = slmtok("reproduce", "a.lock", "--counts", "all.counts", "--memory", "1GB")
    assert ran.code == 0 and "note: --memory has no effect with --counts" in ran.err


def test_options_of_other_schemes_formats_and_kinds_are_refused(slmtok):
    Path("a.txt").write_text("a fox saw a fox. " * 50)
    slmtok("train", "a.txt", "--vocab", "275", "--allow-smaller", "-o", "a.json")
    for words in ("--min-count 3", "--max-token-bytes 8", "--max-token-chars 4", "--forbid-regex x", "--tie-break hf"):
        ran = slmtok("train", "a.txt", "--scheme", "byte", "-o", "b.json", *words.split())
        assert ran.code == 2 and f"error: {words} has no effect with scheme byte, which learns nothing\n" in ran.err
        assert f"  fix:   leave {words.split()[0]} out\n" in ran.err
    ran = slmtok("train", "a.txt", "--vocab", "275", "-o", "b.json", "--skip-malformed")
    assert ran.code == 2 and "error: --skip-malformed leaves out records, and the corpus has none\n" in ran.err
    pack = ["pack", "a.txt", "-t", "a.json", "-o", "data", "--val", "none"]
    for words in ("--subset 9", "--domain a=a*"):
        ran = slmtok(*pack, "--output-format", "npy", *words.split())
        assert ran.code == 2 and f"error: {words.split()[0]} has no effect with output format npy\n" in ran.err
    ran = slmtok("encode", "a.txt", "-t", "a.json", "--domain", "a=a*")
    assert ran.code == 2 and "unknown option '--domain'" in ran.err
    assert "bytes per token, by domain" in slmtok("eval", "a.json", "--on", "a.txt", "--domain", "a=a*").out


def test_counts_are_counted_again_with_the_options_given_and_their_own(slmtok):
    Path("a.txt").write_text("a fox saw a fox.\n\nThe fox ran. " * 50)
    slmtok("count", "a.txt", "-o", "a.counts", "--pattern", "gpt2")
    ran = slmtok("train", "a.counts", "--vocab", "275", "-o", "b.json", "--separator", r"\n\n", "--exclude", "*.md")
    assert r"--separator '\n\n' and --exclude '*.md' have no effect on counts" in ran.err
    _, _, line = ran.err.partition("leave them out, or count again: slmtok ")
    assert line == "count CORPUS --separator '\\n\\n' --exclude '*.md' --pattern gpt2 -o a-2.counts\n"
    assert slmtok(*shlex.split(line.replace("CORPUS", "a.txt"))).code == 0
    counts = PretokenCounts.load("a-2.counts")
    assert counts.documents == 51 and counts.native.pattern.name == "gpt2"
    slmtok("count", "a.txt", "-o", "w.counts", "--scheme", "word")
    ran = slmtok("train", "w.counts", "--scheme", "word", "--vocab", "275", "-o", "c.json", "--max-docs", "3")
    assert ran.err.endswith("slmtok count CORPUS --max-docs 3 --scheme word -o w-2.counts\n")
