"""Counts on the command line: what `count`, `merge`, `info` and `verify` report of them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from slmtok.cli.output import Outcome, Row, counted, grouped, in_time, print_rows
from slmtok.options import OTHER_DOMAIN
from slmtok.sizes import format_bytes

if TYPE_CHECKING:
    from slmtok._engine import Pattern
    from slmtok.corpus.profile import CorpusProfile
    from slmtok.training import PretokenCounts
    from slmtok.training.counts import Merged
    from slmtok.training.counts_format import Head, Sums
    from slmtok.vocabulary import PatternSpec

PRIVACY_NOTE = (
    "a counts file contains every word of its corpus, also rare ones; slmtok merge --min-count 5 leaves those out"
)
_VERDICTS = {
    "yes": "enough, every merge is learned from {} occurrences or more",
    "thin": "thin, the last merges are learned from {} occurrences or more",
    "no": "may be too little text",
}


def result_of(counts: PretokenCounts, profile: dict[str, Any]) -> dict[str, Any]:
    """The result of `slmtok count`; `profile` is that of `corpus_profile`."""
    from slmtok.training.memory import peak_memory

    domains = [
        {"name": one.name, "documents": one.documents, "bytes": one.bytes, "pieces": one.native.pieces}
        for one in counts.domains
    ]
    return {
        "scheme": counts.scheme,
        "pattern": _pattern(counts.native.pattern),
        **asdict(counts.totals),
        "pieces": counts.pieces,
        "distinct": counts.distinct,
        "domains": domains,
        "counts_sha256": counts.sha256,
        "corpus_digest": counts.stats.corpus_digest,
        "complete": counts.stats.complete,
        "sampled_out": counts.stats.skipped.sampled,
        "files": len(counts.stats.files),
        "spills": counts.spills,
        "memory_limit": counts.memory,
        "peak_memory": peak_memory(),
        "worth": profile,
    }


def corpus_warnings(counts: PretokenCounts) -> tuple[str, ...]:
    """Warnings about a corpus that was counted; empty for most."""
    from slmtok.training.report import first_invalid

    totals, sampled = counts.totals, counts.stats.skipped.sampled
    found: list[str] = []
    if totals.invalid_bytes:
        found.append(
            f"{counted(totals.invalid_bytes, 'invalid byte')} in {grouped(totals.invalid_documents)} of "
            f"{counted(totals.documents, 'document')} were kept as bytes{_place_of_first(first_invalid(counts))}"
        )
    if totals.gap_bytes:
        found.append(
            f"the pattern does not match {counted(totals.gap_bytes, 'byte')} "
            f"({totals.gap_bytes / max(counts.bytes, 1):.2%} of the corpus); they became single pretokens"
        )
    if totals.capped_documents:
        found.append(
            f"--max-doc-chars left out {format_bytes(totals.capped_bytes)} of "
            f"{counted(totals.capped_documents, 'document')}"
        )
    if sampled:
        found.append(f"--sample left out {counted(sampled, 'document')}")
    if totals.skipped_records:
        found.append(f"{counted(totals.skipped_records, 'malformed record')} skipped")
    if not counts.stats.complete:
        found.append("--max-docs, --max-bytes or --max-chars ended the reading before the end of the corpus")
    # Usually a wrong glob.
    found += [
        f"domain {part.name!r} has no document: --domain {part.name}=GLOB matches no file of the corpus"
        for part in counts.parts
        if not part.documents and part.name != OTHER_DOMAIN
    ]
    return tuple(found)


def _place_of_first(found: tuple[str | None, int, int] | None) -> str:
    """The place of the first invalid byte: (file, document, byte)."""
    if found is None:
        return ""
    path, document, byte = found
    parts = [path or "", f"document {grouped(document)}" if document or not path else "", f"byte {grouped(byte)}"]
    return f" (first: {', '.join(part for part in parts if part)})"


def _pattern(pattern: Pattern | PatternSpec) -> str:
    return pattern.name or pattern.regex


def _corpus(documents: int, n_bytes: int) -> str:
    return f"{counted(documents, 'document')}, {format_bytes(n_bytes)}"


def print_counts(counts: PretokenCounts, output: str, digest: str, seconds: float, profile: dict[str, Any]) -> None:
    """The summary of `slmtok count`."""
    domains = [f"{one.name}: {_corpus(one.documents, one.bytes)}" for one in counts.parts]
    rows: list[Row] = [
        ("corpus", _corpus(counts.documents, counts.bytes)),
        ("domains", "\n".join(domains)),
        *_profile_rows(profile, is_truncated=counts.totals.capped_documents > 0),
        ("pretokens", f"{grouped(counts.pieces)}, {grouped(counts.distinct)} distinct"),
        ("time", in_time(seconds)),
        ("spills", f"{grouped(counts.spills)}" if counts.spills else ""),
        ("digest", digest),
    ]
    print_rows(rows, title=f"{output}: scheme {counts.scheme}, pattern {_pattern(counts.native.pattern)}")


def _file_rows(head: Head, sums: Sums, digest: str, *more: Row) -> list[Row]:
    """What a counts file contains."""
    pruned = ""
    if head.min_count > 1:
        share = sum(sums.pruned_pieces) / max(sum(sums.pieces) + sum(sums.pruned_pieces), 1)
        pruned = f"{grouped(sums.pruned_distinct)} pretokens below {head.min_count} left out, {share:.3%} of all"
    domains = [f"{one.name or '(none)'}: {_corpus(one.documents, one.bytes)}" for one in head.domains]
    return [
        ("corpus", _corpus(head.totals.documents, head.totals.bytes)),
        ("domains", "\n".join(domains) if len(domains) > 1 else ""),
        ("pretokens", f"{grouped(sum(sums.pieces))}, {grouped(sums.distinct)} distinct"),
        ("pruned", pruned),
        *more,
        ("digest", digest),
    ]


def print_merged(merged: Merged, seconds: float) -> None:
    """The summary of `slmtok merge`."""
    head, more = merged.head, [("inputs", grouped(merged.inputs)), ("time", in_time(seconds))]
    title = f"{merged.path}: scheme {head.scheme}, pattern {_pattern(head.pattern)}"
    print_rows(_file_rows(head, merged.sums, merged.digest, *more), title=title)


def describe_counts(path: str) -> Outcome:
    """`slmtok info` of a counts file. Raises `CorruptFile`."""
    from slmtok.training.counts import describe, open_counts

    file = open_counts(path)
    head, sums, layout = file.head, file.sums, file.layout
    rows: list[Row] = [
        ("kind", f"counts, scheme {head.scheme}, pattern {_pattern(head.pattern)}"),
        *_file_rows(head, sums, layout.digest),
        ("merged", f"of {grouped(len(layout.lineage))} parts" if layout.lineage else ""),
        ("file", format_bytes(layout.size)),
    ]
    result = {"kind": "slmtok-counts", "path": path, "bytes_on_disk": layout.size, "digest": layout.digest}
    return Outcome({**result, **describe(head, sums)}, lambda: print_rows(rows, title=path))


def verify_counts(path: str, deep: bool) -> str:
    """One line about a valid counts file, for `slmtok verify`; `deep` reads every block. Raises `CorruptFile`."""
    from slmtok.training import PretokenCounts
    from slmtok.training.counts import open_counts

    file = open_counts(path)
    found = f"counts of {counted(file.head.totals.documents, 'document')}, digest {file.layout.digest[:12]}"
    if not deep:
        return found
    return f"{found}; all {grouped(PretokenCounts.load(path).distinct)} pretokens add up"


# The profile of a corpus: document lengths, duplicates, and the vocabulary sizes that it can fill.


def corpus_profile(profile_of: CorpusProfile, counts: PretokenCounts) -> dict[str, Any]:
    """As `--json` prints it. `vocabularies` is empty for schemes that do not merge."""
    from slmtok.corpus.profile import supported_vocabs

    sizes = supported_vocabs(counts.native.columns, counts.distinct) if counts.scheme == "bpe" else []
    profile = profile_of.summary()
    profile["vocabularies"] = [
        {"vocab": one.vocab_size, "occurrences": one.occurrences, "verdict": one.verdict} for one in sizes
    ]
    return profile


def _profile_rows(profile: dict[str, Any], *, is_truncated: bool) -> list[Row]:
    """`is_truncated`: whether --max-doc-chars left out text of some documents."""
    if not profile["documents"]:
        return []
    quantiles = ", ".join(f"{float(share):.0%} up to {grouped(size)}" for share, size in profile["quantiles"].items())
    about = "" if profile["duplicates_exact"] else "about "
    duplicates = f"{about}{grouped(profile['duplicates'])} of {grouped(profile['documents'])} documents"
    sizes = [
        f"{grouped(one['vocab'])}: {_VERDICTS[one['verdict']].format(grouped(one['occurrences']))}"
        for one in profile["vocabularies"]
    ]
    before = " before --max-doc-chars" if is_truncated else ""
    lengths = f"{grouped(profile['shortest'])} to {grouped(profile['longest'])} bytes{before}; {quantiles}"
    return [
        ("lengths", lengths),
        ("mean", format_bytes(round(profile["mean"])) + before),
        ("duplicates", duplicates if profile["duplicates"] else "none"),
        ("vocabulary", "\n".join(sizes)),
    ]
