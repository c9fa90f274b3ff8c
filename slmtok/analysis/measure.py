"""Numbers by which tokenizers are held side by side on one text: how few tokens, how even, what for.

Tokens are counted as the text is encoded; what belongs to words and other strings is counted on the strings of
`slmtok.analysis.strings`, each encoded alone. Rényi efficiency (Zouhar et al., 2023, order 2.5) is reported, not ranked
by: intrinsic numbers do not decide which model is better.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slmtok.analysis.strings import CLASSES, Collector, Strings
from slmtok.analysis.variants import Variants, variants

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.aliases import Progress
    from slmtok.tokenizer import Tokenizer

BATCH = 4 << 20
ORDER = 2.5


@dataclass(frozen=True)
class Text:
    """What the text was: bytes by domain are in the order of the domains that were named."""

    documents: int
    bytes: int
    words: int
    domain_bytes: tuple[int, ...]


@dataclass(frozen=True)
class Measured:
    """What a tokenizer made of the text. Shares are between 0 and 1; `used` counts each id, shape (n_vocab,)."""

    name: str
    n_vocab: int
    fingerprint: str
    tokens: int
    bytes_per_token: float
    tokens_per_word: float
    single_token_share: float
    renyi_efficiency: float
    unused: tuple[bytes, ...]
    variants: Variants
    by_class: dict[str, float]
    by_domain: tuple[float, ...]

    def to_dict(self, domains: Sequence[str]) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "name": self.name,
            "n_vocab": self.n_vocab,
            "fingerprint": self.fingerprint,
            "tokens": self.tokens,
            "bytes_per_token": self.bytes_per_token,
            "tokens_per_word": self.tokens_per_word,
            "single_token_share": self.single_token_share,
            "renyi_efficiency": self.renyi_efficiency,
            "unused_ids": len(self.unused),
            "variant_ids": self.variants.extra,
            "variant_words": self.variants.words,
            "bytes_per_token_by_class": self.by_class,
            "bytes_per_token_by_domain": dict(zip(domains, self.by_domain, strict=False)),
        }


class Spelled:
    """Sums over the strings of a text, each spelled alone by one tokenizer: `words` and those of them in a `single` id,
    and by class `tokens` and `bytes`.
    """

    def __init__(self) -> None:
        self.words = self.single = 0
        self.tokens, self.bytes = [0] * len(CLASSES), [0] * len(CLASSES)

    def add(self, strings: Strings, lengths: NDArray[np.int64]) -> None:
        """Takes strings and how many ids each needs, shape (strings,), int64."""
        is_word = strings.classes == 0
        self.words += int(strings.counts[is_word].sum())
        self.single += int(strings.counts[is_word & (lengths == 1)].sum())
        for index in range(len(CLASSES)):
            self.tokens[index] += int((strings.counts * lengths)[strings.classes == index].sum())
            self.bytes[index] += strings.bytes_of_class(index)

    def bytes_per_token(self) -> dict[str, float]:
        """Of each class of strings that the text has."""
        named = zip(CLASSES, self.bytes, self.tokens, strict=True)
        return {name: _ratio(size, tokens) for name, size, tokens in named if tokens}


def measure(
    tokenizers: Sequence[tuple[str, Tokenizer]],
    documents: Iterable[tuple[bytes, int]],
    *,
    domains: int = 0,
    threads: int = 0,
    progress: Progress | None = None,
) -> tuple[Text, list[Measured]]:
    """Encodes documents, each with the index of its domain, with all tokenizers.

    The text is read once; in memory are the different strings of a part of it, and a few megabytes.
    """
    import numpy as np

    collector, spelled = Collector(threads), [Spelled() for _ in tokenizers]

    def spell(strings: Strings) -> None:
        for (_, tokenizer), sums in zip(tokenizers, spelled, strict=True):
            sums.add(strings, strings.lengths(tokenizer, threads))

    used = [np.zeros(tokenizer.n_vocab, dtype=np.int64) for _, tokenizer in tokenizers]
    tokens = [np.zeros(max(1, domains), dtype=np.int64) for _ in tokenizers]
    sizes = np.zeros(max(1, domains), dtype=np.int64)
    n = 0
    for texts, where in _batches(documents):
        for part in collector.add(texts):
            spell(part)
        np.add.at(sizes, where, [len(text) for text in texts])
        for (_, tokenizer), counts, by_domain in zip(tokenizers, used, tokens, strict=True):
            rows = tokenizer.encode_batch(texts, threads=threads)
            counts += np.bincount(rows.ids, minlength=len(counts))
            np.add.at(by_domain, where, rows.lengths())
        n += len(texts)
        if progress is not None:
            progress("measure", int(sizes.sum()), 0)
    spell(collector.strings())
    words = spelled[0].words if spelled else 0
    text = Text(n, int(sizes.sum()), words, tuple(sizes.tolist()) if domains else ())
    found = [
        _measured(name, tokenizer, counts, by_domain, text, sums)
        for (name, tokenizer), counts, by_domain, sums in zip(tokenizers, used, tokens, spelled, strict=True)
    ]
    return text, found


def _batches(documents: Iterable[tuple[bytes, int]]) -> Iterator[tuple[list[bytes], list[int]]]:
    texts: list[bytes] = []
    where: list[int] = []
    size = 0
    for text, domain in documents:
        texts.append(bytes(text))
        where.append(domain)
        size += len(text)
        if size >= BATCH:
            yield texts, where
            texts, where, size = [], [], 0
    if texts:
        yield texts, where


def _measured(
    name: str,
    tokenizer: Tokenizer,
    used: NDArray[np.int64],
    by_domain: NDArray[np.int64],
    text: Text,
    spelled: Spelled,
) -> Measured:
    total = int(used.sum())
    unused = tuple(token for id, token in tokenizer.vocabulary.items() if not used[id])
    return Measured(
        name,
        tokenizer.n_vocab,
        tokenizer.fingerprint,
        total,
        _ratio(text.bytes, total),
        _ratio(spelled.tokens[0], text.words),
        _ratio(spelled.single, text.words),
        renyi_efficiency(used, sum(1 for _ in tokenizer.vocabulary.items())),
        unused,
        variants(token for _, token in tokenizer.vocabulary.items()),
        spelled.bytes_per_token(),
        tuple(_ratio(a, b) for a, b in zip(text.domain_bytes, by_domain.tolist(), strict=False)),
    )


def renyi_efficiency(used: NDArray[np.int64], size: int, order: float = ORDER) -> float:
    """Rényi entropy of how often ids are used, over the logarithm of how many there are: 1 where all are equal."""
    import numpy as np

    total = used.sum()
    if not total or size < 2:
        return 0.0
    shares = used[used > 0] / total
    return float(np.log2((shares**order).sum()) / (1 - order) / np.log2(size))


def _ratio(a: int, b: int) -> float:
    return a / b if b else 0.0
