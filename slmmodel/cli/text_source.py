"""Text that is tokenized during training: a token source whose blocks are read and encoded on demand.

A block is about 64 MiB of consecutive documents and depends on the corpus only. The split is that of `slmtok pack`:
decided on the text of each document, before tokenizing.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from slmmodel.data.source import Frame, FramedDocuments, TokenSource, frame_of
from slmmodel.errors import InvalidPlan
from slmmodel.vocab import VocabMeta

if TYPE_CHECKING:
    from slmmodel.cli.text import Corpus
    from slmmodel.data import RunData
    from slmmodel.data.opening import FileSource

BLOCK_BYTES = 64 << 20
MIN_HASHED_DOCS, MIN_SMALL_SPLIT_DOCS = 20, 1000
Position = tuple[int, int]
"""(source, record)."""


class Split(NamedTuple):
    """Validation documents: parts per million by hash, or those from `first` on; a single one is cut at `cut`."""

    ppm: int = 0
    first: Position | None = None
    cut: int | None = None

    def is_validation(self, position: Position, document: bytes) -> bool:
        """Whether a document is validation. Equal documents have equal hashes, so they are on the same side."""
        if self.first is not None:
            return position >= self.first
        return int.from_bytes(hashlib.sha256(document).digest()[:8], "little") % 1_000_000 < self.ppm


def auto_split(corpus: Corpus) -> Split:
    """The rule `auto` of packing: the tail for fewer than 20 documents, 10 % by hash for fewer than 1000, else 0.5 %.

    Raises `InvalidPlan` for a corpus without documents.
    """
    seen = list(islice(corpus.documents(), MIN_SMALL_SPLIT_DOCS))
    if not seen:
        raise InvalidPlan("the corpus has no document", fix="name files with text in them")
    if len(seen) >= MIN_HASHED_DOCS:
        return Split(ppm=100_000 if len(seen) < MIN_SMALL_SPLIT_DOCS else 5_000)
    if len(seen) == 1:
        (source, record), text = seen[0]
        return Split(first=(source, record + 1), cut=_cut_position(text))
    left = sum(len(text) for _, text in seen) / 10
    index = len(seen)
    while index > 1 and left > 0:
        index -= 1
        left -= len(seen[index][1])
    return Split(first=seen[index][0])


def _cut_position(text: bytes) -> int:
    """90 % of the bytes, moved forward to the start of a character."""
    at = len(text) * 9 // 10
    return next((at + step for step in range(4) if at + step >= len(text) or text[at + step] & 0xC0 != 0x80), at)


class TextSource(TokenSource):
    """One split of a corpus. Block `i` begins where block `i-1` ends; positions are kept, text is not."""

    n_blocks = None
    vocab: VocabMeta
    frame: Frame
    digest = ""

    def __init__(
        self, corpus: Corpus, vocab: VocabMeta, split: str, rule: Split, *, block_bytes: int = BLOCK_BYTES
    ) -> None:
        self.vocab, self.split, self._corpus, self._rule = vocab, split, corpus, rule
        both = frame_of(vocab, stores_opening=True, stores_closing=True)
        self.frame = both._replace(stores_opening=False, stores_closing=False)
        self._block_bytes = block_bytes
        self._starts: list[Position] = [(0, 0)]
        self._ended = False
        content = [corpus.identity(), vocab.fingerprint, split, rule, block_bytes]
        self.digest = hashlib.sha256(repr(content).encode()).hexdigest()

    def block(self, index: int) -> FramedDocuments:
        """Reads and encodes a block. Raises `IndexError` past the last one, and what reading raises."""
        while index >= len(self._starts) and not self._ended:
            self._read(len(self._starts) - 1, None)
        if index >= len(self._starts):
            raise IndexError(index)
        documents: list[bytes] = []
        self._read(index, documents.append)
        ids, offsets = self._corpus.encode(documents)
        bounds = np.asarray(offsets, dtype=np.int64)
        nbytes = np.fromiter(map(len, documents), dtype=np.int64, count=len(documents))
        return FramedDocuments(ids, bounds[:-1], bounds[1:], nbytes, self.frame)

    def _read(self, index: int, keep: Callable[[bytes], None] | None) -> None:
        """Reads a block and records the position of the next one."""
        size = 0
        for position, document in self._documents(self._starts[index]):
            if size >= self._block_bytes:
                if index + 1 == len(self._starts):
                    self._starts.append(position)
                return
            size += len(document)
            if keep is not None and self._rule.is_validation(position, document) == (self.split == "val"):
                keep(document)
        self._ended = True

    def _documents(self, start: Position) -> Iterator[tuple[Position, bytes]]:
        cut = self._rule.cut
        for (source, record), text in self._corpus.documents(start):
            parts = [text] if cut is None else [text[:cut], text[cut:]]
            for step, part in enumerate(parts):
                yield (source, record + step), part


def is_text(path: str) -> bool:
    """Whether a path is a corpus: neither a packed folder nor a file of ids."""
    location = Path(path)
    if location.is_dir():
        ids = ["manifest.json", *(f"{split}{suffix}" for split in ("train", "val") for suffix in (".bin", ".npy"))]
        return not any((location / name).is_file() for name in ids)
    return path.startswith("hf:") or (location.is_file() and location.suffix not in (".bin", ".npy"))


def open_any(path: str, split: str, vocab: VocabMeta, tokenizer: Path | None) -> FileSource | TextSource:
    """A split of ids, or of a corpus with the tokenizer of a run. Raises what opening and reading raise."""
    from slmmodel.data.opening import open_source

    if tokenizer is None or not is_text(path):
        return open_source(path, split, vocab=vocab)
    from slmmodel.cli.text import Corpus, Text

    corpus = Corpus(Text(tokenizer, vocab), [path], {})
    return TextSource(corpus, vocab, split, auto_split(corpus))


@contextmanager
def text_or_packed(path: str, tokenizer: str | None, val: str | None) -> Iterator[RunData | None]:
    """Training data of a corpus with a tokenizer; None without a tokenizer: then `path` is packed data.

    `val` is `auto` (None), `none`, or other packed data or corpora. Raises what reading raises.
    """
    if tokenizer is None:
        yield None
        return
    own = val in (None, "auto", "none")
    with text_data([path], tokenizer, val=val or "auto" if own else "none") as data:
        if not own:
            held = open_any(str(val), "val", data.vocab, None if not is_text(str(val)) else Path(tokenizer))
            data = replace(data, val=held)
        yield data


@contextmanager
def text_data(
    paths: list[str], tokenizer: str, *, val: str = "auto", options: Mapping[str, Any] | None = None
) -> Iterator[RunData]:
    """Training data of text. `val`: `auto` or `none`. Raises what reading raises."""
    from slmmodel.cli.text import Corpus, Text
    from slmmodel.data import RunData

    corpus = Corpus(Text(tokenizer), paths, options or {})
    content = corpus.vocab_json()
    vocab = VocabMeta.parse(content, source=tokenizer)
    rule = Split() if val == "none" else auto_split(corpus)
    held = None if val == "none" else TextSource(corpus, vocab, "val", rule)
    with tempfile.TemporaryDirectory() as folder:
        vocab_file = Path(folder) / "vocab.json"
        vocab_file.write_bytes(content)
        train = TextSource(corpus, vocab, "train", rule)
        yield RunData(train, held, vocab, Path(tokenizer), vocab_file, ", ".join(paths))
