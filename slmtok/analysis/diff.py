"""Differences of two tokenizers: vocabularies, learning order, boundaries on a text, and the ids that strings cost.

Boundaries are byte positions, so vocabularies and patterns may differ. On text each document is encoded; on counts each
piece with its count as weight, which is exact for the corpus if the patterns are those of the counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from slmtok.analysis.documents import check_documents
from slmtok.analysis.measure import check_pattern
from slmtok.analysis.strings import ClassCosts, Collector, Strings
from slmtok.analysis.token_classes import main_class
from slmtok.batching import batched
from slmtok.calls import explains_calls
from slmtok.indexing import explains_indexing
from slmtok.token_text import escape_token
from slmtok.tokenizer import check_tokenizer
from slmtok.training import PretokenCounts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.aliases import Progress
    from slmtok.tokenizer import Tokenizer

Token = bytes
BATCH_BYTES = 4 << 20
PIECES_PER_BATCH = 1 << 20


@explains_indexing
@dataclass(frozen=True)
class Vocabularies:
    """The number of shared tokens, and the tokens of only one vocabulary in the order of its ids."""

    shared: int
    only_a: tuple[Token, ...]
    only_b: tuple[Token, ...]


@explains_indexing
@dataclass(frozen=True)
class Order:
    """The learning order of tokens of two or more bytes.

    first: (position, token of a, token of b) of the first difference; None if there is none. median_move, largest_move:
    the distance between the positions of shared tokens; farthest: the token with the largest.
    """

    first: tuple[int, Token | None, Token | None] | None
    median_move: int
    largest_move: int
    farthest: Token | None

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        place, *tokens = self.first or (0, None, None)
        a, b = map(_word, tokens)
        return {
            "first": None if self.first is None else {"place": place, "a": a, "b": b},
            "median_move": self.median_move,
            "largest_move": self.largest_move,
            "farthest": _word(self.farthest),
        }


def _word(token: Token | None) -> str | None:
    return None if token is None else escape_token(token)


@explains_indexing
@dataclass
class Boundaries:
    """The boundaries of both tokenizers on a text. Ends of documents do not count."""

    boundaries_a: int = 0
    boundaries_b: int = 0
    shared: int = 0
    pieces: int = 0
    pieces_alike: int = 0
    tokens_a: int = 0
    tokens_b: int = 0
    bytes: int = 0

    @property
    def alike(self) -> bool:
        """Whether all boundaries are equal."""
        return self.boundaries_a == self.boundaries_b == self.shared

    def bytes_per_token(self) -> dict[str, float]:
        """Of each tokenizer."""
        return {"a": self.bytes / max(self.tokens_a, 1), "b": self.bytes / max(self.tokens_b, 1)}

    def __add__(self, other: Boundaries) -> Boundaries:
        return Boundaries(*(one + two for one, two in zip(astuple(self), astuple(other), strict=True)))

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "bytes": self.bytes,
            "pieces": self.pieces,
            "pieces_alike": self.pieces_alike,
            "boundaries_a": self.boundaries_a,
            "boundaries_b": self.boundaries_b,
            "boundaries_shared": self.shared,
            "tokens_a": self.tokens_a,
            "tokens_b": self.tokens_b,
        }


@explains_indexing
@dataclass(frozen=True)
class Cost:
    """A string with different numbers of ids, encoded alone: `extra` is (b's ids - a's ids) * count."""

    string: Token
    count: int
    ids_a: int
    ids_b: int

    @property
    def extra(self) -> int:
        """Additional ids of b for all occurrences."""
        return (self.ids_b - self.ids_a) * self.count

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        string = escape_token(self.string)
        return {"string": string, "count": self.count, "a": self.ids_a, "b": self.ids_b, "extra": self.extra}


def identity(a: Tokenizer, b: Tokenizer) -> dict[str, tuple[Any, Any]]:
    """Field -> (value of a, value of b)."""
    facts = [
        {
            "scheme": tok.scheme,
            "pattern": tok.pattern.name or tok.pattern.regex,
            "layout": tok.vocabulary.layout,
            "n_vocab": tok.n_vocab,
            "specials": dict(tok.specials.spellings),
            "options": tok.options,
            "fingerprint": tok.fingerprint,
        }
        for tok in (a, b)
    ]
    return {name: (value, facts[1][name]) for name, value in facts[0].items()}


def vocabularies(a: Tokenizer, b: Tokenizer) -> Vocabularies:
    """Shared tokens, and the tokens of only one vocabulary."""
    of_a = [token for _, token in a.vocabulary.items()]
    of_b = [token for _, token in b.vocabulary.items()]
    in_a, in_b = set(of_a), set(of_b)
    return Vocabularies(
        len(in_a & in_b),
        tuple(token for token in of_a if token not in in_b),
        tuple(token for token in of_b if token not in in_a),
    )


def order(a: Tokenizer, b: Tokenizer) -> Order:
    """The first difference of the learning orders, and the distances of shared tokens."""
    of_a, of_b = _learned(a), _learned(b)
    pairs = enumerate(zip_longest(of_a, of_b))
    first = next(((place, one, other) for place, (one, other) in pairs if one != other), None)
    position_in_b = {token: place for place, token in enumerate(of_b)}
    moves = sorted(
        (abs(place - position_in_b[token]), token) for place, token in enumerate(of_a) if token in position_in_b
    )
    if not moves:
        return Order(first, 0, 0, None)
    largest, farthest = moves[-1]
    return Order(first, moves[len(moves) // 2][0], largest, farthest if largest else None)


def _learned(tokenizer: Tokenizer) -> list[Token]:
    return [token for _, token in tokenizer.vocabulary.items() if len(token) > 1]


def same_ids(a: Tokenizer, b: Tokenizer) -> bool:
    """Whether tokens, merges, scheme and pattern are equal, so that all ids are."""
    if a.fingerprint == b.fingerprint:
        return True
    x, y = (
        (each.scheme, each.pattern.regex, each.token_table, each.layout, each.merges)
        for each in (a.vocabulary, b.vocabulary)
    )
    return x == y


# --- boundaries ---


def add_texts(cuts: Boundaries, a: Tokenizer, b: Tokenizer, texts: Sequence[bytes], threads: int = 0) -> None:
    """Adds documents. Pieces are those of a's pattern."""
    import numpy as np

    from slmtok.patterns import compile_pattern

    split = compile_pattern(a.pattern).split
    bases = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    found_a, found_b = (_boundaries(tok, texts, threads) for tok in (a, b))
    differing = np.setxor1d(found_a, found_b, assume_unique=True)
    for text, base in zip(texts, bases.tolist(), strict=False):
        ends = split(text).astype(np.int64) + base
        between = np.searchsorted(differing, ends[1:], "right") - np.searchsorted(differing, ends[:-1], "left")
        cuts.pieces += len(ends) - 1
        cuts.pieces_alike += int((between == 0).sum())
    inner = len({int(base) for base in bases[1:]} - {0})
    cuts.boundaries_a += len(found_a) - inner
    cuts.boundaries_b += len(found_b) - inner
    cuts.shared += len(np.intersect1d(found_a, found_b, assume_unique=True)) - inner
    cuts.tokens_a += len(found_a)
    cuts.tokens_b += len(found_b)
    cuts.bytes += int(bases[-1])


def add_pieces(
    cuts: Boundaries, a: Tokenizer, b: Tokenizer, items: Sequence[tuple[bytes, int]], threads: int = 0
) -> None:
    """Adds pieces with their counts."""
    import numpy as np

    texts = [piece for piece, _ in items]
    counts = np.array([count for _, count in items], dtype=np.int64)
    sizes = np.array([len(piece) for piece in texts], dtype=np.int64)
    found_a, found_b = (_boundaries(tok, texts, threads) for tok in (a, b))
    ends = np.cumsum(sizes)

    def weighted(positions: NDArray[np.int64]) -> int:
        return int(counts[np.searchsorted(ends, positions, "left")].sum())

    differing = np.setxor1d(found_a, found_b, assume_unique=True)
    apart = np.unique(np.searchsorted(ends, differing, "left"))
    total = int(counts.sum())
    cuts.pieces += total
    cuts.pieces_alike += total - int(counts[apart].sum())
    cuts.tokens_a += weighted(found_a)
    cuts.tokens_b += weighted(found_b)
    cuts.boundaries_a += weighted(found_a) - total
    cuts.boundaries_b += weighted(found_b) - total
    cuts.shared += weighted(np.intersect1d(found_a, found_b, assume_unique=True)) - total
    cuts.bytes += int((counts * sizes).sum())


def _boundaries(tokenizer: Tokenizer, texts: Sequence[bytes], threads: int) -> NDArray[np.int64]:
    """Where tokens end, in bytes of all texts together, ascending."""
    import numpy as np

    rows = tokenizer.encode_batch(texts, threads=threads)
    return np.cumsum(tokenizer.byte_lengths()[rows.ids], dtype=np.int64)


MAX_STRINGS = 1 << 20


class TokenCosts:
    """Sums by class, and the strings with different numbers of ids in two tokenizers.

    Sums are exact for a text of any size. At most `MAX_STRINGS` strings are kept, those with the largest difference, so
    a string that is rare in every part of a very large text may be missing.
    """

    def __init__(self, a: Tokenizer, b: Tokenizer, threads: int = 0) -> None:
        self._a, self._b, self._threads = a, b, threads
        self._costs = (ClassCosts(), ClassCosts())
        self._found: dict[bytes, Cost] = {}

    def add(self, strings: Strings) -> None:
        """Adds strings with their counts."""
        lengths = [strings.lengths(tokenizer, self._threads) for tokenizer in (self._a, self._b)]
        for costs, ids in zip(self._costs, lengths, strict=True):
            costs.add(strings, ids)
        for at in (lengths[0] != lengths[1]).nonzero()[0].tolist():
            string = strings.strings[at]
            before = self._found.get(string)
            count = int(strings.counts[at]) + (before.count if before else 0)
            self._found[string] = Cost(string, count, int(lengths[0][at]), int(lengths[1][at]))
        if len(self._found) > 2 * MAX_STRINGS:
            heaviest = sorted(self._found.values(), key=lambda cost: (-abs(cost.extra), cost.string))
            self._found = {cost.string: cost for cost in heaviest[:MAX_STRINGS]}

    def costs(self) -> list[Cost]:
        """The strings with different numbers of ids, largest additional cost of b first."""
        return sorted(self._found.values(), key=lambda cost: (-cost.extra, cost.string))

    def classes(self) -> dict[str, tuple[float, float]]:
        """Bytes per token of each class of strings, (a, b)."""
        of_a, of_b = (costs.bytes_per_token() for costs in self._costs)
        return {name: (of_a[name], of_b[name]) for name in of_a}


# --- all of it ---


@explains_indexing
@dataclass(frozen=True)
class Comparison:
    """Two tokenizers compared. `cuts` and `costs` are those of a text, one of `cuts` a domain; none without a text."""

    a: Tokenizer
    b: Tokenizer
    domains: Sequence[str]
    cuts: Sequence[Boundaries]
    costs: TokenCosts

    @property
    def total(self) -> Boundaries:
        """All domains together."""
        return sum(self.cuts, Boundaries())

    @property
    def same(self) -> bool:
        """Whether the tokenizers are equal and, where there is a text, all boundaries on it."""
        return same_ids(self.a, self.b) and self.total.alike

    def to_dict(self, top: int = 50) -> dict[str, Any]:
        """As `--json` prints it, with `top` strings and tokens; `segmentation` and `cost` are None without a text."""
        tokens, total = vocabularies(self.a, self.b), self.total
        segmentation = {
            **total.to_dict(),
            "share_of_pieces_alike": _share(total.pieces_alike, total.pieces),
            "share_of_a_in_b": _share(total.shared, total.boundaries_a),
            "share_of_b_in_a": _share(total.shared, total.boundaries_b),
        }
        facts = identity(self.a, self.b).items()
        return {
            "identity": {name: {"a": x, "b": y, "same": x == y} for name, (x, y) in facts},
            "vocabulary": {
                "shared": tokens.shared,
                "only_a": _tokens_dict(tokens.only_a, top),
                "only_b": _tokens_dict(tokens.only_b, top),
            },
            "order": order(self.a, self.b).to_dict(),
            "segmentation": segmentation if self.cuts else None,
            "cost": self._cost_dict(top) if self.cuts else None,
        }

    def _cost_dict(self, top: int) -> dict[str, Any]:
        costs = self.costs.costs()
        by_domain = zip(self.domains, self.cuts, strict=False)
        return {
            "bytes_per_token": self.total.bytes_per_token(),
            "by_class": {name: {"a": a, "b": b} for name, (a, b) in self.costs.classes().items()},
            "by_domain": {name: cuts.bytes_per_token() for name, cuts in by_domain},
            "b_pays_more": [cost.to_dict() for cost in costs[:top] if cost.extra > 0],
            "a_pays_more": [cost.to_dict() for cost in costs[::-1][:top] if cost.extra < 0],
        }


def _tokens_dict(tokens: Sequence[Token], top: int) -> dict[str, Any]:
    return {
        "n": len(tokens),
        "by_class": dict(sorted(Counter(map(main_class, tokens)).items())),
        "first": [escape_token(token) for token in tokens[:top]],
    }


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


@explains_calls
def compare(
    a: Tokenizer,
    b: Tokenizer,
    on: Iterable[tuple[bytes, int]] | PretokenCounts | None = None,
    *,
    domains: Sequence[str] = (),
    threads: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Compares two tokenizers, also on a text: (document, index of its domain), or counts with the pattern of both.

    domains: their names; without any, every document has the index 0. Raises `OptionError` for another pattern
    and for the index of no domain, `WrongType`.
    """
    costs = TokenCosts(check_tokenizer(a), check_tokenizer(b), threads)
    cuts = [] if on is None else [Boundaries() for _ in domains or ("",)]
    if isinstance(on, PretokenCounts):
        domains, cuts = (), [Boundaries()]
        check_pattern(on, a, b)
        items = on.items()
        for start in range(0, len(items), PIECES_PER_BATCH):
            part = items[start : start + PIECES_PER_BATCH]
            add_pieces(cuts[0], a, b, part, threads)
            costs.add(Strings.of(part))
    elif on is not None:
        collector = Collector(threads)
        limit = "counts, or pairs (bytes, index of the domain)"
        pairs = check_documents(on, "on={}", len(cuts), lambda n: [f"domain {index}" for index in range(n)], limit)
        for domain, documents in groupby(pairs, itemgetter(1)):
            for batch in batched((text for text, _ in documents), BATCH_BYTES):
                add_texts(cuts[domain], a, b, batch, threads)
                for strings in collector.add(batch):
                    costs.add(strings)
                if progress is not None:
                    progress("compare", sum(one.bytes for one in cuts), 0)
        costs.add(collector.strings())
    return Comparison(a, b, domains, cuts, costs)
