"""One text under several tokenizers: how each cuts it, and how they compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from slmtok.cli._numbers import grouped
from slmtok.cli._paint import cells
from slmtok.token_text import escape_token

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer

VOCAB = 2048
STORIES = 1000
"""Ids of each scheme, and stories they are trained on, when `slmtok show` is given no tokenizer."""


@dataclass(frozen=True)
class Cut:
    """How one tokenizer cuts one text."""

    name: str
    tokenizer: Tokenizer
    ids: tuple[int, ...]
    tokens: tuple[bytes, ...]

    @cached_property
    def words(self) -> list[str]:
        """Each token as one printable word."""
        return [escape_token(token) for token in self.tokens]

    @property
    def about(self) -> str:
        """Scheme and size."""
        return f"{self.tokenizer.scheme}, {grouped(self.tokenizer.n_vocab)} ids"

    @property
    def bytes_per_token(self) -> float:
        """0 for an empty text."""
        return sum(map(len, self.tokens)) / len(self.ids) if self.ids else 0.0

    def to_dict(self) -> dict[str, object]:
        """As `--json` prints it; `start` and `stop` are bytes of the text."""
        pieces: list[dict[str, object]] = []
        start = 0
        for id, token in zip(self.ids, self.tokens, strict=True):
            try:
                text = token.decode()
            except UnicodeDecodeError:
                text = None
            pieces.append({"id": id, "text": text, "hex": token.hex(), "start": start, "stop": start + len(token)})
            start += len(token)
        return {
            "name": self.name,
            "scheme": self.tokenizer.scheme,
            "n_vocab": self.tokenizer.n_vocab,
            "fingerprint": self.tokenizer.fingerprint,
            "tokens": len(self.ids),
            "bytes_per_token": round(self.bytes_per_token, 6),
            "pieces": pieces,
        }


def cut(name: str, tokenizer: Tokenizer, data: bytes) -> Cut:
    """The tokens of a text."""
    pieces = tokenizer.pieces(data)
    return Cut(name, tokenizer, tuple(id for id, _ in pieces), tuple(token for _, token in pieces))


def schemes(data: bytes) -> list[Cut]:
    """The text under every scheme, each trained here and now on the first stories of the built-in corpus."""
    import slmtok
    from slmtok.schemes import SCHEMES
    from slmtok.stories import story

    texts = [story(index) for index in range(STORIES)]
    cuts = []
    for name, scheme in SCHEMES.items():
        size = None if scheme.fixed_size else VOCAB
        tokenizer = slmtok.train(slmtok.Texts(texts), vocab=size, scheme=name, allow_smaller=True)
        cuts.append(cut(name, tokenizer, data))
    return cuts


def compare(cuts: Sequence[Cut], size: int, width: int) -> str:
    """A bar for each tokenizer: the shorter, the fewer tokens."""
    most = max(len(found.ids) for found in cuts) or 1
    names = max(cells(found.name) for found in cuts)
    numbers = max(len(grouped(len(found.ids))) for found in cuts)
    room = max(10, min(60, width - names - numbers - 12))
    lines = [f"tokens for the same {grouped(size)} bytes\n"]
    for found in cuts:
        bar = "█" * max(1, round(len(found.ids) * room / most)) if found.ids else ""
        name = found.name + " " * (names - cells(found.name))
        lines.append(f"  {name}  {grouped(len(found.ids)):>{numbers}}  {bar}\n")
    return "".join(lines)
