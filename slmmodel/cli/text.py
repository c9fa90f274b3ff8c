"""The text adapter: text to ids and back by slmtok, for the commands. The library `slmmodel` handles ids only."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from slmmodel.errors import FingerprintMismatch, OptionError
from slmmodel.vocab import VocabMeta

if TYPE_CHECKING:
    from slmtok import Tokenizer


MIN_VOCAB_SIZE = 272
"""16 specials and 256 bytes."""
TEXT_BYTES_PER_ID = 30
"""Prose needed per learned id, for an error message: a rough figure for vocabularies of a few thousand ids."""


class Text:
    """A tokenizer file."""

    def __init__(self, path: str | os.PathLike[str], vocab: VocabMeta | None = None) -> None:
        """Loads a tokenizer. Raises `FingerprintMismatch` where `vocab` is of another one."""
        import slmtok

        self.tokenizer: Tokenizer = slmtok.load(path)
        if vocab is not None and vocab.fingerprint != self.tokenizer.fingerprint:
            raise FingerprintMismatch(
                "the tokenizer is not that of these ids",
                where=os.fspath(path),
                limit=f"fingerprints {self.tokenizer.fingerprint[:16]}… and {vocab.fingerprint[:16]}…",
                fix="name the tokenizer that the data was packed with",
            )

    def encode(self, text: str) -> list[int]:
        """The ids of a text without opening and closing specials. The spelling of a special is encoded as text."""
        return [int(id) for id in self.tokenizer.encode(text)]

    def hugging_face_files(self) -> dict[str, bytes]:
        """The tokenizer files of Hugging Face, name to content. Raises `Inexpressible`."""
        from slmtok.formats import hf

        return hf.files(self.tokenizer, "tokenizer")

    def data(self, ids: Iterable[int]) -> bytes:
        """The bytes of these ids; specials, and roles that were appended to a foreign vocabulary, have none."""
        known = self.tokenizer.n_vocab
        return self.tokenizer.decode_bytes([id for id in ids if id < known], skip_special=True)

    def words(self, ids: Iterable[Any]) -> list[str]:
        """Each id as one printable word: spaces, line ends and incomplete characters are escaped."""
        from slmtok.token_text import escape_token

        tokenizer, known = self.tokenizer, self.tokenizer.n_vocab
        return [escape_token(tokenizer.token_bytes(id)) if id < known else f"<{id}>" for id in map(int, ids)]


def baselines(train: list[bytes], held_out: list[bytes]) -> dict[str, Any]:
    """Bits per byte of n-grams and compressors: `slmtok.analysis.baselines`."""
    from slmtok.analysis.baselines import baselines as of_slmtok

    return of_slmtok(train, held_out)


def write_stories(path: Path, size: int, seed: int, plots: Collection[str] | None = None) -> None:
    """Writes generated stories, of all plots or of some, separated by blank lines."""
    from slmtok.stories import write_stories as write

    with path.open("wb") as out:
        write(out, size, seed=seed, plots=plots)


def prepare(corpus: Path, folder: Path, *, vocab: int, separator: str | None = None) -> None:
    """Packs a text into the new folder `folder`, with a tokenizer of `vocab` ids trained on the training split only.

    The split does not depend on the tokenizer, so the text is packed twice: as bytes, to find the training documents,
    and with the tokenizer trained on them. `separator` ends a document; without one the file is one document, and its
    last 10 % are validation. Raises what reading, training and packing raise.
    """
    import slmtok
    from slmtok.errors import CorpusTooSmall
    from slmtok.options import PackOptions
    from slmtok.shards import open_shards, pack

    options = PackOptions(format="text", separator=separator)
    plain = slmtok.train(slmtok.Texts([b"bytes"]), scheme="byte", vocab_size=MIN_VOCAB_SIZE)
    with TemporaryDirectory(prefix="slm-demo-") as place:
        pack(corpus, plain, Path(place) / "bytes", options)
        split = open_shards(Path(place) / "bytes")

        def training() -> Iterator[bytes]:
            for index in range(split.n_docs("train")):
                yield plain.decode_bytes(split.document(index, "train")[1:-1])

        try:
            tokenizer = slmtok.train(slmtok.Texts(training()), vocab_size=vocab)
        except CorpusTooSmall as error:
            raise _too_short(corpus, sum(len(text) for text in training()), vocab, error.fields["supported"]) from None
    pack(corpus, tokenizer, folder, options)


def _too_short(corpus: Path, size: int, vocab: int, most: Any) -> OptionError:
    return OptionError(
        f"the text supports {most:,} ids, and --vocab is {vocab:,}",
        where=f"{str(corpus)!r}: {size:,} bytes of training text",
        limit=f"an id takes about {TEXT_BYTES_PER_ID} bytes of text",
        fix=f"--vocab {most}, or a text of {vocab * TEXT_BYTES_PER_ID:,} bytes and more",
        option="vocab",
    )


class Corpus:
    """Documents of files, folders, parquet and Hugging Face data sets (`hf:NAME`), and their ids."""

    def __init__(self, text: Text, paths: list[str], options: Mapping[str, Any]) -> None:
        """`options` are those of `slmtok.corpus.ReadOptions`. Raises what finding the files raises."""
        from slmtok.corpus import find
        from slmtok.options import ReadOptions

        self._text, self._options = text, ReadOptions(**options)
        self.sources = list(find(paths, self._options))

    def documents(self, start: tuple[int, int] = (0, 0)) -> Iterator[tuple[tuple[int, int], bytes]]:
        """Each document from the position `start` on, with its position: (source, record within it)."""
        from slmtok.corpus import find, read

        first, record = start
        found = find(self.sources[first:], self._options)
        for document in read(found, self._options, whole=True):
            position = (first + document.source, document.record)
            if position >= (first, record):
                yield position, document.text

    def encode(self, documents: list[bytes], threads: int = 1) -> tuple[Any, Any]:
        """Ids of documents without delimiters, concatenated, and their offsets (one more than documents)."""
        rows = self._text.tokenizer.encode_batch(documents, threads=threads)
        return rows.ids, rows.offsets

    def identity(self) -> list[object]:
        """What determines the documents: options, and name, size and a partial digest of each file."""
        from slmtok.shards.plan import source_names, sources

        return [sources(self.sources, source_names(self.sources)), repr(self._options)]

    def vocab_json(self) -> bytes:
        """The `vocab.json` of the tokenizer, with the roles that delimit documents."""
        from slmtok.shards.format import vocabulary_metadata
        from slmtok.vocabulary import render_metadata

        return render_metadata(vocabulary_metadata(self._text.tokenizer))
