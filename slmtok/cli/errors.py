"""Errors on the command line: usage errors of click, and how all errors are printed.

Every error has four parts: the fact with its value, the place, the limit, the remedy.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise, takewhile
from typing import Any, NamedTuple

import click

from slmtok.cli import streams
from slmtok.cli.arguments import (
    MAX_FILES,
    OUTPUT_FLAGS,
    arguments_of,
    command_line,
    example_words,
    fitting,
    is_packed,
    is_text_file,
    line_without,
    lines_for_each,
    options_by_flag,
    parameter_name,
    placeholder_words,
    positional,
    positional_params,
    stands_for_path,
    takes_corpus,
    takes_tokenizer,
    taking_value,
    tokenizer_beside,
    value_after,
    with_other_tokenizer,
    with_output_named,
    with_text_named,
    with_tokenizer_first,
    without_options,
)
from slmtok.cli.options_elsewhere import remedy_elsewhere
from slmtok.cli.output import ANSWER_NO, FAILED, USAGE, fit, flag_naming, printable, styled
from slmtok.errors import OptionError, SlmtokError, render, suggestion
from slmtok.path_arguments import is_glob

_COMMAND = re.compile(r"(PYTHONIOENCODING=\S+ )?(slmtok|slm|pip|python|printf|make|eval|sed|cp|mv|mkdir|while) ")
EXTRA_ARGUMENT = re.compile(r"[Gg]ot unexpected extra arguments? \((\S*).*\)", re.DOTALL)
"""click's message, with the first argument; a blank one leaves nothing there."""
_BLANK = "a variable of the shell that is not set is empty; '\\ ' at the end of a line is an argument of one space"
RUN_IS = "RUN is a folder that slm train wrote; no pretrained models are loaded"
"""The limit of an error for the name of a model of another program."""
_SHORT_NAME = 2
_MIN_PREFIX = 4
"""Characters with which an option begins that stand for it."""
_DATA_SET = re.compile(r"[\w-]+(/[\w.-]+)?", re.ASCII)
"""The name of a data set of the Hugging Face Hub."""
_LABEL_COLUMNS = len("  limit: ")


class ErrorPolicy(NamedTuple):
    """How an application maps exceptions to exit statuses."""

    own: tuple[type[Exception], ...]
    """Errors with the four parts, printed as they are."""
    usage: tuple[type[Exception], ...]
    """Errors caused by a value on the command line. So is every error with an `option` among its fields."""
    answer_no: tuple[type[Exception], ...]
    """Errors that are the negative answer of a check."""
    translate: Callable[[Exception], Exception | None] = lambda error: None
    """An own error for another package's exception, or None."""

    def exit_status(self, error: Any) -> int:
        """The status of an own error."""
        if isinstance(error, self.answer_no):
            return ANSWER_NO
        is_usage = isinstance(error, self.usage) or error.fields.get("option") is not None
        return USAGE if is_usage else FAILED


def error_dict(error: Any, flags: Collection[str] = ()) -> dict[str, object]:
    """The error as `--json` prints it; `flags` as in `flag_naming`."""
    content: dict[str, object] = error.to_dict(partial(flag_naming, flags=flags))
    return content


def error_text(error: Any, flags: Collection[str] = ()) -> str:
    """The error as it is printed."""
    text: str = error.render(partial(flag_naming, flags=flags))
    return text


def print_error(error: Any, flags: Collection[str] = ()) -> None:
    """The error on stderr, its first word red on a terminal."""
    sys.stderr.write(styled("error:", sys.stderr, fg="red", bold=True))
    fact, *more = printable(error_text(error, flags)).split("\n")
    for head, text in ((" ", fact), *((line[:_LABEL_COLUMNS], line[_LABEL_COLUMNS:]) for line in more)):
        # A command stays one line, to be pasted.
        lines = [text] if _COMMAND.match(text) else fit(text, sys.stderr, indent=_LABEL_COLUMNS)
        sys.stderr.write(head + f"\n{'':{_LABEL_COLUMNS}}".join(lines) + "\n")
    sys.stderr.flush()


def usage_error(error: click.ClickException, called: str) -> SlmtokError:
    """A usage error of click with the four parts; `called` is the program with its first argument."""
    context: click.Context | None = getattr(error, "ctx", None)
    message = error.message.rstrip(".")
    fact, name = message[:1].lower() + message[1:], ""
    if context is None:
        return OptionError(fact, where=called, fix=f"{called} --help", option=name)
    where = context.command_path
    fix, limit = f"{where} --help", None
    if isinstance(error, click.NoSuchOption):
        fact, fix, name = _unknown_option(error.option_name, context)
    elif isinstance(error, click.MissingParameter):
        name = parameter_name(error.param)
        fact, missing_fix = _missing_parameter(name, error.param, context)
        fix = missing_fix or fix
        named = context.params.get("tokenizer")
        # Such as `slm sample gpt2`, a model elsewhere.
        is_name = isinstance(named, str) and not os.path.exists(named)  # noqa: PTH110
        limit = RUN_IS if name.startswith("RUN") and is_name else None
    elif isinstance(error, click.BadParameter):
        from slmtok.cli.wrong_values import valid_value

        name = parameter_name(error.param)
        fact = f"{name} {error.message}"
        fix = with_tokenizer_first(context, error.message) or valid_value(name, error, context) or fix
        if not name.startswith("-"):
            fix = re.sub(f"^{re.escape(name)} ", f"{where} ", fix)
    elif option := options_by_flag(context.command).get(name := getattr(error, "option_name", "")):
        habit = _habit(context.command, name)
        fix = habit(None, arguments_of(context)) if habit else f"{name} {option.metavar}"
    elif found := EXTRA_ARGUMENT.fullmatch(message):
        # An argument may hold spaces.
        extra = next((each for each in arguments_of(context) if f"{each} ".startswith(f"{found[1]} ")), found[1])
        name = ""
        if extra.strip():
            fix = _without_extra(extra, context)
        else:
            blank = [each for each in arguments_of(context) if not each.strip()]
            fact, limit, fix = f"an argument is blank: {blank[0]!r}", _BLANK, line_without(blank, context)
    return OptionError(fact, where=where, limit=limit, fix=_unless_given(fix, name or extra, context), option=name)


def _unless_given(fix: str, wrong: str, context: click.Context) -> str:
    """The fix, which may be to use an option; where that takes one value and has it, to leave out what is wrong."""
    option = options_by_flag(context.command).get(fix.split()[1]) if fix.startswith("use -") else None
    if option is None or option.multiple:
        return fix
    words = [part for word in arguments_of(context) for part in (word.split("=", 1) if word[:2] == "--" else [word])]
    given = next((each for each in pairwise([*words, ""]) if each[0] in option.opts), None)
    is_mended = len(fix.split()) > 2 if option.is_flag else given is not None and given[1] in re.split("[ ,=]", fix)
    if given is None or is_mended:
        # The fix is one of the value that is given.
        return fix
    value = _value_of(wrong, arguments_of(context)) if wrong.startswith("-") else None
    left_out = shlex.join([wrong] if value is None else [wrong, value])
    return f"leave {left_out} out: {shlex.join(given[: 1 + (not option.is_flag)])} is given"


def _without_extra(extra: str, context: click.Context) -> str:
    """The remedy for an argument too many."""
    from slmtok.cli.files import names_tokenizer

    command, where = context.command, context.command_path
    if fix := _repeated(extra, context) or _for_each_file(context, of_any_kind=False):
        return fix
    habit = getattr(command, "habits", {}).get(EXTRA)
    if habit and (used := habit(extra, arguments_of(context))):
        option: str = used.partition(" ")[0]
        is_named = option.startswith("-") and names_tokenizer(extra)
        return (with_text_named(option, context) if is_named else None) or _use(used)
    if fix := with_output_named(context) or _for_each_file(context, of_any_kind=True):
        return fix
    if sentence := _with_quotes(context):
        return sentence
    is_input = os.path.isfile(extra) or not (os.path.exists(extra) or "--on" in arguments_of(context))  # noqa: PTH110, PTH113
    if _takes_text_on(command) and (is_input or names_tokenizer(extra)):
        return _named_by_on(extra, context)
    taken = " ".join(str(param.metavar) for param in positional_params(command))
    return f"leave one out: {where} takes {taken} and options" if taken else f"{where} takes options alone"


def _takes_text_on(command: click.Command) -> bool:
    """Whether a command has the option --on for text; that of `slm info` takes a device."""
    on = options_by_flag(command).get("--on")
    return on is not None and "DEVICE" not in str(on.metavar)


def _for_each_file(context: click.Context, *, of_any_kind: bool) -> str | None:
    """The commands for each of several runs or tokenizers, or files of any kind, each with an output of its own.

    None for a command that scores other data, or takes several arguments, and with arguments that are no files. Of one
    file and several tokenizers, a command for each tokenizer.
    """
    from slmtok.cli.files import names_tokenizer
    from slmtok.file_kinds import is_run

    words = list(dict.fromkeys(positional(context)))
    files = [word for word in words if is_run(word)]
    tokenizers = [word for word in words if names_tokenizer(word)]
    if not files and tokenizers == words:
        files = tokenizers
    places = positional_params(context.command)
    takes_file = len(places) == 1 and "FILE" in placeholder_words(places[0])
    if of_any_kind and not files and takes_file and all(map(os.path.exists, words)):
        takes_text = not any("TOK" in str(place.metavar) for place in places)
        files = [word for word in words if not (takes_text and word in tokenizers)]
        if len(files) == 1 and takes_text and "-t" in options_by_flag(context.command):
            lines = ([word for word in arguments_of(context) if word not in tokenizers] for _ in tokenizers)
            named = ([*line, "-t", tokenizer] for line, tokenizer in zip(lines, tokenizers, strict=True))
            return " && ".join(command_line(context, line) for line in named) if len(tokenizers) > 1 else None
    if len(files) < 2 or _takes_text_on(context.command):
        return None
    if len(files) > MAX_FILES:
        return f"one command for each of the {len(files)} files"
    return lines_for_each(files, files, context)


def _with_quotes(context: click.Context) -> str | None:
    """The command line with its last words as one text; None for a command whose last argument is no text."""
    taken = positional_params(context.command)
    if not taken or "TEXT" not in str(taken[-1].metavar) or taken[-1].nargs == -1:
        return None
    text = positional(context)[len(taken) - 1 :]
    if any(map(os.path.exists, text)):
        # Names of files are not words of one.
        return None
    return line_without(text, context, " ".join(text))


def _repeated(extra: str, context: click.Context) -> str | None:
    """The option once for each of its values, for an argument too many that follows them; None for another one."""
    arguments = arguments_of(context)
    start = arguments.index(extra) - 2 if extra in arguments else -1
    flag = arguments[start] if start >= 0 else ""
    option = options_by_flag(context.command).get(flag)
    # Words behind `--set` have habits of their own; behind `-t TOK` is an argument.
    if option is None or not option.multiple or flag in ("--set", "-t", "--tokenizer"):
        return None
    values = [*takewhile(lambda word: not word.startswith("-"), arguments[start + 1 :])]
    if flag == "--on" and not any(map(os.path.exists, values[1:])):
        return None
    return " ".join(f"{flag} {shlex.quote(word)}" for word in values)


def _named_by_on(extra: str, context: click.Context) -> str:
    """The remedy for an argument too many of a command with `--on`: the text there, or one tokenizer of two."""
    from slmtok.cli.files import names_tokenizer

    if not names_tokenizer(extra):
        fix = _unless_given(f"use --on {shlex.quote(extra)}", extra, context)
        return line_without([extra], context, "--on", extra) if fix.startswith("use ") else fix
    where = context.command_path
    if sum("TOK" in str(param.metavar) for param in context.command.params) > 1:
        words = list(dict.fromkeys(positional(context)))
        if len(words) == 2:
            return line_without(positional(context), context, *words)
        if all(map(names_tokenizer, words)):
            on = value_after(["--on"], arguments_of(context)) or "TEXT"
            return f"{shlex.join(['slmtok', 'eval', *words, '--on', on])} compares several; {where} compares two"
        return f"leave one out: {where} compares two tokenizers"
    return f"leave one out: {where} takes one tokenizer, and packed data have theirs"


def _unknown_option(name: str, context: click.Context) -> tuple[str, str, str]:
    """(fact, fix, name) for an option that the command does not have."""
    command, arguments, where = context.command, arguments_of(context), context.command_path
    known = _long_flags(command)
    # Such as `-v2.txt`, which click reads as `-v`.
    dashed = (word for word in arguments if word.startswith(name))
    if file := next(filter(os.path.exists, dashed), None):
        words = [f"./{word}" if word == file else word for word in arguments]
        return f"{file!r} begins with a dash, as options do", command_line(context, words), file
    habit, value, bare = _habit(command, name), _value_of(name, arguments), _without_verb(name, known)
    is_short = habit is not None and len(name) == len("-n")
    meant = None if is_short else f"-{name}" if f"-{name}" in known else _near_option(name, known) or bare
    typed = next((word for word in _unknown(context) if word.replace("_", "-") == name), name)
    fact, fix = f"unknown option {typed!r}", f"{where} --help"
    if meant:
        fix = f"use {_with_value(meant, value, context, is_example_enough=True)}"
    elif (
        value
        and not _foreign_option(name, value, command)
        and (
            taking := taking_value(
                value, command, arguments, is_alone={*(word.replace("_", "-") for word in _unknown(context))} <= {name}
            )
        )
    ):
        fix = f"use {parameter_name(taking)} {shlex.quote(value)}"
    if value and _unknown(context) == [typed] and (line := _with_listed_files(typed, value, context)):
        fix = line
    elif line := _translated(context):
        fact, fix = _several_unknown(context), line
    elif name in _CORPUS_OPTIONS and takes_corpus(command):
        fix = _translated(context, least=1) or fix
    elif habit:
        fix = _remedy(name, value, context)
    elif name == "--include" and value and (line := _with_files(value, typed, context)):
        fix = line
    elif value and _takes_text_on(command) and is_text_file(value):
        fix = f"use --on {shlex.quote(value)}"
    elif foreign := _remedy(name, value, context):
        fix = foreign
    elif name in OUTPUT_FLAGS:
        fact, fix = f"{fact}: the result goes to stdout", _redirected(name, arguments, where, known)
    elif value and not meant and takes_tokenizer(value, context):
        fix = f"use -t {shlex.quote(value)}"
    elif name.endswith("format") and value == "json" and "--json" in known:
        fix = _as_json(typed, context)
    elif not (bare or (meant and meant.startswith(name))) and (
        elsewhere := remedy_elsewhere(fact, name, value, context)
    ):
        fact, fix = elsewhere
    elif isinstance(command, click.Group) and not meant and name != "-v":
        fact, fix = f"{name!r} stands before the command", _behind_command(name, command, context)
    else:
        fact += f"; did you mean {meant!r}?" if meant else ""
        fix = f"{where} --version" if isinstance(command, click.Group) and name == "-v" else fix
    return *_with_others(fact, fix, typed, context), name


def _with_listed_files(option: str, path: str, context: click.Context) -> str | None:
    """The command line with the files that the value of an option lists; None for another value."""
    from slmtok.cli.corpus_notes import line_of_named_list

    is_file = takes_corpus(context.command) and os.path.isfile(path)  # noqa: PTH113
    others = without_options(arguments_of(context), (option,))
    return line_of_named_list(path, others, context) if is_file else None


def _with_others(fact: str, fix: str, option: str, context: click.Context) -> tuple[str, str]:
    """The fact and the fix about an unknown option, with the other unknown ones of the command line."""
    others = [each for each in _unknown(context) if each != option]
    if others and fact.startswith(single := f"unknown option {option!r}"):
        fact = f"unknown options: {', '.join(_unknown(context))}{fact.removeprefix(single)}"
        help = f"{context.command_path} --help"
        # A whole command line keeps the options that it was not made for.
        is_of_all = fix.endswith("--help") or (fix.startswith(("slm ", "slmtok ")) and not {*others} & {*fix.split()})
        fix = fix if is_of_all else f"for {option}, {fix}; for {', '.join(others)}, {help}"
    return fact, fix


def _several_unknown(context: click.Context) -> str:
    """The fact about the unknown options of a command line that `_translated` has."""
    arguments, left_out = arguments_of(context), _without_equivalent(context)
    unknown = _unknown(context)
    remedies = (_remedy(flag, _value_of(flag, arguments), context) for flag in unknown)
    absent = "".join(f"; {found}" for text in remedies for found in re.findall("slmtok has no .*", text))
    fact = f"unknown option {unknown[0]!r}" if len(unknown) == 1 else f"unknown options: {', '.join(unknown)}"
    without = f"; {context.command_path} has nothing for {', '.join(left_out)}" if left_out else ""
    return f"{fact}{absent}{without}"


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


def _long_flags(command: click.Command) -> list[str]:
    """The long flags of a command."""
    return [flag for flag in options_by_flag(command) if flag.startswith("--")]


_VERB = re.compile("--(?:add|use|with|include|set)-(.+?)(?:-token)?")
"""An option of another tool that says what to do with what ours names."""


def _without_verb(name: str, known: Sequence[str]) -> str | None:
    """The option that `name` has a verb before; None for other names."""
    plain = _VERB.fullmatch(name)
    return f"--{plain[1]}" if plain and f"--{plain[1]}" in known else None


def _redirected(flag: str, arguments: Sequence[str], where: str, known: Sequence[str]) -> str:
    """The command line with stdout sent to the file that an option names, which the command does not have."""
    from slmtok.files import free_name

    target = _value_of(flag, arguments) or "out.txt"
    ours = (flag, f"{flag}={target}", f"{flag}{target}")
    words = [each for before, each in pairwise(["", *arguments]) if before != flag and each not in ours]
    form = next((each for each in ("--json", "--html") if target.endswith(f".{each[2:]}") and each in known), None)
    words += [form] if form and form not in words else []
    return f"{where} {shlex.join(words)} > {shlex.quote(free_name(target))}"


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
    """The remedy for the JSON of a command that writes it to stdout: the output that is given is that of a table."""
    from slmtok.files import free_name

    words = without_options(arguments_of(context), (flag,))
    written = value_after(OUTPUT_FLAGS, words)
    output = options_by_flag(context.command).get(OUTPUT_FLAGS[0])
    if written is None or output is None or output.required:
        return "use --json"
    line = command_line(context, [*without_options(words, OUTPUT_FLAGS), "--json"])
    return f"{line} > {shlex.quote(free_name(written))}"


QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")
"""Words of a command line in quotes."""


def _use(text: str) -> str:
    """The remedy for what stands here instead; a command alone, to be pasted."""
    is_command = text.startswith(("printf ", "leave ")) or (
        _COMMAND.match(text) and not re.search("[,:] ", QUOTED.sub("", text))
    )
    return text if is_command else f"use {text}"


def _habit(command: click.Command, flag: str) -> Callable[[str | None, Sequence[str]], str] | None:
    """What stands for an option of another tool; that of `--lr` also for `--optim.lr`, with a section."""
    habits, name = getattr(command, "habits", {}), flag.replace("_", "-")
    return habits.get(name) or (habits.get(f"--{name.rpartition('.')[2]}") if "." in name else None)


def _unknown(context: click.Context) -> list[str]:
    """The options among the arguments that the command does not have, without values: long ones, and short ones of
    other tools.
    """
    known = {flag for param in context.command.params for flag in (*param.opts, *param.secondary_opts)}
    words = [argument.partition("=")[0] for argument in arguments_of(context) if argument.startswith("-")]
    unknown = [word for word in words if word != "--" and word.replace("_", "-") not in known]
    return [word for word in unknown if word.startswith("--") or word in getattr(context.command, "habits", {})]


_CORPUS_OPTIONS = ("--input", "--files", "--file", "--dataset", "--data", "--texts", "--corpus", "--on")
"""Options of other trainers whose value is the argument CORPUS... here."""


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


def options_in(remedy: str) -> str:
    """The options that a remedy begins with, without what it says of them."""
    found = _OPTIONS.match(remedy)
    return found[0] if found else ""


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
    words: list[str] = []
    each_other, expanded = "", dict[str, str]()
    rest = enumerate(arguments)
    for at, word in rest:
        flag, equals, _ = word.partition("=")
        if flag not in unknown:
            words.append(word)
            continue
        value, near = _value_of(flag, arguments[at:]), _near_option(flag, _long_flags(command))
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
            words += taken
            expanded |= {word: f'"{word}"' for word in taken if word.startswith("$(")}
            each_other = each_other or "".join(_EACH_OTHER.findall(ours))
        elif not ours.startswith("leave it out") or len(unknown) < least:
            # What a single option is left out for is said.
            return None
    line: str = whole(None, words) if whole else command_line(context, words)
    for word, written in expanded.items():
        # The shell expands it, which it does not within single quotes.
        line = line.replace(shlex.quote(word), written)
    return line + each_other + remark


def _without_equivalent(context: click.Context) -> list[str]:
    """The unknown options that neither stand for ours in another tool nor misspell one of ours."""
    known, arguments, is_corpus = _long_flags(context.command), arguments_of(context), takes_corpus(context.command)
    return [
        flag
        for flag in _unknown(context)
        if not (_near_option(flag, known) or (is_corpus and flag in _CORPUS_OPTIONS))
        and not _remedy(flag, _value_of(flag, arguments), context)
    ]


def _near_option(flag: str, known: Sequence[str]) -> str | None:
    """The option among the known ones that an unknown one misspells or begins; None without one."""
    begun = [name for name in known if name.startswith(flag) and len(flag) > _MIN_PREFIX]
    if len(begun) == 1 or len(flag.lstrip("-")) <= _SHORT_NAME:
        return begun[0] if len(begun) == 1 else None
    # The dashes, which all names share, would make any two short ones near to each other.
    near = suggestion(flag.lstrip("-"), [name.lstrip("-") for name in known])
    return near and f"--{near}"


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


def _remedy(flag: str, value: str | None, context: click.Context) -> str:
    """What stands for an option of another tool; "" for other names."""
    habit = _habit(context.command, flag)
    found = _use(habit(value, arguments_of(context))) if habit else _foreign_option(flag, value, context.command) or ""
    return _with_valid_value(found, value, context)


def _foreign_option(name: str, value: str | None, command: click.Command) -> str | None:
    """The remedy for an option of another library; None for other names."""
    from slmtok.foreign_options import foreign_option

    options, option = {param.name for param in command.params}, name.lstrip("-").replace("-", "_")
    _, fix = foreign_option(option, value, options)
    text = None if fix is None else render(fix, flag_naming).replace(", --", " --")
    if text and value and name.endswith("dir") and text.startswith("--output "):
        return _file_in(value, command)
    return f"use {text}" if text and text.startswith("-") else text


def _file_in(folder: str, command: click.Command) -> str:
    """The remedy for the folder of an output; a file in it, named as in the example, where a file is written."""
    example = value_after(OUTPUT_FLAGS, example_words(command)) or "out.txt"
    if "." not in example:
        return f"use -o {shlex.quote(folder)}"
    made = "" if os.path.isdir(folder) else f"; mkdir -p {shlex.quote(folder)} makes the folder"  # noqa: PTH112
    return f"use -o {shlex.quote(os.path.join(folder, example))}{made}"  # noqa: PTH118


def _missing_parameter(name: str, param: click.Parameter | None, context: click.Context) -> tuple[str, str | None]:
    """(fact, fix) for the parameter `name`, which is required; the fix uses what was given."""
    from slmtok.cli.files import names_tokenizer
    from slmtok.cli.options import INTEGER
    from slmtok.file_kinds import is_run

    fact, given, is_place = f"{name} is missing", arguments_of(context), isinstance(param, click.Argument)
    if name == "--on" and (absent := _absent_tokenizer(context)):
        return f"{fact}, and {absent.fact}", absent.fix
    taken = context.params.get("tokenizer")
    rest = [each for each in given if each not in (taken, "-t", "--tokenizer", f"--tokenizer={taken}")]
    if isinstance(taken, str) and names_tokenizer(taken) and name != "TOK" and is_place:
        fact += f": {taken!r} is a tokenizer"
        if "DATA" in name and is_packed(folder := os.path.dirname(taken) or "."):  # noqa: PTH120
            return f"{fact} of packed data", command_line(context, [folder, *rest])
    if name.startswith("RUN") and isinstance(taken, str) and is_text_file(taken):
        fact += f": {taken!r} is text, and -t names a tokenizer"
        if "DATA" in name:
            return fact, command_line(context, [taken, "-t", tokenizer_beside(taken) or "TOK", *rest])
        on = ["--on", taken] if "--on" in options_by_flag(context.command) else []
        return fact, command_line(context, [*_with_run(rest, None), *on])
    if name.startswith("RUN") and (given or is_run(_with_run(given, taken)[0])):
        return fact, command_line(context, _with_run(given, taken))
    if name.startswith("CORPUS") and (kind := streams.kind_of_stream(sys.stdin)) in ("pipe", "file"):
        found = "text is piped in" if kind == "pipe" else "stdin is a file"
        end = max((given.index(word) + 1 for word in positional(context) if word in given), default=0)
        # A fix that names - alone would read the terminal.
        source = (streams.name_of_stdin() or "FILE") if kind == "file" else "-"
        return f"{fact}, and {found}", command_line(context, [*given[:end], source, *given[end:]])
    listed = str(getattr(param, "metavar", None) or "").split("|")
    value = None if is_place else next((word for word in positional(context) if word in listed), None)
    number = next(filter(str.isdecimal, positional(context)), None)
    if value is None and getattr(param, "type", None) is INTEGER and number and given.count(number) == 1:
        value = number
    if value is not None:
        return fact, line_without([value], context, name, value, *_other_required(param, context))
    if name == "--on":
        named = with_text_named(name, context) or _with_tokenizer_beside(context)
    else:
        named = with_output_named(context) if name == "--output" else with_other_tokenizer(name, context)
    example = getattr(context.command, "example", None)
    named = named or (_completed(name, param, context, example) if example else None)
    return fact, named or (_with_placeholders(param, context) if isinstance(param, click.Argument) else example)


def _with_placeholders(param: click.Argument, context: click.Context) -> str:
    """The command as given, with placeholders for the arguments from `param` on."""
    required = [each for each in positional_params(context.command) if each.required]
    lacking = [str(each.metavar).removesuffix("...").partition("|")[0] for each in required[required.index(param) :]]
    words = arguments_of(context)
    given = [each for each in positional(context) if each in words]
    says_what = any(word.startswith("-") and word.partition("=")[0] not in OUTPUT_FLAGS for word in words)
    more = _other_required(param, context, is_required=says_what)
    end = max((words.index(each) + 1 for each in given), default=0)
    return command_line(context, [*words[:end], *lacking, *words[end:], *more])


def _absent_tokenizer(context: click.Context) -> SlmtokError | None:
    """The error for the first argument that is neither a file nor the name of a tokenizer; None where all are there."""
    from slmtok.cli.files import names_tokenizer
    from slmtok.files import missing_input
    from slmtok.opening import missing_tokenizer

    words = (each for each in positional(context) if not os.path.exists(each) and not names_tokenizer(each))  # noqa: PTH110
    absent = next(words, None)
    return None if absent is None else missing_tokenizer(missing_input(absent), absent)


def _other_required(param: click.Parameter | None, context: click.Context, *, is_required: bool = True) -> list[str]:
    """The other options that are required and not given, each as in the example of the command.

    is_required: False adds all of the example, where no option that was given says what the command is to do.
    """
    example = example_words(context.command)
    given = {part for each in arguments_of(context) for part in each.split("=")}
    found: list[str] = []
    for each in context.command.params:
        needed = getattr(each, "needed_without", None)
        is_needed = each.required or (needed is not None and needed not in given)
        is_wanted = isinstance(each, click.Option) and (is_needed or not is_required)
        if each is not param and is_wanted and not given & {*each.opts}:
            at = next((index for index, word in enumerate(example) if word in each.opts), None)
            if at is not None:
                is_flag = bool(getattr(each, "is_flag", False))
                found += [example[at]] if is_flag else _free(example[at : at + 2], each, context)
    return found


def _free(option: Sequence[str], param: click.Parameter | None, context: click.Context) -> list[str]:
    """An option of the example with an output that does not exist, an input that does, else its placeholder, or a size
    that suits the tokenizer.
    """
    from slmtok.cli.wrong_values import fitting_size
    from slmtok.files import free_name

    flag, value = option
    if param and flag not in OUTPUT_FLAGS and stands_for_path(param) and not os.path.exists(value):  # noqa: PTH110
        return [flag, str(param.metavar).partition("|")[0]]
    return [flag, free_name(value) if flag in OUTPUT_FLAGS else fitting_size(flag, value, context)]


def _with_tokenizer_beside(context: click.Context) -> str | None:
    """The command line with its only argument, a text, as the value of --on, for the first tokenizer beside it.

    None for other arguments.
    """
    files = [each for each in arguments_of(context) if os.path.isfile(each)]  # noqa: PTH113
    if len(files) != 1 or not is_text_file(files[0]):
        return None
    return line_without(files, context, tokenizer_beside(files[0]) or "TOK", "--on", files[0])


def _with_run(arguments: Sequence[str], tokenizer: object) -> list[str]:
    """The arguments with a run of the working folder, in the place of a tokenizer that is no value of an option."""
    from slmtok.file_kinds import is_run

    found: list[str] = []
    with suppress(OSError):
        found = sorted(os.listdir())  # noqa: PTH208
    run = next(filter(is_run, ["run", *found]), "run")
    words = [
        each for before, each in pairwise(["", *arguments]) if each != tokenizer or before in ("-t", "--tokenizer")
    ]
    return [run, *words]


def _completed(name: str, param: click.Parameter | None, context: click.Context, example: str) -> str | None:
    """The command as it was given, with the missing option as in the example; None where the example has it not."""
    given, words = arguments_of(context), shlex.split(example)
    flags = ["-t", "--tokenizer"] if name == "TOK" else list(param.opts) if isinstance(param, click.Option) else []
    at = next((index for index, word in enumerate(words[:-1]) if word in flags), None)
    if not given or at is None:
        return None
    option = [words[at], *_only_tokenizer(context)] if name == "--tokenizer" else []
    named = option if len(option) > 1 else _free(words[at : at + 2], param, context)
    lacking = shlex.join([*named, *_other_required(param, context)])
    return f"{context.command_path} {shlex.join(fitting(given, context))} {lacking}"


def _only_tokenizer(context: click.Context) -> list[str]:
    """The tokenizer among the arguments; none where there are several, or none."""
    from slmtok.cli.files import names_tokenizer

    found = [each for each in positional(context) if names_tokenizer(each)]
    return found if len(found) == 1 else []


WHOLE = "whole"
"""Key of the habit that writes the command line for its arguments, where options of another tool were replaced."""
EXTRA = "EXTRA"
"""Among the habits of a command: what stands for an argument too many."""


def _value_of(name: str, arguments: Sequence[str]) -> str | None:
    """The value that follows an unknown option; None without one."""
    for argument, following in zip(arguments, [*arguments, "-"][1:], strict=True):
        flag, equals, value = argument.partition("=")
        if flag.replace("_", "-") == name.replace("_", "-"):
            return value if equals else None if following.startswith("-") else following
        if len(name) == len("-o") and argument.startswith(name):
            return argument[len(name) :]
    return None
