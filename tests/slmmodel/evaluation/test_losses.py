"""Files of losses, the paired comparison, and tables of where the bits go."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import made_shards as made
import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from safetensors.numpy import save  # noqa: E402
from stub_models import Context, Unigram  # noqa: E402

from slmmodel.errors import CorruptFile, InvalidConfig, Mismatch, MissingInput  # noqa: E402
from slmmodel.evaluation import breakdown, comparison  # noqa: E402
from slmmodel.evaluation.scoring import (  # noqa: E402
    LN2,
    Scores,
    score,
)

VOCAB = made.vocab()
SIZES = [30, 0, 5, 12] * 6
ABOUT = {"documents": "d" * 64}


def scored(seed: int, sizes: list[int] = SIZES, context: int = 8) -> Scores:
    return score(Context(made.N_VOCAB, seed), made.source(sizes), VOCAB, seq_len=context)


def written(tmp_path: Path, scores: Scores, about: dict[str, Any] = ABOUT, name: str = "a.loss") -> comparison.Losses:
    (tmp_path / name).write_bytes(comparison.losses_to_bytes(scores, about))
    return comparison.read_losses(tmp_path / name)


def test_a_file_of_losses_comes_back(tmp_path: Path) -> None:
    scores = scored(0)
    back = written(tmp_path, scores)
    assert back.about["documents"] == ABOUT["documents"]
    np.testing.assert_array_equal(back.scores.nats, scores.nats.astype(np.float32))
    for name in ("nbytes", "offsets", "doc_bytes"):
        np.testing.assert_array_equal(getattr(back.scores, name), getattr(scores, name))
    assert back.scores.bpb_total == pytest.approx(scores.bpb_total, rel=1e-7)
    assert comparison.losses_to_bytes(scores, ABOUT) == comparison.losses_to_bytes(scored(0), ABOUT)


def arrays(**changes: Any) -> dict[str, Any]:
    found = {
        "nats": np.ones(3, np.float32),
        "nbytes": np.ones(3, np.uint32),
        "offsets": np.array([0, 1, 3], np.uint64),
        **changes,
    }
    return {name: array for name, array in found.items() if array is not None}


@pytest.mark.parametrize(
    ("content", "about", "match"),
    [
        (arrays(nats=np.ones(2, np.float32)), None, "offsets that do not fit"),
        (arrays(nats=arrays()["nats"][:, None]), None, "arrays of several dimensions"),
        (arrays(nats=arrays()["nats"] * np.float32("nan")), None, "a loss of nan nats at target 0"),
        (arrays(nats=-arrays()["nats"] - 1), None, "nats at target 0"),
        (arrays(offsets=np.array([1, 3], np.uint64)), None, "offsets that do not fit"),
        (arrays(offsets=np.array([0, 4, 3], np.uint64)), None, "offsets that do not fit"),
        (arrays(nats=np.ones(3, np.float64)), None, "in their types"),
        (arrays(nbytes=None), None, "in their types"),
        (arrays(), {"format": "x"}, "has format 'x'"),
    ],
)
def test_damaged_files(tmp_path: Path, content: dict[str, Any], about: dict[str, Any] | None, match: str) -> None:
    said = {"format": "slm-losses", "version": 1, **(about or {})}
    (tmp_path / "x.loss").write_bytes(save(content, {"about": json.dumps(said)}))
    with pytest.raises(CorruptFile, match=match):
        comparison.read_losses(tmp_path / "x.loss")


@pytest.mark.parametrize("size", [150, -1])
def test_a_file_that_is_cut_off(tmp_path: Path, size: int) -> None:
    path = tmp_path / "a.loss"
    whole = comparison.losses_to_bytes(scored(0), ABOUT)
    path.write_bytes(whole[:size])
    with pytest.raises(CorruptFile, match=r"a.loss is cut off: it has [\d,]+ bytes, by its header ") as error:
        comparison.read_losses(path)
    assert f"--losses {path} --force" in str(error.value)
    assert size > 0 or f"by its header {len(whole):,}" in str(error.value)


def test_no_file_and_no_safetensors(tmp_path: Path) -> None:
    with pytest.raises(MissingInput, match="does not exist"):
        comparison.read_losses(tmp_path / "none.loss")
    with pytest.raises(MissingInput, match="is a folder"):
        comparison.read_losses(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(MissingInput, match="pipe' is no regular file, not a file of losses"):
            comparison.read_losses(tmp_path / "pipe")
    (tmp_path / "x.loss").write_bytes(b"nothing of the kind")
    with pytest.raises(CorruptFile, match="is not a file of losses"):
        comparison.read_losses(tmp_path / "x.loss")


@pytest.mark.parametrize("content", [False, True])
def test_a_model_against_itself_and_another(tmp_path: Path, content: bool) -> None:
    a, b = written(tmp_path, scored(0)), written(tmp_path, scored(1))
    same = comparison.compare(a, a, content=content, resamples=100)
    assert (same.difference, same.a_better) == (0, 0)
    assert same.interval is not None and (same.interval.low, same.interval.high) == (0, 0)
    found, other = (comparison.compare(*pair, content=content, resamples=200) for pair in ((a, b), (b, a)))
    assert found.difference == pytest.approx(found.bpb_a - found.bpb_b)
    assert found.difference == pytest.approx(-other.difference)
    assert found.interval is not None and other.interval is not None
    assert found.interval.low == pytest.approx(-other.interval.high)
    assert found.interval.low < found.difference < found.interval.high
    assert found.bpb_a == pytest.approx(a.scores.bpb_content if content else a.scores.bpb_total)


def test_scores_compare_by_their_losses() -> None:
    a = scored(0)
    assert a == replace(a, nats=a.nats.copy()) and a != replace(a, nats=a.nats + 1)
    assert a != replace(a, documents="another") and a != 1


def test_pairing_makes_the_interval_narrow(tmp_path: Path) -> None:
    a = scored(0)
    b = Scores(a.nats * 1.01, a.targets, a.nbytes, a.offsets, a.doc_bytes)
    found = comparison.compare(comparison.Losses(a, {}), comparison.Losses(b, {}), resamples=200)
    assert found.interval is not None and found.interval.high < 0
    assert found.interval.high - found.interval.low < 0.02 * found.bpb_a


def test_few_documents_are_compared_by_bytes() -> None:
    made_a = scored(0, [3000, 70000], 64)
    made_b = scored(1, [3000, 70000], 64)
    found = comparison.compare(comparison.Losses(made_a, {}), comparison.Losses(made_b, {}), resamples=100)
    assert found.interval is not None and found.interval.unit == "4096 bytes"


def test_too_few_resamples_for_an_interval_are_refused() -> None:
    a, b = (comparison.Losses(scored(seed), {}) for seed in (0, 1))
    with pytest.raises(ValueError, match="resamples") as caught:
        comparison.compare(a, b, resamples=1)
    assert "fix:   resamples=100" in str(caught.value)
    assert comparison.compare(a, b, resamples=100).interval is not None


def test_documents_without_bytes_have_no_bits_per_byte() -> None:
    no_bytes = np.zeros(30, np.uint32)
    losses = comparison.Losses(Scores(np.ones(30), no_bytes, no_bytes, np.arange(31), no_bytes), {})
    with pytest.raises(InvalidConfig, match="no text to score, in 30 documents"):
        comparison.compare(losses, losses, resamples=100)


def test_other_documents_are_refused() -> None:
    a = comparison.Losses(scored(0), {"documents": "a" * 64})
    with pytest.raises(Mismatch, match="about different documents") as caught:
        comparison.compare(a, comparison.Losses(scored(0, [3, 4]), {}))
    assert "None" not in str(caught.value) and "2 documents with 7 bytes" in str(caught.value)
    one = scored(0, [3])
    assert ", 1 document, 3 bytes)" in repr(one)
    with pytest.raises(Mismatch, match="1 document with 3 bytes"):
        comparison.compare(a, comparison.Losses(one, {}))
    with pytest.raises(Mismatch, match="of the same sizes"):
        comparison.compare(a, comparison.Losses(scored(0), {"documents": "b" * 64}))
    assert comparison.compare(a, comparison.Losses(scored(0), {}), resamples=100).difference == 0
    of_data = [comparison.Losses(replace(scored(0), documents=digest * 64), {}) for digest in "ab"]
    with pytest.raises(Mismatch, match="of the same sizes"):
        comparison.compare(*of_data)
    assert comparison.compare(a, of_data[0], resamples=100).difference == 0


def test_shares_of_every_table_add_up() -> None:
    scores, source = scored(0), made.source(SIZES)
    counts = breakdown.target_counts(source, made.N_VOCAB)
    ids = [int(id) for doc in range(source.n_docs) for id in source.ids(doc, 1, 10**6)]
    assert counts.tolist() == np.bincount(ids, minlength=made.N_VOCAB).tolist()
    tables = (breakdown.by_frequency(scores, counts), breakdown.by_bytes(scores), breakdown.by_position(scores))
    for table in tables:
        assert sum(row["targets"] for row in table) == scores.n_targets  # type: ignore[misc]
        assert sum(row["share_of_bits"] for row in table) == pytest.approx(1)  # type: ignore[misc]


def test_frequency_groups_hold_a_tenth_each_and_the_never_seen_are_named() -> None:
    scores = scored(0)
    counts = np.zeros(made.N_VOCAB, dtype=np.int64)
    counts[100:200] = 7
    counts[2] = 1
    table = breakdown.by_frequency(scores, counts)
    assert table[-1]["group"] == "never" and table[-1]["least_count"] == 0
    assert [row["ids"] for row in table[:3]] == [10, 10, 10] or table[0]["ids"] in (10, 11)
    never = np.isin(scores.targets, np.flatnonzero(counts == 0))
    assert table[-1]["targets"] == int(never.sum())
    assert table[-1]["nats_per_target"] == pytest.approx(scores.nats[never].mean())


def test_positions_bytes_domains_and_the_worst() -> None:
    scores = scored(0)
    places = np.concatenate([np.arange(size + 1) for size in SIZES])
    positions = {row["group"]: row for row in breakdown.by_position(scores)}
    assert positions["0"]["targets"] == len(SIZES)
    inside = (places >= 4) & (places < 8)
    assert positions["4-7"]["nats_per_target"] == pytest.approx(scores.nats[inside].mean())
    assert breakdown.by_bytes(scores)[0]["targets"] == len(SIZES)
    domains = np.arange(len(SIZES)) % 2
    table = breakdown.by_domain(scores, domains, ["even"])
    assert [row["group"] for row in table] == ["even", "1"]
    of_even = (
        (scores.doc_content_nats + scores.doc_special_nats)[domains == 0].sum()
        / LN2
        / scores.doc_bytes[domains == 0].sum()
    )
    assert table[0]["bpb"] == pytest.approx(of_even)
    worst = breakdown.worst_documents(scores, 3)
    rates = (scores.doc_content_nats + scores.doc_special_nats) / LN2 / np.maximum(scores.doc_bytes, 1e-9)
    rates[scores.doc_bytes == 0] = 0
    assert [row["document"] for row in worst] == np.argsort(-rates, kind="stable")[:3].tolist()


def test_a_unigram_model_pays_rare_targets_more() -> None:
    source = made.source([2000])
    counts = breakdown.target_counts(source, made.N_VOCAB)
    scores = score(Unigram(torch.from_numpy(np.log(counts + 0.5)).float()), source, VOCAB, seq_len=64)
    table = breakdown.by_frequency(scores, counts)
    costs = [row["nats_per_target"] for row in table if row["group"] != "never"]
    assert costs == sorted(costs)  # type: ignore[type-var]
