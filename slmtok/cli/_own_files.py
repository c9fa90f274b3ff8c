"""Files of slmtok named as a corpus: nearly always a slip, and a costly one, since they read as text like any other.

Whoever means them says `--format text`. In a folder only names are looked at that such files have, and not endlessly
many: a corpus of a million files costs no million looks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from slmtok.corpus import ReadOptions
from slmtok.errors import InvalidOption

_LOOKS = 256
_SUFFIXES = (".json", ".lock", ".bin")
_HEAD = 4096
_FORMAT = re.compile(rb'"format"\s*:\s*"(slmtok-[a-z-]+)"')
_KINDS = {
    b"slmtok-tokenizer": ("a tokenizer file", "slmtok slice makes a smaller one of it, slmtok extend a larger one"),
    b"slmtok-vocab": ("a vocab.json", "name the text"),
    b"slmtok-lock": ("the lock of a tokenizer", "slmtok reproduce trains it again"),
    b"slmtok-receipt": ("a receipt", "name the text"),
    b"slmtok-audit": ("an audit", "name the text"),
    b"slmtok-shards": ("the manifest of packed data", "name the text that was packed"),
    b"slmtok-layout": ("the page of packed data", "name the text that was packed"),
    b"SLMSHARD": ("a shard of packed data", "name the text that was packed"),
}
"""How files of ours begin, or what they call themselves: what they are, and what was probably meant."""


def refuse(corpus: Sequence[str], found: Sequence[str], read: ReadOptions) -> None:
    """Raises `InvalidOption` for a file of ours among those found, unless a format was named."""
    if read.format != "auto":
        return
    named, looks = set(corpus), 0
    for path in found:
        alone = path in named
        if not alone and (looks >= _LOOKS or not path.endswith(_SUFFIXES)):
            continue
        looks += not alone
        kind = _kind(path)
        if kind is None:
            continue
        what, fix = _KINDS[kind]
        raise InvalidOption(
            f"{path} is {what} of slmtok, not text",
            where="the corpus",
            limit="such a file is read as text with --format text alone",
            fix=fix if alone else f"--exclude '{Path(path).name}' leaves it out",
            option="corpus",
            path=path,
        )


def _kind(path: str) -> bytes | None:
    """Which of `_KINDS` a regular file is."""
    try:
        if not Path(path).is_file():
            return None
        with Path(path).open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        # Whoever reads the corpus says what is wrong with it.
        return None
    if head.startswith(b"SLMSHARD"):
        return b"SLMSHARD"
    match = _FORMAT.search(head) if head.startswith(b"{") and path.endswith((".json", ".lock")) else None
    return match[1] if match and match[1] in _KINDS else None
