"""`slmtok diff`: two tokenizers in five parts: identity, vocabulary, order, segmentation, cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from slmtok.batching import batched
from slmtok.cli.file_kinds import counts_among
from slmtok.cli.files import corpus_files, open_any_tokenizer
from slmtok.cli.options import INTEGER, TOKENIZER, argument, command, option, options_of, threads_option
from slmtok.cli.output import ANSWER_NO, DONE, Outcome, grouped, shortened, table, write_text
from slmtok.cli.progress import Progress
from slmtok.cli.token_classes import main_class
from slmtok.errors import OptionError
from slmtok.options import ReadOptions
from slmtok.token_text import escape_token

if TYPE_CHECKING:
    from slmtok.analysis.diff import Boundaries, TokenCosts
    from slmtok.tokenizer import Tokenizer

BATCH_BYTES = 4 << 20
PIECES_PER_BATCH = 1 << 20
MAX_LISTED_TOKENS = 12


@dataclass(frozen=True)
class Comparison:
    """The segmentations of the text of `--on` by both tokenizers, for each domain."""

    domains: tuple[str, ...]
    cuts: list[Boundaries]
    paid: TokenCosts

    @property
    def total(self) -> Boundaries:
        """All domains together."""
        from slmtok.analysis.diff import Boundaries

        return sum(self.cuts, Boundaries())


@command("diff", example="slmtok diff old.json new.json --on text.txt")
@argument("a", metavar="TOK", help=f"{TOKENIZER}, or a tokenizer.json.")
@argument("b", metavar="TOK", help="The other one.")
@option("--on", metavar="TEXT|COUNTS", multiple=True,
        help="Compare the segmentation of this text, or of a counts file. Repeat for several.")  # fmt: skip
@option("--expect-same", is_flag=True, help="Exit with status 3 unless both give the same ids.")
@option("--top", metavar="N", type=INTEGER, default=50, help="Number of strings and tokens to list.")
@options_of(ReadOptions, into="read")
@threads_option()
def diff(a: str, b: str, on: tuple[str, ...], expect_same: bool, top: int, read: ReadOptions, threads: int) -> Outcome:
    """Compare two tokenizers of slmtok, tiktoken or Hugging Face.

    In five parts: identity; the tokens of both or of one; the order in which they were learned; on a text, where both
    put token boundaries; and the strings for which one of them needs more ids.
    """
    from slmtok.analysis.diff import same_ids

    one, other = open_any_tokenizer(a), open_any_tokenizer(b)
    with Progress() as progress:
        sources = corpus_files(on, read) if on else []
        compared: Comparison | None = None
        if counts_among(sources):
            compared = _compare_on_counts(one, other, sources, threads)
        elif sources:
            compared = _compare_on_text(one, other, sources, read, threads, progress)
    same = same_ids(one, other) and (compared is None or compared.total.alike)
    result = {"same": same, "a": a, "b": b, **_result(one, other, compared, top=top)}
    code = ANSWER_NO if expect_same and not same else DONE
    return Outcome(result, summary=lambda: write_text(_text(result)), code=code)


def _compare_on_text(
    a: Tokenizer, b: Tokenizer, sources: Sequence[str], read: ReadOptions, threads: int, progress: Progress
) -> Comparison:
    from slmtok.analysis.diff import Boundaries, TokenCosts, add_texts
    from slmtok.analysis.strings import Collector
    from slmtok.corpus import read as read_corpus

    domains, paid = read.domain_names, TokenCosts(a, b, threads)
    found = Comparison(domains, [Boundaries() for _ in domains or ("",)], paid)
    collector = Collector(threads)
    for domain, documents in groupby(read_corpus(sources, read), lambda document: document.domain):
        for batch in batched((document.text for document in documents), BATCH_BYTES):
            add_texts(found.cuts[domain], a, b, batch, threads)
            for part in collector.add(batch):
                paid.add(part)
            progress("compare", found.total.bytes, 0)
    paid.add(collector.strings())
    return found


def _compare_on_counts(a: Tokenizer, b: Tokenizer, sources: Sequence[str], threads: int) -> Comparison:
    """Each pretoken of a counts file alone: exact for the corpus where it was counted with the pattern of both."""
    from slmtok.analysis.diff import Boundaries, TokenCosts, add_pieces
    from slmtok.analysis.strings import Strings
    from slmtok.training import PretokenCounts

    counts = PretokenCounts.load(*sources)
    pattern = counts.native.pattern
    for tokenizer in (a, b):
        if tokenizer.pattern.regex != pattern.regex:
            raise OptionError(
                "the counts have another pattern than the tokenizers",
                where=f"counts: {pattern.name or pattern.regex}; {tokenizer!r}",
                limit="pretokens can be compared where all have one pattern",
                fix="name the text itself with --on",
                option="on",
            )
    items = counts.items()
    cuts, paid = Boundaries(), TokenCosts(a, b, threads)
    for start in range(0, len(items), PIECES_PER_BATCH):
        part = items[start : start + PIECES_PER_BATCH]
        add_pieces(cuts, a, b, part, threads)
        paid.add(Strings.of(part))
    return Comparison((), [cuts], paid)


# The result as plain values.


def _result(a: Tokenizer, b: Tokenizer, compared: Comparison | None, *, top: int) -> dict[str, Any]:
    """All five parts; `segmentation` and `cost` are None without a text."""
    from slmtok.analysis import diff as analysis

    tokens, order = analysis.vocabularies(a, b), analysis.order(a, b)
    first = order.first
    result: dict[str, Any] = {
        "identity": {name: {"a": x, "b": y, "same": x == y} for name, (x, y) in analysis.identity(a, b).items()},
        "vocabulary": {
            "shared": tokens.shared,
            "only_a": _tokens(tokens.only_a, top),
            "only_b": _tokens(tokens.only_b, top),
        },
        "order": {
            "first": None if first is None else {"place": first[0], "a": _word(first[1]), "b": _word(first[2])},
            "median_move": order.median_move,
            "largest_move": order.largest_move,
            "farthest": _word(order.farthest),
        },
        "segmentation": None,
        "cost": None,
    }
    if compared is not None:
        total = compared.total
        result["segmentation"] = {
            **total.to_dict(),
            "share_of_pieces_alike": _share(total.pieces_alike, total.pieces),
            "share_of_a_in_b": _share(total.shared, total.boundaries_a),
            "share_of_b_in_a": _share(total.shared, total.boundaries_b),
        }
        result["cost"] = _cost(compared, top)
    return result


def _cost(compared: Comparison, top: int) -> dict[str, Any]:
    costs = compared.paid.costs()
    return {
        "bytes_per_token": _bytes_per_token(compared.total),
        "by_class": {name: {"a": a, "b": b} for name, (a, b) in compared.paid.classes().items()},
        "by_domain": {
            name: _bytes_per_token(cuts) for name, cuts in zip(compared.domains, compared.cuts, strict=False)
        },
        "b_pays_more": [_string_cost(cost) for cost in costs[:top] if cost.extra > 0],
        "a_pays_more": [_string_cost(cost) for cost in costs[::-1][:top] if cost.extra < 0],
    }


def _tokens(tokens: Sequence[bytes], top: int) -> dict[str, Any]:
    return {
        "n": len(tokens),
        "by_class": dict(sorted(Counter(map(main_class, tokens)).items())),
        "first": [escape_token(token) for token in tokens[:top]],
    }


def _word(token: bytes | None) -> str | None:
    return None if token is None else escape_token(token)


def _string_cost(cost: Any) -> dict[str, Any]:
    string = escape_token(cost.string)
    return {"string": string, "count": cost.count, "a": cost.ids_a, "b": cost.ids_b, "extra": cost.extra}


def _bytes_per_token(cuts: Boundaries) -> dict[str, float]:
    return {"a": cuts.bytes / max(cuts.tokens_a, 1), "b": cuts.bytes / max(cuts.tokens_b, 1)}


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


# The result as text.


def _text(result: Mapping[str, Any]) -> str:
    parts = [f"a {result['a']}\nb {result['b']}\n", _identity_text(result["identity"])]
    parts += [_vocabulary_text(result["vocabulary"]), _order_text(result["order"])]
    if result["segmentation"] is not None:
        parts += [_segmentation_text(result["segmentation"]), _cost_text(result["cost"])]
    parts.append("the same ids\n" if result["same"] else "not the same ids\n")
    return "\n".join(parts)


def _identity_text(fields: Mapping[str, Any]) -> str:
    lines = []
    for name, value in fields.items():
        if value["same"]:
            lines.append(f"  {name:<12} the same")
        elif isinstance(value["a"], dict):
            keys = [key for key in {**value["a"], **value["b"]} if value["a"].get(key) != value["b"].get(key)]
            lines.append(f"  {name:<12} differ: {', '.join(keys)}")
        else:
            lines.append(f"  {name:<12} {shortened(value['a'])}  |  {shortened(value['b'])}")
    return "identity\n" + "\n".join(lines) + "\n"


def _vocabulary_text(found: Mapping[str, Any]) -> str:
    lines = [f"  {grouped(found['shared'])} tokens in both"]
    for side in ("a", "b"):
        only = found[f"only_{side}"]
        classes = ", ".join(f"{grouped(n)} {name}" for name, n in only["by_class"].items())
        lines.append(f"  {grouped(only['n'])} only in {side}" + (f": {classes}" if classes else ""))
        if only["first"]:
            lines.append("    " + " ".join(only["first"][:MAX_LISTED_TOKENS]))
    return "vocabulary\n" + "\n".join(lines) + "\n"


def _order_text(found: Mapping[str, Any]) -> str:
    first = found["first"]
    if first is None:
        return "order\n  the same\n"
    lines = [f"  first difference at token {first['place']}: {first['a'] or 'none'}  |  {first['b'] or 'none'}"]
    if found["farthest"] is not None:
        lines.append(
            f"  shared tokens move by {grouped(found['median_move'])} places (median), "
            f"{found['farthest']} by {grouped(found['largest_move'])}"
        )
    return "order\n" + "\n".join(lines) + "\n"


def _segmentation_text(found: Mapping[str, Any]) -> str:
    return (
        "segmentation\n"
        f"  {found['share_of_pieces_alike']:.2%} of {grouped(found['pieces'])} pretokens have equal tokens\n"
        f"  {found['share_of_a_in_b']:.2%} of a's boundaries are b's, {found['share_of_b_in_a']:.2%} of b's are a's\n"
    )


def _cost_text(found: Mapping[str, Any]) -> str:
    groups = {"all": found["bytes_per_token"], **found["by_class"], **found["by_domain"]}
    rows = [[name, f"{pair['a']:.3f}", f"{pair['b']:.3f}"] for name, pair in groups.items()]
    lines = ["cost, in bytes per token", table(["", "a", "b"], rows).rstrip()]
    for side in ("b", "a"):
        strings = [
            [one["string"], grouped(one["count"]), str(one["a"]), str(one["b"]), grouped(abs(one["extra"]))]
            for one in found[f"{side}_pays_more"]
        ]
        if strings:
            lines += [f"{side} needs more ids for", table(["", "count", "a", "b", "more"], strings).rstrip()]
    return "\n".join(lines) + "\n"
