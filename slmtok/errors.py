"""Every error that `slmtok` raises on purpose.

An error has four parts, in this order: the fact with its value, the place, the limit, the remedy. Classes are named
after the fault and also inherit the built-in that a caller would expect, so `except
ValueError` works as well as `except SlmtokError`. The compiled engine raises these classes by name.

A part that mentions an option is a tuple of strings and `Setting`s. `str(error)` writes a setting as Python does
(`vocab_size=300`); the command line renders the same error with its flags (`error.render(flags)`: `--vocab 300`).
"""

# A suffix "Error" on every name would add nothing.
# ruff: noqa: N818

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from slmtok.shell_commands import ShellCommand

_NO_VALUE: Any = object()
_SHORT_CHARS = 4
"""Characters of a name in which a pair of exchanged letters is no near match."""
MAX_MISSPELT_CHARS = 200
"""Characters of a name that is compared with others: the time is their product."""
_MAX_FACT_CHARS, _MAX_PART_CHARS, _MAX_FIX_CHARS = 600, 4000, 16_000
"""Characters of a fact, of another part of a message, and of a remedy, which is pasted; longer ones are cut."""
_MIN_BEGINNING = 4
"""Characters of a name that is completed in a suggestion."""


@dataclass(frozen=True)
class Setting:
    """An option in a message, with its value where one is meant: `("use ", Setting("vocab_size", 300), " or more")`."""

    name: str
    value: Any = _NO_VALUE

    @property
    def has_value(self) -> bool:
        """Whether the message shows a value and not the name alone."""
        return self.value is not _NO_VALUE

    def __reduce__(self) -> tuple[Any, ...]:
        return (Setting, (self.name, self.value) if self.has_value else (self.name,))


Message: TypeAlias = str | tuple[str | Setting, ...]
Naming: TypeAlias = Callable[[Setting], str]
"""Writes a setting as the caller knows it."""


def value_text(value: object) -> str:
    """The `repr` of a value. Python refuses that of an integer of thousands of digits and of lists that nest too deep;
    words stand for it then."""
    try:
        return repr(value)
    except (ValueError, RecursionError):
        return f"an integer of {value.bit_length()} bits" if isinstance(value, int) else f"a {type(value).__name__}"


def python_naming(setting: Setting) -> str:
    """A setting as a Python keyword argument: `vocab_size=300`, or `vocab_size` without a value.

    Capitals stand for a long value: `exclude=EXCLUDE`.
    """
    if not setting.has_value:
        return setting.name
    text = value_text(setting.value)
    return f"{setting.name}={text if len(text) <= _MAX_PART_CHARS else setting.name.rpartition('.')[2].upper()}"


def render(message: Message, naming: Naming = python_naming) -> str:
    """The text of a message."""
    parts: Sequence[str | Setting] = (message,) if isinstance(message, str) else message
    if naming is python_naming:
        # Arguments of a call have commas between them.
        around = zip((None, *parts), parts, (*parts[1:], None), strict=False)
        parts = [", " if part == " " and _are_settings(before, after) else part for before, part, after in around]
    return "".join(_of_caller(part, naming) if isinstance(part, str) else naming(part) for part in parts)


def _are_settings(*parts: object) -> bool:
    return all(isinstance(part, Setting) for part in parts)


def _of_caller(text: str, naming: Naming) -> str:
    return text.in_python if isinstance(text, ShellCommand) and naming is python_naming else text


class _Part:
    """A part of an error: read as text, set as a `Message`."""

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, error: SlmtokError, owner: type | None = None) -> str | None:
        return error._part(self._name)

    def __set__(self, error: SlmtokError, message: Message | None) -> None:
        error.parts[self._name] = message


class SlmtokError(Exception):
    """Base of all errors of this package.

    `fields` holds the values behind the sentence (an id, a position, a file), for programs.
    """

    _fact_has_lines: ClassVar[bool] = False

    def __init__(
        self,
        fact: Message = "",
        *,
        where: Message | None = None,
        limit: Message | None = None,
        fix: Message | None = None,
        **fields: object,
    ) -> None:
        super().__init__(render(fact))
        self.parts: dict[str, Message | None] = {"fact": fact, "where": where, "limit": limit, "fix": fix}
        self.fields: dict[str, object] = fields

    @property
    def fact(self) -> str:
        """What is wrong, with its value."""
        return self._part("fact") or ""

    where = _Part("The place: a file and line, an argument.")
    limit = _Part("The bound that was broken.")
    fix = _Part("The remedy.")

    def _part(self, name: str, naming: Naming = python_naming) -> str | None:
        message = self.parts[name]
        if message is None:
            return None
        text = render(message, naming)
        has_long_fact = name != "fact" or self._fact_has_lines
        most = _MAX_FIX_CHARS if name == "fix" else _MAX_PART_CHARS if has_long_fact else _MAX_FACT_CHARS
        if len(text) <= most:
            return text
        # A long value, quoted whole, would hide what the message says.
        return f"{text[: most // 2]} [… {len(text):,} characters …] {text[-most // 4 :]}"

    def __str__(self) -> str:
        return self.render()

    def render(self, naming: Naming = python_naming) -> str:
        """The message, its options written by `naming`."""
        lines = [self._part("fact", naming) or ""]
        lines += [f"  {name + ':':7}{text}" for name in ("where", "limit") if (text := self._part(name, naming))]
        if fix := self._part("fix", naming):
            # The import of the parser takes 5 ms.
            from slmtok.given_values import explained
            from slmtok.placeholders import explain_placeholders, remedy_of_missing

            fix = explained(fix) if naming is python_naming else fix
            if isinstance(self, FileNotFoundError):
                fix = remedy_of_missing(self.fields.get("path"), fix)
            fix = explain_placeholders(fix, self._part("where", naming) or "", lines)
            lines.append(f"  fix:   {_pasteable(fix)}")
        if not self._fact_has_lines:
            # The name of a file may hold line feeds, and a part is one line.
            lines = [line.replace("\n", "\\n") for line in lines]
        return "\n".join(lines)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.parts, self.fields)

    def to_dict(self, naming: Naming = python_naming) -> dict[str, object]:
        """Class, parts, fields and message, as `--json` prints them."""
        return {
            "class": type(self).__name__,
            **{name: self._part(name, naming) for name in self.parts},
            "fields": {name: _plain(value) for name, value in self.fields.items()},
            "message": self.render(naming),
        }


def _pasteable(text: str) -> str:
    """A fix whose quoted words spell control characters, and bytes that are not UTF-8, as shells read them."""
    if text.isprintable():
        return text
    import re

    unprinted = re.compile("[\0-\x1f\x7f\udc80-\udcff]")

    def escaped(found: re.Match[str]) -> str:
        return r"\n" if found[0] == "\n" else f"\\x{ord(found[0]) & 0xFF:02x}"

    def spelled(quoted: re.Match[str]) -> str:
        inner = quoted[1].replace("\\", r"\\")
        return f"$'{unprinted.sub(escaped, inner)}'" if unprinted.search(inner) else quoted[0]

    return re.sub("'([^']*)'", spelled, text)


def _rebuild(kind: type[SlmtokError], parts: dict[str, Any], fields: dict[str, Any]) -> SlmtokError:
    return kind(**parts, **fields)


def _plain(value: object) -> object:
    """A value that JSON can hold."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "backslashreplace")
    try:
        return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else str(value)
    except (ValueError, RecursionError):
        return value_text(value)


class InvalidPattern(SlmtokError, ValueError):
    """A split pattern that does not compile."""


class PatternGaveUp(SlmtokError, ValueError):
    """A custom pattern reached its backtracking limit on a text."""


class InvalidMerges(SlmtokError, ValueError):
    """A merge list with an unknown part, or with equal tokens."""


class InvalidRanks(SlmtokError, ValueError):
    """A rank table that is malformed, or that pair merges cannot reproduce."""


class InvalidTokens(SlmtokError, ValueError):
    """A token list with a hole, a duplicate, or an id out of range."""


class InvalidSpecials(SlmtokError, ValueError):
    """Special tokens whose ids, roles or spellings contradict each other."""


class CountOverflow(SlmtokError, OverflowError):
    """The sum of two counts does not fit into 64 bits."""


class CorpusTooLarge(SlmtokError, ValueError):
    """The distinct pieces of a corpus exceed what the trainer can address."""


class DocumentTooLarge(SlmtokError, ValueError):
    """A document above the limit on what is held at once; `fields` has `bytes`, the limit."""


class NotEnoughMemory(SlmtokError, MemoryError):
    """An operation that needs more memory than is free."""


class RequiredToken(SlmtokError, ValueError):
    """A required token that the pattern cuts apart, or that the limits forbid."""


class RequiredTooMany(SlmtokError, ValueError):
    """Required tokens need more ids than the vocabulary has."""


class Unreadable(SlmtokError, OSError):
    """A file that cannot be opened, read or written."""


class UnknownId(SlmtokError, KeyError):
    """An id that the vocabulary does not have."""


class OptionError(SlmtokError, ValueError):
    """An option whose value is wrong; `fields` has `option`, its Python name, and mostly `value`."""


class UnknownOption(SlmtokError, TypeError):
    """A keyword that names no option."""


class InvalidText(SlmtokError, ValueError):
    """A `str` with a lone surrogate, which no UTF-8 can hold."""


class Interrupted(SlmtokError):
    """The caller stopped the operation."""


class InternalError(SlmtokError, RuntimeError):
    """A bug of this package: please report it."""


class VocabularyTooSmall(SlmtokError, ValueError):
    """A vocabulary size below the minimum of its scheme."""


class CorpusTooSmall(SlmtokError, ValueError):
    """A corpus that supports fewer ids than requested, or that is empty."""


class MissingInput(SlmtokError, FileNotFoundError):
    """An input file that does not exist, or a glob without a match."""


class OutputExists(SlmtokError, FileExistsError):
    """An output that exists, or that no file may replace."""


class MalformedRecord(SlmtokError, ValueError):
    """A record that its corpus format does not allow."""


class CorruptFile(SlmtokError, ValueError):
    """A file that is damaged, was changed, or has another format."""


class WrongFormat(CorruptFile):
    """A file of a known other kind or of another library, which need not be damaged."""


class CorruptShard(SlmtokError, ValueError):
    """A file of token shards that is damaged, was changed, or contradicts the others."""


class PlanMismatch(SlmtokError, ValueError):
    """A run that was started with other options, another tokenizer or another corpus."""


class GoldenMismatch(SlmtokError, ValueError):
    """A tokenizer that encodes to other ids than its file records."""


class UnsupportedVersion(SlmtokError, ValueError):
    """A file of a version, behaviour or Unicode version that this package does not read."""


class UnknownSpecial(SlmtokError, KeyError):
    """A role or spelling that no special token has."""


class SpecialInText(SlmtokError, ValueError):
    """Text that spells a special token where the call disallows it; the ways out are lines of the fact."""

    _fact_has_lines = True


class UnknownName(SlmtokError, ValueError):
    """A scheme, format, encoding or role that does not exist."""


class WrongType(SlmtokError, TypeError):
    """An argument of a wrong type."""


class MissingExtra(SlmtokError, ImportError):
    """An optional package that is not installed."""


class NotEqual(SlmtokError, ValueError):
    """Another library encodes to other ids, so nothing was written."""


class Inexpressible(SlmtokError, ValueError):
    """A tokenizer that another library's format cannot express, or the reverse."""


class ClusterFailed(SlmtokError, RuntimeError):
    """A cluster that cannot be reached, or that could not finish a task."""


class DiskFull(SlmtokError, OSError):
    """No space is left for an output."""


ERRORS: tuple[type[SlmtokError], ...] = (*SlmtokError.__subclasses__(), WrongFormat)


def missing_extra(user: str, package: str, more: str = "") -> MissingExtra:
    """The error for a package that `user` needs, with a command that installs it; `more` is another remedy.

    The command names the package itself: it works with a wheel and in a checkout.
    """
    return MissingExtra(
        f"{user} needs the package {package}, which is not installed",
        fix=f"pip install {package}{more}",
        package=package,
    )


def unknown_name(what: str, name: object, choices: Iterable[str]) -> UnknownName:
    """An `UnknownName` that lists the choices, and suggests one only where it is surely meant."""
    known = sorted(choices)
    meant = (suggestion(name, known) or begun_name(name, known)) if isinstance(name, str) else None
    return UnknownName(
        f"unknown {what} {name!r}" + (f"; did you mean {meant!r}?" if meant else ""),
        limit=f"known: {', '.join(known)}",
        fix=f"use {meant!r}" if meant else "use one of them" if known else None,
        name=name,
    )


def suggestion(name: str, choices: Iterable[str], *, cutoff: float = 0.8) -> str | None:
    """The one choice that `name` is a misspelling of, or None."""
    known = list(choices)
    if len(name) > MAX_MISSPELT_CHARS:
        return None
    import difflib

    if same := [each for each in known if _letters(each) == _letters(name)]:
        return same[0]
    # Letters that changed places count as two mistakes in a short name.
    exchanged = [each for each in known if len(each) == len(name) == _SHORT_CHARS and sorted(each) == sorted(name)]
    if len(exchanged) == 1:
        return exchanged[0]
    near = difflib.get_close_matches(name.lower(), known, n=2, cutoff=cutoff)
    return near[0] if len(near) == 1 else None


def _letters(name: str) -> str:
    """A name without what separates its words."""
    return name.lower().replace("-", "").replace("_", "")


def begun_name(name: str, choices: Iterable[str]) -> str | None:
    """The shortest choice that begins with `name`, such as cl100k_base with cl100k; None for short names."""
    begun = [each for each in choices if len(name) >= _MIN_BEGINNING and each.startswith(name.lower())]
    return min(begun, key=len, default=None)
