"""`slmtok extend`: more tokens behind those of a tokenizer, all of whose ids stay."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from slmtok.cli import _corpus, _options, _output, _surgery, _train_inputs, _train_memory, _train_options
from slmtok.cli._corpus_options import with_corpus
from slmtok.cli._numbers import grouped
from slmtok.cli._progress import Progress
from slmtok.corpus import ReadOptions
from slmtok.errors import InvalidOption

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer
    from slmtok.training.surgery import Extended


@with_corpus
def extend(
    tokenizer: _options.TokenizerArgument,
    corpus: _train_options.Corpus,
    vocab: _train_options.Vocab = None,
    min_count: _train_options.MinCount = 2,
    max_token_bytes: _train_options.MaxTokenBytes = 64,
    max_token_chars: _train_options.MaxTokenChars = 0,
    forbid_regex: _train_options.ForbidRegex = None,
    require: _train_options.Require = None,
    allow_smaller: _train_options.AllowSmaller = False,
    mix: _train_options.Mix = None,
    temperature: _train_options.Temperature = None,
    *,
    read: ReadOptions,
    memory: _options.Memory = None,
    threads: _options.Threads = 0,
    output: _surgery.Output = ...,  # type: ignore[assignment]
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Learn more tokens behind those that are there, from text or from counts. Old ids stay.

    slmtok extend tok.json more.txt --vocab 16384 -o larger.json
    """
    from slmtok.cli._counted import counted
    from slmtok.cli._tokenizers import open_tokenizer
    from slmtok.training import surgery

    if vocab is None:
        fix = "slmtok extend tok.json more.txt --vocab 16384 -o larger.json"
        raise InvalidOption("--vocab is missing", where="slmtok extend", fix=fix, option="vocab")
    _surgery.check(output, tokenizer, mapped=False, force=force)
    before = open_tokenizer(tokenizer)
    reading = {**_corpus.arguments(read), "threads": threads, **_train_memory.options(memory, output)}
    with Progress(quiet=quiet) as progress:
        counts = counted(before, corpus, read, reading, progress)
        extended = surgery.extend(
            before,
            counts,
            vocab,
            min_count=min_count,
            max_token_bytes=max_token_bytes,
            max_token_chars=max_token_chars,
            forbid_regex=forbid_regex,
            require=_train_inputs.required_tokens(require),
            allow_smaller=allow_smaller,
            mix=_train_inputs.weights(mix or []),
            temperature=temperature,
            progress=progress,
        )
    extended.tokenizer.save(output, force=force)
    return _outcome(before, extended, output, quiet=quiet)


def _outcome(before: Tokenizer, extended: Extended, output: str, *, quiet: bool) -> _output.Outcome:
    after, recut = extended.tokenizer, extended.recut
    result = {**_surgery.result(before, after, output), "recut": asdict(recut)}

    def show() -> None:
        if quiet:
            return
        share = recut.changed / max(recut.pieces, 1)
        fewer = 1 - recut.ids_after / max(recut.ids_before, 1)
        told = f"{grouped(recut.changed)} of {grouped(recut.pieces)} pieces of this text ({share:.2%})"
        rows = [("cut anew", told), ("length", f"{grouped(recut.ids_after)} ids, {fewer:.2%} fewer than before")]
        _surgery.show(before, after, output, rows)

    return _output.Outcome(result, show)
