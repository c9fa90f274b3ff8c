"""Compression against vocabulary size: a tokenizer cut to smaller ones, each measured on the same texts."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slmtok.analysis.documents import bytes_meant
from slmtok.analysis.strings import ratio
from slmtok.calls import explains_calls
from slmtok.checks import BYTES_LIKE
from slmtok.errors import WrongType
from slmtok.indexing import explains_indexing
from slmtok.specials import FIRST_LEARNED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.tokenizer import Tokenizer

SMALLEST = 512
BODIES = ((128, 4), (256, 6), (512, 8), (768, 12))
"""(d_model, n_layers) of the bodies for which the share of the embedding is given."""


@explains_indexing
@dataclass(frozen=True)
class Size:
    """One size of the vocabulary on a text."""

    n_vocab: int
    bytes_per_token: float


def sizes_of(tokenizer: Tokenizer) -> list[int]:
    """Powers of two from `SMALLEST` below the size of the tokenizer, then its size; that alone for foreign ids."""
    if tokenizer.vocabulary.layout != "own" or tokenizer.n_vocab == FIRST_LEARNED:
        return [tokenizer.n_vocab]
    found = [SMALLEST << power for power in range(22) if SMALLEST << power < tokenizer.n_vocab]
    return [*found, tokenizer.n_vocab]


@explains_calls
def size_curve(
    tokenizer: Tokenizer,
    texts: Iterable[str | bytes],
    weights: NDArray[np.int64] | None = None,
    *,
    threads: int = 0,
) -> list[Size]:
    """The sizes of `sizes_of` on texts; weights: how often each of them occurs, once by default. Raises `WrongType`."""
    import numpy as np

    import slmtok
    from slmtok.tokenizer import check_tokenizer

    check_tokenizer(tokenizer)
    if isinstance(texts, (str, *BYTES_LIKE, os.PathLike)) or not isinstance(texts, Iterable):
        fact = f"size_curve takes many texts, this is one {type(texts).__name__}"
        raise WrongType(fact, fix=f"size_curve(tok, [{bytes_meant(texts)}])")
    texts = list(texts)
    encoded = (text.encode(errors="surrogatepass") if isinstance(text, str) else text for text in texts)
    sizes = np.array([len(text) for text in encoded], dtype=np.int64)
    weights = np.ones(len(texts), dtype=np.int64) if weights is None else weights
    n_bytes = int((sizes * weights).sum())
    found = []
    for n_vocab in sizes_of(tokenizer):
        part = tokenizer if n_vocab == tokenizer.n_vocab else slmtok.slice(tokenizer, n_vocab)
        n_tokens = int((part.count_tokens(texts, threads=threads) * weights).sum())
        found.append(Size(n_vocab, ratio(n_bytes, n_tokens)))
    return found


def embedding_share(padded_vocab: int, d_model: int, n_layers: int) -> float:
    """The share of a tied embedding in a transformer whose layers have 12 d_model^2 parameters each."""
    return padded_vocab / (padded_vocab + 12 * n_layers * d_model)
