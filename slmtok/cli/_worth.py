"""What a corpus is worth, as `slmtok count` shows it: lengths, duplicates, the vocabularies that it suffices for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slmtok.cli._numbers import grouped, in_bytes
from slmtok.cli._tables import Row

if TYPE_CHECKING:
    from slmtok.corpus.worth import Worth
    from slmtok.training import PretokenCounts

_VERDICTS = {
    "yes": "enough, every merge is learned from {} occurrences or more",
    "thin": "thin, the last merges may be learned from {} occurrences",
    "no": "too little text",
}


def result(worth: Worth, counts: PretokenCounts) -> dict[str, Any]:
    """As `--json` prints it. `vocabularies` is empty for schemes that do not merge."""
    from slmtok.corpus.worth import taught

    sizes = taught(counts.native.columns, counts.distinct) if counts.scheme == "bpe" else []
    summary = worth.summary()
    summary["vocabularies"] = [
        {"vocab": one.vocab, "occurrences": one.occurrences, "verdict": one.verdict} for one in sizes
    ]
    return summary


def rows(summary: dict[str, Any], *, capped: bool) -> list[Row]:
    """The lines of the table, from what `result` gave; `capped`: whether less of documents was counted."""
    if not summary["documents"]:
        return []
    quantiles = ", ".join(f"{float(share):.0%} up to {grouped(size)}" for share, size in summary["quantiles"].items())
    about = "" if summary["duplicates_exact"] else "about "
    duplicates = f"{about}{grouped(summary['duplicates'])} of {grouped(summary['documents'])} documents"
    sizes = [
        f"{grouped(one['vocab'])}: {_VERDICTS[one['verdict']].format(grouped(one['occurrences']))}"
        for one in summary["vocabularies"]
    ]
    whole = " before --doc-cap" if capped else ""
    return [
        (
            "lengths",
            f"{grouped(summary['shortest'])} to {grouped(summary['longest'])} bytes{whole}; {quantiles}",
        ),
        ("mean", in_bytes(round(summary["mean"])) + whole),
        ("duplicates", duplicates if summary["duplicates"] else "none"),
        ("vocabulary", "\n".join(sizes)),
    ]
