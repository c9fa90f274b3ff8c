"""What `slmtok count` and `slmtok merge` say of counts: for people as a table, for programs as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from slmtok.cli import _output, _worth
from slmtok.cli._numbers import counted, grouped, in_bytes, in_time
from slmtok.cli._tables import Row, print_rows
from slmtok.cli._train_report import empty_domains, first_at

if TYPE_CHECKING:
    from slmtok.training import PretokenCounts
    from slmtok.training.counts_file import Merged

PRIVACY = "a counts file holds every word of its corpus, rare ones too; slmtok merge --min-count 5 leaves those out"


def result(counts: PretokenCounts, worth: dict[str, Any]) -> dict[str, Any]:
    """What `slmtok count --json` prints."""
    from slmtok.training.memory import peak_memory

    domains = [
        {"name": one.name, "documents": one.documents, "bytes": one.bytes, "pieces": one.native.pieces}
        for one in counts.domains
    ]
    return {
        "scheme": counts.scheme,
        "pattern": counts.native.pattern.name or counts.native.pattern.regex,
        **asdict(counts.totals),
        "pieces": counts.pieces,
        "distinct": counts.distinct,
        "domains": domains,
        "counts_sha256": counts.sha256,
        "corpus_digest": counts.fed.corpus_digest,
        "complete": counts.fed.complete,
        "sampled_out": counts.fed.skipped.sampled,
        "files": len(counts.fed.files),
        "spills": counts.spills,
        "memory_limit": counts.memory,
        "peak_memory": peak_memory(),
        "worth": worth,
    }


def notes(counts: PretokenCounts) -> tuple[str, ...]:
    """What a person should know of the corpus and of the file."""
    from slmtok.training.report import first_invalid

    totals = counts.totals
    found = [PRIVACY]
    if totals.invalid_bytes:
        found.append(
            f"{counted(totals.invalid_bytes, 'invalid byte')} in {grouped(totals.invalid_documents)} of "
            f"{counted(totals.documents, 'document')} were kept as bytes{first_at(first_invalid(counts))}"
        )
    found.extend(empty_domains(counts))
    if totals.gap_bytes:
        found.append(f"the pattern does not match {grouped(totals.gap_bytes)} bytes; they became pieces of their own")
    if totals.capped_documents:
        found.append(
            f"--doc-cap left out {in_bytes(totals.capped_bytes)} of {counted(totals.capped_documents, 'document')}"
        )
    if counts.fed.skipped.sampled:
        found.append(f"--sample left out {counted(counts.fed.skipped.sampled, 'document')}")
    if totals.skipped_records:
        found.append(f"{grouped(totals.skipped_records)} malformed records skipped")
    if not counts.fed.complete:
        found.append("the corpus was read only in part, as a limit asked")
    return tuple(found)


def show(
    counts: PretokenCounts, output: str, digest: str, seconds: float, notes: Sequence[str], worth: dict[str, Any]
) -> None:
    """Prints the summary of counting."""
    pattern = counts.native.pattern
    domains = [f"{one.name}: {counted(one.documents, 'document')}, {in_bytes(one.bytes)}" for one in counts.parts]
    rows: list[Row] = [
        ("corpus", f"{counted(counts.documents, 'document')}, {in_bytes(counts.bytes)}"),
        ("domains", "\n".join(domains)),
        *_worth.rows(worth, capped=counts.totals.capped_documents > 0),
        ("pieces", f"{grouped(counts.pieces)}, of which {grouped(counts.distinct)} differ"),
        ("time", in_time(seconds)),
        ("spills", f"{grouped(counts.spills)}" if counts.spills else ""),
        ("digest", digest),
    ]
    print_rows(rows, title=f"{output}: scheme {counts.scheme}, pattern {pattern.name or pattern.regex}")
    for text in notes:
        _output.note(text)


def show_merged(merged: Merged, seconds: float, notes: Sequence[str]) -> None:
    """Prints the summary of a merge."""
    head, sums = merged.head, merged.sums
    pruned = ""
    if head.min_count > 1:
        share = sum(sums.pruned_pieces) / max(sum(sums.pieces) + sum(sums.pruned_pieces), 1)
        pruned = (
            f"{grouped(sums.pruned_distinct)} pieces below {head.min_count} left out, {share:.3%} of all occurrences"
        )
    domains = [
        f"{one.name or '(none)'}: {counted(one.documents, 'document')}, {in_bytes(one.bytes)}" for one in head.domains
    ]
    rows: list[Row] = [
        ("inputs", grouped(merged.inputs)),
        ("corpus", f"{counted(head.totals.documents, 'document')}, {in_bytes(head.totals.bytes)}"),
        ("domains", "\n".join(domains) if len(domains) > 1 else ""),
        ("pieces", f"{grouped(sum(sums.pieces))}, of which {grouped(sums.distinct)} differ"),
        ("pruned", pruned),
        ("time", in_time(seconds)),
        ("digest", merged.digest),
    ]
    print_rows(rows, title=f"{merged.path}: scheme {head.scheme}, pattern {head.pattern.name or head.pattern.regex}")
    for text in notes:
        _output.note(text)


def described(path: str) -> _output.Outcome:
    """What `slmtok info` says of a counts file. Raises `CorruptFile`."""
    from slmtok.training.counts_file import open_counts, told

    file = open_counts(path)
    head, sums = file.head, file.sums
    result = {"kind": "slmtok-counts", "path": path, "bytes_on_disk": file.layout.size, "digest": file.layout.digest}
    pruned = "" if head.min_count == 1 else f"pieces below {head.min_count}: {grouped(sums.pruned_distinct)} left out"
    rows: list[Row] = [
        ("what", f"counts, scheme {head.scheme}, pattern {head.pattern.name or head.pattern.regex}"),
        ("corpus", f"{counted(head.totals.documents, 'document')}, {in_bytes(head.totals.bytes)}"),
        ("domains", "  ".join(one.name for one in head.domains)),
        ("pieces", f"{grouped(sum(sums.pieces))}, of which {grouped(sums.distinct)} differ"),
        ("pruned", pruned),
        ("merged", f"of {grouped(len(file.layout.lineage))} parts" if file.layout.lineage else ""),
        ("file", in_bytes(file.layout.size)),
        ("digest", file.layout.digest),
    ]
    return _output.Outcome({**result, **told(head, sums)}, lambda: print_rows(rows, title=path))


def verified(path: str, *, deep: bool) -> str:
    """What `slmtok verify` says of a sound counts file; `deep` reads every block. Raises `CorruptFile`."""
    from slmtok.training import PretokenCounts
    from slmtok.training.counts_file import open_counts

    file = open_counts(path)
    told = f"counts of {grouped(file.head.totals.documents)} documents, digest {file.layout.digest[:12]}"
    if not deep:
        return told
    return f"{told}; all {grouped(PretokenCounts.load(path).distinct)} pieces add up"
