"""`slmtok eval`: tokenizers side by side on one text, in numbers that need no model."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import slmtok
from slmtok.cli.arguments import without_options
from slmtok.cli.files import names_tokenizer, read_documents, refuse_missing, require_bytes, text_files
from slmtok.cli.options import (
    TOKENIZER,
    Habit,
    choice,
    command,
    instead,
    option,
    options_of,
    parse_integer,
    threads_option,
    tokenizer_argument,
)
from slmtok.cli.output import Outcome, counted, table, write_text
from slmtok.cli.progress import Progress
from slmtok.errors import OptionError
from slmtok.opening import load
from slmtok.options import ReadOptions
from slmtok.sizes import format_bytes
from slmtok.specials import FIRST_LEARNED
from slmtok.token_text import escape_token

if TYPE_CHECKING:
    from slmtok.analysis.measure import Metrics, Text
    from slmtok.tokenizer import Tokenizer


_BASELINE = ("--baseline", "--against", "--versus", "--compare", "--reference")
"""Options of other tools for a second one to measure."""


def _beside(value: str | None, arguments: Sequence[str]) -> str:
    """The command line with a second tokenizer as an argument."""
    if value is None or not names_tokenizer(value):
        return "leave it out: each tokenizer is an argument, slmtok eval TOK TOK --on TEXT"
    words, given = without_options(arguments, _BASELINE), [*filter(names_tokenizer, arguments)]
    at = next((at + 1 for at, word in enumerate(words) if word in given), 0)
    return shlex.join(["slmtok", "eval", *words[:at], value, *words[at:]])


_HABITS: dict[str, Habit] = {
    **dict.fromkeys(("--vocab", "--vocab-size"), instead("--sizes {}", "1024,2048")),
    **dict.fromkeys(_BASELINE, _beside),
}
"""Options of other commands, each with what stands for it here."""
_KINDS = {
    **dict.fromkeys(("word", "words", "number", "numbers", "punctuation", "space", "spaces", "type"), "class"),
    **dict.fromkeys(("language", "languages", "lang", "script", "source", "file", "files", "folder"), "domain"),
}
"""Classes of strings, whose option is that of all classes, and what domains are."""


@command("eval", example="slmtok eval tok.json tiktoken:gpt2 --on text.txt", habits=_HABITS)
@tokenizer_argument("tokenizers", metavar="TOK...", nargs=-1, required=True, help=f"The tokenizers, each {TOKENIZER}.")
@option("--on", metavar="TEXT", multiple=True, required=True, help="The text. Repeat for several.")
@option("--sizes", metavar="N,N", help="Also measure each tokenizer of slmtok cut to these vocabulary sizes.")
@option("--by", type=choice("class", "domain", foreign=_KINDS), metavar="class|domain",
        help="Bytes per token by class (words, numbers, punctuation, white space), or by --domain.")  # fmt: skip
@options_of(ReadOptions, into="read")
@threads_option()
def eval(
    tokenizers: tuple[str, ...], on: tuple[str, ...], sizes: str | None, by: str | None, read: ReadOptions, threads: int
) -> Outcome:
    """Measure tokenizers on a text: tokens, words, unused ids, ids of variants of one word.

    The tokenizers may be of slmtok, tiktoken or Hugging Face. The numbers describe the segmentation; they do not tell
    which model will be better.
    """
    from slmtok.analysis.measure import measure

    domains = read.domain_names
    if by == "domain" and not domains:
        named = " ".join(f"--domain {shlex.quote(each)}" for each in _domains_meant(on, text_files(on, read)))
        raise OptionError(
            "--by domain without a domain",
            limit="--domain NAME=GLOB, at least one",
            fix=f"{named}, for instance",
            option="by",
        )
    refuse_missing(tokenizers)
    sources = text_files(on, read)
    chosen = _open(tokenizers, sizes)
    with Progress() as progress:
        texts = ((document.text, document.domain) for document in read_documents(sources, read))
        text, found = measure(chosen, texts, domains=len(domains), threads=threads, progress=progress)
    require_bytes(text.bytes, on)
    result = {
        "text": {
            "documents": text.documents,
            "bytes": text.bytes,
            "words": text.words,
            "domains": dict(zip(domains, text.domain_bytes, strict=False)),
        },
        "tokenizers": [one.to_dict(domains) for one in found],
    }
    return Outcome(result, lambda: write_text(_table(text, found, by, domains)))


_MAX_DOMAINS = 8
"""Folders that a fix names."""


def _domains_meant(on: Sequence[str], files: Sequence[str]) -> list[str]:
    """NAME=GLOB of each folder in a folder of texts, where it has several; else of each text."""
    found: list[str] = []
    for text in on:
        below = [Path(each).relative_to(text).parts for each in files if Path(text) in Path(each).parents]
        folders = dict.fromkeys(parts[0] for parts in below if len(parts) > 1)
        several = [f"{name}={Path(text, name).as_posix()}/**" for name in [*folders][:_MAX_DOMAINS]]
        found += several if len(several) > 1 else [f"{Path(text).stem}={_glob(text)}"]
    return found


def _glob(text: str) -> str:
    """The glob of the files that a value of --on names."""
    return f"{text.rstrip(os.sep)}/**" if os.path.isdir(text) else text  # noqa: PTH112


def _open(names: Sequence[str], sizes: str | None) -> list[tuple[str, Tokenizer]]:
    """The tokenizers by name, each followed by its slices."""
    opened: list[tuple[str, Tokenizer]] = []
    for name in names:
        if sizes and name.isdecimal() and not os.path.exists(name):  # noqa: PTH110
            listed = ",".join([sizes, *filter(str.isdecimal, names)])
            fact = f"--sizes takes one word, and {name} after it is no tokenizer"
            raise OptionError(fact, limit="sizes with commas between", fix=f"--sizes {listed}", option="sizes")
        opened.append((name, load(name)))
    # All are cut to each size, so the smallest is the limit.
    limit = min((one.n_vocab for _, one in opened if one.vocabulary.layout == "own"), default=0)
    given = [size.strip() for size in (sizes or "").split(",") if size.strip()] if limit else []
    cut_to = [_vocab_size(size, limit, str(sizes)) for size in given]
    found: list[tuple[str, Tokenizer]] = []
    for name, tokenizer in opened:
        found.append((name, tokenizer))
        if tokenizer.vocabulary.layout == "own":
            found += [(f"{name}:{size}", slmtok.slice(tokenizer, size)) for size in cut_to]
    return found


def _vocab_size(text: str, n_vocab: int, given: str) -> int:
    """One of the sizes that were given, of a tokenizer of `n_vocab` ids. Raises `OptionError`."""
    sizes = [int(each) for each in given.split(",") if each.strip().isdecimal()] or [n_vocab // 2]
    nearest = sorted({min(max(size, FIRST_LEARNED), n_vocab) for size in sizes})
    limit, example = f"{FIRST_LEARNED} to {n_vocab}", f"--sizes {','.join(map(str, nearest))}"
    try:
        size = parse_integer(text)
    except ValueError as error:
        raise OptionError(f"--sizes {error}", limit=limit, fix=example, option="sizes") from None
    if not FIRST_LEARNED <= size <= n_vocab:
        raise OptionError(
            f"--sizes {text}: the tokenizer cannot be cut to it", limit=limit, fix=example, option="sizes"
        )
    return size


def _table(text: Text, found: Sequence[Metrics], by: str | None, domains: Sequence[str]) -> str:
    rows: list[list[str]] = [
        ["ids", *(f"{one.n_vocab:,}" for one in found)],
        ["tokens", *(f"{one.tokens:,}" for one in found)],
        ["bytes per token", *(f"{one.bytes_per_token:.3f}" for one in found)],
        ["tokens per word", *(f"{one.tokens_per_word:.3f}" for one in found)],
        ["words that are one token", *(f"{one.single_token_share:.1%}" for one in found)],
        ["unused ids", *(f"{len(one.unused):,}" for one in found)],
        ["ids of variants of a word", *(f"{one.variants.extra:,}" for one in found)],
        ["Rényi efficiency", *(f"{one.renyi_efficiency:.3f}" for one in found)],
    ]
    if by == "class":
        names = list(dict.fromkeys(name for one in found for name in one.by_class))
        rows.append(["bytes per token, by class of string"])
        rows.extend([name, *(_number(one.by_class.get(name)) for one in found)] for name in names)
    if domains:
        rows.append(["bytes per token, by domain"])
        rows.extend([name, *(_number(one.by_domain[index]) for one in found)] for index, name in enumerate(domains))
    rows.append(["most variants"])
    rows.extend([f"  {one.name}: {_variants(one)}"] for one in found if one.variants.largest)
    title = f"{counted(text.documents, 'document')}, {format_bytes(text.bytes)}, {text.words:,} words\n"
    return title + table(["", *(one.name for one in found)], rows)


def _number(value: Any) -> str:
    return "" if value is None else f"{value:.3f}"


def _variants(one: Metrics) -> str:
    word, tokens = one.variants.largest[0]
    return f"{word} in {len(tokens)} ids: {' '.join(map(escape_token, tokens))}"
