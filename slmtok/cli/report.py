"""`slmtok report`: tokenizers, samples, measurements and certificates as one page."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok import __version__
from slmtok.cli.files import (
    PAGE,
    add_notes,
    are_counts,
    check_content,
    check_opens,
    check_output,
    corpus_files,
    is_tokenizer,
    read_documents,
    refuse_missing,
    refuse_reading,
    require_bytes,
    short_names,
    write_page,
)
from slmtok.cli.options import (
    OUTPUT,
    TOKENIZER,
    command,
    option,
    options_of,
    output_options,
    threads_option,
    tokenizer_argument,
)
from slmtok.cli.output import Outcome
from slmtok.cli.progress import Progress
from slmtok.cli.results import is_result, read_findings
from slmtok.errors import OptionError
from slmtok.file_kinds import is_run
from slmtok.files import beginning, free_name, resolved
from slmtok.opening import load
from slmtok.options import ReadOptions

if TYPE_CHECKING:
    from slmtok.analysis.measure import Metrics, Text
    from slmtok.pages.report import Findings, Subject
    from slmtok.tokenizer import Tokenizer

MAX_CURVE_BYTES = 4 << 20
"""Of the text, from its beginning, for the curve over sizes."""
MAX_SAMPLE_BYTES = 600
SAMPLES_PER_DOMAIN = 2


@command("report", example="slmtok report tok.json gpt2 --on text.txt -o report.html")
@tokenizer_argument("names", metavar="TOK...", nargs=-1, required=True, help=f"Any number of {TOKENIZER}.")
@option("--with", "results", metavar="FILE", multiple=True,
        help="A certificate of slmtok audit, or what eval --json or diff --json printed. List several.")  # fmt: skip
@option("--on", metavar="TEXT|COUNTS", multiple=True,
        help="Count the tokens of this text, and take samples of it. Repeat for several.")  # fmt: skip
@option("--open", "opens", is_flag=True, panel=OUTPUT, help="Open the page in the browser.")
@options_of(ReadOptions, into="read", needs="--on TEXT")
@threads_option(needs="--on TEXT")
@output_options(default="report.html")
def report(
    names: tuple[str, ...],
    results: tuple[str, ...],
    on: tuple[str, ...],
    opens: bool,
    read: ReadOptions,
    threads: int,
    output: str,
    force: bool,
) -> Outcome:
    """Write a page about tokenizers: vocabulary, merges, samples, compression, sizes, certificates.

    The page is one file that asks no network and holds no date: equal inputs give equal bytes. A vocabulary of 100,000
    ids fits; a page has at most 5 MB. Compression by domain is that of --domain.
    """
    from slmtok.analysis.size_curve import BODIES
    from slmtok.pages.report import report as make_page
    from slmtok.pages.sections import FOOTER

    check_opens(opens, output)
    tokenizer_names, files = _sorted_out(names, results)
    check_content(output, PAGE)
    refuse_missing(tokenizer_names)
    sources = corpus_files(on, read) if on else []
    check_output(output, inputs=[*tokenizer_names, *files, *sources], force=force)
    findings = read_findings(files)
    labels = short_names(tokenizer_names)
    tokenizers = [(label, load(name)) for label, name in labels.items()]
    _check_certificates(findings, [tokenizer for _, tokenizer in tokenizers])
    with Progress() as progress:
        measured = _measure(tokenizers, sources, read, threads, progress)
    if on:
        require_bytes(measured.text.bytes if measured.text else 0, on)
    page = make_page(
        [_subject(label, each, measured, threads) for label, each in tokenizers],
        _with_evaluation(findings, measured, on),
        samples=list(measured.samples),
        bodies=[f"d_model {d_model}, {n_layers} layers" for d_model, n_layers in BODIES],
        footer=FOOTER.format("slmtok", __version__),
    )
    about: dict[str, Any] = {"tokenizers": tokenizer_names, "with": files}
    outcome = write_page(page.html, output, force=force, opens=opens, **about)
    add_notes(map(_about_run, filter(is_run, tokenizer_names)))
    return outcome


def _about_run(name: str) -> str:
    """The note on a run of slm, of which the page shows the tokenizer alone."""
    page = free_name(f"{resolved(name).name}.html")
    line = shlex.join(["slm", "report", name, "-o", page])
    return f"{name} is a run of slm, and this page describes its tokenizer; {line} describes the run"


def _sorted_out(names: Sequence[str], results: Sequence[str]) -> tuple[list[str], list[str]]:
    """(tokenizers, results): a result may stand among the tokenizers, as a list behind `--with` does."""
    among = [name for name in names if is_tokenizer(name) and Path(name).is_file() and is_result(name)]
    tokenizers = [name for name in names if name not in among]
    if not tokenizers:
        raise OptionError(
            f"{among[0]} is a result, and no tokenizer is named",
            limit=TOKENIZER,
            fix=f"slmtok report tok.json --with {among[0]}",
            option="tokenizer",
        )
    return tokenizers, [*results, *among]


def _check_certificates(findings: Findings, tokenizers: Sequence[Tokenizer]) -> None:
    """Raises `OptionError` for a certificate of a tokenizer that is not on the page."""
    known = {tokenizer.fingerprint for tokenizer in tokenizers}
    for path, audit in findings.audits.items():
        fingerprint = audit["tokenizer"]["fingerprint"]
        if fingerprint not in known:
            raise OptionError(
                f"{path} certifies another tokenizer, of fingerprint {fingerprint[:16]}",
                limit=f"fingerprints of this page: {', '.join(sorted(each[:16] for each in known))}",
                fix="name its tokenizer too, or leave the certificate out",
                option="with",
                path=path,
            )


# Measurements.


@dataclass
class _Measured:
    """What `--on` gives. texts, weights: those of the curve; weights None: each text once."""

    text: Text | None = None
    metrics: Sequence[Metrics] = ()
    domains: Sequence[str] = ()
    samples: dict[str, bytes] = field(default_factory=dict)
    texts: list[bytes] = field(default_factory=list)
    weights: Any = None


def _measure(
    tokenizers: Sequence[tuple[str, Tokenizer]], sources: list[str], read: ReadOptions, threads: int, progress: Progress
) -> _Measured:
    from slmtok.analysis.measure import measure, measure_counts
    from slmtok.pages.frame import examples
    from slmtok.training import PretokenCounts

    found = _Measured()
    if are_counts(sources):
        refuse_reading(read, sources[0])
        import numpy as np

        counts = PretokenCounts.load(*sources)
        found.text, found.metrics = measure_counts(tokenizers, counts, threads=threads)
        found.domains = [part.name for part in counts.parts]
        found.texts = [piece for piece, _ in counts.items()]
        found.weights = np.array([count for _, count in counts.items()], dtype=np.int64)
    elif sources:
        found.domains = read.domain_names
        documents = ((document.text, document.domain) for document in read_documents(sources, read))
        kept = _kept(documents, found)
        found.text, found.metrics = measure(
            tokenizers, kept, domains=len(found.domains), threads=threads, progress=progress
        )
    if not found.samples:
        found.samples = {name: text.encode() for name, text in examples().items()}
    return found


def _kept(documents: Iterable[tuple[bytes, int]], found: _Measured) -> Iterator[tuple[bytes, int]]:
    """The documents; the first are kept in `found` for the curve, and parts of the first of each domain as samples."""
    room = MAX_CURVE_BYTES
    numbers: dict[int, int] = {}
    for text, domain in documents:
        if room > 0:
            found.texts.append(text[:room])
            room -= len(text)
        if text and numbers.get(domain, 0) < SAMPLES_PER_DOMAIN:
            number = numbers[domain] = numbers.get(domain, 0) + 1
            name = found.domains[domain] if found.domains else "document"
            sample = beginning(text, MAX_SAMPLE_BYTES)
            cut = "" if len(sample) == len(text) else f", the first {len(sample)} bytes of {len(text):,}"
            found.samples[f"{name} {number}{cut}"] = sample
        yield text, domain


def _with_evaluation(findings: Findings, measured: _Measured, on: Sequence[str]) -> Findings:
    """The findings, with the measurement on `--on` before them."""
    from slmtok.pages.report import Findings

    if measured.text is None:
        return findings
    text = measured.text
    own = {
        "text": {"documents": text.documents, "bytes": text.bytes, "words": text.words},
        "tokenizers": [one.to_dict(measured.domains) for one in measured.metrics],
    }
    return Findings({", ".join(on): own, **findings.evals}, findings.diffs, findings.audits)


def _subject(label: str, tokenizer: Tokenizer, measured: _Measured, threads: int) -> Subject:
    from slmtok.analysis.size_curve import BODIES, embedding_share, size_curve, sizes_of
    from slmtok.pages.report import Subject
    from slmtok.vocabulary import PADDING

    curve: list[tuple[int, float | None]] = [(size, None) for size in sizes_of(tokenizer)]
    if measured.texts:
        found = size_curve(tokenizer, measured.texts, measured.weights, threads=threads)
        curve = [(size.n_vocab, size.bytes_per_token) for size in found]
    rows = []
    for n_vocab, bytes_per_token in curve:
        padded = -(-n_vocab // PADDING) * PADDING
        rows.append((n_vocab, bytes_per_token, [embedding_share(padded, *body) for body in BODIES]))
    return Subject(
        label,
        tokenizer,
        _classes(tokenizer),
        _counts(label, measured),
        [tokenizer.encode_list(text) for text in measured.samples.values()],
        rows,
    )


def _counts(label: str, measured: _Measured) -> dict[str, list[int]]:
    """How often each id occurs: in all, and by domain where there are several."""
    metrics = next((one for one in measured.metrics if one.name == label), None)
    if metrics is None:
        return {}
    total = "all domains" if "count" in measured.domains else "count"
    found = {total: metrics.counts.sum(axis=0).tolist()}
    if len(measured.domains) > 1:
        rows = zip(measured.domains, metrics.counts, strict=False)
        found |= {name: row.tolist() for name, row in rows if row.any()}
    return found


def _classes(tokenizer: Tokenizer) -> list[str | None]:
    """The class of each id; None for a hole."""
    from slmtok.analysis.token_classes import main_class

    found = [None if token is None else main_class(token) for token in tokenizer.vocabulary.token_table]
    for special in tokenizer.specials.tokens:
        found[special.id] = "special"
    return found
