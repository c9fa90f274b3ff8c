"""`slmtok.train` and `slmtok.count`. Every option is a field of `slmtok.options`, and a keyword here."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from slmtok.calls import argument_text, call_text, explains_calls, warn_if_used_up
from slmtok.checks import check_type
from slmtok.corpus import find
from slmtok.corpus.contents import no_text
from slmtok.corpus.reading import check_given_key
from slmtok.errors import OptionError, Setting, UnknownOption, WrongType
from slmtok.foreign_options import OUTPUTS
from slmtok.option_values import size_meant
from slmtok.options import (
    CountOptions,
    Options,
    ReadOptions,
    TrainOptions,
    build_options,
    changed_options,
    documents_options,
    option_specs,
)
from slmtok.training.counting import count_corpus
from slmtok.training.counts import PretokenCounts
from slmtok.training.counts_format import settings_to_count
from slmtok.training.ingest import CorpusLike, Observers
from slmtok.training.learn import learn_sizes, validate_options
from slmtok.training.memory import peak_memory
from slmtok.training.notes import warn_of_corpus
from slmtok.training.report import TrainReport, make_report
from slmtok.training.texts import Texts, check_source, explains_iterators

if TYPE_CHECKING:
    from slmtok.aliases import Progress
    from slmtok.corpus.profile import CorpusProfile
    from slmtok.schemes import Learned
    from slmtok.tokenizer import Tokenizer
    from slmtok.training.doc_digests import DocDigests


@dataclass(frozen=True)
class Trained:
    """The result of a training run; `learned.result` is the engine's own result (scheme `bpe`)."""

    tokenizer: Tokenizer
    counts: PretokenCounts
    learned: Learned
    learn_seconds: float
    peak_memory: int | None = field(default_factory=peak_memory)
    """Peak memory of the process in bytes when training ended, None where the system does not report it."""

    @cached_property
    def report(self) -> TrainReport:
        """What the run read and learned. Encodes a sample of the corpus, so it is made on request."""
        return make_report(
            self.counts, self.tokenizer, self.learned, learn_seconds=self.learn_seconds, peak_memory=self.peak_memory
        )


@explains_calls
@documents_options(TrainOptions)
def train(
    corpus: CorpusLike | PretokenCounts,
    options: TrainOptions | None = None,
    *,
    progress: Progress | None = None,
    **keywords: object,
) -> Tokenizer:
    """Trains a tokenizer: `slmtok.train("corpus.txt", vocab_size=8192)`.

    corpus: a path (file, folder, glob, "-"), a list or tuple of paths; documents, as `slmtok.Texts(list)` or any
        iterator of str or bytes; or counts, with which options of reading have no effect and are refused.
    options: a `TrainOptions`; its fields are also keywords. progress: called with (stage, done, total).

    Raises `CorpusTooSmall`, `VocabularyTooSmall`, `MissingInput`, `MalformedRecord`, `InvalidPattern`, `OptionError`,
    `UnknownOption`, `RequiredToken`, `UnknownName`, `Unreadable`, `DiskFull`, `NotEnoughMemory`, and `CountOverflow`
    beyond 64 bits.
    """
    _refuse_output("train", corpus, options, keywords)
    return train_with_report(corpus, options, progress=progress, **keywords).tokenizer


def _refuse_output(function: str, corpus: object, options: object, keywords: Mapping[str, object]) -> None:
    """Raises for the file of the result among the arguments: `WrongType` for a path, `UnknownOption` for `output`."""
    named = next((name for name in keywords if name in OUTPUTS), None)
    path = options if named is None else keywords[named]
    # A number in digits is the size of the vocabulary, which `build_options` says.
    is_size = function == "train" and named is None and size_meant(path) is not None
    if not isinstance(path, (str, os.PathLike)) or (is_size and not os.path.exists(path)):  # noqa: PTH110
        return
    rest = {name: value for name, value in keywords.items() if name != named}
    if function == "train" and named is None and (size := size_meant(corpus)) is not None and not rest:
        fact = f"the corpus is {type(corpus).__name__}, and the path has another place"
        raise WrongType(fact, fix=call_text("slmtok.train", [path], {"vocab_size": size}))
    if type(corpus).__name__ == "Tokenizer" and named is None and os.path.exists(path):  # noqa: PTH110
        fact = "the corpus is Tokenizer, and the path has another place"
        raise WrongType(fact, limit=f"{function}(corpus, ...)", fix=call_text(f"slmtok.{function}", [path], rest))
    kept = options if isinstance(options, Options) else None
    fix = f"{call_text(f'slmtok.{function}', [corpus], rest, kept)}.save({argument_text(path)})"
    if named is None and isinstance(corpus, (str, os.PathLike)) and os.path.exists(path):  # noqa: PTH110
        fix = call_text(f"slmtok.{function}", [[os.fspath(corpus), os.fspath(path)]], rest)
        raise WrongType("several texts are a list of paths", fix=fix)
    if named is None:
        raise WrongType(f"{function}() takes options by name, not the path {os.fspath(path)!r}", fix=fix)
    result, known = ("counts", CountOptions) if function == "count" else ("tokenizer", TrainOptions)
    if rest.keys() <= {each.name for each in fields(known)}:
        limit = f"{function} returns the {result}"
        raise UnknownOption(f"unknown option {named!r}", limit=limit, fix=fix, option=named)


def _refuse_tokenizer(corpus: object, options: object, keywords: Mapping[str, object]) -> None:
    """Raises for a tokenizer among the arguments of `count`, with the call that counts its tokens."""
    given = keywords.get("tokenizer", options)
    is_path = "tokenizer" in keywords and isinstance(given, (str, os.PathLike))
    if type(given).__name__ != "Tokenizer" and not is_path:
        return
    opened = f"tok = {call_text('slmtok.load', [given], {})}; " if is_path else ""
    texts = "texts"
    if isinstance(corpus, (str, os.PathLike)):
        texts = f"[open({os.fspath(corpus)!r}, encoding='utf-8').read()]"
    elif isinstance(corpus, (list, tuple)) and all(isinstance(each, (str, os.PathLike)) for each in corpus):
        texts = f"[open(path, encoding='utf-8').read() for path in {argument_text(corpus, 'paths')}]"
    raise (UnknownOption if "tokenizer" in keywords else WrongType)(
        "count() takes no tokenizer: it counts pretokens, from which a tokenizer is trained",
        limit="count(corpus, ...); a tokenizer counts its tokens",
        fix=f"{opened}tok.count_tokens({texts})",
        option="tokenizer",
    )


@explains_calls
@documents_options(TrainOptions)
def train_with_report(
    corpus: CorpusLike | PretokenCounts,
    options: TrainOptions | None = None,
    *,
    progress: Progress | None = None,
    **keywords: object,
) -> Trained:
    """As `train`, with counts, merges and a report besides."""
    return train_sizes(corpus, None, options, progress=progress, **keywords)[0]


@explains_calls
@documents_options(TrainOptions)
def train_sizes(
    corpus: CorpusLike | PretokenCounts,
    sizes: Sequence[int] | None,
    options: TrainOptions | None = None,
    *,
    progress: Progress | None = None,
    **keywords: object,
) -> list[Trained]:
    """A run for each size in `sizes`, in their order, with one pass over the corpus; None is `vocab_size` alone.

    Each tokenizer equals that of a run of its own.
    """
    if "save_counts" in keywords:
        raise _saving_counts(corpus, keywords)
    if isinstance(corpus, PretokenCounts) and options is None:
        keywords = {"scheme": corpus.scheme, **keywords}
    options = build_options(TrainOptions, options, keywords)
    listed = [replace(options, vocab_size=size) for size in sizes] if sizes is not None else [options]
    if isinstance(corpus, PretokenCounts):
        check_no_reading(options, corpus)
        counts = corpus
    else:
        for each in listed:
            validate_options(each)
        with explains_iterators(corpus):
            counts = _counted(corpus, options, keywords, progress)
            return train_counts(counts, listed, progress)
    return train_counts(counts, listed, progress)


def _counted(
    corpus: CorpusLike, options: TrainOptions, keywords: Mapping[str, object], progress: Progress | None
) -> PretokenCounts:
    """The counts of the corpus of a training, with the warnings about it."""
    corpus = check_source(corpus, options, "slmtok.train")
    check_given_key(corpus, options, keywords)
    if options.is_weighted:
        from slmtok.training.mixing import check_named

        files: Any = corpus if isinstance(corpus, (str, os.PathLike, list, tuple)) else None
        check_named(options, () if files is None else find(files, options))
    counts = count_corpus(corpus, options, progress)
    warn_of_corpus(counts)
    return counts


def _saving_counts(corpus: object, keywords: Mapping[str, object]) -> UnknownOption:
    """The error for `--save-counts` of the command; its fix counts with the other options that `count` has."""
    known = {name for name, _, _ in option_specs(CountOptions)}
    counting = call_text("slmtok.count", [corpus], {name: value for name, value in keywords.items() if name in known})
    counts = "counts" if isinstance(corpus, PretokenCounts) else counting
    return UnknownOption(
        "unknown option 'save_counts'",
        limit="slmtok.count gives counts, which slmtok.train takes in place of a corpus",
        fix=f"{counts}.save({argument_text(keywords['save_counts'], 'path')})",
        option="save_counts",
    )


def train_counts(
    counts: PretokenCounts, options: Sequence[TrainOptions], progress: Progress | None = None
) -> list[Trained]:
    """A run for each of `options`, which differ in size alone; their options of reading have no effect."""
    require_text(counts)
    begin = time.perf_counter()
    made = learn_sizes(counts, options, progress)
    seconds = time.perf_counter() - begin
    return [Trained(tokenizer, counts, learned, seconds) for tokenizer, learned in made]


def require_text(counts: PretokenCounts) -> None:
    """Raises `CorpusTooSmall` for counts without a piece of text."""
    if not counts.distinct:
        documents = counts.totals.documents
        skipped = counts.stats.skipped
        found = f"{documents:,} document{'' if documents == 1 else 's'} of 0 bytes"
        error = no_text(found, malformed=skipped.records, sampled=skipped.sampled)
        if not documents and not counts.stats.files and not skipped.sampled:
            error.fix = "give texts; an iterator that was used up gives none"
        raise error


def check_no_reading(options: TrainOptions, counts: PretokenCounts) -> None:
    """Raises `OptionError` for options of reading, which have no effect on counts."""
    names, pattern = [*(one.name for one in fields(ReadOptions)), "pattern", "memory"], counts.native.pattern
    changed = changed_options(options, names)
    given = {name: getattr(options, name) for name in changed}
    for name in changed:
        # Without domains, weights of them are refused next.
        weights = [each for each in ("mix", "temperature") if getattr(options, each, None)] if name == "domains" else []
        left_out = " and ".join([name, *weights]) if weights else "it"
        has = f" with pattern {pattern.name or pattern.regex!r}" if name == "pattern" else ""
        raise OptionError(
            (Setting(name, given[name]), f" has no effect on counts, which are read already{has}"),
            fix=(
                "slmtok.count(CORPUS",
                *(part for setting in settings_to_count(pattern, counts.scheme, given) for part in (", ", setting)),
                f") reads the text again; or leave {left_out} out, for the counts as they are",
            ),
            option=name,
        )


def _check_observers(doc_digests: object, profile: object) -> None:
    if doc_digests is not None or profile is not None:
        from slmtok.corpus.profile import CorpusProfile
        from slmtok.training.doc_digests import DocDigests

        for name, value, kind in (("doc_digests", doc_digests, DocDigests), ("profile", profile, CorpusProfile)):
            fix = f"from {kind.__module__} import {kind.__name__}, then {name}={kind.__name__}()"
            check_type(name, value, kind, fix)


@explains_calls
@documents_options(CountOptions)
def count(
    corpus: CorpusLike,
    options: CountOptions | None = None,
    *,
    progress: Progress | None = None,
    doc_digests: DocDigests | None = None,
    profile: CorpusProfile | None = None,
    **keywords: object,
) -> PretokenCounts:
    """Counts the pieces of a corpus, for training any number of times. Corpus and errors as in `train`.

    doc_digests: a `slmtok.training.doc_digests.DocDigests` that receives the digest of every document.
    profile: a `slmtok.corpus.profile.CorpusProfile` that receives lengths and duplicates.
    """
    _refuse_tokenizer(corpus, options, keywords)
    _refuse_output("count", corpus, options, keywords)
    options = build_options(CountOptions, options, keywords)
    _check_observers(doc_digests, profile)
    source = corpus.texts if isinstance(corpus, Texts) else corpus
    with explains_iterators(source):
        corpus = check_source(corpus, options, "slmtok.count")
        check_given_key(corpus, options, keywords)
        counts = count_corpus(corpus, options, progress, Observers(doc_digests, profile))
    warn_if_used_up(source, counts.stats.documents)
    warn_of_corpus(counts)
    return counts
