"""The fix that a command printed."""

from __future__ import annotations

from typing import Any


def fix_of(ran: Any, code: int = 2) -> str:
    """The fix of the error that a command printed."""
    assert ran.code == code, ran.err
    fix: str = next(line.removeprefix("  fix:   ") for line in ran.err.splitlines() if line.startswith("  fix:   "))
    return fix
