"""Tokenizers of several sizes from one run: the largest is learned, the others are its prefixes.

Ids never move and merges come in learning order, so the prefix is what training to that size gives, byte for byte. The
one thing that looks ahead is `require`, whose tokens take the last ids: with it each size has a run of its own.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from slmtok.aliases import Progress
from slmtok.specials import FIRST_LEARNED
from slmtok.tokenizer import Tokenizer
from slmtok.training.api import Trained
from slmtok.training.counts import PretokenCounts
from slmtok.training.options import TrainOptions
from slmtok.training.run import learn

if TYPE_CHECKING:
    from slmtok.schemes import Learned


def train_sizes(
    counts: PretokenCounts, options: TrainOptions, sizes: Sequence[int], progress: Progress | None = None
) -> list[Trained]:
    """One tokenizer for each of `sizes`, in their order; `options.vocab` does not matter. Raises as `learn`."""
    largest = max(sizes)
    begun = time.perf_counter()
    tokenizer, learned = learn(counts, replace(options, vocab=largest), progress)
    seconds = time.perf_counter() - begun
    made: list[Trained] = []
    for size in sizes:
        if size == largest:
            one = tokenizer, learned
        elif options.require:
            one = learn(counts, replace(options, vocab=size), progress)
        else:
            one = _prefix(tokenizer, learned, size)
        made.append(Trained(one[0], counts, one[1], seconds))
    return made


def _prefix(tokenizer: Tokenizer, learned: Learned, size: int) -> tuple[Tokenizer, Learned]:
    """What a run to `size` ids would have given."""
    vocabulary = tokenizer.vocabulary.slice(min(size, tokenizer.n_vocab))
    small = Tokenizer(vocabulary, options={**tokenizer.options, "vocab": size}, provenance=tokenizer.provenance)
    if learned.merges:
        made = len(vocabulary.merges)
        next_count = learned.counts[made] if made < len(learned.counts) else learned.next_count
        part = replace(learned, merges=learned.merges[:made], counts=learned.counts[:made], next_count=next_count)
    else:
        made = vocabulary.n_vocab - FIRST_LEARNED
        part = replace(learned, tokens=learned.tokens[:made], counts=learned.counts[:made])
    # A token that was refused had its turn before the last merge if it was more frequent.
    last = part.counts[-1] if part.counts else 0
    return small, replace(part, refused=tuple(one for one in learned.refused if one[2] > last), result=None)
