"""The harness: every command that writes, with the n-th writing system call failing, or the process killed at it.

A command passes if it ends with success or one clear error, and the same command again, undisturbed, ends with success
in the bytes of a run that nothing disturbed, with nothing temporary left.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
KILL_BEFORE, KILL_BEHIND = -1, -2
ERRORS = {
    "ENOSPC": errno.ENOSPC,
    "EIO": errno.EIO,
    "EINTR": errno.EINTR,
    "kill before": KILL_BEFORE,
    "kill behind": KILL_BEHIND,
}
TEXT = "the cat sat on the mat\nthe rat ran to the cat\na hat\n\non the mat they sat\n" * 6
VOLATILE = ("metrics.jsonl", "result.json", "README.md", "heartbeat.json", "demo.json", "SHA256SUMS", "config.yaml")
"""Files with times, or sums of such files."""


@dataclass(frozen=True)
class Command:
    """A command that writes below `out`. before: commands that prepare the folder."""

    argv: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = ()


def _slmtok(*arguments: str, before: tuple[tuple[str, ...], ...] = ()) -> Command:
    return Command(("slmtok", *arguments, "--quiet"), tuple(("slmtok", *one, "--quiet") for one in before))


_PACK = ("pack", "c.txt", "-t", "tok.json", "-o", "out/d", "--document", "line", "--threads", "1")
_SLICE = ("slice", "tok.json", "--vocab", "276", "-o", "out/s.json")
COMMANDS: dict[str, Command] = {
    "train": _slmtok("train", "c.txt", "--vocab", "288", "--save-counts", "out/c.counts", "-o", "out/tok.json"),
    "count": _slmtok("count", "c.txt", "--doc-digests", "-o", "out/c.counts"),
    "merge": _slmtok("merge", "a.counts", "-o", "out/m.counts"),
    "pack": _slmtok(*_PACK, "--val", "hash:30%", "--shard-tokens", "150", "--subset", "5"),
    "pack --force": _slmtok(*_PACK, "--force", before=((*_PACK, "--shard-tokens", "150", "--subset", "5"),)),
    "pack nanogpt": _slmtok(*_PACK, "--val", "hash:30%", "--output-format", "nanogpt"),
    "encode": _slmtok("encode", "c.txt", "-t", "tok.json", "--output-format", "npy", "-o", "out/i.npy"),
    "slice": _slmtok(*_SLICE),
    "slice --force": _slmtok(*_SLICE, "--force", before=((*_SLICE[:2], "--vocab", "278", *_SLICE[4:]),)),
    "export": _slmtok("export", "tok.json", "--output-format", "hf", "--no-verify", "-o", "out/hf"),
    "sample-corpus": _slmtok("sample-corpus", "--bytes", "3000", "-o", "out/s.txt"),
}
_SHAPE = ("d_model=16", "n_layers=1", "n_heads=2", "n_kv_heads=1", "d_ff=16", "seq_len=8")
_SETS = tuple(part for name in _SHAPE for part in ("--set", f"model.{name}"))
_RUN = ("run.batch_tokens=32", "run.save_every=1", "run.keep=1", "run.eval_every=2", "run.threads=1")
MODEL_COMMANDS: dict[str, Command] = {
    "slm train": Command(
        ("slm", "train", "d", "-o", "out/run", "--preset", "cpu-demo", "--budget", "steps=3", *_SETS,
         *(part for name in _RUN for part in ("--set", name)), "--quiet"),
    ),
}  # fmt: skip


@dataclass
class Tally:
    """Figures of a harness run."""

    commands: int = 0
    calls: int = 0
    faults: int = 0
    passed: int = 0


class Harness:
    """A server process under the shim, and a template folder with the inputs of the commands."""

    def __init__(self, folder: Path, *, models: bool = False) -> None:
        """Compiles the shim and makes the inputs. Raises `FileNotFoundError` without a C compiler."""
        self.folder, self.inputs = folder, folder / "inputs"
        compiler = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
        if compiler is None:
            raise FileNotFoundError("no C compiler")
        shim = folder / "shim.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", shim, HERE / "shim.c", "-ldl"], check=True)
        paths = [str(HERE), *(path for path in sys.path if path)]
        env = {**os.environ, "LD_PRELOAD": str(shim), "FAULTS_SHIM": str(shim), "PYTHONPATH": os.pathsep.join(paths)}
        modules = ["numpy", "slmtok.cli", "slmtok.cli.train", "slmtok.shards.packing"]
        modules += ["torch", "slmmodel.cli.train", "slmmodel.trainer"] if models else []
        self._server: Any = subprocess.Popen(
            [sys.executable, HERE / "fault_server.py", *modules],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True,
        )  # fmt: skip
        self.inputs.mkdir()
        (self.inputs / "c.txt").write_text(TEXT, encoding="utf-8")
        for argv in (
            ("train", "c.txt", "--vocab", "280", "-o", "tok.json"),
            ("count", "c.txt", "-o", "a.counts"),
            ("pack", "c.txt", "-t", "tok.json", "-o", "d", "--document", "line", "--val", "hash:30%"),
        ):
            self._succeed(("slmtok", *argv, "--quiet"), self.inputs)

    def close(self) -> None:
        """Ends the server."""
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()

    def run(self, argv: tuple[str, ...], folder: Path, at: int = 0, error: int = 0) -> dict[str, Any]:
        """One command in a folder; `status`, `calls`, `err`."""
        job = {"argv": argv, "folder": str(folder), "at": at, "error": error}
        self._server.stdin.write(json.dumps(job) + "\n")
        self._server.stdin.flush()
        found: dict[str, Any] = json.loads(self._server.stdout.readline())
        return found

    def _succeed(self, argv: tuple[str, ...], folder: Path) -> int:
        ran = self.run(argv, folder)
        assert ran["status"] == 0, f"{' '.join(argv)}: {ran}"
        return int(ran["calls"])

    def prepared(self, command: Command, name: str) -> Path:
        """A folder with the inputs and what the preparing commands wrote."""
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.inputs, folder)
        (folder / "out").mkdir()
        for argv in command.before:
            self._succeed(argv, folder)
        return folder

    def faults(self, command: Command, tally: Tally, *, limit: int | None, kinds: list[str]) -> Iterator[str]:
        """Tries faults at up to `limit` calls of each kind; gives a description of each that does not pass."""
        whole = self.prepared(command, "whole")
        calls = self._succeed(command.argv, whole)
        expected = content(whole / "out")
        tally.commands, tally.calls = tally.commands + 1, tally.calls + calls
        for number, kind in enumerate(kinds):
            step = 1 if limit is None else max(1, -(-calls // limit))
            for at in range(1 + number % step, calls + 1, step):
                tally.faults += 1
                found = self.fault(command, expected, at, kind)
                tally.passed += found is None
                if found is not None:
                    yield f"{' '.join(command.argv)}: {kind} at call {at} of {calls}: {found}"

    def fault(self, command: Command, expected: dict[str, bytes], at: int, kind: str) -> str | None:
        """One fault; None where it passes."""
        folder = self.prepared(command, "tried")
        ran = self.run(command.argv, folder, at, ERRORS[kind])
        status, err = ran["status"], ran["err"]
        if kind.startswith("kill"):
            if status not in (-signal.SIGKILL, 0):
                return f"status {status}: {err}"
        elif status not in (0, 1) or "unexpected" in err or "Traceback" in err or (status and "error: " not in err):
            return f"status {status}: {err}"
        if status == 0:
            return None if content(folder / "out") == expected else f"other bytes after success: {err}"
        again = self.run(command.argv, folder)
        finished = again["status"] == 0 or "already" in again["err"] or "finished" in again["err"]
        if not finished and not (again["status"] == 1 and content(folder / "out") == expected):
            return f"again: {again}, after {err}"
        if content(folder / "out") != expected:
            return f"again: other bytes: {differences(content(folder / 'out'), expected)}, after {err}"
        return None


def content(folder: Path) -> dict[str, bytes]:
    """Every file below a folder by its path; of volatile ones only that they exist."""
    return {
        path.relative_to(folder).as_posix(): b"" if path.name in VOLATILE else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "train_state.json"
    }


def differences(found: dict[str, bytes], expected: dict[str, bytes]) -> str:
    """The names that differ."""
    names = sorted(name for name in {*found, *expected} if found.get(name) != expected.get(name))
    return ", ".join(names[:5])
