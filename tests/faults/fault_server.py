"""Runs commands in forked children, each with one fault or one situation.

This process was started under the shim, with the modules of its arguments imported. It reads one JSON object a line,
which `Harness.run` writes, and answers with one: `status` (negative: killed by this signal), `calls` (where only these
are counted: for inputs and for outputs, how many there are of each set of classes), `out`, `err`.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import resource
import sys
import tempfile
from importlib import import_module
from typing import Any

from forked_commands import draw_a_chart

from slmtok._engine import Pattern
from slmtok.pages.js_regex import to_js

APPS = {"slmtok": "slmtok.cli", "slm": "slmmodel.cli"}
SHIM = ctypes.CDLL(os.environ["FAULTS_SHIM"])
SHIM.faults_calls.restype = ctypes.c_long


def child(job: dict[str, Any], out: int, err: int) -> None:
    """Runs the command and ends the process."""
    status = 70
    try:
        os.chdir(job["folder"])
        os.dup2(os.open(job["stdin"] or os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        # The old object believes that it writes to what this process was started with.
        sys.stderr = os.fdopen(2, "w", encoding=sys.stderr.encoding, errors="backslashreplace", buffering=1)
        os.environ.update(job["env"])
        tempfile.tempdir = None
        # As an interpreter would decode them that was started with them.
        program, *arguments = (os.fsdecode(argument.encode()) for argument in job["argv"])
        main = import_module(APPS[program]).main
        enter(job)
        status = main(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def enter(job: dict[str, Any]) -> None:
    """The situation of a job, and its fault."""
    if job["umask"] is not None:
        os.umask(job["umask"])
    for name, value in job["limits"].items():
        number = getattr(resource, name)
        if name == "RLIMIT_AS":
            value += address_space()
        resource.setrlimit(number, (value, value))
    if job["no_proc"]:
        SHIM.faults_hide_proc()
    below, but = (os.fsencode(path) for path in job["paths"])
    SHIM.faults_arm(below, but, job["classes"], ctypes.c_long(job["at"]), job["action"])


def address_space() -> int:
    """The bytes of address space of this process."""
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
        return int(file.read().split()[0]) * resource.getpagesize()


def serve(job: dict[str, Any]) -> dict[str, object]:
    """Runs one job."""
    # A limit on the size of files must not silence the errors, so these go through a pipe.
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as out, os.fdopen(reading, "rb") as err:
        process = os.fork()
        if process == 0:
            child(job, out.fileno(), writing)
        os.close(writing)
        messages = err.read().decode("utf-8", "replace")
        _, ended = os.waitpid(process, 0)
        out.seek(0)
        printed = out.read().decode("utf-8", "replace")
    status = os.waitstatus_to_exitcode(ended)
    calls = [[SHIM.faults_calls(side, classes) for classes in range(32)] for side in (0, 1)]
    return {"status": status, "calls": calls, "out": printed, "err": messages}


def shorten() -> None:
    """Shortens what takes seconds and touches no file: sampling in `slm demo`, measuring in `slm ablate`."""
    if demo := sys.modules.get("slmmodel.cli.demo"):
        demo.ONE_TEXT = demo.ONE_TEXT._replace(sample_ids=4)
    if runs := sys.modules.get("slmmodel.ablation.runs"):
        runs.MEASURED_SECONDS = 0.0


def main() -> None:
    """Serves until stdin ends."""
    for module in sys.argv[1:]:
        with contextlib.suppress(ImportError):
            import_module(module)
    shorten()
    if torch := sys.modules.get("torch"):
        # It chooses kernels, and so the last bits, by /proc/cpuinfo, which it reads once a process.
        torch.cpu._is_avx2_supported()
    # `view` translates the classes of the pattern once a process.
    to_js(Pattern("slm").regex)
    if "matplotlib" in sys.modules:
        draw_a_chart()
    # As in forked_commands.py.
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(serve(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
