"""Counts as files: what goes in comes out, merging is adding in any order, and nothing damaged is believed."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections import Counter
from pathlib import Path

import pytest

import slmtok
from slmtok.errors import (
    CorruptFile,
    MissingInput,
    NotEnoughMemory,
    OptionError,
    OutputExists,
    UnsupportedVersion,
    WrongType,
)
from slmtok.training import counts_format
from slmtok.training.counts import open_counts


def test_what_is_saved_is_loaded(counts, tmp_path):
    path = tmp_path / "all.counts"
    digest = counts.save(path)
    back = slmtok.PretokenCounts.load(path)
    assert back.items() == counts.items()
    assert (back.totals, back.sha256, back.options) == (counts.totals, counts.sha256, counts.options)
    assert open_counts(path).layout.digest == digest
    assert slmtok.train(back, vocab_size=700) == slmtok.train(counts, vocab_size=700)


def test_counts_have_no_name_of_another_kind_of_file(counts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    counts.save("a.counts")
    for save in (counts.save, lambda path: slmtok.merge_counts(["a.counts"], path)):
        with pytest.raises(OptionError, match=r"'c\.json' would hold counts, which are binary, not \.json") as caught:
            save("c.json")
        assert caught.value.fix == "'c.counts'" and sorted(path.name for path in Path().iterdir()) == ["a.counts"]


def test_the_count_of_a_word_is_an_item(counts):
    word, n = counts.items()[0]
    with pytest.raises(WrongType, match="has attributes, and no item") as caught:
        counts[word.decode()]
    assert eval(caught.value.fix, {"result": counts}) == n
    with pytest.raises(WrongType, match=r"fix:   result\.items\(\), a list of pairs"):
        counts[5]


def test_parts_merge_to_the_digest_of_the_whole_in_any_order(counts, parts, tmp_path):
    whole = counts.save(tmp_path / "whole.counts")
    written = set()
    for seed in range(4):
        order = random.Random(seed).sample(parts, 7)
        first = slmtok.merge_counts(order[: seed + 2], tmp_path / f"first{seed}.counts")
        merged = slmtok.merge_counts([first.path, *order[seed + 2 :]], tmp_path / f"merged{seed}.counts")
        assert merged.digest == whole
        written.add(Path(merged.path).read_bytes())
    assert len(written) == 1, "not only the digest: every byte"
    assert slmtok.train(slmtok.PretokenCounts.load(*parts), vocab_size=700) == slmtok.train(counts, vocab_size=700)


def test_threads_and_memory_do_not_show(texts, tmp_path):
    digests = {
        slmtok.count(slmtok.Texts(texts), threads=threads, memory=memory).save(tmp_path / f"{threads}{memory}.counts")
        for threads in (1, 2)
        for memory in (None, "100MB")
    }
    assert len(digests) == 1


def test_the_same_part_twice_is_refused(parts, tmp_path):
    with pytest.raises(OptionError, match=r"holds? the same counts"):
        slmtok.merge_counts([parts[0], parts[1], parts[0]], tmp_path / "x.counts")
    both = slmtok.merge_counts(parts[:2], tmp_path / "both.counts")
    with pytest.raises(OptionError, match=f"{parts[1]}.*hold the same counts"):
        slmtok.merge_counts([both.path, parts[1]], tmp_path / "x.counts")
    with pytest.raises(OptionError, match="same counts"):
        slmtok.PretokenCounts.load(parts[0], parts[0])
    assert not (tmp_path / "x.counts").exists()
    twice = slmtok.merge_counts([parts[0], parts[0]], tmp_path / "twice.counts", allow_duplicate=True)
    assert twice.sums.pieces[0] == 2 * open_counts(parts[0]).sums.pieces[0]


def test_the_same_documents_under_other_options_are_refused(texts, tmp_path):
    slmtok.count(slmtok.Texts(texts)).save(tmp_path / "a.counts")
    slmtok.count(slmtok.Texts(texts), max_docs=10**6).save(tmp_path / "b.counts")
    with pytest.raises(OptionError, match="hold the same counts"):
        slmtok.merge_counts([tmp_path / "a.counts", tmp_path / "b.counts"], tmp_path / "x.counts")


def test_empty_parts_may_come_twice(parts, tmp_path):
    for name in ("a", "b"):
        slmtok.count(slmtok.Texts([])).save(tmp_path / f"{name}.counts")
    empty = [tmp_path / "a.counts", tmp_path / "b.counts"]
    merged = slmtok.merge_counts([*empty, parts[0]], tmp_path / "c.counts")
    assert merged.digest == open_counts(parts[0]).layout.digest


@pytest.mark.parametrize("option", [{"pattern": "gpt2"}, {"max_doc_chars": 5}, {"separator": "a"}])
def test_counts_that_were_cut_otherwise_are_refused_by_name(texts, parts, tmp_path, option):
    (tmp_path / "a.txt").write_text(texts[0])
    slmtok.count(str(tmp_path / "a.txt"), **option).save(tmp_path / "other.counts")
    with pytest.raises(OptionError, match=next(iter(option))) as caught:
        slmtok.merge_counts([parts[0], tmp_path / "other.counts"], tmp_path / "x.counts")
    assert str(parts[0]) in caught.value.fact and "other.counts" in caught.value.fact


@pytest.mark.parametrize("turned", [False, True])
def test_counts_that_were_cut_otherwise_are_counted_again(texts, tmp_path, monkeypatch, turned):
    """The fix has all options by which the first counts were cut, and a free name."""
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(texts[0])
    slmtok.count("a.txt").save("a.counts")
    slmtok.count("a.txt", pattern="gpt2", max_doc_chars=5).save("b.counts")
    first, second = ("b", "a") if turned else ("a", "b")
    both = [f"{first}.counts", f"{second}.counts"]
    with pytest.raises(OptionError) as caught:
        slmtok.merge_counts(both, "all.counts")
    says, _, call = caught.value.fix.partition(": ")
    options = "max_doc_chars=5, pattern='gpt2'" if turned else "pattern='slm'"
    assert says == f"count the text of {both[1]} again"
    assert call == f"slmtok.count('CORPUS', {options}).save('{second}-2.counts')"
    eval(call.replace("CORPUS", "a.txt"))
    slmtok.merge_counts([both[0], f"{second}-2.counts"], "all.counts", allow_duplicate=True)
    slmtok.count("a.txt", max_doc_chars=5).save("c.counts")
    with pytest.raises(OptionError, match="were counted with different max_doc_chars\n") as caught:
        slmtok.merge_counts(["a.counts", "c.counts"], "others.counts")
    without = "count the text of c.counts again without max_doc_chars"
    assert caught.value.fix == f"{without}: slmtok.count('CORPUS').save('c-2.counts')"


def test_schemes_are_not_mixed(tmp_path):
    for scheme in ("bpe", "byte"):
        slmtok.count(slmtok.Texts(["a b", scheme]), scheme=scheme).save(tmp_path / f"{scheme}.counts")
    with pytest.raises(OptionError, match="different scheme"):
        slmtok.PretokenCounts.load(tmp_path / "bpe.counts", tmp_path / "byte.counts")


def test_options_that_differ_and_cut_nothing_are_told_as_several(texts, tmp_path):
    for name, more in (("a", {}), ("b", {"text_key": "content"})):
        (tmp_path / f"{name}.jsonl").write_text('{"text": "one two", "content": "three"}\n')
        slmtok.count(str(tmp_path / f"{name}.jsonl"), **more).save(tmp_path / f"{name}.counts")
    merged = slmtok.merge_counts([tmp_path / "a.counts", tmp_path / "b.counts"], tmp_path / "c.counts")
    assert merged.head.options["text_key"] == counts_format.DIFFERING
    assert merged.head.options["format"] == "auto"


def test_pruning_is_told_and_repeated(counts, parts, tmp_path):
    merged = slmtok.merge_counts(parts, tmp_path / "pruned.counts", min_count=5)
    kept = [(piece, number) for piece, number in counts.items() if number >= 5]
    back = slmtok.PretokenCounts.load(merged.path)
    assert back.items() == kept
    assert merged.sums.pruned_distinct == counts.distinct - len(kept) > 0
    assert sum(merged.sums.pruned_pieces) + sum(merged.sums.pieces) == counts.pieces
    assert (back.min_count, back.pruned) == (5, (merged.sums.pruned_distinct, sum(merged.sums.pruned_pieces)))
    again = slmtok.merge_counts([merged.path], tmp_path / "again.counts")
    assert (again.head.min_count, again.sums) == (5, merged.sums)
    with pytest.raises(OptionError, match="pruned counts cannot be saved"):
        back.save(tmp_path / "x.counts")


def test_document_totals_are_sums(texts, parts):
    head = open_counts(parts[3]).head
    assert head.totals.documents == len(texts[3::7])
    assert head.totals.bytes == sum(len(text.encode()) for text in texts[3::7])
    joined = counts_format.merge_heads([open_counts(path).head for path in parts])
    assert joined.totals.documents == len(texts)
    assert joined.corpus_digest == slmtok.count(slmtok.Texts(texts)).stats.corpus_digest


def test_a_limit_leaves_no_corpus_digest(texts, tmp_path):
    slmtok.count(slmtok.Texts(texts), max_bytes=1000).save(tmp_path / "cut.counts")
    head = open_counts(tmp_path / "cut.counts").head
    assert head.corpus_digest is None
    assert head.totals.bytes <= 1000


def test_every_changed_byte_is_found(tmp_path):
    path = tmp_path / "small.counts"
    slmtok.count(slmtok.Texts(["one two", "two three"])).save(path)
    data = path.read_bytes()
    for at in range(len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :])
        with pytest.raises((CorruptFile, UnsupportedVersion)):
            slmtok.PretokenCounts.load(path)
    for length in range(0, len(data), 7):
        path.write_bytes(data[:length])
        with pytest.raises(CorruptFile):
            slmtok.PretokenCounts.load(path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda head: head.replace(b'"behaviour":1', b'"behaviour":9'), "behaviour 9"),
        (lambda head: head.replace(b'"16.0.0"', b'"17.0.0"'), "Unicode version '17.0.0'"),
        (lambda head: head.replace(b'"scheme":"bpe"', b'"scheme":"xyz"'), "scheme 'xyz'"),
        (lambda head: head.replace(b'"documents":2', b'"documents":-2', 1), "documents is -2, expected an integer"),
        (lambda head: head.replace(b'"format":', b'"format": '), "canonical"),
        (lambda head: head.replace(b"slmtok-counts", b"slmtok-others"), "format is 'slmtok-others'"),
        (lambda head: head.replace(b'"domains":', b'"ranges":'), "the key 'domains' is missing"),
        (lambda head: head[:-3], "not JSON"),
    ],
)
def test_heads_that_say_what_no_writer_says(tmp_path, change, told):
    path = tmp_path / "a.counts"
    slmtok.count(slmtok.Texts(["one two", "two three"])).save(path)
    layout = counts_format.read_layout(path)
    body = path.read_bytes()[slice(*layout.body)]
    forged = tmp_path / "forged.counts"
    counts_format.write_file(forged, change(layout.head), lambda put: (put(body), (0, [], 0, []))[1], (), force=False)
    with pytest.raises((CorruptFile, UnsupportedVersion), match=told):
        slmtok.PretokenCounts.load(forged)


def test_bodies_that_contradict_themselves(tmp_path):
    path = tmp_path / "a.counts"
    slmtok.count(slmtok.Texts(["one two", "two three"])).save(path)
    layout = counts_format.read_layout(path)
    body = path.read_bytes()[slice(*layout.body)]
    for changed in (body[:-40], bytes([body[0] ^ 1]) + body[1:], body[:-8] + b"\xff" * 8, b""):
        forged = tmp_path / "forged.counts"

        def put_body(put, changed=changed):
            put(changed)
            return 0, [], 0, []

        counts_format.write_file(forged, layout.head, put_body, (), force=True)
        with pytest.raises(CorruptFile, match="not a valid counts file"):
            slmtok.PretokenCounts.load(forged)


def test_files_that_are_something_else(tmp_path, counts, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("no counts at all, but long enough to be looked at" * 9)
    for output in ("all.counts", "all-2.counts"):
        with pytest.raises(CorruptFile, match=rf"does not begin as one\n[^\0]* -o {output} makes one  # CORPUS: "):
            slmtok.PretokenCounts.load(tmp_path / "a.txt")
        (tmp_path / output).touch()
    with pytest.raises(MissingInput):
        slmtok.PretokenCounts.load(tmp_path / "b.counts")
    with pytest.raises(MissingInput, match="no counts file is named"):
        slmtok.PretokenCounts.load()
    counts.save(tmp_path / "c.counts")
    with pytest.raises(OutputExists):
        counts.save(tmp_path / "c.counts")
    with pytest.raises(OptionError, match="is also the input"):
        slmtok.merge_counts([tmp_path / "c.counts"], tmp_path / "c.counts", force=True)


def test_items_are_those_of_plain_counting(texts, counts):
    pattern = counts.native.pattern
    plain: Counter[bytes] = Counter()
    for text in texts:
        data, ends = text.encode(), pattern.split(text).tolist()
        plain.update(data[start:end] for start, end in itertools.pairwise(ends))
    assert counts.items() == sorted(plain.items())


def test_numbers_beyond_32_bits_survive(tmp_path):
    from slmtok import _engine

    native = _engine.Counts.from_items(_engine.Pattern("slm"), [(b"abc", 3_000_000_000), (b"xyz", 1 << 40)])
    counts = dataclasses.replace(slmtok.count(slmtok.Texts(["a"])), native=native)
    counts.save(tmp_path / "large.counts")
    assert slmtok.PretokenCounts.load(tmp_path / "large.counts").items() == [(b"abc", 3_000_000_000), (b"xyz", 1 << 40)]


def test_a_small_file_does_not_unpack_beyond_the_memory(tmp_path, monkeypatch):
    from slmtok import _engine
    from slmtok.training import counts as module

    pieces = [(b"ab" * 10_000 + number.to_bytes(2, "big"), 3) for number in range(2000)]
    native = _engine.Counts.from_items(_engine.Pattern("whole"), pieces)
    path = tmp_path / "small.counts"
    dataclasses.replace(slmtok.count(slmtok.Texts(["a"]), pattern="whole"), native=native).save(path)
    # The first piece, then some bytes for each of the others.
    assert path.stat().st_size < 60_000
    assert slmtok.PretokenCounts.load(path).items() == pieces

    monkeypatch.setattr(module, "free_memory", lambda: 80_000_000)
    with pytest.raises(NotEnoughMemory, match=r"more than 20\.0 MB") as raised:
        slmtok.PretokenCounts.load(path)
    assert raised.value.fields["bytes"] < 20_100_000 and str(path) in str(raised.value.fix)
