"""Where the ids are in what holds them: a mapping, a table, an encoding, pieces; and the call that decodes those."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import index
from typing import Any, SupportsIndex, cast

TEXTS = (str, bytes, bytearray, memoryview)
"""Types of texts, which are never ids."""
_ID_COLUMNS = ("input_ids", "ids", "token_ids", "tokens", "labels")
"""Names of columns with ids, the first one found is meant."""
ENCODED_COLUMNS = ("input_ids", "attention_mask", "token_type_ids", "labels")
"""Names of the columns of encoded texts, which iterating over them gives."""
_DEPTH_OF_ROWS = 2
"""Depth of rows of ids, as of `_depth_of_ids`; a single row has 1, and batches of rows have 3."""
DECODE = "tok.decode({})"
"""The call that takes one sequence of ids, in fixes of functions without a call of their own."""


def of_rows(call: str, rows: str = "rows") -> str:
    """The call for several sequences of ids, where `call` takes one."""
    return f"tok.decode_batch({rows})" if call == DECODE else f"[{call.format('row')} for row in {rows}]"


def call_with_ids(holder: object, call: str = DECODE) -> str | None:
    """The call that decodes the ids in a mapping, a table, or an object with `ids`; None for one without ids.

    call: that of one sequence of ids.
    """
    access = _access_to_ids(holder)
    if access is None:
        return None
    path, depth = access
    is_table = not isinstance(holder, Mapping) and path != ".ids"
    variable = ("ds" if hasattr(holder, "column_names") else "df") if is_table else "encoded"
    if depth == 1:
        return call.format(variable + path)
    batches = f"[{of_rows(call)} for rows in {variable}{path}]"
    return batches if depth > _DEPTH_OF_ROWS else of_rows(call, variable + path)


def call_with_rows(row: object, call: str = DECODE) -> str | None:
    """The call that decodes `rows`, where `row` is one of them and holds ids instead of being ids; None for others."""
    access = _access_to_ids(row)
    if access is None:
        return None
    path, depth = access
    if depth > 1:
        return f"[{of_rows(call, f'row{path}')} for row in rows]"
    return of_rows(call, f"[row{path} for row in rows]")


def call_of_pieces(piece: object, call: str, *, is_one: bool) -> str | None:
    """The call that decodes pieces, which are (id, bytes) as of `tok.pieces`; None where `piece` is none of them.

    is_one: the piece alone was given.
    """
    if not (isinstance(piece, tuple) and len(piece) == 2 and type(piece[0]) is int and isinstance(piece[1], bytes)):
        return None
    if is_one:
        return f"{call.format('ids[:1]')}, of a piece (id, bytes); ids[1] is its bytes"
    return call.format("[id for id, _ in pieces]")


def _access_to_ids(holder: object) -> tuple[str, int] | None:
    """(what follows the variable to reach the ids in it, their depth as of `_depth_of_ids`); None without ids."""
    if isinstance(holder, Mapping) or columns_of(holder):
        names = list(holder) if isinstance(holder, Mapping) else columns_of(holder)
        columns = {name: cast("Any", holder)[name] for name in names}
        depths = {name: depth for name in columns if (depth := _depth_of_ids(columns[name]))}
        found = [*depths]
        are_columns = not isinstance(holder, Mapping) or not {*_ID_COLUMNS, *ENCODED_COLUMNS}.isdisjoint(names)
        if not are_columns and len(names) == len(found) > 1 and len({*depths.values()}) == 1:
            # Rows that each have a name: a single one of them would leave out the others.
            return ".values()", depths[found[0]] + 1
        name = next((name for name in (*_ID_COLUMNS, *found) if name in found), None)
        path, ids = (f"[{name!r}]", columns[name]) if name is not None else ("", None)
    else:
        path, ids = ".ids", getattr(holder, "ids", None)
    depth = _depth_of_ids(ids)
    return (path + (".to_pylist()" if hasattr(ids, "to_pylist") else ""), depth) if depth else None


def columns_of(table: object) -> list[Any]:
    """The names of the columns of a table (datasets, pandas, polars, pyarrow); empty for anything else."""
    names = getattr(table, "column_names", getattr(table, "columns", None))
    return list(names) if isinstance(names, Iterable) and not isinstance(table, type) else []


def _depth_of_ids(values: object) -> int:
    """1 for a sequence of integers, 2 for a sequence of such, 0 for anything else; decided by the first values."""
    if isinstance(values, (*TEXTS, Mapping)) or not isinstance(values, Iterable):
        return 0
    first: Any = next(iter(values), None)
    first = first.as_py() if hasattr(first, "as_py") else first
    if isinstance(first, bool) or first is None:
        return 0
    try:
        index(cast("SupportsIndex", first))
    except (TypeError, ValueError):
        return 2 if _depth_of_ids(first) == 1 else 0
    return 1
