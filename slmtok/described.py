"""What a tokenizer is, as read-only facts: the half of `Tokenizer` that neither encodes nor decodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slmtok.metadata import metadata

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok._engine import Encoder
    from slmtok.specials import Specials
    from slmtok.vocabulary import PatternSpec, Vocabulary


class Described:
    """Facts about a vocabulary and its encoder."""

    __slots__ = ("_encoder", "_options", "_provenance", "_vocabulary")
    _encoder: Encoder
    _options: dict[str, Any]
    _provenance: dict[str, Any]
    _vocabulary: Vocabulary

    @property
    def vocabulary(self) -> Vocabulary:
        """Which id stands for which bytes."""
        return self._vocabulary

    @property
    def scheme(self) -> str:
        """`bpe`, `word`, `char` or `byte`."""
        return self._vocabulary.scheme

    @property
    def pattern(self) -> PatternSpec:
        """The split pattern: name, regex, Unicode version."""
        return self._vocabulary.pattern

    @property
    def n_vocab(self) -> int:
        """Largest id + 1."""
        return self._vocabulary.n_vocab

    @property
    def padded_vocab(self) -> int:
        """`n_vocab` rounded up to a multiple of 64."""
        return self._vocabulary.padded_vocab

    @property
    def specials(self) -> Specials:
        """Role to id: `tok.specials["eos"]`."""
        return self._vocabulary.specials

    @property
    def fingerprint(self) -> str:
        """sha256 (hex) of what decides the ids of text; naming a special leaves it as it is."""
        return self._vocabulary.fingerprint

    @property
    def options(self) -> dict[str, Any]:
        """The options of its training, after defaults (a copy)."""
        return dict(self._options)

    @property
    def provenance(self) -> dict[str, Any]:
        """Where it came from: package, digests and totals of the corpus (a copy)."""
        return dict(self._provenance)

    @property
    def dtype(self) -> np.dtype[Any]:
        """uint16 where n_vocab <= 65536, else uint32."""
        import numpy as np

        return np.dtype(np.uint32 if self._encoder.wide else np.uint16)

    def __repr__(self) -> str:
        pattern = self.pattern.name or repr(self.pattern.regex)
        return (
            f"Tokenizer({self.scheme}, pattern {pattern}, n_vocab={self.n_vocab}, fingerprint={self.fingerprint[:8]}…)"
        )

    def metadata(self) -> dict[str, object]:
        """The content of `vocab.json`: sizes, special ids by role, byte length of every id, fingerprint."""
        return metadata(self._vocabulary)

    def token_bytes(self, id: int) -> bytes:
        """The bytes of an id; a special gives its spelling. Raises `UnknownId`."""
        return self._vocabulary.token_bytes(id)

    def token_id(self, token: bytes) -> int | None:
        """The id of exactly these bytes among ordinary tokens, or None."""
        return self._vocabulary.token_id(token)

    def byte_lengths(self) -> NDArray[np.uint32]:
        """Bytes of text that each id stands for, shape (n_vocab,), uint32, read-only; 0 for specials and holes."""
        return self._vocabulary.byte_lengths
