"""The globs of weighted domains, in an error that was raised before the files of the corpus were known."""

from __future__ import annotations

import click

from slmtok.cli.arguments import positional, takes_corpus
from slmtok.errors import Setting, SlmtokError


def explain_domains(error: SlmtokError, ctx: click.Context) -> None:
    """Puts the globs that match files of the corpus in the place of those that an error about weights leaves open."""
    names, fix = error.fields.get("weighted"), error.parts["fix"]
    if not isinstance(names, tuple) or not isinstance(fix, tuple) or not takes_corpus(ctx.command):
        return
    from slmtok.corpus.paths import expand
    from slmtok.training.mixing import glob_of

    try:
        files = expand(positional(ctx))
    except SlmtokError:
        return
    globs = Setting("domains", {name: glob_of(name, files) for name in names})
    error.fix = tuple(globs if isinstance(part, Setting) and part.name == "domains" else part for part in fix)
