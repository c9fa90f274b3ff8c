"""What others want to know of each document that is counted: its digest and its size, handed on as they come."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slmtok._engine import Documents
    from slmtok.corpus.worth import Worth
    from slmtok.training.doc_digests import DocDigests

_HELD = 1 << 14


@dataclass
class Observed:
    """Takes the sha256 and the size of every document for those who asked. Call `settle` behind the last one."""

    digests: DocDigests | None = None
    worth: Worth | None = None
    _held: tuple[list[int], list[bytes]] = field(default_factory=lambda: ([], []))

    def add(self, digest: bytes, size: int) -> None:
        """Takes one document: its sha256, its size in bytes."""
        if self.digests is not None:
            self.digests.add(digest)
        if self.worth is not None:
            sizes, digests = self._held
            sizes.append(size)
            digests.append(digest)
            if len(sizes) >= _HELD:
                self.settle()

    def add_each(self, documents: Documents) -> None:
        """Takes many documents."""
        import numpy as np

        heads = np.frombuffer(documents.digests, dtype=np.uint8).reshape(-1, 32)[:, :8].tobytes()
        if self.digests is not None:
            self.digests.add_heads(heads)
        if self.worth is not None:
            self.worth.add_keys(np.diff(documents.offsets), np.frombuffer(heads, dtype="<u8"))

    def merge(self, other: Observed) -> None:
        """Takes all documents of another part of the corpus, which is settled."""
        if self.digests is not None and other.digests is not None:
            self.digests.merge(other.digests)
        if self.worth is not None and other.worth is not None:
            self.worth.merge(other.worth)

    def settle(self) -> None:
        """Hands on what is held back."""
        if self.worth is not None:
            self.worth.add(*self._held)
            self._held = ([], [])


def observed(digests: DocDigests | None, worth: Worth | None) -> Observed | None:
    """For those who asked; None where nobody did, which takes no time."""
    return None if digests is None and worth is None else Observed(digests, worth)
