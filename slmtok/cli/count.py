"""`slmtok count`: a corpus to a counts file, the input of training. `slmtok merge`: several counts files to one."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from slmtok import atomic
from slmtok.cli import reports
from slmtok.cli.arguments import OUTPUT_FLAGS, is_packed, is_text_file, value_after, without_options
from slmtok.cli.files import (
    COUNTS_FILE,
    check_content,
    check_is_file,
    check_output,
    dry_run_outcome,
    known_size,
    names_tokenizer,
    text_files,
    with_spill_dir,
)
from slmtok.cli.options import (
    INTEGER,
    OUTPUT,
    argument,
    arguments_of_command,
    command,
    corpus_argument,
    dry_run_option,
    instead,
    option,
    options_of,
    output_options,
    ray_option,
)
from slmtok.cli.output import Outcome, counted, flag_naming
from slmtok.cli.progress import Progress
from slmtok.cli.text_argument import eval_line
from slmtok.corpus.contents import packed_texts
from slmtok.corpus.formats import is_corpus_name
from slmtok.errors import OptionError, SlmtokError, render
from slmtok.file_kinds import COUNTS, DIGESTS, NAMES, TOKENIZER, is_run, kind_of_file
from slmtok.files import free_name
from slmtok.options import CountOptions

_MAX_SHOWN_PARTS = 8
"""Counts files that a fix lists."""


def _tokenizer(value: str | None, arguments: Sequence[str]) -> str:
    """The command with a text that -t names. Raises `OptionError` for a tokenizer: it is meant to count tokens."""
    if value is None or not (names_tokenizer(value) or is_text_file(value)):
        return "leave it out: count takes no tokenizer"
    if is_text_file(value):
        return shlex.join(["slmtok", "count", *(each for each in arguments if each not in ("-t", "--tokenizer"))])
    raise OptionError(
        "count takes no tokenizer: it counts pretokens, from which a tokenizer is trained",
        where="slmtok count",
        limit="slmtok eval counts tokens",
        fix=eval_line(count, arguments),
        option="--tokenizer",
    )


_MOST_FREQUENT = ("--top", "--top-k", "--most-common")
"""Options of other tools for a list of the most frequent words."""


def _pretokens(value: str | None, arguments: Sequence[str]) -> str:
    """The Python call that lists the most frequent pretokens of the corpus, which no command does."""
    words = pairwise(["", *arguments])
    corpus = [word for before, word in words if Path(word).exists() and before not in OUTPUT_FLAGS] or ["CORPUS"]
    number = value if value and value.isdecimal() else "20"
    items = f"slmtok.count({json.dumps(corpus[0] if len(corpus) == 1 else corpus, ensure_ascii=False)}).items()"
    program = f'import slmtok; print(*sorted({items}, key=lambda item: -item[1])[:{number}], sep="\\n")'
    return f"leave it out, no command lists pretokens; {shlex.join(['python', '-c', program])} does"


_APPEND = ("--append", "--update", "--add-to")
"""Options of other tools that keep what an output has."""


def _appended(value: str | None, arguments: Sequence[str]) -> str:
    """The commands that count into another file and merge both; for a new output, the line without the option."""
    words = [word for word in arguments if word.partition("=")[0] not in _APPEND]
    output = value_after(OUTPUT_FLAGS, words) or "all.counts"
    if kind_of_file(output) != COUNTS:
        return f"leave it out: no counts file {output!r} is there, to which count could append"
    kept = [word for word in without_options(words, OUTPUT_FLAGS) if word != "--force"]
    new, merged = free_name("new.counts"), free_name("merged.counts")
    counted_apart = shlex.join(["slmtok", "count", *kept, "-o", new])
    return f"{counted_apart} && {shlex.join(['slmtok', 'merge', output, new, '-o', merged])}"


_HABITS = {
    **dict.fromkeys(("-t", "--tokenizer"), _tokenizer),
    **dict.fromkeys(_MOST_FREQUENT, _pretokens),
    **dict.fromkeys(_APPEND, _appended),
}


@command("count", example="slmtok count corpus/ -o all.counts", habits=_HABITS)
@corpus_argument
@options_of(CountOptions, into="options", skip=("spill_dir",))
@output_options(default="all.counts")
@option("--doc-digests", is_flag=True, panel=OUTPUT,
        help="Also write FILE.digests: 64 bits of each document's sha256, sorted.")  # fmt: skip
@ray_option
@dry_run_option
def count(
    corpus: tuple[str, ...],
    options: CountOptions,
    output: str,
    force: bool,
    doc_digests: bool,
    ray: str | None,
    dry_run: bool,
) -> Outcome:
    """Count the pretokens of a corpus into a file that can be merged and trained on."""
    from slmtok.corpus.profile import CorpusProfile
    from slmtok.patterns import parse_pattern
    from slmtok.schemes import SCHEMES, pattern_of_scheme
    from slmtok.training.api import require_text
    from slmtok.training.counting import count_corpus
    from slmtok.training.doc_digests import DocDigests
    from slmtok.training.ingest import Observers

    begun = time.perf_counter()
    options = with_spill_dir(options, output)
    parse_pattern(pattern_of_scheme(SCHEMES[options.scheme], options.pattern))
    files = text_files(corpus, options)
    digests, corpus_profile = DocDigests() if doc_digests else None, CorpusProfile()
    beside = [output + ".digests"] if doc_digests else []
    check_is_file(output)
    check_output(output, *beside, inputs=files, force=force or dry_run, content=COUNTS_FILE)
    if dry_run:
        return dry_run_outcome(files, options, output)
    expected = {} if ray else {"count": known_size(files, options)}
    with Progress(expected=expected) as progress:
        observers = Observers(digests, corpus_profile)
        if ray is None:
            counts = count_corpus(files, options, progress, observers)
        else:
            from slmtok.cluster import count_on

            counts = count_on(ray, files, options, progress, observers)
        require_text(counts)
        with atomic.outputs(output, *beside, force=force) as paths:
            digest = counts.save(paths[0], force=True)
            if digests is not None:
                digests.save(paths[1], force=True)
    seconds = time.perf_counter() - begun
    profile = reports.corpus_profile(corpus_profile, counts)
    result = {"path": output, "digest": digest, "seconds": round(seconds, 3)}
    return Outcome(
        {**result, **reports.result_of(counts, profile)},
        summary=lambda: reports.print_counts(counts, output, digest, seconds, profile),
        warnings=(reports.PRIVACY_NOTE, *reports.corpus_warnings(counts)),
    )


_NO_WEIGHTS = "leave it out: merge adds counts as they are; of texts, --mix of slmtok train weights domains"


@command("merge", example="slmtok merge part-*.counts -o all.counts",
         habits=dict.fromkeys(("--weight", "--weights", "--mix", "--ratio"), instead(_NO_WEIGHTS)))  # fmt: skip
@argument("files", metavar="COUNTS...", nargs=-1, required=True, help="Counts files, folders or globs of them.")
@option("--min-count", metavar="N", type=INTEGER, default=1,
        help="Leave out pretokens that occur less often in all files together; the file records it.")  # fmt: skip
@option("--allow-duplicate", is_flag=True, help="Count the same file, or the same part of a corpus, again.")
@output_options(default="all.counts")
def merge(files: tuple[str, ...], min_count: int, allow_duplicate: bool, output: str, force: bool) -> Outcome:
    """Merge counts files, such as those of many machines; the order does not matter."""
    from slmtok.corpus import expand
    from slmtok.training import merge_counts
    from slmtok.training.overlap import overlap

    begun = time.perf_counter()
    check_is_file(output)
    listed = {name: expand(name) for name in files}
    # Other files of a folder are not meant.
    counts = {name: [file for file in held if kind_of_file(file) == COUNTS] for name, held in listed.items()}
    found = [file for name in files for file in (counts[name] if _is_folder(name) else listed[name])]
    _refuse_tokenizers(found)
    _refuse_digests(files)
    if texts := [name for name in files if not counts[name]]:
        _refuse_texts(texts, listed)
    if output in found and not allow_duplicate:
        _refuse_repeated(found)
    _refuse_output(found, output)
    check_content(output, COUNTS_FILE)
    shared = overlap(found)
    if shared.inside is not None and not allow_duplicate:
        part, other = shared.inside
        raise OptionError(
            f"all documents of {part} are in {other} too",
            where=f"{part}.digests",
            limit="each part of a corpus once",
            fix="leave one of them out, or --allow-duplicate to count its documents again",
            option="allow_duplicate",
        )
    try:
        merged = merge_counts(found, output, min_count=min_count, allow_duplicate=allow_duplicate, force=force)
    except OptionError as error:
        if error.fields.get("option") == "allow_duplicate":
            error.fix = _without_duplicates(found, files)
        raise
    seconds = time.perf_counter() - begun
    warnings: tuple[str, ...] = () if merged.head.min_count > 1 else (reports.PRIVACY_NOTE,)
    if shared.shared:
        documents = counted(shared.shared, "different document")
        warnings += (f"{documents} in more than one of the {shared.parts} parts with digests: counted in each",)
    warnings += tuple(f"{name}.digests is of other counts than {name}, and was not used" for name in shared.strange)
    return Outcome(
        {**merged.to_dict(), "seconds": round(seconds, 3)},
        summary=lambda: reports.print_merged(merged, seconds),
        warnings=warnings,
    )


def _is_text(file: str) -> bool:
    """Whether a file holds text or records, by its content or its name; a damaged counts file does not."""
    return is_corpus_name(file) or (is_text_file(file) and not file.endswith(".counts"))


def _is_folder(name: str) -> bool:
    return os.path.isdir(name)  # noqa: PTH112  (false for names that no system takes)


def _refuse_texts(names: Sequence[str], listed: Mapping[str, Sequence[str]]) -> None:
    """Raises `OptionError` for texts, packed data, and folders without counts; `listed` are the files of each argument.

    The fix counts each text once, that of packed data included: packed data may be of a text that is named too.
    """
    sources = {name: _texts_of(name, listed[name]) for name in names}
    words = arguments_of_command()
    is_alone = len(sources) == len(listed) and not any(word.startswith("--min-count") for word in words)
    for name, texts in sources.items():
        if (not texts and _is_folder(name)) or (is_packed(name) and not is_alone):
            raise _no_counts(name, texts, is_alone=is_alone)
        if not texts:
            return
    texts = _distinct(text for texts in sources.values() for text in texts)
    counted_to = free_name(f"{os.path.splitext(texts[0].rstrip(os.sep))[0]}.counts")  # noqa: PTH122
    first = words.index(names[0]) if names[0] in words else len(words)
    merged = [counted_to if at == first else word for at, word in enumerate(words) if at == first or word not in names]
    output = value_after(OUTPUT_FLAGS, words) or free_name("all.counts")
    flags, remark = _reading(texts)
    count_line = shlex.join(["slmtok", "count", *texts, *flags, "-o", output if is_alone else counted_to])
    line = count_line if is_alone else f"{count_line} && {shlex.join(['slmtok', 'merge', *merged])}"
    is_data = is_packed(names[0])
    raise OptionError(
        f"{names[0]!r} {'is packed data' if is_data else 'holds text'}, and merge adds up counts",
        where=names[0],
        limit="counts files, and folders of them",
        fix=f"{line}{remark}",
        option="files",
    )


def _reading(texts: Sequence[str]) -> tuple[list[str], str]:
    """The flags without which records of these texts are refused, and a remark for a shell; both may be empty."""
    from slmtok.corpus import expand
    from slmtok.corpus.text_keys import reading_of
    from slmtok.options import ReadOptions

    # Text that is not there, or not readable, is refused when it is counted.
    with suppress(SlmtokError, OSError):
        if found := reading_of([file for text in texts for file in expand(text)], ReadOptions()):
            setting, behind = found
            remark = render(behind, flag_naming).lstrip("; ,")
            return shlex.split(flag_naming(setting)), f" # {remark}" if remark else ""
    return [], ""


def _texts_of(name: str, files: Sequence[str]) -> list[str]:
    """What stands for the text of an argument: itself, or of packed data the files that were packed; [] without any."""
    if is_packed(name):
        return packed_texts(Path(name))
    return [name] if any(map(_is_text, files)) and not is_run(name) else []


def _distinct(texts: Iterable[str]) -> list[str]:
    """The texts, each once: the same file may have several names."""
    kept: dict[str, str] = {}
    for text in texts:
        kept.setdefault(os.path.realpath(text), text)
    return [*kept.values()]


def _no_counts(folder: str, texts: Sequence[str], *, is_alone: bool) -> OptionError:
    """The error for a folder without counts. Counts of the text of packed data may be among the others already."""
    fix, fact = "leave it out", f"the folder {folder!r} holds no counts file"
    if is_packed(folder):
        line = shlex.join(
            ["slmtok", "count", *(texts or ["CORPUS"]), "-o", free_name(f"{folder.rstrip(os.sep)}.counts")]
        )
        fix = f"{'' if is_alone else 'leave it out, or '}count the text that was packed: {line}"
    return OptionError(fact, where=folder, limit="counts files, and folders of them", fix=fix, option="files")


def _refuse_tokenizers(files: Sequence[str]) -> None:
    """Raises `OptionError` for a tokenizer among the files: the ids of two tokenizers cannot be joined."""
    given = value_after(OUTPUT_FLAGS, arguments_of_command()) or ""
    output = f"-o {shlex.quote(free_name(given if given.endswith('.json') else 'larger.json'))}"
    for file in files:
        if kind_of_file(file) == TOKENIZER:
            raise OptionError(
                f"{file} is a tokenizer, and merge adds up counts",
                where=file,
                limit="two tokenizers give one id to different tokens, and cannot be merged",
                fix=f"slmtok extend {shlex.quote(file)} CORPUS --vocab N {output} learns from more text; "
                f"slmtok train CORPUS1 CORPUS2 --vocab N {output} learns from both",
                option="files",
            )


def _refuse_digests(names: Sequence[str]) -> None:
    """Raises `OptionError` for document digests, which a glob such as `*.counts*` takes with the counts."""
    digests = [name for name in names if not _is_folder(name) and kind_of_file(name) == DIGESTS]
    if not digests:
        return
    others = [name for name in names if name not in digests] or [name.removesuffix(".digests") for name in digests]
    options = [word for word in arguments_of_command() if word not in names]
    raise OptionError(
        f"{digests[0]} is {NAMES[DIGESTS]}, and merge adds up counts",
        where=digests[0],
        limit="counts files, and folders of them; digests are read beside the counts of the same name",
        fix=shlex.join(["slmtok", "merge", *others, *options]),
        option="files",
    )


def _without_duplicates(found: Sequence[str], names: Sequence[str]) -> str:
    """The command with one of the files of each digest, in the place of all that folders and globs stand for."""
    from slmtok.training.counts import open_counts

    seen, kept = set[str](), list[str]()
    for file in found:
        opened = open_counts(file)
        leaves = {*opened.layout.leaves, *filter(None, (opened.head.corpus_digest,))}
        if opened.empty or seen.isdisjoint(leaves):
            kept.append(file)
        seen |= leaves
    options = [word for word in arguments_of_command() if word not in names]
    words = shlex.join(["slmtok", "merge", *(kept if len(kept) <= _MAX_SHOWN_PARTS else ["PARTS"]), *options])
    return f"{words}, or --allow-duplicate to count it each time"


def _refuse_repeated(files: Sequence[str]) -> None:
    """Raises `OptionError` for a file that is named twice: its counts would count twice."""
    if len(set(files)) < len(files):
        raise OptionError(
            f"{next(file for file in files if files.count(file) > 1)} is named twice",
            limit="each part of a corpus once",
            fix="leave one of them out, or --allow-duplicate to count it each time",
            option="allow_duplicate",
        )


def _refuse_output(files: Sequence[str], output: str) -> None:
    """Raises `OptionError` for an output among the files: a glob found an earlier merge, or a part is to be added."""
    if not os.path.isfile(output):  # noqa: PTH113  (false for names that no system takes)
        return
    parts = [file for file in files if not os.path.samefile(file, output)]  # noqa: PTH121
    if len(parts) == len(files):
        return
    from slmtok.training.counts import open_counts
    from slmtok.training.counts_format import check_same

    opened = {file: open_counts(file) for file in files}
    held = set(open_counts(output).layout.leaves)
    is_merge = bool(parts) and held <= {leaf for part in parts for leaf in opened[part].layout.leaves}
    # A fix with counts that cannot be merged would be refused in turn.
    merged = parts if is_merge else files
    check_same([opened[file].head for file in merged], merged)
    if is_merge:
        words = shlex.join(parts) if len(parts) <= _MAX_SHOWN_PARTS else "PARTS"
        fix = f"leave it out of the input: slmtok merge {words} -o {shlex.quote(output)} --force"
    else:
        given = [each for each in without_options(arguments_of_command(), OUTPUT_FLAGS) if each != "--force"]
        fix = shlex.join(["slmtok", "merge", *given, "-o", free_name(output)])
    raise OptionError(f"output {output!r} is also the input", where=output, fix=fix, option="output")
