"""`PretokenCounts`: how often each piece occurs in a corpus, which is all that training needs of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from slmtok._engine import UNICODE_VERSION, Counts
from slmtok.training.feed import Fed

if TYPE_CHECKING:
    from slmtok.aliases import Progress, Token
    from slmtok.schemes import Ties
    from slmtok.tokenizer import Tokenizer


@dataclass(frozen=True, eq=False)
class PretokenCounts:
    """Counts of one corpus under one pattern, with what was seen while reading. Immutable; made by `slmtok.count`."""

    native: Counts
    fed: Fed = field(default_factory=Fed)
    scheme: str = "bpe"
    options: Mapping[str, Any] = field(default_factory=dict)
    """The options of reading and counting, as the tokenizer file records them."""
    seconds: float = 0.0
    memory: int | None = None
    """Bytes that counting was allowed, None for no limit."""

    def __len__(self) -> int:
        """Number of distinct pieces."""
        return self.native.distinct

    def __repr__(self) -> str:
        return (
            f"PretokenCounts({self.documents} documents, {self.bytes} bytes, {self.distinct} distinct of "
            f"{self.pieces} pieces)"
        )

    @property
    def documents(self) -> int:
        """Documents that were counted, empty ones included."""
        return self.native.documents

    @property
    def bytes(self) -> int:
        """Bytes that were counted."""
        return self.native.bytes

    @property
    def pieces(self) -> int:
        """Pieces in all, repeats included."""
        return self.native.pieces

    @property
    def distinct(self) -> int:
        """Different pieces."""
        return self.native.distinct

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

        Over: one line of JSON with the pattern's regex and Unicode version; the number of pieces, u64; the length of
        each piece, u32; its count, u64; all pieces joined. Little-endian, pieces in their sorted order.
        """
        head = {"regex": self.native.pattern.regex, "unicode": UNICODE_VERSION}
        digest = hashlib.sha256(json.dumps(head, sort_keys=True, ensure_ascii=False).encode() + b"\n")
        digest.update(self.distinct.to_bytes(8, "little"))
        self.native.columns(digest.update)
        return digest.hexdigest()

    def train(
        self,
        vocab: int | None = None,
        *,
        ties: Ties = "rank",
        min_count: int = 2,
        max_token_bytes: int = 64,
        max_token_chars: int = 0,
        forbid_regex: str | None = None,
        require: Iterable[str | Token] = (),
        special: Mapping[str, str] | None = None,
        allow_smaller: bool = False,
        progress: Progress | None = None,
    ) -> Tokenizer:
        """A tokenizer from these counts; arguments and errors as in `slmtok.train`."""
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
        )
        return learn(self, options, progress)[0]
