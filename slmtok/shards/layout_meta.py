"""`meta.json`: what lies in a folder that `slmtok pack --output-format` wrote. Its presence means that all of it is there.

Other programs' files have no such page, or one of another format, which is not read. Layout in docs/formats/shards.md.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.errors import CorruptFile, UnsupportedVersion
from slmtok.files import file_digest
from slmtok.shards import canonical
from slmtok.shards.header import FRAMES, SPLITS

if TYPE_CHECKING:
    from slmtok.shards.reader import Shards

META = "meta.json"
FORMAT, VERSION = "slmtok-layout", 1
_COUNTS = ("docs", "tokens", "bytes")
_OF_MANIFEST = ("dtype", "fingerprint", "frame", "n_vocab", "digest", "splits")
_HEX = re.compile(r"[0-9a-f]{64}")


def render(shards: Shards, folder: Path, *, layout: str, files: list[str], chunk_size: int | None) -> bytes:
    """The file for `files` of `folder`, written from these shards."""
    return canonical.pretty(
        {
            "format": FORMAT,
            "version": VERSION,
            "layout": layout,
            "chunk_size": chunk_size,
            "files": files,
            "sha256": {name: file_digest(folder / name) for name in files},
            **{name: shards.manifest[name] for name in _OF_MANIFEST},
        }
    )


def read_meta(folder: Path) -> dict[str, Any] | None:
    """The content of `meta.json` in a folder; None where there is none of this format.

    `sha256` is empty where the release that wrote it kept no digests. Raises `CorruptFile`, `UnsupportedVersion`.
    """
    path = folder / META
    try:
        content: Any = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        return None
    if content.get("version") != VERSION:
        raise UnsupportedVersion(
            f"{path} has version {content.get('version')!r}",
            limit=f"this package reads version {VERSION}",
            fix="read it with the release that wrote it, or pack again",
            path=str(path),
        )
    content.setdefault("sha256", {})
    fault = _fault(content)
    if fault:
        raise CorruptFile(f"{path} is not sound: {fault}", where=str(path), fix="pack the corpus again", path=str(path))
    return content


def _fault(content: dict[str, Any]) -> str | None:
    """What is wrong with the values that reading relies on. Names become paths, so they are judged strictly."""
    from slmtok.shards.layouts import LAYOUTS

    missing = sorted({"layout", "files", "chunk_size", *_OF_MANIFEST} - set(content))
    if missing:
        return f"the key {missing[0]!r} is missing"
    if content["layout"] not in _strings(LAYOUTS) or content["frame"] not in _strings(FRAMES):
        return "layout or frame is none"
    if content["dtype"] not in ("u16", "u32") or not _whole(content["n_vocab"]):
        return "dtype or n_vocab is none"
    if content["chunk_size"] is not None and not (_whole(content["chunk_size"]) and content["chunk_size"]):
        return "chunk_size is no length"
    if not _is_digest(content["fingerprint"]) or not _is_digest(content["digest"]):
        return "fingerprint or digest is none"
    files, digests, splits = content["files"], content["sha256"], content["splits"]
    if not isinstance(files, list) or not all(isinstance(name, str) and Path(name).name == name for name in files):
        return "files is no list of names"
    if not isinstance(digests, dict) or (digests and sorted(digests) != sorted(files)):
        return "sha256 is not about its files"
    if not all(map(_is_digest, digests.values())):
        return "sha256 holds what is no digest"
    if not isinstance(splits, dict) or not set(splits) <= set(SPLITS):
        return "splits are others than train and val"
    for split in splits.values():
        if not isinstance(split, dict) or not all(_whole(split.get(key)) for key in _COUNTS):
            return "a split lacks its numbers"
        if not _is_digest(split.get("digest")):
            return "a split lacks its digest"
    return None


def _strings(table: Any) -> list[str]:
    """The names of a table, as a list: what is asked of it may be no key at all."""
    return list(table)


def _whole(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and _HEX.fullmatch(value) is not None
