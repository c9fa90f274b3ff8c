"""Fixes that are command lines: each is pasted as it is printed, and works."""

from __future__ import annotations

import gzip
import json
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from printed_fixes import fix_of
from shared_data import peer

import slmtok as package
from slmtok.compat.tokenizers import ByteLevelBPETokenizer

TEXT = "the cat sat on the mat, and the dog sat by the door. " * 20


@pytest.fixture
def here(slmtok, made_folder: Path, tmp_path: Path) -> Path:
    """A copy of `made_folder`, which is the working folder."""
    shutil.copytree(made_folder, tmp_path, dirs_exist_ok=True)
    return tmp_path


def _run_shell(command: str) -> None:
    """Runs a fix in a shell, with the Python of the tests."""
    command = command.replace("python -c", f"{shlex.quote(sys.executable)} -c")
    subprocess.run(["bash", "-c", command], check=True)


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("train a.txt new.json --vocab 290", "slmtok train a.txt --vocab 290 -o new.json"),
        ("train a.txt --vocab 290 new.json", "slmtok train a.txt --vocab 290 -o new.json"),
        ("count a.txt new.counts", "slmtok count a.txt -o new.counts"),
        ("pack a.txt new -t tok.json", "slmtok pack a.txt -t tok.json -o new"),
        ("slice tok.json --vocab 280 new.json", "slmtok slice tok.json --vocab 280 -o new.json"),
        ("set-special tok.json 'eos=<s>' -o new.json",
         "slmtok set-special tok.json 'eos=<s>' 'bos=<|bos|>' -o new.json"),
        ("set-special tok.json user=bos -o new.json", "slmtok set-special tok.json 'user=<|user|>' -o new.json"),
        ("set-special tok.json '1x=<a>' -o new.json", "slmtok set-special tok.json 'x=<a>' -o new.json"),
        ("slice tok.json 280", "slmtok slice tok.json --vocab 280 -o small.json"),
        ("slice tok.json --vocab 280", "slmtok slice tok.json --vocab 280 -o small.json"),
        ("extend tok.json a.txt 292", "slmtok extend tok.json a.txt --vocab 292 -o larger.json"),
        ("encode a.txt -t tok.json --bos '<s>' --eos false", "slmtok encode a.txt -t tok.json --bos"),
        ("pack a.txt -t tok.json -o new --bos=false --eos no --force true",
         "slmtok pack a.txt -t tok.json -o new --no-bos --no-eos --force"),
        ("train a.txt --vocab 9000 -o x.json --allow-smaller yes",
         "slmtok train a.txt --vocab 9000 -o x.json --allow-smaller"),
        ("audit data a.txt", "slmtok audit data --on a.txt"),
        ("audit tok.json data a.txt", "slmtok audit data --on a.txt"),
        ("train --model_prefix x --vocab_size 290 --input a.txt", "slmtok train -o x.json --vocab_size 290 a.txt"),
        ("train --model_prefix=x --vocab_size=290 --input=a.txt --model_type=unigram --character_coverage=1.0",
         "slmtok train -o x.json --vocab_size=290 a.txt --scheme bpe"),
        ("train --input=a.txt,b.txt --model_prefix=m --vocab_size=290",
         "slmtok train a.txt b.txt -o m.json --vocab_size=290"),
        ("train --input=a.txt --model_prefix=m --vocab_size=290 --output=x.json",
         "slmtok train a.txt --vocab_size=290 --output=x.json"),
        ("train -o x --input=a.txt --model_prefix=m --vocab_size=290", "slmtok train -o x a.txt --vocab_size=290"),
        ("train --files a.txt --vocab-size 290 -o x.json", "slmtok train a.txt --vocab-size 290 -o x.json"),
        ("train --dataset=a.txt --vocab 290 -o x.json", "slmtok train a.txt --vocab 290 -o x.json"),
        ("pack --input a.txt -t tok.json -o new", "slmtok pack a.txt -t tok.json -o new"),
        ("count --input a.txt", "slmtok count a.txt"),
        ("extend tok.json --input a.txt --vocab 293 -o new.json",
         "slmtok extend tok.json a.txt --vocab 293 -o new.json"),
        ("train a.txt --vocab 0 290 -o new.json", "slmtok train a.txt --vocab 0290 -o new.json"),
        ("train a.txt --max-bytes 1 MB --vocab 290 -o new.json",
         "slmtok train a.txt --max-bytes 1MB --vocab 290 -o new.json"),
        ("train a.txt vocab=290 -o new.json", "slmtok train a.txt --vocab 290 -o new.json"),
        ("pack a.txt -t tok.json max_docs=1 -o new", "slmtok pack a.txt -t tok.json --max-docs 1 -o new"),
        ("prune tok.json --vocab 280 --unused-on a.txt -o new.json", "use --keep 280"),
        ("-v", "slmtok --version"),
        ("sample-corpus --bytes 2 kB -o s.txt", "slmtok sample-corpus --bytes 2kB -o s.txt"),
        ("set-special tok.json 'eos_token=<e>' -o new.json", "slmtok set-special tok.json 'eos=<e>' -o new.json"),
        ("exposure a.txt", "slmtok pack a.txt -t tok.json -o data-2"),
        ("set-special tok.json 'bos:<b>' -o new.json", "slmtok set-special tok.json 'bos=<b>' -o new.json"),
        ("set-special tok.json '<|im_start|>=im_start' -o new.json",
         "slmtok set-special tok.json 'im_start=<|im_start|>' -o new.json"),
        ("set-special tok.json --eos '<e>' --pad-token=[PAD] -o new.json",
         "slmtok set-special tok.json 'eos=<e>' 'pad=[PAD]' -o new.json"),
        ("set-special tok.json --eos -o new.json", "slmtok set-special tok.json 'eos=<|eos|>' -o new.json"),
        ("set-special tok.json pad=0 -o new.json", "slmtok set-special tok.json 'pad=<|pad|>' -o new.json"),
        ("slice tok.json --vocab 285 280 275 -o new.json", "use --vocab 285 alone: one size a command"),
        ("show tok.json hi -o new.json", "slmtok show tok.json hi --json > new.json"),
        ("eval tok.json --on a.txt -onew.txt", "slmtok eval tok.json --on a.txt > new.txt"),
        ("verify tok.json --output=new.txt", "slmtok verify tok.json > new.txt"),
        ("encode a.txt -t tok.json --add-bos", "use --bos"),
        ("encode a.txt -t tok.json --output-format json", "--json in its place"),
        ("encode a.txt -t tok.json --special all",
         "leave out --special all: --special belongs to slmtok train; slmtok encode has --allow-special"),
        ("vocab tok.json the", "use --grep the"),
        ("set-special tok.json '<|a|>' 'x=<x>' '<|b|>=b' y -o new.json",
         "slmtok set-special tok.json 'a=<|a|>' 'x=<x>' 'b=<|b|>' 'y=<|y|>' -o new.json"),
        ("set-special tok.json '<|a|>=a' '<|b|>=b' '1x=<c>' 'pad=0' -o new.json --force",
         "slmtok set-special tok.json 'a=<|a|>' 'b=<|b|>' 'x=<c>' 'pad=<|pad|>' -o new.json --force"),
        ("set-special tok.json user '<u>' '<s>' '<s>' -o new.json",
         "slmtok set-special tok.json 'user=<u>' 'bos=<s>' -o new.json"),
        ("vocab tok.json 280", "printf %s 280 | slmtok decode - -t tok.json"),
        ("vocab -t tok.json 280", "printf %s 280 | slmtok decode - -t tok.json"),
        ("encode tok.json --text --eos", "printf %s 'some text' | slmtok encode - tok.json --eos"),
        ("encode --text 'the cat' tok.json --eos", "printf %s 'the cat' | slmtok encode - tok.json --eos"),
        ("decode '20 21' --skip-special", "for ids: printf %s '20 21' | slmtok decode - --skip-special -t tok.json"),
        ("reproduce .", "slmtok reproduce tok.lock"),
    ],
)  # fmt: skip
def test_a_pasted_command_works(slmtok, here: Path, line: str, fix: str) -> None:
    assert fix_of(slmtok(*shlex.split(line))) == fix
    if fix.startswith("slmtok "):
        ran = slmtok(*shlex.split(fix.partition(" > ")[0])[1:])
        assert ran.code == 0, ran.err


def test_an_output_among_the_corpus_and_no_size(slmtok, here: Path) -> None:
    assert fix_of(slmtok("train", "a.txt", "new.json")) == "slmtok train a.txt -o new.json --vocab 8192 --allow-smaller"
    # A name with another ending is a corpus that does not exist.
    assert "-o" not in fix_of(slmtok("train", "a.txt", "new.text", "--vocab", "290"))


def test_spellings_are_compared_after_all_are_given(slmtok, here: Path) -> None:
    assert slmtok("set-special", "tok.json", "eos=<s>", "bos=<x>", "-o", "new.json").code == 0
    specials = package.load("new.json").specials
    assert (specials.text("eos"), specials.text("bos")) == ("<s>", "<x>")
    ran = slmtok("set-special", "tok.json", "eos=<s>", "-o", "other.json")
    assert "spelling '<s>' belongs to special ids 1 and 2, 'bos' and 'eos'" in ran.err


def test_the_fix_of_a_special_of_training(slmtok, here: Path) -> None:
    line = ["train", "a.txt", "--vocab", "290", "-o", "new.json"]
    fix = fix_of(slmtok(*line, "--special", "eos=<s>"))
    assert fix == "--special 'eos=<s>' --special 'bos=<|bos|>'"
    assert slmtok(*line, *shlex.split(fix)).code == 0


def test_packed_data_beside_its_tokenizer(slmtok, here: Path) -> None:
    assert fix_of(slmtok("exposure", "tok.json")) == "name the folder: data"
    package.train("a.txt", vocab_size=280).save("other.json")
    assert fix_of(slmtok("exposure", "other.json")) == "slmtok pack CORPUS -t other.json -o data-2"
    assert fix_of(slmtok("audit", "tok.json", "data")) == "slmtok audit data --on TEXT"


def test_a_run_in_place_of_its_data(slmtok, here: Path) -> None:
    (here / "run").mkdir()
    for name in ("SHA256SUMS", "fingerprint.json", "config.yaml"):
        (here / "run" / name).write_text("data:\n  seq_len: 8\n  train: data\n")
    fix = fix_of(slmtok("exposure", "run"))
    assert fix == "slm info run describes it, slm doctor run checks it; its data: data"
    assert slmtok("exposure", fix.rpartition(" ")[2]).code == 0


def test_a_file_that_begins_with_a_dash(slmtok, here: Path) -> None:
    (here / "-v2.txt").write_text(TEXT)
    assert "there is './-v2.txt'" in slmtok("train", "./-v3.txt", "--vocab", "290", "-o", "near.json").err
    ran = slmtok("train", "-v2.txt", "--vocab", "290", "-o", "dash.json")
    assert "'-v2.txt' begins with a dash, as options do" in ran.err
    assert slmtok(*shlex.split(fix_of(ran))[1:]).code == 0
    ran = slmtok("train", "--", "-v2.txt", "--vocab", "290", "-o", "behind.json")
    assert "the option --vocab stands behind --, where every word is a file" in ran.err
    assert slmtok(*shlex.split(fix_of(ran))[1:]).code == 0 and (here / "behind.json").exists()


def test_a_list_of_files_of_another_tool_with_one_that_is_missing(slmtok, here: Path) -> None:
    ran = slmtok("train", "--input=a.txt,nope.txt", "--model_prefix=m", "--vocab_size=290")
    more, _, line = fix_of(ran).partition("; ")
    assert line == "with that mended: slmtok train a.txt nope.txt -o m.json --vocab_size=290"
    assert more == "besides, there is no file or folder 'nope.txt'"


@pytest.mark.parametrize("ids", [[5, -100], np.array([-100, 5])])
def test_ids_that_mask_targets_are_left_out(here: Path, ids) -> None:
    tok = package.load("tok.json")
    with pytest.raises(package.errors.UnknownId) as caught:
        tok.decode(ids)
    assert "leave out ids below 0, which mask targets" in caught.value.fix
    expression = caught.value.fix.rpartition(": ")[2]
    assert tok.decode(eval(expression, {"ids": ids})) == tok.decode([5])


def test_an_audit_says_what_it_compares(slmtok, here: Path) -> None:
    assert slmtok("count", "a.txt", "--separator", ". ", "--doc-digests", "-o", "d.counts").code == 0
    line = ["audit", "tok.json", "--on", "a.txt", "--leak", "d.counts.digests", "--force"]
    note = "whole documents are compared, 1 document with the 20 that were counted"
    assert note in slmtok(*line).err
    ran = slmtok(*line, "--separator", ". ")
    assert note[:28] not in ran.err and "20 of 20 documents were counted" in ran.out
    ran = slmtok("audit", "tok.json", "--on", "a.txt", "--metadata", "tok.json", "--force")
    assert ran.code == 2 and fix_of(ran).startswith("leave it out, or slmtok vocab ")


def test_a_special_before_each_text_is_always_exported(slmtok, here: Path) -> None:
    ran = slmtok("export", "tok.json", "--output-format", "hf", "-o", "hf", "--add-bos")
    assert fix_of(ran) == "leave it out: hf puts <s> before each text"


def test_packed_data_that_lost_their_tokenizer(slmtok, here: Path) -> None:
    (here / "data" / "tok.json").unlink()
    for line in ("verify data", "audit data --on a.txt --force", "exposure data"):
        ran = slmtok(*line.split())
        assert "the tokenizer 'data/tok.json' of the packed data is lost" in ran.out + ran.err, line
    fix = fix_of(ran)
    assert fix == "cp tok.json data/tok.json"
    slmtok("train", "a.txt", "--vocab", "275", "-o", "z.json")
    (here / "tok.json").rename(here / "elsewhere")
    assert "of that fingerprint, which slmtok info FILE shows, to data/tok.json" in slmtok("exposure", "data").err
    assert "-t TOK with that one; the tokenizer in the folder was lost" in slmtok("decode", "data", "-t", "z.json").err
    (here / "elsewhere").rename(here / "tok.json")
    subprocess.run(shlex.split(fix), check=True)
    assert slmtok("audit", "data", "--on", "a.txt", "--force").code == 0


def test_packed_data_whose_manifest_is_damaged(slmtok, here: Path) -> None:
    (here / "data" / "manifest.json").write_text("garbage")
    ran = slmtok("pack", "a.txt", "-t", "tok.json", "-o", "data", "--force")
    assert "where: data/manifest.json is damaged" in ran.err
    subprocess.run(fix_of(ran).partition(";")[0], shell=True, check=True)
    assert slmtok("pack", "a.txt", "-t", "tok.json", "-o", "data", "--force").code == 0


def test_one_tokenizer_too_many(slmtok, here: Path) -> None:
    for line in ("audit data -t tok.json --on a.txt", "audit tok.json -t tok.json --on a.txt"):
        assert fix_of(slmtok(*line.split())).startswith("leave one out: slmtok audit takes one tokenizer")


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ("--val-ratio 0.05", "tail:5%"),
        ("--test_size=0.2", "tail:20%"),
        ("--validation-split 5%", "tail:5%"),
        ("--val-frac", "tail:10%"),
    ],
)
def test_the_share_of_the_validation_is_kept(slmtok, here: Path, options: str, rule: str) -> None:
    line = ["pack", "a.txt", "-t", "tok.json", "-o", "new", "--separator", ". "]
    fix = fix_of(slmtok(*line, *options.split()))
    assert fix.startswith(f"use --val {rule}, which is the end of the corpus, or --val {rule.replace('tail', 'hash')}")
    assert slmtok(*line, "--val", rule).code == 0


@pytest.mark.parametrize("split", ["validation", "valid", "dev", "eval", "test"])
def test_names_of_the_validation_split(slmtok, here: Path, split: str) -> None:
    (here / "lines.txt").write_text("".join(f"the cat {number}\n" for number in range(40)))
    packing = ("-o", "new", "--document", "line", "--val", "hash:20%")
    assert slmtok("pack", "lines.txt", "-t", "tok.json", *packing).code == 0
    for command in ("decode", "exposure"):
        assert fix_of(slmtok(command, "new", "--split", split)).startswith("--split val, ")
    with pytest.raises(package.errors.OptionError) as caught:
        package.shards.open_shards("new").n_docs(split)
    assert caught.value.to_dict()["fix"] == "split='val'"


def test_names_of_hugging_face_are_no_roles(here: Path) -> None:
    tok = package.load("tok.json")
    with pytest.raises(package.errors.InvalidSpecials) as caught:
        tok.with_special("pad_token", "<p>")
    assert caught.value.fix == "tok.with_special('pad', '<p>')"
    assert tok.with_special("my_token", "<my>").specials["my_token"] == 6


def test_raw_ids_of_another_width(slmtok, here: Path) -> None:
    assert slmtok("encode", "a.txt", "-t", "tok.json", "--output-format", "bin", "-o", "ids.bin").code == 0
    ids = np.fromfile("ids.bin", "<u2")
    ids.astype("<u4").tofile("wide.bin")
    words = " ".join(f"{number:x}z" for number in range(66000))
    wide = package.train(package.Texts([words]), vocab_size=66000, scheme="word", min_count=1, allow_smaller=True)
    assert wide.dtype.itemsize == 4
    wide.save("wide.json")
    ids[:101].tofile("odd.bin")
    ids.astype("<i8").tofile("long.bin")
    for path, tok, found, wanted in (
        ("long.bin", "tok.json", 8, 2),
        ("long.bin", "wide.json", 8, 4),
        ("ids.bin", "wide.json", 2, 4),
        ("odd.bin", "wide.json", 2, 4),
        ("wide.bin", "tok.json", 4, 2),
    ):
        ran = slmtok("decode", path, "-t", tok)
        assert f"{path} holds ids of {found} bytes, and those of the tokenizer have {wanted}" in ran.err
        asked, _, command = fix_of(ran).rpartition("; or ")
        # No tokenizer has ids of eight bytes.
        assert asked == ("" if found == 8 else "decode with the tokenizer that made the ids")
        _run_shell(command)
        converted = np.fromfile(f"ids-u{wanted}.bin", f"<u{wanted}")
        Path(f"ids-u{wanted}.bin").unlink()
        assert converted.tolist() == ids[: len(converted)].tolist() and len(converted) in (101, len(ids))


@pytest.mark.parametrize("command", ["train", "count", "pack", "encode", "encode --output-format bin"])
def test_binary_data_behind_the_head_of_a_file(slmtok, here: Path, command: str) -> None:
    (here / "b.txt").write_bytes(TEXT.encode() + bytes(range(256)) * 3)
    options = {"train": ["--vocab", "280", "-o", "b.json"], "count": ["-o", "b.counts"]}
    ran = slmtok(*command.split(), "b.txt", *options.get(command, ["-t", "tok.json", "-o", "b"]))
    assert ran.code == 0
    assert "note: 3 zero bytes in the text were kept; binary data have them, text has not: check the files" in ran.err
    noted = "is not UTF-8: binary data, or another encoding; for text in another encoding, name it: "
    assert command not in options or noted in ran.err


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("decode data --docs 0-0", "--docs 0:1"),
        ("train a.txt --vocab '1 000' -o new.json", "--vocab 1000"),
        ("slice tok.json --vocab '1 000' -o new.json", "--vocab 1000"),
        ("train a.txt --vocab '300 400' -o new.json", "--vocab 300 --vocab 400"),
        ("train a.txt --vocab 290 --output-dir new", "use -o new/tok.json; mkdir -p new makes the folder"),
        ("train a.txt --vocab 290 --output-dir data", "use -o data/tok-2.json"),
        ("pack a.txt -t tok.json --output-dir new", "use -o new"),
        ("encode a.txt --model tok.json", "use -t tok.json"),
        ("encode -t tok.json --text 'the cat'", "printf %s 'the cat' | slmtok encode - -t tok.json"),
        ("decode -t tok.json 5 20 280", "printf %s '5 20 280' | slmtok decode -t tok.json -"),
        ("set-special tok.json '<|user|>' -o new.json", "slmtok set-special tok.json 'user=<|user|>' -o new.json"),
        ("set-special tok.json =x -o new.json", "slmtok set-special tok.json x=x -o new.json"),
        ("train a.txt --vocab 290 -o new.json --special '<|user|>'", "--special 'user=<|user|>'"),
        ("pack a.txt -t tok.json -t other.json -o both", "-o 'both/{name}'"),
        ("train a.counts --vocab 290 --pattern gpt2 -o new.json",
         "leave --pattern out, or count again: slmtok count CORPUS --pattern gpt2 -o a-2.counts"),
        ("train a.txt --vocab 1000MB", "--vocab 8192, for instance; --max-bytes 1000MB limits the text that is read"),
        ("train a.txt --vocab 290 --max-bytes 2MBit", "--max-bytes 2MB"),
        ("train a.txt --vocab 290 --max-docs 20MB",
         "--max-docs 5000, for instance; --max-bytes 20MB limits the text that is read"),
        ("pack a.txt -t tok.json -o new --max-tokens 1.5B", "--max-tokens 1.5G"),
        ("pack a.txt -t tok.json -o new --subset '1e2,1b'", "--subset 1e2,1G"),
        ("sample-corpus --bytes many -o new.txt", "--bytes 5000, for instance"),
        ("train a.txt --sizes 280,290", "use --vocab 280 --vocab 290"),
        ("train a.txt --vocab 290 --allow-special '<|user|>'", "use --special 'user=<|user|>'"),
        ("slice tok.json --vocab 280,290 -o new.json", "--vocab 280; slmtok eval --sizes 280,290 measures all"),
        ("extend tok.json a.txt --vocab 295,299 -o new.json", "--vocab 299, which slmtok slice cuts to others"),
        ("eval tok.json --on a.txt --vocab 280,290", "use --sizes 280,290"),
        ("bench --seconds 5",
         "use --rounds 5, the number of measurements; --max-bytes limits the text of one"),
        ("pack a.txt -t tok.json -o new --chunk-size 0", "leave it out, or --chunk-size 1024"),
        ("pack a.txt -t tok.json -o new --allow-special '<s>'",
         "use --separator '<s>', which ends documents; pack reads no special in a text"),
        ("diff tok.json", "slmtok diff tok.json other.json"),
        ("diff tok.json tok.lock", "name another tokenizer in place of tok.lock: tok.json is given already"),
        ("eval tok.json tok.lock --on a.txt", "name another tokenizer in place of tok.lock: tok.json is given already"),
        ("eval tok.json other.json tok.lock --on a.txt", "slmtok eval tok.json other.json --on a.txt"),
        ("diff -t tok.json --on a.txt", "slmtok diff -t tok.json --on a.txt other.json"),
        ("show tokk.json", "check the name: there is 'tok.json', or add a space if it is text"),
        ("audit tok.json --on a.txt --leak a.counts",
         "slmtok count CORPUS --doc-digests -o a-2.counts # and name a-2.counts.digests"),
        ("merge tok.json -o m.json",
         "slmtok extend tok.json CORPUS --vocab N -o m.json learns from more text; "
         "slmtok train CORPUS1 CORPUS2 --vocab N -o m.json learns from both"),
    ],
)  # fmt: skip
def test_a_fix_is_made_of_the_arguments(slmtok, here: Path, line: str, fix: str) -> None:
    (here / "other.json").write_bytes((here / "tok.json").read_bytes())
    assert fix_of(slmtok(*shlex.split(line))) == fix


def test_a_tokenizer_compared_with_itself_is_noted(slmtok, here: Path) -> None:
    (here / "other.json").write_bytes((here / "tok.json").read_bytes())
    assert (
        "note: tok.json was compared with itself; name another tokenizer" in slmtok("diff", "tok.json", "tok.json").err
    )
    assert "compared with itself" not in slmtok("diff", "tok.json", "other.json").err


def test_a_tokenizer_of_hugging_face_is_imported_beside_another(slmtok, here: Path) -> None:
    assert slmtok("export", "tok.json", "--output-format", "hf", "-o", "hf", "--no-verify").code == 0
    fix = fix_of(slmtok("decode", "hf"))
    assert fix == "slmtok import hf -o tok-2.json" and slmtok(*fix.split()[1:], "--no-verify").code == 0


def test_tokens_and_merges_in_two_files(slmtok, here: Path) -> None:
    (here / "old").mkdir()
    ByteLevelBPETokenizer(package.load("tok.json")).save_model("old")
    (here / "new.json").write_text("{}")
    for line, made in {
        "encode a.txt -t old/vocab.json": "old/tok.json",
        "slice old/vocab.json --vocab 280 -o s.json": "old/tok.json",
        "encode a.txt -t old": "old/tok.json",
        "import old/merges.txt -o new.json --force": "new.json",
        "import old/vocab.json -o other.json": "other.json",
    }.items():
        fix = fix_of(slmtok(*line.split()))
        exec(shlex.split(fix[fix.index("python -c ") :])[2])
        assert slmtok("encode", "a.txt", "-t", made).out == slmtok("encode", "a.txt", "-t", "tok.json").out
        (here / made).unlink()


def test_a_spelling_that_no_special_has(slmtok, here: Path) -> None:
    line = ["encode", "a.txt", "--allow-special", "<|endoftext|>", "-t"]
    command, named, name = fix_of(slmtok(*line, "tok.json")).partition(" # and name -t ")
    assert command == "slmtok set-special tok.json 'eos=<|endoftext|>' -o with-special.json" and named
    assert slmtok(*shlex.split(command)[1:]).code == 0
    assert slmtok(*line, name).code == 0
    assert fix_of(slmtok("encode", "a.txt", "--allow-special", "user", "-t", "tok.json")).startswith(
        "slmtok set-special tok.json "
    )


def test_a_tokenizer_of_another_kind(slmtok, here: Path) -> None:
    document = {"version": "1.0", "model": {"type": "WordPiece", "vocab": {"[UNK]": 0}}, "added_tokens": []}
    (here / "bert.json").write_text(json.dumps(document))
    (here / "sp.model").write_bytes(b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02")
    trained = "slmtok train CORPUS --vocab 8192 --allow-smaller -o bert-slmtok.json"
    assert fix_of(slmtok("encode", "a.txt", "-t", "bert.json")) == trained
    assert fix_of(slmtok("eval", "bert.json", "--on", "a.txt")) == trained
    assert fix_of(slmtok("import", "bert.json", "-o", "z.json")) == trained.replace("bert-slmtok", "z")
    assert fix_of(slmtok("slice", "bert.json", "--vocab", "280", "-o", "z.json")) == trained
    fix = fix_of(slmtok("pack", "a.txt", "-t", "sp.model", "-o", "new"))
    assert fix.endswith(
        "train a tokenizer of your own: slmtok train a.txt --vocab 8192 --allow-smaller -o sp-slmtok.json"
    )


def test_weights_of_domains_that_are_not_named(slmtok, here: Path) -> None:
    (here / "wiki.txt").write_text(TEXT)
    line = ["train", "a.txt", "wiki.txt", "--vocab", "290", "--mix", "wiki=2", "-o", "new.json"]
    option, more = fix_of(slmtok(*line)).split(", ", 1)
    assert option == "--domain 'wiki=wiki.*'"
    assert more == "with the text that is counted: globs of its files; of 2, wiki.* matches 1"
    ran = slmtok(*line, *shlex.split(option))
    assert ran.code == 0 and "has no document" not in ran.err


def test_a_checkpoint_of_pytorch(slmtok, here: Path) -> None:
    with zipfile.ZipFile("model.pt", "w") as archive:
        archive.writestr("model/data.pkl", b"\x80\x02}q\0.")
    ran = slmtok("train", "model.pt", "--vocab", "290", "-o", "new.json")
    assert "'model.pt' is a checkpoint of PyTorch, not text" in ran.err and fix_of(ran) == "name the text"
    ran = slmtok("encode", "a.txt", "-t", "model.pt")
    assert "error: model.pt is a checkpoint of PyTorch, not a tokenizer file of slmtok" in ran.err


def test_a_text_or_a_token_as_the_file_of_required_tokens(slmtok, here: Path) -> None:
    line = ["train", "a.txt", "--vocab", "290", "-o", "new.json", "--require"]
    ran = slmtok(*line, "a.txt")
    assert "limit: tokens of one piece each, such as a word" in ran.err and "is part of the corpus" in fix_of(ran)
    for given, what, name in (("cat", "the token", "tokens.txt"), ("cat, sat", "the tokens", "tokens-2.txt")):
        fix = fix_of(slmtok(*line, given))
        written, _, option = fix.removeprefix(f"check the name, or write {what} to a file: ").rpartition(" # and ")
        assert written.startswith("printf ") and option == f"--require {name}"
        subprocess.run(["bash", "-c", written], check=True)
        assert slmtok(*line, name, "--force").code == 0
        tok = package.load("new.json")
        assert all(tok.token_id(word.encode()) is not None for word in given.split(", "))


def test_all_wrong_ids_of_a_list_are_named(slmtok, here: Path) -> None:
    (here / "ids.txt").write_text("5\n280\n9999\n")
    ran = slmtok("prune", "tok.json", "--ids", "ids.txt", "-o", "new.json")
    assert "error: 2 ids cannot be pruned: 5, 9999\n  where: ids.txt\n" in ran.err


def test_a_text_that_is_taken_for_a_path(slmtok, here: Path) -> None:
    with pytest.raises(package.errors.MissingInput) as caught:
        package.train("once upon a time", vocab_size=278)
    assert caught.value.fix == "slmtok.Texts(['once upon a time']), if it is a text; else check the name"


def test_the_names_of_compressed_data_and_of_arrays_are_refused_for_text(slmtok, here: Path) -> None:
    for name in ("ids.pt", "ids.json", "ids.PARQUET", "ids.npy"):
        line = ["encode", "a.txt", "-t", "tok.json"]
        fix = fix_of(slmtok(*line, "-o", name)).partition(", or ")[0]
        options = shlex.split(fix)
        options += [] if "-o" in options else ["-o", name]
        ran = slmtok(*line, *options)
        assert ran.code == 0 and np.load("ids.npy").size, ran.err
        Path("ids.npy").unlink(), Path("ids.npy.offsets.npy").unlink()
    for line in ("train a.txt --vocab 290", "encode a.txt -t tok.json", "slice tok.json --vocab 280"):
        assert fix_of(slmtok(*line.split(), "-o", "new.json.gz")) == "-o new.json"
    assert not list(here.glob("new*"))


def test_an_input_that_the_shell_empties(slmtok, here: Path, environment: dict[str, str]) -> None:
    def shell(line: str) -> subprocess.CompletedProcess[str]:
        line = line.replace("slmtok ", f"{shlex.quote(sys.executable)} -m slmtok ")
        return subprocess.run(["bash", "-c", line], env=environment, capture_output=True, text=True)

    (here / "b.txt").write_text(TEXT)
    for line, fix in (
        ("slmtok encode b.txt -t tok.json >> b.txt", "slmtok encode b.txt -t tok.json > b.txt.new"),
        ("slmtok encode - -t tok.json < b.txt >> b.txt", "slmtok encode - -t tok.json > result.txt"),
        ("slmtok encode 'b.*' -t tok.json >> b.txt", "slmtok encode 'b.*' -t tok.json > ../b.txt"),
    ):
        ran = shell(line)
        assert ran.returncode == 2 and f"  fix:   {fix}\n" in ran.stderr
        assert (here / "b.txt").read_text() == TEXT
    ran = shell("slmtok encode b.txt -t tok.json > b.txt")
    assert "error: the input 'b.txt' is also stdout\n" in ran.stderr and not (here / "b.txt").read_bytes()


def test_a_notebook_is_no_text(slmtok, here: Path) -> None:
    (here / "n.ipynb").write_text(json.dumps({"cells": [], "nbformat": 4}))
    line = ["train", "n.ipynb", "--vocab", "290", "-o", "new.json"]
    ran = slmtok(*line)
    assert "error: n.ipynb is a notebook, not text\n" in ran.err
    assert fix_of(ran).endswith(" < n.ipynb > n-text.txt # and name it")
    assert fix_of(slmtok("encode", "n.ipynb", "-t", "tok.json")) == fix_of(ran)
    (here / "docs").mkdir()
    (here / "n.ipynb").rename(here / "docs" / "n.ipynb")
    (here / "a.txt").rename(here / "docs" / "a.txt")
    line[1] = "docs"
    option = fix_of(slmtok(*line)).removesuffix(" leaves it out")
    assert option == "--exclude '*.ipynb'" and slmtok(*line, *shlex.split(option)).code == 0


def test_ids_in_place_of_their_file(slmtok, here: Path, environment: dict[str, str]) -> None:
    (here / "ids.txt").write_text("kept")
    for ids in (["--ids", "288,289"], ["--ids=288, 289"]):
        fix = fix_of(slmtok("prune", "tok.json", *ids, "-o", "new.json"))
        written, _, command = fix.partition(" && ")
        assert written == "printf '%s\\n' 288 289 > prune-ids.txt"
        subprocess.run(["bash", "-c", written], check=True)
        assert slmtok(*shlex.split(command)[1:]).code == 0 and package.load("new.json").n_vocab == 288
        (here / "new.json").unlink(), (here / "new.json.ids.npy").unlink()
        (here / "prune-ids.txt").unlink()
    assert (here / "ids.txt").read_text() == "kept"


@pytest.mark.parametrize("line", ["train a.txt --vocab 290 -o", "train a.txt --vocab 290 --vocab 291 -o",
                                  "import tok.json --no-verify -o", "count a.txt -o"])  # fmt: skip
@pytest.mark.parametrize("folder", [".", "/"])
def test_a_folder_without_a_name_as_the_output(slmtok, here: Path, line: str, folder: str) -> None:
    ran = slmtok(*line.split(), folder)
    assert ran.code == 1 and f"error: output '{folder}' is a folder\n" in ran.err


@pytest.mark.parametrize("line", [
    "train a.txt --vocab 290 --output=~/x", "count a.txt -o ~/x", "pack a.txt -t tok.json --output=~/x",
    "export tok.json --output-format hf --no-verify --output=~/x", "encode a.txt -t tok.json -o ~/x",
    "slice tok.json --vocab 280 -o ~/x"])  # fmt: skip
def test_a_home_that_no_shell_expanded_in_an_output(slmtok, here: Path, monkeypatch, line: str) -> None:
    monkeypatch.setenv("HOME", str(here / "my home"))
    (here / "my home").mkdir()
    ran = slmtok(*line.split())
    assert "error: output '~/x' begins with '~', which slmtok does not expand\n" in ran.err
    words = line.replace("=", " ").split()[:-1]
    assert slmtok(*words, *shlex.split(fix_of(ran))).code == 0
    assert (here / "my home/x").exists() and not (here / "~").exists()


def test_a_home_that_no_shell_expanded_in_an_input(slmtok, here: Path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(here))
    fix = fix_of(slmtok("train", "~/a.txt", "--vocab", "290", "-o", "new.json"))
    assert slmtok(*shlex.split(fix)[1:]).code == 0 and package.load("new.json").n_vocab == 290
    assert fix_of(slmtok("encode", "a.txt", "-t", "~/tok.json")) == repr(str(here / "tok.json"))
    assert fix_of(slmtok("train", "~/*.txt", "--vocab", "290")).endswith(f"{here}/*.txt' --vocab 290 -o tok-2.json")


def test_records_that_are_read_as_text_are_noted(slmtok, here: Path) -> None:
    lines = "".join(json.dumps({"id": n, "text": f"{TEXT} {n}"}) + "\n" for n in range(9))
    (here / "d.txt").write_text(lines)
    for line in ("train {} --vocab 280 -o x.json", "count {} -o x.counts", "pack {} -t tok.json -o x --force",
                 "extend tok.json {} --vocab 291 -o y.json"):  # fmt: skip
        for name in ("d.txt", "-", "/dev/stdin"):
            words = [*line.format(name).split(), *(["--force"] if "--force" not in line else [])]
            shown = "d.txt" if name == "d.txt" else "stdin"
            noted = (
                f"note: {shown} looks like JSON lines, and its JSON was read as text; run it again with --format jsonl "
            )
            noted += "--force for the text of its records\n"
            assert noted in slmtok(*words, stdin=lines.encode()).err
            assert noted not in slmtok(*words, "--format", "jsonl", stdin=lines.encode()).err
    assert "JSON" not in slmtok("train", "a.txt", "--vocab", "280", "-o", "x.json", "--force").err
    ran = slmtok("train", "d.txt", "--vocab", "280", "-o", "x.json", "--force", "--json")
    assert any("looks like JSON lines" in each for each in json.loads(ran.out)["warnings"])


def test_compressed_stdin_is_decompressed(slmtok, here: Path) -> None:
    for line in ("train - --vocab 280 -o x.json", "encode - -t tok.json"):
        fix = fix_of(slmtok(*line.split(), stdin=gzip.compress(TEXT.encode())))
        assert fix == f"pipe it through gzip -dc: gzip -dc | slmtok {line}"
    fix = fix_of(slmtok("count", "-", stdin=b"\x28\xb5\x2f\xfd" + bytes(9)))
    assert fix == "pipe it through zstd -dc: zstd -dc | slmtok count -"


@pytest.mark.parametrize("text", ['[{"text": "the cat"}, {"text": "a dog"}]', '[\n{"text": "the cat"}\n]'])
def test_an_array_under_the_name_of_json_lines(slmtok, here: Path, text: str) -> None:
    (here / "s.jsonl").write_text(text)
    line = ["train", "s.jsonl", "--vocab", "272", "-o", "x.json"]
    fix = fix_of(slmtok(*line))
    assert fix == "--format json, which reads arrays"
    assert slmtok(*line, *fix.partition(",")[0].split()).code == 0


def test_several_lists_of_records_in_one_file(slmtok, here: Path) -> None:
    (here / "s.json").write_text(json.dumps({"train": [{"text": "the cat"}], "val": [{"text": "a dog"}], "n": 2}))
    line = ["train", "s.json", "--vocab", "272", "-o", "x.json"]
    ran = slmtok(*line)
    assert "error: an object with 2 lists of records: 'train', 'val'\n  where: s.json\n" in ran.err
    command, named, _ = fix_of(ran).partition(" # and name it")
    _run_shell(command)
    assert named and json.loads((here / "s-train.jsonl").read_text()) == {"text": "the cat"}
    assert slmtok("train", "s-train.jsonl", *line[2:]).code == 0


@pytest.mark.parametrize(
    "record",
    [
        {"messages": [{"role": "user", "content": "the cat"}, {"role": "bot", "content": "a dog"}]},
        {"messages": ["the", "cat"]},
        {"messages": {"content": "the cat sat"}},
    ],
)
def test_fields_that_hold_texts_become_text(slmtok, here: Path, record) -> None:
    (here / "s.jsonl").write_text(f"{json.dumps(record)}\n" * 3)
    line = ["encode", "s.jsonl", "-t", "tok.json", "--format", "jsonl", "--text-key", "messages"]
    ran = slmtok(*line)
    _run_shell(fix_of(ran).partition(" # and name it")[0])
    texts = [json.loads(row)["messages"] for row in (here / "s-text.jsonl").read_text().splitlines()]
    assert len(texts) == 3 and "cat" in texts[0]
    assert slmtok(line[0], "s-text.jsonl", *line[2:]).code == 0


def test_ids_are_no_text(slmtok, here: Path) -> None:
    (here / "s.jsonl").write_text('{"input_ids": [5, 6]}\n')
    line = ["encode", "s.jsonl", "-t", "tok.json", "--format", "jsonl", "--text-key", "input_ids"]
    assert fix_of(slmtok(*line)) == "name another file: this record holds no text"
    (here / "s.jsonl").write_text('{"input_ids": [5, 6], "body": "the cat"}\n')
    assert fix_of(slmtok(*line)) == "--text-key body"
    arrow, parquet = peer("pyarrow"), peer("pyarrow.parquet")
    parquet.write_table(arrow.table({"input_ids": [[5, 6]], "n": [1]}), "s.parquet")
    ran = slmtok("pack", "s.parquet", "-t", "tok.json", "-o", "new")
    assert "columns: input_ids, n" in ran.err and fix_of(ran).startswith("name the text that was encoded, or make")
    parquet.write_table(arrow.table({"input_ids": [[5, 6]], "body": ["the cat"]}), "s.parquet")
    assert fix_of(slmtok("pack", "s.parquet", "-t", "tok.json", "-o", "new")) == "--text-key body"


def test_records_that_commas_follow(slmtok, here: Path) -> None:
    (here / "s.jsonl").write_text('{"text": "the cat"},\n{"text": "a dog"}\n')
    ran = slmtok("encode", "s.jsonl", "-t", "tok.json", "--format", "jsonl")
    assert "limit: a comma follows the record\n" in ran.err
    _run_shell(fix_of(ran).partition(" # and name it")[0])
    assert slmtok("encode", "s-lines.jsonl", "-t", "tok.json", "--format", "jsonl").code == 0


def test_text_that_is_piped_in(here: Path) -> None:
    command = [sys.executable, "-m", "slmtok"]
    line = [*command, "train", "--vocab", "290", "-o", "new.json"]
    ran = subprocess.run(line, input=TEXT, capture_output=True, text=True)
    assert ran.returncode == 2 and "CORPUS... is missing, and text is piped in" in ran.stderr
    fix = ran.stderr.splitlines()[-1].removeprefix("  fix:   ")
    assert fix == "slmtok train - --vocab 290 -o new.json"
    assert subprocess.run([*command, *shlex.split(fix)[1:]], input=TEXT, text=True).returncode == 0


def test_a_csv_of_tabs_with_quotes(slmtok, here: Path) -> None:
    (here / "s.csv").write_text('id\ttext\n1\t"the cat\n\na dog"\n')
    ran = slmtok("encode", "s.csv", "-t", "tok.json", "--format", "csv")
    assert "  limit: columns are separated by ',', and these by tabs\n" in ran.err
    _run_shell(fix_of(ran).partition(" # and name it")[0])
    encoded = slmtok("encode", "s-comma.csv", "-t", "tok.json", "--format", "csv")
    assert encoded.out == slmtok("encode", "-", "-t", "tok.json", stdin=b"the cat\n\na dog").out


def test_a_csv_of_semicolons(slmtok, here: Path) -> None:
    (here / "s.csv").write_text('id;text\n1;"the; cat, a dog"\n')
    ran = slmtok("encode", "s.csv", "-t", "tok.json", "--format", "csv")
    assert "  limit: columns are separated by ',', and these by ';'\n" in ran.err
    command, named, _ = fix_of(ran).partition(" # and name it")
    _run_shell(command)
    encoded = slmtok("encode", "s-comma.csv", "-t", "tok.json", "--format", "csv")
    assert named and encoded.out == slmtok("encode", "-", "-t", "tok.json", stdin=b"the; cat, a dog").out


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("Genesis 1:1\tIn the beginning, God\nGenesis 1:2\tAnd the earth\n", "--format tsv --text-key 2"),
        ("id\ttext\n1\tthe cat\n", "--format tsv"),
    ],
)
def test_a_csv_of_tabs(slmtok, here: Path, text: str, fix: str) -> None:
    (here / "s.csv").write_text(text)
    line = ["train", "s.csv", "--vocab", "272", "-o", "x.json"]
    assert fix_of(slmtok(*line)) == fix
    assert slmtok(*line, *fix.split()).code == 0


@pytest.mark.parametrize(
    ("option", "fix"),
    [
        ("--special_tokens '<|endoftext|>'", "use --special 'eos=<|endoftext|>'"),
        ("--user_defined_symbols='<sep>,<cls>'", "use --special 'sep=<sep>' --special 'cls=<cls>'"),
        ("--special-tokens '</s>,<|endoftext|>,[a],<a>'",
         "use --special 'eos=</s>' --special 'endoftext=<|endoftext|>' --special 'a=[a]' --special 'a_2=<a>'"),
        ("--input_sentence_size=3", "use --document line --max-docs 3"),
    ],
)  # fmt: skip
def test_an_option_of_another_trainer(slmtok, here: Path, option: str, fix: str) -> None:
    line = ["train", "b.txt", "--vocab", "273", "-o", "x.json", "--allow-smaller"]
    assert fix_of(slmtok(*line, *shlex.split(option))).partition("; text that spells")[0] == fix
    ran = slmtok(*line, *shlex.split(fix.removeprefix("use ")))
    assert ran.code == 0 and ("docs" not in option or "3 documents" in ran.out), ran


def test_the_name_of_a_data_set(slmtok, here: Path) -> None:
    for name in ("wikitext", "roneneldan/TinyStories"):
        assert fix_of(slmtok("train", "--dataset", name, "--vocab", "290")) == f"slmtok train hf:{name} --vocab 290"


def test_a_validation_shard_leads_to_its_split(slmtok, here: Path) -> None:
    assert slmtok("pack", "a.txt", "-t", "tok.json", "-o", "both", "--val", "tail:50%").code == 0
    for line in ("decode both/val-00000.bin -o back.txt", "exposure both/val-00000.bin"):
        command = fix_of(slmtok(*line.split()))
        assert command == f"slmtok {line.replace('/val-00000.bin', '')} --split val"
        assert slmtok(*command.split()[1:]).code == 0
    assert (here / "back.txt").read_text() == f"<s>{TEXT[len(TEXT) // 2 :]}</s>"
    assert fix_of(slmtok("info", "both/val-00000.bin")) == "name the folder: both"


def test_a_path_in_the_place_of_a_glob_of_the_corpus(slmtok, here: Path) -> None:
    (here / "all/held").mkdir(parents=True)
    (here / "all/a.txt").write_text(TEXT)
    (here / "all/held/b.txt").write_text("a dog sat")
    for path, meant in {"all/held": "held/*", "./all/held/": "held/*", "all/held/b.txt": "held/b.txt"}.items():
        line = ["pack", "all", "-t", "tok.json", "-o", f"d{len(path)}"]
        fix = fix_of(slmtok(*line, "--val", f"files:{path}"))
        assert fix == f"--val {shlex.quote(f'files:{meant}')}"
        ran = slmtok(*line, *shlex.split(fix))
        assert ran.code == 0 and "val        1 document, 9 bytes" in ran.out + ran.err, ran


def test_what_was_given_rightly_stays_in_a_fix(slmtok, here: Path) -> None:
    line = ["eval", "tok.json", "--on", "a.txt"]
    fix = fix_of(slmtok(*line, "--sizes", "280,300,285"))
    assert fix == "--sizes 280,285,290"
    assert slmtok(*line, *fix.split()).code == 0
    package.slice(package.load("tok.json"), 280).save("other.json")
    fix = fix_of(slmtok("slice", "tok.json", "other.json", "--vocab", "280", "-o", "x.json"))
    assert fix.endswith(" -o x-tok.json && slmtok slice other.json --vocab 280 -o x-other.json")
    assert fix_of(slmtok("extend", "tok.json", "a.txt", "--threads", "2", "-o", "x")).endswith(" --vocab 16384")
    assert "--max-bytes 106, " in fix_of(slmtok("pack", "a.txt", "-t", "tok.json", "-o", "x", "--max-tokens", "10%"))
    ran = slmtok("pack", "a.txt", "-t", "tok.json", "-o", "x", "--val", "none", "--inference", "dropout")
    assert ran.code == 0 and "inference  dropout:0.1" in ran.out + ran.err, ran


def test_another_tokenizer_in_packed_data(slmtok, here: Path) -> None:
    package.slice(package.load("tok.json"), 280).save("data/tok.json", force=True)
    ran = slmtok("exposure", "data")
    assert ran.code == 1 and "is not that of the packed data\n  where: data/tok.json\n" in ran.err, ran
    (here / "data/tok.json").write_bytes((here / "tok.json").read_bytes())
    assert slmtok("exposure", "data").code == 0


def test_a_word_behind_a_flag_that_is_text_or_a_file(slmtok, here: Path) -> None:
    assert slmtok("show", "tok.json", "--ids", "true").code == 0
    (here / "1").write_text(TEXT)
    assert slmtok("train", "--vocab", "290", "-o", "x.json", "--allow-smaller", "1").code == 0


def test_a_glob_that_excludes_nothing_is_noted(slmtok, here: Path) -> None:
    line = ["train", "a.txt", "b.txt", "--vocab", "272", "--exclude", "*.md", "--exclude", "b*"]
    ran = slmtok(*line, "-o", "x.json")
    assert ran.code == 0 and "note: --exclude '*.md' matches no file of the corpus\n" in ran.err, ran
    assert "b*" not in ran.err


@pytest.mark.parametrize(
    ("line", "fix", "names"),
    [
        ("train --vocab 290 -o new.json", "slmtok train CORPUS --vocab 290 -o new.json", {"CORPUS": "a.txt"}),
        ("train", "slmtok train CORPUS --vocab 8192 -o tok-2.json", {"CORPUS": "a.txt", "8192": "290"}),
        ("train -o x.json", "slmtok train CORPUS -o x.json --vocab 8192", {"CORPUS": "a.txt", "8192": "290"}),
        ("prune -o x.json", "slmtok prune TOK -o x.json --unused-on TEXT --keep 4096",
         {"TOK": "tok.json", "TEXT": "b.txt", "4096": "280"}),
        ("extend tok.json --vocab 292 --allow-smaller -o new.json",
         "slmtok extend tok.json CORPUS --vocab 292 --allow-smaller -o new.json", {"CORPUS": "b.txt"}),
        ("slice --vocab 280 -o new.json", "slmtok slice TOK --vocab 280 -o new.json", {"TOK": "tok.json"}),
        ("diff --on b.txt", "slmtok diff TOK TOK --on b.txt", {"TOK": "tok.json"}),
        ("set-special tok.json -o new.json", "slmtok set-special tok.json ROLE=SPELLING -o new.json",
         {"ROLE=SPELLING": "user=<user>"}),
    ],
)  # fmt: skip
def test_a_missing_argument_is_a_placeholder_beside_all_that_was_given(here, slmtok, line, fix, names) -> None:
    assert fix_of(slmtok(*shlex.split(line))) == fix
    ran = slmtok(*(names.get(word, word) for word in shlex.split(fix)[1:]))
    assert ran.code in (0, 3), ran.err


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("export tok.json --to hf -o x --no-verify", "use --output-format hf"),
        ("encode a.txt -t tok.json --to npy -o x.npy", "use --output-format npy"),
        ("slice tok.json --n 280 -o x.json", "use --vocab 280"),
    ],
)
def test_an_unknown_option_by_the_value_that_another_takes(here, slmtok, line, fix) -> None:
    assert fix_of(slmtok(*line.split())) == fix
    words = line.split()
    at = next(index for index, word in enumerate(words) if word in ("--to", "--n"))
    assert slmtok(*words[:at], *fix.removeprefix("use ").split(), *words[at + 2 :]).code == 0


def test_an_unknown_option_leads_to_none_of_other_letters_or_values(here, slmtok) -> None:
    assert fix_of(slmtok("bench", "--n", "3", "--on", "a.txt")) == "slmtok bench --help"
    assert fix_of(slmtok("slice", "--loud", "tok.json", "--vocab", "280")) == "slmtok slice --help"
