"""Inputs and outputs of commands: `-` is stdout, all else a file that `slmtok.atomic` judges and writes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from slmtok import atomic
from slmtok.errors import InvalidOption

STDIO = "-"


def check_output(output: str, *beside: str, inputs: Iterable[str] = (), force: bool = False) -> None:
    """Raises unless `output` and the files `beside` it may be written; `inputs` may be `-`, or absent."""
    if output != STDIO:
        atomic.check_outputs(output, *beside, inputs=inputs, force=force)


def check_file(output: str) -> None:
    """Raises `InvalidOption` where an output that is more than a stream of bytes is to go to stdout."""
    if output == STDIO:
        raise InvalidOption("-o - is stdout, and this needs a file", fix="-o FILE", option="output")


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
