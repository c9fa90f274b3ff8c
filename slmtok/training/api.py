"""`slmtok.train` and `slmtok.count`: the calls that people make, with every option spelled out."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from slmtok.checks import check_progress
from slmtok.corpus import MoreReading, ReadOptions
from slmtok.specials import role_spellings
from slmtok.training.counts import PretokenCounts
from slmtok.training.ingest import CorpusLike, Observers
from slmtok.training.memory import peak_memory
from slmtok.training.options import CountOptions, TrainOptions, required
from slmtok.training.report import TrainReport, make_report
from slmtok.training.run import count_corpus, learn, rehearse

if TYPE_CHECKING:
    from fractions import Fraction

    from typing_extensions import Unpack

    from slmtok.aliases import Progress
    from slmtok.corpus.options import Document
    from slmtok.corpus.profile import CorpusProfile
    from slmtok.schemes import Learned, TieBreak
    from slmtok.tokenizer import Tokenizer
    from slmtok.training.doc_digests import DocDigests


@dataclass(frozen=True)
class Trained:
    """All that a training run leaves; `learned.result` is the engine's own result (scheme `bpe`)."""

    tokenizer: Tokenizer
    counts: PretokenCounts
    learned: Learned
    learn_seconds: float
    peak_memory: int | None = field(default_factory=peak_memory)
    """Most bytes that the process had held when training ended, None where the system does not tell."""

    @cached_property
    def report(self) -> TrainReport:
        """What the run saw and made. Encodes the sample of the corpus, so it is made when somebody asks."""
        return make_report(
            self.counts,
            self.tokenizer,
            self.learned,
            learn_seconds=self.learn_seconds,
            peak_memory=self.peak_memory,
        )


def train(
    corpus: CorpusLike,
    vocab: int | None = None,
    *,
    scheme: str = "bpe",
    pattern: str | None = None,
    ties: TieBreak = "rank",
    min_count: int = 2,
    max_token_bytes: int = 64,
    max_token_chars: int = 0,
    forbid_regex: str | None = None,
    require: Iterable[str | bytes] = (),
    special: Mapping[str, str] | None = None,
    allow_smaller: bool = False,
    mix: Mapping[str, Fraction | float | str] | None = None,
    temperature: float | str | None = None,
    format: str = "auto",
    document: Document = "file",
    text_key: str = "text",
    skip_malformed: bool = False,
    doc_cap: int | None = None,
    max_chars: int | None = None,
    max_bytes: int | None = None,
    memory: int | str | None = None,
    spill_folder: str | os.PathLike[str] | None = None,
    threads: int = 0,
    progress: Progress | None = None,
    **more: Unpack[MoreReading],
) -> Tokenizer:
    """Trains a tokenizer.

    corpus: a path (file, folder, glob, "-"), a list or tuple of paths; or texts, as `slmtok.Texts(list)` or any
        iterator of str or bytes. A `PretokenCounts` has a `train` of its own.
    vocab: the final total of ids, specials included; 8192 unless given (272 for scheme "byte").
    scheme: "bpe", "word", "char", "byte".
    pattern: a name ("slm", "gpt2", "cl100k", "cl100k-hf", "o200k", "whole") or any regex; None is the
        scheme's own, "slm" for "bpe".
    ties: which of equally frequent pairs comes first: "rank" (smaller left id, then right), "bytes-greatest", "hf".
    min_count: least occurrences of a pair. max_token_bytes, max_token_chars: 0 is no limit.
    forbid_regex: tokens that it matches are not learned. require: tokens that are; with scheme "bpe" those that the
        corpus does not teach take the last ids, else the first. special: role to spelling.
    allow_smaller: take a smaller vocabulary where the corpus cannot fill the one asked for.
    mix: weights of domains, such as {"code": 0.5} or "1/3"; temperature: 1 leaves domains as they are, more evens out
        their sizes. Both need `domains`.
    format, document, text_key, skip_malformed, and separator, text_template, exclude, domains, sample, seed, max_docs,
        streaming, cache_dir: how files are read and which documents, see `slmtok.corpus.ReadOptions`.
    doc_cap, max_chars, max_bytes: characters of a document, characters and bytes of the corpus that are counted.
    memory: what may be held while counting, the interpreter included and your own data not: a number of bytes, or
        "500MB", "2GiB", "50%" of what is free; None is half of that. What does not fit is written to temporary files
        in spill_folder (None: the system's folder for them) and merged at the end; the result does not depend on it.
        The merge loop has to hold all distinct pieces; `NotEnoughMemory`, raised before it, where the machine cannot.
    threads: 0 is all; the result does not depend on it. progress: called with (stage, done, total).

    Raises `CorpusTooSmall`, `VocabularyTooSmall`, `MissingInput`, `MalformedRecord`, `InvalidPattern`, `OptionError`,
    `RequiredToken`, `UnknownName`, `Unreadable`, `DiskFull`, `NotEnoughMemory`, and `CountOverflow` beyond 64 bits.
    """
    return train_with_report(
        corpus,
        vocab,
        scheme=scheme,
        pattern=pattern,
        ties=ties,
        min_count=min_count,
        max_token_bytes=max_token_bytes,
        max_token_chars=max_token_chars,
        forbid_regex=forbid_regex,
        require=require,
        special=special,
        allow_smaller=allow_smaller,
        mix=mix,
        temperature=temperature,
        format=format,
        document=document,
        text_key=text_key,
        skip_malformed=skip_malformed,
        doc_cap=doc_cap,
        max_chars=max_chars,
        max_bytes=max_bytes,
        memory=memory,
        spill_folder=spill_folder,
        threads=threads,
        progress=progress,
        **more,
    ).tokenizer


def train_with_report(
    corpus: CorpusLike | PretokenCounts,
    vocab: int | None = None,
    *,
    scheme: str = "bpe",
    pattern: str | None = None,
    ties: TieBreak = "rank",
    min_count: int = 2,
    max_token_bytes: int = 64,
    max_token_chars: int = 0,
    forbid_regex: str | None = None,
    require: Iterable[str | bytes] = (),
    special: Mapping[str, str] | None = None,
    allow_smaller: bool = False,
    mix: Mapping[str, Fraction | float | str] | None = None,
    temperature: float | str | None = None,
    format: str = "auto",
    document: Document = "file",
    text_key: str = "text",
    skip_malformed: bool = False,
    doc_cap: int | None = None,
    max_chars: int | None = None,
    max_bytes: int | None = None,
    memory: int | str | None = None,
    spill_folder: str | os.PathLike[str] | None = None,
    threads: int = 0,
    progress: Progress | None = None,
    **more: Unpack[MoreReading],
) -> Trained:
    """As `train`, with report, counts and merges besides. The corpus may be counts that are there already."""
    options = TrainOptions(
        vocab=vocab,
        scheme=scheme,
        ties=ties,
        min_count=min_count,
        max_token_bytes=max_token_bytes,
        max_token_chars=max_token_chars,
        forbid_regex=forbid_regex,
        require=required(require),
        special=role_spellings(special),
        allow_smaller=allow_smaller,
        mix=mix or {},
        temperature=temperature,
    )
    check_progress(progress)
    if isinstance(corpus, PretokenCounts):
        counts = corpus
    else:
        rehearse(options, pattern)
        counts = count(
            corpus,
            scheme=scheme,
            pattern=pattern,
            format=format,
            document=document,
            text_key=text_key,
            skip_malformed=skip_malformed,
            doc_cap=doc_cap,
            max_chars=max_chars,
            max_bytes=max_bytes,
            memory=memory,
            spill_folder=spill_folder,
            threads=threads,
            progress=progress,
            **more,
        )
    begun = time.perf_counter()
    tokenizer, learned = learn(counts, options, progress)
    return Trained(tokenizer, counts, learned, time.perf_counter() - begun)


def count(
    corpus: CorpusLike,
    *,
    scheme: str = "bpe",
    pattern: str | None = None,
    format: str = "auto",
    document: Document = "file",
    text_key: str = "text",
    skip_malformed: bool = False,
    doc_cap: int | None = None,
    max_chars: int | None = None,
    max_bytes: int | None = None,
    memory: int | str | None = None,
    spill_folder: str | os.PathLike[str] | None = None,
    threads: int = 0,
    progress: Progress | None = None,
    doc_digests: DocDigests | None = None,
    profile: CorpusProfile | None = None,
    **more: Unpack[MoreReading],
) -> PretokenCounts:
    """Counts the pieces of a corpus, for training any number of times. Arguments and errors as in `train`.

    doc_digests: a `slmtok.training.doc_digests.DocDigests` that receives the digest of every document.
    profile: a `slmtok.corpus.profile.CorpusProfile` that receives lengths and duplicates.
    """
    check_progress(progress)
    read = ReadOptions(format=format, document=document, text_key=text_key, skip_malformed=skip_malformed, **more)
    options = CountOptions(
        read=read,
        doc_cap=doc_cap,
        max_chars=max_chars,
        max_bytes=max_bytes,
        threads=threads,
        memory=memory,
        spill_folder=None if spill_folder is None else os.fspath(spill_folder),
    )
    return count_corpus(corpus, scheme, pattern, options, progress, Observers(doc_digests, profile))
