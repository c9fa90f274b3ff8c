"""Passkey tasks in training data: `data.passkey` is the share of training ids that are documents of the task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from slmmodel.cli.passkey_text import TaskMaker, training_tasks
from slmmodel.cli.text import Text
from slmmodel.config import Settings, resolve
from slmmodel.data import RunData, open_data
from slmmodel.data.mixture import MixedSource
from slmmodel.data.source import Delimiters, Shard, TokenSource
from slmmodel.errors import MissingInput

MAX_DISTINCT = 20_000
"""Different documents in a block; a larger share repeats them."""


def mix_passkeys(given: Settings, data: RunData | None) -> RunData | None:
    """The data of a new run with the passkeys that its settings ask for; `data` itself where they ask for none.

    Raises what opening the data raises, `MissingInput` without a tokenizer.
    """
    if "data.passkey" not in given:
        return data
    from slmmodel.hardware import device_for
    from slmmodel.training.setup import open_run_data, value_of

    data = data or open_run_data(given, None)
    device = device_for(value_of(given, "run.device", "auto"))
    return mix_recorded(resolve(given, data.vocab, data.tokens, device.type)[0].to_dict(), data)


def mix_recorded(config: Mapping[str, Any], data: RunData | None) -> RunData | None:
    """The data of a run with this configuration; for None, the data that it names are opened."""
    section = config["data"]
    if not section.get("passkey"):
        return data
    data = data or open_data(section["train"], section["val"])
    mixed = with_passkeys(data, data.train, section["passkey"], config["model"]["seq_len"], config["run"]["seed"])
    return replace(data, train=mixed)


def with_passkeys(data: RunData, source: TokenSource, share: float, seq_len: int, seed: int) -> TokenSource:
    """The source with passkey documents of at most `seq_len` ids, delimiters included, as a share of its ids."""
    if data.tokenizer is None:
        raise MissingInput(
            "data.passkey needs the tokenizer, and the data have none",
            where=data.name,
            fix="slm train with packed data that have a tok.json, or with text and -t",
        )
    maker = TaskMaker(Text(data.tokenizer, data.vocab), [])
    assert source.delimiters is not None
    delimiters = source.delimiters

    def make(block: int, n_ids: int) -> Shard:
        return _shard(maker, seq_len, f"{seed}/{block}", n_ids, delimiters)

    return MixedSource(source, make, share, repr((maker.template, maker.digits, seq_len, seed)))


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
