"""Texts in memory as a corpus: checked and encoded as UTF-8 one by one."""

from __future__ import annotations

import functools
import inspect
import io
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from slmtok.callbacks import ends_forked_child
from slmtok.calls import Expression, argument_text, call_text, explains_calls, warn_caller
from slmtok.checks import PRESENT_TEXTS, are_ids, is_missing, refuse_table, texts_of_one, type_shown
from slmtok.corpus import Skipped
from slmtok.corpus.contents import begins_with_record
from slmtok.corpus.formats import FORMATS
from slmtok.corpus.paths import MAX_SHOWN
from slmtok.corpus.selection import Selection
from slmtok.corpus.streams import bare_suffix
from slmtok.errors import OptionError, Setting, SlmtokError, WrongType
from slmtok.file_content import HEAD_BYTES, content_of
from slmtok.options import Options, ReadOptions, changed_options, option_specs
from slmtok.path_arguments import MAX_NAMES, free_name, glob_matches, is_file_name
from slmtok.record_texts import is_counted, texts_in, texts_of_rows
from slmtok.surrogates import invalid_text

if TYPE_CHECKING:
    from slmtok.training.ingest import CorpusLike

_MANY_TEXTS = "a list or an iterator of str or bytes"


@explains_calls
class Texts:
    """Marks an iterable as the documents themselves (each `str` or `bytes`), where a list would mean paths."""

    def __init__(self, texts: Iterable[str | bytes]) -> None:
        """Raises `WrongType` for a single text and for what is not iterable."""
        if isinstance(texts, (str, bytes, bytearray, memoryview)):
            names_file = isinstance(texts, str) and os.path.isfile(texts)  # noqa: PTH113  (false for any text)
            many = f"slmtok.Texts({texts_of_one(texts)})"
            is_glob = isinstance(texts, str) and len(texts) <= MAX_SHOWN and bool(glob_matches(texts))
            what = "the name of a file" if names_file else "a glob of files"
            fix = f"{texts!r} without Texts: it is {what}" if names_file or is_glob else many
            raise WrongType("Texts takes many texts, this is one", fix=fix)
        refuse_table(texts)
        if error := _function_error("Texts takes many texts", texts):
            raise error
        if isinstance(texts, Mapping) or not isinstance(texts, Iterable):
            fix = f"slmtok.Texts({texts_in(texts, brackets=True) or '[text]'})"
            raise WrongType(f"Texts takes many texts, not {type(texts).__name__}", limit=_MANY_TEXTS, fix=fix)
        self.texts = texts

    def __iter__(self) -> Iterator[str | bytes]:
        return _in_this_process(self.texts)


def _in_this_process(texts: Iterable[Any]) -> Iterator[Any]:
    """The texts; a process that their generator forks ends where it gives one, or has no more."""
    if isinstance(texts, (list, tuple)):
        yield from texts
        return
    end = object()
    following = ends_forked_child(functools.partial(next, iter(texts), end))
    while (text := following()) is not end:
        yield text


def _function_error(wanted: str, value: object) -> WrongType | None:
    """The error for a function where its result is meant, such as that of a generator; None for other values."""
    if not inspect.isroutine(value):
        return None
    call = _call_of(value)
    name = call[: call.index("(")]
    if getattr(value, "__name__", "") != name:
        return WrongType(f"{wanted}, this is a function", limit=_MANY_TEXTS, fix="call it, and give what it returns")
    return WrongType(f"{wanted}, this is the function {name!r}", limit=_MANY_TEXTS, fix=call)


def _call_of(function: object) -> str:
    """The call of a function: `gen()`, and `gen(...)` where it has arguments of its own."""
    name = getattr(function, "__name__", "")
    try:
        parameters = inspect.signature(cast("Callable[..., object]", function)).parameters.values()
    except (TypeError, ValueError):
        parameters = {}.values()
    takes = any(each.default is each.empty and each.kind <= each.POSITIONAL_OR_KEYWORD for each in parameters)
    return f"{name if name.isidentifier() else 'function'}({'...' * takes})"


def require_texts(corpus: object) -> Iterable[object]:
    """`corpus` as an iterable of texts. Raises `WrongType`."""
    if isinstance(corpus, (bytes, bytearray, memoryview)):
        raise WrongType(
            f"a corpus is many texts, this is one {type(corpus).__name__}",
            fix=f"slmtok.Texts({texts_of_one(corpus)}) for one text",
        )
    refuse_table(corpus)
    if error := _function_error("a corpus is many texts", corpus):
        raise error
    if isinstance(corpus, Mapping) or not isinstance(corpus, Iterable):
        raise WrongType(
            f"a corpus cannot be {type(corpus).__name__}",
            limit="a path, a list of paths, or an iterable of texts",
            fix="slmtok.Texts(texts), or the path of a file; slmtok.slice and slmtok.extend change the size of tok"
            if type(corpus).__name__ == "Tokenizer"
            else f"slmtok.Texts({texts_in(corpus) or 'texts'})",
        )
    return corpus


def check_source(corpus: CorpusLike, options: Options, function: str) -> CorpusLike:
    """`corpus`, unless its texts are records or names of files, or its file is binary.

    An iterator is replaced by an equal one. options, function: of the call, for the fix. Raises `WrongType`,
    `OptionError`.
    """
    if isinstance(corpus, (list, tuple)) and corpus and isinstance(corpus[0], (Mapping, list, tuple)):
        raise _no_text(corpus[0], 0, _texts_of_records(corpus, corpus[0], options, function))
    if isinstance(corpus, (list, tuple)):
        _refuse_counts(corpus, options, function)
    if isinstance(corpus, (str, os.PathLike, list, tuple)):
        return corpus
    if isinstance(corpus, io.BufferedReader):
        _refuse_binary(corpus)
    source = corpus.texts if isinstance(corpus, Texts) else corpus
    texts, head = _in_this_process(require_texts(source)), []
    file = getattr(corpus, "name", None) if isinstance(corpus, io.IOBase) else None
    for text in texts:
        head.append(text)
        if isinstance(text, Mapping):
            texts_of = _texts_of_records(source, text, options, function)
            raise _read_anew(_no_text(text, len(head) - 1, texts_of), source, len(head) - 1)
        if not isinstance(text, (str, bytes, bytearray, memoryview, os.PathLike)):
            raise _read_anew(_no_text(text, len(head) - 1), source, len(head) - 1)
        if isinstance(file, str):
            _refuse_record(text, file, options, function)
        if len(head) == MAX_NAMES or not is_file_name(text):
            break
    if isinstance(file, str) and getattr(options, "document", "line") != "line":
        warn_caller(
            f"each line of the open file {file!r} is a document; {function}({file!r}, ...) reads it as one, and "
            "slmtok.Texts(file) takes its lines without this warning"
        )
    if head and all(map(is_file_name, head)):
        paths = argument_text(list(source), "paths") if isinstance(source, (list, tuple)) else "list(paths)"
        keywords = _changed(options)
        raise WrongType(
            f"the texts are names of files that exist: {os.fspath(cast('str', head[0]))!r}",
            limit="a list of paths names files; an iterator, or Texts, gives the texts themselves",
            fix=call_text(function, [Expression(paths)], keywords),
        )
    if isinstance(options, ReadOptions):
        _refuse_of_files(options, are_lines=file is not None)
    return cast("CorpusLike", itertools.chain(head, texts))


_FIELDS = ("text_key", "text_template")
"""Options that name fields of records in files."""
_OF_FILES = (*_FIELDS, "format", "encoding", "document", "exclude", "skip_malformed")
"""Options that say how files are read."""


def _changed(options: Options) -> dict[str, object]:
    """The options that are not defaults."""
    names = changed_options(options, [name for name, _, _ in option_specs(type(options))])
    return {name: getattr(options, name) for name in names}


def _texts_of_records(records: object, first: object, options: Options, function: str) -> str | None:
    """The texts of records, with the field or the template of the options; without these in the call. None: no text."""
    changed = _changed(options)
    key, template = changed.get("text_key"), changed.get("text_template")
    held = texts_in(records, first={key: first[key]} if isinstance(first, Mapping) and key in first else first)
    if isinstance(template, str) and "|" not in template:
        variable = "ds" if hasattr(records, "column_names") else "rows"
        held = f"{template!r}.format_map(row) for row in {variable}"
    if held is None:
        return None
    keywords = {name: value for name, value in changed.items() if name not in _FIELDS}
    texts = f"slmtok.Texts({held})"
    return texts if len(keywords) == len(changed) else call_text(function, [Expression(texts)], keywords)


def _refuse_of_files(options: ReadOptions, *, are_lines: bool) -> None:
    """Raises `OptionError` for an option of files, which has no effect on texts in memory.

    are_lines: whether the texts are the lines of an open file, each of which is a document.
    """
    changed = changed_options(options, _OF_FILES)
    given = [name for name in _OF_FILES if name in changed and not (name == "document" and are_lines)]
    if not given:
        return
    of_fields = given[0] in _FIELDS
    says = "names a field of files" if of_fields else "says how files are read"
    lines = "slmtok.Texts(line for text in texts for line in text.split('\\n')), or leave "
    raise OptionError(
        (Setting(given[0], getattr(options, given[0])), f" {says}, and these are texts in memory"),
        limit="jsonl, json, tsv, csv and parquet have fields" if of_fields else None,
        fix=(lines if given == ["document"] else "leave ", Setting(" and ".join(given)), " out"),
        option=given[0],
    )


def _refuse_counts(corpus: Sequence[object], options: Options, function: str) -> None:
    """Raises `WrongType` for counts in a list; the fix adds them up."""
    # `slmtok.training.counts` imports this module.
    if not corpus or not all(type(each).__name__ == "PretokenCounts" for each in corpus):
        return
    names = [free_name(f"{index}.counts") for index in range(len(corpus))]
    saved = "".join(f"counts[{index}].save({name!r}), " for index, name in enumerate(names))
    held = Expression(f"slmtok.PretokenCounts.load({', '.join(map(repr, names))})")
    if len(corpus) == 1:
        saved, held = "", Expression("counts[0]")
    raise WrongType(
        f"the corpus is a list of {len(corpus)} PretokenCounts, not of paths",
        limit="counts is the list that you gave",
        fix=saved + (call_text(function, [held], _changed(options)) if function == "slmtok.train" else held),
    )


def _refuse_binary(file: io.BufferedReader) -> None:
    """Raises `OptionError` for a file that was opened and is not text."""
    try:
        content = content_of(file.peek(HEAD_BYTES)[:HEAD_BYTES])
    except (OSError, ValueError):
        return
    if content is not None:
        name = repr(file.name) if isinstance(file.name, (str, bytes)) else "the file"
        raise OptionError(
            f"{name} is {content.name}, not text", where="the corpus", fix="name the text", option="corpus"
        )


def _refuse_record(line: object, file: str, options: Options, function: str) -> None:
    """Raises `WrongType` for a line of an open file that is a JSON record, whose JSON would be the text."""
    data = line.encode("utf-8", "replace") if isinstance(line, str) else line
    if isinstance(data, bytes) and begins_with_record(data):
        is_named = bare_suffix(file) in FORMATS["jsonl"].suffixes
        # A record is a document.
        changed = {name: value for name, value in _changed(options).items() if name != "document"}
        keywords = {**({} if is_named else {"format": "jsonl"}), **changed}
        raise WrongType(
            f"the lines of the open file {file!r} are JSON records, not texts",
            limit="the name of a file reads the text of its records; slmtok.Texts(file) takes its lines as they are",
            fix=call_text(function, [file], keywords),
        )


def _no_text(text: object, index: int, texts: str | None = None) -> WrongType:
    """The error for what stands where a text belongs; `texts` is a call with the texts that are meant."""
    if texts is not None:
        fix = texts
    elif held := texts_in((), first=text):
        fix = f"slmtok.Texts({held})"
    elif hasattr(text, "as_py"):
        # The scalars of pyarrow, which an array or a column of a table gives.
        fix = "slmtok.Texts(arr.to_pylist())"
    elif isinstance(text, Mapping):
        fix = f"give texts; no field of the record is one: {', '.join(map(str, text)) or 'it has none'}"
    elif isinstance(text, os.PathLike):
        fix = "pass a list of paths, not an iterator"
    elif are_ids(text):
        fix = "slmtok.Texts(tok.decode_batch(ids))"
    elif hasattr(text, "tolist") and (rows := texts_of_rows(text)):
        fix = f"slmtok.Texts({rows})"
    elif type(text.tolist() if hasattr(text, "tolist") else text) is int:
        fix = "slmtok.Texts([tok.decode(ids)]) for the text of ids, or str(it) for its digits"
    elif inspect.isgeneratorfunction(text):
        fix = f"slmtok.Texts({_call_of(text)})"
    elif is_counted(text):
        fix = "slmtok.Texts(text for text, n in rows for _ in range(n))"
    elif isinstance(text, (list, tuple)):
        fix = f"slmtok.Texts({texts_of_rows(text) or 'text for row in rows for text in row'})"
    elif getattr(text, "ndim", 0):
        fix = "give texts: the array holds none"
    else:
        fix = f"slmtok.Texts({PRESENT_TEXTS})" if is_missing(text) else "leave it out, or str(it)"
    return WrongType(f"text {index} is {type_shown(text)}, not str or bytes", fix=fix)


@contextmanager
def explains_iterators(corpus: object) -> Iterator[None]:
    """Says in an error that the iterator of the corpus is read: a call of the fix with it would miss what was read."""
    source = corpus.texts if isinstance(corpus, Texts) else corpus
    try:
        yield
    except SlmtokError as error:
        is_read = isinstance(source, Iterator) and not isinstance(source, io.IOBase)
        if inspect.isgenerator(source):
            is_read = inspect.getgeneratorstate(source) != inspect.GEN_CREATED
        if is_read and "iterator" not in str(error):
            place = f"{error.where}; " if error.where else ""
            error.where = f"{place}the corpus is an iterator, which is read by now: make it anew for the next call"
        raise


def _read_anew(error: WrongType, source: object, index: int) -> WrongType:
    """The error; its place is an iterator that was read so far, if it is one: the fix would miss what was read."""
    if isinstance(source, Iterator):
        error.where = f"an iterator, read up to text {index} by now: make it anew for the fix"
    return error


def encode_texts(texts: Iterable[object]) -> Iterator[bytes]:
    """Each text as bytes. Raises `InvalidText`, `WrongType`."""
    for index, text in enumerate(texts):
        if isinstance(text, str):
            try:
                yield text.encode()
            except UnicodeEncodeError as error:
                where = f"character {error.start} of text {index}"
                raise invalid_text(text, index, error.start, f"text {index}", where) from None
        elif isinstance(text, (bytes, bytearray, memoryview)):
            yield bytes(text)
        else:
            raise _no_text(text, index)


def select_texts(texts: Iterator[bytes], options: ReadOptions, skipped: Skipped) -> Iterator[bytes]:
    """The documents that the options select."""
    selection = Selection(options, skipped)
    for text in texts:
        kept = selection.take(text)
        if kept is not None:
            yield kept
        if selection.full:
            return
