"""`slmtok count`: from a corpus to a counts file, which training, merging and comparing read instead of the text."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slmtok.cli import _corpus, _counts_report, _files, _options, _output, _train_memory, _train_options
from slmtok.cli._corpus_options import with_corpus
from slmtok.cli._progress import Progress
from slmtok.corpus import ReadOptions

if TYPE_CHECKING:
    from slmtok.training import PretokenCounts

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
    force: _options.Force = False,
    dry_run: _options.DryRun = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Count the pieces of a corpus: all that training needs of it, in a file that can be merged.

    slmtok count corpus/ -o all.counts
    """
    from slmtok.training import count as count_pieces
    from slmtok.training.doc_digests import DocDigests

    begun = time.perf_counter()
    reading = {**_corpus.arguments(read), "threads": threads, **_train_memory.options(memory, output)}
    _check(reading, scheme, pattern)
    files = _corpus.files(corpus, read)
    digests = DocDigests() if doc_digests else None
    beside = [output + ".digests"] if doc_digests else []
    _files.check_file(output)
    _files.check_output(output, *beside, inputs=files, force=force or dry_run)
    if dry_run:
        return _corpus.plan(files, read, output)
    with Progress(quiet=quiet, expected={"count": _corpus.plain_size(files, read)}) as progress:
        counts = count_pieces(
            list(corpus), scheme=scheme, pattern=pattern, **reading, progress=progress, doc_digests=digests
        )
        digest = counts.save(output, force=force)
        if digests is not None:
            digests.save(beside[0], force=force)
    return _outcome(counts, output, digest, time.perf_counter() - begun, quiet=quiet)


def _check(reading: dict[str, Any], scheme: str, pattern: str | None) -> None:
    """Raises what counting would raise for these options, before anything is read."""
    from slmtok.patterns import asked_for
    from slmtok.schemes import scheme as scheme_of
    from slmtok.training.options import CountOptions, pattern_spec

    limits = {key: value for key, value in reading.items() if key not in ReadOptions.__dataclass_fields__}
    limits |= {key: reading[key] for key in ("doc_cap", "max_chars", "max_bytes")}
    CountOptions(**limits)
    asked_for(pattern_spec(scheme_of(scheme), pattern))


def _outcome(counts: PretokenCounts, output: str, digest: str, seconds: float, *, quiet: bool) -> _output.Outcome:
    notes = _counts_report.notes(counts)
    result = {"path": output, "digest": digest, "seconds": round(seconds, 3), **_counts_report.result(counts)}

    def show() -> None:
        if not quiet:
            _counts_report.show(counts, output, digest, seconds, notes)

    return _output.Outcome(result, show, warnings=notes)
