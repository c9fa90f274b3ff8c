"""Passkey tasks in training data: the source `passkey: SHARE` of `data.train`."""

from __future__ import annotations

import numpy as np

from slmmodel.cli.passkey_text import TaskMaker, training_tasks
from slmmodel.cli.text import Text
from slmmodel.data.mixture import Generated
from slmmodel.data.source import Delimiters, Shard

MAX_DISTINCT = 20_000
"""Different documents in a block; a larger share repeats them."""


def passkeys(text: Text, share: float, seq_len: int, seed: str, delimiters: Delimiters) -> Generated:
    """Passkey documents of at most `seq_len` ids, delimiters included, as a share of the ids of each block."""
    maker = TaskMaker(text, [])

    def make(block: int, n_ids: int) -> Shard:
        return _shard(maker, seq_len, f"{seed}/{block}", n_ids, delimiters)

    return Generated("passkey", share, make, repr((maker.template, maker.digits, seq_len, seed)))


def _shard(maker: TaskMaker, seq_len: int, seed: str, n_ids: int, delimiters: Delimiters) -> Shard:
    """Documents with `n_ids` ids or a few more; the documents repeat after `MAX_DISTINCT`."""
    before = [delimiters.opening] * delimiters.stores_opening
    after = [delimiters.closing] * delimiters.stores_closing
    documents: list[list[int]] = []
    nbytes: list[int] = []
    total = 0
    for task in training_tasks(maker, seq_len - 2, seed):
        if total >= n_ids or len(documents) == MAX_DISTINCT:
            break
        documents.append([*before, *task.prompt, *task.answer, *after])
        nbytes.append(len((task.text + maker.answer_text(task.key)).encode()))
        total += len(documents[-1]) + delimiters.added
    lengths = np.array([len(document) for document in documents], dtype=np.int64)
    stops = np.cumsum(lengths)
    # Repeated where all distinct documents are fewer ids than asked.
    count = len(lengths) if total >= n_ids else -(-n_ids * len(lengths) // total)
    order = np.arange(count) % max(len(lengths), 1)
    ids = np.fromiter((id for document in documents for id in document), dtype=np.uint32, count=int(lengths.sum()))
    return Shard(ids, (stops - lengths)[order], stops[order], np.array(nbytes, dtype=np.int64)[order])
