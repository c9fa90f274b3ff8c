"""What several commands report: counts, the profile of a corpus, receipts, audits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from slmtok.cli.corpus_notes import (
    remedy_of_carriage_returns,
    remedy_of_marks,
    remedy_of_zeros,
    separator_note,
    white_space_note,
)
from slmtok.cli.output import Row, again_with, counted, flag_naming, in_time, print_rows
from slmtok.corpus import notes
from slmtok.corpus.contents import UNUSUAL
from slmtok.envelope import baseline_limits
from slmtok.errors import render
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
    "yes": "enough, every merge is learned from {:,} occurrences or more",
    "thin": "thin, the last merges are learned from {:,} occurrences or more",
    "no": "not certain; slmtok train names the size that the text fills",
    "never": "more than this text can fill",
}
"""The occurrences are a lower bound, so a size that is not certain may be filled."""


def result_of(counts: PretokenCounts, profile: dict[str, Any]) -> dict[str, Any]:
    """The result of `slmtok count`; `profile` is that of `corpus_profile`."""
    from slmtok.training.memory import peak_memory

    domains = [
        {"name": one.name, "documents": one.documents, "bytes": one.bytes, "pieces": one.native.pieces}
        for one in counts.domains
    ]
    return {
        "scheme": counts.scheme,
        "pattern": pattern_text(counts.native.pattern),
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
    from slmtok.cli.corpus_notes import is_noted
    from slmtok.cli.encoding_notes import remedy_of_invalid
    from slmtok.training.notes import domain_notes, invalid_note, uncut_note
    from slmtok.training.report import first_invalid

    totals, sampled = counts.totals, counts.stats.skipped.sampled
    found: list[str] = []
    if totals.invalid_bytes:
        first = first_invalid(counts)
        remedy = remedy_of_invalid(None if first is None else first[0], counts.stats.files)
        found.append(render(invalid_note(counts, remedy)))
    if totals.gap_bytes:
        found.append(
            f"the pattern does not match {counted(totals.gap_bytes, 'byte')} "
            f"({totals.gap_bytes / max(counts.bytes, 1):.2%} of the corpus); they became single pretokens"
        )
    if 0 < counts.distinct <= _MAX_SPACE_PIECES and not any(piece.strip() for piece, _ in counts.items()):
        found.append(white_space_note(counts.bytes))
    if uncut_note(counts):
        found.append(separator_note(str(counts.options["separator"])))
    encoding = str(counts.options.get("encoding", "utf-8"))
    found += unusual_warnings(map(counts.native.occurrences, UNUSUAL.values()), encoding)
    if totals.capped_documents:
        found.append(
            f"--max-doc-chars left out {format_bytes(totals.capped_bytes)} of "
            f"{counted(totals.capped_documents, 'document')}"
        )
    if sampled:
        found.append(f"--sample left out {counted(sampled, 'document')}")
    if totals.skipped_records:
        found.append(notes.skipped_note(totals.skipped_records))
    if not counts.stats.complete:
        found.append("--max-docs, --max-bytes or --max-chars ended the reading before the end of the corpus")
    about_domains = (note for domain, note in domain_notes(counts).items() if not is_noted(domain))
    return (*found, *(render(each, flag_naming) for each in about_domains))


_MAX_SPACE_PIECES = 1000
"""Distinct pieces up to which a corpus may be white space alone."""
_WITHOUT_MARK = {
    "utf-8": "utf-8-sig",
    **{f"utf-{bits}-{end}": f"utf-{bits}" for bits in (16, 32) for end in ("le", "be")},
}
"""Encodings that keep a byte order mark, each with the one that leaves out the first of each file."""


def unusual_warnings(numbers: Iterable[int], encoding: str = "utf-8") -> list[str]:
    """Warnings about the characters of `UNUSUAL`, given how often a text in this encoding has each."""
    numbers, better = list(numbers), _WITHOUT_MARK.get(encoding)
    mark = "they stand inside the text"
    if inside := remedy_of_marks(numbers[1], encoding):
        mark = inside
    elif better:
        mark = f"{again_with(f'--encoding {better}')} to leave out the first of each file"
    removed_by = {
        "carriage return": remedy_of_carriage_returns() if numbers[0] else "",
        "byte order mark": mark,
        "zero byte": remedy_of_zeros() if numbers[2] else "",
    }
    return [
        f"{counted(number, name)} in the text {'was' if number == 1 else 'were'} kept; {removed_by[name]}"
        for name, number in zip(UNUSUAL, numbers, strict=True)
        if number
    ]


def pattern_text(pattern: Pattern | PatternSpec) -> str:
    """The name of a pattern, or its regex."""
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
        ("pretokens", f"{counts.pieces:,}, {counts.distinct:,} distinct"),
        ("time", in_time(seconds)),
        ("spills", f"{counts.spills:,}" if counts.spills else ""),
        ("digest", digest),
    ]
    print_rows(rows, title=f"{output}: scheme {counts.scheme}, pattern {pattern_text(counts.native.pattern)}")


def file_rows(head: Head, sums: Sums, digest: str, *more: Row) -> list[Row]:
    """What a counts file contains."""
    pruned = ""
    if head.min_count > 1:
        share = sum(sums.pruned_pieces) / max(sum(sums.pieces) + sum(sums.pruned_pieces), 1)
        pruned = f"{sums.pruned_distinct:,} pretokens below {head.min_count} left out, {share:.3%} of all"
    domains = [f"{one.name or '(none)'}: {_corpus(one.documents, one.bytes)}" for one in head.domains]
    return [
        ("corpus", _corpus(head.totals.documents, head.totals.bytes)),
        ("domains", "\n".join(domains) if len(domains) > 1 else ""),
        ("pretokens", f"{sum(sums.pieces):,}, {sums.distinct:,} distinct"),
        ("pruned", pruned),
        *more,
        ("digest", digest),
    ]


def print_merged(merged: Merged, seconds: float) -> None:
    """The summary of `slmtok merge`."""
    head, more = merged.head, [("inputs", f"{merged.inputs:,}"), ("time", in_time(seconds))]
    title = f"{merged.path}: scheme {head.scheme}, pattern {pattern_text(head.pattern)}"
    print_rows(file_rows(head, merged.sums, merged.digest, *more), title=title)


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


def _spans_of_verdicts(vocabularies: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str, int]]:
    """Sizes, verdict and occurrences: of each size alone, or of all that share a verdict that gives no occurrences."""
    for verdict, group in groupby(vocabularies, key=itemgetter("verdict")):
        alike = list(group)
        spans = [[one] for one in alike] if verdict in ("yes", "thin") else [alike]
        for first, *more in spans:
            end = "" if not more else " and more" if more[-1] is vocabularies[-1] else f" to {more[-1]['vocab']:,}"
            yield f"{first['vocab']:,}{end}", verdict, first["occurrences"]


def _profile_rows(profile: dict[str, Any], *, is_truncated: bool) -> list[Row]:
    """`is_truncated`: whether --max-doc-chars left out text of some documents."""
    if not profile["documents"]:
        return []
    quantiles = ", ".join(f"{float(share):.0%} up to {size:,}" for share, size in profile["quantiles"].items())
    about = "" if profile["duplicates_exact"] else "about "
    duplicates = f"{about}{profile['duplicates']:,} of {profile['documents']:,} documents"
    sizes = [
        f"{span}: {_VERDICTS[verdict].format(occurrences)}"
        for span, verdict, occurrences in _spans_of_verdicts(profile["vocabularies"])
    ]
    before = " before --max-doc-chars" if is_truncated else ""
    shortest, longest = profile["shortest"], profile["longest"]
    lengths = f"{shortest:,} to {longest:,} bytes{before}; {quantiles}"
    return [
        ("lengths", lengths if shortest < longest else f"{longest:,} bytes{before}"),
        ("mean", format_bytes(round(profile["mean"])) + before),
        ("duplicates", duplicates if profile["duplicates"] else "none"),
        ("vocabulary", "\n".join(sizes)),
    ]


# Receipts and audits.


def compared_ids(receipt: dict[str, Any]) -> str:
    """What a receipt says of the comparison, in one line."""
    library = f"{receipt['library']} {receipt['library_version'] or ''}".rstrip()
    if not receipt["verified"]:
        return f"NOT compared with {library}"
    return f"equal ids in {library}: {receipt['strings']:,} texts, {format_bytes(receipt['bytes'])}"


def audit_rows(content: Mapping[str, Any]) -> list[Row]:
    """What an audit found."""
    text, leak, baselines = content["text"], content.get("leak"), content.get("baselines")
    checks = [
        f"{'ok ' if check['ok'] else 'NO '} {name.replace('_', ' ')}{'' if check['ok'] else ': ' + check['fault']}"
        for name, check in content["checks"].items()
    ]
    bits = []
    if baselines:
        bits += [f"{order}-gram  {value:.3f} bits per byte" for order, value in baselines["ngram"].items()]
        bits += [f"{name:<6}  {baselines[name]['after_train']:.3f} after the training text" for name in ("bz2", "xz")]
        bits += filter(None, [baseline_limits(baselines, text["bytes"])])
    return [
        ("verdict", "nothing is lost" if content["verdict"] else "NOT PROVEN"),
        ("text", f"{counted(text['documents'], 'document')}, {format_bytes(text['bytes'])}, {text['bytes']:,} bytes"),
        ("tokens", f"{content['ids']:,}, {content['token_bytes']:,} bytes"),
        ("checks", "\n".join(checks)),
        ("leak", f"{leak['documents']:,} of {leak['of']:,} documents were counted" if leak else ""),
        ("baselines", "\n".join(bits)),
    ]
