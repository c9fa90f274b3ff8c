"""`plan.json`: what a run is. The same command finds its own plan again and goes on; another one is refused.

The plan holds everything that decides a byte of the output: tokenizer, frame, sizes, split, limits, reading options,
and of each source its name, its size and a digest of its first and last 64 KiB. No times, no absolute paths.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slmtok.corpus import STDIN
from slmtok.errors import InvalidOption, PlanMismatch, Unreadable
from slmtok.shards.header import PLAN

FORMAT = "slmtok-pack-plan"
VERSION = 1
_EDGE = 64 << 10
_DATA_SET = "hf:"


def source_names(paths: Sequence[str]) -> list[str]:
    """The name of each source in plan and manifest: its path relative to the folder that holds them all."""
    files = [path for path in paths if path != STDIN and Path(path).exists()]
    if not files:
        return list(paths)
    folders = [os.fspath(Path(path).absolute().parent) for path in files]
    root = os.path.commonpath(folders)
    known = {path: Path(path).absolute().relative_to(root).as_posix() for path in files}
    return [known.get(path, path) for path in paths]


def sources(paths: Sequence[str], names: Sequence[str]) -> list[dict[str, Any]]:
    """What the plan says of each source: `name`, `bytes` and `edges`, both None where it is no file."""
    return [{"name": name, **_identity(path)} for path, name in zip(paths, names, strict=True)]


def _identity(path: str) -> dict[str, Any]:
    place = Path(path)
    if path.startswith(_DATA_SET):
        return {"bytes": None, "edges": _edges_of_folder(path)}
    if path == STDIN or not place.is_file():
        if path != STDIN and place.exists() and not place.is_dir():
            raise InvalidOption(
                f"{path!r} is no file but a pipe or a device, which may be read once only",
                limit="packing looks at its sources before it reads them",
                fix="... | slmtok pack -, or save the text to a file first",
                option="corpus",
            )
        return {"bytes": None, "edges": None}
    try:
        with place.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            edges = hashlib.sha256(file.read(_EDGE))
            file.seek(max(0, size - _EDGE))
            edges.update(file.read(_EDGE))
    except OSError as error:
        raise Unreadable(
            f"cannot read {path!r}: {error.strerror}",
            where=path,
            fix="name a file that may be read",
            path=path,
            os_error=error.errno,
        ) from error
    return {"bytes": size, "edges": edges.hexdigest()}


def _edges_of_folder(source: str) -> str | None:
    """Names and sizes of the files of a data set in a folder, as one digest; None for one that is elsewhere."""
    from slmtok.corpus.hugging_face import parse

    folder = Path(parse(source).name)
    if not folder.is_dir():
        return None
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    told = [[path.relative_to(folder).as_posix(), path.stat().st_size] for path in files]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def read(folder: Path) -> dict[str, Any] | None:
    """The plan in a folder; None where there is none, or where it is not whole."""
    try:
        content: Any = json.loads((folder / PLAN).read_bytes())
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) and content.get("format") == FORMAT else None


def check_same(found: dict[str, Any], wanted: dict[str, Any], folder: Path) -> None:
    """Raises `PlanMismatch` with the first field in which two plans differ."""
    for where, before, now in _differences(found, wanted, ""):
        raise PlanMismatch(
            f"{str(folder)!r} was begun with another {where}: {_told(before)}, now {_told(now)}",
            where=str(folder / PLAN),
            fix="run the command that began it, name another output, or force=True to start again",
            path=str(folder),
            field=where,
        )


def _differences(before: Any, now: Any, where: str) -> list[tuple[str, Any, Any]]:
    if isinstance(before, dict) and isinstance(now, dict):
        keys = sorted({*before, *now})
        found = [_differences(before.get(key), now.get(key), f"{where}.{key}".lstrip(".")) for key in keys]
        return [difference for part in found for difference in part]
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        found = [_differences(a, b, f"{where}[{index}]") for index, (a, b) in enumerate(zip(before, now, strict=True))]
        return [difference for part in found for difference in part]
    return [] if before == now else [(where, before, now)]


def _told(value: object) -> str:
    if isinstance(value, list):
        return f"{len(value)} of them"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:37] + '…"'
