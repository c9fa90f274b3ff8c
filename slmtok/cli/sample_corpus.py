"""`slmtok sample-corpus`: stories to train on, made here and now from a seed. The same command gives the same bytes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from slmtok.cli import _files, _numbers, _options, _output
from slmtok.cli._progress import Progress

_Size = Annotated[
    int,
    typer.Option(
        "--bytes",
        metavar="SIZE",
        parser=_numbers.size,
        help="How much text: 5000, 20MB, 1GiB.",
        show_default="20MB",
    ),
]
_Seed = Annotated[int, typer.Option("--seed", metavar="N", parser=_numbers.whole, help="Another seed, other stories.")]
_Output = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE", help="Where to write.", rich_help_panel=_options.OUTPUT)
]


def sample_corpus(
    size: _Size = 20_000_000,
    seed: _Seed = 0,
    output: _Output = "stories.txt",
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Write simple children's stories of our own making, as many as fit into a number of bytes."""
    from slmtok import atomic
    from slmtok.stories import write_stories

    _files.not_with_json(output, as_json)
    with Progress(quiet=quiet) as progress:
        if output == _files.STDIO:
            number = write_stories(sys.stdout.buffer, size, seed=seed, progress=progress)
            return _output.Outcome({"path": "-", "documents": number, "seed": seed})
        with atomic.outputs(output, force=force) as (temporary,), temporary.open("wb") as file:
            number = write_stories(file, size, seed=seed, progress=progress)
    written = Path(output).stat().st_size

    def show() -> None:
        if not quiet:
            sys.stdout.write(
                f"{output}: {_numbers.grouped(number)} stories, {_numbers.in_bytes(written)}, seed {seed}\n"
            )

    return _output.Outcome({"path": output, "documents": number, "bytes": written, "seed": seed}, show)
