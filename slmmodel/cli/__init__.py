"""The command `slm`: a registry of commands, and `main`, which imports the one that was asked for.

Help of the whole and the version are printed from here and need no package at all. Every command needs torch; where it
is missing, the install line is printed and the status is 1. To add a command, write `slmmodel/cli/<name>.py` with a
function of that name that returns an `Outcome`, and its line in `COMMANDS`. A command imports torch inside functions,
so that its own help does not wait for it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

from slmmodel.cli import _streams


class Command(NamedTuple):
    """Where a command lives, and what it does in one line. Its function has the name of its module."""

    module: str
    summary: str


COMMANDS: dict[str, Command] = {
    "demo": Command("slmmodel.cli.demo", "from a text to a model that writes, in minutes on a CPU"),
    "train": Command("slmmodel.cli.train", "token data to a trained model"),
    "resume": Command("slmmodel.cli.resume", "continue a run, or branch a new one off it"),
    "batches": Command("slmmodel.cli.batches", "rows of real batches, decoded: what the model is fed"),
    "eval": Command("slmmodel.cli.eval", "bits per byte, proven, with baselines and a certificate"),
    "compare": Command("slmmodel.cli.compare", "two models on the same documents, from their files of losses"),
    "bench": Command("slmmodel.cli.bench", "speed by batch size and device, and where the knee is"),
    "doctor": Command("slmmodel.cli.doctor", "what this machine has, and whether files belong together"),
    "sample": Command("slmmodel.cli.sample", "text from a trained model"),
    "next": Command("slmmodel.cli.next", "the likeliest next tokens after a prompt"),
    "info": Command("slmmodel.cli.info", "what a run, a preset or a vocab.json is made of"),
    "export": Command("slmmodel.cli.export", "a run as another program loads it, with a receipt"),
}

_FOOTER = """\
slm COMMAND --help lists the options of a command.

Data goes to stdout, messages to stderr; --json prints one JSON object instead of a table.
Exit status: 0 done, 1 failed, 2 wrong usage, 3 the check ran and the answer is no, 130 interrupted, 143 terminated.
"""


def help_text() -> str:
    """What `slm --help` prints."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {command.summary}" for name, command in COMMANDS.items()]
    return (
        "slm: small language models over token ids\n\n"
        "Usage: slm COMMAND [ARGUMENTS]   |   slm --help   |   slm --version\n\n"
        "Commands:\n" + "\n".join(lines) + "\n\n" + _FOOTER
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line (without the program's name) and returns its exit status."""
    with _streams.usable():
        try:
            code = _dispatch(list(sys.argv[1:] if argv is None else argv))
            sys.stdout.flush()
            return code
        except KeyboardInterrupt:
            sys.stderr.write("interrupted\n")
            return 130
        except BrokenPipeError:
            _streams.drop_stdout()
            return 0
        except OSError as error:
            from slmmodel.cli import _output

            _streams.drop_stdout()
            _output.print_error(_output.stdout_failed(error))
            return _output.FAILED


def _dispatch(arguments: list[str]) -> int:
    first = arguments[0] if arguments else ""
    if first in ("--help", "-h"):
        sys.stdout.write(help_text())
        return 0
    if first in ("--version", "-V"):
        from slmmodel.versions import package_version

        sys.stdout.write(f"slm {package_version()}\n")
        return 0
    if not first:
        sys.stderr.write(help_text())
        return 2
    name = first.replace("_", "-")
    if name not in COMMANDS:
        from slmmodel.cli._usage import unknown_command

        return unknown_command(first, arguments[1:], COMMANDS)
    from slmmodel.cli._run import run

    return run(name, COMMANDS[name], arguments[1:])
