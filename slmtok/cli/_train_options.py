"""Options of what is learned, for all commands that learn: `train`, `extend`, `count` as far as they concern it."""

from __future__ import annotations

from typing import Annotated

import typer

from slmtok._engine import pattern_names
from slmtok.cli import _numbers, _options
from slmtok.schemes import SCHEMES
from slmtok.training.options import TIES

WHAT = "What is learned"

Corpus = Annotated[
    list[str],
    typer.Argument(metavar="CORPUS", help="Files, folders, globs, hf:NAME, or - for stdin.", show_default=False),
]
Vocab = Annotated[
    int | None,
    typer.Option(
        "--vocab",
        "--vocab-size",
        metavar="N",
        parser=_numbers.whole,
        help="How many ids in all: 16 specials, 256 bytes, and what is learned. Required.",
        show_default=False,
    ),
]
Vocabs = Annotated[
    list[int] | None,
    typer.Option(
        "--vocab",
        "--vocab-size",
        metavar="N",
        parser=_numbers.whole,
        help="How many ids in all: 16 specials, 256 bytes, and what is learned. Required; repeat for several sizes.",
        show_default=False,
    ),
]
Scheme = Annotated[
    str,
    typer.Option(
        "--scheme",
        metavar="|".join(SCHEMES),
        parser=_options.choice(*SCHEMES),
        help="Merges of bytes, or whole words, or characters, or bytes alone.",
        rich_help_panel=WHAT,
    ),
]
Pattern = Annotated[
    str | None,
    typer.Option(
        "--pattern",
        metavar="NAME|REGEX",
        help=f"How text is cut before merging: {', '.join(pattern_names())}, or any regex.",
        show_default="slm",
        rich_help_panel=WHAT,
    ),
]
Ties = Annotated[
    str,
    typer.Option(
        "--ties",
        metavar="|".join(TIES),
        parser=_options.choice(*TIES),
        help="Which of equally frequent pairs comes first.",
        rich_help_panel=WHAT,
    ),
]
MinCount = Annotated[
    int,
    typer.Option(
        "--min-count",
        "--min-frequency",
        metavar="N",
        parser=_numbers.whole,
        help="Learn nothing that occurs less often.",
        rich_help_panel=WHAT,
    ),
]
MaxTokenBytes = Annotated[
    int,
    typer.Option(
        "--max-token-bytes",
        "--max-token-length",
        metavar="N",
        parser=_numbers.whole,
        help="Longest token in bytes; 0 is no limit.",
        rich_help_panel=WHAT,
    ),
]
MaxTokenChars = Annotated[
    int,
    typer.Option(
        "--max-token-chars",
        metavar="N",
        parser=_numbers.whole,
        help="Longest token in characters; 0 is no limit.",
        rich_help_panel=WHAT,
    ),
]
ForbidRegex = Annotated[
    str | None,
    typer.Option(
        "--forbid-regex",
        metavar="REGEX",
        help="Learn no token that this matches.",
        show_default=False,
        rich_help_panel=WHAT,
    ),
]
Require = Annotated[
    str | None,
    typer.Option(
        "--require",
        metavar="FILE",
        help="Tokens that must be learned: one a line, written as slmtok vocab prints them.",
        show_default=False,
        rich_help_panel=WHAT,
    ),
]
Special = Annotated[
    list[str] | None,
    typer.Option(
        "--special",
        metavar="ROLE=SPELLING",
        help="Spell a special anew, or name a reserved one. Repeat for several.",
        show_default=False,
        rich_help_panel=WHAT,
    ),
]
AllowSmaller = Annotated[
    bool,
    typer.Option(
        "--allow-smaller", help="Accept fewer ids where the corpus has no more to learn.", rich_help_panel=WHAT
    ),
]
Mix = Annotated[
    list[str] | None,
    typer.Option(
        "--mix",
        metavar="NAME=W",
        help="Weigh a domain that --domain named: 2, 0.5, 1/3. Repeat for several; the others keep 1.",
        show_default=False,
        rich_help_panel=WHAT,
    ),
]
Temperature = Annotated[
    str | None,
    typer.Option(
        "--temperature",
        metavar="T",
        help="Even out the sizes of domains: 1 leaves them as they are, 5 makes small ones count for much more.",
        show_default=False,
        rich_help_panel=WHAT,
    ),
]
