"""Counting a corpus: one counter, or one for each named domain so that training can weight them later.

The file determines the domain of a document. All files of a domain are counted together, unless a limit on the corpus
makes the order of documents matter.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from slmtok import _engine
from slmtok.corpus import Skipped, Sources, find, read
from slmtok.corpus.paths import domain_of
from slmtok.corpus.text_keys import explain_keys
from slmtok.errors import DocumentTooLarge, MalformedRecord, MissingInput, OptionError, Setting
from slmtok.files import mention_texts
from slmtok.options import CountOptions, ReadOptions
from slmtok.patterns import parse_pattern
from slmtok.schemes import SCHEMES, pattern_of_scheme
from slmtok.specials import FIRST_LEARNED
from slmtok.training.counts import DomainCounts, PretokenCounts
from slmtok.training.counts_format import Totals
from slmtok.training.ingest import CorpusLike, CorpusStats, Observers, ingest
from slmtok.training.memory import engine_budget, largest_record, memory_limit, remove_stale_spills

if TYPE_CHECKING:
    from slmtok._engine import Counter, Pattern
    from slmtok.aliases import Progress

MIN_DOMAIN_BYTES = 8_000_000
"""Memory budget of one domain, at least."""


def count_corpus(
    corpus: CorpusLike, options: CountOptions, progress: Progress | None, observers: Observers | None = None
) -> PretokenCounts:
    """Counts the pieces of a corpus under the pattern of the scheme."""
    begin = time.perf_counter()
    pattern = parse_pattern(pattern_of_scheme(SCHEMES[options.scheme], options.pattern))
    memory = memory_limit(options.memory)
    wanted = options.max_doc_bytes
    options = replace(options, max_doc_bytes=min(wanted, largest_record(memory)))
    budget = engine_budget(memory, options.spill_dir)
    if budget is not None:
        remove_stale_spills(budget[1])
    stats = CorpusStats(observers=observers or Observers())
    parts: tuple[DomainCounts, ...] = ()
    totals = None
    try:
        if options.domains:
            parts, totals = _count_domains(corpus, pattern, options, budget, progress, stats)
            native = _engine.weighted_counts(pattern, [(part.native, 1) for part in parts])
        else:
            native = _count(corpus, pattern, options, budget, progress, stats)
    except MissingInput as error:
        few = _too_few(corpus, options)
        single_fix = f"slmtok.Texts([text]){few}, if it is a text; else check the name"
        mention_texts(error, corpus, f"slmtok.Texts([texts]){few}, if they are texts; else check the names", single_fix)
        raise
    except MalformedRecord as error:
        explain_keys(error, corpus, options)
        raise
    except DocumentTooLarge as error:
        if memory is not None:
            _name_memory(error, options, wanted, memory)
        raise
    return PretokenCounts(
        native,
        stats,
        options.scheme,
        options.count_record(),
        time.perf_counter() - begin,
        memory,
        parts=parts,
        totals_read=totals,
    )


_MAX_PROPOSED_BYTES = 64_000_000_000
"""Most memory that an error proposes for the size of a file."""


def _name_memory(error: DocumentTooLarge, options: CountOptions, wanted: int, memory: int) -> None:
    """Names the memory as the caller gave it, where its share is the limit and not `wanted`, the limit on documents."""
    given = Setting("memory", memory if options.memory is None else options.memory)
    limit = error.parts["limit"]
    if error.fields.get("bytes") == options.max_doc_bytes < wanted:
        error.limit = ("an eighth of ", given, ", for a document that is held as a whole")
    elif isinstance(limit, tuple) and Setting("memory") in limit:
        error.limit = tuple(given if part == Setting("memory") else part for part in limit)
    else:
        return
    fix = error.parts["fix"]
    # Another way than a larger limit, which is named last.
    ways = fix[:-1] if isinstance(fix, tuple) else (fix or "",)
    ways = tuple(part.removesuffix(", or raise ") if isinstance(part, str) else part for part in ways)
    enough = memory + 1_000_000_000
    path = str(error.parts["where"]).partition(", ")[0]
    if os.path.isfile(path):  # noqa: PTH113  (of a text it may be no path)
        # A document has at most the bytes of its file; more than a few gigabytes are for the other ways.
        enough = max(enough, min(8 * os.path.getsize(path), _MAX_PROPOSED_BYTES))  # noqa: PTH202
    error.fix = (Setting("memory", f"{math.ceil(enough / 1e9)}GB"), " or more, or ", *ways)


def _count(
    corpus: CorpusLike,
    pattern: Pattern,
    options: CountOptions,
    budget: tuple[int, str] | None,
    progress: Progress | None,
    stats: CorpusStats,
) -> _engine.Counts:
    # The counter ends inside a batch whose later documents are not counted. Observers must not see those, so the reader
    # applies the limits for them. It does not with a cap, which would truncate documents before they are hashed.
    reader_ends = bool(stats.observers) and options.max_doc_chars is None
    limits = {"max_chars": options.max_chars, "max_bytes": options.max_bytes}
    counter = _engine.Counter(
        pattern,
        threads=options.threads,
        max_doc_chars=options.max_doc_chars,
        budget=budget,
        **({} if reader_ends else limits),
    )
    read = replace(options, max_doc_chars=None)
    if not reader_ends:
        read = replace(read, max_chars=None, max_bytes=None)
    ingest(counter, corpus, read, progress, stats)
    return counter.finish()


def _too_few(corpus: object, options: CountOptions) -> str:
    """Of texts that were given as paths: what a training needs besides, where they support fewer ids than asked for."""
    size, min_count = getattr(options, "n_vocab", 0), getattr(options, "min_count", 1)
    texts = [corpus] if isinstance(corpus, str) else corpus if isinstance(corpus, (list, tuple)) else []
    n_bytes = sum(len(each.encode("utf-8", "replace")) for each in texts if isinstance(each, str))
    # Each learned token occurs `min_count` times, and each time it takes a byte at least.
    if getattr(options, "allow_smaller", True) or size <= FIRST_LEARNED + n_bytes // max(1, min_count):
        return ""
    return f" with allow_smaller=True, as {n_bytes:,} bytes of text are too few for vocab_size={size}"


def _count_domains(
    corpus: CorpusLike,
    pattern: Pattern,
    options: CountOptions,
    budget: tuple[int, str] | None,
    progress: Progress | None,
    stats: CorpusStats,
) -> tuple[tuple[DomainCounts, ...], Totals]:
    """The counts of each domain, sorted by name. Raises `OptionError` for texts, which come from no file."""
    if not isinstance(corpus, (str, os.PathLike, list, tuple)):
        raise OptionError(
            (Setting("domains"), " with texts, which come from no file"),
            limit="a corpus of files",
            fix="count the texts of each domain, save the counts and merge them",
            option="domains",
        )
    names = options.domain_names
    limited = any(value is not None for value in (options.max_bytes, options.max_chars, options.max_docs))
    if budget is not None:
        budget = max(budget[0] // len(names), MIN_DOMAIN_BYTES), budget[1]
    limits = {"max_doc_chars": None if limited else options.max_doc_chars}
    counters = [_engine.Counter(pattern, threads=options.threads, budget=budget, **limits) for _ in names]
    files = find(corpus, options)
    if limited:
        _count_in_order(files, counters, options, progress, stats)
    else:
        plain = replace(options, exclude=(), domains={}, max_doc_chars=None)
        for domain, counter in enumerate(counters):
            matching = [path for path in files if domain_of(options, path) == domain]
            if matching:
                ingest(counter, files if len(matching) == len(files) else Sources(matching), plain, progress, stats)
    finished = sorted(zip(names, counters, strict=True), key=lambda named: named[0])
    parts = tuple(_domain(name, counter.finish()) for name, counter in finished)
    return parts, _totals([part.native for part in parts], stats)


def _domain(name: str, counts: _engine.Counts) -> DomainCounts:
    return DomainCounts(name, counts.documents, counts.bytes, counts)


def _count_in_order(
    files: list[str], counters: list[Counter], options: CountOptions, progress: Progress | None, stats: CorpusStats
) -> None:
    """Counts documents in the order of the corpus, up to its limits."""
    skipped = Skipped()
    for domain, documents in groupby(read(files, options, skipped), key=lambda document: document.domain):
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
    return sum((Totals.of(one) for one in natives), start=total)
