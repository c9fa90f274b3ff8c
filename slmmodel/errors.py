"""Every error that `slmmodel` raises on purpose: the fact with its value, the place, the limit, the remedy.

The package knows nothing of `slmtok`, so it has a base class of its own in the same style.
"""

# The names say what was wrong, as `except` clauses read best; "Error" behind each would say nothing.
# ruff: noqa: N818

from __future__ import annotations


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

    def __str__(self) -> str:
        lines = [self.fact]
        for label, part in (("where: ", self.where), ("limit: ", self.limit), ("fix:   ", self.fix)):
            if part:
                lines.append(f"  {label}{part}")
        return "\n".join(lines)


class CorruptVocab(SlmmodelError, ValueError):
    """A `vocab.json` that is damaged or contradicts itself."""


class MissingVocab(SlmmodelError, FileNotFoundError):
    """A `vocab.json` that does not exist or cannot be read."""


class UnsupportedVocab(SlmmodelError, ValueError):
    """A `vocab.json` of a version that this package does not know."""


class UnknownRole(SlmmodelError, KeyError):
    """A role that no special id of the vocabulary has."""


ERRORS: tuple[type[SlmmodelError], ...] = (CorruptVocab, MissingVocab, UnsupportedVocab, UnknownRole)
