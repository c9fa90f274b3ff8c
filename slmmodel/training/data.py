"""The data of a run: sources of training and validation ids, the vocabulary that they share, and the tokenizer's file.

Packed data are opened by path; sources that are made elsewhere (text that is tokenized on the fly) are handed in.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from slmmodel.data.opening import open_source
from slmmodel.data.source import TokenSource
from slmmodel.errors import FingerprintMismatch, MissingShards
from slmmodel.vocab import VocabMeta


@dataclass(frozen=True)
class Data:
    """What a run reads. `tokenizer` is copied along and never opened."""

    train: TokenSource
    val: TokenSource | None
    vocab: VocabMeta
    tokenizer: Path | None = None
    vocab_file: Path | None = None
    """The `vocab.json` that is copied into the bundle."""
    name: str = ""
    """What the data were called, for people."""

    @property
    def tokens(self) -> int:
        """Training ids of one epoch; sources of several blocks are taken to be alike block by block."""
        first = int(self.train.block(0).lengths().sum())
        return first * (self.train.n_blocks or 1)


def open_data(train: str, val: str = "auto") -> Data:
    """Packed data by path. `val` is `auto` (the split `val` of the same data, where it has one), `none`, or a path.

    Raises what opening raises, and `FingerprintMismatch` where the two were made with different tokenizers.
    """
    source = open_source(train, "train")
    held = _validation(train, val)
    vocab = source.vocab
    if held is not None and held.vocab.fingerprint != vocab.fingerprint:
        raise FingerprintMismatch(
            "training and validation data were made with different tokenizers",
            where=f"{train} has {vocab.fingerprint[:8]}…, {val} has {held.vocab.fingerprint[:8]}…",
            fix="pack the validation text with the tokenizer of the training data",
        )
    folder = Path(train)
    tokenizer, vocab_file = folder / "tok.json", folder / "vocab.json"
    return Data(
        source,
        held,
        vocab,
        tokenizer if tokenizer.is_file() else None,
        vocab_file if vocab_file.is_file() else None,
        train,
    )


def _validation(train: str, val: str):  # type: ignore[no-untyped-def]
    if val == "none":
        return None
    if val != "auto":
        try:
            return open_source(val, "val")
        except MissingShards:
            return open_source(val, "train")
    try:
        return open_source(train, "val")
    except MissingShards:
        return None
