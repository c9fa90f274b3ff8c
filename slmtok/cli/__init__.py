"""The command `slmtok`: a registry of commands, and `main`, which imports the one that was asked for.

Help of the whole and the version are printed from here, without importing a command or anything heavy. To add a
command, write its file and its line in `COMMANDS`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

from slmtok.cli import _streams


class Command(NamedTuple):
    """Where a command lives and what it does, in one line. Its function has the name of its module."""

    module: str
    summary: str


COMMANDS: dict[str, Command] = {
    "train": Command("slmtok.cli.train", "learn a tokenizer from text, or from counts"),
    "count": Command("slmtok.cli.count", "count the pieces of a corpus: all that training needs of it"),
    "merge": Command("slmtok.cli.merge", "merge counts files, such as those of many machines"),
    "slice": Command("slmtok.cli.slice", "cut a tokenizer to a smaller size, as if trained to it"),
    "extend": Command("slmtok.cli.extend", "learn more tokens behind those of a tokenizer"),
    "prune": Command("slmtok.cli.prune", "take unused tokens out of a tokenizer"),
    "name": Command("slmtok.cli.name", "name special ids, without changing any id"),
    "reproduce": Command("slmtok.cli.reproduce", "make a tokenizer again from its lock, and compare"),
    "encode": Command("slmtok.cli.encode", "text to ids"),
    "decode": Command("slmtok.cli.decode", "ids to text"),
    "pack": Command("slmtok.cli.pack", "a corpus to token shards, for training"),
    "show": Command("slmtok.cli.show", "how a text is cut, in colour; several tokenizers side by side"),
    "vocab": Command("slmtok.cli.vocab", "list the tokens of a tokenizer"),
    "info": Command("slmtok.cli.info", "what a file is, and what is in it"),
    "verify": Command("slmtok.cli.verify", "check that tokenizer files are sound"),
    "audit": Command("slmtok.cli.audit", "prove that a tokenizer or a packed folder loses nothing of a text"),
    "eval": Command("slmtok.cli.eval", "tokenizers side by side on a text, in numbers"),
    "diff": Command("slmtok.cli.diff", "where two tokenizers part: vocabulary, order, cuts, cost"),
    "export": Command("slmtok.cli.export", "write it for transformers or tiktoken, proven to give the same ids"),
    "import": Command("slmtok.cli.import_", "read a tokenizer.json or a rank file, and keep its ids"),
    "bench": Command("slmtok.cli.bench", "speed beside other tokenizers, on your own text"),
    "sample-corpus": Command("slmtok.cli.sample_corpus", "write stories to train on"),
}

_FOOTER = """\
slmtok COMMAND --help lists the options of a command.

Data goes to stdout, messages to stderr; - stands for stdin or stdout; --json prints one JSON object instead of a table.
Exit status: 0 done, 1 failed, 2 wrong usage, 3 the check ran and the answer is no, 130 interrupted, 143 terminated.
"""


def help_text() -> str:
    """What `slmtok --help` prints."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {command.summary}" for name, command in COMMANDS.items()]
    return (
        "slmtok: train, use and inspect byte-level tokenizers for small language models\n\n"
        "Usage: slmtok COMMAND [ARGUMENTS]   |   slmtok --help   |   slmtok --version\n\n"
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
            # Ctrl-C while a command was still being imported; later ones are the command's own affair.
            sys.stderr.write("interrupted\n")
            return 130
        except BrokenPipeError:
            _streams.drop_stdout()
            return 0
        except OSError as error:
            from slmtok.cli import _output

            _streams.drop_stdout()
            _output.print_error(_output.stdout_failed(error))
            return _output.FAILED


def _dispatch(arguments: list[str]) -> int:
    first = arguments[0] if arguments else ""
    if first in ("--help", "-h"):
        sys.stdout.write(help_text())
        return 0
    if first in ("--version", "-V"):
        from slmtok import __version__

        sys.stdout.write(f"slmtok {__version__}\n")
        return 0
    if not first:
        sys.stderr.write(help_text())
        return 2
    name = first.replace("_", "-")
    if name not in COMMANDS:
        from slmtok.cli._usage import unknown_command

        return unknown_command(first, arguments[1:], COMMANDS)
    from slmtok.cli._run import run

    return run(name, COMMANDS[name], arguments[1:])
