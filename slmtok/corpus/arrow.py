"""Tables of Arrow: format `parquet`, and sources `hf:NAME[:CONFIG][@SPLIT]` of the package `datasets`.

Each row is a record, and one of its columns, or several in a template, is the document. When to use it: data sets as
hubs store them; with `hf:`, one that is known by name or that `save_to_disk` has written. Cost: the packages pyarrow
and `datasets` (extra `data`). Guarantee: only the columns of the template are read, a few MiB at a time, in the order
of the data set. A row whose value is null or not text is an error that names its place, or is counted where skipping
was requested. The network is used for `hf:NAME` only; without `@SPLIT` it is the split `train`, or the only one.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from slmtok.corpus.nested_texts import decoded, fix_of_nested
from slmtok.corpus.parquet_footer import ParquetFooter
from slmtok.corpus.paths import HUGGING_FACE, STDIN, is_saved
from slmtok.corpus.saved_data_set import check_saved, default_split
from slmtok.corpus.streams import COMPRESSED, UTF_8
from slmtok.corpus.suffixes import format_of_name
from slmtok.corpus.template import SKIP, located, repeated_column, template_of
from slmtok.corpus.text_columns import TextColumn
from slmtok.corpus.text_commands import Source
from slmtok.document_limits import document_too_large
from slmtok.errors import (
    DocumentTooLarge,
    MalformedRecord,
    Message,
    MissingInput,
    OptionError,
    Setting,
    SlmtokError,
    Unreadable,
    missing_extra,
    render,
)
from slmtok.file_content import HEAD_BYTES, content_of, is_utf_8
from slmtok.files import read_file
from slmtok.foreign_options import closest

if TYPE_CHECKING:
    from slmtok.corpus.selection import Skipped
    from slmtok.corpus.template import Template
    from slmtok.options import ReadOptions

_Part = TypeVar("_Part")
Convert: TypeAlias = Callable[..., Iterator[_Part]]
"""Makes texts or columns of a table: `_texts` or `_columns`."""
_BATCH_BYTES = 4 << 20
_MIN_TABLE_BYTES = 1 << 20
"""Smaller batches are joined: a batch of documents that a dictionary may repeat has 4 rows and more."""
_MIN_BATCH_ROWS, _MAX_BATCH_ROWS = 4, 1 << 14
_MAX_REPEATED_BYTES = 64 << 20
"""Most bytes that the rows of a batch may have if a dictionary repeats its largest value in each."""
_MAX_CHUNK_BYTES = 1 << 30
"""A column chunk up to this size is read whatever the limit on documents; those of hubs have some hundred megabytes."""
_MAX_FOOTER_BYTES, _MIN_FOOTER_LIMIT = 256 << 20, 8_000_000
"""Of the limit on a footer, which is half of that on a document: it is read whole, and takes 3 to 8 times its size."""
_FOOTER_ENDS = (b"PAR1", b"PARE")
_DICTIONARY_HEADER = re.compile(rb"\x15\x04\x15([\x80-\xff]{0,4}[\0-\x7f])\x15([\x80-\xff]{0,4}[\0-\x7f])")
"""How the header of a dictionary page begins: its kind, then its size unpacked and packed, as Thrift writes them."""
_DATASET_BATCH_ROWS = 1000
_TEXT_KIND = re.compile(r"(dictionary<values=|Value\((dtype=)?')?((large_|fixed_size_)?(string|binary)|extension<)")
"""How the types of columns that may hold text begin, as pyarrow and `datasets` print them."""
_NESTED_KIND = re.compile(r"((large_|fixed_size_)?list|struct)<")
_IDS_KIND = re.compile(r"((large_|fixed_size_)?list|List|Sequence)\b.*\bu?int\d+")
"""The types of columns of ids."""
_HUB_SECONDS = 8
"""How long the hub has for its first answer."""


# --- parquet ----------------------------------------------------------------------------------------------------------


def read_parquet(path: str, options: ReadOptions, skipped: Skipped) -> Iterator[bytes]:
    """The text of every row. Raises `MalformedRecord` for single rows unless skipping, and as `_open_parquet`."""
    return _read_parquet(path, options, skipped, _texts)


def read_parquet_columns(path: str, options: ReadOptions, skipped: Skipped) -> Iterator[bytes | TextColumn]:
    """The same as columns of text; `skipped` does not count what a column skips."""
    return _read_parquet(path, options, skipped, _columns)


def _read_parquet(path: str, options: ReadOptions, skipped: Skipped, convert: Convert[_Part]) -> Iterator[_Part]:
    with _open_parquet(path, options) as file:
        template = template_of(options)
        _check_file(file, template, _kinds(file.schema_arrow, template, path), path)
        if not options.skip_malformed:
            _check_nulls(file, template, path)
        columns = list(dict.fromkeys(template.fields))
        footer, row = ParquetFooter(file), 0
        for group in range(file.num_row_groups):
            n_rows = file.metadata.row_group(group).num_rows
            size = _batch_rows(footer.chunks(group, columns), n_rows, options.max_doc_bytes, path)
            batches = file.iter_batches(batch_size=size, row_groups=[group], columns=columns, use_threads=False)
            for table in _joined(batches):
                yield from convert(table, template, options, skipped, path, row=row, row_group=group + 1)
                row += len(table)


def _joined(batches: Iterable[Any]) -> Iterator[Any]:
    """Tables of successive batches, each of at least `_MIN_TABLE_BYTES`, but for the last.

    Batches whose values share memory stay apart, because the values of many together may be far larger.
    """
    import pyarrow as pa

    held: list[Any] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= _MIN_TABLE_BYTES or not all(map(_is_copied, batch.schema.types)):
            table = pa.Table.from_batches(held)
            held, size = [], 0
            yield table
    if held:
        yield pa.Table.from_batches(held)


def _is_copied(kind: Any) -> bool:
    """Whether each value of this type has bytes of its own."""
    return str(kind).removeprefix("large_") in ("string", "binary")


def check_columns(paths: Sequence[str], options: ReadOptions) -> None:
    """Raises `MalformedRecord` for the first parquet file without a column that is read; reads no rows."""
    template, columns = template_of(options), dict[str, dict[str, object]]()
    for path in paths:
        with _open_parquet(path, options) as file:
            columns[path] = _kinds(file.schema_arrow, template, path)
    for path, names in columns.items():
        absent = {name for name in template.fields if name not in names}
        if other := next((other for other, theirs in columns.items() if absent & set(theirs)), None):
            raise MalformedRecord(
                f"there is no column {min(absent & set(columns[other]))!r}, which {other} has",
                where=path,
                limit=f"columns: {', '.join(names)}",
                fix="leave this file out, or read it as a source of its own, with its own text_key",
                path=path,
                meant=None,
            )
        try:
            _check_columns(template, names, path)
        except MalformedRecord:
            # Opened again for its first row.
            with _open_parquet(path, options) as file:
                _check_file(file, template, names, path)


def _check_file(file: Any, template: Template, kinds: Mapping[str, object], path: str) -> None:
    """As `_check_columns`, for a file whose text may be in lists or records, as the first row shows."""
    try:
        _check_columns(template, _largest_first(file, kinds), path)
    except MalformedRecord as error:
        fix = _fix_of_nested(file, template, kinds, path)
        if fix is not None:
            error.limit, error.fix = "a column of text", fix
            error.fields.pop("meant", None)
        raise


def _check_nulls(file: Any, template: Template, path: str) -> None:
    """Raises `MalformedRecord` for a field that is null in every row: without such rows the file has no text."""
    footer = ParquetFooter(file)
    for name in template.fields:
        if footer.is_null(name):
            kinds = _largest_first(file, _kinds(file.schema_arrow, template, path))
            held = {each: 0 if footer.is_null(each) else example for each, example in _examples(kinds).items()}
            raise located(template.missing(name, held, f"every value of the column {name!r} is null", "columns"), path)


def _largest_first(file: Any, kinds: Mapping[str, object]) -> dict[str, object]:
    """Columns by their size in the first row group: of several with text, an error proposes the first."""
    return _by_size(kinds, ParquetFooter(file).sizes())


def _by_size(kinds: Mapping[str, object], sizes: Mapping[str, int]) -> dict[str, object]:
    """Columns, the largest first; those of an unknown size last, in their order."""
    return dict(sorted(kinds.items(), key=lambda item: -sizes.get(item[0], 0)))


def _fix_of_nested(file: Any, template: Template, kinds: Mapping[str, object], path: str) -> Message | None:
    """The command that writes the text of nested columns as a field; None where there is none to be seen."""
    nested = [name for name, kind in kinds.items() if _NESTED_KIND.match(str(kind))]
    if not nested or not file.num_row_groups or template.source is not None:
        return None
    with suppress(SlmtokError, ArithmeticError, OSError, StopIteration, ValueError):
        # It refuses columns that are too large to read.
        n_rows = file.metadata.row_group(0).num_rows
        _batch_rows(ParquetFooter(file).chunks(0, nested), n_rows, _MAX_CHUNK_BYTES, path)
        [row] = next(file.iter_batches(batch_size=1, row_groups=[0], columns=nested, use_threads=False)).to_pylist()
        # Of columns of text it matters that they are there.
        texts = {name: "" for name, kind in kinds.items() if _TEXT_KIND.match(str(kind))}
        fix = fix_of_nested(Source(path), ".parquet", template, {**texts, **row})
        return fix if fix and render(fix).startswith("python ") else None
    return None


@contextmanager
def _open_parquet(path: str, options: ReadOptions) -> Iterator[Any]:
    """A `ParquetFile`. Raises `MissingExtra`, `MissingInput`, `Unreadable`, `OptionError` for stdin and archives.

    And `DocumentTooLarge` for a footer beyond its limit.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise missing_extra(repr(path), "pyarrow") from None
    if path == STDIN or Path(path).suffix.lower() in COMPRESSED:
        raise OptionError(
            f"{'stdin' if path == STDIN else repr(path)} cannot be read as parquet",
            limit="uncompressed files: parquet compresses its columns and is read from its end",
            fix="name a .parquet file",
            option="format",
            path=path,
        )
    try:
        _check_footer(path, options)
        with pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False, page_checksum_verification=True) as file:
            yield file
    except FileNotFoundError:
        raise MissingInput(f"no file {path!r}", where="the corpus", fix="check the name", path=path) from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise Unreadable(
            f"cannot read {path!r}: {str(error).splitlines()[0] if str(error) else error}",
            where=path,
            fix=_remedy_of_unreadable(path, options, is_encrypted="decrypt" in str(error)),
            path=path,
        ) from error


def _remedy_of_unreadable(path: str, options: ReadOptions, *, is_encrypted: bool) -> Message:
    """What to do about a file that is no sound parquet, by its name and its first bytes."""
    if is_encrypted:
        return "write the file again without encryption: slmtok takes no keys"
    head = read_file(path, HEAD_BYTES)
    if head.startswith(b"PAR1"):
        return "fetch the file again: it begins as parquet files do"
    if fix := format_of_name(path, options):
        return fix
    content = content_of(head)
    what = content.name if content else "text" if is_utf_8(head) else "not parquet"
    again = f"fetch the file again: it is {what}"
    return again if options.format == "auto" else ("leave ", Setting("format"), f" out, or {again}")


def _check_footer(path: str, options: ReadOptions) -> None:
    """Raises `DocumentTooLarge` for a footer that would take more memory than there is for a document."""
    if not Path(path).is_file():
        return
    with Path(path).open("rb", buffering=0) as file:
        n_bytes = file.seek(0, os.SEEK_END)
        file.seek(max(n_bytes - 8, 0))
        tail = file.read(8)
    size = int.from_bytes(tail[:4], "little")
    limit = min(max(options.max_doc_bytes // 2, _MIN_FOOTER_LIMIT), _MAX_FOOTER_BYTES)
    if limit < size < n_bytes and tail[4:] in _FOOTER_ENDS:
        raise DocumentTooLarge(
            f"the footer, which describes the columns, has {size:,} bytes",
            where=path,
            limit=f"{limit:,} bytes, read whole",
            fix="write the file again with larger row groups, fewer columns and no other metadata",
            bytes=limit,
        )


def _batch_rows(parts: Sequence[Any], n_rows: int, max_doc_bytes: int, path: str) -> int:
    """How many rows of these column chunks, of `n_rows` rows each, make about `_BATCH_BYTES`.

    A dictionary may repeat one large value in every row, so the size of its page bounds the rows too. With the encoding
    DELTA_BYTE_ARRAY a value repeats the beginning of the one before, so it may have as many bytes as the column chunk.
    Raises `DocumentTooLarge` for a column chunk that is larger than any document: a page of it is unpacked at once.
    """
    sizes = [part.total_uncompressed_size for part in parts]
    if any(size > max(max_doc_bytes, _MAX_CHUNK_BYTES) for size in sizes):
        raise document_too_large(path, max_doc_bytes)
    rows = max(_BATCH_BYTES * n_rows // max(sum(sizes), 1), 16)
    if n_rows > _MIN_BATCH_ROWS:
        # It opens the file, which costs more than the rest for a row group of one row.
        largest = max((_dictionary_bytes(part, path) for part in parts if _has_dictionary(part)), default=0)
        if largest:
            rows = min(rows, max(_MAX_REPEATED_BYTES // largest, _MIN_BATCH_ROWS))
    if any("DELTA_BYTE_ARRAY" in part.encodings for part in parts):
        rows = min(rows, max(_MAX_REPEATED_BYTES // (4 * max(sizes)), 1))
    return int(min(rows, _MAX_BATCH_ROWS))


def _has_dictionary(column: Any) -> bool:
    return any("DICTIONARY" in encoding for encoding in column.encodings)


def _dictionary_bytes(column: Any, path: str) -> int:
    """Most bytes that a value of the dictionary of a column chunk can have.

    A chunk has one dictionary, whose page comes first and states its size. Most writers end a dictionary at 1 MiB and
    store later values as they are, so the size of the chunk would be a far larger bound; it is used where no such page
    comes first.
    """
    offsets = (column.dictionary_page_offset, column.data_page_offset)
    with Path(path).open("rb", buffering=0) as file:
        file.seek(min((offset for offset in offsets if offset and offset > 0), default=0))
        found = _DICTIONARY_HEADER.match(file.read(16))
    if found is None:
        return int(column.total_uncompressed_size)
    # The size that pyarrow allocates is the first, or the second where the page is not compressed.
    return max(map(_zigzag, found.groups()))


def _zigzag(varint: bytes) -> int:
    """A number that is not negative, in the compact protocol of Thrift."""
    return sum((byte & 0x7F) << (7 * index) for index, byte in enumerate(varint)) >> 1


# --- Hugging Face data sets -------------------------------------------------------------------------------------------


_DATASET = re.compile(r"[\w.-]+(/[\w.-]+)?", re.ASCII)


class DatasetName(NamedTuple):
    """The parts of `hf:NAME[:CONFIG][@SPLIT]`."""

    name: str
    config: str | None
    split: str | None


def parse_dataset_name(source: str) -> DatasetName:
    """Parses a source. Raises `OptionError` where the name is missing."""
    rest = source.removeprefix(HUGGING_FACE)
    if rest and Path(rest).exists():
        return DatasetName(rest, None, None)
    head, at, split = rest.partition("@")
    name, colon, config = head.partition(":")
    empty = "configuration after ':'" if colon and not config else "split after '@'" if at and not split else None
    is_name = _DATASET.fullmatch(name) is not None or (name != "" and Path(name).exists())
    if not is_name or empty:
        raise OptionError(
            f"{source!r} has no {empty}" if is_name else f"{source!r} names no data set",
            limit="hf:NAME[:CONFIG][@SPLIT]; NAME is a folder, NAME or OWNER/NAME of the Hugging Face Hub",
            fix=f"hf:{name}{at + split if split else ''}"
            if is_name
            else "hf:roneneldan/TinyStories@train, for instance",
            option="corpus",
        )
    return DatasetName(name, config or None, split or None)


def read_hugging_face(source: str, options: ReadOptions, skipped: Skipped) -> Iterator[bytes]:
    """The text of every row. Raises `MalformedRecord` for single rows unless skipping, and as `_open_dataset`."""
    return _read_hugging_face(source, options, skipped, _texts)


def read_hugging_face_columns(source: str, options: ReadOptions, skipped: Skipped) -> Iterator[bytes | TextColumn]:
    """The same as columns of text; `skipped` does not count what a column skips."""
    return _read_hugging_face(source, options, skipped, _columns)


def _read_hugging_face(source: str, options: ReadOptions, skipped: Skipped, convert: Convert[_Part]) -> Iterator[_Part]:
    with _open_dataset(source, options) as data:
        template = template_of(options)
        if data.column_names is not None:
            kinds = data.features or dict.fromkeys(data.column_names, "string")
            _check_columns(template, _by_size(kinds, _column_sizes(data)), source)
            data = data.select_columns(list(dict.fromkeys(template.fields)))
        row = 0
        for table in data.with_format("arrow").iter(batch_size=_rows_of_batch(data)):
            _check_columns(template, _kinds(table.schema, template, source), source)
            yield from convert(table, template, options, skipped, source, row=row)
            row += len(table)


def _column_sizes(data: Any) -> dict[str, int]:
    """The bytes of each column of a data set; none for a stream."""
    table = getattr(data, "data", None)
    return {} if table is None else {name: table.column(name).nbytes for name in table.column_names}


def _rows_of_batch(data: Any) -> int:
    """Rows that make about `_BATCH_BYTES`; of a stream, whose size is not known, `_DATASET_BATCH_ROWS`."""
    table = getattr(data, "data", None)
    row_bytes = table.nbytes // max(len(table), 1) if table is not None else 0
    return int(max(min(_DATASET_BATCH_ROWS, _BATCH_BYTES // max(row_bytes, 1)), 1))


@contextmanager
def _open_dataset(source: str, options: ReadOptions) -> Iterator[Any]:
    """A data set of one split. Raises `MissingExtra`, `MissingInput` for what `datasets` cannot find or load."""
    parsed = parse_dataset_name(source)
    try:
        import datasets
    except ImportError:
        raise missing_extra(repr(source), "datasets") from None
    silence = None if Path(parsed.name).exists() else _silence_of_hub(datasets, parsed.name)
    try:
        with _progress_bars_on_terminal_only(datasets), _cached_only(datasets, silence is not None):
            yield _select_split(_load(datasets, parsed, options), parsed, source)
    except SlmtokError:
        raise
    except Exception as error:
        # The package raises errors of hubs, archives and scripts. Their first line names the cause.
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        fix = "check name, configuration and split: hf:NAME[:CONFIG][@SPLIT]"
        if Path(parsed.name).is_dir():
            reason = "the folder holds no data set" if isinstance(error, LookupError) else reason
            fix = f"{parsed.name} without hf: to read its files, or name a folder that datasets.save_to_disk wrote"
        if silence is not None:
            reason = f"{_address_of_hub(datasets)} cannot be reached ({silence}), and the cache has no copy"
            fix = "check the network; without network, name a folder that datasets.save_to_disk wrote"
        raise MissingInput(
            f"cannot load the data set {parsed.name!r}: {reason}", where=source, fix=fix, path=source
        ) from error


def _silence_of_hub(datasets: Any, name: str) -> str | None:
    """Why the hub does not answer about a data set; None where it does, be it with a refusal.

    One request of at most `_HUB_SECONDS`: without network, `load_dataset` repeats its own for 25 seconds.
    """
    try:
        datasets.load.HfApi(_address_of_hub(datasets)).dataset_info(name, timeout=_HUB_SECONDS)
    except Exception as error:
        if getattr(error, "response", None) is None:
            return (str(error).splitlines() or [type(error).__name__])[0]
    return None


def _address_of_hub(datasets: Any) -> str:
    return str(datasets.config.HF_ENDPOINT)


@contextmanager
def _cached_only(datasets: Any, is_offline: bool) -> Iterator[None]:
    """Within the block, `datasets` makes no request if `is_offline`, and takes what its cache has."""
    before = datasets.config.HF_HUB_OFFLINE
    datasets.config.HF_HUB_OFFLINE = before or is_offline
    try:
        yield
    finally:
        datasets.config.HF_HUB_OFFLINE = before


@contextmanager
def _progress_bars_on_terminal_only(datasets: Any) -> Iterator[None]:
    on_terminal = False
    # In a program stderr may be None, closed, or an object without the method.
    with suppress(AttributeError, ValueError):
        on_terminal = sys.stderr.isatty()
    if on_terminal or datasets.are_progress_bars_disabled():
        yield
        return
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        datasets.enable_progress_bars()


def _load(datasets: Any, parsed: DatasetName, options: ReadOptions) -> Any:
    if is_saved(parsed.name):
        check_saved(parsed.name)
        return datasets.load_from_disk(parsed.name)
    return datasets.load_dataset(
        parsed.name,
        parsed.config,
        split=parsed.split,
        streaming=options.streaming,
        cache_dir=None if options.cache_dir is None else str(options.cache_dir),
        # No program of a repository is run, whatever the default of the installed version is.
        trust_remote_code=False,
    )


_PART_OF_SPLIT = re.compile(r"([\w.-]+)\[.*\]", re.ASCII)
"""A slice of `datasets`, such as `train[:10%]`."""


def _select_split(data: Any, parsed: DatasetName, source: str) -> Any:
    """Of several splits the one that is named, else `train`, else the only one. Raises `MissingInput`."""
    if not isinstance(data, dict):
        return data
    names = sorted(map(str, data))
    wanted = parsed.split or default_split(names)
    if wanted not in names:
        if (part := _PART_OF_SPLIT.fullmatch(wanted)) and part[1] in names:
            limits = (Setting("sample", "10%"), " or ", Setting("max_docs", 1000), " read a part of it")
            fix = (f"hf:{parsed.name}@{part[1]}; ", *limits)
            raise MissingInput(f"{wanted!r} is a part of a split", where=source, fix=fix, path=source)
        # `val` and `valid` stand for `validation`, and the reverse.
        meant = next((name for name in names if name[:3] == wanted[:3]), None) or closest(wanted, names)
        named = [f"hf:{parsed.name}@{name}" for name in ([meant] if meant else names)]
        raise MissingInput(
            f"the data set {parsed.name!r} has no split {wanted!r}",
            where=source,
            limit=f"splits: {', '.join(names)}",
            fix=", or ".join(named) or "name another data set",
            path=source,
        )
    return data[wanted]


# --- rows of a table --------------------------------------------------------------------------------------------------


def _texts(
    table: Any, template: Template, options: ReadOptions, skipped: Skipped, source: str, *, row: int, **place: int
) -> Iterator[bytes]:
    """The text of each row of a `RecordBatch` or `Table`. Raises `MalformedRecord` unless skipping.

    row: rows of the source before these. place: where they are besides.
    """
    columns = [_values(table.column(name)) for name in template.fields]
    limit = options.max_doc_bytes
    decoded = {name for name in template.fields if _is_encoded(table.column(name).type, options)}
    if (
        template.source is None
        and not decoded
        and set(map(type, columns[0])) == {bytes}
        and max(map(len, columns[0])) <= limit
    ):
        yield from columns[0]
        return
    for number, values in enumerate(zip(*columns, strict=True), row + 1):
        try:
            if decoded:
                pairs = zip(template.fields, values, strict=True)
                values = tuple(_decoded(each, options) if name in decoded else each for name, each in pairs)
            text = template.fill(list(map(template.value, template.fields, values)))
        except MalformedRecord as error:
            if not options.skip_malformed:
                raise located(error, source, row=number, **place) from None
            skipped.records += 1
            continue
        if len(text) > limit:
            raise document_too_large(f"{source}, row {number}", limit)
        yield text


def _columns(
    table: Any, template: Template, options: ReadOptions, skipped: Skipped, source: str, *, row: int, **place: int
) -> Iterator[bytes | TextColumn]:
    """As `_texts`, which also reads the tables that are no column of text as it stands."""
    found = _column(table, template, options) if len(table) else None
    if found is None:
        return _texts(table, template, options, skipped, source, row=row, **place)
    return iter((found,))


def _column(table: Any, template: Template, options: ReadOptions) -> TextColumn | None:
    """The rows of a table; None where they need more than a copy, or one is refused."""
    import numpy as np
    import pyarrow as pa

    column = table.column(template.fields[0])
    if template.source is not None or not _is_text(column.type) or _is_encoded(column.type, options):
        return None
    array = _joined_chunks(column.cast(pa.large_binary()))
    skips: tuple[int, ...] = ()
    if array.null_count:
        if not options.skip_malformed:
            return None
        nulls = np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))
        skips = tuple((nulls - np.arange(len(nulls))).tolist())
        array = array.drop_null()
    # Offsets of a damaged file may lie anywhere; those of a mapped file may not be aligned.
    array.validate(full=True)
    _, offsets, data = array.buffers()
    bounds = np.frombuffer(offsets, np.int64, len(array) + 1, 8 * array.offset) if len(array) else np.zeros(1, np.int64)
    bounds = np.require(bounds, requirements="A")
    if len(array) and int(np.diff(bounds).max()) > options.max_doc_bytes:
        return None
    return TextColumn(np.frombuffer(data, np.uint8) if data else np.zeros(0, np.uint8), bounds, skips)


def _joined_chunks(column: Any) -> Any:
    """A column of a `Table` or `RecordBatch` as one array."""
    import pyarrow as pa

    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def _kinds(schema: Any, template: Template, source: str) -> dict[str, object]:
    """The type of each column of a schema of Arrow, by name. Raises `MalformedRecord` for one that is there twice."""
    twice = next((name for name in template.fields if schema.names.count(name) > 1), None)
    if twice is not None:
        raise repeated_column(twice, schema.names.count(twice), source)
    return dict(zip(schema.names, schema.types, strict=True))


def _check_columns(template: Template, kinds: Mapping[str, object], source: str) -> None:
    """Raises `MalformedRecord` where a field of the template is no column, or one of which no row can be text.

    kinds: the type of each column.
    """
    held = _examples(kinds)
    for name in template.fields:
        if name not in kinds:
            raise _with_command(template.missing(name, held, f"there is no column {name!r}", "columns"), source)
        if template.source is None and held[name] != "":
            fact = f"the column {name!r} holds {kinds[name]}, not text"
            raise _with_command(template.missing(name, held, fact, "columns"), source)


def _examples(kinds: Mapping[str, object]) -> dict[str, object]:
    """An example of the values of each column, by its type."""
    return {
        name: "" if _TEXT_KIND.match(str(kind)) else [0] if _IDS_KIND.match(str(kind)) else 0
        for name, kind in kinds.items()
    }


def _with_command(error: MalformedRecord, source: str) -> MalformedRecord:
    """The error for this source; for a parquet file of ids, with the command that makes text of them."""
    if error.fields.get("ids") is not None and source.endswith(".parquet"):
        error.fix = f"name the text that was encoded, or make it: {decoded(source, str(error.fields['ids']))}"
    return located(error, source)


def _values(column: Any) -> list[Any]:
    """A column as a list: bytes for text and binary, None for null, else Python values."""
    import pyarrow as pa

    values: list[Any] = (column.cast(pa.large_binary()) if _is_text(column.type) else column).to_pylist()
    return values


def _is_encoded(kind: Any, options: ReadOptions) -> bool:
    """Whether values of this type are bytes in the encoding of the options; text of Arrow is UTF-8."""
    return options.encoding != UTF_8 and _is_text(kind) and "binary" in str(kind)


def _decoded(value: Any, options: ReadOptions) -> Any:
    """Bytes in the encoding of the options as UTF-8, and other values as they are. Raises `MalformedRecord`."""
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode(options.encoding).encode()
    except UnicodeError as error:
        fact = f"the value is not text in {options.encoding}: {error.args[-1]}"
        raise MalformedRecord(fact, fix=("name another ", Setting("encoding"), ", or ", *SKIP)) from None


def _is_text(kind: Any) -> bool:
    """Whether values of this type, or of its dictionary, are text or binary."""
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return str(kind).removeprefix("large_").removesuffix("_view") in ("string", "binary")
