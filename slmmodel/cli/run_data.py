"""Data of a command by path: packed data, a file of ids, or text. Only text needs slmtok, which is imported for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from slmmodel.cli.text import Text
from slmmodel.data.opening import RunData, open_source
from slmmodel.data.source import TokenSource

if TYPE_CHECKING:
    from slmmodel.checkpoint import RunFolder


def is_text(path: str) -> bool:
    """Whether a path is a corpus: neither a packed folder nor a file of ids."""
    location = Path(path)
    if location.is_dir():
        ids = ["manifest.json", *(f"{split}{suffix}" for split in ("train", "val") for suffix in (".bin", ".npy"))]
        return not any((location / name).is_file() for name in ids)
    return path.startswith("hf:") or (location.is_file() and location.suffix not in (".bin", ".npy"))


def open_any(path: str, split: str, of: RunFolder | RunData) -> TokenSource:
    """A split of ids, or of a corpus with the tokenizer of a run or its data. Raises what opening and reading raise."""
    if of.tokenizer is None or not is_text(path):
        return open_source(path, split, vocab=of.vocab)
    from slmmodel.cli.text_source import Corpus, TextSource

    corpus = Corpus(Text(of.tokenizer, of.vocab), [path])
    return TextSource(corpus, of.vocab, split, corpus.split("auto"))


def open_text(path: str, tokenizer: str | Path | None, val: str | None) -> RunData | None:
    """Training data of a corpus with a tokenizer; None without a tokenizer: then `path` is packed data.

    `val` is `auto` (None), `none`, or other packed data or corpora. Raises what reading raises.
    """
    if tokenizer is None:
        return None
    from slmmodel.cli.text_source import text_data

    if val in (None, "auto", "none"):
        return text_data([path], tokenizer, val=val or "auto")
    data = text_data([path], tokenizer, val="none")
    return replace(data, val=open_any(val, "val", data))
