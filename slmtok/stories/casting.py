"""Makers of the characters, things and places of a story: one function a kind, listed in MAKERS.

An entity is a dict of fields; a field is fixed text, or a node that draws anew at each use. Characters have the
fields n (name), he, him, his, self; `default_kind` says what a variable means where a plot does not bind it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from itertools import cycle
from typing import TYPE_CHECKING

from slmtok.stories.lexicon import adjectives, data_files, lexicon, sections
from slmtok.stories.morphology import plural

if TYPE_CHECKING:
    from slmtok.stories.template import Node
    from slmtok.stories.world import World

Entity = dict[str, "str | Node"]
Maker = Callable[["World", str], Entity]

_PRONOUNS: dict[str, Entity] = {
    "he": {"he": "he", "him": "him", "his": "his", "self": "himself", "kid": "boy"},
    "she": {"he": "she", "him": "her", "his": "her", "self": "herself", "kid": "girl"},
    "it": {"he": "it", "him": "it", "his": "its", "self": "itself"},
}
_KINDS = {"H": "child", "F": "child", "G": "child", "A": "family", "B": "family", "N": "neighbour", "W": "worker"}
_KINDS.update(
    {
        "P": "pet",
        "Z": "wild",
        "t": "n.toy",
        "p": "place.nature",
        "q": "place.town",
        "r": "place.home",
        "L": "text.lesson",
    }
)


def default_kind(name: str) -> str:
    """Return the kind of a variable that its plot does not bind.

    Raises KeyError for a variable without a default.
    """
    return _KINDS[name]


def _words(name: str) -> tuple[str, ...]:
    return lexicon()[name].words


def _other_gender(world: World) -> str:
    """Draw a gender, more often the other one than the hero's, so that pronouns stay clear."""
    hero = world.gender_of("H")
    if hero in ("he", "she") and world.rand() < 0.9:
        return "she" if hero == "he" else "he"
    return "he" if world.rand() < 0.5 else "she"


def _new_name(world: World, names: tuple[str, ...]) -> str:
    taken = world.taken_initials()
    name = world.pick(names)
    while name[0] in taken:
        name = world.pick(names)
    return name


def _character(world: World) -> Entity:
    first, second = (_words("adj.trait")[world.other("adj.trait", len(_words("adj.trait")))] for _ in range(2))
    traits = {"trait": first, "trait2": second, "like": world.pick(_words("like"))}
    return {**traits, "age": world.pick(("five", "six", "seven", "eight")), "wear": world.pick(_words("wear"))}


def make_child(world: World, kind: str) -> Entity:
    """Make a girl or a boy."""
    gender = _other_gender(world)
    name = _new_name(world, _words("name.girl" if gender == "she" else "name.boy"))
    return {**_PRONOUNS[gender], **_character(world), "n": name}


def make_beast(world: World, kind: str) -> Entity:
    """Make an animal that speaks and has a name; `kid` is its species."""
    name, species = _new_name(world, _words("name.animal")), world.pick(_words("n.beast"))
    return {**_PRONOUNS[_other_gender(world)], **_character(world), "n": name, "kid": species}


def make_family(world: World, kind: str) -> Entity:
    """Make a grown-up of the hero's family; `kin` is what follows "her" or "his"."""
    taken = world.taken_initials()
    while True:
        gender, name, kin = world.pick(_FAMILY)
        if kin in ("aunt", "uncle"):
            name += " " + world.pick(_words("name.girl" if gender == "she" else "name.boy"))
        if name[0] not in taken or name in ("Mum", "Dad"):
            return {**_PRONOUNS[gender], "n": name, "kin": kin}


_FAMILY = (
    ("she", "Mum", "mum"), ("she", "Mum", "mum"), ("he", "Dad", "dad"), ("he", "Dad", "dad"),
    ("she", "Grandma", "grandma"), ("he", "Grandpa", "grandpa"), ("she", "Granny", "granny"),
    ("he", "Grandad", "grandad"), ("she", "Aunt", "aunt"), ("he", "Uncle", "uncle"), ("she", "Nana", "nana"),
)  # fmt: skip


def make_neighbour(world: World, kind: str) -> Entity:
    """Make an old neighbour with a title and a surname."""
    gender = _other_gender(world)
    title = "Mr" if gender == "he" else world.pick(("Mrs", "Miss"))
    person = "man" if gender == "he" else "woman"
    return {**_PRONOUNS[gender], "n": f"{title} {world.pick(_words('name.last'))}", "kid": person}


def make_elder(world: World, kind: str) -> Entity:
    """Make the wise old animal of a forest story: "the old owl"."""
    return {**_PRONOUNS[world.pick(("he", "she"))], "n": "the " + world.pick(_words("elder"))}


def make_worker(world: World, kind: str) -> Entity:
    """Make a grown-up known by the work: "the baker"."""
    name = world.pick(_words("worker"))
    return {**_PRONOUNS[_other_gender(world)], "n": f"the {name}", "a": f"a {name}", "job": name}


def make_pet(world: World, kind: str) -> Entity:
    """Make a pet: `n` its name, `sp` its species, `a` how it is introduced."""
    species = world.pick(_words("n." + (kind.partition(".")[2] or "pet")))
    name = _new_name(world, _words("name.pet"))
    coat = world.pick(_words("adj.coat"))
    fields = {"n": name, "sp": species, "look": f"{coat} {species}", "a": f"a {coat} {species}"}
    return {**_PRONOUNS[world.pick(("he", "she"))], **fields}


def make_wild(world: World, kind: str) -> Entity:
    """Make a wild animal from the table in tables/wild.txt: home, food and sound fit the animal."""
    row = world.pick(_table("wild"))
    look = world.pick(_words("adj.wild"))
    fields = {"n": f"the {row[0]}", "sp": row[0], "a": f"a {look} {row[0]}", "home": row[1], "sound": row[3]}
    return {**_PRONOUNS["it"], **fields, "food": _drawn(world, row[2])}


def make_place(world: World, kind: str) -> Entity:
    """Make a place of a kind ("place.nature") from tables/places.txt; see the head of that file for its columns."""
    the, where, some, one, hear, spot = world.pick(_table(kind))
    fields: Entity = {"n": the, "the": the, "at": f"{where} {the}", "to": f"to {the}", "spot": world.pick(_split(spot))}
    fields.update(some=_drawn(world, some), one=_drawn(world, one))
    return {**fields, "hear": _drawn(world, hear), "hide": _drawn(world, spot)}


def make_noun(world: World, kind: str) -> Entity:
    """Make a thing: a noun of a list with adjectives that fit and stay with it."""
    words = lexicon()[kind]
    noun = world.pick(words.words)
    stack = adjectives(world, tuple(lexicon()[pool].words for pool in words.pools))
    full, last = " ".join([*stack, noun]), " ".join([*stack[-1:], noun])
    fields: Entity = {"n": noun, "pl": plural(noun), "np": full, "a": f"a {full}", "it": "it", "short": last}
    fields["the"] = lambda world: "the " + (noun if world.rand() < 0.6 else last)
    return fields


def make_text(world: World, kind: str) -> Entity:
    """Make a fixed choice from a list ("text.food"): the same words at each mention."""
    return {"n": world.pick(_words(kind.partition(".")[2]))}


@cache
def _split(cell: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in cell.split(",") if item.strip())


def _drawn(world: World, cell: str) -> Node:
    """Return a node that goes round the items of a cell from a random one, so that near uses differ."""
    items = _split(cell)
    start = world.below(len(items))
    turn = cycle(items[start:] + items[:start])
    return lambda world: next(turn)


@lru_cache(maxsize=1)
def _tables() -> dict[str, tuple[tuple[str, ...], ...]]:
    return {
        header[0]: tuple(tuple(cell.strip() for cell in line.split("/")) for line in lines)
        for _, text in data_files("slmtok.stories.tables")
        for header, lines in sections(text)
    }


def _table(name: str) -> tuple[tuple[str, ...], ...]:
    return _tables()[name]


MAKERS: dict[str, Maker] = {
    "child": make_child,
    "beast": make_beast,
    "family": make_family,
    "neighbour": make_neighbour,
    "elder": make_elder,
    "worker": make_worker,
    "pet": make_pet,
    "wild": make_wild,
    "place": make_place,
    "text": make_text,
}
