"""The merge rule of CS336, incremental: dicts of pair counts and of the words that hold a pair. Needs `regex`.

Most frequent pair first, of equals the lexicographically greatest pair of byte strings. It shares only the rule with
the engine: words are lists of byte strings, counts are always exact, stale entries of the heap are skipped.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from heapq import heapify, heappop, heappush
from itertools import pairwise

import regex

GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

Pair = tuple[bytes, bytes]


def count(text: str) -> dict[bytes, int]:
    """How often each piece occurs; GPT-2's pattern leaves nothing out."""
    pieces = Counter(match.group() for match in regex.compile(GPT2).finditer(text))
    return {piece.encode(): n for piece, n in pieces.items()}


def train(counts: Mapping[bytes, int], n_merges: int) -> list[Pair]:
    """Merges as pairs of byte strings."""
    words = [([bytes([byte]) for byte in piece], n) for piece, n in counts.items()]
    total: dict[Pair, int] = defaultdict(int)
    holders: dict[Pair, set[int]] = defaultdict(set)
    for index, (word, n) in enumerate(words):
        for pair in pairwise(word):
            total[pair] += n
            holders[pair].add(index)
    heap = [entry(pair, n) for pair, n in total.items()]
    heapify(heap)
    merges: list[Pair] = []
    while heap and len(merges) < n_merges:
        minus, _, _, best = heappop(heap)
        if total.get(best, 0) != -minus or not minus:
            continue
        merges.append(best)
        for pair in apply(best, words, total, holders):
            if total[pair] > 0:
                heappush(heap, entry(pair, total[pair]))
    return merges


def entry(pair: Pair, n: int) -> tuple[int, str, str, Pair]:
    """Sorts by count descending, then by the pair descending; turned round, a prefix comes after what it begins."""
    return -n, turned(pair[0]), turned(pair[1]), pair


def turned(token: bytes) -> str:
    return "".join([chr(255 - byte) for byte in token]) + chr(256)


def apply(
    best: Pair, words: list[tuple[list[bytes], int]], total: dict[Pair, int], holders: dict[Pair, set[int]]
) -> set[Pair]:
    """Merges `best` in all words that hold it. The pairs whose counts changed."""
    changed: set[Pair] = set()
    for index in holders.pop(best):
        word, n = words[index]
        for pair in pairwise(word):
            total[pair] -= n
            changed.add(pair)
        word[:] = joined(word, best)
        for pair in pairwise(word):
            total[pair] += n
            holders[pair].add(index)
            changed.add(pair)
    return changed


def joined(word: list[bytes], pair: Pair) -> list[bytes]:
    out: list[bytes] = []
    i = 0
    while i < len(word):
        if i + 1 < len(word) and word[i] == pair[0] and word[i + 1] == pair[1]:
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(word[i])
            i += 1
    return out
