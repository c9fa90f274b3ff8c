"""Checks of the arguments of the tiktoken adapter: texts, ids, special tokens, tables; and character offsets."""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import index
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from slmtok.calls import warn_caller
from slmtok.checks import U32, check_int, refuse_masked, texts_of_one
from slmtok.compat._shared import check_str
from slmtok.errors import (
    InvalidRanks,
    InvalidSpecials,
    InvalidText,
    OptionError,
    SlmtokError,
    SpecialInText,
    UnknownId,
    WrongType,
    suggestion,
    value_text,
)
from slmtok.id_arrays import list_of_one, refuse_mask
from slmtok.record_texts import short_text
from slmtok.specials import spellings_meant
from slmtok.vocabulary import MAX_IDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_Result = TypeVar("_Result")


def to_uint32(ids: Iterable[int]) -> NDArray[np.uint32]:
    """Ids as an array of uint32."""
    import numpy as np

    return np.array(list(ids), dtype=np.uint32)


def check_n_vocab(expected: int, listed: int, n_vocab: int) -> None:
    """Raises `OptionError` unless `explicit_n_vocab` is the size of the tables."""
    if listed != expected or n_vocab != expected:
        tables = f"there are {listed} tokens and the largest id is {n_vocab - 1}"
        raise OptionError(
            f"explicit_n_vocab is {value_text(expected)}, {tables}",
            limit="explicit_n_vocab = number of ranks and specials = largest id + 1",
            fix="leave explicit_n_vocab out, or correct the tables",
            option="explicit_n_vocab",
        )


def check_num_threads(value: int) -> int:
    """`value`, if it is a number of threads, at most 2^32 - 1. Raises `OptionError`."""
    return min(check_int("num_threads", value, 1, 10**100), U32)


def _check_several(values: object, fact: str, fix: str) -> Iterable[object]:
    """`values`, if they are several and no single text. Raises `WrongType`."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable) or getattr(values, "ndim", 1) == 0:
        raise WrongType(f"{fact}, not {type(values).__name__}", fix=fix)
    return values


def as_batch(texts: Collection[str]) -> list[str]:
    """A batch as a list. Raises `WrongType`, also for a single `str`."""
    fix = f"encode_batch({texts_of_one(texts)})"
    return list(map(check_str, _check_several(texts, "a batch must be a list of str", fix)))


def encode_repaired(encode: Callable[[str], _Result], text: str) -> _Result:
    """Encodes; lone surrogates, which UTF-8 cannot represent, are repaired first, as in tiktoken."""
    try:
        return encode(text)
    except InvalidText:
        return encode(repair(text))


def repair(text: str) -> str:
    """Text through UTF-16: surrogate pairs become characters, lone surrogates U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class IdOverflow(UnknownId, OverflowError):  # noqa: N818 (named as the others are)
    """An id that is negative or exceeds 32 bits."""


def as_ids(tokens: object) -> list[int]:
    """One sequence of ids as a list. Raises `WrongType`."""
    several = _check_several(tokens, "ids must be a sequence of int", f"enc.decode({list_of_one(tokens)})")
    refuse_masked(tokens)
    numbers: Any = tokens.tolist() if hasattr(tokens, "tolist") else list(several)
    refuse_mask(numbers)
    try:
        return list(map(index, numbers))
    except TypeError:
        raise WrongType("ids must be integers", fix="use the ids of enc.encode(text)") from None


def as_id_rows(batch: object) -> tuple[list[int], NDArray[np.int64]]:
    """(all ids, offsets) of a batch. Raises `WrongType`."""
    import numpy as np

    rows = _check_several(batch, "a batch must be a sequence of id sequences", "enc.decode_batch([ids])")
    lists = list(map(as_ids, rows))
    offsets = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum([len(ids) for ids in lists], out=offsets[1:])
    return list(chain.from_iterable(lists)), offsets


def check_overflow(ids: Sequence[int], document: int | None = None) -> None:
    """Raises `IdOverflow` for the first id that is negative or exceeds 32 bits."""
    for position, id in enumerate(ids):
        if not 0 <= id <= U32:
            raise IdOverflow(
                f"id {value_text(id)} at position {position} is no token",
                where=None if document is None else f"document {document}",
                limit=f"0 <= id <= {U32}",
                fix="decode the ids of enc.encode(text)",
                id=id,
                position=position,
            )


Allowed: TypeAlias = Literal["all", "none", "none_raise"] | Collection[str]
Disallowed: TypeAlias = Literal["all"] | Collection[str] | None
"""None disallows nothing in calls with one text; batch calls do not accept it, as in tiktoken."""


@dataclass(frozen=True)
class Rules:
    """The meaning of both arguments of one call: spellings that become special ids, spellings that raise."""

    allowed: frozenset[str]
    refused: frozenset[str]

    @classmethod
    def of(
        cls, known: Collection[str], allowed: Allowed, disallowed: Disallowed, roles: Mapping[str, str] | None = None
    ) -> Rules:
        """tiktoken's two arguments, and minbpe's `none` (all are text) and `none_raise` (all raise).

        roles: spelling to role, for the warning of a role in the place of its spelling.
        """
        everything = frozenset(known)
        if allowed == "none":
            return cls(frozenset(), frozenset())
        if allowed == "none_raise":
            return cls(frozenset(), everything)
        chosen = everything if allowed == "all" else _names(allowed, "allowed_special")
        if unknown := sorted(chosen - everything):
            warn_caller(_of_unknown(unknown[0], chosen, known, roles or {}))
        refused = everything - chosen if disallowed == "all" else _names(disallowed, "disallowed_special")
        return cls(chosen & everything, refused)

    def check(self, text: str, *, roles: Mapping[str, str], place: str = "") -> None:
        """Raises `SpecialInText` for the first disallowed spelling in the text; `place` names the document."""
        found = _finder(self.refused).search(text) if self.refused else None
        if found is None:
            return
        special, role = found.group(), roles.get(found.group())
        lines = [
            f"text contains the special {special!r} at character {found.start():,}{place}",
            "to read it as text:     encode_ordinary(text), or disallowed_special=()",
            f"to mean the special:    allowed_special={{{special!r}}}",
        ]
        if role is not None:
            lines.append(f"to re-spell specials:   as_tiktoken(tok, spell={{{role!r}: '<|{role}|>'}})")
        raise SpecialInText("\n".join(lines), special=special, position=found.start())

    def encode(self, text: str, specials: Mapping[str, int], encode: Callable[[str], list[int]]) -> list[int]:
        """The ids of a text; allowed special tokens become their ids in `specials`."""
        ids: list[int] = []
        for number, part in enumerate(self.split(text)):
            ids.extend([specials[part]] if number % 2 else encode(part))
        return ids

    def split(self, text: str) -> list[str]:
        """The text split at allowed special tokens: text and special tokens alternate, text first and last."""
        return _finder(self.allowed).split(text) if self.allowed else [text]


def _of_unknown(name: str, chosen: Collection[str], known: Collection[str], roles: Mapping[str, str]) -> str:
    """The warning of an allowed name that spells no special token."""
    spelled = {role: text for text, role in roles.items()}
    if name in spelled:
        texts = sorted({spelled.get(each, each) for each in chosen})
        meant = f"allowed_special={{{', '.join(map(repr, texts))}}}"
        return f"allowed_special names the role {name!r}, which stays text; it takes spellings: {meant}"
    return (
        f"allowed_special names {name!r}, which is no special token of this encoding and stays text; its "
        f"special tokens: {', '.join(map(repr, known)) or 'none'}; of a tokenizer of slmtok, "
        f"as_tiktoken(tok, spell={spellings_meant([name])}) gives one that spelling"
    )


def _names(names: object, option: str) -> frozenset[str]:
    found = list(names) if isinstance(names, Iterable) and not isinstance(names, str) else [None]
    if not all(isinstance(name, str) for name in found):
        given = [names] if isinstance(names, str) else [name for name in found if isinstance(name, str)]
        is_all = names is True or (isinstance(names, str) and suggestion(names, ["all"], cutoff=0.75) is not None)
        spellings = ", ".join(short_text(each, "spelling") for each in given)
        meant = "'all'" if is_all else f"{{{spellings}}}" if given else "()"
        raise WrongType(
            f"{option} must be 'all' or a set of spellings, not {value_text(names)}", fix=f"{option}={meant}"
        )
    if too_long := next((name for name in found if name and len(name) > _MAX_SPELLING_CHARS), None):
        fact = f"{option} has a spelling of {len(too_long):,} characters: {too_long[:40]!r}…"
        raise OptionError(fact, limit=f"{_MAX_SPELLING_CHARS:,} characters", fix="leave it out", option=option)
    return frozenset(filter(None, found))


_MAX_SPELLING_CHARS = 1 << 14
"""Of a special token that a text is searched for: a longer one takes `re` seconds."""


def _finder(spellings: Collection[str]) -> re.Pattern[str]:
    """Matches the leftmost spelling, the longest at equal positions."""
    return re.compile("(" + "|".join(map(re.escape, sorted(spellings, key=lambda text: (-len(text), text)))) + ")")


_RANKS = "mergeable_ranks={b'a': 0, …}"
_SPECIALS = "special_tokens={'<|endoftext|>': 100257}"


def as_ranks(table: object) -> dict[bytes, int]:
    """Token -> rank, in the order of ranks. Raises `InvalidRanks`, `WrongType`."""
    found: dict[bytes, int] = {}
    for token, value in _items(table, "mergeable_ranks", _RANKS):
        if not isinstance(token, bytes):
            raise WrongType(f"a token is bytes, not {type(token).__name__} {value_text(token)}", fix=_RANKS)
        if not token:
            raise InvalidRanks("a token is empty", limit="one byte or more", fix="leave b'' out", rank=value)
        found[token] = _number(value, f"the rank of {token!r}", InvalidRanks, _RANKS)
    free = max(found.values(), default=0) + 1
    token_of: dict[int, bytes] = {}
    for token, rank in found.items():
        if rank in token_of:
            raise InvalidRanks(
                f"rank {rank} ({token!r}) is also the rank of {token_of[rank]!r}",
                limit="a rank of its own for each token",
                fix=f"give one of them another rank, such as {free}",
                rank=rank,
                token=token,
            )
        token_of[rank] = token
    ranks = {token: rank for rank, token in sorted(token_of.items())}
    missing = next((byte for byte in map(bytes, zip(range(256))) if byte not in ranks), None)
    if missing is not None:
        raise InvalidRanks(
            f"no token is the byte {missing!r}" if ranks else "mergeable_ranks is empty",
            limit="all 256 bytes, or some text could not be encoded",
            fix=f"add {missing!r} with a rank of its own, such as {free}" if ranks else _RANKS,
            token=missing,
        )
    return ranks


def as_specials(table: object, ranks: Mapping[bytes, int]) -> dict[str, int]:
    """Spelling -> id. Raises `InvalidSpecials` for an id that is in use, `WrongType`."""
    taken: dict[int, object] = {rank: token for token, rank in ranks.items()}
    found: dict[str, int] = {}
    for text, value in _items(table, "special_tokens", _SPECIALS):
        if not isinstance(text, str):
            raise WrongType(f"the spelling of a special token must be a str, not {value_text(text)}", fix=_SPECIALS)
        if not text:
            fix = "leave it out, or spell it"
            raise InvalidSpecials("'' cannot spell a special token", limit="one character or more", fix=fix, id=value)
        id = _number(value, f"the id of {text!r}", InvalidSpecials, _SPECIALS)
        if id in taken:
            raise InvalidSpecials(
                f"special token {text!r} has id {id}, which {taken[id]!r} has",
                limit="an id of its own for each token and special token",
                fix=f"give it another id, such as {max(taken) + 1}",
                id=id,
            )
        taken[id], found[text] = text, id
    return found


def _items(table: object, name: str, fix: str) -> Iterable[tuple[object, object]]:
    if not isinstance(table, Mapping):
        raise WrongType(f"{name} must be a dict, not {type(table).__name__}", fix=fix)
    return table.items()


def _number(value: object, what: str, kind: type[SlmtokError], fix: str) -> int:
    try:
        number = index(value)  # type: ignore[arg-type]
    except TypeError:
        raise WrongType(f"{what} is {type(value).__name__} {value_text(value)}, not an integer", fix=fix) from None
    if not 0 <= number < MAX_IDS:
        raise kind(f"{what} is {value_text(number)}", limit=f"0 to {MAX_IDS - 1}", fix=fix, id=number)
    return number


def character_starts(tokens: Sequence[bytes]) -> list[int]:
    """The index of the first character of each token in `bytes.decode("utf-8", "replace")` of all."""
    n_characters = len(b"".join(tokens).decode("utf-8", "replace"))
    decoder, found, n_complete = getincrementaldecoder("utf-8")("replace"), [], 0
    for token in tokens:
        # The first byte may continue the character that the bytes before have begun.
        begun = decoder.getstate()[0] + token[:1]
        found.append(n_complete + len(begun.decode("utf-8", "replace")) - 1 if token else n_characters)
        n_complete += len(decoder.decode(token))
    return found
