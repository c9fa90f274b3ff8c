"""`slmtok pack`, and `decode`, `info` and `verify` on what it made."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
import shutil
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from printed_fixes import fix_of

import slmtok as package
from slmtok.cli.pack import PackProgress
from slmtok.options import PackOptions
from slmtok.shards import open_shards
from slmtok.shards.format import Totals
from slmtok.shards.journal import State


@pytest.fixture
def lines(corpus):
    """The stories, a line a document."""
    return corpus.rename(corpus.with_suffix(".lines"))


def test_the_summary(slmtok, lines, tok):
    ran = slmtok("pack", lines, "-t", tok, "-o", "data")
    assert (ran.code, ran.err) == (0, "")
    told = dict(line.strip().split("  ", 1) for line in ran.out.splitlines()[1:])
    shards = open_shards("data")
    assert told["documents"].strip() == f"{shards.n_docs('train') + shards.n_docs('val'):,}"
    assert told["split"].strip() == "hash:10%" and " of " in told["ids"]


def test_json_names_every_shard(slmtok, lines, tok):
    ran = slmtok("pack", lines, "-t", tok, "-o", "data", "--shard-tokens", "4000", "--json")
    result = ran.json["result"]
    assert ran.json["ok"] and ran.json["schema"] == "slmtok.pack/1"
    assert result["documents"] == sum(shard["docs"] for shard in result["shards"])
    assert all(set(shard["sha256"]) == {"bin", "off", "nb"} for shard in result["shards"])
    assert result["bytes_per_token"] == round(result["bytes"] / result["tokens"], 4)


def test_decode_shows_what_was_packed(slmtok, lines, tok):
    documents = lines.read_text().splitlines()
    slmtok("pack", lines, "-t", tok, "-o", "data", "--val", "none")
    assert slmtok("decode", "data", "--docs", "3:5").out == "".join(f"<s>{text}</s>" for text in documents[3:5])
    assert slmtok("decode", "data", "--docs", "-1", "--skip-special").out == documents[-1]
    assert slmtok("decode", "data", "--skip-special", "--document", "line").out.splitlines() == documents
    assert slmtok("decode", "data", "--docs", "2:4", "--json").json["result"]["documents"] == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["data", "--docs", "x:5"], "--docs 'x:5' is not a range of documents"),
        (["data", "--docs", "9000:"], "--docs 9000: selects no document"),
        (["data", "--split", "val"], "--split val holds no documents"),
        (["corpus.lines", "--docs", "1:2", "-t", "tok.json"], "--docs and --split need packed data"),
        (["corpus.lines"], "--tokenizer is missing"),
    ],
)
def test_decode_refuses(slmtok, lines, tok, arguments, told):
    slmtok("pack", lines, "-t", tok, "-o", "data", "--val", "none")
    ran = slmtok("decode", *arguments)
    assert ran.code == 2 and ran.err.startswith(f"error: {told}"), ran.err


def test_a_range_without_a_document_becomes_the_one_that_it_means(slmtok, lines, tok):
    slmtok("pack", lines, "-t", tok, "-o", "data", "--val", "none")
    for docs, meant, reason in [
        ("5:3", "3:5", "it ends before it begins"),
        ("-2:-4", "-4:-2", "it ends before it begins"),
        ("5-3", "3:6", "is not a range"),
        ("0:100:10", "0:100", "is not a range"),
        ("2:2", "2:3", "B is not included"),
        ("-1:-1", "-1:", "B is not included"),
        ("900:800", "363:365", "selects no document\n"),
    ]:
        ran = slmtok("decode", "data", "--docs", docs)
        assert ran.code == 2 and reason in ran.err and fix_of(ran) == f"--docs {meant}"
        assert slmtok("decode", "data", "--docs", meant).code == 0


def test_a_part_of_a_file_of_ids_is_refused_with_the_line_for_all_of_it(slmtok, lines, tok):
    slmtok("encode", lines, "-t", tok, "-o", "a.ids", "-q")
    fix = fix_of(slmtok("decode", "a.ids", "--split", "val", "-t", tok, "--docs", "0:1"))
    assert fix == f"leave --docs and --split out: slmtok decode a.ids -t {tok}"
    assert fix_of(slmtok("decode", "a.ids", "--docs", "0:1")).startswith(
        "leave --docs and --split out: slmtok decode a.ids -t "
    )


def test_decode_of_nothing(slmtok):
    ran = slmtok("decode", "nowhere", "--docs", "1")
    assert ran.code == 1 and ran.err.startswith("error: no file 'nowhere'\n")


def test_decode_with_a_foreign_table(slmtok, lines, tmp_path):
    """Its `bos` was appended, and has no spelling."""
    ranks = b"".join(b"%s %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256))
    (tmp_path / "x.tiktoken").write_bytes(ranks)
    package.from_tiktoken(tmp_path / "x.tiktoken", pattern="gpt2").save(tmp_path / "x.json")
    assert slmtok("pack", lines, "-t", "x.json", "-o", "data", "--val", "none").code == 0
    assert slmtok("decode", "data", "--docs", "2").out == lines.read_text().splitlines()[2]
    assert slmtok("verify", "--deep", "data").code == 0


def test_decode_with_another_tokenizer(slmtok, lines, tok, tmp_path):
    package.slice(package.load(tok), 600).save(tmp_path / "b.json")
    slmtok("pack", lines, "-t", tok, "-o", "data", "--val", "none")
    ran = slmtok("decode", "data", "-t", "b.json")
    assert ran.code == 2 and "packed with another tokenizer" in ran.err


def test_decode_with_a_tokenizer_that_cannot_be_opened(slmtok, lines, tok, tmp_path, monkeypatch):
    """The tokenizer of the data is beside them: no file is fetched for one that does not fit."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    slmtok("pack", lines, "-t", tok, "-o", "data", "--val", "none")
    for name in ("tiktoken:gpt2", "missing.json"):
        ran = slmtok("decode", "data", "-t", name)
        assert ran.code == 2
        assert ran.err.startswith(f"error: data was packed with data/tok.json, and {name} is not needed\n")
        assert "fix:   leave --tokenizer out: the folder contains the right one\n" in ran.err
    (tmp_path / "data/tok.json").unlink()
    assert "error: no file 'missing.json'\n" in slmtok("decode", "data", "-t", "missing.json").err


def test_info_and_verify(slmtok, lines, tok, tmp_path):
    slmtok("pack", lines, "-t", tok, "-o", "data", "--domain", "stories=*.lines", "--shard-tokens", "5000")
    ran = slmtok("info", "data")
    assert ran.code == 0 and "token shards" in ran.out and "stories" in ran.out
    assert slmtok("info", "data", "--json").json["result"]["frame"] == "bos_eos"
    assert slmtok("verify", "data").out.startswith("data: valid; token shards")
    assert "decoded and hashed" in slmtok("verify", "data", "--deep").out
    assert slmtok("verify", "elsewhere").code == 1


def spoil(path, at, xor=1):
    data = bytearray(path.read_bytes())
    data[at] ^= xor
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("name", "at", "told"),
    [
        ("train-00000.bin", 0, "magic"),
        ("train-00000.bin", 8, "shard version"),
        ("train-00000.bin", 12, "bytes per id"),
        ("train-00000.bin", 16, "n_tokens"),
        ("train-00000.bin", 24, "n_docs"),
        ("train-00000.bin", 32, "n_bytes"),
        ("train-00000.bin", 40, "n_vocab"),
        ("train-00000.bin", 44, "flags"),
        ("train-00000.bin", 50, "fingerprint"),
        ("train-00000.bin", 80, "shard"),
        ("train-00000.bin", 4000, "leaves zero"),
        ("train-00000.bin", 5000, "sha256"),
        ("train-00000.off", 9, "sha256"),
        ("train-00000.nb", 9, "sha256"),
        ("tok.json", 900, ""),
        ("vocab.json", 900, ""),
        ("manifest.json", 0, "JSON"),
    ],
)
def test_a_flipped_bit_is_found(slmtok, lines, tok, tmp_path, name, at, told):
    slmtok("pack", lines, "-t", tok, "-o", "data", "--val", "none")
    spoil(tmp_path / "data" / name, at)
    ran = slmtok("verify", "data")
    assert ran.code == 3 and "INVALID" in ran.out and told in ran.out, ran.out


def test_deep_finds_what_digests_cannot(slmtok, lines, tok, tmp_path):
    """A wrong length, written down with the right digest: only decoding tells."""
    slmtok("pack", lines, "-t", tok, "-o", "data", "--val", "none")
    path, manifest = tmp_path / "data/train-00000.nb", tmp_path / "data/manifest.json"
    spoil(path, 0)
    spoil(path, 8, 1)
    content = json.loads(manifest.read_text())
    content["shards"][0]["sha256"]["nb"] = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest.write_text(json.dumps(content))
    ran = slmtok("verify", "data", "--deep")
    assert ran.code == 3 and (" bytes, not " in ran.out or "add up" in ran.out)


@pytest.mark.parametrize(
    ("suffix", "told"),
    [
        ("off", "train-00000.bin is not a valid shard: document 0 lacks the delimiters that frame 'bos_eos' names"),
        ("bin", "train-00000.nb is not a valid shard: document 7 has "),
        ("nb", "train-00000.nb is not a valid shard: document 0 has "),
    ],
)
def test_documents_with_new_sums_are_compared_with_their_ids(slmtok, lines, tok, tmp_path, suffix, told):
    """`slm train` refuses such data, or counts wrong bytes for its documents."""
    slmtok("pack", lines, "-t", tok, "-o", "data", "--val", "none")
    path, manifest = tmp_path / f"data/train-00000.{suffix}", tmp_path / "data/manifest.json"
    content, offsets = json.loads(manifest.read_text()), np.fromfile(tmp_path / "data/train-00000.off", "<u8")
    values = np.fromfile(path, "<u2" if suffix == "bin" else "<u8")
    if suffix == "off":
        values[1] += 1
    elif suffix == "bin":
        values[2048 + int(offsets[7]) + 3] = 1
    else:
        values = values[::-1]
    values.tofile(path)
    content["shards"][0]["sha256"][suffix] = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest.write_text(json.dumps(content))
    ran = slmtok("verify", "data")
    assert ran.code == 3 and told in ran.out, ran.out


@pytest.mark.parametrize(
    ("at", "value"),
    [(0, 3), (3, 0), (4, "n"), (4, "n + 1"), (5, 2**64 - 1), (-1, 0), (-1, "n - 1"), (-1, "n + 1")],
)
def test_offsets_with_new_sums_give_no_ids_of_other_documents(slmtok, lines, tok, tmp_path, at, value):
    """They descended or pointed outside, and decode wrote bytes of other documents with status 0."""
    slmtok("pack", lines, "-t", tok, "-o", "data", "--val", "none")
    path, manifest = tmp_path / "data/train-00000.off", tmp_path / "data/manifest.json"
    content = json.loads(manifest.read_text())
    offsets = np.fromfile(path, "<u8")
    offsets[at] = eval(value, {"n": int(offsets[-1])}) if isinstance(value, str) else value
    offsets.tofile(path)
    content["shards"][0]["sha256"]["off"] = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest.write_text(json.dumps(content))
    for docs in ("0:1", "3:4", "4:5", "5:6", "0:2"):
        ran = slmtok("decode", "data", "--docs", docs)
        assert (ran.code, ran.out) == (1, "")
        assert "train-00000.off" in ran.err and "do not ascend from 0 to the number of ids" in ran.err


def test_several_tokenizers(slmtok, lines, tok, tmp_path):
    shutil.copy(tok, tmp_path / "a.json")
    package.slice(package.load(tok), 600).save(tmp_path / "b.json")
    ran = slmtok("pack", lines, "-t", "a.json", "-t", "b.json", "-o", "data/{name}", "--json")
    a, b = ran.json["result"]["folders"]
    assert (a["path"], b["path"]) == ("data/a", "data/b")
    assert a["digest"] == b["digest"] and a["bytes"] == b["bytes"] and a["tokens"] < b["tokens"]
    ran = slmtok("pack", lines, "-t", "a.json", "-t", "b.json", "-o", "data")
    assert ran.code == 2 and "is one folder for 2 tokenizers" in ran.err
    ran = slmtok("pack", "-", "-t", "a.json", "-t", "b.json", "-o", "x/{name}")
    assert ran.code == 2 and "stdin can be read only once" in ran.err


def test_refusals_on_the_command_line(slmtok, lines, tok):
    assert slmtok("pack", lines, "-t", tok).code == 2
    ran = slmtok("pack", lines, "-t", tok, "-o", "data", "--val", "some")
    assert ran.code == 2 and ran.err.startswith("error: --val some is not a rule"), ran.err
    ran = slmtok("pack", lines, "-t", tok, "-o", "data", "--subset", "5,x")
    assert ran.code == 2 and "--subset takes" in ran.err
    ran = slmtok("pack", lines, "-t", tok, "-o", "data", "--chunk-size", "5")
    assert ran.code == 2 and "--chunk-size 5 with output format slm" in ran.err
    assert slmtok("pack", lines, "-t", tok, "-o", "data").code == 0
    ran = slmtok("pack", lines, "-t", tok, "-o", "data")
    assert ran.code == 1 and "already holds packed data" in ran.err and "--force" in ran.err
    assert slmtok("pack", lines, "-t", tok, "-o", "data", "--force").code == 0
    assert slmtok("pack", lines, "-t", tok, "-o", "other", "--dry-run").out.startswith("would read 1 file")


@pytest.mark.parametrize("layout", [(), ("--output-format", "nanogpt")])
def test_packed_data_of_another_tokenizer_are_named(slmtok, lines, tok, layout):
    slmtok("slice", tok, "--vocab", 600, "-o", "small.json")
    line = ["pack", lines, "-o", "data", *layout]
    assert slmtok(*line, "-t", tok).code == 0
    ran = slmtok(*line, "-t", "small.json")
    assert ran.code == 1 and "already holds packed data of another tokenizer\n  limit: ids of " in ran.err, ran.err
    assert "… with 1,000 ids, not of " in ran.err and "… with 600 ids\n" in ran.err
    assert slmtok(*line, "-t", "small.json", "--force").code == 0


def test_packed_data_are_compared_with_the_command(slmtok, lines, tok):
    line = ["pack", lines, "-t", tok, "-o", "data"]
    assert slmtok(*line).code == 0
    assert "\n  limit: this command made it\n" in slmtok(*line).err
    shard = Path("data/train-00000.bin")
    content = shard.read_bytes()
    shard.write_bytes(content[:-2])
    fault = f"data/train-00000.bin is not a valid shard: it has {len(content) - 2:,} bytes; by the header"
    assert f"\n  limit: this command made it, and it was damaged since: {fault}" in slmtok(*line).err
    shard.write_bytes(content)
    assert "\n  limit: packed with --val auto, now --val none\n" in slmtok(*line, "--val", "none").err
    size = lines.stat().st_size
    with lines.open("a") as file:
        file.write("more\n")
    change = f"{lines.name} has {size + 5:,} bytes now, and had {size:,}"
    assert f"\n  limit: packed with other sources: {change}\n" in slmtok(*line).err
    ran = slmtok("pack", "b.txt", *line[2:]) if (lines.parent / "b.txt").write_text("the cat") else None
    assert ran and f"other sources: {lines.name} was among them; b.txt was not\n" in ran.err


def test_options_that_data_were_packed_with_stay_beside_a_new_one(slmtok, corpus, tok, tmp_path):
    line = ["pack", corpus, "-t", tok, "-o", "data", "--val"]
    given = ("--separator", "\\n", "--no-bos", "--exclude", "x*", "--domain", "a=*.txt", "--domain", "a=*.md")
    assert slmtok(*line, "none", *given).code == 0
    err = slmtok(*line, "tail:5%").err
    assert (
        "packed with --separator '\\n', now without --separator; "
        "--exclude 'x*', now without --exclude; --domain 'a=*.txt' --domain 'a=*.md', now without --domain; "
        "--no-bos, now --bos; --val none, now --val tail:5%\n"
    ) in err
    fix = re.search(r"fix: +(--force) to replace it, with (.+) as before, or name another --output\n", err)
    assert fix is not None, err
    assert slmtok(*line, "tail:5%", fix[1], *shlex.split(fix[2].replace(" and ", " "))).code == 0
    options = json.loads((tmp_path / "data/manifest.json").read_text())["plan"]["options"]
    read = options["read"]
    assert (options["val"], options["frame"], read["separator"], read["exclude"]) == ("tail:5%", "eos", "\n", ["x*"])
    assert read["domains"] == {"a": ["*.txt", "*.md"]}


def test_options_that_other_files_were_packed_with_are_no_fix(slmtok, corpus, tok):
    """A separator is for text, a field for records: beside files of the other kind, either would be refused."""
    Path("a.jsonl").write_text('{"body": "x"}\n' * 3)
    Path("b.jsonl").write_text('{"text": "x"}\n' * 3)
    line = ["-t", tok, "-o", "data", "--val", "none"]
    for first, given, others in (
        (corpus, ("--separator", "\\n", "--no-bos"), ["b.jsonl"]),
        ("a.jsonl", ("--text-key", "body", "--no-bos"), [corpus, "b.jsonl"]),
    ):
        assert slmtok("pack", first, *line, *given, "--force").code == 0
        for other in others:
            fix = slmtok("pack", other, *line).err.split("fix:   ")[1]
            assert fix.startswith("--force to replace it, with --no-bos as before, or ")
    fix = slmtok("pack", "a.jsonl", *line[:-1], "tail:5%").err.split("fix:   ")[1]
    assert fix.startswith("--force to replace it, with --text-key body and --no-bos as before, or ")


def test_a_file_without_a_column_is_told(slmtok, tok, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"content": "x"}\n')
    ran = slmtok("pack", "a.jsonl", "-t", tok, "-o", "data")
    assert ran.code == 1 and "--text-key content" in ran.err and "a.jsonl, line 1" in ran.err


def test_a_file_that_may_not_grow(command, small_files, slmtok, lines, story_text, tok, tmp_path):
    """A write that really fails, in the middle of a shard; the same command then ends in what nothing stopped."""
    lines.write_text(story_text * 10, encoding="utf-8")
    process = command("pack", "corpus.lines", "-t", tok, "-o", "data", "--val", "none", preexec_fn=small_files)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, b"")
    assert err.decode() == (
        "error: cannot write to 'data': File too large\n"
        "  where: data\n"
        "  fix:   raise the limit on the size of a file (ulimit -f), then run the same command again to resume\n"
    )
    assert not (tmp_path / "data/manifest.json").exists()
    assert slmtok("pack", "corpus.lines", "-t", tok, "-o", "data", "--val", "none").code == 0
    assert slmtok("pack", "corpus.lines", "-t", tok, "-o", "again", "--val", "none").code == 0
    for path in (tmp_path / "again").iterdir():
        assert path.read_bytes() == (tmp_path / "data" / path.name).read_bytes()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_a_state_that_goes_on(slmtok, monkeypatch, story_text, tok, tmp_path, number, code):
    (tmp_path / "big.lines").write_text(story_text * 30, encoding="utf-8")
    arguments = ("pack", "big.lines", "-t", tok, "--val", "none", "--shard-tokens", 30_000)
    update = PackProgress.update

    def stop(progress, state):
        """A shard that was renamed and is not in the journal yet would be written again."""
        update(progress, state)
        if state.shards:
            signal.raise_signal(number)

    with monkeypatch.context() as patch:
        patch.setattr(PackProgress, "update", stop)
        patch.setattr(sys, "argv", ["slmtok", *map(str, arguments)])
        ran = slmtok(*arguments, "-o", "data")
    assert (ran.code, ran.out) == (code, "")
    assert re.search(r"note: [1-9][\d,]* documents packed; to continue:\n  slmtok pack big.lines", ran.err), ran.err
    assert not (tmp_path / "data/manifest.json").exists()
    inode = (tmp_path / "data/train-00000.bin").stat().st_ino
    assert slmtok(*arguments, "-o", "data").code == 0
    assert slmtok(*arguments, "-o", "again").code == 0
    assert (tmp_path / "data/train-00000.bin").stat().st_ino == inode
    assert len(list((tmp_path / "again").glob("train-*.bin"))) > 2
    for path in (tmp_path / "again").iterdir():
        assert path.read_bytes() == (tmp_path / "data" / path.name).read_bytes()


def test_progress_says_how_fast_and_how_long(capsys, clock):
    def state(step, share):
        return State(open={"train": Totals(400 * step, step, 1000 * step), "val": Totals()}, share=share)

    with PackProgress(PackOptions(), quiet=False) as progress:
        progress.update(state(1000, 0.1))
        for step in (3000, 5000):
            clock[0] += 10
            progress.update(state(step, step / 10_000))
        clock[0] += 10
        progress.update(state(7000, None))
    assert capsys.readouterr().err.splitlines() == [
        "pack: 30 %, 3.0 MB, 0 MB/s, 35.0 s left, 3,000 documents, 200 documents/s, 80,000 ids/s",
        "pack: 50 %, 5.0 MB, 0 MB/s, 25.0 s left, 5,000 documents, 200 documents/s, 80,000 ids/s",
        "pack: 7.0 MB, 0 MB/s, 7,000 documents, 200 documents/s, 80,000 ids/s",
    ]
    with PackProgress(PackOptions(), quiet=True) as progress:
        for step in (1, 2):
            clock[0] += 10
            progress.update(state(step, 0.5))
    assert capsys.readouterr().err == ""


def test_a_split_without_text_says_what_divides_the_files(slmtok, tok):
    Path("one.txt").write_text("the fox saw the tree\n" * 200)
    Path("two.txt").write_text("")
    line = ["pack", "one.txt", "two.txt", "-t", tok, "--val", "tail:10%", "-o", "data"]
    fix = "; --separator STRING --force cuts files into documents"
    note = f"note: --val tail:10% leaves no byte of text for val in data: its 1 document is empty{fix}\n"
    assert slmtok(*line).err == note
    assert slmtok(*line, "--separator", "\\n", "--force").err == ""
    assert open_shards("data").n_docs("val") > 1


def test_a_limit_before_the_tail_of_the_only_document_is_named(slmtok, tok, tmp_path):
    (tmp_path / "one.txt").write_text("the cat sat on the mat.\n" * 40)
    for limit, value, more in (("--max-bytes", "200", "865"), ("--max-docs", "1", "2")):
        err = slmtok("pack", "one.txt", "-t", tok, "-o", "d", limit, value, "--force").err
        assert f"note: {limit} {value} ends within the first document, before its tail for validation: d has no" in err
        assert f"; --document line, or {limit} {more} makes some, and --force packs again\n" in err
        for fix in (["--document", "line", "--max-bytes", "200"], [limit, more]):
            assert (
                "val"
                in slmtok("pack", "one.txt", "-t", tok, "-o", "d", *fix, "--force", "--json").json["result"]["splits"]
            )
    with pytest.warns(UserWarning, match=r"max_bytes=200 ends within .*; document='line', or max_bytes=865 makes some"):
        package.pack("one.txt", package.load(tok), "e", max_bytes=200)


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("train=a.txt val=b.txt", "a.txt b.txt --val files:b.txt"),
        ("a.txt validation=b.txt", "a.txt b.txt --val files:b.txt"),
        ("train=a.txt", "a.txt"),
        ("data=a.txt --val b.txt", "a.txt b.txt --val files:b.txt"),
    ],
)
def test_files_by_name_as_data_sets_takes_them(slmtok, tok, line, fix):
    Path("a.txt").write_text("the cat sat on the mat. " * 20)
    Path("b.txt").write_text("the dog sat by the door. " * 20)
    ran = slmtok("pack", *line.split(), "-t", tok, "-o", "data")
    assert ran.code == 2 and f"{line.split()[line.startswith('a.txt')]!r} is neither a file nor an option" in ran.err
    meant = f"slmtok pack {fix} -t {tok} -o data"
    assert fix_of(ran) == meant
    assert slmtok(*meant.split()[1:]).code == 0
