"""Files of ids as `slmtok encode` writes them: lines, numpy arrays or raw arrays, with the offsets beside an array.

Lines are read in bounded blocks, so that a line of any length costs the memory of its ids and no list of words. A word
is an id, or `id:start:end` as `slmtok encode --offsets` writes it: ASCII digits, start <= end. A block of such words is
parsed by numpy at once; any other block word by word, to name the wrong one.
"""

from __future__ import annotations

import io
import json
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from slmtok import atomic
from slmtok.checks import U32
from slmtok.corpus import STDIN, expand
from slmtok.corpus.streams import open_bytes
from slmtok.errors import CorruptFile, DocumentTooLarge, MalformedRecord, MissingInput, OptionError, Setting, UnknownId
from slmtok.file_content import BINARY, CHECKPOINT, HEAD_BYTES, content_of
from slmtok.files import NPY_MAGIC, load_npy, missing_input, read_at_most, read_file
from slmtok.id_arrays import ID_MAP_SUFFIX, OFFSETS_SUFFIX, UNKNOWN_ID_FIX, join_ids, write_npy
from slmtok.path_arguments import free_name, glob_matches

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.aliases import Ids

BLOCK_BYTES = 1 << 18
_MAX_WORD_BYTES = 2 * BLOCK_BYTES
"""Longer runs without white space are not ids; they are cut rather than collected."""
MAX_DOCUMENT_IDS = 1 << 28
"""Of a line, and of an array on stdin, which may not end: about those of the longest text that is encoded, 1 GiB."""
_DIGITS = b"0123456789"
_NUMBER_OF_64_BITS = re.compile(rb"[0-9]{19}")
"""A number that may not fit into 64 bits."""
_WORD = re.compile(rb"([0-9]{1,99})(?::([0-9]{1,99}):([0-9]{1,99}))?")
_SEPARATED = re.compile(rb"[(),;]*[0-9]{1,19}(?:[(),;][0-9]{0,19})*")
"""A word of ids that commas, semicolons or the parentheses of a tuple separate."""
_GROUPED = re.compile(rb"[0-9]{1,3},[0-9]{3}")
"""A word that may also be one id with its digits in groups: no vocabulary has a million ids and more."""
_WHOLE = re.compile(rb"[0-9]\.[0-9]+e\+[0-9]{2}|[0-9]+\.0*")
"""A whole number as np.savetxt and float() write it."""
_PRINTED = re.compile(rb"(tensor|array)\(\[")
_NARROW, _WIDE, _LONG = 2, 4, 8
"""Bytes of a raw id."""
_MAX_I64 = (1 << 63) - 1
_FORMAT_OF_SUFFIX = {".npy": "npy", ".bin": "bin"}


class IdRow(NamedTuple):
    """The ids of one document, and its place for error messages."""

    ids: Any
    where: str
    n_rows: int = 1
    """Rows of an array of two dimensions that are joined in it."""


def read_ids(source: str, input_format: str = "auto", *, itemsize: int = 2, by_row: bool = False) -> Iterator[IdRow]:
    """The documents of a file, or of stdin (`-`).

    input_format: "ids" (lines), "npy", "bin" (little-endian), "auto" (by the name). itemsize: bytes of a raw id.
    by_row: each row of an array of two dimensions is a document; else they are joined, as they may cut a text anywhere.
    Raises `MissingInput`, `MalformedRecord`, `CorruptFile`.
    """
    if source != STDIN and not Path(source).is_file():
        if glob_matches(source):
            raise missing_input(source)
        expand(source)
        raise MissingInput(
            f"{source!r} is not a file",
            fix="name a file in it" if Path(source).is_dir() else f"slmtok decode - < {source} reads a pipe",
            path=source,
        )
    if input_format == "auto":
        input_format = format_of(source)
    elif input_format != "npy" and source != STDIN and read_file(source, len(NPY_MAGIC)) == NPY_MAGIC:
        raise OptionError(
            (f"{source} is a numpy array, not what ", Setting("input_format", input_format), " names"),
            where=source,
            fix=(Setting("input_format", "npy"),),
            option="input_format",
            path=source,
        )
    if input_format == "ids":
        return _read_lines(source)
    array = _read_array(source, input_format, itemsize)
    if array.ndim == 1 or has_offsets(source):
        return _split_documents(source, array.reshape(-1))
    if by_row:
        return (IdRow(ids, f"{_name(source)}, row {number:,}") for number, ids in enumerate(array, 1))
    return iter([IdRow(array.reshape(-1), _name(source), len(array))])


def format_of(source: str) -> str:
    """The format of a file of ids by its name: "ids", "npy" or "bin"."""
    return _FORMAT_OF_SUFFIX.get(Path(source).suffix.lower(), "ids")


def has_offsets(source: str) -> bool:
    """Whether document offsets lie beside a file of ids, as `slmtok encode` writes them."""
    return source != STDIN and Path(source + OFFSETS_SUFFIX).is_file()


class Companion(NamedTuple):
    """What an array beside a file of ids or a tokenizer is, and what to name instead."""

    name: str
    fix: str


def companion_of(source: str) -> Companion | None:
    """What a file beside another one is, by its name and that of the other; None for any other file."""
    if source.endswith(OFFSETS_SUFFIX) and Path(ids := source.removesuffix(OFFSETS_SUFFIX)).is_file():
        return Companion(f"the document offsets of {ids}", f"name the ids: {ids}")
    if source.endswith(ID_MAP_SUFFIX) and Path(tokenizer := source.removesuffix(ID_MAP_SUFFIX)).is_file():
        return Companion(f"the map from old to new ids of {tokenizer}", "name a file of ids, or packed data")
    return None


def _read_lines(source: str) -> Iterator[IdRow]:
    name = _name(source)
    if source != STDIN and content_of(read_file(source, HEAD_BYTES)) is CHECKPOINT:
        loaded = f"torch.load({json.dumps(source, ensure_ascii=False)}, weights_only=True)"
        written = f"np.save({json.dumps(free_name('ids.npy'))}, {loaded}.numpy())"
        raise MalformedRecord(
            f"this is {CHECKPOINT.name}, not lines of ids",
            where=name,
            limit="lines of ids, .npy or .bin; a file with one tensor of ids is written as .npy",
            fix=f"python -c {shlex.quote(f'import numpy as np, torch; {written}')}",
        )
    with open_bytes(source) as stream:
        for number, ids in parse_lines(stream, name):
            yield IdRow(ids, f"{name}, line {number:,}")


def _read_array(source: str, input_format: str, itemsize: int) -> NDArray[Any]:
    try:
        with open_bytes(source) as stream:
            content = stream if source != STDIN else io.BytesIO(_read_stdin(stream))
            array = _raw_array(source, content.read(), itemsize) if input_format == "bin" else load_npy(content)
    except (OptionError, DocumentTooLarge):
        raise
    except ValueError as error:
        # The format is known by the name or the option, and no other one reads raw ids.
        cut = "check the path; if it is a copy, copy it again"
        is_raw = input_format == "bin" and source != STDIN
        raise CorruptFile(
            f"{_name(source)} is not an array of ids: {error}",
            where=_name(source),
            fix=cut if is_raw else (Setting("input_format"), " ids, npy or bin names the format"),
            path=source,
        ) from None
    if array.ndim not in (1, 2) or array.dtype.kind not in "iu":
        raise CorruptFile(
            f"{_name(source)} holds {array.dtype} of shape {array.shape}, not ids",
            limit="integers in one or two dimensions",
            fix=_as_integers(source, array) or "name a file that slmtok encode --output-format npy wrote",
            path=source,
        )
    return array


def _as_integers(source: str, array: NDArray[Any]) -> str | None:
    """The command that writes ids which are stored as floating-point numbers as integers; None for other arrays."""
    is_file = source != STDIN and Path(source).is_file()
    # No text encodes to id 0.
    if not is_file or array.dtype.kind != "f" or array.ndim not in (1, 2) or not array.any():
        return None
    if not ((array >= 0) & (array < 1 << 32) & (array % 1 == 0)).all():
        return None
    written = f'np.save({json.dumps(free_name("ids-int64.npy"))}, np.load({json.dumps(source)}).astype("int64"))'
    return f"python -c {shlex.quote(f'import numpy as np; {written}')}"


def _read_stdin(stream: BinaryIO) -> bytes:
    """An array on stdin. Raises `DocumentTooLarge` for one that may not end."""
    limit = MAX_DOCUMENT_IDS * _WIDE
    data = read_at_most(stream, limit + 1)
    if len(data) > limit:
        raise DocumentTooLarge(
            f"an array has more than {limit:,} bytes",
            where="stdin",
            limit="arrays that are not files",
            fix="write it to a file, and name that: slmtok decode FILE",
            bytes=limit,
        )
    return data


def _raw_array(source: str, data: bytes, itemsize: int) -> NDArray[Any]:
    """Raw ids of `itemsize` bytes. Raises `OptionError` for ids of another width, `ValueError` for no whole number."""
    import numpy as np

    n_ids = _n_ids_by_offsets(source)
    width = len(data) // n_ids if n_ids and len(data) % n_ids == 0 else None
    if width is None and len(data) % _LONG == 0 and any(data):
        # Integers of numpy: their upper halves are zeros.
        width = None if np.frombuffer(data, "<u4")[1::2].any() else _LONG
    if width is None and len(data) % itemsize and len(data) % _NARROW == 0:
        width = _NARROW
    array = np.frombuffer(data, f"<u{itemsize}") if len(data) % itemsize == 0 else None
    # The upper halves of wide ids: no text encodes to id 0.
    if width is None and array is not None and itemsize == _NARROW and len(array) > 1 and len(array) % 2 == 0:
        width = itemsize if array[1::2].any() or not array.any() else _WIDE
    if width in (_NARROW, _WIDE, _LONG) and width != itemsize:
        target = free_name(f"ids-u{itemsize}.bin")
        other = "" if width == _LONG else f"{UNKNOWN_ID_FIX}; or "
        read = f"np.fromfile({json.dumps(source)}, {json.dumps(f'<u{width}')})"
        written = f"astype({json.dumps(f'<u{itemsize}')}).tofile({json.dumps(target)})"
        raise OptionError(
            f"{_name(source)} holds ids of {width} bytes, and those of the tokenizer have {itemsize}",
            where=_name(source),
            limit=f"{_NARROW} bytes in a tokenizer of up to 65,536 ids, {_WIDE} in a larger one",
            fix=f"{other}python -c {shlex.quote(f'import numpy as np; {read}.{written}')}",
            option="tokenizer",
        )
    if array is None:
        raise ValueError(f"its size is not a multiple of {itemsize} bytes")
    return array


def _n_ids_by_offsets(source: str) -> int | None:
    """The number of ids that the offsets beside a file count; None without sound ones."""
    if not has_offsets(source):
        return None
    try:
        with Path(source + OFFSETS_SUFFIX).open("rb") as file:
            offsets = load_npy(file)
    except (OSError, ValueError):
        return None
    return int(offsets[-1]) if offsets.ndim == 1 and len(offsets) and offsets.dtype.kind in "iu" else None


def _split_documents(source: str, ids: NDArray[Any]) -> Iterator[IdRow]:
    import numpy as np

    beside = Path(source + OFFSETS_SUFFIX)
    if not has_offsets(source):
        yield IdRow(ids, _name(source))
        return
    try:
        with beside.open("rb") as file:
            offsets = load_npy(file)
    except ValueError:
        offsets = np.empty(0, np.int64)
    if (
        offsets.ndim != 1
        or offsets.dtype.kind not in "iu"
        or not len(offsets)
        or offsets[0] != 0
        or offsets[-1] != len(ids)
        or (offsets[1:] < offsets[:-1]).any()
    ):
        raise CorruptFile(
            f"{beside} does not fit {source}, which has {len(ids):,} ids",
            where=str(beside),
            fix="encode again, or move the offsets away to decode all ids as one document",
            path=str(beside),
        )
    for number, (start, stop) in enumerate(pairwise(offsets.tolist()), 1):
        yield IdRow(ids[start:stop], f"{source}, document {number:,}")


def _name(source: str) -> str:
    return "stdin" if source == STDIN else source


def write_ids(target: str, rows: Sequence[Ids], dtype: np.dtype[Any], *, has_header: bool, force: bool = False) -> None:
    """Writes one array of all rows, little-endian; beside a file the offsets: int64, one more than rows.

    has_header: as .npy, else raw. Raises `OutputExists`, `DiskFull`, `Unreadable`.
    """
    import numpy as np

    ids = join_ids(rows, dtype.newbyteorder("<"))

    def write(stream: BinaryIO) -> None:
        if has_header:
            write_npy(stream, ids)
        else:
            stream.write(ids.data)

    if target == STDIN:
        write(sys.stdout.buffer)
        return
    with atomic.outputs(target, target + OFFSETS_SUFFIX, force=force) as (ids_path, offsets_path):
        with ids_path.open("wb") as file:
            write(file)
        with offsets_path.open("wb") as file:
            write_npy(file, np.cumsum([0, *map(len, rows)], dtype="<i8"))


# Lines of ids.


def parse_lines(stream: BinaryIO, name: str) -> Iterator[tuple[int, NDArray[Any]]]:
    """(line number from 1, its ids) of each line. Raises `MalformedRecord`, `UnknownId`."""
    block = stream.read(BLOCK_BYTES)
    head = block[:HEAD_BYTES]
    line = _Line(name, 1, head)
    is_open = is_last = False
    incomplete_word = b""
    while not is_last:
        # A terminal would wait for a second end behind a short block.
        is_last = len(block) < BLOCK_BYTES
        *ended, rest = (incomplete_word + block).split(b"\n")
        for text in ended:
            line.add(text)
            yield line.number, line.ids()
            line = _Line(name, line.number + 1, head)
            is_open = False
        complete = _complete_words(rest) if len(rest) < _MAX_WORD_BYTES else len(rest)
        line.add(rest[:complete])
        incomplete_word = rest[complete:]
        is_open = is_open or bool(rest)
        block = b"" if is_last else stream.read(BLOCK_BYTES)
    line.add(incomplete_word)
    if is_open:
        yield line.number, line.ids()


def _complete_words(text: bytes) -> int:
    """The length of the longest prefix that ends with white space."""
    return 1 + max(text.rfind(space) for space in (b" ", b"\t", b"\r", b"\x0b", b"\x0c"))


class _Line:
    """The ids of one line so far, each part as uint32 where it fits, else int64. head: the beginning of the stream."""

    def __init__(self, name: str, number: int, head: bytes) -> None:
        self.number = number
        self._head = head
        self._where = f"{name}, line {number:,}"
        self._parts: list[NDArray[Any]] = []
        self._n_words = 0

    def add(self, text: bytes) -> None:
        """Appends the ids of complete words."""
        import numpy as np

        ids = _parse_block(text)
        if ids is None:
            words = enumerate(text.split(), self._n_words)
            ids = np.array([self._parse_word(word, index) for index, word in words], np.int64)
        if len(ids):
            self._parts.append(ids.astype(np.uint32 if ids.max() <= U32 else np.int64))
            self._n_words += len(ids)
        if self._n_words > MAX_DOCUMENT_IDS:
            raise DocumentTooLarge(
                f"a line has more than {MAX_DOCUMENT_IDS:,} ids",
                where=self._where,
                limit="ids that are decoded at once",
                fix="write one document a line, as slmtok encode does",
                bytes=MAX_DOCUMENT_IDS * _WIDE,
            )

    def ids(self) -> NDArray[Any]:
        """All ids of the line."""
        import numpy as np

        if len(self._parts) == 1:
            return self._parts[0]
        return np.concatenate(self._parts) if self._parts else np.empty(0, np.uint32)

    def _separated(self, fact: str, program: str) -> MalformedRecord:
        """The error for ids that have other marks than spaces between, of which `program` makes lines of ids."""
        name = self._where.rpartition(", line ")[0]
        written = f"{shlex.quote(name)} > {shlex.quote(free_name('ids.txt'))}"
        return MalformedRecord(
            fact,
            where=self._where,
            limit="integers with spaces between, one document a line",
            fix=f"{program} < {written}" if Path(name).is_file() else f"pipe it through {program}",
            separated=name,
        )

    def _numbers_of_python(self, word: bytes) -> MalformedRecord | None:
        """The error for ids as np.savetxt and print write them; None for other words."""
        name = self._where.rpartition(", line ")[0]
        if _WHOLE.fullmatch(word) and float(word).is_integer() and Path(name).is_file():
            read = f'np.loadtxt({json.dumps(name, ensure_ascii=False)}).astype("int64")'
            code = f"import numpy as np; np.save({json.dumps(free_name('ids.npy'))}, {read})"
            return MalformedRecord(
                f"{word.decode()!r} is a number with a point, as np.savetxt writes it, not an id",
                where=self._where,
                limit="integers with spaces between, or .npy",
                fix=f"python -c {shlex.quote(code)}",
            )
        if printed := _PRINTED.match(word):
            return MalformedRecord(
                f"this is {'a tensor' if printed[1] == b'tensor' else 'an array'} as print shows it, not lines of ids",
                where=self._where,
                limit="print leaves ids out of a long one",
                fix="where it is made, np.save('ids.npy', ids) writes an array, of a tensor ids.cpu().numpy()",
            )
        return None

    def _parse_word(self, word: bytes, index: int) -> int:
        """The id of a word; `index` counts the words of the line from 0."""
        match = _WORD.fullmatch(word)
        if match is None or int(match[2] or 0) > int(match[3] or 0):
            text = word[:24].decode("utf-8", "backslashreplace")
            is_first = self._head.lstrip().startswith(word[: HEAD_BYTES // 2])
            content = content_of(self._head) if is_first else None
            if content is not None:
                format = (
                    "npy" if word.startswith(NPY_MAGIC) else "bin" if content is BINARY or content.encoded else None
                )
                raise MalformedRecord(
                    f"this is {content.name}, not lines of ids",
                    where=self._where,
                    limit="a name ending .npy or .bin says that a file is an array",
                    fix=(Setting("input_format", format), " if it holds ids as slmtok encode writes them")
                    if format
                    else "name a file of ids",
                )
            if index == 0 and word.startswith(b'{"schema"'):
                raise MalformedRecord(
                    "this is JSON as --json prints it, not lines of ids",
                    where=self._where,
                    limit="integers with spaces between, one document a line, as slmtok encode writes without --json",
                    fix=_lines_of_json(self._where.rpartition(", line ")[0]),
                )
            is_object = word.startswith(b"{") and b"[" in self._head and not _LISTS_OF_OTHERS.search(self._head)
            if index == 0 and (word.startswith(b"[") or is_object):
                kind = "a JSON object" if is_object else "a JSON list"
                raise self._separated(f"this is {kind}, not lines of ids", _LINES_OF_LISTS)
            if _SEPARATED.fullmatch(word) and not _GROUPED.fullmatch(word):
                marks = "".join(sorted(set(re.sub(r"\d", "", text))))
                raise self._separated(f"the ids are written with {' and '.join(map(repr, marks))}", "tr -s '(),;' ' '")
            if found := self._numbers_of_python(word):
                raise found
            is_hex = _HEXADECIMAL.fullmatch(text) is not None
            raise MalformedRecord(
                f"{text!r} is not an id" + ("" if match is None else ": it ends before it starts"),
                where=f"{self._where}, word {index + 1}",
                limit="ASCII digits, or id:start:end with start <= end",
                fix=f"ids as decimal numbers: {int(text, 16)} for {text}"
                if is_hex
                else "ids with spaces between, one document a line, as slmtok encode writes without --output-format",
            )
        id = int(match[1])
        if id > _MAX_I64:
            raise UnknownId(
                f"id {id} is not in the vocabulary",
                where=f"{self._where}, position {index}",
                fix=UNKNOWN_ID_FIX,
                id=id,
            )
        return id


_HEXADECIMAL = re.compile("0[xX][0-9a-fA-F]{1,16}")

_LINES_OF_LISTS = "python -c " + shlex.quote(
    r"""import re, sys; lists = re.findall(r"\[[^][]*\]", sys.stdin.read()); """
    r"""[print(*re.findall(r"[^][,\s\"]+", each)) for each in lists]"""
)
"""A line for each innermost list: one in several lines is one document, and lists in a list are several."""
_LISTS_OF_OTHERS = re.compile(rb'"(?:\w*mask|tokens|labels|offset_mapping|token_type_ids)"')
"""Keys of lists beside ids, which would be read as documents."""


def _lines_of_json(name: str) -> str:
    """The command that writes the ids in the JSON of `slmtok encode` as lines; for stdin, what to leave out."""
    if not Path(name).is_file():
        return "leave --json out of slmtok encode"
    code = 'import json, sys; [print(*each["ids"]) for each in json.load(sys.stdin)["result"]["documents"]]'
    return f"python -c {shlex.quote(code)} < {shlex.quote(name)} > {shlex.quote(free_name('ids.txt'))}"


def _parse_block(text: bytes) -> NDArray[np.int64] | None:
    """The ids of a block, or None where it must be parsed word by word."""
    import numpy as np

    text = text.strip()
    separators = text.translate(None, _DIGITS)
    if _NUMBER_OF_64_BITS.search(text):
        return None
    if not separators.translate(None, b" \t\r"):
        return np.fromstring(text.decode(), np.int64, sep=" ") if text else np.empty(0, np.int64)
    n_words = (len(separators) + 1) // 3
    if separators != b" ".join([b"::"] * n_words):
        return None
    numbers = np.fromstring(text.replace(b":", b" ").decode(), np.int64, sep=" ")
    if len(numbers) != 3 * n_words:
        return None
    ids, starts, ends = numbers.reshape(-1, 3).T
    return None if (starts > ends).any() else ids
