"""The arguments `[TOK...] [TEXT|-]`: tokenizers, then a text, which may come from stdin."""

from __future__ import annotations

import codecs
import os
import re
import shlex
import sys
from collections.abc import Collection, Sequence
from itertools import pairwise
from pathlib import Path

import click

from slmtok.cli.arguments import (
    OUTPUT_FLAGS,
    command_line,
    notes_on_escapes,
    options_by_flag,
    positional_params,
    value_after,
    without_options,
)
from slmtok.cli.files import STDIO, is_tokenizer, names_tokenizer
from slmtok.cli.options import TOKENIZER, Habit, arguments_of_command, in_given_order
from slmtok.cli.output import note_terminal
from slmtok.cli.streams import kind_of_stream
from slmtok.errors import MissingInput, OptionError, Setting
from slmtok.file_kinds import NAMES, kind_of
from slmtok.files import free_name, missing_input, read_at_most, read_file, similar_file, similar_path
from slmtok.opening import TOKENIZER_FILES, missing_tokenizer, similar_encoding
from slmtok.options import ReadOptions, option_specs
from slmtok.path_arguments import hub_fetch

_NAME = re.compile(r"[a-z][\w.-]*\d[\w.-]*", re.ASCII)
"""A word with a digit, as names of encodings and of models are."""
_HUB_NAME = re.compile(r"(?=.*[A-Z\d])[\w-]+/[\w.-]+", re.ASCII)
"""A word as names of models of the Hugging Face Hub are, of an owner and a model; `and/or` is none."""
_MAX_PIPED = 60
"""Characters of a text that a remedy shows."""


def split_arguments(items: Sequence[str], more: Sequence[str]) -> tuple[list[str], str | None]:
    """(tokenizers in the given order, text): arguments before the text or after it name tokenizers; one is the text."""
    names, rest = list(more), list(items)
    while rest and (is_tokenizer(rest[0]) or names_tokenizer(rest[0]) or _is_folder(rest[0])):
        names.append(rest.pop(0))
    while len(rest) > 1 and is_tokenizer(rest[-1]):
        names.append(rest.pop())
    if rest and rest[0].endswith(".json") and not any(char.isspace() for char in rest[0]):
        fix = f"{similar_file(rest[0]) or 'check the name'}, or add a space if it is text"
        raise MissingInput(f"no file {rest[0]!r}", fix=fix, path=rest[0])
    if len(rest) > 1 and all(map(os.path.isfile, rest)):
        raise OptionError(
            f"{' and '.join(map(repr, rest))} are texts, and the text is one argument",
            limit="- reads the text from stdin",
            fix=_line_for_each(rest),
        )
    is_file_name = len(rest) > 1 and Path(rest[0]).suffix != "" and not os.path.isfile(rest[0])  # noqa: PTH113
    is_misspelt = is_file_name and similar_file(rest[0]) is not None
    if is_misspelt or (
        len(rest) == 2 and (_HUB_NAME.fullmatch(rest[0]) or (_NAME.fullmatch(rest[0]) and similar_encoding(rest[0])))
    ):
        raise missing_tokenizer(missing_input(rest[0]), rest[0])
    if len(rest) > 1:
        raise OptionError(
            f"{rest[0]!r} is not a tokenizer, and the text is one argument",
            limit=TOKENIZER,
            fix=_one_text(rest)
            if names and not Path(rest[0]).suffix
            else "check the name, or put quotes around the text",
        )
    if not rest:
        _refuse_text_as_tokenizer(more)
    return in_given_order(click.get_current_context(), names), rest[0] if rest else None


def _refuse_text_as_tokenizer(names: Sequence[str]) -> None:
    """Raises `OptionError` for words behind -t, which other tools take for the text; one word may be a name."""
    for name in names:
        if any(map(str.isspace, name)) and not (name.endswith(".json") or os.path.exists(name)):  # noqa: PTH110
            words = [part for word in arguments_of_command() for part in _divided_option(word)]
            at = words.index(name)
            fix = command_line(click.get_current_context(), [*words[: at - 1], *words[at + 1 :], name])
            raise OptionError(f"-t {name!r} is text, and -t names a tokenizer", limit=TOKENIZER, fix=fix, option="-t")


def _divided_option(word: str) -> list[str]:
    """`--tokenizer=NAME` and `-tNAME` as two words; others as they are."""
    if word.startswith("--tokenizer="):
        return word.split("=", 1)
    return ["-t", word[2:]] if word.startswith("-t") and len(word) > 2 else [word]


def _one_text(words: Sequence[str]) -> str:
    """The command for each of several texts, or for words that are one."""
    if all(any(map(str.isspace, word)) for word in words):
        rest = [[word for word in arguments_of_command() if word not in words or word == each] for each in words]
        return " && ".join(command_line(click.get_current_context(), line) for line in rest)
    kept = [word for word in arguments_of_command() if word not in words]
    whole = command_line(click.get_current_context(), [*kept, " ".join(words)])
    return f"{whole}, if they are one text; else check the name"


def _line_for_each(texts: Sequence[str]) -> str:
    """The command for each of several files of text, which it reads from stdin, with an output of its own."""
    context = click.get_current_context()
    given = [word for word in arguments_of_command() if word not in texts]
    output = context.params.get("output")
    written = value_after(OUTPUT_FLAGS, given)
    lines = list[str]()
    for text in texts:
        words = [*given, STDIO]
        if isinstance(output, str) and output != STDIO:
            stem, ending = os.path.splitext(output)  # noqa: PTH122
            own = free_name(f"{stem}-{Path(text).stem}{ending}")
            words = [own if word == written else word for word in words] + ([] if written else ["-o", own])
        lines.append(read_from(text, command_line(context, words)))
    return " && ".join(lines)


def read_from(path: str, command: str) -> str:
    """A command with a file of text as its stdin, decompressed, and in UTF-8 where another encoding is likely."""
    from slmtok.corpus.unpacking import DECOMPRESS
    from slmtok.file_content import HEAD_BYTES, SUFFIXES_OF_DATA, content_of

    head, source = read_file(path, HEAD_BYTES), shlex.quote(path)
    content = content_of(head)
    if content and content.read_by in SUFFIXES_OF_DATA:
        return f"{DECOMPRESS[SUFFIXES_OF_DATA[str(content.read_by)][1:]]} {source} | {command}"
    name = encoding_of(head)
    return f"iconv -f {name} -t utf-8 {source} | {command}" if name else f"{command} < {source}"


def encoding_of(head: bytes) -> str | None:
    """The encoding, as iconv names it, in which text with these first bytes is likely; None for UTF-8 and others."""
    from slmtok.corpus.likely_encodings import likely_encodings
    from slmtok.file_content import content_of, is_utf_8

    content = content_of(head)
    if content and content.encoded and isinstance(content.read_by, Setting):
        return str(content.read_by.value)
    names = () if is_utf_8(head) or data_name(head) else likely_encodings(head)
    return codecs.lookup(names[0]).name.replace("_", "-") if names else None


def data_name(head: bytes) -> str | None:
    """What a file with these first bytes is; None for text, in any encoding and also compressed."""
    from slmtok.file_content import SUFFIXES_OF_DATA, content_of

    if b"\0" in head and (name := NAMES.get(kind_of(head))):
        return name
    content = content_of(head)
    is_read = content is None or (isinstance(content.read_by, Setting) and content.encoded)
    return None if content is None or is_read or content.read_by in SUFFIXES_OF_DATA else content.name


def _as_data(path: str) -> str | None:
    """What a file without text is, and the command that shows the text of ids; None for text."""
    from slmtok.file_content import HEAD_BYTES, content_of

    head = read_file(path, HEAD_BYTES)
    name, content = data_name(head), content_of(head)
    if name is None or content is None or not content.integers:
        return name
    tokenizer = next(filter(names_tokenizer, arguments_of_command()), "TOK")
    return f"{name}; if it holds ids, {shlex.join(['slmtok', 'decode', path, '-t', tokenizer])} shows their text"


def _is_folder(name: str) -> bool:
    """Whether an argument is a folder with a tokenizer."""
    return name != "" and any(os.path.isfile(os.path.join(name, file)) for file in TOKENIZER_FILES)  # noqa: PTH113, PTH118


def notes_on_text(text: str | None, *, is_written: bool = False) -> tuple[str, ...]:
    """A warning about a text that names a file, or almost a public tokenizer, with the command that takes that, and
    about one with an escape.

    is_written: whether the command has written its output, which the one of the warning replaces.
    """
    if text is None or text == STDIO:
        return ()
    force = [] if not is_written or "--force" in arguments_of_command() else ["--force"]
    if fact := _named_path(text):
        line = shlex.join([*line_with(text, STDIO), *force])
        is_there = os.path.isfile(text)  # noqa: PTH113 - false for any text
        if is_there and (data := _as_data(text)):
            return (f"{text!r} was taken as the text, and {fact}: {data}",)
        file = text if is_there else similar_path(Path(text), Path.is_file)
        if file is None:
            return (f"{text!r} was taken as the text, and {fact}; {line} < FILE shows the text of a file",)
        condition = "" if is_there else f"if {str(file)!r} is meant, "
        return (f"{text!r} was taken as the text, and {fact}; {condition}{read_from(str(file), line)} shows its text",)
    if _NAME.fullmatch(text) and (meant := similar_encoding(text)):
        return (f"{text!r} is taken as text; with the tokenizer: {shlex.join([*line_with(text, meant), *force])}",)
    if _HUB_NAME.fullmatch(text):
        fetch, name = hub_fetch(text)
        command = shlex.join([*line_with(text, name), *force])
        return (f"{text!r} is taken as text; with the tokenizer of that name: {fetch} && {command}",)
    return notes_on_escapes("", text)


def _named_path(text: str) -> str | None:
    """What is or may be named by a text: a file, a folder, or, by its folder or suffix, a missing file; else None."""
    if os.path.isfile(text):  # noqa: PTH113
        return "is the name of a file"
    from slmtok.corpus.streams import bare_suffix
    from slmtok.corpus.suffixes import SUFFIXES

    path = Path(text)
    if any(map(str.isspace, text)) or not any(map(str.isalnum, path.name)):
        return None
    if os.path.isdir(text):  # noqa: PTH112
        return "is the name of a folder"
    is_in_folder = path.parent.name != "" and os.path.isdir(path.parent)  # noqa: PTH112
    is_of_format = any(bare_suffix(text) in suffixes for suffixes in SUFFIXES.values())
    return "no file has this name" if is_in_folder or is_of_format else None


def line_with(argument: str, other: str) -> list[str]:
    """The words of the running command with another word for its last argument of this name."""
    context = click.get_current_context()
    words = arguments_of_command()
    places = [at for at, word in enumerate(words) if word == argument]
    at = places[-1] if places else len(words)
    return [*context.command_path.split(), *words[:at], other, *words[at + 1 :]]


def piped(text: str, command: str, arguments: Sequence[str], words: Collection[str] = ()) -> str:
    """The remedy for a text, or ids, where a file is expected: the command with it on stdin.

    `words` are the arguments that give the text, for which - stands; without them, it is the value of an option.
    """
    kept = [each for each in without_options(arguments, _TEXT_OPTIONS) if each not in words]
    at = min((at for at, each in enumerate(arguments) if each in words), default=0)
    if not any(each.startswith(("-t", "--tokenizer")) or names_tokenizer(each) for each in kept):
        kept += ["-t", "tok.json"]
    line = shlex.join(["slmtok", command, *kept[:at], STDIO, *kept[at:]])
    shown = shlex.quote(text) if len(text) <= _MAX_PIPED else "TEXT"
    return f"printf %s {shown} | {line}"


def text_last(command: str) -> dict[str, Habit]:
    """What stands for `--text TEXT` of other tools in a command whose last argument is the text: the whole line.

    So for `--on TEXT` of other commands. The text of a file comes from stdin.
    """

    def line(value: str | None, arguments: Sequence[str]) -> str:
        words = without_options(arguments, options)
        if value and (is_tokenizer(value) or names_tokenizer(value)):
            return shlex.join([*command.split(), value, *words])
        if value and os.path.isfile(value):  # noqa: PTH113
            return f"{shlex.join([*command.split(), *words, STDIO])} < {shlex.quote(value)}"
        return shlex.join([*command.split(), *words, "some text" if value is None else value])

    options = (*_TEXT_OPTIONS, "--on", "-f", "--file", "--input-file", "--text-file")
    return dict.fromkeys(options, line)


_TEXT_OPTIONS = ("--text", "--string", "--prompt", "--input")
"""Options of other tools for a text."""


def eval_line(ours: click.Command, arguments: Sequence[str]) -> str:
    """The command that counts the tokens of the texts of another one, `ours`, with the tokenizer that `-t` names.

    Options that say how texts are read are kept, others are not.
    """
    own = options_by_flag(ours)
    kept = {*(name for name, _, _ in option_specs(ReadOptions)), "threads", "json", "quiet"}
    tokenizers, texts, options = list[str](), list[str](), list[str]()
    words = iter(pairwise(["", *arguments]))
    for before, word in words:
        flag, equals, value = word.partition("=")
        option = own.get(flag)
        if flag in ("-t", "--tokenizer"):
            tokenizers.append(value if equals else next(words, ("", "TOK"))[1])
        elif option is not None:
            given = [word] if option.is_flag or equals else [word, next(words, ("", ""))[1]]
            options += given if option.name in kept else []
        else:
            is_file = word == STDIO or os.path.exists(word)  # noqa: PTH110
            is_value = before.startswith("-") and before not in own
            texts += ["--on", word] if is_file or not (is_value or word.startswith("-")) else []
    texts = texts or ["--on", "TEXT" if any(param.required for param in positional_params(ours)) else STDIO]
    return shlex.join(["slmtok", "eval", *(tokenizers or ["TOK"]), *texts, *options])


def is_text(source: str) -> bool:
    """Whether the name of a file that does not exist is more likely text: it has a space, or no suffix and no `/`."""
    return any(map(str.isspace, source)) or not (os.sep in source or Path(source).suffix)


def read_text(text: str | None, default: str, max_bytes: int = -1) -> bytes:
    """The bytes of an argument, of stdin for `-` or where it has data, else of `default`.

    Of stdin, at most `max_bytes` and one more are read, so that the caller sees that there are too many.
    """
    if text == STDIO or (text is None and kind_of_stream(sys.stdin) not in (None, "device")):
        # Here, since slm starts without the readers of a corpus.
        from slmtok.corpus.streams import open_bytes

        note_terminal()
        with open_bytes(STDIO) as stream:
            return read_at_most(stream, max_bytes + 1) if max_bytes >= 0 else stream.read()
    return default.encode() if text is None else os.fsencode(text)
