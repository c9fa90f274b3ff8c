"""Where the text of a record of JSON is: the names on the way to it, and a program that follows them.

The program takes rows as they are: a value that is null, absent or of another type has no text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from slmtok.record_texts import LIKELY_FIELDS, field_of_texts


class TextPath(NamedTuple):
    """The names on the way to a text, through lists too; None is each value of an object whose keys are ids.

    joint: between the texts of a list that holds some; those of records are lines. is_partial: a text before the last
    name is the text, as of messages of which only some have parts.
    """

    names: tuple[str | None, ...]
    joint: str = "\n"
    is_partial: bool = False

    def call(self, variable: str = "row") -> str:
        """The expression for the text in a variable, by `text_function`; it is empty where there is none."""
        names = ["None" if name is None else literal(name) for name in self.names]
        return f"text({', '.join([variable, literal(self.joint), *names])})"


def literal(text: str) -> str:
    """A text in a program, in quotes that a shell does not need to escape within its own."""
    return json.dumps(text, ensure_ascii=False)


def text_function(paths: Sequence[TextPath]) -> str:
    """The statement that defines `text` for these paths."""
    is_text = _IS_TEXT if any(path.is_partial for path in paths) else f"{_IS_TEXT} and not names"
    has_ids = any(None in path.names for path in paths)
    inner = _INNER_OF_IDS if has_ids else _INNER
    return (
        f"text = lambda value, joint, *names: value if {is_text} else "
        "(joint if str in map(type, value) else chr(10)).join(filter(None, (text(each, joint, *names) "
        f"for each in value))) if isinstance(value, list) else text({inner}, joint, *names[1:]) "
        "if names and isinstance(value, dict) else str()"
    )


_IS_TEXT = "isinstance(value, str)"
_INNER = "value.get(names[0])"
_INNER_OF_IDS = f"[*value.values()] if names[0] is None else {_INNER}"


def path_in(record: object) -> TextPath | None:
    """The way to the text of a record: a field, its words, or the texts of the records in it; None for no record."""
    if not isinstance(record, Mapping):
        return None
    texts = [name for name, value in record.items() if isinstance(value, str)]
    name = next((name for name in LIKELY_FIELDS if name in texts), None)
    if name is None and (likely := field_of_texts([record])) is not None:
        return _through(likely, path_of_list(record[likely]))
    if name is not None or texts:
        # A text is longer than what names or classes it.
        return TextPath((name or max(texts, key=lambda each: len(record[each])),))
    found = (_through(name, path_of_list(value)) for name, value in record.items())
    return next((path for path in found if path is not None), None)


def path_of_list(value: object) -> TextPath | None:
    """The way to the text of words, of a list of records, or of an object; None for other values."""
    if is_of_ids(value):
        path = path_of_list([*value.values()])  # type: ignore[attr-defined]  # it is an object
        return path and _through(None, path._replace(joint="\n"))
    if not isinstance(value, (list, tuple)) or not value:
        return path_in(value)
    are_texts = [isinstance(each, str) for each in value]
    if all(are_texts):
        return TextPath((), " ")
    if (name := field_of_texts(value)) is None:
        return path_in(value[0])
    held = [each.get(name) for each in value if isinstance(each, Mapping)]
    parts = [part for each in held if isinstance(each, list) for part in each]
    below = (path_of_list(parts) if parts else None) or TextPath(())
    # Texts beside records with text are pieces of one text, with their white space.
    joint = "" if any(are_texts) else below.joint
    return TextPath((name, *below.names), joint, is_partial=bool(parts) or any(are_texts))


def _through(name: str | None, path: TextPath | None) -> TextPath | None:
    return path and path._replace(names=(name, *path.names))


_ID = re.compile(r"\d+|(?=.*\d)[0-9A-Fa-f_-]{8,}")


def has_ids(value: Mapping[str, Any]) -> bool:
    """Whether all keys of an object are ids, as those of the rows of a column."""
    return all(isinstance(each, str) and _ID.fullmatch(each) for each in value)


def is_of_ids(value: object) -> bool:
    """Whether the keys of an object are ids of records or texts, and not the names of its fields."""
    if not isinstance(value, Mapping) or not value:
        return False
    held, names = [*value.values()], [each for each in value if isinstance(each, str)]
    are_ids = all(map(_ID.fullmatch, names))
    if all(isinstance(each, Mapping) for each in held):
        are_rows = len(held) > 1 and bool(held[0]) and all(each.keys() == held[0].keys() for each in held)
        return are_ids or (are_rows and not has_ids(held[0]))
    return are_ids and all(isinstance(each, str) for each in held)


def texts_in(record: Mapping[str, Any], before: tuple[str | None, ...] = ()) -> Iterator[tuple[TextPath, str]]:
    """The texts in a record, in its lists and its objects, each with the way to it."""
    for name, value in record.items():
        yield from _texts_of(value, (*before, name))


def _texts_of(value: Any, names: tuple[str | None, ...]) -> Iterator[tuple[TextPath, str]]:
    if isinstance(value, str):
        yield TextPath(names), value
    elif isinstance(value, list) or is_of_ids(value):
        names = names if isinstance(value, list) else (*names, None)
        for each in value if isinstance(value, list) else value.values():
            yield from _texts_of(each, names)
    elif isinstance(value, Mapping):
        yield from texts_in(value, names)
