"""Every error that `slmmodel` raises on purpose: the fact with its value, the place, the limit, the fix.

The base class repeats that of slmtok, because the packages are isolated from each other.
"""

# Names without the suffix "Error": they read well in `except` clauses.
# ruff: noqa: N818

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from typing import Any


class SlmmodelError(Exception):
    """Base of all errors of this package; `fields` holds the values in its text."""

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
        """Class, parts, fields and message: the error object of `--json`."""
        return {
            "class": type(self).__name__,
            "fact": self.fact,
            "where": self.where,
            "limit": self.limit,
            "fix": self.fix,
            "fields": json.loads(json.dumps(self.fields, default=str)),
            "message": str(self),
        }

    def __str__(self) -> str:
        lines = [self.fact]
        for label, part in (("where: ", self.where), ("limit: ", self.limit), ("fix:   ", self.fix)):
            if part:
                lines.append(f"  {label}{part}")
        return "\n".join(lines)


class CorruptVocab(SlmmodelError, ValueError):
    """A `vocab.json` that is damaged or inconsistent."""


class UnknownRole(SlmmodelError, KeyError):
    """A role without a special id in the vocabulary."""


class UnsupportedVersion(SlmmodelError, ValueError):
    """A vocabulary or a run folder of a version that this package does not read."""


class MissingShards(SlmmodelError, FileNotFoundError):
    """Token data, a split or a file of them that does not exist or is unfinished."""


class CorruptShards(SlmmodelError, ValueError):
    """Token data that are damaged or contradict their manifest."""


class UnsupportedShards(SlmmodelError, ValueError):
    """Token data of an unknown version or layout, or that need further options."""


class FingerprintMismatch(SlmmodelError, ValueError):
    """Files that were made with different tokenizers."""


class InvalidPlan(SlmmodelError, ValueError):
    """A plan that cannot be made: a size, an option or an index out of range."""


class DocumentTooLong(SlmmodelError, ValueError):
    """A document longer than a sequence, with `long: error`."""


class BytesDisagree(SlmmodelError, ValueError):
    """Scored targets whose bytes differ from those of their document: no bits per byte exist."""


class CorruptLosses(SlmmodelError, ValueError):
    """A file of losses that is damaged or of another format."""


class Incomparable(SlmmodelError, ValueError):
    """Two evaluations of different documents."""


class CorruptCertificate(SlmmodelError, ValueError):
    """A certificate that is damaged or of another version."""


class OptionError(SlmmodelError, ValueError):
    """An option with an invalid value, or that contradicts another."""


class UnknownName(SlmmodelError, ValueError):
    """A command, option, model, optimizer or strategy that does not exist."""


class MissingPackage(SlmmodelError, ImportError):
    """An optional package that is needed and not installed."""


class MissingInput(SlmmodelError, FileNotFoundError):
    """A file, folder or run that does not exist."""


class Unreadable(SlmmodelError, OSError):
    """A file that cannot be opened, read or written."""


class DiskFull(SlmmodelError, OSError):
    """No space left to write to."""


class OutputExists(SlmmodelError, FileExistsError):
    """An output that exists and may not be replaced."""


class InvalidConfig(SlmmodelError, ValueError):
    """A setting that does not exist, has an invalid value, or does not fit the others."""


class CorruptRun(SlmmodelError, ValueError):
    """A file of a run that is damaged, was edited, or belongs to another run."""


class MissingCheckpoint(SlmmodelError, LookupError):
    """A checkpoint that a run does not have."""


class RunMismatch(SlmmodelError, ValueError):
    """Data, configuration or versions that differ from those that a run recorded."""


class FinishedRun(SlmmodelError, FileExistsError):
    """A run that has finished, and a command that would train it again."""


class NotFinite(SlmmodelError, ArithmeticError):
    """Loss or gradient was not finite in three steps in a row."""


class OutOfMemory(SlmmodelError, MemoryError):
    """A single sequence does not fit into memory, or a rank of several ran out of it."""


class ContextOverflow(SlmmodelError, ValueError):
    """More positions than seq_len, or than the state has room for."""


class NotRewindable(SlmmodelError, ValueError):
    """A state that cannot be truncated to the requested length."""


class MixedDocuments(SlmmodelError, ValueError):
    """Several documents, or padding in front, in one sequence of a model that cannot separate them."""


class UnsupportedExport(SlmmodelError, ValueError):
    """A model that the target format cannot express."""


class ExportMismatch(SlmmodelError, ValueError):
    """An export that computes something else when read back."""


class InvalidPrompt(SlmmodelError, ValueError):
    """Prompt ids that are missing, not the model's, or longer than its sequence length."""


class StateKeepsNoGradients(SlmmodelError, RuntimeError):
    """A key/value cache in a forward pass that records gradients."""


ERRORS: tuple[type[SlmmodelError], ...] = tuple(SlmmodelError.__subclasses__())


def suggestion(name: str, choices: Iterable[str]) -> str | None:
    """The one choice that `name` is a misspelling of, or None."""
    near = difflib.get_close_matches(name.lower(), list(choices), n=2, cutoff=0.75)
    ratios = [difflib.SequenceMatcher(None, name.lower(), choice).ratio() for choice in near]
    return near[0] if near and (len(near) == 1 or ratios[0] > ratios[1]) else None


def unknown_name(what: str, name: str, choices: Iterable[str], fix: str, **fields: Any) -> UnknownName:
    """The error for a name that is not among `choices`; `{}` in `fix` becomes the nearest of them, or the first."""
    names = list(choices)
    near = suggestion(name, names)
    return UnknownName(
        f"unknown {what} {name!r}" + (f"; did you mean {near!r}?" if near else ""),
        limit=f"one of {', '.join(names)}",
        fix=fix.format(near or names[0]),
        name=name,
        **fields,
    )


def unknown_setting(name: str, names: Iterable[str], where: str) -> InvalidConfig:
    """The error for a setting that is not among `names`, with the nearest of them and those of its section."""
    known = list(names)
    near = suggestion(name, known)
    of_section = [other for other in known if other.startswith(name.partition(".")[0] + ".")]
    return InvalidConfig(
        f"unknown setting {name!r}" + (f"; did you mean {near!r}?" if near else ""),
        where=where,
        limit=f"known: {', '.join(of_section or ['model', 'data', 'optim', 'run'])}",
        fix=f"write {near}" if near else "remove it",
        option=name,
    )


def check_tensors(
    what: str, stored: Mapping[str, Any], own: Mapping[str, Any], *, fix: str, where: str | None = None
) -> None:
    """Raises `CorruptRun` for a stored tensor that is missing, unknown, or of another shape than the `own` one."""
    for name in sorted(own.keys() ^ stored.keys()):
        fact = f"the stored {what} {'lacks' if name in own else 'has an unknown entry'} {name!r}"
        raise CorruptRun(fact, where=where, fix=fix)
    for name, tensor in own.items():
        if stored[name].shape != tensor.shape:
            fact = f"{name!r} of the stored {what} has shape {list(stored[name].shape)}, not {list(tensor.shape)}"
            raise CorruptRun(fact, where=where, fix=fix)
