"""`slmtok diff`: two tokenizers in five parts: identity, vocabulary, order, segmentation, cost."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from slmtok.cli.files import are_counts, corpus_files, read_documents, refuse_reading, require_bytes
from slmtok.cli.options import (
    INTEGER,
    argument,
    command,
    option,
    options_of,
    threads_option,
    tokenizer_argument,
)
from slmtok.cli.output import ANSWER_NO, DONE, Outcome, shortened, table, write_text
from slmtok.cli.progress import Progress
from slmtok.opening import load
from slmtok.options import ReadOptions

MAX_LISTED_TOKENS = 12


@command("diff", example="slmtok diff old.json new.json --on text.txt")
@tokenizer_argument("a")
@argument("b", metavar="TOK", help="The other one.")
@option("--on", metavar="TEXT|COUNTS", multiple=True,
        help="Compare the segmentation of this text, or of a counts file. Repeat for several.")  # fmt: skip
@option("--expect-same", is_flag=True, help="Exit with status 3 unless both give the same ids.")
@option("--top", metavar="N", type=INTEGER, default=50, help="Number of strings and tokens to list.")
@options_of(ReadOptions, into="read", needs="--on TEXT")
@threads_option(needs="--on TEXT")
def diff(a: str, b: str, on: tuple[str, ...], expect_same: bool, top: int, read: ReadOptions, threads: int) -> Outcome:
    """Compare two tokenizers of slmtok, tiktoken or Hugging Face.

    In five parts: identity; the tokens of both or of one; the order in which they were learned; on a text, where both
    put token boundaries; and the strings for which one of them needs more ids.
    """
    from slmtok.analysis.diff import compare
    from slmtok.training import PretokenCounts

    one, other = load(a), load(b)
    sources = corpus_files(on, read) if on else []
    text: Any = None
    if are_counts(sources):
        refuse_reading(read, sources[0])
        text = PretokenCounts.load(*sources)
    elif sources:
        text = ((document.text, document.domain) for document in read_documents(sources, read))
    with Progress() as progress:
        compared = compare(one, other, text, domains=read.domain_names, threads=threads, progress=progress)
    if sources:
        require_bytes(compared.total.bytes, on)
    is_one = os.path.exists(a) and os.path.exists(b) and os.path.samefile(a, b)  # noqa: PTH110, PTH121
    notes = (f"{a} was compared with itself; name another tokenizer to see differences",) if is_one else ()
    result = {"same": compared.same, "a": a, "b": b, **compared.to_dict(top)}
    code = ANSWER_NO if expect_same and not compared.same else DONE
    return Outcome(result, lambda: write_text(_text(result)), code=code, warnings=notes)


def _text(result: Mapping[str, Any]) -> str:
    parts = [
        [f"a {result['a']}", f"b {result['b']}"],
        ["identity", *_identity(result["identity"])],
        ["vocabulary", *_vocabulary(result["vocabulary"])],
        ["order", *_order(result["order"])],
    ]
    if result["segmentation"] is not None:
        parts += [["segmentation", *_segmentation(result["segmentation"])], list(_cost(result["cost"]))]
    parts.append(["the same ids" if result["same"] else "not the same ids"])
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def _identity(fields: Mapping[str, Any]) -> Iterator[str]:
    for name, value in fields.items():
        if value["same"]:
            found = "the same"
        elif isinstance(value["a"], dict):
            keys = [key for key in {**value["a"], **value["b"]} if value["a"].get(key) != value["b"].get(key)]
            found = f"differ: {', '.join(keys)}"
        else:
            found = f"{shortened(value['a'], 28)}  |  {shortened(value['b'], 28)}"
        yield f"  {name:<12} {found}"


def _vocabulary(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"  {found['shared']:,} tokens in both"
    for side in ("a", "b"):
        only = found[f"only_{side}"]
        classes = ", ".join(f"{n:,} {name}" for name, n in only["by_class"].items())
        yield f"  {only['n']:,} only in {side}" + (f": {classes}" if classes else "")
        if only["first"]:
            yield "    " + " ".join(only["first"][:MAX_LISTED_TOKENS])


def _order(found: Mapping[str, Any]) -> Iterator[str]:
    first = found["first"]
    if first is None:
        yield "  the same"
        return
    yield f"  first difference at token {first['place']}: {first['a'] or 'none'}  |  {first['b'] or 'none'}"
    if found["farthest"] is not None:
        yield (
            f"  shared tokens move by {found['median_move']:,} places (median), "
            f"{found['farthest']} by {found['largest_move']:,}"
        )


def _segmentation(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"  {found['share_of_pieces_alike']:.2%} of {found['pieces']:,} pretokens have equal tokens"
    shares = found["share_of_a_in_b"], found["share_of_b_in_a"]
    yield "  {:.2%} of a's boundaries are b's, {:.2%} of b's are a's".format(*shares)


def _cost(found: Mapping[str, Any]) -> Iterator[str]:
    groups = {"all": found["bytes_per_token"], **found["by_class"], **found["by_domain"]}
    rows = [[name, f"{pair['a']:.3f}", f"{pair['b']:.3f}"] for name, pair in groups.items()]
    yield from ("cost, in bytes per token", table(["", "a", "b"], rows).rstrip())
    for side in ("b", "a"):
        strings = [
            [one["string"], f"{one['count']:,}", str(one["a"]), str(one["b"]), f"{abs(one['extra']):,}"]
            for one in found[f"{side}_pays_more"]
        ]
        if strings:
            yield from (f"{side} needs more ids for", table(["", "count", "a", "b", "more"], strings).rstrip())
