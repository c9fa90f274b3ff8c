"""Data of a command by path: packed data, a file of ids, or text. Only text needs slmtok, which is imported for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from slmmodel.data.opening import RunData, open_source
from slmmodel.data.source import TokenSource
from slmmodel.vocab import VocabMeta


def is_text(path: str) -> bool:
    """Whether a path is a corpus: neither a packed folder nor a file of ids."""
    location = Path(path)
    if location.is_dir():
        ids = ["manifest.json", *(f"{split}{suffix}" for split in ("train", "val") for suffix in (".bin", ".npy"))]
        return not any((location / name).is_file() for name in ids)
    return path.startswith("hf:") or (location.is_file() and location.suffix not in (".bin", ".npy"))


def open_any(path: str, split: str, vocab: VocabMeta, tokenizer: Path | None) -> TokenSource:
    """A split of ids, or of a corpus with the tokenizer of a run. Raises what opening and reading raise."""
    if tokenizer is None or not is_text(path):
        return open_source(path, split, vocab=vocab)
    from slmmodel.cli.text import Text
    from slmmodel.cli.text_source import Corpus, TextSource

    corpus = Corpus(Text(tokenizer, vocab), [path])
    return TextSource(corpus, vocab, split, corpus.split("auto"))


@contextmanager
def text_or_packed(path: str, tokenizer: str | None, val: str | None) -> Iterator[RunData | None]:
    """Training data of a corpus with a tokenizer; None without a tokenizer: then `path` is packed data.

    `val` is `auto` (None), `none`, or other packed data or corpora. Raises what reading raises.
    """
    if tokenizer is None:
        yield None
        return
    from slmmodel.cli.text_source import text_data

    own = val in (None, "auto", "none")
    with text_data([path], tokenizer, val=val or "auto" if own else "none") as data:
        if not own:
            data = replace(data, val=open_any(str(val), "val", data.vocab, Path(tokenizer)))
        yield data
