"""How the process of a command was started, for the command lines of fixes: by torchrun, accelerate or `python -m`."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

_LINE = re.compile(r"(?:^|(?<=&& )|(?<=[:;] )|(?<=\bor ))(?P<name>slm(?:tok)?) (?P<command>[\w-]+)(?P<next> \S+)?")
"""A command line within a fix, with the word behind its command, by which it differs from prose."""
_PROCESS = Path("/proc")


def add_launcher(error: Any, name: str, package: str, arguments: Sequence[str], shared: Collection[str]) -> None:
    """Puts what started this process into the command lines of a fix of the program `name`, which run as that did.

    shared: commands whose work the processes of torchrun share; others run in one process, without torchrun.
    """
    fix = error.parts["fix"]
    if "LOCAL_RANK" in os.environ and os.environ.get("WORLD_SIZE", "1") != "1":
        started = {name: _of_ranks(name, package, arguments)}
        commands: Collection[str] | None = {*shared, "COMMAND"}
    else:
        started, commands = _of_module(name, package), None
    if not fix or not any(started.values()):
        return

    def with_launcher(found: re.Match[str]) -> str:
        following = (found["next"] or "").strip()
        is_line = not following or following in map(shlex.quote, arguments) or not following[0].islower()
        launcher = started.get(found["name"])
        is_meant = launcher and is_line and (commands is None or found["command"] in commands)
        return f"{shlex.join(launcher or ())}{found[0].removeprefix(found['name'])}" if is_meant else found[0]

    parts = (fix,) if isinstance(fix, str) else fix
    again = tuple(_LINE.sub(with_launcher, part) if isinstance(part, str) else part for part in parts)
    if again != parts:
        error.fix = again[0] if isinstance(fix, str) else again


def _of_ranks(name: str, package: str, arguments: Sequence[str]) -> list[str]:
    """The words of the launcher before the arguments of this process: those of its parent, else torchrun of as many."""
    with suppress(OSError):
        words = (_PROCESS / str(os.getppid()) / "cmdline").read_text(encoding="utf-8").split("\0")[:-1]
        at = len(words) - len(arguments)
        if at > 1 and words[at:] == [*arguments] and os.path.basename(words[at - 1]) in (name, package):  # noqa: PTH119
            # Python runs the script of the launcher, or the module.
            first = words[:at] if words[1].startswith("-") else words[1:at]
            return [os.path.basename(first[0]), *first[1:]]  # noqa: PTH119
    if os.environ.get("WORLD_SIZE") != os.environ.get("LOCAL_WORLD_SIZE"):
        return []
    return ["torchrun", "--nproc-per-node", os.environ["WORLD_SIZE"], "-m", package]


def _of_module(name: str, package: str) -> dict[str, list[str]]:
    """`python -m` for both programs where this process was started so and none of their scripts is installed."""
    words = sys.orig_argv
    is_module = words[1:3] == ["-m", package]
    if not is_module or shutil.which(name) or Path(sys.executable).with_name(name).exists():
        return {}
    return {each: [words[0], "-m", module] for each, module in (("slm", "slmmodel"), ("slmtok", "slmtok"))}
