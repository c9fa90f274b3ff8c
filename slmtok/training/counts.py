"""`PretokenCounts`: how often each piece occurs in a corpus, which is all that training needs of it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from slmtok._engine import UNICODE_VERSION, Counts
from slmtok.training.counts_head import Totals
from slmtok.training.ingest import CorpusStats

if TYPE_CHECKING:
    from fractions import Fraction

    from slmtok.aliases import Progress, Token
    from slmtok.schemes import TieBreak
    from slmtok.tokenizer import Tokenizer


@dataclass(frozen=True, eq=False)
class DomainCounts:
    """The counts of one named part of a corpus; the name is "" for documents of no named domain."""

    name: str
    documents: int
    bytes: int
    native: Counts


@dataclass(frozen=True, eq=False)
class PretokenCounts:
    """Counts of one corpus under one pattern, with what was seen while reading. Immutable.

    Made by `slmtok.count`, `PretokenCounts.load` and `slmtok.merge_counts`.
    """

    native: Counts
    """The sum of all domains, each times its weight."""
    stats: CorpusStats = field(default_factory=CorpusStats)
    scheme: str = "bpe"
    options: Mapping[str, Any] = field(default_factory=dict)
    """The options of reading and counting, as the tokenizer file records them."""
    seconds: float = 0.0
    memory: int | None = None
    """Bytes that counting was allowed, None for no limit."""
    parts: tuple[DomainCounts, ...] = ()
    """The domains by name; empty where there is the unnamed one alone."""
    totals_read: Totals | None = None
    """What a file says of the corpus; None where the corpus was counted here."""
    lineage: tuple[str, ...] = ()
    """Digests of the files whose counts these are; empty where the corpus was counted here."""
    least: int = 1
    """Pieces that occurred less often were pruned; 1 where none were."""
    pruned: tuple[int, int] = (0, 0)
    """(different pieces, pieces) that pruning left out."""
    scale: int = 1
    """What every count was multiplied by, so that weights are exact: see `mixed`."""

    def __len__(self) -> int:
        """Number of distinct pieces."""
        return self.native.distinct

    def __repr__(self) -> str:
        return (
            f"PretokenCounts({self.documents} documents, {self.bytes} bytes, {self.distinct} distinct of "
            f"{self.pieces} pieces)"
        )

    @cached_property
    def totals(self) -> Totals:
        """What was counted, in documents, bytes and so on."""
        if self.totals_read is not None:
            return self.totals_read
        native = self.native
        return Totals(
            native.documents,
            native.bytes,
            native.invalid_bytes,
            native.invalid_documents,
            native.gap_pieces,
            native.gap_bytes,
            native.capped_documents,
            native.capped_bytes,
            self.stats.skipped.records,
        )

    @property
    def documents(self) -> int:
        """Documents that were counted, empty ones included."""
        return self.totals.documents

    @property
    def bytes(self) -> int:
        """Bytes that were counted."""
        return self.totals.bytes

    @property
    def pieces(self) -> int:
        """Pieces in all, repeats included."""
        return self.native.pieces

    @property
    def distinct(self) -> int:
        """Different pieces."""
        return self.native.distinct

    @property
    def domains(self) -> tuple[DomainCounts, ...]:
        """The domains by name, at least one."""
        return self.parts or (DomainCounts("", self.documents, self.bytes, self.native),)

    @property
    def spills(self) -> int:
        """How often a table did not fit into memory and was written to a temporary file."""
        return self.native.spills[0]

    @property
    def merge_memory(self) -> int:
        """About how many bytes learning merges from these counts will take, besides the counts themselves."""
        return self.native.merge_memory

    def items(self) -> list[tuple[Token, int]]:
        """(piece, count), sorted by piece."""
        return self.native.items()

    @cached_property
    def sha256(self) -> str:
        """Digest (hex) of pattern and counts, independent of threads and of the order of documents.

        Over: one line of JSON with the pattern's regex, Unicode version and, if they are named, the domains; then for
        each domain the number of pieces, u64; the length of each piece, u32; its count, u64; all pieces joined.
        Little-endian, domains and pieces in their sorted order.
        """
        head: dict[str, Any] = {"regex": self.native.pattern.regex, "unicode": UNICODE_VERSION}
        if self.parts:
            head["domains"] = [part.name for part in self.parts]
        digest = hashlib.sha256(json.dumps(head, sort_keys=True, ensure_ascii=False).encode() + b"\n")
        for part in self.domains:
            digest.update(part.native.distinct.to_bytes(8, "little"))
            part.native.columns(digest.update)
        return digest.hexdigest()

    def mixed(
        self, mix: Mapping[str, Fraction | float | str] | None = None, *, temperature: float | str | None = None
    ) -> PretokenCounts:
        """The same with weights for its domains: `slmtok.training.mixing`. Raises `UnknownName`, `OptionError`."""
        from slmtok.training.mixing import mixed

        return mixed(self, mix, temperature)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> str:
        """Writes a counts file whole or not at all and gives its digest. Raises `OutputExists`, `DiskFull`."""
        from slmtok.training.counts_file import save

        return save(self, path, force=force)

    @staticmethod
    def load(*paths: str | os.PathLike[str], allow_duplicate: bool = False) -> PretokenCounts:
        """Counts from one file or the sum of several. Raises `CorruptFile`, `OptionError` where they differ."""
        from slmtok.training.counts_file import load

        return load(paths, allow_duplicate=allow_duplicate)

    def train_sizes(self, sizes: Iterable[int], **options: Any) -> list[Tokenizer]:
        """Tokenizers of several sizes from one run, each the same as from a run of its own; options as in `train`."""
        from slmtok.training.options import TrainOptions, required
        from slmtok.training.sizes import train_sizes

        progress = options.pop("progress", None)
        options["require"] = required(options.get("require", ()))
        listed = list(sizes)
        made = train_sizes(self, TrainOptions(scheme=self.scheme, vocab=max(listed), **options), listed, progress)
        return [one.tokenizer for one in made]

    def train(
        self,
        vocab: int | None = None,
        *,
        ties: TieBreak = "rank",
        min_count: int = 2,
        max_token_bytes: int = 64,
        max_token_chars: int = 0,
        forbid_regex: str | None = None,
        require: Iterable[str | Token] = (),
        special: Mapping[str, str] | None = None,
        allow_smaller: bool = False,
        mix: Mapping[str, Fraction | float | str] | None = None,
        temperature: float | str | None = None,
        progress: Progress | None = None,
    ) -> Tokenizer:
        """A tokenizer from these counts; arguments and errors as in `slmtok.train`.

        mix, temperature: weights for domains, see `mixed`.
        """
        from slmtok.specials import role_spellings
        from slmtok.training.options import TrainOptions, required
        from slmtok.training.run import learn

        options = TrainOptions(
            vocab=vocab,
            scheme=self.scheme,
            ties=ties,
            min_count=min_count,
            max_token_bytes=max_token_bytes,
            max_token_chars=max_token_chars,
            forbid_regex=forbid_regex,
            require=required(require),
            special=role_spellings(special),
            allow_smaller=allow_smaller,
            mix=mix or {},
            temperature=temperature,
        )
        return learn(self, options, progress)[0]
