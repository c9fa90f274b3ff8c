"""Ids that a vocabulary spends on variants of one word: `egg`, `Egg`, ` egg`, `EGG`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Variants:
    """words: different words when case and the space before them do not count. extra: ids beyond one for each of them.

    largest: the words with most ids, and the tokens of each.
    """

    words: int
    extra: int
    largest: tuple[tuple[str, tuple[bytes, ...]], ...]


def variants(tokens: Iterable[bytes], show: int = 5) -> Variants:
    """The variants among ordinary tokens. A word is letters and marks alone, two characters or more."""
    groups: dict[str, list[bytes]] = {}
    for token in tokens:
        word = _word(token)
        if word is not None:
            groups.setdefault(word, []).append(token)
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return Variants(
        len(groups),
        sum(len(group) - 1 for group in groups.values()),
        tuple((word, tuple(group)) for word, group in ordered[:show] if len(group) > 1),
    )


def _word(token: bytes) -> str | None:
    import unicodedata

    try:
        text = token.decode()
    except UnicodeDecodeError:
        return None
    body = text.removeprefix(" ")
    if len(body) < 2 or not all(unicodedata.category(character)[0] in "LM" for character in body):
        return None
    return body.casefold()
