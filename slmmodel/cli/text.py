"""The seam: the one file of this package that imports slmtok. Text becomes ids here, and ids become text.

Everything else in the package knows ids and lengths alone. slmtok is imported when a `Text` is made.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from slmmodel.errors import FingerprintMismatch, MissingPackage
from slmmodel.vocab import VocabMeta

if TYPE_CHECKING:
    from slmtok import Tokenizer


class Text:
    """A tokenizer file as the commands need it."""

    def __init__(self, path: str | os.PathLike[str], vocab: VocabMeta | None = None) -> None:
        """Loads a tokenizer. With `vocab`, raises `FingerprintMismatch` where the two do not belong together."""
        try:
            import slmtok
        except ImportError as error:
            raise MissingPackage("turning ids into text needs slmtok", fix="pip install slmtok") from error
        self.tokenizer: Tokenizer = slmtok.load(path)
        if vocab is not None and vocab.fingerprint != self.tokenizer.fingerprint:
            raise FingerprintMismatch(
                "the tokenizer is not the one of these ids",
                where=os.fspath(path),
                limit=f"fingerprints {self.tokenizer.fingerprint[:16]}… and {vocab.fingerprint[:16]}…",
                fix="name the tokenizer that the data was packed with",
            )

    def data(self, ids: Iterable[int]) -> bytes:
        """The bytes of these ids; specials, and roles that were appended to a foreign table, have none."""
        known = self.tokenizer.n_vocab
        return self.tokenizer.decode_bytes([id for id in ids if id < known], skip_special=True)

    def words(self, ids: Iterable[Any]) -> list[str]:
        """Each id as one printable word: spaces, line ends and broken characters are spelled out."""
        from slmtok.visible import visible

        tokenizer, known = self.tokenizer, self.tokenizer.n_vocab
        return [visible(tokenizer.token_bytes(id)) if id < known else f"<{id}>" for id in map(int, ids)]
