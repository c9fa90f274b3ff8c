"""The result of a command and how it is printed: summaries, tables, notes, and the JSON envelope.

Data and results go to stdout, notes and errors to stderr. rich is imported only by `table`.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TextIO

import click

from slmtok.errors import Setting
from slmtok.sizes import counted as counted

EACH = ", and a command for each other value"
"""What becomes of a list where one value is taken."""
DONE, FAILED, USAGE, ANSWER_NO, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 130, 143
"""Exit statuses."""

MIN_TEXT_COLUMNS = 20
"""Of text beside a label, on terminals however narrow."""

Row = tuple[str, str]
_SINGLE_SPACE = re.compile(r"(?<! ) (?! )")
_BIDI = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Characters that turn the direction of the text behind them (Boucher and Anderson 2021, Trojan Source)."""
_CONTROL = {
    **{code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"},
    **{code: f"\\u{code:04x}" for code in _BIDI},
}
_JSON_CONTROL = {code: f"\\u{code:04x}" for code in (*range(127, 160), *_BIDI)}
"""Those that JSON does not escape; they are only in strings."""


@dataclass
class Settings:
    """The options that every command has."""

    as_json: bool = False
    quiet: bool = False
    traceback: bool = False
    written: tuple[str, ...] = ()
    """The outputs of the command, once they are complete."""


def settings() -> Settings:
    """The settings of the running command; the defaults outside one."""
    context = click.get_current_context(silent=True)
    return context.obj if context is not None and isinstance(context.obj, Settings) else Settings()


_WITH_ESCAPES = ("--separator", "--text-template", "--special")
"""Options in which a backslash begins an escape."""


def flag_naming(setting: Setting, flags: Collection[str] = ()) -> str:
    """An option in a message as the command line spells it: `--vocab 300`, `--force`, `--set run.seed=0`.

    It is a `Setting` of slmtok or an `Argument` of slmmodel. `flags` are those of the command: `--seed 0` is named
    where it has that flag.
    """
    from slmtok.option_values import escape
    from slmtok.options import flag_of

    flag, value = flag_of(setting.name.rpartition(".")[2]), setting.value
    # A list of tables writes itself.
    text = ",".join(map(str, value)) if type(value) in (list, tuple) else str(value)
    if "." in setting.name and flag not in flags:
        return f"--set {shlex.quote(f'{setting.name}={text}')}" if setting.has_value else setting.name
    if value is False:
        return f"--no-{flag[2:]}"
    if value is True or not setting.has_value:
        return flag
    if isinstance(value, dict):
        pairs = (
            (name, each)
            for name, held in value.items()
            for each in (held if isinstance(held, (list, tuple)) else [held])
        )
        if flag in _WITH_ESCAPES:
            pairs = ((name, escape(each)) for name, each in pairs)
        return " ".join(f"{flag} {shlex.quote(f'{name}={each}')}" for name, each in pairs)
    if flag == "--exclude" and isinstance(value, tuple):
        return " ".join(f"{flag} {shlex.quote(glob)}" for glob in value)
    if flag in _WITH_ESCAPES or any(char in text for char in "\n\t\r\0"):
        text = escape(text)
    return f"{flag} {shlex.quote(text)}"


def again_with(options: str) -> str:
    """`run it again with OPTIONS`, and with --force where the command has written a file by then."""
    return f"run it again with {options}{' --force' if _is_written() else ''}"


def with_force(remedy: str) -> str:
    """A remedy that names another input, and --force where the command has written a file by then."""
    return f"{remedy}, with --force" if _is_written() else remedy


def _is_written() -> bool:
    """Whether the command writes a file that it would refuse to replace."""
    context = click.get_current_context(silent=True)
    given = context.params if context else {}
    return "force" in given and given.get("output") not in (None, "-")


class Outcome(NamedTuple):
    """The result of a command.

    With `--json`, `result` is printed in the envelope. Otherwise `show` prints data, also with `--quiet`; `summary`,
    a line or a function, and the warnings come without `--quiet` only. `warnings_shown` marks warnings already printed
    as notes.
    """

    result: Mapping[str, object]
    show: Callable[[], object] | None = None
    summary: Callable[[], object] | str = ""
    code: int = DONE
    warnings: tuple[str, ...] = ()
    warnings_shown: bool = False

    def print(self) -> None:
        """Prints the result for people."""
        quiet = settings().quiet
        if self.show is not None:
            self.show()
        if self.summary and not quiet:
            if isinstance(self.summary, str):
                write_line(self.summary)
            else:
                self.summary()
        self.print_notes()

    def print_notes(self) -> None:
        """Prints the warnings as notes on stderr."""
        if not settings().quiet and not self.warnings_shown:
            sys.stdout.flush()
            for warning in self.warnings:
                note(warning)


def encode_envelope(
    schema: str,
    versions: Mapping[str, object],
    *,
    result: Mapping[str, object] | None = None,
    warnings: Sequence[str] = (),
    error: Mapping[str, object] | None = None,
    ok: bool = True,
) -> str:
    """The one JSON object that `--json` prints. `ok` is false after a failure and for a check whose answer is no."""
    content: dict[str, object] = {"schema": schema, "ok": ok and error is None, "result": finite(result)}
    if error is not None:
        content["error"] = error
    content |= {"warnings": list(warnings), "versions": versions}
    return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"


def finite(value: Any) -> Any:
    """The value with null for infinities and NaN, which JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return value


def has_colour(stream: TextIO) -> bool:
    """Whether the stream is a terminal with colours and NO_COLOR is not set."""
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def printable(text: str) -> str:
    """The text with control characters escaped, so that it can neither move a terminal's cursor nor turn its text."""
    return text.translate(_CONTROL)


def one_line(name: str) -> str:
    """The name of a file, or a heading with one, in one line, as messages write it."""
    return name.replace("\n", "\\n")


def shown(text: str) -> str:
    """Text of a document or a model for stdout: `printable` on a terminal, and as it is in a file or pipe."""
    return printable(text) if sys.stdout.isatty() else text


def shown_json(content: str) -> str:
    """A JSON object for stdout: on a terminal, what could drive it is escaped, which changes no value."""
    return content.translate(_JSON_CONTROL) if sys.stdout.isatty() else content


def styled(text: str, stream: TextIO, **style: Any) -> str:
    """The printable text in the style of `click.style`, where the stream has colours."""
    return click.style(printable(text), **style) if has_colour(stream) else printable(text)


def fit(text: str, stream: TextIO, indent: int) -> list[str]:
    """One line as those that fit on the terminal beside `indent` columns; elsewhere it stays whole.

    It is cut between words, or between items where two spaces separate them. A quoted line is a literal, and not cut.
    """
    if not stream.isatty() or text.startswith("'"):
        return [text]
    columns = max(shutil.get_terminal_size().columns - 1 - indent, MIN_TEXT_COLUMNS)
    glued = _SINGLE_SPACE.sub("\0", text) if "  " in text else text
    exact: dict[str, Any] = {"replace_whitespace": False, "expand_tabs": False}
    lines = textwrap.wrap(glued, columns, break_long_words=False, break_on_hyphens=False, **exact)
    return [line.replace("\0", " ") for line in lines] or [text]


def note_terminal() -> None:
    """Notes that a command, which is about to read stdin, reads the terminal."""
    if sys.stdin is not None and sys.stdin.isatty() and not settings().quiet:
        note(f"input is read from the terminal; {'Ctrl-Z and Enter' if os.name == 'nt' else 'Ctrl-D'} ends it")


def note(text: str) -> None:
    """One remark on stderr."""
    label = "note: "
    lines = fit(printable(text), sys.stderr, indent=len(label))
    sys.stderr.write(label + f"\n{'':{len(label)}}".join(lines) + "\n")
    sys.stderr.flush()


def write_text(text: str) -> None:
    """Text on stdout as UTF-8, independent of the locale."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))


def write_line(text: str) -> None:
    """One printable line on stdout."""
    sys.stdout.write(printable(text) + "\n")


def print_rows(rows: Iterable[Row], *, title: str = "", stream: TextIO | None = None) -> None:
    """Prints label and value, one pair a line; a value may span lines. Rows with an empty value are left out."""
    stream = stream or sys.stdout
    listed = [(label, printable(value)) for label, value in rows if value]
    width = max((len(label) for label, _ in listed), default=0)
    if title:
        stream.write(styled(one_line(title), stream, bold=True) + "\n")
    for label, value in listed:
        first, *rest = (line for text in value.split("\n") for line in fit(text, stream, indent=width + 4))
        stream.write(f"  {styled(label.ljust(width), stream, dim=True)}  {first}\n")
        stream.writelines(f"  {'':<{width}}  {line}\n" for line in rest)
    stream.flush()


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)) -> str:
    """A plain table: the columns in `left` aligned left, the others right. A row of one cell is a heading line."""
    from rich.cells import cell_len

    cells = [[one_line(printable(cell)).expandtabs() for cell in row] for row in [head, *rows]]
    widths = [max(map(cell_len, column)) for column in zip(*(row for row in cells if len(row) > 1), strict=True)]
    lines = []
    for row in cells:
        gaps = [" " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=False)]
        padded = (cell + gaps[n] if n in left else gaps[n] + cell for n, cell in enumerate(row))
        lines.append(row[0] if len(row) == 1 else f"  {'  '.join(padded)}".rstrip())
    return "\n".join(lines) + "\n"


def in_time(seconds: float) -> str:
    """0.42 s, 12.3 s, 3 min 20 s, 14 h 40 min."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60:,} h {minutes % 60:02d} min"
    return f"{minutes} min {rest:02d} s"


def shortened(value: Any, limit: int = 40) -> str:
    """The value as text of at most `limit` characters."""
    text = str(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
