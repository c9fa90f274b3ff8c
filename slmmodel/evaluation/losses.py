"""The losses of one evaluation as a safetensors file, and the paired comparison of two of them.

`nats` float32 and `nbytes` uint32 of each target in order, `offsets` uint64 of the documents, and what they belong to
as one JSON text of metadata. Two models with different tokenizers can be compared document by document, without text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from slmmodel.errors import CorruptLosses, Incomparable, MissingInput
from slmmodel.evaluation.intervals import LEAST_UNITS, Interval, Units, interval, segments
from slmmodel.evaluation.scores import LN2, Scores

FORMAT, VERSION = "slm-losses", 1
_DTYPES = {"nats": np.float32, "nbytes": np.uint32, "offsets": np.uint64}


class Losses(NamedTuple):
    """Scores as a file holds them, and what they belong to: digests of documents, tokenizer and weights."""

    scores: Scores
    about: dict[str, Any]


def to_bytes(scores: Scores, about: Mapping[str, Any]) -> bytes:
    """The content of the file."""
    from safetensors.numpy import save

    arrays: dict[str, np.ndarray[Any, Any]] = {
        "nats": scores.nats.astype(np.float32),
        "nbytes": scores.nbytes.astype(np.uint32),
        "offsets": scores.offsets.astype(np.uint64),
    }
    text = json.dumps({"format": FORMAT, "version": VERSION, **about}, sort_keys=True)
    return save(arrays, {"about": text})


def read(path: str | Path) -> Losses:
    """Reads a file of losses. Raises `MissingInput`, `CorruptLosses`."""
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        wrong = "is a folder, not a file of losses" if Path(path).is_dir() else "does not exist"
        raise MissingInput(f"{str(path)!r} {wrong}", fix="slm eval RUN --losses FILE makes one", path=str(path))
    try:
        with safe_open(path, "np") as file:
            about = json.loads((file.metadata() or {}).get("about", "null"))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, ValueError) as error:
        raise _corrupt(path, f"cannot be read ({error})") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT or about.get("version") != VERSION:
        raise _corrupt(path, f"does not say {FORMAT}, version {VERSION}")
    if {name: array.dtype.type for name, array in arrays.items()} != _DTYPES:
        raise _corrupt(path, f"does not hold {', '.join(_DTYPES)} alone, in their types")
    offsets = arrays["offsets"].astype(np.int64)
    sound = offsets.ndim == 1 and len(offsets) and offsets[0] == 0 and bool((np.diff(offsets) >= 0).all())
    if not sound or not len(arrays["nats"]) == len(arrays["nbytes"]) == int(offsets[-1]):
        raise _corrupt(path, "has offsets that do not fit its losses")
    nbytes = arrays["nbytes"]
    ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(nbytes, dtype=np.int64)])[offsets]
    nothing = np.empty(0, dtype=np.uint32)
    return Losses(Scores(arrays["nats"].astype(np.float64), nothing, nbytes, offsets, np.diff(ends)), about)


def _corrupt(path: str | Path, what: str) -> CorruptLosses:
    return CorruptLosses(f"{path} {what}", where=str(path), fix="make it again: slm eval RUN --losses FILE")


class Comparison(NamedTuple):
    """`a` minus `b` in bits per byte, on the same documents and under the same resamples."""

    bpb_a: float
    bpb_b: float
    difference: float
    interval: Interval | None
    documents: int
    a_better: int
    """Documents that cost less under `a`."""


def compare(a: Losses, b: Losses, *, content: bool = False, resamples: int = 10_000) -> Comparison:
    """The paired difference. Raises `Incomparable` where the documents are not the same."""
    if len(a.scores.doc_bytes) != len(b.scores.doc_bytes) or not np.array_equal(a.scores.doc_bytes, b.scores.doc_bytes):
        raise Incomparable(
            "the two files are about different documents",
            where=f"{a.scores.n_docs} documents with {a.scores.n_bytes} bytes, "
            f"and {b.scores.n_docs} with {b.scores.n_bytes}",
            fix="evaluate both models on the same data",
        )
    digests = [losses.about.get("documents") for losses in (a, b)]
    if None not in digests and digests[0] != digests[1]:
        raise Incomparable(
            "the two files are about different documents of the same sizes",
            where=f"digests {str(digests[0])[:16]}… and {str(digests[1])[:16]}…",
            fix="evaluate both models on the same data",
        )
    bits_a, bits_b = (_document_bits(losses.scores, content) for losses in (a, b))
    total = max(1, a.scores.n_bytes)
    found = interval(_paired(a.scores, b.scores, content), resamples=resamples)
    return Comparison(
        bpb_a=float(bits_a.sum()) / total,
        bpb_b=float(bits_b.sum()) / total,
        difference=float((bits_a - bits_b).sum()) / total,
        interval=found,
        documents=a.scores.n_docs,
        a_better=int(np.count_nonzero(bits_a < bits_b)),
    )


def _document_bits(scores: Scores, content: bool) -> np.ndarray[Any, np.dtype[np.float64]]:
    bits: np.ndarray[Any, np.dtype[np.float64]] = (scores.content if content else scores.content + scores.special) / LN2
    return bits


def _paired(a: Scores, b: Scores, content: bool) -> Units:
    """Differences by document, or by 4 KiB of all documents where these are few: both are cut at the same bytes."""
    if a.n_docs >= LEAST_UNITS:
        difference = _document_bits(a, content) - _document_bits(b, content)
        return Units(difference, a.doc_bytes.astype(np.float64), "document")
    of_a, of_b = segments(a, content=content), segments(b, content=content)
    return Units(of_a.bits - of_b.bits, of_a.nbytes, of_a.unit)
