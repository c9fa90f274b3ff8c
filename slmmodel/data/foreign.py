"""Ids in the layouts of other tools as a source: headerless `.bin` (nanoGPT, llama2.c), llm.c's `.bin`, `.npy`.

None of them records document boundaries, so documents are found by scanning for the delimiter; nor raw bytes, so these
are summed over the ids. Such a source has `bytes_from = "derived"`, and the byte check of an evaluation then holds by
construction. The `vocab.json` is passed in or lies beside the file.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import warnings
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.packing import Ints, check_range, prefix_sums
from slmmodel.data.source import (
    SCAN_IDS,
    Delimiters,
    OneBlockSource,
    Shard,
    check_ids,
    corrupt,
    delimiters_of,
    map_array,
    unreadable,
    wrong_version,
)
from slmmodel.errors import UnsupportedFormat, unknown_name
from slmmodel.json_files import FaultError, Open, exactly, parse_object, read_bounded, validated
from slmmodel.vocab import VocabMeta

LLMC_MAGIC, LLMC_VERSION, LLMC_HEADER = 20240520, 1, 256 * 4
FIX = "check the path; if it is a copy, copy it again"
META_FORMAT, MAX_META_BYTES = "slmtok-layout", 16 << 20
_DTYPES = {"uint16": "u2", "uint32": "u4", "u16": "u2", "u32": "u4"}


class Layout(NamedTuple):
    """How a file is read, and its delimiters (`bos`, `eos`, `bos_eos`) unless a `meta.json` names others."""

    read: Callable[[Path, str], NDArray[Any]]
    stored: str
    summary: str


def _read_headerless(path: Path, dtype: str) -> NDArray[Any]:
    size, width = path.stat().st_size, np.dtype(dtype).itemsize
    if size % width:
        raise corrupt(path, f"has {size:,} bytes, not a multiple of {width}", FIX, limit=f"each id has {width} bytes")
    return map_array(path, dtype, size // width, fix=FIX)


def _read_llmc(path: Path, dtype: str) -> NDArray[Any]:
    header = np.fromfile(path, "<i4", 256)
    if len(header) < 256 or header[0] != LLMC_MAGIC:
        raise corrupt(path, f"does not begin with {LLMC_MAGIC} and a header of 256 words", FIX)
    if header[1] != LLMC_VERSION:
        raise wrong_version(path, int(header[1]), LLMC_VERSION)
    return map_array(path, dtype, int(header[2]), LLMC_HEADER, fix=FIX)


def _read_npy(path: Path, dtype: str) -> NDArray[Any]:
    with path.open("rb") as file:
        is_archive = file.read(2) == b"PK"
    if is_archive:
        raise corrupt(path, "is an archive of arrays (.npz), not one array (.npy)", _of_archive(path))
    try:
        # numpy warns of a shape whose product overflows, and then refuses it.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    # Exceptions of numpy for a damaged header are not documented, and the message of some recommends pickle.
    except Exception:
        fact = "is not a readable array: it is truncated or damaged, or holds Python objects"
        raise corrupt(path, fact, FIX) from None
    if array.dtype.kind not in "ui" or array.ndim not in (1, 2):
        fact = f"holds {array.ndim}-dimensional {array.dtype}, expected integer ids in 1 or 2 dimensions"
        raise corrupt(path, fact, _as_integers(path, array) or "name an array of token ids")
    return array.reshape(-1)


def _of_archive(path: Path) -> str:
    """The command that writes the first array of an archive as a file of its own."""
    written = path.with_name(f"{path.stem}-array.npy")
    read, name = (json.dumps(str(each), ensure_ascii=False) for each in (path, written))
    code = f"import numpy; numpy.save({name}, next(iter(numpy.load({read}).values())))"
    return f"python -c {shlex.quote(code)} writes its first array to {shlex.quote(str(written))}: name that"


def _as_integers(path: Path, array: NDArray[Any]) -> str | None:
    """The command that writes ids as integers where the first ones are whole numbers; None for other arrays."""
    if array.ndim not in (1, 2) or array.dtype.kind != "f":
        return None
    head = array.reshape(-1)[:_HEAD_IDS]
    if not head.size or not (np.isfinite(head) & (head >= 0) & (head == np.floor(head))).all():
        return None
    written = path.with_name(f"{path.stem}-uint32.npy")
    read, name = (json.dumps(str(each), ensure_ascii=False) for each in (path, written))
    code = f'import numpy; numpy.save({name}, numpy.load({read}).astype("uint32"))'
    return f"python -c {shlex.quote(code)} writes {shlex.quote(str(written))}: name that"


LAYOUTS: dict[str, Layout] = {
    "nanogpt": Layout(_read_headerless, "eos", "headerless ids; the delimiter ends each document"),
    "llama2c": Layout(_read_headerless, "bos", "headerless ids; the delimiter begins each document"),
    "llmc": Layout(_read_llmc, "bos", "a header of 256 words, then ids; also modded-nanogpt's"),
    "npy": Layout(_read_npy, "eos", "a NumPy array of ids"),
}


class ForeignSource(OneBlockSource):
    """The documents of one file of ids."""

    vocab: VocabMeta
    delimiters: Delimiters
    bytes_from = "derived"

    def __init__(self, ids: NDArray[Any], layout: str, stored: str, vocab: VocabMeta, delimiter: int | None) -> None:
        """`stored` names the delimiters in the file; `delimiter` is an id that takes the place of both."""
        self.layout, self.vocab, self._stored = layout, vocab, stored
        known = delimiters_of(vocab, stores_opening="bos" in stored, stores_closing="eos" in stored)
        opening, closing = (known.opening, known.closing) if delimiter is None else (delimiter, delimiter)
        indices = [np.empty(0, dtype=np.int64)]
        for first in range(0, len(ids), SCAN_IDS):
            chunk = ids[first : first + SCAN_IDS]
            indices.append(np.flatnonzero((chunk == opening) | (chunk == closing)) + first)
        delimiter_indices = np.concatenate(indices)
        starts, stops = np.append(0, delimiter_indices + 1), np.append(delimiter_indices, len(ids))
        # Empty ranges before the first opening id, behind the last closing id, and between a closing and an opening id
        # are not documents.
        before, after = np.append(closing, ids[delimiter_indices]), np.append(ids[delimiter_indices], opening)
        is_gap = (before == closing) & (after == opening) & (stored == "bos_eos")
        is_gap[0] |= stored != "eos"
        is_gap[-1] |= stored != "bos"
        is_document = ~is_gap | (starts < stops)
        starts, stops = starts[is_document], stops[is_document]
        sizes = _sums(ids, starts, stops, vocab.token_nbytes)
        # Stored delimiters are cut off and added again, so that a last document without one needs no special case.
        delimiters = Delimiters(opening, closing, stores_opening=False, stores_closing=False)
        super().__init__([Shard(ids, starts, stops, sizes)], delimiters)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the ids, the delimiters and the tokenizer."""
        how = f"{self.vocab.fingerprint} {self.layout} {self._stored} {tuple(self.delimiters)}"
        digest = hashlib.sha256(how.encode())
        ids = self.shards[0].ids
        for start in range(0, len(ids), SCAN_IDS):
            digest.update(ids[start : start + SCAN_IDS].astype("<u4").tobytes())
        return digest.hexdigest()


def _sums(ids: NDArray[Any], starts: Ints, stops: Ints, token_nbytes: NDArray[np.uint32]) -> Ints:
    """Bytes of the documents: sums over their ids, which are read SCAN_IDS at a time; ranges ascend."""
    at_start, at_stop, total = np.zeros_like(starts), np.zeros_like(stops), 0
    for first in range(0, len(ids) + 1, SCAN_IDS):
        before = prefix_sums(token_nbytes[ids[first : first + SCAN_IDS]]) + total
        for ends, sums in ((starts, at_start), (stops, at_stop)):
            some = slice(*np.searchsorted(ends, (first, first + SCAN_IDS)))
            sums[some] = before[ends[some] - first]
        total = int(before[-1])
    return at_stop - at_start


def open_foreign(
    path: Path, *, layout: str | None, vocab: VocabMeta | None, dtype: str | None, delimiter: int | None
) -> ForeignSource:
    """Opens a file of ids. Arguments that are None come from `meta.json` and `vocab.json` beside it, or are guessed
    from its name and first word.

    Raises what `VocabMeta.load` raises, `UnknownName`, and `InvalidConfig` for a delimiter that is not an id.
    """
    meta = _read_meta(path)
    recorded = dtype or _DTYPES.get(str(meta.get("dtype")))
    width = recorded or "u2"
    if width not in ("u2", "u4"):
        raise UnsupportedFormat(f"dtype is {width!r}", limit="u2 or u4", fix="use one of the two")
    # A file that holds no such ids is refused before the tokenizer of these ids is asked for.
    try:
        chosen = layout or str(meta.get("layout") or _guess_layout(path))
        if chosen not in LAYOUTS:
            raise unknown_name("layout", chosen, LAYOUTS, "name the layout {}")
        ids = LAYOUTS[chosen].read(path, f"<{width}")
    except OSError as error:
        raise unreadable(path, error, FIX) from error
    if recorded is None and path.suffix != ".npy":
        _refuse_wider(path, ids)
    beside = path.parent / "vocab.json"
    if vocab is None and not meta:
        _refuse_characters(path)
    if vocab is None and not beside.is_file():
        raise UnsupportedFormat(
            f"{path.name} does not record its tokenizer",
            where=str(path),
            limit="a vocab.json beside the file, of TOK, the tokenizer that made the ids",
            fix=f"slmtok vocab TOK --metadata -o {shlex.quote(str(beside))}",
        )
    other = "name the tokenizer that made the ids, or check the path"
    if vocab is None:
        write = f"slmtok vocab TOK --metadata -o {shlex.quote(str(beside))} --force"
        other = f"{write} replaces that of another tokenizer, where TOK made the ids; or check the path"
    vocab = vocab or VocabMeta.load(beside)
    if delimiter is not None:
        check_range("delimiter", delimiter, 0, vocab.n_vocab - 1, fix="name the id between documents")
    check_ids(path, ids, vocab.n_vocab, other)
    stored = meta.get("frame") if delimiter is None else None
    return ForeignSource(ids, chosen, str(stored or LAYOUTS[chosen].stored), vocab, delimiter)


def _refuse_characters(path: Path) -> None:
    """Raises `UnsupportedFormat` for ids of characters of nanoGPT, which a `meta.pkl` beside them lists.

    The first of them would be the special tokens of a tokenizer of slmtok, whose `vocab.json` fits any small ids.
    """
    characters, text = path.with_name("meta.pkl"), path.with_name("input.txt")
    if characters.is_file():
        corpus = shlex.quote(str(text)) if text.is_file() else "TEXT"
        raise UnsupportedFormat(
            f"{path.name} holds ids of characters, as nanoGPT writes them with the meta.pkl beside it",
            where=str(characters),
            limit="ids of a tokenizer of slmtok, which has no such ids",
            fix=f"train on the text: slm train {corpus} -t TOK; or remove meta.pkl, where it belongs to other ids",
        )


_HEAD_IDS = 4096
"""Ids at the beginning of a file that show the width of its integers."""


def _refuse_wider(path: Path, ids: NDArray[Any]) -> None:
    """Raises `UnsupportedFormat` for wider integers that were read as uint16: the upper parts of small ones are 0."""
    head = ids[: min(_HEAD_IDS, len(ids) // 4 * 4)]
    for width, name in ((4, "uint64"), (2, "uint32")):
        rows = head.reshape(-1, width)
        if len(rows) < 8 or rows[:, 1:].any() or not rows[:, 0].any():
            continue
        array = path.with_name(f"{path.stem}-{name}.npy")
        read, written = (json.dumps(str(each), ensure_ascii=False) for each in (path, array))
        code = f'import numpy; numpy.save({written}, numpy.fromfile({read}, "<u{2 * width}"))'
        others = "every second" if width == 2 else "all but every fourth"
        raise UnsupportedFormat(
            f"{path.name} is read as uint16, and {others} id is 0: its ids are {name}",
            where=f"{path}, the first {len(head):,} ids",
            limit="a .bin of uint16; a .npy records its type",
            fix=f"python -c {shlex.quote(code)} writes {shlex.quote(str(array))}: name that",
        )


def _guess_layout(path: Path) -> str:
    if path.suffix == ".npy":
        return "npy"
    with path.open("rb") as file:
        return "llmc" if file.read(4) == LLMC_MAGIC.to_bytes(4, "little") else "nanogpt"


def _read_meta(path: Path) -> dict[str, Any]:
    """The `meta.json` beside the file, as `slmtok pack --output-format` writes it; empty without one.

    Other programs write files of this name, too: one that does not name our format is not read. Raises `CorruptFile`.
    """
    beside = path.parent / "meta.json"
    try:
        data = read_bounded(beside, MAX_META_BYTES)
    except (OSError, FaultError):
        return {}
    if META_FORMAT.encode() not in data:
        return {}
    try:
        table = parse_object(data)
    except FaultError as fault:
        raise corrupt(beside, str(fault), FIX) from None
    return validated(table, _Meta, beside, fix=FIX).model_dump()


class _Meta(Open):
    """A `meta.json`, as far as it is read."""

    format: Literal["slmtok-layout"]
    version: Annotated[int, exactly(1)]
    layout: Literal["nanogpt", "llama2c", "llmc", "npy"]
    dtype: Literal["u16", "u32"]
    frame: Literal["bos_eos", "bos", "eos", "none"]
