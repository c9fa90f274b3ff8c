"""Inputs and outputs of commands: what may be written where, judged before the work starts.

A regular file is written whole or not at all (`slmtok.atomic`); `-` is stdout.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from slmtok import atomic
from slmtok.errors import InvalidOption, OutputExists

STDIO = "-"


def check_output(output: str, *, inputs: Iterable[str] = (), force: bool = False) -> None:
    """Raises unless `output` may be written: not over an input, not over an existing file without `--force`."""
    if output == STDIO:
        return
    place = Path(output)
    if place.exists() and not place.is_file() and not place.is_dir():
        raise OutputExists(f"output {output!r} is no regular file", fix="-o - writes to stdout", path=output)
    for source in inputs:
        if source != STDIO and place.exists() and Path(source).exists() and place.samefile(source):
            raise InvalidOption(
                f"output {output!r} is also the input", fix="name another -o", option="output", path=output
            )
    atomic.check_outputs(output, force=force)


def not_with_json(output: str, as_json: bool) -> None:
    """Raises `InvalidOption` where stdout would carry both data and the JSON object."""
    if as_json and output == STDIO:
        raise InvalidOption("--json and -o - both write to stdout", fix="-o FILE, or leave --json out", option="json")


def refuse_terminal(output: str, what: str) -> None:
    """Raises `InvalidOption` where binary data would land on a terminal."""
    if output == STDIO and sys.stdout.isatty():
        raise InvalidOption(f"{what} is binary, and stdout is a terminal", fix="-o FILE", option="output")


@contextmanager
def writing(output: str, *, force: bool = False) -> Iterator[BinaryIO]:
    """A binary stream to stdout, or to a file that appears when all went well."""
    if output == STDIO:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with atomic.outputs(output, force=force) as (temporary,), temporary.open("wb") as file:
        yield file
