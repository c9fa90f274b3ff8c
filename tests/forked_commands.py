"""`slm`, `slmtok` and `torchrun` for tests that run many of them: a server with their modules imported forks each.

A command on the PATH that `forked_commands` gives is a client, `forked_client.py`: it sends arguments, environment,
folder and standard streams over a Unix socket, passes signals on, and ends as the command does. Killed, it kills the
command.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import forked_client
from disk_flushes import unflushed

MODULES = {"slm": "slmmodel.__main__", "slmtok": "slmtok.__main__", "torchrun": "torch.distributed.run"}
PYTHON = "preloaded-python"
"""Stands for `python FILE ...` and `python -c CODE`."""
# An optimizer imports `torch._dynamo`, and takes a second for it.
IMPORTED = (
    *("torch.distributed.run", "torch._dynamo", "torch.distributed.fsdp", "torch.distributed.tensor"),
    *("safetensors.torch", "numpy", "yaml", "jinja2", "rich.table", "matplotlib.figure"),
)
"""Besides all modules of slmtok and slmmodel."""
SIZE = 1 << 20
"""The most bytes of a request."""


@contextmanager
def forked_commands(folder: Path) -> Iterator[dict[str, str]]:
    """Fills an empty folder; gives the environment of a shell that runs the commands, and this Python as `python`."""
    address = folder / "socket"
    for name in (*MODULES, PYTHON):
        command = folder / name
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{forked_client.__file__}" {name} "$@"\n')
        command.chmod(0o755)
    server = subprocess.Popen([sys.executable, __file__, address], stdin=subprocess.DEVNULL)
    try:
        while not address.exists():
            assert server.poll() is None, "the server has ended"
            time.sleep(0.05)
        path = os.pathsep.join((str(folder), str(Path(sys.executable).parent), os.environ["PATH"]))
        yield {**os.environ, "PATH": path, "FORKED_COMMANDS": str(address)}
    finally:
        server.kill()
        server.wait()


def serve(address: str) -> None:
    """Answers while the process that started it lives."""
    from importlib import import_module

    for module in (*modules_of("slmtok"), *modules_of("slmmodel"), *IMPORTED):
        # The packages of some extras may be missing.
        with suppress(ImportError):
            import_module(module)
    if "matplotlib" in sys.modules:
        draw_a_chart()
    import_module("slmtok.formats.verification").FULL = import_module("export_effort").QUICK
    os.fsync = unflushed(os.fsync)
    # A collection of garbage writes to each object that it visits, and a fork would copy all of their pages.
    gc.collect()
    gc.freeze()
    parent = os.getppid()
    running: dict[int, socket.socket] = {}
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(address)
        server.listen()
        server.settimeout(1)
        while os.getppid() == parent:
            try:
                connection, _ = server.accept()
            except TimeoutError:
                continue
            connection.settimeout(None)
            reap(running)
            process = os.fork()
            if process == 0:
                server.close()
                attend(connection)
            running[process] = connection


def modules_of(package: str) -> list[str]:
    """All modules of a package: what is imported before a fork need not be imported behind it."""
    root = Path(__file__).parents[1]
    files = (path.relative_to(root).with_suffix("") for path in (root / package).rglob("*.py"))
    return sorted(".".join(path.parts).removesuffix(".__init__") for path in files)


def draw_a_chart() -> None:
    """The first chart of a process reads the fonts, and imports what draws SVG."""
    from slmtok.pages.charts import Line, line_chart

    line_chart([Line("", [0.0, 1.0], [0.0, 1.0])], x="x", y="y")


def reap(running: dict[int, socket.socket]) -> None:
    """Takes away what has ended. It waits for a command whose client was killed, so that the next one finds no lock."""
    import select

    for process, connection in list(running.items()):
        poll = select.poll()
        poll.register(connection, 0)
        if os.waitpid(process, 0 if poll.poll(0) else os.WNOHANG)[0]:
            running.pop(process).close()


def attend(connection: socket.socket) -> None:
    """Forks the command, passes signals on until it ends, sends how it ended, and ends this process."""
    import threading

    request, streams, _, _ = socket.recv_fds(connection, SIZE, 3)
    while not request.endswith(b"\n"):
        request += connection.recv(SIZE)
    process = os.fork()
    if process == 0:
        connection.close()
        run(json.loads(request), streams)
    for stream in streams:
        os.close(stream)

    def pass_on() -> None:
        """Sends each byte as a signal; without a client the command is killed."""
        with suppress(ConnectionError):
            while number := connection.recv(1):
                os.kill(process, number[0])
        # The client also closes the connection when the command has ended.
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)

    threading.Thread(target=pass_on, daemon=True).start()
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    connection.send(forked_client.STATUS.pack(status))
    os._exit(0)


def run(job: dict[str, Any], streams: list[int]) -> None:
    """Runs one command in this process, which ends."""
    from importlib import import_module

    status = 70
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        # The objects of the server remember what its own streams were.
        sys.stdin, sys.stdout = os.fdopen(0, encoding="utf-8"), os.fdopen(1, "w", encoding="utf-8")
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)
        os.environ.clear()
        os.environ.update(job["env"])
        os.chdir(job["folder"])
        sys.argv = job["command"]
        status = run_python() if sys.argv[0] == PYTHON else import_module(MODULES[sys.argv[0]]).main() or 0
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(status)


def run_python() -> int:
    """Runs the code or the file of the arguments."""
    import runpy

    del sys.argv[0]
    if sys.argv[0] == "-c":
        exec(sys.argv.pop(1), {"__name__": "__main__"})
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    serve(sys.argv[1])
