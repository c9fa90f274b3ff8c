"""Files and folders in the place of others: the error names what they are, and its fix works."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from printed_fixes import fix_of

import slmtok as package
from slmtok.compat.tokenizers import ByteLevelBPETokenizer
from slmtok.formats.export import export
from slmtok.formats.tiktoken import write_ranks

TEXT = "the cat sat on the mat, and the dog sat by the door. " * 20


@pytest.fixture
def here(slmtok, made_folder: Path, tmp_path: Path) -> Path:
    """A copy of `made_folder`, which is the working folder."""
    shutil.copytree(made_folder, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_the_working_folder_is_a_folder(slmtok, here: Path) -> None:
    for command in ("info", "verify", "exposure"):
        ran = slmtok(command, ".")
        assert "the folder '.' holds no packed data" in ran.out + ran.err
        assert "name the tokenizer: tok.json" in ran.out + ran.err


def test_packed_data_in_a_folder_of_text(slmtok, here: Path) -> None:
    Path("text").mkdir()
    Path("a.txt").rename("text/a.txt")
    Path("data").rename("text/data")
    fix = fix_of(slmtok("count", "text", "-o", "new.counts"))
    assert fix == "--exclude 'data/*' leaves its folder out"
    assert slmtok("count", "text", "-o", "new.counts", "--exclude", "data/*").code == 0
    assert fix_of(slmtok("count", "text/data", "-o", "new2.counts")) == "name the text that was packed"


def test_the_counts_of_a_folder_are_merged(slmtok, here: Path) -> None:
    slmtok("count", "b.txt", "-o", "b.counts")
    assert slmtok("merge", ".", "-o", "all.counts").code == 0
    assert package.PretokenCounts.load("all.counts").documents == 2


def test_the_column_of_a_table(slmtok, here: Path) -> None:
    Path("t.csv").write_text("id,Review,content\n1,the cat,the dog\n")
    line = ["count", "t.csv", "-o", "t.counts"]
    number = "; where the first row is text too, its number: --text-key"
    assert fix_of(slmtok(*line)) == f"--text-key content{number} 3"
    assert fix_of(slmtok(*line, "--text-key", "review")) == f"--text-key Review{number} 2"
    assert slmtok(*line, "--text-key", "Review").code == 0
    Path("t.csv").write_text("id,a,b\n1,the cat,the old dog\n")
    ran = slmtok(*line, "--force")
    assert "limit: 'b' has the longest values" in ran.err
    assert fix_of(ran) == f"--text-key b{number} 3"


def test_a_part_of_a_run(slmtok, here: Path) -> None:
    Path("run").mkdir()
    Path("run/model.safetensors").write_bytes(b"\0" * 99)
    for command in ("info", "verify"):
        ran = slmtok(command, "run")
        assert "holds a part of a run of slm: it lacks config.yaml, SHA256SUMS, fingerprint.json" in ran.out + ran.err
    assert "slm info RUN describes the run" in fix_of(slmtok("info", "run/model.safetensors"))


def test_packed_data_where_ids_are_listed(slmtok, here: Path) -> None:
    fix = fix_of(slmtok("prune", "tok.json", "--ids", "data", "-o", "new.json"))
    assert fix.startswith("slmtok exposure data -o rare.json lists the ids")
    assert slmtok("exposure", "data", "-o", "rare.json").code == 0
    assert slmtok("prune", "tok.json", "--ids", "rare.json", "-o", "new.json").code == 0


def test_a_lock_is_compared_with_the_tokenizer_beside_it(slmtok, here: Path) -> None:
    assert "lock of tok.json, which is unchanged" in slmtok("verify", "tok.lock").out
    Path("tok.json").rename("other.json")
    assert "is not beside it and was not compared" in slmtok("verify", "tok.lock").out
    package.train("b.txt", vocab_size=275).save("tok.json")
    ran = slmtok("verify", "tok.lock")
    assert ran.code == 3
    assert "INVALID: tok.lock is the lock of another tokenizer than tok.json" in ran.out


def test_texts_after_one_option(slmtok, here: Path) -> None:
    line = ["eval", "tok.json", "--on", "a.txt"]
    assert fix_of(slmtok(*line, "b.txt")) == "slmtok eval tok.json --on a.txt --on b.txt"
    assert slmtok(*line, "--on", "b.txt").code == 0
    Path("texts").mkdir()
    Path("texts/b.txt").write_bytes(Path("b.txt").read_bytes())
    fix = fix_of(slmtok(*line, "--on", "texts", "--by", "domain"))
    assert fix == "--domain a=a.txt --domain 'texts=texts/**', for instance"
    # What was packed is no text, whatever its domains.
    fix = fix_of(slmtok(*line, "--on", "data", "--by", "domain"))
    assert fix == "name the text that was packed: a.txt"
    assert slmtok(*line, "--by", "domain", "--domain", "a=a.txt").code == 0


def test_the_two_files_of_a_tokenizer(slmtok, here: Path) -> None:
    Path("g").mkdir()
    Path("g/vocab.json").write_text(json.dumps({chr(33 + i): i for i in range(90)}))
    Path("g/merges.txt").write_text("#version: 0.2\n")
    for pair in (("g/vocab.json", "g/merges.txt"), ("g/merges.txt", "g/vocab.json")):
        fix = fix_of(slmtok("import", *pair, "-o", "new.json"))
        assert fix.startswith(
            'python -c "from slmtok.compat.tokenizers import ByteLevelBPETokenizer as B; B.from_file('
        )


@pytest.mark.parametrize("names", [("gpt2-vocab.json", "merges.txt"), ("gpt2-merges.txt", "gpt2-vocab.json")])
def test_the_two_files_of_a_tokenizer_under_other_names(slmtok, here: Path, names: tuple[str, str]) -> None:
    ByteLevelBPETokenizer(package.load("tok.json")).save_model(".")
    for saved, name in zip(("merges.txt", "vocab.json"), sorted(names, key=lambda name: "vocab" in name), strict=True):
        Path(saved).rename(name)
    fix = fix_of(slmtok("import", *names, "-o", "new.json"))
    exec(shlex.split(fix)[2])
    assert slmtok("encode", "a.txt", "-t", "new.json").out == slmtok("encode", "a.txt", "-t", "tok.json").out
    if names[0].startswith("gpt2-m"):
        # One of them alone; the tok.json beside stays.
        fix = fix_of(slmtok("encode", "a.txt", "-t", names[0]))
        exec(shlex.split(fix)[2])
        assert package.load("gpt2-slmtok.json").fingerprint == package.load("new.json").fingerprint


def test_a_summary_in_a_file_is_noted(slmtok, here: Path) -> None:
    line = "-m slmtok sample-corpus --bytes 2000"
    with Path("s.txt").open("w") as file:
        ran = subprocess.run([sys.executable, *line.split()], stdout=file, stderr=subprocess.PIPE, check=True)
    assert b"note: the output is in stories.txt, and stdout has its summary" in ran.stderr
    with Path("s.txt").open("w") as file:
        ran = subprocess.run(
            [sys.executable, *line.split(), "-o", "-"], stdout=file, stderr=subprocess.PIPE, check=True
        )
    assert (ran.stderr, Path("s.txt").stat().st_size > 1000) == (b"", True)


def test_a_default_output_that_exists_with_stdout_in_a_file(slmtok, here: Path) -> None:
    """Who sends stdout to a file may take it for the output, and does not know the file that --force replaces."""
    line = [sys.executable, "-m", "slmtok", "train", "a.txt", "--vocab", "280"]
    with Path("s.json").open("w") as file:
        ran = subprocess.run(line, stdout=file, stderr=subprocess.PIPE, check=False, text=True)
    said = "  limit: without --output the output is tok.json, and stdout has its summary\n"
    assert ran.returncode == 1 and said in ran.stderr, ran.stderr
    assert ran.stderr.endswith("  fix:   slmtok train a.txt --vocab 280 -o s.json --force\n")
    assert slmtok(*line[3:], "-o", "s.json", "--force").code == 0
    with Path("s.log").open("w") as file:
        ran = subprocess.run(line, stdout=file, stderr=subprocess.PIPE, check=False, text=True)
    assert ran.stderr.endswith("  fix:   -o tok-2.json, or --force to replace it\n")


def test_a_summary_of_several_outputs_names_each(slmtok, here: Path) -> None:
    line = [sys.executable, "-m", "slmtok", "train", "a.txt", "--vocab", "280", "--vocab", "290"]
    with Path("s.txt").open("w") as file:
        ran = subprocess.run(line, stdout=file, stderr=subprocess.PIPE, check=True)
    assert b"note: the outputs are in tok-280.json and tok-290.json, and stdout has their summary" in ran.stderr
    assert "and write tok-280.json, tok-290.json\n" in slmtok(*line[3:], "--dry-run").out


def test_a_failed_audit_is_replaced(slmtok, here: Path) -> None:
    assert slmtok("audit", "data", "--on", "b.txt").code == 3
    assert slmtok("audit", "data", "--on", "a.txt").code == 0
    assert "output 'audit.json' exists" in slmtok("audit", "data", "--on", "a.txt").err


def test_counts_of_two_patterns(slmtok, here: Path) -> None:
    slmtok("count", "b.txt", "-o", "b.counts", "--pattern", "gpt2")
    fix = fix_of(slmtok("merge", "a.counts", "b.counts", "-o", "all.counts"))
    says, _, line = fix.partition(": ")
    assert says == "count the text of b.counts again"
    assert line == "slmtok count CORPUS --pattern slm -o b-2.counts"
    assert slmtok(*line.replace("CORPUS", "b.txt").split()[1:]).code == 0
    assert slmtok("merge", "a.counts", "b-2.counts", "-o", "all.counts").code == 0


@pytest.mark.parametrize("is_in_place", [False, True])
@pytest.mark.parametrize(
    ("before", "after"),
    [("</s>", "<|endoftext|>"), ('6,"role":null,"text":null', '6,"role":"user","text":"<|user|>"')],
    ids=["spelling", "role"],
)
def test_a_special_that_was_renamed_by_hand(slmtok, here: Path, before: str, after: str, is_in_place: bool) -> None:
    named = package.load("tok.json").with_special(*(("user", "<|user|>") if "user" in after else ("eos", after)))
    Path("gpt.json").write_text(Path("tok.json").read_text().replace(before, after))
    if is_in_place:
        Path("tok.json").unlink()
    ran = slmtok("verify", "gpt.json")
    fix = next(line for line in ran.out.splitlines() if line.startswith("  fix:   ")).removeprefix("  fix:   ")
    assert fix.startswith("sed " if is_in_place else "slmtok set-special tok.json "), fix
    subprocess.run(["bash", "-c", fix.replace("slmtok set", f"'{sys.executable}' -m slmtok set")], check=True)
    assert package.load("gpt.json").specials == named.specials


def test_a_tokenizer_file_that_was_formatted_anew(slmtok, here: Path) -> None:
    Path("f.json").write_text(json.dumps(json.loads(Path("tok.json").read_text()), indent=1))
    fix = fix_of(slmtok("encode", "a.txt", "-t", "f.json"))
    assert fix == "cp tok.json f.json"
    subprocess.run(fix, shell=True, check=True)
    assert slmtok("encode", "a.txt", "-t", "f.json").code == 0


def test_all_tokenizers_among_the_texts_are_left_out_at_once(slmtok, here: Path) -> None:
    Path("many").mkdir()
    for name in ("a.json", "b.json", "c.lock"):
        Path("many", name).write_bytes(Path("tok." + name[2:]).read_bytes())
    Path("many/a.txt").write_text(TEXT)
    line = ["train", "many", "--vocab", "290", "-o", "new.json"]
    fix = fix_of(slmtok(*line))
    assert fix == "--exclude a.json --exclude b.json --exclude c.lock leave them out"
    assert slmtok(*line, *fix.removesuffix(" leave them out").split()).code == 0


def options_of(fix: str) -> list[str]:
    """The options at the beginning of a fix."""
    return shlex.split(re.split(r" leaves? (?:it|them|its folder) out", fix)[0])


def test_a_fix_leaves_out_all_that_is_no_text_and_no_text(slmtok, here: Path) -> None:
    folder = Path("mixed")
    (folder / "run/checkpoints/step-1").mkdir(parents=True)
    for name in ("config.yaml", "fingerprint.json", "SHA256SUMS"):
        (folder / "run" / name).write_text("{}")
    header = b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    tensors = len(header).to_bytes(8, "little") + header + bytes(4)
    for name in ("model.safetensors", "run/checkpoints/step-1/model.safetensors"):
        (folder / name).write_bytes(tensors)
    for name in ("tok.json", "run/tok.json"):
        (folder / name).write_bytes(Path("tok.json").read_bytes())
    (folder / "a.txt").write_text(TEXT)
    (folder / "b.txt").write_bytes(bytes(range(256)) * 4)
    line = ["count", "mixed", "--force", "-o", "mixed.counts"]
    fix = fix_of(slmtok(*line))
    assert fix == ("--exclude 'run/**' --exclude tok.json --exclude b.txt --exclude '*.safetensors' leave them out"), (
        fix
    )
    assert slmtok(*line, *options_of(fix)).code == 0
    (folder / "tok.json").unlink()
    (folder / "c.txt").write_text(TEXT, encoding="utf-16")
    fix = fix_of(slmtok(*line, "--exclude", "run/**"))
    assert fix.startswith("--exclude b.txt --exclude '*.safetensors' leave them out, and for 'mixed/c.txt': python -c ")
    (folder / "more").mkdir()
    (folder / "more/b.txt").write_text(TEXT)
    fix = fix_of(slmtok(*line, "--exclude", "run/**", "--exclude", "c.txt", "--exclude", "*.safetensors"))
    assert fix.startswith("--exclude mixed/b.txt, or "), fix
    (folder / "a.txt").unlink()
    fix = fix_of(slmtok(*line, "--exclude", "run/**", "--exclude", "more/*"))
    assert fix == (
        "--exclude b.txt --exclude '*.safetensors' leave them out, and for 'mixed/c.txt': "
        "--encoding utf-16, or --format text to read its bytes as they are"
    ), fix


def test_a_text_larger_than_a_page_is_not_sent_to_one(slmtok, here: Path) -> None:
    Path("large.txt").write_bytes(b"a" * ((1 << 20) + 1))
    ran = slmtok("view", "large.txt", "-o", "v.html")
    assert "; 1,048,576 bytes of text on a page\n" in ran.err
    assert slmtok(*shlex.split(fix_of(ran))[1:]).code == 0


def test_a_list_of_tokens_is_no_corpus_and_text_is_no_json(slmtok, here: Path) -> None:
    Path("list.json").write_text(slmtok("vocab", "tok.json").out)
    ran = slmtok("info", "list.json")
    assert "list.json is the list of tokens that slmtok vocab prints, not " in ran.err
    assert fix_of(ran).startswith("slmtok info TOK describes")
    Path("prose.json").write_text(TEXT)
    fix = fix_of(slmtok("info", "prose.json")).partition(" counts its")[0]
    assert slmtok(*shlex.split(fix)[1:]).code == 0


def test_a_tokenizer_of_slmtok_needs_no_import(slmtok, here: Path) -> None:
    fix = fix_of(slmtok("import", "data/vocab.json", "-o", "x.json"))
    assert fix == f"use the tokenizer of slmtok beside it, which needs no import: {Path('data/tok.json')}"


def test_a_corpus_is_counted_and_not_described(slmtok, here: Path) -> None:
    Path("c.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    Path("d.jsonl").write_text('{"text": "the cat"}\n')
    for name in ("c.txt.gz", "d.jsonl", "a.txt"):
        fix = fix_of(slmtok("info", name)).removesuffix(" counts its documents, bytes and pretokens")
        assert slmtok(*shlex.split(fix)[1:]).code == 0, fix


def test_an_empty_list_of_tokens_is_noted(slmtok, here: Path) -> None:
    ran = slmtok("vocab", "tok.json", "--grep", "Ġthe")
    assert (ran.code, ran.out) == (0, "")
    note = "note: no token matches --grep 'Ġthe'; --grep ' the' has the characters themselves\n"
    assert ran.err == note
    assert slmtok("vocab", "tok.json", "--grep", " the").out
    assert slmtok("vocab", "tok.json", "--class", "byte", "--grep", "the").err.endswith("--grep the and --class byte\n")


def test_least_used_tokens_are_those_of_the_corpus_of_the_lock(slmtok, here: Path) -> None:
    fix = fix_of(slmtok("prune", "tok.json", "--keep", "280", "-o", "small.json"))
    assert fix == "slmtok prune tok.json --keep 280 -o small.json --unused-on a.txt"
    assert slmtok(*shlex.split(fix)[1:]).code == 0
    Path("tok.lock").unlink()
    assert fix_of(slmtok("prune", "tok.json", "-o", "x.json")).endswith(" -o x.json --unused-on TEXT")


def test_the_output_of_an_example_that_exists(slmtok, here: Path) -> None:
    export(package.load("tok.json"), "hf", "hf", verify=False)
    fix = fix_of(slmtok("import", "hf/tokenizer.json", "--no-verify"))
    assert fix == "slmtok import hf/tokenizer.json --no-verify -o tok-2.json"
    assert slmtok(*fix.split()[1:]).code == 0


def test_a_file_that_is_missing_beside_an_option(slmtok, here: Path) -> None:
    ran = slmtok("audit", "tok.jsn")
    assert "error: --on is missing, and no file 'tok.jsn'\n" in ran.err
    assert fix_of(ran) == "check the name: there is 'tok.json'"


def test_the_name_of_an_export_is_tiktokens(slmtok, here: Path) -> None:
    line = ["export", "tok.json", "--output-format", "hf", "-o", "hf", "--no-verify"]
    assert fix_of(slmtok(*line, "--name", "x")) == "leave it out; -o names the folder"
    assert slmtok(*line).code == 0


def test_two_tokenizers_and_a_text(slmtok, here: Path) -> None:
    fix = fix_of(slmtok("diff", "tok.json", "a.txt"))
    command, _, said = fix.partition(" measures one tokenizer; ")
    assert said == "slmtok diff compares two" and slmtok(*command.split()[1:]).code == 0
    slmtok("slice", "tok.json", "--vocab", 280, "-o", "small.json")
    fix = fix_of(slmtok("diff", "tok.json", "a.txt"))
    assert fix == "slmtok diff tok.json small.json --on a.txt"
    assert slmtok(*fix.split()[1:]).code in (0, 3)


def test_a_tokenizer_of_another_kind_says_how_many_ids_it_has(slmtok, here: Path) -> None:
    vocab = [f"word{number}" for number in range(399)]
    pieces = {"WordPiece": {each: id for id, each in enumerate(vocab)}, "Unigram": [[each, -1.0] for each in vocab]}
    for kind, listed in pieces.items():
        document = {"model": {"type": kind, "vocab": listed}, "added_tokens": [{"id": 399, "content": "[PAD]"}]}
        Path("other.json").write_text(json.dumps(document))
        trained = "slmtok train CORPUS --vocab 400 --allow-smaller -o other-slmtok.json"
        assert fix_of(slmtok("encode", "a.txt", "-t", "other.json")) == trained
        assert fix_of(slmtok("eval", "other.json", "--on", "a.txt")) == trained
    Path("vocab.txt").write_text("[PAD]\n" + "\n".join(vocab) + "\n")
    fix = fix_of(slmtok("pack", "a.txt", "-t", "vocab.txt", "-o", "new"))
    command = fix.partition("train a tokenizer of your own: ")[2]
    assert command == "slmtok train a.txt --vocab 400 --allow-smaller -o vocab-slmtok.json"
    assert slmtok(*shlex.split(command)[1:]).code == 0


CHATS = {
    "messages alone": {"messages": [{"role": "user", "content": "a cat"}, {"role": "assistant", "content": "a dog"}]},
    "beside an identifier": {"id": "7f", "conversations": [{"from": "human", "value": "a cat"}]},
    "one message": {"message": {"role": "user", "content": "a cat"}},
}


@pytest.mark.parametrize("chat", ["chat.jsonl", "chat.json"])
@pytest.mark.parametrize("name", CHATS)
def test_records_whose_text_is_in_their_messages(slmtok, here: Path, name: str, chat: str) -> None:
    records = [CHATS[name]] * 9
    Path(chat).write_text("\n".join(map(json.dumps, records)) if chat.endswith("l") else json.dumps(records))
    Path("stories.jsonl").write_text('{"text": "the cat", "content": "the dog"}\n')
    fix = fix_of(slmtok("train", chat, "--vocab", "280", "-o", "new.json"))
    assert fix == fix_of(slmtok("count", "stories.jsonl", chat, "-o", "new.counts"))
    assert fix == fix_of(slmtok("pack", "stories.jsonl", chat, "-t", "tok.json", "-o", "new"))
    for key in ("text", "content"):
        chosen = [] if key == "text" else ["--text-key", key]
        fix = fix_of(slmtok("count", chat, *chosen, "-o", "new.counts"))
        command, named = fix.rsplit(" # ", 1)
        assert (command.rpartition("> ")[2], named) == ("chat-text.jsonl", "and name it")
        subprocess.run(["bash", "-c", command.replace("python -c", f"{shlex.quote(sys.executable)} -c")], check=True)
        line = ["count", "stories.jsonl", "chat-text.jsonl", *chosen, "-o", f"{key}.counts"]
        assert slmtok(*line).code == 0 and package.PretokenCounts.load(f"{key}.counts").documents == 10
        Path("chat-text.jsonl").unlink()


def test_records_with_a_field_of_text_beside_others(slmtok, here: Path) -> None:
    Path("a.jsonl").write_text('{"review": "a cat", "meta": {"lang": "en"}, "tags": ["a", "b"]}\n')
    assert fix_of(slmtok("count", "a.jsonl", "-o", "new.counts")).startswith("--text-key review")
    Path("a.jsonl").write_text('{"content": "a cat", "messages": [{"content": "a dog"}]}\n')
    assert fix_of(slmtok("count", "a.jsonl", "-o", "new.counts")).startswith("--text-key content")
    Path("a.jsonl").write_text('{"stars": 5, "ids": [1, 2]}\n')
    fix = fix_of(slmtok("count", "a.jsonl", "-o", "new.counts"))
    assert fix.startswith("name the text that was encoded, or --skip-malformed")


def test_specials_of_a_tokenizer_without_reserved_ids(slmtok, here: Path) -> None:
    package.from_tiktoken(_ranks("bare"), pattern="gpt2").save("bare.json")
    package.from_tiktoken(_ranks("one"), pattern="gpt2", specials={"<|endoftext|>": 256}).save("one.json")
    fix = "leave {} out; slmtok pack adds bos and eos as new ids"
    for line, left_out in (("--eos", "--eos"), ("--bos --eos", "--bos and --eos"), ("--allow-special eos",) * 2):
        ran = slmtok("encode", "a.txt", "-t", "bare.json", *line.split())
        assert fix_of(ran) == fix.format(left_out), line
        assert "limit: this tokenizer has no specials, and no reserved ids for new ones\n" in ran.err
    ran = slmtok("encode", "a.txt", "-t", "one.json", "--bos", "--eos")
    assert fix_of(ran) == fix.format("--bos") and "limit: roles: eos, and no reserved ids for new ones\n" in ran.err
    assert fix_of(slmtok("encode", "a.txt", "-t", "one.json", "--allow-special", "user")) == (
        "leave --allow-special user out"
    )
    spelled = fix_of(slmtok("encode", "a.txt", "-t", "one.json", "--allow-special", "</s>")).partition(" # and ")[0]
    assert slmtok(*shlex.split(spelled)[1:]).code == 0
    assert slmtok("pack", "a.txt", "-t", "bare.json", "-o", "packed").code == 0
    for name, begin in (("bare.json", "leave it out: "), ("one.json", "give an existing role a new spelling, or ")):
        assert fix_of(slmtok("set-special", name, "bos=<|bos|>", "-o", "new.json")).startswith(begin)
    many = [word for number in range(11) for word in ("--special", f"r{number}=<|r{number}|>")]
    fix = "name at most 10 new roles, or give an existing role a new spelling"
    assert fix_of(slmtok("train", "a.txt", "--vocab", "280", "-o", "new.json", *many)) == fix


def _ranks(name: str) -> Path:
    """A rank file of the 256 bytes."""
    path = Path(f"{name}.tiktoken")
    path.write_bytes(write_ranks({bytes([byte]): byte for byte in range(256)}))
    return path


def test_a_lock_stands_for_the_text_that_it_names(slmtok, here: Path) -> None:
    line = ["train", "tok.lock", "--vocab", "280", "-o", "new.json"]
    fix = fix_of(slmtok(*line))
    assert fix == "slmtok train a.txt --vocab 280 -o new.json"
    assert slmtok(*shlex.split(fix)[1:]).code == 0
    Path("locks").mkdir()
    for name in ("tok.lock", "tok.json"):
        Path(name).rename(f"locks/{name}")
    line[1] = "locks/tok.lock"
    fix = fix_of(slmtok(*line, "--force"))
    assert fix == "slmtok slice locks/tok.json --vocab 280 -o new.json --force"
    assert slmtok(*shlex.split(fix)[1:]).code == 0
    for others in (["train", "locks/tok.lock", "--vocab", "900"], ["count", "locks/tok.lock"]):
        assert fix_of(slmtok(*others, "-o", "other")) == "name the text of that tokenizer"
    package.count("a.txt").save("c.counts")
    assert slmtok("train", "c.counts", "--vocab", "280", "-o", "c.json").code == 0
    assert fix_of(slmtok("count", "c.lock", "-o", "other.counts")) == "name the text of that tokenizer"


def test_marks_of_spark_and_windows_in_a_folder(slmtok, here: Path) -> None:
    Path("all").mkdir()
    for name in ("part-00000.txt", "part-00001.txt"):
        Path("all", name).write_text(TEXT)
    for name in ("_SUCCESS", "_committed_123", "_committed_456", "desktop.ini"):
        Path("all", name).write_text("{}" * len(name.partition("_")[0]))
    Path("all/Thumbs.db").write_bytes(bytes(range(256)))
    fix = fix_of(slmtok("count", "all", "-o", "new.counts")).partition(", or ")[0]
    assert fix == "--exclude Thumbs.db --exclude _SUCCESS --exclude '_committed_*' --exclude desktop.ini"
    ran = slmtok("count", "all", *shlex.split(fix), "-o", "new.counts", "--json")
    assert ran.json["result"]["documents"] == 2
    # A file that is named alone is meant.
    Path("_SUCCESS").write_text(TEXT)
    assert slmtok("count", "_SUCCESS", "-o", "own.counts").code == 0
