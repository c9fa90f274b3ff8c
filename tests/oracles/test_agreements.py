"""A comparison is skipped only where the peer, the input and our output are those that agreed."""

from __future__ import annotations

import json

import agreements
import pytest


@pytest.fixture
def record(tmp_path, monkeypatch):
    monkeypatch.setattr(agreements, "RECORD", tmp_path / "agreements.json")
    monkeypatch.delenv("SLMTOK_NIGHTLY", raising=False)
    monkeypatch.setenv("SLMTOK_RECORD", "1")
    agreements.compare("a", "pytest", [b"input", b"output"], lambda: None)
    monkeypatch.delenv("SLMTOK_RECORD")
    return tmp_path / "agreements.json"


def differ():
    pytest.fail("compared in full")


def test_what_agreed_is_not_compared_again(record):
    assert list(json.loads(record.read_text())) == ["a"]
    agreements.compare("a", "pytest", [b"input", b"output"], differ)


@pytest.mark.parametrize(
    ("name", "peer", "parts"),
    [
        ("b", "pytest", [b"input", b"output"]),
        ("a", "numpy", [b"input", b"output"]),
        ("a", "pytest", [b"inputo", b"utput"]),
        ("a", "pytest", [b"input", b"other"]),
    ],
)
def test_anything_else_is_compared(record, name, peer, parts):
    before = record.read_text()
    with pytest.raises(pytest.fail.Exception):
        agreements.compare(name, peer, parts, differ)
    assert record.read_text() == before


def test_another_version_is_compared(record, monkeypatch):
    monkeypatch.setattr(agreements, "version", lambda peer: "0")
    with pytest.raises(pytest.fail.Exception):
        agreements.compare("a", "pytest", [b"input", b"output"], differ)


def test_the_nightly_run_compares_everything(record, monkeypatch):
    monkeypatch.setenv("SLMTOK_NIGHTLY", "1")
    with pytest.raises(pytest.fail.Exception):
        agreements.compare("a", "pytest", [b"input", b"output"], differ)


def test_what_differs_is_not_recorded(record, monkeypatch):
    monkeypatch.setenv("SLMTOK_RECORD", "1")
    before = record.read_text()
    with pytest.raises(pytest.fail.Exception):
        agreements.compare("a", "pytest", [b"input", b"other"], differ)
    assert record.read_text() == before
