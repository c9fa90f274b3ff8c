"""The summary of `slmtok train`: for people as a table, for programs as plain values."""

from __future__ import annotations

import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slmtok.cli import _files, _output
from slmtok.cli._numbers import grouped, in_bytes, in_time
from slmtok.cli._tables import Row, print_rows
from slmtok.cli._train_memory import over_limit
from slmtok.corpus.options import OTHER
from slmtok.token_text import escape_token

if TYPE_CHECKING:
    from slmtok.training import PretokenCounts, Trained, TrainReport
    from slmtok.training.explain import MergeStep

WIDTH = 76


@dataclass(frozen=True)
class Trace:
    """The first merges, one by one: as text, and as rows for `--json`."""

    text: str
    rows: list[dict[str, object]]


def result(trained: Trained) -> dict[str, object]:
    """What `--json` prints."""
    return trained.report.to_dict()


def notes(report: TrainReport) -> tuple[str, ...]:
    """What a person should know about the corpus; empty for most."""
    found: list[str] = []
    if report.invalid_bytes:
        found.append(
            f"{grouped(report.invalid_bytes)} invalid {_s('byte', report.invalid_bytes)} in "
            f"{grouped(report.invalid_documents)} of {grouped(report.documents)} {_s('document', report.documents)} "
            f"were kept as bytes{first_at(report.first_invalid)}"
        )
    if report.gap_bytes:
        found.append(
            f"the pattern does not match {grouped(report.gap_bytes)} {_s('byte', report.gap_bytes)} "
            f"({report.gap_bytes / max(report.bytes, 1):.2%} of the corpus); they became pieces of their own"
        )
    if report.capped_documents:
        found.append(
            f"--doc-cap left out {in_bytes(report.capped_bytes)} of "
            f"{grouped(report.capped_documents)} {_s('document', report.capped_documents)}"
        )
    if report.sampled_documents:
        found.append(f"--sample left out {grouped(report.sampled_documents)} documents")
    if report.skipped_records:
        found.append(f"{grouped(report.skipped_records)} malformed {_s('record', report.skipped_records)} skipped")
    if over_limit(report.merge_memory, report.memory_limit):
        found.append(
            f"learning merges was to need about {in_bytes(report.merge_memory or 0)}, more than counting was allowed "
            f"({in_bytes(report.memory_limit or 0)}): --memory bounds counting alone"
        )
    if not report.complete:
        found.append("the corpus was read only in part, as --max-bytes or --max-chars asked")
    return tuple(found)


def empty_domains(counts: PretokenCounts) -> tuple[str, ...]:
    """Domains that were named and hold nothing: mostly a glob with a slip in it."""
    return tuple(
        f"domain {part.name!r} holds no document: --domain {part.name}=GLOB matches no file of the corpus"
        for part in counts.parts
        if not part.documents and part.name != OTHER
    )


def pruned(counts: PretokenCounts) -> tuple[str, ...]:
    """What is to be said of counts from which rare pieces were taken out."""
    if counts.least == 1:
        return ()
    distinct, pieces = counts.pruned
    share = pieces / max(pieces + counts.pieces, 1)
    return (
        f"the counts were pruned: {grouped(distinct)} pieces below {counts.least} occurrences are missing, "
        f"{share:.2%} of the corpus",
    )


def first_at(found: tuple[str | None, int, int] | None) -> str:
    """Where the first invalid byte stands: (file, document, byte)."""
    if found is None:
        return ""
    path, document, byte = found
    place = [path or "", f"document {grouped(document)}" if document or not path else "", f"byte {grouped(byte)}"]
    return f" (first: {', '.join(part for part in place if part)})"


def _s(word: str, number: int) -> str:
    return word if number == 1 else word + "s"


def rows(report: TrainReport, seconds: float) -> list[Row]:
    """The lines of the summary."""
    corpus = f"{grouped(report.documents)} {_s('document', report.documents)}, {in_bytes(report.bytes)}"
    if report.files > 1:
        corpus = f"{grouped(report.files)} files, {corpus}"
    what = "merge" if report.scheme == "bpe" else "token"
    learned = f"{grouped(report.learned)} {_s(what, report.learned)}"
    if report.learned:
        learned += f"; the last one's {'pair' if what == 'merge' else 'piece'} occurs {_times(report.last_count)}"
    compression = ""
    if report.bytes_per_token is not None:
        compression = f"{report.bytes_per_token:.3f} bytes per token, on {in_bytes(report.sample_bytes)} of the corpus"
    return [
        ("corpus", corpus),
        ("pieces", f"{grouped(report.pieces)}, of which {grouped(report.distinct)} differ"),
        ("learned", learned),
        ("required", grouped(report.required) if report.required else ""),
        ("refused", _refused(report)),
        ("compression", compression),
        ("first", _words(report.first_tokens)),
        ("longest", _words(report.longest_tokens)),
        (
            "time",
            f"{in_time(seconds)} (counting {in_time(report.count_seconds)}, learning {in_time(report.learn_seconds)})",
        ),
        ("peak memory", in_bytes(report.peak_memory) if report.peak_memory else ""),
        ("for merging", f"about {in_bytes(report.merge_memory)} expected" if report.merge_memory else ""),
        ("spills", f"{grouped(report.spills)}, {in_bytes(report.spilled_bytes)} on disk" if report.spills else ""),
        ("fingerprint", report.fingerprint),
    ]


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{grouped(number)} times")


def _words(tokens: Iterable[bytes]) -> str:
    return textwrap.fill("  ".join(map(escape_token, tokens)), WIDTH, break_long_words=False, break_on_hyphens=False)


def _refused(report: TrainReport) -> str:
    """How many tokens each option refused, and the first of them."""
    if not report.refused:
        return ""
    options = Counter(option for _, option, _ in report.refused)
    by = ", ".join(f"{grouped(number)} by {_flag(option)}" for option, number in options.items())
    shown = _words(token for token, _, _ in report.refused[:6])
    return f"{by}: {shown}{' …' if len(report.refused) > 6 else ''}"


def _flag(option: str) -> str:
    return option if option.startswith("--") else "--" + option.replace("_", "-")


def trace(trained: Trained, number: int) -> Trace:
    """The first merges of a run, one by one."""
    from slmtok.training.explain import explain, render

    steps = explain(trained, number)
    return Trace(render(steps), [_plain(step) for step in steps])


def _plain(step: MergeStep) -> dict[str, object]:
    """One merge with its tokens as printable words."""
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


def show(
    report: TrainReport,
    output: str,
    seconds: float,
    *,
    notes: Sequence[str],
    trace: Trace | None,
    quiet: bool,
) -> None:
    """Prints the trace, the summary and the notes; on stderr where stdout carries the tokenizer."""
    stream = sys.stderr if output == _files.STDIO else sys.stdout
    if trace is not None:
        stream.write(trace.text.rstrip("\n") + "\n\n")
    if quiet:
        return
    name = "stdout" if output == _files.STDIO else output
    title = f"{name}: {grouped(report.n_vocab)} ids, scheme {report.scheme}, pattern {report.pattern}"
    print_rows(rows(report, seconds), title=title, stream=stream)
    for text in notes:
        _output.note(text)


def show_sizes(paths: Sequence[str], made: Sequence[Trained]) -> None:
    """Prints a line for each of several sizes."""
    listed: list[Row] = []
    for path, one in zip(paths, made, strict=True):
        report = one.report
        compression = "" if report.bytes_per_token is None else f", {report.bytes_per_token:.3f} bytes per token"
        listed.append((path, f"{grouped(report.n_vocab)} ids{compression}, fingerprint {report.fingerprint[:12]}"))
    print_rows(listed, title="sizes")
