"""`Batch`: what a model is fed. Rows of slots; each slot holds one pair (input id, target id) or padding.

Tensors stay on the CPU; who trains moves them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor


@dataclass
class Batch:
    """`B` rows of `T` slots."""

    ids: Tensor
    """int64 [B, T]: input ids; the padding id in slots that hold nothing."""
    targets: Tensor
    """int64 [B, T]: the id that follows; the padding id where nothing is scored."""
    target_mask: Tensor
    """bool [B, T]: True where the target is scored."""
    doc_id: Tensor
    """int32 [B, T]: number of the span within its row, 0, 1, 2, ...; -1 in padding."""
    positions: Tensor
    """int64 [B, T]."""
    n_targets: int
    """Scored targets, known without asking a device."""
    n_bytes: int
    """Raw bytes that the scored targets stand for."""
    rows: NDArray[np.int64]
    """[B, 3]: epoch, block and row number of each row, so that any batch can be rebuilt and named in an error."""
    single_doc: bool
    """No boundary in any row, and padding only behind its document: plain causal attention is enough."""
