"""The envelope of lock, receipt and audit: equal content gives equal bytes, and every change is noticed."""

from __future__ import annotations

import json

import pytest

from slmtok.envelope import Envelope, content_digest, read_envelope
from slmtok.errors import CorruptFile, UnsupportedVersion

MADE = Envelope("audit", {"tokenizer": "ab", "text": None}, {"verdict": True, "ratio": 0.25, "name": "Ő"})


def test_round_trip() -> None:
    data = MADE.to_bytes()
    assert read_envelope(data, "audit", "a.json", allow_floats=True) == MADE
    assert data == Envelope(MADE.kind, dict(MADE.inputs), dict(MADE.payload), MADE.tool).to_bytes()
    content = json.loads(data)
    assert tuple(content) == ("kind", "version", "tool", "inputs", "payload", "sha256")
    assert content["sha256"] == content_digest(content)
    assert data.endswith(b"\n}\n")


@pytest.mark.parametrize(
    ("old", "new", "kind", "said"),
    [
        (b"true", b"false", CorruptFile, "does not match its sha256"),
        (b'"audit"', b'"lock"', CorruptFile, "wrong kind"),
        (b'"version": 2', b'"version": 1', UnsupportedVersion, "an? audit of version 1; this package reads version 2"),
        (b'"payload"', b'"paid"', CorruptFile, "not a valid audit"),
        (b"{", b"[", CorruptFile, "not JSON"),
        (b"{", b"\xef\xbb\xbf{", CorruptFile, "begins with a byte order mark"),
    ],
)
def test_refusals(old: bytes, new: bytes, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        read_envelope(MADE.to_bytes().replace(old, new, 1), "audit", "a.json", allow_floats=True)


def test_floats_are_refused_unless_allowed() -> None:
    with pytest.raises(CorruptFile, match="integers only"):
        read_envelope(MADE.to_bytes(), "audit", "a.json")


def test_version_1_files_are_refused_in_one_line() -> None:
    with pytest.raises(UnsupportedVersion) as caught:
        read_envelope(b'{"format": "slmtok-lock", "version": 1}', "lock", "tok.lock")
    assert caught.value.fact == "tok.lock is a lock of version 1; this package reads version 2"


def test_half_a_surrogate_pair_is_refused() -> None:
    data = MADE.to_bytes().replace("Ő".encode(), b"\\ud800")
    with pytest.raises(CorruptFile, match="half of a surrogate pair"):
        read_envelope(data, "audit", "a.json", allow_floats=True)
