"""`slmtok merge`: several counts files to one, in any order to the same bytes."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from slmtok.cli import _counts_report, _files, _numbers, _options, _output
from slmtok.errors import InvalidOption

_Files = Annotated[
    list[str], typer.Argument(metavar="COUNTS", help="Counts files, or globs of them.", show_default=False)
]
_MinCount = Annotated[
    int,
    typer.Option(
        "--min-count",
        metavar="N",
        parser=_numbers.whole,
        help="Leave out pieces that occur less often in all files together; the file says so.",
    ),
]
_AllowDuplicate = Annotated[
    bool, typer.Option("--allow-duplicate", help="Count the same file, or the same part of a corpus, again.")
]
_Output = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE", help="Where to write.", rich_help_panel=_options.OUTPUT)
]


def merge(
    files: _Files,
    min_count: _MinCount = 1,
    allow_duplicate: _AllowDuplicate = False,
    output: _Output = "all.counts",
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Merge counts files, such as those of many machines.

    slmtok merge part-*.counts -o all.counts
    """
    from slmtok.corpus import expand
    from slmtok.training import merge_counts
    from slmtok.training.overlap import overlap

    begun = time.perf_counter()
    _files.check_file(output)
    found = expand(list(files))
    shared = overlap(found)
    if shared.inside is not None and not allow_duplicate:
        raise _twice(*shared.inside)
    merged = merge_counts(found, output, min_count=min_count, allow_duplicate=allow_duplicate, force=force)
    seconds = time.perf_counter() - begun
    notes: tuple[str, ...] = () if merged.head.min_count > 1 else (_counts_report.PRIVACY,)
    if shared.shared:
        told = _numbers.counted(shared.shared, "different document")
        notes += (f"{told} in more than one of the {shared.parts} parts that have digests: counted in each of them",)
    notes += tuple(f"{name}.digests is of other counts than {name}, and was not used" for name in shared.strange)

    def show() -> None:
        if not quiet:
            _counts_report.show_merged(merged, seconds, notes)

    return _output.Outcome({**merged.to_dict(), "seconds": round(seconds, 3)}, show, warnings=notes)


def _twice(part: str, other: str) -> InvalidOption:
    return InvalidOption(
        f"all documents of {part} are in {other} too",
        where=f"{part}.digests",
        limit="each part of a corpus once",
        fix="leave one of them out, or --allow-duplicate to count its documents again",
        option="allow_duplicate",
    )
