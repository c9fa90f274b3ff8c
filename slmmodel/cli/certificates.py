"""Certificates of evaluations (docs/formats/certificate.md): the file, what it may hold, and how it is read."""

from __future__ import annotations

from typing import Any

from slmmodel.versions import package_version
from slmtok import schema
from slmtok.cli.output import finite
from slmtok.envelope import BASELINES, Envelope, load_payload

KIND = "certificate"
_NUMBER, _TEXT = schema.nullable(schema.number), schema.nullable(schema.text)
_PAYLOAD = schema.table(
    {
        "bpb_total": _NUMBER,
        "bpb_content": _NUMBER,
        "interval": schema.nullable(
            schema.table(
                {
                    **dict.fromkeys(("low", "high", "level"), _NUMBER),
                    **dict.fromkeys(("unit", "of", "method"), schema.text),
                    "n_units": schema.integer(),
                }
            )
        ),
        "sums": schema.table(
            {
                **dict.fromkeys(("documents", "bytes", "targets", "content_targets"), schema.integer()),
                **dict.fromkeys(("nats_content", "nats_special"), _NUMBER),
            }
        ),
        "conversions": schema.mapping(schema.nullable(schema.finite)),
        "model": schema.table({"weights": schema.digest, "arch": schema.text}),
        "tokenizer": schema.table({"fingerprint": schema.digest, "file": schema.nullable(schema.digest)}),
        "documents": schema.table(
            {
                "digest": schema.nullable(schema.text),
                "data": schema.nullable(schema.text),
                "split": schema.text,
                "frame": _TEXT,
                "bytes_from": schema.choice("source", "derived"),
            }
        ),
        "scoring": schema.table(
            {
                "seq_len": schema.either("an integer or 'unlimited'", schema.integer(1), schema.choice("unlimited")),
                "stride": schema.nullable(schema.integer(1)),
                "positions": schema.text,
                "precision": schema.choice("fp32", "bf16", "fp16"),
            }
        ),
        "versions": schema.mapping(schema.text),
    },
    {"baselines": schema.nullable(BASELINES), "breakdown": schema.mapping(schema.array(schema.mapping(schema.plain)))},
)


def load_certificate(path: str) -> dict[str, Any]:
    """The payload of a certificate. Raises `CorruptFile`, `UnsupportedVersion`, `MissingInput`, `Unreadable`."""
    return load_payload(path, KIND, _PAYLOAD, allow_floats=True)


def format_bits(value: float | None) -> str:
    """Bits per byte of a certificate, whose null stands for a number that is not finite."""
    return "not finite" if value is None else f"{value:.4f}"


def to_envelope(payload: dict[str, Any]) -> Envelope:
    """The file of a certificate."""
    inputs = {
        "weights": payload["model"].get("weights"),
        "tokenizer": payload["tokenizer"].get("fingerprint"),
        "documents": payload["documents"].get("digest"),
        "data": payload["documents"].get("data"),
    }
    return envelope_of(KIND, inputs, payload)


def envelope_of(kind: str, inputs: dict[str, Any], payload: dict[str, Any]) -> Envelope:
    """A file of this package, in the form that all results share. Numbers that are not finite become null."""
    return Envelope(kind, inputs, finite(payload), f"slmmodel {package_version()}")
