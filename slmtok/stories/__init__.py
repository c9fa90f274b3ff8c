"""A seeded generator of simple children's stories of our own writing: the corpus that ships with slmtok.

A story depends only on `(seed, index)`, so access is random and the text is the same on every platform and version of
Python. It comes from a grammar over a large lexicon (docs/guide/stories.md); data files are read at the first story.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterator
from itertools import count
from random import Random
from typing import BinaryIO

from slmtok.calls import explains_calls
from slmtok.checks import check_int
from slmtok.errors import unknown_name
from slmtok.stories import grammar

__all__ = ["stories", "story", "write_stories"]

_MAX_INTEGER = 10**100
_PARAGRAPH_RATE = 0.4
_AN = re.compile(r"\b([Aa]) (?=(?:[aeio](?!ne\b|nce\b)|u(?!ni[cfqv]|se|kul|tensil)|hour|honest)[a-z-]*)", re.IGNORECASE)
_EXTRA_SPACES = re.compile(r" +(?=[ ,.!?\n])")
_SENTENCE_START = re.compile(r'(?:^|(?<=\n)|(?<=[.!?] )|(?<=[.!?]" )|(?<=[,:] (?=")))"?[a-z]')
_SENTENCE_END = re.compile(r'[.!?]"?(?=\s)')


def story(index: int, *, seed: int = 0) -> str:
    """Story number `index` (from 0) of the stream of `seed`; its last line ends with a newline.

    Raises `OptionError` (a ValueError) for a negative index, `WrongType` for a value that is no integer.
    """
    index = check_int("index", index, max=_MAX_INTEGER)
    seed = check_int("seed", seed, -_MAX_INTEGER, _MAX_INTEGER)
    plot = grammar.plots()[plot_name(index, seed)]
    world = grammar.World(_random("story", seed, index), plot)
    text = ""
    for probability, alternatives in plot.beats:
        if world.rand() >= probability:
            continue
        separator = " "
        if world.rand() < _PARAGRAPH_RATE:
            separator, world.focus = "\n", ""
        text += (separator if text else "") + world.pick(alternatives)(world)
    return polish(text) + "\n"


def stories(*, seed: int = 0, plots: Collection[str] | None = None) -> Iterator[str]:
    """The endless stream of stories of `seed`, in order; element i equals `story(i, seed=seed)`.

    With `plots`, only its stories with one of these plots. Raises `UnknownName` for a plot that does not exist.
    """
    for name in () if plots is None else plots or [""]:
        if name not in grammar.plots():
            raise unknown_name("plot", name, grammar.plots())
    for index in count():
        if plots is None or plot_name(index, seed) in plots:
            yield story(index, seed=seed)


@explains_calls
def write_stories(
    out: BinaryIO,
    n_bytes: int,
    *,
    seed: int = 0,
    plots: Collection[str] | None = None,
    progress: Callable[[str, int, int], object] | None = None,
) -> int:
    """Writes stories as UTF-8, separated by a blank line, until `n_bytes` bytes; returns their number.

    The last story is cut after its last sentence that fits, so at most `n_bytes` are written. `plots`: as in `stories`.
    `progress` is called as `progress("stories", bytes_done, n_bytes)` every 256 stories.
    Raises `OptionError` (a ValueError) for a negative size, `WrongType`, `UnknownName`.
    """
    n_bytes = check_int("n_bytes", n_bytes)
    done = number = 0
    for text in stories(seed=seed, plots=plots):
        separator = b"\n" if number else b""
        data = separator + text.encode("utf-8")
        is_last = done + len(data) > n_bytes
        if is_last:
            kept = cut_at_sentence(text, n_bytes - done - len(separator))
            data = separator + kept.encode("utf-8") if kept else b""
        out.write(data)
        done += len(data)
        number += bool(data)
        if progress is not None and (is_last or number % 256 == 0):
            progress("stories", done, n_bytes)
        if is_last:
            break
    return number


def plot_name(index: int, seed: int) -> str:
    """The plot of a story. Each block of as many stories as there are plots is a permutation of all plots."""
    names = list(grammar.plots())
    block, offset = divmod(index, len(names))
    rand = _random("plots", seed, block)
    for last in range(len(names) - 1, 0, -1):
        other = int(rand() * (last + 1))
        names[last], names[other] = names[other], names[last]
    return names[offset]


def _random(*parts: object) -> Callable[[], float]:
    """A random source that depends only on the parts, not on the platform, the hash seed or the version of Python."""
    digest = hashlib.sha256(":".join(map(str, parts)).encode("ascii")).digest()
    return Random(int.from_bytes(digest[:8], "big")).random


def polish(text: str) -> str:
    """Fixes spacing and articles, capitalises sentences and quotations; `~` keeps the next letter lower-case."""
    text = _EXTRA_SPACES.sub("", text).strip()
    text = _SENTENCE_START.sub(lambda match: match.group().upper(), _AN.sub(r"\1n ", text))
    return text.replace("~", "")


def cut_at_sentence(text: str, n_bytes: int) -> str:
    """The longest prefix of whole sentences that, with its newline, has at most `n_bytes` bytes of UTF-8."""
    prefixes = (text[: match.end()] + "\n" for match in _SENTENCE_END.finditer(text))
    whole_ones = (part for part in prefixes if len(part.encode("utf-8")) <= n_bytes and part.count('"') % 2 == 0)
    return max(whole_ones, key=len, default="")
