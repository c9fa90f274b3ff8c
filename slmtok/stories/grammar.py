"""The story grammar: data files, English word forms, the template language, and the state of one story.

    [a|b|c]      one of the alternatives, nested; an empty one makes the rest optional
    {H.his}      a field of a variable: a character, a thing, a place, a row of a frame
    <adj.size>   a word of a list; <v.go:ing>, <n.toy:pl> ask for a form
    <scene H p>  a rule with its parameters replaced by H and p

A data file has sections `== name [parameter ...]`: word lists (the parameters of nouns are adjective lists that fit, in
English order), tables, rules, plots. A plot has `bind VAR KIND`, `frame VAR field ...` with rows, then beats: `*` opens
one, `*? 0.4` one of that probability; each following line is an alternative.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import cycle
from operator import methodcaller
from typing import NamedTuple, TypeVar

Node = Callable[["World"], str]
Entity = dict[str, "str | Node"]
_T = TypeVar("_T")

_PRONOUN_RATE, _OTHER_GENDER_RATE, _BARE_NOUN_RATE, _NO_ADJECTIVE, _ONE_ADJECTIVE = 0.7, 0.9, 0.6, 0.22, 0.78
_MAX_DRAWS = 5
_TOKEN = re.compile(r"([\[\]|]|\{[^{}]*\}|<[^<>]*>)")
_SUBJECT = re.compile(r'(^|[.!?] |\."? )\{([A-Z])\} (?!and |the )')  # a character as the subject may become a pronoun
_RESUMED = re.compile(r'(<(?:tag\w*|ask) \w+>), "')  # a quotation that goes on after its tag is not capitalised
_NOUN = re.compile(r"^((?:\S+ )*?)(\S+)((?: (?:of|with|on|above) .*)?)$")  # before the head, the head, after it
_VERB = re.compile(r"^()(\S+)(.*)$")
_ENDINGS = {
    "plural": ((r"(?<=[sxz])$|(?<=[cs]h)$", "es"), (r"(?<=[^aeiou])y$", "ies"), (r"$", "s")),
    "past": ((r"e$", "ed"), (r"(?<=[^aeiou])y$", "ied"), (r"$", "ed")),
    "ing": ((r"ie$", "ying"), (r"(?<![eoy])e$", "ing"), (r"$", "ing")),
}


@cache
def sections(file: str) -> dict[str, tuple[list[str], list[str]]]:
    """Section name -> (parameters, lines) of a data file, without blank lines and comments (#)."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    for line in map(str.strip, files("slmtok.stories").joinpath(file).read_text("utf-8").splitlines()):
        if line.startswith("== "):
            name, *parameters = line[3:].split()
            lines = found.setdefault(name, (parameters, []))[1]
        elif line and not line.startswith("#"):
            lines.append(line)
    return found


def split(cell: str) -> tuple[str, ...]:
    """The items of a list separated by commas."""
    return tuple(item.strip() for item in cell.split(",") if item.strip())


@cache
def words(name: str) -> tuple[str, ...]:
    """A word list."""
    return split(",".join(sections("lexicon.txt")[name][1]))


@cache
def table(name: str) -> list[list[str]]:
    """The rows of a table."""
    return [[cell.strip() for cell in line.split("/")] for line in sections("tables.txt")[name][1]]


@cache
def inflect(phrase: str, form: str) -> str:
    """The "plural" of a noun phrase, or the "past" or "ing" form of a verb phrase, whose first word is the verb."""
    before, word, after = re.findall(_NOUN if form == "plural" else _VERB, phrase)[0]
    irregular = dict(pair.split("=") for pair in words(form))
    if word in irregular:
        return f"{before}{irregular[word]}{after}"
    stem = word + word[-1] if form != "plural" and word in words("doubled") else word
    pattern, ending = next(rule for rule in _ENDINGS[form] if re.search(rule[0], stem))
    return f"{before}{re.sub(pattern, ending, stem, count=1)}{after}"


class Plot(NamedTuple):
    """The kinds of its variables, its frames, and its beats in order: (probability, alternatives)."""

    kinds: dict[str, str]
    frames: dict[str, list[dict[str, Node]]]
    beats: list[tuple[float, list[Node]]]


@cache
def plots() -> dict[str, Plot]:
    """All plots by name, in the order of the file."""
    return {name: parse_plot(lines) for name, (_, lines) in sections("plots.txt").items()}


def parse_plot(lines: Sequence[str]) -> Plot:
    """Compiles the lines of a plot. Raises ValueError for a line that does not fit the format."""
    plot = Plot({}, {}, [])
    rows: list[dict[str, Node]] = []
    fields: list[str] = []
    for line in lines:
        if line.startswith("*"):
            plot.beats.append((float(line[2:]) if line.startswith("*?") else 1.0, []))
        elif plot.beats:
            plot.beats[-1][1].append(compile_template(line))
        elif line.startswith("bind "):
            _, variable, plot.kinds[variable] = line.split()
        elif line.startswith("frame "):
            _, variable, *fields = line.split()
            rows = plot.frames[variable] = []
        else:
            cells = map(compile_template, map(str.strip, line.split(" / ")))
            rows.append(dict(zip(fields, cells, strict=True)))
    return plot


def compile_template(text: str, names: Mapping[str, str] | None = None) -> Node:
    """Compiles `text`; `names` maps a rule's parameters to the variables of the call."""
    text = _SUBJECT.sub(r"\1{\2.s} ", _RESUMED.sub(r'\1, "~', text))
    tokens = filter(None, _TOKEN.split(text))
    options = _parse(tokens, names or {})
    if len(options) > 1 or next(tokens, "") or text.count("[") != text.count("]"):
        raise ValueError(f"unbalanced brackets, or a '|' outside brackets, in template {text!r}")
    return methodcaller("tell", options, draw=False)


def _parse(tokens: Iterator[str], names: Mapping[str, str]) -> list[list[str | Node]]:
    """The alternatives up to a closing bracket."""
    options: list[list[str | Node]] = [[]]
    for token in tokens:
        if token == "]":
            break
        if token == "|":
            options.append([])
        elif token == "[":
            options[-1].append(methodcaller("tell", _parse(tokens, names), draw=True))
        elif not _TOKEN.fullmatch(token):
            options[-1].append(token)
        elif token[0] == "{":
            name, _, attribute = token[1:-1].partition(".")
            options[-1].append(methodcaller("field", names.get(name, name), attribute))
        else:
            name, *arguments = token[1:-1].split()
            options[-1].append(_call(name, tuple(names.get(argument, argument) for argument in arguments)))
    return options


@cache
def _call(name: str, arguments: tuple[str, ...]) -> Node:
    """The node of a rule call or of `list:form`. Raises ValueError for an unknown name or wrong arguments."""
    parameters, lines = sections("grammar.txt").get(name, ([], []))
    key, _, form = name.partition(":")
    if len(parameters) != len(arguments) or not (lines or key in sections("lexicon.txt")):
        raise ValueError(f"<{' '.join((name, *arguments))}> is neither a rule with {parameters} nor a word list")
    if lines:
        names = dict(zip(parameters, arguments, strict=True))
        compiled = cache(lambda: [compile_template(line, names) for line in lines])  # lazily: rules are recursive
        return lambda world: compiled()[world.draw_unused(name, len(lines))](world)
    entries = words(key)
    if key.startswith("v.") and form != "base":
        entries = tuple(inflect(word, form or "past") for word in entries)
    elif form in ("pl", "nps"):
        entries = tuple(inflect(word, "plural") for word in entries)
    return methodcaller("noun_phrase" if form in ("np", "nps") else "draw", key, entries)


class World:
    """The variables of one story, created at their first mention and kept to its end, and its random source.

    An entity is a dict of fields; a field is text, or a node that is evaluated at each use. Characters have the fields
    n (name), he, him, his, self. `rand` draws a float in [0, 1); `focus` is the character that a pronoun refers to.
    """

    def __init__(self, rand: Callable[[], float], plot: Plot) -> None:
        self.rand, self.frames, self.focus = rand, plot.frames, ""
        self._kinds = {**dict(table("default.kinds")), **plot.kinds}
        self._entities: dict[str, Entity] = {}
        self._last: dict[str, int] = {}
        self._used: set[tuple[str, int]] = set()

    def pick(self, items: Sequence[_T]) -> _T:
        """Draws one of the items."""
        return items[int(self.rand() * len(items))]

    def draw(self, name: str, items: Sequence[_T]) -> _T:
        """Draws an item of the list `name`, never the same one twice in a row."""
        index = int(self.rand() * len(items))
        if self._last.get(name) == index:
            index = (index + 1) % len(items)
        self._last[name] = index
        return items[index]

    def draw_unused(self, rule: str, n: int) -> int:
        """Draws the index of an alternative of a rule, most probably one that this story has not used."""
        for _ in range(_MAX_DRAWS):
            index = self.pick(range(n))
            if (rule, index) not in self._used:
                break
        self._used.add((rule, index))
        return index

    def adjectives(self, noun_list: str) -> list[str]:
        """Draws up to two adjectives that fit a noun list, in the order of its adjective lists."""
        pools = [words(name) for name in sections("lexicon.txt")[noun_list][0]]
        draw = self.rand()
        first = int(self.rand() * len(pools))
        if draw < _NO_ADJECTIVE or not pools:
            return []
        one = draw < _ONE_ADJECTIVE or first + 1 == len(pools)
        chosen = pools[first : first + 1] if one else [pools[first], self.pick(pools[first + 1 :])]
        return list(dict.fromkeys(self.pick(pool) for pool in chosen))

    def noun_phrase(self, noun_list: str, nouns: Sequence[str]) -> str:
        """Draws a noun, then its adjectives."""
        noun = self.draw(noun_list, nouns)
        return " ".join([*self.adjectives(noun_list), noun])

    def tell(self, options: Sequence[Sequence[str | Node]], *, draw: bool) -> str:
        """The text of one of the alternatives, or of the first one without a draw."""
        parts = self.pick(options) if draw else options[0]
        return "".join([part if isinstance(part, str) else part(self) for part in parts])

    def entity(self, variable: str) -> Entity:
        """The entity of a variable, created at its first mention. Raises KeyError for an unbound variable."""
        if variable not in self._entities:
            frame = self.frames.get(variable)
            self._entities[variable] = dict(self.pick(frame)) if frame else self._create(self._kinds[variable])
        return self._entities[variable]

    def field(self, variable: str, attribute: str) -> str:
        """A field of a variable; "" and "s" are its name. A subject ("s") that was named last may be a pronoun."""
        entity = self.entity(variable)
        if attribute == "s" and self.focus == variable and self.rand() < _PRONOUN_RATE:
            return str(entity["he"])
        if attribute in ("", "n", "s"):
            attribute = "n"
            self.focus = variable if "he" in entity else self.focus
        value = entity[attribute]
        text = value if isinstance(value, str) else value(self)
        if variable in self.frames:  # a frame keeps its words: a second use repeats them
            entity[attribute] = text
        return text

    def _create(self, kind: str) -> Entity:
        """An entity of a kind. Of a character, `kin` is the word after "her", `kid` boy, girl or species."""
        base, _, rest = kind.partition(".")
        match base:
            case "place":
                the, where, some, one, hear, spot = self.pick(table(kind))
                fields: Entity = {"n": the, "the": the, "at": f"{where} {the}", "to": f"to {the}"}
                fields["spot"] = self.pick(split(spot))
                cells = {"some": some, "one": one, "hear": hear, "hide": spot}
                return {**fields, **{name: self._rotating(cell) for name, cell in cells.items()}}
            case "text":
                return {"n": self.pick(words(rest))}
            case "child":
                pronouns = self._pronouns()
                return {**pronouns, "n": self._new_name(f"name.{pronouns['kid']}"), **self._traits()}
            case "beast":
                name, species = self._new_name("name.animal"), self.pick(words("n.beast"))
                return {**self._pronouns(), **self._traits(), "n": name, "kid": species}
            case "family":
                while True:
                    gender, name, kin = self.pick(table("family"))
                    pronouns = self._pronouns(gender)
                    if kin in ("aunt", "uncle"):
                        name += " " + self.pick(words(f"name.{pronouns['kid']}"))
                    if name in ("Mum", "Dad") or name[0] not in self._initials():
                        return {**pronouns, "n": name, "kin": kin}
            case "neighbour":
                pronouns = self._pronouns()
                title, kid = ("Mr", "man") if pronouns["he"] == "he" else (self.pick(("Mrs", "Miss")), "woman")
                return {**pronouns, "n": f"{title} {self.pick(words('name.last'))}", "kid": kid}
            case "elder":
                return {**self._pronouns(self.pick(("he", "she"))), "n": "the " + self.pick(words("elder"))}
            case "worker":
                job = self.pick(words("worker"))
                return {**self._pronouns(), "n": f"the {job}", "a": f"a {job}", "job": job}
            case "pet":
                species = self.pick(words(f"n.{rest or 'pet'}"))
                name = self._new_name("name.pet")
                look = f"{self.pick(words('adj.coat'))} {species}"
                pronouns = self._pronouns(self.pick(("he", "she")))
                return {**pronouns, "n": name, "sp": species, "look": look, "a": f"a {look}"}
            case "wild":
                species, home, food, sound = self.pick(table(kind))
                fields = {"n": f"the {species}", "sp": species, "home": home, "sound": sound, **self._pronouns("it")}
                return {**fields, "a": f"a {self.pick(words('adj.wild'))} {species}", "food": self._rotating(food)}
            case _:
                noun, stack = self.pick(words(kind)), self.adjectives(kind)
                full, short = " ".join([*stack, noun]), " ".join([*stack[-1:], noun])
                fields = {"n": noun, "pl": inflect(noun, "plural"), "np": full, "a": f"a {full}", "it": "it"}
                fields["the"] = lambda world: "the " + (noun if world.rand() < _BARE_NOUN_RATE else short)
                return {**fields, "short": short}

    def _pronouns(self, gender: str = "") -> Entity:
        """The pronouns of a gender; by default drawn, mostly not the hero's, so that pronouns stay unambiguous."""
        hero = self._entities.get("H", {}).get("he")
        if not gender and hero in ("he", "she") and self.rand() < _OTHER_GENDER_RATE:
            gender = "she" if hero == "he" else "he"
        gender = gender or ("he" if self.rand() < 0.5 else "she")
        row = next(row for row in table("pronouns") if row[0] == gender)
        return dict(zip(("he", "him", "his", "self", "kid"), row, strict=True))

    def _initials(self) -> set[str]:
        """The first letters of the names in use."""
        return {str(entity["n"])[0] for entity in self._entities.values() if "he" in entity}

    def _new_name(self, name_list: str) -> str:
        """Draws a name whose initial is not in use."""
        while (name := self.pick(words(name_list)))[0] in self._initials():
            pass
        return name

    def _traits(self) -> Entity:
        traits = {name: self.draw("adj.trait", words("adj.trait")) for name in ("trait", "trait2")}
        return {**traits, **{name: self.pick(words(name)) for name in ("like", "age", "wear")}}

    def _rotating(self, cell: str) -> Node:
        """A node that cycles through the items of a cell, so that near uses differ."""
        items = split(cell)
        start = self.pick(range(len(items)))
        rotation = cycle(items[start:] + items[:start])
        return lambda world: next(rotation)
