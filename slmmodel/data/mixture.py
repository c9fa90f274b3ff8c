"""`Mixture`: streams of documents that are read together, each with a share of the text; and documents made for them.

A `DocumentStream` gives the documents that begin within a range of its text, counted in bytes. Block `i` of a mixture
takes from each stream the bytes from `i` to `i + 1` times its share of a block, so blocks do not depend on one another.
An epoch reads the stream that takes longest once and repeats the others, so that the shares hold.
"""

from __future__ import annotations

import copy
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from slmmodel.data.packing import Ints, prefix_sums
from slmmodel.data.source import Delimiters, DocumentBlock, NoSuchBlockError, Shard, TokenSource, blocks_of
from slmmodel.errors import InvalidConfig, Mismatch
from slmmodel.vocab import VocabMeta

BLOCK_BYTES = 64 << 20
"""Text of a block: the documents that are shuffled together."""


class DocumentStream(ABC):
    """Documents in a fixed order, addressed by the bytes of training text before them; an empty one counts as a byte.

    No delimiters are stored.
    """

    vocab: VocabMeta
    delimiters: Delimiters
    digest: str
    """SHA-256 over everything that decides the documents and their ids."""
    documents_digest: str | None = None
    """As that of `TokenSource`."""
    n_bytes: int | None = None
    """Of the training text; None until its end was read."""

    @abstractmethod
    def between(self, start: int, stop: int) -> list[Shard]:
        """The documents that begin at bytes `start` to `stop - 1`, at any time the same. Sets `n_bytes` at the end."""


class PackedStream(DocumentStream):
    """The documents of packed data."""

    def __init__(self, source: TokenSource) -> None:
        assert source.vocab is not None and source.delimiters is not None
        self.vocab, self.digest, self.documents_digest = source.vocab, source.digest, source.documents_digest
        self._stored = source.delimiters
        self.delimiters = source.delimiters._replace(stores_opening=False, stores_closing=False)
        self._block: DocumentBlock = source.block(0)
        self._starts = prefix_sums(np.maximum(self._block.nbytes(), 1))
        self.n_bytes = int(self._starts[-1])

    def between(self, start: int, stop: int) -> list[Shard]:
        """See `DocumentStream`. Raises `CorruptFile` for invalid ids."""
        first, last = np.searchsorted(self._starts[:-1], (start, stop)).tolist()
        found: list[Shard] = []
        begin = 0
        for number, shard in enumerate(self._block.shards):
            taken = slice(max(first - begin, 0), max(last - begin, 0))
            if len(nbytes := shard.nbytes[taken]):
                self._block.shard(number)  # the first read of a shard checks its ids
                starts = shard.starts[taken].astype(np.int64) + self._stored.stores_opening
                stops = shard.stops[taken].astype(np.int64) - self._stored.stores_closing
                found.append(Shard(shard.ids, starts, stops, nbytes))
            begin += len(shard.nbytes)
        return found


class Component(NamedTuple):
    """A stream of a mixture, the name of its domain, and its weight: a share of the text before all are divided by
    their sum."""

    stream: DocumentStream
    domain: str = ""
    weight: float = 1.0


class Generated(NamedTuple):
    """Documents that are made for each block: `make(block, n_ids)` gives at least `n_ids` ids of them.

    `make` is a pure function whose shard stores no delimiters; `identity` names everything that decides it.
    `share`: of the ids of a block.
    """

    domain: str
    share: float
    make: Callable[[int, int], Shard]
    identity: str


class Mixture(TokenSource):
    """Streams in blocks of `block_bytes`. `repeats`: an epoch repeats all streams but the longest; else none."""

    n_blocks = None
    vocab: VocabMeta
    delimiters: Delimiters
    generated: Generated | None = None

    def __init__(
        self,
        components: Sequence[Component],
        split: str = "train",
        *,
        repeats: bool = True,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        """Raises `Mismatch` for streams of different tokenizers."""
        first, *others = components
        self.vocab, self.delimiters = first.stream.vocab, first.stream.delimiters
        for other in others:
            theirs = other.stream.vocab.fingerprint, other.stream.delimiters
            if theirs != (self.vocab.fingerprint, self.delimiters):
                raise Mismatch(
                    f"the sources {first.domain!r} and {other.domain!r} have different tokenizers or delimiters",
                    where=f"fingerprints {self.vocab.fingerprint[:8]}… and {theirs[0][:8]}…",
                    fix="pack both with one tokenizer and the default delimiters, or name their text",
                )
        self.components, self.split, self._repeats, self._block_bytes = components, split, repeats, block_bytes
        total = sum(each.weight for each in components)
        self.shares = [each.weight / total for each in components]
        self.domain_names = tuple(dict.fromkeys(each.domain for each in components))
        self._starts: Mapping[str, int] = {}

    @property
    def digest(self) -> str:
        """SHA-256 over the streams, their shares, and what decides the made documents."""
        streams = [(each.stream.digest, share) for each, share in zip(self.components, self.shares, strict=True)]
        made = self.generated and (self.generated.share, self.generated.identity)
        return hashlib.sha256(repr([streams, made, self.split, self._repeats, self._block_bytes]).encode()).hexdigest()

    @property
    def documents_digest(self) -> str | None:
        """See `TokenSource`; None where documents are repeated or made."""
        digests = [each.stream.documents_digest for each in self.components]
        known = [int(digest, 16) for digest in digests if digest is not None]
        repeated = self._repeats and len(digests) > 1
        if len(known) < len(digests) or repeated or self.generated is not None:
            return None
        return f"{sum(known) % (1 << 256):064x}"

    def with_generated(self, generated: Generated) -> Mixture:
        """The same streams with these documents."""
        mixture = copy.copy(self)
        mixture.generated, mixture.domain_names = generated, (*self.domain_names, generated.domain)
        return mixture

    def starting_at(self, stream_bytes: Mapping[str, int]) -> Mixture:
        """The same streams, each read from a byte on, by its digest; others from their beginning."""
        mixture = copy.copy(self)
        mixture._starts = stream_bytes
        return mixture

    def stream_bytes(self, block: int) -> dict[str, int]:
        """The byte of each stream at which a block begins, or the epoch ends, by digest."""
        found = [self._begin(number, block) for number in range(len(self.components))]
        if (ends := self._ends()) is not None:
            found = list(map(min, found, ends))
        return {each.stream.digest: begin for each, begin in zip(self.components, found, strict=True)}

    def _begin(self, number: int, block: int) -> int:
        return self._starts.get(self.components[number].stream.digest, 0) + int(
            block * self._block_bytes * self.shares[number]
        )

    def block(self, index: int) -> DocumentBlock:
        """See `TokenSource`. Raises what reading raises, and `InvalidConfig` for a stream without text."""
        ranges = [(self._begin(number, index), self._begin(number, index + 1)) for number in range(len(self.shares))]
        for each, (start, stop) in zip(self.components, ranges, strict=True):
            if each.stream.n_bytes is None:
                each.stream.between(start, stop)  # may find the end, and is kept
        ends = self._ends()
        if ends is not None:
            if index and all(start >= end for (start, _), end in zip(ranges, ends, strict=True)):
                raise NoSuchBlockError(index)
            ranges = [(start, min(stop, end)) for (start, stop), end in zip(ranges, ends, strict=True)]
        shards: list[Shard] = []
        for each, (start, stop) in zip(self.components, ranges, strict=True):
            shards += [self._named(shard, each.domain) for shard in self._read(each.stream, start, stop)]
        if (made := self.generated) is not None:
            n_ids = int(DocumentBlock(shards, self.delimiters).lengths().sum())
            shards.append(self._named(made.make(index, round(n_ids * made.share / (1 - made.share))), made.domain))
        return DocumentBlock(shards, self.delimiters)

    def _ends(self) -> list[int] | None:
        """Where an epoch ends in each stream; None while the end of a stream is not known."""
        sizes = [each.stream.n_bytes for each in self.components]
        known = [size for size in sizes if size is not None]
        if len(known) < len(sizes):
            return None
        if not self._repeats:
            # A validation document behind the training text begins at its end.
            return [size + 1 for size in known]
        if len(known) > 1 and 0 in known:
            domain = self.components[known.index(0)].domain
            raise InvalidConfig(f"the source {domain!r} has no text to train on", fix="leave it out of data.train")
        longest = max(size / share for size, share in zip(known, self.shares, strict=True))
        lengths = [round(longest * share) for share in self.shares]
        return [self._begin(number, 0) + length for number, length in enumerate(lengths)]

    def _read(self, stream: DocumentStream, start: int, stop: int) -> list[Shard]:
        """The documents of a range of a stream; with `repeats`, of its text again and again."""
        if not self._repeats:
            return stream.between(start, stop)
        shards: list[Shard] = []
        while start < stop:
            size = stream.n_bytes
            if size == 0:
                break
            first = start if size is None else start % size
            last = first + stop - start
            shards += stream.between(first, last if size is None else min(last, size))
            if stream.n_bytes is None:
                break
            start += max(min(last, stream.n_bytes) - first, 0)
        return shards

    def _named(self, shard: Shard, domain: str) -> Shard:
        return shard._replace(domains=np.full(len(shard.nbytes), self.domain_names.index(domain), dtype=np.int64))

    def domains(self) -> Ints | None:
        """See `TokenSource`: of all blocks."""
        found = [shard.domains for block in blocks_of(self) for shard in block.shards if shard.domains is not None]
        return np.concatenate([np.empty(0, np.int64), *found]) if len(self.domain_names) > 1 else None
