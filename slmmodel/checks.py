"""Types of arguments that users pass: paths, ids, integers. Each error says what the caller may have meant."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping, Set

from slmmodel.errors import OptionError, WrongType


def check_path(name: str, value: object) -> str:
    """`value` as a str. Raises `WrongType`, `OptionError` for an empty one."""
    if not isinstance(value, str | os.PathLike) or isinstance(path := os.fspath(value), bytes):
        raise WrongType(f"{name} is named by a str or a Path, not by {_described(value)}", fix=f"{name}='folder'")
    if not path:
        raise OptionError(f"{name} is empty", fix=f"{name}='folder'", option=name)
    return path


def check_int(name: str, value: object, least: int | None = 0) -> int:
    """`value` as an int from `least` up, or any; `bool` and `float` are none. Raises `WrongType`, `OptionError`."""
    number = _integer(value)
    if number is None:
        raise WrongType(f"{name} must be an integer, not {_described(value)}", fix=f"{name}={max(least or 0, 1)}")
    if least is not None and number < least:
        raise OptionError(f"{name} is {number}", limit=f"{least} or more", fix=f"{name}={least}, or more", option=name)
    return number


def check_bool(name: str, value: object) -> None:
    """Raises `WrongType` for what is not True or False: a text such as `no` would count as True."""
    if not isinstance(value, bool):
        raise WrongType(f"{name} must be True or False, not {_described(value)}", fix=f"{name}=True")


def check_ids(ids: object) -> list[int]:
    """Ids of one sequence as a list; takes lists, and arrays and tensors of one dimension. Raises `WrongType`."""
    if isinstance(ids, str | bytes):
        raise WrongType(
            f"ids are integers, not {_described(ids)}",
            fix="slmmodel.app.load(run) takes text; or tok.encode_list(text)",
        )
    given = ids.tolist() if hasattr(ids, "tolist") else ids
    if isinstance(given, Mapping | Set) or not isinstance(given, Iterable):
        raise WrongType(f"ids are a list of integers, not {_described(ids)}", fix="[1, 300, 301]")
    found = []
    for index, id in enumerate(given):
        number = _integer(id)
        if number is None:
            fix = "one sequence of ids a call" if isinstance(id, list | tuple) else "tok.encode_list(text)"
            raise WrongType(f"id {index} is {_described(id)}, not an integer", fix=fix)
        found.append(number)
    return found


def _integer(value: object) -> int | None:
    """What Python takes for an index: int, integers of numpy and torch; not bool."""
    try:
        return None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def _described(value: object) -> str:
    """The value with its type, cut to a line."""
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 40 else text[:37] + '...'}"
