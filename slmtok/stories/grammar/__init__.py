"""The sentence rules that all plots share: text files beside this module, compiled on first use.

A file holds sections `== rule [parameter ...]`, then one alternative a line, in the language of template.py. A rule
does not repeat an alternative within one story while it has others left.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from slmtok.stories.lexicon import data_files, sections, word_node
from slmtok.stories.template import TemplateError, compile_template

if TYPE_CHECKING:
    from slmtok.stories.template import Node
    from slmtok.stories.world import World

_TRIES = 4


@lru_cache(maxsize=1)
def rules() -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return (parameters, alternatives) of every rule by name."""
    found = {}
    for _, text in data_files(__name__):
        for (name, *parameters), lines in sections(text):
            found[name] = (tuple(parameters), tuple(lines))
    return found


@cache
def resolve(name: str, args: tuple[str, ...]) -> Node:
    """Return the node of a rule call or of a word list.

    Raises TemplateError for an unknown name or a wrong number of arguments.
    """
    rule = rules().get(name)
    if rule is not None:
        return _rule_node(name, args)
    node = word_node(name)
    if node is None or args:
        raise TemplateError(f"<{' '.join((name, *args))}> names neither a rule nor a word list")
    return node


def _rule_node(name: str, args: tuple[str, ...]) -> Node:
    parameters, lines = rules()[name]
    if len(parameters) != len(args):
        raise TemplateError(f"rule <{name}> takes {len(parameters)} arguments {parameters}, got {args}")
    names = dict(zip(parameters, args, strict=True))
    compiled: list[Node] = []

    def node(world: World) -> str:
        if not compiled:  # at the first telling, not before: rules may call one another in a circle
            compiled.extend(compile_template(line, resolve, names) for line in lines)
        return compiled[_fresh(world, name, len(lines))](world)

    return node


def _fresh(world: World, rule: str, n_lines: int) -> int:
    line = world.below(n_lines)
    for _ in range(_TRIES):
        if (rule, line) not in world.told:
            break
        line = world.below(n_lines)
    world.told.add((rule, line))
    return line
