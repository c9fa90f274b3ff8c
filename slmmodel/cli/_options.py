"""Options that several commands share, each with one spelling, one meaning and one line of help.

A command names them in its signature (`quiet: Quiet = False`). Values are judged while the line is parsed, so a wrong
one is wrong usage (status 2) before any work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from slmmodel import sizes

OUTPUT = "Output"


def choice(*names: str) -> Callable[[Any], str]:
    """A parser that takes one of these names."""

    def parse(value: Any) -> str:
        if value not in names:
            raise typer.BadParameter(f"takes one of {', '.join(names)}, not {str(value)!r}")
        return str(value)

    return parse


def whole(value: Any) -> int:
    """A parser for a whole number from 0 up; `8_192`, `8,192` and `4k` are fine."""
    number = sizes.parse_count(str(value))
    if number is None or (str(value).strip() != str(number) and "." in str(value) and not str(value)[-1].isalpha()):
        raise typer.BadParameter(f"takes a whole number from 0 up, not {str(value)!r}")
    return number


def seconds(value: Any) -> float:
    """A parser for a time: `130s`, `5min`, `2h`."""
    number = sizes.parse_time(str(value))
    if number is None:
        raise typer.BadParameter(f"takes a time such as 130s, 5min or 2h, not {str(value)!r}")
    return number


RunArgument = Annotated[
    str, typer.Argument(metavar="RUN", help="The folder of a run, as slm train wrote it.", show_default=False)
]
RunTokenizer = Annotated[
    str | None,
    typer.Option(
        "-t", "--tokenizer", metavar="FILE", help="The tokenizer, where the run has none.", show_default=False
    ),
]
Prompt = Annotated[
    str | None,
    typer.Option("--prompt", "-p", metavar="TEXT|-", help="Text to go on from; - is stdin.", show_default=False),
]
PromptIds = Annotated[
    str | None, typer.Option("--ids", metavar="IDS", help="The prompt as ids, e.g. '1 340 27'.", show_default=False)
]
Step = Annotated[
    int | None,
    typer.Option("--step", metavar="N", parser=whole, help="A saved step instead of the end.", show_default=False),
]
Force = Annotated[bool, typer.Option("--force", help="Replace an output that exists.", rich_help_panel=OUTPUT)]
Json = Annotated[
    bool, typer.Option("--json", help="One JSON object on stdout instead of a table.", rich_help_panel=OUTPUT)
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.", rich_help_panel=OUTPUT)]
Traceback = Annotated[
    bool, typer.Option("--traceback", help="With an error, show where it came from.", rich_help_panel=OUTPUT)
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and stop.", rich_help_panel=OUTPUT)]
Device = Annotated[
    str,
    typer.Option("--device", metavar="NAME", help="auto, cpu, cuda, cuda:N or mps; auto takes the fastest there is."),
]
Threads = Annotated[
    int,
    typer.Option(
        "--threads", "--num-threads", "--n-threads", metavar="N", parser=whole, help="CPU threads; 0 means all cores."
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", parser=whole, help="The seed of what is drawn.")]
AllowMismatch = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-mismatch",
        metavar="NAME",
        help="Go on though this differs from what the run recorded; may be repeated.",
        show_default=False,
    ),
]
