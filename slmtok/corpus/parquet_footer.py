"""What the footer of a parquet file says of its column chunks.

When to use it: instead of `row_group(...).column(...)` of pyarrow, which ends the process where a chunk is encrypted or
its metadata are damaged: the exception of C++ is not caught there. Cost: about 50 microseconds for a row group.
Guarantee: such a chunk raises `OSError`, as where its rows are read.
"""

from __future__ import annotations

import io
from collections.abc import Container
from contextlib import suppress
from typing import Any

_TEXT_TYPE = "BYTE_ARRAY"


class _PageReadError(Exception):
    """A page of `_NoPages` was asked for."""


class _NoPages(io.RawIOBase):
    """Stands for a file of parquet without its pages: pyarrow checks the metadata of all chunks before it reads one."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self.tell()

    def tell(self) -> int:
        # More than any chunk of the file.
        return 1 << 62

    def read(self, size: int = -1) -> bytes:
        raise _PageReadError


class ParquetFooter:
    """Column chunks of an open `ParquetFile`."""

    def __init__(self, file: Any) -> None:
        import pyarrow.parquet as pq

        self._metadata = file.metadata
        self._paths = [file.schema.column(index).path for index in range(len(file.schema.names))]
        self._types = [file.schema.column(index).physical_type for index in range(len(file.schema.names))]
        self._checked = pq.ParquetFile(_NoPages(), metadata=file.metadata, buffer_size=1 << 20, pre_buffer=False)

    def chunks(self, group: int, columns: Container[str] | None = None) -> list[Any]:
        """The chunks of these columns, or of all, in a row group. Raises `OSError` where pyarrow cannot read them."""
        found = [
            index
            for index, path in enumerate(self._paths)
            if columns is None or path in columns or path.partition(".")[0] in columns
        ]
        batches = self._checked.iter_batches(batch_size=1, row_groups=[group], columns=columns, use_threads=False)
        with suppress(_PageReadError, StopIteration):
            next(batches)
        return [self._metadata.row_group(group).column(index) for index in found]

    def sizes(self) -> dict[str, int]:
        """The unpacked bytes of each column in the first row group, as far as they are known."""
        chunks = list[Any]()
        if self._metadata.num_row_groups:
            with suppress(OSError):
                chunks = self.chunks(0)
        return {chunk.path_in_schema: chunk.total_uncompressed_size for chunk in chunks}

    def is_null(self, name: str) -> bool:
        """Whether all values of a column of text are null; False where that is not known, as of nested ones."""
        if not self._metadata.num_row_groups or (name, _TEXT_TYPE) not in zip(self._paths, self._types, strict=True):
            return False
        # One group with a value decides.
        return all(self._is_null_in(group, name) for group in range(self._metadata.num_row_groups))

    def _is_null_in(self, group: int, name: str) -> bool:
        [chunk] = self.chunks(group, [name])
        # pyarrow ends the process if it is asked for statistics of another type than the schema has.
        if chunk.physical_type != _TEXT_TYPE:
            raise OSError(f"its footer gives the column {name!r} two types: {_TEXT_TYPE} and {chunk.physical_type}")
        known, rows = chunk.statistics, self._metadata.row_group(group).num_rows
        return known is not None and known.has_null_count and known.null_count == rows > 0
