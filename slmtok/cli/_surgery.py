"""What `slice`, `extend`, `prune` and `name` share: a tokenizer and its id map written together, and the summary."""

from __future__ import annotations

import hashlib
import io
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slmtok import atomic
from slmtok.cli import _files, _options
from slmtok.cli._numbers import grouped
from slmtok.cli._tables import Row, print_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.tokenizer import Tokenizer

Output = Annotated[
    str,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Where to write.", show_default=False, rich_help_panel=_options.OUTPUT
    ),
]
MappedOutput = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Where to write; FILE.ids.npy beside it maps old ids to new ones.",
        show_default=False,
        rich_help_panel=_options.OUTPUT,
    ),
]


def map_beside(output: str) -> str:
    """The file of the id map: `small.json.ids.npy` of `small.json`."""
    return output + ".ids.npy"


def check(output: str, tokenizer: str, *, mapped: bool, force: bool) -> None:
    """Raises unless the outputs can be written."""
    _files.check_file(output)
    beside = [map_beside(output)] if mapped else []
    _files.check_output(output, *beside, inputs=[tokenizer], force=force)


def write(tokenizer: Tokenizer, output: str, id_map: NDArray[np.int64], *, force: bool) -> str:
    """Writes a tokenizer and its id map together, and gives the sha256 of the map."""
    import numpy as np

    buffer = io.BytesIO()
    np.save(buffer, id_map, allow_pickle=False)
    with atomic.outputs(output, map_beside(output), force=force) as (place, map_place):
        place.write_bytes(tokenizer.to_bytes())
        map_place.write_bytes(buffer.getvalue())
    return hashlib.sha256(buffer.getvalue()).hexdigest()


def result(before: Tokenizer, after: Tokenizer, output: str) -> dict[str, Any]:
    """What `--json` prints of each of them."""
    return {
        "path": output,
        "n_vocab": after.n_vocab,
        "n_vocab_before": before.n_vocab,
        "fingerprint": after.fingerprint,
        "fingerprint_before": before.fingerprint,
        "sha256": after.sha256,
    }


def show(before: Tokenizer, after: Tokenizer, output: str, rows: list[Row]) -> None:
    """Prints the summary."""
    listed: list[Row] = [
        ("ids", f"{grouped(after.n_vocab)}, {grouped(before.n_vocab)} before"),
        *rows,
        ("fingerprint", after.fingerprint),
    ]
    print_rows(listed, title=f"{output}: scheme {after.scheme}")
