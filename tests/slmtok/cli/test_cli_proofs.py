"""`slmtok info` and `slmtok verify` know receipts and certificates, and find out what was changed after them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from slmtok.envelope import read_envelope

if TYPE_CHECKING:
    from conftest import Run


@pytest.fixture
def made(slmtok: Run, tok: Path, corpus: Path, tmp_path: Path) -> Path:
    """A folder with an export, its receipt, and a certificate."""
    assert slmtok("export", tok, "--output-format", "tiktoken", "-o", "out", "--no-verify", "-q").code == 0
    assert slmtok("audit", tok, "--on", corpus, "-q").code == 0
    return tmp_path


def test_sound_ones(slmtok: Run, made: Path) -> None:
    ran = slmtok("verify", "out/export.receipt.json", "audit.json")
    assert ran.code == 0
    assert "receipt of an export, nothing compared, 3 files" in ran.out
    assert "nothing is lost" in ran.out
    assert "the receipt of an export" in slmtok("info", "out/export.receipt.json").out
    assert "the certificate of an audit" in slmtok("info", "audit.json").out
    result = slmtok("info", "audit.json", "--json").json["result"]
    assert (result["kind"], result["tool"].split()[0]) == ("slmtok-audit", "slmtok")


def test_a_file_that_was_changed_or_is_gone(slmtok: Run, made: Path) -> None:
    side = made / "out" / "out.json"
    side.write_bytes(side.read_bytes() + b"\n")
    ran = slmtok("verify", "out/export.receipt.json")
    assert ran.code == 3
    assert "'out.json' is not the file that was compared" in ran.out
    side.unlink()
    assert "'out.json' is missing" in slmtok("verify", "out/export.receipt.json").out


def test_certificates_that_do_not_hold(slmtok: Run, made: Path) -> None:
    path = made / "audit.json"
    envelope = read_envelope(path.read_bytes(), "audit", "audit.json", allow_floats=True)
    for change, told in (
        ({"token_bytes": 1}, "contradicts itself"),
        ({"verdict": False}, "contradicts itself"),
        ({"verdict": False, "checks": {"totals": {"ok": False, "fault": "x"}}}, "proves nothing"),
    ):
        replace(envelope, payload={**envelope.payload, **change}).write(path, force=True)
        ran = slmtok("verify", "audit.json")
        assert ran.code == 3
        assert told in ran.out
    path.write_text('{"verdict": true, "format": "slmtok-audit", "version": 1}')
    assert "audit.json is an audit of version 1; this package reads version 2" in slmtok("verify", "audit.json").out
    path.write_text('{"verified": true, "format": "slmtok-receipt", "version": 1}')
    assert "audit.json is a receipt of version 1; this package reads version 2" in slmtok("verify", "audit.json").out
    path.write_text('{"kind": "audit", "version": 2}')
    assert "not a valid audit" in slmtok("verify", "audit.json").out
