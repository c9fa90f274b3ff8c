"""The error for an option that a command does not have: misspelt, of another tool, of another command, or misplaced."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import click

from slmtok.cli.arguments import (
    OUTPUT_FLAGS,
    arguments_of,
    command_line,
    example_words,
    is_text_file,
    options_by_flag,
    parameter_name,
    takes_corpus,
    takes_text,
    takes_text_on,
    takes_tokenizer,
    taking_value,
    value_after,
    without_options,
)
from slmtok.cli.options_elsewhere import remedy_elsewhere
from slmtok.cli.output import flag_naming
from slmtok.errors import render, suggestion
from slmtok.path_arguments import free_name, is_glob

_SHORT_NAME = 2
_NEGATIVE = re.compile(r"-\d+(\.\d+)?", re.ASCII)
_MIN_PREFIX = 4
"""Characters with which an option begins that stand for it."""
_DATA_SET = re.compile(r"[\w-]+(/[\w.-]+)?", re.ASCII)
"""The name of a data set of the Hugging Face Hub."""
_CALL = re.compile(r"\b(?:tok|slmtok)\.\w+\(|\[tok\.")
"""In a remedy for calls in Python."""
_EXAMPLE = re.compile(", (?:for instance$|as without it)")
"""In a valid value that is not the one that was given."""
_CORPUS_OPTIONS = ("--input", "--files", "--file", "--dataset", "--data", "--texts", "--corpus", "--on")
"""Options of other trainers whose value is the argument CORPUS... here."""
COMMAND_LINE = re.compile(r"(PYTHONIOENCODING=\S+ )?(slmtok|slm|pip|python|printf|make|eval|sed|cp|mv|mkdir|while) ")
QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")
"""Words of a command line in quotes."""
WHOLE = "whole"
"""Key of the habit that writes the command line for its arguments, where options of another tool were replaced."""


class _Unknown(NamedTuple):
    """An option that a command does not have."""

    name: str
    """With dashes, as ours are written."""
    typed: str
    value: str | None
    meant: str | None
    """The option of ours that it misspells, begins, or has a verb before."""
    context: click.Context

    @property
    def fact(self) -> str:
        return f"unknown option {self.typed!r}"


def unknown_option(name: str, context: click.Context) -> tuple[str, str, str]:
    """(fact, fix, name) for an option that the command does not have."""
    # Such as `-v2.txt`, which click reads as `-v`.
    dashed = [word for word in arguments_of(context) if word.startswith(name)]
    if file := next(filter(os.path.exists, dashed), None):
        words = [f"./{word}" if word == file else word for word in arguments_of(context)]
        return f"{file!r} begins with a dash, as options do", command_line(context, words), file
    if text := next((word for word in dashed if _is_text(word, context)), None):
        words = [*(word for word in arguments_of(context) if word != text), "--", text]
        return f"{text!r} begins with a dash, as options do", command_line(context, words), text
    typed = next((word for word in _unknown(context) if word.replace("_", "-") == name), name)
    value = value_of(name, arguments_of(context))
    unknown = _Unknown(name, typed, value, _meant(name, context), context)
    fact, fix = next(filter(None, (remedy(unknown) for remedy in _REMEDIES)))
    return *_with_others(fact, fix, typed, context), name


def _is_text(word: str, context: click.Context) -> bool:
    """Whether an argument with a dash before it is text for a command that takes some: words, of no option."""
    if not re.search(r"\s", word) or not takes_text(context.command):
        return False
    flag = re.split(r"[\s=]", word)[0]
    is_name = re.fullmatch(r"--?\w[\w-]*", flag) is not None
    return not (is_name and (_meant(flag, context) or habit_of(context.command, flag)))


def _meant(name: str, context: click.Context) -> str | None:
    """The option that an unknown one misspells, begins, or has a verb before; None without one."""
    known = _long_flags(context.command)
    if habit_of(context.command, name) and len(name) == len("-n"):
        return None
    return f"-{name}" if f"-{name}" in known else _near_option(name, known) or _without_verb(name, known)


def _files_of_list(unknown: _Unknown) -> tuple[str, str] | None:
    """The command line with the files that the value lists."""
    from slmtok.cli.corpus_notes import line_of_named_list

    _, typed, path, _, context = unknown
    if path is None or _unknown(context) != [typed] or not (takes_corpus(context.command) and os.path.isfile(path)):  # noqa: PTH113
        return None
    line = line_of_named_list(path, without_options(arguments_of(context), (typed,)), context)
    return (unknown.fact, line) if line else None


def _ours_for_several(unknown: _Unknown) -> tuple[str, str] | None:
    """The command line with ours for options of another tool."""
    line = _translated(unknown.context)
    return (_several_unknown(unknown.context), line) if line else None


def _corpus_as_argument(unknown: _Unknown) -> tuple[str, str] | None:
    """The command line with the corpus as an argument, which other trainers have an option for."""
    if unknown.name not in _CORPUS_OPTIONS or not takes_corpus(unknown.context.command):
        return None
    line = _translated(unknown.context, least=1)
    return (unknown.fact, line) if line else _named_alike(unknown)


def _habit_alone(unknown: _Unknown) -> tuple[str, str] | None:
    """What stands for an option of another tool in this command."""
    if habit_of(unknown.context.command, unknown.name) is None:
        return None
    fix = _remedy(unknown.name, unknown.value, unknown.context)
    return (unknown.fact, fix) if fix else None


def _written_apart(unknown: _Unknown) -> tuple[str, str] | None:
    """The command line with a flag whose name is written as an option and its value: `--expect same`."""
    _, typed, value, _, context = unknown
    option = options_by_flag(context.command).get(flag := f"{unknown.name}-{value}")
    if option is None or not option.is_flag:
        return None
    return unknown.fact, command_line(context, [*without_options(arguments_of(context), (typed,)), flag])


def _files_of_glob(unknown: _Unknown) -> tuple[str, str] | None:
    """The command line with the files that --include takes of a folder."""
    if unknown.name != "--include" or not unknown.value:
        return None
    line = _with_files(unknown.value, unknown.typed, unknown.context)
    return (unknown.fact, line) if line else None


def _text_behind_on(unknown: _Unknown) -> tuple[str, str] | None:
    """The option --on, which a command that reads no CORPUS has for text."""
    value, command = unknown.value, unknown.context.command
    is_text = value and takes_text_on(command) and is_text_file(value)
    return (unknown.fact, f"use --on {shlex.quote(value)}") if value and is_text else None


def _foreign(unknown: _Unknown) -> tuple[str, str] | None:
    """What stands for an option of another library in every command."""
    name, _, value, _, context = unknown
    fix = _foreign_option(name, value, context.command)
    return (unknown.fact, _with_valid_value(fix, value, context)) if fix else None


def _stdout_redirected(unknown: _Unknown) -> tuple[str, str] | None:
    """The redirection of the shell, for the output of a command that has no option for it."""
    if unknown.name not in OUTPUT_FLAGS:
        return None
    fix = _redirected(unknown.name, unknown.context)
    return f"{unknown.fact}: the result goes to stdout", fix


def _tokenizer(unknown: _Unknown) -> tuple[str, str] | None:
    """The option -t, for the name of a tokenizer."""
    value = unknown.value
    if unknown.meant or not value or not takes_tokenizer(value, unknown.context):
        return None
    return unknown.fact, f"use -t {shlex.quote(value)}"


def _json(unknown: _Unknown) -> tuple[str, str] | None:
    """The option --json, for one of a format."""
    is_json = unknown.name.endswith("format") and unknown.value == "json"
    has_json = "--json" in _long_flags(unknown.context.command)
    return (unknown.fact, _as_json(unknown.typed, unknown.context)) if is_json and has_json else None


def _elsewhere(unknown: _Unknown) -> tuple[str, str] | None:
    """What another command is for, unless the option begins one of this command or has a verb before it."""
    name, _, value, meant, context = unknown
    if meant and (meant.startswith(name) or meant == _without_verb(name, _long_flags(context.command))):
        return None
    return remedy_elsewhere(unknown.fact, name, value, context)


def _before_command(unknown: _Unknown) -> tuple[str, str] | None:
    """The line with the command first, for an option of the command that stands before it."""
    name, context = unknown.name, unknown.context
    if not isinstance(context.command, click.Group) or unknown.meant or name == "-v":
        return None
    return f"{name!r} stands before the command", _behind_command(name, context.command, context)


def _named_alike(unknown: _Unknown) -> tuple[str, str]:
    """The option that is spelt nearly so, or takes such a value; else the help of the command."""
    name, _, value, meant, context = unknown
    command, where = context.command, context.command_path
    if meant:
        ours = _with_value(meant, value, context, is_example_enough=True)
        # An option that refuses the value, and takes none that it means, is seldom the one that was meant.
        is_other = value is not None and _EXAMPLE.search(ours) is not None
        if value and meant == "--tokenizer":
            from slmtok.cli.files import names_tokenizer

            is_other = not names_tokenizer(value)
        return f"{unknown.fact}; did you mean {meant!r}?", f"{where} --help" if is_other else f"use {ours}"
    if isinstance(command, click.Group) and name == "-v":
        return unknown.fact, f"{where} --version"
    if value and not _foreign_option(name, value, command):
        is_alone = {*(word.replace("_", "-") for word in _unknown(context))} <= {name}
        if taking := taking_value(value, command, arguments_of(context), is_alone=is_alone):
            return unknown.fact, f"use {parameter_name(taking)} {shlex.quote(value)}"
    return unknown.fact, f"{where} --help"


_REMEDIES: Sequence[Callable[[_Unknown], tuple[str, str] | None]] = (
    *(
        _files_of_list,
        _ours_for_several,
        _corpus_as_argument,
        _habit_alone,
        _written_apart,
        _files_of_glob,
        _text_behind_on,
        _foreign,
    ),
    *(_stdout_redirected, _tokenizer, _json, _elsewhere, _before_command, _named_alike),
)
"""(fact, fix) for an unknown option, or None; the first one that has a remedy is taken, and the last one always has."""


def _with_others(fact: str, fix: str, option: str, context: click.Context) -> tuple[str, str]:
    """The fact and the fix about an unknown option, with the other unknown ones of the command line."""
    others = [each for each in _unknown(context) if each != option]
    if others and fact.startswith(single := f"unknown option {option!r}"):
        fact = f"unknown options: {', '.join(_unknown(context))}{fact.removeprefix(single)}"
        help = f"{context.command_path} --help"
        # A whole command line keeps the options that it was not made for; a habit makes it for all of its options.
        habits = {habit_of(context.command, each) for each in (option, *others)}
        is_made = (len(habits) == 1 and None not in habits) or not {*others} & {*fix.split()}
        is_of_all = fix.endswith("--help") or (fix.startswith(("slm ", "slmtok ")) and is_made)
        fix = fix if is_of_all else f"for {option}, {fix}; for {', '.join(others)}, {help}"
    return fact, fix


def _several_unknown(context: click.Context) -> str:
    """The fact about the unknown options of a command line that `_translated` has."""
    arguments, left_out = arguments_of(context), _without_equivalent(context)
    unknown = _unknown(context)
    remedies = (_remedy(flag, value_of(flag, arguments), context) for flag in unknown)
    absent = "".join(f"; {found}" for text in remedies for found in re.findall("slmtok has no .*", text))
    fact = f"unknown option {unknown[0]!r}" if len(unknown) == 1 else f"unknown options: {', '.join(unknown)}"
    without = f"; {context.command_path} has nothing for {', '.join(left_out)}" if left_out else ""
    return f"{fact}{absent}{without}"


def options_in(remedy: str) -> str:
    """The options that a remedy begins with, without what it says of them."""
    found = _OPTIONS.match(remedy)
    return found[0] if found else ""


def remark_in(remedy: str) -> str:
    """What a remedy says that a command line with its options has as a comment; "" without one."""
    found = _REMARK.search(remedy)
    return found[1] if found else ""


def _translated(context: click.Context, *, least: int = 2) -> str | None:
    """The command line with options of other tools replaced by ours, or left out where we need none.

    None for fewer than `least` of them, where one message does. Those without an equivalent are left out beside others,
    as `_without_equivalent` names them; the word behind one is its value unless it is a file.
    """
    command, where = context.command, context.command_path
    unknown, whole = _unknown(context), getattr(command, "habits", {}).get(WHOLE)
    left_out, arguments, remark = _without_equivalent(context), arguments_of(context), ""
    combine = getattr(command, "combined", None)
    if combined := combine and combine(arguments):
        arguments, remark = combined
    if len(unknown) < (1 if whole or combined else least) or (left_out and len(unknown) < len(left_out) + 2):
        return None
    words, own = list[str](), _own_options(context)
    each_other, expanded = "", dict[str, str]()
    rest = enumerate(arguments)
    for at, word in rest:
        flag, equals, _ = word.partition("=")
        if flag not in unknown:
            words.append(word)
            continue
        value, near = value_of(flag, arguments[at:]), _near_option(flag, _long_flags(command))
        if flag in left_out:
            if not (value is None or equals or os.path.exists(value)):  # noqa: PTH110
                next(rest)
            continue
        ours = _remedy(flag, value, context) or (f"use {_with_value(near, value, context)}" if near else "")
        is_other = ours.startswith(f"{where.partition(' ')[0]} ") and not ours.startswith(f"{where} ")
        if is_other and not {*unknown} & {*ours.split()}:
            # Another command, which has taken in all of the arguments.
            return ours
        # Behind a flag stands an argument.
        if value is not None and not equals and ours != f"use {near}":
            next(rest)
        if flag in _CORPUS_OPTIONS and takes_corpus(command):
            corpus = _corpus_words(flag, value)
            words += corpus
            expanded |= {word: word for word in corpus if word.startswith("$(")}
            continue
        argument = ours.partition(f": {where} ")[2]
        if argument or ours.startswith("use -"):
            # Two options of another tool may name one argument.
            is_named = argument in map(shlex.quote, words)
            taken = [] if is_named else shlex.split(argument or options_in(ours.removeprefix("use ")))
            taken = [] if taken[:1] and taken[0] in own else taken
            words += taken
            expanded |= {word: f'"{word}"' for word in taken if word.startswith("$(")}
            each_other = each_other or "".join(_EACH_OTHER.findall(ours))
            said = remark_in(ours)
            remark += f"  # {said}" * (said not in remark)
        elif not ours.startswith("leave it out") or len(unknown) < least:
            # What a single option is left out for is said.
            return None
    line: str = whole(None, words) if whole else command_line(context, words)
    for word, written in expanded.items():
        # The shell expands it, which it does not within single quotes.
        line = line.replace(shlex.quote(word), written)
    return line + each_other + remark


def _own_options(context: click.Context) -> set[str]:
    """The spellings of the options with one value that the command line has."""
    options, words = options_by_flag(context.command), arguments_of(context)
    flags = (word.partition("=")[0].replace("_", "-") if word[:2] == "--" else word[:2] for word in words)
    given = (option for flag in flags if (option := options.get(flag)) and not option.multiple)
    return {spelling for option in given for spelling in option.opts}


def _corpus_words(option: str, value: str | None) -> list[str]:
    """The value of an option for the corpus as arguments: a list of files, or the name of a data set."""
    from slmtok.cli.corpus_notes import list_as_words

    if value is None or os.path.exists(value):  # noqa: PTH110
        return [(value and list_as_words(value)) or value or "CORPUS"]
    parts = value.split(",")
    if len(parts) > 1 and any(map(os.path.exists, parts)):
        return parts
    return [f"hf:{value}" if option == "--dataset" and _DATA_SET.fullmatch(value) else value]


_OPTIONS = re.compile(r"""(?:'[^']*'|"[^"]*"|(?![,:;] ).)*""", re.DOTALL)
"""The options of a remedy, before what it says of them; a value in quotes may hold a comma."""


_EACH_OTHER = re.compile(", and a (?:run|command) for each other value")
_REMARK = re.compile("; (text that spells .*|[^;]* not installed: .*)")
"""What a remedy says of a special token that another tool finds in each text, and of a package that is absent."""


def _without_equivalent(context: click.Context) -> list[str]:
    """The unknown options that neither stand for ours in another tool nor misspell one of ours."""
    known, arguments, is_corpus = _long_flags(context.command), arguments_of(context), takes_corpus(context.command)
    return [
        flag
        for flag in _unknown(context)
        if not (_near_option(flag, known) or (is_corpus and flag in _CORPUS_OPTIONS))
        and not _remedy(flag, value_of(flag, arguments), context)
    ]


def _unknown(context: click.Context) -> list[str]:
    """The options among the arguments that the command does not have, without values: long ones, and short ones of
    other tools.
    """
    known = {flag for param in context.command.params for flag in (*param.opts, *param.secondary_opts)}
    words = [argument.partition("=")[0] for argument in arguments_of(context) if argument.startswith("-")]
    unknown = [word for word in words if word != "--" and word.replace("_", "-") not in known]
    return [word for word in unknown if word.startswith("--") or word in getattr(context.command, "habits", {})]


def value_of(name: str, arguments: Sequence[str]) -> str | None:
    """The value that follows an unknown option; None without one."""
    for argument, following in zip(arguments, [*arguments, "-"][1:], strict=True):
        flag, equals, value = argument.partition("=")
        if flag.replace("_", "-") == name.replace("_", "-"):
            is_value = not following.startswith("-") or _NEGATIVE.fullmatch(following)
            return value if equals else following if is_value else None
        if len(name) == len("-o") and argument.startswith(name):
            return argument[len(name) :]
    return None


def habit_of(command: click.Command, flag: str) -> Callable[[str | None, Sequence[str]], str] | None:
    """What stands for an option of another tool; that of `--lr` also for `--optim.lr`, with a section."""
    habits, name = getattr(command, "habits", {}), flag.replace("_", "-")
    return habits.get(name) or (habits.get(f"--{name.rpartition('.')[2]}") if "." in name else None)


def _remedy(flag: str, value: str | None, context: click.Context) -> str:
    """What stands for an option of another tool; "" for other names."""
    habit = habit_of(context.command, flag)
    found = use(habit(value, arguments_of(context))) if habit else _foreign_option(flag, value, context.command) or ""
    return _with_valid_value(found, value, context)


def _foreign_option(name: str, value: str | None, command: click.Command) -> str | None:
    """The remedy for an option of another library; None for other names."""
    from slmtok.foreign_options import foreign_option

    options, option = {param.name for param in command.params}, name.lstrip("-").replace("-", "_")
    _, fix = foreign_option(option, value, options)
    text = None if fix is None else render(fix, flag_naming).replace(", --", " --")
    if text and _CALL.search(text):
        return None
    if text and value and name.endswith("dir") and text.startswith("--output "):
        return _file_in(value, command)
    return f"use {text}" if text and text.startswith("-") else text


def _file_in(folder: str, command: click.Command) -> str:
    """The remedy for the folder of an output; a file in it, named as in the example, where a file is written."""
    example = value_after(OUTPUT_FLAGS, example_words(command)) or "out.txt"
    if "." not in example:
        return f"use -o {shlex.quote(folder)}"
    made = "" if os.path.isdir(folder) else f"; mkdir -p {shlex.quote(folder)} makes the folder"  # noqa: PTH112
    return f"use -o {shlex.quote(free_name(os.path.join(folder, example)))}{made}"  # noqa: PTH118


def _with_valid_value(fix: str, value: str | None, context: click.Context) -> str:
    """A fix that is an option of ours with the value of another; with the one that this means if ours refuses it."""
    found = re.fullmatch(r"use (--[a-z-]+) (.+)", fix)
    is_option = found is not None and value is not None and found[2] == shlex.quote(value)
    if found is None or not is_option or found[1] not in options_by_flag(context.command):
        return fix
    return f"use {_with_value(found[1], value, context, is_example_enough=True)}"


def _with_value(option: str, value: str | None, context: click.Context, *, is_example_enough: bool = False) -> str:
    """An option with the value of the misspelt one, or with the one that this means; a flag alone."""
    param = options_by_flag(context.command)[option]
    if param.is_flag:
        return option
    if value is None:
        return f"{option} {param.metavar or 'VALUE'}"
    meant = None
    try:
        param.type.convert(value, param, context)
    except click.BadParameter as error:
        from slmtok.cli.wrong_values import valid_value

        meant = valid_value(option, error, context)
    # Behind a comma stands that it is an example, or a second one.
    return meant if meant and (is_example_enough or ", " not in meant) else f"{option} {shlex.quote(value)}"


def use(text: str) -> str:
    """The remedy for what stands here instead; a command alone, to be pasted; "" for nothing."""
    is_command = (
        not text
        or text.startswith(("printf ", "leave "))
        or (COMMAND_LINE.match(text) and not re.search("[,:] ", QUOTED.sub("", text)))
    )
    return text if is_command else f"use {text}"


def _long_flags(command: click.Command) -> list[str]:
    """The long flags of a command."""
    return [flag for flag in options_by_flag(command) if flag.startswith("--")]


def _near_option(flag: str, known: Sequence[str]) -> str | None:
    """The option among the known ones that an unknown one misspells or begins; None without one."""
    # Such as `--voc`; `--text` is another option than `--text-key`.
    begun = [
        name
        for name in known
        if name.startswith(flag) and len(flag) > _MIN_PREFIX and not name.removeprefix(flag).startswith("-")
    ]
    if len(begun) == 1 or len(flag.lstrip("-")) <= _SHORT_NAME:
        return begun[0] if len(begun) == 1 else None
    # The dashes, which all names share, would make any two short ones near to each other.
    near = suggestion(flag.lstrip("-"), [name.lstrip("-") for name in known])
    return near and f"--{near}"


_VERB = re.compile("--(?:add|use|with|include|set)-(.+?)(?:-token)?")
"""An option of another tool that says what to do with what ours names."""


def _without_verb(name: str, known: Sequence[str]) -> str | None:
    """The option that `name` has a verb before; None for other names."""
    plain = _VERB.fullmatch(name)
    return f"--{plain[1]}" if plain and f"--{plain[1]}" in known else None


def _behind_command(name: str, group: click.Group, context: click.Context) -> str:
    """The remedy for options before the command: the line with them behind it, or without where it has them not."""
    words = list(context.meta.get("words", ()))
    found = ((at, group.get_command(context, word)) for at, word in enumerate(words))
    at, command = next(((at, command) for at, command in found if command), (0, None))
    if command is None and (typed := name.lstrip("-")) in group.list_commands(context):
        return command_line(context, [typed, *(word for word in words if word != name)])
    if command is None:
        given = [f"./{word}" if word[:1] == "-" and os.path.exists(word) else word for word in words]  # noqa: PTH110
        return f"name a command first: {context.command_path} COMMAND {shlex.join(given)}"
    before, rest = words[:at], words[at + 1 :]
    is_known = all(word.partition("=")[0] in options_by_flag(command) for word in before if word.startswith("-"))
    line = command_line(context, [words[at], *rest, *(before if is_known else ())])
    return line if is_known else f"leave it out: {line}"


def _redirected(flag: str, context: click.Context) -> str:
    """The command line with stdout sent to the file that an option names, which the command does not have."""
    arguments, known = arguments_of(context), _long_flags(context.command)
    target = value_of(flag, arguments) or "out.txt"
    ours = (flag, f"{flag}={target}", f"{flag}{target}")
    words = [each for before, each in pairwise(["", *arguments]) if before != flag and each not in ours]
    form = next((each for each in ("--json", "--html") if target.endswith(f".{each[2:]}") and each in known), None)
    words += [form] if form and form not in words else []
    return f"{context.command_path} {shlex.join(words)} > {shlex.quote(free_name(target))}"


def _with_files(glob: str, flag: str, context: click.Context) -> str | None:
    """The command line with the files of a glob below each folder of the corpus in its place; None without a folder."""
    words = pairwise(["", *arguments_of(context)])
    folders = [word for before, word in words if os.path.isdir(word) and not before.startswith("-")]  # noqa: PTH112
    files = {folder: f"{folder.rstrip('/')}/**/{glob}" for folder in folders}
    if not folders or not takes_corpus(context.command) or not is_glob(glob):
        return None
    kept = without_options(arguments_of(context), (flag,))
    return command_line(context, [files.get(word, word) for word in kept])


def _as_json(flag: str, context: click.Context) -> str:
    """The remedy for JSON, which goes to stdout: also where a file is named for what is else printed as a table."""
    words = without_options(arguments_of(context), (flag,))
    written = value_after(OUTPUT_FLAGS, words)
    makes_file = value_after(OUTPUT_FLAGS, example_words(context.command)) is not None
    if written is None or makes_file:
        return "use --json"
    line = command_line(context, [*without_options(words, OUTPUT_FLAGS), "--json"])
    return f"{line} > {shlex.quote(free_name(written))}"
