"""Which of the data that a command names are text."""

from __future__ import annotations

from glob import has_magic
from pathlib import Path

STDIN = "-"


def is_text(path: str) -> bool:
    """Whether a path is a corpus: neither a packed folder nor a file of ids."""
    location = Path(path)
    if location.is_dir():
        ids = [
            "manifest.json",
            *(f"{split}{suffix}" for split in ("train", "val") for suffix in (".bin", ".npy", "-00000.bin")),
        ]
        return not any((location / name).is_file() for name in ids)
    if location.exists():
        return location.suffix not in (".bin", ".npy")
    return path == STDIN or path.startswith("hf:") or has_magic(path)
