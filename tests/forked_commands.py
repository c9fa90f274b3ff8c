"""`slm` and `slmtok` for tests that run many of them: a server with their modules imported forks a child for each.

A command on the PATH that `forked_commands` gives is this file as a client: it sends arguments, environment, folder and
standard streams over a Unix socket, and ends with the status of the command.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

IMPORTED = ("torch", "slmtok.cli", "slmtok.tokenizer", "slmmodel.cli", "slmmodel.app", "slmmodel.trainer")
SIZE = 1 << 20
"""The most bytes of a request."""


@contextmanager
def forked_commands(folder: Path) -> Iterator[dict[str, str]]:
    """Fills an empty folder; gives the environment of a shell that runs the commands."""
    address = folder / "socket"
    for name in ("slm", "slmtok"):
        command = folder / name
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{__file__}" {name} "$@"\n')
        command.chmod(0o755)
    server = subprocess.Popen([sys.executable, __file__, "--serve", address], stdin=subprocess.DEVNULL)
    try:
        while not address.exists():
            assert server.poll() is None, "the server has ended"
            time.sleep(0.05)
        yield {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "FORKED_COMMANDS": str(address)}
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
        status = connection.recv(1)
    # Nothing is sent by a child that a signal ended.
    sys.exit(status[0] if status else 137)


def serve(address: str) -> None:
    """Answers while the process that started it lives."""
    import signal
    from importlib import import_module

    for module in IMPORTED:
        import_module(module)
    parent = os.getppid()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(address)
        server.listen()
        server.settimeout(1)
        # Children are not waited for.
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while os.getppid() == parent:
            try:
                connection, _ = server.accept()
            except TimeoutError:
                continue
            connection.settimeout(None)
            with connection:
                if os.fork() == 0:
                    server.close()
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    run(connection)


def run(connection: socket.socket) -> None:
    """Runs one command in this process, sends its status, and ends."""
    from importlib import import_module

    status = 70
    try:
        request, streams, _, _ = socket.recv_fds(connection, SIZE, 3)
        while not request.endswith(b"\n"):
            request += connection.recv(SIZE)
        job = json.loads(request)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        # The objects of the server remember what its own streams were.
        sys.stdin, sys.stdout = os.fdopen(0, encoding="utf-8"), os.fdopen(1, "w", encoding="utf-8")
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)
        os.environ.clear()
        os.environ.update(job["env"])
        os.chdir(job["folder"])
        name, *arguments = job["command"]
        status = import_module({"slm": "slmmodel.cli", "slmtok": "slmtok.cli"}[name]).main(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        connection.send(bytes([status & 255]))
        os._exit(status)


if __name__ == "__main__":
    main()
