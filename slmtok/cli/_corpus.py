"""The corpus of a command before it is read: which files, how large, read how."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from slmtok.cli import _files, _numbers, _output
from slmtok.cli._tables import print_rows
from slmtok.corpus import ReadOptions

LISTED = 10
"""Files that a dry run names one by one."""


def files(corpus: Sequence[str]) -> list[str]:
    """The files that the arguments name. Raises `MissingInput`."""
    from slmtok.corpus import expand

    return expand(list(corpus))


def plain_size(paths: Sequence[str]) -> int:
    """Bytes that reading these files will give, 0 where a packed file or stdin among them keeps it unknown."""
    from slmtok.corpus.streams import is_plain

    if not all(is_plain(path) and Path(path).is_file() for path in paths):
        return 0
    return sum(Path(path).stat().st_size for path in paths)


def check_fields(paths: Sequence[str], read: Mapping[str, Any]) -> None:
    """Raises `InvalidOption` for options that no file has a use for."""
    from slmtok import corpus

    corpus.check_fields(paths, _options(read))


def _options(read: Mapping[str, Any]) -> ReadOptions:
    return ReadOptions(**{key: read[key] for key in ("format", "document", "text_key", "skip_malformed")})


def plan(paths: Sequence[str], read: Mapping[str, Any], output: str) -> _output.Outcome:
    """The answer of `--dry-run`: nothing is read, nothing is written."""
    from slmtok.corpus import reader_for

    options = _options(read)
    rows: list[dict[str, Any]] = []
    for path in paths:
        size = None if path == _files.STDIO else Path(path).stat().st_size
        rows.append({"path": path, "format": reader_for(path, options).name, "bytes": size})
    total = sum(row["bytes"] or 0 for row in rows)

    def show() -> None:
        listed = [
            (
                row["format"],
                f"{row['path']}  {'' if row['bytes'] is None else _numbers.in_bytes(row['bytes'])}".rstrip(),
            )
            for row in rows[:LISTED]
        ]
        if len(rows) > LISTED:
            listed.append(("", f"… and {_numbers.grouped(len(rows) - LISTED)} more"))
        name = "file" if len(rows) == 1 else "files"
        title = f"would read {_numbers.grouped(len(rows))} {name}, {_numbers.in_bytes(total)}, and write {output}"
        print_rows(listed, title=title, stream=sys.stdout)

    return _output.Outcome({"dry_run": True, "files": rows, "bytes": total, "output": output}, show)
