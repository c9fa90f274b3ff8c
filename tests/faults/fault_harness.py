"""The harness: every command with the n-th system call on its files failing, or killed there, or in a bare situation.

A command passes if it ends with success or one clear error, and the same command again, undisturbed and with the inputs
as they were, ends with success in the bytes of a run that nothing disturbed, with nothing temporary left.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from command_table import FILES, INPUTS, MODEL_COMMANDS, Command
from forked_commands import modules_of

HERE = Path(__file__).parent
# The classes of calls and the actions of shim.c.
REMOVE, STORE, CLOSE, READ, MAP = 1, 2, 4, 8, 16
KILL_BEFORE, KILL_BEHIND, CUT, CHANGE, FULL = -1, -2, -3, -4, -5


@dataclass(frozen=True)
class Fault:
    """What is done at the n-th call of some classes. on_inputs: calls on inputs count, not those on outputs."""

    classes: int
    action: int
    on_inputs: bool = False


FAULTS = {
    "ENOSPC": Fault(REMOVE | STORE, errno.ENOSPC),
    "full disk": Fault(STORE, FULL),
    "EIO": Fault(REMOVE | STORE, errno.EIO),
    "EINTR": Fault(REMOVE | STORE, errno.EINTR),
    "kill before": Fault(REMOVE | STORE, KILL_BEFORE),
    "kill behind": Fault(REMOVE | STORE, KILL_BEHIND),
    "close": Fault(CLOSE, errno.EIO),
    "read": Fault(READ, errno.EIO, on_inputs=True),
    "mmap": Fault(MAP, errno.ENOMEM, on_inputs=True),
    "cut": Fault(READ | MAP, CUT, on_inputs=True),
    "change": Fault(READ | MAP, CHANGE, on_inputs=True),
    "read output": Fault(READ | MAP, errno.EIO),
}
COUNT = Fault(REMOVE | STORE | CLOSE | READ | MAP, 0, on_inputs=True)
"""Only counts, the calls on outputs too."""
OF_EXPORT = ["transformers.models.qwen3.modeling_qwen3", "transformers.models.auto.modeling_auto"]
"""What `slm export` imports, which takes seconds."""
TIMES = re.compile(rb'("(?:[a-z_]*seconds|wall|time|times|date|created|started|at|ids_per_second)": ?)[^,}\n]+')
VOLATILE = (
    "metrics.jsonl",
    "result.json",
    "README.md",
    "heartbeat.json",
    "demo.json",
    "times.json",
    "SHA256SUMS",
    "train_state.json",
    "times.json",
)
"""Files with times, or sums of such files."""
TEMPORARY = re.compile(r"\.(part|tmp|set)(/|$)")


@dataclass
class Situation:
    """The surroundings of a command. limits: `resource.setrlimit`; of `RLIMIT_AS`, what is left. full_tmp: writing to
    the temporary folder fails."""

    limits: dict[str, int] = field(default_factory=dict)
    umask: int | None = None
    full_tmp: bool = False
    no_proc: bool = False
    env: dict[str, str] = field(default_factory=dict)


PLAIN = Situation()


def limit_of_calls() -> int:
    """At how many calls of a command `make faults` tries each fault; 0 for the sample of `make test`."""
    return int(os.environ.get("SLMTOK_FAULTS", "0"))


@dataclass
class Tally:
    """Figures of a harness run."""

    commands: int = 0
    calls: int = 0
    faults: int = 0
    passed: int = 0


class Harness:
    """A server process under the shim, and a folder with the inputs of the commands."""

    def __init__(self, folder: Path, *, models: bool = False, env: dict[str, str] | None = None) -> None:
        """Compiles the shim and makes the inputs. Raises `FileNotFoundError` without a C compiler.

        models: also the inputs of `MODEL_COMMANDS`. env: of the server.
        """
        self.folder, self.inputs, self._template = folder, folder / "inputs", folder / "template"
        self._prepared: Command | None = None
        self._undisturbed: dict[Command, tuple[dict[str, bytes], list[list[int]]]] = {}
        compiler = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
        if compiler is None:
            raise FileNotFoundError("no C compiler")
        shim = folder / "shim.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", shim, HERE / "shim.c", "-ldl"], check=True)
        paths = [str(HERE), *(path for path in sys.path if path)]
        shims = {"LD_PRELOAD": str(shim), "FAULTS_SHIM": str(shim), "PYTHONPATH": os.pathsep.join(paths)}
        modules = ["numpy", "tokenizers", "rich.table", "jinja2", *modules_of("slmtok")]
        of_models = ["torch._dynamo", "safetensors.torch", *OF_EXPORT, *modules_of("slmmodel")]
        # In a server without a home, `report` itself imports matplotlib, which then looks for a folder of its own.
        modules += ["matplotlib.figure"] if env is None or models else []
        modules += of_models if models else []
        self._server: Any = subprocess.Popen(
            [sys.executable, HERE / "fault_server.py", *modules],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **shims, **(env or {})}, text=True,
            start_new_session=True,
        )  # fmt: skip
        self.tried = folder / "tried"
        self.tried.mkdir()
        for name, text in FILES.items():
            (self.tried / name).write_text(text, encoding="utf-8")
        for argv in INPUTS:
            if argv[0] == "slmtok" or models:
                self._succeed((*argv, "--quiet"))
        self.tried.rename(self.inputs)
        if models:
            self._stop_a_run()

    def _stop_a_run(self) -> None:
        """Adds the input `stopped`: a run that was killed after its first checkpoint."""
        train = MODEL_COMMANDS["slm train"]
        _, calls = self.undisturbed(train, FAULTS["kill before"])
        self.prepare(train)
        self.run(train, fault=FAULTS["kill before"], at=calls * 3 // 5)
        (self.tried / "out/run").rename(self.inputs / "stopped")
        self._prepared = None

    def close(self) -> None:
        """Ends the server."""
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()

    def run(
        self, command: Command, situation: Situation = PLAIN, fault: Fault | None = None, at: int = 0
    ) -> dict[str, Any]:
        """A command in the folder of trials; `status`, `calls`, `out`, `err`."""
        below, but, classes, action = f"{self.tried}/out", "", 0, 0
        if fault is not None:
            classes, action = fault.classes, fault.action
            below, but = (f"{self.tried}/", below) if fault.on_inputs else (below, but)
        if situation.full_tmp:
            below, classes, action, at = f"{self.tried}/tmp", STORE, FULL, 1
        job = {
            "argv": command.argv, "folder": str(self.tried), "stdin": command.stdin, "umask": situation.umask,
            "limits": situation.limits, "no_proc": situation.no_proc, "classes": classes, "paths": [below, but],
            "at": at, "action": action, "env": {"TMPDIR": f"{self.tried}/tmp", **situation.env},
        }  # fmt: skip
        self._server.stdin.write(json.dumps(job) + "\n")
        self._server.stdin.flush()
        found: dict[str, Any] = json.loads(self._server.stdout.readline())
        return found

    def _succeed(self, argv: tuple[str, ...]) -> None:
        (self.tried / "tmp").mkdir(exist_ok=True)
        ran = self.run(Command(argv))
        assert ran["status"] == 0, f"{' '.join(argv)}: {ran}"

    def prepare(self, command: Command) -> None:
        """Lays the folder of trials anew: inputs, and what the preparing commands wrote."""
        if self._prepared != command:
            self._lay(self.inputs)
            (self.tried / "out").mkdir()
            if command.copy is not None:
                shutil.copytree(self.tried / command.copy[0], self.tried / command.copy[1])
            for argv in command.before:
                self._succeed(argv)
            shutil.rmtree(self._template, ignore_errors=True)
            shutil.copytree(self.tried, self._template)
            self._prepared = command
        self._lay(self._template)

    def _lay(self, source: Path) -> None:
        shutil.rmtree(self.tried, ignore_errors=True)
        shutil.copytree(source, self.tried)

    def undisturbed(self, command: Command, fault: Fault | None = None) -> tuple[dict[str, bytes], int]:
        """What a command writes, and the number of its calls that a fault counts; run once."""
        if command not in self._undisturbed:
            self.prepare(command)
            ran = self.run(command, fault=COUNT)
            assert ran["status"] == 0, f"{' '.join(command.argv)}: {ran}"
            self._undisturbed[command] = content(self.tried / "out"), ran["calls"]
        expected, (of_inputs, of_outputs) = self._undisturbed[command]
        if fault is None:
            return expected, 0
        return expected, (of_inputs if fault.on_inputs else of_outputs)[fault.classes]

    def faults(self, command: Command, tally: Tally, *, limit: int | None, kinds: list[str]) -> Iterator[str]:
        """Tries faults at up to `limit` calls of each kind; gives a description of each that does not pass.

        The calls of one kind lie between those of the others, so that together they cover the command.
        """
        tally.commands += 1
        for number, kind in enumerate(kinds):
            fault = FAULTS[kind]
            expected, calls = self.undisturbed(command, fault)
            tally.calls += calls
            step = 1 if limit is None else max(1, -(-calls // limit))
            for at in range(1 + number * step // len(kinds), calls + 1, step):
                tally.faults += 1
                found = self.fault(command, expected, fault, at)
                tally.passed += found is None
                if found is not None:
                    yield f"{' '.join(command.argv)}: {kind} at call {at} of {calls}: {found}"

    def fault(self, command: Command, expected: dict[str, bytes], fault: Fault, at: int) -> str | None:
        """One fault; None where it passes."""
        self.prepare(command)
        ran = self.run(command, fault=fault, at=at)
        if fault.action in (KILL_BEFORE, KILL_BEHIND):
            if ran["status"] not in (-signal.SIGKILL, 0):
                return f"status {ran['status']}: {ran['err']}"
        elif (found := unclear(ran)) is not None:
            return found
        elif fault.on_inputs and "write to stdout" in ran["err"]:
            return f"an input is taken for stdout: {ran['err']}"
        # A copy of an input lies below `out`; its files are read, then closed.
        is_of_input = fault.on_inputs or (command.copy is not None and not fault.classes & (REMOVE | STORE))
        if command.notes and is_of_input and ran["status"] == command.status and command.notes in ran["err"]:
            return None
        if fault.action in (CUT, CHANGE):
            if ran["status"] == 0 and command.writes and content(self.tried / "out") != expected:
                return self._of_spoiled_inputs(command)
            if ran["status"] == 3:
                # A check ran to its end, and its answer on these inputs is no.
                return None
            self._restore_inputs()
        # What cannot be removed stays, until the next command that removes leftovers.
        tolerated = TEMPORARY if fault.classes & REMOVE and fault.action > 0 else None
        return self._again(command, expected, ran, tolerated)

    def situation(
        self, command: Command, expected: dict[str, bytes], situation: Situation, *, may_fail: bool
    ) -> str | None:
        """A command in a situation; None where it passes."""
        self.prepare(command)
        ran = self.run(command, situation)
        if ran["status"] != 0 and not may_fail:
            return f"status {ran['status']}: {ran['err']}"
        return unclear(ran) or self._again(command, expected, ran)

    def _again(
        self,
        command: Command,
        expected: dict[str, bytes],
        ran: dict[str, Any],
        tolerated: re.Pattern[str] | None = None,
    ) -> str | None:
        """Judges what a command left: after success, else after the same command again, undisturbed.

        tolerated: the names of files that may be left after success.
        """
        out = self.tried / "out"
        if ran["status"] == 0:
            left = content(out)
            if tolerated is not None:
                left = {name: data for name, data in left.items() if not tolerated.search(name)}
            found = differences(left, expected)
            return f"other bytes after success: {found}; {ran['err']}" if found else None
        again = self.run(command)
        found = differences(content(out), expected)
        finished = again["status"] == 0 or "already" in again["err"] or "finished" in again["err"]
        if not finished and not (again["status"] == 1 and not found):
            return f"again: {again}, after {ran['err']}"
        return f"again: other bytes: {found}, after {ran['err']}" if found else None

    def _restore_inputs(self) -> None:
        for path in self._template.rglob("*"):
            name = path.relative_to(self._template)
            if path.is_file() and name.parts[0] not in ("out", "tmp"):
                shutil.copy2(path, self.tried / name)

    def _of_spoiled_inputs(self, command: Command) -> str | None:
        """None if a fresh run of a command on the inputs as they are now gives the same outputs."""
        found = content(self.tried / "out")
        kept = self.folder / "spoiled"
        shutil.rmtree(kept, ignore_errors=True)
        self.tried.rename(kept)
        self._lay(self._template)
        for path in kept.rglob("*"):
            name = path.relative_to(kept)
            if path.is_file() and name.parts[0] not in ("out", "tmp"):
                shutil.copy2(path, self.tried / name)
        ran = self.run(command)
        other = differences(found, content(self.tried / "out"))
        return f"success with outputs of neither the old nor the new inputs: {other}; {ran['err']}" if other else None


def unclear(ran: dict[str, Any]) -> str | None:
    """What is wrong with the end of a command that nothing killed: None for success, or for one clear error."""
    status, err = ran["status"], ran["err"]
    errors = len(re.findall("^error: ", err, re.MULTILINE)) or ran["out"].count(" NOT CHECKED: ")
    clear = status == 0 or (status in (1, 2) and errors == 1) or (status == 3 and errors <= 1)
    faulty = any(word in err for word in ("unexpected", "Traceback", "panicked", "Exception ignored", "Warning"))
    return f"status {status}: {err}" if faulty or not clear else None


def content(folder: Path) -> dict[str, bytes]:
    """Every file below a folder by its path; of volatile ones only that they exist."""
    return {
        path.relative_to(folder).as_posix(): b"" if path.name in VOLATILE else TIMES.sub(rb"\1", path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def differences(found: dict[str, bytes], expected: dict[str, bytes]) -> str:
    """The names that differ."""
    names = sorted(name for name in {*found, *expected} if found.get(name) != expected.get(name))
    return ", ".join(names[:5])
