"""Counts as files: saved, loaded, merged. The format is specified in docs/formats/counts.md.

Whatever the order in which files are merged, and however often on the way, the result has the same bytes. Files that
were not cut alike are refused by name, and so is a file that is there twice.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from slmtok import _engine
from slmtok.checks import check_int
from slmtok.errors import MissingInput, OptionError
from slmtok.training import counts_head, counts_layout
from slmtok.training.counts import DomainCounts, PretokenCounts
from slmtok.training.counts_head import Domain, Head
from slmtok.training.counts_layout import Layout, Sums
from slmtok.training.ingest import CorpusStats
from slmtok.vocabulary import PatternSpec

if TYPE_CHECKING:
    from slmtok._engine import Counts

_Path: TypeAlias = "str | os.PathLike[str]"


@dataclass(frozen=True)
class CountsFile:
    """A sound counts file: where things are in it, what it says, and its sums."""

    layout: Layout
    head: Head
    sums: Sums

    @property
    def empty(self) -> bool:
        """Whether no document was counted: such a file may come twice."""
        return self.head.totals.documents == 0


@dataclass(frozen=True)
class Merged:
    """What `merge_counts` wrote."""

    path: str
    digest: str
    head: Head
    sums: Sums
    inputs: int

    def to_dict(self) -> dict[str, Any]:
        """As `slmtok merge --json` prints it."""
        return {"path": self.path, "digest": self.digest, "inputs": self.inputs, **told(self.head, self.sums)}


def told(head: Head, sums: Sums) -> dict[str, Any]:
    """What a head and sums say, as values that JSON can hold."""
    domains = [
        {**asdict(domain), "pieces": pieces, "pruned_pieces": pruned}
        for domain, pieces, pruned in zip(head.domains, sums.pieces, sums.pruned_pieces, strict=True)
    ]
    return {
        "scheme": head.scheme,
        "pattern": asdict(head.pattern),
        **asdict(head.totals),
        "corpus_digest": head.corpus_digest,
        "pieces": sum(sums.pieces),
        "distinct": sums.distinct,
        "min_count": head.min_count,
        "pruned_distinct": sums.pruned_distinct,
        "pruned_pieces": sum(sums.pruned_pieces),
        "domains": domains,
        "options": dict(head.options),
    }


def open_counts(path: _Path) -> CountsFile:
    """Reads what a file says of itself, its checksum verified. Raises `CorruptFile`, `UnsupportedVersion`."""
    layout = counts_layout.read(path)
    head = counts_head.decoded(layout.head, layout.path)
    return CountsFile(layout, head, counts_layout.read_sums(layout, len(head.domains)))


def save(counts: PretokenCounts, path: _Path, *, force: bool = False) -> str:
    """Writes counts and gives the digest of the file. Raises `OptionError` for counts with weights."""
    if counts.scale != 1 or counts.options.get("mix"):
        raise OptionError(
            "counts whose domains have weights cannot be saved",
            limit="counts as they were counted",
            fix="save the counts that mixed() was called on",
        )
    if counts.pruned[0]:
        raise OptionError(
            "pruned counts cannot be saved from memory",
            limit="what pruning left out is only known to the file",
            fix="slmtok.merge_counts([path], output)",
        )
    parts = counts.domains
    head = _head(counts, parts)
    columns = [part.native for part in parts]
    body = lambda put: _engine.write_counts(columns, put)  # noqa: E731
    return counts_layout.write(path, head.encoded(), body, counts.lineage, force=force)[0]


def _head(counts: PretokenCounts, parts: Sequence[DomainCounts]) -> Head:
    pattern = counts.native.pattern
    return Head(
        counts.scheme,
        PatternSpec(pattern.name, pattern.regex, _engine.UNICODE_VERSION),
        counts.totals,
        counts.stats.corpus_digest,
        tuple(Domain(part.name, part.documents, part.bytes) for part in parts),
        counts.options,
    )


def load(paths: Sequence[_Path], *, allow_duplicate: bool = False) -> PretokenCounts:
    """Counts from files, added up. Raises as `merge_counts`."""
    files = _opened(paths, allow_duplicate)
    head = counts_head.joined([file.head for file in files])
    pattern = _engine.Pattern(head.pattern.regex)
    columns = _engine.read_counts(_bodies(files, head), len(head.domains), pattern)
    pruned = sum(file.sums.pruned_distinct for file in files), sum(sum(file.sums.pruned_pieces) for file in files)
    digest = head.corpus_digest
    return PretokenCounts(
        _sum(pattern, columns),
        CorpusStats(digest=int(digest or "0", 16), documents=head.totals.documents, complete=digest is not None),
        head.scheme,
        head.options,
        parts=_parts(head, columns),
        totals_read=head.totals,
        lineage=tuple(leaf for file in files for leaf in file.layout.leaves),
        least=head.min_count,
        pruned=pruned,
    )


def _sum(pattern: _engine.Pattern, columns: Sequence[Counts]) -> Counts:
    if len(columns) == 1:
        return columns[0]
    return _engine.weighted_counts(pattern, [(column, 1) for column in columns])


def _parts(head: Head, columns: Sequence[Counts]) -> tuple[DomainCounts, ...]:
    if [domain.name for domain in head.domains] == [""]:
        return ()
    named = zip(head.domains, columns, strict=True)
    return tuple(DomainCounts(domain.name, domain.documents, domain.bytes, column) for domain, column in named)


def merge_counts(
    paths: Iterable[_Path], out: _Path, *, min_count: int = 1, allow_duplicate: bool = False, force: bool = False
) -> Merged:
    """Merges counts files into a new one, in the memory of one block each. The order does not matter.

    min_count: leave out pieces that occur less often in all of them together; the file says so.
    allow_duplicate: take a file as often as it comes, and counts that are in two of the files already.

    Raises `OptionError` (files that were not cut alike, or twice the same), `CorruptFile`, `UnsupportedVersion`,
    `MissingInput`, `CountOverflow`, `OutputExists`, `DiskFull`.
    """
    from slmtok import atomic

    least = check_int("min_count", min_count, 1)
    listed = list(paths)
    atomic.check_outputs(out, inputs=listed, force=force)
    files = _opened(listed, allow_duplicate)
    head = counts_head.joined([file.head for file in files], least)
    bodies = _bodies(files, head)
    body = lambda put: _engine.merge_counts(bodies, len(head.domains), least, put)  # noqa: E731
    lineage = [leaf for file in files for leaf in file.layout.leaves]
    digest, sums = counts_layout.write(out, head.encoded(), body, lineage, force=force)
    return Merged(os.fspath(out), digest, head, sums, len(files))


def _opened(paths: Sequence[_Path], allow_duplicate: bool) -> list[CountsFile]:
    if not paths:
        raise MissingInput("no counts file is named", where="counts files", fix="name at least one")
    files = [open_counts(path) for path in paths]
    names = [file.layout.path for file in files]
    counts_head.check_same([file.head for file in files], names)
    if not allow_duplicate:
        _check_duplicates(files)
    return files


def _check_duplicates(files: Sequence[CountsFile]) -> None:
    seen: dict[str, str] = {}
    for file in files:
        name = file.layout.path
        # The same documents, counted under other options, make another file with the same digest of the corpus.
        documents = () if file.head.corpus_digest is None else (file.head.corpus_digest,)
        for leaf in () if file.empty else (*file.layout.leaves, *documents):
            if leaf in seen:
                raise OptionError(
                    f"{seen[leaf]} and {name} hold the same counts"
                    if seen[leaf] != name
                    else f"{name} holds the same counts twice",
                    where=f"digest {leaf[:16]}…",
                    limit="each part of a corpus once",
                    fix="leave one of them out, or allow_duplicate=True to count it as often as it comes",
                    option="allow_duplicate",
                )
            seen[leaf] = name


def _bodies(files: Sequence[CountsFile], head: Head) -> list[tuple[str, int, int, Sequence[int]]]:
    column = {domain.name: at for at, domain in enumerate(head.domains)}
    return [counts_layout.body_of(file.layout, [column[domain.name] for domain in file.head.domains]) for file in files]
