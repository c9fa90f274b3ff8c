"""The error for a corpus whose files hold their text under different names: one `text_key` is for all of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import chain
from pathlib import Path

from slmtok.calls import call_text
from slmtok.corpus.formats import format_of
from slmtok.corpus.paths import HUGGING_FACE, STDIN
from slmtok.corpus.reading import documents, find
from slmtok.errors import MalformedRecord, Setting, SlmtokError
from slmtok.files import free_name
from slmtok.options import CountOptions, ReadOptions, changed_options

UNKNOWN_KEY = "KEY"
"""Stands for the field of a file that nothing says."""
_MAX_FILES = 20
_NOT_IN_FIX = {"text_key", "max_doc_bytes", "memory", "spill_dir", "threads"}


def explain_keys(error: SlmtokError, corpus: object, options: ReadOptions) -> None:
    """For a record without the field of the text: the fix that reads files with different fields apart.

    Other errors stay as they are, and those of a corpus that one other field fits. Where the corpus is counted,
    `fields` has `files_by_key`.
    """
    if "meant" not in error.fields or options.text_template is not None:
        return
    if not isinstance(corpus, (str, os.PathLike, list, tuple)):
        return
    apart = _files_by_key(find(corpus, options), options)
    if len(apart) < 2:
        return
    unknown = "".join(f"; {UNKNOWN_KEY} is the column of the text in {each}" for each in apart.get(UNKNOWN_KEY, ()))
    error.limit = (Setting("text_key"), " is one for all files of a corpus", unknown)
    if isinstance(options, CountOptions):
        error.fields["files_by_key"] = apart
        error.fix = _counted_apart(apart, options)
    else:
        keys: list[str | Setting] = []
        for key, files in apart.items():
            keys += [Setting("text_key", key), f" for {', '.join(files)}; "]
        error.fix = (*keys, "each of them packed to an output of its own")


def _counted_apart(apart: dict[str, list[str]], options: CountOptions) -> str:
    """The calls that count files with different fields apart, and load the counts."""
    names = {each.name for each in fields(CountOptions)} - _NOT_IN_FIX
    given = {name: getattr(options, name) for name in changed_options(options, names)}
    saved = counts_names(apart)
    calls = [
        f"{call_text('slmtok.count', [files], {'text_key': key, **given})}.save({name!r})"
        for (key, files), name in zip(apart.items(), saved, strict=True)
    ]
    loaded = call_text("slmtok.PretokenCounts.load", saved, {})
    return f"{', '.join(calls)}, {loaded}, which are the counts to train on"


def counts_names(apart: dict[str, list[str]]) -> list[str]:
    """A free name of counts for the files of each key, from the first file of each."""
    stems = [Path(files[0]).name.partition(".")[0] for files in apart.values()]
    return [free_name(f"{stem}{f'-{at}' if stem in stems[:at] else ''}.counts") for at, stem in enumerate(stems)]


def _files_by_key(sources: Sequence[str], options: ReadOptions) -> dict[str, list[str]]:
    """The files under the field of their text, files without records under the first; {} where files are not tried."""
    if len(sources) > _MAX_FILES or any(each == STDIN or each.startswith(HUGGING_FACE) for each in sources):
        return {}
    found: dict[str, list[str]] = {}
    records = [source for source in sources if format_of(source, options).records]
    for source in records:
        found.setdefault(_key_of(source, options), []).append(source)
    first = next(iter(found.values()), [])
    first += [source for source in sources if source not in chain(*found.values())]
    return found


def _key_of(source: str, options: ReadOptions) -> str:
    """The field of the text in the first record of a file."""
    try:
        next(documents([source], replace(options, skip_malformed=False)), None)
    except MalformedRecord as error:
        meant = error.fields.get("meant")
        return meant if isinstance(meant, str) else UNKNOWN_KEY
    return options.text_key
