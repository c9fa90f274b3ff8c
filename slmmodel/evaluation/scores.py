"""`Scores`: what a model paid for each target, and the identity without which no bits per byte are printed.

    bpb_content = sum of nats of targets with bytes / (ln 2 * raw bytes)
    bpb_total   = sum of nats of all targets / (ln 2 * raw bytes)

`bpb_total` also pays for the id that closes each document: a true code length of the set of documents, and the number
to rank by. Sums of documents are float64; those of the whole are rounded once, so that no order has a part in them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.spans import starts_of
from slmmodel.errors import BytesDisagree

LN2 = math.log(2)


@dataclass(frozen=True)
class Scores:
    """Nats of each target of each document, in their order."""

    nats: NDArray[np.float64]
    """[N]: negative log-likelihood of each target."""
    targets: NDArray[np.uint32]
    """[N]: the target ids."""
    nbytes: NDArray[np.uint32]
    """[N]: bytes that each target stands for; 0 for specials."""
    offsets: NDArray[np.int64]
    """[D + 1]: where each document's targets begin."""
    doc_bytes: NDArray[np.int64]
    """[D]: raw bytes of each document, as the data says."""

    @property
    def n_docs(self) -> int:
        """Documents."""
        return len(self.doc_bytes)

    @cached_property
    def content(self) -> NDArray[np.float64]:
        """[D]: nats of the targets that have bytes."""
        return self._sums(np.where(self.nbytes > 0, self.nats, 0.0))

    @cached_property
    def special(self) -> NDArray[np.float64]:
        """[D]: nats of the targets without bytes, which is what `</s>` costs."""
        return self._sums(np.where(self.nbytes > 0, 0.0, self.nats))

    @cached_property
    def nats_content(self) -> float:
        """Nats of all targets that have bytes."""
        return math.fsum(self.nats[self.nbytes > 0])

    @cached_property
    def nats_special(self) -> float:
        """Nats of all targets without bytes."""
        return math.fsum(self.nats[self.nbytes == 0])

    @property
    def n_targets(self) -> int:
        """Scored targets."""
        return len(self.nats)

    @cached_property
    def n_bytes(self) -> int:
        """Raw bytes of all documents."""
        return int(self.doc_bytes.sum())

    @property
    def bpb_content(self) -> float:
        """Bits per byte without what closes documents."""
        return self._bpb(self.nats_content)

    @property
    def bpb_total(self) -> float:
        """Bits per byte of the documents: the number to rank by."""
        return self._bpb(self.nats_content + self.nats_special)

    @property
    def nats_per_target(self) -> float:
        """The mean loss, which depends on the tokenizer: not comparable between two of them."""
        return (self.nats_content + self.nats_special) / max(1, self.n_targets)

    @property
    def bytes_per_content_target(self) -> float:
        """Mean bytes of the targets that have any, on this very text."""
        return self.n_bytes / max(1, int(np.count_nonzero(self.nbytes)))

    def check_bytes(self) -> None:
        """Raises `BytesDisagree` unless, in every document, the bytes of the scored targets are its raw bytes."""
        scored = self._sums(self.nbytes).astype(np.int64)
        wrong = np.flatnonzero(scored != self.doc_bytes)
        if wrong.size:
            doc = int(wrong[0])
            raise BytesDisagree(
                f"document {doc} has {int(self.doc_bytes[doc])} bytes, but its scored ids stand for {int(scored[doc])}",
                where=f"{wrong.size} of {self.n_docs} documents differ; in all {int(scored.sum())} bytes were scored "
                f"of {self.n_bytes}",
                limit="bits per byte are printed only when every byte is scored once",
                fix="check vocab.json and the data with slmtok verify --deep and slmtok audit",
                document=doc,
                scored=int(scored[doc]),
                expected=int(self.doc_bytes[doc]),
            )

    def _sums(self, values: NDArray[np.generic]) -> NDArray[np.float64]:
        """Sums of each document, float64; a document without targets has 0."""
        sizes = np.diff(self.offsets)
        sums = np.zeros(len(sizes), dtype=np.float64)
        full = np.flatnonzero(sizes)
        if full.size:
            sums[full] = np.add.reduceat(values.astype(np.float64), self.offsets[:-1][full])
        return sums

    def _bpb(self, nats: float) -> float:
        return nats / (LN2 * self.n_bytes) if self.n_bytes else math.nan


def joined(parts: list[Scores]) -> Scores:
    """The scores of several blocks as those of one."""
    if len(parts) == 1:
        return parts[0]
    sizes = [np.diff(part.offsets) for part in parts]
    return Scores(
        nats=np.concatenate([part.nats for part in parts]),
        targets=np.concatenate([part.targets for part in parts]),
        nbytes=np.concatenate([part.nbytes for part in parts]),
        offsets=starts_of(np.concatenate(sizes).astype(np.int64)),
        doc_bytes=np.concatenate([part.doc_bytes for part in parts]),
    )
