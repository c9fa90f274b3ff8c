"""Inputs and outputs of commands: files, `-` for the standard streams, corpora, tokenizers by name."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar

import click

from slmtok import atomic
from slmtok.cli.output import EACH, Outcome, Row, counted, note_terminal, one_line, print_rows
from slmtok.cli.streams import refuse_stdout
from slmtok.errors import MissingInput, OptionError, OutputExists, Setting
from slmtok.file_kinds import COUNTS, NAMES, TOKENIZER, UNKNOWN, WRITTEN_KINDS, kind_of_file
from slmtok.files import missing_input
from slmtok.opening import TIKTOKEN, load, public_encoding
from slmtok.path_arguments import BINARY_SUFFIXES, TEXT_SUFFIXES, folder_meant, free_name
from slmtok.sizes import format_bytes

if TYPE_CHECKING:
    from slmtok.corpus.reading import CorpusDocument
    from slmtok.options import CountOptions, ReadOptions

CountLike = TypeVar("CountLike", bound="CountOptions")
STDIO = "-"
VOCAB_PLACEHOLDER = "{vocab}"
_PLACEHOLDER = re.compile(r"\{\w*\}")
MAX_LISTED_FILES = 10
"""Files that a dry run names one by one."""


# Outputs.


def check_output(
    output: str, *beside: str, inputs: Iterable[str] = (), force: bool = False, content: Content | None = None
) -> None:
    """Raises unless `output`, which holds `content`, and the files `beside` it may be written.

    inputs: files; folders, whose files must stay, such as packed data; `-`; what is missing.
    """
    if output != STDIO:
        _refuse_compressed_name(output)
        read = [file for name in inputs for file in (held_files(name) if os.path.isdir(name) else [name])]  # noqa: PTH112
        try:
            atomic.check_outputs(output, *beside, inputs=read, force=force)
        except OutputExists as error:
            # With --force, its name would be refused.
            check_content(output, content)
            _keep_other_kind(error, output)
            raise
        check_content(output, content)
        return
    context = click.get_current_context(silent=True)
    command = shlex.join([*context.command_path.split(), *context.meta["arguments"]]) if context else "COMMAND"
    for name in inputs:
        refuse_stdout(name, command, is_named=False)


def _keep_other_kind(error: OutputExists, output: str) -> None:
    """Leaves out --force where it would replace a file of another kind than the command writes, such as its corpus."""
    from slmtok.corpus.formats import is_corpus_name

    context, kind = click.get_current_context(silent=True), kind_of_file(output)
    written = WRITTEN_KINDS.get(str(context.command.name), UNKNOWN) if context else kind
    # A damaged file, whose kind is unknown, may be replaced.
    is_other = kind == TOKENIZER or (written != UNKNOWN and (kind in NAMES or is_corpus_name(output)))
    if written == kind or not is_other or not os.path.isfile(output):  # noqa: PTH113
        return
    if kind in NAMES:
        error.parts["fact"] = f"output {output!r} exists, {NAMES[kind]}"
    error.fix = ("name another ", Setting("output"))


def _refuse_compressed_name(output: str) -> None:
    """Raises `OptionError` for a name that promises compressed data."""
    bare, suffix = os.path.splitext(output)  # noqa: PTH122 - a Path would drop a leading ./
    if suffix.lower() in (".gz", ".zst", ".xz", ".bz2", ".zip"):
        raise OptionError(
            f"output {output!r} would not be compressed, and its name ends in {suffix}",
            limit="outputs are written uncompressed",
            fix=f"-o {shlex.quote(free_name(bare))}",
            option="output",
        )


def held_files(folder: str) -> list[str]:
    """The files in a folder, by path."""
    with os.scandir(folder) as entries:
        return [entry.path for entry in entries if entry.is_file()]


def check_is_file(output: str, flag: str = "-o", option: str = "output") -> None:
    """Raises `OptionError` for stdout where an output consists of more than one stream of bytes."""
    if output == STDIO:
        raise OptionError(f"{flag} - is stdout, and this output needs a name", fix=f"{flag} NAME", option=option)


class Content(NamedTuple):
    """What an output holds."""

    name: str
    suffixes: tuple[str, ...]
    """Of its names, the usual one first."""
    refused: tuple[str, ...] | None = None
    """Those of other kinds of files; None for all others, which a browser shows as text."""


PAGE = Content("a page, which is HTML", (".html", ".htm"))
JSON = Content("JSON", (".json",), (*BINARY_SUFFIXES, *TEXT_SUFFIXES))
SAFETENSORS = Content("safetensors", (".losses", ".safetensors"), (*BINARY_SUFFIXES, *TEXT_SUFFIXES))
COUNTS_FILE = Content("counts, which are binary", (".counts",), (*BINARY_SUFFIXES, *TEXT_SUFFIXES))
PLAIN_TEXT = Content("text", (".txt",), BINARY_SUFFIXES)


def check_content(output: str | None, content: Content | None, option: str = "output") -> None:
    """Raises `OptionError` for an output under the name of another kind of file.

    output: None is an option without a value. content: None for what may have any name.
    """
    if output is None or output == STDIO or content is None:
        return
    path = Path(output)
    suffix = path.suffix.lower()
    if suffix in content.suffixes or (content.refused is not None and suffix not in content.refused):
        return
    usual, flag = content.suffixes[0], "-o" if option == "output" else f"--{option.replace('_', '-')}"
    stem, others = path.with_suffix(""), {*(content.refused or ())} - {*content.suffixes}
    while stem.suffix.lower() in others:  # Such as `.jsonl.gz`.
        stem = stem.with_suffix("")
    named = str(stem) if stem.suffix.lower() in content.suffixes else f"{stem}{usual}"
    raise OptionError(
        f"{flag} {output!r} would hold {content.name}" + (f", not {suffix}" if suffix else ""),
        limit=usual,
        fix=f"{flag} {shlex.quote(free_name(named))}",
        option=option,
    )


def check_opens(opens: bool, output: str) -> None:
    """Raises `OptionError` for `--open` with a page on stdout."""
    if opens and output == STDIO:
        raise OptionError("--open together with -o -, which is stdout", fix="-o FILE", option="open")


def write_page(
    html: str, output: str, *, force: bool, opens: bool, warnings: tuple[str, ...] = (), **about: Any
) -> Outcome:
    """Writes a page, and opens it in the browser on request; `about` are further entries of the result."""
    content = html.encode()
    with writing(output, force=force) as file:
        file.write(content)
    if opens:
        import webbrowser

        webbrowser.open(Path(output).absolute().as_uri())
    result = {"path": output, **about, "bytes": len(content)}
    if output == STDIO:
        return Outcome(result, warnings=warnings)
    return Outcome(result, summary=f"{output}: {format_bytes(len(content))}, open it in a browser", warnings=warnings)


def check_is_folder_name(output: str) -> None:
    """Raises `OptionError` for a new folder with the name of a file."""
    if folder := folder_meant(output):
        raise OptionError(
            f"-o {output!r} is the name of a file, and a folder is written",
            limit="a folder, in which the files have names of their own",
            fix=f"-o {shlex.quote(folder)}",
            option="output",
        )


@contextmanager
def writing(output: str, *, force: bool = False) -> Iterator[BinaryIO]:
    """A binary stream to stdout, or to a file that appears only when the block succeeds."""
    if output == STDIO:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with atomic.outputs(output, force=force) as (temporary,), temporary.open("wb") as file:
        yield file


def check_placeholders(output: str, known: str) -> None:
    """Raises `OptionError` for a name in braces that a command does not replace, unless such a file exists."""
    if (found := _PLACEHOLDER.search(output.replace(known, ""))) and not Path(output).exists():
        raise OptionError(
            f"-o {output!r} has {found[0]}, which stands for nothing here",
            limit=f"{known} is replaced",
            fix=f"-o {shlex.quote(output.replace(found[0], known))}",
            option="output",
        )


def output_per_size(output: str, sizes: Sequence[int | None]) -> list[str]:
    """The output of each vocabulary size: `{vocab}` in the name is replaced, else `tok.json` becomes `tok-4096.json`.

    Raises `OptionError`.
    """
    check_placeholders(output, VOCAB_PLACEHOLDER)
    if len(sizes) == 1:
        return [output.replace(VOCAB_PLACEHOLDER, str(sizes[0]))]
    if len(set(sizes)) < len(sizes):
        raise OptionError("--vocab names one size twice", fix="leave one of them out", option="vocab")
    if output == STDIO:
        raise OptionError("-o - takes one tokenizer only", fix="-o 'tok-{vocab}.json'", option="output")
    if VOCAB_PLACEHOLDER not in output:
        path = atomic.output_path(output)
        output = str(path.with_name(f"{path.stem}-{VOCAB_PLACEHOLDER}{path.suffix}"))
    return [output.replace(VOCAB_PLACEHOLDER, str(size)) for size in sizes]


def with_spill_dir(options: CountLike, output: str) -> CountLike:
    """The options with a folder for temporary files: $TMPDIR, else that of the output. /tmp is often in memory."""
    if options.spill_dir is not None:
        return options
    beside = None if output == STDIO else str(Path(output).parent)
    return replace(options, spill_dir=os.environ.get("TMPDIR") or beside)


def document_range(n: int, docs: str | None, where: str) -> range:
    """The document numbers that `--docs` names (`3:5`, `3:`, `:5`, `3`; negative ones count from the end); None: all.

    `where` names what holds the `n` documents. Raises `OptionError` for no range, and for an empty one.
    """
    if docs is None:
        return range(n)
    first, colon, last = docs.partition(":")
    try:
        start, stop = int(first) if first else 0, int(last) if last else n
    except ValueError:
        raise OptionError(
            f"--docs {docs!r} is not a range of documents",
            limit="A:B counts from 0 and excludes B, as in Python; there is no step",
            fix=f"--docs {_range_meant(docs)}",
            option="docs",
        ) from None
    if not colon:
        stop = start + 1 or n
    found = range(n)[start:stop]
    if not len(found):
        fact, meant = f"--docs {docs} selects no document", f"{max(0, n - 2)}:{n}"
        # A number from the end and one from the beginning have no order.
        if start >= stop and (start < 0) == (stop < 0) and range(n)[stop : start + 1 or n]:
            is_one = start == stop
            fact += ": B is not included" if is_one else ": it ends before it begins"
            meant = f"{start}:{start + 1 or ''}" if is_one else f"{stop}:{start}"
        raise OptionError(fact, where=where, limit=f"0 to {n - 1}", fix=f"--docs {meant}", option="docs")
    return found


def _range_meant(docs: str) -> str:
    """The range that `3-5` or `3,4,5` stands for, and `3:5:2` without its step; a command for each of other numbers.

    For other text it is an example.
    """
    if with_step := re.fullmatch(r"(-?\d*:-?\d*):-?\d*", docs, re.ASCII):
        return with_step[1]
    begin, _, end = docs.partition("-")
    if begin.isdecimal() and end.isdecimal():
        first, last = sorted((int(begin), int(end)))
        return f"{first}:{last + 1}"
    parts = [part.strip() for part in docs.split(",")]
    if len(parts) < 2 or not all(map(str.isdecimal, parts)):
        return "3:5"
    numbers = sorted({int(part) for part in parts})
    is_range = numbers == [*range(numbers[0], numbers[-1] + 1)]
    return f"{numbers[0]}:{numbers[-1] + 1}" if is_range else f"{parts[0]}{EACH}"


# Corpora.


def corpus_files(corpus: Sequence[str], read: ReadOptions) -> list[str]:
    """The sources that the arguments name.

    Raises `MissingInput`, and `OptionError` for options that apply to none of them and for files of slmtok.
    """
    from slmtok.cli.corpus_notes import corpus_notes, explain_list, remember_corpus
    from slmtok.cli.encoding_notes import notes_on_encoding
    from slmtok.corpus import find
    from slmtok.corpus.reading import check_named_fields

    if STDIO in corpus:
        note_terminal()
    try:
        found = find(list(corpus), read)
        if _is_given("text_key"):
            check_named_fields(found, read, is_key_given=True)
    except OptionError as error:
        _name_tokenizer(error)
        raise
    except MissingInput as error:
        explain_list(error)
        raise
    remember_corpus(corpus, found, read)
    add_notes([*corpus_notes(found, read), *notes_on_encoding(found, read)])
    return found


def _is_given(name: str) -> bool:
    """Whether an option is on the command line of the running command."""
    context = click.get_current_context(silent=True)
    return context is not None and context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def _name_tokenizer(error: OptionError) -> None:
    """Names the tokenizer of the command in a fix with `-t TOK`."""
    context = click.get_current_context(silent=True)
    given = context.params.get("tokenizers", [context.params.get("tokenizer")]) if context else []
    fix = error.parts["fix"]
    if isinstance(fix, tuple) and given and isinstance(given[0], str):
        named = f"-t {shlex.quote(given[0])}"
        error.fix = tuple(part.replace("-t TOK", named) if isinstance(part, str) else part for part in fix)


def add_notes(notes: Iterable[str]) -> None:
    """Adds to the notes with which the running command ends; each comes once."""
    if context := click.get_current_context(silent=True):
        context.meta["warnings"] = tuple(dict.fromkeys([*context.meta.get("warnings", ()), *notes]))


def counts_among(paths: Sequence[str]) -> list[str]:
    """The counts files among the sources of a corpus.

    Opening each of a million small files would be slow: only the first is checked, the others by name.
    """
    has_counts = bool(paths) and kind_of_file(paths[0]) == COUNTS
    checked = [path for path in paths if has_counts or path is paths[0] or path.endswith(".counts")]
    return [path for path in checked if kind_of_file(path) == COUNTS]


def refuse_reading(options: ReadOptions, counts: str) -> None:
    """Raises `OptionError` for an option of reading together with counts, whose text was read before.

    counts: the first of the files.
    """
    from slmtok.options import ReadOptions, changed_options, option_specs

    if changed := changed_options(options, [name for name, _, _ in option_specs(ReadOptions)]):
        first, *others = changed
        beside = [part for name in others for part in (" and ", Setting(name, getattr(options, name)))]
        raise OptionError(
            (
                *(Setting(first, getattr(options, first)), *beside),
                f" {'have' if others else 'has'} no effect on counts, whose text was read before",
            ),
            limit="options of reading belong to slmtok count",
            fix=(
                f"leave {'it' if len(changed) == 1 else 'them'} out, or ",
                *count_again({name: getattr(options, name) for name in changed}, counts),
            ),
            option=changed[0],
        )
    if _is_given("memory"):
        add_notes(["--memory has no effect on counts, whose text was read before"])


def count_again(given: Mapping[str, object], file: str) -> tuple[str | Setting, ...]:
    """The end of a fix that counts the text of the counts in a file again, with some options."""
    from slmtok.training.counts import open_counts
    from slmtok.training.counts_format import call_to_count, settings_to_count

    head = open_counts(file).head
    return ("count again: ", *call_to_count(settings_to_count(head.pattern, head.scheme, given), file))


def are_counts(paths: Sequence[str]) -> bool:
    """Whether the sources of a corpus are counts files. Raises `OptionError` for counts and text together."""
    counts = counts_among(paths)
    if counts and len(counts) < len(paths):
        raise OptionError(
            f"{counts[0]} is a counts file, and other files of the corpus are text",
            limit="counts, or text",
            fix=_counted_first(counts),
            option="corpus",
        )
    return bool(counts)


def _counted_first(counts: Sequence[str]) -> str:
    """The command without the text that the counts are of; for other text, the commands that count it as well.

    Both where the bytes of text in the files are not known.
    """
    from slmtok.options import ReadOptions
    from slmtok.training.counts import open_counts

    context = click.get_current_context(silent=True)
    corpus = list(context.params.get("corpus", ())) if context else []
    texts = [each for each in corpus if each not in counts]
    if context is None or not texts or any(map(os.path.isdir, texts)):
        return f"count the text first: slmtok count CORPUS -o {free_name('more.counts')}"
    given = context.meta["arguments"]
    begin = context.command_path.split()
    counts_alone = shlex.join([*begin, *(each for each in given if each not in texts)])
    found = known_size(texts, ReadOptions()) if all(map(os.path.isfile, texts)) else 0
    if found == sum(open_counts(each).head.totals.bytes for each in counts):
        return counts_alone
    target = free_name("more.counts")
    words = [target if each == texts[0] else each for each in given if each not in texts[1:]]
    apart = f"{shlex.join(['slmtok', 'count', *texts, '-o', target])} && {shlex.join([*begin, *words])}"
    return apart if found else f"{counts_alone}, if the counts are of that text; else {apart}"


def refuse_missing(tokenizers: Iterable[str], files: Iterable[str | None] = ()) -> None:
    """Raises `MissingInput` for tokenizers, and files beside a text, that do not exist.

    The text is opened after this check, since a pipe waits for its writer.
    """
    for file in files:
        if file is not None and not os.path.exists(file):  # noqa: PTH110  (a name of any length is fine)
            raise missing_input(file)
    for path in tokenizers:
        if not os.path.exists(path) and public_encoding(path) is None:  # noqa: PTH110
            load(path)


def text_files(corpus: Sequence[str], read: ReadOptions) -> list[str]:
    """As `corpus_files`, for commands that read text only. Raises `OptionError` for a counts file."""
    found = corpus_files(corpus, read)
    if counts := counts_among(found):
        raise OptionError(
            f"{counts[0]} is a counts file, not text",
            limit="text; train, extend, merge and diff read counts",
            fix="name the text that was counted"
            + ("" if counts[0] in corpus else ", or leave counts out: --exclude '*.counts'"),
            option="corpus",
            path=counts[0],
        )
    return found


def identified_files(corpus: Sequence[str], read: ReadOptions) -> list[str]:
    """As `text_files`, for a command that identifies its sources before it reads them.

    Raises `OptionError` for a pipe.
    """
    from slmtok.shards.plan import refuse_pipes

    refuse_pipes(corpus)
    return text_files(corpus, read)


def require_bytes(number: int, on: Sequence[str]) -> None:
    """Raises `CorpusTooSmall` for a text without a byte, which was read by `read_documents`."""
    if not number:
        from slmtok.corpus.contents import no_text

        context = click.get_current_context(silent=True)
        skipped = context.meta.get("skipped") if context else None
        found = f"{', '.join(on)} has no byte of text"
        raise no_text(found, malformed=skipped.records, sampled=skipped.sampled) if skipped else no_text(found)


def read_documents(sources: Sequence[str], read: ReadOptions) -> Iterator[CorpusDocument]:
    """The documents of these sources, for a command that ends with notes.

    On malformed records that were skipped, and on a separator that cuts no file.
    """
    from slmtok.corpus import read as read_corpus
    from slmtok.corpus.selection import Skipped

    skipped, number = Skipped(), 0
    for document in read_corpus(sources, read, skipped):
        number += 1
        yield document
    if read.separator and not read.is_selective and 0 < number <= len(sources):
        from slmtok.cli.corpus_notes import separator_note

        add_notes([separator_note(read.separator)])
    if context := click.get_current_context(silent=True):
        context.meta["skipped"] = skipped
    if skipped.records:
        add_notes([f"{counted(skipped.records, 'malformed record')} skipped"])


def read_texts(sources: Sequence[str], read: ReadOptions) -> Iterator[bytes]:
    """The texts of `read_documents`."""
    return (document.text for document in read_documents(sources, read))


def known_size(paths: Sequence[str], read: ReadOptions) -> int:
    """The bytes of text in these files; 0 where reading decides it: compressed files, records, a selection."""
    from slmtok.corpus import format_of
    from slmtok.corpus.streams import is_mappable

    is_known = all(is_mappable(path, read) and not format_of(path, read).records for path in paths)
    return sum(Path(path).stat().st_size for path in paths) if is_known and not read.is_selective else 0


def dry_run_outcome(paths: Sequence[str], read: ReadOptions, output: str) -> Outcome:
    """The result of `--dry-run`: nothing is read or written."""
    from slmtok.corpus import format_of

    files: list[dict[str, Any]] = []
    for path in paths:
        size = Path(path).stat().st_size if Path(path).is_file() else None
        files.append({"path": path, "format": format_of(path, read).name, "bytes": size})
    total = sum(file["bytes"] or 0 for file in files)

    def show() -> None:
        rows: list[Row] = [
            (
                file["format"],
                f"{one_line(file['path'])}  {'' if file['bytes'] is None else format_bytes(file['bytes'])}".rstrip(),
            )
            for file in files[:MAX_LISTED_FILES]
        ]
        if len(files) > MAX_LISTED_FILES:
            rows.append(("", f"… and {len(files) - MAX_LISTED_FILES:,} more"))
        print_rows(rows, title=f"would read {counted(len(files), 'file')}, {format_bytes(total)}, and write {output}")

    return Outcome({"dry_run": True, "files": files, "bytes": total, "output": output}, show)


# Tokenizers.


def names_tokenizer(name: str) -> bool:
    """Whether an argument is a tokenizer and no other input: a file by its content, or the name of an encoding."""
    if not os.path.exists(name):  # noqa: PTH110 - false also for names that the system refuses, such as long ones
        return public_encoding(name) is not None
    if not is_tokenizer(name):
        return False
    if kind_of_file(name) == TOKENIZER:
        return True
    from slmtok.files import MAX_FILE_BYTES, read_file
    from slmtok.formats.hf import looks_like

    return looks_like(read_file(name, MAX_FILE_BYTES["tokenizer.json"]))


def is_tokenizer(name: str) -> bool:
    """Whether an argument names a tokenizer, as opposed to being text."""
    if name.startswith(TIKTOKEN):
        return True
    try:
        return name.endswith(".json") and Path(name).is_file()
    except OSError:
        return False


def short_names(names: Sequence[str]) -> dict[str, str]:
    """The tokenizers by the names of their files; folders are left out where the files are named differently."""
    short = {Path(name).name: name for name in names}
    return short if len(short) == len(set(names)) else {name: name for name in names}
