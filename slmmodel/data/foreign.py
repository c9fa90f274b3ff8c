"""Ids in other layouts as a source: nanoGPT's and llama2.c's bare `.bin`, llm.c's `.bin` with a header, `.npy`.

None of them says where documents lie, so these are found by scanning for the delimiter, or what bytes they have, so
these are added up from the ids: such a source says `bytes_from = "derived"`, and the byte identity of an evaluation is
then true by construction. A `vocab.json` has to be given, or to lie beside the file.
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
    """How the ids of a file are read, and what stands around a document unless a `meta.json` says otherwise."""

    read: Callable[[Path, str], NDArray[Any]]
    frame: str
    purpose: str


def _bare(path: Path, dtype: str) -> NDArray[Any]:
    size, width = path.stat().st_size, np.dtype(dtype).itemsize
    if size % width:
        raise _damaged(path, f"has {size:,} bytes, no multiple of {width}")
    return np.memmap(path, dtype, "r") if size else np.empty(0, dtype)


def _llmc(path: Path, dtype: str) -> NDArray[Any]:
    header = np.fromfile(path, "<i4", 256)
    if len(header) < 256 or header[0] != LLMC_MAGIC:
        raise _damaged(path, f"does not begin with the number {LLMC_MAGIC} and 256 words of header")
    if header[1] != LLMC_VERSION:
        raise UnsupportedShards(
            f"{path.name} has version {int(header[1])}", limit=f"version {LLMC_VERSION} is read", fix="write it anew"
        )
    count = int(header[2])
    if path.stat().st_size != LLMC_HEADER + count * np.dtype(dtype).itemsize:
        raise _damaged(path, f"does not hold the {count:,} ids of its header")
    return np.memmap(path, dtype, "r", LLMC_HEADER, (count,)) if count else np.empty(0, dtype)


def _npy(path: Path, dtype: str) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise _damaged(path, f"is no array that can be read ({error})") from None
    if array.dtype.kind not in "ui" or array.ndim not in (1, 2):
        raise _damaged(path, f"holds {array.ndim}-dimensional {array.dtype}, not ids in one or two dimensions")
    return array.reshape(-1)


def _damaged(path: Path, what: str) -> CorruptShards:
    return CorruptShards(f"{path.name} {what}", where=str(path), fix="write it anew, or name its layout and dtype")


LAYOUTS: dict[str, Layout] = {
    "nanogpt": Layout(_bare, "eos", "bare ids, each document ended by the delimiter"),
    "llama2c": Layout(_bare, "bos", "bare ids, each document begun by the delimiter"),
    "llmc": Layout(_llmc, "bos", "a header of 256 words, then ids; modded-nanogpt's too"),
    "npy": Layout(_npy, "eos", "a NumPy array of ids"),
}


class Said(NamedTuple):
    """What a file of ids cannot say of itself."""

    dtype: str
    frame: str
    delimiter: int | None


class ForeignSource:
    """One file of ids, its own only block."""

    n_blocks = 1
    bytes_from = "derived"
    """The bytes of documents are added up from those of their ids."""
    split: str | None = None
    documents_digest: str | None = None

    def __init__(self, path: Path, layout: str, vocab: VocabMeta, how: Said) -> None:
        self.path, self.layout, self.vocab, self._stored = path, layout, vocab, how.frame
        try:
            self._ids = LAYOUTS[layout].read(path, f"<{how.dtype}")
        except OSError as error:
            raise MissingShards(
                f"cannot read {path.name}: {error.strerror}", where=str(path), fix="name a file that is there"
            ) from error
        known = frame_of(
            vocab, stores_opening=how.frame in ("bos", "bos_eos"), stores_closing=how.frame in ("eos", "bos_eos")
        )
        ids = (known.opening, known.closing) if how.delimiter is None else (how.delimiter, how.delimiter)
        # Delimiters are cut off and put back, so that a last document without one is like the others.
        self.frame = Frame(*ids, stores_opening=False, stores_closing=False)

    @cached_property
    def _borders(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the ids between delimiters begin and end; the whole file is checked on the way."""
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
        """Which of the pieces between delimiters are documents: not what is empty before the first one that opens,
        behind the last one that closes, or between one that closes and one that opens."""
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
        """Covers the ids, where they are cut, and the tokenizer."""
        digest = hashlib.sha256(f"{self.vocab.fingerprint} {self.layout} {self._stored} {tuple(self.frame)}".encode())
        for start in range(0, len(self._ids), _CHUNK):
            digest.update(self._ids[start : start + _CHUNK].astype("<u4").tobytes())
        return digest.hexdigest()

    @property
    def n_docs(self) -> int:
        """Documents that were found."""
        return len(self._borders[0])

    def block(self, index: int) -> ForeignSource:
        """The source itself, for index 0."""
        if index:
            raise IndexError(index)
        return self

    def lengths(self) -> NDArray[np.int64]:
        """Ids of each document with its two delimiters."""
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
        """Bytes that the ids of each document stand for."""
        return self._nbytes

    def domains(self) -> None:
        """No layout of others names domains."""

    def ids(self, doc: int, lo: int, hi: int) -> NDArray[Any]:
        """Ids `lo` to `hi - 1` of a document with its delimiters."""
        starts, stops = self._borders
        start, stop = int(starts[doc]), int(stops[doc])
        return framed(np.asarray(self._ids[start:stop]), lo, hi, stop - start + 2, self.frame)


def open_foreign(
    path: Path, *, layout: str | None, vocab: VocabMeta | None, dtype: str | None, delimiter: int | None
) -> ForeignSource:
    """Opens a file of ids. What is not said is taken from `meta.json` and `vocab.json` beside it, its name, its first
    word. Raises `MissingShards`, `CorruptShards`, `UnsupportedShards`, and what reading a `vocab.json` raises.
    """
    beside = _beside(path)
    chosen = layout or str(beside.get("layout") or _guessed(path))
    if chosen not in LAYOUTS:
        near = suggestion(chosen, LAYOUTS)
        raise UnsupportedShards(
            f"there is no layout {chosen!r}",
            limit=f"layouts: {', '.join(LAYOUTS)}",
            fix=f"did you mean {near!r}?" if near else "name one of these",
        )
    if vocab is None:
        table = path.parent / "vocab.json"
        if not table.is_file():
            raise UnsupportedShards(
                f"{path.name} does not say which tokenizer made it",
                where=str(path),
                fix="give its vocab.json (slmtok vocab TOK --metadata), or put it beside the file",
            )
        vocab = VocabMeta.load(table)
    width = dtype or {"uint16": "u2", "uint32": "u4", "u16": "u2", "u32": "u4"}.get(str(beside.get("dtype")), "u2")
    if width not in ("u2", "u4"):
        raise UnsupportedShards(f"ids cannot be {width!r}", limit="u2, u4", fix="name one of the two")
    if delimiter is not None and not 0 <= delimiter < vocab.n_vocab:
        raise UnsupportedShards(
            f"the delimiter {delimiter} is no id", limit=f"n_vocab {vocab.n_vocab}", fix="name the id between documents"
        )
    frame = LAYOUTS[chosen].frame if delimiter is not None else str(beside.get("frame") or LAYOUTS[chosen].frame)
    return ForeignSource(path, chosen, vocab, Said(width, frame, delimiter))


def _guessed(path: Path) -> str:
    if path.suffix == ".npy":
        return "npy"
    try:
        with path.open("rb") as file:
            first = file.read(4)
    except OSError as error:
        raise MissingShards(
            f"cannot read {path.name}: {error.strerror}", where=str(path), fix="name data that is there"
        ) from error
    return "llmc" if first == LLMC_MAGIC.to_bytes(4, "little") else "nanogpt"


def _beside(path: Path) -> dict[str, Any]:
    """What a `meta.json` beside the file says, as `slmtok pack --as` writes it; nothing where there is none."""
    try:
        said = json.loads((path.parent / "meta.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}
