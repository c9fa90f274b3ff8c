"""Adapters of all measured engines and their registry `ENGINES`. To add one: an `Engine` and one line there.

An engine that encodes one text a call is a function from a vocabulary to that call; a trainer is a function, too.

Packages are imported inside methods, so a peer that is not installed affects no other. Versions are those that the
adapters are written for.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from slmtok.bench.engine import (
    Call,
    Engine,
    SingleTextEngine,
    Trainer,
    UnsupportedError,
    encoding_name,
    flatten,
)
from slmtok.bench.source import read_ranks
from slmtok.specials import N_SPECIALS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok import Ragged
    from slmtok.bench.source import Source

OPENAI = {"cl100k_base": "cl100k_base", "o200k_base": "o200k_base"}
"""The encodings that bpe-openai, quicktok and rs-bpe carry with them."""


class Slmtok(Engine):
    """slmtok: batches into a `Ragged`; trains with the options of the imitated trainers."""

    form = "array"

    def load(self, source: Source) -> None:
        import slmtok

        if source.tokenizer:
            self.tokenizer = slmtok.load(source.tokenizer)
        else:
            self.tokenizer = slmtok.from_tiktoken(source.ranks, pattern=source.pattern or source.regex, specials={})
        self.shift = source.shift

    def encode(self, documents: Sequence[str], threads: int) -> Ragged:
        return self.tokenizer.encode_batch(documents, threads=threads)

    def ids(self, encoded: Ragged) -> NDArray[np.uint32]:
        return self.to_array(encoded.ids)

    def to_array(self, ids: Any) -> NDArray[np.uint32]:
        import numpy as np

        wide: NDArray[np.uint32] = np.array(ids, dtype=np.uint32)
        wide -= self.shift
        return wide

    def list_call(self) -> Call:
        return self.tokenizer.encode_list

    def numpy_call(self) -> Call:
        return self.tokenizer.encode

    def train(self, corpus: Path, vocab_size: int, pattern: str, threads: int) -> list[bytes]:
        import slmtok

        tokenizer = slmtok.train(
            str(corpus),
            vocab_size=vocab_size,
            pattern=pattern,
            min_count=1,
            max_token_bytes=0,
            threads=threads,
            allow_smaller=True,
        )
        return [token for _, token in tokenizer.vocabulary.items()][256:]


class Gigatoken(Engine):
    """gigatoken: encodes with tiktoken's ranks; trains with the GPT-2 pattern; keeps a table of pieces between calls.

    Its Unicode tables are of version 17, so ids can differ from tiktoken's on rare text.
    """

    form = "object"

    def load(self, source: Source) -> None:
        # It imports these at the first batch; that time belongs to loading.
        _module("awkward")
        _module("numpy.ma")
        pattern = encoding_name({name: name for name in ("gpt2", "cl100k", "o200k")}, source)
        self.tokenizer = _module("gigatoken").Tokenizer.from_tiktoken(source.ranks, pattern, {})

    def encode(self, documents: Sequence[str], threads: int) -> Any:
        return self.tokenizer.encode_batch(list(documents), parallel=threads != 1)

    def ids(self, encoded: Any) -> NDArray[np.uint32]:
        return self.to_array(_module("awkward").flatten(encoded))

    def list_call(self) -> Call:
        encode = self.tokenizer.encode
        return lambda text: encode(text).tolist()

    def numpy_call(self) -> Call:
        return self.tokenizer.encode  # type: ignore[no-any-return]

    def train(self, corpus: Path, vocab_size: int, pattern: str, threads: int) -> list[bytes]:
        gigatoken = _module("gigatoken")
        if pattern != "gpt2":
            raise UnsupportedError(f"trains with the GPT-2 pattern, not with {pattern}")
        source = gigatoken.TextFileSource([str(corpus)])
        _, merges = gigatoken.train_bpe(source, vocab_size - N_SPECIALS, [], tie_breaking="raw_token_ids")
        return [left + right for left, right in merges]


class _FlatBytesEngine(Engine):
    """An engine whose flat batch call returns the bytes of a uint32 array."""

    form = "array"
    tokenizer: Any

    def encode(self, documents: Sequence[str], threads: int) -> Any:
        return self.tokenizer.encode_batch_flat(list(documents))

    def ids(self, encoded: Any) -> NDArray[np.uint32]:
        import numpy as np

        return np.frombuffer(encoded[0], dtype=np.uint32)


class Fastokens(_FlatBytesEngine):
    """fastokens: encodes with tiktoken's ranks and any regex."""

    def load(self, source: Source) -> None:
        native = _module("fastokens._native").Tokenizer
        self.tokenizer = native.from_tiktoken(source.ranks, pattern=source.regex, special_tokens={})

    def list_call(self) -> Call:
        encode = self.tokenizer.encode
        return lambda text: encode(text).ids

    def numpy_call(self) -> Call:
        return lambda text: self.ids(self.tokenizer.encode_batch_flat([text]))


class Splintr(_FlatBytesEngine):
    """splintr (splintr-rs on the package index): encodes with tiktoken's ranks.

    Its regex engine has no possessive quantifiers, so named patterns are its own and a custom one loses them.
    """

    patterns = {"gpt2": "GPT2_PATTERN", "cl100k": "CL100K_BASE_PATTERN", "o200k": "O200K_BASE_PATTERN"}  # noqa: RUF012
    possessive = re.compile(r"(?<!\\)([+*?]|\{\d+(?:,\d*)?\})\+")

    def load(self, source: Source) -> None:
        splintr = _module("splintr")
        own = self.patterns.get(source.pattern)
        regex = getattr(splintr, own) if own else self.possessive.sub(r"\1", source.regex)
        self.tokenizer = splintr.Tokenizer(source.ranks, regex, {})

    def list_call(self) -> Call:
        return self.tokenizer.encode_ordinary  # type: ignore[no-any-return]

    def numpy_call(self) -> Call:
        import numpy as np

        encode = self.tokenizer.encode_flat
        return lambda text: np.frombuffer(encode(text), dtype=np.uint32)


class Quicktok(Engine):
    """quicktok (quicktok-v1 on the package index): two encodings with hand-written scanners and tables of its own."""

    form = "array"

    def load(self, source: Source) -> None:
        self.tokenizer = _module("quicktok").get_encoding(encoding_name(OPENAI, source))

    def encode(self, documents: Sequence[str], threads: int) -> Any:
        return self.tokenizer.encode_batch(documents, threads=threads)

    def ids(self, encoded: Any) -> NDArray[np.uint32]:
        return self.to_array(encoded[0])

    def list_call(self) -> Call:
        return self.tokenizer.encode_ordinary  # type: ignore[no-any-return]


class Tiktoken(Engine):
    """tiktoken: the oracle of encoding. Its batch call is a pool of Python threads; one thread encodes in a loop."""

    form = "list"

    def load(self, source: Source) -> None:
        ranks = read_ranks(source.ranks)
        self.encoding = _module("tiktoken").Encoding(
            source.name, pat_str=source.regex, mergeable_ranks=ranks, special_tokens={}
        )

    def encode(self, documents: Sequence[str], threads: int) -> Any:
        if threads == 1:
            return [self.encoding.encode_ordinary(document) for document in documents]
        return self.encoding.encode_ordinary_batch(list(documents), num_threads=threads or os.cpu_count() or 1)

    def list_call(self) -> Call:
        return self.encoding.encode_ordinary  # type: ignore[no-any-return]

    def numpy_call(self) -> Call:
        return partial(self.encoding.encode_to_numpy, disallowed_special=())


class Tokenizers(Engine):
    """Hugging Face tokenizers: reads the vocabulary as a `tokenizer.json`; trains with its `BpeTrainer`.

    `encode_batch` uses all cores unless TOKENIZERS_PARALLELISM, read before the first call, says otherwise.
    """

    form = "object"
    tie_break = "hf"

    def load(self, source: Source) -> None:
        self.tokenizer = _module("tokenizers").Tokenizer.from_file(source.json)

    def encode(self, documents: Sequence[str], threads: int) -> Any:
        self._set_parallelism(threads)
        # The fast call computes no offsets.
        return self.tokenizer.encode_batch_fast(list(documents), add_special_tokens=False)

    def ids(self, encoded: Any) -> NDArray[np.uint32]:
        return flatten([document.ids for document in encoded])

    def list_call(self) -> Call:
        encode = self.tokenizer.encode
        return lambda text: encode(text, add_special_tokens=False).ids

    def train(self, corpus: Path, vocab_size: int, pattern: str, threads: int) -> list[bytes]:
        from slmtok.formats.hf import oniguruma
        from slmtok.token_text import unicode_to_bytes

        tokenizers = _module("tokenizers")
        self._set_parallelism(threads)
        steps = tokenizers.pre_tokenizers
        tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
        split = steps.Split(tokenizers.Regex(oniguruma(_regex(pattern))), behavior="isolated")
        tokenizer.pre_tokenizer = steps.Sequence([split, steps.ByteLevel(add_prefix_space=False, use_regex=False)])
        alphabet = steps.ByteLevel.alphabet()
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=vocab_size - N_SPECIALS, initial_alphabet=alphabet, show_progress=False
        )
        tokenizer.train_from_iterator([_text(corpus)], trainer)
        byte_of = unicode_to_bytes()
        ids = tokenizer.get_vocab()
        return [bytes(byte_of[character] for character in name) for name in sorted(ids, key=ids.__getitem__)][256:]

    def _set_parallelism(self, threads: int) -> None:
        os.environ["TOKENIZERS_PARALLELISM"] = "false" if threads == 1 else "true"


def kitoken(source: Source) -> Call:
    """kitoken: reads tiktoken's published rank files, and any other vocabulary as a `tokenizer.json`."""
    native = _module("kitoken").Kitoken
    if source.name == "own":
        return native.from_tokenizers_file(source.json).encode  # type: ignore[no-any-return]
    return native.from_tiktoken_file(source.ranks).encode  # type: ignore[no-any-return]


def wordchipper(source: Source) -> Call:
    """wordchipper: tiktoken's public encodings, from a cache folder; a missing file would be downloaded.

    The rank file is copied into that folder, so nothing is downloaded.
    """
    if source.name not in ("r50k_base", "cl100k_base", "o200k_base"):
        raise UnsupportedError("has no call for a vocabulary in a file")
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "openai" / source.name
        cache.mkdir(parents=True)
        shutil.copyfile(source.ranks, cache / f"{source.name}.tiktoken")
        os.environ["WORDCHIPPER_CACHE_DIR"] = folder
        return _module("wordchipper").Tokenizer.from_pretrained(source.name).encode  # type: ignore[no-any-return]


def tokie(source: Source) -> Call:
    """tokie: reads a `tokenizer.json`. One text at a time, because its batch call always uses all cores."""
    encode = _module("tokie").Tokenizer.from_json(source.json).encode
    return lambda text: encode(text, add_special_tokens=False).ids


def riptoken(source: Source) -> Call:
    """riptoken: encodes with tiktoken's ranks and any regex."""
    tokenizer = _module("riptoken").CoreBPE(read_ranks(source.ranks), {}, source.regex)
    return tokenizer.encode_ordinary  # type: ignore[no-any-return]


def bpe_openai(source: Source) -> Call:
    """bpe-openai: the linear algorithm of rust-gems, for two encodings that it carries with it."""
    tokenizer = _module("bpe_openai").get_encoding(encoding_name(OPENAI, source))
    return tokenizer.encode_ordinary  # type: ignore[no-any-return]


def rs_bpe(source: Source) -> Call:
    """rs-bpe: the linear algorithm of rust-gems, for two encodings that it carries with it."""
    return getattr(_module("rs_bpe.bpe").openai, encoding_name(OPENAI, source))().encode  # type: ignore[no-any-return]


class Iree(Engine):
    """iree-tokenizer: reads rank files of tiktoken's encodings by name; other ranks take the name of their pattern."""

    form = "array"

    def load(self, source: Source) -> None:
        names = {"gpt2": "r50k_base", "cl100k": "cl100k_base", "o200k": "o200k_base"}
        tokenizer = _module("iree.tokenizer").Tokenizer
        self.tokenizer = tokenizer.from_tiktoken(source.ranks, encoding_name(names, source))

    def encode(self, documents: Sequence[str], threads: int) -> Any:
        if threads != 1:
            raise UnsupportedError("encodes on one thread")
        return self.tokenizer.encode_batch_to_array(list(documents))

    def ids(self, encoded: Any) -> NDArray[np.uint32]:
        return self.to_array(encoded[0])

    def list_call(self) -> Call:
        return self.tokenizer.encode  # type: ignore[no-any-return]

    def numpy_call(self) -> Call:
        return self.tokenizer.encode_to_array  # type: ignore[no-any-return]


def rustbpe(corpus: Path, n_ids: int, pattern: str, threads: int) -> list[bytes]:
    """rustbpe: a trainer with 32-bit counts."""
    trainer = _module("rustbpe").Tokenizer()
    trainer.train_from_iterator(iter([_text(corpus)]), n_ids, pattern=_regex(pattern))
    return [bytes(token) for token, _ in trainer.get_mergeable_ranks()][256:]


def bpeasy(corpus: Path, n_ids: int, pattern: str, threads: int) -> list[bytes]:
    """bpeasy: a trainer with the tie-break rule of rustbpe."""
    # It has no option for unlimited token length; no corpus has a token of 1 MiB.
    ranks = _module("bpeasy").train_bpe(iter([_text(corpus)]), _regex(pattern), 1 << 20, n_ids)
    return sorted(ranks, key=ranks.__getitem__)[256:]


def ffbpe(corpus: Path, n_ids: int, pattern: str, threads: int) -> list[bytes]:
    """ffbpe: a trainer with 64-bit counts. Its encoder reads only its own merge files and is left out."""
    library = _module("ffbpe")
    counter = library.PreTokenizer([], pat_str=_regex(pattern)).word_counter()
    counter.add_source([_text(corpus)])
    trainer = library.BpeTrainer([], unit="byte", initial_alphabet="raw", tie_break="smallest_pair_id")
    trainer.add_word_counter(counter)
    trainer.train(n_ids)
    tokens = trainer.validate_model().vocab
    return sorted(tokens, key=tokens.__getitem__)[256:]


def sentencepiece(corpus: Path, n_ids: int, pattern: str, threads: int) -> list[bytes]:
    """SentencePiece: BPE over characters with byte fallback, another algorithm, so its merges are not compared.

    It reads lines and skips lines above a limit; the limit is set above every line.
    """
    with tempfile.TemporaryDirectory() as folder:
        _module("sentencepiece").SentencePieceTrainer.train(
            input=str(corpus),
            model_prefix=str(Path(folder) / "model"),
            vocab_size=n_ids + N_SPECIALS,
            model_type="bpe",
            byte_fallback=True,
            normalization_rule_name="identity",
            num_threads=threads,
            max_sentence_length=1 << 24,
            input_sentence_size=0,
            minloglevel=2,
        )
    return []


class Entry(NamedTuple):
    """A registered engine: what makes its adapter, the version of its package, whether it encodes."""

    adapter: Callable[[], Engine]
    version: str
    encodes: bool = True


ENGINES: dict[str, Entry] = {
    "slmtok": Entry(Slmtok, ""),
    "gigatoken": Entry(Gigatoken, "0.10.0"),
    "fastokens": Entry(Fastokens, "0.3.5"),
    "splintr-rs": Entry(Splintr, "0.22.0"),
    "quicktok-v1": Entry(Quicktok, "0.4.0"),
    "tiktoken": Entry(Tiktoken, "0.14.0"),
    "tokenizers": Entry(Tokenizers, "0.23.3"),
    "kitoken": Entry(partial(SingleTextEngine, kitoken), "0.11.1"),
    "wordchipper": Entry(partial(SingleTextEngine, wordchipper), "0.9.2"),
    "tokie": Entry(partial(SingleTextEngine, tokie), "0.1.4"),
    "riptoken": Entry(partial(SingleTextEngine, riptoken), "0.2.4"),
    "bpe-openai": Entry(partial(SingleTextEngine, bpe_openai), "0.1.4"),
    "rs-bpe": Entry(partial(SingleTextEngine, rs_bpe), "0.1.0"),
    "iree-tokenizer": Entry(Iree, "0.3.0"),
    "rustbpe": Entry(partial(Trainer, rustbpe), "0.1.0", encodes=False),
    "bpeasy": Entry(partial(Trainer, bpeasy), "0.1.6", encodes=False),
    "ffbpe": Entry(partial(Trainer, ffbpe), "0.1.10", encodes=False),
    "sentencepiece": Entry(partial(Trainer, sentencepiece, tie_break=None), "0.2.3", encodes=False),
}
"""By the name of the package on the package index."""


def engine(name: str) -> Engine:
    """The engine of this name. Using it raises ImportError if its package is not installed."""
    return ENGINES[name].adapter()


def installed_version(name: str) -> str | None:
    """The version of a package in this environment; None if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _module(name: str) -> Any:
    """A peer's module, which has no types. Raises ImportError."""
    return import_module(name)


def _text(corpus: Path) -> str:
    """The text of a file with its line ends unchanged."""
    return corpus.read_bytes().decode()


def _regex(pattern: str) -> str:
    """The regex of a named pattern, for peers that take one."""
    from slmtok._engine import Pattern

    return Pattern(pattern).regex
