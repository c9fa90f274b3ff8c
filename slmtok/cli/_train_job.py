"""One `slmtok train`: what it checks before the work, the work, and what it writes."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok import atomic
from slmtok.cli import _corpus, _files, _output, _sizes, _train_inputs, _train_memory, _train_report
from slmtok.cli._progress import Progress
from slmtok.corpus import ReadOptions
from slmtok.errors import InvalidOption, MissingInput, SlmtokError, VocabularyTooSmall

if TYPE_CHECKING:
    from slmtok.training import PretokenCounts, Trained, TrainOptions


@dataclass(frozen=True)
class Job:
    """One `slmtok train`, its options judged as far as the command line can."""

    corpus: list[str]
    output: str
    sizes: list[int | None]
    pattern: str | None
    learn: dict[str, Any]
    """The fields of `TrainOptions` but the size."""
    reading: dict[str, Any]
    """The arguments of `slmtok.count`."""
    read: ReadOptions
    require: str | None
    """The file of required tokens."""
    save_counts: str | None
    force: bool
    quiet: bool
    explain: int

    @property
    def outputs(self) -> list[str]:
        """The tokenizer file of each size."""
        return _sizes.named(self.output, self.sizes)

    @property
    def locks(self) -> list[str]:
        """The lock of each size; none where stdout carries the tokenizer."""
        from slmtok.training.lock import beside

        return [] if self.output == _files.STDIO else [beside(output) for output in self.outputs]

    def _check(self, *, force: bool) -> tuple[list[str], bool]:
        """Everything that can be refused before the work. Gives the files, and whether they are counts.

        `force`: whether the outputs may be there already.
        """
        from slmtok.training.counts_layout import is_counts

        try:
            for size in self.sizes:
                _train_inputs.check({**self.learn, "vocab": size}, self.reading, self.pattern, explain=self.explain)
            files = _corpus.files(self.corpus, self.read)
        except (VocabularyTooSmall, MissingInput) as error:
            error.fix = self._whole_command(error)
            raise
        # Of a corpus of a million small files only the first is opened to see what it is.
        first = is_counts(files[0])
        counted = [path for path in files if (first or path.endswith(".counts")) and is_counts(path)]
        if counted and len(counted) < len(files):
            raise InvalidOption(
                f"{counted[0]} is a counts file, and others of the corpus are not",
                limit="counts, or text",
                fix="count the text first: slmtok count CORPUS -o more.counts",
                option="corpus",
            )
        inputs = files if self.require is None else [*files, self.require]
        beside = [*self.outputs[1:], *self.locks, *([self.save_counts] if self.save_counts else [])]
        _files.check_output(self.outputs[0], *beside, inputs=inputs, force=force)
        return files, bool(counted)

    def _whole_command(self, error: SlmtokError) -> str | None:
        """The remedy as a line to paste, where the error knows one."""
        corpus, vocab = self.corpus, " ".join(f"--vocab {size}" for size in self.sizes)
        if isinstance(error, VocabularyTooSmall):
            vocab = "--vocab 4096"
        elif error.fix is None or not error.fix.startswith("'"):
            return error.fix
        else:
            better = error.fix.strip("'")
            corpus = [better if path == error.fields.get("path") else path for path in corpus]
        return f"slmtok train {shlex.join(corpus)} {vocab} -o {shlex.quote(self.output)}"

    def plan(self) -> _output.Outcome:
        """What would be read, without reading it."""
        return _corpus.plan(self._check(force=True)[0], self.read, self.output)

    def run(self) -> _output.Outcome:
        """Trains, writes, and tells."""
        from slmtok.training import TrainOptions
        from slmtok.training.lock import inputs
        from slmtok.training.sizes import train_sizes

        begun = time.perf_counter()
        files, counted = self._check(force=self.force)
        with Progress(quiet=self.quiet, expected=self._expected(files, counted)) as progress:
            counts = self._counts(files, counted, progress)
            if self.save_counts is not None:
                counts.save(self.save_counts, force=self.force)
            if not self.quiet:
                _train_memory.tell(counts)
            options = TrainOptions(**{**self.learn, "scheme": counts.scheme})
            sizes = [TrainOptions(**{**self.learn, "vocab": size}).size for size in self.sizes]
            with ThreadPoolExecutor(1) as pool:
                # Digests of the inputs are made while merges are learned.
                described = pool.submit(inputs, [] if counted or not self.locks else files, self.output)
                made = train_sizes(counts, options, sizes, progress)
                self._write(made, options, described.result())
        return self._outcome(made, time.perf_counter() - begun)

    def _expected(self, files: list[str], counted: bool) -> dict[str, int]:
        return {} if counted else {"count": _corpus.plain_size(files, self.read)}

    def _counts(self, files: list[str], counted: bool, progress: Progress) -> PretokenCounts:
        from slmtok.training import PretokenCounts, count

        scheme = self.learn["scheme"]
        if not counted:
            return count(list(self.corpus), scheme=scheme, pattern=self.pattern, **self.reading, progress=progress)
        counts = PretokenCounts.load(*files)
        self._check_counts(counts)
        return counts

    def _check_counts(self, counts: PretokenCounts) -> None:
        """Raises `InvalidOption` for options that concern the text, and for a scheme or pattern of other counts."""
        from slmtok._engine import Pattern

        if self.read != ReadOptions():
            raise InvalidOption(
                "options of reading with counts, for which text was read before",
                limit="--format, --text-key and the like go with slmtok count",
                fix="leave them out",
                option="corpus",
            )
        wanted = {"scheme": self.learn["scheme"], "pattern": self.pattern and Pattern(self.pattern).regex}
        found = {"scheme": counts.scheme, "pattern": counts.native.pattern.regex}
        for what, value in wanted.items():
            if value not in (None, found[what]):
                raise InvalidOption(
                    f"the counts were made for {what} {found[what]!r}, --{what} says {value!r}",
                    fix="--scheme " + counts.scheme if what == "scheme" else "leave --pattern out, or count again",
                    option=what,
                )

    def _write(self, made: Sequence[Trained], options: TrainOptions, corpus: Mapping[str, Any]) -> None:
        from slmtok.training.lock import encoded

        if self.output == _files.STDIO:
            with _files.writing(self.output) as stream:
                stream.write(made[0].tokenizer.to_bytes())
            return
        outputs, locks = self.outputs, self.locks
        with atomic.outputs(*outputs, *locks, force=self.force) as temporary:
            for number, one in enumerate(made):
                _put(temporary[number], one.tokenizer.to_bytes())
                _put(temporary[len(outputs) + number], encoded(one, options, corpus, outputs[number]))

    def _outcome(self, made: Sequence[Trained], seconds: float) -> _output.Outcome:
        largest = max(made, key=lambda one: one.tokenizer.n_vocab)
        notes = (
            *_train_report.notes(largest.report),
            *_train_report.empty_domains(largest.counts),
            *_train_report.pruned(largest.counts),
        )
        trace = _train_report.trace(largest, self.explain) if self.explain else None
        output = self.outputs[made.index(largest)]
        result = {"path": output, "seconds": round(seconds, 3), **_train_report.result(largest)}
        if len(made) > 1:
            result["sizes"] = [
                {"path": path, "n_vocab": one.tokenizer.n_vocab, "fingerprint": one.tokenizer.fingerprint}
                for path, one in zip(self.outputs, made, strict=True)
            ]
        if trace is not None:
            result["explain"] = trace.rows

        def show() -> None:
            _train_report.show(largest.report, output, seconds, notes=notes, trace=trace, quiet=self.quiet)
            if not self.quiet and len(made) > 1:
                _train_report.show_sizes(self.outputs, made)

        return _output.Outcome(result, show, warnings=notes)


def _put(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
