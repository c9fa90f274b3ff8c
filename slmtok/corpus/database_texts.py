"""The texts in a database of SQLite: which columns hold them, and the command that writes one as records."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import NamedTuple

from slmtok.files import free_name

_MAX_TABLES, _MAX_ROWS = 100, 100
"""Of a database, what is looked at."""
_MAX_STEPS = 10_000_000
"""Of SQLite's machine, for one table: under a second."""
_MAX_NAMED = 4
"""Columns besides the first that an error names."""


class _Column(NamedTuple):
    """mean_chars: of its texts in the first rows."""

    mean_chars: float
    table: str
    name: str


class DatabaseTexts(NamedTuple):
    """fact: which columns of a database hold text. remedy: writes the one with the longest texts as records."""

    fact: str
    remedy: str


def texts_of_database(path: str, key: str) -> DatabaseTexts | None:
    """The texts of a database, which become records with the field `key`; None where no column of text is seen."""
    columns = sorted(_columns(path), key=lambda each: -each.mean_chars)
    if not columns:
        return None
    first, *others = columns
    query = json.dumps(f"SELECT [{first.name}] FROM [{first.table}]")
    texts = f"(json.dumps({{{key!r}: text}}) for text, in base.execute({query}) if isinstance(text, str))"
    program = f"import json, sqlite3; base = sqlite3.connect({path!r}); print(*{texts}, sep=chr(10))"
    target = shlex.quote(free_name(f"{path.removesuffix(Path(path).suffix)}-text.jsonl"))
    fact = f"the longest texts are in {first.table}.{first.name}"
    if others:
        named = ", ".join(f"{each.table}.{each.name}" for each in others[:_MAX_NAMED])
        fact += f", others in {named}{', ...' * (len(others) > _MAX_NAMED)}"
    return DatabaseTexts(fact, f"python -c {shlex.quote(program)} > {target} # and name it")


def _columns(path: str) -> list[_Column]:
    """The columns of text of a database, which is read as it is; none where SQLite cannot read it."""
    import sqlite3

    found: list[_Column] = []
    try:
        base = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    except sqlite3.Error:
        return []
    try:
        base.set_progress_handler(lambda: 1, _MAX_STEPS)
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' LIMIT ?"
        for (table,) in base.execute(query, (_MAX_TABLES,)).fetchall():
            for name in [row[1] for row in base.execute(f"PRAGMA table_info([{table}])")]:
                if "]" in table + name:
                    continue
                texts = f"SELECT [{name}] AS text FROM [{table}] LIMIT {_MAX_ROWS}"
                mean = f"SELECT avg(length(text)) FROM ({texts}) WHERE typeof(text) = 'text'"
                ((chars,),) = base.execute(mean)
                found += [_Column(chars, table, name)] if chars else []
    except (sqlite3.Error, TypeError, ValueError, OverflowError):
        pass
    finally:
        base.close()
    return found
