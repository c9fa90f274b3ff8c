"""What kind of file a path is: told by its content, never by its name."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from slmtok.errors import CorruptFile, MissingInput, Unreadable

TOKENIZER = "slmtok-tokenizer"
METADATA = "slmtok-vocab"
RANKS = "tiktoken ranks"
COUNTS = "slmtok-counts"
LOCK = "slmtok-lock"
RECEIPT = "slmtok-receipt"
AUDIT = "slmtok-audit"
UNKNOWN = "unknown"

_HEAD = 4096


def head(path: str) -> bytes:
    """The first bytes of a file. Raises `MissingInput`, `Unreadable`."""
    if Path(path).exists() and not Path(path).is_file():
        raise Unreadable(
            f"{path!r} is no regular file", where=path, fix="name a file, not a folder or a pipe", path=path
        )
    try:
        with Path(path).open("rb") as file:
            return file.read(_HEAD)
    except FileNotFoundError:
        raise MissingInput(f"no file {path!r}", where="the working folder", fix="check the name", path=path) from None
    except OSError as error:
        raise Unreadable(
            f"cannot read {path!r}: {error.strerror}",
            where=path,
            fix="name a file that may be read",
            path=path,
            os_error=error.errno,
        ) from error


def kind(data: bytes) -> str:
    """The kind of a file that begins with `data`."""
    match = re.match(rb'\s*\{(?:\s*"(?:verified|verdict)"\s*:\s*\w+,)?\s*"format"\s*:\s*"([^"]*)"', data)
    if match and match[1].decode("ascii", "replace") in (TOKENIZER, METADATA, LOCK, RECEIPT, AUDIT):
        return match[1].decode()
    if data.startswith(b"SLMCOUNT"):
        return COUNTS
    if re.match(rb"[A-Za-z0-9+/]+={0,2} [0-9]+\r?\n", data):
        return RANKS
    return UNKNOWN


def metadata(path: str) -> dict[str, Any]:
    """The content of a vocab.json, its keys and sizes checked. Raises `CorruptFile`."""
    try:
        content: Any = json.loads(Path(path).read_bytes())
        sound = (
            content["version"] == 1
            and len(content["byte_lengths"]) == content["n_vocab"] <= content["padded_vocab"]
            and all(isinstance(length, int) and length >= 0 for length in content["byte_lengths"])
            and all(0 <= id < content["n_vocab"] for id in content["specials"].values())
            and re.fullmatch(r"[0-9a-f]{64}", content["fingerprint"])
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        sound = False
    if not sound:
        raise CorruptFile(
            f"{path} is not a sound vocab.json",
            where=path,
            fix=f"make it again: slmtok vocab tok.json --metadata -o {path} --force",
            path=path,
        )
    return dict(content)
