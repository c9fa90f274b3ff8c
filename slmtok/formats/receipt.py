"""The receipt of an export or import: what was compared, with which library, and the digests of all files.

Specified in docs/formats/receipt.md. Its first field says whether ids were compared at all. No clock, no host: equal
work gives equal bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slmtok.formats.equality import Compared
    from slmtok.tokenizer import Tokenizer

FORMAT = "slmtok-receipt"
VERSION = 1
EXPORT = "export.receipt.json"


def receipt(
    tokenizer: Tokenizer,
    *,
    direction: str,
    target: str,
    library: str,
    library_version: str | None,
    compared: Compared | None,
    text: str,
    files: Mapping[str, bytes],
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """The content of a receipt. `compared` is None where nothing was; `text` says what the real text was."""
    from slmtok._engine import VERSION as PACKAGE

    checks = () if compared is None else compared.checks
    return {
        "verified": compared is not None,
        "format": FORMAT,
        "version": VERSION,
        "direction": direction,
        "target": target,
        "library": library,
        "library_version": library_version if compared is not None else None,
        "package": f"slmtok {PACKAGE}",
        "tokenizer": {
            "fingerprint": tokenizer.fingerprint,
            "sha256": tokenizer.sha256,
            "n_vocab": tokenizer.n_vocab,
        },
        "text": text if compared is not None else None,
        "checks": [asdict(check) for check in checks],
        "strings": sum(check.strings for check in checks),
        "bytes": sum(check.bytes for check in checks),
        "ids": sum(check.ids for check in checks),
        "mismatches": 0 if compared is not None else None,
        "ids_sha256": None if compared is None else compared.ids_sha256,
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())},
        "notes": list(notes),
    }


def dumped(content: Mapping[str, Any]) -> bytes:
    """The bytes of a receipt."""
    return (json.dumps(content, ensure_ascii=False, indent=2) + "\n").encode()
