"""The command line that takes a file, or a folder, as validation: in the corpus, and chosen by the rule."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import click

from slmtok.cli.arguments import arguments_of, command_line, other_than_text, positional, takes_corpus
from slmtok.errors import Setting, SlmtokError
from slmtok.foreign_options import split_of_share


def explain_validation(error: SlmtokError, ctx: click.Context) -> None:
    """Changes the fix of an error about --val, which names a path, to the command with that path in its corpus too.

    A path of no file may be the name of files in the corpus: the fix is the rule for them.
    """
    path = error.fields.get("validation_file")
    if not isinstance(path, str) or not takes_corpus(ctx.command):
        return
    from slmtok.corpus.paths import expand
    from slmtok.shards.plan import source_names
    from slmtok.shards.split import by_rule, names_files, rule_of_files

    corpus, words = positional(ctx), arguments_of(ctx)
    if Path(path).exists() and (kind := other_than_text(path)):
        error.where = f"{path} is {kind}, not text"
        error.fix = command_line(ctx, [_with_rule(word, before, "auto") for before, word in pairwise(["", *words])])
        return
    places = [at for at, (before, word) in enumerate(pairwise(["", *words])) if word in corpus and before[:2] != "--"]
    try:
        files = expand(corpus)
        if not names_files(path) and by_rule(f"files:{path}", source_names(files)):
            error.where, error.fix = f"{path!r} matches files of the corpus", (Setting("val", f"files:{path}"),)
            return
        chosen = expand([path])
        wanted = {*map(Path.absolute, map(Path, chosen))}
        is_added = not wanted <= {*map(Path.absolute, map(Path, files))}
        files += chosen if is_added else []
        names = source_names(files)
    except SlmtokError:
        return
    rule = rule_of_files([Path(each).absolute() in wanted for each in files], names)
    if len(chosen) == len(files):
        error.where, error.fix = f"{path} is the whole corpus", split_of_share("10%")
    is_rule = any(word.removeprefix("--val=").startswith("files:") for word in words)
    if not places or rule is None or (is_rule and not is_added):
        # The error about a rule for files of the corpus names the rule that is meant.
        return
    line = []
    for at, (before, word) in enumerate(pairwise(["", *words])):
        line.append(_with_rule(word, before, rule))
        line += [path] if at == places[-1] and is_added else []
    error.fix = command_line(ctx, line)


def _with_rule(word: str, before: str, rule: str) -> str:
    """A word of the command line, with this rule where it is, or holds, the value of --val."""
    return rule if before == "--val" else f"--val={rule}" if word.startswith("--val=") else word
