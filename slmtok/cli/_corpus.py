"""The corpus of a command before it is read: which files, how large, read how."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from slmtok.cli import _numbers, _output
from slmtok.cli._tables import print_rows
from slmtok.corpus import ReadOptions
from slmtok.errors import InvalidOption

LISTED = 10
"""Files that a dry run names one by one."""


def files(corpus: Sequence[str], read: ReadOptions) -> list[str]:
    """The sources that the arguments name. Raises `MissingInput`, and `InvalidOption` for options that none uses, and
    for files of slmtok that are no text.
    """
    from slmtok.cli import _own_files
    from slmtok.corpus import find

    found = find(list(corpus), read)
    _own_files.refuse(corpus, found, read)
    return found


def text_files(corpus: Sequence[str], read: ReadOptions) -> list[str]:
    """As `files`, for commands that read text alone. Raises `InvalidOption` for a counts file."""
    from slmtok.training.counts_layout import is_counts

    found = files(corpus, read)
    for number, path in enumerate(found):
        # Of a corpus of a million small files only the first is opened to see what it is.
        if (number == 0 or path.endswith(".counts")) and is_counts(path):
            raise InvalidOption(
                f"{path} is a counts file, not text",
                limit="text; train, extend, merge and diff read counts",
                fix="name the text that was counted"
                + ("" if path in corpus else ", or leave counts out: --exclude '*.counts'"),
                option="corpus",
            )
    return found


def arguments(read: ReadOptions) -> dict[str, Any]:
    """The options as keyword arguments of `slmtok.train` and `slmtok.count`."""
    return {field.name: getattr(read, field.name) for field in fields(read)}


def plain_size(paths: Sequence[str], read: ReadOptions | None = None) -> int:
    """Bytes that reading these files will give, 0 where only reading tells: a packed file, records, a selection."""
    from slmtok.corpus import ReadOptions, reader_for
    from slmtok.corpus.streams import is_plain

    read = read or ReadOptions(format="text")
    if read.selects or not all(is_plain(path) and Path(path).is_file() for path in paths):
        return 0
    if any(reader_for(path, read).records for path in paths):
        return 0
    return sum(Path(path).stat().st_size for path in paths)


def plan(paths: Sequence[str], options: ReadOptions, output: str) -> _output.Outcome:
    """The answer of `--dry-run`: nothing is read, nothing is written."""
    from slmtok.corpus import reader_for

    rows: list[dict[str, Any]] = []
    for path in paths:
        size = Path(path).stat().st_size if Path(path).is_file() else None
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
