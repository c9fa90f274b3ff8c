"""Intervals and comparisons: bootstrap intervals of bits per byte, files of losses, paired differences of two models.

The unit of resampling is the document, because its tokens depend on one another: 10,000 resamples from a fixed seed,
percentile interval (Efron 1979). Fewer than 20 documents are cut by bytes into segments of 4 KiB; a token belongs to
the segment of its last byte, so two tokenizers are cut alike. Fewer than 20 units give no interval.

docs/formats/certificate.md specifies the files of losses. Models with different tokenizers are compared document by
document, without text.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from slmmodel.checks import MIN_RESAMPLES, check_int
from slmmodel.data.packing import prefix_sums
from slmmodel.data.source import corrupt
from slmmodel.errors import CorruptFile, Mismatch, MissingInput, Unreadable, WrongType
from slmmodel.evaluation.scoring import LN2, Scores
from slmmodel.indexing import explains_indexing
from slmmodel.json_files import Strict, exactly, parse_object, validated
from slmmodel.sizes import ceil_div, counted

RESAMPLES, SEED, LEVEL = 10_000, 0, 0.95
MIN_UNITS = 20
MAX_UNITS = 20_000
"""More units are merged with their neighbours, which bounds the work."""
SEGMENT_BYTES = 4096
LOSSES_FORMAT, LOSSES_VERSION = "slm-losses", 1
_RESAMPLED_VALUES = 1 << 22
_DTYPES = {"nats": np.float32, "nbytes": np.uint32, "offsets": np.uint64}

Floats = NDArray[np.float64]


@explains_indexing
class Interval(NamedTuple):
    """Bounds in bits per byte, and what was resampled."""

    low: float
    high: float
    unit: str
    n_units: int
    level: float = LEVEL


@explains_indexing
class Units(NamedTuple):
    """Bits and bytes of each unit of resampling, float64 [n]; and what a unit is."""

    bits: Floats
    nbytes: Floats
    unit: str


def units(scores: Scores, *, content: bool = False) -> Units:
    """Documents where there are at least 20, else segments of 4 KiB. Raises `WrongType`."""
    if not isinstance(scores, Scores):
        raise _not_scored("units", [scores], "Scores")
    if scores.n_docs >= MIN_UNITS:
        return Units(scores.bits(content=content), scores.doc_bytes.astype(np.float64), "document")
    return segments(scores, content=content)


def count_units(doc_bytes: NDArray[Any]) -> int:
    """How many units documents of these bytes are, before they are scored."""
    return len(doc_bytes) if len(doc_bytes) >= MIN_UNITS else int(_segment_counts(doc_bytes, SEGMENT_BYTES).sum())


def _segment_counts(doc_bytes: NDArray[Any], size: int) -> NDArray[Any]:
    """Segments of at most `size` bytes of each document, at least one: [n_docs]."""
    counts: NDArray[Any] = np.maximum(1, -(-doc_bytes // size))
    return counts


def segments(scores: Scores, *, content: bool = False, size: int = SEGMENT_BYTES) -> Units:
    """Every document cut after each `size` bytes; an id without bytes belongs to the segment before it."""
    counts = _segment_counts(scores.doc_bytes, size)
    firsts, doc = prefix_sums(counts), np.repeat(np.arange(scores.n_docs), np.diff(scores.offsets))
    read = prefix_sums(scores.nbytes)
    last_byte = read[1:] - read[scores.offsets[doc]] - 1
    segment = firsts[doc] + np.clip(last_byte // size, 0, counts[doc] - 1)
    nats = np.where(scores.nbytes > 0, scores.nats, 0.0) if content else scores.nats
    nbytes = np.full(firsts[-1], size, dtype=np.float64)
    nbytes[firsts[1:] - 1] = scores.doc_bytes - (counts - 1) * size
    return Units(np.bincount(segment, weights=nats, minlength=len(nbytes)) / LN2, nbytes, f"{size} bytes")


def interval(of: Units, *, resamples: int = RESAMPLES, seed: int = SEED) -> Interval | None:
    """The percentile interval of `sum(bits) / sum(bytes)`; None with fewer than 20 units.

    For a paired difference, `bits` are the differences of two models on the same units.
    """
    if not isinstance(of, Units):
        raise _not_scored("interval", [of], "Units")
    check_int("resamples", resamples, MIN_RESAMPLES, RESAMPLES)
    count = len(of.bits)
    if count < MIN_UNITS or not of.nbytes.sum():
        return None
    means = bootstrap_means(of.bits[None], of.nbytes, resamples=resamples, seed=seed)[0]
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    return Interval(low, high, of.unit, count, LEVEL)


def bootstrap_means(rows: Floats, nbytes: NDArray[Any], *, resamples: int = RESAMPLES, seed: int = SEED) -> Floats:
    """`sum(bits) / sum(bytes)` of every row in every resample of the units, float64 [rows, resamples].

    rows: bits, float64 [rows, n]; all rows share the resamples. nbytes: bytes of the units, [n].
    """
    count = len(nbytes)
    borders = np.linspace(0, count, min(count, MAX_UNITS), endpoint=False).astype(np.int64)
    rows, nbytes = np.add.reduceat(rows, borders, axis=1), np.add.reduceat(nbytes, borders)
    rng = np.random.default_rng(seed)
    means, start = np.empty((len(rows), resamples)), 0
    for part in np.array_split(np.arange(resamples), ceil_div(resamples, max(1, _RESAMPLED_VALUES // len(borders)))):
        drawn = rng.integers(0, len(borders), (len(part), len(borders)))
        total = np.maximum(nbytes[drawn].sum(1), 1)
        for bits, of_row in zip(rows, means, strict=True):
            of_row[start : start + len(part)] = bits[drawn].sum(1) / total
        start += len(part)
    return means


@explains_indexing
class Losses(NamedTuple):
    """Scores as a file holds them, and the digests of documents, tokenizer and weights they belong to."""

    scores: Scores
    about: dict[str, Any]


def losses_to_bytes(scores: Scores, about: Mapping[str, Any]) -> bytes:
    """The content of a file of losses."""
    from safetensors.numpy import save

    arrays = {name: getattr(scores, name).astype(dtype) for name, dtype in _DTYPES.items()}
    text = json.dumps({"format": LOSSES_FORMAT, "version": LOSSES_VERSION, **about}, sort_keys=True)
    return save(arrays, {"about": text})


class _About(Strict):
    """The metadata `about` of a file of losses."""

    format: Literal["slm-losses"]
    version: Annotated[int, exactly(LOSSES_VERSION)]
    documents: str | None = None
    model: dict[str, Any] = Field(default_factory=dict)
    tokenizer: dict[str, Any] = Field(default_factory=dict)
    scoring: dict[str, Any] = Field(default_factory=dict)


MAX_ROUNDING = 1e-3
"""Nats by which the loss of a target that is certain may be below 0."""


def _one_path(path: object) -> str | Path:
    """`path` as it is. Raises `WrongType` for what is no path; of several, each is read by a call of its own."""
    if isinstance(path, str | Path):
        return path
    several = isinstance(path, list | tuple)
    fix = "[read_losses(path) for path in paths]" if several else "read_losses('FILE')"
    raise WrongType(f"path is a {type(path).__name__}, not a str or a Path", fix=fix)


def read_losses(path: str | Path) -> Losses:
    """Reads a file of losses. Raises `MissingInput`, `CorruptFile`, `Unreadable`, `WrongType`."""
    from safetensors import SafetensorError, safe_open

    path, fix = Path(_one_path(path)), "name a file that slm eval RUN --losses FILE writes"
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "no regular file"
        wrong = f"is {kind}, not a file of losses" if path.exists() else "does not exist"
        raise MissingInput(f"{str(path)!r} {wrong}", fix=fix, path=str(path))
    try:
        with safe_open(path, "np") as file:
            about = parse_object((file.metadata() or {}).get("about", "{}").encode())
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, ValueError):
        raise _no_losses(path, fix) from None
    except OSError as error:
        # Its file name is in the text only.
        fact = f"cannot read {str(path)!r}: {error.strerror or error}"
        raise Unreadable(fact, where=str(path), fix="name a readable file", path=str(path)) from None
    if not about:
        raise corrupt(path, "holds tensors, and is not a file of losses", fix)
    about = validated(about, _About, path, fix=fix).model_dump(exclude_unset=True)
    if {name: array.dtype.type for name, array in arrays.items()} != _DTYPES:
        raise corrupt(path, f"does not hold exactly {', '.join(_DTYPES)} in their types", fix)
    if any(array.ndim != 1 for array in arrays.values()):
        raise corrupt(path, "holds arrays of several dimensions", fix)
    offsets, nbytes = arrays["offsets"].astype(np.int64), arrays["nbytes"]
    valid = len(offsets) and offsets[0] == 0 and bool((np.diff(offsets) >= 0).all())
    if not valid or not len(arrays["nats"]) == len(nbytes) == int(offsets[-1]):
        raise corrupt(path, "has offsets that do not fit its losses", fix)
    nats = arrays["nats"]
    wrong_nats = np.flatnonzero(~(np.isfinite(nats) & (nats > -MAX_ROUNDING)))
    if len(wrong_nats):
        raise corrupt(path, f"has a loss of {nats[wrong_nats[0]]:g} nats at target {wrong_nats[0]:,}", fix)
    no_targets, doc_bytes = np.empty(0, dtype=np.uint32), np.diff(prefix_sums(nbytes)[offsets])
    return Losses(Scores(nats.astype(np.float64), no_targets, nbytes, offsets, doc_bytes), about)


def _no_losses(path: Path, fix: str) -> CorruptFile:
    """The error for a file that safetensors refuses: one of losses that is cut off, or another file."""
    full, size = _full_size(path), path.stat().st_size
    if full is None or size >= full:
        return corrupt(path, "is not a file of losses", fix)
    fix = f"copy it again, or write it again: slm eval RUN --on TEXT --losses {shlex.quote(str(path))} --force"
    return corrupt(path, f"is cut off: it has {size:,} bytes, by its header {full:,}", fix)


def _full_size(path: Path) -> int | None:
    """The bytes that a file of losses has by its header; the end of the header where the file ends before it.

    None for other files.
    """
    with path.open("rb") as file:
        n_header = int.from_bytes(file.read(8), "little")
        header = file.read(min(n_header, _MAX_HEADER_BYTES))
    if not header.startswith(b'{"__metadata__":{"about":'):
        return None
    if len(header) < n_header:
        return 8 + n_header
    try:
        ends = [each["data_offsets"][1] for name, each in json.loads(header).items() if name != "__metadata__"]
        return 8 + n_header + int(max(ends))
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


_MAX_HEADER_BYTES = 1 << 20
"""Of the header of a file of losses, which holds the metadata of its run."""


@explains_indexing
class Comparison(NamedTuple):
    """`a` minus `b` in bits per byte, on the same documents and resamples."""

    bpb_a: float
    bpb_b: float
    difference: float
    interval: Interval | None
    documents: int
    a_better: int
    """Documents with fewer bits under `a`."""


def compare(a: Losses, b: Losses, *, content: bool = False, resamples: int = RESAMPLES) -> Comparison:
    """The paired difference of two models.

    Raises `Mismatch` where the documents are not the same, `WrongType`, and what `Scores.check` raises, such as
    `InvalidConfig` for documents without bytes.
    """
    if not (isinstance(a, Losses) and isinstance(b, Losses)):
        raise _not_scored("compare", [a, b], "Losses")
    _check_same_documents(a, b)
    for losses in (a, b):
        losses.scores.check()
    total = a.scores.n_bytes
    bits_a, bits_b = a.scores.bits(content=content), b.scores.bits(content=content)
    of_a, of_b = units(a.scores, content=content), units(b.scores, content=content)
    return Comparison(
        bpb_a=float(bits_a.sum()) / total,
        bpb_b=float(bits_b.sum()) / total,
        difference=float((bits_a - bits_b).sum()) / total,
        interval=interval(of_a._replace(bits=of_a.bits - of_b.bits), resamples=resamples),
        documents=a.scores.n_docs,
        a_better=int(np.count_nonzero(bits_a < bits_b)),
    )


def _not_scored(call: str, given: list[object], wanted: str) -> WrongType:
    """The error for arguments that are no losses, scores or units; paths and scores become them in the fix."""
    made = {"Losses": "{}", "Scores": "{}.scores", "Units": "units({}.scores)"}[wanted]
    of_scores = {"Losses": "Losses({}, {{}})", "Units": "units({})"}.get(wanted, "{}")
    parts, commands = [], []
    for each, name in zip(given, ("a", "b"), strict=False):
        file, run = f"{name}.losses", getattr(getattr(each, "run", each), "path", each)
        if isinstance(each, str | Path) and not Path(each).is_dir():
            file = str(each)
        elif not isinstance(each, Losses | Scores | Units):
            shown = shlex.quote(str(run)) if isinstance(run, str | Path) else "RUN"
            commands.append(f"slm eval {shown} --losses {file}")
        losses = name if isinstance(each, Losses) else f"read_losses({file!r})"
        parts.append(of_scores.format(name) if isinstance(each, Scores) else made.format(losses))
    wrong = next(each for each in given if type(each).__name__ != wanted)
    fact = f"{call}() takes {wanted}, not {type(wrong).__name__}"
    fix = f"{call}({', '.join(parts)})"
    names = [name for name in ("Losses", "read_losses", "units") if f"{name}(" in fix.removeprefix(f"{call}(")]
    imported = f"from {__name__} import {', '.join(names)}; " if names else ""
    limit = f"losses in files, which {' and '.join(commands)} write" if commands else None
    return WrongType(fact, limit=limit, fix=imported + fix)


def _check_same_documents(a: Losses, b: Losses) -> None:
    digests = [losses.about.get("documents") or losses.scores.documents for losses in (a, b)]
    same_sizes = np.array_equal(a.scores.doc_bytes, b.scores.doc_bytes)
    if same_sizes and (None in digests or digests[0] == digests[1]):
        return
    what = "different documents of the same sizes" if same_sizes else "different documents"
    scored = [losses.scores for losses in (a, b)]
    sizes = [f"{counted(each.n_docs, 'document')} with {counted(each.n_bytes, 'byte')}" for each in scored]
    # Ids without a manifest have no digest.
    parts = [f", digest {digest:.16}…" if digest else "" for digest in digests]
    where = " and ".join(size + part for size, part in zip(sizes, parts, strict=True))
    fix = "evaluate both models on the same data: slm eval RUN --on TEXT --losses FILE for each"
    raise Mismatch(f"the two files are about {what}", where=where, fix=fix)
