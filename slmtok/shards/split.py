"""Which documents are validation: by a hash of the document, by place, by file, or none of them.

The split is decided on text, before tokenizing: it depends neither on the tokenizer nor on threads. A rule is written
`hash:0.5%`, `tail:10%`, `files:GLOB` or `none`; `auto` chooses by the number of documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import TYPE_CHECKING

from slmtok.errors import InvalidOption
from slmtok.shards.units import Position

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.shards.units import Unit

FEW, MANY = 20, 1000
"""`auto` takes the tail below FEW documents, a tenth by hash below MANY, and half a per cent from there on."""
_PARTS = 1_000_000
_RULE = re.compile(r"(hash|tail):(\d+(?:\.\d{1,4})?)%")


@dataclass(frozen=True)
class Split:
    """A rule as the user wrote it, and what it means for this corpus.

    ppm: validation documents of a million, by hash. first: where the validation tail begins. cut: the byte at which a
    corpus of one document is cut in two. sources: those that are validation as a whole.
    """

    rule: str
    ppm: int = 0
    first: Position | None = None
    cut: int | None = None
    sources: frozenset[int] = frozenset()

    def validation(self, unit: Unit, digests: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Which documents of a unit are validation, shape (n,). digests: uint8[n, 32]."""
        import numpy as np

        n = len(unit)
        if self.first is not None:
            index = np.arange(n)
            return index >= unit.index_of(self.first)
        if self.sources:
            chosen = np.zeros(n, dtype=bool)
            for source, first, end in unit.runs():
                chosen[first:end] = source in self.sources
            return chosen
        if self.ppm == 0:
            return np.zeros(n, dtype=bool)
        keys = digests[:, :8].copy().view("<u8").reshape(n)
        return np.asarray(keys % np.uint64(_PARTS) < np.uint64(self.ppm))

    def described(self) -> dict[str, object]:
        """What the manifest and the plan say of it."""
        told: dict[str, object] = {"rule": self.rule}
        if self.first is not None:
            told |= {"first": list(self.first), "cut": self.cut}
        return told


def check_rule(rule: str) -> None:
    """Raises `InvalidOption` unless `rule` is one."""
    match = _RULE.fullmatch(rule)
    if rule in ("auto", "none") or (rule.startswith("files:") and len(rule) > 6):
        return
    if not match or not 0 < Fraction(match[2]) < 100:
        raise InvalidOption(
            f"val={rule!r} is no rule for a validation split",
            limit="auto, none, hash:P%, tail:P%, files:GLOB, with P between 0 and 100, at most four decimals",
            fix="val='hash:0.5%'",
            option="val",
        )


def by_rule(rule: str, names: Sequence[str]) -> Split | None:
    """The split of a rule that needs no look at the documents; None for `auto` and `tail`.

    Raises `InvalidOption` where `files:` matches none of the sources, or all of them.
    """
    if rule == "none":
        return Split(rule)
    if rule.startswith("hash:"):
        return Split(rule, ppm=int(_share(rule) * _PARTS))
    if not rule.startswith("files:"):
        return None
    glob = rule.removeprefix("files:")
    chosen = frozenset(index for index, name in enumerate(names) if _matches(name, glob))
    if not 0 < len(chosen) < len(names):
        raise InvalidOption(
            f"val={rule!r} matches {'all' if chosen else 'none'} of {len(names)} files",
            where=f"the files are named like {names[0]!r}" if names else None,
            fix="a pattern for those files that are validation",
            option="val",
        )
    return Split(rule, sources=chosen)


def _matches(name: str, glob: str) -> bool:
    return fnmatchcase(name, glob) or fnmatchcase(name.rpartition("/")[2], glob)


def _share(rule: str) -> Fraction:
    return Fraction(rule.partition(":")[2].removesuffix("%")) / 100


@dataclass
class Lengths:
    """Bytes of each document, with where it stood: what `auto` and `tail` look at."""

    sizes: list[int]
    places: list[tuple[int, Position]]
    only: bytes | None = None
    """The text of a corpus of one document."""


def look(units: Iterator[Unit], *, most_docs: int | None, most_bytes: int | None, enough: int | None) -> Lengths:
    """Reads documents for their lengths, up to the limits of the run, and no further once `enough` were seen."""
    seen = Lengths([], [])
    total = 0
    for unit in units:
        seen.places += [(len(seen.sizes) + index, position) for index, position in unit.starts]
        for index, size in enumerate(_sizes(unit)):
            seen.sizes.append(size)
            seen.only = unit.held[index] if len(seen.sizes) == 1 else None
            total += size
            full = (most_docs is not None and len(seen.sizes) >= most_docs) or (
                most_bytes is not None and total >= most_bytes
            )
            if full or (enough is not None and len(seen.sizes) >= enough):
                return seen
    return seen


def _sizes(unit: Unit) -> list[int]:
    bounds = unit.held.offsets
    sizes: list[int] = (bounds[1:] - bounds[:-1]).tolist()
    return sizes


def by_lengths(rule: str, seen: Lengths, *, ids_limited: bool) -> Split:
    """The split of `auto` or `tail:P%`, now that the lengths are known.

    ids_limited: whether the run ends at a number of ids. Then nobody knows its tail, and `auto` goes by hash.
    """
    if rule == "auto":
        n = len(seen.sizes)
        rule = "tail:10%" if n < FEW and not ids_limited else "hash:10%" if n < MANY else "hash:0.5%"
    if rule.startswith("hash:"):
        return Split(rule, ppm=int(_share(rule) * _PARTS))
    share = _share(rule)
    if seen.only is not None:
        ((_, place),) = seen.places
        return Split(rule, first=Position(place.source, place.record + 1), cut=_cut(seen.only, share))
    return Split(rule, first=_tail(seen, share))


def _cut(text: bytes, share: Fraction) -> int:
    """Where the tail of one text begins: at its share of the bytes, moved forward to the start of a character."""
    at = len(text) * (1 - share).numerator // (1 - share).denominator
    for step in range(4):
        if at + step >= len(text) or text[at + step] & 0xC0 != 0x80:
            return min(at + step, len(text))
    return at


def _tail(seen: Lengths, share: Fraction) -> Position:
    """The first of the last documents that have their share of the bytes. The very first one is never among them."""
    wanted = sum(seen.sizes) * share
    got, index = 0, len(seen.sizes)
    while index > 1 and got < wanted:
        index -= 1
        got += seen.sizes[index]
    at, position = max((place for place in seen.places if place[0] <= index), default=(0, Position(0, 0)))
    return Position(position.source, position.record + index - at)
