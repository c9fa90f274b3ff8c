"""Reading a table of plain data into a frozen dataclass of options, strictly: no unknown key, no wrong type.

Used for the configuration of models alone. Torch-free.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from typing import Any, TypeVar

from slmmodel.errors import InvalidModelConfig

T = TypeVar("T")
_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float, int),
    "bool": (bool,),
    "str": (str,),
    "int | None": (int, type(None)),
    "float | None": (float, int, type(None)),
}


def read_options(kind: type[T], table: Mapping[str, Any], *, where: str) -> T:
    """`kind(**table)` after a look at each key and value. Raises `InvalidModelConfig`, which names the nearest key."""
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for name, value in table.items():
        if name not in fields:
            raise _unknown(name, fields, where)
        wanted = str(fields[name].type)
        allowed = _TYPES[wanted]
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
            raise InvalidModelConfig(
                f"{where}.{name} is {value!r}, not {'a whole number' if wanted == 'int' else wanted}",
                where=where,
                fix="give such a value, or leave it to the preset",
            )
    missing = [name for name, field in fields.items() if name not in table and field.default is dataclasses.MISSING]
    if missing:
        raise InvalidModelConfig(f"{where} lacks {', '.join(missing)}", where=where, fix="name a preset, or give them")
    return kind(**{name: _exact(value, str(fields[name].type)) for name, value in table.items()})


def _exact(value: Any, wanted: str) -> Any:
    return float(value) if wanted.startswith("float") and value is not None else value


def _unknown(name: str, fields: Mapping[str, object], where: str) -> InvalidModelConfig:
    near = difflib.get_close_matches(name, fields, n=1)
    hint = f"; did you mean '{where}.{near[0]}'?" if near else ""
    return InvalidModelConfig(
        f"unknown setting '{where}.{name}'{hint}",
        limit=f"settings: {', '.join(fields)}",
        fix=f"'{where}.{near[0]}'" if near else "leave it out, or take one of them",
        where=where,
        key=name,
    )


def require(condition: bool, fact: str, *, limit: str | None = None, fix: str | None = None) -> None:
    """Raises `InvalidModelConfig` with these parts unless the condition holds."""
    if not condition:
        raise InvalidModelConfig(
            fact, where="model", limit=limit, fix=fix or "set it within the limit, or leave it to the preset"
        )


def check_shape(layers: int, width: int, heads: int) -> None:
    """Refuses sizes below one."""
    for name, value in (("layers", layers), ("width", width), ("heads", heads)):
        require(value > 0, f"{name} is {value}", limit="at least 1")


def even_split(width: int, heads: int) -> int:
    """The head dimension of `heads` heads over `width`. Raises `InvalidModelConfig` where it is no whole number."""
    require(width % heads == 0, f"width {width} does not divide into {heads} heads", fix="give head_dim")
    return width // heads


def check_common(dropout: float, softcap: float | None, attention: str) -> None:
    """Refuses values of the options that every decoder has."""
    require(0 <= dropout < 1, f"dropout is {dropout}", limit="0 <= dropout < 1")
    require(softcap is None or softcap > 0, f"softcap is {softcap}", limit="above 0")
    require(attention in ("auto", "sdpa", "flex"), f"attention is {attention!r}", limit="auto, sdpa, flex")
