"""Options that several commands share, each with one spelling, one meaning and one line of help.

A command names them in its signature (`quiet: Quiet = False`). Values are judged while the line is parsed, so a wrong
one is wrong usage (status 2) before any work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from slmtok.cli import _numbers
from slmtok.corpus.readers import FORMATS

CORPUS = "Corpus"
OUTPUT = "Output"
_FORMATS = ("auto", *FORMATS)


def choice(*names: str) -> Callable[[Any], str]:
    """A parser that takes one of these names."""

    def parse(value: Any) -> str:
        if value not in names:
            raise typer.BadParameter(f"takes one of {', '.join(names)}, not {str(value)!r}")
        return str(value)

    return parse


Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", help="Where to write.", show_default=False, rich_help_panel=OUTPUT),
]
Force = Annotated[bool, typer.Option("--force", help="Replace an output that exists.", rich_help_panel=OUTPUT)]
Json = Annotated[
    bool, typer.Option("--json", help="One JSON object on stdout instead of a table.", rich_help_panel=OUTPUT)
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.", rich_help_panel=OUTPUT)]
Traceback = Annotated[
    bool, typer.Option("--traceback", help="With an error, show where it came from.", rich_help_panel=OUTPUT)
]


def threads_option(told: str) -> Any:
    """The option for threads under all its names; `told` is its help."""
    return typer.Option("--threads", "--num-threads", "--n-threads", metavar="N", parser=_numbers.whole, help=told)


Threads = Annotated[int, threads_option("Threads to use; 0 means all. Results do not depend on it.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be read, and stop.", rich_help_panel=OUTPUT)]

Ray = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="ADDRESS",
        help="Work on a Ray cluster: auto for the one of this machine, local, or host:port. Results are the same.",
        show_default=False,
    ),
]

TOKENIZER = "a tokenizer file, or tiktoken:NAME"
TokenizerOption = Annotated[
    str,
    typer.Option("--tokenizer", "-t", metavar="TOK", help=f"The tokenizer: {TOKENIZER}.", show_default=False),
]
TokenizerArgument = Annotated[str, typer.Argument(metavar="TOK", help=f"{TOKENIZER}.", show_default=False)]

Documents = Annotated[
    str,
    typer.Option(
        "--document",
        metavar="file|line",
        parser=choice("file", "line"),
        help="What a document of a text file is; a line is read without its line feed.",
        rich_help_panel=CORPUS,
    ),
]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="|".join(_FORMATS),
        parser=choice(*_FORMATS),
        help="How to read files; auto goes by their names.",
        rich_help_panel=CORPUS,
    ),
]
TextKey = Annotated[
    str,
    typer.Option(
        "--text-key", metavar="KEY", help="The field or column of a record that is text.", rich_help_panel=CORPUS
    ),
]
MaxBytes = Annotated[
    int | None,
    typer.Option(
        "--max-bytes",
        metavar="SIZE",
        parser=_numbers.size,
        help="Read no more of the corpus than this (5000, 20MB, 1GiB).",
        show_default=False,
        rich_help_panel=CORPUS,
    ),
]
MaxChars = Annotated[
    int | None,
    typer.Option(
        "--max-chars",
        metavar="N",
        parser=_numbers.size,
        help="Read no more characters than this.",
        show_default=False,
        rich_help_panel=CORPUS,
    ),
]
DocCap = Annotated[
    int | None,
    typer.Option(
        "--doc-cap",
        metavar="N",
        parser=_numbers.size,
        help="Take no more characters than this of any document.",
        show_default=False,
        rich_help_panel=CORPUS,
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        parser=_numbers.memory,
        help="What counting may take (500MB, 2GiB, 50% of what is free); more goes to temporary files.",
        show_default="50%",
        rich_help_panel=CORPUS,
    ),
]
VerifyOn = Annotated[
    list[str] | None,
    typer.Option(
        "--verify-on",
        metavar="TEXT",
        help="Compare ids on the documents of these files, not on generated text. Repeat for several.",
        show_default=False,
    ),
]
Unverified = Annotated[
    bool, typer.Option("--unverified", help="Compare nothing; the receipt says so. For where the library is missing.")
]
SkipMalformed = Annotated[
    bool,
    typer.Option("--skip-malformed", help="Leave malformed records out, and count them.", rich_help_panel=CORPUS),
]
