"""Runs commands in forked children, each with one fault armed in the shim that this process was started with.

Reads one JSON object a line from stdin: `argv` (`slmtok` or `slm` first), `folder`, `at`, `error`. Writes one: `status`
(negative: killed by this signal), `calls`, `err`.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import tempfile
from importlib import import_module

APPS = {"slmtok": "slmtok.cli", "slm": "slmmodel.cli"}


def child(job: dict[str, object], shim: ctypes.CDLL, messages: int) -> None:
    """Runs the command and ends the process."""
    status = 70
    try:
        folder = str(job["folder"])
        os.chdir(folder)
        os.dup2(messages, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        program, *arguments = list(job["argv"])  # type: ignore[call-overload]
        main = import_module(APPS[program]).main
        shim.faults_arm(f"{folder}/out".encode(), ctypes.c_long(job["at"]), job["error"])  # type: ignore[arg-type]
        status = main(arguments)
        sys.stderr.flush()
    finally:
        os._exit(status)


def main() -> None:
    """Serves until stdin ends."""
    shim = ctypes.CDLL(os.environ["FAULTS_SHIM"])
    shim.faults_calls.restype = ctypes.c_long
    for module in sys.argv[1:]:
        import_module(module)
    for line in sys.stdin:
        with tempfile.TemporaryFile() as messages:
            process = os.fork()
            if process == 0:
                child(json.loads(line), shim, messages.fileno())
            _, ended = os.waitpid(process, 0)
            messages.seek(0)
            err = messages.read().decode("utf-8", "replace")
        status = os.waitstatus_to_exitcode(ended)
        sys.stdout.write(json.dumps({"status": status, "calls": shim.faults_calls(), "err": err}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
