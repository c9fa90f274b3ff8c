"""Parsing YAML of unknown origin: of bounded depth, without aliases, keys that are unique words.

Aliases are refused because a few lines of them stand for gigabytes. A fault is a `FaultError` with line and column.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import lru_cache
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from slmmodel.errors import MAX_LISTED
from slmmodel.json_files import MAX_DEPTH, FaultError
from slmmodel.sizes import counted


def compose(data: bytes) -> Node | None:
    """The nodes of one document, scalars as written; None for an empty one. Raises `FaultError`."""
    loader = _parsed(data)
    try:
        node: Node | None = loader.get_single_node()
    except (yaml.YAMLError, ValueError) as error:
        raise _fault(error, data) from None
    finally:
        loader.dispose()
    return node


def parse(data: bytes) -> Any:
    """The plain values of one document: tables, lists, strings, numbers, booleans, null. Raises `FaultError`."""
    return deepcopy(_values(data))


# A command reads the configuration of its run up to 14 times; parsing it takes 4 ms, a copy 0.06 ms.
@lru_cache(maxsize=4)
def _values(data: bytes) -> Any:
    loader = _parsed(data)
    try:
        return loader.get_single_data()
    except (yaml.YAMLError, ValueError) as error:
        raise _fault(error, data) from None
    finally:
        loader.dispose()


def leaves(node: Node, prefix: str = "") -> Iterator[tuple[str, int, Any]]:
    """(dotted name, line, value) of each leaf or empty mapping. Scalars stay as written: options parse them."""
    if isinstance(node, MappingNode) and (node.value or not prefix):
        for key, value in node.value:
            yield from leaves(value, f"{prefix}.{key.value}" if prefix else str(key.value))
    else:
        yield prefix, node.start_mark.line + 1, as_written(node)


def as_written(node: Node) -> Any:
    """The tables and lists of a node, whose scalars stay as written; null is None."""
    if isinstance(node, MappingNode):
        return {str(key.value): as_written(value) for key, value in node.value}
    if isinstance(node, SequenceNode):
        return [as_written(item) for item in node.value]
    return None if node.tag.endswith(":null") else node.value


_REMEDIES = {
    "has a line indented by": "indent it as one of the keys above it",
    "where YAML takes spaces": "replace every tab with two spaces: sed -i 's/\\t/  /g' {path}",
    "has the alias": "write the value itself: anchors and aliases are not supported",
    "has a second document": "keep one of them: several documents in a file are not supported",
    "has the section": "put the settings of both below one of them",
    "' twice": "keep one of the two lines",
    "is not UTF-8": "convert it: iconv -f ENCODING -t UTF-8",
    "is not a regular file": "name a file",
    "has more than": "name a file of settings alone",
}
"""By a part of the fault."""


def remedy(fault: FaultError, path: str) -> str:
    """What mends the file at `path`, which has this fault."""
    fix = next((fix for part, fix in _REMEDIES.items() if part in str(fault)), "fix the syntax")
    return fix.replace("{path}", shlex.quote(path))


def _parsed(data: bytes) -> _Loader:
    try:
        return _Loader(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise FaultError(f"has a byte at {error.start} that is not UTF-8") from None
    except yaml.YAMLError as error:
        raise _fault(error) from None


def _indentation_fault(lines: list[str], at: int) -> FaultError | None:
    """The fault of a line, by index, whose indentation is none of those of the keys above it; None for other lines."""
    before = "".join(lines[:at])
    in_brackets = any(before.count(opened) > before.count(closed) for opened, closed in ("[]", "{}"))
    if at >= len(lines) or not _KEY.match(lines[at]) or in_brackets:
        return None
    open_keys: list[int] = []
    above = ""
    for above in filter(_KEY.match, lines[:at]):
        indentation = _indentation(above)
        open_keys = [each for each in open_keys if each < indentation] + [indentation]
    found = _indentation(lines[at])
    if not open_keys or found in open_keys or (found > open_keys[-1] and above.rstrip().endswith(":")):
        return None
    spaces = " or ".join(filter(None, (", ".join(map(str, open_keys[:-1])), str(open_keys[-1]))))
    return FaultError(f"has a line indented by {counted(found, 'space')}, and the keys above it by {spaces}", at + 1)


_KEY = re.compile(r" *[\w.-]+ *:(\s|$)")


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


_TAB = re.compile(r"""[^"'#]*\t""")
"""The beginning of a line with a tab that is in no quotes and no comment."""


def _fault_of_tabs(lines: list[str], at: int) -> str:
    """The fault of a tab in the line with this index, with all lines that have one: an editor writes several."""
    found = [number for number, line in enumerate(lines) if number == at or _TAB.match(line)]
    if len(found) == 1:
        return "has a tab where YAML takes spaces"
    named = ", ".join(str(number + 1) for number in found[:MAX_LISTED])
    more = f" and {len(found) - MAX_LISTED:,} more" if len(found) > MAX_LISTED else ""
    return f"has tabs where YAML takes spaces, in {len(found):,} lines: {named}{more}"


def _fault(error: Exception, data: bytes = b"") -> FaultError:
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    fact = f"is not YAML: {str(problem or error).splitlines()[0]}"
    if problem == "but found another document":
        fact = "has a second document"
    elif isinstance(error, _RefusedError):
        fact = str(problem)
    elif mark is not None and r"'\t'" in str(problem):
        fact = _fault_of_tabs(data.decode(errors="replace").split("\n"), mark.line)
    elif mark is not None and (fault := _indentation_fault(data.decode(errors="replace").split("\n"), mark.line)):
        return fault
    return FaultError(fact) if mark is None else FaultError(fact, mark.line + 1, mark.column + 1)


class _RefusedError(yaml.MarkedYAMLError):
    """Valid YAML that is not read."""


class _Loader(yaml.SafeLoader):
    """Refuses aliases, deep nesting and repeated keys."""

    depth = 0

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if self.check_event(yaml.AliasEvent):
            raise _RefusedError(problem=f"has the alias *{event.anchor}", problem_mark=event.start_mark)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _RefusedError(problem=f"nests more than {MAX_DEPTH} deep", problem_mark=event.start_mark)
        node = super().compose_node(parent, index)
        self.depth -= 1
        if isinstance(node, MappingNode):
            self._check_keys(node)
        return node

    def _check_keys(self, node: MappingNode) -> None:
        known: dict[str, Node] = {}
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                raise _RefusedError(problem="has a key that is not a word", problem_mark=key.start_mark)
            if key.value in known:
                both = isinstance(value, MappingNode) and isinstance(known[key.value], MappingNode)
                kind = "section" if both else "key"
                raise _RefusedError(problem=f"has the {kind} {key.value!r:.40} twice", problem_mark=key.start_mark)
            known[key.value] = value


def to_yaml(sections: Mapping[str, Any]) -> bytes:
    """Sections of plain values as YAML; equal values give equal bytes."""
    text: str = yaml.safe_dump(dict(sections), sort_keys=True, allow_unicode=True, default_flow_style=None, width=120)
    return text.encode()


class FlowList(list[Any]):
    """A list in a fix: YAML in one line on a command line, and a list in Python."""

    def __str__(self) -> str:
        text: str = yaml.safe_dump(
            list(self), sort_keys=False, allow_unicode=True, default_flow_style=True, width=math.inf
        )
        return text.strip()
