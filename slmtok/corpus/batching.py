"""The documents of a corpus in batches of the engine's own, without a Python object for each.

Files of records or lines that need nothing but the engine are read by it; all others come from `read` and are gathered.
The documents, their order and all errors are those of `read`, which is the slow and obvious way. Engine batches are
units of the file that depend on its bytes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from slmtok.corpus.jsonl import judged
from slmtok.corpus.options import ReadOptions
from slmtok.corpus.paths import STDIN
from slmtok.corpus.readers import reader_for
from slmtok.corpus.reading import read
from slmtok.corpus.selection import Skipped
from slmtok.corpus.streams import stdin
from slmtok.errors import Unreadable

if TYPE_CHECKING:
    from slmtok._engine import DocumentReader, Documents

BATCH_BYTES = 8 << 20
BATCH_DOCUMENTS = 1 << 16
SMALL = 1 << 16
"""A file below this size is gathered with its neighbours: a batch for each of many costs more than it saves."""

_PACKINGS: dict[str, Literal["gz", "zst", "xz"]] = {".gz": "gz", ".zst": "zst", ".xz": "xz"}


class Start(NamedTuple):
    """From document number `first` of a batch on: records `record` and following of source number `source`."""

    first: int
    source: int
    record: int


@dataclass(frozen=True)
class Batch:
    """Documents in the order of the corpus.

    starts: where runs of neighbouring documents of one source begin, ascending by index. skips: for each malformed
    record that was left out, the number of documents of the batch before it.
    """

    documents: Documents
    starts: tuple[Start, ...]
    skips: tuple[int, ...] = ()


def batches(
    sources: Sequence[str], options: ReadOptions, skipped: Skipped | None = None, *, whole: bool = False
) -> Iterator[Batch]:
    """What `read` gives for the same arguments, in batches of about 8 MiB. Raises what `read` raises."""
    skipped = Skipped() if skipped is None else skipped
    if options.selects:
        yield from _gathered(sources, 0, options, skipped, whole=whole)
        return
    begun = 0
    for index, source in enumerate(sources):
        reader = engine_reader(source, options)
        if reader is None:
            continue
        yield from _gathered(sources[begun:index], begun, options, skipped, whole=whole)
        begun = index + 1
        record = 0
        for documents in reader:
            skips = tuple(documents.skips)
            skipped.records += len(skips)
            yield Batch(documents, (Start(0, index, record),), skips)
            record += len(documents)
    yield from _gathered(sources[begun:], begun, options, skipped, whole=whole)


def engine_reader(
    source: str,
    options: ReadOptions,
    *,
    first: int = 0,
    start: tuple[int, int, int, int] | None = None,
    unit_bytes: int = BATCH_BYTES,
) -> DocumentReader | None:
    """The engine's reader of one source, from unit `first` on; None where it needs Python, or is not worth it.

    start: where documents of the same source began or ended, as the engine tells it, to begin there. Options that
    select documents are for the caller to heed.
    """
    from slmtok._engine import DocumentReader

    reader = reader_for(source, options)
    kinds: dict[str, Literal["jsonl", "lines"]] = {"jsonl": "jsonl", "lines": "lines"}
    if reader.name not in kinds or (reader.records and options.text_template is not None):
        return None
    file = Path(source)
    if source == STDIN:
        # `read1` gives what is there, where `read` would wait for more.
        place: str | Callable[[int], bytes] = stdin().read1  # type: ignore[attr-defined]
    elif file.is_file() and file.stat().st_size >= SMALL:
        place = source
    else:
        return None
    try:
        return DocumentReader(
            place,
            kinds[reader.name],
            key=options.text_key,
            judge=partial(_judge, source, options),
            packing="plain" if source == STDIN else _PACKINGS.get(file.suffix.lower(), "plain"),
            unit_bytes=unit_bytes,
            first=first,
            start=start,
        )
    except (UnicodeEncodeError, Unreadable):
        # A name with a lone surrogate, which JSON can spell; a file that nobody can open, as `read` will tell.
        return None


def _judge(source: str, options: ReadOptions, line: bytes, number: int) -> bytes | None:
    return judged(line, number, source, options)


def _gathered(
    sources: Sequence[str], base: int, options: ReadOptions, skipped: Skipped, *, whole: bool
) -> Iterator[Batch]:
    """The documents of `sources`, of which the first has number `base`."""
    texts: list[bytes] = []
    starts: list[Start] = []
    skips: list[int] = []
    size, met, expected = 0, skipped.records, (-1, 0)
    for document in read(sources, options, skipped, whole=whole):
        skips.extend([len(texts)] * (skipped.records - met))
        met = skipped.records
        place = (base + document.source, document.record)
        if place != expected or not texts:
            starts.append(Start(len(texts), *place))
        expected = (place[0], place[1] + 1)
        texts.append(document.text)
        size += len(document.text)
        if size >= BATCH_BYTES or len(texts) >= BATCH_DOCUMENTS:
            yield _batch(texts, starts, skips)
            texts, starts, skips, size = [], [], [], 0
    skips.extend([len(texts)] * (skipped.records - met))
    if texts or skips:
        yield _batch(texts, starts, skips)


def _batch(texts: list[bytes], starts: list[Start], skips: list[int]) -> Batch:
    from slmtok._engine import Documents

    return Batch(Documents(texts), tuple(starts), tuple(skips))
