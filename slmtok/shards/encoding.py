"""Units to ids: threads encode units in any order, and results come out in the order of the corpus.

At most `2 x threads` units are in memory, so that it stays flat however long the corpus is. The GIL is free while the
engine and the hash work.
"""

from __future__ import annotations

import hashlib
import queue
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slmtok.shards.header import FRAMES
from slmtok.shards.vocabulary_of import special_id

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.shards.units import Unit
    from slmtok.tokenizer import Tokenizer


@dataclass(frozen=True)
class EncodedUnit:
    """A unit as it goes into shards.

    ids: all documents with their frames, one after another. offsets: int64[n + 1]. nbytes: uint64[n], raw bytes.
    digests: uint8[n, 32], the sha256 of each.
    """

    ids: NDArray[Any]
    offsets: NDArray[np.int64]
    nbytes: NDArray[np.uint64]
    digests: NDArray[np.uint8]
    unit: Unit
    domains: NDArray[np.uint16] | None = None


class Encode:
    """Encodes units with one tokenizer and frame. `content` is the content of the folder's `vocab.json`."""

    def __init__(
        self, tokenizer: Tokenizer, content: dict[str, Any], frame: str, domains: Sequence[int] | None = None
    ) -> None:
        """`domains`: the domain of each source, None where the corpus names none."""
        self._tokenizer = tokenizer
        self._domains = domains
        begin, end = FRAMES[frame]
        # Roles that were appended to a foreign table are unknown to its encoder.
        self._bos, self._eos = begin and "bos" in tokenizer.specials, end and "eos" in tokenizer.specials
        self._added_bos = special_id(content, "bos") if begin and not self._bos else None
        self._added_eos = special_id(content, "eos") if end and not self._eos else None
        self._dtype = "<u2" if int(content["n_vocab"]) <= 65536 else "<u4"

    def __call__(self, unit: Unit) -> EncodedUnit:
        """The unit's ids on one thread."""
        import numpy as np

        documents = unit.documents
        rows = self._tokenizer.encode_batch(documents, threads=1, bos=self._bos, eos=self._eos)
        ids, offsets = _framed(rows.ids.astype(self._dtype, copy=False), rows.offsets, self._added_bos, self._added_eos)
        digests = b"".join([hashlib.sha256(document).digest() for document in documents])
        return EncodedUnit(
            ids=ids,
            offsets=offsets,
            nbytes=np.fromiter(map(len, documents), dtype=np.uint64, count=len(documents)),
            digests=np.frombuffer(digests, dtype=np.uint8).reshape(-1, 32),
            unit=unit,
            domains=self._domains_of(unit),
        )

    def _domains_of(self, unit: Unit) -> NDArray[np.uint16] | None:
        import numpy as np

        if self._domains is None:
            return None
        found = np.zeros(len(unit), dtype=np.uint16)
        for source, first, end in unit.runs():
            found[first:end] = self._domains[source]
        return found


def _framed(
    ids: NDArray[Any], offsets: NDArray[np.int64], bos: int | None, eos: int | None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The same documents with these ids around each."""
    import numpy as np

    if eos is not None:
        ids = np.insert(ids, offsets[1:], eos)
        offsets = offsets + np.arange(len(offsets))
    if bos is not None:
        ids = np.insert(ids, offsets[:-1], bos)
        offsets = offsets + np.arange(len(offsets))
    return ids, offsets


def in_order(
    units: Iterator[Unit], encode: Callable[[Unit], EncodedUnit], threads: int
) -> Generator[EncodedUnit, None, None]:
    """The encoded units in the order of the corpus. Raises what reading and encoding raise, at their place."""
    window: queue.Queue[Future[EncodedUnit] | None] = queue.Queue(max(1, 2 * threads - 1))
    stop = threading.Event()
    workers = ThreadPoolExecutor(threads)

    def read() -> None:
        try:
            for unit in units:
                if stop.is_set():
                    return
                window.put(workers.submit(encode, unit))
            window.put(None)
        except BaseException as error:
            failed: Future[EncodedUnit] = Future()
            failed.set_exception(error)
            window.put(failed)

    # A daemon, since it may wait for a pipe that never ends.
    threading.Thread(target=read, name="slmtok-read", daemon=True).start()
    try:
        while (coming := window.get()) is not None:
            yield coming.result()
    finally:
        stop.set()
        workers.shutdown(wait=False, cancel_futures=True)
        while not window.empty():
            window.get_nowait()
