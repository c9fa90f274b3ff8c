"""`slmtok info` names the results of slm, and the command that shows each."""

from __future__ import annotations

import pytest

from slmtok.envelope import Envelope


@pytest.mark.parametrize(
    ("kind", "named", "fix"),
    [
        ("probe", "a result of slm probe", "python -m json.tool found.json"),
        ("prompts", "a prompt sheet of slm prompts", "python -m json.tool found.json"),
        ("ablation", "the result of an ablation", "slm report found.json"),
        ("ablation-lock", "the lock of an ablation", "python -m json.tool found.json"),
        ("passkey", "a result of slm passkey", "python -m json.tool found.json"),
    ],
)
def test_results_of_slm_are_named(slmtok, kind: str, named: str, fix: str) -> None:
    Envelope(kind, {}, {"found": 1}, "slmmodel 0").write("found.json")
    ran = slmtok("info", "found.json")
    assert ran.code == 2 and named in ran.err and fix in ran.err
