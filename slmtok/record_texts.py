"""Python expressions for the texts in records, data sets and dictionaries, for the fixes of errors."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

LIKELY_FIELDS = ("text", "content", "body", "raw_content", "value")
"""Names of fields that hold the text of a record; the first one found is meant."""


def texts_in(
    holder: object, *, first: object = None, variable: str | None = None, brackets: bool = False
) -> str | None:
    """The texts of a table, a dictionary or an iterable of records: `ds['content']`; None where there are none.

    first: the first record of an iterator that has passed it. brackets: a comprehension is a list, not a generator.
    """
    if isinstance(holder, Mapping):
        return _texts_in_mapping(holder, variable or "d", brackets=brackets)
    is_data_set = hasattr(holder, "column_names")
    variable = variable or ("ds" if is_data_set else "rows")
    if first is None and isinstance(holder, Iterable):
        first = next(iter(holder), None)
    text = text_in(first, "row")
    if text is None:
        return None
    name = _plain_field(first)
    if name is not None and is_data_set and hasattr(holder, "__getitem__") and hasattr(holder, "__len__"):
        return f"{variable}[{name!r}]"
    return _for_each(text, variable, brackets=brackets)


def texts_of_rows(row: object) -> str | None:
    """The texts of rows without names, of which one is given as a list or an array; None where it holds no text.

    Of numbers beside one text in each row that text, of several texts all of them.
    """
    values = row.tolist() if hasattr(row, "tolist") else row
    if not isinstance(values, (list, tuple)):
        return None
    columns = [index for index, value in enumerate(values) if isinstance(value, (str, bytes))]
    if len(columns) == 1 < len(values):
        return f"row[{columns[0]}] for row in rows"
    if len(columns) == len(values) > 0:
        return "text for row in rows for text in row"
    return "text for row in rows for text in row if isinstance(text, str)" if columns else None


def is_counted(item: object) -> bool:
    """Whether an item is a text and how often it occurs."""
    if not isinstance(item, tuple) or len(item) != 2:
        return False
    return isinstance(item[0], (str, bytes)) and type(item[1]) is int


def map_call(rows: object) -> str | None:
    """The call of `Dataset.map` for the rows that it gives to its function; None for other objects."""
    if not isinstance(rows, Mapping) or type(rows).__name__ not in ("LazyRow", "LazyBatch"):
        return None
    first = {name: value[0] if isinstance(value, list) and value else value for name, value in rows.items()}
    name = _plain_field(first)
    return None if name is None else f"ds.map(slmtok.compat.as_hf(tok), batched=True, input_columns=[{name!r}])"


def text_in(record: object, variable: str) -> str | None:
    """The text of a record: a field, its words joined, or the texts of the records in it; None for no record."""
    if not isinstance(record, Mapping):
        return None
    name = _plain_field(record)
    likely = field_of_texts([record])
    if likely is not None and name not in LIKELY_FIELDS:
        return text_of_list(record[likely], f"{variable}[{likely!r}]")
    if name is not None:
        return f"{variable}[{name!r}]"
    found = (text_of_list(value, f"{variable}[{name!r}]") for name, value in record.items())
    return next((text for text in found if text is not None), None)


def text_of_list(value: object, variable: str) -> str | None:
    """The text of words, of a list of records, or of a record, which are joined; None for other values."""
    if not isinstance(value, (list, tuple)) or not value:
        return text_in(value, variable)
    if _are_texts(value):
        return f"' '.join({variable})"
    if (name := field_of_texts(value)) is not None:
        return _text_of_records(value, name, variable)
    part = text_in(value[0], "part")
    return part and f"'\\n'.join({part} for part in {variable})"


def field_of_texts(records: Sequence[object]) -> str | None:
    """The field of a usual name that holds a text, or a list of records with one, in some of these; None without."""
    rows = [record for record in records if isinstance(record, Mapping)]
    found = (name for name in LIKELY_FIELDS if any(_is_text_or_parts(row.get(name)) for row in rows))
    return next(found, None)


def _is_text_or_parts(value: object) -> bool:
    """Whether a value is a text, or a list of records with one, as messages of models that read pictures have it."""
    return isinstance(value, str) or (isinstance(value, list) and field_of_texts(value) is not None)


def _text_of_records(records: Sequence[object], name: str, variable: str) -> str:
    """The texts in the field `name` of records, joined; records without one, as of pictures, are left out.

    A text may be a list of parts in some of the records.
    """
    values = [record.get(name) if isinstance(record, Mapping) else None for record in records]
    if _are_texts(values):
        return f"'\\n'.join(part[{name!r}] for part in {variable})"
    parts = [part for value in values if isinstance(value, list) for part in value]
    if not parts:
        return f"'\\n'.join(part[{name!r}] for part in {variable} if part.get({name!r}))"
    text = f"text if isinstance(text, str) else {text_of_list(parts, 'text')}"
    return f"'\\n'.join({text} for part in {variable} if part.get({name!r}) for text in [part[{name!r}]])"


def _plain_field(record: object) -> Any:
    """The name of the field that is text; of several, a likely one, else the longest. None without one."""
    if not isinstance(record, Mapping):
        return None
    found = [name for name, value in record.items() if isinstance(value, str)]
    # A text is longer than what names or classes it.
    longest = max(found, key=lambda name: len(record[name]), default=None)
    return next((name for name in LIKELY_FIELDS if name in found), longest)


def _texts_in_mapping(holder: Mapping[Any, Any], variable: str, *, brackets: bool) -> str | None:
    """The texts of a dictionary of columns, of splits, of how often each text occurs, or of one record."""
    if holder and all(is_counted(item) for item in holder.items()):
        counted = f"text for text, n in {variable}.items() for _ in range(n)"
        return f"[{counted}]" if brackets else counted
    for name, part in holder.items():
        if hasattr(part, "column_names"):
            return texts_in(part, variable=f"{variable}[{name!r}]", brackets=brackets)
    columns = {name: part for name, part in holder.items() if isinstance(part, (list, tuple)) and part}
    of_texts = [name for name, column in columns.items() if isinstance(column[0], (str, bytes))]
    if len(of_texts) > 1 and not {*LIKELY_FIELDS} & {*of_texts}:
        # Each holds texts of its own, as those of several sources.
        lists = f"{variable}.values()" if len(of_texts) == len(holder) else f"map({variable}.get, {of_texts})"
        flat = f"text for texts in {lists} for text in texts"
        return f"[{flat}]" if brackets else flat
    name = _plain_field({name: column[0] for name, column in columns.items()})
    if name is not None:
        return f"{variable}[{name!r}]"
    if len(holder) > 1 and not {*LIKELY_FIELDS} & {*holder} and all(isinstance(each, str) for each in holder.values()):
        return f"list({variable}.values())"
    text = text_in(holder, variable)
    return None if text is None else f"[{text}]"


def _for_each(text: str, rows: str, *, brackets: bool) -> str:
    loop = f"{text} for row in {rows}"
    return f"[{loop}]" if brackets else loop


def _are_texts(values: Sequence[object]) -> bool:
    return all(isinstance(value, str) for value in values)


_MAX_SHOWN = 60
"""Characters of a value in the call of a fix."""


def short_text(value: object, name: str) -> str:
    """A short text, or a list of such, as a caller writes it; other values are the variable `name`."""
    if not is_source(value):
        return name
    parts = value if isinstance(value, (list, tuple)) else [value]
    if len(parts) > _MAX_SHOWN or any(isinstance(each, (str, bytes)) and len(each) > _MAX_SHOWN for each in parts):
        return name
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        # Python refuses an integer of thousands of digits, and lists that nest too deep.
        return name
    return text if len(text) <= _MAX_SHOWN else name


def is_source(value: object) -> bool:
    """Whether the repr of a value is Python that makes it again."""
    if type(value) in (list, tuple, set, frozenset):
        return all(map(is_source, cast("Iterable[object]", value)))
    if isinstance(value, dict):
        return all(map(is_source, [*value, *value.values()]))
    if isinstance(value, float):
        return math.isfinite(value)
    is_segment = type(value).__name__ in ("Special", "Trusted")
    return value is None or is_segment or isinstance(value, (str, bytes, bytearray, int, slice, range, re.Pattern))


def scalar(value: object) -> object:
    """The number in a numpy scalar, or in an array or a tensor of one value; other values as they are."""
    if not hasattr(value, "dtype") or not hasattr(value, "item"):
        return value
    try:
        return cast("object", value.item())
    except (RuntimeError, TypeError, ValueError):
        # Several values, and tensors without values.
        return value


def left_out(names: Iterable[str]) -> str:
    """The end of a fix whose call leaves these arguments out: a comment, with which the line can be pasted."""
    listed = ", ".join(names)
    return f"  # without {listed}" if listed else ""


def are_segments(x: object) -> bool:
    """Whether a list of texts also has segments of the module `segments`, which are no text."""
    return isinstance(x, (list, tuple)) and any(type(each).__name__ in ("Special", "Trusted") for each in x)


def segment_list(part: object) -> str:
    """The list of a segment that stands in the place of one, as a caller writes it; `[part]` for other values."""
    return short_text([part], "[part]") if are_segments([part]) else "[part]"
