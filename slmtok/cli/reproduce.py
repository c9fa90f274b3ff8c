"""`slmtok reproduce`: make a tokenizer again from its lock; status 3 where it is another one."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from typing import Annotated

import typer

from slmtok.cli import _options, _output
from slmtok.cli._numbers import in_time
from slmtok.cli._progress import Progress

_Lock = Annotated[
    str, typer.Argument(metavar="LOCK", help="The lock that slmtok train wrote beside a tokenizer.", show_default=False)
]
_CorpusFolder = Annotated[
    str | None,
    typer.Option(
        "--corpus",
        metavar="FOLDER",
        help="Where the files of the lock lie, if not where they were.",
        show_default=False,
    ),
]
_Counts = Annotated[
    list[str] | None,
    typer.Option(
        "--counts", metavar="FILE", help="Use these counts instead of text. Repeat for several.", show_default=False
    ),
]


def reproduce(
    lock: _Lock,
    corpus: _CorpusFolder = None,
    counts: _Counts = None,
    memory: _options.Memory = None,
    threads: _options.Threads = 0,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Make a tokenizer again, and say whether it is the same or what differs first.

    slmtok reproduce tok.lock --corpus corpus/
    """
    from slmtok import __version__
    from slmtok.training.lock import load_lock
    from slmtok.training.reproduce import reproduce as make_again

    begun = time.perf_counter()
    content = load_lock(lock)
    warnings: tuple[str, ...] = ()
    if content.content["package"] != f"slmtok {__version__}":
        warnings = (f"the lock was made by {content.content['package']}, this is slmtok {__version__}",)
    with Progress(quiet=quiet) as progress:
        difference = make_again(
            content, corpus=corpus, counts=counts or (), threads=threads, memory=memory, progress=progress
        )
    result = {
        "lock": lock,
        "equal": difference is None,
        "difference": asdict(difference) if difference is not None else None,
        "sha256": content.content["tokenizer"]["sha256"],
        "seconds": round(time.perf_counter() - begun, 3),
    }

    def show() -> None:
        for text in warnings:
            _output.note(text)
        if difference is not None:
            sys.stdout.write(_output.printable(f"{lock}: NOT EQUAL: {difference}\n"))
        elif not quiet:
            seconds = in_time(time.perf_counter() - begun)
            sys.stdout.write(_output.printable(f"{lock}: equal; sha256 {result['sha256']}, {seconds}\n"))

    code = _output.DONE if difference is None else _output.ANSWER_NO
    return _output.Outcome(result, show, code=code, warnings=warnings)
