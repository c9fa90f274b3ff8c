"""Counting a corpus and learning from counts: the two steps of training, each a function of values."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from slmtok import _engine
from slmtok.aliases import Progress
from slmtok.errors import OptionError, RequiredToken
from slmtok.patterns import parse_pattern
from slmtok.schemes import Learned, Limits, Scheme, scheme, too_many_required
from slmtok.specials import FIRST_LEARNED, default_specials
from slmtok.tokenizer import Tokenizer
from slmtok.training.counts import PretokenCounts
from slmtok.training.domains import count_domains
from slmtok.training.ingest import CorpusLike, CorpusStats, Observers, ingest
from slmtok.training.memory import check_merging, sweep_spills
from slmtok.training.options import CountOptions, TrainOptions, pattern_spec
from slmtok.training.too_small import too_small
from slmtok.vocabulary import PatternSpec, Vocabulary


def count_corpus(
    corpus: CorpusLike,
    kind: str,
    pattern: str | None,
    options: CountOptions,
    progress: Progress | None,
    observers: Observers | None = None,
) -> PretokenCounts:
    """Counts the pieces of a corpus under the pattern of a scheme."""
    begun = time.perf_counter()
    observers = observers or Observers()
    compiled = parse_pattern(pattern_spec(scheme(kind), pattern))
    memory = options.memory if isinstance(options.memory, int) else None
    if options.budget is not None:
        sweep_spills(options.budget[1])
    if options.read.domains:
        stats = CorpusStats(observers=observers)
        parts, stats, totals = count_domains(corpus, compiled, options, progress, stats)
        native = _engine.weighted_counts(compiled, [(part.native, 1) for part in parts])
        seconds = time.perf_counter() - begun
        return PretokenCounts(native, stats, kind, options.recorded(), seconds, memory, parts=parts, totals_read=totals)
    # The counter ends inside a batch whose later documents are not counted. Observers must not see those, so the reader
    # applies the limits for them. It does not with a cap, which would truncate documents before they are hashed.
    reader_ends = bool(observers) and options.doc_cap is None
    read = (
        replace(options.read, max_chars=options.max_chars, max_bytes=options.max_bytes) if reader_ends else options.read
    )
    counter = _engine.Counter(
        compiled,
        threads=options.threads,
        doc_cap=options.doc_cap,
        max_chars=None if reader_ends else options.max_chars,
        max_bytes=None if reader_ends else options.max_bytes,
        budget=options.budget,
    )
    stats = ingest(counter, corpus, read, progress, CorpusStats(observers=observers))
    counts = counter.finish()
    return PretokenCounts(counts, stats, kind, options.recorded(), time.perf_counter() - begun, memory)


def rehearse(options: TrainOptions, pattern: str | None) -> None:
    """Learns from no text at all. Raises what learning would raise whatever the corpus: to be told before it is read.

    So for `forbid_regex` that does not compile, and for required tokens that are cut, forbidden or too many.
    """
    kind = scheme(options.scheme)
    nothing = _engine.Counts.from_items(parse_pattern(pattern_spec(kind, pattern)), [])
    try:
        kind.learn(nothing, options.size - FIRST_LEARNED, options.limits, default_specials(options.special), None)
    except RequiredToken as error:
        # A corpus may bring the parts that are missing here.
        if not str(error.fields.get("reason")).startswith("can only be built"):
            raise


def learn(counts: PretokenCounts, options: TrainOptions, progress: Progress | None = None) -> tuple[Tokenizer, Learned]:
    """A tokenizer from counts. Raises `CorpusTooSmall`, `RequiredTooMany`, `NotEnoughMemory`, and as the engine."""
    kind = scheme(options.scheme)
    _check_pattern(kind, counts)
    specials = default_specials(options.special)

    def work(native: _engine.Counts, limits: Limits) -> Learned:
        return kind.learn(native, options.size - FIRST_LEARNED, limits, specials, progress)

    learned, recorded = _learned(counts, options, work)
    pattern = counts.native.pattern
    spec = PatternSpec(pattern.name, pattern.regex, _engine.UNICODE_VERSION)
    vocabulary = Vocabulary(options.scheme, spec, specials, merges=learned.merges, tokens=learned.tokens)
    _check_size(vocabulary, learned, options, counts)
    return Tokenizer(vocabulary, options=recorded, provenance=_provenance(counts)), learned


def extend_counts(
    tokenizer: Tokenizer, counts: PretokenCounts, options: TrainOptions, progress: Progress | None = None
) -> tuple[Tokenizer, Learned]:
    """As `learn`, after what the tokenizer has learned already: its ids stay."""
    kind, vocabulary = scheme(tokenizer.scheme), tokenizer.vocabulary
    found, wanted = counts.native.pattern.regex, vocabulary.pattern.regex
    if found != wanted:
        raise OptionError(
            f"counts made with pattern {found!r} cannot extend a tokenizer with another",
            limit=f"its pattern is {wanted!r}",
            fix="count again with the tokenizer's pattern",
            option="pattern",
        )

    def work(native: _engine.Counts, limits: Limits) -> Learned:
        return kind.extend(native, options.size - FIRST_LEARNED, limits, vocabulary, progress)

    learned, recorded = _learned(counts, options, work)
    larger = replace(vocabulary, merges=learned.merges, tokens=learned.tokens)
    _check_size(larger, learned, options, counts)
    provenance = {**_provenance(counts), "source": "extended", "source_sha256": tokenizer.sha256}
    return Tokenizer(larger, options=recorded, provenance=provenance), learned


def _learned(
    counts: PretokenCounts, options: TrainOptions, work: Callable[[_engine.Counts, Limits], Learned]
) -> tuple[Learned, dict[str, Any]]:
    """What `work` learns of the counts under their weights, and the options as a tokenizer file records them."""
    weighed = counts.mixed(options.mix, temperature=options.temperature) if options.weighs else counts
    if options.scheme == "bpe":
        check_merging(weighed.merge_memory, weighed.distinct)
    with ThreadPoolExecutor(1) as pool:
        # The digest of the counts takes as long as a third of the merges; it need not wait for them.
        digest = pool.submit(lambda: counts.sha256)
        learned = work(weighed.native, options.limits.scaled(weighed.scale)).unscaled(weighed.scale)
        digest.result()
    return learned, {**weighed.options, **options.recorded()}


def _check_size(vocabulary: Vocabulary, learned: Learned, options: TrainOptions, counts: PretokenCounts) -> None:
    if vocabulary.n_vocab < options.size and not options.allow_smaller:
        raise too_small(vocabulary.n_vocab, learned, options, counts)
    if vocabulary.n_vocab > options.size:
        raise too_many_required(vocabulary.n_vocab - FIRST_LEARNED, options.size - FIRST_LEARNED)


def _check_pattern(kind: Scheme, counts: PretokenCounts) -> None:
    """Raises `OptionError` where counts were made with a pattern that the scheme cannot use."""
    if kind.own_pattern:
        return
    own = _engine.Pattern(kind.pattern).regex
    if counts.native.pattern.regex != own:
        raise OptionError(
            f"counts made with pattern {counts.native.pattern.regex!r} cannot train scheme {kind.name}",
            limit=f"its pattern is {own!r}",
            fix=f"slmtok.count(corpus, scheme={kind.name!r})",
            option="scheme",
        )


def _provenance(counts: PretokenCounts) -> dict[str, Any]:
    return {
        "package": f"slmtok {_engine.VERSION}",
        "counts_sha256": counts.sha256,
        "corpus_digest": counts.stats.corpus_digest,
        "documents": counts.documents,
        "bytes": counts.bytes,
    }
