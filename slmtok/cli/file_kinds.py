"""The kind of a file, decided by its first bytes, and the refusal of files of slmtok that are named as a corpus."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from slmtok.errors import OptionError, Unreadable
from slmtok.files import read_file

if TYPE_CHECKING:
    from slmtok.options import ReadOptions

TOKENIZER = "slmtok-tokenizer"
METADATA = "slmtok-vocab"
RANKS = "tiktoken ranks"
COUNTS = "slmtok-counts"
LOCK = "slmtok-lock"
RECEIPT = "slmtok-receipt"
AUDIT = "slmtok-audit"
SHARD = "slmtok-shard"
UNKNOWN = "unknown"

_HEAD_BYTES = 4096
_JSON = re.compile(rb'\s*\{\s*"kind"\s*:\s*"(lock|receipt|audit)"|\s*\{[^\0]*?"format"\s*:\s*"slmtok-([a-z-]+)"')
_RANKS = re.compile(rb"[A-Za-z0-9+/]+={0,2} [0-9]+\r?\n")
_OWN_SUFFIXES = (".json", ".lock", ".bin")
_MAX_FOLDER_CHECKS = 256
"""Files of a folder that are opened to refuse those of slmtok."""
_NOT_TEXT = {
    TOKENIZER: (
        "a tokenizer file",
        "name the text; slmtok slice and slmtok extend make other sizes of one",
    ),
    METADATA: ("a vocab.json", "name the text"),
    LOCK: ("the lock of a tokenizer", "slmtok reproduce trains it again"),
    RECEIPT: ("a receipt", "name the text"),
    AUDIT: ("an audit", "name the text"),
    SHARD: ("a shard of packed data", "name the text that was packed"),
    "slmtok-shards": ("the manifest of packed data", "name the text that was packed"),
    "slmtok-layout": ("the metadata of packed data", "name the text that was packed"),
}
"""What a file is, and what the user probably wanted."""
_PACKED = (SHARD, "slmtok-shards", "slmtok-layout")
"""Files of a folder in which nothing is text, so that leaving one out does not help."""


def read_head(path: str) -> bytes:
    """The first bytes of a file. Raises `MissingInput`, `Unreadable`."""
    if Path(path).exists() and not Path(path).is_file():
        raise Unreadable(
            f"{path!r} is not a regular file", where=path, fix="name a file, not a folder or a pipe", path=path
        )
    return read_file(path, _HEAD_BYTES)


def kind_of(head: bytes) -> str:
    """The kind of a file that begins with `head`."""
    if head.startswith(b"SLMCOUNT"):
        return COUNTS
    if head.startswith(b"SLMSHARD"):
        return SHARD
    if match := _JSON.match(head):
        return f"slmtok-{(match[1] or match[2]).decode()}"
    return RANKS if _RANKS.match(head) else UNKNOWN


def kind_of_file(path: str) -> str:
    """As `kind_of`, and `UNKNOWN` for what is no regular file, such as a pipe, or cannot be read."""
    try:
        if Path(path).is_file():
            with Path(path).open("rb") as file:
                return kind_of(file.read(_HEAD_BYTES))
    except OSError:
        pass
    return UNKNOWN


def counts_among(paths: Sequence[str]) -> list[str]:
    """The counts files among the sources of a corpus.

    Opening each of a million small files would be slow: only the first is checked, the others by name.
    """
    has_counts = bool(paths) and kind_of_file(paths[0]) == COUNTS
    checked = [path for path in paths if has_counts or path is paths[0] or path.endswith(".counts")]
    return [path for path in checked if kind_of_file(path) == COUNTS]


def are_counts(paths: Sequence[str]) -> bool:
    """Whether the sources of a corpus are counts files. Raises `OptionError` for counts and text together."""
    counts = counts_among(paths)
    if counts and len(counts) < len(paths):
        raise OptionError(
            f"{counts[0]} is a counts file, and other files of the corpus are text",
            limit="counts, or text",
            fix="count the text first: slmtok count CORPUS -o more.counts",
            option="corpus",
        )
    return bool(counts)


def refuse_own_files(corpus: Sequence[str], found: Sequence[str], read: ReadOptions) -> None:
    """Raises `OptionError` for a file of slmtok, which would be read as text, unless `--format` is given."""
    if read.format != "auto":
        return
    named, checks = set(corpus), 0
    for path in found:
        is_named = path in named
        if not is_named and (checks >= _MAX_FOLDER_CHECKS or not path.endswith(_OWN_SUFFIXES)):
            continue
        checks += not is_named
        kind = kind_of_file(path)
        if kind not in _NOT_TEXT or (kind != SHARD and not path.endswith((".json", ".lock"))):
            continue
        what, fix = _NOT_TEXT[kind]
        raise OptionError(
            f"{path} is {what} of slmtok, not text",
            where="the corpus",
            limit="--format text reads such a file as text",
            fix=fix if is_named or kind in _PACKED else f"--exclude '{Path(path).name}' leaves it out",
            option="corpus",
            path=path,
        )
