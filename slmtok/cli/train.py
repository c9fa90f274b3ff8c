"""`slmtok train`: text or counts to a tokenizer file and its lock. `slmtok reproduce`: train again from a lock."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok import atomic
from slmtok.cli import train_report
from slmtok.cli.file_kinds import counts_among
from slmtok.cli.files import (
    STDIO,
    check_output,
    corpus_files,
    dry_run_outcome,
    known_size,
    output_per_size,
    with_spill_dir,
    writing,
)
from slmtok.cli.options import (
    INTEGER,
    OUTPUT,
    argument,
    command,
    corpus_argument,
    dry_run_option,
    input_files,
    option,
    options_of,
    output_options,
)
from slmtok.cli.output import ANSWER_NO, DONE, Outcome, in_time, note, settings, write_line
from slmtok.cli.progress import Progress
from slmtok.errors import MissingInput, OptionError, SlmtokError, VocabularyTooSmall
from slmtok.options import CountOptions, ReadOptions, TrainOptions, changed_options, option_specs
from slmtok.schemes import SCHEMES

if TYPE_CHECKING:
    from slmtok.training import PretokenCounts, Trained

_EXAMPLE = "slmtok train corpus.txt --vocab 8192 -o tok.json"


@command("train", example=_EXAMPLE)
@corpus_argument
@option("--vocab", "--vocab-size", "sizes", metavar="N", type=INTEGER, multiple=True,
        help="Number of ids: 16 specials, 256 bytes, and what is learned. Repeat for several sizes.")  # fmt: skip
@options_of(TrainOptions, into="options", skip=("vocab_size", "spill_dir"))
@option("--explain", metavar="N", type=INTEGER, default=0, show_default=False, panel=OUTPUT,
        help="Show the first N merges one by one, also with --quiet: pair, count, before and after.")  # fmt: skip
@output_options(
    default="tok.json",
    help="Where to write; the lock goes beside it. With several sizes {vocab} in it is the size, else tok-4096.json.",
)
@option("--save-counts", metavar="FILE", panel=OUTPUT,
        help="Write the counts as well, for training again without the text.")  # fmt: skip
@dry_run_option
def train(**parameters: Any) -> Outcome:
    """Train a tokenizer on text, or on counts of text."""
    return TrainJob(**parameters).run()


@dataclass
class TrainJob:
    """One run of `slmtok train`."""

    corpus: tuple[str, ...]
    sizes: tuple[int | None, ...]
    options: TrainOptions
    explain: int
    output: str
    force: bool
    save_counts: str | None
    dry_run: bool

    def __post_init__(self) -> None:
        """Raises `OptionError` where no size is given and the scheme needs one."""
        if not self.sizes and not SCHEMES[self.options.scheme].fixed_size:
            raise OptionError("--vocab is missing", fix=_EXAMPLE, option="vocab")
        self.sizes = self.sizes or (None,)
        self.options = with_spill_dir(self.options, self.output)

    @property
    def outputs(self) -> list[str]:
        """The tokenizer file of each size."""
        return output_per_size(self.output, self.sizes)

    @property
    def locks(self) -> list[str]:
        """The lock of each size; none where the tokenizer goes to stdout."""
        from slmtok.training.lock import lock_path

        return [] if self.output == STDIO else [lock_path(output) for output in self.outputs]

    def _check(self) -> tuple[list[str], bool]:
        """Raises everything that can be refused before the work. Gives the files, and whether they are counts."""
        from slmtok.training.learn import validate_options

        try:
            for size in self.sizes:
                validate_options(replace(self.options, vocab_size=size))
            files = corpus_files(self.corpus, self.options)
        except (VocabularyTooSmall, MissingInput) as error:
            error.fix = self._complete_command(error)
            raise
        if self.explain and self.options.scheme != "bpe":
            raise OptionError(
                f"--explain with scheme {self.options.scheme}, which does not merge",
                limit="scheme bpe",
                fix="leave --explain out",
                option="explain",
            )
        counts = counts_among(files)
        if counts and len(counts) < len(files):
            raise OptionError(
                f"{counts[0]} is a counts file, and other files of the corpus are text",
                limit="counts, or text",
                fix="count the text first: slmtok count CORPUS -o more.counts",
                option="corpus",
            )
        beside = [*self.outputs[1:], *self.locks, *([self.save_counts] if self.save_counts else [])]
        check_output(self.outputs[0], *beside, inputs=[*files, *input_files()], force=self.force or self.dry_run)
        return files, bool(counts)

    def _complete_command(self, error: SlmtokError) -> str | None:
        """The remedy as a command line, where the error suggests a value."""
        corpus, vocab = list(self.corpus), " ".join(f"--vocab {size}" for size in self.sizes)
        if isinstance(error, VocabularyTooSmall):
            vocab = "--vocab 4096"
        elif error.fix is None or not error.fix.startswith("'"):
            return error.fix
        else:
            better = error.fix.strip("'")
            corpus = [better if path == error.fields.get("path") else path for path in corpus]
        return f"slmtok train {shlex.join(corpus)} {vocab} -o {shlex.quote(self.output)}"

    def run(self) -> Outcome:
        """Trains and writes."""
        from slmtok.training import train_counts
        from slmtok.training.lock import describe_inputs

        begun = time.perf_counter()
        files, are_counts = self._check()
        if self.dry_run:
            return dry_run_outcome(files, self.options, self.output)
        expected = {} if are_counts else {"count": known_size(files, self.options)}
        with Progress(expected=expected) as progress:
            counts = self._counts(files, are_counts, progress)
            if self.save_counts is not None:
                counts.save(self.save_counts, force=self.force)
            if not progress.quiet:
                train_report.note_merge_memory(counts)
            options = replace(self.options, scheme=counts.scheme)
            runs = [replace(options, vocab_size=size) for size in self.sizes]
            with ThreadPoolExecutor(1) as pool:
                # The digests of the inputs are computed while merges are learned.
                corpus = pool.submit(describe_inputs, [] if are_counts or not self.locks else files, self.output)
                trained = train_counts(counts, runs, progress)
                self._write(trained, options, corpus.result())
        return self._outcome(trained, time.perf_counter() - begun)

    def _counts(self, files: list[str], are_counts: bool, progress: Progress) -> PretokenCounts:
        from slmtok.training import PretokenCounts

        if not are_counts:
            from slmtok.training.counting import count_corpus

            return count_corpus(list(self.corpus), self.options, progress)
        counts = PretokenCounts.load(*files)
        self._check_counts(counts)
        return counts

    def _check_counts(self, counts: PretokenCounts) -> None:
        """Raises `OptionError` for options of reading, and for another scheme or pattern than that of the counts."""
        from slmtok._engine import Pattern

        if changed_options(self.options, [name for name, _, _ in option_specs(ReadOptions)]):
            raise OptionError(
                "options of reading with counts, whose text was read before",
                limit="--format, --text-key and the like belong to slmtok count",
                fix="leave them out",
                option="corpus",
            )
        pattern = self.options.pattern
        given = {"scheme": self.options.scheme, "pattern": pattern and Pattern(pattern).regex}
        found = {"scheme": counts.scheme, "pattern": counts.native.pattern.regex}
        for name, value in given.items():
            if value not in (None, found[name]):
                raise OptionError(
                    f"the counts have {name} {found[name]!r}, and --{name} is {value!r}",
                    fix="--scheme " + counts.scheme if name == "scheme" else "leave --pattern out, or count again",
                    option=name,
                )

    def _write(self, trained: Sequence[Trained], options: TrainOptions, corpus: Mapping[str, Any]) -> None:
        if self.output == STDIO:
            with writing(self.output) as stream:
                stream.write(trained[0].tokenizer.to_bytes())
            return
        from slmtok.training.lock import make_lock

        outputs, locks = self.outputs, self.locks
        with atomic.outputs(*outputs, *locks, force=self.force) as temporary:
            for number, one in enumerate(trained):
                _write_durably(temporary[number], one.tokenizer.to_bytes())
                _write_durably(
                    temporary[len(outputs) + number], make_lock(one, options, corpus, outputs[number]).to_bytes()
                )

    def _outcome(self, trained: Sequence[Trained], seconds: float) -> Outcome:
        outputs = self.outputs
        largest = max(trained, key=lambda one: one.tokenizer.n_vocab)
        output = outputs[trained.index(largest)]
        result = {"path": output, "seconds": round(seconds, 3), **largest.report.to_dict()}
        if len(trained) > 1:
            result["sizes"] = [
                {"path": path, "n_vocab": one.tokenizer.n_vocab, "fingerprint": one.tokenizer.fingerprint}
                for path, one in zip(outputs, trained, strict=True)
            ]
        show = None
        if self.explain:
            from slmtok.training.report import explain, render_steps

            steps = explain(largest, self.explain)
            result["explain"] = [train_report.merge_step_dict(step) for step in steps]
            stream = sys.stderr if output == STDIO else sys.stdout
            show = lambda: stream.write(render_steps(steps).rstrip("\n") + "\n\n")  # noqa: E731

        def summary() -> None:
            train_report.print_report(largest.report, output, seconds)
            if len(trained) > 1:
                train_report.print_sizes(outputs, trained)

        return Outcome(result, show, summary, warnings=train_report.warnings_of(largest))


def _write_durably(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@command("reproduce", example="slmtok reproduce tok.lock --corpus corpus/")
@argument("lock", metavar="LOCK", help="The lock that slmtok train wrote beside a tokenizer.")
@option("--corpus", metavar="DIR", help="The folder of the files in the lock, if they were moved.")
@option("--counts", metavar="FILE", multiple=True, help="Use these counts instead of text. Repeat for several.")
@options_of(CountOptions, into="options", only=("memory", "threads"))
def reproduce(lock: str, corpus: str | None, counts: tuple[str, ...], options: CountOptions) -> Outcome:
    """Train a tokenizer again, and print whether it is equal or the first difference. Exit with status 3 if not."""
    from slmtok import __version__
    from slmtok.training.lock import load_lock
    from slmtok.training.lock import reproduce as train_again

    begun = time.perf_counter()
    loaded = load_lock(lock)
    warnings: tuple[str, ...] = ()
    if loaded.tool != f"slmtok {__version__}":
        warnings = (f"the lock was written by {loaded.tool}, this is slmtok {__version__}",)
    with Progress() as progress:
        difference = train_again(
            loaded, corpus=corpus, counts=counts, threads=options.threads, memory=options.memory, progress=progress
        )
    seconds = time.perf_counter() - begun
    sha256 = loaded.content["tokenizer"]["sha256"]
    result = {
        "lock": lock,
        "equal": difference is None,
        "difference": None if difference is None else asdict(difference),
        "sha256": sha256,
        "seconds": round(seconds, 3),
    }

    def show() -> None:
        for warning in warnings:
            note(warning)
        if difference is not None:
            write_line(f"{lock}: NOT EQUAL: {difference}")
        elif not settings().quiet:
            write_line(f"{lock}: equal; sha256 {sha256}, {in_time(seconds)}")

    code = DONE if difference is None else ANSWER_NO
    return Outcome(result, show, code=code, warnings=warnings, warnings_shown=True)
