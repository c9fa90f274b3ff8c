"""Wrong usage in the house style: commands that do not exist, and a line that works."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slmtok.cli import _output
from slmtok.errors import UnknownName, suggestion

EXAMPLES = {
    "train": "slmtok train corpus.txt --vocab 8192 -o tok.json",
    "encode": "slmtok encode text.txt -t tok.json",
    "decode": "slmtok decode ids.txt -t tok.json",
}
"""A command line that works, for those whose required options one may not guess."""


def unknown_command(name: str, rest: Sequence[str], known: Iterable[str]) -> int:
    """Prints the error for a command that does not exist and gives the exit status."""
    names = list(known)
    meant = suggestion(name.replace("_", "-"), names)
    error = UnknownName(
        f"unknown {'option' if name.startswith('-') else 'command'} {name!r}"
        + (f"; did you mean {meant!r}?" if meant else ""),
        limit=f"commands: {', '.join(names)}",
        fix=" ".join(["slmtok", meant, *rest]) if meant else "slmtok --help",
        name=name,
    )
    if "--json" in rest:
        _output.write_text(_output.envelope("unknown", result=None, error=error))
    _output.print_error(error)
    return _output.USAGE
