"""`slm`, `slmtok` and `torchrun` for tests that run many of them: a server with their modules imported forks each.

A command on the PATH that `forked_commands` gives is this file as a client: it sends arguments, environment, folder and
standard streams over a Unix socket, passes signals on, and ends as the command does. Killed, it kills the command.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

MODULES = {"slm": "slmmodel.__main__", "slmtok": "slmtok.__main__", "torchrun": "torch.distributed.run"}
# An optimizer imports `torch._dynamo`, and takes a second for it.
IMPORTED = (
    *MODULES.values(),
    *("torch._dynamo", "torch.distributed.fsdp", "torch.distributed.tensor", "safetensors.torch"),
    *("slmtok.cli", "slmtok.tokenizer", "slmmodel.cli", "slmmodel.app", "slmmodel.trainer", "slmmodel.models.infini"),
    *("yaml", "rich.table", "matplotlib.figure"),
)
SIZE = 1 << 20
"""The most bytes of a request."""
STATUS = struct.Struct("h")
"""How a command ended; of one that a signal ended, minus its number."""


@contextmanager
def forked_commands(folder: Path) -> Iterator[dict[str, str]]:
    """Fills an empty folder; gives the environment of a shell that runs the commands, and this Python as `python`."""
    address = folder / "socket"
    for name in MODULES:
        command = folder / name
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{__file__}" {name} "$@"\n')
        command.chmod(0o755)
    server = subprocess.Popen([sys.executable, __file__, "--serve", address], stdin=subprocess.DEVNULL)
    try:
        while not address.exists():
            assert server.poll() is None, "the server has ended"
            time.sleep(0.05)
        path = os.pathsep.join((str(folder), str(Path(sys.executable).parent), os.environ["PATH"]))
        yield {**os.environ, "PATH": path, "FORKED_COMMANDS": str(address)}
    finally:
        server.kill()
        server.wait()


def main() -> None:
    """The client where the file was started under the name of a command, else the server."""
    if len(sys.argv) == 3 and sys.argv[1] == "--serve":
        serve(sys.argv[2])
    job = {"command": sys.argv[1:], "folder": str(Path.cwd()), "env": dict(os.environ)}
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(os.environ["FORKED_COMMANDS"])
        socket.send_fds(connection, [json.dumps(job).encode() + b"\n"], [0, 1, 2])
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, frame: connection.send(bytes([number])))
        (status,) = STATUS.unpack(connection.recv(STATUS.size))
    if status < 0:
        with suppress(OSError):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status)


def serve(address: str) -> None:
    """Answers while the process that started it lives."""
    from importlib import import_module

    for module in IMPORTED:
        # The packages of some extras may be missing.
        with suppress(ImportError):
            import_module(module)
    import_module("slmtok.formats.verification").FULL = import_module("export_effort").QUICK
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
        os.kill(process, signal.SIGKILL)

    threading.Thread(target=pass_on, daemon=True).start()
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    connection.send(STATUS.pack(status))
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
        status = import_module(MODULES[sys.argv[0]]).main() or 0
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(status)


if __name__ == "__main__":
    main()
