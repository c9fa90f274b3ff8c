"""The command line that takes a file apart from the corpus as validation: in the corpus, and chosen by the rule."""

from __future__ import annotations

import os
from itertools import pairwise

import click

from slmtok.cli.arguments import arguments_of, command_line, positional, takes_corpus
from slmtok.errors import SlmtokError


def explain_validation(error: SlmtokError, ctx: click.Context) -> None:
    """Changes the fix of an error about --val, which names a file, to the command with that file in its corpus too."""
    path = error.fields.get("validation_file")
    if not isinstance(path, str) or not takes_corpus(ctx.command):
        return
    from slmtok.corpus.paths import expand
    from slmtok.shards.plan import source_names

    corpus, words = positional(ctx), arguments_of(ctx)
    places = [at for at, (before, word) in enumerate(pairwise(["", *words])) if word in corpus and before[:2] != "--"]
    try:
        files = expand([*corpus, *([] if path in corpus else [path])])
        names = dict(zip(files, source_names(files), strict=True))
    except SlmtokError:
        return
    if not places or files.count(path) != 1 or len(files) == 1:
        return
    name = os.path.basename(path)  # noqa: PTH119
    is_only = sum(os.path.basename(each) == name for each in files) == 1  # noqa: PTH119
    rule = f"files:{name if is_only else names[path]}"
    line = []
    for at, (before, word) in enumerate(pairwise(["", *words])):
        line.append(rule if before == "--val" else f"--val={rule}" if word.startswith("--val=") else word)
        line += [path] if at == places[-1] and path not in corpus else []
    error.fix = command_line(ctx, line)
