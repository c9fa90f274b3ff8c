"""Ids in the layouts of other tools as a source: headerless `.bin` (nanoGPT, llama2.c), llm.c's `.bin`, `.npy`.

None of them records document boundaries, so documents are found by scanning for the delimiter; nor raw bytes, so these
are summed over the ids. Such a source has `bytes_from = "derived"`, and the byte check of an evaluation then holds by
construction. The `vocab.json` is passed in or lies beside the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.source import Frame, frame_of, framed
from slmmodel.errors import CorruptShards, MissingShards, UnsupportedShards, suggestion
from slmmodel.vocab import VocabMeta

LLMC_MAGIC, LLMC_VERSION, LLMC_HEADER = 20240520, 1, 256 * 4
_CHUNK = 1 << 24


class Layout(NamedTuple):
    """How a file is read; `frame` is the stored delimiters unless a `meta.json` names others."""

    read: Callable[[Path, str], NDArray[Any]]
    frame: str
    summary: str


def _read_headerless(path: Path, dtype: str) -> NDArray[Any]:
    size, width = path.stat().st_size, np.dtype(dtype).itemsize
    if size % width:
        raise _damaged(path, f"has {size:,} bytes, not a multiple of {width}")
    return np.memmap(path, dtype, "r") if size else np.empty(0, dtype)


def _read_llmc(path: Path, dtype: str) -> NDArray[Any]:
    header = np.fromfile(path, "<i4", 256)
    if len(header) < 256 or header[0] != LLMC_MAGIC:
        raise _damaged(path, f"does not begin with {LLMC_MAGIC} and a header of 256 words")
    if header[1] != LLMC_VERSION:
        raise UnsupportedShards(
            f"{path.name} has version {int(header[1])}",
            limit=f"this package reads version {LLMC_VERSION}",
            fix="write it again",
        )
    count = int(header[2])
    if path.stat().st_size != LLMC_HEADER + count * np.dtype(dtype).itemsize:
        raise _damaged(path, f"does not hold the {count:,} ids that its header gives")
    return np.memmap(path, dtype, "r", LLMC_HEADER, (count,)) if count else np.empty(0, dtype)


def _read_npy(path: Path, dtype: str) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise _damaged(path, f"is not a readable array ({error})") from None
    if array.dtype.kind not in "ui" or array.ndim not in (1, 2):
        raise _damaged(path, f"holds {array.ndim}-dimensional {array.dtype}, expected integer ids in 1 or 2 dimensions")
    return array.reshape(-1)


def _damaged(path: Path, what: str) -> CorruptShards:
    return CorruptShards(f"{path.name} {what}", where=str(path), fix="write it again, or name its layout and dtype")


def _unreadable(path: Path, error: OSError) -> MissingShards:
    return MissingShards(f"cannot read {path.name}: {error.strerror}", where=str(path), fix="check the path")


LAYOUTS: dict[str, Layout] = {
    "nanogpt": Layout(_read_headerless, "eos", "headerless ids; the delimiter ends each document"),
    "llama2c": Layout(_read_headerless, "bos", "headerless ids; the delimiter begins each document"),
    "llmc": Layout(_read_llmc, "bos", "a header of 256 words, then ids; also modded-nanogpt's"),
    "npy": Layout(_read_npy, "eos", "a NumPy array of ids"),
}


class Interpretation(NamedTuple):
    """What a file of ids does not record about itself."""

    dtype: str
    frame: str
    delimiter: int | None


class ForeignSource:
    """One file of ids: a source of one block, which is the source itself."""

    n_blocks = 1
    bytes_from = "derived"
    """Bytes of documents are summed over their ids."""
    split: str | None = None
    documents_digest: str | None = None

    def __init__(self, path: Path, layout: str, vocab: VocabMeta, how: Interpretation) -> None:
        self.path, self.layout, self.vocab, self._stored = path, layout, vocab, how.frame
        try:
            self._ids = LAYOUTS[layout].read(path, f"<{how.dtype}")
        except OSError as error:
            raise _unreadable(path, error) from error
        known = frame_of(
            vocab, stores_opening=how.frame in ("bos", "bos_eos"), stores_closing=how.frame in ("eos", "bos_eos")
        )
        ids = (known.opening, known.closing) if how.delimiter is None else (how.delimiter, how.delimiter)
        # Stored delimiters are cut off and added again, so that a last document without one needs no special case.
        self.frame = Frame(*ids, stores_opening=False, stores_closing=False)

    @cached_property
    def _borders(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Start and stop of the ids of each document, without delimiters: int64 [n_docs] each. Checks all ids."""
        found: list[NDArray[np.int64]] = []
        for start in range(0, len(self._ids), _CHUNK):
            part = self._ids[start : start + _CHUNK]
            if int(part.max()) >= self.vocab.n_vocab or int(part.min()) < 0:
                bad = start + int(((part >= self.vocab.n_vocab) | (part < 0)).argmax())
                raise _damaged(self.path, f"holds id {int(self._ids[bad])} at {bad}; n_vocab is {self.vocab.n_vocab}")
            found.append(np.flatnonzero((part == self.frame.opening) | (part == self.frame.closing)) + start)
        at = np.concatenate(found) if found else np.empty(0, dtype=np.int64)
        starts = np.concatenate([np.zeros(1, dtype=np.int64), at + 1])
        stops = np.concatenate([at, np.full(1, len(self._ids), dtype=np.int64)])
        keep = self._documents(starts, stops)
        return starts[keep], stops[keep]

    def _documents(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of the ranges between delimiters are documents: bool [n].

        Not documents are empty ranges before the first opening id, behind the last closing id, and between a closing
        and an opening id.
        """
        keep = np.ones(len(starts), dtype=np.bool_)
        empty = starts == stops
        if self._stored in ("bos", "bos_eos", "none"):
            keep[0] = not empty[0]
        if self._stored in ("eos", "bos_eos", "none"):
            keep[-1] = keep[-1] and not empty[-1]
        if self._stored == "bos_eos":
            before = np.concatenate([[self.frame.opening], self._ids[stops[:-1]]])
            after = np.concatenate([self._ids[stops[:-1]], [self.frame.closing]])
            keep &= ~(empty & (before == self.frame.closing) & (after == self.frame.opening))
        return keep

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the ids, the delimiters and the tokenizer."""
        digest = hashlib.sha256(f"{self.vocab.fingerprint} {self.layout} {self._stored} {tuple(self.frame)}".encode())
        for start in range(0, len(self._ids), _CHUNK):
            digest.update(self._ids[start : start + _CHUNK].astype("<u4").tobytes())
        return digest.hexdigest()

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return len(self._borders[0])

    def block(self, index: int) -> ForeignSource:
        """Itself, for index 0."""
        if index:
            raise IndexError(index)
        return self

    def lengths(self) -> NDArray[np.int64]:
        """See `TokenBlock`."""
        starts, stops = self._borders
        return stops - starts + 2

    @cached_property
    def _nbytes(self) -> NDArray[np.int64]:
        starts, stops = self._borders
        ends = np.zeros(len(self._ids) + 1, dtype=np.int64)
        np.cumsum(self.vocab.token_nbytes[self._ids], dtype=np.int64, out=ends[1:])
        sums: NDArray[np.int64] = ends[stops] - ends[starts]
        return sums

    def nbytes(self) -> NDArray[np.int64]:
        """See `TokenBlock`."""
        return self._nbytes

    def domains(self) -> None:
        """None: these layouts record no domains."""

    def ids(self, doc: int, lo: int, hi: int) -> NDArray[Any]:
        """See `TokenBlock`."""
        starts, stops = self._borders
        start, stop = int(starts[doc]), int(stops[doc])
        return framed(np.asarray(self._ids[start:stop]), lo, hi, stop - start + 2, self.frame)


def open_foreign(
    path: Path, *, layout: str | None, vocab: VocabMeta | None, dtype: str | None, delimiter: int | None
) -> ForeignSource:
    """Opens a file of ids. Arguments that are None come from `meta.json` and `vocab.json` beside it, or are guessed
    from its name and first word.

    Raises `MissingShards`, `CorruptShards`, `UnsupportedShards`, and what `VocabMeta.load` raises.
    """
    meta = _read_meta(path)
    chosen = layout or str(meta.get("layout") or _guess_layout(path))
    if chosen not in LAYOUTS:
        near = suggestion(chosen, LAYOUTS)
        raise UnsupportedShards(
            f"unknown layout {chosen!r}",
            limit=f"layouts: {', '.join(LAYOUTS)}",
            fix=f"did you mean {near!r}?" if near else "name one of these",
        )
    if vocab is None:
        table = path.parent / "vocab.json"
        if not table.is_file():
            raise UnsupportedShards(
                f"{path.name} does not record its tokenizer",
                where=str(path),
                fix="put its vocab.json beside the file (slmtok vocab TOK --metadata)",
            )
        vocab = VocabMeta.load(table)
    width = dtype or {"uint16": "u2", "uint32": "u4", "u16": "u2", "u32": "u4"}.get(str(meta.get("dtype")), "u2")
    if width not in ("u2", "u4"):
        raise UnsupportedShards(f"dtype is {width!r}", limit="u2 or u4", fix="use one of the two")
    if delimiter is not None and not 0 <= delimiter < vocab.n_vocab:
        raise UnsupportedShards(
            f"the delimiter {delimiter} is not an id",
            limit=f"n_vocab {vocab.n_vocab}",
            fix="name the id between documents",
        )
    frame = LAYOUTS[chosen].frame if delimiter is not None else str(meta.get("frame") or LAYOUTS[chosen].frame)
    return ForeignSource(path, chosen, vocab, Interpretation(width, frame, delimiter))


def _guess_layout(path: Path) -> str:
    if path.suffix == ".npy":
        return "npy"
    try:
        with path.open("rb") as file:
            first = file.read(4)
    except OSError as error:
        raise _unreadable(path, error) from error
    return "llmc" if first == LLMC_MAGIC.to_bytes(4, "little") else "nanogpt"


def _read_meta(path: Path) -> dict[str, Any]:
    """The `meta.json` beside the file, as `slmtok pack --output-format` writes it; empty without one."""
    try:
        meta = json.loads((path.parent / "meta.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return meta if isinstance(meta, dict) else {}
