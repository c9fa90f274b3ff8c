"""Functions of a caller that report progress."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
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
