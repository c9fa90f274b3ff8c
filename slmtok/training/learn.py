"""Learning a vocabulary from counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from slmtok import _engine
from slmtok.aliases import Progress
from slmtok.background import in_background
from slmtok.errors import OptionError, RequiredToken, Setting
from slmtok.options import TrainOptions
from slmtok.patterns import parse_pattern
from slmtok.schemes import SCHEMES, Learned, Limits, Scheme, pattern_of_scheme, too_many_required
from slmtok.specials import FIRST_LEARNED, default_specials
from slmtok.tokenizer import Tokenizer
from slmtok.training.counts import PretokenCounts
from slmtok.training.memory import check_merging
from slmtok.training.report import corpus_too_small
from slmtok.vocabulary import PatternSpec, Vocabulary


def validate_options(options: TrainOptions) -> None:
    """Learns from an empty corpus: raises, before any text is read, the errors that do not depend on the corpus.

    Among them are a `forbid_regex` that does not compile, and required tokens that are split, forbidden or too many.
    """
    kind = SCHEMES[options.scheme]
    pattern = parse_pattern(pattern_of_scheme(kind, options.pattern))
    specials = default_specials(options.special)
    try:
        counts = _engine.Counts.from_items(pattern, [])
        kind.learn(counts, options.n_vocab - FIRST_LEARNED, options.limits, specials, None, None)
    except RequiredToken as error:
        # The corpus may teach the missing parts.
        if not str(error.fields.get("reason")).startswith("can only be built"):
            raise


def learn(counts: PretokenCounts, options: TrainOptions, progress: Progress | None = None) -> tuple[Tokenizer, Learned]:
    """A tokenizer from counts. Raises `CorpusTooSmall`, `RequiredTooMany`, `NotEnoughMemory`, and as the engine."""
    kind = SCHEMES[options.scheme]
    _check_pattern(kind, counts)
    specials = default_specials(options.special)

    def work(native: _engine.Counts, limits: Limits) -> Learned:
        return kind.learn(native, options.n_vocab - FIRST_LEARNED, limits, specials, progress, None)

    learned, recorded = _run(counts, options, work)
    pattern = counts.native.pattern
    spec = PatternSpec(pattern.name, pattern.regex, _engine.UNICODE_VERSION)
    vocabulary = Vocabulary(options.scheme, spec, specials, merges=learned.merges, tokens=learned.tokens)
    _check_size(vocabulary, learned, options, counts)
    return Tokenizer(vocabulary, options=recorded, provenance=_provenance(counts)), learned


def learn_more(
    tokenizer: Tokenizer, counts: PretokenCounts, options: TrainOptions, progress: Progress | None = None
) -> tuple[Tokenizer, Learned]:
    """As `learn`, continuing after the tokens of a tokenizer: its ids stay."""
    kind, vocabulary = SCHEMES[tokenizer.scheme], tokenizer.vocabulary
    found, wanted = counts.native.pattern.regex, vocabulary.pattern.regex
    if found != wanted:
        raise OptionError(
            f"counts of the pattern {counts.native.pattern.name or found!r} cannot extend a tokenizer of another",
            limit=f"its pattern is {vocabulary.pattern.name or repr(wanted)}",
            fix=("count the text again with ", Setting("pattern", vocabulary.pattern.name or wanted)),
            option="pattern",
        )

    def work(native: _engine.Counts, limits: Limits) -> Learned:
        return kind.learn(native, options.n_vocab - FIRST_LEARNED, limits, vocabulary.specials, progress, vocabulary)

    learned, recorded = _run(counts, options, work)
    larger = replace(vocabulary, merges=learned.merges, tokens=learned.tokens)
    _check_size(larger, learned, options, counts)
    provenance = {**_provenance(counts), "source": "extended", "source_sha256": tokenizer.sha256}
    return Tokenizer(larger, options=recorded, provenance=provenance), learned


def learn_sizes(
    counts: PretokenCounts, sizes: Sequence[TrainOptions], progress: Progress | None = None
) -> list[tuple[Tokenizer, Learned]]:
    """As `learn` for options that differ in size alone: the largest is learned, the others are its prefixes.

    Ids never move and merges come in learning order, so the prefix is what training to that size gives, byte for byte.
    Only `require` looks ahead, because its tokens take the last ids: with it each size has a run of its own.
    """
    largest = max(sizes, key=lambda options: options.n_vocab)
    tokenizer, learned = learn(counts, largest, progress)
    made: list[tuple[Tokenizer, Learned]] = []
    for options in sizes:
        if options.n_vocab == largest.n_vocab:
            made.append((tokenizer, learned))
        elif options.limits.require:
            made.append(learn(counts, options, progress))
        else:
            made.append(_prefix(tokenizer, learned, options.n_vocab))
    return made


def _prefix(tokenizer: Tokenizer, learned: Learned, size: int) -> tuple[Tokenizer, Learned]:
    """The result of a run to `size` ids."""
    vocabulary = tokenizer.vocabulary.slice(min(size, tokenizer.n_vocab))
    small = Tokenizer(vocabulary, options={**tokenizer.options, "vocab": size}, provenance=tokenizer.provenance)
    if learned.merges:
        made = len(vocabulary.merges)
        next_count = learned.counts[made] if made < len(learned.counts) else learned.next_count
        part = replace(learned, merges=learned.merges[:made], counts=learned.counts[:made], next_count=next_count)
    else:
        made = vocabulary.n_vocab - FIRST_LEARNED
        part = replace(learned, tokens=learned.tokens[:made], counts=learned.counts[:made])
    # A refused token came before the last merge if it was more frequent.
    last = part.counts[-1] if part.counts else 0
    return small, replace(part, refused=tuple(one for one in learned.refused if one[2] > last), result=None)


def _run(
    counts: PretokenCounts, options: TrainOptions, work: Callable[[_engine.Counts, Limits], Learned]
) -> tuple[Learned, dict[str, Any]]:
    """What `work` learns from the weighted counts, and the options as a tokenizer file records them."""
    weighted = counts.mixed(options.mix, temperature=options.temperature) if options.is_weighted else counts
    if options.scheme == "bpe":
        check_merging(weighted.merge_memory, weighted.distinct)
    # The digest of the counts takes a third of the time of the merges, so both run at once.
    with in_background(lambda: counts.sha256) as digest:
        learned = work(weighted.native, options.limits.scaled(weighted.scale)).unscaled(weighted.scale)
        digest()
    return learned, {**weighted.options, **options.train_record()}


def _check_size(vocabulary: Vocabulary, learned: Learned, options: TrainOptions, counts: PretokenCounts) -> None:
    if vocabulary.n_vocab < options.n_vocab and not options.allow_smaller:
        raise corpus_too_small(vocabulary.n_vocab, learned, options, counts)
    if vocabulary.n_vocab > options.n_vocab:
        raise too_many_required(vocabulary.n_vocab - FIRST_LEARNED, options.n_vocab - FIRST_LEARNED)


def _check_pattern(kind: Scheme, counts: PretokenCounts) -> None:
    """Raises `OptionError` for counts whose pattern the scheme cannot use."""
    if kind.own_pattern:
        return
    own = _engine.Pattern(kind.pattern).regex
    if counts.native.pattern.regex != own:
        raise OptionError(
            f"counts made with pattern {counts.native.pattern.regex!r} cannot train scheme {kind.name}",
            limit=f"its pattern is {own!r}",
            fix=("count again with ", Setting("scheme", kind.name)),
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
