"""What needs no model beside the bits per byte of one: byte n-grams and compressors that read the training text.

They are computed by `slmtok.analysis.baselines`, on the text that the ids of packed data decode to.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from slmmodel.cli.text import Text
from slmmodel.errors import BytesDisagree
from slmtok.cli.progress import Progress

if TYPE_CHECKING:
    from slmmodel.data.source import DocumentBlock

MAX_TRAIN_BYTES = 16_000_000
"""Training text that baselines see; the result records its size."""
MIN_COMPRESSED_BYTES = 1024
"""Of shorter texts bz2 and xz mostly measure their own headers and blocks, so they are not shown."""


def text_baselines(text: Text, train: DocumentBlock, held_out: DocumentBlock) -> dict[str, Any]:
    """Bits per byte of held-out documents, as `slmtok.analysis.baselines` gives them.

    Raises `BytesDisagree` where documents do not have the bytes of the data.
    """
    from slmtok.analysis.baselines import baselines

    with Progress() as progress:
        progress("baselines", 0, 0)
        found = baselines(_documents(text, train, MAX_TRAIN_BYTES), _documents(text, held_out))
    found["train_bytes_all"] = int(train.nbytes().sum())
    return found


def _documents(text: Text, block: DocumentBlock, max_bytes: float = math.inf) -> list[bytes]:
    """The decoded documents of a block, until `max_bytes` were read."""
    out: list[bytes] = []
    for doc, (data, size) in enumerate(zip(text.documents(block), block.nbytes().tolist(), strict=True)):
        if max_bytes <= 0:
            break
        if len(data) != size:
            raise BytesDisagree(
                f"document {doc} has {size} bytes, but its ids decode to {len(data)}",
                limit="baselines need the exact bytes of the documents",
                fix="check the data with slmtok verify --deep",
            )
        out.append(data)
        max_bytes -= size
    return out


def best_ngram(lines: Mapping[str, Any]) -> tuple[int, float]:
    """Order and bits per byte of the best n-gram."""
    order, bits = min(lines["ngram"].items(), key=lambda item: float(item[1]))
    return int(order), float(bits)


def baseline_lines(lines: Mapping[str, Any]) -> str:
    """All baselines, for a table."""
    grams = "  ".join(f"{order}: {bits:.3f}" for order, bits in lines["ngram"].items())
    used = lines["train_bytes"]
    part = f", of the first {used:,} bytes" if used < lines["train_bytes_all"] else ""
    if lines["bytes"] < MIN_COMPRESSED_BYTES:
        return f"byte n-grams by order{part}: {grams}"
    compressors = [
        f"{name}: {lines[name]['after_train']:.3f} after the training text, {lines[name]['alone']:.3f} alone"
        for name in ("bz2", "xz")
    ]
    return "\n".join([f"byte n-grams by order{part}: {grams}", *compressors])
