"""Where one model spends more bits than another, on the bytes of the text: for models with different tokenizers.

The nats of a token stand at its last byte, so two models can be compared exactly at each byte where a token of both
ends, and between two such bytes only by their sums. docs/formats/certificate.md specifies the files of losses.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slmtok.analysis.token_classes import main_class
from slmtok.errors import CorruptFile, OptionError, Unreadable, WrongType, missing_extra
from slmtok.file_kinds import LOSSES, NAMES, kind_of_file
from slmtok.files import missing_input, unreadable
from slmtok.indexing import explains_indexing

FORMAT, VERSION = "slm-losses", 1
_DTYPES = {"nats": np.float32, "nbytes": np.uint32, "offsets": np.uint64}
_FIX = "slm eval RUN --on TEXT --losses FILE writes one"


@explains_indexing
class Losses(NamedTuple):
    """A file of losses: `nats` float64 and `nbytes` int64 of each target, `offsets` int64 [documents + 1]."""

    path: str
    documents: str | None
    """Digest of the documents, where it is known."""
    nats: NDArray[np.float64]
    nbytes: NDArray[np.int64]
    offsets: NDArray[np.int64]

    def document(self, index: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Of one document: the bytes up to the end of each target, and the bits of the first 0, 1, ... n targets."""
        rows = slice(self.offsets[index], self.offsets[index + 1])
        bits = np.concatenate(([0.0], np.cumsum(self.nats[rows]))) / math.log(2)
        return np.cumsum(self.nbytes[rows]), bits

    @property
    def bits(self) -> float:
        """Of all targets."""
        return math.fsum(self.nats) / math.log(2)


@explains_indexing
class Segment(NamedTuple):
    """Text between two neighbouring bytes where tokens of both models end."""

    text: bytes
    bits_a: float
    bits_b: float


@explains_indexing
@dataclass
class Sums:
    """Bits of both models on some bytes."""

    count: int = 0
    nbytes: int = 0
    bits_a: float = 0.0
    bits_b: float = 0.0

    def add(self, segment: Segment) -> None:
        """Adds a segment."""
        self.count += 1
        self.nbytes += len(segment.text)
        self.bits_a += segment.bits_a
        self.bits_b += segment.bits_b

    @property
    def gain(self) -> float:
        """Bits by which b is below a."""
        return self.bits_a - self.bits_b


@explains_indexing
@dataclass
class Alignment:
    """Two models on one text: sums over all of it, by kind of string, and by string."""

    documents: int = 0
    total: Sums = field(default_factory=Sums)
    kinds: dict[str, Sums] = field(default_factory=dict)
    """By the classes of `slmtok vocab --class`."""
    strings: dict[bytes, Sums] = field(default_factory=dict)

    def add(self, segment: Segment) -> None:
        """Adds a segment."""
        self.total.add(segment)
        self.kinds.setdefault(main_class(segment.text) if segment.text else "empty", Sums()).add(segment)
        self.strings.setdefault(segment.text, Sums()).add(segment)

    def largest(self, n: int, *, gain: bool) -> list[tuple[bytes, Sums]]:
        """The n strings on which b gains most (else: loses most) against a."""
        sign = -1 if gain else 1
        found = [(text, sums) for text, sums in self.strings.items() if sign * sums.gain < 0]
        return sorted(found, key=lambda item: (sign * item[1].gain, item[0]))[:n]


_MAX_ROUNDING = 1e-3
"""Nats by which the loss of a target that is certain may be below 0."""


def read_losses(path: str) -> Losses:
    """Reads a file of losses. Raises `MissingInput`, `CorruptFile`, `MissingExtra` without the package safetensors."""
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise missing_extra("a file of losses", "safetensors") from None
    if not Path(path).exists():
        raise missing_input(path)
    if not Path(path).is_file():
        kind = "a folder" if Path(path).is_dir() else "no regular file"
        raise Unreadable(f"{path!r} is {kind}, not a file of losses", where=path, fix=_FIX, path=path)
    try:
        with safe_open(path, "np") as file:
            about: Any = json.loads((file.metadata() or {}).get("about", "null"))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, ValueError) as error:
        raise _no_losses(path, error) from None
    except OSError as error:
        raise unreadable(path, error) from None
    if not isinstance(about, dict) or (about.get("format"), about.get("version")) != (FORMAT, VERSION):
        raise _corrupt(path, f"is not {FORMAT}, version {VERSION}")
    if {name: array.dtype.type for name, array in arrays.items()} != _DTYPES:
        raise _corrupt(path, f"does not hold exactly {', '.join(_DTYPES)} in their types")
    if any(array.ndim != 1 for array in arrays.values()):
        raise _corrupt(path, "holds arrays of several dimensions")
    offsets, nbytes = arrays["offsets"].astype(np.int64), arrays["nbytes"].astype(np.int64)
    ordered = len(offsets) and offsets[0] == 0 and bool((np.diff(offsets) >= 0).all())
    if not ordered or not len(arrays["nats"]) == len(nbytes) == int(offsets[-1]):
        raise _corrupt(path, "has offsets that do not fit its losses")
    nats = arrays["nats"]
    if len(wrong := np.flatnonzero(~(np.isfinite(nats) & (nats > -_MAX_ROUNDING)))):
        raise _corrupt(path, f"has a loss of {nats[wrong[0]]:g} nats at target {wrong[0]:,}")
    return Losses(path, about.get("documents"), nats.astype(np.float64), nbytes, offsets)


def _no_losses(path: str, error: Exception) -> CorruptFile:
    """The error for a file that safetensors refuses: one of losses that is cut off or damaged, or another file."""
    kind = kind_of_file(path)
    if kind != LOSSES:
        return _corrupt(path, f"is no file of losses{f' (it is {NAMES[kind]})' if kind in NAMES else ''}")
    size, full = Path(path).stat().st_size, _full_size(path)
    is_cut = full is not None and size < full
    fact = f"is cut off: it has {size:,} bytes, by its header {full:,}" if is_cut else f"is damaged ({error})"
    fix = f"copy it again, or write it again: slm eval RUN --on TEXT --losses {shlex.quote(path)} --force"
    return CorruptFile(f"{path} {fact}", where=path, fix=fix, path=path)


def _full_size(path: str) -> int | None:
    """The bytes that a file of safetensors has by its header; the end of the header where the file ends before it."""
    with Path(path).open("rb") as file:
        n_header = int.from_bytes(file.read(8), "little")
        header = file.read(min(n_header, _MAX_HEADER_BYTES))
    if len(header) < n_header:
        return 8 + n_header
    try:
        ends = [each["data_offsets"][1] for name, each in json.loads(header).items() if name != "__metadata__"]
        return 8 + n_header + int(max(ends))
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


_MAX_HEADER_BYTES = 1 << 20
"""Of the header of a file of losses, which holds the metadata of its run."""


def _corrupt(path: str, what: str) -> CorruptFile:
    return CorruptFile(f"{path} {what}", where=path, fix=_FIX, path=path)


def segments(text: bytes, a: Losses, b: Losses, index: int) -> Iterator[Segment]:
    """The segments of one document; a target without bytes belongs to the segment that ends before it."""
    (ends_a, bits_a), (ends_b, bits_b) = a.document(index), b.document(index)
    shared = np.intersect1d(ends_a, ends_b)
    shared = shared[shared > 0] if len(text) else shared[:1]
    upto_a = bits_a[np.searchsorted(ends_a, shared, side="right")]
    upto_b = bits_b[np.searchsorted(ends_b, shared, side="right")]
    start, before_a, before_b = 0, 0.0, 0.0
    for stop, after_a, after_b in zip(shared.tolist(), upto_a.tolist(), upto_b.tolist(), strict=True):
        yield Segment(text[start:stop], after_a - before_a, after_b - before_b)
        start, before_a, before_b = stop, after_a, after_b


def align(a: Losses, b: Losses, texts: Iterable[bytes]) -> Iterator[list[Segment]]:
    """The segments of each document of a text that both models were scored on.

    Raises `OptionError` where the text, or one of the files, is about other documents, `WrongType`.
    """
    for name, losses in (("a", a), ("b", b)):
        _check_losses(name, losses)
    sizes = [len(losses.offsets) - 1 for losses in (a, b)]
    if sizes[0] != sizes[1]:
        raise _other_documents(f"{a.path} has {_documents(sizes[0])}, {b.path} has {sizes[1]:,}", (a, b))
    for index, text in enumerate(_scored((a, b), texts)):
        yield list(segments(text, a, b, index))


def check_scored(losses: Losses, texts: Iterable[bytes]) -> None:
    """Raises `OptionError` where the losses are those of other documents than the texts, `WrongType`."""
    _check_losses("losses", losses)
    for _ in _scored((losses,), texts):
        pass


def _check_losses(name: str, losses: object) -> None:
    """Raises `WrongType` for what `read_losses` did not give, such as the path of a file."""
    if not isinstance(losses, Losses):
        path = repr(os.fspath(losses)) if isinstance(losses, (str, os.PathLike)) else "PATH"
        raise WrongType(f"{name} is of type {type(losses).__name__}", limit="Losses", fix=f"{name}=read_losses({path})")


def _scored(files: Sequence[Losses], texts: Iterable[bytes]) -> Iterator[bytes]:
    """The texts, which are the documents of these losses. Raises `OptionError` for others."""
    first, n_docs = files[0], len(files[0].offsets) - 1
    digest, index = 0, -1
    for index, text in enumerate(texts):
        if not isinstance(text, bytes):
            fact = f"document {index} of the texts is of type {type(text).__name__}"
            raise WrongType(fact, limit="bytes", fix="[text.encode() for text in texts]")
        if index == n_docs:
            raise _other_documents(f"the text has more documents than {first.path}, which has {n_docs:,}", files)
        for losses in files:
            rows = slice(losses.offsets[index], losses.offsets[index + 1])
            if (n_bytes := int(losses.nbytes[rows].sum())) != len(text):
                fact = f"document {index} has {len(text):,} bytes, in {losses.path} {n_bytes:,}"
                raise _other_documents(fact, files)
        digest += int.from_bytes(hashlib.sha256(text).digest(), "big")
        yield text
    if index + 1 != n_docs:
        raise _other_documents(f"the text has {_documents(index + 1)}, {first.path} has {n_docs:,}", files)
    for losses in files:
        if losses.documents not in (None, f"{digest % 2**256:064x}"):
            raise _other_documents(f"the digest of the text is not the one in {losses.path}", files)


def _documents(number: int) -> str:
    return f"{number:,} document{'' if number == 1 else 's'}"


def _other_documents(fact: str, files: Sequence[Losses]) -> OptionError:
    held = (f"{each.path}: {_documents(len(each.offsets) - 1)}, {int(each.nbytes.sum()):,} bytes" for each in files)
    return OptionError(
        fact,
        where="; ".join(held),
        limit="the same documents in the same order",
        fix="give the documents that slm eval scored; for others: slm eval RUN --on TEXT --losses FILE",
        option="on",
    )
