"""A seeded generator of simple children's stories of our own writing: the corpus that ships with slmtok.

Every story depends on `(seed, index)` alone, so the stream is random-access and the same on every platform and Python
version. The text comes from a grammar over a large lexicon (see docs/guide/stories.md); nothing is loaded before the
first story is asked for. It is teaching material for small models, not literature, and it holds no facts of the world.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

__all__ = ["stories", "story", "write_stories"]

NUMBERS = 10**100
"""More stories and seeds than anybody will ask for; Python's integers hold them all."""


def story(index: int, *, seed: int = 0) -> str:
    """Return story number `index` (from 0) of the stream of `seed`; its last line ends with a newline.

    Raises `InvalidOption` (a ValueError) for a negative index, `WrongType` for what is no check_int number.
    """
    from slmtok.checks import check_int
    from slmtok.stories.assemble import tell

    return tell(check_int("index", index, max=NUMBERS), check_int("seed", seed, -NUMBERS, NUMBERS))


def stories(*, seed: int = 0, plots: Collection[str] | None = None) -> Iterator[str]:
    """Yield the endless stream of stories of `seed`, in order; element i equals `story(i, seed=seed)`.

    With `plots`, those of the stream that tell one of them. Raises `UnknownName` for a plot that does not exist.
    """
    chosen = None if plots is None else _known(plots)
    for index in count():
        if chosen is None or _plot(index, seed) in chosen:
            yield story(index, seed=seed)


def _known(names: Collection[str]) -> frozenset[str]:
    from slmtok.errors import unknown_name
    from slmtok.stories.plots import plots

    for name in names:
        if name not in plots():
            raise unknown_name("plot", name, plots())
    if not names:
        raise unknown_name("plot", "", plots())
    return frozenset(names)


def _plot(index: int, seed: int) -> str:
    from slmtok.stories.assemble import plot_name

    return plot_name(index, seed)


def write_stories(
    out: BinaryIO,
    n_bytes: int,
    *,
    seed: int = 0,
    plots: Collection[str] | None = None,
    progress: Callable[[str, int, int], object] | None = None,
) -> int:
    """Write stories as UTF-8, one blank line between them, until `n_bytes` bytes are reached; return their number.

    With `plots`, stories that tell one of them alone.

    The last story is cut after its last sentence that fits, so at most `n_bytes` are written; the rest, shorter than
    a sentence, stays unused. `progress` is called as `progress("stories", bytes_done, n_bytes)` now and then.
    Raises `InvalidOption` (a ValueError) for a negative size, `WrongType`, `UnknownName`.
    """
    from slmtok.checks import check_int
    from slmtok.stories.assemble import cut_at_sentence

    n_bytes = check_int("n_bytes", n_bytes)
    done = number = 0
    for text in stories(seed=seed, plots=plots):
        gap = b"\n" if number else b""
        data = gap + text.encode("utf-8")
        last = done + len(data) > n_bytes
        if last:
            kept = cut_at_sentence(text, n_bytes - done - len(gap))
            data = gap + kept.encode("utf-8") if kept else b""
        out.write(data)
        done += len(data)
        number += bool(data)
        if progress is not None and (last or number % 256 == 0):
            progress("stories", done, n_bytes)
        if last:
            break
    return number
