"""Certificates: equal scores give equal certificates, and every falsified field is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import made_shards as made
import pytest

torch = pytest.importorskip("torch")

from stub_models import Context  # noqa: E402

from slmmodel.cli.eval import to_envelope  # noqa: E402
from slmmodel.errors import BytesDisagree  # noqa: E402
from slmmodel.evaluation.certificate import certificate, differences  # noqa: E402
from slmmodel.evaluation.scoring import Scores, score  # noqa: E402
from slmtok.envelope import read_envelope  # noqa: E402


def scored() -> Scores:
    return score(Context(made.N_VOCAB), made.source([20] * 25), made.vocab(), seq_len=8)


def content(scores: Scores | None = None) -> dict[str, Any]:
    return certificate(
        scores or scored(),
        model={"weights": "w" * 64},
        tokenizer={"fingerprint": made.FINGERPRINT},
        documents={"digest": "d" * 64, "bytes_from": "source"},
        scoring={"seq_len": 8, "stride": 4},
        versions={"torch": "x"},
    )


def test_a_certificate_is_confirmed_by_computing_it_again() -> None:
    stated = read_envelope(to_envelope(content()).to_bytes(), "certificate", "val.json", allow_floats=True).payload
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


def test_rounding_is_not_a_difference() -> None:
    stated = json.loads(json.dumps(content()))
    stated["sums"]["nats_content"] *= 1 + 1e-9
    assert differences(stated, content()) == []
    stated.update(bpb_total=None, bpb_content=None)
    assert len(differences(stated, content())) == 2


def test_no_certificate_where_bytes_disagree() -> None:
    scores = scored()
    wrong = Scores(scores.nats, scores.targets, scores.nbytes, scores.offsets, scores.doc_bytes + 1)
    with pytest.raises(BytesDisagree):
        content(wrong)


def test_the_envelope() -> None:
    """docs/formats/envelope.md: keys in order, digests of the inputs, no infinite numbers, equal bytes."""
    data = to_envelope({**content(), "bpb_total": float("inf")}).to_bytes()
    envelope = json.loads(data)
    assert list(envelope) == ["kind", "version", "tool", "inputs", "payload", "sha256"]
    assert (envelope["kind"], envelope["version"]) == ("certificate", 2)
    assert envelope["inputs"]["weights"] == "w" * 64 and envelope["payload"]["bpb_total"] is None
    assert to_envelope(content()).to_bytes() == to_envelope(content()).to_bytes() and data.endswith(b"}\n")
