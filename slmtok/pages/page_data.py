"""What a page holds of a tokenizer: enough to encode any text in the browser, in JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slmtok.pages.js_regex import to_js
from slmtok.specials import FIRST_BYTE

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer


def page_data(tokenizer: Tokenizer, name: str) -> dict[str, Any]:
    """The data of the class `Tokenizer` in tokenizer.js. Raises `InvalidPattern` for a pattern that no browser has.

    A token is a string of one character per byte, U+0000 to U+00FF.
    """
    vocabulary = tokenizer.vocabulary
    head = {"name": name, "about": _about(tokenizer), "pattern": to_js(tokenizer.pattern.regex)}
    if vocabulary.layout == "foreign":
        tokens = [None if token is None else token.decode("latin-1") for token in vocabulary.token_table]
        return {**head, "kind": "ranks", "tokens": tokens}
    if tokenizer.scheme == "bpe":
        return {**head, "kind": "merges", "first_byte": FIRST_BYTE, "merges": vocabulary.merges}
    tokens = [None if token is None else token.decode("latin-1") for token in vocabulary.tokens]
    return {**head, "kind": "pieces", "first_byte": FIRST_BYTE, "tokens": tokens}


def _about(tokenizer: Tokenizer) -> str:
    pattern = tokenizer.pattern.name or "a pattern of its own"
    return f"{tokenizer.scheme}, {tokenizer.n_vocab:,} ids, {pattern}, fingerprint {tokenizer.fingerprint[:8]}"
