"""`PretokenCounts`: how often each piece occurs in a corpus, which is all that training needs of it; and counts files.

The bytes of merged counts depend neither on the order of merging nor on its steps. Files that differ in pattern or
document boundaries are refused by name, and so is a duplicate.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, cast

from slmtok import _engine, atomic
from slmtok._engine import UNICODE_VERSION, Counts
from slmtok.calls import Expression, argument_text, call_text, counts_in_memory, explains_calls
from slmtok.checks import U64, as_list, check_int, check_path, check_type
from slmtok.errors import MissingInput, NotEnoughMemory, OptionError, Setting, WrongType
from slmtok.files import free_name, refuse_text
from slmtok.indexing import explains_indexing
from slmtok.path_arguments import is_glob
from slmtok.sizes import format_bytes
from slmtok.system_memory import free_memory
from slmtok.training.counts_format import (
    Domain,
    Head,
    Layout,
    Sums,
    Totals,
    check_same,
    merge_heads,
    parse_head,
    read_layout,
    read_sums,
    write_file,
)
from slmtok.training.ingest import CorpusStats
from slmtok.vocabulary import PatternSpec

if TYPE_CHECKING:
    from slmtok.aliases import Token

BLOCK_PIECES = 1 << 16
"""Pieces that are looked at together: as Python objects each takes about 200 bytes."""

_OF_COUNTER = {
    "most_common": "sorted(counts.items(), key=lambda item: -item[1])[:10]",
    **{name: f"dict(counts.items()).{name}" for name in ("keys", "values", "get")},
    "total": "counts.pieces",
}
"""Names of dicts and of `collections.Counter`, each with what stands for it."""
_SUMS = ("update", "merge", "add", "subtract")

_Path: TypeAlias = "str | os.PathLike[str]"


@explains_indexing
@dataclass(frozen=True, eq=False)
class DomainCounts:
    """The counts of one named part of a corpus; the name is "" for documents of no named domain."""

    name: str
    documents: int
    bytes: int
    native: Counts


@explains_indexing
@explains_calls
@dataclass(frozen=True, eq=False)
class PretokenCounts:
    """Counts of one corpus under one pattern, with statistics of reading it. Immutable.

    Made by `slmtok.count`, `PretokenCounts.load` and `slmtok.merge_counts`.
    """

    native: Counts
    """The sum of all domains, each times its weight."""
    stats: CorpusStats = field(default_factory=CorpusStats)
    scheme: str = "bpe"
    options: Mapping[str, Any] = field(default_factory=dict)
    """The options of reading and counting as files record them."""
    seconds: float = 0.0
    memory: int | None = None
    """The memory limit of counting in bytes, None for no limit."""
    parts: tuple[DomainCounts, ...] = ()
    """The domains by name; empty without named domains."""
    totals_read: Totals | None = None
    """The totals in a counts file; None for counts of this process."""
    lineage: tuple[str, ...] = ()
    """Digests of the files that these counts come from; empty for counts of this process."""
    min_count: int = 1
    """Pieces that occurred less often were pruned; 1 means none."""
    pruned: tuple[int, int] = (0, 0)
    """(distinct pieces, pieces) that were pruned."""
    scale: int = 1
    """The factor of every count, which makes weights exact: see `mixed`."""

    def __post_init__(self) -> None:
        if not hasattr(self.native, "pattern"):
            path = repr(str(self.native)) if isinstance(self.native, (str, os.PathLike)) else "'COUNTS'"
            raise WrongType(
                f"PretokenCounts is made of counts of the engine, not of {type(self.native).__name__}",
                fix=f"slmtok.PretokenCounts.load({path}), or slmtok.count(corpus)",
            )

    def __getattr__(self, name: str) -> NoReturn:
        remedy = "merge_counts(paths, out) of saved counts" if name in _SUMS else _OF_COUNTER.get(name)
        hint = f"; {remedy} has it" if remedy else ""
        raise AttributeError(f"PretokenCounts has no attribute {name!r}{hint}", name=name, obj=None if hint else self)

    def __add__(self, other: object) -> NoReturn:
        """Raises `WrongType`: files are summed, which know whether they have documents in common."""
        files = free_name("a.counts"), free_name("b.counts")
        fix = f"a.save({files[0]!r}), b.save({files[1]!r}), slmtok.PretokenCounts.load({files[0]!r}, {files[1]!r})"
        raise WrongType("counts in memory are not added", limit="PretokenCounts.load sums files", fix=fix)

    __radd__ = __add__

    def __copy__(self) -> PretokenCounts:
        return self

    def __deepcopy__(self, memo: object) -> PretokenCounts:
        """The counts themselves, which do not change."""
        return self

    def __reduce__(self) -> NoReturn:
        """Raises `WrongType`: the file of counts has a format of its own."""
        name = free_name("all.counts")
        fix = f"counts.save({name!r}), and slmtok.PretokenCounts.load({name!r}) where they are read"
        raise WrongType("counts are not pickled", fix=fix)

    def __len__(self) -> int:
        """Number of distinct pieces."""
        return self.native.distinct

    def __repr__(self) -> str:
        return (
            f"PretokenCounts({self.documents} documents, {self.bytes} bytes, {self.distinct} distinct of "
            f"{self.pieces} pieces)"
        )

    @cached_property
    def totals(self) -> Totals:
        """Documents, bytes and other sums over the corpus."""
        if self.totals_read is not None:
            return self.totals_read
        return Totals.of(self.native, self.stats.skipped.records)

    @property
    def documents(self) -> int:
        """Number of documents, empty ones included."""
        return self.totals.documents

    @property
    def bytes(self) -> int:
        """Number of bytes."""
        return self.totals.bytes

    @property
    def pieces(self) -> int:
        """Number of pieces, repeats included."""
        return self.native.pieces

    @property
    def distinct(self) -> int:
        """Number of distinct pieces."""
        return self.native.distinct

    @property
    def domains(self) -> tuple[DomainCounts, ...]:
        """The domains by name, at least one."""
        return self.parts or (DomainCounts("", self.documents, self.bytes, self.native),)

    @property
    def spills(self) -> int:
        """Number of tables that were written to temporary files for lack of memory."""
        return self.native.spills[0]

    @property
    def merge_memory(self) -> int:
        """Estimated bytes that learning merges takes besides the counts."""
        return self.native.merge_memory

    def items(self) -> list[tuple[Token, int]]:
        """(piece, count), sorted by piece. Takes about 200 bytes for each."""
        return self.native.items()

    @cached_property
    def sha256(self) -> str:
        """Digest (hex) of pattern and counts, independent of threads and of the order of documents.

        Over: one line of JSON with the pattern's regex, Unicode version and, if they are named, the domains; then for
        each domain the number of pieces, u64; the length of each piece, u32; its count, u64; all pieces joined.
        Little-endian, domains and pieces in their sorted order.
        """
        head: dict[str, Any] = {"regex": self.native.pattern.regex, "unicode": UNICODE_VERSION}
        if self.parts:
            head["domains"] = [part.name for part in self.parts]
        digest = hashlib.sha256(json.dumps(head, sort_keys=True, ensure_ascii=False).encode() + b"\n")
        for part in self.domains:
            digest.update(part.native.distinct.to_bytes(8, "little"))
            part.native.columns(digest.update)
        return digest.hexdigest()

    def mixed(self, mix: Mapping[str, Any] | None = None, *, temperature: float | str | None = None) -> PretokenCounts:
        """The same with weights for its domains, see `slmtok.training.mixing`.

        Raises `UnknownName` for a domain that does not exist, `OptionError`, `WrongType`, `CountOverflow`.
        """
        from slmtok.training.mixing import common_denominator, domain_weights

        check_type("mix", mix, Mapping, f"mix={dict.fromkeys([part.name for part in self.parts][:2] or ['web'], 2)!r}")
        weights = domain_weights({part.name: part.bytes for part in self.parts}, mix or {}, temperature)
        scale = common_denominator(weights)
        parts = [(part.native, int(weights[part.name] * scale)) for part in self.parts]
        recorded = [f"{name}={weight}" for name, weight in sorted(weights.items())]
        return replace(
            self,
            native=_engine.weighted_counts(self.native.pattern, parts),
            scale=scale,
            options={**self.options, "mix": recorded},
            totals_read=self.totals,
        )

    def save(self, path: _Path, *, force: bool = False) -> str:
        """Writes a counts file whole or not at all and returns its digest.

        Raises `OptionError` for weighted and for pruned counts, `OutputExists`, `DiskFull`.
        """
        if self.scale != 1 or self.options.get("mix"):
            raise OptionError(
                "counts whose domains have weights cannot be saved",
                limit="counts without weights",
                fix="save the counts that mixed() was called on",
            )
        if self.pruned[0]:
            raise OptionError(
                "pruned counts cannot be saved from memory",
                limit="only the file has the sums of the pruned pieces",
                fix="slmtok.merge_counts([path], output)",
            )
        pattern = self.native.pattern
        head = Head(
            self.scheme,
            PatternSpec(pattern.name, pattern.regex, UNICODE_VERSION),
            self.totals,
            self.stats.corpus_digest,
            tuple(Domain(part.name, part.documents, part.bytes) for part in self.domains),
            self.options,
        )
        columns = [part.native for part in self.domains]
        body = lambda put: _engine.write_counts(columns, put)  # noqa: E731
        return write_file(path, head.to_bytes(), body, self.lineage, force=force)[0]

    @staticmethod
    def load(*paths: _Path, allow_duplicate: bool = False) -> PretokenCounts:
        """Counts from one file or the sum of several. Raises as `merge_counts`."""
        files = _open_all(paths, allow_duplicate)
        head = merge_heads([file.head for file in files])
        pattern = _engine.Pattern(head.pattern.regex)
        columns = _read(files, head, pattern)
        named = zip(head.domains, columns, strict=True)
        parts = tuple(DomainCounts(domain.name, domain.documents, domain.bytes, column) for domain, column in named)
        digest = head.corpus_digest
        return PretokenCounts(
            columns[0] if len(columns) == 1 else _engine.weighted_counts(pattern, [(column, 1) for column in columns]),
            CorpusStats(digest=int(digest or "0", 16), documents=head.totals.documents, complete=digest is not None),
            head.scheme,
            head.options,
            parts=() if [part.name for part in parts] == [""] else parts,
            totals_read=head.totals,
            lineage=_lineage(files),
            min_count=head.min_count,
            pruned=(
                sum(file.sums.pruned_distinct for file in files),
                sum(sum(file.sums.pruned_pieces) for file in files),
            ),
        )


# --- files ------------------------------------------------------------------------------------------------------------


@explains_indexing
@dataclass(frozen=True)
class CountsFile:
    """A valid counts file: its layout, head and sums."""

    layout: Layout
    head: Head
    sums: Sums

    @property
    def empty(self) -> bool:
        """Whether no document was counted; an empty file may be merged twice."""
        return self.head.totals.documents == 0


@explains_indexing
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
        return {"path": self.path, "digest": self.digest, "inputs": self.inputs, **describe(self.head, self.sums)}


def describe(head: Head, sums: Sums) -> dict[str, Any]:
    """Head and sums as values that JSON can hold."""
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
    """Reads the metadata of a file and verifies its checksum. Raises `CorruptFile`, `UnsupportedVersion`."""
    layout = read_layout(path)
    head = parse_head(layout.head, layout.path)
    return CountsFile(layout, head, read_sums(layout, len(head.domains)))


@explains_calls
def merge_counts(
    paths: Iterable[_Path], out: _Path, *, min_count: int = 1, allow_duplicate: bool = False, force: bool = False
) -> Merged:
    """Merges counts files into a new one, holding one block of each in memory. The order does not matter.

    min_count: leave out pieces that occur less often in all files together; the output records it.
    allow_duplicate: count a file each time it is listed, and counts that two files already contain.

    Raises `OptionError` (different pattern or boundaries, or a duplicate), `CorruptFile`, `UnsupportedVersion`,
    `MissingInput`, `CountOverflow`, `OutputExists`, `DiskFull`.
    """
    minimum = check_int("min_count", min_count, 1)
    if error := counts_in_memory(paths, out):
        raise error
    if isinstance(paths, (str, os.PathLike)) or not isinstance(paths, Iterable):
        fix = "['a.counts', 'b.counts']"
        if isinstance(paths, (str, os.PathLike)):
            refuse_text(os.fspath(paths), fix)
            options: dict[str, int] = {"min_count": minimum} if minimum > 1 else {}
            options |= {"allow_duplicate": True} if allow_duplicate else {}
            fix = _merge_meant(paths, out, {**options, "force": True} if force else options)
        raise WrongType(f"paths is {type(paths).__name__}, not a list of paths", fix=fix)
    files_given = as_list(paths)
    if error := counts_in_memory(files_given, out):
        raise error
    atomic.check_outputs(out, inputs=files_given, force=force)
    files = _open_all(files_given, allow_duplicate)
    head = merge_heads([file.head for file in files], minimum)
    bodies = _bodies(files, head)

    def body(put: Callable[[bytes], object]) -> tuple[int, list[int], int, list[int]]:
        sums = _engine.merge_counts(bodies, len(head.domains), minimum, put)
        if minimum > 1 and not Sums(*sums).distinct and not all(file.empty for file in files):
            raise OptionError(
                (Setting("min_count", minimum), " leaves out every pretoken"),
                where=", ".join(file.layout.path for file in files),
                fix=(Setting("min_count", 5),),
                option="min_count",
            )
        return sums

    digest, sums = write_file(out, head.to_bytes(), body, _lineage(files), force=force)
    return Merged(os.fspath(out), digest, head, sums, len(files))


def _merge_meant(first: _Path, second: object, options: Mapping[str, Any]) -> str:
    """The call of `merge_counts` for a path in the place of the list: the output before the inputs, two inputs, or one
    and the output, which does not exist."""
    is_list = isinstance(second, Iterable) and not isinstance(second, (str, bytes, os.PathLike))
    inputs: Sequence[object] = [*cast("Iterable[object]", second)] if is_list else [first, second]
    output: _Path = first if is_list else "all.counts"
    if isinstance(second, (str, os.PathLike)) and os.path.exists(first) != os.path.exists(second):  # noqa: PTH110
        output, inputs = (first, [second]) if os.path.exists(second) else (second, [first])  # noqa: PTH110
    output = os.fspath(output) if options.get("force") else free_name(os.fspath(output))
    given = "".join(f", {name}={value!r}" for name, value in options.items())
    if is_glob(os.fspath(first)) and isinstance(second, (str, os.PathLike)):
        files = f"glob.glob({os.fspath(first)!r})"
        return f"import glob; slmtok.merge_counts({files}, {os.fspath(second)!r}{given})"
    return f"slmtok.merge_counts([{', '.join(map(argument_text, inputs))}], {output!r}{given})"


_MAX_LISTED = 8
"""Paths of a list that a fix repeats."""


def _open_all(paths: Sequence[_Path], allow_duplicate: bool) -> list[CountsFile]:
    if not paths:
        raise MissingInput("no counts file is named", where="counts files", fix="name at least one")
    # A slash behind a file, as a shell completes folders, is nothing elsewhere.
    if len(paths) == 1 and isinstance(paths[0], (list, tuple)) and len(paths[0]) > 1:
        listed = paths[0] if len(paths[0]) <= _MAX_LISTED else [Expression("*paths")]
        load = call_text("slmtok.PretokenCounts.load", listed, {"allow_duplicate": True} if allow_duplicate else {})
        raise WrongType("load() takes each path as an argument of its own, and no list of them", fix=load)
    files = [open_counts(check_path(path).rstrip(os.sep)) for path in paths]
    names = [file.layout.path for file in files]
    check_same([file.head for file in files], names)
    if not allow_duplicate:
        _check_duplicates(files)
    return files


def _check_duplicates(files: Sequence[CountsFile]) -> None:
    """Raises `OptionError` for files that hold the same counts; one that holds some twice was merged so on purpose."""
    seen: dict[str, str] = {}
    for file in files:
        name = file.layout.path
        # The same documents, counted under other options, make another file with the same digest of the corpus.
        documents = () if file.head.corpus_digest is None else (file.head.corpus_digest,)
        leaves = () if file.empty else dict.fromkeys((*file.layout.leaves, *documents))
        twice = next((leaf for leaf in leaves if leaf in seen), None)
        if twice is not None:
            is_same = seen[twice] == name
            raise OptionError(
                f"{name} is named twice, and holds the same counts each time"
                if is_same
                else f"{seen[twice]} and {name} hold the same counts",
                where=f"digest {twice[:16]}…",
                limit="each part of a corpus once",
                fix=("leave one of them out, or ", Setting("allow_duplicate", True), " to count it each time"),
                option="allow_duplicate",
            )
        seen |= dict.fromkeys(leaves, name)


def _lineage(files: Sequence[CountsFile]) -> tuple[str, ...]:
    return tuple(leaf for file in files for leaf in file.layout.leaves)


def _read(files: Sequence[CountsFile], head: Head, pattern: _engine.Pattern) -> list[Counts]:
    """The columns of `head`. A small file may hold much: a piece that begins as the one before takes a few bytes there.

    Raises `NotEnoughMemory` where the pieces take more than a quarter of the free memory; while they grow, twice.
    """
    free = free_memory()
    limit = U64 if free is None else free // 4
    try:
        return _engine.read_counts(_bodies(files, head), len(head.domains), pattern, limit)
    except NotEnoughMemory as error:
        if cast("int", error.fields["bytes"]) > limit:
            paths = [file.layout.path for file in files]
            raise NotEnoughMemory(
                f"the pieces of {' and '.join(paths)} take more than {format_bytes(limit)} of memory",
                limit=f"a quarter of the memory that is free, {format_bytes(free or 0)}",
                fix="a machine with more memory, or counts without rare pieces: "
                f"slmtok merge {shlex.join(paths)} --min-count 2 -o {free_name('frequent.counts')}",
                bytes=error.fields["bytes"],
            ) from None
        raise


def _bodies(files: Sequence[CountsFile], head: Head) -> list[tuple[str, int, int, Sequence[int]]]:
    """(path, start, end, columns in `head`) of the body of each file, by which the engine finds it."""
    column = {domain.name: at for at, domain in enumerate(head.domains)}
    return [
        (file.layout.path, *file.layout.body, [column[domain.name] for domain in file.head.domains]) for file in files
    ]
