"""Validation text that the options of the training text do not read: the command that packs it by its own."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import click

from slmmodel.cli.text import is_text
from slmmodel.errors import Argument, MissingInput, UnsupportedFormat
from slmtok.cli.arguments import arguments_of, command_line, options_by_flag, without_options
from slmtok.errors import MalformedRecord, OptionError, Setting, SlmtokError
from slmtok.files import free_name
from slmtok.options import ReadOptions

_CORPUS = "the corpus"
"""Where a file that is no text is, by its error."""
_OF_FORMATS = ("separator", "document", "text_key", "text_template")
"""Options of one kind of files, which another kind does not have."""


@contextmanager
def naming_validation(val: str, tokenizer: str, read: ReadOptions, opened: str) -> Iterator[None]:
    """Changes the fix of an error about the fields and marks of a text, which the other text may not have.

    Another option would fail for that one. opened: the text that is opened, `val` or that of training.
    """
    try:
        if opened == val:
            _refuse_configuration(val, read)
        yield
    except SlmtokError as error:
        if opened == val and error.fields.get("path") == val and error.where == _CORPUS:
            context = click.get_current_context(silent=True)
            line = "leave data.val out"
            if context is not None:
                line = command_line(context, without_options(arguments_of(context), ("--val",)))
            error.where = "data.val" if context is None else "--val"
            error.fix = f"{line}, which chooses from the training text; or name another text"
        option = error.fields.get("option")
        is_of_format = isinstance(error, MalformedRecord) or (isinstance(error, OptionError) and option in _OF_FORMATS)
        if is_of_format and Path(val).is_file() and is_text(val):
            given = [] if opened == val else [Setting(str(option), getattr(read, str(option)))]
            name = shlex.quote(free_name(f"{Path(val).stem}-val"))
            words: list[str | Setting] = [f"slmtok pack {shlex.quote(val)} -t {shlex.quote(tokenizer)} "]
            for setting in given or _fields_of(val):
                words += [setting, " "]
            without: list[str | Setting] = [" without ", Setting(str(option))] if given else []
            error.where = error.where or opened
            error.limit = f"one set of options reads the training text and --val {val}; packed data need none"
            error.fix = (*words, f"--val none -o {name}, and --val {name}", *without)
        raise


@contextmanager
def packing_validation() -> Iterator[None]:
    """Adds to the fix of an error about text beside packed data the command line with the data that it packs."""
    try:
        yield
    except (UnsupportedFormat, MissingInput) as error:
        context = click.get_current_context(silent=True)
        match error.parts["fix"]:
            case (str(packed), str(), Argument(name="data.val", value=folder)) if context is not None:
                words, given = list[str](), arguments_of(context)
                for before, word in pairwise(["", *without_options(given, ("--val",))]):
                    if word.removeprefix("--set=").startswith("data.val="):
                        words = words[: len(words) - (before == "--set")]
                    else:
                        words.append(word)
                has_option = "--val" in options_by_flag(context.command)
                words += ["--val", folder] if has_option else ["--set", f"data.val={folder}"]
                error.fix = f"{packed} && {command_line(context, words)}"
                # Of the setting, wherever it was given.
                error.where, error.fields["option"] = None, "data.val"
        raise


def _refuse_configuration(val: str, read: ReadOptions) -> None:
    """Raises `OptionError` for a configuration in the place of the text, unless all files are to be read as text."""
    from slmmodel.data.file_kinds import CONFIGURATION, kind_of

    if read.format != "text" and kind_of(Path(val)) == CONFIGURATION:
        limit = (Setting("format", "text"), " reads such a file as text")
        fix = "name another text"
        raise OptionError(f"{val} is {CONFIGURATION}, not text", where=_CORPUS, limit=limit, fix=fix, path=val)


def _fields_of(path: str) -> list[Setting]:
    """The option that names the text in the records of a file, where the default does not."""
    from slmtok.corpus import documents

    try:
        next(documents([path], ReadOptions()), None)
    except MalformedRecord as error:
        fix = error.parts["fix"]
        return [part for part in fix if isinstance(part, Setting)][:1] if isinstance(fix, tuple) else []
    except SlmtokError:
        pass
    return []
