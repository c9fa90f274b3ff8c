"""A second, independent naive BPE, in which words are lists of byte strings. Standard library only.

It shares no code and no data structure with `slmtok.reference`, so the two check each other: tokens are ids there and
bytes here; tie-break rules are keys there and explicit comparisons here. It has no patterns.
"""

from __future__ import annotations

HF_ALPHABET = [*range(33, 127), *range(161, 173), *range(174, 256), *range(33), *range(127, 161), 173]


def train(
    counts: dict[bytes, int], n_merges: int, tie_break: str, min_count: int = 1, max_bytes: int = 0
) -> list[tuple[bytes, bytes]]:
    """Merges as pairs of byte strings."""
    words = [([bytes([byte]) for byte in piece], n) for piece, n in counts.items()]
    order = [bytes([byte]) for byte in (HF_ALPHABET if tie_break == "hf" else range(256))]
    age = {token: index for index, token in enumerate(order)}
    merges: list[tuple[bytes, bytes]] = []
    while len(merges) < n_merges:
        totals: dict[tuple[bytes, bytes], int] = {}
        for word, n in words:
            for i in range(len(word) - 1):
                totals[word[i], word[i + 1]] = totals.get((word[i], word[i + 1]), 0) + n
        best = None
        for pair, n in totals.items():
            if n < min_count or (max_bytes and len(pair[0] + pair[1]) > max_bytes):
                continue
            if best is None or n > totals[best] or (n == totals[best] and wins(pair, best, tie_break, age)):
                best = pair
        if best is None:
            return merges
        merges.append(best)
        age[best[0] + best[1]] = len(age)
        for word, _ in words:
            join(word, best)
    return merges


def wins(pair: tuple[bytes, bytes], other: tuple[bytes, bytes], tie_break: str, age: dict[bytes, int]) -> bool:
    if tie_break == "bytes-greatest":
        return pair > other
    return [age[pair[0]], age[pair[1]]] < [age[other[0]], age[other[1]]]


def join(word: list[bytes], pair: tuple[bytes, bytes]) -> None:
    """Joins each occurrence of the pair in place, from the left."""
    i = 0
    while i < len(word) - 1:
        if word[i] == pair[0] and word[i + 1] == pair[1]:
            word[i : i + 2] = [pair[0] + pair[1]]
        i += 1


def encode(piece: bytes, merges: list[tuple[bytes, bytes]]) -> list[bytes]:
    """Every merge once over the piece, in the order in which they were learned: the textbook's way.

    A merge cannot fit again later than its turn, since younger merges make only younger tokens.
    """
    word = [bytes([byte]) for byte in piece]
    for pair in merges:
        join(word, pair)
    return word
