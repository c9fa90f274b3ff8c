"""How files of GPT-2's form write tokens: each byte as one printable character; specials by their spelling.

The names of all ids of a vocabulary, and back. Reserved specials appear as `<|reserved_6|>`, so that no id is missing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from slmtok.token_text import unicode_to_bytes

if TYPE_CHECKING:
    from slmtok.vocabulary import Vocabulary


@lru_cache(maxsize=1)
def _characters() -> dict[int, str]:
    """Byte to character, as a table for `str.translate`."""
    return {byte: character for character, byte in unicode_to_bytes().items()}


def name_of(token: bytes) -> str:
    """The bytes of a token in printable characters: `b" the"` is `Ġthe`."""
    return token.decode("latin-1").translate(_characters())


def bytes_of(name: str) -> bytes | None:
    """The inverse of `name_of`; None where a character stands for no byte."""
    table = unicode_to_bytes()
    try:
        return bytes([table[character] for character in name])
    except KeyError:
        return None


def names_by_id(vocabulary: Vocabulary) -> dict[int, str]:
    """Id to name of all ids that are not holes: ordinary tokens and specials, in the order of ids."""
    names = {id: name_of(token) for id, token in vocabulary.items()}
    for special in vocabulary.specials.completed().tokens:
        names[special.id] = special.text or ""
    return dict(sorted(names.items()))
