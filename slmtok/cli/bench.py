"""`slmtok bench`: slmtok beside other tokenizers on one's own text. No times where ids differ; status 3 then."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from slmtok.cli import _bench_report, _numbers, _options, _output
from slmtok.cli._bench_inputs import STORIES, peers_of, text_of, tokenizer_of
from slmtok.cli._progress import Progress
from slmtok.errors import InvalidOption

if TYPE_CHECKING:
    from slmtok.bench.comparison import Comparison

_Against = Annotated[
    str,
    typer.Option("--against", metavar="NAMES", help="Other tokenizers, as pip calls them, with commas between."),
]
_On = Annotated[
    list[str] | None,
    typer.Option(
        "--on",
        metavar="FILE",
        help="The text: a file, folder or glob, or - for stdin. Repeat for several.",
        show_default=f"{STORIES // 10**6} MB of stories",
    ),
]
_Tokenizer = Annotated[
    str | None,
    typer.Option(
        "--tokenizer",
        "-t",
        metavar="TOK",
        help=f"The tokenizer: {_options.TOKENIZER}.",
        show_default="one trained on the text, with the pattern gpt2",
    ),
]
_Rounds = Annotated[
    int, typer.Option("--rounds", metavar="N", parser=_numbers.whole, help="How often each of them is measured.")
]
_Threads = Annotated[int, _options.threads_option("Threads for each; 1 is also held to one core, 0 means all.")]


def bench(
    against: _Against = "tiktoken",
    on: _On = None,
    tokenizer: _Tokenizer = None,
    rounds: _Rounds = 5,
    threads: _Threads = 1,
    format: _options.Format = "auto",
    text_key: _options.TextKey = "text",
    document: _options.Documents = "file",
    max_bytes: _options.MaxBytes = None,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Encode a text with slmtok and with others, and compare their speed.

    Each measurement is a process of its own, and they take turns. All get the same vocabulary and the same documents;
    where the ids of one differ, there is no table, but a line that says where.
    """
    from slmtok.bench.comparison import compare, machine

    peers = peers_of(against)
    if not rounds:
        raise InvalidOption("--rounds 0 measures nothing", limit="from 1 up", fix="--rounds 5", option="rounds")
    documents = text_of(on or [], format=format, text_key=text_key, document=document, max_bytes=max_bytes)
    chosen, name = tokenizer_of(tokenizer, documents)
    with Progress(quiet=quiet) as progress:
        found = compare(chosen, documents, peers, name=name, rounds=rounds, threads=threads, progress=progress)
    result = {
        "text": {
            "on": on or "stories",
            "documents": len(documents),
            "bytes": sum(len(text.encode()) for text in documents),
        },
        "tokenizer": tokenizer or "trained on the text",
        "n_vocab": chosen.n_vocab,
        "tokens": found.tokens,
        "ids_sha256": found.sha256,
        "rounds": rounds,
        "threads": threads,
        "machine": machine(),
        "rows": found.rows,
        "differences": found.differences,
    }
    code = _output.ANSWER_NO if found.differences else _output.DONE
    return _output.Outcome(result, lambda: _show(result, found), code=code)


def _show(result: dict[str, object], found: Comparison) -> None:
    lines = _bench_report.differences(found) if found.differences else _bench_report.table(result, found)
    sys.stdout.write(_output.printable("\n".join(lines) + "\n"))
