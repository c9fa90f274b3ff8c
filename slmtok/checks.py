"""Checks of arguments before they reach the engine: integers, texts, paths, callbacks. Ids: `slmtok.id_arrays`.

Each error says what the caller may have meant: a path where text belongs, one text where many do.
"""

from __future__ import annotations

import codecs
import errno
import io
import operator
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, SupportsIndex, TypeVar, cast

from slmtok.errors import Message, OptionError, Setting, Unreadable, WrongType, value_text
from slmtok.foreign_options import any_of, closest, nearest_name, nearest_remark
from slmtok.path_arguments import is_file_name
from slmtok.record_texts import (
    are_segments,
    map_call,
    scalar,
    segment_list,
    short_text,
    text_in,
    texts_in,
    texts_of_rows,
)
from slmtok.sizes import parse_size

if TYPE_CHECKING:
    from slmtok.aliases import Text

U32 = (1 << 32) - 1
U64 = (1 << 64) - 1
MAX_NAME_BYTES = 255
_MAX_PATH_BYTES = 4095
_MAX_INDICES = 8
MAX_THREADS = 1024
"""More than the cores of a machine; the system may refuse to start thousands of threads."""


def check_int(
    name: str, value: object, min: int = 0, max: int = U64, *, example: int | None = None, remark: str = ""
) -> int:
    """`value` as an int from `min` to `max`; `name` is the option or what else it is.

    example: a valid value. remark: stands behind it in a fix.

    Takes whatever Python takes for an index (`int`, numpy's integers), but neither `bool` nor `float`.

    Raises `WrongType` for anything but an integer, `OptionError` for one out of range.
    """
    try:
        number = None if isinstance(value, bool) else operator.index(cast("SupportsIndex", value))
    except TypeError:
        number = None
    if number is None:
        meant = integer_meant(value) or _end_meant(value)
        is_meant = meant is not None and min <= meant <= max
        if meant is None or not is_meant:
            meant = 0 if name == "threads" else example or (min if min > 1 else 1)
        if is_meant and isinstance(value, (list, tuple)) and len({*value}) > 1:
            remark, is_meant = ", and a call for each other value", False
        raise WrongType(
            (_mention(name), f" must be an integer, not {type(value).__name__} {value_text(value)}"),
            fix=(_mention(name, meant), *[remark] * bool(remark and not is_meant)),
            option=name,
        )
    if not min <= number <= max:
        low = number < min
        raise OptionError(
            (_mention(name, number), " is out of range"),
            limit=f"{min} or more" if low else f"at most {max}",
            fix=(_mention(name, min), ", or more") if low else (_mention(name, max), ", or less"),
            option=name,
            value=number,
        )
    return number


def refuse_bool(id: object) -> None:
    """Raises `WrongType` for a bool, which Python counts as the integer 0 or 1, in the place of an id."""
    if isinstance(id, bool):
        raise WrongType(f"id {id} is bool, not an integer", fix="tok.encode(text) gives ids")


def integer_id(id: object) -> int:
    """`id` as an int, in the vocabulary or not. Raises `WrongType`."""
    refuse_bool(id)
    try:
        return operator.index(cast("SupportsIndex", id))
    except TypeError:
        fact = f"an id is an integer, not {type(id).__name__} {value_text(id)}"
        raise WrongType(fact, fix="use an id that encode returned") from None


def refuse_masked(ids: object, fix: str = "ids.compressed(), which leaves the masked ones out") -> None:
    """Raises `WrongType` for a masked array, whose masked ids the engine would read."""
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(ids, masked.MaskedArray):
        raise WrongType("ids are a masked array", limit="an array without a mask", fix=fix)


def refuse_spans(ids: object) -> None:
    """Raises `WrongType` for (ids, spans), the result of `Tokenizer.encode_with_offsets`, which is no batch."""
    shapes = [getattr(each, "shape", ()) for each in ids] if isinstance(ids, (list, tuple)) and len(ids) == 2 else []
    if shapes and len(shapes[0]) == 1 and shapes[1] == (*shapes[0], 2):
        fix = "ids, spans = tok.encode_with_offsets(text); tok.decode(ids)"
        raise WrongType("these are ids and the spans of each in the text, not only ids", fix=fix)


def check_index(index: object, call: str, n: int) -> int:
    """`index` as an int; `call` is a call that takes one, `data.document({})`, of `n` values.

    Raises `WrongType` for anything but an integer; the fix makes the call with the index that is meant.
    """
    try:
        return operator.index(cast("SupportsIndex", index))
    except TypeError:
        pass
    kind = type(index).__name__
    index = index.tolist() if hasattr(index, "tolist") else index
    meant = None if isinstance(index, (list, tuple)) else integer_meant(index)
    fix = call.format("i") + ", for an integer i" if meant is None else call.format(meant)
    part = text_as_slice(index) if isinstance(index, str) else index
    if isinstance(part, slice) and all(type(each) in (int, type(None)) for each in (part.start, part.stop)):
        fix = f"[{call.format('i')} for i in {range(n)[part.start : part.stop]}]"
    elif isinstance(index, (list, tuple)) and all(type(each) is int for each in index):
        fix = f"[{call.format('i')} for i in {short_text(index, 'indices')}]"
    is_many = isinstance(index, (list, tuple)) and len(index) > _MAX_INDICES
    shown = f"{kind} of {len(index):,}" if is_many else f"{kind} {value_text(index)}"  # type: ignore[arg-type]
    raise WrongType(f"an index is an integer, not {shown}", fix=fix, option="index")


def check_bool(name: str, value: object) -> None:
    """Raises `WrongType` unless `value` is True or False."""
    if not isinstance(value, bool):
        is_no = value is None or (isinstance(value, str) and value.strip().lower() in _NO)
        is_yes = isinstance(value, str) and value.strip().lower() in _YES
        meant = bool(value) if isinstance(value, (int, float)) else True if is_yes else False if is_no else None
        both = (Setting(name, True), ", or ", Setting(name, False))
        raise WrongType(
            (Setting(name), f" is True or False, not {type(value).__name__} {value_text(value)}"),
            fix=both if meant is None else (Setting(name, meant),),
            option=name,
        )


def check_type(name: str, value: object, kind: type, fix: str) -> None:
    """Raises `WrongType` unless the argument is None or a `kind`; `fix` is one, in Python."""
    if value is not None and not isinstance(value, kind):
        fact = (Setting(name), f" must be a {kind.__name__}, not {type(value).__name__} {value_text(value)}")
        raise WrongType(fact, fix=fix, option=name)


_YES = ("true", "yes", "y", "on", "1", "t")
_NO = ("false", "no", "n", "off", "0", "f", "none", "never", "")


def check_threads(value: int) -> int:
    """`value`, if it is a number of threads; 0 means all. Raises `OptionError`, `WrongType`."""
    try:
        return check_int("threads", value, 0, MAX_THREADS)
    except OptionError as error:
        error.limit = f"0 to {MAX_THREADS}; this machine has {os.cpu_count() or 1} cores"
        error.fix = (Setting("threads", 0), ", which is all cores")
        raise


def _mention(name: str, *value: int) -> Setting | str:
    """An option by its name, anything else in words."""
    return Setting(name, *value) if name.isidentifier() else " ".join((name, *map(value_text, value)))


def integer_meant(value: object) -> int | None:
    """The integer that a float or a text such as `0.4k` spells; of several, the largest: slices of it are others.

    An array or a tensor of one value is that value, and a number of `500 tokens` is 500.
    """
    value = scalar(value)
    if type(value) is int:
        return value
    if isinstance(value, (list, tuple)):
        return max((each for each in value if type(each) is int), default=None)
    if isinstance(value, float) and (value.is_integer() or 2 <= value < U64):
        return int(value)
    return parse_size(_COUNTED.sub("", value)) if isinstance(value, str) else None


_COUNTED = re.compile(r"(?<=\d)\s+(tokens?|ids?|words|characters|chars|documents|docs|texts|bytes|threads|cores)\s*$")
"""What a number in a text counts."""


def _end_meant(value: object) -> int | None:
    """The number that a range from 0 up stands for, also as a slice or as a text such as `0:280` and `[:280]`."""
    if isinstance(value, str):
        value = text_as_slice(value)
    if isinstance(value, (range, slice)) and not value.start and value.step in (None, 1):
        return value.stop if type(value.stop) is int else None
    return None


def text_as_slice(text: str) -> slice | None:
    """The slice that a text such as `0:280` or `[:280]` spells; None for another text."""
    found = _SLICE.fullmatch(text)
    return slice(*(int(end) if end else None for end in found.groups())) if found else None


_SLICE = re.compile(r"\[?\s*(\d{0,18})\s*:\s*(\d{0,18})\s*\]?", re.ASCII)


Item = TypeVar("Item")


def as_list(items: Iterable[Item]) -> list[Item]:
    """The items as a list, by a loop of Python: `list` of an iterator in C without an end would never hear Ctrl-C."""
    return [item for item in items]  # noqa: C416


BYTES_LIKE = (bytes, bytearray, memoryview)


def check_text(x: object) -> Text:
    """`x`, if it is one text. Raises `WrongType` with what to call instead."""
    if isinstance(x, (str, *BYTES_LIKE)):
        return x
    if isinstance(x, os.PathLike):
        raise WrongType(f"{str(x)!r} is a path, not text", fix="read the file, or tok.encode_files([path], out)")
    if isinstance(x, (list, tuple)):
        if are_segments(x):
            raise not_one_text(x, f"tok.encode_segments({short_text(x, 'parts')}).ids")
        raise not_one_text(x, f"tok.decode({short_text(x, 'ids')})" if are_ids(x) else _batch_call(x))
    held = x.tolist() if hasattr(x, "tolist") else None
    if are_texts(held):
        raise not_one_text(x, _batch_call(held))
    found = _buffer(x)
    if found is None:
        refuse_table(x)
        fix = "tok.decode(ids)" if are_ids(x) else _call_of_many(x) or "tok.encode(text), for the text as a str"
        if are_segments([x]):
            fix = f"tok.encode_segments({segment_list(x)}).ids"
        if type(x) in (int, float) and not is_missing(x):
            digits = short_text(x, "x")
            whole = f" for its digits, or tok.decode([{digits}]) for an id" * isinstance(x, int)
            fix = f"tok.encode({f'str({digits})' if digits == 'x' else repr(digits)})" + whole
        if hasattr(x, "read"):
            name = getattr(x, "name", None)
            fix = f"tok.encode({f'open({name!r})' if isinstance(name, str) else 'file'}.read())"
        if isinstance(x, Mapping):
            one, many = text_in(x, "record"), texts_in(x, brackets=True)
            fix = map_call(x) or (one and f"tok.encode({one})") or (many and f"tok.encode_batch({many})") or fix
        if is_missing(x):
            fix = "tok.encode(text if isinstance(text, str) else '')"
        raise WrongType(f"text must be str or bytes, not {type_shown(x)}", fix=fix)
    return found


_MAX_SHOWN = 60
"""Characters of a text that an error shows whole."""


def utf8_of(text: str, what: str = "text", *, handler: str = "strict") -> bytes:
    """A text as UTF-8; `handler` is that of `str.encode`, `what` names the text. Raises `InvalidText`."""
    try:
        return text.encode("utf-8", handler)
    except UnicodeEncodeError as error:
        from slmtok.surrogates import invalid_text

        where = f"character {error.start} of {repr(text) if len(text) <= _MAX_SHOWN else what}"
        raise invalid_text(text, None, error.start, what, where) from None


def _batch_call(texts: object) -> str:
    """The call that encodes a list of texts."""
    if _is_called_by("datasets"):
        # Its `map` refuses a `Ragged` as a column, and the texts differ from batch to batch.
        return "list(tok.encode_batch(texts))"
    return f"tok.encode_batch({short_text(texts, 'texts') if are_texts(texts) else 'texts'})"


def _is_called_by(package: str) -> bool:
    """Whether a function of a package is among the callers."""
    frame = sys._getframe() if package in sys.modules else None
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] != package:
        frame = frame.f_back
    return frame is not None


def _call_of_many(x: object) -> str | None:
    """The call that takes an iterable in place of one text, by its first value; None for others and empty ones."""
    if isinstance(x, Iterator):
        # Looking at a value of an iterator would take it away.
        return "tok.encode_batch(texts), where it gives texts"
    first = next(iter(x), None) if isinstance(x, Iterable) and not isinstance(x, Mapping) else None
    if isinstance(first, (str, *BYTES_LIKE)):
        return "tok.encode_batch(texts)"
    if rows := texts_of_rows(first):
        return f"tok.encode_batch([{rows}])"
    return "tok.decode(ids)" if type(first) is int and isinstance(x, Sequence) else None


def are_texts(x: object) -> bool:
    """Whether a value is a list or tuple of texts, where one text is expected."""
    return isinstance(x, (list, tuple)) and len(x) > 0 and all(isinstance(each, (str, *BYTES_LIKE)) for each in x)


def not_one_text(x: object, fix: str) -> WrongType:
    """The error for several texts in place of one."""
    return WrongType(f"a {type(x).__name__} is not one text", fix=fix)


def _buffer(x: object) -> memoryview | None:
    """A view of a contiguous buffer of bytes (numpy's uint8, `array('B')`, mmap), else None."""
    try:
        view = memoryview(x)  # type: ignore[arg-type]  # raises for other types
    except (TypeError, ValueError, BufferError):
        return None
    return view if view.format == "B" and view.ndim == 1 and view.c_contiguous else None


def refuse_table(xs: object, call: Callable[[str], str] | None = None) -> None:
    """Raises `WrongType` for a table (pandas, polars, pyarrow), whose iteration gives names of columns or columns.

    call: what takes the texts of a column, for a function that does not take the column itself.
    """
    columns = getattr(xs, "columns", None)
    if not isinstance(columns, Iterable) or not (hasattr(xs, "__getitem__") and hasattr(xs, "__len__")):
        return
    names = list(getattr(xs, "column_names", columns))
    kind, is_arrow = type(xs).__name__, hasattr(xs, "to_pylist")
    texts = [name for name in names if _holds_text(xs[name])]
    chosen = next((name for name in texts if name == "text"), texts[0] if len(texts) == 1 else None)
    column = f"table[{chosen!r}].to_pylist()" if is_arrow else f"df[{chosen!r}]"
    fix = call(column) if call else f"slmtok.Texts({column})" if is_arrow else column
    raise WrongType(
        f"a {kind} is a table, not texts",
        limit=f"columns: {', '.join(map(str, names))}",
        fix=fix if chosen is not None else "give the column that holds the text",
    )


def _holds_text(column: Iterable[object]) -> bool:
    """Whether the first value of a column is text."""
    first = next(iter(column), None)
    return isinstance(first.as_py() if hasattr(first, "as_py") else first, str)


def texts_of_one(text: object) -> str:
    """One text, or that of the file which it names, as a list of texts, where many are expected: `['the cat']`.

    A long text is the variable `text`.
    """
    if is_file_name(text):
        return f"[open({os.fspath(cast('str', text))!r}, encoding='utf-8').read()]"
    return short_text([text], "[text]")


def check_texts(xs: object, call: str) -> Sequence[Text]:
    """`xs` as a sequence of texts. Raises `WrongType` for a lone text or path."""
    if isinstance(xs, (str, *BYTES_LIKE)):
        raise WrongType(
            f"{call} takes many texts, this is one {type(xs).__name__}", fix=f"tok.{call}({texts_of_one(xs)})"
        )
    if isinstance(xs, os.PathLike):
        fix = f"tok.{call}({texts_of_one(xs)})" if is_file_name(xs) else "tok.encode_files([path], out)"
        raise WrongType(f"{str(xs)!r} is a path, not texts", fix=fix)
    if isinstance(xs, (list, tuple)):
        texts: Sequence[object] = xs  # before the checks of abstract classes, which cost half a microsecond
    elif isinstance(xs, Mapping) and xs:
        fix = map_call(xs) or f"tok.{call}({texts_in(xs, brackets=True) or 'texts'})"
        raise WrongType(f"{call} takes many texts, not {type(xs).__name__}", fix=fix)
    else:
        refuse_table(xs)
        if isinstance(xs, Mapping) or not isinstance(xs, Iterable):
            raise WrongType(f"{call} takes many texts, not {type(xs).__name__}", fix=f"tok.{call}(['some text'])")
        texts = as_list(xs)
    for index, text in enumerate(texts):
        if not isinstance(text, (str, *BYTES_LIKE)):
            fact = f"text {index} is {type_shown(text)}, not str or bytes"
            raise WrongType(fact, fix=_texts_meant(xs, text, call))
    return cast("Sequence[Text]", texts)


def _texts_meant(xs: object, text: object, call: str) -> str:
    """What to call instead with texts of which one is neither str nor bytes."""
    if isinstance(text, os.PathLike):
        return "tok.encode_files(paths, out)"
    if held := texts_in(xs, first=text, brackets=True):
        return f"tok.{call}({held})"
    if isinstance(xs, (list, tuple)) and any(map(are_segments, xs)):
        rows = short_text(xs, "rows")
        if all(isinstance(row, (list, tuple)) for row in xs):
            return f"[tok.encode_segments(row).ids for row in {rows}]"
        return f"[tok.encode_segments(row if isinstance(row, (list, tuple)) else [row]).ids for row in {rows}]"
    if are_ids(xs):
        return "tok.decode(ids)"
    if are_ids(text):
        return "tok.decode_batch(ids)"
    row = text.tolist() if hasattr(text, "tolist") else text
    words = [*row] if isinstance(row, (list, tuple)) else []
    if words and all(isinstance(each, str) and not any(map(str.isspace, each)) for each in words):
        return f"tok.{call}([' '.join(words) for words in rows])"
    if in_rows := texts_of_rows(text):
        return f"tok.{call}([{in_rows}])"
    if isinstance(text, Mapping):
        return f"give texts; no field of the record is one: {', '.join(map(str, text)) or 'it has none'}"
    if is_missing(text):
        return f"tok.{call}({ALL_TEXTS})"
    if are_segments(xs):
        return f"tok.encode_segments({short_text(xs, 'parts')}).ids"
    return f"tok.{call}(arr.to_pylist())" if hasattr(text, "as_py") else "leave it out, or str(it)"


def are_ids(x: object) -> bool:
    """Whether what stands in the place of text is a list or an array of integers."""
    values = x.tolist() if hasattr(x, "tolist") else x
    return isinstance(values, (list, tuple)) and len(values) > 0 and all(type(each) is int for each in values)


ALL_TEXTS = "[text if isinstance(text, str) else '' for text in texts]"
"""In a fix: the texts, each missing one as an empty text, so that rows stay in their places."""
PRESENT_TEXTS = "[text for text in texts if isinstance(text, str)]"
"""In a fix: the texts without missing ones."""


def is_missing(value: object) -> bool:
    """Whether a value stands for a missing text in a column: None, NaN, and `NA` and `NaT` of pandas."""
    is_nan = isinstance(value, float) and value != value
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def type_shown(value: object) -> str:
    """The type of a value in an error; of a missing text also that it is one."""
    name = type(value).__name__
    if not is_missing(value):
        return name
    return f"{name}{'' if value is None else f' {value}'}, a missing text"


def check_choice(
    name: str, value: object, choices: Sequence[str], limit: str | None = None, elsewhere: Mapping[str, Message] = {}
) -> None:
    """Raises `OptionError` unless `value` is one of the choices; suggests the one that it is most like, else each.

    elsewhere: the fixes for values that another option has.
    """
    if not isinstance(value, str) or value not in choices:
        meant = closest(value, choices) if isinstance(value, str) else None
        foreign = nearest_name(value, choices)
        known = (Setting(name, meant),) if meant else any_of(name, choices)
        raise OptionError(
            (Setting(name, value), " is unknown" + (f"; did you mean {meant!r}?" if meant and not foreign else "")),
            limit=limit or ", ".join(choices),
            fix=(elsewhere.get(value.removesuffix("s")) if isinstance(value, str) else None)
            or ((Setting(name, foreign), nearest_remark(str(value), foreign)) if foreign else known),
            option=name,
            value=value,
        )


def check_errors(errors: str) -> None:
    """Raises `OptionError` unless `errors` names an error handler of `bytes.decode`."""
    try:
        codecs.lookup_error(errors)
        is_of_decode = errors not in _ENCODE_ONLY
    except (LookupError, TypeError, ValueError):
        is_of_decode = False
    if not is_of_decode:
        check_choice("errors", errors, _HANDLERS, f"as in bytes.decode: {', '.join(_HANDLERS)}")


_ENCODE_ONLY = ("xmlcharrefreplace", "namereplace")
_HANDLERS = ("replace", "strict", "ignore", "backslashreplace", "surrogateescape")


def check_recorded_names(paths: Iterable[str]) -> None:
    """Raises `OptionError` for a file name that is not UTF-8, which no JSON file can record."""
    for path in paths:
        try:
            path.encode()
        except UnicodeEncodeError:
            raise OptionError(
                f"the file name {path!r} is not UTF-8",
                limit="names are recorded in JSON",
                fix="give the file another name",
                option="corpus",
                path=path,
            ) from None


def expanded_home(path: str) -> str | None:
    """A path that begins with `~/`, as a shell expands it; None for other paths."""
    expanded = os.path.expanduser(path) if path == "~" or path.startswith("~/") else path  # noqa: PTH111
    return None if expanded == path else expanded


def refuse_home(output: str | os.PathLike[str]) -> None:
    """Raises `OptionError` for an output that begins with `~/`: a folder of that name would be made."""
    name = os.fspath(output)
    if expanded := expanded_home(name):
        fact = f"output {name!r} begins with '~', which slmtok does not expand"
        raise OptionError(fact, limit="a shell expands it at the beginning of a word", fix=repr(expanded), path=name)


def can_be_file_name(name: str | bytes) -> bool:
    """Whether a file can have this name: without a zero byte and characters that the file system cannot encode."""
    try:
        return b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        return False


MUST_BE_PATH = "it looks like text, not like a path"


def is_text(path: str | bytes) -> bool:
    """Whether a path is longer than any that a system takes; its parts, of which a text has many, are not looked at."""
    return len(path) > _MAX_PATH_BYTES


def check_output_name(name: str | bytes) -> None:
    """Raises `OptionError` for a name that no file can have, `Unreadable` for one that is too long."""
    if is_text(name):
        raise name_too_long(os.fsdecode(name))
    if not can_be_file_name(name):
        raise OptionError(f"output {name!r} holds a zero byte or a lone surrogate", fix="name it without")
    path = os.fsdecode(name)
    if max(map(len, map(os.fsencode, Path(path).parts)), default=0) > MAX_NAME_BYTES:
        raise name_too_long(path)


def name_too_long(path: str) -> Unreadable:
    """The error for a path that the system refuses for its length: the path, or the longest name in it, is blamed."""
    what, name, limit = "path", path, f"{_MAX_PATH_BYTES:,} bytes"
    if len(os.fsencode(path)) <= _MAX_PATH_BYTES:
        name = max(Path(path).parts, key=lambda part: len(os.fsencode(part)), default=path)
        what, limit = "name", f"{MAX_NAME_BYTES} bytes, and fewer on some encrypted disks"
    return Unreadable(
        f"the {what} {name[:40] + '…'!r} is too long: {len(os.fsencode(name)):,} bytes",
        where=MUST_BE_PATH if is_text(path) or "\n" in path else None,
        limit=limit,
        fix=f"give it a shorter {what}",
        path=path,
        os_error=errno.ENAMETOOLONG,
    )


NO_PATH = "the path of the file, as a str or a Path"
"""The fix for an object that tells no path: the path of another file would do something else."""


def check_path(path: object) -> str:
    """`path` as a str. Raises `WrongType`; its fix is the path that is meant."""
    if not isinstance(path, (str, os.PathLike)):
        meant = path_meant(path)
        fix = NO_PATH if meant is None else repr(meant)
        raise WrongType(f"a file is named by a str or a Path, not by {type(path).__name__}", fix=fix)
    if path == "":
        raise OptionError("the path is empty", fix=NO_PATH)
    return os.fspath(path)


def path_meant(path: object) -> str | None:
    """The only path of a list, that of an open file, or that of bytes; None for other objects."""
    if isinstance(path, (list, tuple)) and len(path) == 1 and isinstance(path[0], (str, os.PathLike)):
        return os.fspath(path[0])
    if isinstance(path, io.IOBase):
        named = getattr(path, "name", None)
        return named if isinstance(named, str) else None
    return os.fsdecode(path) if isinstance(path, bytes) and path and b"\n" not in path else None
