"""Counting a corpus and learning from counts: the two steps of training, each a function of values."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from slmtok import _engine
from slmtok.aliases import Progress
from slmtok.errors import CorpusTooSmall, InvalidOption, RequiredTooMany
from slmtok.schemes import Learned, Scheme, scheme
from slmtok.specials import FIRST_LEARNED, default_specials
from slmtok.tokenizer import Tokenizer
from slmtok.training.counts import PretokenCounts
from slmtok.training.feed import Corpus, feed
from slmtok.training.options import CountOptions, TrainOptions, pattern_spec
from slmtok.vocabulary import PatternSpec, Vocabulary

if TYPE_CHECKING:
    from slmtok.specials import Specials


def count_corpus(
    corpus: Corpus, kind: str, pattern: str | None, options: CountOptions, progress: Progress | None
) -> PretokenCounts:
    """Counts the pieces of a corpus under the pattern of a scheme."""
    begun = time.perf_counter()
    compiled = _engine.Pattern(pattern_spec(scheme(kind), pattern))
    counter = _engine.Counter(
        compiled,
        threads=options.threads,
        doc_cap=options.doc_cap,
        max_chars=options.max_chars,
        max_bytes=options.max_bytes,
    )
    fed = feed(counter, corpus, options.read, progress)
    counts = counter.finish()
    return PretokenCounts(counts, fed, kind, options.recorded(), time.perf_counter() - begun)


def learn(counts: PretokenCounts, options: TrainOptions, progress: Progress | None = None) -> tuple[Tokenizer, Learned]:
    """A tokenizer from counts. Raises `CorpusTooSmall`, `RequiredTooMany` and what the engine raises."""
    kind = scheme(options.scheme)
    _check_pattern(kind, counts)
    specials = default_specials(options.special)
    room = options.size - FIRST_LEARNED
    with ThreadPoolExecutor(1) as pool:
        # The digest of the counts takes as long as a third of the merges; it need not wait for them.
        digest = pool.submit(lambda: counts.sha256)
        learned = kind.learn(counts.native, room, options.limits, specials, progress)
        digest.result()
    vocabulary = _vocabulary(counts, options, specials, learned)
    if vocabulary.n_vocab < options.size and not options.allow_smaller:
        raise _too_small(vocabulary, learned, options)
    if vocabulary.n_vocab > options.size:
        raise RequiredTooMany(
            f"the required tokens take {vocabulary.n_vocab - FIRST_LEARNED} ids, there are {room}",
            fix="raise --vocab, or require fewer tokens",
            needed=vocabulary.n_vocab - FIRST_LEARNED,
            available=room,
        )
    tokenizer = Tokenizer(vocabulary, options={**counts.options, **options.recorded()}, provenance=_provenance(counts))
    return tokenizer, learned


def _check_pattern(kind: Scheme, counts: PretokenCounts) -> None:
    """Raises `InvalidOption` where counts were made with a pattern that the scheme cannot use."""
    if kind.own_pattern:
        return
    own = _engine.Pattern(kind.pattern).regex
    if counts.native.pattern.regex != own:
        raise InvalidOption(
            f"counts made with pattern {counts.native.pattern.regex!r} cannot train scheme {kind.name}",
            limit=f"its pattern is {own!r}",
            fix=f"slmtok.count(corpus, scheme={kind.name!r})",
            option="scheme",
        )


def _vocabulary(counts: PretokenCounts, options: TrainOptions, specials: Specials, learned: Learned) -> Vocabulary:
    pattern = counts.native.pattern
    spec = PatternSpec(pattern.name, pattern.regex, _engine.UNICODE_VERSION)
    return Vocabulary(options.scheme, spec, specials, merges=learned.merges, tokens=learned.tokens)


def _provenance(counts: PretokenCounts) -> dict[str, Any]:
    return {
        "package": f"slmtok {_engine.VERSION}",
        "counts_sha256": counts.sha256,
        "corpus_digest": counts.fed.corpus_digest,
        "documents": counts.documents,
        "bytes": counts.bytes,
    }


def _too_small(vocabulary: Vocabulary, learned: Learned, options: TrainOptions) -> CorpusTooSmall:
    made, asked = vocabulary.n_vocab - FIRST_LEARNED, options.size - FIRST_LEARNED
    what, best = ("merge", "pair") if options.scheme == "bpe" else ("token", "piece")
    left = learned.next_count
    times = {0: f"no {best} is left", 1: f"the next best {best} occurs once", 2: f"the next best {best} occurs twice"}
    remedies = [f"--vocab {vocabulary.n_vocab}"]
    if 0 < left < options.min_count:
        remedies.append(f"--min-count {left}")
    remedies.append("--allow-smaller to accept the smaller file")
    return CorpusTooSmall(
        f"corpus supports {vocabulary.n_vocab} ids, --vocab asked for {options.size}",
        where=f"{what} {made} of {asked}; {times.get(left, f'the next best {best} occurs {left} times')}",
        limit=f"--min-count {options.min_count}",
        fix=", or ".join(remedies),
        supported=vocabulary.n_vocab,
        asked=options.size,
        next_count=left,
    )
