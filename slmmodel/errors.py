"""Every error that `slmmodel` raises on purpose: the fact with its value, the place, the limit, the remedy.

The package knows nothing of `slmtok`, so it has a base class of its own in the same style.
"""

# The names say what was wrong, as `except` clauses read best; "Error" behind each would say nothing.
# ruff: noqa: N818

from __future__ import annotations

from collections.abc import Iterable


class SlmmodelError(Exception):
    """Base of all errors of this package; `fields` holds the values behind the sentence."""

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

    def to_dict(self) -> dict[str, object]:
        """Class, parts, fields and message, as `--json` prints them."""
        return {
            "class": type(self).__name__,
            "fact": self.fact,
            "where": self.where,
            "limit": self.limit,
            "fix": self.fix,
            "fields": {name: _plain(value) for name, value in self.fields.items()},
            "message": str(self),
        }

    def __str__(self) -> str:
        lines = [self.fact]
        for label, part in (("where: ", self.where), ("limit: ", self.limit), ("fix:   ", self.fix)):
            if part:
                lines.append(f"  {label}{part}")
        return "\n".join(lines)


def _plain(value: object) -> object:
    """A value that JSON can hold."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value)


class CorruptVocab(SlmmodelError, ValueError):
    """A `vocab.json` that is damaged or contradicts itself."""


class MissingVocab(SlmmodelError, FileNotFoundError):
    """A `vocab.json` that does not exist or cannot be read."""


class UnsupportedVocab(SlmmodelError, ValueError):
    """A `vocab.json` of a version that this package does not know."""


class UnknownRole(SlmmodelError, KeyError):
    """A role that no special id of the vocabulary has."""


class MissingShards(SlmmodelError, FileNotFoundError):
    """Token data, a split of it or one of its files that is not there, or that was never finished."""


class CorruptShards(SlmmodelError, ValueError):
    """Token data that is damaged or contradicts itself or its manifest."""


class UnsupportedShards(SlmmodelError, ValueError):
    """Token data of a version or layout that this package does not know, or that needs to be told more."""


class FingerprintMismatch(SlmmodelError, ValueError):
    """Files that were made with different tokenizers."""


class InvalidPlan(SlmmodelError, ValueError):
    """Rows that cannot be planned: a size, an option or a row number out of range."""


class DocumentTooLong(SlmmodelError, ValueError):
    """A document that is longer than a row, where rows that cut documents were refused."""


class BytesDisagree(SlmmodelError, ValueError):
    """Scored targets that do not stand for the bytes of their document: there is no bits per byte to print."""


class CorruptLosses(SlmmodelError, ValueError):
    """A file of losses that is damaged or of another kind."""


class Incomparable(SlmmodelError, ValueError):
    """Two evaluations that are not about the same documents."""


class CorruptCertificate(SlmmodelError, ValueError):
    """A certificate that is damaged or of another version."""


class InvalidOption(SlmmodelError, ValueError):
    """An option whose value makes no sense, or that contradicts another."""


class UnknownName(SlmmodelError, ValueError):
    """A command, option, model, optimizer or strategy that does not exist."""


class MissingPackage(SlmmodelError, ImportError):
    """An optional package that is needed and not installed."""


class MissingInput(SlmmodelError, FileNotFoundError):
    """A file or folder that does not exist."""


class Unreadable(SlmmodelError, OSError):
    """A file that cannot be opened, read or written."""


class DiskFull(SlmmodelError, OSError):
    """No space left for what has to be written."""


class OutputExists(SlmmodelError, FileExistsError):
    """An output that is already there, and no leave to replace it."""


class InvalidConfig(SlmmodelError, ValueError):
    """A setting that does not exist, or whose value makes no sense."""


class MissingBundle(SlmmodelError, FileNotFoundError):
    """A folder that is no run."""


class CorruptBundle(SlmmodelError, ValueError):
    """A file of a run that is damaged, was edited, or belongs to something else."""


class MissingStep(SlmmodelError, LookupError):
    """A saved state that a run does not have."""


class LockMismatch(SlmmodelError, ValueError):
    """Something that decides the result differs from what a run recorded."""


class FinishedRun(SlmmodelError, FileExistsError):
    """A run that has come to its end, and a command that would train it again."""


class NotFinite(SlmmodelError, ArithmeticError):
    """Loss or gradient was not a number, three steps in a row."""


class OutOfMemory(SlmmodelError, MemoryError):
    """Not even one row fits into memory."""


class CorruptState(SlmmodelError, ValueError):
    """State of a run (weights, optimizer, counters) that is damaged or belongs to something else."""


class InternalError(SlmmodelError, RuntimeError):
    """A fault of this package itself: please report it."""


class InvalidModelConfig(SlmmodelError, ValueError):
    """A model's configuration with an unknown key, a value of the wrong type, or sizes that do not fit together."""


class ContextOverflow(SlmmodelError, ValueError):
    """More positions than the model's context, or than its state has room for."""


class NotRewindable(SlmmodelError, ValueError):
    """A state that cannot go back to the asked length."""


class MixedDocuments(SlmmodelError, ValueError):
    """A row with several documents, or padding in front, given to a model that cannot keep them apart."""


class UnsupportedExport(SlmmodelError, ValueError):
    """A model that another program cannot express, or its file that none of ours can."""


class ExportMismatch(SlmmodelError, ValueError):
    """An export that, read back, does not compute what the model does."""


class InvalidPrompt(SlmmodelError, ValueError):
    """Ids to begin with that are none, not the model's, or more than its context holds."""


class StateKeepsNoGradients(SlmmodelError, RuntimeError):
    """A key/value cache in a forward pass that records gradients."""


ERRORS: tuple[type[SlmmodelError], ...] = (
    CorruptVocab,
    MissingVocab,
    UnsupportedVocab,
    UnknownRole,
    MissingShards,
    CorruptShards,
    UnsupportedShards,
    FingerprintMismatch,
    InvalidPlan,
    DocumentTooLong,
    BytesDisagree,
    CorruptLosses,
    Incomparable,
    CorruptCertificate,
    InvalidOption,
    UnknownName,
    MissingPackage,
    MissingInput,
    Unreadable,
    DiskFull,
    OutputExists,
    InvalidConfig,
    MissingBundle,
    CorruptBundle,
    MissingStep,
    LockMismatch,
    FinishedRun,
    NotFinite,
    OutOfMemory,
    CorruptState,
    InternalError,
    InvalidModelConfig,
    ContextOverflow,
    NotRewindable,
    MixedDocuments,
    StateKeepsNoGradients,
    InvalidPrompt,
    UnsupportedExport,
    ExportMismatch,
)


def suggestion(name: str, choices: Iterable[str]) -> str | None:
    """The one choice that `name` is a slip of, or None."""
    import difflib

    near = difflib.get_close_matches(name.lower(), list(choices), n=2, cutoff=0.75)
    return near[0] if near and (len(near) == 1 or _closer(name, near)) else None


def _closer(name: str, near: list[str]) -> bool:
    import difflib

    first, second = (difflib.SequenceMatcher(None, name.lower(), choice).ratio() for choice in near)
    return first > second
