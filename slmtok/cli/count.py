"""`slmtok count`: from a corpus to a counts file, which training, merging and comparing read instead of the text."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slmtok.cli import _corpus, _counts_report, _files, _options, _output, _train_memory, _train_options, _worth
from slmtok.cli._corpus_options import with_corpus
from slmtok.cli._progress import Progress
from slmtok.corpus import ReadOptions

if TYPE_CHECKING:
    from slmtok.training import PretokenCounts
    from slmtok.training.options import CountOptions

_Output = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE", help="Where to write.", rich_help_panel=_options.OUTPUT)
]
_DocDigests = Annotated[
    bool,
    typer.Option(
        "--doc-digests",
        help="Write FILE.digests besides: 64 bits of each document's sha256, sorted.",
        rich_help_panel=_options.OUTPUT,
    ),
]


@with_corpus
def count(
    corpus: _train_options.Corpus,
    scheme: _train_options.Scheme = "bpe",
    pattern: _train_options.Pattern = None,
    *,
    read: ReadOptions,
    memory: _options.Memory = None,
    threads: _options.Threads = 0,
    output: _Output = "all.counts",
    doc_digests: _DocDigests = False,
    ray: _options.Ray = None,
    force: _options.Force = False,
    dry_run: _options.DryRun = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Count the pieces of a corpus: all that training needs of it, in a file that can be merged.

    slmtok count corpus/ -o all.counts
    """
    from slmtok.corpus.worth import Worth
    from slmtok.training.doc_digests import DocDigests
    from slmtok.training.observed import Observed

    begun = time.perf_counter()
    reading = {**_corpus.arguments(read), "threads": threads, **_train_memory.options(memory, output)}
    options = _options_of(reading, scheme, pattern)
    files = _corpus.text_files(corpus, read)
    digests, worth = DocDigests() if doc_digests else None, Worth()
    beside = [output + ".digests"] if doc_digests else []
    _files.check_file(output)
    _files.check_output(output, *beside, inputs=files, force=force or dry_run)
    if dry_run:
        return _corpus.plan(files, read, output)
    expected = {} if ray else {"count": _corpus.plain_size(files, read)}
    with Progress(quiet=quiet, expected=expected) as progress:
        job = (files, scheme, pattern, options, progress, Observed(digests, worth))
        counts = _far(ray, *job) if ray else _here(*job)
        digest = counts.save(output, force=force)
        if digests is not None:
            digests.save(beside[0], force=force)
    seconds = time.perf_counter() - begun
    return _outcome(counts, output, digest, seconds, _worth.result(worth, counts), quiet=quiet)


def _here(*job: Any) -> PretokenCounts:
    from slmtok.training.run import count_corpus

    return count_corpus(*job)


def _far(address: str, *job: Any) -> PretokenCounts:
    from slmtok.cluster import count_on

    return count_on(address, *job)


def _options_of(reading: dict[str, Any], scheme: str, pattern: str | None) -> CountOptions:
    """The options of counting. Raises what counting would raise for them, before anything is read."""
    from slmtok.patterns import parse_pattern
    from slmtok.schemes import scheme as scheme_of
    from slmtok.training.options import CountOptions, pattern_spec

    limits = {key: value for key, value in reading.items() if key not in ReadOptions.__dataclass_fields__}
    limits |= {key: reading[key] for key in ("doc_cap", "max_chars", "max_bytes")}
    read = {key: value for key, value in reading.items() if key not in limits}
    parse_pattern(pattern_spec(scheme_of(scheme), pattern))
    return CountOptions(read=ReadOptions(**read), **limits)


def _outcome(
    counts: PretokenCounts, output: str, digest: str, seconds: float, worth: dict[str, Any], *, quiet: bool
) -> _output.Outcome:
    notes = _counts_report.notes(counts)
    result = {"path": output, "digest": digest, "seconds": round(seconds, 3), **_counts_report.result(counts, worth)}

    def show() -> None:
        if not quiet:
            _counts_report.show(counts, output, digest, seconds, notes, worth)

    return _output.Outcome(result, show, warnings=notes)
