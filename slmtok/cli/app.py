"""The runtime of the commands `slmtok` and `slm`: lazily imported commands on click, signals, exit statuses.

An application is a table of commands: name, place and one line of summary. Only the command that runs is imported, and
`--help` of the whole imports none. Ctrl-C gives 130, SIGTERM and SIGHUP 143, all without a traceback; a closed pipe
ends quietly with 0.
"""

from __future__ import annotations

import gc
import importlib
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from slmtok.cli import errors, streams, system_errors
from slmtok.cli.arguments import options_by_flag
from slmtok.cli.errors import ErrorPolicy
from slmtok.cli.line_checks import Program
from slmtok.cli.output import (
    DONE,
    FAILED,
    INTERRUPTED,
    TERMINATED,
    USAGE,
    Outcome,
    Settings,
    encode_envelope,
    shown_json,
    write_text,
)
from slmtok.interrupts import STOP_SIGNALS, exit_if_importing, exits_on_interrupt

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_HELP_NAMES = {"help_option_names": ["--help", "-h"], "token_normalize_func": lambda text: text.replace("_", "-")}
_FOOTER = """\
{name} COMMAND --help lists the options of a command.

Data goes to stdout, messages to stderr; - stands for stdin or stdout;
--json prints one JSON object instead of a table.
Exit status: 0 done, 1 failed, 2 wrong usage, 3 the check ran and the answer
is no, 130 interrupted, 143 terminated.
"""


class Entry(NamedTuple):
    """A command in the table of an application: `module:attribute`, and its summary in one line."""

    place: str
    summary: str


class App(NamedTuple):
    """A command-line application."""

    name: str
    summary: str
    commands: Mapping[str, Entry]
    versions: Callable[[], Mapping[str, object]]
    """The field `versions` of the JSON envelope."""
    policy: ErrorPolicy
    package: str
    """Blamed for unexpected exceptions; its version is that of the application."""
    other: App | None = None
    """The other program, whose commands an error may name; None where it cannot be imported."""
    prepare: Callable[[str], None] = lambda command: None
    """Called with the name of a command after its options were parsed, before it runs."""
    meant: Callable[[str, Sequence[str]], str | None] = lambda command, arguments: None
    """The command line for a command of another tool, where the program knows one by the files that it names."""
    reports: Callable[[str], bool] = lambda message: True
    """Whether this process, of several that run the command, prints an error, or that it was stopped."""
    shared: Sequence[str] = ()
    """Commands whose work the processes of torchrun share."""

    def main(self, argv: Sequence[str] | None = None) -> int:
        """Runs one command line (without the program's name) and returns its exit status.

        Without `argv` it is that of the process, which then ends.
        """
        with streams.guarded():
            try:
                completion = os.environ.get(self.completion_variable) if argv is None else None
                if completion:
                    return self._complete(completion)
                status = self.run(list(sys.argv[1:] if argv is None else argv))
                sys.stdout.flush()
                if argv is None and "torch" not in sys.modules:
                    # Collecting garbage at exit takes 20 ms with numpy loaded. Triton, which torch may load, reports
                    # objects that are not collected as leaks.
                    gc.freeze()
                return status
            except BrokenPipeError:
                streams.discard_stdout()
                return DONE
            except OSError as error:
                errors.print_error(system_errors.stdout_error(error))
                return FAILED

    def run(self, arguments: list[str]) -> int:
        """As `main`, without guarding the standard streams. Raises only `OSError` of stdout."""
        options = arguments[: arguments.index("--")] if "--" in arguments else arguments
        settings = Settings(as_json="--json" in options, traceback="--traceback" in options)
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        try:
            with _signals() as received:
                return self._execute(arguments, settings, received)
        except (KeyboardInterrupt, SystemExit, Terminated) as stop:
            # A library that saves its state on SIGTERM ends with `SystemExit`.
            if isinstance(stop, SystemExit) and stop.code != TERMINATED:
                raise
            if settings.traceback:
                _print_traceback()
            is_ctrl_c = isinstance(stop, KeyboardInterrupt)
            word, status = ("interrupted", INTERRUPTED) if is_ctrl_c else ("terminated", TERMINATED)
            with suppress(OSError):
                # A terminal that was closed takes none.
                if self.reports(word):
                    sys.stderr.write(f"{word}\n")
            return status

    def _execute(self, arguments: list[str], settings: Settings, received: list[int]) -> int:
        if not arguments:
            sys.stderr.write(self.help_text())
            return USAGE
        if arguments[0] == "help" and "help" not in self.commands:
            arguments = [*arguments[1:2], "--help"]
        try:
            status = self._call(arguments, settings)
            sys.stdout.flush()
            return status
        except BrokenPipeError:
            raise
        except Exception as caught:
            if received:
                # An import that was interrupted may raise another exception for what it left undone.
                raise _exception(received[0]) from caught
            name = _name(arguments)
            return self._fail(caught, name if name in self.commands else "unknown", settings, arguments)

    def _call(self, arguments: list[str], settings: Settings) -> int:
        """Parses and runs; prints the outcome."""
        try:
            with _LazyGroup(self).make_context(self.name, [*arguments], obj=settings) as context:
                outcome: Outcome = context.command.invoke(context)
                if settings.as_json:
                    content = {"result": outcome.result, "warnings": outcome.warnings, "ok": outcome.code == DONE}
                    self._write_envelope(_name(arguments), **content)
                    outcome.print_notes()
                else:
                    outcome.print()
                return outcome.code
        except click.exceptions.Exit as stop:
            return stop.exit_code
        except click.Abort:
            raise KeyboardInterrupt from None
        except click.ClickException as error:
            raise errors.usage_error(error, f"{self.name} {_name(arguments)}") from error

    @property
    def program(self) -> Program:
        """This application, for checks of its command lines."""
        return Program(self.name, self.commands, self.command, self.parse, self._refusal)

    def parse(self, arguments: Sequence[str]) -> click.Context:
        """The context of a command line, parsed and not run."""
        group = _LazyGroup(self)
        context = group.make_context(self.name, [*arguments], obj=Settings())
        name, command, rest = group.resolve_command(context, [*arguments])
        assert command is not None
        return command.make_context(name, rest, parent=context)

    def _fail(self, caught: Exception, name: str, settings: Settings, arguments: Sequence[str]) -> int:
        """Prints an error and returns the exit status."""
        is_own = isinstance(caught, self.policy.own)
        error: Any = (
            caught
            if is_own
            else self.policy.translate(caught)
            or system_errors.system_error(caught, self.package, settings.written, arguments)
        )
        # What is wrong is said, also where its remedy cannot be checked.
        with suppress(Exception):
            quoted = self._with_quotes(error, name, arguments)
            if quoted != arguments:
                refusal, arguments = self._refusal(quoted), quoted
                if refusal is None:
                    error.fix = shlex.join([self.name, *quoted])
                error = refusal or error
        with suppress(Exception):
            from slmtok.cli.checked_fix import check_fix

            check_fix(error, self.program, arguments, *([self.other.program] if self.other else []))
        with suppress(Exception):
            from slmtok.cli.launcher import add_launcher

            add_launcher(error, self.name, self.package, arguments, self.shared)
        flags = self._flags(name)
        if not self.reports(errors.error_text(error, flags)):
            return self.policy.exit_status(error)
        if settings.traceback:
            _print_traceback()
        if settings.as_json:
            try:
                self._write_envelope(name, error=errors.error_dict(error, flags))
                sys.stdout.flush()
            except OSError:
                streams.discard_stdout()
        errors.print_error(error, flags)
        return self.policy.exit_status(error)

    def _with_quotes(self, error: Any, name: str, arguments: Sequence[str]) -> Sequence[str]:
        """The words of a line with each name with a space as one, where an error is of the line or of such a word."""
        from slmtok.cli.unquoted import with_quotes

        if name not in self.commands:
            return arguments
        words = [arguments[0], *with_quotes(arguments[1:], self.command(name))]
        # The first word of a name may stand in `--on=My`.
        apart = [word for word in arguments if word not in words]
        parts = [*apart, *(word.partition("=")[2] for word in apart if "=" in word)]
        is_named = any(word == error.fields.get("path") or repr(word) in error.fact for word in parts)
        return words if is_named or (parts and self._refusal(arguments)) else arguments

    def _refusal(self, arguments: Sequence[str]) -> Exception | None:
        """The error of a command line that is refused before it runs."""
        from slmtok.cli.options import Command

        try:
            context = self.parse(arguments)
            if isinstance(context.command, Command):
                context.command.check_objects(context)
        except click.ClickException as error:
            return errors.usage_error(error, f"{self.name} {_name(arguments)}")
        except self.policy.own as error:
            return error
        return None

    def _flags(self, name: str) -> frozenset[str]:
        """The flags of a command; none where it is unknown, or its import was what failed."""
        module, _, attribute = self.commands[name].place.partition(":") if name in self.commands else ("", "", "")
        command = getattr(sys.modules.get(module), attribute or "?", None)
        return frozenset(options_by_flag(command) if command is not None else ())

    def _write_envelope(self, command: str, **content: Any) -> None:
        write_text(shown_json(encode_envelope(f"{self.name}.{command}/1", self.versions(), **content)))

    @property
    def completion_variable(self) -> str:
        """The environment variable through which a shell asks for completions."""
        return f"_{self.name.upper()}_COMPLETE"

    def _complete(self, instruction: str) -> int:
        from click.shell_completion import shell_complete

        return shell_complete(_LazyGroup(self), {"obj": Settings()}, self.name, self.completion_variable, instruction)

    def help_text(self) -> str:
        """The text of `--help`."""
        width = max(map(len, self.commands))
        lines = [f"  {name:<{width}}  {entry.summary}" for name, entry in self.commands.items()]
        return (
            f"{self.name}: {self.summary}\n\n"
            f"Usage: {self.name} COMMAND [ARGUMENTS]   |   {self.name} --help   |   {self.name} --version\n\n"
            "Commands:\n" + "\n".join(lines) + "\n\n" + _FOOTER.format(name=self.name)
        )

    def command(self, name: str) -> click.Command:
        """Imports a command of the table."""
        module, _, attribute = self.commands[name].place.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command


class _LazyGroup(click.Group):
    """The click group of an application; it imports a command when click asks for it."""

    def __init__(self, app: App) -> None:
        version = click.Option(
            ["--version", "-V"], is_flag=True, is_eager=True, expose_value=False, callback=self._print_version
        )
        super().__init__(app.name, params=[version], context_settings=_HELP_NAMES)
        self._app = app

    def _print_version(self, context: click.Context, param: click.Parameter, value: bool) -> None:
        if value:
            sys.stdout.write(f"{self._app.name} {self._app.versions()[self._app.package]}\n")
            context.exit()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["words"] = [*args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._app.commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return self._app.command(cmd_name) if cmd_name in self._app.commands else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = _name(args)
        command = self.get_command(ctx, name)
        if command is None and ctx.resilient_parsing:
            return None, None, []
        if command is None:
            from slmtok.cli.unknown_commands import unknown_command

            other = self._app.other
            elsewhere = other.command(name) if other and name in other.commands else None
            error = unknown_command(self._app.name, args[0], args[1:], self._app.commands, elsewhere)
            error.fix = self._app.meant(name, args[1:]) or error.fix
            raise error
        ctx.meta["app"] = self._app
        return name, command, args[1:]

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands that begin with `incomplete`, without importing one."""
        from click.shell_completion import CompletionItem

        found = {**{name: entry.summary for name, entry in self._app.commands.items()}, "--help": "", "--version": ""}
        return [CompletionItem(name, help=text) for name, text in found.items() if name.startswith(incomplete)]

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(self._app.help_text().rstrip("\n"))


_MOMENT = 0.02
"""Seconds after which a signal that was dropped is sent again, outside of what dropped it."""


def _name(arguments: Sequence[str]) -> str:
    return arguments[0].replace("_", "-")


class Terminated(BaseException):
    """SIGTERM or SIGHUP as an exception, so that unfinished outputs are removed."""


def _exception(number: int) -> BaseException:
    return KeyboardInterrupt() if number == signal.SIGINT else Terminated()


def _send_to_main_thread(number: int) -> None:
    """Sends a signal that also ends a read in which the main thread waits, where the system can do so."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(int(threading.main_thread().ident or 0), number)
    else:
        signal.raise_signal(number)


def _is_stopping() -> bool:
    """Whether the exception of a signal is handled at present: a second one would cut off the clean-up."""
    error = sys.exc_info()[1]
    while error is not None and not isinstance(error, (KeyboardInterrupt, Terminated)):
        error = error.__context__
    return error is not None


def _print_traceback() -> None:
    import traceback

    traceback.print_exc()


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Raises an exception on each of `STOP_SIGNALS`; gives the signals received. An ignored signal stays ignored.

    A signal during the clean-up after an earlier one has no effect. One whose exception Python drops, as it does in the
    callback of a weak reference and in `__del__`, is sent again a moment later.
    """
    received: list[int] = []
    is_program = exits_on_interrupt()
    report_dropped = sys.unraisablehook

    def send_again(dropped: sys.UnraisableHookArgs) -> None:
        if received and isinstance(dropped.exc_value, (KeyboardInterrupt, Terminated)):
            again = threading.Timer(_MOMENT, _send_to_main_thread, [received[-1]])
            again.daemon = True
            again.start()
        else:
            report_dropped(dropped)

    def stop(number: int, frame: FrameType | None) -> None:
        if _is_stopping():
            return
        received.append(number)
        if is_program:
            exit_if_importing(number, frame)
        raise _exception(number)

    is_main = threading.current_thread() is threading.main_thread()
    numbers = STOP_SIGNALS if is_main else ()
    handled = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in handled}
    sys.unraisablehook = send_again
    try:
        yield received
    finally:
        sys.unraisablehook = report_dropped
        for number, handler in before.items():
            signal.signal(number, handler)
