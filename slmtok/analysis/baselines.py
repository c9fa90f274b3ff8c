"""What a model of a text has to beat: byte n-grams and compressors that have seen the training text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

MOST = 16_000_000
"""Bytes of training text, and of held-out text, that are used; the numbers say how many there were."""


def baselines(train: Iterable[bytes], held_out: Sequence[bytes]) -> dict[str, object]:
    """Bits per byte of `held_out`: `ngram` by order; each compressor behind the training text, and alone."""
    import bz2
    import lzma

    from slmtok.analysis.ngram import witten_bell

    compressors: dict[str, Callable[[bytes], bytes]] = {
        "bz2": lambda data: bz2.compress(data, 9),
        "xz": lambda data: lzma.compress(data, preset=9),
    }
    used = first_bytes(train, MOST)
    before, text = b"".join(used), b"".join(held_out)
    found: dict[str, object] = {
        "ngram": {str(order): bits for order, bits in enumerate(witten_bell(used, held_out), 1)},
        "train_bytes": len(before),
        "bytes": len(text),
    }
    for name, compress in compressors.items():
        behind = len(compress(before + text)) - len(compress(before))
        alone = len(compress(text))
        found[name] = {"after_train": 8 * behind / max(1, len(text)), "alone": 8 * alone / max(1, len(text))}
    return found


def first_bytes(documents: Iterable[bytes], limit: int) -> list[bytes]:
    """The documents up to `limit` bytes in all, the last one cut."""
    kept: list[bytes] = []
    left = limit
    for document in documents:
        kept.append(document[:left])
        left -= len(kept[-1])
        if left <= 0:
            break
    return kept
