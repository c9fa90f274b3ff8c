"""From merges or token lists to the bytes of each id, checked: parts before wholes, nothing twice, no byte missing."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TypeAlias

from slmtok.errors import InvalidMerges, InvalidRanks, InvalidSpecials, InvalidTokens
from slmtok.specials import FIRST_BYTE, FIRST_LEARNED, N_SPECIALS, Specials

Merge: TypeAlias = tuple[int, ...]
"""(left, right), or (left, right, special) where tie rule `hf` reused the id of a special."""


def spell_merges(merges: tuple[Merge, ...]) -> list[bytes]:
    """The bytes of the ids 272, 273, … that `merges` make. Raises `InvalidMerges` with the index at fault."""
    spelled = _bytes()
    # What is wrong somewhere, and what the tie rule `hf` makes, goes the general way.
    with suppress(KeyError, TypeError, ValueError):
        for id, (left, right) in enumerate(merges, FIRST_LEARNED):
            spelled[id] = spelled[left] + spelled[right]
        if len(set(spelled.values())) == len(spelled):
            return list(spelled.values())[256:]
    return spell_any(merges)


def spell_any(merges: tuple[Merge, ...]) -> list[bytes]:
    """As `spell_merges`, for merges of two or three ids, and with the reason where one is wrong."""
    spelled = _bytes()
    made: list[bytes] = []
    for index, merge in enumerate(merges):
        try:
            token = spelled[merge[0]] + spelled[merge[1]]
        except (KeyError, IndexError, TypeError):
            raise _bad_merge(index, merge, "has a part that no earlier line makes") from None
        if len(merge) == 2:
            spelled[FIRST_LEARNED + len(made)] = token
            made.append(token)
        elif len(merge) == 3 and 0 <= merge[2] < N_SPECIALS and merge[2] not in spelled:
            spelled[merge[2]] = token
        else:
            raise _bad_merge(index, merge, "names a third id that is no special, or one that an earlier merge took")
    if len(set(spelled.values())) != len(spelled):
        _find_duplicate(merges)
    return made


def _bytes() -> dict[int, bytes]:
    return {FIRST_BYTE + byte: bytes((byte,)) for byte in range(256)}


def _bad_merge(index: int, merge: Merge, reason: str) -> InvalidMerges:
    return InvalidMerges(
        f"merge {index} {list(merge)} {reason}",
        limit=f"parts are bytes ({FIRST_BYTE} to {FIRST_LEARNED - 1}) or what merges before them made",
        fix="train again, or fetch the file again",
        index=index,
        merge=list(merge),
    )


def _find_duplicate(merges: tuple[Merge, ...]) -> None:
    """Raises `InvalidMerges` for the first merge that spells what an earlier token spells."""
    spelled = _bytes()
    first: dict[bytes, int] = {}
    fresh = FIRST_LEARNED
    for index, merge in enumerate(merges):
        token = spelled[merge[0]] + spelled[merge[1]]
        if token in first:
            raise InvalidMerges(
                f"merge {index} {list(merge)} spells {token!r}, as merge {first[token]} does",
                limit="no two tokens spell the same bytes",
                fix="train again, or fetch the file again",
                index=index,
                merge=list(merge),
            )
        first[token] = index
        spelled[merge[2] if len(merge) == 3 else fresh] = token
        fresh += len(merge) == 2


def spell_tokens(tokens: tuple[bytes | None, ...]) -> list[bytes]:
    """The learned tokens of layout `own`: two bytes or more each, all different."""
    made: list[bytes] = []
    seen: set[bytes] = set()
    for index, token in enumerate(tokens):
        if token is None:
            raise InvalidTokens(
                f"token {index} is missing",
                limit="no holes in layout own",
                fix="train again, or fetch the file again",
                index=index,
            )
        if len(token) < 2 or token in seen:
            reason = "is listed twice" if token in seen else "is no token of its own"
            raise InvalidTokens(
                f"token {index} {token!r} {reason}",
                limit="two bytes or more, all different",
                fix="train again, or fetch the file again",
                index=index,
                token=token,
            )
        seen.add(token)
        made.append(token)
    return made


def spell_foreign(tokens: tuple[bytes | None, ...], specials: Specials) -> tuple[bytes | None, ...]:
    """The bytes by id of a foreign table, checked: no empty or repeated token, all 256 bytes, specials in holes."""
    present = [token for token in tokens if token is not None]
    distinct = set(present)
    if len(distinct) != len(present) or b"" in distinct:
        seen: dict[bytes, int] = {}
        for id, token in enumerate(tokens):
            if token is None:
                continue
            if token == b"" or token in seen:
                reason = f"repeats id {seen[token]}" if token in seen else "is empty"
                raise InvalidTokens(
                    f"token {id} {token!r} {reason}",
                    limit="each token once, none empty",
                    fix="fetch the table again",
                    index=id,
                    token=token,
                )
            seen[token] = id
    for byte in range(256):
        if bytes((byte,)) not in distinct:
            raise InvalidTokens(
                f"no token is the byte 0x{byte:02X}",
                limit="all 256 bytes",
                fix="add it, or use another table",
                index=byte,
            )
    size = len(tokens)
    for special in specials.tokens:
        if special.id < size and tokens[special.id] is not None:
            raise InvalidSpecials(
                f"special {special.text!r} has id {special.id}, which is the token {tokens[special.id]!r}",
                limit="ids that no token has",
                fix=f"give it an id from {size} up",
                id=special.id,
            )
    last = max((special.id for special in specials.tokens), default=-1)
    return tokens + (None,) * (last + 1 - size)


def retold_rank(error: InvalidRanks, ranks: Mapping[bytes, int]) -> InvalidRanks:
    """The engine's error about a rank table, which counts its tokens, with the table's own rank and a remedy."""
    token, reason = error.fields.get("token"), error.fields.get("reason")
    if not isinstance(token, bytes) or token not in ranks:
        return error
    told = InvalidRanks(
        f"rank {ranks[token]} ({token!r}) {reason}",
        limit="each token is two earlier ones, merged",
        fix=f"leave {token!r} out, or give lower ranks to the tokens that it is merged from",
    )
    told.fields = {**error.fields, "rank": ranks[token]}
    return told
