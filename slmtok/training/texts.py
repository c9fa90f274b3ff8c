"""Texts in memory as a corpus: checked and encoded as UTF-8 one by one."""

from __future__ import annotations

import io
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from slmtok.calls import Expression, argument_text, call_text, explains_calls
from slmtok.checks import BYTES_LIKE, refuse_table
from slmtok.corpus import Skipped
from slmtok.corpus.selection import Selection
from slmtok.errors import InvalidText, OptionError, WrongType
from slmtok.file_content import HEAD_BYTES, content_of
from slmtok.options import Options, ReadOptions, changed_options, option_specs

if TYPE_CHECKING:
    from slmtok.training.ingest import CorpusLike

_MAX_NAMES = 8
"""Texts at the beginning of a corpus that are compared with the names of files."""
_MAX_NAME_CHARS = 1024
_MANY_TEXTS = "a list or an iterator of str or bytes"


@explains_calls
class Texts:
    """Marks an iterable as the documents themselves (each `str` or `bytes`), where a list would mean paths."""

    def __init__(self, texts: Iterable[str | bytes]) -> None:
        """Raises `WrongType` for a single text and for what is not iterable."""
        if isinstance(texts, (str, bytes, bytearray, memoryview)):
            raise WrongType("Texts takes many texts, this is one", fix="slmtok.Texts([text])")
        refuse_table(texts)
        if isinstance(texts, Mapping) or not isinstance(texts, Iterable):
            raise WrongType(
                f"Texts takes many texts, not {type(texts).__name__}", limit=_MANY_TEXTS, fix="slmtok.Texts([text])"
            )
        self.texts = texts

    def __iter__(self) -> Iterator[str | bytes]:
        return iter(self.texts)


def require_texts(corpus: object) -> Iterable[object]:
    """`corpus` as an iterable of texts. Raises `WrongType`."""
    if isinstance(corpus, (bytes, bytearray, memoryview)):
        raise WrongType(
            f"a corpus is many texts, this is one {type(corpus).__name__}", fix="slmtok.Texts([text]) for one text"
        )
    refuse_table(corpus)
    if isinstance(corpus, Mapping) or not isinstance(corpus, Iterable):
        raise WrongType(
            f"a corpus cannot be {type(corpus).__name__}",
            limit="a path, a list of paths, or an iterable of texts",
            fix="slmtok.Texts(texts)",
        )
    return corpus


def check_source(corpus: CorpusLike, options: Options, function: str) -> CorpusLike:
    """`corpus`, unless its texts are names of files or its file is binary; an iterator is replaced by an equal one.

    options, function: of the call, for the fix. Raises `WrongType`, `OptionError`.
    """
    if isinstance(corpus, (str, os.PathLike, list, tuple, Mapping, *BYTES_LIKE)) or not isinstance(corpus, Iterable):
        return corpus
    if isinstance(corpus, io.BufferedReader):
        _refuse_binary(corpus)
    refuse_table(corpus)
    texts, head = iter(corpus), []
    for text in texts:
        head.append(text)
        if len(head) == _MAX_NAMES or not _names_file(text):
            break
    if head and all(map(_names_file, head)):
        source = corpus.texts if isinstance(corpus, Texts) else corpus
        paths = argument_text(list(source), "paths") if isinstance(source, (list, tuple)) else "list(paths)"
        changed = changed_options(options, [name for name, _, _ in option_specs(type(options))])
        keywords = {name: getattr(options, name) for name in changed}
        raise WrongType(
            f"the texts are names of files that exist: {os.fspath(cast('str', head[0]))!r}",
            limit="a list of paths names files; an iterator, or Texts, gives the texts themselves",
            fix=call_text(function, [Expression(paths)], keywords),
        )
    return itertools.chain(head, texts)


def _names_file(text: object) -> bool:
    """Whether a text is the name of a file: one with a suffix or a folder, for a word may be a name by chance."""
    if isinstance(text, os.PathLike):
        return os.path.isfile(text)  # noqa: PTH113 (false for names that the system refuses)
    return (
        isinstance(text, str)
        and len(text) <= _MAX_NAME_CHARS
        and ("." in text or os.sep in text)
        and os.path.isfile(text)  # noqa: PTH113
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


_MEANT: tuple[tuple[Any, str], ...] = (
    (os.PathLike, "pass a list of paths, not an iterator"),
    (Mapping, "slmtok.Texts(record['text'] for record in records)"),
    ((list, tuple), "slmtok.Texts(text for row in rows for text in row)"),
)
"""What stands where a text belongs, and the remedy."""


def encode_texts(texts: Iterable[object]) -> Iterator[bytes]:
    """Each text as bytes. Raises `InvalidText`, `WrongType`."""
    for index, text in enumerate(texts):
        if isinstance(text, str):
            try:
                yield text.encode()
            except UnicodeEncodeError as error:
                raise InvalidText(
                    f"text {index} has a lone surrogate U+{ord(text[error.start]):04X}",
                    where=f"character {error.start} of text {index}",
                    fix="text.encode('utf-8', 'surrogatepass') or 'replace', whichever fits the data",
                    index=error.start,
                    document=index,
                ) from None
        elif isinstance(text, (bytes, bytearray, memoryview)):
            yield bytes(text)
        else:
            fix = next((fix for kind, fix in _MEANT if isinstance(text, kind)), "leave it out")
            # The scalars of pyarrow, which an array or a column of a table gives.
            fix = "slmtok.Texts(arr.to_pylist())" if hasattr(text, "as_py") else fix
            raise WrongType(f"text {index} is {type(text).__name__}, not str or bytes", fix=fix)


def select_texts(texts: Iterator[bytes], options: ReadOptions, skipped: Skipped) -> Iterator[bytes]:
    """The documents that the options select."""
    selection = Selection(options, skipped)
    for text in texts:
        kept = selection.take(text)
        if kept is not None:
            yield kept
        if selection.full:
            return
