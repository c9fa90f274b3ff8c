"""Judging the two tables of an `Encoding`: ranks of tokens, and ids of special tokens."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index

from slmtok.errors import InvalidRanks, InvalidSpecials, SlmtokError, WrongType
from slmtok.vocabulary import MAX_IDS

_RANKS = "mergeable_ranks={b'a': 0, …}"
_SPECIALS = "special_tokens={'<|endoftext|>': 100257}"


def ranks_of(table: object) -> dict[bytes, int]:
    """Token to rank, smallest rank first. Raises `InvalidRanks`, `WrongType`."""
    if not isinstance(table, Mapping):
        raise WrongType(f"mergeable_ranks must be a dict, not {type(table).__name__}", fix=_RANKS)
    found: dict[bytes, int] = {}
    for token, rank in table.items():
        if not isinstance(token, bytes):
            raise WrongType(f"a token is bytes, not {type(token).__name__} {token!r}", fix=_RANKS)
        if not token:
            raise InvalidRanks("a token is empty", limit="one byte or more", fix="leave b'' out", rank=rank)
        found[token] = _number(rank, f"the rank of {token!r}", InvalidRanks, _RANKS)
    if not found:
        raise InvalidRanks(
            "mergeable_ranks is empty", limit="all 256 bytes, or some text could not be encoded", fix=_RANKS
        )
    _each_once(found)
    return dict(sorted(found.items(), key=lambda item: item[1]))


def _each_once(ranks: Mapping[bytes, int]) -> None:
    """Raises `InvalidRanks` for a rank that two tokens have, or a byte that none is."""
    owner: dict[int, bytes] = {}
    for token, rank in ranks.items():
        if rank in owner:
            raise InvalidRanks(
                f"rank {rank} ({token!r}) is also the rank of {owner[rank]!r}",
                limit="a rank of its own for each token",
                fix=f"give one of them another rank, such as {max(ranks.values()) + 1}",
                rank=rank,
                token=token,
            )
        owner[rank] = token
    for byte in range(256):
        token = bytes((byte,))
        if token not in ranks:
            raise InvalidRanks(
                f"no token is the byte {token!r}",
                limit="all 256 bytes, or some text could not be encoded",
                fix=f"add {token!r} with a rank of its own, such as {max(ranks.values()) + 1}",
                token=token,
            )


def specials_of(table: object, ranks: Mapping[bytes, int]) -> dict[str, int]:
    """Spelling to id. Raises `InvalidSpecials` for an id that a token or another special has, `WrongType`."""
    if not isinstance(table, Mapping):
        raise WrongType(f"special_tokens must be a dict, not {type(table).__name__}", fix=_SPECIALS)
    token_of = {rank: token for token, rank in ranks.items()}
    spelling_of: dict[int, str] = {}
    for text, value in table.items():
        if not isinstance(text, str):
            raise WrongType(f"a special is spelled by a str, not by {text!r}", fix=_SPECIALS)
        if not text:
            raise InvalidSpecials(
                "'' cannot spell a special token",
                limit="one character or more",
                fix="leave it out, or spell it",
                id=value,
            )
        id = _number(value, f"the id of {text!r}", InvalidSpecials, _SPECIALS)
        taken = repr(token_of[id]) if id in token_of else repr(spelling_of[id]) if id in spelling_of else None
        if taken is not None:
            raise InvalidSpecials(
                f"special {text!r} has id {id}, which {taken} has",
                limit="an id of its own for each token and special",
                fix=f"give it another id, such as {max([*token_of, *spelling_of]) + 1}",
                id=id,
            )
        spelling_of[id] = text
    return {text: id for id, text in spelling_of.items()}


def _number(value: object, what: str, kind: type[SlmtokError], fix: str) -> int:
    try:
        number = index(value)  # type: ignore[arg-type]  # that is what is being found out
    except TypeError:
        raise WrongType(f"{what} is {type(value).__name__} {value!r}, not a whole number", fix=fix) from None
    if not 0 <= number < MAX_IDS:
        raise kind(f"{what} is {number}", limit=f"0 to {MAX_IDS - 1}", fix=fix, id=number)
    return number
