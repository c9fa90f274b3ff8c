"""A `Tokenizer` seen as a tiktoken-shaped `Encoding`: same ids, specials re-spelled as the caller wishes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from slmtok.compat.tiktoken.core import Encoding

if TYPE_CHECKING:
    from slmtok.specials import Specials
    from slmtok.tokenizer import Tokenizer


def from_tokenizer(
    tokenizer: Tokenizer, *, spell: Mapping[str, str] | None = None, name: str | None = None
) -> Encoding:
    """The tokenizer as an `Encoding`.

    spell: role to spelling, for this view only. A reserved id without a name appears as `<|reserved_6|>`, so that none
    is missing. name: `slmtok-` and the start of the fingerprint unless given. Raises `UnknownSpecial` for a role that
    does not exist, `InvalidSpecials` for a spelling that is taken.
    """
    from slmtok.patterns import compile_pattern
    from slmtok.schemes import SCHEMES
    from slmtok.specials import role_spellings

    specials = _respelled(tokenizer.specials, role_spellings(spell))
    vocabulary = tokenizer.vocabulary.with_specials(specials)
    pairs = [(token.id, (token.text or "").encode()) for token in specials.tokens]
    encoder = SCHEMES[vocabulary.scheme].build(vocabulary, compile_pattern(vocabulary.pattern), pairs)
    return Encoding._make(
        name or f"slmtok-{tokenizer.fingerprint[:8]}",
        encoder,
        {token: id for id, token in vocabulary.items()},
        specials.spellings,
        roles={text: role for role in specials for text in [specials.text(role)]},
        origin=(tokenizer, dict(spell or {}), name),
    )


def rebuild(tokenizer: Tokenizer, spell: Mapping[str, str], name: str | None) -> Encoding:
    """The inverse of pickling a view."""
    return from_tokenizer(tokenizer, spell=spell, name=name)


def _respelled(specials: Specials, spell: Mapping[str, str]) -> Specials:
    """All at once, so that roles may exchange their spellings; then each reserved id by its number."""
    for role in spell:
        if role not in specials:
            raise specials.unknown(role)
    return specials.respelled(spell).completed()


def remake(name: str, pat_str: str, ranks: dict[bytes, int], specials: dict[str, int]) -> Encoding:
    """What unpickling calls for an encoding that was made of tables."""
    return Encoding(name, pat_str=pat_str, mergeable_ranks=ranks, special_tokens=specials)
