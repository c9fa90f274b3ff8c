"""`TrainReport`: what a training run saw and made, as numbers. Whoever shows it decides how."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slmtok.aliases import Token
    from slmtok.schemes import Learned
    from slmtok.tokenizer import Tokenizer
    from slmtok.training.counts import PretokenCounts


@dataclass(frozen=True, kw_only=True)
class TrainReport:
    """One training run. Times in seconds, sizes in bytes; nothing in here ends up in the tokenizer file."""

    scheme: str
    pattern: str
    files: int
    documents: int
    bytes: int
    invalid_bytes: int
    invalid_documents: int
    first_invalid: tuple[str | None, int, int] | None
    """(file, document in it, byte in that) of the first byte that is not UTF-8."""
    gap_pieces: int
    gap_bytes: int
    capped_documents: int
    capped_bytes: int
    skipped_records: int
    sampled_documents: int
    """Documents that `sample` left out."""
    complete: bool
    """False where `max_bytes` or `max_chars` ended the reading."""
    pieces: int
    distinct: int
    n_vocab: int
    learned: int
    """Merges (or tokens, for schemes without merges)."""
    required: int
    refused: tuple[tuple[Token, str, int], ...]
    """(token, option that refused it, count)."""
    next_count: int
    last_count: int
    """How often the last merge's pair occurred when it was chosen."""
    bytes_per_token: float | None
    """On `sample_bytes` of the corpus, spread over all of it; the corpus itself is counted whole."""
    sample_bytes: int
    first_tokens: tuple[Token, ...]
    longest_tokens: tuple[Token, ...]
    count_seconds: float
    learn_seconds: float
    peak_memory: int | None
    """Most memory that the process has held, None where the system does not tell."""
    memory_limit: int | None
    """What counting was allowed."""
    merge_memory: int | None
    """What the merge loop was expected to need before it started; None for schemes without one."""
    spills: int
    """Tables that did not fit into memory while counting, and went to temporary files."""
    spilled_bytes: int
    counts_sha256: str
    corpus_digest: str | None
    fingerprint: str

    def to_dict(self) -> dict[str, object]:
        """All of it with values that JSON can hold; tokens as text with escapes."""
        content = dataclasses.asdict(self)
        for key in ("first_tokens", "longest_tokens"):
            content[key] = [readable(token) for token in content[key]]
        content["refused"] = [[readable(token), option, count] for token, option, count in self.refused]
        return content


def readable(token: bytes) -> str:
    """A token for people: text where it is text, escapes where it is not."""
    return token.decode("utf-8", "backslashreplace")


def first_invalid(counts: PretokenCounts) -> tuple[str | None, int, int] | None:
    """(file, document in it, byte in that) of the first byte that is no UTF-8, where the corpus was read just now."""
    found = counts.native.first_invalid
    return None if found is None else (*counts.stats.locate(found[0]), found[1])


def make_report(
    counts: PretokenCounts,
    tokenizer: Tokenizer,
    learned: Learned,
    *,
    learn_seconds: float,
    peak_memory: int | None,
    listed: int = 10,
) -> TrainReport:
    """The report of a run that took `learn_seconds` after counting, and at its end had held `peak_memory` bytes."""
    native = counts.native
    tokens = [token for _, token in tokenizer.vocabulary.items()][256:]
    sample = counts.stats.sample.kept
    return TrainReport(
        scheme=tokenizer.scheme,
        pattern=tokenizer.pattern.name or tokenizer.pattern.regex,
        files=len(counts.stats.files),
        documents=counts.documents,
        bytes=counts.bytes,
        invalid_bytes=counts.totals.invalid_bytes,
        invalid_documents=counts.totals.invalid_documents,
        first_invalid=first_invalid(counts),
        gap_pieces=counts.totals.gap_pieces,
        gap_bytes=counts.totals.gap_bytes,
        capped_documents=counts.totals.capped_documents,
        capped_bytes=counts.totals.capped_bytes,
        skipped_records=counts.totals.skipped_records,
        sampled_documents=counts.stats.skipped.sampled,
        complete=counts.stats.complete,
        pieces=counts.pieces,
        distinct=counts.distinct,
        n_vocab=tokenizer.n_vocab,
        learned=len(tokens),
        required=learned.required,
        refused=learned.refused,
        next_count=learned.next_count,
        last_count=learned.counts[-1] if learned.counts else 0,
        bytes_per_token=bytes_per_token(tokenizer, sample),
        sample_bytes=sum(map(len, sample)),
        first_tokens=tuple(tokens[:listed]),
        longest_tokens=tuple(_longest(tokens, listed)),
        count_seconds=counts.seconds,
        learn_seconds=learn_seconds,
        peak_memory=peak_memory,
        memory_limit=counts.memory,
        merge_memory=counts.merge_memory if tokenizer.scheme == "bpe" else None,
        spills=native.spills[0],
        spilled_bytes=native.spills[1],
        counts_sha256=counts.sha256,
        corpus_digest=counts.stats.corpus_digest,
        fingerprint=tokenizer.fingerprint,
    )


def _longest(tokens: list[bytes], number: int) -> list[bytes]:
    """The longest first, equally long ones in their order. Only those that may be listed are compared as bytes."""
    least = min(sorted(map(len, tokens), reverse=True)[:number], default=0)
    long = [token for token in tokens if len(token) >= least]
    return sorted(long, key=lambda token: (-len(token), token))[:number]


def bytes_per_token(tokenizer: Tokenizer, texts: list[bytes]) -> float | None:
    """Bytes of the texts over ids of the texts, None for no text."""
    ids = sum(len(tokenizer.encode_list(text)) for text in texts)
    return sum(map(len, texts)) / ids if ids else None
