"""The text of a record: one field, or several in a template; and where a malformed record was found.

A template is text with names of fields in braces, `{title}\\n{body}`; `{{` and `}}` are braces. `{title|strip|lower}`
passes a value through filters, which keep bytes that are not UTF-8. Values are text or integers; anything else is a
malformed record, because it has several possible spellings.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from slmtok.corpus.json_values import LongInteger
from slmtok.errors import MalformedRecord, Setting, suggestion
from slmtok.option_values import BETWEEN_NAMES, FILTERS, parse_template
from slmtok.options import ReadOptions

LineParser: TypeAlias = Callable[[bytes, int], "bytes | Literal[False] | None"]
"""Called with a line and its number: the document, None for a record to skip and count, False for no record."""
SKIP: tuple[str | Setting, ...] = (Setting("skip_malformed", True), " to skip such records; the summary counts them")
"""The remedy for any malformed record."""
LIKELY_FIELDS = ("text", "content", "body", "raw_content")
"""Names of fields that usually hold text, the most usual first."""
_OF_PROMPTS = (
    *("system", "instruction", "context", "prompt", "question", "query", "input"),
    *("output", "response", "completion", "answer"),
)
"""Names of fields that hold a prompt and its answer, which are one text, in the order of reading."""
_OF_PAIRS = ("sentence_good", "sentence_bad")
"""Names of the fields of a minimal pair, as in BLiMP (Warstadt et al. 2020)."""


@dataclass(frozen=True)
class Template:
    """Literal bytes around fields: `literals[0] fields[0] literals[1] ... literals[-1]`. source: as written."""

    literals: tuple[bytes, ...]
    fields: tuple[str, ...]
    filters: tuple[tuple[str, ...], ...] = ()
    """The names of the filters of each field; () where no field has any."""
    source: str | None = None
    """None where the text is a single field, named by `text_key`."""
    max_bytes: int = sys.maxsize
    """Bytes of the text that a template makes."""

    @classmethod
    def parse(cls, text: str, max_bytes: int = sys.maxsize) -> Template:
        """Raises `OptionError` for a template without a field or with stray braces, `WrongType`."""
        literals, fields, filters = parse_template(text)
        return cls(literals, fields, filters if any(filters) else (), text, max_bytes)

    @property
    def numbered(self) -> bool:
        """Whether all fields are column numbers, from 1: the table has no header line."""
        return all(name.isascii() and name.isdecimal() and int(name) >= 1 for name in self.fields)

    def is_held_by(self, record: object) -> bool:
        """Whether a record has all fields, with text or without."""
        return isinstance(record, dict) and record.keys() >= {*self.fields}

    def fill(self, values: Sequence[bytes]) -> bytes:
        """The text for these values of `fields`. Raises `MalformedRecord` for more than `max_bytes`.

        A field may stand in a template many times.
        """
        if len(values) == 1 and self.source is None:
            return values[0]
        if sum(map(len, values)) + sum(map(len, self.literals)) > self.max_bytes:
            raise MalformedRecord(
                f"the template makes a text of more than {self.max_bytes:,} bytes of the record",
                limit=(Setting("max_doc_bytes", self.max_bytes),),
                fix=("raise ", Setting("max_doc_bytes"), ", or ", *SKIP),
            )
        if self.filters:
            values = list(map(_filtered, values, self.filters))
        parts = [self.literals[0]]
        for value, literal in zip(values, self.literals[1:], strict=True):
            parts.append(value)
            parts.append(literal)
        return b"".join(parts)

    def text_of(self, record: object, beside: Callable[[], Iterable[object]] = tuple) -> bytes:
        """The text of a JSON object. Raises `MalformedRecord` for another value, and for a field absent or no text.

        beside: gives the first records of the file, by which the error says which field holds the most text.
        """
        if not isinstance(record, dict):
            raise MalformedRecord(
                f"record is not a JSON object but {type_name(record)}",
                fix=(Setting("skip_malformed", True), ", or ", Setting("format", "text"), " for plain text"),
            )
        values: dict[str, bytes] = {}
        for name in self.fields:
            if name not in record:
                raise self.missing(name, record, beside=beside())
            if name not in values:
                values[name] = self.value(name, record[name], record)
        return self.fill([values[name] for name in self.fields])

    def value(self, name: str, value: object, record: Mapping[str, object] | None = None) -> bytes:
        """One field's value as bytes; `record` is what holds it. Raises `MalformedRecord`."""
        if isinstance(value, str):
            return encode(value)
        if isinstance(value, bytes):
            return value
        if self.source is not None and isinstance(value, (int, LongInteger)) and not isinstance(value, bool):
            return str(value).encode()
        raise MalformedRecord(
            f"field {name!r} of the record is {type_name(value)}, not text",
            fix=self._fix_of_value(name, value, record or {}),
        )

    def _fix_of_value(self, name: str, value: object, record: Mapping[str, object]) -> tuple[str | Setting, ...]:
        """What to do about a value that is not text: the field of the record that is text, else to skip the record."""
        likely = self._likely(record)
        if self.source is not None or (name in LIKELY_FIELDS and value is not None):
            return SKIP
        if likely is not None:
            return Setting("text_key", likely), " if all records have their text there, else ", *SKIP
        if isinstance(value, (int, LongInteger)) and not isinstance(value, bool):
            return Setting("text_template", f"{{{name}}}"), " reads integers as text; or ", *SKIP
        return SKIP

    def _likely(self, record: Mapping[str, object]) -> str | None:
        """The field of a record that most likely holds its text: one with a usual name, or the only one of text."""
        texts = [key for key, value in record.items() if isinstance(value, (str, bytes)) and key not in self.fields]
        return next((key for key in LIKELY_FIELDS if key in texts), texts[0] if len(texts) == 1 else None)

    def of_listed(self, names: Container[str]) -> tuple[str | Setting, ...]:
        """The template, as the fix, where the key is a list of names that are all there: `title,text`; else ()."""
        parts = [part for part in BETWEEN_NAMES.split(self.fields[0]) if part] if self.source is None else []
        if len(parts) < 2 or self.fields[0] in names or not all(part in names for part in parts):
            return ()
        template = Setting("text_template", "\n".join(f"{{{part}}}" for part in parts))
        return template, " in the place of ", Setting("text_key")

    def of_prompts(self, names: Sequence[str]) -> tuple[str | Setting, ...]:
        """The template, as the fix, of a record whose fields of text are a prompt and its answer; else ()."""
        parts = sorted(set(_OF_PROMPTS) & set(names), key=_OF_PROMPTS.index)
        if len(parts) < 2 or self.source is not None or any(name in LIKELY_FIELDS for name in names):
            return ()
        template = Setting("text_template", "\n".join(f"{{{part}}}" for part in parts))
        # The default is not on the line.
        return (template,) if self.fields == ("text",) else (template, " in the place of ", Setting("text_key"))

    def missing(
        self,
        name: str,
        record: Mapping[str, object],
        fact: str | None = None,
        kind: str = "fields",
        beside: Iterable[object] = (),
    ) -> MalformedRecord:
        """The error for a record without the field `name`. It lists the fields, and suggests one that is text.

        beside: other records, by whose texts one of several fields is chosen.
        """
        fields = ", ".join(sorted(map(str, record))) or "none"
        fact = f"{fact or f'record has no field {name!r}'} ({kind}: {fields})"
        record = _with_texts(record, beside)
        texts = [key for key, value in record.items() if isinstance(value, (str, bytes)) and key not in self.fields]
        near = suggestion(name, texts) if self.source is None else None
        likely = near or self._likely(record)
        if several := self.of_listed(record):
            return MalformedRecord(fact, limit=(Setting("text_key"), " is one field"), fix=several)
        fix: tuple[str | Setting, ...]
        lists = [key for key, value in record.items() if _are_ids(value)]
        if not texts and lists and self.source is None:
            # Beside ids there may be masks.
            ids = next((key for key in lists if "id" in key or "token" in key), lists[0])
            limit = f"text; {ids!r} holds lists of integers, as ids of tokens are"
            # Other records may have text.
            fix = ("name the text that was encoded", *((", or ", *SKIP) if kind == "fields" else ()))
            return MalformedRecord(fact, limit=limit, fix=fix, ids=ids)
        held = [field for field in self.fields if field in record and field != name]
        if self.source is not None and not texts and held:
            without = Setting("text_template", "\n".join(f"{{{field}}}" for field in dict.fromkeys(held)))
            fix = (without,) if kind == "columns" else (without, f" if no record has {name!r}, else ", *SKIP)
            return MalformedRecord(fact, fix=fix)
        if kind == "columns" and not texts:
            return MalformedRecord(fact, limit="a column of text", fix="leave it out: none of its columns is text")
        if self.source is not None:
            return MalformedRecord(fact, fix=(self.with_fields(self.meant_fields(record, texts)),))
        if not texts:
            return MalformedRecord(fact, fix=SKIP)
        if not near and (prompts := self.of_prompts(texts)):
            return MalformedRecord(fact, fix=prompts)
        if not near and {*_OF_PAIRS} <= {*texts}:
            limit = f"{' and '.join(_OF_PAIRS)} are a minimal pair, which slm pairs compares"
            as_text = Setting("text_key", _OF_PAIRS[0])
            return MalformedRecord(fact, limit=limit, fix=("slm pairs RUN FILE; as text, ", as_text), is_pair=True)
        # A text is longer than what names or classes it.
        meant = likely or max(texts, key=lambda key: len(str(record[key])))
        fix = (Setting("text_key", meant),)
        longest = None if likely else f"{meant!r} holds the most text"
        if kind == "fields":
            # Earlier records may have had the field.
            fix = (*fix, " if all records have it, else ", Setting("skip_malformed", True))
        return MalformedRecord(fact, limit=longest, fix=fix, meant=likely)

    def meant_fields(
        self, known: Container[str], texts: Sequence[str], *, is_only_one_meant: bool = True
    ) -> dict[str, str]:
        """For each field that is not `known` the one of `texts` that is meant, each once; NAME where none is likely.

        is_only_one_meant: whether the last of them is meant whatever its name is.
        """
        absent = [name for name in dict.fromkeys(self.fields) if name not in known]
        free = [name for name in texts if name not in self.fields]
        meant: dict[str, str] = {}
        for name in absent:
            if near := suggestion(name, free):
                meant[name] = near
                free.remove(near)
        for name in (name for name in absent if name not in meant):
            likely = [each for each in LIKELY_FIELDS if each in free] or (
                free if len(free) == is_only_one_meant else []
            )
            meant[name] = likely[0] if likely else "NAME"
            free = [each for each in free if each != meant[name]]
        return meant

    def with_fields(self, meant: Mapping[str, str]) -> Setting:
        """The option for this template with other fields in the place of some."""
        names = "|".join(map(re.escape, sorted(meant, key=len, reverse=True)))
        source = re.sub(rf"\{{({names})(?=[|}}])", lambda match: f"{{{meant[match[1]]}", self.source or "")
        return Setting("text_template", source)


def _filtered(value: bytes, filters: Sequence[str]) -> bytes:
    text = value.decode("utf-8", "surrogateescape")
    for name in filters:
        text = FILTERS[name](text)
    return text.encode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """UTF-8. Raises `MalformedRecord` for a lone surrogate."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        code, at = ord(text[error.start]), error.start
        raise MalformedRecord(
            f"record has a lone surrogate U+{code:04X} at character {at:,} of its text", fix=SKIP
        ) from None


def type_name(value: object) -> str:
    """The type of a value, in the words of JSON."""
    if value is None:
        return "null"
    names = {bool: "true or false", str: "text", list: "a list", dict: "an object"}
    names |= dict.fromkeys((int, float, LongInteger), "a number")
    return names.get(type(value), f"of type {type(value).__name__}")


def located(error: MalformedRecord, source: str, **place: int) -> MalformedRecord:
    """Adds to an error the source and the place in it, such as `line=3` or `row=3, row_group=1`."""
    parts = [f"{name.replace('_', ' ')} {number:,}" for name, number in place.items()]
    error.where = ", ".join([source, *parts])
    error.fields.update(path=source, **place)
    return error


def repeated_column(name: str, times: int, source: str) -> MalformedRecord:
    """The error for a field of a template that several columns of a table are called."""
    return MalformedRecord(
        f"the column {name!r} is there {times} times",
        where=source,
        limit="columns of different names",
        fix=("write the file again with other names, or name another column with ", Setting("text_key")),
    )


def template_of(options: ReadOptions) -> Template:
    """What the text of a record is made of."""
    if options.text_template is None:
        return Template((b"", b""), (options.text_key,))
    return Template.parse(options.text_template, options.max_doc_bytes)


def _with_texts(record: Mapping[str, object], others: Iterable[object]) -> Mapping[str, object]:
    """A record with the texts that its fields have in other records: in one record a field may be empty, or null."""
    found = dict(record)
    for other in (each for each in others if isinstance(each, dict)):
        for name, held in found.items():
            more = other.get(name)
            if isinstance(more, str) and (held is None or isinstance(held, str)):
                found[name] = (held or "") + more
    return found


def _are_ids(value: object) -> bool:
    """Whether a value is a list of integers."""
    return isinstance(value, list) and len(value) > 0 and all(type(each) is int for each in value)
