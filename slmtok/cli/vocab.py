"""`slmtok vocab`: the tokens of a tokenizer as a list, and its metadata for the model."""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from slmtok.analysis.token_classes import CLASSES, main_class, text_of
from slmtok.cli.arguments import value_after, without_options
from slmtok.cli.errors import EXTRA
from slmtok.cli.files import JSON, PLAIN_TEXT, STDIO, add_notes, check_output, names_tokenizer, writing
from slmtok.cli.options import (
    OUTPUT,
    Habit,
    command,
    instead,
    option,
    output_options,
    tokenizer_argument,
)
from slmtok.cli.output import Outcome, counted, settings, shortened
from slmtok.errors import OptionError
from slmtok.files import free_name
from slmtok.opening import load
from slmtok.specials import FIRST_LEARNED
from slmtok.token_text import escape_token

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer


MAX_GREP_SECONDS = 10
"""Of the search for a regex in all tokens; a usual one takes 0.1 s for 200,000 of them."""


@dataclass(frozen=True)
class TokenRow:
    """One id. `parts`: the two ids that a merge joined, empty for others; `role`: of a special."""

    id: int
    token: bytes
    parts: tuple[int, ...] = ()
    role: str | None = None
    is_special: bool = False

    def to_dict(self) -> dict[str, object]:
        """As `--json` prints it: `text` is null where the bytes are not UTF-8."""
        return {
            "id": self.id,
            "bytes": 0 if self.is_special else len(self.token),
            "hex": self.token.hex(),
            "text": text_of(self.token),
            "class": "special" if self.is_special else main_class(self.token),
            "role": self.role,
            "parts": list(self.parts) or None,
        }

    def line(self) -> str:
        """As the list prints it."""
        size = 0 if self.is_special else len(self.token)
        last = self.role or "reserved" if self.is_special else "+".join(map(str, self.parts))
        return f"{self.id:>6}  {size:>5}  {escape_token(self.token):<24}  {last}".rstrip() + "\n"


def _decoded(value: str | None, arguments: Sequence[str]) -> str:
    """The command that shows one id."""
    tokenizer = next(filter(names_tokenizer, arguments), "tok.json")
    return f"printf %s {shlex.quote(value or '300')} | slmtok decode - -t {shlex.quote(tokenizer)}"


def _listed(value: str | None, arguments: Sequence[str]) -> str:
    """What shows one token: of an id, also of none, the command; of a text an option. "" for the name of a file."""
    if value and Path(value).suffix.lower() in (".txt", ".tsv", ".csv", ".json"):
        return ""
    if value is None or value.isdecimal():
        return _decoded(value, arguments)
    return f"--grep {shlex.quote(re.escape(value))}"


def _extra(value: str | None, arguments: Sequence[str]) -> str:
    """What shows the token of a second argument; nothing for the name of a file."""
    return "" if value is None or os.path.exists(value) else _listed(value, arguments)  # noqa: PTH110


def _any_case(value: str | None, arguments: Sequence[str]) -> str:
    """The command with the regex of `--grep`, or the word behind the flag, for letters of any case."""
    words = [part for word in arguments for part in (word.split("=", 1) if word.startswith("--grep=") else [word])]
    words = [word for word in words if word not in _ANY_CASE]
    regex = value_after(["--grep"], words)
    if value and regex is None and not names_tokenizer(value):
        regex, words = value, [word for word in words if word != value]
    more = [] if regex is None else ["--grep", f"(?i){regex}"]
    return shlex.join(["slmtok", "vocab", *without_options(words, ["--grep"]), *more])


_ANY_CASE = ("-i", "--ignore-case")


def _head(value: str | None, arguments: Sequence[str]) -> str:
    """The beginning of the list, of as many lines as the number behind the flag."""
    is_number = value is not None and value.isdecimal()
    without = without_options(arguments, _FIRST) if is_number else [each for each in arguments if each not in _FIRST]
    return f"{shlex.join(['slmtok', 'vocab', *without])} | head -n {value if is_number else 20}"


_FIRST = ("--limit", "--top", "--head", "--max", "--first", "-n")


_HABITS: dict[str, Habit] = {
    EXTRA: _extra,
    **dict.fromkeys(_ANY_CASE, _any_case),
    **dict.fromkeys(_FIRST, _head),
    **dict.fromkeys(("--search", "--filter", "--find", "--contains", "--match"), instead("--grep {}", "the")),
    **dict.fromkeys(("--id", "--ids"), _decoded),
    **dict.fromkeys(("--token", "--tokens", "--token-id"), _listed),
}
"""Options of other tools, each with what stands for it here."""


@command("vocab", example="slmtok vocab tok.json --class digits", habits=_HABITS)
@tokenizer_argument()
@option("--grep", metavar="REGEX", help="List only tokens that match.")
@option("--class", "kind", choices=("special", *CLASSES), help="List only tokens of this class.")
@option("--sort", choices=("id", "bytes"), default="id", help="By id, or longest first.")
@option("--metadata", is_flag=True, panel=OUTPUT, help="Write vocab.json instead: what a model needs to know.")
@output_options()
def vocab(
    tokenizer: str, grep: str | None, kind: str | None, sort: str, metadata: bool, output: str | None, force: bool
) -> Outcome:
    """List tokens: id, bytes, the token itself, and the two parts that were merged.

    A space is shown as ␣, a line feed as \\n, bytes that are not UTF-8 as \\xNN. The list has a heading on a terminal
    only.
    """
    target = output or STDIO
    if metadata:
        for name, is_given in {"--grep": grep is not None, "--class": kind is not None, "--sort": sort != "id"}.items():
            if is_given:
                fact = f"{name} together with --metadata, which always covers all ids"
                raise OptionError(fact, fix=f"leave {name} out", option=name)
    check_output(target, inputs=[tokenizer], force=force, content=JSON if metadata else PLAIN_TEXT)
    if not metadata and target.lower().endswith(".json"):
        as_json = f"{shlex.join(['slmtok', 'vocab', tokenizer, '--json'])} > {shlex.quote(free_name(target))}"
        raise OptionError(
            f"{target!r} would hold the list of tokens, which is no JSON",
            limit="one token a line; --metadata writes the vocab.json of models",
            fix=f"--metadata for the file that models need; {as_json} for the list as JSON; or "
            f"-o {shlex.quote(free_name(target[:-5] + '.txt'))}",
            option="output",
        )
    tok = load(tokenizer)
    prints_json = settings().as_json and output is None
    if metadata:
        return Outcome(tok.metadata()) if prints_json else _write_metadata(tok, target, force=force)
    rows = _select(_rows(tok), grep, kind, sort)
    if not rows:
        add_notes([_no_match(grep, kind)])
    if prints_json:
        return Outcome({"n_vocab": tok.n_vocab, "rows": [row.to_dict() for row in rows]})
    with writing(target, force=force) as stream:
        if output is None and sys.stdout.isatty() and not settings().quiet:
            stream.write(b"    id  bytes  token                     parts\n")
        for row in rows:
            stream.write(row.line().encode())
    line = "" if target == STDIO else f"{target}: {counted(len(rows), 'token')}"
    return Outcome({"path": target, "rows": len(rows)}, summary=line)


def _write_metadata(tok: Tokenizer, target: str, *, force: bool) -> Outcome:
    from slmtok.vocab_json import render_metadata

    with writing(target, force=force) as stream:
        stream.write(render_metadata(tok.metadata()))
    line = "" if target == STDIO else f"{target}: {tok.n_vocab:,} ids, fingerprint {tok.fingerprint}"
    return Outcome({"path": target, "n_vocab": tok.n_vocab, "fingerprint": tok.fingerprint}, summary=line)


def _rows(tok: Tokenizer) -> Iterator[TokenRow]:
    """All ids in order, without holes."""
    vocabulary = tok.vocabulary
    joined = (merge for merge in vocabulary.merges if len(merge) == 2)
    parts = {FIRST_LEARNED + index: merge for index, merge in enumerate(joined)}
    specials = {slot.id: slot for slot in tok.specials.tokens}
    for id, token in enumerate(vocabulary.token_table):
        if token is not None:
            yield TokenRow(id, token, parts.get(id, ()))
        elif id in specials:
            slot = specials[id]
            yield TokenRow(id, (slot.text or "").encode(), role=slot.role, is_special=True)


def _select(rows: Iterator[TokenRow], grep: str | None, kind: str | None, sort: str) -> list[TokenRow]:
    chosen = list(rows)
    if kind == "special":
        chosen = [row for row in chosen if row.is_special]
    elif kind is not None:
        chosen = [row for row in chosen if not row.is_special and CLASSES[kind](row.token)]
    if grep is not None:
        try:
            regex = re.compile(grep)
        except (re.error, OverflowError, RecursionError) as error:
            nests = isinstance(error, RecursionError)
            raise OptionError(
                f"--grep {shortened(grep)!r} is not a regular expression: {'it nests too deep' if nests else error}",
                limit="as in Python's re",
                fix="fewer parentheses within each other" if nests else _grep_meant(grep),
                option="grep",
            ) from None
        chosen = _matching(chosen, regex)
    if sort == "bytes":
        chosen.sort(key=lambda row: (-len(row.token), row.id))
    return chosen


class _TooSlow(Exception):  # noqa: N818  (never leaves this module)
    pass


def _matching(rows: Sequence[TokenRow], regex: re.Pattern[str]) -> list[TokenRow]:
    """The rows whose token matches. Raises `OptionError` for a search of more than `MAX_GREP_SECONDS` in all."""
    found, texts = [], [row.token.decode("utf-8", "surrogateescape") for row in rows]
    text = ""
    try:
        with _time_limit(MAX_GREP_SECONDS):
            for row, text in zip(rows, texts, strict=True):
                if regex.search(text):
                    found.append(row)
    except _TooSlow:
        raise OptionError(
            f"--grep {shortened(regex.pattern)!r} takes more than {MAX_GREP_SECONDS} seconds",
            where=f"the token {shortened(text)!r}",
            limit="a repetition inside of a repetition, such as (a+)+, takes exponential time",
            fix=f"--grep {shlex.quote(re.escape(regex.pattern))} for these characters themselves; or simplify it: "
            "a+ matches what (a+)+ does",
            option="grep",
        ) from None
    return found


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """A block that ends with `_TooSlow` after this time, where the system has timers: Python's `re` has no bound."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: object) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


_SPACES = str.maketrans({"Ġ": " ", "▁": " ", "␣": " ", "Ċ": r"\n"})
"""What other libraries and the list itself show for a space, or a line feed."""


def _no_match(grep: str | None, kind: str | None) -> str:
    """The note on an empty list; a regex with another library's spelling of spaces in it leads to ours."""
    given = [f"--grep {shlex.quote(grep)}" if grep is not None else "", f"--class {kind}" if kind is not None else ""]
    meant = (grep or "").translate(_SPACES)
    spelled = f"; --grep {shlex.quote(meant)} has the characters themselves" if meant != grep and grep else ""
    return f"no token matches {' and '.join(filter(None, given))}{spelled}"


def _grep_meant(grep: str) -> str:
    """The remedy for what is no regular expression: what a pattern of file names means, or the characters alone."""
    as_regex = grep.strip("*").replace("*", ".*").replace("?", ".") + ("" if grep.endswith("*") else "$")
    try:
        re.compile(as_regex)
    except (re.error, OverflowError, RecursionError):
        as_regex = ""
    literal = f"--grep {shlex.quote(re.escape(grep))} for these characters themselves"
    return f"--grep {shlex.quote(as_regex)}; {literal}" if as_regex and "*" in grep else literal
