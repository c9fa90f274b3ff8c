"""Commands that kill themselves at the n-th call of functions of `os`, as forks of a process that has imported them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from forked_commands import PYTHON

PROGRAM = """
import functools, json, os, signal, sys
from disk_flushes import unflushed
left, open_file = [0], os.open
def counted(call):
    def run(*arguments, **options):
        result = None if KILLS_BEFORE else call(*arguments, **options)
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments, **options) if KILLS_BEFORE else result
    # The pathlib of Python 3.10 makes attributes of a class of them, where functions would become methods.
    return functools.partial(run)
os.fsync = unflushed(os.fsync)
for name in NAMES:
    setattr(os, name, counted(getattr(os, name)))
IMPORTS
for line in sys.stdin:
    folder, arguments, at, errors = json.loads(line)
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        os.dup2(open_file(os.devnull, os.O_WRONLY), 1)
        os.dup2(open_file(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        left[0] = at
        code = main(arguments)
        sys.stderr.write(f"calls {at - left[0]}\\n")
        sys.stderr.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
NEVER = 1 << 30
Run = Callable[..., "tuple[int, str]"]


@contextmanager
def dying_commands(
    imports: str, names: Sequence[str], *, kills_before: bool = False, commands: Mapping[str, str] | None = None
) -> Iterator[Run]:
    """Gives `run(folder, arguments, at)`, which gives the status of a command, and its stderr with the number of calls.

    imports: Python code that defines `main`. names: of the functions, called through `os`. kills_before: at the n-th
    call the process dies before the call, else behind it. commands: the fixture, for forks of a process that has
    imported torch and all of our modules.
    """
    program = PROGRAM.replace("KILLS_BEFORE", str(kills_before)).replace("NAMES", repr(tuple(names)))
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program.replace("IMPORTS", imports)]
    env: Mapping[str, str] = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    if commands:
        command, env = [PYTHON, "-c", command[-1]], commands
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with TemporaryDirectory() as own, subprocess.Popen(command, env=env, **pipes) as process:
        errors = Path(own, "errors.txt")

        def run(folder: Path, arguments: Sequence[str], at: int = NEVER) -> tuple[int, str]:
            process.stdin.write(json.dumps([str(folder), arguments, at, str(errors)]) + "\n")
            process.stdin.flush()
            return int(process.stdout.readline()), errors.read_text()

        yield run
        process.stdin.close()
