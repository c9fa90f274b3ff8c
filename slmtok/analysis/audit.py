"""Proof that a tokenizer loses nothing of a text: byte lengths add up, text round-trips, special tokens have length 0.

Byte lengths are those that a model uses, from `vocab.json` if one is given. Each document is checked on its own, so
that two errors cannot cancel. The decoded documents of a packed folder must be those of the text, in any order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slmtok import schema
from slmtok.batching import batched
from slmtok.calls import explains_calls
from slmtok.envelope import BASELINES, TOKENIZER_KEYS, Envelope, load_payload
from slmtok.errors import CorruptFile
from slmtok.id_arrays import decode_batch
from slmtok.indexing import explains_indexing
from slmtok.shards.format import corrupt
from slmtok.shards.reader import check_shards
from slmtok.strict_json import FaultError
from slmtok.tokenizer import check_tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.aliases import Progress, Token
    from slmtok.ragged import Ragged
    from slmtok.shards import Shards
    from slmtok.tokenizer import Tokenizer

BATCH_BYTES = 4 << 20
_MODULUS = 1 << 256


@explains_indexing
@dataclass
class Documents:
    """A multiset of documents: their number, their bytes, the sum of their sha256."""

    documents: int = 0
    bytes: int = 0
    digest: int = 0

    def add(self, text: Token) -> Token:
        """Adds one document; returns its sha256."""
        found = hashlib.sha256(text).digest()
        self.documents += 1
        self.bytes += len(text)
        self.digest = (self.digest + int.from_bytes(found, "big")) % _MODULUS
        return found

    def to_dict(self) -> dict[str, object]:
        """The fields of the audit file."""
        return {"documents": self.documents, "bytes": self.bytes, "corpus_digest": f"{self.digest:064x}"}


@explains_indexing
@dataclass
class Audit:
    """The result of an audit. `checks`: name -> the first fault, None if it passed."""

    text: Documents = field(default_factory=Documents)
    ids: int = 0
    token_bytes: int = 0
    control_ids: int = 0
    checks: dict[str, str | None] = field(default_factory=dict)
    leaked: int | None = None
    """Documents with one of the digests of training; None without these."""

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(fault is None for fault in self.checks.values())

    def record(self, name: str, fault: str | None) -> None:
        """Records a check; the first fault stays."""
        if self.checks.get(name) is None:
            self.checks[name] = fault

    def certificate(self, tokenizer: Tokenizer, baselines: Mapping[str, object] | None = None) -> Envelope:
        """The file of the audit (docs/formats/audit.md). baselines: those of `slmtok.analysis.baselines`."""
        lengths = tokenizer.byte_lengths()
        payload = {
            "verdict": self.passed,
            "tokenizer": {
                "fingerprint": tokenizer.fingerprint,
                "sha256": tokenizer.sha256,
                "n_vocab": tokenizer.n_vocab,
                "pattern": tokenizer.pattern.name or tokenizer.pattern.regex,
                "normalizer": None,
            },
            "text": self.text.to_dict(),
            "ids": self.ids,
            "token_bytes": self.token_bytes,
            "bytes_per_token": round(self.text.bytes / self.ids, 6) if self.ids else None,
            "special_bytes": {role: int(lengths[tokenizer.specials[role]]) for role in tokenizer.specials},
            "control_ids": self.control_ids,
            "checks": {name: {"ok": fault is None, "fault": fault} for name, fault in self.checks.items()},
            "leak": None if self.leaked is None else {"documents": self.leaked, "of": self.text.documents},
            "baselines": baselines,
        }
        inputs = {"tokenizer": tokenizer.sha256, "text": f"{self.text.digest:064x}"}
        return Envelope("audit", inputs, payload)


def _check_result(value: Any, where: str) -> None:
    """One of the checks: it has a fault unless it passed."""
    schema.table({"ok": schema.boolean, "fault": schema.nullable(schema.text)})(value, where)
    if value["ok"] != (value["fault"] is None):
        raise FaultError(f"{where}.ok is {value['ok']}, which contradicts its fault")


def load_certificate(path: str) -> dict[str, Any]:
    """The payload of a certificate, and its `tool`. Raises `CorruptFile`, `UnsupportedVersion`."""
    return load_payload(path, "audit", _PAYLOAD, allow_floats=True)


_TEXT = {"documents": schema.integer(), "bytes": schema.integer(), "corpus_digest": schema.digest}
_PAYLOAD = schema.table(
    {
        "verdict": schema.boolean,
        "tokenizer": schema.table({**TOKENIZER_KEYS, "pattern": schema.text, "normalizer": schema.choice(None)}),
        "text": schema.table(_TEXT),
        "ids": schema.integer(),
        "token_bytes": schema.integer(),
        "bytes_per_token": schema.nullable(schema.number),
        "special_bytes": schema.mapping(schema.integer()),
        "control_ids": schema.integer(),
        "checks": schema.mapping(_check_result),
        "leak": schema.nullable(schema.table({"documents": schema.integer(), "of": schema.integer()})),
        "baselines": schema.nullable(BASELINES),
    }
)


def check_certificate(path: str) -> dict[str, Any]:
    """As `load_certificate`. Raises `CorruptFile` unless it proves that nothing is lost."""
    content = load_certificate(path)
    is_consistent = content["verdict"] == all(check["ok"] for check in content["checks"].values()) and (
        not content["verdict"] or content["token_bytes"] == content["text"]["bytes"]
    )
    if not (is_consistent and content["verdict"]):
        raise CorruptFile(
            f"{path} proves nothing" if is_consistent else f"{path} contradicts itself",
            where=path,
            fix="slmtok audit tok.json --on TEXT shows what is lost",
            path=path,
        )
    return content


@explains_calls
def audit(
    tokenizer: Tokenizer,
    documents: Iterable[bytes],
    *,
    metadata: Mapping[str, Any] | None = None,
    shards: Shards | None = None,
    train_digests: NDArray[np.uint64] | None = None,
    threads: int = 0,
    progress: Progress | None = None,
) -> Audit:
    """Audits a tokenizer on documents.

    metadata: the content of a `vocab.json`, whose byte lengths are used. shards: a packed folder that must hold these
    documents. train_digests: sorted digests of documents that the tokenizer was trained on. Raises `WrongType`.
    """
    check_tokenizer(tokenizer)
    if shards is not None:
        check_shards("shards", shards)
    found, leaked = Audit(), 0
    lengths = _lengths(tokenizer, metadata)
    _check_vocabulary(found, tokenizer, metadata)
    for batch in batched(map(bytes, documents), BATCH_BYTES):
        _check_batch(found, tokenizer, batch, lengths, threads)
        if train_digests is not None:
            leaked += _count_leaked(batch, train_digests)
        if progress is not None:
            progress("audit", found.text.bytes, 0)
    found.leaked = None if train_digests is None else leaked
    fault = f"tokens have {found.token_bytes:,} bytes, the text has {found.text.bytes:,}"
    found.record("totals", None if found.token_bytes == found.text.bytes else fault)
    if shards is not None:
        _check_shards(found, tokenizer, shards, threads, progress)
    return found


def _lengths(tokenizer: Tokenizer, metadata: Mapping[str, Any] | None) -> NDArray[np.int64]:
    """The byte length of each id for a model; at least `n_vocab` of them."""
    import numpy as np

    own = tokenizer.byte_lengths().astype(np.int64)
    if metadata is None:
        return own
    stored = np.array(metadata["byte_lengths"], dtype=np.int64)
    return np.concatenate([stored, np.full(max(0, len(own) - len(stored)), -1)])


def _check_vocabulary(found: Audit, tokenizer: Tokenizer, metadata: Mapping[str, Any] | None) -> None:
    vocabulary = tokenizer.vocabulary
    every = bytes(range(256))
    back = tokenizer.decode_bytes(tokenizer.encode(every))
    found.record("every_byte", None if back == every else f"the 256 bytes come back as {len(back)} others")
    lengths = tokenizer.byte_lengths()
    wrong = [id for id, token in vocabulary.items() if lengths[id] != len(token)]
    found.record("token_lengths", f"id {wrong[0]} has another length than its bytes" if wrong else None)
    nonzero = [token.id for token in vocabulary.specials.tokens if lengths[token.id]]
    found.record("specials_weigh_nothing", f"special id {nonzero[0]} has bytes" if nonzero else None)
    if metadata is not None:
        found.record("metadata", _metadata_fault(tokenizer, metadata))


def _metadata_fault(tokenizer: Tokenizer, metadata: Mapping[str, Any]) -> str | None:
    """The first difference of a `vocab.json`; a packed folder may append special tokens of length 0."""
    own = tokenizer.byte_lengths().tolist()
    stored = metadata["byte_lengths"]
    if metadata["fingerprint"] != tokenizer.fingerprint:
        return f"its fingerprint is {metadata['fingerprint'][:16]}…, the tokenizer's {tokenizer.fingerprint[:16]}…"
    for id, (length, expected) in enumerate(zip(stored, own, strict=False)):
        if length != expected:
            return f"id {id} has {length} bytes there, {expected} in the tokenizer"
    if len(stored) < len(own) or any(stored[len(own) :]):
        return f"it has {len(stored)} byte lengths for {len(own)} ids"
    return None


def _check_batch(
    found: Audit, tokenizer: Tokenizer, batch: list[bytes], lengths: NDArray[np.int64], threads: int
) -> None:
    import numpy as np

    rows = tokenizer.encode_batch(batch, threads=threads)
    sums = np.concatenate([[0], np.cumsum(lengths[rows.ids])])
    per_document = sums[rows.offsets[1:]] - sums[rows.offsets[:-1]]
    sizes = np.array([len(document) for document in batch], dtype=np.int64)
    first = found.text.documents
    off = np.flatnonzero(per_document != sizes)
    fault = None
    if len(off):
        at = int(off[0])
        fault = f"document {first + at} has {sizes[at]:,} bytes, its tokens {per_document[at]:,}"
    found.record("bytes_add_up", fault)
    back = decode_batch(tokenizer._encoder, rows, threads)
    changed = [index for index, (text, again) in enumerate(zip(batch, back, strict=True)) if text != again]
    found.record("round_trip", f"document {first + changed[0]} comes back changed" if changed else None)
    specials = [token.id for token in tokenizer.specials.tokens]
    controls = int(np.isin(rows.ids, specials).sum())
    found.record("no_control_ids", f"{controls} ids of specials came out of text" if controls else None)
    found.control_ids += controls
    found.ids += len(rows.ids)
    found.token_bytes += int(sums[-1])
    for document in batch:
        found.text.add(document)


def _count_leaked(batch: list[bytes], train_digests: NDArray[np.uint64]) -> int:
    """The number of documents with one of these digests."""
    import numpy as np

    if not len(train_digests):
        return 0
    digests = np.array([int.from_bytes(hashlib.sha256(text).digest()[:8], "big") for text in batch], dtype=np.uint64)
    at = np.minimum(np.searchsorted(train_digests, digests), len(train_digests) - 1)
    return int((train_digests[at] == digests).sum())


# --- packed folders ---


def _check_shards(found: Audit, tokenizer: Tokenizer, shards: Shards, threads: int, progress: Progress | None) -> None:
    fault = None
    if shards.fingerprint != tokenizer.fingerprint:
        fault = f"it was packed with {shards.fingerprint[:16]}…, the tokenizer is {tokenizer.fingerprint[:16]}…"
    found.record("data_tokenizer", fault)
    if fault is not None:
        return
    packed, parts = Documents(), []
    is_split = _is_split_document(shards)
    number = 0
    for texts, sizes in packed_documents(tokenizer, shards, shards.splits, threads):
        for text, size in zip(texts, sizes, strict=True):
            if len(text) != size:
                found.record("data_bytes", f"document {number} is recorded with {size:,} bytes, it has {len(text):,}")
            number += 1
            if is_split:
                parts.append(text)
            else:
                packed.add(text)
        if progress is not None:
            progress("audit data", packed.bytes, 0)
    if is_split:
        packed.add(b"".join(parts))
    found.record("data_bytes", None)
    if packed != found.text:
        fault = (
            f"it holds {packed.documents:,} documents with {packed.bytes:,} bytes, "
            f"the text {found.text.documents:,} with {found.text.bytes:,}"
        )
        if (packed.documents, packed.bytes) == (found.text.documents, found.text.bytes):
            fault = "it holds other documents than the text, as many and as long"
    found.record("data_documents", fault)


def _is_split_document(shards: Shards) -> bool:
    """Whether the corpus was one document that packing split into training and validation."""
    plan = shards.manifest.get("plan") or {}
    return (plan.get("split") or {}).get("cut") is not None


def packed_documents(
    tokenizer: Tokenizer, shards: Shards, splits: Sequence[str], threads: int = 0
) -> Iterator[tuple[list[bytes], list[int]]]:
    """(documents without special tokens, their recorded sizes) of some splits of a folder, in batches."""
    import numpy as np

    for split in splits:
        for shard in shards.shards[split]:
            bounds = shard.offsets
            start = 0
            while start < shard.header.n_docs:
                stop = start + 1
                while stop < shard.header.n_docs and int(bounds[stop + 1] - bounds[start]) < BATCH_BYTES:
                    stop += 1
                ends = np.array(bounds[start : stop + 1], dtype=np.int64)
                if (np.diff(ends) < 0).any():
                    # What is mapped reads as zeros behind the end of a file that became shorter.
                    raise corrupt(shard.path("off"), f"it does not ascend at document {start} or behind it")
                rows = _without_specials(tokenizer, shard.ids, ends)
                yield decode_batch(tokenizer._encoder, rows, threads), shard.nbytes[start:stop].tolist()
                start = stop


def _without_specials(tokenizer: Tokenizer, ids: Any, offsets: NDArray[np.int64]) -> Ragged:
    """Documents without special ids, including those that the folder appended."""
    import numpy as np

    from slmtok.ragged import Ragged

    part = np.asarray(ids[offsets[0] : offsets[-1]])
    specials = [token.id for token in tokenizer.specials.tokens]
    kept = ~np.isin(part, specials) & (part < tokenizer.n_vocab)
    counts = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
    return Ragged(part[kept], counts[offsets - offsets[0]])
