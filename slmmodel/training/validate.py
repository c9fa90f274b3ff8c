"""Validation while training: nats and bits per byte of the validation documents, each target once, in plain rows.

Documents are laid end to end and cut every context, without overlap: a true code length, a little above what scoring
with overlapping windows gives. It steers (best state, early stopping); what is reported at the end is scored properly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from slmmodel.data.assemble import Assembler
from slmmodel.data.batch import Batch
from slmmodel.data.plan import make_plan
from slmmodel.data.source import TokenSource
from slmmodel.training.ranks import Ranks
from slmmodel.vocab import VocabMeta

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Validation:
    """What a validation found."""

    loss: float
    """Nats a target."""
    bpb: float
    """Bits a raw byte, of all targets."""
    targets: int
    bytes: int


class Validator:
    """Scores a source with the loss of the run. Rows are shared among ranks."""

    def __init__(
        self,
        source: TokenSource,
        vocab: VocabMeta,
        *,
        context: int,
        rows: int,
        pack: str = "concat",
        most: int = 1 << 21,
    ) -> None:
        self.source, self.vocab, self.context, self.rows, self.pack = source, vocab, context, rows, pack
        self.most = most
        """Targets after which it is enough; the first documents are the same each time."""

    def run(self, nats: Callable[[Batch], Tensor], ranks: Ranks) -> Validation:
        """Sums `nats` over the rows of this rank, and over ranks."""
        total, targets, bytes_ = 0.0, 0, 0
        for number, batch in enumerate(self._batches()):
            if number % ranks.world == ranks.rank:
                total += float(nats(batch))
                targets, bytes_ = targets + batch.n_targets, bytes_ + batch.n_bytes
        total, counted, read = ranks.total([total, targets, bytes_])
        return Validation(total / max(counted, 1), total / (math.log(2) * max(read, 1)), int(counted), int(read))

    def _batches(self) -> Iterator[Batch]:
        options: dict[str, Any] = {"batch_rows": self.rows} if self.pack == "bucket" else {}
        seen, index = 0, 0
        while seen < self.most and (self.source.n_blocks is None or index < self.source.n_blocks):
            try:
                block = self.source.block(index)
            except IndexError:
                return
            plan = make_plan(self.pack, block.lengths(), self.context, shuffle=False, **options)
            assembler = Assembler(block, plan, self.vocab)
            for first in range(0, len(plan), self.rows):
                if seen >= self.most:
                    return
                batch = assembler.batch(np.arange(first, min(first + self.rows, len(plan))))
                seen += batch.n_targets
                yield batch
            index += 1
