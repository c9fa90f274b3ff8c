"""What a model has to beat: byte n-grams and two compressors, on the same documents.

They need the bytes of the documents, which the caller brings; of training text at most the first 16 MB are used, and
the result says so. Compressors get the training text before the validation text, and once the validation text alone.
"""

from __future__ import annotations

import bz2
import lzma
from collections.abc import Callable, Sequence

from slmmodel.evaluation.ngram import witten_bell

ORDERS = 6
MOST_TRAIN = 16_000_000

COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "bz2": lambda data: bz2.compress(data, 9),
    "xz": lambda data: lzma.compress(data, preset=9),
}


def baselines(train: Sequence[bytes], val: Sequence[bytes], *, orders: int = ORDERS) -> dict[str, object]:
    """Bits per byte of `val`: `ngram` by order, each compressor after the training text and alone; and how many bytes
    of training text were used."""
    used = first_bytes(train, MOST_TRAIN)
    before, text = b"".join(used), b"".join(val)
    lines: dict[str, object] = {
        "ngram": {str(order): bits for order, bits in enumerate(witten_bell(used, val, orders), 1)},
        "train_bytes": len(before),
        "train_bytes_all": sum(map(len, train)),
        "bytes": len(text),
    }
    for name, compress in COMPRESSORS.items():
        alone = len(compress(text))
        after = len(compress(before + text)) - len(compress(before))
        lines[name] = {"after_train": 8 * after / max(1, len(text)), "alone": 8 * alone / max(1, len(text))}
    return lines


def first_bytes(documents: Sequence[bytes], limit: int) -> list[bytes]:
    """The documents up to `limit` bytes, the last one cut."""
    out: list[bytes] = []
    left = limit
    for document in documents:
        if left <= 0:
            break
        out.append(document[:left])
        left -= len(out[-1])
    return out


def best_ngram(lines: dict[str, object]) -> tuple[int, float]:
    """Order and bits per byte of the best n-gram."""
    table = lines["ngram"]
    if not isinstance(table, dict) or not table:
        raise ValueError("there is no n-gram among the baselines")
    order = min(table, key=lambda key: float(table[key]))
    return int(order), float(table[order])
