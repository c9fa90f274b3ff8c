"""Domains: a column of counts each, and weights that are exact."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path

import pytest

import slmtok
from slmtok.errors import OptionError, UnknownName, WrongType


@pytest.fixture(scope="module")
def folder(tmp_path_factory, texts) -> Path:
    folder = tmp_path_factory.mktemp("domains")
    for number, text in enumerate(texts[:20]):
        (folder / f"{number}.txt").write_text(text)
        (folder / f"{number}.py").write_text(f"def f{number}(value):\n    return value * {number}\n" * 5)
    return folder


@pytest.fixture(scope="module")
def mixed(folder) -> slmtok.PretokenCounts:
    return slmtok.count(folder, domains={"code": "*.py"})


def test_domains_are_counted_apart_and_add_up(folder, mixed):
    whole = slmtok.count(folder)
    assert mixed.items() == whole.items()
    assert (mixed.totals, mixed.stats.corpus_digest) == (whole.totals, whole.stats.corpus_digest)
    code = slmtok.count(str(folder / "*.py"))
    assert [(part.name, part.documents) for part in mixed.domains] == [("code", 20), ("other", 20)]
    assert mixed.domains[0].native.items() == code.items()


def test_weight_two_is_the_domain_given_twice(folder, mixed, tmp_path):
    shutil.copytree(folder, tmp_path / "copy", ignore=shutil.ignore_patterns("*.txt"))
    twice = slmtok.count([str(folder), str(tmp_path / "copy")])
    assert (
        slmtok.train(mixed, vocab_size=600, mix={"code": 2}).fingerprint
        == slmtok.train(twice, vocab_size=600).fingerprint
    )
    assert (
        slmtok.train(mixed, vocab_size=600, mix={"code": 0}).fingerprint
        == slmtok.train(slmtok.count(str(folder / "*.txt")), vocab_size=600).fingerprint
    )


def test_halves_are_exact(mixed):
    half = mixed.mixed({"code": "1/2"})
    double = mixed.mixed({"other": 2})
    assert (half.scale, double.scale) == (2, 1)
    assert half.items() == double.items()
    # A least count of 2 means the same occurrences in both, though one has all numbers doubled.
    assert (
        slmtok.train(mixed, vocab_size=600, mix={"code": 0.5}, min_count=2).fingerprint
        == slmtok.train(mixed, vocab_size=600, mix={"other": 2}, min_count=4).fingerprint
    )
    assert slmtok.train(mixed, vocab_size=600, mix={"code": Fraction(1, 2)}).options["mix"] == ["code=1/2", "other=1"]


def test_temperature_evens_out_sizes(mixed):
    same = mixed.mixed(temperature=1)
    assert same.items() == mixed.items()
    even = mixed.mixed(temperature=1000)
    sizes = {part.name: part.bytes for part in mixed.domains}
    weights = {name: Fraction(value) for name, value in (entry.split("=") for entry in even.options["mix"])}
    assert weights[max(sizes, key=sizes.__getitem__)] == 1
    weighed = [float(weights[name]) * size for name, size in sizes.items()]
    assert max(weighed) / min(weighed) < 1.01


def test_files_keep_the_columns(mixed, folder, tmp_path):
    mixed.save(tmp_path / "mixed.counts")
    back = slmtok.PretokenCounts.load(tmp_path / "mixed.counts")
    assert back.sha256 == mixed.sha256
    assert slmtok.train(back, vocab_size=600, mix={"code": "1/3"}) == slmtok.train(
        mixed, vocab_size=600, mix={"code": "1/3"}
    )
    with pytest.warns(UserWarning, match="domain 'web' has no document"):
        slmtok.count(str(folder / "*.py"), domains={"web": "*.html"}).save(tmp_path / "more.counts")
    merged = slmtok.merge_counts([tmp_path / "more.counts", tmp_path / "mixed.counts"], tmp_path / "all.counts")
    assert [domain.name for domain in merged.head.domains] == ["code", "other", "web"]
    assert merged.sums.pieces[0] == mixed.domains[0].native.pieces


def test_limits_on_the_corpus_go_by_its_order(folder):
    limited = slmtok.count(folder, domains={"code": "*.py"}, max_docs=7)
    plain = slmtok.count(folder, max_docs=7)
    assert limited.items() == plain.items()
    assert not limited.stats.complete


def test_what_cannot_be_weighed(mixed, counts, tmp_path):
    refused = [
        ({"mix": {"cod": 2}}, UnknownName, "unknown domain 'cod'; did you mean 'code'"),
        ({"mix": {"code": 2}, "temperature": 2}, OptionError, "together"),
        ({"mix": {"code": 0, "other": 0}}, OptionError, "leaves no domain"),
        ({"mix": {"code": "1/999999937", "other": "1/999999929"}}, OptionError, "common denominator"),
        *(({"mix": {"code": wrong}}, OptionError, "weight") for wrong in (-1, "x", "1/0", float("nan"))),
        ({"mix": {"code": None}}, WrongType, "code"),
        ({"temperature": 0}, OptionError, "temperature="),
    ]
    for options, error, match in refused:
        with pytest.raises(error, match=match):
            slmtok.train(mixed, vocab_size=600, **options)
    with pytest.raises(OptionError, match="has no domains"):
        slmtok.train(counts, vocab_size=600, mix={"code": 2})
    with pytest.raises(OptionError, match="weights cannot be saved"):
        mixed.mixed({"code": 2}).save(tmp_path / "x.counts")
    with pytest.raises(OptionError, match="come from no file"):
        slmtok.count(slmtok.Texts(["a"]), domains={"code": "*.py"})


def test_a_weight_of_other_files_is_refused_where_there_are_none(tmp_path, monkeypatch) -> None:
    """The weight changed nothing, and no word was said of `other`."""
    monkeypatch.chdir(tmp_path)
    for name in ("en", "fr"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text("the cat sat on the mat " * 20)
    both = {"en": "en/**", "fr": "fr/**"}
    options = {"vocab_size": 280, "domains": both, "allow_smaller": True}
    with pytest.raises(OptionError, match="has no effect: each file of the corpus is of a domain other than") as caught:
        slmtok.train(["en", "fr"], mix={"other": 3}, **options)
    assert (caught.value.limit, caught.value.fix) == ("domains with files: en, fr", "leave mix={'other': 3} out")
    slmtok.train(["en", "fr"], mix={"other": 0, "en": 2}, **options)
