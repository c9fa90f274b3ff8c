"""`slmtok count | merge | train | slice | extend | prune | name | reproduce` on the command line."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shlex
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from printed_fixes import fix_of

import slmtok as package
from slmtok.envelope import content_digest
from slmtok.stories import story
from slmtok.training.doc_digests import load_digests


@pytest.fixture
def folder(corpus, tmp_path):
    """Three files of stories in a folder."""
    place = tmp_path / "texts"
    place.mkdir()
    for number in range(3):
        (place / f"{number}.txt").write_text("\n".join(story(index) for index in range(number * 40, number * 40 + 40)))
    return place


def test_count_merge_train_in_every_way_gives_one_tokenizer(slmtok, folder):
    assert slmtok("count", "texts", "-o", "whole.counts", "--threads", 1, "--json").code == 0
    for number in range(3):
        assert slmtok("count", f"texts/{number}.txt", "-o", f"{number}.counts", "--threads", 2).code == 0
    merged = slmtok("merge", "2.counts", "0.counts", "1.counts", "-o", "merged.counts", "--json")
    whole = slmtok("count", "texts", "-o", "again.counts", "--json").json["result"]
    assert merged.json["result"]["digest"] == whole["digest"]
    for name, inputs in (("a", ["texts"]), ("b", ["whole.counts"]), ("c", ["[0-2].counts"]), ("d", ["merged.counts"])):
        assert slmtok("train", *inputs, "--vocab", 700, "-o", f"{name}.json", "-q").code == 0
    assert len({Path(f"{name}.json").read_bytes() for name in "abcd"}) == 1


def test_the_summary_of_count(slmtok, folder):
    ran = slmtok("count", "texts", "--domain", "first=0.txt")
    assert ran.code == 0
    assert ran.out.startswith("all.counts: scheme bpe, pattern slm\n")
    assert "first: 1 document" in ran.out and "digest" in ran.out
    assert "also rare ones; slmtok merge --min-count 5" in ran.err
    result = slmtok("count", "texts", "-o", "b.counts", "--json").json["result"]
    assert (result["documents"], result["files"], result["complete"]) == (3, 3, True)
    assert result["bytes"] == sum(path.stat().st_size for path in folder.iterdir())


def test_a_summary_under_the_name_of_counts_is_noted(slmtok, folder):
    Path("texts/a.counts").write_text(slmtok("count", "texts", "-o", "b.counts").out)
    note = "note: texts/a.counts has the name of counts and holds text, which was read; name the file that slmtok count"
    for source in ("texts/a.counts", "texts"):
        assert note in " ".join(slmtok("train", source, "--vocab", 280, "-o", "t.json", "--force").err.split())


def test_what_count_refuses(slmtok, folder, leftovers):
    before = leftovers()
    assert slmtok("count", "texts", "-o", "-").code == 2
    assert slmtok("count", "texts", "--pattern", "(").code == 2
    assert slmtok("count", "nothing.txt").code == 1
    assert slmtok("count", "texts", "--scheme", "char", "--pattern", "gpt2").code == 2
    assert leftovers() == before
    assert slmtok("count", "texts", "-q").code == 0
    ran = slmtok("count", "texts")
    assert (ran.code, "--force" in ran.err) == (1, True)


def test_a_full_disk_leaves_nothing(slmtok, corpus, leftovers, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    before = leftovers()
    for arguments in (("count", corpus), ("train", corpus, "--vocab", 400, "--save-counts", "c.counts")):
        ran = slmtok(*arguments)
        assert ran.code == 1 and "no space left while writing" in ran.err
        assert leftovers() == before


def test_document_digests(slmtok):
    Path("a.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n{"text": "one"}\n')
    assert slmtok("count", "a.jsonl", "--doc-digests", "-o", "a.counts").code == 0
    wanted = sorted(int.from_bytes(hashlib.sha256(text).digest()[:8], "big") for text in (b"one", b"one", b"two"))
    assert load_digests("a.counts.digests").tolist() == wanted
    data = Path("a.counts.digests").read_bytes()
    for at in range(len(data)):
        Path("b.digests").write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(package.errors.CorruptFile):
            load_digests("b.digests")


def test_merge_refuses_and_prunes(slmtok, folder):
    for number in range(2):
        slmtok("count", f"texts/{number}.txt", "-o", f"{number}.counts", "-q")
    ran = slmtok("merge", "0.counts", "1.counts", "0.counts", "-o", "x.counts")
    assert ran.code == 2
    assert "0.counts is named twice" in ran.err and "--allow-duplicate" in ran.err
    for named in ("[01].counts", "0.counts"):
        fix = fix_of(slmtok("merge", named, "0.counts", "-o", f"once-{len(named)}.counts"))
        files = "0.counts 1.counts" if named != "0.counts" else "0.counts"
        line, _, other = fix.partition(", or ")
        assert line.startswith(f"slmtok merge {files} -o ") and other == "--allow-duplicate to count it each time"
        assert slmtok(*shlex.split(line)[1:]).code == 0
    assert slmtok("merge", "0.counts", "0.counts", "--allow-duplicate", "-o", "twice.counts").code == 0
    # The file is what was asked for, and is read like any other.
    assert slmtok("train", "twice.counts", "--vocab", 300, "--allow-smaller", "-o", "twice.json").code == 0
    ran = slmtok("merge", "twice.counts", "0.counts", "-o", "x.counts")
    assert ran.code == 2 and "twice.counts and 0.counts hold the same counts" in ran.err
    slmtok("count", "texts/2.txt", "-o", "other.counts", "--pattern", "gpt2", "-q")
    ran = slmtok("merge", "0.counts", "other.counts", "-o", "x.counts")
    assert ran.code == 2
    assert "0.counts and other.counts were counted with different patterns" in ran.err
    assert not Path("x.counts").exists()
    ran = slmtok("merge", "0.counts", "1.counts", "--min-count", 3, "-o", "pruned.counts")
    assert ran.code == 0 and "pretokens below 3 left out" in ran.out
    ran = slmtok("train", "pruned.counts", "--vocab", 400)
    assert ran.code == 0 and "the counts were pruned" in ran.err and "below 3 occurrences" in ran.err


def test_several_sizes_at_once(slmtok, corpus):
    ran = slmtok("train", corpus, "--vocab", 600, "--vocab", 400, "--save-counts", "c.counts", "--json")
    assert [entry["path"] for entry in ran.json["result"]["sizes"]] == ["tok-600.json", "tok-400.json"]
    assert slmtok("train", "c.counts", "--vocab", 400, "-o", "fresh.json").code == 0
    assert Path("fresh.json").read_bytes() == Path("tok-400.json").read_bytes()
    assert "tok-400.json" in slmtok("train", corpus, "--vocab", 600, "--vocab", 400, "-o", "t{vocab}.json").out + str(
        sorted(Path().glob("t*.json"))
    )
    assert Path("t600.json").exists() and Path("t400.lock").exists()
    for wrong in (["--vocab", 400], ["--vocab", 500, "-o", "-"]):
        assert slmtok("train", corpus, "--vocab", 400, *wrong, "--force").code == 2


def test_training_from_counts_takes_no_options_of_reading(slmtok, corpus):
    slmtok("count", corpus, "-o", "c.counts", "-q")
    for wrong in (["--document", "line"], ["--pattern", "gpt2"], ["--scheme", "word"]):
        ran = slmtok("train", "c.counts", "--vocab", 400, *wrong)
        assert ran.code == 2, wrong
    assert slmtok("train", "c.counts", corpus, "--vocab", 400).code == 2
    assert slmtok("train", "c.counts", "--vocab", 400, "--mix", "a=2").code == 2
    assert slmtok("train", "c.counts", "--vocab", 400, "--mix", "a").code == 2


def test_a_size_that_slice_cannot_give(slmtok, tok):
    """The fix learns the ids that are wanted; fewer would be another tokenizer."""
    ran = slmtok("slice", tok, "--vocab", 5000, "-o", "x.json")
    assert "cannot be cut to 5000" in ran.err and f"fix:   slmtok extend {tok} " in ran.err
    assert " --vocab 5000 -o x.json\n" in ran.err


def test_slice_extend_prune_name(slmtok, corpus, tok):
    Path("more.txt").write_text("über ünder hinterücks " * 50)
    assert slmtok("slice", tok, "--vocab", 500, "-o", "small.json").code == 0
    ids = np.load("small.json.ids.npy")
    assert (ids.dtype, ids[499], ids[500], len(ids)) == (np.int64, 499, -1, 1000)
    ran = slmtok("extend", tok, "more.txt", "--vocab", 1005, "-o", "large.json", "--json")
    told = ran.json["result"]
    assert (told["n_vocab"], told["n_vocab_before"], told["recut"]["changed"] > 0) == (1005, 1000, True)
    assert slmtok("slice", "large.json", "--vocab", 1000, "-o", "back.json").code == 0
    assert package.load("back.json").fingerprint == package.load(tok).fingerprint
    slmtok("count", "more.txt", "-o", "more.counts", "-q")
    ran = slmtok("prune", tok, "--unused-on", "more.counts", "--keep", 300, "-o", "used.json", "--json")
    assert (ran.json["result"]["n_vocab"], ran.json["result"]["removed"]) == (300, 700)
    Path("ids.json").write_text(json.dumps({"ids": [998, 999]}))
    assert slmtok("prune", tok, "--ids", "ids.json", "-o", "two.json").code == 0
    assert np.load("two.json.ids.npy")[-2:].tolist() == [-1, -1]
    ran = slmtok("set-special", tok, "user=<|user|>", "-o", "chat.json")
    assert ran.code == 0 and "6 user <|user|>" in ran.out
    assert "quotes" not in ran.err
    ran = slmtok("set-special", tok, "user='<|user|>'", "-o", "quoted.json")
    assert "note: the spelling of user is '<|user|>' with its quotes; 'user=<|user|>' is the spelling" in ran.err
    chat = package.load("chat.json")
    assert (chat.fingerprint, chat.specials["user"]) == (package.load(tok).fingerprint, 6)
    assert slmtok("verify", "--deep", "small.json", "large.json", "used.json", "two.json", "chat.json").code == 0


def test_what_they_refuse(slmtok, corpus, tok, leftovers):
    Path("ids.txt").write_text("three hundred\n")
    before = leftovers()
    slmtok("count", corpus, "-o", "c.counts", "-q")
    before = leftovers()
    for line, code in {
        "slice TOK -o x.json": 2,
        "slice TOK --vocab 100 -o x.json": 2,
        "slice TOK --vocab 5000 -o x.json": 2,
        "slice TOK --vocab 500 -o -": 2,
        "extend TOK corpus.txt -o x.json": 2,
        "extend TOK corpus.txt --vocab 900 -o x.json": 2,
        "extend TOK corpus.txt c.counts --vocab 1100 -o x.json": 2,
        "prune TOK -o x.json": 2,
        "prune TOK --ids ids.txt -o x.json": 1,
        "prune TOK --ids none.txt -o x.json": 1,
        "set-special TOK user -o x.json": 2,
        "set-special TOK user=<s> -o x.json": 2,
    }.items():
        assert slmtok(*line.replace("TOK", str(tok)).split()).code == code, line
        assert leftovers() == before


def test_locks_are_equal_for_equal_work_and_reproduce(slmtok, folder):
    options = ["--special", "user=<|u|>", "--domain", "first=0.txt", "--mix", "first=1/2"]
    train = ["train", "texts", "--vocab", 600, *options]
    assert slmtok(*train, "-o", "a/tok.json").code == 1
    for name in ("a", "b"):
        Path(name).mkdir()
        assert slmtok(*train, "-o", f"{name}/tok.json", "--threads", 1 + (name == "b")).code == 0
    lock = Path("a/tok.lock").read_bytes()
    assert lock == Path("b/tok.lock").read_bytes()
    assert str(Path.cwd()).encode() not in lock
    ran = slmtok("reproduce", "a/tok.lock")
    assert (ran.code, "a/tok.lock: equal" in ran.out) == (0, True)
    Path("texts").rename("moved")
    ran = slmtok("reproduce", "a/tok.lock", "--json")
    assert (ran.code, ran.json["ok"], "no file" in ran.err) == (1, False, True)
    assert slmtok("reproduce", "a/tok.lock", "--corpus", "moved").code == 0
    slmtok("count", "moved", "--domain", "first=0.txt", "-o", "c.counts", "-q")
    assert slmtok("reproduce", "a/tok.lock", "--counts", "c.counts").code == 0
    with Path("moved/1.txt").open("a") as file:
        file.write(" more")
    ran = slmtok("reproduce", "a/tok.lock", "--corpus", "moved")
    assert (ran.code, "sha256 of input 1.txt" in ran.out) == (3, True)
    slmtok("count", "moved", "--domain", "first=0.txt", "-o", "d.counts", "-q")
    ran = slmtok("reproduce", "a/tok.lock", "--counts", "d.counts")
    assert (ran.code, "NOT EQUAL: bytes" in ran.out) == (3, True)


def test_a_change_in_place_has_a_new_file(slmtok, folder):
    assert slmtok("train", "texts", "--vocab", "290", "-o", "tok.json", "-q").code == 0
    for line, fix in (
        ("set-special tok.json user=<u> --in-place", "set-special tok.json 'user=<u>' -o chat.json"),
        ("slice -i tok.json --vocab 280", "slice tok.json --vocab 280 -o small.json"),
        ("extend tok.json texts --vocab 292 --inplace -o x.json", "extend tok.json texts --vocab 292 -o x.json"),
    ):
        assert slmtok(*line.split()).err.endswith(f"fix:   slmtok {fix}\n")


def test_a_smaller_tokenizer_of_packed_data_says_that_the_data_stay(slmtok, folder):
    assert slmtok("train", "texts", "--vocab", "290", "-o", "tok.json", "-q").code == 0
    assert slmtok("pack", "texts", "-t", "tok.json", "-o", "data", "-q").code == 0
    note = "small is a tokenizer, and the packed data in data stay as they are: slmtok pack TEXT -t small -o NEW packs"
    assert note in slmtok("slice", "data", "--vocab", "280", "-o", "small").err
    assert "note:" not in slmtok("slice", "tok.json", "--vocab", "280", "-o", "other.json").err


def test_a_folder_in_the_place_of_a_lock(slmtok):
    Path("run/eval").mkdir(parents=True)
    for name in ("config.yaml", "SHA256SUMS", "fingerprint.json", "eval/val.json", "b.lock", "../tok.lock"):
        Path("run", name).write_text("")
    check = "slm eval --check run/eval/val.json, which evaluates the run again; of a tokenizer: "
    assert "'run' is a run of slm, not a lock\n" in slmtok("reproduce", "run").err
    assert f"fix:   {check}slmtok reproduce run/b.lock\n" in slmtok("reproduce", "run").err
    Path("run/b.lock").unlink()
    assert f"fix:   {check}slmtok reproduce tok.lock\n" in slmtok("reproduce", "run").err
    Path("run/config.yaml").unlink()
    assert "fix:   slmtok reproduce tok.lock\n" in slmtok("reproduce", "run").err


def test_text_in_the_place_of_counts_is_counted_by_its_lock(slmtok, tmp_path):
    (tmp_path / "a.txt").write_text("the cat sat.\n\nthe rat ran.\n\n" * 20)
    assert slmtok("train", "a.txt", "--vocab", 275, "--separator", "\n\n", "-o", "tok.json").code == 0
    ran = slmtok("reproduce", "tok.lock", "--counts", "a.txt")
    assert (ran.code, ran.err) == (
        2,
        "error: --counts a.txt is text, not counts\n  where: tok.lock\n"
        "  limit: text is counted with the options that the lock records\n  fix:   slmtok reproduce tok.lock\n",
    )
    assert slmtok("reproduce", "tok.lock").code == 0
    (tmp_path / "moved").mkdir()
    (tmp_path / "a.txt").rename("moved/a.txt")
    ran = slmtok("reproduce", "tok.lock", "--counts", "moved/a.txt")
    assert ran.err.endswith("fix:   slmtok reproduce tok.lock --corpus moved\n")
    # Other options would give counts that differ.
    slmtok("count", "moved", "-o", "c.counts", "-q")
    assert slmtok("train", "c.counts", "--vocab", 275, "-o", "of-counts.json").code == 0
    ran = slmtok("reproduce", "of-counts.lock", "--counts", "moved/a.txt")
    assert ran.err.endswith("fix:   name the counts that the tokenizer was trained on\n")


@pytest.mark.parametrize("option", [["-o", "again.json"], ["--output=again.json"], ["-oagain.json"]])
def test_reproducing_writes_no_tokenizer_and_its_fix_does(slmtok, tmp_path, option):
    (tmp_path / "a.txt").write_text("the cat sat. the rat ran. " * 20)
    assert slmtok("train", "a.txt", "--vocab", 275, "-o", "tok.json").code == 0
    ran = slmtok("reproduce", "tok.lock", *option)
    assert (ran.code, ran.err) == (
        2,
        "error: reproduce writes no tokenizer, and 'again.json' names one: "
        "it trains one again and compares it with the lock\n"
        "  where: slmtok reproduce\n"
        "  limit: the verdict as JSON: --json > verdict.json\n"
        "  fix:   slmtok reproduce tok.lock && cp tok.json again.json\n",
    )
    (tmp_path / "tok.json").unlink()
    fix = slmtok("reproduce", "tok.lock", *option).err.partition("fix:   slmtok ")[2]
    assert fix.startswith("train a.txt --vocab 275 -o again.json, with the other options that slmtok info tok.lock ")
    assert slmtok("reproduce", "tok.lock", "-o", "v.txt").err.endswith("fix:   slmtok reproduce tok.lock > v.txt\n")


@pytest.mark.parametrize("scheme", ["word", "char", "byte"])
def test_every_scheme_reproduces(slmtok, corpus, scheme):
    size = [] if scheme == "byte" else ["--vocab", 290]
    assert slmtok("train", "corpus.txt", "--scheme", scheme, *size, "--allow-smaller", "--sample", 0.9).code == 0
    assert slmtok("reproduce", "tok.lock").code == 0


def test_the_first_merge_that_differs_is_named(slmtok, corpus):
    assert slmtok("train", "corpus.txt", "--vocab", 600).code == 0
    content = json.loads(Path("tok.lock").read_text())
    # Another rule for ties, as if the trainer had changed.
    content["payload"]["training"]["tie_break"] = "bytes-greatest"
    Path("tok.lock").write_text(json.dumps({**content, "sha256": content_digest(content)}))
    ran = slmtok("reproduce", "tok.lock")
    assert ran.code == 3
    assert "NOT EQUAL: merge " in ran.out and "times" in ran.out and " + " in ran.out


def test_locks_of_what_is_no_file(slmtok):
    assert slmtok("train", "-", "--vocab", 280, "--allow-smaller", stdin=b"one two one two one two").code == 0
    ran = slmtok("reproduce", "tok.lock")
    assert ran.code == 1 and "cannot name its corpus by files: -" in ran.err and "--counts" in ran.err


def test_a_lock_of_a_pipe_leads_to_counts_of_the_same_text(slmtok):
    text = b"one two\n\none two\n\none two two one"
    reading = ("--separator", r"\n\n", "--pattern", "gpt2")
    train = ("train", "-", "--vocab", 280, "--allow-smaller", *reading, "-o", "piped.json")
    assert slmtok(*train, stdin=text).code == 0
    Path("other.txt").write_text("another text\n")
    assert slmtok("count", "other.txt", "-o", "piped.counts").code == 0
    fix = slmtok("reproduce", "piped.lock").err.rpartition("  fix:   ")[2]
    counting, _, again = fix.partition(" < TEXT && ")
    assert counting == r"slmtok count - --separator '\n\n' --pattern gpt2 -o piped-2.counts"
    line = "slmtok reproduce piped.lock --counts piped-2.counts"
    assert again == f"{line}, with the text that was piped as TEXT\n"
    other_pattern = ("count", "-", "--separator", r"\n\n", "-o", "piped-1.counts")
    assert slmtok(*other_pattern, stdin=text).code == slmtok(*shlex.split(counting)[1:], stdin=text).code == 0
    assert slmtok(*line.split()[1:]).code == 0
    # Counts of the text that lie beside the lock are named at once.
    assert slmtok("reproduce", "piped.lock").err.endswith(f"  fix:   {line}\n")


def test_a_lock_of_other_schemes_leads_to_no_pattern(slmtok):
    train = ("train", "-", "--scheme", "word", "--vocab", 273, "--allow-smaller")
    assert slmtok(*train, stdin=b"one one two two").code == 0
    assert "fix:   slmtok count - --scheme word -o tok.counts < TEXT && " in slmtok("reproduce", "tok.lock").err


def test_locks_that_are_refused(slmtok, corpus):
    assert slmtok("reproduce", "none.lock").code == 1
    assert slmtok("train", corpus, "--vocab", 400).code == 0
    good = Path("tok.lock").read_text()
    for change in (
        ('"kind": "lock"', '"kind": "key"'),
        ('"version": 2', '"version": 1'),
        ('"behaviour": 1', '"behaviour": 7'),
        ('"training"', '"trailing"'),
        ("{", ""),
    ):
        Path("bad.lock").write_text(good.replace(*change, 1))
        assert slmtok("reproduce", "bad.lock").code == 1, change
    slmtok("count", corpus, "-o", "c.counts", "-q")
    slmtok("train", "c.counts", "--vocab", 400, "-o", "b.json", "-q")
    ran = slmtok("reproduce", "b.lock")
    assert ran.code == 1 and "--counts" in ran.err
    assert slmtok("reproduce", "b.lock", "--counts", "c.counts").code == 0


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_killed_count_leaves_nothing_after_the_next_run(command, slmtok, tmp_path, leftovers):
    big = "".join(story(index) for index in range(400)) * 12
    (tmp_path / "big.txt").write_text(big)
    arguments = ["count", "big.txt", "-o", "a.counts", "-q", "--force"]
    started = time.perf_counter()
    process = command(*arguments)
    process.communicate()
    assert process.returncode == 0
    whole = time.perf_counter() - started
    sound = (tmp_path / "a.counts").read_bytes()
    for share in (0.3, 0.6, 0.8, 0.9, 0.95):
        process = command(*arguments)
        time.sleep(whole * share)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert (tmp_path / "a.counts").read_bytes() == sound, "the old file or the new one, never a half"
    (tmp_path / ".a.counts.other-1-1-0badcafe.part").write_bytes(b"of another machine")
    (tmp_path / ".slmtok-1-0123456789abcdef.counts").write_bytes(b"the name of a spill, left between two system calls")
    assert slmtok(*arguments).code == 0
    assert leftovers() == [".a.counts.other-1-1-0badcafe.part", "a.counts", "big.txt"]


def test_info_and_verify_know_counts_and_locks(slmtok, corpus):
    slmtok("count", corpus, "-o", "c.counts", "-q")
    slmtok("train", "c.counts", "--vocab", 400, "-q")
    ran = slmtok("info", "c.counts")
    assert ran.code == 0 and "counts, scheme bpe, pattern slm" in ran.out
    assert slmtok("info", "c.counts", "--json").json["result"]["documents"] == 1
    assert "slmtok reproduce trains it again" in slmtok("info", "tok.lock").out
    ran = slmtok("verify", "--deep", "c.counts")
    assert (ran.code, "pretokens add up" in ran.out) == (0, True)
    data = Path("c.counts").read_bytes()
    Path("c.counts").write_bytes(data[:-1])
    assert slmtok("verify", "c.counts").code == 3


def test_counts_with_another_pattern_name_a_file_beside_the_first(slmtok, folder):
    """A glob or a folder of counts is no name for new counts."""
    for number in (0, 1):
        assert slmtok("count", f"texts/{number}.txt", "-o", f"part-{number}.counts", "-q").code == 0
    ran = slmtok("train", "part-*.counts", "--vocab", 400, "--pattern", "gpt2")
    assert ran.code == 2
    assert ran.err.rstrip().endswith("count again: slmtok count CORPUS --pattern gpt2 -o part-0-2.counts")


def test_counts_that_cannot_be_merged_are_told_before_the_output_among_them(slmtok, folder):
    given = ([], ["--pattern", "gpt2"], ["--separator", "\\n"])
    for number, more in enumerate(given):
        assert slmtok("count", "texts", "-o", f"{number}.counts", *more).code == 0
    before = Path("0.counts").read_bytes()
    for other, what in ((1, "patterns"), (2, "separators")):
        ran = slmtok("merge", "0.counts", f"{other}.counts", "-o", "0.counts", "--force")
        assert ran.code == 2
        assert f"error: 0.counts and {other}.counts were counted with different {what}\n" in ran.err
    assert Path("0.counts").read_bytes() == before
    # Counts of one pattern and separator: the output alone is at fault.
    assert slmtok("count", "texts/0.txt", "-o", "part.counts").code == 0
    ran = slmtok("merge", "0.counts", "part.counts", "-o", "0.counts", "--force")
    assert "error: output '0.counts' is also the input\n" in ran.err
    fix = ran.err.partition("fix:   ")[2]
    assert fix == "slmtok merge 0.counts part.counts -o 0-2.counts\n"
    assert slmtok(*fix.split()[1:]).code == 0
