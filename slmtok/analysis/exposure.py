"""How often a model meets each id while it trains on packed data, known before the training.

An id that is hardly ever a target keeps a vector near its initial one. Land and Bartolo (2024, "Fishing for Magikarp")
find such tokens in finished models, by the norms of their vectors.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slmtok.calls import explains_calls
from slmtok.checks import check_int
from slmtok.errors import CorruptFile, OptionError, Setting
from slmtok.indexing import explains_indexing
from slmtok.shards.reader import check_shards
from slmtok.specials import FIRST_LEARNED
from slmtok.tokenizer import check_tokenizer, refuse_swapped

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slmtok.aliases import Progress
    from slmtok.shards import Shards
    from slmtok.tokenizer import Tokenizer
    from slmtok.vocabulary import Vocabulary

CHUNK_IDS = 1 << 22
DEFAULT_BELOW = 100
"""Updates below which an id counts as rare."""
MAX_EPOCHS = 1_000_000


@explains_indexing
@dataclass(frozen=True)
class Exposure:
    """Of each id of a vocabulary, how often it occurs in a training.

    updates: float64, shape (n_vocab,): occurrences in the split, times the epochs. scaffold: bool, shape (n_vocab,):
    the id is rare although a token that it is a part of is not, so it serves merges alone.
    """

    vocabulary: Vocabulary
    epochs: float
    below: int
    updates: NDArray[np.float64]
    scaffold: NDArray[np.bool_]

    @property
    def learned(self) -> NDArray[np.int64]:
        """The ids that training may have learned: neither specials, nor holes, nor single bytes."""
        table = self.vocabulary.token_table
        return np.array([id for id, token in enumerate(table) if token is not None and len(token) > 1], dtype=np.int64)

    @property
    def rare(self) -> NDArray[np.int64]:
        """The learned ids with fewer updates than `below`, the rarest first, of equals the largest id first."""
        found = self.learned[self.updates[self.learned] < self.below]
        return found[np.lexsort((-found, self.updates[found]))]

    @property
    def special_share(self) -> float:
        """The share of updates that special tokens take, between 0 and 1."""
        specials = [token.id for token in self.vocabulary.specials.tokens]
        return float(self.updates[specials].sum() / max(1.0, self.updates.sum()))


@explains_calls
def exposure(
    data: Shards,
    tokenizer: Tokenizer,
    *,
    split: str = "train",
    epochs: float = 1.0,
    below: int = DEFAULT_BELOW,
    progress: Progress | None = None,
) -> Exposure:
    """Counts the ids of a split of packed data, and says which of them a training leaves rare.

    tokenizer: the one of the data. Raises `OptionError` (no such split, epochs out of range, another tokenizer),
    `CorruptFile` for an id beyond the vocabulary, `WrongType`.
    """
    refuse_swapped(tokenizer, data, "exposure(data, tokenizer)", "exposure(data, tok)")
    check_shards("data", data)
    if not 0 < epochs <= MAX_EPOCHS:
        raise OptionError(
            (Setting("epochs", epochs), " is no number of epochs"),
            limit=f"above 0, at most {MAX_EPOCHS:,}",
            fix=(Setting("epochs", 1),),
            option="epochs",
        )
    if check_tokenizer(tokenizer).fingerprint != data.fingerprint:
        raise OptionError(
            f"the data were packed with the tokenizer {data.fingerprint[:8]}, not {tokenizer.fingerprint[:8]}",
            fix="leave the tokenizer out: packed data hold their own",
            option="tokenizer",
        )
    vocabulary = tokenizer.vocabulary
    updates = (_count(data, split, vocabulary.n_vocab, progress) * epochs).astype(np.float64)
    below = check_int("below", below, 1)
    return Exposure(vocabulary, epochs, below, updates, _scaffolds(vocabulary, updates, below))


def _count(data: Shards, split: str, n_vocab: int, progress: Progress | None) -> NDArray[np.int64]:
    total, done = data.n_tokens(split), 0
    counts = np.zeros(n_vocab, dtype=np.int64)
    for shard in data.shards[split]:
        for start in range(0, len(shard.ids), CHUNK_IDS):
            ids = shard.ids[start : start + CHUNK_IDS]
            found = np.bincount(ids, minlength=n_vocab)
            if len(found) > n_vocab:
                raise CorruptFile(
                    f"{shard.path('bin')} has the id {len(found) - 1}",
                    limit=f"0 to {n_vocab - 1}",
                    fix="slmtok verify names what is damaged",
                    path=str(shard.path("bin")),
                )
            counts += found
            done += len(ids)
            if progress is not None:
                progress("count", done, total)
    return counts


def _scaffolds(vocabulary: Vocabulary, updates: NDArray[np.float64], below: int) -> NDArray[np.bool_]:
    """Rare ids that are part of a token that is not rare, directly or through other rare parts."""
    scaffold = np.zeros(vocabulary.n_vocab, dtype=bool)
    for whole, parts in reversed(list(_parts(vocabulary))):
        if updates[whole] >= below or scaffold[whole]:
            for part in parts:
                scaffold[part] = updates[part] < below
    return scaffold


def _parts(vocabulary: Vocabulary) -> Iterable[tuple[int, tuple[int, ...]]]:
    """(id, its two parts) of each merge, parts before wholes."""
    fresh = FIRST_LEARNED
    for merge in vocabulary.merges:
        yield (merge[2] if len(merge) == 3 else fresh), merge[:2]
        fresh += len(merge) == 2
