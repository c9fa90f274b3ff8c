"""Where the bits go: by training frequency, bytes and position of the target, by domain; and the costliest documents.

Works on ids alone. Shares of one table add up to one: every bit of the evaluation is in exactly one row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.packing import Ints
from slmmodel.data.source import DocumentBlock, TokenSource
from slmmodel.evaluation.scoring import LN2, Scores

DECILES = 10
N_WORST = 10
MAX_BYTES_ROW = 16
_DOCS_PER_COUNT = 4096


def tables(scores: Scores, source: TokenSource, counts: Ints | None, *, worst: bool = False) -> dict[str, Any]:
    """All tables of an evaluation of `source`; `counts` are those of `target_counts`, of the training data."""
    found: dict[str, Any] = {"by_bytes": by_bytes(scores), "by_position": by_position(scores)}
    if worst:
        found["worst_documents"] = worst_documents(scores)
    if counts is not None:
        found["by_frequency"] = by_frequency(scores, counts)
    if (domains := source.domains()) is not None:
        found["by_domain"] = by_domain(scores, domains, source.domain_names)
    return found


def target_counts(block: DocumentBlock, n_vocab: int) -> Ints:
    """How often each id is a target in the documents of a block: int64 [n_vocab]."""
    counts = np.zeros(n_vocab, dtype=np.int64)
    lengths = block.lengths().tolist()
    for first in range(0, len(lengths), _DOCS_PER_COUNT):
        docs = enumerate(lengths[first : first + _DOCS_PER_COUNT], first)
        targets = np.concatenate([block.ids(doc, 1, length) for doc, length in docs])
        counts += np.bincount(targets.astype(np.int64), minlength=n_vocab)
    return counts


def frequency_groups(counts: NDArray[Any]) -> Ints:
    """The group of each id by its count: int64 [n_vocab].

    Ids are ranked by count (ties: lower id) and cut where they make up a tenth of all counts each, so group 0 is the
    most frequent ids; `DECILES` is the group of ids that never occurred.
    """
    ranked = np.argsort(-counts, kind="stable")
    before = np.cumsum(counts[ranked]) - counts[ranked]
    group_of = np.empty(len(counts), dtype=np.int64)
    group_of[ranked] = np.minimum(before * DECILES // max(1, counts.sum()), DECILES - 1)
    group_of[counts == 0] = DECILES
    return group_of


def group_name(group: int) -> str:
    """The name of a group of `frequency_groups`."""
    return "never" if group == DECILES else f"tenth {group + 1}"


def by_frequency(scores: Scores, counts: Ints) -> list[dict[str, object]]:
    """Loss by how frequent the target id was in training: a row for each of `frequency_groups`."""
    group_of = frequency_groups(counts)

    def columns(group: int) -> dict[str, object]:
        members = counts[group_of == group]
        return {"group": group_name(group), "ids": len(members), "least_count": int(members.min())}

    return _rows(scores, group_of[scores.targets], DECILES + 1, columns)


def by_bytes(scores: Scores) -> list[dict[str, object]]:
    """Loss by the bytes of the target; 0 is closing ids, 16 stands for 16 and more."""
    group = np.minimum(scores.nbytes.astype(np.int64), MAX_BYTES_ROW)
    return _rows(scores, group, MAX_BYTES_ROW + 1, lambda group: {"group": group})


def by_position(scores: Scores) -> list[dict[str, object]]:
    """Loss by the position of the target in its document: 0, 1, 2-3, 4-7 and so on."""
    position = np.arange(scores.n_targets, dtype=np.int64) - np.repeat(scores.offsets[:-1], np.diff(scores.offsets))
    bits = np.frexp(position)[1].astype(np.int64)  # of the position as a binary number
    size = int(bits.max(initial=0)) + 1
    return _rows(scores, bits, size, lambda n: {"group": f"{1 << (n - 1)}-{(1 << n) - 1}" if n > 1 else str(n)})


def by_domain(scores: Scores, domains: Ints, names: Sequence[str]) -> list[dict[str, object]]:
    """Loss by the domain of the document, with the bits per byte of each."""
    group = np.repeat(domains, np.diff(scores.offsets))

    def columns(number: int) -> dict[str, object]:
        raw = int(scores.doc_bytes[domains == number].sum())
        bpb = float(scores.nats[group == number].sum()) / LN2 / raw if raw else None
        return {"group": names[number] if number < len(names) else str(number), "bpb": bpb}

    return _rows(scores, group, int(domains.max(initial=0)) + 1, columns)


def worst_documents(scores: Scores, most: int = N_WORST) -> list[dict[str, object]]:
    """The documents with the most bits per byte, those without bytes left out."""
    docs = np.flatnonzero(scores.doc_bytes)
    rates = scores.bits()[docs] / scores.doc_bytes[docs]
    return [
        {"document": int(docs[i]), "bpb": float(rates[i]), "bytes": int(scores.doc_bytes[docs[i]])}
        for i in np.argsort(-rates, kind="stable")[:most]
    ]


def _rows(scores: Scores, group: Ints, size: int, columns: Callable[[int], dict[str, object]]) -> list[dict[str, Any]]:
    """A row for each group with targets: their number, nats per target, share of all bits, and further columns."""
    targets = np.bincount(group, minlength=size)
    nats = np.bincount(group, weights=scores.nats, minlength=size)
    total = float(nats.sum()) or 1.0
    return [
        {
            "group": number,
            "targets": int(targets[number]),
            "nats_per_target": float(nats[number] / targets[number]),
            "share_of_bits": float(nats[number] / total),
            **columns(number),
        }
        for number in range(size)
        if targets[number]
    ]
