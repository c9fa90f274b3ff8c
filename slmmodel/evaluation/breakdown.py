"""Where the bits go, from ids alone: by how often a target was one in training, by its bytes, by its place in the
document, by domain; and the documents that cost most.

Shares add up to one: every bit of the evaluation is in exactly one line of each table.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.source import TokenBlock
from slmmodel.evaluation.scores import LN2, Scores

DECILES = 10
WORST = 10
_CHUNK = 4096


def target_counts(block: TokenBlock, n_vocab: int) -> NDArray[np.int64]:
    """How often each id is a target in the documents of a block: int64 [n_vocab]."""
    counts = np.zeros(n_vocab, dtype=np.int64)
    parts: list[NDArray[Any]] = []
    for doc, length in enumerate(block.lengths().tolist()):
        parts.append(block.ids(doc, 1, length))
        if len(parts) == _CHUNK:
            counts += np.bincount(np.concatenate(parts).astype(np.int64), minlength=n_vocab)
            parts = []
    if parts:
        counts += np.bincount(np.concatenate(parts).astype(np.int64), minlength=n_vocab)
    return counts


def by_frequency(scores: Scores, counts: NDArray[np.int64]) -> list[dict[str, object]]:
    """Loss by how frequent the target id was in training. Ids are ranked by count (ties: lower id) and cut where they
    make up a tenth of all training targets each, so the first line is the most frequent ids; never seen ones come last.
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
        row["group"] = "never" if group == DECILES else f"tenth {int(str(group)) + 1}"
        row["ids"] = len(members)
        row["least_count"] = int(members.min()) if len(members) else 0
    return rows


def by_bytes(scores: Scores) -> list[dict[str, object]]:
    """Loss by the bytes of the target; 0 is what closes documents, 16 stands for all from there on."""
    return _rows(scores, np.minimum(scores.nbytes.astype(np.int64), 16), 17)


def by_position(scores: Scores) -> list[dict[str, object]]:
    """Loss by the place of the target in its document: 0, 1, 2-3, 4-7 and so on, by powers of two."""
    place = np.arange(scores.n_targets, dtype=np.int64) - np.repeat(scores.offsets[:-1], np.diff(scores.offsets))
    group = np.zeros(scores.n_targets, dtype=np.int64)
    group[place > 0] = np.floor(np.log2(place[place > 0])).astype(np.int64) + 1
    rows = _rows(scores, group, int(group.max(initial=0)) + 1)
    for row in rows:
        power = int(str(row["group"]))
        row["group"] = "0" if power == 0 else f"{1 << (power - 1)}-{(1 << power) - 1}"
    return rows


def by_domain(scores: Scores, domains: NDArray[np.int64], names: list[str]) -> list[dict[str, object]]:
    """Loss by the domain of the document, with the bits per byte of each."""
    group = np.repeat(domains, np.diff(scores.offsets))
    rows = _rows(scores, group, int(domains.max(initial=0)) + 1)
    for row in rows:
        number = int(str(row["group"]))
        row["group"] = names[number] if number < len(names) else str(number)
        raw = int(scores.doc_bytes[domains == number].sum())
        row["bpb"] = float(scores.nats[group == number].sum()) / LN2 / raw if raw else None
    return rows


def worst_documents(scores: Scores, most: int = WORST) -> list[dict[str, object]]:
    """The documents with the most bits per byte, those without bytes left out."""
    bits = (scores.content + scores.special) / LN2
    rates = np.where(scores.doc_bytes > 0, bits / np.maximum(scores.doc_bytes, 1), -np.inf)
    chosen = np.argsort(-rates, kind="stable")[:most]
    return [
        {"document": int(doc), "bpb": float(rates[doc]), "bytes": int(scores.doc_bytes[doc])}
        for doc in chosen
        if np.isfinite(rates[doc])
    ]


def _rows(scores: Scores, group: NDArray[np.int64], size: int) -> list[dict[str, object]]:
    """A line for each group that has targets: how many, their nats a target, and their share of all bits."""
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
