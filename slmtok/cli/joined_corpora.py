"""The command line for a corpus whose files hold their text under different keys: their texts joined under one."""

from __future__ import annotations

from collections.abc import Sequence

import click

from slmtok.cli.arguments import arguments_of, command_line
from slmtok.cli.corpus_notes import NAMED
from slmtok.errors import SlmtokError


def explain_record(error: SlmtokError, ctx: click.Context) -> None:
    """The fix for a record without the field of the text, where the files of its corpus have different fields."""
    if "meant" not in error.fields:
        return
    from slmtok.corpus.text_keys import explain_keys

    path = error.fields.get("path")
    for words, found, read in ctx.meta.get(NAMED, ()):
        # The error for the header of a table has no path.
        if path is not None and path not in found:
            continue
        explain_keys(error, found, read)
        joined = error.fields.get("joined")
        if isinstance(joined, dict) and (line := _line_of_one(joined["file"], words, ctx)):
            error.fix = f"{joined['command']} && {line}"
        return


def _line_of_one(file: str, corpus: Sequence[str], ctx: click.Context) -> str | None:
    """The command line with one file in the place of those of a corpus; None where its words do not name them."""
    given = arguments_of(ctx)
    if not all(given.count(word) == 1 for word in corpus):
        return None
    first, *rest = sorted(given.index(word) for word in corpus)
    # The option of a file is left out with it.
    left_out = {each for at in rest for each in ((at - 1, at) if given[at - 1].startswith("-") else (at,))}
    return command_line(ctx, [file if at == first else word for at, word in enumerate(given) if at not in left_out])
