"""The summary of `slmtok train`: a table for people, warnings, and the merges of `--explain`."""

from __future__ import annotations

import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from slmtok.cli.counts_report import corpus_warnings
from slmtok.cli.errors import flag_naming
from slmtok.cli.files import STDIO
from slmtok.cli.output import Row, counted, grouped, in_time, print_rows
from slmtok.errors import Setting
from slmtok.sizes import format_bytes
from slmtok.token_text import escape_token

if TYPE_CHECKING:
    from slmtok.training import PretokenCounts, Trained, TrainReport
    from slmtok.training.report import MergeStep

LINE_WIDTH = 76
MAX_LISTED_REFUSED = 6
MIN_NOTED_MERGE_BYTES = 50_000_000
"""Below this the memory of merging is only part of the summary."""


def warnings_of(trained: Trained) -> tuple[str, ...]:
    """Warnings about the corpus and the run; empty for most."""
    report, counts = trained.report, trained.counts
    found = list(corpus_warnings(counts))
    if exceeds_limit(report.merge_memory, report.memory_limit):
        found.append(
            f"learning merges needs about {format_bytes(report.merge_memory or 0)}, more than counting was allowed "
            f"({format_bytes(report.memory_limit or 0)}): --memory limits counting only"
        )
    if counts.min_count > 1:
        distinct, pieces = counts.pruned
        share = pieces / max(pieces + counts.pieces, 1)
        found.append(
            f"the counts were pruned: {grouped(distinct)} pretokens below {counts.min_count} occurrences are missing, "
            f"{share:.2%} of the corpus"
        )
    return tuple(found)


def exceeds_limit(needed: int | None, limit: int | None) -> bool:
    """Whether merging needs more memory than counting was allowed."""
    return needed is not None and limit is not None and needed > limit


def note_merge_memory(counts: PretokenCounts) -> None:
    """Writes to stderr how much memory merging needs, if it is much; the summary contains it in any case."""
    needed, limit = counts.merge_memory, counts.memory
    if counts.scheme != "bpe" or needed < MIN_NOTED_MERGE_BYTES:
        return
    more = f", more than counting was allowed ({format_bytes(limit)})" if limit and exceeds_limit(needed, limit) else ""
    sys.stderr.write(
        f"merging {grouped(counts.distinct)} distinct pretokens takes about {format_bytes(needed)}{more}\n"
    )
    sys.stderr.flush()


def print_report(report: TrainReport, output: str, seconds: float) -> None:
    """The summary; on stderr where stdout carries the tokenizer."""
    stream = sys.stderr if output == STDIO else sys.stdout
    name = "stdout" if output == STDIO else output
    title = f"{name}: {grouped(report.n_vocab)} ids, scheme {report.scheme}, pattern {report.pattern}"
    print_rows(_rows(report, seconds), title=title, stream=stream)


def _rows(report: TrainReport, seconds: float) -> list[Row]:
    corpus = f"{counted(report.documents, 'document')}, {format_bytes(report.bytes)}"
    if report.files > 1:
        corpus = f"{grouped(report.files)} files, {corpus}"
    noun, source = ("merge", "pair") if report.scheme == "bpe" else ("token", "pretoken")
    learned = counted(report.learned, noun)
    if report.learned:
        learned += f"; the {source} of the last one occurs {counted(report.last_count, 'time')}"
    compression = ""
    if report.bytes_per_token is not None:
        compression = (
            f"{report.bytes_per_token:.3f} bytes per token, on {format_bytes(report.sample_bytes)} of the corpus"
        )
    times = f"counting {in_time(report.count_seconds)}, learning {in_time(report.learn_seconds)}"
    return [
        ("corpus", corpus),
        ("pretokens", f"{grouped(report.pieces)}, {grouped(report.distinct)} distinct"),
        ("learned", learned),
        ("required", grouped(report.required) if report.required else ""),
        ("refused", _refused(report)),
        ("compression", compression),
        ("first", _words(report.first_tokens)),
        ("longest", _words(report.longest_tokens)),
        ("time", f"{in_time(seconds)} ({times})"),
        ("peak memory", format_bytes(report.peak_memory) if report.peak_memory else ""),
        ("for merging", f"about {format_bytes(report.merge_memory)} expected" if report.merge_memory else ""),
        ("spills", f"{grouped(report.spills)}, {format_bytes(report.spilled_bytes)} on disk" if report.spills else ""),
        ("fingerprint", report.fingerprint),
    ]


def _words(tokens: Iterable[bytes]) -> str:
    text = "  ".join(map(escape_token, tokens))
    return textwrap.fill(text, LINE_WIDTH, break_long_words=False, break_on_hyphens=False)


def _refused(report: TrainReport) -> str:
    """The number of tokens that each option refused, and the first of them."""
    if not report.refused:
        return ""
    options = Counter(option for _, option, _ in report.refused)
    by_option = ", ".join(f"{grouped(number)} by {flag_naming(Setting(name))}" for name, number in options.items())
    listed = _words(token for token, _, _ in report.refused[:MAX_LISTED_REFUSED])
    return f"{by_option}: {listed}{' …' if len(report.refused) > MAX_LISTED_REFUSED else ''}"


def print_sizes(paths: Sequence[str], trained: Sequence[Trained]) -> None:
    """A line for each of several vocabulary sizes."""
    rows: list[Row] = []
    for path, one in zip(paths, trained, strict=True):
        report = one.report
        compression = "" if report.bytes_per_token is None else f", {report.bytes_per_token:.3f} bytes per token"
        rows.append((path, f"{grouped(report.n_vocab)} ids{compression}, fingerprint {report.fingerprint[:12]}"))
    print_rows(rows, title="sizes")


def merge_step_dict(step: MergeStep) -> dict[str, object]:
    """One merge of `--explain` as `--json` prints it, its tokens as printable words."""
    return {
        "number": step.number,
        "left": escape_token(step.left),
        "right": escape_token(step.right),
        "joined": escape_token(step.joined),
        "id": step.id,
        "count": step.count,
        "before": list(map(escape_token, step.before)),
        "after": list(map(escape_token, step.after)),
    }
