"""The word lists of the stories: text files beside this module, read once, on first use.

A file holds sections `== name [pool ...]` followed by words separated by commas or line ends. A list named `v.*` holds
verb phrases in the base form, `n.*` countable noun phrases in the singular; the pools of a noun list name the adjective
lists that fit its nouns, in the order in which English stacks them. Other lists are used as they stand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from slmtok.stories.morphology import ing, past, plural

if TYPE_CHECKING:
    from slmtok.stories.template import Node
    from slmtok.stories.world import World


@dataclass(frozen=True)
class WordList:
    """One list of the lexicon: its words and, for nouns, the names of the adjective lists that fit."""

    name: str
    words: tuple[str, ...]
    pools: tuple[str, ...] = ()


def data_files(package: str) -> list[tuple[str, str]]:
    """Return (stem, text) of the .txt files of a package, sorted by name, so that the order is the same everywhere."""
    found = [entry for entry in files(package).iterdir() if entry.name.endswith(".txt")]
    return [(entry.name[:-4], entry.read_text("utf-8")) for entry in sorted(found, key=lambda entry: entry.name)]


def sections(text: str) -> list[tuple[list[str], list[str]]]:
    """Split a data file into (header words, body lines); blank lines and lines that begin with # are skipped."""
    found: list[tuple[list[str], list[str]]] = []
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("== "):
            found.append((line[3:].split(), []))
        elif line and not line.startswith("#"):
            found[-1][1].append(line)
    return found


@lru_cache(maxsize=1)
def lexicon() -> dict[str, WordList]:
    """Return all word lists by name."""
    lists: dict[str, WordList] = {}
    for _, text in data_files(__name__):
        for (name, *pools), lines in sections(text):
            words = tuple(word.strip() for line in lines for word in line.split(",") if word.strip())
            lists[name] = WordList(name, words, tuple(pools))
    return lists


def word_node(name: str) -> Node | None:
    """Return the node for `list` or `list:form`, or None if the lexicon has no such list."""
    key, _, form = name.partition(":")
    words = lexicon().get(key)
    if words is None:
        return None
    if form in ("np", "nps"):
        return _noun_phrase(words, is_plural=form == "nps")
    shaped = tuple(_shape(words, form, word) for word in words.words)
    n_words = len(shaped)
    return lambda world: shaped[world.other(key, n_words)]


_VERB_FORMS: dict[str, Callable[[str], str]] = {"": past, "ing": ing, "base": str}


def _shape(words: WordList, form: str, word: str) -> str:
    if words.name.startswith("v."):
        return _VERB_FORMS[form](word)
    return plural(word) if form == "pl" else word


def _noun_phrase(words: WordList, *, is_plural: bool) -> Node:
    nouns = tuple(plural(word) if is_plural else word for word in words.words)
    pools = tuple(lexicon()[pool].words for pool in words.pools)

    def node(world: World) -> str:
        noun = nouns[world.other(words.name, len(nouns))]
        return " ".join([*adjectives(world, pools), noun])

    return node


def adjectives(world: World, pools: tuple[tuple[str, ...], ...]) -> list[str]:
    """Draw up to two adjectives, one from a pool, in the order of the pools."""
    draw = world.rand()
    first = int(world.rand() * len(pools))
    if draw < 0.22 or not pools:
        return []
    if draw < 0.78 or first + 1 == len(pools):
        return [world.pick(pools[first])]
    second = first + 1 + int(world.rand() * (len(pools) - first - 1))
    pair = [world.pick(pools[first]), world.pick(pools[second])]
    return pair if pair[0] != pair[1] else pair[:1]
