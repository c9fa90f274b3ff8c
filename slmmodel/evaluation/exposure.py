"""What a trained model made of each id: how often training met it, its loss, and the norms of its vectors.

An id that was hardly ever a target keeps a vector near its initial one. Land and Bartolo (2024, "Fishing for Magikarp")
find such tokens in finished models by these norms; here the training data are at hand too, so they are counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slmmodel.checkpoint import RunFolder, read_train_state
from slmmodel.data.packing import Ints
from slmmodel.data.source import DocumentBlock
from slmmodel.evaluation.breakdown import DECILES, frequency_groups, group_name, target_counts
from slmmodel.evaluation.scoring import LN2, Scores
from slmmodel.indexing import explains_indexing
from slmmodel.models.protocol import Model
from slmmodel.vocab import VocabMeta

Floats = NDArray[np.float64]


@explains_indexing
class Exposure(NamedTuple):
    """One value of each id of a vocabulary, all of shape [n_vocab].

    updates: how often training had the id as a target, expected: its share of the targets in the data times the targets
    that training took. A pass that was not finished may have missed an id that the data have. targets: how often it is
    one in the scored documents. bits: their loss, summed. embedding_norm, head_norm: the length of its row in the
    embedding and in the head (the same where the two are tied).
    """

    updates: Floats
    targets: Ints
    bits: Floats
    embedding_norm: Floats
    head_norm: Floats

    def rare(self, vocab: VocabMeta, below: int) -> Ints:
        """Ids of more than one byte with fewer updates than `below`, rarest first, of equals the largest id first.

        Specials and single bytes are not among them: a vocabulary keeps those.
        """
        ids = np.flatnonzero((vocab.token_nbytes > 1) & (self.updates < below))
        found: Ints = ids[np.lexsort((-ids, self.updates[ids]))]
        return found

    def row(self, id: int) -> dict[str, Any]:
        """The values of one id; `bits_per_target` is None where the scored documents do not have it."""
        targets = int(self.targets[id])
        return {
            "id": id,
            "updates": float(self.updates[id]),
            "targets": targets,
            "bits_per_target": float(self.bits[id]) / targets if targets else None,
            "embedding_norm": float(self.embedding_norm[id]),
            "head_norm": float(self.head_norm[id]),
        }

    def by_frequency(self) -> list[dict[str, Any]]:
        """A row for each tenth of all updates, the most frequent ids first, and one for ids without any.

        Loss per target over the scored documents, and mean norms over ids.
        """
        group_of = frequency_groups(self.updates)
        rows = []
        for group in range(DECILES + 1):
            ids = group_of == group
            if not ids.any():
                continue
            targets = int(self.targets[ids].sum())
            rows.append(
                {
                    "group": "none" if group == DECILES else group_name(group),
                    "ids": int(ids.sum()),
                    "least_updates": float(self.updates[ids].min()),
                    "targets": targets,
                    "bits_per_target": float(self.bits[ids].sum()) / targets if targets else None,
                    "embedding_norm": float(self.embedding_norm[ids].mean()),
                    "head_norm": float(self.head_norm[ids].mean()),
                }
            )
        return rows


def measure(
    scores: Scores, model: Model, vocab: VocabMeta, stages: Iterable[tuple[Iterable[DocumentBlock], float]]
) -> Exposure:
    """Combines the scores of a model with the data that it was trained on.

    stages: the blocks that training read one after another, and how many targets it took from them; as many blocks are
    read as these need.
    """
    n_vocab = vocab.n_vocab
    updates = np.zeros(n_vocab, dtype=np.float64)
    for blocks, trained in stages:
        counts = np.zeros(n_vocab, dtype=np.int64)
        for block in blocks:
            counts += target_counts(block, n_vocab)
            if counts.sum() >= trained:
                break
        updates += counts * (trained / max(1, int(counts.sum())))
    head = model.embed if model.head is None else model.head
    return Exposure(
        updates=updates,
        targets=np.bincount(scores.targets, minlength=n_vocab),
        bits=np.bincount(scores.targets, weights=scores.nats, minlength=n_vocab) / LN2,
        embedding_norm=_norms(model.embed.weight, n_vocab),
        head_norm=_norms(head.weight, n_vocab),
    )


def trained_targets(run: RunFolder, step: int | None = None) -> int:
    """Targets that training had up to its end or a checkpoint. Raises `MissingInput`, `CorruptFile`."""
    if step is None and run.finished:
        # Runs of early versions recorded inputs alone, padding included.
        return int(run.result.get("targets") or run.result["tokens"])
    return int(read_train_state(run.checkpoint(step))["counters"]["targets"])


def _norms(weight: Any, n_vocab: int) -> Floats:
    norms: Floats = weight.detach()[:n_vocab].double().norm(dim=1).cpu().numpy()
    return norms
