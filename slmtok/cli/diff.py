"""`slmtok diff`: two tokenizers in five parts: identity, vocabulary, order, segmentation, cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slmtok.cli.file_kinds import counts_among
from slmtok.cli.files import corpus_files, open_any_tokenizer
from slmtok.cli.options import INTEGER, TOKENIZER, argument, command, option, options_of, threads_option
from slmtok.cli.output import ANSWER_NO, DONE, Outcome, shortened, table, write_text
from slmtok.cli.progress import Progress
from slmtok.options import ReadOptions

MAX_LISTED_TOKENS = 12


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
    from slmtok.analysis.diff import compare
    from slmtok.corpus import read as read_corpus
    from slmtok.training import PretokenCounts

    one, other = open_any_tokenizer(a), open_any_tokenizer(b)
    sources = corpus_files(on, read) if on else []
    text: Any = None
    if counts_among(sources):
        text = PretokenCounts.load(*sources)
    elif sources:
        text = ((document.text, document.domain) for document in read_corpus(sources, read))
    with Progress() as progress:
        compared = compare(one, other, text, domains=read.domain_names, threads=threads, progress=progress)
    result = {"same": compared.same, "a": a, "b": b, **compared.to_dict(top)}
    code = ANSWER_NO if expect_same and not compared.same else DONE
    return Outcome(result, summary=lambda: write_text(_text(result)), code=code)


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
    lines = [f"  {found['shared']:,} tokens in both"]
    for side in ("a", "b"):
        only = found[f"only_{side}"]
        classes = ", ".join(f"{n:,} {name}" for name, n in only["by_class"].items())
        lines.append(f"  {only['n']:,} only in {side}" + (f": {classes}" if classes else ""))
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
            f"  shared tokens move by {found['median_move']:,} places (median), "
            f"{found['farthest']} by {found['largest_move']:,}"
        )
    return "order\n" + "\n".join(lines) + "\n"


def _segmentation_text(found: Mapping[str, Any]) -> str:
    return (
        "segmentation\n"
        f"  {found['share_of_pieces_alike']:.2%} of {found['pieces']:,} pretokens have equal tokens\n"
        f"  {found['share_of_a_in_b']:.2%} of a's boundaries are b's, {found['share_of_b_in_a']:.2%} of b's are a's\n"
    )


def _cost_text(found: Mapping[str, Any]) -> str:
    groups = {"all": found["bytes_per_token"], **found["by_class"], **found["by_domain"]}
    rows = [[name, f"{pair['a']:.3f}", f"{pair['b']:.3f}"] for name, pair in groups.items()]
    lines = ["cost, in bytes per token", table(["", "a", "b"], rows).rstrip()]
    for side in ("b", "a"):
        strings = [
            [one["string"], f"{one['count']:,}", str(one["a"]), str(one["b"]), f"{abs(one['extra']):,}"]
            for one in found[f"{side}_pays_more"]
        ]
        if strings:
            lines += [f"{side} needs more ids for", table(["", "count", "a", "b", "more"], strings).rstrip()]
    return "\n".join(lines) + "\n"
