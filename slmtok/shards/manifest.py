"""`manifest.json`: what a folder of shards holds. Its presence means that all of it is there.

Equal runs give equal bytes: no times, no host, no absolute paths. Layout in docs/formats/shards.md.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.errors import CorruptShard, MissingInput, UnsupportedVersion
from slmtok.shards.header import FRAMES, MANIFEST, SPLITS, id_bytes, shard_name

if TYPE_CHECKING:
    from slmtok.shards.journal import State

FORMAT = "slmtok-shards"
VERSION = 1
_KEYS = {"format", "version", "fingerprint", "n_vocab", "dtype", "frame", "digest", "skipped", "splits", "shards"}


def manifest(plan: dict[str, Any], vocabulary: dict[str, Any], state: State, domains: list[str]) -> dict[str, Any]:
    """The content of the manifest of a finished run; `domains` are the names of the numbers in `.dom`."""
    totals = {name: state.totals(name) for name in SPLITS}
    digest = sum(total.digest for total in totals.values()) % (1 << 256)
    return {
        "format": FORMAT,
        "version": VERSION,
        "fingerprint": vocabulary["fingerprint"],
        "n_vocab": vocabulary["n_vocab"],
        "dtype": f"u{8 * id_bytes(vocabulary['n_vocab'])}",
        "frame": plan["options"]["frame"],
        "digest": f"{digest:064x}",
        **({"domains": domains} if domains else {}),
        "skipped": state.skipped,
        "splits": {
            name: {**total.to_json(), "shards": len(state.closed(name))} for name, total in totals.items() if total.docs
        },
        "shards": sorted(state.shards, key=lambda shard: (SPLITS.index(shard["split"]), shard["name"])),
        "plan": plan,
    }


def read_manifest(folder: Path) -> dict[str, Any]:
    """The content of the manifest in a folder. Raises `MissingInput`, `CorruptShard`, `UnsupportedVersion`."""
    path = folder / MANIFEST
    try:
        content: Any = json.loads(path.read_bytes())
    except FileNotFoundError:
        unfinished = (folder / "journal.jsonl").exists()
        raise MissingInput(
            f"{str(folder)!r} is {'packed data that is not finished' if unfinished else 'no packed data'}",
            where=str(path),
            fix="run the command that began it again" if unfinished else "slmtok pack CORPUS -t tok.json -o DATA",
            path=str(folder),
        ) from None
    except (OSError, ValueError) as error:
        raise _broken(path, f"it cannot be read as JSON ({error})") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise _broken(path, f"it does not say format {FORMAT!r}")
    if content.get("version") != VERSION:
        raise UnsupportedVersion(
            f"{path} has version {content.get('version')!r}",
            limit=f"this package reads version {VERSION}",
            fix="read it with the release that wrote it, or pack again",
            path=str(path),
        )
    missing = sorted(_KEYS - set(content))
    if missing:
        raise _broken(path, f"the key {missing[0]!r} is missing")
    fault = _fault(content)
    if fault:
        raise _broken(path, fault)
    return content


def _fault(content: dict[str, Any]) -> str | None:
    """What is wrong with the values that reading relies on. Names are told apart strictly: they become paths."""
    if content["frame"] not in FRAMES or not isinstance(content["n_vocab"], int):
        return "frame or n_vocab is none"
    if not isinstance(content["shards"], list):
        return "shards is no list"
    expected = dict.fromkeys(SPLITS, 0)
    for entry in content["shards"]:
        split = entry.get("split") if isinstance(entry, dict) else None
        if split not in SPLITS or entry.get("name") != shard_name(split, expected[split]):
            return f"shard {entry.get('name') if isinstance(entry, dict) else entry!r} is not the next of its split"
        expected[split] += 1
        counts = [entry.get(key) for key in ("docs", "tokens", "bytes")]
        endings = entry.get("sha256")
        if not all(type(count) is int and count >= 0 for count in counts) or not isinstance(endings, dict):
            return f"shard {entry['name']} lacks its numbers"
        if not {"bin", "off", "nb"} <= set(endings) <= {"bin", "off", "nb", "dom"}:
            return f"shard {entry['name']} has files {sorted(endings)}"
    return None


def _broken(path: Path, what: str) -> CorruptShard:
    return CorruptShard(
        f"{path} is not a sound manifest: {what}", where=str(path), fix="pack the corpus again", path=str(path)
    )
