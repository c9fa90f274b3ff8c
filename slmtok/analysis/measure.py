"""Metrics of tokenizers on one text: bytes per token, tokens per word, Rényi efficiency, unused ids.

Tokens are counted in the encoded text; metrics of words use the strings of `slmtok.analysis.strings`, each encoded
alone. Rényi efficiency (Zouhar et al., 2023, order 2.5) is reported but not used for ranking: intrinsic metrics do not
decide which model is better.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slmtok.analysis.documents import check_documents, check_named, documents_meant
from slmtok.analysis.strings import ClassCosts, Collector, Strings, Variants, ratio, variants
from slmtok.batching import batched
from slmtok.calls import explains_calls
from slmtok.errors import OptionError, Setting
from slmtok.indexing import explains_indexing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.aliases import Progress
    from slmtok.tokenizer import Tokenizer
    from slmtok.training import PretokenCounts

BATCH_BYTES = 4 << 20
PIECES_PER_BATCH = 1 << 20
RENYI_ORDER = 2.5


@explains_indexing
@dataclass(frozen=True)
class Text:
    """The size of the text; `domain_bytes` in the order of the domains."""

    documents: int
    bytes: int
    words: int
    domain_bytes: tuple[int, ...]


@explains_indexing
@dataclass(frozen=True)
class Metrics:
    """The metrics of one tokenizer. Shares are between 0 and 1."""

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
    counts: NDArray[np.int64] = field(compare=False, repr=False)
    """How often each id occurs, [domains, n_vocab]; one row without domains."""

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


@explains_calls
def measure(
    tokenizers: Sequence[tuple[str, Tokenizer]],
    documents: Iterable[tuple[bytes, int]],
    *,
    domains: int = 0,
    threads: int = 0,
    progress: Progress | None = None,
) -> tuple[Text, list[Metrics]]:
    """Encodes (document, index of its domain) with all tokenizers, in one pass with bounded memory.

    Raises `WrongType`, and `OptionError` for the index of no domain.
    """
    import numpy as np

    tokenizers = check_named(tokenizers, f"measure({{}}, {documents_meant(documents)})")
    collector, class_costs = Collector(threads), [ClassCosts() for _ in tokenizers]

    def spell(strings: Strings) -> None:
        for (_, tokenizer), sums in zip(tokenizers, class_costs, strict=True):
            sums.add(strings, strings.lengths(tokenizer, threads))

    used = [np.zeros((max(1, domains), tokenizer.n_vocab), dtype=np.int64) for _, tokenizer in tokenizers]
    sizes = np.zeros(max(1, domains), dtype=np.int64)
    n = 0
    named = "tokenizers" if len(tokenizers) != 1 else f"[({tokenizers[0][0]!r}, tok)]"
    pairs = check_documents(documents, f"measure({named}, {{}})", max(1, domains), int)
    for batch in batched(pairs, BATCH_BYTES, lambda document: len(document[0])):
        texts, where = [bytes(text) for text, _ in batch], [domain for _, domain in batch]
        for part in collector.add(texts):
            spell(part)
        np.add.at(sizes, where, [len(text) for text in texts])
        for (_, tokenizer), counts in zip(tokenizers, used, strict=True):
            rows = tokenizer.encode_batch(texts, threads=threads)
            for domain in sorted(set(where)):
                of_domain = rows.ids[np.repeat(np.equal(where, domain), rows.lengths())]
                counts[domain] += np.bincount(of_domain, minlength=tokenizer.n_vocab)
        n += len(texts)
        if progress is not None:
            progress("measure", int(sizes.sum()), 0)
    spell(collector.strings())
    words = class_costs[0].words if class_costs else 0
    text = Text(n, int(sizes.sum()), words, tuple(sizes.tolist()) if domains else ())
    found = [
        _measured(name, tokenizer, counts, text, sums)
        for (name, tokenizer), counts, sums in zip(tokenizers, used, class_costs, strict=True)
    ]
    return text, found


def measure_counts(
    tokenizers: Sequence[tuple[str, Tokenizer]], counts: PretokenCounts, *, threads: int = 0
) -> tuple[Text, list[Metrics]]:
    """As `measure`, on the text that was counted, with its domains.

    Raises `OptionError` for a tokenizer whose pattern is not that of the counts, under which the sums would be others.
    """
    import numpy as np

    tokenizers = check_named(tokenizers, "measure_counts({}, counts)")
    check_pattern(counts, *(tokenizer for _, tokenizer in tokenizers))
    class_costs = [ClassCosts() for _ in tokenizers]
    used = [np.zeros((len(counts.domains), tokenizer.n_vocab), dtype=np.int64) for _, tokenizer in tokenizers]
    for index, domain in enumerate(counts.domains):
        items = domain.native.items()
        for start in range(0, len(items), PIECES_PER_BATCH):
            strings = Strings.of(items[start : start + PIECES_PER_BATCH])
            for (_, tokenizer), sums, row in zip(tokenizers, class_costs, used, strict=True):
                rows = tokenizer.encode_batch(strings.strings, threads=threads)
                lengths = rows.lengths()
                sums.add(strings, lengths)
                np.add.at(row[index], rows.ids, np.repeat(strings.counts, lengths))
    words = class_costs[0].words if class_costs else 0
    text = Text(counts.documents, counts.bytes, words, tuple(domain.bytes for domain in counts.parts))
    found = [
        _measured(name, tokenizer, row, text, sums)
        for (name, tokenizer), row, sums in zip(tokenizers, used, class_costs, strict=True)
    ]
    return text, found


def _measured(
    name: str,
    tokenizer: Tokenizer,
    counts: NDArray[np.int64],
    text: Text,
    class_costs: ClassCosts,
) -> Metrics:
    used = counts.sum(axis=0)
    total = int(used.sum())
    unused = tuple(token for id, token in tokenizer.vocabulary.items() if not used[id])
    return Metrics(
        name,
        tokenizer.n_vocab,
        tokenizer.fingerprint,
        total,
        ratio(text.bytes, total),
        ratio(class_costs.tokens[0], text.words),
        ratio(class_costs.single, text.words),
        renyi_efficiency(used, sum(1 for _ in tokenizer.vocabulary.items())),
        unused,
        variants(token for _, token in tokenizer.vocabulary.items()),
        class_costs.bytes_per_token(),
        tuple(ratio(a, b) for a, b in zip(text.domain_bytes, counts.sum(axis=1).tolist(), strict=False)),
        counts,
    )


def renyi_efficiency(used: NDArray[np.int64], size: int, order: float = RENYI_ORDER) -> float:
    """Rényi entropy of the id frequencies divided by log(size): 1 if all are equal, 0 with less than two ids."""
    import numpy as np

    shares = used[used > 0] / max(int(used.sum()), 1)
    if len(shares) < 2 or size < 2:
        return 0.0
    return float(np.log2((shares**order).sum()) / (1 - order) / np.log2(size))


def check_pattern(counts: PretokenCounts, *tokenizers: Tokenizer) -> None:
    """Raises `OptionError` unless the counts have the pattern of each tokenizer."""
    pattern = counts.native.pattern
    for tokenizer in tokenizers:
        if tokenizer.pattern.regex != pattern.regex:
            raise OptionError(
                "the counts have another pattern than the tokenizers",
                where=f"counts: {pattern.name or pattern.regex}; {tokenizer!r}",
                limit="pretokens can be compared where all have one pattern",
                fix=("name the text itself with ", Setting("on")),
                option="on",
            )
