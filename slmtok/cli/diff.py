"""`slmtok diff`: two tokenizers side by side: what they are, their tokens, their order, their cuts, what these cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from slmtok.cli import _diff_report, _numbers, _options, _output
from slmtok.cli._corpus_options import with_corpus
from slmtok.cli._progress import Progress
from slmtok.cli._tokenizers import open_any
from slmtok.corpus import ReadOptions
from slmtok.errors import InvalidOption

if TYPE_CHECKING:
    from slmtok.analysis.diff import Cuts
    from slmtok.analysis.paid import Paid
    from slmtok.tokenizer import Tokenizer

_Tok = Annotated[
    str, typer.Argument(metavar="TOK", help=f"{_options.TOKENIZER}; or a tokenizer.json.", show_default=False)
]
_On = Annotated[
    list[str] | None,
    typer.Option(
        "--on",
        metavar="TEXT|COUNTS",
        help="Also compare how they cut: a text, or a counts file. Repeat for several texts.",
        show_default=False,
    ),
]
_ExpectSame = Annotated[bool, typer.Option("--expect-same", help="Status 3 unless they give the same ids.")]
_Top = Annotated[
    int, typer.Option("--top", metavar="N", parser=_numbers.whole, help="How many strings and tokens to name.")
]


@dataclass
class Compared:
    """How both cut what `--on` names."""

    names: tuple[str, ...] = ()
    cuts: list[Cuts] = field(default_factory=list)
    paid: Paid | None = None

    @property
    def total(self) -> Cuts:
        """All domains together."""
        from slmtok.analysis.diff import Cuts

        return sum(self.cuts, Cuts())


@with_corpus
def diff(
    a: _Tok,
    b: _Tok,
    on: _On = None,
    *,
    read: ReadOptions,
    expect_same: _ExpectSame = False,
    top: _Top = 50,
    threads: _options.Threads = 0,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Compare two tokenizers: ours, tiktoken's, a tokenizer.json.

    In five parts: what they are; the tokens that both or one of them have; the order in which these were learned; on a
    text, where both cut; and the strings that one of them spells in more ids.
    """
    from slmtok.analysis.diff import same_ids

    one, other = open_any(a), open_any(b)
    with Progress(quiet=quiet) as progress:
        compared = _compared(one, other, on, read, threads, progress) if on else None
    result = _diff_report.result(one, other, compared, top=top)
    same = same_ids(one, other) and (compared is None or compared.total.alike)
    result = {"same": same, "a": a, "b": b, **result}
    code = _output.ANSWER_NO if expect_same and not same else _output.DONE
    return _output.Outcome(result, None if quiet else lambda: _output.write_text(_diff_report.text(result)), code=code)


def _compared(
    a: Tokenizer, b: Tokenizer, on: Sequence[str], read: ReadOptions, threads: int, progress: Progress
) -> Compared:
    from slmtok.cli import _corpus
    from slmtok.training.counts_layout import is_counts

    sources = _corpus.files(on, read)
    if any(is_counts(source) for source in sources):
        return _on_counts(a, b, sources, threads)
    return _on_text(a, b, sources, read, threads, progress)


def _on_text(
    a: Tokenizer, b: Tokenizer, sources: Sequence[str], read: ReadOptions, threads: int, progress: Progress
) -> Compared:
    from slmtok.analysis.diff import Cuts, add_texts
    from slmtok.analysis.paid import Paid
    from slmtok.analysis.strings import Collector

    names, paid = read.domain_names, Paid(a, b, threads)
    found = Compared(names, [Cuts() for _ in names or ("",)], paid)
    collector = Collector(threads)
    for domain, batch in _batches(sources, read):
        add_texts(found.cuts[domain], a, b, batch, threads)
        for part in collector.add(batch):
            paid.add(part)
        progress("compare", found.total.bytes, 0)
    paid.add(collector.strings())
    return found


def _batches(sources: Sequence[str], read: ReadOptions, size: int = 4 << 20) -> Iterator[tuple[int, list[bytes]]]:
    """(domain, documents of it), some megabytes each."""
    from slmtok.corpus import read as read_corpus

    waiting: dict[int, list[bytes]] = {}
    sizes: dict[int, int] = {}
    for document in read_corpus(sources, read):
        waiting.setdefault(document.domain, []).append(bytes(document.text))
        sizes[document.domain] = sizes.get(document.domain, 0) + len(document.text)
        if sizes[document.domain] >= size:
            yield document.domain, waiting.pop(document.domain)
            sizes[document.domain] = 0
    yield from waiting.items()


def _on_counts(a: Tokenizer, b: Tokenizer, sources: Sequence[str], threads: int) -> Compared:
    """The pieces of a counts file, each alone: exact for the corpus where it was counted with their pattern."""
    from slmtok.analysis.diff import Cuts, add_pieces
    from slmtok.analysis.paid import Paid
    from slmtok.analysis.strings import Strings
    from slmtok.training import PretokenCounts

    counts = PretokenCounts.load(*sources)
    regex = counts.native.pattern.regex
    for tokenizer in (a, b):
        if tokenizer.pattern.regex != regex:
            raise InvalidOption(
                "the counts were made with another pattern than the tokenizers have",
                where=f"counts: {counts.native.pattern.name or regex}; {tokenizer!r}",
                limit="pieces of counts are compared where all have one pattern",
                fix="name the text itself with --on",
                option="on",
            )
    items = counts.items()
    cuts, paid = Cuts(), Paid(a, b, threads)
    for start in range(0, len(items), 1 << 20):
        part = items[start : start + (1 << 20)]
        add_pieces(cuts, a, b, part, threads)
        paid.add(Strings.of(part))
    return Compared((), [cuts], paid)
