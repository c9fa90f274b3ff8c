"""Format `parquet`: each row is a record, and one of its columns, or several in a template, is the document.

When to pick it: data sets as hubs keep them. Price: the package pyarrow (extra `data`). Promise: only the columns that
are needed are read, a few MiB at a time, however large a row group is. A row whose value is null or no text is an error
that names file, row and row group, or is counted where skipping was asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.corpus.arrow_rows import missing_column, texts
from slmtok.corpus.paths import STDIN
from slmtok.corpus.streams import COMPRESSED
from slmtok.errors import InvalidOption, MalformedRecord, MissingExtra, MissingInput, Unreadable

if TYPE_CHECKING:
    from slmtok.corpus.options import ReadOptions
    from slmtok.corpus.selection import Skipped

_BATCH_BYTES = 4 << 20
_MOST_ROWS = 1 << 14


@contextmanager
def opened(path: str, options: ReadOptions) -> Iterator[Any]:
    """A `ParquetFile`. Raises `MissingExtra`, `MissingInput`, `Unreadable`, `InvalidOption` for stdin and archives."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtra(
            f"{path!r} needs the package pyarrow, which is not installed",
            fix="pip install 'slmtok[data]'",
            package="pyarrow",
        ) from None
    if path == STDIN or Path(path).suffix.lower() in COMPRESSED:
        raise InvalidOption(
            f"{'stdin' if path == STDIN else repr(path)} cannot be read as parquet",
            limit="files of their own; parquet is compressed inside and begins at its end",
            fix="name a .parquet file",
            option="format",
            path=path,
        )
    try:
        with pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
            yield file
    except FileNotFoundError:
        raise MissingInput(f"no file {path!r}", where="the corpus", fix="check the name", path=path) from None
    except (pa.ArrowException, OSError) as error:
        raise Unreadable(
            f"cannot read {path!r}: {str(error).splitlines()[0] if str(error) else error}",
            where=path,
            fix="check that it is a parquet file, and fetch it again",
            path=path,
        ) from error


def read(file: Any, source: str, options: ReadOptions, skipped: Skipped) -> Iterator[bytes]:
    """The text of every row. Raises `MalformedRecord`; for single rows, unless skipping."""
    template = options.template
    absent = missing_column(template, file.schema_arrow.names, source)
    if absent is not None:
        raise absent
    columns = list(dict.fromkeys(template.fields))
    row = 0
    for group in range(file.num_row_groups):
        rows = _batch_rows(file.metadata.row_group(group), columns)
        for batch in file.iter_batches(batch_size=rows, row_groups=[group], columns=columns, use_threads=False):
            for text in texts(batch, template):
                row += 1
                if isinstance(text, bytes):
                    yield text
                elif options.skip_malformed:
                    skipped.records += 1
                else:
                    raise _placed(text, source, row, group)


def _batch_rows(group: Any, columns: list[str]) -> int:
    """How many rows of a row group make about `_BATCH_BYTES` in these columns."""
    parts = (group.column(index) for index in range(group.num_columns))
    size = sum(part.total_uncompressed_size for part in parts if part.path_in_schema.partition(".")[0] in columns)
    return int(min(max(_BATCH_BYTES * group.num_rows // max(size, 1), 16), _MOST_ROWS))


def _placed(error: MalformedRecord, source: str, row: int, group: int) -> MalformedRecord:
    error.where = f"{source}, row {row:,}, row group {group + 1:,}"
    error.fields.update(path=source, row=row, row_group=group + 1)
    return error
