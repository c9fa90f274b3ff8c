"""Declaring commands: parameter types, options that several commands share, options generated from option classes.

A command is a function under `@command`; `@option` and `@argument` declare its parameters. `@options_of(TrainOptions,
into="options")` adds one option for each field of the class and passes an instance as the keyword `options`. Values are
parsed with the command line, so that a wrong one is wrong usage (status 2) before any work.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, get_args

import click

from slmtok.cli.arguments import (
    arguments_of,
    command_line,
    name_swap,
    names_input,
    parameter_name,
    placeholder_words,
    positional_in,
    positional_params,
    stands_for_path,
    text_values,
)
from slmtok.cli.corpus_notes import explain_too_small
from slmtok.cli.fixes_by_files import explain_by_files
from slmtok.cli.joined_corpora import explain_record
from slmtok.cli.misread import read_arguments, refuse_placeholder
from slmtok.cli.needed import check_needs
from slmtok.cli.output import ANSWER_NO, DONE, Outcome, Settings, note
from slmtok.cli.streams import kind_of_stream, name_of_stream, refuse_stdout
from slmtok.cli.validation_files import explain_validation
from slmtok.errors import CorpusTooSmall, OptionError, OutputExists, SlmtokError
from slmtok.files import free_name
from slmtok.sizes import parse_size

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from slmtok.options import Options, OptionSpec

Decorator = Callable[[Any], Any]
OUTPUT = "Output"
"""The last heading of options in `--help`."""
MAX_HELP_COLUMNS = 100
QUIET = "Print no progress, no notes and no summary of what was written; results stay."
TOKENIZER = "a tokenizer file, a folder with one, or tiktoken:NAME"
_UNIT_SUFFIX = re.compile(r"(\d{1,9}(?:\.\d{1,3})?) ?([kKmM])(i[bB]?)?", re.ASCII)
"""A number of thousands or millions, which may be powers of 1024; with an i it is."""


class AmbiguousError(ValueError):
    """Text that may be one of several numbers, or lists of them as they are written."""

    def __init__(self, message: str, numbers: Sequence[int | str]) -> None:
        super().__init__(message)
        self.numbers = numbers


class WrongValueError(click.BadParameter):
    """A value of the command line that its parameter does not take."""

    def __init__(self, value: str, message: str, ctx: click.Context | None, param: click.Parameter | None) -> None:
        super().__init__(message, ctx, param)
        self.value = value


class Parsed(click.ParamType[Any]):
    """A parameter type made of a function from text to a value, which raises `ValueError` with what it takes."""

    name = "value"

    def __init__(self, parse: Callable[[str], Any], *, expects: str | None = None, is_file: bool = False) -> None:
        self._parse = parse
        self._expects = expects
        self._is_file = is_file

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parses text; other values are defaults."""
        if not isinstance(value, str):
            return value
        if self._is_file and ctx is not None:
            ctx.meta.setdefault("input files", []).append(value)
        try:
            return self._parse(value)
        except SlmtokError:
            raise
        except ValueError as error:
            is_told = self._expects is None or isinstance(error, AmbiguousError)
            message = str(error) if is_told else f"takes {self._expects}, not {value!r}"
            raise WrongValueError(value, message, ctx, param) from error


def parse_integer(text: str) -> int:
    """An integer from 0 up; `8_192`, `8,192` and `1e3` are one, `4096,8192` and `8k` are not.

    Raises `ValueError`, `AmbiguousError` for `8k` and `8Ki`.
    """
    has_unit = text[-1:].isalpha()
    number = None if has_unit else parse_size(text)
    if number is None:
        fact = f"takes an integer >= 0, not {text!r}"
        if found := _UNIT_SUFFIX.fullmatch(text):
            # Imported where a value is wrong: it takes 3 ms.
            from fractions import Fraction

            power = 1 if found[2] in "kK" else 2
            # Of `1.1k` only the first is a whole number.
            products = [Fraction(found[1]) * unit**power for unit in ((1024,) if found[3] else (1000, 1024))]
            numbers = [int(number) for number in products if number.denominator == 1]
            if numbers:
                raise AmbiguousError(f"{fact}; {' or '.join(map(str, numbers))}?", numbers)
            raise AmbiguousError(f"{fact}, which is {float(products[0])}", [int(products[0])])
        if has_unit and parse_size(text) is not None:
            fact += ", which is a size in bytes"
        raise ValueError(fact)
    return number


def parse_float(text: str) -> float:
    """A number. Raises `ValueError`."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"takes a number, not {text!r}") from None


INTEGER = Parsed(parse_integer)
FLOAT = Parsed(parse_float)


class UnknownChoiceError(ValueError):
    """A value that is not among the names; `meant` is the one that it stands for, if any."""

    def __init__(self, value: str, names: Sequence[str], meant: str | None = None) -> None:
        super().__init__(f"takes {'one of ' * (len(names) > 1)}{', '.join(names)}, not {value!r}")
        self.value, self.names, self.meant = value, names, meant


def parse_choice(text: str, names: Sequence[str], foreign: Mapping[str, str] | None = None) -> str:
    """One of these names, as it is. Raises `UnknownChoiceError`."""
    if text not in names:
        raise UnknownChoiceError(text, names, (foreign or {}).get(text.lower()))
    return text


def choice(*names: str, foreign: Mapping[str, str] | None = None) -> Parsed:
    """A type that takes one of these names; `foreign`: names of other tools, in lower case, each with ours."""
    return Parsed(lambda text: parse_choice(text, names, foreign))


def complete_value(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completions of a value: the names in the placeholder of `param`, else files where it stands for a path."""
    from click.shell_completion import CompletionItem

    names = [
        CompletionItem(word) for word in placeholder_words(param) if word.islower() and word.startswith(incomplete)
    ]
    if not stands_for_path(param) or (incomplete and names):
        return names
    return [CompletionItem(incomplete, type="file")]


class Option(click.Option):
    """A click option with a heading in `--help`; it is needed by a command without the word `needed_without`.

    needs: what it has no effect without, as one types it: `--on TEXT`, `--output-format hf|npy`, or the placeholder of
    an argument; NEVER where it has no effect, and is taken because the options of `slmtok pack` are given again.
    """

    def __init__(
        self,
        *args: Any,
        panel: str = "Options",
        needed_without: str | None = None,
        needs: str | None = None,
        **attributes: Any,
    ) -> None:
        super().__init__(*args, **attributes)
        self.panel = panel
        self.needed_without = needed_without
        self.needs = needs


def option(*names: str, choices: Iterable[str] = (), **attributes: Any) -> Decorator:
    """`click.option`, with completions, a heading (`panel`), and the names that it takes (`choices`)."""
    # click takes an explicit default of None for a value, also of a required option.
    if attributes.get("default") in (None, (), {}) and not attributes.get("is_flag"):
        attributes.pop("default", None)
    if choices := tuple(choices):
        attributes |= {"type": choice(*choices), "metavar": "|".join(choices)}
    return click.option(*names, **{"cls": Option, "shell_complete": complete_value, **attributes})


def argument(name: str, **attributes: Any) -> Decorator:
    """`click.argument`, with completions."""
    return click.argument(name, shell_complete=complete_value, **attributes)


class _Group(NamedTuple):
    """Options of a command that make up one object."""

    keyword: str
    cls: type[Options]
    fields: list[str]


Habit: TypeAlias = Callable[["str | None", Sequence[str]], str]
"""What stands here for an option of another tool, given its value (None without one) and all arguments."""


Combined: TypeAlias = Callable[[Sequence[str]], "tuple[list[str], str] | None"]
"""Arguments with options of another tool that mean another thing together, in our words, and a remark behind them."""


def instead(text: str, example: str = "") -> Habit:
    """The text with the value of the user for `{}`, or the example without one."""
    return lambda value, arguments: text.format(example if value is None else shlex.quote(value))


_THREADS = ("--num-proc", "--num-workers", "--workers", "--jobs")
"""Options of other tools for the number of threads."""
_NO_THREADS = "leave it out: the command has no choice of threads"


def explain(error: SlmtokError, ctx: click.Context | None = None) -> None:
    """Puts the command line and its files into the fix of an error of the library, whose fix may be a call.

    A command that prints an error among its results, and raises none, explains it so.
    """
    ctx = ctx or click.get_current_context()
    if isinstance(error, CorpusTooSmall):
        explain_too_small(error)
    explain_validation(error, ctx)
    explain_by_files(error, ctx)
    explain_record(error, ctx)
    name_swap(error, ctx)


class Command(click.Command):
    """A click command some of whose options make up objects, with options grouped by headings in its help."""

    def __init__(
        self,
        *args: Any,
        example: str | None = None,
        habits: Mapping[str, Habit] | None = None,
        combined: Combined | None = None,
        **attributes: Any,
    ) -> None:
        super().__init__(*args, **attributes)
        self.example = example
        self.combined = combined
        threads = "--threads {}" if any(param.name == "threads" for param in self.params) else _NO_THREADS
        self.habits = {**dict.fromkeys(_THREADS, instead(threads, "N")), **(habits or {})}
        self.groups: list[_Group] = getattr(self.callback, "__option_groups__", [])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As `read_arguments` reads them."""
        try:
            return super().parse_args(ctx, read_arguments(ctx, args))
        except click.BadOptionUsage as error:
            # click gives none to an option without its value.
            error.ctx = error.ctx or ctx
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Builds the option objects, then calls the function."""
        given = dict(ctx.params)
        settings: Settings = ctx.obj
        settings.quiet = given.pop("quiet")
        if settings.as_json and given.get("output") == "-":
            fix = "-o FILE, or leave --json out"
            raise OptionError("--json and -o - both write to stdout", fix=fix, option="json")
        refuse_placeholder(ctx)
        self._refuse_empty_names(ctx)
        self._refuse_stdout(ctx)
        idle = tuple(check_needs(ctx))
        assert self.callback is not None
        try:
            given = self.with_objects(given)
            ctx.meta["app"].prepare(ctx.info_name)
            outcome: Outcome = ctx.invoke(self.callback, **given)
            if outcome.code in (DONE, ANSWER_NO):
                settings.written = self._written(ctx)
            if outcome.warnings_shown and not settings.quiet:
                for each in idle:
                    note(each)
            noted = (*idle, *ctx.meta.get("warnings", ()), *self._note_on_stdout(ctx))
            return outcome._replace(warnings=(*outcome.warnings, *noted)) if noted else outcome
        except SlmtokError as error:
            explain(error, ctx)
            self._explain_default_output(error, ctx)
            raise

    def with_objects(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The values of the parameters, those of each group as one object, which raises what is wrong with them."""
        rest = dict(given)
        for group in self.groups:
            values = {name: rest.pop(name) for name in group.fields}
            rest[group.keyword] = group.cls(**{name: value for name, value in values.items() if value is not None})
        return rest

    def check_objects(self, ctx: click.Context) -> None:
        """Raises what is wrong with the values of a command that does not run."""
        try:
            self.with_objects(ctx.params)
        except SlmtokError as error:
            with ctx:
                explain(error, ctx)
            raise

    def _written(self, ctx: click.Context) -> tuple[str, ...]:
        """The outputs that were named; the command has ended, so they are complete."""
        if ctx.params.get("dry_run"):
            return ()
        names = [param.name or "" for param in self.params if getattr(param, "panel", "") == OUTPUT]
        values = [each for name in names for each in (_outputs(ctx) if name == "output" else [ctx.params.get(name)])]
        return tuple(value for value in values if isinstance(value, str) and os.path.exists(value))  # noqa: PTH110

    def _note_on_stdout(self, ctx: click.Context) -> tuple[str, ...]:
        """A warning that a file has the output, if it was not named and stdout is sent to another file."""
        if not _leaves_summary_on_stdout(ctx):
            return ()
        outputs = _outputs(ctx)
        if len(outputs) > 1:
            listed = " and ".join(outputs)
            return (f"the outputs are in {listed}, and stdout has their summary; -o NAME gives them other names",)
        named, line = name_of_stream(sys.stdout), _written_to_stdout(ctx)
        fix = "-o NAME gives it another name" if line is None else f"{line} writes it to {named}"
        return (f"the output is in {outputs[0]}, and stdout has its summary; {fix}",)

    def _explain_default_output(self, error: SlmtokError, ctx: click.Context) -> None:
        """Says that the output has its default name, if it exists and stdout is sent to another file."""
        if isinstance(error, OutputExists) and _leaves_summary_on_stdout(ctx):
            default = ctx.params["output"]
            replaced = ", or --force to replace it" if "force" in str(error.fix) else ""
            error.limit = f"without --output the output is {default}, and stdout has its summary"
            error.fix = _written_to_stdout(ctx) or f"-o {shlex.quote(free_name(default))}{replaced}"

    def _refuse_empty_names(self, ctx: click.Context) -> None:
        """Raises `OptionError` for a file without a name, which Python would take for the working folder."""
        for param in self.params:
            value = ctx.params.get(param.name or "")
            if "" not in (value if isinstance(value, tuple) else (value,)) or not names_input(param):
                continue
            if ctx.get_parameter_source(param.name or "") is click.core.ParameterSource.DEFAULT:
                continue
            name = parameter_name(param)
            is_option = isinstance(param, click.Option)
            fact = f"{name} is empty" if is_option else f"an argument is empty: {name}"
            fix = f"{name} NAME" if is_option else "name it"
            fix += "; a variable of the shell that is not set is empty"
            raise OptionError(fact, where=ctx.command_path, fix=fix, option=param.name)

    def _refuse_stdout(self, ctx: click.Context) -> None:
        """Raises `OptionError` for an input that is stdout itself, which the shell empties before a command runs."""
        for param, name in text_values(ctx):
            if stands_for_path(param):
                refuse_stdout(name, command_line(ctx, arguments_of(ctx)))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options under their headings."""
        panels: dict[str, list[tuple[str, str]]] = {"Options": []}
        last: list[tuple[str, str]] = []
        for param in self.get_params(ctx):
            record = None if isinstance(param, click.Argument) else param.get_help_record(ctx)
            panel = getattr(param, "panel", OUTPUT)
            if record is not None:
                (last if panel == OUTPUT else panels.setdefault(panel, [])).append(record)
        for title, records in [*panels.items(), (OUTPUT, last)]:
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the example."""
        if self.example:
            with formatter.section("Example"):
                formatter.write_text(self.example)


def _docstring(function: Callable[..., Any]) -> str | None:
    """The docstring of a function by its source: `python -OO` leaves it out of the code. None without a source."""
    import ast
    import inspect

    with suppress(OSError, SyntaxError):
        (defined,) = ast.parse(inspect.getsource(function)).body
        return ast.get_docstring(defined) if isinstance(defined, ast.FunctionDef) else None
    return None


def command(
    name: str,
    *,
    example: str | None = None,
    habits: Mapping[str, Habit] | None = None,
    combined: Combined | None = None,
) -> Callable[[Callable[..., Any]], Command]:
    """Makes a function a command.

    example: a command line that works, for help and as the remedy of usage errors. habits: options of other tools, each
    with what stands for it here, for the error of an unknown option. combined: the same for several of them.
    """

    def decorate(function: Callable[..., Any]) -> Command:
        attributes: dict[str, Any] = {
            "example": example,
            "habits": habits,
            "combined": combined,
            "context_settings": {"show_default": True, "max_content_width": MAX_HELP_COLUMNS},
        }
        if function.__doc__ is None:
            function.__doc__ = _docstring(function)
        made = click.command(name, cls=Command, **attributes)(function)
        hidden: dict[str, Any] = {"is_flag": True, "expose_value": False, "panel": OUTPUT}
        made.params += [
            Option(["--json"], help="Print one JSON object on stdout instead of a table.", **hidden),
            Option(["--quiet", "-q"], help=QUIET, is_flag=True, panel=OUTPUT),
            Option(["--traceback"], help="With an error, print the Python traceback.", **hidden),
        ]
        return made

    return decorate


def options_of(
    cls: type[Options],
    *,
    into: str,
    skip: Collection[str] = (),
    only: Collection[str] | None = None,
    required: Collection[str] = (),
    defaults: Mapping[str, Any] | None = None,
    needs: str | Mapping[str, str] | None = None,
) -> Decorator:
    """One option for each field of an option class; the keyword `into` receives the instance.

    `only`, `skip` and `required` name fields; `defaults` replaces their defaults; `needs` is that of all options, or of
    some by name.
    """
    # Here, because `slm` uses this module without the option classes of slmtok.
    from slmtok.options import option_specs

    specs = [each for each in option_specs(cls) if (each[0] not in skip if only is None else each[0] in only)]

    def decorate(function: Any) -> Any:
        for name, kind, spec in reversed(specs):
            attributes = _attributes(name, kind, spec, (defaults or {}).get(name, spec.default))
            names = attributes.pop("names")
            attributes["needs"] = needs.get(name) if isinstance(needs, Mapping) else needs
            function = option(*names, name, required=name in required, **attributes)(function)
        group = _Group(into, cls, [name for name, _, _ in specs])
        function.__option_groups__ = [*getattr(function, "__option_groups__", []), group]
        return function

    return decorate


def _attributes(name: str, kind: Any, spec: OptionSpec, default: Any) -> dict[str, Any]:
    """The attributes of the option of one field, its flags as `names`."""
    from slmtok.options import flag_of

    kinds = get_args(kind) or (kind,)
    flag = flag_of(name)
    found: dict[str, Any] = {"names": (flag, *spec.aliases), "help": spec.help, "panel": spec.group, "default": default}
    if bool in kinds:
        found["is_flag"] = True
        if default is None:
            found |= {"names": (f"{flag}/--no-{flag[2:]}",), "show_default": spec.default_text or False}
        return found
    found |= {"metavar": spec.metavar, "show_default": spec.default_text or True}
    if spec.choices is not None:
        found["choices"] = spec.choices
    elif spec.parse is not None:
        expects = spec.metavar if spec.metavar and "=" in spec.metavar else None
        found["type"] = Parsed(spec.parse, expects=expects, is_file=spec.metavar == "FILE")
    elif int in kinds:
        found["type"] = INTEGER
    if spec.collect is not None:
        found |= {"multiple": True, "callback": collector(flag, spec.collect)}
        found["help"] = f"{spec.help} Repeat for several."
    return found


def collector(name: str, collect: Callable[[list[Any]], Any]) -> Callable[..., Any]:
    """A callback for click: `collect` of all values, its `ValueError` as wrong usage of the parameter `name`."""

    def callback(ctx: click.Context, param: click.Parameter, values: tuple[Any, ...]) -> Any:
        try:
            return collect(list(values))
        except ValueError as error:
            raise OptionError(f"{name} {error}", where=ctx.command_path, fix="leave one out", option=name) from None

    return callback


def _leaves_summary_on_stdout(ctx: click.Context) -> bool:
    """Whether a file that is not named has the output, and stdout, which is sent to another file, its summary."""
    value, source = ctx.params.get("output"), ctx.get_parameter_source("output")
    is_file = isinstance(value, str) and value != "-" and source is click.core.ParameterSource.DEFAULT
    no_summary = ctx.obj.as_json or ctx.params.get("dry_run")
    return is_file and not no_summary and kind_of_stream(sys.stdout) == "file"


def _written_to_stdout(ctx: click.Context) -> str | None:
    """The command with the file that is stdout as its output; None where its ending is of another kind of file."""
    named, param = name_of_stream(sys.stdout), next(each for each in ctx.command.params if each.name == "output")
    endings = {os.path.splitext(ctx.params["output"])[1], *re.findall(r"\.\w+", getattr(param, "help", None) or "")}  # noqa: PTH122
    if named is None or os.path.splitext(named)[1] not in endings - {""}:  # noqa: PTH122
        return None
    words = [word for word in arguments_of(ctx) if word != "--force"]
    # The shell has made the file.
    return command_line(ctx, [*words, "-o", named, "--force"])


def _outputs(ctx: click.Context) -> list[Any]:
    """The value of `--output`; the files that the command made of it, where it says so by `set_outputs`."""
    return list(ctx.meta.get("outputs", [ctx.params.get("output")]))


def set_outputs(outputs: Sequence[str]) -> None:
    """Says which files the running command writes, where they are others than the value of `--output`."""
    click.get_current_context().meta["outputs"] = list(outputs)


def arguments_of_command() -> list[str]:
    """The arguments of the running command as they were given; none outside one."""
    return arguments_of(click.get_current_context(silent=True))


def is_given(name: str) -> bool:
    """Whether a parameter of the running command is on its command line."""
    return click.get_current_context().get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def input_files() -> list[str]:
    """The files that options of the running command name as inputs."""
    return list(click.get_current_context().meta.get("input files", ()))


# Options that several commands share.


def output_options(
    *, help: str = "Where to write.", force: str = "Replace an output that exists.", **attributes: Any
) -> Decorator:
    """`--output` and `--force`; `help` and `attributes` are those of `--output`, `force` is the help of the other."""
    output = option("--output", "-o", **{"metavar": "FILE", "help": help, "panel": OUTPUT, **attributes})
    has_file = not {"default", "required", "show_default"}.isdisjoint(attributes)
    needs = None if has_file else f"--output {attributes.get('metavar', 'FILE')}"
    replace = option("--force", is_flag=True, help=force, panel=OUTPUT, needs=needs)
    return lambda function: output(replace(function))


def threads_option(help: str = "", *, default: int = 0, needs: str | None = None) -> Decorator:
    """`--threads` as a parameter of its own."""
    from slmtok.options import CountOptions, option_specs

    spec = next(spec for name, _, spec in option_specs(CountOptions) if name == "threads")
    names = ("--threads", *spec.aliases)
    return option(*names, metavar=spec.metavar, type=INTEGER, default=default, help=help or spec.help, needs=needs)


# A tokenizer is named by its place, or by -t: both work in every command, and help shows one of them.


class _TokenizerOption(Option):
    """`-t TOK`. Without it, the first or the last positional argument is the tokenizer if it names one."""

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        values = dict(opts)
        if self.name not in opts and not ctx.resilient_parsing:
            from slmtok.cli.files import is_tokenizer, names_tokenizer

            given = positional_in(opts, args, ctx)
            # Last, the name of an encoding may be text, unless a tokenizer is required or an argument is too many.
            may_be_last = len(given) > 1 and (bool(args) or self.required or is_tokenizer(given[-1]))
            place = 0 if given and names_tokenizer(given[0]) else -1
            if given and (place == 0 or (may_be_last and names_tokenizer(given[place]))):
                name = given.pop(place)
                values[self.name] = [name] if self.multiple else name
                _assign(ctx, opts, given, args)
        return super().handle_parse_result(ctx, values, args)


class _TokenizerArgument(click.Argument):
    """TOK as the first positional argument. Values of the hidden option `-t` are put before those that were given.

    Where all arguments are tokenizers, they keep the order of the command line.
    """

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        if named := opts.get(_NAMED):
            given = [*named, *positional_in(opts, args, ctx)]
            if all("TOK" in str(param.metavar) for param in positional_params(ctx.command)):
                given = in_given_order(ctx, given)
            _assign(ctx, opts, given, args)
        return super().handle_parse_result(ctx, opts, args)


_NAMED = "named_tokenizers"


def in_given_order(ctx: click.Context, values: Iterable[str]) -> list[str]:
    """Values of arguments and of `-t` in the order of the command line; click gives arguments after options."""
    arguments = arguments_of(ctx)

    def place(value: str) -> int:
        spellings = (value, f"-t{value}", f"--tokenizer={value}")
        return next(index for index, argument in enumerate(arguments) if argument in spellings)

    return sorted(values, key=place)


def _assign(ctx: click.Context, opts: Any, given: Sequence[str], rest: list[str]) -> None:
    """Parses positional arguments into `opts` again; only the last argument of a command takes several."""
    left = list(given)
    for param in positional_params(ctx.command):
        opts.pop(param.name, None)
        if left:
            opts[param.name] = left.pop(0) if param.nargs == 1 else tuple(left)
            left = left if param.nargs == 1 else []
    rest[:] = left


def tokenizer_option(*names: str, **attributes: Any) -> Decorator:
    """`--tokenizer`, required unless the attributes say otherwise. TOK may also be the first or the last argument."""
    shared: dict[str, Any] = {"metavar": "TOK", "required": True, "help": f"The tokenizer: {TOKENIZER}."}
    attributes |= {"cls": _TokenizerOption, "is_eager": True}
    return option("--tokenizer", "-t", *names, **shared | attributes)


def tokenizer_argument(name: str = "tokenizer", **attributes: Any) -> Decorator:
    """TOK as the first argument; `-t TOK` is the same."""
    shared: dict[str, Any] = {"metavar": "TOK", "help": f"The tokenizer: {TOKENIZER}."}
    first = argument(name, **{**shared, **attributes, "cls": _TokenizerArgument})
    named = option("--tokenizer", "-t", _NAMED, multiple=True, hidden=True, expose_value=False)
    return lambda function: named(first(function))


corpus_argument = argument(
    "corpus", metavar="CORPUS...", nargs=-1, required=True, help="Files, folders, globs, hf:NAME, or - for stdin."
)
dry_run_option = option("--dry-run", is_flag=True, help="Print what would be done, and stop.", panel=OUTPUT)
ray_option = option(
    "--ray",
    metavar="auto|local|HOST:PORT",
    help="Run on a Ray cluster: auto for that of this machine, local, or host:port. The result is the same.",
)
