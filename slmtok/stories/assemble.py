"""From a plot to the text of a story: which plot, which beats, paragraphs, capitals, articles and spacing."""

from __future__ import annotations

import hashlib
import re
from random import Random

from slmtok.stories.morphology import fix_articles
from slmtok.stories.plots import plots
from slmtok.stories.world import World

_PARAGRAPH_RATE = 0.4
_SPACES = re.compile(r" {2,}")
_BEFORE_MARK = re.compile(r" +([,.!?])")
_SENTENCE_START = re.compile(r'(?:^|(?<=\n)|(?<=[.!?] )|(?<=[.!?]" )|(?<=[,:] (?=")))"?[a-z]')
_SENTENCE_END = re.compile(r'[.!?]"?(?=\s)')


def derive_seed(*parts: object) -> int:
    """Return a 64-bit seed that depends on the parts alone, whatever the platform or hash seed."""
    digest = hashlib.sha256(":".join(map(str, parts)).encode("ascii")).digest()
    return int.from_bytes(digest[:8], "big")


def plot_name(index: int, seed: int) -> str:
    """Return the plot of a story: each block of as many stories as there are plots tells every plot once."""
    names = list(plots())
    block, offset = divmod(index, len(names))
    rand = Random(derive_seed("plots", seed, block)).random
    for last in range(len(names) - 1, 0, -1):
        other = int(rand() * (last + 1))
        names[last], names[other] = names[other], names[last]
    return names[offset]


def tell(index: int, seed: int) -> str:
    """Return the finished story `index` of the stream of `seed`."""
    return tell_plot(plot_name(index, seed), derive_seed("story", seed, index))


def tell_plot(name: str, seed: int) -> str:
    """Tell one plot with the chances of `seed`; the text ends with a newline."""
    plot = plots()[name]
    world = World(seed, plot.kinds, plot.frames)
    text = ""
    for beat in plot.beats:
        if world.rand() >= beat.chance:
            continue
        gap = " "
        if world.rand() < _PARAGRAPH_RATE:
            gap, world.focus = "\n", ""
        text += (gap if text else "") + world.pick(beat.lines)(world)
    return polish(text) + "\n"


def polish(text: str) -> str:
    """Mend spacing, choose a or an, and capitalise sentences and quotations.

    A `~` keeps the letter after it small: it marks what follows a quotation that ends in ! or ?.
    """
    text = _BEFORE_MARK.sub(r"\1", _SPACES.sub(" ", text)).replace(" \n", "\n").strip()
    text = _SENTENCE_START.sub(lambda match: match.group().upper(), fix_articles(text))
    return text.replace("~", "")


def cut_at_sentence(text: str, n_bytes: int) -> str:
    """Return the longest prefix of whole sentences that, with its newline, takes at most `n_bytes` bytes of UTF-8."""
    best = ""
    for match in _SENTENCE_END.finditer(text):
        part = text[: match.end()] + "\n"
        if len(part.encode("utf-8")) > n_bytes:
            break
        if part.count('"') % 2 == 0:
            best = part
    return best
