"""The first row of a table, which says how many columns there are and which of them make the text: tsv and csv."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slmtok.corpus.template import LIKELY_FIELDS, SKIP, Template, repeated_column
from slmtok.errors import MalformedRecord, Setting, suggestion


@dataclass(frozen=True)
class Header:
    """width: number of columns. columns: the index of each field of the template. is_record: it names no columns."""

    template: Template
    width: int
    columns: tuple[int, ...]

    @classmethod
    def of(cls, names: Sequence[bytes], template: Template, where: str) -> Header:
        """The header with these names. Raises `MalformedRecord` for a field of the template that is not there once."""
        if template.numbered:
            columns = [int(name) - 1 for name in template.fields]
            if max(columns) >= len(names):
                raise MalformedRecord(
                    f"there is no column {max(columns) + 1}: the row has {_count(len(names))}",
                    where=where,
                    fix=(Setting("text_key", f"{len(names)}"),),
                )
            return cls(template, len(names), tuple(columns))
        read = [name.decode("utf-8", "replace") for name in names]
        known = {name: index for index, name in enumerate(read)}
        for name in template.fields:
            if read.count(name) > 1:
                raise repeated_column(name, read.count(name), where)
            if name not in known:
                shown = ", ".join(text if len(text) <= 24 else text[:23] + "…" for text in known)
                likely = next((each for each in LIKELY_FIELDS if each in known and each not in template.fields), None)
                meant = suggestion(name, known) or likely
                raise MalformedRecord(
                    f"the first row names no column {name!r} (it has: {shown})",
                    where=where,
                    fix=(
                        Setting("text_key", meant or "NAME"),
                        "" if meant else ", the one of these that holds the text",
                        "; where the first row is text too, the number of a column: ",
                        Setting("text_key", f"{len(names)}"),
                        ", or ",
                        Setting("text_template", "{1} {2}"),
                    ),
                    meant=meant,
                )
        return cls(template, len(names), tuple(known[name] for name in template.fields))

    @property
    def is_record(self) -> bool:
        """Whether the first row is a record like all others: columns are named by number."""
        return self.template.numbered

    def text_of(self, row: Sequence[bytes]) -> bytes:
        """The text of a row. Raises `MalformedRecord` for one of another width."""
        if len(row) != self.width:
            fact = f"the row has {_count(len(row))}, the first one {self.width}"
            raise MalformedRecord(fact, fix=("repair the row, or ", *SKIP))
        return self.template.fill([row[column] for column in self.columns])


def _count(columns: int) -> str:
    return "1 column" if columns == 1 else f"{columns} columns"
