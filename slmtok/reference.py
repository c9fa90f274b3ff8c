"""Byte-level BPE in plain Python: how training and encoding work, in ten minutes of reading. Slow on purpose.

Tests compare the compiled engine with this file, so it is as plain as possible: training counts every pair anew for
each merge, encoding looks at every neighbour again after each merge. Ids are the internal ones of the engine: a byte is
its own value, 0 to 255, and merge number k (from 0) makes id 256 + k. Special tokens are left to the callers.

    text --split--> pieces --count--> counts --train--> merges        a merge never crosses the end of a piece
    text --split--> pieces --encode_piece, each on its own--> ids

Needs the `regex` package. Its Unicode tables are newer than ours, so about 17,000 code points that were assigned after
Unicode 16 may be split differently.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import Any, TypeAlias

from slmtok.errors import UnknownId, missing_extra, unknown_name

Pair: TypeAlias = tuple[int, int]

# --- 1. Splitting: text is cut into pieces, roughly words with the space before them ----------------------------------

_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)

PATTERNS: Mapping[str, str] = {
    "slm": _CL100K.replace("{1,3}", "{1,2}"),
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "cl100k": _CL100K,
    "cl100k-hf": _CONTRACTION
    + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "o200k": "|".join(
        (
            rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTION}?",
            rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTION}?",
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        )
    ),
    "whole": r"(?s:.+)",
}
"""The named split patterns. Any other pattern is a regex."""


def _compile(pattern: str) -> Any:
    try:
        import regex  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise missing_extra("the reference implementation", "regex") from None
    return regex.compile(PATTERNS.get(pattern, pattern))


def split(text: bytes, pattern: str) -> list[bytes]:
    """The pieces of a text; joined they are the text again.

    A byte that is not UTF-8 counts as one character that is neither letter, number nor white space. What the pattern
    does not match is a piece of its own: nothing is lost.
    """
    chars = text.decode("utf-8", "surrogateescape")
    pieces, end = [], 0
    for match in _compile(pattern).finditer(chars):
        if match.group():
            pieces += [chars[end : match.start()], match.group()]
            end = match.end()
    pieces.append(chars[end:])
    return [piece.encode("utf-8", "surrogateescape") for piece in pieces if piece]


# --- 2. Counting: equal pieces behave equally, so each is kept once, with its count -----------------------------------


def count(documents: Iterable[bytes], pattern: str) -> dict[bytes, int]:
    """How often each piece occurs in the documents; training needs nothing else of a corpus."""
    counts: Counter[bytes] = Counter()
    for document in documents:
        counts.update(split(document, pattern))
    return dict(counts)


# --- 3. Training: repeatedly, the most frequent pair of neighbours becomes a token ------------------------------------


def merge_pair(ids: Sequence[int], pair: Pair, new: int) -> list[int]:
    """`ids` with `new` in place of each `pair`, from the left: `aaa` becomes `Xa`, `aaaa` becomes `XX`."""
    out: list[int] = []
    i = 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == pair:
            out.append(new)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


def pair_counts(words: Iterable[tuple[Sequence[int], int]]) -> dict[Pair, int]:
    """How often each pair of neighbours occurs in (ids, count) words. Overlaps count: `aaa` holds (a, a) twice."""
    counts: Counter[Pair] = Counter()
    for ids, n in words:
        for pair in pairwise(ids):
            counts[pair] += n
    return counts


def _hf_byte_order() -> list[int]:
    """For each byte its place in the alphabet of the tokenizers library: printable Latin-1 first, then the rest."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    alphabet = printable + [byte for byte in range(256) if byte not in printable]
    return [alphabet.index(byte) for byte in range(256)]


def _tie_key(tie_break: str, token: Sequence[bytes]) -> Callable[[Pair], Any]:
    """Of pairs with equal counts the one with the smallest key wins."""
    if tie_break == "rank":  # older tokens first
        return lambda pair: pair
    if tie_break == "hf":  # the same, in that library's order of bytes
        place = _hf_byte_order()
        return lambda pair: tuple(place[id] if id < 256 else id for id in pair)
    if tie_break == "bytes-greatest":  # the lexicographically greatest pair of byte strings; a prefix is smaller
        # 255 - byte reverses the order; the final 256 makes a prefix the smaller string.
        return lambda pair: tuple([255 - byte for byte in token[id]] + [256] for id in pair)
    raise unknown_name("tie break", tie_break, ("rank", "hf", "bytes-greatest"))


def train(
    counts: Mapping[bytes, int],
    n_merges: int,
    tie_break: str = "rank",
    min_count: int = 2,
    max_token_bytes: int = 0,
) -> list[Pair]:
    """Up to `n_merges` merges, in the order in which they were learned; fewer where no pair is left.

    tie_break: which of equally frequent pairs wins: `rank`, `hf` or `bytes-greatest`. min_count: training ends when no
    pair occurs that often. max_token_bytes: longer tokens are never made (0: no limit). The loop is that of Gage (1994)
    as Sennrich, Haddow and Birch (2016) use it, on bytes.
    """
    words = [(list(piece), n) for piece, n in counts.items()]
    token = [bytes([byte]) for byte in range(256)]
    key = _tie_key(tie_break, token)
    merges: list[Pair] = []
    while len(merges) < n_merges:
        candidates = {
            pair: n
            for pair, n in pair_counts(words).items()
            if n >= min_count and not 0 < max_token_bytes < len(token[pair[0]]) + len(token[pair[1]])
        }
        if not candidates:
            break
        best = min(candidates, key=lambda pair: (-candidates[pair], key(pair)))
        new = 256 + len(merges)
        merges.append(best)
        token.append(token[best[0]] + token[best[1]])
        words = [(merge_pair(ids, best, new), n) for ids, n in words]
    return merges


# --- 4. Encoding: apply the merges in the order in which they were learned --------------------------------------------


def encode_piece(piece: bytes, merges: Sequence[Pair]) -> list[int]:
    """The ids of one piece: the oldest merge that fits anywhere is applied, until none fits."""
    made = {pair: 256 + k for k, pair in enumerate(merges)}
    ids = list(piece)
    while True:
        found = [made[pair] for pair in pairwise(ids) if pair in made]
        if not found:
            return ids
        oldest = min(found)
        ids = merge_pair(ids, merges[oldest - 256], oldest)


def encode(data: bytes, merges: Sequence[Pair], pattern: str) -> list[int]:
    """The ids of a text."""
    return [id for piece in split(data, pattern) for id in encode_piece(piece, merges)]


# --- 5. Other ways to cut text with the same vocabulary ---------------------------------------------------------------


def longest_match(piece: bytes, merges: Sequence[Pair]) -> list[int]:
    """The ids of one piece, from the left always the longest token that fits (Uzan et al. 2024)."""
    ids = {token: id for id, token in enumerate(token_table(merges))}
    out: list[int] = []
    while piece:
        end = max(end for end in range(1, len(piece) + 1) if piece[:end] in ids)
        out.append(ids[piece[:end]])
        piece = piece[end:]
    return out


def drop_merges(piece: bytes, merges: Sequence[Pair], is_dropped: Callable[[], bool]) -> list[int]:
    """The ids of one piece under BPE-dropout (Provilkov, Emelianenko and Voita 2020, algorithm 1).

    At each step every possible merge is dropped with a probability; the oldest of the others is applied, the leftmost
    of equals. What is drawn for later ones decides nothing, so it is not drawn.
    """
    made = {pair: 256 + k for k, pair in enumerate(merges)}
    ids = list(piece)
    while True:
        found = sorted((made[pair], at) for at, pair in enumerate(pairwise(ids)) if pair in made)
        kept = next(((new, at) for new, at in found if not is_dropped()), None)
        if kept is None:
            return ids
        ids[kept[1] : kept[1] + 2] = [kept[0]]


def uniform_numbers(seed: int, epoch: int, text: bytes) -> Iterator[float]:
    """The random numbers in [0, 1) of a text: SplitMix64, begun with 8 bytes of sha256(seed, epoch, text)."""
    begin = sha256(seed.to_bytes(8, "little") + epoch.to_bytes(8, "little") + text).digest()
    state, mask = int.from_bytes(begin[:8], "little"), (1 << 64) - 1
    while True:
        state = (state + 0x9E3779B97F4A7C15) & mask
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & mask
        yield ((mixed ^ (mixed >> 31)) >> 11) / (1 << 53)


def encode_with_dropout(
    data: bytes, merges: Sequence[Pair], pattern: str, rate: float, seed: int = 0, epoch: int = 0
) -> list[int]:
    """The ids of a text of which each merge is skipped with probability `rate`."""
    numbers = uniform_numbers(seed, epoch, data)
    return [id for piece in split(data, pattern) for id in drop_merges(piece, merges, lambda: next(numbers) < rate)]


# --- 6. Decoding: the bytes of all ids, joined ------------------------------------------------------------------------


def token_table(merges: Iterable[Pair]) -> list[bytes]:
    """The bytes of each id."""
    token = [bytes([byte]) for byte in range(256)]
    for left, right in merges:
        token.append(token[left] + token[right])
    return token


def decode(ids: Iterable[int], merges: Sequence[Pair]) -> bytes:
    """The bytes that ids stand for: decode(encode(x)) == x for every x. Raises `UnknownId` with the position."""
    return b"".join(_spell(ids, token_table(merges)))


def _spell(ids: Iterable[int], token: Sequence[bytes]) -> Iterator[bytes]:
    for position, id in enumerate(ids):
        if not 0 <= id < len(token):
            raise UnknownId(
                f"id {id} at position {position} is not a token",
                limit=f"0 <= id < {len(token)}",
                fix="decode ids of the same merges",
                id=id,
            )
        yield token[id]
