"""Training from Python: sizes, limits, reports, refusals; equal results from equal documents."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from story_texts import story_texts

import slmtok
from slmtok import _engine, errors
from slmtok.training import PretokenCounts, train_with_report


def texts(number: int = 60) -> list[str]:
    source = random.Random(7)
    words = ["".join(source.choices("abcdefgh", k=source.randint(1, 7))) for _ in range(80)]
    return [" ".join(source.choices(words, k=60)) for _ in range(number)]


def trained(corpus: Any, vocab: int = 330, **options: Any) -> bytes:
    return slmtok.train(corpus, vocab_size=vocab, **options).to_bytes()


def test_one_result_for_all_threads_orders_and_containers(tmp_path: Path) -> None:
    documents = texts()
    wanted = slmtok.train(slmtok.Texts(documents), vocab_size=330)
    shuffled = random.Random(1).sample(documents, len(documents))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in shuffled))
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress((tmp_path / "a.jsonl").read_bytes()))
    (tmp_path / "c.lines").write_text("\n".join(documents))
    folder = tmp_path / "folder"
    folder.mkdir()
    for index, text in enumerate(shuffled):
        (folder / f"{index}.txt").write_text(text)
    corpora: list[Any] = [slmtok.Texts(shuffled), iter(documents), tmp_path / "a.jsonl", str(tmp_path / "b.jsonl.gz")]
    corpora += [tmp_path / "c.lines", folder, [tmp_path / "a.jsonl"], (text.encode() for text in documents)]
    for corpus in corpora:
        tok = slmtok.train(corpus, vocab_size=330, threads=random.Random(2).choice([1, 2, 3]))
        assert tok.fingerprint == wanted.fingerprint
        assert tok.provenance == wanted.provenance
    assert slmtok.count(tmp_path / "c.lines").sha256 == wanted.provenance["counts_sha256"]


def test_digest_counts_repeats_and_not_order() -> None:
    a, b, c = (
        slmtok.count(slmtok.Texts(rows)).stats.corpus_digest for rows in (["x", "y"], ["y", "x"], ["x", "y", "y"])
    )
    assert a == b
    assert a != c
    assert slmtok.count(slmtok.Texts(["x", "y"]), max_bytes=1).stats.corpus_digest is None


def test_vocab_is_the_final_total() -> None:
    corpus = slmtok.Texts(texts())
    for vocab in (272, 273, 300):
        assert slmtok.train(corpus, vocab_size=vocab).n_vocab == vocab
    for vocab in (0, 200, 271):
        with pytest.raises(errors.VocabularyTooSmall) as caught:
            slmtok.train(corpus, vocab_size=vocab)
        assert "272 = 16 specials + 256 bytes" in str(caught.value)
        assert f"vocab_size={vocab} is below the minimum size for scheme bpe" in str(caught.value)


def test_too_small_a_corpus() -> None:
    corpus = slmtok.Texts(["abab abab abc"])
    with pytest.raises(errors.CorpusTooSmall) as caught:
        slmtok.train(corpus, vocab_size=8192)
    supported = caught.value.fields["supported"]
    assert isinstance(supported, int)
    assert str(caught.value).splitlines()[0] == f"corpus supports {supported} ids, vocab_size asked for 8192"
    assert f"merge {supported - 272} of 7920; the next best pair occurs once" in str(caught.value)
    # No lower count makes thousands of ids of a few hundred.
    assert f"fix:   vocab_size={supported}, or allow_smaller=True" in str(caught.value)
    with pytest.raises(errors.CorpusTooSmall, match="or min_count=1, which may suffice, or allow_smaller=True"):
        slmtok.train(corpus, vocab_size=2 * supported)
    assert slmtok.train(corpus, vocab_size=8192, allow_smaller=True).n_vocab == supported
    assert slmtok.train(corpus, vocab_size=supported).n_vocab == supported
    with pytest.raises(errors.CorpusTooSmall, match="no pair is left"):
        slmtok.train(corpus, vocab_size=8192, min_count=1)
    with pytest.raises(errors.CorpusTooSmall, match="token 1 of 100; the next best piece occurs once"):
        slmtok.train(slmtok.Texts(["ab ab cd"]), vocab_size=372, scheme="word")


def test_nothing_to_train_on() -> None:
    with pytest.raises(errors.CorpusTooSmall, match="the corpus is empty: 0 documents of 0 bytes"):
        slmtok.train(slmtok.Texts([]), vocab_size=300)
    with pytest.raises(errors.CorpusTooSmall, match="the corpus is empty: 1 document of 0 bytes"):
        slmtok.train(slmtok.Texts([""]), vocab_size=272)


def test_merges_never_cross_documents() -> None:
    tok = slmtok.train(slmtok.Texts(["ab", "ab"] * 50), vocab_size=274, pattern="whole", allow_smaller=True)
    assert [tok.token_bytes(id) for id in range(272, tok.n_vocab)] == [b"ab"]


def test_limits_and_requirements() -> None:
    corpus = story_texts()
    tok = slmtok.train(
        slmtok.Texts(corpus),
        vocab_size=340,
        max_token_bytes=5,
        forbid_regex="th",
        require=["zebra", "fox"],
        allow_smaller=True,
    )
    learned = [token for _, token in tok.vocabulary.items()][256:]
    assert b"zebra" in learned
    assert not [token for token in learned if b"th" in token]
    assert max(len(token) for token in learned) <= 5
    assert tok.encode_list("zebra") == [tok.token_id(b"zebra")]
    assert tok.options["require"] == ["emVicmE=", "Zm94"]
    with pytest.raises(errors.RequiredToken):
        slmtok.train(slmtok.Texts(corpus), vocab_size=340, require=["two words"])
    with pytest.raises(errors.RequiredTooMany):
        slmtok.train(slmtok.Texts(corpus), vocab_size=274, require=["zebra"])
    with pytest.raises(errors.WrongType, match="many tokens"):
        slmtok.train(slmtok.Texts(corpus), vocab_size=274, require="zebra")


def test_bad_corpora(tmp_path: Path) -> None:
    with pytest.raises(errors.WrongType, match="text 1 is int"):
        slmtok.train(slmtok.Texts(["a", 1]), vocab_size=272)  # type: ignore[list-item]
    with pytest.raises(errors.WrongType, match="list of paths"):
        slmtok.train(iter([Path("a")]), vocab_size=272)  # type: ignore[arg-type]
    with pytest.raises(errors.WrongType, match="cannot be int"):
        slmtok.train(7, vocab_size=272)  # type: ignore[arg-type]
    with pytest.raises(errors.WrongType, match="one"):
        slmtok.Texts("text")
    with pytest.raises(errors.InvalidText, match="text 1 has a lone surrogate"):
        slmtok.train(slmtok.Texts(["a", "\udc00"]), vocab_size=272)
    with pytest.raises(errors.MissingInput):
        slmtok.train(tmp_path / "none.txt", vocab_size=272)


def test_specials_are_named_at_training() -> None:
    tok = slmtok.train(slmtok.Texts(texts()), vocab_size=300, special={"bos": "<|bos|>", "user": "<|user|>"})
    assert tok.specials.text("bos") == "<|bos|>"
    assert tok.specials["user"] == 6
    assert tok.fingerprint == slmtok.train(slmtok.Texts(texts()), vocab_size=300).fingerprint


def test_counts_train_many_times() -> None:
    counts = slmtok.count(slmtok.Texts(texts()))
    assert counts.documents == 60
    assert counts.bytes == sum(len(text) for text in texts())
    assert counts.distinct == len(counts) == len(counts.items())
    assert counts.pieces == sum(count for _, count in counts.items())
    assert slmtok.train(counts, vocab_size=330).to_bytes() == trained(slmtok.Texts(texts()))
    assert (
        slmtok.train(counts, vocab_size=300).fingerprint
        == slmtok.slice(slmtok.train(counts, vocab_size=330), 300).fingerprint
    )


def test_report(tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.txt").write_bytes(story_texts()[0].encode())
    (folder / "b.txt").write_bytes(b"bad \xff byte")
    (folder / "c.jsonl").write_bytes(b'{"text":"one"}\n{"text":"two \\u00e9"}\nbroken\n')
    stages: list[tuple[str, int, int]] = []
    with pytest.warns(UserWarning) as warned:
        trained = train_with_report(
            folder, vocab_size=380, skip_malformed=True, progress=lambda *row: stages.append(row)
        )
    assert [str(each.message)[:19] for each in warned] == ["1 invalid byte in 1", "1 malformed record "]
    tok, report, counts, learned = trained.tokenizer, trained.report, trained.counts, trained.learned
    assert (report.files, report.documents, report.skipped_records) == (3, 4, 1)
    assert (report.invalid_bytes, report.invalid_documents) == (1, 1)
    assert report.first_invalid == (str(folder / "b.txt"), 0, 4)
    assert report.bytes == counts.bytes == report.sample_bytes
    assert report.learned == len(learned.merges) == 108
    assert report.first_tokens[0] == tok.token_bytes(272)
    assert len(report.longest_tokens[0]) == max(map(len, report.longest_tokens))
    assert report.bytes_per_token is not None
    assert 1 < report.bytes_per_token < 10
    assert report.peak_memory is None or report.peak_memory > 1 << 20
    assert json.loads(json.dumps(report.to_dict()))["documents"] == 4
    assert report.counts_sha256 == tok.provenance["counts_sha256"]
    assert stages


def test_capped_and_cut_corpora() -> None:
    report = train_with_report(
        slmtok.Texts(["abcdefgh " * 10] * 20), vocab_size=280, max_doc_chars=18, allow_smaller=True
    ).report
    assert (report.capped_documents, report.capped_bytes) == (20, 20 * 72)
    report = train_with_report(
        slmtok.Texts(["abcdefgh " * 10] * 20), vocab_size=280, max_bytes=100, allow_smaller=True
    ).report
    assert report.bytes == 100
    assert not report.complete


def test_gaps_are_kept_and_reported() -> None:
    trained = train_with_report(slmtok.Texts(["ab, cd! " * 30]), vocab_size=275, pattern="[a-z]+", allow_smaller=True)
    report = trained.report
    assert dict(trained.counts.items()) == {b"ab": 30, b"cd": 30, b", ": 30, b"! ": 30}
    assert (report.gap_pieces, report.gap_bytes) == (60, 120)


def test_progress_is_over_the_whole_corpus(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("the cat sat on the mat " * 200_000)
    rows: list[tuple[str, int, int]] = []
    slmtok.train(tmp_path, vocab_size=280, progress=lambda *row: rows.append(row))
    counted = [(done, total) for stage, done, total in rows if stage == "count"]
    assert {total for _, total in counted} == {2 * 200_000 * 23}
    assert counted == sorted(counted)
    assert [stage for stage, _, _ in rows][-1] == "merge"


def test_backtracking_limit_and_overflow() -> None:
    with pytest.raises(errors.PatternGaveUp, match="backtracking"):
        slmtok.train(slmtok.Texts(["a" * 40 + "c"]), vocab_size=272, pattern=r"(?=(a+)+b)a|(a+)+(?!c)b")
    with pytest.raises(errors.CountOverflow, match="64 bits"):
        _engine.Counts.from_items(_engine.Pattern("gpt2"), [(b"ab", 2**64 - 1), (b"ab", 1)])


def test_counts_beyond_32_bits() -> None:
    items = [(b"ab", 3_000_000_000), (b"bc", 2**40), (b"abc", 5)]
    counts = PretokenCounts(_engine.Counts.from_items(_engine.Pattern("gpt2"), items))
    tok = slmtok.train(counts, vocab_size=274)
    assert [tok.token_bytes(272), tok.token_bytes(273)] == [b"bc", b"ab"]


def test_a_progress_callback_can_stop(tmp_path: Path) -> None:
    class EnoughError(Exception):
        pass

    def stop(stage: str, done: int, total: int) -> None:
        raise EnoughError

    with pytest.raises(EnoughError):
        slmtok.train(slmtok.Texts(texts()), vocab_size=330, progress=stop)
