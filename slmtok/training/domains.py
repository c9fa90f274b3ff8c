"""Counting with named domains: one counter for each, so that training can weight them later.

The file determines the domain of a document. All files of a domain are counted together, unless a limit on the corpus
makes the order of documents matter.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from slmtok import _engine
from slmtok.aliases import Progress
from slmtok.corpus import ReadOptions, Skipped, Sources, find, read
from slmtok.errors import OptionError
from slmtok.training.counts import DomainCounts
from slmtok.training.counts_head import Totals
from slmtok.training.ingest import CorpusLike, CorpusStats, ingest
from slmtok.training.options import CountOptions

if TYPE_CHECKING:
    from slmtok._engine import Counter, Pattern

MIN_DOMAIN_BYTES = 8_000_000
"""Memory budget of one domain, at least."""


def count_domains(
    corpus: CorpusLike, pattern: Pattern, options: CountOptions, progress: Progress | None, stats: CorpusStats
) -> tuple[tuple[DomainCounts, ...], CorpusStats, Totals]:
    """The counts of each domain, sorted by name. Raises `OptionError` for texts, which come from no file."""
    if not isinstance(corpus, (str, os.PathLike, list, tuple)):
        raise OptionError(
            "domains= with texts, which come from no file",
            limit="a corpus of files",
            fix="count the texts of each domain, save the counts and merge them",
            option="domains",
        )
    names = options.read.domain_names
    counters = [_counter(pattern, options, len(names)) for _ in names]
    files = find(corpus, options.read)
    if not _limited(options):
        plain = replace(options.read, exclude=(), domains={})
        for domain, counter in enumerate(counters):
            matching = [path for path in files if options.read.domain_of(path) == domain]
            if matching:
                ingest(counter, files if len(matching) == len(files) else Sources(matching), plain, progress, stats)
    else:
        _in_order(files, counters, options, progress, stats)
    finished = [(name, counter.finish()) for name, counter in zip(names, counters, strict=True)]
    parts = tuple(DomainCounts(name, one.documents, one.bytes, one) for name, one in sorted(finished, key=_name))
    return parts, stats, _totals([part.native for part in parts], stats)


def _name(named: tuple[str, object]) -> str:
    return named[0]


def _counter(pattern: Pattern, options: CountOptions, number: int) -> Counter:
    budget = options.budget
    if budget is not None:
        budget = max(budget[0] // number, MIN_DOMAIN_BYTES), budget[1]
    doc_cap = None if _limited(options) else options.doc_cap
    return _engine.Counter(pattern, threads=options.threads, doc_cap=doc_cap, budget=budget)


def _limited(options: CountOptions) -> bool:
    return any(value is not None for value in (options.max_bytes, options.max_chars, options.read.max_docs))


def _in_order(
    files: list[str], counters: list[Counter], options: CountOptions, progress: Progress | None, stats: CorpusStats
) -> None:
    """Counts documents in the order of the corpus, up to its limits."""
    limited = replace(options.read, doc_cap=options.doc_cap, max_bytes=options.max_bytes, max_chars=options.max_chars)
    skipped = Skipped()
    for domain, documents in groupby(read(files, limited, skipped), key=lambda document: document.domain):
        ingest(counters[domain], _iterator(document.text for document in documents), ReadOptions(), progress, stats)
    stats.files = files
    stats.skipped = skipped
    stats.complete = not skipped.ended


def _iterator(texts: Iterable[bytes]) -> Iterator[bytes]:
    yield from texts


def _totals(natives: list[_engine.Counts], stats: CorpusStats) -> Totals:
    total = Totals(
        skipped_records=stats.skipped.records,
        capped_documents=stats.skipped.capped,
        capped_bytes=stats.skipped.capped_bytes,
    )
    for one in natives:
        total += Totals(
            one.documents,
            one.bytes,
            one.invalid_bytes,
            one.invalid_documents,
            one.gap_pieces,
            one.gap_bytes,
            one.capped_documents,
            one.capped_bytes,
        )
    return total
