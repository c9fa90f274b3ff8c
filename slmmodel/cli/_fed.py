"""What a run, or packed data, feeds to a model: the loader with the settings of training, and the tokenizer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slmmodel.data.loader import Loader
    from slmmodel.vocab import VocabMeta

CONTEXT, ROWS = 128, 16


@dataclass(frozen=True)
class Feeding:
    """How rows are made. None leaves a setting to the run, or to its default."""

    context: int | None = None
    rows: int | None = None
    pack: str | None = None
    positions: str | None = None
    seed: int | None = None


def loader_of(path: str, split: str, asked: Feeding) -> tuple[Loader, VocabMeta, Path | None]:
    """The loader of a run (as it trains) or of packed data, the vocabulary, and the tokenizer file where there is one.

    Raises what opening raises, and `InvalidOption` for settings that a run has fixed.
    """
    from slmmodel.data.loader import Loader
    from slmmodel.data.opening import open_source

    folder = Path(path)
    source = open_source(folder, split)
    loader = Loader(
        source,
        source.vocab,
        context=CONTEXT if asked.context is None else asked.context,
        rows_per_step=ROWS if asked.rows is None else asked.rows,
        pack=asked.pack or "concat",
        positions=asked.positions,
        seed=asked.seed or 0,
    )
    tokenizer = folder / "tok.json"
    return loader, source.vocab, tokenizer if tokenizer.is_file() else None
