"""`slmtok train`: text or counts to a tokenizer file and its lock. `slmtok reproduce`: train again from a lock."""

from __future__ import annotations

import os
import shlex
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slmtok import atomic
from slmtok.background import in_background
from slmtok.checks import check_recorded_names
from slmtok.cli.arguments import (
    OUTPUT_FLAGS,
    VOCAB_FLAGS,
    are_sizes,
    command_line,
    positional,
    refuse_list,
    with_output_named,
    without_options,
)
from slmtok.cli.files import (
    COUNTS_FILE,
    JSON,
    STDIO,
    are_counts,
    check_content,
    check_is_file,
    check_output,
    corpus_files,
    count_again,
    dry_run_outcome,
    known_size,
    names_tokenizer,
    output_per_size,
    refuse_reading,
    with_spill_dir,
    writing,
)
from slmtok.cli.options import (
    INTEGER,
    OUTPUT,
    argument,
    arguments_of_command,
    command,
    corpus_argument,
    dry_run_option,
    input_files,
    instead,
    is_given,
    option,
    options_of,
    output_options,
    set_outputs,
)
from slmtok.cli.output import (
    ANSWER_NO,
    DONE,
    Outcome,
    Row,
    counted,
    flag_naming,
    in_time,
    note,
    print_rows,
    settings,
    write_line,
)
from slmtok.cli.progress import Progress
from slmtok.cli.reports import corpus_warnings, pattern_text
from slmtok.errors import Message, MissingInput, OptionError, Setting, SlmtokError, VocabularyTooSmall
from slmtok.file_kinds import LOCK, is_run, kind_of_file
from slmtok.files import free_name
from slmtok.foreign_options import nearest_name, nearest_remark
from slmtok.options import CountOptions, TrainOptions
from slmtok.schemes import SCHEMES
from slmtok.sizes import format_bytes
from slmtok.specials import FIRST_LEARNED, pairs_meant
from slmtok.token_text import escape_token

if TYPE_CHECKING:
    from slmtok.training import PretokenCounts, Trained, TrainReport
    from slmtok.training.report import MergeStep

LINE_WIDTH = 64
MAX_LISTED_REFUSED = 6
MIN_NOTED_MERGE_BYTES = 50_000_000
"""Below this the memory of merging is only part of the summary."""
_LEAST_SUGGESTED = 4096
"""Of the sizes that a fix proposes; each further one is twice as large."""
_EXAMPLE = "slmtok train corpus.txt --vocab 8192 -o tok.json"

_NOT_OF_EXTEND = ("--scheme", "--pattern", "--tie-break", "--special", "--explain", "--save-counts", "--dry-run")
"""Options that slmtok extend does not have; the tokenizer has its scheme, pattern and special tokens."""
_STEPS = ("--steps", "--max-steps", "--num-steps", "--max-iters", "--epochs", "--num-epochs")
_MODEL_OPTIONS = ("--lr", "--learning-rate", "--batch-size", *_STEPS)


def _vocab(value: str | None, arguments: Sequence[str]) -> str:
    """`--vocab` for a number of merges."""
    n_vocab = int(value) + FIRST_LEARNED if value is not None and value.isdecimal() else "N"
    return f"--vocab {n_vocab}, which counts {FIRST_LEARNED} specials and bytes too"


def _scheme(value: str | None, arguments: Sequence[str]) -> str:
    """`--scheme` for the model type of SentencePiece; a type that does not exist here becomes the default."""
    if value is None or value in SCHEMES:
        return f"--scheme {value or 'bpe'}"
    nearest = nearest_name(value, SCHEMES) or "bpe"
    return f"--scheme {nearest}{nearest_remark(value, nearest)}"


def _sizes(value: str | None, arguments: Sequence[str]) -> str:
    """`--vocab` once for each of several sizes."""
    return " ".join(f"--vocab {shlex.quote(size)}" for size in (value or "4096,8192").split(","))


def _tokenizer(value: str | None, arguments: Sequence[str]) -> str:
    """`slmtok extend` for a tokenizer that exists; for another name `-o`, since train makes a new tokenizer."""
    adds = "which adds tokens; train makes a new tokenizer"
    if value is None or not os.path.isfile(value):  # noqa: PTH113
        return f"slmtok extend TOK CORPUS --vocab N, {adds}" if value is None else f"-o {shlex.quote(value)}"
    words = [word for word in arguments if word not in ("-t", "--tokenizer", value)]
    output = [] if {*OUTPUT_FLAGS} & {*words} else ["-o", free_name(value)]
    return f"{shlex.join(['slmtok', 'extend', value, *words, *output])}, {adds}"


def _special(value: str | None, arguments: Sequence[str]) -> str:
    """`--special` for the spelling of a special token, or several with commas between; of all of them, user's."""
    pairs = pairs_meant([value if value and value != "all" else "<|user|>"])
    return " ".join(f"--special {shlex.quote(f'{role}={text}')}" for role, text in pairs.items())


_HABITS = {
    **dict.fromkeys(_MODEL_OPTIONS, instead("slm train, which trains a model; a tokenizer has no such setting")),
    **dict.fromkeys(
        ("-t", "--tokenizer"),
        _tokenizer,
    ),
    "--allow-special": _special,
    "--sizes": _sizes,
    "--model-type": _scheme,
    "--model-prefix": instead("-o {}.json", "NAME"),
    **dict.fromkeys(("--num-merges", "--n-merges", "--max-merges", "--merges"), _vocab),
    **dict.fromkeys(("--vocab-sz", "--n-vocab", "--size"), instead("--vocab {}", "8192")),
}
"""Options of other trainers, each with what stands for it here."""


@command("train", example=_EXAMPLE, habits=_HABITS)
@corpus_argument
@option("--vocab", "--vocab-size", "sizes", metavar="N", type=INTEGER, multiple=True, needed_without="byte",
        help="Number of ids: 16 specials, 256 bytes, and what is learned. Repeat for several sizes.")  # fmt: skip
@options_of(TrainOptions, into="options", skip=("vocab_size", "spill_dir"))
@option("--explain", metavar="N", type=INTEGER, default=0, show_default=False, panel=OUTPUT,
        help="Show the first N merges one by one, also with --quiet: pair, count, before and after.")  # fmt: skip
@output_options(
    help="Where to write; the lock goes beside it. With several sizes {vocab} in it is the size, else tok-4096.json.",
    default="tok.json",
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
            raise OptionError("--vocab is missing", fix=_with_vocab(), option="vocab")
        refuse_list(arguments_of_command(), lambda sizes: " ".join(f"--vocab {size}" for size in sizes))
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
        except OptionError as error:
            error.fix = self._extension(error.fields.get("path")) or error.parts["fix"]
            raise
        if self.explain and self.options.scheme != "bpe":
            raise OptionError(
                f"--explain with scheme {self.options.scheme}, which does not merge",
                limit="scheme bpe",
                fix="leave --explain out",
                option="explain",
            )
        has_counts = are_counts(files)
        if has_counts and self.save_counts is not None:
            fact = f"--save-counts {self.save_counts} together with counts, which are saved already"
            raise OptionError(fact, limit="text", fix="leave --save-counts out", option="save_counts")
        if not has_counts and self.options.is_weighted:
            from slmtok.training.mixing import check_named

            check_named(self.options, files)
        if self.locks:
            check_recorded_names([*files, *self.outputs])
        inputs, force = [*files, *input_files()], self.force or self.dry_run
        if self.save_counts is not None:
            check_is_file(self.save_counts, "--save-counts", "save_counts")
            made = [path for path in (*self.outputs, *self.locks) if path != STDIO]
            if Path(self.save_counts).absolute() in [Path(path).absolute() for path in made]:
                fact, fix = f"--save-counts {self.save_counts} is also the output", "name another --save-counts"
                raise OptionError(fact, fix=fix, option="save_counts")
            atomic.check_outputs(self.save_counts, inputs=inputs, force=True, option="save_counts")
            check_content(self.save_counts, COUNTS_FILE, "save_counts")
        beside = [*self.outputs[1:], *self.locks, *([self.save_counts] if self.save_counts else [])]
        check_output(self.outputs[0], *beside, inputs=inputs, force=force, content=JSON)
        return files, has_counts

    def _complete_command(self, error: SlmtokError) -> Message | None:
        """The remedy as the command line with the value that the error suggests, and an output that is free."""
        words = arguments_of_command()
        if isinstance(error, VocabularyTooSmall):
            larger = (str(size) for size in map(_LEAST_SUGGESTED.__lshift__, count()) if size not in self.sizes)
            sizes = iter(next(larger) if self._is_too_small(size) else str(size) for size in self.sizes)
            for at, (flag, value) in enumerate(pairwise(["", *words])):
                if flag in VOCAB_FLAGS:
                    words[at] = next(sizes)
                elif value.startswith(tuple(f"{each}=" for each in VOCAB_FLAGS)):
                    words[at] = f"{value.partition('=')[0]}={next(sizes)}"
            # The corpus may be too small for a size that it did not name.
            words += [] if "--allow-smaller" in words else ["--allow-smaller"]
        elif error.fix is None or not error.fix.startswith("'"):
            return error.parts["fix"]
        else:
            better, path = error.fix.strip("'"), error.fields.get("path")
            words = [better if word == path and path in self.corpus else word for word in words]
        context = click.get_current_context()
        is_default = context.get_parameter_source("output") is click.core.ParameterSource.DEFAULT
        output = self.output if self.force else free_name(self.output)
        return command_line(context, [*words, *(["-o", output] if is_default else [])])

    def _extension(self, tokenizer: object) -> str | None:
        """The command that learns more tokens from the text beside a tokenizer in the corpus, if all options fit it."""
        from slmtok.opening import load

        words, size = arguments_of_command(), self.sizes[0]
        texts = [path for path in self.corpus if not names_tokenizer(path)]
        is_other = any(word.partition("=")[0] in _NOT_OF_EXTEND for word in words)
        if tokenizer not in self.corpus or len(texts) != len(self.corpus) - 1 or not texts or is_other:
            return None
        with suppress(SlmtokError):
            before = load(str(tokenizer))
            if before.scheme == self.options.scheme and size and len(self.sizes) == 1 and size > before.n_vocab:
                rest = [word for word in words if word != tokenizer]
                has_output = any(word.startswith(OUTPUT_FLAGS) for word in words)
                output = [] if has_output else ["-o", free_name(self.output)]
                return shlex.join(["slmtok", "extend", str(tokenizer), *rest, *output])
        return None

    def _is_too_small(self, size: int | None) -> bool:
        from slmtok.training.learn import validate_options

        try:
            validate_options(replace(self.options, vocab_size=size))
        except VocabularyTooSmall:
            return True
        return False

    def run(self) -> Outcome:
        """Trains and writes."""
        from slmtok.files import check_unchanged, last_write

        begun = time.perf_counter()
        files, has_counts = self._check()
        if self.dry_run:
            return dry_run_outcome(files, self.options, ", ".join(self.outputs))
        set_outputs(self.outputs)
        expected = {} if has_counts else {"count": known_size(files, self.options)}
        with Progress(expected=expected) as progress:
            watched = [] if has_counts or not (self.locks or self.save_counts) else files
            before = {path: last_write(path) for path in watched}
            counts = self._counts(files, has_counts, progress)
            check_unchanged(before)
            # The first tokenizer is renamed last.
            made = [] if self.output == STDIO else [*self.outputs, *self.locks]
            made += [] if self.save_counts is None else [self.save_counts]
            with atomic.output_set(*made, force=self.force) as written:
                if self.save_counts is not None:
                    # Learning merges may fail, and counting again takes longest.
                    counts.save(written.temporary[-1], force=True)
                    written.publish_last()
                trained, described = self._learn(counts, [] if has_counts or not self.locks else files, progress)
                check_unchanged(before)
                self._write(written, trained, described, counts)
        return self._outcome(trained, time.perf_counter() - begun)

    def _learn(
        self, counts: PretokenCounts, locked: list[str], progress: Progress
    ) -> tuple[list[Trained], Mapping[str, Any]]:
        """The tokenizer of each size, and the description of the files `locked` for its lock.

        Where learning merges fails, notes how to go on without the text.
        """
        from slmtok.training import train_counts
        from slmtok.training.lock import describe_inputs

        if not progress.quiet:
            note_merge_memory(counts)
        options = replace(self.options, scheme=counts.scheme)
        runs = [replace(options, vocab_size=size) for size in self.sizes]
        try:
            # The digests of the inputs are computed while merges are learned.
            with in_background(partial(describe_inputs, locked, self.output)) as corpus:
                return train_counts(counts, runs, progress), corpus()
        except BaseException:
            if self.save_counts is not None:
                progress.stop()
                note(f"the counts are kept: give {self.save_counts} instead of the text, without --save-counts")
            raise

    def _counts(self, files: list[str], has_counts: bool, progress: Progress) -> PretokenCounts:
        from slmtok.training import PretokenCounts
        from slmtok.training.counting import count_corpus

        if not has_counts:
            return count_corpus(list(self.corpus), self.options, progress)
        counts = PretokenCounts.load(*files)
        self._check_counts(counts, files[0])
        return counts

    def _check_counts(self, counts: PretokenCounts, file: str) -> None:
        """Raises `OptionError` for options of reading, and for another scheme or pattern than that of the counts.

        file: the first with these counts.
        """
        from slmtok._engine import Pattern

        refuse_reading(self.options, file)
        if self.options.scheme != counts.scheme:
            raise OptionError(
                f"the counts have scheme {counts.scheme!r}, and --scheme is {self.options.scheme!r}",
                fix=f"--scheme {counts.scheme}",
                option="scheme",
            )
        given = self.options.pattern and Pattern(self.options.pattern)
        if given and given.regex != counts.native.pattern.regex:
            asked = shlex.quote(pattern_text(given))
            raise OptionError(
                f"the counts have pattern {pattern_text(counts.native.pattern)!r}, and --pattern is {asked}",
                fix=("leave --pattern out, or ", *count_again({"pattern": pattern_text(given)}, file)),
                option="pattern",
            )

    def _write(
        self, written: atomic.OutputSet, trained: Sequence[Trained], corpus: Mapping[str, Any], counts: PretokenCounts
    ) -> None:
        """Writes the tokenizers and their locks."""
        from slmtok.training.lock import make_lock

        if self.output == STDIO:
            with writing(self.output) as stream:
                stream.write(trained[0].tokenizer.to_bytes())
            return
        options = replace(self.options, scheme=counts.scheme)
        locks = [
            make_lock(one, options, corpus, path).to_bytes() for path, one in zip(self.outputs, trained, strict=True)
        ]
        files = [*(one.tokenizer.to_bytes() for one in trained), *locks]
        for path, data in zip(written.temporary, files, strict=False):
            atomic.write_synced(path, data)

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
            result["explain"] = [merge_step_dict(step) for step in steps]
            stream = sys.stderr if output == STDIO else sys.stdout
            show = lambda: stream.write(render_steps(steps).rstrip("\n") + "\n\n")  # noqa: E731

        def summary() -> None:
            print_report(largest.report, output, seconds)
            if len(trained) > 1:
                print_sizes(outputs, trained)

        return Outcome(result, show, summary, warnings=warnings_of(largest, self.options.forbid_regex))


# The summary.


def warnings_of(trained: Trained, forbid_regex: str | None) -> tuple[str, ...]:
    """Warnings about the corpus and the run; empty for most."""
    report, counts = trained.report, trained.counts
    found = list(corpus_warnings(counts))
    needed, limit = report.merge_memory, report.memory_limit
    if needed and limit and needed > limit:
        found.append(
            f"learning merges needs about {format_bytes(needed)}, more than counting was allowed "
            f"({format_bytes(limit)}): --memory limits counting only"
        )
    if counts.min_count > 1:
        distinct, pieces = counts.pruned
        share = pieces / max(pieces + counts.pieces, 1)
        found.append(
            f"the counts were pruned: {distinct:,} pretokens below {counts.min_count} occurrences are missing, "
            f"{share:.2%} of the corpus"
        )
    if forbid_regex is not None and all(option != "forbid_regex" for _, option, _ in report.refused):
        is_file = os.path.isfile(forbid_regex)  # noqa: PTH113  (false for names that no system takes)
        meant = "; it takes a regex, such as '^ ?(the|of)$', not a file" if is_file else ""
        found.append(f"--forbid-regex {shlex.quote(forbid_regex)} matched no token that would have been learned{meant}")
    return tuple(found)


def note_merge_memory(counts: PretokenCounts) -> None:
    """Writes to stderr how much memory merging needs, if it is much; the summary contains it in any case."""
    needed, limit = counts.merge_memory, counts.memory
    if counts.scheme != "bpe" or needed < MIN_NOTED_MERGE_BYTES:
        return
    more = f", more than counting was allowed ({format_bytes(limit)})" if limit and needed > limit else ""
    sys.stderr.write(f"merging {counts.distinct:,} distinct pretokens takes about {format_bytes(needed)}{more}\n")
    sys.stderr.flush()


def print_report(report: TrainReport, output: str, seconds: float) -> None:
    """The summary; on stderr where stdout carries the tokenizer."""
    stream = sys.stderr if output == STDIO else sys.stdout
    name = "stdout" if output == STDIO else output
    title = f"{name}: {report.n_vocab:,} ids, scheme {report.scheme}, pattern {report.pattern}"
    print_rows(_rows(report, seconds), title=title, stream=stream)


def _rows(report: TrainReport, seconds: float) -> list[Row]:
    corpus = f"{counted(report.documents, 'document')}, {format_bytes(report.bytes)}"
    if report.files > 1:
        corpus = f"{report.files:,} files, {corpus}"
    noun, source = ("merge", "pair") if report.scheme == "bpe" else ("token", "pretoken")
    learned = counted(report.learned, noun)
    if report.learned:
        learned += f"; the {source} of the last one occurs {counted(report.last_count, 'time')}"
    compression = ""
    if report.bytes_per_token is not None:
        compression = (
            f"{report.bytes_per_token:.3f} bytes per token, on {format_bytes(report.sample_bytes)} of the corpus"
        )
    times = f"counting {in_time(report.count_seconds)}, learning {in_time(report.learn_seconds)}"
    return [
        ("corpus", corpus),
        ("pretokens", f"{report.pieces:,}, {report.distinct:,} distinct"),
        ("learned", learned),
        ("required", f"{report.required:,}" if report.required else ""),
        ("refused", _refused(report)),
        ("compression", compression),
        ("first", _words(report.first_tokens)),
        ("longest", _words(report.longest_tokens)),
        ("time", f"{in_time(seconds)} ({times})"),
        ("peak memory", format_bytes(report.peak_memory) if report.peak_memory else ""),
        ("for merging", f"about {format_bytes(report.merge_memory)} expected" if report.merge_memory else ""),
        ("spills", f"{report.spills:,}, {format_bytes(report.spilled_bytes)} on disk" if report.spills else ""),
        ("fingerprint", report.fingerprint),
    ]


def _words(tokens: Iterable[bytes]) -> str:
    text = "  ".join(map(escape_token, tokens))
    return textwrap.fill(text, LINE_WIDTH, break_long_words=False, break_on_hyphens=False)


def _refused(report: TrainReport) -> str:
    """The number of tokens that each option refused, and the first of them."""
    if not report.refused:
        return ""
    options = Counter(option for _, option, _ in report.refused)
    by_option = ", ".join(f"{number:,} by {flag_naming(Setting(name))}" for name, number in options.items())
    listed = _words(token for token, _, _ in report.refused[:MAX_LISTED_REFUSED])
    return f"{by_option}: {listed}{' …' if len(report.refused) > MAX_LISTED_REFUSED else ''}"


def _with_vocab() -> str:
    """The command line with a size, and with an output or a size that stands among the corpus named as such."""
    context = click.get_current_context()
    command = with_output_named(context) or command_line(context, arguments_of_command())
    sizes = (word for word in positional(context) if are_sizes([word]) and not Path(word).exists())
    if size := next(sizes, None):
        words = shlex.split(command)
        words.remove(size)
        command = shlex.join(words)
    # The corpus may be too small for the size of an example.
    return f"{command} --vocab {size}" if size else f"{command} --vocab 8192 --allow-smaller"


def print_sizes(paths: Sequence[str], trained: Sequence[Trained]) -> None:
    """A line for each of several vocabulary sizes."""
    rows: list[Row] = []
    for path, one in zip(paths, trained, strict=True):
        report = one.report
        compression = "" if report.bytes_per_token is None else f", {report.bytes_per_token:.3f} bytes per token"
        rows.append((path, f"{report.n_vocab:,} ids{compression}, fingerprint {report.fingerprint[:12]}"))
    print_rows(rows, title="sizes")


def merge_step_dict(step: MergeStep) -> dict[str, object]:
    """One merge of `--explain` as `--json` prints it, its tokens as printable words."""
    words = {name: escape_token(getattr(step, name)) for name in ("left", "right", "joined")}
    example = {name: list(map(escape_token, getattr(step, name))) for name in ("before", "after")}
    return {"number": step.number, **words, "id": step.id, "count": step.count, **example}


def _lines_of_locks(folder: str | Path) -> list[str]:
    """The commands that train again from the locks in a folder, or else from those of the working folder."""
    held = sorted(map(str, Path(folder).glob("*.lock"))) or sorted(map(str, Path().glob("*.lock")))
    return [f"slmtok reproduce {shlex.quote(each)}" for each in held[:_MAX_LOCKS]]


def _refuse_missing_lock(lock: str) -> None:
    """Raises `MissingInput` for the name of a lock that does not exist, beside a tokenizer without one."""
    path = Path(lock)
    tokenizer = path.with_suffix(".json")
    if path.suffix == ".lock" and not path.exists() and names_tokenizer(str(tokenizer)):
        lines = " or ".join(_lines_of_locks(path.parent))
        raise MissingInput(
            f"no file {lock!r}: {tokenizer} has no lock beside it",
            limit="slmtok train writes a lock; slice, extend, prune, set-special and import write none",
            fix=f"for a tokenizer with a lock: {lines}" if lines else "slmtok train CORPUS -o FILE writes one",
            path=lock,
        )


def _folder_as_lock(folder: str) -> MissingInput:
    """The error for a folder in the place of a lock; the fix names the locks in it, or those of the working folder."""
    lines = _lines_of_locks(folder)
    output = free_name("tok.json")
    trained = f"slmtok train CORPUS --vocab N -o {output} writes {Path(output).with_suffix('.lock')}"
    fix = ", or ".join(lines) or f"name the lock: {trained}"
    certificate = Path(folder) / "eval/val.json"
    what = "run of slm" if is_run(folder) else "folder"
    if is_run(folder) and certificate.is_file():
        fix = f"slm eval --check {shlex.quote(str(certificate))}, which evaluates the run again; of a tokenizer: {fix}"
    return MissingInput(f"{folder!r} is a {what}, not a lock", where=folder, fix=fix, path=folder)


_MAX_LOCKS = 4
"""Locks that a fix names."""


def _of_other_size(size: str | None, arguments: Sequence[str]) -> str:
    """The command that makes the tokenizer of a lock smaller or larger, with what else the lock says of it."""
    from slmtok.training.lock import load_lock

    path = next((word for word in arguments if kind_of_file(word) == LOCK), None)
    if path is None or size is None or not size.isdecimal():
        return _SIZE_OF_LOCK
    try:
        lock = load_lock(path)
    except SlmtokError:
        return _SIZE_OF_LOCK
    locked = lock.content["tokenizer"]
    is_smaller, tokenizer = int(size) <= locked["n_vocab"], str(lock.sibling(locked["file"]))
    words = ["slice", tokenizer] if is_smaller else ["extend", tokenizer, *(lock.texts or ["CORPUS"])]
    return shlex.join(["slmtok", *words, "--vocab", size, "-o", free_name("tok.json")])


_SIZE_OF_LOCK = "leave it out: the lock has the size"


def _output_of_reproduce(value: str | None, arguments: Sequence[str]) -> str:
    """The line without an output, and what gives the tokenizer. Raises `OptionError` for the name of a tokenizer file.

    Another name is that of a file for the verdict, which goes to stdout.
    """
    from slmtok.opening import load
    from slmtok.training.lock import load_lock

    name = value or "again.json"
    words = [word for word in without_options(arguments, OUTPUT_FLAGS) if word != f"-o{value}"]
    line = shlex.join(["slmtok", "reproduce", *words])
    if Path(name).suffix != ".json":
        return f"{line} > {shlex.quote(free_name(name))}"
    path = next((word for word in words if kind_of_file(word) == LOCK), None)
    fix = f"leave it out: {line}"
    if path is not None:
        lock = load_lock(path)
        locked, beside = lock.content["tokenizer"], lock.sibling(lock.content["tokenizer"]["file"])
        train = ["slmtok", "train", *(lock.texts or ["CORPUS"]), "--vocab", str(locked["n_vocab"]), "-o", name]
        fix = f"{shlex.join(train)}, with the other options that slmtok info {shlex.quote(path)} --json shows"
        if beside.is_file() and load(str(beside)).sha256 == locked["sha256"]:
            fix = f"{line} && {shlex.join(['cp', str(beside), free_name(name)])}"
    raise OptionError(
        f"reproduce writes no tokenizer, and {name!r} names one: it trains one again and compares it with the lock",
        where="slmtok reproduce",
        limit="the verdict as JSON: --json > verdict.json",
        fix=fix,
        option="--output",
    )


@command(
    "reproduce",
    example="slmtok reproduce tok.lock --corpus corpus/",
    habits=dict.fromkeys(VOCAB_FLAGS, _of_other_size) | dict.fromkeys(OUTPUT_FLAGS, _output_of_reproduce),
)
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
    if Path(lock).is_dir():
        raise _folder_as_lock(lock)
    _refuse_missing_lock(lock)
    loaded = load_lock(lock)
    is_same_tool = loaded.tool == f"slmtok {__version__}"
    warnings: tuple[str, ...] = (
        () if is_same_tool else (f"the lock was written by {loaded.tool}, this is slmtok {__version__}",)
    )
    if counts and is_given("memory"):
        warnings += ("--memory has no effect with --counts, which need no text",)
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
