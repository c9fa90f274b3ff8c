"""Functions of a caller that report progress."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, NoReturn


def ends_forked_child(callback: Callable[..., Any]) -> Callable[..., Any]:
    """`callback`, out of which a process that it forks neither returns nor raises.

    Such a child has the open files of the call and the paths that its clean-up removes, but none of its threads.
    """

    @wraps(callback, updated=())
    def call(*args: Any, **keywords: Any) -> Any:
        process = os.getpid()
        try:
            result = callback(*args, **keywords)
        except BaseException as error:
            if os.getpid() != process:
                _exit(error)
            raise
        if os.getpid() != process:
            _exit(SystemExit())
        return result

    return call


def _exit(error: BaseException) -> NoReturn:
    """Ends this process with the status of `error` as Python does, without clean-up, as children of multiprocessing."""
    status = 1
    try:
        code = error.code if isinstance(error, SystemExit) else None
        if not isinstance(error, SystemExit):
            # A hook of another library may wait for threads that this process lacks.
            sys.__excepthook__(type(error), error, error.__traceback__)
        elif code is None or isinstance(code, int):
            status = (code or 0) & 0xFF
        else:
            sys.stderr.write(f"{code}\n")
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    finally:
        os._exit(status)


def unlike_function(given: object, arguments: str) -> str | None:
    """What an object is instead of a function of these arguments, `one of (done, total)`; None for such a function."""
    if not callable(given):
        return type(given).__name__
    try:
        taken = signature(given)
    except (TypeError, ValueError):
        return None  # some functions in C have no signature
    try:
        taken.bind(*arguments.split(", "))
    except TypeError:
        return f"one of ({', '.join(map(brief_parameter, taken.parameters.values()))})"
    return None


def brief_parameter(parameter: Parameter) -> str:
    """A parameter as it is given: `corpus`, `bos=`, `**keywords`."""
    if parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
        return str(parameter).partition(":")[0]
    return parameter.name + ("" if parameter.default is Parameter.empty else "=")
