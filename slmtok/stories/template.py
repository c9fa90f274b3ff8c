"""The template language of the stories, compiled to closures.

    [a|b|c]      one of the alternatives, nested at will; an empty one makes the rest optional
    {H.his}      a field of something bound in this story: a character, a thing, a place, a row of a frame
    <adj.size>   a fresh word of a list; <v.go:ing>, <n.toy:pl> ask for a form
    <scene H p>  a rule of the grammar with its parameters replaced by H and p

Everything is resolved when a template is compiled, so telling a story only draws numbers and joins strings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slmtok.stories.world import World

Node = Callable[["World"], str]
Resolve = Callable[[str, tuple[str, ...]], Node]
"""Compiles what stands in angle brackets: the name, then the actual parameters."""

_SUBJECT = re.compile(r'(^|[.!?] |\."? )\{([A-Z])\} (?!and |the )')  # a bare character in front may become a pronoun
_RESUMED = re.compile(r'(<(?:tag\w*|ask) \w+>), "')  # a quotation that goes on after its tag stays small
_TOKEN = re.compile(r"[\[\]|]|\{[^{}]*\}|<[^<>]*>")


class TemplateError(ValueError):
    """A template that cannot be compiled: a bracket that does not close, or an unknown name."""


def compile_template(text: str, resolve: Resolve, names: Mapping[str, str] | None = None) -> Node:
    """Compile `text`; `names` maps a rule's parameters to the variables of the call."""
    text = _SUBJECT.sub(r"\1{\2.s} ", _RESUMED.sub(r'\1, "~', text))
    return _as_node(_Parser(text, resolve, names or {}).parse())


def _as_node(part: str | Node) -> Node:
    if isinstance(part, str):
        constant = part
        return lambda world: constant
    return part


class _Parser:
    """Recursive descent over one template."""

    def __init__(self, text: str, resolve: Resolve, names: Mapping[str, str]) -> None:
        self._text, self._resolve, self._names = text, resolve, names
        self._pos = 0

    def parse(self) -> str | Node:
        alternatives, closed = self._alternatives()
        if closed or len(alternatives) > 1:
            raise TemplateError(f"unbalanced ']' or a '|' outside brackets in template {self._text!r}")
        return alternatives[0]

    def _alternatives(self) -> tuple[list[str | Node], bool]:
        found: list[str | Node] = []
        parts: list[str | Node] = []
        while match := _TOKEN.search(self._text, self._pos):
            parts.append(self._text[self._pos : match.start()])
            self._pos = match.end()
            token = match.group()
            if token == "[":
                inner, closed = self._alternatives()
                if not closed:
                    raise TemplateError(f"a '[' is never closed in template {self._text!r}")
                parts.append(choice(inner))
            elif token in ("|", "]"):
                found.append(_sequence(parts))
                parts = []
                if token == "]":
                    return found, True
            else:
                parts.append(self._reference(token))
        parts.append(self._text[self._pos :])
        self._pos = len(self._text)
        found.append(_sequence(parts))
        return found, False

    def _reference(self, token: str) -> Node:
        body = token[1:-1]
        if token[0] == "{":
            name, _, field = body.partition(".")
            return _field(self._names.get(name, name), field)
        name, *args = body.split()
        return self._resolve(name, tuple(self._names.get(arg, arg) for arg in args))


def _sequence(parts: Sequence[str | Node]) -> str | Node:
    merged: list[str | Node] = []
    for part in parts:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        elif part != "":
            merged.append(part)
    if not merged:
        return ""
    if len(merged) == 1:
        return merged[0]
    nodes = tuple(merged)
    return lambda world: "".join([node if node.__class__ is str else node(world) for node in nodes])  # type: ignore[operator]


def choice(options: Sequence[str | Node]) -> Node:
    """Return the node that picks one of the options evenly."""
    if all(isinstance(option, str) for option in options):
        words = tuple(str(option) for option in options)
        n_words = len(words)
        return lambda world: words[int(world.rand() * n_words)]
    nodes = tuple(_as_node(option) for option in options)
    n_nodes = len(nodes)
    return lambda world: nodes[int(world.rand() * n_nodes)](world)


def _field(name: str, field: str) -> Node:
    if field in ("", "n"):
        return lambda world: world.mention(name)
    if field == "s":
        return lambda world: world.subject(name)

    def read(world: World) -> str:
        entity = world.entity(name)
        value = entity[field]
        if isinstance(value, str):
            return value
        text = value(world)
        if name in world.frames:  # what a frame says stays said: a second use repeats the same words
            entity[field] = text
        return text

    return read
