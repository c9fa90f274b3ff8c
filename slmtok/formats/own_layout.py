"""Detects our own layout in another library's table, so that the import of an export keeps its fingerprint.

Our layout is 16 special tokens from id 0, the 256 bytes, then tokens without a hole, each merged from two earlier ones.
Any other table gets layout `foreign`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slmtok.errors import InvalidSpecials
from slmtok.formats.tiktoken import roles_of
from slmtok.specials import FIRST_BYTE, FIRST_LEARNED, N_SPECIALS, SpecialId, Specials, SpecialToken
from slmtok.vocabulary import PatternSpec, Vocabulary

Parts = tuple[int, int]


def is_own(tokens: Sequence[bytes | None], specials: Mapping[str, int]) -> bool:
    """Whether a table has our layout. `tokens` by id; `specials`: spelling -> id."""
    return (
        sorted(specials.values()) == list(range(N_SPECIALS))
        and len(tokens) >= FIRST_LEARNED
        and all(token is None for token in tokens[:N_SPECIALS])
        and all(tokens[FIRST_BYTE + byte] == bytes((byte,)) for byte in range(256))
        and all(token is not None and len(token) > 1 for token in tokens[FIRST_LEARNED:])
    )


def own_specials(spellings: Mapping[str, int]) -> Specials | None:
    """The 16 special tokens with these spellings (-> id); None if they contradict each other."""
    text_of = {id: text for text, id in spellings.items()}
    roles = roles_of(spellings)
    slots = []
    for id in range(N_SPECIALS):
        text = text_of[id]
        if id in SpecialId.__members__.values():
            slots.append(SpecialToken(id, SpecialId(id).name.lower(), text))
        elif text.startswith(f"<|reserved_{id}"):
            slots.append(SpecialToken(id))
        else:
            slots.append(SpecialToken(id, roles[text], text))
    try:
        return Specials(slots)
    except InvalidSpecials:
        return None


def own_vocabulary(
    scheme: str,
    pattern: PatternSpec,
    tokens: Sequence[bytes | None],
    specials: Mapping[str, int],
    merges: Sequence[Parts] = (),
) -> Vocabulary | None:
    """The vocabulary in our layout; None if the table has another one."""
    if not is_own(tokens, specials):
        return None
    slots = own_specials(specials)
    if slots is None:
        return None
    if len(tokens) == FIRST_LEARNED:
        return Vocabulary("byte", pattern, slots)
    if scheme != "bpe":
        return Vocabulary(scheme, pattern, slots, tokens=tuple(tokens[FIRST_LEARNED:]))
    if len(merges) != len(tokens) - FIRST_LEARNED:
        return None
    for index, (left, right) in enumerate(merges):
        made = FIRST_LEARNED + index
        if not (FIRST_BYTE <= left < made and FIRST_BYTE <= right < made):
            return None
        if (tokens[left] or b"") + (tokens[right] or b"") != tokens[made]:
            return None
    return Vocabulary("bpe", pattern, slots, merges=tuple(merges))
