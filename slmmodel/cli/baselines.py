"""What needs no model beside the bits per byte of one: byte n-grams and compressors that read the training text.

They are computed by `slmtok.analysis.baselines`, on the text that the ids of packed data decode to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from slmmodel.cli.text import Text
from slmmodel.errors import BytesDisagree
from slmtok.cli.progress import Progress
from slmtok.envelope import MAX_BASELINE_BYTES, baseline_limits

if TYPE_CHECKING:
    from slmmodel.data.source import DocumentBlock

_IDS_PER_STEP = 1 << 16
"""Ids that are decoded at once, since a document may be far longer than `MAX_BASELINE_BYTES`."""
MIN_COMPRESSED_BYTES = 1024
"""Of shorter texts bz2 and xz mostly measure their own headers and blocks, so they are not shown."""


def text_baselines(text: Text, train: DocumentBlock, held_out: DocumentBlock) -> dict[str, Any]:
    """Bits per byte of held-out documents, as `slmtok.analysis.baselines` gives them.

    Raises `BytesDisagree` where documents do not have the bytes of the data.
    """
    from slmtok.analysis.baselines import baselines

    with Progress() as progress:
        progress("baselines", 0, 0)
        found = baselines(_documents(text, train), _documents(text, held_out))
    found["train_bytes_all"] = int(train.nbytes().sum())
    return found


def _documents(text: Text, block: DocumentBlock) -> Iterator[bytes]:
    """The decoded documents of a block, each up to `MAX_BASELINE_BYTES`."""
    for doc, (length, size) in enumerate(zip(block.lengths(), block.nbytes(), strict=True)):
        data = bytearray()
        for start in range(1, length - 1, _IDS_PER_STEP):
            data += text.data(block.ids(doc, start, min(start + _IDS_PER_STEP, length - 1)).tolist())
            if len(data) >= MAX_BASELINE_BYTES:
                break
        if len(data) != size if len(data) < MAX_BASELINE_BYTES else len(data) > size:
            raise BytesDisagree(
                f"document {doc} has {size} bytes, but its ids decode to {len(data)}",
                limit="baselines need the exact bytes of the documents",
                fix="check the data with slmtok verify --deep",
            )
        yield bytes(data)


def best_ngram(lines: Mapping[str, Any]) -> tuple[int, float]:
    """Order and bits per byte of the best n-gram."""
    order, bits = min(lines["ngram"].items(), key=lambda item: float(item[1]))
    return int(order), float(bits)


def baseline_lines(lines: Mapping[str, Any], scored_bytes: int) -> str:
    """All baselines of a text of `scored_bytes`, for a table."""
    grams = "  ".join(f"{order}: {bits:.3f}" for order, bits in lines["ngram"].items())
    shown = [f"byte n-grams by order: {grams}"]
    if lines["bytes"] >= MIN_COMPRESSED_BYTES:
        shown += [
            f"{name}: {lines[name]['after_train']:.3f} after the training text, {lines[name]['alone']:.3f} alone"
            for name in ("bz2", "xz")
        ]
    return "\n".join(filter(None, [*shown, baseline_limits(lines, scored_bytes)]))
