"""Values of settings as people write them, read by kind; and configuration files, read with the line of each setting.

Strict: an unknown setting is an error with the nearest one, a value of the wrong kind an error with its place. A source
of settings is a flat table from dotted names to `Given`, so that files and `--set` meet in one form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmmodel import sizes
from slmmodel.errors import InvalidConfig, MissingInput, Unreadable, suggestion

if TYPE_CHECKING:
    from yaml.nodes import Node


@dataclass(frozen=True)
class Given:
    """A value with the place that a person would look at: `run.yaml, line 9`, or `--set`."""

    value: Any
    where: str


Flat = dict[str, Given]


def from_file(path: str) -> Flat:
    """The settings of a YAML file. Raises `MissingInput`, `Unreadable`, `InvalidConfig`."""
    import yaml

    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MissingInput(f"no file {path!r}", where="--config", fix="check the name", path=path) from None
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(
            f"cannot read {path!r}: {error}", where="--config", fix="name a text file that may be read", path=path
        ) from error
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or str(error)
        raise InvalidConfig(f"{path} is not YAML: {problem}", where=f"{path}{line}", fix="repair the line") from None
    found: Flat = {}
    if node is not None:
        _flatten(node, "", path, found)
    return found


def _flatten(node: Node, prefix: str, path: str, found: Flat) -> None:
    import yaml

    if not isinstance(node, yaml.MappingNode):
        if not prefix:
            raise InvalidConfig(f"{path} holds no settings", where=path, fix="write sections such as optim, run")
        found[prefix] = Given(_construct(node), f"{path}, line {node.start_mark.line + 1}")
        return
    for key, value in node.value:
        name = f"{prefix}.{key.value}" if prefix else str(key.value)
        if name in found:
            raise InvalidConfig(
                f"the setting {name!r} stands twice",
                where=f"{path}, line {key.start_mark.line + 1}",
                fix="leave one out",
            )
        _flatten(value, name, path, found)


def _construct(node: Node) -> Any:
    import yaml

    if isinstance(node, yaml.SequenceNode):
        return [_construct(item) for item in node.value]
    if isinstance(node, yaml.ScalarNode):
        # Numbers are read by kind, from what was written; here only the words that are no text are told apart.
        kind = node.tag.rpartition(":")[2]
        if kind == "null":
            return None
        if kind == "bool":
            return node.value.lower() in ("true", "yes", "on")
        return node.value
    return None


def from_pairs(pairs: Iterable[str], where: str = "--set") -> Flat:
    """`optim.lr=1e-3` and the like, later ones first in rank. Raises `InvalidConfig`."""
    found: Flat = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.strip():
            raise InvalidConfig(
                f"{where} {pair!r} is not NAME=VALUE", where=where, fix=f"{where} optim.lr=1e-3", option="set"
            )
        value: Any = text.strip()
        if value.startswith("[") and value.endswith("]"):
            value = [item.strip() for item in value[1:-1].split(",") if item.strip()]
        found[name.strip()] = Given(None if value == "null" else value, f"{where} {name.strip()}")
    return found


def refuse_unknown(flat: Flat, names: Sequence[str]) -> None:
    """Raises `InvalidConfig` for the first setting that does not exist, with the nearest one that does."""
    for name, given in flat.items():
        if name not in names:
            meant = suggestion(name, names)
            told = f"; did you mean {meant!r}?" if meant else ""
            section = name.partition(".")[0]
            near = [known for known in names if known.startswith(section + ".")] or sorted(
                {known.partition(".")[0] for known in names}
            )
            raise InvalidConfig(
                f"unknown setting {name!r} in {given.where}{told}",
                limit=f"known: {', '.join(near)}",
                fix=f"write {meant}" if meant else "leave it out",
                option=name,
            )


def read(flat: Flat, kinds: Mapping[str, str]) -> dict[str, Any]:
    """The values by name, each read as its kind. Raises `InvalidConfig`."""
    return {name: value(name, given, kinds[name]) for name, given in flat.items()}


def value(name: str, given: Given, kind: str) -> Any:
    """One value read as its kind. Raises `InvalidConfig`."""
    if kind.endswith("?"):
        # `none` is the word that settings with a choice have for it.
        return None if given.value in (None, "null", "none") else value(name, given, kind[:-1])
    choices = kind.partition(":")[2].split("|") if kind.startswith("choice:") else []
    if choices:
        if given.value in choices:
            return given.value
        # YAML reads on and off as truth values.
        spelled = None if isinstance(given.value, str) else {True: "on", False: "off", None: "none"}.get(given.value)
        if spelled in choices:
            return spelled
        raise _wrong(name, given, f"one of {', '.join(choices)}", choices[0])
    reader, example = _READERS[kind]
    try:
        result = reader(given.value)
    except (ValueError, TypeError):
        result = None
    if result is None:
        raise _wrong(name, given, f"a value such as {example}", example)
    return result


def _wrong(name: str, given: Given, limit: str, example: str) -> InvalidConfig:
    return InvalidConfig(
        f"{name} {given.value!r} makes no sense", where=given.where, limit=limit, fix=f"{name}={example}", option=name
    )


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    number = float(str(value).replace("_", ""))
    return number if number == number and abs(number) != float("inf") and number >= 0 else None


def _flag(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    return {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}.get(str(value).lower())


def _numbers(value: Any) -> tuple[float, ...] | None:
    items = value if isinstance(value, (list, tuple)) else str(value).strip("[]()").split(",")
    read = [_number(item) for item in items]
    return tuple(item for item in read if item is not None) if len(read) == 2 and None not in read else None


def _names(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return ()
    items = value if isinstance(value, (list, tuple)) else str(value).split(",")
    return tuple(str(item).strip() for item in items if str(item).strip())


def _count(value: Any) -> int | None:
    return sizes.parse_count(str(value))


def _auto_count(value: Any) -> int | None:
    return 0 if value in ("auto", None) else sizes.parse_count(str(value))


def _text(value: Any) -> str | None:
    return "none" if value is None else str(value)


_READERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "text": (_text, "a name"),
    "flag": (_flag, "true"),
    "whole": (lambda value: int(str(value).replace("_", "")) if int(str(value)) >= 0 else None, "8"),
    "count": (_count, "65536"),
    "auto-count": (_auto_count, "auto"),
    "size": (lambda value: sizes.parse_size(str(value)), "2GB"),
    "number": (_number, "0.1"),
    "numbers": (_numbers, "[0.9,0.95]"),
    "names": (_names, "[tensorboard]"),
    "time": (lambda value: sizes.parse_time(str(value)), "130s"),
}
