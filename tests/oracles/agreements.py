"""Long comparisons with a peer, made once: a peer makes the same of the same input every time.

agreements.json holds a digest for each comparison that was made in full: of the peer's version, the input, and our
output. Where all three are the same, the peer would agree again, so it is not asked. After a change of any of them the
test compares in full; `SLMTOK_RECORD=1 pytest -n 0 tests/oracles` records what then agrees, and `SLMTOK_NIGHTLY=1`
compares in full always.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path

RECORD = Path(__file__).with_name("agreements.json")


def compare(name: str, peer: str, parts: Iterable[bytes], check: Callable[[], None]) -> None:
    """Runs `check`, which fails where we and the peer differ, unless it agreed before on the same input and output.

    name: of the comparison. peer: the name of an installed package. parts: the input and our output, in bytes.
    """
    found = digest([peer.encode(), version(peer).encode(), *parts])
    records = os.environ.get("SLMTOK_RECORD") == "1"
    if recorded().get(name) == found and not records and os.environ.get("SLMTOK_NIGHTLY") != "1":
        return
    check()
    if records:
        RECORD.write_text(json.dumps(recorded() | {name: found}, indent=1, sort_keys=True) + "\n", "utf-8")


def digest(parts: Iterable[bytes]) -> str:
    """SHA-256 over parts and their lengths."""
    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "little"))
        total.update(part)
    return total.hexdigest()


def recorded() -> dict[str, str]:
    """The digest of each comparison by its name."""
    found: dict[str, str] = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    return found
