"""The small world of one story: who and what takes part, made when first mentioned and then kept to the end.

The world holds facts (names, pronouns, traits, looks, places) so that all sentences of a story agree; it also decides
whether a character is named or may be called by a pronoun. It knows no plots.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, TypeVar

from slmtok.stories.casting import MAKERS, Entity, default_kind, make_noun

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slmtok.stories.template import Node

_T = TypeVar("_T")
_PRONOUN_RATE = 0.7


class World:
    """All that one story knows.

    `rand` draws a float in [0, 1): the only source of chance, stable across Python versions. `told` holds the
    (rule, line) pairs already used, `last` the word drawn last from each list.
    """

    __slots__ = ("_entities", "_kinds", "focus", "frames", "last", "rand", "told")

    def __init__(self, seed: int, kinds: Mapping[str, str], frames: Mapping[str, Sequence[Mapping[str, Node]]]) -> None:
        self.rand = Random(seed).random
        self.told: set[tuple[str, int]] = set()
        self.last: dict[str, int] = {}
        self.focus = ""
        self._entities: dict[str, Entity] = {}
        self._kinds, self.frames = kinds, frames

    def below(self, limit: int) -> int:
        """Draw an integer in [0, limit)."""
        return int(self.rand() * limit)

    def pick(self, items: Sequence[_T]) -> _T:
        """Draw one of the items."""
        return items[int(self.rand() * len(items))]

    def other(self, name: str, n_words: int) -> int:
        """Draw an index into the list `name`, never the same one twice in a row."""
        index = int(self.rand() * n_words)
        if self.last.get(name) == index:
            index = (index + 1) % n_words
        self.last[name] = index
        return index

    def entity(self, name: str) -> Entity:
        """Return what the variable stands for, making it at its first mention."""
        found = self._entities.get(name)
        if found is None:
            found = self._entities[name] = self._make(name)
        return found

    def _make(self, name: str) -> Entity:
        if name in self.frames:
            return dict(self.pick(self.frames[name]))
        kind = self._kinds.get(name) or default_kind(name)
        maker = MAKERS.get(kind.partition(".")[0])
        return make_noun(self, kind) if maker is None else maker(self, kind)

    def taken_initials(self) -> set[str]:
        """Return the first letters of the names in use; a new character gets another one."""
        return {str(entity["n"])[0] for entity in self._entities.values() if "he" in entity}

    def gender_of(self, name: str) -> str:
        """Return the pronoun "he", "she" or "it" of a character already on stage, or ""."""
        return str(self._entities[name]["he"]) if name in self._entities else ""

    def mention(self, name: str) -> str:
        """Name a character or thing and make it the one a pronoun would mean."""
        entity = self.entity(name)
        if "he" in entity:
            self.focus = name
        value = entity["n"]
        return value if isinstance(value, str) else value(self)

    def subject(self, name: str) -> str:
        """Name the subject of a sentence, or use a pronoun if the last one mentioned was the same."""
        if self.focus == name and self.rand() < _PRONOUN_RATE:
            return str(self.entity(name)["he"])
        return self.mention(name)
