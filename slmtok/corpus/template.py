"""What the text of a record is made of: one field, or several with words between them.

A template is text with names of fields in braces, `{title}\\n{body}`; `{{` and `}}` are braces. Values are text or
whole numbers; anything else is a malformed record, because no spelling of it is the obvious one.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slmtok.errors import InvalidOption, MalformedRecord, WrongType

_LIKELY = ("text", "content", "body", "raw_content")


@dataclass(frozen=True)
class Template:
    """Literal bytes around fields: `literals[0] fields[0] literals[1] ... literals[-1]`."""

    literals: tuple[bytes, ...]
    fields: tuple[str, ...]
    spelled: str | None
    """As the user wrote it; None where one field alone was named."""

    @classmethod
    def of_field(cls, name: str) -> Template:
        """The one field `name`, with nothing around it."""
        return cls((b"", b""), (name,), None)

    @classmethod
    def parse(cls, text: str) -> Template:
        """Raises `InvalidOption` for a template without a field or with stray braces, `WrongType`."""
        if not isinstance(text, str):
            raise WrongType(
                f"text_template= must be a str, not {type(text).__name__}", fix="text_template='{title}\\n{body}'"
            )
        literals, fields = [b""], []
        try:
            for literal, name, spec, conversion in string.Formatter().parse(text):
                literals[-1] += literal.encode()
                if name is None:
                    continue
                if not name or spec or conversion:
                    raise ValueError("a field is a name in braces and nothing else")
                fields.append(name)
                literals.append(b"")
        except ValueError as error:
            raise InvalidOption(
                f"text_template={text!r} is not a template: {error}",
                limit="text with fields in braces; {{ and }} are braces themselves",
                fix="text_template='{title}\\n{body}'",
                option="text_template",
            ) from None
        if not fields:
            raise InvalidOption(
                f"text_template={text!r} names no field, so all documents would be the same",
                limit="at least one field in braces",
                fix="text_template='{title}\\n{body}'",
                option="text_template",
            )
        return cls(tuple(literals), tuple(fields), text)

    @property
    def numbered(self) -> bool:
        """Whether all fields are numbers from 1: columns of a table without a header line."""
        return all(name.isascii() and name.isdecimal() and int(name) >= 1 for name in self.fields)

    def fill(self, values: Sequence[bytes]) -> bytes:
        """The text, `values` being those of `fields`."""
        if len(values) == 1 and self.spelled is None:
            return values[0]
        parts = [self.literals[0]]
        for value, literal in zip(values, self.literals[1:], strict=True):
            parts.append(value)
            parts.append(literal)
        return b"".join(parts)

    def text_of(self, record: Mapping[str, Any]) -> bytes:
        """The text of a record. Raises `MalformedRecord` for a field that is absent, or is neither text nor number."""
        values: list[bytes] = []
        for name in self.fields:
            if name not in record:
                raise self.missing(name, record)
            values.append(self.value(name, record[name]))
        return self.fill(values)

    def value(self, name: str, value: object) -> bytes:
        """One field's value as bytes. Raises `MalformedRecord`."""
        if isinstance(value, str):
            return encoded(value)
        if isinstance(value, bytes):
            return value
        if self.spelled is not None and isinstance(value, int) and not isinstance(value, bool):
            return str(value).encode()
        raise MalformedRecord(
            f"field {name!r} of the record is {kind(value)}, not text",
            fix="skip_malformed=True to leave such records out",
        )

    def missing(
        self, name: str, record: Mapping[str, object], fact: str | None = None, are: str = "fields"
    ) -> MalformedRecord:
        """The error for a record without the field `name`, with the fields that it has."""
        fields = ", ".join(sorted(map(str, record))) or "none"
        fact = f"{fact or f'record has no field {name!r}'} ({are}: {fields})"
        if self.spelled is not None:
            return MalformedRecord(fact, fix="name another field in text_template=")
        texts = [key for key, value in record.items() if isinstance(value, (str, bytes))]
        likely = next((key for key in _LIKELY if key in texts), None)
        if likely is None and len(texts) == 1:
            likely = texts[0]
        return MalformedRecord(fact, fix=f"text_key={likely!r}" if likely else "text_key='NAME'")


def encoded(text: str) -> bytes:
    """UTF-8. Raises `MalformedRecord` for a lone surrogate."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise MalformedRecord(
            f"record has a lone surrogate U+{ord(text[error.start]):04X} at character {error.start:,} of its text",
            fix="skip_malformed=True to leave such records out; they are counted in the summary",
        ) from None


def kind(value: object) -> str:
    """What a value is, in the words of JSON."""
    if value is None:
        return "null"
    names = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "an object"}
    return names.get(type(value), f"of type {type(value).__name__}")
