"""Baselines of an evaluation: the bytes of its documents come through the seam, and are checked against the data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from slmmodel.data.source import TokenBlock, TokenSource
from slmmodel.errors import BytesDisagree
from slmmodel.vocab import VocabMeta

MAX_TRAIN_BYTES = 16_000_000
"""Training text that baselines see; the result records how much there was."""


def baselines_of(tokenizer: Path, vocab: VocabMeta, train: TokenSource | None, val: TokenSource) -> dict[str, Any]:
    """The lines of `slmtok.analysis.baselines` for decoded documents. Raises `BytesDisagree`."""
    from slmmodel.cli.text import Text, baselines

    text = Text(tokenizer, vocab)
    before = [] if train is None else _documents(text, train.block(0), MAX_TRAIN_BYTES)
    lines = baselines(before, _documents(text, val.block(0), None))
    lines["train_bytes_all"] = sum(map(len, before))
    if train is not None:
        lines["train_bytes_all"] = int(train.block(0).nbytes().sum())
    return lines


def _documents(text: Any, block: TokenBlock, most: int | None) -> list[bytes]:
    """The bytes of the documents of a block, as long as fewer than `most` were read."""
    out: list[bytes] = []
    left = most
    for doc, (length, size) in enumerate(zip(block.lengths().tolist(), block.nbytes().tolist(), strict=True)):
        if left is not None and left <= 0:
            break
        data = text.data(block.ids(doc, 1, length - 1).tolist())
        if len(data) != size:
            raise BytesDisagree(
                f"document {doc} has {size} bytes, but its ids decode to {len(data)}",
                limit="baselines are computed on the very bytes of the documents",
                fix="check the data with slmtok verify --deep",
            )
        out.append(data)
        left = None if left is None else left - size
    return out


def best_ngram(lines: dict[str, Any]) -> tuple[int, float]:
    """Order and bits per byte of the best n-gram."""
    table = lines["ngram"]
    order = min(table, key=lambda key: float(table[key]))
    return int(order), float(table[order])
