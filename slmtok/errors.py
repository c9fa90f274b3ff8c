"""Every error that `slmtok` raises on purpose, in one house style.

An error has four parts, in this order: the fact with its value, the place, the limit that was broken, the remedy. The
classes are named after the wrong thing and also inherit the built-in that a caller would expect, so `except
ValueError` works as well as `except SlmtokError`. The compiled engine raises these classes by name. The messages name
options as Python spells them (`vocab=300`, `force=True`, `pattern=` where no value is meant); the command line respells
them (`slmtok.cli._respell`).
"""

# The names say what was wrong, as `except` clauses read best; "Error" behind each would say nothing.
# ruff: noqa: N818

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class SlmtokError(Exception):
    """Base of all errors of this package.

    `fields` holds the values behind the sentence (an id, a position, a file), for programs.
    """

    def __init__(
        self,
        fact: str = "",
        *,
        where: str | None = None,
        limit: str | None = None,
        fix: str | None = None,
        **fields: object,
    ) -> None:
        super().__init__(fact)
        self.fact = fact
        self.where = where
        self.limit = limit
        self.fix = fix
        self.fields: dict[str, object] = fields

    def __str__(self) -> str:
        lines = [self.fact]
        for label, part in (("where: ", self.where), ("limit: ", self.limit), ("fix:   ", self.fix)):
            if part:
                lines.append(f"  {label}{part}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.fact, self.where, self.limit, self.fix, self.fields)

    def to_dict(self) -> dict[str, object]:
        """Class, parts, fields and message, as `--json` prints them."""
        fields = {name: _plain(value) for name, value in self.fields.items()}
        return {
            "class": type(self).__name__,
            "fact": self.fact,
            "where": self.where,
            "limit": self.limit,
            "fix": self.fix,
            "fields": fields,
            "message": str(self),
        }


def _rebuild(
    kind: type[SlmtokError], fact: str, where: str | None, limit: str | None, fix: str | None, fields: dict[str, object]
) -> SlmtokError:
    return kind(fact, where=where, limit=limit, fix=fix, **fields)


def _plain(value: object) -> object:
    """A value that JSON can hold."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "backslashreplace")
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value)


class InvalidPattern(SlmtokError, ValueError):
    """A split pattern that does not compile."""


class PatternGaveUp(SlmtokError, ValueError):
    """A custom pattern reached its backtracking limit on a text."""


class InvalidMerges(SlmtokError, ValueError):
    """A merge list that no trainer can have made."""


class InvalidRanks(SlmtokError, ValueError):
    """A rank table that is malformed, or that pair merges cannot reproduce."""


class InvalidTokens(SlmtokError, ValueError):
    """A token list with a hole, a duplicate, or an id out of range."""


class InvalidSpecials(SlmtokError, ValueError):
    """Special tokens whose ids, roles or spellings contradict each other."""


class CountOverflow(SlmtokError, OverflowError):
    """The sum of two counts does not fit into 64 bits."""


class CorpusTooLarge(SlmtokError, ValueError):
    """The distinct pieces of a corpus take more than the trainer can address."""


class NotEnoughMemory(SlmtokError, MemoryError):
    """Work that needs more memory than the machine has free."""


class RequiredToken(SlmtokError, ValueError):
    """A required token that the pattern cuts apart, or that the limits forbid."""


class RequiredTooMany(SlmtokError, ValueError):
    """Required tokens need more ids than there are."""


class Unreadable(SlmtokError, OSError):
    """A file that cannot be opened, read or written."""


class UnknownId(SlmtokError, KeyError):
    """An id that the vocabulary does not have."""


class InvalidOption(SlmtokError, ValueError):
    """An option whose value makes no sense."""


class InvalidText(SlmtokError, ValueError):
    """A `str` with a lone surrogate, which no UTF-8 can hold."""


class Interrupted(SlmtokError):
    """The work was stopped by its caller."""


class InternalError(SlmtokError, RuntimeError):
    """A fault of this package itself: please report it."""


class VocabularyTooSmall(SlmtokError, ValueError):
    """A vocabulary size below the least one of its scheme."""


class CorpusTooSmall(SlmtokError, ValueError):
    """A corpus that cannot fill the vocabulary that was asked for."""


class MissingInput(SlmtokError, FileNotFoundError):
    """An input file that does not exist, or a glob without a match."""


class OutputExists(SlmtokError, FileExistsError):
    """An output that is already there, and no leave to replace it."""


class MalformedRecord(SlmtokError, ValueError):
    """A record of a corpus that its format does not allow."""


class CorruptFile(SlmtokError, ValueError):
    """A file of ours that is damaged, was changed, or is something else."""


class CorruptShard(SlmtokError, ValueError):
    """A file of token shards that is damaged, was changed, or does not fit the others."""


class PlanMismatch(SlmtokError, ValueError):
    """Work that was begun with other options, another tokenizer or another corpus."""


class GoldenMismatch(SlmtokError, ValueError):
    """A tokenizer that no longer gives the ids which its own file recorded."""


class UnsupportedVersion(SlmtokError, ValueError):
    """A file of a version, behaviour or Unicode version that this package does not know."""


class UnknownSpecial(SlmtokError, KeyError):
    """A role or spelling that no special token has."""


class SpecialInText(SlmtokError, ValueError):
    """Text that spells a special token where the caller refused that."""


class UnknownName(SlmtokError, ValueError):
    """A scheme, format, encoding or role that does not exist."""


class WrongType(SlmtokError, TypeError):
    """An argument of a type that the call does not take."""


class MissingExtra(SlmtokError, ImportError):
    """An optional package that is needed here and not installed."""


class NotEqual(SlmtokError, ValueError):
    """Another library gives other ids than ours, so nothing was written."""


class Inexpressible(SlmtokError, ValueError):
    """A tokenizer that another library's format cannot express, or the reverse."""


class ClusterFailed(SlmtokError, RuntimeError):
    """A cluster that cannot be reached, or that could not finish a task."""


class DiskFull(SlmtokError, OSError):
    """No space is left for an output."""


ERRORS: tuple[type[SlmtokError], ...] = (
    InvalidPattern,
    PatternGaveUp,
    InvalidMerges,
    InvalidRanks,
    InvalidTokens,
    InvalidSpecials,
    CountOverflow,
    CorpusTooLarge,
    NotEnoughMemory,
    RequiredToken,
    RequiredTooMany,
    Unreadable,
    UnknownId,
    InvalidOption,
    InvalidText,
    Interrupted,
    InternalError,
    VocabularyTooSmall,
    CorpusTooSmall,
    MissingInput,
    OutputExists,
    MalformedRecord,
    CorruptFile,
    CorruptShard,
    PlanMismatch,
    GoldenMismatch,
    UnsupportedVersion,
    UnknownSpecial,
    SpecialInText,
    UnknownName,
    WrongType,
    MissingExtra,
    NotEqual,
    Inexpressible,
    ClusterFailed,
    DiskFull,
)


def unknown_name(what: str, name: object, choices: Iterable[str]) -> UnknownName:
    """An `UnknownName` that lists the choices, and suggests one only where it is surely meant."""
    known = sorted(choices)
    meant = suggestion(name, known) if isinstance(name, str) else None
    return UnknownName(
        f"unknown {what} {name!r}" + (f"; did you mean {meant!r}?" if meant else ""),
        limit=f"known: {', '.join(known)}",
        fix=f"use {meant!r}" if meant else f"use one of them, such as {known[0]!r}" if known else None,
        name=name,
    )


def suggestion(name: str, choices: Iterable[str]) -> str | None:
    """The one choice that `name` is a slip of, or None."""
    near = difflib.get_close_matches(name.lower(), list(choices), n=2, cutoff=0.8)
    return near[0] if len(near) == 1 else None
