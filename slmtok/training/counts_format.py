"""The format of counts files, specified in docs/formats/counts.md: layout, digests and head. The body is the engine's.

A file is written whole or not at all. Reading verifies its checksum before anything else. A head depends neither on the
order of documents nor on time or place, and every field of a merged head is a sum, a maximum or an equality of the
fields before it, so merging is associative and commutative to the byte.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import reduce
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from slmtok import atomic, schema
from slmtok._engine import UNICODE_VERSION, Counts, Pattern
from slmtok.checks import U64, check_path
from slmtok.errors import CorruptFile, Message, OptionError, Setting, UnsupportedVersion
from slmtok.file_kinds import NAMES, kind_of_file
from slmtok.files import opened
from slmtok.options import CountOptions, ReadOptions, option_keys
from slmtok.path_arguments import BINARY_SUFFIXES, TEXT_SUFFIXES, free_name
from slmtok.schemes import SCHEMES
from slmtok.shell_commands import ShellCommand
from slmtok.strict_json import FaultError, parse_object
from slmtok.vocabulary import BEHAVIOUR, PatternSpec

MAGIC = b"SLMCOUNT"
VERSION = 1
MAX_HEAD_BYTES = 64 << 20
_HEAD = struct.Struct("<8sII")
_DIGEST = 32
_TAIL = 8 + _DIGEST
_CHUNK_BYTES = 1 << 20

_Path: TypeAlias = "str | os.PathLike[str]"


class Sums(NamedTuple):
    """The sums after the blocks: distinct pieces, pieces of each column, and the same for pruned pieces."""

    distinct: int
    pieces: list[int]
    pruned_distinct: int
    pruned_pieces: list[int]


Put: TypeAlias = Callable[[bytes], object]
WriteBody: TypeAlias = "Callable[[Put], tuple[int, list[int], int, list[int]]]"


@dataclass(frozen=True)
class Layout:
    """Where things are in one valid file."""

    path: str
    head: bytes
    body: tuple[int, int]
    digest: str
    """sha256 of all but lineage and checksum: equal counts of equal corpora share it, whatever the order of merging."""
    lineage: tuple[str, ...]
    """Digests of the counts that were merged into this, sorted; empty for counts of one run."""
    size: int

    @property
    def leaves(self) -> tuple[str, ...]:
        """The lineage, or the file itself where there is none."""
        return self.lineage or (self.digest,)


def write_file(target: _Path, head: bytes, body: WriteBody, lineage: Iterable[str], *, force: bool) -> tuple[str, Sums]:
    """Writes a file whole or not at all; gives its digest and sums. Raises what `slmtok.atomic.outputs` raises, and
    `OptionError` for the name of another kind of file.
    """
    _check_name(check_path(target))
    with atomic.outputs(target, force=force) as (temporary,), temporary.open("wb") as file:
        state = hashlib.sha256()

        def put(data: bytes) -> None:
            file.write(data)
            state.update(data)

        put(_HEAD.pack(MAGIC, VERSION, len(head)) + head)
        sums = Sums(*body(put))
        digest = state.digest()
        leaves = sorted(lineage)
        leaves = [] if leaves == [digest.hex()] else leaves
        put(digest + b"".join(map(bytes.fromhex, leaves)) + len(leaves).to_bytes(8, "little"))
        file.write(state.digest())
        file.flush()
        os.fsync(file.fileno())
    return digest.hex(), sums


def _check_name(name: str) -> None:
    path = Path(name)
    if path.suffix.lower() in (*BINARY_SUFFIXES, *TEXT_SUFFIXES):
        raise OptionError(
            f"{name!r} would hold counts, which are binary, not {path.suffix}",
            limit=".counts",
            fix=repr(free_name(str(path.with_suffix(".counts")))),
            option="path",
            path=name,
        )


def read_layout(path: _Path) -> Layout:
    """Checks a file against its checksum. Raises `MissingInput`, `Unreadable`, `CorruptFile`, `UnsupportedVersion`."""
    with opened(path) as file:
        return _read(file, os.fspath(path), os.fstat(file.fileno()).st_size)


def _read(file: BinaryIO, name: str, size: int) -> Layout:
    start = file.read(_HEAD.size)
    if not start.startswith(MAGIC):
        fault = f"it is {NAMES[kind]}" if (kind := kind_of_file(name)) in NAMES else "it does not begin as one"
        raise corrupt(name, fault, fix=f"slmtok count CORPUS -o {free_name('all.counts')} makes one")
    if min(size, len(start) + _DIGEST + _TAIL) < _HEAD.size + _DIGEST + _TAIL:
        raise corrupt(name, f"it ends after {size} bytes")
    _, version, head_length = _HEAD.unpack(start)
    if version != VERSION:
        raise UnsupportedVersion(
            f"{name} has version {version}",
            limit=f"this package reads version {VERSION}",
            fix="install a newer slmtok" if version > VERSION else "count again",
            path=name,
        )
    file.seek(size - _TAIL)
    tail = file.read(_TAIL)
    number = int.from_bytes(tail[:8], "little")
    body = _HEAD.size + head_length, size - _TAIL - number * _DIGEST - _DIGEST
    if head_length > MAX_HEAD_BYTES or body[0] > body[1]:
        raise corrupt(name, "its lengths exceed its size")
    file.seek(0)
    digest, whole = _digests(file, body[1], size - _DIGEST)
    if whole != tail[8:]:
        raise corrupt(name, "its checksum does not match; it was damaged or cut short")
    file.seek(_HEAD.size)
    head = file.read(head_length)
    file.seek(body[1])
    stored, lineage = file.read(_DIGEST), file.read(number * _DIGEST)
    if stored != digest:
        raise corrupt(name, "its digest is not that of its content")
    leaves = tuple(lineage[at : at + _DIGEST].hex() for at in range(0, len(lineage), _DIGEST))
    return Layout(name, head, body, digest.hex(), leaves, size)


def _digests(file: BinaryIO, first: int, last: int) -> tuple[bytes, bytes]:
    """sha256 of the first `first` and of the first `last` bytes."""
    state = hashlib.sha256()
    digests = []
    for length in (first, last - first):
        while length and (block := file.read(min(_CHUNK_BYTES, length))):
            state.update(block)
            length -= len(block)
        digests.append(state.digest())
    return digests[0], digests[1]


def corrupt(name: str, fault: str, fix: str = "restore the file from where it was made, or count again") -> CorruptFile:
    """The error for a file that is not a valid counts file."""
    return CorruptFile(f"{name} is not a valid counts file: {fault}", where=name, fix=fix, path=name)


def read_sums(layout: Layout, columns: int) -> Sums:
    """The sums of a file of `columns` columns. Raises `CorruptFile`."""
    length = 8 * (2 * columns + 3)
    if layout.body[1] - layout.body[0] < length:
        raise corrupt(layout.path, "it is too short for its sums")
    with opened(layout.path) as file:
        file.seek(layout.body[1] - length)
        sums = file.read(length)
    if len(sums) < length:
        raise corrupt(layout.path, "it became shorter while it was read")
    numbers = struct.unpack(f"<{2 * columns + 3}Q", sums)
    return Sums(numbers[0], list(numbers[1 : columns + 1]), numbers[columns + 1], list(numbers[columns + 2 : -1]))


# --- head -------------------------------------------------------------------------------------------------------------


FORMAT = "slmtok-counts"
DIFFERING = "(several)"
"""The value of an option that differs among merged counts."""
BOUNDARY_OPTIONS = ("document", "separator", "doc_cap", "text_template")
"""Options (by their keys in files) that decide where documents and pieces end; they must agree among merged counts."""


@dataclass(frozen=True)
class Totals:
    """Sums over a corpus."""

    documents: int = 0
    bytes: int = 0
    invalid_bytes: int = 0
    invalid_documents: int = 0
    gap_pieces: int = 0
    gap_bytes: int = 0
    capped_documents: int = 0
    capped_bytes: int = 0
    skipped_records: int = 0

    @classmethod
    def of(cls, counts: Counts, skipped_records: int = 0) -> Totals:
        """The totals that the engine counted."""
        return cls(
            counts.documents,
            counts.bytes,
            counts.invalid_bytes,
            counts.invalid_documents,
            counts.gap_pieces,
            counts.gap_bytes,
            counts.truncated_documents,
            counts.truncated_bytes,
            skipped_records,
        )

    def __add__(self, other: Totals) -> Totals:
        return Totals(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(Totals)))


@dataclass(frozen=True, order=True)
class Domain:
    """One column of counts: a name, "" for documents of no named domain, and its totals."""

    name: str
    documents: int
    bytes: int


@dataclass(frozen=True)
class Head:
    """The metadata of a counts file, before its pieces."""

    scheme: str
    pattern: PatternSpec
    totals: Totals
    corpus_digest: str | None
    domains: tuple[Domain, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    min_count: int = 1
    """Pieces that occurred less often were left out; 1 means none."""

    def to_bytes(self) -> bytes:
        """Canonical JSON, with a line feed at its end."""
        content = {
            "format": FORMAT,
            "behaviour": BEHAVIOUR,
            "scheme": self.scheme,
            "pattern": asdict(self.pattern),
            "options": dict(sorted(self.options.items())),
            **asdict(self.totals),
            "corpus_digest": self.corpus_digest,
            "domains": [asdict(domain) for domain in self.domains],
            "min_count": self.min_count,
        }
        return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def parse_head(data: bytes, name: str) -> Head:
    """The head in these bytes. Raises `CorruptFile`, `UnsupportedVersion`; `name` is that of the file."""
    try:
        content = parse_object(data, 4)
        _VERSIONS(content, "")
        _check_versions(content, name)
        _HEAD_KEYS(content, "")
        head = _head(content)
    except FaultError as fault:
        raise corrupt(name, str(fault)) from None
    if head.to_bytes() != data:
        raise corrupt(name, "its head is not in canonical form")
    return head


_COUNT = schema.integer(0, U64)
_PATTERN = {"name": schema.nullable(schema.text), "regex": schema.text, "unicode": schema.text}
_VERSIONS = schema.table(
    {
        "format": schema.choice(FORMAT),
        "behaviour": schema.integer(),
        "scheme": schema.text,
        "pattern": schema.table(_PATTERN, is_open=True),
    },
    is_open=True,
)
_HEAD_KEYS = schema.table(
    {
        "format": schema.text,
        "behaviour": schema.integer(),
        "scheme": schema.text,
        "pattern": schema.table(_PATTERN),
        "options": schema.mapping(schema.setting),
        **{one.name: _COUNT for one in fields(Totals)},
        "corpus_digest": schema.nullable(schema.digest),
        "domains": schema.array(schema.table({"name": schema.text, "documents": _COUNT, "bytes": _COUNT})),
        "min_count": _COUNT,
    }
)


def _head(content: dict[str, Any]) -> Head:
    totals = Totals(**{one.name: content[one.name] for one in fields(Totals)})
    domains = tuple(Domain(**one) for one in content["domains"])
    if not domains or list(domains) != sorted(set(domains)) or len({one.name for one in domains}) < len(domains):
        raise FaultError("its domains are not sorted, or one comes twice")
    pattern, digest = PatternSpec(**content["pattern"]), content["corpus_digest"]
    return Head(content["scheme"], pattern, totals, digest, domains, content["options"], content["min_count"])


def _check_versions(content: Mapping[str, Any], name: str) -> None:
    known = {"behaviour": BEHAVIOUR, "Unicode version": UNICODE_VERSION}
    found = {"behaviour": content["behaviour"], "Unicode version": content["pattern"]["unicode"]}
    for what, value in known.items():
        if found[what] != value:
            raise UnsupportedVersion(
                f"{name} was counted with {what} {schema.shown(found[what])}",
                limit=f"this package has {what} {value}",
                fix="count again, or use the version of slmtok that made it",
                path=name,
            )
    if content["scheme"] not in SCHEMES:
        raise UnsupportedVersion(
            f"{name} was counted for the scheme {schema.shown(content['scheme'])}",
            limit=f"schemes of this package: {', '.join(SCHEMES)}",
            fix="install a newer slmtok",
            path=name,
        )


def check_same(heads: Sequence[Head], names: Sequence[str]) -> None:
    """Raises `OptionError`, naming two files, where counts differ in pattern or document boundaries."""
    first = heads[0]
    for head, name in zip(heads[1:], names[1:], strict=True):
        for what, ours, theirs in _boundaries(first, head):
            if ours != theirs:
                if what == "pattern" and first.pattern.name and head.pattern.name:
                    ours, theirs = first.pattern.name, head.pattern.name
                raise OptionError(
                    f"{names[0]} and {name} were counted with different {what.removesuffix('s')}s",
                    where=f"{what} {_short(ours)} and {_short(theirs)}",
                    limit=f"merged counts have one {what}",
                    fix=_count_again(first, name, what),
                    option=what,
                )


def _count_again(first: Head, name: str, option: str) -> Message:
    """The remedy for counts that differ from the first in an option: the call that counts their text as the first's."""
    defaults, names = ReadOptions(), option_keys(ReadOptions)
    held = {each: first.options.get(key) for each, key in names.items() if key in BOUNDARY_OPTIONS}
    given = {each: value for each, value in held.items() if value not in (None, getattr(defaults, each))}
    if option == "pattern":
        given[option] = first.pattern.name or first.pattern.regex
    elif option == "scheme":
        given[option] = first.scheme
    without = () if option in given else (" without ", Setting(option))
    settings = settings_to_count(first.pattern, first.scheme, given)
    return (f"count the text of {name} again", *without, ": ", *call_to_count(settings, name))


def settings_to_count(pattern: Pattern | PatternSpec, scheme: str, given: Mapping[str, object]) -> list[Setting]:
    """The options that count the text of counts again: some that are given, and the scheme and pattern of the counts.

    Defaults are left out.
    """
    settings = [Setting(name, value) for name, value in given.items()]
    if scheme != CountOptions().scheme and "scheme" not in given:
        settings.append(Setting("scheme", scheme))
    own = SCHEMES[scheme]
    if own.own_pattern and "pattern" not in given and own.pattern not in (pattern.name, pattern.regex):
        settings.append(Setting("pattern", pattern.name or pattern.regex))
    return settings


def call_to_count(settings: Sequence[Setting], beside: str) -> tuple[str | Setting, ...]:
    """The command, in Python the call, that counts a text into a new file beside these counts."""
    import shlex

    output = free_name(beside)
    begin = ShellCommand("slmtok count CORPUS ", f"slmtok.count('CORPUS'{', ' * bool(settings)}")
    end = ShellCommand(f"{' ' * bool(settings)}-o {shlex.quote(output)}", f").save({output!r})")
    parts = [part for setting in settings for part in (" ", setting)]
    return (begin, *parts[1:], end)


def _boundaries(first: Head, other: Head) -> list[tuple[str, object, object]]:
    compared: list[tuple[str, object, object]] = [
        ("pattern", first.pattern.regex, other.pattern.regex),
        ("scheme", first.scheme, other.scheme),
    ]
    names = {key: name for name, key in option_keys(ReadOptions).items()}
    return compared + [(names[key], first.options.get(key), other.options.get(key)) for key in BOUNDARY_OPTIONS]


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def merge_heads(heads: Sequence[Head], min_count: int = 1) -> Head:
    """The head of merged counts, which must have equal boundaries."""
    keys = sorted({key for head in heads for key in head.options})
    options = {key: _common([head.options.get(key) for head in heads]) for key in keys}
    digests = [head.corpus_digest for head in heads]
    known = [int(digest, 16) for digest in digests if digest is not None]
    digest = f"{sum(known) % (1 << 256):064x}" if len(known) == len(digests) else None
    return Head(
        heads[0].scheme,
        heads[0].pattern,
        reduce(Totals.__add__, (head.totals for head in heads)),
        digest,
        _domains(heads),
        options,
        max(min_count, *(head.min_count for head in heads)),
    )


def _common(values: list[Any]) -> Any:
    return values[0] if all(value == values[0] and type(value) is type(values[0]) for value in values) else DIFFERING


def _domains(heads: Sequence[Head]) -> tuple[Domain, ...]:
    found: dict[str, Domain] = {}
    for domain in (domain for head in heads for domain in head.domains):
        before = found.get(domain.name, Domain(domain.name, 0, 0))
        found[domain.name] = Domain(domain.name, before.documents + domain.documents, before.bytes + domain.bytes)
    return tuple(found[name] for name in sorted(found))
