"""Types of arguments that users pass: paths, ids, integers. Each error says what the caller may have meant."""

from __future__ import annotations

import difflib
import errno
import operator
import os
import re
import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Set, Sized
from contextlib import contextmanager, suppress
from pathlib import Path

from slmmodel.callbacks import unlike_function
from slmmodel.errors import (
    MAX_SHOWN,
    Fix,
    MissingInput,
    OptionError,
    UnsupportedFormat,
    WrongType,
    first_row,
    unwritten,
)
from slmmodel.sizes import parse_count, parse_share

MIN_RESAMPLES = 100
"""Fewer resamples have no 2.5 % tails to read an interval of 95 % from; of one resample its width is 0."""
MAX_INT = (1 << 63) - 1
"""The most that a fix proposes for an integer without a limit of its own."""
_MISSING = (errno.ENOENT, errno.ENOTDIR, errno.EACCES)
"""Errors of `stat` for paths that are sound, and are reported where they are opened."""


_SAVED_IDS = (
    "import json, numpy, pathlib; numpy.save('ids.npy', ids); "
    "pathlib.Path('vocab.json').write_text(json.dumps(tok.metadata()))"
)
"""Writes ids of the tokenizer `tok` to a file that is read as data, with what the ids stand for."""


def are_ids(value: object) -> bool:
    """Whether a value is a list or an array of integers; of a list the first one decides."""
    if isinstance(value, list | tuple):
        return bool(value) and _integer(value[0]) is not None
    return hasattr(value, "shape") and "int" in str(getattr(value, "dtype", ""))


def path_of(value: object) -> str | None:
    """The path of what an object has opened, such as a run, data or an array in a file; None for other objects."""
    names = ("path", "folder", "filename", "out", *(["name"] if hasattr(value, "read") else []))
    found = [each for each in (getattr(value, name, None) for name in names) if isinstance(each, str | os.PathLike)]
    if found:
        return os.fspath(os.path.relpath(found[0]))
    shards = getattr(value, "paths", None)
    if isinstance(shards, list | tuple) and shards and isinstance(shards[0], str | os.PathLike):
        return os.path.relpath(folder_of(shards[0]))
    inside = (getattr(value, name, None) for name in ("dataset", "source", "run"))
    return next((path for each in inside if each is not None and (path := path_of(each))), None)


@contextmanager
def naming_split(data: object, split: str | None) -> Iterator[None]:
    """An error about an object in the place of the path of data names its split too; without it, another is scored."""
    try:
        yield
    except WrongType as error:
        found = [getattr(each, "split", None) for each in (data, getattr(data, "dataset", None))]
        own = next((each for each in found if isinstance(each, str)), None)
        if split is None and own is not None and path_of(data) is not None:
            error.fix = f"{error.fix}, split={own!r}"
        raise


def _of_path(name: str) -> str:
    """The fix for an argument that names no path. A name that exists would open something else."""
    return f"{name}=PATH, the name of a file or folder"


def check_path(name: str, value: object, of_text: str = "") -> str:
    """`value` as a str. Raises `WrongType`, `OptionError` for an empty one.

    `of_text` is what takes texts in place of a path, with `{}` for a list of them.
    """
    if not isinstance(value, str | os.PathLike) or isinstance(path := os.fspath(value), bytes):
        is_texts = isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
        texts = f", or {of_text.format('texts')}" if of_text and is_texts else ""
        named = path_of(value)
        fix = (f"{name}={named!r}" if named else _of_path(name)) + texts
        if of_text and named is None and are_ids(value):
            fix = f"{_SAVED_IDS}, then {name}='ids.npy'"
        raise WrongType(f"{name} is named by a str or a Path, not by {_described(value)}", fix=fix)
    if not path:
        raise OptionError(f"{name} is empty", fix=_of_path(name), option=name)
    try:
        os.stat(path)  # noqa: PTH116
    except (OSError, ValueError) as error:
        if isinstance(error, ValueError) or error.errno not in _MISSING:
            reason = str(error) if isinstance(error, ValueError) else error.strerror
            fact = f"{name} is no path of a file or folder: {reason}"
            fix = "the name of a file or folder"
            if of_text:
                call = of_text.format("[text]")
                own = "text" if "[text]" in call else "texts"
                fix = f"{call}, for text; else {fix}; {own} stands for your own value"
            raise OptionError(fact, where=_described(path), fix=fix, option=name) from None
    return path


def check_working_folder(fix: str = "os.chdir('/'), or to another folder that exists") -> None:
    """Raises `MissingInput` where the working folder was removed and torch is not loaded: a library of torch would end
    the process.
    """
    try:
        os.getcwd()  # noqa: PTH109  (a path of ours has no cwd)
    except OSError:
        if "torch" not in sys.modules:
            raise MissingInput("the working folder was removed", fix=fix, path=".") from None


def folder_of(path: str | os.PathLike[str]) -> Path:
    """The folder of a path, or the nearest one above it that exists."""
    parents = Path(path).parents
    return next((each for each in parents if os.path.isdir(each)), Path(path).parent)  # noqa: PTH112


def place_of_missing(path: str | os.PathLike[str]) -> str:
    """Where a path does not exist, for an error: its folder, or the first folder of it that does not exist either."""
    lost = [each for each in Path(path).parents if not os.path.isdir(each)]  # noqa: PTH112
    if lost:
        return f"there is no folder {str(lost[-1])!r}"
    folder = Path(path).parent
    with suppress(OSError):
        # A working folder that was removed has no path.
        return str(folder) if folder.parts else f"the working folder {folder.absolute()}"
    return str(folder)


def similar_name(path: str | os.PathLike[str]) -> str | None:
    """The fix for a missing path that names what lies in its folder under a similar name; None where nothing does."""
    folder = Path(path).parent
    try:
        near = difflib.get_close_matches(Path(path).name, os.listdir(folder), n=1, cutoff=0.8)  # noqa: PTH208
    except OSError:
        return None
    return f"check the name: there is {str(folder / near[0])!r}" if near else None


_ADDRESS = re.compile("[a-z0-9]{2,}://?")
"""`Path` leaves one slash of two."""


def is_address(path: str) -> bool:
    """Whether a path is an address such as `https://...`, and nothing in the folder that its first part names."""
    return _ADDRESS.match(path) is not None and not os.path.isdir(path.partition("/")[0])  # noqa: PTH112


_ADDRESS_OF_PATH = re.compile("(?:[a-z0-9]{2,}:|file://(?:localhost)?)(/[^/].*)", re.DOTALL)


def path_of_address(path: str) -> str | None:
    """The path that exists and that `file:///...`, or another kind of address before it, means; None for others."""
    address = _ADDRESS_OF_PATH.fullmatch(path)
    return address[1] if address and os.path.lexists(address[1]) else None


def missing_path(path: str, fix: Fix) -> MissingInput:
    """The error for a path that does not exist."""
    if meant := path_of_address(path):
        return MissingInput(f"{path!r} is an address", limit="a path of this system", fix=repr(meant), path=path)
    if is_address(path):
        fact = f"{path!r} is an address, and only files are read"
        return MissingInput(fact, fix="fetch it first, and name the copy", path=path)
    if "\\" in path and os.path.lexists(meant := path.replace("\\", "/")):
        return MissingInput(f"no file or folder {path!r}: '/' divides folders here", fix=repr(meant), path=path)
    return MissingInput(f"no file or folder {path!r}", where=place_of_missing(path), fix=fix, path=path)


def vocab_written_again(path: Path) -> str | None:
    """The fix for a lost or edited `vocab.json`: the command that writes it from the tokenizer beside it, if any is."""
    tokenizer = path.with_name("tok.json")
    if path.name != "vocab.json" or not tokenizer.is_file():
        return None
    words = ["slmtok", "vocab", str(tokenizer), "--metadata", "-o", str(path), *(["--force"] if path.exists() else [])]
    return f"{shlex.join(words)}, or restore the file"


def check_utf8(path: str | os.PathLike[str]) -> None:
    """Raises `UnsupportedFormat` for a name that is not UTF-8, which no configuration and no safetensors can hold."""
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        raise UnsupportedFormat(
            f"the name {os.fsencode(path)!r} is not UTF-8",
            limit="runs, their data and the folders above them have names in UTF-8",
            fix="rename it; mv takes any name",
        ) from None


def check_int(
    name: str,
    value: object,
    least: int | None = 0,
    example: int = 1,
    whole: tuple[int, str] | None = None,
    most: int = MAX_INT,
) -> int:
    """`value` as an int from `least` up, or any; `bool` and `float` are none.

    `example` is in the fix for a value that stands for no integer, or for one above `most`. whole: (number, unit) of
    which a share such as 0.5 is meant. Raises `WrongType`, `OptionError`.
    """
    number = _integer(value)
    if number is None:
        meant, limit = int_meant(value, example, least or 0, most), None
        if whole:
            number, unit = whole
            limit, share = f"a number of {unit}, not a share of {number}", parse_share(str(value))
            meant = max(round(share * number), least or 0) if share is not None and 0 < share < 1 else meant
        raise WrongType(f"{name} must be an integer, not {_described(value)}", limit=limit, fix=f"{name}={meant}")
    if least is not None and number < least:
        raise OptionError(f"{name} is {number}", limit=f"{least} or more", fix=f"{name}={least}, or more", option=name)
    return number


def check_bool(name: str, value: object) -> None:
    """Raises `WrongType` for what is not True or False: a text such as `no` would count as True."""
    if not isinstance(value, bool):
        is_no = value is None or value == 0 or str(value).strip().lower() in _NO
        raise WrongType(f"{name} must be True or False, not {_described(value)}", fix=f"{name}={not is_no}")


def check_type(name: str, value: object, kind: type, fix: str) -> None:
    """Raises `WrongType` unless the argument is a `kind`."""
    if not isinstance(value, kind):
        raise WrongType(f"{name} must be a {kind.__name__}, not {_described(value)}", fix=fix)


def check_report(name: str, report: object, arguments: str) -> None:
    """Raises `WrongType` unless the argument is None or a function that takes these arguments."""
    if report is not None and (kind := unlike_function(report, arguments)):
        raise WrongType(f"{name} must be a function of ({arguments}), not {kind}", fix=f"{name}=print")


_NO = ("false", "no", "n", "off", "0", "f", "none", "never", "")


COLUMNS = ("input_ids", "labels", "attention_mask", "token_type_ids")
"""Names of the tensors of a batch, which iterating over one gives."""
_OF_BATCH = "a batch is a dict of tensors by name; for batch in loader: x, y = batch.values()"


def refuse_column(ids: object, call: str) -> None:
    """Raises `WrongType` for the name of a column of a batch, and for a batch itself; `call` takes the ids in `{}`."""
    if isinstance(ids, str) and ids in COLUMNS:
        fact = f"{ids!r} is the name of a column of a batch, not its ids"
        raise WrongType(fact, limit=_OF_BATCH, fix=call.format("batch['input_ids']"))
    if isinstance(ids, Mapping) and "input_ids" in ids:
        raise WrongType(f"ids are a {type(ids).__name__} of columns", fix=call.format("batch['input_ids']"))


def check_ids(
    ids: object,
    of_text: str = "tok.encode_list(text), with the tokenizer of the run",
    call: str = "call(each)",
    opened: str = "",
) -> list[int]:
    """Ids of one sequence as a list; takes lists, and arrays and tensors of one dimension. Raises `WrongType`.

    `of_text` is the fix for a text, or a list of them. `call`, of the row `each`, is repeated for each of several rows;
    with `opened`, the call that opens a run, it is `.method(each)` of that run.
    """
    refuse_column(ids, opened + re.sub(r"\beach\b", "{}", call, count=1))
    if isinstance(ids, str | bytes | os.PathLike):
        raise WrongType(f"ids are integers, not {_described(ids)}", fix=of_text)
    refuse_masked(ids)
    given = ids.tolist() if hasattr(ids, "tolist") else ids
    if isinstance(given, Mapping | Set) or not isinstance(given, Iterable):
        raise WrongType(f"ids are a list of integers, not {_described(ids)}", fix="[1, 300, 301]")
    found = []
    for index, id in enumerate(given):
        number = _integer(id)
        if isinstance(id, list | tuple):
            n_rows = len(given) if isinstance(given, Sized) else 1
            are = "a batch of one sequence, not the sequence" if n_rows == 1 else f"{n_rows} sequences, not one"
            raise WrongType(f"ids are {are}", fix=call_of_rows(call, given, opened))
        if number is None:
            fix = of_text if isinstance(id, str) else "tok.encode_list(text)"
            if isinstance(id, float) and id.is_integer():
                fix = "ids.astype(int)" if type(ids).__module__ == "numpy" else "[int(id) for id in ids]"
            raise WrongType(f"id {index} is {_described(id)}, not an integer", fix=fix)
        found.append(number)
    return found


def call_of_rows(call: str, rows: Iterable[object], opened: str = "") -> str:
    """The fix for rows of ids in place of one sequence; `call` and `opened` are those of `check_ids`."""
    listed = list(rows)
    if len(listed) == 1:
        return opened + call.replace("(each", f"({first_row(listed)}", 1)
    given = str(listed) if len(str(listed)) <= MAX_SHOWN else "ids"
    load, run = (f"opened_run = {opened}; ", "opened_run") if opened else ("", "")
    return f"{load}[{run}{call} for each in {given}]  # one call for each sequence"


def refuse_masked(ids: object) -> None:
    """Raises `WrongType` for a masked array, whose masked ids are none."""
    import numpy as np

    if isinstance(ids, np.ma.MaskedArray):
        fix = "ids.compressed(), which leaves the masked ones out"
        raise WrongType("ids are a masked array", limit="an array without a mask", fix=fix)


def _integer(value: object) -> int | None:
    """What Python takes for an index: int, integers of numpy and torch; not bool."""
    try:
        return None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def warn_caller(message: str) -> None:
    """A `UserWarning` at the line of the program that called this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("slmmodel."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


def int_meant(value: object, example: int = 1, least: int = 0, most: int = MAX_INT) -> int:
    """The integer that a value is, or spells up to `most`; for others `example`. A fix repeats it in its place."""
    number, spelled = _integer(value), _spelled(value)
    if number is not None:
        return number
    return max(spelled if spelled and spelled <= most else example, least)


def _spelled(value: object) -> int | None:
    """The integer that a text such as `128` or `0.5k`, or a float such as 128.0, stands for; None for others."""
    if isinstance(value, str):
        return parse_count(value)
    return int(value) if isinstance(value, float) and value.is_integer() else None


def _described(value: object) -> str:
    """The value with its type, cut to a line."""
    if unwritable := unwritten(value):
        return unwritable
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 40 else text[:37] + '...'}"
