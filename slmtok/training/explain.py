"""The first merges of a training run, one by one, each on an example word: how people see what BPE does.

It retells a run that is over: merges and their counts come from the engine, and are only replayed here on the most
frequent pieces. So it costs little whatever the corpus, and needs no second training. Nothing here prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slmtok.token_text import escape_token

if TYPE_CHECKING:
    from slmtok.training.api import Trained

TRACKED = 4000
"""Only this many of the most frequent pieces are examples; a merge that occurs in none of them is told without one."""


@dataclass(frozen=True)
class MergeStep:
    """One merge. `before` and `after` are an example as token bytes; both are empty where no tracked piece has it."""

    number: int
    """From 1."""
    left: bytes
    right: bytes
    joined: bytes
    id: int
    count: int
    """How often the pair occurred in the corpus when it was chosen."""
    before: tuple[bytes, ...]
    after: tuple[bytes, ...]


def explain(trained: Trained, steps: int, *, example: bytes | None = None) -> list[MergeStep]:
    """The first `steps` merges of a run with their public ids; none for a scheme that does not merge."""
    from slmtok.schemes import internal_merges

    merges, ids, _ = internal_merges(trained.learned.merges)
    pieces = trained.counts.items()
    return explain_merges(pieces, merges, trained.learned.counts, steps=steps, example=example, ids=ids[256:])


def explain_merges(
    pieces: Iterable[tuple[bytes, int]],
    merges: Sequence[Sequence[int]],
    counts: Sequence[int],
    *,
    steps: int,
    example: bytes | None = None,
    ids: Sequence[int] | None = None,
) -> list[MergeStep]:
    """The first `steps` merges.

    pieces: (piece, count) of the corpus, in any order. merges: pairs of internal ids (bytes 0..255, merge k makes
    256 + k). counts: how often each pair occurred. example: a word to show each merge on that touches it; the others,
    and all if None, are shown on the most frequent piece that has the pair at that moment. ids: the public id that each
    merge makes; 256 + k if None.
    """
    words = [_Word(piece) for piece in _most_frequent(pieces)]
    if example is not None:
        words.insert(0, _Word(example))
    token = [bytes([byte]) for byte in range(256)]
    told: list[MergeStep] = []
    for k, (left, right) in enumerate(merges[:steps]):
        token.append(token[left] + token[right])
        before, after = _replay(words, (left, right), 256 + k, token)
        id = ids[k] if ids is not None else 256 + k
        told.append(MergeStep(k + 1, token[left], token[right], token[-1], id, int(counts[k]), before, after))
    return told


def render(steps: Sequence[MergeStep]) -> str:
    """The steps as plain text, a line each: pair, new token and id, count, example before and after. `␣` is a space."""
    rows = [("merge", "left + right = token", "id", "times", "for example")]
    rows += [(str(step.number), _sum(step), str(step.id), f"{step.count:,}", _example(step)) for step in steps]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join(_line(row, widths) + "\n" for row in rows)


class _Word:
    """A piece and the ids it is cut into so far."""

    __slots__ = ("ids", "piece")

    def __init__(self, piece: bytes) -> None:
        self.piece = piece
        self.ids = list(piece)


def _most_frequent(pieces: Iterable[tuple[bytes, int]]) -> Iterator[bytes]:
    from heapq import nsmallest

    ranked = nsmallest(TRACKED, pieces, key=lambda item: (-item[1], item[0]))
    return (piece for piece, _ in ranked)


def _replay(
    words: Sequence[_Word], pair: tuple[int, int], new: int, token: Sequence[bytes]
) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """Applies one merge to all words; the first that it changes, before and after."""
    shown: tuple[tuple[bytes, ...], tuple[bytes, ...]] = ((), ())
    for word in words:
        if token[new] not in word.piece:  # a quick test that spares most words the slow one
            continue
        ids = _merged(word.ids, pair, new)
        if len(ids) < len(word.ids):
            if not shown[0]:
                shown = (tuple(token[id] for id in word.ids), tuple(token[id] for id in ids))
            word.ids = ids
    return shown


def _merged(ids: Sequence[int], pair: tuple[int, int], new: int) -> list[int]:
    """`ids` with `new` in place of each `pair`, from the left."""
    out: list[int] = []
    for id in ids:
        if out and (out[-1], id) == pair:
            out[-1] = new
        else:
            out.append(id)
    return out


def _sum(step: MergeStep) -> str:
    return f"{escape_token(step.left)} + {escape_token(step.right)} = {escape_token(step.joined)}"


def _example(step: MergeStep) -> str:
    if not step.before:
        return "(in rare words only)"
    return f"{'|'.join(map(escape_token, step.before))}  →  {'|'.join(map(escape_token, step.after))}"


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    number, pair, id, times, example = row
    return f"{number:>{widths[0]}}  {pair:<{widths[1]}}  {id:>{widths[2]}}  {times:>{widths[3]}}  {example}".rstrip()
