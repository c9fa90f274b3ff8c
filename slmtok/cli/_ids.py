"""The work of `slmtok encode`: documents in, ids out, in batches, so that memory follows a batch and not the corpus.

Arrays (`npy`, `bin`) are gathered before they are written, two or four bytes an id, except where the engine can go from
file to file by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from slmtok import specials
from slmtok.cli._files import STDIO
from slmtok.cli._tokenizers import open_tokenizer
from slmtok.corpus.streams import is_plain
from slmtok.token_text import escape_token

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.aliases import Ids
    from slmtok.cli._progress import Progress
    from slmtok.corpus import ReadOptions
    from slmtok.tokenizer import Tokenizer

BATCH = 16 << 20
"""Bytes of text that are encoded at a time."""
SLICE = 1 << 16
"""Ids that are turned into text at a time."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to encode and how."""

    source: str
    read: ReadOptions
    bos: bool = False
    eos: bool = False
    allow: tuple[str, ...] = ()
    spans: bool = False
    threads: int = 0


@dataclass(frozen=True)
class Encoded:
    """One document: its ids, and how many bytes its text has."""

    ids: Ids
    size: int


def special_names(values: Sequence[str]) -> tuple[str, ...]:
    """The names of `--allow-special`: repeated, or several in one value with commas between."""
    return tuple(name for value in values for name in ([value] if value == "," else value.split(",")) if name)


@dataclass
class Job:
    """One run of `slmtok encode`. `totals` counts what has been encoded so far."""

    tokenizer_name: str
    plan: Plan
    progress: Progress
    tokenizer: Tokenizer = field(init=False)
    totals: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.tokenizer = open_tokenizer(self.tokenizer_name)
        self.totals = {"documents": 0, "bytes": 0, "tokens": 0}
        for name in self.plan.allow:
            if name != "all":
                self.tokenizer.specials.find(name)
        for role, wanted in (("bos", self.plan.bos), ("eos", self.plan.eos)):
            if wanted:
                self.tokenizer.specials.find(role)

    def documents(self) -> Iterator[Encoded]:
        """The encoded documents of the source, in order."""
        from slmtok.corpus import find, read

        options = self.plan.read
        for batch in _batches(document.text for document in read(find(self.plan.source, options), options)):
            for encoded in self._encode(batch):
                self.totals["documents"] += 1
                self.totals["bytes"] += encoded.size
                self.totals["tokens"] += len(encoded.ids)
                yield encoded

    def _encode(self, texts: list[bytes]) -> Iterator[Encoded]:
        plan = self.plan
        if plan.allow:
            allow = "all" if "all" in plan.allow else plan.allow
            for text in texts:
                yield Encoded(self.tokenizer.encode(text, bos=plan.bos, eos=plan.eos, allow_special=allow), len(text))
            return
        rows = self.tokenizer.encode_batch(
            texts, threads=plan.threads, bos=plan.bos, eos=plan.eos, progress=self.progress
        )
        for ids, text in zip(rows, texts, strict=True):
            yield Encoded(ids, len(text))

    @cached_property
    def _widths(self) -> NDArray[np.int64]:
        """How many bytes of the text each id stands for; specials are there as they are spelled."""
        widths = self.tokenizer.byte_lengths().astype("int64")
        for spelling, id in specials.allowed_spellings(self.tokenizer.specials, "all").items():
            widths[id] = len(spelling.encode())
        return widths

    def spans(self, ids: Ids) -> Iterator[NDArray[np.int64]]:
        """`id, start, end` of each id of one document, shape (n, 3), a slice at a time.

        bos stands at 0:0, eos at the end.
        """
        import numpy as np

        done = 0
        for first in range(0, len(ids), SLICE):
            part = ids[first : first + SLICE]
            widths = self._widths[part]
            if self.plan.bos and first == 0:
                widths[0] = 0
            if self.plan.eos and first + len(part) == len(ids):
                widths[-1] = 0
            ends = done + np.cumsum(widths)
            done = int(ends[-1])
            yield np.stack([part.astype(np.int64), ends - widths, ends], axis=1)

    def write_lines(self, stream: BinaryIO, *, tokens: bool) -> None:
        """One document a line: ids, `id:start:end`, or visible tokens."""
        words = _Words(self.tokenizer) if tokens else None
        for encoded in self.documents():
            gap = b""
            for line in self._slices(encoded.ids, words):
                stream.write(gap + line.encode())
                gap = b" "
            stream.write(b"\n")

    def _slices(self, ids: Ids, words: _Words | None) -> Iterator[str]:
        """The line of a document, cut into slices at spaces."""
        if words is None and self.plan.spans:
            for rows in self.spans(ids):
                yield " ".join(["%d:%d:%d"] * len(rows)) % tuple(rows.ravel().tolist())
            return
        for start in range(0, len(ids), SLICE):
            part = ids[start : start + SLICE].tolist()
            yield " ".join(map(str if words is None else words.word, part))

    def write_array(self, target: str, *, numpy_header: bool, force: bool) -> None:
        """All ids in one array; beside a file its `.offsets.npy`, int64, one more than documents."""
        import sys

        import numpy as np

        from slmtok import atomic
        from slmtok.id_arrays import write_npy

        parts = list(self.documents())
        dtype = self.tokenizer.dtype.newbyteorder("<")
        ids = np.concatenate([part.ids for part in parts] or [np.empty(0, dtype)]).astype(dtype, copy=False)
        if target == STDIO:
            _write(sys.stdout.buffer, ids, numpy_header)
            return
        offsets = np.zeros(len(parts) + 1, dtype=np.dtype("<i8"))
        np.cumsum([len(part.ids) for part in parts], out=offsets[1:])
        with atomic.outputs(target, target + ".offsets.npy", force=force) as (ids_part, offsets_part):
            with ids_part.open("wb") as file:
                _write(file, ids, numpy_header)
            with offsets_part.open("wb") as file:
                write_npy(file, offsets)

    @property
    def can_map(self) -> bool:
        """Whether the engine can read the source itself, so that neither text nor ids need be held in memory."""
        plan = self.plan
        plain = is_plain(plan.source) and Path(plan.source).is_file()
        as_it_is = plan.read.format == "text" and plan.read.separator is None and not plan.read.selects
        return plain and as_it_is and not (plan.spans or plan.allow)

    def write_mapped(self, target: str, *, force: bool) -> None:
        """What `write_array` writes without a header, straight from file to file."""
        plan = self.plan
        rows = self.tokenizer.encode_files(
            plan.source,
            target,
            document=plan.read.document,
            threads=plan.threads,
            bos=plan.bos,
            eos=plan.eos,
            force=force,
            progress=self.progress,
        )
        lengths = self.tokenizer.byte_lengths()
        size = sum(
            int(lengths[rows.ids[start : start + SLICE]].sum(dtype="int64")) for start in range(0, len(rows.ids), SLICE)
        )
        self.totals.update(documents=len(rows), tokens=len(rows.ids), bytes=size)

    def collect(self) -> dict[str, object]:
        """All documents as what `--json` prints: ids and, with `--offsets`, spans."""
        rows: list[dict[str, object]] = []
        for encoded in self.documents():
            row: dict[str, object] = {"ids": encoded.ids.tolist()}
            if self.plan.spans:
                row["spans"] = [span for part in self.spans(encoded.ids) for span in part[:, 1:].tolist()]
            rows.append(row)
        return {"fingerprint": self.tokenizer.fingerprint, "totals": self.totals, "documents": rows}


class _Words:
    """The visible word of each id, made once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._known: dict[int, str] = {}

    def word(self, id: int) -> str:
        found = self._known.get(id)
        if found is None:
            found = self._known[id] = escape_token(self._tokenizer.token_bytes(id))
        return found


def _write(stream: BinaryIO, ids: NDArray[np.generic], numpy_header: bool) -> None:
    if numpy_header:
        from slmtok.id_arrays import write_npy

        write_npy(stream, ids)
    else:
        stream.write(ids.data)


def _batches(documents: Iterable[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document)
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
