"""The special tokens and the layout of another library's table.

Our layout is 16 special tokens from id 0, the 256 bytes, then tokens without a hole, each merged from two earlier ones.
It is detected, so that the import of an export keeps its fingerprint. Any other table gets layout `foreign`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence

from slmtok.errors import InvalidMerges, InvalidSpecials
from slmtok.specials import FIRST_BYTE, FIRST_LEARNED, N_SPECIALS, SpecialId, Specials, SpecialToken
from slmtok.vocabulary import PatternSpec, Vocabulary

_KNOWN_ROLES = {"<|endoftext|>": "eos", "<s>": "bos", "</s>": "eos"}


def foreign_specials(spellings: Mapping[str, int]) -> Specials:
    """The special tokens of a foreign table (spelling -> id)."""
    roles = roles_of(spellings)
    return Specials(SpecialToken(id, roles[text], text) for text, id in spellings.items())


def roles_of(spellings: Mapping[str, int]) -> dict[str, str]:
    """Spelling -> role for foreign special tokens (spelling -> id); each role occurs once.

    A role never equals the spelling of another special token. Of two tokens with the same role, the later one's gets
    its id as a suffix.
    """
    roles: dict[str, str] = {}
    used = set[str]()
    for text, id in sorted(spellings.items(), key=lambda item: (role_of(item[0]) != item[0], item[1])):
        role = role_of(text)
        if _is_taken(role, text, used, spellings):
            role = f"{role}_{id}"
        while _is_taken(role, text, used, spellings):
            role += "_"
        roles[text] = role
        used.add(role)
    return roles


def _is_taken(role: str, text: str, used: Container[str], spellings: Container[str]) -> bool:
    """Whether a role belongs to another special token, or spells one."""
    return role in used or (role in spellings and role != text)


def role_of(text: str) -> str:
    """The role of a spelling: `bos` or `eos` if known, else its letters and digits."""
    if text in _KNOWN_ROLES:
        return _KNOWN_ROLES[text]
    role = re.sub(r"[^A-Za-z0-9_.-]+", "_", text).strip("_.-")
    return role if role[:1].isalpha() else f"special_{role or 'x' + text.encode('utf-8', 'surrogatepass').hex()}"


def is_own(tokens: Sequence[bytes | None], specials: Mapping[str, int]) -> bool:
    """Whether a table has our layout. `tokens` by id; `specials`: spelling -> id."""
    return sorted(specials.values()) == list(range(N_SPECIALS)) and has_own_ids(tokens)


def has_own_ids(tokens: Sequence[bytes | None]) -> bool:
    """Whether the ordinary tokens of a table have the ids of our layout."""
    return (
        len(tokens) >= FIRST_LEARNED
        and all(token is None for token in tokens[:N_SPECIALS])
        and all(tokens[FIRST_BYTE + byte] == bytes((byte,)) for byte in range(256))
        and all(token is not None and len(token) > 1 for token in tokens[FIRST_LEARNED:])
    )


def own_specials(spellings: Mapping[str, int]) -> Specials:
    """The 16 special tokens with these spellings (-> id). Raises `InvalidSpecials` if they contradict each other."""
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
    return Specials(slots)


def own_vocabulary(
    scheme: str,
    pattern: PatternSpec,
    tokens: Sequence[bytes | None],
    specials: Mapping[str, int],
    merges: Sequence[tuple[int, int]] = (),
) -> Vocabulary | None:
    """The vocabulary in our layout; None if the table has another one."""
    if not is_own(tokens, specials):
        return None
    try:
        slots = own_specials(specials)
        if len(tokens) == FIRST_LEARNED:
            return Vocabulary("byte", pattern, slots)
        if scheme != "bpe":
            return Vocabulary(scheme, pattern, slots, tokens=tuple(tokens[FIRST_LEARNED:]))
        found = Vocabulary("bpe", pattern, slots, merges=tuple(merges))
    except (InvalidSpecials, InvalidMerges):
        return None
    return found if found.token_table == tuple(tokens) else None
