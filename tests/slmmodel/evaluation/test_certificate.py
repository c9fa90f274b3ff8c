"""Certificates: the same scores give the same one, and every falsified field is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import made_shards as made
import pytest

torch = pytest.importorskip("torch")

from stub_models import Context  # noqa: E402

from slmmodel.errors import BytesDisagree, CorruptCertificate, MissingInput  # noqa: E402
from slmmodel.evaluation.bpb import score  # noqa: E402
from slmmodel.evaluation.certificate import certificate, contradictions, differences, read  # noqa: E402
from slmmodel.evaluation.scores import Scores  # noqa: E402


def scored() -> Scores:
    return score(Context(made.N_VOCAB), made.source([20] * 25), made.vocab(), context=8)


def content(scores: Scores | None = None) -> dict[str, Any]:
    return certificate(
        scores or scored(),
        model={"weights": "w" * 64},
        tokenizer={"fingerprint": made.FINGERPRINT},
        documents={"digest": "d" * 64, "bytes_from": "source"},
        scoring={"context": 8, "stride": 4},
        versions={"torch": "x"},
    )


def test_a_certificate_is_proven_by_computing_it_again(tmp_path: Path) -> None:
    (tmp_path / "val.json").write_text(json.dumps(content()))
    stated = read(tmp_path / "val.json")
    assert differences(stated, content()) == []
    assert stated["interval"]["low"] < stated["bpb_total"] < stated["interval"]["high"]
    assert stated["interval"]["n_units"] == 25
    assert stated["conversions"]["perplexity_per_byte"] == pytest.approx(2 ** stated["bpb_total"])


FALSIFIED: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda c: c.update(bpb_total=c["bpb_total"] * 0.99), "bpb_total is"),
    (lambda c: c.update(bpb_content=None), "bpb_content is None"),
    (lambda c: c["sums"].update(nats_content=c["sums"]["nats_content"] * 0.99), "sums.nats_content"),
    (lambda c: c["sums"].update(bytes=c["sums"]["bytes"] + 1), "sums.bytes"),
    (lambda c: c["sums"].update(targets=1), "sums.targets is 1"),
    (lambda c: c["model"].update(weights="v" * 64), "model.weights"),
    (lambda c: c["tokenizer"].update(fingerprint="cd"), "tokenizer.fingerprint"),
    (lambda c: c["documents"].update(bytes_from="derived"), "documents.bytes_from is derived; computed source"),
    (lambda c: c["documents"].pop("digest"), "documents.digest"),
    (lambda c: c["scoring"].update(stride=8), "scoring.stride is 8; computed 4"),
]


@pytest.mark.parametrize(("falsify", "match"), FALSIFIED, ids=[match for _, match in FALSIFIED])
def test_each_falsified_field_is_found(falsify: Callable[[dict[str, Any]], object], match: str) -> None:
    stated = json.loads(json.dumps(content()))
    falsify(stated)
    assert any(line.startswith(match) for line in differences(stated, content()))


def test_rounding_is_no_difference() -> None:
    stated = json.loads(json.dumps(content()))
    stated["sums"]["nats_content"] *= 1 + 1e-9
    assert differences(stated, content()) == []
    stated["sums"].update(bytes=0, nats_content=0, nats_special=0)
    stated.update(bpb_total=None, bpb_content=None)
    assert len(contradictions(stated)) == 2


def test_no_certificate_without_the_identity() -> None:
    scores = scored()
    wrong = Scores(scores.nats, scores.targets, scores.nbytes, scores.offsets, scores.doc_bytes + 1)
    with pytest.raises(BytesDisagree):
        content(wrong)


def test_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    with pytest.raises(MissingInput, match="cannot read"):
        read(path)
    sound = json.loads(json.dumps(content()))
    for text, match in (
        ("{", "is not JSON"),
        (json.dumps({**sound, "version": 2}), "version 1"),
        (json.dumps({**sound, "sums": {}}), "lacks one of its sums"),
        (json.dumps({**sound, "model": 3}), "lacks one of model"),
    ):
        path.write_text(text)
        with pytest.raises(CorruptCertificate, match=match):
            read(path)
