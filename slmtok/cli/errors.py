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
    example_number,
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
    takes_text_on,
    taking_value,
    tokenizer_beside,
    value_after,
    with_other_tokenizer,
    with_output_named,
    with_text_named,
    with_tokenizer_first,
)
from slmtok.cli.output import ANSWER_NO, FAILED, USAGE, fit, flag_naming, printable, styled
from slmtok.cli.unknown_options import COMMAND_LINE, habit_of, unknown_option, use, value_of
from slmtok.errors import OptionError, SlmtokError

EXTRA_ARGUMENT = re.compile(r"[Gg]ot unexpected extra arguments? \((\S*).*\)", re.DOTALL)
"""click's message, with the first argument; a blank one leaves nothing there."""
_BLANK = "a variable of the shell that is not set is empty; '\\ ' at the end of a line is an argument of one space"
RUN_IS = "RUN is a folder that slm train wrote; no pretrained models are loaded"
"""The limit of an error for the name of a model of another program."""
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
        lines = [text] if COMMAND_LINE.match(text) else fit(text, sys.stderr, indent=_LABEL_COLUMNS)
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
        fact, fix, name = unknown_option(error.option_name, context)
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
        if habit := habit_of(context.command, name):
            fix = habit(None, arguments_of(context))
        else:
            fix = f"{name} {example_number(name, context.command) if option.metavar == 'N' else option.metavar}"
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
    value = value_of(wrong, arguments_of(context)) if wrong.startswith("-") else None
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
        return (with_text_named(option, context) if is_named else None) or use(used)
    words = arguments_of(context)
    # In capitals it is a placeholder.
    is_word = extra.islower() and not os.path.exists(extra)  # noqa: PTH110
    listing = taking_value(extra, command, words, is_alone=False) if is_word else None
    if listing and not {*listing.opts} & {word.partition("=")[0] for word in words}:
        return line_without([extra], context, parameter_name(listing), extra)
    if fix := with_output_named(context) or _for_each_file(context, of_any_kind=True):
        return fix
    if sentence := _with_quotes(context):
        return sentence
    is_input = os.path.isfile(extra) or not (os.path.exists(extra) or "--on" in arguments_of(context))  # noqa: PTH110, PTH113
    if takes_text_on(command) and (is_input or names_tokenizer(extra)):
        return _named_by_on(extra, context)
    taken = " ".join(str(param.metavar) for param in positional_params(command))
    return f"leave one out: {where} takes {taken} and options" if taken else f"{where} takes options alone"


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
    takes_text = takes_text_on(context.command)
    if len(files) < 2 or (takes_text and (len(places) > 1 or value_after(["--on"], arguments_of(context)) is None)):
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
        if " " in extra and not os.path.exists(extra) and "--on" not in arguments_of(context):  # noqa: PTH110
            return f"printf %s {shlex.quote(extra)} | {line_without([extra], context, '--on', '-')}"
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


def _missing_parameter(name: str, param: click.Parameter | None, context: click.Context) -> tuple[str, str | None]:
    """(fact, fix) for the parameter `name`, which is required; the fix uses what was given."""
    from slmtok.cli.files import names_tokenizer
    from slmtok.cli.options import INTEGER
    from slmtok.file_kinds import is_run

    fact, given, is_place = f"{name} is missing", arguments_of(context), isinstance(param, click.Argument)
    if name == "--on" and (absent := _absent_tokenizer(context)):
        return f"{fact}, and {absent.fact}", absent.fix
    habit = getattr(context.command, "habits", {}).get(LACKING)
    if habit and is_place:
        help = str(getattr(param, "help", ""))
        fact += f": {help[:1].lower()}{help[1:].rstrip('.')}"
        if used := habit(name, given):
            return fact, used
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
    if named and named.endswith(" TEXT") and param is not None and "DATA" in placeholder_words(param):
        named += ", with the text or the packed data that were scored as TEXT"
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


EXTRA, LACKING = "EXTRA", "LACKING"
"""Among the habits of a command: what stands for an argument too many, and what completes one that lacks arguments."""
