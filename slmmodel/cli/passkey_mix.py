"""Passkey tasks in training data: the source `passkey: SHARE` of `data.train`."""

from __future__ import annotations

import numpy as np

from slmmodel.cli.passkey_text import TaskMaker, load_template, training_tasks
from slmmodel.cli.text import Text
from slmmodel.data.mixture import Generated
from slmmodel.data.packing import Ints
from slmmodel.data.source import Delimiters, Shard
from slmmodel.data_config import DataSource
from slmmodel.sizes import ceil_div

MAX_DISTINCT = 20_000
"""Different documents in a block; a larger share repeats them."""


def passkeys(text: Text, source: DataSource, seq_len: int, seed: str, delimiters: Delimiters) -> Generated:
    """The passkey documents of a source: at most `seq_len` ids, delimiters included, as a share of those of each block.

    Raises `InvalidConfig` for a template that is none.
    """
    template = load_template(source.template) if source.template else None
    maker, answers = TaskMaker(text, [], template, digits=source.digits), source.loss_on == "answer"

    def make(block: int, n_ids: int) -> Shard:
        shard, unscored = _shard(maker, seq_len, f"{seed}/{block}", n_ids, delimiters)
        return shard._replace(unscored=unscored) if answers else shard

    assert source.passkey is not None
    identity = (maker.template, maker.digits, seq_len, seed, *["answer"] * answers)
    return Generated(source.name, source.passkey, make, repr(identity))


def _shard(maker: TaskMaker, seq_len: int, seed: str, n_ids: int, delimiters: Delimiters) -> tuple[Shard, Ints]:
    """Documents with `n_ids` ids or a few more, and the inputs of each whose target is before the answer.

    The documents repeat after `MAX_DISTINCT`.
    """
    before = [delimiters.opening] * delimiters.stores_opening
    after = [delimiters.closing] * delimiters.stores_closing
    documents: list[list[int]] = []
    nbytes: list[int] = []
    unscored: list[int] = []
    total = 0
    for task in training_tasks(maker, seq_len - 2, seed):
        if total >= n_ids or len(documents) == MAX_DISTINCT:
            break
        documents.append([*before, *task.prompt, *task.answer, *after])
        nbytes.append(len((task.text + maker.answer_text(task.key)).encode()))
        # The opening id is an input too, and the last id of the prompt has the first of the answer as its target.
        unscored.append(len(task.prompt))
        total += len(documents[-1]) + delimiters.added
    lengths = np.array([len(document) for document in documents], dtype=np.int64)
    stops = np.cumsum(lengths)
    # Repeated where all distinct documents are fewer ids than asked.
    count = len(lengths) if total >= n_ids else ceil_div(n_ids * len(lengths), total)
    order = np.arange(count) % max(len(lengths), 1)
    ids = np.fromiter((id for document in documents for id in document), dtype=np.uint32, count=int(lengths.sum()))
    shard = Shard(ids, (stops - lengths)[order], stops[order], np.array(nbytes, dtype=np.int64)[order])
    return shard, np.array(unscored, dtype=np.int64)[order]
