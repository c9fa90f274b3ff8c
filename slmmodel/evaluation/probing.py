"""Probes of a model, and measures of what it generates. Ids only: commands make the texts.

A probe trains a copy of the model on questions with answers for a few hundred steps: what it learns then says more of a
small model and of its tokenizer than what it answers unprepared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from slmmodel.evaluation.scoring import negative_log_likelihood
from slmmodel.models.protocol import Model
from slmmodel.sampling.prefill import check_prompts

Exercise = tuple[Sequence[int], Sequence[int]]
"""The ids of a question, and those of its answer."""
OVERLAP_IDS = 8
REPEATED_IDS = 4
_PRIME = np.uint64(0x9E3779B97F4A7C15)


def train_on_answers(
    model: Model, exercises: Iterator[Exercise], *, steps: int, batch_size: int, lr: float
) -> Iterator[float]:
    """Trains `model` in place with AdamW at a constant rate; each step yields the loss in nats per id of an answer.

    Only answers count, and rows are padded at their end. Raises `InvalidInput` for exercises the model cannot read.
    """
    device = next(model.parameters()).device
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.95), weight_decay=0.0)
    model.train()
    for _ in range(steps):
        batch = [next(exercises) for _ in range(batch_size)]
        rows = [[*question, *answer] for question, answer in batch]
        check_prompts(model, [row[:-1] for row in rows])
        width = max(map(len, rows))
        ids = torch.tensor([row + [0] * (width - len(row)) for row in rows], device=device)
        is_answer = torch.zeros_like(ids, dtype=torch.bool)
        for index, (row, (question, _)) in enumerate(zip(rows, batch, strict=True)):
            is_answer[index, len(question) : len(row)] = True
        logits = model(ids[:, :-1]).logits
        assert logits is not None
        loss = negative_log_likelihood(logits, ids[:, 1:])[is_answer[:, 1:]].mean()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        yield float(loss.detach())
    model.eval()


def ngrams(ids: Sequence[int], n: int) -> list[tuple[int, ...]]:
    """All runs of `n` ids, in order."""
    return [tuple(ids[at : at + n]) for at in range(len(ids) - n + 1)]


def distinct(ids: Sequence[int], n: int) -> tuple[int, int]:
    """Different runs of `n` ids, and all of them (distinct-n of Li et al. 2016)."""
    found = ngrams(ids, n)
    return len(set(found)), len(found)


def repeated(ids: Sequence[int]) -> tuple[int, int]:
    """Runs of 4 ids that stand earlier in the same ids too, and all of them."""
    different, total = distinct(ids, REPEATED_IDS)
    return total - different, total


def found_in(blocks: Iterable[NDArray[Any]], wanted: Iterable[tuple[int, ...]]) -> set[Any]:
    """Those of the `wanted` runs of `OVERLAP_IDS` ids that occur in a block; runs do not reach over blocks.

    Runs are looked up by a 64-bit hash, and those with the hash of a wanted one are compared id by id.
    """
    n, left = OVERLAP_IDS, set(wanted)
    found: set[Any] = set()
    for block in blocks:
        if not left:
            break
        keys = np.sort(_hashes(np.array(sorted(left), dtype=np.uint64)).ravel())
        runs = np.lib.stride_tricks.sliding_window_view(block, n) if len(block) >= n else np.empty((0, n), block.dtype)
        hits = runs[np.isin(_hashes(runs), keys)]
        here = left.intersection(map(tuple, np.unique(hits, axis=0).tolist()))
        found, left = found | here, left - here
    return found


def _hashes(runs: NDArray[Any]) -> NDArray[np.uint64]:
    """A polynomial hash of each row, uint64 [rows]."""
    value = np.zeros(len(runs), dtype=np.uint64)
    for column in range(runs.shape[1]):
        value = (value + runs[:, column].astype(np.uint64) + np.uint64(1)) * _PRIME
    return value
