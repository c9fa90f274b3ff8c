"""Canonical JSON: equal content gives equal bytes. Used for manifest.json, plan.json and the lines of the journal."""

from __future__ import annotations

import json


def pretty(content: object) -> bytes:
    """A whole file: sorted keys, one space of indentation, UTF-8, a final line feed."""
    return (json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n").encode()


def line(content: object) -> bytes:
    """One line: sorted keys, no spaces, a final line feed."""
    return (json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False) + "\n").encode()
