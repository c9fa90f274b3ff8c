"""`slmtok import`: another library's tokenizer as one of ours, proven to give the same ids, with a receipt."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from slmtok import atomic
from slmtok.cli import _options, _output
from slmtok.cli._numbers import grouped, in_bytes
from slmtok.cli._progress import Progress
from slmtok.cli._tables import Row, print_rows
from slmtok.corpus import ReadOptions
from slmtok.errors import InvalidOption
from slmtok.formats.importing import ORIGINS

_File = Annotated[
    str,
    typer.Argument(metavar="FILE", help="A tokenizer.json, a rank file, or the side file of one.", show_default=False),
]
_From = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="|".join(("auto", *ORIGINS)),
        parser=_options.choice("auto", *ORIGINS),
        help="; ".join(f"{origin.name}: {origin.summary}" for origin in ORIGINS.values()) + ". auto goes by content.",
    ),
]
_Pattern = Annotated[
    str | None,
    typer.Option(
        "--pattern",
        metavar="NAME|REGEX",
        help="How text is split, for a rank file, which does not say it.",
        show_default=False,
    ),
]


def import_(
    file: _File,
    output: _options.Output = None,
    origin: _From = "auto",
    pattern: _Pattern = None,
    verify_on: _options.VerifyOn = None,
    unverified: _options.Unverified = False,
    format: _options.Format = "auto",
    text_key: _options.TextKey = "text",
    document: _options.Documents = "file",
    max_bytes: _options.MaxBytes = None,
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Read a tokenizer of another library into a tokenizer file that keeps its ids.

    The library encodes the same golden vectors, tokens, code points, fuzz and text; where an id differs nothing is
    written. What slmtok exported comes back with the fingerprint that it had.
    """
    from slmtok.formats.importing import import_file
    from slmtok.formats.receipt import dumped

    if output is None:
        raise InvalidOption(
            "--output is missing", where="slmtok import", fix=f"slmtok import {file} -o tok.json", option="output"
        )
    beside = str(Path(output).with_suffix(".receipt.json"))
    atomic.check_outputs(output, beside, inputs=[file], force=force)
    read = ReadOptions(format=format, text_key=text_key, document=document, max_bytes=max_bytes)  # type: ignore[arg-type]  # judged by its parser
    with Progress(quiet=quiet) as progress:
        tokenizer, receipt = import_file(
            file,
            origin=origin,
            pattern=pattern,
            verify_on=verify_on or (),
            read=read,
            unverified=unverified,
            progress=progress,
        )
    with atomic.outputs(output, beside, force=force) as (first, second):
        first.write_bytes(tokenizer.to_bytes())
        second.write_bytes(dumped(receipt))
    result = {"path": output, "receipt": beside, "layout": tokenizer.vocabulary.layout, **receipt}
    warnings = () if receipt["verified"] else ("ids were not compared",)
    return _output.Outcome(result, None if quiet else lambda: _show(result), warnings=warnings)


def _show(result: dict[str, Any]) -> None:
    library = f"{result['library']} {result['library_version'] or ''}".rstrip()
    told = f"equal ids in {library}: {grouped(result['strings'])} texts, {in_bytes(result['bytes'])}"
    rows: list[Row] = [
        ("ids", told if result["verified"] else f"NOT compared with {library}"),
        ("layout", result["layout"]),
        ("n_vocab", grouped(result["tokenizer"]["n_vocab"])),
        ("fingerprint", result["tokenizer"]["fingerprint"]),
        ("receipt", result["receipt"]),
    ]
    print_rows(rows, title=result["path"], stream=sys.stdout)
