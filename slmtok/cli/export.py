"""`slmtok export`: a tokenizer for another library, proven to give the same ids, with a receipt."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slmtok.cli import _options, _output
from slmtok.cli._numbers import grouped, in_bytes
from slmtok.cli._progress import Progress
from slmtok.cli._tables import Row, print_rows
from slmtok.cli._tokenizers import open_tokenizer
from slmtok.corpus import ReadOptions
from slmtok.errors import InvalidOption
from slmtok.formats.registry import TARGETS

if TYPE_CHECKING:
    from collections.abc import Mapping

_To = Annotated[
    str,
    typer.Option(
        "--to",
        metavar="|".join(TARGETS),
        parser=_options.choice(*TARGETS),
        help="; ".join(f"{target.name}: {target.summary}" for target in TARGETS.values()) + ".",
        show_default=False,
    ),
]
_Folder = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="DIR",
        help="The folder to write; other files in it stay.",
        show_default=False,
        rich_help_panel=_options.OUTPUT,
    ),
]
_Name = Annotated[
    str | None,
    typer.Option(
        "--name",
        metavar="NAME",
        help="What the other library calls it, where it asks (tiktoken.get_encoding).",
        show_default="that of the folder",
    ),
]
_AddEos = Annotated[bool, typer.Option("--add-eos", help="hf: also put </s> behind each text, not only <s> before it.")]


def export(
    tok: _options.TokenizerArgument,
    to: _To,
    output: _Folder = None,
    name: _Name = None,
    add_eos: _AddEos = False,
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
    """Write a tokenizer for another library, and prove that it gives the same ids.

    What was written is loaded by that library, and its ids are compared on golden vectors, every token, every code
    point, fuzz, and text. Where one differs nothing is written; the receipt beside the files says what was compared.
    """
    from slmtok.formats.export import export as write

    if output is None:
        raise InvalidOption(
            "--output is missing", where="slmtok export", fix=f"slmtok export {tok} --to {to} -o {to}", option="output"
        )
    if add_eos and to != "hf":
        raise InvalidOption(f"--add-eos means nothing for {to}", limit="--to hf", fix="leave it out", option="add_eos")
    settings: dict[str, Any] = {"add_eos": True} if add_eos else {}
    read = ReadOptions(format=format, text_key=text_key, document=document, max_bytes=max_bytes)  # type: ignore[arg-type]  # judged by its parser
    tokenizer = open_tokenizer(tok)
    with Progress(quiet=quiet) as progress:
        receipt = write(
            tokenizer,
            to,
            output,
            name=name,
            verify_on=verify_on or (),
            read=read,
            unverified=unverified,
            force=force,
            progress=progress,
            settings=settings,
        )
    result = {"path": output, **receipt}
    warnings = () if receipt["verified"] else ("ids were not compared",)
    return _output.Outcome(result, None if quiet else lambda: _show(output, receipt), warnings=warnings)


def _show(folder: str, receipt: Mapping[str, Any]) -> None:
    print_rows(rows(receipt), title=str(Path(folder)), stream=sys.stdout)


def rows(receipt: Mapping[str, Any]) -> list[Row]:
    """A receipt for people."""
    library = f"{receipt['library']} {receipt['library_version'] or ''}".rstrip()
    if receipt["verified"]:
        told = f"equal ids in {library}: {grouped(receipt['strings'])} texts, {in_bytes(receipt['bytes'])}"
    else:
        told = f"NOT compared with {library}"
    checks = [f"{check['name']:<12} {grouped(check['strings'])}" for check in receipt["checks"]]
    return [
        ("ids", told),
        ("compared", "\n".join(checks)),
        ("files", "\n".join(receipt["files"])),
        ("note", "\n".join(receipt["notes"])),
    ]
