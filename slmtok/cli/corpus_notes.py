"""Notes on a corpus that is probably something else than it is read as, and on globs that match none of it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slmtok.cli.output import again_with
from slmtok.errors import CorpusTooSmall, MissingInput
from slmtok.files import free_name

if TYPE_CHECKING:
    from slmtok.corpus import Sources
    from slmtok.options import ReadOptions

_LIST = "LIST.OF.FILES"
"""Stands in a command line for the words of a list, which the shell replaces."""
_CAUSE, _SEPARATOR = "list of files", "separator without white space"
_DIVIDED = re.compile(r"[\s*?\[\\]")
"""Characters of a name with which the shell makes another word of it, or several."""


def corpus_notes(found: Sources, read: ReadOptions) -> Iterator[str]:
    """The notes on the sources of a corpus; none for most."""
    from slmtok.corpus.annotated import annotated_among
    from slmtok.corpus.contents import ids_among, is_in_texts, json_lines_among, list_among, markup_among

    for glob in found.unused_globs:
        yield f"--exclude {shlex.quote(glob)} matches no file of the corpus{glob_meant(glob, found, '--exclude ')}"
    bare = (read.separator or "").strip()
    if bare != read.separator and is_in_texts(bare, found, read):
        _remember(_SEPARATOR, bare)
    for domain, glob in ((domain, glob) for domain, globs in read.domains.items() for glob in globs):
        if meant := glob_meant(glob, found, f"--domain {domain}="):
            yield f"--domain {shlex.quote(f'{domain}={glob}')} matches no file of the corpus{meant}"
    if path := json_lines_among(found, read):
        name = "stdin" if path == "-" else path
        yield (
            f"{name} looks like JSON lines, and its JSON was read as text; "
            f"{again_with('--format jsonl')} for the text of its records"
        )
    if path := ids_among(found, read):
        yield f"{path} looks like lines of ids, and its digits were read as text; name the text that was encoded"
    if markup := markup_among(found, read):
        name = "stdin" if markup[0] == "-" else markup[0]
        yield f"{name} is {markup[1]}, and its tags were read as text; name a file with its text alone"
    if annotated := annotated_among(found, read):
        name = "stdin" if annotated.path == "-" else annotated.path
        again = [again_with(annotated.options)] if annotated.options else []
        yield f"{name} {annotated.fact}; {' '.join([*again, annotated.fix]).strip()}"
    if path := list_among(found, read):
        line = _line_of_list(path, path)
        if len(found) == 1:
            _remember(_CAUSE, (path, line))
        yield f"the lines of {path} are names of files, and these names were read as text; {line}"
    yield from _table_notes(found, read)


def _remember(name: str, value: object) -> None:
    """Keeps what is found out before the corpus is read, for what is said after it."""
    if context := click.get_current_context(silent=True):
        context.meta[name] = value


def separator_meant(separator: str) -> str:
    """The end of the note on a separator that cuts no file: the one without its white space, which occurs; or ""."""
    from slmtok.option_values import escape

    context = click.get_current_context(silent=True)
    bare = context.meta.get(_SEPARATOR) if context else None
    if not bare or bare != separator.strip():
        return ""
    option = f"--separator {shlex.quote(escape(bare))}"
    return f"; {escape(bare)!r} occurs without the white space: {again_with(option)}"


def glob_meant(glob: str, found: list[str], option: str) -> str:
    """The end of the note on a glob that is the name of a folder with files of the corpus; "" for another glob."""
    from slmtok.corpus.globs import glob_of_folder, matches

    meant = None if any(matches(path, glob) for path in found) else glob_of_folder(glob, found)
    flag, _, name = option.partition(" ")
    return "" if meant is None else f"; {again_with(f'{flag} {shlex.quote(name + meant)}')} for the files below it"


def explain_list(error: MissingInput) -> None:
    """The fix for `@FILE`, which other programs replace by the lines of a file."""
    from slmtok.corpus.contents import names_of_files

    path = str(error.fields.get("path"))
    if path.startswith("@") and names_of_files(path[1:]):
        error.limit = f"@FILE stands for no list of files here, and {path[1:]} is one"
        error.fix = _line_of_list(path[1:], path, is_first=True)


def explain_too_small(error: CorpusTooSmall) -> None:
    """The cause of a corpus that supports few ids, where its text is a list of files."""
    context = click.get_current_context(silent=True)
    if context and (cause := context.meta.get(_CAUSE)):
        error.limit = f"the lines of {cause[0]} are names of files, and these names were read as text"
        error.fix = cause[1].removesuffix(" --force")


def _line_of_list(path: str, word: str, *, is_first: bool = False) -> str:
    """The command that reads the files which `path` lists, in the place of `word` among its arguments."""
    from slmtok.corpus.contents import names_of_files

    context = click.get_current_context(silent=True)
    given = list(context.meta.get("arguments", ())) if context else []
    if context is None or given.count(word) != 1 or any(map(_DIVIDED.search, names_of_files(path))):
        return f"name the files that {path} lists"
    force = again_with("").endswith("--force") and "--force" not in given and not is_first
    words = [*(_LIST if each == word else each for each in given), *["--force"] * force]
    return shlex.join([*context.command_path.split(), *words]).replace(_LIST, f"$(cat {shlex.quote(path)})")


def _table_notes(found: Sources, read: ReadOptions) -> Iterator[str]:
    """Notes on a header that was read as text, and on quotes that .tsv does not have."""
    from slmtok.corpus.streams import compression
    from slmtok.corpus.table_heads import are_quoted, named_columns, table_heads
    from slmtok.corpus.tables import short

    tables = {name: table_heads(found, read, name) for name in ("tsv", "csv")}
    for head in (each for heads in tables.values() for each in heads):
        if names := named_columns(head, read):
            name = f"--text-key {shlex.quote(names[0])}"
            if read.text_template is not None:
                name = f"--text-template {shlex.quote(_by_name(read.text_template, head.first))}"
            shown = ", ".join(map(short, head.first))
            again = f"{again_with(name)} for a table with a header"
            yield f"the first row of {head.path} ({shown}) was read as text; {again}"
            break
    for head in [*filter(are_quoted, tables["tsv"])][:1]:
        program = r"import csv,sys; csv.writer(sys.stdout).writerows(csv.reader(sys.stdin,delimiter='\t'))"
        target = shlex.quote(free_name(f"{Path(head.path).stem}.csv"))
        line = f'python -c "{program}" < {shlex.quote(head.path)} > {target}, and name it'
        if compression(head.path) != "plain":
            line = "write it as .csv, which has quotes"
        yield f"the texts in the first rows of {head.path} are in quotes, which .tsv keeps as text; {line}"


def _by_name(template: str, names: list[str]) -> str:
    """A template with the names of its columns for their numbers."""
    return re.sub(r"(?<!\{)\{(\d+)(?=[|}])", lambda number: f"{{{names[int(number[1]) - 1]}", template)
