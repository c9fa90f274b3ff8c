"""Counts for a tokenizer that is there: from counts files, or of text cut by the tokenizer's own pattern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from slmtok.cli import _corpus
from slmtok.corpus import ReadOptions

if TYPE_CHECKING:
    from slmtok.cli._progress import Progress
    from slmtok.tokenizer import Tokenizer
    from slmtok.training import PretokenCounts


def counted(
    tokenizer: Tokenizer, corpus: Sequence[str], read: ReadOptions, reading: Mapping[str, Any], progress: Progress
) -> PretokenCounts:
    """The counts that `corpus` names, or that its text has. Raises as `slmtok.count` and `PretokenCounts.load`."""
    from slmtok.schemes import SCHEMES
    from slmtok.training import PretokenCounts, count
    from slmtok.training.counts_layout import is_counts

    files = _corpus.files(corpus, read)
    if files and all(map(is_counts, files)):
        return PretokenCounts.load(*files)
    own = tokenizer.pattern.regex if SCHEMES[tokenizer.scheme].own_pattern else None
    return count(list(corpus), scheme=tokenizer.scheme, pattern=own, **reading, progress=progress)
