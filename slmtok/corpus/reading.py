"""Documents of a corpus one by one: `find` lists the sources, `read` gives their documents under all options.

Records are numbered from 0 within each source before any is sampled or limited, so (source, record) always names the
same document.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial, wraps
from glob import escape
from inspect import signature
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from slmtok.callbacks import brief_parameter
from slmtok.calls import Target, argument_text, call_text, explains_calls
from slmtok.corpus.contents import (
    MAX_GLOBS,
    check_next_pipe,
    check_texts,
    counts_below,
    kind_among,
    leave_out_all,
    names_among,
    refuse_own_files,
)
from slmtok.corpus.formats import check_fields, format_of
from slmtok.corpus.globs import listed_globs, matches
from slmtok.corpus.paths import HUGGING_FACE, STDIN, domain_of, expand
from slmtok.corpus.selection import Selection, Skipped
from slmtok.corpus.streams import (
    UTF_8,
    checked_for_changes,
    compression,
    explained,
    open_head,
    open_stream,
    read_document,
)
from slmtok.corpus.unnamed_tables import records_among
from slmtok.errors import Message, MissingInput, OptionError, Setting, SlmtokError, WrongType
from slmtok.indexing import explains_indexing
from slmtok.option_values import globs_or_weight
from slmtok.options import ReadOptions, changed_options, option_keys

if TYPE_CHECKING:
    from slmtok._engine import DocumentReader
    from slmtok.corpus.text_columns import TextColumn

CHUNK_BYTES = 8 << 20
"""Size of the chunks of a file. Positions count in chunks: a change makes old pack journals unusable."""
_COMPARED_BYTES = 1 << 16
"""At the beginning of a file and of its compressed form."""


_NAME_ONCE = "name it once; two globs may hold it"
_NUMBER = re.compile(r"\d*\.?\d+(/\d+)?%?", re.ASCII)
"""A weight: 2, 0.5, 1/3."""


@explains_indexing
class CorpusDocument(NamedTuple):
    """One document: its bytes; the index of its source; its number in the source, from 0; the index of its domain."""

    text: bytes
    source: int
    record: int
    domain: int


class Sources(list[str]):
    """The sources that `find` returned, or some of them; `find` returns them unchanged."""

    chunks: tuple[int, int | None] | None = None
    """Of a single file, the range of chunks to read: the first, and the end (None: the end of the file)."""
    unused_globs: tuple[str, ...] = ()
    """Globs of `exclude` that matched no file."""
    named: frozenset[str] = frozenset()
    """The paths of the corpus as they were given: files, folders and globs."""


def _explains_options(function: Target) -> Target:
    """Decorates a function of a corpus and `ReadOptions`; one called without the options raises `WrongType`.

    Its fix opens the corpus as well: what is left out then is seldom the options alone.
    """
    explained_call, name = explains_calls(function), function.__name__

    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        if len(args) > 1 or "options" in keywords:
            return explained_call(*args, **keywords)
        parameters, known = signature(function).parameters, option_keys(ReadOptions)
        corpus = args[0] if args else keywords.get(next(iter(parameters)), "CORPUS")
        given = {each: value for each, value in keywords.items() if each in known}
        raise WrongType(
            f"{name}() lacks 'options'",
            limit=f"{name}({', '.join(map(brief_parameter, parameters.values()))})",
            fix=_call_of(name, corpus, given),
            option="options",
        )

    return cast("Target", call)


@_explains_options
def find(corpus: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], options: ReadOptions) -> Sources:
    """The sources of a corpus in order, without those that `exclude` matches. `Sources` are returned unchanged.

    Raises `MissingInput`, also where `exclude` leaves nothing, and `OptionError` for options that no source uses, a
    source that is named twice and files that are not text.
    """
    if isinstance(corpus, Sources):
        return corpus
    try:
        return _find(corpus, options)
    except (MissingInput, OptionError) as error:
        leave_out_too(error, _unreadable_beside(error, corpus, options))
        raise


def _find(corpus: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], options: ReadOptions) -> Sources:
    """As `find`, whose errors name only what is wrong first."""
    given = [corpus] if isinstance(corpus, (str, os.PathLike)) else corpus
    found = expand(given, options.exclude)
    unused = tuple(glob for glob in options.exclude if not any(matches(source, glob) for source in found))
    _refuse_listed_globs(unused)
    _refuse_weights(found, options)
    _refuse_listed_domains(found, options)
    kept = Sources(source for source in found if not is_excluded(source, options))
    if not kept:
        raise MissingInput(
            (Setting("exclude"), f" leaves none of {len(found):,} files"),
            where=f"the globs {', '.join(map(repr, options.exclude))}",
            fix="leave out the glob that matches too much",
        )
    kept.unused_globs = unused
    kept.named = frozenset(os.fspath(each) for each in given)
    _refuse_duplicates(kept, [os.fspath(each) for each in given], options)
    _refuse_compressed_twins(kept)
    _check_contents([os.fspath(each) for each in given], kept, options)
    check_named_fields(kept, options)
    return kept


def _check_contents(given: list[str], found: Sequence[str], options: ReadOptions) -> None:
    """As `refuse_own_files` and `check_texts`; globs of files that either refuses are in one error."""
    try:
        refuse_own_files(given, found, options)
    except OptionError as error:
        if globs := excluded_globs(error):
            kept = [path for path in found if not any(matches(path, glob) for glob in globs)]
            with suppress(SlmtokError):
                error.fix = leave_out_all(kept, options, globs)
        raise
    check_texts(found, options)


def excluded_globs(error: SlmtokError) -> list[str]:
    """The globs with which the fix of an error leaves files out."""
    fix = error.parts["fix"]
    parts = [part for part in fix if isinstance(part, Setting)] if isinstance(fix, tuple) else []
    values = (part.value for part in parts if part.name == "exclude")
    return [glob for value in values for glob in ([value] if isinstance(value, str) else value)]


def _unreadable_beside(
    error: SlmtokError, corpus: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], options: ReadOptions
) -> list[str]:
    """The globs of other files that the corpus is refused for, once the files that the fix of an error leaves out are
    left out; counts among text are refused by the commands.
    """
    globs = excluded_globs(error)
    if not globs or {*globs} <= {*options.exclude} or len(options.exclude) + len(globs) > MAX_GLOBS:
        return []
    try:
        rest = find(corpus, replace(options, exclude=(*options.exclude, *globs)))
    except SlmtokError as another:
        return excluded_globs(another)
    counts = counts_below(rest, rest.named)
    return ["*.counts"] if 0 < len(counts) < len(rest) else []


def leave_out_too(error: SlmtokError, more: Sequence[str]) -> None:
    """Adds globs to a fix that leaves files out; any other fix stays."""
    globs, fix = excluded_globs(error), error.parts["fix"]
    if globs and more and isinstance(fix, tuple):
        both = Setting("exclude", tuple(dict.fromkeys([*globs, *more])))
        parts = (" leave them out" if str(part).startswith(" leaves ") else part for part in fix)
        error.fix = tuple(both if isinstance(part, Setting) and part.name == "exclude" else part for part in parts)


def check_named_fields(sources: Sequence[str], options: ReadOptions, *, is_key_given: bool = False) -> None:
    """As `check_fields`, which says what the sources look like."""
    records, kind = partial(records_among, sources, options), partial(kind_among, sources, options)
    check_fields(sources, options, records, kind, is_key_given=is_key_given)


def check_given_key(corpus: object, options: ReadOptions, given: Collection[str]) -> None:
    """As `check_named_fields`, for a `text_key` that a call names; `given` are the names of its options.

    What else is wrong with the paths is raised where the corpus is read.
    """
    paths = [corpus] if isinstance(corpus, (str, os.PathLike)) else corpus if isinstance(corpus, (list, tuple)) else []
    if "text_key" in given and paths and all(isinstance(each, (str, os.PathLike)) for each in paths):
        with suppress(MissingInput):
            check_named_fields(find(paths, options), options, is_key_given=True)


def is_excluded(source: str, options: ReadOptions) -> bool:
    """Whether a glob of `exclude` matches a source."""
    return any(matches(source, glob) for glob in options.exclude)


def _refuse_listed_globs(unused: Iterable[str]) -> None:
    """Raises `OptionError` for several globs of `exclude` in one, which matches no file."""
    for glob in unused:
        parts = listed_globs(glob)
        if len(parts) > 1 and all(parts):
            raise OptionError(
                (Setting("exclude", glob), " is one glob, and matches no file"),
                limit="one glob each",
                fix=(Setting("exclude", tuple(parts)),),
                option="exclude",
            )


def _refuse_listed_domains(sources: Sequence[str], options: ReadOptions) -> None:
    """Raises `OptionError` for several domains, or several globs of one, in a glob that matches no source."""
    for domain, globs in options.domains.items():
        for glob in globs:
            parts = [part.rpartition("=") for part in listed_globs(f"{domain}={glob}")]
            if len(parts) < 2 or any(matches(source, glob) for source in sources):
                continue
            meant: dict[str, tuple[str, ...]] = {}
            name = domain
            for given, _, each in parts:
                name = given or name
                meant[name] = (*meant.get(name, ()), each)
            if any(matches(source, each) for source in sources for each in chain(*meant.values())):
                raise OptionError(
                    (Setting("domains", {domain: glob}), " has one glob, which matches no file"),
                    where=f"domain {domain!r}",
                    limit="one name and one glob each",
                    fix=(Setting("domains", meant),),
                    option="domains",
                )


def _refuse_weights(sources: Sequence[str], options: ReadOptions) -> None:
    """Raises `OptionError` for numbers as the globs of domains, unless they match a source."""
    numbers = {
        domain: glob
        for domain, globs in options.domains.items()
        for glob in globs
        if _NUMBER.fullmatch(glob) and not any(matches(source, glob) for source in sources)
    }
    for domain, glob in numbers.items():
        raise OptionError(
            (Setting("domains", {domain: glob}), " is a glob that matches no file, not a weight"),
            where=f"domain {domain!r}",
            limit="a domain is named by globs of its files; weights are an option of their own",
            fix=globs_or_weight(numbers),
            option="domains",
        )


def _refuse_duplicates(sources: Sequence[str], given: Sequence[str], options: ReadOptions) -> None:
    """Raises `OptionError` for a source that is named twice: its documents would count twice. given: the corpus."""
    seen: dict[object, str] = {}
    for source in sources:
        identity = _identity(source)
        if identity in seen:
            same = seen[identity] == source
            names = f"{source!r} is" if same else f"{seen[identity]!r} and {source!r} are one file,"
            kept = _without_repeated(given, options)
            globs = () if kept else _globs_of_repeated(sources)
            fix: Message = (Setting("exclude", globs if len(globs) > 1 else globs[0]),) if globs else _NAME_ONCE
            raise OptionError(
                f"{names} named twice in the corpus",
                limit=("each file once; ", Setting("mix"), " gives a domain more weight in training"),
                fix=f"name {', '.join(map(repr, kept))} alone" if kept else fix,
                option="corpus",
                path=source,
                corpus_once=kept,
            )
        seen[identity] = source


def _without_repeated(given: Sequence[str], options: ReadOptions) -> list[str]:
    """The paths of a corpus without those whose files are all in others; [] where a file is named twice still."""
    files = ([each for each in expand([path], options.exclude) if not is_excluded(each, options)] for path in given)
    held = [[*map(_identity, each)] for each in files]
    kept = [*range(len(given))]
    # A file is left out before the folder that holds it, and the second of two equal paths before the first.
    for at in sorted(kept, key=lambda index: (len(held[index]), -index)):
        others = [held[other] for other in kept if other != at]
        if {*held[at]} <= set().union(*others):
            kept.remove(at)
    left = [*chain(*(held[at] for at in kept))]
    return [given[at] for at in kept] if len(left) == len({*left}) else []


def _globs_of_repeated(sources: Sequence[str]) -> tuple[str, ...]:
    """The globs that leave each file of a corpus once: of links to folders, else of names; () where there are none."""
    names: dict[object, list[str]] = {}
    for source in sources:
        names.setdefault(_identity(source), []).append(source)
    # A link is left out before the file.
    repeated = [each for held in names.values() for each in sorted(held, key=_is_linked)[1:]]
    folders = [next((link for link in Path(each).parents if link.is_symlink()), None) for each in repeated]
    apart = names_among(repeated, [source for source in sources if source not in {*repeated}])
    for globs in (
        {f"{escape(link.name)}/**" if link else apart[each] for link, each in zip(folders, repeated, strict=True)},
        {*apart.values()},
    ):
        left = [source for source in sources if not any(matches(source, glob) for glob in globs)]
        if len(left) == len(names) and len(globs) <= MAX_GLOBS:
            return tuple(sorted(globs))
    return ()


def _is_linked(path: str) -> bool:
    """Whether a name is a link, or goes through one."""
    return os.path.realpath(path) != os.path.abspath(path)  # noqa: PTH100


def _refuse_compressed_twins(sources: Sequence[str]) -> None:
    """Raises `OptionError` for a file together with its compressed form: its documents would count twice."""
    named = {*sources}
    compressed = [each for each in sources if compression(each) != "plain"]
    twins = [each for each in compressed if (bare := _bare(each)) in named and _begin_alike(bare, each)]
    if not twins:
        return
    suffixes = {Path(each).suffix for each in twins}
    are_all = {each for each in compressed if Path(each).suffix in suffixes} == {*twins} and len(twins) > 1
    globs = tuple(f"*{suffix}" for suffix in sorted(suffixes)) if are_all else tuple(Path(each).name for each in twins)
    raise OptionError(
        f"{_bare(twins[0])!r} and {twins[0]!r} are one text, named twice in the corpus",
        limit="each text once: plain or compressed",
        fix=(Setting("exclude", globs if len(globs) > 1 else globs[0]),),
        option="corpus",
        path=twins[0],
    )


def _bare(path: str) -> str:
    return path.removesuffix(Path(path).suffix)


def _begin_alike(plain: str, compressed: str) -> bool:
    """Whether two files begin with the same text. Files that cannot be read are left to their reader."""
    try:
        heads = [open_head(path, _COMPARED_BYTES) for path in (plain, compressed)]
    except (OSError, SlmtokError):
        return False
    size = min(map(len, heads))
    return size > 0 and heads[0][:size] == heads[1][:size]


def _identity(source: str) -> object:
    """Equal for two names of one source: links to a file are the file."""
    if source == STDIN or source.startswith(HUGGING_FACE):
        return source
    try:
        found = os.stat(source)  # noqa: PTH116  (a corpus may have 100,000 files)
    except OSError:
        return os.path.abspath(source)  # noqa: PTH100
    return (found.st_dev, found.st_ino)


@_explains_options
def read(
    sources: Sequence[str], options: ReadOptions, skipped: Skipped | None = None, *, whole: bool = False
) -> Iterator[CorpusDocument]:
    """The documents of all sources, in order, under all options.

    `skipped` is updated on the way. `max_bytes` and `max_chars` end the corpus inside a document, between two
    characters; with `whole` at the end of the document that reaches them. Raises `MissingInput`, `Unreadable`,
    `MalformedRecord`, `MissingExtra`.
    """
    _check_list(sources, "read", options)
    skipped = Skipped() if skipped is None else skipped
    selection = Selection(options, skipped, whole)
    for index, source in enumerate(sources):
        domain = domain_of(options, source)
        for record, text in enumerate(documents([source], options, skipped)):
            kept = selection.take(text) if options.is_selective else text
            if kept is not None:
                yield CorpusDocument(kept, index, record, domain)
            if selection.full:
                return


def _check_list(sources: object, function: str, options: ReadOptions) -> None:
    """Raises `WrongType` for one path, whose characters would be the sources."""
    if isinstance(sources, (str, bytes, os.PathLike)):
        given = {name: getattr(options, name) for name in changed_options(options, option_keys(ReadOptions))}
        raise WrongType(
            f"{function} takes the list of sources that find gives, not one {type(sources).__name__}",
            fix=_call_of(function, sources, given, type(options).__name__),
        )


def _call_of(function: str, corpus: object, given: Mapping[str, Any], kind: str = "ReadOptions") -> str:
    """The call of a function of sources, with `find` for the sources, under options."""
    # A path is written whole, however long it is.
    shown = repr(os.fspath(corpus)) if isinstance(corpus, (str, bytes, os.PathLike)) else argument_text(corpus)
    call = f"find({shown}, options)"
    call = call if function == "find" else f"{function}({call}, options)"
    imported = ", ".join(sorted({"find", function}))
    imports = f"from slmtok.corpus import {imported}; from slmtok.options import {kind}"
    return f"{imports}; options = {call_text(kind, (), given)}; {call}"


@_explains_options
def documents(paths: Iterable[str], options: ReadOptions, skipped: Skipped | None = None) -> Iterator[bytes]:
    """All documents of all files in order, before sampling, truncation and limits, which `read` applies.

    Raises `MissingInput`, `Unreadable`, `MalformedRecord`.
    """
    _check_list(paths, "documents", options)
    skipped = Skipped() if skipped is None else skipped
    for path in paths:
        entry = format_of(path, options)
        with checked_for_changes(path):
            if entry.rows is not None:
                yield from entry.rows(path, options, skipped)
            elif entry.is_whole:
                yield read_document(path, options)
            else:
                with explained(path):
                    yield from _texts(open_reader(path, options), skipped)


def parts(path: str, options: ReadOptions, skipped: Skipped) -> Iterator[bytes | TextColumn]:
    """As `documents` of one file, as columns of text where the format reads them.

    `skipped` does not count what a column skips.
    """
    columns = format_of(path, options).columns
    if columns is None:
        yield from documents([path], options, skipped)
        return
    with checked_for_changes(path):
        yield from columns(path, options, skipped)


def _texts(reader: DocumentReader, skipped: Skipped) -> Iterator[bytes]:
    """The documents of all batches, with malformed records counted and raised in their place."""
    for batch in reader:
        skips = batch.skips
        counted = 0
        for index in range(len(batch)):
            while counted < len(skips) and skips[counted] <= index:
                counted += 1
                skipped.records += 1
            yield batch[index]
        skipped.records += len(skips) - counted
        if batch.error is not None:
            raise batch.error


def open_reader(
    source: str,
    options: ReadOptions,
    *,
    chunk_bytes: int = CHUNK_BYTES,
    first_chunk: int = 0,
    start: tuple[int, int, int, int] | None = None,
) -> DocumentReader:
    """The engine's reader of one source whose format has an `engine`.

    It begins with chunk `first_chunk`; `start` says where that begins, as an earlier reader reported it. Raises
    `MissingInput`, `Unreadable`, `MalformedRecord` for a header.
    """
    from slmtok._engine import DocumentReader

    entry = format_of(source, options)
    assert entry.engine is not None
    check_next_pipe(source, options)
    with explained(source):
        opened: Any = source
        if options.encoding != UTF_8 or source == STDIN or not Path(source).is_file():
            # `read1` returns what is available, where `read` would wait for more.
            opened = open_stream(source, options.encoding).read1
        # Without a key the fallback parser gets every record.
        has_key = entry.engine == "jsonl" and options.text_template is None
        key = options.text_key.encode("utf-8", "surrogatepass") if has_key else None
        return DocumentReader(
            opened,
            entry.engine,
            terminator=entry.terminator,
            key=key,
            fallback=None if entry.parser is None else entry.parser(source, options),
            compression=compression(source) if options.encoding == UTF_8 else "plain",
            chunk_bytes=chunk_bytes,
            first_chunk=first_chunk,
            start=start,
            max_doc_bytes=options.max_doc_bytes,
            name=source,
        )
