"""Where the bits go: by training frequency, bytes and position of the target, by domain; and the costliest documents.

Works on ids alone. Shares of one table add up to one: every bit of the evaluation is in exactly one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.source import Documents
from slmmodel.data.spans import Ints
from slmmodel.evaluation.scoring import LN2, Scores

DECILES = 10
N_WORST = 10
MAX_BYTES_ROW = 16
_DOCS_PER_COUNT = 4096


def target_counts(block: Documents, n_vocab: int) -> Ints:
    """How often each id is a target in the documents of a block: int64 [n_vocab]."""
    counts = np.zeros(n_vocab, dtype=np.int64)
    lengths = block.lengths().tolist()
    for first in range(0, len(lengths), _DOCS_PER_COUNT):
        docs = enumerate(lengths[first : first + _DOCS_PER_COUNT], first)
        targets = np.concatenate([block.ids(doc, 1, length) for doc, length in docs])
        counts += np.bincount(targets.astype(np.int64), minlength=n_vocab)
    return counts


def by_frequency(scores: Scores, counts: Ints) -> list[dict[str, object]]:
    """Loss by how frequent the target id was in training.

    Ids are ranked by count (ties: lower id) and cut where they make up a tenth of all training targets each, so the
    first row is the most frequent ids; ids that never occurred come last.
    """
    ranked = np.argsort(-counts, kind="stable")
    before = np.cumsum(counts[ranked]) - counts[ranked]
    total = max(1, int(counts.sum()))
    group_of = np.empty(len(counts), dtype=np.int64)
    group_of[ranked] = np.minimum(before * DECILES // total, DECILES - 1)
    group_of[counts == 0] = DECILES
    rows = _rows(scores, group_of[scores.targets], DECILES + 1)
    for row in rows:
        group = row["group"]
        members = counts[group_of == group]
        row["group"] = "never" if group == DECILES else f"tenth {group + 1}"
        row["ids"] = len(members)
        row["least_count"] = int(members.min()) if len(members) else 0
    return rows


def by_bytes(scores: Scores) -> list[dict[str, object]]:
    """Loss by the bytes of the target; 0 is closing ids, 16 stands for 16 and more."""
    return _rows(scores, np.minimum(scores.nbytes.astype(np.int64), MAX_BYTES_ROW), MAX_BYTES_ROW + 1)


def by_position(scores: Scores) -> list[dict[str, object]]:
    """Loss by the position of the target in its document: 0, 1, 2-3, 4-7 and so on."""
    position = np.arange(scores.n_targets, dtype=np.int64) - np.repeat(scores.offsets[:-1], np.diff(scores.offsets))
    group = np.zeros(scores.n_targets, dtype=np.int64)
    group[position > 0] = np.floor(np.log2(position[position > 0])).astype(np.int64) + 1
    rows = _rows(scores, group, int(group.max(initial=0)) + 1)
    for row in rows:
        power = row["group"]
        row["group"] = "0" if power == 0 else f"{1 << (power - 1)}-{(1 << power) - 1}"
    return rows


def by_domain(scores: Scores, domains: Ints, names: Sequence[str]) -> list[dict[str, object]]:
    """Loss by the domain of the document, with the bits per byte of each."""
    group = np.repeat(domains, np.diff(scores.offsets))
    rows = _rows(scores, group, int(domains.max(initial=0)) + 1)
    for row in rows:
        number = row["group"]
        row["group"] = names[number] if number < len(names) else str(number)
        raw = int(scores.doc_bytes[domains == number].sum())
        row["bpb"] = float(scores.nats[group == number].sum()) / LN2 / raw if raw else None
    return rows


def worst_documents(scores: Scores, most: int = N_WORST) -> list[dict[str, object]]:
    """The documents with the most bits per byte, those without bytes left out."""
    rates = np.where(scores.doc_bytes > 0, scores.bits() / np.maximum(scores.doc_bytes, 1), -np.inf)
    return [
        {"document": int(doc), "bpb": float(rates[doc]), "bytes": int(scores.doc_bytes[doc])}
        for doc in np.argsort(-rates, kind="stable")[:most]
        if np.isfinite(rates[doc])
    ]


def _rows(scores: Scores, group: NDArray[np.int64], size: int) -> list[dict[str, Any]]:
    """A row for each group with targets: their number, nats per target, and share of all bits."""
    targets = np.bincount(group, minlength=size)
    nats = np.bincount(group, weights=scores.nats, minlength=size)
    total = float(nats.sum()) or 1.0
    return [
        {
            "group": number,
            "targets": int(targets[number]),
            "nats_per_target": float(nats[number] / targets[number]),
            "share_of_bits": float(nats[number] / total),
        }
        for number in range(size)
        if targets[number]
    ]
