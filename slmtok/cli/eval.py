"""`slmtok eval`: tokenizers side by side on one text, in numbers that do not need a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

import slmtok
from slmtok.cli import _corpus, _numbers, _options, _output
from slmtok.cli._columns import columns
from slmtok.cli._corpus_options import with_corpus
from slmtok.cli._numbers import grouped, in_bytes
from slmtok.cli._progress import Progress
from slmtok.cli._tokenizers import open_any
from slmtok.corpus import ReadOptions
from slmtok.errors import InvalidOption
from slmtok.token_text import escape_token

if TYPE_CHECKING:
    from slmtok.analysis.measure import Measured, Text
    from slmtok.tokenizer import Tokenizer

_Toks = Annotated[
    list[str],
    typer.Argument(metavar="TOK…", help=f"{_options.TOKENIZER}; or a tokenizer.json.", show_default=False),
]
_On = Annotated[
    list[str], typer.Option("--on", metavar="TEXT", help="The text. Repeat for several.", show_default=False)
]
_Sizes = Annotated[
    str | None,
    typer.Option(
        "--sizes",
        metavar="N,N",
        help="Also each tokenizer of ours cut to these sizes, as training to them would have given.",
        show_default=False,
    ),
]
_By = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="domain|class",
        parser=_options.choice("domain", "class"),
        help="Bytes per token by --domain, or by kind of string: words, numbers, marks, white space.",
        show_default=False,
    ),
]


@with_corpus
def eval(
    toks: _Toks,
    on: _On,
    *,
    read: ReadOptions,
    sizes: _Sizes = None,
    by: _By = None,
    threads: _options.Threads = 0,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Measure tokenizers on a text: tokens, words, unused ids, ids spent on variants of one word.

    Ours, tiktoken's and a tokenizer.json can stand side by side. The numbers say how a text is cut, not which model
    will be better.
    """
    from slmtok.analysis.measure import measure

    domains = read.domain_names
    if by == "domain" and not domains:
        raise InvalidOption(
            "--by domain, and no domain is named", limit="--domain NAME=GLOB", fix="name some", option="by"
        )
    sources = _corpus.text_files(on, read)
    chosen = _chosen(toks, sizes)
    with Progress(quiet=quiet) as progress:
        text, found = measure(chosen, _texts(sources, read), domains=len(domains), threads=threads, progress=progress)
    result = {
        "text": {
            "documents": text.documents,
            "bytes": text.bytes,
            "words": text.words,
            "domains": dict(zip(domains, text.domain_bytes, strict=False)),
        },
        "tokenizers": [one.to_dict(domains) for one in found],
    }
    return _output.Outcome(result, lambda: _output.write_text(_table(text, found, by, domains)))


def _chosen(names: Sequence[str], sizes: str | None) -> list[tuple[str, Tokenizer]]:
    """The tokenizers by name, each followed by its smaller ones."""
    found: list[tuple[str, Tokenizer]] = []
    for name in names:
        tokenizer = open_any(name)
        found.append((name, tokenizer))
        for size in (sizes or "").split(","):
            if size.strip() and tokenizer.vocabulary.layout == "own":
                n = _numbers.whole(size.strip())
                found.append((f"{name}:{n}", slmtok.slice(tokenizer, n)))
    return found


def _texts(sources: Sequence[str], read: ReadOptions) -> Iterator[tuple[bytes, int]]:
    from slmtok.corpus import read as read_corpus

    return ((bytes(document.text), document.domain) for document in read_corpus(sources, read))


def _table(text: Text, found: Sequence[Measured], by: str | None, domains: Sequence[str]) -> str:
    rows: list[list[str]] = [
        ["ids", *(grouped(one.n_vocab) for one in found)],
        ["tokens", *(grouped(one.tokens) for one in found)],
        ["bytes per token", *(f"{one.bytes_per_token:.3f}" for one in found)],
        ["tokens per word", *(f"{one.tokens_per_word:.3f}" for one in found)],
        ["words that are one token", *(f"{one.single_token_share:.1%}" for one in found)],
        ["ids never used", *(grouped(len(one.unused)) for one in found)],
        ["ids for variants of a word", *(grouped(one.variants.extra) for one in found)],
        ["Rényi efficiency", *(f"{one.renyi_efficiency:.3f}" for one in found)],
    ]
    if by == "class":
        names = list(dict.fromkeys(name for one in found for name in one.by_class))
        rows.append(["bytes per token, by kind of string"])
        rows.extend([name, *(_number(one.by_class.get(name)) for one in found)] for name in names)
    if by == "domain":
        rows.append(["bytes per token, by domain"])
        rows.extend([name, *(_number(one.by_domain[index]) for one in found)] for index, name in enumerate(domains))
    rows.append(["most variants"])
    rows.extend([f"  {one.name}: {_variants(one)}"] for one in found if one.variants.largest)
    title = f"{grouped(text.documents)} documents, {in_bytes(text.bytes)}, {grouped(text.words)} words\n"
    return title + columns(["", *(one.name for one in found)], rows)


def _number(value: Any) -> str:
    return "" if value is None else f"{value:.3f}"


def _variants(one: Measured) -> str:
    word, tokens = one.variants.largest[0]
    return f"{word} in {len(tokens)} ids: {' '.join(map(escape_token, tokens))}"
