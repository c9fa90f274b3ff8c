"""What the trainers of this package share: texts to counts to merges, with raw ids as those libraries number them.

Raw ids: a byte is its own value, merge k makes id 256 + k. That is how the engine numbers inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Literal

from slmtok.checks import U64, check_int
from slmtok.errors import UnknownId, VocabularyTooSmall, WrongType
from slmtok.vocabulary import MAX_IDS

if TYPE_CHECKING:
    from slmtok._engine import Encoder, Pattern


def merges_of(
    texts: Iterable[str | bytes],
    n_merges: int,
    pattern: Pattern,
    *,
    ties: Literal["rank", "bytes-greatest", "hf"] = "rank",
    buffer: int = 8192,
) -> list[tuple[int, int]]:
    """Merges of texts that are counted `buffer` at a time; minimum count 1, no limit of length."""
    from slmtok import _engine

    counter = _engine.Counter(pattern)
    iterator = iter(texts)
    while chunk := list(islice(iterator, buffer)):
        counter.feed(chunk)
    result = _engine.train(counter.finish(), n_merges, ties=ties, min_count=1)
    return [(left, right) for left, right in result.merges.tolist()]


def encoder_of(pattern: Pattern, merges: Sequence[tuple[int, int]]) -> Encoder:
    """The encoder whose ids are the raw ones."""
    import numpy as np

    from slmtok._engine import Encoder

    table = np.array(merges, dtype=np.uint32).reshape(-1, 2)
    return Encoder.from_merges(pattern, table, np.arange(256 + len(merges), dtype=np.uint32))


def room(vocab_size: int, least: int = 256) -> int:
    """Merges that a vocabulary has room for. Raises `VocabularyTooSmall`, `WrongType`, `InvalidOption`."""
    number = check_int("vocab_size", vocab_size, -U64, MAX_IDS)
    if number < least:
        raise VocabularyTooSmall(
            f"vocab_size {number} is below the minimum size",
            limit=f"{least} or more",
            fix=f"vocab_size={least + 1000}",
            n_vocab=number,
        )
    return number - least


def many(texts: object, call: str) -> Iterable[object]:
    """`texts`, if it holds many. Raises `WrongType`, for a lone text too."""
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        raise WrongType(f"{call} takes many texts, this is one {type(texts).__name__}", fix=f"{call}([text])")
    return texts


def one_str(text: object) -> str:
    """`text`, if it is a `str`. Raises `WrongType`."""
    if not isinstance(text, str):
        raise WrongType(f"text must be str, not {type(text).__name__}", fix="data.decode() for bytes")
    return text


def unknown_id(id: object, n_vocab: int) -> UnknownId:
    """The error for an id that is not in the vocabulary."""
    return UnknownId(
        f"id {id} is not in the vocabulary", limit=f"0 <= id < {n_vocab}", fix="decode what encode gave", id=id
    )
