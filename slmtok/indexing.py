"""Errors for results that are indexed by a name, as a dict is: they name the attribute."""

from __future__ import annotations

from typing import Any, TypeVar

from slmtok.errors import WrongType, suggestion

Result = TypeVar("Result", bound=type[Any])


def explains_indexing(target: Result) -> Result:
    """Decorates the class of a result: indexing one raises `WrongType` with the attribute that is meant.

    A named tuple keeps its indices. Type checkers keep their errors, as they would not with a method in the class.
    """
    target.__getitem__ = _item
    return target


def _item(result: Any, key: Any) -> Any:
    if isinstance(result, tuple) and not isinstance(key, str):
        return tuple.__getitem__(result, key)
    kind = type(result)
    known = {each for each in dir(result) if not callable(getattr(kind, each, None))}
    known |= {*getattr(kind, "__dataclass_fields__", ())}
    names = sorted(each for each in known if not each.startswith("_"))
    meant = key if key in names else suggestion(str(key), names)
    # The text of a document is bytes, and elsewhere a str.
    is_bytes = isinstance(result, tuple) and isinstance(getattr(result, meant or "", None), bytes)
    of_result = f"{'bytes ' * is_bytes}of the {kind.__name__} result"
    fix = f"result.{meant}, {of_result}" if meant else "result.NAME, with the name of an attribute"
    elsewhere = getattr(result, "_elsewhere", None) if isinstance(key, str) else None
    if not meant and elsewhere and (stands := elsewhere(key)):
        fix = stands
    elif not meant and callable(getattr(kind, "items", None)):
        # The items of counts: pieces of text, which are bytes.
        piece = key.encode("utf-8", "replace") if isinstance(key, str) else key
        fix = f"dict(result.items())[{piece!r}]" if isinstance(piece, bytes) else "result.items(), a list of pairs"
    raise WrongType(
        f"a result of type {kind.__name__} has attributes, and no item {key!r}",
        limit=f"attributes: {', '.join(names)}",
        fix=fix,
    )
