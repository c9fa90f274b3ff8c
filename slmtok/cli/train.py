"""`slmtok train`: from text to a tokenizer file, and a summary of what was seen and learned."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slmtok._engine import pattern_names
from slmtok.cli import _corpus, _files, _numbers, _options, _output, _train_inputs, _train_memory, _train_report
from slmtok.cli._corpus_options import with_corpus
from slmtok.cli._progress import Progress
from slmtok.corpus import ReadOptions
from slmtok.errors import MissingInput, SlmtokError, VocabularyTooSmall
from slmtok.schemes import SCHEMES
from slmtok.training.options import TIES

if TYPE_CHECKING:
    from slmtok.training import Trained

_WHAT = "What is learned"


_Corpus = Annotated[
    list[str],
    typer.Argument(metavar="CORPUS", help="Files, folders, globs, hf:NAME, or - for stdin.", show_default=False),
]
_Vocab = Annotated[
    int | None,
    typer.Option(
        "--vocab",
        "--vocab-size",
        metavar="N",
        parser=_numbers.whole,
        help="How many ids in all: 16 specials, 256 bytes, and what is learned. Required.",
        show_default=False,
    ),
]
_Scheme = Annotated[
    str,
    typer.Option(
        "--scheme",
        metavar="|".join(SCHEMES),
        parser=_options.choice(*SCHEMES),
        help="Merges of bytes, or whole words, or characters, or bytes alone.",
        rich_help_panel=_WHAT,
    ),
]
_Pattern = Annotated[
    str | None,
    typer.Option(
        "--pattern",
        metavar="NAME|REGEX",
        help=f"How text is cut before merging: {', '.join(pattern_names())}, or any regex.",
        show_default="slm",
        rich_help_panel=_WHAT,
    ),
]
_Ties = Annotated[
    str,
    typer.Option(
        "--ties",
        metavar="|".join(TIES),
        parser=_options.choice(*TIES),
        help="Which of equally frequent pairs comes first.",
        rich_help_panel=_WHAT,
    ),
]
_MinCount = Annotated[
    int,
    typer.Option(
        "--min-count",
        "--min-frequency",
        metavar="N",
        parser=_numbers.whole,
        help="Learn nothing that occurs less often.",
        rich_help_panel=_WHAT,
    ),
]
_MaxTokenBytes = Annotated[
    int,
    typer.Option(
        "--max-token-bytes",
        "--max-token-length",
        metavar="N",
        parser=_numbers.whole,
        help="Longest token in bytes; 0 is no limit.",
        rich_help_panel=_WHAT,
    ),
]
_MaxTokenChars = Annotated[
    int,
    typer.Option(
        "--max-token-chars",
        metavar="N",
        parser=_numbers.whole,
        help="Longest token in characters; 0 is no limit.",
        rich_help_panel=_WHAT,
    ),
]
_ForbidRegex = Annotated[
    str | None,
    typer.Option(
        "--forbid-regex",
        metavar="REGEX",
        help="Learn no token that this matches.",
        show_default=False,
        rich_help_panel=_WHAT,
    ),
]
_Require = Annotated[
    str | None,
    typer.Option(
        "--require",
        metavar="FILE",
        help="Tokens that must be learned: one a line, written as slmtok vocab prints them.",
        show_default=False,
        rich_help_panel=_WHAT,
    ),
]
_Special = Annotated[
    list[str] | None,
    typer.Option(
        "--special",
        metavar="ROLE=SPELLING",
        help="Spell a special anew, or name a reserved one. Repeat for several.",
        show_default=False,
        rich_help_panel=_WHAT,
    ),
]
_AllowSmaller = Annotated[
    bool,
    typer.Option(
        "--allow-smaller", help="Accept fewer ids where the corpus has no more to learn.", rich_help_panel=_WHAT
    ),
]
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
    typer.Option("--output", "-o", metavar="FILE", help="Where to write.", rich_help_panel=_options.OUTPUT),
]


@with_corpus
def train(
    corpus: _Corpus,
    vocab: _Vocab = None,
    scheme: _Scheme = "bpe",
    pattern: _Pattern = None,
    ties: _Ties = "rank",
    min_count: _MinCount = 2,
    max_token_bytes: _MaxTokenBytes = 64,
    max_token_chars: _MaxTokenChars = 0,
    forbid_regex: _ForbidRegex = None,
    require: _Require = None,
    special: _Special = None,
    allow_smaller: _AllowSmaller = False,
    explain: _Explain = 0,
    *,
    read: ReadOptions,
    memory: _options.Memory = None,
    threads: _options.Threads = 0,
    output: _Output = "tok.json",
    force: _options.Force = False,
    dry_run: _options.DryRun = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Learn a tokenizer from text: plain files, jsonl, tsv, parquet, packed or not, and hf: data sets.

    slmtok train corpus.txt --vocab 8192 -o tok.json
    """
    learn: dict[str, Any] = {
        "vocab": _train_inputs.size(vocab, scheme),
        "scheme": scheme,
        "ties": ties,
        "min_count": min_count,
        "max_token_bytes": max_token_bytes,
        "max_token_chars": max_token_chars,
        "forbid_regex": forbid_regex,
        "require": _train_inputs.required_tokens(require),
        "special": _train_inputs.specials(special or []),
        "allow_smaller": allow_smaller,
    }
    reading: dict[str, Any] = {
        **_corpus.arguments(read),
        "threads": threads,
        **_train_memory.options(memory, output),
    }
    job = _Job(corpus, output, pattern, learn, reading, read, require, force=force, quiet=quiet, explain=explain)
    _files.not_with_json(output, as_json)
    return job.plan() if dry_run else job.run()


@dataclass(frozen=True)
class _Job:
    """One `slmtok train`, its options judged as far as the command line can."""

    corpus: list[str]
    output: str
    pattern: str | None
    learn: dict[str, Any]
    reading: dict[str, Any]
    """The arguments of `slmtok.count`."""
    read: ReadOptions
    require: str | None
    """The file of required tokens."""
    force: bool
    quiet: bool
    explain: int

    def _check(self, *, force: bool) -> list[str]:
        """Everything that can be refused before the work. Gives the files of the corpus.

        `force`: whether the output may be there already.
        """
        try:
            _train_inputs.check(self.learn, self.reading, self.pattern, explain=self.explain)
            files = _corpus.files(self.corpus, self.read)
        except (VocabularyTooSmall, MissingInput) as error:
            error.fix = self._whole_command(error)
            raise
        inputs = files if self.require is None else [*files, self.require]
        _files.check_output(self.output, inputs=inputs, force=force)
        return files

    def _whole_command(self, error: SlmtokError) -> str | None:
        """The remedy as a line to paste, where the error knows one."""
        corpus, vocab = self.corpus, self.learn["vocab"]
        if isinstance(error, VocabularyTooSmall):
            vocab = 4096
        elif error.fix is None or not error.fix.startswith("'"):
            return error.fix
        else:
            better = error.fix.strip("'")
            corpus = [better if path == error.fields.get("path") else path for path in corpus]
        return f"slmtok train {shlex.join(corpus)} --vocab {vocab} -o {shlex.quote(self.output)}"

    def plan(self) -> _output.Outcome:
        """What would be read, without reading it."""
        return _corpus.plan(self._check(force=True), self.read, self.output)

    def run(self) -> _output.Outcome:
        """Trains, writes, and tells."""
        from slmtok.training import count, train_with_report

        begun = time.perf_counter()
        expected = {"count": _corpus.plain_size(self._check(force=self.force), self.read)}
        with Progress(quiet=self.quiet, expected=expected) as progress:
            scheme = self.learn["scheme"]
            counts = count(list(self.corpus), scheme=scheme, pattern=self.pattern, **self.reading, progress=progress)
            if not self.quiet:
                _train_memory.tell(counts)
            trained = train_with_report(counts, **self.learn, progress=progress)
        with _files.writing(self.output, force=self.force) as stream:
            stream.write(trained.tokenizer.to_bytes())
        return self._outcome(trained, time.perf_counter() - begun)

    def _outcome(self, trained: Trained, seconds: float) -> _output.Outcome:
        notes = _train_report.notes(trained.report)
        trace = _train_report.trace(trained, self.explain) if self.explain else None
        result = {"path": self.output, "seconds": round(seconds, 3), **_train_report.result(trained)}
        if trace is not None:
            result["explain"] = trace.rows

        def show() -> None:
            _train_report.show(trained.report, self.output, seconds, notes=notes, trace=trace, quiet=self.quiet)

        return _output.Outcome(result, show, warnings=notes)
