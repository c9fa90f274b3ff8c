"""The head of a counts file: what was counted and how, as canonical JSON; and what may be merged with what.

A head holds nothing that depends on the order of documents, on time or on place, and every field of a merged head is a
sum, a maximum or an equality of the fields before it: so merging is associative and commutative to the byte.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import reduce
from typing import Any

from slmtok._engine import UNICODE_VERSION
from slmtok.errors import OptionError, UnsupportedVersion
from slmtok.strict_json import FaultError, parse_object
from slmtok.training.counts_layout import corrupt
from slmtok.vocabulary import BEHAVIOUR, PatternSpec

FORMAT = "slmtok-counts"
SEVERAL = "(several)"
"""The value of an option that differs among merged counts."""
CUTTING = ("document", "separator", "doc_cap", "text_template")
"""Options that decide where documents and pieces end: they must agree among counts that are merged."""
_MAX = (1 << 64) - 1


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

    def __add__(self, other: Totals) -> Totals:
        return Totals(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(Totals)))


@dataclass(frozen=True, order=True)
class Domain:
    """One column of counts: a name, "" for documents of no named domain, and what was counted under it."""

    name: str
    documents: int
    bytes: int


@dataclass(frozen=True)
class Head:
    """What a counts file says of itself before its pieces."""

    scheme: str
    pattern: PatternSpec
    totals: Totals
    corpus_digest: str | None
    domains: tuple[Domain, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    min_count: int = 1
    """Pieces that occurred less often were left out; 1 where none were."""

    def encoded(self) -> bytes:
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


def decoded(data: bytes, name: str) -> Head:
    """The head in these bytes. Raises `CorruptFile`, `UnsupportedVersion`; `name` is that of the file."""
    try:
        content = parse_object(data, 4)
        if content.get("format") != FORMAT:
            raise FaultError("its head is of another format")
        _check_versions(content, name)
        head = _head(content)
    except FaultError as fault:
        raise corrupt(name, str(fault)) from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise corrupt(name, f"its head lacks something, or holds what it should not ({error})") from None
    if head.encoded() != data:
        raise corrupt(name, "its head is not in canonical form")
    return head


def _head(content: dict[str, Any]) -> Head:
    totals = Totals(**{one.name: _number(content[one.name]) for one in fields(Totals)})
    domains = tuple(
        Domain(str(one["name"]), _number(one["documents"]), _number(one["bytes"])) for one in content["domains"]
    )
    if not domains or list(domains) != sorted(set(domains)) or len({one.name for one in domains}) < len(domains):
        raise FaultError("its domains are not sorted, or one comes twice")
    digest = content["corpus_digest"]
    if digest is not None and (len(digest) != 64 or int(digest, 16) < 0):
        raise FaultError("its corpus digest is none")
    pattern, options = PatternSpec(**content["pattern"]), content["options"]
    if (
        not all(map(_plain, options.values()))
        or not isinstance(pattern.regex, str)
        or not isinstance(content["scheme"], str)
    ):
        raise FaultError("its head holds values of other types")
    return Head(content["scheme"], pattern, totals, digest, domains, options, _number(content["min_count"]))


def _plain(value: object) -> bool:
    if isinstance(value, list):
        return all(isinstance(one, str) for one in value)
    return value is None or isinstance(value, (str, int))


def _number(value: object) -> int:
    if type(value) is not int or not 0 <= value <= _MAX:
        raise FaultError(f"{value!r} is no count")
    return value


def _check_versions(content: Mapping[str, Any], name: str) -> None:
    from slmtok.schemes import SCHEMES

    known = {"behaviour": BEHAVIOUR, "Unicode version": UNICODE_VERSION}
    found = {"behaviour": content["behaviour"], "Unicode version": content["pattern"]["unicode"]}
    for what, value in known.items():
        if found[what] != value:
            raise UnsupportedVersion(
                f"{name} was counted with {what} {found[what]}",
                limit=f"this package cuts text with {what} {value}",
                fix="count again, or use the version of slmtok that made it",
                path=name,
            )
    if content["scheme"] not in SCHEMES:
        raise UnsupportedVersion(
            f"{name} was counted for the scheme {content['scheme']!r}",
            limit=f"this package knows {', '.join(SCHEMES)}",
            fix="install a newer slmtok",
            path=name,
        )


def check_same(heads: Sequence[Head], names: Sequence[str]) -> None:
    """Raises `OptionError`, naming two files, where counts were not cut alike."""
    first = heads[0]
    for head, name in zip(heads[1:], names[1:], strict=True):
        for what, ours, theirs in _cuts(first, head):
            if ours != theirs:
                raise OptionError(
                    f"{names[0]} and {name} were counted with different {what}",
                    where=f"{what} {_short(ours)} and {_short(theirs)}",
                    limit="counts that are merged must be cut alike",
                    fix=f"count one of them again with the {what} of the other",
                    option=what,
                )


def _cuts(first: Head, other: Head) -> list[tuple[str, object, object]]:
    told: list[tuple[str, object, object]] = [
        ("pattern", first.pattern.regex, other.pattern.regex),
        ("scheme", first.scheme, other.scheme),
    ]
    return told + [(name, first.options.get(name), other.options.get(name)) for name in CUTTING]


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def joined(heads: Sequence[Head], min_count: int = 1) -> Head:
    """The head of merged counts, which must be cut alike."""
    keys = sorted({key for head in heads for key in head.options})
    options = {key: _agreed([head.options.get(key) for head in heads]) for key in keys}
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


def _agreed(values: list[Any]) -> Any:
    return values[0] if all(value == values[0] and type(value) is type(values[0]) for value in values) else SEVERAL


def _domains(heads: Sequence[Head]) -> tuple[Domain, ...]:
    found: dict[str, Domain] = {}
    for domain in (domain for head in heads for domain in head.domains):
        before = found.get(domain.name, Domain(domain.name, 0, 0))
        found[domain.name] = Domain(domain.name, before.documents + domain.documents, before.bytes + domain.bytes)
    return tuple(found[name] for name in sorted(found))
