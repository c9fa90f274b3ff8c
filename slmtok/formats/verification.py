"""Verification of exports and imports: the probe texts, the comparison of ids, and the receipt.

Probes are functions of the tokenizer and of fixed seeds, so that a receipt can be reproduced. Other libraries take
text, not bytes, so invalid UTF-8 cannot be compared.
"""

from __future__ import annotations

import hashlib
import os
import random
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok import schema
from slmtok.batching import batched
from slmtok.envelope import TOKENIZER_KEYS, Envelope, load_payload
from slmtok.errors import CorruptFile, NotEqual, Setting
from slmtok.files import file_digest
from slmtok.formats.base import installed
from slmtok.indexing import explains_indexing
from slmtok.tokenizer_file import GOLDEN_TEXTS

if TYPE_CHECKING:
    from slmtok.aliases import Progress
    from slmtok.formats.base import Encode, Origin, Target
    from slmtok.options import ReadOptions
    from slmtok.ragged import Ragged
    from slmtok.tokenizer import Tokenizer


@explains_indexing
@dataclass(frozen=True)
class ProbeResult:
    """The size of one probe whose ids are all equal."""

    name: str
    strings: int
    bytes: int
    ids: int


@explains_indexing
@dataclass(frozen=True)
class Comparison:
    """The result of a comparison. `ids_sha256` covers our ids, u32 little-endian, in the order of the probes."""

    checks: tuple[ProbeResult, ...]
    ids_sha256: str


def compare(
    tokenizer: Tokenizer, encode: Encode, probes: Iterable[Probe], *, library: str, progress: Progress | None = None
) -> Comparison:
    """Encodes every probe with both libraries. Raises `NotEqual` at the first difference."""
    import numpy as np

    digest = hashlib.sha256()
    checks = []
    for probe in probes:
        strings = size = ids = 0
        for batch in probe.batches:
            ours, theirs = tokenizer.encode_batch(batch), encode(batch)
            if not equal_ids(ours, theirs):
                raise difference(batch, ours, theirs, library=library, probe=probe.name)
            digest.update(ours.ids.astype(np.dtype("<u4")).tobytes())
            strings += len(batch)
            size += sum(len(text.encode()) for text in batch)
            ids += len(ours.ids)
            if progress is not None:
                progress(f"compare {probe.name.replace('_', ' ')}", size, 0)
        checks.append(ProbeResult(probe.name, strings, size, ids))
    return Comparison(tuple(checks), digest.hexdigest())


def equal_ids(ours: Ragged, theirs: Sequence[Sequence[int]]) -> bool:
    """Whether all documents have the same ids."""
    import numpy as np

    lengths = np.fromiter(map(len, theirs), dtype=np.int64, count=len(theirs))
    if not np.array_equal(lengths, ours.lengths()):
        return False
    flat = np.fromiter(chain.from_iterable(theirs), dtype=np.int64, count=int(lengths.sum()))
    return bool(np.array_equal(flat, ours.ids))


def difference(
    batch: Sequence[str], ours: Ragged, theirs: Sequence[Sequence[int]], *, library: str, probe: str
) -> NotEqual:
    """The error for the first text of a batch whose ids differ."""
    for text, mine, other in zip(batch, ours, theirs, strict=False):
        left, right = mine.tolist(), list(other)
        if left != right:
            pairs = enumerate(zip(left, right, strict=False))
            at = next((index for index, (a, b) in pairs if a != b), min(len(left), len(right)))
            return NotEqual(
                f"{library} gives other ids for {text[:40]!r}{'…' if len(text) > 40 else ''}: "
                f"{right[at : at + 4]} where ours are {left[at : at + 4]}",
                where=f"id {at} of the text; {probe.replace('_', ' ')}; nothing was written",
                limit="equal ids for every probe",
                fix=("report it with the tokenizer file; ", Setting("verify", False), " writes without comparing"),
                probe=probe,
                text=text,
                position=at,
            )
    return NotEqual(
        f"{library} gives {len(theirs)} rows of ids for {len(batch)} texts",
        where=probe,
        fix="report it with the tokenizer file",
    )


BATCH = 1 << 19
"""Approximate characters of a batch; documents are not split."""
_BLOCK = 256
_ALPHABET = (
    "abzABZéÉßŐűΩжЖ 0159٣½ \t\n\r\x0b\u00a0\u2003\u3000'’\".,;:!?()[]{}<>|/\\-_=+*#@&%$^~`"
    "今日は한국어ไทยनमस्तेאבשלוםمرحبا\u0301\u0903\u200d\ufe0f👩🇭✊🏽\u00ad\ufeff\x00\x7f\ue000\U000e0001\U0010ffff"
)
_RUNS = ("a", "A", "1", " ", "\n", "\r\n", "\t", "=", "-", "今", "é", "\u0301", "👩", "'s", "ab", " a", "\u3000")


@explains_indexing
@dataclass(frozen=True)
class Effort:
    """The size of the probes. text_bytes: generated text, if no files are given. code_points: every n-th one."""

    text_bytes: int = 10_000_000
    fuzz: int = 20_000
    code_points: int = 1


FULL = Effort()


@explains_indexing
@dataclass(frozen=True)
class Probe:
    """A named set of texts, in batches."""

    name: str
    batches: Iterable[list[str]]


def probes(
    tokenizer: Tokenizer,
    on: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    read: ReadOptions | None,
    effort: Effort,
) -> list[Probe]:
    """All probes, cheap ones first, generated when read. Raises `MissingInput` for a missing file in `on`,
    `CorpusTooSmall` where they are empty.
    """
    from slmtok.corpus import find
    from slmtok.corpus.contents import no_text
    from slmtok.options import ReadOptions

    options = ReadOptions() if read is None else read
    paths = [on] if isinstance(on, (str, os.PathLike)) else list(on)
    text = documents(find(paths, options), options) if paths else stories(effort.text_bytes)
    if paths and not any(map(len, documents(find(paths, options), options))):
        raise no_text(f"{', '.join(map(str, paths))} has no byte of text")
    return [
        Probe("golden", [golden(tokenizer)]),
        Probe("tokens", _batched(tokens(tokenizer))),
        Probe("fuzz", _batched(fuzz(tokenizer, effort.fuzz))),
        Probe("code_points", _batched(code_points(effort.code_points))),
        Probe("text", _batched(text)),
    ]


def _batched(texts: Iterable[str]) -> Iterator[list[str]]:
    return batched(texts, BATCH, lambda text: len(text) + 1)


def golden(tokenizer: Tokenizer) -> list[str]:
    """The golden vectors that are text, and the spelling of each special token."""
    texts = [text.decode() for text in GOLDEN_TEXTS if _is_text(text)]
    spellings = list(tokenizer.specials.spellings)
    return [*texts, *spellings, "a ".join(spellings)]


def tokens(tokenizer: Tokenizer) -> Iterator[str]:
    """Every token that is text, alone; then all in random order, seven together."""
    found = [token.decode() for _, token in tokenizer.vocabulary.items() if _is_text(token)]
    yield from found
    random.Random(1).shuffle(found)
    for start in range(0, len(found), 7):
        yield "".join(found[start : start + 7])


def fuzz(tokenizer: Tokenizer, n: int) -> Iterator[str]:
    """Random strings of characters, of neighbouring code points, of tokens; then long runs."""
    rng = random.Random(2)
    pieces = [token.decode("utf-8", "replace") for _, token in tokenizer.vocabulary.items()]
    for index in range(n):
        length = rng.randrange(1, 40)
        if index % 3 == 0:
            yield "".join(rng.choices(_ALPHABET, k=length))
        elif index % 3 == 1:
            yield "".join(rng.choices(pieces, k=length // 3 + 1))
        else:
            yield "".join(_near(rng.choice(_ALPHABET), rng) for _ in range(length))
    for run in _RUNS:
        for length in (2, 3, 15, 64, 1000):
            yield run * length
            yield f"x{run * length}y {run * length}"


def _near(character: str, rng: random.Random) -> str:
    code = ord(character) + rng.randrange(-40, 40)
    return chr(code) if 0 <= code < 0x110000 and not 0xD800 <= code < 0xE000 else character


def code_points(step: int = 1) -> Iterator[str]:
    """Every code point: assigned ones in seven contexts of letters, digits, marks and itself, others in sequence."""
    assigned: list[str] = []
    others: list[str] = []
    for code in range(0, sys.maxunicode + 1, step):
        if 0xD800 <= code < 0xE000:
            continue
        character = chr(code)
        if unicodedata.category(character) in ("Cn", "Co"):
            others.append(character)
        else:
            assigned.append(f"a{character}1{character}{character} {character}'{character}.{character}\n{character}")
        for found in (assigned, others):
            if len(found) == _BLOCK:
                yield "".join(found)
                found.clear()
    yield "".join(assigned)
    yield "".join(others)


def stories(n_bytes: int) -> Iterator[str]:
    """Generated stories of about `n_bytes` bytes."""
    from slmtok.stories import story

    done = index = 0
    while done < n_bytes:
        text = story(index)
        yield text
        done += len(text)
        index += 1


def documents(sources: Sequence[str], options: ReadOptions) -> Iterator[str]:
    """The documents of files, invalid UTF-8 replaced for both libraries."""
    from slmtok.corpus import read

    for document in read(sources, options):
        yield bytes(document.text).decode("utf-8", "replace")


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


RECEIPT = "export.receipt.json"


def receipt(
    tokenizer: Tokenizer,
    direction: str,
    form: Target | Origin,
    compared: Comparison | None,
    files: Mapping[str, bytes],
    *,
    generated: bool,
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """The payload of a receipt (docs/formats/receipt.md). compared: None for none; generated: its text was."""
    checks = () if compared is None else compared.checks
    return {
        "verified": compared is not None,
        "direction": direction,
        "target": form.name,
        "library": form.library,
        "library_version": installed(form.library) if compared is not None else None,
        "tokenizer": {
            "fingerprint": tokenizer.fingerprint,
            "sha256": tokenizer.sha256,
            "n_vocab": tokenizer.n_vocab,
        },
        "text": None if compared is None else "generated stories" if generated else "files",
        "checks": [asdict(check) for check in checks],
        "strings": sum(check.strings for check in checks),
        "bytes": sum(check.bytes for check in checks),
        "ids": sum(check.ids for check in checks),
        "mismatches": 0 if compared is not None else None,
        "ids_sha256": None if compared is None else compared.ids_sha256,
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())},
        "notes": list(notes),
    }


def receipt_bytes(payload: Mapping[str, Any]) -> bytes:
    """The file of a receipt: an envelope (docs/formats/envelope.md)."""
    inputs = payload["files"] if payload["direction"] == "import" else {"tokenizer": payload["tokenizer"]["sha256"]}
    return Envelope("receipt", inputs, payload).to_bytes()


def load_receipt(path: str) -> dict[str, Any]:
    """The payload of a receipt, and its `tool`. Raises `CorruptFile`, `UnsupportedVersion`."""
    return load_payload(path, "receipt", _RECEIPT)


_COUNTS = dict.fromkeys(("strings", "bytes", "ids"), schema.integer())
_RECEIPT = schema.table(
    {
        "verified": schema.boolean,
        "direction": schema.choice("export", "import"),
        "target": schema.text,
        "library": schema.text,
        "library_version": schema.nullable(schema.text),
        "tokenizer": schema.table(TOKENIZER_KEYS),
        "text": schema.nullable(schema.choice("generated stories", "files")),
        "checks": schema.array(schema.table({"name": schema.text, **_COUNTS})),
        **_COUNTS,
        "mismatches": schema.nullable(schema.choice(0)),
        "ids_sha256": schema.nullable(schema.digest),
        "files": schema.mapping(schema.digest, key=schema.relative_path),
        "notes": schema.array(schema.text),
    }
)


def check_receipt(path: str) -> dict[str, Any]:
    """As `load_receipt`. Raises `CorruptFile` unless it records the exported files beside it."""
    content = load_receipt(path)
    files = content["files"] if content["direction"] == "export" else {}
    for name, digest in files.items():
        file = Path(path).parent / name
        found = file_digest(file) if file.is_file() else None
        if found != digest:
            raise CorruptFile(
                f"{name!r} is not the file that was compared" if found else f"{name!r} is missing",
                where=f"{path}: sha256 {digest[:16]}…" + (f", the file has {found[:16]}…" if found else ""),
                fix="export it again",
                path=str(file),
            )
    return content
