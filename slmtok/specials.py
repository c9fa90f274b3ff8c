"""Special tokens: sixteen fixed ids, their roles and spellings, and finding them in text where a call allows it.

An id has a *role* (its purpose: `bos`, `eos`, …) and a *spelling* (its form in text: `<s>`). The two are separate, so
that a new spelling, or a role for a reserved id, changes no id. A foreign vocabulary (one read from tiktoken) has
specials at ids of its own, in the same classes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice
from typing import TypeAlias, cast

from slmtok.errors import InvalidSpecials, Setting, UnknownSpecial, WrongType, suggestion, value_text
from slmtok.indexing import explains_indexing

N_SPECIALS = 16
"""Size of the block of special ids that opens every vocabulary of our own layout."""
FIRST_BYTE = N_SPECIALS
"""Id of the byte 0x00; byte b has id FIRST_BYTE + b."""
FIRST_LEARNED = FIRST_BYTE + 256
"""Id of the first learned token: 272, which is also the least size of a vocabulary."""

AllowSpecial: TypeAlias = Collection[str]
"""Roles or spellings, or the one word "all"."""
MAX_SPELLING_CHARS = 1024
"""Characters of the spelling of a special token."""
SPELLING = re.compile(r"<[^\s<>]+>|\[[A-Z_]+\]")
"""What the spelling of a special token usually looks like."""
_MAX_SPELLED = 8
"""Spellings that an error lists."""
_ROLE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")


class SpecialId(IntEnum):
    """The fixed ids. 6 to 15 are reserved: without role or spelling until they are named."""

    UNK = 0
    BOS = 1
    EOS = 2
    PAD = 3
    SEP = 4
    MASK = 5


_SPELLINGS = ("<?>", "<s>", "</s>", "<>", "<sep>", "<mask>")


@explains_indexing
@dataclass(frozen=True)
class SpecialToken:
    """One special id. A reserved one has neither role nor text."""

    id: int
    role: str | None = None
    text: str | None = None


class Specials(Mapping[str, int]):
    """The special tokens of a vocabulary: a read-only mapping from role to id.

    `specials["eos"]` is an id, and so is `specials.eos`; `specials.text("eos")` is its spelling; `specials.tokens` are
    all, reserved ones included.
    """

    __slots__ = ("_by_role", "_by_text", "tokens")

    def __init__(self, tokens: Iterable[SpecialToken]) -> None:
        """Raises `InvalidSpecials` where ids, roles or spellings repeat or are malformed, `WrongType`."""
        self.tokens: tuple[SpecialToken, ...] = tuple(sorted(tokens, key=lambda token: token.id))
        self._by_role: dict[str, SpecialToken] = {}
        self._by_text: dict[str, SpecialToken] = {}
        last = -1
        for token in self.tokens:
            if token.id <= last:
                fact = f"special id {token.id} is listed twice or is negative"
                raise InvalidSpecials(fact, fix="give each special an id of its own, from 0 up", id=token.id)
            last = token.id
            self._add(token)
        for role, token in self._by_role.items():
            other = self._by_text.get(role, token)
            if other is not token:
                raise InvalidSpecials(
                    f"{role!r} is the role of special id {token.id} and the spelling of {other.id}",
                    limit="a name stands for one special",
                    fix=f"spell {other.id} otherwise, '<|{other.role}|>' for instance",
                    id=other.id,
                    roles=[other.role],
                )

    def _add(self, token: SpecialToken) -> None:
        if token.role is None and token.text is None:
            return
        if token.role is None or token.text is None:
            raise InvalidSpecials(
                f"special id {token.id} has a role or a spelling, but not both",
                limit="both, or neither where it is reserved",
                fix="add the other one",
                id=token.id,
            )
        if not isinstance(token.role, str) or not isinstance(token.text, str):
            raise WrongType(
                f"special id {token.id} has the role {token.role!r} and the spelling {token.text!r}",
                limit="a str for each",
                fix="'user' and '<|user|>', for instance",
            )
        if not _ROLE.fullmatch(token.role):
            raise InvalidSpecials(
                f"{token.role!r} is not a valid role",
                limit="a letter, then letters, digits, '_', '.' or '-'",
                fix=f"name it {_valid_role(token.role)!r}, for instance",
                id=token.id,
                roles=[token.role],
            )
        if len(token.text) > MAX_SPELLING_CHARS:
            raise InvalidSpecials(
                f"the spelling of the role {token.role!r} has {len(token.text):,} characters",
                limit=f"{MAX_SPELLING_CHARS:,}",
                fix=f"spell it '<|{token.role}|>', for instance",
                id=token.id,
                roles=[token.role],
            )
        if not token.text or has_lone_surrogate(token.text):
            raise InvalidSpecials(
                f"{token.text!r} cannot spell a special token",
                limit="one character or more, no lone surrogate",
                fix=f"spell it '<|{token.role}|>', for instance",
                id=token.id,
                roles=[token.role],
            )
        for table, key, what in ((self._by_role, token.role, "role"), (self._by_text, token.text, "spelling")):
            if key in table:
                roles = [table[key].role, token.role]
                raise InvalidSpecials(
                    f"{what} {key!r} belongs to special ids {table[key].id} and {token.id}"
                    + (f", {roles[0]!r} and {roles[1]!r}" if what == "spelling" else ""),
                    limit=f"each special has a {what} of its own",
                    fix=f"give one of them another {what}",
                    id=token.id,
                    roles=roles,
                )
            table[key] = token

    def __getitem__(self, role: str) -> int:
        token = self._by_role.get(role) if isinstance(role, str) else None
        if token is None:
            raise self.unknown(role)
        return token.id

    def __getattr__(self, role: str) -> int:
        # Not for private names: copying asks for them before the tables exist.
        token = None if role.startswith("_") else self._by_role.get(role)
        if token is None:
            known = "" if role.startswith("_") else f"; the roles are {', '.join(self._by_role)}"
            raise AttributeError(f"no special token has the role {role!r}{known}", name=role, obj=self)
        return token.id

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self.__slots__:
            if isinstance(value, str):
                raise AttributeError(f"specials are immutable; {assignment_meant(self, name, value)}")
            fact = "specials are immutable, and the ids of roles never change"
            call = self.call_with({name: f"<|{name}|>"})
            raise AttributeError(fact + (f"; tok = {call} makes a tokenizer with this spelling" if call else ""))
        super().__setattr__(name, value)

    def __contains__(self, role: object) -> bool:
        return isinstance(role, str) and role in self._by_role

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_role)

    def __len__(self) -> int:
        return len(self._by_role)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Specials):
            return self.tokens == other.tokens
        return Mapping.__eq__(self, other)

    def __hash__(self) -> int:
        return hash(self.tokens)

    def __repr__(self) -> str:
        named = ", ".join(f"{token.id} {token.role} {token.text!r}" for token in self.tokens if token.role)
        return f"Specials({named})"

    @property
    def spellings(self) -> dict[str, int]:
        """Spelling to id, of all named specials."""
        return {text: token.id for text, token in self._by_text.items()}

    def text(self, role: str) -> str:
        """The spelling of a role. Raises `UnknownSpecial`."""
        token = self._by_role.get(role) if isinstance(role, str) else None
        if token is None or token.text is None:
            raise self.unknown(role)
        return token.text

    def find(self, name: str, *, in_python: bool = False) -> SpecialToken:
        """The special with this role or, failing that, this spelling. Raises `UnknownSpecial`.

        in_python: whether the fix for a role that is not there may be a call.
        """
        token = self._by_role.get(name) or self._by_text.get(name) if isinstance(name, str) else None
        if token is None:
            error = self.unknown(name, in_python=in_python)
            spelling = self.spelling_meant(name) if isinstance(name, str) else ""
            role = str(error.fields.get("role", ""))
            if role and not spelling.isidentifier() and spelling and (call := self.call_with({role: spelling})):
                error.fix = f"tok = {call}; here {role} is spelled {self.text(role)!r}"
                if spelling != name:
                    error.fix += f", and afterwards {role!r} names it"
            raise error
        return token

    def spelling_meant(self, name: str) -> str:
        """`<|endoftext|>` for `endoftext`, a spelling of other tokenizers, unless a special has it; `name` for others.

        The role alone would leave the spelling in the text as text.
        """
        spelling = f"<|{name}|>"
        return spelling if spelling in _USUAL_ROLES and spelling not in self._by_text else name

    def role_meant(self, name: object) -> str | None:
        """The role of these specials that `name` stands for: an id, a spelling, `eos_token`, or a word like it."""
        if not isinstance(name, str):
            return next((token.role for token in self.tokens if type(name) is int and token.id == name), None)
        if token := self._by_text.get(name):
            return token.role
        usual = name.removesuffix("_token")
        if not name.isidentifier() or f"<|{name}|>" in _USUAL_ROLES:
            name = f"<|{name}|>" if name.isidentifier() else name
            usual = next(iter(spellings_meant([name])))
        return usual if usual in self._by_role else suggestion(name, self._by_role)

    def unknown(self, name: object, *, in_python: bool = True) -> UnknownSpecial:
        """The error for a name that is no role, and no spelling where one is taken; see `find`.

        Its field `role` is the `role_meant`, if there is one.
        """
        meant = self.role_meant(name)
        known = {} if meant is None else {"role": meant}
        fact = f"no special token has the role or spelling {value_text(name)}"
        fix = f"use {meant!r}" if meant else "use one of the roles, or give a special that spelling first"
        if meant and not isinstance(name, str):
            fact = f"{name!r} is the id of {meant!r}, not a role"
        elif isinstance(name, str) and meant and name in self._by_text:
            fact, fix = f"{name!r} is the spelling of {meant!r}, not a role", f"tok.specials[{meant!r}]"
        elif isinstance(name, str) and meant and not name.isidentifier():
            fix = f"tok.specials[{meant!r}], which is spelled {self.text(meant)!r} here"
        elif isinstance(name, str) and not meant:
            is_role = name.isidentifier()
            call = self.call_with({name: f"<|{name}|>"} if is_role else spellings_meant([name]))
            if call is None:
                fix = self._without_special(name)
            elif in_python or not is_role:
                fix = f"tok = {call}" + " has it" * is_role
        return UnknownSpecial(fact, limit=f"roles: {', '.join(self._by_role) or 'none'}", fix=fix, name=name, **known)

    def _without_special(self, name: str) -> str:
        """The remedy for a name of no special where none can get it."""
        if near := suggestion(name, self._by_text):
            return f"use {near!r}"
        spelled = ", ".join(map(repr, islice(self._by_text, _MAX_SPELLED))) + ", ..." * (len(self) > _MAX_SPELLED)
        return (
            ("use one of the roles, or leave it out" if spelled else "leave it out")
            + "; no id is reserved for a new special here, and a tokenizer that slmtok trains has reserved ids"
            + f"; the specials here are spelled {spelled}" * bool(spelled)
        )

    def call_with(self, spellings: Mapping[str, str]) -> str | None:
        """The call that gives roles these spellings; None where it raises: without a reserved id for a new role."""
        spellings = role_spellings(spellings)
        try:
            self.respelled(spellings)
        except InvalidSpecials:
            return None
        return "tok" + "".join(f".with_special({role!r}, {text!r})" for role, text in spellings.items())

    def named(self, role: str, text: str) -> Specials:
        """These specials with `role` spelled `text`; a new role takes the first reserved id.

        Raises `InvalidSpecials` when no reserved id is left, or when the spelling is taken.
        """
        if not isinstance(role, str) or not isinstance(text, str):
            wrong = f"a role is a str, not {type(role).__name__}"
            if isinstance(role, str):
                wrong = f"a spelling is a str, not {type(text).__name__} {value_text(text)}"
            meant = next(iter(text), "") if isinstance(text, (list, tuple)) else ""
            spelled = role if isinstance(role, str) and _ROLE.fullmatch(role) else "user"
            fix = f"tok.with_special({spelled!r}, {meant if isinstance(meant, str) and meant else f'<|{spelled}|>'!r})"
            raise WrongType(wrong, fix=fix)
        try:
            return self.respelled({role: text})
        except InvalidSpecials as error:
            sound = cast("dict[str, str]", error.fields.get("spellings", {}))
            calls = [(each, to) for each, to in sound.items() if (each, to) != (role, text)]
            if calls:
                is_first = role in sound and calls[0][0] in self and calls[0][0] != role
                call = f"tok.with_special({calls[0][0]!r}, {calls[0][1]!r})"
                error.fix = f"tok = {call} first" if is_first else call
                if role == "pad" and (alias := _alias_meant(self, role, text)):
                    error.fix = f"{alias}; to change both: {error.fix}"
            raise

    @property
    def n_reserved(self) -> int:
        """The number of ids that a new role may take."""
        return sum(token.role is None for token in self.tokens)

    @property
    def none_reserved(self) -> str:
        """The limit of an error for a new role where too few ids are reserved."""
        roles = f"roles: {', '.join(self._by_role)}" if self._by_role else "this tokenizer has no specials"
        return f"{roles}, and {self.n_reserved or 'no'} reserved ids for new ones"

    def _without_role(self) -> str:
        """The remedy for a role that no id is left for."""
        respelled = "give an existing role a new spelling"
        if n_reserved := self.n_reserved:
            return f"name at most {n_reserved} new roles, or {respelled}"
        leave_out = (
            "leave it out: packing adds bos and eos as new ids, and a tokenizer that slmtok trains has reserved ids"
        )
        return f"{respelled}, or {leave_out}" if self._by_role else leave_out

    def completed(self) -> Specials:
        """These specials with a name for each reserved id, `<|reserved_6|>`, for libraries that know no holes."""
        taken = {name for token in self.tokens if token.role for name in (token.role, token.text)}
        tokens = []
        for token in self.tokens:
            name = f"reserved_{token.id}"
            while token.role is None and (name in taken or f"<|{name}|>" in taken):
                name += "_"
            tokens.append(token if token.role is not None else SpecialToken(token.id, name, f"<|{name}|>"))
        return Specials(tokens)

    def respelled(self, spellings: Mapping[str, str], option: str = "special") -> Specials:
        """As `named` for several at once, so that two roles may exchange their spellings.

        option: what gives the spellings; the field `spellings` of an error has sound ones.
        """
        spellings = role_spellings(spellings)
        try:
            return self._respelled(spellings, option)
        except InvalidSpecials as error:
            sound = error.fields.get("spellings")
            for _ in self.tokens:
                if not isinstance(sound, dict):
                    break
                # An error names one wrong spelling, and others may follow.
                error.fields["spellings"], error.fix = sound, (Setting(option, sound),)
                try:
                    self._respelled(sound, option)
                    break
                except InvalidSpecials as more:
                    sound = more.fields.get("spellings")
            raise

    def _respelled(self, spellings: Mapping[str, str], option: str) -> Specials:
        """As `respelled`; the spellings of an error may have further faults."""
        free = iter([token for token in self.tokens if token.role is None])
        changed: dict[int, SpecialToken] = {}
        self._refuse_other_names(spellings, option)
        for role, text in spellings.items():
            old = self._by_role.get(role) or next(free, None)
            if old is None:
                raise InvalidSpecials(
                    f"no reserved id is left for the role {role!r}",
                    limit=self.none_reserved,
                    fix=self._without_role(),
                    role=role,
                )
            if text.isdecimal():
                sound = {each: f"<|{each}|>" if to.isdecimal() else to for each, to in spellings.items()}
                raise InvalidSpecials(
                    f"{role!r} is spelled {text!r}, which is a number",
                    limit=f"a spelling is text; the id of {role!r} is {old.id}, and no id can be chosen",
                    fix=(Setting(option, sound),),
                    roles=[role],
                    spellings=sound,
                )
            changed[old.id] = SpecialToken(old.id, role, text)
        tokens = [changed.get(token.id, token) for token in self.tokens]
        try:
            return Specials(tokens)
        except InvalidSpecials as error:
            if roles := error.fields.get("roles"):
                error.fields["spellings"] = sound = _sound_spellings(spellings, cast("list[str]", roles), tokens)
                error.fix = (Setting(option, sound),)
            raise

    def _refuse_other_names(self, spellings: Mapping[str, str], option: str) -> None:
        """Raises `InvalidSpecials` for another name of a role, which would become a role beside it."""
        others = {name: self._other_name(name, text) for name, text in spellings.items() if name not in self._by_role}
        named = {name: found for name, found in others.items() if found is not None}
        for name, (ours, fact) in named.items():
            sound = {named[each][0] if each in named else each: text for each, text in spellings.items()}
            raise InvalidSpecials(
                f"{name!r} is {fact}, not a role",
                limit=f"roles: {', '.join(self._by_role)}",
                fix=(Setting(option, sound),),
                role=ours,
                roles=[name],
                spellings=sound,
            )

    def _other_name(self, name: str, spelling: str) -> tuple[str, str] | None:
        """The role that `name` stands for and what it is: the spelling or id of the role, `eos_token` or `EOS`."""
        if _ROLE.fullmatch(name):
            if (lower := name.lower()) in self._by_role:
                return lower, f"{lower!r} in capital letters"
            usual = lower.removesuffix("_token")
            return (usual, f"{usual!r} in Hugging Face libraries") if usual in self._by_role else None
        if _ROLE.fullmatch(spelling):
            # `<|end|>=eos` is a pair in the wrong order.
            return None
        token = self._by_text.get(name) or next((each for each in self.tokens if name == str(each.id)), None)
        if token is not None and token.role is not None:
            return token.role, f"the {'id' if name.isdecimal() else 'spelling'} of {token.role!r}"
        usual = _USUAL_ROLES.get(name, "")
        return (usual, f"another spelling of {usual!r}") if usual in self._by_role else None


def _sound_spellings(spellings: Mapping[str, str], roles: list[str], tokens: Iterable[SpecialToken]) -> dict[str, str]:
    """The spellings with a valid name, or a spelling of its own, for one of the `roles` that contradict each other.

    That is a role which is not among `spellings`, where there is one: what was asked for stays.
    """
    wrong = next((role for role in roles if role not in spellings), roles[-1])
    to, valid = spellings.get(wrong, ""), _valid_role(wrong)
    if wrong != wrong.strip():
        # Spaces around `=` are a way of writing, and no part of either.
        spellings = {each: text.strip() if each == wrong else text for each, text in spellings.items()}
        to = to.strip()
    if wrong and not wrong[0].isalnum() and _ROLE.fullmatch(to) and to not in spellings:
        return {to if each == wrong else each: wrong if each == wrong else text for each, text in spellings.items()}
    role, number = valid, 2
    while role != wrong and role in spellings:
        role, number = f"{valid}_{number}", number + 1
    taken = {token.text for token in tokens}
    text, number = f"<|{role}|>", 2
    while text in taken:
        text, number = f"<|{role}_{number}|>", number + 1
    found = {role if each == wrong else each: text if each == wrong == role else to for each, to in spellings.items()}
    return found if wrong in spellings else {**found, role: text}


def _own_pair(text: str) -> str:
    """`ROLE=SPELLING` for a text that is not such a pair, with the role that it names: `user=<|user|>` for `user=`."""
    name, equals, spelling = text.partition("=")
    before, _, after = text.partition(":")
    if not equals and after and _ROLE.fullmatch(before):
        name, spelling = before, after.strip()
    role = _valid_role(name or spelling)
    return f"{role}={spelling or (name if name and name != role and '=' not in text else f'<|{role}|>')}"


def divided_pairs(text: str) -> list[str]:
    """The pairs `ROLE=SPELLING` that a text holds with commas between, or as JSON; one for `tool=<tool,name=x>`."""
    if text.lstrip().startswith(("{", "[")):
        with suppress(ValueError, RecursionError):
            content = json.loads(text)
            entries = content.items() if isinstance(content, dict) else [("", content)]
            return [pair for role, spelling in entries for pair in _pairs_of_json(role, spelling)] or [text]
    parts = _NEXT_PAIR.split(text) if "=" in text.partition(",")[0] else [text]
    return parts if all(part.count("<") == part.count(">") for part in parts) else [text]


def _pairs_of_json(role: str, spelling: object) -> list[str]:
    """The pairs of an entry of a JSON object, such as `"eos_token": "</s>"`; for a list, the spellings alone."""
    if isinstance(spelling, list):
        return [each for each in spelling if isinstance(each, str)]
    return [f"{role.removesuffix('_token')}={spelling if isinstance(spelling, str) else ''}"]


_NEXT_PAIR = re.compile(rf",\s*(?={_ROLE.pattern}=.)")


def pairs_meant(texts: Sequence[str]) -> dict[str, str]:
    """Role to spelling for arguments of which some are no pair `ROLE=SPELLING`: a spelling, a role, or both in turn.

    Several spellings, or pairs, with commas between are one argument; `SPELLING=ROLE` is a pair in the wrong order. A
    pair with spaces around its `=` is several arguments.
    """
    pairs: list[tuple[str, str]] = []
    texts = [part for text in _joined_at_sign(texts) for part in divided_pairs(text)]
    rest = enumerate(texts)
    for at, text in rest:
        role, _, spelling = text.partition("=" if "=" in text else ":")
        following = texts[at + 1] if at + 1 < len(texts) else ""
        is_role = _ROLE.fullmatch(following) is not None and following.islower()
        listed = [part.strip() for part in text.split(",")]
        if _ROLE.fullmatch(role) and spelling:
            pairs.append((role, spelling))
        elif role and _ROLE.fullmatch(spelling):
            pairs.append((spelling, role))
        elif text.removesuffix(":").isidentifier() and following and "=" not in following and not is_role:
            pairs.append((text.removesuffix(":"), following))
            next(rest)
        elif len(listed) > 1 and "=" not in text and all(part[:1] in ("<", "[") for part in listed):
            pairs += [("", part) for part in listed]
        else:
            pairs.append(("", text))
    found = {role: spelling for role, spelling in pairs if role}
    bare = dict.fromkeys(spelling for role, spelling in pairs if not role and spelling not in found.values())
    meant = dict(zip(bare, spellings_meant(bare).items(), strict=True))
    for text, (role, spelling) in meant.items():
        name, number = role, 2
        while name in found:
            name, number = f"{role}_{number}", number + 1
        found[name] = spelling if role == name or spelling != f"<|{role}|>" else f"<|{name}|>"
        meant[text] = (name, found[name])
    return dict((role, spelling) if role else meant[spelling] for role, spelling in pairs if role or spelling in meant)


def _joined_at_sign(texts: Sequence[str]) -> list[str]:
    """The texts with `user = SPELLING`, `user= SPELLING` and `user =SPELLING` as one each."""
    joined: list[str] = []
    for text in texts:
        role, equals, spelling = (joined[-1] if joined else "").partition("=")
        is_rest = not spelling and bool(equals) != text.startswith("=") and "=" not in text.removeprefix("=")
        if _ROLE.fullmatch(role) and is_rest:
            joined[-1] += text
        else:
            joined.append(text)
    return joined


_USUAL_ROLES = {"<s>": "bos", "</s>": "eos", "<|endoftext|>": "eos", "<|end_of_text|>": "eos"}
"""Spellings of other tokenizers whose role is not in them."""


def spellings_meant(texts: Iterable[str]) -> dict[str, str]:
    """Role to spelling for a list of spellings, each with a role of its own: `{"eos": "<|endoftext|>"}`."""
    found: dict[str, str] = {}
    for text in dict.fromkeys(texts):
        role, _, spelling = _own_pair(text).partition("=")
        fixed = _USUAL_ROLES.get(text, role.lower() if role.upper() in SpecialId.__members__ else role)
        role = fixed if fixed not in found else role
        number = 2
        while role in found:
            role, number = f"{role.partition('_')[0]}_{number}", number + 1
        found[role] = spelling
    return found


def _valid_role(name: str) -> str:
    """The part of a name that is a valid role."""
    found = _ROLE.search(name)
    return found[0] if found else "user"


def is_pair(value: object) -> bool:
    """Whether a value is a pair of a role and its spelling."""
    return isinstance(value, (list, tuple)) and len(value) == 2 and all(isinstance(each, str) for each in value)


def role_spellings(spellings: Mapping[str, str] | None) -> dict[str, str]:
    """`spellings` as a dict from role to spelling. Raises `WrongType`."""
    fix = "{'user': '<|user|>'}"
    if spellings is None:
        return {}
    if not isinstance(spellings, Mapping):
        given = [spellings] if isinstance(spellings, str) else spellings
        if isinstance(given, (list, tuple, set)) and given and all(isinstance(each, str) for each in given):
            fix = repr(spellings_meant(given))
        elif isinstance(given, (list, tuple)) and given and all(map(is_pair, given)):
            fix = repr(dict(given))
        raise WrongType(f"spellings must be a dict from role to spelling, not {type(spellings).__name__}", fix=fix)
    for role, text in spellings.items():
        if not isinstance(role, str) or not isinstance(text, str):
            if isinstance(role, str):
                found: dict[str, str] = {}
                for each, to in spellings.items():
                    found |= {str(each): to} if isinstance(to, str) else spellings_meant([str(each)])
                fix = repr(found)
            raise WrongType(
                f"the role {value_text(role)} is spelled {value_text(text)}",
                limit="a str for a str; ids are fixed",
                fix=fix,
            )
    return dict(spellings)


def has_lone_surrogate(text: str) -> bool:
    """Whether a `str` has half of a surrogate pair, which no UTF-8 can hold."""
    return not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text)


def default_specials(spellings: Mapping[str, str] | None = None) -> Specials:
    """The sixteen special ids of our layout, with these spellings (role to spelling)."""
    fixed = [SpecialToken(int(id), id.name.lower(), text) for id, text in zip(SpecialId, _SPELLINGS, strict=True)]
    specials = Specials([*fixed, *(SpecialToken(id) for id in range(len(fixed), N_SPECIALS))])
    return specials.respelled(spellings or {})


def check_own_layout(specials: Specials) -> None:
    """Raises `InvalidSpecials` unless these are the sixteen ids of our layout, with the six fixed roles."""
    if [token.id for token in specials.tokens] != list(range(N_SPECIALS)):
        raise InvalidSpecials(
            f"{len(specials.tokens)} special ids are listed",
            limit=f"exactly the ids 0 to {N_SPECIALS - 1}",
            fix="begin with slmtok.specials.default_specials()",
        )
    for fixed in SpecialId:
        role, name = specials.tokens[fixed].role, fixed.name.lower()
        if role != name:
            fix = "give it another spelling instead, or name a reserved id"
            raise InvalidSpecials(f"special id {int(fixed)} has the role {role!r}", limit=f"always {name!r}", fix=fix)


# --- specials in text -------------------------------------------------------------------------------------------------


def allowed_spellings(specials: Specials, names: Iterable[str]) -> dict[str, int]:
    """Spelling to id of the specials that `names` (roles, spellings, or "all") stand for. Raises `UnknownSpecial`."""
    if isinstance(names, str) and names != "all":
        for name in _listed(names):
            # A set of them is a remedy for specials that are there.
            specials.find(name, in_python=True)
    names = check_names("allow_special", names)
    if names == "all":
        return specials.spellings
    tokens = [specials.find(name, in_python=True) for name in names]
    return {token.text: token.id for token in tokens if token.text is not None}


def _listed(names: str) -> list[str]:
    """The names between the commas of a text, each once."""
    return [*dict.fromkeys(filter(None, (name.strip() for name in names.split(","))))] or [names]


def check_names(option: str, names: object) -> str | tuple[str, ...]:
    """Names of specials as a tuple, or "all". Raises `WrongType` for one name alone."""
    if isinstance(names, str):
        if names != "all":
            raise WrongType(
                f"{option}={names!r} is one string", fix=f"{option}={{{', '.join(map(repr, _listed(names)))}}}"
            )
        return names
    if isinstance(names, (bytes, bytearray)) or not isinstance(names, Iterable):
        raise WrongType(f"{option} must name specials, not be {type(names).__name__}", fix=f"{option}={{'bos', 'eos'}}")
    # A loop of Python, in which Ctrl-C is heard.
    return tuple([name for name in names])  # noqa: C416


_SPELLING = re.compile(r"<\|\w{1,64}\|>", re.ASCII)
"""What most tokenizers spell specials like."""
_MAX_SEARCHED = 1 << 16
"""Characters, or bytes, of a text that are searched for the spelling of an allowed role."""


def assignment_meant(specials: Specials, role: str, text: str) -> str:
    """The call for an assignment of a spelling to a role, which Hugging Face has."""
    call = specials.call_with({role: text})
    made = f"tok = {call} makes another one" if call else specials.none_reserved
    return _alias_meant(specials, role, text) or made


def _alias_meant(specials: Specials, role: str, text: str) -> str | None:
    """What stands for a role that is to share the spelling of another one; None for a spelling of its own."""
    other = next((token.role for token in specials.tokens if token.role and token.text == text), role)
    if other == role:
        return None
    if role == "pad":
        return (
            f"{text!r} is the spelling of {other}; as_hf(tok, pad={other!r}) or "
            f"ragged.pad(tok.specials[{other!r}]) pads with it"
        )
    return f"{text!r} is the spelling of {other}; tok.specials[{other!r}] is its id"


def foreign_spelling(
    text: str | bytes, specials: Specials, allow: AllowSpecial = "all"
) -> tuple[str, str | None] | None:
    """The first part of a text that is spelled as a special of another tokenizer, and the role to give it.

    Where roles are allowed, one of these: `<|endoftext|>` for `eos`, of which the text has no own spelling; of a long
    text the beginning is looked at. None without such a part, and where the text has one of `specials` too. The role is
    None where no id is left for it.
    """
    if allow != "all":
        # Searching all of it takes a tenth of the time of encoding.
        text = text[:_MAX_SEARCHED]
    if ("<|" if isinstance(text, str) else b"<|") not in text:  # type: ignore[operator]
        return None
    whole = text if isinstance(text, str) else text.decode("latin-1")
    found = [*dict.fromkeys(_SPELLING.findall(whole))]
    if not found or not specials.spellings.keys().isdisjoint(found):
        return None
    for spelling in found:
        role = next(iter(spellings_meant([spelling])))
        if allow == "all":
            return spelling, role if role in specials or specials.n_reserved else None
        if role in allow and role in specials and specials.text(role) not in whole:
            return spelling, role
    return None


def split_at_specials(text: str | bytes, spellings: dict[str, int]) -> list[str | bytes | int]:
    """The text split at every spelling, leftmost first, then longest: non-empty texts and ids, in order."""
    if isinstance(text, bytes):
        # Latin-1 has one character per byte.
        encoded = {spelling.encode().decode("latin-1"): id for spelling, id in spellings.items()}
        found = split_at_specials(text.decode("latin-1"), encoded)
        return [part.encode("latin-1") if isinstance(part, str) else part for part in found]
    longest_first = sorted(spellings, key=len, reverse=True)
    pieces = re.split("(" + "|".join(map(re.escape, longest_first)) + ")", text)
    return [spellings[piece] if index % 2 else piece for index, piece in enumerate(pieces) if piece]
