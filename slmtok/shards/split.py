"""The validation split: documents chosen by hash, by position, by file, or none.

The split depends on the text alone, neither on the tokenizer nor on threads. A rule is `hash:0.5%`, `tail:10%`,
`files:GLOB` or `none`; `auto` chooses by the number of documents.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from fractions import Fraction
from pathlib import PurePath
from typing import TYPE_CHECKING

from slmtok.corpus import Position
from slmtok.corpus.paths import expand
from slmtok.errors import Message, OptionError, Setting, SlmtokError
from slmtok.indexing import explains_indexing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.corpus import Batch

FEW_DOCUMENTS, MANY_DOCUMENTS = 20, 1000
"""`auto` is `tail:10%` below FEW_DOCUMENTS, `hash:10%` below MANY_DOCUMENTS, else `hash:0.5%`."""
_MILLION = 1_000_000


@explains_indexing
@dataclass(frozen=True)
class Split:
    """A rule, and what it means for this corpus.

    ppm: validation documents per million, by hash. first: where the validation tail begins. cut: the byte at which a
    corpus of one document is cut in two. sources: the sources that are validation as a whole.
    """

    rule: str
    ppm: int = 0
    first: Position | None = None
    cut: int | None = None
    sources: frozenset[int] = frozenset()

    def validation(self, batch: Batch, digests: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Which documents of a batch are validation, shape (n,). digests: uint8[n, 32]."""
        import numpy as np

        n = len(batch)
        if self.first is not None:
            index = np.arange(n)
            return index >= batch.index_of(self.first)
        if self.sources:
            chosen = np.zeros(n, dtype=bool)
            for source, first, end in batch.runs():
                chosen[first:end] = source in self.sources
            return chosen
        if self.ppm == 0:
            return np.zeros(n, dtype=bool)
        keys = digests[:, :8].copy().view("<u8").reshape(n)
        return np.asarray(keys % np.uint64(_MILLION) < np.uint64(self.ppm))

    def to_json(self) -> dict[str, object]:
        """Its record in plan and manifest."""
        if self.first is None:
            return {"rule": self.rule}
        return {"rule": self.rule, "first": [self.first.source, self.first.record], "cut": self.cut}


def by_rule(rule: str, names: Sequence[str]) -> Split | None:
    """The split of a rule that does not depend on lengths; None for `auto` and `tail`.

    Raises `OptionError` where `files:` matches none of the sources, or all of them.
    """
    if rule == "none":
        return Split(rule)
    if rule.startswith("hash:"):
        return Split(rule, ppm=int(_share(rule) * _MILLION))
    if not rule.startswith("files:"):
        return None
    glob = rule.removeprefix("files:")
    chosen = frozenset(index for index, name in enumerate(names) if _matches(name, glob))
    if not 0 < len(chosen) < len(names):
        raise OptionError(
            (Setting("val", rule), f" matches {'all' if chosen else 'none'} of {len(names)} files"),
            where=f"the files are named like {names[0]!r}" if names else None,
            fix=_files_meant(glob, names) if not chosen else "a glob for the files that are validation, not for all",
            option="val",
            validation_file=glob if not chosen and names_files(glob) else None,
        )
    return Split(rule, sources=chosen)


def _files_meant(glob: str, names: Sequence[str]) -> Message:
    """The remedy for a glob that matches no file of the corpus: it may be the path of some of them, or of another."""
    parts = [part for part in glob.split("/") if part not in ("", ".")]
    for start, first in enumerate(parts):
        # The folder that all files are in is not in their names, so a glob may match no name for its first part alone.
        if re.search(r"[*?[]", first):
            continue
        for meant in (
            "/".join(parts[start:]),
            "/".join([*parts[start:], "*"]),
            *_named_like(PurePath(first).stem, names),
        ):
            if 0 < sum(_matches(name, meant) for name in names) < len(names):
                return (Setting("val", f"files:{meant}"),)
    if names_files(glob):
        return f"name {shlex.quote(glob)} in the corpus too: the rule chooses among its files"
    return "a glob for the files that are validation"


def _named_like(stem: str, names: Sequence[str]) -> list[str]:
    """The glob for files of this stem among the sources; the only one by its name."""
    endings = {name.rpartition("/")[2] for name in names if _matches(name, f"{stem}.*")}
    return [endings.pop() if len(endings) == 1 else f"{stem}.*"]


def names_files(path: str) -> bool:
    """Whether a path, which may be a glob, names a file or a folder with files; as an argument of a corpus, it does."""
    try:
        return bool(expand([path], []))
    except SlmtokError:
        return False


def rule_of_files(chosen: Sequence[bool], names: Sequence[str]) -> str | None:
    """The rule that chooses these of the sources and no other: by the end of one name, or by a folder of all; or None.

    None where it would choose all or none, and where no such glob is known.
    """
    wanted = [name for name, is_chosen in zip(names, chosen, strict=True) if is_chosen]
    if not 0 < len(wanted) < len(names):
        return None
    parts = wanted[0].split("/")
    ends = ["/".join(parts[at:]) for at in reversed(range(len(parts)))] if len(wanted) == 1 else []
    folders = [f"{'/'.join(parts[begin:end])}/*" for begin in range(len(parts)) for end in range(begin + 1, len(parts))]
    for glob in (*ends, *reversed(folders)):
        if [_matches(name, glob) for name in names] == [*chosen]:
            return f"files:{glob}"
    return None


def _matches(name: str, glob: str) -> bool:
    return fnmatchcase(name, glob) or fnmatchcase(name.rpartition("/")[2], glob)


def _share(rule: str) -> Fraction:
    return Fraction(rule.partition(":")[2].removesuffix("%")) / 100


@explains_indexing
@dataclass
class Lengths:
    """The size of each document in bytes, for `auto` and `tail`. starts: as in `Batch`."""

    sizes: list[int]
    starts: list[tuple[int, Position]]
    only: bytes | None = None
    """The text, if there is one document only."""


def measure(batches: Iterator[Batch], *, max_docs: int | None, max_bytes: int | None, enough: int | None) -> Lengths:
    """Reads documents for their lengths, up to the limits of the run or to `enough` documents."""
    found = Lengths([], [])
    total = 0
    for batch in batches:
        found.starts += [(len(found.sizes) + index, position) for index, position in batch.starts]
        for index, size in enumerate(batch.texts.sizes.tolist()):
            found.sizes.append(size)
            found.only = batch.texts[index] if len(found.sizes) == 1 else None
            total += size
            full = (max_docs is not None and len(found.sizes) >= max_docs) or (
                max_bytes is not None and total >= max_bytes
            )
            if full or (enough is not None and len(found.sizes) >= enough):
                return found
    return found


def by_lengths(rule: str, lengths: Lengths, *, ids_limited: bool) -> Split:
    """The split of `auto` or `tail:P%`, given the lengths.

    ids_limited: whether the run ends at a number of ids. Then its tail is unknown, and `auto` splits by hash.
    """
    if rule == "auto":
        n = len(lengths.sizes)
        rule = (
            "tail:10%" if n < FEW_DOCUMENTS and not ids_limited else "hash:10%" if n < MANY_DOCUMENTS else "hash:0.5%"
        )
    if rule.startswith("hash:"):
        return Split(rule, ppm=int(_share(rule) * _MILLION))
    share = _share(rule)
    if lengths.only is not None:
        ((_, start),) = lengths.starts
        return Split(rule, first=start.plus(1), cut=_cut(lengths.only, share))
    return Split(rule, first=_tail(lengths, share))


def _cut(text: bytes, share: Fraction) -> int:
    """Where the tail of one text begins: by its share of the bytes, at the start of a character."""
    at = len(text) * (1 - share).numerator // (1 - share).denominator
    for step in range(4):
        if at + step >= len(text) or text[at + step] & 0xC0 != 0x80:
            return min(at + step, len(text))
    return at


def _tail(lengths: Lengths, share: Fraction) -> Position:
    """The first of the last documents with this share of the bytes. The first document is never among them."""
    wanted = sum(lengths.sizes) * share
    total, index = 0, len(lengths.sizes)
    while index > 1 and total < wanted:
        index -= 1
        total += lengths.sizes[index]
    at, start = max((start for start in lengths.starts if start[0] <= index), default=(0, Position()))
    return start.plus(index - at)
