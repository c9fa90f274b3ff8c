"""The error for a corpus whose files hold their text under different names: one `text_key` is for all of them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from itertools import chain
from pathlib import Path

from slmtok.calls import call_text
from slmtok.corpus.beside_records import beside_records, is_text
from slmtok.corpus.formats import format_of
from slmtok.corpus.paths import HUGGING_FACE, STDIN
from slmtok.corpus.reading import documents, find
from slmtok.errors import MalformedRecord, Message, Setting, SlmtokError
from slmtok.files import free_name
from slmtok.options import CountOptions, ReadOptions, changed_options

UNKNOWN_KEY = "KEY"
"""Stands for the field of a file that nothing says."""
_MAX_FILES = 20
_CHANGE_READING = {"format", "encoding", "separator", "document", "domains"}
"""Options that a file of records would not be read with."""
_SAY_TEXT = {"text_key", "text_template", "format"}
"""Options that say what of a record is text."""
_NOT_IN_FIX = {"text_key", "max_doc_bytes", "memory", "spill_dir", "threads"}


def explain_keys(error: SlmtokError, corpus: object, options: ReadOptions) -> None:
    """For a record without the field of the text: the fix that reads files with different fields apart.

    Other errors stay as they are. Where one other field fits all records, the fix also leaves out the few files beside
    them, which would be read as text. Where the corpus is counted,
    `fields` has `files_by_key`; else `joined`, the command that writes the texts of all files as records of one file,
    where there is one.
    """
    if "meant" not in error.fields or options.text_template is not None or {"files_by_key", "joined"} & {*error.fields}:
        return
    if not isinstance(corpus, (str, os.PathLike, list, tuple)):
        return
    found = find(corpus, options)
    apart = _files_by_key(found, options)
    if len(apart) < 2:
        _leave_out_beside(error, found, options)
        return
    unknown_files = apart.get(UNKNOWN_KEY, [])
    # The first row of a table may be text.
    are_objects = all(format_of(each, options).name in ("json", "jsonl") for each in unknown_files)
    if are_objects and [*apart] in ([UNKNOWN_KEY, options.text_key], [options.text_key, UNKNOWN_KEY]):
        names = tuple(dict.fromkeys(Path(each).name for each in unknown_files))
        error.limit = (Setting("text_key", options.text_key), f" is in {apart[options.text_key][0]}")
        error.fix = (Setting("exclude", names), f" leaves out what has no field {options.text_key!r}")
        return
    unknown = "".join(f"; {UNKNOWN_KEY} is the column of the text in {each}" for each in apart.get(UNKNOWN_KEY, ()))
    error.limit = (Setting("text_key"), " is one for all files of a corpus", unknown)
    if isinstance(options, CountOptions):
        error.fields["files_by_key"] = apart
        error.fix = _counted_apart(apart, options)
    elif UNKNOWN_KEY not in apart and not changed_options(options, _CHANGE_READING):
        command, name = _joined(apart, options)
        error.fields["joined"] = {"command": command, "file": name}
        error.fix = f"{command} # and name {shlex.quote(name)} alone"
    else:
        keys: list[str | Setting] = []
        for key, files in apart.items():
            keys += [Setting("text_key", key), f" for {', '.join(files)}; "]
        error.fix = (*keys, "each in a call of its own")


def _leave_out_beside(error: SlmtokError, found: Sequence[str], options: ReadOptions) -> None:
    """Adds to a fix with the field of the text the option that leaves out what would be read as text beside it."""
    fix = error.parts["fix"]
    if not isinstance(fix, tuple):
        return
    first, *rest = fix
    is_key = isinstance(first, Setting) and first.name == "text_key"
    is_left_out = any(isinstance(part, Setting) and part.name == "exclude" for part in rest)
    if is_key and not is_left_out and (beside := beside_records(found, options)):
        error.fix = (first, " ", Setting("exclude", (*options.exclude, *beside.globs)), *rest)


def _joined(apart: Mapping[str, Sequence[str]], options: ReadOptions) -> tuple[str, str]:
    """The command that writes the texts of all files as records with the field `text_key`, and the file it writes."""
    folders = {Path(each).parent.name for each in chain(*apart.values())}
    stem = folders.pop() if len(folders) == 1 else ""
    name = free_name(f"{stem or 'corpus'}-{options.text_key}.jsonl")
    read = "slmtok.corpus.documents(files, slmtok.options.ReadOptions(text_key=key))"
    program = (
        "import json, slmtok.corpus, slmtok.options, sys; "
        f"sys.stdout.writelines(json.dumps({{{options.text_key!r}: text.decode()}}) + chr(10) "
        f"for key, files in {dict(apart)!r}.items() for text in {read})"
    )
    return f"python -c {shlex.quote(program)} > {shlex.quote(name)}", name


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
        if not is_text(source, options):
            found.setdefault(_key_of(source, options), []).append(source)
    first = next(iter(found.values()), [])
    first += [source for source in sources if source not in chain(*found.values())]
    return found


def _key_of(source: str, options: ReadOptions) -> str:
    """The field of the text in the first record of a file."""
    refused = _refusal_of(source, replace(options, skip_malformed=False))
    if refused is None:
        return options.text_key
    meant = refused.fields.get("meant")
    return meant if isinstance(meant, str) else UNKNOWN_KEY


def reading_of(sources: Sequence[str], options: ReadOptions) -> tuple[Setting, Message] | None:
    """The option without which the first record of a file is refused, where all files are read with it; else None.

    It comes with the remark behind it in the error for that record.
    """
    records = [source for source in sources[:_MAX_FILES] if format_of(source, options).records]
    refused = [error for source in records if (error := _refusal_of(source, options))]
    fixes = [error.parts["fix"] or "" for error in refused]
    first, *others = [fix[0] if isinstance(fix, tuple) else None for fix in fixes] or [None]
    if not isinstance(first, Setting) or first.name not in _SAY_TEXT or any(each != first for each in others):
        return None
    read = replace(options, **{first.name: first.value})
    return None if any(_refusal_of(source, read) for source in records) else (first, fixes[0][1:])


def _refusal_of(source: str, options: ReadOptions) -> MalformedRecord | None:
    """The error for the first record of a file; None for one that is read."""
    try:
        next(documents([source], options), None)
    except MalformedRecord as error:
        return error
    return None
