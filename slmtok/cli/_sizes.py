"""`--vocab` given several times: the names of the outputs, one for each size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from slmtok.cli import _files
from slmtok.errors import InvalidOption

MARK = "{vocab}"


def named(output: str, sizes: Sequence[int | None]) -> list[str]:
    """The output for each size: `{vocab}` in the name, else `tok-4096.json` for `tok.json`. Raises `InvalidOption`."""
    if len(sizes) == 1:
        return [output.replace(MARK, str(sizes[0]))]
    if len(set(sizes)) < len(sizes):
        raise InvalidOption("--vocab names one size twice", fix="leave one of them out", option="vocab")
    if output == _files.STDIO:
        raise InvalidOption("-o - has room for one tokenizer", fix="-o 'tok-{vocab}.json'", option="output")
    if MARK not in output:
        place = Path(output)
        output = str(place.with_name(f"{place.stem}-{MARK}{place.suffix}"))
    return [output.replace(MARK, str(size)) for size in sizes]
