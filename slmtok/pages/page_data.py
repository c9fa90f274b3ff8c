"""What a page holds of a tokenizer: enough to encode any text in the browser, in JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from slmtok.pages.js_regex import to_js
from slmtok.specials import FIRST_BYTE

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer


def page_data(tokenizer: Tokenizer, name: str) -> dict[str, Any]:
    """The data of the class `Tokenizer` in tokenizer.js. Raises `InvalidPattern` for a pattern that no browser has."""
    # The engine's own patterns look at few characters around a piece; of others nothing is known.
    pattern = {"pattern": to_js(tokenizer.pattern.regex), "local": tokenizer.pattern.name is not None}
    head = {"name": name, "about": about(tokenizer), **pattern}
    return {**head, **vocabulary_data(tokenizer)}


def vocabulary_data(tokenizer: Tokenizer) -> dict[str, Any]:
    """The data of one of the `VOCABULARIES` in tokenizer.js, its `kind`.

    A token is a string of one character per byte, U+0000 to U+00FF.
    """
    vocabulary = tokenizer.vocabulary
    if vocabulary.layout == "foreign":
        return {"kind": "ranks", "tokens": _strings(vocabulary.token_table)}
    if tokenizer.scheme == "bpe":
        return {"kind": "merges", "first_byte": FIRST_BYTE, "merges": vocabulary.merges}
    return {"kind": "pieces", "first_byte": FIRST_BYTE, "tokens": _strings(vocabulary.tokens)}


def _strings(tokens: Iterable[bytes | None]) -> list[str | None]:
    return [None if token is None else token.decode("latin-1") for token in tokens]


def about(tokenizer: Tokenizer) -> str:
    """A tokenizer in one line."""
    pattern = tokenizer.pattern.name or "a pattern of its own"
    return f"{tokenizer.scheme}, {tokenizer.n_vocab:,} ids, {pattern}, fingerprint {tokenizer.fingerprint[:8]}"
