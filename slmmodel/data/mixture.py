"""`MixedSource`: a source with documents from elsewhere added to each block, as a share of its ids."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from slmmodel.data.source import DocumentBlock, Shard, TokenSource


class MixedSource(TokenSource):
    """The blocks of `base`, each with more documents: `make(block, n_ids)` gives at least `n_ids` ids of them.

    `make` is a pure function; its shard stores the same delimiters as those of `base`. `share`: of the ids of a block.
    `identity` names everything that decides the documents.
    """

    def __init__(self, base: TokenSource, make: Callable[[int, int], Shard], share: float, identity: str) -> None:
        self._base, self._make, self.share, self._identity = base, make, share, identity
        self.n_blocks, self.vocab, self.delimiters, self.split = base.n_blocks, base.vocab, base.delimiters, base.split

    @property
    def digest(self) -> str:
        """SHA-256 over the digest of the base, the share, and what decides the added documents."""
        return hashlib.sha256(repr([self._base.digest, self.share, self._identity]).encode()).hexdigest()

    def block(self, index: int) -> DocumentBlock:
        """A block of the base, and after its documents the added ones."""
        block: DocumentBlock = self._base.block(index)
        n_ids = round(int(block.lengths().sum()) * self.share / (1 - self.share))
        return DocumentBlock([*block.shards, self._make(index, n_ids)], block.delimiters)
