"""Runs one command: torch must be there, options by typer, then the result or the error, then the exit status.

Ctrl-C gives 130 and SIGTERM 143, both without a traceback; a closed pipe ends quietly with 0. `--traceback` shows where
an error came from; without it nobody sees Python.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from slmmodel.cli import _output, _streams, _usage
from slmmodel.errors import (
    BytesDisagree,
    InternalError,
    InvalidOption,
    MissingPackage,
    SlmmodelError,
    UnknownName,
    UnknownRole,
    Unreadable,
)

if TYPE_CHECKING:
    from slmmodel.cli import Command

_WRONG_USAGE = (InvalidOption, UnknownName, UnknownRole)
"""Errors whose cause is a value on the command line; so is that of any error which names an `option` in its fields."""


_NO_PROOF = (BytesDisagree,)
"""Errors that are the answer of a check: nothing is printed without proof."""


class _Terminated(BaseException):
    """SIGTERM as an exception, so that outputs in the making are removed on the way out."""


def run(name: str, command: Command, arguments: Sequence[str]) -> int:
    """Runs the command `name` with its arguments and returns its exit status.

    Only an `OSError` of stdout is raised; a closed pipe is one of them.
    """
    options = list(arguments)[: list(arguments).index("--")] if "--" in arguments else list(arguments)
    as_json, with_traceback = "--json" in options, "--traceback" in options
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    seen: list[int] = []
    try:
        with _signals(seen):
            return _execute(name, command, list(arguments), as_json, with_traceback, seen)
    except KeyboardInterrupt:
        return _stopped("interrupted", _output.INTERRUPTED, with_traceback)
    except _Terminated:
        return _stopped("terminated", _output.TERMINATED, with_traceback)


def _execute(
    name: str, command: Command, arguments: list[str], as_json: bool, with_traceback: bool, seen: list[int]
) -> int:
    try:
        _need_torch(name)
        _wait_asleep()
        code = _deliver(name, _call(name, command, arguments), as_json)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        raise
    except Exception as caught:
        if seen:
            # What was being imported may have swallowed the interrupt and stumbled over what it left undone.
            raise _exception(seen[0]) from caught
        error = caught if isinstance(caught, SlmmodelError) else _foreign(caught)
        if with_traceback:
            traceback.print_exc()
        if as_json:
            _write_envelope(_output.envelope(name, result=None, error=error))
        _output.print_error(error)
        if isinstance(error, _NO_PROOF):
            return _output.ANSWER_NO
        wrong_usage = isinstance(error, _WRONG_USAGE) or error.fields.get("option") is not None
        return _output.USAGE if wrong_usage else _output.FAILED


def _need_torch(name: str) -> None:
    from importlib.util import find_spec

    if find_spec("torch") is None:
        raise MissingPackage(f"'slm {name}' needs torch, which is not installed", fix="pip install 'slmtok[model]'")


def _wait_asleep() -> None:
    """Threads of OpenMP that wait spin for microseconds, then sleep, unless the environment says otherwise.

    Beside other work a thread that spins for long holds the core that the awaited one needs. Read when torch is loaded.
    """
    if not any(name in os.environ for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")):
        os.environ["GOMP_SPINCOUNT"] = "10000"


def _write_envelope(text: str) -> None:
    """The object of `--json` after a failure. Where stdout is what failed, the error is told on stderr alone."""
    try:
        _output.write_text(text)
        sys.stdout.flush()
    except OSError:
        _streams.drop_stdout()


def _deliver(name: str, outcome: object, as_json: bool) -> int:
    """Prints what a command found out and gives the exit status."""
    if not isinstance(outcome, _output.Outcome):
        return outcome if isinstance(outcome, int) else _output.DONE
    if as_json:
        ok = outcome.code == _output.DONE
        _output.write_text(_output.envelope(name, result=outcome.result, warnings=outcome.warnings, ok=ok))
    elif outcome.show is not None:
        outcome.show()
    return outcome.code


def build(name: str, command: Command) -> Any:
    """The click command behind `slm NAME`."""
    import typer

    module = importlib.import_module(command.module)
    function: Callable[..., object] = getattr(module, command.module.rpartition(".")[2])
    app = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={
            "help_option_names": ["--help", "-h"],
            "token_normalize_func": lambda option: option.replace("_", "-"),
        },
    )
    app.command()(function)
    return typer.main.get_command(app)


def _call(name: str, command: Command, arguments: list[str]) -> object:
    import typer

    click_error: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
    parser = build(name, command)
    try:
        with parser.make_context(f"slm {name}", arguments) as context:
            return parser.invoke(context)
    except typer.Exit as stop:
        return stop.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except click_error as error:
        own = [option for param in parser.params for option in param.opts if option.startswith("--")]
        raise _usage.explain(error, name, own) from error


def _foreign(error: Exception) -> SlmmodelError:
    """An error that is not ours, told in the house style: the system's refusals, or a fault of this package."""
    if isinstance(error, (ImportError, OSError)) and _within_torch(error):
        said = str(error).strip().splitlines() or [type(error).__name__]
        return MissingPackage(
            f"torch is installed and cannot be imported: {said[-1]}",
            where="python -c 'import torch' says the same",
            fix="install it anew: pip install --force-reinstall --no-cache-dir torch",
        )
    if isinstance(error, OSError) and error.filename is None:
        # Files are read and written by functions that name them; what is left is stdout.
        _streams.drop_stdout()
        return _output.stdout_failed(error)
    if isinstance(error, OSError):
        return Unreadable(
            f"cannot use {error.filename!r}: {error.strerror or error}",
            where=str(error.filename),
            fix="check its name and permissions",
        )
    seam = _from_the_seam(error)
    if seam is not None:
        return seam
    return InternalError(
        f"unexpected {type(error).__name__}: {error}",
        limit="this is a fault of slmmodel, not of your input",
        fix="run it again with --traceback and report what it prints",
    )


def _within_torch(error: Exception) -> bool:
    """Whether importing torch failed: it lacks a library, say, or was copied in part."""
    if "torch" in sys.modules:
        return False
    places = (Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__))
    return any(place.name == "__init__.py" and place.parent.name == "torch" for place in places)


def _from_the_seam(error: Exception) -> SlmmodelError | None:
    """An error of the tokenizer's package, which has the same four parts, told as it stands."""
    if not all(hasattr(error, part) for part in ("fact", "where", "limit", "fix", "fields")):
        return None
    parts: Any = error
    own = {key: value for key, value in parts.fields.items() if key not in ("fact", "where", "limit", "fix")}
    return SlmmodelError(parts.fact, where=parts.where, limit=parts.limit, fix=parts.fix, **own)


def _stopped(word: str, code: int, with_traceback: bool) -> int:
    if with_traceback:
        traceback.print_exc()
    sys.stderr.write(f"{word}\n")
    return code


def _exception(number: int) -> BaseException:
    return _Terminated() if number == signal.SIGTERM else KeyboardInterrupt()


@contextmanager
def _signals(seen: list[int]) -> Iterator[None]:
    """SIGTERM and Ctrl-C as exceptions; `seen` keeps which came. One that is ignored stays ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        raise _exception(number)

    heard = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
