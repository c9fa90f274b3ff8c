"""Completions of a text whose end is not final: the algorithm of tiktoken's `encode_with_unstable`.

The ids of the last piece may change when text follows. A completion is the shortest sequence of ids that covers the
bytes of that piece, for a text that continues it: a token may begin at each of its bytes and reach beyond its end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

Encode = Callable[[bytes], list[int]]
_SPACES = b" \n\t"


def split_unstable(tokens: Sequence[bytes], last_piece: int) -> int:
    """The number of stable tokens, of which the last `last_piece` are of the last piece.

    A piece of white space may grow backwards over the white space before it.
    """
    stable = len(tokens) - last_piece
    if last_piece and not tokens[stable].strip(_SPACES):
        while stable and not tokens[stable - 1].strip(_SPACES):
            stable -= 1
    return stable


def completions(
    tail: bytes, vocabulary: Sequence[bytes], token_bytes: Callable[[int], bytes], encode: Encode, merge: Encode
) -> set[tuple[int, ...]]:
    """The completions of the bytes `tail`.

    vocabulary: all tokens, sorted. encode: the ids of text; merge: those of bytes as one piece.
    """
    found = {tuple(merge(token)) for token in _starting_with(tail, vocabulary)}
    for start in range(1, len(tail)):
        for token in _starting_with(tail[start:], vocabulary):
            text = tail[:start] + token
            ids = (encode if _is_utf8(text) else merge)(text)
            found.add(_covering(ids, len(tail), token_bytes))
    last = tail.decode("utf-8", "ignore")[-1:]
    before = tail.removesuffix(last.encode())
    if before and before != tail and last.isspace():
        found.add((*merge(before), *merge(last.encode())))
    return found


def _starting_with(prefix: bytes, vocabulary: Sequence[bytes]) -> Iterator[bytes]:
    for index in range(bisect_left(vocabulary, prefix), len(vocabulary)):
        if not vocabulary[index].startswith(prefix):
            return
        yield vocabulary[index]


def _covering(ids: Sequence[int], size: int, token_bytes: Callable[[int], bytes]) -> tuple[int, ...]:
    """The first ids that have `size` bytes or more."""
    covered = 0
    for count, id in enumerate(ids, 1):
        covered += len(token_bytes(id))
        if covered >= size:
            return tuple(ids[:count])
    return tuple(ids)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
