"""From tables of Arrow to the texts of their rows. Columns of text become bytes in one step, others by the value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from slmtok.errors import MalformedRecord

if TYPE_CHECKING:
    from slmtok.corpus.template import Template


def texts(table: Any, template: Template) -> Iterator[bytes | MalformedRecord]:
    """The text of each row of a `RecordBatch` or `Table`, or the error that the row is."""
    columns = [_values(table.column(name)) for name in template.fields]
    if len(columns) == 1 and template.spelled is None and None not in columns[0] and _all_bytes(columns[0]):
        yield from columns[0]
        return
    for row in zip(*columns, strict=True):
        try:
            yield template.fill([template.value(name, value) for name, value in zip(template.fields, row, strict=True)])
        except MalformedRecord as error:
            yield error


def missing_column(template: Template, names: Sequence[str], source: str) -> MalformedRecord | None:
    """The error where a field of the template is no column."""
    absent = next((name for name in template.fields if name not in names), None)
    if absent is None:
        return None
    error = template.missing(absent, dict.fromkeys(names, ""), f"there is no column {absent!r}", "columns")
    error.where = source
    error.fields.update(path=source)
    return error


def _values(column: Any) -> list[Any]:
    """A column as a list: bytes where it is text or binary, None where it is null, else Python's own values."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        return [value for chunk in column.chunks for value in _values(chunk)]
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _values(column.dictionary_decode())
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _cut(column, "int32")
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        return _cut(column, "int64")
    if str(kind) in ("string_view", "binary_view"):
        return _values(column.cast(pa.large_binary()))
    values: list[Any] = column.to_pylist()
    return values


def _cut(column: Any, offset: str) -> list[bytes | None]:
    import numpy as np

    _, offsets, data = column.buffers()
    size = len(column)
    if offsets is None or not size:
        return [None] * size
    ends = np.frombuffer(offsets, dtype=offset)[column.offset : column.offset + size + 1].tolist()
    text = data[ends[0] : ends[-1]].to_pybytes() if data is not None else b""
    base = ends[0]
    found: list[bytes | None] = [text[a - base : b - base] for a, b in pairwise(ends)]
    if column.null_count:
        for index in np.flatnonzero(~column.is_valid().to_numpy(zero_copy_only=False)).tolist():
            found[index] = None
    return found


def _all_bytes(values: Sequence[Any]) -> bool:
    """A column is of one kind, so its first value tells."""
    return not values or isinstance(values[0], bytes)
