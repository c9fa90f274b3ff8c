"""The sha256 of a file as it lies on the disk."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

_BLOCK = 1 << 20


def file_digest(path: str | os.PathLike[str]) -> str:
    """Read in blocks; hexadecimal. Raises `OSError`."""
    state = hashlib.sha256()
    with Path(path).open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            state.update(block)
    return state.hexdigest()
