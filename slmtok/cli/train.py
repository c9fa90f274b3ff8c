"""`slmtok train`: from text or counts to a tokenizer file, its lock, and a summary of what was seen and learned."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from slmtok.cli import _corpus, _files, _numbers, _options, _output, _train_inputs, _train_memory, _train_options
from slmtok.cli._corpus_options import with_corpus
from slmtok.cli._train_job import Job
from slmtok.corpus import ReadOptions

_Explain = Annotated[
    int,
    typer.Option(
        "--explain",
        metavar="N",
        parser=_numbers.whole,
        help="Show the first N merges one by one, also with --quiet: pair, count, before and after.",
        show_default=False,
        rich_help_panel=_options.OUTPUT,
    ),
]
_Output = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Where to write; the lock goes beside it. Of several sizes {vocab} in it names each, else tok-4096.json.",
        rich_help_panel=_options.OUTPUT,
    ),
]
_SaveCounts = Annotated[
    str | None,
    typer.Option(
        "--save-counts",
        metavar="FILE",
        help="Write the counts as well, for training again without the text.",
        show_default=False,
        rich_help_panel=_options.OUTPUT,
    ),
]


@with_corpus
def train(
    corpus: _train_options.Corpus,
    vocab: _train_options.Vocabs = None,
    scheme: _train_options.Scheme = "bpe",
    pattern: _train_options.Pattern = None,
    ties: _train_options.Ties = "rank",
    min_count: _train_options.MinCount = 2,
    max_token_bytes: _train_options.MaxTokenBytes = 64,
    max_token_chars: _train_options.MaxTokenChars = 0,
    forbid_regex: _train_options.ForbidRegex = None,
    require: _train_options.Require = None,
    special: _train_options.Special = None,
    allow_smaller: _train_options.AllowSmaller = False,
    mix: _train_options.Mix = None,
    temperature: _train_options.Temperature = None,
    explain: _Explain = 0,
    *,
    read: ReadOptions,
    memory: _options.Memory = None,
    threads: _options.Threads = 0,
    output: _Output = "tok.json",
    save_counts: _SaveCounts = None,
    force: _options.Force = False,
    dry_run: _options.DryRun = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Learn a tokenizer from text, or from counts of text.

    slmtok train corpus.txt --vocab 8192 -o tok.json
    """
    learn: dict[str, Any] = {
        "scheme": scheme,
        "ties": ties,
        "min_count": min_count,
        "max_token_bytes": max_token_bytes,
        "max_token_chars": max_token_chars,
        "forbid_regex": forbid_regex,
        "require": _train_inputs.required_tokens(require),
        "special": _train_inputs.specials(special or []),
        "allow_smaller": allow_smaller,
        "mix": _train_inputs.weights(mix or []),
        "temperature": temperature,
    }
    reading: dict[str, Any] = {
        **_corpus.arguments(read),
        "threads": threads,
        **_train_memory.options(memory, output),
    }
    options: dict[str, Any] = {
        "require": require,
        "save_counts": save_counts,
        "force": force,
        "quiet": quiet,
        "explain": explain,
    }
    job = Job(corpus, output, _train_inputs.sizes(vocab, scheme), pattern, learn, reading, read, **options)
    _files.not_with_json(output, as_json)
    return job.plan() if dry_run else job.run()
