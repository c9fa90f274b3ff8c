"""Files of an ablation: its lock and its result as envelopes (docs/formats/ablation.md), and the times of its runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field

from slmmodel.checkpoint import to_json
from slmmodel.cli.result_files import envelope_of
from slmmodel.errors import CorruptFile, OutputExists
from slmmodel.files import is_folder, remove_parts, write_file
from slmmodel.folder_lock import LOCK as FOLDER_LOCK
from slmmodel.json_files import Strict, load
from slmmodel.run_entries import other_entries
from slmtok import atomic, schema
from slmtok.envelope import BASELINES, content_digest, load_payload

LOCK_KIND, RESULT_KIND = "ablation-lock", "ablation"
LOCK, RESULT, TIMES, PAGE = "ablation.lock", "ablation.json", "times.json", "report.html"
DATA, RUNS, LOSSES, TOKENIZERS = "data", "runs", "losses", "tokenizers"
_RUN = r".+-seed[0-9]+-[0-9a-f]{8}"
_FOLDERS = {
    DATA: re.compile(r".+-[0-9a-f]{8}"),
    RUNS: re.compile(_RUN),
    LOSSES: re.compile(rf"{_RUN}-context-[0-9]+\.losses"),
    TOKENIZERS: re.compile(r".+-[0-9a-f]{8}\.json"),
}
"""The folders of an ablation, with the names of what it writes into them."""
OWN = frozenset([LOCK, RESULT, TIMES, PAGE, FOLDER_LOCK, *_FOLDERS])
_SHAPE = schema.table(
    {
        "name": schema.text,
        "model": schema.mapping(schema.plain),
        "batch_size": schema.integer(1),
        "steps": schema.integer(1),
        "seconds_per_step": schema.nullable(schema.number),
    }
)
_LOCK = schema.table(
    {
        "request": schema.mapping(schema.plain),
        "views": schema.array(schema.table({"match": schema.text, "arms": schema.array(_SHAPE)})),
        "changes": schema.array(schema.text),
    }
)
_RESULT = schema.table(
    {
        "baseline": schema.text,
        "margin": schema.number,
        "alpha": schema.number,
        "seeds": schema.array(schema.integer()),
        "exploratory": schema.array(schema.text),
        "scope": schema.text,
        "documents": schema.mapping(schema.mapping(schema.plain)),
        "arms": schema.array(schema.mapping(schema.plain)),
        "views": schema.array(schema.mapping(schema.plain)),
        "baselines": schema.nullable(BASELINES),
        "sweep": schema.array(schema.mapping(schema.plain)),
        "certificates": schema.mapping(schema.digest),
        "lock": schema.mapping(schema.plain),
    }
)


class _Times(Strict):
    """The content of `times.json`."""

    estimate: float | None = None
    runs: dict[str, float] = Field(default_factory=dict)
    processor: dict[str, float] = Field(default_factory=dict)
    spent: float = 0.0


def load_lock(path: str) -> dict[str, Any]:
    """The payload of a lock. Raises `CorruptFile`, `UnsupportedVersion`, `MissingInput`, `Unreadable`."""
    return load_payload(path, LOCK_KIND, _LOCK, allow_floats=True)


def load_ablation(path: str) -> dict[str, Any]:
    """The payload of the result of an ablation. Raises as `load_lock`."""
    return load_payload(path, RESULT_KIND, _RESULT, allow_floats=True)


def write_lock(folder: Path, payload: dict[str, Any]) -> None:
    """Replaces the lock of a folder."""
    _write(folder / LOCK, LOCK_KIND, payload["request"]["arms"], payload)


def write_result(folder: Path, payload: dict[str, Any]) -> None:
    """Replaces the result in a folder."""
    _write(folder / RESULT, RESULT_KIND, {"lock": content_digest(payload["lock"])}, payload)


def _write(path: Path, kind: str, inputs: dict[str, Any], payload: dict[str, Any]) -> None:
    atomic.write(path, envelope_of(kind, inputs, payload).to_bytes(), force=True)


def read_times(folder: Path) -> dict[str, Any]:
    """Seconds of the runs by name; they are not part of the result, which equal work repeats byte for byte."""
    try:
        return load(folder / TIMES, _Times).model_dump()
    except CorruptFile:
        return _Times().model_dump()


def write_times(folder: Path, times: dict[str, Any]) -> None:
    """Replaces the times in a folder."""
    write_file(folder / TIMES, to_json(times))


def begin(folder: Path, *, force: bool) -> None:
    """Removes what killed processes left, and with `force` an earlier ablation. Raises `OutputExists`."""
    import shutil

    output = str(folder)
    if folder.exists() and not folder.is_dir():
        raise OutputExists(f"output {output!r} is a file", fix="name a folder: -o DIR", path=output)
    if not folder.is_dir():
        return
    remove_parts(folder)
    names = {path.name for path in folder.iterdir()}
    others = sorted(name for name in names - OWN if not _is_part(folder / name))
    # Links, folders in the place of files, and files in that of folders.
    others += sorted(name for name in names & OWN if not _is_kind(folder / name, is_folder=name in _FOLDERS))
    if force and not others:
        others = [
            str(each.relative_to(folder)) for name in sorted(names & {*_FOLDERS}) for each in _others(folder / name)
        ]
    if others:
        raise OutputExists(
            f"output {output!r} holds other files",
            where=", ".join(others[:3]),
            limit="an ablation has a folder of its own",
            fix="another -o",
            path=output,
        )
    for name in names & OWN - {FOLDER_LOCK} if force else ():
        shutil.rmtree(folder / name) if (folder / name).is_dir() else (folder / name).unlink()


def _is_kind(path: Path, *, is_folder: bool) -> bool:
    """Whether a path is a folder, or a file; a link is neither."""
    return not path.is_symlink() and (path.is_dir() if is_folder else path.is_file())


def _others(folder: Path) -> Iterator[Path]:
    """What lies in a folder of an ablation, its subfolders included, and is not of one."""
    from slmtok.shards.folder import is_own_file

    for path in sorted(each for each in folder.iterdir() if not _is_part(each)):
        is_own = _FOLDERS[folder.name].fullmatch(path.name)
        if not (is_own and _is_kind(path, is_folder=folder.name in (DATA, RUNS))):
            yield from [each for each in sorted(path.rglob("*")) if not is_folder(each)] or [path]
        elif folder.name == RUNS:
            yield from other_entries(path)
        elif folder.name == DATA:
            entries = sorted(each for each in path.iterdir() if not _is_part(each))
            yield from (each for each in entries if not is_own_file(each.name) or is_folder(each))


def _is_part(path: Path) -> bool:
    """Whether a killed process may have left a path."""
    return path.name.endswith(".part")
